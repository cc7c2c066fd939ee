"""What the columns of tables are called where people read them, in which unit, and what says a delay."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A column of the tables of runs, as readers want it."""

    kind: str
    """The table: flows, groups or links."""
    column: str
    title: str
    unit: str
    scale: float = 1.0

    @property
    def label(self) -> str:
        """As an axis has it."""
        return f"{self.title.lower() if self.title[1:2].islower() else self.title} [{self.unit}]"


_ALL = (
    Measure("flows", "goodput_bps", "Goodput", "Mb/s", 1e-6),
    Measure("links", "utilisation", "Utilisation", "%", 100.0),
    Measure("flows", "rtt_p50_ms", "Round-trip time, median", "ms"),
    Measure("flows", "rtt_p95_ms", "Round-trip time, 95th percentile", "ms"),
    Measure("links", "sojourn_p95_ms", "Queueing delay, 95th percentile", "ms"),
    Measure("links", "loss_ratio", "Lost packets", "%", 100.0),
    Measure("flows", "timeouts", "Timeouts", "per run"),
    Measure("flows", "fct_mean_ms", "Flow completion time, mean of those completed", "ms"),
    Measure("flows", "missing_transfers", "Transfers refused or unfinished", "%", 100.0),
    Measure("flows", "throughput_bps", "Throughput", "Mb/s", 1e-6),
    Measure("flows", "rtt_mean_ms", "Round-trip time, mean", "ms"),
    Measure("flows", "rtt_p99_ms", "Round-trip time, 99th percentile", "ms"),
    Measure("flows", "fct_p50_ms", "Flow completion time, median", "ms"),
    Measure("flows", "fct_p95_ms", "Flow completion time, 95th percentile", "ms"),
    Measure("flows", "retransmitted_packets", "Packets sent again", "per run"),
    Measure("flows", "cwnd_mean_packets", "Congestion window, mean", "packets"),
    Measure("flows", "goodput_of_capacity", "Goodput, of the capacity", "%", 100.0),
    Measure("groups", "jain_index", "Jain's index", "1"),
    Measure("links", "sojourn_mean_ms", "Queueing delay, mean", "ms"),
    Measure("links", "sojourn_p50_ms", "Queueing delay, median", "ms"),
    Measure("links", "sojourn_p99_ms", "Queueing delay, 99th percentile", "ms"),
    Measure("links", "backlog_mean_packets", "Queue, mean", "packets"),
    Measure("links", "capacity_bps", "Capacity", "Mb/s", 1e-6),
)

IN_REPORTS = _ALL[:9]
"""Those that a page of a study shows, if they say something."""

_BY_COLUMN = {measure.column: measure for measure in _ALL}


def measure_of(column: str, unit: str, kind: str = "flows") -> Measure:
    """A column in words; one without words of its own by its name.

    >>> measure_of("goodput_bps", "b/s").label, measure_of("lost_tokens_bytes", "B").label
    ('goodput [Mb/s]', 'lost tokens [B]')
    """
    if column in _BY_COLUMN:
        return _BY_COLUMN[column]
    words = column
    for ending in ("_bps", "_ms", "_bytes", "_packets"):
        words = words.removesuffix(ending)
    words = words.replace("_", " ")
    title = f"{words[:1].upper()}{words[1:]}"
    if unit == "b/s":
        return Measure(kind, column, title, "Mb/s", 1e-6)
    return Measure(kind, column, title, unit or "1")
