"""The search for a path that breaks a control: what is asked, the search, the shrinking, and what confirms it."""

import hashlib
import json
import math
import time
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import varicap._core as _core
from varicap import plugins, units
from varicap._files import read_scenario
from varicap._folders import Folder, as_json
from varicap.engines import sim
from varicap.engines.scenarios import AnyScenario, load
from varicap.evaluate.control import Control, ControlError
from varicap.falsify import theory
from varicap.falsify.bench import Bench, SpentError, Tried
from varicap.falsify.bounds import Bounds, bounds_of, read
from varicap.falsify.conditions import placed
from varicap.falsify.confirm import confirmed
from varicap.falsify.found import Found
from varicap.falsify.report import sentence
from varicap.falsify.search import first, search, shrunk, worst
from varicap.falsify.statement import Statement
from varicap.report.web.toml import to_toml
from varicap.results.result import Result
from varicap.statistics import Progress
from varicap.statistics.progress import shown

_BUDGET, _SEEDS = 1500, 4
_EXAMPLE = "counterexample.toml"
_FOR_THE_END = 0.3
"""Of the budget, for finalists, shrinking and confirmation."""


def falsify(
    scenario: AnyScenario,
    within: str | Path | Mapping[str, Any],
    against: str,
    *,
    budget: int = _BUDGET,
    time_s: float | None = None,
    seeds: int = _SEEDS,
    seed: int | None = None,
    plugin: str | Path | None = None,
    controls: Mapping[str, Any] | None = None,
    overrides: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    models: bool = True,
    confirm: bool = True,
    kernel: bool = False,
    kernel_name: str | None = None,
    folder: str | Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    notify: Callable[[str], None] = warnings.warn,
) -> Found:
    """Search the paths within bounds for one that surely refutes a statement, and for the simplest that still does.

    Parameters
    ----------
    scenario
        A file, a mapping or a scenario, whose flows keep their controls.
    within
        A preset by its name (`presets`), a TOML file, or tables: of each link what its ``capacity``, ``delay`` or
        ``jitter``, ``aggregation``, ``loss`` and ``buffer`` may be, and which ``rivals`` may come.
    against
        A statement such as ``"bbr3.goodput_of_capacity >= 50 %"`` or ``"least_share >= 20 %"``.
    budget
        Most runs [1].
    time_s
        Time [s] after which none is begun; what is found then depends on the machine.
    seeds
        Runs of each path that is judged [1]; all paths have the same random numbers.
    seed
        Base seed, of the runs and of the search; by default the scenario's.
    plugin, controls
        A Python file with congestion controls, or classes by name, for ``congestion = { custom = "NAME" }``.
    overrides
        Values of keys by their dotted path, as text.
    models
        Whether models are asked first, where they apply.
    confirm
        Whether the answer is run with other seeds and with jitter.
    kernel, kernel_name
        Whether Linux runs it as well, in the simulated time of a kernel that was built, by default the newest.
    folder
        Where runs are kept: the same call goes on there.
    jobs, progress, notify
        Cores; called with the share that is done; called with what is worth a warning.

    Raises
    ------
    BoundsError
        The bounds make no sense for this scenario.
    StatementError
        The statement says nothing of its results.
    ScenarioError
        The scenario is none.
    """
    if seeds < 2 or budget < 4 * seeds:
        raise ValueError("a path is judged by 2 runs or more, and a budget reaches for 4 paths at least")
    written, base_dir = _written(scenario, overrides)
    base = load(written, base_dir=base_dir)
    made = _controls(plugin, controls)
    used = [one for one in made if f'"custom":{json.dumps(one.name)}' in base.to_json()]
    statement = Statement.read(against, base)
    facts = json.loads(base.facts())
    rtt_s = max((flow["base_rtt_s"] for network in facts for flow in network["flows"]), default=0.0)
    duration_s, warmup_s = (units.seconds(str(json.loads(base.to_json())[key])) for key in ("duration", "warmup"))
    bounds = bounds_of(read(within), written, duration_s, rtt_s)
    base_seed = base.seed if seed is None else seed
    with ExitStack() as held:
        kept = None if folder is None else held.enter_context(Folder(folder, make=True))
        watched = held.enter_context(shown(progress, base.name))
        bench = Bench(
            written,
            base_dir,
            statement,
            used,
            base_seed,
            jobs,
            kept,
            math.ceil(budget * (1 - _FOR_THE_END)),
            math.inf if time_s is None else time.monotonic() + time_s,
            watched,
        )
        found = _searched(bench, bounds, base, seeds, base_seed % 2**31, budget, models, (duration_s - warmup_s))
        if confirm and found.shrunk is not None and (one := bench.of(found.shrunk)) is not None:
            others = confirmed(bench, one, seeds, kernel=kernel, kernel_name=kernel_name)
            found = replace(found, confirmations=tuple(others))
        found = replace(found, spent=bench.spent)
        found = replace(found, sentence=sentence(found, found.scenario or written))
        if kept is not None:
            _write(found, kept)
    return found


