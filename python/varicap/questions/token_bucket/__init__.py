"""How deep a token bucket, how often its timer, how much buffer: each from the others."""

from varicap._names import all_of

__getattr__ = all_of(__name__, "solve")
