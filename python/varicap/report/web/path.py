"""A picture of the path: nodes in a row, an arrow for each link, the flows below."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from varicap.report import story
from varicap.report.web import captions
from varicap.report.web.markup import Markup, joined, tag
from varicap.report.web.source import Route, Source

_GAP = 190
_LEAST = 260  # from the first node to the last, which a telephone has room for
_LETTERS = 34
_MARGIN = 70
_RADIUS = 15
_MOST_NODES = 24
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
    text = "; ".join(f"{link.name} from {link.begin} to {link.end}: {_told(link)}" for link in links)
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
        _centred(_told(link), x, facts, "tick"),
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


def _told(link: Link) -> str:
    """Capacity and delay of a link, in the room of an arrow."""
    capacity, delay = link.keys.get("capacity") or "unlimited", link.keys.get("delay") or "0 s"
    return f"{captions.short(capacity)}, {captions.short(delay)}"


def tables(source: Source) -> Markup:
    """The links and the flows, with what matters of each."""
    links = [
        (
            link.name,
            f"{link.begin} → {link.end}",
            captions.capacity(link.keys.get("capacity")),
            captions.delay(link.keys.get("delay")),
            captions.queue(link.keys.get("queue") or source.queues.get(link.name, "–")),
            captions.loss(link.keys.get("loss")),
        )
        for link in links_of(source.scenario)
    ]
    flows = [
        (
            name,
            str(flow.get("count", 1)),
            _route(source.routes.get(name)),
            captions.tcp(flow),
            captions.app(flow.get("app")),
        )
        for name, flow in (source.scenario.get("flows") or {}).items()
    ]
    differ = story.distinctions(source.scenario)
    apart = [
        (name, *(captions.apart(of[name], list(of.values())) for of in differ.values()))
        for name in (source.scenario.get("flows") or {})
    ]
    return joined(
        rows(("link", "from → to", "capacity", "delay", "queue", "loss"), links),
        rows(("flow", "flows", "links", "TCP", "application"), flows),
        joined(tag("h3", "What distinguishes the flows"), rows(("flow", *differ), apart)) if differ else Markup(),
    )


def _route(route: Route | None) -> str:
    return "–" if route is None else " → ".join(route.there)


def rows(headings: tuple[str, ...] | list[str], body: list[Any], numeric: bool = False) -> Markup:
    """A table: numbers scroll by themselves where it is wider than the screen, words become a card for each row."""
    head = tag("thead", tag("tr", *(tag("th", heading, scope="col") for heading in headings)))
    lines = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(
                tag("td", cell, class_="short" if len(cell) <= 22 else None, data_of=None if numeric else heading)
                for heading, cell in zip(headings[1:], row[1:], strict=True)
            ),
        )
        for row in body
        if row
    ]
    table = tag("table", head, tag("tbody", *lines), class_="numbers" if numeric else "words")
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=f"Table by {headings[0]}")
