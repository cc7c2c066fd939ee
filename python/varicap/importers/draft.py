"""A scenario that an importer puts together, with a comment for each thing, and the text that it becomes."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from varicap._printable import printable
from varicap.importers.source import MOST_ITEMS, Source

Toml: TypeAlias = str | int | float | bool | list[Any] | dict[str, Any]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 118


@dataclass
class Entry:
    """A table of the scenario: keys with their values, each with the comments that stand above it."""

    keys: dict[str, Toml] = field(default_factory=dict)
    comments: dict[str, list[str]] = field(default_factory=dict)
    """By key; those of the whole table under the empty one."""

    def set(self, key: str, value: Toml, comment: str = "") -> None:
        """Sets a key; what the file said of it before is replaced."""
        self.keys[key] = value
        self.comments[key] = [comment] if comment else []

    def say(self, comment: str, key: str = "") -> None:
        """A comment above a key, or above the whole."""
        self.comments.setdefault(key, []).append(comment)


@dataclass
class Draft:
    """What was understood of a file."""

    source: Source
    form: str
    top: Entry = field(default_factory=Entry)
    links: dict[str, Entry] = field(default_factory=dict)
    """By name, in order.  With `from` and `to` they are a graph; `forward` and `reverse` alone are a dumbbell."""
    flows: dict[str, Entry] = field(default_factory=dict)
    tcp: Entry = field(default_factory=Entry)
    left_out: list[tuple[int, str, str]] = field(default_factory=list)
    """Line, its text, and why a scenario does not express it."""
    remarks: list[str] = field(default_factory=list)
    """What a reader should know of the whole."""

    def leave_out(self, line: int, text: str, why: str) -> None:
        """Notes that a line of the file is not expressed."""
        if len(self.left_out) < MOST_ITEMS:
            self.left_out.append((line, " ".join(text.split()), why))

    def quote(self, line: int, text: str) -> str:
        """A comment that says where something comes from."""
        return f"line {line}: {' '.join(text.split())}"

    def link(self, name: str) -> Entry:
        """The link called so, new if there is none."""
        if name not in self.links and len(self.links) >= MOST_ITEMS:
            raise self.source.error(None, f"more than {MOST_ITEMS} links", "fewer")
        return self.links.setdefault(name, Entry())

    def flow(self, name: str) -> Entry:
        """The flow called so, new if there is none."""
        if name not in self.flows and len(self.flows) >= MOST_ITEMS:
            raise self.source.error(None, f"more than {MOST_ITEMS} flows", "fewer")
        return self.flows.setdefault(name, Entry())

    def toml(self) -> str:
        """The scenario as a file, with its comments."""
        lines = [f"# From {self.source.file} ({self.form}), by `varicap import`."]
        for remark in self.remarks:
            lines += _comment(remark)
        if self.left_out:
            lines += ["#", "# Not expressed here:"]
            for line, text, why in self.left_out:
                lines += _comment(f"line {line}: {text} — {why}")
        lines.append("")
        lines += _body(self.top)
        if self.tcp.keys:
            lines += _table("tcp", self.tcp)
        is_graph = any("from" in link.keys for link in self.links.values())
        for name, link in self.links.items():
            lines += _table(f"topology.{'graph.links' if is_graph else 'dumbbell'}.{_key(name)}", link)
        for name, flow in self.flows.items():
            lines += _table(f"flows.{_key(name)}", flow)
        return "\n".join(lines) + "\n"


def _table(name: str, entry: Entry) -> list[str]:
    lines = [""]
    for comment in entry.comments.get("", []):
        lines += _comment(comment)
    return [*lines, f"[{name}]", *_body(entry)]


def _body(entry: Entry) -> list[str]:
    lines = []
    for key, value in entry.keys.items():
        for comment in entry.comments.get(key, []):
            lines += _comment(comment)
        lines.append(f"{_key(key)} = {inline(value)}")
    return lines


def _comment(text: str) -> list[str]:
    """A comment of one or more lines; what came with a file cannot end it."""
    words, lines = printable(text).split(" "), [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) > _WIDTH:
            lines.append("  " + word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return [f"# {line}".rstrip() for line in lines]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else text(name)


def text(value: str) -> str:
    """A string of TOML."""
    return json.dumps(printable(value).encode("utf-8", "replace").decode(), ensure_ascii=False)


def inline(value: Toml) -> str:
    r"""A value of TOML on one line.

    >>> inline({"drop-tail": {"limit": "5 packets", "a b": [1, 2.5, True]}})
    '{ drop-tail = { limit = "5 packets", "a b" = [1, 2.5, true] } }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {inline(inner)}" for key, inner in value.items()) + " }"
    return repr(value)
