"""How often advice has to come, and in how fine steps, to be worth following on a link whose capacity varies."""

from varicap._names import all_of

__getattr__ = all_of(__name__, "solve")
