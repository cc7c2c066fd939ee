"""Chains and links fitted to traces: what is known comes back, and what does not fit is said."""

import json
import shlex
import sys
import tomllib
from pathlib import Path

import documents
import numpy as np
import pytest
import tables
from conftest import EXAMPLES, ROOT, Cli

import varicap
from varicap import traces
from varicap.analyse.effective import SlottedChain, effective_capacity
from varicap.errors import MachineLacksError
from varicap.report import fit as report
from varicap.traces import Cellular, Opportunities, Rates, Satellite, TraceError, fitting
from varicap.traces.fitting import hidden
from varicap.traces.fitting.goodness import goodness, runs_below
from varicap.traces.fitting.hidden import Hidden, Law, fit_hidden
from varicap.traces.fitting.simulated import path
from varicap.traces.randomness import Source

pytestmark = pytest.mark.slow

REAL = ROOT.parent / "shared" / "traces"
LTE = EXAMPLES / "traces/lte-like.down"

THREE = Hidden(
    law="normal",
    mean=np.array([10.0, 40.0, 90.0]),
    variance=np.array([9.0, 16.0, 25.0]),
    transition=np.array([[0.95, 0.05, 0.0], [0.04, 0.9, 0.06], [0.01, 0.09, 0.9]]),
    share=np.array([0.5, 0.3, 0.2]),
    log_likelihood=0.0,
    slots=3000,
)
"""A chain in packets per slot of 100 ms."""


def trace_of(chain: Hidden, seed: int) -> Rates:
    packets = path(chain, Source(seed))
    return Rates(np.arange(len(packets), dtype=np.float64) * 0.1, packets * 12_000 / 0.1, len(packets) * 0.1)


def test_the_parameters_of_a_known_chain_lie_in_their_intervals() -> None:
    inside = []
    for seed in (1, 2, 3):
        found = traces.fit(trace_of(THREE, seed), simulations=25, seed=seed)
        assert found.states == 3
        assert found.rate_intervals_bps is not None
        assert found.holding_intervals_s is not None
        for truth, (low, high) in zip(THREE.mean * 120_000, found.rate_intervals_bps, strict=True):
            inside.append(low <= truth <= high)
        holding = 0.1 / (1 - np.diag(THREE.transition))
        for truth, (low, high) in zip(holding, found.holding_intervals_s, strict=True):
            inside.append(low <= truth <= high)
    # Of 18 intervals at 95 %, four misses have a probability below 1.1 %.
    assert sum(inside) >= 15


@pytest.mark.parametrize("law", ["normal", "poisson"])
def test_rates_that_are_close_together_or_seldom_are_found(law: Law) -> None:
    # Begun at quantiles alone, the two slow rates of the second path were one, and a fast one was two.
    rates = np.array([13.0, 24.0, 137.0, 151.0, 165.0]) * (1 if law == "normal" else 20)
    stay, share = 0.97, np.full(5, 0.2)
    transition = np.full((5, 5), (1 - stay) / 4) + np.eye(5) * (stay - (1 - stay) / 4)
    chain = Hidden(law, rates, np.full(5, 0.1), transition, share, 0.0, 3000)
    for seed in (3, 5):
        assert fit_hidden(path(chain, Source(seed)), 5, law).mean == pytest.approx(rates, rel=0.02)


def test_a_state_that_carries_less_than_half_a_packet_is_an_outage() -> None:
    off = np.zeros(10)
    packets = np.tile(np.concatenate([np.full(20, 41.0), off, np.full(20, 20.5), off]), 20)
    packets[25] = 0.3
    trace = Rates(np.arange(len(packets), dtype=np.float64) * 0.1, packets * 12_000 / 0.1, len(packets) * 0.1)
    found = traces.fit(trace, states=3)
    assert found.rates_bps[0] == 0
    assert '"0 bit/s"' in found.to_toml()
    assert float(found.hidden.share @ found.rates_bps) == pytest.approx(traces.mean_rate_bps(trace), rel=1e-9)


def test_the_mean_of_the_chain_is_that_of_the_trace() -> None:
    trace = traces.load(LTE)
    found = traces.fit(trace)
    mean = float(found.hidden.share @ found.rates_bps)
    assert mean == pytest.approx(traces.mean_rate_bps(trace), rel=1e-9)
    assert found.chain.mean == pytest.approx(mean, rel=1e-9)


