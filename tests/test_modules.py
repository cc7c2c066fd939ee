"""Congestion controls of one's own in C: built for a kernel, and loaded in guests."""

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT, Cli

import varicap
import varicap._core as _core
from varicap import kernels
from varicap.engines.replay import replay
from varicap.results.manifest import ManifestError

AIMD = ROOT / "examples/controls/aimd.c"
SCENARIO = """
name = "one"
duration = "5 s"
seeds = 2
[topology.dumbbell.forward]
capacity = "4 Mbit/s"
delay = "20 ms"
queue = { drop-tail = { limit = "20 packets" } }
[flows.a.tcp]
stack = "linux"
congestion = { module = "aimd.c" }
"""

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


def changed(folder: Path, old: str, new: str) -> Path:
    """The example with other text."""
    text = AIMD.read_text()
    assert old in text
    file = folder / "aimd.c"
    file.write_text(text.replace(old, new, 1))
    return file


def refused(scenario: Path, *modules: Path, error: type[Exception]) -> str:
    with pytest.raises(error) as raised:
        varicap.run(scenario, engine="kernel", clock="simulated", modules=modules, seeds=1)
    return str(raised.value)


@in_a_guest
def test_a_control_runs_as_the_kernel_s_own_do(scenario: Path) -> None:
    mine = varicap.run(scenario, engine="kernel", modules=[AIMD])
    assert mine.summary["fidelity"]["valid"]
    other = {"flows.a.tcp.congestion": "reno"}
    reno = varicap.run(scenario, engine="kernel", overrides=other)
    assert str(mine.flows.to_pylist()) != str(reno.flows.to_pylist())


@in_a_guest
def test_what_calls_reno_s_functions_is_reno_to_the_packet(scenario: Path, tmp_path: Path) -> None:
    file = changed(tmp_path, ".cong_avoid = aimd_cong_avoid", ".cong_avoid = tcp_reno_cong_avoid")
    file.write_text(file.read_text().replace(".ssthresh = aimd_ssthresh", ".ssthresh = tcp_reno_ssthresh"))
    mine = varicap.run(scenario, engine="kernel", modules=[file], seeds=1)
    reno = varicap.run(scenario, engine="kernel", overrides={"flows.a.tcp.congestion": "reno"}, seeds=1)
    assert str(mine.flows.to_pylist()) == str(reno.flows.to_pylist())


@in_a_guest
def test_a_scenario_brings_no_code(scenario: Path) -> None:
    # Though there is such a file beside it.
    (scenario.parent / "aimd.c").write_text(AIMD.read_text())
    said = refused(scenario, error=varicap.NotApplicableError)
    assert "flows.a.tcp.congestion.module = aimd.c: a scenario brings no code of its own" in said
    assert "--module aimd.c" in said


@in_a_guest
def test_a_module_that_no_flow_names_is_refused(scenario: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.c"
    other.write_text(AIMD.read_text())
    said = refused(scenario, AIMD, other, error=varicap.NotApplicableError)
    assert 'no flow has congestion = { module = "other.c" }' in said
    (tmp_path / "there").mkdir()
    another = tmp_path / "there/aimd.c"
    another.write_text(AIMD.read_text())
    assert "two modules need two names" in refused(scenario, AIMD, another, error=ValueError)


@in_a_guest
def test_what_the_compiler_says_is_said_by_line(scenario: Path, tmp_path: Path, cli: Cli) -> None:
    file = changed(tmp_path, "ca->credit = 0;", "ca->debit = 0;")
    line = 1 + file.read_text()[: file.read_text().index("ca->debit")].count("\n")
    said = refused(scenario, file, error=kernels.KernelBuildError)
    assert said.startswith(f"{file}: cannot be built as a module of Linux {KERNEL.release}\n")
    assert f"{file}:{line}:" in said
    assert "debit" in said
    done = cli("run", str(scenario), "--engine", "kernel", "--module", str(file))
    assert done.returncode == 1
    assert f"{file}:{line}:" in done.stderr
    assert "Traceback" not in done.stderr


@in_a_guest
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            '.name = "aimd"',
            '.name = "cubic"',
            "module = aimd.c: the name of its control is taken; this kernel has reno",
        ),
        (".ssthresh = aimd_ssthresh,", "", "module = aimd.c: Linux wants `ssthresh`"),
        ("return tcp_register_congestion_control(&aimd)", "return 0", "and registers none"),
    ],
)
def test_what_linux_does_not_take_is_refused(scenario: Path, tmp_path: Path, old: str, new: str, why: str) -> None:
    file = changed(tmp_path, old, new)
    assert why in refused(scenario, file, error=varicap.NotApplicableError)


@in_a_guest
@pytest.mark.parametrize("fault", ["*(volatile int *)8 = 1;", "BUG_ON(acked);"])
def test_a_module_that_ends_its_kernel_is_an_error(scenario: Path, tmp_path: Path, fault: str) -> None:
    file = changed(tmp_path, "ca->credit += acked", f"{fault}\n\tca->credit += acked")
    said = refused(scenario, file, error=_core.RunError)
    assert re.search("the guest of the kernel engine ended: .*panic.*; it had loaded aimd.c", said), said


@in_a_guest
def test_a_module_that_never_returns_is_stopped(scenario: Path, tmp_path: Path) -> None:
    file = changed(tmp_path, "ca->credit += acked", "while (1) cpu_relax();\n\tca->credit += acked")
    with pytest.raises(varicap.LimitError, match="processor time"):
        varicap.run(scenario, engine="kernel", modules=[file], seeds=1, max_time="3 s")


@in_a_guest
def test_a_replay_wants_the_same_source(scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    varicap.run(scenario, engine="kernel", modules=[AIMD], folder=folder)
    manifest = folder / "manifest.json"
    assert set(json.loads(manifest.read_text())["modules"]) == {"aimd.c"}
    assert replay(manifest, modules=[AIMD]).identical
    with pytest.raises(ManifestError, match=r"it loaded aimd\.c, which a manifest does not hold"):
        replay(manifest)
    other = changed(tmp_path, "70", "60")
    with pytest.raises(ManifestError, match=r"is not the aimd\.c that it loaded"):
        replay(manifest, modules=[other])


@in_a_guest
def test_a_comparison_says_why_the_simulator_has_none(scenario: Path) -> None:
    found = varicap.compare(scenario, modules=[AIMD], seeds=1).to_dict()["engines"]
    said = {each["engine"]: each.get("not_applicable") for each in found}
    assert said.get("kernel") is None
    assert "`aimd.c` is a module of Linux" in said["sim"]
    assert "flows.a.tcp.congestion = module" in said["model"]


def test_the_simulator_says_who_runs_it(scenario: Path, cli: Cli) -> None:
    done = cli("run", str(scenario), "--no-plot")
    assert done.returncode == 2, done.stderr
    assert "--engine kernel --module aimd.c" in done.stderr
    with pytest.raises(ValueError, match="`modules` is for engine='kernel'"):
        varicap.run(scenario, modules=[AIMD])


def test_in_real_time_no_module_is_loaded(scenario: Path) -> None:
    with pytest.raises(varicap.NotApplicableError, match="in simulated time only"):
        varicap.run(scenario, engine="kernel", clock="real", modules=[AIMD])
