"""The documents: their code does what they show, and what they name is there."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer.main
from documents import ROOT, Page, Table, blocks, dialogue, matches, pages, prepare, tables
from patience import HANG_S

from varicap import kernels
from varicap.cli import app

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
GENERATED = [DOCS / f"reference/{page}.md" for page in ("api/index", "commands", "results")]
GENERATED += [DOCS / f"notebooks/{file.stem}.md" for file in (ROOT / "examples/notebooks").glob("*.ipynb")]
GENERATED_HERE = [DOCS / f"reference/{name}.md" for name in ("scenario", "commands", "results")]
RUN = [
    ROOT / "README.md",
    DOCS / "start/tutorial.md",
    DOCS / "design.md",
    DOCS / "reserved.md",
    *sorted(DOCS.glob("guides/*.md")),
    *sorted(DOCS.glob("background/*.md")),
]


BUILDS_A_KERNEL = [DOCS / "guides/kernel-patch.md"]


def why_no_kernel() -> str | None:
    """Why no patched kernel can be built here within a test; where ccache has seen such a kernel it takes a minute."""
    try:
        origin = kernels.find("6.12").origin
    except kernels.NoKernelError as error:
        return str(error)
    if not origin.startswith(kernels.PACKAGE):
        return f"the kernel is not of {kernels.PACKAGE}: {origin}"
    return None if shutil.which("ccache") else "a second kernel takes ten minutes without ccache"


def ids(file: Path) -> str:
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("file", RUN, ids=ids)
def test_the_code_of_a_page_does_what_it_shows(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if file in BUILDS_A_KERNEL and (why := why_no_kernel()):
        pytest.skip(f"SKIPPED: {why}")
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    Page(file, tmp_path).run()
    for written in re.findall(r"`(varicap-out/[\w/.-]+)`", file.read_text()):
        assert (tmp_path / written).is_file(), f"{written} is not written"


TABLES = [table for page in pages() if page not in GENERATED_HERE for table in tables(page)]
OF_NO_MEASUREMENT = [DOCS / "background/notation.md"]
"""Versions, and units of 1."""


def of_table(table: Table) -> str:
    return f"{ids(table.file)}:{table.line + 1}"


@pytest.mark.parametrize("table", [table for table in TABLES if table.command and not table.date], ids=of_table)
def test_the_numbers_of_a_table_are_those_of_its_command(table: Table) -> None:
    table.check()


@pytest.mark.parametrize("table", [table for table in TABLES if table.file not in OF_NO_MEASUREMENT], ids=of_table)
def test_a_table_of_numbers_says_where_they_are_from(table: Table) -> None:
    assert table.command or not table.has_numbers, "numbers: COMMAND, or measured DATE: COMMAND, above the table"


def test_numbers_that_have_changed_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("documents.PUBLISH", False)
    (tmp_path / "shown.py").write_text('print("| a | ours | theirs |\\n|---|---|---|\\n| x | 1.25 | |")')
    page = tmp_path / "page.md"
    page.write_text(
        f"<!-- numbers: {tmp_path}/shown.py -->\n\n| a | ours | theirs |\n|---|---|---|\n| x | 1.24 | 7 |\n"
    )
    (table,) = tables(page)
    assert table.has_numbers
    with pytest.raises(AssertionError, match=r"now x \| 1.25 \| 7"):
        table.check()
    page.write_text(page.read_text().replace("1.24", "1.25"))
    (table,) = tables(page)
    table.check()


@pytest.mark.parametrize("file", pages(), ids=ids)
def test_python_in_a_page_is_python(file: Path) -> None:
    for block in blocks(file):
        if block.language == "python":
            compile("\n" * block.line + "\n".join(block.lines), file, "exec")


@pytest.mark.parametrize("file", [page for page in pages() if page not in GENERATED_HERE], ids=ids)
def test_lines_of_a_page_fit_into_120_columns(file: Path) -> None:
    code = {line for block in blocks(file) for line in range(block.line, block.line + len(block.lines))}
    text = file.read_text()
    assert text.endswith("\n"), "the last line is a line"
    for number, line in enumerate(text.splitlines()):
        if number in code or line.lstrip().startswith("|"):
            continue
        # An address cannot be broken over lines.
        words = re.sub(r"\]\([^)]*\)|https?://\S+", "", line)
        assert len(words) <= 120, f"{file.name}:{number + 1} has {len(words)} columns"


@pytest.mark.parametrize("file", sorted({*DOCS.glob("*.md")} - {DOCS / "index.md"}), ids=ids)
def test_each_topic_is_named_where_readers_begin(file: Path) -> None:
    begin = (ROOT / "README.md").read_text() + (DOCS / "index.md").read_text()
    assert f"docs/{file.name}" in begin or f"({file.name})" in begin


@pytest.mark.skipif(not find_spec("sphinx"), reason="Sphinx is not installed: `make docs` brings it")
def test_the_site_has_no_warning_and_fetches_nothing() -> None:
    # Where `make docs` builds it, so that only what has changed is built again.
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "--quiet", str(DOCS), str(DOCS / "_build/html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    fetched = re.compile(r"""<(?:script|img|link)[^>]*(?:src|href)=["'](?:https?:)?//""")
    for page in [DOCS / "_build/html/index.html", DOCS / "_build/html/background/statistics.html"]:
        assert not fetched.search(page.read_text())


