"""The simulator: replications of a scenario on all cores, repeated until the intervals are tight enough."""

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import varicap._core as _core
from varicap import plugins, policies, watch
from varicap.engines.limits import MAX_MEMORY, MAX_TIME, refuse
from varicap.engines.precision import below, keeping, replicate
from varicap.engines.scenarios import AnyScenario, load
from varicap.results.manifest import Request, Which, small_files
from varicap.results.result import Result
from varicap.statistics.progress import Progress, shown

if TYPE_CHECKING:
    from varicap.endpoints import MakeEndpoint
    from varicap.queues import MakeQueue
    from varicap.reactive import MakePolicy
    from varicap.tcp import MakeControl


def run(
    scenario: AnyScenario,
    *,
    seeds: int | None = None,
    seed: int | None = None,
    precision: float | None = None,
    max_seeds: int = 1000,
    overrides: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    series: Which | None = None,
    packets: Which | None = None,
    controls: "Mapping[str, MakeControl | MakePolicy | policies.MakePolicy] | None" = None,
    queues: "Mapping[str, MakeQueue] | None" = None,
    endpoints: "Mapping[str, MakeEndpoint] | None" = None,
    jobs: int | None = None,
    max_memory: str | None = MAX_MEMORY,
    max_time: str | None = MAX_TIME,
    progress: Progress | None = None,
    live: watch.Watch | None = None,
    folder: str | Path | None = None,
    notify: Callable[[str], None] = warnings.warn,
) -> Result:
    """Simulate a scenario: `seeds` independent replications on `jobs` cores (all of them by default).

    With `precision` (say 0.02) replications are added until each 95 % interval of goodput and utilisation
    reaches no farther than that share of its mean, or there are `max_seeds`.  `series` and `packets` record more than
    the scenario says, of all runs (True) or of the first.  `controls` brings controls written in Python by the
    name that the scenario gives them, as installed packages may (`varicap.plugins`): congestion controls
    (`varicap.tcp.CongestionControl`) in
    ``congestion = { custom = "NAME" }``, policies of load-reactive links (`varicap.reactive.Policy`) in
    ``control = { custom = "NAME" }``.  `queues` does the same for queues (`varicap.queues.Queue`) in
    ``queue = { custom = "NAME" }``, `endpoints` for transports (`varicap.endpoints.Endpoint`) in
    ``endpoint = { name = "NAME" }``.  Learned policies (`varicap.policies.Policy`) come in `controls` as well, for
    ``congestion = { policy = { custom = "NAME" } }``, or from files.  Such runs are slower, and go on one core.  `live`
    is called now and then with the state of the runs under way (see `varicap.watch`); an observer changes nothing.
    Ctrl-C raises `varicap.errors.InterruptedRuns`, a `KeyboardInterrupt`, with the result of the runs that were
    finished.

    With a `folder`, runs that are finished are kept in ``unfinished`` there while others go on, and the same call goes
    on after an interruption, whatever it was; the results are the same bytes.  What is found damaged or of another
    call is set aside, and reported to `notify`.  Runs with parts in Python are not kept: nothing says whether those are
    the same.

    Runs that would add more than `max_memory` to the memory of the process, or take more than `max_time` on the clock,
    all together, are refused before they start, by a rough estimate, and stopped when they do so: `LimitError`, or
    `varicap.errors.StoppedRunsError`, which is one, with the result of the runs that were finished.  None lifts a
    limit.

    >>> result = run("examples/fixed.toml", seeds=3, overrides={"duration": "20 s"})
    >>> result.flows.num_rows
    3
    """
    loaded = load(scenario, overrides)
    base_seed = loaded.seed if seed is None else seed
    wanted = loaded.seeds if seeds is None else seeds
    if wanted < 1:
        raise ValueError(f"a scenario runs at least once, not {wanted} times")
    series = loaded.record_series if series is None else series
    packets = loaded.record_packets if packets is None else packets

    budget = _core.Budget(max_memory, max_time)
    files = budget.watch(partial(policies.supplied, loaded))
    own = plugins.used(json.loads(loaded.to_json()), controls, queues)
    is_own = bool(own) or bool(endpoints)
    threads = jobs or (1 if is_own or files else 0)

    def batch(first: int, count: int, before: int, total: int) -> _core.Results:
        def report(share: float, done: int) -> None:
            if watched is not None:
                watched((before + share * count) / total, before + done, total)

        return _core.run(
            loaded,
            seed=base_seed,
            first=first,
            count=count,
            threads=threads,
            series_below=below(series, first + count),
            packets_below=below(packets, first + count),
            progress=report,
            controls=own.controls or None,
            queues=own.queues or None,
            policies=files,
            endpoints=endpoints,
            live=None if live is None else partial(watch.report, live),
            budget=budget,
            finished=None if kept is None or is_alone else kept.add,
        )

    named = small_files(loaded)

    def asked(runs: int) -> Request:
        return Request(
            loaded, base_seed, runs, series, packets, (*own.names, *(endpoints or ())), own.origins, files=named
        )

    def made(results: _core.Results) -> Result:
        return Result(asked(results.runs), results)

    workers = jobs or (1 if is_own or files else os.cpu_count() or 1)
    is_alone = wanted == 1 and precision is None
    with keeping(None if is_own else folder, partial(asked, wanted), notify, is_alone=is_alone) as kept:
        missing = wanted if kept is None else max(1, len(set(range(wanted)) - kept.before.keys()))
        refuse(
            budget,
            loaded,
            runs=missing,
            jobs=threads,
            series=below(series, wanted),
            packets=below(packets, wanted),
        )
        with shown(progress, loaded.name) as watched:
            return replicate(batch, wanted, precision, max_seeds, made, workers, kept)
