"""No key of a scenario is passed over in silence: what a model has not taken into account strains its answer.

A model declares the keys that it knows, each by name, so that a key that is new to the format is known to none.  A key
is in force if the scenario gives it or the flow's `tcp.stack` sets it; what is in force, not declared, and not what the
standards' stack (`rfc`) would have without it, is named with its value.

Names are relative: ``tcp.timer`` is of the flow, ``link.queue`` of a link to the receiver, ``back.queue`` of a link
back to the sender, ``duration`` of the whole scenario.  A name stands for itself, not for the keys below it.  With a
value, as in ``tcp.timer = linux``, the key is known with that value only.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import varicap._core as _core


class Key(NamedTuple):
    """A key in force."""

    name: str
    """Its name as models declare it."""
    path: str
    """Where it stands in the scenario."""
    value: str
    """Its value, as ``varicap run --explain`` shows it."""


def table(where: str, *keys: str) -> frozenset[str]:
    """The names of keys that stand in one table."""
    return frozenset(f"{where}.{key}" for key in keys)


COMMON = (
    frozenset({"schema_version", "name", "description", "seeds", "seed", "isolate", "topology"})
    # `rough` looks at these.
    | {"duration", "warmup"}
    | table("record", "sample", "series", "packets", "packet_limit")
    # Which links the flow takes, how long they are, and whether others take them: `FlowPath` knows it.
    | {"count", "from", "to", "backward", "via", "via_back", "access_delay", "tcp.stack"}
    | table("link", "name", "from", "to", "delay")
    | table("back", "name", "from", "to", "delay")
    | {"start", "start_spread", "jitter"}
    # Without effect where nothing is paced, and what paces is a key of its own.
    | {"tcp.pacing_credit"}
    # Comes after all that models know of.
    | {"tcp.fin"}
)
"""What holds of every model: a flow of the long run over the links of its route."""

PACKETS = table("tcp", "mss", "header", "count_options", "timestamps") | table(
    "link.framing", "overhead", "cells", "cells.payload", "cells.size"
)
"""What makes the size of a packet on its link."""

BEGINNING = table("tcp", "initial_window", "initial_ssthresh", "handshake", "handshake_ack", "after_lost_syn")
"""What ends with the first slow start."""

GREEDY = {"app"} | table("tcp", "nagle", "window_probe", "restart_after_idle", "validation", "grow_when")
"""What is without effect on a flow that always has full segments to send."""

BOTTLENECK = (
    table("link", "capacity", "service")
    | table("link.queue", "drop-tail.limit", "drop-tail.counts_in_service")
    | {"link.queue"}
    # Acknowledgements do not queue: `one_bottleneck` has looked.
    | table("back", "capacity", "service", "queue")
    | table("back.queue", "drop-tail.limit", "drop-tail.counts_in_service")
)
"""The links of a flow alone on a link with a drop-tail buffer."""

ACKNOWLEDGEMENTS = {"tcp.ack"} | table(
    "tcp.ack.delayed",
    "segments",
    "timeout",
    "maximum",
    "quick",
    "count_bytes",
    "short_at_once",
    "pushed_at_once",
    "sack_compression",
    "autotuning",
    "hertz",
)
"""Delayed acknowledgements, where data keeps coming."""


def in_force(rows: Sequence[Mapping[str, Any]], links: Mapping[str, str], flow: str) -> Iterator[Key]:
    """The keys in force for a flow, from the rows of ``varicap run --explain``.

    `links` has the path of each link of its route, and ``link`` or ``back``; `flow` is the flow's path.
    """
    tables = {**links, flow: ""}
    for row in rows:
        path = row["key"]
        if path.startswith("resolved.") or not (row["given"] or (row["place"] or "").startswith("stack ")):
            continue
        owner = next((table for table in tables if path.startswith(f"{table}.")), None)
        if owner is not None:
            inside = path[len(owner) + 1 :]
            yield Key(f"{tables[owner]}.{inside}" if tables[owner] else inside, path, row["value"])
        elif path == "topology" or not path.startswith(("flows.", "topology.")):
            yield Key(path, path, row["value"])


NOT_READ: Final = "\0"
"""Stands for the default of a key without which the scenario cannot be read."""


def defaults(scenario: _core.Scenario, keys: Sequence[str]) -> dict[str, str | None]:
    """What the standards' stack has where these keys are not given: none if nothing, `NOT_READ` if that is no scenario.

    The keys are left out together, since reading the scenario is most of what an answer costs: the default of one does
    not depend on another, unless it is a choice, with the options of another choice below it.
    """
    if not keys:
        return {}
    document: Any = json.loads(scenario.to_json())
    document.pop("tcp", None)
    for flow in document["flows"].values():
        if "tcp" in flow:
            flow["tcp"]["stack"] = "rfc"
    tables = {key: _table_of(document, key) for key in keys}
    is_below = any(one != other and one.startswith(f"{other}.") for one in keys for other in keys)
    for at, word in tables.values():
        if isinstance(at, dict):
            at.pop(word, None)
    try:
        if is_below:
            raise _core.ScenarioError("one by one")
        without = _core.Scenario.from_json(json.dumps(document), scenario.name, scenario.base_dir, [])
    except _core.ScenarioError:
        return (
            dict.fromkeys(keys, NOT_READ) if len(keys) == 1 else {key: defaults(scenario, [key])[key] for key in keys}
        )
    values = {row["key"]: row["value"] for row in json.loads(without.explain())}
    return {key: values.get(key) if at is not None else None for key, (at, _) in tables.items()}


def unknown(
    scenario: _core.Scenario,
    keys: Sequence[Key],
    declared: frozenset[str],
    defaults: Callable[[_core.Scenario, Sequence[str]], Mapping[str, str | None]] = defaults,
) -> Iterator[str]:
    """Each key that a model with these declarations has not taken into account, with its value."""
    known = COMMON | declared
    strange = [key for key in keys if key.name not in known and f"{key.name} = {key.value}" not in known]
    without = defaults(scenario, [key.path for key in strange])
    for key in strange:
        if key.value != without[key.path]:
            yield f"{key.path} = {key.value}: the model takes no account of it"


@lru_cache(maxsize=4096)
def words(key: str) -> tuple[str, ...]:
    """The words of a dotted path, of which some may be in quotes; one scenario after the other has the same.

    >>> words('flows."a.b".tcp')
    ('flows', 'a.b', 'tcp')
    """
    found: list[str] = []
    place: Any = tomllib.loads(f"{key} = 0")
    while isinstance(place, dict):
        ((word, place),) = place.items()
        found.append(word)
    return tuple(found)


def _table_of(document: Any, key: str) -> tuple[Any, str]:
    """The table, or list, of a document that has a key, and the key's name in it; none if there is no such table."""
    *tables, name = words(key)
    at = document
    for word in tables:
        at = at[int(word)] if isinstance(at, list) else at.get(word)
        if not isinstance(at, dict | list):
            return None, name
    return at, name
