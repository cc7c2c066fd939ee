"""Dialogues of single sentences of standards, and of Linux where it has its own."""

from typing import Any

import pytest
from handshake import after_handshake

from varicap.dialogue import dialogue

OPENING = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
"""
ECN = """\
0 `sysctl -q net.ipv4.tcp_ecn=2`
+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < [noecn] SEW 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > [noecn] SE. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1 < [noecn] . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
"""


def play(text: str, **tcp: Any) -> None:
    played = dialogue(text=text, **tcp)
    assert played.passed, played.text()


def test_a_reported_duplicate_does_not_end_the_test_of_a_timeout() -> None:
    """Linux d9157f6806d1: a delay spike, a probe, a timeout; the receiver got the resent head twice (RFC 5682)."""
    play(
        "--tolerance_usecs=20000\n" + OPENING + "+0 write(4, ..., 10000) = 10000\n+0 > . 1:10001(10000) ack 1\n"
        "+.2 > P. 9001:10001(1000) ack 1\n+0.05~+0.6 > . 1:1001(1000) ack 1\n+0 write(4, ..., 5000) = 5000\n"
        "+.2 < . 1:1(0) ack 1001 win 1000\n+0 > . 10001:12001(2000) ack 1\n"
        "+0 < . 1:1(0) ack 1001 win 1000 <sack 1:1001,nop,nop>\n+0 < . 1:1(0) ack 2001 win 1000\n"
        "+0 %{ assert tcpi_ca_state == TCP_CA_Open, tcpi_ca_state }%\n"
        "+0 %{ assert tcpi_snd_cwnd >= 10, tcpi_snd_cwnd }%",
        stack="linux",
    )


@pytest.mark.parametrize(
    ("halving", "window", "leaves"),
    [
        ("flight-size", 20, True),
        ("flight-size", 10, True),
        ("flight-size", 64, True),
        ("window", 10, False),
    ],
)
def test_prr_falls_in_proportion_to_what_was_in_flight(halving: str, window: int, leaves: bool) -> None:
    """RFC 9937 §6.1: with ten segments in flight RecoverFS is 10 - (3 - 1), whatever cwnd; in Linux it is cwnd."""
    play(
        OPENING + f"+0 %{{ assert tcpi_snd_cwnd == {window}, tcpi_snd_cwnd }}%\n"
        "+0 write(4, ..., 10000) = 10000\n+0 > . 1:10001(10000) ack 1\n"
        "+.1 < . 1:1(0) ack 1 win 1000 <sack 1001:2001,nop,nop>\n"
        "+0 < . 1:1(0) ack 1 win 1000 <sack 1001:3001,nop,nop>\n"
        "+0 < . 1:1(0) ack 1 win 1000 <sack 1001:4001,nop,nop>\n+0 > . 1:1001(1000) ack 1\n"
        "+0 %{ assert tcpi_snd_ssthresh == 5, tcpi_snd_ssthresh }%\n+0 write(4, ..., 20000) = 20000\n"
        "+0 < . 1:1(0) ack 1 win 1000 <sack 1001:5001,nop,nop>\n"
        + ("+0 > . 10001:11001(1000) ack 1" if leaves else "+.05 %{ assert tcpi_unacked == 10, tcpi_unacked }%"),
        stack="rfc",
        recovery={"rack": {"reduction": "prr"}},
        initial_window=f"{window} packets",
        halving=halving,
    )


@pytest.mark.parametrize("stack", ["rfc", "linux"])
@pytest.mark.parametrize(("gain", "alpha", "ssthresh"), [(1.0, 0.0, 5), (0.5, 0.0, 7), (0.5, 1.0, 5), (1.0, 1.0, 5)])
def test_alpha_moves_before_the_window_falls(stack: str, gain: float, alpha: float, ssthresh: int) -> None:
    """RFC 8257 §3.3: steps 4 to 7, and then 8."""
    play(
        ECN + "+0 write(4, ..., 20000) = 20000\n+0 > [ect0] . 1:10001(10000) ack 1\n"
        "+.1 < [noecn] E. 1:1(0) ack 1001 win 1000\n"
        f"+0 %{{ assert tcpi_snd_ssthresh == {ssthresh}, tcpi_snd_ssthresh }}%",
        stack=stack,
        congestion={"dctcp": {"gain": gain, "initial_alpha": alpha}},
    )


@pytest.mark.parametrize(
    ("least", "probe"), [("1s", "1.1"), ("400ms", ".5"), ("200ms", ".3"), ("40ms", ".24"), ("100ms", ".3")]
)
def test_the_probe_of_a_single_segment_waits_for_the_least_rto(least: str, probe: str) -> None:
    """Linux's tcp_schedule_loss_probe: two SRTTs and rto_min, at most the RTO."""
    play(
        f"--tolerance_usecs=40000\n`ip route change default via 192.168.0.1 rto_min {least}`\n"
        + OPENING
        + f"+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+{probe} > P. 1:1001(1000) ack 1",
        stack="linux",
    )


