"""Fig. 8: high thresholds so high that the link closes again."""

from functools import partial

from varicap.papers.lrl.highs import HIGHS, first_openings, grid, stay_after_fall, sweep
from varicap.papers.lrl.link import Values, judged
from varicap.papers.lrl.panels import capacities
from varicap.papers.run import Outcome, Run


def reproduce(run: Run) -> Outcome:
    """High thresholds of 2 to 17 kB above a low one of 1000 B."""
    ours = sweep(run, "bytes")
    closures = {high: ours[high].forward.closures(20.0) for high in HIGHS}
    values: Values = {
        "F8a": first_openings(ours),
        "F8b-16000": closures[16],
        "F8b-17000": closures[17],
        "F8b-small": closures[2] + closures[4],
        "F8c": stay_after_fall(ours[17].forward, 20.0) / ours[17].forward.opens_at(20.0),
        "F8d": ours[17].forward.openings(20.0),
    }
    shown = [ours[high] for high in (2, 8, 12, 16, 17)]
    draw = partial(capacities, "Fig. 8: forward capacity, low threshold 1000 B, from 20 kb/s on", shown, "kB")
    return Outcome(judged(values), draw, [grid("Fig. 8 in numbers", ours)])
