"""`varicap design buffer` and `packet`: the inverse questions of a wireless link with ARQ."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from typer.testing import CliRunner

from varicap import cli as program
from varicap.analyse.fading import Rayleigh
from varicap.analyse.models import wireless_queue
from varicap.analyse.models.wireless import estimate
from varicap.analyse.models.wireless_channel import Channel
from varicap.design.buffer import report
from varicap.design.buffer.solve import buffer
from varicap.design.packet import report as packet_report
from varicap.design.packet.solve import packet
from varicap.design.radio.confirm import Simulated, confirm, losses, scenario
from varicap.design.radio.link import Radio, read_channel
from varicap.engines.scenarios import load
from varicap.statistics import Interval

pytestmark = pytest.mark.slow

SLOW = Radio(channel=Channel.rayleigh(Rayleigh(doppler_hz=10.0)))
FAST = Radio(channel=Channel.rayleigh(Rayleigh(doppler_hz=100.0)))
CELLS = SLOW.with_payload(48.0, 5.0)
FOUR = replace(SLOW, channel=Channel.rayleigh(Rayleigh(doppler_hz=10.0), states=4))


# --- the buffer ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radio", [SLOW, FAST, CELLS, FOUR], ids=["slow", "fast", "cells", "four states"])
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_the_least_buffer_allows_the_target_and_one_less_does_not(radio: Radio, share: float) -> None:
    target = share * radio.most_bps
    need = buffer(radio, target_bps=target).need
    assert need is not None
    assert need.overflow <= need.tolerated
    assert radio.rate_bps(0.75 * estimate(radio.parameters(need.frames)).arrivals) >= target * (1 - 1e-9)
    assert radio.rate_bps(0.75 * estimate(radio.parameters(need.frames - 1)).arrivals) < target


def test_the_printed_criterion_is_what_it_uses() -> None:
    need = buffer(SLOW, target_bps=0.4e6).need
    assert need is not None
    # C_eff is 4/3 of the target.
    assert need.pipe_packets == pytest.approx(0.4e6 / 0.75 / 576 / 8 * 0.4)
    assert need.tolerated == pytest.approx(1 / need.pipe_packets**2)
    fixed = buffer(replace(SLOW, tolerated_loss=1e-4), target_bps=0.4e6).need
    assert fixed is not None
    assert fixed.frames > need.frames


def test_admission_is_whether_the_buffer_is_enough() -> None:
    enough, short = (buffer(SLOW, target_bps=0.4e6, buffer_packets=size) for size in (14, 13))
    assert enough.need is not None
    assert enough.need.packets == 14
    assert (enough.admitted, short.admitted) == (True, False)
    assert (enough.allowed_bps or 0) >= 0.4e6 > (short.allowed_bps or 0)


def test_a_buffer_below_a_third_of_the_pipe_is_told() -> None:
    small, large = (buffer(replace(SLOW, round_trip_s=delay), target_bps=0.4e6) for delay in (0.4, 0.1))
    assert small.need is not None
    assert large.need is not None
    assert (small.need.is_double_slow_start, large.need.is_double_slow_start) == (True, False)
    assert "below W / 3" in report.conclusion(small)
    assert "below W / 3" not in report.conclusion(large)


def test_where_nothing_ever_queues_json_has_no_infinity() -> None:
    found = buffer(replace(SLOW, channel=Channel.independent(0.0)), target_bps=0.5e6).to_dict()
    assert found["least_buffer"]["decay_per_frame"] is None
    json.dumps(found, allow_nan=False)


def test_cells_are_counted_with_their_headers() -> None:
    assert CELLS.segments == 12
    assert CELLS.slot_s == pytest.approx(53 * 8 / 1e6)
    assert Radio(channel=SLOW.channel, payload_bytes=100.0).segments == 6  # the last one is padded


def test_the_curve_is_the_overflow_at_the_load_of_the_target() -> None:
    found = buffer(SLOW, target_bps=0.4e6, buffer_packets=5)
    assert 5 in [point.packets for point in found.curve]
    for point in found.curve:
        expected = wireless_queue.overflow(SLOW.channel.slot(SLOW.slot_s), SLOW.load(0.4e6), 1, point.packets)
        assert point.overflow == pytest.approx(float(expected), rel=1e-12)
    assert all(less.throughput_bps < more.throughput_bps for less, more in pairwise(found.curve))


def test_without_a_target_it_tells_what_buffers_allow() -> None:
    found = buffer(SLOW)
    assert (found.need, found.allowed_bps, found.admitted) == (None, None, None)
    assert [point.packets for point in found.curve][:3] == [1, 2, 3]
    assert found.curve[-1].throughput_bps < found.radio.most_bps


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: buffer(SLOW, target_bps=0.7e6), "no buffer gives TCP 0.7 Mb/s"),
        (lambda: buffer(SLOW, target_bps=0.0), "no buffer gives"),
        (lambda: buffer(SLOW, buffer_packets=0), "1 packet or more"),
        (lambda: buffer(SLOW, target_bps=100.0), "1 / W\\^2 asks nothing"),
        (lambda: buffer(SLOW, target_bps=0.99999999 * SLOW.most_bps), "too close"),
        (lambda: replace(SLOW, payload_bytes=600.0), "at most a packet"),
        (lambda: replace(SLOW, payload_bytes=0.01), "too small"),
        (lambda: replace(SLOW, header_bytes=-1.0), "header has 0 B or more"),
        (lambda: replace(SLOW, capacity_bps=0.0), "capacity_bps is a positive number"),
        (lambda: replace(SLOW, tolerated_loss=2.0), "tolerated_loss"),
        (lambda: packet(SLOW, payloads=[]), "at least one length"),
        (lambda: packet(SLOW, error_of="bit"), "of a frame or of a packet"),
        (lambda: packet(SLOW, buffer_packets=0), "1 packet or more"),
    ],
)
def test_what_cannot_be_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# --- the frame -------------------------------------------------------------------------------------------------------


def test_short_frames_win_in_fast_fading_and_long_ones_without() -> None:
    assert packet(FAST, payloads=[576.0, 48.0]).best.payload_bytes == 48.0
    calm = replace(FAST, channel=Channel.independent(0.001))
    assert packet(calm, payloads=[576.0, 48.0]).best.payload_bytes == 576.0


def test_each_length_is_what_the_analysis_says_of_it() -> None:
    for frame in packet(FAST, buffer_packets=16).frames:
        radio = FAST.with_payload(frame.payload_bytes, frame.header_bytes)
        assert frame.throughput_bps == pytest.approx(radio.throughputs([16])[0], rel=1e-9)
        assert frame.header_bytes == (0.0 if frame.segments == 1 else 5.0)


def test_an_error_of_a_packet_spares_short_frames() -> None:
    noisy = replace(FAST, channel=Channel.rayleigh(Rayleigh(doppler_hz=100.0), error=0.2))
    by_frame, by_packet = (
        {one.segments: one.throughput_bps for one in packet(noisy, error_of=kind).frames}
        for kind in ("frame", "packet")
    )
    assert by_packet[1] == pytest.approx(by_frame[1])
    assert by_packet[12] > 1.1 * by_frame[12]


# --- the simulation that confirms ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated() -> dict[tuple[str, int, int], tuple[Simulated, ...]]:
    """What was simulated in these tests, by radio, buffer and runs."""
    return {}


@pytest.fixture
def simulated_once(
    simulated: dict[tuple[str, int, int], tuple[Simulated, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same question takes seconds where it is first asked."""

    def remembered(radio: Radio, packets: int, *, runs: int, jobs: int | None) -> tuple[Simulated, ...]:
        asked = repr(radio), packets, runs
        if asked not in simulated:
            simulated[asked] = confirm(radio, packets, runs=runs, jobs=jobs)
        return simulated[asked]

    monkeypatch.setattr("varicap.design.buffer.search.confirm", remembered)


