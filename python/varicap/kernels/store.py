"""Where kernels are kept that were built here: a folder for each, NAME-DIGEST, in the user's cache."""

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TextIO

from varicap._names import unknown
from varicap.errors import MachineLacksError
from varicap.kernels.errors import KernelBuildError, NoKernelError

FORM = 1
"""What the engine expects of a kernel; it rises when kernels built before cannot do what is asked of them."""
RECORD = "kernel.json"
"""Written last: a folder that has it has a kernel."""
BUILDS = "varicap kernel build"
PACKAGE = "linux-source-6.12"
"""The package whose kernel is the default, and the one that the documents are about."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that was built here."""

    name: str
    release: str
    """As `uname -r` says it, such as ``6.12.117``."""
    digest: str
    """Of its source, of its configuration, of what varicap adds and of the compiler."""
    origin: str
    """A package, such as ``linux-source-6.12 6.12.117-1``, or the folder of its source."""
    built: str
    """When, in UTC."""
    controls: list[str]
    """Its congestion controls."""
    lacks: list[str]
    """Options that varicap asks for and that this version does not have."""
    form: int = FORM
    folder: Path = field(default=Path(), compare=False)

    @property
    def executable(self) -> Path:
        """The kernel, a program."""
        return self.folder / "linux"

    @property
    def tree(self) -> Path:
        """The source as it was built."""
        return self.folder / "tree"

    @property
    def objects(self) -> Path:
        """What was built, against which modules are built."""
        return self.folder / "build"

    def command(
        self,
        init: str | Path,
        arguments: tuple[str, ...] = (),
        *,
        seed: int = 0,
        memory: str = "1G",
        parent: int | None = None,
        options: tuple[str, ...] = (),
    ) -> list[str]:
        """The program and its arguments that boot this kernel, with the host's files read-only, and run `init` in it.

        It ends when the thread that starts it does, if that belongs to the process `parent` (by default this one).
        """
        words = [
            f"mem={memory}",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            f"init={init}",
            "time-travel=inf-cpu",
            # A fixed date: a run must not know when it was made.
            f"time-travel-start={START_NS}",
            # Without one the kernel puts its own behind everything, where the first program would find it.
            "console=tty0",
            "con=null",
            "ssl=null",
            "quiet",
            # Before 6.2 the kernel would wait for more randomness than the seed's: for minutes of processor time.
            "random.trust_bootloader=on",
            "random.trust_cpu=on",
            f"varicap.seed={seed}",
            f"varicap.parent={os.getpid() if parent is None else parent}",
            *options,
            "--",
            *arguments,
        ]
        return [str(self.executable), *map(_quoted, words)]


def _quoted(word: str) -> str:
    """A word of a kernel's command line, which is one text: what has spaces stands in double quotes, and has none."""
    if not re.search(r"\s", word):
        return word
    if '"' in word:
        raise ValueError(f"`{word}`: a kernel cannot be given both spaces and double quotes")
    key, equals, value = word.partition("=")
    return f'{key}="{value}"' if equals and not re.search(r"\s", key) else f'"{word}"'


START_NS = 1_700_000_000_000_000_000
"""What the clock of every guest says as it boots [ns since 1970]."""


def home() -> Path:
    """The folder of all kernels."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # As the XDG specification has it: a relative path is no answer.
    base = Path(cache) if cache.startswith("/") else Path("~/.cache").expanduser()
    return base / "varicap" / "kernels"


def installed() -> list[Kernel]:
    """The kernels that were built here, the newest first."""
    found = [kernel for path in home().glob(f"*/{RECORD}") if (kernel := read(path.parent)) is not None]
    return sorted(found, key=lambda kernel: (kernel.built, kernel.name), reverse=True)


def read(folder: Path) -> Kernel | None:
    """The kernel of a folder, if it is complete."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        kernel = Kernel(**record, folder=folder)
    except (OSError, ValueError, TypeError):
        return None
    return kernel if kernel.executable.is_file() else None


def write(kernel: Kernel) -> None:
    """Say that the folder of a kernel has all of it."""
    record = asdict(kernel)
    del record["folder"]
    target = kernel.folder / RECORD
    draft = target.with_suffix(".new")
    draft.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    draft.replace(target)


