"""Which thresholds and steps of load-reactive links reach a target, and where such a link is stable."""

from varicap.design.lrl.grid import Grid, Setting
from varicap.design.lrl.solve import Design, Point, Target, lrl

__all__ = ["Design", "Grid", "Point", "Setting", "Target", "lrl"]
