"""The typed front of scenarios, the schema and the reference page: one definition, several forms."""

import importlib.util
import json
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from varicap import _core
from varicap.scenario import (
    Arrivals,
    Chain,
    Cubic,
    Custom,
    Datagrams,
    DropTail,
    Dumbbell,
    Flow,
    Link,
    Markov,
    Pareto,
    Rfc6298Timer,
    Scenario,
    Tcp,
)

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_scenario", ROOT / "tools" / "generate_scenario.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def schema() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((ROOT / "schema" / "scenario.schema.json").read_text(encoding="utf-8"))
    return read


def normal(table: dict[str, Any], base_dir: Path = ROOT / "examples") -> dict[str, Any]:
    """As the engine reads it, every default written out."""
    read = _core.Scenario.from_json(json.dumps(table), "<test>", str(base_dir), [])
    whole: dict[str, Any] = json.loads(read.to_json())
    return whole


SCENARIO = Scenario(
    duration="20 s",
    topology=Dumbbell(
        forward=Link(
            capacity=Markov(rates=["1 Mbit/s", "2 Mbit/s"], mean_holding=["1 s", "2 s"]),
            delay="50 ms",
            queue=DropTail(limit="10 packets"),
            loss=0.001,
        ),
        reverse=Link(capacity="1 Mbit/s", queue="codel"),
    ),
    flows={
        "cubic": Flow(tcp=Tcp(congestion=Cubic(beta=0.5), timer=Rfc6298Timer(minimum="200 ms"), ack="every")),
        "short ones": Flow(app=Arrivals(rate="2 /s", size=Pareto(mean="20 kB", shape=1.5)), backward=True),
        "probes": Flow(datagrams=Datagrams(rate="10 kbit/s", size="100 B")),
    },
)


def test_generated_files_are_up_to_date() -> None:
    drifted = [path.name for path, text in generator().generated().items() if path.read_text(encoding="utf-8") != text]
    assert not drifted, f"{drifted}: run `make schema`"


def test_schema_is_what_the_engine_has() -> None:
    assert json.loads(_core.schema()) == schema()


def test_schema_is_a_schema_and_accepts_the_examples() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    validator = jsonschema.Draft202012Validator(schema())
    for path in EXAMPLES:
        validator.validate(tomllib.loads(path.read_text(encoding="utf-8")))
    validator.validate(normal(SCENARIO.to_dict()))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"duration": 60, "topology": {}, "flows": {}})


def test_choices_become_the_tables_of_a_file() -> None:
    forward = SCENARIO.to_dict()["topology"]["dumbbell"]["forward"]
    assert forward["queue"] == {"drop-tail": {"limit": "10 packets"}}
    assert Flow(tcp=Tcp(congestion=Custom("mine"))).to_dict()["tcp"]["congestion"] == {"custom": "mine"}
    assert Flow(from_="a").to_dict() == {"from": "a"}


def test_what_is_default_is_left_out() -> None:
    assert set(SCENARIO.to_dict()) == {"duration", "topology", "flows"}
    assert SCENARIO.to_dict()["flows"]["probes"] == {"datagrams": {"rate": "10 kbit/s", "size": "100 B"}}


def test_a_given_tcp_inherits_what_it_does_not_give() -> None:
    shared = Scenario(
        duration="1 s",
        tcp=Tcp(mss="500 B"),
        topology=Chain(forward=[Link(capacity="1 Mbit/s", delay="50 ms")]),
        flows={"shared": Flow(), "own": Flow(tcp=Tcp(recovery="reno"))},
    )
    flows = normal(shared.to_dict())["flows"]
    assert flows["shared"]["tcp"]["mss"] == "500 B"
    assert flows["own"]["tcp"]["mss"] == "500 B"
    assert flows["own"]["tcp"]["recovery"] == "reno"


def test_typed_scenario_is_read_back_the_same() -> None:
    assert tomllib.loads(SCENARIO.to_toml()) == SCENARIO.to_dict()
    whole = normal(SCENARIO.to_dict())
    assert normal(Scenario.from_dict(whole).to_dict()) == whole


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_mean_the_same_as_typed_values(path: Path) -> None:
    read = _core.Scenario.from_toml(path.read_text(encoding="utf-8"), str(path), str(path.parent), [])
    typed = Scenario.from_toml(path)
    assert normal(typed.to_dict()) == json.loads(read.to_json())


def test_overrides_are_those_of_the_command_line() -> None:
    assert Scenario.from_toml(EXAMPLES[0], {"duration": "70 s"}).duration == "70 s"
