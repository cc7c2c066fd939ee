"""The engine. Each function that runs a simulation does so without the interpreter's lock."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, final

from numpy.typing import NDArray

__version__: str

Column: TypeAlias = tuple[str, str, str, NDArray[Any] | list[str]]
"""Name, unit, description and values of one column of a table."""

class ScenarioError(ValueError):
    """A scenario that cannot be read or makes no sense; its text says all that the attributes say."""

    file: str | None
    """The file's name."""
    line: int | None
    """Line in the file, from 1."""
    key: str | None
    """Dotted path of the value."""
    found: str | None
    """The offending text."""
    expected: str | None
    """What was expected."""

class RunError(RuntimeError):
    """A run failed: a fault of the engine, never of the scenario."""

@final
class Scenario:
    """A scenario that was read and checked."""

    @staticmethod
    def from_toml(text: str, name: str, base_dir: str, overrides: Sequence[tuple[str, str]]) -> Scenario:
        """Read TOML; `name` appears in errors, traces are looked up from `base_dir`."""
    @staticmethod
    def from_json(text: str, name: str, base_dir: str, overrides: Sequence[tuple[str, str]]) -> Scenario:
        """Read JSON of the same shape."""
    @property
    def name(self) -> str:
        """Its name in results."""
    @property
    def base_dir(self) -> str:
        """Where its traces are looked up."""
    @property
    def seeds(self) -> int:
        """Replications that it asks for."""
    @property
    def seed(self) -> int:
        """Base seed."""
    @property
    def record_series(self) -> bool:
        """Whether it asks for time series."""
    @property
    def record_packets(self) -> bool:
        """Whether it asks for packet events."""
    def to_json(self) -> str:
        """The scenario with every default written out."""
    def explain(self) -> str:
        """JSON: each value by its key, and whether it was given."""
    def trace_files(self) -> list[tuple[str, str]]:
        """Each trace: its name in the scenario and its path."""
    def capacity_bps(self, link: str) -> float:
        """Long-run mean capacity of a link [b/s]."""
    def check_limits(self, max_memory: str | None, max_time: str | None, runs: int) -> None:
        """Raise `ScenarioError` if `runs` runs would need more memory or time."""

@final
class Results:
    """What one or more runs found."""

    @property
    def runs(self) -> int:
        """Replications so far."""
    def extend(self, more: Results) -> None:
        """Add the runs of `more`."""
    def summary(self) -> str:
        """JSON: means over the runs with their intervals."""
    def flows(self) -> list[Column]:
        """A row for each run and flow."""
    def links(self) -> list[Column]:
        """A row for each run and link."""
    def flow_series(self) -> list[Column]:
        """A row for each run, flow and instant."""
    def link_series(self) -> list[Column]:
        """A row for each run, link and instant."""
    def packets(self) -> list[Column]:
        """A row for each packet event."""

class ProgressCallback(Protocol):
    """Hears the share of the work that is done [0..1], and how many runs."""

    def __call__(self, share: float, done: int, /) -> None: ...

def run(
    scenario: Scenario,
    *,
    seed: int,
    first: int,
    count: int,
    threads: int = 0,
    series: bool = False,
    packets: bool = False,
    pcap: str | None = None,
    progress: ProgressCallback | None = None,
    controls: Mapping[str, Callable[[int], Any]] | None = None,
) -> Results:
    """Simulate replications `first` to `first + count - 1`; 0 threads are as many as there are cores."""

def schema() -> str:
    """The JSON Schema of scenario files."""

def columns() -> str:
    """JSON: the columns of each table with unit and description."""
