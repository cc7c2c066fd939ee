"""TCP by hand, and congestion controls written in Python."""

from typing import Any

import pytest

import varicap
from varicap.tcp import AckSample, CongestionEvent, Receiver, Segment, Sender


def converse(sender: Sender, receiver: Receiver, until_s: float, lose: set[int], one_way_s: float = 0.05) -> None:
    """Carry segments both ways over an ideal wire that loses the data packets with these numbers."""
    wires: list[tuple[float, bool, Segment]] = []
    sent = 0

    def drain(half: Sender | Receiver, now: float) -> None:
        nonlocal sent
        while (segment := half.poll(now)) is not None:
            is_data = segment.len > 0
            if not (is_data and sent in lose):
                wires.append((now + one_way_s, half is sender, segment))
            sent += is_data

    now = 0.0
    while now <= until_s:
        drain(sender, now)
        drain(receiver, now)
        waiting = [at for at, _, _ in wires] + [at for half in (sender, receiver) if (at := half.poll_at()) is not None]
        if not waiting:
            return
        now = min(waiting)
        for arrival in [wire for wire in wires if wire[0] <= now]:
            wires.remove(arrival)
            half = receiver if arrival[1] else sender
            half.push(now, arrival[2])
            drain(half, now)


@pytest.mark.parametrize("recovery", ["old-tahoe", "tahoe", "reno", "newreno", "sack"])
def test_a_dialogue_repairs_its_losses(recovery: str) -> None:
    settings: dict[str, Any] = {"mss": "1000 B", "recovery": recovery, "timer": {"rfc6298": {"minimum": "0.2 s"}}}
    sender, receiver = Sender(**settings), Receiver(**settings)
    sender.write(100_000)
    sender.close()
    converse(sender, receiver, 60.0, lose={5, 12, 13})
    assert receiver.delivered == 100_000
    assert sender.is_done
    assert (sender.is_over, receiver.has_ended, receiver.is_closing) == (True, True, False), "a FIN each way"
    assert sender.counters["retransmitted_packets"] >= 3
    assert sender.smoothed_rtt_s is not None
    assert (sender.counters["fast_retransmits"] > 0) == (recovery != "old-tahoe")


def test_a_handshake_comes_first() -> None:
    sender = Sender(stack="rfc")
    sender.write()
    syn = sender.poll(0.0)
    assert syn is not None
    assert syn.flags == ["SYN"]
    assert repr(syn) == "<segment SYN>"
    assert sender.poll(0.0) is None
    assert sender.poll_at() == pytest.approx(1.0), "RFC 6298 (2.1)"


