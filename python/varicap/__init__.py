"""varicap: a laboratory for TCP over links whose capacity changes in time.

>>> import varicap
>>> result = varicap.run("examples/fixed.toml", seeds=2, overrides={"duration": "20 s"})
>>> result.runs
2
"""

from typing import TYPE_CHECKING

from varicap._names import on_first_use
from varicap.results.shown import drawn_by

drawn_by("varicap.report")

# What needs NumPy, Arrow or Matplotlib is imported on first use, so that `varicap --help` answers at once.
if TYPE_CHECKING:
    from varicap import analyse as analyse
    from varicap import channel as channel
    from varicap import design as design
    from varicap import dialogue as dialogue
    from varicap import export as export
    from varicap import feedback as feedback
    from varicap import importers as importers
    from varicap import kernels as kernels
    from varicap import papers as papers
    from varicap import plugins as plugins
    from varicap import policies as policies
    from varicap import queues as queues
    from varicap import reactive as reactive
    from varicap import report as report
    from varicap import scenario as scenario
    from varicap import shell as shell
    from varicap import study as study
    from varicap import tcp as tcp
    from varicap import templates as templates
    from varicap import traces as traces
    from varicap import units as units
    from varicap import validate as validate
    from varicap import watch as watch
    from varicap import widget as widget
    from varicap._core import LimitError as LimitError
    from varicap._core import ScenarioError as ScenarioError
    from varicap._core import __version__ as __version__
    from varicap.design.optimise import optimise as optimise
    from varicap.engines import run as run
    from varicap.engines.comparison import compare as compare
    from varicap.engines.fitted import compare_fit as compare_fit
    from varicap.engines.scenarios import load as load
    from varicap.errors import MachineLacksError as MachineLacksError
    from varicap.errors import NotApplicableError as NotApplicableError
    from varicap.importers import import_file as import_file
    from varicap.importers import import_text as import_text
    from varicap.results.result import Result as Result
    from varicap.results.saved import SavedResult as SavedResult
    from varicap.results.saved import read as read
    from varicap.study import sweep as sweep
    from varicap.templates import new as new
else:
    _MODULES = (
        *("analyse", "channel", "design", "dialogue", "export", "feedback", "importers"),
        *("endpoints", "kernels", "papers", "plugins", "policies", "queues"),
        *("reactive", "report", "scenario", "shell", "study", "tcp", "templates", "traces", "units", "validate"),
        *("watch", "widget"),
    )
    _HOMES = {
        "varicap._core": ("LimitError", "ScenarioError", "__version__"),
        "varicap.design.optimise": ("optimise",),
        "varicap.engines": ("run",),
        "varicap.engines.comparison": ("compare",),
        "varicap.engines.fitted": ("compare_fit",),
        "varicap.engines.scenarios": ("load",),
        "varicap.errors": ("MachineLacksError", "NotApplicableError"),
        "varicap.importers": ("import_file", "import_text"),
        "varicap.results.result": ("Result",),
        "varicap.results.saved": ("SavedResult", "read"),
        "varicap.study": ("sweep",),
        "varicap.templates": ("new",),
    }
    __getattr__ = on_first_use(__name__, _HOMES, _MODULES)
    __all__ = sorted([*_MODULES, *sum(_HOMES.values(), ())])

    def __dir__() -> list[str]:
        return __all__
