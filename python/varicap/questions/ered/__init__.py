"""Which thresholds an ERED queue should have, and which reservations it can carry."""

from varicap._names import all_of

__getattr__ = all_of(__name__, "solve")
