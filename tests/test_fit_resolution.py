"""`varicap trace fit` on traces without noise, and on what nobody would call a trace."""

import json
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from varicap import traces
from varicap.report import fit as report
from varicap.traces import Rates, TraceError
from varicap.traces.fitting import resolution
from varicap.traces.fitting.hidden import Hidden, fit_again, fit_hidden
from varicap.traces.fitting.simulated import path
from varicap.traces.randomness import Source

pytestmark = pytest.mark.slow

SLOT_S = 0.03
PACKET_BPS = 12_000 / SLOT_S
"""A packet per slot."""
Array = NDArray[Any]


def walk(rates: list[float], slots: int, seed: int = 5, stay: float = 0.8) -> tuple[Array, Array]:
    """The states of a chain that leaves each of its rates as often, and their rates."""
    rng = np.random.default_rng(seed)
    leaves = rng.random(slots) > stay
    further = rng.integers(1, len(rates), slots)
    states = np.cumsum(np.where(leaves, further, 0)) % len(rates)
    return states, np.array(rates)[states]


def trace_of(values: Array, slot_s: float = SLOT_S) -> Rates:
    return Rates(
        np.arange(len(values), dtype=np.float64) * slot_s, np.asarray(values, dtype=float), len(values) * slot_s
    )


def counted(states: Array) -> Array:
    number = int(states.max()) + 1
    steps = np.zeros((number, number))
    np.add.at(steps, (states, np.roll(states, -1)), 1)
    return np.asarray(steps / steps.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("apart", [0.1, 0.3, 0.6, 1.0, 3.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_rates_without_noise_come_back_exactly_however_near(apart: float, scale: float) -> None:
    """The floor of 0.05 packets² made rates that are a tenth of a packet per slot apart 4 % wrong."""
    rates = [scale * PACKET_BPS * (2 + apart * place) for place in range(4)]
    states, values = walk(rates, 20_000)
    found = traces.fit(trace_of(values), SLOT_S, 4, held_out=0)
    assert found.rates_bps == pytest.approx(rates, rel=1e-9)
    assert found.hidden.transition == pytest.approx(counted(states), abs=1e-9)
    assert found.hidden.alike == []


def test_a_long_trace_without_noise_is_fitted() -> None:
    """hmmlearn's variances became NaN here, and the fit ended in a traceback."""
    rng = np.random.default_rng(3)
    rates = np.array([61, 69.8, 174.63, 489.99, 598.3, 761.93]) * 1e6
    share = np.array([3, 3, 3, 1, 5, 5]) / 20
    states = np.empty(100_000, dtype=np.intp)
    state = 0
    for slot, (leave, after) in enumerate(zip(rng.random(100_000), rng.choice(6, 100_000, p=share), strict=True)):
        states[slot] = state
        state = after if leave < 0.2 else state
    found = traces.fit(trace_of(rates[states]), SLOT_S, 6, held_out=0)
    assert found.rates_bps == pytest.approx(rates, rel=1e-9)
    assert found.hidden.transition == pytest.approx(counted(states), abs=1e-9)
    assert found.goodness.distance < 1e-9


ODD = {
    "constant": np.full(2000, 5e6),
    "one slot of it": np.where(np.arange(2000) == 7, 1e6, 0.0),
    "two values": np.where(np.random.default_rng(1).random(2000) < 0.5, 1e6, 2e6),
    "two in turn": np.tile([1e6, 2e6], 1000),
    "one change": np.where(np.arange(2000) < 1000, 1e6, 2e6),
    "the last slot": np.append(np.full(1999, 1e6), 5e6),
    "huge": walk([1e14, 5e14, 9e14], 2000)[1],
    "tiny": walk([1e-3, 5e-3, 9e-3], 2000)[1],
    "far apart": walk([1.0, 1e6, 1e12], 2000)[1],
    "a ramp": np.arange(2000) * 1e3,
    "heavy tails": 1e3 * np.random.default_rng(2).pareto(0.5, 2000),
    "digits": np.rint(np.abs(np.random.default_rng(3).normal(50, 20, 2000))) * 1e4,
}


@pytest.mark.parametrize("states", [1, 3, 6])
@pytest.mark.parametrize("kind", ODD)
def test_odd_traces_are_fitted_or_refused(kind: str, states: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = traces.fit(trace_of(ODD[kind]), SLOT_S, states)
    assert found.hidden.share @ found.rates_bps == pytest.approx(ODD[kind].mean(), rel=1e-9)
    assert json.dumps(found.to_dict(), allow_nan=False)
    said = report.sentences(found)
    assert any("states were asked for: the trace does not tell so many apart" in line for line in said) == (
        found.states < states
    )


@pytest.mark.parametrize("value", [0.0, 1e-320, 1e200])
def test_what_no_link_carries_is_refused(value: float) -> None:
    with pytest.raises(TraceError, match=r"no capacity at all|no link does"):
        traces.fit(trace_of(np.full(2000, value)), SLOT_S, 2)


def test_rates_nearer_than_the_trace_tells_are_said_to_be() -> None:
    """Noise of a fiftieth of the spread, which is the resolution of values that do not recur."""
    chain = Hidden(
        law="normal",
        mean=np.array([10.0, 10.01, 90.0]),
        variance=np.array([1e-4, 1e-4, 1e-4]),
        transition=np.full((3, 3), 0.1) + 0.7 * np.eye(3),
        share=np.full(3, 1 / 3),
        log_likelihood=0.0,
        slots=3000,
    )
    found = traces.fit(trace_of(path(chain, Source(1)) * PACKET_BPS), SLOT_S, 3)
    assert found.hidden.alike == [0]
    assert any("states 0 and 1 are" in line and "these may be one" in line for line in report.sentences(found))


def test_the_resolution_is_a_packet_a_step_or_a_share_of_the_spread() -> None:
    rng = np.random.default_rng(4)
    assert resolution.resolution(rng.poisson(20.0, 1000).astype(float)) == 1.0
    assert resolution.resolution(np.tile([0.3, 0.5, 0.9], 100)) == pytest.approx(np.std([0.3, 0.5, 0.9]) / 20)
    assert resolution.resolution(np.tile([3.0, 3.001, 500.5], 100)) == pytest.approx(0.001)
    assert resolution.resolution(rng.normal(2.0, 0.1, 1000)) == pytest.approx(0.005, rel=0.1)


def test_paths_of_a_fit_are_fitted_with_its_resolution() -> None:
    _, values = walk([1.0, 1.1, 1.2], 3000)
    known = fit_hidden(values, 3, "normal")
    assert fit_again(path(known, Source(2)), known).resolution == known.resolution < 0.01
