"""What runs found, in sentences: computed from their tables, and never more than the intervals support."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from varicap.report.differences import Standing, standing
from varicap.report.measures import measure_of
from varicap.report.points import free, linked, places, short, worded
from varicap.report.rows import where
from varicap.report.table import bottlenecks, significant, with_interval
from varicap.statistics import Interval
from varicap.statistics.groups import groups

if TYPE_CHECKING:
    from varicap.results.study import Study

Row = Mapping[str, Any]

_MOST = 6  # flows, and links, that get a sentence each
_MOST_PLACES = 3
_AT_THE_PROMPT = 3
_MOST_KINDS = 2
_DELAYS = ("sojourn_p95_ms", "rtt_p95_ms")
_RESTS_ON: Mapping[Standing, str] = {
    "significant": "",
    "constant": "the same in all runs",
    "single": "one run: may be chance",
}
"""What is stated, and what it rests on if not on an interval."""
_WORDS = {"sojourn_p95_ms": "queueing delay (95th percentile)", "rtt_p95_ms": "round-trip time (95th percentile)"}


def of_runs(summary: Mapping[str, Any], flows: pa.Table, links: pa.Table) -> Iterator[str]:
    """Sentences about runs: what the best flow got, and how each flow differs from the first."""
    if summary["engine"] == "model" or not summary["flows"]:
        return
    yield from _leader(summary)
    yield from _two_kinds(flows)
    if len(summary["flows"]) < 2:
        return
    # Only here: comparing tables takes as long to import as a short run takes.
    from varicap.results.differences import differences

    found = {(row["flow"], row["measure"]): row for row in differences(flows, links).to_pylist()}
    names = list(dict.fromkeys(name for name, _ in found))
    if names and summary["runs"] < 2:
        yield "One run has no intervals: how flows differ may be chance. Use more runs (--seeds) to find out."
        return
    for name in names[:_MOST]:
        delay = next((found[name, each] for each in _DELAYS if (name, each) in found), None)
        yield _difference(name, found.get((name, "goodput_bps")), delay)
    if len(names) > _MOST:
        yield f"{len(names) - _MOST} more flows are in the tables."


def _two_kinds(flows: pa.Table) -> Iterator[str]:
    """Of which flows the runs fall into two kinds, between which the mean is that of no run."""
    said = 0
    rates: dict[str, list[float]] = {}
    for name, rate in zip(*map(flows.column, ("name", "goodput_bps")), strict=True) if flows.num_rows else ():
        rates.setdefault(name.as_py(), []).extend([rate.as_py()] if rate.is_valid else [])
    for name, own in rates.items():
        found = groups(own)
        if found is None or said == _MOST_KINDS:
            continue
        said += 1
        (most, few), (near, other) = found.counts, (f"{significant(mean * 1e-6, 3)}" for mean in found.means)
        yield f"{name}: {most} of {most + few} runs are near {near} Mb/s, {few} near {other}: the mean is that of none."


def at_the_prompt(sentences: Iterable[str]) -> Iterator[str]:
    """The first of them: as many as one reads below a table.  One that ends in a colon heads the others.

    >>> list(at_the_prompt(["From 1 to 2:", "a.", "b.", "c.", "d."]))
    ['From 1 to 2:', 'a.', 'b.', 'c.']
    """
    room = _AT_THE_PROMPT
    for sentence in sentences:
        if room == 0:
            return
        room -= not sentence.endswith(":")
        yield sentence


def of_engines(compared: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about one scenario on several engines: the goodput of each flow, and how far they lie apart.

    >>> row = {"flow": "reno", "measure": "goodput", "unit": "Mb/s", "values": {"sim": 2.0, "model": 1.98}}
    >>> list(of_engines({"differences": [{**row, "difference_percent": {"model": -1.0}}]}))
    ['reno: goodput 2.00 Mb/s by sim; model -1.0 %.']
    """
    for row in compared["differences"]:
        if row["measure"] != "goodput":
            continue
        (first, value), *_ = row["values"].items()
        others = [
            f"{engine} {'–' if apart is None else f'{apart:+.2g} %' if abs(apart) < 1 else f'{apart:+.1f} %'}"
            for engine, apart in row["difference_percent"].items()
        ]
        yield f"{row['flow']}: goodput {'; '.join([f'{significant(value, 3)} Mb/s by {first}', *others])}."


