"""How many samples EFFCAP should average (M), and over how many averages it should take the least (N).

The rule of [abr, §VI]: M = ceil(Delta / s), averages over a round trip Delta of samples taken every s, and
N = (k - 1) M with k = 8 to 12, a memory of k round trips.  Whether it pays depends on psi, the mean time that the
capacity stays in a state over Delta:

    fast           psi < 0.2        all averages are close to the mean capacity, which is advertised
    round trips    0.2 .. 20        rates come too late; the least capacity is advertised, and little is lost
    slow           psi > 20         the capacity itself is advertised; a short memory regains it sooner

`effcap` measures it: TCP alone, over INSTCAP and over EFFCAP with several M and N, each under the same capacity.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from varicap.analyse.effective import estimate
from varicap.design.effcap.path import ROUND_TRIPS, RULE, Path, efficiencies
from varicap.design.effcap.path import effcap as over_effcap
from varicap.design.effcap.path import instcap as over_instcap
from varicap.scenario import Flow
from varicap.statistics import Array, Bounds, Interval, Progress, Verdict, settle

Regime: TypeAlias = Literal["fast", "round trips", "slow"]

FAST, SLOW = 0.2, 20.0
"""Mean time in a state over the round trip, below and above which the capacity varies fast and slowly [abr, §VI]."""
OVER_PSI = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Rates of variation that the overview shows."""

GAINS = Bounds(low=math.nextafter(0.0, 1.0))
"""What a gain is asked to be: more than nothing [%]."""

_MEMORIES = (2, 4, RULE, 12)  # k: round trips that EFFCAP remembers
_LONGEST = 90  # round trips that it may remember: fewer than the warm-up has
_LONGER = 1.5  # by which the memory is extended if the longest one wins
_WORTHWHILE = 1.0  # a gain below this is not worth a deviation [%]
_SAMPLES = 20_000  # for the rates that would be advertised
_MOST_TIMES = 4  # as many replications, at most, until the gain is confirmed
_MOST_PSI = 1000.0  # beyond, the capacity is as good as constant
_LEAST_SHARE = 0.01  # of an interval that the capacity stays in a state: below, every sample is the mean
_NEARLY = 1.02  # told so little more than the least capacity, EFFCAP is as good as that capacity for good

