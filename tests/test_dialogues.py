"""Dialogues in packetdrill's language: those of the project hold, and a script that is wrong differs."""

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from handshake import HANDSHAKE, after_handshake

import varicap
from varicap._core import AckSample, CongestionEvent
from varicap.dialogue import Dialogue, ScriptError, Verdict, compare, dialogue
from varicap.dialogue.script import Packet

SCRIPTS = sorted((ROOT / "tests/dialogues").rglob("*.pkt"))
"""The project's own, each in a folder with the name of the stack that it is for."""


def mutated(name: str, pattern: str, replacement: str, **tcp: Any) -> Dialogue:
    """A script of the project with a change at the first place that fits."""
    text = (ROOT / f"tests/dialogues/rfc/{name}.pkt").read_text()
    changed, count = re.subn(pattern, replacement, text, count=1)
    assert count == 1
    return dialogue(text=changed, stack="rfc", **tcp)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_simulated_endpoints_do_what_their_stack_does(script: Path) -> None:
    played = dialogue(script, stack=script.parent.name)
    assert played.verdict is Verdict.PASSED, played.text()
    assert played.unasked == 0, "the script looks at all that is sent until its last event"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_each_script_of_the_project_cites_its_source(script: Path) -> None:
    assert re.match(r"// .*RFC \d+ (§|\()", script.read_text().replace("\n// ", " "))


@pytest.mark.parametrize(
    ("name", "pattern", "replacement", "what"),
    [
        ("slow-start", "2001:4001.2000.", "2001:5001(3000)", "nothing was sent from 4001 on"),
        ("slow-start", "tcpi_snd_cwnd == 3", "tcpi_snd_cwnd == 4", "tcpi_snd_cwnd is 3"),
        ("newreno-recovery", "> . 1:1001", "> . 12001:13001", "data 1:1001(1000), not 12001:13001(1000)"),
        ("sack-recovery", "tcpi_lost == 2", "tcpi_lost == 3", "tcpi_lost is 2"),
        ("rto-backoff", r"\+2 >", "+1.5 >", "nothing was sent until 2.7875"),
        ("rto-backoff", r"\+2 >", "+2.5 >", "it was to be sent at 3.6"),
        ("rto-backoff", r"\+2 >", "+1~+1.5 >", "nothing was sent until 2.725"),
        ("delayed-acks", "6001:7001 4001:5001", "4001:5001 6001:7001", "sack 6001:7001 4001:5001, not"),
        ("ecn-sender", r"\[ect0\] W\.", "[ect0] .", "flags W., not ."),
        ("ecn-sender", r"> \[ect0\]", "> [noecn]", "[ect0], not [noecn]"),
        ("timestamps", "ecr 700", "ecr 710", "ecr 700, not 710"),
        ("timestamps", "<mss 1460,sackOK,TS val 9000 ecr 500>", "<mss 1460,sackOK>", "TS there, not missing"),
        ("timestamps", "> . 1:1001(.*) val 10210", r"> . 1:1001\1 val 10400", "TS val 10210, not 10400"),
        ("zero-window", "ack 1 win 3000 <", "ack 1 win 2999 <", "win 3000, not 2999"),
        ("zero-window", "= 2000\n", "= 1999\n", "read returns 2000, not 1999"),
        ("close", "EPIPE", "ENOTCONN", "write returns -1 EPIPE, not -1 ENOTCONN"),
        ("close", r"\.\.\.0\.1 connect", "...0.2 connect", "connect returns at 0.100000 s, not at 0.200000 s"),
        ("close", r"wscale 7", "wscale 8", "wscale 7, not 8"),
    ],
)
def test_a_script_that_is_wrong_differs_where_it_is_wrong(name: str, pattern: str, replacement: str, what: str) -> None:
    played = mutated(name, pattern, replacement)
    assert played.verdict is Verdict.DIFFERS
    assert what in played.what
    (row,) = (row for row in played.rows if row.differs)
    line = (ROOT / f"tests/dialogues/rfc/{name}.pkt").read_text()
    at = re.search(pattern, line)
    assert at is not None
    assert row.line == played.line == line.count("\n", 0, at.start()) + 1


