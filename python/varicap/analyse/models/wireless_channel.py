"""Channels that lose packets: a continuous-time Markov chain, and its effect on a packet of one slot.

The worst state that a packet meets decides its fate: sent in a slot of T during which the channel visits states with
success probabilities s_i, it is received with the least of them.  With R the rates between states and R_c those among
the states with s_i >= c, the channel's state changes in a slot, together with the fate of the packet, as

    P = exp(R T),    received = sum over the values c of s  (c - next lower c) exp(R_c T),    lost = P - received

For two states, bad (0) and good (l = 1 / mean good, m = 1 / mean bad), this is the paper's: a packet is received with
P_d if the channel is good throughout the slot, so received = P_d exp(-l T) from good to good, and nothing else.

Source: [wireless, §III-A and B]; more than two states: [wireless, §V].
"""

from dataclasses import dataclass, field
from itertools import pairwise
from math import expm1, inf
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varicap.analyse import markov
from varicap.analyse.fading import Partition, Rayleigh

Array = NDArray[np.float64]

_ROW_SUM_ERROR = 1e-9  # relative to the rate of leaving the state
_STATES_MISSING = "a channel has rates from state to state, a square matrix, and a success probability for each state"


@dataclass(frozen=True, eq=False)
class Slot:
    """What happens in a slot, by state at its beginning (row) and at its end (column), shape (n, n)."""

    received: Array
    """Probabilities that a packet is received, with the state at the end."""
    lost: Array
    """Probabilities that a packet is lost, with the state at the end."""
    success: float = field(init=False)
    """Probability that a packet is received, over all slots: the output rate of an ARQ link [packets/slot]."""

    def __post_init__(self) -> None:
        share = markov.stationary(self.received + self.lost)
        object.__setattr__(self, "success", float((share @ self.received).sum()))
        if not self.success > 0:
            raise ValueError("no packet is ever received in such a slot")

    @property
    def good_bad(self) -> tuple[float, float, float, float] | None:
        """``(p00, p01, p10, d)`` if packets are received in good slots only, and these end well; else ``None``.

        p_ij is the probability to go from bad (0) or good (1) to i … j in a slot, d that a packet is received.
        """
        if self.received.shape == (1, 1):
            return 0.0, 1.0, 0.0, float(self.received[0, 0])
        if self.received.shape != (2, 2) or self.received[0].any() or self.received[1, 0]:
            return None
        stay = float(self.lost[0, 0])
        return stay, float(self.lost[0, 1]), float(self.lost[1, 0]), float(self.received[1, 1])


