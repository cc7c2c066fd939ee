"""Mistakes of a scenario: all of them at once, each with its line quoted, from the command line and from Python."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Cli
from patience import HANG_S
from typer.testing import CliRunner

import varicap
import varicap._core as _core
from varicap.cli import app
from varicap.terminal import mistakes

WRONG = """duration = "60 s"

[topology.dumbbell.forward]
bandwidth = "10 Mbit/s"
delay = 20

[flows.mine]
application = "greedy"
count = -1
tcp = { congestion = "htcp" }
"""
GOOD = WRONG.replace("bandwidth", "capacity").replace("20\n", '"20 ms"\n').replace("application", "app")
GOOD = GOOD.replace("count = -1\n", "").replace("htcp", "cubic")


def refused(text: str, path: Path, **options: object) -> varicap.ScenarioError:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(varicap.ScenarioError) as caught:
        varicap.load(path, **options)  # type: ignore[arg-type]
    return caught.value


def test_an_exception_has_all_mistakes(tmp_path: Path) -> None:
    error = refused(WRONG, tmp_path / "wrong.toml")
    assert [each["line"] for each in error.errors] == [4, 5, 8, 9, 10]
    assert (error.line, error.column, error.more) == (4, 1, 0)
    assert len(str(error).splitlines()) == 5
    (first, *_, last) = error.errors
    assert first["hint"] == "did you mean `capacity`?"
    assert "custom" in last["hint"]
    marked = last["excerpt"][last["excerpt_start"] :][: last["excerpt_length"]]
    assert marked == '"htcp"'


def test_mistakes_are_quoted_within_80_columns(tmp_path: Path) -> None:
    shown = refused(WRONG, tmp_path / "wrong.toml").shown
    assert shown is not None
    lines = shown.splitlines()
    # A path that is longer than a terminal stays in one piece.
    assert all(len(line) <= 80 for line in lines if str(tmp_path) not in line)
    at = lines.index("9 | count = -1")
    assert lines[at + 1] == "  |         ^^"
    assert "  = it is negative" in lines
    error = refused(WRONG, tmp_path / "wrong.toml")
    assert mistakes(error).startswith("5 mistakes in the scenario\n\n")


def test_the_command_line_shows_what_python_has(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(WRONG)
    done = cli("run", "wrong.toml")
    assert done.returncode == 2
    assert done.stderr.startswith("varicap: 5 mistakes in the scenario\n\nwrong.toml:4:1: ")
    assert "Traceback" not in done.stderr


def test_check_lists_mistakes_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.toml").write_text(WRONG)
    Path("good.toml").write_text(GOOD)
    done = CliRunner().invoke(app, ["check", "wrong.toml", "--json"])
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert found["more"] == 0
    assert [each["key"].split(".")[-1] for each in found["errors"]] == [
        *("bandwidth", "delay", "application", "count", "congestion"),
    ]
    done = CliRunner().invoke(app, ["check", "good.toml"])
    assert (done.exit_code, done.stdout) == (0, "good: no mistake\n")
    done = CliRunner().invoke(app, ["check", "none.toml", "--json"])
    assert done.exit_code == 2
    assert "no such file" in json.loads(done.stdout)["errors"][0]["expected"]


def test_nothing_in_a_file_steers_the_terminal(tmp_path: Path) -> None:
    text = GOOD.replace('"10 Mbit/s"', '"\x7f\u202e漢"')
    shown = refused(text, tmp_path / "wrong.toml").shown
    assert shown is not None
    assert "\u202e" not in shown
    assert "\x7f" not in shown
    assert '"\\u007f\\u202e漢"' in shown


def test_a_setting_is_quoted_with_its_wrong_part(tmp_path: Path) -> None:
    error = refused(GOOD, tmp_path / "good.toml", overrides={"flows.mine.count": "0", "duration": "5"})
    blocks = str(error.shown).split("\n\n")
    assert sorted(blocks) == [
        "duration: found `5`\n"
        "  | --set duration=5\n"
        "  |                ^\n"
        '  = expected a length of time with its unit, such as "50 ms"',
        "flows.mine.count: found `0`\n"
        "  | --set flows.mine.count=0\n"
        "  |                        ^\n"
        "  = expected at least 1",
    ]


def test_a_sweep_says_at_which_point(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD)
    axes = {"warmup": ["1 s", "2 min"], "flows.mine.count": ["1", "2"]}
    with pytest.raises(varicap.ScenarioError) as caught:
        varicap.sweep(tmp_path / "good.toml", axes, seeds=1)
    assert "at the point warmup=2 min, flows.mine.count=1" in str(caught.value)
    assert caught.value.key == "warmup"
    assert "--over warmup=2 min" in str(caught.value.shown)
    # Where the axis makes something else wrong, too.
    with pytest.raises(varicap.ScenarioError, match="at the point duration=1 s"):
        varicap.sweep(tmp_path / "good.toml", {"duration": ["9 s", "1 s"]}, seeds=1, overrides={"warmup": "2 s"})


@pytest.mark.skipif(os.name == "nt", reason="no named pipes")
def test_a_scenario_comes_through_a_pipe_or_standard_input(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD)
    (tmp_path / "good.json").write_text(varicap.load(tmp_path / "good.toml").to_json())
    program = f"{sys.executable} -m varicap check"
    for command in (
        f"{program} <(cat good.toml)",
        f"cat good.toml | {program} -",
        f"cat good.json | {program} /dev/stdin",
    ):
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(": no mistake\n")


def test_a_pipe_that_never_ends_is_refused() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m varicap check <(yes '# a')"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert "more than 10 MB" in done.stderr


def test_a_json_file_is_a_scenario_and_its_mistakes_have_lines(tmp_path: Path) -> None:
    good = json.loads(varicap.load(_written(tmp_path / "good.toml", GOOD)).to_json())
    path = _written(tmp_path / "good.json", json.dumps(good, indent=1))
    assert varicap.load(path).to_json() == varicap.load(tmp_path / "good.toml").to_json()
    good["flows"]["mine"]["count"] = 0
    error = refused(json.dumps(good, indent=1), path)
    assert (error.key, error.line is not None) == ("flows.mine.count", True)
    assert '"count": 0' in str(error.shown)
    # The value of a program has no lines that anybody has seen.
    with pytest.raises(varicap.ScenarioError) as caught:
        varicap.load(good)
    assert (caught.value.key, caught.value.line) == ("flows.mine.count", None)
    broken = refused('{"duration": 5 s}', path)
    assert (broken.line, "valid JSON" in str(broken)) == (1, True)


def test_a_mistake_in_a_shared_table_is_reported_where_it_stands(tmp_path: Path) -> None:
    text = f"{GOOD}[flows.other]\n[tcp]\nrecovry = 'sack'\n"
    error = refused(text, tmp_path / "shared.toml")
    assert (error.key, error.line) == ("tcp.recovry", text.count("\n"))
    error = refused(text.replace("recovry = 'sack'", "mss = '0 B'"), tmp_path / "shared.toml")
    assert (error.key, error.line) == ("tcp.mss", text.count("\n"))
    good = json.loads(varicap.load(_written(tmp_path / "good.toml", GOOD)).to_json())
    error = refused(json.dumps({**good, "tcp": {"recovry": "sack"}}, indent=1), tmp_path / "shared.json")
    assert error.key == "tcp.recovry"


def test_the_mark_before_the_text_of_windows_is_none_of_it(tmp_path: Path) -> None:
    good = varicap.load(_written(tmp_path / "good.toml", GOOD)).to_json()
    assert varicap.load(_written(tmp_path / "good.json", "\ufeff" + good)).to_json() == good
    error = refused("\ufeff" + WRONG.replace("60 s", "60"), tmp_path / "wrong.toml")
    assert (error.line, error.column) == (1, len("duration = ") + 1)
    assert "\ufeff" not in str(error.shown)


def test_there_is_a_limit(tmp_path: Path) -> None:
    keys = "".join(f"nonsense_{number} = 1\n" for number in range(51))
    error = refused(keys + GOOD, tmp_path / "many.toml")
    assert (len(error.errors), error.more) == (20, 31)
    assert str(error.shown).endswith("and 31 more")
    assert mistakes(error).startswith("51 mistakes")


def test_a_search_that_was_cut_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So many values that the tree is read only a few times, each of which finds one mistake.
    keys = "".join(f"nonsense_{number} = [{'1, ' * 4000}]\n" for number in range(600))
    error = refused(keys + GOOD, tmp_path / "large.toml")
    assert error.at_least
    assert error.more == 0
    assert str(error.shown).endswith("and perhaps more")
    assert re.match(r"at least \d+ mistakes in the scenario\n", mistakes(error))
    monkeypatch.chdir(tmp_path)
    found = json.loads(CliRunner().invoke(app, ["check", "large.toml", "--json"]).stdout)
    assert (found["more"], found["at_least"]) == (0, True)
    whole = refused(WRONG, tmp_path / "wrong.toml")
    assert not whole.at_least


def test_an_error_without_a_place_is_shown_as_it_is() -> None:
    assert mistakes(_core.ScenarioError("none.toml: there is no such file")) == "none.toml: there is no such file"


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
