"""The example that learns a congestion control: it learns, the same every time, and its table is that of scenarios."""

from pathlib import Path

import numpy as np
import pytest
from learned_control import CASES, FILE, NetworkPath, layers, main, rewards, scores, table, train

import varicap
from varicap.policies import OBSERVED, read

PATHS = [NetworkPath(6.3, 40.0), NetworkPath(20.0, 80.0)]
SHORT = {"generations": 8, "draws": 24, "episodes": 6, "duration_s": 5.0}


def test_a_short_search_beats_a_policy_that_does_nothing_on_channels_that_it_has_not_met() -> None:
    found = train(**SHORT)  # type: ignore[arg-type]
    learned = np.concatenate([found.weights[0][0], found.biases[0]])
    still = np.zeros(len(OBSERVED) + 1)
    by_seed = np.array([rewards(np.stack([learned, still]), PATHS, 1, 10_000 + seed, 5.0) for seed in range(8)])
    better = by_seed[:, 0] - by_seed[:, 1]
    half = 2.36 * better.std(ddof=1) / np.sqrt(len(better))
    assert better.mean() - half > 0, "with a 95 % interval"


def test_the_same_seed_learns_the_same_policy_and_another_one_another() -> None:
    once, again, other = (train(**{**SHORT, "generations": 1}, seed=seed) for seed in (1, 1, 2))  # type: ignore[arg-type]
    assert once.weights[0].tobytes() == again.weights[0].tobytes()
    assert once.weights[0].tobytes() != other.weights[0].tobytes()


def test_policies_of_one_call_meet_the_same_episodes() -> None:
    policies = np.zeros((3, len(OBSERVED) + 1))
    assert len(set(rewards(policies, PATHS, 4, 1, 3.0).tolist())) == 1


def test_the_policy_of_the_example_is_better_inside_its_range_and_worse_beside_others() -> None:
    cases = {"inside": [NetworkPath(6.3, 40.0)], "beside": CASES["outside: beside one CUBIC flow"][:1]}
    lines = table(FILE, cases, seeds=10)
    assert len(lines) == 4
    assert lines[2].count("(better)") == 2
    assert lines[3].count("(worse)") == 2


def test_whoever_shares_a_link_is_measured_against_a_fair_share(tmp_path: Path) -> None:
    policy = tmp_path / "open.npz"
    layers(np.append(np.zeros(len(OBSERVED)), 1.0)).save(policy)  # its window always grows
    assert read(policy).sizes == (len(OBSERVED), 1)
    shared = NetworkPath(6.3, 40.0, beside=1)
    found = scores(policy, shared, seeds=6, duration_s=10.0)
    alone = scores(policy, NetworkPath(6.3, 40.0), seeds=2, duration_s=10.0)
    assert set(found) == set(alone) == {"learned", "cubic", "bbr3"}
    pair = varicap.run(varicap.load(shared.scenario({"cubic": "cubic"}, 10.0), base_dir=FILE.parent), seeds=6)
    share = np.array([row["goodput_of_capacity"] for row in pair.flows.to_pylist() if row["name"] == "cubic"])
    assert share.mean() == pytest.approx(0.49, abs=0.04), "two CUBIC flows share fairly"
    cost = 2 * share - found["cubic"]
    assert np.all((cost > 0) & (cost < 0.4)), "of a queue of at most 2 BDP, and of losses"
    assert found["learned"].mean() < found["cubic"].mean(), "what it takes it pays for with losses"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["train", "-o"], "expected one argument"),
        (["tabel"], "invalid choice: 'tabel'"),
        ([], "required: command"),
        (["table", "nosuch.npz"], "nosuch.npz`, expected a file that can be read"),
    ],
)
def test_what_the_example_cannot_do_is_told(asked: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(asked)
    assert ended.value.code
    assert says in capsys.readouterr().err
