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
    """The shares of several paths, all of whose sample paths are followed side by side."""
    rng = np.random.default_rng(_SEED)
    states = advertised.paths_of([one.capacity for one in several], _SLOTS, rng)
    paths = states[0].shape[1]
    phase, begun = rng.integers(0, len(_GAINS), paths), rng.random(paths)
    side = _SideBySide(several, np.tile(phase, len(several)), np.tile(begun, len(several)))
    rates = np.zeros((len(several), max(len(one.capacity.capacity) for one in several)))
    for row, one in zip(rates, several, strict=True):
        row[: len(one.capacity.capacity)] = one.capacity.capacity
    place = np.repeat(np.arange(len(several)) * rates.shape[1], paths)
    for first in range(0, _SLOTS, _ROUNDS):
        rounds = np.concatenate([one[first : first + _ROUNDS] for one in states], axis=1) + place
        side.go_on(first, rates.take(rounds))
    shares = side.served.reshape(len(several), paths).sum(axis=1) / side.offered.reshape(len(several), paths).sum(
        axis=1
    )
    return [float(one) for one in shares]


class _SideBySide:
    """Sample paths of one or more paths, all arrays of the shape (sample paths,)."""

    def __init__(self, several: Sequence[Parameters], phase: NDArray[np.int64], begun: Array) -> None:
        paths = phase.size // len(several)
        round_trip_s = np.repeat([one.round_trip_s for one in several], paths)
        self._room = np.repeat([float(one.waiting_packets) for one in several], paths)
        self._gains = _GAINS[(phase + np.arange(len(_GAINS))[:, None]) % len(_GAINS)]
        # Slots are counted in two bytes each, which takes a quarter of the time; more than all need not be told apart.
        expires = _EXPIRES_S / round_trip_s
        self._expires = _in_bytes(np.floor(expires) + 1)
        self._probes = _in_bytes(np.ceil(_PROBES_S / round_trip_s) + 1)
        self._due = _in_bytes(np.floor(expires - begun * expires))  # when a queue will have lasted for too long
        self._until = np.zeros_like(self._due)  # when it will have been drained
        self._backlog, self.served, self.offered = np.zeros((3, phase.size))
        self._recent: Array | None = None

    def go_on(self, first: int, capacities: Array) -> None:
        """Ten slots or less, from the first one on, of these capacities, shape (slots, sample paths)."""
        if self._recent is None:
            self._recent = np.repeat(capacities[:1], _ROUNDS, axis=0)
        recent, backlog, due, until = self._recent, self._backlog, self._due, self._until
        # Of what was delivered in the ten slots before, the largest but for the first ones.
        before, since = recent.copy(), np.zeros_like(backlog)
        for number in reversed(range(_ROUNDS - 1)):
            np.maximum(before[number], before[number + 1], out=before[number])
        bandwidth, sent, window = (np.empty_like(backlog) for _ in range(3))
        later = np.empty_like(due)
        drains, is_so = (np.empty(due.size, dtype=bool) for _ in range(2))
        for slot, (capacity, largest, delivered) in enumerate(zip(capacities, before, recent, strict=False), first):
            np.maximum(largest, since, out=bandwidth)
            np.multiply(bandwidth, _WINDOW, out=window)
            window -= backlog
            np.multiply(self._gains[slot % len(_GAINS)], bandwidth, out=sent)
            np.minimum(sent, window, out=sent)
            np.maximum(sent, 0, out=sent)
            np.greater(until, slot, out=drains)
            (draining,) = drains.nonzero()
            sent[draining] = np.minimum(sent[draining], _LEAST_WINDOW)
            backlog += sent
            np.minimum(backlog, capacity, out=delivered)
            backlog -= delivered
            np.minimum(backlog, self._room, out=backlog)
            if slot >= _WARM_UP:
                self.served += delivered
                self.offered += capacity
            delivered[draining] = 0
            np.maximum(since, delivered, out=since)
            np.add(self._expires, slot, out=later, casting="same_kind")
            np.less_equal(backlog, _EMPTY, out=is_so)
            np.copyto(due, later, where=is_so)
            np.less_equal(due, slot, out=is_so)
            np.greater(is_so, drains, out=is_so)
            np.copyto(due, later, where=is_so)
            np.add(self._probes, slot + 1, out=later, casting="same_kind")
            np.copyto(until, later, where=is_so)


def _in_bytes(slots: Array) -> NDArray[np.int16]:
    return np.minimum(slots, 2 * _SLOTS).astype(np.int16)
