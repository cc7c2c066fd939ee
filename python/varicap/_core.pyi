"""The engine. Each function that runs a simulation does so without the interpreter's lock."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal, Protocol, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray

_Done = TypeVar("_Done")

__version__: str
HAS_QUIC: bool
"""Whether QUIC was built in."""
MAX_SCENARIO_BYTES: int
"""Size of the largest scenario that is read [B]."""

Column: TypeAlias = tuple[str, str, str, NDArray[Any] | list[str] | tuple[NDArray[Any], list[str]]]
"""Name, unit, description and values of one column of a table; choices are places in a list of names."""

class ScenarioError(ValueError):
    """A scenario that cannot be read or makes no sense.

    Its text has a sentence for each mistake, its attributes describe the first one.
    """

    file: str | None
    """The file's name."""
    line: int | None
    """Line in the file, from 1."""
    column: int | None
    """Column in the line, from 1, in characters."""
    key: str | None
    """Dotted path of the value."""
    found: str | None
    """The offending text."""
    expected: str | None
    """What was expected."""
    hint: str | None
    """What was probably meant, or how to correct the mistake."""
    errors: Sequence[Mapping[str, Any]]
    """All mistakes, at most 20: these attributes by their names, and the `excerpt` of the file, with where the wrong
    part begins in it (`excerpt_start`) and how long it is (`excerpt_length`), in characters."""
    more: int
    """How many more mistakes were found."""
    at_least: bool
    """Whether the search ended before all were found: a very large file is not read again for each mistake."""
    shown: str | None
    """The mistakes as a terminal of 80 columns shows them, each with its line quoted and the wrong part marked."""

class MissingControlError(ScenarioError):
    """A congestion control that the simulator does not have; the kernel may have it."""

class LimitError(ScenarioError):
    """A run that would take, or has taken, more memory or time than it may."""

    point: int | None
    """The number of the point that it is about, in `Template.run`."""

class RunError(RuntimeError):
    """A run failed: a fault of the engine, never of the scenario."""

@final
class Budget:
    """The memory and the time that runs may take together, from its making on; None is no limit."""

    def __new__(cls, max_memory: str | None, max_time: str | None, *, time_for_each: bool = False) -> Budget:
        """With `time_for_each` the time is that of each run."""
    def check(
        self,
        scenario: Scenario,
        *,
        runs: int,
        threads: int,
        series: int = 0,
        packets: int = 0,
        real_time: bool = False,
    ) -> None:
        """Raise `LimitError` if `runs` runs on `threads` cores (0: all) would need more, by a rough estimate."""
    def watch(self, work: Callable[[], _Done]) -> _Done:
        """Call `work`, which may ask `left` within this budget; a run does so by itself."""
    def check_spent(self) -> None:
        """Raise `LimitError` if the time on the clock, or the growth of this process, exceeds a limit by now."""

@final
class Channel:
    """What transmissions over a link meet, in the course of time."""

    def __new__(cls, loss: str | Mapping[str, Any], *, seed: int = 0, replication: int = 0) -> Channel:
        """As in a scenario's ``loss``: `markov`, `states` or `rayleigh`.  Raises `ScenarioError`."""
    def receives(self, from_s: float, to_s: float) -> bool:
        """Whether what is sent from `from_s` to `to_s` is received; times never run back."""
    def states(self, until_s: float) -> list[tuple[int, float]]:
        """From the last time that it was asked about to `until_s`: the states, each with how long it lasts [s]."""

@final
class Estimator:
    """An estimator of a link's rate: observe, advertise until there is none, ask when the next one is due."""

    def __new__(
        cls,
        estimator: str | Mapping[str, Any],
        *,
        capacity_bps: float = 0.0,
        rtt_s: float = 0.1,
        packet: int = 1500,
    ) -> Estimator:
        """As in a scenario's ``feedback.estimator``, on a link that offers `capacity_bps` at 0 s.

        Round trips take `rtt_s`; a delta counts packets of `packet` bytes.
        """
    def observe(self, now_s: float, capacity_bps: float) -> None:
        """From `now_s` on the link offers `capacity_bps`."""
    def advertise(self, now_s: float) -> float | None:
        """The next rate that is due by `now_s` [b/s]; `None` if there is none."""
    @property
    def poll_at(self) -> float | None:
        """When the next rate is due [s]."""

