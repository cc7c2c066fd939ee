"""TCP alone on a wireless link with ARQ: scenarios that the analysis of [wireless] fits."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from varicap import units
from varicap.engines.model import timeout
from varicap.engines.model.answer import Answer, Together
from varicap.engines.model.keys import ACKNOWLEDGEMENTS, BEGINNING, BOTTLENECK, GREEDY, PACKETS, table
from varicap.engines.model.path import FlowPath, Number, choice, no_source, one_bottleneck, option

if TYPE_CHECKING:
    from varicap.analyse.models import wireless
    from varicap.analyse.models.wireless_channel import Channel
    from varicap.analyse.together import Computation

_LEAST_PACKETS, _LEAST_ROOM, _MOST_ROOM = 16, 0.18, 0.3
"""Packets of buffer; pipes of buffer."""
_LEAST_OUTPUT = 0.7
"""Share of the slots in which something is received."""
_MOST_BAD_PACKETS = 2.5
"""Packets that the channel could send in a bad time.  These limits are of random links on which the simulator was
compared: beyond them it got 0.7 to 2.4 times of what the model says."""
_RECOVERIES = ("tahoe", "reno", "newreno", "sack", "rack")


class Arq(Together):
    """Tahoe over a stop-and-wait ARQ link on a Markov or fading channel: 3/4 of the effective capacity."""

    name = "wireless"
    keys = (
        (PACKETS | BEGINNING | GREEDY | BOTTLENECK | ACKNOWLEDGEMENTS)
        | {"link.arq", "link.loss"}
        | table("link.arq", "slot", "aligned", "window", "ack_delay", "max_retransmissions")
        | table("link.loss.markov", "good", "bad", "delivered")
        | table("link.loss.rayleigh", "doppler", "threshold_db", "delivered", "oscillators")
        | table("link.loss.states", "delivered", "mean_holding", "jumps", "start")
        | table("tcp", "recovery", "congestion", "congestion.reno.byte_counting", "counting", "halving")
        | table("tcp", "max_window", "receive_window", "limited_transmit", "dsack", "sack_list", "reduce_once")
        # The window of a recovery that is not Tahoe's strains the model anyway.
        | table("tcp.recovery.rack", "reduction", "tail_loss_probe", "frto", "undo", "keep_in_flight", "check_echo")
        # Timeouts are rare.
        | {"tcp.timer = linux", "tcp.timer = rfc6298", "tcp.timer = ticks", "tcp.halve_at_each_timeout"}
        | (timeout.KEYS - {"tcp.timer"})
        | table("tcp.timer.ticks", "deviations", "maximum_backoff", "samples", "on_tick")
        # Less than a segment of windows of dozens: in all, habits of 4.3BSD cost [wireless]'s Tahoe 0.7 %.
        | {"tcp.rounding", "tcp.congestion.reno.slow_start_at_ssthresh", "tcp.tahoe_resends"}
    )

    def misfits(self, path: FlowPath) -> Iterator[str]:
        """Assumptions that the flow breaks."""
        yield from one_bottleneck(path)
        if not path.tcp or not path.bottlenecks:
            return
        link, key = path.link, path.link["path"]
        if choice(link["capacity"])[0] != "constant":
            yield f"{key}.capacity = {choice(link['capacity'])[0]}: in the model it does not change"
        if choice(link["loss"])[0] == "gilbert-elliott":
            yield f"{key}.loss = gilbert-elliott: the model's channel changes in time, not with each frame"
        for other in path.links:
            if other is not link and other["loss"] != "none":
                yield f"{other['path']}.loss: the model knows only the losses that ARQ hides"
        if path.room_packets == float("inf"):
            yield Number(f"{key}.queue: the model's buffer has a limit")
        if link["arq"] is None:
            yield f"{key}.arq: the model is of a link that resends what it loses"
        else:
            yield from _arq_misfits(key, link["arq"])
            if path.window_packets < path.room_packets + _pipe(path):
                yield Number(
                    f"{path.flow['path']}.tcp.max_window = {path.window_packets:g} packets: in the model the window "
                    "grows until the buffer overflows"
                )
        yield from option(path, "recovery", _RECOVERIES, "")
        yield from option(path, "congestion", ("reno",), "")
        yield from no_source(path)

    def solving(self, path: FlowPath) -> "Computation[Answer]":
        """What the flow gets in the long run."""
        from varicap.analyse.models import wireless

        channel, pipe = _channel(path.link), _pipe(path)
        parameters = _parameters(path, channel)
        printed = fixed = yield from wireless.solve(parameters)
        if pipe > 1:
            fixed = yield from wireless.solve(replace(parameters, tolerated_loss=1 / pipe**2))
        return Answer(
            throughput_pps=printed.throughput_pps,
            details={
                "effective_pps": printed.effective_pps,
                "loss_probability": printed.loss_probability,
                "output_share": printed.output,
                "raw_pipe_packets": pipe,
                "effective_pps_by_raw_pipe": fixed.effective_pps,
                "throughput_pps_by_raw_pipe": fixed.throughput_pps,
            },
            strained=tuple(_strained(path, channel, printed)),
        )


def _arq_misfits(key: str, arq: Mapping[str, Any]) -> Iterator[str]:
    if arq["window"] != 1:
        yield f"{key}.arq.window = {arq['window']}: in the model the link waits for each frame"
    if arq["ack_delay_s"]:
        yield f"{key}.arq.ack_delay = {arq['ack_delay_s']:g} s: in the model the link knows at once what was received"
    if arq["max_retransmissions"] is not None:
        yield (
            f"{key}.arq.max_retransmissions = {arq['max_retransmissions']}: in the model the link resends until a "
            "frame is received"
        )
    if not arq["aligned"]:
        yield f"{key}.arq.aligned = false: in the model transmissions begin with slots"


def _strained(path: FlowPath, channel: "Channel", found: "wireless.Result") -> Iterator[str]:
    yield from found.validity
    room, pipe = path.room_packets, _pipe(path)
    if room < max(_LEAST_PACKETS, _LEAST_ROOM * pipe):
        yield (
            f"{path.link['path']}.queue: its {room:g} packets are fewer than {_LEAST_PACKETS}, or than {_LEAST_ROOM} "
            f"of the pipe ({pipe:.3g} packets): the window's bursts overflow it, which the model's arrivals do not"
        )
    if found.output < _LEAST_OUTPUT:
        yield (
            f"{path.link['path']}.loss: {found.output:.0%} of what is sent is received: with less than "
            f"{_LEAST_OUTPUT:.0%} TCP gets more than 3/4 of what a queue with independent arrivals leaves"
        )
    if room > _MOST_ROOM * pipe:
        yield (
            f"{path.link['path']}.queue: its {room:g} packets are more than {_MOST_ROOM} of the pipe ({pipe:.3g} "
            "packets): TCP gets more than 3/4 of what the channel leaves"
        )
    bad = _bad_s(channel) / (path.link["arq"]["slot_s"] * path.link["arq"]["cells_per_packet"])
    if bad > _MOST_BAD_PACKETS:
        yield (
            f"{path.link['path']}.loss: the channel is bad for the time of {bad:.3g} packets: with more than "
            f"{_MOST_BAD_PACKETS} the overflow of a queue with independent arrivals is not that of TCP's"
        )
    recovery = choice(path.tcp["recovery"])[0]
    if recovery != "tahoe":
        yield f"the model is of Tahoe: {recovery} reduces its window otherwise when several packets are lost"
    if path.packets_per_ack != 1:
        yield "in the model each packet is acknowledged: with fewer acknowledgements the window grows more slowly"


def _pipe(path: FlowPath) -> float:
    """The product of raw capacity and round trip [packets]."""
    arq = path.link["arq"]
    return float(path.base_rtt_s / (arq["slot_s"] * arq["cells_per_packet"]))


def _parameters(path: FlowPath, channel: "Channel") -> "wireless.Parameters":
    from varicap.analyse.models import wireless

    arq = path.link["arq"]
    cells = int(arq["cells_per_packet"])
    counted = choice(path.link["queue"])[1]["counts_in_service"]
    return wireless.Parameters(
        slot=channel.slot(arq["slot_s"]),
        slot_s=arq["slot_s"],
        # The model's buffer counts the frame in service.
        buffer_frames=int(arq["room_cells"]) + (0 if counted else cells),
        round_trip_s=path.base_rtt_s,
        segments=cells,
    )


def _bad_s(channel: "Channel") -> float:
    """How long the channel stays in states in which less is received than on average, each time [s]."""
    import numpy as np

    from varicap.analyse import markov

    fastest = float(-np.diag(channel.rates).min())
    if not fastest > 0:
        return 0.0
    share = markov.stationary(np.eye(len(channel.success)) + channel.rates / (2 * fastest))
    bad = channel.success < share @ channel.success
    left_per_s = float((share[bad, None] * channel.rates[np.ix_(bad, ~bad)]).sum())
    return float(share[bad].sum()) / left_per_s if left_per_s > 0 else 0.0


def _channel(link: Mapping[str, Any]) -> "Channel":
    """The channel of a link, in continuous time."""
    import numpy as np

    from varicap.analyse.fading import Rayleigh
    from varicap.analyse.models.wireless_channel import Channel

    channel = link["channel"]
    if channel is None:
        kind, share = choice(link["loss"])
        return Channel.independent(0.0 if kind == "none" else units.share(str(share)))
    delivered = channel["delivered"]
    if channel["law"] == "markov":
        return Channel.good_bad(good_s=channel["good_s"], bad_s=channel["bad_s"], error=1 - delivered)
    if channel["law"] == "rayleigh":
        signal = Rayleigh(doppler_hz=channel["doppler_hz"], level_db=channel["threshold_db"])
        return Channel.rayleigh(signal, error=1 - delivered)
    states = len(delivered)
    jumps = np.asarray(channel["jumps"] or (1 - np.eye(states)) / max(states - 1, 1), dtype=float)
    rates = jumps / np.asarray(channel["mean_holding_s"])[:, None]
    return Channel(rates - np.diag(rates.sum(axis=1)), np.asarray(delivered, dtype=float))
