"""Kernels for simulated time: how they are built and kept, on a tree that takes no time to compile."""

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import Cli
from patience import HANG_S, until

from varicap import kernels
from varicap.kernels import builder, sources, store, tree

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("make", "gcc")), reason="SKIPPED: no make or gcc here"
)

# Answers as Linux's does to what varicap asks of it. `$(O)/fail` lets it fail half-way.
MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 9
EXTRAVERSION =

allnoconfig:
	@echo configured >> $(O)/configured
	@(echo; cat $(KCONFIG_ALLCONFIG) | grep -v DUALPI2; echo CONFIG_HZ=250) > $(O)/.config
linux:
	@echo '  CC      first.o'; echo compiled >> $(O)/compiled; sleep 0.2
	@if [ -e $(CURDIR)/net/slow ]; then echo begun >> $(O)/order; sleep 2; echo over >> $(O)/order; fi
	@if [ -e $(CURDIR)/net/broken.c ]; then gcc -fsyntax-only $(CURDIR)/net/broken.c; fi
	@if [ $$(wc -l < $(O)/compiled) = 1 ] && [ -e $(CURDIR)/net/stops_once ]; then exit 2; fi
	@echo '  CC      second.o'; cat $(CURDIR)/arch/um/Kconfig > $(O)/linux; cp $(O)/linux $(O)/vmlinux
	@touch $(O)/vmlinux.symvers; mkdir -p $(O)/include/config; echo 6.12.9 > $(O)/include/config/kernel.release
modules_prepare:
mrproper:
	rm -f .config
