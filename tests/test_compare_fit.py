"""Where the error of an analysis on a trace comes from: model, simulator and kernel on the fit and on the trace."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLES, Cli
from scipy import stats

import varicap
from varicap.engines import sim
from varicap.engines.fitted import ANSWERS, MEASURES, Answer, FitComparison, Step, compare_fit, fitted
from varicap.engines.scenarios import load
from varicap.report import fitted as shown
from varicap.statistics import Interval
from varicap.traces import Fit

TRACE = EXAMPLES / "traces/lte-like.down"
LTE = EXAMPLES / "lte.toml"
SHORT = {
    "duration": "20 s",
    "flows": '{ cubic = { tcp = { congestion = "cubic" } } }',
    "topology.dumbbell.reverse.capacity": '"2 Mbit/s"',
}


@pytest.fixture(scope="module")
def found() -> FitComparison:
    return compare_fit(LTE, 0.2, only=("sim", "model"), seeds=4, overrides=SHORT)


def test_the_difference_of_independent_samples_is_welchs() -> None:
    one, other = np.array([1.0, 2.0, 4.0, 3.5, 2.2]), np.array([9.0, 2.0, 5.0])
    said = Interval.between(one, other)
    right = stats.ttest_ind(one, other, equal_var=False).confidence_interval()
    assert (said.lo, said.hi) == pytest.approx((right.low, right.high))
    assert Interval.between(one, [1.0]).lo is None, "one run has no interval"


def test_each_step_is_the_difference_of_its_neighbours(found: FitComparison) -> None:
    steps = {(step.what, step.measure): step for step in found.steps}
    of_fit, of_trace = (found.values(name, "cubic", "goodput_bps") for name in ("sim, fit", "sim, trace"))
    (of_model,) = found.values("model, fit", "cubic", "goodput_bps")
    assert steps["theory", "goodput_bps"].percent.mean == pytest.approx(100 * (of_model / of_fit.mean() - 1))
    assert steps["fit", "goodput_bps"].percent.mean == pytest.approx(100 * (of_fit.mean() / of_trace.mean() - 1))
    assert ("theory", "rtt_p95_ms") not in steps, "the model says nothing of it"
    assert not any(step.what == "simulator" for step in found.steps), "the kernel was not asked"


def test_what_a_run_had_to_offer_is_out_of_the_first_measure(found: FitComparison) -> None:
    widths = {}
    for step in found.steps:
        if step.what == "theory":
            assert step.percent.lo is not None
            assert step.percent.hi is not None
            widths[step.measure] = step.percent.hi - step.percent.lo
    assert widths["goodput_of_capacity"] < widths["goodput_bps"] / 3


def test_the_simulator_meets_the_fit_and_then_the_trace(found: FitComparison) -> None:
    (link,) = found.fits
    assert link == "topology.dumbbell.forward", "the other way has no trace here"
    chain = {f"{link}.capacity": found.fits[link].to_toml()}
    asked: list[tuple[Answer, dict[str, str]]] = [("sim, fit", chain), ("sim, trace", {})]
    for answer, more in asked:
        again = varicap.run(LTE, seeds=4, overrides={**SHORT, **more}).flows["goodput_bps"].to_pylist()
        assert found.values(answer, "cubic", "goodput_bps").tolist() == again


def _simulated(of: Any, *, kernel: None, clock: None, kernel_name: None, **options: Any) -> Any:
    """The simulator in the kernel's place."""
    return sim.run(of, **options)


def test_simulator_and_kernel_are_compared_run_by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # In the kernel's place the simulator itself, so that no run differs.
    monkeypatch.setattr("varicap.engines.kernel.run", _simulated)
    found = compare_fit(LTE, 0.2, only=("sim", "kernel"), seeds=4, kernel_seeds=3, overrides=SHORT)
    steps = [step for step in found.steps if step.what == "simulator"]
    assert len(found.values("kernel, trace", "cubic", "goodput_bps")) == 3
    assert {step.measure for step in steps} == set(MEASURES)
    assert all(step.percent.lo == step.percent.hi == 0 for step in steps), "though runs differ from each other"


def test_an_engine_that_cannot_answer_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise varicap.MachineLacksError("no namespaces here")

    monkeypatch.setattr("varicap.engines.kernel.run", refuse)
    flow = {"flows": '{ vegas = { tcp = { congestion = "vegas" } } }'}
    found = compare_fit(LTE, 0.2, seeds=2, overrides={**SHORT, **flow})
    missing = shown.missing(found)
    assert "kernel on the trace: no namespaces here" in missing
    assert any(line.startswith("model on the fit: no model fits the flow `vegas`") for line in missing)
    page = shown.page(found, tmp_path / "fit.html").read_text()
    assert "no namespaces here" in page
    assert "The fit of topology.dumbbell.forward" in page


