"""How often advice has to come, and in how fine steps, to be worth following on a link whose capacity varies.

Advice [scone] tells the lowest rate of a period: where that is below the capacity it costs throughput, and keeps the
queue short.  Rates that are told as they are cost next to none, and need not shorten the queue.  Advice is *worth*
following where the flows keep most of the goodput that they have without it, and the 95th percentile of their
round-trip times falls to a share of what it was.  Among the settings that are, the one that asks least of the network
is recommended: it comes most seldom, and in the coarsest steps.  All settings meet the same channels as the flows
without advice do, replication by replication.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from varicap.engines import sim
from varicap.engines.scenarios import AnyScenario, load
from varicap.results.samples import samples
from varicap.statistics import Array, Bounds, Interval, Progress, Range, Verdict, settle, together

UPDATES_S = (0.1, 1.0, 5.0, 25.0)
"""Times between updates that are tried; the draft's is 20 to 30 s.  Source: [scone, §7.1]."""
STEPS = (20, 200)
"""Levels in a factor of ten that are tried; the draft's are 20, of 12.2 % each.  Source: [scone, §5.1]."""

_PERIOD = 67 / 25
"""How long advice counts, over the time between updates.  Source: [scone, §5.2, §7.1]."""
_SPREAD = 0.4
"""How much the time between updates varies, as a share of it: 20 to 30 s around 25 s.  Source: [scone, §7.1]."""
_MOST_TIMES = 4
"""Replications of a setting that is undecided: up to so many times what was asked for, when it is confirmed as well."""
_TOLD = ("ratcp", "rate-adaptive-window", "accel-brake")
"""Controls that follow what the network says whether they are capped or not."""


@dataclass(frozen=True)
class Target:
    """When advice is worth following."""

    keep: float = 0.95
    """Least goodput, as a share of that without advice."""
    delay: float = 0.8
    """Greatest 95th percentile of round-trip times, as a share of that without advice."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        bounds = {"goodput": Bounds(low=self.keep), "delay": Bounds(high=self.delay)}
        return {name: asked.to_dict() for name, asked in bounds.items()}


@dataclass(frozen=True)
class Setting:
    """How advice is told."""

    update_s: float
    """Mean time between updates [s]."""
    steps: int
    """Levels in a factor of ten."""

    @property
    def period_s(self) -> float:
        """How long advice counts [s]."""
        return _PERIOD * self.update_s

    @property
    def step(self) -> float:
        """How much higher a level is than the one below it, as a share."""
        return float(10 ** (1 / self.steps) - 1)

    def scone(self) -> dict[str, Any]:
        """As a scenario has it."""
        spread = _SPREAD * self.update_s
        return {
            "update": _time(self.update_s - spread / 2),
            "spread": _time(spread),
            "period": _time(self.period_s),
            "steps": self.steps,
        }


@dataclass(frozen=True)
class Gain:
    """What advice gave, beside none under the same channels."""

    goodput: Interval
    """Of all flows together, as a share of that without advice."""
    delay: Interval
    """The 95th percentile of round-trip times, in the mean of the flows, as a share of that without advice."""
    goodput_bps: Interval
    """Of all flows together [b/s]."""
    rtt_s: Interval
    """The 95th percentile of round-trip times, in the mean of the flows [s]."""
    runs: int
    """Replications."""

    def asked(self, target: Target) -> list[tuple[Interval, Bounds]]:
        """What was measured, with what the target asks of it."""
        return [(self.goodput, Bounds(low=target.keep)), (self.delay, Bounds(high=target.delay))]

    def verdict(self, target: Target) -> Verdict:
        """Whether the whole intervals are within the target."""
        return together(bounds.verdict(value) for value, bounds in self.asked(target))

    def shortfall(self, target: Target) -> float:
        """The largest share by which a mean misses the target."""
        return max(bounds.shortfall(value) for value, bounds in self.asked(target))

    def to_dict(self, target: Target) -> dict[str, Any]:
        """For JSON."""
        return {
            "goodput_of_none": self.goodput.to_dict(),
            "delay_of_none": self.delay.to_dict(),
            "goodput_bps": self.goodput_bps.to_dict(),
            "rtt_p95_s": self.rtt_s.to_dict(),
            "runs": self.runs,
            "verdict": self.verdict(target),
        }


@dataclass(frozen=True)
class Point:
    """A setting and what it gave."""

    setting: Setting
    gain: Gain

    def to_dict(self, target: Target) -> dict[str, Any]:
        """For JSON."""
        told = {"update_s": self.setting.update_s, "period_s": self.setting.period_s, "steps": self.setting.steps}
        return told | self.gain.to_dict(target)


@dataclass(frozen=True)
class Design:
    """What was tried, and what is worth it."""

    scenario: str
    target: Target
    points: tuple[Point, ...]
    """All settings, the most frequent first."""
    exact: Gain
    """Each rate as the flows' `feedback` says it, by default exactly, and none counts any longer than it holds.

    No bound: advice that comes seldom may have less delay, since it tells the lowest rate of a period.
    """
    best: Point | None
    """Of those that are worth it the one that asks least of the network, in replications that did not choose it."""
    unconfirmed: tuple[Point, ...] = ()
    """What met the target in the first replications but not in others, with what it gave in those."""

    @property
    def verdict(self) -> Verdict:
        """Whether a setting is worth following; one that met the target in the first replications alone is open."""
        if self.best is not None:
            return "meets"
        found = {point.gain.verdict(self.target) for point in self.points}
        return "misses" if found == {"misses"} else "undecided"

    @property
    def nearest(self) -> Point:
        """The setting that comes closest to the target, by the replications that did not choose it if there are any."""
        later = {point.setting: point for point in self.unconfirmed}
        stand = [later.get(point.setting, point) for point in self.points]
        return min(stand, key=lambda point: point.gain.shortfall(self.target))

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap design advice --json`` prints it."""
        return {
            "scenario": self.scenario,
            "target": self.target.to_dict(),
            "points": [point.to_dict(self.target) for point in self.points],
            "exact": self.exact.to_dict(self.target),
            "verdict": self.verdict,
            "best": None if self.best is None else self.best.to_dict(self.target),
            "unconfirmed": [point.to_dict(self.target) for point in self.unconfirmed],
            "nearest": self.nearest.to_dict(self.target),
        }


