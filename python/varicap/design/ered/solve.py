"""Thresholds of an ERED queue and the reservations that it can carry: in the worst case, and by measurement.

In the worst case all reservations burst at their peak rates at once (`varicap.analyse.models.minrate`); that refuses
nearly everything where peak rates are those of links.  The paper leaves admission by measurement to the future: here
so many reservations are simulated as keep the loss of marked packets below a target.  Source: [minrate, §II-B,
§III-B].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from varicap.analyse.models import minrate
from varicap.engines import sim
from varicap.results.samples import samples
from varicap.scenario import DropTail, Ered, Flow, Graph, Link, Recovery, Reservation, Scenario, Tcp, Timed
from varicap.statistics import Bounds, Interval, Progress, Verdict, settle

_HEADER = 40  # [B]
_MEASURED_S, _WARMUP_S = 30, 5
_MOST_ALL = 12
"""Up to so many reservations each number is simulated; beyond, those that a bisection asks for."""
_MOST_TIMES = 4
"""As many replications, at most, of a number that is undecided."""


@dataclass(frozen=True, kw_only=True)
class Queue:
    """An ERED queue and the link that it feeds.  Default thresholds: [minrate, §III-A]."""

    rate_bps: float
    buffer_bytes: float = 100e3
    min_bytes: float = 20e3
    """Average at which drops of unmarked packets begin [B]."""
    max_bytes: float = 80e3
    """Average from which on all of them are dropped [B]."""
    packet_bytes: float = 1000.0

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not 0 < self.rate_bps < float("inf"):
            raise ValueError(f"a capacity is a number more than nothing, not {self.rate_bps:g} bit/s")
        if not _HEADER < self.packet_bytes <= 65_535:
            raise ValueError(
                f"a packet is longer than its header of {_HEADER} B and at most 65535 B, not {self.packet_bytes:g} B"
            )
        if not 0 < self.min_bytes < self.max_bytes < self.buffer_bytes:
            raise ValueError(
                "thresholds are in order, 0 < minimum < maximum < buffer, not "
                f"{self.min_bytes:g} B, {self.max_bytes:g} B and {self.buffer_bytes:g} B"
            )
        if self.min_bytes < self.packet_bytes:
            raise ValueError(f"the minimum threshold holds a packet of {self.packet_bytes:g} B at least")

    def part(self) -> Ered:
        """As a scenario's queue, in packets."""
        limits = (self.buffer_bytes, self.min_bytes, self.max_bytes)
        limit, least, most = (f"{int(size // self.packet_bytes)} packets" for size in limits)
        mean = f"{self.packet_bytes:.0f} B"
        return Ered(limit=limit, min_threshold=least, max_threshold=most, mean_packet=mean)


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Reservations that ask to be admitted, all alike, and what runs beside them."""

    rate_bps: float
    bucket_bytes: float
    """Depth of the token bucket of each [B]."""
    access_bps: float
    """Capacity of the link of each source, its peak rate [b/s]."""
    best_effort: int = 3
    recovery: str = "sack"
    round_trip_s: float = 0.05


@dataclass(frozen=True, kw_only=True)
class Point:
    """What a number of reservations gave."""

    reservations: int
    rate_bps: float
    """Of each [b/s]."""
    loss: Interval
    """Marked packets that the queue lost, of those that came [1]."""
    compliant: Interval
    """Throughput of marked packets of the worst reservation, of its rate [1]."""
    best_effort_bps: Interval
    """All best-effort flows together [b/s]."""

    runs: int
    """Replications."""

    def verdict(self, target: float) -> Verdict:
        """Whether the whole interval of the loss is within the target."""
        return Bounds(high=target).verdict(self.loss)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "reservations": self.reservations,
            "rate_bps": self.rate_bps,
            "marked_loss": self.loss.to_dict(),
            "least_compliant": self.compliant.to_dict(),
            "best_effort_bps": self.best_effort_bps.to_dict(),
            "runs": self.runs,
        }


@dataclass(frozen=True, kw_only=True)
class Design:
    """What the queue can carry."""

    queue: Queue
    admissible_bps: float
    """What the sum of peak rates must stay below in the worst case [b/s]."""
    peaks_bps: tuple[float, ...] = ()
    highest_threshold_bytes: float = float("nan")
    """What the maximum threshold must stay below for these peak rates [B]."""
    target: float = 0.0
    """Loss of marked packets that is allowed [1]."""
    points: tuple[Point, ...] = ()
    most: Point | None = None
    """Of the simulated numbers the largest that meets the target, and all smaller ones too."""

    @property
    def verdict(self) -> Verdict | None:
        """Whether any number of reservations keeps the loss within the target; none if nothing was simulated."""
        if not self.points:
            return None
        return "meets" if self.most else self.points[0].verdict(self.target)

    @property
    def is_admitted(self) -> bool:
        """Whether the peak rates satisfy the inequality of the worst case."""
        return sum(self.peaks_bps) < self.admissible_bps

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap design ered --json`` prints it."""
        worst: dict[str, Any] = {"admissible_peak_bps": self.admissible_bps}
        if self.peaks_bps:
            worst |= {
                "peaks_bps": list(self.peaks_bps),
                "admitted": self.is_admitted,
                "highest_max_threshold_bytes": self.highest_threshold_bytes,
            }
        measured = {
            "target_loss": self.target,
            "points": [point.to_dict() | {"verdict": point.verdict(self.target)} for point in self.points],
            "verdict": self.verdict,
            "most": None if self.most is None else self.most.to_dict(),
        }
        return {"worst_case": worst, "measured": measured if self.points else None}


