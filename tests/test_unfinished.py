"""Runs that were interrupted or killed: the same command goes on, and leaves the same bytes as if nothing had been."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, Cli, heed

import varicap
from varicap.errors import InterruptedRuns
from varicap.results import unfinished
from varicap.results.kept import keep
from varicap.results.pieces import discard

FIXED = EXAMPLES / "fixed.toml"
SHORT = {"duration": "12 s"}
PLACE = "unfinished"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are written whenever runs have finished: tests are over in a second."""
    monkeypatch.setattr(unfinished, "_EVERY_S", 0.0)


def answered(folder: Path, notes: list[str] | None = None, **options: Any) -> dict[str, bytes]:
    """A call that nothing interrupts: the files that it leaves, but for the manifest's facts about the machine."""
    asked: dict[str, Any] = {"scenario": FIXED, "seeds": 9, "jobs": 1, "overrides": SHORT} | options
    varicap.run(folder=folder, notify=([] if notes is None else notes).append, **asked)
    return files(folder)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".damaged"
    }


def cut_short(folder: Path, after: int = 4, **options: Any) -> InterruptedRuns:
    """A call that is interrupted when `after` runs are finished: the first batch has four."""

    def stop(_share: float, done: int, _total: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    asked: dict[str, Any] = {"scenario": FIXED, "seeds": 9, "jobs": 1, "overrides": SHORT} | options
    with pytest.raises(InterruptedRuns) as caught:
        varicap.run(folder=folder, progress=stop, **asked)
    return caught.value


def parts(folder: Path) -> list[Path]:
    return sorted((folder / PLACE / "parts").glob("*.runs"))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"series": "first"},
        {"series": True, "packets": True},
        {"precision": 0.0001, "max_seeds": 12, "seeds": 6},
        {"scenario": EXAMPLES / "lte.toml", "series": True, "seeds": 6},
    ],
    ids=["plain", "first", "recorded", "precision", "isolated"],
)
def test_an_interrupted_call_goes_on_and_leaves_the_same_bytes(tmp_path: Path, options: dict[str, Any]) -> None:
    whole = answered(tmp_path / "whole", **options)
    stop = cut_short(tmp_path / "cut", **options)
    assert stop.done == 4
    assert stop.folder == tmp_path / "cut"
    assert parts(tmp_path / "cut") != []
    heard: list[int] = []
    options = options | {"progress": lambda _share, done, _total: heard.append(done)}
    assert answered(tmp_path / "cut", **options) == whole
    assert heard[0] >= 4, "what was finished is not repeated"


def test_what_is_finished_is_a_result_and_all_of_it_is_kept(tmp_path: Path) -> None:
    stop = cut_short(tmp_path / "cut")
    assert stop.result.runs == stop.done
    assert stop.result.summary == varicap.run(FIXED, seeds=stop.done, overrides=SHORT).summary
    assert f"{stop.done} of 9 runs were finished; kept in {tmp_path / 'cut'}" in str(stop)


def test_more_runs_or_fewer_are_the_same_command(tmp_path: Path) -> None:
    cut_short(tmp_path / "more")
    shutil.copytree(tmp_path / "more", tmp_path / "fewer")
    for name, seeds in (("more", 11), ("fewer", 3)):
        assert answered(tmp_path / name, seeds=seeds) == answered(tmp_path / f"whole-{name}", seeds=seeds)


def test_gaps_between_finished_runs_are_filled(tmp_path: Path) -> None:
    """Runs end in any order."""
    whole = answered(tmp_path / "whole")
    cut_short(tmp_path / "cut")
    cut_short(tmp_path / "cut", after=9)
    parts(tmp_path / "cut")[0].unlink()
    assert answered(tmp_path / "cut") == whole


def truncate(part: Path) -> None:
    part.write_bytes(part.read_bytes()[:-100])


def flip(part: Path) -> None:
    content = bytearray(part.read_bytes())
    content[content.index(b"reno")] ^= 1
    part.write_bytes(content)


def empty(part: Path) -> None:
    part.write_bytes(b"")


def copy(part: Path) -> None:
    shutil.copy(part, part.with_name("0000000-copy.runs"))


@pytest.mark.parametrize("damage", [truncate, flip, empty, copy])
def test_a_damaged_part_is_named_set_aside_and_computed_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    whole = answered(tmp_path / "whole")
    cut_short(tmp_path / "cut")
    part = parts(tmp_path / "cut")[0]
    damage(part)
    notes: list[str] = []
    assert answered(tmp_path / "cut", notes) == whole
    (note,) = notes
    assert str(part.parent) in note
    assert ".runs.damaged" in note


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ({"overrides": {"duration": "13 s"}}, "scenario"),
        ({"seed": 7}, "seed"),
        ({"series": True}, "series"),
    ],
)
def test_another_command_begins_anew_and_destroys_nothing(
    tmp_path: Path, other: Mapping[str, Any], differs: str
) -> None:
    cut_short(tmp_path / "cut")
    before = files(tmp_path / "cut" / PLACE)
    notes: list[str] = []
    answered(tmp_path / "cut", notes, **other)
    assert [f"it differs in: {differs}" in note for note in notes] == [True]
    assert files(tmp_path / "cut" / f"{PLACE}-1") == before
    shutil.rmtree(tmp_path / "cut" / f"{PLACE}-1")
    assert files(tmp_path / "cut") == answered(tmp_path / "whole", **other)


