"""What every estimate comes with: an interval, and how far the work on it has come."""

from varicap.statistics.interval import Array, Interval, finite, intervals
from varicap.statistics.progress import Progress

__all__ = ["Array", "Interval", "Progress", "finite", "intervals"]
