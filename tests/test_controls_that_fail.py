"""Controls in Python that raise, or answer what no sender can use: their own exception, which says whose it is."""

import math
import threading
import traceback
from typing import Any

import pytest

import varicap
from varicap.tcp import AckSample, CongestionEvent, Segment, Sender

LINK = {"capacity": "10 Mbit/s", "delay": "10 ms", "queue": {"drop-tail": {"limit": "50 packets"}}}
SCENARIO = {
    "duration": "3 s",
    "topology": {"dumbbell": {"forward": LINK}},
    "flows": {"web": {"tcp": {"congestion": {"custom": "own"}}}},
}


class Plain:
    """A window that stays."""

    def __init__(self, mss: int, initial_window: int) -> None:
        self.cwnd: Any = initial_window
        self.acks = 0

    def on_ack(self, ack: AckSample) -> None:
        self.acks += 1

    def on_congestion(self, event: CongestionEvent) -> None: ...


class InTheConstructor(Plain):
    def __init__(self, mss: int, initial_window: int) -> None:
        raise RuntimeError("no room")


class WantsMore(Plain):
    def __init__(self, mss: int, initial_window: int, colour: str) -> None:
        super().__init__(mss, initial_window)


class WithoutAWindow:
    def __init__(self, mss: int, initial_window: int) -> None: ...


class InAProperty(Plain):
    wants = ()

    @property
    def pacing_rate_bps(self) -> float:
        raise KeyError("rate")


class OnAck(Plain):
    def on_ack(self, ack: AckSample) -> None:
        super().on_ack(ack)
        if self.acks == 20:
            raise ZeroDivisionError("the twentieth")


class Stops(Plain):
    def on_start(self, now_s: float, idle_s: float) -> None:
        raise SystemExit(7)


def run(control: Any, **more: Any) -> Any:
    return varicap.run({**SCENARIO, **more}, seeds=4, controls={"own": control})


@pytest.mark.parametrize(
    ("control", "raised", "place"),
    [
        (InTheConstructor, RuntimeError, "making the control `own` (InTheConstructor) of flow `web`"),
        (WantsMore, TypeError, "making the control `own` (WantsMore) of flow `web`"),
        (WithoutAWindow, AttributeError, "making the control `own` (WithoutAWindow) of flow `web`"),
        (InAProperty, KeyError, "making the control `own` (InAProperty) of flow `web`"),
        (OnAck, ZeroDivisionError, "`on_ack` of the control `own` (OnAck) of flow `web`, at 0."),
        (Stops, SystemExit, "`on_start` of the control `own` (Stops) of flow `web`, at 0"),
    ],
)
def test_what_a_control_raises_is_raised_with_the_flow_and_nothing_else_is_said(
    control: Any, raised: type[BaseException], place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(raised) as error:
        run(control)
    assert error.value.__notes__
    assert f"in {place}" in error.value.__notes__[0]
    assert len(error.value.__notes__) == 1
    # The line of the user's class is in the traceback, unless Python could not call it.
    lines = "".join(traceback.format_exception(error.value))
    assert (
        control in (WantsMore, WithoutAWindow) or "in on_" in lines or "in __init__" in lines or "pacing_rate" in lines
    )
    assert capfd.readouterr().err == ""


def test_flows_of_a_group_are_told_apart() -> None:
    class Second(Plain):
        made = 0

        def __init__(self, mss: int, initial_window: int) -> None:
            super().__init__(mss, initial_window)
            type(self).made += 1
            if type(self).made == 2:
                raise RuntimeError("one is enough")

    flows = {"web": {"count": 2, "tcp": {"congestion": {"custom": "own"}}}}
    with pytest.raises(RuntimeError, match="one is enough") as error:
        varicap.run({**SCENARIO, "flows": flows}, seeds=1, controls={"own": Second}, jobs=1)
    assert "of flow `web.1`" in error.value.__notes__[0]


BAD = (math.nan, math.inf, -math.inf, -5.0, 0)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        *(("cwnd", value) for value in BAD),
        *(("pacing_rate_bps", value) for value in BAD),
        # What has no threshold yet may say that it is infinite.
        *(("ssthresh", value) for value in BAD if value != math.inf),
    ],
)
def test_no_answer_that_a_sender_cannot_use_becomes_a_result(attribute: str, value: float) -> None:
    class Wrong(Plain):
        def on_ack(self, ack: AckSample) -> None:
            super().on_ack(ack)
            if self.acks == 20:
                setattr(self, attribute, value)

    with pytest.raises(ValueError, match=rf"^{attribute} = ({value:g}|{value}|nan|NaN) at 0\.\d+ s, expected") as error:
        run(Wrong)
    assert "Wrong) of flow `web`" in str(error.value)

    class WrongAtOnce(Plain):
        def __init__(self, mss: int, initial_window: int) -> None:
            super().__init__(mss, initial_window)
            setattr(self, attribute, value)

    with pytest.raises(ValueError, match=f"{attribute} = "):
        run(WrongAtOnce)
    with pytest.raises(ValueError, match=f"{attribute} = "):
        Sender(control=WrongAtOnce)


