"""Folders that others made: nothing is written, read, renamed or removed outside of them, whatever lies in them."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, Cli

import varicap
from varicap import study, templates
from varicap._folders import Folder, FolderError
from varicap.papers import page as pages
from varicap.results.names import UNFINISHED
from varicap.results.saved import read

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")

FIXED = str(EXAMPLES / "fixed.toml")
SHORT = ("--set", "duration='12 s'")
LIMIT = "topology.dumbbell.forward.queue.drop-tail.limit"
RUN = ("run", FIXED, *SHORT, "--seeds", 1, "-q")
SWEEP = ("sweep", FIXED, *SHORT, "--over", f"{LIMIT}=5 packets,10 packets", "--seeds", 1, "-q")
DESIGN: tuple[object, ...] = (
    *("design", FIXED, *SHORT, "--vary", f"{LIMIT}=1 packets..20 packets", "--subject-to", "utilisation >= 70 %"),
    *("--minimise", LIMIT, "--budget", 40, "-q"),
)
TRACE = EXAMPLES / "traces/lte-like.down"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders as commands leave them: `run`, `lte` with a trace, `study`."""
    folder = tmp_path_factory.mktemp("made")
    changes = {"duration": "12 s"}
    varicap.run(FIXED, seeds=1, series=True, packets=True, overrides=changes).save(folder / "run")
    varicap.run(EXAMPLES / "lte.toml", seeds=1, overrides={"duration": "12 s", "warmup": "1 s"}).save(folder / "lte")
    over = {LIMIT: ["5 packets", "10 packets"]}
    study.sweep(FIXED, over, seeds=1, overrides=changes, folder=folder / "study")
    return folder


@pytest.fixture
def mine(made: Path, tmp_path: Path) -> Path:
    """A copy of all that, which a stranger has sent, in the folder where commands run."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder elsewhere with a file that nothing may touch."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "precious").write_text("mine")
    (folder / "0000000-0000000.arrow").write_text("mine, too")
    (folder / ".left.tmp").write_text("and this")
    before = state(folder)
    yield folder
    assert state(folder) == before


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """What is in a folder, and when it was changed."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {name: (path.read_bytes(), path.lstat().st_mtime_ns) for name, path in found.items() if path.is_file()}


