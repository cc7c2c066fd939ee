"""The embedded Markov chain of the RATCP model: its states, and the states that may follow each.

The paper's renewal epochs are the slots in congestion avoidance, and a recovery is one long cycle of 3 + L_ss slots.
Here the slots of a recovery are separate states.  That changes neither rewards nor time, hence not the
throughput, and keeps the chain sparse: a state looks ahead one slot.  The kinds of state:

``AVOIDANCE`` (b, d, w, m')
    A slot of congestion avoidance: b packets at the link, d in the propagation delay, cwnd w, the capacity in state m'
    in the slot before.  W_rate is that of m': in [ratcp] floor(C Delta / (m' + 1)) + beta.
``LOST`` (ssthresh, m')
    Two slots after the slot of a loss: the timer starts and expires.  m' is the capacity's state in the slot of the
    loss.  That in the first of the two is that of the rate known to the source when the timer expires; RATCP takes its
    ssthresh from it.
``SLOW_START`` (w, ssthresh, m')
    A round of slow start, w to min(2 w, ssthresh), in one slot.  It may overflow the buffer and fail; `LOST` follows.

The capacity's state m in the slot follows m' by the capacity's own law, whatever the packets do, and so does not belong
to the state: each state has a slot for each m, and the branches of a state are those of its slots.

In [ratcp] the state of the capacity is the number of ephemeral sessions; any finite chain will do, whose states say
how long a transmission takes and which rate is advertised.  What happens to packets in a slot does not depend on how
often the capacity changes: `ratcp_long_run` lists the branches of all reachable states once, and any chain that takes
none but these steps gives them probabilities.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from varicap.analyse.models.ratcp_slot import EPSILON, Array, Counts, Slots, growths, spacing

AVOIDANCE: Final = 0
LOST: Final = 1
SLOW_START: Final = 2
SLOTS: Final = np.array([1, 2, 1])
"""Slots that a state lasts, by kind."""


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


@dataclass(frozen=True, eq=False)
class Paths:
    """Several paths whose capacities have as many states, with feedback or without: a row for each."""

    several: tuple[Path, ...]

    def __post_init__(self) -> None:
        if len({(len(path.service), bool(path.rate_window)) for path in self.several}) != 1:
            raise ValueError("the capacities of these paths have different numbers of states, or some are not fed back")

    @cached_property
    def slot(self) -> Array:
        """Shape (paths,)."""
        return np.array([path.slot for path in self.several])

    @cached_property
    def room(self) -> Counts:
        """Shape (paths,)."""
        return np.array([path.room for path in self.several])

    @cached_property
    def growth(self) -> Array:
        """Shape (paths,)."""
        return np.array([path.growth for path in self.several])

    @cached_property
    def clip_at_ack(self) -> NDArray[np.bool_]:
        """Shape (paths,)."""
        return np.array([path.clip_at_ack for path in self.several])

    @cached_property
    def rate_window(self) -> Counts | None:
        """Shape (paths, M)."""
        return np.array([path.rate_window for path in self.several]) if self.several[0].rate_window else None

    @cached_property
    def service(self) -> Array:
        """Shape (paths, M)."""
        return np.array([path.service for path in self.several])

    @cached_property
    def leads(self) -> NDArray[np.bool_]:
        """Which states of the capacity may follow which, shape (paths, M, M)."""
        size = len(self.several[0].service)
        found = np.zeros((len(self.several), size, size), dtype=bool)
        for number, path in enumerate(self.several):
            for state, after in enumerate(path.leads):
                found[number, state, list(after)] = True
        return found


@dataclass(frozen=True, kw_only=True)
class States:
    """States in columns, each of shape (n,)."""

    path: Counts
    """The path that each is of."""
    kind: Counts
    backlog: Counts
    delay: Counts
    window: Counts
    ssthresh: Counts
    before: Counts

    def __getitem__(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> "States":
        return States(**{column.name: getattr(self, column.name)[index] for column in fields(self)})


@dataclass(frozen=True, kw_only=True)
class Met:
    """Slots of states by the capacity's state in them, each of shape (n,); in the first of two slots for `LOST`."""

    states: States
    now: Counts

    def __getitem__(self, index: NDArray[np.intp]) -> "Met":
        return Met(states=self.states[index], now=self.now[index])


@dataclass(frozen=True, kw_only=True)
class Branches:
    """Branches from some slots, as columns of shape (branches,); those after two slots before the capacity changes."""

    source: NDArray[np.intp]
    chance: Array
    reward: Array
    lost: NDArray[np.bool_]
    kind: Counts
    backlog: Counts
    delay: Counts
    window: Counts
    ssthresh: Counts


