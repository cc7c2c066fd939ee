"""The results of runs as a table, each number with how far its 95 % interval reaches."""

from collections.abc import Callable, Collection, Iterable
from math import floor, isinf, isnan, log10
from typing import Any

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from varicap._printable import printable
from varicap.results.bottleneck import busiest, is_buffer

Summary = dict[str, Any]
Row = list[str]

_FLOW_HEADINGS = (
    "flow",
    "goodput [Mb/s]",
    "RTT p50 [ms]",
    "RTT p95 [ms]",
    "sent",
    "resent",
    "fast retransmits",
    "timeouts",
)
_LINK_HEADINGS = (
    "link",
    "capacity [Mb/s]",
    "utilisation [%]",
    "queueing delay p50 [ms]",
    "p95 [ms]",
    "dropped",
    "delivered",
)
_BOTH_HEADINGS = (
    "flow",
    "goodput [Mb/s]",
    "utilisation [%]",
    "queueing delay p50 [ms]",
    "p95 [ms]",
    "lost",
    "resent",
    "timeouts",
)
_TRANSFER_HEADINGS = (
    *("flow", "transfers", "refused", "unfinished", "completed"),
    *("completion mean [ms]", "p50 [ms]", "p95 [ms]"),
)

_RESERVED_HEADINGS = ("flow", "compliant [Mb/s]", "tokens lost [kB]", "marked packets lost")
_ARQ_HEADINGS = ("link", "link-layer packets sent", "sent again", "lost by the channel")

_SHARE_HEADING = "of the capacity [%]"
_MODEL_HEADINGS = ("flow", "model", "goodput [Mb/s]", "throughput [Mb/s]", "more")

_FIRST_TO_GO = (
    *("fast retransmits", "delivered", "sent", "more", "throughput [Mb/s]", "RTT p50 [ms]"),
    *("capacity [Mb/s]", "timeouts", "resent", "utilisation [%]"),
)
"""Columns without which a table still says what happened, the least important first."""

_MOST_OF_A_GROUP = 8
_MOST_BOTTLENECKS = 8
_MOST_DIGITS = 5  # of a mean, however small its interval


def with_interval(mean: float | None, low: float | None, high: float | None, scale: float = 1.0) -> str:
    """A mean and how far its interval reaches on its longer side, with no more digits than that supports.

    >>> with_interval(4.1234e6, 4.1e6, 4.2e6, 1e-6)
    '4.12 ± 0.08'

    Runs that all agree, at least in the digits that are shown, have no interval: what they have in common, such as a
    trace, decides, and two of them say as little about others as ten.  Nor has what is at the end of its range in all.

    >>> with_interval(289.0, 289.0, 289.0), with_interval(0.0, 0.0, 0.4)
    ('289', '0')
    >>> with_interval(0.9999999, 0.9999998, 1.0)
    '1.00000'
    >>> with_interval(12.0, None, None)
    '12.0'
    >>> with_interval(None, None, None)
    '–'

    What is not a number is not there, and a time that some transfer did not live to see is infinite:

    >>> with_interval(float("nan"), 0.0, 1.0), with_interval(12.0, float("nan"), float("nan"))
    ('–', '12.0')
    >>> with_interval(float("inf"), None, None)
    '∞'
    """
    if mean is None or isnan(mean):
        return "–"
    if isinf(mean):
        return "∞" if mean > 0 else "-∞"
    value = mean * scale
    if low is None or high is None or isnan(high - low):
        return significant(value, 3)
    if not low < mean < high:
        return significant(value, 3)
    half = max(high - mean, mean - low) * scale
    leading = half / 10 ** floor(log10(half))
    # Two digits of a half width that begins with 1, otherwise one.
    digits = max(0, -floor(log10(half)) + (1 if leading < 1.95 else 0))
    if value:
        digits = min(digits, max(0, _MOST_DIGITS - 1 - floor(log10(abs(value)))))
    mean_text, half_text = f"{value:.{digits}f}", f"{half:.{digits}f}"
    return f"{mean_text} ± {half_text}" if float(half_text) else mean_text


