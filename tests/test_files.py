"""Files that people name: what does not end is refused, and pipes of the shell are read."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Cli

import varicap
from varicap._files import UnreadableError, read_whole
from varicap.traces import TraceError
from varicap.traces.files import load

SCENARIO = """
duration = "1 s"
[topology.dumbbell.forward]
capacity = { opportunities = { file = "%s" } }
delay = "1 ms"
[flows.a]
"""


@pytest.fixture
def named_pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.fixture(params=["/dev/zero", "/proc/self/maps", "/proc/kmsg", "pipe"])
def endless(request: pytest.FixtureRequest, named_pipe: Path) -> Path:
    return named_pipe if request.param == "pipe" else Path(request.param)


def test_a_trace_that_may_never_end_is_refused(endless: Path) -> None:
    with pytest.raises(TraceError, match=r"not a file|a file of the kernel"):
        load(endless)


def test_a_scenario_that_may_never_end_is_refused(endless: Path) -> None:
    with pytest.raises(varicap.ScenarioError, match=r"not a file|a file of the kernel"):
        varicap.load(endless)


def test_a_scenario_refuses_a_trace_that_may_never_end(endless: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(SCENARIO % endless)
    with pytest.raises(varicap.ScenarioError, match=r"not a file that can be read again|a file of the kernel"):
        varicap.load(file)


@pytest.fixture
def piped() -> Iterator[tuple[Path, int]]:
    reading, writing = os.pipe()
    yield Path(f"/dev/fd/{reading}"), writing
    os.close(reading)


def test_a_pipe_of_the_shell_is_read(piped: tuple[Path, int]) -> None:
    path, writing = piped
    os.write(writing, b"1\n2\n4\n")
    os.close(writing)
    assert load(path).duration_s == 0.004


def test_a_pipe_is_read_up_to_a_bound(piped: tuple[Path, int]) -> None:
    path, writing = piped
    os.write(writing, b"1\n" * 1000)
    with pytest.raises(UnreadableError, match=r"more than 0\.001 MB"):
        read_whole(path, 1000)
    os.close(writing)


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
def test_process_substitution_works(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.down").write_text("1\n2\n4\n")
    (tmp_path / "a.toml").write_text(SCENARIO % "a.down")
    varicap_ = f"{sys.executable} -m varicap"
    for command in (
        f"{varicap_} trace info <(cat a.down)",
        f"{varicap_} run <(cat a.toml) --no-plot",
        f"cat a.toml | {varicap_} run /dev/stdin --no-plot -o out",
        f"{varicap_} replay out/manifest.json",
    ):
        shell = ["/bin/bash", "-c", command]
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)


def test_an_error_quotes_little_of_a_trace_and_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    secret = "\x1b]0;owned\x07" + "0123456789" * 10
    for name, text in (
        ("a.down", secret),
        ("a.csv", secret),
        ("b.csv", f"time_s,mbps,delay_ms\n0,1,{secret}\n"),
        ("bw_1.txt", "1\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "delay_1.txt").write_text(secret)
    for name in ("a.down", "a.csv", "b.csv", "bw_1.txt"):
        with pytest.raises(TraceError) as refused:
            load(tmp_path / name)
        message = str(refused.value)
        assert "0123456789" * 2 not in message, message
        assert message.isprintable(), message
