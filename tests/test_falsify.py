"""Searching for the path that breaks a control: what is published is found, and nothing where a proof excludes it."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import varicap
from varicap.falsify import BoundsError, Found, falsify, presets
from varicap.falsify.bounds import bounds_of, read
from varicap.falsify.conditions import Course, Piece, placed, simpler
from varicap.falsify.statement import StatementError

LINK: dict[str, Any] = {
    "name": "link",
    "duration": "40 s",
    "warmup": "10 s",
    "topology": {"dumbbell": {"forward": {"capacity": "10 Mbit/s", "delay": "20 ms"}, "reverse": {"delay": "20 ms"}}},
    "flows": {"a": {"tcp": {"congestion": "reno"}}},
}
LOSS = {"links": {"forward": {"loss": {"low": "0 %", "high": "3 %"}}}}
TIMID = """
class Timid:
    def __init__(self, mss, initial_window):
        self.mss, self.cwnd, self.least, self.afraid = mss, 10 * mss, None, False

    def on_ack(self, ack):
        if ack.rtt_s is not None:
            self.least = min(self.least or ack.rtt_s, ack.rtt_s)
            if ack.rtt_s > self.least + 0.025:
                self.afraid = True  # for good: the planted fault
        self.cwnd = 2 * self.mss if self.afraid else min(self.cwnd + self.mss / 8, 20 * self.mss)

    def on_congestion(self, event):
        self.cwnd = max(self.cwnd / 2, 2 * self.mss)
