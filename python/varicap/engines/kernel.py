"""The kernel engine: a scenario's flows as Linux's own TCP, over the simulator's links.

In simulated time each run has a kernel of its own, one that `varicap kernel build` made, as an ordinary process
(`varicap.engines.guests`): the same run gives the same bytes, however busy the machine is, and needs no rights.

In real time it is the kernel that runs here: each run goes in a process of its own, which the kernel kills if this one
dies; its network namespaces and devices go with it.  No root is needed, except for congestion controls that are brought
into the kernel (``ratcp``); with root the emulator also goes before other programs, which makes it more exact.
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import varicap._core as _core
from varicap import kernels, watch
from varicap.engines import guests
from varicap.engines import modules as in_c
from varicap.engines.limits import MAX_MEMORY, MAX_TIME, refuse
from varicap.engines.precision import below, keeping, replicate
from varicap.engines.scenarios import AnyScenario, load
from varicap.errors import MachineLacksError, NotApplicableError
from varicap.results.manifest import GuestKernel, Request, Which, small_files
from varicap.results.result import Result
from varicap.statistics.progress import Progress, shown

Clock: TypeAlias = Literal["simulated", "real"]
"""``simulated`` is the time of a kernel that was built for it, ``real`` that of the kernel that runs here."""

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
    clock: Clock | None = None,
    kernel_name: str | None = None,
    modules: Sequence[str | Path] | None = None,
    precision: float | None = None,
    max_seeds: int = 1000,
    overrides: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    series: Which | None = None,
    packets: Which | None = None,
    controls: Mapping[str, Any] | None = None,
    queues: Mapping[str, Any] | None = None,
    endpoints: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    progress: Progress | None = None,
    live: watch.Watch | None = None,
    folder: str | Path | None = None,
    notify: Callable[[str], None] = warnings.warn,
) -> Result:
    """Run a scenario's flows with Linux's TCP, in `clock` time: ``simulated`` where a kernel was built for it.

    The same seed gives the same capacity and the same losses as in the simulator, packet by packet.  `kernel` is the
    mode, by default the one that `fitting` returns.  In simulated time `seeds` (by default what the scenario says) runs
    go `jobs` at a time, each in the kernel called `kernel_name` (by default the newest that was built), and the same
    call gives the same bytes.  In real time runs of the kernel that runs here, by default one, go one after the other;
    the summary's ``fidelity`` says how exactly time was kept, and whether the runs are valid.  In both it says what the
    kernel does otherwise than the scenario says.  `modules` are congestion controls in C, as Linux's
    ``net/ipv4/tcp_*.c``, which flows name by their files (``congestion = { module = "my_cc.c" }``): each is built for
    the kernel and loaded in the guests, in simulated time only.  `live` is called with the state of the run (see
    `varicap.watch`).  `packets` logs what the links did to each packet, with the numbers, windows and flags of its real
    headers.  Runs that would need more than `max_memory` or `max_time`, all together, are refused, and stopped when
    they do so: `LimitError`, or `varicap.errors.StoppedRunsError` with the result of those that were finished; in
    simulated time they are the memory and the processor time of all guests.  A `folder` keeps finished runs while
    others go on, as `varicap.engines.sim.run` says.  Raises `NotApplicableError` with key, value and reason where the
    kernel cannot do what the scenario says, `MachineLacksError` where this machine cannot run it, and
    `varicap.kernels.KernelBuildError` with what the compiler says of a module.
    """
    if sys.platform != "linux":
        raise MachineLacksError("the kernel engine needs Linux")
    loaded = load(scenario, overrides)
    kernel = kernel or fitting(loaded)
    base_seed = loaded.seed if seed is None else seed
    guest = _guest(clock, kernel_name)
    wanted = seeds if seeds is not None else 1 if guest is None else loaded.seeds
    if wanted < 1:
        raise ValueError(f"a scenario runs at least once, not {wanted} times")
    if controls:
        raise NotApplicableError("the kernel engine: congestion controls in Python are for the simulator")
    if endpoints:
        raise NotApplicableError("the kernel engine: transports in Python are for the simulator")
    if queues:
        raise NotApplicableError("the kernel engine: queues in Python are for the simulator")
    if guest is None:
        if modules:
            raise NotApplicableError("the kernel engine: modules are loaded in simulated time only: --clock simulated")
        with _explained():
            _core.kernel_check(loaded, kernel)
    files = {} if guest is None else in_c.chosen(loaded, modules)
    brought = in_c.digests(files)
    loadable = [] if guest is None else in_c.built(files, guest)
    series = loaded.record_series if series is None else series
    packets = loaded.record_packets if packets is None else packets
    budget, limits = _core.Budget(max_memory, max_time), guests.Limits(max_memory, max_time)
    named = small_files(loaded)
    # In real time, runs beside each other would disturb each other.
    workers = 1 if guest is None else jobs or os.cpu_count() or 1

    def batch(first: int, count: int, before: int, total: int) -> _core.Results:
        # A precision adds runs, which have the same time as all.
        refuse(
            budget,
            loaded,
            runs=total,
            jobs=workers,
            series=below(series, total),
            packets=below(packets, total),
            real_time=guest is None,
        )

        def report(share: float, done: int) -> None:
            if watched is not None:
                watched((before + share) / total, before + done, total)

        asked = _asked(loaded, base_seed, kernel, loadable, is_live=live is not None)
        recorded = below(series, first + count), below(packets, first + count)
        replications = range(first, first + count)
        if guest is None:
            messages = _in_real_time(asked, replications, recorded, max_memory, budget)
        else:
            limits.go_on()
            messages = _in_guests(guest, asked, replications, recorded, workers, limits)
        return _collected(loaded, count, messages, report, None if kept is None or is_alone else kept.add, live)

    def asked(runs: int) -> Request:
        return Request(
            loaded,
            base_seed,
            runs,
            series,
            packets,
            engine="kernel",
            kernel=kernel,
            guest=None if guest is None else GuestKernel(guest.name, guest.release, guest.digest),
            modules=brought,
            files=named,
        )

    def made(results: _core.Results) -> Result:
        return Result(asked(results.runs), results)

    is_alone = wanted == 1 and precision is None
    with (
        keeping(folder, partial(asked, wanted), notify, is_alone=is_alone) as kept,
        shown(progress, loaded.name) as watched,
    ):
        return replicate(batch, wanted, precision, max_seeds, made, workers, kept)


def replications(
    scenario: _core.Scenario,
    guest: kernels.Kernel,
    which: range,
    *,
    seed: int,
    mode: Mode,
    modules: Mapping[str, Path],
    look: Callable[[float, int], None],
) -> _core.Results:
    """Run some replications in guests, one after the other; `modules` are their files by what the scenario calls them.

    `look` is given what a guest has taken, as by `guests.serve`, and may raise.  Raises ``RunError`` if a packet was
    lost outside the links.
    """
    asked = _asked(scenario, seed, mode, in_c.built(modules, guest), is_live=False)
    found = _collected(scenario, len(which), _in_guests(guest, asked, which, (0, 0), 1, look), _nobody, None, None)
    fidelity = json.loads(found.summary())["fidelity"]
    if not fidelity["valid"]:
        raise _core.RunError(f"the kernel's run is not valid: {'; '.join(fidelity['faults'])}")
    return found


def _nobody(_share: float, _done: int) -> None:
    """Hears how far runs are, and does nothing."""


def _asked(
    scenario: _core.Scenario, seed: int, mode: Mode, modules: list[tuple[str, str]], *, is_live: bool
) -> dict[str, Any]:
    """What whoever runs a replication is told of a scenario."""
    return {
        "scenario": scenario.to_json(),
        "name": scenario.name,
        # A guest begins in another folder.
        "base_dir": os.path.abspath(scenario.base_dir),  # noqa: PTH100 - links stay as they are
        "seed": seed,
        "mode": mode,
        "modules": modules,
        "live": is_live,
    }


def _guest(clock: Clock | None, name: str | None) -> kernels.Kernel | None:
    """The kernel for simulated time; none if the time is to be real."""
    return kernels.find(name) if kernels.is_simulated(clock, name) else None


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
    """What this machine can do: each with the reason if it cannot, and what to do (`varicap.machine.doctor`)."""
    if sys.platform != "linux":
        raise MachineLacksError("the kernel engine needs Linux")
    return [tuple(one) for message, _ in _ask({"probe": True}) for one in message["found"]]


Message: TypeAlias = dict[str, Any]
Messages: TypeAlias = Generator[tuple[int, Message], None, None]
"""What is said of runs under way, each message with the replication."""


def _in_real_time(
    asked: dict[str, Any],
    replications: range,
    recorded_below: tuple[int, int],
    max_memory: str | None,
    budget: _core.Budget,
) -> Messages:
    """Run replications one after the other: what the process says that does so, each with the replication."""
    request = {
        **asked,
        "first": replications.start,
        "count": len(replications),
        "series_below": recorded_below[0],
        "packets_below": recorded_below[1],
        "max_memory": max_memory,
    }
    under_way = replications.start
    for message, data in _ask(request):
        budget.check_spent()
        yield under_way, {**message, "data": data} if data else message
        under_way += bool(data)


def _in_guests(
    guest: kernels.Kernel,
    asked: dict[str, Any],
    replications: range,
    recorded_below: tuple[int, int],
    jobs: int,
    look: Callable[[float, int], None],
) -> Messages:
    """Run replications in guests, `jobs` at a time: what they say, each with the replication."""

    def request(replication: int) -> dict[str, Any]:
        series, packets = (replication < below for below in recorded_below)
        return {**asked, "series": series, "packets": packets}

    for replication, message in guests.serve(guest, replications, request, jobs, look):
        if "error" in message:
            with _explained():
                raise getattr(_core, message["error"])(message["text"])
        yield replication, message


def _collected(
    scenario: _core.Scenario,
    count: int,
    messages: Messages,
    report: Callable[[float, int], None],
    keep: Callable[[list[tuple[int, bytes]]], None] | None,
    live: watch.Watch | None,
) -> _core.Results:
    """The results of `count` runs, from what is said of them while they go on."""
    runs: dict[int, bytes] = {}
    shares: dict[int, float] = {}
    with closing(messages):
        for replication, message in messages:
            if live is not None and "samples" in message:
                watch.report(live, message["samples"])
                continue
            if "data" in message:
                runs[replication] = message["data"]
                if keep is not None:
                    keep([(replication, message["data"])])
            shares[replication] = 1.0 if replication in runs else message.get("share", 0.0)
            report(sum(shares.values()), len(runs))
            if len(runs) == count:
                break
    return _core.results(scenario, [runs[replication] for replication in sorted(runs)])


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
