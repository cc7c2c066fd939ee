"""Load-reactive links in closed form, and the open-loop queue with a hysteretic capacity.

**The path of the acknowledgements.**  A return link of capacity C carries C / a acknowledgements of a bits a second,
and each lets b bits of data through: no more than C b / a of data.  With 40-byte acknowledgements for two packets of
1000 bytes that is 50 C [lrl, §5.2].

**From zero capacity.**  W packets arrive at first, then one copy at each timeout.  The head waits in the transmitter,
where it is not counted, so after k timeouts W - 1 + k packets wait.  The link opens at the first sample after the least
k whose queue exceeds the high threshold; timeouts come at R, 3 R, 7 R, … [lrl, §5.2].

**The open-loop queue.**  Poisson packets of constant size, a link whose capacity has the levels c0, c0 + D, …, c_m, and
a controller that moves it by a level at each sample.  Work is counted in units of 1/k packet.  At level c a unit takes
u/c, so an interval T has m = T c / u steps: in each a unit is served, then the arrivals of its time follow.  What the
samples observe, (work, level), is a Markov chain: m steps at a level, then the level that the work calls for.  Within a
step arrivals are moved to its end, an error of the order of u/c; m is rounded to whole steps.  Service integrates the
capacity (``service = "fluid"``), and the packet in service does not count.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from varicap.analyse.markov import Array, NotConverged


def ack_path_bound_bps(
    return_capacity_bps: float, *, packet_bytes: float = 1000.0, packets_per_ack: float = 2.0, ack_bytes: float = 40.0
) -> float:
    """The largest data rate that acknowledgements over a return link permit [b/s].

    Source: [lrl, §5.2]; the paper's setting gives 50 times the return capacity.

    >>> ack_path_bound_bps(20e3)
    1000000.0
    """
    return return_capacity_bps * packets_per_ack * packet_bytes / ack_bytes


@dataclass(frozen=True, kw_only=True)
class FromZero:
    """A sender in front of a link without capacity."""

    high: float
    """High threshold [B or packets]."""
    unit: Literal["bytes", "packets"] = "bytes"
    initial_window: int = 1
    """The sender's initial window [packets]."""
    packet_bytes: float = 1000.0
    ack_bytes: float = 40.0
    first_rto_s: float = 6.0
    maximum_rto_s: float = 64.0
    interval_s: float = 0.1
    """Time between samples [s]."""
    strict: bool = True
    """Whether a queue must exceed the threshold, or reach it."""
    counts_in_service: bool = False
    limit_packets: int = 50
    """The most that the queue can hold."""

    def _needed(self, size_bytes: float) -> float:
        """Packets that must wait for the link to open; infinite if the queue cannot hold that many."""
        in_packets = self.high if self.unit == "packets" else self.high / size_bytes
        least = math.floor(in_packets) + 1 if self.strict else math.ceil(in_packets)
        waiting = max(least - self.counts_in_service, 0)
        return waiting if waiting <= self.limit_packets else math.inf

    def timeouts(self) -> float:
        """Timeouts until the queue exceeds the threshold; infinite if it never does."""
        return max(self._needed(self.packet_bytes) - (self.initial_window - 1), 0)

    def opens_s(self) -> float:
        """When the forward link opens [s]; infinite if never.  Early drops are ignored.

        Source: [lrl, Fig. 7].

        >>> [FromZero(high=high).opens_s() for high in (1000, 2000, 3000)]
        [18.1, 42.1, 90.1]
        """
        count = self.timeouts()
        if math.isinf(count):
            return math.inf
        time, rto = 0.0, self.first_rto_s
        for _ in range(int(count)):
            time += rto
            rto = min(2 * rto, self.maximum_rto_s)
        # A sample is taken before the arrivals of its own instant.
        samples = math.floor(time / self.interval_s + 1e-9) + 1
        return round(samples * self.interval_s, 9)

    def return_can_open(self) -> bool:
        """Whether the return queue can hold enough acknowledgements to open its link, however many arrive.

        >>> FromZero(high=3000).return_can_open(), FromZero(high=3, unit="packets").return_can_open()
        (False, True)
        """
        return math.isfinite(self._needed(self.ack_bytes))


