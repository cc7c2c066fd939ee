"""Results in the shapes of other tools."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import Cli

import varicap
from varicap import export
from varicap.results.result import Result


@pytest.fixture(scope="module")
def result() -> Result:
    return varicap.run(
        "examples/fixed.toml", seeds=2, series=True, packets=True, overrides={"duration": "15 s", "warmup": "0 s"}
    )


def test_iperf3_has_streams_intervals_and_sums_that_add_up(result: Result) -> None:
    shape = export.iperf3(result, run=1)
    assert len(shape["intervals"]) == 150
    # A flow has a window from its start on.
    later = shape["intervals"][20]["streams"][0]
    assert {"socket", "start", "end", "seconds", "bytes", "bits_per_second", "snd_cwnd", "omitted"} <= set(later)
    total = sum(each["sum"]["bytes"] for each in shape["intervals"])
    assert total == pytest.approx(shape["end"]["sum_received"]["bytes"], rel=1e-3)
    flow = result.flows.to_pylist()[1]
    assert shape["end"]["sum_sent"]["retransmits"] == flow["retransmitted_packets"]
    assert shape["end"]["sum_received"]["bits_per_second"] == pytest.approx(flow["goodput_bps"])


def test_the_warm_up_is_omitted_as_by_iperf3() -> None:
    plain = varicap.run("examples/fixed.toml", seeds=1, series=True, overrides={"duration": "15 s", "warmup": "5 s"})
    shape = export.iperf3(plain)
    omitted = [each for each in shape["intervals"] if each["sum"]["omitted"]]
    kept = [each for each in shape["intervals"] if not each["sum"]["omitted"]]
    assert (len(omitted), len(kept)) == (50, 100)
    assert (kept[0]["sum"]["start"], kept[-1]["sum"]["end"]) == (pytest.approx(0.0), pytest.approx(10.0))
    start, end = shape["start"]["test_start"], shape["end"]["sum_received"]
    assert (start["omit"], start["duration"], end["start"], end["end"]) == (5.0, 10.0, 0.0, 10.0)
    assert sum(each["sum"]["bytes"] for each in kept) == pytest.approx(end["bytes"], rel=1e-3)


def test_the_python_reader_of_iperf3_finds_what_it_asks_for(result: Result) -> None:
    # What `TestResult` of the package iperf3 0.1.11 reads without a default.
    shape = export.iperf3(result)
    start, end = shape["start"], shape["end"]
    assert {"time", "timesecs"} <= set(start["timestamp"])
    assert {"system_info", "version", "connecting_to"} <= set(start)
    assert {"local_host", "local_port", "remote_host", "remote_port"} <= set(start["connected"][0])
    assert {"protocol", "num_streams", "blksize", "omit", "duration", "reverse"} <= set(start["test_start"])
    cpu = {f"{side}_{kind}" for side in ("host", "remote") for kind in ("total", "user", "system")}
    assert cpu <= set(end["cpu_utilization_percent"])
    assert {"bytes", "bits_per_second"} <= set(end["sum_sent"]) & set(end["sum_received"])


def test_flowmonitor_counts_what_the_tables_count(result: Result) -> None:
    root = ElementTree.fromstring(export.flowmonitor(result))
    assert [child.tag for child in root] == ["FlowStats", "Ipv4FlowClassifier", "FlowProbes"]
    (flow,) = root[0]
    row, link = result.flows.to_pylist()[0], result.links.to_pylist()[0]
    assert int(flow.attrib["rxPackets"]) == pytest.approx(row["delivered_packets"], abs=2)  # and those of the handshake
    assert int(flow.attrib["lostPackets"]) == link["dropped_packets"]
    waiting = int(flow.attrib["txPackets"]) - int(flow.attrib["rxPackets"]) - int(flow.attrib["lostPackets"])
    assert 0 <= waiting < 40
    times = re.fullmatch(r"\+(\d+)ns", flow.attrib["delaySum"])
    assert times
    # 50 ms of propagation, 5.52 ms of transmission, at most eleven packets before it.
    assert 0.0505 <= int(times[1]) / 1e9 / int(flow.attrib["rxPackets"]) <= 0.050 + 12 * 0.00552


def test_a_mahimahi_log_has_arrivals_departures_drops_and_opportunities(result: Result) -> None:
    log = export.mahimahi(result, "forward")
    lines = [line.split() for line in log.splitlines() if not line.startswith("#")]
    assert "# base timestamp: 0" in log.splitlines()
    times = [int(line[0]) for line in lines]
    assert times == sorted(times)
    link = result.links.to_pylist()[0]
    by_event = {event: [line for line in lines if line[1] == event] for event in "+-d#"}
    assert len(by_event["d"]) == link["dropped_packets"] > 0
    without = export.mahimahi(result, "forward", drops=False)
    assert without == "".join(line for line in log.splitlines(keepends=True) if " d " not in line)
    assert len(by_event["-"]) == pytest.approx(link["delivered_packets"], abs=2)
    assert all(0 <= int(line[3]) <= 62 for line in by_event["-"])
    # 0.8 Mb/s for 15 s is 1000 times 1500 bytes.
    assert len(by_event["#"]) == pytest.approx(1000, abs=2)


def test_what_was_not_recorded_is_told(tmp_path: Path, result: Result, cli: Cli) -> None:
    plain = varicap.run("examples/fixed.toml", seeds=1, overrides={"duration": "15 s"})
    for shape, option in (
        (export.iperf3, "--series"),
        (export.flowmonitor, "--packets"),
        (export.mahimahi, "--packets"),
    ):
        with pytest.raises(export.ExportError, match=option):
            shape(plain)
    with pytest.raises(export.ExportError, match="no link `x`; there are: forward"):
        export.mahimahi(result, "x")
    result.save(tmp_path / "results")
    done = cli("export", "results", "--to", "iperf3")
    assert json.loads(done.stdout) == export.iperf3(result)
    assert cli("export", "results", "--to", "mahimahi", "--no-drops").stdout == export.mahimahi(result, drops=False)
    assert cli("export", "results", "--to", "iperf").returncode == 2
