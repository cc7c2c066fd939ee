"""How many samples EFFCAP should average, and over how many averages it should take the least."""

from varicap.design.effcap.path import Path
from varicap.design.effcap.solve import Choice, Confirmed, Design, Point, effcap, regime

__all__ = ["Choice", "Confirmed", "Design", "Path", "Point", "effcap", "regime"]
