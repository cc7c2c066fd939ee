"""A little of Tcl: words, variables, sums and loops over numbers, as scripts of ns-2 have them.  Nothing is run.

Commands are given to whoever asks, word by word; what is not understood stays as it is written.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from varicap.importers.source import Source

_MOST_STEPS = 50_000
_DEEPEST = 20
_VARIABLE = re.compile(r"\$(?:\{([^}]+)\}|([A-Za-z_][\w:]*(?:\([^()]*\))?))")
_SUMS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_COMPARED: dict[type, Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True)
class Word:
    """A word and how it was written: in braces nothing is put in its place."""

    text: str
    is_braced: bool = False


@dataclass
class Tcl:
    """Reads a script, and calls `command` for each command with its line and words; it answers the value of ``[…]``."""

    source: Source
    command: Callable[[int, list[str]], str | None]
    variables: dict[str, str] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    """Variables whose values come from outside, and stay."""
    procedures: dict[str, tuple[list[str], str, int]] = field(default_factory=dict)
    steps: int = 0

    def run(self, text: str, line: int = 1, depth: int = 0) -> str:
        """Goes through the commands of a text that begins at a line; the value of the last one."""
        if depth > _DEEPEST:
            raise self.source.error(line, f"commands within commands {depth} deep", f"at most {_DEEPEST}")
        value = ""
        for number, words in self._split(text, line):
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise self.source.error(number, f"more than {_MOST_STEPS} commands", "a script of fewer")
            filled = [word.text if word.is_braced else self._filled(word.text, number, depth) for word in words]
            value = self._do(number, filled, depth)
        return value

    def _do(self, line: int, words: list[str], depth: int) -> str:
        name = words[0] if words else ""
        if name == "set" and len(words) == 3:
            if words[1] not in self.given:
                self.variables[words[1]] = words[2]
            return self.variables.get(words[1], words[2])
        if name == "set" and len(words) == 2:
            return self.variables.get(words[1], "")
        if name == "incr" and len(words) >= 2:
            step = self.sum(words[2]) if len(words) > 2 else 1.0
            before = self.sum(self.variables.get(words[1], "0"))
            self.variables[words[1]] = _plain((before or 0.0) + (step or 0.0))
            return self.variables[words[1]]
        if name == "return":
            return words[1] if len(words) > 1 else ""
        if name == "expr":
            value = self.sum(self._filled(" ".join(words[1:]), line, depth))
            return "[expr]" if value is None else _plain(value)
        if name == "proc" and len(words) == 4:
            self.procedures[words[1]] = (words[2].split(), words[3], line)
            return ""
        if name == "for" and len(words) == 5:
            self.run(words[1], line, depth + 1)
            while self._holds(words[2], line, depth):
                self.run(words[4], line, depth + 1)
                self.run(words[3], line, depth + 1)
            return ""
        if name == "foreach" and len(words) == 4:
            for item in words[2].split():
                self.variables[words[1]] = item
                self.run(words[3], line, depth + 1)
            return ""
        if name == "if" and len(words) >= 3:
            return self._if(line, words[1:], depth)
        if name in self.procedures:
            names, body, at = self.procedures[name]
            for parameter, argument in zip(names, words[1:], strict=False):
                self.variables[parameter] = argument
            return self.run(body, at, depth + 1)
        answer = self.command(line, words)
        return f"[{' '.join(words)}]" if answer is None else answer

    def _if(self, line: int, words: list[str], depth: int) -> str:
        while len(words) >= 2:
            condition, body = words[0], words[2] if words[1] == "then" and len(words) > 2 else words[1]
            if self._holds(condition, line, depth):
                return self.run(body, line, depth + 1)
            words = words[3:] if words[1] == "then" else words[2:]
            if words and words[0] == "elseif":
                words = words[1:]
            elif words and words[0] == "else":
                return self.run(words[1], line, depth + 1) if len(words) > 1 else ""
            else:
                return ""
        return ""

    def _holds(self, condition: str, line: int, depth: int) -> bool:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise self.source.error(line, f"more than {_MOST_STEPS} commands", "a script of fewer")
        return bool(self.sum(self._filled(condition, line, depth)))

    def sum(self, text: str) -> float | None:
        """The value of a sum of numbers, if it is one.

        >>> Tcl(Source("a", ""), lambda line, words: None).sum("2 * (3 + 1) / 4.0")
        2.0
        """
        if len(text) > 500:
            return None
        try:
            value = _evaluated(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
            return None
        return value if value == value and abs(value) < 1e18 else None

    def _filled(self, text: str, line: int, depth: int) -> str:
        """A word with variables and bracketed commands in their places."""
        if "[" in text:
            text = self._bracketed(text, line, depth)
        for _ in range(3):  # the index of an array may be a variable
            filled = _VARIABLE.sub(lambda match: self._value(match[1] or match[2], match[0]), text)
            if filled == text:
                break
            text = filled
        return text

    def _value(self, name: str, written: str) -> str:
        if name in self.variables:
            return self.variables[name]
        if "(" in name:
            inner = _VARIABLE.sub(lambda match: self._value(match[1] or match[2], match[0]), name)
            return self.variables.get(inner, written)
        return written

    def _bracketed(self, text: str, line: int, depth: int) -> str:
        out, at = "", 0
        while (begin := text.find("[", at)) >= 0:
            end = _closing(text, begin, "[", "]")
            if end is None:
                break
            out += text[at:begin] + self.run(text[begin + 1 : end], line, depth + 1)
            at = end + 1
        return out + text[at:]

    def _split(self, text: str, line: int) -> Iterator[tuple[int, list[Word]]]:
        """The commands of a text, each with its line."""
        at, words, begun = 0, list[Word](), line
        while at < len(text):
            char = text[at]
            if char == "#" and not words:
                at = _end_of_line(text, at)
            elif char in "\n;":
                if words:
                    yield begun, words
                    words = []
                line += char == "\n"
                at += 1
            elif text.startswith("\\\n", at):
                line, at = line + 1, at + 2
            elif char.isspace():
                at += 1
            else:
                begun = begun if words else line
                word, after = self._word(text, at, line)
                words.append(word)
                line += text.count("\n", at, after)
                at = after
        if words:
            yield begun, words

    def _word(self, text: str, at: int, line: int) -> tuple[Word, int]:
        if text[at] == "{":
            end = _closing(text, at, "{", "}")
            if end is None:
                raise self.source.error(line, text[at : at + 40].split("\n")[0], "a closing brace")
            return Word(text[at + 1 : end], is_braced=True), end + 1
        if text[at] == '"':
            end = at + 1
            while end < len(text) and text[end] != '"':
                if text[end] == "[":
                    end = _closing(text, end, "[", "]") or end
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                raise self.source.error(line, text[at : at + 40].split("\n")[0], "a closing quotation mark")
            return Word(text[at + 1 : end]), end + 1
        end = at
        while end < len(text) and not text[end].isspace() and text[end] != ";":
            if text[end] == "[":
                closing = _closing(text, end, "[", "]")
                if closing is None:
                    raise self.source.error(line, text[at : at + 40].split("\n")[0], "a closing bracket")
                end = closing
            end += 2 if text[end] == "\\" and end + 1 < len(text) and text[end + 1] != "\n" else 1
            if end < len(text) and text.startswith("\\\n", end):
                break
        return Word(text[at:end]), min(end, len(text))


def _end_of_line(text: str, at: int) -> int:
    while (end := text.find("\n", at)) > 0 and text[end - 1] == "\\":
        at = end + 1
    return len(text) if end < 0 else end


def _closing(text: str, at: int, opens: str, closes: str) -> int | None:
    """Where what opens at a place closes."""
    depth = 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == opens:
            depth += 1
        elif text[at] == closes:
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return None


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.12g}"


def _evaluated(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluated(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _SUMS:
        return _SUMS[type(node.op)](_evaluated(node.left), _evaluated(node.right))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
        return float(_COMPARED[type(node.ops[0])](_evaluated(node.left), _evaluated(node.comparators[0])))
    raise ValueError("no sum")
