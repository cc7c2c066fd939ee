"""How many threads NumPy's matrices take in a command, and programs of users that are not to hear of it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_NAME = "OPENBLAS_NUM_THREADS"
_set_here = False


def one_thread() -> None:
    """NumPy's matrices are small here: more threads take more CPU time for them, and no less of a clock's."""
    global _set_here
    if _NAME not in os.environ:
        os.environ[_NAME] = "1"
        _set_here = True


@contextmanager
def environment_of_the_user() -> Iterator[None]:
    """A program that begins meanwhile has the environment that this one was begun in."""
    value = os.environ.pop(_NAME, None) if _set_here else None
    try:
        yield
    finally:
        if value is not None:
            os.environ[_NAME] = value
