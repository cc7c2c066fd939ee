"""Capacity traces: read, described, converted, generated.

```text
file ──load──► Trace (Rates or Opportunities) ──info──► numbers
               ▲                │
       generate_*               ├──save──► file that a scenario names
                                 └──fit───► chain of rates, and how well it describes the trace
```

>>> from varicap import traces
>>> trace = traces.load("examples/traces/lte-like.down")
>>> round(traces.info(trace).mean_bps / 1e6, 2)
4.5
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from varicap.traces.parameters import Cells, Cellular, Satellite, TraceError

if TYPE_CHECKING:
    from varicap.traces.cellular import generate_lte, generate_lte_rates
    from varicap.traces.files import FORMATS, Format, Reading, convert, format_of, load, save
    from varicap.traces.fitting import Fit, fit
    from varicap.traces.fitting.links import fit_cellular, fit_satellite
    from varicap.traces.handover import generate_handover
    from varicap.traces.plain import generate_constant, generate_markov, generate_steps
    from varicap.traces.satellite import generate_leo
    from varicap.traces.statistics import Info, Outages, info
    from varicap.traces.trace import (
        Delays,
        Losses,
        Opportunities,
        Rates,
        Trace,
        Understood,
        bins,
        mean_rate_bps,
        to_opportunities,
        to_rates,
        with_delay,
    )
    from varicap.traces.trains import light_trains, save_trains

__all__ = [
    "FORMATS",
    "Cells",
    "Cellular",
    "Delays",
    "Fit",
    "Format",
    "Info",
    "Losses",
    "Opportunities",
    "Outages",
    "Rates",
    "Reading",
    "Satellite",
    "Trace",
    "TraceError",
    "Understood",
    "bins",
    "convert",
    "fit",
    "fit_cellular",
    "fit_satellite",
    "format_of",
    "generate_constant",
    "generate_handover",
    "generate_leo",
    "generate_lte",
    "generate_lte_rates",
    "generate_markov",
    "generate_steps",
    "info",
    "light_trains",
    "load",
    "mean_rate_bps",
    "save",
    "save_trains",
    "to_opportunities",
    "to_rates",
    "with_delay",
]

# Imported on first use: the command line reads the parameters of links and must not wait for NumPy.
_HOME = {
    "cellular": ("generate_lte", "generate_lte_rates"),
    "files": ("FORMATS", "Format", "Reading", "convert", "format_of", "load", "save"),
    "fitting": ("Fit", "fit"),
    "fitting.links": ("fit_cellular", "fit_satellite"),
    "handover": ("generate_handover",),
    "plain": ("generate_constant", "generate_markov", "generate_steps"),
    "satellite": ("generate_leo",),
    "statistics": ("Info", "Outages", "info"),
    "trace": (
        *("Delays", "Losses", "Opportunities", "Rates", "Trace", "Understood", "bins"),
        *("mean_rate_bps", "to_opportunities", "to_rates", "with_delay"),
    ),
    "trains": ("light_trains", "save_trains"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(f"varicap.traces.{module}"), name)
    raise AttributeError(f"module 'varicap.traces' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
