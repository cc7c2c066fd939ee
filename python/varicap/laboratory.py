"""Addresses that open a scenario in the laboratory in a browser, and the page itself, where it was built."""

import base64
import json
import os
import zlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from unicodedata import category
from urllib.parse import quote

from varicap._files import MOST_HANDED_OVER
from varicap.errors import MachineLacksError

_MOST_LETTERS = 500_000  # that browsers take in an address
_MOST_FILES = 64  # that the page takes from an address
_MOST_NAME = 200
_SEPARATORS = frozenset('\\:*?"<>|')
"""Letters of no file's name: separators of other systems, and what these keep for themselves."""
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Kinds of letters that a reader does not see."""


def _built() -> Traversable:
    return files("varicap") / "explore" / "page" / "index.html"


def page() -> str:
    """The page as it was built; raises `MachineLacksError` if it was not."""
    built = _built()
    if not built.is_file():
        raise MachineLacksError(
            "this installation has no page for browsers: `make web` builds it, in a clone of varicap"
        )
    return built.read_text(encoding="utf-8")


def is_file_name(name: str) -> bool:
    r"""Whether a text names a file beside a scenario or in a folder below it, as those of a link and of the page must.

    The rule of `isFileName` in the page's ``state.ts``.

    >>> [is_file_name(name) for name in ("traces/lte.down", "../lte.down", "/etc/passwd", "a\nb")]
    [True, False, False, False]
    """
    return (
        len(name) <= _MOST_NAME
        and not any(letter in _SEPARATORS or category(letter) in _UNSEEN for letter in name)
        # Windows takes `.. ` for `..`.
        and all(part and part[-1] not in ". " for part in name.split("/"))
    )


def seen_from(folder: Path) -> str | None:
    """The address of the page as a file in `folder` names it; None if it was not built."""
    built = _built()
    if not isinstance(built, Path) or not built.is_file():
        return None
    try:
        return quote(Path(os.path.relpath(built.resolve(), folder.resolve())).as_posix())
    except ValueError:  # another drive
        return built.resolve().as_uri()


def link(address: str, text: str, traces: Mapping[str, str], name: str = "scenario.toml") -> str:
    """The address that opens a scenario in the page at `address`: its text, and the files that it names with theirs.

    The `name` of its own file says its format.

    Files are left out if an address has no room for them, or their names lead elsewhere; the page then asks for them.
    """
    state = {"mode": "text", "text": text, "file": plain(name)}
    traces = {name: text for name, text in traces.items() if is_file_name(name)}
    if len(traces) <= _MOST_FILES and sum(len(each) for each in traces.values()) <= MOST_HANDED_OVER:
        whole = _letters({**state, "files": traces})
        if len(whole) <= _MOST_LETTERS:
            return f"{address}#s={whole}"
    return f"{address}#s={_letters(state)}"


def plain(name: str) -> str:
    """The name of a scenario's file; one that no link may have gives way to one of its format."""
    return name if is_file_name(name) else f"scenario{Path(name).suffix if Path(name).suffix == '.json' else '.toml'}"


def _letters(state: Mapping[str, object]) -> str:
    """The inverse of what the page reads behind ``#s=``."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    content = deflate.compress(json.dumps(state, ensure_ascii=False).encode()) + deflate.flush()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
