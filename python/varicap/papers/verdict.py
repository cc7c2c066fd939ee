"""From measured values to verdicts."""

import math
from dataclasses import dataclass
from typing import Any

from varicap.papers.claims import Claim, Verdict
from varicap.statistics import Interval, finite

_SAID: dict[str, Verdict] = {"meets": "reproduced", "misses": "differs", "undecided": "unsettled"}


@dataclass(frozen=True, kw_only=True)
class Value:
    """Our values for a claim: the model's number, the simulator's, the kernel's."""

    model: float | None = None
    sim: Interval | None = None
    kernel: Interval | None = None
    absent: str = ""
    """Why there is none, such as data that is not here."""


@dataclass(frozen=True)
class Judged:
    """A claim, our values, and whether they reproduce it."""

    claim: Claim
    value: Value
    verdict: Verdict
    note: str
    runs_missing: int | None = None
    """About how many more runs would settle it, if it is not settled and some number would."""

    @property
    def ours(self) -> Interval:
        """The value that is judged."""
        return ours_of(self.claim, self.value)

    @property
    def is_expected(self) -> bool:
        """Whether the verdict is the one that a full run gave when the claim was recorded, or one of them is open."""
        return self.verdict == self.claim.expect or "unsettled" in (self.verdict, self.claim.expect)

    def to_dict(self) -> dict[str, Any]:
        """The judged claim as ``varicap reproduce --json`` prints it."""
        claim, value = self.claim, self.value
        return {
            "id": claim.id,
            "where": claim.where,
            "statement": claim.statement,
            "quote": claim.quote,
            "paper": claim.paper,
            "model": finite(value.model),
            "sim": None if value.sim is None else value.sim.to_dict(),
            "kernel": None if value.kernel is None else value.kernel.to_dict(),
            "unit": claim.unit,
            "judged_by": claim.engine,
            "bounds": claim.bounds.to_dict(),
            "tolerance": claim.tolerance,
            "reason": claim.reason,
            "verdict": self.verdict,
            "runs_missing": self.runs_missing,
            "note": self.note,
        }


def judge(claim: Claim, value: Value) -> Judged:
    """Compare our value with what the claim accepts.

    `reproduced`: the whole interval lies within the bounds; `differs`: it lies outside; `unsettled`: it reaches over a
    bound.  A number of the analysis is its own interval; a number of the simulator that comes without one settles
    nothing, unless it is outside.  A claim whose value is absent stays open.
    """
    if value.absent:
        return Judged(claim, value, "unsettled", f"not settled: {value.absent}")
    ours = ours_of(claim, value)
    verdict = _verdict(claim, ours)
    missing = _missing(claim, ours) if verdict == "unsettled" else None
    notes = [claim.note] if claim.note and verdict == claim.expect else []
    if verdict == "unsettled":
        notes.append(_why_open(ours, missing))
    elif verdict != claim.expect and claim.expect != "unsettled":
        notes.append(f"on record as {claim.expect}")
    return Judged(claim, value, verdict, "; ".join(notes), missing)


def ours_of(claim: Claim, value: Value) -> Interval:
    """The value by which a claim is judged; NaN if it is absent.  Raises ``ValueError`` if there is none."""
    if value.absent:
        return Interval(math.nan)
    ours = value.sim if claim.engine == "sim" else None if value.model is None else Interval(value.model)
    if ours is None:
        raise ValueError(f"`{claim.id}` is judged by the {claim.engine}, which gave no value")
    return ours


def _verdict(claim: Claim, ours: Interval) -> Verdict:
    bounds = claim.bounds
    if math.isnan(ours.mean):
        return "differs"
    if ours.lo is None or ours.hi is None:
        if not bounds.low <= ours.mean <= bounds.high:
            return "differs"
        return "reproduced" if claim.engine == "model" else "unsettled"
    return _SAID[bounds.verdict(ours)]


def _missing(claim: Claim, ours: Interval) -> int | None:
    """About how many more runs would leave both bounds outside of the interval; none if no number would."""
    if ours.samples is None or ours.lo is None or ours.agrees or ours.mean in claim.accept:
        return None
    return claim.bounds.runs(ours, ours.samples) - ours.samples


def _why_open(ours: Interval, missing: int | None) -> str:
    if ours.lo is None:
        return "not settled: a number without an interval"
    if ours.agrees:
        return "not settled: the runs agree, which says nothing of others"
    if missing is None:
        return "not settled: the mean lies on a bound"
    return f"not settled: about {missing} more runs would do"
