"""Pages and figures of results: what is in them, that nothing gets out of hand, and that a browser shows them."""

import base64
import dataclasses
import hashlib
import html.parser
import json
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pyarrow.compute as pc
import pytest
from conftest import Cli

import varicap
from varicap import _core, laboratory
from varicap.report.web import page as pages
from varicap.report.web.toml import to_toml
from varicap.results import FolderError
from varicap.results.manifest import values_sha256
from varicap.results.saved import SavedResult, read

pytestmark = pytest.mark.slow

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{7*7}}"


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three short runs with time series."""
    folder = tmp_path_factory.mktemp("runs")
    varicap.run("examples/lte.toml", seeds=3, series=True, overrides={"duration": "20 s"}).save(folder)
    return folder


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a study with two axes."""
    folder = tmp_path_factory.mktemp("study")
    over = {
        "topology.dumbbell.forward.queue.drop-tail.limit": ["5 packets", "10 packets", "20 packets"],
        "flows.reno.tcp.recovery": ["reno", "sack"],
    }
    varicap.sweep("examples/fixed.toml", over, seeds=3, folder=folder, overrides={"duration": "15 s"})
    return folder


class Outline(html.parser.HTMLParser):
    """The elements of a page, and whether every one that opens is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def data_of(text: str) -> dict[str, Any]:
    """What the page's script draws."""
    found = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', text, re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def test_a_page_of_runs_has_series_distributions_and_where_they_come_from(runs: Path) -> None:
    text = pages.html(runs)
    outline = Outline(text)
    assert outline.open == []
    assert len(text) < 1_000_000
    data = data_of(text)
    assert data["times"][:2] == [0.1, 0.2]
    over_time = {"rates-0", "rates-3", "queue", "waiting", "cwnd", "rtt"}
    assert over_time | {"tradeoff", "delay", "backlog", "goodput"} <= set(data["charts"])
    throughput = next(each for each in data["charts"]["rates-3"]["columns"] if each["label"] == "cubic")
    saved = read(runs)
    assert isinstance(saved, SavedResult)
    # What the link sent, which the capacity bounds; what arrives in an interval it does not.
    rows = [row for row in saved.link_series.to_pylist() if (row["flow"], row["link"]) == ("cubic", "forward")]
    recorded = [row["throughput_bps"] for row in rows if row["replication"] == 0]
    assert all(row["throughput_bps"] <= row["capacity_bps"] * (1 + 1e-9) for row in rows)
    assert throughput["values"] == pytest.approx([value / 1e6 for value in recorded], rel=1e-4)
    assert "reno, newreno, sack and cubic on an LTE-like link" in text
    assert json.loads((runs / "manifest.json").read_text())["traces"]["traces/lte-like.down"]["sha256"] in text


def test_every_chart_has_a_text_in_its_place_and_downloads(runs: Path, study: Path) -> None:
    for folder in (runs, study):
        text = pages.html(folder)
        outline = Outline(text)
        charts = data_of(text)["charts"]
        assert len(outline.all("figure")) == len(charts)
        downloads = {(each["data-of"], each["data-download"]) for each in outline.all("button") if "data-of" in each}
        assert downloads == {(key, kind) for key in charts for kind in ("csv", "png")}
        assert all(re.search(r"\d", chart["text"]) for chart in charts.values())
        assert all(svg["role"] == "img" for svg in outline.all("svg"))
        assert text.count("<summary>Numbers</summary>") == len(charts)


def test_nothing_is_fetched_from_anywhere(runs: Path) -> None:
    outline = Outline(pages.html(runs))
    for _, attributes in outline.elements:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    (policy,) = [each["content"] for each in outline.all("meta") if each.get("http-equiv")]
    assert policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline" not in policy.split("style-src")[0]


