"""Networks in ONNX for tests, written byte by byte, so that no other package is needed to make them."""

import struct
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


def _number(value: int) -> bytes:
    """A variable-length integer (Protocol Buffers)."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    text = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(text)) + text


def _message(*fields: tuple[int, int | str | bytes]) -> bytes:
    return b"".join(_field(number, value) for number, value in fields)


def _tensor(name: str, values: NDArray[np.float64]) -> bytes:
    numbers = struct.pack(f"<{values.size}f", *values.ravel())
    return _message(*((1, size) for size in values.shape), (2, 1), (8, name), (9, numbers))


def _value(name: str, size: int) -> bytes:
    shape = _message((1, _message((2, "batch"))), (1, _message((1, size))))
    return _message((1, name), (2, _message((1, _message((1, 1), (2, shape))))))


def _node(kind: str, inputs: Iterable[str], output: str) -> bytes:
    return _message(*((1, name) for name in inputs), (2, output), (4, kind))


def network(weights: Sequence[NDArray[np.float64]], biases: Sequence[NDArray[np.float64]]) -> bytes:
    """Layers with a hyperbolic tangent between two of them; weights are outputs times inputs."""
    nodes, tensors, name = [], [], "observation"
    for place, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        tensors += [_tensor(f"w{place}", weight.T), _tensor(f"b{place}", bias)]
        nodes.append(_node("MatMul", (name, f"w{place}"), f"m{place}"))
        name = f"a{place}" if place < len(weights) - 1 else "action"
        nodes.append(_node("Add", (f"m{place}", f"b{place}"), name))
        if name != "action":
            nodes.append(_node("Tanh", (name,), f"t{place}"))
            name = f"t{place}"
    ends = (11, _value("observation", weights[0].shape[1])), (12, _value("action", weights[-1].shape[0]))
    graph = _message(*((1, node) for node in nodes), (2, "policy"), *((5, tensor) for tensor in tensors), *ends)
    return _message((1, 8), (7, graph), (8, _message((1, ""), (2, 13))))
