"""The embedded Markov chain of the RATCP model: its states, and the states that may follow each.

The paper's renewal epochs are the slots in congestion avoidance, and a recovery is one long cycle of 3 + L_ss slots.
Here the slots of a recovery are separate states.  That changes neither rewards nor time, hence not the
throughput, and keeps the chain sparse: a state looks ahead one slot.  The kinds of state:

``AVOIDANCE`` (b, d, w, m', m)
    A slot of congestion avoidance: b packets at the link, d in the propagation delay, cwnd w, the capacity in state m'
    in the slot before and m in this one.  W_rate is that of m': in [ratcp] floor(C Delta / (m' + 1)) + beta.
``LOST`` (ssthresh, m)
    Two slots after the slot of a loss: the timer starts and expires.  m is the capacity's state in the first of them,
    hence that of the rate known to the source when the timer expires; RATCP takes its ssthresh from it.
``SLOW_START`` (w, ssthresh, m', m)
    A round of slow start, w to min(2 w, ssthresh), in one slot.  It may overflow the buffer and fail; `LOST` follows.

In [ratcp] the state of the capacity is the number of ephemeral sessions; any finite chain will do, whose states say
how long a transmission takes and which rate is advertised.  What happens to packets in a slot does not depend on how
often the capacity changes: `explore` lists the branches of all reachable states once, and any chain that takes none but
these steps gives them probabilities.
"""

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import markov, together
from varicap.analyse.models.ratcp_slot import EPSILON, MOST_GROWTH, Array, Counts, Slots, growths, spacing

AVOIDANCE: Final = 0
LOST: Final = 1
SLOW_START: Final = 2
SLOTS: Final = np.array([1, 2, 1])
"""Slots that a state lasts, by kind."""

MAX_STATES: Final = 400_000
"""More reachable states than this are refused: the solution would take minutes and gigabytes."""


@dataclass(frozen=True, kw_only=True)
class Path:
    """Everything that determines what happens to packets in a slot, given the capacity's states."""

    slot: float
    """Packets that the whole capacity carries in a slot, C Delta."""
    room: int
    """Most packets at the link, the one in service included."""
    rate_window: tuple[int, ...]
    """W_rate by the capacity's state one slot ago; empty for TCP without feedback."""
    growth: float
    """Growth of cwnd per window of acknowledgements in congestion avoidance [packets]."""
    clip_at_ack: bool
    """Whether cwnd is limited to W_rate at each acknowledgement instead of at the beginning of a slot."""
    service: tuple[float, ...]
    """Time of a transmission by the capacity's state, in transmission times at the whole capacity."""
    leads: tuple[tuple[int, ...], ...]
    """The states that may follow each of the capacity's states in the next slot."""


