"""Analytical models, each named after the paper that it comes from."""