def plant(place: Path, target: Path) -> None:
    """Put a link where something of ours is, or would be."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def refused(done: "subprocess.CompletedProcess[str]", place: str) -> None:
    """One line that names the place, and the exit code of what a user may mend."""
    assert done.returncode == 2, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("Usage") and line.strip()]
    assert place in line
    assert "link" in line


WRITES: list[tuple[tuple[object, ...], str]] = [
    (("report", "run"), "run/report.html"),
    (("report", "study"), "study/report.html"),
    *[
        (("run", FIXED, *SHORT, "--seeds", 2, "--series", "-q", "-o", "run"), f"run/{name}")
        for name in (
            *("flows.parquet", "links.parquet", "flow_series.parquet", "summary.json", "manifest.json", "plot.png"),
            *(".flows.parquet.tmp", UNFINISHED, f"{UNFINISHED}/parts", f"{UNFINISHED}/lock"),
        )
    ],
    (("run", FIXED, *SHORT, "--packets", "--seeds", 1, "-q", "-o", "run"), "run/packets.parquet"),
    (("run", EXAMPLES / "lte.toml", *SHORT, "--set", "warmup='1 s'", "--seeds", 1, "-q", "-o", "lte"), "lte/traces"),
    (("run", FIXED, "--engine", "model", "-o", "run"), "run/summary.json"),
    *[
        ((*SWEEP, "-o", "study"), f"study/{name}")
        for name in (
            *("lock", "plan.json", "parts", "flows.parquet", "summary.parquet", "manifest.json", "chart.png"),
            *(
                ".flows.parquet.tmp",
                ".plan.json.tmp",
                "parts/0000000-0000000.arrow",
                "parts/.0000000-0000000.arrow.tmp",
            ),
        )
    ],
    ((*SWEEP[:-3], "--engine", "model", "-o", "run"), "run/models.parquet"),
    *[((*DESIGN, "-o", "design"), f"design/{name}") for name in ("points.json", "design.json", "parts", "lock")],
    (("plot", "run", "-o", "a.pdf"), "a.pdf"),
    (("export", "run", "--to", "mahimahi", "-o", "a.log"), "a.log"),
    (("table", "run", "-o", "a.md"), "a.md"),
    (("report", "run", "-o", "a.html"), "a.html"),
    (("trace", "convert", TRACE, "-o", "a.csv"), "a.csv"),
    (("trace", "convert", TRACE, "--delay", "20 ms", "-o", "bw_1.txt"), "delay_1.txt"),
    (("trace", "info", TRACE, "-o", "a.json"), "a.json"),
    (("trace", "plot", TRACE, "-o", "a.png"), "a.png"),
    (("trace", "trains", TRACE, "-o", "a.trains"), "a.trains"),
    (("trace", "generate", "constant", "--rate", "1 Mbit/s", "-o", "a.down"), "a.down"),
    ((*RUN, "-o", "run", "--pcap", "a.pcapng"), "a.pcapng"),
    (("validate", "kernel", "-o", "table"), "table/runs.jsonl"),
    (("reproduce", "ratcp", "fig04", "--quick", "-q", "-o", "again"), "again/ratcp"),
    (("reproduce", "ratcp", "fig04", "--quick", "-q", "-o", "again"), "again/index.html"),
    (("reproduce", "ratcp", "fig04", "--quick", "-q", "-o", "again"), "again/ratcp/fig04.png"),
]


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize(("command", "place"), WRITES, ids=[f"{words[0]}-{place}" for words, place in WRITES])
def test_nothing_is_written_through_a_link(
    cli: Cli, mine: Path, victim: Path, command: tuple[object, ...], place: str, is_there: bool
) -> None:
    is_folder = place.endswith(("parts", "traces", UNFINISHED, "ratcp"))
    if not is_folder:
        plant(mine / place, victim / ("precious" if is_there else "not-there"))
    elif is_there:
        plant(mine / place, victim)
    else:
        plant(mine / place, victim / "not-there")
    refused(cli(*command), place)
    assert not (victim / "not-there").exists()


READS = [
    *[
        ((*command, "run"), f"run/{name}")
        for command in (("report",), ("table",), ("plot", "-o", "a.png"), ("export", "--to", "mahimahi"))
        for name in ("summary.json", "manifest.json", "packets.parquet")
    ],
    (("report", "study"), "study/flows.parquet"),
    (("table", "study"), "study/manifest.json"),
    (("report", "lte"), "lte/traces"),
    (("replay", "lte/manifest.json"), "lte/traces"),
]


@pytest.mark.parametrize(("command", "place"), READS, ids=[f"{words[0]}-{place}" for words, place in READS])
def test_nothing_is_read_through_a_link(
    cli: Cli, mine: Path, made: Path, command: tuple[object, ...], place: str
) -> None:
    plant(mine / place, made / place)
    refused(cli(*command), place)


def test_a_folder_and_a_file_that_a_user_names_may_be_links(cli: Cli, mine: Path, made: Path) -> None:
    (mine / "named").symlink_to("run")
    assert cli("report", "named").returncode == 0
    assert (mine / "run/report.html").is_file()
    (mine / "scenario.toml").symlink_to(FIXED)
    assert cli("run", "scenario.toml", *SHORT, "--seeds", 1, "--no-plot", "-o", "named").returncode == 0
    assert len(read(mine / "run").flows) == 1
    (mine / "of.json").symlink_to(mine / "run/manifest.json")
    assert "links" not in cli("replay", "run/manifest.json").stderr
    (mine / "trace.down").symlink_to(TRACE)
    assert cli("trace", "info", "trace.down").returncode == 0
    (mine / "study-2").symlink_to("study")
    assert cli(*SWEEP, "-o", "study-2").returncode == 0


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder"])
@pytest.mark.parametrize(
    ("command", "place"),
    [
        (("report", "run"), "run/report.html"),
        (("table", "run"), "run/summary.json"),
        (("report", "run"), "run/packets.parquet"),
        ((*RUN, "-o", "run"), "run/flows.parquet"),
        ((*SWEEP, "-o", "study"), "study/lock"),
        ((*SWEEP, "-o", "study"), "study/parts/0000000-0000000.arrow"),
        ((*DESIGN, "-o", "design"), "design/points.json"),
        (("trace", "convert", TRACE, "-o", "a.csv"), "a.csv"),
    ],
)
def test_what_is_no_file_is_named_and_not_waited_for(
    cli: Cli, mine: Path, command: tuple[object, ...], place: str, kind: str
) -> None:
    file = mine / place
    file.unlink(missing_ok=True)
    file.parent.mkdir(exist_ok=True)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        listening = socket.socket(socket.AF_UNIX)
        here = Path.cwd()
        os.chdir(file.parent)  # the path of a socket may not be long
        listening.bind(file.name)
        os.chdir(here)
        listening.close()
    done = cli(*command)
    assert done.returncode == 2, done.stderr
    assert place in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "place"),
    [
        (("report", "run"), "run/report.html"),
        ((*RUN, "--no-plot", "-o", "run"), "run/flows.parquet"),
        ((*RUN, "--no-plot", "-o", "run"), "run/.flows.parquet.tmp"),
        ((*SWEEP, "--no-plot", "-o", "study"), "study/lock"),
        (("export", "run", "--to", "mahimahi", "-o", "a.log"), "a.log"),
    ],
)
def test_another_name_of_a_file_elsewhere_is_not_written_into(
    cli: Cli, mine: Path, victim: Path, command: tuple[object, ...], place: str
) -> None:
    (mine / place).unlink(missing_ok=True)
    os.link(victim / "precious", mine / place)
    done = cli(*command)
    assert done.returncode == 0, done.stderr


class Swapping(Executor):
    """Runs pieces at once; before the second one, somebody puts a link in the place of a folder or file."""

    def __init__(self, place: Path, target: Path) -> None:
        self.place, self.target, self.submitted = place, target, 0

    def submit(self, task: Callable[..., Any], /, *arguments: Any, **named: Any) -> "Future[Any]":
        self.submitted += 1
        if self.submitted == 2:
            self.place.rename(self.place.with_name("moved"))
            self.place.symlink_to(self.target)
        done: Future[Any] = Future()
        done.set_result(task(*arguments, **named))
        return done


@pytest.mark.parametrize("place", ["parts", "lock", "plan.json", "."])
def test_a_link_that_is_put_there_while_a_sweep_goes_on_is_not_followed(
    tmp_path: Path, victim: Path, place: str
) -> None:
    folder = tmp_path / "study"
    over = {LIMIT: ["5 packets", "10 packets", "15 packets"]}
    target = victim if place in ("parts", ".") else victim / "precious"
    executor = Swapping(folder if place == "." else folder / place, target)
    study.sweep(FIXED, over, seeds=1, overrides={"duration": "12 s"}, folder=folder, executor=executor, piece_s=0.0)
    assert executor.submitted == 3
    where = tmp_path / "moved" if place == "." else folder
    assert (where / "manifest.json").is_file()


def test_a_link_that_is_put_there_while_a_file_is_written_is_replaced(tmp_path: Path, victim: Path) -> None:
    with Folder(tmp_path) as folder, folder.writing("flows.parquet") as file:
        (tmp_path / "flows.parquet").symlink_to(victim / "precious")
        file.write(b"new")
    assert not (tmp_path / "flows.parquet").is_symlink()
    assert (tmp_path / "flows.parquet").read_bytes() == b"new"


def test_a_template_replaces_a_link_and_writes_nothing_elsewhere(tmp_path: Path, victim: Path) -> None:
    for name in ("lte.toml", templates.trace_name("lte") or ""):
        (tmp_path / name).symlink_to(victim / "precious")
    templates.new("lte", tmp_path / "lte.toml", force=True)
    assert not (tmp_path / "lte.toml").is_symlink()


# ---- what a file is, and how much of it is read -----------------------------------------------------------------


def test_a_name_is_no_path(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        for name in ("..", ".", "", "a/b", "/etc/passwd", "a\0b"):
            with pytest.raises(FolderError, match="not the name of a file"):
                folder.write(name, b"")


def test_a_file_that_is_too_large_is_refused_with_both_sizes(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(b"x" * 100)
    with Folder(tmp_path) as folder, pytest.raises(FolderError, match="has 100 bytes, and at most 10 are read"):
        folder.read("manifest.json", 10)


def test_where_there_are_no_handles_of_folders_no_link_is_followed_either(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("varicap._folders._HAS_HANDLES", False)
    plant(tmp_path / "link", victim / "precious")
    plant(tmp_path / "parts", victim)
    (tmp_path / ".a.tmp").write_text("half of")
    with Folder(tmp_path) as folder:
        assert folder.write("a", b"old").read_bytes() == b"old"
        folder.write_all({"a": b"new", "b": b"new"})
        with folder.within("inner", make=True) as inner:
            folder.move("b", "c", inner)
            assert inner.read("c") == b"new"
        assert folder.names() == ["a", "inner", "link", "parts"]
        for fails in (lambda: folder.write("link", b""), lambda: folder.read("link"), lambda: folder.within("parts")):
            with pytest.raises(FolderError, match="is a link"):
                fails()


def test_two_writers_of_a_file_do_not_meet(tmp_path: Path) -> None:
    with Folder(tmp_path) as one, Folder(tmp_path) as other:
        with one.writing("a") as first:
            first.write(b"first")
            with other.writing("a") as second:
                second.write(b"second")
            assert (tmp_path / "a").read_bytes() == b"second"
        assert (tmp_path / "a").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_a_process_left_that_ended_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".a.tmp").write_text("half of")
    with Folder(tmp_path) as folder:
        folder.write("a", b"whole")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "whole"}


def test_a_file_keeps_who_may_read_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o600)
    with Folder(tmp_path) as folder:
        folder.write("a", b"new")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_descriptors_are_closed_on_all_paths(mine: Path) -> None:
    def descriptors() -> int:
        return len([*Path("/dev/fd").iterdir()])

    (mine / "run/packets.parquet").unlink()
    os.mkfifo(mine / "run/packets.parquet")
    before = descriptors()
    for _ in range(20):
        for name in ("run", "study", "nowhere"):
            with pytest.raises((FolderError, OSError)), Folder(mine / name) as folder, folder.writing("a"):
                raise OSError(28, "No space left on device")
        with pytest.raises(FolderError):
            read(mine / "run")
    assert descriptors() == before


# ---- a full disk --------------------------------------------------------------------------------------------------


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
sys.argv = ["varicap", *{words}]
from varicap.cli import main
main()
"""


