"""TCP over rate control: effective capacity and the renewal model against closed forms and plain simulations."""

import math
from collections import deque
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from varicap import papers
from varicap.analyse import effective, markov
from varicap.analyse.effective import SlottedChain, decay_of, effective_capacity, estimate
from varicap.analyse.models import abr, abr_chain, abr_slot
from varicap.analyse.models.abr import ATM_SHARE, Parameters, efficiency
from varicap.papers import record
from varicap.papers.abr import fig08, fig18, fig19, sessions
from varicap.papers.reproduce import reproduce
from varicap.papers.run import Run
from varicap.statistics import Interval

THREE = SlottedChain(np.array([10.0, 4.0, 1.0]), np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]]))

# --- effective capacity ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("psi", [1.0, 1.5, 7.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-6, 0.01, 1.0, 30.0])
def test_two_states_have_the_root_of_a_quadratic(psi: float, delta: float) -> None:
    # Capacities 1 and 1/2, centred on 3/4, stay with probability t: x = rho - 1 solves x^2 + p x = 4 t sinh^2(delta/8).
    stay, bend = 1 - 1 / psi, 4 * math.sinh(delta / 8) ** 2
    half = (1 - stay) - stay * bend / 2
    x = stay * bend / (half + math.sqrt(half**2 + stay * bend)) if stay else 0.0
    expected = 0.75 - math.log1p(x) / delta
    assert effective_capacity(SlottedChain.symmetric(psi), delta) == pytest.approx(expected, abs=1e-12)


def test_it_is_the_limit_of_the_mean_of_exponentials() -> None:
    # Eq. (23) itself, by the forward recursion of E exp(-delta (C_1 + … + C_n)).
    delta, weight, log = 0.3, markov.stationary(THREE.transition), []
    for _ in range(4000):
        weight = (weight * np.exp(-delta * THREE.capacity)) @ THREE.transition
        log.append(math.log(weight.sum()))
        weight /= weight.sum()
    assert effective_capacity(THREE, delta) == pytest.approx(-np.mean(log[1000:]) / delta, rel=1e-9)


def test_it_falls_from_the_mean_to_the_least_capacity() -> None:
    deltas = [0.0, *np.logspace(-9, 9, 60), math.inf]
    found = [effective_capacity(THREE, delta) for delta in deltas]
    assert found[0] == pytest.approx(THREE.mean)
    assert found[-1] == 1.0
    assert (np.diff(found) <= 1e-14).all()
    assert found[1] == pytest.approx(THREE.mean, rel=1e-6)
    assert found[-2] == pytest.approx(1.0, rel=1e-6)


def logarithm_of_the_radius(cost: np.ndarray) -> float:
    """Of the matrix exp(-cost), by squaring it in logarithms: rho(A) is the limit of ||A^n||^(1/n)."""
    power, length, log = -cost, 1, 0.0
    for _ in range(60):
        most = power.max()
        power, log = power - most, log + most / length
        power = np.logaddexp.reduce(power[:, :, None] + power[None, :, :], axis=1)
        length *= 2
    return float(log + power.max() / length)


