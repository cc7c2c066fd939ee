"""`make` changes the machine only where a command could not do without, and says so first."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no shell to run make's scripts")

Deps = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def deps(tmp_path: Path) -> Deps:
    """Runs the script as root on a machine that has apt and none of the programs; `installed` tells of what apt did."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "dirname", "tr", "uname", "mktemp", "rm"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    for name, text in {"id": "echo 0", "apt-get": f'echo "$@" >> {tmp_path}/installed'}.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)

    def run(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["/bin/sh", str(ROOT / "tools/deps.sh"), *arguments],
            env={"PATH": str(programs), "TMPDIR": str(tmp_path), **env},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_what_is_needed_is_installed_after_a_line_that_says_so(deps: Deps, tmp_path: Path) -> None:
    done = deps("web", "web")
    assert done.stderr.splitlines()[0] == "deps: installing for `make web`: nodejs npm (DEPS=no installs nothing)"
    assert (tmp_path / "installed").read_text().splitlines()[-1].split()[-2:] == ["nodejs", "npm"]
    assert done.returncode == 3, "this apt brings nothing"


@pytest.mark.parametrize("need", ["build", "web", "wheels"])
def test_with_deps_no_nothing_is_installed(deps: Deps, tmp_path: Path, need: str) -> None:
    done = deps("setup", need, DEPS="no")
    assert done.returncode == 3
    assert done.stderr.startswith("deps: missing for `make setup`: ")
    assert not (tmp_path / "installed").exists()


def test_what_is_optional_is_no_failure(deps: Deps) -> None:
    done = deps("--optional", "browser", "valgrind", DEPS="no")
    assert (done.returncode, done.stderr) == (
        0,
        "deps: missing for `make deps`: chromium valgrind (Debian's names; Python 3.11, Node 18 or later)\n",
    )


@pytest.mark.parametrize("target", ["setup", "run", "test", "instructions", "lint", "docs"])
def test_what_is_optional_is_installed_by_one_target_alone(target: str) -> None:
    command = ["make", "--dry-run", "--always-make", target]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    needs = re.findall(r"tools/deps\.sh (\w[\w ]*)", shown.stdout)
    assert set(needs) <= {"setup build"}
    assert "make deps\n" in (ROOT / ".ci/run").read_text()
