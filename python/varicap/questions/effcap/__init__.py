"""How many samples EFFCAP should average, and over how many averages it should take the least."""

from varicap._names import all_of

__getattr__ = all_of(__name__, "solve")
