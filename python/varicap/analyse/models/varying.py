"""Reno, CUBIC and RATCP alone on a capacity of n rates behind a drop-tail buffer: Markov renewal models of the window.

Time is cut into slots of the round trip propagation delay.  In a slot the link serves c_r packets in state r.  What the
slot before served, or the whole window, is in the delay, and the rest waits: with a window of w packets

    served = min(c_r, (w - (k - 1) / 2) c_r / (c_r + k)),   waiting = (w - c_r)+,   a loss if w - c_r > B

with k packets to an acknowledgement, which go together, so that a window that does not fill the link returns once in a
round trip and their transmission times.  So (w, r) is a Markov chain.  Reno's window grows by served / w in a slot
after state s, on a grid of windows by chance, so that its mean is exact.  A loss is heard when a window has been
acknowledged, in a slot with probability
c_r / min(w, c_r + B); the link goes on meanwhile.  Then the window is halved.

CUBIC's window is a function of the time since the last loss, of the window there and of the one before: losses are
renewal epochs with states (w, r), and between them the states of the capacity are followed slot by slot.  The window in
Reno's manner counts round trips at the mean capacity.

RATCP's window is clipped in each slot to W_rate = floor(R) + beta of the rate R that the link advertised in the slot
before (`varicap.analyse.advertised`), and grows as Reno's below it.  A loss leaves it at W_rate [ratcp, §II.B], so that
it needs no state of its own.

The discretisation moves a window by less than one packet in a cycle, of B + c_r, which is 8 % of 12 packets: an
argument for the bound of 8 %, and no proof.  A first grid of random chains was seen when it was fixed.  It holds where
the fastest rate is at most five times the slowest, rates last 2.4 round trips or more on average, and the buffer holds
0.3 of what the fastest rate carries in one; elsewhere Reno was found 13 % and RATCP 17 % above the simulator.
Source: the slots and renewal rewards of [abr, §III], without packets and with fast recovery; CUBIC's law RFC 9438 §4.2,
§4.3, §4.7.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import markov, together
from varicap.analyse.advertised import AdvertisedChain
from varicap.analyse.effective import SlottedChain

Array = NDArray[np.float64]

SLOWEST = 2.0
"""Packets in a round trip, with fewer of which senders time out; the models have no timeouts."""
_MOST_LEVELS = 400
_MOST_STATES, _FEWEST_LEVELS = 8000, 60
_ROUNDING = 1e-9
_EPOCHS = 40
_ENTRIES = 2**24  # of matrices of CUBIC's epochs that are filled together: 128 MB
_MOST_SLOTS = 20_000
_LEFT = 1e-14  # of an epoch, which the slots that are followed may leave
_BETA, _CUBE = 0.7, 0.4  # RFC 9438 §4.6 and §5


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A flow and its path.  Raises ``ValueError`` for values outside the model."""

    capacity: SlottedChain
    """Packets that the link carries in a round trip delay, by state, and its changes from one to the next."""
    waiting_packets: float
    """Room for packets that wait, B."""
    round_trip_s: float
    """Round trip propagation delay [s]."""
    rounds_per_packet: float = 1.0
    """Round trips in which Reno's window grows by a packet."""
    packets_per_ack: int = 1
    """Packets that an acknowledgement answers."""

    def __post_init__(self) -> None:
        rates = self.capacity.capacity
        if rates.max() < SLOWEST:
            raise ValueError(f"the fastest state carries {rates.max():.2g} packets a round trip: the model needs 2")
        least = max(12.0, float(rates.max()) / 4)
        if self.waiting_packets < least:
            raise ValueError(
                f"the buffer holds {self.waiting_packets:g} packets: the model needs {least:.3g}, a quarter of what "
                "the fastest state carries in a round trip and 12 packets or more"
            )
        if not (self.round_trip_s > 0 and self.rounds_per_packet >= 1):
            raise ValueError("a round trip is longer than 0 s, and a packet takes one of them or more")


