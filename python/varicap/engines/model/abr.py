"""TCP behind an ABR source that a link advertises its rate to, or alone: scenarios that the analysis of [abr] fits."""

from collections.abc import Iterator
from math import isclose
from typing import TYPE_CHECKING, Any

from varicap import units
from varicap.engines.model import timeout
from varicap.engines.model.answer import Answer
from varicap.engines.model.keys import BEGINNING, BOTTLENECK, GREEDY, PACKETS, table
from varicap.engines.model.path import FlowPath, choice, no_arq, no_loss, no_reservation, one_bottleneck, option

if TYPE_CHECKING:
    import numpy as np

_ROUNDING = 1e-9


class RateControl:
    """TCP over INSTCAP, over a constant rate, or alone, on a link whose capacity is a slotted Markov chain."""

    name = "abr"
    keys = (
        (PACKETS | BEGINNING | GREEDY | BOTTLENECK)
        | table("link.capacity.slotted-markov", "rates", "step", "transitions", "start")
        | table("tcp", "recovery", "congestion", "halving")
        | table("tcp", "max_window", "receive_window")
        | {"tcp.ack", "abr", "feedback"}
        # Without bounds and steps; the first rate ends with the first feedback.
        | table("abr", "rate", "service", "initial")
        | table("feedback", "link", "links", "share", "estimator", "estimator.instantaneous.interval", "delay")
        # What a sender without fast retransmit has no use for.
        | table("tcp", "dsack", "limited_transmit", "duplicate_acks", "reduce_once")
    ) | timeout.KEYS

    def misfits(self, path: FlowPath) -> Iterator[str]:
        """Assumptions that the flow breaks."""
        yield from one_bottleneck(path)
        if not path.tcp or not path.bottlenecks:
            return
        kind = choice(path.link["capacity"])[0]
        if kind != "slotted-markov":
            yield f"{path.link['path']}.capacity = {kind}: in the model it is a slotted Markov chain"
        if path.room_packets == float("inf"):
            yield f"{path.link['path']}.queue: the model's buffer has a limit"
        yield from no_loss(path)
        yield from no_arq(path)
        yield from no_reservation(path)
        yield from option(path, "recovery", ("old-tahoe",), ": each loss costs a timeout")
        yield from option(path, "congestion", ("reno",), "")
        if path.window_packets == float("inf"):
            yield f"{path.flow['path']}.tcp.max_window: the model wants a limit of the window"
        if path.packets_per_ack != 1:
            yield f"{path.flow['path']}.tcp.ack: in the model each packet is acknowledged"
        yield from self._source_misfits(path)

    def _source_misfits(self, path: FlowPath) -> Iterator[str]:
        source, feedback = path.flow["abr"], path.flow["feedback"]
        if source is None or source["rate_bps"] is not None or feedback is None:
            return
        key = path.flow["path"]
        estimator = choice(feedback["estimator"])[0]
        if estimator != "instantaneous":
            yield f"{key}.feedback.estimator = {estimator}: in the model the last capacity is advertised (INSTCAP)"
        if not isclose(feedback["delay_s"], path.base_rtt_s, rel_tol=1e-6):
            yield (
                f"{key}.feedback.delay = {feedback['delay_s']:g} s: in the model it is the round trip, "
                f"{path.base_rtt_s:g} s"
            )

    def solve(self, path: FlowPath) -> Answer:
        """What the flow gets in the long run."""
        import numpy as np

        from varicap.analyse.effective import SlottedChain
        from varicap.analyse.models import abr as renewal

        options = choice(path.link["capacity"])[1]
        rates = np.array([units.bits_per_second(rate) for rate in options["rates"]])
        whole_pps = float(rates.max()) / 8 / path.packet_bytes
        chain = SlottedChain(rates / rates.max(), _per_delay(options, path.base_rtt_s))
        source = path.flow["abr"]
        constant = None if source is None else source["rate_bps"]
        found = renewal.efficiency(
            renewal.Parameters(
                slot_packets=whole_pps * path.base_rtt_s,
                buffer_packets=int(path.room_packets),
                capacity=chain,
                control="tcp" if source is None else "instcap" if constant is None else "constant",
                rate=None if constant is None else constant / 8 / path.flow["packet_bytes"] / whole_pps,
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
                *timeout.strained(path, found.timeouts_per_slot / path.base_rtt_s),
            ),
        )


def _late(path: FlowPath) -> Iterator[str]:
    """What strains INSTCAP, which hears in each delay of the capacity one delay ago."""
    source, feedback = path.flow["abr"], path.flow["feedback"]
    if source is None or source["rate_bps"] is not None or feedback is None:
        return
    interval = choice(feedback["estimator"])[1]["interval"]
    if units.seconds(interval) > path.base_rtt_s:
        yield (
            f"{path.flow['path']}.feedback.estimator.instantaneous.interval = {interval}: in the model a change is "
            f"advertised within a round trip, {path.base_rtt_s:g} s"
        )


def _per_delay(options: dict[str, Any], delay_s: float) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Transition matrix from one delay to the next: as often as in the scenario's chain, at the ends of delays only."""
    import numpy as np

    steps = delay_s / units.seconds(options["step"])
    each = np.array([[units.share(str(value)) for value in row] for row in options["transitions"]])
    matrix = np.eye(len(each)) + steps * (each - np.eye(len(each)))
    if (matrix < -_ROUNDING).any():
        shortest = 1 / (1 - each.diagonal().min()) / steps
        raise ValueError(f"the capacity stays for {shortest:.2g} round trips on average: the model wants 1 or more")
    return np.maximum(matrix, 0.0)
