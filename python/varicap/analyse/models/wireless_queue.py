"""The buffer of a slotted ARQ link: how often a packet finds no room.

A TCP packet arrives in a slot with probability a, as n frames (link-layer packets), just before the slot's end.  In
each slot the link sends the frame at the head; if received, it departs at the slot's end, else it is sent again.
A packet that finds more than B - n frames, including the one in service, is lost whole.  With the channel's matrices R
(received) and L (lost, `wireless_channel.Slot`) the number of frames and the channel's state are a Markov chain:

    from 0:            0  (1-a)(R+L)                         +n  a (R+L)
    up to B - n:      -1  (1-a) R,   0  (1-a) L,   +(n-1)  a R,   +n  a L
    above:            -1  R,         0  L

It goes down one level at a time.  Where frames are received in the good state only and leave the channel there, a
level follows from the n below it: the flow over the cut below level m gives x_m(1), the balance of (m, 0) gives x_m(0),

    x_m(1) (1-a) d          = a (sum_{j=m-n+1}^{m-1} |x_j| + |x_{m-n}| - d x_{m-n}(1))
    x_m(0) (a p00 + p01)    = (1-a) p10 x_m(1) + a (p00 x_{m-n}(0) + p10 x_{m-n}(1))

(the term with d not for level 0, which serves nothing), and with a -> 0 on the left sides for m > B - n.  For n = 1
these are eqs. (1) and (2) of the paper.  Other channels take the general solution of `skip_free`.

Source: [wireless, §III-C]; readings: `varicap/papers/wireless/README.md`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from varicap.analyse import skip_free
from varicap.analyse.models.wireless_channel import Slot

Array = NDArray[np.float64]

_LARGE = 1e200  # unnormalised probabilities are scaled back from here
_SMALL = 1e-250  # and treated as zero from here
_BLOCK = 1024  # levels at a time
_SETTLED = 1e-12  # change of the logarithm of a level over half a block, against that of the half before


def check(segments: int, buffer: int) -> None:
    """Check that a packet of this many frames can enter a buffer of this many.  Raises ``ValueError``."""
    for name, value in (("segments", segments), ("buffer", buffer)):
        if isinstance(value, bool) or int(value) != value or value < 1:
            raise ValueError(f"{name} is a whole number of frames, 1 or more, not {value!r}")
    if buffer < segments:
        raise ValueError(f"a buffer of {buffer} frames never has room for a packet of {segments}")


def overflow(slot: Slot, arrivals: ArrayLike, segments: int, buffer: int) -> Array:
    """Probability that a packet finds no room, for each probability of an arrival; the shape of `arrivals`.

    Parameters
    ----------
    slot
        The channel.
    arrivals
        Probability that a packet arrives in a slot, P_a [1], between 0 and 1.
    segments
        Frames of a packet, n.
    buffer
        Room for frames, the one in service included, B.

    Examples
    --------
    >>> from varicap.analyse.models.wireless_channel import Channel
    >>> overflow(Channel.good_bad(good_s=0.1, bad_s=0.01).slot(4.608e-3), [0.276, 0.4], 1, 8).round(6).tolist()
    [0.000101, 0.000717]
    """
    check(segments, buffer)
    given = _arrivals(arrivals)
    flat = given.ravel()
    if slot.good_bad is not None:
        found = overflow_of([slot], flat[None, :], segments, [buffer])[0]
    else:
        found = _general(slot, flat, segments, buffer)[:, buffer - segments + 1 :].sum(axis=(1, 2))
    return np.asarray(found.reshape(given.shape))


def overflow_by_buffer(slot: Slot, arrivals: float, segments: int, buffer: int) -> Array:
    """Probability that a packet finds no room, for every buffer from n to `buffer` frames; shape (buffer - n + 1,).

    For stable loads only, where it falls with the buffer; more arrivals are a ``ValueError``.
    """
    check(segments, buffer)
    load = _arrivals(arrivals)
    if not float(load) * segments < slot.success:
        raise ValueError(
            f"{float(load) * segments:.4g} frames arrive in a slot, the channel lets {slot.success:.4g} through: the "
            "load is unstable, and no buffer helps"
        )
    if slot.good_bad is None:
        return np.array([float(overflow(slot, load, segments, size)) for size in range(segments, buffer + 1)])
    rates, grid = _GoodBad.of([slot]), load.reshape(1, 1)
    levels = _levels(rates, grid, segments, buffer - segments)[:, :, 0, 0]
    windows = sliding_window_view(levels, segments, axis=0)  # (buffers, 2, segments)
    found = _lost(rates, grid, windows.transpose(2, 1, 0)[:, :, None, :], np.arange(len(windows)))[0]
    return np.asarray(found / (np.cumsum(levels[segments - 1 :].sum(axis=1)) + found))


def overflow_of(slots: Sequence[Slot], arrivals: Array, segments: int, buffers: Sequence[int]) -> Array:
    """Probabilities that a packet finds no room on several good-or-bad links at once, shape (links, loads).

    `arrivals` has a row for each link, `buffers` a number of frames.
    """
    rates = _GoodBad.of(slots)
    highest = np.asarray(buffers) - segments
    found = np.empty_like(arrivals)
    for block in _blocks(rates, arrivals, segments, int(highest.max())):
        ratio = block.settled(segments)
        inside = (highest >= block.first) & (highest <= block.last)
        ready = inside if ratio is None else highest >= block.first
        for level in np.unique(highest[ready]):
            links = np.flatnonzero(ready & (highest == level))
            window, total = block.at(int(level), segments, ratio)
            lost = _lost(rates.of_links(links), arrivals[links], window[:, :, links], level[None])
            found[links] = lost / (total[links] + lost)
        if ratio is not None:
            break
    return found


def distribution(slot: Slot, arrivals: float, segments: int, buffer: int) -> Array:
    """Probabilities of the number of frames and the channel's state at a slot's beginning, shape (buffer + 1, n)."""
    check(segments, buffer)
    load = _arrivals(arrivals)
    if slot.good_bad is None:
        return np.asarray(_general(slot, load.reshape(1), segments, buffer)[0])
    rates, grid = _GoodBad.of([slot]), load.reshape(1, 1)
    levels = _levels(rates, grid, segments, buffer - segments)
    top = _top(rates, grid, levels[-segments:], np.array([buffer - segments]))
    whole = np.concatenate([levels[segments - 1 :], top])[:, :, 0, 0]
    whole /= whole.sum()
    return np.asarray(whole if slot.received.shape == (2, 2) else whole[:, 1:])


@dataclass(frozen=True)
class _GoodBad:
    """Channels of two states, a value for each link, shape (links, 1)."""

    p00: Array
    p01: Array
    p10: Array
    received: Array

    @classmethod
    def of(cls, slots: Sequence[Slot]) -> "_GoodBad":
        two = [slot.good_bad for slot in slots]
        if any(one is None for one in two):
            raise ValueError("these channels have more states than good and bad")
        return cls(*np.array(two, dtype=float).T[:, :, None])

    def of_links(self, links: NDArray[np.intp]) -> "_GoodBad":
        return _GoodBad(self.p00[links], self.p01[links], self.p10[links], self.received[links])


@dataclass(frozen=True)
class _Block:
    """Levels `first`..`last` with the n levels before them, unnormalised."""

    first: int
    last: int
    levels: Array
    """From `first` - n on, shape (levels, 2, links, loads); those below 0 are empty."""
    below: Array
    """All levels below `first`, summed, shape (links, loads)."""

    def settled(self, segments: int) -> Array | None:
        """The ratio of a level to the one before, where it no longer changes, else nothing; shape (links, loads).

        Far up, only the dominant root matters.  The ratio is taken over many levels, so that its powers stay exact.
        """
        half = (self.last - self.first) // 2
        if half < _BLOCK // 2 - 1:
            return None
        early, middle, late = self.levels[[segments, segments + half, segments + 2 * half]].sum(axis=1)
        is_left = late > _SMALL
        with np.errstate(all="ignore"):
            before, after = np.log(middle / early), np.log(late / middle)
            is_steady = (np.abs(after - before) < _SETTLED) & (after < 0)
        return np.where(is_left, np.exp(after / half), 0.0) if (is_steady | ~is_left).all() else None

    def at(self, level: int, segments: int, ratio: Array | None) -> tuple[Array, Array]:
        """The n levels up to this one, and all levels up to it, summed; beyond the last one as `ratio` says."""
        row = min(level, self.last) - self.first + segments
        window, total = self.levels[row - segments + 1 : row + 1], self.levels[segments : row + 1].sum(axis=(0, 1))
        if level <= self.last or ratio is None:
            return window, self.below + total
        steps = level - self.last
        geometric = ratio * (1 - ratio**steps) / (1 - ratio)
        return window * ratio**steps, self.below + total + window[-1].sum(axis=0) * geometric


def _levels(rates: _GoodBad, arrivals: Array, segments: int, highest: int) -> Array:
    """The levels 0..`highest` with n - 1 empty ones before them, unnormalised, shape (levels, 2, links, loads)."""
    (block,) = _blocks(rates, arrivals, segments, highest, size=highest + 1)
    return block.levels[1:]


def _blocks(rates: _GoodBad, arrivals: Array, segments: int, highest: int, size: int = _BLOCK) -> Iterator[_Block]:
    """The levels 0..`highest`, `size` at a time, each block scaled as its last level requires."""
    stay = arrivals * rates.p00 + rates.p01
    from_good = (1 - arrivals) * rates.p10 / stay
    from_below = arrivals * rates.p00 / stay, arrivals * rates.p10 / stay
    cut = arrivals / ((1 - arrivals) * rates.received)
    carried = np.zeros((segments, 2, *arrivals.shape))
    below = np.zeros(arrivals.shape)
    for first in range(0, highest + 1, size):
        last = min(first + size - 1, highest)
        levels = np.concatenate([carried, np.zeros((last - first + 1, 2, *arrivals.shape))])
        totals = levels.sum(axis=1)
        for m in range(first, last + 1):
            row = m - first + segments
            level = levels[row]
            if m == 0:
                level[0], level[1] = from_good, 1.0
            else:
                bad, good = levels[row - segments]  # level m - n
                unserved = good if m <= segments else good * (1 - rates.received)
                level[1] = cut * (totals[row - segments + 1 : row].sum(axis=0) + bad + unserved)
                level[0] = from_good * level[1] + from_below[0] * bad + from_below[1] * good
            totals[row] = level[0] + level[1]
            if totals[row].max() > _LARGE:
                scale = np.where(totals[row] > _LARGE, totals[row], 1.0)
                for kept in (levels[: row + 1], totals[: row + 1], below):
                    kept /= scale
        yield _Block(first, last, levels, below)
        carried, below = levels[-segments:], below + totals[segments:].sum(axis=0)


def _top(rates: _GoodBad, arrivals: Array, window: Array, level: NDArray[np.intp]) -> Array:
    """The levels B - n + 1..B above the window of B - n, shape (n, 2, …); loads or levels vary along the last axis."""
    segments = window.shape[0]
    totals = window.sum(axis=1)
    above = np.zeros_like(totals)  # the levels of the window above each of its levels
    above[:-1] = np.cumsum(totals[:0:-1], axis=0)[::-1]
    serves = (level - segments + 1 + np.arange(segments)[:, None] >= 1)[:, None, :]
    unserved = window[:, 1] * np.where(serves, 1 - rates.received, 1.0)
    good = arrivals / rates.received * (above + window[:, 0] + unserved)
    bad = (rates.p10 * good + arrivals * (rates.p00 * window[:, 0] + rates.p10 * window[:, 1])) / rates.p01
    return np.stack([bad, good], axis=1)


def _lost(rates: _GoodBad, arrivals: Array, window: Array, level: NDArray[np.intp]) -> Array:
    """The levels that have no room for a packet, summed."""
    return np.asarray(_top(rates, arrivals, window, level).sum(axis=(0, 1)))


def _general(slot: Slot, arrivals: Array, segments: int, buffer: int) -> Array:
    """The distribution for any channel, shape (loads, buffer + 1, n)."""
    a = arrivals[:, None, None]
    received, lost = (np.broadcast_to(one, (arrivals.size, *one.shape)) for one in (slot.received, slot.lost))
    first = {0: (1 - a) * (received + lost), segments: a * (received + lost)}
    inner = {-1: (1 - a) * received, 0: (1 - a) * lost, segments: a * lost}
    inner[segments - 1] = inner.get(segments - 1, 0) + a * received
    full = {-1: received, 0: lost}
    return skip_free.stationary([first] + [inner] * (buffer - segments) + [full] * segments)


def _arrivals(arrivals: ArrayLike) -> Array:
    given = np.asarray(arrivals, dtype=float)
    if not ((given > 0) & (given < 1)).all():
        raise ValueError(f"a packet arrives in a slot with a probability between 0 and 1, not {arrivals!r}")
    return given