@pytest.mark.parametrize("attribute", ["cwnd", "ssthresh", "pacing_rate_bps"])
def test_text_is_no_number(attribute: str) -> None:
    class Text(Plain):
        def on_ack(self, ack: AckSample) -> None:
            setattr(self, attribute, "10")

    with pytest.raises(TypeError, match=f"^{attribute} = '10', expected a number") as error:
        run(Text)
    assert "`on_ack` of the control `own` (Text) of flow `web`, at 0." in error.value.__notes__[0]


def test_a_threshold_without_a_limit_is_none() -> None:
    class Unlimited(Plain):
        ssthresh = math.inf

    class Nothing(Plain):
        ssthresh = None

    # As text, for what was not measured is not a number, and equals nothing.
    rows = [repr(run(control).flows.to_pylist()) for control in (Unlimited, Nothing)]
    assert rows[0] == rows[1]


def test_a_run_has_one_state_of_the_interpreter_for_all_calls_of_its_control() -> None:
    # Python keeps what is local to a thread in that state: a state for each call would lose it, and costs microseconds.
    local = threading.local()
    lost = []

    class Local(Plain):
        def __init__(self, mss: int, initial_window: int) -> None:
            super().__init__(mss, initial_window)
            local.acks = 0

        def on_ack(self, ack: AckSample) -> None:
            if getattr(local, "acks", None) is None:
                lost.append(ack.now_s)
            else:
                local.acks += 1

    for jobs in (1, 2):
        varicap.run(SCENARIO, seeds=2, controls={"own": Local}, jobs=jobs)
    assert lost == []


def test_a_sender_by_hand_raises_what_its_control_raises() -> None:
    with pytest.raises(RuntimeError, match="no room") as error:
        Sender(control=InTheConstructor)
    assert error.value.__notes__ == ["in making the control (InTheConstructor)"]

    class Raises(Plain):
        def on_ack(self, ack: AckSample) -> None:
            raise LookupError("nothing")

    sender = Sender(control=Raises, handshake=False)
    sender.write(100_000)
    sent = sender.poll(0.0)
    assert sent is not None
    with pytest.raises(LookupError, match="nothing") as later:
        sender.push(0.1, Segment(ack=sent.seq + sent.len))
    assert later.value.__notes__ == ["in `on_ack` of the control (Raises), at 0.1 s"]


class Queue:
    """A queue that fails as a test says."""

    def __init__(self, link: str) -> None: ...

    def enqueue(self, now_s: float, packet: Any) -> None: ...

    def dequeue(self, now_s: float) -> Any:
        return None


def test_what_a_queue_raises_names_its_class_and_link(capfd: pytest.CaptureFixture[str]) -> None:
    class Unmade(Queue):
        def __init__(self, link: str) -> None:
            raise RuntimeError("no memory")

    class Late(Queue):
        def dequeue(self, now_s: float) -> Any:
            return math.nan

    scenario = {
        **SCENARIO,
        "topology": {"dumbbell": {"forward": {**LINK, "queue": {"custom": "own"}}}},
        "flows": {"a": {}},
    }
    for queue, says, place in (
        (Unmade, "no memory", "making the queue `own` ({}) of link `forward`"),
        (Late, "gave NaN s, expected a time after", "`dequeue` of the queue `own` ({}) of link `forward`, at 0"),
    ):
        with pytest.raises((RuntimeError, ValueError), match=says) as error:
            varicap.run(scenario, seeds=2, queues={"own": queue})
        assert place.format(queue.__name__) in error.value.__notes__[0]
    assert capfd.readouterr().err == ""
