"""Scripts of ns-2: nodes, links, queues, agents and what they send."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from varicap.importers.draft import Draft, Entry, Toml
from varicap.importers.source import Source, bytes_of, nanoseconds, rate, share
from varicap.importers.tcl import Tcl

_RATE = re.compile(r"([0-9.]+(?:e[0-9]+)?)\s*([kKmMgG]?)([bB]?)(?:ps|it)?")
_TIME = re.compile(r"([0-9.]+(?:e-?[0-9]+)?)\s*(s|ms|us|ns|m|u|n)?")
_VARIANTS = {
    "": "tahoe",
    "RFC793edu": "old-tahoe",
    "Reno": "reno",
    "Newreno": "newreno",
    "Sack1": "sack",
    "Vegas": "reno",
    "Linux": "sack",
}
_QUEUES = {"DropTail": "drop-tail", "RED": "red", "SFQ": "sfq", "DRR": "drr", "FQ": "sfq", "CoDel": "codel"}
_QUIET = frozenset(
    [
        "puts",
        "close",
        "flush",
        "open",
        "exec",
        "exit",
        "global",
        "return",
        "trace-all",
        "namtrace-all",
        "flush-trace",
        "color",
        "label",
        "duplex-link-op",
        "monitor-queue",
        "trace-queue",
        "namtrace-queue",
        "source",
        "after",
        "catch",
        "use-newtrace",
        "gets",
        "format",
        "lindex",
        "llength",
    ]
)
_TCP_SETS = {
    "window_": ("receive_window", "{} packets"),
    "maxcwnd_": ("max_window", "{} packets"),
    "windowInit_": ("initial_window", "{} packets"),
    "packetSize_": ("mss", "{} B"),
}


@dataclass
class Thing:
    """What `new` or `node` made: its class, its settings, and what it is joined to."""

    kind: str
    line: int
    sets: dict[str, tuple[int, str]] = field(default_factory=dict)
    node: str = ""
    peer: str = ""
    agent: str = ""
    start: float | None = None
    stop: float | None = None
    size: float | None = None


class Script:
    """A script as it is gone through."""

    def __init__(self, source: Source, given: Mapping[str, str]) -> None:
        self.draft = Draft(source, "ns-2")
        self.source = source
        self.things: dict[str, Thing] = {}
        self.defaults: dict[str, str] = {}
        self.end: float | None = None
        self.nodes = 0
        self.tcl = Tcl(source, self.command, dict(given), frozenset(given))

    def command(self, line: int, words: list[str]) -> str | None:
        """One command that is none of Tcl's own; the name of what it makes."""
        if not words:
            return ""
        first, rest = words[0], words[1:]
        if first == "new" and rest:
            return self._make(line, rest[0])
        if first in _QUIET:
            return ""
        if first in self.things and rest:
            thing = self.things[first]
            return self._simulator(line, rest) if thing.kind == "Simulator" else self._method(line, first, rest)
        if rest[:1] == ["set"] and len(rest) == 3:
            self.defaults[f"{first} {rest[1]}"] = rest[2]
            self._note_default(line, words)
            return ""
        if not first.startswith(("$", "[")):
            self.draft.leave_out(line, " ".join(words), "a command that is not understood")
        return ""

    def _note_default(self, line: int, words: list[str]) -> None:
        if words[0] not in ("Agent/TCP", "Queue", "Application/Traffic/CBR", "Agent/UDP", "Queue/DropTail"):
            self.draft.leave_out(line, " ".join(words), "a default that no key stands for")

    def _make(self, line: int, kind: str) -> str:
        if len(self.things) > 20_000:
            raise self.source.error(line, "more than 20000 objects", "fewer")
        name = f"_o{len(self.things)}"
        self.things[name] = Thing(kind, line)
        return name

    def _simulator(self, line: int, words: list[str]) -> str:
        verb, rest = words[0], words[1:]
        said = " ".join(words)
        if verb == "node":
            name = self._make(line, "node")
            self.things[name].node = f"n{self.nodes}"
            self.nodes += 1
            return name
        if verb in ("duplex-link", "simplex-link") and len(rest) >= 5:
            self._link(line, said, rest, is_duplex=verb == "duplex-link")
        elif verb == "queue-limit" and len(rest) == 3:
            self._limit(line, said, rest)
        elif verb == "attach-agent" and len(rest) == 2:
            self._thing(line, rest[1], said).node = self._node(line, rest[0], said)
        elif verb == "connect" and len(rest) == 2:
            self._thing(line, rest[0], said).peer = rest[1]
        elif verb == "at" and len(rest) >= 2:
            self._at(line, rest[0], " ".join(rest[1:]))
        elif verb in ("run", "halt", "now"):
            return "" if verb != "now" else "0"
        elif verb == "lossmodel" and len(rest) == 3:
            self._loss(line, said, rest)
        elif verb not in _QUIET and verb not in ("rtproto", "cost", "queue-limit"):
            self.draft.leave_out(line, said, "a command of the simulator that is not understood")
        return ""

    def _quoted(self, line: int) -> str:
        """A comment with a line as it is written."""
        return self.draft.quote(line, self.source.lines[min(line, len(self.source.lines)) - 1])

    def _thing(self, line: int, name: str, said: str) -> Thing:
        if name not in self.things:
            raise self.source.error(line, said, "objects that the script has made with `new` or `node`")
        return self.things[name]

    def _node(self, line: int, name: str, said: str) -> str:
        node = self._thing(line, name, said).node
        if not node:
            raise self.source.error(line, said, "a node")
        return node

    def _link(self, line: int, said: str, words: list[str], *, is_duplex: bool) -> None:
        ends = [self._node(line, name, said) for name in words[:2]]
        bps, ns, kind = rate_of(words[2]), time_of(words[3]), words[4]
        if bps is None or ns is None:
            raise self.source.error(line, said, "a rate such as 0.5Mb and a delay such as 100ms")
        for a, b in (ends, ends[::-1]) if is_duplex else (ends,):
            link = self.draft.link(f"{a}-{b}")
            link.keys.update({"from": a, "to": b})
            if bps > 0:
                link.set("capacity", rate(bps))
            link.set("delay", nanoseconds(ns))
            link.set("queue", self._queue(line, said, kind))
            link.say(self._quoted(line))

    def _queue(self, line: int, said: str, kind: str) -> Toml:
        limit = self.defaults.get("Queue limit_", "50")
        name = _QUEUES.get(kind.removeprefix("Queue/"))
        if name is None:
            self.draft.leave_out(line, said, f"a queue `{kind}`: drop-tail is in its place")
            name = "drop-tail"
        if name == "red":
            self.draft.remarks.append("RED has the keys of this program; ns-2.35 sets its own by itself (thresh_ 0).")
        return _limited(name, limit if limit.isdigit() else "50")

    def _limit(self, line: int, said: str, words: list[str]) -> None:
        name = "-".join(self._node(line, each, said) for each in words[:2])
        if name not in self.draft.links or not words[2].isdigit():
            raise self.source.error(line, said, "a link that was made before, and a number of packets")
        link = self.draft.links[name]
        queue = link.keys["queue"]
        kind = next(iter(queue)) if isinstance(queue, dict) else "drop-tail"
        link.set("queue", _limited(kind, words[2]), self._quoted(line))

    def _loss(self, line: int, said: str, words: list[str]) -> None:
        model, name = self._thing(line, words[0], said), "-".join(self._node(line, each, said) for each in words[1:])
        loss = model.sets.get("rate_", (line, "0"))[1]
        if name in self.draft.links and (value := self.tcl.sum(loss)) is not None and 0 <= value <= 1:
            self.draft.links[name].set("loss", share(value), self._quoted(line))
        else:
            self.draft.leave_out(line, said, "an error model")

    def _at(self, line: int, when: str, what: str) -> None:
        seconds, words = self.tcl.sum(when), what.split()
        if seconds is None or seconds < 0:
            raise self.source.error(line, when, "a time in seconds")
        if (words and words[0] in ("finish", "exit", "done", "stop", "halt")) or "halt" in words:
            self.end = seconds if self.end is None else min(self.end, seconds)
            return
        thing = self.things.get(words[0]) if words else None
        if thing is not None and len(words) >= 2 and words[1] in ("start", "stop", "send", "produce", "producemore"):
            if words[1] == "stop":
                thing.stop = seconds
                return
            thing.start = seconds if thing.start is None else thing.start
            if len(words) > 2 and (size := self.tcl.sum(words[2])) is not None:
                thing.size = size * (1 if words[1] == "send" else 1000)
            return
        self.draft.leave_out(line, f"$ns at {when} {what}", "something that happens in between")

    def _method(self, line: int, name: str, words: list[str]) -> str:
        thing, verb, rest = self.things[name], words[0], words[1:]
        if verb == "set" and len(rest) == 2:
            thing.sets[rest[0]] = (line, rest[1])
        elif verb == "set" and len(rest) == 1:
            return thing.sets.get(rest[0], (0, "0"))[1]
        elif verb == "attach-agent" and rest:
            thing.agent = rest[0]
        elif verb == "attach-app" and rest:
            self._thing(line, rest[0], " ".join(words)).agent = name
        elif verb == "attach-source":
            return self._make(line, f"Application/{rest[0] if rest else 'FTP'}")
        elif verb in ("start", "stop"):
            self._at(line, "0", f"{name} {verb}")
        elif verb not in ("trace", "attach", "attach-trace", "drop-target", "ranvar", "unit"):
            self.draft.leave_out(line, f"{thing.kind}: {' '.join(words)}", "a setting that no key stands for")
        return ""

    def flows(self) -> None:
        """The applications as flows."""
        for name, thing in list(self.things.items()):
            if thing.kind.startswith("Application/") and thing.agent in self.things:
                self._flow(name, thing, self.things[thing.agent])

    def _flow(self, _name: str, app: Thing, agent: Thing) -> None:
        sink = self.things.get(agent.peer)
        if not agent.node or sink is None or not sink.node:
            where = self.source.lines[app.line - 1] if app.line <= len(self.source.lines) else ""
            self.draft.leave_out(app.line, where, "an application whose agent is not connected")
            return
        kind = app.kind.removeprefix("Application/").removeprefix("Traffic/")
        flow = self.draft.flow(f"{kind.lower()}-{len(self.draft.flows) + 1}")
        flow.say(self._quoted(app.line))
        flow.keys.update({"from": agent.node, "to": sink.node})
        if app.start is None:
            self.draft.leave_out(app.line, app.kind, "an application that never starts")
            del self.draft.flows[next(reversed(self.draft.flows))]
            return
        if app.start > 0:
            flow.set("start", f"{app.start:.9g} s")
        if app.stop is not None and app.stop > app.start:
            flow.set("stop", f"{app.stop:.9g} s")
        if agent.kind.startswith("Agent/TCP"):
            self._tcp(flow, app, agent, sink)
        else:
            self._datagrams(flow, app, agent, kind)

    def _tcp(self, flow: Entry, app: Thing, agent: Thing, sink: Thing) -> None:
        variant = agent.kind.removeprefix("Agent/TCP").strip("/")
        if variant not in _VARIANTS:
            self.draft.leave_out(agent.line, agent.kind, "a TCP that there is not: Reno is in its place")
        tcp: dict[str, Toml] = {"stack": "ns-2.35", "recovery": _VARIANTS.get(variant, "reno")}
        if variant == "Vegas":
            tcp["congestion"] = "vegas"
        tcp |= {"mss": "1000 B", "receive_window": "20 packets"}
        if "DelAck" in sink.kind:
            tcp["ack"] = "delayed"
        own = [(key.partition(" ")[2], value) for key, value in self.defaults.items() if key.startswith("Agent/TCP ")]
        sets = {key: (0, value) for key, value in own}
        for key, (line, value) in {**sets, **agent.sets}.items():
            if key in _TCP_SETS and (amount := self.tcl.sum(value)) is not None and amount > 0:
                name, form = _TCP_SETS[key]
                tcp[name] = form.format(int(amount))
            elif key not in ("fid_", "class_", "prio_", "cwnd_", "nam_tracevar_", "maxseq_"):
                self.draft.leave_out(line, f"{key} {value}", "a setting of the agent that no key stands for")
        flow.set("tcp", tcp)
        flow.set("jitter", "0 s", "overhead_ 0: ns-2 answers at once")
        if app.size is not None and app.size > 0:
            flow.set("app", {"transfer": {"size": bytes_of(app.size)}})
        if app.kind != "Application/FTP":
            self.draft.leave_out(app.line, app.kind, "traffic of this kind over TCP: it sends without end")

    def _datagrams(self, flow: Entry, app: Thing, agent: Thing, kind: str) -> None:
        sets = {key: value for key, (_, value) in {**agent.sets, **app.sets}.items()}
        size = self.tcl.sum(sets.get("packetSize_", "210")) or 210.0
        bps = rate_of(sets.get("rate_", "448Kb")) or 448e3
        if "interval_" in sets and (gap := time_of(sets["interval_"])):
            bps = size * 8e9 / gap
        flow.set("datagrams", {"rate": rate(bps), "size": bytes_of(size)})
        if kind in ("Exponential", "Pareto"):
            self.draft.leave_out(app.line, app.kind, "bursts and pauses: it sends at its rate all the time")
        if sets.get("random_", "0") not in ("0", "false"):
            flow.keys["datagrams"] = {"rate": rate(bps), "size": bytes_of(size), "spacing": "poisson"}
            self.draft.remarks.append("ns-2's random_ moves each packet a little; Poisson gaps are in its place.")


