"""When segments leave: pacing by Linux's ratios, short segments that wait, and the rates that a sender measures."""

from itertools import pairwise
from typing import Any

import pyarrow.compute as pc
import pytest
from conftest import Cli

import varicap
from varicap import ScenarioError
from varicap.dialogue import Verdict, dialogue
from varicap.results.result import Result
from varicap.scenario import Flow, PacingRatios, Tcp
from varicap.tcp import Segment, Sender

RTT_S = 0.2
WINDOW = 40


def scenario(**tcp: Any) -> dict[str, Any]:
    """A window of 40 packets on a link that takes them in a tenth of the RTT of 200 ms, where slow start never ends."""
    link = {"capacity": "20 Mbit/s", "delay": "100 ms", "queue": {"drop-tail": {"limit": "100 packets"}}}
    return {
        "duration": "6 s",
        "topology": {"dumbbell": {"forward": link, "reverse": {"delay": "100 ms"}}},
        "tcp": {"stack": "linux", "receive_window": f"{WINDOW} packets", "ack": "every", **tcp},
        "flows": {"a": {}},
    }


def gaps_s(result: Result, after_s: float) -> list[float]:
    """The times between packets that the sender sends."""
    log = result.packets
    sent = pc.and_(pc.equal(log["event"], "arrival"), pc.equal(log["direction"], "data"))
    at = log.filter(pc.and_(sent, pc.greater(log["time_ns"], int(after_s * 1e9))))["time_ns"].to_pylist()
    return [(later - earlier) / 1e9 for earlier, later in pairwise(at)]


def test_pacing_spreads_slow_start_over_the_round_trip() -> None:
    paced = varicap.run(scenario(pacing="linux"), seeds=1, packets="first")
    unpaced = varicap.run(scenario(), seeds=1, packets="first")
    # The second round has a window of twenty, which leaves in half a round trip, whatever the link would take.
    second = [gap for gap in gaps_s(paced, 0.42) if gap > 0][:15]
    assert second == pytest.approx([RTT_S / 2 / 20] * 15, rel=0.05)
    # No round has more than 80 packets.
    assert min(gaps_s(paced, 0.42)) > RTT_S / 2 / 80
    assert min(gaps_s(unpaced, 0.42)) == 0, "two for each acknowledgement"


def test_ratios_are_of_the_window_and_wrong_ones_are_named() -> None:
    slow = scenario(pacing={"linux": {"slow_start": 0.5, "avoidance": 0.5}})
    goodput = varicap.run(slow, seeds=1).summary["flows"][0]["goodput_bps"]["mean"]
    assert goodput < 0.7 * varicap.run(scenario(), seeds=1).summary["flows"][0]["goodput_bps"]["mean"]
    for ratios, key in (({"slow_start": 0}, "slow_start"), ({"avoidance": 10.5}, "avoidance")):
        with pytest.raises(ScenarioError, match=rf"pacing\.linux\.{key}.*from 0\.01 to 10"):
            varicap.run(scenario(pacing={"linux": ratios}), seeds=1)
    with pytest.raises(ScenarioError, match="nagle"):
        varicap.run(scenario(nagle="on"), seeds=1)


def test_the_typed_front_says_the_same() -> None:
    ratios = {"avoidance": 1.1}
    written = varicap.run(scenario(pacing={"linux": ratios}, nagle="minshall"), seeds=1).summary
    flow = Flow(tcp=Tcp(pacing=PacingRatios(**ratios), nagle="minshall"))
    typed = varicap.run(scenario() | {"flows": {"a": flow.to_dict()}}, seeds=1).summary
    assert typed["flows"] == written["flows"]


def test_explain_shows_where_they_come_from(cli: Cli, tmp_path: Any) -> None:
    file = tmp_path / "paced.toml"
    file.write_text(
        'duration = "1 s"\n[topology.dumbbell.forward]\ncapacity = "1 Mbit/s"\ndelay = "9 ms"\n'
        '[tcp]\npacing = "linux"\n[flows.a]\n'
    )
    done = cli("run", file, "--explain")
    assert done.returncode == 0, done.stderr
    assert "flows.a.tcp.pacing.linux.avoidance" in done.stdout
    assert "flows.a.tcp.nagle" in done.stdout


