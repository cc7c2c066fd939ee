"""HTML and SVG as nested calls; text is escaped unless it is itself markup."""

import json
from html import escape
from typing import Any


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, /, *children: "str | Markup", **attributes: Any) -> Markup:
    """An element.  ``class_`` is the attribute class, ``aria_label`` is aria-label; None leaves an attribute out.

    >>> tag("p", "a < b", tag("br"), class_="note")
    '<p class="note">a &lt; b<br></p>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: "str | Markup") -> Markup:
    """Children one after another.

    >>> joined("<", Markup("<br>"))
    '&lt;<br>'
    """
    return Markup("".join(child if isinstance(child, Markup) else escape(child) for child in children))


def data(identity: str, value: Any) -> Markup:
    r"""A value for the page's script.

    >>> data("x", "</script>")
    '<script type="application/json" id="x">"\\u003c/script>"</script>'
    """
    # Within a script element nothing is escaped, so that no text in it may open or close one.
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return tag("script", Markup(text), type="application/json", id=identity)


_EMPTY = ("br", "meta", "input", "col", "img")
