"""Tables of numbers as pages show them.

    .venv/bin/python tests/tables.py NAME      prints one, by the name of its function

A page names the command above its table, and `tests/test_docs.py` compares: cells that are empty here are of somebody
else (ns-2, Linux), and of the day on which they were measured.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import varicap
from varicap import kernels, papers, traces
from varicap.analyse.fading import Rayleigh
from varicap.channel import mean_durations
from varicap.papers import record
from varicap.report.table import with_interval
from varicap.results.samples import samples
from varicap.statistics import Interval

sys.path.insert(0, str(Path(__file__).parent / "peers"))
peers: Any = import_module("peers")

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT.parent / "shared" / "traces"
"""Recorded traces, which are not part of the project; where they are not there, tables of them stay as they are."""
Rows = Iterator[tuple[str, ...]]


def shown(value: Interval, scale: float = 1.0) -> str:
    """A mean with its interval, which is left out where runs agree to three digits."""
    half = value.mean - (value.lo if value.lo is not None else value.mean)
    if half < 5e-4 * abs(value.mean):
        return f"{value.mean * scale:.3f}"
    return with_interval(value.mean, value.lo, value.hi, scale)


def phase() -> Rows:
    """Two SACK flows of which the second has a longer wire: the share of the first."""
    yield "extra delay each way", "varicap, jitter", "ns-2, jitter", "varicap, none", "ns-2, none"
    tcp = {"stack": "rfc", "recovery": "sack", "mss": "1000 B", "ack": "every"}
    for extra_ms in (0, 1.3, 2.6, 3.9):
        cells = []
        for flow in ({}, {"jitter": "0 s"}):
            forward = {"capacity": "0.8 Mbit/s", "delay": "50 ms", "queue": {"drop-tail": {"limit": "15 packets"}}}
            scenario = {
                "duration": "300 s",
                "warmup": "20 s",
                "topology": {"dumbbell": {"forward": forward}},
                "tcp": tcp,
                "flows": {"near": flow, "far": {**flow, "access_delay": f"{extra_ms} ms"}},
            }
            rows = varicap.run(scenario, seeds=10).flows
            near, far = (samples(rows, name, "goodput_bps") for name in ("near", "far"))
            cells += [shown(Interval.of(near / (near + far))), ""]
        yield f"{extra_ms:g} ms", *cells


def loss() -> Rows:
    """One flow of each recovery at a random loss of 1 %."""
    yield "goodput [kb/s]", "varicap", "ns-2"
    found = {case.name: case for case in peers.cases()}
    for variant in ("tahoe", "reno", "newreno", "sack"):
        goodput = peers.run_varicap(found[f"loss/1%/{variant}/every"])["goodput.0"]
        yield variant, f"{goodput.mean / 1e3:.0f} ± {goodput.half / 1e3:.0f}", ""


def explicit() -> Rows:
    """Of `examples/explicit.toml` goodput, utilisation and queueing delay."""
    yield "", "goodput [Mb/s]", "utilisation [%]", "queueing delay p50, p95 [ms]"
    result = varicap.run(ROOT / "examples/explicit.toml")
    links = [row for row in result.links.to_pylist() if row["name"] == "forward"]
    names = {
        "cubic": "CUBIC",
        "accel-brake": "accel-brake",
        "instcap": "INSTCAP to an ABR source",
        "effcap": "EFFCAP (1 rtt, 3 rtt) to an ABR source",
    }
    for flow, name in names.items():
        mine = [row for row in links if row["flow"] == flow]
        columns = ("utilisation", "sojourn_p50_ms", "sojourn_p95_ms")
        used, median, late = (float(np.mean([row[column] for row in mine])) for column in columns)
        goodput = shown(Interval.of(samples(result.flows, flow, "goodput_bps")), 1e-6)
        yield name, goodput, f"{100 * used:.1f}", f"{median:.0f}, {late:.0f}"


def queues() -> Rows:
    """Four flows of different kinds that share a link by different queues."""
    yield "queue", "near", "far", "cubic", "datagrams"
    limit = {"limit": "100 packets"}
    kinds = {
        "`drop-tail`": {"drop-tail": limit},
        "`red`": {"red": limit},
        "`drr`": {"drr": limit},
        "`sfq`": {"sfq": limit},
        "`sfq`, weight 2 for near": {"sfq": {**limit, "weights": {"near": 2.0}}},
        '`drr`, `drop = "arriving"`': {"drr": {**limit, "drop": "arriving"}},
    }
    for name, queue in kinds.items():
        forward = {"capacity": "10 Mbit/s", "delay": "20 ms", "queue": queue}
        flows: dict[str, dict[str, object]] = {
            "near": {},
            "far": {"access_delay": "80 ms"},
            "cubic": {"tcp": {"congestion": "cubic"}},
            "datagrams": {"datagrams": {"rate": "6 Mbit/s"}},
        }
        scenario = {
            "duration": "60 s",
            "warmup": "10 s",
            "topology": {"dumbbell": {"forward": forward}},
            "tcp": {"stack": "rfc", "recovery": "newreno"},
            "flows": {flow: {"start_spread": "1 s", **keys} for flow, keys in flows.items()},
        }
        rows = varicap.run(scenario, seeds=5).flows
        rates = [Interval.of(samples(rows, flow, "throughput_bps")) for flow in flows]
        yield name, *(f"{one.mean / 1e6:.2f} ± {(one.mean - (one.lo or one.mean)) / 1e6:.2f}" for one in rates)


def engines() -> Rows:
    """`examples/fixed.toml` in the simulator, by analysis and, where it has been built, in Linux in simulated time."""
    yield "", "simulator", "analysis", "Linux 6.12"
    scenario = ROOT / "examples/fixed.toml"
    (flow,) = varicap.run(scenario).summary["flows"]
    (model,) = varicap.run(scenario, engine="model").summary["flows"]
    try:
        name = kernels.find("6.12").folder.name
        (linux,) = varicap.run(scenario, engine="kernel", kernel_name=name).summary["flows"]
    except kernels.NoKernelError:
        linux = None

    def row(key: str, shown: Callable[[Any], str], analysis: str = "") -> tuple[str, ...]:
        return shown(flow[key]), analysis, "" if linux is None else shown(linux[key])

    def mean(value: Any) -> str:
        return f"{value['mean']:.1f}"

    def megabits(value: Any) -> str:
        return with_interval(value["mean"], value["lo"], value["hi"], 1e-6)

    yield "goodput [Mb/s]", *row("goodput_bps", megabits, f"{model['goodput_bps']['mean'] / 1e6:.4f}")
    yield "mean RTT [ms]", *row("rtt_ms", mean)
    yield "mean cwnd [packets]", *row("cwnd_packets", mean)
    yield "packets retransmitted in 50 s", *row("retransmitted_packets", lambda value: f"{value:.1f}")


def fading() -> Rows:
    """How long Rayleigh fading stays bad and good, exactly and by eight sinusoids."""
    yield "mean duration", "bad", "good"
    unit, ten = Rayleigh(doppler_hz=1.0), Rayleigh(doppler_hz=10.0)
    yield "exact, in periods of the Doppler frequency", f"{unit.mean_fade_s:.4f}", f"{unit.mean_good_s:.3f}"
    yield "exact, at 10 Hz", f"{1e3 * ten.mean_fade_s:.1f} ms", f"{1e3 * ten.mean_good_s:.0f} ms"
    bad, good = mean_durations({"rayleigh": {"doppler": "10 Hz"}}, 500.0)
    yield "eight sinusoids, at 10 Hz", f"{1e3 * bad:.1f} ms", f"{1e3 * good:.0f} ms"


RECORDED = (
    "ATT-LTE-driving-2016.down",
    "ATT-LTE-driving-2016.up",
    "TMobile-LTE-short.down",
    "Verizon-LTE-short.down",
    "Verizon-LTE-short.up",
)


def generators() -> Rows:
    """The parameters of LTE-like links that are fitted to recorded traces, their median, and the defaults."""
    fits = {name: traces.fit_cellular(traces.load(REAL / name)) for name in RECORDED}
    names = [each.name for each in fields(traces.Cellular)]
    yield "", *(name.removesuffix("_bps").removesuffix("_s").replace("_", " ") for name in names)
    for name, found in fits.items():
        yield name, *(_parameter(each, getattr(found, each)) for each in names)
    middle = {each: float(np.median([getattr(found, each) for found in fits.values()])) for each in names}
    yield "median of these", *(_parameter(each, middle[each]) for each in names)
    yield "default", *(_parameter(each, getattr(traces.Cellular(), each)) for each in names)


def _parameter(name: str, value: float) -> str:
    if name.endswith("_bps"):
        return f"{value / 1e6:.3g} Mb/s"
    return f"{value:.3g} s" if name.endswith("_s") else f"{value:.3g}"


def generated() -> Rows:
    """CUBIC with a buffer of 100 packets: on a recorded trace, on one like it, and on one of the defaults' law."""
    yield "", "share, recorded", "fitted", "defaults", "RTT p95, recorded", "fitted", "defaults"
    for name in RECORDED:
        found = traces.fit_cellular(traces.load(REAL / name))
        scaled = traces.Cellular(median_bps=found.median_bps, peak_bps=found.peak_bps)
        with TemporaryDirectory() as folder:
            files = [REAL / name, Path(folder) / "fitted.down", Path(folder) / "defaults.down"]
            for file, link in zip(files[1:], (found, scaled), strict=True):
                traces.save(traces.generate_lte(seed=1, duration_s=600, link=link), file)
            runs = [varicap.run(_over(file), seeds=10).flows for file in files]
        shares, delays = ([Interval.of(samples(each, "cubic", column)) for each in runs] for column in OF_CUBIC)
        yield name, *(f"{shown(one, 100.0)} %" for one in shares), *(f"{shown(one)} ms" for one in delays)


