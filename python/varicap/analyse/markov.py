"""Stationary distributions of finite Markov chains in discrete time.

A chain with transition matrix ``P`` has the stationary distribution ``pi`` with ``pi P = pi`` and ``sum(pi) = 1``.
It is unique when the chain has one recurrent class; states outside the class have probability zero.  Small chains are
solved by GTH elimination, which never subtracts and so keeps relative accuracy, large ones by inverse iteration with a
sparse factorisation, very large ones by Arnoldi's method, which has no factors that fill up.  Every solution of a large
chain is checked against ``pi P = pi``.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varicap.analyse import together

if TYPE_CHECKING:
    # Slow to import: only a chain that is too large to be dense needs it.
    import scipy.sparse as sp

Array = NDArray[np.float64]
Matrix: TypeAlias = "Array | sp.csr_array"

_DENSE_STATES = 800  # up to this size GTH elimination takes less time than importing SciPy
_SPARSE_STATES = 200  # below this size it is faster than setting up a sparse factorisation
_FEW = 4  # states that are eliminated one by one before others are changed by one product
_BLOCK = 32  # states whose probabilities follow from all before them by one product
_ENTRIES = 2**20  # of dense matrices that are solved together: more would not stay in a cache
_FACTORISED_STATES = 15_000  # up to this size the factors of a model's chain are soon found; beyond they take gigabytes
_BASIS, _RESTARTS = 20, 200  # vectors of Arnoldi's method, and how often it begins anew: forty times are usual
_ERROR = 1e-9  # in all, between what it finds from two beginnings
_ITERATIONS = 50  # two or three are usual
_CHANGE = 1e-12  # total variation between iterations below which they have converged

ROW_SUM_ERROR = 1e-9
"""Rounding of a row that was summed from many branches."""
SHIFT = 1e-11
"""Large compared with rounding, small compared with the gap of any chain that mixes within a run."""
RESIDUAL = 1e-12
"""Of a solution, the most of ``sum |pi P - pi|``."""


class NotConverged(ValueError):  # noqa: N818 -- it names what happened
    """No stationary distribution was found that satisfies its equation."""


def matrix(states: int, source: NDArray[np.intp], target: NDArray[np.intp], chance: Array) -> Matrix:
    """The transition matrix of a chain with these branches, which may repeat; sparse if it is large."""
    if states <= _DENSE_STATES:
        found = np.bincount(source * states + target, chance, minlength=states**2)
        return np.asarray(found.reshape(states, states), dtype=float)
    import scipy.sparse as sp

    return sp.csr_array((chance, (source, target)), shape=(states, states))


def validate(transition: "ArrayLike | sp.sparray") -> Matrix:
    """The transition matrix, sparse if it was given so, after checking that it is a valid one.

    Parameters
    ----------
    transition
        Dense or sparse, shape (n, n): row i holds the probabilities of the states that follow state i.

    Raises
    ------
    ValueError
        The matrix is empty, not square, has a negative or undefined entry, or a row whose sum is not one.
    """
    matrix = _csr(transition) if _is_sparse(transition) else np.atleast_2d(np.asarray(transition, dtype=float))
    rows, columns = matrix.shape
    if rows != columns or rows == 0:
        raise ValueError(f"a transition matrix is square and not empty, not {rows} x {columns}")
    entries = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not np.isfinite(entries).all() or (entries < 0).any():
        raise ValueError("a transition probability is negative or not a number")
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > ROW_SUM_ERROR:
        raise ValueError(f"row {worst} of the transition matrix sums to {sums[worst]:.9g}, not 1")
    return matrix


def stationary(transition: "ArrayLike | sp.sparray") -> Array:
    """The stationary distribution of a finite chain, shape (n,).

    Assumptions: one recurrent class.  Periodic chains are allowed: the solution is then the long-run share of time.

    Raises
    ------
    ValueError
        The matrix is not a transition matrix, or the chain has several recurrent classes.
    NotConverged
        The solution of a large chain does not satisfy ``pi P = pi``.

    Examples
    --------
    >>> stationary([[0.9, 0.1], [0.3, 0.7]]).round(12).tolist()
    [0.75, 0.25]
    """
    (found,) = stationary_all([transition])
    if isinstance(found, ValueError):
        raise found
    return found


def stationary_all(transitions: "Sequence[ArrayLike | sp.sparray]") -> list[Array | ValueError]:
    """The stationary distributions of several chains, or the error of `stationary`, where there is none.

    Dense chains of one size are solved together, which for small ones takes hardly longer than to solve one.
    """
    found: dict[int, Array | ValueError] = {}
    dense: dict[int, list[tuple[int, Array, NDArray[np.intp]]]] = {}
    for number, transition in enumerate(transitions):
        try:
            matrix = validate(transition)
            members = recurrent_class(matrix)
            inner = matrix[members][:, members]
            if isinstance(inner, np.ndarray) and members.size <= _DENSE_STATES:
                dense.setdefault(members.size, []).append((number, inner, members))
            elif not isinstance(inner, np.ndarray) and members.size <= _SPARSE_STATES:
                dense.setdefault(members.size, []).append((number, inner.toarray(), members))
            else:
                found[number] = _spread(_large(_csr(inner)), members, matrix.shape[0])
        except ValueError as error:
            found[number] = error
    for states, alike in dense.items():
        at_once = max(1, _ENTRIES // states**2)
        for some in (alike[first : first + at_once] for first in range(0, len(alike), at_once)):
            shares = together.each(lambda chains: list(gth(np.stack(chains))), [inner for _, inner, _ in some])
            for (number, _, members), share in zip(some, shares, strict=True):
                states_of_all = np.shape(transitions[number])[0]
                found[number] = share if isinstance(share, ValueError) else _spread(share, members, states_of_all)
    return [found[number] for number in range(len(transitions))]


def _spread(probabilities: Array, members: NDArray[np.intp], states: int) -> Array:
    """The distribution over all states, of which those outside the recurrent class have none."""
    found = np.zeros(states)
    found[members] = probabilities
    return found


def residual(transition: Matrix, probabilities: Array) -> float:
    """How far a distribution is from being stationary: ``sum |pi P - pi|``."""
    return float(np.abs(probabilities @ transition - probabilities).sum())


def recurrent_class(transition: Matrix) -> NDArray[np.intp]:
    """The states of the chain's recurrent class, ascending.

    Raises
    ------
    ValueError
        There are several recurrent classes: the long run then depends on the first state.
    """
    if isinstance(transition, np.ndarray):
        return recurrent_class_of(transition > 0)
    return _only(_sparse_classes(transition))


def recurrent_class_of(leads: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The same of a chain that may go from a state to another where `leads` is true, shape (n, n)."""
    return _only(_classes_of(leads.shape[0], np.packbits(leads).tobytes()))