def find(name: str | None = None) -> Kernel:
    """The kernel of that name, or of that name and digest; by default the newest of `PACKAGE`, or of any package.

    A version stands for its newest patch: ``6.12`` for ``6.12.117``.
    """
    known = installed()
    if not known:
        raise NoKernelError(f"no Linux kernel for simulated time has been built here: `{BUILDS}` builds one")
    if name is None:
        packaged = [kernel for kernel in known if not kernel.origin.startswith("/")]
        chosen = [kernel for kernel in packaged if kernel.origin.startswith(f"{PACKAGE} ")] or packaged or known
    else:
        chosen = [kernel for kernel in known if name in (kernel.name, kernel.folder.name)] or [
            kernel for kernel in known if kernel.name.startswith(f"{name}.")
        ]
    if not chosen:
        names = sorted({kernel.name for kernel in known})
        raise NoKernelError(f"{unknown('kernel', str(name), names)}; `{BUILDS} --name {name}` builds one")
    if chosen[0].form != FORM:
        raise NoKernelError(f"the kernel {chosen[0].name} is of another version of varicap: `{BUILDS}` builds it anew")
    return chosen[0]


def is_simulated(clock: str | None, name: str | None = None) -> bool:
    """Whether time is simulated: as `clock` says; else if a kernel is named, or was built here.

    Raises ``ValueError`` where `clock` is neither ``simulated`` nor ``real``, and for a named kernel in real time.
    """
    if clock not in (None, "simulated", "real"):
        raise ValueError(f"the clock is simulated or real, not {clock!r}")
    if clock == "real" and name is not None:
        raise ValueError(f"in real time the kernel is the one that runs here, not {name!r}")
    return clock != "real" and (clock == "simulated" or name is not None or bool(installed()))


def remove(name: str) -> list[Path]:
    """Delete the kernels of that name, unfinished ones, too, and unpacked sources of theirs; gives their folders."""
    folders = [path for path in _folders() if path.name == name or path.name.rpartition("-")[0] == name]
    if not folders:
        raise NoKernelError(unknown("kernel", name, sorted({path.name.rpartition("-")[0] for path in _folders()})))
    for folder in folders:
        with locked(folder, partial(_refuse, folder)):
            # First what makes it one, so that nobody finds half of it.
            (folder / RECORD).unlink(missing_ok=True)
            shutil.rmtree(folder)
            _lock_of(folder).unlink()
    _forget_sources()
    return folders


def _forget_sources() -> None:
    """Delete unpacked packages that no kernel is of: the modules of a kernel need its source."""
    needed = {(folder / "tree/Makefile").resolve().parent for folder in _folders()}
    for source in (home() / SOURCES).glob("[!.]*"):
        if source.resolve() not in needed:
            shutil.rmtree(source)


def _refuse(folder: Path) -> None:
    raise KernelBuildError(f"{folder.name} is being built by another process")


def _folders() -> list[Path]:
    """Of kernels, finished or not."""
    return sorted(path for path in home().glob("*-*") if path.is_dir() and path.name != SOURCES)


SOURCES = "sources-unpacked"
"""The folder of unpacked packages, among those of kernels."""


@contextlib.contextmanager
def locked(folder: Path, busy: Callable[[], None]) -> Iterator[int]:
    """Keep other processes out of a folder; `busy` is called if one is in there, and then it is waited for.

    Gives the descriptor of the lock: processes that inherit it keep the folder, though this one may have been killed.
    """
    with _held(_lock_of(folder), busy) as file:
        yield file.fileno()


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def _held(lock: Path, busy: Callable[[], None]) -> TextIO:
    while True:
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            file = lock.open("w")
        except OSError as error:
            raise MachineLacksError(f"{lock.parent}: cannot be written: {error.strerror}") from None
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                busy()
                fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever had it may have deleted it with its folder.
            if lock.exists() and lock.stat().st_ino == os.fstat(file.fileno()).st_ino:
                return file
        except BaseException:
            file.close()
            raise
        file.close()
