"""`varicap design FILE --vary …`: designs of any scenario, against known optima, brute force and grids."""

import json
import zlib
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from scipy import stats

import varicap
from varicap.design.optimise.candidates import FIRST, Standing
from varicap.design.optimise.demands import Demands
from varicap.design.optimise.search import Rules, Search
from varicap.design.optimise.space import Space
from varicap.errors import InterruptedSweep
from varicap.study import DesignError, StudyError

LIMIT = "topology.dumbbell.forward.queue.drop-tail.limit"
QUEUE = "topology.dumbbell.forward.queue"
FIXED = str(Path(__file__).resolve().parent.parent / "examples/fixed.toml")
QUICK = {"duration": "30 s", "warmup": "5 s"}

Law = Callable[[Mapping[str, str], np.random.Generator, np.random.Generator], tuple[float, ...]]


class Noisy:
    """Runs of a function with noise: some that all points share in a replication, and some of each point's own."""

    def __init__(self, law: Law, seed: int) -> None:
        self.law, self.seed = law, seed
        self.points: list[dict[str, str]] = []
        self.found: dict[int, dict[int, tuple[float, ...]]] = {}

    def add(self, point: Any) -> int:
        self.points.append(dict(point))
        return len(self.points) - 1

    def is_exact(self, _number: int) -> bool:
        return False

    def run(self, wanted: Mapping[int, range], _until: float) -> None:
        for number, replications in wanted.items():
            for each in replications:
                of_point = self.found.setdefault(number, {})
                if each not in of_point:
                    of_point[each] = self.value(self.points[number], each)

    def value(self, point: Mapping[str, str], replication: int) -> tuple[float, ...]:
        name = zlib.crc32(repr(sorted(point.items())).encode())
        return self.law(
            point,
            np.random.default_rng([self.seed, replication]),
            np.random.default_rng([self.seed, replication, name]),
        )

    def samples(self, number: int) -> Mapping[int, tuple[float, ...]]:
        return self.found.get(number, {})

    @property
    def runs(self) -> int:
        return sum(map(len, self.found.values()))


def searched(
    vary: dict[str, Any], law: Law, budget: int, seed: int = 1, **demands: tuple[str, ...]
) -> tuple[Search, Noisy]:
    space = Space.read(vary)
    asked = Demands.read(space, *(demands.get(name, ()) for name in ("minimise", "maximise", "subject_to")))
    runs = Noisy(law, seed)
    search = Search(space, Standing(space, asked), runs, Rules(budget=budget, seeds=16, seed=seed))
    search.go()
    return search, runs


def number(text: str) -> float:
    return float(text.split()[0])


PLANE = {"a.x": "0.0..100.0 ms linear", "a.y": "0.0..100.0 ms linear"}


def hill(point: Mapping[str, str]) -> float:
    """At most 10 Mb/s, at x = 37, y = 61."""
    x, y = (number(point["a.x"]) - 37) / 20, (number(point["a.y"]) - 61) / 20
    return 1e6 * (10 - x * x - y * y - 0.5 * x * y)


def noisy_hill(point: Mapping[str, str], common: Any, own: Any) -> tuple[float, ...]:
    return (hill(point) + 2e6 * common.normal() + 5e4 * own.normal(),)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_design_is_as_good_as_a_grid_of_ten_times_the_budget(seed: int) -> None:
    search, runs = searched(PLANE, noisy_hill, 300, seed, maximise=("goodput_bps",))
    assert runs.runs <= 300
    each = np.linspace(0, 100, round((3000 / FIRST) ** 0.5))
    grid = [{"a.x": f"{x:g} ms", "a.y": f"{y:g} ms"} for x, y in product(each, each)]
    best = max(grid, key=lambda point: np.mean([runs.value(point, r) for r in range(FIRST)]))
    # What runs cannot tell apart counts as equal: half the interval of a difference of two points.
    equal = 2.13 * 5e4 * 2**0.5 / 16**0.5
    assert hill(dict(search.best.point)) >= hill(best) - equal


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_constraint_is_met_and_used(seed: int) -> None:
    """x + 2 y is largest on the circle at x = 0.4, y = 0.8: 2 Mb/s."""

    def law(point: Mapping[str, str], common: Any, own: Any) -> tuple[float, ...]:
        x, y = number(point["a.x"]) / 100, number(point["a.y"]) / 100
        return 1e6 * (x + 2 * y + 0.3 * common.normal()), 100 * (x * x + y * y) + common.normal() + own.normal()

    search, _ = searched(PLANE, law, 400, seed, maximise=("goodput_bps",), subject_to=("rtt_p95_ms <= 80 ms",))
    x, y = (number(value) / 100 for _, value in search.best.point)
    assert search.standing.verdict(search.best) == "meets"
    assert x * x + y * y <= 0.8
    assert x + 2 * y > 1.95


