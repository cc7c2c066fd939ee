"""TCP under random loss: the simulator beside the square root law and the full model with timeouts.

    .venv/bin/python tests/peers/theory.py [LOSS …]      prints the table of docs/validation.md

The path of `crates/varicap-sim/tests/laws.rs`: a link that never fills, an RTT of 100 ms, 1000-byte segments in
1040-byte packets, NewReno, an ACK per packet, a least RTO of 0.2 s.  Ten runs of 420 s, 20 of them cut off.
"""

import math
import sys

import varicap
from varicap.analyse.models import pftk

RTT_S, PACKET_BITS = 0.1, 1040 * 8


def scenario(loss: float) -> dict[str, object]:
    """The path with this share of random losses."""
    forward = {"capacity": "10 Gbit/s", "delay": "50 ms", "loss": f"{loss * 100:g} %"}
    timer = {"rfc6298": {"minimum": "0.2 s"}}
    tcp = {"stack": "rfc", "recovery": "newreno", "mss": "1000 B", "ack": "every", "timer": timer}
    return {
        "duration": "420 s",
        "warmup": "20 s",
        "topology": {"dumbbell": {"forward": {**forward, "queue": {"drop-tail": {"limit": "unlimited"}}}}},
        "flows": {"newreno": {"tcp": tcp}},
    }


def main(losses: list[float]) -> None:
    """Print a row for each share of losses: packets delivered per RTT."""
    print("| loss | varicap | square root law | full model with timeouts [pftk] |\n|---|---|---|---|")
    for loss in losses:
        found = varicap.run(scenario(loss), seeds=10).summary["flows"][0]["throughput_bps"]
        mean, half = (value * RTT_S / PACKET_BITS for value in (found["mean"], (found["hi"] - found["lo"]) / 2))
        model = pftk.throughput(pftk.Parameters(loss=loss, round_trip_s=RTT_S, timeout_s=2 * RTT_S))
        law = math.sqrt(3 / (2 * loss))
        print(f"| {loss * 100:g} % | {mean:.2f} ± {half:.2f} | {law:.2f} | {model.throughput_pps * RTT_S:.2f} |")


if __name__ == "__main__":
    main([float(loss) for loss in sys.argv[1:]] or [0.0001, 0.001, 0.01, 0.05, 0.1])
