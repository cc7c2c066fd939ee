"""Where two means lie at once: the confidence region of a pair of measures over replications."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from varicap.statistics.interval import Array

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Region:
    """An ellipse that holds the mean of pairs with 95 % confidence."""

    centre: Array
    axes: Array
    """Its half axes, as columns."""

    @classmethod
    def of(cls, pairs: Array) -> Self | None:
        """The region of independent pairs, of shape (replications, 2); none for fewer than three.

        This is the region of Hotelling's T², of which Student's interval is the form for one measure.

        >>> Region.of(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
        True
        """
        count = len(pairs)
        if count < 3:
            return None
        from scipy.special import fdtri  # slow to import

        covariance = np.cov(pairs, rowvar=False) / count
        reach = 2 * (count - 1) / (count - 2) * fdtri(2, count - 2, _CONFIDENCE)
        spread, directions = np.linalg.eigh(covariance)
        return cls(pairs.mean(axis=0), directions * np.sqrt(np.maximum(spread, 0.0) * reach))

    def outline(self, points: int = 73) -> Array:
        """Points on the edge, of shape (points, 2)."""
        angle = np.linspace(0.0, 2 * np.pi, points)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        return np.asarray(self.centre + (self.axes @ circle).T)
