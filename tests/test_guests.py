"""Kernels that were built here, as they run: what they depend on, and what they leave."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import HANG_S, until

from varicap import kernels

INIT = Path(__file__).with_name("guest_init.py")

try:
    KERNEL = kernels.find()
    WHY = ""
except kernels.NoKernelError as error:
    WHY = str(error)
pytestmark = pytest.mark.skipif(bool(WHY), reason=f"SKIPPED: {WHY}")


def command(
    folder: Path, job: str, *arguments: str, seed: int = 1, parent: int | None = None, name: str | None = None
) -> list[str]:
    folder.mkdir(exist_ok=True)
    python = os.path.realpath(sys.executable)
    words = ("-I", "-S", str(INIT), str(folder), job, *arguments)
    kernel = KERNEL if name is None else kernels.find(name)
    return kernel.command(python, words, seed=seed, memory="256M", parent=parent)


def boot(folder: Path, job: str, *arguments: str, seed: int = 1, name: str | None = None) -> str:
    """What the guest found."""
    done = subprocess.run(
        command(folder, job, *arguments, seed=seed, name=name),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (folder / "found").read_text()


@contextlib.contextmanager
def busy(number: int) -> Iterator[None]:
    """That many processes that do nothing else than keep processors."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def processes_of(executable: Path) -> set[str]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "exe").readlink() == executable:
                found.add(process.name)
    return found


def test_a_seed_decides_everything(tmp_path: Path) -> None:
    alone = boot(tmp_path / "alone", "transfer", seed=7)
    assert len(alone.splitlines()) > 40
    with busy(4):
        beside = boot(tmp_path / "a folder of another name", "transfer", seed=7)
    assert beside == alone
    assert boot(tmp_path / "other", "transfer", seed=8) != alone


@pytest.mark.parametrize("name", sorted({kernel.folder.name for kernel in kernels.installed()}))
def test_no_kernel_waits_for_randomness(tmp_path: Path, name: str) -> None:
    # Linux 6.1 took minutes of processor time to gather it.
    assert len(boot(tmp_path / "run", "transfer", name=name).splitlines()) > 40


def test_its_controls_are_those_that_are_on_record(tmp_path: Path) -> None:
    assert boot(tmp_path / "run", "controls").split() == KERNEL.controls


def test_a_day_takes_no_time(tmp_path: Path) -> None:
    assert boot(tmp_path / "run", "timers") == "86400.000"


def test_the_host_s_files_are_not_written(tmp_path: Path) -> None:
    assert boot(tmp_path / "run", "rights") == "Read-only file system"


def test_ratcp_is_there_and_hears(tmp_path: Path) -> None:
    assert boot(tmp_path / "run", "ratcp") == "32, 8, No such file or directory, Invalid argument"


def test_a_control_of_one_s_own_is_built_and_loaded(tmp_path: Path) -> None:
    source = tmp_path / "my_cc.c"
    source.write_text("""\
#include <linux/module.h>
#include <net/tcp.h>
static struct tcp_congestion_ops mine = {
	.ssthresh = tcp_reno_ssthresh, .undo_cwnd = tcp_reno_undo_cwnd, .cong_avoid = tcp_reno_cong_avoid,
	.owner = THIS_MODULE, .name = "my_cc", .flags = TCP_CONG_NON_RESTRICTED,
};
static int __init begin(void) { return tcp_register_congestion_control(&mine); }
module_init(begin);
MODULE_LICENSE("GPL");
""")
    module = kernels.module(source, KERNEL)
    assert kernels.module(source, KERNEL) == module
    assert boot(tmp_path / "run", "load", str(module)) == "my_cc True"
    shutil.rmtree(module.parent)
    source.write_text(source.read_text().replace(".owner", ".possessor"))
    with pytest.raises(kernels.KernelBuildError, match=rf"{source}:5:10: error: .*possessor"):
        kernels.module(source, KERNEL)


def test_a_kernel_ends_with_its_parent_and_leaves_nothing(tmp_path: Path) -> None:
    executable = tmp_path / "linux"
    shutil.copy(KERNEL.executable, executable)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = [str(executable), *command(tmp_path / "run", "spin", parent=0)[1:]]
    starter = (
        "import os, subprocess, sys\n"
        "words = [word.replace('varicap.parent=0', f'varicap.parent={os.getpid()}') for word in sys.argv[1:]]\n"
        "subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
    )
    env = {**os.environ, "HOME": str(temporary), "TMPDIR": str(temporary)}
    shared = set(Path("/dev/shm").iterdir())
    parent = subprocess.Popen([sys.executable, "-c", starter, *words], env=env)
    try:
        until(lambda: (tmp_path / "run/begun").exists(), "the guest has not begun")
        assert len(processes_of(executable)) >= 2
    finally:
        parent.kill()
        parent.wait()
    until(lambda: not processes_of(executable), "processes of the guest are left")
    assert list(temporary.iterdir()) == []
    assert set(Path("/dev/shm").iterdir()) <= shared


@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/usr/bin/python3").exists(),
    reason="SKIPPED: only root can become somebody else, who needs a Python that is not root's",
)
def test_nobody_may_run_it(tmp_path: Path) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        base.chmod(0o755)
        shutil.copy(KERNEL.executable, base / "linux")
        shutil.copy(INIT, base / "init.py")
        (base / "run").mkdir()
        (base / "run").chmod(0o777)
        words = command(base / "run", "timers")
        words = [word.replace(str(INIT), str(base / "init.py")) for word in words]
        words = ["init=/usr/bin/python3" if word.startswith("init=") else word for word in words]
        done = subprocess.run(
            [str(base / "linux"), *words[1:]],
            user="nobody", group="nogroup", extra_groups=[], cwd="/", stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=HANG_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert (base / "run/found").read_text() == "86400.000"


def test_a_parent_that_is_gone_is_no_parent(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path / "run", "timers", parent=1), capture_output=True, check=False)
    assert done.returncode == 1
    assert not (tmp_path / "run/begun").exists()
