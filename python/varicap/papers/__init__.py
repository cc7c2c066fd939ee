"""The papers that varicap is built on: what each one states, and the code that reproduces it.

A paper is a folder: ``claims.toml`` (what it states, as data), ``scenarios/*.toml``, and a short module for each table
or figure, or family of them, with a function ``reproduce(run) -> Outcome``.  Verdicts are computed from the runs of the
call that asks.
"""

from importlib import resources

from varicap.papers.claims import Paper, read

__all__ = ["Paper", "keys", "paper"]


def keys() -> list[str]:
    """The keys of the papers that varicap has.

    >>> "ratcp" in keys()
    True
    """
    folders = resources.files(__name__).iterdir()
    return sorted(folder.name for folder in folders if folder.is_dir() and (folder / "claims.toml").is_file())


def paper(key: str) -> Paper:
    """The paper with this key and its claims.  Raises ``KeyError`` if varicap does not have it."""
    if key not in keys():
        raise KeyError(key)
    source = resources.files(__name__) / key / "claims.toml"
    return read(key, source.read_text(encoding="utf-8"))