def test_the_answer_to_a_probe_tells_of_no_small_opening() -> None:
    """RFC 9293 §3.8.6.2.2 (MUST-39), RFC 1122 §4.2.3.3: 100 B of a full buffer are no news, and stay none."""
    head = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 setsockopt(3, SOL_SOCKET, SO_RCVBUF, [4000], 4) = 0\n"
    play(
        head + "+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n+0 < S 0:0(0) win 65535 <mss 1000>\n"
        "+0 > S. 0:0(0) ack 1 win 4000 <mss 1460>\n+.1 < . 1:1(0) ack 1 win 65535\n+0 accept(3, ..., ...) = 4\n"
        "+.1 < . 1:1001(1000) ack 1 win 65535\n+0 < . 1001:2001(1000) ack 1 win 65535\n"
        "+0 > . 1:1(0) ack 2001 win 2000\n"
        "+0 < . 2001:3001(1000) ack 1 win 65535\n+0 < . 3001:4001(1000) ack 1 win 65535\n+0 > . 1:1(0) ack 4001 win 0\n"
        "+.1 read(4, ..., 100) = 100\n+.3 < . 4001:4002(1) ack 1 win 65535\n+0 > . 1:1(0) ack 4001 win 0\n"
        "+.1 read(4, ..., 2900) = 2900\n+0 > . 1:1(0) ack 4001 win 3000\n+.1 < . 4001:5001(1000) ack 1 win 65535\n"
        "+0 < . 5001:6001(1000) ack 1 win 65535\n+0 > . 1:1(0) ack 6001 win 1000",
        stack="rfc",
    )


def test_under_linux_a_probe_finds_the_window_as_closed() -> None:
    text = [
        *("+.1 < . 1:1001(1000) ack 1 win 65535", "+0 > . 1:1(0) ack 1001", "+0 < . 1001:2001(1000) ack 1 win 65535"),
        *("+0~+.1 > . 1:1(0) ack 2001 win 0", "+.1 read(4, ..., 300) = 300", "+.3 < . 2001:2002(1) ack 1 win 65535"),
        *("+0 > . 1:1(0) ack 2001 win 0", "+.1 read(4, ..., 700) = 700", "+0 > . 1:1(0) ack 2001 win 1000"),
    ]
    played = after_handshake(*text, stack="linux", receive_window="2000 B")
    assert played.passed, played.text()


@pytest.mark.parametrize("congestion", ["reno", "cubic", "dctcp"])
@pytest.mark.parametrize("stack", ["rfc", "linux"])
def test_a_rate_limited_sender_opens_its_window_to_twice_max_fs(congestion: str, stack: str) -> None:
    """The example of draft-ietf-ccwg-ratelimited-increase-11 §3.1: ten segments, a pause, four segments."""
    acks = "".join(f"+0 < . 1:1(0) ack {1 + 1000 * number} win 1000\n" for number in range(2, 11, 2))
    more = "".join(f"+0 < . 1:1(0) ack {10001 + 1000 * number} win 1000\n" for number in range(1, 5))
    script = (
        OPENING
        + "+0 write(4, ..., 10000) = 10000\n+0 > P. 1:10001(10000) ack 1\n+.1"
        + acks[2:]
        + "+0 %{ assert tcpi_snd_cwnd == 15 or tcpi_snd_cwnd == 20, tcpi_snd_cwnd }%\n"
        "+.05 write(4, ..., 4000) = 4000\n+0 > P. 10001:14001(4000) ack 1\n+.1"
        + more[2:]
        + "+0 %{ assert tcpi_snd_cwnd <= 20, tcpi_snd_cwnd }%\n"
        + "+0 %{ assert tcpi_snd_cwnd >= 19, tcpi_snd_cwnd }%"
    )
    play(script, stack=stack, congestion=congestion, grow_when="max-fs")
