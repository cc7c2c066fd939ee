"""Verdicts: errors by number or not at all, listeners that close, peers that are given up, what was expected."""

import re

import pytest
from conftest import ROOT
from handshake import HANDSHAKE, after_handshake

from varicap.dialogue import Verdict, dialogue

FIN = "+.1 < F. 1:1(0) ack 1 win 65535\n+0 > . 1:1(0) ack 2"
RESET = "+.1 < R. 2:2(0) ack 1"
EXACT = "--tolerance_percent=0\n--tolerance_usecs=1\n"


@pytest.mark.parametrize("name", ["EAGAIN", "EWOULDBLOCK", ""])
@pytest.mark.parametrize("call", ["recv(4, ..., 1000, MSG_DONTWAIT)", "recvfrom(4, ..., 1000, MSG_DONTWAIT, ..., ...)"])
def test_an_error_has_the_number_of_its_name_or_any_if_the_script_has_none(call: str, name: str) -> None:
    assert after_handshake(f"+.1 {call} = -1 {name}".rstrip()).passed


def test_another_error_and_another_result_still_differ() -> None:
    read = "+.1 recv(4, ..., 1000, MSG_DONTWAIT) = {}"
    assert after_handshake(read.format("-1 EPIPE")).what == "recv returns -1 EAGAIN, not -1 EPIPE"
    assert after_handshake(read.format("0")).what == "recv returns -1 EAGAIN, not 0"
    assert after_handshake("+0 write(4, ..., 100) = -1").what == "write returns 100, not -1"
    assert after_handshake("+0 write(4, ..., 100) = 100 EPIPE").what == "write returns 100, not 100 EPIPE"


@pytest.mark.parametrize("stack", ["linux", "rfc"])
def test_a_reset_after_the_peers_fin_is_a_broken_pipe_and_the_data_has_ended(stack: str) -> None:
    events = [*FIN.splitlines(), RESET]
    if stack == "linux":
        # Linux waits for an answer to take the acknowledgement along only after data.
        assert after_handshake(*events, "+0 write(4, ..., 10) = -1 EPIPE", stack=stack).passed
    assert after_handshake(*events, "+0 write(4, ..., 10) = -1 EPIPE", "+0 write(4, ..., 10) = -1 EPIPE").passed
    assert after_handshake(*events, "+0 read(4, ..., 10) = 0").passed
    assert after_handshake(*events, "+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [EPIPE], [4]) = 0").passed
    early = RESET.replace("2:2", "1:1")
    assert after_handshake(early, "+0 write(4, ..., 10) = -1 ECONNRESET").passed
    assert after_handshake(early, "+0 read(4, ..., 10) = -1 ECONNRESET", "+0 read(4, ..., 10) = 0").passed


def _listening(*events: str) -> str:
    at = HANDSHAKE.index("+.1 < . 1:1(0)")
    return HANDSHAKE[:at] + "\n".join(events) + "\n"


def test_a_listener_that_is_closed_answers_what_comes_with_a_reset() -> None:
    answer = "+.1 < . 1:1(0) ack 1 win 65535"
    played = dialogue(text=_listening("+.1 close(3) = 0", answer, "+0 > R 1:1(0) win 0"))
    assert played.passed, played.text()
    # Neither the SYN-ACK again, after a second, nor an answer to a reset.
    played = dialogue(text=_listening("+.1 close(3) = 0", "+2 < R 1:1(0)", answer, "+0 > R 1:1(0) win 0"))
    assert played.passed, played.text()
    assert not dialogue(text=_listening("+.1 close(3) = 0", "+.9 > S. 0:0(0) ack 1 <...>")).passed


def test_what_nobody_accepts_is_reset_with_the_listener() -> None:
    ended = "+.1 < . 1:1(0) ack 1 win 65535"
    played = dialogue(text=_listening(ended, "+.1 close(3) = 0", "+0 > R. 1:1(0) ack 1"))
    assert played.passed, played.text()
    # A connection that was accepted stays.
    assert after_handshake("+0 close(3) = 0", "+0 write(4, ..., 10) = 10", "+0 > P. 1:11(10) ack 1").passed


@pytest.mark.parametrize(
    "setting",
    ["net.inet.tcp.sack.enable=0", "net.inet.tcp.rfc1323=1", "net.inet6.ip6.hlim=64", "kern.ipc.maxsockbuf=9"],
)
def test_a_setting_of_freebsd_is_a_skip_with_its_whole_name(setting: str) -> None:
    played = dialogue(text=f"`sysctl -q {setting}`\n{HANDSHAKE}")
    assert played.verdict is Verdict.SKIPPED
    assert [lack.what for lack in played.lacks] == [f"the setting {setting} of FreeBSD"]


