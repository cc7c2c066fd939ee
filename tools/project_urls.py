"""Writes the address of the repository into pyproject.toml, as a release does that knows where it is built.

    python tools/project_urls.py ADDRESS

The tree does not hold the address: a fork or a mirror has its own.
"""

import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def with_urls(project: str, address: str) -> str:
    """The text of pyproject.toml with a table of addresses, which replaces one that is there."""
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", address):
        raise SystemExit(f"project_urls: found {address!r}, expected the https address of a repository")
    table = "\n".join(
        [
            "[project.urls]",
            f'Source = "{address}"',
            f'Issues = "{address}/issues"',
            f'Documentation = "{address}/tree/HEAD/docs"',
            f'Changelog = "{address}/blob/HEAD/CHANGELOG.md"',
        ]
    )
    without = re.sub(r"\[project\.urls\]\n(?:[^\[\n].*\n)*\n?", "", project)
    return without.replace("[project.scripts]\n", f"{table}\n\n[project.scripts]\n", 1)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    PROJECT.write_text(with_urls(PROJECT.read_text(), sys.argv[1]))
