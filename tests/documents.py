"""The code of a page: commands and Python run as a reader would run them, what they print compared with what is shown.

`$ command` in a ``console`` block is run by a shell; the lines below it are what it prints, where a line `…` stands for
any number of lines, and a … in a line for anything.  A ``python`` block runs where the ones before it left off; a
``text`` block right below shows what it prints.  A block below "Save this as `NAME`:" is a file.  Under
VARICAP_PUBLISH=1 what is shown is written anew, except where it has a `…`.

A table of numbers has a comment above it that says where they are from:

    <!-- numbers: COMMAND -->         the command prints them, run now; cells that it leaves empty are of somebody else
    <!-- measured DATE: COMMAND -->   they depend on the machine or its kernel, and were measured on that day
"""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from patience import HANG_S

ROOT = Path(__file__).resolve().parent.parent
_UNIT = r"( ?(%|ns|µs|us|ms|s|MB|packets?|[kM]b/s))?"
NUMBER = re.compile(rf"[+-]?\d[\d,]*(\.\d+)?( ± [\d.]+)?(( to | → | of )[\d.,]+)?{_UNIT}(, in a minute)?")
SAID = re.compile(r"<!-- (?:numbers|measured (?P<date>\d{4}-\d{2}-\d{2})): (?P<command>.+) -->")
SAVE_AS = re.compile(r"Save this as `([^`]+)`")
PUBLISH = "VARICAP_PUBLISH" in os.environ


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    lines: list[str]
    line: int
    """Line of the page on which it begins, from 0, the fence not counted."""
    above: str
    """The paragraph just above, if there is one."""


@dataclass(frozen=True)
class Shown:
    """What a page says that something prints."""

    what: str
    lines: list[str]
    line: int