def test_a_setting_of_the_machine_is_named_in_full() -> None:
    assert dialogue(text=f"`sysctl -q net.core.rmem_max=9 kernel.hostname=x`\n{HANDSHAKE}").ignored == [
        "net.core.rmem_max",
        "kernel.hostname",
    ]


def test_a_value_that_is_not_what_was_expected_is_shown_beside_it() -> None:
    read = "+0 getsockopt(4, SOL_TCP, {}, [{}], [4]) = 0"
    played = after_handshake(read.format("TCP_MAXSEG", 536))
    assert played.what == "getsockopt gives TCP_MAXSEG 1000, not 536"
    (row,) = (row for row in played.rows if row.differs)
    assert row.actual == "= 0, TCP_MAXSEG 1000"
    assert after_handshake(read.format("TCP_CONGESTION", '"cubic"')).what == (
        'getsockopt gives TCP_CONGESTION reno, not "cubic"'
    )


def test_a_number_by_a_name_is_its_definition_or_a_skip() -> None:
    syn = "<mss 1460,sackOK>"
    assert syn in HANDSHAKE
    named = HANDSHAKE.replace(syn, "<mss MSS,sackOK>", 1)
    assert dialogue(text=f"--define=MSS=1460\n{named}").passed
    played = dialogue(text=named)
    assert played.verdict is Verdict.SKIPPED
    assert "the value of MSS, which the script does not define" in [lack.what for lack in played.lacks]


def test_a_syn_that_nobody_answers_ends_with_a_timeout() -> None:
    script = (ROOT / "tests/dialogues/linux/lost-syn.pkt").read_text()
    syns = script[: script.index("+0 > S 0:0(0)")].replace("--tcp_ts_tick_usecs=1000\n", "")
    waits = ["+0", "+1", "+1", "+1", "+1", "+1", "+2", "+4", "+8", "+16", "+32"]
    waiting = "".join(f"{wait} > S 0:0(0) <...>\n" for wait in waits)
    error = "+{} connect(3, ..., ...) = -1 {}\n"
    assert dialogue(text=EXACT + syns + waiting + error.format(63.9, "EALREADY"), stack="linux").passed
    assert dialogue(text=EXACT + syns + waiting + error.format(64.1, "ETIMEDOUT"), stack="linux").passed
    # RFC 9293 knows no such limit; its timer doubles at once.
    doubling = "".join(
        f"{wait} > S 0:0(0) <...>\n" for wait in ["+0", "+1", "+2", "+4", "+8", "+16", "+32", "+60", "+60"]
    )
    assert dialogue(text=syns + doubling + error.format(50, "EALREADY"), stack="rfc").passed


def test_settings_of_retries_are_those_of_linuxs_timer() -> None:
    script = (ROOT / "tests/dialogues/linux/retries2.pkt").read_text()
    lines = script.splitlines()
    first = next(at for at, line in enumerate(lines) if "+.300" in line)
    # Three retransmissions: (2^4 - 1) 200 ms are over at the expiry after the fourth.
    short = "\n".join(lines[: first + 4]) + "\n+4.9 write(4, ..., 10) = -1 ETIMEDOUT\n"
    setting = "`sysctl -q net.ipv4.tcp_retries2=3`\n"
    head = re.search(r"^ +0 socket", short, re.M)
    assert head is not None
    with_setting = short[: head.start()] + setting + short[head.start() :]
    assert not dialogue(text=short, stack="linux").passed
    played = dialogue(text=with_setting, stack="linux")
    assert played.verdict is Verdict.DIFFERS, "after three retransmissions already"
    shorter = with_setting.replace("+2.400 > P. 1:1001(1000) ack 1\n", "").replace("+4.9", "+2.5")
    assert dialogue(text=shorter, stack="linux").passed, dialogue(text=shorter, stack="linux").text()
    assert dialogue(text=f"{setting}{HANDSHAKE}", stack="rfc").ignored == ["tcp_retries2=3 (this timer never gives up)"]


def test_a_syn_ack_that_nobody_answers_is_forgotten() -> None:
    script = _listening(
        *(f"+{wait} > S. 0:0(0) ack 1 <...>" for wait in (1, 2, 4, 8, 16)), "+40 accept(3, ..., ...) = -1"
    )
    nonblocking = script.replace("+0 bind", "+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n+0 bind")
    assert nonblocking != script
    played = dialogue(text=nonblocking, stack="linux")
    assert played.passed, played.text()
    assert played.unasked == 0
