"""RATCP inside the kernel: the object that is shipped, and the simulator's results with the kernel's TCP."""

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES
from patience import HANG_S
from real_time import valid

import varicap
from varicap.machine import doctor

pytestmark = pytest.mark.real_time

BPF = Path(__file__).parent.parent / "crates" / "varicap-testbed" / "bpf"

_RATCP = next((check for check in doctor.checks() if check.name == "ratcp in the kernel"), None)
needs_ratcp = pytest.mark.skipif(_RATCP is None or not _RATCP.ok, reason=f"SKIPPED: no ratcp: {_RATCP and _RATCP.says}")


def test_the_object_is_built_from_the_source_beside_it() -> None:
    source = b"".join((BPF / name).read_bytes() for name in ("kernel.h", "ratcp.bpf.c"))
    assert (BPF / "ratcp.bpf.sha256").read_text().strip() == hashlib.sha256(source).hexdigest(), "run `make bpf`"
    assert (BPF / "ratcp.bpf.o").read_bytes().startswith(b"\x7fELF")


_CLASSIC = {
    "stack": "rfc",
    "recovery": "newreno",
    "mss": "500 B",
    "timestamps": True,
    "ack": "every",
    "timer": {"rfc6298": {"minimum": "0.2 s"}},
}


def both(feedback: dict[str, Any], tcp: dict[str, Any], seconds: int) -> list[dict[str, Any]]:
    """The summaries of simulator and kernel, on a Markov link; skips where the machine was too busy.

    The queue has room beside the nine packets that a paced flow puts into it: a stall of the machine brings packets
    together, as a valid run may have it now and then, and with room for ten that was seen to cost one.
    """
    markov = {"rates": ["0.8 Mbit/s", "0.4 Mbit/s"], "mean_holding": ["1 s", "1 s"]}
    flow = {"feedback": feedback, "tcp": tcp}
    forward = {"capacity": {"markov": markov}, "delay": "50 ms", "queue": {"drop-tail": {"limit": "20 packets"}}}
    path = {"dumbbell": {"forward": forward, "reverse": {"delay": "50 ms"}}}
    scenario = {"duration": f"{seconds} s", "warmup": "2 s", "topology": path, "flows": {"ratcp": flow}}
    kernel = valid(lambda: varicap.run(scenario, engine="kernel", seeds=1).summary)
    return [varicap.run(scenario, seeds=1).summary, kernel]


@needs_ratcp
@pytest.mark.parametrize(
    ("feedback", "ratcp"),
    [
        ({}, {"pacing": True}),
        ({"estimator": {"instantaneous": {"interval": "50 ms"}}}, {}),
        ({"estimator": "effective"}, {"pacing": True}),
    ],
    ids=["exact", "instcap", "effcap"],
)
def test_goodput_on_a_varying_link_is_the_simulators(feedback: dict[str, Any], ratcp: dict[str, Any]) -> None:
    tcp = _CLASSIC | {"congestion": {"ratcp": ratcp}}
    simulated, real = (summary["flows"][0] for summary in both(feedback, tcp, 10))
    assert real["goodput_bps"]["mean"] == pytest.approx(simulated["goodput_bps"]["mean"], rel=0.05)
    assert real["cwnd_packets"]["mean"] == pytest.approx(simulated["cwnd_packets"]["mean"], abs=1.0)
    if ratcp.get("pacing"):
        assert real["retransmitted_packets"] == simulated["retransmitted_packets"] == 0.0


@needs_ratcp
def test_the_window_opens_by_packets_not_by_acknowledgements() -> None:
    """As it does for Linux's own controls: with delayed acknowledgements twice as fast as by a packet for each."""
    tcp = {"congestion": "ratcp", "mss": "500 B"}
    simulated, real = (summary["flows"][0] for summary in both({}, tcp, 10))
    assert real["goodput_bps"]["mean"] == pytest.approx(simulated["goodput_bps"]["mean"], rel=0.02)
    assert real["cwnd_packets"]["mean"] == pytest.approx(simulated["cwnd_packets"]["mean"], rel=0.02)


@needs_ratcp
def test_without_root_it_is_refused_with_the_reason() -> None:
    rootless = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    if subprocess.run([*rootless, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("SKIPPED: unprivileged user namespaces are not allowed here")
    run = [sys.executable, "-m", "varicap", "run", str(EXAMPLES / "fixed.toml"), "--engine", "kernel"]
    run += ["--clock", "real", "--no-plot", "--set", "flows.reno.tcp.congestion=ratcp"]
    done = subprocess.run([*rootless, *run], capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 3
    assert "needs root" in done.stderr
    assert "Traceback" not in done.stderr
