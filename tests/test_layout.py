"""How the Python package is laid out: a room imports only what stands below it.

A room is a module or a folder directly in the package.  An import counts wherever it is written: at the head of a
module, in a function, or for type checkers only.
"""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest
from conftest import ROOT

PACKAGE = ROOT / "python/varicap"

# From the top down; rooms on one floor do not know each other.
FLOORS = (
    ("__main__",),
    ("__init__", "cli"),
    ("terminal",),
    ("papers", "validate", "widget"),
    ("falsify",),
    ("evaluate",),
    ("design", "explore", "gym"),
    ("machine", "report", "shell", "study"),
    ("engines", "export", "importers", "laboratory", "templates"),
    ("results",),
    ("dialogue", "kernels", "traces"),
    ("interface", "plugins", "policies"),
    (
        "_blas",
        "_files",
        "_interrupt",
        "_limits",
        "_names",
        "analyse",
        "channel",
        "endpoints",
        "errors",
        "feedback",
        "queues",
        "reactive",
        "scenario",
        "statistics",
        "tcp",
        "units",
        "watch",
    ),
    ("_folders",),
    ("_printable",),
    ("_core",),
)
PRODUCTS = {"papers", "dialogue", "gym", "explore", "widget"}
"""Programs over the library, which could be distributions of their own; the others are it, and its command line."""
FLOOR = {room: -number for number, rooms in enumerate(FLOORS) for room in rooms}
SHARED = {"units", "errors", "_files", "_limits", "_names"}
"""May be imported from their own floor: words that every room speaks, and how files are read."""


HANDED_ON = {("tcp.py", "dialogue")}
"""Names of a room above that a module offers, too, and does not use."""


def room_of(module: str) -> str:
    """The room that has a module of the package; the package itself is its face, `__init__`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and room of each import of the package in a text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, room_of(name.name)) for name in node.names if name.name.startswith("varicap"))
        elif isinstance(node, ast.ImportFrom) and node.module == "varicap":
            for name in node.names:
                is_room = (PACKAGE / name.name).is_dir() or (PACKAGE / f"{name.name}.py").exists()
                yield node.lineno, name.name if is_room or name.name == "_core" else "__init__"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("varicap."):
            yield node.lineno, room_of(node.module or "")


def faults(files: Mapping[str, str]) -> list[str]:
    """Imports that do not run downwards, of the files of the package by their paths in it."""
    found = []
    for path, source in files.items():
        here = path.partition("/")[0].removesuffix(".py")
        for line, there in imports(source):
            is_level = there in SHARED and here not in SHARED
            if here != there and (path, there) not in HANDED_ON and not FLOOR[there] < FLOOR[here] + is_level:
                found.append(f"{path}:{line} imports {there}, which is not below {here}")
    return found


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}


def test_every_room_has_its_floor(files: dict[str, str]) -> None:
    rooms = {path.partition("/")[0].removesuffix(".py") for path in files}
    assert rooms | {"_core"} == set(FLOOR), "a new room is written down in FLOORS"


def test_no_import_runs_upwards_or_in_a_circle(files: dict[str, str]) -> None:
    assert faults(files) == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        (
            "results/result.py",
            "def figure():\n    from varicap.report import draw",
            "report, which is not below results",
        ),
        ("statistics/interval.py", "from varicap.papers.verdict import Value", "papers, which is not below statistics"),
        ("papers/run.py", "import varicap", "__init__, which is not below papers"),
        ("engines/sim.py", "from varicap import study", "study, which is not below engines"),
        ("study/work.py", "from varicap.machine import bench", "machine, which is not below study"),
    ],
)
def test_an_import_that_runs_upwards_is_found(path: str, source: str, complaint: str) -> None:
    (fault,) = faults({path: source})
    assert fault.endswith(complaint)


@pytest.mark.parametrize(
    "source", ["from varicap import _core, units", "import varicap._core as _core", "from varicap.errors import X"]
)
def test_what_stands_below_may_be_imported(source: str) -> None:
    assert faults({"engines/sim.py": source}) == []


def private(source: str, here: str) -> Iterator[tuple[int, str]]:
    """Line and name of each import of the library in a text of the product `here` that is not public."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            module, names = node.module or "", [name.name for name in node.names]
        elif isinstance(node, ast.Import):
            module, names = ".".join(name.name for name in node.names), []
        else:
            continue
        is_ours = module.partition(".")[0] == "varicap" and room_of(module) != here
        if is_ours and any(part.startswith("_") and not part.endswith("__") for part in [*module.split("."), *names]):
            yield node.lineno, ".".join([module, *names])


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("from varicap._files import read_whole", 1),
        ("def read():\n    import varicap._core as _core", 1),
        ("from varicap.report.look import _Curve", 1),
        ("from varicap import _core", 1),
        ("from varicap.interface import Folder, __version__", 0),
        ("from varicap.papers._faults import near", 0),
        ("from collections import _chain", 0),
    ],
)
def test_an_import_that_is_not_public_is_found(source: str, number: int) -> None:
    assert len([*private(source, "papers")]) == number


