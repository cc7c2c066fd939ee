"""The host of a dialogue: its timers, its queues, and accurate ECN as it has it."""

import re

import pytest
from conftest import ROOT
from handshake import HANDSHAKE, after_handshake

from varicap.dialogue import Verdict, dialogue
from varicap.dialogue.fq import FairQueue, Window


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