def significant(value: float, digits: int) -> str:
    """A number with this many digits that count.

    >>> significant(0.012345, 3), significant(1234.5, 3)
    ('0.0123', '1234')
    """
    if value == 0.0:
        return "0"
    decimals = max(0, digits - 1 - floor(log10(abs(value))))
    return f"{value:.{decimals}f}"


def rows(summary: Summary) -> list[tuple[tuple[str, ...], list[Row]]]:
    """Headings and rows of each table: one for all if each flow has links of its own, else flows and links apart.

    Flows with transfers have a table after these of what became of them, flows with a reservation what it brought,
    and links with ARQ what it cost.
    """
    if summary["engine"] == "model":
        return [(_MODEL_HEADINGS, [_by_model(flow) for flow in summary["flows"]])]
    flows, links = _lines(summary), summary["links"]
    bottlenecks = {flow["name"]: _bottleneck(flow["group"], links) for flow in flows}
    tables: list[tuple[tuple[str, ...], list[Row]]]
    if all(link is not None for link in bottlenecks.values()):
        tables = [(_BOTH_HEADINGS, [_flow_and_link(flow, bottlenecks[flow["name"]]) for flow in flows])]
    else:
        tables = [
            (_FLOW_HEADINGS, [_flow(flow) for flow in flows]),
            (_LINK_HEADINGS, [_link(link) for link in _limited(links)]),
        ]
    further = (
        (
            _TRANSFER_HEADINGS,
            [_transfers(flow) for flow in flows if flow.get("offered_transfers") or flow["transfers"]],
        ),
        (_RESERVED_HEADINGS, [_reserved(flow) for flow in flows if flow.get("lost_tokens_bytes") is not None]),
        (_ARQ_HEADINGS, [_arq(link) for link in links if link.get("transmissions")]),
    )
    return [*tables, *(table for table in further if table[1])]


def wide_rows(summary: Summary) -> list[tuple[tuple[str, ...], list[Row]]]:
    """The same where there is room for one more number: goodput over what the slowest link offered, run by run."""
    tables = rows(summary)
    if summary["engine"] == "model":
        return tables
    (headings, body), *others = tables
    shares = [_cell(flow)("goodput_of_capacity", 100.0) for flow in _lines(summary)]
    wider = [[*row[:2], share, *row[2:]] for row, share in zip(body, shares, strict=True)]
    return [((*headings[:2], _SHARE_HEADING, *headings[2:]), wider), *others]


def rich_tables(summary: Summary) -> list[Table]:
    """The tables for a terminal."""
    tables = []
    found = rows(summary)
    for number, (headings, body) in enumerate(found):
        table = Table(
            title=Text(printable(title_of(summary, found))) if number == 0 else None,
            title_justify="left",
            title_style="bold",
        )
        for column, heading in enumerate(headings):
            # As text, since rich would take "[ms]" for a style.
            is_text = column == 0 or heading == "more"
            table.add_column(Text(heading), justify="left" if is_text else "right", no_wrap=column == 0)
        for row in body:
            table.add_row(*(Text(printable(cell)) for cell in row))
        tables.append(table)
    return tables


def fit(table: Table, width: int) -> list[str]:
    """Make a table as narrow as `width`, and return the headings of the columns that it took.

    Headings are broken between words; then columns go, the least important first.  No word is ever cut, and the first
    column stays.

    >>> table = titled("Flows", ["flow", "goodput [Mb/s]", "timeouts"])
    >>> table.add_row("reno", "4.27 ± 0.05", "0")
    >>> fit(table, 40), fit(table, 28)
    ([], ['timeouts'])
    """
    if width_of(table) <= width:
        return []
    for column in table.columns:
        column.no_wrap = True
        column.header = Text(
            "\n".join(_lines_of(str(column.header), max(map(cell_len, map(str, column.cells)), default=0)))
        )
    dropped = []
    while width_of(table) > width and len(table.columns) > 1:
        least = max(table.columns[1:], key=lambda column: _dispensable(str(column.header), table.columns.index(column)))
        table.columns.remove(least)
        dropped.append(" ".join(str(least.header).split()))
    return dropped


