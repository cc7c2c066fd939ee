"""Names are places: what the documents name is a module of that name, with types that tools find."""

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT
from mypy import api

import varicap

NAMED = re.compile(r"\bvaricap(?:\.[a-z_]+)+(?:\.[A-Z][A-Za-z]*)?(?![\w=])")
IMPORTED = re.compile(r"^from (varicap[\w.]*) import (\w+(?:, \w+)*)$", re.M)


def documented() -> list[str]:
    """All that the documents name in the package: modules, classes and functions."""
    found = set()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        if page.is_relative_to(ROOT / "docs/reference") or "_build" in page.parts:
            continue
        text = page.read_text(encoding="utf-8")
        found |= {match.group(0) for match in NAMED.finditer(text)} | {
            f"{match.group(1)}.{name}" for match in IMPORTED.finditer(text) for name in match.group(2).split(", ")
        }
    found -= set(varicap.plugins.GROUPS)  # of entry points; `varicap.queues` is a module all the same
    return sorted(name for name in found if not name.endswith((".md", ".toml", ".pkt")))


def test_a_client_of_the_documented_names_has_types(tmp_path: Path) -> None:
    names = documented()
    assert {"varicap.run", "varicap.tcp.Sender", "varicap.design.effcap"} < set(names), "the documents are read"
    modules = sorted({module_of(name) for name in names})
    client = tmp_path / "client.py"
    client.write_text("\n".join([*(f"import {name}" for name in modules), *(f"reveal_type({name})" for name in names)]))
    said, _, code = api.run(["--strict", f"--python-executable={sys.executable}", "--config-file=", str(client)])
    assert code == 0, "\n".join(line for line in said.splitlines() if " error: " in line)
    revealed = re.findall(r'Revealed type is "(.*)"', said)
    assert len(revealed) == len(names)
    assert [name for name, kind in zip(names, revealed, strict=True) if kind == "Any"] == []


def module_of(name: str) -> str:
    """The module that a name is or belongs to: as much of it as is a place."""
    place, *below = name.split(".")
    for each in below:
        if not hasattr(import_module(place), "__path__") or find_spec(f"{place}.{each}") is None:
            break
        place = f"{place}.{each}"
    return place


@pytest.mark.parametrize("name", sorted(set(dir(varicap)) - {"__version__"}))
def test_a_public_module_is_at_the_place_that_its_name_says(name: str) -> None:
    thing = getattr(varicap, name)
    if isinstance(thing, ModuleType):
        assert thing is import_module(f"varicap.{name}")
        assert thing.__name__ == f"varicap.{name}"


def test_importing_the_package_leaves_the_import_system_alone() -> None:
    finders = {type(finder).__module__ for finder in sys.meta_path} | {
        getattr(finder, "__module__", "") for finder in sys.meta_path
    }
    assert not {name for name in finders if name.startswith("varicap")}