def test_runs_of_another_version_are_not_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_short(tmp_path / "cut")
    monkeypatch.setattr(unfinished, "_core", type("other", (), {"__version__": "9.9"}))
    notes: list[str] = []
    answered(tmp_path / "cut", notes)
    assert "differs in: version" in notes[0]


def test_a_changed_trace_is_another_command(tmp_path: Path) -> None:
    trace = Path(shutil.copy(EXAMPLES / "traces/lte-like.down", tmp_path / "a.down"))
    scenario = (EXAMPLES / "lte.toml").read_text().replace("traces/lte-like.down", "a.down")
    (tmp_path / "traces").symlink_to(EXAMPLES / "traces")
    (tmp_path / "lte.toml").write_text(scenario)
    file = tmp_path / "lte.toml"
    assert trace.name in scenario
    plan = unfinished.plan_of(varicap.run(file, seeds=1, overrides={"duration": "11 s"}).request)
    trace.write_text("1\n2\n")
    other = unfinished.plan_of(varicap.run(file, seeds=1, overrides={"duration": "11 s"}).request)
    assert [key for key in plan if plan[key] != other[key]] == ["traces"]


def test_a_second_process_is_told_and_keeps_nothing(tmp_path: Path) -> None:
    cut_short(tmp_path / "cut")
    request = varicap.run(FIXED, seeds=1, overrides=SHORT).request
    notes: list[str] = []
    with unfinished.Unfinished(tmp_path / "cut", unfinished.plan_of(request), notes.append) as first:
        assert first.there.keys() >= {0, 1, 2, 3}
        with unfinished.Unfinished(tmp_path / "cut", unfinished.plan_of(request), notes.append) as second:
            second.add([(8, b"run")])
            assert second.there == {}
        discard(tmp_path / "cut")
        assert parts(tmp_path / "cut") != [], "they are the first one's"
    discard(tmp_path / "cut")
    assert list((tmp_path / "cut").iterdir()) == []
    assert ["of another process" in note for note in notes] == [True]


def test_controls_in_python_are_not_kept(tmp_path: Path) -> None:
    class Fixed:
        def __init__(self, mss: int, initial_window: int) -> None:
            self.cwnd = 4 * mss

        def on_ack(self, ack: Any) -> None: ...

        def on_congestion(self, event: Any) -> None: ...

    changes = SHORT | {"flows.reno.tcp.congestion": '{ custom = "mine" }'}
    folder = tmp_path / "cut"
    stop = cut_short(folder, after=9, overrides=changes, controls={"mine": Fixed})
    assert stop.folder is None
    assert not folder.exists()


def test_results_that_are_the_first_of_more_give_way(tmp_path: Path) -> None:
    """What an interruption leaves is no other result than that of the whole; nothing is lost."""
    few, many = (varicap.run(FIXED, seeds=seeds, overrides=SHORT) for seeds in (2, 4))
    keep(few, tmp_path / "results")
    assert keep(many, tmp_path / "results")[1] is None
    assert keep(few, tmp_path / "results")[1] == tmp_path / "results-1"


def test_other_results_are_moved_without_the_unfinished_runs(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    keep(varicap.run(FIXED, seeds=2, overrides=SHORT, seed=7), folder)
    stop = cut_short(folder)
    _, moved = keep(stop.result, folder)
    assert moved is not None
    assert not (moved / PLACE).exists()
    assert parts(folder) != []


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL], ids=lambda ending: ending.name)
def test_a_command_that_was_ended_goes_on(tmp_path: Path, cli: Cli, ending: signal.Signals) -> None:
    command = ["run", str(FIXED), "--seeds", "30", "--set", "duration='400 s'", "--no-plot", "-o"]
    with subprocess.Popen(
        [sys.executable, "-m", "varicap", *command, "cut"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed,
    ) as process:
        try:
            while not parts(tmp_path / "cut"):
                assert process.poll() is None, "it is over before a part is written: take longer runs"
                time.sleep(0.01)
            process.send_signal(ending)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    if ending is signal.SIGINT:
        assert process.returncode == 130
        (line,) = said.splitlines()
        assert line.endswith("of 30 runs are kept in cut; the same command goes on from there")
        assert json.loads((tmp_path / "cut/manifest.json").read_text())["runs"] <= int(line.split()[2]) < 30
    times = {part: part.stat().st_mtime_ns for part in parts(tmp_path / "cut")}
    assert times
    assert cli(*command, "cut", "-q").returncode == 0
    assert not (tmp_path / "cut" / PLACE).exists()
    assert cli(*command, "whole", "-q").returncode == 0
    assert files(tmp_path / "cut") == files(tmp_path / "whole")


def test_a_folder_of_unfinished_runs_says_so(cli: Cli, tmp_path: Path) -> None:
    cut_short(tmp_path / "cut")
    done = cli("report", "cut")
    assert done.returncode == 2
    assert "a run that is not finished; the command that began it goes on where it was" in done.stderr


def test_a_folder_that_cannot_hold_them_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "cut" / PLACE).mkdir(parents=True)
    (tmp_path / "cut" / PLACE / "parts").write_text("in the way")
    done = cli("run", FIXED, "--set", "duration='12 s'", "--seeds", 2, "--no-plot", "-o", "cut")
    assert done.returncode == 1
    assert "cut/unfinished/parts: File exists; what was finished is kept" in done.stderr
