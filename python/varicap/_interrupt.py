"""Ctrl-C of the program: exit code 130 and one line, never a traceback.

```text
take_over ──► importing ──begin──► working ──Ctrl-C──► unwinding ──Ctrl-C──► gone
                 └──Ctrl-C──► gone
```

While modules are imported there is nothing to clean up, and an exception would surface in the middle of whatever
library is loading.  While a command works, Ctrl-C raises `KeyboardInterrupt` as usual, so that what is finished can be
kept.  Only the program calls `take_over`: where the package is used as a library, signals are the user's.
"""

import os
import signal
import sys
from typing import NoReturn

CODE = 130
"""The exit code of a shell's command that Ctrl-C ended."""

_asked = False
_said = False


def asked() -> bool:
    """Whether Ctrl-C was pressed since `begin`."""
    return _asked


def take_over() -> None:
    """From now on Ctrl-C ends the process.

    A shell starts what runs in the background with the signal ignored; so it stays.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave_at_once)


def begin() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt`, and a second one ends the process."""
    if signal.getsignal(signal.SIGINT) is _leave_at_once:
        signal.signal(signal.SIGINT, _raise)
        sys.unraisablehook = _lost


def said() -> None:
    """A command has reported what was kept, so that `leave` has nothing to add."""
    global _said
    _said = True


class HeldBack:
    """Lets Ctrl-C wait until the block is over, such as the writing of files that belong together."""

    def __enter__(self) -> None:
        self._waiting: list[int] = []
        self._before = signal.getsignal(signal.SIGINT)
        # The second Ctrl-C waits, too: what the first one left is written in such a block.
        self._ours = self._before in (_raise, _leave_at_once)
        if self._ours:
            signal.signal(signal.SIGINT, lambda number, _frame: self._waiting.append(number))

    def __exit__(self, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, self._before)
            if self._waiting:
                signal.raise_signal(signal.SIGINT)


def leave() -> NoReturn:
    """End the process, all of whose context managers have been left.

    Threads that still simulate are not waited for.
    """
    if not _said:
        os.write(2, b"varicap: interrupted\n")
    for stream in (sys.stdout, sys.stderr):
        # A reader that is gone is no reason to stay.
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(CODE)


def _leave_at_once(_signal: int, _frame: object) -> None:
    os.write(2, b"varicap: interrupted\n")
    os._exit(CODE)


def _raise(_signal: int, _frame: object) -> None:
    global _asked
    _asked = True
    signal.signal(signal.SIGINT, _leave_at_once)
    raise KeyboardInterrupt


def _lost(error: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C came in a destructor or a callback, which lose exceptions: nothing unwinds, and finished work is kept."""
    if error.exc_type is KeyboardInterrupt:
        leave()
    sys.__unraisablehook__(error)
