"""Building a kernel: configured, compiled and kept in a folder of its own, going on where an earlier try stopped."""

import contextlib
import datetime
import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from varicap.kernels import sources, store, tree
from varicap.kernels.errors import KernelBuildError
from varicap.kernels.sources import Say, Source
from varicap.kernels.store import Kernel

Progress = Callable[[int], None]
"""Is told how many objects there are now."""

_TOOLS = {
    "make": "make",
    "gcc": "gcc",
    "ld": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "perl": "perl",
    "bash": "bash",
}
"""What a build calls, and the package of Debian that has it."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_OBJECT = re.compile(r"  (?:CC|AS|HOSTCC|LEX|YACC|LDS)\s")
_TELLING = re.compile(r"error:|undefined reference|No such file|No space left|can't|cannot|\*\*\*")
_MOST_LINES = 12
_OPTION = re.compile(r"^(CONFIG_\w+)=y$", re.MULTILINE)
_CONTROL = re.compile(r"^CONFIG_TCP_CONG_(\w+)=y$", re.MULTILINE)


def build(
    source: str | Path | None = None,
    name: str | None = None,
    *,
    jobs: int | None = None,
    say: Say = lambda _: None,
    progress: Progress = lambda _: None,
) -> Kernel:
    """Build the kernel of a package or of a folder, unless it is there already.

    Without `source` it is Debian's package.  Nothing is written outside the folder of kernels.
    """
    if name is not None and _NAME.fullmatch(name) is None:
        raise KernelBuildError(f"`{name}` is no name for a kernel: letters, digits and . _ + - only")
    compiler = _check_tools()
    given = str(source or store.PACKAGE)
    found = sources.of_package(given, say) if sources.looks_like_package(given) else sources.of_folder(Path(given), say)
    chosen = name or tree.version(found.folder)
    digest = digest_of(found, compiler)
    folder = store.home() / f"{chosen}-{digest}"
    with store.locked(folder, lambda: say(f"another process builds {folder.name}; waiting")) as lock:
        there = store.read(folder)
        if there is not None:
            say(f"{folder.name} has been built before")
            return there
        _compile(found, _Room(folder, lock), jobs, say, progress)
        kernel = _described(found, folder, chosen, digest)
        _discard_drafts(folder)
        store.write(kernel)
    return kernel


def digest_of(source: Source, compiler: str) -> str:
    """Of all that decides what comes out of a build."""
    digest = hashlib.sha256()
    for part in (source.identity, compiler, *_ours()):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:12]


def _ours() -> Iterator[str]:
    """What varicap adds to a kernel, and what changes its files."""
    yield _configuration()
    for name, text in tree.added():
        yield from (name, text)
    yield Path(tree.__file__).read_text(encoding="utf-8")


def _check_tools() -> str:
    """Whether everything is here that a build needs; gives the compiler's version."""
    missing = {tool: package for tool, package in _TOOLS.items() if shutil.which(tool) is None}
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        raise KernelBuildError(
            f"building a kernel needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not here: "
            f"apt-get install {packages}"
        )
    test = "#include <sys/prctl.h>\n#include <linux/ptrace.h>\nint main(void) { return 0; }\n"
    tried = subprocess.run(
        ["gcc", "-x", "c", "-fsyntax-only", "-"],  # noqa: S607
        input=test, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if tried.returncode:
        raise KernelBuildError(
            "building a kernel needs headers of the C library and of Linux: apt-get install libc6-dev linux-libc-dev"
        )
    said = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    return said.splitlines()[0] if said else "gcc"


@dataclass(frozen=True)
class _Room:
    """The folder of a kernel that is being built, and the lock on it, which whatever builds in there holds, too."""

    folder: Path
    lock: int

    @property
    def objects(self) -> Path:
        return self.folder / "build"


def _compile(source: Source, room: _Room, jobs: int | None, say: Say, progress: Progress) -> None:
    folder, objects = room.folder, room.objects
    objects.mkdir(parents=True, exist_ok=True)
    laid = folder / ".laid"
    if not laid.exists():
        tree.lay(_clean(source.folder, room, say), folder / "tree")
        laid.touch()
    wanted = folder / "wanted.config"
    if not (objects / ".config").exists():
        wanted.write_text(_configuration(), encoding="utf-8")
        _make(room, ["allnoconfig"], {"KCONFIG_ALLCONFIG": str(wanted)})
        _check_configuration(objects / ".config")
    count = jobs or os.cpu_count() or 1
    say(f"compiling {source.origin} ({count} at a time{', ccache' if shutil.which('ccache') else ''})")
    _make(room, [f"-j{count}", "linux", "modules_prepare"], {}, progress)
    # What the kernel has for modules: nothing is built as one, so that make says it nowhere else.
    shutil.copyfile(objects / "vmlinux.symvers", objects / "Module.symvers")
    shutil.copyfile(objects / "linux", folder / "linux.new")
    (folder / "linux.new").chmod(0o755)
    (folder / "linux.new").replace(folder / "linux")


def _clean(source: Path, room: _Room, say: Say) -> Path:
    """The source, or a clean copy of it if somebody has built in it."""
    if not any((source / left).exists() for left in (".config", "include/config", "arch/um/include/generated")):
        return source
    copy = room.folder / "source"
    say(f"{source} has been built in; copying it")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "*.o", "*.a", "*.ko"))
    _run(["make", "-C", str(copy), "ARCH=um", "mrproper"], {}, room, None)
    return copy


