"""Experiments of Kollaps in XML: services, bridges, links and what happens when."""

import re
from collections.abc import Mapping
from xml.parsers import expat

from varicap.importers.draft import Draft, Toml
from varicap.importers.source import MOST_ITEMS, Source, nanoseconds, number, rate, share

_RATE = re.compile(r"([0-9.]+)\s*([KMG]?)bps")
_DEEPEST = 50


class _Element:
    """An element with its line."""

    def __init__(self, name: str, attributes: dict[str, str], line: int) -> None:
        self.name, self.attributes, self.line = name, attributes, line

    def text(self) -> str:
        """As it is written, about."""
        return f"<{self.name} {' '.join(f'{key}={value!r}' for key, value in self.attributes.items())}>"


def _elements(source: Source) -> list[_Element]:
    """All elements in order.  A document type, and so each entity of its own, is refused."""
    found: list[_Element] = []
    parser = expat.ParserCreate()
    depth = 0

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST or len(found) > 20 * MOST_ITEMS:
            raise source.error(parser.CurrentLineNumber, f"<{name}>", "fewer elements, and not so deep")
        found.append(_Element(name, attributes, parser.CurrentLineNumber))

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(name: str, *_: object) -> None:
        raise source.error(parser.CurrentLineNumber, f"<!DOCTYPE {name}", "no document type: it may define entities")

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(re.sub(r"^\s*<\?xml[^>]*\?>", lambda match: "\n" * match[0].count("\n"), source.text), True)
    except expat.ExpatError as error:
        lines = source.lines
        line = min(error.lineno, len(lines))
        raise source.error(line, lines[line - 1].strip(), f"XML: {expat.ErrorString(error.code)}") from None
    return found


def draft(source: Source, _given: Mapping[str, str]) -> Draft:
    """What an experiment says, as a scenario."""
    made = Draft(source, "Kollaps")
    elements = _elements(source)
    if not elements or elements[0].name != "experiment":
        raise source.error(1, elements[0].text() if elements else "", "<experiment>")
    services: dict[str, _Element] = {}
    joins: dict[str, float] = {}
    leaves: dict[str, float] = {}
    for element in elements[1:]:
        if element.name == "service":
            services[element.attributes.get("name", "")] = element
        elif element.name == "link":
            _link(made, element)
        elif element.name == "schedule":
            _schedule(made, element, joins, leaves)
    if not made.links:
        raise source.error(None, "no <link>", "links with an origin and a dest")
    ends = {end for link in made.links.values() for end in (link.keys["from"], link.keys["to"])}
    servers = [name for name, each in services.items() if name in ends and not _is_client(each)]
    for name, service in services.items():
        if name not in ends:
            continue
        if _is_client(service) and servers:
            _flow(made, service, servers[0], joins.get(name), leaves.get(name))
    if not made.flows:
        nodes = [str(link.keys[end]) for link in made.links.values() for end in ("from", "to")]
        first, *_, last = dict.fromkeys(nodes)
        flow = made.flow("flow")
        flow.say("Assumed: no service is a client; one transfer without end from the first node to the last.")
        flow.keys.update({"from": first, "to": last})
        flow.set("tcp", {"stack": "linux"})
    if leaves:
        made.top.set("duration", f"{max(leaves.values()):.9g} s", "when the last service leaves")
    else:
        made.top.set("duration", "60 s", "the file does not say when it ends: this is assumed")
    made.remarks.append("Kollaps shares links by a formula (RTT-aware max-min); here packets queue at each link.")
    return made


def _is_client(service: _Element) -> bool:
    said = service.attributes
    return "client" in said.get("name", "") + said.get("image", "")


def _link(made: Draft, element: _Element) -> None:
    said = element.attributes
    a, b = said.get("origin", ""), said.get("dest", "")
    if not a or not b or a == b:
        raise made.source.error(element.line, element.text(), "a link with an `origin` and another `dest`")
    comment = made.quote(element.line, element.text())
    for key in said.keys() - {"origin", "dest", "latency", "upload", "download", "drop", "jitter", "network"}:
        made.leave_out(element.line, element.text(), f"the attribute `{key}`")
    for one, other, direction in ((a, b, "upload"), (b, a, "download")):
        if direction not in said:
            continue
        name = f"{one}-{other}"
        if name in made.links:
            made.leave_out(element.line, element.text(), "a second link between the same two")
            return
        link = made.link(name)
        link.keys.update({"from": one, "to": other})
        link.say(comment)
        link.set("capacity", _rate(made, element, said[direction]))
        delay: Toml = nanoseconds(_number(made, element, "latency", 0.0) * 1e6)
        if jitter := _number(made, element, "jitter", 0.0):
            delay = {"netem": {"delay": delay, "jitter": nanoseconds(jitter * 1e6), "distribution": "normal"}}
            link.set("reorder", True, "netem lets packets overtake each other")
        link.set("delay", delay)
        if lost := _number(made, element, "drop", 0.0):
            if lost > 1:
                raise made.source.error(element.line, lost, "a `drop` from 0 to 1")
            link.set("loss", share(lost))


def _number(made: Draft, element: _Element, key: str, default: float) -> float:
    if key not in element.attributes:
        return default
    value = number(element.attributes[key].strip())
    if value is None:
        raise made.source.error(element.line, f'{key}="{element.attributes[key]}"', "a number")
    return value


def _rate(made: Draft, element: _Element, text: str) -> str:
    match = _RATE.fullmatch(text.strip())
    value = number(match[1]) if match else None
    if match is None or not value:
        raise made.source.error(element.line, text, "a rate such as 100Mbps, above 0")
    return rate(value * {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}[match[2]])


def _schedule(made: Draft, element: _Element, joins: dict[str, float], leaves: dict[str, float]) -> None:
    said = element.attributes
    action, name = said.get("action"), said.get("name")
    when = _number(made, element, "time", 0.0)
    if name is not None and action == "join":
        joins.setdefault(name, when)
    elif name is not None and action in ("leave", "crash"):
        leaves[name] = max(when, leaves.get(name, 0.0))
    else:
        made.leave_out(element.line, element.text(), "a change of a link in between")


def _flow(made: Draft, client: _Element, server: str, start: float | None, stop: float | None) -> None:
    name = client.attributes["name"]
    command = client.attributes.get("command", "")
    flow = made.flow(name)
    flow.say(made.quote(client.line, client.text()))
    flow.keys.update({"from": name, "to": server})
    if start:
        flow.set("start", f"{start:.9g} s")
    if stop is not None and stop > (start or 0.0):
        flow.set("stop", f"{stop:.9g} s")
    told = f"; its command is {command}" if command else ""
    flow.set("tcp", {"stack": "linux"}, f"assumed: one transfer without end{told}")
