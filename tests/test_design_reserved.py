"""`varicap design token-bucket` and `varicap design ered`: the formulas, and simulations that confirm them."""

import json

import pytest
from conftest import Cli
from typer.testing import CliRunner

from varicap import cli as program
from varicap.design.ered import report as ered_report
from varicap.design.ered import solve as ered_solve
from varicap.design.ered.solve import Candidates, Point, Queue, ered
from varicap.design.token_bucket import report as bucket_report
from varicap.design.token_bucket import solve as bucket_solve
from varicap.design.token_bucket.solve import Evidence, token_bucket
from varicap.statistics import Interval

pytestmark = pytest.mark.slow

SMALL = Candidates(rate_bps=2.5e6, bucket_bytes=15_625, access_bps=45e6, best_effort=2)


def test_each_quantity_gives_the_others() -> None:
    by_depth = token_bucket(4e6, packet_bytes=1000, depth_s=0.05, connections=3, seeds=0)
    by_interval = token_bucket(4e6, packet_bytes=1000, interval_s=by_depth.interval_s, connections=3, seeds=0)
    by_buffer = token_bucket(4e6, packet_bytes=1000, buffer_bytes=by_depth.buffer_bytes, connections=3, seeds=0)
    for found in (by_interval, by_buffer):
        assert found.depth_bytes == pytest.approx(25_000)
        assert found.interval_s == pytest.approx(0.048002)
        assert found.buffer_bytes == pytest.approx(75_000)


def test_the_bound_loses_no_token_and_a_longer_timer_does() -> None:
    found = token_bucket(4e6, packet_bytes=1000, depth_s=0.05, seeds=1)
    at, longer, longest, among = found.evidence
    assert at.lost.mean == 0.0
    assert among.lost.mean == 0.0
    assert 0.0 < longer.lost.mean < longest.lost.mean
    assert at.compliant.mean == pytest.approx(1.0, abs=0.005)
    assert longest.compliant.mean == pytest.approx(1 - longest.lost.mean, abs=0.01)


def test_the_timer_that_was_computed_is_judged_by_its_simulation() -> None:
    found = token_bucket(4e6, packet_bytes=1000, depth_s=0.05, seeds=2)
    assert found.verdict == "meets"
    assert found.recommended_s == found.evidence[0].interval_s
    assert [row["verdict"] for row in found.to_dict()["evidence"]] == ["meets", "misses", "misses", "meets"]
    assert "verdict: a timer of 48.00 ms loses no token in any simulation" in bucket_report.conclusion(found)
    assert token_bucket(4e6, depth_s=0.05, seeds=0).verdict is None


@pytest.mark.parametrize(("holds_at", "words"), [(0.92, "take 43.20 ms"), (0.1, "so do all shorter ones")])
def test_a_timer_that_loses_tokens_is_shortened(monkeypatch: pytest.MonkeyPatch, holds_at: float, words: str) -> None:
    def simulate(design: bucket_solve.Design, traffic: str, factor: float, _seeds: int, _jobs: object) -> Evidence:
        lost = 0.0 if factor < holds_at else 0.01
        one = Interval(lost, lost, lost)
        return Evidence(traffic=traffic, interval_s=design.interval_s * factor, lost=one, compliant=one)

    monkeypatch.setattr(bucket_solve, "_simulate", simulate)
    found = token_bucket(4e6, packet_bytes=1000, depth_s=0.05, seeds=2)
    assert found.verdict == "misses"
    assert words in bucket_report.conclusion(found)


def test_the_whole_interval_of_the_loss_decides_how_many_are_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[int, int] = {}

    def measure(_queue: Queue, asked: Candidates, number: int, runs: int, _jobs: object) -> Point:
        made[number] = runs
        mean, half = {1: (0.0, 0.0), 2: (0.0004, 0.001), 3: (0.00099, 0.001), 4: (0.0, 0.0)}[number]
        half *= (5 / runs) ** 0.5
        loss = Interval(mean, mean - half, mean + half)
        return Point(
            reservations=number, rate_bps=asked.rate_bps, loss=loss, compliant=loss, best_effort_bps=loss, runs=runs
        )

    monkeypatch.setattr(ered_solve, "_measure", measure)
    found = ered(Queue(rate_bps=10e6), candidates=SMALL, target=0.001, seeds=5)
    assert found.most is not None
    assert (found.most.reservations, found.verdict) == (2, "meets")
    assert made[1] == 5, "where nothing is undecided nothing is run again"
    assert 5 < made[2] <= 20
    assert found.points[2].verdict(0.001) == "undecided"
    assert "2 reservations of 2.5 Mb/s" in ered_report.conclusion(found)
    assert "3 leave it undecided" in ered_report.conclusion(found)


