"""Notebooks: their cells run as a kernel would run them, and what they show compared with what is stored.

Jupyter itself is not needed: a cell is Python, and shows what it prints and the value of its last expression.
"""

import ast
import base64
import io
import json
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Output = dict[str, Any]


@dataclass
class Notebook:
    """A notebook whose cells are run in order, in one namespace."""

    file: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def __post_init__(self) -> None:
        self.content = json.loads(self.file.read_text(encoding="utf-8"))

    @property
    def code(self) -> list[dict[str, Any]]:
        """The cells of code."""
        return [cell for cell in self.content["cells"] if cell["cell_type"] == "code"]

    def run(self) -> list[list[Output]]:
        """What each cell of code shows."""
        return [self._run(cell, number) for number, cell in enumerate(self.code, 1)]

    def save(self, outputs: list[list[Output]]) -> None:
        """Store what the cells show."""
        for number, (cell, shown) in enumerate(zip(self.code, outputs, strict=True), 1):
            cell |= {"execution_count": number, "outputs": shown}
        text = json.dumps(self.content, indent=1, ensure_ascii=False) + "\n"
        self.file.write_text(text, encoding="utf-8", newline="\n")

    def _run(self, cell: dict[str, Any], number: int) -> list[Output]:
        tree = ast.parse("".join(cell["source"]), f"{self.file.name}[{number}]")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed, value = io.StringIO(), None
        with redirect_stdout(printed):
            exec(compile(tree, self.file.name, "exec"), self.names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), self.file.name, "eval"), self.names)
        outputs: list[Output] = []
        if printed.getvalue():
            outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
        if value is not None:
            result = {"data": data(value), "execution_count": number, "metadata": {}, "output_type": "execute_result"}
            outputs.append(result)
        return outputs


def lines(text: str) -> list[str]:
    """As notebooks store text."""
    return text.splitlines(keepends=True)


def data(value: Any) -> dict[str, Any]:
    """What a value offers to show."""
    shown: dict[str, Any] = {}
    if picture := getattr(value, "_repr_png_", None):
        shown["image/png"] = base64.b64encode(picture()).decode()
    if table := getattr(value, "_repr_html_", None):
        shown["text/html"] = lines(table() or "")
    shown = {kind: content for kind, content in shown.items() if content}
    return {**shown, "text/plain": lines(repr(value))}


def comparable(outputs: list[list[Output]]) -> Any:
    """Outputs without the pixels, which differ from one version of Matplotlib to the next."""

    def masked(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: "pixels" if key == "image/png" else masked(item) for key, item in value.items()}
        return [masked(item) for item in value] if isinstance(value, list) else value

    return masked(outputs)