@dataclass(frozen=True, kw_only=True)
class States:
    """States in columns, each of shape (n,)."""

    kind: Counts
    backlog: Counts
    delay: Counts
    window: Counts
    ssthresh: Counts
    before: Counts
    now: Counts

    def __getitem__(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> "States":
        return States(**{column.name: getattr(self, column.name)[index] for column in fields(self)})


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Reachable states and the branches between them."""

    states: States
    source: NDArray[np.intp]
    """State that each branch leaves, shape (branches,)."""
    target: NDArray[np.intp]
    """State that each branch enters."""
    chance: Array
    """Probability of each branch, given how the capacity changes."""
    steps: Counts
    """Changes of the capacity that a branch needs: indices into its flat chain, -1: none, shape (2, branches)."""
    reward: Array
    """Mean reward of each state [packets], shape (n,)."""
    loss: Array
    """Probability that each state loses a packet, shape (n,)."""

    def transition(self, capacity: Array) -> markov.Matrix:
        """The transition matrix for a capacity that changes by this matrix, shape (M, M)."""
        flat = np.append(capacity.ravel(), 1.0)  # the index -1 finds a 1
        weight = self.chance * flat[self.steps[0]] * flat[self.steps[1]]
        return markov.matrix(self.reward.size, self.source, self.target, weight)


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The chain in the long run."""

    packets_per_slot: float
    """Reward per slot [packets]."""
    loss_probability: float
    """Probability that a slot of congestion avoidance loses a packet [1]."""
    slow_start_failure: float
    """Probability that a slow start overflows the buffer [1]; 0 if there is none."""
    timeouts_per_slot: float
    """Timeouts per slot [1]."""
    cycle_slots: float
    """Mean slots between renewal epochs."""
    states: int
    """States that recur."""
    residual: float
    """Sum of ``|pi P - pi|`` [1]."""


def solve(chain: Chain, capacity: Array) -> together.Computation[Solution]:
    """The chain's long run on a capacity that changes by this matrix, shape (M, M).  Source: [ratcp, §III, eq. (1)]."""
    transition = chain.transition(capacity)
    share = yield markov.stationary_all, transition
    kind = chain.states.kind
    avoiding = kind == AVOIDANCE
    losses = share * chain.loss
    slots = float(share @ SLOTS[kind])
    failures = float(losses[~avoiding].sum())
    starts = float(share[kind == LOST].sum())  # each loss leads to one slow start
    return Solution(
        packets_per_slot=float(share @ chain.reward) / slots,
        loss_probability=float(losses[avoiding].sum() / share[avoiding].sum()) if share[avoiding].any() else 0.0,
        slow_start_failure=failures / starts if starts else 0.0,
        timeouts_per_slot=starts / slots,
        cycle_slots=slots / (float(share[avoiding].sum()) + failures),
        states=int(np.count_nonzero(share)),
        residual=markov.residual(transition, share),
    )


@dataclass(frozen=True, kw_only=True)
class _Branches:
    """Branches from some states, before the capacity changes, as columns of shape (branches,)."""

    source: NDArray[np.intp]
    chance: Array
    reward: Array
    lost: NDArray[np.bool_]
    kind: Counts
    backlog: Counts
    delay: Counts
    window: Counts
    ssthresh: Counts


@lru_cache(maxsize=16)
def explore(path: Path, most: int | None = None) -> Chain:
    """Finds all states that can follow a full pipe in the first of the capacity's states, at most `most` of them."""
    code = _Code(path)
    known = code.pack(_first(path))
    frontier = known
    waves = []
    while frontier.size:
        states = code.unpack(frontier)
        branches = _follow(path, states)
        branch, steps, before, now = _changes(path, states, branches)
        target = code.pack(_enter(path, branches, branch, before, now))
        share = _sum(branches.source, branches.chance * branches.reward, frontier.size)
        loss = _sum(branches.source, branches.chance * branches.lost, frontier.size)
        waves.append((frontier, frontier[branches.source[branch]], target, branches.chance[branch], steps, share, loss))
        frontier = np.setdiff1d(target, known)
        known = np.union1d(known, frontier)
        if known.size > (most or MAX_STATES):
            raise ValueError(
                f"the model has more than {most or MAX_STATES} states: its size grows with the capacity-delay product "
                f"({path.slot:g} packets), the buffer ({path.room} packets) and the square of the number of states of "
                f"the capacity ({len(path.service)})"
            )
    columns = (np.concatenate(column, axis=-1) for column in zip(*waves, strict=True))
    order, source, target, chance, steps, share, loss = columns
    rank = np.argsort(order)
    return Chain(
        states=code.unpack(known),
        source=np.searchsorted(known, source),
        target=np.searchsorted(known, target),
        chance=chance,
        steps=steps,
        reward=share[rank],
        loss=loss[rank],
    )


def overshoot(path: Path, backlog: int) -> float:
    """Probability that growth within a slot, from a full pipe and a backlog of beta packets, overflows the buffer."""
    pipe = np.maximum(1, np.floor(path.slot / np.array(path.service) + EPSILON).astype(np.int64))
    chance = growths(pipe, path.growth / np.maximum(1, pipe + backlog), pipe)
    return float(chance[:, max(0, path.room - backlog + 1) :].sum(axis=1).max())


class _Code:
    """States as single integers, so that sets of them are sorted arrays."""

    def __init__(self, path: Path) -> None:
        pipe = int(np.ceil(path.slot))
        window = 2 * (path.room + pipe + max(path.rate_window, default=0)) + MOST_GROWTH
        states = len(path.service)
        self._radix = (3, path.room + 1, window, window, window, states, states)
        if np.prod([float(radix) for radix in self._radix]) >= np.iinfo(np.int64).max:
            raise ValueError(
                "the capacity-delay product, the buffer or the states of the capacity are far too many for the model"
            )

    def pack(self, states: States) -> Counts:
        key = np.zeros(states.kind.shape, dtype=np.int64)
        for column, radix in zip(fields(states), self._radix, strict=True):
            digit = getattr(states, column.name)
            if not ((digit >= 0) & (digit < radix)).all():
                raise AssertionError(
                    f"the model reached {column.name} = {digit.min()}..{digit.max()} of 0..{radix - 1}"
                )
            key = key * radix + digit
        return key

    def unpack(self, key: Counts) -> States:
        columns = {}
        for column, radix in zip(reversed(fields(States)), reversed(self._radix), strict=True):
            key, columns[column.name] = np.divmod(key, radix)
        return States(**columns)


def _first(path: Path) -> States:
    """A pipe that is full, and beta packets at the link if there is feedback."""
    pipe = max(1, int(path.slot / path.service[0] + EPSILON))
    window = max(path.rate_window[0], 1) if path.rate_window else pipe
    backlog = min(max(window - pipe, 0), path.room)
    delay = min(window, pipe)
    one = np.ones(1, dtype=np.int64)
    return States(
        kind=AVOIDANCE * one,
        backlog=backlog * one,
        delay=delay * one,
        window=(backlog + delay) * one,
        ssthresh=0 * one,
        before=0 * one,
        now=0 * one,
    )


def _follow(path: Path, states: States) -> _Branches:
    parts = []
    for kind, follow in ((AVOIDANCE, _avoid), (LOST, _time_out), (SLOW_START, _start_slowly)):
        index = np.flatnonzero(states.kind == kind)
        if index.size:
            branches = follow(path, states[index])
            parts.append((index[branches.source], branches))
    columns = {
        column.name: np.concatenate([getattr(branches, column.name) for _, branches in parts])
        for column in fields(_Branches)
        if column.name != "source"
    }
    return _Branches(source=np.concatenate([source for source, _ in parts]), **columns)


def _avoid(path: Path, states: States) -> _Branches:
    """Cases 1 to 3 of [ratcp, §III]: a slot of congestion avoidance, or of waiting for packets to leave."""
    rate_window = np.array(path.rate_window)[states.before] if path.rate_window else np.iinfo(np.int64).max
    window = np.minimum(states.window, rate_window)
    surplus = np.maximum(0, states.backlog + states.delay - window)  # h: these leave before cwnd may grow
    acks = np.maximum(0, states.delay - surplus)  # case 1 if there are none
    ceiling = rate_window - window if path.clip_at_ack else acks
    growth_chance = growths(acks, path.growth / window, np.minimum(ceiling, acks))
    chance = _phases(path, states.now)[:, :, None] * growth_chance[:, None, :]
    part, phase, growth = np.nonzero(chance)

    now = states[part]
    slots = _slots(path, now, phase)
    slots.run(now.delay - acks[part], 0)
    slots.avoid(acks[part], growth)
    backlog = slots.backlog(path.slot)
    return _Branches(
        source=part,
        chance=chance[part, phase, growth],
        reward=(now.delay + np.where(slots.lost, now.backlog + slots.admitted, 0)).astype(float),
        lost=slots.lost,
        kind=np.where(slots.lost, LOST, AVOIDANCE),
        backlog=np.where(slots.lost, 0, backlog),
        delay=np.where(slots.lost, 0, now.backlog + slots.admitted - backlog),
        window=np.where(slots.lost, 0, window[part] + growth),
        ssthresh=np.where(slots.lost, _ssthresh(path, window[part] + slots.growth), 0),
    )


def _time_out(path: Path, states: States) -> _Branches:
    """Two slots in which nothing is rewarded; then slow start from a window of one packet."""
    known = np.maximum(np.array(path.rate_window)[states.now], 1) if path.rate_window else states.ssthresh
    one = np.ones_like(states.kind)
    return _Branches(
        source=np.arange(one.size),
        chance=one.astype(float),
        reward=np.zeros(one.size),
        lost=one == 0,
        kind=np.where(known > 1, SLOW_START, AVOIDANCE),
        backlog=0 * one,
        delay=0 * one,
        window=one,
        ssthresh=known,
    )


def _start_slowly(path: Path, states: States) -> _Branches:
    """A round of slow start: the first acknowledgements release two packets each until cwnd is at ssthresh."""
    chance = _phases(path, states.now)
    part, phase = np.nonzero(chance)
    now = states[part]
    grown = np.minimum(2 * now.window, now.ssthresh)
    slots = _slots(path, now, phase)
    twice = np.minimum(grown - now.window, now.delay)
    slots.run(twice, 2)
    slots.run(now.delay - twice, 1)
    done = grown == now.ssthresh
    return _Branches(
        source=part,
        chance=chance[part, phase],
        reward=np.where(slots.lost, now.window + slots.admitted, grown - now.window).astype(float),
        lost=slots.lost,
        kind=np.where(slots.lost, LOST, np.where(done, AVOIDANCE, SLOW_START)),
        backlog=np.zeros_like(grown),
        delay=np.zeros_like(grown),
        window=np.where(slots.lost, 0, grown),
        ssthresh=np.where(slots.lost, _ssthresh(path, now.window + slots.growth), now.ssthresh),
    )


def _changes(path: Path, states: States, branches: _Branches) -> tuple[NDArray[np.intp], Counts, Counts, Counts]:
    """Each branch times each way in which the capacity may change: branch, steps, and its states before and now."""
    size = len(path.service)
    possible = np.zeros((size, size), dtype=bool)
    for state, next_states in enumerate(path.leads):
        possible[state, list(next_states)] = True
    current = states.now[branches.source]
    branch, after = np.nonzero(possible[current])
    first = current[branch] * size + after
    twice = states.kind[branches.source[branch]] == LOST
    once = np.flatnonzero(~twice)
    again = np.flatnonzero(twice)
    pair, later = np.nonzero(possible[after[again]])
    again = again[pair]
    second = after[again] * size + later
    return (
        np.concatenate([branch[once], branch[again]]),
        np.stack([np.concatenate([first[once], first[again]]), np.concatenate([np.full(once.size, -1), second])]),
        np.concatenate([current[branch[once]], after[again]]),
        np.concatenate([after[once], later]),
    )


def _enter(path: Path, branches: _Branches, branch: NDArray[np.intp], before: Counts, now: Counts) -> States:
    """The states to which branches lead.  Where only cwnd is known, the delay holds what fits and the link the rest."""
    kind, window = branches.kind[branch], branches.window[branch]
    backlog, delay = branches.backlog[branch], branches.delay[branch]
    pipe = np.floor(path.slot / np.array(path.service)[before] + EPSILON).astype(np.int64)
    restarts = (kind == SLOW_START) | ((kind == AVOIDANCE) & (branches.ssthresh[branch] > 0))
    backlog = np.where(restarts, np.clip(window - pipe, 0, path.room), backlog)
    delay = np.where(restarts, window - backlog, delay)
    keeps = (kind == SLOW_START) | ((kind == LOST) & (not path.rate_window))
    return States(
        kind=kind,
        backlog=backlog,
        delay=delay,
        window=window,
        ssthresh=np.where(keeps, branches.ssthresh[branch], 0),
        before=np.where(kind == LOST, 0, before),
        now=now,
    )


def _sum(index: NDArray[np.intp], value: Array, size: int) -> Array:
    return np.bincount(index, value, minlength=size).astype(np.float64)


def _slots(path: Path, states: States, phase: NDArray[np.intp]) -> Slots:
    service = np.array(path.service)[states.now]
    # In a slot with one transmission more than fits, the first began in the slot before.
    begun = phase * (np.ceil(path.slot / service - EPSILON) * service - path.slot)
    return Slots(
        work=np.maximum(0.0, states.backlog * service - begun),
        spacing=spacing(path.slot, states.delay, np.array(path.service)[states.before]),
        service=service,
        room=path.room,
    )


def _phases(path: Path, now: Counts) -> Array:
    """Probabilities that a slot carries floor(R Delta) packets and one more, shape (n, 2): their mean is R Delta."""
    carried = path.slot / np.array(path.service)[now]
    more = carried - np.floor(carried + EPSILON)
    more = np.where(more < EPSILON, 0.0, more)
    return np.stack([1 - more, more], axis=1)


def _ssthresh(path: Path, window: Counts) -> Counts:
    """Half of cwnd at the loss; with feedback the source takes W_rate at the timeout, and nothing is kept."""
    return np.zeros_like(window) if path.rate_window else np.maximum(window // 2, 2)