def sent(sender: Sender, now_s: float) -> list[int]:
    """The lengths of the segments that leave now."""
    return [segment.len for segment in iter(lambda: sender.poll(now_s), None)]


@pytest.mark.parametrize(
    ("rule", "lengths"),
    [("off", [1000, 1000, 300, 200]), ("minshall", [1000, 1000, 300]), ("rfc896", [1000, 1000])],
)
def test_a_short_segment_waits_by_its_rule(rule: str, lengths: list[int]) -> None:
    sender = Sender(mss="1000 B", handshake=False, nagle=rule)
    sender.write(2300)
    first = sent(sender, 0.0)
    sender.write(200)
    assert first + sent(sender, 0.01) == lengths
    sender.set_nagle("off")
    assert sum(first) + sum(sent(sender, 0.02)) + (200 if rule == "off" else 0) == 2500
    with pytest.raises(ValueError, match="nagle: unknown variant `on`"):
        sender.set_nagle("on")


def test_a_sender_measures_rates_if_it_is_asked_to() -> None:
    plain, measuring = Sender(mss="1000 B", handshake=False), Sender(mss="1000 B", handshake=False, measure_rates=True)
    for sender in (plain, measuring):
        sender.write()
        sent(sender, 0.0)
        sender.push(0.1, Segment(ack=4000, echo_s=0.0))
        sent(sender, 0.1)
        sender.push(0.2, Segment(ack=11_000, echo_s=0.1))
    assert plain.delivery_rate is None
    assert measuring.delivery_rate is not None
    delivered, interval_s, app_limited = measuring.delivery_rate
    assert (delivered, app_limited) == (7000, False)
    assert interval_s == pytest.approx(0.1)
    assert plain.cwnd == measuring.cwnd


HANDSHAKE = """
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
"""


def played(*events: str, **tcp: Any) -> Verdict:
    found = dialogue(text=HANDSHAKE + "\n".join(events), **tcp)
    assert found.verdict is Verdict.PASSED, found.text()
    return found.verdict


def test_a_socket_of_linux_delays_short_segments_until_it_is_told_not_to() -> None:
    write = ("+0 write(4, ..., 300) = 300", "+0 > P. 1:301(300) ack 1", "+0 write(4, ..., 200) = 200")
    no_delay = "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0"
    late = ("+.1 < . 1:1(0) ack 301 win 65535", "+0 > P. 301:501(200) ack 1")
    played(*write, *late, stack="linux")
    played(*write, "+0 > P. 301:501(200) ack 1", stack="rfc")
    played(no_delay, *write, "+0 > P. 301:501(200) ack 1", stack="linux")
    played(*write, "+.01 " + no_delay.removeprefix("+0 "), "+0 > P. 301:501(200) ack 1", stack="linux")
    played(*write, "+0 > P. 301:501(200) ack 1", stack="linux", nagle="off")
    # The option counts less than what the user gave.
    played(no_delay, *write, *late, stack="linux", nagle="minshall")


def test_a_script_asserts_on_delivery_rates() -> None:
    played(
        "+0 %{ assert tcpi_delivery_rate == 0 and tcpi_delivery_rate_app_limited == 1 }%",
        "+0 write(4, ..., 20000) = 20000",
        "+0 > P. 1:10001(10000) ack 1",
        "+.1 < . 1:1(0) ack 4001 win 65535",
        # The first flight began with a gap: 4000 B in 100 ms.
        "+0 %{ assert tcpi_delivery_rate == 40000 and tcpi_delivery_rate_app_limited == 1, tcpi_delivery_rate }%",
        "+0 > P. 10001:18001(8000) ack 1",
        "+.1 < . 1:1(0) ack 12001 win 65535",
        "+0 %{ assert tcpi_delivery_rate == 80000 and tcpi_delivery_rate_app_limited == 0, tcpi_delivery_rate }%",
        stack="linux",
        congestion="reno",
    )
