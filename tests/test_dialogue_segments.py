"""Segments that dialogues inject: which are acceptable, and how the others are answered."""

from typing import Any

import pytest
from handshake import HANDSHAKE, after_handshake, stamped

from varicap.dialogue import dialogue

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
