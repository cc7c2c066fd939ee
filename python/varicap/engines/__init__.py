"""The three engines behind one call: the simulator, analysis, and the kernel's own TCP.

An engine is imported when it is asked: the process of the kernel engine, which starts here too, may load nothing that
starts threads.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, Unpack, overload

if TYPE_CHECKING:
    from varicap import policies
    from varicap.endpoints import MakeEndpoint
    from varicap.engines.model import ModelResult
    from varicap.engines.scenarios import AnyScenario
    from varicap.queues import MakeQueue
    from varicap.reactive import MakePolicy
    from varicap.results.manifest import Which
    from varicap.results.result import Result
    from varicap.statistics import Progress
    from varicap.tcp import MakeControl
    from varicap.watch import Watch

Engine: TypeAlias = Literal["sim", "model", "kernel"]

ENGINES: tuple[Engine, ...] = ("sim", "model", "kernel")
"""Each is a module with a function `run`."""


class RunOptions(TypedDict, total=False):
    """What a run may be asked; `varicap.engines.sim.run` and `varicap.engines.kernel.run` explain it."""

    seeds: int | None
    seed: int | None
    precision: float | None
    max_seeds: int
    overrides: "Mapping[str, str] | Iterable[tuple[str, str]]"
    series: "Which | None"
    packets: "Which | None"
    controls: "Mapping[str, MakeControl | MakePolicy | policies.MakePolicy] | None"
    queues: "Mapping[str, MakeQueue] | None"
    endpoints: "Mapping[str, MakeEndpoint] | None"
    kernel: Literal["classic", "stock"] | None
    clock: Literal["simulated", "real"] | None
    kernel_name: str | None
    modules: Sequence[str | Path] | None
    jobs: int | None
    max_memory: str | None
    max_time: str | None
    progress: "Progress | None"
    live: "Watch | None"
    folder: str | Path | None
    notify: Callable[[str], None]


OF_KERNEL = ("kernel", "clock", "kernel_name", "modules")
"""Options of the kernel engine alone."""


@overload
def run(
    scenario: "AnyScenario",
    *,
    engine: Literal["sim", "kernel"] = "sim",
    save: bool = ...,
    **options: Unpack[RunOptions],
) -> "Result": ...
@overload
def run(
    scenario: "AnyScenario", *, engine: Literal["model"], save: bool = ..., **options: Unpack[RunOptions]
) -> "ModelResult": ...
def run(
    scenario: "AnyScenario", *, engine: Engine = "sim", save: bool = True, **options: Unpack[RunOptions]
) -> "Result | ModelResult":
    """Answer a scenario.

    ``sim`` simulates it and takes all options but `kernel`, `clock`, `kernel_name` and `modules`;
    `varicap.engines.sim.run` explains them.  ``model`` picks the analysis whose assumptions hold; of the options it
    uses `overrides` only.
    ``kernel`` runs Linux's TCP over the same links, in simulated or real time, and takes the options of
    `varicap.engines.kernel.run`.  Raises
    `NotApplicableError` where an engine cannot answer this scenario, `MachineLacksError` where this machine cannot run
    it.

    With a `folder` the result is saved there, unless `save` is false, and a call that was interrupted or killed goes on
    where it stopped when it is made again: finished runs are kept, and the results are the same bytes.  What is found
    damaged there, or of another call, is set aside and reported to `notify`.

    >>> result = run("examples/fixed.toml", seeds=2, overrides={"duration": "20 s"})
    >>> result.runs
    2
    >>> run("examples/fixed.toml", engine="model").summary["flows"][0]["model"]
    'sawtooth'
    """
    if engine not in ENGINES:
        raise ValueError(f"the engine is one of {', '.join(ENGINES)}, not {engine!r}")
    for name, value in options.items():
        if name not in RunOptions.__annotations__:
            raise TypeError(f"run() got an unexpected keyword argument {name!r}")
        if name in OF_KERNEL and value is not None and engine != "kernel":
            raise ValueError(f"`{name}` is for engine='kernel', not {engine!r}")
    taken = {name: value for name, value in options.items() if engine == "kernel" or name not in OF_KERNEL}
    answered: Result | ModelResult = import_module(f"varicap.engines.{engine}").run(scenario, **taken)
    folder = options.get("folder")
    if folder is not None and save:
        answered.save(folder)
        # Models keep no runs: those that are there are of another call.
        if (request := getattr(answered, "request", None)) is not None:
            from varicap.results.unfinished import discard

            discard(Path(folder), request, options.get("notify", warnings.warn))
    return answered
