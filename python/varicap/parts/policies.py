"""Learned policies as values: from what a connection observed in an interval to an action.

A scenario names the file of one: ``congestion = { policy = { file = "mine.npz" } }``.  Two formats are read: a network
in ONNX (``.onnx``, by onnxruntime: ``pip install varicap[onnx]``), whose input is a batch of observations and whose
first output is a batch of actions; and layers as NumPy arrays (``.npz``), ``weight0``, ``bias0``, ``weight1``, …, with
a hyperbolic tangent between two layers.  `OBSERVED` says what the numbers of an observation are.

>>> policy = Layers((np.array([[-1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]),), (np.array([0.5]),))
>>> policy(np.full(10, 0.2, np.float32)).round(3)  # less queueing than half a round trip: open the window
array([0.3], dtype=float32)
"""

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

import varicap._core as _core
from varicap._files import read_whole, writing

_MOST_BYTES = 500_000_000

Observation: TypeAlias = NDArray[np.float32]
Action: TypeAlias = NDArray[np.float32]

OBSERVED: tuple[tuple[str, str], ...] = tuple((name, meaning) for name, _, meaning in _core.observed())
"""The numbers that describe an interval to a policy, with their meaning."""


@runtime_checkable
class Policy(Protocol):
    """Decides at the end of each interval."""

    def __call__(self, observation: Observation, /) -> Any:
        """The action: one number from -1 to 1, or as many as the policy moves."""
        ...


MakePolicy: TypeAlias = Callable[[str], Policy]
"""Makes the policy of one connection, from its name."""


@dataclass(frozen=True, eq=False)
class Layers:
    """A network of layers with a hyperbolic tangent between two of them; actions are cut off at -1 and 1."""

    weights: tuple[NDArray[np.float64], ...]
    """A matrix for each layer, outputs times inputs."""
    biases: tuple[NDArray[np.float64], ...]
    """A vector for each layer."""

    def __post_init__(self) -> None:
        sizes = [(weight.shape, bias.shape) for weight, bias in zip(self.weights, self.biases, strict=False)]
        fit = len(self.weights) == len(self.biases) > 0
        fit = fit and all(len(weight) == 2 and bias == weight[:1] for weight, bias in sizes)
        fit = fit and all(before[0][0] == after[0][1] for before, after in pairwise(sizes))
        if not fit:
            raise ValueError(f"layers of {sizes} do not fit each other")
        if not all(np.isfinite(part).all() for part in (*self.weights, *self.biases)):
            raise ValueError("a weight is no finite number")

    @property
    def sizes(self) -> tuple[int, int]:
        """How many numbers an observation and an action have."""
        return self.weights[0].shape[1], self.weights[-1].shape[0]

    def __call__(self, observation: Observation, /) -> Action:
        """The action for an observation, or actions for a batch of them."""
        found: NDArray[np.float64] = np.asarray(observation, np.float64)
        last = len(self.weights) - 1
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            found = found @ weight.T + bias
            if place < last:
                found = np.tanh(found)
        return np.clip(found, -1.0, 1.0).astype(np.float32)

    def save(self, file: str | Path) -> None:
        """Write it as ``.npz``; the same network gives the same bytes."""
        parts: dict[str, NDArray[np.float64]] = {}
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            parts |= {f"weight{place}": weight, f"bias{place}": bias}
        with writing(file) as out, zipfile.ZipFile(out, "w") as archive:
            for name, array in parts.items():
                text = io.BytesIO()
                np.save(text, array, allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), text.getvalue())


@dataclass(frozen=True, eq=False)
class Onnx:
    """A network in ONNX."""

    session: Any
    """The session of onnxruntime."""
    name: str
    """The name of its input."""
    sizes: tuple[int | None, int | None]
    """How many numbers an observation and an action have, as far as the file says."""

    def __call__(self, observation: Observation, /) -> Action:
        """The action for an observation."""
        batch = np.asarray(observation, np.float32)[None, :]
        found: Action = np.asarray(self.session.run(None, {self.name: batch})[0], np.float32)
        return np.clip(found.reshape(-1), -1.0, 1.0)


_DAMAGED = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What reading raises where a file is cut, changed, encrypted or packed in a way that nobody knows."""


def read(file: str | Path) -> Layers | Onnx:
    """Read a policy.

    Raises:
        ScenarioError: it cannot be read, or is no policy.
    """
    path = Path(file)
    readers: dict[str, Callable[[Path], Layers | Onnx]] = {".npz": _read_layers, ".onnx": _read_onnx}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise _core.ScenarioError(f"{file}: found `{path.suffix}`, expected a policy in .onnx or .npz")
    try:
        return reader(path)
    except ModuleNotFoundError as error:
        raise _core.ScenarioError(f"{file}: a policy in ONNX needs onnxruntime: pip install varicap[onnx]") from error
    except _DAMAGED as error:
        raise _core.ScenarioError(f"{file}: it is not a policy: {error}") from error


def _read_layers(path: Path) -> Layers:
    with np.load(io.BytesIO(read_whole(path, _MOST_BYTES)), allow_pickle=False) as found:
        if not isinstance(found, Mapping):
            raise ValueError("one array, expected weight0, bias0, …")
        count = sum(name.startswith("weight") for name in found)
        names = {f"{kind}{place}" for kind in ("weight", "bias") for place in range(count)}
        if set(found) != names or not count:
            raise ValueError(f"it has {', '.join(sorted(found)) or 'nothing'}, expected weight0, bias0, …")
        if strange := [name for name in sorted(names) if found[name].dtype.kind not in "fiu"]:
            raise ValueError(f"{strange[0]} is of {found[strange[0]].dtype}, expected numbers")
        kinds = [
            tuple(np.asarray(found[f"{kind}{place}"], np.float64) for place in range(count))
            for kind in ("weight", "bias")
        ]
    return Layers(kinds[0], kinds[1])


def _read_onnx(path: Path) -> Onnx:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # an action takes microseconds, a thread more
    content = read_whole(path, _MOST_BYTES)
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no class in common
        raise ValueError(str(error).splitlines()[0]) from error
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(inputs[0].shape) != 2:
        raise ValueError("a policy has one input, a batch of observations of float32")
    sizes = [
        shape[-1] if shape and isinstance(shape[-1], int) else None for shape in (inputs[0].shape, outputs[0].shape)
    ]
    return Onnx(session, inputs[0].name, (sizes[0], sizes[1]))


def supplied(scenario: _core.Scenario) -> dict[str, MakePolicy]:
    """The policies whose files a scenario names, by these names.

    Raises:
        ScenarioError: one cannot be read, or observes or moves something else than its flow does.
    """
    needs = scenario.policy_files()
    if not needs:
        return {}
    paths = dict(scenario.trace_files())
    made: dict[str, MakePolicy] = {}
    for flow, name, *wanted in needs:
        policy = read(paths[name])
        for which, has, wants in zip(("observes", "moves"), policy.sizes, wanted, strict=True):
            if has is not None and has != wants:
                key = f"flows.{flow}.tcp.congestion.policy"
                raise _core.ScenarioError(f"{key}: {name} {which} {has} numbers, and the flow has {wants}")
        made[name] = partial(_same, policy)
    return made


def _same(policy: Policy, _connection: str) -> Policy:
    """The same policy for each connection: it keeps nothing."""
    return policy
