"""Writes THIRD_PARTY.md, which wheels carry: what the extension module links, and under which licences.

    python tools/licences.py

Cargo knows the crates (with the features that wheels have, on every system that has wheels); the licences' texts are
those that the crates carry.
"""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "THIRD_PARTY.md"
TARGETS = {
    "x86_64-unknown-linux-gnu": ["--features", "vendored"],
    "aarch64-apple-darwin": ["--features", "quic"],
    "x86_64-pc-windows-msvc": ["--features", "quic"],
}
CHOICES = ("Apache-2.0", "MIT", "BSD-2-Clause")
"""Where a crate offers several licences, the first of these."""
OWN = {"Apache-2.0": "LICENSE-APACHE"}
"""Texts that are in the project anyway."""
BESIDE = (
    ("libbpf", "libbpf-sys", "libbpf/LICENSE.BSD-2-Clause", "BSD-2-Clause"),
    ("zlib", "libbpf-sys", "zlib/LICENSE", "Zlib"),
    ("libelf (elfutils)", "libbpf-sys", "elfutils/COPYING-LGPLV3", "LGPL-3.0-or-later"),
    ("libelf (elfutils)", "libbpf-sys", "elfutils/COPYING", "GPL-3.0, to which the LGPL refers"),
    ("RATCP in the kernel", "libbpf-sys", "elfutils/COPYING-GPLV2", "GPL-2.0"),
)
"""What is no crate: name, the crate that has the text, its file, the licence."""
HEAD = """\
# Third-party software

varicap itself is under the MIT or the Apache-2.0 licence, at your choice. Its extension module also contains the
software listed here, each part under its own licence. `make licences` writes this page.

"""
LINUX = """\
## In wheels for Linux

The kernel engine needs the following, linked statically:

| part | licence | source |
|---|---|---|
| libbpf | BSD-2-Clause | in the crate libbpf-sys |
| zlib | Zlib | in the crate libbpf-sys |
| libelf (elfutils) | LGPL-3.0-or-later, or GPL-2.0-or-later | in the crate libbpf-sys |

libelf may be replaced: a build from the source distribution with `--features varicap-py/bpf` links the system's.

RATCP in the kernel is varicap's own and is under GPL-2.0 alone, since Linux runs congestion controls in BPF only under
a licence that is compatible with its own. The module carries it compiled, as data that it hands to the kernel, and
links nothing of it; its source is `crates/varicap-testbed/bpf`, in each source distribution.

What varicap adds to a kernel that `varicap kernel build` makes (`python/varicap/kernels/source`, and RATCP) is under
GPL-2.0, too: it becomes part of Linux on the machine of whoever builds one. Packages carry it as text, and no kernel.

"""
PYTHON = """\
## Python packages

Not part of a wheel; pip installs them beside it.

| package | licence |
|---|---|
"""


@dataclass(frozen=True)
class Crate:
    """A crate that the extension module links."""

    name: str
    version: str
    licence: str
    folder: Path

    @property
    def chosen(self) -> str:
        """The licence under which it is used."""
        offered = re.split(r"\s+OR\s+|/", self.licence)
        return next((choice for choice in CHOICES if choice in offered), self.licence)

    def texts(self) -> list[str]:
        """The texts of that licence that the crate carries."""
        files = sorted(file for file in self.folder.iterdir() if re.match(r"LICEN[CS]E|COPYING|NOTICE", file.name))
        word = self.chosen.split("-")[0].upper()
        fitting = [file for file in files if word in file.name.upper() or file.name.upper().startswith("NOTICE")]
        texts = [file.read_text() for file in fitting or files]
        if not texts and self.chosen == "MIT":
            # The licence asks for its own text and a notice of copyright: whose, the manifest says.
            authors = ", ".join(tomllib.loads((self.folder / "Cargo.toml").read_text())["package"].get("authors", []))
            terms = (ROOT / "LICENSE-MIT").read_text().split("\n\n", 2)[2]
            return [f"MIT License\n\nCopyright (c) {authors or f'the authors of {self.name}'}\n\n{terms}"]
        if not texts:
            raise SystemExit(f"licences: {self.name} carries no text of its licence, {self.licence}")
        return texts


