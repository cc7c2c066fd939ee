"""The embedded Markov chain of the TCP/ABR model: its states, and the states that may follow each.

A state is (a, b, d, r, s): packets in the segmentation buffer, at the link and in the propagation delay at the
beginning of a slot, the capacity's state r in this slot and s in the slot before, which decides what the source sends.
Without a loss the next state is that of the next slot; a loss leads to (0, 0, m, ., .) after the slow start.

What happens to packets in a slot does not depend on how often the capacity changes: `explore` lists the branches of all
reachable states once, and any transition matrix of the capacity gives them probabilities.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import censored, climbing, markov, together
from varicap.analyse.models import exploring
from varicap.analyse.models.ratcp_slot import EPSILON, Array, Counts, Slots, growths

MAX_STATES: Final = 200_000
"""More reachable states than this are refused: the solution would take minutes."""

_MOST_KEPT: Final = 4_000_000
"""Branches of chains that are kept for other capacities, some 200 MB."""
_kept: "OrderedDict[Path, Chain]" = OrderedDict()


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain:
    """Reachable states and the branches between them."""

    pair: Counts
    """State of the capacity now times their number plus that one slot ago, by state, shape (n,)."""
    loss: Array
    """Probability that a state's slot loses a packet, shape (n,)."""
    optimistic: Array
    """Mean reward of each state [packets], shape (n,), counting everything that reaches the receiver."""
    conservative: Array
    """Mean reward of each state [packets], shape (n,), counting nothing that may be retransmitted."""
    slots: Array
    """Mean slots until the next state, shape (n,)."""
    window: Counts
    """cwnd by state [packets], shape (n,): it falls at a loss only."""
    _source: NDArray[np.intp]
    _target: NDArray[np.intp]
    _chance: Array
    _steps: Counts
    _pairs: tuple[Counts, Counts]

    def transition(self, capacity: Array) -> markov.Matrix:
        """The transition matrix for a capacity that changes by this matrix, shape (states, states)."""
        return markov.matrix(self.pair.size, self._source, self._target, self.chances(capacity[None])[:, 0])

    def chances(self, capacities: Array) -> Array:
        """The probability of each branch for each of these capacities, shape (branches, capacities)."""
        matrix = capacities
        found = np.zeros((self._chance.size, len(capacities)))
        for steps in range(1, int(self._steps.max()) + 1):
            index = np.flatnonzero(self._steps == steps)
            after = _pairs_after(capacities, matrix, self._pairs[0][index], self._pairs[1][index], steps)
            found[index] = self._chance[index, None] * after.T
            if steps > 1:
                matrix = matrix @ capacities
        return found

    @cached_property
    def branches(self) -> censored.Branches:
        """The chain's branches, for many capacities at once."""
        return censored.Branches(self.pair.size, self._source, self._target)


def _pairs_after(one: Array, before: Array, source: Counts, target: Counts, steps: int) -> Array:
    """Q^steps of (R, S): `before` is one^(steps - 1) and leads from r to the new s, one more step to the new r."""
    states = one.shape[-1]
    now = source // states
    later, previous = np.divmod(target, states)
    if steps == 1:
        return np.where(previous == now, one[:, now, later], 0.0)
    return np.asarray(before[:, now, previous] * one[:, previous, later])


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
    """States that recur."""
    residual: float
    """Sum of ``|pi P - pi|`` [1]."""


def solve_all(wanted: Sequence[tuple[Path, Array]]) -> list[Solution | ValueError]:
    """The long run of each path on a capacity that changes by this matrix, or why there is none.

    One chain after the other, since a large one takes some ten megabytes; each for all its capacities at once.
    """
    found: dict[int, Solution | ValueError] = {}
    for path in {one: None for one, _ in wanted}:
        those = [number for number, (one, _) in enumerate(wanted) if one == path]
        found |= zip(those, together.each(partial(_solved, path), [wanted[number][1] for number in those]), strict=True)
    return [found[number] for number in range(len(wanted))]


def _solved(path: Path, capacities: Sequence[Array]) -> list[Solution | ValueError]:
    chain = explore(path)
    solved: Sequence[censored.Found | ValueError]
    if chain.pair.size <= censored.MOST_STATES:
        solved = chain.branches.stationary_all(chain.chances(np.array(capacities)))
    else:
        solved = together.each(partial(_climbing, chain), list(capacities))
    return [one if isinstance(one, ValueError) else _long_run(chain, one) for one in solved]


