"""Distributions: delays, queues, and the goodput of each run."""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from varicap import units
from varicap.report.rows import where
from varicap.report.table import bottlenecks
from varicap.report.transfers import completion_ms
from varicap.report.web.charts import SPREAD, Array, Chart, Column, listed, spread
from varicap.report.web.series import MOST_FLOWS
from varicap.report.web.source import Source
from varicap.report.web.svg import NEUTRAL, Axis, Curve, axis, fitting, place_width, plot

_SHARES = np.concatenate([np.linspace(0.0, 0.9, 91), np.linspace(0.905, 0.99, 18), np.linspace(0.991, 1.0, 10)])


def distributions(source: Source) -> Iterator[Chart]:
    """The charts, of all runs together, from what was recorded."""
    if source.summary is None or source.summary["engine"] == "model":
        return
    warmup = units.seconds(str(source.scenario.get("warmup") or "0 s"))
    delays = _packet_delays(source.packets, warmup)
    if delays:
        yield _cumulative(
            "delay",
            "One-way delay of packets",
            "ms",
            delays,
            "From the sender to the receiver, of each data packet that arrived; all runs, after the warm-up.",
            _colours(source),
        )
    else:
        yield from _round_trips(source, warmup)
    yield from _completions(source, warmup)
    yield from _queues(source, warmup)
    yield from _goodputs(source)


def _packet_delays(packets: pa.Table, warmup_s: float) -> dict[str, Array]:
    """Of each group of flows the delays of its data packets [ms], on the link where they end."""
    if packets.num_rows == 0:
        return {}
    arrived = pc.and_(pc.equal(packets["event"], "delivery"), pc.equal(packets["direction"], "data"))
    rows = packets.filter(pc.and_(arrived, pc.greater_equal(packets["time_ns"], int(warmup_s * 1e9))))
    found = {}
    for group in pc.unique(rows["group"]).to_pylist()[:MOST_FLOWS]:
        own = rows.filter(pc.equal(rows["group"], group))
        delay = (own["time_ns"].to_numpy().astype(np.int64) - own["sent_at_ns"].to_numpy().astype(np.int64)) / 1e6
        # A packet is delivered by each link of its route; it has come furthest where the delay is greatest.
        links = {link: delay[pc.equal(own["link"], link).to_numpy()] for link in pc.unique(own["link"]).to_pylist()}
        found[str(group)] = max(links.values(), key=lambda each: float(np.mean(each)))
    return found


def _round_trips(source: Source, warmup_s: float) -> Iterator[Chart]:
    rows = source.flow_series
    if rows.num_rows == 0:
        return
    rows = rows.select(["time_s", "flow", "srtt_s"]).filter(pc.greater(rows["time_s"], warmup_s))
    found = {}
    for flow in pc.unique(rows["flow"]).to_pylist()[:MOST_FLOWS]:
        values = np.asarray(where(rows, "flow", flow)["srtt_s"].to_numpy(), np.float64) * 1e3
        if np.isfinite(values).any():
            found[str(flow)] = values[np.isfinite(values)]
    if found:
        yield _cumulative(
            "delay",
            "Round-trip time",
            "ms",
            found,
            "As the senders smooth it, at the instants of the time series; all recorded runs, after the warm-up. "
            "Record packets to see the delays of single packets.",
            _colours(source),
        )


def _queues(source: Source, warmup_s: float) -> Iterator[Chart]:
    rows = source.link_series
    if rows.num_rows == 0 or source.summary is None:
        return
    rows = rows.select(["time_s", "link", "flow", "backlog_packets"])
    rows = rows.filter(pc.greater(rows["time_s"], warmup_s))
    found = {}
    for link in bottlenecks(source.summary):
        own = where(rows, "link", link["name"])
        if link.get("flow"):
            own = where(own, "flow", link["flow"])
        found[str(link.get("flow") or link["name"])] = np.asarray(own["backlog_packets"].to_numpy(), np.float64)
    note = "Packets that wait, at the instants of the time series; all recorded runs, after the warm-up."
    # The queue of a link that flows share has no flow's colour.
    own = {str(link["flow"]) for link in bottlenecks(source.summary) if link.get("flow")}
    colours = {name: number for name, number in _colours(source).items() if name in own}
    yield _cumulative("backlog", "Queue", "packets", found, note, colours)