def overshoot(path: Path, backlog: int) -> float:
    """Probability that growth within a slot, from a full pipe and a backlog of beta packets, overflows the buffer."""
    pipe = np.maximum(1, np.floor(path.slot / np.array(path.service) + EPSILON).astype(np.int64))
    chance = growths(pipe, path.growth / np.maximum(1, pipe + backlog), pipe)
    return float(chance[:, max(0, path.room - backlog + 1) :].sum(axis=1).max())


def met(paths: Paths, states: States) -> tuple[NDArray[np.intp], Met]:
    """The slots that states may have, and the state that each is of."""
    of, now = np.nonzero(paths.leads[states.path, states.before])
    return of, Met(states=states[of], now=now)


def counted(states: States, leads: NDArray[np.bool_]) -> int:
    """How many states of a path these are, the capacity's state in the next slot counted, which `leads` say."""
    of, now = np.nonzero(leads[states.before])
    lost = states.kind[of] == LOST
    # What follows a loss is the same whatever the capacity was in its slot.
    after_loss = np.unique(states.ssthresh[of[lost]] * len(leads) + now[lost])
    return int(np.count_nonzero(~lost) + after_loss.size)


def follow(paths: Paths, slots: Met) -> Branches:
    """What may happen in these slots."""
    parts = []
    for kind, of_kind in ((AVOIDANCE, _avoid), (LOST, _time_out), (SLOW_START, _start_slowly)):
        index = np.flatnonzero(slots.states.kind == kind)
        if index.size:
            branches = of_kind(paths, slots[index])
            parts.append((index[branches.source], branches))
    columns = {
        column.name: np.concatenate([getattr(branches, column.name) for _, branches in parts])
        for column in fields(Branches)
        if column.name != "source"
    }
    return Branches(source=np.concatenate([source for source, _ in parts]), **columns)


def _avoid(paths: Paths, met: Met) -> Branches:
    """Cases 1 to 3 of [ratcp, §III]: a slot of congestion avoidance, or of waiting for packets to leave."""
    states = met.states
    rate_window = _rate_window(paths, states.path, states.before, np.full(states.path.shape, np.iinfo(np.int64).max))
    window = np.minimum(states.window, rate_window)
    surplus = np.maximum(0, states.backlog + states.delay - window)  # h: these leave before cwnd may grow
    acks = np.maximum(0, states.delay - surplus)  # case 1 if there are none
    ceiling = np.where(paths.clip_at_ack[states.path], rate_window - window, acks)
    growth_chance = growths(acks, paths.growth[states.path] / window, np.minimum(ceiling, acks))
    # By their growth first, which `Slots.avoid` wants to ascend.
    growth, part = np.nonzero(growth_chance.T)
    phases = _phases(paths, met)[part]
    branch, phase = np.nonzero(phases)
    growth, part = growth[branch], part[branch]
    chance = growth_chance[part, growth] * phases[branch, phase]
    delay, acks, window = states.delay[part], acks[part], window[part]
    slots = _slots(paths, met, part, phase)
    slots.run(delay - acks, 0)
    slots.avoid(acks, growth)
    backlog, carried = slots.backlog(paths.slot[states.path][part]), states.backlog[part] + slots.admitted
    return Branches(
        source=part,
        chance=chance,
        reward=(delay + np.where(slots.lost, carried, 0)).astype(float),
        lost=slots.lost,
        kind=np.where(slots.lost, LOST, AVOIDANCE),
        backlog=np.where(slots.lost, 0, backlog),
        delay=np.where(slots.lost, 0, carried - backlog),
        window=np.where(slots.lost, 0, window + growth),
        ssthresh=np.where(slots.lost, _ssthresh(paths, window + slots.growth), 0),
    )