def test_a_page_of_a_study_has_its_intervals_and_differences(study: Path) -> None:
    text = pages.html(study)
    data = data_of(text)
    saved = read(study)
    assert isinstance(saved, varicap.study.Study)
    rows = [row for row in saved.summary.to_pylist() if row["measure"] == "goodput_bps"]
    columns = {each["label"]: each["values"] for each in data["charts"]["goodput-bps-0"]["columns"]}
    for key, name in (("mean", "mean"), ("lo", "lo"), ("difference_hi", "difference_hi")):
        assert columns[key] == pytest.approx([row[name] / 1e6 for row in rows])
    assert columns["flows.reno.tcp.recovery"] == ["reno", "sack"] * 3
    drawing = text[text.index('id="figure-goodput-bps-0"') :]
    assert drawing[: drawing.index("</svg>")].count('class="bar"') == 6


def test_results_in_memory_make_the_same_page_as_their_folder(tmp_path: Path) -> None:
    result = varicap.run("examples/fixed.toml", seeds=2, series=True, overrides={"duration": "15 s"})
    result.save(tmp_path)
    assert data_of(pages.html(result)) == data_of(pages.html(tmp_path))
    file = varicap.report.page(result, tmp_path / "deep" / "page.html")
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_recorded_packets_give_the_delays_of_packets() -> None:
    result = varicap.run("examples/fixed.toml", seeds=1, packets=True, overrides={"duration": "15 s"})
    delay = data_of(pages.html(result))["charts"]["delay"]
    (reno,) = [each["values"] for each in delay["columns"] if each["label"] == "reno"]
    # 50 ms of propagation and 552 bytes at 0.8 Mb/s; before it at most ten packets wait and one is in service.
    assert min(reno) == pytest.approx(50 + 5.52, abs=0.01)
    assert max(reno) <= 50 + 12 * 5.52 + 0.01


def test_answers_by_analysis_and_runs_without_series_have_a_page() -> None:
    by_analysis = pages.html(varicap.run("examples/fixed.toml", engine="model"))
    assert "by analysis, in the long run" in by_analysis
    assert "sawtooth" in by_analysis
    plain = pages.html(varicap.run("examples/fixed.toml", seeds=2, overrides={"duration": "15 s"}))
    assert "No time series were recorded" in plain


