"""Which values of a scenario's keys are best by what is asked of its results: the inverse question of any scenario."""

from varicap.design.optimise.found import Found, Tried
from varicap.design.optimise.solve import optimise

__all__ = ["Found", "Tried", "optimise"]
