"""Where the error of an analysis on a trace comes from: the fit of the trace, the theory, or the simulated TCP.

    model on the fit ──theory──► simulator on the fit ──fit──► simulator on the trace ──simulator──► kernel on the trace

Each pair of neighbours differs in one respect only, so that their difference is what that respect costs.  Simulator and
kernel meet the same stretches of the trace, run by run; a path of the chain has nothing to do with a stretch of the
trace, and these two are compared as independent samples.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

import numpy as np

import varicap._core as _core
from varicap import engines
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.model import ModelResult
from varicap.engines.model.path import paths
from varicap.engines.scenarios import AnyScenario, load
from varicap.errors import MachineLacksError, NotApplicableError
from varicap.results import shown
from varicap.results.result import Result
from varicap.results.samples import samples
from varicap.statistics import Array, Interval, Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from varicap.traces import Fit

Answer: TypeAlias = Literal["model, fit", "sim, fit", "sim, trace", "kernel, trace"]

ANSWERS: tuple[Answer, ...] = ("model, fit", "sim, fit", "sim, trace", "kernel, trace")
"""Who answers, and on what; the last is nearest to the truth."""

STEPS: tuple[tuple[str, Answer, Answer], ...] = (
    ("theory", "model, fit", "sim, fit"),
    ("fit", "sim, fit", "sim, trace"),
    ("simulator", "sim, trace", "kernel, trace"),
)
"""What is in error if two neighbours differ."""

MEASURES = {
    "goodput_of_capacity": ("goodput of the capacity", "%", 100.0),
    "goodput_bps": ("goodput", "Mb/s", 1e-6),
    "rtt_mean_ms": ("mean RTT", "ms", 1.0),
    "rtt_p95_ms": ("95th percentile of the RTT", "ms", 1.0),
}
"""What is compared, by its column: its name, its unit, and how many of the unit one is.

The first varies least from run to run: what a run's stretch of the capacity had to offer is out of it."""


@dataclass(frozen=True)
class Step:
    """What one respect costs in one measure of a flow."""

    what: str
    """theory, fit or simulator."""
    flow: str
    measure: str
    """A key of `MEASURES`."""
    percent: Interval
    """By how much the first of the two lies above the second, of the mean of the second [%]."""

    @property
    def verdict(self) -> Literal["too high", "too low", "chance", "one run"]:
        """What the interval says."""
        if self.percent.lo is None or self.percent.hi is None:
            return "one run"
        if self.percent.lo > 0:
            return "too high"
        return "too low" if self.percent.hi < 0 else "chance"


