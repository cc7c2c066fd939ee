"""The fuzzers notice what they are there to notice."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from conftest import ROOT
from fuzz import cases, commands, grammar, invariants, networks, strangers

import varicap
import varicap._core as _core
from varicap.results.result import Result


def changed(result: Result, column: str, value: float) -> Any:
    """A result of which one column of the links says something else."""
    links = result.links
    place = links.column_names.index(column)
    field = links.schema.field(place)
    wrong = links.set_column(place, field, pa.array([value] * links.num_rows).cast(field.type))
    return SimpleNamespace(links=wrong, flows=result.flows, tables=lambda: {"links": wrong, "flows": result.flows})


@pytest.fixture(scope="module")
def result() -> Result:
    changes = {"duration": "1 s", "warmup": "0 s", "flows.reno.start_spread": "0 s"}
    return varicap.run(ROOT / "examples" / "fixed.toml", seeds=1, overrides=changes)


@pytest.mark.parametrize(("column", "value"), [("utilisation", 1.01), ("loss_ratio", 3.0), ("loss_ratio", -0.1)])
def test_numbers_that_cannot_be_are_noticed(result: Result, column: str, value: float) -> None:
    invariants.bounds(result)
    with pytest.raises(AssertionError, match=column):
        invariants.bounds(changed(result, column, value))


def test_only_at_start_service_carries_more_than_is_offered(result: Result) -> None:
    every = set(result.links["name"].to_pylist())
    invariants.bounds(changed(result, "utilisation", 1.01), every)
    for column, at_start in [("utilisation", every - {"forward"}), ("loss_ratio", every)]:
        with pytest.raises(AssertionError, match=column):
            invariants.bounds(changed(result, column, 1.01), at_start)


def test_every_part_of_a_network_has_words_on_its_page(tmp_path: Path) -> None:
    networks.write_traces(tmp_path)
    told = 0
    for seed in range(40):
        scenario, _ = networks.scenario(random.Random(seed))
        try:
            loaded = _core.Scenario.from_json(json.dumps(scenario), "scenario", str(tmp_path), [])
            invariants.shown(varicap.run(loaded, seeds=1, series=True, max_memory=None, max_time="10 s"))
        except varicap.ScenarioError:
            continue
        told += 1
    assert told > 20


def test_what_comes_out_must_have_gone_in(result: Result) -> None:
    invariants.conserved(result, {"reno": 1})
    for column, value, says in [
        ("delivered_packets", 1e6, "have left of those offered"),
        ("offered_packets", 1e6, "are nowhere"),
        ("throughput_bps", 1.0, "were received"),
    ]:
        with pytest.raises(AssertionError, match=says):
            invariants.conserved(changed(result, column, value), {"reno": 1})


def test_a_second_run_has_no_excuse(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What ran once and is refused in another manner is a failure, as is any result that differs."""
    whole = varicap.run

    def refusing(*arguments: Any, **how: Any) -> Result:
        if how["series"]:
            raise varicap.ScenarioError("not with series")
        done: Result = whole(*arguments, **how)
        return done

    networks.write_traces(tmp_path)
    scenario, _ = networks.scenario(random.Random(3))
    assert invariants.check(random.Random(1), scenario, str(tmp_path))
    monkeypatch.setattr(varicap, "run", refusing)
    with pytest.raises(varicap.ScenarioError, match="not with series"):
        invariants.check(random.Random(1), scenario, str(tmp_path))


def names(definition: str) -> set[str]:
    """The names of the parts that the schema knows by a definition."""
    found: set[str] = set()
    known = grammar.SCHEMA["$defs"][definition]
    forms = [*known.get("anyOf", ()), *known.get("oneOf", ())]
    for form in [*forms, *(inner for outer in forms for inner in outer.get("oneOf", ()))]:
        found |= {*form.get("enum", ()), *form.get("properties", ())} | ({form["const"]} if "const" in form else set())
    return found


@pytest.mark.parametrize("definition", networks.PARTS)
def test_runs_know_every_part(definition: str) -> None:
    """A new part is drawn by `networks`, or it is listed there with the reason why not."""
    assert names(definition) - set(networks.ELSEWHERE) == networks.PARTS[definition]


def test_nearly_every_scenario_is_valid_and_every_part_is_drawn(tmp_path: Path) -> None:
    networks.write_traces(tmp_path)
    valid, drawn = 0, set()
    for seed in range(400):
        scenario, chosen = networks.scenario(random.Random(seed))
        try:
            _core.Scenario.from_json(json.dumps(scenario), "scenario", str(tmp_path), [])
        except varicap.ScenarioError:
            continue
        valid += 1
        drawn |= set(chosen.values())
    assert valid > 300
    assert set().union(*networks.PARTS.values()) <= drawn


def test_runs_draw_switches_that_are_no_parts() -> None:
    drawn: dict[str, set[object]] = {}
    for seed in range(200):
        scenario, _ = networks.scenario(random.Random(seed))
        for tcp in (flow["tcp"] for flow in scenario["flows"].values() if "tcp" in flow):
            found = {key: tcp[key] for key in ("pacing_credit", "handshake_ack")}
            for part, name in (("ack", "delayed"), ("congestion", "prague"), ("congestion", "cubic")):
                if isinstance(tcp[part], dict):
                    found |= tcp[part].get(name, {})
            for key, value in found.items():
                drawn.setdefault(key, set()).add(value)
    switches = ("pacing_credit", "handshake_ack", "autotuning", "pushed_at_once", "classic_fallback")
    assert all(drawn[switch] == {False, True} for switch in switches), drawn
    assert (drawn["arithmetic"], drawn["hertz"]) == ({"rfc9438", "linux"}, {1, 100, 250, 1000})


