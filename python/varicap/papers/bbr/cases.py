"""The draft's example test cases, each a trial with what is to be verified of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.bbr.trial import CRUISE, DOWN, DRAIN, MSS, PROBE_RTT, REFILL, STARTUP, UP, Point, Trial
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Interval


@dataclass(frozen=True)
class Case:
    """What a trial has shown: a number for each claim, and the trial itself."""

    values: dict[str, float]
    trial: Trial


def reproduce(run: Run, cases: Sequence[str]) -> Outcome:
    """The cases named, each tried with several streams of random numbers."""
    found: dict[str, list[float]] = {}
    last: Trial | None = None
    for name in cases:
        for seed in range(run.pick(10, 3) * run.effort):
            case = CASES[name](seed)
            last = case.trial
            for claim, value in case.values.items():
                found.setdefault(claim, []).append(value)
    values = {claim: Value(sim=_shown(samples)) for claim, samples in found.items()}
    return Outcome(values, partial(_draw, last, cases[-1]))


def _shown(samples: Sequence[float]) -> Interval:
    """What the trials of a case show: a rule is kept in each of them, or a number has its interval.

    The case sets up everything that the rule depends on; the random numbers are of what it must not depend on.
    """
    agree = len(samples) > 1 and len(set(samples)) == 1
    return Interval.exactly(samples[0]) if agree else Interval.of(samples)


def _draw(trial: Trial | None, name: str) -> Figure:
    points = trial.points if trial else []
    times = [point.time_s for point in points]
    lines = [
        Curve("cwnd", times, [point.cwnd / MSS for point in points], 0),
        Curve("in flight", times, [point.in_flight / MSS for point in points], 1),
    ]
    return curves(f"A trial of {name.upper()}", lines, Axis("time [s]"), Axis("packets"))


def _is(value: object) -> float:
    return float(bool(value))


def _follows(trial: Trial, state: int) -> Point | None:
    """The first point after the first visit of this state."""
    for visited, _, end in trial.visits:
        if visited == state and end < len(trial.points):
            return trial.points[end]
    return None


def a1(seed: int) -> Case:
    """Exiting STARTUP on Bandwidth Plateau."""
    trial = Trial(seed).until(DRAIN)
    end = trial.points[-1]
    is_full = end["full_bw_count"] == 3 and end["full_bw_now"] and end["full_bw_reached"]
    values = {
        "A1-max-bw": end["max_bw_bps"] / trial.rate_bps,
        "A1-full": _is(is_full),
        "A1-drain": _is(trial.follows(STARTUP) == [DRAIN]),
    }
    return Case(values, trial)


def a2(seed: int) -> Case:
    """Exiting STARTUP on Loss When Application-Limited."""
    trial = Trial(seed, rate_bps=50e6, delay_s=0.1, offers_bps=20e6, lose=lambda n: n > 3000 and n % 20 == 0)
    trial.run(4, lambda point: point.state != STARTUP)
    end = trial.points[-1]
    # With little in flight, the acknowledgement that leads to Drain also ends it.
    drains = end.state != STARTUP and end["drain_start_round"] == end["round_count"]
    values = {
        "A2-drain": _is(drains),
        "A2-reached": _is(drains and end["full_bw_reached"]),
        "A2-now": _is(drains and end["full_bw_now"]),
    }
    return Case(values, trial)


def a3(seed: int) -> Case:
    """Exiting DRAIN Based on Inflight."""
    trial = Trial(seed).until(DRAIN)
    gain = trial.points[-1]["pacing_gain"]
    trial.run(trial.now + 2, lambda point: point.state != DRAIN)
    before, after = trial.points[-2:]
    drained = before.in_flight > before["inflight_bytes"] and after.in_flight <= after["inflight_bytes"]
    return Case({"A3-gain": gain, "A3-inflight": _is(drained and after.state in (DOWN, CRUISE))}, trial)


def _overestimated(seed: int, share: float) -> tuple[Trial, Point, Point]:
    """Drain on a path that slows down to this share upon entering it: the points before and after it ends."""
    trial = Trial(seed).until(DRAIN)
    trial.slow_to(share * trial.rate_bps)
    trial.run(trial.now + 5, lambda point: point.state != DRAIN)
    return trial, trial.points[-2], trial.points[-1]


def a4(seed: int) -> Case:
    """Exiting DRAIN Based on Time."""
    _, before, after = _overestimated(seed, 0.9)
    stays = after.in_flight > before["inflight_bytes"]
    trial, before, after = _overestimated(seed, 0.4)
    rounds = after["round_count"] - before["drain_start_round"]
    is_above = after.in_flight > before["inflight_bytes"]
    leaves = is_above and after.state in (DOWN, CRUISE)
    return Case({"A4-tenth": _is(stays), "A4-leaves": _is(leaves), "A4-rounds": rounds}, trial)


def a5(seed: int) -> Case:
    """Exiting PROBE_UP on Bandwidth Plateau."""
    trial = Trial(seed).until(UP)
    trial.run(trial.now + 2, lambda point: point.state != UP)
    end = trial.points[-1]
    is_full = end["full_bw_count"] == 3 and end["full_bw_now"]
    return Case({"A5-full": _is(is_full), "A5-down": _is(end.state == DOWN)}, trial)


def a6(seed: int) -> Case:
    """Exiting PROBE_UP on Loss When Application-Limited."""
    trial = Trial(seed).until(UP)
    trial.offers_bps, first = 0.8 * trial.rate_bps, trial.sent + 120
    trial.next_write = trial.now
    trial.lose = lambda number: number > first and number % 8 == 0
    trial.run(trial.now + 2, lambda point: point.state != UP)
    end = trial.points[-1]
    values = {"A6-down": _is(end.state == DOWN), "A6-longterm": _is(end["inflight_longterm_bytes"] > 0)}
    return Case(values, trial)


def a7(seed: int) -> Case:
    """Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss."""
    startup = Trial(seed, offers_bps=3e6).run(4.5)
    probing = Trial(seed).until(UP)
    probing.offers_bps = 0.5 * probing.rate_bps
    probing.next_write = probing.now
    entered = probing.now
    probing.run(entered + 2)
    later = Trial(seed, offers_bps=3e6).run(12)
    values = {
        "A7-startup": _is(startup.visits[-1][0] == STARTUP and len(startup.visits) == 1),
        "A7-up": _is(probing.points[-1].state == UP),
        "A7-indefinitely": _is(len(later.visits) == 1),
    }
    return Case(values, later)


def a8(seed: int) -> Case:
    """Exiting PROBE_DOWN on Inflight."""
    trial = Trial(seed, buffer=0.5).until(UP).until(DOWN)
    gain = trial.points[-1]["pacing_gain"]
    trial.run(trial.now + 2, lambda point: point.state != DOWN)
    end = trial.points[-1]
    headroom = end["headroom_bytes"]
    low = end.in_flight <= end["inflight_bytes"] and not end.in_flight > headroom
    return Case({"A8-gain": gain, "A8-cruise": _is(end.state == CRUISE and low)}, trial)


def a9(seed: int) -> Case:
    """Exiting PROBE_DOWN After Max Time."""
    # The path shortens by a little all the time, so that no ProbeRTT comes between.
    trial = Trial(seed, delay_s=0.1, hold_s=lambda number: 1e-3 - 1e-8 * number).until(UP).until(DOWN)
    trial.slow_to(0.9 * trial.rate_bps)
    entered, wait_s = trial.now, trial.points[-1]["bw_probe_wait_s"]
    trial.run(entered + 4, lambda point: point.state != DOWN)
    values = {"A9-refill": _is(trial.points[-1].state == REFILL), "A9-wait": (trial.now - entered) / wait_s}
    return Case(values, trial)


def a10(seed: int) -> Case:
    """Entering and Exiting PROBE_RTT."""
    trial = Trial(seed)
    least = [0.0, 1.0]

    def note(_: Trial, point: Point) -> None:
        if point["min_rtt_s"] < least[1]:
            least[:] = [point.time_s, point["min_rtt_s"]]

    trial.on_point = note
    trial.until(PROBE_RTT)
    entered, gain = trial.now - least[0], trial.points[-1]["cwnd_gain"]
    half = 0.5 * trial.points[-1]["bw_bps"] / 8 * least[1]
    trial.run(trial.now + 2, lambda point: point.in_flight <= half)
    low = trial.now
    trial.run(trial.now + 2, lambda point: point.state != PROBE_RTT)
    held, after = trial.now - low, trial.points[-1].state
    values = {
        "A10-interval": entered,
        "A10-gain": gain,
        "A10-held": held,
        "A10-back": _is(after in (DOWN, CRUISE) and trial.run(trial.now + 1).points[-1].time_s > low + held),
    }
    return Case(values, trial)


def a11(seed: int) -> Case:
    """Skipping PROBE_RTT Due to Application-Limited Sending."""
    trial = Trial(seed).until(CRUISE).run(1.0)
    trial.silent = True
    trial.run(7.5)
    trial.silent = False
    trial.settle()
    restarts = trial.sender.shown["bbr_idle_restart"]
    resumed = len(trial.points)
    trial.run(9.5)
    skips = all(point.state != PROBE_RTT for point in trial.points[resumed:])
    return Case({"A11-restart": restarts, "A11-skips": _is(skips)}, trial)


def a12(seed: int) -> Case:
    """Achieving Expected STARTUP Bandwidth on a Link With Aggregation."""
    trial = Trial(seed, gather_s=0.02).until(DRAIN)
    bdp = trial.rate_bps / 8 * trial.delay_s
    values = {
        "A12-extra": max(point["extra_acked_bytes"] for point in trial.points) / (trial.rate_bps / 8 * trial.gather_s),
        "A12-cwnd": max(point.cwnd for point in trial.points) / (2 * bdp),
        "A12-max-bw": trial.points[-1]["max_bw_bps"] / trial.rate_bps,
    }
    return Case(values, trial)


def a13(seed: int) -> Case:
    """Achieving Expected Cruise Bandwidth on a Link With Aggregation."""
    trial = Trial(seed, delay_s=0.1).until(CRUISE)
    trial.gather_s = 0.05
    entered = trial.now
    trial.run(entered + 0.5)
    first, sent = trial.now, trial.sender.counters["sent_packets"]
    trial.run(entered + 1.8, lambda point: point.state != CRUISE)
    rate = (trial.sender.counters["sent_packets"] - sent) * MSS * 8 / (trial.now - first)
    end = trial.points[-2]
    bdp = end["bw_bps"] / 8 * end["min_rtt_s"]
    values = {
        "A13-extra": end["extra_acked_bytes"] / (trial.rate_bps / 8 * trial.gather_s),
        "A13-cwnd": (end.cwnd - 2 * bdp) / max(end["extra_acked_bytes"], 1.0),
        "A13-use": rate / trial.rate_bps,
    }
    return Case(values, trial)


def a14(seed: int) -> Case:
    """Correctly Managing Sub-Packet BDPs."""
    values = {}
    for claim, quanta in (("A14-four-alone", 0), ("A14-four", 3)):
        # Linux's receiver waits 40 ms, less than a segment takes here, and would acknowledge each; so would it the ends
        # of the pieces in which the trial writes.
        delayed = {"delayed": {"segments": 2, "timeout": "200 ms", "pushed_at_once": False}}
        congestion = {"bbr3": {"offload_quanta": quanta}}
        trial = Trial(
            seed, rate_bps=200e3, delay_s=0.01, buffer=1000.0, settings={"congestion": congestion, "ack": delayed}
        )
        trial.run(12)
        late = [point for point in trial.points if point.time_s > 4 and DOWN <= point.state <= UP]
        values[claim] = min(point.cwnd for point in late) / MSS
    pace = [point["pacing_rate_bps"] / point["pacing_gain"] for point in late]
    values["A14-pace"] = float(np.median(pace)) / trial.rate_bps
    values["A14-use"] = _delivered(trial, late[0], late[-1])
    return Case(values, trial)


def _delivered(trial: Trial, first: Point, last: Point) -> float:
    """The share of the path's rate at which acknowledgements came between two points."""
    acked = sum(1 for point in trial.points if first.time_s < point.time_s <= last.time_s) * 2 * MSS
    return acked * 8 / (last.time_s - first.time_s) / trial.rate_bps


