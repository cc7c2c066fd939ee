"""The papers: claims as data, verdicts that can say no, and `varicap reproduce`."""

import json
import math
import re
import tomllib
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from matplotlib.figure import Figure
from typer.testing import CliRunner

from varicap import cli as program
from varicap import papers
from varicap.engines.scenarios import load
from varicap.papers import conclusions, page, record, words
from varicap.papers import report as verdicts
from varicap.papers import reproduce as reproducing
from varicap.papers.abc import schemes
from varicap.papers.bar import bar
from varicap.papers.claims import Claim, ClaimsError, Maker, Paper, read
from varicap.papers.reproduce import Reproduction, maker, reproduce
from varicap.papers.run import Grid, Outcome, Run, goodput
from varicap.papers.verdict import Value, judge
from varicap.report.table import with_interval
from varicap.statistics import Interval

pytestmark = pytest.mark.slow

PAPERS = papers.keys()

CLAIM: dict[str, Any] = {
    "id": "a",
    "figure": "fig01",
    "where": "Fig. 1",
    "statement": "it is ten",
    "engine": "sim",
    "unit": "kB/s",
    "paper": 10.0,
    "quote": "ten",
    "tolerance": "5 %",
    "reason": "because",
}
TABLE: dict[str, Any] = {
    "id": "T",
    "figure": "fig01",
    "where": "Table I",
    "unit": "kB/s",
    "column": "columns",
    "columns": [0.0, 0.5],
    "quote": "a table",
    "tolerance": ["5 %", "10 %"],
    "reason": "because",
    "rows": [{"id": "r", "statement": "a row", "engine": "model", "paper": [1.0, 2.0]}],
}


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {toml(item)}' for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str | bool) else repr(value)


def paper_of(*claims: dict[str, Any], tables: tuple[dict[str, Any], ...] = ()) -> Paper:
    text = 'title = "T"\nreference = "ratcp"\n[figures]\nfig01 = "one"\n'
    lists = {"claims": list(claims), "tables": list(tables)}
    return read("test", "".join(f"{key} = {toml(value)}\n" for key, value in lists.items()) + text)


def claim(**changes: Any) -> Claim:
    return paper_of(CLAIM | changes).claims[0]


# ---- the papers that are here ------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", PAPERS)
def test_claims_are_well_formed(key: str) -> None:
    paper = papers.paper(key)
    assert paper.title
    assert f"{{{paper.reference}," in (ROOT / "REFERENCES.bib").read_text(encoding="utf-8")
    for one in paper.claims:
        assert one.reason
        low, high = one.accept
        assert low < high
        if not isinstance(one.paper, str):
            # What the paper itself says must not be refused.
            assert low <= one.paper <= high, one.id


@pytest.mark.parametrize("key", PAPERS)
def test_what_is_on_record_of_a_claim_stands_with_it(key: str) -> None:
    """A heading begins a section, so that a table follows it: no key of the last one."""
    written = resources.files("varicap.papers") / key / "claims.toml"
    is_headed = False
    for line in written.read_text(encoding="utf-8").splitlines():
        assert not is_headed or line.startswith(("[", "#")) or not line, line
        is_headed = line.startswith("# ----") or (is_headed and not line.startswith("["))


def test_a_figure_of_a_family_names_its_module_and_what_that_is_told() -> None:
    head = 'title = "T"\nreference = "ratcp"\n[figures]\n'
    made = read("x", head + 'one = "One"\ntwo = { title = "Two", by = "both", psi = "small" }\n')
    assert dict(made.figures) == {"one": "One", "two": "Two"}
    assert made.makers == {"one": Maker("one", {}), "two": Maker("both", {"psi": "small"})}
    with pytest.raises(ClaimsError, match="`three` is a title, or a table with a `title` and the module"):
        read("x", head + 'three = { title = "Three" }\n')


@pytest.mark.parametrize("key", PAPERS)
def test_a_word_has_one_bound_over_all_papers_or_the_claim_says_why_not(key: str) -> None:
    if key in ("abr", "lrl", "minrate", "ratcp", "wireless"):
        for one in papers.paper(key).claims:
            assert not list(words.unlike(one)), one.id