def test_a_difference_shows_both_timelines_and_what_was_in_flight() -> None:
    played = mutated("sack-recovery", "> . 1:1001", "> . 12001:13001")
    lines = played.text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("!"))
    before, differing = lines[at - 1 : at + 1]
    assert re.match(r" +0\.200000 +20 < \. 1:1\(0\) ack 1 win 65535 <sac…", before)
    assert re.match(
        r"! +0\.200000 +21 > \. 12001:13001\(1000\) ack 1 +> \. 1:1001\(1000\) ack 1 +8 / 5 recov", differing
    )
    assert max(map(len, played.text(width=80).splitlines()[1:])) <= 90


def test_settings_count_more_than_the_script() -> None:
    assert mutated("slow-start", "initcwnd 2", "initcwnd 2", initial_window="4 packets").what.startswith("it was")
    assert after_handshake(
        "+0 write(4, ..., 20000) = 20000",
        "+0 > . 1:3001(3000) ack 1",
        "+1 > . 1:1001(1000) ack 1",
        initial_window="3 packets",
    ).passed
    with pytest.raises(varicap.ScenarioError, match="found `nonsense`, expected the key"):
        after_handshake(nonsense=1)
    with pytest.raises(varicap.ScenarioError, match="handshake"):
        after_handshake(handshake=False)
    with pytest.raises(varicap.ScenarioError, match="handshake_ack"):
        after_handshake(handshake_ack=True)


def test_a_congestion_control_in_python_is_put_to_the_test() -> None:
    class Fixed:
        def __init__(self, mss: int, initial_window: int) -> None:
            self.cwnd = 4 * mss

        def on_ack(self, ack: AckSample) -> None:
            pass

        def on_congestion(self, event: CongestionEvent) -> None:
            pass

    events = ["+0 write(4, ..., 20000) = 20000", "+0 > . 1:4001(4000) ack 1"]
    events += ["+.1 < . 1:1(0) ack 1001 win 65535", "+0 > . 4001:5001(1000) ack 1"]
    assert after_handshake(*events, control=Fixed).passed
    assert not after_handshake(*events).passed


def test_the_tolerance_is_packetdrills() -> None:
    events = ["+0 write(4, ..., 1000) = 1000", "+0 > . 1:1001(1000) ack 1"]
    # 4 ms, or an eighth of the time since the event before.
    assert after_handshake(*events, "+.9 > . 1:1001(1000) ack 1").passed
    assert not after_handshake(*events, "+.88 > . 1:1001(1000) ack 1").passed
    assert after_handshake(*events, "* > . 1:1001(1000) ack 1").passed
    head = "--tolerance_percent=0\n--tolerance_usecs={}\n"
    assert after_handshake(*events, "+.98 > . 1:1001(1000) ack 1", head=head.format(20000)).passed
    assert not after_handshake(*events, "+.98 > . 1:1001(1000) ack 1", head=head.format(19000)).passed
    with pytest.raises(ScriptError, match=r"script:1:1: --tolerance_usecs=soon is not a number"):
        dialogue(text="--tolerance_usecs=soon\n" + HANDSHAKE)


def test_the_clock_of_timestamps_counts_if_the_script_says_how_long_a_tick_is() -> None:
    stamped = HANDSHAKE.replace("sackOK>", "sackOK,TS val 500 ecr 0>", 1)
    stamped = stamped.replace("1460,sackOK>", "1460,sackOK,TS val 123456 ecr 500>")
    stamped = stamped.replace("ack 1 win 65535\n", "ack 1 win 65535 <TS val 600 ecr 123456>\n")
    stamped += "+0 write(4, ..., 900) = 900\n+0 > . 1:901(900) ack 1 <TS val {} ecr 600>"
    # As in packetdrill, where the option is 0 unless it is given.
    for head in ("", "--tcp_ts_tick_usecs=0\n"):
        assert dialogue(text=head + stamped.format(5)).passed
    head = "--tcp_ts_tick_usecs=1000\n"
    assert dialogue(text=head + stamped.format(123556)).passed
    assert dialogue(text=head + stamped.format(5)).what == "TS val 123556, not 5"
    assert dialogue(text=head + stamped.format(123576)).what == "TS val 123556, not 123576"
    other = dialogue(text="--tcp_ts_tick_usecs=10\n" + stamped.format(133456))
    assert [lack.what for lack in other.lacks] == ["a clock of timestamps with 10 us to the tick"]
    with pytest.raises(ScriptError, match="--tcp_ts_tick_usecs=fast is not a number"):
        dialogue(text="--tcp_ts_tick_usecs=fast\n" + HANDSHAKE)


