"""Congestion controls in Python: what they may ask for and answer, and those of `examples/controls`."""

from typing import Any

import pytest
from controls import bbr, dctcp

import varicap
from varicap.tcp import AckSample, CongestionEvent, Receiver, Sender

LINK = {"dumbbell": {"forward": {"capacity": "10 Mb/s", "delay": "10 ms"}, "reverse": {"delay": "10 ms"}}}


class Recording:
    """A fixed window that keeps what it learns."""

    wants: tuple[str, ...] = ()
    pacing_rate_bps: float | None = None

    def __init__(self, mss: int, initial_window: int) -> None:
        self.cwnd = 4 * mss
        type(self).acks = []

    acks: list[AckSample]

    def on_ack(self, ack: AckSample) -> None:
        self.acks.append(ack)

    def on_congestion(self, event: CongestionEvent) -> None: ...


def settings(**more: Any) -> dict[str, Any]:
    return {"stack": "rfc", "mss": "1000 B", "header": "0 B", "handshake": False, **more}


def drain(sender: Sender, now_s: float) -> list[int]:
    sent = []
    while segment := sender.poll(now_s):
        sent.append(segment.seq)
    return sent


def test_a_dctcp_like_control_holds_its_queue_at_the_threshold_where_reno_runs_it_empty() -> None:
    table = dctcp.compare("20 s")
    assert table["dctcp"]["utilisation"] > 0.995 > 0.95 > table["reno"]["utilisation"]
    # Marks begin at 20 packets.
    assert 10 < table["dctcp"]["backlog"] < 22
    assert table["reno"]["backlog"] < 10


def test_a_bbr_like_control_fills_the_link_with_a_small_queue() -> None:
    table = bbr.compare("20 s")
    assert table["bbr"]["utilisation"] > 0.95
    assert table["bbr"]["backlog"] < 10
    assert table["reno"]["backlog"] > 50


def test_a_control_that_wants_each_mark_gets_that_of_the_packet_that_is_acknowledged() -> None:
    class Marked(Recording):
        wants = ("each-mark",)

    sender = Sender(control=Marked, **settings())
    receiver = Receiver(echo_each_mark=True, ack="delayed", **settings())
    sender.write()
    segments = [segment for _ in range(4) if (segment := sender.poll(0.0))]
    assert all("ECT" in segment.flags for segment in segments)
    for number, segment in enumerate(segments):
        marked = type(segment)(seq=segment.seq, len=segment.len, flags=["ECT", "CE"] if number == 1 else ["ECT"])
        receiver.push(0.05, marked)
        answer = receiver.poll(0.05)
        assert answer is not None
        sender.push(0.1, answer)
    assert [ack.marked for ack in Marked.acks] == [False, True, False, False]
    assert [ack.delivered for ack in Marked.acks] == [1000, 2000, 3000, 4000]


def test_a_pacing_rate_spaces_packets() -> None:
    class Paced(Recording):
        pacing_rate_bps = 80_000  # a packet in 100 ms

    sender = Sender(control=Paced, **settings())
    sender.write()
    assert drain(sender, 0.0) == [0]
    assert sender.poll_at() == pytest.approx(0.1)
    assert drain(sender, 0.1) == [1000]


def test_rate_samples_measure_the_path_and_rounds_are_counted() -> None:
    class Sampled(Recording):
        wants = ("rate-samples",)

    sender = Sender(control=Sampled, **settings())
    receiver = Receiver(ack="every", **settings())
    sender.write()
    for trip in range(4):
        answers = []
        while segment := sender.poll(0.1 * trip):
            receiver.push(0.1 * trip + 0.05, segment)
            answers.append(receiver.poll(0.1 * trip + 0.05))
        assert answers[-1] is not None
        sender.push(0.1 * trip + 0.1, answers[-1])  # one for all of them
    last = Sampled.acks[-1]
    # Four packets in each round trip of 100 ms.
    assert last.rate_bps == pytest.approx(320_000)
    assert last.rate_interval_s == pytest.approx(0.1)
    assert [ack.round for ack in Sampled.acks] == [1, 2, 3, 4]