def test_the_same_seed_gives_the_same_search() -> None:
    first, second = (searched(PLANE, noisy_hill, 200, 5, maximise=("goodput_bps",))[0] for _ in range(2))
    assert [(one.point, one.samples) for one in first.candidates] == [
        (one.point, one.samples) for one in second.candidates
    ]


def test_a_listed_value_and_the_keys_below_it_are_found() -> None:
    """`b` beats `a` only near its own best target."""

    def law(point: Mapping[str, str], common: Any, own: Any) -> tuple[float, ...]:
        assert ("queue.a.target" in point) == (point["queue"] == "a")
        if point["queue"] == "a":
            return (1e6 * (3 + common.normal() + 0.1 * own.normal()),)
        away = np.log(number(point["queue.b.target"]) / 20)
        return (1e6 * (4 - 2 * away**2 + common.normal() + 0.1 * own.normal()),)

    vary = {"queue": ["a", "b"], "queue.a.target": "1..100 ms", "queue.b.target": "1..100 ms"}
    search, _ = searched(vary, law, 250, maximise=("goodput_bps",))
    found = dict(search.best.point)
    assert found["queue"] == "b"
    assert number(found["queue.b.target"]) == pytest.approx(20, rel=0.15)


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_listed_value_that_looks_best_and_misses_does_not_end_the_search(seed: int) -> None:
    """`pie` has no key of its own: proposals of it are of the one point that was tried."""

    def law(point: Mapping[str, str], common: Any, own: Any) -> tuple[float, ...]:
        noise = 0.3 * common.normal() + 0.03 * own.normal()
        if point["queue"] == "pie":
            return 1e6 * (5.5 + noise), 82 + common.normal()
        target = number(point["queue.codel.target"])
        return 1e6 * (5 + target / 50 + noise), 53 + 0.7 * target + common.normal()

    vary = {"queue": ["codel", "pie"], "queue.codel.target": "1..50 ms"}
    search, _ = searched(vary, law, 160, seed, maximise=("goodput_bps",), subject_to=("rtt_p95_ms <= 70 ms",))
    # 24.3 ms has exactly 70 ms, and runs leave some of it undecided.
    assert 19 < number(dict(search.best.point)["queue.codel.target"]) < 24.3


@pytest.mark.parametrize("least", [7, 43, 212])
def test_the_end_of_a_range_that_a_constraint_leaves_is_found_to_one(least: int) -> None:
    def law(point: Mapping[str, str], common: Any, own: Any) -> tuple[float, ...]:
        return (0.95 + 0.02 * np.log(number(point["limit"]) / (least - 0.5)) + 1e-5 * own.normal(),)

    search, runs = searched(
        {"limit": "5..500 packets"}, law, 400, minimise=("limit",), subject_to=("utilisation >= 95 %",)
    )
    assert dict(search.best.point)["limit"] == f"{least} packets"
    assert search.stopped == "converged"
    assert runs.runs < 250


CONTROLS = {"a": (12, 2.0), "b": (16, 3.0), "c": (9, 5.0), "d": (30, 1.5)}
"""Packets that a control takes to fill the link, and delay that a packet of buffer is worth to it [ms]."""


def link(point: Mapping[str, str]) -> tuple[float, float]:
    """Goodput [b/s], which the buffer fills up, and delay [ms], which grows with it."""
    packets, (fill, delay) = number(point["limit"]), CONTROLS[point["control"]]
    return 10e6 * (1 - np.exp(-packets / fill)), 20 + delay * packets


def noisy_link(point: Mapping[str, str], common: Any, own: Any) -> tuple[float, ...]:
    goodput, delay = link(point)
    channel = common.normal()
    return delay * (1 + 0.2 * channel + 0.02 * own.normal()), goodput * (1 - 0.01 * channel + 0.003 * own.normal())


