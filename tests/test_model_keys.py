"""Models and the keys of a scenario: what a model has not been told about makes it say so."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from conftest import ROOT, Cli

import varicap
from varicap.engines import model
from varicap.engines.model.keys import COMMON, Key, unknown
from varicap.engines.model.path import FlowPath, paths

SCHEMA = json.loads((ROOT / "schema" / "scenario.schema.json").read_text())


def old_tahoe(**tcp: Any) -> dict[str, Any]:
    """One flow that knows timeouts only on a fixed link: 0.8 Mb/s, 100 ms, packets of 500 B."""
    queue = {"drop-tail": {"limit": "10 packets", "counts_in_service": False}}
    link = {"capacity": "0.8 Mbit/s", "delay": "100 ms", "queue": queue}
    timer = {"rfc6298": {"minimum": "0.2 s", "granularity": "10 ms"}}
    given = {"stack": "rfc", "recovery": "old-tahoe", "mss": "500 B", "header": "0 B", "ack": "every", "timer": timer}
    return {
        "name": "timeouts",
        "duration": "320 s",
        "warmup": "20 s",
        "topology": {"dumbbell": {"forward": link, "reverse": {"delay": "0 s"}}},
        "tcp": given | tcp,
        "flows": {"one": {"start_spread": "1 s"}},
    }


def ratcp(beta: int = 1, **options: Any) -> dict[str, Any]:
    """The same flow with RATCP, which knows the round trip."""
    control = {"beta": f"{beta} packets", "rtt": {"known": "100 ms"}} | options
    scenario = old_tahoe(congestion={"ratcp": control})
    scenario["flows"]["one"]["feedback"] = {"share": "capacity"}
    return scenario


def slotted(psi: float = 100.0) -> dict[str, Any]:
    """INSTCAP and TCP alone on a capacity that stays for `psi` round trips of 200 ms."""
    scenario: dict[str, Any] = json.loads(varicap.load("examples/effcap.toml").to_json())
    del scenario["flows"]["effcap"]
    change = 0.03 / (psi * 0.2)
    rows = [[1 - change, change], [change, 1 - change]]
    scenario["topology"]["dumbbell"]["forward"]["capacity"]["slotted-markov"]["transitions"] = rows
    return scenario


def varying() -> dict[str, Any]:
    """Reno alone on a capacity that jumps between two rates."""
    scenario: dict[str, Any] = json.loads(varicap.load("examples/markov.toml").to_json())
    del scenario["flows"]["cubic"]
    return scenario


FITTING: dict[str, Any] = {
    "varying": varying(),
    "sawtooth": "examples/fixed.toml",
    "pftk": old_tahoe(recovery="newreno") | {"topology": {"dumbbell": {"forward": {"loss": "1 %", "delay": "50 ms"}}}},
    "ratcp": old_tahoe(),
    "abr": slotted(),
    "wireless": "python/varicap/papers/wireless/scenarios/arq.toml",
}


def answer(scenario: Any, flow: int = 0, overrides: dict[str, str] | None = None) -> dict[str, Any]:
    """What the models say of a flow."""
    found: dict[str, Any] = varicap.run(scenario, engine="model", overrides=overrides or {}).summary["flows"][flow]
    return found


def path_of(name: str) -> FlowPath:
    """The first flow of a scenario that a model fits."""
    return paths(varicap.load(FITTING[name]))[0]


def names(schema: dict[str, Any], where: str, seen: tuple[str, ...] = ()) -> Iterator[str]:
    """The names of the keys below a place of the format, those of choices included."""
    if reference := schema.get("$ref"):
        if reference not in seen:
            yield from names(SCHEMA["$defs"][reference.rsplit("/", 1)[1]], where, (*seen, reference))
        return
    for word in ("anyOf", "oneOf", "allOf"):
        for choice in schema.get(word, ()):
            yield from names(choice, where, seen)
    for key, inside in schema.get("properties", {}).items():
        yield f"{where}.{key}".removeprefix(".")
        yield from names(inside, f"{where}.{key}", seen)


EVERY = (
    {*names({"$ref": "#/$defs/FlowConfig"}, "")}
    | {name for side in ("link", "back") for name in names({"$ref": "#/$defs/LinkConfig"}, side)}
    | {*names({"$ref": "#/$defs/RecordConfig"}, "record"), *SCHEMA["properties"]}
)
"""The names of all keys of the format, as models declare them."""


@pytest.mark.parametrize("name", FITTING)
def test_each_model_has_a_scenario_that_it_fits(name: str) -> None:
    assert answer(FITTING[name])["model"] == name


def test_no_model_declares_a_key_that_there_is_not() -> None:
    assert {"tcp.timer.linux.minimum", "back.queue.drop-tail.limit", "feedback.estimator.exact.interval"} <= EVERY
    declared = COMMON.union(*(one.keys for one in model.MODELS))
    assert {name.partition(" = ")[0] for name in declared} <= EVERY


@pytest.mark.parametrize("one", model.MODELS, ids=lambda one: one.name)
def test_a_model_names_every_key_of_the_format_that_it_does_not_declare(one: model.Model) -> None:
    scenario = path_of(one.name).scenario
    known = {name.partition(" = ")[0] for name in COMMON | one.keys}
    strange = sorted(EVERY - known)
    assert len(strange) > 150
    while strange:
        # Keys of which none is below another are asked for together, which is as much work as one of them.
        asked = [name for name in strange if not any(name.startswith(f"{other}.") for other in strange)]
        said = list(unknown(scenario, [Key(name, f"flows.one.{name}", "odd") for name in asked], one.keys))
        assert said == [f"flows.one.{name} = odd: the model takes no account of it" for name in asked]
        strange = [name for name in strange if name not in asked]


@pytest.mark.parametrize("name", FITTING)
def test_a_key_that_is_new_to_the_format_strains_every_model(name: str) -> None:
    path = path_of(name)
    newer = replace(path, keys=(*path.keys, Key("tcp.novelty", "flows.one.tcp.novelty", "7")))
    assert "flows.one.tcp.novelty = 7: the model takes no account of it" in model.answered(newer)["strained"]
    assert "novelty" not in str(model.answered(path)["strained"])


def test_a_key_at_the_default_of_the_standards_is_not_in_the_way() -> None:
    plain = old_tahoe(nagle="off", pacing="off", ecn=False, max_burst=None, repeat_fast_retransmit=False)
    assert answer(plain)["strained"] == []


def test_a_key_is_known_with_its_declared_value_only() -> None:
    fixed = "examples/fixed.toml"
    assert answer(fixed, overrides={"flows.reno.tcp.timer": "'rfc6298'"})["strained"] == []
    (said,) = answer(fixed, overrides={"flows.reno.tcp.timer": "'multiple'"})["strained"]
    assert said == "flows.reno.tcp.timer = multiple: the model takes no account of it"


def test_a_default_of_the_stack_is_in_force() -> None:
    # Nobody wrote `quick`, but a receiver of Linux has it.
    scenario = old_tahoe()
    scenario["tcp"] = {"stack": "linux", "recovery": "old-tahoe", "congestion": "reno", "mss": "500 B"}
    assert "flows.one.tcp.ack.delayed.quick = 16: the model takes no account of it" in answer(scenario)["strained"]


@pytest.mark.parametrize(
    ("scenario", "overrides", "says"),
    [
        (ratcp(pacing=True), {}, r"ratcp.pacing = true: the model takes no account"),
        (old_tahoe(pacing={"linux": {}}), {}, r"tcp.pacing = linux: the model takes no account"),
        (old_tahoe(timer="ticks"), {}, "tcp.timer = ticks"),
        (slotted(), {"flows.instcap.feedback.estimator.instantaneous.interval": "'1 s'"}, "interval = 1 s"),
        (slotted(), {"flows.instcap.abr.peak": "'400 kbit/s'"}, "abr.peak = 400 kbit/s: the model takes no account"),
        (slotted(3.0), {}, "stays for 3 delays"),
        (slotted(20.0), {}, "a timeout every"),
        (ratcp(beta=8), {}, "slow start gets to the 28 packets"),
        (old_tahoe(), {"topology.dumbbell.forward.queue.drop-tail.limit": "'6 packets'"}, "0.33 pipes"),
        ("examples/fixed.toml", {"flows.reno.start": "'20 s'"}, "measured from 10 s on"),
        ("examples/fixed.toml", {"flows.reno.stop": "'30 s'"}, "stop = 30 s: the model takes no account"),
        ("examples/fixed.toml", {"flows.reno.jitter": "'20 ms'"}, "jitter = 0.02 s"),
        ("examples/fixed.toml", {"topology.dumbbell.forward.capacity": "'50 Mbit/s'"}, "a cycle of the window takes"),
        ("examples/fixed.toml", {"topology.dumbbell.reverse.capacity": "'1 Mbit/s'",
                                 "topology.dumbbell.reverse.framing.overhead": "'20 B'"}, "framing.overhead = 20 B"),
    ],
)  # fmt: skip
def test_where_a_model_is_void_it_says_so(scenario: Any, overrides: dict[str, str], says: str) -> None:
    assert says in " | ".join(answer(scenario, overrides=overrides)["strained"])


def test_the_first_rate_of_an_abr_source_is_no_bound() -> None:
    assert answer(slotted(), overrides={"flows.instcap.abr.initial": "'400 kbit/s'"})["strained"] == []


def test_the_rtt_that_ratcp_is_told_makes_its_window() -> None:
    told, known = answer(ratcp(rtt={"known": "20 ms"})), answer(ratcp())
    # Five packets in a round trip of 105 ms, instead of a full link.
    assert told["goodput_bps"]["mean"] == pytest.approx(5 * 4000 / 0.105)
    assert known["goodput_bps"]["mean"] == pytest.approx(0.8e6)
    with pytest.raises(varicap.NotApplicableError, match=r"ratcp\.rtt = smoothed"):
        varicap.run(ratcp(rtt="smoothed"), engine="model")


def test_an_engine_says_each_reason_in_a_line_of_its_own(cli: Cli) -> None:
    ended = cli("compare", ROOT / "examples/ratcp.toml", "--engine", "model", "--no-plot")
    said = ended.stderr.splitlines()
    assert len(said) == 5
    assert all(line.startswith("varicap: model: no model fits the flow `") for line in said)
    strained = cli("run", ROOT / "examples/fixed.toml", "--engine", "model", "--set", "flows.reno.stop='30 s'")
    assert strained.stderr.splitlines() == [
        "varicap: reno: flows.reno.stop = 30 s: the model takes no account of it",
        "varicap: this result is not valid: see `fidelity` in --json",
    ]
    none = cli("run", ROOT / "examples/fixed.toml", "--engine", "model", "--set", "flows.reno.tcp.congestion='cubic'")
    assert none.returncode == 2
    assert all(line.startswith("varicap: no model fits the flow `reno`: ") for line in none.stderr.splitlines())
