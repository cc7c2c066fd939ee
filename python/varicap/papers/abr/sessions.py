"""What the figures measure: the efficiency of one session, or of two, at a rate of variation psi."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from varicap.analyse.models.abr import ATM_SHARE
from varicap.papers.run import Run, paired
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

DELAY_MS = 200.0
"""Round trip propagation delay, Delta [ms]."""
INTERVAL_MS = 30.0
"""Measurement interval s, in which also the capacity may change [ms]."""
SMALL = (0.16, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
LARGE = (3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0, 200.0)
PSI = SMALL + LARGE
"""Values of psi: mean time of the capacity in a state, in units of Delta."""
LONG_MS = 360.0
"""The larger round trip propagation delay of two sessions [ms]."""

BUFFERS = (8, 12)
"""The other buffers of the captions of Figs. 10 and 11 [packets]."""

_QUICK = (0.15, 0.16, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 200.0)
_CAPACITY = "topology.dumbbell.forward.capacity.slotted-markov.transitions"
_RATE_CONTROLLED = ("instcap", "effcap", "constant", "sack-instcap", "sack-effcap")

PSI_AXIS = Axis("psi: mean time in a state / round-trip time", scale="log")
EFFICIENCY = Axis("efficiency: throughput / mean capacity", start=0.3)


def samples_of(times: int, delay_ms: float = DELAY_MS) -> tuple[int, int]:
    """M : Delta and N : k Delta in samples, ceil(Delta / s) and (k - 1) times that.  Source: [abr, §VI-A].

    >>> samples_of(8), samples_of(12, 50.0)
    ((7, 49), (2, 22))
    """
    average = math.ceil(delay_ms / INTERVAL_MS)
    return average, (times - 1) * average


def one(
    run: Run,
    flow: str,
    tau_ms: float,
    *,
    delay_ms: float = DELAY_MS,
    buffer: int = 10,
    memory: tuple[int, int] | None = None,
    changes: dict[str, str] | None = None,
) -> Array:
    """Efficiency of a session with the link to itself, in each replication.

    `flow` is one of those of ``one-session.toml``, `tau_ms` the mean time of the capacity in a state, `buffer` in
    packets, `memory` M and N of EFFCAP in samples.
    """
    overrides = variation(run, tau_ms) | {
        "topology.dumbbell.forward.delay": f"{delay_ms:g} ms",
        "topology.dumbbell.forward.queue.drop-tail.limit": f"{buffer} packets",
    }
    if flow in _RATE_CONTROLLED and flow != "constant":
        overrides[f"flows.{flow}.feedback.delay"] = f"{delay_ms:g} ms"
    if memory is not None:
        estimator = f"flows.{flow}.feedback.estimator.effective"
        overrides |= {f"{estimator}.average": f"{memory[0]} samples", f"{estimator}.least": f"{memory[1]} samples"}
    done = run.simulate("one-session", overrides | (changes or {}), seeds=seeds(run), flows=[flow])
    payload = ATM_SHARE if flow in _RATE_CONTROLLED else 1.0
    return payload * samples(done.flows, flow, "goodput_bps") / samples(done.links, "forward", "capacity_bps")


def grid(run: Run, psi: Sequence[float]) -> tuple[float, ...]:
    """The given values of psi, or some of them in a quick run."""
    return run.pick(tuple(psi), tuple(value for value in psi if value in _QUICK))


def over_psi(run: Run, flow: str, psi: Sequence[float], buffer: int = 10) -> list[Array]:
    """Efficiency at each psi, for the paper's 200 ms."""
    return [one(run, flow, value * DELAY_MS, buffer=buffer) for value in psi]


def two(run: Run, kind: str, psi: float) -> tuple[Array, Array]:
    """Efficiencies of the sessions of 240 and of 360 ms that share a link, in each replication.

    `kind` is ``"case 1"`` (M and N of each session's round trip), ``"at source"`` (the same, measured by the sender),
    ``"case 2"`` (of their mean), ``"instcap"`` or ``"tcp"``; `psi` is the mean time in a state of the capacity over the
    larger round trip.
    """
    # Which of two sessions is ahead changes slowly, so their shares take longer to average out.
    overrides = variation(run, psi * LONG_MS, times=run.pick(3.0, 2.0))
    flows = ["tcp-short", "tcp-long"] if kind == "tcp" else ["short", "long"]
    for flow in flows:
        estimator = f"flows.{flow}.feedback.estimator"
        if kind == "case 2":
            overrides |= {f"{estimator}.effective.average": "10 samples", f"{estimator}.effective.least": "110 samples"}
        elif kind == "at source":
            overrides |= at_source(flow, times=12)
        elif kind == "instcap":
            overrides[estimator] = f'{{ instantaneous = {{ interval = "{INTERVAL_MS:g} ms" }} }}'
    done = run.simulate("two-sessions", overrides, seeds=seeds(run), flows=flows)
    capacity = samples(done.links, "forward", "capacity_bps")
    payload = 1.0 if kind == "tcp" else ATM_SHARE
    short, long = (payload * samples(done.flows, flow, "goodput_bps") / capacity for flow in flows)
    return short, long


def at_source(flow: str, times: int) -> dict[str, str]:
    """EFFCAP found by the source, with M and N of the least round trip that it measures.  Source: [abr, §VI-B]."""
    estimator = f"flows.{flow}.feedback.estimator.effective"
    return {
        f"{estimator}.at": '{ source = { rtt = "base" } }',
        f"{estimator}.average": "1 rtt",
        f"{estimator}.least": f"{times - 1} rtt",
    }


def seeds(run: Run) -> int:
    """The number of replications of each point."""
    return run.pick(16, 5)


def with_buffers(of: Callable[[int], Mapping[str, Interval]], buffers: Sequence[int]) -> dict[str, dict[str, Value]]:
    """The values of claims with other buffers, of which `of` measures one."""
    found: dict[str, dict[str, Value]] = {}
    for buffer in buffers:
        for claim, value in of(buffer).items():
            found.setdefault(claim, {})[f"a buffer of {buffer} packets"] = Value(sim=value)
    return found


def gain(ours: Array | float, other: Array | float) -> Array:
    """By how much `ours` exceeds the other efficiency, under the same capacity [%]."""
    return np.asarray(100 * (ours / other - 1))


def mean(arrays: Sequence[Array]) -> Interval:
    """The mean over points, with its interval over replications."""
    return Interval.of(paired(*arrays).mean(axis=0))


def curve(name: str, x: Sequence[float], arrays: Sequence[Array], colour: int) -> Curve:
    """A line of a figure, with intervals."""
    return Curve(name, x, [Interval.of(one) for one in arrays], colour)


def variation(run: Run, tau_ms: float, times: float = 1.0) -> dict[str, str]:
    """A capacity that stays tau in each state on average, and a run long enough for many changes."""
    change = INTERVAL_MS / tau_ms
    length = times * max(run.pick(600.0, 120.0), run.pick(150.0, 20.0) * tau_ms / 1e3)
    return {
        _CAPACITY: f"[[{1 - change!r}, {change!r}], [{change!r}, {1 - change!r}]]",
        "duration": f"{length + 20:g} s",
    }
