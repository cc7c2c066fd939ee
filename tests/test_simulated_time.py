"""The kernel engine in simulated time: guests of a kernel that was built for it; without one these skip, aloud."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from patience import HANG_S, until

import varicap
from varicap import _core, kernels
from varicap.engines import guests, kernel
from varicap.errors import MachineLacksError, NotApplicableError, StoppedRunsError
from varicap.results.manifest import values_sha256

if sys.platform != "linux":
    pytest.skip("the kernel engine needs Linux", allow_module_level=True)

needs_guests = pytest.mark.skipif(
    not kernels.installed(), reason=f"SKIPPED: no kernel for simulated time is built here: `{kernels.BUILDS}`"
)


def scenario(**parts: Any) -> dict[str, Any]:
    """A flow that random numbers reach: those of the link, and those of the kernel (BBR's phases)."""
    rates = {"markov": {"rates": ["8 Mbit/s", "2 Mbit/s"], "mean_holding": ["0.5 s", "0.5 s"]}}
    forward = {"capacity": rates, "delay": "20 ms", "queue": {"drop-tail": {"limit": "60 packets"}}}
    return {
        "name": "guest",
        "duration": "3 s",
        "warmup": "1 s",
        "topology": {"dumbbell": {"forward": forward, "reverse": {"delay": "20 ms"}}},
        "flows": {"a": {"tcp": {"congestion": "bbr"}}, "b": {"start": "0.3 s"}},
        **parts,
    }


@needs_guests
def test_the_same_run_gives_the_same_bytes_alone_and_beside_others(tmp_path: Path) -> None:
    alone = kernel.run(scenario(), seeds=3, jobs=1, series=True, packets=True)
    beside = kernel.run(scenario(), seeds=3, jobs=3, series=True, packets=True)
    assert alone.summary == beside.summary
    written = []
    for name, result in (("alone", alone), ("beside", beside)):
        result.save(tmp_path / name)
        result.write_pcapng(tmp_path / name / "packets.pcapng")
        files = sorted(path for path in (tmp_path / name).iterdir() if path.suffix in (".parquet", ".pcapng"))
        written.append({file.name: file.read_bytes() for file in files})
    assert len(written[0]) >= 6
    assert written[0] == written[1]
    goodputs = {run["goodput_bps"] for run in alone.flows.to_pylist() if run["name"] == "a"}
    assert len(goodputs) == 3, "each replication has its own link"


@needs_guests
def test_time_is_kept_exactly_whatever_the_machine_does() -> None:
    fidelity = kernel.run(scenario(), seeds=1).summary["fidelity"]
    assert fidelity["valid"]
    assert (fidelity["late_packets"], fidelity["stalls"], fidelity["late_wakes"]) == (0, 0, 0)
    assert fidelity["wakes"] == 200, "every 10 ms of what is measured"
    assert fidelity["kernel"] == kernels.find().release


@needs_guests
def test_a_manifest_names_the_kernel_and_is_replayed_in_it_alone(cli: Cli, tmp_path: Path) -> None:
    manifest = kernel.run(scenario(), seeds=1).save(tmp_path)
    recorded = json.loads(manifest.read_text(encoding="utf-8"))
    there = kernels.find()
    assert recorded["guest"] == {"name": there.name, "release": there.release, "digest": there.digest}
    done = cli("replay", manifest)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["flows.parquet: identical", "links.parquet: identical"]
    recorded["guest"]["digest"] = "0" * 64
    manifest.write_text(json.dumps(recorded), encoding="utf-8")
    other = cli("replay", manifest)
    assert other.returncode == 2
    assert f"here {there.name} is another one ({there.release}, {there.digest[:12]})" in other.stderr


@needs_guests
def test_neither_root_nor_a_device_of_the_host_is_needed(tmp_path: Path) -> None:
    script = (
        "import json, sys; from varicap.engines import kernel; found = kernel.run(json.loads(sys.argv[1]));"
        "print(json.dumps(found.summary))"
    )
    drop = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("no setpriv, with which to drop root's rights")
        drop = [setpriv, "--bounding-set=-all", "--inh-caps=-all"]
    command = [*drop, sys.executable, "-c", script, json.dumps(scenario(seeds=1))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == kernel.run(scenario(seeds=1)).summary


def below(process: int) -> set[int]:
    """The children of a process, and theirs: its guests, and the processes behind their programs."""
    found: set[int] = set()
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # a thread that has ended meanwhile
            for child in map(int, children.read_text(encoding="ascii").split()):
                found |= {child, *below(child)}
    return found


def alive(processes: set[int]) -> set[int]:
    """Those that there still are, but for what is dead and was not waited for."""
    found = set()
    for process in processes:
        with suppress(OSError):
            status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            found |= {process} if status[0] not in "ZX" else set()
    return found


@needs_guests
@pytest.mark.parametrize("wait_s", [0.0, 0.1, 0.3, 0.7, 1.5])
def test_nothing_is_left_of_a_command_that_is_killed(wait_s: float, tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    environment.setdefault("XDG_CACHE_HOME", str(kernels.home().parent.parent))
    script = "import json, sys; from varicap.engines.kernel import run; run(json.loads(sys.argv[1]), jobs=2, seeds=2)"
    command = [sys.executable, "-c", script, json.dumps(scenario(duration="60 s"))]
    shared = set(Path("/dev/shm").iterdir())
    asked = subprocess.Popen(command, env=environment, cwd=tmp_path)
    try:
        until(lambda: below(asked.pid), "no guest")
        time.sleep(wait_s)
        there = below(asked.pid)
    finally:
        asked.kill()
        asked.wait()
    assert there
    until(lambda: not alive(there), "a guest is left")
    assert list(tmp_path.iterdir()) == []
    assert not {path for path in set(Path("/dev/shm").iterdir()) - shared if "vm_file" in path.name}


@needs_guests
def test_a_guest_that_ends_badly_is_an_error_and_the_others_are_kept(tmp_path: Path) -> None:
    def kill(*_: Any) -> None:
        os.kill(min(below(os.getpid()) - before), signal.SIGKILL)

    before = below(os.getpid())

    with pytest.raises(_core.RunError, match="the guest of the kernel engine ended"):
        kernel.run(scenario(duration="60 s"), seeds=1, progress=kill)
    assert alive(below(os.getpid())) <= before


@needs_guests
def test_a_limit_of_time_is_that_of_the_processor() -> None:
    before = below(os.getpid())
    with pytest.raises(varicap.LimitError, match="more processor time than --max-time 1 s"):
        kernel.run(scenario(duration="600 s"), seeds=1, max_time="1 s")
    assert alive(below(os.getpid())) <= before


@needs_guests
def test_what_was_finished_before_a_limit_is_kept(tmp_path: Path) -> None:
    with pytest.raises(StoppedRunsError) as stopped:
        kernel.run(scenario(duration="20 s"), seeds=50, jobs=1, max_time="6 s", folder=tmp_path)
    done = stopped.value.result.runs
    assert 1 <= done < 50
    resumed = kernel.run(scenario(duration="20 s"), seeds=done, jobs=1, folder=tmp_path)
    assert values_sha256(resumed.flows) == values_sha256(stopped.value.result.flows)


@needs_guests
def test_a_refusal_is_that_of_the_guests_kernel() -> None:
    case = scenario(flows={"a": {"tcp": {"congestion": {"custom": "nobody"}}}})
    with pytest.raises(NotApplicableError, match=r"flows\.a\.tcp\.congestion = nobody: this kernel has "):
        kernel.run(case, seeds=1)


@needs_guests
def test_an_executable_that_is_no_kernel_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kernel"
    folder.mkdir()
    (folder / "linux").write_text("#!/bin/sh\necho it is broken >&2\nexit 1\n", encoding="utf-8")
    (folder / "linux").chmod(0o755)
    broken = dataclasses.replace(kernels.find(), folder=folder)
    monkeypatch.setattr(kernels, "find", lambda _: broken)
    with pytest.raises(_core.RunError, match="ended: it is broken"):
        kernel.run(scenario(), seeds=1)


@pytest.mark.parametrize(("built", "wanted"), [(True, [7, 7]), (False, [7, None])])
def test_compare_repeats_the_kernel_in_simulated_time_only(
    built: bool, wanted: list[int | None], fixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven minutes in real time are what nobody asked for."""
    asked: list[int | None] = []

    def run(*_: object, seeds: int | None, **__: object) -> None:
        asked.append(seeds)
        raise NotApplicableError("asked")

    monkeypatch.setattr("varicap.kernels.store.installed", lambda: [object()] if built else [])
    monkeypatch.setattr("varicap.engines.run", run)
    varicap.compare(fixed, only=("sim", "kernel"), seeds=7)
    assert asked == wanted


def test_without_a_kernel_the_one_command_is_said(cli: Cli, fixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(fixed.parent / "nothing"))
    with pytest.raises(MachineLacksError, match="`varicap kernel build`"):
        kernel.run(fixed, clock="simulated")
    done = cli("run", fixed, "--engine", "kernel", "--clock", "simulated")
    assert done.returncode != 0
    assert "`varicap kernel build`" in done.stderr
    assert guests.MEMORY == "1G"


def test_a_kernel_by_name_has_no_real_time() -> None:
    with pytest.raises(ValueError, match="in real time the kernel is the one that runs here"):
        kernel.run(scenario(), clock="real", kernel_name="6.12")
