"""The table of two sides: a row for each flow of a case, and its forms for people and programs."""

import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from varicap._files import read_whole, write_whole
from varicap._folders import MOST_TEXT, Folder, as_json
from varicap._printable import PrintableError
from varicap.report import notebook
from varicap.report.formats import markdown
from varicap.report.table import significant
from varicap.results.manifest import host, software
from varicap.statistics import Interval, Range
from varicap.validate import rules
from varicap.validate.paths import Case
from varicap.validate.segments import lines
from varicap.validate.sides import SIM, Side, real_kernel

JSON, MARKDOWN = "validation.json", "validation.md"

HEADINGS = (
    *("path", "flow", "ack", "agrees", "goodput [Mb/s]", "difference [%]", "resent [packets]", "timeouts"),
    *("mean RTT [ms]", "mean cwnd [packets]", "FCT p50, p95 [ms]", "seeds"),
)
"""Numbers of the base, then of the other side; after ±, the longer side of the 95 % interval."""

SEGMENTS = "first difference"
"""The column that tables over simulated time have as well."""

MARKS = ("<!-- varicap validate kernel: begin -->", "<!-- varicap validate kernel: end -->")
"""Between these lines a document has the table."""

_LINE = 120
"""Of a document [characters]."""


class DocumentError(PrintableError, ValueError):
    """A document without the marks between which the table would go."""


@dataclass(frozen=True)
class Measured:
    """What was measured of a case."""

    case: Case
    pairs: Mapping[str, Sequence[rules.Pair]]
    """By flow."""
    faults: Mapping[int, Sequence[str]]
    """By seed, why the kernel's run was not valid when it was tried last."""
    is_short: bool = False
    """Whether time was up before it had the seeds that it needs."""
    compared: Sequence[Mapping[str, Any]] = ()
    """By seed and flow, what came of comparing the segments (`varicap.validate.segments.Compared`)."""
    draws: bool = True
    """Whether seeds differ: else one is enough."""


