"""The formulas of [minrate], and what reserved flows can expect of the excess capacity."""

import math

import numpy as np
import pytest

from varicap.analyse.models.minrate import (
    Bottleneck,
    Window,
    admissible_peak_bps,
    excess_window,
    highest_threshold_bytes,
    is_admissible,
    least_depth_bytes,
    lossless_interval_s,
    shares,
)

RESERVED = [4e6, 2e6, 1e6, 0.0, 0.0, 0.0]  # the flows of the paper's Figs. 6 and 7 [b/s]


@pytest.mark.parametrize(("rate_bps", "interval_s", "packet"), [(4e6, 0.02, 1000), (1e6, 0.05, 1500), (64e3, 1.0, 40)])
def test_interval_and_depth_are_inverse(rate_bps: float, interval_s: float, packet: float) -> None:
    depth = least_depth_bytes(interval_s, rate_bps, packet)
    assert lossless_interval_s(depth, rate_bps, packet) == pytest.approx(interval_s)


def test_a_bucket_of_one_packet_wants_a_look_at_every_byte() -> None:
    assert lossless_interval_s(1000, 8e3, 1000) == pytest.approx(1e-3)
    with pytest.raises(ValueError, match="never holds"):
        lossless_interval_s(999, 8e3, 1000)


def test_the_admissible_sum_is_where_the_inequality_of_the_paper_turns() -> None:
    rate, buffer, threshold = 10e6, 100e3, 80e3
    edge = admissible_peak_bps(rate, buffer, threshold)
    for total in (0.5 * edge, 0.99 * edge, 1.01 * edge, 3 * edge):
        holds = (total - rate) * threshold / rate < buffer - threshold
        assert is_admissible([total / 2, total / 2], rate, buffer, threshold) == holds
    assert not is_admissible([edge], rate, buffer, threshold), "the inequality is strict"
    highest = highest_threshold_bytes([16e6], rate, buffer)
    assert admissible_peak_bps(rate, buffer, highest) == pytest.approx(16e6)
    assert highest_threshold_bytes([5e6], rate, buffer) == buffer


@pytest.mark.parametrize("threshold", [0.0, 100e3, 120e3, -1.0])
def test_a_threshold_lies_inside_the_buffer(threshold: float) -> None:
    with pytest.raises(ValueError, match="between nothing and the buffer"):
        admissible_peak_bps(10e6, 100e3, threshold)


def cycle(loss: float, marked: float, reserved: float) -> float:
    """The excess per round trip by stepping through one cycle."""
    offset = marked - reserved

    def sent_and_time(top: float) -> tuple[float, float]:
        variable, step = np.linspace(top / 2, top, 20_000, retstep=True)
        window = variable + reserved
        span = step * window / np.maximum(window, marked)  # each acknowledgement adds 1 / C
        return float((np.maximum(variable - offset, 0.0) * span).sum()), float(span.sum())

    low, high = 0.0, 1000.0
    for _ in range(40):
        top = (low + high) / 2
        low, high = (top, high) if sent_and_time(top)[0] < 1 / loss else (low, top)
    sent, time = sent_and_time(high)
    return sent / time


@pytest.mark.parametrize(
    ("loss", "marked", "reserved"), [(0.01, 0, 0), (0.01, 40, 0), (0.01, 8, 0), (0.03, 30, 20), (0.01, 40, 40)]
)
def test_the_closed_form_is_what_a_cycle_gives(loss: float, marked: float, reserved: float) -> None:
    assert excess_window(loss, marked, reserved) == pytest.approx(cycle(loss, marked, reserved), rel=2e-3)


def test_best_effort_follows_the_square_root_law() -> None:
    for loss in (1e-4, 1e-2, 0.1):
        assert excess_window(loss, 0, 0) == pytest.approx(math.sqrt(1.5 / loss))


def test_the_whole_window_punishes_reservations_and_the_variable_part_does_not() -> None:
    whole = shares(RESERVED, "whole").excess_bps
    best = shares(RESERVED, "best-rtt").excess_bps
    average = shares(RESERVED, "average-rtt").excess_bps
    assert whole[0] < whole[1] < whole[2] < whole[3], "the more reserved the less"
    assert min(best) / max(best) > min(whole) / max(whole)
    assert max(average) == pytest.approx(min(average))


@pytest.mark.parametrize("window", ["whole", "best-rtt", "average-rtt"])
def test_shares_use_up_what_the_reservations_leave(window: Window) -> None:
    for flows in (RESERVED, [0.0] * 20, [9e6, 0.0]):
        found = shares(flows, window)
        assert sum(found.excess_bps) == pytest.approx(10e6 - sum(flows), rel=1e-6)
        assert found.rtt_s == pytest.approx(Bottleneck().rtt_s(found.queue))


def test_reservations_that_leave_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="leave nothing"):
        shares([6e6, 4e6], "whole")
    with pytest.raises(ValueError, match="do not fit"):
        shares([0.0] * 1000, "whole")