@final
class Scenario:
    """A scenario that was read and checked."""

    @staticmethod
    def from_toml(text: str, name: str, base_dir: str, overrides: Sequence[tuple[str, str]]) -> Scenario:
        """Read TOML; `name` appears in errors, traces are looked up from `base_dir`."""
    @staticmethod
    def from_json(
        text: str,
        name: str,
        base_dir: str,
        overrides: Sequence[tuple[str, str]],
        *,
        is_file: bool = False,
        option: str = "--set",
    ) -> Scenario:
        """Read JSON of the same shape; errors name its lines if it is a file, and the option that gives overrides."""
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
    def to_toml(self) -> str:
        """The same as a TOML file."""
    def explain(self) -> str:
        """JSON: each value by its key, and whether it was given."""
    @property
    def draws_nothing(self) -> bool:
        """Whether no run of the simulator draws a random number, so that all runs are one."""
    def facts(self) -> str:
        """JSON: for each network its links and flows in seconds, bytes and b/s, with routes and choices."""
    def trace_files(self) -> list[tuple[str, Path]]:
        """Each trace: its name in the scenario and its path."""
    def policy_files(self) -> list[tuple[str, str, int, int]]:
        """For each flow with a policy from a file: its name, the file, the sizes of an observation and an action."""
    def capacity_bps(self, link: str) -> float:
        """Long-run mean capacity of a link [b/s]."""

@final
class Template:
    """The text of a scenario, parsed once, which is read at many points."""

    def __new__(cls, text: str, name: str, base_dir: str, *, option: str = "--set") -> Template:
        """Of JSON, as `Scenario.from_json` reads it.  Raises `ScenarioError` if it is none."""
    def at(self, settings: Sequence[tuple[str, str]]) -> Scenario:
        """The scenario at a point: what `Scenario.from_json` reads with these overrides, and its errors."""
    def fitting(
        self, points: Sequence[Sequence[tuple[str, str]]], *, budget: Budget, at_a_time: int
    ) -> tuple[int, list[tuple[str, Path]], list[int]]:
        """How many of the points can be read, and have runs that fit the budget, up to the first that has not.

        The second is the traces of these points, the third the places of those that draw nothing.
        """
    def run(
        self,
        spans: Sequence[tuple[int, Sequence[tuple[str, str]], int, int]],
        *,
        seed: int,
        budget: Budget,
        policies: Callable[[Scenario], Mapping[str, Callable[..., Any]]],
        controls: Mapping[str, Callable[..., Any]] | None = None,
        queues: Mapping[str, Callable[..., Any]] | None = None,
        progress: ProgressCallback | None = None,
    ) -> tuple[list[list[Column]], list[tuple[str, Path]], float]:
        """Simulate spans on one core: number of the point, its settings, first replication, how many.

        Returns the columns of flows, groups and links, with the number of the point before all others, the traces that
        were read, and the time that the simulations took [s].  `policies` reads the files of policies, if a scenario
        names some.  `LimitError` says at which point.
        """

def shell(
    scenario: Scenario,
    command: Sequence[str],
    *,
    seed: int,
    at_left: bool = False,
    congestion: str | None = None,
    show: str = "nowhere",
    strict: bool = False,
    depth: int = 0,
    simulated: bool = False,
    server: Sequence[str] = (),
) -> int:
    """Runs a command behind the links of a scenario; its exit code.  Linux only."""

def quantity(kind: str, text: str) -> float:
    """A quantity with its unit, as SI number: `kind` is time, rate, size, frequency or probability."""

def read_log(
    file: str, text: bytes, wanted: str, reading: str, optional: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], float | None, str] | None:
    """Of a log: instants [s], what is `wanted` (rate, delay, loss) [b/s, s or 1], length [s], what was understood.

    `reading` says how it is understood (JSON).  Nothing if the log is without and `optional`.  A single row has no
    length.  Raises ValueError with `file`, the line, what was found and what was expected.
    """

