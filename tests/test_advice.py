"""`varicap reproduce advice`: how psi is counted, and what is compared at which."""

import numpy as np
import pytest

from varicap.papers.advice import psi, scales, seeds
from varicap.papers.run import Run


def test_psi_counts_the_round_trip_and_the_time_from_one_update_to_the_next() -> None:
    ages = {way: psi._age_s(way) for way in psi._UPDATE_S}
    assert ages == pytest.approx({"SCONE": 25.05, "INSTCAP": 0.15, "EFFCAP": 0.15, "exact": 0.05})


def test_effcap_is_compared_with_instcap_at_the_same_psi_control_and_buffer() -> None:
    gains = {
        (10, "INSTCAP", "cubic", 1.0): np.array([-10.0, -10.0, -10.0]),
        (10, "EFFCAP", "cubic", 1.0): np.array([-19.0, -19.0, -19.0]),
        (10, "EFFCAP", "bbr", 1.0): np.array([-50.0, -50.0, -50.0]),
        (100, "EFFCAP", "cubic", 1.0): np.array([-60.0, -60.0, -60.0]),
    }
    # 81 against 90.
    (better,) = psi._better({key: each for key, each in gains.items() if key[2] == "cubic"}, "cubic").values()
    assert better == pytest.approx(np.full(3, -10.0))


def test_an_endless_run_is_left_to_a_full_one() -> None:
    quick, full = Run("advice", quick=True), Run("advice")
    assert psi._points(quick, "SCONE", 10) == (1.0,)
    assert 30.0 in psi._points(quick, "EFFCAP", 10)
    assert psi._points(full, "SCONE", 10) == (0.3, 1.0, 30.0)
    assert psi._points(full, "SCONE", 100) == ()
    assert "in a full run" in psi._value(None).absent


def test_who_has_to_be_told_is_compared_with_tcp_and_is_not_capped() -> None:
    assert [psi._alone(control) for control in ("cubic", "bbr", "ratcp")] == ["cubic", "bbr", "cubic"]
    changes = psi._changes("INSTCAP", "ratcp", 10, 300.0)
    assert "cap = false" in changes["flows.a.feedback"]
    assert "cap = true" in psi._changes("INSTCAP", "cubic", 10, 300.0)["flows.a.feedback"]
    assert "cap = false" in psi._changes("none", "cubic", 10, 300.0)["flows.a.feedback"]


def test_other_seeds_are_judged_alone_and_never_taken_from_what_the_first_ones_gave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int | None, str]] = []
    short = {"duration": "'3 s'", "warmup": "'1 s'"}

    def varied(run: Run) -> str:
        return str(run.simulate("varying", short, seeds=2).flows["goodput_bps"])

    def measure(run: Run, way: str, control: str, scale: float) -> dict[str, np.ndarray]:
        asked.append((run.seed, varied(run)))
        share = {"none": 0.9, "SCONE": 0.4, "exact": 0.3}[way] + (0.0 if run.seed is None else 0.01)
        return {"goodput_of_capacity": np.array([share, share]), "sojourn_p95_ms": np.array([100.0, 100.0])}

    monkeypatch.setattr(scales, "measure", measure)
    outcome = seeds.reproduce(Run("advice", quick=True))
    assert {seed for seed, _ in asked} == {None, 4711}
    assert len({result for _, result in asked}) == 2, "one result for each set of seeds"
    found = {claim: value.sim.mean for claim, value in outcome.values.items() if value.sim is not None}
    assert found == pytest.approx(
        {
            "S3.1-substitute-other-seeds": 0.5,
            "S3.1-quicker-other-seeds": -0.1,
            "S3.1-complementary-other-seeds": 1.0,
        }
    )
    assert "cubic, none; seeds: others" in outcome.grids[0].rows
    assert seeds.reproduce(Run("advice", quick=True, seed=5)) is not None
    assert {seed for seed, _ in asked} == {None, 4711, 5, 4716}
