"""What a page is about, wherever it comes from: results in memory, results in a folder, a study."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

import varicap._core as _core
from varicap.engines.model import ModelResult
from varicap.engines.scenarios import load
from varicap.results import FolderError
from varicap.results.manifest import describe, with_traces_beside
from varicap.results.result import Result
from varicap.results.saved import SavedResult, manifest_of, read
from varicap.results.study import Study

Reportable: TypeAlias = Result | SavedResult | ModelResult | Study | str | Path
"""What can be shown: results, a study, or the folder of either."""


@dataclass(frozen=True)
class Route:
    """The links of a group of flows, there and back."""

    there: tuple[str, ...]
    back: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """What the page shows."""

    name: str
    description: str
    scenario: dict[str, Any]
    """With every default."""
    manifest: dict[str, Any]
    summary: dict[str, Any] | None = None
    """Of runs; a study has its tables instead."""
    study: Study | None = None
    flow_series: pa.Table = field(default_factory=lambda: pa.table({}))
    link_series: pa.Table = field(default_factory=lambda: pa.table({}))
    flows: pa.Table = field(default_factory=lambda: pa.table({}))
    links: pa.Table = field(default_factory=lambda: pa.table({}))
    packets: pa.Table = field(default_factory=lambda: pa.table({}))
    routes: dict[str, Route] = field(default_factory=dict)
    """By group of flows; empty where the scenario cannot be read any more."""
    queues: dict[str, str] = field(default_factory=dict)
    """By link, with what the scenario left to its default."""
    traces: dict[str, Path] = field(default_factory=dict)
    """The files that the scenario names, wherever they were."""
    digests: dict[str, str] = field(default_factory=dict)
    """Their digests when the runs began."""


def source(of: Reportable) -> Source:
    """Everything that the page needs.  Raises `FolderError` for a folder that holds no results."""
    found = read(of) if isinstance(of, str | Path) else of
    return _of_study(found) if isinstance(found, Study) else _of_runs(found)


def _of_study(study: Study) -> Source:
    manifest = manifest_of(study)
    scenario = manifest.get("scenario", {"name": study.name})
    return Source(
        name=study.name,
        description=str(scenario.get("description") or ""),
        scenario=scenario,
        manifest=manifest,
        study=study,
        **_resolved(scenario, None),
    )


def _of_runs(result: Result | SavedResult | ModelResult) -> Source:
    summary = result.summary
    scenario = summary["scenario"]
    if not isinstance(scenario, dict):
        raise FolderError(f"the results of {scenario} do not carry their scenario")
    common: dict[str, Any] = {
        "name": str(scenario["name"]),
        "description": str(scenario.get("description") or ""),
        "scenario": scenario,
        "summary": summary,
    }
    if isinstance(result, ModelResult):
        return Source(**common, manifest={}, **_resolved(scenario, None))
    if isinstance(result, SavedResult):
        manifest, loaded, folder = result.manifest, None, result.folder
        recorded = manifest.get("traces") or {}
        files = [(name, folder / trace["file"], trace["sha256"]) for name, trace in recorded.items()]
    else:
        manifest, loaded, folder = describe(result.request, {}, {}), result.request.scenario, None
        files = list(result.request.files)
    return Source(
        **common,
        manifest=manifest,
        flow_series=result.flow_series,
        link_series=result.link_series,
        flows=result.flows,
        links=result.links,
        packets=result.packets,
        traces={name: path for name, path, _ in files},
        digests={name: digest for name, _, digest in files},
        **_beside(folder, manifest) if folder and manifest else _resolved(scenario, folder, loaded),
    )


def _beside(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """The same of the scenario with its traces from beside the manifest."""
    with with_traces_beside(folder / "manifest.json", manifest) as (written, base_dir):
        return _resolved(written, base_dir)


def _resolved(scenario: dict[str, Any], folder: Path | None, loaded: _core.Scenario | None = None) -> dict[str, Any]:
    """Routes and queues as the engine resolves them."""
    try:
        checked = loaded or load(scenario, base_dir=folder or ".")
    except _core.ScenarioError:
        # A trace that is not here any more, or a scenario of another version: the picture does without.
        return {}
    links: dict[tuple[str, str], tuple[str, ...]] = {}
    queues = {}
    for line in json.loads(checked.explain()):
        if match := _ROUTE.fullmatch(line["key"]):
            links[match["group"].strip('"'), match["which"]] = tuple(line["value"].split(", "))
        elif match := _QUEUE.fullmatch(line["key"]):
            queues[match["link"].strip('"')] = line["value"]
    groups = dict.fromkeys(group for group, _ in links)
    routes = {group: Route(links.get((group, "route"), ()), links.get((group, "route_back"), ())) for group in groups}
    return {"routes": routes, "queues": queues}


# With `isolate` each flow has a network of its own: resolved.NAME.flows.NAME.route.
_ROUTE = re.compile(r"resolved\.(?:.+\.)?flows\.(?P<group>.+)\.(?P<which>route|route_back)")
_QUEUE = re.compile(r"resolved\.(?:.+\.)?links\.(?P<link>.+)\.queue")
