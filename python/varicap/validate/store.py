"""Runs of kernels on disk: an interrupted table resumes where it was.

Each valid run is a line of ``runs.jsonl`` with what it depends on, and so is what came of comparing two runs' packets.
A line that was cut off, or belongs to another scenario, trace or kernel, is not read; one of another revision of
varicap is read on demand.  Runs of the simulator are cheap and always made anew.
"""

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from varicap._folders import Folder, parsed
from varicap.kernels import Kernel
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
    log: str | None = None
    """The digest of what happened to its packets, if they were compared."""


class Store:
    """Valid runs of kernels by what they depend on, their seed and the kernel; kept in a folder if there is one.

    With `any_revision` a run that another revision of varicap made of the same scenario counts as well, the last one if
    there are several.
    """

    def __init__(self, folder: Path | None, any_revision: bool = False) -> None:
        self._folder = folder
        self._by = "written" if any_revision else "digest"
        self._runs: dict[tuple[str, int, Which], Kept] = {}
        self._compared: dict[tuple[str, str], dict[str, Any]] = {}
        self._writing = Lock()
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
                if "logs" in read:
                    one, other = map(str, read["logs"])
                    self._compared[one, other] = dict(read["compared"])
                    continue
                kernel = str(read["kernel"]), read.get("kernel_name"), read.get("kernel_digest")
                key = (str(read[self._by]), int(read["seed"]), kernel)
                flows: Flows = {str(name): dict(numbers) for name, numbers in read["flows"].items()}
                revision = str(read["revision"])
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # the process died while it wrote
            self._runs[key] = Kept(flows, revision, read.get("log"))

    def get(self, wanted: Wanted, seed: int, kernel: Kernel | None = None) -> Kept | None:
        """A run that is there: of a kernel in simulated time, or of the one that runs here in real time."""
        return self._runs.get((getattr(wanted, self._by), seed, _which(kernel)))

    def add(
        self,
        wanted: Wanted,
        seed: int,
        case: str,
        flows: Flows,
        kernel: Kernel | None = None,
        log: str | None = None,
    ) -> None:
        """Keep a valid run, at once."""
        release, name, digest = which = _which(kernel)
        self._runs[getattr(wanted, self._by), seed, which] = Kept(flows, wanted.revision, log)
        line = {"case": case, **vars(wanted), "seed": seed, "kernel": release}
        if kernel is not None:
            line |= {"kernel_name": name, "kernel_digest": digest, "clock": "simulated", "log": log}
        self._write({**line, "flows": flows})

    def compared(self, logs: tuple[str, str]) -> dict[str, Any] | None:
        """What came of comparing two logs, by their digests."""
        return self._compared.get(logs)

    def add_compared(self, logs: tuple[str, str], compared: dict[str, Any]) -> None:
        """Keep what came of comparing two logs."""
        self._compared[logs] = compared
        self._write({"logs": list(logs), "compared": compared})

    def _write(self, line: dict[str, Any]) -> None:
        if self._folder is None:
            return
        with self._writing, Folder(self._folder, make=True) as folder:
            # A line that a dying process cut off must not spoil the next one.
            folder.append(FILE, (("\n" if self._is_cut else "") + json.dumps(line) + "\n").encode())
            self._is_cut = False


Which: TypeAlias = tuple[str, str | None, str | None]
"""A kernel: its release and, where its time is simulated, its name and what it was built from."""


def _which(kernel: Kernel | None) -> Which:
    return (platform.release(), None, None) if kernel is None else (kernel.release, kernel.name, kernel.digest)