def test_slots_without_memory_are_one_state() -> None:
    times = np.ceil(np.cumsum(-np.log(Source(5).random_raw(20_000) / 2.0**64 + 1e-18)) * 4).astype(np.int64)
    found = traces.fit(Opportunities(times))
    assert (found.states, found.hidden.law) == (1, "poisson")
    assert found.rates_bps[0] == pytest.approx(traces.mean_rate_bps(Opportunities(times)), rel=2e-3)
    assert found.capacity() == {"constant": f"{found.rates_bps[0]:.0f} bit/s"}
    assert found.held_out is not None
    assert found.held_out.chain == pytest.approx(found.held_out.independent)


def test_memory_predicts_what_was_held_out() -> None:
    found = traces.fit(trace_of(THREE, 4))
    assert repr(found).startswith("Fit(3 states of ")
    assert repr(found).endswith(" Mb/s, 3000 slots of 0.1 s)")
    assert found.held_out is not None
    assert found.held_out.slots == 750
    assert found.held_out.chain > found.held_out.independent + 0.5


def test_effective_capacity_of_long_blocks_is_the_spectral_one() -> None:
    chain = SlottedChain(np.array([2e6, 8e6]), np.array([[0.8, 0.2], [0.2, 0.8]]))
    states = [0]
    draws = Source(7).random_raw(200_000) / 2.0**64
    for draw in draws[1:].tolist():
        states.append(states[-1] ^ int(draw < 0.2))
    found = goodness(chain.capacity[states], chain, np.array([0.5, 0.5]), 0.1)
    assert set(found.effective) == {1.0, 5.0, 20.0}
    for block, curve in found.effective.items():
        assert len(curve.x) >= 5
        assert np.abs(curve.trace / curve.fit - 1).max() < 0.02, block
    long = found.effective[20.0]
    limit = np.array([effective_capacity(chain, delta * 0.1) for delta in long.x])
    assert np.abs(long.fit / limit - 1).max() < 0.02
    assert found.error is not None
    assert found.error < 0.02
    assert found.distance < 0.01


def test_outages_of_a_chain_are_geometric() -> None:
    chain = SlottedChain(np.array([0.0, 10e6]), np.array([[0.75, 0.25], [0.05, 0.95]]))
    rates = np.tile(np.repeat([10e6, 0.0], [30, 4]), 50)
    found = goodness(rates, chain, np.array([1 / 6, 5 / 6]), 0.1).outages
    assert found.trace.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert found.fit == pytest.approx([0.75**k for k in range(5)])


def test_runs_join_around_the_end() -> None:
    assert sorted(runs_below(np.array([0.0, 0.0, 5.0, 0.0, 5.0, 0.0]), 1.0).tolist()) == [1.0, 3.0]
    assert runs_below(np.array([0.0, 0.0]), 1.0).tolist() == [2.0]
    assert runs_below(np.array([5.0]), 1.0).tolist() == []


def test_what_was_fitted_is_a_capacity(cli: Cli, tmp_path: Path) -> None:
    fitted = traces.fit(traces.load(LTE))
    for law in ("slotted", "continuous"):
        done = cli("trace", "fit", str(LTE), "--law", law, "-o", "fit.toml")
        assert done.returncode == 0, done.stderr
        capacity = tomllib.loads((tmp_path / "fit.toml").read_text(encoding="utf-8"))["capacity"]
        assert capacity == fitted.capacity(law)
        result = varicap.run(
            EXAMPLES / "fixed.toml", seeds=2, overrides={"topology.dumbbell.forward.capacity": fitted.to_toml(law)}
        )
        assert result.summary["flows"][0]["goodput_bps"]["mean"] > 1e5


def test_coverage_is_counted() -> None:
    rates = Rates(np.array([0.0, 9.0]), np.array([6e6, 0.0]), 10.0)
    long = Rates((np.arange(20)[:, None] * 10.0 + rates.time_s).ravel(), np.tile(rates.rate_bps, 20), 200.0)
    found = traces.fit(long).coverage
    assert (found.outages, found.rate_bps, found.outage_rate_bps) == (20, 6e6, 0.0)
    assert found.covered_s == pytest.approx(9.0)
    assert found.outage_s == pytest.approx(1.0)
    assert found.capacity == {
        "markov": {"rates": ["6000000 bit/s", "0 bit/s"], "mean_holding": ["9000.000 ms", "1000.000 ms"]}
    }


