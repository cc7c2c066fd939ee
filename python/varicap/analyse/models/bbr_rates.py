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
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import advertised, together
from varicap.analyse.models.varying import Parameters, refuse_outages

Array = NDArray[np.float64]
Slots: TypeAlias = NDArray[np.int16]

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
    drawn = advertised.paths_of([one.capacity for one in several], _SLOTS, rng)
    paths = drawn[0].shape[1:]
    phase, begun = rng.integers(0, len(_GAINS), paths), rng.random(paths)
    side = _SideBySide(several, phase, begun)
    states = np.stack(drawn, axis=1)
    for first in range(0, _SLOTS, _ROUNDS):
        side.go_on(first, states[first : first + _ROUNDS])
    return [
        float(served.sum() / _offered(one.capacity.capacity, drawn[_WARM_UP:]))
        for served, one, drawn in zip(side.served, several, drawn, strict=True)
    ]


def _offered(rates: Array, states: advertised.States) -> float:
    """Packets that the link could carry in slots of these states."""
    return float(sum(rate * np.count_nonzero(states == state) for state, rate in enumerate(rates)))


class _SideBySide:
    """Sample paths of several paths, shape (paths, sample paths).

    Those of the same number are drawn by the same random numbers, so that from path to path capacities are mostly the
    same, and so is what BBR makes of them, unless the paths differ in anything else.  What it does in ten slots follows
    from the state before and from their capacities.  So it is found for the first of neighbours in which both are the
    same, a *leader*, in arrays of shape (leaders,), and the others follow.
    """

    def __init__(self, several: Sequence[Parameters], phase: NDArray[np.int64], begun: Array) -> None:
        shape = len(several), phase.size
        rates = np.zeros((len(several), max(len(one.capacity.capacity) for one in several)))
        for row, one in zip(rates, several, strict=True):
            row[: len(one.capacity.capacity)] = one.capacity.capacity
        of_path = np.array([[one.round_trip_s, float(one.waiting_packets)] for one in several])
        self._is_other = np.ones(len(several), dtype=bool)
        """Whether a path differs from the one before it in more than how its capacity changes."""
        self._is_other[1:] = (np.diff(np.concatenate([of_path, rates], axis=1), axis=0) != 0).any(axis=1)
        self._rates, self._room = rates, of_path[:, 1]
        self._gains = _GAINS[(phase + np.arange(len(_GAINS))[:, None]) % len(_GAINS)]
        # Slots are counted in two bytes each, which takes a quarter of the time; more than all need not be told apart.
        expires = _EXPIRES_S / of_path[:, :1]
        self._expires = _in_bytes(np.floor(expires[:, 0]) + 1)
        self._probes = _in_bytes(np.ceil(_PROBES_S / of_path[:, 0]) + 1)
        self.served = np.zeros(shape)
        self._leader: NDArray[np.intp] = np.arange(phase.size * len(several)).reshape(shape)
        """By path and sample path, where its state is among those of the leaders."""
        self._is_new = np.broadcast_to(self._is_other[:, None], shape).copy()
        """Whether the state differs from that of the path before."""
        due = _in_bytes(np.floor(expires - begun * expires)).ravel()
        # When a queue will have lasted for too long, and when it will have been drained.
        self._state = _State(backlog=np.zeros(due.size), due=due, until=np.zeros_like(due), recent=None)
        self._every = np.divmod(np.arange(due.size), phase.size)
        # Where each path differs from the one before it, all lead.
        self._all = self._of(*self._every) if self._is_other.all() else None

    def go_on(self, first: int, states: advertised.States) -> None:
        """Ten slots, from the first one on, in these states of the capacities, shape (slots, paths, sample paths)."""
        is_new = self._is_new
        if self._all is not None:
            served = self._state.go_on(first, self._capacity(states, *self._every), **self._all)
            self.served += served.reshape(is_new.shape)
            return
        is_new[1:] |= (states[:, 1:] != states[:, :-1]).any(axis=0)
        those = np.flatnonzero(is_new)
        path, sample = np.divmod(those, is_new.shape[1])
        # The leader of each is the last one that is new.
        leader = np.zeros(is_new.shape, dtype=np.intp)
        leader[path, sample] = np.arange(path.size)
        np.maximum.accumulate(leader, axis=0, out=leader)
        state = self._state.of(self._leader[path, sample])
        served = state.go_on(first, self._capacity(states, path, sample), **self._of(path, sample))
        self.served += served[leader]
        self._leader, self._state = leader, state
        # Where the state has become that of the path before, it leads no longer.
        behind = np.flatnonzero(~self._is_other[path])
        same = state.same(behind, leader[path[behind] - 1, sample[behind]], first + len(states))
        is_new.flat[those[behind[same]]] = False

    def _capacity(self, states: advertised.States, path: NDArray[np.intp], sample: NDArray[np.intp]) -> Array:
        """What some sample paths carry in these states, shape (slots, sample paths)."""
        flat = states.reshape(len(states), -1).take(path * states.shape[2] + sample, axis=1)
        return np.asarray(self._rates.take(flat + path * self._rates.shape[1]))

    def _of(self, path: NDArray[np.intp], sample: NDArray[np.intp]) -> dict[str, Any]:
        """What else matters to BBR on some sample paths."""
        return {
            "room": self._room[path],
            "gains": self._gains[:, sample],
            "expires": self._expires[path],
            "probes": self._probes[path],
        }


