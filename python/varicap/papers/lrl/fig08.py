"""Fig. 8: high thresholds so high that the link closes again."""

from functools import partial

from varicap.papers.lrl.highs import HIGHS, first_openings, grid, sweep
from varicap.papers.lrl.link import interval
from varicap.papers.lrl.panels import capacities
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value


def reproduce(run: Run) -> Outcome:
    """High thresholds of 2 to 17 kB above a low one of 1000 B."""
    ours = sweep(run, "bytes")
    closures = {high: ours[high].forward.closures(20.0) for high in HIGHS}
    values = {
        "F8a": first_openings(ours),
        "F8b-16000": closures[16],
        "F8b-17000": closures[17],
        "F8b-small": closures[2] + closures[4],
        "F8c": ours[17].throughput / ours[4].throughput,
        "F8d": ours[17].forward.openings(20.0),
    }
    of_claims = {key: Value(sim=interval(value)) for key, value in values.items()}
    shown = [ours[high] for high in (2, 8, 12, 16, 17)]
    draw = partial(capacities, "Fig. 8: forward capacity, low threshold 1000 B, from 20 kb/s on", shown, "kB")
    return Outcome(of_claims, draw, [grid("Fig. 8 in numbers", ours)])
