"""The kernel engine: Linux's own TCP over the simulator's links.

In simulated time where a kernel was built for it; else in real time, as some are anyway: each keeps its bound whatever
the machine does, and where it was too busy for a valid run it skips, and says so.
"""

import ctypes
import json
import os
import platform
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow.compute as pc
import pytest
from conftest import EXAMPLES, Cli, heed
from patience import HANG_S, until
from real_time import Summary, valid

import varicap
from varicap import kernels
from varicap.engines import kernel
from varicap.errors import NotApplicableError
from varicap.machine import doctor

if sys.platform != "linux":
    pytest.skip("the kernel engine needs Linux", allow_module_level=True)

_CHECKS = doctor.checks()
_LACKS = [check for check in _CHECKS if check.is_needed and not check.ok]
Test = TypeVar("Test", bound=Callable[..., Any])

IN_GUESTS = bool(kernels.installed())


IN_REAL_TIME = (
    pytest.mark.real_time,
    pytest.mark.skipif(bool(_LACKS), reason=f"this machine lacks it: {[lack.says for lack in _LACKS]}"),
)
OF_EITHER_CLOCK = () if IN_GUESTS else IN_REAL_TIME


def in_real_time(test: Test) -> Test:
    """Mark a test of the kernel that runs here."""
    for mark in IN_REAL_TIME:
        test = mark(test)
    return test


def needs_kernel(test: Test) -> Test:
    """Mark a test of either clock."""
    return test if IN_GUESTS else in_real_time(test)


def _release(of: kernels.Kernel) -> tuple[int, ...]:
    return tuple(map(int, of.release.split("-")[0].split(".")))


NEWEST = max(kernels.installed(), key=_release, default=None)


def run(case: Any, *, clock: Literal["real"] | None = None, **options: Any) -> Any:
    """A run in simulated time where that is possible, in the kernel of the highest release: older ones differ."""
    name = NEWEST.name if NEWEST is not None and clock is None else None
    return kernel.run(case, seeds=1, clock=clock, kernel_name=name, **options)


_RATCP = next((check for check in _CHECKS if check.name == "ratcp in the kernel"), None)
_HAS_RATCP = NEWEST is not None and "ratcp" in NEWEST.controls
needs_ratcp = pytest.mark.skipif(
    not _HAS_RATCP and (_RATCP is None or not _RATCP.ok), reason=f"no ratcp: {_RATCP and _RATCP.says}"
)


def goodput(summary: Summary, flow: int = 0) -> float:
    return float(summary["flows"][flow]["goodput_bps"]["mean"])


