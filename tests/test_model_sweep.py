"""The model engine over the points of a sweep: the same answers as one by one, in one table."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import EXAMPLES, Cli

import varicap
from varicap.engines.model import alike, answers, keys, reasons, why_not
from varicap.engines.model.path import paths
from varicap.errors import NotApplicableError

FIXED = EXAMPLES / "fixed.toml"
LIMIT = "topology.dumbbell.forward.queue.drop-tail.limit"
CONTROL = "flows.reno.tcp.congestion"
OVER = {LIMIT: ["3 packets", "20 packets"], CONTROL: ["reno", "cubic"], "warmup": ["0 s", "10 s"]}


def test_each_point_has_the_answer_of_a_run_of_its_own() -> None:
    study = varicap.sweep(FIXED, OVER, engine="model")
    rows = study.table.to_pylist()
    assert [row["point"] for row in rows] == list(range(8))
    assert {row["valid"] for row in rows} == {True, False, None}, "some hold, some are strained, some have no model"
    for row, point in zip(rows, study.points, strict=True):
        assert {path: row[path] for path in OVER} == dict(point)
        if row["model"] is None:
            with pytest.raises(NotApplicableError) as caught:
                varicap.run(FIXED, engine="model", overrides=dict(point))
            assert row["not_applicable"] == str(caught.value).splitlines()
            continue
        alone = varicap.run(FIXED, engine="model", overrides=dict(point)).summary
        (flow,) = alone["flows"]
        assert (row["name"], row["model"]) == (flow["name"], flow["model"])
        assert (row["goodput_bps"], row["throughput_bps"]) == (
            flow["goodput_bps"]["mean"],
            flow["throughput_bps"]["mean"],
        )
        assert row["valid"] == alone["fidelity"]["valid"]
        assert [f"{flow['name']}: {text}" for text in row["strained"]] == reasons(alone)
        assert {name: row[f"details.{name}"] for name in flow["details"]} == flow["details"]


FORWARD = "topology.dumbbell.forward"


def flow_of(name: str, flow: str, **more: Any) -> dict[str, Any]:
    """An example with this flow only, which gets some more settings of TCP."""
    scenario: dict[str, Any] = json.loads(varicap.load(EXAMPLES / f"{name}.toml").to_json())
    scenario["flows"] = {"one": scenario["flows"][flow]}
    scenario["flows"]["one"]["tcp"] |= more
    return scenario


def stays(psi: float) -> str:
    """How the capacity of the example of EFFCAP changes that stays for `psi` round trips."""
    change = 0.03 / (psi * 0.2)
    return f"[[{1 - change}, {change}], [{change}, {1 - change}]]"


GRIDS: dict[str, tuple[Any, dict[str, list[str]]]] = {
    # Three duplicate ACKs are what every stack has: with that number the key is not in the way.
    "sawtooth": (FIXED, {LIMIT: ["5 packets", "20 packets"], "flows.reno.tcp.duplicate_acks": ["2", "3", "4"]}),
    "pftk": (
        FIXED,
        {
            f"{FORWARD}.capacity": ["100 Mb/s"],
            f"{FORWARD}.loss.bernoulli": ["0.1 %", "1 %", "25 %"],
            "flows.reno.tcp.recovery": ["reno", "sack"],
        },
    ),
    "cycle": (
        flow_of("ratcp", "reno", recovery="old-tahoe", stack="rfc"),
        {f"{FORWARD}.capacity": ["0.5 Mb/s", "2 Mb/s"], "flows.one.tcp.timer.rfc6298.minimum": ["0.2 s", "1e0 s"]},
    ),
    "ratcp": (
        flow_of("ratcp", "ratcp-timeouts"),
        {
            f"{FORWARD}.delay": ["90 ms", "105 ms"],
            f"{FORWARD}.capacity.sessions.arrivals": ["0.05 /s", "0.5 /s"],
            "flows.one.jitter": ["1 ms", "20 ms"],
        },
    ),
    "rates": (
        flow_of("markov", "reno", recovery="old-tahoe", stack="rfc", congestion={"ratcp": {"beta": "4 packets"}}),
        {f"{FORWARD}.capacity.markov.mean_holding": ["['1 s', '2 s']", "['0.05 s', '2 s']", "['3.5 s', '0.9 s']"]},
    ),
    "abr": (
        flow_of("effcap", "instcap"),
        {
            f"{FORWARD}.capacity.slotted-markov.transitions": [stays(0.5), stays(3), stays(100)],
            "flows.one.abr.peak": ["400 kbit/s", "2 Mbit/s"],
        },
    ),
    # The last two have most of their sample paths in common, and a chain.
    "effcap": (
        flow_of("effcap", "effcap"),
        {f"{FORWARD}.capacity.slotted-markov.transitions": [stays(0.5), stays(3), stays(60), stays(60.5)]},
    ),
    "varying": (
        flow_of("markov", "reno"),
        {
            f"{FORWARD}.capacity": [
                "{ markov = { rates = ['800 kb/s', '200 kb/s'], mean_holding = ['2 s', '1 s'] } }",
                "{ markov = { rates = ['800 kb/s', '300 kb/s'], mean_holding = ['2.5 s', '1 s'] } }",
                "{ markov = { rates = ['1 Mb/s', '500 kb/s', '10 kb/s'], mean_holding = ['2 s', '1 s', '1 s'] } }",
            ],
            "flows.one.tcp.congestion": ["reno", "cubic", "bbr", "{ ratcp = {} }", "vegas"],
        },
    ),
    "wireless": (
        flow_of("wireless", "reno"),
        {
            f"{FORWARD}.loss": ["{ rayleigh = { doppler = '10 Hz' } }", "{ rayleigh = { doppler = '3 Hz' } }", "2 %"],
            "flows.one.tcp.recovery": ["tahoe", "rack"],
            f"{FORWARD}.queue.drop-tail.limit": ["12 packets", "16 packets", "400 packets"],
        },
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_points_that_are_solved_together_have_the_answers_of_each_alone(name: str) -> None:
    scenario, over = GRIDS[name]
    study = varicap.sweep(scenario, over, engine="model")
    rows = iter(study.table.to_pylist())
    said: set[str] = set()
    for point in study.points:
        for flow in answers(varicap.load(scenario, point)):
            row = next(rows)
            assert (row["name"], row["model"]) == (flow["name"], flow.get("model"))
            assert row["strained"] == flow.get("strained", [])
            assert row["not_applicable"] == (why_not(flow) if "not_applicable" in flow else [])
            said |= {*row["strained"], *row["not_applicable"]}
            if "model" in flow:
                numbers = {name: value["mean"] for name, value in flow.items() if name.endswith("_bps")}
                numbers |= {f"details.{name}": value for name, value in flow["details"].items()}
                assert {name: row[name] for name in numbers} == pytest.approx(numbers, rel=1e-12, abs=1e-300)
    assert said, "a grid on which nothing is strained shows nothing about reasons"


def test_links_whose_names_differ_in_numbers_have_keys_of_their_own() -> None:
    link = {"from": "a", "to": "b", "capacity": "1 Mb/s", "queue": {"drop-tail": {"limit": "20 packets"}}}
    links = {"l-1": link, "l-2": link | {"reorder": True}, "back": {"from": "b", "to": "a", "delay": "50 ms"}}
    flow = {"from": "a", "to": "b", "tcp": {"congestion": "reno"}}
    scenario = {"duration": "200 s", "warmup": "20 s", "topology": {"graph": {"links": links}}, "flows": {"one": flow}}
    rows = varicap.sweep(scenario, {"flows.one.via": ["['l-1']", "['l-2']"]}, engine="model").table.to_pylist()
    unknown = "topology.graph.links.l-2.reorder = true: the model takes no account of it"
    assert [row["strained"] for row in rows] == [[], [unknown]]


def test_keys_have_the_values_of_each_point_whatever_was_seen_before() -> None:
    shared = alike.Alike()
    transitions = f"{FORWARD}.capacity.slotted-markov.transitions"
    seen = set()
    for psi, delay in ((3, "200 ms"), (100, "200 ms"), (3, "150 ms"), (3, "200 ms")):
        point = {transitions: stays(psi), "topology.dumbbell.reverse.delay": delay}
        scenario = varicap.load(flow_of("effcap", "instcap"), point)
        (together,), (alone,) = paths(scenario, shared), paths(scenario)
        assert together.keys == alone.keys
        seen.add(together.keys)
    assert len(seen) == 3


def test_only_numbers_make_no_difference_to_what_points_have_in_common() -> None:
    one = alike.pattern((("delay", "50 ms"), ("timer", "rfc6298"), ("at", "[[.5, 1e-3], [-2, '3 s']]")))
    assert one == alike.pattern((("delay", "0.1 ms"), ("timer", "rfc6298"), ("at", "[[1, 2.], [+3, '4E+1 s']]")))
    for other in ("50 s", "unlimited", "{ steps = '50 ms' }"):
        assert one != alike.pattern((("delay", other), ("timer", "rfc6298"), ("at", "[[.5, 1e-3], [-2, '3 s']]")))


def test_several_flows_have_a_row_each(tmp_path: Path) -> None:
    alone = "[topology.dumbbell.forward]\ncapacity = '1 Mb/s'\ndelay = '50 ms'\n[flows.a.tcp]\n[flows.b.tcp]\n"
    (tmp_path / "two.toml").write_text(f"duration = '60 s'\nisolate = true\n{alone}")
    over = {"tcp.congestion": ["reno"], "topology.dumbbell.forward.queue.drop-tail.limit": ["9 packets", "20 packets"]}
    table = varicap.sweep(tmp_path / "two.toml", over, engine="model").table
    assert list(zip(table["point"].to_pylist(), table["name"].to_pylist(), strict=True)) == [
        (0, "a"),
        (0, "b"),
        (1, "a"),
        (1, "b"),
    ]


def test_a_folder_gets_the_table_and_what_it_is_of(tmp_path: Path) -> None:
    study = varicap.sweep(FIXED, {LIMIT: ["5 packets"]}, engine="model", folder=tmp_path / "out")
    assert pq.read_table(tmp_path / "out/models.parquet").equals(study.table)
    facts = json.loads((tmp_path / "out/models.json").read_text())
    assert facts["points"] == [{LIMIT: "5 packets"}]
    assert facts["scenario"]["name"] == "fixed"


def test_where_no_model_fits_at_any_point_it_says_why() -> None:
    with pytest.raises(NotApplicableError, match=r"`reno`: sawtooth: .*congestion = cubic"):
        varicap.sweep(FIXED, {CONTROL: ["cubic", "vegas"]}, engine="model")


def test_the_command_prints_the_table_and_the_reasons(cli: Cli) -> None:
    over = [part for path, values in OVER.items() for part in ("--over", f"{path}={','.join(values)}")]
    done = cli("sweep", FIXED, *over, "--engine", "model")
    assert done.returncode == 0
    rows = varicap.sweep(FIXED, OVER, engine="model").table.to_pylist()
    assert done.stdout.count("no model") == 4
    # With a buffer of 3 packets at any warm-up, and without a warm-up.
    assert done.stdout.count("strained") == [row["valid"] for row in rows].count(False) == 3
    assert "congestion = cubic: the model knows reno" in done.stderr
    printed = json.loads(cli("sweep", FIXED, *over, "--engine", "model", "--json").stdout)
    assert printed["models"] == rows


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--engine", "model", "--plot"], 2, "models have a table, and no chart"),
        (["--engine", "model", "--over", f"{CONTROL}=cubic"], 2, "no model fits the flow"),
        (["--engine", "model", "--over", f"{CONTROL}=reno", "--design", "cube"], 2, "is not one of product"),
    ],
)
def test_what_models_cannot_do_is_said(cli: Cli, options: list[str], code: int, says: str) -> None:
    done = cli("sweep", FIXED, *options)
    assert (done.returncode, says in " ".join(done.stderr.split())) == (code, True), done.stderr


def test_another_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="one of sim, model, kernel, not 'ns-3'"):
        varicap.sweep(FIXED, {CONTROL: ["reno"]}, engine="ns-3")  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["fixed", "ratcp"])
def test_defaults_that_are_looked_up_together_are_those_of_each_key(name: str) -> None:
    """Of what a model has not been told about: together they are found by reading the scenario once."""
    scenario = varicap.load(EXAMPLES / f"{name}.toml")
    for path in paths(scenario):
        named = [key.path for key in path.keys]
        assert keys.defaults(scenario, named) == {key: keys.defaults(scenario, [key])[key] for key in named}


@pytest.mark.parametrize(
    "option",
    [
        ("--seeds", "50"),
        ("--precision", "1%"),
        ("--max-seeds", "1000"),
        ("--on", "local:2"),
        ("--max-memory", "1 GB"),
        ("--max-time", "1 h"),
        ("--jobs", "2"),
    ],
    ids=lambda option: option[0],
)
def test_options_of_runs_are_refused(cli: Cli, option: tuple[str, str]) -> None:
    done = cli("sweep", FIXED, "--over", f"{LIMIT}=5 packets", "--engine", "model", *option)
    assert done.returncode == 2
    assert f"Invalid value for {option[0]}: is for runs, and models answer without" in " ".join(done.stderr.split())


def test_its_folder_says_where_the_table_is(cli: Cli) -> None:
    assert cli("sweep", FIXED, "--over", f"{LIMIT}=5 packets", "--engine", "model", "-o", "out").returncode == 0
    done = cli("report", "out")
    assert done.returncode == 2
    assert "out/models.parquet is the table" in " ".join(done.stderr.split())