def a15(seed: int) -> Case:
    """Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached."""
    trial = Trial(seed, rate_bps=2e6, buffer=20.0).until(UP).until(CRUISE)
    trial.slow_to(20e6)
    trial.limit = 4 * trial.rate_bps / 8 * trial.delay_s
    trial.until(UP)
    start = trial.points[-1]["round_count"]
    trial.run(trial.now + 20, lambda point: point["max_bw_bps"] >= 0.98 * trial.rate_bps)
    rounds = trial.points[-1]["round_count"] - start
    shallow = Trial(seed, buffer=0.3).until(UP).run(20, lambda point: point["inflight_longterm_bytes"] > 0)
    shallow.limit *= 20
    grown = _growth(shallow)
    return Case({"A15-doubles": grown, "A15-rounds": rounds}, trial)


def _growth(trial: Trial) -> float:
    """The growth of inflight_longterm in a round of ProbeBW_UP, of that in the round before: the median."""
    trial.run(trial.now + 12)
    ratios = []
    for state, begin, end in trial.visits:
        if state != UP:
            continue
        bounds: dict[float, float] = {}
        for point in trial.points[begin:end]:
            bounds[point["round_count"]] = point["inflight_longterm_bytes"]
        steps = np.diff(list(bounds.values())) / MSS
        ratios += [late / early for early, late in pairwise(steps) if early >= 1]
    return float(np.median(ratios)) if ratios else float("nan")


