"""Policies of strangers: what a file may not do is refused when it is read; all else is kept within limits."""

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx_model
import pytest
from onnx_model import graph, inner, integers, message, model, node
from patience import HANG_S

import varicap
from varicap.policies import onnx_plain, onnx_worker, read


def scenario(file: Path) -> dict[str, Any]:
    return {
        "name": "policy",
        "duration": "2 s",
        "seeds": 1,
        "topology": {"dumbbell": {"forward": {"capacity": "2 Mbit/s", "delay": "20 ms"}}},
        "flows": {"a": {"tcp": {"congestion": {"policy": {"file": str(file)}}}}},
    }


def summed(name: str = "observation") -> bytes:
    """The largest number of a tensor, which is an action."""
    return node("ReduceMax", (name,), "action")


RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
DROPOUT = node("Dropout", ("observation", "ratio", "training"), "x")
TRAINING = message((2, 9), (8, "training"), (9, b"\1"))
EVALUATION = message((2, 9), (8, "training"), (9, b"\0"))
RATIO = message((2, 1), (8, "ratio"), (9, b"\0\0\0\0"))
ELSEWHERE = message((1, 1), (2, 1), (8, "w"), (13, message((1, "location"), (2, "/etc/passwd"))), (14, 1))


def function(name: str, *nodes: bytes) -> bytes:
    """A function of the file, from ``x`` to ``y``."""
    sets = (9, message((1, ""), (2, 13))), (9, message((1, "own"), (2, 1)))
    return message((1, name), (4, "x"), (5, "y"), *((7, each) for each in nodes), *sets, (10, "own"))