@dataclass(repr=False)
class Validation:
    """How two sides, such as the simulator's TCP and Linux's, compare on the paths that were measured."""

    rows: list[dict[str, Any]]
    """A row for each flow, as ``varicap validate kernel --json`` prints it."""
    left_out: list[dict[str, str]] = field(default_factory=list)
    """Cases that were not measured, with the reason."""
    quick: bool = False
    interrupted: bool = False
    revisions: list[str] = field(default_factory=list)
    """The varicaps that made the runs of the kernel, if others than the present one were among them."""
    sides: tuple[Side, Side] = field(default_factory=lambda: (SIM, real_kernel()))
    """What is compared with what."""

    @property
    def identical(self) -> int:
        """How many rows are equal to the packet."""
        return sum(state_of(row) == IDENTICAL for row in self.rows)

    @property
    def titles(self) -> str:
        """The two sides, as headings name them."""
        return " / ".join(side.title for side in self.sides)

    @property
    def agreeing(self) -> int:
        """How many rows agree, without those of which that is undecided."""
        return sum(row["agrees"] and not row["undecided"] for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap validate kernel --json`` prints it."""
        return {
            "sides": [side.to_dict() for side in self.sides],
            "paths": self.rows,
            "left_out": self.left_out,
            "quick": self.quick,
            "interrupted": self.interrupted,
            "revisions": self.revisions,
            "bounds": {
                "goodput": rules.GOODPUT,
                "resent": rules.RESENT,
                "resent_packets": rules.RESENT_PACKETS,
                "timeouts": rules.TIMEOUTS,
                "rtt": rules.RTT,
            },
            "software": software(),
            "host": host(),
        }

    def conclusion(self) -> str:
        """How many rows agree, in a sentence, and what the reader must know about the measurement."""
        invalid = sum(row["seeds"] == 0 for row in self.rows)
        empty = sum(not row["valid"] for row in self.rows) - invalid
        said = [f"{self.agreeing} of {len(self.rows)} rows agree"]
        if compared := sum(row["segments"] is not None for row in self.rows):
            said.append(f"{self.identical} of {compared} send identical segments")
        if alone := sum(row["segments"] is not None and not row["segments"]["draws"] for row in self.rows):
            said.append(f"{alone} with a single seed, because nothing is drawn at random")
        if undecided := len(self.undecided()):
            said.append(f"{undecided} undecided, because goodput varies too much")
        if invalid:
            said.append(f"{invalid} without a valid run of the kernel")
        if empty:
            said.append(f"{empty} in which neither side delivered anything")
        if short := sum(row["short_of_seeds"] for row in self.rows):
            said.append(f"time was up before {short} rows had the seeds that they need")
        if self.left_out:
            said.append(f"{len(self.left_out)} cases not measured")
        if self.quick:
            said.append("quick: short runs of a single seed, so that goodput has no interval")
        if self.revisions:
            said.append(f"the kernel's runs were made by varicap {' and '.join(self.revisions)}")
        if self.interrupted:
            said.append("interrupted")
        return "; ".join(said)

    def grid(self) -> tuple[tuple[str, ...], list[list[str]]]:
        """Headings and rows of text."""
        if all(row["segments"] is None for row in self.rows):
            return HEADINGS, [_cells(row, self.sides) for row in self.rows]
        return (*HEADINGS, SEGMENTS), [[*_cells(row, self.sides), _first(row)] for row in self.rows]

    def disagreements(self) -> list[str]:
        """A line for each row that does not agree: what does not, with numbers."""
        return [f"{name_of(row)}: {row['why']}" for row in self.rows if not row["agrees"]]

    def undecided(self) -> list[str]:
        """A line for each row that agrees only because the interval of its difference in goodput is wide."""
        return [
            f"{name_of(row)}: goodput {_difference(row['goodput_difference'])} %"
            for row in self.rows
            if row["agrees"] and row["undecided"]
        ]

    def first_differences(self) -> Iterator[str]:
        """For each row whose segments are not identical, from which on, with the segments of both sides."""
        for row in self.rows:
            first = row["segments"] and row["segments"]["first"]
            if first is not None:
                yield f"{name_of(row)}: {_first(row)}, seed {first['seed']}"
                yield from lines(first, [side.key for side in self.sides])

    def markdown(self) -> str:
        """The table as a document holds it, what does not agree below it."""
        machine, versions = host(), software()
        source = (
            f"{self.titles[0].upper()}{self.titles[1:]}, varicap {versions['varicap']}, on {machine['cpu']} with "
            f"{os.cpu_count()} cores: {self.conclusion()}."
        )
        when = f"<!-- measured {datetime.now(UTC):%Y-%m-%d}: varicap validate kernel -->"
        lines = [_wrapped(source), "", when, "", markdown(*self.grid())]
        if disagreements := self.disagreements():
            lines += [f"What does not agree ({self.titles}):", "", *map(_item, disagreements), ""]
        if undecided := self.undecided():
            said = f"Undecided: goodput differs by more than {100 * rules.GOODPUT:g} %, with zero in the interval:"
            lines += [said, "", *map(_item, undecided), ""]
        if self.left_out:
            lines += ["Not measured:", "", *(_item(f"{name_of(row)}: {row['why']}") for row in self.left_out), ""]
        return "\n".join(lines)

    def write_into(self, document: str | Path) -> None:
        """Replace the table of a Markdown document, which stands between two marks.  Raises `DocumentError`."""
        document = Path(document)
        before, after = _around(document)
        write_whole(document, f"{before}\n{self.markdown()}\n{after}")

    def save(self, folder: str | Path) -> list[Path]:
        """Write the table into a folder, as JSON and as Markdown; returns the files."""
        contents = {JSON: as_json(self.to_dict()), MARKDOWN: self.markdown().encode()}
        with Folder(folder, make=True) as there:
            there.write_all(contents)
        return [Path(folder) / name for name in contents]

    def __repr__(self) -> str:
        undecided = [f"{line}: undecided" for line in self.undecided()]
        return "\n".join([f"Validation: {self.conclusion()}", *self.disagreements(), *undecided])

    def _repr_html_(self) -> str:
        return notebook.grid(self.conclusion(), *self.grid())


def check_document(document: str | Path) -> None:
    """Raise `DocumentError` for a document that has no place for the table."""
    _around(Path(document))


def _around(document: Path) -> tuple[str, str]:
    """What stands before and behind the table, with the marks."""
    text = read_whole(document, MOST_TEXT).decode() if document.is_file() else ""
    begin, end = (text.find(f"{mark}\n") for mark in MARKS)
    if not 0 <= begin < end:
        raise DocumentError(f"{document}: a file with the lines `{MARKS[0]}` and `{MARKS[1]}` is expected")
    return text[: begin + len(MARKS[0]) + 1], text[end:]


def _item(text: str) -> str:
    return _wrapped(f"- {text}", "  ")


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _LINE, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def name_of(row: Mapping[str, Any]) -> str:
    """A row in messages."""
    return f"{row['name']}, {row['flow']}, ack {row['ack']}"


IDENTICAL, WITHIN, DIFFERENT = "identical", "within the bounds", "different"


def state_of(row: Mapping[str, Any]) -> str | None:
    """What a row's segments are, if they were compared."""
    return row["segments"] and row["segments"]["state"]


def table_of(
    measured: Sequence[Measured],
    left_out: Mapping[Case, str],
    quick: bool,
    sides: tuple[Side, Side] | None = None,
) -> Validation:
    """The table of the cases that were measured; a case of which there is nothing has no row."""
    sides = sides or (SIM, real_kernel())
    rows = [
        _row(each, flow, called, sides)
        for each in measured
        for flow, called in each.case.flows.items()
        if _is_known(each)
    ]
    without = [{"name": case.path, "flow": case.control, "ack": case.ack, "why": why} for case, why in left_out.items()]
    return Validation(rows, without, quick, sides=sides)


def _is_known(measured: Measured) -> bool:
    return any(measured.pairs.values()) or bool(measured.faults)


def _row(measured: Measured, flow: str, called: str, sides: tuple[Side, Side]) -> dict[str, Any]:
    base, other = (side.key for side in sides)
    case, pairs = measured.case, measured.pairs[flow]
    head = {"name": case.path, "about": case.about, "flow": called, "ack": case.ack}
    faults = [fault for seed in sorted(measured.faults) for fault in measured.faults[seed]]
    tail = {
        "seeds": len(pairs),
        "short_of_seeds": measured.is_short,
        "valid": bool(pairs) and rules.delivers(pairs),
        "invalid_seeds": len(measured.faults),
        "faults": faults,
    }
    if not pairs:
        why = f"no run of the kernel was valid: {'; '.join(dict.fromkeys(faults))}"
        nothing = {"undecided": False, "goodput_difference": None, "bounds": None}
        return {**head, base: {}, other: {}, "agrees": False, "why": why, "segments": None, **nothing, **tail}
    verdict = rules.judge(pairs)
    return {
        **head,
        base: _engine([pair.base for pair in pairs]),
        other: _engine([pair.other for pair in pairs]),
        "agrees": verdict.agrees,
        "why": verdict.why,
        "segments": _segments(measured, flow, verdict.agrees),
        "undecided": verdict.undecided,
        "goodput_difference": verdict.difference.to_dict(),
        "bounds": rules.bounds(pairs),
        **tail,
    }


def _segments(measured: Measured, flow: str, agrees: bool) -> dict[str, Any] | None:
    """What came of comparing a flow's segments, over all seeds; none if they were not compared."""
    if not measured.compared:
        return None
    of = [each[flow] for each in measured.compared]
    differing = [{"seed": seed, **each} for seed, each in enumerate(of, 1) if not each["identical"]]
    return {
        "state": IDENTICAL if not differing else WITHIN if agrees else DIFFERENT,
        "seeds": len(of),
        "identical_seeds": len(of) - len(differing),
        "draws": measured.draws,
        "largest_ns": max(each["largest_ns"] for each in of),
        "first": differing[0] if differing else None,
    }


def _first(row: Mapping[str, Any]) -> str:
    """From which packet on, and when, the segments of a row differ."""
    of = row["segments"]
    if of is None:
        return "–"
    if of["first"] is None:
        return "none"
    first = of["first"]
    seeds = f", {of['identical_seeds']} of {of['seeds']} seeds identical" if of["identical_seeds"] else ""
    return f"packet {first['packets']} at {first['at_ns'] / 1e9:.6f} s{seeds}"


def _engine(runs: Sequence[rules.Numbers]) -> dict[str, Any]:
    """What an engine says of a flow, in the form of a run's summary."""

    def over(measure: str) -> dict[str, float | None]:
        values = [value for run in runs if (value := run[measure]) is not None]
        kind: Range = "count" if measure in ("retransmitted_packets", "timeouts") else "amount"
        return Interval.of(values, within=kind).to_dict() if values else {"mean": None, "lo": None, "hi": None}

    return {
        "goodput_bps": over("goodput_bps"),
        "retransmitted_packets": over("retransmitted_packets")["mean"],
        "timeouts": over("timeouts")["mean"],
        "rtt_ms": over("rtt_ms"),
        "cwnd_packets": over("cwnd_packets"),
        "fct_ms": {"p50": over("fct_p50_ms")["mean"], "p95": over("fct_p95_ms")["mean"]},
        "intervals": {name: over(name) for name in ("retransmitted_packets", "timeouts")},
    }


def _cells(row: Mapping[str, Any], sides: Sequence[Side]) -> list[str]:
    head = [row["name"], row["flow"], row["ack"]]
    seeds = str(row["seeds"])
    if row["invalid_seeds"]:
        seeds += f" ({row['invalid_seeds']} not valid)"
    if row["short_of_seeds"]:
        seeds += " (short)"
    if not row["valid"]:
        return [*head, "not valid", *["–"] * (len(HEADINGS) - len(head) - 2), seeds]
    engines = [row[side.key] for side in sides]
    return [
        *head,
        _agreement(row),
        " / ".join(_number(of["goodput_bps"]["mean"], 4, 1e-6) for of in engines),
        _difference(row["goodput_difference"]),
        *(
            " / ".join(_count(of["intervals"][name]) for of in engines)
            for name in ("retransmitted_packets", "timeouts")
        ),
        *(" / ".join(_number(of[name]["mean"], 3) for of in engines) for name in ("rtt_ms", "cwnd_packets")),
        _transfers(engines),
        seeds,
    ]


def _agreement(row: Mapping[str, Any]) -> str:
    if state_of(row) == IDENTICAL:
        return IDENTICAL
    if not row["agrees"]:
        return "no"
    return "undecided" if row["undecided"] else "yes"


def _number(value: float | None, digits: int, scale: float = 1.0) -> str:
    return "–" if value is None else significant(value * scale, digits)


def _count(interval: Mapping[str, float | None]) -> str:
    mean, low, high = (interval[name] for name in ("mean", "lo", "hi"))
    if mean is None:
        return "–"
    spread = (
        ""
        if low is None or high is None or low == high
        else f" ± {max(high - mean, mean - low):.1f}".removesuffix(".0")
    )
    return f"{mean:.1f}".removesuffix(".0") + spread


def _transfers(engines: Sequence[Mapping[str, Any]]) -> str:
    times = [[of["fct_ms"][part] for part in ("p50", "p95")] for of in engines]
    if times[0][0] is None:
        return "–"
    return " / ".join(", ".join(_number(value, 3) for value in of) for of in times)


def _difference(share: Mapping[str, float | None]) -> str:
    mean, low, high = (share[name] for name in ("mean", "lo", "hi"))
    if mean is None:
        return "–"
    spread = "" if low is None or high is None else f" ± {100 * max(high - mean, mean - low):.1f}"
    return f"{100 * mean:+.1f}{spread}".replace("-0.0", "+0.0")
