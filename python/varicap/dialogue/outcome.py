"""How a dialogue went: the verdict, and the two timelines up to the first difference."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from varicap.dialogue.records import Standing
from varicap.dialogue.script import Lack


class Verdict(StrEnum):
    """How a dialogue ended."""

    PASSED = "passed"
    DIFFERS = "differs"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Row:
    """A line of the two timelines."""

    time_s: float | None
    line: int | None
    script: str = ""
    """What the script says; empty for what was sent beyond it."""
    actual: str = ""
    """What was sent, or a call returned."""
    standing: Standing | None = None
    """How the sender stood then."""
    differs: bool = False


@dataclass
class Dialogue:
    """A script that was played."""

    name: str
    verdict: Verdict
    what: str = ""
    """The first difference in words."""
    line: int | None = None
    """Line of the script that differs."""
    time_s: float | None = None
    """When it differs [s]."""
    rows: list[Row] = field(default_factory=list)
    """The timeline, up to the first difference and a little beyond."""
    lacks: list[Lack] = field(default_factory=list)
    """What the script needs and varicap does not have; it is skipped for that."""
    ignored: list[str] = field(default_factory=list)
    """Settings of the script that have no effect here, by name."""
    unasked: int = 0
    """Segments that were sent after the last one that the script expects."""

    @property
    def passed(self) -> bool:
        """Whether all of it happened as the script says."""
        return self.verdict is Verdict.PASSED

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain values, for JSON."""
        return {
            "file": self.name,
            "outcome": "failed" if self.verdict is Verdict.DIFFERS else self.verdict.value,
            "why": self.why() or None,
            "line": self.line,
            "time_s": self.time_s,
            "lacks": [{"line": lack.line, "what": lack.what} for lack in self.lacks],
            "ignored": self.ignored,
            "unasked_segments": self.unasked,
            "timeline": [_plain(row) for row in self.rows],
        }

    def why(self) -> str:
        """The first difference, or what the script needs and varicap does not have; empty if it passed."""
        if self.verdict is not Verdict.SKIPPED:
            return self.what
        places: dict[str, int] = {}
        for lack in self.lacks:
            places.setdefault(lack.what, lack.line)
        return "it needs " + "; ".join(f"{what} (line {line})" for what, line in places.items())

    def headline(self) -> str:
        """The verdict in a line."""
        match self.verdict:
            case Verdict.PASSED:
                return f"{self.name}: passed"
            case Verdict.SKIPPED:
                return f"{self.name}: skipped, {self.why()}"
        when = "" if self.time_s is None else f" at {self.time_s:.6f} s"
        return f"{self.name}:{self.line}: differs{when}: {self.what}"

    def text(self, before: int = 10, width: int = 100) -> str:
        """The headline and, of a difference, the two timelines side by side, from `before` lines before it on."""
        if self.verdict is not Verdict.DIFFERS:
            return self.headline()
        at = next((number for number, row in enumerate(self.rows) if row.differs), len(self.rows))
        rows = self.rows[max(at - before, 0) :]
        # Each row: a mark, the time, the line, two texts and what is in flight.
        half = max((width - 2 - 11 - 6 - 16) // 2, 16)
        cells = [("", "time [s]", "line", "the script", "simulated", "in flight / cwnd")]
        cells += [_cells(row) for row in rows]
        lines = [
            f"{mark:1} {time:>10} {line:>5} {_fit(script, half)} {_fit(actual, half)} {flight}".rstrip()
            for mark, time, line, script, actual, flight in cells
        ]
        whole = [row for row in rows if row.differs and max(len(row.script), len(row.actual)) > half]
        for row in whole:
            lines += ["", f"the script: {row.script}", f"simulated:  {row.actual}"]
        return "\n".join([self.headline(), "", *lines])

    def __str__(self) -> str:
        return self.text()


def _cells(row: Row) -> tuple[str, str, str, str, str, str]:
    time = "" if row.time_s is None else f"{row.time_s:.6f}"
    standing = row.standing
    flight = "" if standing is None else f"{standing.in_flight:g} / {round(standing.cwnd, 2):g} {standing.state}"
    return "!" if row.differs else "", time, str(row.line or ""), row.script, row.actual, flight


def _fit(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"


def _plain(row: Row) -> dict[str, Any]:
    standing = row.standing
    return {
        "time_s": row.time_s,
        "line": row.line,
        "script": row.script,
        "actual": row.actual,
        "in_flight_segments": None if standing is None else standing.in_flight,
        "cwnd_segments": None if standing is None else standing.cwnd,
        "ssthresh_segments": None if standing is None else standing.ssthresh,
        "state": None if standing is None else standing.state,
        "differs": row.differs,
    }
