"""Sets of states as ascending arrays of their keys, for chains whose states are found wave by wave."""

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def unseen(keys: Counts, known: Counts) -> Counts:
    """Which of these keys, in any order, are none of the known ones, of which there are some; ascending.

    >>> unseen(np.array([5, 3, 9, 3]), np.array([1, 5])).tolist()
    [3, 9]
    """
    # `np.unique` hashes integers, which takes longer than to sort them.
    found = np.sort(keys)
    found = found[np.append(True, found[1:] != found[:-1])]
    at = np.minimum(np.searchsorted(known, found), known.size - 1)
    return np.asarray(found[known[at] != found])


def joined(known: Counts, others: Counts) -> Counts:
    """Two ascending sets that have nothing in common as one."""
    return np.sort(np.concatenate([known, others]), kind="stable")
