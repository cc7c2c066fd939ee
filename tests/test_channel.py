"""`varicap.channel`: a channel by itself."""

from itertools import pairwise

import numpy as np
import pytest

from varicap import ScenarioError
from varicap.analyse.models.wireless_channel import Channel as Analysis
from varicap.channel import Channel, mean_durations

MARKOV = {"markov": {"good": "100 ms", "bad": "10 ms", "delivered": 0.99}}


def test_states_follow_one_another_and_fill_the_time() -> None:
    channel = Channel(MARKOV, seed=3)
    states = channel.states(20.0)
    assert all(now != after for (now, _), (after, _) in pairwise(states))
    assert sum(lasts for _, lasts in states) == pytest.approx(20.0)
    assert sum(lasts for _, lasts in channel.states(30.0)) == pytest.approx(10.0)


def test_the_same_seed_is_the_same_channel() -> None:
    first, again, other = (Channel(MARKOV, seed=seed).states(5.0) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert Channel(MARKOV, seed=1, replication=1).states(5.0) != first


def test_slots_are_received_as_the_analysis_says() -> None:
    slot_s, slots = 4.608e-3, 60_000
    channel = Channel(MARKOV, seed=5)
    received = [channel.receives(number * slot_s, (number + 1) * slot_s) for number in range(slots)]
    batches = np.reshape(received, (60, -1)).mean(axis=1)
    error = batches.std(ddof=1) / np.sqrt(60)
    expected = Analysis.good_bad(good_s=0.1, bad_s=0.01, error=0.01).slot(slot_s).success
    assert abs(batches.mean() - expected) < 3.5 * error


def test_mean_durations_are_those_of_the_chain() -> None:
    bad, good = mean_durations(MARKOV, 2000.0, seed=2)
    assert bad == pytest.approx(0.01, rel=0.03)  # some 18,000 of each
    assert good == pytest.approx(0.1, rel=0.03)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("none", "expected a channel in time"),
        (0.1, "expected a channel in time"),
        ({"markov": {"good": "1 s"}}, "missing field `bad`"),
        ({"rayleigh": {"doppler": "0 Hz"}}, "above 0 Hz"),
    ],
)
def test_what_is_no_channel_is_refused(loss: object, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        Channel(loss)  # type: ignore[arg-type]


def test_time_does_not_run_back() -> None:
    channel = Channel(MARKOV)
    channel.states(1.0)
    with pytest.raises(ValueError, match="does not run back"):
        channel.receives(0.5, 2.0)
    with pytest.raises(ValueError, match="ends after it begins"):
        channel.receives(2.0, 1.5)
