"""Runs stay within their memory and time: refused beforehand by an estimate, stopped where the estimate was wrong."""

import json
import time
from pathlib import Path

import pytest
from conftest import Cli

import varicap
import varicap.study
from varicap.engines.replay import replay
from varicap.parts.tcp import AckSample, CongestionControl, CongestionEvent
from varicap.results.summary import Point
from varicap.study.budget import naming

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
    begin = time.perf_counter()
    done = cli("run", file, "--no-plot", *limits)
    assert time.perf_counter() - begin < 20
    assert done.returncode == 2, done.stdout + done.stderr
    assert exceeded in done.stderr
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
        varicap.run(fixed, max_memory="1 MB")
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
    with pytest.raises(varicap.LimitError, match=rf"{stopped} 100 MB of memory \(--max-memory\), found \d+ MB"):
        varicap.run(fixed, seeds=1, overrides=OURS, controls={"ours": Greedy}, max_memory="100 MB")
    HELD.clear()


def test_a_sweep_keeps_what_was_finished_and_goes_on(
    fixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> None:
        """An estimate that finds everything small."""

    monkeypatch.setattr(varicap.study, "check", nothing)
    over = {"duration": ["20 s", "100000 s"]}
    with pytest.raises(
        varicap.LimitError, match=r"^point 1 \(duration = 100000 s\): stopped at .*; what was"
    ) as caught:
        varicap.sweep(fixed, over, seeds=1, folder=tmp_path, jobs=1, max_time="100 ms")
    assert "expected at most 100 ms (--max-time)" in str(caught.value)
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