Run: TypeAlias = Callable[[float, Mapping[str, Flow]], dict[str, Array]]
"""Efficiency of each flow in each replication, at a rate of variation."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One choice of M and N, at the rate of variation that was asked for."""

    average: int
    """Samples of an average, M."""
    least: int
    """Averages of which the least is advertised, N."""
    efficiency: Interval
    """Throughput as a share of the mean capacity."""
    over_rule: Interval
    """What it gains over the rule's M and N, under the same capacity [%]."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """TCP with and without rate control at one rate of variation, EFFCAP as recommended."""

    psi: float
    regime: Regime
    told: float
    """Mean rate that EFFCAP advertises, as a share of the mean capacity."""
    too_high: float
    """Share of time in which a rate exceeds the capacity that it meets, a round trip later."""
    tcp: Interval
    """Efficiency of TCP alone."""
    instcap: Interval
    """Efficiency over INSTCAP."""
    effcap: Interval
    """Efficiency over EFFCAP."""
    over_tcp: Interval
    """What EFFCAP gains over TCP alone [%]."""
    over_instcap: Interval
    """What EFFCAP gains over INSTCAP [%]."""


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """What a choice of M and N gained in replications that had no part in choosing it [%]."""

    average: int
    least: int
    runs: int
    over_rule: Interval
    over_instcap: Interval
    over_tcp: Interval

    def verdicts(self) -> dict[str, Verdict]:
        """Whether the whole interval of each gain is above nothing."""
        gains = {"over_rule": self.over_rule, "over_instcap": self.over_instcap, "over_tcp": self.over_tcp}
        return {name: GAINS.verdict(gain) for name, gain in gains.items()}

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "average_samples": self.average,
            "least_samples": self.least,
            "runs": self.runs,
            "over_rule_percent": self.over_rule.to_dict(),
            "over_instcap_percent": self.over_instcap.to_dict(),
            "over_tcp_percent": self.over_tcp.to_dict(),
            "verdicts": self.verdicts(),
        }


@dataclass(frozen=True, kw_only=True)
class Design:
    """The recommended M and N, and what was measured to recommend them."""

    path: Path
    psi: float | None
    average: int
    """Recommended M [samples]."""
    least: int
    """Recommended N [averages]."""
    reason: str
    choices: tuple[Choice, ...] = field(default=())
    """At the rate of variation that was asked for, the best first; empty if none was."""
    over_psi: tuple[Point, ...] = field(default=())
    confirmed: Confirmed | None = None
    """The recommended choice in fresh replications at the rate of variation that was asked for."""
    at_edge: bool = False
    """Whether an even longer memory, or a longer average, may gain more."""

    @property
    def is_constant(self) -> bool:
        """Whether what is advertised at this rate of variation is nearly the least capacity, all the time."""
        here = next((point for point in self.over_psi if point.psi == self.psi), None)
        mean = (self.path.high_bps + self.path.low_bps) / 2
        return here is not None and here.told * mean < _NEARLY * self.path.low_bps

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap design effcap --json`` prints it."""
        return {
            "delay_s": self.path.delay_s,
            "interval_s": self.path.interval_s,
            "psi": self.psi,
            "recommended": {
                "average_samples": self.average,
                "least_samples": self.least,
                "memory_s": (self.average + self.least - 1) * self.path.interval_s,
            },
            "rule": dict(zip(("average_samples", "least_samples"), self.path.rule, strict=True)),
            "reason": self.reason,
            "confirmed": None if self.confirmed is None else self.confirmed.to_dict(),
            "verdict": None if self.confirmed is None else self.confirmed.verdicts()["over_tcp"],
            "at_edge": self.at_edge,
            "is_constant": self.is_constant,
            "choices": [
                {
                    "average_samples": one.average,
                    "least_samples": one.least,
                    "efficiency": one.efficiency.to_dict(),
                    "over_rule_percent": one.over_rule.to_dict(),
                }
                for one in self.choices
            ],
            "over_psi": [
                {
                    "psi": one.psi,
                    "regime": one.regime,
                    "told_over_mean": one.told,
                    "told_too_high": one.too_high,
                    "tcp": one.tcp.to_dict(),
                    "instcap": one.instcap.to_dict(),
                    "effcap": one.effcap.to_dict(),
                    "effcap_over_tcp_percent": one.over_tcp.to_dict(),
                    "verdict_over_tcp": GAINS.verdict(one.over_tcp),
                    "verdict_over_instcap": GAINS.verdict(one.over_instcap),
                    "effcap_over_instcap_percent": one.over_instcap.to_dict(),
                }
                for one in self.over_psi
            ],
        }


def regime(psi: float) -> Regime:
    """Which of the three regimes of [abr, §VI] a rate of variation belongs to.

    >>> regime(0.1), regime(5.0), regime(100.0)
    ('fast', 'round trips', 'slow')
    """
    return "fast" if psi < FAST else "slow" if psi > SLOW else "round trips"