def carried(window: Any, rate: Any, packets_per_ack: Any) -> Any:
    """Packets of a window that a link of this rate carries in a slot.

    Those that an acknowledgement answers go together, and the link is done with the last of them after as many of its
    transmission times: the window returns once in a round trip and these.  Of an odd window one waits for its pair.
    """
    # Of less than an acknowledgement's packets some are under way, too: it comes by its timer.
    whole = np.maximum(window - (packets_per_ack - 1) / 2, np.minimum(window, 1) / 2)
    under_way = whole * rate / (rate + packets_per_ack)
    return np.minimum(under_way, rate)


def refuse_outages(parameters: Parameters) -> None:
    """Raises ``ValueError`` where a state is an outage, or nearly."""
    slowest = float(parameters.capacity.capacity.min())
    if slowest < SLOWEST:
        raise ValueError(
            f"the slowest state carries {slowest:.2g} packets a round trip: the model has no timeouts, and so no "
            f"outages: it needs {SLOWEST:g}"
        )


def reno(parameters: Parameters) -> float:
    """Share of the mean capacity that Reno uses in the long run [1].

    Validity: within 8 % of the simulator, on the chains that the top of this module names.

    >>> chain = SlottedChain.symmetric(10.0, high=40.0, low=10.0)
    >>> round(reno(Parameters(capacity=chain, waiting_packets=20, round_trip_s=0.1)), 2)
    0.8
    """
    return together.alone(solve_reno(parameters))


def solve_reno(parameters: Parameters) -> together.Computation[float]:
    """`reno` as a computation, many of which `together.run` solves at once."""
    rates, changes = parameters.capacity.capacity, parameters.capacity.transition
    room, states = parameters.waiting_packets, len(rates)
    grain = max(1.0, (float(rates.max()) + room + 2) / _MOST_LEVELS)
    levels = int(np.ceil((float(rates.max()) + room + 2) / grain)) + 2
    window = np.arange(1, levels + 1) * grain
    until = _Hearing(rates, changes, room, window, parameters.packets_per_ack)
    grows = carried(window, rates[:, None], parameters.packets_per_ack) / window
    grows = np.minimum(1, grows / grain / parameters.rounds_per_packet)
    before, level, after, growth, chance = _ways(changes, grows)
    source = before * levels + level
    to = window[level] + growth * grain
    goes_on = to - rates[after] <= room
    lost = np.flatnonzero(~goes_on)
    hearing = np.minimum(level + growth, levels - 1)[lost], after[lost]
    served, lasts = carried(to, rates[after], parameters.packets_per_ack), np.ones(to.size)
    served[lost] += until.served[hearing]
    lasts[lost] += until.slots[hearing]
    reward, slots = (np.bincount(source, chance * column, minlength=states * levels) for column in (served, lasts))

    leaves = np.concatenate([source[goes_on], np.repeat(source[lost], states)])
    enters = np.concatenate([after[goes_on], np.tile(np.arange(states), lost.size)])
    halved = np.repeat(np.maximum(window[hearing[0]] / 2, 1), states)
    weight = np.concatenate([chance[goes_on], (chance[lost, None] * until.state[hearing]).ravel()])
    at = np.concatenate([to[goes_on], halved]) / grain - 1
    share = yield markov.stationary_all, _led((states, levels), leaves, enters, at, weight)
    return float(share @ reward / (share @ slots)) / parameters.capacity.mean


class _Hearing:
    """From the slot of a loss until it is heard, by window and state in that slot."""

    def __init__(self, rates: Array, changes: Array, room: float, window: Any, packets_per_ack: int) -> None:
        hears = np.minimum(1, rates / np.minimum(window[:, None], rates + room))
        visits = np.linalg.inv(np.eye(len(rates)) - changes * (1 - hears)[:, None, :])
        self.slots = visits.sum(axis=2)
        """Mean number of slots, shape (windows, n)."""
        self.served = (visits @ changes @ carried(window[:, None], rates, packets_per_ack)[:, :, None])[:, :, 0]
        """Mean packets served in them, shape (windows, n)."""
        self.state = visits @ (changes * hears[:, None, :])
        """Probability of the state in the slot in which the loss is heard, shape (windows, n, n)."""


