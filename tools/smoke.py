"""Installs built packages, each into an empty environment, and uses them there without a compiler.

    python tools/smoke.py dist/varicap-0.1.0-*.whl dist/varicap-0.1.0.tar.gz

Dependencies come from the package index, as wheels only; a source distribution is compiled while it is installed, and
never after that.  Packages for another machine are skipped, and the last line says so.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SCENARIO = """
duration = "20 s"
warmup = "2 s"

[topology.dumbbell.forward]
capacity = { markov = { rates = ["0.8 Mbit/s", "0.2 Mbit/s"], mean_holding = ["2 s", "2 s"] } }
delay = "50 ms"
queue = { drop-tail = { limit = "20 packets" } }

[flows.cubic.tcp]
congestion = "cubic"
"""

PYTHON = """
from importlib.metadata import files

import varicap
from varicap.scenario import Dumbbell, DropTail, Flow, Link, Scenario, Tcp

path = Link(capacity="1 Mbit/s", delay="20 ms", queue=DropTail(limit="20 packets"))
scenario = Scenario(duration="10 s", topology=Dumbbell(forward=path), flows={"reno": Flow(tcp=Tcp())})
result = varicap.run(scenario, seeds=2)
assert 0 < result.summary["flows"][0]["goodput_bps"]["mean"] < 1e6
assert result.flows.num_rows == 2
carried = {file.name for file in files("varicap") or []}
assert carried >= {"LICENSE-MIT", "LICENSE-APACHE", "THIRD_PARTY.md"}, carried
"""


EXPLORE = """
from urllib.request import urlopen

from varicap import MachineLacksError, explore

try:
    page = explore.page()
except MachineLacksError as lacks:
    print(f"explore ({lacks})")
else:
    with explore.served(page) as address, urlopen(address) as answer:
        assert answer.read().decode() == page
    print("explore")
"""


class BrokenError(Exception):
    """A package does not do what it should."""


@dataclass(frozen=True)
class Environment:
    """An empty environment in a folder of its own."""

    folder: Path

    @property
    def bin(self) -> Path:
        """Where its programs are."""
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    def run(self, *command: str, path: str | None = None) -> str:
        """What the command prints; with nothing in reach but the environment, unless `path` says otherwise."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        program = shutil.which(command[0], path=str(self.bin))
        if program is None:
            raise BrokenError(f"{command[0]} is not installed")
        done = subprocess.run(
            [program, *command[1:]],
            cwd=self.folder,
            env={**kept, "PATH": str(self.bin) if path is None else path, "MPLBACKEND": "Agg"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=3600,
        )
        if done.returncode:
            raise BrokenError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout


def install(package: Path, environment: Environment) -> str:
    """Installs the package with plots; says how long that took, and how large it is."""
    venv.create(environment.folder, with_pip=True)
    is_source = package.name.endswith(".tar.gz")
    wheels = ["--only-binary", ":all:", *(["--no-binary", "varicap"] if is_source else [])]
    begin = time.monotonic()
    environment.run(
        *("python", "-m", "pip", "install", "--quiet", *wheels, f"varicap[plot] @ {package.resolve().as_uri()}"),
        path=os.environ["PATH"] if is_source else None,
    )
    seconds = time.monotonic() - begin
    return f"{package.stat().st_size / 1e6:.1f} MB, installed with its dependencies in {seconds:.0f} s"


def checks(package: Path, environment: Environment) -> Iterator[str]:
    """Uses the package; the name of each thing that works."""
    for compiler in ("cc", "gcc", "clang", "cargo", "rustc"):
        if environment.run("python", "-c", f"import shutil; print(shutil.which({compiler!r}))").strip() != "None":
            raise BrokenError(f"{compiler} is within reach")
    (environment.folder / "smoke.toml").write_text(SCENARIO)
    (environment.folder / "smoke.trace").write_text("".join(f"{time}\n" for time in range(1, 1000, 12)))

    environment.run("varicap", "--version")
    ran = json.loads(environment.run("varicap", "run", "smoke.toml", "--seeds", "2", "--series", "-o", "out", "--json"))
    if not 0 < ran["flows"][0]["goodput_bps"]["mean"] < 0.8e6:
        raise BrokenError(f"impossible goodput: {ran['flows'][0]['goodput_bps']}")
    yield "run"
    environment.run("varicap", "replay", "out/manifest.json")
    yield "replay"
    environment.run("varicap", "report", "out")
    if "<html" not in (environment.folder / "out/report.html").read_text(encoding="utf-8"):
        raise BrokenError("the report is no page")
    yield "report"
    environment.run("varicap", "trace", "info", "smoke.trace")
    yield "trace info"
    environment.run("varicap", "run", "smoke.toml", "--set", "topology.dumbbell.forward.capacity='1 Mbit/s'", "--json")
    environment.run("varicap", "reproduce", "lrl", "fig03", "--quick")
    yield "reproduce"
    environment.run("python", "-c", PYTHON)
    yield "import varicap"
    yield environment.run("python", "-c", EXPLORE).strip()
    doctor = environment.run("varicap", "doctor", "--json")
    # With musl there is no loader for BPF programs; everything else of the kernel engine is there.
    if "linux" in package.name and "kernel_engine" not in doctor:
        raise BrokenError(f"there is no kernel engine: {doctor}")
    if "manylinux" in package.name and "cannot load BPF" in doctor:
        raise BrokenError(f"the kernel engine is not complete: {doctor}")
    yield "doctor"


def fits(package: Path) -> bool:
    """Whether this machine can install it, by the tags that pip knows."""
    if package.name.endswith(".tar.gz"):
        return True
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--quiet", str(package)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "not a supported wheel on this platform" not in done.stderr:
        raise BrokenError(done.stderr)
    return not done.returncode


def main(packages: list[Path]) -> int:
    """The exit code: 0 if every package that fits this machine works, and one did."""
    works = 0
    for package in packages:
        if not fits(package):
            print(f"smoke: {package.name}: for another machine, not tried")
            continue
        with tempfile.TemporaryDirectory(prefix="varicap-smoke-") as folder:
            environment = Environment(Path(folder).resolve())
            try:
                print(f"smoke: {package.name}: {install(package, environment)}", flush=True)
                for name in checks(package, environment):
                    print(f"smoke: {package.name}: {name}", flush=True)
            except BrokenError as broken:
                print(f"smoke: {package.name}: BROKEN: {broken}")
                return 1
        works += 1
    print(f"smoke: {works} of {len(packages)} packages installed and used here")
    return 0 if works else 1


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]]))