def _leader(summary: Mapping[str, Any]) -> Iterator[str]:
    """Which flow got most, and how much of the links they share was used."""
    flows = [flow for flow in summary["flows"] if flow["goodput_bps"]["mean"] is not None]
    if not flows:
        return
    # The highest mean is a fact of these runs, more than chance or not: nothing else is claimed.
    first = highest([flow["goodput_bps"] for flow in flows])
    names = [flows[place]["name"] for place in first]
    got = f"{_common([flows[place]['goodput_bps'] for place in first])} Mb/s"
    if len(flows) == 1:
        rate = f"{names[0]} got {got} of goodput"
    elif len(names) == len(flows):
        rate = f"All flows have the same mean goodput, {got}"
    else:
        who = _listed(names) if len(names) <= _MOST else f"{len(names)} flows"
        rate = f"{who} {'have' if len(names) > 1 else 'has'} the highest mean goodput, {got}"
    shared = [link for link in bottlenecks(dict(summary)) if not link.get("flow")]
    used = [link for link in shared[:_MOST] if link["utilisation"]["mean"] is not None]
    if used:
        shares = (
            f"{link['name']} was used to {_of(link['utilisation'], 100.0)} % of {_mega(link['capacity_bps'])} Mb/s"
            for link in used
        )
        yield f"{rate}; {', '.join(shares)}."
    else:
        yield f"{rate}."


def highest(of: Sequence[Mapping[str, Any]]) -> list[int]:
    """The places of all that have the highest mean."""
    most = max(float(each["mean"]) for each in of)
    return [place for place, each in enumerate(of) if each["mean"] == most]


def _common(of: Sequence[Mapping[str, Any]]) -> str:
    """A rate [Mb/s] of several that have the same mean; its interval, if they have that in common too."""
    alike = len({(each["lo"], each["hi"]) for each in of}) == 1
    return _mega(of[0]) if alike else _mega({**of[0], "lo": None, "hi": None})


def _listed(names: Sequence[str]) -> str:
    """Names as a sentence has them.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _mega(interval: Mapping[str, Any]) -> str:
    return _of(interval, 1e-6)


def _of(interval: Mapping[str, Any], scale: float) -> str:
    return with_interval(interval["mean"], interval["lo"], interval["hi"], scale)


def _difference(name: str, rate: Row | None, delay: Row | None) -> str:
    """One sentence: how goodput and delay differ, where that can be said.

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
    known = [(row, standing(row)) for row in there if standing(row) in _RESTS_ON]
    unclear = [words[row["measure"]] for row in there if standing(row) not in _RESTS_ON]
    begin = f"{name} against {there[0]['reference']}: "
    if not known:
        return f"{begin}no significant difference in {' or '.join(unclear)}."
    # More goodput for more delay is a price; what is better or worse in both is not.
    link = " for " if len({row["difference"] > 0 for row, _ in known}) == 1 else " and "
    said = _stated([(f"{_percent(row)} {words[row['measure']]}", _RESTS_ON[how]) for row, how in known], link)
    return f"{begin}{said}{f'; no significant difference in {unclear[0]}' if unclear else ''}."


def _stated(statements: Sequence[tuple[str, str]], link: str) -> str:
    """Statements, each with what it rests on; once, if that is the same for all.

    >>> _stated([("+1 % goodput", "one run"), ("+2 % delay", "one run")], " for ")
    '+1 % goodput for +2 % delay (one run)'
    """
    rests = dict.fromkeys(on for _, on in statements)
    if len(rests) == 1:
        statements = [(text, "") for text, _ in statements[:-1]] + [statements[-1]]
    return link.join(f"{text} ({on})" if on else text for text, on in statements)


def _percent(row: Row) -> str:
    if not isfinite(row["percent"]):
        measure = measure_of(row["measure"], "b/s" if row["measure"].endswith("_bps") else "ms")
        text = with_interval(row["difference"], row["lo"], row["hi"], measure.scale)
        return f"{'' if text.startswith('-') else '+'}{text} {measure.unit}"
    text = with_interval(row["percent"], row["percent_lo"], row["percent_hi"])
    return f"{'' if text.startswith('-') else '+'}{text} %"


def of_study(study: "Study") -> Iterator[str]:
    """Sentences about a study: what each axis changes, the others being equal, and where each flow got most."""
    paths = [path for path, _ in study.points[0]]
    rows = [row for row in study.summary.to_pylist() if row["kind"] == "flows" and isfinite(row["mean"])]
    names = list(dict.fromkeys(row["name"] for row in rows))
    effects = [found for path in free(study) if (found := Effect.of(study, path, paths)) is not None]
    if len(effects) == 1:
        yield f"From {effects[0].said}:"
    elif effects:
        yield "Each axis by itself, with equal values of the others:"
    for name in names[:_MOST]:
        rates = [row for row in rows if row["name"] == name and row["measure"] == "goodput_bps"]
        if not rates:
            continue
        said = [
            f"{f'{effect.said}: ' if len(effects) > 1 else ''}{_stated(changes, ', ')}"
            for effect in effects
            if (changes := list(_changes(study, effect, name)))
        ]
        yield f"{name}: {'; '.join([*said, _best(rates, paths)])}."
    if len(names) > _MOST:
        yield f"{len(names) - _MOST} more flows are in the tables."


