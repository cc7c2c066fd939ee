"""From measured values to verdicts."""

from dataclasses import dataclass
from typing import Any

from varicap.papers.claims import Claim, Verdict
from varicap.statistics import Interval, finite


@dataclass(frozen=True, kw_only=True)
class Value:
    """Our values for a claim: the model's number, the simulator's, the kernel's."""

    model: float | None = None
    sim: Interval | None = None
    kernel: Interval | None = None


@dataclass(frozen=True)
class Judged:
    """A claim, our values, and whether they reproduce it."""

    claim: Claim
    value: Value
    verdict: Verdict
    is_settled: bool
    """Whether the whole interval lies on one side of the border of the accepted range."""
    note: str

    @property
    def is_expected(self) -> bool:
        """Whether the verdict is the one that a full run gave when the claim was recorded, or is not settled."""
        return self.verdict == self.claim.expect or not self.is_settled

    def to_dict(self) -> dict[str, Any]:
        """The judged claim as ``varicap reproduce --json`` prints it."""
        claim, value = self.claim, self.value
        return {
            "id": claim.id,
            "where": claim.where,
            "statement": claim.statement,
            "paper": claim.paper,
            "model": finite(value.model),
            "sim": None if value.sim is None else value.sim.to_dict(),
            "kernel": None if value.kernel is None else value.kernel.to_dict(),
            "unit": claim.unit,
            "tolerance": claim.tolerance,
            "reason": claim.reason,
            "verdict": self.verdict,
            "note": self.note,
        }


def judge(claim: Claim, value: Value) -> Judged:
    """Compare our value with what the claim accepts.

    The mean decides.  Where the interval crosses the border of the accepted range, the note says that the runs do
    not settle it.
    """
    ours = Interval(value.model) if claim.engine == "model" and value.model is not None else value.sim
    if ours is None or (claim.engine == "model" and value.model is None):
        raise ValueError(f"`{claim.id}` is judged by the {claim.engine}, which gave no value")
    low, high = claim.accept
    verdict: Verdict = "reproduced" if low <= ours.mean <= high else "differs"
    is_settled = ours.lo is None or ours.hi is None or not any(ours.lo < edge < ours.hi for edge in claim.accept)
    notes = [claim.note] if claim.note and verdict == claim.expect else []
    if not is_settled:
        notes.append("not settled: the interval reaches over the border of what is accepted")
    elif verdict != claim.expect:
        notes.append(f"on record as {claim.expect}")
    return Judged(claim, value, verdict, is_settled, "; ".join(notes))