@dataclass
class Page:
    """A page that is being tried in a folder of its own."""

    file: Path
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    news: list[tuple[Shown, list[str]]] = field(default_factory=list)

    def run(self) -> None:
        """Run everything on it, in order."""
        page = blocks(self.file)
        for block, after in zip_longest(page, page[1:]):
            if saved := SAVE_AS.search(block.above):
                (self.folder / saved[1]).write_text("\n".join(block.lines) + "\n")
            elif block.language == "console":
                for command, shown in dialogue(block):
                    self.compare(shown, self.shell(command))
            elif block.language == "python":
                printed = self.python(block)
                if after and after.language == "text" and not after.above:
                    self.compare(Shown(f"the code in line {block.line}", after.lines, after.line), printed)
        if PUBLISH:
            self.publish()

    def shell(self, command: str) -> list[str]:
        """What a command prints, messages included, as on a terminal."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", recipe(command)],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=HANG_S,
        )
        assert done.returncode in (0, 2), f"{command}: exit code {done.returncode}\n{done.stdout}"
        return [line.rstrip() for line in done.stdout.splitlines()]

    def python(self, block: Block) -> list[str]:
        """What a block of Python prints."""
        printed = io.StringIO()
        source = "\n" * block.line + "\n".join(block.lines)
        with redirect_stdout(printed):
            exec(compile(source, self.file, "exec"), self.names)
        return [line.rstrip() for line in printed.getvalue().splitlines()]

    def compare(self, shown: Shown, printed: list[str]) -> None:
        """Nothing shown is nothing claimed."""
        if not any(shown.lines) or matches(shown.lines, printed):
            return
        if PUBLISH and "…" not in "".join(shown.lines):
            self.news.append((shown, printed))
            return
        said, got = "\n".join(shown.lines), "\n".join(printed)
        where = f"{self.file.relative_to(ROOT)}:{shown.line + 1}"
        raise AssertionError(
            f"{where}: {shown.what} prints\n{got}\nand not\n{said}\n(VARICAP_PUBLISH=1 writes it anew)"
        )

    def publish(self) -> None:
        """Write what was printed into the page."""
        lines = self.file.read_text().split("\n")
        for shown, printed in sorted(self.news, key=lambda news: -news[0].line):
            lines[shown.line : shown.line + len(shown.lines)] = printed
        self.file.write_text("\n".join(lines))


@dataclass(frozen=True)
class Table:
    """A table of a page, and what is said of its numbers."""

    file: Path
    line: int
    """Line of the page on which it begins, from 0."""
    rows: list[list[str]]
    """Its cells, headings first; the line below them is left out."""
    command: str
    """What prints its numbers; nothing if nothing was said."""
    date: str
    """On which they were measured; nothing where they are computed anew."""

    @property
    def has_numbers(self) -> bool:
        """Whether a column but the first has measured values: numbers alone, perhaps with an interval or a unit."""
        return any(NUMBER.fullmatch(cell) for row in self.rows[1:] for cell in row[1:])

    def check(self) -> None:
        """Compare it with what its command prints, or write that into the page."""
        words = shlex.split(self.command)
        done = subprocess.run(
            [sys.executable, *words] if words[0].endswith(".py") else [sys.executable, "-m", *words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )
        assert done.returncode == 0, done.stderr
        printed = [cells(line) for line in done.stdout.splitlines() if line.startswith("|")]
        found = [row for place, row in enumerate(printed) if place != 1]
        assert [len(row) for row in found] == [len(row) for row in self.rows], f"{self.command} prints another table"
        new = [
            [mine or theirs for mine, theirs in zip(ours, row, strict=True)]
            for ours, row in zip(found, self.rows, strict=True)
        ]
        if new == self.rows:
            return
        if PUBLISH:
            lines = self.file.read_text().split("\n")
            for place, row in enumerate(new):
                lines[self.line + place + (place > 0)] = f"| {' | '.join(row)} |".replace("|  |", "| |")
            self.file.write_text("\n".join(lines))
            return
        differ = "\n".join(
            f"{' | '.join(old)}\n  now {' | '.join(row)}" for old, row in zip(self.rows, new, strict=True) if old != row
        )
        where = f"{self.file.name}:{self.line + 1}"
        raise AssertionError(f"{where}: `{self.command}` prints\n{differ}\n(VARICAP_PUBLISH=1 writes it anew)")


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def tables(file: Path) -> list[Table]:
    """The tables of a page, outside of its code."""
    lines = file.read_text().splitlines()
    code = {line for block in blocks(file) for line in range(block.line, block.line + len(block.lines))}
    found, start = [], 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end].startswith("|") and end not in code:
            end += 1
        if end - start > 2:
            above = next((line for line in reversed(lines[:start]) if line.strip()), "")
            said = SAID.fullmatch(above.strip())
            rows = [cells(line) for line in [lines[start], *lines[start + 2 : end]]]
            found.append(
                Table(file, start, rows, said["command"] if said else "", (said["date"] or "") if said else "")
            )
        start = max(end, start + 1)
    return found


def pages() -> list[Path]:
    """Everything that the project says in Markdown."""
    # Of what is built: the site, and the pages of notebooks.
    built = {"_build", "notebooks"}
    return sorted([*ROOT.glob("*.md"), *(file for file in ROOT.glob("docs/**/*.md") if not built & {*file.parts})])


def blocks(file: Path) -> list[Block]:
    """The fenced blocks of a page."""
    found, above = [], ""
    for token in MarkdownIt().parse(file.read_text()):
        if token.type == "fence" and token.map:
            found.append(Block(token.info.strip(), token.content.splitlines(), token.map[0] + 1, above))
        if token.type in ("inline", "fence"):
            above = token.content if token.type == "inline" else ""
    return found


def dialogue(block: Block) -> Iterator[tuple[str, Shown]]:
    """The commands of a console block, each with what it is said to print."""
    lines = list(enumerate(block.lines, block.line))
    while lines:
        _, command = lines.pop(0)
        assert command.startswith("$ "), f"a console block begins with a command: {command!r}"
        while command.endswith("\\"):
            command = f"{command[:-1].rstrip()} {lines.pop(0)[1].strip()}"
        shown = []
        start = lines[0][0] if lines else 0
        while lines and not lines[0][1].startswith("$ "):
            shown.append(lines.pop(0)[1])
        yield command[2:], Shown(f"`{command[2:]}`", shown, start)


def recipe(command: str) -> str:
    """Of `make TARGET` what it prints and does after the setup; any other command as it is."""
    if not command.startswith("make "):
        return command
    target = command.removeprefix("make ")
    rules = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert rules, f"the Makefile has no target {target}"
    lines = ["set -e"]
    for rule in rules[1].replace("$(BIN)", ".venv/bin").replace("$(OUT)", "varicap-out").splitlines():
        step = rule.strip()
        if not step.startswith("@"):
            lines.append(f"echo {shlex.quote(step)}")
        lines.append(step.removeprefix("@"))
    return "\n".join(lines)


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether these lines are those, `…` standing for any lines, or for anything within a line."""

    def line_pattern(line: str) -> str:
        return ".*".join(re.escape(part) for part in line.split("…")) + "\n"

    pattern = "".join("(?:.*\n)*?" if line.strip() == "…" else line_pattern(line) for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def prepare(folder: Path) -> None:
    """What a reader has: the examples, and the virtual environment."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / ".venv").symlink_to(sys.prefix)
