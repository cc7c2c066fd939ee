"""TCP behind an ABR source that a link advertises its rate to, or alone: scenarios that the analysis of [abr] fits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from varicap import units
from varicap.engines.model import chains, timeout
from varicap.engines.model.answer import Answer, Together
from varicap.engines.model.keys import BEGINNING, BOTTLENECK, GREEDY, PACKETS, table
from varicap.engines.model.path import FlowPath, Number, choice, no_arq, no_loss, no_reservation, one_bottleneck, option

if TYPE_CHECKING:
    from varicap.analyse.together import Computation

_LEVELS = 3
"""Of the rate that EFFCAP advertises: each multiplies the states."""


class RateControl(Together):
    """TCP over INSTCAP, EFFCAP, a constant rate, or alone, on a link whose capacity is a Markov chain of rates."""

    name = "abr"
    keys = (
        (PACKETS | BEGINNING | GREEDY | BOTTLENECK)
        | chains.KEYS
        | chains.FEEDBACK
        | table("tcp", "recovery", "congestion", "halving")
        | table("tcp", "max_window", "receive_window")
        | {"tcp.ack", "abr"}
        # Without bounds and steps; the first rate ends with the first feedback.
        | table("abr", "rate", "service", "initial")
        # What a sender without fast retransmit has no use for.
        | table("tcp", "dsack", "sack_list", "limited_transmit", "duplicate_acks", "reduce_once")
    ) | timeout.KEYS

    def misfits(self, path: FlowPath) -> Iterator[str]:
        """Assumptions that the flow breaks."""
        yield from one_bottleneck(path)
        if not path.tcp or not path.bottlenecks:
            return
        kind = choice(path.link["capacity"])[0]
        if kind not in chains.CHAINS:
            yield f"{path.link['path']}.capacity = {kind}: in the model it is a Markov chain of rates"
        if path.room_packets == float("inf"):
            yield Number(f"{path.link['path']}.queue: the model's buffer has a limit")
        yield from no_loss(path)
        yield from no_arq(path)
        yield from no_reservation(path)
        yield from option(path, "recovery", ("old-tahoe",), ": each loss costs a timeout")
        yield from option(path, "congestion", ("reno",), "")
        if path.window_packets == float("inf"):
            yield Number(f"{path.flow['path']}.tcp.max_window: the model wants a limit of the window")
        if path.packets_per_ack != 1:
            yield f"{path.flow['path']}.tcp.ack: in the model each packet is acknowledged"
        yield from self._source_misfits(path)

    def _source_misfits(self, path: FlowPath) -> Iterator[str]:
        source, feedback = path.flow["abr"], path.flow["feedback"]
        if source is None or source["rate_bps"] is not None or feedback is None:
            return
        yield from chains.feedback_misfits(path)

    def solving(self, path: FlowPath) -> "Computation[Answer]":
        """What the flow gets in the long run."""
        from varicap.analyse.effective import SlottedChain
        from varicap.analyse.models import abr as renewal

        lasting = chains.as_it_lasts(path, phases=1)
        slot_packets = float(lasting.capacity.max())
        source = path.flow["abr"]
        constant = None if source is None else source["rate_bps"]
        follows = source is not None and constant is None and path.flow["feedback"] is not None
        estimator = choice(path.flow["feedback"]["estimator"])[0] if follows else None
        link = (yield from chains.advertising(path, lasting, _LEVELS)) if follows else None
        states = lasting if link is None else link.capacity
        chain = SlottedChain(states.capacity / slot_packets, states.transition)
        whole_pps = slot_packets / path.base_rtt_s
        found = yield from renewal.solve(
            renewal.Parameters(
                slot_packets=slot_packets,
                buffer_packets=int(path.room_packets),
                capacity=chain,
                control="tcp" if source is None else "instcap" if constant is None else "constant",
                rate=None if constant is None else constant / 8 / path.flow["packet_bytes"] / whole_pps,
                advertised=None if link is None else tuple((link.advertised / slot_packets).tolist()),
                max_window=int(path.window_packets),
                payload_share=1.0,
            )
        )
        mean_pps = whole_pps * chain.mean
        return Answer(
            throughput_pps=found.optimistic * mean_pps,
            details={
                "efficiency": found.optimistic,
                "conservative_efficiency": found.conservative,
                "timeouts_per_s": found.timeouts_per_slot / path.base_rtt_s,
                "states": found.states,
            },
            strained=(
                *found.validity,
                *_late(path),
                *chains.by_its_slots(path),
                *(chains.far_apart(path) if estimator == "effective" else ()),
                *timeout.strained(path, found.timeouts_per_slot / path.base_rtt_s),
            ),
        )


def _late(path: FlowPath) -> Iterator[str]:
    """What strains INSTCAP, which hears in each delay of the capacity one delay ago."""
    source, feedback = path.flow["abr"], path.flow["feedback"]
    if source is None or source["rate_bps"] is not None or feedback is None:
        return
    name, options = choice(feedback["estimator"])
    if name != "instantaneous":
        return
    interval = options["interval"]
    if units.seconds(interval) > path.base_rtt_s:
        yield (
            f"{path.flow['path']}.feedback.estimator.instantaneous.interval = {interval}: in the model a change is "
            f"advertised within a round trip, {path.base_rtt_s:g} s"
        )
