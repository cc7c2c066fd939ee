"""The design of any scenario: the values of its keys that are best by what is asked, with the evidence.

The search is `varicap.design.optimise.search`; here its runs are made, kept and judged.
"""

import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np

import varicap._core as _core
from varicap import plugins
from varicap.design.optimise.analysis import answer, begin
from varicap.design.optimise.candidates import FIRST, Candidate, Standing, intervals_of
from varicap.design.optimise.demands import Column, Demands, check_names, values
from varicap.design.optimise.found import Found, Tried
from varicap.design.optimise.report import evidence, sentence
from varicap.design.optimise.search import Rules, Search
from varicap.design.optimise.space import Space
from varicap.design.optimise.without import without
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.scenarios import AnyScenario, load
from varicap.plugins import Make
from varicap.results.study import Study
from varicap.results.summary import Point, Tables
from varicap.statistics import Interval, Progress, Verdict, together
from varicap.statistics.progress import shown
from varicap.study.axes import DesignError
from varicap.study.growing import Growing, growing

_BUDGET = 400
_SEEDS = 16


def optimise(
    scenario: AnyScenario,
    vary: Mapping[str, str | Sequence[str]],
    *,
    minimise: str | Sequence[str] = (),
    maximise: str | Sequence[str] = (),
    subject_to: str | Sequence[str] = (),
    budget: int = _BUDGET,
    time_s: float | None = None,
    seeds: int = _SEEDS,
    seed: int | None = None,
    models: bool = True,
    overrides: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    controls: Mapping[str, Make] | None = None,
    queues: Mapping[str, Make] | None = None,
    folder: str | Path | None = None,
    on: str | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    piece_s: float = 1.0,
    progress: Progress | None = None,
    notify: Callable[[str], None] = warnings.warn,
) -> Found:
    """The values of a scenario's keys that are best by what is asked, within a budget of simulated runs.

    Parameters
    ----------
    scenario
        A file, a mapping or a scenario.
    vary
        By dotted path what a key may be: a range such as ``"5..500 packets"`` or ``"1 ms..1 s log"``, or a list of
        values.  A key below a listed one, as ``queue.codel.target`` below ``queue``, counts where that is chosen.
    minimise, maximise
        A column of the results (``varicap columns``), such as ``"reno.rtt_p95_ms"``, or a varied key by its path or
        the end of it, such as ``"limit"``.  Several give a Pareto front.
    subject_to
        Demands such as ``"utilisation >= 95 %"``, in the unit of the column; a mean with its whole 95 % interval meets
        them.
    budget
        Most runs [1], the confirmation of the answer included.
    time_s
        Time [s] after which nothing more is begun, while the pieces of runs under way (`piece_s`) are finished, by as
        much later as they need; an answer then depends on the machine.
    seeds
        Most replications of a point [1]; points that clearly are not the best get fewer.
    seed
        Base seed: of the runs, and of the search.
    models
        Whether to ask analyses first where they apply.
    folder
        A study's folder: what was asked before in it goes on, and no run is repeated.
    overrides
        Values of other keys by their dotted path, as text.
    controls, queues
        What is written in Python, by name, as in `varicap.sweep`.
    on, executor, jobs, piece_s, max_memory, max_time
        Where runs are made, and what they may take, as in `varicap.sweep`.
    progress, notify
        Called with the share that is done, and with what is worth a warning.

    Raises
    ------
    DesignError
        The question makes no sense: an unknown column, an empty range, nothing to minimise.
    ScenarioError
        A key is unknown, or no point is a valid scenario.
    StudyError
        The folder holds another question.

    Examples
    --------
    >>> limit = "topology.dumbbell.forward.queue.drop-tail.limit"
    >>> found = optimise("examples/fixed.toml", {limit: "3..30 packets"}, minimise="limit",
    ...     subject_to="utilisation >= 90 %", budget=60, seeds=4, overrides={"duration": "60 s", "warmup": "10 s"})
    >>> found.outcome, 3 < found.best.keys["limit"] < 12
    ('meets', True)
    """
    _check(budget, seeds, time_s)
    base = load(scenario, overrides)
    space = Space.read(vary)
    demands = Demands.read(space, *(_several(each) for each in (minimise, maximise, subject_to)))
    check_names(base, demands.columns)
    standing = Standing(space, demands, min(FIRST, seeds))
    base_seed = base.seed if seed is None else seed
    values_of = [(path, each if isinstance(each, str) else ", ".join(each)) for path, each in vary.items()]
    own = plugins.used(json.loads(base.to_json()), controls, queues, values_of)
    asked = {
        "vary": {path: vary[path] if isinstance(vary[path], str) else list(vary[path]) for path in vary},
        "minimise": [one.text for one in demands.objectives if one.sense == "minimise"],
        "maximise": [one.text for one in demands.objectives if one.sense == "maximise"],
        "subject_to": [one.text for one in demands.constraints],
    }
    rules = Rules(
        budget=budget,
        seeds=seeds,
        seed=base_seed % 2**31,
        until=inf if time_s is None else time.monotonic() + time_s,
    )
    first = begin(base, standing) if models else []
    samples = _Samples(demands.columns)
    with (
        shown(progress, base.name) as watched,
        growing(
            base,
            asked,
            samples.hear,
            seed=base_seed,
            folder=folder,
            on=on,
            executor=executor,
            jobs=jobs,
            max_memory=max_memory,
            max_time=max_time,
            piece_s=piece_s,
            own=own,
            notify=notify,
        ) as study,
    ):
        search = Search(space, standing, _Made(study, samples, watched, budget), rules)
        try:
            search.go(first)
        except DesignError as error:
            # Of a column that means several things, which the first results show: where it was found says nothing.
            raise DesignError(str(error)) from None
        if not search.found:
            _nothing(search)
        found, order = _answer(base, search, study, models and bool(first))
        limits = {"max_memory": max_memory, "max_time": max_time}
        compared = without(base, space, demands.columns, seeds, base_seed, own, **limits)
        return _published(replace(found, without=compared), order, study)


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _check(budget: int, seeds: int, time_s: float | None) -> None:
    if seeds < 2:
        raise DesignError(f"a point takes 2 replications or more, not {seeds}: one has no interval")
    if budget < 2 * seeds:
        raise DesignError(f"a budget of {budget} runs does not reach for one point and its confirmation, {2 * seeds}")
    if time_s is not None and not time_s > 0:
        raise DesignError(f"the time is more than 0 s, not {time_s:g}")