def are_opportunities(file: str, text: bytes) -> bool:
    """Whether a log is a list of delivery opportunities, whole numbers on lines of their own."""

def read_opportunities(file: str, text: bytes) -> tuple[NDArray[np.uint64], str | None]:
    """Of a text in Mahimahi's format: the instants [ms], and what is to be said.  Raises as `read_log` does."""

@final
class Results:
    """What one or more runs found."""

    @property
    def runs(self) -> int:
        """Replications so far."""
    def extend(self, more: Results) -> None:
        """Take the runs of `more`, which has none afterwards, in the order of replications."""
    def packed(self) -> list[tuple[int, bytes]]:
        """Each run: its replication, and the bytes of which `results` makes results again."""
    def summary(self) -> str:
        """JSON: means over the runs with their intervals."""
    def flows(self) -> list[Column]:
        """A row for each run and flow."""
    def groups(self) -> list[Column]:
        """A row for each run and group of several flows."""
    def links(self) -> list[Column]:
        """A row for each run and link."""
    def flow_series(self) -> list[Column]:
        """A row for each run, flow and instant."""
    def link_series(self) -> list[Column]:
        """A row for each run, link and instant."""
    def packets(self) -> list[list[Column]]:
        """A row for each packet event, in a table for each run."""
    def captures(self) -> list[str]:
        """What can be captured of the first run: its packets, or those of each flow if flows are isolated, by name."""
    def write_capture(self, place: int, file: IO[bytes], snaplen: int) -> None:
        """Write so much of each packet [B] of one of these captures."""

class KernelCannotError(ValueError):
    """A setting of a scenario that the kernel does not support."""

class KernelLacksError(RuntimeError):
    """Something that the kernel engine needs and this machine lacks or refuses."""

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
    series_below: int = 0,
    packets_below: int = 0,
    progress: ProgressCallback | None = None,
    controls: Mapping[str, Callable[..., Any]] | None = None,
    queues: Mapping[str, Callable[..., Any]] | None = None,
    endpoints: Mapping[str, Callable[..., Any]] | None = None,
    policies: Mapping[str, Callable[..., Any]] | None = None,
    live: Callable[[str], None] | None = None,
    budget: Budget | None = None,
    finished: Callable[[list[tuple[int, bytes]]], None] | None = None,
) -> Results:
    """Simulate replications `first` to `first + count - 1`; 0 threads are as many as there are cores.

    Those below `series_below` record time series, those below `packets_below` packet events.  `live` hears now and then
    how the runs stand, as JSON (`varicap.watch`).  Runs that exceed the `budget` end in a `LimitError`.  `finished`
    hears about once a second, and before an exception, which runs have ended since, as `Results.packed` has them; not
    of those that end in the last second.
    """

def results(scenario: Scenario, runs: Sequence[bytes]) -> Results:
    """The results of runs, of the bytes of each; `RunError` for bytes that are none."""

def left() -> tuple[int | None, float | None]:
    """What the run of this thread may still take of memory [B] and time [s]; None where nothing is a limit.

    Raises `LimitError` if it has taken more.
    """

def count_elsewhere(held: int) -> None:
    """Count the memory of other processes that work for this one [B], from now on."""

def observed() -> list[tuple[str, str, str]]:
    """What describes an interval to a policy: name, unit and meaning of each number."""

