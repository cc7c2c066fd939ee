"""Transports in Python, and QUIC where it was built in."""

import tomllib
from typing import Any

import pytest

import varicap
from varicap import _core
from varicap._core import MissingControlError, RunError
from varicap.endpoints import Report, Start

PATH = """
duration = "5 s"
seeds = 1
[topology.dumbbell.forward]
capacity = "10 Mbit/s"
delay = "20 ms"
queue = { drop-tail = { limit = "100 packets" } }
"""
quic = pytest.mark.skipif(not _core.HAS_QUIC, reason="built without QUIC: make quic")


class GoBack:
    """A fixed window of numbered datagrams, repeated from the first that none acknowledged within half a second."""

    window, data = 20, 1000

    def __init__(self, start: Start) -> None:
        self.is_sender = start.side == "sender"
        self.seed = start.seed
        self.offered = self.next = self.acked = self.expected = self.received = 0
        self.timer: float | None = None
        self.is_over = self.owes = False

    def write(self, now_s: float, size: int | None) -> None:
        self.offered += 1 << 60 if size is None else size

    def end(self, now_s: float) -> None:
        self.is_over = True

    def push(self, now_s: float, data: bytes, ecn: int) -> None:
        number = int.from_bytes(data[:8], "big")
        if self.is_sender:
            if number > self.acked:
                self.acked = number
                self.timer = now_s + 0.5 if self.acked < self.next else None
        else:
            if number == self.expected:
                self.expected += 1
                self.received += len(data) - 8
            self.owes = True

    def poll(self, now_s: float) -> Any:
        if not self.is_sender:
            answer = self.expected.to_bytes(8, "big") if self.owes else None
            self.owes = False
            return answer
        if self.timer is not None and now_s >= self.timer:
            self.next, self.timer = self.acked, None
        left = self.offered - self.next * self.data
        if left <= 0 or self.next >= self.acked + self.window:
            return None
        self.next += 1
        if self.timer is None:
            self.timer = now_s + 0.5
        return (self.next - 1).to_bytes(8, "big") + bytes(min(left, self.data)), 2

    def poll_at(self) -> float | None:
        return self.timer

    def delivered(self) -> int:
        return self.received

    def report(self) -> Report:
        is_over = self.is_over and self.acked * self.data >= self.offered
        return {"cwnd": self.window * self.data, "stage": "over" if is_over else "running"}


def run(flow: str, make: Any = GoBack, path: str = PATH, **options: Any) -> varicap.Result:
    scenario = tomllib.loads(f"{path}[flows.a]\n{flow}\n")
    result: varicap.Result = varicap.run(scenario, endpoints={"mine": make}, **options)
    return result


def row(result: varicap.Result, name: str) -> Any:
    return result.flows[name][0].as_py()


MINE = "endpoint = { name = 'mine' }"


def test_a_window_in_python_fills_the_path_as_far_as_it_goes() -> None:
    result = run(MINE)
    expected = GoBack.window * GoBack.data * 8 / (0.04 + 1036 * 8 / 10e6)
    assert row(result, "goodput_bps") == pytest.approx(expected, rel=0.02)
    assert row(result, "cwnd_mean_packets") == pytest.approx(20_000 / 1472, rel=0.01)


def test_transfers_end_and_the_same_run_gives_the_same_rows() -> None:
    flow = f"{MINE}\napp = {{ arrivals = {{ rate = '20 /s', size = {{ fixed = '30 kB' }} }} }}"
    first, second = run(flow), run(flow)
    assert row(first, "transfers") > 60
    assert str(first.flows.to_pylist()) == str(second.flows.to_pylist())


def test_both_sides_have_one_seed_and_each_connection_another() -> None:
    seeds: list[tuple[str, bytes]] = []

    def make(start: Start) -> GoBack:
        seeds.append((start.side, start.seed))
        return GoBack(start)

    run(f"count = 2\n{MINE}", make)
    (_, one), (_, same), (_, other), _ = seeds
    assert [side for side, _ in seeds] == ["sender", "receiver"] * 2
    assert one == same != other
    assert len(one) == 32