def _nothing(search: Search) -> None:
    """Say why no point was tried."""
    if search.refused:
        raise next(iter(search.refused.values()))
    raise DesignError("the time was over before a point was tried")


class _Samples:
    """The columns that are asked for, of every run that is heard of."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._meant: dict[Column, tuple[str, str]] = {}
        self.by_point: dict[int, dict[int, tuple[float, ...]]] = {}

    def hear(self, tables: Tables) -> None:
        for point, run, sample in values(tables, self._columns, self._meant):
            self.by_point.setdefault(point, {})[run] = sample


class _Made:
    """Makes the runs of a search in a study."""

    def __init__(self, study: Growing, samples: _Samples, progress: Progress | None, budget: int) -> None:
        self._study, self._samples, self._progress, self._budget = study, samples, progress, budget

    def add(self, point: Point) -> int:
        return self._study.add(point)

    def is_exact(self, number: int) -> bool:
        return self._study.is_exact(number)

    def run(self, wanted: Mapping[int, range], until: float) -> None:
        self._study.run(wanted, until)
        if self._progress is not None:
            done = sum(map(len, self._study.there.values()))
            self._progress(min(1.0, done / self._budget), done, self._budget)

    def samples(self, number: int) -> Mapping[int, tuple[float, ...]]:
        return self._samples.by_point.get(number, {})


def _published(result: Found, order: Sequence[int], study: Growing) -> Found:
    """The answer in words, and all of it in the study's folder, if it has one."""
    result = replace(result, sentence=sentence(result))
    published = study.publish(order, {"design": evidence(result)})
    if published.folder is not None:
        study.describe(result.to_dict())
    return replace(result, study=published)


