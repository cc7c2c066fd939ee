"""`varicap design advice`: what advice has to be like to be worth following."""

import json
from typing import Any

import pytest
from conftest import ROOT, Cli

from varicap.design.advice import report
from varicap.design.advice import solve as design
from varicap.design.advice.solve import Gain, Setting, Target, advice
from varicap.engines import sim
from varicap.engines.scenarios import load
from varicap.statistics import Interval

pytestmark = pytest.mark.slow

MARKOV = ROOT / "examples/markov.toml"
SHORT = {"duration": "60 s"}


def gain(goodput: float, delay: float, runs: int = 4, half: float = 0.01) -> Gain:
    kept, later = (Interval(mean, mean - half, mean + half) for mean in (goodput, delay))
    return Gain(goodput=kept, delay=later, goodput_bps=Interval(1e6), rtt_s=Interval(0.1), runs=runs)


def test_a_setting_is_told_as_the_draft_tells_it() -> None:
    assert Setting(25.0, 20).scone() == {
        "update": "20000000 us",
        "spread": "10000000 us",
        "period": "67000000 us",
        "steps": 20,
    }
    assert Setting(25.0, 20).step == pytest.approx(0.122, abs=5e-4)


def test_what_asks_least_of_the_network_is_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, int, int]] = []

    def measure(trial: design._Trial, setting: Setting | None, _runs: int) -> Gain:
        if setting is None:
            return gain(1.0, 0.3)
        seen.append((setting.update_s, setting.steps, trial.seed))
        # Worth it up to 5 s; what comes every 5 s in coarse steps was lucky.
        lucky = (setting.update_s, setting.steps) != (5.0, 20) or trial.seed == 1
        return gain(0.97 if setting.update_s <= 5 and lucky else 0.5, 0.6)

    monkeypatch.setattr(design._Trial, "measure", measure)
    found = advice(MARKOV, seeds=4)
    assert found.verdict == "meets"
    assert found.best is not None
    assert found.best.setting == Setting(5.0, 200)
    assert [one for one in seen if one[2] == 2] == [(5.0, 20, 2), (5.0, 200, 2)], "run again with other seeds"
    words = report.conclusion(found)
    assert "verdict: worth following every 5 s in levels of 1.16 %" in words
    assert "not confirmed: every 5 s in levels of 12.2 %" in words


def test_where_none_is_worth_it_that_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design._Trial, "measure", lambda _trial, _setting, runs: gain(0.9, 1.1, runs))
    found = advice(MARKOV, updates_s=[1.0, 25.0], steps=[20], seeds=4)
    assert (found.best, found.verdict, found.to_dict()["best"]) == (None, "misses", None)
    words = report.conclusion(found)
    assert "verdict: no advice that was tried is worth following" in words
    assert "exact" not in words, "what comes at once, for as long as it holds, bounds nothing"


def test_what_other_seeds_refute_is_said_with_what_they_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(trial: design._Trial, _setting: object, runs: int) -> Gain:
        return gain(0.97 if trial.seed == 1 else 0.90, 0.6, runs)

    monkeypatch.setattr(design._Trial, "measure", measure)
    found = advice(MARKOV, updates_s=[1.0], steps=[20])
    assert (found.verdict, found.best) == ("undecided", None)
    [again] = found.to_dict()["unconfirmed"]
    assert (again["update_s"], again["goodput_of_none"]["mean"], again["verdict"]) == (1.0, 0.9, "misses")
    assert found.nearest.gain.verdict(found.target) == "misses", "the runs that chose it do not speak for it"
    words = report.conclusion(found)
    assert words.startswith("verdict: undecided whether any advice that was tried is worth following")
    assert "not confirmed: every 1 s" in words
    assert "90.0 ± 1.0 % of the goodput, 60.0 ± 1.0 % of the RTT (p95), in 4 other runs" in words
    assert "97.0" not in words


def test_what_is_not_decided_is_not_called_worthless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design._Trial, "measure", lambda _trial, _setting, runs: gain(0.95, 0.8, runs, half=0.1))
    found = advice(MARKOV, updates_s=[0.1, 1.0], steps=[20], seeds=4)
    assert found.verdict == "undecided"
    words = report.conclusion(found)
    assert "no advice" not in words
    assert "verdict: undecided" in words
    assert f"2 of 2 settings: not decided within {found.points[0].gain.runs} runs" in words


def test_an_undecided_setting_gets_more_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def measure(_trial: object, _setting: object, runs: int) -> Gain:
        made.append(runs)
        return gain(0.97, 0.6, runs, half=0.05 / runs**0.5)

    monkeypatch.setattr(design._Trial, "measure", measure)
    assert advice(MARKOV, updates_s=[1.0], steps=[20], seeds=4).verdict == "meets"
    assert max(made) > 4


def test_the_confirmation_takes_no_more_runs_than_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, int]] = []

    def measure(trial: design._Trial, _setting: object, runs: int) -> Gain:
        made.append((trial.seed, runs))
        # Worth it after 16 runs; in the others half as clear.
        return gain(0.97, 0.6, runs, half=0.07 / runs**0.5 * trial.seed)

    monkeypatch.setattr(design._Trial, "measure", measure)
    found = advice(MARKOV, updates_s=[1.0], steps=[20], seeds=4)
    assert found.verdict == "undecided"
    assert [point.gain.verdict(found.target) for point in found.unconfirmed] == ["undecided"]
    assert max(runs for seed, runs in made if seed == 2) == 16, "four times what was asked for, and no more"