def width_of(table: Table) -> int:
    """How wide a table is if nothing in it is broken."""
    cells = (max(_widest_line(each) for each in (column.header, *column.cells)) for column in table.columns)
    sides = sum(table.padding[side] for side in (1, 3))
    return sum(cells) + (sides + 1) * len(table.columns) + 1


def _widest_line(text: Any) -> int:
    return max((cell_len(line) for line in str(text).splitlines()), default=0)


def _lines_of(heading: str, room: int) -> list[str]:
    """A heading broken between words, as wide as its longest word or the room that there is."""
    words = heading.split()
    room = max([room, *map(cell_len, words)])
    lines = words[:1]
    for word in words[1:]:
        if cell_len(lines[-1]) + 1 + cell_len(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _dispensable(heading: str, place: int) -> tuple[int, int]:
    """The larger, the sooner a column goes; of columns that nothing is known of, the last."""
    plain = " ".join(heading.split())
    return (len(_FIRST_TO_GO) - _FIRST_TO_GO.index(plain) if plain in _FIRST_TO_GO else 0, place)


def titled(title: str, headings: Iterable[str], left: Collection[str] = ()) -> Table:
    """An empty table of numbers below a title; the columns with the headings `left` hold words."""
    table = Table(title=Text(printable(title)), title_justify="left", title_style="bold", padding=(0, 0, 0, 1))
    for heading in headings:
        table.add_column(Text(printable(heading)), justify="left" if heading in left else "right")
    return table


def _lines(summary: Summary) -> list[Summary]:
    """The flows, but of a group with many of them only the group."""
    large = {group["name"]: group for group in summary["groups"] if group["flows"] > _MOST_OF_A_GROUP}
    lines = {}
    for flow in summary["flows"]:
        line = large.get(flow["group"], flow)
        lines[line["name"]] = line
    return list(lines.values())


def title_of(summary: Summary, tables: list[tuple[tuple[str, ...], list[Row]]]) -> str:
    """What was run, and what the numbers of its tables are."""
    if summary["engine"] == "model":
        return f"{summary['scenario']['name']}: by analysis, in the long run"
    runs = summary["runs"]
    each = summary["measured_s"]
    name = summary["scenario"]["name"] if isinstance(summary["scenario"], dict) else summary["scenario"]
    if runs > 1 and all(flow.get("runs_differ") == "no" for flow in summary["flows"]):
        return f"{name}: {runs} identical runs of {each:g} s measured"
    agreed = any(cell not in ("", "–") and "±" not in cell for _, body in tables for row in body for cell in row[1:])
    interval = f", ± 95 % interval{' (none where all runs agree)' if agreed else ''}" if runs > 1 else ""
    return f"{name}: {runs} run{'s' if runs != 1 else ''} of {each:g} s measured{interval}"


def _limited(links: list[Summary]) -> list[Summary]:
    """Links that can be a bottleneck; an outage is one."""
    return [link for link in links if link["capacity_bps"]["mean"] is not None]


def bottlenecks(summary: Summary) -> list[Summary]:
    """Links with a finite capacity; of those that one flow has to itself only the one that it uses most."""
    finite = [
        link for link in summary["links"] if link["utilisation"]["mean"] is not None and not is_buffer(link["name"])
    ]
    if not finite:
        return list(summary["links"][:1])
    chosen: list[Summary] = []
    for flow in dict.fromkeys(link.get("flow") for link in finite):
        own = [link for link in finite if link.get("flow") == flow]
        chosen += own[:_MOST_BOTTLENECKS] if flow is None else filter(None, [_busiest(own)])
    # Without isolation every link counts, but one that carries little more than acknowledgements says nothing.
    busy = [link for link in chosen if link["utilisation"]["mean"] > 0.3]
    return (busy or chosen)[:_MOST_BOTTLENECKS]


def _bottleneck(flow: str, links: list[Summary]) -> Summary | None:
    """The link, of those that are this flow's alone, that is used most."""
    return _busiest([link for link in _limited(links) if link.get("flow") == flow])


def _busiest(own: list[Summary]) -> Summary | None:
    name = busiest({link["name"]: link["utilisation"]["mean"] for link in own})
    return next((link for link in own if link["name"] == name), None)


def _cell(item: Summary, scale: float = 1.0) -> Callable[..., str]:
    """Cells of one flow or link, by the dotted path of the number."""

    def cell(path: str, scale: float = scale) -> str:
        value: Any = item
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, dict):
            return with_interval(value["mean"], value["lo"], value["hi"], scale)
        low, high = item.get("ci95", {}).get(path) or (None, None)
        return with_interval(value, low, high, scale)

    return cell


