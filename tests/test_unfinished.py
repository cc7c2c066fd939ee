"""Runs that were interrupted or killed: the same command goes on, and leaves the same bytes as if nothing had been."""

import json
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, Cli, heed

import varicap
import varicap._core as _core
from varicap.engines import precision
from varicap.errors import InterruptedRuns
from varicap.results import unfinished
from varicap.results.kept import keep
from varicap.results.unfinished import discard

FIXED = EXAMPLES / "fixed.toml"
SHORT = {"duration": "12 s"}
PLACE = "unfinished"
AT_ONCE = """
from varicap.cli import main
from varicap.results import unfinished
unfinished._EVERY_S = 0.0
main()
"""
"""The command line, which writes parts at once: a second later a fast machine may have finished."""


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
    before = parts(tmp_path / "fewer")
    for name, seeds in (("more", 11), ("fewer", 3), ("fewer", 1)):
        after = answered(tmp_path / name, seeds=seeds)
        results = {name: content for name, content in after.items() if not name.startswith(f"{PLACE}/")}
        assert results == answered(tmp_path / f"whole-{name}-{seeds}", seeds=seeds)
    assert not (tmp_path / "more" / PLACE).exists()
    assert parts(tmp_path / "fewer") == before, "nine runs go on with the fourth"
    heard: list[int] = []
    answered(tmp_path / "fewer", progress=lambda _share, done, _total: heard.append(done))
    assert heard[0] >= 4
    assert not (tmp_path / "fewer" / PLACE).exists()


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
    after = answered(tmp_path / "cut", notes)
    assert {name: content for name, content in after.items() if not name.startswith(f"{PLACE}/")} == whole
    (note,) = notes
    assert str(part.parent) in note
    (damaged,) = (tmp_path / "cut" / PLACE / "parts").iterdir()
    assert note.endswith(f"(kept as {damaged.name})"), "what is named is there"


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ({"overrides": {"duration": "13 s"}}, "scenario"),
        ({"seed": 7}, "seed"),
        ({"series": True}, "series"),
        ({"seed": 7, "seeds": 1}, "seed"),
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
    monkeypatch.setattr(unfinished, "_core", type("other", (), {"__version__": "9.9", "__file__": _core.__file__}))
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
        request = replace(request, runs=9)
        discard(tmp_path / "cut", request, notes.append)
        assert parts(tmp_path / "cut") != [], "they are the first one's"
    discard(tmp_path / "cut", request, notes.append)
    assert list((tmp_path / "cut").iterdir()) == []
    assert ["of another process" in note for note in notes] == [True]


class Fixed:
    def __init__(self, mss: int, initial_window: int) -> None:
        self.cwnd = 4 * mss

    def on_ack(self, ack: Any) -> None: ...

    def on_congestion(self, event: Any) -> None: ...


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "model"},
        {"overrides": SHORT | {"flows.reno.tcp.congestion": '{ custom = "mine" }'}, "controls": {"mine": Fixed}},
    ],
    ids=["model", "python"],
)
def test_what_keeps_no_runs_leaves_those_of_another_command(tmp_path: Path, options: dict[str, Any]) -> None:
    cut_short(tmp_path / "cut")
    before = files(tmp_path / "cut" / PLACE)
    answered(tmp_path / "cut", **options)
    assert files(tmp_path / "cut" / PLACE) == before


def test_a_folder_of_the_users_own_is_left_alone(tmp_path: Path) -> None:
    """It has the name by chance; even what has the names of ours stays."""
    own = tmp_path / "cut" / PLACE
    (own / "parts").mkdir(parents=True)
    (own / "notes.txt").write_text("precious")
    (own / "parts/part.runs").write_text("precious")
    before = files(own)
    notes: list[str] = []
    stop = cut_short(tmp_path / "cut", notify=notes.append)
    assert stop.folder is None
    answered(tmp_path / "cut", notes)
    assert files(own) == before
    assert [note.split(": ", 1) for note in notes] == 2 * [
        [str(own), "not a folder of unfinished runs; these runs are not kept until they are done"]
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_a_link_is_refused_and_left_alone(cli: Cli, tmp_path: Path) -> None:
    cut_short(tmp_path / "elsewhere")
    before = files(tmp_path / "elsewhere")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / PLACE).symlink_to(tmp_path / "elsewhere" / PLACE)
    done = cli("run", FIXED, "--set", "duration='12 s'", "--seeds", 2, "--no-plot", "-o", "cut")
    assert done.returncode == 2
    assert done.stderr == "varicap: cut/unfinished: is a link, which is not followed; a folder is expected\n"
    assert (tmp_path / "cut" / PLACE).is_symlink()
    assert files(tmp_path / "elsewhere") == before


