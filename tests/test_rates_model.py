"""TCP over explicit rates on Markov capacities of n rates: against the models of two states, and the simulator."""

import math
import tracemalloc
from typing import Any

import chains
import numpy as np
import pytest
from conftest import sampled

import varicap
from varicap.analyse import advertised, aggregate, effective, estimators, markov, together
from varicap.analyse.effective import ContinuousChain, SlottedChain, decay_of, effective_capacity
from varicap.analyse.estimators import Estimator
from varicap.analyse.models import abr, bbr_rates, ratcp, ratcp_rates, varying
from varicap.report import table

BOUND, ABR_BOUND = 0.08, 0.15
"""Stated in `docs/models.md`, the simulator's interval considered."""
APART = 5.0
"""Largest rate over the least, beyond which every answer is strained."""
FOLLOWING = [flow for flow in chains.FLOWS if flow.startswith(("ratcp-", "timeouts-")) and flow != "timeouts-tcp"]


@pytest.mark.parametrize("control", ["ratcp", "tcp"])
@pytest.mark.parametrize("sessions", [1, 3])
@pytest.mark.parametrize("arrivals", [0.1, 1.0])
def test_on_the_rates_of_sessions_it_is_the_model_of_sessions(control: Any, sessions: int, arrivals: float) -> None:
    known = ratcp.Parameters(arrival_rate=arrivals, max_sessions=sessions, control=control)
    rates = known.slot / (np.arange(sessions + 1) + 1)
    link = advertised.exact(SlottedChain(rates, ratcp.session_chain(known)))
    found = ratcp_rates.throughput(
        ratcp_rates.Parameters(link=link, room_packets=10, control=control, backlog_packets=1)
    )
    assert found.packets_per_slot == pytest.approx(ratcp.throughput(known).throughput_pps * 0.1, rel=1e-12)


def _split(chain: SlottedChain) -> SlottedChain:
    """Three states, of which the last two have one rate and share what the second had."""
    (a, b), (c, d) = chain.transition.tolist()
    rows = [[a, 0.7 * b, 0.3 * b], [c, 0.6 * d, 0.4 * d], [c, 0.2 * d, 0.8 * d]]
    return SlottedChain(chain.capacity[[0, 1, 1]], np.array(rows))


@pytest.mark.parametrize("control", ["instcap", "tcp"])
def test_states_that_are_alike_are_one_to_a_rate_controlled_sender(control: Any) -> None:
    two = SlottedChain.symmetric(20.0)
    found = [
        abr.efficiency(abr.Parameters(capacity=chain, control=control, slot_packets=20.0, max_window=30)).optimistic
        for chain in (two, _split(two))
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-10)


def test_states_that_are_alike_are_one_to_ratcp() -> None:
    two = SlottedChain.symmetric(10.0, high=40.0, low=10.0)
    by_window, by_packet = [], []
    for chain in (two, _split(two)):
        link = advertised.exact(chain)
        path = varying.Parameters(capacity=chain, waiting_packets=20, round_trip_s=0.1)
        by_window.append(varying.ratcp(path, link))
        by_packet.append(ratcp_rates.throughput(ratcp_rates.Parameters(link=link, room_packets=20)).utilisation)
    assert by_window[1] == pytest.approx(by_window[0], rel=1e-10)
    assert by_packet[1] == pytest.approx(by_packet[0], rel=1e-10)


def test_bbr_loses_what_its_probes_leave_and_what_it_learns_late() -> None:
    constant = varying.Parameters(
        capacity=SlottedChain(np.array([30.0]), np.array([[1.0]])), waiting_packets=30, round_trip_s=0.1
    )
    assert bbr_rates.utilisation(constant) == pytest.approx(1, abs=0.03)
    changing = [
        varying.Parameters(
            capacity=SlottedChain.symmetric(lasts, high=60.0, low=10.0), waiting_packets=60, round_trip_s=0.1
        )
        for lasts in (40.0, 400.0)
    ]
    fast, slow = map(bbr_rates.utilisation, changing)
    assert fast < slow - 0.02


