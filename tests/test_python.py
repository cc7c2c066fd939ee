"""The package as a library."""

import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import typer
import typer.core
from conftest import Cli

import varicap
from varicap import _core, engines
from varicap.cli import GROUPS
from varicap.cli import program as cli_program
from varicap.report.notebook import html
from varicap.report.table import rows


@pytest.mark.parametrize("module", ["varicap.cli", "varicap.engines.kernel_worker"])
def test_nothing_heavy_is_loaded_before_it_is_known_what_to_do(module: str) -> None:
    """Then `varicap --help` is quick on any machine, and the process of the kernel engine has a single thread."""
    heavy = ("numpy", "pyarrow", "scipy", "matplotlib", "pandas", "gymnasium", "varicap.scenario")
    script = f"import sys, {module}; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_package_itself_loads_next_to_nothing() -> None:
    heavy = ("importlib.abc", "importlib.resources", "tempfile", "inspect", "urllib.parse", "asyncio", "typer", "rich")
    script = f"import sys, varicap; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (
            ["--help"],
            {"numpy", "pyarrow", "scipy", "matplotlib", "distributed", "varicap.engines.model", "http.server", "rich"},
        ),
        (["--version"], {"numpy", "pyarrow", "scipy", "matplotlib", "rich"}),
        (
            ["run", "--help"],
            {"numpy", "pyarrow", "scipy", "matplotlib", "varicap.cli.trace", "varicap.design", "rich"},
        ),
        (
            ["run", "FIXED", "--no-plot", "--seeds", "2", "--set", "duration='11 s'"],
            {"scipy", "matplotlib", "pandas", "distributed", "varicap.engines.model", "varicap.design"}
            | {"varicap.papers", "varicap.study", "varicap.traces", "varicap.cli.sweep", "varicap.report.web"}
            | {"varicap.tcp", "varicap.dialogue", "pyarrow.compute", "dateutil", "numpy.ma"},
        ),
        (["run", "FIXED", "--engine", "model"], {"numpy", "pyarrow", "scipy", "varicap.results.result"}),
    ],
)
def test_a_command_loads_only_what_it_needs(
    cli: Cli, fixed: Path, arguments: list[str], unneeded: set[str], tmp_path: Path
) -> None:
    """What a run costs beyond its simulation is mostly imports."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys\natexit.register(lambda: print(*sys.modules, file=open('loaded', 'w')))\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = cli(*(fixed if each == "FIXED" else each for each in arguments), env={"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    loaded = set((tmp_path / "loaded").read_text().split())
    assert "varicap.cli" in loaded
    assert loaded & unneeded == set()


def test_each_command_is_in_the_module_where_it_is_looked_for() -> None:
    for group, names in GROUPS.items():
        module = import_module(f"varicap.cli.{group}")
        found = [command.name or command.callback.__name__ for command in module.commands.registered_commands]
        found += [inner.name for inner in module.commands.registered_groups]
        assert set(names) == {name.replace("_", "-") for name in found}, group
    modules = {file.stem for file in (Path(varicap.__file__).parent / "cli").glob("[!_]*")}
    assert modules == set(GROUPS)


def test_the_list_of_commands_says_what_each_of_them_says(cli: Cli) -> None:
    words = cli("--help").stdout.split()
    commands = typer.main.get_command(cli_program()).commands  # type: ignore[attr-defined]
    assert list(commands) == [name for names in GROUPS.values() for name in names]
    for name, command in commands.items():
        said = (command.help or "").partition("\n\n")[0].split()
        assert f" {' '.join([name, *said])} " in f" {' '.join(words)} ", name


def test_completion_knows_the_commands_and_their_options() -> None:
    words = {"_VARICAP_COMPLETE": "complete_bash", "COMP_WORDS": "varicap run --max", "COMP_CWORD": "2"}
    script = "import sys; sys.argv = ['varicap']; from varicap.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | words, capture_output=True, text=True, check=False
    )
    assert {"--max-seeds", "--max-memory", "--max-time"} <= set(done.stdout.split()), done


def test_what_a_run_may_be_asked_is_what_its_engines_take(fixed: Path) -> None:
    taken = {
        name
        for engine in ("sim", "kernel")
        for name, each in inspect.signature(import_module(f"varicap.engines.{engine}").run).parameters.items()
        if each.kind is each.KEYWORD_ONLY
    }
    assert engines.RunOptions.__annotations__.keys() == taken
    for engine in engines.ENGINES:
        with pytest.raises(TypeError, match="seedz"):
            varicap.run(fixed, engine=engine, seedz=3)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="`clock` is for engine='kernel'"):
        varicap.run(fixed, clock="real")


def test_every_public_name_exists() -> None:
    for name in dir(varicap):
        assert getattr(varicap, name) is not None
    with pytest.raises(AttributeError, match="fly"):
        varicap.fly  # type: ignore[attr-defined]  # noqa: B018


def test_the_stub_names_what_the_module_has() -> None:
    stub = (Path(varicap.__file__).parent / "_core.pyi").read_text(encoding="utf-8")
    public = {name for name in dir(_core) if not name.startswith("_")}
    named = {name for name in public if re.search(rf"^(class|def) {name}\b|^{name}: ", stub, re.MULTILINE)}
    missing = public - named
    assert missing == set()


def test_tables_have_units_and_go_to_arrow(fixed: Path) -> None:
    result = varicap.run(fixed, seeds=2, overrides={"duration": "20 s"}, series=True)
    for table in result.tables().values():
        assert isinstance(table, pa.Table)
        assert all(field.metadata[b"description"] for field in table.schema)
    assert result.flows.schema.field("rtt_p95_ms").metadata[b"unit"] == b"ms"
    assert result.flows["replication"].to_pylist() == [0, 1]
    series = result.flow_series
    assert series.num_rows == 2 * 200, "20 s of both runs, each 100 ms"
    assert set(series["replication"].to_pylist()) == {0, 1}


def test_saving_builds_each_table_once(fixed: Path, tmp_path: Path) -> None:
    found = varicap.run(fixed, seeds=2, overrides={"duration": "15 s"})
    built: list[str] = []

    class Counted:
        """Results that note which tables are asked for."""

        def __getattr__(self, name: str) -> object:
            if name in ("flows", "groups", "links"):
                built.append(name)
            return getattr(found.data, name)

    replace(found, data=cast(Any, Counted())).save(tmp_path)
    assert sorted(built) == ["flows", "groups", "links"]


def test_series_agree_with_the_summary(fixed: Path) -> None:
    result = varicap.run(fixed, seeds=1, overrides={"duration": "20 s", "warmup": "0 s"}, series=True)
    mean = sum(result.flow_series["goodput_bps"].to_pylist()) / result.flow_series.num_rows
    assert mean == pytest.approx(result.flows["goodput_bps"][0].as_py(), rel=1e-9)
    forward = [row for row in result.link_series.to_pylist() if row["link"] == "forward"]
    assert max(row["backlog_packets"] for row in forward) <= 10


def test_without_series_a_figure_says_what_is_missing(fixed: Path) -> None:
    result = varicap.run(fixed, seeds=1, overrides={"duration": "20 s"})
    with pytest.raises(ValueError, match="series=True"):
        result.figure()


def test_overrides_are_text(fixed: Path) -> None:
    wrong: Any = {"seeds": 3}
    with pytest.raises(varicap.ScenarioError, match="seeds: found `3`, expected text"):
        varicap.run(fixed, overrides=wrong)


def test_overrides_apply_to_a_loaded_scenario(fixed: Path) -> None:
    loaded = varicap.load(fixed)
    shorter = varicap.load(loaded, {"duration": "20 s"})
    assert json.loads(loaded.to_json())["duration"] == "60 s"
    assert json.loads(shorter.to_json())["duration"] == "20 s"


def test_replications_do_not_depend_on_how_they_were_batched(fixed: Path) -> None:
    scenario = varicap.load(fixed, {"duration": "20 s"})
    together = _core.run(scenario, seed=1, first=0, count=3)
    apart = _core.run(scenario, seed=1, first=0, count=1)
    apart.extend(_core.run(scenario, seed=1, first=1, count=2))
    assert together.summary() == apart.summary()


def test_an_exception_in_the_progress_callback_ends_the_run(fixed: Path) -> None:
    def stop(share: float, done: int, total: int) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        varicap.run(fixed, seeds=50, overrides={"duration": "20000 s"}, progress=stop)


def test_progress_ends_at_the_whole(fixed: Path) -> None:
    told: list[tuple[float, int, int]] = []
    varicap.run(fixed, seeds=4, overrides={"duration": "20 s"}, progress=lambda *report: told.append(report))
    assert told[-1] == (1.0, 4, 4)
    assert [share for share, _, _ in told] == sorted(share for share, _, _ in told)


def test_a_scenario_error_tells_where_and_what(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("duration = 50\n[topology.dumbbell]\nforward = {}\n[flows.a]\n", encoding="utf-8")
    with pytest.raises(varicap.ScenarioError) as caught:
        varicap.load(file)
    error = caught.value
    assert (error.file, error.line, error.key, error.found) == (str(file), 1, "duration", "50")
    assert "length of time" in str(error.expected)


@pytest.mark.parametrize("seeds", [0, -3])
def test_a_scenario_runs_at_least_once(fixed: Path, seeds: int) -> None:
    with pytest.raises(ValueError, match="at least once"):
        varicap.run(fixed, seeds=seeds)


def test_the_html_of_a_result_is_escaped(fixed: Path) -> None:
    summary = varicap.run(fixed, seeds=1, overrides={"duration": "20 s"}).summary
    summary["scenario"]["name"] = "<script>"
    assert "&lt;script&gt;" in html(summary)


def test_a_large_group_takes_one_line_of_the_table(fixed: Path) -> None:
    crowd = {"duration": "20 s", "flows.reno.count": "20"}
    (_, lines), _ = rows(varicap.run(fixed, seeds=1, overrides=crowd).summary)
    assert [line[0] for line in lines] == ["reno (20 flows)"]
    few = {"duration": "20 s", "flows.reno.count": "2"}
    (_, lines), _ = rows(varicap.run(fixed, seeds=1, overrides=few).summary)
    assert [line[0] for line in lines] == ["reno.0", "reno.1"]


def test_what_is_not_a_file_is_not_read() -> None:
    with pytest.raises(varicap.ScenarioError, match="not a file"):
        varicap.load("/")


def test_packets_come_in_order_of_time_with_names(fixed: Path) -> None:
    result = varicap.run(fixed, seeds=2, overrides={"duration": "11 s"}, packets=True)
    packets = result.packets
    for replication in (0, 1):
        times = packets.filter(pc.equal(packets["replication"], replication))["time_ns"].to_pylist()
        assert times == sorted(times)
        assert len(times) > 1000
    assert set(packets["link"].to_pylist()) == {"forward", "reverse"}
    counts = {item["values"]: item["counts"] for item in packets["event"].value_counts().to_pylist()}
    lost = counts.get("overflow", 0)
    assert 0 <= counts["arrival"] - counts["departure"] - lost <= 2 * 12, "what is missing is inside"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_go_straight_to_other_libraries(library: str, tmp_path: Path) -> None:
    frames = pytest.importorskip(library, minversion={"pandas": "3.0", "polars": "1.0"}[library])
    result = varicap.run("examples/fixed.toml", seeds=2, series=True, overrides={"duration": "20 s"})
    result.save(tmp_path)
    saved = varicap.read(tmp_path)
    assert isinstance(saved, varicap.SavedResult)
    make = frames.DataFrame.from_arrow if library == "pandas" else frames.DataFrame
    for table in (result.flows, result.flow_series, saved.flows, saved.link_series):
        frame = make(table)
        assert list(frame.columns) == table.column_names
        assert len(frame) == table.num_rows
    assert list(make(result.flows)["goodput_bps"]) == result.flows["goodput_bps"].to_pylist()
