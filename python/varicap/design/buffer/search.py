"""The least buffer whose simulation reaches a target, from the one that the analysis gives.

The analysis leaves out what the simulator has: several losses at once, timeouts, and at small buffers a slow start that
overflows again.  So its answer is simulated, and where the interval does not lie above the target, larger buffers are,
until one does; then those between the least that does and the largest that does not, by halves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

from varicap.design.radio.confirm import RUNS, Simulated, confirm
from varicap.design.radio.link import Radio
from varicap.statistics import Bounds, Progress, Verdict, settle, together

_MOST_RUNS = 3 * RUNS
_MOST_TIMES = 8
"""Buffers are tried up to so many times what the analysis asks for."""
_TRIALS = 8
"""About so many buffers are simulated."""
_FINE = 24
"""A least buffer of more packets than this is found to a share of 1 / _FINE."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What the simulator says of a buffer."""

    packets: int
    bounds: Bounds
    """What a flow's throughput has to be [b/s]."""
    simulated: tuple[Simulated, ...]

    def verdict_of(self, one: Simulated) -> Verdict:
        """Whether this flow reaches the target on this channel."""
        return self.bounds.verdict(one.throughput_bps)

    def verdict(self, flow: str | None = None) -> Verdict:
        """Whether all flows do, or this one, on each channel."""
        return together(self.verdict_of(one) for one in self.simulated if flow in (None, one.flow))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "buffer_packets": self.packets,
            "bounds_bps": self.bounds.to_dict(),
            "verdict": self.verdict(),
            "sim": [one.to_dict() | {"verdict": self.verdict_of(one)} for one in self.simulated],
        }


def attempt(radio: Radio, packets: int, least_bps: float, jobs: int | None) -> Trial:
    """Simulate a buffer, with more replications where those at first leave it undecided."""
    bounds = Bounds(low=least_bps)
    found = settle(
        lambda runs: confirm(radio, packets, runs=runs, jobs=jobs),
        lambda simulated: [(one.throughput_bps, bounds) for one in simulated],
        runs=RUNS,
        most=_MOST_RUNS,
    )
    return Trial(packets=packets, bounds=bounds, simulated=found)


def search(
    radio: Radio,
    target_bps: float,
    first: int,
    needed: Callable[[float], int],
    jobs: int | None,
    progress: Progress | None = None,
) -> tuple[Trial, ...]:
    """The buffers that were simulated for a target, in order of their size: up to the least that reaches it, if any.

    `first` is what the analysis asks for, ``needed(rate)`` what it asks for another target [packets].
    """
    tried: dict[int, Trial] = {}

    def holds(packets: int) -> bool:
        if progress is not None:
            progress(min(len(tried) / _TRIALS, 0.99), len(tried), _TRIALS)
        tried[packets] = attempt(radio, packets, target_bps, jobs)
        return tried[packets].verdict() == "meets"

    most = _MOST_TIMES * first
    low, size = 0, first
    while not holds(size):
        if size == most:
            return tuple(tried[packets] for packets in sorted(tried))
        low, size = size, min(_next(radio, tried[size], needed), most)
    while size - low > max(1, size // _FINE):
        middle = (low + size) // 2
        low, size = (low, middle) if holds(middle) else (middle, size)
    return tuple(tried[packets] for packets in sorted(tried))


def _next(radio: Radio, trial: Trial, needed: Callable[[float], int]) -> int:
    """A larger buffer: what the analysis asks for when it is corrected by how far it was off for the slowest flow."""
    larger = trial.packets + max(1, trial.packets // _FINE)
    (analysis_bps,) = radio.throughputs([trial.packets])
    slowest = min(one.throughput_bps.mean for one in trial.simulated)
    target = (trial.bounds.low * analysis_bps / slowest) if slowest > 0 else radio.most_bps
    try:
        guess = needed(target)
    except ValueError:  # more than any buffer gives by the analysis
        guess = ceil(1.5 * trial.packets)
    return min(max(larger, guess), 2 * trial.packets)


def least(trials: tuple[Trial, ...], flow: str | None = None) -> Trial | None:
    """The smallest buffer that reaches the target with all flows or with this one, and every larger one that was tried.

    None if the largest does not.
    """
    found = None
    for trial in reversed(trials):
        if trial.verdict(flow) != "meets":
            break
        found = trial
    return found


def nearest(trials: tuple[Trial, ...]) -> Trial:
    """Of buffers of which none reaches the target, the one whose slowest flow has most."""
    return max(trials, key=lambda trial: min(one.throughput_bps.mean for one in trial.simulated))
