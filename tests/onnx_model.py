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


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """A message in Protocol Buffers, of the numbers of fields and their values."""
    return b"".join(_field(number, value) for number, value in fields)


def tensor(name: str, values: NDArray[np.float64]) -> bytes:
    """A tensor of float32."""
    numbers = struct.pack(f"<{values.size}f", *values.ravel())
    return message(*((1, size) for size in values.shape), (2, 1), (8, name), (9, numbers))


def _value(name: str, size: int) -> bytes:
    shape = message((1, message((2, "batch"))), (1, message((1, size))))
    return message((1, name), (2, message((1, message((1, 1), (2, shape))))))


def node(kind: str, inputs: Iterable[str], output: str, *more: tuple[int, int | str | bytes]) -> bytes:
    """An operator; `more` are other fields, such as 5, an attribute, and 7, its domain."""
    return message(*((1, name) for name in inputs), (2, output), (4, kind), *more)


def inner(name: str, graph: bytes) -> bytes:
    """An attribute that is a graph."""
    return message((1, name), (6, graph), (20, 5))


def graph(nodes: Iterable[bytes], tensors: Iterable[bytes] = (), outputs: Iterable[str] = ("action",)) -> bytes:
    """A graph from an observation to an action, for a file or for an attribute."""
    ends = [(11, _value("observation", 10)), *((12, _value(name, 1)) for name in outputs)]
    return message(*((1, each) for each in nodes), (2, "policy"), *((5, each) for each in tensors), *ends)


def model(graph: bytes, functions: Iterable[bytes] = (), version: int = 13) -> bytes:
    """A file with a graph, and with functions of its own in the domain ``own``."""
    sets = [message((1, domain), (2, number)) for domain, number in (("", version), ("own", 1))]
    return message((1, 8), (7, graph), *((8, each) for each in sets), *((25, each) for each in functions))


def integers(name: str, *values: int) -> bytes:
    """A tensor of integers in one dimension."""
    return message((1, len(values)), (2, 7), (8, name), (9, struct.pack(f"<{len(values)}q", *values)))


def network(weights: Sequence[NDArray[np.float64]], biases: Sequence[NDArray[np.float64]]) -> bytes:
    """Layers with a hyperbolic tangent between two of them; weights are outputs times inputs."""
    nodes, tensors, name = [], [], "observation"
    for place, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        tensors += [tensor(f"w{place}", weight.T), tensor(f"b{place}", bias)]
        nodes.append(node("MatMul", (name, f"w{place}"), f"m{place}"))
        name = f"a{place}" if place < len(weights) - 1 else "action"
        nodes.append(node("Add", (f"m{place}", f"b{place}"), name))
        if name != "action":
            nodes.append(node("Tanh", (name,), f"t{place}"))
            name = f"t{place}"
    ends = (11, _value("observation", weights[0].shape[1])), (12, _value("action", weights[-1].shape[0]))
    whole = message(*((1, each) for each in nodes), (2, "policy"), *((5, each) for each in tensors), *ends)
    return message((1, 8), (7, whole), (8, message((1, ""), (2, 13))))
