"""Fig. 3: RATCP and TCP against the arrival rate of ephemeral sessions, analysis and simulation."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from varicap.papers.ratcp.table1 import COLUMNS, modelled, of_paper, simulated
from varicap.papers.run import Outcome, Run
from varicap.papers.verdict import Value
from varicap.papers.worst import farthest, least, most
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_BETWEEN = slice(3, 6)  # 0.1 to 0.33 sessions/s, where capacities last about as long as the delay


def reproduce(run: Run) -> Outcome:
    """Two rows of Table I, simulated and by the analysis."""
    ratcp, tcp = simulated(run, "ratcp"), simulated(run, "tcp")
    by_model = {row: modelled(row) for row in ("ratcp-b1", "tcp")}
    ratios = [one / other for one, other in zip(ratcp, tcp, strict=True)]
    gain = 100.0 * ((ratios[0] + ratios[1]) / 2 - 1)
    values = {
        "F3-gain": Value(sim=Interval.of(gain)),
        "F3-never-worse": Value(sim=least(ratios)),
        "F3-close": Value(sim=farthest(ratios[6:])),
        "F3-between": Value(sim=most(ratios[_BETWEEN])),
        "F3-match-ratcp": Value(sim=_match(by_model["ratcp-b1"], ratcp)),
        "F3-match-tcp": Value(sim=_match(by_model["tcp"], tcp)),
    }
    readings = {
        f"F3-match-{name}": {"the analysis grows per ACK": Value(sim=_match(modelled(row, growth="per-ack"), cells))}
        for name, row, cells in (("ratcp", "ratcp-b1", ratcp), ("tcp", "tcp", tcp))
    }
    modern = [told / alone for told, alone in zip(simulated(run, "ratcp-sack"), simulated(run, "sack"), strict=True)]
    today = {"F3-never-worse": {"RATCP-SACK over SACK": Value(sim=least(modern))}}
    today["F3-gain"] = {"RATCP-SACK over SACK": Value(sim=Interval.of(100.0 * ((modern[0] + modern[1]) / 2 - 1)))}
    paper = {row: of_paper(run.key, f"{row}-sim") for row in ("ratcp-b1", "tcp")}
    draw = partial(_draw, {"ratcp-b1": ratcp, "tcp": tcp}, by_model, paper)
    return Outcome(values, draw, readings=readings, today=today)


def _match(model: list[float], sim: list[Array]) -> Interval:
    """The ratio of analysis to simulation, as a mean over the columns."""
    return Interval.of(np.mean([theory / cell for theory, cell in zip(model, sim, strict=True)], axis=0))


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