def test_a_folder_without_its_table_of_flows_has_a_page_of_what_is_left(runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "left"
    shutil.copytree(runs, folder)
    for name in ("manifest.json", "flows.parquet"):
        (folder / name).unlink()
    assert "Over time" in pages.html(read(folder))


def test_a_hostile_scenario_injects_no_markup() -> None:
    scenario = {
        "name": "=1+1",
        "description": HOSTILE,
        "duration": "5 s",
        "topology": {"dumbbell": {"forward": {"name": "<b>", "capacity": "1 Mbit/s", "delay": "10 ms"}}},
        "flows": {HOSTILE: {}, "=cmd": {}},
    }
    text = pages.html(varicap.run(scenario, seeds=2, series=True))
    outline = Outline(text)
    assert outline.open == []
    assert not outline.all("img")
    assert not outline.all("b")
    assert len(outline.all("script")) == 3
    assert HOSTILE in [each["label"] for each in data_of(text)["charts"]["cwnd"]["columns"]]


def test_the_scenario_on_the_page_can_be_run_again(lte: Path) -> None:
    for file in (lte, lte.with_name("ratcp.toml"), lte.with_name("lrl.toml")):
        loaded = varicap.load(file)
        again = to_toml(json.loads(loaded.to_json()))
        parsed = _core.Scenario.from_toml(again, "again", str(lte.parent), [])
        assert json.loads(parsed.to_json()) == json.loads(loaded.to_json())


def state_of(text: str) -> dict[str, Any]:
    """What the link of a page hands to the laboratory."""
    (letters,) = re.findall(r'<a href="[^"]*#s=([\w-]+)" class="again">', text)
    content = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    return dict(json.loads(zlib.decompress(content, -zlib.MAX_WBITS)))


def test_the_page_links_its_scenario_in_the_laboratory(
    runs: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = state_of(pages.html(runs, laboratory="https://example.org/laboratory/"))
    scenario = tmp_path / state["file"]
    scenario.write_text(state["text"])
    for name, text in state["files"].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    again = varicap.run(scenario, seeds=1)
    saved = read(runs)
    assert isinstance(saved, SavedResult)
    assert values_sha256(again.flows) == values_sha256(saved.flows.slice(0, again.flows.num_rows))
    # The page of this installation, as a file seen from the report; none where there is none, or where nobody wants it.
    built = tmp_path / "site-packages/page/index.html"
    monkeypatch.setattr("varicap.laboratory._built", lambda: built)
    report = tmp_path / "results/report.html"
    assert 'class="again"' not in varicap.report.page(runs, report).read_text()
    built.parent.mkdir(parents=True)
    built.write_text("")
    assert varicap.report.page(runs, report).read_text().count('href="../site-packages/page/index.html#s=') == 1
    assert 'class="again"' not in varicap.report.page(runs, report, laboratory="").read_text()
    assert cli("report", str(runs), "-o", str(report), "--laboratory", "https://example.org/").returncode == 0
    assert report.read_text().count('href="https://example.org/#s=') == 1


def test_a_link_leaves_out_files_that_no_address_has_room_for() -> None:
    random = "".join(f"{hashlib.sha256(bytes([n % 256, n // 256])).hexdigest()}\n" for n in range(20_000))
    address = laboratory.link("x", "a = 1", {"traces/big.csv": random})
    assert len(address) < 1000
    assert "files" not in state_of(f'<a href="{address}" class="again">')


def on_a_trace(folder: Path) -> varicap.Result:
    """A run on a trace in a folder, named from it."""
    (folder / "rates.csv").write_text("time_s,rate_mbps\n0,3\n1,8\n")
    link = {"capacity": {"trace": {"file": "rates.csv", "offset": "random"}}, "delay": "10 ms"}
    scenario = {"duration": "2 s", "topology": {"dumbbell": {"forward": link}}, "flows": {"a": {}}}
    return varicap.run(scenario, seeds=1, series=True)


def test_a_link_has_the_files_of_the_run_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "there"
    there.mkdir()
    monkeypatch.chdir(there)
    result, trace = on_a_trace(there), there / "rates.csv"
    was = trace.read_text()
    monkeypatch.chdir(tmp_path)
    address = "https://example.org/"
    assert state_of(pages.html(result, laboratory=address))["files"] == {"rates.csv": was}
    trace.write_text(was.replace("8", "9"))
    assert not state_of(pages.html(result, laboratory=address)).get("files")
    trace.unlink()
    assert not state_of(pages.html(result, laboratory=address)).get("files")
    trace.mkdir()
    assert not state_of(pages.html(result, laboratory=address)).get("files")


def test_a_link_reads_nothing_of_traces_that_no_address_has_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = on_a_trace(tmp_path)
    monkeypatch.setattr(pages, "MOST_HANDED_OVER", 10)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("read"))
    assert not state_of(pages.html(result, laboratory="https://example.org/")).get("files")
    # Nor does the address try to compress them.
    monkeypatch.setattr(laboratory, "_letters", lambda state: pytest.fail("tried") if "files" in state else "x")
    assert laboratory.link("", "a = 1", {"big.csv": "1" * 5_000_000}) == "#s=x"


def test_a_page_has_no_link_where_a_browser_could_not_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = on_a_trace(tmp_path)
    content = b"PK\x03\x04\xff\xfe"
    (tmp_path / "rates.csv").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    request = dataclasses.replace(result.request, files=(("rates.csv", tmp_path / "rates.csv", digest),))
    again = dataclasses.replace(result, request=request)
    assert 'class="again"' not in pages.html(again, laboratory="https://example.org/")


def test_folders_that_hold_nothing_are_told(tmp_path: Path, cli: Cli, study: Path) -> None:
    with pytest.raises(FolderError, match="there is no such folder"):
        read(tmp_path / "none")
    with pytest.raises(FolderError, match="no results"):
        read(tmp_path)
    (tmp_path / "summary.json").write_text("[1]")
    with pytest.raises(FolderError, match="not a file that varicap wrote"):
        read(tmp_path)
    (tmp_path / "summary.json").write_text('{"schema_version": 99}')
    with pytest.raises(FolderError, match=r"schema_version 99; this varicap reads 1"):
        read(tmp_path)
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(FolderError, match="not finished"):
        read(tmp_path)
    done = cli("report", "nowhere")
    assert (done.returncode, done.stderr) == (2, "varicap: nowhere: there is no such folder\n")
    done = cli("plot", study, "--measure", "speed", "-o", "x.pdf")
    assert done.returncode == 2
    assert "no measure `speed`; there are: goodput_bps" in done.stderr
    assert cli("plot", study, "-o", "x.docx").returncode == 2


def test_report_and_plot_from_the_command_line(cli: Cli, runs: Path, study: Path, tmp_path: Path) -> None:
    done = cli("report", runs, "-o", "page.html", "--run", "1")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert '<option value="1" selected>run 1</option>' in page
    assert data_of(page)["run"] == 1
    assert sorted(data_of(page)["others"]) == ["0", "2"]
    done = cli("report", runs, "--run", "3")
    assert (done.returncode, done.stderr) == (2, "varicap: no series of run 3; there are those of runs 0 to 2\n")
    for folder, file, begin in ((runs, "a.pdf", b"%PDF"), (study, "b.png", b"\x89PNG"), (study, "c.svg", b"<?xml")):
        assert cli("plot", folder, "-o", file).returncode == 0
        assert (tmp_path / file).read_bytes().startswith(begin)


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Page]:
    """A tab of a headless Chromium."""
    if browser.executable() is None:
        pytest.skip("no Chromium on this machine: install it to see pages drawn")
    with browser.browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