@final
class Episodes:
    """Episodes of one task, a place for each that is under way."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        kind: str,
        name: str,
        *,
        weights: Sequence[float],
        step_bps: float = 0.0,
        count: int = 1,
        threads: int = 0,
    ) -> None:
        """`kind` is flows, link or advice, `name` the link or flow group; 0 threads are as many as there are cores."""
    @property
    def agents(self) -> list[str]:
        """For whom actions decide."""
    @property
    def count(self) -> int:
        """How many places there are."""
    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many numbers an observation, an action and a sample of an agent have."""
    @property
    def sampled(self) -> list[tuple[str, str, str]]:
        """The quantities of a sample: name, unit, meaning."""
    @property
    def observed(self) -> list[tuple[str, str, str]]:
        """The quantities of an observation: name, unit, meaning."""
    def seed(self, place: int, seed: int) -> None:
        """The next episode of a place is the first of `seed`."""
    def scenario(self, place: int) -> int | None:
        """Which of the scenarios the episode of a place is in."""
    def clear(self) -> None:
        """End all episodes."""
    def go_on(
        self,
        commands: NDArray[np.uint8],
        actions: NDArray[np.float32],
        samples: NDArray[np.float64],
        observations: NDArray[np.float32],
        rewards: NDArray[np.float64],
        outcomes: NDArray[np.uint8],
    ) -> None:
        """Step (0) or begin (1) the episode of each place, or leave it (2), and write what came of it.

        Outcomes: 0 it goes on, 1 truncated, 2 terminated.
        """

def schema() -> str:
    """The JSON Schema of scenario files."""

def columns() -> str:
    """JSON: the columns of each table with unit and description."""

@final
class Segment:
    """What travels between the two halves of a connection. Sequence numbers are offsets into the data."""

    def __init__(
        self,
        *,
        seq: int = 0,
        len: int = 0,  # noqa: A002 - the name of the field
        ack: int | None = None,
        sack: Sequence[tuple[int, int]] = (),
        window: int = ...,
        flags: Sequence[str] = (),
        sent_at_s: float = 0.0,
        echo_s: float = 0.0,
        wire_size: int | None = None,
        ecn_bytes: tuple[int, int] | None = None,
    ) -> None: ...
    @property
    def seq(self) -> int:
        """First payload byte [B]."""
    @property
    def len(self) -> int:
        """Payload [B]."""
    @property
    def ack(self) -> int | None:
        """Next byte expected from the other side [B]; None if it acknowledges nothing."""
    @property
    def sack(self) -> list[tuple[int, int]]:
        """SACK blocks [B], the most recent first."""
    @property
    def ecn_bytes(self) -> tuple[int, int] | None:
        """Payload that arrived as ECT(0), counted from 1, and as CE [B], if it carries the AccECN option."""
    @property
    def window(self) -> int:
        """Advertised window [B]."""
    @property
    def flags(self) -> list[str]:
        """Names of the flags that are set."""
    @property
    def sent_at_s(self) -> float:
        """When it was sent [s]."""
    @property
    def echo_s(self) -> float:
        """The echoed sending time [s]."""
    @property
    def wire_size(self) -> int:
        """Size on the wire, headers included [B]."""

@final
class Start:
    """The data that one side of a connection is made with (`varicap.endpoints`)."""

    @property
    def side(self) -> Literal["sender", "receiver"]:
        """Which side."""
    @property
    def connection(self) -> str:
        """The name of the connection, as the rows of results are called."""
    @property
    def now_s(self) -> float:
        """The instant at which it opens [s]."""
    @property
    def largest(self) -> int:
        """Largest payload of a datagram [B]."""
    @property
    def seed(self) -> bytes:
        """32 random bytes, of the run."""

@final
class Packet:
    """A packet in a queue (`varicap.queues`)."""

    @property
    def size_bytes(self) -> int:
        """Size on the wire, headers included [B]."""
    @property
    def flow(self) -> str:
        """The name of its flow group."""
    @property
    def connection(self) -> int:
        """A number for its connection and direction: packets with the same belong together."""
    @property
    def ecn_capable(self) -> bool:
        """Whether it can be marked."""
    @property
    def codepoint(self) -> str:
        """Its ECN field as it arrived: `not-ECT`, `ECT(1)`, `ECT(0)` or `CE`."""
    @property
    def reserved(self) -> bool:
        """Whether it conforms to a reservation."""
    @property
    def carries_data(self) -> bool:
        """Whether it carries data, unlike an acknowledgement."""
    @property
    def arrived_s(self) -> float:
        """When it arrived [s]."""
    @property
    def waiting(self) -> bool:
        """Whether it is still in its queue."""
    def drop(self, *, early: bool = False) -> None:
        """Lose it; `early` says that there would have been room."""
    def mark(self) -> bool:
        """Mark it (congestion experienced), if it can be; says whether it can."""

