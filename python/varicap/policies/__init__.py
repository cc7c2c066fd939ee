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
import math
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

import varicap._core as _core
from varicap._files import read_whole, writing
from varicap.policies.onnx_process import FailedError, Network, network

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
        with np.errstate(all="ignore"):  # what is no number in the end is refused there
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
    """A network in ONNX, which decides in a process of its own."""

    network: Network
    file: str = "a network in ONNX"
    """The file that it is of, for errors."""

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """How many numbers an observation and an action have, as far as the file says."""
        return self.network.sizes

    def __call__(self, observation: Observation, /) -> Action:
        """The action for an observation."""
        try:
            found: Action = self.network(observation)
        except FailedError as error:
            raise _core.ScenarioError(f"{self.file}: the policy does not decide: {error}") from None
        return np.clip(found, -1.0, 1.0)


MOST_BYTES = 64_000_000
"""The largest file of a policy [B]."""
MOST_UNPACKED = 256_000_000
"""What the arrays of a file may have together, as numbers of 8 B [B]."""
MOST_LAYERS = 1000

_DAMAGED = (OSError, ValueError, KeyError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""What reading raises where a file is cut, changed, encrypted or packed in a way that nobody knows."""


def read(file: str | Path) -> Layers | Onnx:
    """Read a policy.

    Raises:
        ScenarioError: it cannot be read, or is no policy.
        LimitError: it needs more memory or time than what is left of the run's.
    """
    path = Path(file)
    readers: dict[str, Callable[[bytes, str], Layers | Onnx]] = {".npz": _read_layers, ".onnx": _read_onnx}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise _core.ScenarioError(f"{file}: found `{path.suffix}`, expected a policy in .onnx or .npz")
    try:
        return reader(read_whole(path, MOST_BYTES), str(file))
    except ModuleNotFoundError as error:
        raise _core.ScenarioError(f"{file}: a policy in ONNX needs onnxruntime: pip install varicap[onnx]") from error
    except _core.LimitError as error:
        raise _core.LimitError(f"{file}: {error}") from None
    except _DAMAGED as error:
        raise _core.ScenarioError(f"{file}: it is not a policy: {error}") from error


def _read_layers(content: bytes, _file: str) -> Layers:
    if content.startswith(np.lib.format.MAGIC_PREFIX):
        raise ValueError("one array, expected weight0, bias0, …")
    # What says how many files there are is read only if they are few; two more are in front of it and behind it.
    if content.count(b"PK\x01\x02") > 2 * MOST_LAYERS + 2:
        raise ValueError(f"it has more than {2 * MOST_LAYERS} arrays, which is more than {MOST_LAYERS} layers")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        count = sum(name.startswith("weight") for name in members)
        names = {f"{kind}{place}" for kind in ("weight", "bias") for place in range(count)}
        if set(members) != names or not count:
            found = ", ".join(sorted(members)[:20]) or "nothing"
            raise ValueError(f"it has {found}, expected weight0, bias0, …")
        if count > MOST_LAYERS:
            raise ValueError(f"it has {count} layers, expected at most {MOST_LAYERS}")
        arrays = {name: _Array.opened(archive, name, info) for name, info in sorted(members.items())}
        _refuse_large(sum(8 * array.count + array.size for array in arrays.values()), len(content))
        kinds = [tuple(arrays[f"{kind}{place}"].read(archive) for place in range(count)) for kind in ("weight", "bias")]
    return Layers(kinds[0], kinds[1])


def _refuse_large(unpacked: int, packed: int) -> None:
    """Raise an error if arrays need more than they may."""
    said = f"the arrays of {packed / 1e6:.1f} MB take {unpacked / 1e6:.1f} MB"
    left, _ = _core.left()
    if left is not None and unpacked > left:
        raise _core.LimitError(f"{said} while they are read, expected at most {left / 1e6:.1f} MB (--max-memory)")
    if unpacked > MOST_UNPACKED:
        raise ValueError(f"{said} while they are read, expected at most {MOST_UNPACKED / 1e6:g} MB")


@dataclass(frozen=True)
class _Array:
    """An array in an archive, as its header says before anything is unpacked."""

    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    is_fortran: bool
    dtype: "np.dtype[Any]"
    header: int
    """Bytes in front of its numbers."""

    @property
    def count(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """The bytes of its numbers."""
        return self.count * self.dtype.itemsize

    @classmethod
    def opened(cls, archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> "_Array":
        # Other ways to pack need a table whose size the file chooses.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is packed in another way than NumPy does")
        with archive.open(info) as member:
            readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            header = readers.get(np.lib.format.read_magic(member))
            if header is None:
                raise ValueError(f"{name} has a header of another version than NumPy writes")
            shape, is_fortran, dtype = header(member)
            array = cls(info, shape, is_fortran, dtype, member.tell())
        if dtype.kind not in "fiu":
            raise ValueError(f"{name} is of {dtype}, expected numbers")
        if any(size < 0 for size in shape) or array.header + array.size != info.file_size:
            raise ValueError(f"{name} has {info.file_size} B, and a header that says {array.header} + {array.size} B")
        return array

    def read(self, archive: zipfile.ZipFile) -> NDArray[np.float64]:
        with archive.open(self.info) as member:
            member.read(self.header)
            numbers = np.frombuffer(member.read(self.size), self.dtype)
        return np.asarray(numbers.reshape(self.shape, order="F" if self.is_fortran else "C"), np.float64)


def _read_onnx(content: bytes, file: str) -> Onnx:
    return Onnx(network(content), file)


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