def test_what_makes_an_answer_doubtful_is_told() -> None:
    # A trace that every run enters at its beginning, and a model that knows nothing of the way back.
    beginning = {"topology.dumbbell.forward.capacity.opportunities.offset": '"0 s"'}
    reverse = {key: value for key, value in SHORT.items() if "reverse" not in key}
    found = compare_fit(LTE, 0.2, only=("sim", "model"), seeds=2, overrides={**reverse, **beginning})
    lines = shown.missing(found)
    assert any(line.startswith("simulator on the trace: ") and "stretch" in line for line in lines), lines
    assert any("reverse" in line and "the model takes no account of it" in line for line in lines), lines
    assert list(found.fits) == ["topology.dumbbell.forward", "topology.dumbbell.reverse"]


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    found = compare_fit(LTE, 0.2, only=("sim", "model"), seeds=1, overrides=SHORT)
    assert {step.verdict for step in found.steps} == {"one run"}
    assert any("one run has no interval" in line for line in shown.sentences(found))
    assert "one run" in shown.page(found, tmp_path / "fit.html").read_text()


def test_the_command_writes_a_page_and_says_which_step_costs_most(cli: Cli, tmp_path: Path) -> None:
    options = [part for key, value in SHORT.items() for part in ("--set", f"{key}={value}")]
    asked = (
        "compare",
        LTE,
        "--fit",
        "--slot",
        "200 ms",
        "--engine",
        "sim",
        "--engine",
        "model",
        "--seeds",
        3,
        *options,
    )
    done = cli(*asked, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "cubic, goodput of the capacity: " in done.stdout
    assert "theory [%]" in done.stdout
    page = (tmp_path / "out/fit.html").read_text()
    assert "simulator on the trace" in page
    assert "<script" not in page
    done = cli(*asked, "--json")
    said = json.loads(done.stdout)
    assert list(said["answers"]) == list(ANSWERS[:3])
    assert {step["what"] for step in said["steps"]} == {"theory", "fit"}


def _costs(what: str, low: float | None, high: float | None, mean: float = 0.0) -> Step:
    middle = mean if low is None or high is None else (low + high) / 2
    return Step(what, "cubic", "goodput_of_capacity", Interval(middle, low, high, 4))


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([_costs("theory", -1, 1), _costs("fit", 5, 9)], "most of the error is the fit's: +7 ± 2 %"),
        ([_costs("theory", -9, -5), _costs("fit", -1, 1)], "most of the error is the theory's: -7 ± 2 %"),
        ([_costs("theory", -6, 1), _costs("fit", 5, 9)], "the only step that is more than chance is the fit: +7 ±"),
        ([_costs("theory", -40, 9), _costs("fit", 1, 3)], "the only step that is more than chance is the fit: +2.0 ±"),
        ([_costs("theory", None, None, -30.0), _costs("fit", 5, 9)], "the only step that is more than chance is"),
        ([_costs("theory", -8, -4), _costs("fit", 5, 9)], "which is most is not certain: theory -6 ± 2 %, fit +7"),
        ([_costs("fit", 5, 9)], "the only step that is more than chance is the fit: +7 ±"),
        ([_costs("theory", -1, 1), _costs("fit", -20, 9)], "no step (theory, fit) is more than chance"),
    ],
)
def test_a_step_is_called_most_only_if_no_other_may_be_as_large(steps: list[Step], says: str) -> None:
    assert says in shown.verdict(steps)


def test_sentences_judge_both_goodputs_and_name_them(found: FitComparison) -> None:
    lines = shown.sentences(found)
    for name in ("goodput of the capacity", "goodput"):
        assert sum(line.startswith(f"cubic, {name}: ") for line in lines) == 1, lines


OTHER = "topology.dumbbell.reverse.capacity"
TRACED = "{{ opportunities = {{ file = 'traces/lte-like.down'{} }} }}"


def _fits(more: str = "", other: str = '"2 Mbit/s"') -> dict[tuple[str, ...], Fit]:
    changed = {"topology.dumbbell.forward.capacity": TRACED.format(more), OTHER: other}
    return fitted(load(LTE, {**SHORT, **changed}), 0.2, 3)


def test_a_fit_has_the_size_of_the_scenarios_opportunities() -> None:
    whole, small, mahimahi = (_fits(more) for more in ("", ", size = '500 B'", ", mahimahi = true, size = '500 B'"))
    (rates,) = (fit.rates_bps for fit in whole.values())
    for fits, scale in ((small, 1 / 3), (mahimahi, 1504 / 1500)):
        (fit,) = fits.values()
        assert fit.rates_bps == pytest.approx(scale * rates)
        assert fit.chain.mean == pytest.approx(scale * next(iter(whole.values())).chain.mean)
        assert fit.goodness.error == pytest.approx(next(iter(whole.values())).goodness.error)