@pytest.mark.parametrize("kind", RANDOM)
def test_an_operator_that_draws_random_numbers_is_refused_by_name_wherever_it_is(kind: str, tmp_path: Path) -> None:
    drawn = node(kind, ("observation",), "action")
    inside = (5, inner("then_branch", graph([drawn])))
    deeper = node("Loop", (), "action", (5, inner("body", graph([node("If", ("c",), "action", inside)]))))
    hidden = function("f", node(kind, ("x",), "y"))
    several = node("X", (), "action", (5, message((1, "b"), (11, graph([drawn])), (20, 10))))
    for place, content in enumerate(
        [
            model(graph([drawn])),
            model(graph([deeper])),
            model(graph([summed()]), [hidden]),
            model(graph([several])),
            model(graph([node("Relu", ("observation",), "action", (4, kind))])),
        ]
    ):
        file = tmp_path / f"{place}.onnx"
        file.write_bytes(content)
        with pytest.raises(varicap.ScenarioError, match=f"{kind}, which draws random numbers"):
            read(file)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (model(graph([DROPOUT, summed("x")], [RATIO, TRAINING])), "Dropout in training mode"),
        (model(graph([DROPOUT, summed("x")], [RATIO])), "Dropout in training mode"),
        (model(graph([node("Sampling", (), "action", (7, "com.microsoft"))])), "Sampling of com.microsoft"),
        (model(graph([node("g", ("observation",), "action", (7, "own"))])), "operator g of own"),
        (model(graph([summed()], [ELSEWHERE])), "tensors in other files"),
        (
            model(graph([node("Constant", (), "w", (5, message((1, "value"), (5, ELSEWHERE), (20, 4)))), summed()])),
            "tensors in other files",
        ),
        (model(graph([summed()], outputs=())), "a graph without outputs"),
        (b"\x08\x08", "it has no graph"),
        (b"\0\0\0\0ORTM" + bytes(100), "in the format of onnxruntime"),
        (b"\x0b\x0b\x0b", "not in ONNX"),
        (b"\x3a\xff\xff\xff\xff\x0f", "ends too early"),
        (b"\x3a" + b"\xff" * 20, "ends too early"),
        (model(graph([b""] * 1_000_001)), "more than 1,000,000 parts"),
        (model(graph([summed()]).replace(b"ReduceMax", b"NoSuchOne")), "it is not a policy"),
    ],
)
def test_what_no_policy_may_do_is_refused_when_it_is_read(content: bytes, says: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.onnx"
    file.write_bytes(content)
    with pytest.raises(varicap.ScenarioError, match=says) as refused:
        read(file)
    assert str(refused.value).startswith(str(file))


def test_graphs_nested_deeply_are_refused(tmp_path: Path) -> None:
    content = graph([summed()])
    for _ in range(200):
        content = graph([node("If", ("c",), "action", (5, inner("then_branch", content)))])
    file = tmp_path / "deep.onnx"
    file.write_bytes(model(content))
    with pytest.raises(varicap.ScenarioError, match="nested more than"):
        read(file)


def test_functions_and_a_dropout_that_drops_nothing_are_read(tmp_path: Path) -> None:
    file = tmp_path / "policy.onnx"
    double = function("double", node("Add", ("x", "x"), "y"))
    nodes = [DROPOUT, node("double", ("x",), "d", (7, "own")), summed("d")]
    file.write_bytes(model(graph(nodes, [RATIO, EVALUATION]), [double]))
    assert read(file)(np.full(10, 0.25, np.float32)).tolist() == [0.5]


def endless() -> bytes:
    """A loop of 10^15 rounds in one decision."""
    body = message(
        (1, node("Identity", ("keep",), "again")),
        (1, node("Neg", ("state",), "next")),
        (2, "body"),
        *((11, _typed(name, *kind)) for name, kind in (("i", (7,)), ("keep", (9,)), ("state", (1, 1, 10)))),
        *((12, _typed(name, *kind)) for name, kind in (("again", (9,)), ("next", (1, 1, 10)))),
    )
    true = message((2, 9), (8, "true"), (9, b"\1"))
    count = message((2, 7), (8, "count"), (9, (10**15).to_bytes(8, "little")))
    rounds = node("Loop", ("count", "true", "observation"), "x", (5, inner("body", body)))
    return model(graph([rounds, summed("x")], [true, count]))


def _typed(name: str, kind: int, *shape: int) -> bytes:
    sizes = message(*((1, message((1, size))) for size in shape))
    return message((1, name), (2, message((1, message((1, kind), (2, sizes))))))


def greedy() -> bytes:
    """What takes 4 GB within a decision."""
    return model(graph([node("Tile", ("observation", "n"), "t"), summed("t")], [integers("n", 1, 100_000_000)]))


def greedy_when_read() -> bytes:
    """What takes 4 GB when the runtime works out what is constant."""
    nodes = [node("ConstantOfShape", ("n",), "zeros"), node("ReduceMax", ("zeros",), "zero")]
    nodes += [node("Add", ("zero", "observation"), "x"), summed("x")]
    return model(graph(nodes, [integers("n", 30000, 30000)]))


def simulated(file: Path, **limits: str) -> None:
    varicap.run(scenario(file), seeds=1, **limits)  # type: ignore[call-overload]


def swept(file: Path, **limits: str) -> None:
    varicap.sweep(scenario(file), {"duration": ["1 s", "2 s"]}, seeds=1, jobs=1, **limits)  # type: ignore[call-overload]


@pytest.mark.parametrize("command", [simulated, swept])
def test_a_decision_that_never_ends_ends_at_the_limit(command: Callable[..., None], tmp_path: Path) -> None:
    file = tmp_path / "endless.onnx"
    file.write_bytes(endless())
    with pytest.raises(varicap.LimitError, match="--max-time"):
        command(file, max_time="4 s")


def test_a_decision_that_never_ends_ends_without_a_limit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("varicap.policies.onnx_process._LONGEST_S", 1.5)
    file = tmp_path / "endless.onnx"
    file.write_bytes(endless())
    policy = read(file)
    with pytest.raises(varicap.LimitError, match=r"a decision of a policy within 1.5 s"):
        policy(np.zeros(10, np.float32))


def test_a_system_that_cannot_wait_ends_it_by_a_timer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("select.poll")
    file = tmp_path / "endless.onnx"
    file.write_bytes(endless())
    with pytest.raises(varicap.LimitError, match="--max-time"):
        simulated(file, max_time="8 s")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system says nothing of memory")
@pytest.mark.parametrize("made", [greedy, greedy_when_read])
@pytest.mark.parametrize("command", [simulated, swept])
def test_a_decision_that_fills_the_memory_ends_at_the_limit(
    command: Callable[..., None], made: Callable[[], bytes], tmp_path: Path
) -> None:
    file = tmp_path / "greedy.onnx"
    file.write_bytes(made())
    with pytest.raises(varicap.LimitError, match="--max-memory"):
        command(file, max_memory="300 MB")


def test_a_system_without_limits_of_memory_has_a_thread_that_looks() -> None:
    code = (
        "import os, sys, threading, numpy as np\n"
        "from varicap.policies import onnx_worker as worker\n"
        "threading.Thread(target=worker._end_beyond, args=(worker._held() + 100_000_000, 1), daemon=True).start()\n"
        "held = [np.ones(1_000_000) for _ in range(20_000)]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=HANG_S, check=False)
    kind, size, held = onnx_worker.HEAD.unpack(done.stdout[: onnx_worker.HEAD.size])
    assert (done.returncode, kind) == (1, onnx_worker.NO_MEMORY), done.stderr.decode()
    assert done.stdout[onnx_worker.HEAD.size :] == f"it holds {held / 1e6:.0f} MB".encode()
    assert size == len(done.stdout) - onnx_worker.HEAD.size


@pytest.mark.parametrize(
    ("nodes", "is_plain"),
    [
        ([node("Relu", ("observation",), "x"), node("MatMul", ("x", "w"), "action")], True),
        ([node("MatMul", ("observation", "w"), "x"), node("Add", ("x", "b"), "action")], True),
        ([node("MatMul", ("observation", "missing"), "action")], False),
        ([node("MatMul", ("w", "observation"), "x"), node("ReduceMax", ("x",), "action")], False),
        ([node("Add", ("tall", "observation"), "x"), node("MatMul", ("x", "w"), "action")], False),
        ([node("Add", ("tall", "wide"), "x"), node("MatMul", ("x", "w"), "action")], False),
        ([node("Tile", ("observation", "n"), "action")], False),
        ([node("If", ("observation",), "action")], False),
    ],
)
def test_only_a_network_whose_cost_is_known_and_small_decides_in_this_process(
    nodes: list[bytes], is_plain: bool
) -> None:
    sizes = {"w": (10, 1), "b": (1,), "tall": (3_000_000, 1), "wide": (1, 3_000_000)}
    # What a tensor holds is onnxruntime's to check; here its shape alone is read.
    tensors = [message(*((1, size) for size in shape), (2, 1), (8, name)) for name, shape in sizes.items()]
    content = model(graph(nodes, tensors)).replace(message((8, message((1, "own"), (2, 1)))), b"")
    assert onnx_plain.is_plain(content) is is_plain


def test_a_plain_network_decides_as_its_child_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=size) for size in ((20, 10), (20, 20), (1, 20))]
    file = tmp_path / "policy.onnx"
    file.write_bytes(onnx_model.network(weights, [rng.normal(size=len(weight)) for weight in weights]))
    here = read(file)
    with monkeypatch.context() as context:
        context.setattr(onnx_plain, "is_plain", lambda _: False)
        there = read(file)
    for _ in range(20):
        observation = rng.normal(size=10).astype(np.float32)
        assert np.array_equal(here(observation), there(observation))