def scenario(link: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    """One flow over `link`, 20 ms each way, every packet acknowledged: the standards, so that Linux is ``classic``."""
    forward = {"delay": "20 ms", "queue": {"drop-tail": {"limit": "20 packets"}}, **link}
    return {
        "duration": "8 s",
        "warmup": "1 s",
        "topology": {"dumbbell": {"forward": forward, "reverse": {"delay": "20 ms"}}},
        "tcp": {"stack": "rfc", "recovery": "newreno", "ack": "every", "timer": {"rfc6298": {"minimum": "0.2 s"}}},
        "flows": {"a": {}},
        **parts,
    }


@needs_kernel
def test_reno_is_the_simulators_reno_on_a_fixed_link(fixed: Path) -> None:
    overrides = {"duration": "13 s", "warmup": "5 s", "flows.reno.start_spread": "0 s"}
    simulated = varicap.run(fixed, seeds=1, overrides=overrides).summary
    real = valid(lambda: run(fixed, overrides=overrides, series=True).summary)
    assert real["engine"] == "kernel"
    assert goodput(real) == pytest.approx(goodput(simulated), rel=0.05)
    for end in ("min", "max"):
        assert real["flows"][0]["cwnd_packets"][end] == pytest.approx(
            simulated["flows"][0]["cwnd_packets"][end], abs=1.5
        )
    assert real["flows"][0]["rtt_ms"]["p95"] == pytest.approx(simulated["flows"][0]["rtt_ms"]["p95"], rel=0.05)
    assert real["fidelity"]["unintended_drops"] == 0


def fast(recovery: str) -> dict[str, Any]:
    """Slow start loses hundreds of packets at once: 100 Mb/s, and a window that doubles up to 28 ms too far."""
    link = {"capacity": "100 Mbit/s", "queue": {"drop-tail": {"limit": "1 bdp"}}}
    tcp = {"stack": "rfc", "recovery": recovery, "mss": "1448 B", "timestamps": True}
    return scenario(link, duration="5 s", tcp=tcp)


@needs_kernel
def test_a_burst_of_losses_without_sack_leaves_data_to_send_and_is_explained() -> None:
    summary = valid(lambda: run(fast("newreno")).summary, about="nothing to send")
    fidelity, flow = summary["fidelity"], summary["flows"][0]
    # The send buffer was full of data in flight in 99 of 100 samples, and an application of ours got the blame.
    assert fidelity["starved_samples"] < 20
    assert not [fault for fault in fidelity["faults"] if "nothing to send" in fault]
    # One lost packet per round trip, and new data beside it.
    assert flow["retransmitted_packets"] == pytest.approx(4 / 0.0405, rel=0.2)
    assert flow["sent_packets"] > 20 * flow["retransmitted_packets"]
    assert any("slow-but-steady" in warning for warning in fidelity["warnings"])


@needs_kernel
def test_with_sack_and_stock_a_fast_link_is_full() -> None:
    summary = valid(lambda: run(fast("sack"), kernel="stock").summary)
    assert summary["links"][0]["utilisation"]["mean"] > 0.95
    assert summary["fidelity"]["warnings"] == []


@in_real_time
def test_the_benchmark_loses_nothing_so_that_it_measures_the_emulator() -> None:
    def measured() -> Summary:
        (held,) = doctor.ceiling((100,))
        return {"fidelity": {"valid": not held.faults, "faults": held.faults}, "utilisation": held.utilisation}

    found = valid(measured, about="lost outside")
    assert found["utilisation"] > 0.95
    assert found["fidelity"]["faults"] == []


@needs_kernel
def test_the_same_seed_gives_the_same_capacity_and_the_run_says_where_it_is_from(tmp_path: Path) -> None:
    markov = {"markov": {"rates": ["4 Mbit/s", "1 Mbit/s"], "mean_holding": ["0.5 s", "0.5 s"]}}
    case = scenario({"capacity": markov}, duration="4 s", seed=7)
    simulated = varicap.run(case, seeds=1, series=True)
    real = run(case, series=True)
    offered = [run.link_series.column("capacity_bps").to_pylist()[:40] for run in (simulated, real)]
    assert len(set(offered[0])) > 3
    assert offered[0] == offered[1]
    assert real.links.column("capacity_bps")[0] == simulated.links.column("capacity_bps")[0]
    assert real.flow_series.num_rows == 40
    manifest = json.loads(real.save(tmp_path).read_text(encoding="utf-8"))
    assert (manifest["engine"], manifest["kernel"]) == ("kernel", "classic")


@in_real_time
def test_without_root_the_same_run_works(tmp_path: Path) -> None:
    """All rights are dropped but one, which user 0 needs to be somebody in a namespace of its own."""
    script = (
        "import json, sys; from varicap.engines import kernel; "
        "print(json.dumps(kernel.run(json.loads(sys.argv[1]), clock='real').summary))"
    )
    drop = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("no setpriv, with which to drop root's rights")
        drop = [setpriv, "--bounding-set=-all,+setfcap", "--inh-caps=-all"]
    case = scenario({"capacity": "2 Mbit/s"}, duration="3 s")
    command = [*drop, sys.executable, "-c", script, json.dumps(case)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert goodput(summary) > 0.5e6
    assert summary["fidelity"]["unintended_drops"] == 0


@pytest.mark.parametrize(
    ("tcp", "key", "value"),
    [
        ({"recovery": "old-tahoe"}, "flows.a.tcp.recovery", "old-tahoe"),
        ({"recovery": "tahoe"}, "flows.a.tcp.recovery", "tahoe"),
        ({"recovery": "newreno", "timer": "ticks"}, "flows.a.tcp.timer", "ticks"),
        ({"recovery": "newreno", "initial_ssthresh": "8 packets"}, "flows.a.tcp.initial_ssthresh", "8 packets"),
        ({"recovery": "newreno", "congestion": {"custom": "nobody"}}, "flows.a.tcp.congestion", "nobody"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused_before_anything_starts(
    tcp: dict[str, Any], key: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = scenario({"capacity": "2 Mbit/s"}, flows={"a": {"tcp": tcp}}, tcp={})
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    with pytest.raises(NotApplicableError, match=rf"{key} = {value}: "):
        run(case, clock="real")


def test_a_refusal_on_the_command_line_is_a_usage_error(cli: Cli, fixed: Path) -> None:
    tahoe = ("--set", "flows.reno.tcp.recovery=tahoe", "--seeds", "1")
    done = cli("run", fixed, "--engine", "kernel", *tahoe)
    assert done.returncode == 2
    assert "flows.reno.tcp.recovery = tahoe: Linux always has fast recovery" in done.stderr


@in_real_time
def test_a_run_that_time_could_not_be_kept_in_is_not_valid(cli: Cli, tmp_path: Path) -> None:
    """No machine emulates full packets at 100 Gb/s."""
    file = tmp_path / "fast.toml"
    file.write_text(
        """
        duration = "1 s"
        [topology.dumbbell.forward]
        capacity = "100 Gbit/s"
        delay = "1 ms"
        queue = { drop-tail = { limit = "unlimited" } }
        [tcp]
        stack = "rfc"
        recovery = "newreno"
        [flows.a]
        """,
        encoding="utf-8",
    )
    for quiet in ((), ("-q",)):
        done = cli("run", file, "--engine", "kernel", "--clock", "real", "--strict", "--json", *quiet)
        assert done.returncode == 4, done.stderr
        fidelity = json.loads(done.stdout)["fidelity"]
        assert not fidelity["valid"]
        assert fidelity["faults"][0] in done.stderr
    compared = cli("compare", file, "--engine", "kernel", "--clock", "real", "--json", "-q")
    assert "kernel: this result is not valid: " in compared.stderr


def descendants(process: int) -> list[int]:
    """The children of a process, and theirs."""
    found = []
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in children.read_text(encoding="utf-8").split():
            found += [int(child), *descendants(int(child))]
    return found


def namespaces(process: int) -> set[str]:
    """The network namespaces that the threads of a process are in."""
    return {place for _, place in places(str(process))}


def in_use(wanted: set[str]) -> list[str]:
    """Processes in one of the namespaces."""
    return [link for link, place in places("[0-9]*") if place in wanted]


def places(processes: str) -> Iterator[tuple[str, str]]:
    """The threads of some processes, and the network namespace of each; threads that end meanwhile are left out."""
    for link in Path("/proc").glob(f"{processes}/task/*/ns/net"):
        with suppress(OSError):
            yield str(link), str(link.readlink())


LONG = scenario({"capacity": "2 Mbit/s"}, duration="60 s")


def started(case: Mapping[str, Any]) -> tuple["subprocess.Popen[bytes]", int, set[str]]:
    """A long run under way: the process that asked, its worker, and the namespaces that the worker has made."""
    script = "import json, sys; from varicap.engines import kernel; kernel.run(json.loads(sys.argv[1]), clock='real')"
    command = [sys.executable, "-c", script, json.dumps(case)]
    asked = subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=heed)
    own = str(Path("/proc/self/ns/net").readlink())
    worker = until(lambda: descendants(asked.pid), "no worker")[0]
    inside = until(lambda: namespaces(worker) - {own}, "no namespaces")
    time.sleep(0.5)
    return asked, worker, set(inside)


@needs_kernel
def test_a_connection_that_nobody_answers_is_given_up_as_in_the_simulator() -> None:
    """Linux's socket says ETIMEDOUT, after two SYNs and 3 s."""
    timer = {"linux": {"syn_retries": 1, "linear_syn_timeouts": 0}}
    asked = scenario(
        {"capacity": {"steps": {"at": ["0 s"], "rates": ["0 bit/s"]}}},
        duration="5 s",
        warmup="0 s",
        tcp={"stack": "linux", "timer": timer},
        flows={"a": {"app": {"transfer": {"size": "10 kB"}}}},
    )
    real = valid(lambda: varicap.run(asked, engine="kernel", seeds=1).summary)
    for summary in (varicap.run(asked, seeds=1).summary, real):
        (flow,) = summary["flows"]
        assert (flow["gave_up"], flow["unfinished_transfers"], flow["transfers"]) == (1, 1, 0)
        assert any("1 connection gave up before the end" in note for note in summary["notes"])


def test_the_mode_is_that_of_the_stacks() -> None:
    def mode(*stacks: str) -> str:
        flows = {f"f{place}": {"tcp": {"stack": stack}} for place, stack in enumerate(stacks)}
        return kernel.fitting(scenario({"capacity": "2 Mbit/s"}, flows=flows))

    assert (mode("linux"), mode("linux", "linux")) == ("stock", "stock")
    assert (mode("rfc"), mode("linux", "rfc")) == ("classic", "classic")
    assert kernel.fitting(EXAMPLES / "fixed.toml") == "stock", "Linux's is the stack where none is named"


@in_real_time
@pytest.mark.parametrize("how", ["parent killed", "worker killed", "interrupted"])
def test_nothing_is_left_however_a_run_ends(how: str) -> None:
    case = dict(LONG)
    if _RATCP is not None and _RATCP.ok:
        case["flows"] = {"a": {"tcp": {"congestion": "ratcp"}}}
    before = set(doctor.congestion_controls())
    asked, worker, inside = started(case)
    registered = set(doctor.congestion_controls()) - before
    assert bool(registered) == ("ratcp" in json.dumps(case)), "a control of our own is registered if a flow has it"
    target, number = {
        "parent killed": (asked.pid, signal.SIGKILL),
        "worker killed": (worker, signal.SIGKILL),
        "interrupted": (asked.pid, signal.SIGINT),
    }[how]
    os.kill(target, number)
    assert asked.wait(HANG_S) != 0
    assert asked.stderr is not None
    told = asked.stderr.read().decode()
    asked.stderr.close()
    until(lambda: not Path(f"/proc/{worker}").exists(), "the worker is left")
    until(lambda: not in_use(inside), "somebody is left in a namespace")
    until(lambda: not registered & set(doctor.congestion_controls()), "a control is left")
    if how == "worker killed":
        assert "the process of the kernel engine ended" in told


@needs_kernel
@pytest.mark.skipif("bbr" not in doctor.congestion_controls(), reason="SKIPPED: this kernel has no bbr")
def test_a_control_of_the_kernel_alone_is_compared_without_the_simulator(cli: Cli, fixed: Path) -> None:
    short = ("--set", "duration=3 s", "--set", "warmup=1 s", "--json", "-q")
    done = cli("compare", fixed, "--set", 'flows.reno.tcp.congestion={ custom = "bbr" }', *short)
    assert done.returncode == 0, done.stderr
    answers = {answer["engine"]: answer for answer in json.loads(done.stdout)["engines"]}
    assert goodput(answers["kernel"]) > 0
    assert "nobody brought a control called `bbr`" in answers["sim"]["not_applicable"]
    # Quiet, and yet it says that a column is missing.
    assert (
        "sim: the simulator has none of the kernel's controls: flows.reno.tcp.congestion: nobody brought" in done.stderr
    )
    nobody = cli("compare", fixed, "--set", 'flows.reno.tcp.congestion={ custom = "nobody" }', *short)
    assert nobody.returncode == 2
    assert "nobody brought a control called `nobody`" in nobody.stderr
    assert "this kernel has" in nobody.stderr


@needs_kernel
@needs_ratcp
def test_ratcp_in_the_kernel_is_the_simulators_ratcp(fixed: Path) -> None:
    overrides = {
        "duration": "8 s",
        "warmup": "3 s",
        "flows.reno.start_spread": "0 s",
        "flows.reno.tcp.congestion": "{ ratcp = { pacing = true } }",
        "topology.dumbbell.forward.queue.drop-tail.counts_in_service": "true",
    }
    simulated = varicap.run(fixed, seeds=1, overrides=overrides).summary
    real = valid(lambda: run(fixed, overrides=overrides).summary)
    assert goodput(real) == pytest.approx(goodput(simulated), rel=0.05)
    sent, windows = (summary["flows"][0] for summary in (real, simulated))
    assert sent["cwnd_packets"]["mean"] == pytest.approx(windows["cwnd_packets"]["mean"], abs=1.0)
    assert sent["retransmitted_packets"] == 0


@needs_kernel
def test_a_shaper_that_is_told_its_rate_works_over_the_kernel(tmp_path: Path) -> None:
    steps = {"steps": {"at": ["0 s", "3 s"], "rates": ["2 Mbit/s", "1 Mbit/s"]}}
    told = {"estimator": {"instantaneous": {"interval": "50 ms"}}, "delay": "20 ms"}
    flow = {"abr": {}, "feedback": told, "tcp": {"receive_window": "30 packets"}}
    case = scenario({"capacity": steps}, duration="6 s", flows={"a": flow})
    simulated = varicap.run(case, seeds=1).summary
    real = valid(lambda: run(case).summary)
    assert goodput(real) == pytest.approx(goodput(simulated), rel=0.05)
    buffers = [link for link in real["links"] if link["name"].endswith(".abr")]
    assert buffers[0]["backlog_packets"]["mean"] > 1, "the segmentation buffer holds what the rate does not let through"


@needs_kernel
@pytest.mark.parametrize("kind", ["steps", "trace", "markov"])
def test_a_delay_that_varies_is_the_simulators(tmp_path: Path, kind: str) -> None:
    """A window that is never full: the goodput is a window a round trip, whatever that is at the time."""
    rows = ["0,20", "0.5,45.5", "1.1,60", "1.9,12.25", "2.6,30"]
    (tmp_path / "d.csv").write_text("\n".join(["time_s,delay_ms", *rows]) + "\n", encoding="utf-8")
    delay = {
        "steps": {"steps": {"at": ["0 s", "1 s"], "delays": ["20 ms", "70 ms"], "period": "2 s"}},
        "trace": {"trace": {"file": str(tmp_path / "d.csv")}},
        "markov": {"markov": {"delays": ["15 ms", "50 ms"], "mean_holding": ["0.6 s", "0.4 s"]}},
    }[kind]
    flow = {"tcp": {"receive_window": "16 packets"}}
    case = scenario({"capacity": "20 Mbit/s", "delay": delay}, flows={"a": flow}, seed=5)
    simulated = varicap.run(case, seeds=1).summary
    real = valid(lambda: run(case).summary)
    assert goodput(real) == pytest.approx(goodput(simulated), rel=0.02)
    for measure in ("mean", "p95"):
        expected = simulated["flows"][0]["rtt_ms"][measure]
        assert real["flows"][0]["rtt_ms"][measure] == pytest.approx(expected, rel=0.02)


@needs_kernel
@pytest.mark.parametrize(("control", "seconds"), [("cubic", 8), ("bbr", 6)])
def test_a_step_of_the_delay_is_met_as_in_the_simulator(control: str, seconds: int) -> None:
    """Greedy senders, whose queue and whose measured round trip are what the step changes.

    Those of BBR end as the delay falls again: what a queue is left by then depends on the phase of its probes, in which
    runs of the kernel differ by a tenth.
    """
    delay = {"steps": {"at": ["0 s", "3 s"], "delays": ["10 ms", "50 ms"], "period": "6 s"}}
    flow = {"tcp": {"congestion": control}, "start_spread": "0 s"}
    link = {"capacity": "10 Mbit/s", "delay": delay, "queue": {"drop-tail": {"limit": "100 packets"}}}
    case = scenario(link, flows={"a": flow}, seed=5, tcp={"stack": "linux"}, duration=f"{seconds} s")
    simulated = varicap.run(case, seeds=1).summary
    real = valid(lambda: run(case).summary)
    assert goodput(real) == pytest.approx(goodput(simulated), rel=0.02)
    assert real["flows"][0]["rtt_ms"]["mean"] == pytest.approx(simulated["flows"][0]["rtt_ms"]["mean"], rel=0.05)


@needs_kernel
def test_a_source_that_writes_packet_by_packet_is_acknowledged_as_in_the_simulator() -> None:
    # Every 23 ms a packet that is a write of its own: neither receiver waits for a second one.
    scenario = {
        "duration": "4 s",
        "topology": {"dumbbell": {"forward": {"capacity": "10 Mb/s", "delay": "20 ms"}, "reverse": {"delay": "20 ms"}}},
        "flows": {
            "source": {
                "tcp": {"congestion": "reno"},
                "app": {"on-off": {"on": "100 s", "off": "1 s", "rate": "500 kb/s"}},
            }
        },
    }
    real = valid(lambda: varicap.run(scenario, engine="kernel", seeds=1).summary)["flows"][0]
    simulated = varicap.run(scenario, seeds=1).summary["flows"][0]
    assert goodput({"flows": [real]}) == pytest.approx(goodput({"flows": [simulated]}), rel=0.02)
    assert simulated["rtt_ms"]["mean"] == pytest.approx(41.2, rel=0.01)  # 62 ms if every second one were
    assert real["rtt_ms"]["mean"] == pytest.approx(simulated["rtt_ms"]["mean"], rel=0.05)


@needs_kernel
def test_losses_of_a_trace_are_the_simulators(tmp_path: Path) -> None:
    """Datagrams at a constant rate: of those that leave within a burst none arrives, in both engines."""
    rows = ["0,0", "0.5,1", "0.6,0", "1.2,0.3", "1.9,0", "2.6,0"]
    (tmp_path / "l.csv").write_text("\n".join(["time_s,loss", *rows]) + "\n", encoding="utf-8")
    loss = {"trace": {"file": str(tmp_path / "l.csv")}}
    flow = {"datagrams": {"rate": "4 Mbit/s", "size": "500 B"}}
    case = scenario({"capacity": "20 Mbit/s", "loss": loss}, flows={"a": flow}, seed=5)
    simulated = varicap.run(case, seeds=1).summary
    real = valid(lambda: run(case).summary)
    assert goodput(real) == pytest.approx(goodput(simulated), rel=0.02)


@needs_kernel
def test_an_encoder_of_datagrams_finds_the_rate_that_it_finds_in_the_simulator() -> None:
    camera = {"real-time": {"initial": "1 Mbit/s", "maximum": "4 Mbit/s", "deadline": "100 ms"}}
    flow = {"datagrams": {"rate": camera, "size": "1000 B"}}
    case = scenario({"capacity": "0.8 Mbit/s"}, flows={"a": flow}, seed=5)
    simulated = varicap.run(case, seeds=1).summary
    real = valid(lambda: run(case).summary)
    assert simulated["flows"][0]["bitrate_bps"]["mean"] < 0.8e6, "it begins above what the link carries"
    assert goodput(real) == pytest.approx(goodput(simulated), rel=0.02)
    assert real["flows"][0]["bitrate_bps"]["mean"] == pytest.approx(
        simulated["flows"][0]["bitrate_bps"]["mean"], rel=0.02
    )


@needs_kernel
def test_light_opportunities_are_the_simulators() -> None:
    """Bursts on an idle cell: each meets the train of its instant, and then the opportunities of the saturated link."""
    heavy = {"file": str(EXAMPLES / "traces" / "lte-like.down")}
    light = {"file": str(EXAMPLES / "traces" / "lte-like.trains")}
    pages = {"app": {"arrivals": {"rate": "1.5 /s", "size": {"fixed": "60 kB"}}}}

    def case(cell: dict[str, Any]) -> dict[str, Any]:
        link = {"capacity": {"opportunities": cell}, "queue": {"drop-tail": {"limit": "200 packets"}}}
        return scenario(link, flows={"a": pages}, seed=5, tcp={"stack": "linux"})

    def waiting(summary: Summary) -> float:
        return float(summary["links"][0]["sojourn_ms"]["mean"])

    simulated, without = (varicap.run(case(cell), seeds=1).summary for cell in ({**heavy, "light": light}, heavy))
    assert waiting(simulated) > 1.2 * waiting(without), "bursts wait for what they are granted"
    real = valid(lambda: run(case({**heavy, "light": light})).summary)
    assert goodput(real) == pytest.approx(goodput(simulated), rel=0.02)
    assert waiting(real) == pytest.approx(waiting(simulated), rel=0.05)


@needs_kernel
def test_handovers_are_the_simulators() -> None:
    """A window that is never full: it waits through each outage, and goes round in another time after it."""
    handover = {"period": "1.5 s", "outage": "60 ms", "delay_spread": "40 ms"}
    flow = {"tcp": {"receive_window": "16 packets"}}
    case = scenario({"capacity": "20 Mbit/s", "handover": handover}, flows={"a": flow}, seed=11)
    simulated = varicap.run(case, seeds=1).summary
    real = valid(lambda: run(case).summary)
    assert goodput(real) == pytest.approx(goodput(simulated), rel=0.02)
    assert real["flows"][0]["rtt_ms"]["mean"] == pytest.approx(simulated["flows"][0]["rtt_ms"]["mean"], rel=0.02)


@needs_kernel
@pytest.mark.parametrize("delayed", ["0 s", "12 ms"])
def test_a_link_with_arq_resends_what_a_real_packet_meets(delayed: str) -> None:
    # A fifth of the transmissions is lost: stop-and-wait carries four fifths of its slots, which `ack_delay` thins out.
    link = {"capacity": "4 Mbit/s", "loss": "20 %", "arq": {"ack_delay": delayed}}
    case = scenario(link, flows={"a": {"tcp": {"receive_window": "16 packets"}}})
    simulated = varicap.run(case, seeds=1).summary
    real = valid(lambda: run(case).summary)
    assert goodput(real) == pytest.approx(goodput(simulated), rel=0.05)
    for found in (real, simulated):
        link_of = found["links"][0]
        assert link_of["retransmissions"] == pytest.approx(0.2 * link_of["transmissions"], rel=0.15)
        assert link_of["dropped_packets"] == 0


@needs_kernel
def test_the_kernel_spaces_segments_out_as_the_simulator_does() -> None:
    """Times between segments, forty in a round trip: slow start spaces them out, and acknowledgements keep them so."""

    def usual_gap(engine: Literal["sim", "kernel"], **tcp: Any) -> float:
        link = {"capacity": "20 Mbit/s", "delay": "100 ms", "queue": {"drop-tail": {"limit": "100 packets"}}}
        case = {
            "duration": "6 s",
            "warmup": "1 s",
            "topology": {"dumbbell": {"forward": link, "reverse": {"delay": "100 ms"}}},
            "tcp": {"stack": "linux", "receive_window": "40 packets", "ack": "every", "congestion": "cubic", **tcp},
            "flows": {"a": {}},
        }
        found: list[float] = []

        def run() -> Summary:
            result = varicap.run(case, engine=engine, seeds=1, packets="first")
            log = result.packets
            sent = pc.and_(pc.equal(log["event"], "arrival"), pc.equal(log["direction"], "data"))
            at = log.filter(pc.and_(sent, pc.greater(log["time_ns"], 2_000_000_000)))["time_ns"].to_pylist()
            found[:] = sorted((later - earlier) / 1e9 for earlier, later in pairwise(at))
            return result.summary

        if engine == "kernel":
            valid(run)
        else:
            run()
        return found[len(found) // 2]

    simulated, real = usual_gap("sim", pacing="linux"), usual_gap("kernel", pacing="linux")
    assert real == pytest.approx(simulated, rel=0.15)
    assert usual_gap("kernel") < real / 2, "without it, as fast as acknowledgements come"


def captured(file: Path) -> list[tuple[int, int, int]]:
    """Of each packet of a capture: its link, its two ECN bits, and its TCP flags."""
    content, at, found = file.read_bytes(), 0, []
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == 6:  # enhanced packet
            (link,) = struct.unpack_from("<I", content, at + 8)
            packet = content[at + 28 :]
            found.append((link, packet[1] & 3, packet[33]))
        at += length
    return found


SYN, ACK, ECE, CWR = 0x02, 0x10, 0x40, 0x80


@pytest.mark.parametrize("engine", ["sim", pytest.param("kernel", marks=OF_EITHER_CLOCK)])
def test_a_capture_shows_both_directions_and_explicit_congestion(engine: Any, tmp_path: Path) -> None:
    red = {"red": {"limit": "200 packets", "min_threshold": "5 packets", "max_threshold": "90 packets", "ecn": True}}
    options = {"stack": "rfc", "recovery": "newreno", "ack": "every", "ecn": True, "timestamps": True}
    case = scenario({"capacity": "4 Mbit/s", "queue": red}, duration="6 s", warmup="0 s", tcp=options)
    result = varicap.run(case, engine=engine, seeds=1, packets="first")
    (file,) = result.write_pcapng(tmp_path / "run.pcapng")
    packets = captured(file)
    flags = [flags for _, _, flags in packets]
    # RFC 3168 §6.1.1: the connection asks for ECN, and its receiver agrees.
    assert flags[:2] == [SYN | ECE | CWR, SYN | ACK | ECE]
    marks = result.summary["links"][0]["marked_packets"]
    assert sum(link == 0 and ecn == 3 for link, ecn, _ in packets) == marks > 0
    assert any(link == 1 and flags & ECE for link, _, flags in packets), "the receiver echoes it"
    assert any(link == 0 and flags & CWR for link, _, flags in packets[2:]), "the sender answers"
    log = result.packets
    events = [str(event) for event in log["event"].to_pylist()]
    assert events.count("mark") == marks
    both = log.filter(pc.equal(log["event"].cast("string"), "arrival"))
    assert both.num_rows == len(packets)
    assert {str(way) for way in both["direction"].to_pylist()} == {"data", "ack"}
    data = both.filter(
        pc.and_(pc.equal(both["direction"].cast("string"), "data"), pc.greater(both["payload_bytes"], 0))
    )
    starts = data["seq_bytes"].to_pylist()
    assert starts[:3] == [0, starts[1], 2 * starts[1]]
    assert 100_000 < max(both["ack_bytes"].to_pylist()) <= max(starts) + starts[1]


@needs_kernel
def test_lost_packets_are_comments_in_a_capture_of_the_kernel(cli: Cli, tmp_path: Path) -> None:
    short = ("--set", "duration=6 s", "--set", "warmup=1 s", "--no-plot", "--json", "--packets", "-o", tmp_path / "out")
    done = cli("run", EXAMPLES / "fixed.toml", "--engine", "kernel", "--pcap", tmp_path / "run.pcapng", *short)
    assert done.returncode == 0, done.stderr
    assert b"dropped: the queue was full" in (tmp_path / "run.pcapng").read_bytes()
    assert (tmp_path / "out/packets.parquet").exists()


class Maps:
    """The BPF maps of this machine, by system calls: no tool need be installed."""

    NEXT_ID, OF_ID, INFO = 12, 14, 15
    NUMBER = {"x86_64": 321, "aarch64": 280}.get(platform.machine())

    def __init__(self) -> None:
        self.call = ctypes.CDLL(None, use_errno=True).syscall

    def named(self, name: str) -> set[int]:
        found: set[int] = set()
        number = 0
        while True:
            attributes = ctypes.create_string_buffer(struct.pack("<II", number, 0) + bytes(120))
            if self.call(self.NUMBER, self.NEXT_ID, attributes, 128) < 0:
                return found
            (number,) = struct.unpack_from("<I", attributes.raw, 4)
            if self._name(number) == name:
                found.add(number)

    def _name(self, number: int) -> str:
        fd = self.call(
            self.NUMBER, self.OF_ID, ctypes.create_string_buffer(struct.pack("<I", number) + bytes(124)), 128
        )
        if fd < 0:
            return ""
        try:
            info = ctypes.create_string_buffer(128)
            request = struct.pack("<IIQ", fd, 128, ctypes.addressof(info)) + bytes(112)
            if self.call(self.NUMBER, self.INFO, ctypes.create_string_buffer(request), 128) < 0:
                return ""
            return info.raw[24:40].rstrip(b"\0").decode()
        finally:
            os.close(fd)


@in_real_time
@needs_ratcp
@pytest.mark.skipif(Maps.NUMBER is None, reason="SKIPPED: the number of bpf(2) is not known here")
def test_programs_in_the_kernel_vanish_with_a_run_that_is_killed(fixed: Path) -> None:
    """Connections that outlive their process would keep their congestion control for minutes."""
    maps = Maps()
    before = maps.named("told")
    command = [sys.executable, "-m", "varicap", "run", str(fixed), "--engine", "kernel", "--clock", "real", "--no-plot"]
    command += ["--set", "flows.reno.tcp.congestion=ratcp", "--set", "duration=60 s"]
    program = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        until(lambda: maps.named("told") - before, "no programs in the kernel")
        time.sleep(3)  # data is in flight
        ours = maps.named("told") - before
        assert ours
    finally:
        program.kill()
        program.wait()
    # The kernel frees them when it finds the time.
    until(lambda: not ours & maps.named("told"), "programs are left in the kernel")


@in_real_time
def test_doctor_says_what_is_there(cli: Cli) -> None:
    found = json.loads(cli("doctor", "--json").stdout)
    assert found["engines"]["kernel"] is True
    names = {check["name"] for check in found["kernel_engine"]["checks"]}
    assert {"network namespaces", "TUN devices", "real-time priority", "ratcp in the kernel"} <= names
    assert "reno" in found["kernel_engine"]["congestion_controls"]


@in_real_time
def test_a_manifest_of_real_time_is_not_replayed(cli: Cli, tmp_path: Path) -> None:
    case = run(scenario({"capacity": "2 Mbit/s"}, duration="1 s", warmup="0 s"), clock="real")
    done = cli("replay", case.save(tmp_path / "out"))
    assert done.returncode == 2
    assert "real time" in done.stderr


def test_examples_that_run_on_every_engine_are_accepted() -> None:
    for name in ("fixed", "markov"):
        varicap._core.kernel_check(varicap.load(EXAMPLES / f"{name}.toml"), "stock")
