"""Studies whose folder or traces change behind their back: what changed is named, set aside and computed again."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, Cli

from varicap import study
from varicap.study import StudyError

LIMIT = "topology.dumbbell.forward.queue.drop-tail.limit"
TABLES = ("flows.parquet", "links.parquet", "summary.parquet")


def swept(folder: Path, notes: list[str]) -> dict[str, bytes]:
    """The tables of a short study of two points."""
    study.sweep(
        EXAMPLES / "fixed.toml",
        {LIMIT: ["5 packets", "10 packets"]},
        seeds=2,
        overrides={"duration": "12 s"},
        folder=folder,
        notify=notes.append,
    )
    return {name: (folder / name).read_bytes() for name in TABLES}


def parts(folder: Path) -> list[Path]:
    return sorted((folder / "parts").glob("*.arrow"))


def truncate(folder: Path) -> Path:
    part = parts(folder)[0]
    part.write_bytes(part.read_bytes()[:-400])
    return part


def flip(folder: Path) -> Path:
    """A byte of a value: Arrow itself does not notice."""
    part = parts(folder)[0]
    content = bytearray(part.read_bytes())
    content[content.index(b"reno")] ^= 1
    part.write_bytes(content)
    return part


def empty(folder: Path) -> Path:
    part = parts(folder)[0]
    part.write_bytes(b"")
    return part


def copy(folder: Path) -> Path:
    return Path(shutil.copy(parts(folder)[0], folder / "parts/0000009-0000000.arrow"))


def foreign(folder: Path) -> Path:
    """A part of another study."""
    other = folder.with_name("other")
    study.sweep(EXAMPLES / "fixed.toml", {LIMIT: ["7 packets"]}, seeds=2, overrides={"duration": "12 s"}, folder=other)
    return Path(shutil.copy(parts(other)[0], parts(folder)[0]))


def plan(folder: Path) -> Path:
    (folder / "plan.json").write_text("[]", encoding="utf-8")
    return folder / "plan.json"


@pytest.mark.parametrize("damage", [truncate, flip, empty, copy, foreign, plan])
def test_what_is_damaged_is_named_set_aside_and_computed_again(tmp_path: Path, damage: Callable[[Path], Path]) -> None:
    notes: list[str] = []
    whole = swept(tmp_path / "study", notes)
    assert notes == []
    damaged = damage(tmp_path / "study")
    kept = {part: part.stat().st_mtime_ns for part in parts(tmp_path / "study") if part != damaged}
    assert swept(tmp_path / "study", notes) == whole
    (note,) = notes
    assert note.startswith(f"{damaged}: ")
    assert damaged.with_name(f"{damaged.name}.damaged").exists()
    assert {part: part.stat().st_mtime_ns for part in kept} == kept
    assert swept(tmp_path / "study", notes) == whole
    assert len(notes) == 1


def test_the_command_names_a_damaged_part(cli: Cli, tmp_path: Path) -> None:
    command = ("sweep", EXAMPLES / "fixed.toml", "--set", "duration='12 s'", "--seeds", 2, "--no-plot", "-o", "study")
    assert cli(*command).returncode == 0
    damaged = truncate(tmp_path / "study")
    done = cli(*command)
    assert done.returncode == 0
    assert f"study/parts/{damaged.name}: not as it was written" in done.stderr


class Here(Executor):
    """Runs a task at once; before the second one it does something else."""

    def __init__(self, between: Callable[[], Any]) -> None:
        self.between = between
        self.tasks = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        self.tasks += 1
        if self.tasks == 2:
            self.between()
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("swept_trace", [False, True])
def test_a_trace_that_changes_while_a_study_runs_ends_it(tmp_path: Path, swept_trace: bool) -> None:
    trace, other = tmp_path / "a.trace", tmp_path / "b.trace"
    for path in (trace, other):
        path.write_text("".join(f"{time}\n" for time in range(10, 1010, 10)), encoding="utf-8")
    scenario = json.loads(study_scenario(trace))
    over = {"topology.dumbbell.forward.capacity.opportunities.file": [str(trace), str(other)]} if swept_trace else {}
    changed = other if swept_trace else trace

    def sweep(executor: Executor | None) -> Any:
        return study.sweep(scenario, over, seeds=1 if over else 2, folder=tmp_path / "study", executor=executor)

    before = changed.read_bytes()
    with pytest.raises(StudyError, match=rf"{changed.name}: the trace is not the one that the study began with"):
        sweep(Here(lambda: changed.write_bytes(before + b"1015\n")))
    with pytest.raises(StudyError, match=r"holds another study .*traces"):
        sweep(None)
    changed.write_bytes(before)
    assert sweep(None).flows.num_rows == 2


def study_scenario(trace: Path) -> str:
    forward = {
        "capacity": {"opportunities": {"file": str(trace)}},
        "delay": "20 ms",
        "queue": {"drop-tail": {"limit": "50 packets"}},
    }
    return json.dumps(
        {
            "schema_version": 1,
            "name": "traced",
            "duration": "5 s",
            "topology": {"dumbbell": {"forward": forward}},
            "flows": {"reno": {}},
        }
    )