@pytest.mark.parametrize("flow", ["reno", "cubic", "ratcp-exact", "timeouts-exact"])
@pytest.mark.parametrize(
    ("rates", "lasts", "room", "says"),
    [
        ((4, 4), 12.5, 0.45, None),
        ((3, 14.9), 12.5, 0.45, None),
        ((3, 15.1), 12.5, 0.45, "its fastest rate is 5.03 times its slowest (above 5)"),
        ((4, 8), 2.3, 0.45, "a rate lasts 2.3 round trips on average"),
        ((4, 8), 12.5, 0.28, "of what the fastest rate carries in a round trip"),
    ],
)
def test_what_the_grid_does_not_have_strains_it(flow: str, rates: Any, lasts: float, room: float, says: Any) -> None:
    asked = chains.scenario(0, flow)
    packets = int(room * max(rates) * 1e5 / 12_000)
    asked["topology"]["dumbbell"]["forward"] = {
        "capacity": {
            "markov": {"rates": [f"{rate} Mbit/s" for rate in rates], "mean_holding": [f"{lasts / 10} s"] * 2}
        },
        "delay": "100 ms",
        "queue": {"drop-tail": {"limit": f"{packets} packets"}},
    }
    said = varicap.run(asked, engine="model").summary["flows"][0]["strained"]
    assert [says in one for one in said] == [True] if says else said == []


def test_bbr_is_always_strained() -> None:
    for number in range(4):
        said = varicap.run(chains.scenario(number, "bbr"), engine="model").summary["flows"][0]["strained"]
        assert "heuristic recursion" in said[-1]


def test_on_a_rate_that_does_not_change_the_window_decides() -> None:
    link = advertised.exact(SlottedChain(np.array([30.0]), np.array([[1.0]])))
    path = varying.Parameters(capacity=link.capacity, waiting_packets=20, round_trip_s=0.1)
    # A window of 31 packets fills a pipe of 30 and the server; one that lacks 10 packets carries 21 in 31 times.
    assert varying.ratcp(path, link) == pytest.approx(1.0)
    assert varying.ratcp(path, link, known_slots=2 / 3) == pytest.approx(21 / 31)
    assert varying.ratcp(path, link, packets_per_ack=2) == pytest.approx(30.5 / 32)


def belongs(asked: dict[str, Any]) -> bool:
    """Whether an answer is to be valid: rates are not too far apart, and carry two packets in a round trip."""
    forward = asked["topology"]["dumbbell"]["forward"]
    (capacity,) = forward["capacity"].values()
    least = min(float(rate.split()[0]) for rate in capacity["rates"]) * float(forward["delay"].split()[0]) / 12
    return chains.apart(asked) <= APART and least >= 2


def holds(number: int, flow: str, law: str, **drawn: Any) -> None:
    row = chains.compared(number, flow, law, **drawn)
    assert row["model"] == ("ratcp" if flow.startswith("timeouts-") else "varying")
    # Where a packet of RATCP's window more or less is a large share, that strains it, too.
    is_by_a_packet = "the least RTT may be measured" in row["why"] or "known to half a packet" in row["why"]
    assert is_by_a_packet or (not row["why"]) == belongs(chains.scenario(number, flow, law, **drawn))
    assert row["why"] or abs(row["off"]) < BOUND, row


def test_most_chains_of_the_grid_are_valid() -> None:
    for flow, valid in (("ratcp-exact", 172), ("timeouts-exact", 159)):
        assert sum(belongs(chains.scenario(number, flow)) for number in range(200)) == valid


@pytest.mark.parametrize("flow", FOLLOWING)
@pytest.mark.parametrize("number", [0, 1])
def test_random_chains(number: int, flow: str) -> None:
    holds(number, flow, chains.LAWS[number % 2])


@pytest.mark.slow
@pytest.mark.parametrize("flow", FOLLOWING)
@pytest.mark.parametrize("number", sampled(200, 19))
def test_random_chains_over_the_whole_grid(number: int, flow: str) -> None:
    holds(number, flow, chains.LAWS[number % 2])


def behind_a_source(number: int, flow: str) -> None:
    row = chains.compared(number, flow, chains.LAWS[number % 2])
    if row["said"] == "":
        assert "the model has more than 200000 states" in row["why"]
        return
    assert row["model"] == "abr"
    assert row["why"] or abs(row["off"]) < ABR_BOUND, row


@pytest.mark.parametrize("flow", ["abr-exact", "abr-instcap"])
@pytest.mark.parametrize("number", [3, 12])
def test_random_chains_behind_an_abr_source(number: int, flow: str) -> None:
    behind_a_source(number, flow)


