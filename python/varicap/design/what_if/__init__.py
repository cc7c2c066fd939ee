"""What would be if one thing were another: why a path is as it is, what L4S would give, which queue suits it."""

from varicap.design.what_if.found import Answer
from varicap.design.what_if.solve import l4s, queue, why

__all__ = ["Answer", "l4s", "queue", "why"]
