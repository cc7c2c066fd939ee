"""Tables at any width: no word is cut, and what has no room is named."""

from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, Cli

import varicap
from varicap.report import points
from varicap.report.table import fit, rich_tables, rows, with_interval
from varicap.terminal import print_tables

SHORT = {"duration": "12 s", "warmup": "2 s"}


@pytest.fixture(scope="module", params=["fixed", "lte"])
def summary(request: pytest.FixtureRequest) -> dict[str, Any]:
    return varicap.run(EXAMPLES / f"{request.param}.toml", seeds=2, overrides=SHORT).summary


def printed(summary: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_tables(rich_tables(summary))
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_words_stay_whole_at_any_width(
    summary: dict[str, Any], width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = printed(summary, capsys)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    tables = rows(summary)
    words = {word for headings, _ in tables for heading in headings for word in heading.split()}
    heads = [line for line in lines if line.startswith("┃")]
    assert {word for line in heads for word in line.replace("┃", " ").split()} <= words
    cells = {cell for _, body in tables for row in body for cell in row}
    assert {cell.strip() for line in lines if line.startswith("│") for cell in line.strip("│").split("│")} <= cells
    # What is not there is named.
    shown = "".join(" ".join(lines).split())
    missing = [heading for headings, _ in tables for heading in headings if heading.split()[-1] not in " ".join(lines)]
    assert all("".join(heading.split()) in shown for heading in missing)
    assert ("Not shown" in "".join(lines)) == (width <= 80), "of these tables"


def test_a_pipe_gets_whole_tables(
    summary: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    summary["scenario"]["name"] = "long" * 40
    summary["flows"][0]["name"] = "wide" * 40
    shown = "\n".join(printed(summary, capsys))
    for whole in ("long" * 40, "wide" * 40, "timeouts"):
        assert whole in shown


def test_the_least_important_columns_go_first(fixed: Path) -> None:
    table = rich_tables(varicap.run(fixed, seeds=2, overrides=SHORT).summary)[0]
    assert fit(table, 60)[:2] == ["fast retransmits", "sent"]
    assert [str(column.header).split()[0] for column in table.columns][:2] == ["flow", "goodput"]
    fit(table, 1)
    assert len(table.columns) == 1


def test_runs_that_agree_have_no_interval(fixed: Path) -> None:
    assert with_interval(289.0, 289.0, 289.0) == "289"
    result = varicap.run(fixed, seeds=2, overrides=SHORT)
    assert "none where all runs agree" in str(rich_tables(result.summary)[0].title)
    alone = varicap.run(fixed, seeds=1, overrides=SHORT)
    assert "interval" not in str(rich_tables(alone.summary)[0].title)


def test_a_sweep_of_many_flows_has_a_row_for_each() -> None:
    over = {"topology.dumbbell.forward.delay": ["5 ms", "20 ms"]}
    study = varicap.sweep(EXAMPLES / "lte.toml", over, seeds=2, overrides=SHORT)
    headings, lines = points.tall(study)
    assert headings == ["delay", "flow or link", "goodput [Mb/s]", "utilisation [%]", "queueing delay p95 [ms]"]
    assert [line[:2] for line in lines[:5]] == [
        *[["5 ms", "reno"], ["", "newreno"], ["", "sack"], ["", "cubic"]],
        ["20 ms", "reno"],
    ]
    assert all(float(line[3].split()[0]) > 50 for line in lines), "of the link that is used most"
    wide_headings, wide = points.table(study)
    assert lines[0][2] == wide[0][wide_headings.index("reno [Mb/s]")]


def test_a_sweep_of_shared_links_has_a_row_for_each_link(fixed: Path) -> None:
    study = varicap.sweep(fixed, {"seed": ["1"]}, seeds=2, overrides=SHORT)
    assert [(line[1], line[2] == "–") for line in points.tall(study)[1]] == [("reno", False), ("forward", True)]


def test_sweeps_fit_a_terminal(cli: Cli) -> None:
    over = "topology.dumbbell.forward.delay=5 ms,20 ms"
    sets = [part for key, value in SHORT.items() for part in ("--set", f"{key}={value}")]
    done = cli("sweep", EXAMPLES / "lte.toml", "--over", over, "--seeds", 2, "--no-plot", *sets, env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout
    assert len([line for line in done.stdout.splitlines() if "newreno" in line and "│" in line]) == 2
    assert "queueing" in done.stdout, "what buffers cost is there at 80 columns"
