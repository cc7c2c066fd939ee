"""Dialogues in packetdrill's language: those of the project hold, and a script that is wrong differs."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli

import varicap
from varicap._core import AckSample, CongestionEvent
from varicap._files import UnreadableError
from varicap.parts.dialogue import Dialogue, ScriptError, Verdict, compare, dialogue
from varicap.parts.dialogue.fq import FairQueue, Window
from varicap.parts.dialogue.script import Packet

SCRIPTS = sorted((ROOT / "tests/dialogues").rglob("*.pkt"))
"""The project's own, each in a folder with the name of the stack that it is for."""

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


def after_handshake(*events: str, head: str = "", stack: str = "rfc", **tcp: Any) -> Dialogue:
    return dialogue(text=head + HANDSHAKE + "\n".join(events), stack=stack, **tcp)


def mutated(name: str, pattern: str, replacement: str, **tcp: Any) -> Dialogue:
    """A script of the project with a change at the first place that fits."""
    text = (ROOT / f"tests/dialogues/rfc/{name}.pkt").read_text()
    changed, count = re.subn(pattern, replacement, text, count=1)
    assert count == 1
    return dialogue(text=changed, stack="rfc", **tcp)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_simulated_endpoints_do_what_their_stack_does(script: Path) -> None:
    played = dialogue(script, stack=script.parent.name)
    assert played.verdict is Verdict.PASSED, played.text()
    assert played.unasked == 0, "the script looks at all that is sent until its last event"


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
        ("timestamps", "> . 1:1001(.*) val 10210", r"> . 1:1001\1 val 10400", "TS val 10210, not 10400"),
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
    line = (ROOT / f"tests/dialogues/rfc/{name}.pkt").read_text()
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
    with pytest.raises(varicap.ScenarioError, match="found `nonsense`, expected the key"):
        after_handshake(nonsense=1)
    with pytest.raises(varicap.ScenarioError, match="handshake"):
        after_handshake(handshake=False)
    with pytest.raises(varicap.ScenarioError, match="handshake_ack"):
        after_handshake(handshake_ack=True)


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


def test_a_tolerance_that_is_given_counts_more_than_the_scripts(cli: Cli, tmp_path: Path) -> None:
    head = "--tolerance_percent=0\n--tolerance_usecs=30000\n"
    late = head + HANDSHAKE + "\n+0 write(4, ..., 1000) = 1000\n+.02 > P. 1:1001(1000) ack 1\n"
    assert dialogue(text=late).passed
    assert dialogue(text=late, tolerance="20 ms").passed
    assert not dialogue(text=late, tolerance="19 ms").passed
    with pytest.raises(ValueError, match="soon"):
        dialogue(text=late, tolerance="soon")

    script = tmp_path / "late.pkt"
    script.write_text(late)
    assert cli("dialogue", script, "--tolerance", "20 ms").returncode == 0
    assert cli("dialogue", script, "--tolerance", "19 ms").returncode == 1
    refused = cli("dialogue", script, "--tolerance", "-1 s")
    assert refused.returncode == 2
    assert "--tolerance: `-1 s` is not a length of time" in refused.stderr


def test_the_clock_of_timestamps_counts_if_the_script_says_how_long_a_tick_is() -> None:
    stamped = HANDSHAKE.replace("sackOK>", "sackOK,TS val 500 ecr 0>", 1)
    stamped = stamped.replace("1460,sackOK>", "1460,sackOK,TS val 123456 ecr 500>")
    stamped = stamped.replace("ack 1 win 65535\n", "ack 1 win 65535 <TS val 600 ecr 123456>\n")
    stamped += "+0 write(4, ..., 900) = 900\n+0 > . 1:901(900) ack 1 <TS val {} ecr 600>"
    # As in packetdrill, where the option is 0 unless it is given.
    for head in ("", "--tcp_ts_tick_usecs=0\n"):
        assert dialogue(text=head + stamped.format(5)).passed
    head = "--tcp_ts_tick_usecs=1000\n"
    assert dialogue(text=head + stamped.format(123556)).passed
    assert dialogue(text=head + stamped.format(5)).what == "TS val 123556, not 5"
    assert dialogue(text=head + stamped.format(123576)).what == "TS val 123556, not 123576"
    other = dialogue(text="--tcp_ts_tick_usecs=10\n" + stamped.format(133456))
    assert [lack.what for lack in other.lacks] == ["a clock of timestamps with 10 us to the tick"]
    with pytest.raises(ScriptError, match="--tcp_ts_tick_usecs=fast is not a number"):
        dialogue(text="--tcp_ts_tick_usecs=fast\n" + HANDSHAKE)


def test_only_full_segments_with_the_same_header_make_up_a_large_one() -> None:
    small = ["+0 write(4, ..., 500) = 500"] * 2
    assert after_handshake(*small, "+0 > . 1:501(500) ack 1", "+0 > . 501:1001(500) ack 1").passed
    assert after_handshake(*small, "+0 > . 1:1001(1000) ack 1").what == "data 1:501(500), not 1:1001(1000)"
    assert after_handshake(
        "+0 write(4, ..., 1500) = 1500", "+0 write(4, ..., 1000) = 1000", "+0 > . 1:2501(2500) ack 1"
    ).what.startswith("data 1001:1501(500), not 1001:2501(1500)")
    strict = ["+0 write(4, ..., 1500) = 1500", "+0 > . 1:1501(1500) ack 1"]
    assert after_handshake(*strict).passed
    assert after_handshake(*strict, head="--strict_segments\n").what == "data 1:1001(1000), not 1:1501(1500)"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"flags": "E."}, "flags E. at 1001, after . at 1"),
        ({"flags": "W."}, "flags W. at 1001, after . at 1"),
        ({"ack": 2}, "ack 2 at 1001, after 1 at 1"),
        ({"ecn": "noecn"}, "[noecn] at 1001, after [ect0] at 1"),
    ],
)
def test_the_parts_of_a_large_segment_agree(change: dict[str, Any], what: str) -> None:
    first = Packet(False, ".", 1, 1000, 1, ecn="ect0")
    second = replace(first, start=1001)
    assert compare.disagreement(first, second) is None
    assert compare.disagreement(replace(first, flags="W."), second) is None
    assert compare.disagreement(first, replace(second, **change)) == what


