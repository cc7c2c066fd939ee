"""The tree that is built: links to a kernel's source, and copies of the few files that are changed.

The source itself is never written; what is built lies elsewhere (`O=`).
"""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import varicap._core as _core
from varicap.kernels.errors import KernelBuildError

OURS = Path(__file__).parent / "source"
"""What is added to a kernel: configuration, and files under GPL-2.0."""

_RULES = "arch/um/scripts/Makefile.rules"


def version(source: Path) -> str:
    """The version that a kernel's Makefile states, such as `6.12.117`."""
    try:
        head = (source / "Makefile").read_text(encoding="utf-8", errors="replace")[:2000]
    except OSError as error:
        raise KernelBuildError(f"{source}: is no source of Linux: no Makefile can be read ({error.strerror})") from None
    parts = {name: value.strip() for name, value in re.findall(r"^(\w+)[ \t]*=([^\n]*)$", head, re.MULTILINE)}
    if not parts.get("VERSION") or "PATCHLEVEL" not in parts or not (source / "arch/um").is_dir():
        raise KernelBuildError(f"{source}: is no source of Linux: no version in its Makefile, or no arch/um")
    numbers = [parts["VERSION"], parts["PATCHLEVEL"], parts.get("SUBLEVEL") or "0"]
    if tuple(map(int, numbers[:2])) < (6, 1):
        raise KernelBuildError(f"{source}: Linux {'.'.join(numbers)}: a kernel from 6.1 on is needed")
    return f"{'.'.join(numbers)}{parts.get('EXTRAVERSION', '')}"


def lay(source: Path, tree: Path) -> None:
    """Make `tree` anew: `source` with varicap's files in it."""
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "arch").mkdir(parents=True)
    _link(source, tree, {".git", "arch"})
    _link(source / "arch", tree / "arch", {"um"})
    shutil.copytree(source / "arch/um", tree / "arch/um")
    for name, text in added():
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    numbers = tuple(map(int, version(source).split(".")[:2]))
    for changes in (_CHANGES, _LAZY_REGISTERS) if numbers < _FIRST_WITH_SECCOMP else (_CHANGES,):
        for name, change in changes.items():
            _change(tree / name, source / name, change)


def _change(target: Path, source: Path, change: Callable[[str], str | None]) -> None:
    try:
        text = target.read_text(encoding="utf-8")
    except OSError as error:
        raise KernelBuildError(f"{source}: cannot be read ({error.strerror})") from None
    changed = change(text)
    if changed is None:
        raise KernelBuildError(f"{source}: does not look as expected; varicap cannot change this kernel")
    target.write_text(changed, encoding="utf-8")


def added() -> Iterator[tuple[str, str]]:
    """Path and text of each file that a kernel's source gets from varicap."""
    for path in sorted((OURS / "arch").rglob("*")):
        if path.is_file():
            yield path.relative_to(OURS).as_posix(), path.read_text(encoding="utf-8")
    yield "arch/um/varicap/ratcp.bpf.c", _core.ratcp_program()


def _link(source: Path, tree: Path, besides: set[str]) -> None:
    for entry in sorted(source.iterdir()):
        if entry.name not in besides:
            (tree / entry.name).symlink_to(entry.absolute())


def _before_rules(*lines: str) -> Callable[[str], str | None]:
    """Lines that come before the one that turns lists of objects into rules."""

    def change(text: str) -> str | None:
        place = re.search(rf"^include .*{re.escape(_RULES)}$", text, re.MULTILINE)
        if place is None:
            return None
        return text[: place.start()] + "".join(f"{line}\n" for line in lines) + text[place.start() :]

    return change


def _before_file(name: str, folder: str, header: str) -> str:
    """Include a header of ours before anything else in a file of User-mode Linux."""
    return f"CFLAGS_{name}.o += -include $(srctree)/arch/um/{folder}/{header}"


def _hz(text: str) -> str | None:
    """Ticks per second as distributions have them: time-outs of TCP are counted in ticks."""
    changed, found = re.subn(r"(^config HZ\n\tint\n\tdefault )\d+$", r"\g<1>250", text, flags=re.MULTILINE)
    return changed if found == 1 else None


_CHANGES: dict[str, Callable[[str], str | None]] = {
    "arch/um/Kconfig": _hz,
    "arch/um/Kbuild": lambda text: f"{text}\nobj-y += varicap/\n",
    "arch/um/kernel/Makefile": _before_rules(
        _before_file("time", "kernel", "varicap_time.h"),
        _before_file("um_arch", "kernel", "varicap_um_arch.h"),
    ),
    "arch/um/kernel/skas/Makefile": _before_rules(_before_file("syscall", "kernel/skas", "varicap_syscall.h")),
    "arch/um/os-Linux/Makefile": _before_rules(
        "obj-y += varicap.o",
        "USER_OBJS += varicap.o",
        _before_file("mem", "os-Linux", "varicap_mem.h"),
        _before_file("start_up", "os-Linux", "varicap_start_up.h"),
        _before_file("umid", "os-Linux", "varicap_umid.h"),
    ),
    "arch/um/os-Linux/skas/Makefile": _before_rules(_before_file("process", "os-Linux/skas", "varicap_process.h")),
}
_FIRST_WITH_SECCOMP = (6, 16)
"""From then on processes of the host may be stopped in another way, which keeps registers elsewhere."""
_LAZY_REGISTERS: dict[str, Callable[[str], str | None]] = {
    "arch/um/varicap/Makefile": lambda text: f"{text}obj-y += fp.o\n",
    "arch/um/kernel/Makefile": _before_rules(_before_file("signal", "kernel", "varicap_signal.h")),
    "arch/um/os-Linux/skas/Makefile": _before_rules(
        "obj-y += varicap_fp.o",
        "USER_OBJS += varicap_fp.o",
        _before_file("mem", "os-Linux/skas", "varicap_fp.h"),
        _before_file("process", "os-Linux/skas", "varicap_fp.h"),
    ),
}
