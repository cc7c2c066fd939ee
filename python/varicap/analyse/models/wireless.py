"""Throughput of TCP over a wireless link that retransmits what it loses (ARQ), from its effective capacity.

The link hides the channel's losses, so TCP loses only what finds the buffer full.  It tolerates a loss probability of
about 1 / W^2, W being the product of its rate and its round trip [lakshman97].  The effective capacity is the largest
rate of packets for which the buffer (`wireless_queue`) loses no more,

    C_eff = max { P_a / T : P_overflow(P_a) <= 1 / (P_a tau / T)^2 },

and as TCP's rate moves between a half of it and the whole, the throughput is 3/4 C_eff.  T is a slot, the time of a
frame on the link, P_a the probability that a packet arrives in one, tau the round trip without queueing.

The paper's tables use a fixed loss probability instead, of the order of 1 / W^2 (`Parameters.tolerated_loss`).
Source: [wireless, §II-C, III-C]; readings: `varicap/papers/wireless/README.md`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import together
from varicap.analyse.models import wireless_queue
from varicap.analyse.models.wireless_channel import Slot

Array = NDArray[np.float64]

SHARE_OF_CAPACITY = 3 / 4
"""Throughput over effective capacity.  Source: [wireless, §II-C]."""

_POINTS = 32  # loads tried at once in each step of the search
_WIDTH = 1e-13  # of the search's last interval, relative to the highest load
_LEAST_LOAD = 1e-12  # where the search begins, relative to the highest load
_LEAST_LOSS = 1e-300  # a probability that still has a logarithm
_FEW_PACKETS = 4  # a window below this knows no fast retransmit


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A TCP connection that has an ARQ link to itself.  Raises ``ValueError`` for values outside the model.

    A frame is what the link sends in a slot; a TCP packet is made of `segments` of them.
    """

    slot: Slot
    """The channel's effect on a frame."""
    slot_s: float
    """Time of a frame on the link, T [s]."""
    buffer_frames: int
    """Room for frames, the one in service included, B."""
    round_trip_s: float
    """Round trip without queueing, tau [s]."""
    segments: int = 1
    """Number of frames in a TCP packet, n."""
    tolerated_loss: float | None = None
    """Loss probability that TCP tolerates [1]; by default 1 / W^2."""

    def __post_init__(self) -> None:
        wireless_queue.check(self.segments, self.buffer_frames)
        for name in ("slot_s", "round_trip_s"):
            if not 0 < getattr(self, name) < inf:
                raise ValueError(f"{name} is a time of more than 0 [s], not {getattr(self, name)!r}")
        if self.tolerated_loss is not None and not 0 < self.tolerated_loss < 1:
            raise ValueError(f"tolerated_loss is a probability between 0 and 1, not {self.tolerated_loss!r}")

    @property
    def highest_load(self) -> float:
        """Packets per slot that the link carries at most, P_a [1]: the channel's success probability over n."""
        return self.slot.success / self.segments

    def tolerated(self, arrivals: Array) -> Array:
        """Loss probability that TCP tolerates at this number of arrivals per slot [1]."""
        if self.tolerated_loss is not None:
            return np.full_like(arrivals, self.tolerated_loss)
        return np.minimum(1.0, 1 / (arrivals * self.round_trip_s / self.slot_s) ** 2)


@dataclass(frozen=True, kw_only=True)
class Result:
    """The model's results for a connection in the long run."""

    arrivals: float
    """Packets per slot at the effective capacity, P_a [1]."""
    effective_pps: float
    """Effective capacity, C_eff [packets/s]."""
    throughput_pps: float
    """Throughput of TCP, 3/4 of the effective capacity [packets/s]."""
    utilisation: float
    """Share of the slots that the throughput fills [1]."""
    output: float
    """Share of the slots in which a frame is received [1]: no throughput exceeds it."""
    loss_probability: float
    """Overflow probability at the effective capacity [1]."""
    validity: tuple[str, ...]
    """Assumptions of the model that these parameters strain; empty if none."""


def estimate(parameters: Parameters) -> Result:
    """Throughput of TCP over an ARQ link.

    Assumptions: arrivals are Bernoulli, the link sends one frame at a time until it is received and knows the outcome
    at once, acknowledgements are neither lost nor queued, timeouts are rare.

    ==========  =================  =====================
    symbol      field              unit
    ==========  =================  =====================
    T           `slot_s`           s
    n           `segments`         frames
    B           `buffer_frames`    frames
    tau         `round_trip_s`     s
    ==========  =================  =====================

    Validity: buffers smaller than the product of rate and round trip; with larger ones TCP fills the link and three
    quarters are too few.

    Examples
    --------
    >>> from varicap.analyse.models.wireless_channel import Channel
    >>> slot = Channel.good_bad(good_s=0.1, bad_s=0.01).slot(4.608e-3)
    >>> link = Parameters(slot=slot, slot_s=4.608e-3, buffer_frames=16, round_trip_s=0.4, tolerated_loss=1e-4)
    >>> round(100 * estimate(link).utilisation, 1)
    43.8
    """
    return estimate_all([parameters])[0]


