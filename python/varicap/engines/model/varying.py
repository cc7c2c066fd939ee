"""Reno, CUBIC, RATCP and BBR with fast recovery, alone on a Markov capacity of any number of rates."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from varicap.engines.model import chains, timeout
from varicap.engines.model.answer import Answer, Together
from varicap.engines.model.keys import ACKNOWLEDGEMENTS, BEGINNING, BOTTLENECK, GREEDY, PACKETS, table
from varicap.engines.model.path import FlowPath, Number, choice, no_arq, no_loss, no_source, one_bottleneck, option
from varicap.engines.model.ratcp import known_rtt_s, smoothed_rtt, target_packets

if TYPE_CHECKING:
    from varicap.analyse.advertised import AdvertisedChain
    from varicap.analyse.together import Computation

_ROUNDING = 1e-9
_LEVELS = 8
"""Of the rate that an estimator advertises."""
_SHORTEST, _LEAST_ROOM = 2.4, 0.3
"""Round trips that a rate lasts at least, and pipes of buffer, where the model was compared with the simulator."""
_MOST_PER_ACK = 4
_FEWEST = 6.25
"""Packets that RATCP has in a round trip at least: half a packet more or less of its window is 8 % of them."""
_MOST_BY_A_PACKET = 0.05
"""Of what RATCP gets, which a packet more in the windows of some rates may be."""


class Varying(Together):
    """Reno, CUBIC, RATCP or BBR, recovering as Linux does, on a slotted or continuous Markov chain of rates."""

    name = "varying"
    keys = (
        (PACKETS | BEGINNING | GREEDY | BOTTLENECK | ACKNOWLEDGEMENTS | timeout.KEYS)
        | chains.KEYS
        | chains.FEEDBACK
        | table("tcp.congestion.ratcp", "beta", "rtt")
        | table("tcp", "recovery", "congestion", "counting", "max_window", "receive_window", "congestion.cubic.hystart")
        # As Linux has them: the comparison with the simulator is of these.
        | {"tcp.congestion.cubic.alpha = constant", "tcp.congestion.cubic.arithmetic = linux"}
        | {"tcp.congestion.cubic.hertz"}
        | table("tcp.recovery.rack", "reduction", "tail_loss_probe", "frto", "undo", "keep_in_flight", "check_echo")
        | table("tcp", "dsack", "sack_list", "limited_transmit", "halving", "reduce_once")
        | {"tcp.congestion.reno.byte_counting"}
    )

    def misfits(self, path: FlowPath) -> Iterator[str]:
        """Assumptions that the flow breaks."""
        yield from one_bottleneck(path)
        if not path.tcp or not path.bottlenecks:
            return
        key, kind = path.link["path"], choice(path.link["capacity"])[0]
        if kind not in chains.CHAINS:
            yield f"{key}.capacity = {kind}: in the model it is a Markov chain (of a trace: varicap trace fit)"
        if path.room_packets == float("inf"):
            yield Number(f"{key}.queue: the model's buffer has a limit")
        yield from no_loss(path)
        yield from no_arq(path)
        yield from no_source(path)
        yield from option(path, "recovery", ("rack",), ", which reduces its window once for all losses of a window")
        yield from option(
            path, "congestion", ("reno", "cubic", "ratcp", "bbr"), ": of others there is none on a capacity that varies"
        )
        if choice(path.tcp["congestion"])[0] == "ratcp":
            yield from chains.feedback_misfits(path)
            yield from smoothed_rtt(path)
        if path.window_packets != float("inf"):
            yield Number(f"{path.flow['path']}.tcp.max_window: in the model losses alone limit the window")

    def solving(self, path: FlowPath) -> "Computation[Answer]":
        """What the flow gets in the long run."""
        from varicap.analyse.models import bbr_rates, varying

        chain = chains.as_it_is_met(path)
        parameters = varying.Parameters(
            capacity=chain,
            waiting_packets=path.room_packets,
            round_trip_s=path.base_rtt_s,
            rounds_per_packet=path.rounds_per_packet,
            packets_per_ack=path.packets_per_ack,
        )
        control = choice(path.tcp["congestion"])[0]
        rough: tuple[str, ...] = ()
        if control == "ratcp":
            link = yield from chains.advertising(path, chain, _LEVELS, aged=True)
            used = yield from varying.solve_ratcp(
                parameters,
                link,
                backlog_packets=target_packets(path),
                known_slots=known_rtt_s(path) / path.base_rtt_s,
                packets_per_ack=path.packets_per_ack,
            )
            rough = tuple(_of_ratcp(path, link, used * chain.mean))
        elif control == "bbr":
            used = yield from bbr_rates.solve(parameters)
        else:
            used = yield from (varying.solve_cubic if control == "cubic" else varying.solve_reno)(parameters)
        mean_pps = chain.mean / path.base_rtt_s
        return Answer(
            throughput_pps=used * mean_pps,
            details={"utilisation": used, "states": len(chain.capacity)},
            strained=(
                *_outages(path, float(chain.capacity.min())),
                *_rare_acknowledgements(path),
                *chains.beyond_the_grid(path, shortest=_SHORTEST, least_room=_LEAST_ROOM),
                *rough,
                *(_of_bbr(path) if control == "bbr" else ()),
            ),
        )


def _outages(path: FlowPath, slowest: float) -> Iterator[str]:
    """What strains Reno and CUBIC, which resume after an outage as if there had been no timeout; others refuse."""
    from varicap.analyse.models import varying

    if slowest < varying.SLOWEST:
        yield (
            f"{path.link['path']}.capacity: its slowest rate carries {slowest:.2g} packets in a round trip (below "
            f"{varying.SLOWEST:g}): the model has no timeouts"
        )


def _rare_acknowledgements(path: FlowPath) -> Iterator[str]:
    """What strains models that were compared with receivers of today."""
    if path.packets_per_ack > _MOST_PER_ACK:
        yield (
            f"{path.flow['path']}.tcp.ack: an acknowledgement answers {path.packets_per_ack:g} packets (above "
            f"{_MOST_PER_ACK}): the model was not compared with the simulator there"
        )


def _of_ratcp(path: FlowPath, link: "AdvertisedChain", under_way: float) -> Iterator[str]:
    """What strains RATCP, whose window is a whole number of packets, where it has few of them."""
    import numpy as np

    if under_way < _FEWEST:
        yield (
            f"{path.link['path']}.capacity: the flow has {under_way:.2g} packets in a round trip on average (below "
            f"{_FEWEST:g}): its window is known to half a packet"
        )
    windows = [
        np.floor(link.advertised * rtt_s / path.base_rtt_s + _ROUNDING)
        for rtt_s in (known_rtt_s(path), known_rtt_s(path) + path.flow["jitter_s"])
    ]
    differ = windows[0] != windows[1]
    share = float(link.capacity.share @ differ) / under_way
    if share > _MOST_BY_A_PACKET:
        least = windows[0][differ].min()
        yield (
            f"{path.flow['path']}.jitter = {path.flow['jitter_s']:g} s: the least RTT may be measured so much too "
            f"long, which makes a window of {least:.0f} packets one of {least + 1:.0f}: {share:.0%} of what the flow "
            f"gets (above {_MOST_BY_A_PACKET:.0%})"
        )


def _of_bbr(path: FlowPath) -> Iterator[str]:
    """What strains BBR always."""
    yield (
        f"{path.flow['path']}.tcp.congestion = bbr: the model is a heuristic recursion of its rate and was found 20 % "
        "off where the rates differ by a factor of 8, and up to 61 % where they differ by one of 25"
    )
