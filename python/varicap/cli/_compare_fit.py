"""`varicap compare --fit`: what model, simulator and kernel say of a trace and of its fit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from varicap import units
from varicap.cli._quantities import reported
from varicap.terminal import (
    USAGE,
    check_folder,
    draw,
    echo,
    fail,
    folder_name,
    print_tables,
    progress_bar,
    quantity,
    say,
)


def compare_fit(
    file: Path,
    slot: str,
    *,
    output: Path | None,
    drawn: bool,
    as_json: bool,
    quiet: bool,
    report: Callable[[str], None],
    **options: Any,
) -> None:
    """Print it, and write the page."""
    from varicap.engines import fitted
    from varicap.report import fitted as shown

    slot_s = quantity("--slot", units.seconds, slot)
    if drawn:
        check_folder(output or Path("varicap-out"))
    with progress_bar(str(file), quiet) as progress:
        found = reported(lambda: fitted.compare_fit(file, slot_s, progress=progress, **options))
    if not found.flows:
        fail("; ".join(shown.missing(found)), USAGE)
    if as_json:
        echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        print_tables(shown.tables(found), "--json")
        for line in shown.sentences(found):
            echo(line)
    for line in shown.missing(found):
        # Also with --quiet: a missing column may not go unnoticed.
        say(line)
    if drawn:
        folder = output or Path("varicap-out") / folder_name(found.scenario)
        draw(lambda: shown.figure(found), folder / "fit.png", report)
        report(f"wrote {shown.page(found, folder / 'fit.html')}; any browser opens it")