def _configuration() -> str:
    return "".join((tree.OURS / name).read_text(encoding="utf-8") for name in ("essential.config", "wanted.config"))


def _asked(name: str) -> list[str]:
    return _OPTION.findall((tree.OURS / name).read_text(encoding="utf-8"))


def _check_configuration(config: Path) -> None:
    """Refuse a kernel that lacks what is essential."""
    text = config.read_text(encoding="utf-8")
    missing = [option for option in _asked("essential.config") if f"\n{option}=y\n" not in text]
    if "\nCONFIG_HZ=250\n" not in text:
        missing.append("CONFIG_HZ=250")
    if missing:
        config.unlink()
        raise KernelBuildError(f"this kernel cannot be configured as needed; it does not take {', '.join(missing)}")


def _described(source: Source, folder: Path, name: str, digest: str) -> Kernel:
    text = (folder / "build/.config").read_text(encoding="utf-8")
    set_ = set(_OPTION.findall(text))
    release = (folder / "build/include/config/kernel.release").read_text(encoding="utf-8").strip()
    return Kernel(
        name=name,
        release=release,
        digest=digest,
        origin=source.origin,
        built=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        controls=sorted(["ratcp", "reno", *_controls(text)]),
        lacks=[option for option in _asked("wanted.config") if option not in set_],
        folder=folder,
    )


def _controls(config: str) -> Iterator[str]:
    """Names of congestion controls, which are those of their options but for one."""
    for option in _CONTROL.findall(config):
        if option != "ADVANCED":
            yield {"HSTCP": "highspeed"}.get(option, option.lower())


def _discard_drafts(folder: Path) -> None:
    """Delete what neither a guest nor the build of a module reads."""
    for path in (folder / "build").rglob("*"):
        if path.suffix in {".o", ".a"} and "scripts" not in path.parts:
            path.unlink()
    for name in ("linux", "vmlinux"):
        (folder / "build" / name).unlink()


def _make(room: _Room, goals: list[str], more: dict[str, str], progress: Progress | None = None) -> None:
    cached = shutil.which("ccache") is not None
    compilers = ["CC=ccache gcc", "HOSTCC=ccache gcc"] if cached else []
    command = ["make", "-C", str(room.folder / "tree"), "ARCH=um", f"O={room.objects}", *compilers, *goals]
    _run(command, more, room, progress)


def _run(command: list[str], more: dict[str, str], room: _Room, progress: Progress | None) -> None:
    """Run make, count the objects it makes, and say why it failed if it did."""
    log = room.folder / "build.log"
    lines: list[str] = []
    count = 0
    with (
        log.open("a", encoding="utf-8", buffering=1) as file,
        subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment(more),
            # Not a session: some systems weigh sessions, and this one may be meant to be nice.
            process_group=0,
            pass_fds=[room.lock],
        ) as make,
        _ended(make),
    ):
        for line in make.stdout or ():
            file.write(line)
            if _OBJECT.match(line):
                count += 1
                if progress is not None:
                    progress(count)
            elif _TELLING.search(line):
                lines.append(line.rstrip())
        make.wait()
    if make.returncode:
        shown = "\n".join(lines[:_MOST_LINES]) or f"make ended with {make.returncode}"
        raise KernelBuildError(f"the kernel was not built; {log} has everything that make said\n{shown}")


@contextlib.contextmanager
def _ended(make: "subprocess.Popen[str]") -> Iterator[None]:
    """End make and all that it started if the block is left early; what is built stays."""
    try:
        yield
    finally:
        if make.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(make.pid, signal.SIGTERM)
            make.wait()


def environment(more: dict[str, str]) -> dict[str, str]:
    """What make sees: nothing of a make that called us, and nothing of who builds where and when."""
    kept = ("PATH", "HOME", "TMPDIR", "CCACHE_DIR", "XDG_CACHE_HOME", "LD_LIBRARY_PATH")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "LC_ALL": "C",
        "LOCALVERSION": "",
        # Paths below the folder of kernels do not matter to ccache: a change of ours compiles little anew.
        "CCACHE_BASEDIR": str(store.home()),
        "CCACHE_NOHASHDIR": "true",
        # It takes what the compiler itself says a file includes, rather than preprocess each file before.
        "CCACHE_DEPEND": "true",
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
        "KBUILD_BUILD_USER": "varicap",
        "KBUILD_BUILD_HOST": "varicap",
        "KBUILD_BUILD_VERSION": "1",
        **more,
    }