def test_links_that_read_one_file_otherwise_have_fits_of_their_own() -> None:
    forward, reverse = _fits("", TRACED.format(", size = '3000 B'")).values()
    assert reverse.rates_bps == pytest.approx(2 * forward.rates_bps)
    forward, reverse = _fits("", TRACED.format("")).values()
    assert forward is reverse, "the same capacity is fitted once"


def test_theory_and_simulator_on_the_fit_meet_the_capacity_of_the_trace() -> None:
    small = {"topology.dumbbell.forward.capacity": TRACED.format(", size = '500 B'")}
    found = compare_fit(LTE, 0.2, only=("sim",), seeds=3, overrides={**SHORT, **small, "duration": "60 s"})
    means = [found.answers[name].links.to_pylist() for name in ("sim, fit", "sim, trace")]  # type: ignore[union-attr]
    on_fit, on_trace = (np.mean([r["capacity_bps"] for r in rows if r["name"] == "forward"]) for rows in means)
    assert on_fit == pytest.approx(on_trace, rel=0.2)


def test_mahimahis_bytes_of_each_packet_are_on_the_fit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    run = varicap.engines.run

    def noted(scenario: varicap._core.Scenario, **options: object) -> object:
        asked.append(json.loads(scenario.to_json())["topology"]["dumbbell"]["forward"]["framing"])
        return run(scenario, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("varicap.engines.run", noted)
    changed = {"topology.dumbbell.forward.capacity": TRACED.format(", mahimahi = true")}
    compare_fit(LTE, 0.2, only=("sim",), seeds=1, overrides={**SHORT, **changed})
    assert [framing["overhead"] for framing in asked] == ["4 B", "0 B"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (", repeat = false, offset = '50 s'", "a run of 20 s outlasts the 10 s that the trace has from its offset on"),
        (", light = { file = 'LIGHT' }", "capacity.opportunities.light: found `"),
    ],
)
def test_a_capacity_that_no_chain_can_stand_for_is_refused(tmp_path: Path, more: str, says: str) -> None:
    (tmp_path / "light.txt").write_text("0 20 0 1 2\n100 20 0 1\n")
    with pytest.raises(varicap.ScenarioError) as caught:
        _fits(more.replace("LIGHT", str(tmp_path / "light.txt")))
    assert says in str(caught.value)
    assert str(caught.value).startswith("topology.dumbbell.forward.capacity.opportunities.")


def test_mahimahis_bytes_cannot_be_fitted_around_cells() -> None:
    changed = {
        "topology.dumbbell.forward.capacity": TRACED.format(", mahimahi = true"),
        "topology.dumbbell.forward.framing": "{ cells = {} }",
    }
    with pytest.raises(varicap.ScenarioError, match=r"expected `false` on a link with `framing\.cells`"):
        fitted(load(LTE, {**SHORT, **changed}), 0.2, 3)


def test_a_trace_that_does_not_repeat_is_fitted_if_the_run_ends_before_it() -> None:
    assert len(_fits(", repeat = false, offset = '40 s'")) == 1


def test_a_link_may_have_a_dot_in_its_name(tmp_path: Path) -> None:
    scenario = tmp_path / "dotted.toml"
    scenario.write_text(f"""
name = "dotted"
duration = "5 s"
topology.graph.links."a.b" = {{ from = "x", to = "y", capacity = {{ opportunities = {{ file = "{TRACE}" }} }} }}
topology.graph.links.back = {{ from = "y", to = "x", delay = "25 ms" }}
flows.cubic = {{ from = "x", to = "y", tcp = {{ congestion = "cubic" }} }}
""")
    found = compare_fit(scenario, 0.2, states=2, only=("sim",), seeds=2)
    assert list(found.fits) == ['topology.graph.links."a.b"']
    assert {step.what for step in found.steps} == {"fit"}


def test_options_of_the_fit_are_for_the_fit(cli: Cli) -> None:
    for option in (("--slot", "1 s"), ("--kernel-seeds", 2)):
        done = cli("compare", LTE, *option)
        assert done.returncode == 2
        assert f"Invalid value for {option[0]}: is for --fit" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("file", "more", "says"),
    [
        ("fixed.toml", (), "no link has a trace as its capacity, so that there is nothing to fit"),
        ("lte.toml", ("--slot", "9 s"), "are 6 slots of 9 s, too few to fit"),
        ("lte.toml", ("--slot", "soon"), "soon"),
    ],
)
def test_what_cannot_be_fitted_is_told(cli: Cli, file: str, more: tuple[str, ...], says: str) -> None:
    done = cli("compare", EXAMPLES / file, "--fit", *more)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
