"""A persistent session beside ephemeral ones: scenarios that the Markov renewal analysis of [ratcp] fits."""

from collections.abc import Iterator
from math import isclose

from varicap import units
from varicap.engines.model.answer import Answer
from varicap.engines.model.path import FlowPath, choice, no_arq, no_loss, no_source, one_bottleneck, option


class Sessions:
    """RATCP or TCP, each loss a timeout, on a link that ephemeral sessions share."""

    name = "ratcp"

    def misfits(self, path: FlowPath) -> Iterator[str]:
        """Assumptions that the flow breaks."""
        yield from one_bottleneck(path)
        if not path.tcp or not path.bottlenecks:
            return
        kind = choice(path.link["capacity"])[0]
        if kind not in ("sessions", "constant"):
            yield f"{path.link['path']}.capacity = {kind}: in the model ephemeral sessions change it, or nothing"
        if path.room_packets == float("inf"):
            yield f"{path.link['path']}.queue: the model's buffer has a limit"
        yield from no_loss(path)
        yield from no_arq(path)
        yield from option(path, "recovery", ("old-tahoe",), ": each loss costs a timeout")
        yield from option(path, "congestion", ("ratcp", "reno"), "")
        if path.window_packets < path.room_packets + path.link["mean_bps"] / 8 / path.packet_bytes * path.base_rtt_s:
            yield f"{path.flow['path']}.tcp: its window is limited; in the model it is not"
        yield from no_source(path)
        yield from self._feedback_misfits(path)

    def _feedback_misfits(self, path: FlowPath) -> Iterator[str]:
        feedback = path.flow["feedback"]
        if choice(path.tcp["congestion"])[0] != "ratcp" or feedback is None:
            return
        key = f"{path.flow['path']}.feedback"
        name, options = choice(feedback["estimator"])
        if name != "exact" or (options or {}).get("interval"):
            yield f"{key}.estimator: in the model each change of the rate is advertised exactly"
        if feedback["quantum_bps"] is not None:
            yield f"{key}.quantum: in the model rates are advertised as they are"
        if feedback["loss"] not in (0, "0"):
            yield f"{key}.loss: in the model no update is lost"
        if not isclose(feedback["delay_s"], path.base_rtt_s, rel_tol=1e-6):
            yield f"{key}.delay = {feedback['delay_s']:g} s: in the model it is the round trip, {path.base_rtt_s:g} s"

    def solve(self, path: FlowPath) -> Answer:
        """What the flow gets in the long run."""
        from varicap.analyse.models import ratcp as renewal

        kind, options = choice(path.link["capacity"])
        control, control_options = choice(path.tcp["congestion"])
        sessions = {}
        if kind == "sessions":
            sessions = {
                "arrival_rate": units.per_second(options["arrivals"]),
                "max_sessions": int(options["at_most"]),
            }
        capacity = options["capacity"] if kind == "sessions" else options
        parameters = renewal.Parameters.from_bits(
            capacity_bps=units.bits_per_second(capacity),
            packet_bytes=path.packet_bytes,
            mean_session_bytes=units.size(options["mean_size"]) if kind == "sessions" else 1.0,
            delay_s=path.base_rtt_s,
            buffer_packets=int(path.room_packets),
            counts_in_service=choice(path.link["queue"])[1]["counts_in_service"],
            control="ratcp" if control == "ratcp" else "tcp",
            backlog_packets=_packets(control_options["beta"], path) if control == "ratcp" else 0,
            growth="per-ack" if path.packets_per_ack == 1 else "delayed",
            **sessions,
        )
        found = renewal.throughput(parameters)
        return Answer(
            throughput_pps=found.throughput_pps,
            details={
                "fair_share_bps": found.fair_share_pps * path.packet_bytes * 8,
                "timeouts_per_s": found.timeouts_per_s,
                "mean_cycle_s": found.mean_cycle_s,
                "states": found.states,
            },
            strained=found.validity,
        )


def _packets(amount: str, path: FlowPath) -> int:
    """A whole number of packets from `4 packets` or a size."""
    number, _, unit = amount.partition(" ")
    if unit.startswith("packet"):
        return int(number)
    return int(units.size(amount) // path.packet_bytes)
