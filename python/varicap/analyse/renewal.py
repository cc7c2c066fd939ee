"""Markov renewal reward processes.

A Markov chain ``X_k`` marks renewal epochs ``T_k``; from state x a cycle lasts ``U(x)`` on average and earns
``V(x)``.  Over a long time the reward per second tends to

    E_pi V / E_pi U

with ``pi`` the stationary distribution of the chain, whatever the distributions of cycles and rewards.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from varicap.analyse.markov import stationary

if TYPE_CHECKING:
    import scipy.sparse as sp

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class MarkovRenewal:
    """An embedded Markov chain and the mean time that it spends in each state."""

    transition: "Array | sp.sparray"
    """Probabilities of the next state, shape (n, n), dense or sparse; one recurrent class."""
    mean_holding_s: Array
    """Mean holding time by state [s], shape (n,)."""

    def __post_init__(self) -> None:
        if self.mean_holding_s.shape != self.transition.shape[:1]:
            raise ValueError(f"{self.transition.shape[0]} states and {self.mean_holding_s.shape} holding times")
        if not (self.mean_holding_s >= 0).all() or not self.mean_holding_s.any():
            raise ValueError("mean holding times are not negative, and not all zero")


def reward_rate(chain: MarkovRenewal, reward: Array) -> float:
    """Long-run reward per second [reward/s]: ``pi @ reward / pi @ mean_holding_s``.

    Assumptions: finite means, one recurrent class.

    Parameters
    ----------
    chain
        The embedded chain and its mean holding times.
    reward
        Mean reward of a cycle by the state in which it begins, shape (n,).

    Source: [ratcp, §III, eq. (1)].

    Examples
    --------
    >>> on_off = MarkovRenewal(transition=np.array([[0.0, 1.0], [1.0, 0.0]]), mean_holding_s=np.array([3.0, 1.0]))
    >>> reward_rate(on_off, np.array([30.0, 0.0]))
    7.5
    """
    probabilities = stationary(chain.transition)
    return float(probabilities @ reward / (probabilities @ chain.mean_holding_s))
