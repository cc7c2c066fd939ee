"""A picture of the path: nodes in a row, an arrow for each link, the flows below."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from varicap.report import story
from varicap.report.web.markup import Markup, joined, tag
from varicap.report.web.source import Route, Source

_GAP = 190
_LEAST = 260  # from the first node to the last, which a telephone has room for
_LETTERS = 34
_MARGIN = 70
_RADIUS = 15
_MOST_NODES = 24
_FEW_RATES = 3
_KINDS = {
    "steps": "changing in steps",
    "markov": "changing at random",
    "slotted-markov": "changing at random, in slots",
    "sessions": "what sessions leave",
    "load-reactive": "following the load",
}
"""Capacities in words, where they have no file and too many rates to name."""
_UNLIMITED = {"capacity": "unlimited", "loss": "none"}


@dataclass(frozen=True)
class Link:
    """A link between two nodes."""

    name: str
    begin: str
    end: str
    keys: Mapping[str, Any]


def links_of(scenario: Mapping[str, Any]) -> list[Link]:
    """The links of a scenario, and where each begins and ends.

    >>> [link.end for link in links_of({"topology": {"dumbbell": {"forward": {}}}})]
    ['receivers', 'senders']
    """
    topology = scenario.get("topology") or {}
    if "dumbbell" in topology:
        ends = ("senders", "receivers")
        both = (("forward", *ends), ("reverse", *ends[::-1]))
        parts = topology["dumbbell"]
        return [
            Link(_name(parts, key), begin, end, _with_delay(parts.get(key) or _UNLIMITED, parts["forward"]))
            for key, begin, end in both
        ]
    if "chain" in topology:
        return list(_chain(topology["chain"]))
    if "graph" in topology:
        links = topology["graph"].get("links") or {}
        return [
            Link(str(link.get("name") or name), str(link["from"]), str(link["to"]), link)
            for name, link in links.items()
        ]
    return []


def _chain(chain: Mapping[str, Any]) -> Iterator[Link]:
    forward = chain.get("forward") or []
    # Default: unlimited, with the delays of the forward links.
    reverse = chain.get("reverse") or [_UNLIMITED] * len(forward)
    for number, link in enumerate(forward, 1):
        yield Link(str(link.get("name") or f"forward.{number}"), f"n{number - 1}", f"n{number}", link)
    for number, link in enumerate(reverse, 1):
        keys = _with_delay(link, forward[number - 1])
        yield Link(str(link.get("name") or f"reverse.{number}"), f"n{number}", f"n{number - 1}", keys)


def _with_delay(keys: Mapping[str, Any], forward: Mapping[str, Any]) -> dict[str, Any]:
    """A link; where it gives no delay it has that of the forward link."""
    return {**keys, "delay": keys.get("delay") or forward.get("delay")}


def _name(parts: Mapping[str, Any], key: str) -> str:
    return str((parts.get(key) or {}).get("name") or key)


def picture(source: Source) -> Markup:
    """The path as a drawing with a text in its place; nothing if the scenario is not known."""
    links = links_of(source.scenario)
    nodes = list(dict.fromkeys(node for link in links for node in (link.begin, link.end)))
    if not links or len(nodes) > _MOST_NODES:
        return Markup()
    across = {node: _MARGIN + place * max(_GAP, _LEAST // (len(nodes) - 1 or 1)) for place, node in enumerate(nodes)}
    levels = _levels(links, nodes)
    height = 14 + 32 * max(levels)
    drawn = [_arrow(link, across, height, level) for link, level in zip(links, levels, strict=True)]
    circles = [
        tag("g", tag("circle", cx=x, cy=height, r=_RADIUS, class_="node"), _centred(node, x, height + 33, "name"))
        for node, x in across.items()
    ]
    width = max(across.values()) + _MARGIN
    text = "; ".join(
        f"{link.name} from {link.begin} to {link.end}: {_capacity(link.keys)}, {_delay(link)}" for link in links
    )
    return tag(
        "svg",
        tag("title", f"The path. {text}."),
        _heads(),
        *drawn,
        *circles,
        viewBox=f"0 0 {width} {2 * height + 16}",
        role="img",
        class_="path",
        style=f"min-width: {round(0.75 * width)}px; max-width: {round(1.15 * width)}px",
        xmlns="http://www.w3.org/2000/svg",
    )


def _levels(links: list[Link], nodes: list[str]) -> list[int]:
    """How high each arrow goes: as far as it spans, and above those between the same nodes."""
    levels: list[int] = []
    for place, link in enumerate(links):
        alike = [each for each in links[:place] if (each.begin, each.end) == (link.begin, link.end)]
        levels.append(abs(nodes.index(link.end) - nodes.index(link.begin)) + len(alike))
    return levels


def _arrow(link: Link, across: Mapping[str, float], middle: float, level: int) -> Markup:
    """An arrow above for links to the right, below for those to the left; an arc unless it goes to the next node."""
    begin, end = across[link.begin], across[link.end]
    side = -1 if end > begin else 1
    edge = _RADIUS + 5
    if level <= 1:
        at = middle + 6 * side
        line = f"M{begin - edge * side} {at}H{end + edge * side}"
    else:
        at = middle + side * (edge + 30 * (level - 1))
        foot, top = middle + side * edge, 2 * at - (middle + side * edge)
        line = f"M{begin} {foot}Q{(begin + end) / 2} {top} {end} {foot}"
    x = (begin + end) / 2
    name, facts = (at - 19, at - 6) if side < 0 else (at + 16, at + 29)
    return tag(
        "g",
        tag("path", d=line, class_="link", marker_end="url(#arrow)"),
        _centred(link.name, x, name, "name"),
        _centred(f"{_capacity(link.keys)}, {_delay(link)}", x, facts, "tick"),
    )


def _heads() -> Markup:
    head = tag("path", d="M0 0L7 3.5L0 7z", class_="head")
    marker = tag(
        "marker", head, id="arrow", viewBox="0 0 7 7", refX=6, refY=3.5, markerWidth=7, markerHeight=7, orient="auto"
    )
    return tag("defs", marker)


def _centred(text: str, x: float, y: float, kind: str) -> Markup:
    return tag(
        "text",
        text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…",
        x=x,
        y=y,
        text_anchor="middle",
        class_=kind,
    )


def _capacity(keys: Mapping[str, Any]) -> str:
    value = _plain(keys.get("capacity")) or "unlimited"
    if not isinstance(value, dict):
        return str(value)
    kind, parts = next(iter(value.items()), ("", {}))
    parts = parts if isinstance(parts, dict) else {}
    if "file" in parts:
        return f"trace {str(parts['file']).rsplit('/', 1)[-1]}"
    rates = parts.get("rates")
    if isinstance(rates, list) and 0 < len(rates) <= _FEW_RATES:
        return f"changing, {_and([str(rate) for rate in rates])}"
    return _KINDS.get(kind, str(kind).replace("-", " "))


def _plain(value: Any) -> Any:
    """A capacity or a delay; one that is constant as its value alone."""
    while isinstance(value, dict) and len(value) == 1 and "constant" in value:
        value = value["constant"]
    return value


def _delay(link: Link) -> str:
    delay = _plain(link.keys.get("delay") or "0 s")
    return next(iter(delay)) if isinstance(delay, dict) else str(delay)


def details(value: Any) -> str:
    """A choice with its parameters in one line.

    >>> details({"drop-tail": {"limit": "10 packets", "counts_in_service": True}})
    'drop-tail: limit 10 packets, counts in service: yes'
    >>> details({"mean_holding": ["15 s", "2 s"]})
    'mean holding 15 s and 2 s'
    """
    if isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), dict):
        ((name, keys),) = value.items()
        return f"{name}: {details(keys)}" if keys else str(name)
    if isinstance(value, dict):
        return ", ".join(_detail(key.replace("_", " "), each) for key, each in value.items() if each is not None)
    if isinstance(value, list):
        return _and([details(each) for each in value])
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _detail(key: str, value: Any) -> str:
    return f"{key}{':' if isinstance(value, bool) else ''} {details(value)}"


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def tables(source: Source) -> Markup:
    """The links and the flows, with what matters of each."""
    links = [
        (
            link.name,
            f"{link.begin} → {link.end}",
            *(details(_plain(link.keys.get(key)) or "–") for key in ("capacity", "delay")),
            details(link.keys.get("queue") or source.queues.get(link.name, "–")),
            details(link.keys.get("loss") or "–"),
        )
        for link in links_of(source.scenario)
    ]
    flows = [
        (name, str(flow.get("count", 1)), _route(source.routes.get(name)), _tcp(flow), details(flow.get("app") or "–"))
        for name, flow in list((source.scenario.get("flows") or {}).items())
    ]
    differ = story.distinctions(source.scenario)
    apart = [
        (name, *(_apart(of[name], list(of.values())) for of in differ.values()))
        for name in (source.scenario.get("flows") or {})
    ]
    return joined(
        rows(("link", "from → to", "capacity", "delay", "queue", "loss"), links),
        rows(("flow", "flows", "links", "TCP", "application"), flows),
        joined(tag("h3", "What distinguishes the flows"), rows(("flow", *differ), apart)) if differ else Markup(),
    )


def _apart(value: Any, values: list[Any]) -> str:
    """What distinguishes a value from the others: its name, if that does.

    >>> cubic, reno = {"cubic": {"beta": 0.7}}, {"reno": {}}
    >>> _apart(cubic, [cubic, reno]), _apart(cubic, [cubic, {"cubic": {"beta": 0.5}}])
    ('cubic', 'cubic: beta 0.7')
    """
    if value is None:
        return "–"
    names = [next(iter(each)) if isinstance(each, dict) and len(each) == 1 else None for each in values]
    several = {repr(each): name for each, name in zip(values, names, strict=True)}
    if isinstance(value, dict) and None not in names and len(set(names)) == len(several):
        return str(next(iter(value)))
    return details(value)


def _route(route: Route | None) -> str:
    return "–" if route is None else " → ".join(route.there)


def _tcp(flow: Mapping[str, Any]) -> str:
    if flow.get("datagrams"):
        return f"none: datagrams, {details(flow['datagrams'])}"
    tcp = flow.get("tcp") or {}
    return ", ".join(details(tcp[key]) for key in ("recovery", "congestion") if key in tcp)


def rows(headings: tuple[str, ...] | list[str], body: list[Any], numeric: bool = False) -> Markup:
    """A table that scrolls by itself where it is wider than the screen."""
    head = tag("thead", tag("tr", *(tag("th", heading, scope="col") for heading in headings)))
    lines = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(tag("td", cell, class_="short" if len(cell) <= 22 else None) for cell in row[1:]),
        )
        for row in body
        if row
    ]
    table = tag("table", head, tag("tbody", *lines), class_="numbers" if numeric else None)
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=f"Table by {headings[0]}")
