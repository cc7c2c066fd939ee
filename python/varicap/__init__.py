"""varicap: a laboratory for TCP over links whose capacity changes in time.

>>> import varicap
>>> result = varicap.run("examples/fixed.toml", seeds=2, overrides={"duration": "20 s"})
>>> result.runs
2
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from varicap._core import ScenarioError, __version__

if TYPE_CHECKING:
    from varicap import (
        analyse,
        design,
        export,
        feedback,
        model,
        papers,
        reactive,
        report,
        scenario,
        shell,
        study,
        tcp,
        traces,
        units,
        watch,
    )
    from varicap.comparison import compare
    from varicap.engines import run
    from varicap.errors import MachineLacksError, NotApplicableError
    from varicap.results import Result
    from varicap.saved import SavedResult, read
    from varicap.simulate import load
    from varicap.study import sweep

__all__ = [
    "MachineLacksError",
    "NotApplicableError",
    "Result",
    "SavedResult",
    "ScenarioError",
    "__version__",
    "analyse",
    "compare",
    "design",
    "export",
    "feedback",
    "load",
    "model",
    "papers",
    "reactive",
    "read",
    "report",
    "run",
    "scenario",
    "shell",
    "study",
    "sweep",
    "tcp",
    "traces",
    "units",
    "watch",
]

# What needs NumPy, Arrow or Matplotlib is imported on first use, so that `varicap --help` answers at once.
_HOME = {
    "MachineLacksError": "varicap.errors",
    "NotApplicableError": "varicap.errors",
    "Result": "varicap.results",
    "SavedResult": "varicap.saved",
    "compare": "varicap.comparison",
    "load": "varicap.simulate",
    "read": "varicap.saved",
    "run": "varicap.engines",
    "sweep": "varicap.study",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in __all__:
        return import_module(f"varicap.{name}")
    raise AttributeError(f"module 'varicap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