def test_a_browser_draws_zooms_and_downloads(tab: browser.Page, runs: Path, tmp_path: Path) -> None:
    tab.open(varicap.report.page(runs, tmp_path / "page.html"))
    assert tab.eval("varicap.plots.length") == 8
    # Every canvas has more than one colour.
    drawn = """varicap.plots.every(({ctx}) => new Set(new Uint32Array(
        ctx.getImageData(0, 0, ctx.canvas.width, ctx.canvas.height).data.buffer)).size > 20)"""
    assert tab.eval(drawn)
    spans = "varicap.plots.map(({scales}) => scales.x.max - scales.x.min)"
    assert tab.eval(spans) == pytest.approx([19.9] * 8)
    tab.eval("document.querySelector('#figure-cwnd').scrollIntoView()")
    place = "(({left, top, width, height}) => [left, top, width, height])"
    left, top, width, height = tab.eval(f"{place}(varicap.plots[6].over.getBoundingClientRect())")
    tab.drag(left + 0.25 * width, top + height / 2, left + 0.75 * width)
    assert tab.eval(spans) == pytest.approx([9.95] * 8, rel=0.02)
    # By keyboard: the cursor of all, closer, everything.
    tab.eval("document.querySelector('[data-chart=cwnd]').focus()")
    tab.key("ArrowRight")
    before = tab.eval("varicap.plots.map(({cursor}) => cursor.idx)")
    tab.key("ArrowRight")
    assert tab.eval("varicap.plots.map(({cursor}) => cursor.idx)") == [before[0] + 1] * 8
    tab.key("+")
    assert tab.eval(spans) == pytest.approx([9.95 / 2] * 8, rel=0.02)
    assert "s to" in tab.eval("document.getElementById('range').textContent")
    tab.key("0")
    assert tab.eval(spans) == pytest.approx([19.9] * 8)
    # A flow that is hidden in one chart is hidden in all.
    tab.eval("document.querySelector('#figure-cwnd .u-series:nth-child(2) th').click()")
    hidden = "varicap.plots.map(({series}) => series.filter(({label, show}) => label === 'reno' && !show).length)"
    assert tab.eval(hidden) == [1, 0, 0, 0, 1, 1, 1, 1]
    csv = tab.eval("varicap.makers.csv('cwnd').text()")
    assert csv.splitlines()[0] == "time [s],reno [packets],newreno [packets],sack [packets],cubic [packets]"
    assert len(csv.splitlines()) == 201
    for key in ("cwnd", "goodput"):
        assert (
            tab.eval(f"varicap.makers.png('{key}').then(({{size, type}}) => type + (size > 3000))") == "image/pngtrue"
        )
    assert tab.complaints == []
    assert [each for each in tab.requests if not each.startswith(("file:", "data:", "blob:"))] == []


