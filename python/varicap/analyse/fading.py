"""How a Rayleigh-faded signal crosses a level, and Markov channels with the same crossings.

The signal arrives over many paths from all sides; its amplitude over its root mean square is R, with P(R < r) =
1 - exp(-r^2), and it changes with the Doppler frequency f_d.  It falls below the level rho at the rate

    N(rho) = sqrt(2 pi) f_d rho exp(-rho^2)

and as it is below for a share 1 - exp(-rho^2) of the time, the mean durations below and above are

    fade = (exp(rho^2) - 1) / (sqrt(2 pi) f_d rho),    good = 1 / (sqrt(2 pi) f_d rho)

In decibels of power the level is 20 log10(rho).  A Markov channel in continuous time whose states are the intervals
between levels rho_1 < rho_2 < … has the same share of time in each state and the same rate of crossings of each level
if it leaves state k upwards at N(rho_{k+1}) / share_k and downwards at N(rho_k) / share_k.

Source: the crossings [jakes93, §1.3, eqs. (1.3-34) to (1.3-41)]; the partition [wang95].
"""

from dataclasses import dataclass
from math import exp, expm1, inf, isfinite, log, log10, pi, sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_DEEPEST_DB = -200.0  # of a level: below it there are no fades, and 1 / rho stays a finite number
_HIGHEST_DB = 20.0  # above this level, the signal is practically never there


@dataclass(frozen=True, kw_only=True)
class Rayleigh:
    """A Rayleigh-faded signal and a level.  Raises ``ValueError`` for invalid values."""

    doppler_hz: float
    """Doppler frequency, f_d [Hz]: the receiver's speed over the wavelength."""
    level_db: float = -10.0
    """Level of the power over its mean [dB].  Default: that of [wireless, §IV]."""

    def __post_init__(self) -> None:
        if not 0 < self.doppler_hz < inf:
            raise ValueError(
                f"a Doppler frequency is more than 0 [Hz], not {self.doppler_hz!r}: a channel that stands still has no "
                "durations"
            )
        if not _DEEPEST_DB <= self.level_db <= _HIGHEST_DB:
            raise ValueError(
                f"a level is between {_DEEPEST_DB:g} and {_HIGHEST_DB:g} dB of the mean power, not {self.level_db!r}"
            )

    @property
    def amplitude(self) -> float:
        """Level of the amplitude over its root mean square, rho [1]."""
        return 10 ** (self.level_db / 20)

    @property
    def crossing_rate(self) -> float:
        """Fades that begin per second, N [1/s].

        >>> round(Rayleigh(doppler_hz=10).crossing_rate, 2)
        7.17
        """
        return sqrt(2 * pi) * self.doppler_hz * self.amplitude * exp(-(self.amplitude**2))

    @property
    def mean_fade_s(self) -> float:
        """Mean duration below the level [s].

        >>> round(Rayleigh(doppler_hz=10).mean_fade_s * 1e3, 2)
        13.27
        """
        return expm1(self.amplitude**2) / (sqrt(2 * pi) * self.doppler_hz * self.amplitude)

    @property
    def mean_good_s(self) -> float:
        """Mean duration above the level [s]."""
        return 1 / (sqrt(2 * pi) * self.doppler_hz * self.amplitude)


@dataclass(frozen=True, eq=False)
class Partition:
    """A faded signal as a continuous-time Markov chain whose states are intervals of the amplitude, weakest first."""

    levels_db: Array
    """Levels between the states [dB], ascending, shape (n - 1,)."""
    share: Array
    """Share of time in each state [1], shape (n,)."""
    rates: Array
    """Rates from state to state [1/s], rows sum to zero, shape (n, n)."""

    @classmethod
    def at(cls, doppler_hz: float, levels_db: ArrayLike) -> Self:
        """The chain whose states lie between these levels.

        >>> two = Partition.at(10.0, [-10.0])
        >>> np.round(1e3 / -np.diag(two.rates), 2).tolist()  # mean durations [ms]
        [13.27, 126.16]
        """
        levels = np.atleast_1d(np.asarray(levels_db, dtype=float))
        if levels.ndim != 1 or levels.size == 0 or not (np.diff(levels) > 0).all():
            raise ValueError("levels are a list of decibels, ascending, at least one")
        signals = [Rayleigh(doppler_hz=doppler_hz, level_db=float(level)) for level in levels]
        below = np.array([-expm1(-(signal.amplitude**2)) for signal in signals])
        above = np.array([exp(-(signal.amplitude**2)) for signal in signals])
        # Each share is computed by the difference that does not cancel.
        by_below, by_above = np.diff(below, prepend=0.0, append=1.0), -np.diff(above, prepend=1.0, append=0.0)
        share = np.where(np.append(below, 1.0) < 0.5, by_below, by_above)
        crossings = np.array([signal.crossing_rate for signal in signals])
        rates = np.diag(crossings / share[:-1], 1) + np.diag(crossings / share[1:], -1)
        np.fill_diagonal(rates, -rates.sum(axis=1))
        return cls(levels, share, rates)

    @classmethod
    def above(cls, signal: Rayleigh, states: int) -> Self:
        """One state below the signal's level and `states` - 1 above it, each of these with the same share of time.

        >>> Partition.above(Rayleigh(doppler_hz=10), 4).share.round(3).tolist()
        [0.095, 0.302, 0.302, 0.302]
        """
        if isinstance(states, bool) or int(states) != states or states < 2:
            raise ValueError(f"a partition has 2 states or more, not {states!r}")
        first = signal.amplitude**2
        # P(R > r) = exp(-r^2) falls in equal steps above the level.
        powers = [first - log(1 - step / (states - 1)) for step in range(states - 1)]
        return cls.at(signal.doppler_hz, [10 * log10(power) for power in powers])


def doppler_of(speed_mps: float, carrier_hz: float) -> float:
    """Doppler frequency of a receiver that moves at this speed [m/s] with this carrier frequency [Hz].

    >>> round(doppler_of(50 / 3.6, 900e6), 1)
    41.7
    """
    if not (0 < speed_mps < inf and isfinite(carrier_hz) and carrier_hz > 0):
        raise ValueError(f"speed and carrier are positive numbers, not {speed_mps!r} m/s and {carrier_hz!r} Hz")
    return speed_mps * carrier_hz / 299_792_458.0
