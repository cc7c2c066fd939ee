"""Measure a control by RFC 9743's criteria, beside controls that are standards or deployed."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

import varicap._core as _core
from varicap._folders import Folder, as_json, parsed
from varicap.engines import sim
from varicap.engines.scenarios import load
from varicap.evaluate.control import Control, control_of
from varicap.evaluate.criteria import Criterion, Untested, known
from varicap.evaluate.measures import is_series, measured, range_of, ratio
from varicap.results.result import Result
from varicap.statistics import Array, Interval, Progress
from varicap.statistics.interval import poisson

Verdict: TypeAlias = Literal["meets", "fails", "unsettled", "weigh"]
VERDICTS: tuple[Verdict, ...] = ("meets", "fails", "unsettled", "weigh")
Apart: TypeAlias = Literal["worse", "better", ""]

BESIDE = ("reno", "cubic", "bbr3")
"""RFC 5681, RFC 9438, and the draft of the working group."""

_SEEDS, _QUICK_SEEDS = 20, 5
_MATERIAL = 0.05
"""A difference counts that is surely more than this share of the other's mean: runs tell less from each other."""
_SAID: dict[str, Verdict] = {"meets": "meets", "misses": "fails", "undecided": "unsettled"}


@dataclass(frozen=True)
class Judged:
    """A criterion, what the control does, and what others do on the same random numbers."""

    criterion: Criterion
    value: Interval
    beside: Mapping[str, Interval]
    apart: Apart
    """Whether it is worse, or better, than each of the others, by the intervals of the differences run by run."""
    scenario: Mapping[str, Any]

    @property
    def verdict(self) -> Verdict:
        """What the bounds say of the interval; `weigh` where nobody says what is enough."""
        bounds = self.criterion.bounds
        return "weigh" if bounds is None else _SAID[bounds.verdict(self.value)]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        one = self.criterion
        return {
            "id": one.id,
            "section": one.section,
            "title": one.title,
            "point": one.point,
            "quote": one.quote,
            "measured": self.value.to_dict(),
            "unit": one.unit,
            "better": one.better,
            "bounds": None if one.bounds is None else one.bounds.to_dict(),
            "reason": one.reason,
            "verdict": self.verdict,
            "apart": self.apart,
            "beside": {name: value.to_dict() for name, value in self.beside.items()},
            "scenario": dict(self.scenario),
        }


@dataclass(frozen=True)
class Evaluation:
    """A control by all criteria."""

    control: Control
    judged: tuple[Judged, ...]
    untested: tuple[Untested, ...]
    seeds: int
    seed: int
    is_quick: bool

    @property
    def counts(self) -> dict[str, int]:
        """How many criteria have each verdict."""
        return {verdict: sum(one.verdict == verdict for one in self.judged) for verdict in VERDICTS}

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap evaluate --json`` prints it."""
        return {
            "control": self.control.name,
            "digest": self.control.digest,
            "version": _core.__version__,
            "reference": known().reference,
            "runs": self.seeds,
            "seed": self.seed,
            "quick": self.is_quick,
            "verdicts": self.counts,
            "criteria": [one.to_dict() for one in self.judged],
            "untested": [{"section": one.section, "title": one.title, "why": one.why} for one in self.untested],
        }


def evaluate(
    control: str | type,
    *,
    plugin: str | Path | None = None,
    controls: Mapping[str, Any] | None = None,
    criteria: Sequence[str] | None = None,
    quick: bool = False,
    seeds: int | None = None,
    seed: int = 1,
    beside: Sequence[str] = BESIDE,
    folder: str | Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure a congestion control by the criteria of RFC 9743 (all, or those whose ids begin with one of `criteria`).

    `control` is the name of one that is built in, a class (`varicap.tcp.CongestionControl`), the name of one in
    `controls` or in the file `plugin`, or the file of a learned policy.  Each criterion has `seeds` replications
    (20, or 5 if `quick`), of which each control in `beside` has the same random numbers.  With a `folder`,
    what was measured is kept there, and the same call goes on where it was.

    Raises `varicap.evaluate.ControlError` and `ValueError` for names that are not known.
    """
    if isinstance(control, type):
        name, controls = control.__name__, {control.__name__: control}
    else:
        name = control
    subject = control_of(name, plugin, controls)
    chosen = _chosen(criteria)
    others = [control_of(other) for other in beside]
    runs = seeds or (_QUICK_SEEDS if quick else _SEEDS)
    with ExitStack() as held:
        kept = None if folder is None else held.enter_context(Folder(folder, make=True).within("cells", make=True))
        bench = _Bench(runs, seed, jobs, kept)
        judged = []
        for number, one in enumerate(chosen):
            if progress is not None:
                progress(number / len(chosen), number, len(chosen))
            judged.append(_judged(one, subject, others, bench))
    return Evaluation(subject, tuple(judged), known().untested, runs, seed, quick)


def _chosen(wanted: Sequence[str] | None) -> list[Criterion]:
    every = known().criteria
    if wanted is None:
        return list(every)
    for name in wanted:
        if not any(_is_of(one, name) for one in every):
            names = ", ".join(dict.fromkeys(one.id.partition(".")[0] for one in every))
            raise ValueError(f"no criterion `{name}`; there are {names}")
    return [one for one in every if any(_is_of(one, name) for name in wanted)]