def test_what_is_shown_must_be_what_is_printed() -> None:
    assert matches(["a", "b"], ["a", "b"])
    assert matches(["a", "…", "z"], ["a", "b", "c", "z"])
    assert not matches(["a 0.70"], ["a 0.71"])
    assert matches(["page (… MB)"], ["page (0.2 MB)"])
    assert not matches(["a", "…"], ["b"])


@pytest.mark.parametrize("file", pages(), ids=ids)
def test_commands_in_a_page_exist(file: Path) -> None:
    for line in commands(file):
        words = shlex.split(line, comments=True)
        command: Any = typer.main.get_command(app)
        path, *rest = words
        while rest and rest[0] in getattr(command, "commands", {}):
            path, command = f"{path} {rest[0]}", command.commands[rest.pop(0)]
        # `varicap design FILE` is a command without a name of its own.
        command = command.commands[command.fallback] if hasattr(command, "fallback") else command
        known = {way for option in command.params for way in [*option.opts, *option.secondary_opts]} | {"--help", "-h"}
        given = rest[: rest.index("--")] if "--" in rest else rest
        for word in given:
            if re.match(r"--?[a-z]", word):
                assert word.partition("=")[0] in known, f"{path} has no {word}: {line}"


def commands(file: Path) -> Iterator[str]:
    """The calls of varicap in a page."""
    for block in blocks(file):
        if block.language in ("sh", "console", "bash"):
            text = "\n".join(line.removeprefix("$ ") for line in block.lines if block.language != "console")
            if block.language == "console":
                text = "\n".join(command for command, _ in dialogue(block))
            for line in re.split(r"\n|&&|\|", text.replace("\\\n", " ")):
                call = re.sub(r"^\s*(\.venv/bin/)?", "", line)
                if re.match(r"varicap [a-z]", call):
                    yield call


@pytest.mark.parametrize("file", pages(), ids=ids)
def test_what_a_page_names_is_there(file: Path) -> None:
    text = file.read_text()
    named = re.findall(r"`((?:crates|python|tests|tools|examples|docs|schema)/[\w/.*-]+)`", text)
    for name in named:
        if not re.search(r"NAME|KEY|\*", name):
            assert (ROOT / name).exists() or name.startswith("docs/_build"), f"{name} is not there"
    for name in re.findall(r"`(varicap(?:\.[A-Za-z_]\w*)+)`", text):
        assert resolves(name), f"{name} is not there"
    linked = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
    for link in linked:
        target = (file.parent / link).resolve()
        assert target.exists() or target in GENERATED, f"{link} is not there"


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    if "._core" in name:
        return True
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            thing: Any = import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            if not hasattr(thing, part) and part not in getattr(thing, "__annotations__", {}):
                return False
            thing = getattr(thing, part, None)
        return True
    return False


@pytest.mark.parametrize("file", sorted(DOCS.glob("guides/*.md")), ids=ids)
def test_rust_that_a_guide_quotes_is_in_the_file_that_it_names(file: Path) -> None:
    for block in blocks(file):
        if block.language == "rust" and block.lines[0].startswith("// crates/"):
            source = (ROOT / block.lines[0].removeprefix("// ")).read_text()
            lines = {line.strip() for line in source.splitlines()}
            missing = [line for line in block.lines[1:] if line.strip() and line.strip() not in lines]
            assert not missing, f"not in {block.lines[0]}"
