"""Runs of a scenario and of what it would be if one thing were another, with the same random numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import varicap._core as _core
from varicap.design.what_if import change
from varicap.design.what_if.change import Change, Keys
from varicap.design.what_if.found import MORE, QUEUES, Answer, Variant
from varicap.design.what_if.report import sentences
from varicap.engines import sim
from varicap.engines.limits import MAX_MEMORY, MAX_TIME
from varicap.engines.scenarios import AnyScenario, load
from varicap.plugins import Make
from varicap.results.result import Result
from varicap.statistics import Array, Interval, Progress

_SEEDS = 10


_DIGITS = 9
"""Of percentages: what is beyond comes from the rounding of sums."""


def why(scenario: AnyScenario, **options: Any) -> Answer:
    """Whether it is loss, the buffer, the capacity, the receiver or the control that holds a scenario's flows back.

    Each is changed by itself, and the runs have the same random numbers.  The options are those of `answer`.

    >>> found = why("examples/fixed.toml", seeds=3, overrides={"duration": "20 s"})
    >>> found.variants[-1].name
    'with twice the capacity'
    """

    def variants(means: Mapping[str, float], keys: Keys) -> list[tuple[str, Change]]:
        controls = {
            next(iter(tcp["congestion"]), "") for tcp in change.flows(keys) if isinstance(tcp["congestion"], dict)
        }
        other = "bbr" if controls == {"cubic"} else "cubic"
        return [
            ("without loss on the links", change.without_loss),
            ("with half the buffer", change.times_the_buffer(0.5)),
            ("with twice the buffer", change.times_the_buffer(2.0)),
            ("with the mean capacity all the time", change.with_fixed_capacity(means)),
            ("without a limit at the receiver", change.without_receive_window),
            (f"with {other.upper()} as the control", change.with_control(other)),
            (MORE, change.with_twice_the_capacity(means)),
        ]

    return _answer("why", scenario, variants, **options)


def l4s(scenario: AnyScenario, **options: Any) -> Answer:
    """What L4S would give: DualPI2 at the links (RFC 9332) and Prague at the senders (RFC 9331), or either alone."""
    dual, prague = change.with_queue("dualpi2"), change.with_control("prague")
    return _answer(
        "l4s",
        scenario,
        lambda _means, _keys: [
            ("with L4S at links and senders (DualPI2 and Prague)", change.both(dual, prague)),
            ("with its queue alone (DualPI2, the senders as they are)", dual),
            ("with its senders alone (Prague, the queues as they are)", prague),
        ],
        **options,
    )


def queue(scenario: AnyScenario, **options: Any) -> Answer:
    """Which queue suits a scenario: those that manage themselves, as they usually are set, and half the buffer."""
    named = [(f"with {name}", change.with_queue(written)) for name, written in QUEUES]
    named += [("with half the buffer", change.times_the_buffer(0.5))]
    return _answer("queue", scenario, lambda _means, _keys: named, **options)


def _answer(
    question: str,
    scenario: AnyScenario,
    variants: Any,
    *,
    seeds: int | None = None,
    seed: int | None = None,
    overrides: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    controls: Mapping[str, Make] | None = None,
    queues: Mapping[str, Make] | None = None,
    jobs: int | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    progress: Progress | None = None,
) -> Answer:
    base = load(scenario, overrides)
    runs = max(base.seeds, _SEEDS) if seeds is None else seeds
    options: dict[str, Any] = {
        "seeds": runs,
        "seed": seed,
        "controls": controls,
        "queues": queues,
        "jobs": jobs,
        "max_memory": max_memory,
        "max_time": max_time,
    }
    text = base.to_json()
    as_is = sim.run(base, **options)
    wanted = list(variants(_capacities(as_is), json.loads(text)))
    before = _measured(as_is)
    found = []
    for number, (name, change_) in enumerate(wanted):
        if progress is not None:
            progress((number + 1) / (len(wanted) + 1), (number + 1) * runs, (len(wanted) + 1) * runs)
        keys = json.loads(text)
        if not change_(keys):
            continue
        try:
            changed = _core.Scenario.from_json(json.dumps(keys), base.name, base.base_dir, [])
        except _core.ScenarioError:
            continue  # half a buffer may not hold a packet any more
        found.append(_variant(name, before, _measured(sim.run(changed, **options))))
    answer = Answer(base.name, question, _interval(before[0]), _interval(before[1]), tuple(found), runs)
    return replace(answer, sentences=tuple(sentences(answer)))


def _capacities(result: Result) -> dict[str, float]:
    """The mean capacity of each link that has a limit [b/s]."""
    found: dict[str, list[float]] = {}
    for row in result.links.to_pylist():
        rate = row["capacity_bps"]
        if rate is not None and np.isfinite(rate) and rate > 0:
            found.setdefault(row["name"], []).append(rate)
    return {name: float(np.mean(rates)) for name, rates in found.items()}


def _measured(result: Result) -> tuple[Array, Array]:
    """Goodput of all flows [b/s], and the mean of their delays [ms], in each run."""
    goodput: dict[int, float] = {}
    delays: dict[int, list[float]] = {}
    for row in result.flows.to_pylist():
        goodput[row["replication"]] = goodput.get(row["replication"], 0.0) + row["goodput_bps"]
        if row["rtt_p95_ms"] is not None and np.isfinite(row["rtt_p95_ms"]):
            delays.setdefault(row["replication"], []).append(row["rtt_p95_ms"])
    runs = sorted(goodput)
    nothing = [float("nan")]
    return np.array([goodput[run] for run in runs]), np.array([np.mean(delays.get(run, nothing)) for run in runs])


def _interval(values: Array) -> Interval:
    known = values[np.isfinite(values)]
    return Interval.of(known) if known.size else Interval(float("nan"))


def _variant(name: str, before: tuple[Array, Array], after: tuple[Array, Array]) -> Variant:
    percent = [_percent(one, other) for one, other in zip(before, after, strict=True)]
    return Variant(name, _interval(after[0]), _interval(after[1]), *percent)


def _percent(before: Array, after: Array) -> Interval:
    both = np.isfinite(before) & np.isfinite(after)
    if not both.any() or not before[both].mean():
        return Interval(float("nan"))
    percent = 100.0 * (after[both] - before[both]) / abs(float(before[both].mean()))
    return Interval.of(np.round(percent, _DIGITS))
