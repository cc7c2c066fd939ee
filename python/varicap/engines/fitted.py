"""Where the error of an analysis on a trace comes from: the fit of the trace, the theory, or the simulated TCP.

    model on the fit ──theory──► simulator on the fit ──fit──► simulator on the trace ──simulator──► kernel on the trace

Each pair of neighbours differs in one respect only, so that their difference is what that respect costs.  Simulator and
kernel meet the same stretches of the trace, run by run; a path of the chain has nothing to do with a stretch of the
trace, and these two are compared as independent samples.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

import numpy as np

import varicap._core as _core
from varicap import engines, units
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.model import ModelResult
from varicap.engines.model.path import paths
from varicap.engines.scenarios import AnyScenario, load
from varicap.errors import MachineLacksError, NotApplicableError
from varicap.plugins import Make
from varicap.results import shown
from varicap.results.result import Result
from varicap.results.samples import samples
from varicap.results.summary import range_of
from varicap.statistics import Array, Interval, Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from varicap.traces import Fit

Keys: TypeAlias = tuple[str, ...]
"""The keys that lead to a link in a scenario."""

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

_MAHIMAHI_BYTES, _MAHIMAHI_OVERHEAD_BYTES = 1504, 4
"""What an opportunity carries by Mahimahi's rules, and what they add to each packet."""


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
        if self.percent.agrees:
            return "chance"
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
            return Interval.exactly(float(values[0]))
        return Interval.of(values, within=range_of(measure))

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
    clock: Literal["simulated", "real"] | None = None,
    kernel_name: str | None = None,
    controls: Mapping[str, Make] | None = None,
    queues: Mapping[str, Make] | None = None,
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
        Runs of the kernel: the first ones of the simulator.
    only, overrides, kernel, clock, kernel_name, controls, queues, jobs, max_memory, max_time, progress
        As in `varicap.compare`.

    Raises
    ------
    ScenarioError
        It cannot be read, none of its links has a trace, or a chain cannot stand for one: a trace that ends within the
        run, or one with light opportunities.
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
    own = {"controls": controls, "queues": queues}
    simulated = {"seeds": seeds, "jobs": jobs, **own, "progress": progress, **limits}
    in_kernel = {
        "seeds": kernel_seeds,
        "kernel": kernel,
        "clock": clock,
        "kernel_name": kernel_name,
        "jobs": jobs,
        "progress": progress,
        **limits,
    }
    asked: tuple[tuple[Answer, engines.Engine, _core.Scenario, dict[str, Any]], ...] = (
        ("model, fit", "model", chains, {}),
        ("sim, fit", "sim", chains, simulated),
        ("sim, trace", "sim", loaded, simulated),
        ("kernel, trace", "kernel", loaded, in_kernel),
    )
    answers: dict[Answer, Result | ModelResult | str] = {}
    for name, engine, of, options in asked:
        if engine not in only:
            continue
        try:
            answers[name] = engines.run(of, engine=engine, **options)
        except (NotApplicableError, MachineLacksError, _core.MissingControlError) as error:
            answers[name] = str(error)
    by_link = {dotted(way): fit for way, fit in fits.items()}
    return FitComparison(json.loads(loaded.to_json())["name"], slot_s, by_link, answers)


def fitted(scenario: _core.Scenario, slot_s: float, states: int | None = None) -> "dict[Keys, Fit]":
    """A chain for each capacity that is a trace, by the keys that lead to its link.

    Raises `ScenarioError` if there is none, or one that no chain can stand for.
    """
    keys = json.loads(scenario.to_json())
    links = dict(_traced(keys))
    if not links:
        message = f"`{scenario.name}`: no link has a trace as its capacity, so that there is nothing to fit"
        raise _core.ScenarioError(message)
    for way, link in links.items():
        _refuse_light(way, link["capacity"])
        _refuse_cells(way, link)
    files, duration_s = dict(scenario.trace_files()), units.seconds(keys["duration"])
    found: dict[str, Fit] = {}
    for way, link in links.items():
        same = json.dumps(link["capacity"])  # a file alone does not say what a link makes of it
        if same not in found:
            found[same] = _fit(way, link["capacity"], files, duration_s, slot_s, states)
    return {way: found[json.dumps(link["capacity"])] for way, link in links.items()}


