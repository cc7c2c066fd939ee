"""Fig. 19: two sessions at small psi; half of the EFFCAP for its own round trip is advertised to each (case 1)."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.abr.sessions import LONG_MS, curve, grid, two
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import farthest
from varicap.report.paper import Axis, curves
from varicap.statistics import Array, Interval

SMALL = (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)
PSI = (*SMALL, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0)
"""Values of psi: mean time in a state over the larger round trip."""
NAMES = {"case 1": "EFFCAP", "case 2": "EFFCAP", "instcap": "INSTCAP", "tcp": "TCP alone"}
PSI_AXIS = Axis(f"psi: mean time in a state / {LONG_MS:g} ms", scale="log")

Pairs = dict[float, tuple[Array, Array]]
"""Efficiencies of the short and the long session, by psi."""


def measured(run: Run, kind: str, psi: Sequence[float]) -> Pairs:
    """Efficiencies of two sessions at each psi, or at some of them in a quick run."""
    return {value: two(run, kind, value) for value in grid(run, psi)}


def ratios(pairs: Pairs) -> dict[float, Array]:
    """The efficiency of the long session over that of the short one, by psi."""
    return {psi: long / short for psi, (short, long) in pairs.items()}


def unfairness(by_psi: dict[float, Array]) -> dict[float, Array]:
    """How far the ratio is from one, by psi.

    A run counts on the side on which the mean lies, so that the mean of these is the distance of the mean; distances of
    single runs would grow with their scatter.
    """
    return {psi: np.sign(ratio.mean() - 1) * (ratio - 1) for psi, ratio in by_psi.items()}


def between(by_psi: dict[float, Array]) -> list[Array]:
    """The values for psi between 0.3 and 20."""
    return [one for psi, one in by_psi.items() if 0.3 < psi < 20]


def reproduce(run: Run) -> Outcome:
    """Whether the sessions share equally where the capacity varies fast."""
    ours = measured(run, "case 1", SMALL)
    fast = [ratio for psi, ratio in ratios(ours).items() if psi <= 0.3]
    return Outcome({"ABR-C15-fast": Value(sim=farthest(fast))}, partial(draw, "Fig. 19: case 1", {"case 1": ours}))


def draw(title: str, ours: dict[str, Pairs]) -> Figure:
    """A line for each session and kind."""
    lines = [
        curve(f"{NAMES[kind]}, {session} ms", list(pairs), [pair[number] for pair in pairs.values()], 2 * at + number)
        for at, (kind, pairs) in enumerate(ours.items())
        for number, session in enumerate((240, 360))
    ]
    return curves(title, lines, PSI_AXIS, Axis("efficiency of a session"))


def fairness(run: Run) -> Grid:
    """Jain's index of the two sessions, for each kind.  Source: [jain84]."""
    shown = (0.15, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
    rows = {}
    for kind, name in NAMES.items():
        pairs = np.array(list(measured(run, kind, shown).values()))
        index = pairs.sum(axis=1) ** 2 / (2 * (pairs**2).sum(axis=1))
        rows[f"{name}, {kind}" if name == "EFFCAP" else name] = [Interval.of(one) for one in index]
    return Grid(
        "Jain's index of two sessions of 240 and 360 ms", "1", "psi", [f"{psi:g}" for psi in grid(run, shown)], rows
    )
