"""Inverse questions: the parameter that reaches a target, with evidence that the call itself computed.

Each module is one question: `effcap` recommends M and N of EFFCAP.  Simulations are run here; nothing is drawn.
"""