@pytest.mark.parametrize(
    ("command", "folder", "file"),
    [
        (
            (*RUN, "--series", "--no-plot", "-o", "run"),
            "run",
            "flows.parquet",
        ),
        ((*RUN, "-o", "lte"), "lte", "manifest.json"),
        (("report", "run"), "run", "report.html"),
        (("report", "study"), "study", "report.html"),
        ((*DESIGN, "-o", "design"), "design", "plan.json"),
        (("plot", "run", "-o", "run/figure.pdf"), "run", "figure.pdf"),
        (
            (*RUN, "--no-plot", "-o", "o", "--pcap", "run/a.pcapng"),
            "run",
            "a.pcapng",
        ),
    ],
)
def test_a_full_disk_leaves_the_old_file_or_the_new_one_and_is_named(
    mine: Path, command: tuple[object, ...], folder: str, file: str
) -> None:
    if "--pcap" not in command:
        (mine / folder).mkdir(exist_ok=True)
    if file != "plan.json":
        (mine / folder / file).write_text("old")
    before = state(mine / folder)
    size = {"plan.json": 1500, "manifest.json": 1500, "a.pcapng": 100_000}.get(file, 20_000)
    words = [str(word) for word in command]
    done = subprocess.run(
        [sys.executable, "-c", FULL.format(size=size, words=words)], cwd=mine, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert f"{folder}/{file}: File too large" in done.stderr
    after = state(mine / folder)
    assert {name: after.get(name) for name in before} == before
    assert not list((mine / folder).rglob(".*.tmp"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="of Linux")
@pytest.mark.parametrize("words", [("-o", "o", "--pcap", "/dev/full"), ("export",)])
def test_a_device_that_is_full_is_named(cli: Cli, mine: Path, words: tuple[str, ...]) -> None:
    export = ("export", "run", "--to", "mahimahi", "-o", "/dev/full")
    done = cli(*(export if words == ("export",) else (*RUN, "--no-plot", *words)))
    assert done.returncode == 1
    assert done.stderr.endswith("varicap: /dev/full: No space left on device\n")


# ---- forged and damaged -------------------------------------------------------------------------------------------


def test_the_index_of_papers_leaves_out_records_that_are_none(tmp_path: Path) -> None:
    good = {
        "paper": "good",
        "title": "A paper",
        "figures": {"fig01": "Fig. 1"},
        "verdicts": {"reproduced": 1, "differs": 0, "unsettled": 0},
    }
    texts = {
        "good": json.dumps(good),
        "list": "[]",
        "deep": "[" * 100_000,
        "keys": json.dumps({"paper": "keys", "title": "", "figures": {}, "verdicts": {}}),
        "counts": json.dumps(good | {"paper": "counts", "verdicts": {"reproduced": "x"}}),
        "figures": json.dumps(good | {"paper": "figures", "figures": [1]}),
        "other": json.dumps(good | {"paper": "../good"}),
        "binary": "\udcff",
    }
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / pages.RECORD).write_text(text, errors="surrogateescape")
    written = pages.write_index(tmp_path)
    assert written is not None
    assert written.read_text().count("<section>") == 1


def test_a_record_or_a_page_that_is_a_link_is_refused(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / pages.RECORD).symlink_to(victim / "precious")
    with pytest.raises(FolderError, match=rf"paper/{pages.RECORD}: is a link"):
        pages.write_index(tmp_path)
