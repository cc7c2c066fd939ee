"""Folders of studies carry what their runs need, and are repeated from it alone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import varicap
from varicap.results.manifest import ManifestError
from varicap.results.saved import read
from varicap.study.replay import replay

Cli = Callable[..., Any]
TRACE = ROOT / "examples" / "traces" / "lte-like.down"
CAPACITY = "topology.dumbbell.forward.capacity"
LIMIT = "topology.dumbbell.forward.queue.drop-tail.limit"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario with a trace in a folder of its own, which a test may remove."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(TRACE, home / "own.down")
    shutil.copy(TRACE, home / "other.down")
    link = {
        "capacity": {"opportunities": {"file": "own.down", "offset": "random"}},
        "delay": "10 ms",
        "queue": {"drop-tail": {"limit": "50 packets"}},
    }
    flows = {"cubic": {"tcp": {"congestion": "cubic"}}}
    file = home / "scenario.json"
    file.write_text(json.dumps({"duration": "4 s", "topology": {"dumbbell": {"forward": link}}, "flows": flows}))
    return file


def test_a_study_is_repeated_from_its_folder_alone(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    over = f"{LIMIT}=10 packets,50 packets"
    cli("sweep", scenario, "--over", over, "--seeds", "3", "-o", folder, "--no-plot")
    shutil.rmtree(scenario.parent)
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    for named in (moved, moved / "manifest.json"):
        done = cli("replay", named)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == ["flows.parquet: identical", "links.parquet: identical"]


def test_traces_that_are_values_of_an_axis_come_along(scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    files = ['{ opportunities = { file = "own.down" } }', '{ opportunities = { file = "other.down" } }', '"3 Mbit/s"']
    varicap.sweep(scenario, {CAPACITY: files}, seeds=2, folder=folder)
    key = f"{CAPACITY}.opportunities.file"
    varicap.sweep(scenario, {key: ["own.down", "other.down"]}, seeds=2, folder=tmp_path / "plain")
    shutil.rmtree(scenario.parent)
    assert replay(folder).identical
    assert replay(tmp_path / "plain").identical


def test_what_does_not_come_out_again_is_said(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    varicap.sweep(scenario, {LIMIT: ["10 packets"]}, seeds=2, folder=folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"seed": 99}))
    done = cli("replay", folder)
    assert done.returncode == 1
    assert "flows.parquet: DIFFERS" in done.stdout


def test_a_trace_that_was_changed_is_refused(scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    varicap.sweep(scenario, {LIMIT: ["10 packets"]}, seeds=2, folder=folder)
    (copy,) = (folder / "traces").iterdir()
    copy.write_text("1\n2\n3\n")
    with pytest.raises(ManifestError, match="is not the one that the run used"):
        replay(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["trace_files"] = dict.fromkeys(manifest["trace_files"], "../../outside")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ManifestError, match="is not a file of traces/"):
        replay(folder)


def test_the_runs_of_a_design_are_repeated(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "design"
    asked = ("--vary", f"{LIMIT}=5..50 packets", "--minimise", "limit", "--subject-to", "cubic.goodput_bps >= 1 Mbit/s")
    cli("design", scenario, *asked, "--budget", "16", "--seeds", "2", "-o", folder, "--no-plot")
    shutil.rmtree(scenario.parent)
    assert "identical" in cli("replay", folder).stdout


def test_with_a_precision_the_same_runs_are_made(scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    points = {LIMIT: ["5 packets", "50 packets"]}
    varicap.sweep(scenario, points, seeds=2, precision=0.05, max_seeds=6, folder=folder)
    study = read(folder)
    assert study.links.num_rows > 8
    assert replay(folder).identical


def test_folders_of_runs_are_replayed_as_folders(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    cli("run", scenario, "--seeds", "1", "-o", tmp_path / "ran", "--no-plot")
    assert cli("replay", tmp_path / "ran").returncode == 0
    nothing = cli("replay", tmp_path)
    assert nothing.returncode == 2
    assert "manifest.json" in nothing.stderr


def test_a_run_has_the_table_of_its_delays_beside_it(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """Tables of netem's distributions are files without a key `file`."""
    (scenario.parent / "some.dist").write_text("-8192 -100 0\n8192 32767\n")
    netem = '{ netem = { delay = "10 ms", jitter = "2 ms", distribution = { table = "some.dist" } } }'
    ran = cli("run", scenario, "--set", f"topology.dumbbell.forward.delay={netem}", "-o", tmp_path / "run", "--no-plot")
    assert ran.returncode == 0, ran.stderr
    shutil.rmtree(scenario.parent)
    done = cli("replay", tmp_path / "run" / "manifest.json")
    assert done.returncode == 0, done.stderr