def test_a_segment_that_is_sent_again_is_no_part_of_one_with_new_data() -> None:
    ecn = HANDSHAKE.replace("< S ", "< SEW ").replace("> S. ", "> SE. ")
    events = ["+0 write(4, ..., 9000) = 9000", "+0 > . 1:2001(2000) ack 1", "+1 > . 1:1001(1000) ack 1"]
    events += ["+.1 < . 1:1(0) ack 1001 win 65535", "+0 > . 1001:3001(2000) ack 1"]
    assert after_handshake(*events, initial_window="2 packets").passed
    # RFC 3168: what is sent again is not ECN-capable (§6.1.5), and new data says that the window was reduced (§6.1.2).
    played = dialogue(text=ecn + "\n".join(events), stack="rfc", initial_window="2 packets")
    assert played.what == "flags W. at 2001, after . at 1001"


def test_what_comes_after_a_segment_counts_from_when_it_was_sent() -> None:
    events = ["+0 write(4, ..., 1000) = 1000", "+0 > . 1:1001(1000) ack 1", "{} > . 1:1001(1000) ack 1"]
    for when in ("*", "+0~+5"):
        first = [event.format(when) for event in events]
        assert after_handshake(*first, "+2 > . 1:1001(1000) ack 1").passed
        for wrong in ("+1.7", "+2.3"):
            # An eighth of that is less than 0.3 s.
            assert not after_handshake(*first, f"{wrong} > . 1:1001(1000) ack 1").passed


