"""Two logs of packets beside each other: the same segments, or from which one on they differ.

Two runs are *identical* if at each link the same segments arrive, are lost, leave and are delivered in the same order,
at the same instants.  An instant is the same if it is no further apart than TCP's own clocks may put it: Linux counts
microseconds, so that each host that answers a segment may do so a microsecond sooner or later, and each answer follows
from the one before it, two in a round trip.  `bound_ns` is that sum, which begins at 1 us and grows by 2 us with each
least round trip of the path.  It depends on the clock and on the path, and on no run's result.

The window that a receiver advertises is not compared: Linux lets it grow, and the simulator announces the largest one.
Neither are PSH and the ACK bit, which data segments of the simulator do not show.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

TICK_NS = 1000
"""What TCP's clock of Linux counts (`tcp_mstamp`): a microsecond."""

CONTEXT = 4
"""How many events before the first difference are kept."""

_NAMED = ("link", "event", "group", "direction")
_COMPARED = ("group", "direction", "seq_bytes", "ack_bytes", "payload_bytes", "wire_bytes", "flags", "sack_blocks")
_FLAGS = {1: "SYN", 8192: "FIN", 4: "ECE", 8: "CWR", 256: "AE", 16: "ECT", 1024: "ECT(1)", 32: "CE"}
"""The bits of a packet's flags that both engines show."""

