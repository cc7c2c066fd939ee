"""What runs found, in sentences: computed from their tables, and never more than the intervals support."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import pyarrow as pa

from varicap.report.differences import significant
from varicap.report.measures import measure_of
from varicap.report.points import short
from varicap.report.table import bottlenecks, with_interval
from varicap.report.table import significant as significant_digits
from varicap.results.differences import differences
from varicap.results.study import Study

Row = Mapping[str, Any]

_MOST = 6  # flows, and links, that get a sentence each
_DELAYS = ("sojourn_p95_ms", "rtt_p95_ms")
_WORDS = {"sojourn_p95_ms": "queueing delay (95th percentile)", "rtt_p95_ms": "round-trip time (95th percentile)"}


def of_runs(summary: Mapping[str, Any], flows: pa.Table, links: pa.Table) -> Iterator[str]:
    """Sentences about runs: what the best flow got, and how each flow differs from the first."""
    if summary["engine"] == "model" or not summary["flows"]:
        return
    yield from _leader(summary)
    found = {(row["flow"], row["measure"]): row for row in differences(flows, links).to_pylist()}
    names = list(dict.fromkeys(name for name, _ in found))
    if names and summary["runs"] < 2:
        yield "One run has no intervals: how flows differ may be chance. More runs (--seeds) tell."
        return
    for name in names[:_MOST]:
        delay = next((found[name, each] for each in _DELAYS if (name, each) in found), None)
        yield _difference(name, found.get((name, "goodput_bps")), delay)
    if len(names) > _MOST:
        yield f"{len(names) - _MOST} more flows are in the tables."


def _leader(summary: Mapping[str, Any]) -> Iterator[str]:
    """What was got, by whom, of how much."""
    flows = [flow for flow in summary["flows"] if flow["goodput_bps"]["mean"] is not None]
    if not flows:
        return
    most = max(flows, key=lambda flow: float(flow["goodput_bps"]["mean"]))
    got = _mega(most["goodput_bps"])
    shared = [link for link in bottlenecks(dict(summary)) if not link.get("flow")]
    # Of means one is the highest, whether or not that is more than chance: no more is said.
    rate = f"{most['name']} {'has the highest mean goodput,' if len(flows) > 1 else 'got'} {got} Mb/s"
    rate += "" if len(flows) > 1 else " of goodput"
    used = [link for link in shared[:_MOST] if link["utilisation"]["mean"] is not None]
    if used:
        shares = (
            f"{link['name']} was used to {_of(link['utilisation'], 100.0)} % of {_mega(link['capacity_bps'])} Mb/s"
            for link in used
        )
        yield f"{rate}; {', '.join(shares)}."
    else:
        yield f"{rate}."


def _mega(interval: Mapping[str, Any]) -> str:
    return _of(interval, 1e-6)


def _of(interval: Mapping[str, Any], scale: float) -> str:
    return with_interval(interval["mean"], interval["lo"], interval["hi"], scale)


def _difference(name: str, rate: Row | None, delay: Row | None) -> str:
    """One sentence: what of goodput and delay differs by more than chance.

    >>> row = {"flow": "b", "reference": "a", "measure": "goodput_bps", "difference": 1e5, "lo": 5e4, "hi": 1.5e5,
    ...     "percent": 2.7, "percent_lo": 1.2, "percent_hi": 4.2}
    >>> _difference("b", row, {**row, "measure": "rtt_p95_ms", "percent": 57.0, "percent_lo": 50.0, "percent_hi": 64.0})
    'b against a: +2.7 ± 1.5 % goodput for +57 ± 7 % round-trip time (95th percentile).'
    >>> _difference("b", {**row, "lo": -1.0}, None)
    'b against a: no significant difference in goodput.'
    """
    there = [row for row in (rate, delay) if row is not None]
    if not there:
        return f"{name}: nothing to compare."
    words = {"goodput_bps": "goodput", **_WORDS}
    known = [row for row in there if significant(row)]
    unclear = [words[row["measure"]] for row in there if not significant(row)]
    begin = f"{name} against {there[0]['reference']}: "
    if not known:
        return f"{begin}no significant difference in {' or '.join(unclear)}."
    # More goodput for more delay is a price; what is better or worse in both is not.
    link = " for " if len({row["difference"] > 0 for row in known}) == 1 else " and "
    said = link.join(f"{_percent(row)} {words[row['measure']]}" for row in known)
    return f"{begin}{said}{f'; no significant difference in {unclear[0]}' if unclear else ''}."


def _percent(row: Row) -> str:
    if not isfinite(row["percent"]):
        measure = measure_of(row["measure"], "b/s" if row["measure"].endswith("_bps") else "ms")
        text = with_interval(row["difference"], row["lo"], row["hi"], measure.scale)
        return f"{'' if text.startswith('-') else '+'}{text} {measure.unit}"
    text = with_interval(row["percent"], row["percent_lo"], row["percent_hi"])
    if text.endswith("± 0"):
        # An interval without width says nothing of how many digits count.
        text = f"{significant_digits(row['percent'], 2)} ± 0"
    return f"{'' if text.startswith('-') else '+'}{text} %"


def of_study(study: Study) -> Iterator[str]:
    """Sentences about a study: what changes from its first point to its last, and where each flow got most."""
    paths = [path for path, _ in study.points[0]]
    rows = [row for row in study.summary.to_pylist() if row["kind"] == "flows" and isfinite(row["mean"])]
    names = list(dict.fromkeys(row["name"] for row in rows))
    last = len(study.points) - 1
    if last and paths:
        ends = " to ".join(_point(study.points[number], paths) for number in (0, last))
        yield f"From {ends}:"
    for name in names[:_MOST]:
        rates = [row for row in rows if row["name"] == name and row["measure"] == "goodput_bps"]
        if not rates:
            continue
        best = max(rates, key=lambda row: float(row["mean"]))
        most = _of({end: best[end] if isfinite(best[end]) else None for end in ("mean", "lo", "hi")}, 1e-6)
        where = _point(tuple((path, best[path]) for path in paths), paths)
        changes = [
            _change(row, words)
            for measure, words in (("goodput_bps", "goodput"), ("rtt_p95_ms", _WORDS["rtt_p95_ms"]))
            for row in rows
            if last and row["point"] == last and (row["name"], row["measure"]) == (name, measure)
        ]
        said = f"{', '.join(changes)}; " if changes else ""
        if where:
            yield f"{name}: {said}highest mean goodput, {most} Mb/s, at {where}."
        else:
            yield f"{name}: {most} Mb/s of goodput."
    if len(names) > _MOST:
        yield f"{len(names) - _MOST} more flows are in the tables."


def _change(row: Row, words: str) -> str:
    """How a measure changed from the first point, if that is more than chance."""
    ends = {"lo": row["difference_lo"], "hi": row["difference_hi"]}
    base = row["mean"] - row["difference"]
    share = 100.0 / abs(base) if base else float("nan")
    if not isfinite(ends["lo"]) or not isfinite(row["difference"]):
        return f"{words} not comparable"
    if not significant(ends):
        return f"no significant change of {words}"
    percent = {f"percent_{end}": value * share for end, value in ends.items()}
    return f"{_percent({**row, **ends, 'percent': row['difference'] * share, **percent})} {words}"


def _point(point: tuple[tuple[str, str], ...], paths: list[str]) -> str:
    return ", ".join(f"{short(path, paths)} {value}" for path, value in point)


def distinctions(scenario: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What distinguishes the groups of flows of a scenario: of each key that differs, the value of each group.

    >>> distinctions({"flows": {"a": {"start": "0 s"}, "b": {"start": "5 s"}}})
    {'start': {'a': '0 s', 'b': '5 s'}}
    """
    groups = {name: dict(_flat(flow)) for name, flow in (scenario.get("flows") or {}).items()}
    keys = dict.fromkeys(key for flow in groups.values() for key in flow)
    values = {key: {name: flow.get(key) for name, flow in groups.items()} for key in keys}
    return {key: of for key, of in values.items() if len({repr(value) for value in of.values()}) > 1}


def _flat(flow: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys of a flow in words; those of its TCP one by one."""
    for key, value in flow.items():
        if key == "tcp" and isinstance(value, Mapping):
            yield from ((f"{name.replace('_', ' ')}", each) for name, each in value.items())
        else:
            yield key.replace("_", " "), value