def ered(
    queue: Queue,
    *,
    peaks_bps: Sequence[float] = (),
    candidates: Candidates | None = None,
    target: float = 0.001,
    seeds: int = 5,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Design:
    """What peak rates the queue can carry in the worst case, and how many reservations by measurement.

    >>> found = ered(Queue(rate_bps=10e6), peaks_bps=[6e6, 8e6])
    >>> found.admissible_bps, found.is_admitted, round(found.highest_threshold_bytes)
    (12500000.0, False, 71429)
    """
    for peak in peaks_bps:
        if not 0 < peak < float("inf"):
            raise ValueError(f"a peak rate is a number more than nothing, not {peak:g} bit/s")
    points = () if candidates is None else _admit(queue, candidates, target, seeds, jobs, progress)
    good = []
    for point in points:
        if point.verdict(target) != "meets":
            break
        good.append(point)
    return Design(
        queue=queue,
        admissible_bps=minrate.admissible_peak_bps(queue.rate_bps, queue.buffer_bytes, queue.max_bytes),
        peaks_bps=tuple(peaks_bps),
        highest_threshold_bytes=minrate.highest_threshold_bytes(peaks_bps, queue.rate_bps, queue.buffer_bytes)
        if peaks_bps
        else float("nan"),
        target=target,
        points=points,
        most=good[-1] if good else None,
    )


def _admit(
    queue: Queue, asked: Candidates, target: float, seeds: int, jobs: int | None, progress: Progress | None
) -> tuple[Point, ...]:
    """Simulate numbers of reservations up to the capacity: all of them, or a bisection."""
    if not 0 < asked.rate_bps <= queue.rate_bps:
        raise ValueError(
            f"a reservation of {asked.rate_bps / 1e6:g} Mb/s does not fit a capacity of {queue.rate_bps / 1e6:g} Mb/s"
        )
    minrate.lossless_interval_s(asked.bucket_bytes, asked.rate_bps, queue.packet_bytes)  # refuses a bucket too small
    if not asked.access_bps >= asked.rate_bps:
        raise ValueError(
            f"an access link of {asked.access_bps / 1e6:g} Mb/s cannot carry {asked.rate_bps / 1e6:g} Mb/s reserved"
        )
    most = int(queue.rate_bps // asked.rate_bps)
    if most > 500:
        raise ValueError(f"{most} reservations would fit: simulate larger ones")
    points: dict[int, Point] = {}
    steps = most if most <= _MOST_ALL else most.bit_length() + 1

    def measure(number: int) -> Point:
        if progress is not None:
            progress(len(points) / steps, len(points), steps)
        if number not in points:
            points[number] = settle(
                lambda runs: _measure(queue, asked, number, runs, jobs),
                lambda point: [(point.loss, Bounds(high=target))],
                runs=seeds,
                most=_MOST_TIMES * max(seeds, 2),
            )
        return points[number]

    if most <= _MOST_ALL:
        for number in range(1, most + 1):
            measure(number)
    else:
        low, high = 0, most + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if measure(middle).verdict(target) == "meets" else (low, middle)
    return tuple(points[number] for number in sorted(points))


def _measure(queue: Queue, asked: Candidates, number: int, seeds: int, jobs: int | None) -> Point:
    result = sim.run(_scenario(queue, asked, number), seeds=seeds, jobs=jobs, max_memory=None, max_time=None)
    names = [f"r{place}" for place in range(number)]
    compliant = np.array([samples(result.flows, name, "compliant_bps") for name in names])
    lost = samples(result.links, "bottleneck", "dropped_reserved_packets")
    came = compliant.sum(axis=0) * _MEASURED_S / (8 * queue.packet_bytes)
    others = [f"be.{place}" for place in range(asked.best_effort)] if asked.best_effort > 1 else ["be"]
    beside = sum(
        (samples(result.flows, name, "throughput_bps") for name in others if asked.best_effort), np.zeros(seeds)
    )
    return Point(
        reservations=number,
        rate_bps=asked.rate_bps,
        loss=Interval.of(lost / (came + lost), within="share"),
        compliant=Interval.of(compliant.min(axis=0) / asked.rate_bps, within="amount"),
        best_effort_bps=Interval.of(beside, within="amount"),
        runs=seeds,
    )


def _scenario(queue: Queue, asked: Candidates, number: int) -> Scenario:
    """A link for each reserved source, then the bottleneck; timed transmissions and rate adaptive windows."""
    delay = f"{asked.round_trip_s / 2 * 1e9:.0f} ns"
    tcp = Tcp(
        stack="rfc",
        recovery=cast("Recovery", asked.recovery),
        mss=f"{queue.packet_bytes - _HEADER:.0f} B",
        header=f"{_HEADER} B",
        count_options=False,
    )
    reserved = Flow(
        to="right",
        start_spread="1 s",
        tcp=replace(tcp, congestion="rate-adaptive-window"),
        reservation=Reservation(
            rate=f"{asked.rate_bps:.0f} bit/s", bucket=f"{asked.bucket_bytes:.0f} B", timed=Timed()
        ),
    )
    access = Link(to="left", capacity=f"{asked.access_bps:.0f} bit/s", queue=DropTail(limit="1 MB"))
    bottleneck = Link(from_="left", to="right", capacity=f"{queue.rate_bps:.0f} bit/s", delay=delay, queue=queue.part())
    links = {"bottleneck": bottleneck, "back": Link(from_="right", to="left", delay=delay)}
    flows = {}
    for place in range(number):
        source = f"s{place}"
        links[f"a{place}"] = replace(access, from_=source)
        links[f"z{place}"] = Link(from_="left", to=source)
        flows[f"r{place}"] = replace(reserved, from_=source)
    if asked.best_effort:
        flows["be"] = Flow(count=asked.best_effort, from_="left", to="right", start_spread="1 s")
    return Scenario(
        duration=f"{_WARMUP_S + _MEASURED_S} s",
        warmup=f"{_WARMUP_S} s",
        tcp=tcp,
        topology=Graph(links=links),
        flows=flows,
    )
