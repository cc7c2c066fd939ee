"""Fig. 12: drop-tail at all nodes, reserved flows with Reno and with SACK."""

from functools import partial

import numpy as np

from varicap.papers.minrate.evolution import TOPOLOGIES, draw, evolution, readings, swing
from varicap.papers.minrate.network import LINKS
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
            f"F12a-order/{topology}": np.minimum(old.throughput("r1"), old.throughput("r4")) - old.throughput("be"),
            f"F12a-worse/{topology}": old.throughput("r1") - old.throughput("r4") / 4,
            f"F12a-4/{topology}": old.throughput("r4"),
            f"F12a-oscillates/{topology}": swing(old),
            f"F12b-4/{topology}": new.throughput("r4") / 4,
            f"F12b-1/{topology}": new.throughput("r1"),
            f"F12b-more/{topology}": new.throughput("r4") - old.throughput("r4"),
        }
    # Lock-out at a drop-tail queue needs equal packets at equal rates: a jitter of one packet's time ends it.
    jitter = {
        f"{topology}, {name} with jitter": evolution(run, topology, drop_tail=LINKS, recovery=name.lower(), jitter=True)
        for topology in TOPOLOGIES
        for name in ("Reno", "SACK")
    }
    shown = {"45Mb/bidir, Reno": reno["45Mb/bidir"], "45Mb/bidir, SACK": sack["45Mb/bidir"]}
    rows = {f"{topology}, Reno": one for topology, one in reno.items()}
    rows |= {f"{topology}, SACK": one for topology, one in sack.items()}
    rows |= jitter
    of_claims = {key: Value.of(value) for key, value in values.items()}
    return Outcome(of_claims, partial(draw, "Fig. 12: drop-tail everywhere", shown), [readings("Fig. 12", rows)])