@pytest.mark.usefixtures("simulated_once")
def test_the_simulation_has_the_last_word_on_a_buffer() -> None:
    # 10 Hz and 0.4 Mb/s: the analysis asks for 14 packets, with which Reno gets three quarters of that.
    found = buffer(replace(SLOW, signal=Rayleigh(doppler_hz=10.0)), target_bps=0.4e6, buffer_packets=16, simulate=True)
    first, *_, last = found.trials
    assert found.need is not None
    assert found.best is not None
    assert [(one.channel, one.flow) for one in first.simulated] == [
        *(("markov", "tahoe"), ("markov", "reno")),
        *(("fading", "tahoe"), ("fading", "reno")),
    ]
    assert (first.packets, first.verdict()) == (found.need.packets, "misses")
    assert found.best.packets > found.need.packets
    assert all((one.throughput_bps.lo or 0.0) >= 0.4e6 for one in found.best.simulated)
    assert last.packets >= found.best.packets
    assert (found.is_enough, found.admitted, found.verdict) == (True, False, "misses")
    assert "is to be refused: with 16 packets Tahoe" in report.conclusion(found)
    assert f"take {found.best.packets} packets" in report.conclusion(found)
    assert "the analysis's 14 are too few" in report.conclusion(found)
    told = found.to_dict()
    assert told["recommended"] == {"buffer_packets": found.best.packets}
    assert told["evidence"]["search"][0]["sim"][0]["verdict"] == "misses"
    assert report.figure(found).axes