def _limited(kind: str, packets: str) -> Toml:
    """A queue of so many packets; where arrivals and departures coincide as ns-2 has them."""
    ties: dict[str, Toml] = {"ties": "arrivals-first"} if kind == "drop-tail" else {}
    return {kind: {"limit": f"{int(packets)} packets", **ties}}


def rate_of(text: str) -> float | None:
    """A rate of ns-2 [b/s].

    >>> rate_of("0.5Mb"), rate_of("500Kb"), rate_of("1000000"), rate_of("10MB"), rate_of("fast")
    (500000.0, 500000.0, 1000000.0, 80000000.0, None)
    """
    match = _RATE.fullmatch(text.strip())
    try:
        value = float(match[1]) if match else None
    except ValueError:
        return None
    if match is None or value is None:
        return None
    scale = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}[match[2].lower()]
    return value * scale * (8 if match[3] == "B" else 1)


def time_of(text: str) -> float | None:
    """A time of ns-2, in seconds without a unit [ns].

    >>> time_of("100ms"), time_of("0.02"), time_of("soon")
    (100000000.0, 20000000.0, None)
    """
    match = _TIME.fullmatch(text.strip())
    try:
        value = float(match[1]) if match else None
    except ValueError:
        return None
    if match is None or value is None:
        return None
    return value * {"s": 1e9, "m": 1e6, "u": 1e3, "n": 1.0}[(match[2] or "s")[0]]


def draft(source: Source, given: Mapping[str, str]) -> Draft:
    """What a script says, as a scenario."""
    script = Script(source, given)
    script.tcl.run(source.text)
    made = script.draft
    if not made.links:
        raise source.error(None, "no link", "`$ns duplex-link $a $b 1Mb 10ms DropTail` and the like")
    script.flows()
    if not made.flows:
        raise source.error(None, "no application that is connected and starts", "an FTP or CBR source")
    if script.end is None:
        made.top.set("duration", "60 s", "the script does not say when it ends: this is assumed")
    else:
        made.top.set("duration", f"{script.end:.9g} s")
    made.remarks += [
        "The stack is that of ns-2.35; for a script of about the year 2000 take `ns-2`.",
        "Sizes on the wire are those of ns-2: 40 B of headers with each TCP packet, none with datagrams.",
    ]
    return made
