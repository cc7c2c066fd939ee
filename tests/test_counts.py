"""Transfers are counted whatever becomes of them, and whoever shows completion times says how many are missing."""

import json
import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import Cli

import varicap

OVERLOAD = """
duration = "60 s"
warmup = "10 s"
seeds = 1
[topology.dumbbell.forward]
capacity = "10 Mbit/s"
delay = "20 ms"
queue = { drop-tail = { limit = "100 packets" } }
[flows.a]
app = { arrivals = { rate = "15 Hz", size = { fixed = "100 kB" } } }
"""
STRICT = ("--set", "flows.a.app.arrivals.at_most=5")


@pytest.fixture
def overload(tmp_path: Path) -> Path:
    path = tmp_path / "overload.toml"
    path.write_text(OVERLOAD)
    return path


def flow_of(result: dict[str, Any]) -> dict[str, Any]:
    flow: dict[str, Any] = result["flows"][0]
    offered, refused, completed, unfinished = (
        flow[key] for key in ("offered_transfers", "refused_transfers", "transfers", "unfinished_transfers")
    )
    # 15 per second for 50 s are 750 ± 27, beside those under way after 10 s.
    assert offered == refused + completed + unfinished
    assert 669 < offered - flow["carried_transfers"] < 832
    assert flow["missing_transfers"]["mean"] == pytest.approx((refused + unfinished) / offered)
    return flow


def test_an_overload_says_how_many_transfers_did_not_end(cli: Cli, overload: Path) -> None:
    done = cli("run", overload, "--json")
    result = json.loads(done.stdout)
    flow = flow_of(result)
    assert flow["refused_transfers"] == 0
    assert flow["unfinished_transfers"] > 100
    # A tenth and more is missing: the 95th percentile is among it, and the median is not.
    assert flow["fct_ms"]["p95"] is None
    assert flow["fct_ms"]["p50"] > 1000
    unfinished, ended = flow["unfinished_transfers"], flow["transfers"]
    counts = f"of them under way as measuring began) were refused and {unfinished:.0f} unfinished"
    assert [note for note in result["notes"] if counts in note and f"of the {ended:.0f} that ended" in note]
    assert counts in done.stderr


def test_an_overload_that_is_turned_away_says_so(cli: Cli, overload: Path, tmp_path: Path) -> None:
    result = json.loads(cli("run", overload, *STRICT, "--json").stdout)
    flow = flow_of(result)
    assert flow["refused_transfers"] > 150
    assert flow["unfinished_transfers"] <= 5
    assert flow["fct_ms"]["p95"] < 2000
    assert f"a: {flow['refused_transfers']:.0f} of " in result["notes"][0]
    assert "`at_most`" in result["notes"][0]
    done = cli("run", overload, *STRICT, "--no-plot", "-o", "found")
    heading = next(line for line in done.stdout.splitlines() if "refused" in line)
    assert all(word in heading for word in ("transfers", "unfinished", "completed"))
    assert f"{flow['refused_transfers']:.0f}" in done.stdout
    assert "were refused" in done.stderr
    (row,) = pq.read_table(tmp_path / "found/flows.parquet").to_pylist()
    assert row["refused_transfers"] == flow["refused_transfers"]
    assert cli("report", "found").returncode == 0
    assert "were refused and" in (tmp_path / "found/report.html").read_text()


def test_a_percentile_that_is_unknown_in_one_run_is_unknown_over_all(overload: Path) -> None:
    found = varicap.run(
        overload, seeds=2, overrides={"duration": "14 s", "warmup": "0 s", "flows.a.app.arrivals.rate": "12 Hz"}
    )
    percentiles = found.flows["fct_p95_ms"].to_pylist()
    known = [math.isfinite(each) for each in percentiles]
    if any(known) and not all(known):
        assert found.summary["flows"][0]["fct_ms"]["p95"] is None
    assert not any(math.isnan(each) for each in percentiles)


def test_a_steady_state_has_no_note(cli: Cli, overload: Path) -> None:
    done = cli("run", overload, "--json", "--set", "flows.a.app.arrivals.rate=1 Hz", "--set", "duration=300 s")
    result = json.loads(done.stdout)
    assert result["flows"][0]["missing_transfers"]["mean"] < 0.01
    assert not [note for note in result["notes"] if "unfinished" in note]


def test_sweeps_and_comparisons_say_so_too(cli: Cli, overload: Path) -> None:
    over = ("--over", "flows.a.app.arrivals.at_most=5,1000", "--set", "duration=30 s", "--no-plot")
    done = cli("sweep", overload, *over)
    assert "note: at 2 of 2 points transfers were refused or unfinished, up to " in done.stderr
    swept = json.loads(cli("sweep", overload, *over, "--json").stdout)
    assert swept["notes"]
    assert {row["measure"] for row in swept["summary"]} >= {
        "refused_transfers",
        "unfinished_transfers",
    }
    assert cli("report", "varicap-out/overload-sweep").returncode == 0
    compared = cli("compare", overload, *STRICT, "--engine", "sim", "--no-plot", "--set", "duration=30 s")
    assert "sim: a: " in compared.stderr
    assert "were refused" in compared.stderr
    assert "transfers refused or unfinished" in compared.stdout


def test_a_design_by_completion_times_does_not_choose_by_survivors(cli: Cli, overload: Path) -> None:
    asked = ("--vary", "flows.a.app.arrivals.at_most=5,1000", "--minimise", "fct_mean_ms", "--set", "duration=30 s")
    done = cli("design", overload, *asked)
    assert "nothing within the ranges meets the demands" in done.stdout
    assert "asked: missing_transfers <= 5 %" in done.stdout
    own = cli("design", overload, *asked, "--subject-to", "missing_transfers <= 90 %", "-o", "own")
    assert "verdict: take arrivals at most = 5: " in own.stdout
