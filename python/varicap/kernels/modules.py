"""Modules for a kernel that was built here: congestion controls of one's own, in C."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

from varicap._files import UnreadableError, read_whole
from varicap.kernels import store
from varicap.kernels.builder import environment
from varicap.kernels.errors import KernelBuildError
from varicap.kernels.store import Kernel

MOST_SOURCE = 10_000_000
"""Bytes of a module's source."""
_MOST_LINES = 40
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# What make and the linker say beside the compiler.
_NOISE = re.compile(r"^(make(\[\d+\])?:|  [A-Z]+ |warning: the compiler differs|  (The kernel|You are using))")


def module(source: str | Path, kernel: Kernel) -> Path:
    """The module of a file in C, such as ``net/ipv4/tcp_*.c`` of Linux, built against `kernel` unless it has been.

    Raises `KernelBuildError` with what the compiler says, by the lines of that file.
    """
    source = Path(source)
    if source.suffix != ".c" or _NAME.fullmatch(source.stem) is None:
        raise KernelBuildError(f"{source}: a module is a file NAME.c, its name of letters, digits, _ and -")
    try:
        text = read_whole(source, MOST_SOURCE)
    except UnreadableError as error:
        raise KernelBuildError(f"{source}: {error}") from None
    name = source.stem.replace("-", "_")
    folder = kernel.folder / "modules" / f"{name}-{hashlib.sha256(text).hexdigest()[:12]}"
    built = folder / f"{name}.ko"
    with store.locked(folder, lambda: None):
        if not built.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            (folder / f"{name}.c").write_bytes(text)
            (folder / "Kbuild").write_text(f"obj-m := {name}.o\n", encoding="utf-8")
            _make(source, name, folder, kernel)
    return built


def _make(source: Path, name: str, folder: Path, kernel: Kernel) -> None:
    try:
        made = subprocess.run(  # noqa: S603
            ["make", "-C", str(kernel.objects), "ARCH=um", f"M={folder}", f"{name}.ko"],  # noqa: S607
            capture_output=True, text=True, errors="replace", env=environment({}), check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise KernelBuildError(f"{source}: building a module needs make: apt-get install make gcc") from None
    if made.returncode == 0:
        return
    shown = [line for line in f"{made.stdout}{made.stderr}".expandtabs().splitlines() if not _NOISE.match(line)]
    lines = "\n".join(shown[:_MOST_LINES]).replace(str(folder / f"{name}.c"), str(source))
    raise KernelBuildError(f"{source}: cannot be built as a module of Linux {kernel.release}\n{lines}")