@pytest.mark.parametrize("delta", [0.5, 3.0, 30.0, 100.0, 1e3, 1e5])
def test_any_chain_has_it_to_the_last_digits(delta: float) -> None:
    # States that are left for certain, or nearly so, make the tilted matrix as ill-conditioned as it gets.
    rng = np.random.default_rng(1)
    for number in range(40):
        n = int(rng.integers(2, 7))
        transition = rng.random((n, n)) ** 3 * (rng.random((n, n)) < 0.6) + 0.05 * np.roll(np.eye(n), 1, axis=1)
        transition *= 1 - (number % 2) * np.eye(n)
        chain = SlottedChain(10 * rng.random(n), transition / transition.sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            cost = delta * chain.capacity[None, :] - np.log(chain.transition)
        expected = -logarithm_of_the_radius(cost) / delta
        assert effective_capacity(chain, delta) == pytest.approx(expected, rel=1e-9)


def test_states_that_cannot_stay_are_averaged_even_for_certain() -> None:
    # At psi = 1 the capacity alternates: over a cycle it is never below its mean.
    assert SlottedChain.symmetric(1.0).least == 0.75
    assert effective_capacity(SlottedChain.symmetric(1.0), math.inf) == 0.75
    ring = SlottedChain(np.array([4.0, 1.0, 1.0]), np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    assert ring.least == pytest.approx(2.0)


@pytest.mark.parametrize("rate", [1.001, 1.5, 3.0, 5.0])
def test_the_inverse_is_one(rate: float) -> None:
    assert effective_capacity(THREE, decay_of(THREE, rate)) == pytest.approx(rate, rel=1e-9)


def test_the_inverse_at_its_ends() -> None:
    assert decay_of(THREE, THREE.mean) == 0.0
    assert decay_of(THREE, 1.0) == math.inf
    with pytest.raises(ValueError, match="least capacity is 1"):
        decay_of(THREE, 0.99)


def test_the_backlog_decays_as_promised() -> None:
    # Lindley's recursion at a constant rate: the slope of log P(X > x) is -delta.  Source: [abr, §IV, eq. (22)].
    chain, rate = SlottedChain.symmetric(5.0), 0.65
    delta = decay_of(chain, rate)
    rng = np.random.default_rng(1)
    state = np.cumsum(rng.random(400_000) < 0.2) % 2
    step = rate - chain.capacity[state]
    walk = np.cumsum(step)
    backlog = walk - np.minimum.accumulate(walk)
    log = [math.log((backlog > x).mean()) for x in (1.0, 3.0)]
    assert (log[0] - log[1]) / 2 == pytest.approx(delta, rel=0.06)


def reference(samples: list[float], average: int, least: int, delta: float) -> list[float]:
    """Eqs. (25) and (28), sample by sample."""
    found, means = [], deque[float](maxlen=least)
    for end in range(1, len(samples) + 1):
        if end < average:
            found.append(sum(samples[:end]) / end)
            continue
        means.append(sum(samples[end - average : end]) / average)
        if math.isinf(delta):
            found.append(min(means))
        else:
            mean = sum(math.exp(-delta * average * one) for one in means) / len(means)
            found.append(-math.log(mean) / (delta * average))
    return found


@pytest.mark.parametrize(("average", "least"), [(1, 1), (7, 49), (3, 2), (40, 5), (1, 100)])
@pytest.mark.parametrize("delta", [0.2, math.inf])
def test_estimates_are_those_of_the_equations(average: int, least: int, delta: float) -> None:
    samples = np.random.default_rng(2).choice([3.0, 1.5], 60).tolist()
    found = estimate(samples, average=average, least=least, delta=delta)
    np.testing.assert_allclose(found, reference(samples, average, least, delta), rtol=1e-12)


def test_estimates_adapt_to_the_rate_of_variation() -> None:
    # [abr, §IV-A]: slow changes are followed, fast ones averaged, and between them the minimum is fed back.
    rng = np.random.default_rng(3)

    def mean(slots: float) -> float:
        state = np.cumsum(rng.random(60_000) < 1 / slots) % 2
        return float(estimate(np.where(state, 0.5, 1.0), average=7, least=49).mean())

    assert mean(1.0) > 0.7  # 0.75 - at most one sample of seven
    assert mean(30.0) < 0.6
    assert mean(3000.0) > 0.73


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate([1.0], average=0, least=1), "average is a whole number of samples"),
        (lambda: estimate([1.0], average=1, least=0), "least is a whole number of samples"),
        (lambda: estimate([-1.0], average=1, least=1), "finite capacities"),
        (lambda: estimate([1.0], average=1, least=1, delta=-1.0), "delta is 0 or more"),
        (lambda: effective_capacity(THREE, -1.0), "delta is 0 or more"),
        (lambda: SlottedChain.symmetric(0.5), "1 or more"),
        (lambda: SlottedChain.symmetric(0.0, law="exponential"), "positive"),
        (lambda: SlottedChain(np.array([1.0]), np.eye(2)), "1 capacities for 2 states"),
        (lambda: SlottedChain(np.array([1.0, -1.0]), np.full((2, 2), 0.5)), "0 or more"),
    ],
)
def test_what_is_no_capacity_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# --- the renewal model -----------------------------------------------------------------------------------------------