def test_only_full_segments_with_the_same_header_make_up_a_large_one() -> None:
    small = ["+0 write(4, ..., 500) = 500"] * 2
    assert after_handshake(*small, "+0 > . 1:501(500) ack 1", "+0 > . 501:1001(500) ack 1").passed
    assert after_handshake(*small, "+0 > . 1:1001(1000) ack 1").what == "data 1:501(500), not 1:1001(1000)"
    assert after_handshake(
        "+0 write(4, ..., 1500) = 1500", "+0 write(4, ..., 1000) = 1000", "+0 > . 1:2501(2500) ack 1"
    ).what.startswith("data 1001:1501(500), not 1001:2501(1500)")
    strict = ["+0 write(4, ..., 1500) = 1500", "+0 > . 1:1501(1500) ack 1"]
    assert after_handshake(*strict).passed
    assert after_handshake(*strict, head="--strict_segments\n").what == "data 1:1001(1000), not 1:1501(1500)"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"flags": "E."}, "flags E. at 1001, after . at 1"),
        ({"flags": "W."}, "flags W. at 1001, after . at 1"),
        ({"ack": 2}, "ack 2 at 1001, after 1 at 1"),
        ({"ecn": "noecn"}, "[noecn] at 1001, after [ect0] at 1"),
    ],
)
def test_the_parts_of_a_large_segment_agree(change: dict[str, Any], what: str) -> None:
    first = Packet(False, ".", 1, 1000, 1, ecn="ect0")
    second = replace(first, start=1001)
    assert compare.disagreement(first, second) is None
    assert compare.disagreement(replace(first, flags="W."), second) is None
    assert compare.disagreement(first, replace(second, **change)) == what


def test_a_segment_that_is_sent_again_is_no_part_of_one_with_new_data() -> None:
    ecn = HANDSHAKE.replace("< S ", "< SEW ").replace("> S. ", "> SE. ")
    events = ["+0 write(4, ..., 9000) = 9000", "+0 > . 1:2001(2000) ack 1", "+1 > . 1:1001(1000) ack 1"]
    events += ["+.1 < . 1:1(0) ack 1001 win 65535", "+0 > . 1001:3001(2000) ack 1"]
    assert after_handshake(*events, initial_window="2 packets").passed
    # RFC 3168: what is sent again is not ECN-capable (§6.1.5), and new data says that the window was reduced (§6.1.2).
    played = dialogue(text=ecn + "\n".join(events), stack="rfc", initial_window="2 packets")
    assert played.what == "flags W. at 2001, after . at 1001"


