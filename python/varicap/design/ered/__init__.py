"""Which thresholds an ERED queue should have, and which reservations it can carry."""

from varicap.design.ered.solve import Candidates, Design, Point, Queue, ered

__all__ = ["Candidates", "Design", "Point", "Queue", "ered"]
