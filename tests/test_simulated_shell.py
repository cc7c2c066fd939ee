"""`varicap shell --clock simulated`: programs behind a link, in a guest."""

import json
import sys
from pathlib import Path

import pytest
from conftest import EXAMPLES, Cli

import varicap
from varicap import kernels
from varicap import shell as shells

try:
    kernels.find()
    WHY = ""
except kernels.NoKernelError as error:
    WHY = str(error)
in_a_guest = pytest.mark.skipif(bool(WHY), reason=f"SKIPPED: {WHY}")

FIXED = EXAMPLES / "fixed.toml"
SERVER = f"{sys.executable} -m http.server 8000 --directory {{}}"
DOWNLOAD = """
import json, os, time, urllib.request
begin = time.monotonic()
with urllib.request.urlopen(f"http://{os.environ['VARICAP_OUTSIDE']}:8000/file", timeout=100) as answer:
    data = answer.read()
print(json.dumps({"bytes": len(data), "seconds": time.monotonic() - begin, "drawn": os.urandom(8).hex()}))
"""


@pytest.fixture
def served(tmp_path: Path) -> str:
    """A server of a file of 300 kB."""
    folder = tmp_path / "www"
    folder.mkdir()
    (folder / "file").write_bytes(bytes(300_000))
    return SERVER.format(folder)


@in_a_guest
def test_a_download_takes_what_the_link_makes_it_take(cli: Cli, served: str) -> None:
    def downloaded(*options: str) -> str:
        words = ("shell", FIXED, "--clock", "simulated", "--server", served, *options)
        done = cli(*words, "--", sys.executable, "-c", DOWNLOAD)
        assert done.returncode == 0, done.stderr
        return done.stdout

    first = downloaded()
    found = json.loads(first)
    assert found["bytes"] == 300_000
    # 0.8 Mb/s, of which headers take their share, and some round trips of 100 ms to begin with.
    assert 3.0 < found["seconds"] < 4.0
    assert downloaded() == first
    assert downloaded("--seed", "7") != first


@in_a_guest
def test_time_jumps_and_the_exit_code_is_that_of_the_command(cli: Cli) -> None:
    done = cli("shell", FIXED, "--clock", "simulated", "--", "sh", "-c", "sleep 5000; echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout) == (7, "out\n")
    assert done.stderr.endswith("err\n")
    missing = cli("shell", FIXED, "--clock", "simulated", "--", "no-such-program")
    assert missing.returncode == 127
    assert "no-such-program" in missing.stderr


@in_a_guest
def test_files_are_read_only_but_for_the_guest_s_own(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "here").write_text("read")
    program = 'cat here; echo x > "$TMPDIR/there" && echo written; echo x > elsewhere'
    done = cli("shell", FIXED, "--clock", "simulated", "--", "sh", "-c", program)
    assert done.stdout == "readwritten\n"
    assert "Read-only file system" in done.stderr
    assert not (tmp_path / "elsewhere").exists()


@in_a_guest
def test_a_control_may_be_chosen_for_both_ends(cli: Cli) -> None:
    done = cli("shell", FIXED, "--clock", "simulated", "--congestion", "nobody's", "--", "true")
    assert done.returncode == 3
    assert "no congestion control `nobody's`: this kernel has " in done.stderr


@in_a_guest
def test_a_server_that_ends_is_said(cli: Cli) -> None:
    done = cli("shell", FIXED, "--clock", "simulated", "--server", "echo no; false", "--", "true")
    assert done.returncode == 3
    assert "the server /bin/sh has ended" in done.stderr


def test_what_makes_no_sense_is_refused(cli: Cli) -> None:
    untyped = cli("shell", FIXED, "--clock", "simulated")
    assert untyped.returncode == 2
    assert "nobody can type" in untyped.stderr
    real = cli("shell", FIXED, "--server", "iperf3 -s", "--", "true")
    assert real.returncode == 2
    assert "--clock simulated" in real.stderr
    with pytest.raises(ValueError, match="in real time a server is started outside"):
        shells.run(FIXED, ["true"], server="iperf3 -s")


def test_without_a_kernel_the_command_is_said(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("shell", FIXED, "--clock", "simulated", "--", "true", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 3
    assert "varicap kernel build" in done.stderr
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(varicap.MachineLacksError, match="varicap kernel build"):
        shells.run(FIXED, ["true"], clock="simulated")