@pytest.mark.parametrize("seed", range(1, 9))
def test_few_runs_tell_which_of_four_controls_and_how_large_a_buffer(seed: int) -> None:
    """`a` with 28 packets is best, with 75 ms; the others take 123 ms or more."""
    vary = {"control": list(CONTROLS), "limit": "5..500 packets"}
    asked = {"minimise": ("rtt_p95_ms",), "subject_to": ("goodput_bps >= 9 Mb/s",)}
    search, _ = searched(vary, noisy_link, 80, seed, **asked)
    assert search.spent <= 80
    assert search.standing.verdict(search.best) == "meets"
    goodput = link(dict(search.best.point))[0] / 9e6
    # How far the interval of the fewest runs reaches, of its mean.
    reach = stats.t.ppf(0.975, FIRST - 1) * np.hypot(0.01, 0.003) / FIRST**0.5
    assert goodput >= 1 - reach, "within what the runs' intervals leave open"
    # A buffer whose goodput lies twice as far above the bound as the fewest runs reach meets it in nearly all trials.
    # The search may miss the smallest such by a step of a grid of 50 sizes, which takes ten times its runs.
    enough = 9e6 * (1 + 2 * reach)
    sure = next(size for size in range(5, 501) if link({"control": "a", "limit": f"{size} packets"})[0] >= enough)
    assert search.best.point[0] == ("control", "a")
    assert number(dict(search.best.point)["limit"]) <= sure * 100 ** (1 / 49)


def test_fewer_runs_go_to_points_that_are_clearly_worse() -> None:
    search, _ = searched(PLANE, noisy_hill, 300, maximise=("goodput_bps",))
    runs = {one.runs for one in search.candidates}
    assert min(runs) == FIRST
    assert max(runs) >= 2 * FIRST
    # What is kept back gives the best all its replications.
    assert search.confirm([search.best])
    assert search.spent <= 300


def test_a_front_has_no_point_that_another_beats() -> None:
    def law(point: Mapping[str, str], common: Any, own: Any) -> tuple[float, ...]:
        x, y = number(point["a.x"]) / 100, number(point["a.y"]) / 100
        return 1e6 * (x + 0.01 * own.normal()), 100 * (x * x + abs(y - 0.5) + 0.01 * own.normal())

    search, runs = searched(PLANE, law, 300, maximise=("goodput_bps",), minimise=("rtt_p95_ms",))
    front = search.standing.front(search.candidates)
    assert runs.runs <= 300
    assert len(front) >= 5
    values = [search.standing.objectives(one, front[0]) for one in front]
    assert not any(a != b and a[0] <= b[0] and a[1] <= b[1] for a in values for b in values)


def quick(**given: Any) -> Any:
    asked: dict[str, Any] = {"minimise": "limit", "subject_to": "utilisation >= 95 %", "budget": 120, "seeds": 4}
    return varicap.optimise(FIXED, {LIMIT: "3..100 packets"}, overrides=QUICK, **{**asked, **given})


def test_the_smallest_buffer_is_that_of_brute_force() -> None:
    found = quick(models=False)
    study = varicap.sweep(FIXED, {LIMIT: [f"{size} packets" for size in range(6, 15)]}, seeds=4, overrides=QUICK)
    rows = [row for row in study.summary.to_pylist() if row["measure"] == "utilisation" and row["name"] == "forward"]
    least = next(row[LIMIT] for row in rows if row["lo"] >= 0.95)
    assert found.outcome == "meets"
    assert dict(found.best.point)[LIMIT] == least
    assert found.again["utilisation"].samples == 4
    assert f"take drop-tail limit = {least}" in found.sentence


def test_models_say_where_to_begin() -> None:
    begun, blind = quick(), quick(models=False)
    assert begun.best.point == blind.best.point
    assert begun.best.by_model["utilisation"] == pytest.approx(begun.best.columns["utilisation"].mean, rel=0.02)
    assert blind.best.by_model is None
    assert begun.runs < blind.runs


def test_the_budget_binds_and_says_so() -> None:
    found = quick(models=False, budget=20)
    assert found.runs <= 20
    assert found.stopped == "budget"
    assert "the budget was spent" in found.sentence