@final
class QueueSample:
    """What a policy sees of its link at a sample. Packets that are outside the control are in none of it."""

    @property
    def at_s(self) -> float:
        """When [s]."""
    @property
    def span_s(self) -> float:
        """Time since the last sample; zero at the first [s]."""
    @property
    def capacity_bps(self) -> float:
        """The capacity now [b/s]."""
    @property
    def minimum_bps(self) -> float:
        """The least capacity that the link is to have [b/s]."""
    @property
    def residual_bps(self) -> float:
        """What there is for it at most now; infinite if unlimited [b/s]."""
    @property
    def occupancy_bytes(self) -> float:
        """The occupancy that the scenario chose: instantaneous, mean or smoothed [B]."""
    @property
    def occupancy_packets(self) -> float:
        """The same in packets."""
    @property
    def waiting_bytes(self) -> int:
        """What waits now [B]."""
    @property
    def waiting_packets(self) -> int:
        """The same in packets."""
    @property
    def mean_bytes(self) -> float:
        """Mean of what waited since the last sample [B]."""
    @property
    def mean_packets(self) -> float:
        """The same in packets."""
    @property
    def arrived_bytes(self) -> int:
        """What came since the last sample, lost or not [B]."""
    @property
    def arrived_packets(self) -> int:
        """The same in packets."""
    @property
    def lost_packets(self) -> int:
        """Packets lost at the queue since the last sample."""
    @property
    def packet_bytes(self) -> int:
        """A full-sized packet [B]."""

@final
class AckSample:
    """What a congestion control learns from an acknowledgement."""

    @property
    def now_s(self) -> float:
        """When it arrived [s]."""
    @property
    def newly_acked(self) -> int:
        """By how much SND.UNA advanced [B]."""
    @property
    def newly_lost(self) -> int:
        """Data that it showed to be lost [B]."""
    @property
    def in_flight(self) -> int:
        """Data in flight before it [B]."""
    @property
    def app_limited(self) -> bool:
        """Whether something other than cwnd limited the sender."""
    @property
    def marked(self) -> bool:
        """Whether it carries an ECN echo: that of the very packet it acknowledges, with `each-mark`."""
    @property
    def marked_packets(self) -> int:
        """Packets that it newly reports as marked, with accurate ECN (RFC 9768); else 0."""
    @property
    def marked_bytes(self) -> int:
        """The payload of these, counted by the receiver or else estimated [B]."""
    @property
    def in_recovery(self) -> bool:
        """Whether recovery was under way before or after it."""
    @property
    def rtt_s(self) -> float | None:
        """RTT sample of this acknowledgement, if it gave one [s]."""
    @property
    def smoothed_rtt_s(self) -> float | None:
        """Smoothed RTT, if there was a sample [s]."""
    @property
    def min_rtt_s(self) -> float | None:
        """Least RTT seen, if there was a sample [s]."""
    @property
    def delivered(self) -> int:
        """All data delivered so far, cumulatively or selectively acknowledged [B]."""
    @property
    def round(self) -> int:
        """Number of the round trip: a round ends when data is acknowledged that was sent after it began."""
    @property
    def rate_bps(self) -> int | None:
        """Rate at which the path delivered, with `rate-samples`, if this gave a sample [b/s]."""
    @property
    def rate_prior_delivered(self) -> int | None:
        """Data delivered before the interval of that sample [B]."""
    @property
    def rate_interval_s(self) -> float | None:
        """Interval of that sample [s]."""
    @property
    def rate_app_limited(self) -> bool:
        """Whether the application, rather than the path, may have limited that sample."""
    @property
    def in_flight_after(self) -> int | None:
        """Data in flight after it, with `rate-samples` [B]."""
    @property
    def lost(self) -> int | None:
        """All data found to be lost so far, with `rate-samples` [B]."""
    @property
    def cwnd_limited(self) -> bool:
        """Whether cwnd was used up at some time in the last round trip, with `rate-samples`."""
    @property
    def newest_in_flight(self) -> int | None:
        """Data in flight when the segment left that left last of those it newly acknowledges, itself included [B]."""
    @property
    def newest_lost(self) -> int | None:
        """Data found to be lost since that segment left [B]."""
    @property
    def newest_rtt_s(self) -> float | None:
        """How long ago that segment left, unless it was resent [s]."""

