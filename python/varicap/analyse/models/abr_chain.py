"""The embedded Markov chain of the TCP/ABR model: its states, and the states that may follow each.

A state is (a, b, d, s): packets in the segmentation buffer, at the link and in the propagation delay at the beginning
of a slot, and the capacity's state s in the slot before, which decides what the source sends.  The capacity's state r
in this slot follows s by the capacity's own law, whatever the queues are, and so does not belong to the state.  Without
a loss the next state is that of the next slot; a loss leads to (0, 0, m, .) after the slow start.

Where packets go in a slot follows from whole numbers (`varicap.analyse.models.abr_slot`): `explore` lists the branches
of all reachable states once, and any transition matrix of the capacity, and any rates of the source that are the same
but for fractions of a packet in a slot, give them probabilities.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import censored, climbing, together
from varicap.analyse.models import abr_slot, exploring
from varicap.analyse.models.abr_slot import Conditions, Index, Path, Rules
from varicap.analyse.models.ratcp_slot import Array, Counts

MAX_STATES: Final = 200_000
"""More reachable states than this, the capacity's state now counted, are refused: exploring takes minutes."""

_MOST_KEPT: Final = 4_000_000
"""Branches of chains that are kept for other capacities, some 200 MB."""
_kept: "OrderedDict[Rules, Chain]" = OrderedDict()


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain:
    """Reachable states, the slots that they have by the conditions that they meet, and the branches between them."""

    rules: Rules
    enter: tuple[Counts, Counts]
    """By condition and packets at the link, as in `Rules.enter`: the most packets that enter without a loss, and the
    fewest that are too many, of all that any state lets enter."""
    before: Counts
    """State of the capacity in the slot before, by state, shape (states,)."""
    window: Counts
    """cwnd by state [packets], shape (states,): it falls at a loss only."""
    slot: tuple[Index, Index]
    """State and condition of each slot, shape (slots,)."""
    loss: Array
    """Probability that a slot loses a packet, shape (slots,)."""
    optimistic: Array
    """Mean reward of each slot [packets], counting everything that reaches the receiver but what `room` is for."""
    room: Array
    """Packets that fill the link's buffer before a loss; each stands for `Conditions.passing` that come in."""
    conservative: Array
    """Mean reward of each slot [packets], counting nothing that may be retransmitted."""
    slots: Array
    """Mean slots until the next state, shape (slots,)."""
    source: Index
    """The state that each branch leaves, shape (branches,)."""
    target: Index
    """The state that each branch enters."""
    _chance: Array
    _change: Index
    """How the capacity changes in a branch, a row of `_changes`."""
    _changes: tuple[Index, Counts, Counts]
    """The condition of a slot, the slots until the next state, and the capacity's state just before it."""

    def serves(self, rules: Rules) -> bool:
        """Whether packets go the same ways by these rules: the same are lost, of all that ever enter."""
        if rules.but_losses != self.rules.but_losses:
            return False
        (least, beyond), given = self.enter, np.array(rules.enter)
        return bool(((least <= given) & (given < beyond)).all())

    def chances(self, conditions: Sequence[Conditions], capacities: Array) -> Array:
        """The probability of each branch, shape (branches, capacities), for conditions and transition matrices."""
        return np.asarray(self.changing(conditions, capacities).take(self._change, axis=0) * self._chance[:, None])

    def changing(self, conditions: Sequence[Conditions], capacities: Array) -> Array:
        """The probability that a slot meets a condition and the capacity then changes so, a row for each such change.

        Of shape (changes, capacities).
        """
        condition, steps, last = self._changes
        now = np.array(self.rules.now)[condition]
        met = self.meeting(conditions, capacities)[:, condition]
        power = np.broadcast_to(np.eye(self.rules.states), capacities.shape)
        for step in range(1, int(steps.max()) + 1):
            those = np.flatnonzero(steps == step)
            met[:, those] *= power[:, now[those], last[those]]
            power = power @ capacities
        return met.T

    def meeting(self, conditions: Sequence[Conditions], capacities: Array) -> Array:
        """The probability that a state whose slots may have a condition meets it, shape (capacities, conditions)."""
        share = np.array([one.share for one in conditions])
        return np.asarray(share * capacities[:, self.rules.before, self.rules.now])

    @cached_property
    def branches(self) -> censored.Branches:
        """The chain's branches, for many capacities at once."""
        return censored.Branches(self.before.size, self.source, self.target)

    @cached_property
    def climbing(self) -> climbing.Branches:
        """The same for a chain of many states."""
        return climbing.Branches(self.window, self.source, self.target, self._change, self._chance)


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A chain in the long run, by state entered."""

    slots: float
    """Mean slots until the next state."""
    loss: float
    """Probability that a slot loses a packet [1]."""
    optimistic: float
    """Mean reward [packets]."""
    conservative: float
    """Mean reward [packets]."""
    states: int
    """States that recur, the capacity's state now counted."""
    residual: float
    """Sum of ``|pi P - pi|`` [1]."""


