"""A control by the criteria of RFC 9743: what the RFC says of known ones, and faults that somebody planted."""

import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import Cli

from varicap.engines import sim
from varicap.engines.scenarios import load
from varicap.evaluate import ControlError, evaluate, known
from varicap.evaluate.badge import svg
from varicap.evaluate.changes import OldError, changes, read
from varicap.evaluate.measures import ratio
from varicap.evaluate.page import html

pytestmark = pytest.mark.slow

RENO = """
class {name}:
    def __init__(self, mss, initial_window):
        self.mss, self.cwnd, self.ssthresh = mss, initial_window, 1 << 40
        self.least = None

    def on_ack(self, ack):
        {on_ack}
        self.cwnd += self.mss if self.cwnd < self.ssthresh else self.mss * self.mss / self.cwnd

    def on_congestion(self, event):
        {on_congestion}
        self.ssthresh = max(self.cwnd / 2, {floor} * self.mss)
        self.cwnd = self.mss if event.kind == "timeout" and {floor} == 2 else self.ssthresh
"""

FRIGHTENED = """if ack.rtt_s is not None:
            self.least = min(self.least or ack.rtt_s, ack.rtt_s)
            if ack.rtt_s > 2.2 * self.least:
                self.cwnd = self.ssthresh = 2 * self.mss
                return"""


def plugin(folder: Path, name: str, on_ack: str = "pass", on_congestion: str = "pass", floor: int = 2) -> Path:
    """A file with Reno, or with what is left of it."""
    file = folder / "controls.py"
    file.write_text(RENO.format(name=name, on_ack=on_ack, on_congestion=on_congestion, floor=floor))
    return file


def verdicts(control: str, *criteria: str, file: Path | None = None) -> dict[str, str]:
    done = evaluate(control, plugin=file, criteria=criteria, quick=True, beside=["reno"])
    return {one.criterion.id: one.verdict for one in done.judged}


def test_every_scenario_is_valid_with_any_control() -> None:
    for criterion in known().criteria:
        for scenario in (criterion.placed("bbr3"), criterion.divisor("bbr3")):
            if scenario is not None:
                load(scenario)


def test_bbr_loses_what_the_rfc_says_and_its_third_version_does_not() -> None:
    assert verdicts("bbr", "high-loss") == {
        "high-loss.half-bdp": "fails",
        "high-loss.1bdp": "fails",
        "high-loss.1.5bdp": "unsettled",
        "high-loss.4bdp": "meets",
    }
    assert set(verdicts("bbr3", "high-loss").values()) == {"meets"}


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_standards_back_off_and_share_with_each_other(control: str) -> None:
    found = verdicts(control, "collapse-loss", "collapse-outage", "beside-cubic.1bdp", "ecn", "delay-change")
    assert set(found.values()) == {"meets"}


def test_a_window_that_never_falls_below_ten_packets_is_found(tmp_path: Path) -> None:
    file = plugin(tmp_path, "Stubborn", floor=10)
    found = verdicts("Stubborn", "collapse-loss.50", "collapse-outage", file=file)
    assert found == {"collapse-loss.50": "fails", "collapse-outage": "fails"}


def test_a_control_that_does_not_hear_marks_is_found(tmp_path: Path) -> None:
    deaf = plugin(tmp_path, "Deaf", on_congestion="if event.kind == 'ecn-echo': return")
    assert verdicts("Deaf", "ecn", file=deaf) == {"ecn": "fails"}


def test_a_control_that_starves_after_a_step_of_the_delay_is_found(tmp_path: Path) -> None:
    frightened = plugin(tmp_path, "Frightened", on_ack=FRIGHTENED)
    found = verdicts("Frightened", "delay-change", file=frightened)
    assert found["delay-change.longer"] == "fails"


def test_what_was_measured_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {
        "criteria": ["bufferbloat.1bdp"],
        "quick": True,
        "beside": ["reno"],
        "folder": tmp_path / "kept",
    }
    file = plugin(tmp_path, "Mine")
    first = evaluate("Mine", plugin=file, **asked)
    monkeypatch.setattr(sim, "run", None)
    assert evaluate("Mine", plugin=file, **asked).to_dict() == first.to_dict()
    file.write_text(file.read_text() + "\n# Another file is another control.\n")
    with pytest.raises(TypeError, match="not callable"):
        evaluate("Mine", plugin=file, **asked)


