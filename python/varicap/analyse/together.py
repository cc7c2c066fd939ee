"""Computations that go on side by side, so that what they have in common is done for all of them at once.

A computation is a generator that yields what it wants done, a function and an argument, and is given the result.  The
function takes a list of arguments, and returns a list of results, in which an exception stands for what failed (where
it raises a ``ValueError``, each argument is tried alone); so the chains of a hundred points are solved in one call.
Alone a computation is one of a list of one.

    def utilisation(parameters):
        share = yield markov.stationary_all, matrix_of(parameters)
        return share @ reward
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias, TypeVar

Found = TypeVar("Found")
Wanted: TypeAlias = tuple[Callable[[list[Any]], Sequence[Any]], Any]
"""A function of lists, and the argument of this computation."""
Computation: TypeAlias = Generator[Wanted, Any, Found]


def alone(computation: Computation[Found]) -> Found:
    """What a computation finds; raises what it raises."""
    return all_of([computation])[0]


def all_of(computations: Sequence[Computation[Found]]) -> list[Found]:
    """What each of these computations finds, in their order; raises what the first of them raises that fails."""
    found = []
    for one in run(computations):
        if isinstance(one, ValueError):
            raise one
        found.append(one)
    return found


def run(computations: Sequence[Computation[Found]]) -> list[Found | ValueError]:
    """What each of these computations finds, in their order, or the ``ValueError`` that it ended in.

    >>> def root(of):
    ...     return (yield lambda numbers: [number**0.5 for number in numbers], of)
    >>> run([root(4.0), root(9.0)])
    [2.0, 3.0]
    """
    found: dict[int, Found | ValueError] = {}
    waiting: dict[int, Wanted] = {}
    results: dict[int, Any] = dict.fromkeys(range(len(computations)))
    while results:
        for number, result in results.items():
            one = computations[number]
            try:
                waiting[number] = one.throw(result) if isinstance(result, Exception) else one.send(result)
            except StopIteration as end:
                found[number] = end.value
            except ValueError as error:
                found[number] = error
        results = {}
        for function in {wanted[0]: None for wanted in waiting.values()}:
            those = [number for number, wanted in waiting.items() if wanted[0] == function]
            results |= zip(those, each(function, [waiting.pop(number)[1] for number in those]), strict=True)
    return [found[number] for number in range(len(computations))]


def each(function: Callable[[list[Any]], Sequence[Any]], arguments: list[Any]) -> Sequence[Any]:
    """What a function of lists finds; an argument that it raises a ``ValueError`` for does not spoil the others.

    >>> each(lambda texts: [float(text) for text in texts], ["1", "one", "2"])
    [1.0, ValueError("could not convert string to float: 'one'"), 2.0]
    """
    try:
        return function(arguments)
    except ValueError as error:
        return [error] if len(arguments) == 1 else [found for one in arguments for found in each(function, [one])]