def effcap(
    path: Path | None = None,
    psi: float | None = None,
    *,
    seeds: int = 6,
    duration_s: float | None = None,
    overview: Sequence[float] = OVER_PSI,
    seed: int = 1,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Design:
    """Recommend M and N for a path, and measure what they cost and gain.

    With `psi` several M and N are compared there by simulation; where the longest memory or average wins, longer ones
    follow.  What is best, the shortest memory within 1 %, is run again with other seeds, up to four times as many,
    beside the rule: it is recommended if it gains more than 1 % there, and more than chance.  Without `psi` the rule is
    recommended: it suits all rates somewhat.

    `duration_s` is the least simulated time of each of the `seeds` replications, 1000 round trips if it is not given;
    slow variation takes 30 mean times in a state.

    >>> design = effcap(psi=1.0, seeds=3, duration_s=60.0, overview=())
    >>> design.average, design.choices[0].efficiency.mean > 0.5
    (1, True)
    """
    path = path or Path()
    if psi is not None:
        _check_psi(path, psi)
    if seeds < 2:
        raise ValueError(f"an interval takes two replications or more, not {seeds}")
    length_s = ROUND_TRIPS * path.delay_s if duration_s is None else duration_s
    points = sorted({*overview, psi} if psi is not None and overview else overview)
    total = len(points) + 2 * (psi is not None)

    def report(done: int) -> None:
        if progress is not None:
            progress(done / max(total, 1), done, total)

    def run(at: float, flows: Mapping[str, Flow], runs: int = seeds, first: int = seed) -> dict[str, Array]:
        return efficiencies(path, at, flows, seeds=runs, length_s=length_s, seed=first, jobs=jobs)

    average, least = path.rule
    reason = "the rule: it suits all rates of variation somewhat"
    choices: tuple[Choice, ...] = ()
    confirmed, at_edge = None, False
    if psi is not None:
        report(0)
        choices, at_edge = _explore(path, psi, run)
        report(1)
        confirmed = _confirm(path, psi, _best(path, choices), run, seeds, (seed + 1) % 2**64)
        average, least, reason = _recommended(path, confirmed)
        if (average, least) != (confirmed.average, confirmed.least):
            confirmed = _confirm(path, psi, _rule(path, choices), run, seeds, (seed + 1) % 2**64)
    flows = {"tcp": Flow(), "instcap": over_instcap(path), "effcap": over_effcap(path, average, least)}
    measured: list[Point] = []
    for at in points:
        report(len(measured) + 2 * (psi is not None))
        measured.append(_point(path, at, (average, least), run(at, flows)))
    return Design(
        path=path,
        psi=psi,
        average=average,
        least=least,
        reason=reason,
        choices=choices,
        over_psi=tuple(measured),
        confirmed=confirmed,
        at_edge=at_edge,
    )


def _check_psi(path: Path, psi: float) -> None:
    if not 0 < psi < math.inf:
        raise ValueError(f"psi is a positive number, not {psi!r}")
    if psi > _MOST_PSI:
        raise ValueError(
            f"at psi = {psi:g} the capacity is as good as constant: nothing to average (at most {_MOST_PSI:g})"
        )
    if psi * path.delay_s < _LEAST_SHARE * path.interval_s:
        raise ValueError(
            f"at psi = {psi:g} the capacity changes more than {1 / _LEAST_SHARE:g} times in an interval of "
            f"{path.interval_s:g} s: every sample is the mean"
        )


def _explore(path: Path, psi: float, run: Run) -> tuple[tuple[Choice, ...], bool]:
    """All choices that were compared, the best first; whether the best is still at an edge that may not be crossed.

    M is one sample, half a round trip and a whole one, the memory 2 to 12 round trips.  An edge is left behind as long
    as it gains more than 1 % over what does not lie at it.
    """
    averages, times = [1, math.ceil(path.samples / 2), path.samples], [float(one) for one in _MEMORIES]
    measured: dict[tuple[int, int], Array] = {}
    while True:
        new = [one for one in _memories(path, averages, times) if one not in measured]
        found = run(psi, {_name(*memory): over_effcap(path, *memory) for memory in new})
        measured |= {memory: found[_name(*memory)] for memory in new}
        choices = _choices(path, measured)
        is_long = _wins(choices, [one for one in choices if one.least < _least(path, times[-1])])
        is_wide = _wins(choices, [one for one in choices if one.average < averages[-1]])
        if is_long and times[-1] * _LONGER <= _LONGEST:
            times.append(times[-1] * _LONGER)
        elif is_wide and 2 * averages[-1] <= (RULE - 1) * path.samples:
            averages.append(2 * averages[-1])
        else:
            return choices, is_long or is_wide


def _wins(choices: Sequence[Choice], inside: Sequence[Choice]) -> bool:
    """Whether the best choice is none of those inside of an edge, and gains more over them than is worthwhile."""
    most = max((one.efficiency.mean for one in inside), default=0.0)
    return choices[0].efficiency.mean > (1 + _WORTHWHILE / 100) * most


def _best(path: Path, choices: Sequence[Choice]) -> Choice:
    """Of the choices that are as good as the best, the rule if it is one of them, else the one that remembers least."""
    enough = choices[0].efficiency.mean / (1 + _WORTHWHILE / 100)
    good = [one for one in choices if one.efficiency.mean >= enough]
    rule = _rule(path, choices)
    return rule if rule in good else min(good, key=lambda one: (one.average + one.least, one.average))


def _least(path: Path, times: float) -> int:
    """N for a memory of so many round trips."""
    return round((times - 1) * path.samples)


def _memories(path: Path, averages: Sequence[int], times: Sequence[float]) -> list[tuple[int, int]]:
    """M and N that are compared: each average with each memory, INSTCAP and the rule."""
    found = {(average, _least(path, one)) for average in averages for one in times}
    return sorted(found | {(1, 1), path.rule})


def _name(average: int, least: int) -> str:
    return f"effcap-{average}-{least}"


def _choices(path: Path, measured: Mapping[tuple[int, int], Array]) -> tuple[Choice, ...]:
    rule = measured[path.rule]
    found = [
        Choice(
            average=memory[0],
            least=memory[1],
            efficiency=Interval.of(efficiency, within="amount"),
            over_rule=_gain(efficiency, rule),
        )
        for memory, efficiency in measured.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.efficiency.mean))


