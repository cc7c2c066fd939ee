"""Fig. 3: RATCP and TCP against the arrival rate of ephemeral sessions, analysis and simulation."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap import papers
from varicap.papers.ratcp.table1 import COLUMNS, modelled, simulated
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval


def reproduce(run: Run) -> Outcome:
    """Two rows of Table I, simulated and by the analysis."""
    ratcp, tcp = simulated(run, "ratcp"), simulated(run, "tcp")
    by_model = {row: modelled(row) for row in ("ratcp-b1", "tcp")}
    ratios = [Interval.of(one / other) for one, other in zip(ratcp, tcp, strict=True)]
    gain = 100.0 * ((ratcp[0] / tcp[0] + ratcp[1] / tcp[1]) / 2 - 1)
    values = {
        "F3-gain": Value(sim=Interval.of(gain)),
        "F3-never-worse": Value(sim=min(ratios, key=lambda ratio: ratio.mean)),
        "F3-match-ratcp": Value(sim=_match(by_model["ratcp-b1"], ratcp)),
        "F3-match-tcp": Value(sim=_match(by_model["tcp"], tcp)),
    }
    paper = {row: _paper(run.key, row) for row in ("ratcp-b1", "tcp")}
    return Outcome(values, partial(_draw, {"ratcp-b1": ratcp, "tcp": tcp}, by_model, paper))


def _match(model: list[float], sim: list[Array]) -> Interval:
    """The ratio of analysis to simulation, as a mean over the columns."""
    return Interval.of(np.mean([theory / cell for theory, cell in zip(model, sim, strict=True)], axis=0))


def _paper(key: str, row: str) -> list[float]:
    """The paper's simulated row."""
    return [float(claim.paper) for claim in papers.paper(key).claims if claim.id.startswith(f"T1.{row}-sim.")]


def _draw(sim: dict[str, list[Array]], model: dict[str, list[float]], paper: dict[str, list[float]]) -> Figure:
    x = range(len(COLUMNS))
    lines = []
    for colour, (row, name) in enumerate((("ratcp-b1", "RATCP"), ("tcp", "TCP"))):
        lines += [
            Curve(f"{name}, sim", x, [Interval.of(cell) for cell in sim[row]], colour),
            Curve(f"{name}, model", x, model[row], colour, "model"),
            Curve(f"{name}, the paper's runs", x, paper[row], colour, "paper"),
        ]
    title = "Fig. 3: a persistent session beside ephemeral ones, beta = 1"
    return curves(title, lines, Axis("ephemeral sessions/s", names=COLUMNS), Axis("throughput [kB/s]"))
