"""Logs as people have them: each is read rightly, or refused with an option that works."""

import gzip
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import varicap
from varicap import traces
from varicap.traces import Opportunities, Rates, TraceError, mean_rate_bps

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def made(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return made


FIVE = [(0, 1000), (1, 1100), (2, 1200), (3, 1000), (4, 1100)]
"""Seconds and kb/s: 5 s, 1.08 Mb/s."""


def rows(separator: str = ",", header: str | None = "time_s,kbps", line: str = "\n", first: float = 0) -> str:
    lines = [] if header is None else [header.replace(",", separator)]
    lines += [f"{first + time}{separator}{rate}" for time, rate in FIVE]
    return line.join(lines) + line


PLAIN: dict[str, tuple[str, str | bytes]] = {
    "ours": ("a.csv", rows()),
    "capitals": ("a.csv", rows(header="Time_s,Kbps")),
    "quotes": ("a.csv", '"time_s","kbps"\n' + "".join(f'"{t}","{r}"\n' for t, r in FIVE)),
    "time without a unit": ("a.csv", rows(header="time,kbps")),
    "milliseconds": ("a.csv", "time_ms,kbps\n" + "".join(f"{t * 1000},{r}\n" for t, r in FIVE)),
    "seconds since 1970": ("a.csv", rows(first=1_600_000_000)),
    "milliseconds since 1970": (
        "a.csv",
        "timestamp,kbps\n" + "".join(f"{(1_600_000_000 + t) * 1000},{r}\n" for t, r in FIVE),
    ),
    "ISO times": ("a.csv", "time,kbps\n" + "".join(f"2020-02-14T09:38:2{t},{r}\n" for t, r in FIVE)),
    "times with dots": ("a.csv", "Timestamp,kbps\n" + "".join(f"2020.02.14_09.38.2{t},{r}\n" for t, r in FIVE)),
    "times of day over midnight": (
        "a.csv",
        "time,kbps\n"
        + "".join(
            f"{h},{r}\n"
            for h, (_, r) in zip(["23:59:58", "23:59:59", "00:00:00", "00:00:01", "00:00:02"], FIVE, strict=True)
        ),
    ),
    "tabs": ("a.csv", rows("\t")),
    "tsv": ("a.tsv", rows("\t")),
    "semicolons": ("a.csv", rows(";")),
    "decimal commas": ("a.csv", "time_s;kbps\n" + "".join(f"{t},0;{r},0\n" for t, r in FIVE)),
    "UTF-16": ("a.csv", rows(line="\r\n").encode("utf-16")),
    "a byte order mark": ("a.csv", "\ufeff" + rows()),
    "carriage returns": ("a.csv", rows(line="\r")),
    "gzip": ("a.csv.gz", gzip.compress(rows().encode())),
    "blank lines and comments": ("a.csv", "# seen\n\n" + rows() + "\n\n"),
    "a place with a comma": ("a.csv", "time_s,place,kbps\n" + "".join(f'{t},"Oslo, Norway",{r}\n' for t, r in FIVE)),
    "other names": ("a.csv", "Time (s),throughput (kbps)\n" + rows(header=None)),
    "Mb/s in a longer name": (
        "a.csv",
        "time_s,downlink_Mbps\n" + "".join(f"{t},{r / 1000}\n" for t, r in FIVE),
    ),
    "exponents": ("a.csv", "time_s,bps\n" + "".join(f"{t},{r / 1000}E6\n" for t, r in FIVE)),
    "bytes of each row": ("a.csv", "time_s,bytes\n" + "".join(f"{t},{r * 125}\n" for t, r in FIVE)),
    "units in fields": ("a.csv", "time_s,kbps\n" + "".join(f"{t},{r} kbps\n" for t, r in FIVE)),
    "a row of units": ("a.csv", rows().replace("kbps\n", "kbps\n(s),(kb/s)\n")),
    "units in their row alone": ("a.csv", rows(header="time,throughput").replace("put\n", "put\ns,kbit/s\n")),
    "a sum at the end": ("a.csv", rows() + "Total,5400\n"),
    "Pensieve's": ("bus.log", "".join(f"{t:.1f}\t{r / 1000}\n" for t, r in FIVE)),
    "Pensieve's with spaces": ("bus", "".join(f"{t} {r / 1000}\n" for t, r in FIVE)),
    "Oboe's": ("trace_0.txt", "".join(f"{t * 1000:.1f} {r}.0\n" for t, r in FIVE)),
    "names in a comment": ("a.txt", "# time_s kbps\n" + "".join(f"{t} {r}\n" for t, r in FIVE)),
    "durations": ("a.csv", "duration_s,kbps\n" + "".join(f"1,{r}\n" for _, r in FIVE)),
    "Norway's HSDPA": (
        "report.log",
        "".join(f"{1_285_650_001 + t} {5000 + (t + 1) * 1000} 59.8 10.7 {r * 125} 1000\n" for t, r in FIVE),
    ),
    "Irish 4G": (
        "B_2018.csv",
        "Timestamp,Speed,DL_bitrate,UL_bitrate,PINGAVG\n"
        + "".join(f"2018.01.01_10.00.0{t},0,{r},7,-\n" for t, r in FIVE),
    ),
    "speedtest": (
        "s.csv",
        "Server ID,Sponsor,Timestamp,Distance,Ping,Download,Upload\n"
        + "".join(f"1,x,2021-01-01T00:00:0{t}Z,1,20,{r * 1000}.0,5.0\n" for t, r in FIVE),
    ),
    "iperf3's JSON": (
        "iperf.json",
        json.dumps({"intervals": [{"sum": {"start": t, "end": t + 1, "bits_per_second": r * 1e3}} for t, r in FIVE]}),
    ),
    "iperf3's stream of JSON": (
        "iperf.jsonl",
        "\n".join(
            json.dumps({"event": "interval", "data": {"sum": {"start": t, "end": t + 1, "bits_per_second": r * 1e3}}})
            for t, r in FIVE
        ),
    ),
    "iperf3's text": (
        "iperf.txt",
        "Connecting to host x, port 5201\n[ ID] Interval           Transfer     Bitrate\n"
        + "".join(
            f"[  5]   {t:.2f}-{t + 1:.2f}   sec   132 KBytes  {r / 1000:.2f} Mbits/sec    0   14.1 KBytes\n"
            for t, r in FIVE
        )
        + "- - -\n[  5]   0.00-5.00   sec   660 KBytes  9.99 Mbits/sec    0   sender\n",
    ),
    "the FCC's, of a unit": (
        "curr_httpgetmt.csv",
        "unit_id,dtime,target,fetch_time,bytes_total,bytes_sec,bytes_sec_interval,warmup_time,warmup_bytes,sequence\n"
        + "".join(f'1,"2016-09-01 00:12:2{t}",x,5000123,9,{r * 125},{r * 125},7,8,{t}\n' for t, r in FIVE),
    ),
    "iperf 2's CSV": (
        "iperf.csv",
        "".join(
            f"2026010112000{t},10.0.0.1,5001,10.0.0.2,50000,3,{t}.0-{t + 1}.0,{r * 125},{r * 1000}\n" for t, r in FIVE
        )
        + "20260101120005,10.0.0.1,5001,10.0.0.2,50000,3,0.0-5.0,99,1\n",
    ),
    "iperf 2's CSV of two streams": (
        "iperf.csv",
        "".join(
            f"2026010112000{t}.5,10.0.0.1,5001,10.0.0.2,{port},{who},{t}.0-{t + 1}.0,{r * 125},{rate}\n"
            for t, r in FIVE
            for port, who, rate in ((1, 3, 7), (2, 4, r * 1000 - 7), (0, -1, r * 1000))
        ),
    ),
    "AlphaRTC's": (
        "4G.json",
        json.dumps({"downlink": {}, "uplink": {"trace_pattern": [{"duration": 1000, "capacity": r} for _, r in FIVE]}}),
    ),
    "an ntrace": (
        "car.ntrace",
        json.dumps(
            {
                "version": 1,
                "description": "a car",
                "entries": [
                    {"entryNo": t + 1, "dateTime": f"2020-10-09T08:23:{t:02}.500+02:00", "dlBw": r} for t, r in FIVE
                ],
            }
        ),
    ),
    "Genet's": (
        "trace.json",
        json.dumps({"timestamps": [t for t, _ in FIVE], "bandwidths": [r / 1000 for _, r in FIVE], "loss": 0}),
    ),
    "Starlink's": (
        "history.json",
        json.dumps(
            {
                "dishGetHistory": {
                    "current": "7",  # a ring: the oldest is the third
                    "popPingDropRate": [0] * 5,
                    "downlinkThroughputBps": [r * 1e3 for _, r in (*FIVE[3:], *FIVE[:3])],
                }
            }
        ),
    ),
    "flent's": (
        "t.flent.gz",
        gzip.compress(
            json.dumps(
                {
                    "metadata": {},
                    "x_values": [t for t, _ in FIVE],
                    "results": {"TCP download": [r / 1000 for _, r in FIVE], "Ping (ms) ICMP": [20.0] * 5},
                }
            ).encode()
        ),
    ),
    "records in JSON": ("r.json", json.dumps([{"timestamp": t, "rate_kbps": r} for t, r in FIVE])),
    "lists in JSON": ("l.json", json.dumps({"time_s": [t for t, _ in FIVE], "kbps": [r for _, r in FIVE]})),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_a_log_of_any_form_is_read(kind: str, write: Write) -> None:
    found = traces.load(write(*PLAIN[kind]))
    assert isinstance(found, Rates)
    assert found.rate_bps.tolist() == [rate * 1000 for _, rate in FIVE], found.understood
    assert found.time_s.tolist() == [time for time, _ in FIVE]
    assert found.duration_s == 5.0
    assert found.understood is not None
    assert found.understood.sentence.startswith("5 ")


NEEDS_A_WORD: dict[str, tuple[str, str, float]] = {
    "no header": ("n.csv", rows(header=None), 1.08e6),
    "two rates": ("d.csv", "time_s,dl_kbps,ul_kbps\n0,1000,100\n1,1200,100\n", 1.1e6),
    "rates that disagree": ("d.csv", "time_s,bps,rate_kbps\n0,1000,5\n1,1000,5\n", 1e3),
    "no unit": ("u.csv", "time_s,throughput\n0,1\n1,1.2\n", 1.1e6),
    "seconds or milliseconds": ("t.csv", "time,kbps\n0,1000\n1000,1200\n", 1.1e6),
    "one column of rates": ("r.txt", "1.5\n2.5\n", 2e6),
    "a negative rate": ("n.csv", "time_s,kbps\n0,1000\n1,-5\n2,1100\n", (1000 + 1000 + 1100) / 3 * 1e3),
    "a step back": ("b.csv", "time_s,kbps\n0,1\n2,2\n1,3\n3,4\n", 2.5e3),
    "several units of the FCC": (
        "f.csv",
        "unit_id,dtime,bytes_sec\n"
        + "".join(f"{who},2016-09-01 00:12:2{t},{who * r}\n" for who in (125, 250) for t, r in FIVE),
        1.08e6,
    ),
    "two directions": (
        "a.json",
        json.dumps(
            {
                "downlink": {"trace_pattern": [{"duration": 1000, "capacity": 800}]},
                "uplink": {"trace_pattern": [{"duration": 1000, "capacity": 300}]},
            }
        ),
        0.8e6,
    ),
}


@pytest.mark.parametrize("kind", NEEDS_A_WORD)
def test_what_may_be_two_things_is_refused_with_an_option_that_works(kind: str, write: Write, cli: Any) -> None:
    name, content, mean = NEEDS_A_WORD[kind]
    path = write(name, content)
    with pytest.raises(TraceError) as refused:
        traces.load(path)
    options = re.findall(r"`(--[^`]+)`", str(refused.value))
    assert options, refused.value
    # Of one column, times of packets come first.
    option = next((each for each in options if "rate=" in each), options[0])
    result = cli("trace", "info", str(path), "--json", *shlex.split(option))
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)[0]["mean_bps"] == pytest.approx(mean)


def test_faults_are_said_and_handled_as_the_keys_say(write: Write) -> None:
    path = write("g.csv", "time_s,kbps\n0,1000\n1,-\n2,1000\n3,2000\n3,3000\n8,1000\n9,1000\n")

    def of(**keys: Any) -> Rates:
        found = traces.load(path, **keys)
        assert isinstance(found, Rates)
        return found

    held = of()
    assert held.understood is not None
    assert [
        word in held.understood.sentence
        for word in ("one gap of 5 s", "one row of the same instant", "one row without a rate")
    ] == [True] * 3
    assert mean_rate_bps(held) == pytest.approx((3 * 1000 + 5 * 3000 + 2 * 1000) * 1e3 / 10)
    outage = of(gaps="outage")
    assert mean_rate_bps(outage) == pytest.approx((2 * 1000 + 3000 + 2 * 1000) * 1e3 / 10)
    assert mean_rate_bps(of(duplicates="first")) == pytest.approx((3 * 1000 + 5 * 2000 + 2 * 1000) * 1e3 / 10)
    for refusing in ({"gaps": "refuse"}, {"duplicates": "refuse"}, {"strict": True}):
        with pytest.raises(TraceError):
            of(**refusing)
    assert of(resample="2 s").rate_bps.tolist()[0] == 1e6
    assert of(clip="2 Mbit/s").rate_bps.max() == 2e6


def test_a_column_that_nobody_asked_for_refuses_nothing(write: Write) -> None:
    path = write("l.csv", "time_s,mbps,loss\n0,5,2\n1,6,0\n")
    found = traces.load(path)
    assert mean_rate_bps(found) == 5.5e6
    assert found.loss is None
    assert found.understood is not None
    assert "its column of loss is not used (line 2" in found.understood.sentence
    run = _run(path, _scenario(path))
    assert run.summary["flows"] is not None


def _run(beside: Path, scenario: str) -> varicap.Result:
    file = beside.with_name("scenario.toml")
    file.write_text(scenario)
    return varicap.run(file)


def _scenario(path: Path, keys: str = "") -> str:
    return f"""
duration = "2 s"
[topology.dumbbell.forward]
capacity = {{ trace = {{ file = "{path}"{keys} }} }}
delay = "10 ms"
[flows.one]
"""


def test_times_since_1970_are_no_trace_of_days(write: Write) -> None:
    found = traces.load(write("p.down", "1600000000\n1600000001\n1600000001\n"))
    assert isinstance(found, Opportunities)
    assert found.time_ms.tolist() == [0, 1000, 1000]
    assert found.understood is not None
    assert "since 1970" in found.understood.sentence
    in_ms = traces.load(write("m.down", "1600000000000\n1600000000005\n1600000000010\n"))
    assert isinstance(in_ms, Opportunities)
    assert in_ms.time_ms.tolist() == [0, 5, 10]


def test_a_file_under_the_wrong_key_names_the_right_one(write: Write) -> None:
    down, table = write("a.down", "1\n2\n3\n"), write("a.csv", rows())
    with pytest.raises(varicap.ScenarioError, match="a link has such a file as `opportunities`"):
        _run(down, _scenario(down))
    wrong = _scenario(table).replace("{ trace =", "{ opportunities =")
    with pytest.raises(varicap.ScenarioError, match="a table of rates is a `trace`"):
        _run(table, wrong)


def test_delays_and_losses_are_read_from_the_same_forms(write: Write) -> None:
    ping = write(
        "ping.txt",
        "".join(
            f"[16000000{t:02d}.5] 64 bytes from 1.1.1.1: icmp_seq={t + 1} ttl=5 time={40 + t} ms\n" for t in range(5)
        ),
    )
    table = write("d.csv", "time,rate_mbps,rtt (ms),loss_percent\n0,8,40,0\n1,8,60,50\n2,8,60,0\n")
    found = traces.load(table)
    assert found.delay is not None
    assert found.loss is not None
    assert found.delay.delay_ms.tolist() == [20, 30, 30]
    assert found.loss.loss.tolist() == [0, 0.5, 0]
    scenario = _scenario(table).replace('delay = "10 ms"', f'delay = {{ trace = {{ file = "{ping}" }} }}')
    assert _run(table, scenario).summary["flows"] is not None


def test_what_a_format_cannot_keep_is_said(write: Write, cli: Any) -> None:
    table = write("d.csv", "time_s,rate_mbps,delay_ms,loss\n0,8,40,0\n1,8,60,0.5\n")
    done = cli("trace", "convert", str(table), "-o", "x.down")
    assert done.returncode == 0, done.stderr
    assert "delays and losses are not in it" in done.stderr
    assert "are not in it" not in cli("trace", "convert", str(table), "-o", "x.csv").stderr


def test_a_short_file_needs_no_memory_of_its_length(write: Write, cli: Any) -> None:
    done = cli("trace", "info", str(write("l.down", "1\n99999999999\n")))
    assert done.returncode == 2
    assert "are too short for a trace" in done.stderr
    option = re.search(r"`--step '([^']+)'`", done.stderr.replace("\n", " "))
    assert option is not None, done.stderr


def test_a_fit_has_slots_no_shorter_than_the_rows(write: Write) -> None:
    """Of independent rows of a second; slots of 100 ms took each for ten equal ones, and for memory."""
    rng = np.random.default_rng(7)
    rates = np.exp(rng.normal(8.0, 0.5, 300))
    path = write("iid.csv", "time_s,kbps\n" + "".join(f"{t},{r:.3f}\n" for t, r in enumerate(rates)))
    found = traces.fit(traces.load(path))
    assert found.slot_s == 1.0
    assert found.held_out is not None
    assert found.held_out.chain - found.held_out.independent < 0.05
    assert "0.1" not in traces.info(traces.load(path)).variation


def test_a_bomb_of_gzip_is_refused(write: Write) -> None:
    bomb = gzip.compress(b"0" * 600_000_000, compresslevel=1)
    with pytest.raises(TraceError, match=r"a line of at most 65536 bytes|unpacks to more than"):
        traces.load(write("b.csv.gz", bomb))


def test_a_capture_is_a_lower_bound(tmp_path: Path) -> None:
    """Of our own: what the capture says went by is what the link carried."""
    scenario = """
duration = "4 s"
[topology.dumbbell.forward]
capacity = "4 Mbit/s"
delay = "10 ms"
queue = { drop-tail = { limit = "20 packets" } }
[flows.one]
"""
    (tmp_path / "s.toml").write_text(scenario)
    result = varicap.run(tmp_path / "s.toml", packets=True)
    result.write_pcapng(tmp_path / "c.pcapng")
    found = traces.load(tmp_path / "c.pcapng", every="500 ms")
    assert isinstance(found, Rates)
    assert found.understood is not None
    assert found.understood.form == "capture"
    assert "lower bound" in found.understood.sentence
    assert found.rate_bps[2:7] == pytest.approx(4e6, rel=0.05)
    assert found.delay is not None
    assert 10 < found.delay.delay_ms.mean() < 80
