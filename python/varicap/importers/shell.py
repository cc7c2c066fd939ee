"""Command lines of a shell script, word by word: nothing is run, and what is not plain is left as it stands."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from varicap.importers.source import Source

_ASSIGNMENT = re.compile(r"(?:export\s+|local\s+|readonly\s+)?([A-Za-z_]\w*)=(.*)")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*|[0-9])(?::-([^{}$]*))?\}|([A-Za-z_]\w*|[0-9]))")
_ENDS = {";", "&&", "||", "|", "&"}
_MOST_WORDS = 1_000


@dataclass(frozen=True)
class Command:
    """One command."""

    line: int
    text: str
    words: list[str]


def commands(source: Source, given: Mapping[str, str]) -> Iterator[Command]:
    """The commands of a script in order; variables that it sets, or that are `given`, are put in their places."""
    known = dict(given)
    for line, text in _logical(source):
        try:
            lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:
            continue  # a quotation that goes on over lines: no command of ours
        if len(words) > _MOST_WORDS:
            raise source.error(line, f"{len(words)} words", f"at most {_MOST_WORDS}")
        for part in _parts(words):
            match = _ASSIGNMENT.fullmatch(" ".join(part)) if len(part) <= 2 else None
            if match is not None and match[1] not in given:
                known[match[1]] = _filled(match[2], known)
            elif match is None:
                yield Command(line, text.strip(), [_filled(word, known) for word in part])


def unknown(words: list[str]) -> str | None:
    """The first variable that has no value."""
    found = next((match for word in words if (match := re.search(r"\$[({]?[\w(]*", word))), None)
    return None if found is None else found[0]


def _filled(word: str, known: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name, default = match[1] or match[3], match[2]
        return known.get(name, match[0] if default is None else default)

    return _VARIABLE.sub(value, word)


def _parts(words: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word in _ENDS:
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _logical(source: Source) -> Iterator[tuple[int, str]]:
    """Lines with those that a backslash continues, by the number of the first."""
    begun, text = 0, ""
    for number, line in enumerate(source.lines, 1):
        begun = begun or number
        bare = line.rstrip()
        if bare.endswith("\\"):
            text += bare[:-1] + " "
            continue
        yield begun, text + line
        begun, text = 0, ""
    if text:
        yield begun, text
