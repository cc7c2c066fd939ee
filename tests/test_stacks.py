"""Stacks: the habits of a TCP at once, from Python and from the command line."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import varicap
from varicap import tcp
from varicap.scenario import DelayedAck, Dumbbell, Flow, Link, Reno, Rfc6298Timer, Scenario, Tcp

ROOT = Path(__file__).resolve().parent.parent
PATH = Dumbbell(forward=Link(capacity="1 Mbit/s", delay="20 ms"))


def resolved(shared: Tcp, own: Tcp | None) -> dict[str, Any]:
    scenario = Scenario(duration="2 s", tcp=shared, topology=PATH, flows={"a": Flow(tcp=own)})
    found: dict[str, Any] = varicap.run(scenario, seeds=1).summary["scenario"]["flows"]["a"]["tcp"]
    return found


@pytest.mark.parametrize("stack", tcp.stacks())
def test_a_typed_tcp_has_the_habits_of_its_stack(stack: Any) -> None:
    expected = tcp.settings(stack=stack)
    assert resolved(Tcp(stack=stack), None) == expected
    assert resolved(Tcp(), Tcp(stack=stack)) == expected
    assert resolved(Tcp(mss="500 B"), Tcp(stack=stack)) == expected | {"mss": "500 B"}


def test_what_is_given_comes_first_even_if_it_is_the_default_of_its_type() -> None:
    assert Tcp().to_dict() == {}
    assert all(getattr(Tcp(), item.name) is None for item in fields(Tcp))
    own = Tcp(stack="linux", timer=Rfc6298Timer(minimum="1 s"), timestamps=False)
    assert own.to_dict() == {"stack": "linux", "timer": {"rfc6298": {"minimum": "1 s"}}, "timestamps": False}
    found = resolved(Tcp(), own)
    assert found["timer"]["rfc6298"] == {"minimum": "1 s", "initial": "1 s", "maximum": "120 s", "granularity": "1 ms"}
    assert not found["timestamps"]
    assert (
        resolved(Tcp(stack="ns-2"), Tcp(ack=DelayedAck(), congestion=Reno()))["ack"]["delayed"]["timeout"] == "100 ms"
    )


def test_the_halves_of_a_connection_have_a_stack() -> None:
    sender = tcp.Sender(stack="ns-2", mss="1000 B")
    assert (sender.cwnd, sender.rto_s) == (1000, 6.0)
    assert tcp.Sender(stack="ns-2", mss="1000 B", initial_window="3 packets").cwnd == 3000
    with pytest.raises(varicap.ScenarioError, match="did you mean `linux`"):
        tcp.Sender(stack="linx")


SCRIPT = """
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop{offered}>
+0 > S. 0:0(0) ack 1 <mss 1460{answered}>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 20000) = 20000
+0 > . 1:{sent}({length}) ack 1
"""


def script(window: int, answered: str = ",sackOK", before: str = "") -> str:
    text = SCRIPT.format(offered="", answered=answered, sent=window * 1000 + 1, length=window * 1000)
    return before + text.replace(",nop,nop>", ">")


def test_a_dialogue_has_a_stack_whose_habits_come_last() -> None:
    assert tcp.dialogue(text=script(10), stack="linux").passed
    old = script(1, answered="")
    assert tcp.dialogue(text=old, stack="bsd-reno").passed
    assert not tcp.dialogue(text=old, stack="linux").passed
    assert tcp.dialogue(text=script(3, answered=""), stack="bsd-reno", initial_window="3 packets").passed
    route = "`ip route change 192.0.2.0/24 dev tun0 initcwnd 2`\n"
    assert tcp.dialogue(text=script(2, answered="", before=route), stack="bsd-reno").passed
    sack = "`sysctl -q net.ipv4.tcp_sack=1`\n"
    assert tcp.dialogue(text=script(1, before=sack), stack="bsd-reno").passed


def test_the_default_stack_is_linux_wherever_none_is_named(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    assert tcp.settings() == tcp.settings(stack="linux") == resolved(Tcp(), None)
    probe = script(10).replace("20000", "10000") + "+.21 > . 9001:10001(1000) ack 1\n"
    # RFC 8985's probe of the tail; the standards wait for a timeout of a second.
    assert tcp.dialogue(text=probe).passed
    assert not tcp.dialogue(text=probe, stack="rfc").passed
    file = tmp_path / "probe.pkt"
    file.write_text(probe)
    assert cli("dialogue", file).returncode == 0
    assert cli("dialogue", file, "--set", "stack=rfc").returncode == 1
    done = cli("run", fixed, "--explain")
    assert "flows.reno.tcp.stack" in done.stdout
    assert "linux  # default" in done.stdout
    old = cli("run", fixed, "--set", "tcp.stack=rfc", "--explain").stdout
    assert "flows.reno.tcp.timer.rfc6298.minimum" in old


def test_the_command_of_dialogues_has_a_stack(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "one.pkt"
    file.write_text(script(1, answered=""))
    assert cli("dialogue", file, "--stack", "bsd-tahoe").returncode == 0
    assert cli("dialogue", file).returncode == 1
    wrong = cli("dialogue", file, "--stack", "linx")
    assert wrong.returncode == 2
    assert "did you mean `linux`?" in wrong.stderr


def test_explain_says_what_comes_from_the_stack(cli: Cli, fixed: Path) -> None:
    done = cli("run", fixed, "--set", "tcp.stack=linux", "--explain")
    lines = {line.split()[0]: line.split(maxsplit=1)[1] for line in done.stdout.splitlines()}
    assert lines["flows.reno.tcp.stack"] == "linux"
    assert lines["flows.reno.tcp.timer.linux.maximum"] == "120 s  # stack linux"
    assert lines["flows.reno.tcp.header"] == "40 B  # default"
    assert cli("run", fixed, "--set", "tcp.stack=lunix", "--explain").returncode == 2


def test_a_manifest_repeats_a_run_whatever_its_stack_says(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = cli("run", fixed, "--set", "tcp.stack=ns-2", "--set", "duration=20 s", "--seeds", "1", "-o", out)
    assert done.returncode == 0, done.stderr
    kept = json.loads((out / "manifest.json").read_text())["scenario"]["flows"]["reno"]["tcp"]
    assert kept["stack"] == "ns-2"
    assert set(kept) == set(tcp.settings())
    assert cli("replay", out / "manifest.json").returncode == 0
