"""One scenario on every engine that applies, side by side, and where they disagree."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import varicap._core as _core
from varicap import engines, kernels
from varicap.engines import ENGINES, Engine
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.model import ModelResult
from varicap.engines.scenarios import AnyScenario, load
from varicap.errors import MachineLacksError, NotApplicableError
from varicap.plugins import Make
from varicap.results import shown
from varicap.results.result import Result
from varicap.statistics import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = {
    "goodput_bps": ("goodput", "Mb/s", 1e-6),
    "rtt_ms": ("RTT", "ms", 1.0),
    "cwnd_packets": ("cwnd", "packets", 1.0),
    "retransmitted_packets": ("resent", "packets", 1.0),
    "timeouts": ("timeouts", "", 1.0),
    "fct_ms": ("completion", "ms", 1.0),
    "missing_transfers": ("transfers refused or unfinished", "%", 100.0),
}
"""What is compared, by its key in a summary: its name, its unit, and how many of the unit one is."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """What each engine says of one scenario."""

    scenario: str
    answers: Mapping[str, Result | ModelResult | str]
    """By engine; a text is why it does not apply."""

    @property
    def summaries(self) -> dict[str, dict[str, Any]]:
        """The summaries of the engines that answered."""
        return {name: found.summary for name, found in self.answers.items() if not isinstance(found, str)}

    @property
    def runs(self) -> dict[str, Result]:
        """The engines that ran packets: what they recorded can be drawn."""
        return {name: found for name, found in self.answers.items() if isinstance(found, Result)}

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap compare --json`` prints it."""
        return {
            "scenario": self.scenario,
            "engines": [
                {"engine": name, "not_applicable": found} if isinstance(found, str) else found.summary
                for name, found in self.answers.items()
            ],
            "differences": differences(self.summaries),
        }

    def figure(self, **looks: Unpack[shown.Looks]) -> "Figure":
        """The window of each flow over time, a line for each engine; of the model its ends, dashed.

        Keywords choose the flows and how they look, as the options of ``varicap plot`` do.
        """
        return shown.figure(self, **looks)

    def __repr__(self) -> str:
        return shown.text(self)

    def _repr_html_(self) -> str:
        return shown.html(self)


def compare(
    scenario: AnyScenario,
    *,
    only: Sequence[Engine] = ENGINES,
    seeds: int | None = None,
    overrides: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    kernel: Literal["classic", "stock"] | None = None,
    clock: Literal["simulated", "real"] | None = None,
    kernel_name: str | None = None,
    modules: Sequence[str | Path] | None = None,
    controls: Mapping[str, Make] | None = None,
    queues: Mapping[str, Make] | None = None,
    jobs: int | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    progress: Progress | None = None,
) -> Comparison:
    """Ask every engine (or `only` some) about a scenario.  Raises `ScenarioError` if it cannot be read.

    `controls` and `queues` bring the simulator what is written in Python, as `varicap.engines.sim.run` explains.

    An engine that cannot answer is left out, with the reason: the simulator if a congestion control, such as
    ``custom = "bbr"``, exists in the kernel only.

    `kernel` says how much of itself the kernel keeps, by default what fits the stacks of the flows (see
    `varicap.engines.kernel`), `clock` and `kernel_name` in which time and which kernel, with which `modules`; in
    simulated time it runs the same `seeds` as the simulator, in real time one.  `max_memory` and `max_time` limit each
    engine that runs packets: `LimitError`.

    >>> both = compare("examples/fixed.toml", only=("sim", "model"), seeds=2, overrides={"duration": "30 s"})
    >>> [row["flow"] for row in both.to_dict()["differences"]]
    ['reno']
    """
    loaded = load(scenario, overrides)
    own = {"controls": controls, "queues": queues}
    limits = {"max_memory": max_memory, "max_time": max_time}
    options: dict[Engine, dict[str, Any]] = {
        "sim": {"seeds": seeds, "series": "first", "jobs": jobs, "progress": progress, **own, **limits},
        "kernel": {
            "seeds": seeds if kernels.is_simulated(clock, kernel_name) else None,
            "series": "first",
            "kernel": kernel,
            "clock": clock,
            "kernel_name": kernel_name,
            "modules": modules,
            "jobs": jobs,
            "progress": progress,
            **limits,
        },
    }
    answers: dict[str, Result | ModelResult | str] = {}
    missing: _core.MissingControlError | None = None
    for engine in only:
        try:
            answers[engine] = engines.run(loaded, engine=engine, **options.get(engine, {}))
        except (NotApplicableError, MachineLacksError) as error:
            answers[engine] = str(error)
        except _core.MissingControlError as error:
            missing = error
            answers[engine] = f"the simulator has none of the kernel's controls: {error}"
    if missing is not None and not any(isinstance(found, Result) for found in answers.values()):
        # No engine has it, so that there is nothing to compare.
        others = [str(found) for name, found in answers.items() if name == "kernel"]
        raise _core.MissingControlError("; ".join([str(missing), *others]))
    return Comparison(json.loads(loaded.to_json())["name"], answers)


def differences(summaries: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each flow and measure what each engine says, and how far it lies from the first of them [%]."""
    rows = []
    flows = [flow["name"] for summary in summaries.values() for flow in summary["flows"]]
    for name in dict.fromkeys(flows):
        for key, (measure, unit, scale) in MEASURES.items():
            values = {engine: _mean(summary, name, key, scale) for engine, summary in summaries.items()}
            known = {engine: value for engine, value in values.items() if value is not None}
            if len(known) < min(2, len(summaries)):
                continue
            reference = next(iter(known.values()))
            apart = {
                engine: 100.0 * (value / reference - 1.0) if reference else None
                for engine, value in list(known.items())[1:]
            }
            row = {"flow": name, "measure": measure, "unit": unit, "values": known, "difference_percent": apart}
            rows.append(row)
    return rows


def _mean(summary: Mapping[str, Any], flow: str, key: str, scale: float) -> float | None:
    for row in summary["flows"]:
        if row["name"] == flow and key in row:
            value = row[key]["mean"] if isinstance(row[key], Mapping) else row[key]
            return None if value is None else value * scale
    return None