def test_a_segment_shows_what_it_carries() -> None:
    segment = Segment(ack=1000, sack=[(2000, 3000), (5000, 6000)], flags=["ECE"])
    assert repr(segment) == "<segment ECE, ack 1000, sack 2000..3000, sack 5000..6000>"
    assert segment.sack == [(2000, 3000), (5000, 6000)]
    assert segment == Segment(ack=1000, sack=[(2000, 3000), (5000, 6000)], flags=["ECE"])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Sender(mss="big"), "amount of data"),
        (lambda: Sender(speed=1), "speed"),
        (lambda: Sender(initial_window="1 bdp"), "bdp"),
        (lambda: Segment(flags=["URG"]), "URG"),
        (lambda: Segment(ack=10, sack=[(8, 5)]), "SACK"),
        (lambda: Sender().poll(-1.0), "seconds"),
        (lambda: Sender().poll(float("nan")), "seconds"),
    ],
)
def test_a_mistake_is_a_value_error(call: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


class Fixed:
    """A window of 12 segments, whatever happens."""

    def __init__(self, mss: int, initial_window: int) -> None:
        self.cwnd: float = 12 * mss
        self.acks: list[AckSample] = []
        self.events: list[CongestionEvent] = []

    def on_ack(self, ack: AckSample) -> None:
        self.acks.append(ack)

    def on_congestion(self, event: CongestionEvent) -> None:
        self.events.append(event)


class Reno(Fixed):
    """RFC 5681 in a few lines, windows opened in steps to whole segments as the one that is built in."""

    def __init__(self, mss: int, initial_window: int) -> None:
        self.mss = mss
        self.ssthresh: int | None = None
        self.set(initial_window)

    def set(self, cwnd: int) -> None:
        cwnd = max(cwnd, self.mss)
        self.cwnd: float = cwnd
        self.credit = 0
        self.goal = cwnd * (self.mss - cwnd % self.mss) // self.mss

    def on_ack(self, ack: AckSample) -> None:
        if ack.app_limited:
            return
        acked = min(ack.newly_acked, self.mss)
        if self.ssthresh is None:
            self.cwnd += acked
        elif self.cwnd < self.ssthresh:
            self.cwnd += acked
            if self.cwnd >= self.ssthresh:
                self.set(self.ssthresh)
        else:
            self.credit += acked
            if self.credit >= self.goal:
                cwnd = int(self.cwnd) // self.mss * self.mss + self.mss
                self.credit = min(self.credit - self.goal, cwnd)
                self.cwnd = self.goal = cwnd

    def on_congestion(self, event: CongestionEvent) -> None:
        if event.kind != "timeout" or event.backoff == 0:
            self.ssthresh = max(event.in_flight // 2, 2 * self.mss)
        self.set(self.mss if event.kind == "timeout" else self.ssthresh or self.mss)

    def on_recovered(self, now_s: float, limit: int | None) -> None:
        if limit is not None and limit < self.cwnd:
            self.set(limit)

    def on_idle(self, restart_window: int) -> None:
        self.set(min(int(self.cwnd), restart_window))


def test_a_python_control_hears_of_acknowledgements_and_losses() -> None:
    made: list[Fixed] = []

    def make(mss: int, initial_window: int) -> Fixed:
        made.append(Fixed(mss, initial_window))
        return made[-1]

    sender, receiver = Sender(control=make, mss="1000 B"), Receiver(mss="1000 B")
    sender.write(50_000)
    assert sender.cwnd == 12_000
    converse(sender, receiver, 60.0, lose={4})
    (control,) = made
    assert receiver.delivered == 50_000
    assert [event.kind for event in control.events] == ["fast-retransmit"]
    assert control.acks[-1].min_rtt_s == pytest.approx(0.1)


def scenario(congestion: Any) -> dict[str, Any]:
    return {
        "name": "custom",
        "duration": "60 s",
        "topology": {"dumbbell": {"forward": {"capacity": "2 Mbit/s", "delay": "20 ms", "loss": "0.5 %"}}},
        "flows": {"one": {"tcp": {"stack": "rfc", "congestion": congestion}}},
    }


def test_a_scenario_runs_a_python_control_exactly_like_the_one_that_is_built_in() -> None:
    ours = varicap.run(scenario({"custom": "mine"}), seeds=2, controls={"mine": Reno})
    theirs = varicap.run(scenario("reno"), seeds=2)
    assert ours.summary["flows"] == theirs.summary["flows"]


def test_a_python_control_is_told_its_rate() -> None:
    told: list[tuple[float, int | None]] = []

    class Told(Fixed):
        def on_rate_feedback(self, now_s: float, rate_bps: int | None) -> None:
            told.append((now_s, rate_bps))

    sender = Sender(control=Told, mss="1000 B")
    sender.on_rate_feedback(0.5, 1_000_000)
    sender.on_rate_feedback(0.7, None)
    assert told == [(0.5, 1_000_000), (0.7, None)]
    told.clear()
    flow = {"tcp": {"congestion": {"custom": "mine"}}, "feedback": {}}
    varicap.run(scenario("reno") | {"flows": {"one": flow}}, seeds=1, controls={"mine": Told})
    assert told == [(0.04, 2_000_000)]


def test_ratcp_by_hand_keeps_to_the_rate() -> None:
    ratcp = {"ratcp": {"beta": "1 packets", "rtt": {"known": "100 ms"}}}
    sender = Sender(stack="rfc", congestion=ratcp, mss="1000 B", header="0 B", initial_window="20 packets")
    sender.on_rate_feedback(0.1, 800_000)
    assert sender.cwnd == 11_000


def test_an_exception_of_a_control_ends_the_run_and_comes_out() -> None:
    class Broken(Fixed):
        def on_ack(self, ack: AckSample) -> None:
            raise RuntimeError("no idea")

    with pytest.raises(RuntimeError, match="no idea"):
        varicap.run(scenario({"custom": "mine"}), seeds=1, controls={"mine": Broken})


def test_a_control_that_nobody_brought_is_a_scenario_error() -> None:
    with pytest.raises(varicap.ScenarioError, match="mine"):
        varicap.run(scenario({"custom": "mine"}), seeds=1)


def test_a_result_with_python_controls_says_so(tmp_path: Any) -> None:
    manifest = varicap.run(scenario({"custom": "mine"}), seeds=1, controls={"mine": Reno}).save(tmp_path)
    from varicap.engines.replay import replay
    from varicap.results.manifest import ManifestError

    with pytest.raises(ManifestError, match="mine"):
        replay(manifest)


RESERVED: dict[str, Any] = {
    "stack": "rfc",
    "mss": "1000 B",
    "header": "0 B",
    "initial_window": "2 packets",
    "handshake": False,
}


def test_a_sender_with_a_reservation_marks_and_sends_by_its_timer() -> None:
    terms = {"rate": "4 Mbit/s", "bucket": "3 kB", "timed": {"interval": "20 ms"}}
    sender = Sender(reservation=terms, **RESERVED)
    sender.write()
    first = [segment for _ in range(3) if (segment := sender.poll(0.0))]
    assert [segment.flags for segment in first] == [["RESERVED"], ["RESERVED"]]
    assert sender.poll_at() == 0.02
    by_timer = [segment for _ in range(9) if (segment := sender.poll(0.02))]
    assert [segment.seq for segment in by_timer] == [2000, 3000, 4000]
    # 10 kB came, 2 kB found room.
    assert sender.lost_tokens(0.02) == 8000
    assert sender.counters["marked_packets"] == 5
    sender.set_reserved_rate(0.02, 8_000_000)
    assert sender.reserved_rate_bps == 8_000_000
    assert sender.lost_tokens(0.024) == 8000 + 1000


def test_a_window_follows_the_reservation() -> None:
    terms = {"rate": "4 Mbit/s"}
    sender = Sender(reservation=terms, congestion="rate-adaptive-window", **RESERVED)
    sender.write()
    assert sender.poll(0.0) is not None
    sender.push(0.1, Segment(ack=1000, echo_s=0.0))
    assert 52_000 <= sender.cwnd < 53_000
    sender.set_reserved_rate(0.1, 0)
    assert 2000 <= sender.cwnd < 3000


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({}, "reservation: missing field `rate`"),
        (
            {"rate": "4 Mbit/s", "bucket": "999 B"},
            "bucket: found `999 B`, expected room for at least one packet of 1 kB",
        ),
        ({"rate": "4 Mbit/s", "marked_at": "forward"}, "marked_at: found `forward`, expected source"),
        ({"rate": {"steps": {"at": ["0 s"], "rates": ["1 Mbit/s"]}}}, "expected one rate"),
        ({"rate": "4 Mbit/s", "timed": {"interval": "0 s"}}, "timed.interval: found `0 s`, expected more than 0 s"),
        ({"rate": "4 Mbit/s", "buckets": "1 s"}, "buckets"),
    ],
)
def test_a_wrong_reservation_says_what_is_wrong(terms: dict[str, Any], message: str) -> None:
    with pytest.raises(varicap.ScenarioError, match=message):
        Sender(reservation=terms, **RESERVED)