def _climbing(chain: Chain, capacities: Sequence[Array]) -> list[censored.Found]:
    found = []
    for capacity in capacities:
        transition = chain.transition(capacity)
        shares = climbing.stationary(transition, chain.window)
        found.append(censored.Found(shares=shares, residual=markov.residual(transition, shares)))
    return found


def _long_run(chain: Chain, found: censored.Found) -> Solution:
    return Solution(
        slots=float(found.shares @ chain.slots),
        loss=float(found.shares @ chain.loss),
        optimistic=float(found.shares @ chain.optimistic),
        conservative=float(found.shares @ chain.conservative),
        states=int(np.count_nonzero(found.shares)),
        residual=found.residual,
    )


@dataclass(frozen=True, kw_only=True)
class _Branches:
    """Branches from some states, before the capacity changes, as columns of shape (branches,)."""

    source: NDArray[np.intp]
    chance: Array
    lost: NDArray[np.bool_]
    queues: tuple[Counts, Counts, Counts]
    """a, b and d in the next state."""
    steps: Counts
    optimistic: Array
    conservative: Array


def explore(path: Path) -> Chain:
    """Finds all states that can follow the first packet of a session, or has found them a few paths ago."""
    found = _kept.pop(path, None)
    if found is None:
        found = _explored(path)
    _kept[path] = found
    while len(_kept) > 1 and sum(chain._chance.size for chain in _kept.values()) > _MOST_KEPT:
        _kept.popitem(last=False)
    return found


def _explored(path: Path) -> Chain:
    states = len(path.capacity)
    code = _Code(path)
    alone = not path.source
    known = code.pack(np.array([int(not alone)]), np.array([0]), np.array([int(alone)]), np.array([0]))
    frontier = known
    waves = []
    while frontier.size:
        columns = code.unpack(frontier)
        outcomes = _alone(path, columns) if alone else _paced(path, columns)
        means = [
            np.bincount(outcomes.source, outcomes.chance * column, minlength=frontier.size)
            for column in (outcomes.lost, outcomes.optimistic, outcomes.conservative, outcomes.steps)
        ]
        branches = _merged(code, outcomes)
        pair = columns[3]
        branch, target_pair = _next_pairs(path, pair[branches.source], branches.steps)
        target = branches.queues[branch] * states**2 + target_pair
        of_branch = branches.source[branch]
        waves.append(
            (
                (frontier, pair, *means),
                (
                    frontier[of_branch],
                    target,
                    branches.chance[branch],
                    branches.steps[branch],
                    pair[of_branch],
                    target_pair,
                ),
            )
        )
        frontier = exploring.unseen(target, known)
        known = exploring.joined(known, frontier)
        if known.size > MAX_STATES:
            raise ValueError(
                f"the model has more than {MAX_STATES} states: its size grows with the delay ({path.slot:g} packets), "
                f"the buffer ({path.buffer} packets), the window ({path.max_window}) and the states of the capacity"
            )
    by_state = [np.concatenate(column) for column in zip(*(wave[0] for wave in waves), strict=True)]
    source, target, chance, steps, pair, target_pair = (
        np.concatenate(column) for column in zip(*(wave[1] for wave in waves), strict=True)
    )
    rank = np.argsort(by_state[0])
    return Chain(
        pair=by_state[1][rank],
        loss=by_state[2][rank],
        optimistic=by_state[3][rank],
        conservative=by_state[4][rank],
        slots=by_state[5][rank],
        window=np.sum(code.unpack(known)[:3], axis=0),
        _source=np.searchsorted(known, source),
        _target=np.searchsorted(known, target),
        _chance=chance,
        _steps=steps,
        _pairs=(pair, target_pair),
    )


