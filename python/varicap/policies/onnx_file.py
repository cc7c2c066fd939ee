"""What a file in ONNX contains, read from its bytes before anything of it runs.

A file in ONNX is a program, and that of a policy comes from anybody.  `check` looks at every operator, also of the
graphs inside others (``If``, ``Loop``, ``Scan``) and of the functions that a file brings along, and refuses what a
policy may not do: draw random numbers, since the same seed would give another run; use operators of other domains than
ONNX's own, of which nobody knows what they do; and read other files.  How long it computes, and with how much memory,
no file says: `varicap.policies.onnx_process` binds it.

No package does this: onnxruntime shows a graph only once it has a session, for which it computes what is constant, and
the package onnx makes objects of a whole file, a hundred bytes and more of each empty part, before anything of it can
be refused.  Here a file is read in place, and no more than so many parts of it.

Source: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto (the numbers of fields).
"""

from collections.abc import Iterator
from typing import TypeAlias

RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
"""Operators that draw random numbers."""

_DOMAINS = frozenset((b"", b"ai.onnx", b"ai.onnx.ml"))
_MOST_FIELDS = 1_000_000
"""Fields in all messages of a file that are looked at: one of this size takes a second."""
_DEEPEST = 64

_Field: TypeAlias = "tuple[int, int | memoryview]"


class RefusedError(ValueError):
    """A file that is not read; the text is the reason."""


def check(content: bytes) -> None:
    """Look through a file.

    Raises:
        RefusedError: it does what no policy may do, or is not in ONNX.
    """
    if content[4:8] == b"ORTM":
        raise RefusedError("it is in the format of onnxruntime, expected one in ONNX")
    Reader().model(memoryview(content))


class Reader:
    """Reads the messages of one file, of which it looks at so many."""

    def __init__(self) -> None:
        self.left = _MOST_FIELDS
        self.own: set[tuple[bytes, bytes]] = set()
        """Domain and name of the functions that the file brings along."""

    def model(self, message: memoryview) -> None:
        """Look through a whole file."""
        parts = list(self.messages(message))
        functions = [part for number, part in parts if number == 25]
        for function in functions:
            said = dict(self.messages(function))
            self.own.add((bytes(said.get(10, b"")), bytes(said.get(1, b""))))
        graphs = [part for number, part in parts if number == 7]
        if not graphs:
            raise RefusedError("it has no graph")
        for graph in graphs:
            self._graph(graph, 0)
        for function in functions:
            for number, part in self.messages(function):
                if number == 7:
                    self._node(part, frozenset(), 0)
                elif number == 11:
                    self._attribute(part, 0)

    def _graph(self, message: memoryview, depth: int) -> None:
        if depth > _DEEPEST:
            raise RefusedError(f"its graphs are nested more than {_DEEPEST} deep")
        parts = list(self.messages(message))
        tensors = [self._tensor(part) for number, part in parts if number == 5]
        for number, part in parts:
            if number == 15:
                self._sparse(part)
        # What is also an input of the graph is whatever its caller passes.
        given = {bytes(dict(self.messages(part)).get(1, b"")) for number, part in parts if number == 11}
        zeros = frozenset(name for name, is_zero in tensors if is_zero and name not in given)
        for number, part in parts:
            if number == 1:
                self._node(part, zeros, depth)
        if all(number != 12 for number, _ in parts):
            raise RefusedError("it has a graph without outputs")

    def _node(self, message: memoryview, zeros: frozenset[bytes], depth: int) -> None:
        parts = list(self.messages(message))
        inputs = [bytes(part) for number, part in parts if number == 1]
        domains = {bytes(part) for number, part in parts if number == 7} or {b""}
        # Of several, which nobody writes, a reader may take any.
        for kind in {bytes(part) for number, part in parts if number == 4}:
            said = kind.decode(errors="backslashreplace")
            if said in RANDOM:
                raise RefusedError(f"it has the operator {said}, which draws random numbers: no run could be repeated")
            if said == "Dropout" and len(inputs) > 2 and inputs[2] and inputs[2] not in zeros:
                raise RefusedError("it has the operator Dropout in training mode, which draws random numbers")
            for domain in domains - _DOMAINS:
                if (domain, kind) not in self.own:
                    named = domain.decode(errors="backslashreplace")
                    raise RefusedError(f"it has the operator {said} of {named}, expected those of ONNX itself")
        for number, part in parts:
            if number == 5:
                self._attribute(part, depth)

    def _attribute(self, message: memoryview, depth: int) -> None:
        for number, part in self.messages(message):
            if number in (6, 11):
                self._graph(part, depth + 1)
            elif number in (5, 10):
                self._tensor(part)
            elif number in (22, 23):
                self._sparse(part)

    def _sparse(self, message: memoryview) -> None:
        for number, part in self.messages(message):
            if number in (1, 2):
                self._tensor(part)

    def _tensor(self, message: memoryview) -> tuple[bytes, bool]:
        """The name of a tensor, and whether it is a zero that is written down."""
        name, raw = b"", b""
        is_other = False
        for number, part in self.fields(message):
            if number == 13 or (number == 14 and part != 0):
                raise RefusedError("it has tensors in other files, expected all of them in its own")
            if isinstance(part, int):
                is_other = is_other or (number in (4, 5, 7, 10, 11) and part != 0)
            elif number == 8:
                name = bytes(part)
            elif number in (4, 5, 7, 9, 10, 11):
                raw += bytes(part[:9])
        return name, not is_other and len(raw) <= 8 and not any(raw)

    def messages(self, message: memoryview) -> "Iterator[tuple[int, memoryview]]":
        """The fields of a message that are no numbers."""
        return ((number, part) for number, part in self.fields(message) if isinstance(part, memoryview))

    def fields(self, message: memoryview) -> Iterator[_Field]:
        """The fields of a message in Protocol Buffers, numbers as they are, all else as bytes."""
        at, end = 0, len(message)
        while at < end:
            self.left -= 1
            if self.left < 0:
                raise RefusedError(f"it has more than {_MOST_FIELDS:,} parts, which no policy needs")
            key, at = _number(message, at)
            kind, number = key & 7, key >> 3
            value: int | memoryview
            if kind == 0:
                value, at = _number(message, at)
            else:
                if kind == 2:
                    size, at = _number(message, at)
                elif kind in (1, 5):
                    size = 8 if kind == 1 else 4
                else:
                    raise RefusedError("it is not in ONNX")
                if size > end - at:
                    raise RefusedError("it is not in ONNX, or ends too early")
                value = message[at : at + size]
                at += size
            yield number, value


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """A variable-length integer, and where it ends."""
    found = 0
    for place in range(10):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        found |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return found & (2**64 - 1), at
    raise RefusedError("it is not in ONNX, or ends too early")