def test_what_comes_after_a_segment_counts_from_when_it_was_sent() -> None:
    events = ["+0 write(4, ..., 1000) = 1000", "+0 > . 1:1001(1000) ack 1", "{} > . 1:1001(1000) ack 1"]
    for when in ("*", "+0~+5"):
        first = [event.format(when) for event in events]
        assert after_handshake(*first, "+2 > . 1:1001(1000) ack 1").passed
        for wrong in ("+1.7", "+2.3"):
            # An eighth of that is less than 0.3 s.
            assert not after_handshake(*first, f"{wrong} > . 1:1001(1000) ack 1").passed


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("0 socket(...) = 3\n+0 < X 0:0(0)", "2:6", "there is no flag `X`"),
        ("0 socket(..., = 3", "1:15", "expected an argument, not `=`"),
        ("0 socket(...) 3", "1:15", "expected `=` and what the call returns, not `3`"),
        ("+0 > . 1:1001(100) ack 1", "1:6", "1:1001 is not 100 bytes"),
        ("+0 < . 1:1(0) ack 1 <sack 5:4>", "1:27", "a SACK block ends before it begins"),
        ("+0 < . 1:1(0) ack 1 <mss 70000>", "1:26", "the MSS is 70000, not from 0 to 65535"),
        ("+0 < . 1:1(0) ack 1 <boo>", "1:22", "there is no TCP option `boo`"),
        ("+0 < . 1:1(0) ack 1 <...>", "1:21", "is for packets that are expected"),
        ("soon socket() = 3", "1:1", "expected the time of an event in seconds, not `soon`"),
        ("+.2~+.1 > . 1:1(0) ack 1", "1:1", "the range of times ends before it begins"),
        ("* < . 1:1(0) ack 1 win 9", "1:1", "the time `*` is for packets that are expected"),
        ("0 `sysctl", "1:3", "a shell command that does not end"),
        ("0 %{ assert 1", "1:3", "a block of code that does not end"),
        ("/* never", "1:1", "a comment that does not end"),
        ("0 %{ assert 1\nassert }%", "2:1", "the block is not Python"),
        ("0 %{ assert 1 // 0 }%", "1:1", "integer division or modulo by zero"),
        ("0 %{ assert 2 << 100000 }%", "1:1", "a number that is too large"),
        ("0 %{ assert 'a' * 1000000 }%", "1:1", "an operation on text"),
        ("0 %{ assert '%1000d' % 1 }%", "1:1", "a format that is too wide"),
        ("0 %{\nassert (1 == 2, 'x') }%", "2:1", "the assertion of a tuple always holds"),
        ("0 %{ tcpi_snd_cwnd = 77 }%", "1:1", "tcpi_snd_cwnd is what TCP_INFO shows"),
        ("0 %{ assert 'tcpi_snd_cwnd == 9' }%", "1:1", "the assertion of a text says nothing"),
        ("+0 < . 1:1(0) ack 1", "1:6", "a segment that arrives has a window"),
        ("\n--tolerance_usec=1\n0 socket(...) = 3", "2:1", "there is no option `--tolerance_usec`"),
        ("--mtu=12\n0 socket(...) = 3", "1:1", "--mtu=12 is not a number from 128 to 65535"),
        ("--mss=0\n0 socket(...) = 3", "1:1", "--mss=0 is not a number from 1 to 65535"),
        ("+0 < .8 1:1(0) ack 1 win 9", "1:6", "expected one number from 0 to 7 in place of the flags A, W and E"),
        ("+0 < E.5 1:1(0) ack 1 win 9", "1:6", "expected one number from 0 to 7 in place of the flags A, W and E"),
        (
            "+0 < . 1:1(0) ack 1 win 9 <ECN e0b 1 e1b 1>",
            "1:43",
            "expected the counters of an AccECN option",
        ),
        ("+0 < . 1:1(0) ack 1 win 9 <ECN ceb 16777216>", "1:36", "the counter ceb is 16777216, not from 0 to 16777215"),
        ("0 socket(...) = EAGAIN", "1:17", "expected what the call returns, a number or `...`, not `EAGAIN`"),
        ("0 socket(...) = [3]", "1:17", "expected what the call returns"),
        ("", "1:1", "the script has no events"),
        ("0 f(" + "[" * 100, "1:37", "arguments more than 32 deep"),
        ("1e9 socket() = 3", "1:1", "expected the time"),
        ("\x00\x1c\ufffd", "1:1", "expected the time"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(ScriptError) as raised:
        dialogue(text=text)
    assert str(raised.value).startswith(f"script:{place}: ")
    assert message in str(raised.value)


def test_no_input_makes_it_fail_in_another_manner() -> None:
    """Scripts cut off, and with words taken out, doubled or exchanged, are read or refused, and played to an end."""
    rng = random.Random(7)
    verdicts = set()
    for script in SCRIPTS:
        words = re.split(r"(\s+)", script.read_text())
        for _ in range(15):
            damaged = list(words)
            for _ in range(rng.randint(1, 4)):
                at, other = rng.randrange(len(damaged)), rng.randrange(len(damaged))
                damaged[at : at + 1] = rng.choice([[], [damaged[at]] * 2, [damaged[other]], [damaged[at][:-1]]])
            try:
                verdicts.add(dialogue(text="".join(damaged[: rng.randint(1, len(damaged))])).verdict.value)
            except ScriptError:
                verdicts.add("refused")
    assert verdicts >= {"differs", "refused"}