@dataclass(frozen=True, eq=False)
class Channel:
    """A continuous-time Markov channel.  Raises ``ValueError`` if the values are invalid."""

    rates: Array
    """Rates from state to state [1/s], rows sum to zero, shape (n, n)."""
    success: Array
    """Probability that a packet sent entirely in a state is received, P_d [1], shape (n,)."""

    def __post_init__(self) -> None:
        rates = np.atleast_2d(np.asarray(self.rates, dtype=float))
        success = np.atleast_1d(np.asarray(self.success, dtype=float))
        if rates.ndim != 2 or rates.shape != success.shape * 2:
            raise ValueError(f"{_STATES_MISSING}: not shapes {rates.shape} and {success.shape}")
        if not np.isfinite(rates).all() or (rates - np.diag(np.diag(rates)) < 0).any():
            raise ValueError("a rate from state to state is a finite number, 0 or more")
        leaving = -np.diag(rates)
        worst = int(np.abs(rates.sum(axis=1)).argmax())
        if abs(rates[worst].sum()) > _ROW_SUM_ERROR * max(1.0, leaving.max()):
            raise ValueError(
                f"row {worst} of the rates sums to {rates[worst].sum():.6g}, not 0: a state's own rate is minus the "
                "sum of the others"
            )
        if not ((success >= 0) & (success <= 1)).all():
            raise ValueError(f"a success probability is between 0 and 1, not {success.tolist()}")
        if not success.any():
            raise ValueError("no state receives anything: nothing gets through such a channel")
        markov.recurrent_class(markov.validate(np.eye(success.size) + rates / max(1.0, leaving.max())))
        object.__setattr__(self, "rates", rates)
        object.__setattr__(self, "success", success)

    @classmethod
    def good_bad(cls, *, good_s: float, bad_s: float, error: float = 0.01) -> Self:
        """Two states with these mean durations [s], and a packet error probability in the good one.

        The error's default is that of [wireless, §IV].

        >>> slot = Channel.good_bad(good_s=0.1, bad_s=0.01).slot(4.608e-3)
        >>> round(slot.success, 4)
        0.8595
        """
        for name, value in (("good", good_s), ("bad", bad_s)):
            if not 0 < value < inf:
                raise ValueError(f"the mean duration of the {name} state is more than 0 [s], not {value!r}")
        good, bad = 1 / good_s, 1 / bad_s
        return cls(np.array([[-bad, bad], [good, -good]]), np.array([0.0, _received(error)]))

    @classmethod
    def rayleigh(cls, signal: Rayleigh, *, error: float = 0.01, states: int = 2) -> Self:
        """A Rayleigh-faded signal: bad below its level; above it `states` - 1 states with the same share of time."""
        partition = Partition.above(signal, states)
        return cls(partition.rates, np.array([0.0] + [_received(error)] * (states - 1)))

    @classmethod
    def independent(cls, error: float) -> Self:
        """One state: packets are lost independently."""
        return cls(np.zeros((1, 1)), np.array([_received(error)]))

    def slot(self, duration_s: float) -> Slot:
        """What happens in slots of this length [s]."""
        if not 0 < duration_s < inf:
            raise ValueError(f"a slot lasts more than 0 s, not {duration_s!r}")
        change = _probabilities(self.rates * duration_s)
        received = np.zeros_like(change)
        values = np.unique(np.append(self.success, 0.0))
        for lower, value in pairwise(values):
            among = self.success >= value
            inside = np.ix_(among, among)
            received[inside] += (value - lower) * _probabilities(self.rates[inside] * duration_s)
        return Slot(received, np.maximum(change - received, 0.0))

    def with_error(self, factor: float) -> Self:
        """The same channel for a packet `factor` times as long, its bits lost independently within each state.

        >>> Channel.independent(0.19).with_error(0.5).success.round(12).tolist()
        [0.9]
        """
        return type(self)(self.rates, np.where(self.success > 0, self.success**factor, 0.0))


def slotted(transition: ArrayLike, success: ArrayLike) -> Slot:
    """The slot of a channel that changes at the ends of slots only, with a success probability for each state."""
    change = markov.validate(np.asarray(transition, dtype=float))
    share = np.atleast_1d(np.asarray(success, dtype=float))
    if share.shape != change.shape[:1] or not ((share >= 0) & (share <= 1)).all():
        raise ValueError(f"a success probability between 0 and 1 is needed for each state, not {share.tolist()}")
    return Slot(share[:, None] * change, (1 - share)[:, None] * change)


def _received(error: float) -> float:
    if not 0 <= error < 1:
        raise ValueError(f"a packet error probability is 0 or more and less than 1, not {error!r}")
    return 1 - error


def _probabilities(rates: Array) -> Array:
    """The exponential of rates times time; for two states in closed form, which keeps small probabilities exact."""
    if rates.shape == (2, 2) and not rates.sum(axis=1).any() and -rates.trace() > 0:
        total = -float(rates.trace())
        moved = rates * (-expm1(-total) / total)
        return np.asarray(np.eye(2) + moved)
    if rates.size == 1:
        return np.asarray(np.exp(rates))
    from scipy.linalg import expm  # slow to import

    return np.asarray(np.maximum(expm(rates), 0.0))