def test_a_bound_that_no_word_sets_is_noticed() -> None:
    said = {"paper": "much", "tolerance": None, "quote": "it is significantly more"}
    well = paper_of({key: value for key, value in (CLAIM | said | {"accept": [1.1, 9.0]}).items() if value is not None})
    assert list(words.unlike(well.claims[0])) == ["9, which is none of much"]
    assert list(words.unlike(replace(well.claims[0], accept=(1.25, math.inf)))) == ["1.25, which is none of much"]
    assert not list(words.unlike(replace(well.claims[0], accept=(1.1, math.inf))))
    assert not list(words.unlike(replace(well.claims[0], unlike="said otherwise")))
    assert not list(words.unlike(replace(well.claims[0], quote="it is 9"))), "no word of the table"


def test_no_word_has_two_meanings() -> None:
    every = [word for one in words.table().values() for word in one.words]
    assert len(every) == len(set(every))
    assert {one.name: one.margin for one in words.table().values()} == {
        "ordering": 0.0,
        "equal": 0.05,
        "close": 0.1,
        "much": 0.1,
        "strongly": 0.5,
    }


@pytest.mark.parametrize("key", PAPERS)
def test_every_figure_has_its_module_and_its_claims(key: str) -> None:
    paper = papers.paper(key)
    for figure in paper.figures:
        assert callable(maker(paper, figure))
        assert paper.of(figure) or paper.figures[figure].startswith("Beyond the paper")


@pytest.mark.parametrize(
    "file",
    [file for key in PAPERS for file in sorted((ROOT / f"python/varicap/papers/{key}/scenarios").glob("*.toml"))],
)
def test_scenarios_of_papers_are_accepted(file: Path) -> None:
    assert load(file).name == tomllib.loads(file.read_text(encoding="utf-8"))["name"]


def test_the_ratcp_table_is_whole() -> None:
    cells = [one for one in papers.paper("ratcp").claims if one.cell]
    assert len(cells) == 13 * 9
    assert sum(one.engine == "model" for one in cells) == 5 * 9


# ---- reading claims ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reason": ""}, "wants a `reason`"),
        ({"figure": "fig02"}, "does not list"),
        ({"engine": "kernel"}, "`engine`"),
        ({"tolerance": "close"}, "`tolerance` is"),
        ({"tolerance": "0 %"}, "more than nothing"),
        ({"accept": [9.0, 11.0]}, "either"),
        ({"tolerance": None}, "either"),
        ({"tolerance": None, "accept": [11.0, 9.0]}, "is a range"),
        ({"paper": "ten"}, "words have no tolerance"),
        ({"paper": True}, "`paper` is a number"),
        ({"expect": "differs"}, "`note` says why"),
        ({"expect": "maybe"}, "`expect` is"),
        ({"tolerence": "5 %"}, "no key `tolerence`"),
    ],
)
def test_a_malformed_claim_is_refused(changes: dict[str, Any], message: str) -> None:
    merged = {key: value for key, value in (CLAIM | changes).items() if value is not None}
    with pytest.raises(ClaimsError, match=message):
        paper_of(merged)


def test_an_id_is_used_once() -> None:
    with pytest.raises(ClaimsError, match="two claims"):
        paper_of(CLAIM, CLAIM)


def test_tolerances_are_shares_or_amounts() -> None:
    assert claim(tolerance="5 %").accept == (9.5, 10.5)
    assert claim(tolerance="2").accept == (8.0, 12.0)


def test_a_table_becomes_a_claim_for_each_cell() -> None:
    first, second = paper_of(tables=(TABLE,)).claims
    assert (first.id, first.cell, first.accept) == ("T.r.0", ("a row", "0"), (0.95, 1.05))
    assert (second.id, second.paper, second.accept) == ("T.r.0.5", 2.0, (1.8, 2.2))


def test_a_row_has_a_number_for_each_column() -> None:
    short = {**TABLE, "rows": [{**TABLE["rows"][0], "paper": [1.0]}]}
    with pytest.raises(ClaimsError, match="2 columns"):
        paper_of(tables=(short,))


