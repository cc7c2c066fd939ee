"""Learned policies: their files, and flows that run them beside built-in controls."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx_model
import pytest
from conftest import Cli

import varicap
from varicap.gym import FlowEnv
from varicap.policies import OBSERVED, Layers, read

SIZE = len(OBSERVED)


def keeps(segments: float = 0.0) -> Layers:
    """The window goes where it holds the path's best rate times its least RTT, times 2 to `segments`."""
    weight = np.zeros((1, SIZE))
    weight[0, [name for name, _ in OBSERVED].index("excess")] = -1.0
    return Layers((weight,), (np.array([segments]),))


def random_layers(outputs: int = 1, inputs: int = SIZE) -> Layers:
    random = np.random.default_rng(2)
    shapes = ((6, inputs), (outputs, 6))
    return Layers(
        tuple(random.normal(size=shape) for shape in shapes), tuple(random.normal(size=size) for size, _ in shapes)
    )


def scenario(file: str, **policy: Any) -> dict[str, Any]:
    """Three flows, each of which has the same varying path to itself."""
    capacity = {"markov": {"rates": ["4 Mbit/s", "12 Mbit/s"], "mean_holding": ["500 ms", "500 ms"]}}
    forward = {"capacity": capacity, "delay": "15 ms", "queue": {"drop-tail": {"limit": "200 packets"}}}
    controls = {"cubic": "cubic", "bbr": "bbr", "learned": {"policy": {"file": file, **policy}}}
    return {
        "name": "beside",
        "duration": "8 s",
        "isolate": True,
        "topology": {"dumbbell": {"forward": forward, "reverse": {"delay": "15 ms"}}},
        "flows": {name: {"tcp": {"congestion": control}} for name, control in controls.items()},
    }


def written(folder: Path, policy: Layers, name: str = "policy.npz", **more: Any) -> Path:
    """A scenario file, with its policy beside it."""
    policy.save(folder / name)
    file = folder / "beside.json"
    file.write_text(json.dumps(scenario(name, **more)))
    return file


def test_a_policy_runs_from_its_file_beside_built_in_controls_on_the_same_paths(tmp_path: Path) -> None:
    result = varicap.run(written(tmp_path, keeps()), seeds=3)
    rows = result.flows.to_pylist()
    found = {name: [row for row in rows if row["name"] == name] for name in ("cubic", "bbr", "learned")}
    for cubic, learned in zip(found["cubic"], found["learned"], strict=True):
        assert learned["goodput_bps"] > 0.5 * cubic["goodput_bps"]
        assert learned["rtt_mean_ms"] < cubic["rtt_mean_ms"], "it fills no queue"
    links = [row for row in result.links.to_pylist() if row["name"] == "forward"]
    for replication in range(3):
        same = {row["capacity_bps"] for row in links if row["replication"] == replication}
        assert len(same) == 1, "common random numbers"


def test_policies_in_numpy_and_onnx_decide_alike(tmp_path: Path) -> None:
    layers = random_layers()
    layers.save(tmp_path / "a.npz")
    (tmp_path / "a.onnx").write_bytes(onnx_model.network(layers.weights, layers.biases))
    one, other = read(tmp_path / "a.npz"), read(tmp_path / "a.onnx")
    assert one.sizes == other.sizes == (SIZE, 1)
    for observation in np.random.default_rng(1).normal(size=(50, SIZE)).astype(np.float32):
        assert one(observation) == pytest.approx(other(observation), abs=1e-5)
        assert one(observation).tobytes() == layers(observation).tobytes()
    first, second = (
        varicap.run(scenario(str(tmp_path / name)), seeds=1).flows.to_pylist() for name in ("a.npz", "a.onnx")
    )
    assert second[2]["goodput_bps"] == pytest.approx(first[2]["goodput_bps"], rel=0.02)


