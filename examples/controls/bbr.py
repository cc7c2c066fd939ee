"""A BBR-like congestion control that paces at the rate of the path.  After draft-ietf-ccwg-bbr, much simplified.

    python examples/controls/bbr.py

Reno fills the buffer until it overflows.  This control measures how fast the path delivers and how long an empty path
takes, sends at that rate, and keeps about that much in flight: the link is full, and the buffer nearly empty.
"""

from typing import Any

import varicap

STARTUP_GAIN = 2.77  # 4 ln 2: the least that doubles the rate in each round
CYCLE = (1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)  # probe for more, drain what that left in the queue, cruise
ROUNDS = 10  # for how long a delivery rate counts


class Bbr:
    """A window and a pacing rate by a model of the path: bottleneck rate and least round-trip time."""

    wants = ("rate-samples", "every-ack")

    def __init__(self, mss: int, initial_window: int) -> None:
        self.mss = mss
        self.cwnd = float(initial_window)
        self.pacing_rate_bps: float | None = None
        self.rates: dict[int, int] = {}  # the greatest delivery rate of each of the last rounds [b/s]
        self.round = 0
        self.full_rate, self.rounds_without_growth = 0.0, 0
        self.mode = "startup"
        self.phase, self.phase_began_s = 0, 0.0

    @property
    def rate(self) -> int:
        """The rate of the bottleneck [b/s]: the greatest of the last rounds."""
        return max(self.rates.values(), default=0)

    def on_ack(self, ack: varicap.tcp.AckSample) -> None:
        """An acknowledgement arrived: learn from its sample, and follow the model."""
        if ack.rate_bps and (not ack.rate_app_limited or ack.rate_bps > self.rate):
            self.rates[ack.round] = max(self.rates.get(ack.round, 0), ack.rate_bps)
        if ack.round != self.round:
            self.round = ack.round
            self.on_round(ack)
        if not self.rate or ack.min_rtt_s is None:
            return
        bdp = self.rate * ack.min_rtt_s / 8
        if self.mode == "drain" and ack.in_flight <= bdp:
            self.mode, self.phase, self.phase_began_s = "probe", 2, ack.now_s
        if self.mode == "probe" and ack.now_s - self.phase_began_s > ack.min_rtt_s:
            self.phase, self.phase_began_s = (self.phase + 1) % len(CYCLE), ack.now_s
        gain = {"startup": STARTUP_GAIN, "drain": 1 / STARTUP_GAIN, "probe": CYCLE[self.phase]}[self.mode]
        self.pacing_rate_bps = gain * self.rate
        self.cwnd = max((STARTUP_GAIN if self.mode == "startup" else 2.0) * bdp, 4 * self.mss)

    def on_round(self, ack: varicap.tcp.AckSample) -> None:
        """A round trip has ended: forget old rates, and leave startup when the rate no longer grows."""
        self.rates = {number: rate for number, rate in self.rates.items() if number > ack.round - ROUNDS}
        if self.mode != "startup" or ack.rate_app_limited:
            return
        if self.rate >= 1.25 * self.full_rate:
            self.full_rate, self.rounds_without_growth = self.rate, 0
        else:
            self.rounds_without_growth += 1
        if self.rounds_without_growth >= 3:
            self.mode = "drain"

    def on_congestion(self, event: varicap.tcp.CongestionEvent) -> None:
        """The model counts, not losses; only a timeout says that it is wrong."""
        if event.kind == "timeout":
            self.cwnd = 4 * self.mss


def compare(duration: str = "30 s") -> dict[str, dict[str, float]]:
    """Utilisation and mean backlog [packets] of Reno and of BBR, each alone on a link with a large buffer."""
    table: dict[str, dict[str, float]] = {}
    for name, congestion in (("reno", "reno"), ("bbr", {"custom": "bbr"})):
        queue = {"drop-tail": {"limit": "200 packets"}}
        scenario: dict[str, Any] = {
            "duration": duration,
            "warmup": "10 s",
            "topology": {"dumbbell": {"forward": {"capacity": "20 Mbit/s", "delay": "20 ms", "queue": queue}}},
            "flows": {name: {"tcp": {"congestion": congestion}}},
        }
        result = varicap.run(scenario, seeds=1, controls={"bbr": Bbr})
        link = result.summary["links"][0]
        table[name] = {"utilisation": link["utilisation"]["mean"], "backlog": link["backlog_packets"]["mean"]}
    return table


if __name__ == "__main__":
    for name, row in compare().items():
        print(f"{name}: utilisation {row['utilisation']:.3f}, {row['backlog']:.1f} packets wait")
