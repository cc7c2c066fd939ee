"""How deep a token bucket, how often its timer, how much buffer: each from the others.

A sender with timed transmissions looks at its bucket at each expiry.  The bucket must hold what comes in between and
up to a packet less a byte that may be left, and routers must hold the buckets of all connections that may burst at
once (`varicap.analyse.models.minrate`).  Source: [minrate, §IV-A, §V-B].  The evidence is simulated within the call:
a sender that receives no acknowledgement, so that its timer alone sends, with the interval that was found and longer
ones, and TCP among best-effort flows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from varicap.analyse.models import minrate
from varicap.engines import sim
from varicap.results.samples import samples
from varicap.scenario import Dumbbell, Ered, Flow, Link, Reservation, Rfc6298Timer, Scenario, Tcp, Timed
from varicap.statistics import Interval, Progress, Verdict, together

_LONGER = (1.0, 1.05, 1.5)
"""Timers that are simulated, as multiples of the bound."""
_SHORTER = (0.98, 0.95, 0.9, 0.75, 0.5)
"""Timers that follow, as multiples of the bound, while tokens are lost at it."""
_BOUND = ("timer alone", "among best effort")
_NEVER = "1000 s"
_HEADER = 40  # [B]
_MEASURED_S, _WARMUP_S = 20, 5


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What simulations with one timer gave."""

    traffic: str
    interval_s: float
    lost: Interval
    """Share of the tokens that were lost [1]."""
    compliant: Interval
    """Throughput of marked packets, of the reservation [1]."""

    def verdict(self) -> Verdict:
        """Whether no token was lost, in any replication: each is judged by itself, so one loss decides."""
        return "misses" if self.lost.mean > 0 else "meets"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "traffic": self.traffic,
            "interval_s": self.interval_s,
            "verdict": self.verdict(),
            "lost_tokens": self.lost.to_dict(),
            "compliant": self.compliant.to_dict(),
        }


