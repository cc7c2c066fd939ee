"""Two flows of one control over a LEO link: fairness by the asymmetry of their round trips and by the queue."""

from functools import partial
from itertools import product

from matplotlib.figure import Figure

from varicap.papers.run import Grid, Outcome, Run, jain
from varicap.papers.verdict import Value
from varicap.papers.worst import least
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

_CONTROLS = ("cubic", "bbr3")
_QUEUES = {"drop-tail": '{ drop-tail = { limit = "100 packets" } }', "fq_codel": '"fq_codel"'}
_ACCESS = {"equal": "0 ms", "asymmetric": "60 ms"}
"""More delay of the far flow, each way."""

Index = dict[tuple[str, str, str], Array]


def reproduce(run: Run) -> Outcome:
    """Jain's index of both flows' goodput, and what they get together."""
    index: Index = {}
    both: Index = {}
    for control, queue, access in product(_CONTROLS, _QUEUES, _ACCESS):
        changes = {
            "tcp.congestion": f'"{control}"',
            "topology.dumbbell.forward.queue": _QUEUES[queue],
            "flows.far.access_delay": f'"{_ACCESS[access]}"',
        }
        flows = run.simulate("pair", changes, seeds=run.pick(20, 3)).flows
        near, far = (samples(flows, name, "goodput_bps") / 1e6 for name in ("near", "far"))
        index[control, queue, access], both[control, queue, access] = jain(near, far), near + far
    values = {
        "M25-aqm": Value(
            sim=least(index[one, "fq_codel", "asymmetric"] - index[one, "drop-tail", "asymmetric"] for one in _CONTROLS)
        ),
        "M25-aqm-efficiency": Value(
            sim=least(both[one, "fq_codel", "asymmetric"] - both[one, "drop-tail", "asymmetric"] for one in _CONTROLS)
        ),
    }
    rows = {
        f"{control}, {queue}": [
            Interval.of(found[control, queue, access]) for found in (index, both) for access in _ACCESS
        ]
        for control, queue in product(_CONTROLS, _QUEUES)
    }
    columns = [f"{what}, {access} RTTs" for what in ("Jain's index", "both [Mb/s]") for access in _ACCESS]
    return Outcome(values, partial(_draw, index), [Grid("Two flows on a LEO link", "", "", columns, rows)])


def _draw(index: Index) -> Figure:
    names = [f"{control}\n{queue}" for control, queue in product(_CONTROLS, _QUEUES)]
    groups = [
        (f"{access} RTTs", [Interval.of(index[one, queue, access]) for one, queue in product(_CONTROLS, _QUEUES)])
        for access in _ACCESS
    ]
    return bars("Two flows over handovers every 15 s", names, groups, "Jain's index")
