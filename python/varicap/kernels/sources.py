"""Where a kernel's source comes from: Debian's package, or a folder that the user names."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from varicap.kernels import store, tree
from varicap.kernels.errors import KernelBuildError

Say = Callable[[str], None]

_PACKAGE = re.compile(r"linux-source-\d+\.\d+")
# Of other machines, and of devices that no guest has: their Makefiles and options stay, as Kconfig reads all of them.
_ARCHITECTURES = {"alpha", "arc", "arm", "arm64", "csky", "hexagon", "loongarch", "m68k", "microblaze", "mips", "nios2",
                  "openrisc", "parisc", "powerpc", "riscv", "s390", "sh", "sparc", "xtensa"}  # fmt: skip
_DEVICES = {"accel", "bluetooth", "comedi", "crypto", "gpu", "hid", "hwmon", "iio", "infiniband", "isdn", "md", "media",
            "mmc", "mtd", "nvme", "scsi", "soundwire", "staging", "thunderbolt", "usb"}  # fmt: skip
_UNREAD = {".git", "Documentation", "samples"}
_OBJECTS = (".o", ".a", ".ko", ".cmd", ".mod", ".order", ".symvers", ".orig", ".rej")


@dataclass(frozen=True)
class Source:
    """The source of a kernel."""

    folder: Path
    origin: str
    identity: str
    """What its digest is about."""


def looks_like_package(text: str) -> bool:
    """Whether it is the name of such a package, and no folder of that name is here."""
    return _PACKAGE.fullmatch(text) is not None and not Path(text).exists()


def of_folder(folder: Path, say: Say) -> Source:
    """A tree that the user names, which is not written."""
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        raise KernelBuildError(f"{folder}: there is no such folder")
    version = tree.version(folder)
    say(f"reading Linux {version} in {folder}")
    return Source(folder, str(folder), f"{version} {_digest_of(folder)}")


def of_package(name: str, say: Say) -> Source:
    """A package of the distribution, downloaded and unpacked unless it has been before."""
    if shutil.which("apt-get") is None:
        raise KernelBuildError(
            f"{name}: this system has no apt-get; `{store.BUILDS} --source DIR` builds from a kernel's source tree"
        )
    version = _candidate(name)
    folder = store.home() / store.SOURCES / f"{name}_{version}"
    with store.locked(folder, lambda: say(f"another process unpacks {name}; waiting")):
        if not folder.is_dir():
            _unpack(name, version, folder, say)
    return Source(folder, f"{name} {version}", f"{name} {version}")


def _candidate(name: str) -> str:
    """The version that apt would install."""
    said = subprocess.run(["apt-cache", "policy", name], capture_output=True, text=True, env=_plain(), check=False)  # noqa: S603, S607
    found = re.search(r"Candidate: (\S+)", said.stdout)
    if found is None or found[1] == "(none)":
        raise KernelBuildError(
            f"apt knows no package {name}: `apt-get update` (as root) may help; "
            f"`{store.BUILDS} --source DIR` builds from a kernel's source tree"
        )
    return found[1]


def _unpack(name: str, version: str, folder: Path, say: Say) -> None:
    """Download a package as an ordinary user, and unpack of it what a kernel for guests needs."""
    missing = [tool for tool in ("dpkg-deb", "xz", "tar") if shutil.which(tool) is None]
    if missing:
        raise KernelBuildError(f"no {missing[0]} here, which unpacks {name}: apt-get install {_UNPACKERS[missing[0]]}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f".{name}-*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as draft:
        say(f"downloading {name} {version}")
        done = subprocess.run(  # noqa: S603
            ["apt-get", "download", f"{name}={version}"],  # noqa: S607
            cwd=draft, capture_output=True, text=True, env=_plain(), check=False,
        )  # fmt: skip
        packages = list(Path(draft).glob("*.deb"))
        if done.returncode or not packages:
            why = [line for line in done.stderr.splitlines() if line.startswith("E:")] or ["it was not downloaded"]
            raise KernelBuildError(f"{name}: {why[0]}")
        say(f"unpacking {name}")
        inner = f"./usr/src/{name}.tar.xz"
        excluded = " ".join(f"'--exclude={pattern}'" for pattern in _excluded())
        pipe = f"dpkg-deb --fsys-tarfile '{packages[0].name}' | tar -xO '{inner}' | xz -dc | tar -x {excluded}"
        done = subprocess.run(  # noqa: S603
            ["bash", "-c", f"set -o pipefail; {pipe}"],  # noqa: S607
            cwd=draft, capture_output=True, text=True, env=_plain(), check=False,
        )  # fmt: skip
        if done.returncode:
            raise KernelBuildError(f"{name} cannot be unpacked: {done.stderr.strip().splitlines()[-1:]}")
        (Path(draft) / name).rename(folder)


_UNPACKERS = {"dpkg-deb": "dpkg", "xz": "xz-utils", "tar": "tar"}


def _excluded() -> Iterator[str]:
    """What of a kernel's source is not unpacked."""
    yield "*/Documentation/*/*"
    for name in sorted(_ARCHITECTURES):
        yield from (f"*/arch/{name}/*.[chS]", f"*/arch/{name}/boot/dts/*")
    yield from (f"*/drivers/{name}/*.[chS]" for name in sorted(_DEVICES))
    yield from ("*/drivers/net/ethernet/*.[ch]", "*/drivers/net/wireless/*.[ch]", "*/sound/*/*.[ch]")
    yield from ("*/tools/perf/*", "*/tools/testing/*", "*/samples/*.[ch]", "*/rust/*.rs")


def _plain() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C"}


def _digest_of(folder: Path) -> str:
    """Of every file of a tree that may have a part in a kernel for guests."""
    digest = hashlib.sha256()
    for path in sorted(_read_files(folder)):
        digest.update(f"{path.relative_to(folder)}\0".encode(errors="surrogateescape"))
        try:
            content = path.read_bytes()
        except OSError as error:
            raise KernelBuildError(f"{path}: cannot be read: {error.strerror}") from None
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


def _read_files(folder: Path) -> Iterator[Path]:
    for parent, names, files in os.walk(folder):
        here = Path(parent)
        if here == folder:
            names[:] = [name for name in names if name not in _UNREAD]
        elif here == folder / "arch":
            names[:] = [name for name in names if name not in _ARCHITECTURES]
        for name in files:
            if not name.startswith(".") and not name.endswith(_OBJECTS) and not (here / name).is_symlink():
                yield here / name