"""
RULES = "include $(srctree)/arch/um/scripts/Makefile.rules\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return store.home()


@pytest.fixture(autouse=True)
def _all_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here calls flex or bison, which need not be installed."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in builder._TOOLS:
        found = shutil.which(name)
        (tools / name).symlink_to(found or "/bin/true")
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    """What looks like the source of a kernel."""
    source = tmp_path / "linux"
    for name, text in {
        "Makefile": MAKEFILE,
        "arch/um/Kconfig": "config HZ\n\tint\n\tdefault 100\n",
        "arch/um/Kbuild": "obj-y += kernel/\n",
        "arch/um/kernel/Makefile": RULES,
        "arch/um/kernel/skas/Makefile": RULES,
        "arch/um/os-Linux/Makefile": RULES,
        "arch/um/os-Linux/skas/Makefile": RULES,
        "arch/x86/Kconfig": "",
        "arch/arm64/Kconfig": "",
        "net/ipv4/tcp_cubic.c": "int beta = 717;\n",
        "Documentation/admin-guide.rst": "",
    }.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    return source


def content(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_a_kernel_is_built_beside_its_source_and_found(linux: Path, tmp_path: Path, home: Path) -> None:
    before = content(linux)
    counts: list[int] = []
    built = kernels.build(linux, "mine", progress=counts.append)
    assert content(linux) == before
    assert counts == [1, 2]
    assert "advanced" not in built.controls
    assert {path.name for path in tmp_path.iterdir()} == {"linux", "cache", "tools"}
    assert kernels.find() == kernels.find("mine") == built
    assert kernels.find(built.folder.name) == built
    assert built.folder == home / f"mine-{built.digest}"
    assert (built.release, built.origin, built.lacks) == ("6.12.9", str(linux), ["CONFIG_NET_SCH_DUALPI2"])
    assert {"reno", "cubic", "bbr", "highspeed", "ratcp"} <= set(built.controls)
    # The tree that was compiled is the source with varicap's changes.
    assert "default 250" in built.executable.read_text()
    assert (built.tree / "net/ipv4/tcp_cubic.c").read_text() == "int beta = 717;\n"
    added = (built.tree / "arch/um/os-Linux/Makefile").read_text()
    assert added.index("obj-y += varicap.o") < added.index("include $(srctree)")


def test_the_digest_is_of_what_may_have_a_part_in_the_kernel(linux: Path) -> None:
    first = kernels.build(linux)
    said: list[str] = []
    (linux / "Documentation/admin-guide.rst").write_text("more")
    (linux / ".git").mkdir()
    (linux / ".git/HEAD").write_text("ref")
    assert kernels.build(linux, say=said.append) == first
    assert any("built before" in line for line in said)
    (linux / "net/ipv4/tcp_cubic.c").write_text("int beta = 800;\n")
    second = kernels.build(linux)
    assert second.digest != first.digest
    assert second.name == first.name == "6.12.9"


def test_a_build_that_stopped_goes_on(linux: Path) -> None:
    (linux / "net/stops_once").touch()
    with pytest.raises(kernels.KernelBuildError):
        kernels.build(linux)
    assert kernels.installed() == []
    built = kernels.build(linux)
    assert (built.objects / "compiled").read_text().count("compiled") == 2
    assert (built.objects / "configured").read_text().count("configured") == 1


def test_what_the_compiler_says_is_shown(linux: Path) -> None:
    (linux / "net/broken.c").write_text("int main(void) { return nothing; }\n")
    with pytest.raises(kernels.KernelBuildError) as error:
        kernels.build(linux)
    assert "broken.c:1:25: error: 'nothing' undeclared" in str(error.value).replace("‘", "'").replace("’", "'")
    log = Path(str(error.value).partition("; ")[2].partition(" has")[0])
    assert "CC      first.o" in log.read_text()


def test_a_missing_tool_is_named_with_its_package(linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools/bc").unlink()
    (tmp_path / "tools/ld").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    with pytest.raises(
        kernels.KernelBuildError, match=r"needs ld, bc, which are not here: apt-get install binutils bc"
    ):
        kernels.build(linux)


def test_a_kernel_without_what_is_essential_is_refused(linux: Path) -> None:
    makefile = linux / "Makefile"
    makefile.write_text(makefile.read_text().replace("grep -v DUALPI2", "grep -v -e CONFIG_TUN="))
    with pytest.raises(kernels.KernelBuildError, match=r"does not take CONFIG_TUN$"):
        kernels.build(linux)


def test_two_builds_of_one_kernel_wait_for_each_other(linux: Path) -> None:
    said: list[str] = []
    built: list[kernels.Kernel] = []
    builds = [threading.Thread(target=lambda: built.append(kernels.build(linux, say=said.append))) for _ in range(2)]
    for one in builds:
        one.start()
    for one in builds:
        one.join()
    assert built[0] == built[1]
    assert (built[0].objects / "compiled").read_text().count("compiled") == 1


def test_what_a_killed_build_has_started_is_waited_for(linux: Path, home: Path) -> None:
    (linux / "net/slow").touch()
    script = "import sys; from varicap import kernels; kernels.build(sys.argv[1])"
    first = subprocess.Popen([sys.executable, "-c", script, str(linux)])
    until(lambda: list(home.glob("*/build/order")), "no build has begun")
    first.kill()
    first.wait()
    said: list[str] = []
    built = kernels.build(linux, say=said.append)
    assert any("waiting" in line for line in said)
    assert (built.objects / "order").read_text().split() == ["begun", "over", "begun", "over"]


def test_a_lock_that_is_deleted_while_somebody_waits_is_no_lock(home: Path) -> None:
    folder = home / "mine-0123"
    inside: list[int] = []

    def enter() -> None:
        with store.locked(folder, waits.set):
            inside.append(store._lock_of(folder).stat().st_ino)

    waits = threading.Event()
    second = threading.Thread(target=enter)
    with store.locked(folder, lambda: None):
        second.start()
        assert waits.wait(HANG_S)
        store._lock_of(folder).unlink()
    second.join()
    assert inside == [store._lock_of(folder).stat().st_ino]


def test_a_tree_in_which_somebody_has_built_is_copied(linux: Path) -> None:
    (linux / ".config").write_text("CONFIG_64BIT=y\n")
    (linux / "net/old.o").touch()
    before = content(linux)
    said: list[str] = []
    built = kernels.build(linux, say=said.append)
    assert any("copying" in line for line in said)
    assert content(linux) == before
    assert not (built.folder / "source/.config").exists()
    assert not (built.folder / "source/net/old.o").exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda source: (source / "Makefile").unlink(), "no Makefile can be read"),
        (lambda source: (source / "Makefile").write_text("all:\n"), "no version in its Makefile"),
        (
            lambda source: (source / "Makefile").write_text(MAKEFILE.replace("6", "5", 1)),
            r"Linux 5\.12\.9: a kernel from 6\.1 on is needed",
        ),
        (lambda source: (source / "arch/um/Kconfig").write_text(""), "arch/um/Kconfig: does not look as expected"),
        (lambda source: (source / "arch/um/os-Linux/Makefile").unlink(), "os-Linux/Makefile: cannot be read"),
        (shutil.rmtree, "there is no such folder"),
    ],
)
def test_what_is_no_source_is_refused(linux: Path, change: "object", complaint: str) -> None:
    assert callable(change)
    change(linux)
    with pytest.raises(kernels.KernelBuildError, match=complaint):
        kernels.build(linux)


@pytest.mark.parametrize("name", ["", "../there", "two words", "-x", "a/b"])
def test_a_name_is_one_plain_folder(linux: Path, name: str) -> None:
    with pytest.raises(kernels.KernelBuildError, match="is no name for a kernel"):
        kernels.build(linux, name)


def test_without_apt_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for tool in ("grep", "sh"):
        (tmp_path / "tools" / tool).symlink_to(str(shutil.which(tool)))
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    with pytest.raises(kernels.KernelBuildError, match=r"no apt-get; .*--source DIR"):
        sources.of_package("linux-source-6.12", lambda _: None)


@pytest.fixture
def apt(linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs in the place of apt's that know one package; gives the file to which downloads are noted."""
    if any(shutil.which(tool) is None for tool in ("dpkg-deb", "xz", "tar")):
        pytest.skip("SKIPPED: no dpkg-deb, xz or tar here")
    package, tools, noted = tmp_path / "package", tmp_path / "apt", tmp_path / "downloads"
    (package / "usr/src").mkdir(parents=True)
    (package / "DEBIAN").mkdir()
    (package / "DEBIAN/control").write_text(
        f"Package: {store.PACKAGE}\nVersion: 6.12.9-1\nArchitecture: all\nMaintainer: nobody\nDescription: x\n"
    )
    (linux / "drivers/gpu").mkdir(parents=True)
    (linux / "drivers/gpu/big.c").write_text("")
    (linux / "drivers/gpu/Kconfig").write_text("")
    named = linux.rename(tmp_path / store.PACKAGE)
    archive = package / f"usr/src/{store.PACKAGE}.tar.xz"
    subprocess.run(["tar", "-cJf", archive, "-C", tmp_path, named.name], check=True)
    deb = tmp_path / f"{store.PACKAGE}_6.12.9-1_all.deb"
    subprocess.run(["dpkg-deb", "--build", package, deb], check=True, capture_output=True)
    tools.mkdir()
    for name, script in {
        "apt-cache": f'[ "$2" = {store.PACKAGE} ] && echo "  Candidate: 6.12.9-1"\nexit 0\n',
        "apt-get": f'echo "$@" >> {noted}\n[ -e {deb} ] || {{ echo "E: no route" >&2; exit 100; }}\ncp {deb} .\n',
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{tmp_path / 'tools'}:/usr/bin:/bin")
    return noted


def test_a_package_is_downloaded_once_and_unpacked_in_part(apt: Path, home: Path) -> None:
    built = kernels.build()
    assert built.origin == f"{store.PACKAGE} 6.12.9-1"
    kernels.build(name="again")
    assert apt.read_text().splitlines() == [f"download {store.PACKAGE}=6.12.9-1"]
    (unpacked,) = (home / store.SOURCES).glob("[!.]*")
    assert (unpacked / "drivers/gpu/Kconfig").exists()
    assert not (unpacked / "drivers/gpu/big.c").exists()
    assert sorted(path.name for path in (home / store.SOURCES).iterdir() if path.is_dir()) == [unpacked.name]


def test_what_apt_says_is_shown(apt: Path) -> None:
    with pytest.raises(kernels.KernelBuildError, match=r"apt knows no package linux-source-6\.99: .*apt-get update"):
        kernels.build("linux-source-6.99")
    next(apt.parent.glob("*.deb")).unlink()
    with pytest.raises(kernels.KernelBuildError, match="E: no route"):
        kernels.build()


def test_no_kernel_names_the_command_that_builds_one(linux: Path) -> None:
    with pytest.raises(kernels.NoKernelError, match="`varicap kernel build` builds one"):
        kernels.find()
    built = kernels.build(linux, "mine")
    with pytest.raises(kernels.NoKernelError, match=r"no kernel `mina`; did you mean `mine`\?"):
        kernels.find("mina")
    record = built.folder / store.RECORD
    record.write_text(json.dumps({**json.loads(record.read_text()), "form": 0}))
    with pytest.raises(kernels.NoKernelError, match="of another version of varicap"):
        kernels.find()


def test_the_default_is_the_kernel_of_the_documents(linux: Path) -> None:
    def build(name: str, origin: str | None = None) -> None:
        (linux / "net/ipv4/tcp_cubic.c").write_text(name)
        built = kernels.build(linux, name)
        if origin is not None:
            store.write(store.Kernel(**{**vars(built), "origin": origin}))

    build("mine")
    assert kernels.find().name == "mine"
    build("old", "linux-source-6.1 6.1.192-3")
    assert kernels.find().name == "old"
    build("usual", f"{store.PACKAGE} 6.12.117-1")
    build("older", "linux-source-6.1 6.1.192-3")
    build("yours")
    assert kernels.find().name == "usual"


def test_kernels_are_removed_by_name_finished_or_not(linux: Path, home: Path) -> None:
    kernels.build(linux, "mine")
    (linux / "net/broken.c").write_text("nothing")
    with pytest.raises(kernels.KernelBuildError):
        kernels.build(linux, "mine")
    assert len(kernels.remove("mine")) == 2
    assert list(home.iterdir()) == []
    with pytest.raises(kernels.NoKernelError):
        kernels.remove("mine")


def test_unpacked_sources_stay_as_long_as_a_kernel_is_of_them(linux: Path, home: Path) -> None:
    unpacked = home / store.SOURCES / "linux-source-6.12_6.12.9-1"
    shutil.copytree(linux, unpacked)
    kernels.build(unpacked, "one")
    kernels.build(linux, "other")
    kernels.remove("other")
    assert unpacked.is_dir()
    kernels.remove("one")
    assert not unpacked.exists()
    assert linux.is_dir()


def test_a_kernel_that_is_being_built_is_not_removed(linux: Path) -> None:
    built = kernels.build(linux, "mine")
    with (
        store.locked(built.folder, lambda: None),
        pytest.raises(kernels.KernelBuildError, match="is being built by another process"),
    ):
        kernels.remove("mine")
    assert kernels.find("mine") == built


def test_what_a_kernel_is_given_stands_in_its_command(linux: Path) -> None:
    built = kernels.build(linux)
    command = built.command("/bin/init", ("one",), seed=7, memory="256M", parent=42, options=("dsp=x",))
    assert command[0] == str(built.executable)
    assert {"mem=256M", "init=/bin/init", "varicap.seed=7", "varicap.parent=42", "dsp=x", "ro"} <= set(command)
    assert command[-2:] == ["--", "one"]
    assert built.command("/a b/init", ("two words", "x=1 2"))[-3:] == ["--", '"two words"', 'x="1 2"']
    assert 'init="/a b/init"' in built.command("/a b/init")
    with pytest.raises(ValueError, match="both spaces and double quotes"):
        built.command("/bin/init", ('"a b"',))


@pytest.mark.parametrize(("patchlevel", "is_lazy"), [(1, True), (15, True), (16, False), (18, False)])
def test_registers_are_lazy_where_it_is_known_how(linux: Path, tmp_path: Path, patchlevel: int, is_lazy: bool) -> None:
    (linux / "Makefile").write_text(MAKEFILE.replace("12", str(patchlevel), 1))
    tree.lay(linux, tmp_path / "tree")
    for name in ("os-Linux/skas/Makefile", "varicap/Makefile"):
        assert ("fp.o" in (tmp_path / "tree/arch/um" / name).read_text()) == is_lazy


def test_files_that_are_added_are_under_names_of_ours() -> None:
    added = dict(tree.added())
    assert "struct_ops" in added["arch/um/varicap/ratcp.bpf.c"]
    assert all("varicap" in name for name in added), "no file of Linux is replaced"


def test_the_commands(cli: Cli, linux: Path, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": f"{tmp_path / 'tools'}:/usr/bin:/bin"}
    assert "varicap kernel build builds one" in cli("kernel", "list", env=env).stderr
    done = cli("kernel", "build", "--source", linux, "--name", "mine", "--json", env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["release"] == "6.12.9"
    (listed,) = json.loads(cli("kernel", "list", "--json", env=env).stdout)
    assert (listed["name"], listed["origin"]) == ("mine", str(linux))
    found = json.loads(cli("doctor", "--json", env=env).stdout)["kernel_engine"]["kernels"]
    assert [one["name"] for one in found] == ["mine"]
    assert cli("kernel", "remove", "mine", env=env).returncode == 0
    refused = cli("kernel", "remove", "mine", env=env)
    assert (refused.returncode, refused.stderr.count("no kernel `mine`")) == (2, 1)
    refused = cli("kernel", "build", "--source", tmp_path / "nowhere", env=env)
    assert refused.returncode == 1
    assert "there is no such folder" in refused.stderr
