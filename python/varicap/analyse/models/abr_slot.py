"""What happens to packets in a slot of the TCP/ABR model, for many slots at a time.

A slot begins with a packets in the segmentation buffer, b at the link and d in the propagation delay.  The capacity's
state s in the slot before decides what the source sends, its state r in this slot what the link carries, and the phase
which of both has one packet more where they are no whole numbers.  Such s, r and phase are the *conditions* of a slot.

How often they are met, and of how much of the source's rate the link does not carry, are real numbers, in which paths
differ.  Where the packets are at the end of a slot follows from whole numbers alone, its `Rules`, which many paths have
in common: so these share their chain's states and branches.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varicap.analyse.models.ratcp_slot import EPSILON, Array, Counts, Slots, growths

Index = NDArray[np.intp]
Queues = tuple[Counts, Counts, Counts]
"""a, b and d of each slot."""


@dataclass(frozen=True, kw_only=True)
class Path:
    """Everything that determines what happens to packets in a slot, given the capacity's states."""

    slot: float
    """Packets that the whole capacity carries in a slot, Delta."""
    capacity: tuple[float, ...]
    """Capacity by state, as a share of the whole."""
    source: tuple[float, ...]
    """Rate of the ABR source by the capacity's state one slot ago, as a share of the whole; empty for TCP alone."""
    buffer: int
    """Most packets at the link, B_max."""
    max_window: int
    """Largest cwnd [packets], W_max."""
    leads: tuple[tuple[int, ...], ...]
    """The states that may follow each of the capacity's states in the next slot."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What decides where packets are at the end of a slot."""

    states: int
    """States of the capacity."""
    slot: float
    """Packets that the whole capacity carries in a slot."""
    buffer: int
    """Most packets at the link."""
    max_window: int
    """Largest cwnd [packets]."""
    before: tuple[int, ...]
    """The capacity's state in the slot before, by condition."""
    now: tuple[int, ...]
    """The capacity's state in the slot, by condition."""
    phase: tuple[int, ...]
    """How many of source and link have one packet more in a slot, by condition; of TCP alone, whether the link has."""
    sends: tuple[int, ...]
    """Packets that the source may send in a slot, by condition; empty for TCP alone."""
    carries: tuple[int, ...]
    """Packets that the link may carry in a slot, by condition; empty for TCP alone."""
    enter: tuple[tuple[int, ...], ...]
    """The most packets that enter the link without a loss, by condition and by the b packets there."""
    rates: tuple[float, ...]
    """Capacity by state, on which packets of TCP alone depend, as a share of the whole; empty for TCP over ABR."""

    @cached_property
    def but_losses(self) -> "Rules":
        """The same, whichever packets are lost."""
        return replace(self, enter=())

    @cached_property
    def leads(self) -> NDArray[np.bool_]:
        """Whether a state of the capacity may follow another, shape (n, n)."""
        found = np.zeros((self.states, self.states), dtype=bool)
        found[self.before, self.now] = True
        return found

    @cached_property
    def met(self) -> NDArray[np.bool_]:
        """Whether a condition may be met after a state of the capacity, shape (states, conditions)."""
        return np.asarray(np.arange(self.states)[:, None] == np.array(self.before))


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How often conditions are met on a path, and packets that pass before a loss; arrays of shape (conditions,)."""

    share: Array
    """Of the slots with this s and r, those of this phase."""
    passing: Array
    """Packets that enter a link from an ABR source until one stays in the buffer: 1 / (1 - s / r), or 0."""


def conditions(path: Path) -> tuple[Rules, Conditions]:
    """The rules of a path, and what goes with its conditions."""
    return _alone(path) if not path.source else _paced(path)


def _pairs(path: Path) -> tuple[Index, Index]:
    """The states s and r of slots."""
    pairs = [(before, now) for before, after in enumerate(path.leads) for now in after]
    before, now = np.array(pairs).T
    return before, now


def _carried(path: Path, share: Array) -> tuple[Array, Array]:
    """Whole packets that a share of the capacity carries in a slot, and the probability of one more."""
    exact = path.slot * share
    whole = np.floor(exact + EPSILON)
    more = exact - whole
    return whole, np.where(more < EPSILON, 0.0, more)


def _rules(path: Path, pair: Index, phase: Index, **others: Any) -> Rules:
    """The rules of a path by conditions, given the pair and the phase of each."""
    before, now = _pairs(path)
    return Rules(
        states=len(path.capacity),
        slot=path.slot,
        buffer=path.buffer,
        max_window=path.max_window,
        before=tuple(before[pair].tolist()),
        now=tuple(now[pair].tolist()),
        phase=tuple(phase.tolist()),
        **others,
    )


def _paced(path: Path) -> tuple[Rules, Conditions]:
    """TCP over ABR.  Where neither is whole, source and link have one packet more at the same times."""
    before, now = _pairs(path)
    link, source = np.array(path.capacity)[now], np.array(path.source)[before]
    sends, sends_more = _carried(path, source)
    carries, carries_more = _carried(path, link)
    low, high = np.minimum(sends_more, carries_more), np.maximum(sends_more, carries_more)
    shares = np.stack([1 - high, high - low, low], axis=1)
    pair, phase = np.nonzero(shares > 0)
    one_more = [(phase == 2) | ((phase == 1) & (more == high)[pair]) for more in (sends_more, carries_more)]
    sends, carries = sends[pair] + one_more[0], carries[pair] + one_more[1]
    # Of the packets that enter at the source's rate, the slower link leaves the share 1 - link / source in its buffer.
    kept = np.where(source > link, 1 - link / np.where(source > 0, source, 1.0), 0.0)[pair]
    # No more packets than a window wait at the link.
    room = path.buffer - np.arange(min(path.buffer, path.max_window) + 1) + EPSILON
    fits = np.floor(room / np.where(kept > 0, kept, 1.0)[:, None])
    enter = np.minimum(np.where(kept[:, None] > 0, fits, np.inf), sends[:, None])
    rules = _rules(
        path,
        pair,
        phase,
        sends=tuple(sends.astype(int).tolist()),
        carries=tuple(carries.astype(int).tolist()),
        enter=tuple(map(tuple, enter.astype(int).tolist())),
        rates=(),
    )
    passing = np.where(kept > 0, 1 / np.where(kept > 0, kept, 1.0), 0.0)
    return rules, Conditions(share=shares[pair, phase], passing=passing)


def _alone(path: Path) -> tuple[Rules, Conditions]:
    """TCP alone, of which only the link's packets per slot may not be whole."""
    _, now = _pairs(path)
    _, more = _carried(path, np.array(path.capacity)[now])
    shares = np.stack([1 - more, more], axis=1)
    pair, phase = np.nonzero(shares > 0)
    rules = _rules(path, pair, phase, sends=(), carries=(), enter=(), rates=path.capacity)
    return rules, Conditions(share=shares[pair, phase], passing=np.zeros(pair.size))


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """How slots may end, as columns of shape (outcomes,)."""

    source: Index
    """The state at the slot's beginning."""
    condition: Index
    chance: Array
    """Of the growth of cwnd, given the state and the condition."""
    entering: Counts
    """Packets that would enter the link from an ABR source; one is lost if they are more than `Rules.enter`."""
    lost: NDArray[np.bool_]
    queues: Queues
    """a, b and d in the next state."""
    steps: Counts
    """Slots until the next state."""
    optimistic: Array
    """Reward without the packets that enter the link until one is lost."""
    room: Array
    """Room that these packets find, to be multiplied by `Conditions.passing`."""
    conservative: Array
    """Reward that counts nothing that may be retransmitted."""


