"""varicap: a laboratory for TCP over links whose capacity changes in time.

>>> import varicap
>>> result = varicap.run("examples/fixed.toml", seeds=2, overrides={"duration": "20 s"})
>>> result.runs
2
"""

# First, so that Ctrl-C is handled while all else is imported.
from varicap import _interrupt  # noqa: F401

# isort: split

from importlib import import_module
from typing import TYPE_CHECKING, Any

from varicap._core import LimitError, ScenarioError, __version__
from varicap._names import ShortNames, on_first_use
from varicap.results.shown import drawn_by

if TYPE_CHECKING:
    from varicap import analyse, kernels, papers, report, scenario, study, templates, traces, units, validate, widget
    from varicap import questions as design
    from varicap.engines import model, run
    from varicap.engines.comparison import compare
    from varicap.engines.fitted import compare_fit
    from varicap.engines.scenarios import load
    from varicap.errors import MachineLacksError, NotApplicableError
    from varicap.machine import shell
    from varicap.parts import feedback, policies, reactive, tcp
    from varicap.results import export, watch
    from varicap.results.result import Result
    from varicap.results.saved import SavedResult, read
    from varicap.study import sweep
    from varicap.templates import new

__all__ = [
    "LimitError",
    "MachineLacksError",
    "NotApplicableError",
    "Result",
    "SavedResult",
    "ScenarioError",
    "__version__",
    "analyse",
    "compare",
    "compare_fit",
    "design",
    "export",
    "feedback",
    "kernels",
    "load",
    "model",
    "new",
    "optimise",
    "papers",
    "policies",
    "reactive",
    "read",
    "report",
    "run",
    "scenario",
    "shell",
    "study",
    "sweep",
    "tcp",
    "templates",
    "traces",
    "units",
    "validate",
    "watch",
    "widget",
]

_SHORT = {
    "engines": ("comparison", "kernel", "model", "replay"),
    "machine": ("bench", "doctor", "shell"),
    "parts": ("channel", "feedback", "policies", "queues", "reactive", "tcp"),
    "results": ("export", "saved", "watch"),
}
"""Modules that are also known without the name of their folder, such as `varicap.tcp`."""

ShortNames(
    {f"varicap.{name}": f"varicap.{folder}.{name}" for folder, names in _SHORT.items() for name in names}
    | {"varicap.design": "varicap.questions", "varicap.simulate": "varicap.engines.sim"}
).install()

drawn_by("varicap.report")

# What needs NumPy, Arrow or Matplotlib is imported on first use, so that `varicap --help` answers at once.
_on_first_use = on_first_use(
    __name__,
    {
        "varicap.engines": ["run"],
        "varicap.engines.comparison": ["compare"],
        "varicap.engines.fitted": ["compare_fit"],
        "varicap.engines.scenarios": ["load"],
        "varicap.errors": ["MachineLacksError", "NotApplicableError"],
        "varicap.results.result": ["Result"],
        "varicap.results.saved": ["SavedResult", "read"],
        "varicap.questions.optimise.solve": ["optimise"],
        "varicap.study": ["sweep"],
        "varicap.templates": ["new"],
    },
)


def __getattr__(name: str) -> Any:
    try:
        return _on_first_use(name)
    except AttributeError:
        if name not in __all__:
            raise
        return import_module(f"varicap.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
