"""Changes of a scenario, each of one thing, on the tables that a file with all defaults has."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

Keys: TypeAlias = dict[str, Any]
Change: TypeAlias = Callable[[Keys], bool]
"""Changes a scenario, and says whether there was anything to change."""


def links(value: Any) -> Iterator[Keys]:
    """The tables of all links of a scenario."""
    if isinstance(value, dict):
        if "capacity" in value and "queue" in value:
            yield value
        for inner in value.values():
            yield from links(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from links(inner)


def flows(keys: Keys) -> Iterator[Keys]:
    """The `tcp` tables of all flows."""
    for flow in keys.get("flows", {}).values():
        if isinstance(flow.get("tcp"), dict):
            yield flow["tcp"]


def without_loss(keys: Keys) -> bool:
    """No link loses what it has sent."""
    lossy = [link for link in links(keys) if link.get("loss") not in (None, "none")]
    for link in lossy:
        link["loss"] = "none"
    return bool(lossy)


def times_the_buffer(factor: float) -> Change:
    """Each limit of a queue, times a factor; at least one packet."""

    def change(keys: Keys) -> bool:
        changed = False
        for link in links(keys):
            for options in link["queue"].values() if isinstance(link["queue"], dict) else ():
                if isinstance(options, dict) and (scaled := _scaled(options.get("limit"), factor)) is not None:
                    options["limit"] = scaled
                    changed = True
        return changed

    return change


def _scaled(limit: Any, factor: float) -> str | None:
    number, _, unit = str(limit).partition(" ")
    try:
        value = float(number) * factor
    except ValueError:
        return None
    if unit == "packets":
        return f"{max(1, round(value))} packets"
    return f"{value:g} {unit}" if unit else None


def with_fixed_capacity(mean_bps: Mapping[str, float]) -> Change:
    """Each capacity that varies is its mean, by the names of links."""

    def change(keys: Keys) -> bool:
        changed = False
        for name, link in _named(keys):
            varies = isinstance(link["capacity"], dict) and "constant" not in link["capacity"]
            if varies and mean_bps.get(name, 0.0) > 0:
                link["capacity"] = f"{round(mean_bps[name])} bit/s"
                changed = True
        return changed

    return change


def with_twice_the_capacity(mean_bps: Mapping[str, float]) -> Change:
    """Each link with a limit has twice its mean, and does not vary."""

    def change(keys: Keys) -> bool:
        changed = False
        for name, link in _named(keys):
            if mean_bps.get(name, 0.0) > 0:
                link["capacity"] = f"{round(2 * mean_bps[name])} bit/s"
                changed = True
        return changed

    return change


def _named(keys: Keys) -> Iterator[tuple[str, Keys]]:
    """The links with the names that results have."""
    topology = keys.get("topology", {})
    for kind in topology.values() if isinstance(topology, dict) else ():
        for key, link in kind.items() if isinstance(kind, dict) else ():
            if isinstance(link, dict) and "capacity" in link:
                yield key, link
            for name, inner in (
                link.items() if isinstance(link, dict) else enumerate(link) if isinstance(link, list) else ()
            ):
                if isinstance(inner, dict) and "capacity" in inner:
                    yield str(inner.get("name", name)), inner


def without_receive_window(keys: Keys) -> bool:
    """The receiver advertises as much as it can."""
    limited = [tcp for tcp in flows(keys) if tcp.get("receive_window") not in (None, "unlimited")]
    for tcp in limited:
        tcp["receive_window"] = "unlimited"
    return bool(limited)


def with_control(name: str) -> Change:
    """All flows have this congestion control."""

    def change(keys: Keys) -> bool:
        others = [tcp for tcp in flows(keys) if _name(tcp.get("congestion")) != name]
        for tcp in others:
            tcp["congestion"] = name
        return bool(others)

    return change


def with_queue(queue: Any) -> Change:
    """All links that have a limited capacity have this queue."""

    def change(keys: Keys) -> bool:
        changed = False
        for link in links(keys):
            if link["capacity"] in ("unlimited", {"constant": "unlimited"}) or _name(link["queue"]) == _name(queue):
                continue
            link["queue"] = json.loads(json.dumps(queue))
            changed = True
        return changed

    return change


def both(*changes: Change) -> Change:
    """Several changes at once."""
    return lambda keys: sum(change(keys) for change in changes) > 0


def _name(choice: Any) -> str:
    return next(iter(choice), "") if isinstance(choice, dict) else str(choice)