def _traced(value: Any, way: Keys = ()) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """Each link whose capacity is a trace, with the keys that lead to it."""
    if isinstance(value, dict):
        capacity = value.get("capacity")
        if isinstance(capacity, dict) and any(_read_from(capacity, kind) for kind in ("opportunities", "trace")):
            yield way, value
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _traced(inner, (*way, str(key)))


def _read_from(capacity: Mapping[str, Any], kind: str) -> bool:
    return isinstance(capacity.get(kind), dict) and bool(capacity[kind].get("file"))


def _refuse_light(way: Keys, capacity: Mapping[str, Any]) -> None:
    """A chain has one rate at a time, whatever the load."""
    light = capacity.get("opportunities", {}).get("light")
    if light is not None:
        raise _core.ScenarioError(
            f"{dotted(way)}.capacity.opportunities.light: found `{light['file']}`, expected no light opportunities: "
            "a fit has the capacity of a saturated link alone"
        )


def _refuse_cells(way: Keys, link: Mapping[str, Any]) -> None:
    """Mahimahi's bytes come on top of the cells, where no other capacity has any."""
    if link["capacity"].get("opportunities", {}).get("mahimahi") and link["framing"].get("cells"):
        raise _core.ScenarioError(
            f"{dotted(way)}.capacity.opportunities.mahimahi: found `true`, expected `false` on a link with "
            "`framing.cells`: a fit cannot have the bytes that it adds to each packet"
        )


def _fit(
    way: Keys, capacity: Mapping[str, Any], files: Mapping[str, Any], duration_s: float, slot_s: float, states: Any
) -> "Fit":
    """The chain of one capacity, which is read as the scenario says."""
    from varicap import traces

    kind = "opportunities" if "opportunities" in capacity else "trace"
    asked = capacity[kind]
    keys = {each.name: asked[each.name] for each in fields(traces.Reading) if each.name in asked}
    trace = traces.load(files[asked["file"]], traces.Reading(**keys))
    if not asked["repeat"]:  # it has a time as its offset then
        left_s = trace.duration_s - units.seconds(asked["offset"]["at"])
        if duration_s > left_s:
            raise _core.ScenarioError(
                f"{dotted(way)}.capacity.{kind}.repeat: found `false`, expected `true`: a run of {duration_s:g} s "
                f"outlasts the {max(left_s, 0.0):g} s that the trace has from its offset on, and a fit does not end"
            )
    if kind == "trace":
        return traces.fit(trace, slot_s, states)
    size = _MAHIMAHI_BYTES if asked["mahimahi"] else units.size(asked["size"])
    return traces.fit(trace, slot_s, states, opportunity_bytes=size)


def _with_chains(scenario: _core.Scenario, fits: "Mapping[Keys, Fit]") -> _core.Scenario:
    """The scenario with the fitted chains in place of the traces."""
    keys = json.loads(scenario.to_json())
    for way, fit in fits.items():
        link = keys
        for part in way:
            link = link[int(part)] if isinstance(link, list) else link[part]
        if link["capacity"].get("opportunities", {}).get("mahimahi"):
            overhead = units.size(link["framing"]["overhead"]) + _MAHIMAHI_OVERHEAD_BYTES
            link["framing"]["overhead"] = f"{overhead:g} B"
        link["capacity"] = fit.capacity()
    return _core.Scenario.from_json(json.dumps(keys), scenario.name, scenario.base_dir, [])


def dotted(way: Keys) -> str:
    """A link's key as ``--set`` has it.

    >>> dotted(("topology", "graph", "links", "a.b"))
    'topology.graph.links."a.b"'
    """
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part) for part in way)


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
