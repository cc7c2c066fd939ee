"""Studies: designs, and folders that survive whatever happens to the process."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, Cli
from hypothesis import given, settings
from hypothesis import strategies as st

import varicap
import varicap._core as _core
from varicap import study
from varicap.study import Axis, DesignError, StudyError, points, work
from varicap.study.axes import Range
from varicap.study.budget import Limits
from varicap.study.store import Folder
from varicap.study.work import Span, _Pieces

pytestmark = pytest.mark.slow

LIMIT = "topology.dumbbell.forward.queue.drop-tail.limit"
LIMITS = ["2 packets", "5 packets", "10 packets"]
SHORT = {"duration": "12 s", "warmup": "2 s"}
TABLES = ("flows.parquet", "links.parquet", "summary.parquet")


def short(folder: Path | None = None, **options: Any) -> study.Study:
    chosen: dict[str, Any] = {"seeds": 4, "overrides": SHORT} | options
    found: study.Study = study.sweep(ROOT / "examples/fixed.toml", {LIMIT: LIMITS}, folder=folder, **chosen)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


def test_a_product_takes_every_combination_and_zip_the_pairs() -> None:
    axes = [Axis("a", ("1", "2")), Axis("b", ("x", "y"))]
    assert [tuple(value for _, value in point) for point in points(axes)] == [
        ("1", "x"),
        ("1", "y"),
        ("2", "x"),
        ("2", "y"),
    ]
    assert [tuple(value for _, value in point) for point in points(axes, "zip")] == [("1", "x"), ("2", "y")]


@settings(deadline=None)
@given(st.integers(1, 40), st.sampled_from(["latin", "sobol"]), st.integers(0, 9))
def test_spread_points_keep_to_their_ranges_and_fill_them(count: int, design: Any, seed: int) -> None:
    axes = [Axis("delay", ("1 ms..100 ms log",)), Axis("limit", ("3 packets..7 packets",))]
    found = points(axes, design, count, seed)
    assert len(found) == count
    delays = [float(dict(point)["delay"].removesuffix(" ms")) for point in found]
    limits = {dict(point)["limit"] for point in found}
    assert all(1 <= delay <= 100 for delay in delays)
    assert limits <= {f"{number} packets" for number in range(3, 8)}
    if design == "latin":
        # One in each stripe of the logarithm.
        stripes = sorted(int(np.log10(delay) / 2 * count - 1e-9) for delay in delays)
        assert len(set(stripes)) >= count - 2


@pytest.mark.parametrize(
    ("axes", "options", "says"),
    [
        (["limit"], {}, "is not PATH=VALUE"),
        (["limit="], {}, "is not PATH=VALUE"),
        (["a=1", "a=2"], {}, "given twice"),
        (["a=1,2", "b=1"], {"design": "zip"}, "one length"),
        (["a=1,2"], {"design": "latin", "count": 3}, "is not a range"),
        (["a=5 ms..1 ms"], {"design": "sobol", "count": 3}, "lower end"),
        (["a=5 ms..1 Mbit/s"], {"design": "sobol", "count": 3}, "units of one quantity"),
        (["a=5 packets..1 MB"], {"design": "sobol", "count": 3}, "units of one quantity"),
        (["a=5..1 s"], {"design": "sobol", "count": 2}, "lower end"),
        (["a=1 ms..2 ms"], {"design": "sobol"}, "needs a number of points"),
        (["a=1,2"], {"count": 3}, "leave the number out"),
    ],
)
def test_axes_that_make_no_sense_are_told(axes: list[str], options: dict[str, Any], says: str) -> None:
    with pytest.raises(DesignError, match=says):
        points([Axis.read(text) for text in axes], **options)


@pytest.mark.parametrize(
    ("text", "says"),
    [("5 ms..1 s", ["0.005 s", "1.0 s"]), ("500 kbit/s..2 Mbit/s", ["0.5 Mbit/s", "2.0 Mbit/s"])],
)
def test_the_ends_of_a_range_may_have_units_of_their_own(text: str, says: list[str]) -> None:
    found = Range.read("a", text)
    assert [found.value(0.0), found.value(1.0)] == says


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 8), st.floats(1e-4, 3.0))
def test_pieces_hold_every_run_once(counts: list[int], workers: int, each_s: float) -> None:
    from collections import deque

    pending = deque(Span(point, 0, count) for point, count in enumerate(counts))
    pieces = _Pieces(pending, workers)
    runs = []
    while pending:
        spans = pieces.take()
        runs += [(span.point, run) for span in spans for run in range(span.first, span.first + span.count)]
        if pieces.run_s is not None:
            assert sum(span.count for span in spans) * each_s <= max(1.0, each_s) + 1e-9
        pieces.run_s = each_s
    assert runs == [(point, run) for point, count in enumerate(counts) for run in range(count)]


def test_a_study_is_what_single_runs_are(tmp_path: Path) -> None:
    swept = short(tmp_path)
    for number, limit in enumerate(LIMITS):
        alone = varicap.run(ROOT / "examples/fixed.toml", seeds=4, overrides={**SHORT, LIMIT: limit})
        rows = swept.flows.filter(pc.equal(swept.flows["point"], number))
        assert rows["goodput_bps"].to_pylist() == alone.flows["goodput_bps"].to_pylist()
        (line,) = [
            row
            for row in swept.summary.to_pylist()
            if (row["point"], row["measure"], row["kind"]) == (number, "goodput_bps", "flows")
        ]
        expected = alone.summary["flows"][0]["goodput_bps"]
        assert line[LIMIT] == limit
        assert [line["mean"], line["lo"], line["hi"]] == pytest.approx([expected[key] for key in ("mean", "lo", "hi")])


def test_a_study_parses_its_text_once_and_simulates_a_piece_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    template, calls = _core.Template, dict.fromkeys(("parsed", "checked", "simulated"), 0)

    class Counted:
        """A template that counts what is asked of it; whatever else reads or simulates a point fails."""

        def __init__(self, *text: Any, **options: Any) -> None:
            calls["parsed"] += 1
            self.of = template(*text, **options)

        def fitting(self, points: Any, **options: Any) -> Any:
            calls["checked"] += 1
            return self.of.fitting(points, **options)

        def run(self, spans: Any, **options: Any) -> Any:
            calls["simulated"] += 1
            return self.of.run(spans, **options)

    def alone(*_: object, **__: object) -> None:
        raise AssertionError("a run of its own")

    base = varicap.load(ROOT / "examples/fixed.toml", SHORT)
    limits = [f"{number} packets" for number in range(2, 42)]
    expected = study.sweep(base, {LIMIT: limits}, seeds=3, jobs=1)
    monkeypatch.setattr(_core, "Template", Counted)
    monkeypatch.setattr(_core, "run", alone)
    work._template.cache_clear()
    pieces: list[int] = []
    found = study.sweep(
        base, {LIMIT: limits}, seeds=3, jobs=1, piece_s=60.0, progress=lambda _, done, __: pieces.append(done)
    )
    work._template.cache_clear()
    # Where the points are checked, and where they are simulated: in a cluster these are two machines.
    assert calls == {"parsed": 2, "checked": 1, "simulated": len(pieces) - 1}
    assert len(pieces) < 15
    assert found.flows["goodput_bps"].equals(expected.flows["goodput_bps"])


def test_points_are_checked_up_to_the_first_that_is_wrong() -> None:
    template = _core.Template(varicap.load(ROOT / "examples/fixed.toml").to_json(), "fixed", ".", option="--over")
    right, wrong = [(LIMIT, "5 packets")], [(LIMIT, "5 kilos")]
    budget = _core.Budget(None, "1 h")
    for first in (0, 1, 7, 39):
        points = [wrong if number in (first, 39) else right for number in range(40)]
        assert template.fitting(points, budget=budget, at_a_time=4) == (first, [], [])
    assert template.fitting([right] * 3, budget=budget, at_a_time=1) == (3, [], [])
    assert template.fitting([right] * 3, budget=_core.Budget("1 B", None), at_a_time=1) == (0, [], [])
    with pytest.raises(varicap.ScenarioError, match=r"--over .*5 kilos") as caught:
        template.at(wrong)
    assert caught.value.found == '"5 kilos"'


def test_differences_are_paired_because_all_points_face_the_same_channel() -> None:
    over = {"flows.reno.tcp.congestion": ["reno", "cubic"]}
    capacity = "{ markov = { rates = ['0.8 Mbit/s', '0.2 Mbit/s'], mean_holding = ['2 s', '2 s'] } }"
    # Two controls of the standards, which differ little here.
    tcp = {"tcp.stack": "rfc", "tcp.timestamps": "true", "tcp.timer.rfc6298.minimum": "0.2 s"}
    changes = {"topology.dumbbell.forward.capacity": capacity, "duration": "40 s", **tcp}
    rows = study.sweep(ROOT / "examples/fixed.toml", over, seeds=8, overrides=changes).summary.to_pylist()
    first, second = [row for row in rows if row["measure"] == "goodput_bps"]
    assert first["difference"] == 0.0
    assert second["difference"] == pytest.approx(second["mean"] - first["mean"])
    paired = second["difference_hi"] - second["difference_lo"]
    unpaired = np.hypot(first["hi"] - first["lo"], second["hi"] - second["lo"])
    # The channel varies far more from run to run than the two controls differ on one.
    assert paired < unpaired / 2


def test_a_precision_adds_runs_where_they_are_needed() -> None:
    capacity = "{ markov = { rates = ['0.8 Mbit/s', '0.2 Mbit/s'], mean_holding = ['2 s', '2 s'] } }"
    over = {"topology.dumbbell.forward.capacity": ["0.8 Mbit/s", capacity]}
    found = study.sweep(ROOT / "examples/fixed.toml", over, seeds=3, precision=0.05, overrides={"duration": "60 s"})
    runs = [pc.sum(pc.equal(found.flows["point"], number)).as_py() for number in (0, 1)]
    assert runs[0] == 3
    assert runs[1] > 8
    for row in found.summary.to_pylist():
        if (row["kind"], row["measure"]) in (("flows", "goodput_bps"), ("links", "utilisation")) and row["mean"] > 0:
            assert (row["hi"] - row["lo"]) / 2 <= 0.05 * row["mean"]


def test_another_study_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    short(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(StudyError, match=r"holds another study .*seed"):
        short(tmp_path, seed=7)
    assert contents(tmp_path) == before


def test_more_seeds_take_up_what_is_there(tmp_path: Path) -> None:
    short(tmp_path / "grown", seeds=2)
    parts = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "grown/parts").iterdir()}
    short(tmp_path / "grown", seeds=5)
    assert all((tmp_path / "grown/parts" / name).stat().st_mtime_ns == at for name, at in parts.items())
    short(tmp_path / "whole", seeds=5)
    assert contents(tmp_path / "grown") == contents(tmp_path / "whole")
    short(tmp_path / "grown", seeds=2)
    short(tmp_path / "small", seeds=2)
    assert contents(tmp_path / "grown") == contents(tmp_path / "small")


def test_two_processes_do_not_work_on_one_study(tmp_path: Path) -> None:
    store = Folder(tmp_path, [])
    store.open({})
    with pytest.raises(StudyError, match="another process"):
        Folder(tmp_path, []).open({})
    store.close()
    store.open({})
    store.close()


def test_a_folder_that_cannot_be_written_is_told_and_keeps_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="file"):
        short(tmp_path / "file")
    real = os.fsync
    written: list[int] = []

    def full(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) > 3:
            raise OSError(28, "No space left on device", str(tmp_path))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StudyError, match="No space left on device; what was finished is kept"):
        short(tmp_path / "study")
    assert len(list((tmp_path / "study/parts").glob("*.arrow"))) == 2
    assert not list((tmp_path / "study/parts").glob(".*"))
    monkeypatch.undo()
    short(tmp_path / "study")
    short(tmp_path / "undisturbed")
    assert contents(tmp_path / "study") == contents(tmp_path / "undisturbed")


def test_any_executor_gives_the_same_bytes(tmp_path: Path) -> None:
    short(tmp_path / "threads")
    with ProcessPoolExecutor(2) as pool:
        short(tmp_path / "processes", executor=pool, jobs=2)
    assert contents(tmp_path / "threads") == contents(tmp_path / "processes")


KILLS, OF_EACH = 30, 5


def test_a_study_survives_being_killed_at_random_moments(tmp_path: Path) -> None:
    over = f"{LIMIT}={','.join(LIMITS)}"
    options = ("--set", "duration=100 s", "--seeds", "24", "-j", "2", "--no-plot", "-q")
    command = [
        sys.executable,
        "-m",
        "varicap",
        "sweep",
        str(ROOT / "examples/fixed.toml"),
        "--over",
        over,
        *options,
        "-o",
    ]

    def lasted(folder: Path, at_most: float | None = None) -> float | None:
        """Seconds until the command ended by itself; None if it was killed before."""
        began = time.monotonic()
        with subprocess.Popen([*command, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                _, errors = process.communicate(timeout=at_most)
            except subprocess.TimeoutExpired:
                process.kill()
                return None
        assert process.returncode == 0, errors
        return time.monotonic() - began

    lasts = lasted(tmp_path / "undisturbed")
    assert lasts is not None
    draws = random.Random(1)
    kills, studies = 0, 0
    written: dict[Path, int] = {}
    while kills < KILLS:
        folder = tmp_path / f"killed{studies}"
        took = None
        for _ in range(OF_EACH):
            # From the end of the imports to the last table, however fast the machine is at the moment.
            took = lasted(folder, lasts * draws.uniform(0.4, 1.1))
            for part in (folder / "parts").glob("*.arrow"):
                # What was finished is never written again.
                assert written.setdefault(part, part.stat().st_mtime_ns) == part.stat().st_mtime_ns
            if took is not None:
                break
            kills += 1
        lasts = took or lasted(folder)
        assert lasts is not None
        assert contents(folder) == contents(tmp_path / "undisturbed")
        studies += 1
    rows = pq.read_table(folder / "flows.parquet")
    runs = list(zip(rows["point"].to_pylist(), rows["replication"].to_pylist(), strict=True))
    assert runs == [(point, run) for point in range(3) for run in range(24)]


def test_a_cluster_whose_worker_is_killed_gives_the_same_bytes(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killed: list[int] = []

        def kill_once(_share: float, done: int, _total: int) -> None:
            if done >= 2 and not killed:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

        options = {"seeds": 12, "overrides": {"duration": "300 s"}}
        short(tmp_path / "cluster", on=cluster.scheduler_address, progress=kill_once, **options)
        assert killed
    short(tmp_path / "here", **options)
    assert contents(tmp_path / "cluster") == contents(tmp_path / "here")


def test_the_command_line_prints_a_row_for_each_point(cli: Cli, tmp_path: Path) -> None:
    arguments = (
        ROOT / "examples/fixed.toml",
        "--over",
        f"{LIMIT}=5 packets,10 packets",
        "--seeds",
        2,
        "--set",
        "duration=12 s",
    )
    done = cli("sweep", *arguments, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "10 packets" in done.stdout
    assert (tmp_path / "chart.png").stat().st_size > 5_000
    printed = json.loads(cli("sweep", *arguments, "-o", tmp_path, "--json").stdout)
    assert printed["points"] == [{LIMIT: "5 packets"}, {LIMIT: "10 packets"}]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert set(manifest["tables"]) == set(TABLES)


def test_a_terminal_is_shown_a_hundred_points_and_told_where_the_others_are(cli: Cli, tmp_path: Path) -> None:
    over = f"{LIMIT}={','.join(f'{number} packets' for number in range(2, 105))}"
    options = ("--seeds", 1, "--set", "duration=3 s", "--set", "warmup=1 s", "--no-plot", "-o", tmp_path)
    done = cli("sweep", ROOT / "examples/fixed.toml", "--over", over, *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" packets │") == 100
    assert "101 packets" in done.stdout
    assert "102 packets" not in done.stdout
    assert f"100 of 103 points; {tmp_path / 'summary.parquet'} has them all" in done.stderr
    assert pc.max(pq.read_table(tmp_path / "summary.parquet")["point"]).as_py() == 102


def test_points_that_are_not_alike_are_summarised_each_by_itself() -> None:
    capacity = "{ markov = { rates = ['0.8 Mbit/s', '0.2 Mbit/s'], mean_holding = ['2 s', '2 s'] } }"
    counts = {
        "flows.reno.count": ["1", "3", "1"],
        "topology.dumbbell.forward.capacity": ["'1 Mbit/s'", capacity, capacity],
    }
    swept = study.sweep(ROOT / "examples/fixed.toml", counts, design="zip", seeds=3, precision=0.2, overrides=SHORT)
    rows = swept.summary.to_pylist()
    assert [row["point"] for row in rows if row["kind"] == "flows"] == sorted(
        row["point"] for row in rows if row["kind"] == "flows"
    )
    for point in range(3):
        flows = swept.flows.filter(pc.equal(swept.flows["point"], point)).to_pylist()
        for name in dict.fromkeys(flow["name"] for flow in flows):
            values = [flow["goodput_bps"] for flow in flows if flow["name"] == name]
            (row,) = [
                row
                for row in rows
                if (row["point"], row["kind"], row["name"], row["measure"]) == (point, "flows", name, "goodput_bps")
            ]
            assert row["runs"] == len(values)
            assert row["mean"] == pytest.approx(np.mean(values))
            # Only where the same flows are there is there a difference to the first point.
            assert np.isnan(row["difference"]) == (point == 1)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--over", "nowhere=1,2"], 2, "nowhere"),
        (["--over", f"{LIMIT}=5 packets,5 kilos"], 2, "5 kilos"),
        (["--over", LIMIT], 2, "PATH=VALUE"),
        (["--design", "spiral"], 2, "spiral"),
        (["--on", "tcp://127.0.0.1:1"], 3, "127.0.0.1:1"),
        (["-o", ROOT / "README.md"], 2, "README.md is not a folder"),
    ],
)
def test_a_mistake_has_its_exit_code(cli: Cli, tmp_path: Path, arguments: list[object], code: int, says: str) -> None:
    given_folder = [] if "-o" in arguments else ["-o", tmp_path]
    done = cli("sweep", ROOT / "examples/fixed.toml", "--seeds", 1, "--set", "duration=12 s", *given_folder, *arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_the_executor_that_the_documents_show_runs_a_study(tmp_path: Path) -> None:
    page = (ROOT / "docs/sweeps.md").read_text(encoding="utf-8")
    (code,) = [block for block in page.split("```python\n") if "class Jobs(Executor)" in block.split("```")[0]]
    names: dict[str, Any] = {}
    exec(code.split("```")[0], names)

    class Job:
        """Like submitit's: it has a result, and is no future."""

        def __init__(self, function: Any, arguments: Any) -> None:
            self.function, self.arguments = function, arguments

        def result(self) -> Any:
            return self.function(*self.arguments)

    class Queue:
        pieces = 0

        def submit(self, function: Any, *arguments: Any) -> Job:
            self.pieces += 1
            return Job(function, arguments)

    queue, coarse = Queue(), Queue()
    short(tmp_path / "jobs", executor=names["Jobs"](queue, at_a_time=4), jobs=2, piece_s=1e-6)
    short(tmp_path / "coarse", executor=names["Jobs"](coarse, at_a_time=4), jobs=1, piece_s=60.0)
    short(tmp_path / "here")
    assert contents(tmp_path / "jobs") == contents(tmp_path / "coarse") == contents(tmp_path / "here")
    # Twelve runs one by one; and a few in pieces, once it is known how long a run takes.
    assert queue.pieces == 12
    assert coarse.pieces < 8


