"""Thresholds and steps of load-reactive links: which reach a target, and where the link is stable.

Every setting is simulated on the same scenario, whose load-reactive links take the thresholds and steps in turn.  A
setting is *stable* if, once its first link has left its minimum, it never returns to it while the run lasts.
"""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow.compute as pc

from varicap.engines import sim
from varicap.engines.scenarios import AnyScenario, load, load_reactive_tables
from varicap.statistics import Array, Interval, Progress

Unit: TypeAlias = Literal["B", "packets"]


@dataclass(frozen=True)
class Setting:
    """Thresholds and steps of a hysteresis."""

    low: float
    """Low threshold [B or packets]."""
    high: float
    """High threshold [B or packets]."""
    unit: Unit
    increment_bps: float
    """Step up [b/s]."""
    decrement_bps: float
    """Step down [b/s]."""

    def overrides(self, links: Sequence[str]) -> dict[str, str]:
        """As changes of the scenario's load-reactive links, whose tables lie at `links`."""
        control = {
            "low": f"{self.low:g} {self.unit}",
            "high": f"{self.high:g} {self.unit}",
            "increment": f"{self.increment_bps:g} bit/s",
            "decrement": f"{self.decrement_bps:g} bit/s",
        }
        return {f"{link}.control.hysteresis.{key}": text for link in links for key, text in control.items()}


@dataclass(frozen=True)
class Target:
    """What a setting has to reach."""

    least_throughput_bps: float = 0.0
    """All flows together [b/s]."""
    most_capacity_bps: float = float("inf")
    """Mean capacity allocated to the first load-reactive link [b/s]."""
    most_delay_s: float = float("inf")
    """95th percentile of its queueing delay, transmission included [s]."""
    stable: bool = True
    """Whether it must not fall back to its minimum."""


@dataclass(frozen=True)
class Point:
    """What one setting gave, over all runs."""

    setting: Setting
    throughput_bps: Interval
    """All flows together [b/s]."""
    capacity_bps: Interval
    """Mean capacity of the first load-reactive link [b/s]."""
    delay_s: Interval
    """95th percentile of its queueing delay, transmission included [s]."""
    opens_s: float | None
    """When it left its minimum, in the mean over runs; none if it did not in all of them [s]."""
    closures: Interval
    """How often it returned to it."""

    @property
    def stable(self) -> bool:
        """Whether it left its minimum in every run, and never returned."""
        return self.opens_s is not None and self.closures.mean == 0.0

    def reaches(self, target: Target) -> bool:
        """Whether the means reach the target."""
        return (
            self.throughput_bps.mean >= target.least_throughput_bps
            and self.capacity_bps.mean <= target.most_capacity_bps
            and self.delay_s.mean <= target.most_delay_s
            and (self.stable or not target.stable)
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "low": self.setting.low,
            "high": self.setting.high,
            "unit": self.setting.unit,
            "increment_bps": self.setting.increment_bps,
            "decrement_bps": self.setting.decrement_bps,
            "throughput_bps": self.throughput_bps.to_dict(),
            "capacity_bps": self.capacity_bps.to_dict(),
            "delay_s": self.delay_s.to_dict(),
            "opens_s": self.opens_s,
            "closures": self.closures.to_dict(),
            "stable": self.stable,
        }


@dataclass(frozen=True)
class Design:
    """All settings that were tried, and the one to take."""

    scenario: str
    link: str
    """The link that is judged: the first that is load-reactive."""
    target: Target
    points: tuple[Point, ...]
    best: Point | None
    """Of those that reach the target the one with the least mean capacity; none if none does."""

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap design lrl --json`` prints it."""
        return {
            "scenario": self.scenario,
            "link": self.link,
            "points": [point.to_dict() for point in self.points],
            "best": None if self.best is None else self.best.to_dict(),
        }


def lrl(
    scenario: AnyScenario,
    *,
    lows: Sequence[float],
    highs: Sequence[float],
    unit: Unit = "B",
    steps_bps: Sequence[tuple[float, float]] = ((50e3, 50e3),),
    target: Target | None = None,
    seeds: int = 3,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Design:
    """Try all thresholds (low at most high) with all steps (up, down) on the load-reactive links of a scenario.

    >>> found = lrl("examples/lrl.toml", lows=[2000], highs=[3000, 6000], seeds=1)
    >>> [point.stable for point in found.points]
    [True, True]
    """
    target = target or Target()
    loaded = load(scenario)
    links = load_reactive_tables(json.loads(loaded.to_json()))
    if not links:
        raise ValueError(f"`{loaded.name}` has no link with a load-reactive capacity")
    settings = [
        Setting(low, high, unit, up, down)
        for (up, down), high, low in itertools.product(steps_bps, highs, lows)
        if low <= high
    ]
    if not settings:
        raise ValueError("no low threshold is at most a high one")
    points = []
    for number, setting in enumerate(settings):
        if progress is not None:
            progress(number / len(settings), number, len(settings))
        points.append(_measure(loaded, setting, links, seeds, jobs))
    good = [point for point in points if point.reaches(target)]
    best = min(good, key=lambda point: (point.capacity_bps.mean, point.delay_s.mean), default=None)
    return Design(loaded.name, _judged(loaded, links), target, tuple(points), best)


def _judged(loaded: Any, links: Sequence[str]) -> str:
    """The name of the first load-reactive link."""
    place = links[0].removesuffix(".capacity.load-reactive")
    for network in json.loads(loaded.facts()):
        for link in network["links"]:
            if link["path"] == place:
                return str(link["name"])
    raise ValueError(f"there is no link at `{place}`")


def _measure(loaded: Any, setting: Setting, links: Sequence[str], seeds: int, jobs: int | None) -> Point:
    result = sim.run(
        loaded,
        seeds=seeds,
        overrides=setting.overrides(links),
        series=True,
        jobs=jobs,
        max_memory=None,
        max_time=None,
    )
    name = _judged(loaded, links)
    rows = result.links.filter(pc.equal(result.links["name"], name))
    table = result.link_series
    series = table.filter(pc.equal(table["link"], name))
    capacity = _numbers(series["capacity_bps"]).reshape(result.runs, -1)
    times = _numbers(series["time_s"]).reshape(result.runs, -1)[0]
    above = capacity > _numbers(rows["capacity_min_bps"])[:, None] * (1 + 1e-9) + 1e-6
    opened = above.any(axis=1)
    first = times[above.argmax(axis=1)] - (times[1] - times[0] if times.size > 1 else 0.0)
    flows = _numbers(result.flows["throughput_bps"]).reshape(result.runs, -1).sum(axis=1)
    return Point(
        setting=setting,
        throughput_bps=Interval.of(flows),
        capacity_bps=Interval.of(_numbers(rows["capacity_bps"])),
        delay_s=Interval.of(_numbers(rows["sojourn_p95_ms"]) / 1e3),
        opens_s=float(first.mean()) if opened.all() else None,
        closures=Interval.of((above[:, :-1] & ~above[:, 1:]).sum(axis=1).astype(np.float64)),
    )


def _numbers(column: Any) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
