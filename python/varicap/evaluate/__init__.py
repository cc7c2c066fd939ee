"""RFC 9743 (BCP 133) as measurements: what a congestion control does where the RFC asks, beside Reno, CUBIC and BBRv3.

>>> evaluate("reno", criteria=["collapse-outage"], quick=True, beside=[]).judged[0].verdict
'meets'
"""

from varicap.evaluate.control import Control, ControlError
from varicap.evaluate.criteria import Criterion, known
from varicap.evaluate.solve import Evaluation, Judged, evaluate

__all__ = ["Control", "ControlError", "Criterion", "Evaluation", "Judged", "evaluate", "known"]