def test_products_import_only_public_names_of_the_library(files: dict[str, str]) -> None:
    found: dict[str, str] = {}
    for path, source in files.items():
        here = path.partition("/")[0].removesuffix(".py")
        if here in PRODUCTS:
            found |= {f"{path}:{line}": name for line, name in private(source, here)}
    assert found == {}, "varicap.interface has what has no other public place"


def test_the_library_does_without_its_products(files: dict[str, str]) -> None:
    faces = {"__init__", "__main__", "cli"}
    found = []
    for path, source in files.items():
        here = path.partition("/")[0].removesuffix(".py")
        for line, there in imports(source):
            if there in PRODUCTS and here not in PRODUCTS | faces and (path, there) not in HANDED_ON:
                found.append(f"{path}:{line} imports {there}")
    assert found == []


def test_modules_do_not_import_each_other_in_a_circle(files: dict[str, str]) -> None:
    """Not within a room either, so that each module can be read after those that it needs."""
    names = {_module(path): path for path in files}
    needs = {module: _needed(files[path], set(names)) - {module} for module, path in names.items()}
    for path, room in HANDED_ON:
        needs[_module(path)] -= {f"varicap.{room}"}
    while ready := [module for module, needed in needs.items() if not needed & needs.keys()]:
        for module in ready:
            del needs[module]
    # What is left are circles and modules that need one.
    assert not needs, f"{len(needs)} modules, among them {sorted(needs)[:8]}"


def _module(path: str) -> str:
    return ".".join(["varicap", *path.removesuffix(".py").removesuffix("/__init__").split("/")]).removesuffix(
        ".__init__"
    )


def _needed(source: str, modules: set[str]) -> set[str]:
    """The modules that a text imports; of a package that only hands a name on, the package."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{name.name}" for name in node.names}
            found |= whole & modules or {node.module}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return (found & modules) - {"varicap"}


def test_a_name_is_public_at_its_home_and_in_one_more_place_at_most(files: dict[str, str]) -> None:
    """The reference could not tell which of two doors is the name's own."""
    doors: dict[tuple[str, str], list[str]] = {}
    for path in files:
        places = path.removesuffix(".py").removesuffix("/__init__").split("/")
        if any(place.startswith("_") for place in places):
            continue
        module = ".".join(["varicap", *places])
        here = import_module(module)
        for name in getattr(here, "__all__", ()):
            home = getattr(getattr(here, name), "__module__", module)
            if home != module:
                doors.setdefault((home, name), []).append(module)
    assert not {name: places for name, places in doors.items() if len(places) > 1}


@pytest.mark.parametrize("listing", sorted(ROOT.glob("crates/*/tests/all.rs")), ids=lambda path: path.parts[-3])
def test_every_file_of_rust_tests_is_in_the_program_that_runs_them(listing: Path) -> None:
    listed = re.findall(r"^mod (\w+);$", listing.read_text(), re.M)
    files = {file.stem for file in listing.parent.glob("*.rs")} - {"all"}
    assert files <= set(listed), "what no line names is never run"


@pytest.mark.parametrize("package", sorted(ROOT.glob("crates/**/Cargo.toml")), ids=lambda path: path.parent.name)
def test_every_program_of_rust_tests_is_run(package: Path) -> None:
    described = tomllib.loads(package.read_text())
    left_out = [program["name"] for program in described.get("test", []) if not program.get("test", True)]
    assert not left_out, "`cargo test --tests` runs those alone that are not left out"


def test_tests_in_real_time_are_no_part_of_make_test() -> None:
    def commands(target: str) -> str:
        shown = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=True)
        return shown.stdout

    programs = {file.stem: file.read_text() for file in ROOT.glob("crates/varicap-testbed/tests/*.rs")}
    for name, text in programs.items():
        assert text.count("#[test]") == text.count('#[ignore = "in real time: make test-real-time"]'), name
        assert f"--test {name} " in commands("test-real-time")
    assert '-m "not real_time"' in commands("test-python")
    assert "make test-real-time" in (ROOT / ".ci/run").read_text().splitlines()


