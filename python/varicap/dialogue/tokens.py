"""The words of packetdrill's language, each with its place in the file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from varicap.dialogue.script import ScriptError
from varicap.interface import left

_KINDS = re.compile(
    r"""
      (?P<space>\s+ | //[^\n]* | /\*.*?\*/)
    | (?P<code>%\{.*?\}%)
    | (?P<shell>`(?:\\.|[^`\\])*`)
    | (?P<text>"(?:\\.|[^"\\])*")
    | (?P<anything>\.\.\.)
    | (?P<option>--[A-Za-z0-9_]+)
    | (?P<address>[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+(?:/[0-9]+)?)
    | (?P<hex>0x[0-9A-Fa-f]+)
    | (?P<float>-?[0-9]*\.[0-9]+)
    | (?P<word>[0-9]*[A-Za-z_][A-Za-z0-9_]*)
    | (?P<integer>-?[0-9]+)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_BETWEEN_QUESTIONS = 1 << 12
"""Words after which is asked whether limits are kept."""
_OPEN = {"%{": "a block of code", "`": "a shell command", '"': "a string", "/*": "a comment"}


@dataclass(frozen=True)
class Token:
    """A word of a script; at the end of the file the kind is `end`."""

    kind: str
    text: str
    line: int
    column: int
    start: int
    """Where it begins in the text, to see whether two words touch."""

    @property
    def inside(self) -> str:
        """What stands between the delimiters of a string, a command or a block of code."""
        size = 2 if self.kind == "code" else 1
        return self.text[size:-size]


def tokens(name: str, text: str) -> Iterator[Token]:
    """The words of a script, and an end."""
    line, begin = 1, 0
    position = 0
    for number in count():
        if position >= len(text):
            break
        if number % _BETWEEN_QUESTIONS == 0:
            left()  # a long script may take more than it may
        match = _KINDS.match(text, position)
        # Every character is at least a sign.
        assert match is not None  # noqa: S101
        kind, word = match.lastgroup or "sign", match.group()
        column = position - begin + 1
        opened = next((what for sign, what in _OPEN.items() if text.startswith(sign, position)), None)
        if kind == "sign" and opened is not None:
            raise ScriptError(name, line, column, f"{opened} that does not end")
        if kind != "space":
            yield Token(kind, word, line, column, position)
        if breaks := word.count("\n"):
            line += breaks
            begin = position + word.rindex("\n") + 1
        position = match.end()
    yield Token("end", "the end of the file", line, position - begin + 1, position)