def test_the_parameters_of_a_known_link_come_back() -> None:
    truth = Cellular(median_bps=8e6, peak_bps=200e6, slow_sigma=0.4, slow_time_s=6.0, outages_per_min=4.0)
    found = [traces.fit_cellular(traces.generate_lte(seed, 1800.0, truth)) for seed in (1, 2, 3)]
    # Of 1,800 s there are 150 slow correlation times: a variance is known to 12 %, a median to 5 %, a time to 20 %.
    for key, within in (("median_bps", 0.1), ("slow_sigma", 0.12), ("slow_time_s", 0.35), ("fast_sigma", 0.1)):
        mean = float(np.mean([getattr(each, key) for each in found]))
        assert mean == pytest.approx(getattr(truth, key), rel=within), key
    assert np.mean([each.fast_time_s for each in found]) == pytest.approx(truth.fast_time_s, rel=0.2)


def test_reconfigurations_are_found() -> None:
    truth = Satellite(offset_s=4.0, delay_s=0.03)
    found = traces.fit_satellite(traces.generate_leo(2, 900.0, truth))
    assert found.offset_s == pytest.approx(4.0, abs=0.2)
    assert found.delay_s == pytest.approx(0.03, abs=0.001)
    assert found.delay_spread_s == pytest.approx(truth.delay_spread_s, rel=0.15)
    assert found.level_sigma == pytest.approx(truth.level_sigma, rel=0.3)  # of 60 intervals: 9 %, three times
    assert found.fast_sigma == pytest.approx(truth.fast_sigma, rel=0.15)


@pytest.mark.skipif(not REAL.is_dir(), reason="needs the real traces beside the project")
@pytest.mark.parametrize(
    "name",
    ["Verizon-LTE-short.down", "ATT-LTE-driving-2016.down", "TMobile-LTE-short.down", "Verizon-EVDO-driving.down"],
)
def test_real_traces_are_described_or_said_not_to_be(name: str) -> None:
    found = traces.fit(traces.load(REAL / name), slot_s=0.2)
    assert found.goodness.error is not None
    said = " ".join(report.sentences(found))
    assert found.is_adequate == ("LTE" in name)
    assert ("(adequate)" in said) == found.is_adequate
    assert ("not adequate" in said) != found.is_adequate
    assert found.held_out is not None
    assert found.held_out.chain > found.held_out.independent


@pytest.mark.skipif(not tables.REAL.is_dir(), reason="needs the real traces beside the project")
def test_the_page_has_the_fits_of_the_recorded_traces() -> None:
    page = documents.tables(ROOT / "docs/traces.md")
    (shown,) = (table for table in page if table.command == "tests/tables.py generators")
    assert shown.rows == [list(row) for row in tables.generators()]


def test_a_fit_is_the_same_every_time() -> None:
    trace = traces.load(LTE)
    once = json.dumps(traces.fit(trace, simulations=3).to_dict())
    fitting._chosen.cache_clear()
    fitting._fit_hidden.cache_clear()
    assert json.dumps(traces.fit(trace, simulations=3).to_dict()) == once


def test_a_fit_that_is_asked_for_again_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = trace_of(THREE, 2)
    once = traces.fit(trace, states=2)
    monkeypatch.setattr(hidden, "_iterated", lambda *_: pytest.fail("it iterates"))
    assert traces.fit(trace, states=2).hidden is once.hidden
    with pytest.raises(ValueError, match="read-only"):
        once.hidden.mean[0] = 0.0
    with pytest.raises(pytest.fail.Exception, match="it iterates"):
        traces.fit(trace, states=3)


