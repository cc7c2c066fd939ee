"""Experiments of other programs as scenarios: scripts of `tc`, Mininet, ns-2, Mahimahi, Kollaps and picoquic_ns.

A file is read and never run.  What it says becomes a commented scenario; what a scenario cannot express is a comment
with the line that it comes from.

>>> print(import_text("tc qdisc add dev eth0 root netem delay 40ms loss 1%").splitlines()[5])
# What leaves eth0.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from varicap.importers import kollaps, mahimahi, mininet, ns2, picoquic, tc
from varicap.importers.draft import Draft
from varicap.importers.source import ImportedError, Source, read

FORMS: dict[str, Callable[[Source, Mapping[str, str]], Draft]] = {
    "tc": tc.draft,
    "mininet": mininet.draft,
    "ns-2": ns2.draft,
    "mahimahi": mahimahi.draft,
    "kollaps": kollaps.draft,
    "picoquic": picoquic.draft,
}
"""What is read, by name."""
_SIGNS = {
    "kollaps": r"<experiment\b",
    "ns-2": r"\[\s*new\s+Simulator\s*\]",
    "mininet": r"^\s*(?:from|import)\s+mininet\b|\.addLink\s*\(",
    "picoquic": r"^\s*data_rate_in_gbps\s*:",
    "mahimahi": r"\bmm-(?:delay|loss|onoff|link)\b",
    "tc": r"\btc\s+(?:-\S+\s+)*(?:qdisc|class)\b",
}
"""By what a file is known, in the order in which they are tried."""


def form_of(source: Source) -> str:
    """The form of a file, by its content.  Raises `ImportedError`."""
    for form, sign in _SIGNS.items():
        if re.search(sign, source.text, re.MULTILINE):
            return form
    first = next((line.strip() for line in source.lines if line.strip()), "")
    raise source.error(1, first, f"one of {', '.join(FORMS)}: --from says which")


def import_file(path: str | Path, form: str | None = None, given: Mapping[str, str] | None = None) -> str:
    """The scenario of an experiment that another program has, as TOML with comments.

    `form` is one of `FORMS`, or found by the content.  Names that the file gets from outside, such as ``$1`` or
    parameters of a function, have the values of `given`.  Raises `ImportedError`.
    """
    return _imported(read(path), form, given or {})


def import_text(text: str, form: str | None = None, given: Mapping[str, str] | None = None) -> str:
    """As `import_file`, of a text, such as a command line."""
    return _imported(Source("text", text), form, given or {})


def _imported(source: Source, form: str | None, given: Mapping[str, str]) -> str:
    if form is not None and form not in FORMS:
        raise ValueError(f"{form} is no form of files; there are {', '.join(FORMS)}")
    return FORMS[form or form_of(source)](source, given).toml()


__all__ = ["FORMS", "ImportedError", "import_file", "import_text"]