@dataclass(frozen=True, kw_only=True)
class OpenLoop:
    """Poisson packets that arrive at a link whose capacity is set by hysteresis."""

    arrivals_per_s: float
    """Packets per second [1/s]."""
    low: float
    """Low threshold [packets]."""
    high: float
    """High threshold [packets]."""
    minimum_bps: float = 20e3
    """Least capacity, c0 [b/s]."""
    maximum_bps: float = 2e6
    """Greatest capacity, c_m [b/s]."""
    increment_bps: float = 50e3
    """Step by which the capacity rises [b/s]."""
    decrement_bps: float = 50e3
    """Step by which the capacity falls [b/s]."""
    interval_s: float = 0.1
    """Time between samples [s]."""
    packet_bytes: float = 1000.0
    limit_packets: int = 20
    """The most that may wait, without the packet in service."""
    strict: bool = True
    """Whether a backlog equal to a threshold counts as between the two."""
    units: int = 8
    """Units of work in a packet, k."""


@dataclass(frozen=True)
class OpenLoopResult:
    """Queue and capacity in the long run."""

    levels_bps: Array
    """Capacities [b/s], shape (levels,)."""
    level_share: Array
    """Share of time at each capacity, shape (levels,)."""
    capacity_bps: float
    """Mean allocated capacity [b/s]."""
    waiting_packets: float
    """Mean number of packets that wait."""
    loss: float
    """Share of packets that find the queue full and are lost."""
    wait_s: float
    """Mean time that a packet waits before its service, by Little's law [s]."""
    at_minimum: float
    """Share of time at c0."""


