"""Values of plain Python expressions, from their syntax alone: nothing is run."""

import ast
import operator
import re
from collections.abc import Callable
from typing import Any, TypeAlias

Value: TypeAlias = Any

_MOST = 10_000
"""Items of a list, or characters of a text."""
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "round": round,
    "max": max,
    "min": min,
    "len": len,
}


class UnknownError(Exception):
    """An expression whose value is not known without running it."""


def value(node: ast.expr, names: dict[str, Value]) -> Value:
    """The value of an expression of constants and known names.  Raises `UnknownError`.

    >>> value(ast.parse("'%dms' % (2 * delay)", mode="eval").body, {"delay": 5})
    '10ms'
    """
    try:
        found = _value(node, names)
    except (TypeError, ValueError, ArithmeticError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise UnknownError from error
    return _bounded(found)


def _bounded(found: Value) -> Value:
    if isinstance(found, str | list | tuple | dict | range) and len(found) > _MOST:
        raise UnknownError
    if isinstance(found, int) and abs(found) > 10**18:
        raise UnknownError
    return found


def _value(node: ast.expr, names: dict[str, Value]) -> Value:
    match node:
        case ast.Constant(value=str() | int() | float() | bool() | None):
            return node.value
        case ast.Name():
            if node.id not in names:
                raise UnknownError(node.id)
            return names[node.id]
        case ast.List() | ast.Tuple():
            return [value(item, names) for item in node.elts]
        case ast.Dict():
            return {
                value(key, names): value(item, names)
                for key, item in zip(node.keys, node.values, strict=True)
                if key is not None
            }
        case ast.UnaryOp(op=ast.USub()):
            return -value(node.operand, names)
        case ast.BinOp():
            return _binary(node, names)
        case ast.JoinedStr():
            return "".join(_piece(part, names) for part in node.values)
        case ast.Subscript():
            return value(node.value, names)[value(node.slice, names)]
        case ast.Call():
            return _call(node, names)
        case ast.IfExp() if isinstance(node.test, ast.Name | ast.Constant):
            return value(node.body if value(node.test, names) else node.orelse, names)
    raise UnknownError


def _binary(node: ast.BinOp, names: dict[str, Value]) -> Value:
    left, right = value(node.left, names), value(node.right, names)
    kind = type(node.op)
    if kind not in _BINARY:
        raise UnknownError
    if kind is ast.Mod and isinstance(left, str):
        _plain_format(left)
        return left % (tuple(right) if isinstance(right, list) else right)
    if kind is ast.Mult and not (isinstance(left, int | float) and isinstance(right, int | float)):
        raise UnknownError  # a text or a list, many times
    return _BINARY[kind](left, right)


def _plain_format(text: str) -> None:
    """Refuses widths, with which a few characters become many."""
    if re.search(r"%[-+ #0]*[*\d]", text):
        raise UnknownError


def _piece(part: ast.expr, names: dict[str, Value]) -> str:
    if isinstance(part, ast.FormattedValue):
        found = value(part.value, names)
        spec = "" if part.format_spec is None else str(value(part.format_spec, names))
        return _formatted(found, spec)
    return str(value(part, names))


def _formatted(found: Value, spec: str) -> str:
    if spec and spec not in ("d", "s", "f", ".0f", ".1f", ".2f", ".3f", "g"):
        raise UnknownError
    return format(found, spec)


def _call(node: ast.Call, names: dict[str, Value]) -> Value:
    arguments = [value(argument, names) for argument in node.args if not isinstance(argument, ast.Starred)]
    keywords = {each.arg: value(each.value, names) for each in node.keywords if each.arg is not None}
    match node.func:
        case ast.Name(id="dict"):
            return {**(arguments[0] if arguments else {}), **keywords}
        case ast.Name(id="range"):
            return list(_bounded(range(*arguments)))
        case ast.Name(id="str" | "int" | "float" | "round" | "max" | "min" | "len" as name):
            return _FUNCTIONS[name](*arguments)
        case ast.Attribute(attr="format"):
            text = value(node.func.value, names)
            return _format(text, arguments, keywords)
    raise UnknownError


def _format(text: str, arguments: list[Value], keywords: dict[str, Value]) -> str:
    """`text.format(…)` with plain fields only."""
    out, at, number = "", 0, 0
    while (begin := text.find("{", at)) >= 0:
        end = text.find("}", begin)
        if end < 0 or text[begin : begin + 2] == "{{":
            raise UnknownError
        name, _, spec = text[begin + 1 : end].partition(":")
        if not name:
            found, number = arguments[number], number + 1
        elif name.isdigit():
            found = arguments[int(name)]
        else:
            found = keywords[name]
        out, at = out + text[at:begin] + _formatted(found, spec), end + 1
    return out + text[at:]
