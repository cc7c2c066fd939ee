"""Fig. 9: as Fig. 8, with thresholds in packets."""

from functools import partial

from varicap.papers.lrl.highs import HIGHS, first_openings, grid, sweep
from varicap.papers.lrl.link import Values, judged
from varicap.papers.lrl.panels import capacities
from varicap.papers.run import Outcome, Run
from varicap.papers.worst import farthest


def reproduce(run: Run) -> Outcome:
    """High thresholds of 2 to 17 packets above a low one of 1."""
    ours, in_bytes = sweep(run, "packets"), sweep(run, "bytes")
    ratio = {high: ours[high].throughput / in_bytes[high].throughput for high in HIGHS}
    values: Values = {
        "F9a-later": first_openings(ours),
        "F9a-closes": ours[17].forward.closures(20.0),
        "F9a-alike": farthest([ratio[high] for high in (12, 16, 17)]),
        "F9b-2": ratio[2],
    }
    shown = [ours[high] for high in (2, 8, 12, 16, 17)]
    draw = partial(capacities, "Fig. 9: forward capacity, low threshold 1 packet, from 20 kb/s on", shown, "packets")
    return Outcome(judged(values), draw, [grid("Fig. 9 in numbers", ours)])
