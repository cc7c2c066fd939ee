"""The link that `varicap design effcap` asks about, the session over it, and its simulation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pyarrow.compute as pc

from varicap._core import LimitError
from varicap.engines import sim
from varicap.engines.scenarios import load
from varicap.results.samples import samples
from varicap.scenario import (
    Abr,
    Congestion,
    DropTail,
    Dumbbell,
    Effective,
    Feedback,
    Flow,
    Instantaneous,
    Link,
    Markov,
    MultipleTimer,
    Recovery,
    Scenario,
    Tcp,
)
from varicap.statistics import Array

RULE = 8
"""Round trips that the rule of [abr, §VI] remembers, k."""
ROUND_TRIPS = 1000
"""Of each replication, at least, and a tenth of that to warm up."""

_ATM_SHARE = 48 / 53
_MOST_SAMPLES = 10_000  # of a round trip
_PERIODS = 30  # mean times in a state of each replication, at least
_MOST_MEMORY, _MOST_TIME = "4 GB", "5 min"  # of the simulations at one psi


@dataclass(frozen=True, kw_only=True)
class Path:
    """A link whose capacity has two states, and the session over it.  Raises ``ValueError``.

    The defaults are those of [abr, §V].
    """

    delay_s: float = 0.2
    """Round trip propagation delay, Delta; also the age of the feedback [s]."""
    interval_s: float = 0.03
    """Measurement interval s: a sample of the capacity, and an advertised rate [s]."""
    high_bps: float = 0.8e6
    """Capacity in one state [b/s]."""
    low_bps: float = 0.4e6
    """Capacity in the other [b/s]."""
    packet_bytes: int = 500
    """Size of a packet in all [B]."""
    buffer: str = "10 packets"
    """Buffer of the link, as scenarios write it."""
    recovery: str = "old-tahoe"
    """TCP's recovery, as scenarios write it; the paper's has timeouts only."""
    congestion: str = "reno"
    """TCP's congestion control."""
    cells: bool = True
    """Whether rate control costs the headers of ATM cells, 5 bytes of 53, which TCP alone does not pay."""

    def __post_init__(self) -> None:
        for name in ("delay_s", "interval_s", "high_bps", "low_bps", "packet_bytes"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ValueError(f"{name} is a positive number, not {value!r}")
        if self.low_bps >= self.high_bps:
            raise ValueError(
                f"the low capacity, {self.low_bps:g} b/s, is not below the high one, {self.high_bps:g} b/s"
            )
        if self.pipe_packets < 1:
            raise ValueError(f"a round trip carries {self.pipe_packets:.2g} packets: nothing to control")
        if self.samples > _MOST_SAMPLES:
            raise ValueError(
                f"a round trip has {self.samples} samples: an interval of {self.interval_s:g} s is too short"
            )

    @property
    def samples(self) -> int:
        """Samples of a round trip, ceil(Delta / s)."""
        return math.ceil(self.delay_s / self.interval_s - 1e-9)

    @property
    def pipe_packets(self) -> float:
        """Packets that the high capacity carries in a round trip."""
        return self.high_bps * self.delay_s / 8 / self.packet_bytes

    @property
    def rule(self) -> tuple[int, int]:
        """M and N of the rule [abr, §VI]: M : Delta, N : 8 Delta.

        >>> Path().rule
        (7, 49)
        """
        return self.samples, (RULE - 1) * self.samples


def efficiencies(
    path: Path,
    psi: float,
    flows: Mapping[str, Flow],
    *,
    seeds: int,
    length_s: float,
    seed: int,
    jobs: int | None,
) -> dict[str, Array]:
    """Efficiency of each flow, alone under the same capacity, in each replication."""
    tau = psi * path.delay_s
    warm_up_s = ROUND_TRIPS / 10 * path.delay_s
    scenario = Scenario(
        name="design-effcap",
        duration=f"{warm_up_s + max(length_s, _PERIODS * tau):.9f} s",
        warmup=f"{warm_up_s:.9f} s",
        isolate=True,
        topology=Dumbbell(forward=_link(path, tau), reverse=Link(delay="0 s")),
        tcp=_tcp(path),
        flows=flows,
    )
    loaded = load(scenario)
    try:
        done = sim.run(loaded, seeds=seeds, seed=seed, jobs=jobs, max_memory=_MOST_MEMORY, max_time=_MOST_TIME)
    except LimitError as error:
        raise ValueError(
            f"at psi = {psi:g} the simulations take more than {_MOST_TIME} or {_MOST_MEMORY}: "
            "fewer replications, or shorter ones, take less"
        ) from error
    found = {}
    for name, flow in flows.items():
        mine = done.links.filter(pc.equal(done.links["flow"], name))
        payload = _ATM_SHARE if flow.abr is not None and path.cells else 1.0
        found[name] = payload * samples(done.flows, name, "goodput_bps") / samples(mine, "forward", "capacity_bps")
    return found


def _link(path: Path, tau_s: float) -> Link:
    rates = [f"{rate:.0f} bit/s" for rate in (path.high_bps, path.low_bps)]
    return Link(
        capacity=Markov(rates=rates, mean_holding=[f"{tau_s:.9f} s"] * 2),
        delay=f"{path.delay_s:.9f} s",
        queue=DropTail(limit=path.buffer),
    )


def _tcp(path: Path) -> Tcp:
    """As in [abr, §V], but for recovery and congestion control: a timer of twice the round trip."""
    return Tcp(
        stack="rfc",
        recovery=cast("Recovery", path.recovery),
        congestion=cast("Congestion", path.congestion),
        mss=f"{path.packet_bytes} B",
        header="0 B",
        count_options=False,
        handshake=False,
        initial_window="1 packets",
        max_window=f"{math.ceil(1.6 * path.pipe_packets - 1e-9)} packets",
        ack="every",
        timer=MultipleTimer(factor=2.0),
    )


def instcap(path: Path) -> Flow:
    """A flow at the last rate that was measured."""
    return _controlled(path, Instantaneous(interval=f"{path.interval_s:.9f} s"))


def effcap(path: Path, average: int, least: int) -> Flow:
    """A flow at the least of `least` averages over `average` samples."""
    interval = f"{path.interval_s:.9f} s"
    return _controlled(path, Effective(interval=interval, average=f"{average} samples", least=f"{least} samples"))


def _controlled(path: Path, estimator: Instantaneous | Effective) -> Flow:
    return Flow(
        abr=Abr(initial=f"{path.low_bps:.0f} bit/s"),
        feedback=Feedback(share="capacity", estimator=estimator, delay=f"{path.delay_s:.9f} s"),
    )