def test_where_no_buffer_reaches_the_target_the_nearest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = [Interval(0.3e6, 0.29e6, 0.31e6), Interval(0.2e6, 0.19e6, 0.21e6)]

    def confirm(_radio: Radio, packets: int, **_: object) -> tuple[Simulated, ...]:
        rates = [replace(one, mean=one.mean - packets) for one in slow]
        return tuple(
            Simulated(channel="markov", flow=flow, throughput_bps=rate, timeouts_per_s=Interval(0.0), runs=10)
            for flow, rate in zip(("tahoe", "reno"), rates, strict=True)
        )

    monkeypatch.setattr("varicap.design.buffer.search.confirm", confirm)
    found = buffer(SLOW, target_bps=0.4e6, simulate=True)
    assert found.need is not None
    assert found.trials[-1].packets == 8 * found.need.packets
    assert (found.best, found.verdict) == (None, "misses")
    assert f"nearest: {found.need.packets} packets, with which Reno gets" in report.conclusion(found)


def test_a_buffer_that_the_analysis_makes_too_large_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    def confirm(_radio: Radio, packets: int, **_: object) -> tuple[Simulated, ...]:
        rate = Interval(packets * 1e5, packets * 1e5 - 1, packets * 1e5 + 1)
        return (Simulated(channel="markov", flow="tahoe", throughput_bps=rate, timeouts_per_s=Interval(0.0), runs=10),)

    monkeypatch.setattr("varicap.design.buffer.search.confirm", confirm)
    found = buffer(SLOW, target_bps=0.4e6, simulate=True)
    assert found.best is not None
    assert found.best.packets == 5  # with 4 the interval reaches below the target


def test_a_buffer_alone_is_simulated_against_what_the_analysis_allows() -> None:
    found = buffer(SLOW, buffer_packets=16, simulate=True)
    assert found.given is not None
    assert found.given.bounds.low == found.allowed_bps
    assert found.given.verdict("reno") == "misses"
    assert found.trials == ()


def test_without_a_buffer_in_question_nothing_is_simulated() -> None:
    found = buffer(SLOW, simulate=True)
    assert (found.given, found.trials, found.verdict) == (None, (), None)


def test_the_best_and_the_worst_frame_are_simulated() -> None:
    found = packet(FAST, payloads=[576.0, 288.0, 48.0], simulate=True)
    simulated = {frame.payload_bytes: frame.simulated for frame in found.frames}
    assert simulated[288.0] == () or found.frames[1].payload_bytes != 288.0
    best, worst = found.frames[0].simulated[0], found.frames[-1].simulated[0]
    assert best.throughput_bps.mean > worst.throughput_bps.mean
    assert found.verdict(found.best) == found.to_dict()["verdict"] == "meets"
    assert f"verdict: take frames of {found.best.payload_bytes:g} B" in packet_report.conclusion(found)