class Ticking:
    """A clock by which each piece of runs takes a second."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def perf_counter(self) -> float:
        return self.now_s


def test_the_time_binds_within_a_batch_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Ticking()
    for module in ("study.work", "design.optimise.search", "design.optimise.solve"):
        monkeypatch.setattr(f"varicap.{module}.time", clock)
    simulate = varicap.study.work.run

    def run(task: Any) -> Any:
        clock.now_s += 1.0
        return simulate(task)

    monkeypatch.setattr("varicap.study.work.run", run)
    found = quick(models=False, jobs=1, time_s=5.0, piece_s=0.0)
    # The first batch has nine points of four runs, a piece for each run; two are handed out ahead.
    assert 5 <= found.runs <= 7
    assert found.stopped == "time"
    assert "the time was over" in found.sentence
    assert sum(one.runs for one in found.tried) == found.runs, "what was not made does not count"


def test_nothing_that_meets_is_said_with_what_comes_nearest() -> None:
    found = quick(subject_to="rtt_p95_ms <= 1 ms", budget=60)
    assert (found.outcome, found.best) == ("misses", None)
    delays = {dict(one.point)[LIMIT]: one.columns["rtt_p95_ms"].mean for one in found.tried}
    nearest = min(delays, key=lambda limit: delays[limit])
    assert dict(found.nearest.point)[LIMIT] == nearest
    assert f"nothing within the ranges meets the demands; nearest: drop-tail limit = {nearest}" in found.sentence


class Dying(varicap.study.work.ThreadPoolExecutor):  # type: ignore[misc,name-defined]
    """A pool whose process is interrupted after some pieces."""

    left = 6

    def submit(self, *arguments: Any, **named: Any) -> Any:
        if Dying.left == 0:
            raise KeyboardInterrupt
        Dying.left -= 1
        return super().submit(*arguments, **named)


def test_an_interrupted_search_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    with Dying(1) as executor, pytest.raises(InterruptedSweep, match="the same"):
        quick(folder=tmp_path / "killed", executor=executor, piece_s=0.0)
    kept = len(list((tmp_path / "killed" / "parts").iterdir()))
    assert kept > 0
    went_on, whole = quick(folder=tmp_path / "killed"), quick(folder=tmp_path / "whole")
    assert went_on.to_dict() == whole.to_dict()
    for name in ("flows.parquet", "links.parquet", "summary.parquet", "points.json", "design.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    before = (tmp_path / "whole" / "parts").stat().st_mtime_ns
    assert quick(folder=tmp_path / "whole").to_dict() == whole.to_dict()
    assert (tmp_path / "whole" / "parts").stat().st_mtime_ns == before
    with pytest.raises(StudyError, match="holds another study"):
        quick(folder=tmp_path / "whole", subject_to="utilisation >= 90 %")


@pytest.mark.slow
def test_worker_processes_find_the_same() -> None:
    assert quick(on="local:2", budget=60).to_dict() == quick(budget=60).to_dict()


def test_which_queue_and_target(tmp_path: Path) -> None:
    found = varicap.optimise(
        FIXED,
        {
            QUEUE: ["codel", "drop-tail"],
            f"{QUEUE}.codel.target": "5 ms..90 ms",
            f"{QUEUE}.drop-tail.limit": "3..60 packets",
        },
        maximise="goodput_bps",
        subject_to="rtt_p95_ms <= 160 ms",
        budget=150,
        seeds=4,
        overrides=QUICK,
        folder=tmp_path,
    )
    assert found.outcome == "meets"
    assert found.best is not None
    point = dict(found.best.point)
    assert f"{QUEUE}.{'drop-tail.limit' if point[QUEUE] == 'codel' else 'codel.target'}" not in point
    page = varicap.report.page(tmp_path, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "verdict: take forward queue" in page
    study = varicap.read(tmp_path)
    assert isinstance(study, varicap.study.Study)
    assert len(study.points) == len(found.tried)


@pytest.mark.parametrize(
    ("vary", "asked", "says"),
    [
        ({}, {"minimise": "goodput_bps"}, "nothing may be varied"),
        ({LIMIT: "9..3 packets"}, {"minimise": "limit"}, "lower end below"),
        ({LIMIT: "3..9 packets"}, {}, "nothing is to be minimised"),
        ({LIMIT: "3..9 packets"}, {"minimise": "goodput_bp"}, "did you mean `goodput_bps`"),
        ({LIMIT: "3..9 packets"}, {"minimise": "cubic.goodput_bps"}, "no flow or link `cubic`; there are: reno"),
        ({LIMIT: "3..9 packets"}, {"minimise": "limit", "subject_to": "utilisation = 3"}, "not a demand"),
        ({LIMIT: "3..9 packets"}, {"minimise": "limit", "subject_to": "rtt_p95_ms < 5"}, "length of time"),
        ({LIMIT: "3..9 packets"}, {"minimise": "limit", "subject_to": "utilisation > much"}, "not a number"),
        ({LIMIT: "3..9 packets"}, {"minimise": "limit", "budget": 5}, "a budget of 5 runs"),
        ({LIMIT: "3..9 packets"}, {"minimise": "limit", "seeds": 1}, "2 replications or more"),
        ({LIMIT: ["3 packets", "9 packets"]}, {"minimise": "limit"}, "a list, not a range"),
        ({LIMIT: "3..9 packets"}, {"minimise": ("limit", "limit")}, "twice"),
    ],
)
def test_questions_that_make_no_sense_are_told(vary: dict[str, Any], asked: dict[str, Any], says: str) -> None:
    with pytest.raises(DesignError, match=says):
        varicap.optimise(FIXED, vary, **asked)


def test_an_unknown_key_is_the_scenarios_mistake() -> None:
    with pytest.raises(varicap.ScenarioError, match="did you mean `queue`"):
        varicap.optimise(FIXED, {"topology.dumbbell.forward.quue": ["codel"]}, maximise="goodput_bps")


def test_the_command_answers_in_a_sentence_and_as_json(cli: Cli, tmp_path: Path) -> None:
    asked = ("--vary", f"{LIMIT}=3..100 packets", "--minimise", "limit", "--subject-to", "utilisation >= 95 %")
    how = ("--set", "duration='30 s'", "--budget", "60", "--seeds", "4", "-o", str(tmp_path))
    told = cli("design", FIXED, *asked, *how)
    assert "verdict: take drop-tail limit =" in told.stdout
    assert (tmp_path / "design.png").is_file()
    assert (tmp_path / "report.html").is_file()
    again = json.loads(cli("design", FIXED, *asked, *how, "--json").stdout)
    assert again["outcome"] == "meets"
    assert again["best"]["verdict"] == "meets"
    assert again["answer"] in told.stdout
    wrong = cli("design", "bufer")
    assert wrong.returncode == 2
    assert "did you mean `buffer`" in wrong.stderr


def test_a_design_whose_other_runs_miss_is_not_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    from varicap.design.optimise import solve

    hear = solve._Samples.hear

    def flattered(self: Any, tables: Any) -> None:
        hear(self, tables)
        for runs in self.by_point.values():
            for number in runs:
                runs[number] = ((0.99 if number < 4 else 0.5) + 1e-4 * number,)

    monkeypatch.setattr(solve._Samples, "hear", flattered)
    found = varicap.optimise(
        FIXED,
        {LIMIT: ["5 packets", "6 packets"]},
        maximise="utilisation",
        subject_to="utilisation >= 95 %",
        budget=80,
        seeds=4,
        models=False,
        overrides={"duration": "3 s", "warmup": "1 s"},
    )
    assert (found.outcome, found.confirmed) == ("undecided", "misses")
    assert "the other runs miss the demands" in found.sentence


def test_a_point_at_which_a_flow_has_no_value_misses() -> None:
    found = varicap.optimise(
        FIXED,
        {"flows.reno.start": "1 s..4.9999 s"},
        minimise="rtt_p95_ms",
        budget=40,
        seeds=2,
        models=False,
        overrides={"duration": "5 s", "warmup": "0 s", "flows.reno.start_spread": "0 s"},
    )
    assert found.outcome == "meets"


@pytest.mark.parametrize(
    ("vary", "minimise", "demand", "says"),
    [
        ("3..60 packets", "goodput_bps", "utilisation >= nan", "finite"),
        ("3..1e400 packets", "goodput_bps", "utilisation >= 50 %", "finite"),
        ("3..60 packets", "limit", None, "nothing to run"),
        ("3..60 packets", "limit", "utilisation > 95", r"utilisation is a share: did you mean 95 %\?"),
        ("3..60 packets", "limit", "utilisation >= 0.95", r"did you mean 95 %\?"),
        ("3..60 packets", "limit", "reno.loss_ratio < 2", r"did you mean 2 %\?"),
    ],
)
def test_questions_without_an_answer_are_refused(vary: str, minimise: str, demand: str | None, says: str) -> None:
    with pytest.raises(DesignError, match=says):
        varicap.optimise(FIXED, {LIMIT: vary}, minimise=minimise, subject_to=demand or (), budget=40)


RESERVED: dict[str, Any] = {
    "duration": "10 s",
    "topology": {"dumbbell": {"forward": {"capacity": "5 Mbit/s", "delay": "10 ms", "queue": {"ered": {
        "limit": "100 packets", "min_threshold": "10 packets", "max_threshold": "50 packets"}}}}},
    "flows": {
        "video": {"reservation": {"rate": "1 Mbit/s", "bucket": "50 ms", "timed": {"interval": "20 ms"}},
                  "tcp": {"congestion": "rate-adaptive-window"}},
        "others": {"count": 2, "jitter": "1 ms", "tcp": {"congestion": "cubic"}},
    },
}  # fmt: skip
RATE = "flows.video.reservation.rate"


def test_a_gap_beside_a_refused_value_is_searched_and_the_reason_is_said() -> None:
    # A bucket of 50 ms holds a packet of 1500 B from 240 kbit/s on.
    asked: dict[str, Any] = {
        "minimise": "rate",
        "subject_to": "video.goodput_bps >= 0.1 Mbit/s",
        "budget": 80,
        "seeds": 2,
    }
    found = varicap.optimise(RESERVED, {RATE: "0.05..4 Mbit/s"}, models=False, **asked)
    assert found.best is not None
    assert 0.24 <= found.best.keys["rate"] < 0.245
    assert "more are no valid scenarios" in found.sentence
    assert "refused: " in found.sentence
    assert "expected room for at least one packet of 1500 B" in found.sentence


def test_an_answer_at_the_end_of_its_range_says_so_and_what_there_is_without() -> None:
    asked: dict[str, Any] = {
        "minimise": "rate",
        "subject_to": "video.goodput_bps >= 0.1 Mbit/s",
        "budget": 40,
        "seeds": 2,
    }
    found = varicap.optimise(RESERVED, {RATE: "0.5..2 Mbit/s"}, models=False, **asked)
    assert (
        "rate = 0.5 Mbit/s is the low end of the range that was asked: smaller values were not tried" in found.sentence
    )
    assert found.without is not None
    plain = {**RESERVED, "flows": {**RESERVED["flows"], "video": {"tcp": {"congestion": "rate-adaptive-window"}}}}
    runs = varicap.run(plain, seeds=2).summary["flows"][0]["goodput_bps"]
    assert found.without.columns["video.goodput_bps"].mean == pytest.approx(runs["mean"])
    assert "without `flows.video.reservation`: goodput of video" in found.sentence
    queue = varicap.optimise(FIXED, {LIMIT: "5..60 packets"}, minimise="limit", subject_to="utilisation >= 90 %",
                             budget=24, seeds=2, overrides=QUICK)  # fmt: skip
    assert queue.without is None
    assert "end of the range" not in queue.sentence


@pytest.mark.parametrize("time", ["abc", "-1 s"])
def test_a_time_that_is_none_is_refused(cli: Cli, time: str) -> None:
    done = cli("design", FIXED, "--vary", f"{LIMIT}=3..9 packets", "--minimise", "goodput_bps", f"--time={time}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_design_whose_column_was_never_measured_has_its_figure(cli: Cli, tmp_path: Path) -> None:
    """A range over a decade has a logarithmic axis, on which nothing at all would have no place."""
    asked = ("--vary", f"{LIMIT}=2..30 packets", "--maximise", "qoe_bps", "--subject-to", "rtt_p95_ms <= 90 ms")
    outage = ("--set", "topology.dumbbell.forward.capacity='0 b/s'", "--set", "duration='11 s'")
    limits = ("--no-models", "--budget", "4", "--seeds", "2")
    done = cli("design", FIXED, *asked, *outage, *limits, "-o", "d", "-q")
    assert "Traceback" not in done.stderr, done.stderr
    assert (tmp_path / "d" / "design.png").exists(), done.stderr


def test_a_measure_of_links_is_that_of_the_only_one_with_a_limit() -> None:
    """Of the reverse link of a dumbbell, which is unlimited, nobody asks how long packets wait."""
    base = {
        "duration": "5 s",
        "topology": {"dumbbell": {"forward": {"capacity": "8 Mbit/s", "delay": "20 ms"}}},
        "flows": {"a": {"tcp": {"congestion": "reno"}}},
    }
    limit = "topology.dumbbell.forward.queue.drop-tail.limit"
    found = varicap.optimise(base, {limit: "5..20 packets"}, minimise="sojourn_p95_ms", budget=20, seeds=2)
    assert found.best is not None
