"""Numbers as the questions about reservations print them."""

from varicap.report.table import significant, with_interval
from varicap.statistics import Interval


def percent(value: Interval) -> str:
    """A share with its interval [%]."""
    return with_interval(value.mean, value.lo, value.hi, 100.0)


def mega(value: float) -> str:
    """A rate [Mb/s]."""
    return f"{value / 1e6:.4g}"


def kilo(value: float) -> str:
    """A size [kB]."""
    return f"{value / 1e3:.5g}"


def milli(value: float) -> str:
    """A time [ms]."""
    return significant(value * 1e3, 4)