def test_the_same_policy_gives_the_same_file_and_the_same_run(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        random_layers().save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    runs = [varicap.run(scenario(str(tmp_path / "a.npz")), seeds=2).flows for _ in range(2)]
    assert str(runs[0].to_pylist()) == str(runs[1].to_pylist())


def test_a_policy_does_in_a_scenario_what_it_did_in_the_environment(tmp_path: Path) -> None:
    policy = keeps(0.2)
    policy.save(tmp_path / "policy.npz")
    alone = scenario(str(tmp_path / "policy.npz"), step=0.5)
    alone["flows"] = {"learned": alone["flows"]["learned"]}
    alone["isolate"] = False
    env = FlowEnv(alone, "learned", step=0.5)
    observation, info = env.reset(seed=5)
    delivered, over = info["delivered"], False
    while not over:
        observation, _, _, over, info = env.step(policy(observation))
        delivered += info["delivered"]
    (row,) = varicap.run(alone, seeds=1, seed=5).flows.to_pylist()
    # At the end of the run, half a round trip of acknowledgements is under way.
    assert delivered == pytest.approx(row["goodput_bps"] * 8 / 8, rel=0.01)


def test_the_command_line_runs_sweeps_and_replays_a_policy(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path, keeps())
    done = cli("run", file, "--seeds", 2, "--json", "--no-plot", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "policy.npz" in json.dumps(manifest), "what was run is written down"
    again = cli("replay", tmp_path / "out" / "manifest.json")
    assert again.returncode == 0, again.stderr
    swept = cli("sweep", file, "--over", "flows.learned.tcp.congestion.policy.step=0.1,0.3", "--seeds", 1, "-o", "s")
    assert swept.returncode == 0, swept.stderr
    keeps(0.5).save(tmp_path / "policy.npz")
    other = cli("sweep", file, "--over", "flows.learned.tcp.congestion.policy.step=0.1,0.3", "--seeds", 2, "-o", "s")
    assert other.returncode != 0
    assert "differs in: traces" in other.stderr, "the policy is another one"


def test_the_kernel_and_the_models_say_why_they_know_no_policy(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path, keeps())
    kernel = cli("run", file, "--engine", "kernel", "--json")
    assert kernel.returncode != 0
    assert "only the simulator asks policies" in kernel.stderr
    model = cli("run", file, "--engine", "model", "--json")
    assert "policy" in model.stderr + model.stdout


def test_a_policy_that_fails_ends_the_run() -> None:
    def fails(_connection: str) -> Any:
        def act(observation: Any) -> Any:
            raise RuntimeError("nobody knows")

        return act

    given = scenario("x")
    given["flows"]["learned"]["tcp"]["congestion"]["policy"] = {"custom": "mine"}
    with pytest.raises(RuntimeError, match="nobody knows") as error:
        varicap.run(given, seeds=1, controls={"mine": fails})
    assert error.value.__notes__ == [f"in the policy ({fails.__name__}) of flow `learned.0`"]
    with pytest.raises(ValueError, match="expected 1 from -1 to 1"):
        varicap.run(given, seeds=1, controls={"mine": lambda _: lambda _: [0.0, 1.0]})
    with pytest.raises(ValueError, match="expected 1 from -1 to 1"):
        varicap.run(given, seeds=1, controls={"mine": lambda _: lambda _: float("inf")})
    with pytest.raises(varicap.ScenarioError, match="nobody brought a policy called `mine`"):
        varicap.run(given, seeds=1)


def test_files_that_are_no_policies_are_refused(tmp_path: Path) -> None:
    good = random_layers()
    good.save(tmp_path / "good.npz")
    (tmp_path / "text.npz").write_text("weight0")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "complex.npz", weight0=np.zeros((1, SIZE), complex), bias0=np.zeros(1))
    (tmp_path / "text.onnx").write_text("weight0")
    (tmp_path / "policy.zip").write_text("weight0")
    np.savez(tmp_path / "other.npz", layer=np.zeros(3))
    np.savez(tmp_path / "short.npz", weight0=np.zeros((1, SIZE)), bias0=np.zeros(2))
    np.savez(tmp_path / "nan.npz", weight0=np.full((1, SIZE), np.nan), bias0=np.zeros(1))
    for name, says in {
        "text.npz": "it is not a policy",
        "empty.npz": "it is not a policy",
        "complex.npz": "weight0 is of complex128, expected numbers",
        "text.onnx": "it is not a policy",
        "policy.zip": "expected a policy in .onnx or .npz",
        "other.npz": "it has layer, expected weight0, bias0",
        "short.npz": "do not fit each other",
        "nan.npz": "a weight is no finite number",
    }.items():
        with pytest.raises(varicap.ScenarioError, match=says):
            varicap.run(scenario(str(tmp_path / name)), seeds=1)
    with pytest.raises(varicap.ScenarioError, match="observes 10 numbers, and the flow has 20"):
        varicap.run(scenario(str(tmp_path / "good.npz"), history=2), seeds=1)
    with pytest.raises(varicap.ScenarioError, match="moves 1 numbers, and the flow has 2"):
        varicap.run(scenario(str(tmp_path / "good.npz"), moves="window-and-rate"), seeds=1)
    with pytest.raises(
        varicap.ScenarioError, match=r"flows.learned.tcp.congestion.policy.file.*a file that can be read"
    ):
        varicap.run(scenario(str(tmp_path / "missing.npz")), seeds=1)


def test_no_change_of_a_byte_of_a_file_reaches_a_user_as_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "policy.npz"
    random_layers().save(file)
    good, random = file.read_bytes(), np.random.default_rng(1)
    refused = 0
    for _ in range(1500):
        changed = bytearray(good)
        changed[random.integers(len(good))] ^= int(random.integers(1, 256))
        file.write_bytes(changed)
        try:
            read(file)
        except varicap.ScenarioError:
            refused += 1
    assert refused > 1000


def test_without_onnxruntime_a_policy_in_onnx_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "a.onnx").write_bytes(b"")
    with pytest.raises(varicap.ScenarioError, match=r"pip install varicap\[onnx\]"):
        read(tmp_path / "a.onnx")


@pytest.mark.parametrize("moves", ["window", "rate", "window-and-rate"])
def test_what_a_policy_sends_that_always_opens_grows_with_time_and_no_faster(moves: str) -> None:
    changed = scenario("")
    changed["flows"] = {"learned": {"tcp": {"congestion": {"policy": {"custom": "greedy", "moves": moves}}}}}
    actions = 2 if moves == "window-and-rate" else 1

    def sent(duration_s: int) -> float:
        changed["duration"] = f"{duration_s} s"
        result = varicap.run(changed, seeds=3, controls={"greedy": lambda _: lambda _: [1.0] * actions})
        return float(np.mean(result.flows["sent_packets"].to_pylist()))

    # A window that doubles in each interval would send thousands of times as much.
    assert sent(8) < 4 * sent(4)