def solve_all(wanted: Sequence[tuple[Path, Array]]) -> list[Solution | ValueError]:
    """The long run of each path on a capacity that changes by this matrix, or why there is none.

    One chain after the other, since a large one takes some ten megabytes; each for all its paths at once.
    """
    ruled = [abr_slot.conditions(path) for path, _ in wanted]
    found: dict[int, Solution | ValueError] = {}
    left: dict[Rules, list[int]] = {}
    for number, (rules, _) in enumerate(ruled):
        left.setdefault(rules, []).append(number)
    while left:
        first = next(iter(left))
        try:
            chain = explore(first)
        except ValueError as error:
            found |= dict.fromkeys(left.pop(first), error)
            continue
        those = [number for rules in list(left) if chain.serves(rules) for number in left.pop(rules)]
        each = [(ruled[number][1], wanted[number][1]) for number in those]
        found |= zip(those, together.each(partial(_solved, chain), each), strict=True)
    return [found[number] for number in range(len(wanted))]


def _solved(chain: Chain, wanted: Sequence[tuple[Conditions, Array]]) -> list[Solution | ValueError]:
    conditions, capacities = [one for one, _ in wanted], np.array([one for _, one in wanted])
    solved: Sequence[censored.Found | ValueError]
    if chain.before.size <= censored.MOST_STATES:
        solved = chain.branches.stationary_all(chain.chances(conditions, capacities))
    else:
        solved = chain.climbing.stationary_all(chain.changing(conditions, capacities))
    weights = chain.meeting(conditions, capacities)
    return [
        one if isinstance(one, ValueError) else _long_run(chain, one, *of_path)
        for one, *of_path in zip(solved, conditions, weights, capacities, strict=True)
    ]


def _long_run(chain: Chain, found: censored.Found, conditions: Conditions, meeting: Array, capacity: Array) -> Solution:
    state, condition = chain.slot
    weight = found.shares[state] * meeting[condition]
    follow = np.count_nonzero(capacity, axis=1)
    return Solution(
        slots=float(weight @ chain.slots),
        loss=float(weight @ chain.loss),
        optimistic=float(weight @ chain.optimistic + weight * chain.room @ conditions.passing[condition]),
        conservative=float(weight @ chain.conservative),
        states=int(follow[chain.before[found.shares > 0]].sum()),
        residual=found.residual,
    )


def explore(rules: Rules) -> Chain:
    """Finds all states that can follow the first packet of a session, or has found them a few paths ago.

    What packets do by other rules may be the same.
    """
    same = rules if rules in _kept else next((one for one, chain in _kept.items() if chain.serves(rules)), None)
    found = _explored(rules) if same is None else _kept.pop(same)
    _kept[found.rules] = found
    while len(_kept) > 1 and sum(chain.source.size for chain in _kept.values()) > _MOST_KEPT:
        _kept.popitem(last=False)
    return found


def _explored(rules: Rules) -> Chain:
    code = _Code(rules)
    alone = bool(rules.rates)
    known = code.pack(np.array([int(not alone)]), np.array([0]), np.array([int(alone)]), np.array([0]))
    frontier = known
    follow = rules.leads.sum(axis=1)
    waves, slots, branches = [], [], []
    seen = 0  # states of the waves before
    enter = _Enter(rules)
    while frontier.size:
        *queues, before = code.unpack(frontier)
        outcomes = abr_slot.outcomes(rules, (queues[0], queues[1], queues[2]), before)
        enter.meet(outcomes, queues[1])
        waves.append(frontier)
        state, *of_slot = _slots(rules, outcomes)
        slots.append((seen + state, *of_slot))
        ways = _ways(rules, code, outcomes)
        branch, last = _next(rules, ways)
        target = ways.queues[branch] * rules.states + last
        columns = (ways.condition, ways.steps, ways.chance)
        branches.append((seen + ways.source[branch], target, last, *(column[branch] for column in columns)))
        seen += frontier.size
        frontier = exploring.unseen(target, known)
        known = exploring.joined(known, frontier)
        if follow[code.unpack(known)[3]].sum() > MAX_STATES:
            raise ValueError(
                f"the model has more than {MAX_STATES} states: its size grows with the delay ({rules.slot:g} packets), "
                f"the buffer ({rules.buffer} packets), the window ({rules.max_window}) and the states of the capacity"
            )
    state, condition, *means = (np.concatenate(column) for column in zip(*slots, strict=True))
    source, target, last, met, steps, chance = (np.concatenate(column) for column in zip(*branches, strict=True))
    place = np.searchsorted(known, np.concatenate(waves))
    change, changes = _changes(rules, last, met, steps)
    *queues, before = code.unpack(known)
    return Chain(
        rules=rules,
        enter=(enter.least, enter.beyond),
        before=before,
        window=np.sum(queues, axis=0),
        slot=(place[state], condition),
        **dict(zip(("loss", "optimistic", "room", "conservative", "slots"), means, strict=True)),
        source=place[source],
        target=np.searchsorted(known, target),
        _chance=chance,
        _change=change,
        _changes=changes,
    )