def test_other_files_among_unfinished_runs_remain(tmp_path: Path) -> None:
    cut_short(tmp_path / "cut")
    (tmp_path / "cut" / PLACE / "notes.txt").write_text("precious")
    answered(tmp_path / "cut")
    assert [path.name for path in (tmp_path / "cut" / PLACE).iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("after", [5, 6, 8])
def test_what_a_precision_has_finished_is_kept(tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the last runs of a batch, after which the precision asks for more."""
    monkeypatch.setattr(unfinished, "_EVERY_S", 1e9)
    stop = cut_short(tmp_path / "cut", after=after, seeds=5, precision=0.0001, max_seeds=12)
    kept = [json.loads(part.read_bytes().partition(b"\n")[0]) for part in parts(tmp_path / "cut")]
    assert sorted(replication for part in kept for replication, _ in part) == [*range(stop.done)]


def test_another_build_or_kernel_is_another_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = varicap.run(FIXED, seeds=1, overrides=SHORT).request
    measured = replace(request, engine="kernel", kernel="stock")
    before = unfinished.plan_of(request), unfinished.plan_of(measured)
    (tmp_path / "core").write_bytes(b"another build")
    monkeypatch.setattr(_core, "__file__", str(tmp_path / "core"))
    monkeypatch.setattr(platform, "release", lambda: "0.1")
    after = unfinished.plan_of(request), unfinished.plan_of(measured)
    differs = [[key for key in new if old[key] != new[key]] for old, new in zip(before, after, strict=True)]
    assert differs == [["core"], ["core", "linux"]]


def test_controls_in_python_are_not_kept(tmp_path: Path) -> None:
    changes = SHORT | {"flows.reno.tcp.congestion": '{ custom = "mine" }'}
    folder = tmp_path / "cut"
    stop = cut_short(folder, after=9, overrides=changes, controls={"mine": Fixed})
    assert stop.folder is None
    assert not folder.exists()


def test_an_interruption_between_two_batches_loses_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(dict[int, bytes]):
        def clear(self) -> None:
            super().clear()
            raise KeyboardInterrupt

    made = precision.Kept.__init__

    def with_fresh(kept: precision.Kept, *parts: Any) -> None:
        made(kept, *parts)
        kept.fresh = Interrupted()

    monkeypatch.setattr(precision.Kept, "__init__", with_fresh)
    with pytest.raises(InterruptedRuns) as caught:
        varicap.run(FIXED, seeds=9, jobs=1, overrides=SHORT, folder=tmp_path / "cut")
    assert (caught.value.done, caught.value.result.runs) == (4, 4)
    assert parts(tmp_path / "cut") != []


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
    command = ["run", str(FIXED), "--seeds", "30", "--set", "duration='1000 s'", "-j", "1", "--no-plot", "-o"]
    with subprocess.Popen(
        [sys.executable, "-c", AT_ONCE, *command, "cut"],
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
    cut_short(tmp_path / "cut")
    shutil.rmtree(tmp_path / "cut" / PLACE / "parts")
    (tmp_path / "cut" / PLACE / "parts").write_text("in the way")
    done = cli("run", FIXED, "--set", "duration='12 s'", "--seeds", 2, "--no-plot", "-o", "cut")
    assert done.returncode == 2
    assert "cut/unfinished/parts: is a file; a folder is expected" in done.stderr
