"""The model engine: which analysis of `varicap.analyse.models` fits a flow of a scenario, and what it says.

scenario ──► flows and their paths ──► the first model whose assumptions hold ──► goodput, or why none fits
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import varicap._core as _core
from varicap._folders import Folder, as_json
from varicap.engines.model.abr import RateControl
from varicap.engines.model.answer import Answer, Model
from varicap.engines.model.keys import unknown
from varicap.engines.model.path import FlowPath, Number, paths, rough
from varicap.engines.model.ratcp import Sessions
from varicap.engines.model.reno import RandomLoss, Sawtooth
from varicap.engines.model.varying import Varying
from varicap.engines.model.wireless import Arq
from varicap.engines.scenarios import AnyScenario, load
from varicap.errors import NotApplicableError
from varicap.results import shown
from varicap.results.names import refuse_foreign

__all__ = [
    "MODELS",
    "Answer",
    "FlowPath",
    "Model",
    "ModelResult",
    "NoModelError",
    "answered",
    "answered_all",
    "answers",
    "reasons",
    "run",
    "solve",
    "why_not",
]

MODELS: tuple[Model, ...] = (Sawtooth(), RandomLoss(), Sessions(), RateControl(), Varying(), Arq())
"""In the order in which they are tried."""

_NEAREST = 2
"""How many models are named, with the assumptions that fail, where none fits."""


class NoModelError(NotApplicableError):
    """No model fits any flow of the scenario; the text says of each which assumption fails."""


@dataclass(frozen=True, repr=False)
class ModelResult:
    """What the models say of a scenario."""

    scenario: _core.Scenario
    summary: dict[str, Any]
    """The flows that a model fits, in the shape of a simulation's summary; the others say why not."""

    def save(self, folder: str | Path) -> Path:
        """Write ``summary.json`` into `folder`, and return its path."""
        with Folder(folder, make=True) as there:
            refuse_foreign(there)
            return there.write("summary.json", as_json(self.summary))

    def __repr__(self) -> str:
        return shown.text(self)

    def _repr_html_(self) -> str:
        return shown.html(self.summary)


def run(
    scenario: AnyScenario, *, overrides: Mapping[str, str] | Iterable[tuple[str, str]] = (), **_ignored: Any
) -> ModelResult:
    """Answer a scenario by analysis.  Options of the other engines are accepted and ignored."""
    return solve(load(scenario, overrides))


def solve(scenario: _core.Scenario) -> ModelResult:
    """Answer a scenario by analysis.  Raises `NoModelError` if no model fits any of its flows.

    >>> import varicap
    >>> result = solve(varicap.load("examples/fixed.toml"))
    >>> [(flow["name"], flow["model"], round(flow["goodput_bps"]["mean"] / 1e3)) for flow in result.summary["flows"]]
    [('reno', 'sawtooth', 698)]
    """
    flows = answers(scenario)
    if all("not_applicable" in flow for flow in flows):
        raise NoModelError("\n".join(reason for flow in flows for reason in why_not(flow)))
    strained = [f"{flow['name']}: {text}" for flow in flows for text in flow.get("strained", ())]
    summary = {
        "schema_version": 1,
        "scenario": json.loads(scenario.to_json()),
        "engine": "model",
        "runs": 0,
        "flows": flows,
        "groups": [],
        "links": [],
        "fidelity": {"valid": not strained, "strained": strained},
    }
    return ModelResult(scenario, summary)


def answers(scenario: _core.Scenario) -> list[dict[str, Any]]:
    """What the models say of each flow of a scenario."""
    return answered_all(paths(scenario))


def answered(path: FlowPath) -> dict[str, Any]:
    """What the first model that fits says of a flow, or why none does."""
    return answered_all([path])[0]


def answered_all(flows: Sequence[FlowPath]) -> list[dict[str, Any]]:
    """What the first model that fits says of each of these flows, of any scenarios, or why none does."""
    failed: list[dict[str, list[str]]] = [{} for _ in flows]
    found: dict[int, dict[str, Any]] = {}
    for model in MODELS:
        left = [place for place in range(len(flows)) if place not in found]
        for place in left:
            failed[place][model.name] = list(dict.fromkeys(model.misfits(flows[place])))
        fitting = [place for place in left if not failed[place][model.name]]
        solved = model.solve_all([flows[place] for place in fitting])
        for place, answer in zip(fitting, solved, strict=True):
            if isinstance(answer, ValueError):
                failed[place][model.name] = [Number(answer)]
            else:
                found[place] = _found(flows[place], model, answer)
    return [
        _named(path) | (found[place] if place in found else {"not_applicable": _nearest_first(failed[place])})
        for place, path in enumerate(flows)
    ]


def _nearest_first(failed: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """By how much a model is about something else; then, of as many reasons, one that is of this capacity."""

    def distance(reasons: Sequence[str]) -> tuple[int, ...]:
        other = [reason for reason in reasons if not isinstance(reason, Number)]
        return len(other), sum(".capacity = " in reason for reason in other), len(reasons)

    return dict(sorted(failed.items(), key=lambda item: distance(item[1])))


def _named(path: FlowPath) -> dict[str, Any]:
    return {"name": path.name, "group": path.name, "flows": path.flow["count"]}


def _found(path: FlowPath, model: Model, answer: Answer) -> dict[str, Any]:
    unheard = unknown(path.scenario, path.keys, model.keys, path.alike.defaults)
    return _measures(path, model, answer) | {"strained": [*answer.strained, *rough(path), *unheard]}


def _measures(path: FlowPath, model: Model, answer: Answer) -> dict[str, Any]:
    bits_per_s = answer.throughput_pps * 8
    return {
        "model": model.name,
        "goodput_bps": _exactly(bits_per_s * path.flow["mss_bytes"]),
        "throughput_bps": _exactly(bits_per_s * path.flow["packet_bytes"]),
        "details": dict(answer.details),
    }


def _exactly(value: float) -> dict[str, float]:
    """A number that no run had to estimate."""
    return {"mean": value, "lo": value, "hi": value}


def why_not(flow: Mapping[str, Any]) -> list[str]:
    """For a flow that no model fits: the assumptions that it breaks of the models that fit best, a line each."""
    nearest = list(flow["not_applicable"].items())[:_NEAREST]
    start = f"no model fits the flow `{flow['name']}`"
    return [f"{start}: {name}: {misfit}" for name, misfits in nearest for misfit in misfits]


def reasons(summary: Mapping[str, Any]) -> list[str]:
    """What to know of an answer before trusting it, a line each: why flows have none, and what strains a model."""
    missing = [reason for flow in summary["flows"] if "not_applicable" in flow for reason in why_not(flow)]
    return [*missing, *summary["fidelity"]["strained"]]