def test_a_control_in_python_hears_of_the_reservation() -> None:
    told: list[tuple[float, int | None]] = []

    class Listening:
        cwnd = 10_000.0

        def __init__(self, mss: int, initial_window: int) -> None: ...

        def on_ack(self, ack: AckSample) -> None: ...

        def on_congestion(self, event: CongestionEvent) -> None: ...

        def on_reservation(self, now_s: float, rate_bps: int | None) -> None:
            told.append((now_s, rate_bps))

    sender = Sender(control=Listening, reservation={"rate": "1 Mbit/s"}, **RESERVED)
    sender.set_reserved_rate(0.5, 2_000_000)
    assert told == [(0.0, 1_000_000), (0.5, 2_000_000)]


def test_accurate_ecn_counts_marks_by_hand() -> None:
    settings: dict[str, Any] = {"ecn": "accurate", "mss": "1000 B", "handshake": False, "ack": "every"}
    heard: list[tuple[bool, int, int]] = []

    class Listens:
        wants = ("every-ack",)

        def __init__(self, mss: int, initial_window: int) -> None:
            self.cwnd = 10 * mss

        def on_ack(self, ack: AckSample) -> None:
            heard.append((ack.marked, ack.marked_packets, ack.marked_bytes))

        def on_congestion(self, event: CongestionEvent) -> None:
            assert event.kind == "ecn-echo"

    sender, receiver = Sender(control=Listens, **settings), Receiver(**settings)
    sender.write(3000)
    acks = []
    for flags in ([], ["CE"], ["CE"]):
        data = sender.poll(0.0)
        assert data is not None
        assert data.flags == ["ECE", "ECT", "AE"]
        receiver.push(0.1, Segment(seq=data.seq, len=data.len, flags=[*data.flags, *flags]))
        while (ack := receiver.poll(0.1)) is not None:
            acks.append(ack)
    assert [ack.ecn_bytes for ack in acks] == [(1001, 0), (1001, 1000), (1001, 2000)]
    assert [set(ack.flags) & {"AE", "CWR", "ECE"} for ack in acks] == [
        {"AE", "ECE"},
        {"AE", "CWR"},
        {"AE", "CWR", "ECE"},
    ]
    assert "ect0 1001, ce 2000" in repr(acks[-1])
    for ack in acks:
        sender.push(0.2, ack)
    assert heard == [(False, 0, 0), (True, 1, 1000), (True, 1, 1000)]
    assert sender.counters["reported_marks"] == 2
    with pytest.raises(ValueError, match="at most 3 SACK blocks"):
        Segment(ack=0, sack=[(10, 20), (30, 40), (50, 60), (70, 80)], ecn_bytes=(1, 0))


