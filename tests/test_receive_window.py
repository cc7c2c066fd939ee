"""The largest window of TCP (RFC 7323 §2.3), and settings of the parts by the rules of a scenario."""

import re
from typing import Any

import pytest

import varicap
from varicap.tcp import Receiver, Segment, Sender

LARGEST = 2**30


def scenario(rate: str, rtt_ms: int, **tcp: Any) -> dict[str, Any]:
    forward = {"capacity": rate, "delay": f"{rtt_ms // 2} ms", "queue": {"drop-tail": {"limit": "1 MB"}}}
    flows = {"a": {"tcp": tcp, "app": {"transfer": {"size": "20 kB"}}}}
    return {"duration": "2 s", "seeds": 1, "topology": {"dumbbell": {"forward": forward}}, "flows": flows}


@pytest.mark.parametrize(
    ("window", "mss"),
    [
        ("9 GB", "1448 B"),
        ("1073741825 B", "1448 B"),
        ("741535 packets", "1448 B"),
        ("2 bdp", "1448 B"),
    ],
)
def test_a_window_that_no_header_can_tell_is_refused(window: str, mss: str) -> None:
    with pytest.raises(varicap.ScenarioError, match=re.escape("at most 1073741824 B")) as raised:
        varicap.run(scenario("400 Gbit/s", 200, receive_window=window, mss=mss))
    assert "flows.a.tcp.receive_window" in str(raised.value)
    assert "RFC 7323" in str(raised.value)


@pytest.mark.parametrize("half", [Sender, Receiver])
@pytest.mark.parametrize("window", ["9 GB", "741535 packets"])
def test_so_it_is_for_the_parts(half: type, window: str) -> None:
    with pytest.raises(varicap.ScenarioError, match=r"tcp\.receive_window"):
        half(receive_window=window)


@pytest.mark.parametrize("window", ["unlimited", "1 GiB", "1073741824 B", "741534 packets", "0.1 bdp"])
def test_the_largest_one_is_fine(window: str) -> None:
    (flow,) = varicap.run(scenario("400 Gbit/s", 200, receive_window=window)).summary["flows"]
    assert flow["name"] == "a"


def test_an_unlimited_receiver_tells_of_the_largest_window() -> None:
    for settings in ({}, {"receive_window": "unlimited"}, {"timestamps": False, "stack": "rfc"}):
        receiver = Receiver(handshake=False, **settings)
        receiver.push(0.0, Segment(seq=0, len=1000))
        receiver.push(0.0, Segment(seq=1000, len=1000))
        acknowledgement = receiver.poll(1.0)
        assert acknowledgement is not None
        assert acknowledgement.window == LARGEST


def test_no_segment_tells_of_more() -> None:
    assert Segment(ack=1, window=LARGEST).window == LARGEST
    with pytest.raises(ValueError, match="RFC 7323"):
        Segment(ack=1, window=LARGEST + 1)


def test_a_run_says_where_the_largest_window_is_the_limit() -> None:
    [note] = [note for note in varicap.run(scenario("400 Gbit/s", 200)).summary["notes"] if "largest window" in note]
    assert note.startswith("a: ")
    assert "42.9" in note
    assert not [note for note in varicap.run(scenario("40 Gbit/s", 200)).summary["notes"] if "largest window" in note]
    given = varicap.run(scenario("400 Gbit/s", 200, receive_window="64 MB"))
    assert not [note for note in given.summary["notes"] if "largest window" in note]


@pytest.mark.parametrize("half", [Sender, Receiver])
@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"ack": {"delayed": {"timeout": "600 ms"}}}, "tcp.ack.delayed.timeout"),
        ({"ack": {"delayed": {"segments": 0}}}, "tcp.ack.delayed.segments"),
        ({"ack": {"delayed": {"timeout": "100 ms", "maximum": "50 ms"}}}, "tcp.ack.delayed.maximum"),
        ({"mss": "0 B"}, "tcp.mss"),
        ({"mss": "70 kB"}, "tcp.mss"),
        ({"header": "65500 B"}, "tcp.header"),
        ({"initial_window": "0 packets"}, "tcp.initial_window"),
        ({"max_window": "0 B"}, "tcp.max_window"),
        ({"duplicate_acks": 0}, "tcp.duplicate_acks"),
        ({"max_burst": 0}, "tcp.max_burst"),
        ({"timer": {"linux": {"minimum": "3 s", "maximum": "2 s"}}}, "tcp.timer.linux.minimum"),
        ({"timer": {"rfc6298": {"maximum": "0 s"}}}, "tcp.timer.rfc6298.maximum"),
        ({"congestion": {"dctcp": {"gain": 2.0}}}, "tcp.congestion.dctcp.gain"),
    ],
)
def test_settings_of_the_parts_keep_to_the_rules_of_a_scenario(half: type, settings: dict[str, Any], key: str) -> None:
    with pytest.raises(varicap.ScenarioError) as raised:
        half(**settings)
    assert key in str(raised.value)
    with pytest.raises(varicap.ScenarioError) as raised:
        varicap.run(scenario("10 Mbit/s", 20, **settings))
    assert key in str(raised.value)
