"""`varicap new`: templates that run as they are, and are written over nobody's file."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import varicap
from varicap import templates
from varicap.cli import app
from varicap.traces.files import load

NAMES = templates.names()


@pytest.mark.parametrize("name", NAMES)
def test_a_template_runs_as_it_is(name: str, tmp_path: Path) -> None:
    scenario, *others = templates.new(name, tmp_path / "mine.toml")
    controls = varicap.plugins.together([each for each in others if each.name == "mine.py"])[0]
    # All of its time: a step of capacity or the next satellite may come late.
    result = varicap.run(scenario, seeds=1, controls=controls)
    assert all(flow["goodput_bps"]["mean"] > 10_000 for flow in result.summary["flows"])
    assert varicap.load(scenario).seeds == 10


@pytest.mark.parametrize(("name", "length_s"), [("lte", 120.0), ("satellite", 180.0), ("handover", 180.0)])
def test_a_trace_is_as_long_as_what_it_was_made_from(name: str, length_s: float, tmp_path: Path) -> None:
    _, trace = templates.new(name, tmp_path / "mine.toml")
    assert load(trace).duration_s == pytest.approx(length_s)


@pytest.mark.parametrize("name", NAMES)
def test_a_template_is_short_and_every_key_has_a_comment(name: str) -> None:
    text = templates.text(name)
    lines = text.splitlines()
    assert len(lines) < 40
    assert all(len(line) <= 120 for line in lines)
    assert lines[0].startswith("# ")
    assert templates.description(name) == lines[0][2:]
    for line in lines:
        if re.match(r"[a-z_]+ = |\[topology", line):
            assert re.search(r" # \w", line), f"{name}: {line}"
    assert tomllib.loads(text)["name"] == name


def test_a_control_comes_with_a_test_that_passes_and_tells_when_it_no_longer_works(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["new", "control", "-o", str(tmp_path / "my_reno.toml")])
    assert done.exit_code == 0, done.output
    assert "my_reno.toml --plugin" in done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["my_reno.py", "my_reno.toml", "test_my_reno.py"]
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E,F,I,ANN", "--line-length", "120"]
    assert subprocess.run([*ruff, tmp_path], check=False, capture_output=True).returncode == 0
    test = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_reno.py"]
    passed = subprocess.run(test, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert passed.returncode == 0, passed.stdout
    file = tmp_path / "my_reno.py"
    file.write_text(file.read_text().replace("self.cwnd += ", "self.cwnd += 0 * "))
    assert subprocess.run(test, cwd=tmp_path, check=False, capture_output=True).returncode == 1
    odd = CliRunner().invoke(app, ["new", "control", "-o", str(tmp_path / "my-reno.toml")])
    assert odd.exit_code == 2
    assert "a module of Python" in odd.stderr


def test_the_command_writes_a_scenario_and_its_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["new", "lte"])
    assert done.exit_code == 0, done.output
    assert "varicap run lte.toml" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lte-capacity.csv", "lte.toml"]
    again = (tmp_path / "lte-capacity.csv").read_bytes()
    assert CliRunner().invoke(app, ["new", "lte", "--force"]).exit_code == 0
    assert (tmp_path / "lte-capacity.csv").read_bytes() == again
    done = CliRunner().invoke(app, ["new", "sharing", "-o", "deep/er.toml", "--json"])
    assert json.loads(done.stdout) == {"files": ["deep/er.toml"]}
    shown = CliRunner().invoke(app, ["new", "web", "-o", "-"])
    assert (shown.stdout, shown.stderr) == (templates.text("web"), "")
    shown = CliRunner().invoke(app, ["new", "lte", "-o", "-"])
    assert shown.stdout == templates.text("lte")
    assert "lte-capacity.csv, which it needs, is not written" in shown.stderr
    shown = CliRunner().invoke(app, ["new", "lte", "-o", "-", "--json"])
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "--json" in shown.stderr


@pytest.mark.parametrize("target", ["lte-capacity.csv", "LTE-Capacity.CSV"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_scenario_is_not_written_over_its_trace(
    target: str, force: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["new", "lte", "-o", target, *force])
    assert (done.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "the trace" in done.stderr


def test_a_template_is_not_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["new", "web", "-o", "web.json"])
    assert (done.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "TOML" in done.stderr


@pytest.mark.parametrize("there", ["lte.toml", "lte-capacity.csv"])
def test_no_file_is_overwritten_unless_force_is_given(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(there).write_text("mine")
    done = CliRunner().invoke(app, ["new", "lte"])
    assert done.exit_code == 2
    assert f"{there}: there is such a file already" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert Path(there).read_text() == "mine"
    assert CliRunner().invoke(app, ["new", "lte", "--force"]).exit_code == 0
    assert Path(there).read_text() != "mine"


def test_a_link_is_replaced_and_not_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "web.toml").symlink_to("precious")
    templates.new("web", tmp_path / "web.toml", force=True)
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "web.toml").read_text() == templates.text("web")


def test_templates_are_listed_and_misspelt_names_understood() -> None:
    listed = CliRunner().invoke(app, ["new", "--list"]).stdout
    assert all(re.search(rf"^{name} +\S", listed, re.MULTILINE) for name in NAMES)
    assert [one["name"] for one in json.loads(CliRunner().invoke(app, ["new", "--list", "--json"]).stdout)] == NAMES
    done = CliRunner().invoke(app, ["new", "satelite"])
    assert done.exit_code == 2
    assert "did you mean `satellite`?" in done.stderr
    with pytest.raises(
        templates.TemplateError, match=r"^there is no template `xyzzy`; there are: control, handover, lte, "
    ):
        varicap.new("xyzzy")
