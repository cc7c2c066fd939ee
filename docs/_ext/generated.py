"""What pages that are written from the code have in common."""

from pathlib import Path


def keep(file: Path, text: str) -> None:
    """Write `text`, unless it is there already: Sphinx reads a page again when its file is newer."""
    file.parent.mkdir(exist_ok=True)
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
