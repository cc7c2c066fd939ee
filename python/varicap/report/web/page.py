"""The page of runs or a study, with everything in it."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from varicap import laboratory as browser
from varicap._files import MOST_HANDED_OVER, UnreadableError, read_whole, write_whole
from varicap.report import differences, points, table
from varicap.report.web import captions
from varicap.report.web import path as paths
from varicap.report.web.charts import Chart
from varicap.report.web.distributions import distributions
from varicap.report.web.document import asset, document, footer
from varicap.report.web.markup import Markup, data, joined, tag
from varicap.report.web.series import Series, series
from varicap.report.web.short import sentences, tradeoff
from varicap.report.web.source import Reportable, Source, source
from varicap.report.web.sweeps import sweeps
from varicap.report.web.toml import to_toml
from varicap.results.differences import differences as paired


def write(of: Reportable, path: str | Path, run: int = 0, laboratory: str | None = None) -> Path:
    """Write the page of results or a study into the file `path`, and return it; time series are of the run `run`.

    The laboratory that it links is at the address `laboratory`, else in this installation.
    """
    target = Path(path)
    text = html(of, run, laboratory if laboratory is not None else browser.seen_from(target.parent))
    return write_whole(target, text)


def html(of: Reportable, run: int = 0, laboratory: str | None = None) -> str:
    """The page as text, with a link that opens its scenario in the laboratory at an address, if there is one."""
    shown = source(of)
    over_time = series(shown, run)
    still = list(sweeps(shown.study, _asked(shown))) if shown.study else list(distributions(shown))
    # The first screen has a chart: of a study its first, of runs how flows trade delay for goodput.
    first = still[:1] if shown.study else list(tradeoff(shown))
    still = still[1:] if shown.study else still
    sections = [
        _section("short", "In short", *_in_short(shown, first)),
        _section("summary", "Summary", *_summary(shown)),
        _section("path", "Path", *_path(shown)),
        _section("time", "Over time", *_over_time(shown, over_time)),
        _section(
            "sweep" if shown.study else "distributions", "Sweep" if shown.study else "Distributions", *_grid(still)
        ),
        _section("scenario", "Scenario", *_texts(shown)),
    ]
    there = [section for section in sections if section is not None]
    charts = [*first, *(over_time.charts if over_time else ()), *still]
    body = joined(
        tag("a", "To the results", href=f"#{there[0][0]}", class_="skip"),
        _header(shown, [(identity, title) for identity, title, _ in there], laboratory),
        tag("main", *(markup for _, _, markup in there)),
        footer(),
        tag("noscript", "Without JavaScript the charts over time are tables only."),
        data("page-data", _data(shown, over_time, charts)),
        Markup(f"\n<!-- uPlot, of which this page has a copy:\n{asset('uPlot.LICENSE')}\n-->"),
    )
    return document(shown.name, body, (asset("uPlot.min.js"), asset("page.js")), (asset("uPlot.min.css"),))


def _asked(shown: Source) -> list[str]:
    """The columns that a design was asked about, of which nobody wants to look for the charts."""
    asked = shown.manifest.get("asked") or {}
    texts = [text for key in ("subject_to", "minimise", "maximise") for text in asked.get(key) or ()]
    return [re.split(r"[<>=≤≥ ]", text.strip())[0].rpartition(".")[2] for text in texts if isinstance(text, str)]


Section = tuple[str, str, Markup]


def _section(identity: str, title: str, *children: Markup) -> Section | None:
    """A section, if there is anything in it."""
    if not any(children):
        return None
    return identity, title, tag("section", tag("h2", title), *children, id=identity)


def _header(shown: Source, sections: list[tuple[str, str]], laboratory: str | None) -> Markup:
    links = (tag("li", tag("a", title, href=f"#{identity}")) for identity, title in sections)
    return tag(
        "header",
        tag("h1", shown.name),
        tag("p", shown.description, class_="description") if shown.description else Markup(),
        tag("p", _facts(shown), class_="facts"),
        tag("nav", tag("ul", *links, _again(shown, laboratory)), aria_label="Sections"),
    )


def _again(shown: Source, laboratory: str | None) -> Markup:
    """The way to the laboratory, where the scenario can be changed and run again."""
    if not laboratory or not shown.scenario.get("topology"):
        return Markup()
    scenario = {**shown.scenario, "seed": shown.manifest.get("seed", shown.scenario.get("seed"))}
    traces = _texts_of(shown)
    if traces is None:
        return Markup()
    address = browser.link(laboratory, to_toml(scenario), traces)
    return tag("li", tag("a", "Change and rerun", href=address, class_="again"))


def _texts_of(shown: Source) -> dict[str, str] | None:
    """The files that the run read, by their names; none if they are not here any more, or are too large for a link.

    None where a browser cannot run the scenario: a file that is no text, such as a policy.
    """
    try:
        # What a link has no room for need not be read.
        if sum(path.stat().st_size for path in shown.traces.values()) > MOST_HANDED_OVER:
            return {}
        found = {}
        for name, path in shown.traces.items():
            if not path.is_file():
                return {}
            content = read_whole(path, MOST_HANDED_OVER)
            if hashlib.sha256(content).hexdigest() != shown.digests.get(name):
                return {}
            found[name] = content.decode()
    except (OSError, UnreadableError):
        return {}
    except UnicodeDecodeError:
        return None
    return found


def _facts(shown: Source) -> str:
    manifest, summary = shown.manifest, shown.summary
    facts = []
    if summary is not None and summary["engine"] == "model":
        facts.append("by analysis, in the long run")
    elif summary is not None:
        runs = summary["runs"]
        facts += [
            f"engine {summary['engine']}",
            f"{runs} run{'s' if runs != 1 else ''} of {summary['measured_s']:g} s measured",
        ]
    elif shown.study is not None:
        facts.append(f"{len(shown.study.points)} points, {_runs(shown)} runs")
    if "seed" in manifest:
        facts.append(f"seed {manifest['seed']}")
    software = manifest.get("software") or {}
    if software.get("varicap"):
        facts.append(f"varicap {software['varicap']}")
    git = software.get("git") or {}
    if git.get("revision"):
        facts.append(f"revision {git['revision'][:10]}{', modified' if git.get('modified') else ''}")
    return " · ".join(facts)


def _runs(shown: Source) -> int:
    if shown.study is None:
        return 0
    flows = shown.study.flows
    return len({*zip(flows["point"].to_pylist(), flows["replication"].to_pylist(), strict=True)})


def _in_short(shown: Source, first: list[Chart]) -> Iterable[Markup]:
    """The findings in words beside a chart."""
    findings = [tag("li", sentence) for sentence in sentences(shown)]
    words = tag("ul", *findings, class_="story") if findings else Markup()
    if not first and not findings:
        return ()
    return (tag("div", words, *(_figure(chart, chart.drawing or Markup()) for chart in first), class_="first"),)


def _summary(shown: Source) -> Iterable[Markup]:
    note = tag("p", "Means over the runs, ± how far the 95 % confidence interval reaches.", class_="note")
    if shown.study is not None and "design" in shown.manifest:
        design = shown.manifest["design"]
        return (note, paths.rows(design["headings"], design["rows"], numeric=True))
    if shown.study is not None:
        headings, rows = points.table(shown.study)
        return (note, *_notes(shown.study.notes), paths.rows(headings, rows, numeric=True))
    if shown.summary is None:
        return ()
    tables = [paths.rows(headings, rows, numeric=True) for headings, rows in table.wide_rows(shown.summary)]
    several = shown.summary["engine"] != "model" and shown.summary["runs"] > 1
    fidelity = shown.summary.get("fidelity") or {}
    warning = Markup() if fidelity.get("valid", True) else _warning(fidelity)
    hint = Markup()
    if any(flow.get("transfers") for flow in shown.summary["flows"]) and shown.packets.num_rows == 0:
        hint = tag("p", "Record packets (--packets) to see how completion times are distributed.", class_="note")
    notes = _notes(shown.summary.get("notes") or ())
    return (warning, note if several else Markup(), *notes, *tables, hint, *_differences(shown))


def _notes(texts: Iterable[str]) -> Iterable[Markup]:
    return (tag("p", f"{text[:1].upper()}{text[1:]}.", class_="note") for text in texts)


def _differences(shown: Source) -> Iterable[Markup]:
    """How flows differ from the first of them."""
    if (shown.summary or {}).get("engine") == "model":
        return ()
    found = paired(shown.flows, shown.links)
    headings, rows = differences.table(found)
    if not rows:
        return ()
    note = tag("p", differences.note(found), class_="note")
    return (tag("h3", f"Differences from {found['reference'][0]}"), note, paths.rows(headings, rows, True))


def _warning(fidelity: Mapping[str, Any]) -> Markup:
    reasons = ", ".join(
        f"{key}: {captions.details(value)}" for key, value in fidelity.items() if key != "valid" and value
    )
    return tag(
        "p", f"Not valid as a measurement: {reasons}" if reasons else "Not valid as a measurement.", class_="warning"
    )


def _path(shown: Source) -> Iterable[Markup]:
    drawing = paths.picture(shown)
    return (tag("div", drawing, class_="scroll") if drawing else drawing, paths.tables(shown) if drawing else Markup())


def _over_time(shown: Source, over_time: Series | None) -> Iterable[Markup]:
    if over_time is None:
        if shown.study or (shown.summary or {}).get("engine") == "model":
            return ()
        return (tag("p", "No time series were recorded: run with --series, or set record.series.", class_="note"),)
    bins = over_time.grid.size
    runs = sorted((over_time.run, *over_time.others))
    notes = []
    if len(runs) < over_time.recorded:
        notes.append(f"{len(runs)} of {over_time.recorded} runs are here; --run N chooses another.")
    if bins > 1:
        step = over_time.grid.times[1] - over_time.grid.times[0]
        notes.append(f"Values are means over {step:g} s, losses are added up.")
    if over_time.left_out:
        notes.append(f"{over_time.left_out} more flows are left out; the tables have them.")
    notes.append(
        "Drag to zoom, double-click for everything; keys: ← → cursor, + − zoom, Shift with ← → moves, 0 everything."
    )
    buttons = [("out", "−", "Zoom out"), ("in", "+", "Zoom in"), ("left", "←", "Earlier"), ("right", "→", "Later")]
    bar = tag(
        "div",
        _selector(over_time.run, runs),
        *(
            tag("button", label, type="button", data_zoom=what, title=title, aria_label=title)
            for what, label, title in buttons
        ),
        tag("button", "Everything", type="button", data_zoom="all"),
        tag("output", "", id="range", aria_live="polite"),
        class_="bar",
        role="toolbar",
        aria_label="Time range",
    )
    figures = (_figure(chart, tag("div", class_="series", data_chart=chart.key)) for chart in over_time.charts)
    which = tag("span", f"Run {over_time.run}", id="which-run", aria_live="polite")
    # As in the title of a figure.
    total = shown.summary["runs"] if shown.summary else over_time.recorded
    of_all = f" of runs 0 to {total - 1}" if total > 1 else ""
    recorded = f"; {over_time.recorded} have series" if over_time.recorded < total else ""
    return (
        tag("p", which, f"{of_all}{recorded}. ", " ".join(notes), class_="note"),
        bar,
        *figures,
    )


def _selector(run: int, runs: list[int]) -> Markup:
    """Chooses the run that is shown."""
    if len(runs) < 2:
        return Markup()
    options = (tag("option", f"run {number}", value=number, selected=number == run) for number in runs)
    return tag("label", "Show ", tag("select", *options, id="run", autocomplete="off"))


def _grid(charts: list[Chart]) -> Iterable[Markup]:
    if not charts:
        return ()
    return (tag("div", *(_figure(chart, chart.drawing or Markup()) for chart in charts), class_="grid"),)


def _figure(chart: Chart, drawing: Markup) -> Markup:
    numbers = tag("details", tag("summary", "Numbers"), paths.rows(chart.table[0], list(chart.table[1:]), numeric=True))
    buttons = (
        tag("button", f"Download {kind.upper()}", type="button", data_download=kind, data_of=chart.key)
        for kind in ("csv", "png")
    )
    return tag(
        "figure",
        tag("figcaption", tag("h3", chart.title, id=f"{chart.key}-title"), tag("p", chart.text, class_="text")),
        tag("div", drawing, class_="scroll", tabindex=0, role="region", aria_label=chart.title)
        if chart.wide
        else drawing,
        tag("p", chart.note, class_="note") if chart.note else Markup(),
        tag("div", *buttons, class_="buttons"),
        numbers,
        id=f"figure-{chart.key}",
        class_="wide" if chart.wide else None,
        aria_labelledby=f"{chart.key}-title",
    )


def _texts(shown: Source) -> Iterable[Markup]:
    if not shown.scenario.get("topology"):
        return ()
    parts = [_text("The scenario with every default, as a file", to_toml(shown.scenario), "scenario.toml")]
    if shown.manifest:
        manifest = json.dumps(shown.manifest, indent=2, ensure_ascii=False)
        parts.append(_text("The manifest: seeds, traces, digests, versions, host", manifest, "manifest.json"))
    return parts


def _text(title: str, text: str, file: str) -> Markup:
    button = tag("button", f"Download {file}", type="button", data_text=file)
    return tag("details", tag("summary", title), button, tag("pre", text, tabindex=0), class_="text")


def _data(shown: Source, over_time: Series | None, charts: list[Chart]) -> dict[str, Any]:
    """What the script draws and what can be downloaded."""
    times = [round(float(time), 9) for time in over_time.grid.times] if over_time else []
    others = over_time.others.items() if over_time else ()
    return {
        "name": shown.name,
        "times": times,
        "charts": {chart.key: _chart(chart) for chart in charts},
        "run": over_time.run if over_time else None,
        "others": {run: {chart.key: _chart(chart) for chart in of_run} for run, of_run in others},
    }


def _chart(chart: Chart) -> dict[str, Any]:
    columns = [
        {
            "label": each.label,
            "heading": each.heading,
            "role": each.role,
            "flow": each.flow,
            "dash": each.dash,
            "values": list(each.values),
        }
        for each in chart.columns
    ]
    # What is drawn already has its numbers on the page, and nothing else is shown in its place.
    numbers = {"numbers": chart.table[1:]} if chart.drawing is None else {}
    over_time = chart.drawing is None
    return {
        "title": chart.title,
        "unit": chart.unit,
        "text": chart.text,
        "overTime": over_time,
        "columns": columns,
        **numbers,
    }