def test_the_scenarios_seed_is_the_first(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    seen: list[int] = []

    def measure(trial: design._Trial, _setting: object, runs: int) -> Gain:
        seen.append(trial.seed)
        return gain(0.97, 0.6, runs)

    monkeypatch.setattr(design._Trial, "measure", measure)
    few = {"updates_s": [1.0], "steps": [20], "overrides": {"seed": "7"}}
    for options, seeds in (({}, {7, 8}), ({"seed": 3}, {3, 4})):
        seen.clear()
        advice(MARKOV, **few, **options)  # type: ignore[arg-type]
        assert set(seen) == seeds
    monkeypatch.undo()
    few_runs = ["design", "advice", str(MARKOV), "--update", "1 s", "--steps", "20", "--seeds", "2", "--json"]
    first, same, other = (cli(*few_runs, "--seed", seed).stdout for seed in ("1", "1", "9"))
    assert first == same != other


def test_the_runs_without_advice_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, bool, int]] = []
    run = sim.run

    def counted(scenario: Any, **options: Any) -> Any:
        told = "feedback" in json.loads(scenario.to_json())["flows"]["reno"]
        made.append((options["seed"], told, options["seeds"]))
        return run(scenario, **options)

    monkeypatch.setattr(sim, "run", counted)
    easy = Target(keep=0.01, delay=100.0)
    found = advice(MARKOV, updates_s=[0.5, 1.0], steps=[20], overrides=SHORT, seeds=3, target=easy)
    assert found.verdict == "meets"
    assert [one for one in made if not one[1]] == [(1, False, 3), (2, False, 3)]


def test_fewer_runs_are_the_first_of_more() -> None:
    base = load(MARKOV, SHORT)
    trial, fresh = design._Trial(base, 1, None), design._Trial(base, 1, None)
    setting = Setting(1.0, 20)
    more = trial.measure(setting, 4)
    assert trial.measure(setting, 2) == fresh.measure(setting, 2)
    assert fresh.measure(setting, 4) == more


def test_old_advice_costs_goodput_and_exact_rates_none() -> None:
    found = advice(MARKOV, updates_s=[0.2, 25.0], steps=[20], overrides=SHORT, seeds=3)
    often, seldom = found.points
    assert often.gain.goodput.mean > 0.8 > seldom.gain.goodput.mean
    assert found.exact.goodput.mean == pytest.approx(1.0, abs=0.05)
    assert found.exact.runs == 3


def test_what_heeds_advice_heeds_none_in_the_runs_without() -> None:
    varying = """{ markov = { rates = ["0.6 Mbit/s", "3 Mbit/s"], mean_holding = ["4 s", "4 s"] } }"""
    camera = {
        **SHORT,
        "topology.dumbbell.forward.capacity": varying,
        "flows.cubic.feedback": "{ share = 'capacity' }",
        "isolate": "true",
    }
    delays = []
    for app in ("{ heed = true }", "{ heed = false }", "{}"):
        heeding = camera | {"flows.cubic.app": f"{{ real-time = {app} }}"}
        trial = design._Trial(load(MARKOV, heeding), 1, None)
        delays.append(trial._run(2, None)[1].tolist())
    assert delays[0] == delays[1] == delays[2], "the camera goes by its own measurements"
    silent = json.loads(trial._scenario(None).to_json())["flows"]["cubic"]
    assert "feedback" not in silent
    told = json.loads(design._Trial(load(MARKOV, camera), 1, None)._scenario({"cap": True}).to_json())
    assert told["flows"]["cubic"]["feedback"]["share"] == "capacity"


def test_a_share_that_a_flow_is_told_stays() -> None:
    # Each alone, both told the whole capacity: advice costs a step of 1.2 % and no more.
    still = {"topology.dumbbell.forward.capacity": "0.5 Mbit/s", "flows.reno.feedback.share": "capacity"}
    alone = {**SHORT, **still, "isolate": "true", "flows.cubic.feedback.share": "capacity"}
    found = advice(MARKOV, updates_s=[0.5], steps=[200], overrides=alone, seeds=2, target=Target(keep=0.5, delay=1.5))
    assert found.verdict == "meets"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"updates_s": []}, "nothing to try"),
        ({"updates_s": [0.0]}, "a time between updates is 1 ms to 1000000 s, not 0.0 s"),
        ({"steps": [0]}, "steps in a factor of ten are 1 to 1000, not 0"),
        ({"seeds": 1}, "an interval takes two replications or more, not 1"),
        ({"overrides": {"flows.reno.tcp.congestion": "ratcp"}}, "flows.reno.tcp.congestion: `ratcp` cannot do without"),
    ],
)
def test_what_cannot_be_tried_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        advice(MARKOV, **options)  # type: ignore[arg-type]


def test_the_command_prints_the_table_and_the_verdict(cli: Cli) -> None:
    few = ["design", "advice", str(MARKOV), "--update", "1 s", "--steps", "20", "--seeds", "2", "--quiet"]
    shown = cli(*few)
    assert "flows that follow advice, over those that do not" in shown.stdout
    assert "verdict:" in shown.stdout
    printed = json.loads(cli(*few, "--json").stdout)
    assert printed["target"] == {"goodput": {"low": 0.95, "high": None}, "delay": {"low": None, "high": 0.8}}
    assert [point["update_s"] for point in printed["points"]] == [1.0]
    refused = cli(*few[:3], "--steps", "many")
    assert refused.returncode == 2
    assert "expected a whole number, found 'many'" in refused.stderr
