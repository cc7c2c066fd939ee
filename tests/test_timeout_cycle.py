"""The cycle of a sender that knows timeouts only: its quick way through packets that all arrive."""

import numpy as np
import pytest

from varicap.analyse.models import timeout_cycle
from varicap.analyse.models.timeout_cycle import Parameters, Timer

TIMERS = (
    Timer(minimum_s=0.2),
    Timer(minimum_s=0.2, above=True),
    Timer(minimum_s=0.01, granularity_s=0.05),
    Timer(factor=2.0),
    Timer(factor=1.05),
)


def drawn(rng: np.random.Generator) -> Parameters:
    """A path; ties between packets that come and go, where a round trip is of whole packets, every other time."""
    delay_s = float(rng.choice([rng.uniform(0.02, 0.2), 0.1]))
    capacity_pps = float(rng.choice([rng.uniform(50, 400), 200.0]))
    pipe = int(capacity_pps * delay_s)
    return Parameters(
        capacity_pps=capacity_pps,
        delay_s=delay_s,
        room_packets=int(rng.integers(1, 40)),
        rate_window=None if rng.random() < 0.6 else max(1, pipe + int(rng.integers(0, 10))),
        max_window=float(rng.choice([np.inf, float(rng.integers(2, 50))])),
        packets_per_ack=int(rng.choice([1, 1, 1, 2])),
        counted_per_ack=float(rng.choice([1, 2, np.inf])),
        timer=TIMERS[rng.integers(len(TIMERS))],
    )


def found(parameters: Parameters) -> object:
    try:
        return timeout_cycle.throughput(parameters)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("seed", [*range(60), 1406, 2255])  # the last two stay at the limit of a rate
def test_packets_that_all_arrive_are_followed_as_step_by_step(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = drawn(np.random.default_rng(seed))
    monkeypatch.setattr(timeout_cycle, "MOST_PACKETS", 6000)
    quick = found(parameters)
    monkeypatch.setattr(timeout_cycle._Session, "flow", lambda *_: None)
    assert repr(quick) == repr(found(parameters)), "the same, bit by bit"