def test_a_network_that_ends_its_process_is_an_error_and_the_next_one_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = [np.ones((1, 10))], [np.zeros(1)]
    file = tmp_path / "policy.onnx"
    file.write_bytes(onnx_model.network(*layers))
    monkeypatch.setattr(onnx_plain, "is_plain", lambda _: False)
    policy = read(file)
    processes = []

    def ended(process: Any, _observation: Any) -> None:
        process.child.kill()
        processes.append(process)

    with monkeypatch.context() as context:
        context.setattr("varicap.policies.onnx_process._Process.send", ended)
        with pytest.raises(varicap.ScenarioError, match="onnxruntime ended with -9 while it computed"):
            policy(np.zeros(10, np.float32))
    assert policy(np.full(10, 0.01, np.float32)) == pytest.approx(0.1, abs=1e-6)
    assert processes[0].child.returncode == -9


def test_a_decision_that_is_no_number_is_a_mistake_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "nan.onnx"
    file.write_bytes(
        model(
            graph(
                [node("Log", ("observation",), "x"), node("ReduceMin", ("x",), "y"), node("Sub", ("y", "y"), "action")]
            )
        )
    )
    with pytest.raises(varicap.ScenarioError, match=r"the policy `.*nan.onnx` of flow `a.0` gave \[NaN\]"):
        varicap.run(scenario(file), seeds=1)
    two = tmp_path / "two.npz"
    # The sum of two numbers beyond all floats, of either sign.
    weights = {"weight0": np.repeat([[1e200], [-1e200]], 10, axis=1), "bias0": np.array([1e308, -1e308])}
    weights |= {"weight1": np.array([[1e308, 1e308]]), "bias1": np.zeros(1)}
    np.savez(two, **weights)  # type: ignore[arg-type]
    varicap.run(scenario(two), seeds=1)


