"""The table over simulated time: segments compared, what is kept of them, two kernels, and a real run.

Most tests put the simulator in the kernel's place, which is then another kernel for each name.
"""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import Cli

import varicap
from varicap import kernels
from varicap.engines import kernel as linux
from varicap.engines import sim
from varicap.validate import bench, measure, paths, segments, simulated, table
from varicap.validate.store import FILE
from varicap.validate.table import state_of

Alter = Callable[[pa.Table], pa.Table]


def made(name: str, release: str = "6.12.117") -> kernels.Kernel:
    controls = ["reno", "cubic", "bbr"]
    return kernels.Kernel(name, release, f"digest of {name}", "a test", "today", controls, [], folder=Path(name))


class Guests:
    """The simulator as the kernels of these names, each with its packets as it alters them."""

    def __init__(self, **alter: Alter) -> None:
        self.alter = alter
        self.runs: list[tuple[str, int]] = []

    def find(self, name: str | None = None) -> kernels.Kernel:
        return made(name or next(iter(self.alter)))

    def run(self, scenario: Any, *, seed: int, kernel_name: str, packets: bool, **said: Any) -> SimpleNamespace:
        assert (said["clock"], said["kernel"], said["seeds"]) == ("simulated", "stock", 1)
        self.runs.append((kernel_name, seed))
        found = sim.run(scenario, seeds=1, seed=seed, jobs=1, packets=packets, progress=lambda *_: None)
        logged = self.alter[kernel_name](found.packets) if packets else None
        return SimpleNamespace(summary=found.summary, packets=logged)


@pytest.fixture
def guests(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Guests]:
    def put(**alter: Alter) -> Guests:
        pretended = Guests(**alter)
        monkeypatch.setattr(linux, "run", pretended.run)
        monkeypatch.setattr(kernels, "find", pretended.find)
        monkeypatch.setattr("varicap.kernels.store.installed", lambda: [pretended.find()])
        return pretended

    return put


def as_it_is(packets: pa.Table) -> pa.Table:
    return packets


def later(by_ns: int, since_s: float = 0.0) -> Alter:
    """All packets from an instant on are later."""

    def alter(packets: pa.Table) -> pa.Table:
        times = packets["time_ns"].to_numpy()
        moved = np.where(times >= since_s * 1e9, times + np.uint64(by_ns), times)
        return packets.set_column(packets.schema.get_field_index("time_ns"), "time_ns", pa.array(moved))

    return alter


def without_sack(packets: pa.Table) -> pa.Table:
    """Its receivers report nothing."""
    none = pa.array(np.zeros(packets.num_rows, np.uint32))
    return packets.set_column(packets.schema.get_field_index("sack_blocks"), "sack_blocks", none)


def packets_of(seed: int = 1, path: str = "slow") -> pa.Table:
    case = next(case for case in paths.cases([path], quick=True) if case.control == "reno")
    return sim.run(case.load(Path()), seeds=1, seed=seed, packets=True, progress=lambda *_: None).packets


def test_equal_logs_are_identical_and_have_one_digest() -> None:
    one, other = (segments.log_of(packets_of()) for _ in range(2))
    compared = segments.compare(one, other)
    assert compared.is_identical
    assert compared.largest_ns == 0
    assert compared.packets == np.count_nonzero(one.columns["event"] == one.names["event"].index("arrival"))
    assert one.digest == other.digest
    assert segments.log_of(later(1)(packets_of())).digest != one.digest


def test_instants_may_be_apart_by_what_the_clock_of_tcp_counts() -> None:
    log = segments.log_of(packets_of())
    bound = segments.Bound.of(log)
    assert bound.round_trip_ns == pytest.approx(2 * 50e6, rel=0.01)
    assert bound.at(np.array([0, bound.round_trip_ns, 10 * bound.round_trip_ns])).tolist() == [1000, 3000, 21_000]

    def moved(by_ns: int, since_s: float) -> segments.Compared:
        return segments.compare(log, segments.log_of(later(by_ns, since_s)(packets_of())))

    assert moved(1000, 0.0).is_identical
    assert moved(1001, 0.0).at_ns == 0
    assert moved(15_000, 1.0).is_identical
    assert moved(15_000, 1.0).largest_ns == 15_000
    beyond = moved(30_000, 1.0)
    assert beyond.at_ns is not None
    assert 1_000_000_000 <= beyond.at_ns < 1_100_000_000
    assert beyond.events[0] is not None
    assert beyond.events[1] is not None
    assert beyond.events[1]["time_ns"] - beyond.events[0]["time_ns"] == 30_000
    assert len(beyond.before[0]) == segments.CONTEXT


