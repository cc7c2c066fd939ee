"""What runs of a paper gave when last put on record: ``record.json`` of its folder, written by the run itself.

A quick run and a full one have a part each: date, revision, and for each claim its verdict and value, for each
conclusion what it is.  Documents print their counts from it, and `--strict` compares a run with the part of its kind.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from varicap.interface import Folder, parsed
from varicap.papers import claims, conclusions, statements
from varicap.papers.reproduce import Reproduction
from varicap.papers.verdict import Judged
from varicap.results.manifest import software

NAME = "record.json"
_DIGITS = 5
"""Significant digits of a value on record."""


@dataclass(frozen=True)
class Record:
    """One kind of run of one paper."""

    date: str
    revision: str
    verdicts: Mapping[str, claims.Verdict]
    """By claim."""
    conclusions: Mapping[str, Mapping[str, str]]
    """By id: whether it stands, the conclusion in words, and why."""
    counts: Mapping[str, int]
    """Claims by verdict, without those that count apart."""
    statements: Mapping[str, int]
    """Statements by where they hold."""


def read(key: str, *, quick: bool) -> Record | None:
    """What is on record of this kind of run; none if there was none."""
    file = resources.files("varicap.papers") / key / NAME
    if not file.is_file():
        return None
    kept = json.loads(file.read_text(encoding="utf-8")).get(_kind(quick))
    if kept is None:
        return None
    verdicts = {name: one["verdict"] for name, one in kept["claims"].items()}
    return Record(kept["date"], kept["revision"], verdicts, kept["conclusions"], kept["verdicts"], kept["statements"])


def surprises(done: Reproduction) -> list[tuple[Judged, str]]:
    """Claims whose verdict is not the one on record, with that: of a run of this kind, else of `claims.toml`.

    The record of a full run in `claims.toml` says nothing of what a quick run leaves open; a claim that was decided
    and no longer is, is a surprise as well in a full run.
    """
    kept = read(done.paper.key, quick=done.is_quick)
    found: list[tuple[Judged, str]] = []
    for one in done.claims:
        if one.value.absent:
            continue
        if kept is not None and one.claim.id in kept.verdicts:
            expected: str = kept.verdicts[one.claim.id]
            differs = one.verdict != expected
        else:
            expected = one.claim.expect
            settled = "unsettled" not in (one.verdict, expected)
            differs = one.verdict != expected and (settled or (not done.is_quick and expected != "unsettled"))
        if differs:
            found.append((one, expected))
    return found


def write(done: Reproduction, folder: Path | None = None) -> Path:
    """Put a run on record, in the paper's folder if no other is given; figures that it did not run stay as they are."""
    place = folder or Path(str(resources.files("varicap.papers") / done.paper.key))
    kind = _kind(done.is_quick)
    with Folder(place) as there:
        kept: dict[str, Any] = parsed(there.read(NAME)) if there.is_file(NAME) else {}
        before = kept.get(kind, {})
        ids = [claim.id for claim in done.paper.claims]
        values = before.get("claims", {}) | {one.claim.id: _value(one) for one in done.claims}
        known = {one: values[one] for one in ids if one in values}
        is_whole = len(done.figures) == len(done.paper.figures)
        drawn = ({} if is_whole else before.get("conclusions", {})) | {
            one.conclusion.id: {"verdict": one.stands, "says": one.conclusion.says, "why": one.why}
            for one in done.conclusions
        }
        git = software()["git"] or {}
        kept[kind] = {
            "date": datetime.now(UTC).date().isoformat(),
            "revision": f"{git.get('revision', 'unknown')[:12]}{'+' if git.get('modified') else ''}",
            "verdicts": _counts(done, known),
            "statements": statements.counts(done.statements) if is_whole else before.get("statements", {}),
            "conclusions": {one.id: drawn[one.id] for one in conclusions.of_paper(done.paper.key) if one.id in drawn},
            "claims": known,
        }
        return there.write(NAME, (json.dumps(kept, ensure_ascii=False, indent=1) + "\n").encode())


def _kind(quick: bool) -> str:
    return "quick" if quick else "full"


def _counts(done: Reproduction, known: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    of = [known[claim.id]["verdict"] for claim in done.paper.claims if claim.id in known and not claim.apart]
    return {verdict: of.count(verdict) for verdict in get_args(claims.Verdict)}


def _value(judged: Judged) -> dict[str, Any]:
    ours = {} if judged.value.absent else judged.ours.to_dict()
    return {"verdict": judged.verdict} | {
        end: None if value is None else float(f"{value:.{_DIGITS}g}") for end, value in ours.items()
    }
