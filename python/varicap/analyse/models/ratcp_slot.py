"""What happens in one slot: packets released by acknowledgements meet a queue.

A slot lasts one round trip propagation delay.  Acknowledgement i of the slot arrives at time ``i * spacing``,
releases 0, 1 or 2 packets, and these arrive at the link at once.  A transmission takes ``service``.  Let U be the
unfinished work at the link just before an acknowledgement; one that releases r packets leaves

    U' = max(0, U + r * service - spacing)

for the next, and a packet that finds ``ceil(U / service)`` packets at the link when there is room for no more is lost.
Within a run of acknowledgements that release the same number of packets U is linear in their count (until it reaches
zero, where it stays), so that a run is processed in one step, for many slots at a time.

Times are in transmission times of a packet at full capacity: the slot lasts C Delta.  In [ratcp] ``spacing`` is m' + 1
with m' the sessions one slot ago, ``service`` m + 1 with the current ones.
"""

from copy import copy
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

EPSILON = 1e-9
"""Rounding allowed where a time is compared with a multiple of others [transmission times]."""

# Growth that is exceeded only once in 10^5 slots is ignored.  A real window grows by one packet at most per
# window of acknowledgements; bursts of many are an artefact of random growth.
_TAIL = 1e-5
MOST_GROWTH = 12
"""Largest growth of cwnd in a slot [packets]: its mean is 1 at most, so no such quantile lies beyond."""


def spacing(slot: float | Array, acks: Counts, service_before: Array) -> Array:
    """Time between acknowledgements: that of the transmissions one slot ago, or less if they would not fit."""
    return np.asarray(np.minimum(service_before, slot / np.maximum(acks, 1)))


def growths(acks: Counts, chance: Array, most: Counts) -> Array:
    """Binomial(acks, chance) up to its tail or `most`, the rest moved to the largest value; shape (n, values)."""
    count = np.arange(min(MOST_GROWTH, int(acks.max(initial=0))) + 1)
    n, p = acks[:, None].astype(float), chance[:, None]
    # C(n, k) as a product over k: exact to the last digits for so few of them.
    factors = np.where(count > 0, (n - count + 1) / np.maximum(count, 1), 1.0)
    choose = np.cumprod(np.maximum(factors, 0.0), axis=1)
    pmf = choose * p**count * (1 - p) ** np.maximum(n - count, 0.0)
    above = 1 - np.cumsum(pmf, axis=1)  # P(N > k)
    top = np.minimum(np.argmax(above < _TAIL, axis=1), most)
    folded = np.where(count < top[:, None], pmf, 0.0)
    # One by one, so that other slots, whose growth may be larger, do not change the order of a sum.
    folded[np.arange(top.size), top] = 1 - np.cumsum(folded, axis=1)[:, -1]
    return folded


@dataclass(kw_only=True)
class Slots:
    """Many slots at the same time, all arrays of shape (n,); `run` takes acknowledgements, `backlog` ends the slot."""

    work: Array
    """Unfinished work at the link just before the next acknowledgement [transmission times]."""
    spacing: Array
    """Time between acknowledgements."""
    service: Array
    """Time of a transmission."""
    room: int | Counts
    """Most packets at the link, the one in service included; of all slots, or of each."""
    lost: Mask = field(init=False)
    """Whether a packet found no room; nothing after that is considered."""
    admitted: Counts = field(init=False)
    """Packets that arrived at the link before a loss."""
    growth: Counts = field(init=False)
    """Acknowledgements that released two packets, up to and including the one whose packet was lost."""
    _after: Array = field(init=False)
    _since: Array = field(init=False)

    def __post_init__(self) -> None:
        self.lost = np.zeros(self.work.shape, dtype=bool)
        self.admitted = np.zeros(self.work.shape, dtype=np.int64)
        self.growth = np.zeros(self.work.shape, dtype=np.int64)
        self._after = self.work.copy()  # unfinished work just after the last acknowledgement
        self._since = np.zeros(self.work.shape)  # time of that acknowledgement
        self.work = np.maximum(0.0, self.work - self.spacing)

    def run(self, acks: Counts, released: int) -> None:
        """Processes `acks` acknowledgements, each of which releases `released` packets (0, 1 or 2)."""
        running = (acks > 0) & ~self.lost
        drift = released * self.service - self.spacing
        if released:
            first = self._first_loss(released, drift)
            fails = running & (first < acks)
            if fails.any():
                self._lose(fails, first, released, drift)
                running &= ~fails
        last = np.maximum(0.0, self.work + (acks - 1) * drift) + released * self.service
        np.copyto(self._after, last, where=running)
        np.copyto(self._since, self._since + acks * self.spacing, where=running)
        np.copyto(self.work, np.maximum(0.0, self.work + acks * drift), where=running)
        self.admitted += np.where(running, acks * released, 0)
        if released == 2:
            self.growth += np.where(running, acks, 0)

    def avoid(self, acks: Counts, growth: Counts) -> None:
        """Processes `acks` acknowledgements of congestion avoidance, over which cwnd grows evenly by `growth`.

        Growth j of N happens at acknowledgement ceil(j acks / (N + 1)), which then releases two packets.  The growth
        is ascending from slot to slot, so that those that grow further are the last ones.
        """
        if (np.diff(growth) < 0).any():
            raise AssertionError("the growth of the slots does not ascend")
        done = np.zeros_like(acks)
        for nth in range(1, int(growth.max(initial=0)) + 1):
            begin = int(np.searchsorted(growth, nth))
            place = -(-nth * acks[begin:] // (growth[begin:] + 1))
            growing = self._from(begin)
            growing.run(place - done[begin:] - 1, 1)
            growing.run(np.ones_like(place), 2)
            done[begin:] = place
        self.run(acks - done, 1)

    def _from(self, begin: int) -> "Slots":
        """The slots from this one on, in the same arrays."""
        found = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(found, name, value[begin:])
        return found

    def backlog(self, slot: float | Array) -> Counts:
        """Packets at the link at the end of the slot, for slots without a loss."""
        work = np.maximum(0.0, self._after - (slot - self._since))
        return np.ceil(work / self.service - EPSILON).astype(np.int64)

    def _first_loss(self, released: int, drift: Array) -> Array:
        """The acknowledgement of a run, counted from 0, at which a packet is lost; infinite if none is."""
        # The last packet of an acknowledgement is lost if the work before it exceeds that of `room - 1` packets.
        limit = (self.room - released) * self.service + EPSILON
        with np.errstate(divide="ignore", invalid="ignore"):
            rising = np.floor((limit - self.work) / drift) + 1
        later = np.where(drift > EPSILON, rising, np.inf)
        return np.where(self.work > limit, 0.0, later)

    def _lose(self, fails: Mask, first: Array, released: int, drift: Array) -> None:
        index = np.flatnonzero(fails)
        acks = first[index].astype(np.int64)
        work = np.maximum(0.0, self.work[index] + acks * drift[index])
        room = np.broadcast_to(self.room, self.work.shape)[index]
        fits = np.floor(((room - 1) * self.service[index] + EPSILON - work) / self.service[index]) + 1
        self.admitted[index] += acks * released + np.clip(fits, 0, released - 1).astype(np.int64)
        if released == 2:
            self.growth[index] += acks + 1
        self.lost |= fails
