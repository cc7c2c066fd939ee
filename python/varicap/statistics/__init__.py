"""What every estimate comes with: an interval, how far the work on it has come, and whether it meets a target."""

from varicap.statistics.interval import MANY, Array, Interval, Range, finite, intervals
from varicap.statistics.progress import Progress
from varicap.statistics.verdict import FEWEST, Bounds, Verdict, settle, together

__all__ = [
    "FEWEST",
    "MANY",
    "Array",
    "Bounds",
    "Interval",
    "Progress",
    "Range",
    "Verdict",
    "finite",
    "intervals",
    "settle",
    "together",
]