_FALLS_S = 30.0
"""How long a bound has to fall.  One that does not counts as all the rounds that this could have: a number, and beyond
any bound, where infinitely many would leave the mean without an interval, and so the claim open."""


def a16(seed: int) -> Case:
    """Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down."""
    trial = Trial(seed, rate_bps=20e6, buffer=1.0).until(CRUISE).run(1.0)
    trial.slow_to(2e6)
    trial.limit /= 10
    changed, cycles, start = trial.now, trial.points[-1]["cycle_count"], trial.points[-1]["round_count"]
    trial.run(changed + _FALLS_S, lambda point: point["bw_shortterm_bps"] <= 1.02 * trial.rate_bps)
    falls = trial.points[-1]["bw_shortterm_bps"] <= 1.02 * trial.rate_bps
    rounds = trial.points[-1]["round_count"] - start if falls else _FALLS_S / trial.delay_s
    trial.run(changed + _FALLS_S, lambda point: point["cycle_count"] >= cycles + 3)
    values = {"A16-shortterm": rounds, "A16-max-bw": trial.points[-1]["max_bw_bps"] / trial.rate_bps}
    return Case(values, trial)


def a17(seed: int) -> Case:
    """Handling Token Bucket Policers."""
    trial = Trial(seed, rate_bps=40e6, police=(5e6, 60_000.0)).run(20)
    reacts = any(point["inflight_shortterm_bytes"] > 0 and point["bw_shortterm_bps"] > 0 for point in trial.points)
    sent, dropped = trial.sent, trial.dropped
    trial.run(40)
    lost = (trial.dropped - dropped) / (trial.sent - sent)
    rate = (trial.sent - sent - (trial.dropped - dropped)) * MSS * 8 / 20
    return Case({"A17-reacts": _is(reacts), "A17-loss": lost, "A17-rate": rate / 5e6}, trial)