@pytest.mark.parametrize("number", [3, 16])
def test_random_chains_behind_effcap_of_any_number_of_states(number: int) -> None:
    # 4 and 10 states of capacity and advertised rate.
    behind_a_source(number, "abr-effcap")


def test_effcap_on_rates_far_apart_is_strained() -> None:
    said = {}
    for slowest in (2.1, 1.9):
        asked = chains.scenario(3, "abr-effcap")
        asked["topology"]["dumbbell"]["forward"]["capacity"] = {
            "markov": {"rates": ["3 Mbit/s", f"{0.3 * slowest} Mbit/s"], "mean_holding": ["3 s"] * 2}
        }
        said[slowest] = varicap.run(asked, engine="model").summary["flows"][0]["strained"]
    assert not any("times its slowest" in one for one in said[2.1])
    assert sum("5.26 times its slowest (above 5)" in one for one in said[1.9]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("flow", ["abr-exact", "abr-instcap", "abr-effcap"])
@pytest.mark.parametrize("number", range(0, 200, 29))
def test_random_chains_behind_an_abr_source_from_all_of_the_grid(number: int, flow: str) -> None:
    # The whole of it takes an hour: docs/models.md has what `tools/chains.py` measured.
    behind_a_source(number, flow)


def test_tcp_that_knows_timeouts_only_is_said_to_get_less_than_the_model_has() -> None:
    row = chains.compared(0, "timeouts-tcp")
    assert "an upper bound" in row["why"]
    assert row["said"] > row["lo"]


def test_the_grid_sums_up_what_lies_inside_a_bound() -> None:
    row = dict.fromkeys(chains.COLUMNS, "") | {"flow": "reno", "law": "slotted", "mean": 1.0}
    rows = [row | {"said": said, "off": said - 1} for said in (1.0, 1.06, 0.91)] + [row]
    _, valid, refused = chains.summarised(rows)
    assert valid.split()[2:] == ["yes", "3", "33.3%", "66.7%", "100.0%", "100.0%", "9.0%", "6.0%", "+0.0%"]
    assert refused.split() == ["reno", "slotted", "refused", "1"]
    assert chains._off(1.2, {"lo": 0.9, "hi": 1.0}) == pytest.approx(0.2)
    assert chains._off(0.9, {"lo": 1.0, "hi": 1.1}) == pytest.approx(-0.1)
    assert chains._off(1.0, {"lo": 0.9, "hi": 1.1}) == 0


def test_a_count_of_states_has_no_decimals() -> None:
    ((_, rows),) = table.rows(varicap.run(chains.scenario(0, "reno"), engine="model").summary)
    assert rows[0][-1].endswith("states 5")


@pytest.mark.parametrize(
    ("flow", "key", "value", "says"),
    [
        ("ratcp-exact", "flows.one.feedback.quantum", "'1 Mbit/s'", "quantum"),
        ("ratcp-exact", "flows.one.feedback.delay", "'1 ms'", "feedback.delay"),
        ("ratcp-exact", "flows.one.feedback.estimator", "{ exact = { interval = '1 s' } }", "exact.interval"),
        ("ratcp-effcap", "flows.one.feedback.estimator.effective.delta", "0.1", "effective.delta"),
        ("ratcp-effcap", "flows.one.feedback.estimator.effective.at", "{ source = {} }", "effective.at"),
        ("ratcp-effcap", "flows.one.feedback.estimator.effective.least", "'9000 rtt'", "sample paths are too short"),
        ("ratcp-exact", "flows.one.tcp.congestion", "{ ratcp = { rtt = 'smoothed' } }", "smoothed"),
        ("timeouts-exact", "flows.one.tcp.max_window", "'20 packets'", "max_window"),
        ("timeouts-exact", "topology.dumbbell.forward.delay", "'1 ms'", "at least one packet"),
        ("abr-effcap", "flows.one.feedback.estimator.effective.delta", "0.1", "effective.delta"),
    ],
)
def test_what_lies_outside_is_refused(flow: str, key: str, value: str, says: str) -> None:
    overrides = {key: value}
    if key.endswith(".delay") and "topology" in key:
        overrides["flows.one.feedback.delay"] = value
    with pytest.raises(varicap.NotApplicableError) as raised:
        varicap.run(chains.scenario(0, flow), engine="model", overrides=overrides)
    assert says in str(raised.value)


@pytest.mark.parametrize("flow", ["ratcp-exact", "timeouts-exact", "abr-effcap"])
def test_a_key_that_it_does_not_know_makes_it_not_valid(flow: str) -> None:
    asked = chains.scenario(0, flow)
    # What is said of a key does not depend on how many states there are to solve.
    small = {"flows.one.tcp.max_window": "'16 packets'"} if flow == "abr-effcap" else {}
    plain = varicap.run(asked, engine="model", overrides=small).summary["flows"][0]["strained"]
    paced = small | {"flows.one.tcp.pacing": "'linux'"}
    more = varicap.run(asked, engine="model", overrides=paced).summary["flows"][0]
    assert not any("pacing" in one for one in plain)
    assert any("pacing = linux: the model takes no account" in one for one in more["strained"])


@pytest.mark.parametrize("flow", FOLLOWING)
@pytest.mark.parametrize("number", [26, 73])
def test_stretched_chains_that_are_valid(number: int, flow: str) -> None:
    row = chains.compared(number, flow, chains.LAWS[number % 2], family="stretched", duration_s=60)
    assert row["why"] == ""
    assert abs(row["off"]) < BOUND, row


@pytest.mark.slow
@pytest.mark.parametrize("flow", ["reno", "cubic", *FOLLOWING])
@pytest.mark.parametrize("number", sampled(40, 13))
def test_stretched_chains_are_strained_or_inside_the_bound(number: int, flow: str) -> None:
    row = chains.compared(number, flow, chains.LAWS[number % 2], family="stretched", duration_s=60)
    assert row["why"] or abs(row["off"]) < BOUND, row


def test_too_many_states_are_refused_before_they_are_solved() -> None:
    asked = chains.scenario(0, "timeouts-effcap")
    asked["topology"]["dumbbell"]["forward"] = {
        "capacity": {"markov": {"rates": [f"{rate} Mbit/s" for rate in (3, 4, 5, 6, 12)], "mean_holding": ["2 s"] * 5}},
        "delay": "100 ms",
        "queue": {"drop-tail": {"limit": "100 packets"}},
    }
    with pytest.raises(varicap.NotApplicableError, match="more than 10000 states"):
        varicap.run(asked, engine="model")


CHAIN = SlottedChain(np.array([30.0, 12.0, 18.0]), np.array([[0.9, 0.06, 0.04], [0.1, 0.85, 0.05], [0.2, 0.1, 0.7]]))


@pytest.mark.parametrize(("interval", "average", "least"), [(0.25, 4, 28), (1.0, 1, 1), (3.0, 1, 2)])
def test_the_aggregate_keeps_the_capacity_and_advertises_what_the_estimator_does(
    interval: float, average: int, least: int
) -> None:
    link = advertised.estimated(CHAIN, interval_slots=interval, average=average, least=least)
    share = markov.stationary(link.capacity.transition)
    for rate, known in zip(CHAIN.capacity, markov.stationary(CHAIN.transition), strict=True):
        assert share[link.capacity.capacity == rate].sum() == pytest.approx(known, rel=1e-9)
    rng = np.random.default_rng(5)
    states = [0]
    for draw in rng.random(60_000):
        states.append(int(np.searchsorted(np.cumsum(CHAIN.transition[states[-1]]), draw)))
    total = np.concatenate([[0.0], np.cumsum(CHAIN.capacity[states])])
    samples = np.diff(np.interp(np.arange(0, 60_000, interval), np.arange(len(total)), total)) / interval
    told = effective.estimate(samples, average=average, least=least).mean()
    assert share @ link.advertised == pytest.approx(told, rel=0.03)


@pytest.mark.parametrize(
    ("interval", "average", "least"), [(0.25, 4, 28), (0.6, 1, 1), (1.0, 1, 1), (1.7, 2, 3), (3.0, 1, 2)]
)
def test_the_least_rate_that_a_slot_meets_is_found_by_following_the_estimator(
    interval: float, average: int, least: int
) -> None:
    capacity = np.random.default_rng(3).choice(CHAIN.capacity, size=400)
    drawn = np.random.default_rng(4).random(1)
    found = Estimator(interval, average, least, "least").advertised(capacity[:, None], drawn)[:, 0]
    ends = np.arange(drawn[0] * interval, 400, interval)
    total = np.concatenate([[0.0], np.cumsum(capacity)])
    samples = np.diff(np.interp(ends, np.arange(401), total)) / interval
    told = effective.estimate(samples, average=average, least=least)
    memory = math.ceil((average + least) * interval) + 2
    for slot in range(memory, 390):
        # A rate holds from the end of its interval to the end of the next.
        meets = (ends[1:] < slot + 1) & (ends[1:] + interval > slot)
        assert found[slot] == pytest.approx(told[meets].min(), rel=1e-9)


@pytest.mark.parametrize("count", [1, 2, 7, 20, 33, 40])
def test_minima_are_of_the_last_values(count: int) -> None:
    values = np.random.default_rng(count).random((3, 33))
    least = estimators.sliding_least(values, count)
    for place in range(33):
        assert (least[:, place] == values[:, max(0, place + 1 - count) : place + 1].min(axis=1)).all()


@pytest.mark.parametrize(("interval", "average", "least"), [(0.15, 7, 49), (0.25, 4, 28), (1.7, 2, 3), (3.0, 1, 2)])
@pytest.mark.parametrize("of_slot", ["mean", "least"])
def test_slots_long_after_a_change_or_like_those_of_a_known_path_need_no_samples(
    of_slot: Any, interval: float, average: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    state = np.cumsum(rng.random((600, 20)) < 0.02, axis=0)
    capacity, other = (CHAIN.capacity[one % 3] for one in (state, state + (rng.random((600, 20)) < 0.004)))
    begins, estimator = rng.random(20), Estimator(interval, average, least, of_slot)
    shares, stretches = list[float](), estimators.stretches

    def counted(is_new: Any, reach: int) -> Any:
        path, first, last = stretches(is_new, reach)
        shares.append((last - first).sum() / capacity.size)
        return path, first, last

    monkeypatch.setattr(estimators, "stretches", counted)
    known = other, estimator.advertised(other, begins)
    few = estimator.advertised(capacity, begins)
    fewer = estimator.advertised(capacity, begins, known)
    none = estimator.advertised(capacity, begins, (capacity, few))
    assert 0.6 > shares[1] > 1.5 * shares[2] > shares[3] == 0
    monkeypatch.setattr(estimators, "stretches", lambda is_new, reach: stretches(is_new, 600))
    every = estimator.advertised(capacity, begins)
    for found in (few, fewer, none):
        np.testing.assert_allclose(found[estimator.memory : -2], every[estimator.memory : -2], rtol=1e-12)


def counted(states: Any, rates: Any, number: int, levels: int) -> tuple[int, list[Any], list[Any], list[Any]]:
    """What `aggregate` counts: levels, slots by key, their mean rates, and steps from key to key."""
    edges = np.unique(np.quantile(rates, np.linspace(0, 1, levels + 1)[1:-1]))
    key = states * (len(edges) + 1) + (rates[..., None] > edges).sum(axis=-1)
    keys = range(number * (len(edges) + 1))
    seen = [int((key == one).sum()) for one in keys]
    mean = [float(rates[key == one].mean()) if (key == one).any() else 0.0 for one in keys]
    steps = [[int(((key[:-1] == one) & (key[1:] == other)).sum()) for other in keys] for one in keys]
    return len(edges) + 1, seen, mean, steps


@pytest.mark.parametrize("levels", [2, 3, 8])
def test_slots_that_differ_from_those_before_are_counted_again(levels: int) -> None:
    rng = np.random.default_rng(levels)
    states = np.repeat(rng.integers(0, 3, (30, 20)), 10, axis=0).astype(np.int8)
    # Many rates are the same, as those of long ago are.
    rates = np.where(rng.random(states.shape) < 0.3, rng.integers(1000, 4000, states.shape) / 4, 250.0 * (1 + states))
    paths = aggregate.Aggregate(states, rates, number=3, levels=levels, unit=0.25)
    for others in (0.0, 0.01, 0.01, 0.002):
        differs = np.repeat(rng.random((60, 20)) < others, 5, axis=0)
        states = np.where(differs, rng.integers(0, 3, states.shape), states).astype(np.int8)
        rates = np.where(differs, rng.integers(1000, 4000, states.shape) / 4, rates)
        assert paths.corrected(states, rates, number=3, unit=0.25)
        found = paths.counts
        size, seen, mean, steps = counted(states, rates, 3, levels)
        assert (found.levels, found.seen.tolist()) == (size, seen)
        assert found.mean.tolist() == pytest.approx(mean)
        assert found.steps.tolist() == steps
        anew = aggregate.Aggregate(states, rates, number=3, levels=levels, unit=0.25).counts
        assert found.mean.tolist() == anew.mean.tolist(), "to the last digit"
    assert not paths.corrected(states, rates, number=3, unit=0.5)
    assert not paths.corrected(states[:-1], rates[:-1], number=3, unit=0.25)
    assert not paths.corrected(states, rates[::-1], number=3, unit=0.25), "most slots are others"


def test_rates_of_several_links_are_those_of_each_and_whatever_fits_into_a_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slower = SlottedChain(CHAIN.capacity, 0.5 * (np.eye(3) + CHAIN.transition))
    several: list[tuple[SlottedChain, dict[str, Any]]] = [
        (chain, {"interval_slots": interval, "average": average, "least": least})
        for chain in (CHAIN, slower)
        for interval, average, least in ((0.25, 4, 28), (0.25, 4, 4), (1.0, 1, 1))
    ]
    found = together.run([advertised.estimating(chain, **options) for chain, options in several])
    monkeypatch.setattr(estimators, "_SAMPLES", 1)
    for (chain, options), link in zip(several, found, strict=True):
        alone = advertised.estimated(chain, **options)
        assert isinstance(link, advertised.AdvertisedChain)
        assert (link.advertised == alone.advertised).all()
        assert (link.capacity.transition == alone.capacity.transition).all()


def bbr_by_its_recursion(parameters: varying.Parameters) -> float:
    """What the top of `bbr_rates` says, with all that was delivered at hand."""
    rng = np.random.default_rng(bbr_rates._SEED)
    (states,) = advertised.paths_of([parameters.capacity], bbr_rates._SLOTS, rng)
    capacity = parameters.capacity.capacity[states]
    paths = (capacity.shape[1],)
    phase, busy = rng.integers(0, 8, paths), rng.random(paths) * 10 / parameters.round_trip_s
    delivered = [capacity[0]] * 10
    backlog = probing = np.zeros(paths)
    for slot, offered in enumerate(capacity):
        bandwidth = np.max(delivered[-10:], axis=0)
        sent = np.minimum(bbr_rates._GAINS[(phase + slot) % 8] * bandwidth, np.maximum(2 * bandwidth - backlog, 0))
        drains = probing > 0
        sent = np.where(drains, np.minimum(sent, 4), sent)
        served = np.minimum(backlog + sent, offered)
        backlog = np.minimum(backlog + sent - served, parameters.waiting_packets)
        delivered.append(np.where(drains, 0, served))
        capacity[slot] = served
        busy = np.where(backlog <= 0.5, 0, busy + 1)
        begins = (busy > 10 / parameters.round_trip_s) & ~drains
        probing = np.where(begins, np.ceil(0.2 / parameters.round_trip_s) + 1, np.maximum(probing - 1, 0))
        busy = np.where(begins, 0, busy)
    counted = slice(bbr_rates._WARM_UP, None)
    return float(capacity[counted].sum() / parameters.capacity.capacity[states[counted]].sum())


def test_sample_paths_of_several_links_are_those_of_each() -> None:
    two = SlottedChain.symmetric(20.0, high=40.0, low=20.0)
    several = [
        varying.Parameters(capacity=chain, waiting_packets=room, round_trip_s=round_trip_s)
        for chain, room, round_trip_s in (
            (two, 30.0, 0.1),
            (CHAIN, 20.0, 0.05),
            (two, 90.0, 0.3),
            (CHAIN, 60.0, 0.1),
            (two, 35.0, 0.0001),
            (two, 35.0, 15.0),
        )
    ]
    shares = bbr_rates._follow(several)
    assert shares == pytest.approx([bbr_rates.utilisation(one) for one in several], rel=1e-13)
    assert shares == pytest.approx([bbr_by_its_recursion(one) for one in several], rel=1e-12)
    assert len({round(share, 4) for share in shares}) == len(several)
    drawn = advertised.paths_of([two, CHAIN], 150, np.random.default_rng(1))
    for chain, states in zip((two, CHAIN), drawn, strict=True):
        (alone,) = advertised.paths_of([chain], 150, np.random.default_rng(1))
        assert (states == alone).all()
        # Step by step, by the draws behind those of the first states.
        rng = np.random.default_rng(1)
        rng.random(states.shape[1])
        for slot, draws in enumerate(rng.random(states.shape)[:-1]):
            reach = np.cumsum(chain.transition[states[slot]], axis=1)
            assert (states[slot + 1] == np.minimum((draws[:, None] >= reach).sum(axis=1), reach.shape[1] - 1)).all()


def test_neighbours_whose_sample_paths_are_the_same_lead_each_other_and_find_what_each_finds_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Points of a sweep, of which some differ in what a capacity carries, in the buffer or in the round trip."""
    several = [
        varying.Parameters(
            capacity=SlottedChain.symmetric(psi, high=high, low=20.0), waiting_packets=room, round_trip_s=round_trip_s
        )
        for high, room, round_trip_s in ((40.0, 30.0, 0.1), (40.0, 90.0, 0.1), (50.0, 90.0, 0.1), (50.0, 90.0, 0.3))
        for psi in (20.0, 20.0, 20.02, 20.04, 20.06, 26.0)
    ]
    led: list[int] = []
    go_on = bbr_rates._State.go_on

    def counting(state: bbr_rates._State, *args: Any, **options: Any) -> Any:
        led.append(state.backlog.size)
        return go_on(state, *args, **options)

    monkeypatch.setattr(bbr_rates._State, "go_on", counting)
    shares = bbr_rates._follow(several)
    share = sum(led) / (len(led) * len(several) * 64)
    assert share < 0.3, "neighbours are not followed as one, or not again after their capacities differed"
    assert shares == pytest.approx([bbr_rates.utilisation(one) for one in several], rel=1e-13)
    assert shares == pytest.approx([bbr_by_its_recursion(one) for one in several], rel=1e-12)


def test_draws_that_pass_the_same_chances_are_told_apart_for_more_chains_than_a_byte_counts() -> None:
    changes = np.linspace(0.05, 0.95, 300)
    chains = [SlottedChain(np.array([40.0, 20.0]), np.array([[1 - one, one], [one, 1 - one]])) for one in changes]
    drawn = advertised.paths_of(chains, 70, np.random.default_rng(1))
    for chain, states in zip(chains, drawn, strict=True):
        (alone,) = advertised.paths_of([chain], 70, np.random.default_rng(1))
        assert (states == alone).all()
    assert len({states.tobytes() for states in drawn}) == len(chains)


def test_sample_paths_of_many_states_take_no_more_memory_than_those_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5).random((40, 40))
    many = SlottedChain(np.arange(1.0, 41.0), random / random.sum(axis=1, keepdims=True))
    peaks = []
    for chain in (CHAIN, many):
        tracemalloc.start()
        (drawn,) = advertised.paths_of([chain], 300, np.random.default_rng(1))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]
    monkeypatch.setattr(advertised, "_FEW", 40)
    (by_table,) = advertised.paths_of([many], 300, np.random.default_rng(1))
    assert (drawn == by_table).all()


def test_samples_taken_often_advertise_the_capacity() -> None:
    link = advertised.estimated(CHAIN, interval_slots=0.001, of_slot="mean")
    # Each slot has the capacity itself, but for the first sixteenth, which has that of the slot before.
    assert np.abs(link.advertised - link.capacity.capacity).max() <= (30 - 12) / 8
    assert len(link.advertised) > 3


def test_an_advertised_chain_has_a_rate_for_each_state() -> None:
    with pytest.raises(ValueError, match="2 advertised rates for 3 states"):
        advertised.AdvertisedChain(CHAIN, np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="one for each state"):
        abr.Parameters(advertised=(0.5,))


def _two_states(delta: float, low: float = 2.0) -> float:
    """10 and `low` per second, left at 2 and at 4 per second: the larger root of a quadratic."""
    up, down, high = 2.0, 4.0, 10.0
    trace = -(up + down + delta * (high + low))
    determinant = delta * (high * down + low * up + delta * high * low)
    return 2 * determinant / (math.sqrt(trace**2 - 4 * determinant) - trace) / delta


TWO = ContinuousChain.holding([10.0, 2.0], [0.5, 0.25])


@pytest.mark.parametrize("delta", [1e-3, 0.1, 1.0, 10.0, 100.0])
def test_effective_capacity_of_two_continuous_states_is_the_closed_form(delta: float) -> None:
    assert effective_capacity(TWO, delta) == pytest.approx(_two_states(delta), rel=1e-12)
    assert decay_of(TWO, effective_capacity(TWO, delta)) == pytest.approx(delta, rel=1e-6)


def test_effective_capacity_lies_between_mean_and_least() -> None:
    assert TWO.mean == pytest.approx(22 / 3)
    assert effective_capacity(TWO, 0.0) == pytest.approx(22 / 3, rel=1e-14)
    assert effective_capacity(TWO, 1e-14) == pytest.approx(22 / 3, rel=1e-12)
    assert effective_capacity(TWO, math.inf) == 2.0
    found = [effective_capacity(TWO, delta) for delta in np.geomspace(1e-10, 1e10, 60)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("delta", [1.0, 1e3, 1e6, 1e9, 1e100])
def test_a_link_that_may_stand_still_carries_what_its_outages_leave(delta: float) -> None:
    stalling = ContinuousChain.holding([10.0, 0.0], [0.5, 0.25])
    assert effective_capacity(stalling, delta) == pytest.approx(_two_states(delta, 0.0), rel=1e-12)
    assert decay_of(stalling, effective_capacity(stalling, delta)) == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize("delta", [1e3, 1e9, 1e11])
def test_slots_that_may_stand_still_carry_what_their_outages_leave(delta: float) -> None:
    stalling = SlottedChain(np.array([0.0, 1.0]), np.array([[0.9, 0.1], [0.5, 0.5]]))
    assert effective_capacity(stalling, delta) == pytest.approx(-math.log(0.9) / delta, rel=1e-9)


def test_rates_and_times_of_very_different_size() -> None:
    chain = ContinuousChain.holding([0.0447, 1.92, 862.0], [8.9, 5.8, 7.97e4])
    # For a large delta, the least rate and what leaving it saves.
    assert effective_capacity(chain, 2816.0) == pytest.approx(0.0447 + 1 / 8.9 / 2816, rel=1e-7)


def test_slots_that_shrink_lead_to_the_continuous_chain() -> None:
    three = ContinuousChain.holding([10.0, 2.0, 5.0], [0.5, 0.25, 1.0], [[0, 0.3, 0.7], [0.9, 0, 0.1], [0.5, 0.5, 0]])
    for delta in (0.05, 1.0, 20.0):
        limit = effective_capacity(three, delta)
        errors = []
        for slots_per_s in (1000, 2000):
            matrix = np.eye(3) + three.generator / slots_per_s
            slotted = SlottedChain(three.capacity / slots_per_s, matrix)
            errors.append(effective_capacity(slotted, delta) * slots_per_s / limit - 1)
        assert abs(errors[1]) < 0.02
        assert errors[0] / errors[1] == pytest.approx(2, rel=0.05)  # the error is one of first order


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ContinuousChain(np.array([1.0, 2.0]), np.zeros((3, 3))), "2 capacities"),
        (lambda: ContinuousChain(np.array([1.0, 2.0]), np.array([[-1.0, 2.0], [1.0, -1.0]])), "sum to 0"),
        (lambda: ContinuousChain(np.array([1.0, 2.0]), np.array([[1.0, -1.0], [1.0, -1.0]])), "0 or more"),
        (lambda: ContinuousChain(np.array([-1.0]), np.zeros((1, 1))), "a capacity"),
        (lambda: ContinuousChain.holding([1.0, 2.0], [0.0, 1.0]), "longer than 0 s"),
        (lambda: ContinuousChain.holding([], []), "a state or more"),
        (lambda: ContinuousChain.holding([1.0, 2.0], [1.0, 1.0], [[0, 1, 0]]), "jumps of shape"),
        (lambda: ContinuousChain.holding([1.0, 2.0], [1.0, 1.0], [[0.0, 1.0], [0.5, 0.0]]), "row 1 of the jumps"),
        (lambda: ContinuousChain.holding([1.0, 2.0], [1.0, 1.0], [[0.5, 0.5], [1.0, 0.0]]), "row 0 of the jumps"),
        (lambda: effective_capacity(TWO, -1.0), "delta is 0 or more"),
        (lambda: decay_of(TWO, 1.0), "the least capacity is 2"),
    ],
)
def test_what_is_no_continuous_chain_is_refused(make: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