def test_who_wants_every_acknowledgement_learns_of_losses_in_recovery() -> None:
    class Every(Recording):
        wants = ("every-ack",)

    class Usual(Recording):
        pass

    for control, count in ((Every, 3), (Usual, 0)):
        sender = Sender(control=control, recovery="sack", **settings())
        receiver = Receiver(ack="every", **settings())
        sender.write()
        segments = [segment for _ in range(4) if (segment := sender.poll(0.0))]
        for segment in segments[1:]:
            receiver.push(0.05, segment)
            answer = receiver.poll(0.05)
            assert answer is not None
            sender.push(0.1, answer)
        assert len(control.acks) == count
    assert Every.acks[-1].in_recovery
    assert Every.acks[-1].newly_lost == 1000
    assert [ack.delivered for ack in Every.acks] == [1000, 2000, 3000]


def test_what_cannot_be_wanted_is_refused() -> None:
    class Greedy(Recording):
        wants = ("each-byte",)

    with pytest.raises(ValueError, match="`each-byte` cannot be wanted"):
        Sender(control=Greedy, **settings())


class Hearing(Recording):
    """A fixed window that keeps what it is informed of."""

    heard: list[tuple[Any, ...]]

    def __init__(self, mss: int, initial_window: int) -> None:
        super().__init__(mss, initial_window)
        type(self).heard = []

    def on_undo(self, now_s: float) -> None:
        self.heard.append(("undo", now_s))

    def on_unused(self, window: int) -> None:
        self.heard.append(("unused", window))

    def on_start(self, now_s: float, idle_s: float) -> None:
        self.heard.append(("start", now_s, idle_s))

    def on_idle(self, restart_window: int) -> None:
        self.heard.append(("idle", restart_window))


def exchange(sender: Sender, receiver: Receiver, now_s: float) -> None:
    """A round trip of 0.1 s: all that may leave, and the answers to it."""
    sent = list(iter(lambda: sender.poll(now_s), None))
    for segment in sent:
        receiver.push(now_s + 0.05, segment)
        while answer := receiver.poll(now_s + 0.05):
            sender.push(now_s + 0.1, answer)


def test_a_control_is_informed_when_data_leaves_again_and_when_its_window_was_not_used() -> None:
    unused = settings(initial_window="1 packets", validation="decay")
    sender, receiver = Sender(control=Hearing, **unused), Receiver(ack="every", **unused)
    for now_s in (0.5, 20.0):
        sender.write(1000)
        exchange(sender, receiver, now_s)
    # Idle for much more than two RTOs: the window of four packets is halved down to the initial one.
    assert Hearing.heard == [("start", 0.5, 0.5), ("unused", 1000), ("start", 20.0, 19.5)]


def test_a_control_without_a_rule_for_unused_windows_restarts() -> None:
    heard = []

    class Idle(Recording):
        def on_idle(self, restart_window: int) -> None:
            heard.append(restart_window)

    unused = settings(initial_window="1 packets", validation="decay")
    sender, receiver = Sender(control=Idle, **unused), Receiver(ack="every", **unused)
    for now_s in (0.5, 20.0):
        sender.write(1000)
        exchange(sender, receiver, now_s)
    assert heard == [1000]


def test_a_control_is_informed_that_a_timeout_was_spurious() -> None:
    late = settings(recovery={"rack": {"undo": True, "tail_loss_probe": False}}, timestamps=True)
    sender, receiver = Sender(control=Hearing, **late), Receiver(ack="every", **late)
    sender.write(4000)
    sent = [segment for _ in range(4) if (segment := sender.poll(0.0))]
    expires = sender.poll_at()
    assert expires is not None
    assert drain(sender, expires)[0] == 0
    # The acknowledgement of what was sent first, by its timestamp.
    receiver.push(expires + 0.01, sent[0])
    answer = receiver.poll(expires + 0.01)
    assert answer is not None
    sender.push(expires + 0.02, answer)
    assert Hearing.heard == [("start", 0.0, 0.0), ("undo", pytest.approx(expires + 0.02))]


def test_who_names_the_kernels_control_is_told_of_the_simulators_own() -> None:
    flows = {"a": {"tcp": {"congestion": {"custom": "bbr"}}}}
    with pytest.raises(varicap.ScenarioError, match=r'or write congestion = "bbr" for the simulator\'s own'):
        varicap.run({"duration": "1 s", "topology": LINK, "flows": flows})
    flows = {"a": {"tcp": {"congestion": {"custom": "mine"}}}}
    with pytest.raises(varicap.ScenarioError, match=r"bring it with --plugin FILE\.py, in Python with controls=…$"):
        varicap.run({"duration": "1 s", "topology": LINK, "flows": flows})
