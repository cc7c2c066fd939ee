"""Runs of a study in guests: Linux's own TCP, in the simulated time of a kernel that was built for it."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import varicap._core as _core
from varicap import kernels
from varicap._files import sha256
from varicap.engines import guests, kernel, modules
from varicap.engines.kernel import Mode
from varicap.results.manifest import GuestKernel
from varicap.results.summary import KINDS, Tables
from varicap.results.tables import arrow, plain


@dataclass(frozen=True)
class Guests:
    """The kernel of a study's guests."""

    kernel: GuestKernel
    folder: str
    """What `varicap.kernels.find` calls it."""
    mode: Mode | None
    """None: what fits the flows of a point."""
    modules: tuple[str, ...] = ()
    """The files of the controls in C that points may name."""

    def described(self) -> dict[str, Any]:
        """What a study's plan has of it."""
        brought = {Path(file).name: sha256(file) for file in self.modules}
        return {
            "engine": "kernel",
            "guest": asdict(self.kernel),
            **({} if self.mode is None else {"kernel": self.mode}),
            **({"modules": brought} if brought else {}),
        }


def chosen(mode: Mode | None, clock: str | None, name: str | None, brought: Sequence[str | Path] | None) -> Guests:
    """The guests that are asked for.  Raises `NoKernelError` if there is no such kernel."""
    if clock not in (None, "simulated"):
        raise ValueError(f"a sweep has the kernel in simulated time only, not clock={clock!r}")
    there = kernels.find(name)
    # Built before runs begin: what the compiler says is not said in each of them.
    files = tuple(os.path.abspath(file) for file in brought or ())  # noqa: PTH100 - links stay as they are
    modules.built(dict(zip(files, map(Path, files), strict=True)), there)
    return Guests(GuestKernel(there.name, there.release, there.digest), there.folder.name, mode, files)


def run(
    asked: Guests,
    number: int,
    scenario: _core.Scenario,
    which: range,
    seed: int,
    limits: Callable[[], guests.Limits],
    go_on: Callable[[], None],
) -> tuple[Tables, float]:
    """Run replications of the point `number` one after the other: their tables, and how long that took [s].

    Each has `limits` of its own; `go_on` may raise, which ends the guest.
    """
    there = kernels.find(asked.folder)
    begin = time.perf_counter()
    files = modules.chosen(scenario, asked.modules, is_each_used=False)
    pieces: dict[str, list[pa.Table]] = {kind: [] for kind in KINDS}
    for replication in which:
        limit = limits()

        def look(spent_s: float, used: int, limit: guests.Limits = limit) -> None:
            go_on()
            limit(spent_s, used)

        found = kernel.replications(
            scenario,
            there,
            range(replication, replication + 1),
            seed=seed,
            mode=asked.mode or kernel.fitting(scenario),
            modules=files,
            look=look,
        )
        for kind in KINDS:
            pieces[kind].append(_of_point(number, arrow(plain(getattr(found, kind)()))))
    return {kind: pa.concat_tables(rows) for kind, rows in pieces.items()}, time.perf_counter() - begin


def _of_point(number: int, rows: pa.Table) -> pa.Table:
    """Rows with the number of their point before all others, as the simulator's tables of a study have it."""
    described = {"unit": "1", "description": "Number of the point, from zero."}
    field = pa.field("point", pa.int64(), metadata=described)
    return rows.add_column(0, field, pa.array([number] * rows.num_rows, pa.int64()))