class _Enter:
    """Packets that ever enter the link, by condition and packets there: the most without a loss, the fewest with it."""

    def __init__(self, rules: Rules) -> None:
        shape = np.shape(rules.enter)
        self.least, self.beyond = np.full(shape, -1), np.full(shape, np.iinfo(np.int64).max)

    def meet(self, outcomes: abr_slot.Outcomes, backlog: Counts) -> None:
        """What may happen in slots of states with such backlogs."""
        if self.least.size:
            for lost, bound, extreme in ((False, self.least, np.maximum), (True, self.beyond, np.minimum)):
                those = np.flatnonzero(outcomes.lost == lost)
                at = outcomes.condition[those], backlog[outcomes.source[those]]
                extreme.at(bound, at, outcomes.entering[those])


def _slots(rules: Rules, outcomes: abr_slot.Outcomes) -> tuple[NDArray[Any], ...]:
    """State and condition of each slot, and the means of what happens in it."""
    many = len(rules.now)
    key = outcomes.source * many + outcomes.condition
    columns = (outcomes.lost, outcomes.optimistic, outcomes.room, outcomes.conservative, outcomes.steps)
    there = np.flatnonzero(np.bincount(key))
    means = (np.bincount(key, outcomes.chance * column)[there] for column in columns)
    return (there // many, there % many, *means)


@dataclass(frozen=True, kw_only=True)
class _Ways:
    """Outcomes by where they lead, as columns of shape (ways,)."""

    source: Index
    condition: Index
    chance: Array
    queues: Counts
    """a, b and d in the next state, as `_Code` packs them."""
    steps: Counts


def _ways(rules: Rules, code: "_Code", outcomes: abr_slot.Outcomes) -> _Ways:
    """Losses at which half the window is the same are one; without a loss each growth leads to another window."""
    queues, conditions, halves = code.pack_queues(*outcomes.queues), len(rules.now), rules.max_window + 1
    lost = np.flatnonzero(outcomes.lost)
    # A window that was lost has left nothing but half of itself.
    key = (outcomes.source[lost] * conditions + outcomes.condition[lost]) * halves + outcomes.queues[2][lost]
    order = np.argsort(key)
    lost, is_new = lost[order], np.append(True, np.diff(key[order]) != 0)[: lost.size]
    kept = np.concatenate([np.flatnonzero(~outcomes.lost), lost[is_new]])
    chance = outcomes.chance[kept]
    chance[kept.size - np.count_nonzero(is_new) :] = np.bincount(np.cumsum(is_new) - 1, outcomes.chance[lost])
    return _Ways(
        source=outcomes.source[kept],
        condition=outcomes.condition[kept],
        chance=chance,
        queues=queues[kept],
        steps=outcomes.steps[kept],
    )


def _next(rules: Rules, ways: _Ways) -> tuple[Index, Counts]:
    """Each way times each state in which the capacity may be just before the next state: after one slot r."""
    reached = np.eye(rules.states, dtype=bool)
    possible = np.zeros((int(ways.steps.max()) + 1, rules.states, rules.states), dtype=bool)
    for step in range(1, len(possible)):
        possible[step] = reached
        reached = reached @ rules.leads
    branch, last = np.nonzero(possible[ways.steps, np.array(rules.now)[ways.condition]])
    return branch, last


def _changes(rules: Rules, last: Counts, condition: Index, steps: Counts) -> tuple[Index, tuple[Index, Counts, Counts]]:
    """How the capacity changes in each branch, as a number, and what these numbers stand for."""
    radix = int(steps.max()) + 1
    code = (condition * radix + steps) * rules.states + last
    codes = np.flatnonzero(np.bincount(code))
    place = np.zeros(codes[-1] + 1, dtype=np.intp)
    place[codes] = np.arange(codes.size)
    rest, of_change = np.divmod(codes, rules.states)
    return place[code], (rest // radix, rest % radix, of_change)


class _Code:
    """States as single integers, so that sets of them are sorted arrays."""

    def __init__(self, rules: Rules) -> None:
        self._radix = (rules.max_window + 1, rules.buffer + 1, rules.max_window + 1, rules.states)
        if np.prod([float(radix) for radix in self._radix]) >= np.iinfo(np.int64).max:
            raise ValueError("the window, the buffer or the states of the capacity are far too many for the model")

    def pack_queues(self, a: Counts, b: Counts, d: Counts) -> Counts:
        """Without s, which is the last digit."""
        return self.pack(a, b, d, np.zeros_like(d)) // self._radix[3]

    def pack(self, *columns: Counts) -> Counts:
        key = np.zeros(columns[0].shape, dtype=np.int64)
        for name, column, radix in zip(("a", "b", "d", "s"), columns, self._radix, strict=True):
            if not ((column >= 0) & (column < radix)).all():
                raise AssertionError(f"the model reached {name} = {column.min()}..{column.max()} of 0..{radix - 1}")
            key = key * radix + column
        return key

    def unpack(self, key: Counts) -> tuple[Counts, Counts, Counts, Counts]:
        columns = []
        for radix in reversed(self._radix):
            key, column = np.divmod(key, radix)
            columns.append(column)
        before, d, b, a = columns
        return a, b, d, before