def test_a_browser_shows_the_run_that_is_chosen(tab: browser.Page, runs: Path, tmp_path: Path) -> None:
    tab.open(varicap.report.page(runs, tmp_path / "page.html", run=1))
    saved = read(runs)
    assert isinstance(saved, SavedResult)
    rows = saved.flow_series.to_pylist()

    def recorded(run: int) -> list[float]:
        return [row["goodput_bps"] for row in rows if row["replication"] == run and row["flow"] == "cubic"]

    def choose(run: int) -> None:
        select = "document.getElementById('run')"
        tab.eval(f"{select}.value = '{run}'; {select}.dispatchEvent(new Event('change'))")

    windows = "varicap.plots.find(({chartKey}) => chartKey === 'cwnd').data[4]"
    text = "document.querySelector('#figure-cwnd .text').textContent"
    numbers = "document.querySelector('#figure-cwnd details tbody').textContent"
    first = (tab.eval(windows), tab.eval(text), tab.eval(numbers))
    assert tab.eval("document.getElementById('which-run').textContent") == "Run 1"
    tab.eval("varicap.zoom('in', null)")
    tab.eval("document.querySelector('#figure-cwnd .u-series:nth-child(2) th').click()")
    spans = "varicap.plots.map(({scales}) => scales.x.max - scales.x.min)"
    span = tab.eval(spans)
    choose(2)
    assert tab.eval("document.getElementById('which-run').textContent") == "Run 2"
    assert recorded(1) != recorded(2)
    second = (tab.eval(windows), tab.eval(text), tab.eval(numbers))
    assert all(one != other for one, other in zip(first, second, strict=True))
    mss = 1448
    expected = [row["cwnd_bytes"] / mss for row in rows if row["replication"] == 2 and row["flow"] == "cubic"]
    known = [(shown, value) for shown, value in zip(second[0], expected, strict=True) if shown is not None]
    assert len(known) > 100
    assert [shown for shown, _ in known] == pytest.approx([value for _, value in known], rel=1e-3)
    # Zoom and hidden flows stay; keys and downloads are of this run.
    assert tab.eval(spans) == pytest.approx(span)
    hidden = "varicap.plots.map(({series}) => series.filter(({label, show}) => label === 'reno' && !show).length)"
    assert tab.eval(hidden) == [1, 0, 0, 0, 1, 1, 1, 1]
    assert tab.eval("varicap.fileName('cwnd', 'csv')") == "lte-cwnd-run-2.csv"
    assert tab.eval("varicap.fileName('goodput', 'csv')") == "lte-goodput.csv"
    tab.eval("document.querySelector('[data-chart=cwnd]').focus()")
    tab.key("0")
    assert tab.eval(spans) == pytest.approx([19.9] * 8)
    assert tab.eval("document.querySelectorAll('.uplot').length") == 8
    choose(1)
    assert tab.eval(windows) == first[0]
    # By keyboard, as any list of choices.
    tab.eval("document.getElementById('run').focus()")
    tab.key("ArrowUp")
    tab.wait("document.getElementById('which-run').textContent === 'Run 0'")
    assert tab.complaints == []


def test_a_page_holds_as_many_runs_as_it_has_room_for() -> None:
    changes = {"duration": "12 s", "warmup": "2 s", "record.sample": "2 ms"}
    many = pages.html(varicap.run("examples/fixed.toml", seeds=12, series=True, overrides=changes))
    data = data_of(many)
    assert (data["run"], len(data["others"])) == (0, 9)
    assert "10 of 12 runs are here; --run N chooses another." in many
    assert len(many) < 4_000_000
    one = pages.html(varicap.run("examples/fixed.toml", seeds=1, series=True, overrides=changes))
    assert data_of(one)["others"] == {}
    assert "<select" not in one


def test_a_browser_runs_nothing_of_a_hostile_scenario(tab: browser.Page, tmp_path: Path) -> None:
    scenario = {
        "name": "=1+1",
        "duration": "5 s",
        "topology": {"dumbbell": {"forward": {"capacity": "1 Mbit/s", "delay": "10 ms"}}},
        "flows": {HOSTILE: {}, "=1+1": {}},
    }
    result = varicap.run(scenario, seeds=2, series=True)
    tab.open(varicap.report.page(result, tmp_path / "page.html"))
    assert tab.eval("document.querySelectorAll('img, script').length") == 3
    assert "alert(2)" in tab.eval("document.querySelector('#figure-cwnd .u-legend').textContent")
    assert tab.eval("varicap.makers.csv('goodput').text()").splitlines()[0].endswith(",'=1+1 [Mb/s]")
    assert tab.complaints == []


