"""The kernel engine: a scenario's flows as Linux's own TCP, over the simulator's links, in real time.

Each run goes in a process of its own, which the kernel kills if this one dies; its network namespaces and devices go
with it.  No root is needed, except for congestion controls that are brought into the kernel (``ratcp``); with root the
emulator also goes before other programs, which makes it more exact.
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import varicap._core as _core
from varicap.engines.limits import MAX_MEMORY, MAX_TIME, refuse
from varicap.engines.precision import below, keeping, replicate
from varicap.engines.scenarios import AnyScenario, load
from varicap.errors import MachineLacksError, NotApplicableError
from varicap.results import watch
from varicap.results.manifest import Request, Which, small_files
from varicap.results.result import Result
from varicap.statistics.progress import Progress, shown

Mode: TypeAlias = Literal["classic", "stock"]
"""``classic`` brings Linux as close to the standards as it can be brought, ``stock`` leaves its recovery, timers and
windows as they are."""


def fitting(scenario: AnyScenario) -> Mode:
    """The mode that means the scenario's TCP: ``stock`` if all of its flows have Linux's stack, else ``classic``."""
    flows = json.loads(load(scenario, ()).to_json())["flows"].values()
    stacks = {flow["tcp"]["stack"] for flow in flows if "tcp" in flow}
    return "stock" if stacks == {"linux"} else "classic"


def run(
    scenario: AnyScenario,
    *,
    seeds: int | None = None,
    seed: int | None = None,
    kernel: Mode | None = None,
    precision: float | None = None,
    max_seeds: int = 1000,
    overrides: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    series: Which | None = None,
    packets: Which | None = None,
    controls: Mapping[str, Any] | None = None,
    queues: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    progress: Progress | None = None,
    live: watch.Watch | None = None,
    folder: str | Path | None = None,
    notify: Callable[[str], None] = warnings.warn,
) -> Result:
    """Run a scenario's flows with Linux's TCP: `seeds` runs in real time (by default one), one after the other.

    The same seed gives the same capacity and the same losses as in the simulator, packet by packet.  The summary's
    ``fidelity`` says how exactly time was kept, whether the runs are valid, and what the kernel does otherwise than the
    scenario says.  `kernel` is the mode, by default the one that `fitting` returns.  `jobs` has no effect.  `live` is
    called with the state of the run (see `varicap.watch`).  `packets` logs what the links did to each packet, with the
    numbers, windows and flags of its real headers.  Runs that would need more than `max_memory` or, in real time,
    `max_time`, all together, are refused, and stopped when they do so: `LimitError`, or
    `varicap.errors.StoppedRunsError` with the result of those that were finished.  A `folder` keeps finished runs while
    others go on, as `varicap.engines.sim.run` says.  Raises `NotApplicableError` with key, value and reason where the
    kernel cannot do what the scenario says, `MachineLacksError` where this machine cannot run it.
    """
    del jobs  # runs beside each other would disturb each other
    if sys.platform != "linux":
        raise MachineLacksError("the kernel engine needs Linux")
    loaded = load(scenario, overrides)
    kernel = kernel or fitting(loaded)
    base_seed = loaded.seed if seed is None else seed
    wanted = 1 if seeds is None else seeds
    if wanted < 1:
        raise ValueError(f"a scenario runs at least once, not {wanted} times")
    if controls:
        raise NotApplicableError("the kernel engine: congestion controls in Python are for the simulator")
    if queues:
        raise NotApplicableError("the kernel engine: queues in Python are for the simulator")
    with _explained():
        _core.kernel_check(loaded, kernel)
    series = loaded.record_series if series is None else series
    packets = loaded.record_packets if packets is None else packets
    budget = _core.Budget(max_memory, max_time)
    named = small_files(loaded)

    def batch(first: int, count: int, before: int, total: int) -> _core.Results:
        # A precision adds runs, which have the same time as all.
        refuse(
            budget,
            loaded,
            runs=total,
            jobs=1,
            series=below(series, total),
            packets=below(packets, total),
            real_time=True,
        )

        def report(share: float, done: int) -> None:
            budget.check_spent()
            if watched is not None:
                watched((before + share) / total, before + done, total)

        replications = range(first, first + count)
        recorded = below(series, first + count), below(packets, first + count)
        keep = None if kept is None or is_alone else kept.add
        return _run_all(loaded, base_seed, replications, kernel, recorded, max_memory, report, keep, live)

    def asked(runs: int) -> Request:
        return Request(loaded, base_seed, runs, series, packets, engine="kernel", kernel=kernel, files=named)

    def made(results: _core.Results) -> Result:
        return Result(asked(results.runs), results)

    is_alone = wanted == 1 and precision is None
    with (
        keeping(folder, partial(asked, wanted), notify, is_alone=is_alone) as kept,
        shown(progress, loaded.name) as watched,
    ):
        return replicate(batch, wanted, precision, max_seeds, made, kept=kept)


@contextmanager
def _explained() -> Iterator[None]:
    """Turn the engine's exceptions into those of all engines."""
    try:
        yield
    except _core.KernelCannotError as error:
        raise NotApplicableError(f"the kernel engine: {error}") from None
    except _core.KernelLacksError as error:
        raise MachineLacksError(f"the kernel engine: {error}; `varicap doctor` says more") from None