@dataclass(kw_only=True)
class _State:
    """BBR on sample paths, arrays of shape (sample paths,); times are in slots."""

    backlog: Array
    due: Slots
    """When a queue will have lasted for too long."""
    until: Slots
    """When it will have been drained."""
    recent: Array | None
    """What was delivered in the last ten slots, shape (10, sample paths); none before the first one."""

    def of(self, those: NDArray[np.intp]) -> "_State":
        """The state of some of the sample paths, which may repeat."""
        recent = None if self.recent is None else self.recent[:, those]
        return _State(backlog=self.backlog[those], due=self.due[those], until=self.until[those], recent=recent)

    def same(self, some: NDArray[np.intp], others: NDArray[np.intp], slot: int) -> NDArray[np.bool_]:
        """Whether some sample paths are in the same state as others before a slot; what is over is forgotten."""
        found: NDArray[np.bool_] = self.backlog[some] == self.backlog[others]
        found &= self.due[some] == self.due[others]
        found &= np.maximum(self.until[some], slot) == np.maximum(self.until[others], slot)
        if self.recent is not None:
            found &= (self.recent[:, some] == self.recent[:, others]).all(axis=0)
        return found

    def go_on(
        self, first: int, capacities: Array, *, room: Array, gains: Array, expires: Slots, probes: Slots
    ) -> Array:
        """Ten slots, from the first one on, of capacities of shape (slots, sample paths): what is served after all.

        `expires` and `probes` are the slots for which a queue may last, and for which it is drained.
        """
        if self.recent is None:
            self.recent = np.repeat(capacities[:1], _ROUNDS, axis=0)
        recent, backlog, due, until = self.recent, self.backlog, self.due, self.until
        # Of what was delivered in the ten slots before, the largest but for the first ones.
        before, since = recent.copy(), np.zeros_like(backlog)
        for number in reversed(range(_ROUNDS - 1)):
            np.maximum(before[number], before[number + 1], out=before[number])
        bandwidth, sent, window = (np.empty_like(backlog) for _ in range(3))
        later, served = np.empty_like(due), np.zeros_like(backlog)
        drains, is_so = (np.empty(due.size, dtype=bool) for _ in range(2))
        for slot, (capacity, largest, delivered) in enumerate(zip(capacities, before, recent, strict=True), first):
            np.maximum(largest, since, out=bandwidth)
            np.multiply(bandwidth, _WINDOW, out=window)
            window -= backlog
            np.multiply(gains[slot % len(_GAINS)], bandwidth, out=sent)
            np.minimum(sent, window, out=sent)
            np.maximum(sent, 0, out=sent)
            np.greater(until, slot, out=drains)
            (draining,) = drains.nonzero()
            sent[draining] = np.minimum(sent[draining], _LEAST_WINDOW)
            backlog += sent
            np.minimum(backlog, capacity, out=delivered)
            backlog -= delivered
            np.minimum(backlog, room, out=backlog)
            if slot >= _WARM_UP:
                served += delivered
            delivered[draining] = 0
            np.maximum(since, delivered, out=since)
            np.add(expires, slot, out=later, casting="same_kind")
            np.less_equal(backlog, _EMPTY, out=is_so)
            np.copyto(due, later, where=is_so)
            np.less_equal(due, slot, out=is_so)
            np.greater(is_so, drains, out=is_so)
            np.copyto(due, later, where=is_so)
            np.add(probes, slot + 1, out=later, casting="same_kind")
            np.copyto(until, later, where=is_so)
        return served


def _in_bytes(slots: Array) -> NDArray[np.int16]:
    return np.minimum(slots, 2 * _SLOTS).astype(np.int16)