def _only(classes: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    if len(classes) != 1:
        raise ValueError(f"the chain has {len(classes)} recurrent classes: no single stationary distribution")
    return classes[0].copy()


def gth(transition: ArrayLike) -> Array:
    """The stationary distribution of an irreducible dense chain by GTH elimination, or of each of several.

    States are censored one by one from the last: with ``s = sum_{j<k} p_kj``, ``p_ij += p_ik p_kj / s``.  The
    diagonal is never used and nothing is subtracted, so small probabilities keep their relative accuracy.

    Parameters
    ----------
    transition
        Shape (…, n, n), irreducible; the distributions have the shape (…, n).  Time n^3 / 3: meant for some hundred
        states.

    Source: [grassmann85].
    """
    given = np.asarray(transition, dtype=float)
    states = given.shape[-1]
    p = np.array(given.reshape(-1, states, states))
    _censor(p, 1, states)
    weight = np.zeros(p.shape[:2])
    weight[:, 0] = 1
    for begin in range(1, states, _BLOCK):
        end = min(begin + _BLOCK, states)
        weight[:, begin:end] = (weight[:, None, :begin] @ p[:, :begin, begin:end])[:, 0]
        for k in range(begin + 1, end):
            weight[:, k] += (weight[:, begin:k] * p[:, begin:k, k]).sum(axis=1)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True)).reshape(given.shape[:-1])


def _censor(p: Array, begin: int, end: int) -> None:
    """Censors the states `begin` to `end` - 1 of each chain, the last first.

    Those before `begin` have their new ways through these states in the columns and rows of these alone: a block
    censors its second half, adds the ways through it to its first half by one product, and censors that.
    """
    if end - begin > _FEW:
        middle = (begin + end) // 2
        _censor(p, middle, end)
        through = slice(middle, end)
        p[:, :middle, begin:middle] += p[:, :middle, through] @ p[:, through, begin:middle]
        p[:, begin:middle, :begin] += p[:, begin:middle, through] @ p[:, through, :begin]
        _censor(p, begin, middle)
        return
    for k in range(end - 1, begin - 1, -1):
        leaving = p[:, k, :k].sum(axis=1, keepdims=True)
        if not leaving.min() > 0:
            raise ValueError(f"the chain is not irreducible: state {k} reaches none of those before it")
        p[:, :k, k] /= leaving
        if k > begin:
            p[:, :k, begin:k] += p[:, :k, k, None] * p[:, None, k, begin:k]
            p[:, begin:k, :begin] += p[:, begin:k, k, None] * p[:, None, k, :begin]