def played(parameters: Parameters, slots: int, seed: int) -> tuple[float, float]:
    """The model's process, slot by slot and packet by packet, without its code: optimistic and conservative."""
    rng = np.random.default_rng(seed)
    capacity, chain = parameters.capacity.capacity, parameters.capacity.transition
    slot, buffer = int(parameters.slot_packets), parameters.buffer_packets
    alone = parameters.control == "tcp"

    def after(state: int) -> int:
        return int(rng.random() >= chain[state, 0])

    a, b, d, r, s = int(not alone), 0, int(alone), 0, 0
    time, optimistic, conservative = 0, 0.0, 0.0
    while time < slots:
        window = a + b + d
        growth = min(int(rng.binomial(d, 1 / window)), parameters.max_window - window)
        admitted, lost = 0, False
        if alone:
            work, clock, leaving = b / capacity[r], 0.0, min(1 / capacity[s], slot / max(d, 1))
            twice = {math.ceil(j * d / (growth + 1)) for j in range(1, growth + 1)}
            assert len(twice) == growth
            for ack in range(1, d + 1):
                fills = ack == 1 and leaving < 1 / capacity[r]
                work, clock = work - leaving if fills else max(0.0, work - leaving), clock + leaving
                for _ in range(2 if ack in twice else 1):
                    if not lost and math.ceil(work * capacity[r] - 1e-9) >= buffer:
                        lost = True
                    if not lost:
                        work, admitted = work + 1 / capacity[r], admitted + 1
            left = math.ceil(max(0.0, work - (slot - clock)) * capacity[r] - 1e-9)
            queues = (0, left, b + d + growth - left)
        else:
            sends, carries = round(slot * capacity[s]), round(slot * capacity[r])
            entering = min(a + d + growth, sends)
            ratio = 1 - capacity[r] / capacity[s]
            lost = ratio > 0 and entering * ratio > buffer - b
            admitted = (buffer - b) / ratio if lost else 0
            queues = (a + d + growth - entering, max(b + entering - carries, 0), min(b + entering, carries))
        if not lost:
            optimistic, conservative, time = optimistic + d, conservative + d, time + 1
            a, b, d = queues
            r, s = after(r), r
            continue
        w = window + growth
        optimistic += d + b + admitted + (a + b + d + 1) + w / 2 - 1
        conservative += d + w / 2 - 1
        m = math.ceil(w / 2)
        rounds = 3 + math.ceil(math.log2(m))
        time += rounds
        for _ in range(rounds):
            r, s = after(r), r
        a, b, d = 0, 0, m
    whole = slot * parameters.capacity.mean * time / (1.0 if alone else parameters.payload_share)
    return optimistic / whole, conservative / whole


@pytest.mark.parametrize(
    ("parameters", "slots"),
    [
        (Parameters(capacity=SlottedChain.symmetric(4.0)), 25_000),
        (Parameters(capacity=SlottedChain.symmetric(8.0, low=0.25), buffer_packets=14, max_window=50), 25_000),
        (Parameters(capacity=SlottedChain.symmetric(4.0), control="tcp"), 4_000),
        (Parameters(capacity=SlottedChain.symmetric(10.0), control="tcp", buffer_packets=16, slot_packets=24.0), 4_000),
    ],
)
def test_the_model_agrees_with_its_process(parameters: Parameters, slots: int) -> None:
    runs = np.array([played(parameters, slots, seed) for seed in range(12)])
    found = efficiency(parameters)
    # Twelve runs: t(11, 0.9995) = 4.44 standard errors, so that one test in a thousand fails by chance.
    error = 4.44 * runs.std(axis=0, ddof=1) / math.sqrt(12)
    assert found.optimistic == pytest.approx(runs[:, 0].mean(), abs=error[0])
    assert found.conservative == pytest.approx(runs[:, 1].mean(), abs=error[1])
    assert error.max() < 0.04


