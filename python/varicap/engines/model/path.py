"""A flow of a scenario and its path, as an analysis sees them: in plain numbers, with what stands in its way."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import varicap._core as _core
from varicap import units
from varicap.engines.model.alike import Alike
from varicap.engines.model.keys import Key


class Number(str):
    """A reason why a model does not fit that is a number: with another one there, and nothing else, it might."""


@dataclass(frozen=True)
class FlowPath:
    """One flow of a resolved scenario."""

    flow: Mapping[str, Any]
    """Its facts, as `_core.Scenario.facts` gives them."""
    links: tuple[Mapping[str, Any], ...]
    """The links to the receiver."""
    back: tuple[Mapping[str, Any], ...]
    """The links back to the sender."""
    alone: bool
    """Whether it has the network to itself."""
    scenario: _core.Scenario
    """What it is a flow of."""
    duration_s: float
    """How long a run lasts [s]."""
    warmup_s: float
    """How much of its beginning is not measured [s]."""
    starts_s: float
    """When it starts at the latest [s]."""
    keys: tuple[Key, ...]
    """The keys of the scenario that are in force for it."""
    alike: Alike
    """What it has in common with scenarios that differ in numbers alone."""

    @property
    def name(self) -> str:
        """The flow's name in results."""
        return str(self.flow["name"])

    @cached_property
    def tcp(self) -> Mapping[str, Any]:
        """The connection's options; empty for datagrams."""
        return dict(self.flow.get("tcp") or {})

    @property
    def measured_s(self) -> float:
        """How long a run measures [s]."""
        return self.duration_s - self.warmup_s

    @cached_property
    def bottlenecks(self) -> tuple[Mapping[str, Any], ...]:
        """The links to the receiver that have a finite capacity."""
        return tuple(link for link in self.links if link["mean_bps"] is not None)

    @property
    def link(self) -> Mapping[str, Any]:
        """The only bottleneck: `one_bottleneck` must have held."""
        return self.bottlenecks[0]

    @property
    def packet_bytes(self) -> float:
        """A full packet, as it is framed on the bottleneck [B]."""
        return float(self.link["framed_bytes"])

    @property
    def base_rtt_s(self) -> float:
        """Round trip without queueing and transmission [s]."""
        return float(self.flow["base_rtt_s"])

    @property
    def room_packets(self) -> float:
        """What the drop-tail queue of the bottleneck holds, whole packets as its limit counts them."""
        limit = self.link["limit_bytes"]
        return float("inf") if limit is None else float(limit // self.link["packet_bytes"])

    @property
    def window_packets(self) -> float:
        """The limit of the window, the least of the sender's and the receiver's [packets]."""
        limits = [self.flow[key] for key in ("max_window_bytes", "receive_window_bytes")]
        given = [limit / self.flow["mss_bytes"] for limit in limits if limit is not None]
        return min(given, default=float("inf"))

    @property
    def packets_per_ack(self) -> int:
        """Packets that an acknowledgement answers."""
        name, options = choice(self.tcp["ack"])
        return 1 if name == "every" else int((options or {}).get("segments", 2))

    @property
    def rounds_per_packet(self) -> int:
        """Round trips in which Reno's window opens by a packet: more than one where acknowledgements are counted."""
        return -(-self.packets_per_ack // int(min(self.packets_per_ack, self.counted_per_ack)))

    @property
    def counted_per_ack(self) -> float:
        """The most packets that an acknowledgement counts for when the window opens; infinite where all count."""
        counting, options = choice(self.tcp["counting"])
        limit = (choice(self.tcp["congestion"])[1] or {}).get("byte_counting")
        if limit is None:
            limit = {"acks": 1, "segments": float("inf")}.get(counting) or options["limit"]
        return max(1.0, float(limit))


def paths(scenario: _core.Scenario, alike: Alike | None = None) -> list[FlowPath]:
    """Every flow of a scenario with its path, in the order of the file; `alike` has been asked of others like it."""
    found = []
    alike = alike or Alike()
    document = alike.document(scenario)
    times = units.seconds(document["duration"]), units.seconds(document["warmup"])
    for network in json.loads(scenario.facts()):
        flows, links = network["flows"], network["links"]
        alone = sum(flow["count"] for flow in flows) == 1
        for flow in flows:
            there, back = (tuple(links[index] for index in flow[way]) for way in ("route", "route_back"))
            route = {link["path"]: "back" for link in back} | {link["path"]: "link" for link in there}
            given = document["flows"][flow["name"]]
            starts_s = units.seconds(given["start"]) + units.seconds(given["start_spread"])
            keys = alike.keys(scenario, route, flow["path"])
            found.append(FlowPath(flow, there, back, alone, scenario, *times, starts_s, keys, alike))
    return found


def choice(value: Any) -> tuple[str, Any]:
    """Name and options of a choice, such as ``"every"`` or ``{"delayed": {...}}``."""
    if isinstance(value, str):
        return value, None
    ((name, options),) = value.items()
    return name, options


def one_bottleneck(path: FlowPath) -> Iterator[str]:
    """What keeps a model of one greedy TCP flow over one drop-tail link from fitting."""
    flow = path.flow
    if not path.tcp:
        yield f"{flow['path']}.datagrams: the model is of TCP"
        return
    if not path.alone:
        yield f"{flow['path']}: other flows share its links (isolate = true gives each flow links of its own)"
    if choice(flow["app"])[0] != "greedy":
        yield f"{flow['path']}.app = {choice(flow['app'])[0]}: the model is of a flow that always has more to send"
    if len(path.bottlenecks) != 1:
        count = len(path.bottlenecks)
        yield f"{flow['path']}: {count} links of finite capacity lead to its receiver; the model has one"
        return
    link = path.link
    for slow in path.back:
        if slow["mean_bps"] is not None and _acks_fill(path, slow):
            yield f"{slow['path']}.capacity: acknowledgements may queue there; in the model they do not"
    if choice(link["queue"])[0] != "drop-tail":
        yield f"{link['path']}.queue = {choice(link['queue'])[0]}: the model's is drop-tail"
    for lossy in path.back:
        if lossy["loss"] != "none":
            yield f"{lossy['path']}.loss: in the model no acknowledgement is lost"


def _acks_fill(path: FlowPath, slow: Mapping[str, Any]) -> bool:
    """Whether a link back could carry fewer acknowledgements than the bottleneck carries packets."""
    header = units.size(path.tcp["header"]) or 1.0
    data_pps = path.link["mean_bps"] / path.packet_bytes
    return bool(slow["mean_bps"] / header < 2 * data_pps / path.packets_per_ack)


_MOST_JITTER = 0.05
"""Of a round trip, by which acknowledgements may be processed late: it only keeps instants from meeting."""


def rough(path: FlowPath) -> Iterator[str]:
    """What holds only roughly in every model: a flow of the long run, whose acknowledgements are heard as they come."""
    if path.flow["jitter_s"] > _MOST_JITTER * path.base_rtt_s:
        yield (
            f"{path.flow['path']}.jitter = {path.flow['jitter_s']:g} s: in the model acknowledgements are processed as "
            "they arrive"
        )
    if path.starts_s > path.warmup_s:
        yield (
            f"{path.flow['path']}.start: the flow may start {path.starts_s:g} s after the beginning, and is measured "
            f"from {path.warmup_s:g} s on (warmup); the model is of the long run"
        )


def no_loss(path: FlowPath) -> Iterator[str]:
    """What keeps a model without random loss from fitting."""
    for link in path.links:
        if link["loss"] != "none":
            yield f"{link['path']}.loss: the model knows only losses at a full queue"


def no_arq(path: FlowPath) -> Iterator[str]:
    """What keeps a model of links that send once from fitting."""
    for link in path.links:
        if link["arq"] is not None:
            yield f"{link['path']}.arq: in the model the link sends each packet once"


def no_reservation(path: FlowPath) -> Iterator[str]:
    """What keeps a model from fitting in which no packet is spared."""
    if path.flow["reservation"] is not None:
        yield f"{path.flow['path']}.reservation: in the model all packets are alike, and none is marked"


def no_source(path: FlowPath) -> Iterator[str]:
    """What keeps a model without rate control from fitting."""
    yield from no_reservation(path)
    if path.flow["abr"] is not None:
        yield f"{path.flow['path']}.abr: in the model the sender alone decides when to send"


def option(path: FlowPath, key: str, wanted: tuple[str, ...], why: str) -> Iterator[str]:
    """What keeps a model from fitting that knows only some choices of a TCP option."""
    name = choice(path.tcp[key])[0]
    if name not in wanted:
        yield f"{path.flow['path']}.tcp.{key} = {name}: the model knows {', '.join(wanted)}{why}"