OF_CUBIC = ("goodput_of_capacity", "rtt_p95_ms")


def _over(file: Path) -> dict[str, Any]:
    """CUBIC over a trace, which each run enters at random."""
    capacity = {"opportunities": {"file": str(file), "offset": "random"}}
    link = {"capacity": capacity, "delay": "25 ms", "queue": {"drop-tail": {"limit": "100 packets"}}}
    topology = {"dumbbell": {"forward": link, "reverse": {"delay": "25 ms"}}}
    flow = {"start_spread": "2 s", "tcp": {"congestion": "cubic"}}
    return {"duration": "60 s", "warmup": "5 s", "topology": topology, "flows": {"cubic": flow}}


def bbr_cubic() -> Rows:
    """Behind netem and tbf with 100 kB: the goodput of julijang/bbr-cubic's set-ups."""
    yield "round trip", "CUBIC, published", "CUBIC", "BBR, published", "BBR"
    for rtt_ms in (10, 50, 100, 200):
        cubic, bbr = (_behind_tbf(rtt_ms, 100_000, control) for control in ("cubic", "bbr"))
        yield f"{rtt_ms} ms", "", _mbps(cubic), "", _mbps(bbr)


def mininet() -> Rows:
    """The same with 10 MB, and what CUBIC sent again."""
    names = ("CUBIC", "BBR")
    yield "round trip", *(cell for name in names for cell in (f"{name}, published", name)), *_SENT_AGAIN
    for rtt_ms in (10, 50, 100, 200):
        cubic, bbr = (_behind_tbf(rtt_ms, 10_000_000, control) for control in ("cubic", "bbr"))
        yield f"{rtt_ms} ms", "", _mbps(cubic), "", _mbps(bbr), "", f"{cubic['retransmitted_packets']:.0f}"


