"""How many samples EFFCAP should average (M), and over how many averages it should take the least (N).

The rule of [abr, §VI]: M = ceil(Delta / s), averages over a round trip Delta of samples taken every s, and
N = (k - 1) M with k = 8 to 12, a memory of k round trips.  Whether it pays depends on psi, the mean time that the
capacity stays in a state over Delta:

    fast           psi < 0.2        all averages are close to the mean capacity, which is advertised
    round trips    0.2 .. 20        rates come too late; the least capacity is advertised, and little is lost
    slow           psi > 20         the capacity itself is advertised; a short memory regains it sooner

`effcap` measures it: TCP alone, over INSTCAP and over EFFCAP with several M and N, each under the same capacity.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import pyarrow.compute as pc

from varicap._core import LimitError
from varicap.analyse.effective import estimate
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
from varicap.statistics import Array, Interval, Progress

Regime: TypeAlias = Literal["fast", "round trips", "slow"]

FAST, SLOW = 0.2, 20.0
"""Mean time in a state over the round trip, below and above which the capacity varies fast and slowly [abr, §VI]."""
OVER_PSI = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Rates of variation that the overview shows."""

_ATM_SHARE = 48 / 53
_MEMORIES = (2, 4, 8, 12)  # k: round trips that EFFCAP remembers
_RULE = 8
_WORTHWHILE = 1.0  # a gain over the rule below this is not worth a deviation [%]
_SAMPLES = 20_000  # for the rates that would be advertised
_MOST_SAMPLES = 10_000  # of a round trip
_ROUND_TRIPS = 1000  # of each replication, at least, and a tenth of that to warm up
_PERIODS = 30  # mean times in a state of each replication, at least
_MOST_MEMORY, _MOST_TIME = "4 GB", "5 min"  # of the simulations at one psi
_MOST_PSI = 1000.0  # beyond, the capacity is as good as constant
_LEAST_SHARE = 0.01  # of an interval that the capacity stays in a state: below, every sample is the mean


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
        return self.samples, (_RULE - 1) * self.samples


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One choice of M and N, at the rate of variation that was asked for."""

    average: int
    """Samples of an average, M."""
    least: int
    """Averages of which the least is advertised, N."""
    efficiency: Interval
    """Throughput as a share of the mean capacity."""
    over_rule: Interval
    """What it gains over the rule's M and N, under the same capacity [%]."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """TCP with and without rate control at one rate of variation, EFFCAP as recommended."""

    psi: float
    regime: Regime
    told: float
    """Mean rate that EFFCAP advertises, as a share of the mean capacity."""
    too_high: float
    """Share of time in which a rate exceeds the capacity that it meets, a round trip later."""
    tcp: Interval
    """Efficiency of TCP alone."""
    instcap: Interval
    """Efficiency over INSTCAP."""
    effcap: Interval
    """Efficiency over EFFCAP."""
    over_tcp: Interval
    """What EFFCAP gains over TCP alone [%]."""
    over_instcap: Interval
    """What EFFCAP gains over INSTCAP [%]."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """The recommended M and N, and what was measured to recommend them."""

    path: Path
    psi: float | None
    average: int
    """Recommended M [samples]."""
    least: int
    """Recommended N [averages]."""
    reason: str
    choices: tuple[Choice, ...] = field(default=())
    """At the rate of variation that was asked for, the best first; empty if none was."""
    over_psi: tuple[Point, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap design effcap --json`` prints it."""
        return {
            "delay_s": self.path.delay_s,
            "interval_s": self.path.interval_s,
            "psi": self.psi,
            "recommended": {
                "average_samples": self.average,
                "least_samples": self.least,
                "memory_s": (self.average + self.least - 1) * self.path.interval_s,
            },
            "rule": dict(zip(("average_samples", "least_samples"), self.path.rule, strict=True)),
            "reason": self.reason,
            "choices": [
                {
                    "average_samples": one.average,
                    "least_samples": one.least,
                    "efficiency": one.efficiency.to_dict(),
                    "over_rule_percent": one.over_rule.to_dict(),
                }
                for one in self.choices
            ],
            "over_psi": [
                {
                    "psi": one.psi,
                    "regime": one.regime,
                    "told_over_mean": one.told,
                    "told_too_high": one.too_high,
                    "tcp": one.tcp.to_dict(),
                    "instcap": one.instcap.to_dict(),
                    "effcap": one.effcap.to_dict(),
                    "effcap_over_tcp_percent": one.over_tcp.to_dict(),
                    "effcap_over_instcap_percent": one.over_instcap.to_dict(),
                }
                for one in self.over_psi
            ],
        }