def test_a_control_in_memory_is_measured_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed:
        def __init__(self, mss: int, initial_window: int) -> None:
            self.cwnd = 20 * mss

        def on_ack(self, ack: object) -> None:
            pass

        def on_congestion(self, event: object) -> None:
            pass

    asked: dict[str, Any] = {"criteria": ["bufferbloat.1bdp"], "quick": True, "beside": [], "folder": tmp_path}
    assert evaluate(Fixed, **asked).judged[0].value.mean < 2.0
    monkeypatch.setattr(sim, "run", None)
    with pytest.raises(TypeError, match="not callable"):
        evaluate(Fixed, **asked)


def test_a_control_beside_itself_is_not_apart() -> None:
    done = evaluate("reno", criteria=["harm.1bdp", "bufferbloat.1bdp"], quick=True, beside=["reno"])
    assert [one.apart for one in done.judged] == ["", ""]


def test_the_page_and_the_badge_say_what_was_found() -> None:
    done = evaluate("bbr", criteria=["high-loss"], quick=True, beside=["cubic"])
    page = html(done)
    for one in done.judged:
        assert f'id="{one.criterion.id}"' in page
    assert "it caused a sustained rate of packet loss" in page
    assert "capacity = &quot;50 Mbit/s&quot;" in page
    badge = ElementTree.fromstring(svg(done))
    assert badge.find("{http://www.w3.org/2000/svg}title").text.startswith(  # type: ignore[union-attr]
        "RFC 9743 · bbr; 1 met; 2 failed; 1 unsettled; varicap"
    )


def test_a_change_is_a_verdict_or_an_interval_that_moved(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"criteria": ["high-loss"], "quick": True, "beside": []}
    old, new = evaluate("bbr", **asked), evaluate("bbr3", **asked)
    file = tmp_path / "old.json"
    file.write_text(json.dumps(old.to_dict()))
    assert changes(read(file), old) == []
    assert [(one.id, one.before, one.after) for one in changes(read(file), new)][:2] == [
        ("high-loss.half-bdp", "fails", "meets"),
        ("high-loss.1bdp", "fails", "meets"),
    ]
    file.write_text('{"control": "x"}')
    with pytest.raises(OldError, match=r"expected what `varicap evaluate --json` prints"):
        read(file)


def test_a_ratio_with_nothing_below_is_infinite() -> None:
    assert ratio(np.array([1.0]), np.array([0.0])).tolist() == [math.inf]
    assert ratio(np.array([2.0, 4.0]), np.array([1.0, 2.0])).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("control", "source", "said"),
    [
        ("cubik", None, "did you mean `cubic`"),
        ("{ cubic = { beta = 2 } }", None, "beta"),
        ("{ cubic = ", None, "expected a table as in a scenario"),
        ("Mine", "class Other:\n    pass\n", "no control `Mine` there; it has no class with `on_ack`"),
        ("Mine", "import nothing_of_that_name\n", "ModuleNotFoundError"),
        ("mine.npz", None, "no such file"),
    ],
)
def test_what_is_no_control_is_refused_with_what_would_be(
    control: str, source: str | None, said: str, tmp_path: Path
) -> None:
    file = None
    if source is not None:
        file = tmp_path / "mine.py"
        file.write_text(source)
    with pytest.raises(ControlError, match=said):
        evaluate(control, plugin=file, criteria=["bufferbloat"], quick=True)


def test_the_command_writes_page_badge_numbers_and_scenarios(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ("evaluate", "bbr", "--quick", "--criterion", "high-loss.1bdp", "--beside", "reno", "-o", str(out))
    shown = cli(*asked, "--json", "--strict")
    assert shown.returncode == 4
    found = json.loads(shown.stdout)
    assert found["criteria"][0]["verdict"] == "fails"
    assert json.loads((out / "evaluation.json").read_text()) == found
    assert {"badge.svg", "index.html"} < {file.name for file in out.iterdir()}
    again = json.loads(cli("run", str(out / "scenarios/high-loss.1bdp.toml"), "--json").stdout)
    assert 100 * again["links"][0]["loss_ratio"] == pytest.approx(found["criteria"][0]["measured"]["mean"])
    changed = cli(*asked, "--compare", str(out / "evaluation.json"))
    assert "changed" not in changed.stdout


def test_the_command_refuses_what_it_does_not_know(cli: Cli, tmp_path: Path) -> None:
    for asked, said in ((["cubik"], "did you mean `cubic`"), (["reno", "--criterion", "x"], "no criterion `x`")):
        refused = cli("evaluate", *asked, "-o", tmp_path)
        assert refused.returncode == 2
        assert said in refused.stderr
