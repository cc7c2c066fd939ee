"""Reno on a fixed link, and Reno under random loss: scenarios that the closed forms fit."""

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING

from varicap import units
from varicap.engines.model import timeout
from varicap.engines.model.answer import Answer, Model
from varicap.engines.model.keys import ACKNOWLEDGEMENTS, BEGINNING, BOTTLENECK, GREEDY, PACKETS, table
from varicap.engines.model.path import FlowPath, Number, choice, no_arq, no_loss, no_source, one_bottleneck, option

if TYPE_CHECKING:
    from varicap.analyse.models import pftk, sawtooth

_RECOVERIES = ("reno", "newreno", "sack", "rack")
_RENO = (
    (PACKETS | BEGINNING | GREEDY | BOTTLENECK | ACKNOWLEDGEMENTS)
    | table(
        "tcp", "recovery", "congestion", "congestion.reno.byte_counting", "counting", "max_window", "receive_window"
    )
    # How a loss is found and repaired, as Linux does it: the simulator's answers with and without are compared.
    | table("tcp.recovery.rack", "reduction", "tail_loss_probe", "frto", "undo", "keep_in_flight", "check_echo")
    | table("tcp", "dsack", "sack_list", "limited_transmit", "halving", "reduce_once")
)
_MOST_USED = 0.7
"""Of the capacity, by a flow that random loss limits: above it the queue has a say."""
_MOST_WAITING = {"reno": 0.2, "newreno": 0.06, "sack": 0.06, "rack": 0.1}
"""Of the time, in timeouts.  The model takes all that follows a loss in its round trip for lost; where losses are
independent, fewer of them end in a timeout, and above these shares the simulator gets more than the bound allows."""
_BURSTS = 3
"""That a buffer has room for: in smaller ones the phase of the queue decides which packet is lost."""
_MOST_OF_A_START = 0.01
"""Of what the flow gets, which the first cycles may move."""


class Sawtooth(Model):
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
        if _room(path) <= _burst(path):
            yield Number(
                f"{path.link['path']}.queue: in the model it holds more than the {_burst(path)} packets that an "
                "acknowledgement lets go at once as the window opens"
            )

    def solve(self, path: FlowPath) -> Answer:
        """What the flow gets in the long run."""
        from varicap.analyse.models import sawtooth

        rate = path.link["mean_bps"] / 8 / path.packet_bytes
        parameters = sawtooth.Parameters(
            capacity_pps=rate,
            round_trip_s=path.base_rtt_s + 1 / rate,
            waiting_packets=max(0.0, _room(path) - 1),
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
            strained=(*_too_short(path, found, parameters), *_too_small(path)),
        )


def _room(path: FlowPath) -> float:
    """Packets at the link at most, with the one in service."""
    kind, options = choice(path.link["queue"])
    waits = kind == "drop-tail" and not options["counts_in_service"]
    return path.room_packets + (1 if waits else 0)


def _burst(path: FlowPath) -> int:
    """Packets that an acknowledgement lets go where the window opens by one."""
    return path.packets_per_ack + 1


def _too_small(path: FlowPath) -> Iterator[str]:
    if _room(path) < _BURSTS * _burst(path):
        yield (
            f"{path.link['path']}.queue: {_room(path):g} packets at the link are less than {_BURSTS} of the "
            f"bursts of {_burst(path)} that acknowledgements let go: which packet is lost depends on instants"
        )


def _too_short(path: FlowPath, found: "sawtooth.Result", parameters: "sawtooth.Parameters") -> Iterator[str]:
    """Cycles that are measured in part, and the way to the first one.

    Where the link is used for a share that rises in time from u to 1, a part of the cycle has at most an eighth of
    (1 - u) of its time more or less than its share.  Slow start ends where half of its window overflows the buffer, so
    that the first window may be as small as that, and grows to those of the cycle.
    """
    if found.period_s == inf:
        return
    least = min(1.0, found.low_packets / parameters.pipe)
    odd_s = (1 - least) * found.period_s / 8
    first = min(found.low_packets, parameters.waiting_packets)
    climb_s = (found.low_packets - first) * (parameters.rounds_per_packet or 1) * parameters.round_trip_s
    missing_s = max(0.0, climb_s - path.warmup_s) * max(0.0, found.utilisation - first / parameters.pipe)
    share = (odd_s + missing_s) / (found.utilisation * path.measured_s)
    if path.measured_s < found.period_s or share > _MOST_OF_A_START:
        yield (
            f"duration: {path.measured_s:g} s are measured, and a cycle of the window takes {found.period_s:.3g} s "
            f"(the first one may begin {climb_s:.3g} s late): the model is of the long run"
        )


class RandomLoss(Model):
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
            strained=tuple(_strained(path, found)),
        )


def _strained(path: FlowPath, found: "pftk.Result") -> Iterator[str]:
    recovery = choice(path.tcp["recovery"])[0]
    if found.waiting_share > _MOST_WAITING[recovery]:
        yield (
            f"{found.waiting_share:.0%} of the time would be spent in timeouts, of which this model of bursts of "
            f"losses has more than {recovery} has when losses are independent"
        )


def _constant(path: FlowPath) -> Iterator[str]:
    for link in path.bottlenecks:
        kind = choice(link["capacity"])[0]
        if kind != "constant":
            yield f"{link['path']}.capacity = {kind}: in the model it does not change"
