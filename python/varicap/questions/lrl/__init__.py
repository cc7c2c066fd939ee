"""Which thresholds and steps of load-reactive links reach a target, and where such a link is stable."""

from varicap._names import all_of

__getattr__ = all_of(__name__, "solve")