def _searched(
    bench: Bench,
    bounds: Bounds,
    base: _core.Scenario,
    runs: int,
    seed: int,
    budget: int,
    models: bool,
    measured_s: float,
) -> Found:
    asked = theory.Models(bench)
    asked.speak = asked.speak and models
    begin = theory.begin(bounds, asked, bench.statement.sign, first(bounds, seed), seed)
    as_written = bench.of(())
    try:
        if as_written is not None:
            bench.run([(as_written, range(runs))])
    except SpentError:
        as_written = None
    search(bounds, bench, runs, seed, begin)
    # The rest of the budget is for what comes after the search.
    bench.budget, bench.until = budget, math.inf
    finalists = worst(bench, runs)
    if not finalists:
        raise ValueError("the time was over before a path was tried, or none within the bounds is a scenario")
    theory.ask_about(asked, finalists)
    worst_one = finalists[0]
    broken = next((one for one in finalists if bench.is_broken(one, range(runs))), None)
    smallest = None if broken is None else shrunk(bench, broken, runs)
    return Found(
        name=base.name,
        statement=bench.statement,
        worst=worst_one.conditions,
        worst_value=bench.interval(worst_one, range(runs)),
        as_written=None if as_written is None else bench.interval(as_written, range(runs)),
        shrunk=None if smallest is None else smallest.conditions,
        value=None if smallest is None else bench.interval(smallest, range(runs)),
        scenario=None if smallest is None else _of(bench, smallest, runs),
        confirmations=(),
        theory=theory.theory(bench, bounds, asked),
        spent=bench.spent,
        budget=budget,
        paths=sum(one is not None and bool(one.values) for one in bench.tried.values()),
        refused=bench.refused,
        runs=runs,
        seed=bench.seed,
        measured_s=measured_s,
    )


def _of(bench: Bench, one: Tried, runs: int) -> dict[str, Any]:
    """A scenario that says all by itself."""
    return {**placed(bench.base, one.conditions), "seeds": 1 if one.is_exact else runs, "seed": bench.seed}


def _written(
    scenario: AnyScenario, overrides: Mapping[str, str] | Iterable[tuple[str, str]]
) -> tuple[dict[str, Any], str]:
    """A scenario as short as it is written, and the folder of its traces."""
    checked = load(scenario, overrides)
    whole: dict[str, Any] = json.loads(checked.to_json())
    if isinstance(scenario, str | Path):
        if overrides or str(scenario) == "-" or checked.trace_files():
            return whole, checked.base_dir
        text, is_stream = read_scenario(scenario)
        if is_stream:
            return whole, checked.base_dir
        short = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
        return {**short, "name": checked.name}, checked.base_dir
    if isinstance(scenario, Mapping) and not overrides:
        return {**json.loads(json.dumps(scenario)), "name": checked.name}, checked.base_dir
    return whole, checked.base_dir


def _controls(plugin: str | Path | None, controls: Mapping[str, Any] | None) -> list[Control]:
    found = [Control(name, {"custom": name}, {name: made}, None) for name, made in (controls or {}).items()]
    if plugin is not None:
        try:
            brought = plugins.read(plugin)
        except plugins.PluginError as error:
            raise ControlError(str(error)) from error
        digest = hashlib.sha256(brought.text).hexdigest()
        found += [Control(name, {"custom": name}, {name: made}, digest) for name, made in brought.controls.items()]
    return found


def _write(found: Found, kept: Folder) -> None:
    """The numbers, and the scenario of the simplest path, if there is one."""
    kept.write("falsify.json", as_json(found.to_dict()))
    if found.scenario is None:
        if kept.is_file(_EXAMPLE):
            kept.remove(_EXAMPLE)  # of another call
    else:
        kept.write(_EXAMPLE, (f"# {found.sentence}\n" + to_toml(found.scenario)).encode())


def recorded(found: Found, base_dir: str | Path = ".", controls: Mapping[str, Any] | None = None) -> Result | None:
    """A run of the simplest path with its series; None if there is no such path."""
    if found.scenario is None:
        return None
    return sim.run(load(found.scenario, base_dir=base_dir), seeds=1, series=True, controls=controls)
