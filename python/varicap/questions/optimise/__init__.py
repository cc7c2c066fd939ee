"""Which values of a scenario's keys are best by what is asked of its results: the inverse question of any scenario."""

from varicap._names import all_of

__getattr__ = all_of(__name__, "solve")