def estimate_all(parameters: Sequence[Parameters]) -> list[Result]:
    """The throughputs over several links, solved together where their channels have two states."""
    return together.all_of([solve(one) for one in parameters])


def solve(parameters: Parameters) -> together.Computation[Result]:
    """`estimate` as a computation, many of which `varicap.analyse.together.run` solves at once."""
    load = yield _loads, parameters
    if not load > 0:
        raise ValueError(
            f"no load is so small that a buffer of {parameters.buffer_frames} frames loses as little as TCP bears"
        )
    return _result(parameters, load, (yield _overflows, (parameters, load)))


def _loads(links: Sequence[Parameters]) -> list[float]:
    """The largest tolerated load of each link."""
    found: dict[int, float] = {}
    for some in _alike(links):
        those = [links[number] for number in some]
        loads = [_largest_load(those[0])] if those[0].slot.good_bad is None else _largest_loads(those)
        found |= zip(some, loads, strict=True)
    return [found[number] for number in range(len(links))]


def _overflows(loaded: Sequence[tuple[Parameters, float]]) -> list[float]:
    """The overflow probability of each link at its load."""
    found: dict[int, float] = {}
    for some in _alike([link for link, _ in loaded]):
        those, loads = zip(*(loaded[number] for number in some), strict=True)
        if those[0].slot.good_bad is None:
            found[some[0]] = _overflow(those[0], loads[0])
            continue
        slots, buffers = [one.slot for one in those], [one.buffer_frames for one in those]
        lost = wireless_queue.overflow_of(slots, np.array(loads)[:, None], those[0].segments, buffers)
        found |= zip(some, lost[:, 0].tolist(), strict=True)
    return [found[number] for number in range(len(loaded))]


def _alike(links: Sequence[Parameters]) -> list[list[int]]:
    """The numbers of links that are solved at once: of two states, with as many segments; others one by one."""
    found: dict[tuple[int, int | None], list[int]] = {}
    for number, one in enumerate(links):
        found.setdefault((one.segments, number if one.slot.good_bad is None else None), []).append(number)
    return list(found.values())


def _largest_loads(links: Sequence[Parameters]) -> list[float]:
    """The largest P_a of each link at which the overflow is tolerated; of two states, all with as many segments.

    The overflow grows with the load and the tolerated probability falls, so an interval with a change of sign is
    narrowed by trying some loads in it at once.
    """
    highest = np.array([_highest(one) for one in links])
    slots, buffers = [one.slot for one in links], [one.buffer_frames for one in links]
    low, high = np.zeros(len(links)), highest
    steps = np.arange(1, _POINTS + 1) / _POINTS
    while ((high - low) > _WIDTH * highest).any():
        tried = low[:, None] + (high - low)[:, None] * steps
        tolerated = np.array([one.tolerated(row) for one, row in zip(links, tried, strict=True)])
        lost = wireless_queue.overflow_of(slots, tried, links[0].segments, buffers)
        passed = (lost <= tolerated).sum(axis=1)
        step = (high - low) / _POINTS
        # All passed: the link itself is the limit.
        low = np.where(passed == _POINTS, high, low + passed * step)
        high = np.minimum(high, low + step)
    return [float(load) for load in low]


def _largest_load(link: Parameters) -> float:
    """The largest tolerated load of a link, for any channel."""

    def excess(load: float) -> float:
        tolerated = float(link.tolerated(np.array(load)))
        return log(max(_overflow(link, load), _LEAST_LOSS)) - log(tolerated)

    low, high = _LEAST_LOAD * _highest(link), _highest(link)
    if excess(high) <= 0:
        return high
    if excess(low) > 0:
        return 0.0
    from scipy.optimize import brentq  # slow to import

    return float(brentq(excess, low, high, xtol=_WIDTH * high, rtol=_WIDTH))


def _highest(link: Parameters) -> float:
    return min(link.highest_load, 1 - _WIDTH)


def _overflow(link: Parameters, load: float) -> float:
    return float(wireless_queue.overflow(link.slot, load, link.segments, link.buffer_frames))


def _result(parameters: Parameters, load: float, lost: float) -> Result:
    effective = load / parameters.slot_s
    return Result(
        arrivals=load,
        effective_pps=effective,
        throughput_pps=SHARE_OF_CAPACITY * effective,
        utilisation=SHARE_OF_CAPACITY * parameters.segments * load,
        output=parameters.slot.success,
        loss_probability=lost,
        validity=tuple(_strained(parameters, load)),
    )


def _strained(parameters: Parameters, load: float) -> list[str]:
    window = load * parameters.round_trip_s / parameters.slot_s
    room = parameters.buffer_frames / parameters.segments
    found = []
    if load >= parameters.highest_load * (1 - 1e-9):
        found.append("the tolerated loss allows more than the channel carries: its output rate is taken")
    if room >= window:
        found.append(
            f"the buffer of {room:g} packets holds as much as the round trip ({window:.3g}): TCP gets more than 3/4 of "
            "the effective capacity, up to the output rate"
        )
    if window + room < _FEW_PACKETS:
        found.append(f"pipe and buffer hold {window + room:.3g} packets: TCP's losses are timeouts")
    return found
