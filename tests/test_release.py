"""What a release is made of agrees with the project, and its parts with each other."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import project_urls
import pytest
import typer.main
import yaml
from conftest import ROOT

from varicap.cli import app

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
WORKFLOWS = ROOT / ".github/workflows"
PACKAGING = ROOT / "packaging"


def test_the_citation_is_of_this_version() -> None:
    """Archives such as Zenodo read it, too."""
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION


def test_conda_has_the_dependencies_of_the_project() -> None:
    recipe = (PACKAGING / "conda/meta.yaml").read_text()
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    named = {re.sub(r"\s+", "", line).removeprefix("-") for line in run.splitlines() if "#" not in line}
    plot = {line.replace("matplotlib", "matplotlib-base") for line in PROJECT["optional-dependencies"]["plot"]}
    assert named == {*PROJECT["dependencies"], *plot, f"python{PROJECT['requires-python']}"}
    assert "version" in re.findall(r"Cargo.toml\", '\^(\w+) =", recipe)


@pytest.mark.parametrize("file", sorted(WORKFLOWS.glob("*.yml")), ids=lambda file: file.name)
def test_a_workflow_calls_what_is_there(file: Any) -> None:
    jobs = yaml.safe_load(file.read_text())["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    for command in (step["run"] for step in steps if "run" in step):
        for name in re.findall(r"(?:tools|\.ci)/[\w./-]+", command):
            assert (ROOT / name).exists(), f"{name} is not there"
        for target in re.findall(r"(?<!\w)make (\w+)", command):
            assert f"\n{target}:" in (ROOT / "Makefile").read_text()


def test_a_release_is_published_from_a_tag_and_only_after_every_package_was_tried() -> None:
    jobs = yaml.safe_load((WORKFLOWS / "release.yml").read_text())["jobs"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert jobs["publish"]["if"] == "github.ref_type == 'tag'"
    assert [job for job in jobs if "permissions" in jobs[job]] == ["publish"]


def test_each_package_of_a_release_has_the_page_for_browsers() -> None:
    jobs = yaml.safe_load((WORKFLOWS / "release.yml").read_text())["jobs"]
    assert {"run": "make web"} in jobs["page"]["steps"]
    # It is built as continuous integration tests it.
    tested = yaml.safe_load((WORKFLOWS / "ci.yml").read_text())["jobs"]["web"]
    chosen = [step for step in tested["steps"] if step.get("uses", "").startswith("actions/setup-")]
    assert [step for step in jobs["page"]["steps"] if step in chosen] == chosen
    assert jobs["page"]["timeout-minutes"] == tested["timeout-minutes"]
    for name, builds in (("linux", "make wheels"), ("desktop", "maturin build")):
        steps = jobs[name]["steps"]
        page = {"name": "page", "path": "python/varicap/explore/page"}
        fetched = next(number for number, step in enumerate(steps) if step.get("with") == page)
        assert fetched < next(number for number, step in enumerate(steps) if step.get("run", "").startswith(builds))
        assert "page" in jobs[name]["needs"]


def test_wheels_are_checked_for_the_systems_whose_crates_are() -> None:
    workflow = yaml.safe_load((WORKFLOWS / "release.yml").read_text())["jobs"]
    desktop = {entry["target"] for entry in workflow["desktop"]["strategy"]["matrix"]["include"]}
    linux = set(re.findall(r"\w+-unknown-linux-\w+", (ROOT / "tools/build_wheels.sh").read_text()))
    assert linux <= set(rustup_targets(workflow["linux"]["steps"])) | {"x86_64-unknown-linux-gnu"}
    held = tomllib.loads((PACKAGING / "deny.toml").read_text())["graph"]["targets"]
    assert desktop | linux == set(held)


def rustup_targets(steps: list[dict[str, str]]) -> list[str]:
    """The targets that a job adds."""
    return [word for step in steps for word in step.get("run", "").split() if "-unknown-" in word]


def test_the_address_of_the_repository_is_written_once() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    address = "https://forge.example/somebody/varicap"
    stamped = project_urls.with_urls(project_urls.with_urls(text, "https://old.example/a/b"), address)
    expected = {"Source": address, "Issues": f"{address}/issues"}
    found = tomllib.loads(stamped)
    assert found["project"].pop("urls").items() >= expected.items()
    assert found == {**tomllib.loads(text), "project": found["project"]}
    assert found["project"] == {name: value for name, value in PROJECT.items() if name != "urls"}


@pytest.mark.parametrize("address", ["", "varicap", "http://a.example/b", 'https://a.example/"b'])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(SystemExit, match="expected the https address of a repository"):
        project_urls.with_urls("", address)


def test_what_others_provide_is_named_by_its_digest() -> None:
    used = [line for file in WORKFLOWS.glob("*.yml") for line in re.findall(r"uses: (.*)", file.read_text())]
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+(\.\d+)+", line)] == []
    bases = re.findall(r"^FROM (\S+)", (PACKAGING / "Dockerfile").read_text(), re.M)
    assert bases
    assert [base for base in bases if not re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", base)] == []


def test_an_image_is_built_from_what_the_project_locks() -> None:
    steps = (PACKAGING / "Dockerfile").read_text()
    for name in re.findall(r"--require-hashes -r (\S+)", steps):
        assert (ROOT / name).exists()
        assert f"COPY {name}" in steps
    ignored = (PACKAGING / "Dockerfile.dockerignore").read_text().split()
    assert {".venv", "target", "dist", ".git"} <= set(ignored)


def test_the_artefact_page_has_every_paper() -> None:
    page = (ROOT / "docs/artefact.md").read_text()
    rows = re.findall(r"^\| \[(\w+)\] \| `varicap reproduce (\w+) --quick` \| \d+ s \|$", page, re.M)
    papers = sorted(file.parent.name for file in ROOT.glob("python/varicap/papers/*/claims.toml"))
    assert rows == [(key, key) for key in papers]


def test_commands_in_the_tables_of_the_artefact_page_exist() -> None:
    commands = re.findall(r"\| `([^`]+)` \|", (ROOT / "docs/artefact.md").read_text())
    assert len(commands) > 15
    for words in map(str.split, commands):
        if words[0] == "varicap":
            assert words[1] in typer.main.get_command(app).commands  # type: ignore[attr-defined]
        for name in words:
            if name.startswith(("examples/", "tests/")):
                assert (ROOT / name).is_file()


def test_the_paper_cites_what_the_bibliography_has() -> None:
    text = (ROOT / "paper/paper.md").read_text()
    cited = set(re.findall(r"@(\w+)", text))
    keys = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "REFERENCES.bib").read_text(), re.M))
    assert len(cited) > 5
    assert cited <= keys


@pytest.mark.parametrize(("tools", "page", "code"), [(0, 0, 0), (3, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_wheels_do_without_the_page_only_where_its_tools_are_missing(
    tools: int, page: int, code: int, tmp_path: Path
) -> None:
    """With stand-ins for what builds: tools that exit with one code, a page that is built with another."""
    rule = re.search(r"^wheels:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert rule
    (tmp_path / "Makefile").write_text(f"all:\n{rule[1]}\nweb:\n\t@exit {page}\nsmoke:\n\t@echo tried\n")
    (tmp_path / "tools").mkdir()
    for name, ends in (("deps", tools), ("build_wasm", 0), ("build_wheels", 0)):
        (tmp_path / f"tools/{name}.sh").write_text(f"exit {ends}\n")
    done = subprocess.run(["make", "-C", str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == (code != 0), done.stderr
    assert ("tried" in done.stdout) == (code == 0)
    assert ("without the page" in done.stderr) == (tools == 3)