def ratcp(
    parameters: Parameters,
    link: AdvertisedChain,
    *,
    backlog_packets: int = 1,
    known_slots: float = 1.0,
    packets_per_ack: int = 1,
) -> float:
    """Share of the mean capacity that RATCP uses in the long run [1].

    Parameters
    ----------
    parameters
        The path; its capacity is that of `link`.
    link
        What the link carries and advertises, in packets per round trip delay.
    backlog_packets
        Target backlog, beta.
    known_slots
        The RTT with which a rate becomes a window, in round trip delays.
    packets_per_ack
        Packets that an acknowledgement answers.

    Examples
    --------
    >>> from varicap.analyse import advertised
    >>> chain = SlottedChain.symmetric(10.0, high=40.0, low=10.0)
    >>> path = Parameters(capacity=chain, waiting_packets=20, round_trip_s=0.1)
    >>> round(ratcp(path, advertised.exact(chain)), 2)
    0.58
    """
    return together.alone(solve_ratcp(parameters, link, backlog_packets, known_slots, packets_per_ack))


def _ways(changes: Any, grows: Any) -> tuple[Any, ...]:
    """Ways that a slot may go: the state before, the level, the state after, whether the window grows, and the chance.

    From the chances of the states (states, states), and those that the window grows (states, levels).
    """
    ways = changes[:, None, :, None] * np.stack([1 - grows, grows], axis=-1)[:, :, None, :]
    places = np.nonzero(ways)
    return *places, ways[places]


def _led(size: tuple[int, int], source: Any, state: Any, at: Any, chance: Any, rounding: float = 0.0) -> Any:
    """The transitions of ways from these places to these states and a level `at`: to the two beside it by its nearness.

    `size` is states and levels; a level that lies at most `rounding` above `at` is taken to be it.
    """
    states, levels = size
    at = np.clip(at, 0, levels - 1)
    low = np.floor(at + rounding).astype(np.int64)
    near = np.maximum(at - low, 0.0)
    return markov.matrix(
        states * levels,
        np.concatenate([source, source]),
        np.concatenate([state * levels + low, state * levels + np.minimum(low + 1, levels - 1)]),
        np.concatenate([chance * (1 - near), chance * near]),
    )


