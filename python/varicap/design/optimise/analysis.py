"""What models say of points, before any is simulated: where to begin."""

from collections.abc import Sequence

import varicap._core as _core
from varicap.design.optimise.candidates import Candidate, Standing
from varicap.design.optimise.demands import Column
from varicap.design.optimise.space import Place
from varicap.engines import model
from varicap.engines.model.path import paths as paths_of
from varicap.results.summary import Point

_PLACES = 65
"""Places that models are asked about; each answers in some milliseconds."""
_HOPELESS = 3
"""Places without an answer, after which models are not asked any more."""
_BEGIN = 3
"""The best of them, at which the search begins."""


def answer(base: _core.Scenario, point: Point, columns: Sequence[Column]) -> tuple[float, ...] | None:
    """What models say of these columns at a point; None if they do not speak of all of them."""
    try:
        return said(_core.Scenario.from_json(base.to_json(), base.name, base.base_dir, list(point)), columns)
    except _core.ScenarioError:
        return None


def said(scenario: _core.Scenario, columns: Sequence[Column]) -> tuple[float, ...] | None:
    """What models say of these columns of a scenario; None if they do not speak of all of them."""
    try:
        found = model.solve(scenario).summary["flows"]
    except model.NoModelError:
        return None
    paths = {path.name: path for path in paths_of(scenario)}
    values = []
    for column in columns:
        flows = [flow for flow in found if "model" in flow]
        mean = None
        for flow in flows:
            path = paths[flow["name"]]
            offered = path.link["mean_bps"] if len(path.bottlenecks) == 1 else None
            by_name = {
                (flow["name"], "goodput_bps"): flow["goodput_bps"]["mean"],
                (flow["name"], "throughput_bps"): flow["throughput_bps"]["mean"],
            }
            if offered:
                by_name[flow["name"], "goodput_of_capacity"] = flow["goodput_bps"]["mean"] / offered
                if path.alone:
                    carried = flow["throughput_bps"]["mean"] * path.packet_bytes / path.flow["packet_bytes"]
                    by_name[path.link["name"], "utilisation"] = min(1.0, carried / offered)
            name = column.name or next((name for name, measure in by_name if measure == column.measure), None)
            mean = by_name.get((str(name), column.measure), mean) if len(flows) == 1 or column.name else None
        if mean is None:
            return None
        values.append(float(mean))
    return tuple(values)


def begin(base: _core.Scenario, standing: Standing) -> list[Place]:
    """The best places by analysis, if models know what is asked for."""
    from scipy.stats import qmc

    columns = standing.demands.columns
    variables = standing.space.variables
    if not columns:
        return []
    if standing.space.line:
        places: list[Place] = [(number / (_PLACES - 1),) for number in range(_PLACES)]
    else:
        spread = qmc.Sobol(len(variables), scramble=False).random(_PLACES - 1)
        places = [tuple(float(share) for share in row) for row in spread]
    asked: dict[Point, Candidate] = {}
    unanswered = 0
    for place in places:
        at = standing.space.snapped(place)
        point = standing.space.point(at)
        if point in asked:
            continue
        said = answer(base, point, columns)
        if said is None:
            unanswered += 1
            if not asked and unanswered >= _HOPELESS:
                return []
            continue
        # Twice the same: what needs no estimate has an interval of no width.
        asked[point] = Candidate(len(asked), at, point, dict.fromkeys(range(2), tuple(said)), is_exact=True)
    found = list(asked.values())
    if not found:
        return []
    order = sorted(found, key=lambda one: standing.rank(one, found[0]))
    if standing.space.line:
        # The best and its neighbours: between them the answer lies if the model is right.
        near = sorted(found, key=lambda one: one.place)
        middle = near.index(order[0])
        return [one.place for one in near[max(0, middle - 1) : middle + 2]]
    return [one.place for one in order[:_BEGIN]]
