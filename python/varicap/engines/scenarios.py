"""From what a user has of a scenario, a file or a value, to a scenario that is checked."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import varicap._core as _core
from varicap._files import read_scenario, shown

_MOST_MEANT = 3
"""Keys that an error suggests."""


class TypedScenario(Protocol):
    """A scenario built from the dataclasses of `varicap.scenario`."""

    def to_dict(self) -> dict[str, Any]:
        """The scenario as a file would hold it."""
        ...


AnyScenario: TypeAlias = str | Path | Mapping[str, Any] | TypedScenario | _core.Scenario
"""A file (TOML or JSON, ``-`` for standard input), a mapping of the same shape, a `varicap.scenario.Scenario`, or what
`load` returns."""


def load(
    scenario: AnyScenario,
    overrides: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    base_dir: str | Path = ".",
) -> _core.Scenario:
    """Read and check a scenario.

    `overrides` are values by their dotted path, as text in the notation of the file.  Traces are looked up from the
    file's folder, or from `base_dir` if the scenario is no file, or comes through a pipe.  Raises `ScenarioError`,
    which has the mistakes that were found, each with its line.

    >>> load("examples/fixed.toml", {"duration": "20 s"}).name
    'fixed'
    """
    pairs = list(overrides.items() if isinstance(overrides, Mapping) else overrides)
    for path, text in pairs:
        if not isinstance(text, str):
            raise _core.ScenarioError(f'{path}: found `{text!r}`, expected text as in a file, such as "20 s"')
    try:
        return _loaded(scenario, pairs, base_dir)
    except _core.ScenarioError as error:
        if pairs and (meant := _meant(error, scenario, pairs, base_dir)):
            raise meant from None
        raise


def _loaded(scenario: AnyScenario, pairs: list[tuple[str, str]], base_dir: str | Path) -> _core.Scenario:
    if isinstance(scenario, _core.Scenario):
        if pairs:
            return _core.Scenario.from_json(scenario.to_json(), scenario.name, scenario.base_dir, pairs)
        return scenario
    if isinstance(scenario, str | Path):
        return _from_file(Path(scenario), pairs, str(base_dir))
    value = scenario if isinstance(scenario, Mapping) else scenario.to_dict()
    return _core.Scenario.from_json(json.dumps(value), "scenario", str(base_dir), pairs)


def _meant(
    error: _core.ScenarioError, scenario: AnyScenario, pairs: list[tuple[str, str]], base_dir: str | Path
) -> _core.ScenarioError | None:
    """The error with the whole keys that may have been meant, if it is of one that was given by its end alone."""
    if error.hint is not None or error.key not in {path for path, _ in pairs} or str(scenario) == "-":
        return None
    try:
        base = _loaded(scenario, [], base_dir)
    except _core.ScenarioError:
        return None
    lines = (line["key"] for line in json.loads(base.explain()))
    ends = [key for key in lines if key.endswith(f".{error.key}") and not key.startswith("resolved.")]
    if not ends:
        return None
    named = " or ".join(f"`{key}`" for key in ends[:_MOST_MEANT])
    more = f" or {len(ends) - _MOST_MEANT} more" if len(ends) > _MOST_MEANT else ""
    hint = f"did you mean {named}{more}?"
    raised = _core.ScenarioError(f"{error}; {hint}")
    raised.shown = None if error.shown is None else f"{error.shown}\n  = {hint}"
    raised.errors, raised.more, raised.at_least, raised.hint = error.errors, error.more, error.at_least, hint
    return raised


def load_reactive_tables(scenario: Any, path: str = "") -> list[str]:
    """Where in a scenario the tables of load-reactive capacities lie.

    >>> load_reactive_tables({"topology": {"a": {"capacity": {"load-reactive": {}}}}})
    ['topology.a.capacity.load-reactive']
    """
    children: Iterator[tuple[str, Any]] = iter(())
    if isinstance(scenario, dict):
        children = iter(scenario.items())
    elif isinstance(scenario, list):
        children = ((str(place), inner) for place, inner in enumerate(scenario))
    found = []
    for key, inner in children:
        at = f"{path}.{key}" if path else key
        found += [at] if key == "load-reactive" else load_reactive_tables(inner, at)
    return found


def _of_results(text: str) -> str | None:
    """What a file of results is, which somebody took for a scenario."""
    head = text[:200]
    if '"manifest_version"' in head:
        return "the manifest of runs"
    return "the manifest of a study" if '"study_version"' in head else None


def _from_file(path: Path, pairs: list[tuple[str, str]], base_dir: str) -> _core.Scenario:
    """Read a file, a pipe (process substitution), or standard input as ``-``."""
    text, is_stream = read_scenario(path)
    name, folder = ("stdin" if str(path) == "-" else "pipe", base_dir) if is_stream else (shown(path), str(path.parent))
    if text.lstrip().startswith("{") and (what := _of_results(text)):
        raise _core.ScenarioError(f"{name}: {what}, and no scenario; varicap replay {name} repeats what it is of")
    # No TOML text begins with a brace.
    if path.suffix.lower() == ".json" or text.lstrip().startswith("{"):
        return _core.Scenario.from_json(text, name, folder, pairs, is_file=True)
    return _core.Scenario.from_toml(text, name, folder, pairs)