@dataclass(frozen=True, repr=False)
class FitComparison:
    """What model, simulator and kernel say of a trace and of its fit."""

    scenario: str
    slot_s: float
    """Length of a slot of the fits [s]."""
    fits: "Mapping[str, Fit]"
    """By the link's key in the scenario."""
    answers: Mapping[Answer, Result | ModelResult | str]
    """A text is why there is none."""

    @property
    def flows(self) -> list[str]:
        """The names of all flows."""
        found = [flow["name"] for each in self.answers.values() if not isinstance(each, str) for flow in _flows(each)]
        return list(dict.fromkeys(found))

    def values(self, answer: Answer, flow: str, measure: str) -> Array:
        """What an answer says of a measure: a value for each run, one of the model; empty if it says nothing."""
        found = self.answers.get(answer, "")
        if isinstance(found, ModelResult):
            return np.array(_by_model(found, flow, measure), dtype=np.float64)
        if isinstance(found, str) or flow not in [row["name"] for row in _flows(found)]:
            return np.zeros(0)
        values = samples(found.flows, flow, measure)
        return values if np.isfinite(values).all() else np.zeros(0)

    def interval(self, answer: Answer, flow: str, measure: str) -> Interval | None:
        """The same as a mean with its interval; the model's has no width, and what is not said is None."""
        values = self.values(answer, flow, measure)
        if not values.size:
            return None
        if answer == "model, fit":
            return Interval(*(float(values[0]),) * 3)
        return Interval.of(values)

    @property
    def steps(self) -> list[Step]:
        """What each respect costs, for each flow and measure, where both neighbours answer."""
        return list(self._steps())

    def _steps(self) -> Iterator[Step]:
        for flow in self.flows:
            for measure in MEASURES:
                for what, one, other in STEPS:
                    first, second = self.values(one, flow, measure), self.values(other, flow, measure)
                    if first.size and second.size and second.mean():
                        apart = _apart(what, first, second)
                        yield Step(what, flow, measure, _scaled(apart, 100 / abs(float(second.mean()))))

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap compare --fit --json`` prints it."""
        answers = {}
        for name in ANSWERS:
            found = self.answers.get(name)
            if found is not None:
                answers[name] = {"not_applicable": found} if isinstance(found, str) else found.summary
        steps = [
            {"what": one.what, "flow": one.flow, "measure": one.measure, "verdict": one.verdict}
            | {"percent": one.percent.to_dict()}
            for one in self.steps
        ]
        fits = {link: fit.to_dict() for link, fit in self.fits.items()}
        return {"scenario": self.scenario, "fits": fits, "answers": answers, "steps": steps}

    def figure(self, **looks: Unpack[shown.Looks]) -> "Figure":
        """What each answer says, with its interval: a panel for each measure."""
        return shown.figure(self, **looks)


def compare_fit(
    scenario: AnyScenario,
    slot_s: float = 0.1,
    *,
    states: int | None = None,
    only: Sequence[engines.Engine] = engines.ENGINES,
    seeds: int | None = None,
    kernel_seeds: int = 3,
    overrides: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    kernel: Literal["classic", "stock"] | None = None,
    jobs: int | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    progress: Progress | None = None,
) -> FitComparison:
    """Fit a chain to each trace of capacities in a scenario, and ask about the fits and about the traces.

    Parameters
    ----------
    scenario
        Links of it have traces: ``capacity = { opportunities = … }`` or ``{ trace = … }``.
    slot_s, states
        Of the fits, as in `varicap.traces.fit`.
    seeds
        Replications of the simulator; the scenario's if None.
    kernel_seeds
        Runs of the kernel, each in real time: the first ones of the simulator.
    only, overrides, kernel, jobs, max_memory, max_time, progress
        As in `varicap.compare`.

    Raises
    ------
    ScenarioError
        It cannot be read, or none of its links has a trace.
    TraceError
        A trace is too short to fit.

    Examples
    --------
    >>> found = compare_fit("examples/lte.toml", 0.2, only=("sim", "model"), seeds=4, overrides={
    ...     "duration": "20 s", "flows": '{ cubic = { tcp = { congestion = "cubic" } } }'})
    >>> [step.what for step in found.steps if step.measure == "goodput_bps"]
    ['theory', 'fit']
    """
    loaded = load(scenario, overrides)
    fits = fitted(loaded, slot_s, states)
    chains = _with_chains(loaded, fits)
    limits = {"max_memory": max_memory, "max_time": max_time}
    simulated = {"seeds": seeds, "jobs": jobs, "progress": progress, **limits}
    in_real_time = {"seeds": kernel_seeds, "kernel": kernel, "progress": progress, **limits}
    asked: tuple[tuple[Answer, engines.Engine, _core.Scenario, dict[str, Any]], ...] = (
        ("model, fit", "model", chains, {}),
        ("sim, fit", "sim", chains, simulated),
        ("sim, trace", "sim", loaded, simulated),
        ("kernel, trace", "kernel", loaded, in_real_time),
    )
    answers: dict[Answer, Result | ModelResult | str] = {}
    for name, engine, of, options in asked:
        if engine not in only:
            continue
        try:
            answers[name] = engines.run(of, engine=engine, **options)
        except (NotApplicableError, MachineLacksError, _core.MissingControlError) as error:
            answers[name] = str(error)
    return FitComparison(json.loads(loaded.to_json())["name"], slot_s, fits, answers)


def fitted(scenario: _core.Scenario, slot_s: float, states: int | None = None) -> "dict[str, Fit]":
    """A chain for each capacity that is a trace, by the link's key.  Raises `ScenarioError` if there is none."""
    from varicap import traces

    files = dict(scenario.trace_files())
    named = dict(_traced(json.loads(scenario.to_json())))
    if not named:
        message = f"`{scenario.name}`: no link has a trace as its capacity, so that there is nothing to fit"
        raise _core.ScenarioError(message)
    by_file = {name: traces.fit(traces.load(files[name]), slot_s, states) for name in dict.fromkeys(named.values())}
    return {link: by_file[name] for link, name in named.items()}


def _traced(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The key of each link whose capacity is a trace, and the file as the scenario names it."""
    if isinstance(value, dict):
        capacity = value.get("capacity")
        for kind in ("opportunities", "trace"):
            if isinstance(capacity, dict) and isinstance(capacity.get(kind), dict) and capacity[kind].get("file"):
                yield path, capacity[kind]["file"]
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _traced(inner, f"{path}.{key}" if path else str(key))


def _with_chains(scenario: _core.Scenario, fits: "Mapping[str, Fit]") -> _core.Scenario:
    """The scenario with the fitted chains in place of the traces."""
    keys = json.loads(scenario.to_json())
    for path, fit in fits.items():
        link = keys
        for part in path.split("."):
            link = link[int(part)] if isinstance(link, list) else link[part]
        link["capacity"] = fit.capacity()
    return _core.Scenario.from_json(json.dumps(keys), scenario.name, scenario.base_dir, [])


def _flows(found: Result | ModelResult) -> list[dict[str, Any]]:
    flows: list[dict[str, Any]] = found.summary["flows"]
    return flows


def _by_model(found: ModelResult, flow: str, measure: str) -> list[float]:
    """What a model says of a measure, which is nothing or one number."""
    (path,) = (path for path in paths(found.scenario) if path.name == flow)
    (said,) = (row for row in _flows(found) if row["name"] == flow)
    if measure != "goodput_of_capacity":
        return [said[measure]["mean"]] if measure in said else []
    if "goodput_bps" not in said or len(path.bottlenecks) != 1:
        return []
    return [said["goodput_bps"]["mean"] / path.link["mean_bps"]]


def _apart(what: str, first: Array, second: Array) -> Interval:
    """By how much the first lies above the second."""
    if what == "theory":  # a model's answer is a number without chance
        return Interval.of(first[0] - second)
    if what == "simulator":  # the same seeds, and so the same stretches of the trace
        both = min(len(first), len(second))
        return Interval.of(first[:both] - second[:both])
    return Interval.between(first, second)


def _scaled(interval: Interval, scale: float) -> Interval:
    low, high = (None if end is None else end * scale for end in (interval.lo, interval.hi))
    return Interval(interval.mean * scale, low, high, interval.samples)
