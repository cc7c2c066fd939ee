"""Analytical models: formulas and chains of the literature, each from its parameters to throughput or probabilities.

They know nothing of scenarios; `varicap.engines.model` reads a scenario and picks the one that fits.
"""
