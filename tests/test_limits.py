"""Runs stay within their memory and time: refused beforehand by an estimate, stopped where the estimate was wrong."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, Cli
from patience import HANG_S
from typer.testing import CliRunner

import varicap
import varicap._core as _core
import varicap.study
from varicap.cli import app
from varicap.engines import kernel
from varicap.engines.replay import replay
from varicap.errors import InterruptedSweep, StoppedRunsError
from varicap.results.summary import Point
from varicap.study.budget import Limits, naming
from varicap.study.store import Folder
from varicap.tcp import AckSample, CongestionControl, CongestionEvent

ENDLESS = {"duration": "100000000 s", "topology.dumbbell.forward.capacity": "100 Gbit/s"}
"""Thirty million years of work: whoever begins it does not pass the test in time."""

FLOOD = """
duration = "2 s"
[topology.dumbbell.forward]
capacity = "1 Mbit/s"
delay = "10 ms"
[flows.a]
count = 8
abr = {}
tcp = { initial_window = "unlimited" }
"""

TINY = """
duration = "2 s"
[topology.dumbbell.forward]
capacity = "64 kbit/s"
delay = "10 ms"
[flows.a]
tcp = { initial_window = "unlimited", mss = "1 B" }
"""

PACKETS = """
duration = "20 s"
[topology.dumbbell.forward]
capacity = "300 Mbit/s"
delay = "1 ms"
[flows.a]
[record]
packets = true
"""


@pytest.fixture
def manifest(fixed: Path, tmp_path: Path) -> Path:
    """The manifest of a short run, whose scenario has become endless."""
    varicap.run(fixed, seeds=1, overrides={"duration": "12 s"}).save(tmp_path / "saved")
    path = tmp_path / "saved" / "manifest.json"
    recorded = json.loads(path.read_text(encoding="utf-8"))
    recorded["scenario"]["duration"] = ENDLESS["duration"]
    recorded["scenario"]["topology"]["dumbbell"]["forward"]["capacity"] = "100 Gbit/s"
    path.write_text(json.dumps(recorded), encoding="utf-8")
    return path


def settings() -> list[str]:
    return [word for key, value in ENDLESS.items() for word in ("--set", f"{key}={value}")]


@pytest.mark.parametrize(
    ("text", "limits", "exceeded"),
    [
        (FLOOD, ["--max-memory", "200 MB", "--max-time", "5 s"], "--max-memory"),
        (TINY, ["--max-time", "1 s"], "--max-time"),
        (PACKETS, ["--max-memory", "300 MB"], "--max-memory"),
    ],
)
def test_what_a_run_sends_at_once_and_records_counts(
    cli: Cli, tmp_path: Path, text: str, limits: list[str], exceeded: str
) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    done = cli("run", file, "--no-plot", *limits)
    assert done.returncode == 2, done.stdout + done.stderr
    assert exceeded in done.stderr
    assert "stopped at" not in done.stderr, "refused before anything is sent"
    assert "Traceback" not in done.stderr


def test_packets_that_an_option_records_count(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(PACKETS.replace("[record]\npackets = true\n", ""), encoding="utf-8")
    done = cli("run", file, "--packets", "--no-plot", "--max-memory", "300 MB", "-o", "out")
    assert (done.returncode, "--max-memory" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["run", "compare", "sweep"])
def test_every_command_refuses_endless_work(cli: Cli, fixed: Path, tmp_path: Path, command: str) -> None:
    more = ["--engine", "sim"] if command == "compare" else []
    done = cli(command, fixed, *settings(), *more)
    assert done.returncode == 2, done.stderr
    assert "--max-time" in done.stderr or "--max-memory" in done.stderr
    assert not list(tmp_path.rglob("*.parquet"))


def test_replay_refuses_endless_work(cli: Cli, manifest: Path) -> None:
    done = cli("replay", manifest)
    assert (done.returncode, "expected at most 3600 s (--max-time)" in done.stderr) == (2, True), done.stderr
    with pytest.raises(varicap.LimitError, match="--max-memory"):
        replay(manifest, max_memory="1 MB", max_time=None)


def test_a_sweep_names_the_point_that_would_take_too_much(cli: Cli, fixed: Path) -> None:
    done = cli("sweep", fixed, "--over", "duration=20 s,100000000 s", "--seeds", 2, "--max-time", "10 s")
    assert done.returncode == 2, done.stderr
    assert "point 1 (duration = 100000000 s): " in done.stderr
    assert "expected at most 10 s (--max-time)" in done.stderr


def test_python_refuses_as_the_command_line_does(fixed: Path) -> None:
    with pytest.raises(varicap.LimitError, match=r"expected at most 3600 s \(--max-time\)"):
        varicap.run(fixed, overrides=ENDLESS)
    with pytest.raises(varicap.ScenarioError, match="--max-memory"):
        varicap.run(fixed, max_memory="10 kB")
    with pytest.raises(varicap.LimitError, match="--max-memory"):
        varicap.compare(fixed, only=("sim",), overrides=ENDLESS)
    with pytest.raises(varicap.LimitError, match=r"^point 0: .*--max-time"):
        varicap.sweep(fixed, overrides=ENDLESS)
    with pytest.raises(varicap.ScenarioError, match="--max-memory: "):
        varicap.run(fixed, max_memory="much")


class Slow(CongestionControl):
    """A control that takes its time, which no estimate foresees."""

    def __init__(self, mss: int, initial_window: int) -> None:
        self.cwnd = 10 * mss

    def on_ack(self, ack: AckSample) -> None:
        time.sleep(0.0002)

    def on_congestion(self, event: CongestionEvent) -> None:
        pass


HELD: list[bytes] = []


class Greedy(Slow):
    """A control that hoards memory."""

    def on_ack(self, ack: AckSample) -> None:
        if len(HELD) < 200:
            HELD.append(bytes([len(HELD) + 1]) * 1_000_000)


OURS = {"flows.reno.tcp.congestion": '{ custom = "ours" }', "duration": "400 s"}


def test_a_run_is_stopped_where_the_estimate_was_wrong(fixed: Path) -> None:
    stopped = r"stopped at \d+\.\d+ s of simulated time: expected at most"
    with pytest.raises(varicap.LimitError, match=rf"{stopped} 1 s \(--max-time\), found \d+\.\d s on the clock"):
        varicap.run(fixed, seeds=1, overrides=OURS, controls={"ours": Slow}, max_time="1 s")
    try:
        with pytest.raises(varicap.LimitError, match=rf"{stopped} 100 MB of memory \(--max-memory\), found \d+ MB"):
            varicap.run(fixed, seeds=1, overrides=OURS, controls={"ours": Greedy}, max_memory="100 MB")
    finally:
        HELD.clear()


def test_runs_that_were_finished_before_a_limit_are_a_result(fixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = {"duration": "12 s"}
    ran = _core.run

    def run(*arguments: Any, **options: Any) -> Any:
        if options["first"] > 0:
            options["budget"] = past("1 ms")
        return ran(*arguments, **options)

    monkeypatch.setattr(_core, "run", run)
    stopped = r"expected at most 1 ms \(--max-time\), .*; 4 of 10 runs were finished$"
    with pytest.raises(varicap.LimitError, match=stopped) as caught:
        varicap.run(fixed, seeds=10, jobs=1, overrides=short)
    assert isinstance(caught.value, StoppedRunsError)
    assert caught.value.wanted == 10
    monkeypatch.undo()
    assert caught.value.result.summary == varicap.run(fixed, seeds=4, overrides=short).summary


def past(most: str) -> _core.Budget:
    """A budget whose time is over."""
    budget = _core.Budget(None, most)
    time.sleep(0.01)
    return budget


def test_the_command_saves_what_was_finished_before_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = varicap.run(EXAMPLES / "fixed.toml", seeds=3, overrides={"duration": "12 s"})

    def stopped(*_: object, **__: Any) -> None:
        raise StoppedRunsError("stopped", finished, 100)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("varicap.engines.run", stopped)
    done = CliRunner().invoke(app, ["run", str(EXAMPLES / "fixed.toml"), "--no-plot"])
    assert isinstance(done.exception, StoppedRunsError), done.output
    assert "3 of 100 runs are kept in varicap-out/fixed" in done.stderr
    assert json.loads(Path("varicap-out/fixed/manifest.json").read_text(encoding="utf-8"))["runs"] == 3


def test_a_budget_says_whether_it_is_spent() -> None:
    _core.Budget(None, None).check_spent()
    _core.Budget("4 GB", "1 h").check_spent()
    with pytest.raises(varicap.LimitError, match=r"expected at most 1 ms \(--max-time\), found \d+\.\d s on the clock"):
        past("1 ms").check_spent()


def test_the_kernel_engine_counts_the_runs_that_a_precision_adds(fixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the simulator in place of the kernel: what is asked before each batch is the same."""

    def simulated(asked: dict[str, Any], replications: range, *_: object) -> Iterator[tuple[int, dict[str, Any]]]:
        scenario = _core.Scenario.from_json(asked["scenario"], asked["name"], asked["base_dir"], [])
        done = _core.run(scenario, seed=asked["seed"], first=replications.start, count=len(replications))
        yield from ((number, {"data": data}) for number, data in done.packed())

    monkeypatch.setattr(_core, "kernel_check", lambda *_: None)
    monkeypatch.setattr(kernel, "_in_real_time", simulated)
    minute = {"duration": "12 s"}
    with pytest.raises(StoppedRunsError, match=r"expected at most 60 s \(--max-time\)") as caught:
        kernel.run(fixed, clock="real", seeds=5, precision=1e-9, overrides=minute, max_time="60 s")
    assert caught.value.result.runs == 5
    with pytest.raises(varicap.LimitError, match="in real time") as refused:
        kernel.run(fixed, clock="real", seeds=6, overrides=minute, max_time="60 s")
    assert not isinstance(refused.value, StoppedRunsError)


