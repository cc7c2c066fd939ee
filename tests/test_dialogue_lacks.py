"""What a dialogue needs that varicap has not, or that a setting turns off: named and skipped, where it would show."""

from typing import Any

import pytest
from handshake import HANDSHAKE, LINES, after_handshake

from varicap.dialogue import Dialogue, Verdict, dialogue


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
        ("+0 shutdown(4, SHUT_NOTHING) = 0", "shutdown with SHUT_NOTHING"),
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
    assert after_handshake(congestion.format('"vegas"')).what == 'getsockopt gives TCP_CONGESTION reno, not "vegas"'
    reset = "+0 < R. 1:1(0) ack 1 win 0"
    error = "+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [{}], [4]) = 0"
    for name in ("ECONNRESET", "104"):
        # It is read once.
        assert after_handshake(reset, error.format(name), error.format(0)).passed
    for wrong in ("0", "99", "EPIPE"):
        assert after_handshake(reset, error.format(wrong)).what.startswith("getsockopt gives SO_ERROR ECONNRESET, not ")
    assert after_handshake(error.format(0)).passed
    assert after_handshake(error.format("EPIPE")).what == "getsockopt gives SO_ERROR 0, not EPIPE"


def test_the_size_of_a_receive_buffer_is_read_where_it_has_one() -> None:
    read = "+0 getsockopt({}, SOL_SOCKET, SO_RCVBUF, [{}], [4]) = 0"
    asked = HANDSHAKE.replace("+0 bind", "+0 setsockopt(3, SOL_SOCKET, SO_RCVBUF, [20000], 4) = 0\n+0 bind")

    def played(size: int, stack: str, script: str = asked, descriptor: int = 4, **tcp: Any) -> Dialogue:
        return dialogue(text=script + read.format(descriptor, size), stack=stack, **tcp)

    # Linux counts the memory of packets, and takes twice what it is asked for.
    assert played(40_000, "linux").passed
    assert played(20_000, "rfc").passed
    assert played(20_000, "linux").what == "getsockopt gives SO_RCVBUF 40000, not 20000"
    tiny = asked.replace("[20000]", "[1000]")
    assert played(2304, "linux", tiny).passed
    assert played(1000, "rfc", tiny).passed
    for descriptor in (3, 4):
        assert played(131_072, "linux", HANDSHAKE, descriptor).passed, "tcp_rmem"
    set_before = '0 `sysctl -q net.ipv4.tcp_rmem="4096 87380 6291456"`\n' + HANDSHAKE.replace(
        "0 socket", "+0 socket", 1
    )
    assert played(87_380, "linux", set_before).passed
    data = HANDSHAKE + "+.1 < P. 1:501(500) ack 1 win 65535\n+0~+.2 > . 1:1(0) ack 501\n"
    for lacking in (
        played(131_072, "rfc", HANDSHAKE),
        played(131_072, "linux", data),
        played(40_000, "linux", receive_window="20000 B"),
    ):
        assert lacking.verdict is Verdict.SKIPPED, lacking.text()
    assert played(20_000, "rfc", receive_window="20000 B").passed


def test_data_is_looked_at_discarded_and_waited_for_as_its_flags_say() -> None:
    data = "+.1 < P. 1:501(500) ack 1 win 65535", "+0~+.3 > . 1:1(0) ack 501"
    peek = "+0 recv(4, ..., 300, MSG_PEEK) = 300"
    assert after_handshake(*data, peek, peek, "+0 recv(4, ..., 900, MSG_TRUNC) = 500").passed
    assert after_handshake(*data, "+0 recv(4, ..., 900, MSG_PEEK|MSG_DONTWAIT) = 500").passed
    assert after_handshake("+0 recv(4, ..., 900, MSG_PEEK|MSG_DONTWAIT) = -1 EAGAIN (Try again)").passed
    whole = "+0...0.4 recv(4, ..., 1000, MSG_WAITALL) = 1000"
    assert after_handshake(whole, data[0], "+.3 < P. 501:1001(500) ack 1 win 65535").passed
    assert after_handshake(whole, data[0]).what == "recv has not returned at 0.500000 s"
    short = "+0...0.4 recv(4, ..., 1000, MSG_WAITALL) = 500"
    assert after_handshake(short, data[0], "+.3 < F. 501:501(0) ack 1 win 65535").passed, "the end"
    assert after_handshake(*data, "+0 recv(4, ..., 1000, MSG_WAITALL|MSG_DONTWAIT) = 500").passed


def test_a_shutdown_ends_the_halves_that_it_names() -> None:
    fin, data = "+0 > F. 1:1(0) ack 1", "+.1 < P. 1:501(500) ack 1 win 65535"
    nothing = "+0 read(4, ..., 500) = 0"
    assert after_handshake("+0 shutdown(4, SHUT_RD) = 0", nothing).passed
    assert (
        after_handshake("+0...0.3 read(4, ..., 500) = 0", "+.1 shutdown(4, SHUT_RD) = 0").verdict is not Verdict.PASSED
    )
    # What is there may be read; more that comes is acknowledged while the writing half is open.
    assert after_handshake("+0 shutdown(4, SHUT_RD) = 0", data, "+0 read(4, ..., 900) = 500", nothing).passed
    assert (
        after_handshake("+0 shutdown(4, SHUT_WR) = 0", fin, "+0...0.3 read(4, ..., 9) = 9").verdict is Verdict.DIFFERS
    )
    assert after_handshake("+0 shutdown(4, SHUT_RDWR) = 0", fin, nothing).passed
    reset = after_handshake("+0 shutdown(4, SHUT_RDWR) = 0", fin, data)
    assert [lack.what for lack in reset.lacks] == ["data for a socket that was closed (a reset)"]


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
    # The peer would have to be reset; that what came before was fine makes no pass of it.
    played = after_handshake("+0 close(4) = 0", "+0 > F. 1:1(0) ack 1", "+.1 < P. 1:501(500) ack 1 win 65535")
    assert played.verdict is Verdict.SKIPPED
    assert played.lacks[0].what == "data for a socket that was closed (a reset)"


def test_a_fin_that_is_lost_is_sent_again_as_data_is() -> None:
    fin, state = "> F. 1:1(0) ack 1", "+0 %{{ assert tcpi_state == {0}, tcpi_state }}%"
    closed = ["+0 shutdown(4, SHUT_WR) = 0", f"+0 {fin}", f"+1 {fin}", f"+2 {fin}", state.format("TCP_FIN_WAIT1")]
    acknowledged = ["+.1 < . 1:1(0) ack 2 win 65535", state.format("TCP_FIN_WAIT2")]
    assert after_handshake(*closed, *acknowledged).passed
    # With data that it left with it is sent again, and alone once that is there.
    ridden = ["+0 write(4, ..., 12000) = 12000", "+0 close(4) = 0", "+0 > . 1:10001(10000) ack 1"]
    ridden += ["+.1 < . 1:1(0) ack 10001 win 65535", "+0 > FP. 10001:12001(2000) ack 1"]
    assert after_handshake(*ridden, "+.1 < . 1:1(0) ack 11001 win 65535", "+1 > FP. 11001:12001(1000) ack 1").passed
    assert after_handshake(*ridden, "+.1 < . 1:1(0) ack 12001 win 65535", "+1 > F. 12001:12001(0) ack 1").passed
    given_up = after_handshake(*closed[:2], "+1000 read(4, ..., 1) = -1 ETIMEDOUT (timed out)", stack="linux")
    assert given_up.passed, given_up.text()
