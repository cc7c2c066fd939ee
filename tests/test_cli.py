"""The command line, as a program sees it: streams, exit codes, files."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Self, get_args

import pyarrow.parquet as pq
import pytest
import typer
from conftest import ROOT, Cli, heed
from patience import HANG_S
from typer.testing import CliRunner

from varicap.cli import app
from varicap.machine import instructions
from varicap.machine.bench import STANDARD, Workload
from varicap.scenario import DelayedAck, Flow

pytestmark = pytest.mark.slow

QUICK = ("--seeds", 2, "--set", "duration=20 s", "--no-plot")


def summary(cli: Cli, *arguments: object) -> dict[str, Any]:
    done = cli("run", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_json_is_one_object_of_the_published_shape(cli: Cli, fixed: Path) -> None:
    result = summary(cli, fixed, *QUICK)
    assert result["schema_version"] == 1
    assert result["engine"] == "sim"
    assert result["runs"] == 2
    assert (result["simulated_s"], result["measured_s"]) == (20.0, 10.0)
    (flow,) = result["flows"]
    assert flow["name"] == "reno"
    assert set(flow["goodput_bps"]) >= {"mean", "lo", "hi"}
    assert 0.5e6 < flow["goodput_bps"]["mean"] < 0.8e6
    assert set(flow["rtt_ms"]) >= {"mean", "p50", "p95", "p99"}
    for key in (
        "sent_packets",
        "retransmitted_packets",
        "timeouts",
        "fast_retransmits",
        "throughput_bps",
        "cwnd_packets",
    ):
        assert key in flow
    forward = next(link for link in result["links"] if link["name"] == "forward")
    assert forward["capacity_bps"]["mean"] == 0.8e6
    assert 0.8 < forward["utilisation"]["mean"] <= 1.0
    for key in ("delivered_packets", "dropped_packets", "backlog_packets", "sojourn_ms"):
        assert key in forward


def test_a_table_goes_to_stdout_and_nothing_else(cli: Cli, fixed: Path) -> None:
    done = cli("run", fixed, *QUICK)
    assert done.returncode == 0
    assert "goodput [Mb/s]" in done.stdout
    assert "±" in done.stdout
    assert done.stderr.splitlines() == [
        "varicap: wrote varicap-out/fixed/manifest.json; varicap report varicap-out/fixed makes a page of it",
        'varicap: note: reno: without `jitter`, ties decide what a drop-tail queue loses; try `jitter = "1 ms"`',
    ]
    assert "\x1b" not in done.stdout


def test_a_plot_is_drawn_and_said(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    done = cli("run", fixed, "--seeds", 1, "--set", "duration=20 s")
    assert done.returncode == 0
    assert "plot.png" in done.stderr
    assert (tmp_path / "varicap-out/fixed/plot.png").read_bytes().startswith(b"\x89PNG")


def test_quiet_says_nothing(cli: Cli, fixed: Path) -> None:
    assert cli("run", fixed, "--seeds", 1, "--set", "duration=20 s", "-q").stderr == ""


def test_set_changes_a_value(cli: Cli, fixed: Path) -> None:
    slower = summary(cli, fixed, *QUICK, "--set", "topology.dumbbell.forward.capacity=0.4 Mbit/s")
    forward = next(link for link in slower["links"] if link["name"] == "forward")
    assert forward["capacity_bps"]["mean"] == 0.4e6


def test_explain_shows_defaults_and_runs_nothing(cli: Cli, fixed: Path) -> None:
    done = cli("run", fixed, "--explain")
    assert done.returncode == 0
    lines = dict(line.split(None, 1) for line in done.stdout.splitlines() if line.strip())
    assert "# default" in lines["topology.dumbbell.forward.service"]
    assert "# default" not in lines["duration"]
    assert "flows.reno.tcp.timer.linux.minimum" in lines, "the least RTO is always visible"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["run", "nowhere.toml"], 2, "nowhere.toml"),
        (["run"], 2, "FILE"),
        (["fly"], 2, "fly"),
        (["run", "FIXED", "--seeds", "0"], 2, "seeds"),
        (["run", "FIXED", "--set", "duration"], 2, "PATH=VALUE"),
        (["run", "FIXED", "--set", "duration=50"], 2, "duration"),
        (["run", "FIXED", "--set", "dura=50 s"], 2, "dura"),
        (["run", "FIXED", "--precision", "nice"], 2, "precision"),
        (["run", "FIXED", "--engine", "model", "--set", "flows.reno.tcp.congestion='cubic'"], 2, "no model fits"),
        (["run", "FIXED", "--max-time", "1 ns"], 2, "time"),
        (["replay", "nowhere.json"], 2, "nowhere.json"),
    ],
)
def test_a_mistake_has_its_exit_code_and_one_message(
    cli: Cli, fixed: Path, arguments: list[str], code: int, says: str
) -> None:
    done = cli(*[fixed if argument == "FIXED" else argument for argument in arguments])
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_wrong_file_is_reported_with_line_key_and_expectation(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    text = fixed.read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(text.replace('delay = "50 ms"', 'delay = "50"', 1), encoding="utf-8")
    line = 1 + text[: text.index('delay = "50 ms"')].count("\n")
    done = cli("run", wrong)
    assert done.returncode == 2
    for part in (f"wrong.toml:{line}", "forward.delay", "50", "a length of time with its unit"):
        assert part in done.stderr


def test_a_file_that_is_not_text_is_a_scenario_error(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "image.toml").write_bytes(b"\xff\xfe\x00\x01")
    done = cli("run", "image.toml")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("check - <&-", "-: standard input is closed"),
        (r"check $'\xff.toml'", r"\xff.toml: there is no such file"),
        (r"check $'\xfe.toml'", r"\xfe.toml:1"),
        ("run fixed.toml --seed 99999999999999999999999", "--seed"),
        ("run fixed.toml --seeds 99999999999999999999999", "--seeds"),
        ("trace generate lte --duration '1 s' -o a.csv --seed 99999999999999999999999", "--seed"),
    ],
)
def test_what_no_file_and_no_number_can_be_is_a_mistake_of_the_user(
    command: str, says: str, fixed: Path, tmp_path: Path
) -> None:
    (tmp_path / "fixed.toml").write_bytes(fixed.read_bytes())
    (tmp_path / os.fsdecode(b"\xfe.toml")).write_text("duration = 5\n")
    program = f"{sys.executable} -m varicap {command}"
    done = subprocess.run(["bash", "-c", program], cwd=tmp_path, capture_output=True, timeout=HANG_S)
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert says in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "--help"], 0),
        (["run", "fixed.toml", "--engine", "model"], 0),
        (["run", "fixed.toml", *QUICK, "--json"], 0),
        (["check", "-"], 2),
        (["design", "effcap", "--delay", "banana"], 2),
    ],
)
def test_commands_of_these_tests_do_what_those_of_a_new_interpreter_do(
    cli: Cli, cold_cli: Cli, fixed: Path, tmp_path: Path, arguments: list[object], code: int
) -> None:
    (tmp_path / "fixed.toml").write_bytes(fixed.read_bytes())
    warm, cold = cli(*arguments), cold_cli(*arguments)
    assert (warm.returncode, cold.returncode) == (code, code)
    assert warm.stderr == cold.stderr
    if "--json" not in arguments:
        assert warm.stdout == cold.stdout
    else:
        assert json.loads(warm.stdout)["flows"] == json.loads(cold.stdout)["flows"]


def test_the_largest_seed_is_a_seed(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    assert cli("run", fixed, *QUICK, "--json", "--seed", 2**64 - 1).returncode == 0
    trace = ("trace", "generate", "lte", "--duration", "1 s", "-o", tmp_path / "a.csv", "--seed", 2**64 - 1)
    assert cli(*trace).returncode == 0


def test_every_number_of_a_command_has_bounds() -> None:
    def callbacks(program: typer.Typer) -> Iterator[Any]:
        yield from (each.callback for each in program.registered_commands)
        for group in program.registered_groups:
            if group.typer_instance:
                yield from callbacks(group.typer_instance)

    numbers = {}
    for function in callbacks(app):
        for parameter in signature(function, eval_str=True).parameters.values():
            kind, *notes = get_args(parameter.annotation) or [parameter.annotation]
            if int in (kind, *get_args(kind)):
                numbers[f"{function.__name__} {parameter.name}"] = notes[0].max
    assert len(numbers) > 15
    assert [name for name, most in numbers.items() if most is None] == []


def test_the_same_seed_gives_the_same_bytes_whatever_the_cores(cli: Cli, fixed: Path) -> None:
    one = cli("run", fixed, *QUICK, "--json", "-j", 1)
    two = cli("run", fixed, *QUICK, "--json", "-j", 2)
    other = cli("run", fixed, *QUICK, "--json", "--seed", 99)
    assert one.stdout == two.stdout
    assert one.stdout != other.stdout


def test_tables_carry_units_and_a_manifest(cli: Cli, lte: Path, tmp_path: Path) -> None:
    done = cli("run", lte, *QUICK, "--series", "-o", "out")
    assert done.returncode == 0, done.stderr
    flows = pq.read_table(tmp_path / "out/flows.parquet")
    assert flows.num_rows == 2 * 4
    assert flows.schema.field("goodput_bps").metadata[b"unit"] == b"b/s"
    assert pq.read_table(tmp_path / "out/flow_series.parquet").num_rows > 2 * 4 * 100
    manifest = json.loads((tmp_path / "out/manifest.json").read_text(encoding="utf-8"))
    assert manifest["runs"] == 2
    assert manifest["scenario"]["tcp"]["mss"] == "1448 B"
    assert len(manifest["traces"]) == 2
    assert json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))["runs"] == 2


def test_recording_series_changes_no_result(cli: Cli, lte: Path) -> None:
    """Frames go into service at instants at which none arrives or departs."""
    quick = ("--seeds", 2, "--set", "duration=10 s", "--set", "warmup=1 s", "--set", "isolate=false", "-o", "out")
    assert summary(cli, lte, *quick, "--series")["links"] == summary(cli, lte, *quick)["links"]
    assert cli("run", lte, *quick, "--series").returncode == 0
    assert cli("replay", "out/manifest.json").returncode == 0


def test_replay_repeats_a_run_and_notices_a_difference(cli: Cli, lte: Path, tmp_path: Path) -> None:
    assert cli("run", lte, *QUICK, "--series", "-o", "out").returncode == 0
    (tmp_path / "out").rename(tmp_path / "moved")
    done = cli("replay", "moved/manifest.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("identical") == 4

    manifest = tmp_path / "moved/manifest.json"
    recorded = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps(recorded | {"seed": recorded["seed"] + 1}), encoding="utf-8")
    done = cli("replay", "moved/manifest.json", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["identical"] is False

    trace = next((tmp_path / "moved/traces").iterdir())
    trace.write_bytes(trace.read_bytes() + b"70000\n")
    done = cli("replay", "moved/manifest.json")
    assert done.returncode == 2
    assert "not the one that the run used" in done.stderr


def test_pcap_begins_as_pcapng(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    assert cli("run", fixed, *QUICK, "--pcap", "out.pcapng").returncode == 0
    block = (tmp_path / "out.pcapng").read_bytes()
    assert block.startswith(b"\x0a\x0d\x0d\x0a")
    assert len(block) > 10_000


def test_isolated_flows_have_a_capture_each(cli: Cli, lte: Path, tmp_path: Path) -> None:
    arguments = ("--seeds", 1, "--set", "duration=6 s", "--no-plot", "--pcap", "out.pcapng")
    assert cli("run", lte, *arguments).returncode == 0
    assert sorted(path.name for path in tmp_path.glob("*.pcapng")) == [
        f"out.{flow}.pcapng" for flow in ("cubic", "newreno", "reno", "sack")
    ]


def test_recording_without_a_folder_writes_into_the_default_one(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    assert cli("run", fixed, *QUICK, "--packets").returncode == 0
    assert {path.name for path in (tmp_path / "varicap-out/fixed").iterdir()} == {
        "flows.parquet",
        "links.parquet",
        "packets.parquet",
        "manifest.json",
        "summary.json",
    }


def test_a_run_keeps_its_tables_and_what_was_there_before(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    assert cli("run", fixed, *QUICK).returncode == 0
    page = cli("report", "varicap-out/fixed")
    assert page.returncode == 0, page.stderr
    (tmp_path / "varicap-out/fixed/notes").write_text("mine")
    again = cli("run", fixed, *QUICK)
    assert "now in" not in again.stderr, "the same results"
    other = cli("run", fixed, *QUICK, "--seed", 7)
    assert "other results that were in varicap-out/fixed are now in varicap-out/fixed-1" in other.stderr
    assert (tmp_path / "varicap-out/fixed-1/notes").read_text() == "mine"
    assert cli("replay", "varicap-out/fixed-1/manifest.json").returncode == 0
    assert cli("run", fixed, *QUICK, "--series").returncode == 0
    assert cli("run", fixed, *QUICK).returncode == 0, "has no series"
    assert (tmp_path / "varicap-out/fixed-3/flow_series.parquet").is_file()


def test_a_folder_of_ones_own_is_written_again_and_that_is_said(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    assert cli("run", fixed, *QUICK, "-o", "out").stderr.count("in place of") == 0
    assert "in place of earlier results" in cli("run", fixed, *QUICK, "-o", "out", "--seed", 7).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_json_alone_keeps_nothing(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    assert cli("run", fixed, *QUICK, "--json").returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_precision_adds_runs_until_the_intervals_are_narrow(cli: Cli, fixed: Path) -> None:
    result = summary(
        cli,
        fixed,
        "--seeds",
        3,
        "--set",
        "duration=20 s",
        "--precision",
        "3%",
        "--set",
        "topology.dumbbell.forward.loss=1 %",
        "--max-seeds",
        400,
    )
    assert result["runs"] > 3
    goodput = result["flows"][0]["goodput_bps"]
    assert (goodput["hi"] - goodput["lo"]) / 2 <= 0.03 * goodput["mean"]


def test_version_schema_columns_and_doctor(cli: Cli) -> None:
    assert cli("--version").stdout.startswith("varicap 0.")
    assert json.loads(cli("schema").stdout)["type"] == "object"
    assert "goodput_bps" in cli("columns").stdout
    assert json.loads(cli("doctor", "--json").stdout)["engines"]["sim"] is True


def test_bench_measures_a_workload_of_ones_own(cold_cli: Cli) -> None:
    done = cold_cli(
        "bench",
        "--flows",
        2,
        "--rate",
        "10 Mbit/s",
        "--buffer",
        "20 packets",
        "--duration",
        "5 s",
        "--ack-every",
        1,
        "--json",
    )
    assert done.returncode == 0, done.stderr
    (workload,) = json.loads(done.stdout)["workloads"]
    assert (workload["flows"], workload["ack_every"]) == (2, 1)
    assert workload["rate_bps"] == 10e6
    assert 3000 < workload["delivered_packets"] < 4200
    assert workload["ns_per_packet"] > 0
    assert workload["simulated_s_per_cpu_s"] == pytest.approx(5 / workload["cpu_s"])
    assert 5 < workload["peak_mb"] < 500
    counted = workload["instructions_per_packet"]
    assert (counted is None) == (shutil.which("valgrind") is None)
    assert counted is None or 300 < counted < 10_000


def test_a_quick_bench_measures_short_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    # Counting takes longer than all that is measured, and is tested on less.
    monkeypatch.setattr(instructions, "per_packet", lambda workloads: [1000.0 + each.flows for each in workloads])
    done = CliRunner().invoke(app, ["bench", "--quick", "--json"])
    assert done.exit_code == 0, done.stderr
    workloads = json.loads(done.stdout)["workloads"]
    assert [workload["flows"] for workload in workloads] == [1, 10, 100]
    assert all(40_000 < workload["delivered_packets"] < 50_001 for workload in workloads), "6 s at 100 Mb/s"
    assert [workload["instructions_per_packet"] for workload in workloads] == [1001, 1010, 1100]
    assert CliRunner().invoke(app, ["bench", "--quick", "--flows", "2"]).exit_code == 2


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_instructions_are_counted_where_that_takes_seconds() -> None:
    short = Workload("short", 1, "10 Mbit/s", duration="9 s")
    counted, too_long, again = instructions.per_packet([short, replace(short, rate="10 Gbit/s"), short])
    assert counted is not None
    assert 300 < counted < 10_000
    assert too_long is None
    # The same runs, in processes of their own, take as many.
    assert again == pytest.approx(counted, rel=0.01)


def test_without_valgrind_instructions_are_not_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    workload = Workload("short", 1, "10 Mbit/s", duration="3 s")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert instructions.per_packet([workload]) == [None]
    broken = tmp_path / "valgrind"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert instructions.per_packet([workload]) == [None]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--environments", 3, "--quick"), "--quick: is for the standard workloads, not for --environments"),
        (("--timers", "--quick"), "--quick: is for the standard workloads, not for --timers"),
        (("--flows", 2, "--quick"), "--quick: is for the standard workloads; a workload of your own has --duration"),
        (("--timers", "--flows", 2), "--flows and --timers: each measures something else: one at a time"),
        (("--timers", "--environments", 3), "--timers and --environments: each measures"),
    ],
)
def test_a_bench_measures_one_thing(cli: Cli, options: tuple[object, ...], says: str) -> None:
    done = cli("bench", *options)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.replace("│", " ").split())


def test_a_bench_of_environments_counts_the_packets_of_a_step(cli: Cli) -> None:
    done = cli("bench", "--environments", 3, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["environments"]
    assert {row["environments"] for row in rows} == {3}
    assert all(row["steps_per_s"] > 0 and row["cpu_ns_per_step"] > 0 for row in rows)
    alone = {row["rate"]: row["packets_per_step"] for row in rows if row["threads"] == 1}
    # 10 ms at 20 Mb/s are 16.7 packets of 1500 bytes; the agent keeps the link busy.
    assert 14 < alone["20 Mbit/s"] < 17
    assert alone == {row["rate"]: row["packets_per_step"] for row in rows if row["threads"] == 0}
    assert cli("bench", "--environments", 0).returncode == 2


def test_a_bench_has_each_workload_at_both_policies_of_acknowledgements() -> None:
    policies = [(workload.name, workload.ack_every) for workload in STANDARD]
    for name in ("one", "ten", "hundred", "fast"):
        assert {(name, 1), (name, 2)} <= set(policies)
    flows = {workload.ack_every: workload.scenario().flows["bulk"] for workload in STANDARD if workload.name == "ten"}
    given = {packets: flow.tcp.ack for packets, flow in flows.items() if isinstance(flow, Flow) and flow.tcp}
    assert given == {1: "every", 2: DelayedAck(segments=2)}


@pytest.mark.skipif(sys.platform == "win32", reason="no pty")
def test_ctrl_c_ends_a_run_long_before_its_end(fixed: Path, tmp_path: Path) -> None:
    """Some hundred years of simulated time are not to be waited for, on any machine."""
    arguments = (fixed, "--set", "duration=10000000 s", "--seeds", 100, "--no-plot", "--max-time", "1000000 h")
    with Terminal(tmp_path, *arguments) as terminal:
        # Its progress is shown, so the runs are under way.
        terminal.read_until("0/100 runs")
        terminal.process.send_signal(signal.SIGINT)
        shown = terminal.read_to_the_end()
        assert terminal.process.wait(timeout=HANG_S) == 130
    assert "Traceback" not in shown
    assert "1/100 runs" not in shown


@pytest.mark.skipif(sys.platform == "win32", reason="no pty")
def test_progress_appears_on_a_terminal_only_and_without_colour_if_asked(fixed: Path, tmp_path: Path) -> None:
    shown = on_terminal(fixed, tmp_path, {})
    assert "runs" in shown
    assert "\x1b[" in shown
    plain = on_terminal(fixed, tmp_path, {"NO_COLOR": "1"})
    assert "\x1b[3" not in plain, "colours are set by escape sequences of the thirties"


class Terminal:
    """`varicap run` with a terminal for its stderr."""

    def __init__(self, folder: Path, *arguments: object, env: dict[str, str] | None = None) -> None:
        import pty

        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "varicap", "run", *map(str, arguments)],
            cwd=folder,
            env={**os.environ, "TERM": "xterm", **(env or {})},
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            preexec_fn=heed,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def read_until(self, text: str) -> str:
        shown = ""
        while text not in shown and (part := self._read()):
            shown += part
        assert text in shown, shown
        return shown

    def read_to_the_end(self) -> str:
        return "".join(iter(self._read, ""))

    def _read(self) -> str:
        try:
            return os.read(self._ours, 4096).decode(errors="replace")
        except OSError:  # how a pty says that the other end is closed
            return ""


def on_terminal(scenario: Path, folder: Path, env: dict[str, str]) -> str:
    """What a run writes to stderr when that is a terminal."""
    with Terminal(folder, scenario, "--set", "duration=2000 s", "--seeds", 8, "--no-plot", env=env) as terminal:
        shown = terminal.read_to_the_end()
        assert terminal.process.wait(timeout=HANG_S) == 0
    return shown


@pytest.mark.parametrize("name", ["Verizon-LTE-short"])
def test_the_main_job_runs_on_a_recorded_trace(cli: Cli, lte: Path, name: str) -> None:
    folder = ROOT.parent / "shared" / "traces"
    if not (folder / f"{name}.down").exists():
        pytest.skip(f"no recorded traces in {folder}")
    capacity = "topology.dumbbell.{}.capacity.opportunities.file={}"
    result = summary(
        cli,
        lte,
        "--seeds",
        2,
        "--set",
        capacity.format("forward", folder / f"{name}.down"),
        "--set",
        capacity.format("reverse", folder / f"{name}.up"),
    )
    assert [flow["name"] for flow in result["flows"]] == ["reno", "newreno", "sack", "cubic"]
    for flow in result["flows"]:
        assert 1e6 < flow["goodput_bps"]["mean"] < 6e6


def test_a_link_that_is_down_has_its_line(cli: Cli, fixed: Path) -> None:
    done = cli("run", fixed, *QUICK, "--set", "topology.dumbbell.forward.capacity=0 bit/s")
    assert [line for line in done.stdout.splitlines() if line.startswith("│ forward")], done.stdout


def test_transfers_have_a_table_of_their_times(cli: Cli, fixed: Path) -> None:
    transfer = 'flows.reno.app={ transfer = { size = "20 kB" } }'
    done = cli("run", fixed, *QUICK, "--set", "warmup=0 s", "--set", transfer)
    assert "completion mean [ms]" in done.stdout
    assert "completion mean [ms]" not in cli("run", fixed, *QUICK).stdout


def test_reservations_and_arq_have_tables_of_what_they_brought(cli: Cli, fixed: Path) -> None:
    plain = cli("run", fixed, *QUICK).stdout
    assert "compliant [Mb/s]" not in plain
    assert "sent again" not in plain
    reserved = cli("run", fixed, *QUICK, "--set", 'flows.reno.reservation={ rate = "0.2 Mbit/s", bucket = "100 ms" }')
    assert "compliant [Mb/s]" in reserved.stdout, reserved.stderr
    again = cli("run", fixed, *QUICK, "--set", "topology.dumbbell.forward.arq={}")
    assert "sent again" in again.stdout, again.stderr


def test_the_model_engine_prints_what_the_simulator_prints_and_compare_both(
    cli: Cli, fixed: Path, tmp_path: Path
) -> None:
    answered = json.loads(cli("run", fixed, "--engine", "model", "--json").stdout)
    assert answered["engine"] == "model"
    assert answered["flows"][0]["goodput_bps"]["mean"] == pytest.approx(698e3, rel=0.01)
    done = cli("compare", fixed, "--seeds", "2", "--json", "--engine", "sim", "--engine", "model")
    assert done.returncode == 0, done.stderr
    compared = json.loads(done.stdout)
    assert [answer["engine"] for answer in compared["engines"]] == ["sim", "model"]
    assert abs(compared["differences"][0]["difference_percent"]["model"]) < 2
    drawn = cli("compare", fixed, "--seeds", "2", "--engine", "sim", "-o", tmp_path)
    assert "windows.png" in drawn.stderr
    assert "goodput [Mb/s]" in drawn.stdout
