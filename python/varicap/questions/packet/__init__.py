"""How long the frames of a wireless link with ARQ should be."""

from varicap._names import all_of

__getattr__ = all_of(__name__, "solve")