def _flow(flow: Summary) -> Row:
    cell = _cell(flow)
    name = flow["name"] if flow["flows"] == 1 else f"{flow['name']} ({flow['flows']:.0f} flows)"
    counts = (cell(key) for key in ("sent_packets", "retransmitted_packets", "fast_retransmits", "timeouts"))
    return [name, cell("goodput_bps", 1e-6), cell("rtt_ms.p50"), cell("rtt_ms.p95"), *counts]


def _by_model(flow: Summary) -> Row:
    if "not_applicable" in flow:
        return [flow["name"], "none fits", "–", "–", ""]
    more = [f"{key} {_exact_or(value)}" for key, value in flow["details"].items()]
    cells = (significant(flow[key]["mean"] * 1e-6, 4) for key in ("goodput_bps", "throughput_bps"))
    return [flow["name"], flow["model"], *cells, ", ".join(more)]


def _exact_or(value: float) -> str:
    """A count as it is, and of what was measured or computed four digits."""
    return str(value) if isinstance(value, int) else significant(value, 4)


def _transfers(flow: Summary) -> Row:
    cell = _cell(flow)
    counts = ("offered_transfers", "refused_transfers", "unfinished_transfers", "transfers")
    return [flow["name"], *(cell(key) for key in (*counts, "fct_ms", "fct_ms.p50", "fct_ms.p95"))]


def _reserved(flow: Summary) -> Row:
    cell = _cell(flow)
    tokens = cell("lost_tokens_bytes", 1e-3)
    return [flow["name"], cell("compliant_bps", 1e-6), tokens, cell("marked_lost_packets")]


def _arq(link: Summary) -> Row:
    cell = _cell(link)
    return [link["name"], cell("transmissions"), cell("retransmissions"), cell("dropped_by.channel")]


def _link(link: Summary) -> Row:
    cell = _cell(link)
    name = f"{link['flow']}: {link['name']}" if link.get("flow") else link["name"]
    return [
        name,
        cell("capacity_bps", 1e-6),
        cell("utilisation", 100.0),
        cell("sojourn_ms.p50"),
        cell("sojourn_ms.p95"),
        cell("dropped_packets"),
        cell("delivered_packets"),
    ]


def _flow_and_link(flow: Summary, link: Summary | None) -> Row:
    flow_cell, link_cell = _cell(flow), _cell(link or {})
    return [
        flow["name"],
        flow_cell("goodput_bps", 1e-6),
        link_cell("utilisation", 100.0),
        link_cell("sojourn_ms.p50"),
        link_cell("sojourn_ms.p95"),
        link_cell("dropped_packets"),
        flow_cell("retransmitted_packets"),
        flow_cell("timeouts"),
    ]