def regime(psi: float) -> Regime:
    """Which of the three regimes of [abr, §VI] a rate of variation belongs to.

    >>> regime(0.1), regime(5.0), regime(100.0)
    ('fast', 'round trips', 'slow')
    """
    return "fast" if psi < FAST else "slow" if psi > SLOW else "round trips"


def effcap(
    path: Path | None = None,
    psi: float | None = None,
    *,
    seeds: int = 6,
    duration_s: float | None = None,
    overview: Sequence[float] = OVER_PSI,
    seed: int = 1,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Design:
    """Recommend M and N for a path, and measure what they cost and gain.

    With `psi` several M and N are compared there by simulation.  The rule is recommended unless another choice gains
    more than 1 % over it, and more than chance.  Without `psi` the rule is recommended: it suits all rates somewhat.

    `duration_s` is the least simulated time of each of the `seeds` replications, 1000 round trips if it is not given;
    slow variation takes 30 mean times in a state.

    >>> design = effcap(psi=1.0, seeds=3, duration_s=60.0, overview=())
    >>> design.average, design.choices[0].efficiency.mean > 0.5
    (7, True)
    """
    path = path or Path()
    if psi is not None:
        _check_psi(path, psi)
    if seeds < 2:
        raise ValueError(f"an interval takes two replications or more, not {seeds}")
    length_s = _ROUND_TRIPS * path.delay_s if duration_s is None else duration_s
    points = sorted({*overview, psi} if psi is not None and overview else overview)
    total = len(points) + (psi is not None)

    def report(done: int) -> None:
        if progress is not None:
            progress(done / max(total, 1), done, total)

    def run(at: float, flows: Mapping[str, Flow]) -> dict[str, Array]:
        return _efficiencies(path, at, flows, seeds=seeds, length_s=length_s, seed=seed, jobs=jobs)

    average, least = path.rule
    reason = "the rule: it suits all rates of variation somewhat"
    choices: tuple[Choice, ...] = ()
    if psi is not None:
        report(0)
        choices = _choices(path, run(psi, {_name(*memory): _effcap(path, *memory) for memory in _memories(path)}))
        average, least, reason = _recommended(path, choices)
    flows = {"tcp": Flow(), "instcap": _instcap(path), "effcap": _effcap(path, average, least)}
    measured: list[Point] = []
    for at in points:
        report(len(measured) + (psi is not None))
        measured.append(_point(path, at, (average, least), run(at, flows)))
    return Design(
        path=path, psi=psi, average=average, least=least, reason=reason, choices=choices, over_psi=tuple(measured)
    )


def _check_psi(path: Path, psi: float) -> None:
    if not 0 < psi < math.inf:
        raise ValueError(f"psi is a positive number, not {psi!r}")
    if psi > _MOST_PSI:
        raise ValueError(
            f"at psi = {psi:g} the capacity is as good as constant: nothing to average (at most {_MOST_PSI:g})"
        )
    if psi * path.delay_s < _LEAST_SHARE * path.interval_s:
        raise ValueError(
            f"at psi = {psi:g} the capacity changes more than {1 / _LEAST_SHARE:g} times in an interval of "
            f"{path.interval_s:g} s: every sample is the mean"
        )


def _memories(path: Path) -> list[tuple[int, int]]:
    """M and N that are compared: M of one sample, half and a whole round trip; the memory of 2 to 12 round trips."""
    averages = {1, math.ceil(path.samples / 2), path.samples}
    found = {(average, (times - 1) * path.samples) for average in averages for times in _MEMORIES}
    return sorted(found | {(1, 1), path.rule})


def _name(average: int, least: int) -> str:
    return f"effcap-{average}-{least}"


def _choices(path: Path, measured: Mapping[str, Array]) -> tuple[Choice, ...]:
    rule = measured[_name(*path.rule)]
    found = [
        Choice(
            average=memory[0],
            least=memory[1],
            efficiency=Interval.of(measured[_name(*memory)]),
            over_rule=_gain(measured[_name(*memory)], rule),
        )
        for memory in _memories(path)
    ]
    return tuple(sorted(found, key=lambda one: -one.efficiency.mean))


def _recommended(path: Path, choices: Sequence[Choice]) -> tuple[int, int, str]:
    best = choices[0]
    gain = best.over_rule
    if (best.average, best.least) == path.rule:
        return *path.rule, "the rule is the best of the choices compared"
    if gain.mean < _WORTHWHILE or gain.lo is None or gain.lo <= 0:
        return *path.rule, f"the rule: the best choice gains {gain.mean:.1f} %, too little or no more than chance"
    return best.average, best.least, f"gains {gain.mean:.1f} % over the rule ({gain.lo:.1f} to {gain.hi:.1f} %)"


def _point(path: Path, psi: float, memory: tuple[int, int], measured: Mapping[str, Array]) -> Point:
    told, too_high = _told(path, psi, memory)
    return Point(
        psi=psi,
        regime=regime(psi),
        told=told,
        too_high=too_high,
        tcp=Interval.of(measured["tcp"]),
        instcap=Interval.of(measured["instcap"]),
        effcap=Interval.of(measured["effcap"]),
        over_tcp=_gain(measured["effcap"], measured["tcp"]),
        over_instcap=_gain(measured["effcap"], measured["instcap"]),
    )


def _gain(ours: Array, other: Array) -> Interval:
    return Interval.of(100 * (ours / other - 1))


def _told(path: Path, psi: float, memory: tuple[int, int]) -> tuple[float, float]:
    """Mean rate that would be advertised over the mean capacity, and how often it exceeds what it meets."""
    rng = np.random.default_rng(1)
    tau = psi * path.delay_s
    end = _SAMPLES * path.interval_s
    changes = np.cumsum(rng.exponential(tau, max(4, math.ceil(2 * end / tau))))
    edges = np.arange(_SAMPLES + 1) * path.interval_s
    times = np.concatenate([[0.0], changes])
    rates = np.where(np.arange(times.size) % 2, path.low_bps, path.high_bps)
    # The capacity's integral is piecewise linear: its means over the intervals are exact.
    volume = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(times))])
    carried = np.diff(np.interp(edges, times, volume)) / path.interval_s
    rate = estimate(carried, average=memory[0], least=memory[1])
    meets = carried[path.samples + 1 :]
    return float(rate.mean() / carried.mean()), float((rate[: meets.size] > meets * (1 + 1e-9)).mean())


def _efficiencies(
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
    warm_up_s = _ROUND_TRIPS / 10 * path.delay_s
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


def _instcap(path: Path) -> Flow:
    return _controlled(path, Instantaneous(interval=f"{path.interval_s:.9f} s"))


def _effcap(path: Path, average: int, least: int) -> Flow:
    interval = f"{path.interval_s:.9f} s"
    return _controlled(path, Effective(interval=interval, average=f"{average} samples", least=f"{least} samples"))


def _controlled(path: Path, estimator: Instantaneous | Effective) -> Flow:
    return Flow(
        abr=Abr(initial=f"{path.low_bps:.0f} bit/s"),
        feedback=Feedback(share="capacity", estimator=estimator, delay=f"{path.delay_s:.9f} s"),
    )
