"""A flow beside ephemeral sessions, or alone on rates that follow a chain: what the analysis of [ratcp] fits."""

from collections.abc import Iterator
from math import isclose
from typing import TYPE_CHECKING

from varicap import units
from varicap.engines.model import chains, timeout
from varicap.engines.model.answer import Answer, Together
from varicap.engines.model.keys import BEGINNING, BOTTLENECK, GREEDY, PACKETS, table
from varicap.engines.model.path import FlowPath, Number, choice, no_arq, no_loss, no_source, one_bottleneck, option

if TYPE_CHECKING:
    from varicap.analyse.together import Computation

_MOST_ACK_DELAY = 0.5
"""Of a round trip, which a delayed acknowledgement may wait."""


_LEVELS = 4
"""Of the rate that an estimator advertises: each multiplies the states."""
_OTHER_RTT = 0.1
"""By which the RTT that makes a window of a rate may differ from the round trip."""
_ROUNDING = 1e-9
_SHORTEST, _LEAST_ROOM = 12.0, 0.4
"""Round trips that a rate lasts at least, and pipes of buffer, where the model was compared with the simulator."""


class Sessions(Together):
    """RATCP or TCP, each loss a timeout, on a link that ephemeral sessions share, or on a Markov chain of rates."""

    name = "ratcp"
    keys = (
        (PACKETS | BEGINNING | GREEDY | BOTTLENECK)
        | table("link.capacity.sessions", "capacity", "arrivals", "mean_size", "at_most")
        | table("tcp", "recovery", "congestion", "counting", "congestion.reno.byte_counting", "halving")
        | table("tcp", "max_window", "receive_window")
        | table("tcp.congestion.ratcp", "beta", "rtt")
        | {"tcp.ack"}
        | table("tcp.ack.delayed", "segments", "timeout")
        | {"feedback"}
        | table("feedback", "link", "links", "share", "estimator", "delay", "quantum", "loss")
        | chains.KEYS
        | chains.FEEDBACK
        # What a sender without fast retransmit has no use for.
        | table("tcp", "dsack", "sack_list", "limited_transmit", "duplicate_acks", "reduce_once")
    ) | timeout.KEYS

    def misfits(self, path: FlowPath) -> Iterator[str]:
        """Assumptions that the flow breaks."""
        yield from one_bottleneck(path)
        if not path.tcp or not path.bottlenecks:
            return
        kind = choice(path.link["capacity"])[0]
        if kind not in ("sessions", "constant", *chains.CHAINS):
            yield (
                f"{path.link['path']}.capacity = {kind}: in the model ephemeral sessions change it, a Markov chain, or "
                "nothing"
            )
        if path.room_packets == float("inf"):
            yield Number(f"{path.link['path']}.queue: the model's buffer has a limit")
        yield from no_loss(path)
        yield from no_arq(path)
        yield from option(path, "recovery", ("old-tahoe",), ": each loss costs a timeout")
        yield from option(path, "congestion", ("ratcp", "reno"), "")
        pipe = path.link["mean_bps"] / 8 / path.packet_bytes * path.base_rtt_s
        if kind in chains.CHAINS and path.window_packets < float("inf"):
            yield Number(f"{path.flow['path']}.tcp.max_window: on a chain of rates losses alone limit the window")
        if kind == "sessions" and path.window_packets < path.room_packets + pipe:
            yield Number(f"{path.flow['path']}.tcp: its window is limited; in the model it is not")
        yield from no_source(path)
        yield from smoothed_rtt(path)
        if kind in chains.CHAINS and choice(path.tcp["congestion"])[0] == "ratcp":
            yield from chains.feedback_misfits(path)
        elif kind not in chains.CHAINS:
            yield from self._feedback_misfits(path)

    def _feedback_misfits(self, path: FlowPath) -> Iterator[str]:
        feedback = path.flow["feedback"]
        if choice(path.tcp["congestion"])[0] != "ratcp" or feedback is None:
            return
        key = f"{path.flow['path']}.feedback"
        name, options = choice(feedback["estimator"])
        if name != "exact" or (options or {}).get("interval"):
            yield f"{key}.estimator: in the model each change of the rate is advertised exactly"
        yield from chains.update_misfits(path)

    def solving(self, path: FlowPath) -> "Computation[Answer]":
        """What the flow gets in the long run."""
        kind = choice(path.link["capacity"])[0]
        if kind == "constant":
            found = _alone(path)
        else:
            found = yield from (_on_a_chain if kind in chains.CHAINS else _among_sessions)(path)
        strained = (*found.strained, *_strained(path))
        return Answer(throughput_pps=found.throughput_pps, details=found.details, strained=strained)