# ---- verdicts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lo", "hi", "verdict"),
    [
        (9.6, 10.4, "reproduced"),
        (9.5, 10.5, "reproduced"),
        (10.4, 10.6, "unsettled"),
        (10.5, 10.6, "unsettled"),
        (9.0, 11.0, "unsettled"),
        (10.51, 10.6, "differs"),
        (8.0, 9.49, "differs"),
    ],
)
def test_the_whole_interval_decides(lo: float, hi: float, verdict: str) -> None:
    assert judge(claim(), Value(sim=Interval((lo + hi) / 2, lo, hi))).verdict == verdict


def test_a_number_of_the_simulator_without_an_interval_cannot_reproduce_a_claim() -> None:
    judged = judge(claim(), Value(sim=Interval(10.0)))
    assert (judged.verdict, judged.runs_missing) == ("unsettled", None)
    assert judged.note == "not settled: a number without an interval"
    assert judge(claim(), Value(sim=Interval(11.0))).verdict == "differs"
    assert judge(claim(engine="model"), Value(model=10.0)).verdict == "reproduced"


def test_as_many_runs_as_are_missing_settle_a_claim() -> None:
    samples = [10.2, 10.4, 10.6, 10.3, 10.1] * 2
    judged = judge(claim(), Value(sim=Interval.of(samples)))
    missing = judged.runs_missing
    assert judged.verdict == "reproduced"
    assert missing is None
    few = judge(claim(), Value(sim=Interval.of(samples[:5])))
    assert few.verdict == "unsettled"
    assert few.runs_missing is not None
    assert few.note == f"not settled: about {few.runs_missing} more runs would do"
    enough = samples[:5] * (1 + -(-few.runs_missing // 5))
    assert judge(claim(), Value(sim=Interval.of(enough))).verdict == "reproduced"
    on_the_bound = judge(claim(), Value(sim=Interval(10.5, 10.0, 11.0, 5)))
    assert on_the_bound.runs_missing is None
    assert on_the_bound.note == "not settled: the mean lies on a bound"


def test_the_nearest_bound_says_how_many_runs_are_missing() -> None:
    both = Interval(9.9, 9.0, 11.0, 4)
    # The nearer end is 0.9 away, the bound 0.4: (0.9 / 0.4)^2 times 4 runs, and a little more as that is an estimate.
    assert judge(claim(), Value(sim=both)).runs_missing == math.ceil(1.2 * 20.25) + 1 - 4


def test_wrong_values_make_every_claim_differ() -> None:
    for one in papers.paper("ratcp").claims:
        low, high = one.accept
        wrong = low - 1.0 if low > float("-inf") else high + 1.0
        assert judge(one, Value(model=wrong, sim=Interval(wrong))).verdict == "differs", one.id


def test_not_a_number_reproduces_nothing() -> None:
    assert judge(claim(), Value(sim=Interval(float("nan")))).verdict == "differs"


def test_a_claim_about_data_that_is_not_here_stays_open_and_says_so() -> None:
    judged = judge(claim(expect="differs", note="1.9"), Value(absent="the traces are not here"))
    assert (judged.verdict, judged.note) == ("unsettled", "not settled: the traces are not here")
    assert judged.runs_missing is None
    assert judged.to_dict()["sim"] is None
    assert "–" in with_interval(judged.ours.mean, judged.ours.lo, judged.ours.hi)


def test_without_traces_the_claims_about_them_are_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VARICAP_TRACES", str(tmp_path / "nowhere"))
    paper = papers.paper("abc")
    done = reproduce(paper, ["verizon"], run=Run("abc", quick=True))
    assert done.counts == {"reproduced": 0, "differs": 0, "unsettled": len(paper.of("verizon"))}
    assert {one.note for one in done.claims} == {
        "not settled: the traces are not here; VARICAP_TRACES names their folder"
    }


def test_a_folder_that_lacks_a_trace_leaves_its_claims_open_and_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "Verizon-LTE-short.up").write_text("1\n2\n", encoding="utf-8")
    monkeypatch.setenv("VARICAP_TRACES", str(tmp_path))
    done = reproduce(papers.paper("abc"), ["verizon"], run=Run("abc", quick=True))
    assert {one.note for one in done.claims} == {
        "not settled: the folder of the traces (VARICAP_TRACES) has no Verizon-LTE-short.down"
    }


def test_a_folder_of_traces_may_have_a_quote_in_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / 'one\'s "traces"'
    folder.mkdir()
    opportunities = "".join(f"{at}\n" for at in range(1, 1001, 2))
    (folder / "up").write_text(opportunities, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("VARICAP_TRACES", ".")
    assert schemes.missing(["up", "down"]).endswith("has no down")
    run = Run("abc", quick=True)
    measured = schemes.measure(run, "cubic", schemes.folder() / "up", limit=100, back="12 Mbit/s", seeds=1)
    assert measured.throughput.shape == (1,)


def test_json_has_no_nan() -> None:
    judged = judge(claim(), Value(sim=Interval(float("nan"), 1.0, float("inf")), model=float("nan")))
    assert judged.to_dict()["sim"] == {"mean": None, "lo": 1.0, "hi": None}
    assert judged.to_dict()["model"] is None


def test_a_claim_on_the_analysis_is_judged_by_the_model() -> None:
    both = Value(model=20.0, sim=Interval(10.0))
    assert judge(claim(engine="model"), both).verdict == "differs"
    assert judge(claim(engine="sim"), both).verdict == "unsettled"
    with pytest.raises(ValueError, match="gave no value"):
        judge(claim(engine="model"), Value(sim=Interval(10.0)))


def test_a_differing_claim_keeps_its_reason_and_is_no_surprise() -> None:
    judged = judge(claim(expect="differs", note="known"), Value(sim=Interval(20.0)))
    assert judged.verdict == "differs"
    assert judged.to_dict()["note"] == "known"


def test_the_interval_is_students() -> None:
    # Source: [law2015, §4.5]; t(2, 0.975) = 4.3027, standard deviation 1, three samples.
    interval = Interval.of([1.0, 2.0, 3.0])
    assert interval.hi == pytest.approx(2.0 + 4.30265 / 3**0.5, abs=1e-4)
    assert Interval.of([5.0]) == Interval(5.0, None, None)


# ---- runs --------------------------------------------------------------------------------------------------------


def test_the_same_request_runs_once_in_a_call() -> None:
    run = Run("ratcp")
    first = run.simulate("beside-tcp", {"duration": "30 s"}, seeds=2)
    assert run.simulate("beside-tcp", {"duration": "30 s"}, seeds=2) is first
    assert run.simulate("beside-tcp", {"duration": "31 s"}, seeds=2) is not first
    assert Run("ratcp").simulate("beside-tcp", {"duration": "30 s"}, seeds=2) is not first


def test_leaving_isolated_flows_out_changes_nothing_for_the_others() -> None:
    run = Run("ratcp")
    whole = run.simulate("persistent", {"duration": "60 s"}, seeds=2)
    alone = run.simulate("persistent", {"duration": "60 s"}, seeds=2, flows=["tcp"])
    assert goodput(alone, "tcp").tolist() == goodput(whole, "tcp").tolist()


def test_settling_spends_what_the_claims_need_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[int] = []

    def measure(run: Run) -> Outcome:
        spent.append(run.effort)
        seeds = 4 * run.effort
        near = Interval.of([10.2, 10.4, 10.6, 10.3] * run.effort)
        assert near.samples == seeds
        return Outcome({"a": Value(sim=near), "b": Value(sim=Interval.of([0.0, 2.0] * (seeds // 2)))}, Figure)

    monkeypatch.setattr(reproducing, "maker", lambda paper, figure: measure)
    hopeless = CLAIM | {"id": "b", "tolerance": "1.0", "paper": 2.0}
    paper = paper_of(CLAIM, hopeless)
    usual = reproduce(paper, run=Run("test"))
    assert spent == [1]
    assert usual.counts == {"reproduced": 0, "differs": 0, "unsettled": 2}
    spent.clear()
    settled = reproduce(paper, run=Run("test", settle=True))
    assert settled.counts == {"reproduced": 1, "differs": 0, "unsettled": 1}
    assert spent[0] == 1
    assert len(spent) == 2
    assert 1 < spent[1] <= reproducing.MOST_EFFORT
    spent.clear()
    (precise,) = reproduce(paper_of(CLAIM), run=Run("test", precision=0.01)).claims
    assert precise.ours.hi is not None
    assert precise.ours.hi - precise.ours.mean <= 0.01 * precise.ours.mean
    assert spent[0] == 1
    assert 1 < spent[-1] < reproducing.MOST_EFFORT
    spent.clear()
    reproduce(paper_of(hopeless), run=Run("test", precision=0.01))
    assert spent == [1, reproducing.MOST_EFFORT], "an end"


def test_effort_is_a_number_of_runs() -> None:
    assert Run("ratcp", effort=3).simulate("beside-tcp", {"duration": "25 s"}, seeds=2).runs == 6


# ---- the command -------------------------------------------------------------------------------------------------


def test_without_a_key_the_papers_are_listed(cli: Cli) -> None:
    done = cli("reproduce")
    assert done.returncode == 0
    assert "ratcp: " in done.stdout
    assert "table1" in done.stdout
    listed = json.loads(cli("reproduce", "--json").stdout)["papers"]
    assert [one["key"] for one in listed] == PAPERS


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("rattcp",), "did you mean `ratcp`?"),
        (("ratcp", "fig4"), "did you mean `fig04`?"),
        (("all", "fig04"), "one paper"),
    ],
)
def test_what_is_not_known_is_said_with_what_is(cli: Cli, arguments: tuple[str, ...], hint: str) -> None:
    done = cli("reproduce", *arguments, env={"COLUMNS": "200"})
    assert done.returncode == 2
    assert hint in done.stderr
    assert done.stdout == ""


def test_a_quick_figure_end_to_end(cli: Cli, tmp_path: Path) -> None:
    done = cli("reproduce", "ratcp", "fig06", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["paper"] == "ratcp"
    found, *_ = result["claims"]
    required = {
        "id",
        "where",
        "statement",
        "quote",
        "paper",
        "model",
        "sim",
        "kernel",
        "judged_by",
        "bounds",
        "tolerance",
    }
    assert required | {"verdict", "note", "runs_missing"} <= set(found)
    assert list(result)[:3] == ["paper", "conclusions", "statements"], "conclusions come first, then statements"
    assert sum(result["verdicts"].values()) == len(result["claims"]) == 2
    assert found["judged_by"] == "sim"
    assert found["bounds"]["low"] <= found["sim"]["lo"]
    assert found["id"] == "F6-greedy"
    assert found["sim"]["lo"] <= found["sim"]["mean"] <= found["sim"]["hi"]
    assert found["verdict"] == "reproduced"
    folder = tmp_path / "varicap-out/reproduce/ratcp"
    assert (folder / "fig06.png").read_bytes().startswith(b"\x89PNG")
    assert "F6-greedy" in (folder / "fig06.html").read_text()
    assert not (folder / "index.html").exists(), "a page of one figure does not replace that of the paper"


def test_a_whole_paper_has_a_page_and_a_place_in_the_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = papers.paper("ratcp")
    small = replace(whole, figures={"fig06": whole.figures["fig06"]}, claims=whole.of("fig06")[:1])
    monkeypatch.setattr(papers, "paper", lambda _: small)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/claims.json").write_text("[]")  # not ours
    done = CliRunner().invoke(program.app, ["reproduce", "ratcp", "--quick", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "ratcp/index.html").read_text()
    assert 'src="data:image/png;base64,' in text
    assert 'id="scenario-beside-tcp"' in text
    assert 'href="#scenario-beside-tcp"' in text
    assert "1 of 1 claims reproduced, 0 differ, 0 unsettled" in text
    assert json.loads((tmp_path / "ratcp/claims.json").read_text())["claims"][0]["id"] == "F6-greedy"
    index = (tmp_path / "index.html").read_text()
    assert 'href="ratcp/index.html#fig06"' in index
    assert 'src="ratcp/fig06.png"' in index
    assert "other" not in index


def test_a_page_shows_words_bounds_and_verdicts_and_is_only_text() -> None:
    paper = paper_of(CLAIM | {"quote": "<b>ten</b>"}, tables=(TABLE,))
    values = {"a": Value(sim=Interval(10.1, 10.0, 10.2)), "T.r.0": Value(model=1.0), "T.r.0.5": Value(model=3.0)}
    judged = tuple(judge(one, values[one.id]) for one in paper.claims)
    grids = [Grid("more", "kB/s", "columns", ["x"], {"sack": [Interval(7.0, 6.0, 8.0)]})]
    grids.append(replace(grids[0], title="Readings: of ten"))
    done = Reproduction(paper, judged, tuple(("fig01", grid) for grid in grids), (), {"fig01": ()}, is_quick=True)
    text = page.html(done)
    assert "“&lt;b&gt;ten&lt;/b&gt;”" in text
    assert "<b>ten" not in text
    assert text.count("because") == 1, "a reason that the next claims share stands once"
    assert text.count('class="bound reproduced"') == 2
    assert text.count('class="bound differs"') == 1
    assert text.index("Readings: of ten") < text.index(">more<")
    assert "ours 10.10 ± 0.10, accepted 5 %: reproduced" in text


def test_a_bar_holds_the_bounds_the_paper_and_ours() -> None:
    drawn = bar(judge(claim(), Value(sim=Interval(10.1, 10.0, 10.2))))
    # From 9.38 to 10.62 over 220: the bounds 9.5 and 10.5, the paper's 10, ours 10.1.
    assert '<rect x="21.3" y="4" width="177.4"' in drawn
    assert '<circle cx="127.7" cy="13" r="3.5"' in drawn
    assert '<circle cx="110.0" cy="13" r="5.5"' in drawn
    at_least_one = replace(claim(), paper="more", accept=(1.0, float("inf")))
    open_ended = bar(judge(at_least_one, Value(sim=Interval(2.0, 1.5, 2.5))))
    assert '<rect x="21.3" y="4" width="198.7"' in open_ended, "a band without an end goes to the edge"
    assert bar(judge(claim(), Value(sim=Interval(float("nan"))))) == ""


def test_without_matplotlib_it_says_what_to_install(cli: Cli, tmp_path: Path) -> None:
    absent = "raise ModuleNotFoundError(\"No module named 'matplotlib'\", name='matplotlib')"
    (tmp_path / "matplotlib.py").write_text(absent, encoding="utf-8")
    done = cli("reproduce", "ratcp", "fig06", "--quick", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 3
    assert "varicap[plot]" in done.stderr


def test_what_is_on_record_is_written_by_the_run_and_compared_with_the_next(tmp_path: Path) -> None:
    paper = paper_of(CLAIM, CLAIM | {"id": "b", "apart": "asked of SACK"})

    def done(value: Interval, *, quick: bool = False) -> Reproduction:
        judged = tuple(judge(one, Value(sim=value)) for one in paper.claims)
        return Reproduction(paper, judged, (), (), {"fig01": ()}, quick)

    over = Interval(10.5, 10.0, 11.0, 9)
    assert record.surprises(done(Interval(10.1, 10.0, 10.2))) == []
    assert [one.claim.id for one, _ in record.surprises(done(over))] == ["a", "b"], "reproduced, and now unsettled"
    assert record.surprises(done(over, quick=True)) == [], "a quick run leaves claims open"
    record.write(done(over, quick=True), tmp_path)
    kept = json.loads((tmp_path / record.NAME).read_text())
    assert kept["quick"]["claims"]["a"] == {"verdict": "unsettled", "mean": 10.5, "lo": 10.0, "hi": 11.0}
    assert kept["quick"]["verdicts"] == {"reproduced": 0, "differs": 0, "unsettled": 1}, "what is apart is not counted"
    assert {"date", "revision", "statements", "conclusions"} <= kept["quick"].keys()
    record.write(done(over), tmp_path)
    assert set(json.loads((tmp_path / record.NAME).read_text())) == {"quick", "full"}


def test_a_quick_run_is_compared_with_the_quick_one_on_record(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = paper_of(CLAIM)
    kept = record.Record("2026-01-01", "abc", {"a": "unsettled"}, {}, {}, {})
    monkeypatch.setattr(record, "read", lambda key, quick: kept if quick else None)
    judged = (judge(paper.claims[0], Value(sim=Interval(10.1, 10.0, 10.2))),)
    quick = Reproduction(paper, judged, (), (), {"fig01": ()}, is_quick=True)
    assert [expected for _, expected in record.surprises(quick)] == ["unsettled"]
    assert record.surprises(replace(quick, is_quick=False)) == []


def test_papers_are_printed_with_their_conclusions_and_every_figure(tmp_path: Path) -> None:
    arguments = ["reproduce", "ratcp", "fig06", "--quick", "--pdf", "-o", str(tmp_path)]
    done = CliRunner().invoke(program.app, arguments)
    assert done.exit_code == 0, done.output
    printed = (tmp_path / "papers.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", printed)) == 2, "a page of conclusions, and one of the figure"


def test_counts_of_claims_stand_in_records_alone() -> None:
    """A document that repeats them parts from them."""
    for file in ROOT.glob("python/varicap/papers/*/README.md"):
        if file.parent.name in ("abr", "lrl", "minrate", "ratcp", "wireless"):
            found = re.findall(
                r"\d+ (?:of \d+ )?claims (?:are )?reproduced|of \d+ claims", file.read_text(encoding="utf-8")
            )
            assert not found, file


@pytest.mark.parametrize("key", ["abr", "lrl", "minrate", "ratcp", "wireless"])
def test_what_is_on_record_is_of_the_claims_as_they_are(key: str) -> None:
    kept = record.read(key, quick=True)
    assert kept is not None
    assert set(kept.verdicts) == {one.id for one in papers.paper(key).claims}, (
        f"varicap reproduce {key} --quick --record"
    )
    assert set(kept.conclusions) == {one.id for one in conclusions.of_paper(key)}


def test_a_figure_without_data_is_told_to_be_a_drawing_and_shown(cli: Cli) -> None:
    done = cli("reproduce", "abr", "fig07")
    assert done.returncode == 0
    assert done.stdout.startswith("abr fig07 is a drawing without data.")
    assert "fed back: the least of the N" in done.stdout
    assert json.loads(cli("reproduce", "lrl", "fig02", "--json").stdout)["drawing"].startswith("Hysteresis")


def test_a_figure_is_not_both_a_drawing_and_measured() -> None:
    with pytest.raises(ClaimsError, match="not both"):
        read("x", 'title = "T"\nreference = "r"\n[figures]\none = "One"\n[drawings]\none = "a sketch"\n')


def test_strict_exits_with_4_when_a_verdict_is_not_the_one_on_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = papers.paper("ratcp")
    claims = tuple(replace(one, accept=(2.0, 3.0)) for one in whole.of("fig06")[:1])
    monkeypatch.setattr(papers, "paper", lambda _: replace(whole, claims=claims))
    arguments = ["reproduce", "ratcp", "fig06", "--quick", "-o", str(tmp_path)]
    usual = CliRunner().invoke(program.app, arguments)
    assert usual.exit_code == 0  # a report may say no
    assert "0 of 1 claims reproduced, 1 differ, 0 unsettled" in usual.output
    assert CliRunner().invoke(program.app, [*arguments, "--strict"]).exit_code == 4


def test_tables_show_the_paper_ours_and_what_differs() -> None:
    paper = paper_of(CLAIM, tables=(TABLE,))
    values = {"a": Value(sim=Interval(10.1, 10.0, 10.2)), "T.r.0": Value(model=1.0), "T.r.0.5": Value(model=3.0)}
    judged = tuple(judge(one, values[one.id]) for one in paper.claims)
    grid = Grid("more", "kB/s", "columns", ["x"], {"sack": [Interval(7.0, 6.0, 8.0)]})
    done = Reproduction(paper, judged, (("fig01", grid),), ())
    text = "\n".join(str(list(column.cells)) for table in verdicts.rich_tables(done) for column in table.columns)
    assert "3 ✗" in text
    assert "1 ✗" not in text
    assert "7.0±1.0" in text
    assert verdicts.summary("test", done) == (
        "test: 2 statements: 1 hold at all points, 1 at some, 0 at none, 0 are open\n"
        "test: 2 of 3 claims reproduced, 1 differ, 0 unsettled"
    )
    assert verdicts.summary("all", done, done).endswith("all: 4 of 6 claims reproduced, 2 differ, 0 unsettled")
