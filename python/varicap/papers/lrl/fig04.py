"""Fig. 4: the return link of the same run, which carries acknowledgements and never opens."""

from matplotlib.figure import Figure

from varicap.papers.lrl.fig03 import BASE, distance
from varicap.papers.lrl.link import REVERSE, Measured, Values, judged, measure
from varicap.papers.lrl.panels import over_time
from varicap.papers.run import Outcome, Run

_WIDE = {f"{REVERSE}.capacity.load-reactive.minimum": "1 Mbit/s"}


def reproduce(run: Run) -> Outcome:
    """One flow, also with a return link that does not limit it."""
    base, wide = measure(run, BASE), measure(run, BASE, _WIDE)
    reverse = base.reverse
    values: Values = {
        "F4a": reverse.capacity.max(axis=1),
        "F4b": reverse.waiting.max(axis=1),
        "F4c": distance(reverse.seconds(reverse.throughput), reverse.seconds(reverse.capacity)),
        "F4d": wide.throughput / base.throughput,
    }
    return Outcome(judged(values), lambda: _draw(base))


def _draw(base: Measured) -> Figure:
    return over_time("Fig. 4: the return link of the same run", base.reverse, BASE)
