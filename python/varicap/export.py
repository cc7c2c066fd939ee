"""Results in the shapes that other tools write, so that scripts made for those tools can read them.

Only what was recorded is exported.  What a format has and a simulation does not (processors, clocks) is left out, or 0
where readers of the format insist on it.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.compute as pc

from varicap._printable import PrintableError, printable
from varicap.results.result import Result
from varicap.results.saved import SavedResult

Runs: TypeAlias = Result | SavedResult
"""Results of runs, in memory or in a folder."""

_LOSSES = ("overflow", "aqm", "channel")
_TOLERANCE_S = 1e-9


class ExportError(PrintableError, ValueError):
    """Results that lack what a format needs, and how to record it."""


def iperf3(result: Runs, run: int = 0) -> dict[str, Any]:
    """One run as the object of ``iperf3 --json``: a stream for each flow, an interval for each sample of its series.

    Needs time series.  Bytes are application bytes in order; `rtt` is the smoothed RTT [µs], as iperf3 has it.
    Intervals of the warm-up are omitted, as with ``--omit``, and times begin anew after it; sums are of what follows.
    Retransmissions are known of whole flows only, after the warm-up.
    """
    measured = float(result.summary["measured_s"])
    warm_up = float(result.summary["simulated_s"]) - measured
    rows = _of_run(result.flow_series, run, "time series", "--series")
    streams = {name: number for number, name in enumerate(pc.unique(rows["flow"]).to_pylist(), 5)}
    intervals: dict[float, list[dict[str, Any]]] = defaultdict(list)
    before: dict[str, float] = {}
    for row in rows.sort_by("time_s").to_pylist():
        start, end = before.get(row["flow"], 0.0), row["time_s"]
        before[row["flow"]] = end
        is_omitted = start < warm_up - _TOLERANCE_S
        shift = 0.0 if is_omitted else warm_up
        stream = _span(start - shift, end - shift, row["goodput_bps"])
        known = {"snd_cwnd": row["cwnd_bytes"], "rtt": row["srtt_s"] * 1e6}
        stream |= {key: round(value) for key, value in known.items() if value == value}
        intervals[end].append({"socket": streams[row["flow"]], **stream, "omitted": is_omitted})
    flows = [row for row in result.flows.to_pylist() if row["replication"] == run and row["name"] in streams]
    ends = [
        {
            "socket": streams[row["name"]],
            **_span(0.0, measured, row["goodput_bps"]),
            "retransmits": row["retransmitted_packets"],
        }
        for row in flows
    ]
    return {
        "start": _start(streams, warm_up, measured),
        "intervals": [
            {"streams": parts, "sum": {**_sum(parts), "omitted": parts[0]["omitted"]}} for parts in intervals.values()
        ],
        "end": {
            "streams": [{"sender": part, "receiver": part} for part in ends],
            "sum_sent": {**_sum(ends), "retransmits": sum(part["retransmits"] for part in ends)},
            "sum_received": _sum(ends),
            "cpu_utilization_percent": {
                f"{side}_{kind}": 0.0 for side in ("host", "remote") for kind in ("total", "user", "system")
            },
        },
    }


def _start(streams: dict[str, int], warm_up: float, measured: float) -> dict[str, Any]:
    """What iperf3 says before a test; simulated time begins with the epoch, addresses are made up."""
    connected = [
        {
            "socket": socket,
            "local_host": f"10.0.{number}.1",
            "local_port": 49152 + number,
            "remote_host": f"10.0.{number}.2",
            "remote_port": 5201,
            "flow": name,
        }
        for number, (name, socket) in enumerate(streams.items(), 1)
    ]
    return {
        "connected": connected,
        "version": "varicap",
        "system_info": "varicap",
        "timestamp": {"time": "Thu, 01 Jan 1970 00:00:00 GMT", "timesecs": 0},
        "connecting_to": {"host": "10.0.1.2", "port": 5201},
        "test_start": {
            "protocol": "TCP",
            "num_streams": len(streams),
            "blksize": 0,
            "omit": warm_up,
            "duration": measured,
            "reverse": 0,
        },
    }


def _span(start: float, end: float, rate: float) -> dict[str, Any]:
    return {
        "start": start,
        "end": end,
        "seconds": end - start,
        "bytes": round(rate * (end - start) / 8),
        "bits_per_second": rate,
    }


def _sum(parts: list[dict[str, Any]]) -> dict[str, Any]:
    spans = [(part["start"], part["end"]) for part in parts]
    start, end = spans[0] if spans else (0.0, 0.0)
    return {
        "start": start,
        "end": end,
        "seconds": end - start,
        "bytes": sum(part["bytes"] for part in parts),
        "bits_per_second": sum(part["bits_per_second"] for part in parts),
    }


def flowmonitor(result: Runs, run: int = 0) -> str:
    """One run as the XML of ns-3's FlowMonitor: counts and delays of each flow's data packets, the warm-up included.

    Needs packets.  Addresses are made up: 10.0.N.1 sends to 10.0.N.2.
    """
    rows = _of_run(result.packets, run, "packets", "--packets")
    rows = rows.filter(pc.equal(rows["direction"], "data"))
    root = ElementTree.Element("FlowMonitor")
    stats = ElementTree.SubElement(root, "FlowStats")
    classifier = ElementTree.SubElement(root, "Ipv4FlowClassifier")
    ElementTree.SubElement(root, "FlowProbes")
    flows: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in rows.to_pylist():
        flows[_in_xml(row["group"]), row["flow"]].append(row)
    for number, ((group, member), events) in enumerate(flows.items(), 1):
        ElementTree.SubElement(stats, "Flow", {"flowId": str(number), **_monitored(events)})
        address = f"10.{number // 256}.{number % 256}"
        ElementTree.SubElement(
            classifier,
            "Flow",
            flowId=str(number),
            sourceAddress=f"{address}.1",
            destinationAddress=f"{address}.2",
            protocol="6",
            sourcePort="49153",
            destinationPort="9",
            name=f"{group}.{member}",
        )
    ElementTree.indent(root)
    return '<?xml version="1.0" ?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _in_xml(text: str) -> str:
    """A text without what XML cannot hold: controls are spelled out, and so are two characters that are none."""
    return printable(text).replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff")


def _monitored(events: list[dict[str, Any]]) -> dict[str, str]:
    """The attributes of a flow."""
    links = {row["link"]: row["time_ns"] - row["sent_at_ns"] for row in events if row["event"] == "delivery"}
    # The last link of the route is where packets have come furthest; the first where they are when they are sent.
    last = max(links, key=lambda link: links[link], default=None)
    sent = [row for row in events if row["event"] in ("arrival", *_LOSSES) and row["time_ns"] == row["sent_at_ns"]]
    sent = [row for row in sent if row["event"] == "arrival"] or sent
    got = [row for row in events if row["event"] == "delivery" and row["link"] == last]
    lost = sum(row["event"] in _LOSSES for row in events)
    delays = [row["time_ns"] - row["sent_at_ns"] for row in got]
    jitter = sum(abs(late - early) for early, late in pairwise(delays))
    times = {
        "timeFirstTxPacket": sent[0]["time_ns"] if sent else 0,
        "timeFirstRxPacket": got[0]["time_ns"] if got else 0,
        "timeLastTxPacket": sent[-1]["time_ns"] if sent else 0,
        "timeLastRxPacket": got[-1]["time_ns"] if got else 0,
        "delaySum": sum(delays),
        "jitterSum": jitter,
        "lastDelay": delays[-1] if delays else 0,
    }
    counts = {
        "txBytes": sum(row["wire_bytes"] for row in sent),
        "rxBytes": sum(row["wire_bytes"] for row in got),
        "txPackets": len(sent),
        "rxPackets": len(got),
        "lostPackets": lost,
        "timesForwarded": sum(row["event"] == "delivery" and row["link"] != last for row in events),
    }
    return {key: f"+{value}ns" for key, value in times.items()} | {key: str(value) for key, value in counts.items()}


def mahimahi(result: Runs, link: str | None = None, run: int = 0, *, drops: bool = True) -> str:
    """What one link of one run did, as a log of ``mm-link``: arrivals (+), departures (-), drops (d) [ms, B].

    Needs packets.  With time series too it has delivery opportunities (#): the capacity of each sample, spread evenly
    over it in pieces of 1500 bytes.  The link is the first one unless named.  ``mm-throughput-graph`` knows no drops,
    which ``mm-link`` writes, and stops at the first; without `drops` they are left out.
    """
    rows = _of_run(result.packets, run, "packets", "--packets")
    known = pc.unique(rows["link"]).to_pylist()
    name = known[0] if link is None else link
    if name not in known:
        raise ExportError(f"no link `{name}`; there are: {', '.join(known)}")
    if any(each.get("flow") for each in result.summary["links"]):
        raise ExportError("each flow has a link of its own (isolate): a log is of one link; run with isolate=false")
    events = _events(rows.filter(pc.equal(rows["link"], name)), drops)
    lines = sorted([*events, *_opportunities(result, name, run)])
    head = f"# mahimahi mm-link ({name}) > varicap\n# queue: varicap\n# init timestamp: 0\n# base timestamp: 0\n"
    return head + "".join(f"{time // 1_000_000} {text}\n" for time, _, text in lines)


def _events(rows: pa.Table, drops: bool) -> Iterator[tuple[int, int, str]]:
    """Time [ns], place among those of the same time, text."""
    came: dict[tuple[Any, ...], deque[int]] = defaultdict(deque)
    for place, row in enumerate(rows.to_pylist()):
        key = tuple(row[name] for name in ("group", "flow", "generation", "direction", "seq_bytes", "sent_at_ns"))
        time, size = row["time_ns"], row["wire_bytes"]
        if row["event"] == "arrival":
            came[key].append(time)
            yield time, place, f"+ {size}"
        elif row["event"] == "departure" and came[key]:
            yield time, place, f"- {size} {(time - came[key].popleft()) // 1_000_000}"
        elif drops and row["event"] in ("overflow", "aqm"):
            yield time, place, f"d 1 {size}"


def _opportunities(result: Runs, link: str, run: int) -> Iterator[tuple[int, int, str]]:
    rows = result.link_series
    if rows.num_rows == 0:
        return
    own = rows.filter(pc.and_(pc.equal(rows["replication"], run), pc.equal(rows["link"], link))).sort_by("time_s")
    begin, credit = 0.0, 0.0
    for end, capacity in zip(own["time_s"].to_pylist(), own["capacity_bps"].to_pylist(), strict=True):
        if capacity == capacity and capacity > 0.0:
            step = 1500 * 8 / capacity
            # A piece that one sample begins the next one ends.
            at = begin + step * (1.0 - credit)
            while at <= end:
                yield round(at * 1e9), -1, "# 1500"
                at += step
            credit = 1.0 - (at - end) / step
        begin = end


def _of_run(rows: pa.Table, run: int, what: str, option: str) -> pa.Table:
    rows = rows.filter(pc.equal(rows["replication"], run)) if rows.num_rows else rows
    if rows.num_rows == 0:
        raise ExportError(f"no {what} of run {run} were recorded: run with {option}")
    return rows
