"""Ctrl-C: the exit code is 130, what is finished is kept and reported, and nobody sees a traceback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, Cli, heed
from patience import HANG_S
from typer.testing import CliRunner

import varicap
from varicap import _interrupt
from varicap.cli import app
from varicap.errors import InterruptedRuns
from varicap.results.manifest import values_sha256

FIXED = str(EXAMPLES / "fixed.toml")
SHORT = {"duration": "12 s"}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")


@contextmanager
def start(folder: Path, *arguments: str, options: tuple[str, ...] = ()) -> "Iterator[subprocess.Popen[str]]":
    command = [sys.executable, *options, "-m", "varicap", *arguments]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command, cwd=folder, stdout=quiet, stderr=subprocess.PIPE, text=True, preexec_fn=heed
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("module", ["typer", "varicap.terminal", "numpy.linalg", "pyarrow.lib"])
def test_while_modules_are_imported(tmp_path: Path, module: str) -> None:
    """What Python reports on its imports says how far it is."""
    command = ["run", FIXED, "--no-plot", "--set", "duration='100000 s'", "--max-time", "10 h"]
    with start(tmp_path, *command, options=("-X", "importtime")) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.rpartition("|")[2].strip() == module:
                break
        else:
            pytest.fail(f"{module} is not imported")
        process.send_signal(signal.SIGINT)
        said = [line for line in process.stderr if "import time:" not in line]
        assert process.wait(timeout=HANG_S) == 130
    assert len(said) == 1, said


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.05, 0.1, 0.2, 0.4, 0.8, 1.6])
def test_whenever_it_comes_our_code_is_in_no_traceback(tmp_path: Path, after_s: float) -> None:
    """Before the program has begun, the interpreter may still show one of its own, of the first imports."""
    with start(tmp_path, "sweep", FIXED, "--seeds", "200", "--set", "duration='4000 s'") as process:
        time.sleep(after_s)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANG_S)
    assert process.returncode in (130, 1, -signal.SIGINT)
    assert process.returncode == 130 or os.path.join("varicap", "cli") not in said  # noqa: PTH118 - as it is shown
    assert process.returncode != 130 or "Traceback" not in said, said


@pytest.mark.slow
def test_a_sweep_reports_what_is_kept_and_goes_on(tmp_path: Path, cli: Cli) -> None:
    study = tmp_path / "study"
    command = ["sweep", FIXED, "--seeds", "300", "--set", "duration='150 s'", "--no-plot", "-o", str(study), "-j", "1"]
    with start(tmp_path, *command) as process:
        while not list(study.glob("parts/*.arrow")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    (line,) = said.splitlines()
    assert line.endswith("of 300 runs are kept in " + str(study) + "; the same command goes on from there")
    assert 0 < int(line.split()[2]) < 300
    done = cli(*command, "-q")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_runs_that_take_hours_are_not_waited_for(tmp_path: Path) -> None:
    with start(tmp_path, "sweep", FIXED, "--set", "duration='9000000 s'", "-o", "study") as process:
        while not (tmp_path / "study/plan.json").exists():
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert "nothing is kept" in said


def test_finished_runs_are_a_result(fixed: Path) -> None:
    def stop(_share: float, done: int, _total: int) -> None:
        if done > 4:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRuns) as caught:
        varicap.run(fixed, seeds=10, jobs=1, overrides=SHORT, progress=stop)
    found = caught.value.result
    assert (found.runs, caught.value.wanted) == (4, 10)
    assert found.summary == varicap.run(fixed, seeds=4, overrides=SHORT).summary


def test_without_finished_runs_it_is_a_plain_interruption(fixed: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        varicap.run(fixed, seeds=10, overrides=SHORT, progress=stop)
    assert not isinstance(caught.value, InterruptedRuns)


def test_batches_are_no_other_runs(fixed: Path) -> None:
    apart = varicap.run(fixed, seeds=11, jobs=1, overrides=SHORT)
    together = varicap.run(fixed, seeds=11, jobs=11, overrides=SHORT)
    assert apart.summary == together.summary
    assert values_sha256(apart.flows) == values_sha256(together.flows)


@pytest.mark.parametrize("options", [["--no-plot"], ["--json"]])
def test_run_keeps_the_finished_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    def interrupted(*_: object, **__: Any) -> None:
        raise InterruptedRuns(varicap.engines.sim.run(FIXED, seeds=3, overrides=SHORT), 100, 3)

    import varicap.engines.sim

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("varicap.engines.run", interrupted)
    done = CliRunner().invoke(app, ["run", FIXED, *options])
    assert done.exit_code == 130
    assert "3 of 100 runs " in done.stderr
    folder = tmp_path / "varicap-out/fixed"
    if options == ["--json"]:
        assert "not kept" in done.stderr
        assert not folder.exists()
    else:
        assert json.loads((folder / "manifest.json").read_text())["runs"] == 3


def test_files_that_belong_together_are_written_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_interrupt, "_asked", False)
    written = []

    def write() -> None:
        with _interrupt.HeldBack():
            signal.raise_signal(signal.SIGINT)
            written.append("all")

    before = signal.signal(signal.SIGINT, _interrupt._raise)
    try:
        with pytest.raises(KeyboardInterrupt):
            write()
        assert _interrupt.asked()
    finally:
        signal.signal(signal.SIGINT, before)
    assert written == ["all"]


def test_the_second_one_waits_for_files_that_belong_together(tmp_path: Path) -> None:
    """What the first one left is written as a whole, and then the process ends at once."""
    script = """
import signal, sys
from pathlib import Path
from varicap import _interrupt
signal.signal(signal.SIGINT, _interrupt._raise)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    with _interrupt.HeldBack():
        Path("a").touch()
        signal.raise_signal(signal.SIGINT)
        Path("b").touch()
    Path("c").touch()
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, preexec_fn=heed)
    assert (done.returncode, done.stderr) == (130, "varicap: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("module", ["varicap", "varicap.cli", "varicap.terminal", "varicap._interrupt"])
def test_importing_the_package_sets_no_handler(module: str) -> None:
    """Not even where the process is called `varicap`."""
    script = (
        f"import signal, sys; sys.argv = ['varicap']; import {module};"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, end=' ');"
        "print(sys.unraisablehook is sys.__unraisablehook__)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=heed, check=True)
    assert done.stdout == "True True\n"


def test_what_a_callback_loses_ends_the_process() -> None:
    script = """
import signal
from varicap import _interrupt
_interrupt.take_over()
_interrupt.begin()
class Lost:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
Lost()
print("went on")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=heed)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "varicap: interrupted\n")
