"""Experiments of other programs: each line becomes what it says, or a comment; strangers' files are only read."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import varicap
from varicap.importers import FORMS, ImportedError, import_file, import_text

FOREIGN = ROOT / "tests/foreign"


def imported(text: str, form: str | None = None, **given: str) -> dict[str, Any]:
    """What a text becomes, read as a scenario."""
    return tomllib.loads(import_text(text, form, given))


def forward(text: str) -> Mapping[str, Any]:
    """The link forward of a script of tc."""
    link: Mapping[str, Any] = imported(text)["topology"]["dumbbell"]["forward"]
    return link


@pytest.mark.parametrize(
    ("file", "form", "given"),
    [
        ("shaping.sh", "tc", {}),
        ("dumbbell.tcl", "ns-2", {}),
        ("topology.txt", "mininet", {}),
        ("routers.txt", "mininet", {"bw": "20", "rtt": "40"}),
        ("kollaps.xml", "kollaps", {}),
        ("picoquic.txt", "picoquic", {}),
    ],
)
def test_a_file_is_known_by_its_content_and_runs(file: str, form: str, given: dict[str, str], tmp_path: Path) -> None:
    text = import_file(FOREIGN / file, given=given)
    assert (
        f"({ {'ns-2': 'ns-2', 'tc': 'tc', 'mininet': 'Mininet', 'kollaps': 'Kollaps'}.get(form, 'picoquic_ns') })"
        in text
    )
    assert text == import_file(FOREIGN / file, form, given)
    (tmp_path / "imported.toml").write_text(text)
    result = varicap.run(tmp_path / "imported.toml", seeds=1, overrides={"duration": "6 s"})
    assert sum(flow["goodput_bps"]["mean"] for flow in result.summary["flows"]) > 1e5


def test_netem_and_tbf_are_what_they_say() -> None:
    link = forward(
        "tc qdisc add dev a root handle 1: netem delay 50ms 10ms 25% distribution pareto duplicate 1% corrupt 0.1% 5%\n"
        "tc qdisc add dev a parent 1: tbf rate 1mbit burst 32kbit latency 400ms"
    )
    delay = {"delay": "50 ms", "jitter": "10 ms", "correlation": "25 %", "distribution": "pareto"}
    assert link["delay"] == {"netem": delay}
    assert link["reorder"] is True
    assert link["netem"] == {"duplicate": "1 %", "corrupt": "0.1 %", "corrupt_correlation": "5 %"}
    assert link["queue"] == {"shaper": {"rate": "1 Mbit/s", "burst": "4096 B", "latency": "400 ms"}}
    assert link["framing"] == {"overhead": "14 B", "in_queue": True}


@pytest.mark.parametrize(
    ("said", "loss"),
    [
        ("loss 1%", "1 %"),
        ("loss random 0.3% 25%", {"correlated": {"probability": "0.3 %", "correlation": "25 %"}}),
        ("loss gemodel 1% 10% 70%", {"gemodel": {"p": "1 %", "r": "10 %", "one_minus_h": "70 %"}}),
        ("loss state 1% 20% 30%", {"4state": {"p13": "1 %", "p31": "20 %", "p32": "30 %"}}),
    ],
)
def test_losses_have_netems_parameters(said: str, loss: object) -> None:
    assert forward(f"tc qdisc add dev eth0 root netem {said}")["loss"] == loss


def test_reordering_and_a_rate_of_netem() -> None:
    link = forward("tc qdisc replace dev eth0 root netem delay 10ms reorder 25% 50% gap 5 rate 5mbit limit 200")
    assert link["delay"]["netem"] == {"delay": "10 ms", "reorder": "25 %", "reorder_correlation": "50 %", "gap": 5}
    assert (link["capacity"], link["queue"]) == ("5 Mbit/s", {"drop-tail": {"limit": "200 packets"}})


def test_a_limit_of_what_is_being_delayed_is_left_out_and_loops_are_looked_into() -> None:
    text = import_text("for D in a b; do tc qdisc add dev eth0 root netem delay 5ms limit 10; done")
    assert "netem's limit of what" in text
    assert tomllib.loads(text)["topology"]["dumbbell"]["forward"]["delay"] == "5 ms"


def test_htb_with_one_class_and_a_queue() -> None:
    text = (
        "tc qdisc add dev eth0 root handle 1: htb default 10\n"
        "tc class add dev eth0 parent 1: classid 1:10 htb rate 8mbit ceil 10mbit\n"
        "tc qdisc add dev eth0 parent 1:10 fq_codel limit 600 target 5ms interval 100ms noecn\n"
    )
    link = forward(text)
    assert link["capacity"] == "10 Mbit/s"
    queue = {"limit": "600 packets", "target": "5 ms", "interval": "100 ms", "ecn": False}
    assert link["queue"] == {"fq_codel": queue}
    second = text + "tc class add dev eth0 parent 1: classid 1:20 htb rate 1mbit\n"
    assert "# line 4: tc class add dev eth0 parent 1: classid 1:20 htb rate 1mbit — a second class" in import_text(
        second
    )


def test_a_second_device_leads_back_and_one_alone_says_nothing_of_the_way_back() -> None:
    both = imported("tc qdisc add dev b root netem delay 20ms\ntc qdisc add dev a root netem delay 5ms rate 1mbit")
    links = both["topology"]["dumbbell"]
    assert (links["forward"]["delay"], links["reverse"]["delay"]) == ("5 ms", "20 ms")
    assert imported("tc qdisc add dev a root netem delay 5ms")["topology"]["dumbbell"]["reverse"] == {"delay": "0 s"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x\ntc qdisc add dev a root netem delay fast", "line 2: found fast, expected a time such as 50ms"),
        ("tc qdisc add dev a root netem loss 120%", "line 1: found 120%, expected a percentage"),
        ("tc qdisc add dev a root tbf rate 1mbit burst 10k", "expected tbf with a limit or a latency"),
        ("tc qdisc add dev a root netem delay $RTT", "line 1: found $RTT, expected a value for it: --set NAME=VALUE"),
        ("mm-delay soon mm-link a b", "found soon, expected a delay in whole milliseconds"),
        ("mm-link only-one", "expected mm-link with two traces"),
        (
            'mm-link --uplink-queue=droptail --uplink-queue-args="packets=1e999" u.trace d.trace',
            "found packets=1e999, expected a number for `packets`",
        ),
        ("mm-loss up 0.1", "line 1: found up, expected uplink or downlink"),
        ("set ns [new Simulator]\n$ns run", "expected `$ns duplex-link"),
        ("set ns [new Simulator]\nset a [$ns node\n", "line 2: found [$ns node, expected a closing bracket"),
        ("from mininet.net import X\nnet.addLink(a, b", "line 2"),
        ("from mininet.net import X\nnet.addLink('a', 'b', bw=x)", "line 2: found x, expected a value for `bw`"),
        ("<experiment><links><link origin='a' dest='b' upload='fast'/></links></experiment>", "a rate such as 100Mbps"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]>\n<experiment>&b;</experiment>", "expected no document type"),
        ("<experiment>\n<link", "line 2"),
        ("data_rate_in_gbps: 0.02\nlatency 5\n", "line 2: found latency 5, expected `name: value`"),
        ("hello", "found hello, expected one of tc, mininet, ns-2, mahimahi, kollaps, picoquic"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(ImportedError, match=r"^text") as refused:
        import_text(text)
    assert complaint in str(refused.value)


def test_a_script_of_ns2_is_a_graph_with_its_stack() -> None:
    scenario = tomllib.loads(import_file(FOREIGN / "dumbbell.tcl"))
    link = scenario["topology"]["graph"]["links"]["n1-n2"]
    assert (link["capacity"], link["delay"]) == ("500 kbit/s", "100 ms")
    assert link["queue"] == {"drop-tail": {"limit": "5 packets", "ties": "arrivals-first"}}
    ftp, cbr = scenario["flows"]["ftp-1"], scenario["flows"]["cbr-2"]
    assert (ftp["start"], ftp["stop"], scenario["duration"]) == ("0.1 s", "5 s", "5.1 s")
    assert ftp["tcp"] == {"stack": "ns-2.35", "recovery": "reno", "mss": "1000 B", "receive_window": "20 packets"}
    assert ftp["jitter"] == "0 s"
    assert cbr["datagrams"] == {"rate": "1 Mbit/s", "size": "1000 B"}


def test_tcl_has_sums_loops_procedures_and_conditions() -> None:
    text = """
    set ns [new Simulator]
    set N 3
    proc make {name} { global ns; return [$ns node] }
    for {set i 0} {$i < $N} {incr i} { set n($i) [make $i] }
    if {$N > 5} { set rate 1Mb } else { set rate [expr $N * 2]Mb }
    foreach {i} {0 1} { $ns duplex-link $n($i) $n([expr $i + 1]) $rate 10ms RED }
    set tcp [new Agent/TCP/Newreno]; set sink [new Agent/TCPSink/DelAck]
    $ns attach-agent $n(0) $tcp; $ns attach-agent $n(2) $sink; $ns connect $tcp $sink
    $tcp set window_ 40
    $tcp set tcpTick_ 0.5
    set ftp [$tcp attach-source FTP]
    """
    text = text.replace("[$tcp attach-source FTP]", "[new Application/FTP]\n    $ftp attach-agent $tcp")
    text += '    $ns at 1.0 "$ftp start"\n    $ns run\n'
    found = import_text(text, given={"N": "3"})
    scenario = tomllib.loads(found)
    assert set(scenario["topology"]["graph"]["links"]) == {"n0-n1", "n1-n0", "n1-n2", "n2-n1"}
    assert scenario["topology"]["graph"]["links"]["n0-n1"]["capacity"] == "6 Mbit/s"
    (flow,) = scenario["flows"].values()
    assert flow["tcp"]["receive_window"] == "40 packets"
    assert flow["tcp"]["ack"] == "delayed"
    assert "tcpTick_ 0.5 — a setting of the agent that no key stands for" in found


def test_mininet_is_read_by_its_syntax_and_never_run(tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    text = (
        f"import os\nos.mkdir({str(harm)!r})\nnet.addLink('h1', 's1', bw=10, delay='5ms', loss=2, max_queue_size=50)\n"
    )
    scenario = imported(text)
    assert not harm.exists()
    link = scenario["topology"]["graph"]["links"]["h1-s1"]
    assert (link["capacity"], link["delay"], link["loss"]) == ("10 Mbit/s", "5 ms", "2 %")
    assert link["queue"] == {"drop-tail": {"limit": "50 packets"}}


def test_tc_on_an_interface_of_mininet_replaces_what_tclink_had_set() -> None:
    text = import_file(FOREIGN / "routers.txt", given={"bw": "20", "rtt": "40"})
    scenario = tomllib.loads(text)
    link = scenario["topology"]["graph"]["links"]["r1-h2"]
    assert link["delay"] == "20 ms"
    shaper = {"rate": "20 Mbit/s", "burst": "15000 B", "queue": {"drop-tail": {"limit": "100000 B"}}}
    assert link["queue"] == {"shaper": shaper}
    assert scenario["tcp"] == {"stack": "linux", "congestion": "bbr"}
    assert "iperf3 -c 10.0.2.1 -t 60 — a program" in text
    with pytest.raises(ImportedError, match="found rtt, expected a value for it"):
        import_file(FOREIGN / "routers.txt", given={"bw": "20"})


def test_mahimahis_shells_are_within_each_other() -> None:
    links = imported(
        "mm-delay 10 mm-onoff downlink 1 0.25 mm-delay 5 mm-link u.trace d.trace --once --downlink-queue=codel "
        '--downlink-queue-args="packets=50, target=5, interval=100" -- bash'
    )["topology"]["dumbbell"]
    down, up = links["forward"], links["reverse"]
    assert (down["delay"], up["delay"]) == ("15 ms", "15 ms")
    assert down["loss"] == {"markov": {"good": "1 s", "bad": "250 ms"}}
    assert down["capacity"] == {"opportunities": {"file": "d.trace", "mahimahi": True, "repeat": False}}
    assert down["queue"] == {"codel": {"limit": "50 packets", "target": "5 ms", "interval": "100 ms"}}
    assert up["queue"] == {"drop-tail": {"limit": "unlimited"}}


def test_what_came_with_a_file_cannot_leave_its_comment() -> None:
    text = import_text(
        "tc qdisc add dev a root netem delay 5ms\ntc qdisc add dev a ingress \u2028x \u001b[31m\u0085duration=1"
    )
    assert "\u001b" not in text
    assert tomllib.loads(text)["duration"] == "60 s"


@pytest.mark.parametrize(
    "text",
    [
        "set ns [new Simulator]\nwhile {1} {}\nfor {set i 0} {1} {incr i} { set a [$ns node] }",
        "proc f {} { f }\nset ns [new Simulator]\nf",
        "from mininet.net import X\n" + "x = 'a' * 10**9\ny = '%999999999d' % 1\nnet.addLink(y, x)",
        "tc " + "[" * 100_000,
        "set ns [new Simulator]\n" + "set a [" * 5_000,
        "from mininet.net import X\nx = " + "(" * 5_000,
    ],
)
def test_what_would_never_end_is_refused(text: str) -> None:
    with pytest.raises(ImportedError):
        import_text(text)


def test_the_command_writes_a_file_that_check_accepts(cli: Any, tmp_path: Path) -> None:
    out = tmp_path / "shaping.toml"
    done = cli("import", str(FOREIGN / "shaping.sh"), "--set", "1=20mbit", "-o", str(out))
    assert done.returncode == 0
    assert "1 lines of" in done.stderr
    assert tomllib.loads(out.read_text())["topology"]["dumbbell"]["forward"]["queue"]["shaper"]["rate"] == "20 Mbit/s"
    assert cli("check", str(out)).returncode == 0
    assert cli("import", str(FOREIGN / "shaping.sh")).stdout == import_file(FOREIGN / "shaping.sh")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere.sh"], "nowhere.sh: found there is no such file, expected a file that can be read"),
        (["/dev/zero"], "found not a file"),
        ([str(FOREIGN / "shaping.sh"), "--from", "ns-4"], "--from ns-4: is none of tc, mininet"),
        ([str(FOREIGN / "shaping.sh"), "--set", "x"], "--set x: is not NAME=VALUE"),
        ([str(FOREIGN / "kollaps.xml"), "--from", "tc"], "no command `tc qdisc add …`"),
    ],
)
def test_the_command_refuses_in_one_line(cli: Any, arguments: list[str], complaint: str) -> None:
    done = cli("import", *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_each_form_has_a_name() -> None:
    assert list(FORMS) == ["tc", "mininet", "ns-2", "mahimahi", "kollaps", "picoquic"]
