"""The files of an evaluation: the page, the badge, the numbers, and each scenario to replay."""

from collections.abc import Sequence
from pathlib import Path

from varicap._folders import Folder, as_json
from varicap.evaluate import badge, page
from varicap.evaluate.changes import Change
from varicap.evaluate.solve import Evaluation
from varicap.report.web.toml import to_toml


def write(evaluation: Evaluation, folder: Path, moved: Sequence[Change] | None = None) -> Path:
    """Write ``index.html``, ``badge.svg``, ``evaluation.json`` and ``scenarios/*.toml``; returns the page."""
    with Folder(folder, make=True) as there:
        with there.within("scenarios", make=True) as scenarios:
            for one in evaluation.judged:
                text = to_toml({**one.scenario, "seeds": evaluation.seeds, "seed": evaluation.seed})
                scenarios.write(f"{one.criterion.id}.toml", text.encode())
        there.write("badge.svg", badge.svg(evaluation).encode())
        there.write("evaluation.json", as_json(evaluation.to_dict()))
        return there.write("index.html", page.html(evaluation, moved).encode())