def open_loop(parameters: OpenLoop) -> OpenLoopResult:
    """Solve the open-loop queue with a hysteretic capacity.

    Assumptions: Poisson arrivals, constant sizes, no reaction of the source; steps that lead between c0 and c_m.

    >>> result = open_loop(OpenLoop(arrivals_per_s=50, low=1, high=4))
    >>> 400e3 < result.capacity_bps < 700e3
    True
    """
    p = parameters
    if not 0 <= p.low <= p.high:
        raise ValueError(f"thresholds are in order and not negative, not {p.low} and {p.high}")
    if not (p.increment_bps > 0 and p.decrement_bps > 0 and 0 <= p.minimum_bps <= p.maximum_bps):
        raise ValueError("steps are above zero, and the minimum is at most the maximum")
    levels = _levels(p)
    in_system = -(-np.arange((p.limit_packets + 1) * p.units + 1) // p.units)
    waiting = np.maximum(in_system - 1, 0)
    kernels: dict[int, tuple[Array, Array]] = {}

    def kernel(place: int) -> tuple[Array, Array]:
        if place not in kernels:
            kernels[place] = _interval(p, levels[place], waiting)
        return kernels[place]

    at_samples = _at_samples(p, levels, waiting, kernel)
    over_time = np.array([share @ kernel(place)[1] if share.any() else share for place, share in enumerate(at_samples)])
    level_share = at_samples.sum(axis=1)
    mean_waiting = float((over_time @ waiting).sum())
    # Poisson arrivals see time averages.
    loss = float(over_time[:, waiting >= p.limit_packets].sum())
    entering = p.arrivals_per_s * (1.0 - loss)
    return OpenLoopResult(
        levels_bps=levels,
        level_share=level_share,
        capacity_bps=float(level_share @ levels),
        waiting_packets=mean_waiting,
        loss=loss,
        wait_s=mean_waiting / entering if entering > 0 else math.nan,
        at_minimum=float(level_share[0]),
    )


def _levels(p: OpenLoop) -> Array:
    """All capacities that steps up and down reach from c0, shape (levels,)."""
    reached, open_ = {p.minimum_bps}, [p.minimum_bps]
    while open_:
        level = open_.pop()
        for other in (min(level + p.increment_bps, p.maximum_bps), max(level - p.decrement_bps, p.minimum_bps)):
            if other not in reached:
                reached.add(other)
                open_.append(other)
        if len(reached) > _MOST_LEVELS:
            raise ValueError(f"steps reach more than {_MOST_LEVELS} levels: make them commensurate, or larger")
    return np.array(sorted(reached))


_MOST_LEVELS = 200


def _at_samples(p: OpenLoop, levels: Array, waiting: Array, kernel: Callable[[int], tuple[Array, Array]]) -> Array:
    """Shares of (level, work) after samples, shape (levels, work), by iteration from the empty queue at c0.

    Levels at which hardly any time is spent are skipped on the way, so the iteration is short although
    the chain is large: a controller forgets its past within some tens of samples.
    """
    up, down = (waiting >= p.high, waiting <= p.low) if not p.strict else (waiting > p.high, waiting < p.low)
    down = down & ~up
    higher = [_nearest(levels, min(level + p.increment_bps, p.maximum_bps)) for level in levels]
    lower = [_nearest(levels, max(level - p.decrement_bps, p.minimum_bps)) for level in levels]
    shares = np.zeros((levels.size, waiting.size))
    shares[0, 0] = 1.0
    for _ in range(_MOST_SAMPLES):
        after = np.zeros_like(shares)
        for place in np.flatnonzero(shares.sum(axis=1) > _NEGLIGIBLE):
            passed = shares[place] @ kernel(int(place))[0]
            after[higher[place]] += passed * up
            after[lower[place]] += passed * down
            after[place] += passed * ~(up | down)
        after /= after.sum()
        change = float(np.abs(after - shares).sum())
        shares = after
        if change < _CHANGE:
            shares[shares.sum(axis=1) <= _NEGLIGIBLE] = 0.0
            return shares
    raise NotConverged(f"the queue has not settled after {_MOST_SAMPLES} samples")


_MOST_SAMPLES = 50_000
_NEGLIGIBLE = 1e-13
_CHANGE = 1e-10


def _nearest(levels: Array, level: float) -> int:
    return int(np.abs(levels - level).argmin())


def _interval(p: OpenLoop, level_bps: float, waiting: Array) -> tuple[Array, Array]:
    """Transitions of the work over one interval at a level, and their mean over the interval."""
    served = round(p.interval_s * level_bps * p.units / (8.0 * p.packet_bytes))
    # Slow levels take more steps than they serve units, so that arrivals lie close to their time.
    split = max(1, -(-_LEAST_STEPS // max(served, 1)))
    steps = max(served, 1) * split
    arrivals = _arrivals(p, p.arrivals_per_s * p.interval_s / steps, waiting)
    states = waiting.size
    idle = arrivals
    serving = np.vstack([arrivals[:1], arrivals[:-1]]) if served else arrivals
    one = serving
    for _ in range(split - 1):
        one = one @ idle
    mean_of_one = np.eye(states)
    if split > 1:
        powers, total = serving.copy(), np.eye(states)
        for _ in range(split - 1):
            total = total + powers
            powers = powers @ idle
        mean_of_one = total / split
    power, mean = _power(one, max(served, 1))
    return power, mean @ mean_of_one


_LEAST_STEPS = 16


def _arrivals(p: OpenLoop, expected: float, waiting: Array) -> Array:
    """Transitions by the Poisson arrivals of one step; what does not fit is lost."""
    states = waiting.size
    matrix = np.zeros((states, states))
    at, probability, left = np.arange(states), math.exp(-expected), 1.0
    for number in range(1, p.limit_packets + 2):
        np.add.at(matrix, (np.arange(states), at), probability)
        left -= probability
        at = np.where(waiting[at] < p.limit_packets, np.minimum(at + p.units, states - 1), at)
        probability *= expected / number
    np.add.at(matrix, (np.arange(states), at), max(left, 0.0))
    return matrix


def _power(matrix: Array, exponent: int) -> tuple[Array, Array]:
    """The power of a matrix, and the mean of its powers from 0 to one less, by doubling."""
    size = matrix.shape[0]
    power, mean, count = np.eye(size), np.zeros((size, size)), 0
    for bit in bin(exponent)[2:]:
        if count:
            mean = (mean + power @ mean) / 2
            power, count = power @ power, 2 * count
        if bit == "1":
            mean = (count * mean + power) / (count + 1)
            power, count = power @ matrix, count + 1
    return power, mean