"""


def with_control(control: Any) -> dict[str, Any]:
    """The link with another control."""
    return {**copy.deepcopy(LINK), "flows": {"a": {"tcp": {"congestion": control}}}}


def test_random_loss_breaks_reno_and_is_all_that_is_left_of_the_path() -> None:
    within = {"links": {"forward": {**LOSS["links"]["forward"], "buffer": {"low": "1 bdp", "high": "3 bdp"}}}}
    found = falsify(LINK, within, "goodput_of_capacity >= 80 %", budget=200)
    assert found.shrunk is not None
    assert [type(one).__name__ for one in found.shrunk] == ["Loss"]
    assert [one.verdict for one in found.confirmations[:2]] == ["broken", "broken"]
    assert found.sentence.startswith("With ")
    assert "a (reno) holds" in found.sentence
    # What is handed back says all by itself.
    assert found.scenario is not None
    result = varicap.run(found.scenario)
    share = result.summary["flows"][0]["goodput_of_capacity"]["mean"]
    assert found.value is not None
    assert share == pytest.approx(found.value.mean, abs=1e-12)


def test_nothing_is_found_where_a_proof_excludes_it() -> None:
    within = {"links": {"forward": {"buffer": {"low": "1 bdp", "high": "4 bdp"}}}}
    found = falsify({**LINK, "warmup": "20 s"}, within, "utilisation >= 99 %", budget=60)
    assert not found.is_broken
    assert found.theory.bound == 1.0
    assert found.worst_value.mean > 0.995


def test_the_worst_path_with_jitter_is_above_the_bound_for_every_path() -> None:
    within = {
        "links": {
            "forward": {"jitter": {"budget": "1 rtt", "pieces": 3, "hold": "10 ms", "repeats": True}},
            "reverse": {"aggregation": {"longest": "1 rtt"}},
        }
    }
    found = falsify({**LINK, "warmup": "20 s"}, within, "utilisation >= 90 %", budget=300)
    assert found.theory.bound is not None
    assert 0.1 < found.theory.bound < found.worst_value.mean < 0.9


def test_theory_and_simulation_are_compared_path_by_path() -> None:
    found = falsify(LINK, LOSS, "goodput_of_capacity >= 80 %", budget=100, confirm=False)
    assert found.theory.worst is not None
    assert found.theory.farthest is not None
    # Mathis' law is near at small losses, and the model's worst path is one of great loss.
    assert found.theory.worst.by_model == pytest.approx(found.theory.worst.by_simulation, rel=0.3)
    # A bound of paths with loss is not known.
    assert found.theory.bound is None
    assert "loss" in found.theory.because


def test_a_planted_fault_is_found_and_told_as_it_happens(tmp_path: Path) -> None:
    file = tmp_path / "timid.py"
    file.write_text(TIMID)
    within = {"links": {"forward": {"jitter": {"budget": "30 ms", "pieces": 3, "hold": "1 s"}}}}
    base = with_control({"custom": "Timid"})
    # Python hears every acknowledgement: few of them.
    base |= {"duration": "15 s", "warmup": "2 s"}
    base["topology"]["dumbbell"]["forward"]["capacity"] = "5 Mbit/s"
    base["flows"]["a"]["tcp"]["ack"] = "every"  # one that is delayed would frighten it, too
    base["topology"]["dumbbell"]["forward"]["queue"] = {"drop-tail": {"limit": "100 packets"}}
    found = falsify(base, within, "utilisation >= 50 %", budget=60, seeds=2, plugin=file, confirm=False)
    assert found.shrunk is not None
    (course,) = found.shrunk
    assert isinstance(course, Course)
    assert len(course.pieces) == 2
    assert "a step of the delay of forward up by" in found.sentence


def test_the_same_seed_finds_the_same_and_what_was_killed_goes_on(tmp_path: Path) -> None:
    def again(folder: Path) -> tuple[Found, bytes]:
        found = falsify(with_control("cubic"), LOSS, "utilisation >= 80 %", budget=80, folder=folder, jobs=2)
        return found, (folder / "falsify.json").read_bytes()

    whole, numbers = again(tmp_path / "whole")
    lines = (tmp_path / "whole/runs.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut").mkdir()
    # Killed in the middle of a line.
    (tmp_path / "cut/runs.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]) + lines[-1][:20])
    cut, same = again(tmp_path / "cut")
    assert same == numbers
    assert (tmp_path / "cut/counterexample.toml").read_bytes() == (tmp_path / "whole/counterexample.toml").read_bytes()
    assert cut.spent == whole.spent


def test_a_course_becomes_simpler_until_a_constant_is_left() -> None:
    course = Course("forward", "capacity", (Piece(1.23e6, 2.5), Piece(2e6, 1.0), Piece(3e6, 4.0)), repeats=True)
    others = [one for (one,) in (each for each in simpler((course,)) if len(each) == 1) if isinstance(one, Course)]
    assert all(one.weight < course.weight for one in others)
    assert {len(one.pieces) for one in others} == {1, 2, 3}
    assert () in list(simpler((course,)))
    scenario = placed(LINK, (course,))
    assert scenario["topology"]["dumbbell"]["forward"]["capacity"] == {
        "steps": {
            "at": ["0 s", "2.5 s", "3.5 s"],
            "rates": ["1.23 Mbit/s", "2 Mbit/s", "3 Mbit/s"],
            "period": "7.5 s",
        }
    }
    assert LINK["topology"]["dumbbell"]["forward"]["capacity"] == "10 Mbit/s"


@pytest.mark.parametrize("name", presets())
def test_presets_make_scenarios_of_a_dumbbell(name: str) -> None:
    bounds = bounds_of(read(name), LINK, 40.0, 0.04)
    for corner in (0.0, 0.4, 0.6, 1.0):
        varicap.load(placed(LINK, bounds.conditions([corner] * bounds.count)))


def test_rivals_and_aggregated_acknowledgements_are_within_bounds() -> None:
    within = {
        "links": {"reverse": {"aggregation": {"longest": "20 ms"}}},
        "rivals": {"cubic": {"most": 2, "latest": "5 s"}},
    }
    found = falsify(with_control("vegas"), within, "a.share >= 40 %", budget=100, confirm=False)
    assert found.shrunk is not None
    assert [type(one).__name__ for one in found.shrunk] == ["Rivals"]
    assert "cubic flow" in found.sentence
    assert "of all goodput" in found.sentence


@pytest.mark.parametrize(
    ("within", "complaint"),
    [
        ({}, "nothing be varied"),
        ({"links": {"forwards": {}}}, "no link `forwards`; did you mean `forward`?"),
        ({"links": {"forward": {"los": {}}}}, "no key `los`; did you mean `loss`?"),
        ({"links": {"forward": {"loss": {"low": "0 %"}}}}, "links.forward.loss: lacks `high`"),
        ({"links": {"forward": {"loss": {"low": "3 %", "high": "1 %"}}}}, "`low` is above `high`"),
        ({"links": {"forward": {"loss": {"low": "0 %", "high": "1 %", "x": 1}}}}, "unknown key `x`"),
        ({"links": {"forward": {"capacity": {"low": "1 s", "high": "2 s"}}}}, "links.forward.capacity.low"),
        ({"links": {"forward": {"buffer": {"low": "1 bdp", "high": "9 packets"}}}}, "two amounts of one unit"),
        ({"links": {"forward": {"aggregation": {"longest": "1 ms"}}}}, "a capacity of its own"),
        ({"rivals": {"cubic": {"most": 0}}}, "expected a whole number from 1"),
        ("ltee", "no preset `ltee`; did you mean `lte`?"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(within: Any, complaint: str) -> None:
    with pytest.raises(BoundsError, match=complaint.replace("(", r"\(").replace("?", r"\?")):
        falsify(LINK, within, "utilisation >= 50 %")


@pytest.mark.parametrize("text", ["utilisatio >= 5 %", "utilisation", "b.share >= 5 %", "a.least_share >= 5 %", ""])
def test_statements_that_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(StatementError):
        falsify(LINK, LOSS, text)


def test_the_command_writes_what_replays(cli: Cli, tmp_path: Path) -> None:
    file, bounds = tmp_path / "link.json", tmp_path / "bounds.toml"
    file.write_text(json.dumps(LINK))
    bounds.write_text('[links.forward.loss]\nlow = "0 %"\nhigh = "3 %"\n')
    options = ("--within", str(bounds), "--against", "utilisation >= 80 %", "--budget", "60", "-q")
    done = cli("falsify", str(file), *options, "-o", str(tmp_path / "found"), "--strict")
    assert done.returncode == 4, done.stderr
    assert done.stdout.splitlines()[-1].endswith("of the link for 30 s.")
    assert (tmp_path / "found/falsify.png").is_file()
    assert cli("replay", str(tmp_path / "found/run/manifest.json")).returncode == 0
    # A mistake in TOML names its line.
    bounds.write_text("[links")
    wrong = cli("falsify", str(file), *options, "-o", str(tmp_path / "other"))
    assert wrong.returncode == 2
    assert "bounds.toml" in wrong.stderr
    assert "Traceback" not in wrong.stderr