def test_when_the_time_is_over_a_piece_that_waits_is_not_begun() -> None:
    begun: list[float] = []

    class Slow(ThreadPoolExecutor):
        def submit(self, *_: Any, **__: Any) -> Any:
            return super().submit(self._piece)

        def _piece(self) -> work.Piece:
            begun.append(time.monotonic())
            time.sleep(1.0)
            return work.Piece((work.Span(0, len(begun), 1),), b"", 1.0)

    done: list[work.Piece] = []
    until = time.monotonic() + 0.3
    with Slow(1) as pool:
        work.execute(lambda _: cast("Any", None), [work.Span(0, 0, 9)], pool, 1, 0.0, done.append, until)
    assert len(begun) == len(done) == 1, "the second was handed out ahead"
    assert begun[0] < until


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C interrupts this process, even if whoever runs the tests ignores it, as a shell's background jobs do."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_points_that_take_long_to_read_are_checked_until_ctrl_c(tmp_path: Path) -> None:
    lines = "".join(f"{step / 100:.2f},{1_000_000 + step % 7}\n" for step in range(50_000))
    (tmp_path / "long.csv").write_text(f"time_s,rate_bps\n{lines}")
    text = (ROOT / "examples/fixed.toml").read_text().replace('"0.8 Mbit/s"', '{ trace = { file = "long.csv" } }')
    (tmp_path / "long.toml").write_text(text)
    base = varicap.load(tmp_path / "long.toml")
    template = _core.Template(base.to_json(), base.name, base.base_dir)
    some = [(("seed", str(number)),) for number in range(4096)]

    def spent_s(call: Callable[[], object]) -> float:
        begin = time.process_time()
        call()
        return time.process_time() - begin

    def interrupted() -> None:
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            template.fitting(some, budget=Limits().budget(), at_a_time=1)

    # All of them take seconds of processor time, and who is deaf raises once all are read.
    each_s = min(spent_s(lambda: template.at(some[0])) for _ in range(3))
    assert spent_s(interrupted) < 0.5 * len(some) * each_s


def test_a_file_that_comes_while_points_are_checked_leaves_none_unchecked() -> None:
    base = varicap.load(ROOT / "examples/fixed.toml")
    asked: list[int] = []

    class Late:
        """The second point could not be read when all were looked at."""

        at = _core.Template(base.to_json(), base.name, base.base_dir).at

        def fitting(self, points: Any, **_: Any) -> tuple[int, list[Any], list[int]]:
            asked.append(len(points))
            fitting = min(len(points), 1 if len(asked) == 1 else 20)
            return fitting, [], [*range(0, fitting, 2)]

    _, exact = study._checked(cast(Any, Late()), [(("seed", str(number)),) for number in range(20)], Limits(), 1)
    assert asked == [20, 18]
    # The first call knows of point 0, the second of those from point 2 on; the example has a random start.
    assert exact == {0, *range(2, 20, 2)}