def birth_death(up: ArrayLike, down: ArrayLike) -> Array:
    """The stationary distribution of a birth-death chain or process, shape (n + 1,).

    Detailed balance: ``pi_{i+1} = pi_i up_i / down_{i+1}``.

    Parameters
    ----------
    up
        Probabilities (or rates) from i to i + 1 for i = 0..n-1, shape (n,).  From a zero on, higher states are empty.
    down
        Probabilities (or rates) from i + 1 to i for i = 0..n-1, shape (n,), positive.

    Examples
    --------
    >>> birth_death([1.0, 1.0], [2.0, 2.0]).tolist()  # M/M/1/2 at load 1/2
    [0.5714285714285714, 0.2857142857142857, 0.14285714285714285]
    """
    births, deaths = np.asarray(up, dtype=float), np.asarray(down, dtype=float)
    if births.shape != deaths.shape or births.ndim != 1:
        raise ValueError(f"as many ways up as down are needed, not {births.shape} and {deaths.shape}")
    if (births < 0).any() or not (deaths > 0).all():
        raise ValueError("ways up are not negative, ways down are positive")
    weight = np.concatenate([[1.0], np.cumprod(births / deaths)])
    return np.asarray(weight / weight.sum())


def _is_sparse(transition: object) -> bool:
    return hasattr(transition, "tocsr")


def _csr(transition: "ArrayLike | sp.sparray") -> "sp.csr_array":
    import scipy.sparse as sp

    return sp.csr_array(transition)


@lru_cache(maxsize=64)
def _classes_of(states: int, leads: bytes) -> list[NDArray[np.intp]]:
    """The recurrent classes of a dense chain; from point to point of a sweep they are often the same."""
    bits = np.unpackbits(np.frombuffer(leads, np.uint8), count=states**2)
    return _classes(bits.astype(bool).reshape(states, states))


def _classes(leads: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """The recurrent classes of a dense chain, by which states lead to which."""
    found = []
    left = np.ones(leads.shape[0], dtype=bool)
    while left.any():
        state = int(left.argmax())
        while True:
            ahead, behind = _reached(leads, state), _reached(leads.T, state)
            escapes = ahead & ~behind
            if not escapes.any():
                break
            state = int(escapes.argmax())  # from there nothing leads back, so that this ends
        found.append(np.flatnonzero(ahead))
        left &= ~behind
    return found


def _reached(leads: NDArray[np.bool_], state: int) -> NDArray[np.bool_]:
    """The states that a chain in this state may reach, itself included."""
    reached = np.zeros(leads.shape[0], dtype=bool)
    reached[state] = True
    frontier = reached
    while frontier.any():
        frontier = leads[frontier].any(axis=0) & ~reached
        reached = reached | frontier
    return reached


def _sparse_classes(transition: "sp.csr_array") -> list[NDArray[np.intp]]:
    from scipy.sparse.csgraph import connected_components

    positive = _csr(transition)
    positive.eliminate_zeros()
    count, label = connected_components(positive, directed=True, connection="strong")
    source, target = positive.nonzero()
    closed = np.ones(count, dtype=bool)
    closed[label[source[label[source] != label[target]]]] = False
    return [np.flatnonzero(label == one) for one in np.flatnonzero(closed)]


def _large(matrix: "sp.csr_array") -> Array:
    if matrix.shape[0] > _FACTORISED_STATES:
        found = _arnoldi(matrix)
        if found is not None:
            return found
    return _factorised(matrix)


def _arnoldi(matrix: "sp.csr_array") -> Array | None:
    """The left eigenvector of the eigenvalue 1, the greatest; none if the chain mixes too slowly for it."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigs

    states = matrix.shape[0]
    backwards = _csr(matrix.T)
    found = []
    # Where parts of a chain hardly communicate, what is found depends on the beginning, and a residual hides it.
    for begin in (np.full(states, 1 / states), np.arange(states, 0.0, -1.0)):
        options: dict[str, Any] = {"v0": begin, "ncv": _BASIS, "maxiter": _RESTARTS, "tol": RESIDUAL / 100}
        try:
            _, vectors = eigs(backwards, k=1, which="LR", **options)
        except ArpackNoConvergence:
            return None
        vector = np.abs(np.real(vectors[:, 0]))  # rounding may leave -1e-20
        found.append(vector / vector.sum())
    is_one = np.abs(found[0] - found[1]).sum() < _ERROR
    return found[0] if is_one and residual(matrix, found[0]) < RESIDUAL else None


def _factorised(matrix: "sp.csr_array") -> Array:
    """Inverse iteration: ``x <- x ((1 + shift) I - P)^-1`` enlarges ``pi`` by 1 / shift, the rest by 1 / gap."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import splu

    states = matrix.shape[0]
    shifted = sp.csc_array(((1 + SHIFT) * sp.eye_array(states) - matrix).T)
    # A diagonally dominant M-matrix needs no pivoting, and without it the factors stay sparse.
    factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0)
    probabilities = np.full(states, 1 / states)
    for _ in range(_ITERATIONS):
        before = probabilities
        probabilities = np.maximum(factors.solve(before), 0)  # rounding may leave -1e-20
        probabilities /= probabilities.sum()
        if np.abs(probabilities - before).sum() < _CHANGE:
            break
    else:
        raise NotConverged(
            f"parts of the chain of {states} states hardly communicate: no stationary distribution found"
        )
    error = residual(matrix, probabilities)
    if not error < RESIDUAL:
        raise NotConverged(f"the stationary distribution of {states} states leaves a residual of {error:.1e}")
    return np.asarray(probabilities)