@pytest.mark.parametrize("width", [360, 1200])
def test_a_page_fits_the_screen(tab: browser.Page, runs: Path, study: Path, tmp_path: Path, width: int) -> None:
    for folder in (runs, study):
        tab.open(varicap.report.page(folder, tmp_path / "page.html"), width=width, dark=True)
        assert tab.eval("document.documentElement.scrollWidth") <= width
    assert tab.complaints == []


def test_paper_is_light_whatever_the_screen_is(tab: browser.Page, runs: Path, tmp_path: Path) -> None:
    tab.open(varicap.report.page(runs, tmp_path / "page.html"), dark=True)
    mark = "getComputedStyle(document.querySelector('#figure-cwnd .u-marker[style*=background]')).backgroundColor"
    assert tab.eval(mark) == "rgb(86, 169, 232)"
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    tab.call("Emulation.setEmulatedMedia", media="print", features=features)
    tab.wait(f"{mark} === 'rgb(0, 114, 178)'")
    assert tab.eval("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.call("Emulation.setEmulatedMedia", media="", features=features)
    assert tab.complaints == []


def test_a_large_group_leaves_room_for_the_others() -> None:
    scenario = {
        "duration": "5 s",
        "topology": {"dumbbell": {"forward": {"capacity": "10 Mbit/s", "delay": "10 ms"}}},
        "flows": {"many": {"count": 30}, "other": {}},
    }
    text = pages.html(varicap.run(scenario, seeds=1, series=True))
    labels = [each["label"] for each in data_of(text)["charts"]["cwnd"]["columns"]]
    assert labels == [*(f"many.{number}" for number in range(11)), "other"]
    assert "19 more flows are left out" in text


STEP = {
    "duration": "14 s",
    "record": {"sample": "50 ms"},
    "topology": {
        "dumbbell": {
            "forward": {
                "capacity": {"steps": {"at": ["0 s", "12 s"], "rates": ["10 Mb/s", "1 Mb/s"]}},
                "delay": "150 ms",
                "queue": {"drop-tail": {"limit": "300 packets"}},
            }
        }
    },
    "flows": {"a": {}, "b": {"tcp": {"congestion": "cubic"}}},
}


def test_flows_that_share_a_link_are_drawn_within_its_capacity_together() -> None:
    result = varicap.run(STEP, seeds=1, series=True)
    chart = data_of(pages.html(result))["charts"]["rates-0"]
    drawn = {each["label"]: np.array(each["values"], float) for each in chart["columns"]}
    together, capacity = drawn["a"] + drawn["b"], drawn["capacity"]
    # Values on a page have five digits.
    assert (together <= capacity * (1 + 1e-4)).all()
    flows = result.flow_series
    figures = result.figure(panels="rates").axes[0].lines
    assert len(figures) == 2
    of_figure = np.sum([np.asarray(line.get_ydata(), float) for line in figures], axis=0)
    bound = np.asarray(result.link_series.filter(pc.equal(result.link_series["link"], "forward"))["capacity_bps"]) / 1e6
    assert (of_figure <= bound[: len(of_figure)] * (1 + 1e-9)).all()
    numbers = {row[0]: float(row[1]) for row in chart["numbers"]}
    for name in ("a", "b"):
        measured = flows.filter(pc.equal(flows["flow"], name))["throughput_bps"].to_numpy() / 1e6
        assert drawn[name].sum() == pytest.approx(measured.sum(), rel=1e-4)
        assert numbers[name] == pytest.approx(measured.mean(), rel=1e-2)
    # While the link is busy, they are together what it sent, but for a packet: not what arrived three samples later.
    assert together[40:280] == pytest.approx(drawn["throughput"][40:280], abs=1500 * 8 / 0.05 / 1e6 + 1e-3)
