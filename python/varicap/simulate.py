"""From a scenario to results: read it, run it, repeat it until the intervals are tight enough."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from varicap import _core
from varicap.reactive import MakePolicy
from varicap.results import Request, Result, Which
from varicap.tcp import MakeControl
from varicap.watch import Watch, tell

Progress: TypeAlias = Callable[[float, int, int], None]
"""Called now and then with the share that is done [0..1], the runs that are done and how many there will be."""


class TypedScenario(Protocol):
    """A scenario built from the dataclasses of `varicap.scenario`."""

    def to_dict(self) -> dict[str, Any]:
        """The scenario as a file would hold it."""
        ...


_MOST_BYTES = 16_000_000

AnyScenario: TypeAlias = str | Path | Mapping[str, Any] | TypedScenario | _core.Scenario
"""A file, a mapping of the same shape, a `varicap.scenario.Scenario`, or what `load` returns."""


def load(
    scenario: AnyScenario,
    overrides: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    base_dir: str | Path = ".",
) -> _core.Scenario:
    """Read and check a scenario.

    `overrides` are values by their dotted path, as text in the notation of the file.  Traces are looked up from the
    file's folder, or from `base_dir` if the scenario is not a file.  Raises `ScenarioError`.

    >>> load("examples/fixed.toml", {"duration": "20 s"}).name
    'fixed'
    """
    pairs = list(overrides.items() if isinstance(overrides, Mapping) else overrides)
    for path, text in pairs:
        if not isinstance(text, str):
            raise _core.ScenarioError(f'{path}: found `{text!r}`, expected text as in a file, such as "20 s"')
    if isinstance(scenario, _core.Scenario):
        if pairs:
            return _core.Scenario.from_json(scenario.to_json(), scenario.name, scenario.base_dir, pairs)
        return scenario
    if isinstance(scenario, str | Path):
        path = Path(scenario)
        return _core.Scenario.from_toml(_read(path), str(path), str(path.parent), pairs)
    value = scenario if isinstance(scenario, Mapping) else scenario.to_dict()
    return _core.Scenario.from_json(json.dumps(value), "scenario", str(base_dir), pairs)


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
    controls: Mapping[str, MakeControl | MakePolicy] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    live: Watch | None = None,
) -> Result:
    """Simulate a scenario: `seeds` independent replications on `jobs` cores (all of them by default).

    With `precision` (say 0.02) replications are added until the half width of each 95 % interval of goodput and
    utilisation is within that share of its mean, or there are `max_seeds`.  `series` and `packets` record more than
    the scenario says, of all runs (True) or of the first.  `controls` brings controls written in Python by the
    name that the scenario gives them: congestion controls (`varicap.tcp.CongestionControl`) in
    ``congestion = { custom = "NAME" }``, policies of load-reactive links (`varicap.reactive.Policy`) in
    ``control = { custom = "NAME" }``; such runs are slower, and go on one core.  `live` hears now and then how the runs
    stand that are under way (see `varicap.watch`); whoever watches changes nothing.

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

    def batch(first: int, count: int, total: int) -> _core.Results:
        def report(share: float, done: int) -> None:
            if progress is not None:
                progress((first + share * count) / total, first + done, total)

        return _core.run(
            loaded,
            seed=base_seed,
            first=first,
            count=count,
            threads=jobs or (1 if controls else 0),
            series_below=below(series, first + count),
            packets_below=below(packets, first + count),
            progress=report,
            controls=controls,
            live=None if live is None else partial(tell, live),
        )

    results = replicate(batch, wanted, precision, max_seeds)
    return Result(Request(loaded, base_seed, results.runs, series, packets, tuple(controls or ())), results)


def replicate(
    batch: Callable[[int, int, int], _core.Results], wanted: int, precision: float | None, max_seeds: int
) -> _core.Results:
    """`wanted` runs, and more while intervals are wider than `precision`.

    ``batch(first, count, total)`` runs `count` replications from `first` on, of `total` that are foreseen.
    """
    results = batch(0, wanted, wanted)
    while precision is not None and results.runs < max_seeds:
        more = more_runs(_widest(json.loads(results.summary())), precision, results.runs)
        if more == 0:
            break
        count = min(more, max_seeds - results.runs)
        results.extend(batch(results.runs, count, results.runs + count))
    return results


def below(which: Which, end: int) -> int:
    """Replications below this number record."""
    return 1 if which == "first" else end if which else 0


def is_precise(summary: dict[str, Any], precision: float) -> bool:
    """Whether the half width of each interval of goodput and utilisation is within this share of its mean."""
    return _widest(summary) <= precision


def more_runs(widest: float, precision: float, runs: int) -> int:
    """How many more runs an interval seems to need; it narrows with the square root of their number."""
    if widest <= precision:
        return 0
    if runs < 3:
        return 3 - runs + 2  # the interval of two runs says next to nothing
    # At most as many again: the estimate itself is rough.
    return max(1, min(runs, round(runs * ((widest / precision) ** 2 - 1))))


def _widest(summary: dict[str, Any]) -> float:
    return max((_relative_half_width(interval) for interval in _watched(summary)), default=0.0)


def _watched(summary: dict[str, Any]) -> Iterable[dict[str, float | None]]:
    for flow in summary["flows"]:
        yield flow["goodput_bps"]
    for link in summary["links"]:
        yield link["utilisation"]


def _relative_half_width(interval: dict[str, float | None]) -> float:
    mean, low, high = interval["mean"], interval["lo"], interval["hi"]
    if mean is None or mean == 0.0:
        return 0.0
    if low is None or high is None:
        return float("inf")
    return (high - low) / 2 / abs(mean)


def _read(path: Path) -> str:
    """The text of a scenario file; what cannot be read is the user's mistake, not a fault."""
    try:
        # A device or a pipe might never end.
        if path.exists() and not path.is_file():
            raise _core.ScenarioError(f"{path}: not a file")
        if path.stat().st_size > _MOST_BYTES:
            raise _core.ScenarioError(f"{path}: more than {_MOST_BYTES // 10**6} MB, which no scenario needs")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _core.ScenarioError(f"{path}: there is no such file") from None
    except UnicodeDecodeError as error:
        raise _core.ScenarioError(f"{path}: not a text file: byte {error.start} is not UTF-8") from None
    except OSError as error:
        raise _core.ScenarioError(f"{path}: {error.strerror}") from None
