"""A script of packetdrill's language as values: what happens, in order, and when."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

from varicap.interface import PrintableError

MOST_OF_A_SCRIPT = 16_000_000
"""The longest file that is read [B]."""


class ScriptError(PrintableError, ValueError):
    """A script that cannot be read; the text begins with the file, the line and the column."""

    def __init__(self, name: str, line: int, column: int, message: str) -> None:
        super().__init__(f"{name}:{line}:{column}: {message}")
        self.name, self.line, self.column, self.message = name, line, column, message


class LacksError(Exception):
    """The script has come to something that varicap does not have; the text says what."""


class Timing(Enum):
    """How an event's time is given."""

    ABSOLUTE = auto()
    RELATIVE = auto()
    ANY = auto()


@dataclass(frozen=True)
class When:
    """The time of an event [µs]: since the beginning, or since the event before; at the latest `until`, for a range."""

    timing: Timing
    at: int = 0
    until: int | None = None


@dataclass(frozen=True)
class Lack:
    """Something that a script needs and varicap does not have."""

    line: int
    what: str


@dataclass(frozen=True)
class Stamp:
    """A timestamps option: the sender's clock, and the peer's as it was last heard."""

    value: int
    echo: int


@dataclass(frozen=True)
class Options:
    """TCP options of a segment; padding and order are not kept."""

    mss: int | None = None
    window_scale: int | None = None
    sack_ok: bool = False
    stamp: Stamp | None = None
    sack: tuple[tuple[int, int], ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    """The fields of an AccECN option, each with its name: ``e0b``, ``ceb`` and ``e1b``."""

    def __str__(self) -> str:
        parts = []
        if self.mss is not None:
            parts.append(f"mss {self.mss}")
        if self.sack_ok:
            parts.append("sackOK")
        if self.stamp is not None:
            parts.append(f"TS val {self.stamp.value} ecr {self.stamp.echo}")
        if self.window_scale is not None:
            parts.append(f"wscale {self.window_scale}")
        if self.counts:
            parts.append("ECN " + " ".join(f"{name} {value}" for name, value in self.counts))
        if self.sack:
            parts.append("sack " + " ".join(f"{start}:{end}" for start, end in self.sack))
        return f"<{','.join(parts)}>" if parts else ""


@dataclass(frozen=True)
class Packet:
    """A TCP segment of a script, or one that was sent; sequence numbers are relative to the initial ones."""

    is_inbound: bool
    flags: str
    """Of ``SFRPUEWA``, in this order, and ``.`` for ACK at the end."""
    start: int
    length: int
    ack: int | None = None
    window: int | None = None
    options: Options | None = field(default_factory=Options)
    """None: anything (``<...>``)."""
    ecn: str | None = None
    """The ECN bits of the IP header: ``noecn``, ``ect0``, ``ect1``, ``ce`` or ``ect01``; None: not said."""
    is_counted: bool = False
    """The flags ``EWA`` of a segment that was sent are a count (RFC 9768), and not each a flag of its own."""

    @property
    def end(self) -> int:
        """The sequence number after the data, without SYN and FIN."""
        return self.start + self.length

    @property
    def stamp(self) -> Stamp | None:
        """The timestamps that it carries, if it does."""
        return None if self.options is None else self.options.stamp

    def __str__(self) -> str:
        parts = ["<" if self.is_inbound else ">"]
        if self.ecn is not None:
            parts.append(f"[{self.ecn}]")
        parts += [self.flags or "-", f"{self.start}:{self.end}({self.length})"]
        if self.ack is not None:
            parts.append(f"ack {self.ack}")
        if self.window is not None:
            parts.append(f"win {self.window}")
        options = "<...>" if self.options is None else str(self.options)
        return " ".join([*parts, options] if options else parts)


@dataclass(frozen=True)
class Word:
    """A name in an argument, such as ``SOL_SOCKET`` (a string would be in quotes)."""

    name: str


@dataclass(frozen=True)
class Named:
    """``name = value`` or ``name(size) = value`` in an argument."""

    name: str
    value: "Value"


class Anything:
    """``...`` in an argument."""

    def __repr__(self) -> str:
        return "..."


ANYTHING = Anything()

Value: TypeAlias = "int | str | Word | Named | Anything | Sequence[Value]"


@dataclass(frozen=True)
class Call:
    """A system call, what it must return and, if it may block, when it must return."""

    name: str
    arguments: tuple[Value, ...]
    result: Value
    error: str | None = None
    """The name of the error that it must end with, such as ``EAGAIN``."""
    until: int | None = None
    """The time of its return [µs], as the time of the event is given; None: it must not block."""

    def __str__(self) -> str:
        result = f"{shown(self.result)}{f' {self.error}' if self.error else ''}"
        return f"{self.name}({', '.join(map(shown, self.arguments))}) = {result}"


@dataclass(frozen=True)
class Code:
    """A block ``%{ … }%`` of assertions."""

    text: str

    def __str__(self) -> str:
        first, *more = self.text.strip().splitlines() or [""]
        return f"%{{ {first}{' …' if more else ''} }}%"


@dataclass(frozen=True)
class Command:
    """A shell command, which is read for settings and never executed."""

    text: str

    def __str__(self) -> str:
        first, *more = self.text.strip().splitlines() or [""]
        return f"`{first}{' …' if more else ''}`"


Action: TypeAlias = Packet | Call | Code | Command


@dataclass(frozen=True)
class Event:
    """Something that happens, and where the script says so."""

    line: int
    when: When
    action: Action


@dataclass(frozen=True)
class Script:
    """A script: its options, the command before it, its events, and what it needs that cannot even be read."""

    name: str
    options: dict[str, str]
    start: Command | None
    events: tuple[Event, ...]
    lacks: tuple[Lack, ...] = ()


def shown(value: Value) -> str:
    """A value as the script writes it."""
    match value:
        case Word(name):
            return name
        case Named(name, inner):
            return f"{name}={shown(inner)}"
        case str():
            return f'"{value}"'
        case int() | Anything():
            return repr(value)
        case _:
            return f"[{', '.join(map(shown, value))}]"
