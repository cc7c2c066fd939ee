"""What a model says of a flow."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from varicap.engines.model.path import FlowPath

if TYPE_CHECKING:
    from varicap.analyse.together import Computation

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A flow in the long run, by analysis."""

    throughput_pps: float
    """Full packets delivered per second [packets/s]."""
    details: Mapping[str, float] = field(default_factory=dict)
    """What else this model says, each with its unit in its name."""
    strained: tuple[str, ...] = ()
    """Assumptions that hold only roughly here."""


class Model(Protocol):
    """An analysis, and the flows that it is of.  A new one is a class in a file of its own and a line in `MODELS`.

    Where many flows are solved faster together than one by one, `solve_all` is its own.
    """

    name: str
    keys: frozenset[str]
    """The keys of a scenario that it has taken into account, by the names of `varicap.engines.model.keys`."""

    def misfits(self, path: FlowPath) -> Iterator[str]:
        """Each assumption that the flow breaks: the key, its value, and what the model has instead."""
        ...

    def solve(self, path: FlowPath) -> Answer:
        """What the flow gets.  Raises ``ValueError`` where a number lies outside the model."""
        ...

    def solve_all(self, paths: Sequence[FlowPath]) -> list[Answer | ValueError]:
        """What each of these flows gets, or the error in its place; as `solve` has it, but for rounding."""
        return [tried(self.solve, path) for path in paths]


class Together(Model, Protocol):
    """A model whose solution is a computation of `varicap.analyse.together`: those of many flows go on side by side."""

    def solving(self, path: FlowPath) -> "Computation[Answer]":
        """What the flow gets, as a computation.  Raises ``ValueError`` as `solve` does."""
        ...

    def solve(self, path: FlowPath) -> Answer:
        """What the flow gets."""
        (found,) = self.solve_all([path])
        if isinstance(found, ValueError):
            raise found
        return found

    def solve_all(self, paths: Sequence[FlowPath]) -> list[Answer | ValueError]:
        """What each of these flows gets, or the error in its place."""
        from varicap.analyse import together

        return together.run([self.solving(path) for path in paths])


def tried(solve: Callable[[FlowPath], Found], path: FlowPath) -> Found | ValueError:
    """What `solve` finds, or why it finds nothing."""
    try:
        return solve(path)
    except ValueError as error:
        return error
