"""Run the tables and figures of a paper and judge its claims."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, get_args

from varicap.interface import Folder, __version__
from varicap.papers import conclusions
from varicap.papers import statements as sentences
from varicap.papers.claims import Paper, Verdict
from varicap.papers.conclusions import Concluded
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.statements import Statement
from varicap.papers.verdict import Judged, judge
from varicap.statistics import FEWEST, Progress

MOST_EFFORT = 16
"""So many times the usual number of replications settle a claim or narrow its interval, or it stays as it is."""


@dataclass(frozen=True)
class Reproduction:
    """The claims of a paper, judged by the runs of one call."""

    paper: Paper
    claims: tuple[Judged, ...]
    grids: tuple[tuple[str, Grid], ...]
    """Tables that the paper does not have, each with its figure."""
    plots: tuple[Path, ...]
    scenarios: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By figure that was reproduced: the scenarios that it ran."""
    is_quick: bool = False

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures that were reproduced."""
        return tuple(self.scenarios)

    @property
    def counts(self) -> dict[str, int]:
        """How many claims have each verdict, without those that count apart."""
        of = [one.verdict for one in self.claims if not one.claim.apart]
        return {verdict: of.count(verdict) for verdict in get_args(Verdict)}

    @property
    def apart(self) -> dict[str, dict[str, int]]:
        """The same of the claims that count apart, by what sets them apart."""
        found: dict[str, dict[str, int]] = {}
        for one in self.claims:
            if one.claim.apart:
                found.setdefault(one.claim.apart, dict.fromkeys(get_args(Verdict), 0))[one.verdict] += 1
        return found

    @property
    def conclusions(self) -> tuple[Concluded, ...]:
        """What the paper concludes, as far as all claims that it rests on were judged."""
        return conclusions.conclude(conclusions.of_paper(self.paper.key), self.claims)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The sentences of the paper that were put to the test."""
        return sentences.statements(self.claims)

    def to_dict(self) -> dict[str, Any]:
        """The same as an object, as ``varicap reproduce KEY --json`` prints it."""
        return {
            "paper": self.paper.key,
            "conclusions": [one.to_dict() for one in self.conclusions],
            "statements": {
                "counts": sentences.counts(self.statements),
                "all": [one.to_dict() for one in self.statements],
            },
            "verdicts": self.counts,
            "apart": self.apart,
            "claims": [claim.to_dict() for claim in self.claims],
            "beside": [
                {
                    "figure": figure,
                    "title": grid.title,
                    "unit": grid.unit,
                    "column": grid.column,
                    "columns": list(grid.columns),
                    "rows": {name: [value.to_dict() for value in row] for name, row in grid.rows.items()},
                }
                for figure, grid in self.grids
            ],
        }


def reproduce(
    paper: Paper,
    figures: Sequence[str] | None = None,
    *,
    run: Run | None = None,
    plots: Path | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run these figures of a paper (all by default), judge their claims, and draw them into the folder `plots`.

    If the run is to `settle` claims, or to have a `precision`, figures run again with as many more replications as that
    is thought to take, up to `MOST_EFFORT` times the usual number.
    """
    run = run or Run(paper.key)
    chosen = list(paper.figures) if figures is None else list(figures)
    judged: list[Judged] = []
    grids: list[tuple[str, Grid]] = []
    drawn: list[Path] = []
    scenarios: dict[str, tuple[str, ...]] = {}
    for number, figure in enumerate(chosen):
        if progress is not None:
            progress(number / len(chosen), number, len(chosen))
        outcome, found = _judged(paper, figure, run)
        judged += found
        scenarios[figure] = tuple(run.used)
        run.used.clear()
        grids += [(figure, grid) for grid in outcome.grids]
        if plots is not None:
            drawn.append(_draw(outcome, plots / f"{figure}.png"))
    return Reproduction(paper, tuple(judged), tuple(grids), tuple(drawn), scenarios, run.quick)


def _judged(paper: Paper, figure: str, run: Run) -> tuple[Outcome, list[Judged]]:
    """What a figure gives, with the effort that its claims need.

    All simulations of the figure have the same effort: some claims compare them run by run.
    """
    while True:
        outcome = maker(paper, figure)(run)
        judged = [
            judge(
                claim,
                outcome.values[claim.id],
                outcome.readings.get(claim.id),
                outcome.today.get(claim.id),
                outcome.points.get(claim.id, ""),
            )
            for claim in paper.of(figure)
        ]
        wanted = [run.effort]
        if run.settle:
            wanted += [_to_settle(one, run.effort) for one in judged]
        if run.precision is not None:
            wanted += [_to_narrow(one, run.effort, run.precision) for one in judged]
        effort = max(wanted)
        if effort == run.effort:
            return outcome, judged
        run = replace(run, effort=effort)


def _to_settle(judged: Judged, spent: int) -> int:
    """The effort that would settle a claim, after `spent`; that again if none would, or none is needed."""
    missing = judged.runs_missing
    samples = None if judged.value.sim is None else judged.value.sim.samples
    if samples is not None and samples < FEWEST and judged.verdict == "unsettled":
        return spent * math.ceil(FEWEST / samples)
    if missing is None or samples is None:
        return spent
    needed = math.ceil(spent * (samples + missing) / samples)
    return needed if needed <= MOST_EFFORT else spent


def _to_narrow(judged: Judged, spent: int, precision: float) -> int:
    """The effort that would narrow the interval of a claim to a share of its mean, after `spent`, or the most."""
    ours = judged.ours
    if ours.lo is None or not ours.reach > precision * abs(ours.mean):
        return spent
    wanted = spent * (ours.near_reach / (precision * abs(ours.mean))) ** 2 if ours.mean else math.inf
    return math.ceil(min(max(wanted, spent + 1), MOST_EFFORT))


def maker(paper: Paper, figure: str) -> Callable[[Run], Outcome]:
    """What makes a table or figure of a paper."""
    made = paper.makers[figure]
    return partial(import_module(f"varicap.papers.{paper.key}.{made.module}").reproduce, **made.arguments)


def _draw(outcome: Outcome, path: Path) -> Path:
    image = BytesIO()
    outcome.draw().savefig(image, format="png", metadata={"Software": f"varicap {__version__}"})
    with Folder.inner(path.parent, make=True) as folder:
        return folder.write(path.name, image.getvalue())
