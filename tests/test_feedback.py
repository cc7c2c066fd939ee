"""Estimators of a link's rate by hand, and ABR sources from Python."""

import pytest

import varicap
from varicap.feedback import Estimator
from varicap.scenario import Abr, Dumbbell, Effective, Feedback, Flow, Instantaneous, Link, Scenario, Tcp


def told(estimator: Estimator, until: float) -> list[float]:
    rates = []
    while (rate := estimator.advertise(until)) is not None:
        rates.append(rate)
    return rates


def test_an_estimator_tells_what_a_scenario_would() -> None:
    mean = Estimator({"instantaneous": {"interval": "100 ms"}}, capacity_bps=1e6)
    mean.observe(0.05, 2e6)
    assert told(mean, 0.2) == [1.5e6, 2e6]
    exact = Estimator("exact", capacity_bps=1e6)
    assert told(exact, 0.0) == [1e6]
    exact.observe(3.0, 2e6)
    assert told(exact, 3.0) == [2e6]
    assert exact.poll_at is None


def test_a_finite_delta_lies_between_the_mean_and_the_least() -> None:
    def effective(delta: float) -> float:
        settings = {"interval": "30 ms", "average": "1 samples", "least": "2 samples", "delta": delta}
        estimator = Estimator({"effective": settings}, capacity_bps=8e5, packet=500)
        estimator.observe(0.03, 4e5) if estimator.advertise(0.03) else None
        return told(estimator, 0.06)[-1]

    assert effective(0.0) == 6e5
    assert effective(1e6) == 4e5
    assert 4e5 < effective(0.5) < 6e5


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("instant", "exact"),
        ({"effective": {"average": "7"}}, "a number of samples"),
        ({"instantaneous": {"interval": "0 s"}}, "more than 0 s"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: object, expected: str) -> None:
    with pytest.raises(varicap.ScenarioError, match=expected):
        Estimator(settings)  # type: ignore[arg-type]


def test_instants_and_rates_that_make_no_sense_are_refused() -> None:
    estimator = Estimator("instantaneous")
    estimator.observe(0.05, 1e6)
    with pytest.raises(ValueError, match="does not run back"):
        estimator.observe(0.04, 1e6)
    with pytest.raises(ValueError, match="call advertise"):
        estimator.observe(0.2, 1e6)
    with pytest.raises(ValueError, match="a rate is"):
        estimator.observe(0.06, -1.0)
    with pytest.raises(ValueError, match="a time is"):
        estimator.advertise(float("nan"))


def test_an_abr_source_of_typed_values_runs() -> None:
    path = Link(capacity="2 Mbit/s", delay="20 ms", queue=varicap.scenario.DropTail(limit="4 packets"))
    told = Feedback(estimator=Effective(interval="30 ms", average="1 rtt", least="2 rtt"))
    flows = {
        "effcap": Flow(abr=Abr(), feedback=told, tcp=Tcp(max_window="30 packets")),
        "instcap": Flow(abr=Abr(), feedback=Feedback(estimator=Instantaneous()), tcp=Tcp(max_window="30 packets")),
    }
    scenario = Scenario(duration="20 s", warmup="5 s", isolate=True, topology=Dumbbell(forward=path), flows=flows)
    result = varicap.run(scenario, seeds=1)
    names = {link["name"] for link in result.summary["links"]}
    assert {"effcap.abr", "instcap.abr", "forward"} <= names
    for link in result.summary["links"]:
        if link["name"] == "forward":
            assert link["dropped_packets"] == 0
            assert link["utilisation"]["mean"] > 0.99
