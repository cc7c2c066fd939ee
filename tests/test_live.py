"""Watching runs: what a terminal shows, that nothing else changes, and that without a terminal nothing is said."""

import os
import pty
import select
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import ROOT, Cli
from patience import HANG_S
from rich.console import Console

import varicap
from varicap.report.live import Dashboard, sparkline
from varicap.results.manifest import values_sha256
from varicap.watch import Sample

pytestmark = pytest.mark.slow

# Long enough for somebody to look, at 65 536 events between questions.
LONG = {"duration": "200 s", "topology.dumbbell.forward.capacity": "'20 Mbit/s'"}


def test_whoever_watches_changes_nothing() -> None:
    seen: list[Sample] = []
    watched = varicap.run(ROOT / "examples/fixed.toml", seeds=4, overrides=LONG, live=seen.append, series="first")
    alone = varicap.run(ROOT / "examples/fixed.toml", seeds=4, overrides=LONG, series="first")
    assert seen
    assert {sample.duration_s for sample in seen} == {200.0}
    assert all(0 < sample.time_s <= 200 for sample in seen)
    assert set(seen[0].flows) == {"reno"}
    assert set(seen[0].links) == {"forward", "reverse"}
    assert watched.summary == alone.summary
    for name in ("flows", "links", "flow_series", "link_series"):
        assert values_sha256(getattr(watched, name)) == values_sha256(getattr(alone, name)), name
    # Runs that were watched and not recorded leave no series.
    assert set(watched.flow_series["replication"].to_pylist()) == {0}


def test_samples_are_those_of_the_series() -> None:
    seen: list[Sample] = []
    result = varicap.run(ROOT / "examples/fixed.toml", seeds=1, overrides=LONG, live=seen.append, series=True)
    rows = {row["time_s"]: row for row in result.flow_series.to_pylist()}
    for sample in seen:
        recorded = rows[sample.time_s]
        for column in ("goodput_bps", "cwnd_bytes", "in_flight_bytes", "srtt_s"):
            assert sample.flows["reno"][column] == recorded[column]


def point(time_s: float, **values: object) -> dict[str, object]:
    flow = {"time_s": time_s, "goodput_bps": 1e6, "cwnd_bytes": 1e4, "srtt_s": None, "state": 3}
    link = {"capacity_bps": 2e6, "throughput_bps": 1.5e6, "backlog_packets": 7}
    return {**flow, **link, **values}


def drawn(dashboard: Dashboard) -> str:
    out = StringIO()
    Console(file=out, width=120).print(dashboard)
    return out.getvalue()


def test_a_dashboard_shows_a_run_until_it_has_ended_and_then_another() -> None:
    dashboard = Dashboard("x")
    dashboard.progress(0.25, 1, 4)
    for step in range(3):
        dashboard.watch(Sample(5, 0, 10.0, {"a": point(step + 1.0)}, {"l": point(step + 1.0)}))
        dashboard.watch(Sample(6, 0, 10.0, {"a": point(9.0)}, {"l": point(9.0)}))
    text = drawn(dashboard)
    assert "25% 1/4 runs" in text
    assert "3.0 of 10" in text
    assert "recovery" in text
    assert "1.00" in text
    for _ in range(3):
        dashboard.watch(Sample(2, 0, 10.0, {"a": point(4.0)}, {}))
    assert "4.0 of 10" in drawn(dashboard)


def test_a_dashboard_of_many_flows_fits_and_says_how_many_it_leaves_out() -> None:
    dashboard = Dashboard("x")
    dashboard.watch(Sample(0, 0, 10.0, {f"[bold]f{n}": point(1.0) for n in range(16)}, {"l": point(1.0)}))
    text = drawn(dashboard)
    assert "[bold]f11" in text
    assert "[bold]f12" not in text
    assert "… and 4 more" in text
    assert all(len(line) <= 120 for line in text.splitlines())
    # Networks of isolated flows: each link says whose it is.
    dashboard.watch(Sample(0, 1, 10.0, {"b": point(1.0)}, {"l": point(1.0)}))
    assert "b/l" in drawn(dashboard)
    assert sparkline([]) == ""


def run_on_a_terminal(arguments: list[object], folder: Path) -> tuple[int, str, str]:
    """Exit code, stdout, and what a terminal on stderr saw."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "40"}
    with subprocess.Popen(
        [sys.executable, "-m", "varicap", *map(str, arguments)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
    ) as process:
        os.close(theirs)
        seen = b""
        end = time.monotonic() + HANG_S
        while time.monotonic() < end:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    more = os.read(ours, 65536)
                except OSError:
                    break
                if not more:
                    break
                seen += more
        assert process.stdout is not None
        out = process.stdout.read().decode()
        process.wait(timeout=HANG_S)
    os.close(ours)
    return process.returncode, out, seen.decode(errors="replace")


OPTIONS = (
    "--seeds",
    2,
    "-j",
    1,
    "--no-plot",
    "--json",
    *(part for key, value in LONG.items() for part in ("--set", f"{key}={value}")),
)


def test_a_terminal_sees_flows_and_queues_and_stdout_has_the_result_alone(tmp_path: Path, cli: Cli) -> None:
    command = ["run", ROOT / "examples/fixed.toml", *OPTIONS]
    code, out, seen = run_on_a_terminal([*command, "--live"], tmp_path)
    assert code == 0, seen
    assert "goodput" in seen
    assert "[packets]" in seen
    assert "…" not in seen.partition("runs of")[0]  # nothing is cut off on 80 columns
    assert "of 200" in seen
    plain = cli(*command)
    assert out == plain.stdout
    # Without a terminal nothing is said.
    unseen = cli(*command, "--live")
    assert (unseen.returncode, unseen.stdout, unseen.stderr) == (0, plain.stdout, plain.stderr)


def test_the_kernel_engine_can_be_watched() -> None:
    seen: list[Sample] = []
    try:
        result = varicap.run(
            ROOT / "examples/fixed.toml",
            engine="kernel",
            overrides={"duration": "2 s", "warmup": "0.5 s"},
            live=seen.append,
        )
    except varicap.MachineLacksError as error:
        pytest.skip(f"{error}")
    assert {name for sample in seen for name in sample.flows} == {"reno"}
    assert {name for sample in seen for name in sample.links} == {"forward", "reverse"}
    assert len([sample for sample in seen if sample.flows]) >= 5
    assert isinstance(result.flow_series, pa.Table)
    assert result.flow_series.num_rows == 0