SYN, ACK, ECE, CWR, ECT, CE, AE, COUNTED = 1, 2, 4, 8, 16, 32, 256, 512


@pytest.mark.parametrize(
    ("ecn", "handshake"),
    [
        (False, [SYN, SYN | ACK]),
        (True, [SYN | ECE | CWR, SYN | ACK | ECE]),
        ("accurate", [SYN | AE | CWR | ECE, SYN | ACK | CWR | COUNTED]),
        ({"accurate": {"option": False}}, [SYN | AE | CWR | ECE, SYN | ACK | CWR]),
    ],
)
def test_the_packet_log_shows_which_ecn_a_handshake_negotiates(ecn: Any, handshake: list[int]) -> None:
    """RFC 3168, section 6.1.1; RFC 9768, table 2."""
    scenario = {
        "duration": "4 s",
        "tcp": {"ecn": ecn},
        "topology": {
            "dumbbell": {"forward": {"capacity": "4 Mb/s", "delay": "20 ms", "queue": {"codel": {"ecn": True}}}}
        },
        "flows": {"one": {}},
    }
    flags = varicap.run(scenario, packets=True).packets["flags"].to_pylist()
    assert list(dict.fromkeys(bits for bits in flags if bits & SYN)) == handshake
    marked = [bits & CE for bits in flags if not bits & SYN]
    assert any(marked) == bool(ecn)


def test_a_control_that_is_none_of_ours_is_refused() -> None:
    with pytest.raises(ValueError, match="`mine` is one that a program brings"):
        Sender(congestion={"custom": "mine"})
    with pytest.raises(ValueError, match="is a module of Linux"):
        Sender(congestion={"module": "mine.c"})