def _is_of(criterion: Criterion, name: str) -> bool:
    return criterion.id == name or criterion.id.startswith(f"{name}.")


def _judged(criterion: Criterion, subject: Control, others: Sequence[Control], bench: "_Bench") -> Judged:
    own = bench.samples(criterion, subject)
    theirs = {other.name: bench.samples(criterion, other) for other in others}
    return Judged(
        criterion,
        _interval(criterion, own),
        {name: _interval(criterion, values) for name, values in theirs.items()},
        _apart(criterion, own, [values for name, values in theirs.items() if name != subject.name]),
        criterion.placed(subject.written),
    )


def _interval(criterion: Criterion, values: Array) -> Interval:
    if values.size == 1:
        return Interval.exactly(float(values[0]))
    within = range_of(criterion.measure) if criterion.scale == 1.0 and criterion.over is None else "amount"
    found = Interval.of(values, within=within)
    if found.agrees and within == "count":
        # Each run had as many: what another would have had is between the ends of a Poisson mean of their sum.
        few, many = (float(end) / values.size for end in poisson(float(values.sum())))
        return Interval(found.mean, few, many, values.size)
    return found


def _apart(criterion: Criterion, own: Array, others: Sequence[Array]) -> Apart:
    """Whether the control differs from each of the others in the same direction, run by run."""
    if criterion.better == "even" or not others:
        return ""
    sign = 1.0 if criterion.better == "more" else -1.0
    found = {_difference(sign * own, sign * values) for values in others}
    return found.pop() if len(found) == 1 else ""


def _difference(own: Array, other: Array) -> Apart:
    """Which of two is greater, run by run, by more than what is material."""
    if not (np.isfinite(own).all() and np.isfinite(other).all()):
        low = high = float(own.mean()) - float(other.mean())  # infinite, or none
    else:
        gain = own - other - np.copysign(_MATERIAL * abs(other.mean()), own.mean() - other.mean())
        # Runs in which no random number is drawn are all the same.
        found = Interval.of(gain) if gain.size > 1 else Interval.exactly(float(gain[0]))
        low, high = (math.nan if end is None else end for end in (found.lo, found.hi))
    if own.mean() > other.mean() and low > 0.0:
        return "better"
    return "worse" if own.mean() < other.mean() and high < 0.0 else ""


@dataclass
class _Bench:
    """Runs of criteria: each scenario once, and not again if a folder has what was measured."""

    runs: int
    seed: int
    jobs: int | None
    kept: Folder | None
    _results: dict[tuple[str, bool], Result] = field(default_factory=dict, repr=False)

    def samples(self, criterion: Criterion, control: Control) -> Array:
        """What a criterion measures of a control, a value for each replication, or one if no random number is drawn."""
        values = self._measured(criterion, criterion.placed(control.written), control)
        below = criterion.divisor(control.written)
        if below is None:
            return values * criterion.scale
        divisor = self._measured(criterion, below, control)
        return ratio(*np.broadcast_arrays(values, divisor)) * criterion.scale

    def _measured(self, criterion: Criterion, scenario: Mapping[str, Any], control: Control) -> Array:
        key = self._key(criterion, scenario, control)
        if self.kept is not None and control.is_lasting and self.kept.is_file(key):
            return np.array([math.inf if one is None else one for one in parsed(self.kept.read(key))])
        values = measured(self._result(scenario, control, is_series(criterion.measure)), criterion.measure)
        if (values == values[0]).all() and load(drawing_nothing(scenario)).draws_nothing:
            values = values[:1]  # nothing is drawn, not even by a control in Python: each run would be this one
        if self.kept is not None and control.is_lasting:
            self.kept.write(key, as_json([one if math.isfinite(one) else None for one in values.tolist()]))
        return values

    def _key(self, criterion: Criterion, scenario: Mapping[str, Any], control: Control) -> str:
        """The name of the file that keeps a measure: whatever decides the numbers is in it."""
        asked = [_plain(scenario), criterion.measure, self.runs, self.seed, _core.__version__, control.digest]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32] + ".json"

    def _result(self, scenario: Mapping[str, Any], control: Control, series: bool) -> Result:
        key = (json.dumps([_plain(scenario), control.digest], sort_keys=True), series)
        if key not in self._results:
            loaded = load({**scenario, "seeds": self.runs})
            used = {name: made for name, made in control.made.items() if _has(scenario, name)}
            self._results[key] = sim.run(
                loaded,
                seeds=1 if loaded.draws_nothing and not used else self.runs,
                seed=self.seed,
                series=series,
                controls=used or None,
                jobs=self.jobs,
                max_time=None,
            )
        return self._results[key]


def _plain(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario without its name: criteria share those that are the same otherwise."""
    return {key: value for key, value in scenario.items() if key != "name"}


def drawing_nothing(value: Any) -> Any:
    """A scenario in which Reno, which draws no random numbers, is where a class in Python is."""
    if isinstance(value, Mapping):
        return "reno" if value.keys() == {"custom"} else {key: drawing_nothing(one) for key, one in value.items()}
    return value


def _has(value: Any, custom: str) -> bool:
    """Whether a control of this name is in a scenario."""
    if isinstance(value, Mapping):
        return value.get("custom") == custom or any(_has(one, custom) for one in value.values())
    return False


def failures(evaluation: Evaluation) -> Iterator[Judged]:
    """The criteria that a control fails."""
    return (one for one in evaluation.judged if one.verdict == "fails")
