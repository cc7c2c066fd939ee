"""Reno on a fixed link, and Reno under random loss: scenarios that the closed forms fit."""

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING

from varicap import units
from varicap.engines.model import timeout
from varicap.engines.model.answer import Answer
from varicap.engines.model.keys import ACKNOWLEDGEMENTS, BEGINNING, BOTTLENECK, GREEDY, PACKETS, table
from varicap.engines.model.path import FlowPath, choice, no_arq, no_loss, no_source, one_bottleneck, option

if TYPE_CHECKING:
    from varicap.analyse.models import pftk

_RECOVERIES = ("reno", "newreno", "sack", "rack")
_RENO = (
    (PACKETS | BEGINNING | GREEDY | BOTTLENECK | ACKNOWLEDGEMENTS)
    | table(
        "tcp", "recovery", "congestion", "congestion.reno.byte_counting", "counting", "max_window", "receive_window"
    )
    # How a loss is found and repaired, as Linux does it: the simulator's answers with and without are compared.
    | table("tcp.recovery.rack", "reduction", "tail_loss_probe", "frto", "undo", "keep_in_flight", "check_echo")
    | table("tcp", "dsack", "limited_transmit", "halving", "reduce_once")
)
_MOST_USED = 0.7
"""Of the capacity, by a flow that random loss limits: above it the queue has a say."""
_MOST_WAITING = 0.2
"""Of the time, in timeouts: above it the simulator's NewReno and SACK get 10 to 40 % more where nothing spares them."""


class Sawtooth:
    """Reno alone on a fixed link with a drop-tail buffer."""

    name = "sawtooth"
    # Nothing times out: a timer of these kinds is longer than the round trips that it has seen.
    keys = _RENO | (timeout.KEYS - {"tcp.timer"}) | {"tcp.timer = linux", "tcp.timer = rfc6298", "tcp.timer = ticks"}

    def misfits(self, path: FlowPath) -> Iterator[str]:
        """Assumptions that the flow breaks."""
        yield from one_bottleneck(path)
        if not path.tcp or not path.bottlenecks:
            return
        yield from _constant(path)
        yield from no_loss(path)
        yield from no_arq(path)
        yield from option(path, "recovery", _RECOVERIES, ", which halve the window at a loss")
        yield from option(path, "congestion", ("reno",), "")
        yield from no_source(path)
        if 1 < path.packets_per_ack >= path.room_packets:
            yield (
                f"{path.link['path']}.queue: in the model it holds more than the {path.packets_per_ack} packets "
                "that an acknowledgement lets go at once"
            )

    def solve(self, path: FlowPath) -> Answer:
        """What the flow gets in the long run."""
        from varicap.analyse.models import sawtooth

        rate = path.link["mean_bps"] / 8 / path.packet_bytes
        counted = choice(path.link["queue"])[1]["counts_in_service"]
        parameters = sawtooth.Parameters(
            capacity_pps=rate,
            round_trip_s=path.base_rtt_s + 1 / rate,
            waiting_packets=max(0.0, path.room_packets - counted),
            packets_per_ack=path.packets_per_ack,
            rounds_per_packet=path.rounds_per_packet,
            max_window_packets=path.window_packets,
        )
        found = sawtooth.throughput(parameters)
        return Answer(
            throughput_pps=found.throughput_pps,
            details={
                "cwnd_low_packets": found.low_packets,
                "cwnd_peak_packets": found.peak_packets,
                "period_s": found.period_s,
                "utilisation": found.utilisation,
            },
            strained=tuple(_too_short(path, found.period_s)),
        )


def _too_short(path: FlowPath, period_s: float) -> Iterator[str]:
    if path.measured_s < period_s < inf:
        yield (
            f"duration: {path.measured_s:g} s are measured, less than a cycle of the window ({period_s:.3g} s): the "
            "model is of the long run"
        )


class RandomLoss:
    """Reno that random loss limits, on links that never fill."""

    name = "pftk"
    keys = _RENO | timeout.KEYS | {"tcp.duplicate_acks", "link.loss"}

    def misfits(self, path: FlowPath) -> Iterator[str]:
        """Assumptions that the flow breaks."""
        if path.tcp:
            yield from option(path, "recovery", _RECOVERIES, ", which halve the window at a loss")
            yield from option(path, "congestion", ("reno",), "")
            yield from no_source(path)
        yield from no_arq(path)
        losses = [link for link in path.links if link["loss"] != "none"]
        if len(losses) != 1 or choice(losses[0]["loss"])[0] != "bernoulli":
            yield f"{path.flow['path']}: the model wants independent loss (bernoulli) on one link to the receiver"
        if path.bottlenecks:
            yield from one_bottleneck(path)
            yield from _constant(path)
        elif choice(path.flow.get("app", "datagrams"))[0] != "greedy":
            yield f"{path.flow['path']}: the model is of a TCP flow that always has more to send"

    def solve(self, path: FlowPath) -> Answer:
        """What the flow gets in the long run."""
        from varicap.analyse.models import pftk

        packet = path.packet_bytes if path.bottlenecks else float(path.flow["packet_bytes"])
        capacity = path.link["mean_bps"] / 8 / packet if path.bottlenecks else float("inf")
        round_trip = path.base_rtt_s + 1 / capacity
        # Several losses in a window cost plain Reno a timeout in any case.
        spared = choice(path.tcp["recovery"])[0] != "reno"
        (loss,) = (choice(link["loss"])[1] for link in path.links if link["loss"] != "none")
        parameters = pftk.Parameters(
            loss=units.share(str(loss)),
            round_trip_s=round_trip,
            timeout_s=timeout.expires_s(path.tcp["timer"], round_trip),
            # In this model it stands for the growth of the window alone.
            packets_per_ack=path.rounds_per_packet,
            max_window_packets=path.window_packets,
            duplicate_acks=1 if spared and path.tcp["limited_transmit"] else int(path.tcp["duplicate_acks"]),
        )
        found = pftk.throughput(parameters)
        if found.send_pps > _MOST_USED * capacity:
            share = found.send_pps / capacity
            raise ValueError(f"random loss would let the flow use {share:.0%} of the link: the queue has a say, too")
        return Answer(
            throughput_pps=found.throughput_pps,
            details={
                "cwnd_peak_packets": found.mean_peak_packets,
                "timeout_share": found.timeout_share,
                "waiting_share": found.waiting_share,
            },
            strained=tuple(_strained(path, found)) if spared else (),
        )


def _strained(path: FlowPath, found: "pftk.Result") -> Iterator[str]:
    if found.waiting_share > _MOST_WAITING:
        recovery = choice(path.tcp["recovery"])[0]
        yield (
            f"{found.waiting_share:.0%} of the time would be spent in timeouts, of which this model of bursts of "
            f"losses has more than {recovery} has when losses are independent"
        )


def _constant(path: FlowPath) -> Iterator[str]:
    for link in path.bottlenecks:
        kind = choice(link["capacity"])[0]
        if kind != "constant":
            yield f"{link['path']}.capacity = {kind}: in the model it does not change"