LAYER = ("_files.py", "_folders.py")
"""Where files and folders are opened."""
OWN = {
    "what is part of the package": {
        *("laboratory.py built.read_text", "papers/__init__.py ….iterdir", "papers/__init__.py source.read_text"),
        *(
            "papers/claims.py file.read_text",
            "papers/conclusions.py source.read_text",
            "papers/record.py file.read_text",
            "papers/words.py file.read_text",
            "report/web/document.py ….read_text",
            "templates/__init__.py ….read_text",
        ),
        *("templates/__init__.py _HERE.glob", "validate/paths.py ….read_text", "widget.py ….read_text"),
        *("evaluate/criteria.py ….read_text", "falsify/bounds.py ….iterdir", "falsify/bounds.py ….read_text"),
    },
    "what the kernel says in /proc": {
        *("machine/doctor.py _CONTROLS.read_text", "results/manifest.py ….read_text"),
        *("policies/onnx_worker.py ….read_text", "engines/guests.py ….read_text"),
    },
    "inside a guest": {"engines/kernel_guest.py open", "engines/kernel_guest.py os.open"},
    "into memory": {
        *(
            "papers/book.py book.savefig",
            "papers/reproduce.py ….savefig",
            "report/fitted.py drawn.savefig",
            "report/look.py self.savefig",
        ),
        *("terminal.py drawn.savefig", "results/tables.py pq.write_table", "study/store.py stream.write_table"),
        "policies/__init__.py np.save",
    },
    "a file that the layer has opened": {
        *(
            "results/saved.py pq.read_schema",
            "results/unpacked.py pq.ParquetFile",
            "policies/__init__.py zipfile.ZipFile",
        ),
        "policies/__init__.py archive.open",
    },
    "the layer opens it: finished work": {
        *("results/unfinished.py pieces.open", "results/unfinished.py ….open"),
        *("study/__init__.py store.open", "study/growing.py store.open"),
    },
    "a temporary folder that nobody else may enter": {
        *("widget.py beside.mkdir", "widget.py ….mkdir", "widget.py target.write_bytes", "widget.py shutil.rmtree"),
    },
    "a program that draws calls it": {"report/look.py ….savefig"},
    "a browser": {"cli/explore.py webbrowser.open"},
}
"""What is opened elsewhere, by the reason why it may be."""
BUILT = "kernels/"
"""The sources of kernels, which whoever builds one names and runs, and the folder in which they are built."""
METHODS = {
    *("open", "read_text", "write_text", "read_bytes", "write_bytes", "unlink", "rename", "rmdir", "mkdir", "touch"),
    *("symlink_to", "hardlink_to", "chmod", "glob", "rglob", "iterdir", "savefig", "tofile"),
    *("write_table", "read_table", "read_schema", "ParquetFile", "ParquetWriter", "OSFile", "memory_map"),
}
MODULES = {
    "os": {
        *("open", "remove", "unlink", "rename", "replace", "mkdir", "makedirs", "rmdir", "link", "symlink", "listdir"),
        *("scandir", "walk", "fwalk", "truncate", "chmod", "mkfifo"),
    },
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move", "rmtree"},
    "np": {"load", "save", "savez", "savetxt", "loadtxt", "genfromtxt", "fromfile", "memmap"},
    "io": {"open", "FileIO"},
    "zipfile": {"ZipFile"},
    "gzip": {"open"},
    "tempfile": {"NamedTemporaryFile", "mkstemp"},
}


def openings(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of each call in a text that opens, makes, moves or removes a file or a folder."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in ("open", "FileIO", "ZipFile"):
            yield node.lineno, node.func.id
        elif isinstance(node.func, ast.Attribute):
            name, of = node.func.attr, node.func.value
            module = of.id if isinstance(of, ast.Name) else ""
            # A text has two arguments to replace, and a dataclass names them.
            is_move = name == "replace" and len(node.args) == 1
            is_method = name in METHODS and module not in MODULES
            if is_move or is_method or name in MODULES.get(module, ()):
                yield node.lineno, f"{module or '…'}.{name}"


@pytest.mark.parametrize(
    "source",
    [
        "open('a')",
        "path.open('w')",
        "(folder / name).write_text('')",
        "Path(a).rename(b)",
        "path.replace(other)",
        "pq.write_table(rows, path)",
        "np.load(path)",
        "os.listdir(path)",
        "shutil.rmtree(path)",
        "sorted(folder.glob('*'))",
        "figure.savefig(path)",
        "zipfile.ZipFile(path)",
    ],
)
def test_what_opens_a_file_is_found(source: str) -> None:
    assert len([*openings(source)]) == 1


@pytest.mark.parametrize("source", ["text.replace('a', 'b')", "replace(run, effort=2)", "folder.write(name, b'')"])
def test_what_opens_no_file_is_left_alone(source: str) -> None:
    assert [*openings(source)] == []


def test_files_and_folders_that_others_made_are_opened_in_one_place(files: dict[str, str]) -> None:
    """Where each module guards itself, the next one forgets."""
    guarded = [path for path in files if path not in LAYER and not path.startswith(BUILT)]
    found = {f"{path} {call}": line for path in guarded for line, call in openings(files[path])}
    known = set().union(*OWN.values())
    strange = {f"{call} (line {line})" for call, line in found.items() if call not in known}
    assert strange == set(), "varicap._folders and varicap._files read and write"
    assert known - found.keys() == set(), "what is not there any more needs no reason"