@final
class CongestionEvent:
    """Why the window must fall."""

    @property
    def now_s(self) -> float:
        """When it was noticed [s]."""
    @property
    def kind(self) -> str:
        """`"fast-retransmit"`, `"ecn-echo"` or `"timeout"`."""
    @property
    def backoff(self) -> int:
        """Expiries of the timer in a row before this one."""
    @property
    def in_flight(self) -> int:
        """FlightSize when it was noticed [B]."""

def stacks() -> str:
    """JSON: the habits of each stack, by its name."""

def tcp_settings(**settings: Any) -> str:
    """JSON: all settings of a connection of which some are given."""

@final
class Sender:
    """The sending half of a connection."""

    def __init__(
        self,
        *,
        now_s: float = 0.0,
        control: Callable[[int, int], Any] | None = None,
        reservation: dict[str, Any] | None = None,
        seed: int = 1,
        measure_rates: bool = False,
        **settings: Any,
    ) -> None: ...
    def write(self, size: int | None = None) -> None:
        """The application offers `size` more bytes; None offers data without end."""
    def close(self) -> None:
        """No more data will come.

        A FIN (unless ``fin=False``) rides on the last segment that has not left yet, or is one of its own.  What is
        written before anything has left counts as written when the first segment leaves.
        """
    def set_nagle(self, rule: str, /) -> None:
        """From now on `rule` says which short segments wait, as ``tcp.nagle`` does; ``"off"`` is ``TCP_NODELAY``."""
    def on_rate_feedback(self, now_s: float, rate_bps: int | None, /) -> None:
        """The network advertised this rate [b/s]; None: none is known any more."""
    def set_reserved_rate(self, now_s: float, rate_bps: int, /) -> None:
        """The reservation is this rate from now on [b/s]."""
    def push(self, now_s: float, segment: Segment, /) -> None:
        """A segment of the receiver arrived."""
    def poll(self, now_s: float, /) -> Segment | None:
        """The next segment to send now, if any."""
    def poll_at(self) -> float | None:
        """When to poll again although nothing arrived [s]; None if nothing is pending."""
    @property
    def is_done(self) -> bool:
        """Whether it was closed and everything has been acknowledged, the FIN included."""
    @property
    def is_over(self) -> bool:
        """Whether it is done and has acknowledged the FIN of the receiver, if there are FINs."""
    @property
    def cwnd(self) -> int:
        """Congestion window [B]."""
    @property
    def ssthresh(self) -> int | None:
        """Slow start threshold [B]; None while it has no value."""
    @property
    def in_flight(self) -> int:
        """Data in flight [B]: RFC 6675's pipe with SACK, otherwise what is not acknowledged."""
    @property
    def smoothed_rtt_s(self) -> float | None:
        """Smoothed RTT [s]."""
    @property
    def rto_s(self) -> float:
        """Retransmission timeout [s]."""
    @property
    def min_rtt_s(self) -> float | None:
        """Least RTT seen [s]."""
    @property
    def delivery_rate(self) -> tuple[int, float, bool] | None:
        """The delivery rate measured last: so much [B] in so long [s], and whether the application limited it.

        It is the last one that the application did not limit, or a faster one that it did; None before there is one, or
        if neither `measure_rates` nor the control asked for rates.
        """
    @property
    def shown(self) -> dict[str, float]:
        """What the congestion control shows of itself, by name; a control without a model of the path shows nothing."""
    @property
    def expiries(self) -> int:
        """Expiries of the retransmission timer since new data was acknowledged."""
    @property
    def order(self) -> tuple[int, int] | None:
        """Segments by which arrivals have been out of order (at first the duplicates that show a loss), and how often.

        Recovery by time alone keeps this; None with another.
        """
    @property
    def beliefs(self) -> tuple[int, int, int] | None:
        """What the scoreboard counts as SACKed, as lost and as resent above SND.UNA [B]; None without SACK."""
    @property
    def reserved_rate_bps(self) -> int | None:
        """The rate by which it marks what conforms [b/s]; None without a reservation."""
    def lost_tokens(self, now_s: float, /) -> float | None:
        """Tokens of the reservation that were lost up to then [B]; None without one."""
    @property
    def state(self) -> str:
        """`open`, `disorder`, `recovery` or `loss`."""
    @property
    def counters(self) -> dict[str, int]:
        """Packets sent with and without data, resent, marked; timeouts, fast retransmits, and other events by name."""

