"""Captures of runs: how much of each packet they have."""

import struct
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
