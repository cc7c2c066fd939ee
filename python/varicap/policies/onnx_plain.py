"""Networks in ONNX that are plain enough to decide in this process, where a decision takes microseconds.

`is_plain` works out the shape of every value of a network: layers, and functions of single numbers between them.  Then
what a decision costs is known before there is one, and the limits of a run are asked after each.  Whatever else a file
has decides in a process of its own (`varicap.policies.onnx_process`).
"""

from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from varicap.policies.onnx_file import Reader, RefusedError

Shape: TypeAlias = "tuple[int, ...]"

_OF_NUMBERS = frozenset(
    (
        *("Relu", "LeakyRelu", "Elu", "Selu", "Celu", "Tanh", "Sigmoid", "HardSigmoid", "Softplus", "Softsign", "Erf"),
        *("Softmax", "LogSoftmax", "Identity", "Neg", "Abs", "Exp", "Log", "Sqrt", "Reciprocal", "Clip"),
    )
)
_OF_PAIRS = frozenset(("Add", "Sub", "Mul", "Div"))
MOST_WORK = 20_000_000
"""Multiplications of a decision: some ten milliseconds."""


def is_plain(content: bytes) -> bool:
    """Whether the cost of a decision is known and small; of a file that `onnx_file.check` does not refuse."""
    try:
        return _work(Reader(), memoryview(content)) <= MOST_WORK
    except (_OtherError, RefusedError):
        return False


class _OtherError(Exception):
    """A network is another one than those whose shapes are worked out here."""


def session(content: bytes) -> tuple[Any, tuple[int | None, int | None]]:
    """A session of onnxruntime for a plain network, and how many numbers an observation and an action have."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # an action takes microseconds, a thread more
    options.add_session_config_entry("session.load_model_format", "ONNX")
    options.log_severity_level = 4
    made = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    (given,), (found,) = made.get_inputs(), made.get_outputs()
    if given.type != "tensor(float)":
        raise ValueError("a policy has one input, a batch of observations of float32")
    sizes = [shape[-1] if shape and isinstance(shape[-1], int) else None for shape in (given.shape, found.shape)]
    return made, (sizes[0], sizes[1])


def decide(session: Any, observation: NDArray[np.float32]) -> NDArray[np.float32]:
    """The first output for a batch of one observation."""
    batch = np.asarray(observation, np.float32)[None, :]
    found: NDArray[np.float32] = session.run(None, {session.get_inputs()[0].name: batch})[0]
    return np.asarray(found, np.float32).reshape(-1)


def _work(reader: Reader, content: memoryview) -> int:
    parts = list(reader.messages(content))
    graphs = [part for number, part in parts if number == 7]
    if len(graphs) != 1 or any(number == 25 for number, _ in parts):
        raise _OtherError
    graph = list(reader.messages(graphs[0]))
    shapes = dict(_tensor(reader, part) for number, part in graph if number == 5)
    inputs = [_input(reader, part) for number, part in graph if number == 11]
    outputs = [part for number, part in graph if number == 12]
    if any(number == 15 for number, _ in graph) or len(inputs) != 1 or len(outputs) != 1:
        raise _OtherError
    shapes |= inputs
    work = 0
    for number, part in graph:
        if number == 1:
            work += _node(reader, part, shapes)
    return work


def _tensor(reader: Reader, message: memoryview) -> tuple[bytes, Shape]:
    name, shape = b"", []
    for number, part in reader.fields(message):
        if number == 8 and isinstance(part, memoryview):
            name = bytes(part)
        elif number == 1:
            if not isinstance(part, int):  # several in one field
                raise _OtherError
            shape.append(part)
    return name, tuple(shape)


def _input(reader: Reader, message: memoryview) -> tuple[bytes, Shape]:
    """The name of the input, and its shape for a batch of one."""
    said = dict(reader.messages(message))
    tensor = dict(reader.messages(dict(reader.messages(said.get(2, memoryview(b"")))).get(1, memoryview(b""))))
    sizes = [
        [value for inner, value in reader.fields(part) if inner == 1 and isinstance(value, int)]
        for number, part in reader.messages(tensor.get(2, memoryview(b"")))
        if number == 1
    ]
    if len(sizes) != 2 or len(sizes[1]) != 1:
        raise _OtherError
    return bytes(said.get(1, b"")), (1, sizes[1][0])


def _node(reader: Reader, message: memoryview, shapes: dict[bytes, Shape]) -> int:
    """The multiplications of a node; the shape of what it gives is put beside the others."""
    parts = list(reader.messages(message))
    names = [bytes(part) for number, part in parts if number == 1]
    outputs = [bytes(part) for number, part in parts if number == 2]
    kinds = [bytes(part).decode(errors="replace") for number, part in parts if number == 4]
    if any(number == 7 and part for number, part in parts) or len(kinds) != 1 or len(outputs) != 1 or not names:
        raise _OtherError
    try:
        inputs = [shapes[name] for name in names]
    except KeyError:
        raise _OtherError from None
    (kind,) = kinds
    if kind in _OF_NUMBERS:
        made, work = inputs[0], prod(inputs[0])
    elif kind in _OF_PAIRS and len(inputs) == 2:
        made = _broadcast(*inputs)
        work = prod(made)
    elif kind in ("MatMul", "Gemm") and len(inputs) >= 2:
        turned = _turned(reader, [part for number, part in parts if number == 5])
        one, other = (shape[::-1] if name in turned else shape for name, shape in zip("AB", inputs, strict=False))
        if len(one) != 2 or len(other) != 2 or one[1] != other[0]:
            raise _OtherError
        made, work = (one[0], other[1]), one[0] * one[1] * other[1]
    else:
        raise _OtherError
    shapes[outputs[0]] = made
    return work


def _turned(reader: Reader, attributes: list[memoryview]) -> set[str]:
    """Which of its two matrices a Gemm transposes."""
    found = set()
    for attribute in attributes:
        said = dict(reader.fields(attribute))
        name = said.get(1, b"")
        if isinstance(name, memoryview) and bytes(name) in (b"transA", b"transB") and said.get(3, 0) != 0:
            found.add(bytes(name)[-1:].decode())
    return found


def _broadcast(one: Shape, other: Shape) -> Shape:
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        raise _OtherError from None
