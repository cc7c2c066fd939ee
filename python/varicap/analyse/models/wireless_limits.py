"""Limits of TCP and of buffers as the bandwidth-delay product W = mu tau grows.

On a link without losses whose buffer holds f packets, congestion avoidance sends batches of 1, 2, 3, … packets.  A
batch of w takes max(w, W + 1) packet times (the first of all W), a loss comes at W + f, and with a buffer that grows
less than in proportion to W the utilisation tends to

    Tahoe, from a window of 1:            1/2        its slow start loses, too, if 2 f < (W + f) / 2, that is f < W / 3
    Reno, from half the window:           3/4

On a lossy link the buffer (`wireless_queue`) is left with a tail exp(-beta B).  Tilting the arrivals and departures of
a slot by z = exp(beta) gives

    spectral radius of (lost + received / z)  x  (1 - a + a z^n)  =  1,    z > 1,

and a loss probability of 1 / W^2 takes B ~ (2 / beta) log W.  For n = 1 and two states 1 / z is the spectral radius of
the matrix that leads from one level to the next.  Source: [wireless, §V]; beta: [chang94].
"""

from math import ceil, expm1, inf, log, log1p

import numpy as np

from varicap.analyse.models import wireless_queue
from varicap.analyse.models.wireless_channel import Slot

_LARGEST_EXPONENT = 600.0  # its exponential is still a finite number
_MOST_FRAMES = 1_000_000


def tahoe(pipe: float, buffer: float) -> float:
    """Utilisation by Tahoe whose congestion avoidance begins at a window of one packet [1].

    `pipe` is W, `buffer` is f [packets].  Source: [wireless, §V-A].

    >>> round(tahoe(1e6, 1e3), 3)
    0.5
    """
    _check(pipe, buffer)
    most = pipe + buffer
    return most * (most + 1) / 2 / (pipe + (pipe - 1) * (pipe + 1) + buffer * pipe + buffer * (buffer + 1) / 2)


def reno(pipe: float, buffer: float) -> float:
    """Utilisation by Reno whose congestion avoidance begins at half the largest window [1].

    Batches from half of W + f up to W + f, counted as for Tahoe; the derivation is ours, the paper gives its limit.

    >>> round(reno(1e6, 1e3), 3)
    0.751
    """
    _check(pipe, buffer)
    most, low = pipe + buffer, max(1.0, ceil((pipe + buffer) / 2))
    packets = (most * (most + 1) - low * (low - 1)) / 2
    first = max(low, pipe + 1)
    queued = (most * (most + 1) - first * (first - 1)) / 2
    return packets / ((first - low) * (pipe + 1) + queued)


def loses_in_slow_start(pipe: float, buffer: float) -> bool:
    """Whether Tahoe's slow start after a loss loses again: a double slow start.

    In slow start each acknowledgement releases two packets, so half the window queues: it overflows at 2 f, before
    ssthresh = (W + f) / 2 is reached, if f < W / 3.  Source: [wireless, §V-A], from [lakshman97].
    """
    _check(pipe, buffer)
    return 2 * buffer < (pipe + buffer) / 2


def decay(slot: Slot, arrivals: float, segments: int) -> float:
    """The exponent beta with which the overflow falls in the buffer [1/frame].

    >>> from varicap.analyse.models.wireless_channel import Channel
    >>> round(decay(Channel.good_bad(good_s=0.1, bad_s=0.01).slot(4.608e-3), 0.5, 1), 4)
    0.5859
    """
    wireless_queue.check(segments, segments)
    if not 0 < arrivals * segments < slot.success:
        raise ValueError(
            f"{arrivals * segments:.4g} frames arrive in a slot, the channel lets {slot.success:.4g} through: only "
            "less than that, and more than nothing, leaves a tail"
        )

    def tilted(exponent: float) -> float:
        departures = slot.lost + slot.received * np.exp(-exponent)
        radius = float(np.abs(np.linalg.eigvals(departures)).max())
        return log(radius) + log1p(arrivals * expm1(segments * exponent)) if radius > 0 else -inf

    high = 1e-3
    while tilted(high) <= 0:
        high *= 2
        if segments * high > _LARGEST_EXPONENT:
            return inf
    low = high / 2
    while low > 1e-12 and tilted(low) >= 0:
        low /= 2
    from scipy.optimize import brentq  # slow to import

    return float(brentq(tilted, low, high, xtol=1e-15, rtol=1e-13))


def least_buffer(slot: Slot, arrivals: float, segments: int, tolerated: float) -> int:
    """The smallest buffer whose overflow probability is at most `tolerated` [frames].

    >>> from varicap.analyse.models.wireless_channel import Channel
    >>> least_buffer(Channel.good_bad(good_s=0.1, bad_s=0.01).slot(4.608e-3), 0.5, 1, 1e-4)
    14
    """
    if not 0 < tolerated < 1:
        raise ValueError(f"a tolerated loss is a probability between 0 and 1, not {tolerated!r}")
    tail = log(1 / tolerated) / decay(slot, arrivals, segments)
    if tail > _MOST_FRAMES:
        raise ValueError(
            f"about {tail:.2g} frames of buffer are needed, more than {_MOST_FRAMES}: the load is too close to what "
            "the channel lets through"
        )
    high = segments + ceil(1.1 * tail) + 8
    while float(wireless_queue.overflow(slot, arrivals, segments, high)) > tolerated:
        high *= 2
    if slot.good_bad is not None:
        lost = wireless_queue.overflow_by_buffer(slot, arrivals, segments, high)
        return segments + int((lost > tolerated).sum())
    low = segments - 1  # `low` is too small, and `high` is enough
    while high - low > 1:
        middle = (low + high) // 2
        if float(wireless_queue.overflow(slot, arrivals, segments, middle)) > tolerated:
            low = middle
        else:
            high = middle
    return high


def _check(pipe: float, buffer: float) -> None:
    if not (1 <= pipe < inf and 0 <= buffer < inf):
        raise ValueError(f"a pipe has 1 packet or more and a buffer 0 or more, not {pipe!r} and {buffer!r}")
