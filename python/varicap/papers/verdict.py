"""From measured values to verdicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from varicap.papers.claims import Claim, Verdict

Array = NDArray[np.float64]

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over replications with its 95 % confidence interval; no interval if there is but one."""

    mean: float
    lo: float | None = None
    hi: float | None = None

    @classmethod
    def of(cls, samples: "Array | Sequence[float]") -> Self:
        """Mean of independent samples, Student's interval.  Source: [law2015, §4.5].

        >>> interval = Interval.of([1.0, 2.0, 3.0])
        >>> interval.mean, round(interval.hi, 3)
        (2.0, 4.484)
        """
        values = np.asarray(samples, dtype=np.float64)
        mean = float(values.mean())
        if values.size < 2:
            return cls(mean)
        quantile = float(stdtrit(values.size - 1, (1 + _CONFIDENCE) / 2))
        half = quantile * float(values.std(ddof=1)) / math.sqrt(values.size)
        return cls(mean, mean - half, mean + half)

    def to_dict(self) -> dict[str, float | None]:
        """For JSON, which has no NaN."""
        return {"mean": _finite(self.mean), "lo": _finite(self.lo), "hi": _finite(self.hi)}


@dataclass(frozen=True, kw_only=True)
class Value:
    """What ours says about a claim: the model's number, the simulator's, the kernel's."""

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
    """Whether the whole interval is on the same side of the border of what is accepted."""
    note: str

    @property
    def is_expected(self) -> bool:
        """Whether the verdict is the one that a full run gave when the claim was written down, or not settled."""
        return self.verdict == self.claim.expect or not self.is_settled

    def to_dict(self) -> dict[str, Any]:
        """The claim as ``varicap reproduce --json`` prints it."""
        claim, value = self.claim, self.value
        return {
            "id": claim.id,
            "where": claim.where,
            "statement": claim.statement,
            "paper": claim.paper,
            "model": _finite(value.model),
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

    The mean decides.  Where the interval reaches over the border of what is accepted, the note says that the runs do
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


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
