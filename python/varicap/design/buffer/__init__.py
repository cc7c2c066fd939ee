"""How much buffer a wireless link with ARQ needs, and what TCP gets with the one that it has."""

from varicap.design.buffer.solve import Design, Need, Point, buffer

__all__ = ["Design", "Need", "Point", "buffer"]
