"""Text of unknown origin, such as names in a file, made safe to print: a terminal would obey some of its characters."""

_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Marks and overrides that change the order in which text is shown, and separators of lines."""
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_HALVES = range(0xD800, 0xE000)
"""Halves of characters, which no terminal can be sent."""

_ESCAPED = {code: f"\\u{code:04x}" for code in (*_CONTROLS, *_DIRECTIONS, *_HALVES)}
_LINES = {code: text for code, text in _ESCAPED.items() if code != ord("\n")}


def printable(text: str, *, lines: bool = False) -> str:
    r"""`text` with control characters and overrides of direction spelled out, as JSON and TOML spell them.

    Line ends stay as they are if `text` may have `lines`.

    >>> print(printable("red \x1b[31m, \u202eback\n"))
    red \u001b[31m, \u202eback\u000a
    """
    return text.translate(_LINES if lines else _ESCAPED)


def text_of(error: BaseException) -> str:
    """The text of an exception, printable: it may quote what came with a file."""
    return printable(BaseException.__str__(error), lines=True)


class PrintableError(Exception):
    """What raises with words that may have come with a file; those of the engine get the same `__str__` (errors.rs)."""

    __str__ = text_of