def test_results_that_differ_are_noticed(result: Result) -> None:
    invariants.same(result, result, "again")
    with pytest.raises(AssertionError, match="links differ"):
        invariants.same(result, changed(result, "utilisation", 0.5), "again")


@pytest.mark.parametrize("kind", ["schema", "toml", "traces"])
def test_a_trial_follows_from_its_seed(kind: str, tmp_path: Path) -> None:
    inputs = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        cases.KINDS[kind](random.Random(5), folder)
        inputs.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert inputs[0] == inputs[1] != {}


def of(file: Path) -> str:
    """What a file of a process says; nothing if the process has ended, or is another user's."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        ("raise ValueError('broken')", "ValueError: broken"),
        ("import os; os.abort()", "the process ended with -6"),
        ("while True: pass", "it has not ended after 3 s of work"),
        (
            "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'], timeout=600)",
            "it has not ended after 3 s of work",
        ),
        ("import time; time.sleep(4)", "toml: 1 trials from seed 7, 0 failed"),
    ],
)
def test_what_breaks_a_worker_is_reported_with_its_command(breaks: str, says: str, tmp_path: Path) -> None:
    driver = ROOT / "tools" / "fuzz" / "__main__.py"
    broken = tmp_path / "fuzz" / "__main__.py"
    broken.parent.mkdir()
    text = driver.read_text(encoding="utf-8").replace("parents[1]", f"parents[0] / {str(ROOT / 'tools')!r}")
    text = text.replace("HANG_S = 60.0", "HANG_S = 3.0")
    broken.write_text(text.replace("trials[kind](", f"exec({breaks!r}) or trials[kind]("), encoding="utf-8")
    command = [
        sys.executable,
        str(broken),
        "--kind",
        "toml",
        "--seed",
        "7",
        "--count",
        "1",
        "--keep",
        str(tmp_path / "kept"),
    ]
    mark = f"VARICAP_TRIAL={tmp_path}"
    environment = {**os.environ, "VARICAP_TRIAL": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert says in done.stdout, done.stdout
    assert not [file for file in Path("/proc").glob("[0-9]*/environ") if mark in of(file)], "a process is left"
    assert done.returncode == ("1 failed" in done.stdout)
    assert ("--kind toml --seed 7 --count 1" in done.stdout) == done.returncode


def test_commands_are_tried_and_one_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn = [commands.arguments(random.Random(seed), "t.csv") for seed in range(200)]
    begun = {tuple(words[:2]) for words in drawn}
    assert begun >= {("trace", "fit"), ("trace", "info"), ("trace", "convert"), ("design", "scenario.toml")}
    assert {words[0] for words in drawn} == {"trace", "design", "check", "run", "compare"}
    monkeypatch.setattr(cases, "command_line", lambda _: 1)
    seed = next(seed for seed in range(200) if drawn[seed][0] != "design")
    monkeypatch.setattr(commands, "arguments", lambda *_: drawn[seed])
    with pytest.raises(AssertionError, match="exit code 1"):
        cases.commands(random.Random(1), tmp_path)


def test_commands_on_what_a_run_leaves_are_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn = {commands.on_results(random.Random(seed), "results")[0] for seed in range(50)}
    assert drawn == {"report", "plot", "export", "table", "replay"}
    whole, tried = cases.command_line, []

    def breaking(words: list[str]) -> int:
        tried.append(words[0])
        return whole(words) if words[0] == "run" else 1

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(commands, "CAPACITIES", ['"1 Mb/s"'])
    commands.write_scenario(random.Random(1), tmp_path, lambda text: text)
    monkeypatch.setattr(cases, "command_line", breaking)
    with pytest.raises(AssertionError, match="exit code 1"):
        cases._on_results(random.Random(1))
    assert (len(tried), tried[0]) == (2, "run")


@pytest.mark.parametrize("name", ["victim", "parts/page.html"])
def test_a_file_outside_a_folder_that_changes_is_noticed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    for saved in ("saved-study", "saved-run"):
        (tmp_path / saved).mkdir()
        (tmp_path / saved / "manifest.json").write_text("{}")

    def harmless(_arguments: list[str]) -> int:
        return 0

    def writes(_arguments: list[str]) -> int:
        (folder / "outside" / name).write_text("something else")
        return 0

    monkeypatch.setattr(cases, "command_line", writes)
    with pytest.raises(AssertionError, match="outside the folder"):
        strangers.links(random.Random(1), folder)
    shutil.rmtree(folder)
    folder.mkdir()
    monkeypatch.setattr(cases, "command_line", harmless)
    strangers.links(random.Random(1), folder)


def test_a_trial_that_takes_much_memory_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strangers, "MOST_MB", 50.0)
    with strangers.within_memory():
        pass
    with pytest.raises(AssertionError, match="it took"), strangers.within_memory():
        bytearray(b"x") * 400_000_000