@pytest.mark.parametrize("law", ["normal", "poisson"])
def test_scaled_probabilities_and_their_logarithms_give_the_same_fit(law: Law) -> None:
    values = np.rint(path(THREE, Source(1)))
    first = hidden._at_quantiles(values, 3, law, 1.0)
    scaled, by_logarithms = (hidden._climbed(values, first, arithmetic) for arithmetic in ("scaling", "log"))
    assert scaled.mean == pytest.approx(by_logarithms.mean, rel=1e-9)
    assert scaled.transition == pytest.approx(by_logarithms.transition, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("law", ["normal", "poisson"])
def test_a_value_that_seems_impossible_at_first_is_fitted(law: Law) -> None:
    values = np.repeat([10.0, 20.0], 200)
    values[100] = 1e5
    assert fit_hidden(values, 2, law).mean == pytest.approx([5990 / 399, 1e5])


@pytest.mark.parametrize("most", [9, 500])
def test_likelihoods_of_counts_are_those_of_hmmlearn(most: int) -> None:
    hmm = pytest.importorskip("hmmlearn.hmm")
    counts = np.append(np.random.default_rng(3).poisson(4.0, 300).clip(max=9), most)[:, None]
    ours = hidden._model(3, "poisson", "scaling")
    theirs = hmm.PoissonHMM(3)
    ours.lambdas_ = theirs.lambdas_ = np.array([[0.5], [4.0], [7.0]])
    for name in ("_compute_likelihood", "_compute_log_likelihood"):
        found, expected = (getattr(model, name)(counts) for model in (ours, theirs))
        assert (found == expected).all()
        assert found.shape == (301, 3)


def test_what_cannot_be_fitted_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traces.load(LTE)
    with pytest.raises(TraceError, match="60 s are 6 slots of 10 s, too few to fit: 60 or more"):
        traces.fit(trace, slot_s=10.0)
    with pytest.raises(TraceError, match="a slot is longer than 0 s, not 0 s"):
        traces.fit(trace, slot_s=0.0)
    with pytest.raises(TraceError, match="600 slots are too few for 30 states"):
        traces.fit(trace, states=30)
    with pytest.raises(TraceError, match="60 s are 6000000 slots of 1e-05 s, too many to fit"):
        traces.fit(trace, slot_s=1e-5)
    with pytest.raises(TraceError, match="reconfigurations are 1 s or more apart, not 0 s"):
        traces.fit_satellite(trace, interval_s=0.0)
    with pytest.raises(TraceError, match="the trace has no capacity at all"):
        traces.fit(traces.generate_constant(0.0, 60.0))
    with pytest.raises(TraceError, match="60 s are too few intervals of 20 s: four or more"):
        traces.fit_satellite(trace, interval_s=20.0)
    monkeypatch.setitem(sys.modules, "hmmlearn", None)
    with pytest.raises(MachineLacksError, match="fitting needs hmmlearn"):
        traces.fit(trace, states=2)


def test_the_command_says_what_was_found(cli: Cli, tmp_path: Path) -> None:
    done = cli("trace", "fit", str(LTE), "-o", "fit.toml", "--figure", "fit.png")
    assert done.returncode == 0, done.stderr
    assert "chosen by the BIC" in done.stdout
    asked = cli("trace", "fit", str(LTE), "--states", "2", "--held-out", "0")
    assert "2 states; " in asked.stdout
    assert "capacity = { slotted-markov = {" in done.stderr
    assert (tmp_path / "fit.toml").read_text(encoding="utf-8").splitlines()[1].startswith("capacity = {")
    assert (tmp_path / "fit.png").stat().st_size > 10_000
    found = json.loads(cli("trace", "fit", str(LTE), "--states", "2", "--json").stdout)
    assert (found["states"], len(found["tried"])) == (2, 2)


def test_the_command_writes_a_generator(cli: Cli, tmp_path: Path) -> None:
    done = cli("trace", "fit", str(LTE), "--like", "lte")
    assert done.returncode == 0, done.stderr
    made = cli(*shlex.split(done.stdout)[1:], "--duration", "60 s", "-o", "like.down")
    assert made.returncode == 0, made.stderr
    mean = traces.mean_rate_bps(traces.load(tmp_path / "like.down"))
    assert 0.4 < mean / traces.mean_rate_bps(traces.load(LTE)) < 2.5
    link = json.loads(cli("trace", "fit", str(LTE), "--like", "lte", "--json").stdout)
    assert link["link"] == "lte"
    assert link["median_bps"] == traces.fit_cellular(traces.load(LTE)).median_bps


def test_wrong_options_are_explained(cli: Cli) -> None:
    for options, words in (
        (["--slot", "0 s"], "a slot is longer than 0 s"),
        (["--law", "random"], "slotted, continuous"),
        (["--like", "wifi"], "lte, leo"),
        (["--figure", "fit.doc"], "does not end in .pdf, .svg, .png"),
    ):
        done = cli("trace", "fit", str(LTE), *options)
        assert done.returncode == 2
        assert words in done.stderr


def test_the_capacity_goes_into_a_folder_that_is_made_for_it(cli: Cli, tmp_path: Path) -> None:
    done = cli("trace", "fit", str(LTE), "--states", "2", "-q", "-o", "new/fit.toml")
    assert done.returncode == 0, done.stderr
    assert "capacity = " in (tmp_path / "new" / "fit.toml").read_text()
