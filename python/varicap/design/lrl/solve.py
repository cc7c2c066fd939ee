"""Thresholds and steps of load-reactive links: which reach a target, and where the link is stable.

Every setting is simulated on the same scenario, whose load-reactive links take the thresholds and steps in turn.  A
setting is *stable* if, once its first link has left its minimum, it never returns to it while the run lasts; whether it
is of any use only a target tells, so that without one none is recommended.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np
import pyarrow.compute as pc

from varicap.design.lrl.grid import Grid, Setting, Steps, Unit
from varicap.engines import sim
from varicap.engines.scenarios import AnyScenario, load, load_reactive_tables
from varicap.statistics import Array, Bounds, Interval, Progress, Verdict, settle, together

_MOST_TIMES = 4
"""Replications of a setting that is undecided: up to so many times what was asked for, and _LEAST_MOST."""
_LEAST_MOST = 12
_EXTENSIONS = 4
"""A grid whose edge wins is extended so many times."""


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

    @property
    def asks(self) -> bool:
        """Whether it asks for anything that can be measured: stability alone chooses nothing."""
        return self.least_throughput_bps > 0 or isfinite(min(self.most_capacity_bps, self.most_delay_s))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        bounds = {"capacity_bps": self.most_capacity_bps, "delay_s": self.most_delay_s}
        return {
            "throughput_bps": Bounds(low=self.least_throughput_bps or -inf).to_dict(),
            **{name: Bounds(high=most).to_dict() for name, most in bounds.items()},
            "stable": self.stable,
        }


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
    runs: int
    """Replications."""

    @property
    def stable(self) -> bool:
        """Whether it left its minimum in every run, and never returned."""
        return self.opens_s is not None and self.closures.mean == 0.0

    def asked(self, target: Target) -> list[tuple[Interval, Bounds]]:
        """What was measured, with what the target asks of it."""
        return [
            (self.throughput_bps, Bounds(low=target.least_throughput_bps or -inf)),
            (self.capacity_bps, Bounds(high=target.most_capacity_bps)),
            (self.delay_s, Bounds(high=target.most_delay_s)),
        ]

    def verdict(self, target: Target) -> Verdict:
        """Whether the intervals lie within the target; a setting that must be stable and is not misses it."""
        if target.stable and not self.stable:
            return "misses"
        return together(bounds.verdict(value) for value, bounds in self.asked(target))

    def shortfall(self, target: Target) -> tuple[bool, float]:
        """How far it is from the target: whether it is not stable, though it must be; the largest share missing."""
        missing = max(bounds.shortfall(value) for value, bounds in self.asked(target))
        return target.stable and not self.stable, missing

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
            "runs": self.runs,
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
    """Of those that meet the target the one with the least mean capacity; none if none does, or there is no target."""
    added: int = 0
    """Settings beyond those that were asked for, tried because the best lay at an edge."""
    at_edge: bool = False
    """Whether the best, or the nearest, is still at an edge of what was tried."""

    @property
    def verdict(self) -> Verdict | None:
        """Whether a setting meets the target; none without a target."""
        if not self.target.asks:
            return None
        return "meets" if self.best else self.nearest.verdict(self.target)

    @property
    def nearest(self) -> Point:
        """The setting that comes closest to the target."""
        return _nearest(self.points, self.target)

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap design lrl --json`` prints it."""
        judged = self.target.asks
        return {
            "scenario": self.scenario,
            "link": self.link,
            "target": self.target.to_dict() if judged else None,
            "points": [
                point.to_dict() | {"verdict": point.verdict(self.target) if judged else None} for point in self.points
            ],
            "verdict": self.verdict,
            "best": None if self.best is None else self.best.to_dict(),
            "nearest": self.nearest.to_dict() if judged else None,
            "added_settings": self.added,
            "at_edge": self.at_edge,
        }


def lrl(
    scenario: AnyScenario,
    *,
    lows: Sequence[float],
    highs: Sequence[float],
    unit: Unit = "B",
    steps_bps: Sequence[Steps] = ((50e3, 50e3),),
    target: Target | None = None,
    seeds: int = 3,
    extend: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Design:
    """Try all thresholds (low at most high) with all steps (up, down) on the load-reactive links of a scenario.

    A setting whose intervals reach over a bound of the target gets more replications than `seeds`, up to four times as
    many.  If the best one, or the nearest, lies at an edge of the grid, the grid grows there, unless `extend` is false.

    >>> found = lrl("examples/lrl.toml", lows=[2000], highs=[3000, 6000], seeds=1)
    >>> [point.stable for point in found.points], found.best
    ([True, True], None)
    """
    target = target or Target()
    loaded = load(scenario)
    links = load_reactive_tables(json.loads(loaded.to_json()))
    if not links:
        raise ValueError(f"`{loaded.name}` has no link with a load-reactive capacity")
    grid = Grid(tuple(lows), tuple(highs), tuple(steps_bps), unit)
    first = len(grid.settings())
    if not first:
        raise ValueError("no low threshold is at most a high one")
    points: dict[Setting, Point] = {}

    def measure(grid: Grid) -> None:
        settings = grid.settings()
        for number, setting in enumerate(settings):
            if progress is not None:
                progress(number / len(settings), number, len(settings))
            if setting not in points:
                points[setting] = _settled(loaded, setting, links, target, seeds, jobs)

    measure(grid)
    for _ in range(_EXTENSIONS if extend and target.asks else 0):
        wider = grid.beyond(_choice(tuple(points.values()), target).setting)
        if wider == grid:
            break
        grid = wider
        measure(grid)
    tried = tuple(points.values())
    best = _best(tried, target) if target.asks else None
    at_edge = target.asks and grid.beyond(_choice(tried, target).setting) != grid
    return Design(loaded.name, _judged(loaded, links), target, tried, best, len(tried) - first, at_edge)


def _best(points: Sequence[Point], target: Target) -> Point | None:
    good = [point for point in points if point.verdict(target) == "meets"]
    return min(good, key=lambda point: (point.capacity_bps.mean, point.delay_s.mean), default=None)


def _nearest(points: Sequence[Point], target: Target) -> Point:
    return min(points, key=lambda point: (*point.shortfall(target), point.capacity_bps.mean))


def _choice(points: Sequence[Point], target: Target) -> Point:
    return _best(points, target) or _nearest(points, target)


def _settled(
    loaded: Any, setting: Setting, links: Sequence[str], target: Target, seeds: int, jobs: int | None
) -> Point:
    """What a setting gave, with as many replications as its verdict takes."""
    return settle(
        lambda runs: _measure(loaded, setting, links, runs, jobs),
        lambda point: point.asked(target) if point.stable or not target.stable else [],
        runs=seeds,
        most=max(_MOST_TIMES * seeds, _LEAST_MOST),
    )


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
        throughput_bps=Interval.of(flows, within="amount"),
        capacity_bps=Interval.of(_numbers(rows["capacity_bps"]), within="amount"),
        delay_s=Interval.of(_numbers(rows["sojourn_p95_ms"]) / 1e3, within="quantile"),
        opens_s=float(first.mean()) if opened.all() else None,
        closures=Interval.of((above[:, :-1] & ~above[:, 1:]).sum(axis=1).astype(np.float64), within="count"),
        runs=result.runs,
    )


def _numbers(column: Any) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
