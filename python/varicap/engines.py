"""The three engines behind one call: the simulator, analysis, and the kernel's own TCP."""

from typing import Any, Literal, TypeAlias, overload

from varicap import model, simulate
from varicap.model import ModelResult
from varicap.results import Result
from varicap.simulate import AnyScenario

Engine: TypeAlias = Literal["sim", "model", "kernel"]

ENGINES: tuple[Engine, ...] = ("sim", "model", "kernel")


@overload
def run(scenario: AnyScenario, *, engine: Literal["sim", "kernel"] = "sim", **options: Any) -> Result: ...
@overload
def run(scenario: AnyScenario, *, engine: Literal["model"], overrides: Any = (), **options: Any) -> ModelResult: ...
def run(scenario: AnyScenario, *, engine: Engine = "sim", **options: Any) -> Result | ModelResult:
    """Answer a scenario.

    ``sim`` simulates it and takes the options of `varicap.simulate.run`: seeds, precision, series, controls, ….
    ``model`` picks the analysis whose assumptions hold, and takes `overrides` only.  ``kernel`` runs Linux's TCP over
    the same links in real time, and takes the options of `varicap.kernel.run`.  Raises `NotApplicableError` where an
    engine cannot answer this scenario, `MachineLacksError` where this machine cannot run it.

    >>> result = run("examples/fixed.toml", seeds=2, overrides={"duration": "20 s"})
    >>> result.runs
    2
    >>> run("examples/fixed.toml", engine="model").summary["flows"][0]["model"]
    'sawtooth'
    """
    if engine == "sim":
        return simulate.run(scenario, **options)
    if engine == "model":
        return model.solve(simulate.load(scenario, options.get("overrides", ())))
    if engine == "kernel":
        from varicap import kernel

        return kernel.run(scenario, **options)
    raise ValueError(f"the engine is one of {', '.join(ENGINES)}, not {engine!r}")
