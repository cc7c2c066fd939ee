"""`varicap design`: recommendations with evidence from the same call."""

import json
from typing import Any

import numpy as np
import pytest
from conftest import Cli

from varicap.analyse.models.wireless_channel import Channel
from varicap.design.effcap import report
from varicap.design.effcap import solve as design
from varicap.design.effcap.path import Path
from varicap.design.effcap.solve import Confirmed
from varicap.design.radio.confirm import confirm
from varicap.design.radio.link import Radio
from varicap.scenario import Effective, Flow
from varicap.statistics import Interval

pytestmark = pytest.mark.slow


def small(path: Path | None = None, psi: float | None = None, **others: Any) -> design.Design:
    return design.effcap(path, psi, seeds=4, duration_s=120.0, **others)


def test_the_rule_is_an_average_over_a_round_trip_and_a_memory_of_eight() -> None:
    assert Path().rule == (7, 49)
    assert Path(delay_s=0.05).rule == (2, 14)
    assert Path(delay_s=0.3, interval_s=0.1).rule == (3, 21)  # not 4: the quotient is whole
    assert Path(delay_s=0.01, high_bps=10e6).rule == (1, 7)  # an interval longer than the round trip


def test_without_a_rate_of_variation_the_rule_is_recommended() -> None:
    found = small(overview=())
    assert (found.average, found.least) == (7, 49)
    assert not found.choices
    assert not found.over_psi


def test_about_one_round_trip_effcap_beats_instcap_and_tcp_alone() -> None:
    # [abr, §V-B, Figs. 11 and 13]: 10 to 20 % over INSTCAP.
    found = small(psi=0.7, overview=(0.7,))
    (here,) = found.over_psi
    assert here.regime == "round trips"
    assert (here.over_instcap.lo or 0) > 5
    assert (here.over_tcp.lo or 0) > 5
    assert here.told < 0.75  # close to the least capacity, 2/3 of the mean
    assert found.choices[0].efficiency.mean >= found.choices[-1].efficiency.mean
    (alike,) = [one for one in found.choices if one.average == one.least == 1]
    assert alike.efficiency.mean == pytest.approx(here.instcap.mean)  # EFFCAP(1, 1) is INSTCAP


def test_under_slow_variation_instcap_beats_effcap_and_both_tcp_alone() -> None:
    (here,) = small(overview=(50.0,)).over_psi
    assert here.regime == "slow"
    assert -10 < here.over_instcap.mean < 0
    assert (here.over_tcp.lo or 0) > 5
    assert here.told > 0.9


def test_under_fast_variation_the_mean_is_told() -> None:
    (here,) = small(overview=(0.02,)).over_psi
    assert here.regime == "fast"
    assert here.told > 0.85


def test_another_choice_is_recommended_only_if_it_gains_more_than_chance() -> None:
    def confirmed(average: int, least: int, mean: float, lo: float) -> Confirmed:
        gain = Interval(mean, lo, 2 * mean - lo)
        return Confirmed(average=average, least=least, runs=6, over_rule=gain, over_instcap=gain, over_tcp=gain)

    assert design._recommended(Path(), confirmed(1, 77, 5.0, 2.0))[:2] == (1, 77)
    assert design._recommended(Path(), confirmed(1, 77, 5.0, -1.0))[:2] == (7, 49)
    assert design._recommended(Path(), confirmed(1, 77, 0.5, 0.3))[:2] == (7, 49)
    assert design._recommended(Path(), confirmed(7, 49, 0.0, 0.0))[:2] == (7, 49)


def remembered(flow: Flow) -> int:
    """N of a flow over EFFCAP; 0 of others."""
    if flow.feedback is None or not isinstance(flow.feedback.estimator, Effective):
        return 0
    return int(str(flow.feedback.estimator.least).split()[0])