class _Code:
    """States as single integers, so that sets of them are sorted arrays."""

    def __init__(self, path: Path) -> None:
        self._radix = (path.max_window + 1, path.buffer + 1, path.max_window + 1, len(path.capacity) ** 2)
        if np.prod([float(radix) for radix in self._radix]) >= np.iinfo(np.int64).max:
            raise ValueError("the window, the buffer or the states of the capacity are far too many for the model")

    def pack_queues(self, a: Counts, b: Counts, d: Counts) -> Counts:
        """Without (r, s), which are the last digit."""
        return self.pack(a, b, d, np.zeros_like(d)) // self._radix[3]

    def pack(self, *columns: Counts) -> Counts:
        key = np.zeros(columns[0].shape, dtype=np.int64)
        for name, column, radix in zip(("a", "b", "d", "(r, s)"), columns, self._radix, strict=True):
            if not ((column >= 0) & (column < radix)).all():
                raise AssertionError(f"the model reached {name} = {column.min()}..{column.max()} of 0..{radix - 1}")
            key = key * radix + column
        return key

    def unpack(self, key: Counts) -> tuple[Counts, Counts, Counts, Counts]:
        columns = []
        for radix in reversed(self._radix):
            key, column = np.divmod(key, radix)
            columns.append(column)
        pair, d, b, a = columns
        return a, b, d, pair


@dataclass(frozen=True, kw_only=True)
class _Ways:
    """What leads from a state to the same queues after as many slots, as one, in columns of shape (ways,)."""

    source: NDArray[np.intp]
    chance: Array
    queues: Counts
    """a, b and d in the next state, as `_Code` packs them."""
    steps: Counts


def _merged(code: _Code, branches: _Branches) -> _Ways:
    """Branches that the changes of the capacity need not tell apart."""
    queues = code.pack_queues(*branches.queues)
    # By their sources first, which ascend.
    order = np.lexsort((branches.steps, queues, branches.source))
    source, queues, steps = branches.source[order], queues[order], branches.steps[order]
    is_new = np.ones(order.size, dtype=bool)
    is_new[1:] = (np.diff(source) != 0) | (np.diff(queues) != 0) | (np.diff(steps) != 0)
    first = np.flatnonzero(is_new)
    chance = np.add.reduceat(branches.chance[order], first)
    return _Ways(source=source[first], chance=chance, queues=queues[first], steps=steps[first])


