"""What the tests share: the command line as a user has it, and scenarios short enough for a test."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import compress, islice
from pathlib import Path
from typing import Any

import pytest

from varicap._blas import one_thread

one_thread()  # as in every command, and before NumPy is imported: its threads would wait for each other, by computing
import warm  # noqa: E402
from patience import HANG_S  # noqa: E402
from pretended_kernel import Change, Kernel  # noqa: E402
from real_time import unless_busy  # noqa: E402

from varicap.engines import kernel as linux  # noqa: E402
from varicap.validate import measure  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"

os.environ.pop("COLUMNS", None)  # workers of pytest-xdist have that of a terminal, by which tables would be cut
ENVIRONMENT = warm.environment()

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """More workers than processors: for a tenth of their time, where nothing else runs, tests wait for programs, files
    and clocks."""
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return processors + min(processors, 4)


LONG = ("::test_the_code_of_a_page_", "::test_the_numbers_of_a_table_are_", "::test_a_study_survives_being_killed_")


def dealt(long: Sequence[Any], others: Sequence[Any], workers: int) -> list[Any]:
    """A row for each worker, one after the other, as far as possible all of a length.  Each begins with its share of
    what may take long."""
    rest, items = iter(others), list[Any]()
    for worker in range(workers):
        mine = long[worker::workers]
        left = len(long) + len(others) - len(items)
        items += [*mine, *islice(rest, max(0, left // (workers - worker) - len(mine)))]
    return items


@pytest.hookimpl(trylast=True)  # what is left out is no longer among them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each worker begins with a row of its own of the tests.  A page of a minute that comes last keeps one processor
    busy and the other idle."""
    is_long = [any(name in item.nodeid for name in LONG) for item in items]
    long, others = (list(compress(items, one)) for one in (is_long, [not one for one in is_long]))
    items[:] = dealt(long, others, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)))


def pytest_collection_finish() -> None:
    """What has been imported stays: each look at it by the garbage collector, of which tests cause many, is in vain."""
    gc.freeze()


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


@pytest.fixture(scope="session")
def interpreter() -> Iterator[warm.Interpreter | None]:
    """A warm interpreter; none where a process with threads cannot be forked safely."""
    if sys.platform != "linux":
        yield None
        return
    with warm.Interpreter() as started:
        yield started


@pytest.fixture(autouse=True)
def same_environment() -> None:
    """Before each test, takes back what libraries have set in the environment, as scikit-learn and Dask do for good.

    Commands would find another than that of the warm interpreter, and each would start one of its own.
    """
    if (now := warm.environment()) != ENVIRONMENT:
        for name in now.keys() - ENVIRONMENT.keys():
            del os.environ[name]
        os.environ.update(ENVIRONMENT)


@pytest.fixture
def cold_cli(tmp_path: Path) -> Cli:
    """Runs `varicap` with these arguments in a folder of its own, without a terminal, from a new interpreter."""

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
def cli(tmp_path: Path, cold_cli: Cli, interpreter: warm.Interpreter | None) -> Cli:
    """Runs `varicap` as `cold_cli` does, without starting an interpreter where the environment is the usual one."""

    def run(*arguments: object, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        if interpreter is None or not interpreter.can(env or {}):
            return cold_cli(*arguments, env=env)
        return interpreter.run([*map(str, arguments)], tmp_path, env or {}, timeout_s=HANG_S)

    return run


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
