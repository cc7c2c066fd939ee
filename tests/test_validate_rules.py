"""When the simulator and Linux agree: each bound, and what intervals excuse."""

import pytest
from pretended_kernel import SAME

from varicap.validate import rules
from varicap.validate.rules import Pair, judge


def pair(**kernel: float | None) -> Pair:
    return Pair(SAME, SAME | kernel)


@pytest.mark.parametrize(
    ("inside", "outside", "says"),
    [
        ({"goodput_bps": 1.0199e6}, {"goodput_bps": 1.0201e6}, "goodput +2.01 % (1.000 / 1.020 Mb/s)"),
        ({"goodput_bps": 0.9801e6}, {"goodput_bps": 0.9799e6}, "goodput -2.01 % (1.000 / 0.980 Mb/s)"),
        ({"retransmitted_packets": 50.0}, {"retransmitted_packets": 51.0}, "resent 40.0 / 51.0 packets"),
        ({"retransmitted_packets": 30.0}, {"retransmitted_packets": 29.0}, "resent 40.0 / 29.0 packets"),
        ({"timeouts": 3.0}, {"timeouts": 4.0}, "timeouts 2.0 / 4.0"),
        ({"timeouts": 1.0}, {"timeouts": 0.0}, "timeouts 2.0 / 0.0"),
        ({"rtt_ms": 104.9}, {"rtt_ms": 105.1}, "mean RTT +5.10 % (100.0 / 105.1 ms)"),
        ({"rtt_ms": 95.1}, {"rtt_ms": 94.9}, "mean RTT -5.10 % (100.0 / 94.9 ms)"),
    ],
)
def test_each_bound_holds_on_its_side_and_not_beyond(
    inside: dict[str, float], outside: dict[str, float], says: str
) -> None:
    within, beyond = judge([pair(**inside)]), judge([pair(**outside)])
    assert (within.agrees, within.why) == (True, "")
    assert (beyond.agrees, beyond.why) == (False, says)


def test_few_resent_packets_may_differ_by_five() -> None:
    def resent(sim: float, kernel: float) -> bool:
        few = {"retransmitted_packets": sim}
        return judge([Pair(SAME | few, SAME | {"retransmitted_packets": kernel})]).agrees

    assert resent(0.0, 5.0)
    assert resent(12.0, 7.0)
    assert not resent(0.0, 6.0)
    assert not resent(12.0, 6.0)


def test_the_bounds_are_given_in_the_units_of_what_they_bound() -> None:
    few = SAME | {"retransmitted_packets": 4.0, "rtt_ms": None}
    assert rules.bounds([pair()]) == {
        "goodput_bps": 0.02e6,
        "retransmitted_packets": 10.0,
        "timeouts": 1.0,
        "rtt_ms": 5.0,
    }
    assert rules.bounds([Pair(few, SAME)]) == {
        "goodput_bps": 0.02e6,
        "retransmitted_packets": 5.0,
        "timeouts": 1.0,
        "rtt_ms": None,
    }


def test_all_that_does_not_agree_is_named() -> None:
    why = judge([pair(goodput_bps=0.5e6, timeouts=9.0, rtt_ms=None)]).why
    assert why == "goodput -50.00 % (1.000 / 0.500 Mb/s); timeouts 2.0 / 9.0; mean RTT 100.0 ms / none"


def apart(*shares: float) -> list[Pair]:
    """Pairs whose goodput differs by these shares."""
    return [pair(goodput_bps=1e6 * (1 + share)) for share in shares]


def test_a_difference_whose_interval_holds_zero_is_no_difference() -> None:
    around = judge(apart(0.30, -0.20, 0.05))
    assert (around.agrees, around.undecided) == (True, True)
    assert around.difference.mean == pytest.approx(0.05)
    assert around.difference.lo is not None
    assert around.difference.lo < 0
    beside = judge(apart(0.05, 0.052, 0.048))
    assert (beside.agrees, beside.undecided) == (False, False)
    assert beside.why == "goodput +5.00 ± 0.50 % (1.000 / 1.050 Mb/s)"
    # The mean is within the bound, though its interval does not hold zero.
    within = judge(apart(0.015, 0.0151, 0.0149))
    assert (within.agrees, within.undecided) == (True, False)
    # What else differs is no less so because goodput is undecided.
    other = judge([pair(goodput_bps=1e6 * share, timeouts=9.0) for share in (1.30, 0.80, 1.05)])
    assert (other.agrees, other.undecided, other.why) == (False, True, "timeouts 2.0 / 9.0")


def test_two_runs_have_no_interval_that_excuses_anything() -> None:
    assert not judge(apart(0.30, -0.20)).agrees
    assert not judge(apart(0.05)).agrees


def test_a_flow_that_delivers_in_one_engine_only_does_not_agree() -> None:
    nothing = SAME | {"goodput_bps": 0.0, "rtt_ms": None, "retransmitted_packets": 0.0, "timeouts": 0.0}
    assert not judge([Pair(nothing, SAME)]).agrees
    assert not judge([Pair(SAME, nothing)]).agrees
