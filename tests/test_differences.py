"""Differences of flows of the same runs, and tables for papers."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from conftest import Cli

import varicap
from varicap.report.differences import note, table
from varicap.report.formats import latex
from varicap.report.table import rows as rows_of
from varicap.report.web.page import html
from varicap.results.result import Result
from varicap.statistics import Interval


@pytest.fixture(scope="module")
def result() -> Result:
    return varicap.run("examples/lte.toml", seeds=4, overrides={"duration": "20 s"})


def values(result: Result, name: str, measure: str) -> Any:
    return np.asarray(result.flows.filter(pc.equal(result.flows["name"], name))[measure].to_numpy(), np.float64)


def test_differences_are_paired_by_run(result: Result) -> None:
    rows = {(row["flow"], row["measure"]): row for row in result.differences().to_pylist()}
    assert {flow for flow, _ in rows} == {"newreno", "sack", "cubic"}
    for measure in ("goodput_bps", "rtt_p95_ms", "retransmitted_packets"):
        first, row = values(result, "reno", measure), rows["cubic", measure]
        paired = Interval.of(values(result, "cubic", measure) - first)
        assert (row["difference"], row["lo"], row["hi"]) == pytest.approx((paired.mean, paired.lo, paired.hi))
        assert row["percent"] == pytest.approx(100 * paired.mean / first.mean())
        assert (row["reference"], row["runs"]) == ("reno", 4)
    link = result.links.filter(pc.equal(result.links["name"], "forward"))
    delay = [
        np.asarray(link.filter(pc.equal(link["flow"], flow))["sojourn_p95_ms"].to_numpy()) for flow in ("cubic", "reno")
    ]
    assert rows["cubic", "sojourn_p95_ms"]["difference"] == pytest.approx((delay[0] - delay[1]).mean())


def test_a_delay_is_that_of_the_link_in_the_summary_and_not_of_the_senders_own_buffer() -> None:
    explicit = varicap.run("examples/explicit.toml", seeds=3, overrides={"duration": "20 s"})
    rows = {(row["flow"], row["measure"]): row for row in explicit.differences().to_pylist()}
    cells = {row[0]: row for _, body in rows_of(explicit.summary) for row in body}
    delays = {
        link["flow"]: link["sojourn_ms"]["p95"] for link in explicit.summary["links"] if link["name"] == "forward"
    }
    for flow in ("accel-brake", "instcap", "effcap"):
        assert rows[flow, "sojourn_p95_ms"]["difference"] == pytest.approx(delays[flow] - delays["cubic"])
        assert float(cells[flow][4].split()[0]) == pytest.approx(delays[flow], rel=0.1)


def test_links_are_compared_between_groups_only() -> None:
    changes = {"flows.reno.count": "2", "duration": "10 s"}
    found = varicap.run("examples/lte.toml", seeds=2, overrides=changes).differences().to_pylist()
    of_links = {row["flow"] for row in found if row["measure"] == "sojourn_p95_ms"}
    assert {row["flow"] for row in found} == {"reno.1", "newreno", "sack", "cubic"}
    assert of_links == {"newreno", "sack", "cubic"}


def test_the_note_of_one_run_has_no_interval() -> None:
    one = varicap.run("examples/lte.toml", seeds=1, overrides={"duration": "10 s"})
    assert note(one.differences()) == "Differences in one run, which has no interval: they may be chance."
    assert "%" not in note(one.differences())
    page = html(one)
    assert note(one.differences()) in page
    assert "95 %" not in page


def test_the_reference_can_be_chosen(result: Result) -> None:
    there = {row["flow"]: row for row in result.differences("cubic").to_pylist() if row["measure"] == "goodput_bps"}
    back = {row["flow"]: row for row in result.differences("reno").to_pylist() if row["measure"] == "goodput_bps"}
    assert there["reno"]["difference"] == pytest.approx(-back["cubic"]["difference"])
    with pytest.raises(ValueError, match="no flow `vegas`; there are: reno, newreno, sack, cubic"):
        result.differences("vegas")


def test_one_run_has_differences_without_an_interval_and_none_is_marked() -> None:
    one = varicap.run("examples/lte.toml", seeds=1, overrides={"duration": "20 s"})
    assert all(np.isnan(row["lo"]) for row in one.differences().to_pylist())
    assert not any("*" in cell for row in table(one.differences())[1] for cell in row)
    alone = varicap.run("examples/fixed.toml", seeds=2, overrides={"duration": "15 s"})
    assert alone.differences().num_rows == 0


def test_a_difference_is_marked_if_its_interval_does_not_include_zero(result: Result) -> None:
    headings, rows = table(result.differences())
    assert headings[:2] == ["against reno", "goodput [Mb/s]"]
    found = {row["flow"]: row for row in result.differences().to_pylist() if row["measure"] == "goodput_bps"}
    for flow, cell, *_ in rows:
        assert cell.endswith("*") == (found[flow]["lo"] > 0 or found[flow]["hi"] < 0)
    marks = [cell.endswith("*") for row in rows for cell in row[1:]]
    assert any(marks)
    assert not all(marks)


def test_latex_escapes_what_it_would_obey() -> None:
    hostile = r"\input{x} & 50 % $x$ #1 a_b ~ ^"
    text = latex(["flow", "loss [%]"], [[hostile, "1 ± 2"], ["[1ex] b", "-3"], ["*", "x-1"]])
    lines = text.splitlines()
    assert lines[3:4] == [r"  \toprule"]
    assert lines[6] == (
        r"  \textbackslash{}input\{x\} \& 50 \% \$x\$ \#1 a\_b \textasciitilde{} \textasciicircum{} & 1 $\pm$ 2 \\"
    )
    assert lines[7] == r"  {}[1ex] b & $-$3 \\"
    assert lines[8] == r"  {}* & x-1 \\"
    rows = [line for line in lines if line.endswith(r"\\")]
    assert all(len(re.findall(r"(?<!\\)&", row)) == 1 for row in rows)
    assert "\\u001b" not in text
    assert r"\textbackslash{}u001b" in latex(["\x1b"], [])


def test_tables_from_the_command_line(cli: Cli, result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "results")
    done = cli("table", "results", "--differences")
    assert done.returncode == 0, done.stderr
    assert "run by run" in done.stdout
    assert "against reno" in done.stdout
    assert cli("table", "results", "--against", "sack", "-o", "t.tex").returncode == 0
    tex = (tmp_path / "t.tex").read_text()
    body = tex.split(r"\midrule")[1]
    assert body.count(r"\\") == 3
    assert re.search(r"against( sack)? &", tex)
    assert cli("table", "results").stdout.count("cubic") == 1
    assert cli("table", "results", "-o", "t.md").returncode == 0
    assert (tmp_path / "t.md").read_text().startswith("| flow | goodput \\[Mb/s\\] |")
    for wrong, complaint in (
        (("--against", "vegas"), "results: no flow `vegas`; there are: reno"),
        (("-o", "t.doc"), "does not end in .tex or .md"),
        (("--format", "latx"), "did you mean `latex`"),
    ):
        done = cli("table", "results", *wrong)
        assert done.returncode == 2
        assert complaint in " ".join(done.stderr.replace("│", " ").split())