def solve_ratcp(
    parameters: Parameters, link: AdvertisedChain, backlog_packets: int, known_slots: float, packets_per_ack: int
) -> together.Computation[float]:
    """`ratcp` as a computation, many of which `together.run` solves at once."""
    refuse_outages(parameters)
    rates, changes = link.capacity.capacity, link.capacity.transition
    limits = np.maximum(1, np.floor(link.advertised * known_slots + _ROUNDING) + backlog_packets)
    states = len(rates)
    most = max(_FEWEST_LEVELS, min(_MOST_LEVELS, _MOST_STATES // states))
    grain = max(1.0, float(limits.max()) / most)
    levels = int(np.ceil(float(limits.max()) / grain)) + 1
    limit = limits[:, None]
    window = np.minimum(np.arange(1, levels + 1) * grain, limit)
    grows = carried(window, rates[:, None], packets_per_ack) / window
    grows = np.minimum(1, grows / grain / parameters.rounds_per_packet)
    before, level, after, growth, chance = _ways(changes, grows)
    source = before * levels + level
    to = np.stack([window, np.minimum(window + grain, limit)], axis=-1)[before, level, growth]
    reward = np.bincount(source, chance * carried(to, rates[after], packets_per_ack), minlength=states * levels)
    at = to / grain - 1
    share = yield markov.stationary_all, _led((states, levels), source, after, at, chance, _ROUNDING)
    return float(share @ reward) / link.capacity.mean


def cubic(parameters: Parameters) -> float:
    """Share of the mean capacity that CUBIC uses in the long run [1], with fast convergence.

    Validity: within 8 % of the simulator, on the chains that the top of this module names.

    >>> chain = SlottedChain.symmetric(10.0, high=40.0, low=10.0)
    >>> round(cubic(Parameters(capacity=chain, waiting_packets=20, round_trip_s=0.1)), 2)
    0.78
    """
    return together.alone(solve_cubic(parameters))


def solve_cubic(parameters: Parameters) -> together.Computation[float]:
    """`cubic` as a computation, many of which `together.run` solves at once."""
    return float((yield _used_by_cubic, parameters))


def _used_by_cubic(several: Sequence[Parameters]) -> list[float | ValueError]:
    """`cubic` of several paths; those of as many states side by side, as long as their matrices are not too large."""
    found: dict[int, float | ValueError] = {}
    for states in {len(one.capacity.capacity) for one in several}:
        those = [number for number, one in enumerate(several) if len(one.capacity.capacity) == states]
        at_once = max(1, _ENTRIES // (2 * _EPOCHS * states) ** 2)
        for some in (those[first : first + at_once] for first in range(0, len(those), at_once)):
            cycles = _Cubic([several[number] for number in some]).follow()
            chains = [jumps.reshape(slots.size, -1) for jumps, slots, _ in cycles]
            shares = markov.stationary_all([chain / chain.sum(axis=1, keepdims=True) for chain in chains])
            for number, (_, slots, served), share in zip(some, cycles, shares, strict=True):
                found[number] = (
                    share
                    if isinstance(share, ValueError)
                    else float(share @ served.ravel() / (share @ slots.ravel())) / several[number].capacity.mean
                )
    return [found[number] for number in range(len(several))]


class _Cubic:
    """CUBIC's windows on several paths with as many states, side by side; arrays begin with the path.

    What depends on states ends with path and epoch instead, over which numbers that belong together lie side by side.
    """

    def __init__(self, several: Sequence[Parameters]) -> None:
        self.left = np.arange(len(several))
        """The paths on which some epoch has not ended."""
        self.rates = np.array([one.capacity.capacity for one in several])
        self.changes = np.array([one.capacity.transition for one in several])
        self.room = np.array([[one.waiting_packets] for one in several], dtype=float)
        self.mean = np.array([[one.capacity.mean] for one in several])
        self.round_trip_s = np.array([[one.round_trip_s] for one in several])
        self.rounds_per_packet = np.array([[one.rounds_per_packet] for one in several])
        self.packets_per_ack = np.array([[one.packets_per_ack] for one in several])
        highest = [float(one.capacity.capacity.max()) + one.waiting_packets + 1 for one in several]
        levels = np.array([np.geomspace(2, high, _EPOCHS) for high in highest])
        self.lowest, self.steepness = np.log(levels[:, :1]), (_EPOCHS - 1) / np.log(levels[:, -1:] / levels[:, :1])
        # No loss is at a smaller window than the slowest rate and the buffer hold, and no epoch below that comes again.
        least = np.log(self.rates.min(axis=1, keepdims=True) + self.room)
        self.first = min(int(((least - self.lowest) * self.steepness).min() - _ROUNDING), _EPOCHS - 2)
        levels = levels[:, self.first :]
        # The second half of the epochs is of losses at a smaller window than the one before.
        self.origin = np.concatenate([levels, levels * (1 + _BETA) / 2], axis=1)
        self.window = np.maximum(np.concatenate([levels, levels], axis=1) * _BETA, 1.0)
        self.turning_s = np.cbrt(np.maximum(self.origin - self.window, 0) / _CUBE)
        self.friendly = self.window.copy()
        states = np.eye(self.rates.shape[1])
        self.there = np.broadcast_to(states[:, :, None, None], (*states.shape, *self.window.shape)).copy()
        """Probability of the state at an epoch and the one now, if it goes on, shape (n, n, paths, epochs)."""

    def follow(self) -> list[tuple[Array, Array, Array]]:
        """From loss to loss, until hardly any epoch is left: where it leads, how many slots it takes, what is served.

        Of each path, shapes (epochs, n, epochs, n), (epochs, n) and (epochs, n).
        """
        (paths, states), epochs = self.rates.shape, self.window.shape[1]
        # From a loss until it is heard.
        hears = (self.rates / (self.rates + self.room))[:, :, None]
        one: Array = np.eye(states)
        visits = np.linalg.inv(one - (1 - hears) * self.changes)
        after, slots_after = visits @ (hears * self.changes), visits.sum(axis=2, keepdims=True)
        served_after = visits @ self.rates[:, :, None]
        jumps = np.zeros((states, states, paths, epochs, epochs))
        slots, served = np.zeros((2, states, paths, epochs))
        for slot in range(1, _MOST_SLOTS):
            self._grow(slot)
            left = self.left
            self.there = _times(self.there, self.changes)
            slots[:, left] += self.there.sum(axis=1)
            of_state = carried(self.window, self.rates.T[:, :, None], self.packets_per_ack)
            served[:, left] += (self.there * of_state).sum(axis=1)
            is_lost = self.window - self.rates.T[:, :, None] > self.room
            if is_lost.any():
                lost = self.there * is_lost
                self.there = self.there - lost
                path, epoch = np.nonzero(lost.any(axis=(0, 1)))
                of, some = left[path], np.moveaxis(lost[:, :, path, epoch], 2, 0)
                low, near = self._nearest(path, epoch)
                heard = np.moveaxis(some @ after[of], 0, 2)
                for target, share in ((low, 1 - near), (low + 1, near)):
                    jumps[:, :, of, epoch, target] += heard * share
                slots[:, of, epoch] += (some @ slots_after[of])[:, :, 0].T
                served[:, of, epoch] += (some @ served_after[of])[:, :, 0].T
                if self._drop(self.there.sum(axis=(0, 1)).max(axis=1) >= _LEFT):
                    break
        return [
            (np.moveaxis(jumps[:, :, path], (0, 1), (1, 3)), slots[:, path].T, served[:, path].T)
            for path in range(paths)
        ]

    def _grow(self, slot: int) -> None:
        """The windows after one more slot."""
        rounds = np.maximum(1, self.window / self.mean)
        self.friendly += 3 * (1 - _BETA) / (1 + _BETA) / rounds / self.rounds_per_packet
        from_turning_s = slot * self.round_trip_s - self.turning_s
        wanted = np.maximum(self.origin + _CUBE * from_turning_s**3, self.friendly)
        self.window = np.clip(wanted, self.window, self.window * (1 + 0.5 / rounds))

    def _nearest(self, path: NDArray[np.intp], epoch: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
        """The epoch below a loss at each of these windows, and how near the next one is [1], shapes (windows,)."""
        window = self.window[path, epoch]
        at = np.clip((np.log(window) - self.lowest[path, 0]) * self.steepness[path, 0], 0, _EPOCHS - 1)
        low = np.minimum(at.astype(np.int64), _EPOCHS - 2)
        half = np.where(window < self.origin[path, epoch], _EPOCHS - self.first, 0)
        return low - self.first + half, at - low

    def _drop(self, stays: NDArray[np.bool_]) -> bool:
        """Goes on with these paths only; whether there is none."""
        if not stays.all():
            self.there = self.there[:, :, stays]
            for name, column in vars(self).items():
                if name != "there" and isinstance(column, np.ndarray):
                    setattr(self, name, column[stays])
        return not stays.any()


def _times(weights: Array, matrices: Array) -> Array:
    """Weights of shape (n, n, paths, epochs) times the matrix of each path, along the second axis."""
    by_path = weights.transpose(2, 0, 3, 1) @ matrices[:, None]
    return np.ascontiguousarray(by_path.transpose(1, 3, 0, 2))
