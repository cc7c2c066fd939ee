"""What would be if one thing were another, as values."""

from dataclasses import dataclass
from typing import Any

from varicap.statistics import Interval

MORE = "with twice the capacity"
QUEUES: tuple[tuple[str, Any], ...] = (
    ("CoDel", "codel"),
    ("FQ-CoDel", "fq_codel"),
    ("PIE", "pie"),
    ("DualPI2", "dualpi2"),
)
"""Queues that manage themselves, by their names in words."""


@dataclass(frozen=True)
class Variant:
    """A scenario with one thing changed: what it does, and by how much that differs, run by run."""

    name: str
    """In an operator's words."""
    goodput_bps: Interval
    """Of all flows together."""
    delay_ms: Interval
    """Round-trip time, the 95th percentile of its packets; the mean over flows."""
    goodput_percent: Interval
    """By how much it differs from the scenario as it is, of the mean of that."""
    delay_percent: Interval

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "goodput_bps": self.goodput_bps.to_dict(),
            "rtt_p95_ms": self.delay_ms.to_dict(),
            "goodput_percent": self.goodput_percent.to_dict(),
            "rtt_p95_percent": self.delay_percent.to_dict(),
        }


@dataclass(frozen=True)
class Answer:
    """What a scenario does as it is, and what would be otherwise."""

    name: str
    question: str
    """why, l4s or queue."""
    goodput_bps: Interval
    delay_ms: Interval
    variants: tuple[Variant, ...]
    runs: int
    sentences: tuple[str, ...] = ()
    """The answer in words."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "scenario": self.name,
            "question": self.question,
            "runs": self.runs,
            "goodput_bps": self.goodput_bps.to_dict(),
            "rtt_p95_ms": self.delay_ms.to_dict(),
            "variants": [one.to_dict() for one in self.variants],
            "answer": list(self.sentences),
        }

    def __repr__(self) -> str:
        return "\n".join(self.sentences)