def _answer(base: _core.Scenario, search: Search, study: Growing, modelled: bool) -> tuple[Found, list[int]]:
    standing, demands = search.standing, search.standing.demands
    several = len(demands.objectives) > 1
    chosen = standing.front(search.candidates) if several else []
    search.confirm(chosen)
    chosen = [one for one in standing.front(search.candidates) if one.runs >= 2] if several else []
    best, other = _confirmed(search)
    by_model = {}
    if modelled:
        by_model = {one.number: answer(base, one.point, demands.columns) for one in search.candidates}

    def tried(one: Candidate) -> Tried:
        said = by_model.get(one.number)
        names = [column.text for column in demands.columns]
        return Tried(
            one.point,
            one.runs,
            {column.text: standing.interval(one, column) for column in demands.columns},
            {each.text: standing.key(one, each.of) for each in demands.objectives if isinstance(each.of, int)},
            standing.verdict(one),
            None if said is None else dict(zip(names, said, strict=True)),
        )

    met = best is not None and standing.verdict(best) == "meets"
    again = (
        {}
        if best is None or len(other) < 2
        else dict(zip((c.text for c in demands.columns), _intervals(standing, best, other), strict=True))
    )
    verdict = together(one.bounds.verdict(again[one.of.text]) for one in demands.constraints) if again else "undecided"
    order = sorted(search.candidates, key=lambda one: one.place) if search.space.line else search.candidates
    result = Found(
        base.name,
        search.space,
        demands,
        tried(best) if best is not None and met else None,
        again if met else {},
        verdict if again or demands.constraints else "meets",
        None if best is None or met else tried(best),
        tuple(tried(one) for one in chosen),
        tuple(tried(one) for one in search.candidates),
        len(search.refused),
        tuple(dict.fromkeys(_reason(error) for error in search.refused.values())),
        search.spent,
        search.rules.budget,
        search.stopped,
        Study(base.name, (), {}, None),
    )
    return result, [one.number for one in order]


def _reason(error: _core.ScenarioError) -> str:
    """Why a point is no scenario, in a line, without the numbers that differ from point to point."""
    return str(error).partition("\n")[0]


def _confirmed(search: Search) -> tuple[Candidate | None, list[tuple[float, ...]]]:
    """The best candidate with all its replications, and what other ones found; the next best if these miss."""
    standing = search.standing
    # With what their other replications found.
    rejected: list[tuple[Candidate, list[tuple[float, ...]]]] = []
    while True:
        left = [one for one in search.candidates if all(one is not missed for missed, _ in rejected)]
        if not left:
            return rejected[0] if rejected else (search.best, [])
        best = search.choice(left)
        promising = standing.verdict(best) == "meets" or best.runs < standing.enough
        if promising and not search.confirm([best]):
            return best, []
        if best is not search.choice(left):
            continue  # more runs showed that another is better
        if standing.verdict(best) != "meets":
            return rejected[0] if rejected else (best, [])
        other = search.again(best)
        if len(other) >= 2 and _verdict(standing, best, other) == "misses":
            rejected.append((best, other))
            continue
        return best, other


def _verdict(standing: Standing, best: Candidate, other: Sequence[tuple[float, ...]]) -> Verdict:
    demands = standing.demands
    found = _intervals(standing, best, other)
    return together(one.bounds.verdict(found[demands.columns.index(one.of)]) for one in demands.constraints)


def _intervals(standing: Standing, best: Candidate, other: Sequence[tuple[float, ...]]) -> list[Interval]:
    """What other replications of the best say."""
    values = np.array(other, dtype=np.float64)
    return intervals_of(values, standing.demands.columns, is_exact=best.is_exact)
