"""Traces: made, described, converted, and refused with the reason."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLES, ROOT, Cli
from hypothesis import given, settings
from hypothesis import strategies as st

import varicap
from varicap import traces
from varicap.traces import Cells, Cellular, Delays, Losses, Opportunities, Rates, Satellite, TraceError
from varicap.traces.trace import OPPORTUNITY_BITS

pytestmark = pytest.mark.slow

REAL = ROOT.parent / "shared" / "traces"


def test_the_traces_of_the_examples_are_what_their_note_says(cli: Cli, tmp_path: Path) -> None:
    note = (EXAMPLES / "traces/lte-like.txt").read_text(encoding="utf-8")
    commands = [line.strip() for line in note.splitlines() if line.strip().startswith("varicap trace")]
    assert len(commands) == 3
    for command in commands:
        done = cli(*shlex.split(command)[1:])
        assert done.returncode == 0, done.stderr
    for file in ("lte-like.down", "lte-like.up", "lte-like.trains"):
        assert (tmp_path / file).read_bytes() == (EXAMPLES / "traces" / file).read_bytes()


def test_a_trace_obeys_the_format() -> None:
    times = traces.generate_lte(seed=5, duration_s=20.5).time_ms
    assert times[0] >= 1
    assert times[-1] == 20_500
    assert (np.diff(times) >= 0).all()


def test_without_variation_the_mean_is_the_median_rate() -> None:
    link = Cellular(median_bps=6e6, slow_sigma=0, fast_sigma=0, outages_per_min=0)
    rate = traces.mean_rate_bps(traces.generate_lte(7, 1000, link))
    # 500 000 opportunities of a Poisson process: four standard deviations of its count.
    assert rate == pytest.approx(6e6, rel=4 / np.sqrt(500_000))


def test_capacity_stays_below_the_peak() -> None:
    link = Cellular(median_bps=6e6, peak_bps=8e6, slow_sigma=2)
    per_second = np.bincount(traces.generate_lte(3, 300, link).time_ms // 1000) * OPPORTUNITY_BITS
    # The peak limits the intensity; five standard deviations of a second's count of 667.
    assert per_second.max() < 8e6 * (1 + 5 / np.sqrt(667))


def test_outages_take_their_share_of_the_time() -> None:
    link = Cellular(slow_sigma=0, fast_sigma=0, outages_per_min=6, outage_s=2)
    rate = traces.mean_rate_bps(traces.generate_lte(4, 20_000, link))
    share = 10 / 12
    # About 1700 cycles; the covered share of a cycle varies by less than itself.
    assert rate == pytest.approx(link.median_bps * share, rel=4 / np.sqrt(1700))


Make = Callable[[int], traces.Trace]
RANDOM: dict[str, Make] = {
    "lte": lambda seed: traces.generate_lte(seed, 30),
    "lte rates": lambda seed: traces.generate_lte_rates(seed, 30),
    "markov": lambda seed: traces.generate_markov([8e6, 2e6, 0.0], [1.0, 2.0, 0.5], 30, seed),
    "leo": lambda seed: traces.generate_leo(seed, 30),
    "handover": lambda seed: traces.generate_handover(seed, 30),
}


@pytest.mark.parametrize("name", RANDOM)
def test_a_seed_names_a_trace_and_another_seed_another_one(name: str) -> None:
    def values(seed: int) -> list[float]:
        made = RANDOM[name](seed)
        return [*(made.time_ms if isinstance(made, Opportunities) else made.rate_bps)]

    assert values(1) == values(1)
    assert values(1) != values(2)


def test_a_markov_chain_spends_its_time_in_proportion_to_its_holding_times() -> None:
    made = traces.generate_markov([9e6, 3e6, 0.0], [1.0, 2.0, 3.0], 30_000, seed=2)
    lengths = np.diff(made.edges_s)
    for rate, share in ((9e6, 1 / 6), (3e6, 2 / 6), (0.0, 3 / 6)):
        # 15 000 stays; a stay varies as much as it lasts.
        assert lengths[made.rate_bps == rate].sum() / 30_000 == pytest.approx(share, rel=4 / np.sqrt(5_000))
    assert (np.diff(made.rate_bps) != 0).all()


def test_a_markov_chain_begins_where_it_would_be_found() -> None:
    begins = [traces.generate_markov([9e6, 3e6], [1.0, 3.0], 0.01, seed).rate_bps[0] for seed in range(1000)]
    assert np.mean(np.array(begins) == 3e6) == pytest.approx(3 / 4, abs=4 * np.sqrt(3 / 16 / 1000))


def test_satellites_change_capacity_and_delay_every_interval_and_only_then() -> None:
    link = Satellite(fast_sigma=0, delay_jitter_s=0, outage_s=0, offset_s=12)
    made = traces.generate_leo(3, 60, link)
    (changes,) = np.nonzero(np.diff(made.rate_bps))
    assert made.time_s[changes + 1].tolist() == pytest.approx([12, 27, 42, 57])
    assert made.delay is not None
    assert set(np.nonzero(np.diff(made.delay.delay_ms))[0]) == set(changes)
    assert made.delay.delay_ms.min() >= 20
    assert made.delay.delay_ms.max() <= 35
    cut = traces.generate_leo(3, 60_000, Satellite(fast_sigma=0, level_sigma=0, outage_s=0.2))
    # An exponential time, in steps of 10 ms that round it, at each of 4 000 reconfigurations.
    assert traces.mean_rate_bps(cut) == pytest.approx(100e6 * (1 - 0.2 / 15), rel=4 * 0.2 / 15 / np.sqrt(4_000))


def test_on_the_way_through_cells_capacity_lies_between_edge_and_middle() -> None:
    link = Cells(fast_sigma=0, gap_s=0, crossing_spread=0, crossing_s=10)
    made = traces.generate_handover(5, 200, link)
    assert made.rate_bps.min() == pytest.approx(4e6, rel=0.01)
    assert made.rate_bps.max() == pytest.approx(40e6, rel=0.01)
    # The same in every cell.
    assert made.rate_bps[1000:2000] == pytest.approx(made.rate_bps[2000:3000], rel=1e-6)
    gaps = traces.info(traces.generate_handover(5, 20_000, Cells(gap_s=1.0)), outage_s=0.0).outages
    assert gaps.count == pytest.approx(1000, rel=0.05)
    assert gaps.total_s / gaps.count == pytest.approx(1.0, rel=4 / np.sqrt(1000))


times_ms = st.lists(st.integers(0, 400), min_size=1, max_size=200).map(sorted).filter(lambda times: times[-1] > 0)


@given(times_ms)
def test_opportunities_come_back_from_rates_of_a_millisecond(times: list[int]) -> None:
    made = Opportunities(np.array(times))
    again = traces.to_opportunities(traces.to_rates(made, 0.001))
    assert again.time_ms.tolist() == made.ordered_ms.tolist()


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.002, 2.0), st.sampled_from([0.0, 1e6, 7.3e6, 5e7])), min_size=1, max_size=20),
)
def test_conversion_keeps_the_work_at_all_times(pieces: list[tuple[float, float]]) -> None:
    lengths, rates = (np.array(column) for column in zip(*pieces, strict=True))
    ends = np.cumsum(lengths)
    made = Rates(np.append(0.0, ends[:-1]), rates, float(np.ceil(ends[-1] * 1000)) / 1000)
    total = made.bits_until(made.edges_s)[-1]
    spread = traces.to_opportunities(made)
    at = np.linspace(0, made.duration_s, 50)
    # An opportunity is the end of 1500 bytes, rounded up to a millisecond; half of one is rounded away, or one added.
    ahead = made.bits_until(at) - spread.bits_until(at)
    rounded = abs(total - len(spread.time_ms) * OPPORTUNITY_BITS)
    assert ahead.min() >= -rounded - 1
    late = made.bits_until(at) - made.bits_until(np.maximum(at - 0.001, 0))
    if made.rate_bps[-1] > 0:
        assert (ahead <= OPPORTUNITY_BITS + late + rounded + 1).all()


@pytest.mark.parametrize("with_delay", [False, True])
def test_rates_come_back_from_a_file(tmp_path: Path, with_delay: bool) -> None:
    delay = Delays(np.array([0.0, 0.35]), np.array([20.0, 31.5]), 0.7) if with_delay else None
    made = Rates(np.array([0.0, 0.5, 0.75]), np.array([12e6, 0.0, 3.25e6]), 1.75, delay)
    (file,) = traces.save(made, tmp_path / "a.csv", note=["how it was made"])
    assert file.read_text().startswith("# how it was made\ntime_s,rate_mbps")
    again = traces.load(file)
    assert isinstance(again, Rates)
    assert again.duration_s == pytest.approx(1.75)
    at = np.linspace(0, 1.749, 200)
    assert again.bits_until(at) == pytest.approx(made.bits_until(at), abs=1)
    if delay is not None:
        assert again.delay is not None
        assert again.delay.at(at).tolist() == delay.at(at).tolist()


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.csv", "time_s,mbps,delay_ms\n0,1,5\n1,2,7\n"), ("bw_1.txt", "1\n2\n"), ("a.csv", "# x\n1,2\n")],
)
def test_a_byte_order_mark_is_no_part_of_a_trace(tmp_path: Path, name: str, text: str) -> None:
    """Some editors put one before UTF-8: before a header, a number or a comment."""
    read: list[object] = []
    for mark in ("", "\ufeff"):
        (tmp_path / name).write_text(mark + text, encoding="utf-8")
        (tmp_path / "delay_1.txt").write_text(mark + "30\n40\n", encoding="utf-8")
        try:
            trace = traces.load(tmp_path / name)
        except TraceError as refused:
            read.append(str(refused))
        else:
            assert trace.delay is not None
            read.append((trace.duration_s, trace.delay.delay_ms.tolist(), trace.bits_until(np.array([0.5])).tolist()))
    assert read[0] == read[1]


def test_a_pair_of_leoreplayer_comes_back_from_its_files(tmp_path: Path) -> None:
    made = traces.generate_leo(1, 20)
    files = traces.save(made, tmp_path / "bw_7.txt")
    assert [path.name for path in files] == ["bw_7.txt", "delay_7.txt", "loss_7.csv"]
    lines = files[1].read_text().splitlines()
    assert len(lines) == 2000  # one for each 10 ms
    assert made.delay is not None
    assert [int(line) for line in lines] == np.rint(made.delay.delay_ms).tolist()
    for source in (files[0], tmp_path):
        again = traces.load(source)
        assert again.delay is not None
        assert again.delay.delay_ms.tolist() == np.rint(made.delay.delay_ms).tolist()
        assert traces.mean_rate_bps(again) == pytest.approx(traces.mean_rate_bps(made), rel=1e-3)
    # Through a CSV, whose rates hold for a millisecond, nothing is lost.
    traces.convert(files[0], tmp_path / "through.csv", step_s=0.001)
    traces.convert(tmp_path / "through.csv", tmp_path / "bw_8.txt")
    assert (tmp_path / "bw_8.txt").read_bytes() == files[0].read_bytes()
    assert (tmp_path / "delay_8.txt").read_bytes() == files[1].read_bytes()


@pytest.mark.skipif(not REAL.is_dir(), reason="no recorded traces beside the project")
@pytest.mark.parametrize(
    ("file", "duration_s", "mean_mbps"),
    [
        ("ATT-LTE-driving-2016.down", 120, 4.56),
        ("ATT-LTE-driving-2016.up", 120, 1.91),
        ("Verizon-LTE-short.down", 140, 5.03),
        ("Verizon-LTE-short.up", 140, 5.95),
        ("TMobile-LTE-short.down", 140, 16.7),
        ("Verizon-EVDO-driving.down", 1062, 0.52),
    ],
)
def test_recorded_traces_are_what_their_source_says(
    tmp_path: Path, file: str, duration_s: float, mean_mbps: float
) -> None:
    recorded = traces.load(REAL / file)
    found = traces.info(recorded)
    assert found.duration_s == pytest.approx(duration_s, abs=0.5)
    assert found.mean_bps / 1e6 == pytest.approx(mean_mbps, abs=0.05 if mean_mbps > 10 else 0.005)
    assert isinstance(recorded, Opportunities)
    (csv,) = traces.convert(REAL / file, tmp_path / "rates.csv", step_s=0.001)
    (back,) = traces.convert(csv, tmp_path / "again.down")
    again = traces.load(back)
    assert isinstance(again, Opportunities)
    assert again.time_ms.tolist() == recorded.ordered_ms.tolist()


def test_a_scenario_sees_the_same_capacity_in_either_format(tmp_path: Path) -> None:
    (down,) = traces.save(traces.generate_leo(2, 20, Satellite(median_bps=10e6)), tmp_path / "a.down")
    (csv,) = traces.convert(down, tmp_path / "a.csv")
    kinds = {"opportunities": down, "trace": csv}
    scenario = {
        "duration": "20 s",
        "topology": {"dumbbell": {"forward": {"capacity": "1 Mbit/s", "delay": "10 ms"}}},
        "flows": {"a": {}},
    }
    key = "topology.dumbbell.forward.capacity"
    found = [
        varicap.run(scenario, seeds=1, overrides={key: f"{{ {kind} = {{ file = '{file}' }} }}"}).links.to_pylist()[0]
        for kind, file in kinds.items()
    ]
    mean = traces.mean_rate_bps(traces.load(down))
    for link in found:
        assert link["capacity_bps"] == pytest.approx(mean, rel=1e-3)


def test_numbers_of_a_trace_that_is_known() -> None:
    made = traces.generate_steps([8e6, 4e6, 0.0], [2.0, 1.0, 1.0], 40.0)
    found = traces.info(made)
    assert found.mean_bps == 5e6
    assert found.quantiles_bps["p0"] == 0
    assert found.quantiles_bps["p50"] == pytest.approx(6e6, abs=2e6)
    assert found.quantiles_bps["p100"] == 8e6
    assert (found.outages.count, found.outages.total_s, found.outages.longest_s) == (10, 10.0, 1.0)
    # Variance (9 * 2 + 1 + 25) / 4 = 11 in (Mb/s)^2; means over 10 s are 5.6 and 4.4 Mb/s in turn.
    assert found.variation["0.1"] == pytest.approx(np.sqrt(11) / 5)
    assert found.variation["1"] == pytest.approx(np.sqrt(11) / 5)
    assert found.variation["10"] == pytest.approx(0.12)
    # Lag 1 s: (2 * (3 * 3 + 3 * -1 + -1 * -5 + -5 * 3)) is negative, and it falls on a line.
    assert found.correlation_s is not None
    assert 0.5 < found.correlation_s < 1.0


def test_an_outage_goes_on_around_the_end() -> None:
    made = Rates(np.array([0.0, 1.0, 3.0]), np.array([0.0, 1e6, 0.0]), 4.5)
    assert traces.info(made).outages.longest_s == pytest.approx(2.5)
    assert traces.info(made).outages.count == 1
    gap = Opportunities(np.array([500, 600, 1000]))
    # From 1000 around to 500, and from 600 to 1000.
    assert traces.info(gap, outage_s=0.3).outages.count == 2
    assert traces.info(gap, outage_s=0.3).outages.longest_s == pytest.approx(0.5)
    assert traces.info(Rates(np.zeros(1), np.zeros(1), 3.0)).outages.longest_s == 3.0


def test_a_constant_rate_has_no_correlation_time() -> None:
    found = traces.info(traces.generate_constant(12e6, 10.0))
    assert found.correlation_s is None
    assert set(found.variation.values()) == {0.0}
    assert traces.info(traces.to_opportunities(traces.generate_constant(12e6, 10.0))).variation["0.01"] == 0.0


def test_the_correlation_time_of_a_random_path_is_its_own() -> None:
    link = Cellular(fast_sigma=0, outages_per_min=0, slow_sigma=0.1, slow_time_s=2.0, peak_bps=1e9)
    found = traces.info(traces.generate_lte_rates(3, 20_000, link))
    # Of exp(small Gaussian) the correlation is nearly exp(-t / 2 s); 10 000 correlation times.
    assert found.correlation_s == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.down", "1\n2\nx3\n", "a.down, line 3: found `x3`, expected one whole number of milliseconds"),
        ("a.down", "5\n4\n", "a.down, line 2: found `4`, expected no less than on the line before"),
        ("a.down", "", "a.down: has no rows"),
        ("a.csv", "time_s,speed\n0,1\n", "a.csv: no column is known for a rate: `--columns time=0:s,rate=1:Mbit/s`"),
        ("a.csv", "time_s,rate_mbps\n0,1\n1,-2\n", "a.csv, line 3: found `-2`, expected a rate"),
        ("a.csv", "time_s,rate_mbps\n", "a.csv: has no rows"),
        ("a.txt", "time_s,speed\n", "a.txt: has no rows, expected a header such as `time_s,rate_mbps`"),
        ("bw_1.txt", "0\n1\n", "delay_1.txt, line 2: found `-3`, expected a delay, from 0 to 1000 s"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(cli: Cli, tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "delay_1.txt").write_text("20\n-3\n")
    with pytest.raises(TraceError) as refused:
        traces.load(tmp_path / name)
    assert says in str(refused.value)
    done = cli("trace", "info", name)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("info none.down", "none.down: there is no such file"),
        ("info /dev/null", "not a file"),
        ("info .", "no bw_N.txt"),
        ("info a.down --step 0", "unit"),
        ("info a.down --step '0 s'", "longer than 0 s"),
        ("info a.down --step '1 ns'", "too short"),
        ("convert a.down b.xyz --to netem", "no format `netem`"),
        ("convert a.down bw_1.txt", "wants delays, and this trace has none; `varicap trace convert --delay`"),
        ("convert a.down b.txt --to leoreplayer --delay '20 ms'", "called bw_N.txt"),
        ("convert zero.csv b.down --delay fast", "fast"),
        ("convert a.down", "the new file is missing: -o FILE"),
        ("convert a.down b.csv -o c.csv", "given twice: b.csv and -o c.csv"),
        ("convert a.down -o a.down/b.csv", "is not a folder"),
        ("info a.down -o .", "is a folder, not a file"),
        ("plot a.down -o a.docx", "does not end in"),
        ("generate constant -o a.down", "--rate"),
        ("generate constant --rate 5 -o b.down", "unit"),
        ("generate constant --rate unlimited -o b.down", "finite"),
        ("generate constant --rate '1 Mbit/s' --duration '0 s' -o b.down", "at least 1 ms"),
        ("generate constant --rate '1000 Gbit/s' --duration '1 h' -o b.down", "opportunities are more than"),
        ("generate step --rates '1 Mbit/s,2 Mbit/s,3 Mbit/s' --hold '1 s,2 s' -o b.csv", "2 times for 3 rates"),
        ("generate step --rates '1 Mbit/s,2 Mbit/s' --hold '0 s' -o b.csv", "above 0 s"),
        ("generate markov --rates '1 Mbit/s,x' --hold '1 s' -o b.csv", "x"),
        ("generate lte --slow-time '0 s' -o b.csv", "slow_time_s is 0, expected above 0"),
        ("generate lte --slow-sigma many -o b.csv", "many"),
        ("generate handover --crossing-spread 1.5 -o b.csv", "share from 0 to 1"),
        ("generate leo --duration '100 years' -o b.csv", "100 years"),
        ("generate leo --interval '1 ns' -o b.csv", "more than 50000000 values"),
        ("generate lte --outage '0 s' --outages-per-min 1e12 -o b.csv", "more than 50000000 values"),
        ("generate handover --fast-sigma 1e9 -o b.csv", "fast_sigma is 1e+09, expected at most 3"),
        ("generate handover --crossing '1 ns' -o b.csv", "more than 50000000 values"),
        ("generate leo --duration '1000000 h' -o b.csv", "more than 50000000 values"),
        ("generate lte --seed -1 -o b.csv", "greater than or equal to 0"),
    ],
)
def test_a_mistake_is_told(cli: Cli, tmp_path: Path, arguments: str, says: str) -> None:
    (tmp_path / "a.down").write_text("100\n200\n")
    (tmp_path / "zero.csv").write_text("time_s,bps\n0,0\n1,0\n")
    done = cli("trace", *shlex.split(arguments))
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert says in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "b.csv").exists()


def test_from_the_command_line(cli: Cli, tmp_path: Path) -> None:
    done = cli("trace", "generate", "leo", "--median", "20 Mbit/s", "--duration", "30 s", "-o", "bw_1.txt")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert 'capacity = { opportunities = { file = "bw_1.txt" } }' in done.stderr
    made = json.loads(cli("trace", "convert", "bw_1.txt", "leo.csv", "--step", "50 ms", "--json").stdout)
    assert made["files"] == ["leo.csv"]
    assert made["capacity"] == {"trace": {"file": "leo.csv"}}
    assert (tmp_path / "leo.csv").read_text().startswith("time_s,rate_mbps,delay_ms,loss\n")
    found = json.loads(cli("trace", "info", "bw_1.txt", "leo.csv", "--json").stdout)
    assert [each["kind"] for each in found] == ["opportunities", "rates"]
    assert found[0]["mean_bps"] == pytest.approx(found[1]["mean_bps"], rel=1e-4)
    assert found[0]["delay_ms"] == pytest.approx(found[1]["delay_ms"])
    table = cli("trace", "info", "bw_1.txt", "leo.csv").stdout
    assert "median [Mb/s]" in table
    assert "greatest delay [ms]" in table
    for ending, begin in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        drawn = cli("trace", "plot", "bw_1.txt", "leo.csv", "-o", f"both.{ending}")
        assert drawn.returncode == 0, drawn.stderr
        assert (tmp_path / f"both.{ending}").read_bytes().startswith(begin)


def test_options_of_the_command_line_default_to_those_of_python(cli: Cli, tmp_path: Path) -> None:
    for name, made in (("leo", traces.generate_leo(1, 60)), ("handover", traces.generate_handover(1, 60))):
        assert cli("trace", "generate", name, "-o", f"{name}.csv", "-q").returncode == 0
        (expected,) = traces.save(made, tmp_path / f"expected-{name}.csv", note=["x"])
        lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        assert lines[1:] == expected.read_text().splitlines()[1:]
        assert lines[0].endswith(f"varicap trace generate {name} --duration '60 s' --seed 1")


def test_help_does_not_wait_for_numpy() -> None:
    code = "import sys, varicap.cli; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_command_takes_its_file_by_the_same_option(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.down").write_text("100\n200\n")
    for arguments in (
        ["convert", "a.down", "-o", "one.csv"],
        ["convert", "a.down", "two.csv"],
        ["plot", "a.down", "-o", "a.svg"],
        ["generate", "constant", "--rate", "1 Mbit/s", "-o", "c.csv"],
    ):
        done = cli("trace", *arguments)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    shown = cli("trace", "info", "a.down", "--json", "-o", "info.json").stdout
    assert json.loads((tmp_path / "info.json").read_text()) == json.loads(shown)


@pytest.mark.parametrize("name", ["leo.csv", "bw_1.txt"])
@pytest.mark.parametrize("kind", ["leo", "handover"])
def test_a_generated_trace_gives_a_link_its_losses_as_well(cli: Cli, tmp_path: Path, kind: str, name: str) -> None:
    often = ["--interval", "4 s"] if kind == "leo" else ["--crossing", "4 s"]
    burst = ["--burst", "300 ms", "--burst-loss", "1", "--outage" if kind == "leo" else "--gap", "100 ms"]
    done = cli("trace", "generate", kind, "--duration", "20 s", *often, *burst, "-o", name, "--json")
    made = json.loads(done.stdout)
    link = {
        "delay": "0 s",
        "queue": {"drop-tail": {"limit": "unlimited"}},
        "loss": {"trace": {"file": str(tmp_path / made["loss"]["trace"]["file"])}},
    }
    scenario = {
        "duration": "20 s",
        "topology": {"dumbbell": {"forward": {"capacity": "1 Gbit/s", **link}, "reverse": {"delay": "0 s"}}},
        "flows": {"a": {"datagrams": {"rate": "1 Mb/s", "size": "125 B"}}},
    }
    series = varicap.run(scenario, seeds=1, series=True, overrides={"record.sample": "10 ms"}).link_series
    lost = [row["dropped_packets"] for row in series.to_pylist() if row["link"] == "forward"]
    losses = traces.load(tmp_path / name).loss
    assert losses is not None
    found = traces.info(traces.load(tmp_path / name)).loss
    assert found is not None
    assert 0.02 < found["mean"] < 0.3
    # Ten packets in each 10 ms, all or none.
    expected = losses.at(np.arange(len(lost), dtype=np.float64) * 0.01 + 0.005) > 0
    assert 0 < expected.sum() < len(lost) / 2
    within = slice(1, -1)  # a packet that leaves at a border belongs to either side
    settled = [place for place in range(len(lost))[within] if len(set(expected[place - 1 : place + 2].tolist())) == 1]
    assert [lost[place] == 10 for place in settled] == expected[settled].tolist()


def test_losses_follow_the_outage_and_leave_the_rest_of_a_seed_as_it_was() -> None:
    link = Satellite(burst_s=0.2, outage_s=0.1)
    made = traces.generate_leo(3, 600, link)
    plain = traces.generate_leo(3, 600, Satellite(burst_s=0.0, outage_s=0.1))
    assert made.loss is not None
    assert plain.loss is not None
    assert plain.loss.loss.max() == 0
    assert made.rate_bps.tolist() == plain.rate_bps.tolist()
    assert made.delay is not None
    assert plain.delay is not None
    assert made.delay.delay_ms.tolist() == plain.delay.delay_ms.tolist()
    assert (made.rate_bps[made.loss.loss > 0] > 0).all(), "nothing is lost while nothing is sent"
    (begins,) = np.nonzero(np.diff(made.loss.loss, prepend=0.0) > 0)
    since = made.time_s[begins] % 15
    silent = made.rate_bps[begins - 1] == 0
    assert (silent | (since < 0.01)).all(), "each burst follows an outage, or a reconfiguration without one"
    long = traces.generate_leo(3, 60_000, link)
    assert long.loss is not None
    # An exponential time at each of 4 000 reconfigurations.
    assert long.loss.loss.mean() * 15 == pytest.approx(0.2, rel=4 / np.sqrt(4_000))


def test_losses_come_back_from_a_file_and_are_refused_with_their_line(tmp_path: Path) -> None:
    loss = Losses(np.array([0.0, 0.4, 0.45]), np.array([0.0, 1.0, 0.125]), 0.7)
    made = Rates(np.array([0.0, 0.5]), np.array([12e6, 1e6]), 1.4, Delays(np.zeros(1), np.array([20.0]), 1.4), loss)
    at = np.linspace(0.001, 1.399, 500)
    for name in ("a.csv", "bw_2.txt"):
        traces.save(made, tmp_path / name)
        again = traces.load(tmp_path / name).loss
        assert again is not None
        assert again.at(at).tolist() == loss.at(at).tolist()
    (tmp_path / "b.csv").write_text("time_s,mbps,loss\n0,1,0\n1,1,1.5\n", encoding="utf-8")
    # Nobody asked for them: the rates are read, and it is said.
    rates = traces.load(tmp_path / "b.csv")
    assert rates.loss is None
    assert rates.understood is not None
    assert "line 3: found `1.5`, expected a probability of loss" in rates.understood.sentence
    with pytest.raises(traces.TraceError, match=r"b\.csv, line 3: found `1\.5`, expected a probability of loss"):
        traces.load(tmp_path / "b.csv", strict=True)
    with pytest.raises(traces.TraceError, match="burst_loss is 2, expected at most 1"):
        traces.generate_leo(1, 20, Satellite(burst_loss=2))


@pytest.mark.parametrize("name", ["leo.csv", "bw_1.txt"])
def test_a_generated_trace_gives_a_link_its_delay_as_well(cli: Cli, tmp_path: Path, name: str) -> None:
    done = cli("trace", "generate", "leo", "--duration", "20 s", "--interval", "4 s", "-o", name, "--json")
    made = json.loads(done.stdout)
    link = {
        key: {law: {"file": str(tmp_path / each["file"])} for law, each in made[key].items()}
        for key in ("capacity", "delay")
    }
    scenario = {
        "duration": "20 s",
        "topology": {"dumbbell": {"forward": link, "reverse": {"delay": "0 s"}}},
        "flows": {"a": {"datagrams": {"rate": "100 kb/s"}}},
    }
    series = varicap.run(scenario, seeds=1, series=True).link_series
    rows = [row for row in series.to_pylist() if row["link"] == "forward"]
    delays = traces.load(tmp_path / name).delay
    assert delays is not None
    # In a file's decimals: milliseconds, or thousandths of one.
    expected = delays.at(np.array([row["time_s"] for row in rows]) + 1e-6)
    assert [row["delay_s"] * 1000 for row in rows] == pytest.approx(expected, abs=1e-6)
    assert len(set(expected.tolist())) > 5


def test_a_trace_without_delays_names_none(cli: Cli) -> None:
    done = cli("trace", "generate", "constant", "--rate", "1 Mbit/s", "-o", "c.csv", "--json")
    assert json.loads(done.stdout)["delay"] is None
    assert "delay" not in cli("trace", "generate", "leo", "--duration", "20 s", "-o", "a.down").stdout


@pytest.mark.parametrize(("column", "scale"), [("delay_ms", 1.0), ("delay_us", 1e3), ("delay_s", 1e-3)])
def test_a_column_of_delays_may_have_any_of_its_units(tmp_path: Path, column: str, scale: float) -> None:
    rows = "".join(f"{time_s},5,{delay_ms * scale}\n" for time_s, delay_ms in ((0, 20), (1, 30), (2, 30)))
    (tmp_path / "path.csv").write_text(f"time_s,rate_mbps,{column}\n{rows}")
    delay = traces.load(tmp_path / "path.csv").delay
    assert delay is not None
    assert delay.delay_ms.tolist() == pytest.approx([20, 30, 30])


def test_trains_are_the_heavy_opportunities_at_a_share_of_their_rate() -> None:
    heavy = Opportunities(np.array([3, 3, 50, 120, 121, 200]))
    lines = traces.light_trains(heavy, share=0.5, packets=4).splitlines()
    # The first is sent at once; later ones take twice as long as on the saturated link, round after round.
    assert lines == ["0 0 0 6 6 100", "100 0 0 40 42 200", "200 0 0 6 6 100"]
    delayed = traces.with_delay(heavy, Delays(np.array([0.0, 0.1]), np.array([20.0, 31.4]), 0.2))
    assert [line.split()[1] for line in traces.light_trains(delayed, packets=1).splitlines()] == ["20", "31", "20"]
    assert traces.light_trains(heavy, share=1.0, packets=9).splitlines()[1] == "100 0 0 20 21 100 103 103 150 220 221"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"share": 0.0}, "the share of the rate is 0.01 to 1, not 0.0"),
        ({"packets": 0}, "a train has 1 to 10000 packets, not 0"),
        ({"every_s": 1.0}, "trains come every 1 ms to 0.2 s, the length of the trace, not every 1.0 s"),
    ],
)
def test_what_makes_no_trains_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TraceError, match=words):
        traces.light_trains(Opportunities(np.array([3, 200])), **options)


def test_a_link_takes_the_trains_that_the_command_writes(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.down").write_text("".join(f"{at}\n" for at in range(10, 1010, 10)), encoding="ascii")
    made = json.loads(cli("trace", "trains", "a.down", "--share", "20 %", "-o", "a.trains", "--json").stdout)
    assert (made["trains"], made["packets"]) == (10, 25)
    assert (
        "wrote a.trains: 10 trains of 3 packets"
        in cli(*("trace", "trains", "a.down", "--packets", "3", "-o", "a.trains")).stderr
    )
    assert cli("trace", "trains", "a.down", "--share", "much", "-o", "b.trains").returncode == 2

    # A SYN, and an answer later three packets: 560, 570 and 580 ms, or by trains 543, 593 and 643 ms.
    heavy, light = {"file": str(tmp_path / "a.down")}, {"file": str(tmp_path / "a.trains")}
    (tmp_path / "a.trains").write_text("0 20 0 50 100\n1000 20 0 50 100\n", encoding="ascii")
    times = []
    for capacity in (heavy, {**heavy, "light": light}):
        tcp = {"mss": "1448 B", "initial_window": "3 packets", "handshake_ack": False}
        flow = {"app": {"transfer": {"size": "4344 B"}}, "tcp": tcp}
        scenario = {
            "duration": "3 s",
            "topology": {"dumbbell": {"forward": {"capacity": {"opportunities": capacity}, "delay": "20 ms"}}},
            "flows": {"a": {**flow, "start": "503 ms"}},
        }
        done = varicap.run(scenario, seeds=1)
        times.append(done.flows["fct_mean_ms"].to_pylist()[0])
    assert times[1] - times[0] == pytest.approx(643 - 580, abs=1e-6)