def a18(seed: int) -> Case:
    """Handling Spurious Fast Recovery."""
    trial = Trial(seed).until(UP).run(100.0, lambda point: point.in_flight > 50 * MSS)
    late = range(trial.sent, trial.sent + 3)
    trial.hold_s = lambda number: 0.06 if number in late else 0.0
    return _spurious(trial, "A18", "fast_retransmits")


def a19(seed: int) -> Case:
    """Handling Spurious RTO Recovery."""
    trial = Trial(seed).until(UP).run(100.0, lambda point: point.in_flight > 50 * MSS)
    trial.stall(0.6)
    return _spurious(trial, "A19", "timeouts")


def _spurious(trial: Trial, name: str, counter: str) -> Case:
    """What a recovery that proves spurious leaves of ProbeBW_UP and of the bounds."""
    before, count = trial.points[-1], trial.sender.counters[counter]
    begun, seen = len(trial.points), trial.now
    saved = []
    while trial.now < seen + 1.2:
        # More often than acknowledgements come: the recovery may be over with the first one.
        trial.run(trial.now + 1e-3)
        shown = trial.sender.shown
        saved.append(shown["bbr_undo_state"] == UP and not shown["bbr_undo_inflight_longterm_bytes"] >= 0)
    after = trial.points[begun:]
    happens = trial.sender.counters[counter] > count
    end = next((point for point in after if point.state in (REFILL, UP) and point.time_s > seen + 0.1), None)
    restored = end is not None and _same(end["inflight_longterm_bytes"], before["inflight_longterm_bytes"])
    values = {
        f"{name}-saves": _is(happens and any(saved)),
        f"{name}-restores": _is(happens and restored),
        f"{name}-returns": _is(happens and end is not None),
    }
    return Case(values, trial)