def test_a_segment_that_one_log_lacks_is_the_first_difference() -> None:
    packets = packets_of()
    gone = 500
    fewer = pa.concat_tables([packets.slice(0, gone), packets.slice(gone + 1)])
    compared = segments.compare(segments.log_of(packets), segments.log_of(fewer))
    assert compared.at_ns == packets["time_ns"][gone].as_py()
    text = list(segments.lines(compared.to_dict(), ("sim", "kernel")))
    assert len(text) == 2 * (segments.CONTEXT + 1)
    assert [line.startswith(("  sim    > ", "  kernel > ")) for line in text].count(True) == 2


def test_what_only_one_engine_knows_is_not_compared() -> None:
    packets = packets_of()
    for name, add in (("window_bytes", 7), ("flags", 2 + 4096), ("generation", 60_000)):
        column = packets[name].to_numpy()
        other = column | np.uint32(add) if name == "flags" else column + np.uint32(add)
        changed = packets.set_column(packets.schema.get_field_index(name), name, pa.array(other))
        assert segments.compare(segments.log_of(packets), segments.log_of(changed)).is_identical, name


def test_the_end_of_a_run_may_cut_off_what_the_other_one_shows() -> None:
    packets = packets_of()
    last = packets.slice(0, packets.num_rows - 1)
    assert segments.compare(segments.log_of(packets), segments.log_of(last)).is_identical
    early = packets.filter(pa.array(packets["time_ns"].to_numpy() < 11.9e9))
    assert not segments.compare(segments.log_of(packets), segments.log_of(early)).is_identical


def test_rows_say_whether_segments_are_identical(guests: Callable[..., Guests]) -> None:
    pretended = guests(linux=as_it_is)
    found = varicap.validate.kernel(["slow"], quick=True, jobs=1)
    assert sorted(pretended.runs) == [("linux", 1)] * 4
    assert [(row["flow"], row["segments"]["state"]) for row in found.rows] == [
        *[("reno", "identical")] * 2,
        *[("cubic", "identical")] * 2,
    ]
    assert found.conclusion().startswith("4 of 4 rows agree; 4 of 4 send identical segments; ")
    assert {case["why"] for case in found.left_out} == {"the kernel linux has no ratcp"}
    headings, cells = found.grid()
    assert headings[-1] == table.SEGMENTS
    assert [(row[3], row[-1]) for row in cells] == [("identical", "none")] * 4
    assert list(found.first_differences()) == []


def test_rows_that_differ_say_from_which_packet_on(guests: Callable[..., Guests]) -> None:
    guests(linux=without_sack)
    found = varicap.validate.kernel(["slow"], quick=True)
    row = found.rows[0]
    assert (row["segments"]["state"], row["agrees"]) == ("within the bounds", True)
    first = row["segments"]["first"]
    assert [event["sack_blocks"] for event in first["events"]] == [1, 0]
    _, cells = found.grid()
    assert cells[0][3] == "yes"
    assert cells[0][-1] == f"packet {first['packets']} at {first['at_ns'] / 1e9:.6f} s"
    shown = list(found.first_differences())
    assert shown[0] == f"slow, reno, ack every: {cells[0][-1]}, seed 1"
    assert sum(" > " in line for line in shown) == 2 * len(found.rows)
    json.dumps(found.to_dict(), allow_nan=False)


def test_one_seed_is_enough_where_nothing_is_drawn(guests: Callable[..., Guests]) -> None:
    pretended = guests(linux=as_it_is)
    found = varicap.validate.kernel(["slow", "loss-5"], max_seeds=2)
    assert {(row["name"], row["seeds"], row["segments"]["draws"]) for row in found.rows} == {
        ("slow", 1, False),
        ("loss-5", 2, True),
    }
    assert "4 with a single seed, because nothing is drawn at random" in found.conclusion()
    assert len(pretended.runs) == 4 + 8


def test_two_kernels_are_compared_with_each_other(guests: Callable[..., Guests]) -> None:
    pretended = guests(plain=as_it_is, patched=without_sack)
    found = varicap.validate.kernel(["slow"], quick=True, kernel_name=["plain", "patched"])
    assert sorted(set(pretended.runs)) == [("patched", 1), ("plain", 1)]
    read = found.to_dict()
    assert [(side["key"], side["digest"]) for side in read["sides"]] == [
        ("plain", "digest of plain"),
        ("patched", "digest of patched"),
    ]
    assert all({"plain", "patched"} <= set(row) and "sim" not in row for row in read["paths"])
    assert found.titles == "plain (Linux 6.12.117) / patched (Linux 6.12.117)"
    assert "What does not agree" not in found.markdown()
    assert {row["segments"]["state"] for row in found.rows} == {"within the bounds"}


