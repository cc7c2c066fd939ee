"""An interpreter that has imported what commands need, and runs each command in a fork of itself.

Starting Python and importing numpy, Arrow, Rich and the package takes longer than most commands do.  A fork is a
process of its own, as `python -m varicap` is: with its arguments, folder and output, and ended by its own exit.  This
file is the program of that interpreter, and has the `Interpreter` that starts it and speaks with it: a line of JSON
asks for a command, a line answers with its exit code.
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Self

from patience import HANG_S

IMPORTED = (
    *("varicap.cli", "varicap.scenario", "varicap.results.study", "varicap.report.figure", "varicap.design.effcap"),
    *("numpy", "scipy.optimize", "scipy.special", "pyarrow.parquet", "pyarrow.compute"),
    *("rich.console", "rich.table", "rich.progress", "rich.markdown", "typer.rich_utils", "pydantic.type_adapter"),
    *("matplotlib.figure", "matplotlib.backends.backend_agg"),
)
READ_LATE = {"COLUMNS"}
"""Of the environment: it is read when something is printed."""
UNTOUCHED = "PYTEST_CURRENT_TEST"
"""Of the environment: it differs in each test, and nothing reads it."""


def environment() -> dict[str, str]:
    """What a command is given, without what says nothing to it."""
    return {name: value for name, value in os.environ.items() if name != UNTOUCHED}


class Interpreter:
    """The warm interpreter, from the side of the tests."""

    def __init__(self) -> None:
        self.environment = environment()
        self._process = self._started()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._of("stdin").close()
        self._process.wait(timeout=HANG_S)
        self._of("stdout").close()

    def can(self, env: Mapping[str, str]) -> bool:
        """Whether a command may have `env` in addition: what modules read when they are imported must be the same."""
        return environment() == self.environment and set(env) <= READ_LATE

    def run(
        self, arguments: Sequence[str], folder: Path, env: Mapping[str, str], timeout_s: float
    ) -> "subprocess.CompletedProcess[str]":
        """Run `varicap` with these arguments in a folder, with nothing on its standard input."""
        with TemporaryDirectory(prefix="varicap-test-") as place:
            out, error = (str(Path(place) / name) for name in ("out", "error"))
            request = {"arguments": arguments, "folder": str(folder), "env": env, "out": out, "error": error}
            self._of("stdin").write(json.dumps(request) + "\n")
            self._of("stdin").flush()
            if not select.select([self._of("stdout")], [], [], timeout_s)[0]:
                os.killpg(self._process.pid, signal.SIGKILL)
                self.__exit__()
                self._process = self._started()
                raise subprocess.TimeoutExpired(arguments, timeout_s)
            code = int(self._of("stdout").readline())
            printed, complained = (Path(file).read_text() for file in (out, error))
        return subprocess.CompletedProcess(arguments, code, printed, complained)

    def _started(self) -> "subprocess.Popen[str]":
        command, pipe = [sys.executable, __file__], subprocess.PIPE
        # By name, since what C has may be more: readline sets COLUMNS there.
        return subprocess.Popen(
            command, env=self.environment, stdin=pipe, stdout=pipe, text=True, start_new_session=True
        )

    def _of(self, name: str) -> IO[str]:
        stream: IO[str] | None = getattr(self._process, name)
        assert stream is not None
        return stream


_code: int | None = None
"""With which a fork ends."""


def _serve() -> None:
    sys.path.pop(0)  # this folder
    atexit.register(_leave)  # first, so that it is called last
    for name in IMPORTED:
        import_module(name)
    # Collecting what a fork shares would copy all of it.
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(request: Mapping[str, Any]) -> None:
    """Be `python -m varicap` with these arguments."""
    os.environ.update(request["env"])
    os.chdir(request["folder"])
    sys.path.insert(0, request["folder"])
    sys.argv[1:] = request["arguments"]
    files = [os.open(os.devnull, os.O_RDONLY)]
    files += [os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND) for name in ("out", "error")]
    for descriptor, file in enumerate(files):
        os.dup2(file, descriptor)
        os.close(file)
    global _code
    try:
        runpy.run_module("varicap", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        _code = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise


def _leave() -> None:
    """The last step of a fork that ends with a code.

    What an interpreter does then, taking down all that it has imported, would copy the pages that forks share: five
    times the work of most commands.
    """
    if _code is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_code)


if __name__ == "__main__":
    _serve()
