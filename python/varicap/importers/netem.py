"""What `tc` says of one queueing discipline, in the keys of a link."""

from collections.abc import Callable
from typing import TypeVar

from varicap.importers.draft import Draft, Entry, Toml
from varicap.importers.shell import Command
from varicap.importers.source import (
    Source,
    bytes_of,
    nanoseconds,
    number,
    percent,
    rate,
    share,
    tc_rate,
    tc_size,
    tc_time,
)

_T = TypeVar("_T")
DEVICE = "10 Gbit/s"
"""What a virtual device carries by itself, about."""
ETHERNET: dict[str, Toml] = {"overhead": "14 B", "in_queue": True}
"""What Linux's queues count of a packet beyond its IP header."""


class Words:
    """The arguments of a command, from left to right."""

    def __init__(self, source: Source, command: Command, words: list[str]) -> None:
        self.source, self.command, self.left = source, command, list(words)

    def take(self) -> str | None:
        """The next word."""
        return self.left.pop(0) if self.left else None

    def maybe(self, read: Callable[[str], _T | None]) -> _T | None:
        """The next word as a value, if it is one; else it stays."""
        value = read(self.left[0]) if self.left else None
        if value is not None:
            self.left.pop(0)
        return value

    def need(self, read: Callable[[str], _T | None], expected: str) -> _T:
        """The next word, which has to be a value."""
        word = self.left[0] if self.left else ""
        value = self.maybe(read)
        if value is None:
            raise self.source.error(self.command.line, word or self.command.text, expected)
        return value


def whole(text: str) -> int | None:
    """A whole number."""
    value = number(text)
    return int(value) if value is not None and value == int(value) and value < 2**63 else None


def netem(draft: Draft, link: Entry, words: Words, *, is_alone: bool) -> None:
    """`netem`: delay, loss, copies, damage; it shapes if it has a rate, and limits what waits if it shapes."""
    command, limit, bps = words.command, 1000, None
    comment = draft.quote(command.line, command.text)
    delay: dict[str, Toml] = {}
    extra: dict[str, Toml] = {}
    while (word := words.take()) is not None:
        if word in ("delay", "latency"):
            delay["delay"] = nanoseconds(words.need(tc_time, "a time such as 50ms"))
            if (jitter := words.maybe(tc_time)) is not None and jitter > 0:
                delay["jitter"] = nanoseconds(jitter)
                if correlation := words.maybe(percent):
                    delay["correlation"] = share(correlation)
        elif word == "distribution":
            delay["distribution"] = _distribution(words.need(str, "a distribution"))
        elif word in ("loss", "drop"):
            _loss(link, words, comment)
        elif word in ("duplicate", "corrupt"):
            extra[word] = share(words.need(percent, "a percentage"))
            if correlation := words.maybe(percent):
                extra[f"{word}_correlation"] = share(correlation)
        elif word == "reorder":
            delay["reorder"] = share(words.need(percent, "a percentage"))
            if correlation := words.maybe(percent):
                delay["reorder_correlation"] = share(correlation)
        elif word == "gap":
            delay["gap"] = words.need(whole, "a number of packets")
        elif word == "rate":
            bps = words.need(tc_rate, "a rate such as 10mbit")
            if (overhead := words.maybe(whole)) is not None:
                link.set("framing", {"overhead": f"{overhead + 14} B", "in_queue": True}, comment)
            while words.maybe(whole) is not None:
                draft.leave_out(command.line, command.text, "cells of netem's rate")
        elif word == "limit":
            limit = words.need(whole, "a number of packets")
        else:
            draft.leave_out(command.line, command.text, f"netem's `{word}`")
    if "gap" in delay and "reorder" not in delay:
        delay["reorder"] = "100 %"
    if extra:
        link.set("netem", extra, comment)
    _set_delay(draft, link, delay, comment)
    if bps is not None and bps > 0:
        link.set("capacity", rate(bps), comment)
        link.keys.setdefault("framing", dict(ETHERNET))
        if is_alone:
            link.set("queue", {"drop-tail": {"limit": f"{limit} packets"}}, f"netem's limit; {WITH_DELAYED}")


WITH_DELAYED = "it counts what is being delayed as well, so that less than this may wait for the rate"


def _set_delay(draft: Draft, link: Entry, delay: dict[str, Toml], comment: str) -> None:
    if not delay:
        return
    if "delay" in delay and len(delay) == 1:
        link.set("delay", delay["delay"], comment)
        return
    if "jitter" not in delay and "distribution" in delay:
        del delay["distribution"]
    link.set("delay", {"netem": {"delay": "0 s", **delay}}, comment)
    link.set("reorder", True, "netem lets packets overtake each other")


def _distribution(name: str) -> Toml:
    return name if name in ("uniform", "normal", "pareto", "paretonormal") else {"table": f"{name}.dist"}


def _loss(link: Entry, words: Words, comment: str) -> None:
    kind = words.left[0] if words.left and words.left[0] in ("random", "state", "gemodel", "ecn") else "random"
    if words.left and words.left[0] == kind:
        words.take()
    shares: list[str] = [share(words.need(percent, "a percentage, or state or gemodel and percentages"))]
    while (value := words.maybe(percent)) is not None:
        shares.append(share(value))
    if words.left and words.left[0] == "ecn":
        words.take()
    if kind == "gemodel":
        names = ("p", "r", "one_minus_h", "one_minus_k")
        link.set("loss", {"gemodel": dict(zip(names, shares, strict=False))}, comment)
    elif kind == "state":
        states = ("p13", "p31", "p32", "p23", "p14")
        link.set("loss", {"4state": dict(zip(states, shares, strict=False))}, comment)
    elif len(shares) > 1:
        link.set("loss", {"correlated": {"probability": shares[0], "correlation": shares[1]}}, comment)
    else:
        link.set("loss", shares[0], comment)


