"""What analysis says before anything is simulated: the worst path by a model, and a bound for every path.

The bound is for one flow of Reno or CUBIC behind a drop-tail queue of B bytes on a constant capacity C, whose path adds
up to D of delay that is no queue's, as CCAC lets it [arun21].  A packet is lost there only if the queue is full, so
that more than B is in flight; after the decrease by a factor f (1/2 [RFC 5681], 0.7 [RFC 9438]) at least f B may be,
and before the next loss the window only grows.  Each packet in flight comes back within R + D and its wait there.
The server may be idle only while all of them are elsewhere, at most for R + D, and then has f B to send: of each
R + D + f B / C at least f B / C is used, which is x / (1 + x) with x = f B / (C (R + D)).

Without D the window's bytes are spread over the round trip, and the server is never idle if f (C R + B) >= C R.
"""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import varicap._core as _core
from varicap import units
from varicap.design.optimise.analysis import said
from varicap.design.optimise.demands import Column
from varicap.falsify.bench import Bench, Tried
from varicap.falsify.bounds import Bounds
from varicap.falsify.conditions import Conditions
from varicap.falsify.found import Apart, Theory
from varicap.statistics import Array

_PLACES = 64
"""Paths that models are asked about first."""
_HOPELESS = 3
"""Paths of which no model speaks, after which none is asked any more."""
_BEGIN = 4
"""The worst of them, with which the search begins."""
_DECREASE = {"reno": 0.5, "cubic": 0.7}
_OF_CAPACITY = ("utilisation", "goodput_of_capacity")
_SPURIOUS_S = 0.2
"""Least part of Linux's timeout beside the round trip [s]: a delay that grows by less expires none."""
_MOST_DIMENSIONS = 6
"""Tables of the bounds; each has three ends at most, and all combinations are looked at."""


class Models:
    """Models, asked about conditions, each once."""

    def __init__(self, bench: Bench) -> None:
        statement = bench.statement
        self._bench = bench
        self._column = Column(statement.measure, statement.unit, statement.name)
        self.speak = bool(statement.table)
        self.said: dict[Conditions, float] = {}

    def of(self, conditions: Conditions) -> float | None:
        """What a model says of the statement's measure; None if none speaks of it."""
        if conditions in self.said:
            return self.said[conditions]
        one = self._bench.of(conditions) if self.speak else None
        values = None if one is None else said(one.scenario, [self._column])
        if values is None or not math.isfinite(values[0]):
            return None
        self.said[conditions] = values[0]
        return values[0]


def begin(bounds: Bounds, models: Models, sign: float, spread: Array, seed: int) -> Array:
    """The numbers of the first generation, of which the last are those of the worst paths by models."""
    from scipy.stats import qmc

    asked: list[tuple[float, int]] = []
    places = qmc.Sobol(bounds.count, seed=seed + 1).random(_PLACES)
    for number, place in enumerate(places):
        value = models.of(bounds.conditions(place.tolist()))
        if value is not None:
            asked.append((sign * value, number))
        elif number + 1 >= _HOPELESS and not asked:
            models.speak = False
            return spread
    chosen = [number for _, number in sorted(asked)[:_BEGIN]]
    if chosen:
        spread[-len(chosen) :] = places[chosen]
    return spread


def theory(bench: Bench, bounds: Bounds, models: Models) -> Theory:
    """What models said beside what was simulated, and a bound for every path."""
    pairs = []
    for conditions, by_model in models.said.items():
        one = bench.tried.get(conditions)
        if one is not None and one.values:
            pairs.append(Apart(conditions, by_model, bench.statement.sign * bench.worth(one)))
    sign = bench.statement.sign
    bound, because = least(bench, bounds)
    return Theory(
        len(models.said),
        min(pairs, key=lambda pair: sign * pair.by_model, default=None),
        max(pairs, key=lambda pair: abs(pair.by_model - pair.by_simulation), default=None),
        bound,
        because,
    )


def ask_about(models: Models, those: Sequence[Tried]) -> None:
    """Let models speak of paths that were simulated, so that both can be compared."""
    if models.speak and models.said:
        for one in those:
            models.of(one.conditions)


