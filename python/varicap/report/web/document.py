"""What every page is: one file, with a policy that keeps it from fetching or sending anything."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources

import varicap._core as _core
from varicap.report.web.markup import Markup, joined, tag


def document(title: str, body: Markup, scripts: Sequence[str] = (), styles: Sequence[str] = ()) -> str:
    """A page as text: its body, the styles of all pages and more, and the scripts that alone may run."""
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"varicap {_core.__version__}"),
        tag("title", f"{title} – varicap"),
        *(tag("style", Markup(style)) for style in styles),
        tag("style", Markup(asset("page.css"))),
        tag("style", Markup(asset("plot.css")), id="plot-style"),
    )
    code = Markup("".join(f"<script>{script}</script>" for script in scripts))
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}\n{code}</body>\n</html>\n'


def footer() -> Markup:
    """What a page ends with."""
    return tag("footer", f"Made by varicap {_core.__version__}. One file: nothing is fetched, nothing is sent.")


def _policy(scripts: Iterable[str]) -> str:
    """Only these scripts run, nothing is loaded from anywhere."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def asset(name: str) -> str:
    """A file of the folder `assets`."""
    return resources.files("varicap.report.web").joinpath("assets", name).read_text(encoding="utf-8").strip()