def outcomes(rules: Rules, queues: Queues, before: Counts) -> Outcomes:
    """How the slots of states may end, by their queues and by the capacity's state in the slot before."""
    part, growth, chance = _window(rules, *queues)
    # Conditions come last, so that the growth ascends.
    branch, condition = np.nonzero(rules.met[before[part]])
    part, growth, chance = part[branch], growth[branch], chance[branch]
    a, b, d = (column[part] for column in queues)
    ends = (_of_tcp if rules.rates else _of_abr)(rules, condition, growth, (a, b, d))
    entering, lost, after, until_loss, room = ends
    # A loss costs three slots and a slow start to half the window; eqs. (12), (13) and (16) to (20) of [abr].
    window = a + b + d + growth
    ssthresh = -(-window // 2)
    rounds = np.ceil(np.log2(np.maximum(ssthresh, 1)) - EPSILON).astype(np.int64)
    slow_start = np.where(lost, np.maximum(window / 2 - 1, 0.0), 0.0)
    return Outcomes(
        source=part,
        condition=condition,
        chance=chance,
        entering=entering,
        lost=lost,
        queues=(
            np.where(lost, 0, after[0]),
            np.where(lost, 0, after[1]),
            np.where(lost, np.maximum(ssthresh, 1), after[2]),
        ),
        steps=np.where(lost, 3 + rounds, 1),
        optimistic=np.asarray(d + slow_start + np.where(lost, until_loss + a + b + d + 1, 0), dtype=np.float64),
        room=np.where(lost, room, 0).astype(float),
        conservative=np.asarray(d + slow_start, dtype=np.float64),
    )


def _window(rules: Rules, a: Counts, b: Counts, d: Counts) -> tuple[Index, Counts, Array]:
    """Growth of cwnd: Binomial(d, 1 / w), up to the largest window.  State, growth (ascending) and probability."""
    window = np.maximum(a + b + d, 1)
    chance = growths(d, 1.0 / window, np.minimum(d, rules.max_window - window)).T
    growth, part = np.nonzero(chance)
    return part, growth, chance[growth, part]


_Ends = tuple[Counts, NDArray[np.bool_], Queues, Counts, Counts]
"""Packets that would enter the link from an ABR source; whether one is lost; if not, the queues at the end; packets at
the link before it, but for those that fill it up from the source; and the room that these have."""


def _of_abr(rules: Rules, condition: Index, growth: Counts, queues: Queues) -> _Ends:
    """A slot of TCP over ABR: the source sends at a rate, back to back, into a link with its own.  [abr, §III-B]."""
    a, b, d = queues
    sends, carries = (np.array(some)[condition] for some in (rules.sends, rules.carries))
    ready = a + d + growth
    entering = np.minimum(ready, sends)
    lost = entering > np.array(rules.enter)[condition, b]
    backlog = np.minimum(np.maximum(b + entering - carries, 0), rules.buffer)
    # In a slot with one packet more or less than the mean, the excess over the buffer has already left.
    after = np.maximum(ready - sends, 0), backlog, b + entering - backlog
    return entering, lost, after, b, rules.buffer - b


def _of_tcp(rules: Rules, condition: Index, growth: Counts, queues: Queues) -> _Ends:
    """A slot of TCP alone: acknowledgements at the rate of the slot before release packets into the link."""
    slot, capacity = rules.slot, np.array(rules.rates)
    before, now, phase = (np.array(some)[condition] for some in (rules.before, rules.now, rules.phase))
    _, b, d = queues
    service = 1 / capacity[now]
    # In a slot with one transmission more than fits, the first began in the slot before.
    begun = phase * (np.ceil(slot / service - EPSILON) * service - slot)
    slots = Slots(
        work=np.maximum(0.0, b * service - begun),
        spacing=np.minimum(1 / capacity[before], slot / np.maximum(d, 1)),
        service=service,
        room=rules.buffer,
    )
    # As behind an ABR source, a queue that fills grows by 1 - s / r for each packet, from the first one on: nothing is
    # lost as long as d (1 - s / r) + N is no more than B_max - b.
    slots.work = np.where(service > slots.spacing, b * service - begun - slots.spacing, slots.work)
    slots.avoid(d, growth)
    backlog = np.where(slots.lost, 0, slots.backlog(slot))
    none = np.zeros_like(b)
    return none, slots.lost, (none, backlog, b + d + growth - backlog), b + slots.admitted, none
