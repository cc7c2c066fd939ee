"""Blocks of assertions ``%{ … }%``: a small part of Python, which is walked through and never executed as Python.

A block can compare, calculate and print; it reaches nothing but its own names and what `TCP_INFO` shows.  It has no
loops, and every value in it is small: numbers of 256 bits, and texts and tuples of a thousand letters and values.  So
no block takes long, or much memory.
"""

import ast
import operator
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from varicap.dialogue.script import Code

Known: TypeAlias = "int | float | str | bool | None"

_MOST_BITS = 256
"""Of a whole number."""
_LONGEST = 1000
"""Letters of a text; letters and values of a tuple, with those of the tuples in it."""
_MOST_DIGITS = 300
"""To which a number is rounded, in front of the point or behind it: floats have no more."""

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "bool": bool,
    "float": float,
    "int": int,
    "max": max,
    "min": min,
    "print": lambda *_: None,
    "round": lambda value, digits=None: round(value, None if digits is None else _digits(digits)),
    "str": lambda value: str(value)[:_LONGEST],
}
_NODES = (
    *(ast.Module, ast.Expr, ast.Assert, ast.Assign, ast.AugAssign, ast.If, ast.Pass, ast.Load, ast.Store),
    *(ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.IfExp, ast.Call),
    ast.Tuple,
    *_OPERATORS,
    *_COMPARISONS,
    *_SIGNS,
)
"""All of Python that a block may contain."""


def _digits(digits: Any) -> Any:
    """How far a number is rounded; ten to the power of it is worked out."""
    if isinstance(digits, int) and abs(digits) > _MOST_DIGITS:
        raise ValueError(f"rounded to more than {_MOST_DIGITS} digits")
    return digits


def _too_large(value: Any) -> str | None:
    """Why a value is too large for a block, if it is."""
    if isinstance(value, int):
        return "a number that is too large" if value.bit_length() > _MOST_BITS else None
    return f"a value of more than {_LONGEST} letters" if _size(value) > _LONGEST else None


def _size(value: Any) -> int:
    """The letters and values of a value; tuples are made of values that are small, so that this ends soon."""
    if isinstance(value, tuple):
        return len(value) + sum(map(_size, value))
    return len(value) if isinstance(value, str) else 1


class AssertFailedError(Exception):
    """An assertion that does not hold: its line in the script, its text, and the values of the names in it."""

    def __init__(self, line: int, text: str, values: str) -> None:
        super().__init__(f"assert {text}: {values}" if values else f"assert {text}")
        self.line, self.text, self.values = line, text, values


