"""Dialogues in packetdrill's language: those of the project hold, and a script that is wrong is found out."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli

import varicap
from varicap._core import AckSample, CongestionEvent
from varicap.parts.dialogue import Dialogue, ScriptError, Verdict, dialogue

SCRIPTS = sorted((ROOT / "tests/dialogues").glob("*.pkt"))

HANDSHAKE = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
"""
LINES = HANDSHAKE.count("\n")


def after_handshake(*events: str, head: str = "", **tcp: Any) -> Dialogue:
    return dialogue(text=head + HANDSHAKE + "\n".join(events), **tcp)


def mutated(name: str, pattern: str, replacement: str, **tcp: Any) -> Dialogue:
    """A script of the project with a change at the first place that fits."""
    text = (ROOT / f"tests/dialogues/{name}.pkt").read_text()
    changed, count = re.subn(pattern, replacement, text, count=1)
    assert count == 1
    return dialogue(text=changed, **tcp)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_simulated_endpoints_follow_the_standards(script: Path) -> None:
    played = dialogue(script)
    assert played.verdict is Verdict.PASSED, played.text()
    assert played.unasked == 0, "the script looks at all that is sent"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_each_script_of_the_project_cites_its_source(script: Path) -> None:
    assert re.match(r"// .*RFC \d+ (§|\()", script.read_text().replace("\n// ", " "))


@pytest.mark.parametrize(
    ("name", "pattern", "replacement", "what"),
    [
        ("slow-start", "2001:4001.2000.", "2001:5001(3000)", "nothing was sent from 4001 on"),
        ("slow-start", "tcpi_snd_cwnd == 3", "tcpi_snd_cwnd == 4", "tcpi_snd_cwnd is 3"),
        ("newreno-recovery", "> . 1:1001", "> . 12001:13001", "data 1:1001(1000), not 12001:13001(1000)"),
        ("sack-recovery", "tcpi_lost == 2", "tcpi_lost == 3", "tcpi_lost is 2"),
        ("rto-backoff", r"\+2 >", "+1.5 >", "nothing was sent until 2.7875"),
        ("rto-backoff", r"\+2 >", "+2.5 >", "it was to be sent at 3.6"),
        ("rto-backoff", r"\+2 >", "+1~+1.5 >", "nothing was sent until 2.725"),
        ("delayed-acks", "6001:7001 4001:5001", "4001:5001 6001:7001", "sack 6001:7001 4001:5001, not"),
        ("ecn-sender", r"\[ect0\] W\.", "[ect0] .", "flags W., not ."),
        ("ecn-sender", r"> \[ect0\]", "> [noecn]", "[ect0], not [noecn]"),
        ("timestamps", "ecr 700", "ecr 710", "ecr 700, not 710"),
        ("timestamps", "<mss 1460,sackOK,TS val 9000 ecr 500>", "<mss 1460,sackOK>", "TS there, not missing"),
        ("zero-window", "ack 1 win 3000 <", "ack 1 win 2999 <", "win 3000, not 2999"),
        ("zero-window", "= 2000\n", "= 1999\n", "read returns 2000, not 1999"),
        ("close", "EPIPE", "ENOTCONN", "write returns -1 EPIPE, not -1 ENOTCONN"),
        ("close", r"\.\.\.0\.1 connect", "...0.2 connect", "connect returns at 0.100000 s, not at 0.200000 s"),
        ("close", r"wscale 7", "wscale 8", "wscale 7, not 8"),
    ],
)
def test_a_script_that_is_wrong_differs_where_it_is_wrong(name: str, pattern: str, replacement: str, what: str) -> None:
    played = mutated(name, pattern, replacement)
    assert played.verdict is Verdict.DIFFERS
    assert what in played.what
    (row,) = (row for row in played.rows if row.differs)
    line = (ROOT / f"tests/dialogues/{name}.pkt").read_text()
    at = re.search(pattern, line)
    assert at is not None
    assert row.line == played.line == line.count("\n", 0, at.start()) + 1


