"""What the files in a folder of results have to hold, for those who read them: the faults of files that lack it."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from varicap import units
from varicap.results.stored import Each, Maybe, Shape, ShapeError, Whole, check

_NUMBER = Maybe(float)
_MEAN = {"mean": _NUMBER, "lo": _NUMBER, "hi": _NUMBER}

_DUMBBELL = {"forward": dict, "reverse": Maybe(dict)}
_GRAPH = {"links": Maybe(Each({"from": str, "to": str}))}
_SCENARIO = {
    "name": str,
    "description": Maybe(str),
    "warmup": Maybe(str),
    "topology": Maybe(
        {
            "dumbbell": Maybe(_DUMBBELL),
            "chain": Maybe({"forward": [dict], "reverse": Maybe([dict])}),
            "graph": Maybe(_GRAPH),
        }
    ),
    "flows": Each({"tcp": Maybe({"mss": Maybe(str)})}),
}
_RUNS = Whole(0, 2**32 - 1)
_FIDELITY = {"valid": bool, "faults": Maybe([str]), "strained": Maybe([str])}
_NAMED = {"name": str, "group": str, "flows": float}
_FLOW = {
    **_NAMED,
    **dict.fromkeys(("goodput_bps", "compliant_bps", "rtt_ms", "fct_ms"), _MEAN),
    "goodput_of_capacity": Maybe(_MEAN),
    "runs_differ": Maybe(str),
    "ci95": Each([_NUMBER]),
    **dict.fromkeys(("offered_transfers", "refused_transfers", "unfinished_transfers"), Maybe(_NUMBER)),
    **dict.fromkeys(("transfers", "lost_tokens_bytes", "retransmitted_packets", "timeouts"), _NUMBER),
}
_LINK = {
    "name": str,
    "flow": Maybe(str),
    "ci95": Each([_NUMBER]),
    **dict.fromkeys(("capacity_bps", "utilisation", "sojourn_ms"), _MEAN),
    **dict.fromkeys(("transmissions", "dropped_packets", "delivered_packets"), _NUMBER),
}
_SUMMARY = {
    "engine": str,
    "scenario": _SCENARIO,
    "runs": _RUNS,
    "measured_s": float,
    "flows": [_FLOW],
    "groups": [_FLOW],
    "links": [_LINK],
    "notes": Maybe([str]),
    "fidelity": _FIDELITY,
}
_BY_MODEL = {
    "scenario": _SCENARIO,
    "runs": _RUNS,
    "flows": [_NAMED],
    "groups": [_NAMED],
    "links": [dict],
    "fidelity": _FIDELITY,
}
_ANSWER = {
    "model": str,
    **dict.fromkeys(("goodput_bps", "throughput_bps"), dict.fromkeys(_MEAN, float)),
    "details": Each(float),
}
_STUDY = {
    "scenario": _SCENARIO,
    "points": [Each(str)],
    "exact": Maybe([int]),
    "seed": int,
    "tables": Each(str),
    "software": Maybe({"varicap": Maybe(str), "git": Maybe({"revision": Maybe(str)})}),
    "traces": Maybe(Each(str)),
    "trace_files": Maybe(Each(str)),
    "plugins": Maybe(Each(Each(str))),
    "design": Maybe({"sentences": [str], "headings": [str], "rows": [[str]]}),
}

_TEXT, _COUNT = "text", "numbers"
_COLUMNS = {
    "flows": {
        **dict.fromkeys(("name", "group"), _TEXT),
        **dict.fromkeys(("replication", "goodput_bps", "retransmitted_packets"), _COUNT),
    },
    "groups": {"name": _TEXT, "replication": _COUNT, "goodput_bps": _COUNT},
    "links": {"name": _TEXT, "flow": _TEXT, "replication": _COUNT, "utilisation": _COUNT},
    "flow_series": {
        **dict.fromkeys(("flow",), _TEXT),
        **dict.fromkeys(("replication", "time_s", "goodput_bps", "throughput_bps", "cwnd_bytes", "srtt_s"), _COUNT),
    },
    "link_series": {
        **dict.fromkeys(("link", "flow"), _TEXT),
        **dict.fromkeys(("replication", "time_s", "capacity_bps", "throughput_bps"), _COUNT),
        **dict.fromkeys(("backlog_packets", "dropped_packets"), _COUNT),
    },
    "packets": {
        **dict.fromkeys(("event", "direction", "link", "group"), _TEXT),
        **dict.fromkeys(("replication", "time_ns", "sent_at_ns", "flow", "generation"), _COUNT),
        **dict.fromkeys(("seq_bytes", "wire_bytes"), _COUNT),
    },
}
"""The columns that reports, figures and exports use, and what each holds; there may be more."""


def fault_of_summary(summary: Mapping[str, Any]) -> str:
    """What is wrong with the object in ``summary.json``; nothing if it is as varicap writes it."""
    by_model = summary.get("engine") == "model"
    fault = _fault(summary, _BY_MODEL if by_model else _SUMMARY) or _fault_of_scenario(summary["scenario"])
    if fault:
        return fault
    kinds = ("flows", "groups", "links")
    for place, item in ((f"{kind}.{place}", item) for kind in kinds for place, item in enumerate(summary[kind])):
        if by_model:
            answered = "not_applicable" not in item
            fault = _fault(item, _ANSWER if answered else {"not_applicable": Each([str])}, place)
        else:
            odd = [name for name, ends in item["ci95"].items() if len(ends) != 2]
            fault = f"`{place}.ci95.{odd[0]}` has not two ends" if odd else _fault_of_numbers(item, place)
        if fault:
            return fault
    return ""


def fault_of_study(manifest: Mapping[str, Any]) -> str:
    """What is wrong with the manifest of a study; nothing if it is as varicap writes it."""
    fault = _fault(manifest, _STUDY) or _fault_of_scenario(manifest["scenario"])
    if fault:
        return fault
    if not manifest["points"]:
        return "`points` is empty"
    if len({tuple(point) for point in manifest["points"]}) > 1:
        return "`points` have different keys"
    design = manifest.get("design") or {"headings": [""], "rows": []}
    if not design["headings"] or any(len(row) != len(design["headings"]) for row in design["rows"]):
        return "`design.rows` has a row that is not as long as `design.headings`"
    missing = [name for name in ("flows.parquet", "links.parquet") if name not in manifest["tables"]]
    return f"`tables` lacks {', '.join(missing)}" if missing else ""


def fault_of_schema(kind: str, schema: pa.Schema) -> str:
    """What is wrong with the columns of a table."""
    for name, holds in _COLUMNS.get(kind, {}).items():
        places = schema.get_all_field_indices(name)
        if len(places) != 1:
            return f"the column `{name}` is {'there twice' if places else 'missing'}"
        held = schema.field(places[0]).type
        text = pa.types.is_string(held.value_type if pa.types.is_dictionary(held) else held)
        number = pa.types.is_integer(held) or pa.types.is_floating(held)
        if not (text if holds == _TEXT else number):
            return f"the column `{name}` has {held}, not {holds}"
    return ""


def fault_of_table(kind: str, rows: pa.Table, summary: Mapping[str, Any]) -> str:
    """What is wrong with the values of a table of runs: gaps, or nothing about what the summary speaks of."""
    for name in _COLUMNS.get(kind, {}):
        if rows[name].null_count:
            return f"the column `{name}` has gaps"
    if kind in ("flows", "link_series") and rows.num_rows:
        column, of = ("name", "flows") if kind == "flows" else ("link", "links")
        there = set(pc.unique(rows[column]).to_pylist())
        missing = [each["name"] for each in summary[of] if each["name"] not in there]
        if missing:
            return f"no rows of `{missing[0]}`, which summary.json has"
    return ""


def _fault(value: Any, shape: Shape, key: str = "") -> str:
    try:
        check(value, shape, key)
    except ShapeError as error:
        return str(error)
    return ""


def _fault_of_scenario(scenario: Mapping[str, Any]) -> str:
    """What shapes cannot say: quantities that are none, and a chain with more links back than there."""
    topology = scenario.get("topology") or {}
    if empty := [key for key, value in topology.items() if value is None]:
        return f"`scenario.topology.{empty[0]}` is null"
    chain = topology.get("chain") or {}
    if len(chain.get("reverse") or []) > len(chain.get("forward") or []):
        return "`scenario.topology.chain.reverse` has more links than `forward`"
    quantities = [("warmup", units.seconds, scenario.get("warmup"))]
    for name, flow in scenario["flows"].items():
        quantities.append((f"flows.{name}.tcp.mss", units.size, (flow.get("tcp") or {}).get("mss")))
    for key, read, text in quantities:
        try:
            if text is not None:
                read(text)
        except ValueError:
            return f"`scenario.{key}` is not a quantity"
    return ""


def _fault_of_numbers(item: Mapping[str, Any], place: str) -> str:
    """The places in an item that hold neither a number, nor null, nor an object of these."""
    for key, value in item.items():
        if key in ("name", "group", "flow", "ci95", "runs_differ"):
            continue
        fault = _fault(value, Each(_NUMBER) if isinstance(value, dict) else _NUMBER, f"{place}.{key}")
        if fault:
            return fault
    return ""
