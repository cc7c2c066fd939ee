"""What papers conclude: statements over points, conclusions over claims and readings, sentences held to verdicts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_papers import CLAIM, claim, paper_of

from varicap import papers
from varicap.papers import conclusions, page, statements
from varicap.papers import report as verdicts
from varicap.papers.claims import ClaimsError, Verdict
from varicap.papers.reproduce import Reproduction
from varicap.papers.verdict import Judged, Under, Value, judge
from varicap.statistics import Interval

PAPERS = papers.keys()
FIVE = [key for key in PAPERS if conclusions.of_paper(key)]
IN, OUT, OVER = Interval(10.1, 10.0, 10.2, 9), Interval(12.0, 11.9, 12.1, 9), Interval(10.5, 10.2, 10.8, 9)

CONCLUSION = """
[[conclusions]]
id = "ten"
where = "§9"
says = "It is ten."
quote = "ten"
claims = ["a", "b"]
[[conclusions.why]]
when = { a = "reproduced", b = "differs" }
says = "It is {a}, but {b} there."
"""


def judged(
    name: str = "a", value: Interval = IN, readings: dict[str, Interval] | None = None, **changes: Any
) -> Judged:
    of_readings = {reading: Value(sim=one) for reading, one in (readings or {}).items()}
    return judge(claim(id=name, **changes), Value(sim=value), of_readings)


# ---- runs that agree, and sentences that are put to each run ------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "value", "verdict"),
    [(6, 10.0, "reproduced"), (5, 10.0, "unsettled"), (6, 12.0, "differs"), (3, 12.0, "unsettled")],
)
def test_runs_that_agree_speak_for_most_if_there_are_six(runs: int, value: float, verdict: str) -> None:
    found = judge(claim(), Value(sim=Interval.of([value] * runs)))
    assert found.verdict == verdict
    assert found.share is not None
    assert found.share.hi is not None
    assert found.share.hi - (found.share.lo or 0.0) > 0.4, "no interval of no width decides"


def test_a_sentence_is_put_to_each_run_where_a_mean_of_two_modes_says_little() -> None:
    two_modes = np.array([10.0] * 16 + [2.0] * 4)
    assert judge(claim(), Value.of(two_modes)).verdict != "reproduced", "the mean is in neither mode"
    by_runs = judge(claim(by="runs"), Value.of(two_modes))
    assert by_runs.verdict == "reproduced"
    assert by_runs.note == "holds in 80 % of the runs (56 % to 94 %)"
    assert judge(claim(by="runs"), Value.of(two_modes[10:])).verdict == "unsettled"
    with pytest.raises(ClaimsError, match="`by` is"):
        claim(by="days")


@pytest.mark.parametrize("runs", [2, 3])
def test_fewer_than_four_runs_tell_nothing_of_how_many_would_do(runs: int) -> None:
    found = judge(claim(), Value(sim=Interval.of([9.0, 11.0, 10.0][:runs])))
    assert (found.verdict, found.runs_missing) == ("unsettled", None)
    assert found.note == f"not settled: {runs} runs are too few to tell how many would do"


# ---- readings -----------------------------------------------------------------------------------------------------


def test_a_verdict_names_the_readings_that_turn_it_round() -> None:
    found = judged(value=OUT, readings={"one": IN, "two": OUT, "three": OVER}, expect="differs", note="known")
    assert found.flips == ("one",)
    assert found.note == "known; reproduced under: one"
    assert [one["verdict"] for one in found.to_dict()["readings"]] == ["reproduced", "differs", "unsettled"]
    assert judged(readings={"one": IN, "two": OVER}).note == "none of 2 other readings turns it round"
    assert judged(value=OVER, readings={"one": IN}).note.endswith("by reading: one: reproduced")


def test_a_verdict_about_several_points_names_those_that_were_looked_at() -> None:
    assert judge(claim(), Value(sim=IN), points="psi of 50, 200").note == "looked at psi of 50, 200"


# ---- statements ---------------------------------------------------------------------------------------------------


def test_claims_that_quote_one_sentence_are_one_statement() -> None:
    found = statements.statements(
        [judged("a"), judged("b", OUT), judged("c", quote="else"), judged("d", quote="other", apart="SACK")]
    )
    assert [(one.quote, one.holds, len(one.claims)) for one in found] == [("ten", "some", 2), ("else", "all", 1)]
    assert statements.counts(found) == {"all": 1, "some": 1, "none": 0, "open": 0}


def test_what_counts_apart_is_in_no_count_of_the_paper() -> None:
    paper = paper_of(CLAIM, CLAIM | {"id": "b", "apart": "asked of SACK"})
    done = Reproduction(paper, tuple(judge(one, Value(sim=IN)) for one in paper.claims), (), (), {"fig01": ()})
    assert done.counts == {"reproduced": 1, "differs": 0, "unsettled": 0}
    assert done.apart == {"asked of SACK": {"reproduced": 1, "differs": 0, "unsettled": 0}}
    assert "apart, asked of SACK: 1 of 1 claims reproduced" in verdicts.summary("test", done)
    assert "apart, asked of SACK: 1 of 1 claims reproduced" in page.html(done)


# ---- conclusions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "readings", "stands"),
    [
        (IN, {}, "stands"),
        (IN, {"one": OVER}, "stands"),
        (IN, {"one": OUT}, "depends"),
        (OUT, {"one": IN}, "depends"),
        (OUT, {"one": OUT}, "falls"),
        (OVER, {"one": IN}, "open"),
        (OVER, {"one": IN, "two": OUT}, "depends"),
    ],
)
def test_a_claim_stands_falls_or_depends_on_its_readings(
    value: Interval, readings: dict[str, Interval], stands: str
) -> None:
    assert conclusions.of_claim(judged(value=value, readings=readings)) == stands


def test_a_sentence_is_said_only_under_its_verdicts() -> None:
    (ten,) = conclusions.read("test", CONCLUSION)
    (one,) = conclusions.conclude([ten], [judged("a"), judged("b", OUT)])
    assert (one.stands, one.why) == ("depends", "It is 10.10 ± 0.10 kB/s, but 12.00 ± 0.10 kB/s there.")
    (other,) = conclusions.conclude([ten], [judged("a"), judged("b")])
    assert (other.stands, other.why) == ("stands", "reproduced: a (10.10 ± 0.10 kB/s), b (10.10 ± 0.10 kB/s).")
    assert not conclusions.conclude([ten], [judged("a")]), "not all of its claims were judged"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('quote = "ten"', f'quote = "{"x" * 141}"'), "quotes 141 characters"),
        (('claims = ["a", "b"]', "claims = []"), "rests on no claim"),
        (('b = "differs"', 'b = "falls"'), "`when` has a verdict"),
        (('says = "It is ten."', ""), "wants `says`"),
        (('where = "§9"', 'where = "§9"\nverdict = "stands"'), "no key `verdict`"),
    ],
)
def test_a_malformed_conclusion_is_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(ClaimsError, match=message):
        conclusions.read("test", CONCLUSION.replace(*change))


def test_conclusions_come_first_in_words_and_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conclusions, "of_paper", lambda key: conclusions.read(key, CONCLUSION))
    paper = paper_of(CLAIM, CLAIM | {"id": "b"})
    values = {"a": IN, "b": OUT}
    found = tuple(judge(one, Value(sim=values[one.id]), today={"CUBIC": Value(sim=OUT)}) for one in paper.claims)
    done = Reproduction(paper, found, (), (), {"fig01": ()})
    (first, *_) = verdicts.rich_tables(done)
    assert first.title == "What the paper concludes"
    assert verdicts.summary("test", done).startswith("test: 1 conclusions: 0 stand, 0 fall, 1 depends, 0 are open")
    text = page.html(done)
    assert text.index("What the paper concludes") < text.index('id="fig01"')
    assert "CUBIC: 12.00 ± 0.10, differs" in text
    assert next(iter(done.to_dict().items()))[0] == "paper"
    assert done.to_dict()["conclusions"][0]["today"][0]["name"] == "CUBIC"


@pytest.mark.parametrize("key", FIVE)
def test_each_sentence_is_held_to_claims_that_are_there(key: str) -> None:
    paper = papers.paper(key)
    known = {one.id: one for one in paper.claims}
    drawn = conclusions.of_paper(key)
    assert len(drawn) >= 4
    assert len({one.id for one in drawn}) == len(drawn)
    for one in drawn:
        assert one.named <= known.keys(), (one.id, one.named - known.keys())
        assert not any(known[name].apart for name in one.claims), "what counts apart is no conclusion of the paper"
        for why in one.why:
            assert why.numbers, f"{one.id}: a sentence without a number: {why.says}"
            claims = {name.partition("@")[0] for name in why.when}
            assert claims & set(one.claims), f"{one.id}: a sentence that relies on no claim of its conclusion"
        told = [tuple(sorted(why.when.items())) for why in one.why]
        assert len(set(told)) == len(told), "two sentences for the same verdicts"


@pytest.mark.parametrize("key", FIVE)
def test_no_sentence_is_said_if_a_verdict_that_it_relies_on_is_another(key: str) -> None:
    drawn = conclusions.of_paper(key)
    for one in drawn:
        for why in one.why:
            by_id = {name: judged(name) for name in one.named}
            for name, verdict in why.when.items():
                by_id = _with(by_id, name, verdict)
            (as_said,) = conclusions.conclude([replace(one, why=(why,))], by_id.values())
            for name, verdict in why.when.items():
                other: Verdict = "unsettled" if verdict != "unsettled" else "differs"
                turned = _with(by_id, name, other)
                (unsaid,) = conclusions.conclude([replace(one, why=(why,))], turned.values())
                assert unsaid.why != as_said.why, (one.id, name)


def _with(by_id: dict[str, Judged], name: str, verdict: Verdict) -> dict[str, Judged]:
    """The same with another verdict of a claim, or of one under a reading."""
    of, _, reading = name.partition("@")
    one = by_id[of]
    if not reading:
        return by_id | {of: replace(one, verdict=verdict)}
    others = tuple(under for under in one.readings if under.name != reading)
    return by_id | {of: replace(one, readings=(*others, Under(reading, IN, verdict)))}
