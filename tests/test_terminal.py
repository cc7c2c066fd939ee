"""What reaches a terminal: names from files can neither steer it nor turn its text around."""

import json
from pathlib import Path

import pytest
from conftest import EXAMPLES, Cli
from rich.text import Text

import varicap
from varicap._printable import printable
from varicap.report.table import titled
from varicap.terminal import print_tables

EVIL = "a\x1b[31m\u202eb\x9bc\u2066d\x07"
SEEN = r"a\u001b[31m\u202eb\u009bc\u2066d\u0007"
FORBIDDEN = set("\x1b\u202e\x9b\u2066\x07")


def scenario(folder: Path, flow: str = "reno") -> Path:
    """A scenario with an odd description, and a flow of this name."""
    file = folder / "odd.toml"
    text = (EXAMPLES / "fixed.toml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("description")]
    changed = "\n".join([f"description = {json.dumps(EVIL)}", *lines, ""])
    file.write_text(changed.replace("[flows.reno]", f"[flows.{json.dumps(flow)}]"), encoding="utf-8")
    return file


def test_controls_and_overrides_are_spelled_out_and_the_rest_stays() -> None:
    assert printable(EVIL) == SEEN
    assert printable("naïve – 日本 🙂\n", lines=True) == "naïve – 日本 🙂\n"
    assert printable("\ud800") == r"\ud800"


@pytest.mark.parametrize(
    ("flow", "options"),
    [(EVIL, []), ("reno", ["--explain"]), ("reno", ["--json"]), ("reno", ["--set", f"flows.{EVIL}=1"])],
)
def test_what_a_scenario_says_cannot_steer_a_terminal(cli: Cli, tmp_path: Path, flow: str, options: list[str]) -> None:
    done = cli("run", scenario(tmp_path, flow), "--seeds", 1, "--set", "duration='12 s'", *options)
    assert not FORBIDDEN & set(done.stdout + done.stderr)
    assert SEEN in done.stdout + done.stderr


def test_tables_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    table = titled(EVIL, [EVIL])
    table.add_row(Text(EVIL))
    print_tables([table])
    shown = capsys.readouterr().out
    assert not FORBIDDEN & set(shown)
    assert shown.count(r"\u202e") >= 2


def test_json_with_odd_names_still_has_them(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", scenario(tmp_path), "--seeds", 1, "--set", "duration='12 s'", "--json")
    assert json.loads(done.stdout)["scenario"]["description"] == EVIL


def test_a_manifest_cannot_steer_a_terminal(cli: Cli, tmp_path: Path) -> None:
    saved = varicap.run(EXAMPLES / "fixed.toml", seeds=1, overrides={"duration": "12 s"}).save(tmp_path / "out")
    recorded = json.loads(saved.read_text(encoding="utf-8"))
    for edit in ({"engine": EVIL}, {"tables": {EVIL: {"sha256": "", "values_sha256": ""}}}):
        saved.write_text(json.dumps(recorded | edit), encoding="utf-8")
        done = cli("replay", saved)
        assert done.returncode == 2
        assert SEEN in done.stderr
        assert not FORBIDDEN & set(done.stderr)


@pytest.mark.parametrize("name", [r"$\x$", r"\$", "$", r"$\frac{$ \$"])
def test_a_dollar_in_a_name_is_a_dollar_in_the_figure(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    result = varicap.run(scenario(tmp_path, name), seeds=1, series=True, overrides={"duration": "12 s"})
    result.figure().savefig(tmp_path / "run.svg", metadata={"Date": None})
    over = {"topology.dumbbell.forward.queue.drop-tail.limit": ["5 packets", "10 packets"]}
    study = varicap.sweep(scenario(tmp_path, name), over, seeds=2, overrides={"duration": "12 s"})
    study.figure().savefig(tmp_path / "study.png")