@pytest.mark.parametrize(
    ("control", "psi", "optimistic", "conservative"),
    [
        ("instcap", 1.0, 0.396, 0.321),
        ("instcap", 5.0, 0.513, 0.442),
        ("instcap", 20.0, 0.811, 0.762),
        ("instcap", 50.0, 0.887, 0.863),
        ("instcap", 200.0, 0.903, 0.897),
        ("tcp", 1.0, 0.411, 0.329),
        ("tcp", 5.0, 0.547, 0.468),
        ("tcp", 20.0, 0.744, 0.670),
        ("tcp", 50.0, 0.789, 0.715),
        ("tcp", 200.0, 0.807, 0.732),
    ],
)
def test_an_independent_computation_found_the_same(
    control: Any, psi: float, optimistic: float, conservative: float
) -> None:
    found = efficiency(Parameters(control=control, capacity=SlottedChain.symmetric(psi)))
    assert (found.optimistic, found.conservative) == pytest.approx((optimistic, conservative), abs=0.005)


@pytest.mark.parametrize("control", ["instcap", "constant", "tcp"])
@pytest.mark.parametrize("slot", [7.0, 20.5, 40.0])
def test_the_chain_is_stochastic_and_conserves_packets(control: Any, slot: float) -> None:
    parameters = Parameters(
        control=control,
        rate=0.6 if control == "constant" else None,
        slot_packets=slot,
        capacity=SlottedChain(THREE.capacity / 10 + 0.1, THREE.transition),
        max_window=30,
    )
    rules, conditions = abr_slot.conditions(abr._path(parameters))
    chain = abr_chain.explore(rules)
    chances = chain.chances([conditions], parameters.capacity.transition[None])[:, 0]
    np.testing.assert_allclose(np.bincount(chain.source, chances), 1, atol=1e-12)
    assert (chain.slots >= 1 - 1e-12).all()
    assert (chain.conservative <= chain.optimistic + 1e-9).all()
    assert (chain.room >= 0).all()
    ends = abr_slot.outcomes(
        rules, (np.array([0 if control == "tcp" else 4]), np.array([3]), np.array([5])), np.array([1])
    )
    window = np.sum(ends.queues, axis=0)
    assert np.bincount(ends.condition, ends.chance)[np.unique(ends.condition)] == pytest.approx(1)
    assert (window >= (8 if control == "tcp" else 12))[~ends.lost].all()  # packets stay, cwnd only grows
    found = efficiency(parameters)
    assert found.residual < 1e-12
    assert 0 < found.conservative <= found.optimistic < 1.1


def following(source: float) -> Parameters:
    """A source that sends at this rate, or at a slower one, on a link that changes between 40 and 20 packets a slot."""
    return Parameters(advertised=(source, 0.5), max_window=30)


def test_paths_that_differ_in_fractions_of_a_packet_share_a_chain() -> None:
    # 33 or 34 packets are sent in a slot, of which the link that carries 20 keeps two fifths and a little.
    rates = [0.835, 0.838, 0.841]
    rules, conditions = zip(*(abr_slot.conditions(abr._path(following(rate))) for rate in rates), strict=True)
    assert len(set(rules)) == 1
    assert len({one.share.tobytes() for one in conditions}) == 3, "they differ in how often 34 are sent"
    for rate in (0.825, 0.815, 0.855, 0.832):  # always 33, one packet less, one more, and less than two fifths kept
        assert abr_slot.conditions(abr._path(following(rate)))[0] not in rules
    together_ = abr_chain.solve_all([(abr._path(following(rate)), Parameters().capacity.transition) for rate in rates])
    for rate, found in zip(rates, together_, strict=True):
        abr_chain._kept.clear()
        (alone,) = abr_chain.solve_all([(abr._path(following(rate)), Parameters().capacity.transition)])
        assert isinstance(found, abr_chain.Solution)
        assert vars(found) == pytest.approx(vars(alone), rel=1e-12, abs=1e-14)


