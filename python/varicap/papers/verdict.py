"""From measured values to verdicts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from varicap.papers.claims import Claim, Verdict
from varicap.statistics import FEWEST, Array, Bounds, Interval, finite

MOST_RUNS = Bounds(low=0.5)
"""The share of runs in which a sentence holds that is put to each of them."""
_SAID: dict[str, Verdict] = {"meets": "reproduced", "misses": "differs", "undecided": "unsettled"}


@dataclass(frozen=True, kw_only=True)
class Value:
    """Our values for a claim: the model's number, the simulator's, the kernel's."""

    model: float | None = None
    sim: Interval | None = None
    kernel: Interval | None = None
    runs: Array | None = None
    """The simulator's number in each run, for a claim that is put to each of them."""
    absent: str = ""
    """Why there is none, such as data that is not here."""

    @classmethod
    def of(cls, runs: Array) -> "Value":
        """What the simulator has in each run, and its mean."""
        runs = np.asarray(runs, dtype=np.float64)
        return cls(sim=Interval.of(runs), runs=runs)


@dataclass(frozen=True)
class Under:
    """A claim under another choice of what the paper leaves open, or asked of a TCP of today."""

    name: str
    value: Interval
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"name": self.name, "value": self.value.to_dict(), "verdict": self.verdict}


@dataclass(frozen=True)
class Judged:
    """A claim, our values, and whether they reproduce it."""

    claim: Claim
    value: Value
    verdict: Verdict
    note: str
    runs_missing: int | None = None
    """About how many more runs would settle it, if it is not settled, some number would, and enough are made."""
    share: Interval | None = None
    """In which share of the runs it holds, if it is put to each of them."""
    readings: tuple[Under, ...] = ()
    """The same under each choice of what the paper leaves open for which it was measured."""
    today: tuple[Under, ...] = ()
    """The same, asked of a TCP of today."""

    @property
    def flips(self) -> tuple[str, ...]:
        """Readings under which the verdict is the opposite one."""
        opposite = {"reproduced": "differs", "differs": "reproduced"}.get(self.verdict)
        return tuple(one.name for one in self.readings if one.verdict == opposite)

    @property
    def ours(self) -> Interval:
        """The value that is judged."""
        return ours_of(self.claim, self.value)

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
            "share_of_runs": None if self.share is None else self.share.to_dict(),
            "readings": [one.to_dict() for one in self.readings],
            "today": [one.to_dict() for one in self.today],
            "apart": claim.apart,
            "runs_missing": self.runs_missing,
            "note": self.note,
        }


def judge(
    claim: Claim,
    value: Value,
    readings: Mapping[str, Value] | None = None,
    today: Mapping[str, Value] | None = None,
    points: str = "",
) -> Judged:
    """Compare our value with what the claim accepts.

    `reproduced`: the whole interval lies within the bounds; `differs`: it lies outside; `unsettled`: it reaches over a
    bound.  A number of the analysis is its own interval; a number of the simulator that comes without one settles
    nothing, unless it is outside.  Where all runs have the same number, and where the claim says so, the sentence is
    put to each run: it is reproduced if it holds in most of them, and their share's interval says so as well (six of
    six).  A claim whose value is absent stays open.
    """
    if value.absent:
        return Judged(claim, value, "unsettled", f"not settled: {value.absent}")
    verdict, share = _verdict(claim, value)
    under = [_under(claim, of) for of in (readings or {}, today or {})]
    judged = Judged(claim, value, verdict, "", None, share, *under)
    missing = _missing(judged) if verdict == "unsettled" else None
    notes = [claim.note] if claim.note and verdict == claim.expect else []
    if verdict == "unsettled":
        notes.append(_why_open(judged, missing))
    elif verdict != claim.expect and claim.expect != "unsettled":
        notes.append(f"on record as {claim.expect}")
    if share is not None and not judged.ours.agrees:
        notes.append(f"holds in {share.mean:.0%} of the runs ({share.lo:.0%} to {share.hi:.0%})".replace("%", " %"))
    if points:
        notes.append(f"looked at {points}")
    if judged.readings:
        notes.append(_flipped(judged))
    return Judged(claim, value, verdict, "; ".join(notes), missing, share, *under)


def _under(claim: Claim, readings: Mapping[str, Value]) -> tuple[Under, ...]:
    return tuple(Under(name, ours_of(claim, one), _verdict(claim, one)[0]) for name, one in readings.items())


def _flipped(judged: Judged) -> str:
    """Which readings turn the verdict round."""
    if judged.verdict == "unsettled":
        said = (f"{one.name}: {one.verdict}" for one in judged.readings if one.verdict != "unsettled")
        return "by reading: " + (", ".join(said) or "none settles it")
    if not judged.flips:
        count = len(judged.readings)
        return f"none of {count} other readings turns it round" if count > 1 else "nor does the other reading"
    other = "reproduced" if judged.verdict == "differs" else "differs"
    return f"{other} under: {', '.join(judged.flips)}"


def ours_of(claim: Claim, value: Value) -> Interval:
    """The value by which a claim is judged; NaN if it is absent.  Raises ``ValueError`` if there is none."""
    if value.absent:
        return Interval(math.nan)
    ours = value.sim if claim.engine == "sim" else None if value.model is None else Interval(value.model)
    if ours is None:
        raise ValueError(f"`{claim.id}` is judged by the {claim.engine}, which gave no value")
    return ours


def _verdict(claim: Claim, value: Value) -> tuple[Verdict, Interval | None]:
    """The verdict, and the share of the runs in which the claim holds if it is put to each."""
    ours, bounds = ours_of(claim, value), claim.bounds
    share = _share(claim, value, ours)
    if share is not None:
        return _SAID[MOST_RUNS.verdict(share)], share
    if math.isnan(ours.mean):
        return "differs", None
    if ours.lo is None or ours.hi is None:
        if not bounds.low <= ours.mean <= bounds.high:
            return "differs", None
        return ("reproduced" if claim.engine == "model" else "unsettled"), None
    return _SAID[bounds.verdict(ours)], None


def _share(claim: Claim, value: Value, ours: Interval) -> Interval | None:
    if claim.by_runs and value.runs is not None:
        return Interval.share((claim.accept[0] <= value.runs) & (value.runs <= claim.accept[1]))
    if ours.agrees and ours.samples is not None:
        return Interval.share([claim.accept[0] <= ours.mean <= claim.accept[1]] * ours.samples)
    return None


def _missing(judged: Judged) -> int | None:
    """About how many more runs would decide; none if no number would, or if there are too few to tell."""
    ours, bounds = judged.ours, judged.claim.bounds
    if judged.share is not None:
        ours, bounds = judged.share, MOST_RUNS
    if ours.samples is None or ours.lo is None or ours.samples < FEWEST:
        return None
    if judged.share is None and ours.mean in judged.claim.accept:
        return None
    return bounds.runs(ours, ours.samples) - ours.samples


def _why_open(judged: Judged, missing: int | None) -> str:
    ours = judged.ours
    if ours.lo is None:
        return "not settled: a number without an interval"
    if ours.samples is not None and ours.samples < FEWEST:
        return f"not settled: {ours.samples} runs are too few to tell how many would do"
    if ours.agrees:
        return f"not settled: all {ours.samples} runs agree, which is too few to speak for most"
    if missing is None:
        return "not settled: the mean lies on a bound"
    return f"not settled: about {missing} more runs would do"
