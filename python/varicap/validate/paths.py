"""The paths of the table: a scenario for each path, congestion control and way to acknowledge.

``paths.toml`` has them as what differs from a base.  Traces are generated when they are needed, always the same ones.
"""

import copy
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from varicap import units
from varicap._files import read_whole
from varicap._folders import Folder
from varicap._names import unknown
from varicap._printable import PrintableError
from varicap.engines.scenarios import load
from varicap.traces.files import MOST_BYTES
from varicap.validate.store import Wanted

if TYPE_CHECKING:
    import varicap._core as _core
    from varicap.traces import Trace

STACK = "linux"
"""The simulator's TCP: what Linux does."""

ACKS = ("every", "delayed")
"""How the receiver acknowledges.  For `every` the kernel engine sets Linux's quick-ACK route; `delayed` is what Linux
does without it."""

BUFFERS_SINCE = (6, 16)
"""The Linux whose receivers' buffers grow as the stack has it; those before grow by `tcp_rcv_space_adjust`."""

CONTROLS = ("reno", "cubic", "bbr", "ratcp")
"""The congestion controls that both engines have."""

USUAL = ("reno", "cubic", "ratcp")
"""Those that run on a path that names none."""

OWN = "own"
"""The controls of a path whose flows name theirs."""

QUICK_S = 12.0
"""How long a run of the quick table lasts at most [s]."""

_QUICK_FAST_S = 8.0
_FAST_MBPS = 40.0


class PathError(PrintableError, ValueError):
    """A path that does not exist, or a folder whose traces cannot be paths."""


@dataclass(frozen=True, eq=False)
class Case:
    """A scenario of the table: a path, a congestion control, and how the receiver acknowledges."""

    path: str
    about: str
    control: str
    ack: str
    scenario: Mapping[str, Any]
    rate_mbps: float
    """What a run of the kernel demands of the machine."""

    @property
    def key(self) -> str:
        """Its name in messages."""
        return f"{self.path}, {self.control}, ack {self.ack}"

    @property
    def flows(self) -> dict[str, str]:
        """The flows by their names in the scenario, each with what the table calls it."""
        return {name: self._called(name) for name in self.scenario["flows"]}

    def _called(self, flow: str) -> str:
        if self.control == OWN:
            return flow
        return self.control if flow == "flow" else f"{self.control}, {flow}"

    @property
    def duration_s(self) -> float:
        """How long a run of the kernel takes [s]."""
        return units.seconds(self.scenario["duration"])

    @property
    def is_fast(self) -> bool:
        """Whether a run of the kernel needs the machine for itself."""
        return self.rate_mbps > _FAST_MBPS

    def lasting(self, seconds: float) -> "Case":
        """The case from its start, cut off after so many seconds [s]."""
        return replace(self, scenario={**self.scenario, "warmup": "0 s", "duration": f"{seconds:g} s"})

    def load(self, folder: Path) -> "_core.Scenario":
        """The scenario, checked; its traces are in `folder`."""
        return load(self.scenario, base_dir=folder)


def wanted(case: Case, scenario: "_core.Scenario") -> Wanted:
    """What a run of the kernel of this case depends on; `scenario` is the case, loaded."""
    versions = _software()
    git = versions["git"] or {}
    revision = " ".join(filter(None, [versions["varicap"], (git.get("revision") or "")[:8]]))
    return Wanted(
        written=_digest(case.scenario, scenario),
        digest=_digest([scenario.to_json(), versions["varicap"], versions["git"]], scenario),
        revision=revision + ("+" if git.get("modified") else ""),
    )


def _digest(said: object, scenario: "_core.Scenario") -> str:
    found = hashlib.sha256(json.dumps(said).encode())
    for _, file in scenario.trace_files():
        found.update(read_whole(file, MOST_BYTES))
    return found.hexdigest()[:16]


@cache
def _software() -> dict[str, Any]:
    from varicap.results.manifest import software

    return software()


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "paths.toml").read_text(encoding="utf-8"))


def names(quick: bool = False) -> list[str]:
    """The names of all paths, or of those of the quick table."""
    return [name for name, path in _table()["paths"].items() if path.get("quick", False) or not quick]


def about(name: str) -> str:
    """What a path is, in a few words."""
    said: str = _table()["paths"][name]["about"]
    return said