def _time_out(paths: Paths, met: Met) -> Branches:
    """Two slots in which nothing is rewarded; then slow start from a window of one packet."""
    known = np.maximum(_rate_window(paths, met.states.path, met.now, met.states.ssthresh), 1)
    one = np.ones_like(met.now)
    return Branches(
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


def _start_slowly(paths: Paths, met: Met) -> Branches:
    """A round of slow start: the first acknowledgements release two packets each until cwnd is at ssthresh."""
    chance = _phases(paths, met)
    part, phase = np.nonzero(chance)
    now = met.states[part]
    grown = np.minimum(2 * now.window, now.ssthresh)
    slots = _slots(paths, met, part, phase)
    twice = np.minimum(grown - now.window, now.delay)
    slots.run(twice, 2)
    slots.run(now.delay - twice, 1)
    done = grown == now.ssthresh
    return Branches(
        source=part,
        chance=chance[part, phase],
        reward=np.where(slots.lost, now.window + slots.admitted, grown - now.window).astype(float),
        lost=slots.lost,
        kind=np.where(slots.lost, LOST, np.where(done, AVOIDANCE, SLOW_START)),
        backlog=np.zeros_like(grown),
        delay=np.zeros_like(grown),
        window=np.where(slots.lost, 0, grown),
        ssthresh=np.where(slots.lost, _ssthresh(paths, now.window + slots.growth), now.ssthresh),
    )


def changes(paths: Paths, slots: Met, branches: Branches) -> tuple[NDArray[np.intp], Counts, Counts]:
    """Each branch times each way in which the capacity may change in it: branch, steps, and its last state."""
    size = paths.leads.shape[1]
    now, twice = slots.now[branches.source], (slots.states.kind == LOST)[branches.source]
    first = (slots.states.before * size + slots.now)[branches.source]
    once, again = np.flatnonzero(~twice), np.flatnonzero(twice)
    pair, after = np.nonzero(paths.leads[slots.states.path[branches.source[again]], now[again]])
    again = again[pair]
    branch = np.concatenate([once, again])
    second = np.concatenate([np.full(once.size, -1), now[again] * size + after])
    return branch, np.stack([first[branch], second]), np.concatenate([now[once], after])


def enter(paths: Paths, of: Counts, branches: Branches, branch: NDArray[np.intp], before: Counts) -> States:
    """The states to which branches lead, `of` these paths, by the capacity's state just before.

    Where only cwnd is known, the delay holds what fits and the link the rest.
    """
    kind, window = branches.kind[branch], branches.window[branch]
    backlog, delay = branches.backlog[branch], branches.delay[branch]
    pipe = np.floor(paths.slot[of] / paths.service[of, before] + EPSILON).astype(np.int64)
    restarts = (kind == SLOW_START) | ((kind == AVOIDANCE) & (branches.ssthresh[branch] > 0))
    backlog = np.where(restarts, np.clip(window - pipe, 0, paths.room[of]), backlog)
    delay = np.where(restarts, window - backlog, delay)
    keeps = (kind == SLOW_START) | ((kind == LOST) & (paths.rate_window is None))
    return States(
        path=of,
        kind=kind,
        backlog=backlog,
        delay=delay,
        window=window,
        ssthresh=np.where(keeps, branches.ssthresh[branch], 0),
        before=before,
    )


def first(paths: Paths) -> States:
    """Of each path a pipe that is full, and beta packets at the link if there is feedback."""
    every = np.arange(len(paths.several))
    pipe = np.maximum(1, (paths.slot / paths.service[:, 0] + EPSILON).astype(np.int64))
    window = np.maximum(1, _rate_window(paths, every, 0 * every, pipe))
    backlog = np.minimum(np.maximum(window - pipe, 0), paths.room)
    delay = np.minimum(window, pipe)
    return States(
        path=every,
        kind=np.full(every.shape, AVOIDANCE),
        backlog=backlog,
        delay=delay,
        window=backlog + delay,
        ssthresh=0 * every,
        before=0 * every,
    )


def _rate_window(paths: Paths, of: Counts, states: Counts, otherwise: Counts) -> Counts:
    """W_rate in these states of the capacity, or what there is in its place without feedback."""
    return otherwise if paths.rate_window is None else paths.rate_window[of, states]


def _slots(paths: Paths, met: Met, part: NDArray[np.intp], phase: NDArray[np.intp]) -> Slots:
    """Some of these slots, which may repeat, each in a phase."""
    states = met.states
    slot, service = paths.slot[states.path], paths.service[states.path, met.now]
    # In a slot with one transmission more than fits, the first began in the slot before.
    begun = phase * (np.ceil(slot / service - EPSILON) * service - slot)[part]
    return Slots(
        work=np.maximum(0.0, (states.backlog * service)[part] - begun),
        spacing=spacing(slot, states.delay, paths.service[states.path, states.before])[part],
        service=service[part],
        room=paths.room[states.path][part],
    )


def _phases(paths: Paths, met: Met) -> Array:
    """Probabilities that a slot carries floor(R Delta) packets and one more, shape (n, 2): their mean is R Delta."""
    carried = paths.slot[met.states.path] / paths.service[met.states.path, met.now]
    more = carried - np.floor(carried + EPSILON)
    more = np.where(more < EPSILON, 0.0, more)
    return np.stack([1 - more, more], axis=1)


def _ssthresh(paths: Paths, window: Counts) -> Counts:
    """Half of cwnd at the loss; with feedback the source takes W_rate at the timeout, and nothing is kept."""
    return np.maximum(window // 2, 2) if paths.rate_window is None else np.zeros_like(window)