@cache
def linked() -> tuple[Crate, ...]:
    """The crates of others that the extension module links on some system, in order."""
    found = {crate for target, features in TARGETS.items() for crate in _linked(target, features)}
    return tuple(sorted(found, key=lambda crate: (crate.name, crate.version)))


def _linked(target: str, features: list[str]) -> Iterator[Crate]:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target, *features]
    done = subprocess.run(command, cwd=ROOT / "crates/varicap-py", capture_output=True, text=True, check=True)
    world: dict[str, Any] = json.loads(done.stdout)
    packages = {package["id"]: package for package in world["packages"]}
    needs = {node["id"]: node["deps"] for node in world["resolve"]["nodes"]}
    waiting, seen = [name for name in packages if packages[name]["name"] == "varicap-py"], set[str]()
    while waiting:
        package = packages[waiting.pop()]
        runs_in_compiler = any("proc-macro" in kind["kind"] for kind in package["targets"])
        if package["id"] in seen or runs_in_compiler:
            continue
        seen.add(package["id"])
        if package["source"]:
            folder = Path(package["manifest_path"]).parent
            yield Crate(package["name"], package["version"], package["license"], folder)
        needed = needs[package["id"]]
        waiting += [each["pkg"] for each in needed if any(kind["kind"] is None for kind in each["dep_kinds"])]


def python_packages() -> dict[str, str]:
    """What `varicap[plot]` brings, here, and the licences that its packages state."""
    found: dict[str, str] = {}
    waiting = [Requirement(line).name for line in _dependencies()]
    while waiting:
        name = waiting.pop().lower()
        if name in found:
            continue
        try:
            about = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue  # for another system or version of Python
        found[name] = _licence(about)
        needs = [Requirement(line) for line in metadata.requires(name) or []]
        waiting += [need.name for need in needs if not need.marker or need.marker.evaluate({"extra": ""})]
    return dict(sorted(found.items()))


def _dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["plot"]]


def _licence(about: Any) -> str:
    stated = about.get("License-Expression")
    if stated:
        return str(stated)
    names = [line.split(" :: ")[-1] for line in about.get_all("Classifier", []) if line.startswith("License ::")]
    return ", ".join(names) or str(about.get("License") or "not stated").partition("\n")[0]


def page() -> str:
    """The whole page."""
    crates = linked()
    rows = "".join(f"| {crate.name} | {crate.version} | {crate.licence} | {crate.chosen} |\n" for crate in crates)
    table = f"## Crates\n\n| crate | version | licence | used under |\n|---|---|---|---|\n{rows}\n"
    std = "Rust's standard library, which is MIT OR Apache-2.0, is used under Apache-2.0.\n\n"
    chart = "Reports contain uPlot (MIT); its licence is `python/varicap/report/web/assets/uPlot.LICENSE`.\n\n"
    python = PYTHON + "".join(f"| {name} | {licence} |\n" for name, licence in python_packages().items())
    return HEAD + table + std + chart + LINUX + python + "\n" + _texts(crates)


def _texts(crates: tuple[Crate, ...]) -> str:
    """Each text once, below the names of the parts that it belongs to."""
    owners: dict[str, list[str]] = {}
    for crate in crates:
        if crate.chosen not in OWN:
            for text in crate.texts():
                owners.setdefault(_clean(text), []).append(crate.name)
    folder = {crate.name: crate.folder for crate in crates}
    for name, carrier, file, licence in BESIDE:
        owners.setdefault(_clean((folder[carrier] / file).read_text()), []).append(f"{name} ({licence})")
    parts = [f"### {', '.join(names)}\n\n````text\n{text}\n````\n" for text, names in owners.items()]
    return "## Texts\n\nThe text of Apache-2.0 is in `LICENSE-APACHE`.\n\n" + "\n".join(parts)


def _clean(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.replace("\f", "").strip().splitlines())


if __name__ == "__main__":
    PAGE.write_text(page())
