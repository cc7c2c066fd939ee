"""Sweeps with the kernel engine, in simulated time."""

import json
from pathlib import Path

import pytest
from conftest import ROOT, Cli

import varicap
from varicap import kernels, study

AIMD = ROOT / "examples/controls/aimd.c"
SCENARIO = """
name = "one"
duration = "4 s"
seeds = 2
[topology.dumbbell.forward]
capacity = "4 Mbit/s"
delay = "20 ms"
loss = { bernoulli = 0.01 }
queue = { drop-tail = { limit = "20 packets" } }
[flows.a.tcp]
stack = "linux"
"""
CONTROL = "flows.a.tcp.congestion"

try:
    KERNEL = kernels.find()
    WHY = ""
except kernels.NoKernelError as error:
    WHY = str(error)
in_a_guest = pytest.mark.skipif(bool(WHY), reason=f"SKIPPED: {WHY}")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "one.toml"
    file.write_text(SCENARIO)
    return file


@in_a_guest
def test_a_point_has_the_runs_of_the_engine(scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    over = {CONTROL: ["reno", '{ module = "aimd.c" }']}
    found = study.sweep(scenario, over, engine="kernel", modules=[AIMD], folder=folder)
    for point, control in enumerate(over[CONTROL]):
        modules = [AIMD] if point else None
        alone = varicap.run(scenario, engine="kernel", modules=modules, overrides={CONTROL: control})
        rows = [row for row in found.flows.to_pylist() if row.pop("point") == point]
        assert str(rows) == str(alone.flows.to_pylist())
    # Tables have the columns of the simulator's.
    simulated = study.sweep(scenario, {CONTROL: ["reno"]}, seeds=1)
    assert found.flows.schema.equals(simulated.flows.schema, check_metadata=True)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["engine"] == "kernel"
    assert manifest["guest"] == {"name": KERNEL.name, "release": KERNEL.release, "digest": KERNEL.digest}
    assert set(manifest["modules"]) == {"aimd.c"}


@in_a_guest
def test_a_study_is_that_of_its_kernel_and_its_modules(scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    over = {CONTROL: ['{ module = "aimd.c" }']}
    study.sweep(scenario, over, engine="kernel", modules=[AIMD], folder=folder, seeds=1)
    changed = tmp_path / "aimd.c"
    changed.write_text(AIMD.read_text().replace("70", "60"))
    with pytest.raises(study.StudyError, match="it differs in: modules"):
        study.sweep(scenario, over, engine="kernel", modules=[changed], folder=folder, seeds=1)
    with pytest.raises(study.StudyError, match="it differs in: engine"):
        study.sweep(scenario, {CONTROL: ["reno"]}, folder=folder, seeds=1)
    # One more seed adds a run to those that are there.
    parts = set((folder / "parts").iterdir())
    grown = study.sweep(scenario, over, engine="kernel", modules=[AIMD], folder=folder, seeds=2)
    assert parts < set((folder / "parts").iterdir())
    assert grown.flows.num_rows == 2


@in_a_guest
def test_what_a_point_cannot_have_is_said_with_the_point(scenario: Path, cli: Cli) -> None:
    done = cli("sweep", scenario, "--engine", "kernel", "--over", f"{CONTROL}=reno,copa", "--seeds", 1, "--no-plot")
    assert done.returncode == 2, done.stderr
    assert f"point 1 ({CONTROL} = copa): the kernel engine: {CONTROL} = copa" in done.stderr


@in_a_guest
def test_limits_bind_a_guest(scenario: Path) -> None:
    with pytest.raises(varicap.LimitError, match=r"point 0.*processor time"):
        study.sweep(
            scenario, {CONTROL: ["reno"]}, engine="kernel", max_time="50 ms", overrides={"duration": "20 s"}, seeds=1
        )


def test_options_of_the_kernel_are_for_the_kernel(scenario: Path, cli: Cli) -> None:
    with pytest.raises(ValueError, match="for engine='kernel'"):
        study.sweep(scenario, {CONTROL: ["reno"]}, modules=[AIMD])
    with pytest.raises(ValueError, match="in simulated time only"):
        study.sweep(scenario, {CONTROL: ["reno"]}, engine="kernel", clock="real")
    done = cli("sweep", scenario, "--engine", "kernel", "--clock", "real", "--over", f"{CONTROL}=reno")
    assert done.returncode == 2
    assert "in simulated time only" in done.stderr


def test_without_a_kernel_the_command_is_said(scenario: Path, cli: Cli, tmp_path: Path) -> None:
    words = ("sweep", scenario, "--engine", "kernel", "--over", f"{CONTROL}=reno")
    done = cli(*words, env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 3
    assert "varicap kernel build" in done.stderr