def test_a_difference_shows_both_timelines_and_what_was_in_flight() -> None:
    played = mutated("sack-recovery", "> . 1:1001", "> . 12001:13001")
    lines = played.text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("!"))
    before, differing = lines[at - 1 : at + 1]
    assert re.match(r" +0\.200000 +20 < \. 1:1\(0\) ack 1 win 65535 <sac…", before)
    assert re.match(
        r"! +0\.200000 +21 > \. 12001:13001\(1000\) ack 1 +> \. 1:1001\(1000\) ack 1 +8 / 5 recov", differing
    )
    assert max(map(len, played.text(width=80).splitlines()[1:])) <= 90


def test_settings_count_more_than_the_script() -> None:
    assert mutated("slow-start", "initcwnd 2", "initcwnd 2", initial_window="4 packets").what.startswith("it was")
    assert after_handshake(
        "+0 write(4, ..., 20000) = 20000",
        "+0 > . 1:3001(3000) ack 1",
        "+1 > . 1:1001(1000) ack 1",
        initial_window="3 packets",
    ).passed
    with pytest.raises(varicap.ScenarioError, match="tcp.nonsense: found `nonsense`"):
        after_handshake(nonsense=1)
    with pytest.raises(varicap.ScenarioError, match="handshake"):
        after_handshake(handshake=False)


def test_a_congestion_control_in_python_is_put_to_the_test() -> None:
    class Fixed:
        def __init__(self, mss: int, initial_window: int) -> None:
            self.cwnd = 4 * mss

        def on_ack(self, ack: AckSample) -> None:
            pass

        def on_congestion(self, event: CongestionEvent) -> None:
            pass

    events = ["+0 write(4, ..., 20000) = 20000", "+0 > . 1:4001(4000) ack 1"]
    events += ["+.1 < . 1:1(0) ack 1001 win 65535", "+0 > . 4001:5001(1000) ack 1"]
    assert after_handshake(*events, control=Fixed).passed
    assert not after_handshake(*events).passed


def test_the_tolerance_is_packetdrills() -> None:
    events = ["+0 write(4, ..., 1000) = 1000", "+0 > . 1:1001(1000) ack 1"]
    # 4 ms, or an eighth of the time since the event before.
    assert after_handshake(*events, "+.9 > . 1:1001(1000) ack 1").passed
    assert not after_handshake(*events, "+.88 > . 1:1001(1000) ack 1").passed
    assert after_handshake(*events, "* > . 1:1001(1000) ack 1").passed
    head = "--tolerance_percent=0\n--tolerance_usecs={}\n"
    assert after_handshake(*events, "+.98 > . 1:1001(1000) ack 1", head=head.format(20000)).passed
    assert not after_handshake(*events, "+.98 > . 1:1001(1000) ack 1", head=head.format(19000)).passed
    with pytest.raises(ScriptError, match=r"script:1:1: --tolerance_usecs=soon is not a number"):
        dialogue(text="--tolerance_usecs=soon\n" + HANDSHAKE)


@pytest.mark.parametrize(
    ("event", "what"),
    [
        ("+0 setsockopt(4, SOL_TCP, TCP_FASTOPEN, [5], 4) = 0", "TCP fast open"),
        ("+0 < S 0:0(0) win 1000 <mss 1460,FO 1234567812345678>", "TCP fast open"),
        ("+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0", "MSG_ZEROCOPY"),
        ("+0 send(4, ..., 100, MSG_OOB) = 100", "urgent data"),
        ("+0 < P. 1:101(100) ack 1 win 100 urg 5", "urgent data"),
        ("+0 < SA 0:0(0) win 65535 <mss 1000>", "AccECN"),
        ("+0 < icmp unreachable frag_needed mtu 1200 [1:1001(1000)]", "ICMP"),
        ("+0 > udp (1000)", "UDP"),
        ("+0 epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0) = 1", "the call epoll_wait"),
        ("+0 write(4, ..., 5000) = 2000", "a send buffer that fills"),
        ("+0 %{ assert tcpi_delivered == 3 }%", "tcpi_delivered"),
        ("+0 %{ import os }%", "import in a block of code"),
        ("+0 %{ assert ().__class__ }%", "attribute in a block of code"),
        ("+0 %{ print(open('/etc/passwd')) }%", "a call of open in a block of code"),
        ('+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, "bbr", 3) = 0', "congestion bbr"),
        ("+0 `sysctl -q net.ipv4.tcp_congestion_control=bbr`", "the congestion control bbr"),
        ("+0 shutdown(4, SHUT_RDWR) = 0", "shutdown of the reading half"),
    ],
)
def test_what_varicap_lacks_is_named_and_skipped(event: str, what: str) -> None:
    played = after_handshake(event)
    assert played.verdict is Verdict.SKIPPED
    assert [(lack.line, lack.what) for lack in played.lacks] == [(LINES + 1, what)]
    assert what in played.headline()


