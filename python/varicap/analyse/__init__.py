"""Analyses: pure functions from parameters to numbers; no simulation, no drawing.

`markov`, `renewal`, `skip_free` and `effective` hold the mathematics that models share, `models` one module per
analytical model.  Which model fits a flow of a scenario is decided elsewhere, by `varicap.engines.model`.  SciPy is
imported at the head of modules only here, so that commands which need no analysis start at once.
"""
