"""A DCTCP-like congestion control: the window falls by as much as was marked.  After RFC 8257.

    python examples/controls/dctcp.py

The bottleneck marks packets that find 20 in the queue.  Reno halves its window for a mark as it does for a loss, so the
queue runs empty; this control cuts it by half of the fraction of marked bytes, so the queue stays near the threshold,
and the link is full.
"""

from typing import Any

import varicap

MARKING = {
    "min_threshold": "19 packets",
    "max_threshold": "20 packets",
    "max_probability": "99 %",
    "gentle": True,  # from 20 packets on nearly all are marked, and beyond 40 lost
    "spacing": "geometric",
    "weight": 1.0,
    "limit": "100 packets",
    "ecn": True,
}


class Dctcp:
    """A window that falls by half of the fraction of bytes that were marked in the last round trip."""

    wants = ("each-mark",)

    def __init__(self, mss: int, initial_window: int) -> None:
        self.mss = mss
        self.cwnd = float(initial_window)
        self.ssthresh = float("inf")
        self.fraction = 1.0  # of marked bytes, smoothed; DCTCP.Alpha
        self.acked = self.marked = 0
        self.round = 0

    def on_ack(self, ack: varicap.tcp.AckSample) -> None:
        """New data was acknowledged, each packet by itself: count marks, and grow as Reno does."""
        self.acked += ack.newly_acked
        self.marked += ack.newly_acked if ack.marked else 0
        if ack.round != self.round:
            self.round = ack.round
            self.on_round()
        if ack.app_limited or ack.marked:
            return
        self.cwnd += ack.newly_acked if self.cwnd < self.ssthresh else self.mss * ack.newly_acked / self.cwnd

    def on_round(self) -> None:
        """A window of data was acknowledged.  Source: RFC 8257 §3.3."""
        self.fraction += (self.marked / self.acked - self.fraction) / 16
        if self.marked:
            self.cwnd = max(self.cwnd * (1 - self.fraction / 2), 2 * self.mss)
            self.ssthresh = self.cwnd
        self.acked = self.marked = 0

    def on_congestion(self, event: varicap.tcp.CongestionEvent) -> None:
        """A loss: as Reno does."""
        self.ssthresh = max(event.in_flight / 2, 2 * self.mss)
        self.cwnd = self.mss if event.kind == "timeout" else self.ssthresh


def compare(duration: str = "30 s") -> dict[str, dict[str, float]]:
    """Utilisation and mean backlog [packets] of Reno and of DCTCP, each alone on the same link."""
    table: dict[str, dict[str, float]] = {}
    for name, congestion in (("reno", "reno"), ("dctcp", {"custom": "dctcp"})):
        scenario: dict[str, Any] = {
            "duration": duration,
            "warmup": "10 s",
            "topology": {
                "dumbbell": {"forward": {"capacity": "20 Mbit/s", "delay": "20 ms", "queue": {"red": MARKING}}}
            },
            "flows": {name: {"tcp": {"congestion": congestion, "ecn": True, "ack": "every"}}},
        }
        result = varicap.run(scenario, seeds=1, controls={"dctcp": Dctcp})
        link = result.summary["links"][0]
        table[name] = {"utilisation": link["utilisation"]["mean"], "backlog": link["backlog_packets"]["mean"]}
    return table


if __name__ == "__main__":
    for name, row in compare().items():
        print(f"{name}: utilisation {row['utilisation']:.3f}, {row['backlog']:.1f} packets wait")
