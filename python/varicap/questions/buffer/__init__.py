"""How much buffer a wireless link with ARQ needs, and what TCP gets with the one that it has."""

from varicap._names import all_of

__getattr__ = all_of(__name__, "solve")
