"""Runs of the kernel on disk: an interrupted table resumes where it was.

Each valid run is a line of ``runs.jsonl`` with a digest of what it depends on.  A line that was cut off, or belongs to
another scenario, trace, varicap or kernel, is not read.  Runs of the simulator are cheap and always made anew.
"""

import json
import platform
from pathlib import Path
from typing import Any

from varicap.validate.rules import Numbers

FILE = "runs.jsonl"

Flows = dict[str, Numbers]
"""The numbers of each flow of a run."""


class Store:
    """Valid runs of the kernel by what they depend on and their seed; kept in a folder if there is one."""

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / FILE
        self._runs: dict[tuple[str, int], Flows] = {}
        self._is_cut = False
        """Whether the file ends within a line."""
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        if self._file is not None and self._file.exists():
            self._read(self._file.read_text(encoding="utf-8"))

    def _read(self, text: str) -> None:
        self._is_cut = bool(text) and not text.endswith("\n")
        for line in text.splitlines():
            try:
                read: dict[str, Any] = json.loads(line)
                key = (str(read["digest"]), int(read["seed"]))
                flows: Flows = {str(name): dict(numbers) for name, numbers in read["flows"].items()}
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # the process died while it wrote
            if read.get("kernel") == platform.release():
                self._runs[key] = flows

    def get(self, digest: str, seed: int) -> Flows | None:
        """A run that is there."""
        return self._runs.get((digest, seed))

    def add(self, digest: str, seed: int, case: str, flows: Flows) -> None:
        """Keep a valid run, at once."""
        self._runs[digest, seed] = flows
        if self._file is None:
            return
        line = {"case": case, "digest": digest, "seed": seed, "kernel": platform.release(), "flows": flows}
        with self._file.open("a", encoding="utf-8") as file:
            # A line that a dying process cut off must not spoil the next one.
            file.write(("\n" if self._is_cut else "") + json.dumps(line) + "\n")
        self._is_cut = False