def test_paths_on_which_the_same_packets_are_lost_share_a_chain() -> None:
    columns = ("source", "target", "loss", "optimistic", "room")
    seen = set()
    for path in (following(0.825), replace(following(0.825), max_window=60, buffer_packets=20)):
        paths = [replace(path, advertised=(rate, 0.5)) for rate in np.linspace(0.8251, 0.8499, 40).tolist()]
        rules = dict.fromkeys(abr_slot.conditions(abr._path(one))[0] for one in paths)
        explored = [abr_chain._explored(one) for one in rules]
        for one, other in permutations(explored, 2):
            is_same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)
            assert one.serves(other.rules) == is_same
            seen.add(is_same)
        abr_chain._kept.clear()
        kept = {id(abr_chain.explore(one)) for one in rules}
        assert len(kept) == len(abr_chain._kept) < len(rules)
    assert seen == {True, False}


def test_as_many_packets_enter_without_a_loss_as_the_equation_has_it() -> None:
    rng = np.random.default_rng(4)
    # Of capacities 1 and 0.7 the buffer keeps three packets in ten, up to rounding.
    for capacity in (np.array([1.0, 0.7]), *(0.2 + 0.8 * rng.random((50, 2)))):
        slot, buffer = 40 * rng.random() + 10, int(rng.integers(4, 20))
        parameters = replace(
            Parameters(),
            capacity=SlottedChain(capacity, np.full((2, 2), 0.5)),
            slot_packets=slot,
            buffer_packets=buffer,
        )
        rules, _ = abr_slot.conditions(abr._path(parameters))
        for before, now, sends, most in zip(rules.before, rules.now, rules.sends, rules.enter, strict=True):
            kept = max(1 - capacity[now] / capacity[before], 0)
            for room, enter in zip(range(buffer, -1, -1), most, strict=True):
                entering = np.arange(sends + 1)
                assert enter == entering[~(entering * kept > room + 1e-9)].max()


def test_a_buffer_beyond_all_windows_is_no_larger_than_one_that_holds_them() -> None:
    found = [efficiency(Parameters(buffer_packets=room, max_window=12)) for room in (12, 13, 10**9)]
    assert found[0] == found[1] == found[2]
    rules, _ = abr_slot.conditions(abr._path(Parameters(buffer_packets=10**9, max_window=12)))
    assert {len(most) for most in rules.enter} == {13}


def test_without_variation_nothing_is_lost() -> None:
    constant = SlottedChain(np.array([1.0]), np.array([[1.0]]))
    assert efficiency(Parameters(capacity=constant)).optimistic == pytest.approx(ATM_SHARE)
    assert efficiency(Parameters(capacity=constant)).loss_probability == 0
    # A window below the pipe decides by itself.
    assert efficiency(Parameters(capacity=constant, max_window=20)).optimistic == pytest.approx(ATM_SHARE / 2)


def test_slow_variation_approaches_the_footnotes_asymptote() -> None:
    assert efficiency(Parameters(capacity=SlottedChain.symmetric(5000.0))).optimistic == pytest.approx(
        ATM_SHARE, abs=1e-3
    )


def test_capacities_of_any_length_carry_their_mean() -> None:
    # A slot of 13.3 packets at full rate: no rounding takes or gives throughput.
    found = efficiency(Parameters(slot_packets=13.3, capacity=SlottedChain.symmetric(2000.0), max_window=40))
    assert found.optimistic == pytest.approx(ATM_SHARE, abs=2e-3)


def test_a_large_buffer_is_told_to_be_an_upper_bound() -> None:
    assert any("upper bound" in note for note in efficiency(Parameters(buffer_packets=20)).validity)
    assert any("third" in note for note in efficiency(Parameters(control="tcp")).validity)
    assert any("a timeout every" in note for note in efficiency(Parameters()).validity)
    assert efficiency(Parameters(capacity=SlottedChain.symmetric(100.0))).validity == ()


def test_the_best_constant_rate_is_little_above_the_least_capacity() -> None:
    # [abr, §IV]; an independent computation: within 9 % up to psi = 20, delta 0.3 to 0.65 per packet.
    best = abr.best_constant_rate(Parameters(capacity=SlottedChain.symmetric(10.0)))
    assert 1.0 <= best.rate / 0.5 <= 1.1
    assert 0.2 < best.decay < 0.7
    per_packet = SlottedChain.symmetric(10.0, high=40.0, low=20.0)
    assert effective.effective_capacity(per_packet, best.decay) == pytest.approx(40 * best.rate, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"control": "effcap"}, "control is"),
        ({"slot_packets": 0.0}, "positive number"),
        ({"buffer_packets": 0}, "buffer_packets is a whole number"),
        ({"max_window": 2.5}, "max_window is a whole number"),
        ({"payload_share": 1.5}, "payload_share"),
        ({"control": "constant"}, "a rate belongs"),
        ({"rate": 0.5}, "a rate belongs"),
        ({"control": "constant", "rate": -1.0}, "positive share"),
        ({"slot_packets": 1.5}, "needs at least one"),
        ({"capacity": SlottedChain.symmetric(3.0, low=0.0)}, "no outages"),
    ],
)
def test_what_the_model_does_not_cover_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Parameters(), **changes)