def test_a_table_resumes_with_the_numbers_and_what_came_of_the_segments(
    guests: Callable[..., Guests], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended = guests(linux=without_sack, other=as_it_is)
    found = varicap.validate.kernel(["slow"], quick=True, folder=tmp_path)
    assert len(pretended.runs) == 4
    again = varicap.validate.kernel(["slow"], quick=True, folder=tmp_path)
    assert len(pretended.runs) == 4, "nothing is run again"
    assert again.to_dict()["paths"] == found.to_dict()["paths"]
    varicap.validate.kernel(["slow"], quick=True, folder=tmp_path, kernel_name="other")
    assert len(pretended.runs) == 8, "another kernel has its own runs"
    lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert {line["kernel_digest"] for line in lines if "flows" in line} == {"digest of linux", "digest of other"}
    # The simulator has changed: the kernel's packets are needed once more to compare them.
    simulate = bench.simulate

    def otherwise(*arguments: Any, **said: Any) -> Any:
        found = simulate(*arguments, **said)
        return SimpleNamespace(summary=found.summary, packets=later(30_000)(found.packets))

    monkeypatch.setattr(simulated, "simulate", otherwise)
    changed = varicap.validate.kernel(["slow"], quick=True, folder=tmp_path)
    assert len(pretended.runs) == 12
    assert changed.rows[0]["segments"]["first"]["at_ns"] == 0


def test_long_logs_are_cut_off(guests: Callable[..., Guests], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "MOST_PACKETS", 1000)
    pretended = guests(linux=later(50_000, 2.0))
    found = varicap.validate.kernel(["slow"], quick=True)
    assert len(pretended.runs) == 8
    assert {row["segments"]["state"] for row in found.rows} == {"identical"}, "the first 1.2 s are"
    case = paths.cases(["fast"])[0]
    assert case.lasting(1.5).duration_s == 1.5


def test_an_interrupt_ends_the_runs_and_keeps_what_is_there(guests: Callable[..., Guests], tmp_path: Path) -> None:
    pretended = guests(linux=as_it_is)
    run = pretended.run

    def stop(*arguments: Any, **said: Any) -> SimpleNamespace:
        if len(pretended.runs) == 2:
            raise KeyboardInterrupt
        return run(*arguments, **said)

    linux.run = stop  # type: ignore[assignment]
    found = varicap.validate.kernel(["slow"], quick=True, folder=tmp_path, jobs=1)
    assert found.interrupted
    assert len(found.rows) == 2
    linux.run = run  # type: ignore[assignment]
    assert len(varicap.validate.kernel(["slow"], quick=True, folder=tmp_path, jobs=1).rows) == 4
    assert len(pretended.runs) == 4


def test_the_simulator_has_the_rules_of_the_release() -> None:
    def acks(release: str | None) -> list[Any]:
        return [case.scenario["tcp"]["ack"] for case in paths.cases(["fixed"], controls=["reno"], release=release)]

    older = {"delayed": {"buffer_growth": "space-adjust"}}
    assert acks("6.12.117") == acks("6.1.0-9-amd64") == ["every", older]
    assert acks("6.16.0-rc1") == acks("7.0") == acks(None) == ["every", "delayed"]


@pytest.mark.parametrize(
    ("clock", "names", "says"),
    [
        ("real", ["6.12"], "in real time the kernel is the one that runs here"),
        (None, ["a", "b", "c"], "two with each other, not 3"),
        (None, ["a", "a"], "the kernel a is not compared with itself"),
    ],
)
def test_what_cannot_be_compared_is_refused(clock: Any, names: list[str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        measure.sides_of(clock, names)


def test_a_mistake_with_kernels_is_a_usage_error(cli: Cli) -> None:
    done = cli("validate", "kernel", "--clock", "real", "--kernel", "6.12")
    assert done.returncode == 2
    assert "in real time the kernel is the one that runs here" in done.stderr


def test_two_paths_in_simulated_time(cli: Cli, tmp_path: Path) -> None:
    try:
        kernels.find()
    except kernels.NoKernelError as error:
        pytest.skip(f"SKIPPED: {error}")
    command = ("validate", "kernel", "--quick", "--path", "fixed", "--path", "slow", "-o", "out", "--json", "-q")
    done = cli(*command)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["sides"][1]["clock"] == "simulated"
    rows = [row for row in read["paths"] if row["flow"] in ("reno", "cubic")]
    assert len(rows) == 2 * 2 * 2
    # With delayed acknowledgements the receivers' buffers still differ by a segment (docs/validation.md).
    each = [row for row in rows if row["ack"] == "every"]
    assert [(row["name"], row["flow"], row["segments"]["first"]) for row in each if state_of(row) != "identical"] == []
    assert [row["why"] for row in rows if not row["agrees"]] == []
    again = cli(*command[:-4], "--json", "-q")
    assert json.loads(again.stdout)["paths"] == read["paths"], "the same bytes"
