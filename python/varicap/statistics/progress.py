"""How far work has come that takes a while."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Progress: TypeAlias = Callable[[float, int, int], None]
"""Called now and then with the share that is done [0..1], how many parts are done, and how many there will be.

The parts are runs where scenarios are run, and simulations where a question or a paper needs several.
"""

_SOON_S = 0.5
_EACH_S = 0.2


@contextmanager
def shown(given: Progress | None, name: str) -> Iterator[Progress | None]:
    """The progress that was `given`; if none was and this is a notebook, a bar that vanishes when all is done.

    >>> with shown(None, "no notebook") as progress:
    ...     progress is None
    True
    """
    if given is not None or not _is_notebook():
        yield given
        return
    bar = _Bar(name)
    try:
        yield bar
    finally:
        bar.close()


def _is_notebook() -> bool:
    """Whether this is a kernel of Jupyter; IPython in a terminal is none, nor is a program that imports it."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class _Bar:
    """A bar in the output of a cell, unless the work is done soon."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._next_s = time.monotonic() + _SOON_S
        self._handle: Any = None

    def __call__(self, share: float, done: int, total: int) -> None:
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        from html import escape  # nothing but a notebook needs it

        self._next_s = now_s + _EACH_S
        words = f"{self._name}: {done} of {total} runs"
        self._show(
            {
                "text/plain": f"{words}, {100 * share:.0f} %",
                "text/html": f'<progress value="{share:.4f}" max="1"></progress> {escape(words)}',
            }
        )

    def close(self) -> None:
        if self._handle is not None:
            self._show({"text/plain": "", "text/html": ""})

    def _show(self, content: dict[str, str]) -> None:
        if self._handle is None:
            from IPython.display import display

            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