def cases(
    chosen: Sequence[str] | None = None,
    *,
    quick: bool = False,
    controls: Iterable[str] = CONTROLS,
    more: Mapping[str, Mapping[str, Any]] | None = None,
    release: str | None = None,
) -> list[Case]:
    """The scenarios of the paths `chosen` (of all, or of the quick table's) under the controls.

    `more` are paths beside those of the file, by name.  `release` is the Linux whose rules the simulator has where they
    have changed; the newest by default.  Raises `PathError` for a path that does not exist, and if none
    of `more` would be run.
    """
    paths = {**_table()["paths"], **(more or {})}
    if chosen is None:
        chosen = [*names(quick), *(more or {})]
    for name in chosen:
        if name not in paths:
            raise PathError(unknown("path", name, paths))
    if more and not set(more) & set(chosen):
        raise PathError(f"no trace is among the paths that were chosen: choose some of {', '.join(more)} as well")
    wanted = set(controls) | {OWN}
    return [
        _case(name, paths[name], control, ack, quick, release)
        for name in dict.fromkeys(chosen)
        for control in paths[name].get("controls", USUAL)
        if control in wanted
        for ack in ACKS
    ]


def _case(name: str, path: Mapping[str, Any], control: str, ack: str, quick: bool, release: str | None) -> Case:
    scenario = copy.deepcopy(_table()["base"])
    links = scenario["topology"]["dumbbell"]
    for side in ("forward", "reverse"):
        links[side].update(path.get(side, {}))
    scenario["name"] = name
    scenario["flows"] = copy.deepcopy(path.get("flows", scenario["flows"]))
    scenario["tcp"] = {
        "stack": STACK,
        "ack": _acknowledging(ack, release),
        **({} if control == OWN else {"congestion": control}),
    }
    rate = float(path.get("rate_mbps", 10.0))
    duration_s = units.seconds(path.get("duration", scenario["duration"]))
    if quick:
        duration_s = min(duration_s, _QUICK_FAST_S if rate > _FAST_MBPS else QUICK_S)
    scenario["duration"] = f"{duration_s:g} s"
    return Case(name, path["about"], control, ack, scenario, rate)


def _acknowledging(ack: str, release: str | None) -> Any:
    """How receivers acknowledge as they did in a release of Linux."""
    version = re.match(r"(\d+)\.(\d+)", release or "")
    if ack == "every" or version is None or tuple(map(int, version.groups())) >= BUFFERS_SINCE:
        return ack
    return {ack: {"buffer_growth": "space-adjust"}}


def generate_traces(folder: Path) -> None:
    """Write the traces of the table into `folder`."""
    from varicap import traces

    for name, make in _GENERATED.items():
        traces.save(make(), folder / name)


def _cellular(seed: int, **link: float) -> "Callable[[], Trace]":
    def make() -> "Trace":
        from varicap import traces

        return traces.generate_lte(seed, 60.0, traces.Cellular(**link))

    return make


_UMTS = {"peak_bps": 3.6e6, "slow_sigma": 0.4, "fast_sigma": 0.3, "outages_per_min": 3.0, "outage_s": 1.0}

_GENERATED: Mapping[str, "Callable[[], Trace]"] = {
    "lte.down": _cellular(5),
    "lte.up": _cellular(6, median_bps=2.5e6, peak_bps=10e6),
    "umts.down": _cellular(7, median_bps=1.2e6, **_UMTS),
}


def recorded(folder: str | Path) -> dict[str, dict[str, Any]]:
    """A path for each trace `*.down` of a folder, with its `*.up` for the acknowledgements if there is one.

    Raises `PathError` for a folder without traces, and for a trace that has the name of a path of the table.
    """
    folder = Path(folder).resolve()
    found: dict[str, dict[str, Any]] = {}
    if not folder.is_dir():
        raise PathError(f"{folder}: no traces (*.down): there is no such folder")
    with Folder(folder) as there:
        names = [name for name in there.names() if name.endswith((".down", ".up")) and there.is_file(name)]
    for down in [folder / name for name in names if name.endswith(".down")]:
        if down.stem in _table()["paths"]:
            raise PathError(f"{down}: `{down.stem}` is another path of the table; give the trace another name")
        queue = {"drop-tail": {"limit": "150 packets"}}
        up = down.with_suffix(".up")
        links = {"forward": down} | ({"reverse": up} if up.name in names else {})
        found[down.stem] = {
            "about": f"trace {down.name}, 150 packets",
            "controls": ["reno", "cubic"],
            "duration": "60 s",
            **{
                side: {"capacity": {"opportunities": {"file": str(file)}}, "queue": queue}
                for side, file in links.items()
            },
        }
    if not found:
        raise PathError(f"{folder}: no traces (*.down) in this folder")
    return found
