"""Tables of chosen measures and flows, differences at each point of a study, and runs that fall into two kinds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from test_page import summary_of

import varicap
from varicap.report import formats, measured, story
from varicap.report.points import colours, free
from varicap.report.table import with_interval
from varicap.results.study import Study
from varicap.statistics import Interval

LINK = {"capacity": "5 Mbit/s", "delay": "10 ms", "queue": {"drop-tail": {"limit": "20 packets"}}}
FLOWS = {name: {"start_spread": "1 s", "tcp": {"congestion": name}} for name in ("reno", "cubic")}
SCENARIO: dict[str, Any] = {"duration": "6 s", "topology": {"dumbbell": {"forward": LINK}}, "flows": FLOWS}
DELAY = "topology.dumbbell.forward.delay"
BACK = "topology.dumbbell.reverse.delay"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return varicap.sweep(SCENARIO, {DELAY: ["5 ms", "40 ms"]}, seeds=4, folder=tmp_path_factory.mktemp("s") / "study")


def test_differences_between_flows_at_each_point_are_paired(study: Study) -> None:
    found = study.differences("cubic").to_pylist()
    for number in (0, 1):
        of = {
            name: [
                row["goodput_bps"] for row in study.flows.to_pylist() if (row["point"], row["name"]) == (number, name)
            ]
            for name in ("reno", "cubic")
        }
        apart = Interval.of(np.array(of["reno"]) - np.array(of["cubic"]))
        (row,) = (each for each in found if each["point"] == number and each["measure"] == "goodput_bps")
        assert (row["flow"], row["reference"], row[DELAY]) == ("reno", "cubic", ("5 ms", "40 ms")[number])
        assert [row["difference"], row["lo"], row["hi"]] == pytest.approx([apart.mean, apart.lo, apart.hi])


def test_the_command_prints_what_is_chosen(cli: Cli, study: Study) -> None:
    text = cli("table", study.folder, "--measure", "rtt_p95_ms,goodput_bps", "--flows", "cubic", "--style", "markdown")
    rows = [line for line in text.stdout.splitlines() if "| cubic |" in line]
    assert len(rows) == 2
    assert "reno" not in text.stdout
    assert text.stdout.index("round-trip time") < text.stdout.index("goodput")
    differ = cli("table", study.folder, "--differences", "--style", "latex")
    assert differ.returncode == 0, differ.stderr
    assert "40 ms & cubic &" in differ.stdout
    assert "does not include zero" in differ.stdout, "what the stars mean stands below"
    wrong = cli("table", study.folder, "--measure", "goodputt_bps")
    assert wrong.returncode == 2
    assert "did you mean `goodput_bps`" in wrong.stderr


def test_a_wide_table_is_made_as_narrow_as_a_column() -> None:
    narrow = formats.latex(["a", "b [Mb/s]"], [["1", "2"]])
    wide = formats.latex(["a", *(f"a measure number {n} [Mb/s]" for n in range(8))], [["1", *["12.3 ± 0.4"] * 8]])
    assert "resizebox" not in narrow
    assert r"\resizebox{\columnwidth}{!}{%" in wide
    assert wide.count("{") - wide.count(r"\{") == wide.count("}") - wide.count(r"\}")
    noted = formats.latex(["a"], [["1"]], "100 % of *")
    assert r"\parbox{\columnwidth}{100 \% of *}}" in noted


def test_measures_of_runs_have_the_intervals_of_the_tables(tmp_path: Path) -> None:
    result = varicap.run(SCENARIO, seeds=3)
    headings, rows = measured.table(result, "goodput_bps", "reno")
    assert headings == ["flow", "goodput [Mb/s]"]
    flow = result.summary["flows"][0]["goodput_bps"]
    assert rows == [["reno", with_interval(flow["mean"], flow["lo"], flow["hi"], 1e-6)]]


def test_runs_of_two_kinds_are_told() -> None:
    rates = [0.95e6, 0.94e6, 0.76e6, 0.96e6, 0.95e6, 0.77e6, 0.93e6, 0.75e6, 0.94e6, 0.95e6]
    flows = summary_of({0: rates}).flows.drop_columns(["point"])
    said = list(story._two_kinds(flows))
    assert said == ["a: 7 of 10 runs are near 0.946 Mb/s, 3 near 0.760: the mean is that of none."]
    one = summary_of({0: [1e6 + 1e4 * run for run in range(10)]}).flows.drop_columns(["point"])
    assert list(story._two_kinds(one)) == []


def test_linked_axes_go_together_and_are_one_axis() -> None:
    found = varicap.sweep(SCENARIO, {f"{DELAY} & {BACK}": ["5 ms & 10 ms", "40 ms"]}, seeds=2)
    assert [dict(point) for point in found.points] == [{DELAY: "5 ms", BACK: "10 ms"}, {DELAY: "40 ms", BACK: "40 ms"}]
    assert free(found) == [DELAY]
    with pytest.raises(varicap.study.DesignError, match="3 values for 2 linked keys"):
        varicap.sweep(SCENARIO, {f"{DELAY} & {BACK}": ["1 ms & 2 ms & 3 ms"]})


def test_a_link_of_one_flow_has_its_colour() -> None:
    alone = varicap.sweep({**SCENARIO, "isolate": True}, {DELAY: ["5 ms", "40 ms"]}, seeds=1)
    names = ["reno/forward", "reno/reverse", "cubic/forward", "cubic/reverse"]
    assert [colours(alone, names)[name] for name in names] == [0, 0, 1, 1]
    assert [colours(alone, ["reno", "cubic"])[name] for name in ("reno", "cubic")] == [0, 1]


def test_another_question_about_a_scenario_has_its_own_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'duration = "2 s"\n[topology.dumbbell.forward]\ncapacity = "5 Mbit/s"\ndelay = "10 ms"\n[flows.a]\n'
    )
    first = cli("sweep", "s.toml", "--over", f"{DELAY}=5 ms", "--seeds", 1, "--no-plot")
    second = cli("sweep", "s.toml", "--over", f"{DELAY}=9 ms", "--seeds", 1, "--no-plot")
    assert (first.returncode, second.returncode) == (0, 0), second.stderr
    assert "another study that was in varicap-out/s-sweep is now in varicap-out/s-sweep-1" in second.stderr
    chosen = ("sweep", "s.toml", "--seeds", 1, "--no-plot", "-o", "mine")
    cli(*chosen, "--over", f"{DELAY}=5 ms")
    assert cli(*chosen, "--over", f"{DELAY}=9 ms").returncode == 1


def test_a_comparison_without_any_answer_is_no_success(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'duration = "5 s"\n[topology.dumbbell.forward]\ncapacity = "5 Mbit/s"\ndelay = "10 ms"\nqueue = "codel"\n'
        "[flows.a]\n"
        'tcp = { congestion = "bbr" }\n'
    )
    done = cli("compare", "s.toml", "--engine", "model")
    assert done.returncode == 3
    assert "no engine answered" in done.stderr
    both = cli("compare", "s.toml", "--engine", "model", "--engine", "sim", "--seeds", 2, "--no-plot")
    assert both.returncode == 0
    assert "a: goodput" in both.stdout