def _among_sessions(path: FlowPath) -> "Computation[Answer]":
    """By Markov renewal analysis."""
    from varicap.analyse.models import ratcp as renewal

    options = choice(path.link["capacity"])[1]
    control = choice(path.tcp["congestion"])[0]
    parameters = renewal.Parameters(
        capacity_pps=_capacity_pps(path),
        packet_bytes=path.packet_bytes,
        delay_s=path.base_rtt_s,
        buffer_packets=int(path.room_packets),
        counts_in_service=choice(path.link["queue"])[1]["counts_in_service"],
        control="ratcp" if control == "ratcp" else "tcp",
        backlog_packets=target_packets(path) if control == "ratcp" else 0,
        growth="per-ack" if path.rounds_per_packet == 1 else "delayed",
        known_rtt_s=known_rtt_s(path) if control == "ratcp" else None,
        arrival_rate=units.per_second(options["arrivals"]),
        max_sessions=int(options["at_most"]),
        mean_session_packets=units.size(options["mean_size"]) / path.packet_bytes,
    )
    found = yield from renewal.solve(parameters)
    return Answer(
        throughput_pps=found.throughput_pps,
        details={
            "fair_share_bps": found.fair_share_pps * path.packet_bytes * 8,
            "timeouts_per_s": found.timeouts_per_s,
            "mean_cycle_s": found.mean_cycle_s,
            "states": found.states,
        },
        strained=(*found.validity, *_strained_by_rules(path), *timeout.strained(path, found.timeouts_per_s)),
    )


def _on_a_chain(path: FlowPath) -> "Computation[Answer]":
    """By the same analysis, with the capacity's states in the place of the sessions."""
    from varicap.analyse import advertised
    from varicap.analyse.models import ratcp_rates

    chain = chains.as_it_lasts(path)
    ratcp = choice(path.tcp["congestion"])[0] == "ratcp"
    counted = choice(path.link["queue"])[1]["counts_in_service"]
    parameters = ratcp_rates.Parameters(
        link=(yield from chains.advertising(path, chain, _LEVELS)) if ratcp else advertised.exact(chain),
        room_packets=int(path.room_packets) + (0 if counted else 1),
        control="ratcp" if ratcp else "tcp",
        backlog_packets=target_packets(path) if ratcp else 0,
        known_slots=known_rtt_s(path) / path.base_rtt_s if ratcp else 1.0,
        growth="per-ack" if path.rounds_per_packet == 1 else "delayed",
    )
    found = yield from ratcp_rates.solve(parameters)
    timeouts_per_s = found.timeouts_per_slot / path.base_rtt_s
    return Answer(
        throughput_pps=found.packets_per_slot / path.base_rtt_s,
        details={"utilisation": found.utilisation, "timeouts_per_s": timeouts_per_s, "states": found.states},
        strained=(
            *found.validity,
            *chains.beyond_the_grid(path, shortest=_SHORTEST, least_room=_LEAST_ROOM),
            *_strained_by_rules(path),
            *timeout.strained(path, timeouts_per_s),
        ),
    )


