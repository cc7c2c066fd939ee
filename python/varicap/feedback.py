"""The rate that a link advertises, by hand: an estimator as a value, without a network or a clock.

Observe what the link offers, advertise what is due until there is nothing more, then ask `poll_at` when the next rate
is due.  Times are seconds, rates bits per second; settings are those of a scenario's ``feedback.estimator``.  A round
trip of 60 ms begins two samples of 30 ms:

>>> effcap = Estimator({"effective": {"interval": "30 ms", "average": "1 rtt", "least": "2 rtt"}}, rtt_s=0.06)
>>> effcap.observe(0.0, 8e5)
>>> effcap.advertise(0.03)  # the mean of what there is
800000.0
>>> effcap.observe(0.045, 4e5)
>>> effcap.advertise(0.06)  # 8e5 and 6e5
700000.0
>>> effcap.advertise(0.09)  # 6e5 and 4e5
500000.0
>>> effcap.observe(0.09, 8e5)
>>> [effcap.advertise(now) for now in (0.12, 0.15, 0.18, 0.21)]  # the least of four averages
[500000.0, 500000.0, 500000.0, 600000.0]
>>> round(effcap.poll_at, 6)
0.24
"""

from varicap._core import Estimator

__all__ = ["Estimator"]
