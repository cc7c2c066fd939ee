"""What 4.3BSD, ns 1 and ns-2 do, step by step: `varicap.tcp` against their sources."""

from typing import Any

import pytest

from varicap.tcp import Segment, Sender

BSD = ["bsd-tahoe", "bsd-reno"]
NS = ["ns-1", "ns-2", "ns-2.35"]
OLD = [*BSD, *NS]
MSS = 1000


class Script:
    """A greedy sender of segments of 1000 B, and a peer that says what it is told to."""

    def __init__(self, stack: str, window: int, offered: int | None = None, **settings: Any) -> None:
        usual: dict[str, Any] = {"mss": f"{MSS} B", "handshake": False, "initial_window": f"{window} packets"}
        self.sender = Sender(stack=stack, **(usual | settings))
        self.sender.write(offered)
        self.now, self.acked = 0.0, 0
        self.log: list[tuple[float, int]] = []
        self.seen = 0
        self.drain()

    def drain(self) -> None:
        """All that may leave now, into a log of times and numbers."""
        while segment := self.sender.poll(self.now):
            self.log.append((self.now, segment.seq // MSS))

    def at(self, time: float) -> "Script":
        """Moves the clock; timers fire on the way."""
        while (due := self.sender.poll_at()) is not None and due <= time:
            self.now = due
            self.drain()
        self.now = time
        return self

    def expire(self, times: int = 1) -> "Script":
        """Moves the clock to the next expiry, `times` times."""
        for _ in range(times):
            before = self.sender.expiries
            while self.sender.expiries == before:
                due = self.sender.poll_at()
                assert due is not None
                self.at(due)
        return self

    def ack(self, count: int, window: int | None = None) -> "Script":
        """Everything below segment `count` is acknowledged."""
        self.acked = count
        more: dict[str, Any] = {} if window is None else {"window": window * MSS}
        echo = max((time for time, number in self.log if number < count), default=self.now)
        self.sender.push(self.now, Segment(ack=count * MSS, echo_s=echo, **more))
        self.drain()
        return self

    def duplicates(self, times: int) -> "Script":
        """The last acknowledgement again."""
        for _ in range(times):
            self.ack(self.acked)
        return self

    def skip(self) -> list[int]:
        """The numbers of what has left since it was asked last."""
        numbers = [number for _, number in self.log[self.seen :]]
        self.seen = len(self.log)
        return numbers

    @property
    def ssthresh(self) -> float:
        assert self.sender.ssthresh is not None
        return self.sender.ssthresh / MSS

    @property
    def cwnd(self) -> float:
        return self.sender.cwnd / MSS


@pytest.mark.parametrize("stack", OLD)
@pytest.mark.parametrize("window", [1, 2, 3, 5, 12, 13])
def test_each_expiry_halves_the_window_that_is_left_in_whole_segments(stack: str, window: int) -> None:
    script = Script(stack, window)
    found = [script.expire().ssthresh for _ in range(3)]
    assert found == [max(2, window // 2), 2, 2]
    assert script.cwnd == 1


@pytest.mark.parametrize("stack", ["rfc", "linux"])
def test_rfc_5681_and_linux_hold_ssthresh_while_the_same_segment_times_out(stack: str) -> None:
    script = Script(stack, 12, congestion="reno", timer={"rfc6298": {}}, recovery="newreno")
    assert [script.expire().ssthresh for _ in range(3)] == [6, 6, 6]


@pytest.mark.parametrize("stack", OLD)
@pytest.mark.parametrize("window", [4, 5, 7, 9])
def test_a_fast_retransmit_leaves_whole_segments_in_ssthresh(stack: str, window: int) -> None:
    script = Script(stack, window).at(0.1).duplicates(3)
    assert script.ssthresh == max(2, window // 2)


@pytest.mark.parametrize("stack", ["rfc", "linux"])
def test_the_standards_do_not_round_and_linux_counts_segments(stack: str) -> None:
    script = Script(stack, 5, congestion="reno", recovery="newreno", timer={"rfc6298": {}}).at(0.1).duplicates(3)
    assert script.ssthresh == (2.5 if stack == "rfc" else 2)


@pytest.mark.parametrize(("stack", "cwnd"), [("bsd-reno", 4), ("ns-1", 4), ("ns-2", 4), ("ns-2.35", 4.5)])
def test_after_fast_recovery_the_window_is_whole_but_in_ns_2_35(stack: str, cwnd: float) -> None:
    """`precisionReduce_` halves a window with its fraction; ssthresh is an integer nevertheless."""
    script = Script(stack, 9, recovery="reno").at(0.1).duplicates(3)
    assert (script.cwnd, script.ssthresh) == (cwnd, 4)


@pytest.mark.parametrize("stack", OLD)
def test_an_expiry_in_recovery_halves_what_recovery_left(stack: str) -> None:
    script = Script(stack, 12, recovery="reno").at(0.1).duplicates(3)
    assert script.ssthresh == 6
    assert [script.expire().ssthresh for _ in range(3)] == [3, 2, 2]


@pytest.mark.parametrize("stack", OLD)
def test_an_expiry_in_slow_start_halves_the_window_not_the_threshold(stack: str) -> None:
    script = Script(stack, 12).expire()
    assert script.ssthresh == 6
    # Three segments are acknowledged one by one: the window is four.
    for count in range(1, 4):
        script.at(script.now + 0.1).ack(count)
    assert script.cwnd == 4
    assert [script.expire().ssthresh for _ in range(2)] == [2, 2]


@pytest.mark.parametrize(("stack", "expected"), [("bsd-tahoe", 4), ("bsd-reno", 1), *((stack, 1) for stack in NS)])
def test_a_pause_of_an_rto_closes_the_window_but_in_4_3bsd_tahoe(stack: str, expected: int) -> None:
    """tcp_output.c has it from 7.21 of June 1990 on; ns-2's timer runs on (`slow_start_restart_`)."""
    script = Script(stack, 1, offered=3 * MSS, max_window="64 packets")
    for count in range(1, 4):
        script.at(script.now + 0.1).ack(count)
    assert script.cwnd == 4
    script.at(script.now + 60)
    script.sender.write(8 * MSS)
    script.skip()
    script.drain()
    assert script.cwnd == expected
    assert script.skip() == list(range(3, 3 + expected))


@pytest.mark.parametrize("stack", OLD)
def test_the_window_opens_at_each_acknowledgement_even_if_it_is_not_used(stack: str) -> None:
    script = Script(stack, 8, offered=MSS, initial_ssthresh="64 packets").at(0.1).ack(1)
    assert script.cwnd == 9


@pytest.mark.parametrize(
    ("stack", "rto"),
    # A first sample of four ticks, RTTVAR half of it: SRTT plus two, or four, of it.
    [("bsd-tahoe", 5 * 0.5 * 2), ("bsd-reno", 5 * 0.5 * 3), ("ns-1", 20 * 0.1 * 3), ("ns-2", 20 * 0.1 * 3)],
)
def test_the_first_rto_is_srtt_and_two_deviations_in_4_3bsd_tahoe_and_four_later(stack: str, rto: float) -> None:
    """`t_rtt` begins with one in 4.3BSD, so that a first sample of four ticks counts five."""
    script = Script(stack, 1).at(2.0).ack(1)
    assert script.sender.rto_s == pytest.approx(rto)


@pytest.mark.parametrize("stack", ["ns-1", "ns-2"])
def test_a_round_trip_is_a_tick_at_least_in_ns(stack: str) -> None:
    script = Script(stack, 1).at(0.01).ack(1)
    assert script.sender.smoothed_rtt_s == pytest.approx(0.1)
    assert script.sender.rto_s == pytest.approx(0.3)


def test_ns_1_counts_the_nearest_number_of_ticks_and_ns_2_those_that_begin() -> None:
    for stack, rtt in [("ns-1", 0.2), ("ns-2", 0.1)]:
        assert Script(stack, 1).at(0.16).ack(1).sender.smoothed_rtt_s == pytest.approx(rtt)


@pytest.mark.parametrize(
    ("stack", "first"), [("bsd-tahoe", 6), ("bsd-reno", 6), ("ns-1", 3), ("ns-2", 6), ("ns-2.35", 3)]
)
def test_the_first_rto(stack: str, first: float) -> None:
    assert Script(stack, 1).sender.rto_s == first


@pytest.mark.parametrize("stack", NS)
def test_a_timer_of_ns_is_over_when_its_time_is(stack: str) -> None:
    script = Script(stack, 1)
    start = 0.1234
    script.at(start).ack(1).skip()
    script.expire()
    assert script.now - start == pytest.approx({"ns-1": 0.3, "ns-2": 0.3, "ns-2.35": 0.36}[stack], abs=1e-6)


@pytest.mark.parametrize("stack", BSD)
def test_a_timer_of_4_3bsd_is_over_with_a_tick_of_the_clock(stack: str) -> None:
    script = Script(stack, 1).at(0.1234).ack(1)
    script.expire()
    assert script.now % 0.5 == pytest.approx(0)


@pytest.mark.parametrize(
    ("stack", "most"), [("bsd-tahoe", 64), ("bsd-reno", 64), ("ns-1", 64 * 0.3), ("ns-2", 64 * 0.3), ("ns-2.35", 60)]
)
def test_the_rto_doubles_until_its_limit(stack: str, most: float) -> None:
    script = Script(stack, 1).at(0.05).ack(1).expire(12)
    assert script.sender.rto_s == pytest.approx(most)


@pytest.mark.parametrize("stack", ["bsd-tahoe", "bsd-reno", "ns-2", "ns-2.35"])
def test_after_four_expiries_a_sample_begins_the_estimate_anew(stack: str) -> None:
    for expiries, anew in [(3, False), (4, True)]:
        script = Script(stack, 1).at(2.5).ack(1)
        before = script.sender.smoothed_rtt_s
        assert before is not None
        script.expire(expiries)
        # What was resent gives no sample; new data does, after half a second.
        script.ack(3).skip()
        script.at(script.now + 0.5)
        script.ack(4)
        after = script.sender.smoothed_rtt_s
        assert after is not None
        assert (after < 1.1) == anew, (before, after)


def test_4_3bsd_tahoe_resends_the_lost_segment_and_goes_on_where_it_was() -> None:
    """`snd_nxt = onxt`; ns-2 goes back: `t_seqno_ = highest_ack_ + 1`."""
    for stack, expected in [("bsd-tahoe", [8, 9]), ("ns-2", [8, 9])]:
        script = Script(stack, 8)
        script.skip()
        script.at(0.1).duplicates(3)
        assert (script.skip(), script.cwnd) == ([0], 1)
        script.at(0.2).ack(8)
        assert script.skip() == expected
    for stack, expected in [("bsd-tahoe", []), ("ns-2", [4, 5])]:
        script = Script(stack, 8)
        script.at(0.1).duplicates(3)
        script.skip()
        # Segment 4 is lost, too.
        script.at(0.2).ack(4)
        assert script.skip() == expected
        script.expire()
        assert script.skip()[-1:] == [4]


def test_4_3bsd_opens_once_more_at_ssthresh_and_reno_adds_an_eighth() -> None:
    found = {}
    for stack in ["bsd-tahoe", "bsd-reno", "ns-2"]:
        script = Script(stack, 4, initial_ssthresh="4 packets")
        windows = []
        for count in range(1, 4):
            script.at(script.now + 0.1).ack(count)
            windows.append(script.sender.cwnd)
        found[stack] = windows
    assert found["bsd-tahoe"] == [5000, 5200, 5392]
    assert found["bsd-reno"] == [5000, 5325, 5637]
    assert found["ns-2"] == [4250, 4485, 4708]


@pytest.mark.parametrize("stack", BSD)
def test_4_3bsd_ends_the_handshake_with_a_segment_of_its_own(stack: str) -> None:
    sender = Sender(stack=stack, mss=f"{MSS} B")
    sender.write(8 * MSS)
    assert sender.poll(0.0) is not None
    sender.push(0.1, Segment(ack=0, flags=["SYN"], echo_s=0.0))
    answers = []
    while segment := sender.poll(0.1):
        answers.append(segment.len)
    assert answers == [0, MSS]