def least(bench: Bench, bounds: Bounds) -> tuple[float | None, str]:
    """The least use of a capacity by every path within the bounds, or why none is proven."""
    statement = bench.statement
    if statement.measure not in _OF_CAPACITY or statement.sign < 0:
        return None, "bounds are known of the use of a capacity alone"
    if len(bounds.dimensions) > _MOST_DIMENSIONS:
        return None, f"a bound is looked for within at most {_MOST_DIMENSIONS} tables"
    worst = math.inf
    # The bound falls with the delay and grows with the buffer, each of which is greatest and least at a corner.
    for corner in _corners(bounds):
        one = bench.of(bounds.conditions(corner))
        if one is None:
            return None, "a corner of the bounds is no scenario"
        found = _of_path(one.scenario)
        if isinstance(found, str):
            return None, found
        worst = min(worst, found)
    return worst, (
        "a window that met the buffer B keeps f B after a decrease (f = 1/2 of Reno, 0.7 of CUBIC), "
        "and comes back within R + D; not before the first loss, nor after a timeout"
    )


def _corners(bounds: Bounds) -> list[list[float]]:
    """The numbers of the paths at which the bound is least: each dimension at an end, or going from end to end."""
    ends = [_ends(one.count) for one in bounds.dimensions]
    return [[number for part in chosen for number in part] for chosen in product(*ends)]


def _ends(count: int) -> list[list[float]]:
    """A course takes a value and a duration in turn: high and low ones of the least duration are the third end.

    >>> _ends(4)
    [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0]]
    """
    return [[0.0] * count, [1.0] * count, *([[float(at % 4 == 0) for at in range(count)]] if count > 2 else [])]


def _of_path(scenario: _core.Scenario) -> float | str:
    """The bound for one path, over all that its delay does; or which assumption fails."""
    networks = json.loads(scenario.facts())
    if len(networks) != 1 or len(networks[0]["flows"]) != 1 or networks[0]["flows"][0]["count"] != 1:
        return "bounds are known of one flow alone"
    (flow,) = networks[0]["flows"]
    control = next(iter(flow["tcp"]["congestion"])) if isinstance(flow["tcp"], Mapping) else ""
    if control not in _DECREASE or flow["app"] != "greedy":
        return "bounds are known of greedy flows of Reno and CUBIC alone"
    links = [networks[0]["links"][number] for number in (*flow["route"], *flow["route_back"])]
    limited = [link for link in links if "constant" in link["capacity"] and link["mean_bps"] is not None]
    if any(link["loss"] != "none" or link["arq"] or link["handover"] for link in links):
        return "bounds are known of paths without loss alone"
    if len(limited) != 1 or "drop-tail" not in limited[0]["queue"] or limited[0]["limit_bytes"] is None:
        return "bounds are known of one constant capacity behind a drop-tail queue alone"
    (link,) = limited
    least_s, most_s = 2 * flow["access_delay_s"], 2 * flow["access_delay_s"]
    for each in links:
        low, high = _delays(each)
        least_s, most_s = least_s + low, most_s + high
        if each is not link and each["mean_bps"] is not None:
            waits = _silence(each["capacity"])
            if waits is None:
                return "bounds are known of one constant capacity behind a drop-tail queue alone"
            most_s += waits
    return _used(link["mean_bps"] / 8, link["limit_bytes"], _DECREASE[control], least_s, most_s)


def _used(bytes_s: float, buffer: float, kept: float, least_s: float, most_s: float) -> float | str:
    if most_s - least_s >= _SPURIOUS_S:
        return "a delay that grows by 200 ms may expire a timer, and no bound is known"
    if most_s == least_s and kept * (bytes_s * least_s + buffer) >= bytes_s * least_s:
        return 1.0
    share = kept * buffer / (bytes_s * most_s)
    return share / (1 + share)


def _delays(link: Mapping[str, Any]) -> tuple[float, float]:
    """The least and the greatest propagation delay of a link [s]."""
    delay = link["delay"]
    if "steps" in delay:
        every = [units.seconds(one) for one in delay["steps"]["delays"]]
        return min(every), max(every)
    return (link["delay_s"], link["delay_s"]) if "constant" in delay else (0.0, math.inf)


def _silence(capacity: Mapping[str, Any]) -> float | None:
    """The longest time for which a link that aggregates lets nothing out [s]; None if it is no such link."""
    steps = capacity.get("steps")
    if steps is None or len(steps["rates"]) != 2 or units.bits_per_second(steps["rates"][0]) != 0:
        return None
    return units.seconds(steps["at"][1])