def _alone(path: FlowPath) -> Answer:
    """On a link that nothing changes: by following the cycle of the window."""
    from varicap.analyse.models import timeout_cycle

    control = choice(path.tcp["congestion"])[0]
    window = None
    if control == "ratcp":
        window = max(1, int(_capacity_pps(path) * known_rtt_s(path) + _ROUNDING) + target_packets(path))
    name, ack = choice(path.tcp["ack"])
    counted = choice(path.link["queue"])[1]["counts_in_service"]
    parameters = timeout_cycle.Parameters(
        capacity_pps=_capacity_pps(path),
        delay_s=path.base_rtt_s,
        room_packets=int(path.room_packets) + (0 if counted else 1),
        rate_window=window,
        max_window=path.window_packets,
        packets_per_ack=path.packets_per_ack,
        counted_per_ack=path.counted_per_ack,
        ack_delay_s=units.seconds(ack["timeout"]) if name == "delayed" else 0.0,
        timer=timeout.law(path.tcp["timer"]),
    )
    found = timeout_cycle.throughput(parameters)
    return Answer(
        throughput_pps=found.throughput_pps,
        details={
            "cwnd_peak_packets": found.peak_packets,
            "timeouts_per_s": found.timeouts_per_s,
            "period_s": found.period_s,
        },
        strained=(*found.validity, *timeout.coarse(path, found.timeouts_per_s)),
    )


def _strained_by_rules(path: FlowPath) -> Iterator[str]:
    """What the renewal analysis has otherwise."""
    if path.counted_per_ack > path.packets_per_ack:
        yield (
            f"{path.flow['path']}.tcp.counting = {choice(path.tcp['counting'])[0]}: the acknowledgement of all that a "
            "timeout has held up opens the window at once; in the model it opens by a packet per acknowledgement"
        )
    if choice(path.tcp["congestion"])[0] == "ratcp" and not isclose(
        known_rtt_s(path), path.base_rtt_s, rel_tol=_OTHER_RTT
    ):
        yield (
            f"{path.flow['path']}.tcp.congestion.ratcp.rtt: {known_rtt_s(path):.3g} s make the window of a rate; the "
            f"model is of a window that fills the round trip, {path.base_rtt_s:.3g} s"
        )


def _strained(path: FlowPath) -> Iterator[str]:
    """What is taken into account, but holds only roughly."""
    if path.rounds_per_packet > 2:
        yield (
            f"{path.flow['path']}.tcp.ack: its window opens by a packet in {path.rounds_per_packet} round trips; the "
            "model has 1 or 2"
        )
    name, options = choice(path.tcp["ack"])
    if name == "delayed" and units.seconds(options["timeout"]) > _MOST_ACK_DELAY * path.base_rtt_s:
        yield (
            f"{path.flow['path']}.tcp.ack.delayed.timeout = {options['timeout']}: in the model no acknowledgement "
            f"waits for long, compared with a round trip of {path.base_rtt_s:g} s"
        )


def smoothed_rtt(path: FlowPath) -> Iterator[str]:
    """What keeps a model from fitting whose RTT does not vary."""
    control, options = choice(path.tcp["congestion"])
    if control == "ratcp" and options["rtt"] == "smoothed":
        yield (
            f"{path.flow['path']}.tcp.congestion.ratcp.rtt = smoothed: in the model the RTT that makes a window of "
            "a rate does not contain queueing"
        )


def target_packets(path: FlowPath) -> int:
    """RATCP's beta."""
    return _packets(choice(path.tcp["congestion"])[1]["beta"], path)


def known_rtt_s(path: FlowPath) -> float:
    """The RTT with which the sender makes a window of a rate [s]."""
    name, known = choice(choice(path.tcp["congestion"])[1]["rtt"])
    if name == "known":
        return units.seconds(known)
    # The least RTT is that of a handshake, or of a packet, that finds the link empty and at its whole capacity.
    transmitted = units.size(path.tcp["header"]) / path.packet_bytes if path.tcp["handshake"] else 1.0
    return path.base_rtt_s + transmitted / _capacity_pps(path)


def _capacity_pps(path: FlowPath) -> float:
    """The whole capacity of the link [packets/s]."""
    kind, options = choice(path.link["capacity"])
    if kind in chains.CHAINS:
        return max(units.bits_per_second(rate) for rate in options["rates"]) / 8 / path.packet_bytes
    return units.bits_per_second(options["capacity"] if kind == "sessions" else options) / 8 / path.packet_bytes


def _packets(amount: str, path: FlowPath) -> int:
    """A whole number of packets from `4 packets` or a size."""
    number, _, unit = amount.partition(" ")
    if unit.startswith("packet"):
        return int(number)
    return int(units.size(amount) // path.packet_bytes)