def tbf(draft: Draft, link: Entry, words: Words) -> dict[str, Toml]:
    """`tbf`: a shaper.  Returns its table, into which a queue of its own may come."""
    command = words.command
    shaper: dict[str, Toml] = {}
    limit = None
    while (word := words.take()) is not None:
        if word == "rate":
            shaper["rate"] = rate(words.need(_positive_rate, "a rate such as 10mbit"))
        elif word in ("burst", "buffer", "maxburst"):
            shaper["burst"] = bytes_of(words.need(_depth, "a size such as 32kbit"))
        elif word == "latency":
            shaper["latency"] = nanoseconds(words.need(tc_time, "a time such as 50ms"))
        elif word == "limit":
            limit = words.need(tc_size, "a size such as 100000")
        else:
            draft.leave_out(command.line, command.text, f"tbf's `{word}`")
            words.maybe(str)
    for key, expected in (("rate", "tbf with a rate"), ("burst", "tbf with a burst")):
        if key not in shaper:
            raise words.source.error(command.line, command.text, expected)
    if limit is not None:
        shaper["queue"] = {"drop-tail": {"limit": bytes_of(limit)}}
    elif "latency" not in shaper:
        raise words.source.error(command.line, command.text, "tbf with a limit or a latency")
    link.keys.setdefault("capacity", DEVICE)
    link.say("assumed: the speed of the device itself, behind the shaper", "capacity")
    link.set("queue", {"shaper": shaper}, draft.quote(command.line, command.text))
    link.set("framing", dict(ETHERNET), "tbf counts an Ethernet header with each packet")
    return shaper


def _positive_rate(text: str) -> float | None:
    return tc_rate(text) or None


def _depth(text: str) -> float | None:
    """A bucket of tc may be followed by the size of a cell."""
    return tc_size(text.partition("/")[0])


def queue(draft: Draft, kind: str, words: Words) -> Toml | None:
    """A queue by itself; none if it has no counterpart."""
    command = words.command
    table: dict[str, Toml] = {}
    keys = _QUEUES.get(kind)
    if keys is None:
        draft.leave_out(command.line, command.text, f"a queue `{kind}`")
        return None
    while (word := words.take()) is not None:
        known = keys.get(word)
        if word in ("ecn", "noecn"):
            if kind != "sfq":
                table["ecn"] = word == "ecn"
        elif known is None:
            draft.leave_out(command.line, command.text, f"`{word}` of {kind}")
            if words.left and words.left[0] not in keys:
                words.take()
        else:
            key, read, write, expected = known
            value = words.need(read, expected)
            if key == "weight":
                table["weight"] = _red_weight(value, table)
            elif key:
                table[key] = write(value)
    return {("drop-tail" if kind in _FIFOS else kind): table} if table or kind in _FIFOS else kind


def _red_weight(burst: float, table: dict[str, Toml]) -> Toml:
    """Tc's burst says how long the average follows; as RED's paper has it, near one over that many packets."""
    return max(min(1.0, 1.0 / max(burst, 1.0)), 1e-6)


def _packets(value: float) -> Toml:
    return f"{int(value)} packets"


_TIME = (tc_time, nanoseconds, "a time such as 5ms")
_PACKETS = (whole, _packets, "a number of packets")
_BYTES = (tc_size, bytes_of, "a size in bytes")
_FIFOS = ("pfifo", "bfifo", "pfifo_fast")
_QUEUES: dict[str, dict[str, tuple[str, Callable[[str], float | None], Callable[[float], Toml], str]]] = {
    "pfifo": {"limit": ("limit", *_PACKETS)},
    "pfifo_fast": {},
    "bfifo": {"limit": ("limit", *_BYTES)},
    "sfq": {"limit": ("limit", *_PACKETS), "perturb": ("", number, float, "seconds")},
    "codel": {
        "limit": ("limit", *_PACKETS),
        "target": ("target", *_TIME),
        "interval": ("interval", *_TIME),
        "ce_threshold": ("ce_threshold", *_TIME),
    },
    "fq_codel": {
        "limit": ("limit", *_PACKETS),
        "flows": ("queues", whole, int, "a number of queues"),
        "quantum": ("quantum", *_BYTES),
        "target": ("target", *_TIME),
        "interval": ("interval", *_TIME),
        "ce_threshold": ("ce_threshold", *_TIME),
    },
    "pie": {
        "limit": ("limit", *_PACKETS),
        "target": ("target", *_TIME),
        "tupdate": ("update", *_TIME),
    },
    "red": {
        "limit": ("limit", *_BYTES),
        "min": ("min_threshold", *_BYTES),
        "max": ("max_threshold", *_BYTES),
        "avpkt": ("mean_packet", *_BYTES),
        "probability": ("max_probability", number, float, "a probability"),
        "burst": ("weight", whole, float, "a number of packets"),
        "bandwidth": ("", tc_rate, float, "a rate"),
    },
}