def archive(file: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(file, "w", compression) as written:
        for name, content in members.items():
            written.writestr(f"{name}.npy", content)


def array(shape: tuple[int, ...], content: bytes | None = None) -> bytes:
    """An array whose header says `shape`."""
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(text, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return text.getvalue() + (np.zeros(shape).tobytes() if content is None else content)


def test_arrays_are_sized_before_they_are_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "policy.npz"
    bias = array((1,))
    archive(file, {"weight0": array((1, 10**9), b""), "bias0": bias})
    with pytest.raises(varicap.ScenarioError, match=r"weight0 has 128 B, and a header that says 128 [+] 8000000000 B"):
        read(file)
    archive(file, {"weight0": array((1, -10), bytes(80)), "bias0": bias})
    with pytest.raises(varicap.ScenarioError, match="it is not a policy"):
        read(file)
    large = array((2_000_000, 10))  # 160 MB, of which little is left when they are packed
    last = {"weight1": array((1, 2_000_000)), "bias1": bias}
    archive(file, {"weight0": large, "bias0": array((2_000_000,)), **last})
    with pytest.raises(varicap.ScenarioError, match=r"the arrays of 0.\d MB take 384.0 MB .* at most 256 MB"):
        read(file)
    with pytest.raises(varicap.LimitError, match=r"take 384.0 MB .* at most \d+.\d MB \(--max-memory\)"):
        varicap.run(scenario(file), seeds=1, max_memory="100 MB")


def test_archives_of_other_kinds_and_of_many_layers_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "policy.npz"
    good = {"weight0": array((1, 10)), "bias0": array((1,))}
    for kind in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        archive(file, good, kind)
        with pytest.raises(varicap.ScenarioError, match="packed in another way"):
            read(file)
    layers = {
        f"{kind}{place}": array((1, 1) if kind == "weight" else (1,))
        for place in range(1001)
        for kind in ("weight", "bias")
    }
    archive(file, {**layers, "weight0": array((1, 10))}, zipfile.ZIP_STORED)
    with pytest.raises(varicap.ScenarioError, match="it has 1001 layers, expected at most 1000"):
        read(file)
    archive(file, {f"x{place}": b"" for place in range(2003)}, zipfile.ZIP_STORED)
    with pytest.raises(varicap.ScenarioError, match="more than 2000 arrays, which is more than 1000 layers"):
        read(file)
    file.write_bytes(bytes(65_000_000))
    with pytest.raises(varicap.ScenarioError, match="more than 64 MB"):
        read(file)


def test_a_slow_network_of_layers_ends_at_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "wide.npz"
    shapes = [(2000, 10), (2000, 2000), (1, 2000)]
    parts = {f"weight{place}": np.zeros(shape, np.float32) for place, shape in enumerate(shapes)}
    np.savez(file, **parts, **{f"bias{place}": np.zeros(shape[0]) for place, shape in enumerate(shapes)})  # type: ignore[arg-type]
    given = scenario(file) | {"duration": "50000 s"}
    with pytest.raises(varicap.LimitError, match=r"stopped at .* of simulated time: expected at most 6 s"):
        varicap.run(given, seeds=1, max_time="6 s", max_memory=None)
