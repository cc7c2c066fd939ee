"""Queues of links written in Python."""

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

import varicap
from varicap.engines.kernel import run as run_kernel
from varicap.queues import Packet

LIMIT = 20


def scenario(queue: Any, **tcp: Any) -> dict[str, Any]:
    forward = {"capacity": "2 Mbit/s", "delay": "20 ms", "queue": queue}
    flow = {"count": 2, "start_spread": "1 s", "tcp": {"recovery": "sack", **tcp}}
    return {"duration": "10 s", "topology": {"dumbbell": {"forward": forward}}, "flows": {"tcp": flow}}


class Fifo:
    """First in, first out; what does not fit is lost."""

    def __init__(self, link: str) -> None:
        assert link == "forward"
        self.packets: deque[Packet] = deque()

    def enqueue(self, now_s: float, packet: Packet) -> None:
        if len(self.packets) == LIMIT:
            packet.drop()
        else:
            self.packets.append(packet)

    def dequeue(self, now_s: float) -> Packet | float | None:
        return self.packets.popleft() if self.packets else None


def run(queue: Callable[..., Any], **options: Any) -> varicap.Result:
    return varicap.run(scenario({"custom": "mine"}, **options), seeds=1, queues={"mine": queue})


def test_a_fifo_with_a_limit_is_drop_tail() -> None:
    ours = varicap.run(scenario({"custom": "mine"}), seeds=2, queues={"mine": Fifo})
    tail = {"drop-tail": {"limit": f"{LIMIT} packets", "counts_in_service": False}}
    theirs = varicap.run(scenario(tail), seeds=2)
    # As text, for what was not measured is not a number, and equals nothing.
    assert repr(ours.links.to_pydict()) == repr(theirs.links.to_pydict())
    assert repr(ours.flows.to_pydict()) == repr(theirs.flows.to_pydict())
    assert ours.links["overflowed_packets"][0].as_py() > 0


def test_a_queue_may_drop_what_waits() -> None:
    class HeadDrop(Fifo):
        def enqueue(self, now_s: float, packet: Packet) -> None:
            self.packets.append(packet)
            if len(self.packets) > LIMIT:
                oldest = self.packets.popleft()
                oldest.drop(early=True)
                assert not oldest.waiting

    links = run(HeadDrop).links
    assert links["aqm_dropped_packets"][0].as_py() > 0
    assert links["overflowed_packets"][0].as_py() == 0


def test_a_queue_may_mark_and_sees_what_packets_are() -> None:
    seen: set[tuple[str, bool, bool]] = set()

    class Marking(Fifo):
        def dequeue(self, now_s: float) -> Packet | float | None:
            packet = super().dequeue(now_s)
            if isinstance(packet, Packet):
                seen.add((packet.flow, packet.ecn_capable, packet.carries_data))
                assert packet.size_bytes > 0
                assert packet.codepoint == ("ECT(0)" if packet.ecn_capable else "not-ECT")
                assert not packet.reserved
                if now_s - packet.arrived_s > 0.02:
                    assert packet.mark() == packet.ecn_capable
            return packet

    links = run(Marking, ecn=True).links
    assert ("tcp", True, True) in seen
    assert links["marked_packets"][0].as_py() > 0
    assert links["dropped_packets"][0].as_py() == 0


def test_a_queue_may_make_packets_wait() -> None:
    class Late(Fifo):
        def dequeue(self, now_s: float) -> Packet | float | None:
            return super().dequeue(now_s) if now_s >= 5 else 5.0

    assert run(Late).flows["delivered_packets"][0].as_py() > 0


def test_a_queue_that_forgets_its_packets_keeps_them_waiting() -> None:
    class Hole(Fifo):
        def dequeue(self, now_s: float) -> Packet | float | None:
            self.packets.clear()
            return None

    result = run(Hole)
    assert result.links["dropped_packets"][0].as_py() == 0
    assert result.flows["delivered_packets"][0].as_py() == 0


class Twice(Fifo):
    """Gives each packet again."""

    def dequeue(self, now_s: float) -> Packet | float | None:
        return self.packets[0] if self.packets else None


class Dropped(Fifo):
    """Gives what it has dropped."""

    def dequeue(self, now_s: float) -> Packet | float | None:
        for packet in self.packets:
            packet.drop()
            return packet
        return None


class Keeps(Fifo):
    """Answers where nothing is asked."""

    def enqueue(self, now_s: float, packet: Packet) -> Any:
        return packet


class Nonsense(Fifo):
    """Gives no packet."""

    def dequeue(self, now_s: float) -> Any:
        return "the next"


class Past(Fifo):
    """Asks for a time that has passed."""

    def dequeue(self, now_s: float) -> float:
        return 0.0


class Fails(Fifo):
    """Raises an exception of its own."""

    def enqueue(self, now_s: float, packet: Packet) -> None:
        raise LookupError("no room in the inn")


class Unmade(Fifo):
    """Cannot be made."""

    def __init__(self, link: str) -> None:
        raise LookupError(f"nothing for {link}")


@pytest.mark.parametrize(
    ("queue", "error", "says"),
    [
        (Twice, ValueError, r"packet 0 of `tcp` has left already, and cannot be given to the link"),
        (Dropped, ValueError, r"packet 0 of `tcp` was dropped already, and cannot be given to the link"),
        (Keeps, TypeError, r"`mine.enqueue` gave <packet 0 of `tcp`.*>, expected nothing"),
        (Nonsense, TypeError, r"`mine.dequeue` gave 'the next', expected a packet, a time in seconds or None"),
        (Past, ValueError, r"`mine.dequeue` gave 0 s, expected a time after "),
        (Fails, LookupError, "no room in the inn"),
        (Unmade, LookupError, "nothing for forward"),
    ],
)
def test_a_mistake_of_a_queue_ends_the_run(queue: type, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        run(queue)


def test_a_queue_that_is_missing_is_asked_for() -> None:
    with pytest.raises(varicap.ScenarioError, match=r"forward\.queue: no queue called `mine` was given; .*queues="):
        varicap.run(scenario({"custom": "mine"}), seeds=1)


def test_the_kernel_engine_refuses_a_queue_in_python() -> None:
    with pytest.raises(varicap.NotApplicableError, match="queue"):
        run_kernel(scenario({"custom": "mine"}), queues={"mine": Fifo})


def test_a_result_with_a_queue_in_python_says_so() -> None:
    assert run(Fifo).request.controls == ("mine",)