@pytest.mark.parametrize(
    ("event", "what"),
    [
        ("+0 setsockopt(4, SOL_TCP, TCP_FASTOPEN, [5], 4) = 0", "TCP fast open"),
        ("+0 < S 0:0(0) win 1000 <mss 1460,FO 1234567812345678>", "TCP fast open"),
        ("+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0", "MSG_ZEROCOPY"),
        ("+0 send(4, ..., 100, MSG_OOB) = 100", "urgent data"),
        ("+0 < P. 1:101(100) ack 1 win 100 urg 5", "urgent data"),
        ("+0 `sysctl -q net.ipv4.tcp_ecn_option=1`", "the setting tcp_ecn_option=1"),
        ("+0 < icmp unreachable frag_needed mtu 1200 [1:1001(1000)]", "ICMP"),
        ("+0 > udp (1000)", "UDP"),
        ("+0 epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0) = 1", "the call epoll_wait"),
        ("+0 write(4, ..., 5000) = 2000", "a send buffer that fills"),
        ("+0 %{ assert tcpi_delivered == 3 }%", "tcpi_delivered"),
        ("+0 %{ assert tcpi_rcv_space == 3 }%", "tcpi_rcv_space"),
        ("+0 %{ assert tcpi_reordering == 3 }%", "the name tcpi_reordering of this connection"),
        ("+0 %{ import os }%", "import in a block of code"),
        ("+0 %{ assert ().__class__ }%", "attribute in a block of code"),
        ("+0 %{ print(open('/etc/passwd')) }%", "a call of open in a block of code"),
        ('+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, "htcp", 4) = 0', "congestion htcp"),
        ("+0 `sysctl -q net.ipv4.tcp_congestion_control=htcp`", "the congestion control htcp"),
        ("+0 getsockopt(4, SOL_TCP, TCP_NODELAY, [77], [4]) = 0", "reading the socket option TCP_NODELAY"),
        ("+0 getsockopt(4, SOL_IP, IP_TOS, [77], [4]) = 0", "reading the socket option IP_TOS"),
        ("+0 `sysctl -q net.ipv4.tcp_slow_start_after_idle=0`", "settings that change after the connection was opened"),
        ("+0 `ip route change default dev tun0 initcwnd 1`", "settings that change after the connection was opened"),
        ("+0 `sysctl -q net.ipv4.tcp_timestamps=0`", "settings that change after the connection was opened"),
        ("+0 `sysctl -q net.ipv4.tcp_shrink_window=1`", "the setting tcp_shrink_window=1"),
        ("+0 `echo 1 >/proc/sys/net/ipv4/tcp_thin_linear_timeouts`", "the setting tcp_thin_linear_timeouts=1"),
        ("+0 `sysctl -q net.ipv4.tcp_sack=yes`", "the setting tcp_sack=yes"),
        ("+0 `sysctl -q net.ipv4.tcp_ecn=3`", "settings that change after the connection was opened"),
        ("+0 `sysctl -q net.ipv4.tcp_ecn=6`", "the setting tcp_ecn=6"),
        ("+0 `sysctl -q net.ipv4.tcp_min_tso_segs=0`", "the setting tcp_min_tso_segs=0"),
        (
            "+0 `tc qdisc replace dev tun0 root fq limit 9`",
            "a queue of the host (tc qdisc replace dev tun0 root fq limit 9)",
        ),
        ("+0 `sysctl -qp some.conf`", "the settings of a file (sysctl -qp some.conf)"),
        ("+0 `ip route change 192.0.2.1 dev tun0 initcwnd 10 mtu 500`", "ip route mtu 500"),
        ("+0 `ip route change default via 10.0.0.1 quickack 1`", "ip route quickack 1"),
        (
            "+0 `tc qdisc replace dev tun0 root netem loss 5%`",
            "a queue of the host (tc qdisc replace dev tun0 root netem loss 5%)",
        ),
        ("+0 `iptables -A OUTPUT -p tcp -j DROP`", "a filter of the host (iptables -A OUTPUT -p tcp -j DROP)"),
        ("+0 shutdown(4, SHUT_RDWR) = 0", "shutdown of the reading half"),
        ("+0 fcntl(4, F_GETFD, 0) = 0", "fcntl with F_GETFD, 0"),
        ("+0 fcntl(4, F_SETFL, O_RDWR|O_NONSENSE) = 0", "fcntl with F_SETFL, O_RDWR|O_NONSENSE"),
        ('+0 read(4, "abc", 3) = 3', "the content of data that is read"),
        ("+0 setsockopt(4, SOL_SOCKET, SO_ERROR, [0], 4) = 0", "the socket option SO_ERROR"),
        ('+0 setsockopt(4, SOL_SOCKET, SO_RCVBUF, "many", 4) = 0', 'SO_RCVBUF with the value "many"'),
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
    tardy = after_handshake("+0...0.1 read(4, ..., 500) = 500", "+.3 < P. 1:501(500) ack 1 win 65535")
    assert tardy.what == "read has not returned at 0.200000 s"
    assert tardy.line == LINES + 1
    missing = after_handshake("+0...0.1 read(4, ..., 500) = 500")
    assert missing.what == "read has not returned at 0.200000 s"
    blocked = after_handshake("+0 read(4, ..., 500) = 500")
    assert (blocked.what, blocked.line) == ("the call does not return", LINES + 1)
    second = after_handshake("+0...0.1 read(4, ..., 500) = 500", "+0 write(4, ..., 10) = 10", data)
    assert second.what == "read has not returned at 0.200000 s"
    never = "+1...1.1 read(4, ..., 500) = 500"
    for after in ([], ["+0 write(4, ..., 10) = 10", "+0 > . 1:11(10) ack 1"]):
        assert after_handshake(never, *after).what == "read has not returned at 1.200000 s"
    # The tolerance is a share of the time that the call takes, but of no more than the time since the event before.
    late = "12.2 < P. 1:501(500) ack 1 win 65535"
    write = "{} write(4, ..., 1) = 1"
    for before, read in (([], "11.9...12"), ([write.format("9.9")], "10...12")):
        played = after_handshake(*before, f"{read} read(4, ..., 500) = 500", late)
        assert played.what == "read has not returned at 12.000000 s"
    assert after_handshake(write.format(8), "10...12 read(4, ..., 500) = 500", late).passed
    assert after_handshake(
        "+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0", "+0 read(4, ..., 5) = -1 EAGAIN (Try again)"
    ).passed


def test_settings_of_a_socket_and_its_error_are_read() -> None:
    congestion = "+0 getsockopt(4, SOL_TCP, TCP_CONGESTION, {}, [5]) = 0"
    assert after_handshake(congestion.format('"reno"')).passed
    assert after_handshake(congestion.format("...")).passed
    assert after_handshake(congestion.format('"cubic"'), congestion="cubic").passed
    assert after_handshake(congestion.format('"vegas"')).what == "getsockopt returns 0 with TCP_CONGESTION reno, not 0"
    reset = "+0 < R. 1:1(0) ack 1 win 0"
    error = "+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [{}], [4]) = 0"
    for name in ("ECONNRESET", "104"):
        # It is read once.
        assert after_handshake(reset, error.format(name), error.format(0)).passed
    for wrong in ("0", "99", "EPIPE"):
        assert (
            after_handshake(reset, error.format(wrong)).what == "getsockopt returns 0 with SO_ERROR ECONNRESET, not 0"
        )
    assert after_handshake(error.format(0)).passed
    assert after_handshake(error.format("EPIPE")).what == "getsockopt returns 0 with SO_ERROR 0, not 0"


def test_a_send_buffer_with_a_size_is_a_lack_once_more_is_written() -> None:
    buffer = "+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [2000], 4) = 0"
    write = "+0 write(4, ..., 2000) = 2000"
    assert after_handshake(buffer, write, "+.1 < . 1:1(0) ack 2001 win 65535", write).passed
    played = after_handshake(buffer, write, "+.1 < . 1:1(0) ack 2000 win 65535", write)
    assert [lack.what for lack in played.lacks] == ["a send buffer that fills"]
    # Linux takes twice as much.
    assert after_handshake(buffer, write, write, stack="linux").passed
    assert after_handshake(buffer, write, write, write, stack="linux").verdict is Verdict.SKIPPED


def test_a_socket_may_be_made_non_blocking() -> None:
    for begin in (
        "0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, 0) = 3",
        "0 socket(...) = 3\n+0 fcntl(3, F_SETFL, 2048) = 0",
    ):
        assert dialogue(text=f"{begin}\n+0 listen(3, 1) = 0\n+0 accept(3, ..., ...) = -1 EAGAIN").passed


def test_a_command_that_changes_nothing_may_stand_anywhere() -> None:
    head = "`sysctl -q net.ipv4.tcp_timestamps=1`\n"
    assert after_handshake("+0 `sysctl -q net.ipv4.tcp_timestamps=1 net.core.rmem_max=9; sleep 1`", head=head).passed
    # Before the connection it counts.
    listening = HANDSHAKE.replace("+0 < S", "+0 `sysctl net.ipv4.tcp_sack=0`\n+0 < S").replace("1460,sackOK", "1460")
    assert dialogue(text=listening).passed


def test_a_setting_that_the_user_overrides_is_no_lack() -> None:
    head = "`sysctl -q net.ipv4.tcp_congestion_control=htcp`\n"
    assert after_handshake(head=head).verdict is Verdict.SKIPPED
    assert after_handshake(head=head, congestion="reno").passed
    before = (
        "+0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [1000], 4) = 0\n+0 setsockopt(3, SOL_SOCKET, SO_RCVBUF, [999], 4) = 0"
    )
    text = HANDSHAKE.replace("+0 listen", f"{before}\n+0 listen")
    assert dialogue(text=text).what == "mss 1000, not 1460"
    text = text.replace("ack 1 <mss", "ack 1 win 5000 <mss")
    assert dialogue(text=text, mss="1460 B", receive_window="5000 B").passed


def stamped(*events: str) -> Dialogue:
    """After a handshake with timestamps, in which the peer's last was 600."""
    text = HANDSHAKE.replace("sackOK>", "sackOK,TS val 500 ecr 0>", 1)
    text = text.replace("1460,sackOK>", "1460,sackOK,TS val 9000 ecr 500>")
    return dialogue(text=text.replace("win 65535\n", "win 65535 <TS val 600 ecr 9000>\n") + "\n".join(events))


CLOSED = "+0 %{ assert tcpi_state == TCP_CLOSE, tcpi_state }%"
OPEN = "+0 %{ assert tcpi_state == TCP_ESTABLISHED, tcpi_state }%"
ANSWER = "+0 > . 1:1(0) ack 1"


@pytest.mark.parametrize(
    ("events", "tcp"),
    [
        pytest.param(["+0 < R 1:1(0)", CLOSED], {}, id="the next number resets (RFC 5961 §3.2)"),
        pytest.param(["+0 < R 5:5(0)", ANSWER, OPEN], {}, id="another in the window is challenged"),
        pytest.param(
            ["+0 < R 5000001:5000001(0)", OPEN, "+0 < P. 1:2(1) ack 1 win 65535", "+.04 > . 1:1(0) ack 2"],
            {"receive_window": "10000 B"},
            id="one outside is dropped",
        ),
        pytest.param(["+0 < S 0:0(0) win 1", ANSWER, OPEN], {}, id="a SYN is challenged (RFC 5961 §4)"),
        pytest.param(["+0 < . 4294967295:4294967295(0) ack 1 win 9", ANSWER], {}, id="an old number is answered"),
        pytest.param(
            ["+0 < . 999999:1000999(1000) ack 1 win 9", ANSWER], {"receive_window": "5000 B"}, id="data outside is too"
        ),
        pytest.param(
            [
                *("+0 write(4, ..., 3000) = 3000", "+0 > . 1:3001(3000) ack 1", "+.1 < . 1:1(0) ack 3001 win 65535"),
                *("+0 < . 1:1(0) ack 1 win 0", "+0 write(4, ..., 1000) = 1000", "+0 > . 3001:4001(1000) ack 1"),
                "+0 %{ assert tcpi_snd_wnd == 65535, tcpi_snd_wnd }%",
            ],
            {},
            id="an old acknowledgement has no window (RFC 9293 §3.10.7.4)",
        ),
        pytest.param(
            [
                *("+0 < . 1001:1501(500) ack 1 win 4000", "+0 > . 1:1(0) ack 1 <sack 1001:1501>"),
                *("+0 < . 1:1001(1000) ack 1 win 9", "+0 > . 1:1(0) ack 1501"),
                "+0 %{ assert tcpi_snd_wnd == 4000, tcpi_snd_wnd }%",
            ],
            {},
            id="nor has a segment with an older number",
        ),
        pytest.param(
            ["+0 < F. 1:4001(4000) ack 1 win 9", "+0 > . 1:1(0) ack 3001 win 0", OPEN, "+.1 < R 3001:3001(0)", CLOSED],
            {"receive_window": "3000 B"},
            id="what is beyond the window is cut off, and a reset counts in a closed one (RFC 9293 §3.10.7.4)",
        ),
        pytest.param(
            ["+0 < . 1:1(0) ack 4294000000 win 9", ANSWER, "+0 < . 1:1(0) ack 900 win 9", ANSWER],
            {},
            id="an acknowledgement older than a window, or of what was not sent, is answered (RFC 5961 §5)",
        ),
    ],
)
def test_segments_that_are_not_acceptable_are_answered_or_dropped(events: list[str], tcp: dict[str, Any]) -> None:
    played = after_handshake(*events, **tcp)
    assert played.passed, played.text()
    assert played.unasked == 0


def test_data_and_a_fin_beyond_the_window_are_not_there_yet() -> None:
    cut = ["+0 < F. 1:4001(4000) ack 1 win 9", "+0 > . 1:1(0) ack 3001 win 0", "+0 read(4, ..., 3000) = 3000"]
    cut += ["* > . 1:1(0) ack 3001 win 3000", "+0 < {}. 3001:4001(1000) ack 1 win 9"]
    # Nor is the data that is cut off, so that it does not come twice.
    head = "`sysctl -q net.ipv4.tcp_dsack=1`\n"
    for flag, ack in (("", 4001), ("F", 4002)):
        events = [*cut[:-1], cut[-1].format(flag), f"* > . 1:1(0) ack {ack}"]
        played = after_handshake(*events, head=head, receive_window="3000 B")
        assert played.passed, played.text()


def test_old_and_missing_timestamps_keep_data_out() -> None:
    nothing = "+0 fcntl(4, F_SETFL, O_NONBLOCK) = 0\n+0 read(4, ..., 500) = -1 EAGAIN"
    # PAWS, RFC 7323 §5.3: answered; §3.2: dropped silently.
    old = ["+0 < P. 1:501(500) ack 1 win 65535 <TS val 5 ecr 9000>", "+0 > . 1:1(0) ack 1 <TS val 9100 ecr 600>"]
    assert stamped(*old, nothing).passed
    without = stamped("+0 < P. 1:501(500) ack 1 win 65535", nothing)
    assert without.passed
    assert without.unasked == 0
    assert stamped("+0 < P. 1:501(500) ack 1 win 65535 <TS val 601 ecr 9000>", "+0 read(4, ..., 500) = 500").passed


def test_timestamps_go_on_after_their_largest_value() -> None:
    events = []
    for at, value in ((1, 2147480000), (501, 4294960000), (1001, 5)):
        events.append(f"+0 < P. {at}:{at + 500}(500) ack 1 win 65535 <TS val {value} ecr 9000>")
        events.append(f"* > . 1:1(0) ack {at + 500} <TS val 1 ecr {value}>")
    played = stamped(*events)
    assert played.passed, played.text()


def test_a_reset_in_the_handshake_leaves_nothing_to_accept() -> None:
    reset = HANDSHAKE.replace("+.1 < .", "+.1 < R.")
    assert dialogue(text=reset).what == "the call does not return"
    wrong = HANDSHAKE.replace("1:1(0) ack 1 win 65535\n+0 accept(3, ..., ...) = 4", "1:1(0) ack 7 win 1\n+0 > R 7:7(0)")
    assert dialogue(text=wrong).passed
    text = "0 socket(...) = 3\n+0...0.2 connect(3, ..., ...) = {}\n+0 > S 0:0(0) <...>\n+.1 < {}\n"
    text += "+.1 < S. 0:0(0) ack 1 win 9 <mss 1000>"
    assert dialogue(text=text.format("0", "R. 0:0(0) ack 9")).passed
    assert dialogue(text=text.format("0", "R 0:0(0)")).passed
    refused = dialogue(text=text.format("-1 ECONNREFUSED", "R. 0:0(0) ack 1"))
    assert refused.what == "connect returns at 0.100000 s, not at 0.200000 s"


WRITE = ["+0 write(4, ..., 5000) = 5000", "+0 > . 1:5001(5000) ack 1"]
GAP = "+.1 < . 1:1(0) ack 1 win 65535 <sack 2001:3001>"


@pytest.mark.parametrize(
    ("setting", "events", "behaviour"),
    [
        ("tcp_recovery=1", [*WRITE, GAP], "RACK"),
        ("tcp_fack=1", [*WRITE, GAP], "FACK"),
        ("tcp_frto=2", [*WRITE, "+1 > . 1:1001(1000) ack 1", "+.1 < . 1:1(0) ack 1001 win 65535"], "F-RTO"),
        ("tcp_early_retrans=3", [*WRITE, "+.3 %{ assert 1 }%"], "tail loss probe"),
        (
            "tcp_dsack=1",
            ["+0 < . 1:1001(1000) ack 1 win 9", "+0 < . 1:1001(1000) ack 1 win 9"],
            "D-SACK",
        ),
        (
            "tcp_dsack=1",
            ["+0 < . 1:1001(1000) ack 1 win 9", "+0 < . 501:1501(1000) ack 1 win 9"],
            "D-SACK",
        ),
        (
            "tcp_dsack=1",
            [
                *("+0 < . 1001:2001(1000) ack 1 win 9", "+0 > . 1:1(0) ack 1 <sack 1001:2001>"),
                "+0 < . 1001:2001(1000) ack 1 win 9",
            ],
            "D-SACK",
        ),
    ],
)
def test_behaviour_that_a_setting_asks_for_is_a_lack_where_it_would_show(
    setting: str, events: list[str], behaviour: str
) -> None:
    head = "`sysctl -q net.ipv4.{}`\n"
    played = after_handshake(*events, head=head.format(setting))
    assert [lack.what for lack in played.lacks] == [f"{behaviour} ({setting})"]
    assert played.lacks[0].line == LINES + 1 + len(events)
    before = after_handshake(*events[:-1], head=head.format(setting))
    assert before.passed, before.text()
    assert before.ignored == [f"{setting} (no {behaviour})"]
    assert after_handshake(*events, head=head.format(setting.split("=")[0] + "=0")).passed


def test_behaviour_that_the_stack_has_is_no_lack() -> None:
    head = "`sysctl -q net.ipv4.{}`\n"
    probe = "+.21 > . 4001:5001(1000) ack 1"
    again = "+.1 < . 1:1(0) ack 5001 win 65535 <sack 4001:5001>"
    played = after_handshake(*WRITE, probe, again, head=head.format("tcp_early_retrans=3"), stack="linux")
    assert played.passed, played.text()
    assert played.ignored == []
    # With the probe turned off, only the timeout resends: RTT 100 ms, and 200 ms at least.
    for setting in ("tcp_early_retrans=0", "tcp_early_retrans=3\nsysctl -q net.ipv4.tcp_early_retrans=0"):
        late = after_handshake(*WRITE, "+.31 > . 1:1001(1000) ack 1", head=head.format(setting), stack="linux")
        assert late.passed, late.text()
    twice = ["+0 < . 1:1001(1000) ack 1 win 9", "+0 > . 1:1(0) ack 1001", "+0 < . 1:1001(1000) ack 1 win 9"]
    for setting, block in (("tcp_dsack=1", " <sack 1:1001>"), ("tcp_dsack=0", "")):
        played = after_handshake(*twice, f"+0 > . 1:1(0) ack 1001{block}", head=head.format(setting), stack="linux")
        assert played.passed, played.text()
        assert played.unasked == 0
    # F-RTO is recovery by time's, and that needs the peer's SACK.
    without = HANDSHAKE.replace(",sackOK>\n+0 > S. 0:0(0) ack 1 <mss 1460,sackOK", ">\n+0 > S. 0:0(0) ack 1 <mss 1460")
    events = [*WRITE, "+.31 > . 1:1001(1000) ack 1", "+.1 < . 1:1(0) ack 1001 win 65535"]
    head = head.format("tcp_frto=2 net.ipv4.tcp_early_retrans=0")
    text = head + without + "\n".join(events)
    assert [lack.what for lack in dialogue(text=text, stack="linux").lacks] == ["F-RTO (tcp_frto=2)"]
    assert after_handshake(*events, head=head, stack="linux").passed


def test_recovery_by_time_that_a_setting_turns_off_is_a_lack_where_it_shows() -> None:
    head = "`sysctl -q net.ipv4.{}`\n"
    off = head.format("tcp_recovery=0 net.ipv4.tcp_early_retrans=0")
    after_timeout = [*WRITE, "+.31 > . 1:1001(1000) ack 1", "+.1 < . 1:1(0) ack 1001 win 65535"]
    for events in ([*WRITE, GAP], after_timeout):
        played = after_handshake(*events, head=off, stack="linux")
        assert [lack.what for lack in played.lacks] == ["a recovery without RACK (tcp_recovery=0)"]
        assert played.lacks[0].line == LINES + 1 + len(events)
        assert after_handshake(*events[:-1], head=off, stack="linux").passed
        again = head.format("tcp_recovery=0 net.ipv4.tcp_early_retrans=0 net.ipv4.tcp_recovery=1")
        assert after_handshake(*events, head=again, stack="linux").passed
    # Without the stack there is nothing to turn off.
    assert after_handshake(*WRITE, GAP, head=off).passed
    # What the user gives counts, and it is said that the script's setting does not.
    given = after_handshake(*WRITE, GAP, head=head.format("tcp_recovery=0"), stack="linux", recovery="rack")
    assert given.passed
    assert given.ignored == ["tcp_recovery=0 (recovery is given)"]
    assert after_handshake(*WRITE, GAP, head=head.format("tcp_fack=0"), stack="linux").ignored == [
        "tcp_fack=0 (part of RACK)"
    ]
    kept = after_handshake(*WRITE, head=head.format("tcp_dsack=0"), stack="linux", dsack=True)
    assert kept.ignored == ["tcp_dsack=0 (dsack is given)"]


def test_the_bounds_of_a_script_are_those_of_the_timer_in_force() -> None:
    head = "`sysctl -q net.ipv4.tcp_early_retrans=0\nsysctl -q net.ipv4.tcp_rto_min_us=500000`\n"
    played = after_handshake(*WRITE, "+.61 > . 1:1001(1000) ack 1", head=head, stack="linux")
    assert played.passed, played.text()


def test_a_duplicate_that_the_peer_reports_reaches_a_sender_that_reads_it() -> None:
    # Two segments were merely late. Once both copies are reported, the window is what it was (RFC 3708).
    late = [*WRITE, "+.1 < . 1:1(0) ack 1 win 65535 <sack 2001:5001>", "+0 > . 1:2001(2000) ack 1"]
    window = "+0 %{{ assert tcpi_snd_cwnd {} 10, tcpi_snd_cwnd }}%"
    one = ["+.02 < . 1:1(0) ack 5001 win 65535 <sack 1:1001>", window.format("<")]
    both = ["+.02 < . 1:1(0) ack 5001 win 65535 <sack 1001:2001>", window.format("==")]
    played = after_handshake(*late, *one, *both, stack="linux")
    assert played.passed, played.text()


def test_blocks_of_an_overtaken_acknowledgement_reach_the_sender_with_the_stack_linux() -> None:
    known = "+0 %{{ assert (tcpi_sacked, tcpi_reordering, tcpi_reord_seen) == ({}), tcpi_sacked }}%"
    late = ["+.1 < . 1:1(0) ack 2001 win 65535 <sack 3001:4001>", known.format("1, 3, 0")]
    later = ["+0 < . 1:1(0) ack 1001 win 65535 <sack 4001:5001>", known.format("2, 3, 0")]
    # The segment that was missing was merely late.
    filled = ["+.01 < . 1:1(0) ack 5001 win 65535", known.format("0, 3, 1")]
    played = after_handshake(*WRITE, *late, *later, *filled, stack="linux")
    assert played.passed, played.text()
    assert after_handshake(*WRITE, known.format("0, 3, 0")).lacks


def test_a_tail_loss_probe_is_due_two_round_trips_after_the_last_progress() -> None:
    head = "`sysctl -q net.ipv4.tcp_early_retrans=3`\n"
    one = ["+0 write(4, ..., 1000) = 1000", "+0 > . 1:1001(1000) ack 1"]
    acked = [*WRITE, "+.1 < . 1:1(0) ack 1001 win 65535"]
    # RFC 8985 §7.2: for a single segment the delay of an acknowledgement is added.
    for events, early, late in ((WRITE, ".15", ".25"), (acked, ".15", ".25"), (one, ".35", ".45")):
        assert after_handshake(*events, f"+{early} %{{ assert 1 }}%", head=head).passed
        assert after_handshake(*events, f"+{late} %{{ assert 1 }}%", head=head).verdict is Verdict.SKIPPED


def test_a_duplicate_that_the_peer_reports_is_a_lack() -> None:
    for block in ("1:1001", "1001:3001", "3001:3501 3001:4001"):
        played = after_handshake(*WRITE, f"+.1 < . 1:1(0) ack 2001 win 65535 <sack {block}>")
        assert [lack.what for lack in played.lacks] == ["a sender that reads D-SACK"]
    assert after_handshake(*WRITE, "+.1 < . 1:1(0) ack 2001 win 65535 <sack 3001:4001>").passed


def test_options_at_the_head_have_their_effect_or_are_named() -> None:
    head = "--local_ip=192.168.0.1\n--mtu={}\n"
    assert after_handshake(head=head.format(1500)).passed
    assert after_handshake(head=head.format(1400)).what == "mss 1360, not 1460"
    assert after_handshake(head=head.format(1400), mss="1460 B").passed
    for option in ("--speed=1000", "--non_fatal=packet", "--tcp_ts_ecr_scaled"):
        played = after_handshake(head=option + "\n")
        assert played.verdict is Verdict.SKIPPED
        assert [(lack.line, lack.what) for lack in played.lacks] == [(1, f"the option {option.split('=')[0]}")]


def test_an_empty_segment_that_differs_is_shown_as_it_is() -> None:
    played = after_handshake("+0 < P. 1:2(1) ack 1 win 9", "* > . 2:2(0) ack 2", "+0 write(4, ..., 1) = 1")
    assert played.what == "data 1:1(0), not 2:2(0)"


def test_what_turns_out_to_be_missing_on_the_way_is_a_skip_too() -> None:
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
        ("* < . 1:1(0) ack 1 win 9", "1:1", "the time `*` is for packets that are expected"),
        ("0 `sysctl", "1:3", "a shell command that does not end"),
        ("0 %{ assert 1", "1:3", "a block of code that does not end"),
        ("/* never", "1:1", "a comment that does not end"),
        ("0 %{ assert 1\nassert }%", "2:1", "the block is not Python"),
        ("0 %{ assert 1 // 0 }%", "1:1", "integer division or modulo by zero"),
        ("0 %{ assert 2 << 100000 }%", "1:1", "a number that is too large"),
        ("0 %{ assert 'a' * 1000000 }%", "1:1", "an operation on text"),
        ("0 %{ assert '%1000d' % 1 }%", "1:1", "a format that is too wide"),
        ("0 %{\nassert (1 == 2, 'x') }%", "2:1", "the assertion of a tuple always holds"),
        ("0 %{ tcpi_snd_cwnd = 77 }%", "1:1", "tcpi_snd_cwnd is what TCP_INFO shows"),
        ("0 %{ assert 'tcpi_snd_cwnd == 9' }%", "1:1", "the assertion of a text says nothing"),
        ("+0 < . 1:1(0) ack 1", "1:6", "a segment that arrives has a window"),
        ("\n--tolerance_usec=1\n0 socket(...) = 3", "2:1", "there is no option `--tolerance_usec`"),
        ("--mtu=12\n0 socket(...) = 3", "1:1", "--mtu=12 is not a number from 128 to 65535"),
        ("--mss=0\n0 socket(...) = 3", "1:1", "--mss=0 is not a number from 1 to 65535"),
        ("+0 < .8 1:1(0) ack 1 win 9", "1:6", "expected one number from 0 to 7 in place of the flags A, W and E"),
        ("+0 < E.5 1:1(0) ack 1 win 9", "1:6", "expected one number from 0 to 7 in place of the flags A, W and E"),
        (
            "+0 < . 1:1(0) ack 1 win 9 <ECN e0b 1 e1b 1>",
            "1:43",
            "expected the counters of an AccECN option",
        ),
        ("+0 < . 1:1(0) ack 1 win 9 <ECN ceb 16777216>", "1:36", "the counter ceb is 16777216, not from 0 to 16777215"),
        ("0 socket(...) = EAGAIN", "1:17", "expected what the call returns, a number or `...`, not `EAGAIN`"),
        ("0 socket(...) = [3]", "1:17", "expected what the call returns"),
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


def test_timers_of_linux_are_due_to_the_millisecond_unless_they_are_given() -> None:
    # A dialogue says when a timer is due, and not when the kernel's timer wheel comes to it.
    exact = "--tolerance_percent=0\n--tolerance_usecs=1\n"
    first = "+0 write(4, ..., 1000) = 1000", "+0 > . 1:1001(1000) ack 1"
    resent = "+.3 > . 1:1001(1000) ack 1"
    assert after_handshake(*first, resent, head=exact, stack="linux").passed
    wheel = {"linux": {"hertz": 250, "wheel": True}}
    assert after_handshake(*first, resent, head=exact, stack="linux", timer=wheel).time_s == pytest.approx(0.416)


def test_a_window_that_linux_would_take_from_the_memory_of_packets_is_a_skip() -> None:
    buffer = HANDSHAKE.replace("+0 bind", "+0 setsockopt(3, SOL_SOCKET, SO_RCVBUF, [20000], 4) = 0\n+0 bind")
    for window, stack, verdict in (
        (20000, "linux", Verdict.PASSED),
        (18980, "linux", Verdict.SKIPPED),
        (18980, "rfc", Verdict.DIFFERS),
    ):
        script = buffer.replace("ack 1 <mss 1460", f"ack 1 win {window} <mss 1460")
        assert dialogue(text=script, stack=stack).verdict is verdict
    script = buffer.replace("ack 1 <mss 1460", "ack 1 win 18980 <mss 1460")
    assert dialogue(text=script, stack="linux", receive_window="20000 B").verdict is Verdict.DIFFERS


def test_a_host_with_fq_holds_segments_back_and_others_do_not() -> None:
    script = (ROOT / "tests/dialogues/linux/fq.pkt").read_text()
    assert dialogue(text=script, stack="linux").passed
    at_once = dialogue(text=script.replace("root fq", "root pfifo"), stack="linux")
    assert at_once.what.startswith("it was to be sent at 0.202500 s")
    slower = script.replace("`tc", "`sysctl -q net.ipv4.tcp_pacing_ss_ratio=100\ntc")
    assert dialogue(text=slower, stack="linux").what.startswith("it was to be sent at 0.202500 s")
    larger = script.replace("`tc", "`sysctl -q net.ipv4.tcp_min_tso_segs=4\ntc")
    assert dialogue(text=larger, stack="linux").what.startswith("it was to be sent at 0.202500 s")


def test_the_last_queue_of_a_host_is_the_one_that_counts() -> None:
    script = (ROOT / "tests/dialogues/linux/fq.pkt").read_text()
    for later in ("tc qdisc replace dev tun0 root pfifo", "tc qdisc del dev tun0 root fq"):
        played = dialogue(text=script.replace("root fq`", f"root fq\n{later}`"), stack="linux")
        assert played.what.startswith("it was to be sent at 0.202500 s")
        assert not played.ignored


def test_what_a_host_holds_back_has_the_clock_of_its_departure() -> None:
    script = (
        (ROOT / "tests/dialogues/linux/fq.pkt").read_text().replace("--tolerance_usecs=10", "--tolerance_usecs=1500")
    )
    script = script.replace("mss 1000,sackOK", "mss 1012,sackOK,TS val 1 ecr 0")
    script = script.replace("mss 1460,sackOK", "mss 1460,sackOK,TS val 100 ecr 1")
    stamps = iter(
        ["val 2 ecr 100", "val 200 ecr 2", "val 3 ecr 200", *(f"val {n} ecr 3" for n in (300, 302, 307, 312))]
    )
    script = re.sub(r"(?m)^(.*[<>] \. .*)$", lambda line: f"{line[1]} <TS {next(stamps)}>", script)
    assert dialogue(text="--tcp_ts_tick_usecs=1000\n" + script, stack="linux").passed


def test_a_host_paces_by_the_window_in_slow_start_and_by_what_is_in_flight() -> None:
    # Linux: cwnd is compared with half of ssthresh; the larger of it and what is in flight counts.
    queue = FairQueue(slow_start_percent=200, avoidance_percent=120, least_segments=2)
    rates = [queue.rate(Window(cwnd, 10_000, 5000, 0.1, 1000)) for cwnd in (1000, 2000, 20_000)]
    assert rates == pytest.approx([200e3, 120e3, 240e3])


def test_what_is_held_back_waits_for_an_rto_once_nothing_is_in_flight() -> None:
    cork, write = "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0", "+0 write(4, ..., 1200) = 1200"
    first, ack = "+0 > . 1:1001(1000) ack 1", "+.1 < . 1:1(0) ack 1001 win 65535"
    assert after_handshake(cork, write, first, ack, "+.3 > . 1001:1201(200) ack 1", stack="linux").passed
    more = "+0 send(4, ..., 1500, MSG_MORE) = 1500"
    resent = "+.3 > . 1:1001(1000) ack 1"
    last = "+0 > . 1001:1501(500) ack 1"
    assert after_handshake(more, first, resent, ack, last, stack="linux").passed


def test_a_connection_that_is_over_is_not_reset_for_unread_data() -> None:
    over = "+0 shutdown(4, SHUT_WR) = 0", "+0 > F. 1:1(0) ack 1", "+.1 < . 1:1(0) ack 2 win 65535"
    last = "+0 < F. 1:1001(1000) ack 2 win 65535", "+0 > . 2:2(0) ack 1002", "+.1 close(4) = 0"
    played = after_handshake(*over, *last, stack="linux")
    assert played.passed
    assert played.unasked == 0


def test_accurate_ecn_as_it_is_given_counts_more_than_what_the_stack_does() -> None:
    accurate = (
        HANDSHAKE.replace("< S 0:0", "< SEWA 0:0").replace("> S. 0:0", "> SW. 0:0").replace("< . 1:1", "< W. 1:1")
    )
    write = "+0 write(4, ..., 1000) = 1000\n+0 > [ect0] .5 1:1001(1000) ack 1\n"
    for stack, as_linux, codepoint in (
        ("linux", None, "ect0"),
        ("linux", False, "noecn"),
        ("rfc", None, "noecn"),
        ("rfc", True, "ect0"),
    ):
        given = {"accurate": {"option": False, **({} if as_linux is None else {"as_linux": as_linux})}}
        script = f"{accurate}{write}+.2~+1.1 > [{codepoint}] .5 1:1001(1000) ack 1"
        assert dialogue(text=script, stack=stack, ecn=given).passed
    assert after_handshake("+0 write(4, ..., 1000) = 1000", "+0 > . 1:1001(1000) ack 1", ecn={"classic": {}}).passed


def test_the_timer_of_a_syn_ack_doubles_whatever_the_timer_is() -> None:
    synack = "> S. 0:0(0) ack 1 <mss 1460,sackOK>"
    head = "\n".join(HANDSHAKE.splitlines()[:5])
    for timer in ("linux", {"linux": {"wheel": False}}, "rfc6298"):
        assert dialogue(text=f"{head}\n+1 {synack}\n+2 {synack}\n+4 {synack}", stack="linux", timer=timer).passed


def test_what_accurate_ecn_counts_is_known_only_where_it_was_agreed_on() -> None:
    check = "+0 %{ assert tcpi_delivered_ce == 0 }%"
    played = after_handshake(check, stack="linux")
    assert [lack.what for lack in played.lacks] == ["the name tcpi_delivered_ce of this connection"]
    accurate = HANDSHAKE.replace("< S 0:0", "< SEWA 0:0").replace("> S. 0:0", "> SW. 0:0")
    accurate = accurate.replace("mss 1460,sackOK", "mss 1460,sackOK,ECN e1b 1 ceb 0 e0b 1").replace(
        "< . 1:1", "< W. 1:1"
    )
    for given in ("accurate", {"accurate": {"option": True}}):
        assert dialogue(text=accurate + check, stack="linux", ecn=given).passed
    without = accurate.replace(",ECN e1b 1 ceb 0 e0b 1", "")
    assert dialogue(text=without + check, stack="linux", ecn={"accurate": {"option": False}}).passed
    assert dialogue(text=accurate, stack="linux").what == "flags SE., not SW.; ECN missing, not e1b 1 ceb 0 e0b 1"


def test_a_segment_whose_size_would_change_with_the_accurate_ecn_option_is_a_skip() -> None:
    hello = HANDSHAKE.replace("< S 0:0", "< SEWA 0:0").replace("> S. 0:0", "> SW. 0:0").replace("< . 1:1", "< W. 1:1")
    hello = hello.replace("mss 1460,sackOK", "mss 1460,sackOK,ECN e1b 1 ceb 0 e0b 1")
    events = "+0 write(4, ..., 3000) = 3000", "+0 > .5 1:3001(3000) ack 1"
    heard = "+.1 < .5 1:1(0) ack 3001 win 65535 <ECN e0b 3001 ceb 0 e1b 1>"
    played = dialogue(text="\n".join([hello.strip(), *events, heard, events[0]]), stack="linux", ecn="accurate")
    assert [lack.what for lack in played.lacks] == ["segments whose size changes with the AccECN option"]


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
    head = f"`./defaults.sh\ntouch {tmp_path}/executed\ncat missing.sh`\n"
    script = head + HANDSHAKE.replace("ack 1 <mss 1460,sackOK>", "ack 1 <mss 1460>")
    (tmp_path / "one.pkt").write_text(script)
    played = dialogue(tmp_path / "one.pkt", stack="rfc")
    assert played.passed, played.text()
    assert played.ignored[0] == "tcp_frto=2 (no F-RTO)"
    assert not (tmp_path / "executed").exists()
    # What the files of commands ask for is known only if they can be read, and do not run each other without end.
    (tmp_path / "one.pkt").write_text(script.replace("./defaults.sh", "./missing.sh"))
    (lack,) = dialogue(tmp_path / "one.pkt").lacks
    assert lack.what == "the commands of missing.sh (there is no such file)"
    (tmp_path / "defaults.sh").write_text("./defaults.sh\n")
    (tmp_path / "one.pkt").write_text(script)
    (lack,) = dialogue(tmp_path / "one.pkt").lacks
    assert lack.what == "files of commands more than 3 deep (defaults.sh)"


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


def test_the_command_reads_only_what_is_a_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "folder.pkt").mkdir()
    (tmp_path / "good.pkt").write_text(HANDSHAKE)
    assert cli("dialogue", tmp_path).returncode == 0
    (tmp_path / "zero.pkt").symlink_to("/dev/zero")
    # What is named as a script and cannot be read is not passed over.
    assert cli("dialogue", tmp_path).returncode == 2
    done = cli("dialogue", tmp_path / "zero.pkt", tmp_path / "good.pkt")
    assert done.returncode == 2
    assert "zero.pkt: not a file" in done.stderr
    assert "1 passed, 1 cannot be read" in done.stdout
    for settings in ("missing.toml", "zero.pkt"):
        done = cli("dialogue", tmp_path / "good.pkt", "--settings", tmp_path / settings)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
    with pytest.raises(UnreadableError, match=r"zero\.pkt: not a file"):
        dialogue(tmp_path / "zero.pkt")


def test_the_command_names_for_a_folder_what_had_no_effect_and_what_was_not_expected(cli: Cli, tmp_path: Path) -> None:
    head = "`sysctl -q net.ipv4.tcp_frto=2`\n"
    for name in "ab":
        (tmp_path / f"{name}.pkt").write_text(head + HANDSHAKE)
    (tmp_path / "c.pkt").write_text(HANDSHAKE + "+0 write(4, ..., 2000) = 2000\n")
    done = cli("dialogue", "--stack", "rfc", tmp_path)
    assert "asked for it: tcp_frto=2 (no F-RTO) in 2\n" in done.stderr
    assert "c.pkt (2)" in done.stderr
    assert "a.pkt" not in done.stderr


def test_the_command_takes_settings(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "window.pkt"
    script.write_text(
        HANDSHAKE + "+0 write(4, ..., 20000) = 20000\n+0 > . 1:3001(3000) ack 1\n+1 > . 1:1001(1000) ack 1"
    )
    assert cli("dialogue", "--stack", "rfc", script).returncode == 1
    assert cli("dialogue", "--stack", "rfc", script, "--set", "initial_window='3 packets'").returncode == 0
    settings = tmp_path / "tcp.toml"
    settings.write_text("[tcp]\ninitial_window = '3 packets'\n")
    assert cli("dialogue", "--stack", "rfc", script, "--settings", settings).returncode == 0
    assert (
        cli(
            "dialogue", "--stack", "rfc", script, "--settings", settings, "--set", "initial_window=4 packets"
        ).returncode
        == 1
    )
    settings.write_text("tcp = 3")
    assert cli("dialogue", script, "--settings", settings).returncode == 2
