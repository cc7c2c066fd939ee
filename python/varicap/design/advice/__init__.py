"""How often advice has to come, and in how fine steps, to be worth following on a link whose capacity varies."""

from varicap.design.advice.solve import Design, Gain, Point, Setting, Target, advice

__all__ = ["Design", "Gain", "Point", "Setting", "Target", "advice"]