def advice(
    scenario: AnyScenario,
    *,
    updates_s: Sequence[float] = UPDATES_S,
    steps: Sequence[int] = STEPS,
    target: Target | None = None,
    overrides: Mapping[str, str] | None = None,
    seeds: int = 4,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Design:
    """Try each time between updates [s] with each number of steps in a factor of ten.

    All flows of the scenario follow: each is told what its `feedback` says, by default its exact share of the
    bottleneck, and sends no faster.  A setting whose intervals reach over a bound of the target gets up to four times
    as many replications as `seeds`.  Those that meet it are run again with other seeds, from the one that asks least of
    the network on, until one meets it there as well.  `seed` is the base seed, by default the scenario's.  Raises
    ``ValueError`` for what cannot be tried, or flows whose control follows rates as it is.

    >>> found = advice("examples/markov.toml", updates_s=[1.0], steps=[20], seeds=2, overrides={"duration": "'20 s'"})
    >>> found.points[0].setting.period_s, found.verdict in ("meets", "misses", "undecided")
    (2.68, True)
    """
    target = target or Target()
    settings = _settings(updates_s, steps)
    if seeds < 2:
        raise ValueError(f"an interval takes two replications or more, not {seeds}")
    base = load(scenario, overrides or {})
    trial = _Trial(base, base.seed if seed is None else seed, jobs)
    points: list[Point] = []
    for setting in settings:
        if progress is not None:
            progress(len(points) / (len(settings) + 2), len(points), len(settings) + 2)
        points.append(Point(setting, trial.settle(setting, target, seeds, most=_MOST_TIMES * seeds)))
    good = [point for point in points if point.gain.verdict(target) == "meets"]
    others = trial.of_other_seeds()
    best, unconfirmed = None, []
    # From the one that asks least of the network on.
    for point in sorted(good, key=lambda one: (-one.setting.update_s, one.setting.steps)):
        again = Point(point.setting, others.settle(point.setting, target, point.gain.runs, most=_MOST_TIMES * seeds))
        if again.gain.verdict(target) == "meets":
            best = again
            break
        unconfirmed.append(again)
    return Design(trial.scenario.name, target, tuple(points), trial.measure(None, seeds), best, tuple(unconfirmed))


def _settings(updates_s: Sequence[float], steps: Sequence[int]) -> list[Setting]:
    if not updates_s or not steps:
        raise ValueError("nothing to try: at least one time between updates and one number of steps")
    for update in updates_s:
        if not 1e-3 <= update <= 1e6:
            raise ValueError(f"a time between updates is 1 ms to 1000000 s, not {update!r} s")
    for number in steps:
        if isinstance(number, bool) or not 1 <= number <= 1000:
            raise ValueError(f"steps in a factor of ten are 1 to 1000, not {number!r}")
    return [Setting(update, number) for update, number in product(sorted(set(updates_s)), sorted(set(steps)))]


@dataclass(frozen=True)
class _Trial:
    """A scenario whose flows are told a rate, in one way or another."""

    scenario: Any
    seed: int
    jobs: int | None
    alone: list[tuple[Array, Array]] = field(default_factory=list, compare=False)
    """The runs without advice, the most that there are so far."""

    def __post_init__(self) -> None:
        for name, flow in self._flows().items():
            control = flow.get("tcp", {}).get("congestion", self._table().get("tcp", {}).get("congestion"))
            named = control if isinstance(control, str) else next(iter(control or {}), None)
            if named in _TOLD:
                raise ValueError(
                    f"flows.{name}.tcp.congestion: `{named}` cannot do without rates, so that none is no case"
                )
            if flow.get("datagrams") or flow.get("abr"):
                raise ValueError(f"flows.{name}: expected TCP without an ABR source, which advice can cap")

    def _table(self) -> dict[str, Any]:
        return dict(json.loads(self.scenario.to_json()))

    def _flows(self) -> dict[str, Any]:
        return dict(self._table()["flows"])

    def of_other_seeds(self) -> "_Trial":
        """The same under other channels."""
        return _Trial(self.scenario, (self.seed + 1) % 2**64, self.jobs)

    def settle(self, setting: Setting, target: Target, seeds: int, *, most: int) -> Gain:
        """What a setting gave, with as many replications as its verdict takes, at most `most`."""
        return settle(
            lambda runs: self.measure(setting, runs),
            lambda gain: gain.asked(target),
            runs=seeds,
            most=most,
        )

    def measure(self, setting: Setting | None, seeds: int) -> Gain:
        """What advice gave beside none, over so many replications; without a setting, exact rates."""
        told = {"cap": True} | ({} if setting is None else {"scone": setting.scone()})
        (none, none_s), (ours, ours_s) = self._without(seeds), self._run(seeds, told)
        if not (none > 0).all() or not (none_s > 0).all():
            raise ValueError(f"`{self.scenario.name}`: a run delivers nothing even without advice")
        is_exact = len(ours) > 1 and all(self._scenario(one).draws_nothing for one in (None, told))

        def of(values: Array, within: Range) -> Interval:
            return Interval.exactly(float(values[0])) if is_exact else Interval.of(values, within=within)

        return Gain(
            goodput=of(ours / none, "amount"),
            delay=of(ours_s / none_s, "quantile"),
            goodput_bps=of(ours, "amount"),
            rtt_s=of(ours_s, "quantile"),
            runs=len(ours),
        )

    def _without(self, seeds: int) -> tuple[Array, Array]:
        """As `_run`, without advice: all settings are compared with the same runs, so that they are made once."""
        if not self.alone or len(self.alone[0][0]) < seeds:
            self.alone[:] = [self._run(seeds, None)]
        goodput, delay = self.alone[0]
        return goodput[:seeds], delay[:seeds]

    def _run(self, seeds: int, told: Mapping[str, Any] | None) -> tuple[Array, Array]:
        """Goodput of all flows [b/s] and their 95th percentile of round-trip times [s], in each replication."""
        result = sim.run(
            self._scenario(told),
            seeds=seeds,
            seed=self.seed,
            jobs=self.jobs,
            max_memory=None,
            max_time=None,
        )
        names = list(dict.fromkeys(result.flows["name"].to_pylist()))
        goodput = np.sum([samples(result.flows, name, "goodput_bps") for name in names], axis=0)
        delay = np.mean([samples(result.flows, name, "rtt_p95_ms") for name in names], axis=0) / 1e3
        return np.asarray(goodput), np.asarray(delay)

    def _scenario(self, told: Mapping[str, Any] | None) -> Any:
        """The scenario whose flows are told so; None: they are told nothing, and no application heeds it."""
        table = self._table()
        for flow in table["flows"].values():
            feedback = flow.pop("feedback", {})
            if told is not None:
                feedback.pop("scone", None)
                flow["feedback"] = feedback | told
            elif isinstance(flow["app"], dict):
                for app in flow["app"].values():
                    if isinstance(app, dict):
                        app.pop("heed", None)
        return load(table, base_dir=self.scenario.base_dir)


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e6)} us"