_SENT_AGAIN = ("CUBIC sent again, published", "CUBIC sent again")


def _behind_tbf(rtt_ms: int, limit: int, control: str) -> dict[str, Any]:
    """A minute of one flow: the row of its summary."""
    script = f"""
    tc qdisc add dev r1-eth1 root handle 1: netem delay {rtt_ms / 2}ms
    tc qdisc add dev r1-eth1 parent 1: handle 2: tbf rate 100mbit burst 15000 limit {limit}
    tc qdisc add dev r1-eth0 root handle 1: netem delay {rtt_ms / 2}ms
    """
    flow: dict[str, Any] = _imported(script, control, 3).summary["flows"][0]
    return flow


def _imported(script: str, control: str, seeds: int, **more: str) -> Any:
    """What a script is imported as, run with a control."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "imported.toml"
        file.write_text(varicap.import_text(script), encoding="utf-8")
        (Path(folder) / "100Mbps").write_text("".join(f"{(12 * n + 11) // 100}\n" for n in range(1, 8334)))
        tcp = {"flows.flow.tcp": f'{{ stack = "linux", congestion = "{control}" }}'}
        return varicap.run(file, seeds=seeds, overrides={**tcp, **more})


def _mbps(flow: dict[str, Any]) -> str:
    return f"{flow['goodput_bps']['mean'] / 1e6:.1f}"


def rebbr() -> Rows:
    """An upload over 100 Mb/s and 100 ms with random loss: throughput at the link, before the loss."""
    yield "loss", "CUBIC, published", "CUBIC", "BBR, published", "BBR"
    for loss in (1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2):
        line = f"mm-delay 50 mm-loss uplink {loss:f} mm-link 100Mbps 100Mbps --uplink-queue=droptail "
        line += "--uplink-queue-args=bytes=1250000"
        shown = []
        for control in ("cubic", "bbr"):
            links = _imported(line, control, 3, **{"flows.flow.backward": "true"}).summary["links"]
            (uplink,) = (link for link in links if link["name"] == "uplink")
            carried = uplink["utilisation"]["mean"] * uplink["capacity_bps"]["mean"] / 1e6
            shown.append(f"{carried:.3g}")
        yield f"{100 * loss:g} %", "", shown[0], "", shown[1]


def ns2_cbr() -> Rows:
    """1 Mb/s of datagrams, and TCP in between, over 500 kb/s with 100 packets: Mantador01/ns2-tcp-udp-analysis."""
    script = """
    set ns [new Simulator]
    foreach i {0 1 2 3} { set n($i) [$ns node] }
    $ns duplex-link $n(0) $n(2) 1Mb 10ms DropTail
    $ns duplex-link $n(1) $n(2) 1Mb 10ms DropTail
    $ns duplex-link $n(2) $n(3) 500Kb 20ms DropTail
    $ns queue-limit $n(2) $n(3) 100
    set udp [new Agent/UDP]; set null [new Agent/Null]; set tcp [new Agent/TCP]; set sink [new Agent/TCPSink]
    $ns attach-agent $n(1) $udp; $ns attach-agent $n(3) $null; $ns connect $udp $null
    $ns attach-agent $n(0) $tcp; $ns attach-agent $n(3) $sink; $ns connect $tcp $sink
    set cbr [new Application/Traffic/CBR]; $cbr attach-agent $udp
    $cbr set packetSize_ 1000; $cbr set rate_ 1Mb
    set ftp [new Application/FTP]; $ftp attach-agent $tcp
    $ns at 0.5 "$cbr start"; $ns at 4.5 "$cbr stop"
    $ns at 2.0 "$ftp start"; $ns at 4.0 "$ftp stop"; $ns at 5.0 "finish"
    """
    with TemporaryDirectory() as folder:
        file = Path(folder) / "imported.toml"
        file.write_text(varicap.import_text(script), encoding="utf-8")
        rows = varicap.run(file, seeds=1, overrides={"record.packets": "true"}).packets.to_pylist()
    data = [row for row in rows if row["direction"] == "data"]
    counted = {
        (kind, event): sum(
            row["link"] == link and row["event"] == event and row["group"].startswith(kind) for row in data
        )
        for kind, link, event in (
            ("cbr", "n2-n3", "overflow"),
            ("cbr", "n2-n3", "delivery"),
            ("ftp", "n0-n2", "arrival"),
            ("ftp", "n2-n3", "overflow"),
        )
    }
    yield "", "ns-2", "varicap"
    yield "datagrams dropped", "", str(counted["cbr", "overflow"])
    yield "datagrams delivered", "", str(counted["cbr", "delivery"])
    yield "TCP packets sent", "", str(counted["ftp", "arrival"])
    yield "TCP packets dropped", "", str(counted["ftp", "overflow"])


FIVE = ("abr", "minrate", "lrl", "ratcp", "wireless")
"""The papers that varicap grew out of."""


def conclusions() -> Rows:
    """What the five papers conclude, and whether it stands, from what their last runs put on record."""
    yield "paper", "conclusion", "", "why"
    for key in FIVE:
        for kind, one in _concluded(key):
            yield f"[{key}]", one["says"], f"*{one['verdict']}*{kind}", one["why"].replace("|", "/")


def records() -> Rows:
    """Conclusions, statements and claims of each paper that has a record of a quick run."""
    yield "paper", "conclusions: stand, fall, depend, open", "statements: at all points, some, none, open", "claims"
    for key in sorted(papers.keys()):
        kept = record.read(key, quick=True)
        if kept is None:
            yield f"[{key}]", "", "", ""
            continue
        drawn = [one["verdict"] for one in kept.conclusions.values()]
        of_conclusions = ", ".join(str(drawn.count(one)) for one in ("stands", "falls", "depends", "open"))
        of_statements = ", ".join(str(kept.statements[one]) for one in ("all", "some", "none", "open"))
        of_claims = ", ".join(f"{count} {verdict}" for verdict, count in kept.counts.items())
        yield f"[{key}]", of_conclusions if drawn else "", of_statements, of_claims


def _concluded(key: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The conclusions of a paper by its full run, or by its quick one, which is said."""
    full, quick = (record.read(key, quick=kind) for kind in (False, True))
    if quick is None:
        sys.exit(f"{key} has no record: varicap reproduce {key} --quick --record")
    for name, one in quick.conclusions.items():
        if full is not None and name in full.conclusions:
            yield "", full.conclusions[name]
        else:
            yield " (quick run)", one


ALL = (
    phase,
    loss,
    explicit,
    queues,
    engines,
    fading,
    generators,
    generated,
    bbr_cubic,
    mininet,
    rebbr,
    ns2_cbr,
    conclusions,
    records,
)
TABLES: dict[str, Callable[[], Rows]] = {table.__name__: table for table in ALL}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in TABLES:
        sys.exit(__doc__)
    for number, cells in enumerate(TABLES[sys.argv[1]]()):
        print(f"| {' | '.join(cells)} |".replace("|  ", "| "))
        if number == 0:
            print("|" + "---|" * len(cells))