def _next_pairs(path: Path, pair: Counts, steps: Counts) -> tuple[NDArray[np.intp], Counts]:
    """Each branch times each (r, s) in which it may end: after one slot s is the r of now."""
    states = len(path.leads)
    one = np.zeros((states, states), dtype=bool)
    for state, after in enumerate(path.leads):
        one[state, list(after)] = True
    reached = np.eye(states, dtype=bool)
    possible = np.zeros((int(steps.max()) + 1, states, states, states), dtype=bool)  # by steps, r of now, new r and s
    for after_slots in range(1, len(possible)):
        possible[after_slots] = reached[:, None, :] & one.T
        reached = reached @ one
    branch, target = np.nonzero(possible.reshape(-1, states, states**2)[steps, pair // states])
    return branch, target


def _window(path: Path, a: Counts, b: Counts, d: Counts) -> tuple[NDArray[np.intp], Counts, Array]:
    """Growth of cwnd: Binomial(d, 1 / w), up to the largest window.  State, growth (ascending) and probability."""
    window = np.maximum(a + b + d, 1)
    chance = growths(d, 1.0 / window, np.minimum(d, path.max_window - window)).T
    growth, part = np.nonzero(chance)
    return part, growth, chance[growth, part]


def _carried(path: Path, share: Array) -> tuple[Array, Array]:
    """Whole packets that a share of the capacity carries in a slot, and the probability of one more."""
    exact = path.slot * share
    whole = np.floor(exact + EPSILON)
    more = exact - whole
    return whole, np.where(more < EPSILON, 0.0, more)


def _paced(path: Path, columns: tuple[Counts, Counts, Counts, Counts]) -> _Branches:
    """A slot of TCP over ABR: the source sends at a rate, back to back, into a link with its own.  [abr, §III-B]."""
    states = len(path.capacity)
    part, growth, chance = _window(path, *columns[:3])
    part, growth, chance, sends, carries = _phases(path, columns[3], part, growth, chance)
    a, b, d, pair = (column[part] for column in columns)
    link, source = np.array(path.capacity)[pair // states], np.array(path.source)[pair % states]
    ready = a + d + growth
    entering = np.minimum(ready, sends)
    # Of the packets that enter at the source's rate, the slower link leaves the share 1 - link / source in its buffer.
    kept = np.where(source > link, 1 - link / np.where(source > 0, source, 1.0), 0.0)
    lost = entering * kept > path.buffer - b + EPSILON
    backlog = np.minimum(np.maximum(b + entering - carries, 0), path.buffer)
    # In a slot with one packet more or less than the mean, the excess over the buffer has already left.
    delay = b + entering - backlog
    before_loss = np.where(lost, d + b + (path.buffer - b) / np.where(lost, kept, 1.0), d)
    return _lose(
        part,
        chance,
        lost,
        (np.maximum(ready - sends, 0), backlog, delay),
        window=a + b + d + growth,
        delay=d,
        before_loss=before_loss,
        after_loss=a + b + d + 1,
    )


def _phases(
    path: Path, pair: Counts, part: NDArray[np.intp], growth: Counts, chance: Array
) -> tuple[NDArray[np.intp], Counts, Array, Counts, Counts]:
    """Where source or link do not carry a whole number of packets in a slot, both have one more at the same times."""
    states = len(path.capacity)
    sends, sends_more = _carried(path, np.array(path.source)[pair % states])
    carries, carries_more = _carried(path, np.array(path.capacity)[pair // states])
    low, high = np.minimum(sends_more, carries_more), np.maximum(sends_more, carries_more)
    shares = np.stack([low, high - low, 1 - high], axis=1)[part]
    branch, phase = np.nonzero(shares > 0)
    kept = part[branch]
    one_more = [(phase == 0) | ((phase == 1) & (more == high)[kept]) for more in (sends_more, carries_more)]
    return (
        kept,
        growth[branch],
        chance[branch] * shares[branch, phase],
        (sends[kept] + one_more[0]).astype(np.int64),
        (carries[kept] + one_more[1]).astype(np.int64),
    )


def _alone(path: Path, columns: tuple[Counts, Counts, Counts, Counts]) -> _Branches:
    """A slot of TCP alone: acknowledgements at the rate of the slot before release packets into the link."""
    states = len(path.capacity)
    part, growth, chance = _window(path, *columns[:3])
    capacity = np.array(path.capacity)
    _, more = _carried(path, capacity[columns[3] // states])
    shares = np.stack([1 - more, more], axis=1)[part]
    branch, phase = np.nonzero(shares > 0)
    part, growth, chance = part[branch], growth[branch], chance[branch] * shares[branch, phase]
    _, b, d, pair = (column[part] for column in columns)
    service = 1 / capacity[pair // states]
    # In a slot with one transmission more than fits, the first began in the slot before.
    begun = phase * (np.ceil(path.slot / service - EPSILON) * service - path.slot)
    slots = Slots(
        work=np.maximum(0.0, b * service - begun),
        spacing=np.minimum(1 / capacity[pair % states], path.slot / np.maximum(d, 1)),
        service=service,
        room=path.buffer,
    )
    # As behind an ABR source, a queue that fills grows by 1 - s / r for each packet, from the first one on: nothing is
    # lost as long as d (1 - s / r) + N is no more than B_max - b.
    slots.work = np.where(service > slots.spacing, b * service - begun - slots.spacing, slots.work)
    slots.avoid(d, growth)
    backlog = np.where(slots.lost, 0, slots.backlog(path.slot))
    return _lose(
        part,
        chance,
        slots.lost,
        (np.zeros_like(b), backlog, b + d + growth - backlog),
        window=b + d + growth,
        delay=d,
        before_loss=d + np.where(slots.lost, b + slots.admitted, 0),
        after_loss=b + d + 1,
    )


def _lose(
    part: NDArray[np.intp],
    chance: Array,
    lost: NDArray[np.bool_],
    queues: tuple[Counts, Counts, Counts],
    *,
    window: Counts,
    delay: Counts,
    before_loss: Array | Counts,
    after_loss: Counts,
) -> _Branches:
    """A loss costs three slots and a slow start to half the window; eqs. (12), (13) and (16) to (20) of [abr]."""
    ssthresh = -(-window // 2)
    rounds = np.ceil(np.log2(np.maximum(ssthresh, 1)) - EPSILON).astype(np.int64)
    slow_start = np.where(lost, np.maximum(window / 2 - 1, 0.0), 0.0)
    a, b, d = queues
    return _Branches(
        source=part,
        chance=chance,
        lost=lost,
        queues=(np.where(lost, 0, a), np.where(lost, 0, b), np.where(lost, np.maximum(ssthresh, 1), d)),
        steps=np.where(lost, 3 + rounds, 1),
        optimistic=np.asarray(before_loss + np.where(lost, after_loss, 0) + slow_start, dtype=np.float64),
        conservative=np.asarray(delay + slow_start, dtype=np.float64),
    )