# --- the paper -------------------------------------------------------------------------------------------------------


def test_memories_follow_the_papers_notation() -> None:
    # [abr, §VI-A]: M : Delta is 7 samples at 200 ms, N : 8 Delta is 49; N : 4 Delta is 6 at 50 ms and 12 at 100 ms.
    assert sessions.samples_of(8) == (7, 49)
    assert sessions.samples_of(4, 50.0) == (2, 6)
    assert sessions.samples_of(4, 100.0) == (4, 12)


def test_gains_are_paired() -> None:
    ours, other = np.array([0.6, 0.9]), np.array([0.5, 0.75])
    np.testing.assert_allclose(sessions.gain(ours, other), [20.0, 20.0])


def test_points_are_averaged_run_by_run_and_compared_by_their_means() -> None:
    points = [np.array([1.0, 4.0, 9.0]), np.array([2.0, 3.0])]
    assert sessions.mean(points) == Interval.of([1.5, 3.5])
    unfair, fair = np.array([0.8, 0.9]), np.array([0.9, 1.1])
    assert {psi: float(far.mean()) for psi, far in fig19.unfairness({1.0: unfair, 2.0: fair}).items()} == {
        1.0: pytest.approx(0.15),
        2.0: pytest.approx(0.0),  # runs that scatter about one are fair on average
    }
    changes = fig18._changes({1: np.array([1.0, 2.0]), 2: np.array([2.0, 3.0])})
    assert [change.tolist() for change in changes] == [[-50.0, pytest.approx(-100 / 3)], [100.0, pytest.approx(50.0)]]


def test_the_nearer_account_of_the_analysis_is_that_of_the_mean() -> None:
    analysis = replace(efficiency(Parameters()), optimistic=0.8, conservative=0.5)
    above, below = fig08._nearer(analysis, np.array([0.4, 0.8]))
    np.testing.assert_allclose(above, [25.0, -37.5])
    np.testing.assert_allclose(below, -above)


@pytest.mark.parametrize("figure", ["fig11", "fig17", "fig21"])
def test_a_quick_figure_has_the_verdicts_on_record(figure: str) -> None:
    done = reproduce(papers.paper("abr"), [figure], run=Run("abr", quick=True))
    assert done.claims
    assert not record.surprises(done)


def test_every_statement_of_the_paper_is_there() -> None:
    ids = {one.id for one in papers.paper("abr").claims}
    for number in range(1, 19):
        assert any(one == f"ABR-C{number}" or one.startswith(f"ABR-C{number}-") for one in ids), number


def test_two_sessions_are_told_half_each_and_share_better_than_tcp_alone() -> None:
    run = Run("abr", quick=True)
    short, long = sessions.two(run, "case 1", 1.0)
    assert 0.95 < (long / short).mean() < 1.05
    assert ((short + long) < ATM_SHARE).all()
    short, long = sessions.two(run, "tcp", 1.0)
    assert (long / short).mean() < 0.65


def test_chains_are_kept_for_other_capacities_as_long_as_they_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (abr_slot.conditions(abr._path(Parameters(buffer_packets=room, max_window=8)))[0] for room in (5, 6))
    first = abr_chain.explore(one)
    abr_chain.explore(other)
    assert abr_chain.explore(one) is first
    monkeypatch.setattr(abr_chain, "_MOST_KEPT", 1)
    abr_chain.explore(other)
    assert list(abr_chain._kept) == [other], "the last one alone, however large it is"
    assert abr_chain.explore(one) is not first