def _completions(source: Source, warmup_s: float) -> Iterator[Chart]:
    """How long transfers took, from the packets of all runs."""
    found = completion_ms(source.packets, source.flows, warmup_s)
    shown = {group: times for group, times in list(found.items())[:MOST_FLOWS] if len(times)}
    if shown:
        count = sum(len(times) for times in shown.values())
        note = f"From the first packet to the last byte, of {count} transfers; all runs, after the warm-up."
        yield _cumulative("fct", "Flow completion time", "ms", shown, note, _colours(source))


def _colours(source: Source) -> dict[str, int]:
    """The number of each flow, and of the first flow of each group."""
    flows = (source.summary or {})["flows"]
    numbers = {str(flow["group"]): number for number, flow in reversed(list(enumerate(flows)))}
    return {**numbers, **{str(flow["name"]): number for number, flow in enumerate(flows)}}


def _cumulative(
    key: str, title: str, unit: str, found: dict[str, Array], note: str, colours: Mapping[str, int]
) -> Chart:
    """The share of the time, or of the packets, that is at most so much."""
    levels = {name: np.quantile(values, _SHARES) for name, values in found.items()}
    curves = [
        Curve(name, tuple(level), tuple(_SHARES), colours.get(name, NEUTRAL - number), style="steps")
        for number, (name, level) in enumerate(levels.items())
    ]
    rows = tuple((name, *spread(values)) for name, values in found.items())
    described = "; ".join(
        f"{name}: median {row[3]}, 95th percentile {row[4]}" for name, row in zip(found, rows, strict=True)
    )
    text = f"In {unit}: {described}."
    ends = [float(level[-1]) for level in levels.values()]
    share = Axis("share at most so much [%]", 0.0, 1.0, tuple((each / 4, f"{each * 25}") for each in range(5)))
    return Chart(
        key,
        f"{title}: distribution",
        unit,
        (Column("share", "1", listed(_SHARES)), *(Column(name, unit, listed(level)) for name, level in levels.items())),
        text,
        note,
        plot(
            curves,
            axis(f"{title.lower()} [{unit}]", [0.0, *ends], from_zero=True),
            share,
            f"{title}: distribution. {text}",
        ),
        ((f"[{unit}]", *SPREAD), *rows),
    )


def _goodputs(source: Source) -> Iterator[Chart]:
    """Each run as a dot, and the mean with its interval."""
    rows = source.flows
    if source.summary is None or source.summary["runs"] < 2 or rows.num_rows == 0:
        return
    flows = source.summary["flows"][:MOST_FLOWS]
    curves, columns, lines = [], [], []
    every = []
    for place, flow in enumerate(flows):
        values = np.asarray(rows.filter(pc.equal(rows["name"], flow["name"]))["goodput_bps"].to_numpy()) / 1e6
        interval = flow["goodput_bps"]
        every += [*values, interval["hi"] / 1e6]
        beside = place + 0.18 + 0.12 * (np.arange(len(values)) % 2)
        curves += [
            Curve("", tuple(beside), tuple(values), place, style="dots"),
            Curve(
                "", (place - 0.1,), (interval["mean"] / 1e6,), place, (interval["lo"] / 1e6,), (interval["hi"] / 1e6,)
            ),
        ]
        columns.append(Column(flow["name"], "Mb/s", listed(values, 7)))
        lines.append((flow["name"], *spread(values)))
    text = "Means over the runs [Mb/s]: " + ", ".join(f"{name} {mean}" for name, mean, *_ in lines) + "."
    room = place_width(len(flows))
    names = tuple((float(place), fitting(flow["name"], room)) for place, flow in enumerate(flows))
    across = Axis("", -0.6, len(flows) - 0.4, names)
    yield Chart(
        "goodput",
        "Goodput of each run",
        "Mb/s",
        (Column("run", "", list(range(max(len(column.values) for column in columns)))), *columns),
        text,
        "A dot for each run; to its left the mean with its 95 % interval.",
        plot(curves, across, axis("goodput [Mb/s]", every, from_zero=False), f"Goodput of each run. {text}"),
        (("[Mb/s]", *SPREAD), *lines),
    )
