"""Where the best lies near the best so far, by a quadratic surface through what was measured around it.

Least squares with a weight that falls with the distance, for the objective and for each column with a bound; the least
point of the objective's surface within the bounds' surfaces, not further away than points were measured.  It is the
response surface of [box51]; under common random numbers differences between neighbours are smooth, so that few points
tell.
"""

from collections.abc import Sequence

import numpy as np

from varicap.design.optimise.candidates import Candidate, Standing
from varicap.design.optimise.demands import Column
from varicap.design.optimise.space import Place
from varicap.statistics import Array

_CLOUD = 2048
_RIDGE = 1e-6


def least(standing: Standing, candidates: Sequence[Candidate], best: Candidate, reach: float, seed: int) -> list[Place]:
    """The place that the surfaces say is best, within `reach` of the best so far; none if too little is known.

    Objectives that are keys, and choices, stay as they are at the best.
    """
    space = standing.space
    active = space.active(best.place)
    free = [at for at, variable in enumerate(space.variables) if active[at] and variable.range is not None]
    alike = [one for one in candidates if _same_choices(standing, one, best)]
    features = 1 + len(free) + len(free) * (len(free) + 1) // 2
    if not free or len(alike) < features:
        return []
    centre = np.array([best.place[at] for at in free])
    where = (np.array([[one.place[at] for at in free] for one in alike]) - centre) / reach
    apart = np.sqrt((where**2).sum(axis=1))
    # As wide as it takes to have points enough.
    width = max(1.0, float(np.sort(apart)[min(len(alike), features + 2) - 1]))
    weight = np.exp(-((apart / width) ** 2)) * np.sqrt([one.runs for one in alike])
    cloud = np.random.default_rng(seed).uniform(-1, 1, (_CLOUD, len(free)))
    cloud = np.clip(centre + cloud * reach, 0.0, 1.0)
    scaled = (cloud - centre) / reach
    reference = max(alike, key=lambda one: one.runs)

    def surface(column: Column) -> Array:
        at = standing.demands.columns.index(column)
        known = np.array([standing.mean(one, reference, at) for one in alike])
        basis = _basis(where)
        left = basis * weight[:, None]
        scale = float(np.abs(known).max()) or 1.0
        ridge = _RIDGE * np.eye(features) * float((weight**2).sum())
        coefficients = np.linalg.solve(left.T @ left + ridge, left.T @ (known / scale * weight))
        return np.asarray(_basis(scaled) @ coefficients * scale)

    objective = standing.demands.objectives[0]
    if isinstance(objective.of, int):
        within = space.variables[objective.of].numeric
        numbers = cloud[:, free.index(objective.of)] if objective.of in free else np.zeros(_CLOUD)
        value = objective.sign * np.array([within.number(float(share)) for share in numbers])
    else:
        value = objective.sign * surface(objective.of)
    for one in standing.demands.constraints:
        interval = standing.interval(best, one.of)
        # To meet a bound an interval has to lie within it.
        margin = (interval.hi - interval.lo) / 2 if interval.hi is not None and interval.lo is not None else 0.0
        found = surface(one.of)
        beyond = np.maximum(one.bounds.low + margin - found, found - one.bounds.high + margin)
        value = np.where(beyond > 0, np.inf, value)
    if not np.isfinite(value).any():
        return []
    place = list(best.place)
    for at, share in zip(free, cloud[int(np.argmin(value))], strict=True):
        place[at] = float(share)
    return [space.snapped(tuple(place))]


def _basis(where: Array) -> Array:
    """One, each coordinate, and each product of two."""
    dimensions = where.shape[1]
    pairs = [where[:, i] * where[:, j] for i in range(dimensions) for j in range(i, dimensions)]
    return np.stack([np.ones(len(where)), *where.T, *pairs], axis=1)


def _same_choices(standing: Standing, one: Candidate, best: Candidate) -> bool:
    """Whether two candidates differ in numbers only, and have all that is measured."""
    space = standing.space
    listed = [at for at, variable in enumerate(space.variables) if variable.range is None]
    return (
        space.active(one.place) == space.active(best.place)
        and all(one.place[at] == best.place[at] for at in listed)
        and bool(np.isfinite(one.array()).all())
    )
