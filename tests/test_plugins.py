"""Controls, queues and policies of one's own go wherever built-in ones go, and are known by their files."""

import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import varicap
from varicap import plugins
from varicap.engines.replay import replay
from varicap.results.manifest import values_sha256
from varicap.results.pieces import StudyError

HALF = '''
class MyReno:
    """A window that loses half at a loss."""
    share = 0.5

    def __init__(self, mss, initial_window):
        self.mss, self.cwnd = mss, float(initial_window)

    def on_ack(self, ack):
        self.cwnd += self.mss * ack.newly_acked / self.cwnd

    def on_congestion(self, event):
        self.cwnd = max(self.share * self.cwnd, self.mss)


class Fifo:
    def __init__(self, link):
        self.waiting = []

    def enqueue(self, now_s, packet):
        self.waiting.append(packet)
        if len(self.waiting) > 20:
            self.waiting.pop().drop()

    def dequeue(self, now_s):
        return self.waiting.pop(0) if self.waiting else None


def flat(link):
    return lambda sample: 3e6
'''
FLOWS = {"mine": {"tcp": {"congestion": {"custom": "my-reno"}}}, "cubic": {"tcp": {"congestion": "cubic"}}}
LINK = {"capacity": "5 Mbit/s", "delay": "10 ms", "queue": {"drop-tail": {"limit": "20 packets"}}}
SCENARIO = {"duration": "4 s", "seeds": 2, "topology": {"dumbbell": {"forward": LINK}}, "flows": FLOWS}
LIMIT = "topology.dumbbell.forward.queue.drop-tail.limit"
Cli = Callable[..., Any]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file with extensions, and a scenario beside it that names one."""
    (tmp_path / "scenario.json").write_text(json.dumps(SCENARIO))
    file = tmp_path / "mine.py"
    file.write_text(HALF)
    return file


def test_a_class_of_a_file_has_every_spelling_of_its_name(mine: Path) -> None:
    found = plugins.read(mine)
    assert {"MyReno", "my-reno", "my_reno", "myreno"} <= found.controls.keys()
    assert found.names == ["MyReno"]
    assert "Fifo" in found.queues
    assert "Fifo" not in found.controls
    assert "flat" in found.controls


def test_a_control_of_a_file_goes_where_a_built_in_one_goes(cli: Cli, mine: Path) -> None:
    scenario, brought = str(mine.parent / "scenario.json"), ("--plugin", str(mine))
    alone = cli("run", scenario)
    assert alone.returncode == 2
    assert "--plugin FILE.py" in alone.stderr
    folder = mine.parent / "ran"
    cli("run", scenario, *brought, "-o", str(folder), "--no-plot")
    there = json.loads((folder / "manifest.json").read_text())
    assert there["python_controls"] == ["my-reno"]
    assert there["plugins"]["my-reno"]["file"] == "mine.py"

    swept = json.loads(cli("sweep", scenario, *brought, "--over", f"{LIMIT}=5 packets,20 packets", "--json",
                           "-o", str(mine.parent / "swept")).stdout)  # fmt: skip
    assert {row["name"] for row in swept["summary"]} >= {"mine", "cubic"}
    compared = json.loads(cli("compare", scenario, *brought, "--engine", "sim", "--json").stdout)
    assert [flow["name"] for flow in compared["engines"][0]["flows"]] == ["mine", "cubic"]
    designed = cli("design", scenario, *brought, "--vary", f"{LIMIT}=5..20 packets", "--minimise", "limit",
                   "--subject-to", "forward.utilisation >= 30 %", "--budget", "12", "--seeds", "2", "--json",
                   "-o", str(mine.parent / "designed"))  # fmt: skip
    assert json.loads(designed.stdout)["best"] is not None
    evaluated = cli("evaluate", "MyReno", *brought, "--quick", "--criterion", "high-loss", "--seeds", "2", "--json",
                    "-o", str(mine.parent / "evaluated"))  # fmt: skip
    assert json.loads(evaluated.stdout)["control"] == "MyReno"


def test_queues_and_policies_of_a_file_go_there_too(mine: Path) -> None:
    found = plugins.read(mine)
    queue = {**SCENARIO, "topology": {"dumbbell": {"forward": {**LINK, "queue": {"custom": "fifo"}}}}}
    both: dict[str, Any] = {"controls": found.controls, "queues": found.queues}
    study = varicap.sweep(queue, {"topology.dumbbell.forward.delay": ["5 ms", "20 ms"]}, **both)
    tail = varicap.sweep(SCENARIO, {"topology.dumbbell.forward.delay": ["5 ms", "20 ms"]}, **both)
    assert study.flows.num_rows == 8
    assert study.links["dropped_packets"].to_pylist() != []
    # The same law: a queue of 20 packets that drops what is too much.
    assert sum(study.links["dropped_packets"].to_pylist()) == pytest.approx(
        sum(tail.links["dropped_packets"].to_pylist()), rel=0.5
    )
    reactive = {"load-reactive": {"minimum": "1 Mbit/s", "control": {"custom": "flat"}, "interval": "10 ms"}}
    policy = {**SCENARIO, "topology": {"dumbbell": {"forward": {**LINK, "capacity": reactive}}}}
    swept = varicap.sweep(policy, {"topology.dumbbell.forward.delay": ["5 ms", "20 ms"]}, **both)
    forward = [row for row in swept.links.to_pylist() if row["name"] == "forward"]
    assert all(row["capacity_bps"] == pytest.approx(3e6, rel=0.05) for row in forward)


def test_a_sweep_in_processes_has_the_same_runs(mine: Path) -> None:
    found = plugins.read(mine)
    over = {LIMIT: ["5 packets", "20 packets"]}
    here = varicap.sweep(SCENARIO, over, controls=found.controls)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = varicap.sweep(SCENARIO, over, controls=found.controls, executor=pool, jobs=2, piece_s=0.01)
    assert values_sha256(here.flows) == values_sha256(there.flows)


def test_a_name_may_come_with_a_value_of_an_axis(mine: Path) -> None:
    found = plugins.read(mine)
    key = "flows.mine.tcp.congestion"
    study = varicap.sweep(SCENARIO, {key: ['"reno"', '{ custom = "MyReno" }']}, controls=found.controls)
    assert study.flows.num_rows == 8


def test_a_study_goes_on_with_the_same_file_and_with_no_other(mine: Path) -> None:
    over, folder = {LIMIT: ["5 packets"]}, mine.parent / "study"
    varicap.sweep(SCENARIO, over, controls=plugins.read(mine).controls, folder=folder)
    varicap.sweep(SCENARIO, over, controls=plugins.read(mine).controls, folder=folder, seeds=3)
    mine.write_text(HALF.replace("0.5", "0.7"))
    with pytest.raises(StudyError, match="differs in: plugins"):
        varicap.sweep(SCENARIO, over, controls=plugins.read(mine).controls, folder=folder)


def test_a_study_with_a_control_of_no_file_is_one_of_its_own(tmp_path: Path, mine: Path) -> None:
    mother: Any = plugins.read(mine).controls["MyReno"]
    made = type("Made", (mother,), {"share": 0.9})
    over, folder = {LIMIT: ["5 packets"]}, tmp_path / "study"
    varicap.sweep(SCENARIO, over, controls={"my-reno": made}, folder=folder)
    with pytest.raises(StudyError, match="differs in: plugins"):
        varicap.sweep(SCENARIO, over, controls={"my-reno": made}, folder=folder)


def test_a_replay_wants_the_file_that_the_run_had(cli: Cli, mine: Path) -> None:
    folder = mine.parent / "ran"
    cli("run", str(mine.parent / "scenario.json"), "--plugin", str(mine), "-o", str(folder), "--no-plot")
    without = cli("replay", str(folder))
    assert without.returncode == 2
    assert "bring it by --plugin mine.py" in without.stderr
    assert "identical" in cli("replay", str(folder), "--plugin", str(mine)).stdout
    assert replay(folder / "manifest.json", controls=plugins.read(mine).controls).identical
    mine.write_text(HALF + "\n# another file\n")
    other = cli("replay", str(folder), "--plugin", str(mine))
    assert other.returncode == 2
    assert "`my-reno` was of mine.py" in other.stderr


def test_what_an_extension_raises_is_told_with_its_line_and_no_traceback(cli: Cli, mine: Path) -> None:
    mine.write_text(HALF.replace("self.cwnd += self.mss * ack.newly_acked / self.cwnd", "self.cwnd = 1 / 0"))
    failed = cli("run", str(mine.parent / "scenario.json"), "--plugin", str(mine), "--no-plot")
    assert failed.returncode == 1
    assert f"{mine}:10: ZeroDivisionError: division by zero" in failed.stderr
    assert "`on_ack` of the control `my-reno` (MyReno) of flow `mine`, at 0." in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.parametrize("value", ["nan", "-1", "0", "inf"])
def test_no_answer_of_a_control_in_a_sweep_becomes_a_result(cli: Cli, mine: Path, value: str) -> None:
    mine.write_text(
        HALF.replace("self.cwnd += self.mss * ack.newly_acked / self.cwnd", f"self.cwnd = float('{value}')")
    )
    scenario = str(mine.parent / "scenario.json")
    failed = cli("sweep", scenario, "--plugin", str(mine), "--over", f"{LIMIT}=5 packets", "--no-plot",
                 "-o", str(mine.parent / "study"))  # fmt: skip
    assert failed.returncode == 1
    assert "cwnd = " in failed.stderr
    assert "expected a number of bytes above 0" in failed.stderr
    assert "of flow `mine`" in failed.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import nothing_of_that_name", ":1: ModuleNotFoundError"),
        ("class C:\n  x = 1 / 0", ":2: ZeroDivisionError"),
        ("def :", "SyntaxError"),
        ("x = 1", "it defines no class and no function"),
    ],
)
def test_a_file_that_brings_nothing_says_why(cli: Cli, mine: Path, text: str, says: str) -> None:
    mine.write_text(text)
    failed = cli("run", str(mine.parent / "scenario.json"), "--plugin", str(mine))
    assert failed.returncode == 2
    assert says in failed.stderr
    assert "Traceback" not in failed.stderr


def test_files_that_are_no_plugins_are_refused(tmp_path: Path) -> None:
    with pytest.raises(plugins.PluginError, match="there is no such file"):
        plugins.read(tmp_path / "none.py")
    with pytest.raises(plugins.PluginError, match=r"ends in \.py"):
        plugins.read(tmp_path)


def test_an_installed_package_brings_what_its_entry_points_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_package.py").write_text(HALF)
    info = tmp_path / "own_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-package\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[varicap.controls]\nmy-reno = own_package:MyReno\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins._installed.cache_clear()
    try:
        result = varicap.run(SCENARIO)
        assert result.request.controls == ("my-reno",)
        assert (result.request.origins["my-reno"] or {})["file"] == "own_package.py"
        study = varicap.sweep(SCENARIO, {LIMIT: ["20 packets"]})
        assert study.flows["goodput_bps"].to_pylist() == result.flows["goodput_bps"].to_pylist()
    finally:
        plugins._installed.cache_clear()
        sys.modules.pop("own_package", None)


def test_a_scenario_alone_runs_nobodys_code(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(HALF)
    named = {**SCENARIO, "flows": {"mine": {"tcp": {"congestion": {"custom": str(tmp_path / "own.py")}}}}}
    with pytest.raises(varicap.ScenarioError, match="nobody brought a control"):
        varicap.run(named)