class Raising(GoBack):
    def poll(self, now_s: float) -> Any:
        if now_s > 0.3:
            raise ArithmeticError("no more numbers")
        return super().poll(now_s)


class Flooding(GoBack):
    def poll(self, now_s: float) -> Any:
        return bytes(9) if self.is_sender and now_s > 0.1 else super().poll(now_s)


class Late(GoBack):
    def poll_at(self) -> float | None:
        return 0.0 if self.is_sender else None


class Large(GoBack):
    data = 1465


class Silent(GoBack):
    def poll(self, now_s: float) -> Any:
        return None


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (Flooding, "(the sender) sent 65536 datagrams at 0.1"),
        (Late, "(the sender) asks at"),
        (Large, "(the sender) sent a datagram of 1473 B; at most 1472 B"),
        (Silent, "(the sender) never sent anything"),
    ],
)
def test_an_endpoint_that_breaks_its_contract_ends_the_run_by_name(make: Any, says: str) -> None:
    with pytest.raises(RunError) as raised:
        run(MINE, make)
    assert str(raised.value).startswith(f"flow `a`: its endpoint `mine` {says}")


def test_an_exception_of_an_endpoint_is_raised_with_its_place() -> None:
    with pytest.raises(ArithmeticError, match="no more numbers") as raised:
        run(MINE, Raising)
    assert raised.value.__notes__ == ["in the endpoint `mine` (Raising, the sender) of flow `a`"]


def test_what_is_no_endpoint_is_refused() -> None:
    with pytest.raises(TypeError, match="has no method `push`"):
        run(MINE, lambda _: object())
    with pytest.raises(MissingControlError, match="nobody brought an endpoint called `other`"):
        run("endpoint = { name = 'other' }")


@pytest.mark.skipif(_core.HAS_QUIC, reason="built with QUIC")
def test_without_quic_a_run_says_how_to_get_it() -> None:
    with pytest.raises(MissingControlError, match="make quic"):
        run("quic = {}")


@quic
def test_quic_fills_a_path_and_gives_the_same_bytes() -> None:
    flow = "quic = { congestion = 'cubic' }"
    first, second = run(flow), run(flow)
    assert str(first.flows.to_pylist()) == str(second.flows.to_pylist())
    assert 0.85 * 10e6 < row(first, "goodput_bps") < 10e6
    assert row(first, "rtt_p50_ms") > 40


@quic
def test_a_control_in_python_drives_quinn() -> None:
    class Constant:
        """A window of 30,000 bytes, whatever happens."""

        cwnd = 30_000

        def __init__(self, *start: Any) -> None:
            pass

        def on_ack(self, ack: Any) -> None:
            pass

        def on_congestion(self, event: Any) -> None:
            pass

    flow = "quic = { congestion = 'varicap' }\ntcp.congestion = { custom = 'constant' }"
    result = run(flow, controls={"constant": Constant})
    # Quinn sends while a packet more leaves less than the window in flight: 20 of 1472 B for each 40 ms and some, of
    # which one waits for the next that its acknowledgement covers, too.
    assert 19 < row(result, "goodput_bps") * 0.0413 / (1440 * 8) < 20


@quic
def test_the_example_has_one_algorithm_in_two_stacks() -> None:
    file = "examples/quic/stack-or-algorithm.toml"
    result = varicap.run(file, seeds=2, overrides={"duration": "20 s", "warmup": "5 s"})
    flows = result.flows.to_pylist()
    goodput = {one["name"]: one["goodput_bps"] for one in flows if one["replication"] == 0}
    for name in ("ours-in-quinn", "quinn"):
        assert goodput[name] == pytest.approx(goodput["tcp"], rel=0.1)