def probe() -> list[tuple[str, str | None, str]]:
    """What this machine can do: each with what the system said if it cannot, and what to do.  See `varicap.doctor`."""
    if sys.platform != "linux":
        raise MachineLacksError("the kernel engine needs Linux")
    return [tuple(one) for message, _ in _ask({"probe": True}) for one in message["found"]]


def _run_all(
    scenario: _core.Scenario,
    seed: int,
    replications: range,
    mode: Mode,
    recorded_below: tuple[int, int],
    max_memory: str | None,
    report: Callable[[float, int], None],
    keep: Callable[[list[tuple[int, bytes]]], None] | None,
    live: watch.Watch | None,
) -> _core.Results:
    request = {
        "scenario": scenario.to_json(),
        "name": scenario.name,
        "base_dir": scenario.base_dir,
        "seed": seed,
        "first": replications.start,
        "count": len(replications),
        "mode": mode,
        "series_below": recorded_below[0],
        "packets_below": recorded_below[1],
        "max_memory": max_memory,
        "live": live is not None,
    }
    runs: list[bytes] = []
    for message, data in _ask(request):
        if live is not None and "samples" in message:
            watch.report(live, message["samples"])
            continue
        if data:
            if keep is not None:
                keep([(replications[len(runs)], data)])
            runs.append(data)
        report(len(runs) + message.get("share", 0.0), len(runs))
    return _core.results(scenario, runs)


def _ask(request: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Let a process of its own serve a request: its messages as they come, each with the bytes that follow it."""
    command = [sys.executable, "-m", "varicap.engines.kernel_worker"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as worker:  # noqa: S603 - our own module
        assert worker.stdin is not None and worker.stdout is not None and worker.stderr is not None  # noqa: S101, PT018
        is_done = False
        try:
            worker.stdin.write(json.dumps({"parent": os.getpid(), **request}).encode() + b"\n")
            worker.stdin.flush()
            while line := worker.stdout.readline():
                message = json.loads(line)
                if "error" in message:
                    with _explained():
                        raise getattr(_core, message["error"])(message["text"])
                is_done = message.get("done", False)
                if not is_done:
                    yield message, worker.stdout.read(message.get("bytes", 0))
            if not is_done:
                said = worker.stderr.read().decode(errors="replace").strip().splitlines()
                why = said[-1] if said else "without a word"
                raise _core.RunError(f"the process of the kernel engine ended: {why}")
        finally:
            # Namespaces, devices and sockets go with it.
            worker.kill()