def _rule(path: Path, choices: Sequence[Choice]) -> Choice:
    return next(one for one in choices if (one.average, one.least) == path.rule)


def _confirm(path: Path, psi: float, best: Choice, run: Callable[..., Any], seeds: int, first: int) -> Confirmed:
    """Run a choice with seeds that had no part in choosing it: the best of several is flattered by its own runs."""
    flows = {
        "tcp": Flow(),
        "instcap": over_instcap(path),
        "rule": over_effcap(path, *path.rule),
        "best": over_effcap(path, best.average, best.least),
    }

    def measure(runs: int) -> Confirmed:
        found = run(psi, flows, runs, first)
        return Confirmed(
            average=best.average,
            least=best.least,
            runs=runs,
            over_rule=_gain(found["best"], found["rule"]),
            over_instcap=_gain(found["best"], found["instcap"]),
            over_tcp=_gain(found["best"], found["tcp"]),
        )

    is_rule = (best.average, best.least) == path.rule
    return settle(
        measure,
        lambda found: [(found.over_tcp, GAINS)] if is_rule else [(found.over_rule, GAINS)],
        runs=seeds,
        most=_MOST_TIMES * seeds,
    )


def _recommended(path: Path, confirmed: Confirmed) -> tuple[int, int, str]:
    gain, runs = confirmed.over_rule, f"in {confirmed.runs} other runs"
    best = confirmed.average, confirmed.least
    if best == path.rule:
        return *path.rule, "the rule: no other choice that was compared gains more than 1 %"
    said = f"M = {best[0]}, N = {best[1]} gains {gain.mean:.1f} % {runs}"
    if gain.mean < _WORTHWHILE:
        return *path.rule, f"the rule: of the others {said}, too little"
    if GAINS.verdict(gain) != "meets" or gain.lo is None or gain.hi is None:
        return *path.rule, f"the rule: of the others {said}, no more than chance"
    return *best, f"gains {gain.mean:.1f} % over the rule ({gain.lo:.1f} to {gain.hi:.1f} %) {runs}"


def _point(path: Path, psi: float, memory: tuple[int, int], measured: Mapping[str, Array]) -> Point:
    told, too_high = _told(path, psi, memory)
    return Point(
        psi=psi,
        regime=regime(psi),
        told=told,
        too_high=too_high,
        tcp=Interval.of(measured["tcp"], within="amount"),
        instcap=Interval.of(measured["instcap"], within="amount"),
        effcap=Interval.of(measured["effcap"], within="amount"),
        over_tcp=_gain(measured["effcap"], measured["tcp"]),
        over_instcap=_gain(measured["effcap"], measured["instcap"]),
    )


def _gain(ours: Array, other: Array) -> Interval:
    return Interval.of(100 * (ours / other - 1))


def _told(path: Path, psi: float, memory: tuple[int, int]) -> tuple[float, float]:
    """Mean rate that would be advertised over the mean capacity, and how often it exceeds what it meets."""
    rng = np.random.default_rng(1)
    tau = psi * path.delay_s
    end = _SAMPLES * path.interval_s
    changes = np.cumsum(rng.exponential(tau, max(4, math.ceil(2 * end / tau))))
    edges = np.arange(_SAMPLES + 1) * path.interval_s
    times = np.concatenate([[0.0], changes])
    rates = np.where(np.arange(times.size) % 2, path.low_bps, path.high_bps)
    # The capacity's integral is piecewise linear: its means over the intervals are exact.
    volume = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(times))])
    carried = np.diff(np.interp(edges, times, volume)) / path.interval_s
    rate = estimate(carried, average=memory[0], least=memory[1])
    meets = carried[path.samples + 1 :]
    return float(rate.mean() / carried.mean()), float((rate[: meets.size] > meets * (1 + 1e-9)).mean())
