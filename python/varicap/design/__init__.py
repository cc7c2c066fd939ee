"""Inverse questions: the parameter that reaches a target, with evidence that the call itself computed.

A question is a folder: `solve` has the answer, from simulations and analyses that it runs; `report` puts it into words,
tables and figures.  It is registered by its name in `QUESTIONS`; ``varicap design NAME`` is `varicap.cli.design`.
"""

QUESTIONS = (
    "optimise",
    "effcap",
    "buffer",
    "packet",
    "lrl",
    "advice",
    "token_bucket",
    "ered",
)
"""The folders of all questions, in the order of the commands' help."""