class CodeError(Exception):
    """A block that cannot be read or worked out: the line in the script, and why."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line, self.message = line, message


class UnknownError(CodeError):
    """A block that uses what this evaluator leaves out of Python, or a name that the simulation does not have."""


class Block:
    """A block of a script, read and found to be in the language."""

    def __init__(self, code: Code, line: int) -> None:
        # The first line begins after `%{`, wherever that stands; only the others are indented.
        first, newline, rest = code.text.partition("\n")
        self.source = f"{first.strip()}{newline}{textwrap.dedent(rest)}".rstrip()
        # A line may end with a backslash.
        self.source += "\n\n"
        self.first = line
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(self.source)
        except SyntaxError as error:
            raise CodeError(self.first + (error.lineno or 1) - 1, f"the block is not Python: {error.msg}") from None
        except (RecursionError, MemoryError, ValueError):
            raise CodeError(self.first, "the block is nested too deeply or contains a null character") from None
        for node in ast.walk(self.tree):
            self._check(node)

    def _check(self, node: ast.AST) -> None:
        what = None
        if isinstance(node, ast.Constant):
            what = None if isinstance(node.value, int | float | str | None) else type(node.value).__name__
            if what is None and (large := _too_large(node.value)) is not None:
                raise CodeError(self._line(node), large)
        elif isinstance(node, ast.Call):
            named = node.func.id if isinstance(node.func, ast.Name) else "an expression"
            if named not in _FUNCTIONS or node.keywords:
                what = f"a call of {named}"
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            what = None if all(isinstance(target, ast.Name) for target in targets) else "assignment to other than names"
        elif isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple) and node.test.elts:
            raise CodeError(self._line(node), "the assertion of a tuple always holds: write it without parentheses")
        elif isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and isinstance(node.test.value, str):
            raise CodeError(self._line(node), "the assertion of a text says nothing: write it without quotes")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.startswith("tcpi_"):
            raise CodeError(self._line(node), f"{node.id} is what TCP_INFO shows, and cannot be assigned")
        elif not isinstance(node, _NODES):
            what = type(node).__name__.lower()
        if what is not None:
            raise UnknownError(self._line(node), f"{what} in a block of code")

    def names(self) -> set[str]:
        """The names that it reads, and nothing assigns."""
        names = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        return names - self.stored() - _FUNCTIONS.keys()

    def stored(self) -> set[str]:
        """The names that it assigns."""
        names = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name))
        return {node.id for node in names if isinstance(node.ctx, ast.Store)}

    def run(self, known: Mapping[str, Known], kept: dict[str, Any]) -> None:
        """Go through the block with the names `known`; what it assigns is in `kept` for the blocks after it.

        Raises:
            AssertFailedError: an assertion does not hold.
            CodeError: something has no value, such as a division by zero.
        """
        try:
            for statement in self.tree.body:
                self._execute(statement, known, kept)
        except RecursionError:
            raise CodeError(self.first, "the block is nested too deeply") from None

    def _line(self, node: ast.AST) -> int:
        return self.first + getattr(node, "lineno", 1) - 1

    def _execute(self, statement: ast.stmt, known: Mapping[str, Known], kept: dict[str, Any]) -> None:
        def value(node: ast.expr) -> Any:
            return self._value(node, known, kept)

        match statement:
            case ast.Assert(test=test):
                if not value(test):
                    text = ast.get_source_segment(self.source, test) or ""
                    names = sorted({node.id for node in ast.walk(test) if isinstance(node, ast.Name)})
                    found = {name: kept.get(name, known.get(name)) for name in names if name not in _FUNCTIONS}
                    said = ", ".join(f"{name} is {held}" for name, held in found.items() if not name.isupper())
                    raise AssertFailedError(self._line(statement), text, said)
            case ast.Assign(targets=targets, value=node):
                result = value(node)
                kept.update((target.id, result) for target in targets if isinstance(target, ast.Name))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=node):
                before = ast.copy_location(ast.Name(name, ast.Load()), statement)
                kept[name] = self._calculate(statement, op, value(before), value(node))
            case ast.If(test=test, body=body, orelse=orelse):
                for inner in body if value(test) else orelse:
                    self._execute(inner, known, kept)
            case ast.Expr(value=node):
                value(node)

    def _value(self, node: ast.expr, known: Mapping[str, Known], kept: dict[str, Any]) -> Any:
        def value(inner: ast.expr) -> Any:
            return self._value(inner, known, kept)

        match node:
            case ast.Constant(value=constant):
                return constant
            case ast.Name(id=name):
                if name in kept:
                    return kept[name]
                if name in known:
                    return known[name]
                raise UnknownError(self._line(node), f"the name {name}")
            case ast.Tuple(elts=parts):
                return self._try(node, lambda *values: values, *map(value, parts))
            case ast.BinOp(left=left, op=op, right=right):
                return self._calculate(node, op, value(left), value(right))
            case ast.UnaryOp(op=sign, operand=operand):
                return self._try(node, _SIGNS[type(sign)], value(operand))
            case ast.BoolOp(op=op, values=parts):
                is_and, result = isinstance(op, ast.And), None
                for part in parts:
                    result = value(part)
                    if bool(result) is not is_and:
                        break
                return result
            case ast.Compare(left=left, ops=ops, comparators=others):
                before = value(left)
                for comparison, other in zip(ops, others, strict=True):
                    after = value(other)
                    if not self._try(node, _COMPARISONS[type(comparison)], before, after):
                        return False
                    before = after
                return True
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return value(body) if value(test) else value(orelse)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._try(node, _FUNCTIONS[name], *map(value, arguments))
        raise UnknownError(self._line(node), f"{type(node).__name__.lower()} in a block of code")

    def _calculate(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        """An operation on two values, unless it could take long, or its result be very large."""
        if isinstance(left, str) and isinstance(op, ast.Mod):
            # '%d' % value: a width may not be computed, or long.
            if re.search(r"%[^a-zA-Z%]*(\*|\d{3})", left):
                raise CodeError(self._line(node), "a format that is too wide")
        elif isinstance(left, str | tuple) or isinstance(right, str | tuple):
            if isinstance(left, tuple) or isinstance(right, tuple):
                raise CodeError(self._line(node), "an operation on a tuple")
            if not isinstance(op, ast.Add) or len(str(left)) + len(str(right)) > _LONGEST:
                raise CodeError(self._line(node), "an operation on text other than joining short ones")
        elif isinstance(op, ast.LShift) and isinstance(right, int) and right > _MOST_BITS:
            raise CodeError(self._line(node), "a number that is too large")
        return self._try(node, _OPERATORS[type(op)], left, right)

    def _try(self, node: ast.AST, function: Callable[..., Any], *values: Any) -> Any:
        """What a function makes of values, unless that is too large: the only place where values come from."""
        try:
            result = function(*values)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise CodeError(self._line(node), str(error)) from None
        if (large := _too_large(result)) is not None:
            raise CodeError(self._line(node), large)
        return result