def test_a_memory_that_wins_at_the_edge_is_extended(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def efficiencies(_path: Path, _psi: float, flows: dict[str, Flow], *, seeds: int, seed: int, **_: object) -> Any:
        seen.append(seed)
        noise = np.random.default_rng(seed).normal(0, 1e-4, seeds)
        # Each round trip of memory brings less than the one before, and averages bring nothing.
        return {name: 0.7 - 0.2 / (1 + remembered(flow) / 7) + noise for name, flow in flows.items()}

    monkeypatch.setattr(design, "efficiencies", efficiencies)
    found = design.effcap(psi=5.0, seeds=4, overview=())
    longest = max(one.least for one in found.choices)
    assert longest > 77, "12 round trips win, so longer ones are tried"
    # 119 samples gain less than 1 % over 77, and the shortest memory that is as good is taken.
    assert (found.average, found.least, found.at_edge) == (1, 77, False)
    assert found.confirmed is not None
    assert seen[0] != seen[-1], "what is recommended is measured with other seeds"
    assert found.to_dict()["verdict"] == found.confirmed.verdicts()["over_tcp"] == "meets"
    assert "% more than TCP alone" in report.conclusion(found)


def test_a_gain_that_other_seeds_do_not_confirm_is_not_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    # The seeds that choose flatter N = 77; others do not.
    def efficiencies(_path: Path, _psi: float, flows: dict[str, Flow], *, seeds: int, seed: int, **_: object) -> Any:
        noise = np.linspace(-1e-3, 1e-3, seeds)
        gain = 0.05 if seed == 1 else 0.0
        return {name: 0.5 + noise + (gain if remembered(flow) == 77 else 0.0) for name, flow in flows.items()}

    monkeypatch.setattr(design, "efficiencies", efficiencies)
    found = design.effcap(psi=5.0, seeds=4, overview=())
    assert found.choices[0].over_rule.mean == pytest.approx(10, rel=0.01)
    assert (found.average, found.least) == (7, 49)
    assert "too little" in found.reason
    assert found.confirmed is not None
    assert found.confirmed.verdicts()["over_tcp"] != "meets"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delay_s": 0.0}, "delay_s is a positive number"),
        ({"low_bps": 0.8e6}, "not below the high one"),
        ({"packet_bytes": 100_000}, "nothing to control"),
        ({"interval_s": 1e-9}, "too short"),
    ],
)
def test_a_path_without_sense_is_refused(changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Path(**changes)  # type: ignore[arg-type]


def test_psi_and_seeds_are_checked() -> None:
    for psi, message in (
        (0.0, "psi is a positive number"),
        (1e4, "as good as constant"),
        (1e-6, "every sample is the"),
    ):
        with pytest.raises(ValueError, match=message):
            design.effcap(psi=psi)
    with pytest.raises(ValueError, match="two replications"):
        design.effcap(psi=1.0, seeds=1)


def test_what_takes_too_long_is_said_in_terms_of_the_command() -> None:
    with pytest.raises(ValueError, match="at psi = 1 the simulations take more than 5 min") as caught:
        design.effcap(psi=1.0, seeds=1_000_000)
    assert "--max-time" not in str(caught.value)


def test_simulations_that_a_design_chooses_have_no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[object] = []

    def budget(max_memory: str | None, max_time: str | None) -> None:
        limits.extend([max_memory, max_time])
        raise StopIteration

    monkeypatch.setattr("varicap.engines.sim._core.Budget", budget)
    with pytest.raises(StopIteration):
        confirm(Radio(channel=Channel.good_bad(good_s=0.1, bad_s=0.01)), 16)
    assert limits == [None, None]


def test_the_command_prints_what_it_measured(cli: Cli) -> None:
    done = cli("design", "effcap", "--mean-time", "1 s", "--seeds", 3, "--duration", "60 s", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["psi"] == 5.0
    assert found["rule"] == {"average_samples": 7, "least_samples": 49}
    assert [one["regime"] for one in found["over_psi"]][:1] == ["fast"]
    assert {one["psi"] for one in found["over_psi"]} >= {0.1, 1.0, 5.0, 100.0}
    best = found["choices"][0]["efficiency"]
    assert best["lo"] <= best["mean"] <= best["hi"]


def test_the_tables_name_the_rule_and_the_recommendation() -> None:
    found = small(psi=1.0, overview=(1.0,))
    choices, overview = report.tables(found)
    assert any("the rule" in str(cell) for column in choices.columns for cell in column.cells)
    assert overview.row_count == 1
    assert f"M = {found.average}" in report.conclusion(found)
    assert "verdict at psi = 1 (round trips), " in report.conclusion(found)
    without = small(overview=(0.02, 1.0))
    assert "verdict: of 2 rates of variation EFFCAP beats TCP alone at" in report.conclusion(without)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--delay", "banana"), "length of time"),
        (("--psi", 1, "--mean-time", "1 s"), "not both"),
        (("--psi", -1), "psi is a positive number"),
        (("--low", "1 Mbit/s"), "not below the high one"),
        (("--psi", 1, "--buffer", "3"), "expected an amount"),
    ],
)
def test_wrong_arguments_are_told(cli: Cli, arguments: tuple[object, ...], message: str) -> None:
    done = cli("design", "effcap", *arguments, env={"COLUMNS": "200"})
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
