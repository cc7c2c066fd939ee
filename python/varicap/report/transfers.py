"""When transfers ended, from the packets of runs."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Array = NDArray[np.float64]


def completion_ms(packets: pa.Table, flows: pa.Table, warmup_s: float) -> dict[str, Array]:
    """The times that the transfers of each group of flows took [ms], of all runs, in ascending order.

    A transfer is a connection of a group that completed transfers.  It takes from its first packet until the last of
    its bytes has come for the first time, as in the tables; those that ended during the warm-up do not count.
    """
    found: dict[str, Array] = {}
    if packets.num_rows == 0 or "transfers" not in flows.column_names:
        return found
    data = packets.filter(pc.equal(packets["direction"], "data"))
    for group in pc.unique(flows["group"]).to_pylist():
        of_group = flows.filter(pc.equal(flows["group"], group))
        counts = of_group.group_by("replication").aggregate([("transfers", "sum")])
        own = data.filter(pc.equal(data["group"], group))
        parts = []
        for run, count in zip(*(counts[name].to_pylist() for name in ("replication", "transfers_sum")), strict=True):
            if count:
                parts.append(_of_run(own.filter(pc.equal(own["replication"], run)), warmup_s, count))
        if parts:
            found[str(group)] = np.sort(np.concatenate(parts))
    return found


def _of_run(rows: pa.Table, warmup_s: float, count: int) -> Array:
    """The times of so many transfers of one run."""
    connection = _numbers(rows, "flow") * (1 << 32) + _numbers(rows, "generation")
    connections, which = np.unique(connection, return_inverse=True)
    begin = np.full(len(connections), np.iinfo(np.int64).max)
    np.minimum.at(begin, which, _numbers(rows, "sent_at_ns"))
    low, time = _numbers(rows, "seq_bytes"), _numbers(rows, "time_ns")
    high = low + _numbers(rows, "payload_bytes")
    size = np.zeros(len(connections), np.int64)
    # What closes a connection is numbered behind its data.
    has_data = high > low
    np.maximum.at(size, which[has_data], high[has_data])
    came = has_data & pc.equal(rows["event"], "delivery").to_numpy()
    links = rows["link"].cast(pa.string()).to_numpy()
    came &= links == _last_link(links[came], time[came])
    order = np.lexsort((time[came], which[came]))
    of, low, high, time = (values[came][order] for values in (which, low, high, time))
    edges = np.searchsorted(of, np.arange(len(connections) + 1))
    ends = [
        _end(low[first:last].tolist(), high[first:last].tolist(), time[first:last].tolist(), whole)
        for first, last, whole in zip(edges[:-1], edges[1:], size.tolist(), strict=True)
    ]
    ended = [number for number, end in enumerate(ends) if end > warmup_s * 1e9]
    # One that waits for acknowledgements as the run ends looks like one that has ended: the tables know how many have.
    ended = sorted(ended, key=ends.__getitem__)[:count]
    return np.array([(ends[number] - begin[number]) / 1e6 for number in ended])


def _end(low: list[int], high: list[int], time: list[int], size: int) -> int:
    """When all bytes below `size` had come, of pieces in the order in which they came; 0 if not all of them have.

    >>> _end([0, 20, 10, 0], [10, 30, 20, 10], [1, 2, 3, 4], 30)
    3
    """
    whole = 0
    early: list[tuple[int, int]] = []
    for begin, end, now in zip(low, high, time, strict=True):
        early.append((begin, end))
        if begin <= whole < end:
            for start, stop in sorted(early):
                whole = max(whole, stop) if start <= whole else whole
            early = [piece for piece in early if piece[1] > whole]
            if whole >= size:
                return now
    return 0


def _last_link(links: "NDArray[np.object_]", time: "NDArray[np.int64]") -> str:
    """The link that delivers each packet last: the one whose first delivery is latest."""
    names = list(dict.fromkeys(links.tolist()))
    return max(names, key=lambda name: int(time[links == name].min()), default="")


def _numbers(rows: pa.Table, name: str) -> "NDArray[np.int64]":
    return np.asarray(rows[name].to_numpy()).astype(np.int64)
