"""What the tests share: the command line as a user has it, and scenarios short enough for a test."""

import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import pytest

from varicap._blas import one_thread

one_thread()  # as in every command, and before NumPy is imported: its threads would wait for each other, by computing
from patience import HANG_S  # noqa: E402
from pretended_kernel import Change, Kernel  # noqa: E402
from real_time import unless_busy  # noqa: E402

from varicap.cli import main as command_line  # noqa: E402
from varicap.engines import kernel as linux  # noqa: E402
from varicap.validate import measure  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"

os.environ.pop("COLUMNS", None)  # workers of pytest-xdist have that of a terminal, by which tables would be cut

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


GRIDS = bool(os.environ.get("GRIDS"))
"""Whether the whole of a grid is tried, of which else there is a part."""


def sampled(count: int, step: int) -> range:
    """The numbers of a grid, or every so many-th of them."""
    return range(0, count, 1 if GRIDS else step)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """A test in real time that fails while others take the processors has not shown anything: it is skipped, aloud."""
    if pyfuncitem.get_closest_marker("real_time") is None:
        return (yield)
    with unless_busy():
        return (yield)


def heed() -> None:
    """Let Ctrl-C end a new process, even if whoever runs the tests ignores it, as a shell's background jobs do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def same_environment() -> Iterator[None]:
    """After each test, takes back what libraries have set in the environment, as scikit-learn and Dask do for good."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture
def cold_cli(tmp_path: Path) -> Cli:
    """Runs `varicap` with these arguments in a folder of its own, without a terminal, in a process of its own."""

    def run(*arguments: object, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "varicap", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )

    return run


@pytest.fixture
def cli(tmp_path: Path, cold_cli: Cli) -> Cli:
    """Runs `varicap` as `cold_cli` does, in the process of the test: starting Python takes longer than most commands.

    A command with an environment of its own has a process of its own, since modules read it as they are imported.
    """

    def run(*arguments: object, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        if env:
            return cold_cli(*arguments, env=env)
        words = [*map(str, arguments)]
        with ExitStack() as around:
            out, error = (around.enter_context(TemporaryFile("w+", encoding="utf-8")) for _ in range(2))
            nothing = around.enter_context(Path(os.devnull).open(encoding="utf-8"))
            around.enter_context(chdir(tmp_path))
            around.enter_context(redirect_stdout(out))
            around.enter_context(redirect_stderr(error))
            around.enter_context(warnings.catch_warnings())
            warnings.simplefilter("default")
            patch = around.enter_context(pytest.MonkeyPatch.context())
            patch.setattr(sys, "stdin", nothing)
            patch.setattr(sys, "argv", ["varicap", *words])
            code = _exit_code(command_line)
            printed, complained = (_all_of(file) for file in (out, error))
        return subprocess.CompletedProcess(words, code, printed, complained)

    return run


def _exit_code(program: Callable[[], object]) -> int:
    """That of a program, as Python ends it."""
    try:
        program()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _all_of(file: IO[str]) -> str:
    file.flush()
    file.seek(0)
    return file.read()


@pytest.fixture
def fixed() -> Path:
    """One Reno flow on a fixed link."""
    return EXAMPLES / "fixed.toml"


@pytest.fixture
def lte() -> Path:
    """Four flows, each alone on an LTE-like link."""
    return EXAMPLES / "lte.toml"


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Kernel]:
    """Puts a `Kernel` in the place of the one that runs here, where none was built for simulated time."""

    def put(change: Change | None = None) -> Kernel:
        pretended = Kernel(change)
        monkeypatch.setattr(linux, "run", pretended.run)
        return pretended

    monkeypatch.setattr("varicap.kernels.store.installed", list)
    monkeypatch.setattr(measure, "_refused", lambda: {"cubic": "not here", "ratcp": "no root"})
    return put
