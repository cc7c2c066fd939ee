"""Random scenarios from the published schema: whatever it allows, with values that make sense, and some that do not."""

import json
import random
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = Any

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "schema" / "scenario.schema.json").read_text(encoding="utf-8"))

QUANTITIES = {
    "a length of time": ["0 s", "1 ns", "3 us", "1 ms", "20 ms", "100 ms", "1 s", "1 h", "-1 s"],
    "a rate with": ["0 b/s", "1 b/s", "64 kb/s", "1 Mbit/s", "9.6 Mb/s", "10 Gb/s", "unlimited"],
    "an amount such": ["0 packets", "1 packets", "20 packets", "3 kB", "64 kB", "1 bdp", "0.1 bdp", "unlimited"],
    "an amount of data": ["0 B", "1 B", "40 B", "536 B", "1460 B", "64 kB", "1 GB"],
    "a frequency": ["0 Hz", "1 Hz", "30 Hz", "5 /s", "1000 /s"],
}
WORDS = ["a", "b", "reno", "forward", "é", "$x$", "\u202e", "a.b", "", "traces/lte-like.down", "/dev/null", "../x"]
MOST_DEPTH = 9


def scenario(rng: random.Random) -> Json:
    """A scenario; most are small and plausible, so that a good part of them is valid."""
    found = value(rng, SCHEMA, 0)
    if rng.random() < 0.8:
        found["duration"] = rng.choice(["100 ms", "1 s", "2 s", "0.37 s"])
        found["warmup"] = rng.choice(["0 s", "0 s", "50 ms"])
        found["seeds"] = rng.randint(1, 3)
        found.pop("tcp", None) if rng.random() < 0.7 else None
        found["schema_version"] = 1
    if rng.random() < 0.7:
        link = found.get("topology", {}).get("dumbbell", {}).get("forward", {})
        found["topology"] = {"dumbbell": {"forward": {"capacity": "2 Mbit/s", "delay": "5 ms", **_some(rng, link)}}}
        flows = found.get("flows") or {}
        found["flows"] = {f"f{i}": _some(rng, each) for i, each in enumerate([*flows.values(), {}][:3])}
    return found


def _some(rng: random.Random, table: Json) -> Json:
    """A few entries of a table: each adds to what may be wrong with it."""
    keep = rng.random() * 0.6
    return {key: each for key, each in table.items() if rng.random() < keep}


def value(rng: random.Random, schema: Json, depth: int) -> Json:
    """A value that the schema allows."""
    if "$ref" in schema:
        return value(rng, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return value(rng, rng.choice(schema[key]), depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    match kind:
        case "object":
            return _table(rng, schema, depth)
        case "array":
            count = rng.choice([0, 1, 2, 2, 3]) if depth < MOST_DEPTH else 0
            return [value(rng, schema.get("items", {}), depth + 1) for _ in range(count)]
        case "boolean":
            return rng.random() < 0.5
        case "integer":
            return rng.choice([0, 1, 1, 2, 3, 10, rng.randint(0, 100), rng.choice([2**31, 2**32])])
        case "number":
            return rng.choice([0, 0.001, 0.01, 0.1, 0.5, 1, 2.5, rng.random(), 1e9])
        case "string":
            return _text(rng, schema)
    return None


def _table(rng: random.Random, schema: Json, depth: int) -> Json:
    required = schema.get("required", [])
    # Tables within tables get thinner, or none would ever end.
    share = 0.5 / (1 + depth / 3)
    found = {
        key: value(rng, inner, depth + 1)
        for key, inner in schema.get("properties", {}).items()
        if key in required or (depth < MOST_DEPTH and rng.random() < share)
    }
    others = schema.get("additionalProperties")
    if isinstance(others, dict) and depth < MOST_DEPTH:
        for _ in range(rng.choice([1, 1, 2])):
            found[rng.choice(WORDS[:3]) if rng.random() < 0.9 else rng.choice(WORDS)] = value(rng, others, depth + 1)
    return found


def _text(rng: random.Random, schema: Json) -> str:
    if rng.random() < 0.03:
        return rng.choice(WORDS)
    said = schema.get("description", "")
    for begin, values in QUANTITIES.items():
        if said.startswith(begin):
            return rng.choice(values[1:]) if rng.random() < 0.9 else rng.choice(values)
    return str(rng.choice(schema.get("examples", WORDS[:4])))