def test_a_call_waits_for_what_it_needs_and_the_next_call_for_it() -> None:
    data = "+.1 < P. 1:501(500) ack 1 win 65535"
    assert after_handshake("+0...0.1 read(4, ..., 500) = 500", data).passed
    late = after_handshake("+0...0.1 read(4, ..., 500) = 500", "+.3 < P. 1:501(500) ack 1 win 65535")
    assert late.what == "read has not returned at 0.200000 s"
    assert late.line == LINES + 1
    missing = after_handshake("+0...0.1 read(4, ..., 500) = 500")
    assert missing.what == "read has not returned at 0.200000 s"
    blocked = after_handshake("+0 read(4, ..., 500) = 500")
    assert (blocked.what, blocked.line) == ("the call does not return", LINES + 1)
    second = after_handshake("+0...0.1 read(4, ..., 500) = 500", "+0 write(4, ..., 10) = 10", data)
    assert second.what == "read has not returned at 0.200000 s"
    assert after_handshake(
        "+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0", "+0 read(4, ..., 5) = -1 EAGAIN (Try again)"
    ).passed


def test_what_is_found_to_lack_on_the_way_is_a_skip_too() -> None:
    # The FIN would have to be sent again; that the data before it was fine makes no pass of it.
    played = after_handshake("+0 close(4) = 0", "+0 > F. 1:1(0) ack 1", "+1 > F. 1:1(0) ack 1")
    assert played.verdict is Verdict.SKIPPED
    assert played.lacks[0].what == "a FIN that is sent again"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("0 socket(...) = 3\n+0 < X 0:0(0)", "2:6", "there is no flag `X`"),
        ("0 socket(..., = 3", "1:15", "expected an argument, not `=`"),
        ("0 socket(...) 3", "1:15", "expected `=` and what the call returns, not `3`"),
        ("+0 > . 1:1001(100) ack 1", "1:6", "1:1001 is not 100 bytes"),
        ("+0 < . 1:1(0) ack 1 <sack 5:4>", "1:27", "a SACK block ends before it begins"),
        ("+0 < . 1:1(0) ack 1 <mss 70000>", "1:26", "the MSS is 70000, not from 0 to 65535"),
        ("+0 < . 1:1(0) ack 1 <boo>", "1:22", "there is no TCP option `boo`"),
        ("+0 < . 1:1(0) ack 1 <...>", "1:21", "is for packets that are expected"),
        ("soon socket() = 3", "1:1", "expected the time of an event in seconds, not `soon`"),
        ("+.2~+.1 > . 1:1(0) ack 1", "1:1", "the range of times ends before it begins"),
        ("* < . 1:1(0) ack 1", "1:1", "the time `*` is for packets that are expected"),
        ("0 `sysctl", "1:3", "a shell command that does not end"),
        ("0 %{ assert 1", "1:3", "a block of code that does not end"),
        ("/* never", "1:1", "a comment that does not end"),
        ("0 %{ assert 1\nassert }%", "2:1", "the block is not Python"),
        ("0 %{ assert 1 // 0 }%", "1:1", "integer division or modulo by zero"),
        ("0 %{ assert 2 << 100000 }%", "1:1", "a number that is too large"),
        ("0 %{ assert 'a' * 1000000 }%", "1:1", "an operation on text"),
        ("0 %{ assert '%1000d' % 1 }%", "1:1", "a format that is too wide"),
        ("", "1:1", "the script has no events"),
        ("0 f(" + "[" * 100, "1:37", "arguments more than 32 deep"),
        ("1e9 socket() = 3", "1:1", "expected the time"),
        ("\x00\x1c\ufffd", "1:1", "expected the time"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(ScriptError) as raised:
        dialogue(text=text)
    assert str(raised.value).startswith(f"script:{place}: ")
    assert message in str(raised.value)


def test_no_input_makes_it_fail_in_another_manner() -> None:
    """Scripts cut off, and with words taken out, doubled or exchanged, are read or refused, and played to an end."""
    rng = random.Random(7)
    verdicts = set()
    for script in SCRIPTS:
        words = re.split(r"(\s+)", script.read_text())
        for _ in range(15):
            damaged = list(words)
            for _ in range(rng.randint(1, 4)):
                at, other = rng.randrange(len(damaged)), rng.randrange(len(damaged))
                damaged[at : at + 1] = rng.choice([[], [damaged[at]] * 2, [damaged[other]], [damaged[at][:-1]]])
            try:
                verdicts.add(dialogue(text="".join(damaged[: rng.randint(1, len(damaged))])).verdict.value)
            except ScriptError:
                verdicts.add("refused")
    assert verdicts >= {"differs", "refused"}


def test_commands_are_read_and_never_executed(tmp_path: Path) -> None:
    (tmp_path / "defaults.sh").write_text("sysctl -q net.ipv4.tcp_sack=0\nsysctl -q net.ipv4.tcp_frto=2\n")
    head = f"`./defaults.sh\ntouch {tmp_path}/executed\ncat missing.sh\n./missing.sh`\n"
    (tmp_path / "one.pkt").write_text(head + HANDSHAKE.replace("ack 1 <mss 1460,sackOK>", "ack 1 <mss 1460>"))
    played = dialogue(tmp_path / "one.pkt")
    assert played.passed, played.text()
    assert played.ignored[0] == "tcp_frto=2 (no F-RTO)"
    assert "missing.sh (it cannot be read)" in played.ignored
    assert not (tmp_path / "executed").exists()


def test_the_command_plays_files_and_folders(cli: Cli, tmp_path: Path) -> None:
    good, differs, skipped = (HANDSHAKE + event for event in ("", "+0 > . 1:1(0) ack 2\n", "+0 dup(3) = 4\n"))
    for name, text in {"a": good, "b": differs, "c/d": skipped}.items():
        path = tmp_path / f"{name}.pkt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    done = cli("dialogue", tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 passed, 1 differ, 1 skipped"
    assert "needs the call dup (line 8)" in done.stdout
    found = json.loads(cli("dialogue", tmp_path, "--json").stdout)
    assert found["counts"] == {"passed": 1, "differs": 1, "skipped": 1, "unread": 0}
    assert found["dialogues"][1]["timeline"][-1]["differs"] is True
    assert cli("dialogue", tmp_path / "a.pkt").returncode == 0
    assert "the script" in cli("dialogue", tmp_path / "b.pkt").stdout
    (tmp_path / "broken.pkt").write_text("0 <")
    done = cli("dialogue", tmp_path)
    assert done.returncode == 2
    assert "broken.pkt:1:4: " in done.stderr
    assert cli("dialogue", tmp_path / "none").returncode == 2


def test_the_command_takes_settings(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "window.pkt"
    script.write_text(
        HANDSHAKE + "+0 write(4, ..., 20000) = 20000\n+0 > . 1:3001(3000) ack 1\n+1 > . 1:1001(1000) ack 1"
    )
    assert cli("dialogue", script).returncode == 1
    assert cli("dialogue", script, "--set", "initial_window='3 packets'").returncode == 0
    settings = tmp_path / "tcp.toml"
    settings.write_text("[tcp]\ninitial_window = '3 packets'\n")
    assert cli("dialogue", script, "--settings", settings).returncode == 0
    assert cli("dialogue", script, "--settings", settings, "--set", "initial_window=4 packets").returncode == 1
    settings.write_text("tcp = 3")
    assert cli("dialogue", script, "--settings", settings).returncode == 2