def test_the_kernel_engine_looks_at_the_clock(fixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def slow(request: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bytes]]:
        asked.append(request)
        while True:
            time.sleep(0.01)
            yield {"share": 0.1}, b""

    monkeypatch.setattr(_core, "kernel_check", lambda *_: None)
    monkeypatch.setattr(kernel, "_ask", slow)
    short = {"duration": "100 ms", "warmup": "0 s", "flows.reno.start_spread": "0 s"}
    with pytest.raises(varicap.LimitError, match=r"expected at most 200 ms \(--max-time\), found"):
        kernel.run(fixed, clock="real", overrides=short, max_time="200 ms", max_memory="1 GB")
    assert asked[0]["max_memory"] == "1 GB"


@pytest.mark.slow
def test_ctrl_c_ends_the_runs_of_a_sweep(fixed: Path) -> None:
    """Runs of three thousand hours: they end with the study, although nobody waits for them."""
    others = set(threading.enumerate())

    def interrupt(*_: object) -> None:
        threading.Timer(0.5, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            varicap.sweep(fixed, seeds=1, jobs=1, overrides={"duration": "9000000 s"}, progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    for thread in set(threading.enumerate()) - others:
        thread.join(timeout=HANG_S)
        assert not thread.is_alive(), thread


@pytest.mark.parametrize("keeps", [True, False])
def test_a_sweep_that_is_interrupted_reports_what_is_kept(fixed: Path, tmp_path: Path, keeps: bool) -> None:
    def interrupt(_share: float, done: int, _total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    over = {"duration": ["13 s", "14 s", "15 s"]}
    folder = tmp_path / "study" if keeps else None
    with pytest.raises(InterruptedSweep, match=r"^1 of 3 runs were finished; ") as caught:
        varicap.sweep(fixed, over, seeds=1, jobs=1, folder=folder, progress=interrupt)
    assert (caught.value.done, caught.value.wanted, caught.value.folder) == (1, 3, folder)
    assert str(folder if keeps else "nothing is kept") in str(caught.value)
    if keeps:
        shown: list[int] = []
        varicap.sweep(fixed, over, seeds=1, jobs=1, folder=folder, progress=lambda _, done, __: shown.append(done))
        assert shown[0] == 1, "what was kept is not repeated"


def test_a_part_that_was_written_as_the_interruption_came_is_counted(
    fixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Folder.add

    def interrupted(store: Folder, name: str, tables: bytes) -> None:
        write(store, name, tables)
        raise KeyboardInterrupt

    monkeypatch.setattr(Folder, "add", interrupted)
    with pytest.raises(InterruptedSweep) as caught:
        varicap.sweep(fixed, {"duration": ["13 s", "14 s"]}, seeds=1, jobs=1, folder=tmp_path / "study", piece_s=0.0)
    assert len(list((tmp_path / "study/parts").glob("*.arrow"))) == 1
    assert (caught.value.done, caught.value.wanted) == (1, 2)


def test_a_sweep_keeps_what_was_finished_and_goes_on(
    fixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited, asked = Limits.budget, count()

    def all_but_the_first(limits: Limits) -> _core.Budget:
        """An estimate finds everything small; and however slow the machine is, point 0 is finished."""
        return _core.Budget(None, None) if next(asked) < 2 else limited(limits)

    monkeypatch.setattr(Limits, "budget", all_but_the_first)
    over = {"duration": ["20 s", "30000 s"]}
    with pytest.raises(varicap.LimitError, match=r"^point 1 \(duration = 30000 s\): stopped at .*; what was") as caught:
        varicap.sweep(fixed, over, seeds=1, folder=tmp_path, jobs=1, max_time="30 ms")
    assert "expected at most 30 ms (--max-time)" in str(caught.value)
    shown: list[int] = []
    done = varicap.sweep(
        fixed, over, seeds=1, folder=tmp_path, jobs=1, max_time=None, progress=lambda _, done, __: shown.append(done)
    )
    assert shown == [1, 2]
    assert done.tables["links"].num_rows == 4


def test_a_point_says_where_it_lies() -> None:
    point: Point = (("a", "1"), ("b", "2"))
    with pytest.raises(varicap.LimitError, match=r"^point 3 \(a = 1, b = 2\): too much$"), naming(3, point):
        raise varicap.LimitError("too much")
