"""Pages of the notebooks in examples/notebooks, with what their cells are stored to show."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generated import keep
from sphinx.application import Sphinx

NOTEBOOKS = Path(__file__).parents[2] / "examples/notebooks"


def blocks(cells: list[dict[str, Any]], name: str, pictures: dict[str, bytes]) -> Iterator[str]:
    """The cells as Markdown; collects the pictures by the names of their files."""
    for cell in cells:
        source = "".join(cell["source"])
        yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
        for output in cell.get("outputs", []):
            shown = output.get("data", {"text/plain": output.get("text", [])})
            if "image/png" in shown:
                file = f"{name}-{len(pictures) + 1}.png"
                pictures[file] = base64.b64decode(shown["image/png"])
                yield f"![{''.join(shown['text/plain'])}]({file})"
            elif "text/html" in shown:
                yield f"```{{raw}} html\n{''.join(shown['text/html'])}\n```"
            else:
                yield f"```text\n{''.join(shown['text/plain']).rstrip()}\n```"


def page(file: Path) -> tuple[str, dict[str, bytes]]:
    """The page of a notebook, and its pictures."""
    content = json.loads(file.read_text(encoding="utf-8"))
    pictures: dict[str, bytes] = {}
    text = "\n\n".join(blocks(content["cells"], file.stem, pictures))
    where = f"This page is the notebook `examples/notebooks/{file.name}`."
    return f"{text}\n\n{where}\n", pictures


def write(app: Sphinx) -> None:
    """Write the pages."""
    folder = Path(app.srcdir) / "notebooks"
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        text, pictures = page(file)
        keep(folder / f"{file.stem}.md", text)
        for name, picture in pictures.items():
            path = folder / name
            if not path.is_file() or path.read_bytes() != picture:
                path.write_bytes(picture)


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
