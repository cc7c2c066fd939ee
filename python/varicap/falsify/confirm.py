"""Whether what was found is found again: with other seeds, with jitter, and by Linux in simulated time."""

from typing import Any

import varicap._core as _core
from varicap.engines.scenarios import load
from varicap.errors import MachineLacksError, NotApplicableError
from varicap.falsify.bench import Bench, SpentError, Tried
from varicap.falsify.conditions import placed
from varicap.falsify.found import Confirmation
from varicap.statistics import Interval

_JITTER = "1 ms"
_SAID = {"misses": "broken", "meets": "holds", "undecided": "unsettled"}


def confirmed(bench: Bench, one: Tried, runs: int, *, kernel: bool, kernel_name: str | None) -> list[Confirmation]:
    """What other runs of a path say of the statement."""
    return [_other_seeds(bench, one, runs), _with_jitter(bench, one, runs), _in_linux(bench, one, kernel, kernel_name)]


def _judged(bench: Bench, how: str, interval: Interval, samples: int) -> Confirmation:
    verdict = bench.statement.bounds.verdict(interval)
    return Confirmation(how, _SAID[verdict], interval, f"{samples} run{'s' if samples > 1 else ''}")


def _other_seeds(bench: Bench, one: Tried, runs: int) -> Confirmation:
    how = "other seeds"
    if one.is_exact:
        return Confirmation(how, "not run", None, "nothing is drawn there: every run is this one")
    others = range(runs, 2 * runs)
    try:
        bench.run([(one, others)])
    except SpentError:
        return Confirmation(how, "not run", None, "the budget was spent")
    return _judged(bench, how, bench.interval(one, others), runs)


def _with_jitter(bench: Bench, one: Tried, runs: int) -> Confirmation:
    """Acknowledgements that are processed up to a millisecond later: what hangs on an exact instant goes away."""
    how = f"{_JITTER} of jitter"
    written = _written(bench, one)
    for flow in written["flows"].values():
        flow["jitter"] = _JITTER
    scenario = load(written, base_dir=bench.base_dir)
    results = _core.run(
        scenario, seed=bench.seed, first=0, count=runs, controls=bench.used(scenario) or None, threads=1
    )
    return _judged(bench, how, bench.statement.interval(bench.statement.values(results), is_exact=False), runs)


def _in_linux(bench: Bench, one: Tried, wanted: bool, name: str | None) -> Confirmation:
    how = "Linux in simulated time"
    if not wanted:
        return Confirmation(how, "not run", None, "not asked for: --engine kernel")
    if bench.controls:
        return Confirmation(how, "not run", None, "a control in Python is none of Linux's")
    from varicap.engines import kernel

    # One run where nothing is drawn, else two: guests are a thousand times slower.
    runs = 1 if one.is_exact else 2
    try:
        result = kernel.run(
            one.scenario, clock="simulated", kernel_name=name, seeds=runs, seed=bench.seed, notify=lambda _: None
        )
    except (NotApplicableError, MachineLacksError, _core.ScenarioError) as error:
        return Confirmation(how, "not run", None, str(error).splitlines()[0])
    values = bench.statement.values(result.data)
    if runs == 1:
        return _judged(bench, how, Interval.exactly(values[0]), 1)
    # Two runs make no interval: both have to say the same.
    refute = [bench.statement.bounds.shortfall(Interval.exactly(value)) > 0 for value in values]
    verdict = "broken" if all(refute) else "holds" if not any(refute) else "unsettled"
    return Confirmation(how, verdict, Interval(sum(values) / len(values)), f"{runs} runs")


def _written(bench: Bench, one: Tried) -> dict[str, Any]:
    return placed(bench.base, one.conditions)
