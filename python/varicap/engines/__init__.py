"""The three engines behind one call: the simulator, analysis, and the kernel's own TCP.

An engine is imported when it is asked: the process of the kernel engine, which starts here too, may load nothing that
starts threads.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

if TYPE_CHECKING:
    from varicap.engines.model import ModelResult
    from varicap.engines.scenarios import AnyScenario
    from varicap.results.result import Result

Engine: TypeAlias = Literal["sim", "model", "kernel"]

ENGINES: tuple[Engine, ...] = ("sim", "model", "kernel")
"""Each is a module with a function `run`."""


@overload
def run(scenario: "AnyScenario", *, engine: Literal["sim", "kernel"] = "sim", **options: Any) -> "Result": ...
@overload
def run(scenario: "AnyScenario", *, engine: Literal["model"], overrides: Any = (), **options: Any) -> "ModelResult": ...
def run(scenario: "AnyScenario", *, engine: Engine = "sim", **options: Any) -> "Result | ModelResult":
    """Answer a scenario.

    ``sim`` simulates it and takes the options of `varicap.engines.sim.run`: seeds, precision, series, controls, ….
    ``model`` picks the analysis whose assumptions hold, and takes `overrides` only.  ``kernel`` runs Linux's TCP over
    the same links in real time, and takes the options of `varicap.kernel.run`.  Raises `NotApplicableError` where an
    engine cannot answer this scenario, `MachineLacksError` where this machine cannot run it.

    >>> result = run("examples/fixed.toml", seeds=2, overrides={"duration": "20 s"})
    >>> result.runs
    2
    >>> run("examples/fixed.toml", engine="model").summary["flows"][0]["model"]
    'sawtooth'
    """
    if engine not in ENGINES:
        raise ValueError(f"the engine is one of {', '.join(ENGINES)}, not {engine!r}")
    answered: Result | ModelResult = import_module(f"varicap.engines.{engine}").run(scenario, **options)
    return answered
