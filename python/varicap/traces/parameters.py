"""Parameters of generated links; units are in their names.

Nothing here needs NumPy: the command line makes its options from these parameters.
"""

from dataclasses import dataclass, field, fields
from math import ceil, isfinite
from typing import Any, TypeVar

from varicap._printable import PrintableError

MOST_VALUES = 50_000_000
"""Of one trace: what fits in the memory of a small machine."""
_MOST_SIGMA = 3.0
"""Of a log-capacity: a factor of twenty is one standard deviation."""


class TraceError(PrintableError, ValueError):
    """A trace that cannot be read, made or converted; the text says where and why."""


def parameter(default: float, says: str, positive: bool = False) -> Any:
    """A field of a link's parameters; its description is also the help of an option."""
    return field(default=default, metadata={"says": says, "positive": positive})


@dataclass(frozen=True, kw_only=True)
class Cellular:
    """Parameters of an LTE-like link."""

    median_bps: float = parameter(5e6, "Median capacity while there is coverage", positive=True)
    peak_bps: float = parameter(20e6, "Capacity at the best modulation, which is never exceeded", positive=True)
    slow_sigma: float = parameter(0.5, "Standard deviation of the slow part of the log-capacity")
    slow_time_s: float = parameter(8.0, "Correlation time of the slow part", positive=True)
    fast_sigma: float = parameter(0.5, "Standard deviation of the fast part of the log-capacity")
    fast_time_s: float = parameter(0.25, "Correlation time of the fast part", positive=True)
    outages_per_min: float = parameter(2.0, "Losses of coverage per minute of coverage")
    outage_s: float = parameter(0.5, "Mean duration of a loss of coverage")


@dataclass(frozen=True, kw_only=True)
class Satellite:
    """Parameters of a link that is reconfigured."""

    median_bps: float = parameter(100e6, "Median capacity", positive=True)
    peak_bps: float = parameter(250e6, "Capacity that is never exceeded", positive=True)
    interval_s: float = parameter(15.0, "Time between reconfigurations", positive=True)
    offset_s: float = parameter(0.0, "When the first of them is")
    level_sigma: float = parameter(0.4, "Standard deviation of the log-capacity from interval to interval")
    fast_sigma: float = parameter(0.2, "Standard deviation of the log-capacity within an interval")
    fast_time_s: float = parameter(0.5, "Correlation time within an interval", positive=True)
    outage_s: float = parameter(0.08, "Mean time without capacity at a reconfiguration")
    delay_s: float = parameter(0.020, "Least one-way delay")
    delay_spread_s: float = parameter(0.015, "How much longer the way of an interval may be")
    delay_jitter_s: float = parameter(0.002, "Mean of what is added within an interval")
    burst_s: float = parameter(0.02, "Mean time of losses after the time without capacity")
    burst_loss: float = parameter(1.0, "Probability of loss during that time")


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Parameters of a way through cells."""

    peak_bps: float = parameter(40e6, "Median capacity in the middle of a cell", positive=True)
    edge_bps: float = parameter(4e6, "Median capacity at its edge", positive=True)
    crossing_s: float = parameter(20.0, "Mean time in a cell", positive=True)
    crossing_spread: float = parameter(0.3, "How far that time may lie from its mean, as a share of it")
    gap_s: float = parameter(0.15, "Mean time without capacity at a handover")
    fast_sigma: float = parameter(0.3, "Standard deviation of the log-capacity about its course")
    fast_time_s: float = parameter(0.25, "Correlation time of that", positive=True)
    delay_s: float = parameter(0.020, "Least one-way delay")
    delay_spread_s: float = parameter(0.020, "How much longer the way of a cell may be")
    burst_s: float = parameter(0.02, "Mean time of losses after a handover")
    burst_loss: float = parameter(1.0, "Probability of loss during that time")


Link = TypeVar("Link", Cellular, Satellite, Cells)


def checked(link: Link) -> Link:
    """The parameters of a link, if they make sense."""
    for each in fields(link):
        value = getattr(link, each.name)
        if not isfinite(value) or value < 0 or (each.metadata["positive"] and value == 0):
            expected = "above 0" if each.metadata["positive"] else "0 or more"
            raise TraceError(f"{each.name} is {value:g}, expected {expected} ({each.metadata['says']})")
        if each.name.endswith("_loss") and value > 1:
            raise TraceError(f"{each.name} is {value:g}, expected at most 1 ({each.metadata['says']})")
        if each.name.endswith("sigma") and value > _MOST_SIGMA:
            raise TraceError(f"{each.name} is {value:g}, expected at most {_MOST_SIGMA:g} ({each.metadata['says']})")
    return link


def steps_of(duration_s: float, step_s: float) -> int:
    """How many steps a generated trace has."""
    if not isfinite(duration_s) or duration_s < 0.001:
        raise TraceError(f"a trace lasts at least 1 ms, not {duration_s:g} s")
    count = duration_s / step_s
    if count > MOST_VALUES:
        raise TraceError(f"{duration_s:g} s in steps of {step_s:g} s are more than {MOST_VALUES} values")
    return ceil(count - 1e-9)