Event: TypeAlias = dict[str, Any]
"""What a link did to a packet."""

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Log:
    """What the links of a run did to each packet, in order of time."""

    time_ns: Array
    columns: Mapping[str, Array]
    """By name; of names their places in `names`."""
    names: Mapping[str, Sequence[str]]

    @property
    def digest(self) -> str:
        """Of all that is compared."""
        found = hashlib.sha256(self.time_ns.tobytes())
        for name, values in self.columns.items():
            found.update(repr((name, self.names.get(name))).encode() + values.tobytes())
        return found.hexdigest()[:16]

    def events(self, link: str, event: str, group: str | None) -> Array:
        """The rows of what a link did in one way to the packets of a group, or of all."""
        wanted = np.ones(len(self.time_ns), bool)
        for name, value in (("link", link), ("event", event), ("group", group)):
            if value is not None:
                wanted &= self.columns[name] == _place(self.names[name], value)
        return np.flatnonzero(wanted)

    def kinds(self) -> set[tuple[str, str]]:
        """Which links did what."""
        many = len(self.names["event"])
        pairs = np.unique(self.columns["link"].astype(np.int64) * many + self.columns["event"])
        return {(self.names["link"][pair // many], self.names["event"][pair % many]) for pair in pairs.tolist()}

    def at(self, row: int) -> Event:
        """An event, for people and programs."""
        of = {name: values[row].item() for name, values in self.columns.items()}
        said = {name: self.names[name][of[name]] for name in _NAMED}
        flags = [called for bit, called in _FLAGS.items() if of["flags"] & bit]
        numbers = {name: of[name] for name in _COMPARED if name not in (*_NAMED, "flags")}
        return {"time_ns": int(self.time_ns[row]), **said, **numbers, "flags": flags}


def _place(names: Sequence[str], value: str) -> int:
    return names.index(value) if value in names else -1


def log_of(packets: pa.Table) -> Log:
    """The log that a result's table of packets is."""
    columns: dict[str, Array] = {}
    names: dict[str, Sequence[str]] = {}
    for name in dict.fromkeys((*_NAMED, *_COMPARED)):
        column = packets[name].combine_chunks()
        if name in _NAMED:
            # The same places whatever the order in which a run came across the names.
            known = column.dictionary.to_pylist()
            names[name] = tuple(sorted(set(known)))
            places = np.array([names[name].index(each) for each in known], np.int16)
            columns[name] = places[column.indices.to_numpy()]
        else:
            columns[name] = column.to_numpy()
    columns["flags"] = columns["flags"] & np.uint32(sum(_FLAGS))
    return Log(packets["time_ns"].combine_chunks().to_numpy().astype(np.int64), columns, names)


@dataclass(frozen=True)
class Compared:
    """What came of two logs."""

    packets: int
    """Segments that were sent in the first log, up to the first difference if there is one."""
    largest_ns: int
    """How far instants that are the same are apart at most."""
    at_ns: int | None = None
    """When the first difference is; none if there is none."""
    events: tuple[Event | None, Event | None] = (None, None)
    """What happens then, in either log; none where nothing more of that kind happens."""
    before: tuple[list[Event], list[Event]] = field(default_factory=lambda: ([], []))
    """The events before, of any kind."""

    @property
    def is_identical(self) -> bool:
        """Whether there is no difference."""
        return self.at_ns is None

    def to_dict(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "identical": self.is_identical,
            "packets": self.packets,
            "largest_ns": self.largest_ns,
            "at_ns": self.at_ns,
            "events": list(self.events),
            "before": list(self.before),
        }


def compare(one: Log, other: Log, group: str | None = None) -> Compared:
    """Compare what the links did to the packets of a group, or to all."""
    bound = Bound.of(one)
    largest, found = 0, None
    for link, event in sorted(one.kinds() | other.kinds()):
        rows = one.events(link, event, group), other.events(link, event, group)
        differs, apart = _first(one, other, rows, bound)
        largest = max(largest, apart)
        if differs is None:
            continue
        events = tuple(
            log.at(int(of[differs])) if differs < len(of) else None for log, of in zip((one, other), rows, strict=True)
        )
        at_ns = min(each["time_ns"] for each in events if each is not None)
        if found is None or at_ns < found[0]:
            found = at_ns, events
    sent = [one.time_ns[one.events(link, "arrival", group)] for link, event in one.kinds() if event == "arrival"]
    if found is None:
        return Compared(sum(map(len, sent)), largest)
    at_ns, events = found
    before = tuple(_before(log, at_ns, group) for log in (one, other))
    packets = sum(int(np.searchsorted(times, at_ns)) for times in sent)
    return Compared(packets + 1, largest, at_ns, (events[0], events[1]), (before[0], before[1]))


@dataclass(frozen=True)
class Bound:
    """How far apart the same instants may be."""

    start_ns: int
    round_trip_ns: int

    @classmethod
    def of(cls, log: Log) -> "Bound":
        """By the first round trip in a log: the least one, in which a SYN meets an empty path."""
        data, acks = (_place(log.names["direction"], name) for name in ("data", "ack"))
        sent = np.flatnonzero(log.columns["direction"] == data)
        back = np.flatnonzero(
            (log.columns["direction"] == acks) & (log.columns["event"] == _place(log.names["event"], "delivery"))
        )
        if not len(sent) or not len(back):
            return cls(0, 1 << 62)
        start = int(log.time_ns[sent[0]])
        return cls(start, max(1, int(log.time_ns[back[0]]) - start))

    def at(self, time_ns: Array) -> Array:
        """The bound at some instants [ns]."""
        since = np.maximum(time_ns - self.start_ns, 0)
        bound: Array = TICK_NS + 2 * TICK_NS * (since // self.round_trip_ns)
        return bound


def _first(one: Log, other: Log, rows: tuple[Array, Array], bound: Bound) -> tuple[int | None, int]:
    """Which event of a kind is the first that differs, if any does, and how far apart those before it are at most."""
    count = min(map(len, rows))
    mine, its = (of[:count] for of in rows)
    times = one.time_ns[mine]
    apart = np.abs(times - other.time_ns[its])
    differs = apart > bound.at(times)
    for name in _COMPARED:
        values = other.columns[name][its]
        if name in _NAMED:
            values = np.array([_place(one.names[name], each) for each in other.names[name]])[values]
        differs |= one.columns[name][mine] != values
    if differs.any():
        first: int | None = int(np.argmax(differs))
    else:
        first = None if _is_cut(one, other, rows, count, bound) else count
    return first, int(apart[:first].max(initial=0))


def _is_cut(one: Log, other: Log, rows: tuple[Array, Array], count: int, bound: Bound) -> bool:
    """Whether what one log has beyond the other lies so close to its end that it was too late for the other."""
    end = int(max(log.time_ns.max(initial=0) for log in (one, other)))
    surplus = [log.time_ns[of[count:]] for log, of in zip((one, other), rows, strict=True)]
    return all((end - times <= bound.at(np.array([end]))).all() for times in surplus)


def _before(log: Log, at_ns: int, group: str | None) -> list[Event]:
    """The last events of a group's packets before an instant."""
    last = int(np.searchsorted(log.time_ns, at_ns))
    rows = np.arange(max(0, last - 64 * CONTEXT), last)
    if group is not None:
        rows = rows[log.columns["group"][rows] == _place(log.names["group"], group)]
    return [log.at(int(row)) for row in rows[-CONTEXT:]]


def lines(compared: Mapping[str, Any], sides: Sequence[str]) -> Iterator[str]:
    """The first difference of `Compared.to_dict` for people, a line for each event, with the name of its side."""
    width = max(map(len, sides))
    for side, before, event in zip(sides, compared["before"], compared["events"], strict=True):
        for each in before:
            yield f"  {side:<{width}}   {_text(each)}"
        yield f"  {side:<{width}} > {_text(event) if event else 'no more of that'}"


def _text(event: Event) -> str:
    said = (
        f"{event['time_ns'] / 1e9:.9f} s {event['event']:<9} {event['link']} {event['group']} {event['direction']:<4}"
    )
    first, size = event["seq_bytes"], event["payload_bytes"]
    said += f" {first}:{first + size}" if event["direction"] == "data" else f" ack {event['ack_bytes']}"
    if event["sack_blocks"]:
        said += f", {event['sack_blocks']} SACK blocks"
    return f"{said}, {event['wire_bytes']} B {' '.join(event['flags'])}".rstrip()
