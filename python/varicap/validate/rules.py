"""When two sides agree on a flow: the bounds, and what is said where one is not kept.

The sides are the simulator and a kernel, or two kernels.  Runs are compared in pairs of one seed, which share the
capacity and the losses; what differs is the other side less the base.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from varicap.statistics import Interval

GOODPUT = 0.02
"""Of the base's goodput; or zero lies in the interval of the differences."""
RESENT = 0.25
"""Of the base's packets, or"""
RESENT_PACKETS = 5.0
TIMEOUTS = 1.0
"""Of a flow, or of all connections of a group together."""
RTT = 0.05
"""Of the base's mean round trip."""
FEWEST = 3
"""Pairs below which an interval says nothing."""

MEASURES = ("goodput_bps", "retransmitted_packets", "timeouts", "rtt_ms", "cwnd_packets", "fct_p50_ms", "fct_p95_ms")
"""What is kept of a flow's run; the first four are judged."""

Numbers = Mapping[str, float | None]
"""A flow's run: a number, or none, for each measure.  Packets and timeouts are those of all its connections."""


SIDES = ("base", "other")


@dataclass(frozen=True)
class Pair:
    """One seed on both sides."""

    base: Numbers
    other: Numbers


@dataclass(frozen=True)
class Verdict:
    """Whether the sides agree on a flow."""

    agrees: bool
    why: str
    """What does not agree, with numbers; empty if all does."""
    difference: Interval
    """Of goodput, other less base [share of the base's]."""
    undecided: bool = False
    """Whether goodput differs by more than its bound, and its interval holds zero because it is wide."""


def judge(pairs: Sequence[Pair]) -> Verdict:
    """Compare the means of some pairs, at least one.

    >>> run = {"goodput_bps": 1e6, "retransmitted_packets": 10.0, "timeouts": 0.0, "rtt_ms": 50.0}
    >>> judge([Pair(run, run | {"goodput_bps": 1.03e6, "timeouts": 1.0})]).why
    'goodput +3.00 % (1.000 / 1.030 Mb/s)'
    """
    difference = goodput_difference(pairs)
    if not delivers(pairs):
        return Verdict(False, "neither side delivered anything", difference)
    wrong = [
        _goodput(pairs, difference),
        _resent(pairs),
        _timeouts(pairs),
        _rtt(pairs),
    ]
    undecided = abs(difference.mean) > GOODPUT and _holds_zero(difference, len(pairs))
    return Verdict(not any(wrong), "; ".join(filter(None, wrong)), difference, undecided)


def delivers(pairs: Sequence[Pair]) -> bool:
    """Whether there is anything to compare: some goodput, on one side at least."""
    return any(_mean(pairs, side, "goodput_bps") for side in SIDES)


def goodput_difference(pairs: Sequence[Pair]) -> Interval:
    """The mean of other less base, seed by seed, with its interval, as a share of the base's mean."""
    base = _mean(pairs, "base", "goodput_bps") or 0.0
    apart = Interval.of([(pair.other["goodput_bps"] or 0.0) - (pair.base["goodput_bps"] or 0.0) for pair in pairs])
    if base == 0.0:
        return Interval(0.0 if apart.mean == 0.0 else math.inf)
    if apart.lo is None or apart.hi is None:
        return Interval(apart.mean / base)
    return Interval(apart.mean / base, apart.lo / base, apart.hi / base)


def bounds(pairs: Sequence[Pair]) -> dict[str, float | None]:
    """By how much the means of each measure may differ, in its unit; none where the base has no such number."""
    goodput, resent, rtt = (_mean(pairs, "base", name) for name in ("goodput_bps", "retransmitted_packets", "rtt_ms"))
    return {
        "goodput_bps": GOODPUT * (goodput or 0.0),
        "retransmitted_packets": _most_resent(resent or 0.0),
        "timeouts": TIMEOUTS,
        "rtt_ms": None if rtt is None else RTT * rtt,
    }


def half_width(difference: Interval) -> float:
    """Of an interval of differences; infinite where there is none."""
    if difference.lo is None or difference.hi is None:
        return math.inf
    return (difference.hi - difference.lo) / 2


def _goodput(pairs: Sequence[Pair], difference: Interval) -> str:
    if abs(difference.mean) <= GOODPUT or _holds_zero(difference, len(pairs)):
        return ""
    values = [(_mean(pairs, side, "goodput_bps") or 0.0) / 1e6 for side in SIDES]
    if math.isinf(difference.mean):
        return f"goodput {values[0]:.3f} / {values[1]:.3f} Mb/s"
    spread = "" if difference.lo is None else f" ± {100 * half_width(difference):.2f}"
    return f"goodput {100 * difference.mean:+.2f}{spread} % ({values[0]:.3f} / {values[1]:.3f} Mb/s)"


def _holds_zero(difference: Interval, pairs: int) -> bool:
    if pairs < FEWEST or difference.lo is None or difference.hi is None:
        return False
    return difference.lo <= 0.0 <= difference.hi


def _resent(pairs: Sequence[Pair]) -> str:
    base, other = (_mean(pairs, side, "retransmitted_packets") or 0.0 for side in SIDES)
    if abs(other - base) <= _most_resent(base):
        return ""
    return f"resent {base:.1f} / {other:.1f} packets"


def _most_resent(base: float) -> float:
    """By how many packets what the other side resent may differ."""
    return max(RESENT_PACKETS, RESENT * base)


def _timeouts(pairs: Sequence[Pair]) -> str:
    base, other = (_mean(pairs, side, "timeouts") or 0.0 for side in SIDES)
    if abs(other - base) <= TIMEOUTS:
        return ""
    return f"timeouts {base:.1f} / {other:.1f}"


def _rtt(pairs: Sequence[Pair]) -> str:
    base, other = (_mean(pairs, side, "rtt_ms") for side in SIDES)
    if base is None and other is None:
        return ""
    if base is None or other is None:
        return f"mean RTT {_ms(base)} / {_ms(other)}"
    if abs(other - base) <= RTT * base:
        return ""
    return f"mean RTT {100 * (other / base - 1):+.2f} % ({base:.1f} / {other:.1f} ms)"


def _ms(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f} ms"


def _mean(pairs: Sequence[Pair], side: str, measure: str) -> float | None:
    """The mean over the runs that have the number."""
    values = [value for pair in pairs if (value := getattr(pair, side).get(measure)) is not None]
    return sum(values) / len(values) if values else None
