"""Analyses: pure functions from parameters to numbers; no simulation, no drawing.

`markov`, `renewal`, `skip_free` and `effective` hold the mathematics that models share, `models` one module per
analytical model.  Which model fits a flow of a scenario is decided elsewhere, by `varicap.engines.model`.  SciPy,
which takes longer to import than most analyses take, is imported inside functions, by those that need it.
"""
