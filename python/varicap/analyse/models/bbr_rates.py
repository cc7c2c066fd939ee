"""BBR's mean throughput alone on a capacity of n rates: no renewal model, but its law of the rate on sample paths.

BBR sends at a gain times the largest delivery rate of the last ten round trips, within a window of two such pipes
[bbr1, as Linux has it].  Its memory of ten rounds, its cycle of eight gains and the clock of PROBE_RTT make renewal
states too many to count.  What remains of it without packets is a recursion in slots of the round trip delay, with c_k
packets that the link carries in slot k, a backlog q and a bandwidth b:

    sent = min(gain b, 2 b - q),   d = min(q + sent, c_k),   q' = min(q + sent - d, B),   b' = max of the last ten d

with gains 1.25, 0.75, and 1 six times.  A queue that has not been empty for 10 s is drained: four packets per round
trip, for 200 ms and a round trip.  It is run on sample paths of the chain, and the share of what they offered is the
answer, so that paths may be short.  Losses do not matter to the rate, and here they cost nothing.

It is a heuristic, and its answer is always strained: BBR's filter counts rounds of packets, which a queue makes longer
than a slot, while here it forgets after ten slots; and after PROBE_RTT the filter here has lost its maximum.  Against
the simulator it was 20 % too low on 5 and 40 packets per round trip, and 61 % on 4 and 100.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import advertised, together
from varicap.analyse.models.varying import Parameters, refuse_outages

Array = NDArray[np.float64]

_GAINS = np.array([1.25, 0.75, 1, 1, 1, 1, 1, 1])
_ROUNDS = 10
_WINDOW = 2.0
_EXPIRES_S, _PROBES_S, _LEAST_WINDOW = 10.0, 0.2, 4.0
_EMPTY = 0.5
_SLOTS, _WARM_UP, _SEED = 1500, 150, 21


def utilisation(parameters: Parameters) -> float:
    """Share of the mean capacity that BBR uses in the long run [1].

    >>> from varicap.analyse.effective import SlottedChain
    >>> chain = SlottedChain.symmetric(20.0, high=40.0, low=20.0)
    >>> round(utilisation(Parameters(capacity=chain, waiting_packets=30, round_trip_s=0.1)), 2)
    0.98
    """
    return together.alone(solve(parameters))


def solve(parameters: Parameters) -> together.Computation[float]:
    """`utilisation` as a computation, many of which `together.run` solves at once."""
    refuse_outages(parameters)
    return float((yield _follow, parameters))


def _follow(several: Sequence[Parameters]) -> list[float]:
    """The shares of several paths, whose sample paths are followed side by side; arrays end with path, sample path."""
    rng = np.random.default_rng(_SEED)
    states = advertised.paths_of([one.capacity for one in several], _SLOTS, rng)
    paths = states[0].shape[1]
    rates = np.zeros((len(several), max(len(one.capacity.capacity) for one in several)))
    for row, one in zip(rates, several, strict=True):
        row[: len(one.capacity.capacity)] = one.capacity.capacity
    place = np.stack(states, axis=1) + np.arange(len(several), dtype=np.int32)[:, None] * rates.shape[1]
    round_trip_s = np.array([[one.round_trip_s] for one in several])
    room = np.array([[one.waiting_packets] for one in several])
    expires = _EXPIRES_S / round_trip_s
    probes = np.ceil(_PROBES_S / round_trip_s) + 1
    recent = np.tile(rates.take(place[0]), (_ROUNDS, 1, 1))
    gains = _GAINS[(rng.integers(0, len(_GAINS), paths) + np.arange(len(_GAINS))[:, None]) % len(_GAINS)]
    backlog, probing, served, offered, since = np.zeros((5, len(several), paths))
    busy = rng.random(paths) * expires
    for slot in range(_SLOTS):
        oldest = slot % _ROUNDS
        if oldest == 0:
            # Of what was delivered in the ten slots before, the largest but for the first ones.
            before, since = recent.copy(), np.zeros_like(since)
            for number in reversed(range(_ROUNDS - 1)):
                np.maximum(before[number], before[number + 1], out=before[number])
        capacity = rates.take(place[slot])
        bandwidth = np.maximum(before[oldest], since)
        window = np.maximum(_WINDOW * bandwidth - backlog, 0)
        sent = np.minimum(gains[slot % len(_GAINS)] * bandwidth, window)
        drains = probing > 0
        drained = drains.any()
        if drained:
            sent = np.where(drains, np.minimum(sent, _LEAST_WINDOW), sent)
        there = backlog + sent
        delivered = np.minimum(there, capacity)
        backlog = np.minimum(there - delivered, room)
        recent[oldest] = np.where(drains, 0, delivered) if drained else delivered
        since = np.maximum(since, recent[oldest])
        busy = (busy + 1) * (backlog > _EMPTY)
        begins = (busy > expires) & ~drains
        if drained:
            probing = np.maximum(probing - 1, 0)
        if begins.any():
            probing = np.where(begins, probes, probing)
            busy[begins] = 0
        if slot >= _WARM_UP:
            served += delivered
            offered += capacity
    return [float(one) for one in served.sum(axis=1) / offered.sum(axis=1)]