@final
class EventTimers:
    """Timers of the simulator's event list, one for each connection."""

    def __init__(self, count: int, interval_s: float) -> None: ...
    def set_all(self) -> None:
        """Set each of them, at random within the interval."""
    def handle_all(self) -> None:
        """Let as many expire as there are, and set each anew."""
    def cancel_all(self) -> None:
        """Cancel each of them."""

@final
class Receiver:
    """The receiving half of a connection."""

    def __init__(self, *, now_s: float = 0.0, echo_each_mark: bool = False, **settings: Any) -> None: ...
    def push(self, now_s: float, segment: Segment, /) -> int:
        """A segment arrived; returns how many new bytes are in order now."""
    def poll(self, now_s: float, /) -> Segment | None:
        """The next acknowledgement to send now, if any."""
    def poll_at(self) -> float | None:
        """When to poll again although nothing arrived [s]; None if nothing is pending."""
    def acknowledge(self, now_s: float, /) -> Segment:
        """The acknowledgement that data of the same host carries along, due or not; none is due afterwards."""
    def read_on_demand(self) -> None:
        """From now on the application reads when `read` says so, not at once."""
    def read(self, size: int, /) -> None:
        """The application reads up to so many bytes that are in order; the receiver must then be polled."""
    def close(self) -> None:
        """The application closes: a FIN is sent until it is acknowledged.  One that reads at once closes by itself."""
    @property
    def has_ended(self) -> bool:
        """Whether the sender's FIN has come, and all data before it."""
    @property
    def is_closing(self) -> bool:
        """Whether it waits for the acknowledgement of its own FIN."""
    @property
    def delivered(self) -> int:
        """Bytes in order so far."""
    @property
    def ecn_counts(self) -> tuple[int, tuple[int, int, int]] | None:
        """What accurate ECN has counted: packets with CE, and the payload with ECT(0), CE and ECT(1) [B]."""

# Only on Linux:

@final
class KernelTimers:
    """Timers of the kernel, one descriptor each."""

    def __init__(self, count: int) -> None: ...
    def set_all(self) -> None:
        """Set each of them, to an hour from now."""
    def handle_all(self) -> None:
        """Let each of them expire at once, and read that it did."""
    def cancel_all(self) -> None:
        """Cancel each of them."""

def ratcp_program() -> str:
    """RATCP's program in C, which a kernel for simulated time has built in."""

def kernel_check(scenario: Scenario, mode: str) -> None:
    """Raise if the kernel cannot do what the scenario says."""

def kernel_enter(parent: int) -> None:
    """Make this process, which has one thread, a worker of `parent` with rights over namespaces of its own."""

def kernel_probe() -> list[tuple[str, str | None, str]]:
    """What this machine can do: name, what the system said if it cannot, what to do."""

def kernel_settle() -> None:
    """Make this process, the first of a guest, ready for runs in simulated time."""

def kernel_room(place: str | Path) -> None:
    """Make a folder of the guest's memory, in which programs may write."""

def kernel_load(module: str | Path) -> str:
    """Load a module of the guest's kernel; the name of the congestion control that it registers."""

def kernel_power_off() -> None:
    """End the guest."""

def kernel_run(
    scenario: Scenario,
    *,
    seed: int,
    replication: int,
    mode: str,
    series: bool,
    packets: bool = False,
    simulated: bool = False,
    modules: Sequence[tuple[str, str]] = (),
    progress: ProgressCallback | None = None,
    live: Callable[[str], None] | None = None,
) -> bytes:
    """Run one replication in real time, or in a guest's; `results` reads what it returns."""
