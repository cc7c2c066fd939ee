"""Fig. 12: drop-tail at all nodes, reserved flows with Reno and with SACK."""

from functools import partial

from varicap.papers.minrate.evolution import TOPOLOGIES, draw, evolution, table
from varicap.papers.minrate.network import LINKS, interval
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.statistics import Array


def reproduce(run: Run) -> Outcome:
    """What each flow gets without any support from the network."""
    values: dict[str, Array] = {}
    reno = {topology: evolution(run, topology, drop_tail=LINKS) for topology in TOPOLOGIES}
    sack = {topology: evolution(run, topology, drop_tail=LINKS, recovery="sack") for topology in TOPOLOGIES}
    for topology in TOPOLOGIES:
        old, new = reno[topology], sack[topology]
        values |= {
            f"F12a-order/{topology}": old.throughput("r1") - old.throughput("be"),
            f"F12a-1/{topology}": old.throughput("r1"),
            f"F12a-4/{topology}": old.throughput("r4"),
            f"F12b-4/{topology}": new.throughput("r4") / 4,
            f"F12b-1/{topology}": new.throughput("r1"),
            f"F12b-more/{topology}": new.throughput("r4") - old.throughput("r4"),
        }
    # Lock-out at a drop-tail queue needs equal packets at equal rates: any jitter ends it.
    jitter = {
        name: evolution(run, "10Mb/samedir", drop_tail=LINKS, recovery=name, jitter=True) for name in ("reno", "sack")
    }
    values["F12-jitter"] = jitter["sack"].throughput("r4") / 4
    shown = {"45Mb/bidir, Reno": reno["45Mb/bidir"], "45Mb/bidir, SACK": sack["45Mb/bidir"]}
    rows = {f"{topology}, Reno": one for topology, one in reno.items()}
    rows |= {f"{topology}, SACK": one for topology, one in sack.items()}
    rows |= {f"10Mb/samedir with jitter, {name}": one for name, one in jitter.items()}
    of_claims = {key: Value(sim=interval(value)) for key, value in values.items()}
    return Outcome(of_claims, partial(draw, "Fig. 12: drop-tail everywhere", shown), [table("Fig. 12", rows)])