def test_frames_that_the_simulation_does_not_confirm_are_not_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if only the second best by the analysis were any better than the worst.
    places = {frame.payload_bytes: place for place, frame in enumerate(packet(FAST).frames)}

    def confirm(radio: Radio, _packets: int, **_: object) -> tuple[Simulated, ...]:
        mean = 0.4e6 if places[radio.payload] == better else 0.3e6
        rate = Interval(mean, mean - 1e4, mean + 1e4)
        return (Simulated(channel="markov", flow="tahoe", throughput_bps=rate, timeouts_per_s=rate, runs=10),)

    monkeypatch.setattr("varicap.design.packet.solve.confirm", confirm)
    better = 1
    found = packet(FAST, simulate=True)
    assert found.best is found.frames[1]
    assert [bool(frame.simulated) for frame in found.frames] == [True, True, *[False] * 6, True]
    better = -1
    found = packet(FAST, simulate=True)
    assert all(frame.simulated for frame in found.frames)
    assert found.verdict(found.best) == "undecided"
    assert "none beats frames of" in packet_report.conclusion(found)


def test_shorter_frames_follow_while_the_shortest_win() -> None:
    faster = replace(FAST, channel=Channel.rayleigh(Rayleigh(doppler_hz=1000.0)))
    found = packet(faster, header_bytes=0.5)
    assert found.best.payload_bytes < 24
    assert (len(found.frames) > 9, found.at_edge) == (True, False)
    given = packet(faster, payloads=[576.0, 48.0])
    assert ([frame.payload_bytes for frame in given.frames], given.at_edge) == ([48.0, 576.0], True)
    assert "even shorter ones may be better" in packet_report.conclusion(given)
    assert packet(FAST, payloads=[576.0]).at_edge is False


@pytest.mark.parametrize("states", [1, 2, 4])
def test_any_channel_becomes_a_scenario(states: int) -> None:
    channel = Channel.independent(0.1) if states == 1 else Channel.rayleigh(Rayleigh(doppler_hz=20.0), states=states)
    radio = Radio(channel=channel, payload_bytes=48.0, header_bytes=5.0, capacity_bps=2e6, packet_bytes=1500.0)
    (loss,) = (loss for _, loss in losses(radio))
    loaded = load(scenario(radio, 8, loss))
    (link, *_) = json.loads(loaded.facts())[0]["links"]
    assert link["arq"]["cells_per_packet"] == radio.segments == 32
    assert link["arq"]["slot_s"] == pytest.approx(radio.slot_s)
    assert link["arq"]["room_cells"] == 8 * 32


