"""Places to try, by what the space is: all of a short list, a scatter, a few values for each choice, and gaps to halve.

A *choice* is a combination of listed values, as far as these count: a queue and a control, say.  Its ranges are those
that count beside it.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from varicap.design.optimise.space import Place, Space

_MOST_LISTED = 64
"""Combinations of listed values up to which all are tried."""
_APART = 1 / 256
"""Of a range, in which gaps between real numbers are not halved any more."""


def every(space: Space) -> list[Place]:
    """Every combination, where only listed values are varied, and not too many."""
    if any(variable.range is not None for variable in space.variables):
        return []
    sizes = [len(variable.choices) for variable in space.variables]
    combinations: list[tuple[int, ...]] = list(product(*(range(size) for size in sizes)))
    if len(combinations) > _MOST_LISTED:
        return []
    return [tuple((at + 0.5) / size for at, size in zip(each, sizes, strict=True)) for each in combinations]


def scatter(space: Space, seed: int) -> list[Place]:
    """Points over the whole space: each combination of listed values a few times, if they are not too many."""
    from scipy.stats import qmc

    sizes_of = [len(variable.choices) for variable in space.variables if variable.choices]
    ranges = len(space.variables) - len(sizes_of)
    combinations: list[tuple[int, ...]] = list(product(*(range(size) for size in sizes_of)))
    if len(combinations) > _MOST_LISTED // 2:
        combinations = combinations[:: -(-len(combinations) // (_MOST_LISTED // 2))]
    each = max(1, -(-2 * (ranges + 1) // len(combinations))) if ranges else 1
    total = max(each * len(combinations), 1)
    spread = qmc.Sobol(max(ranges, 1), scramble=True, rng=seed).random_base2((total - 1).bit_length())
    found: list[Place] = []
    for number, shares in enumerate(spread[:total]):
        chosen = iter(combinations[number % len(combinations)])
        sizes = iter(sizes_of)
        numbers = iter(shares)
        found.append(
            tuple(
                (next(chosen) + 0.5) / next(sizes) if variable.choices else float(next(numbers))
                for variable in space.variables
            )
        )
    return found


def choices(space: Space, most: int) -> list[Place]:
    """A place for each choice; none if there is only one, or none with a range, or more than so many."""
    if all(variable.choices for variable in space.variables):
        return []
    sizes = [max(1, len(variable.choices)) for variable in space.variables]
    if np.prod(sizes, dtype=float) > _MOST_LISTED:
        return []
    found: dict[Place, Place] = {}
    for each in product(*(range(size) for size in sizes)):
        place = space.snapped(tuple((at + 0.5) / size for at, size in zip(each, sizes, strict=True)))
        found.setdefault(space.choice(place), place)
    return list(found.values()) if 1 < len(found) <= most else []


def strata(space: Space, place: Place, count: int, seed: int) -> Iterator[Place]:
    """So many values of the ranges that count at a place, spread evenly; the place itself if none does."""
    from scipy.stats import qmc

    free = space.free(place)
    if not free:
        yield place
        return
    if len(free) == 1:
        shares = [[(number + 0.5) / count] for number in range(count)]
    else:
        spread = qmc.Sobol(len(free), scramble=True, rng=seed).random_base2((count - 1).bit_length())
        shares = spread[:count].tolist()
    for each in shares:
        yield _with(place, free, each)


def around(space: Space, place: Place, reach: float, seed: int) -> list[Place]:
    """Two places at random, not further away than `reach` along each range that counts."""
    free = space.free(place)
    centre = np.array([place[at] for at in free])
    moved = np.random.default_rng(seed).uniform(-reach, reach, (2, len(free)))
    return [_with(place, free, each) for each in np.clip(centre + moved, 0.0, 1.0).tolist()]


def between(space: Space, place: Place, other: float) -> list[Place]:
    """The middle of the gap between a place and another share of its only range, if something lies there."""
    (at,) = space.free(place)
    variable, here = space.variables[at], place[at]
    if not variable.numeric.whole and abs(here - other) <= _APART:
        return []
    middle = variable.snapped((here + other) / 2)
    if middle in (here, other) and variable.numeric.whole:
        ends = [round(variable.numeric.number(share)) for share in (here, other)]
        middle = variable.snapped(variable.numeric.share(sum(ends) // 2))
    return [] if middle in (here, other) else [_with(place, (at,), [middle])]


def _with(place: Place, free: Sequence[int], shares: Sequence[float]) -> Place:
    moved = list(place)
    for at, share in zip(free, shares, strict=True):
        moved[at] = float(share)
    return tuple(moved)