@dataclass(frozen=True)
class Effect:
    """What one axis changes: points in pairs, which differ in it alone."""

    said: str
    pairs: tuple[tuple[int, int], ...]
    """Points with its first and its last value."""

    @classmethod
    def of(cls, study: "Study", path: str, paths: list[str]) -> "Effect | None":
        """The effect of an axis, and of those that go together with it, from its least value to its greatest.

        There is none where no points differ in it alone, as in random designs.  Values without a number are in their
        order.
        """
        values = list(dict.fromkeys(dict(point)[path] for point in study.points))
        if len(values) < 2:
            return None
        number = places(values)
        least, most = min(values, key=number.__getitem__), max(values, key=number.__getitem__)
        together = linked(study, path)
        of = {dict(point)[path]: [(key, dict(point)[key]) for key in together] for point in study.points}
        place = {point: at for at, point in enumerate(study.points)}
        pairs = []
        for point in study.points:
            twin = tuple((key, dict(of[most]).get(key, value)) for key, value in point)
            if dict(point)[path] == least and twin in place:
                pairs.append((place[point], place[twin]))
        ends = " to ".join(_point(tuple(of[end]), paths) for end in (least, most))
        if len(together) == 1:
            ends = f"{short(path, paths)} {worded(least)} to {worded(most)}"
        return cls(ends, tuple(pairs)) if pairs else None


def _changes(study: "Study", effect: Effect, name: str) -> Iterator[tuple[str, str]]:
    """How goodput and round trip change, and what that rests on: means over the pairs, run by run."""
    rows = where(study.flows, "name", name)
    for measure, words in (("goodput_bps", "goodput"), ("rtt_p95_ms", _WORDS["rtt_p95_ms"])):
        if measure not in rows.column_names:
            continue
        columns = (rows["point"].to_pylist(), rows["replication"].to_pylist(), rows[measure].to_pylist())
        value = {
            (point, run): each for point, run, each in zip(*columns, strict=True) if each is not None and isfinite(each)
        }
        of = {point: {run for at, run in value if at == point} for pair in effect.pairs for point in pair}
        both = sorted(set.intersection(*of.values()))
        if not both:
            yield f"{words} not comparable", ""
            continue
        apart = [mean(value[last, run] - value[first, run] for first, last in effect.pairs) for run in both]
        counted = ""
        if len(both) < max(map(len, of.values())):
            counted = f"over the {len(both)} runs that {'both' if len(of) == 2 else 'all'} points have"
            over_all = {point: mean(value[point, run] for run in runs) for point, runs in of.items()}
            if mean(over_all[last] - over_all[first] for first, last in effect.pairs) * mean(apart) < 0.0:
                # Means of other runs, which are given beside this, would contradict it.
                yield f"{words} not comparable", f"{counted} it changes one way, over all runs the other"
                continue
        base = mean(value[first, run] for first, _ in effect.pairs for run in both)
        exact = all(point in study.exact for point in of)
        found = Interval.exactly(apart[0]) if exact else Interval.of(np.array(apart))
        yield _changed(measure, words, found, base, counted)


def _changed(measure: str, words: str, found: Interval, base: float, counted: str) -> tuple[str, str]:
    ends: dict[str, Any] = {"difference": found.mean, "lo": found.lo, "hi": found.hi}
    how = standing({key: float("nan") if value is None else value for key, value in ends.items()})
    if how == "chance":
        return f"no significant change of {words}", counted
    share = 100.0 / abs(base) if base else float("nan")
    percent = {
        "percent": found.mean * share,
        **{f"percent_{end}": None if ends[end] is None else ends[end] * share for end in ("lo", "hi")},
    }
    rests = _RESTS_ON.get(how, "")
    return f"{_percent({'measure': measure, **ends, **percent})} {words}", ", ".join(filter(None, (rests, counted)))


def _best(rates: Sequence[Row], paths: list[str]) -> str:
    """Where the mean goodput of a flow is highest."""
    known = [{end: row[end] if isfinite(row[end]) else None for end in ("mean", "lo", "hi")} for row in rates]
    places = highest(known)
    most = f"{_common([known[place] for place in places])} Mb/s"
    if not paths:
        return f"{most} of goodput"
    if len(places) == len(rates) > 1:
        return f"the same mean goodput, {most}, at all points"
    where = [_point(tuple((path, rates[place][path]) for path in paths), paths) for place in places]
    said = f"at {' and at '.join(where)}" if len(where) <= _MOST_PLACES else f"at {len(where)} of {len(rates)} points"
    return f"highest mean goodput, {most}, {said}"


def _point(point: tuple[tuple[str, str], ...], paths: list[str]) -> str:
    return ", ".join(f"{short(path, paths)} {worded(value)}" for path, value in point)


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
