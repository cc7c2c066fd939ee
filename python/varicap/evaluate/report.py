"""An evaluation for the terminal."""

from itertools import groupby

from rich.table import Table
from rich.text import Text

from varicap.evaluate.criteria import judged
from varicap.evaluate.solve import Evaluation, Judged
from varicap.report.table import with_interval
from varicap.statistics import Interval

STYLES = {"meets": "green", "fails": "red", "unsettled": "yellow", "weigh": ""}
SAID = {"meets": "meets", "fails": "fails", "unsettled": "unsettled", "weigh": "to be weighed"}


def rich_tables(evaluation: Evaluation) -> list[Table]:
    """A table with a row for each criterion."""
    names = list(evaluation.judged[0].beside) if evaluation.judged else []
    table = Table(
        title=f"{evaluation.control.name} by RFC 9743's criteria",
        title_justify="left",
        title_style="bold",
    )
    for heading in ("§", "criterion", evaluation.control.name, *names, "enough", "verdict"):
        table.add_column(heading)
    for section, group in groupby(evaluation.judged, key=lambda one: one.criterion.section):
        for number, one in enumerate(group):
            table.add_row(section if number == 0 else "", *_cells(one))
        table.add_section()
    return [table]


def _cells(one: Judged) -> list[str | Text]:
    criterion = one.criterion
    unit = "" if criterion.unit == "1" else f" [{criterion.unit}]"
    title = f"{criterion.title}: {criterion.point}{unit}" if criterion.point else f"{criterion.title}{unit}"
    verdict = Text(SAID[one.verdict], style=STYLES[one.verdict])
    if one.apart:
        verdict.append(f", {one.apart} than each")
    enough = "" if criterion.bounds is None else judged(criterion.bounds)
    return [title, shown(one.value), *map(shown, one.beside.values()), enough, verdict]


def shown(value: Interval) -> str:
    """A mean with its interval."""
    return with_interval(value.mean, value.lo, value.hi)


def conclusion(evaluation: Evaluation) -> list[str]:
    """At most three sentences: the counts, what fails, and where the control is worse than each of the others.

    None of them adds criteria up to a mark: the RFC leaves weighing to people.
    """
    counts = evaluation.counts
    said = [
        f"{evaluation.control.name}: {len(evaluation.judged)} measures: {counts['meets']} as asked, "
        f"{counts['fails']} failed, {counts['unsettled']} unsettled, {counts['weigh']} to be weighed"
    ]
    failed = [one for one in evaluation.judged if one.verdict == "fails"]
    if failed:
        said.append(f"fails: {_listed(failed)}")
    worse = [one for one in evaluation.judged if one.verdict != "fails" and one.apart == "worse"]
    if worse:
        said.append(f"worse than each of {', '.join(evaluation.judged[0].beside)}: {_listed(worse)}")
    return said


def _listed(some: list[Judged]) -> str:
    """Criteria by their ids, with their points together.

    They are in the RFC's order.
    """
    named = []
    for name, group in groupby(some, key=lambda one: one.criterion.id.partition(".")[0]):
        points = [one.criterion.point for one in group if one.criterion.point]
        named.append(f"{name} ({'; '.join(points)})" if points else name)
    return ", ".join(named)