def test_the_worst_case_is_the_inequality() -> None:
    found = ered(Queue(rate_bps=10e6), peaks_bps=[6e6, 8e6])
    assert (found.admissible_bps, found.is_admitted, found.points) == (12.5e6, False, ())
    assert ered(Queue(rate_bps=10e6), peaks_bps=[6e6, 6e6]).is_admitted


def test_the_largest_number_that_meets_the_target_is_found_by_simulation() -> None:
    found = ered(Queue(rate_bps=10e6), candidates=SMALL, target=0.5, seeds=2)
    assert [point.reservations for point in found.points] == [1, 2, 3, 4]
    assert found.most is found.points[-1], "half of the marked packets are never lost"
    assert found.points[0].compliant.mean == pytest.approx(1.0, abs=0.03)
    assert found.points[0].best_effort_bps.mean > found.points[2].best_effort_bps.mean
    small = Queue(rate_bps=10e6, buffer_bytes=12e3, min_bytes=3e3, max_bytes=9e3)
    none = ered(small, candidates=SMALL, target=1e-6, seeds=1)
    assert none.most is None, "a queue of 12 packets loses bursts of 15"
    assert none.verdict == "misses"
    assert "not even one reservation of 2.5 Mb/s is sure" in ered_report.conclusion(none)


def test_the_commands_print_words_tables_and_json(cli: Cli) -> None:
    shown = cli(
        "design", "token-bucket", "4 Mbit/s", "--depth", "50 ms", "--packet", "1 kB", "--seeds", "1", "-q"
    ).stdout
    assert "48.00 ms" in shown
    assert "timer alone" in shown
    found = json.loads(
        cli("design", "token-bucket", "1 Mbit/s", "--interval", "20 ms", "--seeds", "0", "--json").stdout
    )
    assert found["depth_bytes"] == pytest.approx(2500 + 1499)
    assert "12.5 Mb/s" in cli("design", "ered").stdout
    arguments = ("--rate", "4 Mbit/s", "--seeds", "1", "--json", "-q")
    measured = json.loads(cli("design", "ered", *arguments).stdout)["measured"]
    assert [point["reservations"] for point in measured["points"]] == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["token-bucket", "4 Mbit/s"], "exactly one"),
        (["token-bucket", "4 Mbit/s", "--depth", "50 ms", "--interval", "1 ms"], "exactly one"),
        (["token-bucket", "4 Mbit/s", "--depth", "500 B"], "never holds the tokens of a packet"),
        (["token-bucket", "4 Mbit/s", "--depth", "soon"], "not a depth"),
        (["token-bucket", "0 bit/s", "--interval", "1 ms"], "more than nothing"),
        (["token-bucket", "4 Mbit/s", "--interval", "0 ms"], "more than nothing"),
        (["ered", "--min", "90 kB"], "in order"),
        (["ered", "--max", "200 kB"], "in order"),
        (["ered", "--rate", "20 Mbit/s"], "does not fit"),
        (["ered", "--rate", "1 Mbit/s", "--depth", "1 ms"], "never holds the tokens of a packet"),
        (["ered", "--rate", "1 Mbit/s", "--access", "0.5 Mbit/s"], "cannot carry"),
        (["ered", "--rate", "1 kbit/s", "--depth", "60 s"], "simulate larger ones"),
        (["ered", "--rate", "1 Mbit/s", "--recovery", "vegas"], "no recovery"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(program.app, ["design", *arguments])
    assert done.exit_code == 2
    assert message in " ".join(done.output.replace("│", " ").split())
