"""Runs of the kernel on disk: an interrupted table resumes where it was.

Each valid run is a line of ``runs.jsonl`` with what it depends on.  A line that was cut off, or belongs to another
scenario, trace or kernel, is not read; one of another revision of varicap is read on demand.  Runs of the simulator are
cheap and always made anew.
"""

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from varicap._folders import Folder, parsed
from varicap.validate.rules import Numbers

FILE = "runs.jsonl"

Flows = dict[str, Numbers]
"""The numbers of each flow of a run."""


@dataclass(frozen=True)
class Wanted:
    """What a run of the kernel depends on, but for its seed."""

    written: str
    """A digest of the scenario as it is written, and of its traces."""
    digest: str
    """A digest of what the scenario means, of its traces, and of the varicap that runs it."""
    revision: str
    """That varicap, for a reader."""


@dataclass(frozen=True)
class Kept:
    """A valid run."""

    flows: Flows
    revision: str
    """The varicap that made it."""


class Store:
    """Valid runs of the kernel by what they depend on and their seed; kept in a folder if there is one.

    With `any_revision` a run that another revision of varicap made of the same scenario counts as well, the last one if
    there are several.
    """

    def __init__(self, folder: Path | None, any_revision: bool = False) -> None:
        self._folder = folder
        self._by = "written" if any_revision else "digest"
        self._runs: dict[tuple[str, int], Kept] = {}
        self._is_cut = False
        """Whether the file ends within a line."""
        if folder is not None:
            with Folder(folder, make=True) as there:
                if there.is_file(FILE):
                    self._read(there.read(FILE).decode(errors="replace"))

    def _read(self, text: str) -> None:
        self._is_cut = bool(text) and not text.endswith("\n")
        for line in text.splitlines():
            try:
                read: dict[str, Any] = parsed(line.encode())
                key = (str(read[self._by]), int(read["seed"]))
                flows: Flows = {str(name): dict(numbers) for name, numbers in read["flows"].items()}
                revision = str(read["revision"])
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # the process died while it wrote
            if read.get("kernel") == platform.release():
                self._runs[key] = Kept(flows, revision)

    def get(self, wanted: Wanted, seed: int) -> Kept | None:
        """A run that is there."""
        return self._runs.get((getattr(wanted, self._by), seed))

    def add(self, wanted: Wanted, seed: int, case: str, flows: Flows) -> None:
        """Keep a valid run, at once."""
        self._runs[getattr(wanted, self._by), seed] = Kept(flows, wanted.revision)
        if self._folder is None:
            return
        line = {"case": case, **vars(wanted), "seed": seed, "kernel": platform.release(), "flows": flows}
        with Folder(self._folder, make=True) as folder:
            # A line that a dying process cut off must not spoil the next one.
            folder.append(FILE, (("\n" if self._is_cut else "") + json.dumps(line) + "\n").encode())
        self._is_cut = False