def _same(one: float, other: float) -> bool:
    return one == other or (np.isnan(one) and bool(np.isnan(other)))


def a20(seed: int) -> Case:
    """Entering and Exiting PROBE_RTT During STARTUP."""
    trial = Trial(seed, offers_bps=3e6).run(9.0)
    return Case({"A20-startup": _is(trial.follows(PROBE_RTT)[:1] == [STARTUP])}, trial)


def a21(seed: int) -> Case:
    """Handling Loss During PROBE_UP After inflight_longterm is Set."""
    trial = Trial(seed, buffer=0.3).until(UP).until(DOWN).until(UP)
    established = trial.points[-1]["inflight_longterm_bytes"]
    first = trial.sent
    trial.lose = lambda number: number >= first and number % 8 == 0
    trial.run(trial.now + 1, lambda point: point.state != UP)
    end = trial.points[-1]
    values = {
        "A21-established": _is(established > 0),
        "A21-down": _is(end.state == DOWN),
        "A21-scaled": end["inflight_longterm_bytes"] / established,
    }
    return Case(values, trial)


def a22(seed: int) -> Case:
    """Handling Application-Limited Sending During PROBE_REFILL."""
    trial = Trial(seed).until(REFILL)
    before = trial.points[-1]["max_bw_bps"]
    trial.offers_bps = 0.2 * trial.rate_bps
    trial.next_write = trial.now
    trial.run(trial.now + 1, lambda point: point.state != REFILL)
    end = trial.points[-1]
    trial.offers_bps = None
    trial.run(trial.now + 3)
    values = {
        "A22-max-bw": end["max_bw_bps"] / before,
        "A22-up": _is(end.state == UP),
        "A22-later": _is(trial.follows(UP)[-1:] == [DOWN]),
    }
    return Case(values, trial)


CASES: dict[str, Callable[[int], Case]] = {f"a{number}": globals()[f"a{number}"] for number in range(1, 23)}
"""The cases by the numbers of their sections."""
