"""Reno and CUBIC with fast recovery, alone on a Markov capacity of any number of rates."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from varicap import units
from varicap.engines.model import timeout
from varicap.engines.model.answer import Answer
from varicap.engines.model.keys import ACKNOWLEDGEMENTS, BEGINNING, BOTTLENECK, GREEDY, PACKETS, table
from varicap.engines.model.path import FlowPath, choice, no_arq, no_loss, no_source, one_bottleneck, option

if TYPE_CHECKING:
    from varicap.analyse.effective import SlottedChain


class Varying:
    """Reno or CUBIC, recovering as Linux does, on a slotted or continuous Markov chain of rates."""

    name = "varying"
    keys = (
        (PACKETS | BEGINNING | GREEDY | BOTTLENECK | ACKNOWLEDGEMENTS | timeout.KEYS)
        | table("link.capacity.slotted-markov", "rates", "step", "transitions", "start")
        | table("link.capacity.markov", "rates", "mean_holding", "jumps", "start")
        | table("tcp", "recovery", "congestion", "counting", "max_window", "receive_window", "congestion.cubic.hystart")
        # As Linux has them: the comparison with the simulator is of these.
        | {"tcp.congestion.cubic.alpha = constant", "tcp.congestion.cubic.arithmetic = linux"}
        | table("tcp.recovery.rack", "reduction", "tail_loss_probe", "frto", "undo", "keep_in_flight")
        | table("tcp", "dsack", "limited_transmit", "halving", "reduce_once", "congestion.reno.byte_counting")
    )

    def misfits(self, path: FlowPath) -> Iterator[str]:
        """Assumptions that the flow breaks."""
        yield from one_bottleneck(path)
        if not path.tcp or not path.bottlenecks:
            return
        key, kind = path.link["path"], choice(path.link["capacity"])[0]
        if kind not in ("slotted-markov", "markov"):
            yield f"{key}.capacity = {kind}: in the model it is a Markov chain (of a trace: varicap trace fit)"
        if path.room_packets == float("inf"):
            yield f"{key}.queue: the model's buffer has a limit"
        yield from no_loss(path)
        yield from no_arq(path)
        yield from no_source(path)
        yield from option(path, "recovery", ("rack",), ", which reduces its window once for all losses of a window")
        yield from option(path, "congestion", ("reno", "cubic"), ": of others there is none on a capacity that varies")
        if path.window_packets != float("inf"):
            yield f"{path.flow['path']}.tcp.max_window: in the model losses alone limit the window"

    def solve(self, path: FlowPath) -> Answer:
        """What the flow gets in the long run."""
        from varicap.analyse.models import varying

        chain = _chain(path)
        parameters = varying.Parameters(
            capacity=chain,
            waiting_packets=path.room_packets,
            round_trip_s=path.base_rtt_s,
            rounds_per_packet=path.rounds_per_packet,
        )
        control = choice(path.tcp["congestion"])[0]
        used = varying.cubic(parameters) if control == "cubic" else varying.reno(parameters)
        mean_pps = chain.mean / path.base_rtt_s
        return Answer(throughput_pps=used * mean_pps, details={"utilisation": used, "states": len(chain.capacity)})


def _chain(path: FlowPath) -> "SlottedChain":
    """The capacity from one round trip to the next [packets]."""
    import numpy as np

    from varicap.analyse.effective import SlottedChain

    kind, options = choice(path.link["capacity"])
    rates = np.array([units.bits_per_second(rate) for rate in options["rates"]]) / 8 / path.packet_bytes
    one = np.eye(len(rates))
    delay_s = path.base_rtt_s
    if kind == "slotted-markov":
        each = np.array([[units.share(str(value)) for value in row] for row in options["transitions"]])
        _refuse_fast(units.seconds(options["step"]) / np.maximum(1 - each.diagonal(), 1e-300), delay_s)
        steps = delay_s / units.seconds(options["step"])
        matrix = np.linalg.matrix_power(each, int(steps)) @ (one + (steps - int(steps)) * (each - one))
    else:
        from scipy.linalg import expm

        holding = np.array([units.seconds(time) for time in options["mean_holding"]])
        _refuse_fast(holding, delay_s)
        jumps = options["jumps"]
        share = (1 - one) / max(len(rates) - 1, 1) if jumps is None else np.array(_shares(jumps))
        matrix = np.maximum(expm((share - one) / holding[:, None] * delay_s), 0.0)
        matrix /= matrix.sum(axis=1, keepdims=True)
    return SlottedChain(rates * delay_s, matrix)


def _shares(jumps: Any) -> list[list[float]]:
    return [[units.share(str(value)) for value in row] for row in jumps]


def _refuse_fast(holding_s: Any, delay_s: float) -> None:
    if holding_s.min() < delay_s:
        raise ValueError(
            f"a rate lasts {holding_s.min() / delay_s:.2g} round trips on average: the model wants 1 or more"
        )