@dataclass(frozen=True, kw_only=True)
class Design:
    """A bucket, its timer and the buffer for all of its kind."""

    rate_bps: float
    packet_bytes: float
    connections: int
    interval_s: float
    """The longest timer interval that loses no token [s]."""
    depth_bytes: float
    """The least depth for it [B]."""
    evidence: tuple[Evidence, ...] = ()

    @property
    def recommended_s(self) -> float | None:
        """The longest timer interval, up to the computed one, with which no token was lost in any simulation [s].

        None if there is none.
        """
        intervals = sorted({one.interval_s for one in self.evidence if one.interval_s <= self.interval_s}, reverse=True)
        return next((one for one in intervals if self.verdict_at(one) == "meets"), None)

    def verdict_at(self, interval_s: float) -> Verdict:
        """What simulations say of a timer interval, under both kinds of traffic."""
        return together(row.verdict() for row in self.evidence if row.interval_s == interval_s)

    @property
    def verdict(self) -> Verdict | None:
        """Whether the timer interval that was computed loses no token in simulations; none if nothing was simulated."""
        return self.verdict_at(self.evidence[0].interval_s) if self.evidence else None

    @property
    def depth_s(self) -> float:
        """The depth in time: what the reserved rate brings in it [s]."""
        return 8 * self.depth_bytes / self.rate_bps

    @property
    def buffer_bytes(self) -> float:
        """Room for the buckets of all connections, beside what unmarked packets take [B]."""
        return self.connections * self.depth_bytes

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap design token-bucket --json`` prints it."""
        return {
            "rate_bps": self.rate_bps,
            "packet_bytes": self.packet_bytes,
            "connections": self.connections,
            "interval_s": self.interval_s,
            "depth_bytes": self.depth_bytes,
            "depth_s": self.depth_s,
            "buffer_bytes": self.buffer_bytes,
            "verdict": self.verdict,
            "recommended_interval_s": self.recommended_s,
            "evidence": [one.to_dict() for one in self.evidence],
        }


def token_bucket(
    rate_bps: float,
    *,
    packet_bytes: float = 1500.0,
    connections: int = 1,
    interval_s: float | None = None,
    depth_bytes: float | None = None,
    depth_s: float | None = None,
    buffer_bytes: float | None = None,
    seeds: int = 3,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Design:
    """From one of a timer's interval, a bucket's depth (in bytes or in time) and a router's buffer, the two others.

    With `seeds` of 0 nothing is simulated.

    >>> found = token_bucket(4e6, packet_bytes=1000, depth_s=0.05, seeds=0)
    >>> round(found.interval_s, 6), found.depth_bytes
    (0.048002, 25000.0)
    """
    given = {"interval": interval_s, "depth": depth_bytes, "depth in time": depth_s, "buffer": buffer_bytes}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        said = " and ".join(names) or "none"
        raise ValueError(f"exactly one of a timer's interval, a bucket's depth and a buffer is to be given, not {said}")
    if not 0 < rate_bps < float("inf"):
        raise ValueError(f"a reserved rate is a number more than nothing, not {rate_bps:g} bit/s")
    if isinstance(connections, bool) or connections < 1:
        raise ValueError(f"there is 1 connection or more, not {connections!r}")
    if not _HEADER < packet_bytes <= 65_535:
        raise ValueError(
            f"a packet is longer than its header of {_HEADER} B and at most 65535 B, not {packet_bytes:g} B"
        )
    if interval_s is not None:
        depth = minrate.least_depth_bytes(interval_s, rate_bps, packet_bytes)
    elif depth_s is not None:
        depth = rate_bps * depth_s / 8
    elif depth_bytes is not None:
        depth = depth_bytes
    else:
        depth = (buffer_bytes or 0.0) / connections
    interval = minrate.lossless_interval_s(depth, rate_bps, packet_bytes)
    plain = Design(
        rate_bps=rate_bps,
        packet_bytes=packet_bytes,
        connections=connections,
        interval_s=interval,
        depth_bytes=depth,
    )
    if seeds == 0:
        return plain
    settings = [("timer alone", factor) for factor in _LONGER] + [("among best effort", 1.0)]
    found = plain
    for number, (traffic, factor) in enumerate(settings):
        if progress is not None:
            progress(number / len(settings), number, len(settings))
        found = replace(found, evidence=(*found.evidence, _simulate(plain, traffic, factor, seeds, jobs)))
    for factor in _SHORTER:
        if found.recommended_s is not None or found.verdict == "undecided":
            break
        rows = [_simulate(plain, traffic, factor, seeds, jobs) for traffic in _BOUND]
        found = replace(found, evidence=(*found.evidence, *rows))
    return found


def _simulate(design: Design, traffic: str, factor: float, seeds: int, jobs: int | None) -> Evidence:
    """The timer at `factor` times its bound."""
    interval_ns = int(design.interval_s * factor * 1e9)
    scenario = _scenario(design, traffic, interval_ns)
    result = sim.run(scenario, seeds=seeds, jobs=jobs, max_memory=None, max_time=None)
    names = [name for name in result.flows["name"].unique().to_pylist() if name.split(".")[0] == "reserved"]
    lost = np.mean([samples(result.flows, name, "lost_tokens_bytes") for name in names], axis=0)
    compliant = np.mean([samples(result.flows, name, "compliant_bps") for name in names], axis=0)
    return Evidence(
        traffic=traffic,
        interval_s=interval_ns / 1e9,
        lost=Interval.of(8 * lost / (design.rate_bps * _MEASURED_S), within="amount"),
        compliant=Interval.of(compliant / design.rate_bps, within="amount"),
    )


def _scenario(design: Design, traffic: str, interval_ns: int) -> Scenario:
    """Twice the capacity that is reserved; marked packets never meet a full queue."""
    tcp = Tcp(stack="rfc", mss=f"{design.packet_bytes - _HEADER:.0f} B", header=f"{_HEADER} B", count_options=False)
    reserved = Flow(
        count=design.connections,
        start_spread="1 s",
        reservation=Reservation(
            rate=f"{design.rate_bps:.0f} bit/s",
            bucket=f"{int(design.depth_bytes)} B",
            timed=Timed(interval=f"{interval_ns} ns"),
        ),
    )
    flows = {"reserved": reserved, "best-effort": Flow(count=3, start_spread="1 s")}
    reverse = Link(delay="25 ms")
    if traffic == "timer alone":
        # No acknowledgement comes back while the run lasts, and no timeout.
        reverse = Link(delay=_NEVER)
        timer = Rfc6298Timer(initial=_NEVER, maximum=_NEVER)
        alone = replace(tcp, handshake=False, initial_window="1 packets", timer=timer)
        flows = {"reserved": replace(reserved, tcp=alone)}
    buckets = int(design.buffer_bytes // design.packet_bytes) + 1
    forward = Link(
        capacity=f"{2 * design.connections * design.rate_bps:.0f} bit/s",
        delay="25 ms",
        queue=Ered(limit=f"{80 + 2 * buckets} packets", mean_packet=f"{design.packet_bytes:.0f} B"),
    )
    return Scenario(
        duration=f"{_WARMUP_S + _MEASURED_S} s",
        warmup=f"{_WARMUP_S} s",
        tcp=tcp,
        topology=Dumbbell(forward=forward, reverse=reverse),
        flows=flows,
    )
