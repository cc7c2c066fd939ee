"""BBR's mean throughput alone on a capacity of n rates: no renewal model, but its law of the rate on sample paths.

BBR sends at a gain times the largest delivery rate of the last ten round trips, within a window of two such pipes
[bbr1, as Linux has it].  Its memory of ten rounds, its cycle of eight gains and the clock of PROBE_RTT make renewal
states too many to count.  What remains of it without packets is a recursion in slots of the round trip delay, with c_k
packets that the link carries in slot k, a backlog q and a bandwidth b:

    sent = min(gain b, 2 b - q),   d = min(q + sent, c_k),   q' = min(q + sent - d, B),   b' = max of the last ten d

with gains 1.25, 0.75, and 1 six times.  A queue that has not been empty for 10 s is drained: four packets per round
trip, for 200 ms and a round trip.  It is run on sample paths of the chain, and the share of what they offered is the
answer, so that paths may be short.  Losses do not matter to the rate, and here they cost nothing.

It is a heuristic, and its answer is always strained: BBR's filter counts rounds of packets, which a queue makes longer
than a slot, while here it forgets after ten slots; and after PROBE_RTT the filter here has lost its maximum.  Against
the simulator it was 20 % too low on 5 and 40 packets per round trip, and 61 % on 4 and 100.
"""

import math

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import advertised
from varicap.analyse.models.varying import Parameters, refuse_outages

Array = NDArray[np.float64]

_GAINS = np.array([1.25, 0.75, 1, 1, 1, 1, 1, 1])
_ROUNDS = 10
_WINDOW = 2.0
_EXPIRES_S, _PROBES_S, _LEAST_WINDOW = 10.0, 0.2, 4.0
_EMPTY = 0.5
_SLOTS, _WARM_UP, _SEED = 1500, 150, 21


def utilisation(parameters: Parameters) -> float:
    """Share of the mean capacity that BBR uses in the long run [1].

    >>> from varicap.analyse.effective import SlottedChain
    >>> chain = SlottedChain.symmetric(20.0, high=40.0, low=20.0)
    >>> round(utilisation(Parameters(capacity=chain, waiting_packets=30, round_trip_s=0.1)), 2)
    0.98
    """
    refuse_outages(parameters)
    rng = np.random.default_rng(_SEED)
    states = advertised.paths(parameters.capacity, _SLOTS, rng)
    capacity = parameters.capacity.capacity[states]
    paths = len(capacity)
    expires = _EXPIRES_S / parameters.round_trip_s
    probes = math.ceil(_PROBES_S / parameters.round_trip_s) + 1
    recent = np.tile(capacity[:, :1], (1, _ROUNDS))
    phase = rng.integers(0, len(_GAINS), paths)
    backlog, probing, served = np.zeros((3, paths))
    busy = rng.random(paths) * expires
    for slot in range(_SLOTS):
        bandwidth = recent.max(axis=1)
        sent = np.minimum(
            _GAINS[(phase + slot) % len(_GAINS)] * bandwidth, np.maximum(_WINDOW * bandwidth - backlog, 0)
        )
        drains = probing > 0
        there = backlog + np.where(drains, np.minimum(sent, _LEAST_WINDOW), sent)
        delivered = np.minimum(there, capacity[:, slot])
        backlog = np.minimum(there - delivered, parameters.waiting_packets)
        recent[:, slot % _ROUNDS] = np.where(drains, 0, delivered)
        busy = np.where(backlog <= _EMPTY, 0, busy + 1)
        begins = (busy > expires) & ~drains
        probing = np.where(begins, probes, np.maximum(probing - 1, 0))
        busy = np.where(begins, 0, busy)
        if slot >= _WARM_UP:
            served += delivered
    return float(served.sum() / capacity[:, _WARM_UP:].sum())
