"""Analyses: pure functions from parameters to numbers; no simulation, no drawing.

`markov` and `renewal` hold the mathematics that models share, `models` one module per analytical model.  SciPy is
imported here and nowhere else in varicap, so that commands which need no analysis start at once.
"""