@pytest.mark.parametrize(
    ("radio", "message"),
    [
        (replace(SLOW, packet_bytes=40.0), "no room for TCP's header"),
        (replace(SLOW, packet_bytes=500.5), "whole bytes"),
    ],
)
def test_what_cannot_be_simulated_is_told(radio: Radio, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        confirm(radio, 8)


# --- the commands ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("simulated_once")
def test_the_command_finds_the_buffer_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--doppler", "10 Hz", "--target", "0.4 Mbit/s", "--buffer", "16 packets"]
    done = CliRunner().invoke(program.app, ["design", "buffer", *asked])
    assert done.exit_code == 0, done.stderr
    assert "by analysis 0.400 Mb/s takes a buffer of 14 packets" in done.stdout
    assert "verdict: take " in done.stdout
    assert "verdict: a connection that asks for 0.400 Mb/s is to be refused" in done.stdout
    assert (tmp_path / "varicap-out/design-buffer/buffer.png").read_bytes().startswith(b"\x89PNG")


def test_json_has_the_numbers_and_no_plot(cli: Cli, tmp_path: Path) -> None:
    # A share is of the capacity, a buffer may be given in bytes, and durations instead of a Doppler frequency.
    done = cli(
        *("design", "buffer", "--good", "100 ms", "--bad", "10 ms", "--target", "40 %", "--buffer", "9216 B"),
        *("--tolerate", "1e-4", "--no-sim", "--json"),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["target_bps"], found["buffer_packets"], found["admitted"]) == (0.4e6, 16, True)
    assert found["allowed_bps"] == pytest.approx(0.4381e6, rel=1e-3)  # Table I: 43.87 %
    assert found["least_buffer"]["tolerated"] == 1e-4
    assert found["evidence"] == {"model": "wireless", "given": None, "search": []}
    assert (found["verdict"], found["recommended"], found["admitted_by_analysis"]) == (None, None, True)
    assert not (tmp_path / "varicap-out").exists()


def test_a_buffer_may_be_counted_in_frames(cli: Cli) -> None:
    # A packet of 576 B takes twelve frames of 48 B.
    link = ("--doppler", "10 Hz", "--frame", "48 B", "--header", "5 B", "--no-sim", "--json")
    found = [
        json.loads(cli("design", "buffer", *link, "--buffer", size).stdout) for size in ("125 frames", "10 packets")
    ]
    assert found[0]["buffer_packets"] == found[1]["buffer_packets"] == 10


def test_frames_from_the_command_line(cli: Cli) -> None:
    done = cli("design", "packet", "--doppler", "100 Hz", "--frame", "576 B", "--frame", "48 B", "--no-sim", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["best_payload_bytes"] == 48.0
    assert [one["frames_per_packet"] for one in found["frames"]] == [12, 1]
    table = cli("design", "packet", "--error", "1 %", "--no-sim")
    assert "by analysis: frames of 576 B, 1 to a packet" in table.stdout
    assert "the analysis alone" in table.stdout


def test_a_channel_from_a_file_is_that_channel(tmp_path: Path) -> None:
    file = tmp_path / "channel.toml"
    file.write_text("rates = [[-100.0, 100.0], [10.0, -10.0]]\nsuccess = [0.0, 0.99]\n", encoding="utf-8")
    np.testing.assert_array_equal(read_channel(file).rates, Channel.good_bad(good_s=0.1, bad_s=0.01).rates)
    ways: tuple[list[str], ...] = (["--channel", str(file)], ["--good", "100 ms", "--bad", "10 ms"])
    by_file, by_option = (
        json.loads(
            CliRunner()
            .invoke(program.app, ["design", "buffer", *way, "--target", "0.3 Mbit/s", "--no-sim", "--json"])
            .stdout
        )
        for way in ways
    )
    assert by_file == by_option


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rates = [[0.0]]", "a channel has `rates`"),
        ("rates = [[0.0]]\nsuccess = [1.0]\nloss = 1", "`loss` is not a key"),
        ("rates = [0.0]\nsuccess = [1.0]", "`rates` is a list of rows"),
        ("rates = [[0.0, 0.0], [0.0]]\nsuccess = [1.0]", "`rates` is a list of rows"),
        ("rates = [[0.0]]\nsuccess = ['a']", "`success` is a list of numbers"),
        ("rates = [[-1.0, 1.0], [1.0, -3.0]]\nsuccess = [0.0, 1.0]", "row 1 of the rates"),
        ("rates = ", "Invalid value"),
    ],
)
def test_a_file_that_is_no_channel_is_told(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "channel.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as mistake:
        read_channel(file)
    assert "channel.toml" in str(mistake.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("buffer",), "say what frames meet"),
        (("buffer", "--doppler", "0 Hz"), "Doppler frequency is more than 0"),
        (("buffer", "--doppler", "10"), "with its unit"),
        (("buffer", "--doppler", "10 Hz", "--good", "1 s"), "described once"),
        (("buffer", "--good", "1 s"), "both mean durations"),
        (("buffer", "--error", "150 %"), "not a probability"),
        (("buffer", "--error", "1 %", "--buffer", "8"), "not a buffer with its unit"),
        (("buffer", "--error", "1 %", "--frame", "48 B", "--buffer", "5 frames"), "1 packet or more"),
        (("packet", "--error", "1 %", "--buffer", "120 frames"), "not a buffer with its unit"),
        (("buffer", "--error", "1 %", "--buffer", "100 B"), "1 packet or more"),
        (("buffer", "--doppler", "10 Hz", "--target", "90 %"), "no buffer gives TCP 0.9 Mb/s"),
        (("packet", "--doppler", "10 Hz", "--frame", "1 kB"), "at most a packet"),
        (("packet", "--doppler", "10 Hz", "--rtt", "0 s"), "round_trip_s is a positive number"),
    ],
)
def test_wrong_arguments_are_told(arguments: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(program.app, ["design", *arguments], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_the_tables_are_whole() -> None:
    found = buffer(CELLS, target_bps=0.3e6)
    assert report.tables(found)[0].row_count == len(found.curve)
    assert "frames)" in report.conclusion(found)
    assert report.tables(buffer(SLOW))[0].row_count == 12
    assert packet_report.tables(packet(SLOW))[0].row_count == 9
