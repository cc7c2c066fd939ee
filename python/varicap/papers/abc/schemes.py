"""The schemes that are compared, the links that they are compared on, and one measurement."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from varicap.papers.run import Run, text
from varicap.results.samples import samples
from varicap.statistics import Array

FOLDER = "VARICAP_TRACES"
"""The environment variable that names the folder of Mahimahi's traces."""
RTT_MS = 100.0
_CHECKOUT = Path(__file__).parents[4]


@dataclass(frozen=True)
class Scheme:
    """A congestion control, the queue in front of the link, and further changes of the scenario."""

    name: str
    congestion: str
    queue: str
    """With `{limit}` where its limit belongs."""
    changes: Mapping[str, str] | None = None


_DROP_TAIL = "{{ drop-tail = {{ limit = {limit} }} }}"
_TOLD = 'estimator = { instantaneous = { interval = "100 ms" } }'
SCHEMES = {
    "abc": Scheme(
        "ABC",
        '"accel-brake"',
        '{{ accel-brake = {{ limit = {limit}, target = "50 ms", delta = "133 ms", window = "20 ms" }} }}',
    ),
    "cubiccodel": Scheme(
        "CUBIC, CoDel", '"cubic"', '{{ codel = {{ limit = {limit}, target = "50 ms", interval = "100 ms" }} }}'
    ),
    "cubicpie": Scheme(
        "CUBIC, PIE", '"cubic"', '{{ pie = {{ limit = {limit}, target = "50 ms", max_burst = "100 ms" }} }}'
    ),
    "cubic": Scheme("CUBIC", '"cubic"', _DROP_TAIL),
    "bbr": Scheme("BBR", '"bbr"', _DROP_TAIL),
    "vegas": Scheme("Vegas", '"vegas"', _DROP_TAIL),
    "copa": Scheme("Copa", '"copa"', _DROP_TAIL),
    "prague": Scheme("Prague, DualPI2", '"prague"', "{{ dualpi2 = {{ limit = {limit} }} }}"),
    "ratcp": Scheme(
        "RATCP, told the rate", '{ ratcp = { beta = "4 packets" } }', _DROP_TAIL, {"feedback": f"{{ {_TOLD} }}"}
    ),
}


def folder() -> Path:
    """Where Mahimahi's traces belong: as the environment says, or beside a checkout."""
    named = os.environ.get(FOLDER)
    return Path(named).absolute() if named else _CHECKOUT.parent / "shared" / "traces"


def missing(traces: Iterable[str]) -> str:
    """Why these traces cannot be had, for readers; nothing if all of them are in the folder."""
    place = folder()
    if not place.is_dir():
        return f"the traces are not here; {FOLDER} names their folder"
    lacking = [name for name in traces if not (place / name).is_file()]
    return f"the folder of the traces ({FOLDER}) has no {', '.join(lacking)}" if lacking else ""


@dataclass(frozen=True)
class Measured:
    """What one scheme got on one link, in each replication."""

    throughput: Array
    """[Mb/s]"""
    utilisation: Array
    delay: Array
    """95th percentile of what packets take through the queue, and the round trip without it [ms]."""


def measure(run: Run, scheme: str, trace: Path, *, limit: int, back: str, seeds: int) -> Measured:
    """One flow on a link of this trace, from a random place in it on; `limit` packets fit into the queue."""
    of = SCHEMES[scheme]
    limits = f'"{limit} packets"'
    played = f'file = {text(str(trace))}, offset = "random"'
    changes = {
        "duration": '"140 s"',
        "topology.dumbbell.forward.capacity": f"{{ opportunities = {{ {played} }} }}",
        "topology.dumbbell.forward.queue": of.queue.format(limit=limits),
        "topology.dumbbell.reverse.capacity": f'"{back}"',
        "flows.flow.tcp.congestion": of.congestion,
        **{f"flows.flow.{key}": value for key, value in (of.changes or {}).items()},
    }
    result = run.simulate("cellular", changes, seeds=seeds)
    return Measured(
        samples(result.flows, "flow", "throughput_bps") / 1e6,
        samples(result.links, "forward", "utilisation"),
        samples(result.links, "forward", "sojourn_p95_ms") + RTT_MS,
    )
