"""Captures of runs: how much of each packet they have."""

import struct
from collections.abc import Iterator
from pathlib import Path

from conftest import Cli

import varicap


def captured(path: Path) -> tuple[list[int], list[tuple[int, int]]]:
    """The snap lengths of the interfaces of a capture, and the captured and the original length of each packet."""
    data, at = path.read_bytes(), 0
    limits, lengths = [], []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 1:
            limits.append(struct.unpack_from("<I", data, at + 12)[0])
        if kind == 6:
            lengths.append(struct.unpack_from("<II", data, at + 20))
        at += length
    return limits, lengths


def packets(path: Path) -> Iterator[tuple[int, bytes]]:
    """The time and the bytes of each packet of a capture [ns]."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            high, low, captured_ = struct.unpack_from("<III", data, at + 12)
            yield (high << 32) + low, data[at + 28 : at + 28 + captured_]
        at += length


def test_a_capture_has_as_much_of_each_packet_as_was_asked_for(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    quick = ("--seeds", 1, "--set", "duration=15 s", "--no-plot", "-q", "--pcap")
    found = {}
    for name, options, limit in (
        ("default", (), 128),
        ("short", ("--snaplen", "96 B"), 96),
        ("whole", ("--snaplen", "0 B"), 0),
    ):
        path = tmp_path / f"{name}.pcapng"
        assert cli("run", fixed, *quick, path, *options).returncode == 0
        limits, found[name] = captured(path)
        assert limits
        assert set(limits) == {limit}
    assert max(length for _, length in found["whole"]) > 500  # segments of 512 B
    for name, limit in (("default", 128), ("short", 96), ("whole", 2**32)):
        assert found[name] == [(min(length, limit), length) for _, length in found["whole"]]
    result = varicap.run(fixed, seeds=1, overrides={"duration": "15 s"}, packets="first")
    result.write_pcapng(tmp_path / "python.pcapng", snaplen="96 B")
    assert (tmp_path / "python.pcapng").read_bytes() == (tmp_path / "short.pcapng").read_bytes()


def test_a_snap_length_is_a_size_and_for_captures(cli: Cli, fixed: Path) -> None:
    for options, says in (
        (("--pcap", "a.pcapng", "--snaplen", "96"), "96"),
        (("--pcap", "a.pcapng", "--snaplen", "5 GB"), "at most 4294967295 B"),
        (("--pcap", "a.pcapng", "--snaplen", "0.4 B"), "expected at least 1 B, or 0 B for whole packets"),
        (("--snaplen", "96 B"), "is for --pcap"),
    ):
        done = cli("run", fixed, *options)
        assert done.returncode == 2
        assert says in done.stderr
        assert "Traceback" not in done.stderr


def test_what_a_sender_sends_echoes_the_newest_timestamp_that_came_back(cli: Cli, fixed: Path, tmp_path: Path) -> None:
    """RFC 7323 §3.2: TSecr is valid wherever ACK is set; and it is none that has not come yet."""
    path = tmp_path / "echo.pcapng"
    done = cli("run", fixed, "--set", "duration=15 s", "--seeds", "1", "--no-plot", "--pcap", path)
    assert done.returncode == 0, done.stderr
    sent: dict[int, int] = {}
    echoes = []
    for at_ns, packet in packets(path):
        words = 4 * (packet[32] >> 4)
        options = packet[40 : 20 + words]
        place = options.find(b"\x08\x0a")
        if place < 0:
            continue
        value, echo = struct.unpack_from(">II", options, place + 2)
        is_reverse = packet[15] == 2
        if is_reverse:
            sent[value] = min(at_ns, sent.get(value, at_ns))
        elif packet[33] & 0x10 and len(sent) > 0:
            echoes.append((at_ns, echo))
    assert len(echoes) > 100
    # All but those that left before the first answer had come echo a timestamp of an answer that was under way before.
    late = [(at, echo) for at, echo in echoes if echo]
    assert len(late) > 0.9 * len(echoes)
    assert all(echo in sent and sent[echo] <= at for at, echo in late)
    assert [echo for _, echo in late] == sorted(echo for _, echo in late)
