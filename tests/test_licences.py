"""What the extension module links is listed with its licence, and each text is there."""

import re
import tomllib
from fnmatch import fnmatch

import licences
import pytest
from conftest import ROOT

PAGE = licences.page()


@pytest.fixture(scope="module")
def linked() -> set[tuple[str, str, str, str]]:
    """Name, version, offered and chosen licence of each crate that is linked."""
    return {(crate.name, crate.version, crate.licence, crate.chosen) for crate in licences.linked()}


def listed() -> set[tuple[str, ...]]:
    table = PAGE.partition("## Crates")[2].partition("\n\nRust's")[0]
    rows = [tuple(cell.strip() for cell in line.strip("| ").split("|")) for line in table.strip().splitlines()[2:]]
    return set(rows)


def test_every_linked_crate_is_listed(linked: set[tuple[str, str, str, str]]) -> None:
    assert len(linked) > 40
    assert listed() == linked


def test_listed_versions_are_locked() -> None:
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    assert {row[:2] for row in listed()} <= {(crate["name"], crate["version"]) for crate in locked}


def test_the_text_of_each_licence_is_there() -> None:
    owners = {name for line in re.findall(r"^### (.+)$", PAGE, re.M) for name in line.split(", ")}
    missing = {row[0] for row in listed() if row[3] != "Apache-2.0"} - owners
    assert not missing
    for words in ("GNU LESSER GENERAL PUBLIC LICENSE", "GNU GENERAL PUBLIC LICENSE", "Boost Software License"):
        assert words in PAGE
    assert "Apache License" in (ROOT / "LICENSE-APACHE").read_text()


def test_python_packages_of_a_plain_installation_are_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[^\w-]", line)[0] for line in project["dependencies"]}
    assert all(f"\n| {name} | " in PAGE for name in names)
    assert "not stated" not in PAGE


def test_wheels_carry_the_list() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = ("LICENSE-MIT", "LICENSE-APACHE", licences.PAGE.name)
    carried = [name for name in named if any(fnmatch(name, pattern) for pattern in project["license-files"])]
    assert len(carried) == 3
    assert "tools/licences.py" in (ROOT / "tools/build_wheels.sh").read_text()


def test_what_runs_in_the_kernel_has_a_licence_that_linux_accepts_and_the_pages_name() -> None:
    """Linux refuses congestion controls in BPF without it: the word in the object is what it looks at."""
    folder = ROOT / "crates" / "varicap-testbed" / "bpf"
    for source in ("ratcp.bpf.c", "kernel.h"):
        assert (folder / source).read_text().startswith("/* SPDX-License-Identifier: GPL-2.0 */\n")
    assert 'SEC("license") = "GPL";' in (folder / "ratcp.bpf.c").read_text()
    assert b"GPL\0" in (folder / "ratcp.bpf.o").read_bytes()
    assert "RATCP in the kernel is varicap's own and is under GPL-2.0 alone" in PAGE
    readme = (ROOT / "README.md").read_text().partition("## Licence")[2]
    assert "`crates/varicap-testbed/bpf`), which is under GPL-2.0" in readme


def test_what_is_added_to_a_kernel_is_under_its_licence() -> None:
    added = [path for path in (ROOT / "python/varicap/kernels/source/arch").rglob("*") if path.is_file()]
    assert len(added) > 8
    for path in added:
        assert path.read_text().splitlines()[0].strip("/*# ") == "SPDX-License-Identifier: GPL-2.0", path
    assert "`python/varicap/kernels/source`" in PAGE
