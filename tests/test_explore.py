"""The laboratory in a browser, with a real mouse and real keys."""

import csv
import gzip
import json
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pyarrow.compute as pc
import pytest
from conftest import EXAMPLES, ROOT
from patience import HANG_S
from test_policies import keeps, written

import varicap
import varicap._core as _core
from varicap import explore
from varicap._files import UnreadableError
from varicap.analyse.models import pftk
from varicap.cli import main
from varicap.errors import MachineLacksError

PAGE = ROOT / "web/dist/index.html"
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
ESBUILD = ROOT / "web/node_modules/.bin/esbuild"
READY = "document.documentElement.dataset.ready === 'yes'"
SENTENCE = "document.getElementById('sentence').textContent"
OVER = (
    "(() => { const b = document.querySelector('.throughput .u-over').getBoundingClientRect();"
    " return [b.left, b.top, b.width, b.height]; })()"
)
LEVEL = "document.querySelector('.handle').getAttribute('aria-valuetext')"
RAN = "document.querySelectorAll('#charts figure').length === 4"

needs_page = pytest.mark.skipif(not PAGE.exists(), reason="the page was not built: make web")
needs_esbuild = pytest.mark.skipif(
    not ESBUILD.exists() or shutil.which("node") is None, reason="Node or esbuild is not there: make web"
)
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there: make web")


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Page]:
    if browser.executable() is None:
        pytest.skip("Chromium is not there")
    with browser.browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


def opened(tab: browser.Page, file: Path = PAGE, **look: Any) -> browser.Page:
    tab.complaints.clear()
    tab.requests.clear()
    tab.open(file, **look)
    tab.wait(f"{READY} && {RAN}")
    return tab


def changed(tab: browser.Page, before: object) -> None:
    tab.wait(f"{SENTENCE} !== {before!r}")


@needs_page
def test_a_drag_in_the_chart_draws_the_capacity_and_tcp_answers(tab: browser.Page) -> None:
    opened(tab)
    before = tab.eval(SENTENCE)
    left, top, width, height = tab.eval(OVER)
    tab.drag(left + 0.1 * width, top + 0.9 * height, left + 0.8 * width)
    changed(tab, before)
    tab.wait("location.hash.startsWith('#s=')")
    assert tab.complaints == []


@needs_page
def test_a_drag_ends_outside_the_chart_and_the_axis_stays_during_it(tab: browser.Page) -> None:
    opened(tab)
    left, top, width, height = tab.eval(OVER)
    x, y = left + 0.1 * width, top + 0.1 * height
    tab.mouse("mouseMoved", x, y)
    tab.mouse("mousePressed", x, y)
    tab.wait(f"{LEVEL} !== '10 Mb/s'")
    level = tab.eval(LEVEL)
    for step in range(1, 6):
        before = tab.eval(SENTENCE)
        tab.mouse("mouseMoved", x + 0.02 * step * width, y, is_held=True)
        changed(tab, before)
        assert tab.eval(LEVEL) == level
    tab.mouse("mouseMoved", x, top - 40, is_held=True)
    tab.mouse("mouseReleased", x, top - 40)
    tab.wait("location.hash.startsWith('#s=')")
    drawn = tab.eval(LEVEL)
    for step in range(5):
        tab.mouse("mouseMoved", left + (0.3 + 0.05 * step) * width, top + 0.6 * height)
    assert tab.eval(LEVEL) == drawn
    assert tab.complaints == []


@needs_page
def test_the_way_to_the_charts_keeps_what_is_set(tab: browser.Page) -> None:
    opened(tab)
    before = tab.eval(SENTENCE)
    tab.eval("document.querySelector('.handle').focus()")
    tab.key("ArrowDown")
    changed(tab, before)
    tab.wait("location.hash.startsWith('#s=')")
    link = tab.eval("location.hash")
    tab.eval("document.querySelector('.skip').click()")
    assert tab.eval("[location.hash, document.activeElement.id]") == [link, "charts"]


@needs_page
def test_a_link_leads_to_the_same_numbers(tab: browser.Page, tmp_path: Path) -> None:
    opened(tab)
    before = tab.eval(SENTENCE)
    tab.eval("document.querySelector('.handle').focus()")
    tab.key("ArrowDown")
    changed(tab, before)
    tab.wait("location.hash.startsWith('#s=')")
    there, link = tab.eval(SENTENCE), tab.eval("location.hash")
    tab.eval("location.hash = '#lesson=2'")
    tab.wait("document.title.includes('Buffers')")
    tab.eval(f"location.hash = {link!r}")
    tab.wait(f"{SENTENCE} === {there!r}")
    assert tab.complaints == []


@needs_page
def test_packets_move_step_by_step(tab: browser.Page) -> None:
    opened(tab)
    now = "document.querySelector('#path .now').textContent"
    tab.eval("[...document.querySelectorAll('#path button')].find((b) => b.textContent.startsWith('step')).click()")
    tab.wait(f"{now}.includes('on the way')")
    before = tab.eval(now)
    tab.eval("document.querySelector('#path button.primary').click()")
    tab.wait(f"{now} !== {before!r}")
    assert tab.complaints == []


@needs_page
def test_every_lesson_runs(tab: browser.Page) -> None:
    opened(tab)
    for number in range(1, 10):
        before = tab.eval(SENTENCE)
        tab.eval(f"location.hash = '#lesson={number}'")
        changed(tab, before)
        assert tab.eval("document.getElementById('failure').textContent") == ""
        assert tab.eval("document.querySelector('.lessons [aria-current]').textContent") == str(number)
    assert tab.complaints == []


DROP = """((name, text) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
})"""
FAILURE = "document.getElementById('failure').innerText"


def press(tab: browser.Page, label: str) -> None:
    tab.eval(f"[...document.querySelectorAll('button')].find((b) => b.textContent === {label!r}).click()")


def copied(tab: browser.Page, label: str) -> str:
    """What a button would put on the clipboard."""
    tab.eval("window.copied = ''; navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    press(tab, label)
    tab.wait("window.copied !== ''")
    return str(tab.eval("window.copied"))


@needs_page
def test_a_trace_of_the_same_name_and_length_takes_the_place_of_the_one_before(tab: browser.Page) -> None:
    opened(tab)
    for rate in (5, 9):
        before = tab.eval(SENTENCE)
        trace = f"time_s,rate_bps\n0,{rate}000000\n"
        tab.eval(f"{DROP}('mine.csv', {json.dumps(trace)})")
        changed(tab, before)
        assert f"of {rate}.00 Mb/s" in tab.eval(SENTENCE)
    assert tab.complaints == []


@needs_page
def test_what_is_copied_is_what_was_run(tab: browser.Page) -> None:
    opened(tab)
    before = tab.eval(SENTENCE)
    tab.eval("location.hash = '#lesson=3'")
    changed(tab, before)
    before = tab.eval(SENTENCE)
    tab.eval(
        "(() => { const slider = document.querySelector('#fields input'); slider.value = '0.7';"
        " slider.dispatchEvent(new Event('input')); slider.dispatchEvent(new Event('change')); })()"
    )
    changed(tab, before)
    assert tomllib.loads(copied(tab, "Copy as TOML"))["topology"]["dumbbell"]["forward"]["loss"]["rayleigh"][
        "delivered"
    ] in (0.7, "70%")
    assert tab.complaints == []


@needs_page
def test_a_copied_program_brings_its_trace_along(tab: browser.Page, tmp_path: Path) -> None:
    opened(tab)
    before = tab.eval(SENTENCE)
    tab.eval(f"{DROP}('mine.csv', {json.dumps('time_s,rate_bps' + chr(10) + '0,5000000' + chr(10))})")
    changed(tab, before)
    program = copied(tab, "Copy as Python").replace('duration = "30 s"', 'duration = "1 s"').replace("5 s", "0.5 s")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr


def labelled(tab: browser.Page, label: str) -> str:
    """A selector of the button with this label."""
    tab.eval(f"[...document.querySelectorAll('button')].find((b) => b.textContent === {label!r}).id = 'labelled'")
    return "#labelled"


def downloaded(tab: browser.Page) -> dict[str, list[float]]:
    """The columns of the table that can be downloaded; NaN where there is nothing."""
    kept = "(blob) => (blob.text().then((t) => (window.saved = t)), made(blob))"
    tab.eval(
        f"(() => {{ const made = URL.createObjectURL; window.saved = undefined; URL.createObjectURL = {kept}; }})()"
    )
    press(tab, "Download CSV")
    tab.wait("window.saved !== undefined")
    head, *rows = csv.reader(str(tab.eval("window.saved")).splitlines())
    return {name: [float(row[place] or "nan") for row in rows] for place, name in enumerate(head)}


@needs_page
def test_a_trace_is_chosen_in_the_dialog_for_files(tab: browser.Page, tmp_path: Path) -> None:
    opened(tab)
    before = tab.eval(SENTENCE)
    trace = tmp_path / "mine.csv"
    trace.write_text("time_s,rate_bps\n0,3000000\n10,6000000\n")
    tab.choose(labelled(tab, "Open a scenario …"), trace)
    changed(tab, before)
    tab.wait("document.querySelector('#fields .hint').textContent.startsWith('mine.csv: rates')")
    assert set(downloaded(tab)["capacity_bps"]) >= {3e6, 6e6}
    assert tab.complaints == []


@needs_page
def test_a_log_in_gzip_and_a_capture_are_dropped_on_the_page(tab: browser.Page, tmp_path: Path) -> None:
    capture = tmp_path / "own.pcapng"
    run = varicap.run(EXAMPLES / "fixed.toml", seeds=1, overrides={"duration": "12 s"}, packets=True)
    run.write_pcapng(capture, snaplen="96 B")
    packed = tmp_path / "mine.csv.gz"
    packed.write_bytes(gzip.compress(b"time_s,rate_bps\n0,3000000\n10,6000000\n"))
    opened(tab)
    for file, rates in ((packed, {3e6, 6e6}), (capture, None)):
        before = tab.eval(SENTENCE)
        tab.choose(labelled(tab, "Open a scenario …"), file)
        changed(tab, before)
        tab.wait(f"document.querySelector('#fields .hint').textContent.startsWith('{file.name}: rates')")
        assert tab.eval(FAILURE) == ""
        assert rates is None or set(downloaded(tab)["capacity_bps"]) >= rates
    assert tab.complaints == []


ALONE = """name = "alone"
duration = "20 s"
isolate = true
[topology.dumbbell.forward]
capacity = { trace = { file = "traces/mine.csv" } }
delay = "20 ms"
queue = { drop-tail = { limit = "100 packets" } }
[flows.reno]
[flows.vegas]
tcp = { congestion = "vegas" }
"""


@needs_page
def test_flows_in_isolation_have_a_queue_each_and_a_text_gets_its_trace(tab: browser.Page) -> None:
    opened(tab)
    tab.eval(f"{DROP}('alone.toml', {json.dumps(ALONE)})")
    tab.wait(f"{FAILURE}.includes('traces/mine.csv')")
    before = tab.eval(SENTENCE)
    tab.eval(f"{DROP}('mine.csv', {json.dumps('time_s,rate_bps' + chr(10) + '0,5000000' + chr(10))})")
    changed(tab, before)
    assert tab.eval(FAILURE) == ""
    shown = downloaded(tab)
    reno, vegas = (np.nanmean(shown[f"{flow}.queueing_delay_ms"]) for flow in ("reno", "vegas"))
    assert reno > 3 * vegas > 0
    told = re.search(r"less than\): Reno ([\d.]+) ms .*, Vegas ([\d.]+) ms ", tab.eval(SENTENCE))
    assert told, tab.eval(SENTENCE)
    assert [float(each) for each in told.groups()] == pytest.approx([reno, vegas], rel=0.1)
    text = tab.eval("document.querySelector('.chart.delay .canvas').getAttribute('aria-label')")
    assert "Reno" in text
    assert "Vegas" in text
    assert tab.complaints == []


LONG = """name = "long"
duration = "100 s"
[topology.dumbbell.forward]
capacity = "400 Mbit/s"
delay = "5 ms"
loss = { bernoulli = 0.001 }
[flows.reno]
count = 6
"""


@needs_page
def test_ten_seeds_run_after_the_engine_has_begun_anew(tab: browser.Page) -> None:
    opened(tab)
    before = tab.eval(SENTENCE)
    tab.eval(f"{DROP}('long.toml', {json.dumps(LONG)})")
    changed(tab, before)
    counting = "constructor(...of) { super(...of); window.begun = (window.begun ?? 0) + 1; }"
    tab.eval(f"window.Worker = class extends Worker {{ {counting} }}; 0")
    press(tab, "Run ten seeds")
    button = "document.querySelector('#table button')"
    assert tab.eval(f"{button}.disabled")
    # Whoever changes something twice does not wait for what went on before.
    area = "const area = document.querySelector('#fields textarea'); area.value = "
    for seconds, wait in ((90, 2.0), (5, 0.0)):
        text = LONG.replace('"100 s"', f'"{seconds} s"').replace("400", "4")
        tab.eval(f"(() => {{ {area}{json.dumps(text)}; area.dispatchEvent(new Event('input')); }})()")
        time.sleep(wait)
    tab.wait(f"{button}?.disabled === false")
    tab.wait(f"{SENTENCE}.includes('of 4.00 Mb/s')")
    assert tab.eval("window.begun") == 1
    press(tab, "Run ten seeds")
    tab.wait("document.querySelector('#table .hint').textContent.startsWith('Means of 10 runs')")
    assert tab.eval(FAILURE) == ""


@needs_page
def test_a_lesson_by_mouse_and_keys(tab: browser.Page) -> None:
    opened(tab)
    before = tab.eval(SENTENCE)
    tab.click("nav [data-view=lesson]")
    changed(tab, before)
    before = tab.eval(SENTENCE)
    tab.click(".lessons li:nth-child(8) a")
    changed(tab, before)
    begun = tab.eval(SENTENCE)
    tab.eval("document.querySelector('#fields input[type=range]').focus()")
    for _ in range(5):
        tab.key("ArrowRight")
    changed(tab, begun)
    assert tab.eval("document.querySelector('#fields output').textContent") == "150 ms"
    tab.click("#lesson details summary")
    assert tab.eval("document.querySelector('#lesson details p').checkVisibility()")
    tab.click(labelled(tab, "Set it up again"))
    tab.wait(f"{SENTENCE} === {begun!r}")
    assert tab.complaints == []


@needs_page
def test_a_whole_game_and_its_replay(tab: browser.Page) -> None:
    opened(tab)
    tab.click("nav [data-view=game]")
    tab.wait("document.querySelector('#game button.primary') !== null")
    tab.click("#game button.primary")
    window = "document.querySelector('#game .wheel output').textContent"
    tab.wait(f"{window} === '20 packets' && document.activeElement.matches('.wheel input')")
    for _ in range(3):
        tab.key("ArrowUp")
    tab.wait(f"{window} === '23 packets'")
    score = "document.querySelector('#game tbody td:last-child')?.textContent"
    tab.wait(f"{score} > 0")
    names = "[...document.querySelectorAll('#game tbody th')].map((name) => name.textContent)"
    assert tab.eval(names) == ["You", "CUBIC", "BBRv3"]
    mine = tab.eval(score)
    link = copied(tab, "Copy link to the replay")
    tab.eval("location.hash = '#lesson=1'")
    tab.wait("document.title.includes('sawtooth')")
    tab.eval(f"location.hash = {link[link.index('#') :]!r}")
    tab.wait(f"{names}[0] === 'Replay'")
    assert tab.eval(score) == mine
    assert tab.complaints == []


@needs_page
def test_a_report_leads_to_its_scenario_in_the_laboratory(tab: browser.Page, tmp_path: Path) -> None:
    scenario = EXAMPLES / "lte.toml"
    result = varicap.run(scenario, seeds=2, seed=7, series=True, overrides={"duration": "20 s", "warmup": "0 s"})
    result.save(tmp_path / "results")
    report = varicap.report.page(tmp_path / "results", tmp_path / "report.html", laboratory=PAGE.resolve().as_uri())
    tab.complaints.clear()
    tab.open(report)
    tab.click("a.again")
    tab.wait(f"document.documentElement?.{READY.removeprefix('document.documentElement.')} && {RAN}")
    shown = downloaded(tab)
    rates = result.flow_series.filter(pc.equal(result.flow_series["replication"], 0))
    for flow in ("reno", "cubic"):
        own = rates.filter(pc.equal(rates["flow"], flow))["throughput_bps"].to_numpy()
        np.testing.assert_array_equal(shown[f"{flow}.throughput_bps"], own)
    assert tab.complaints == []


ENCODED = """(async (value) => {
    const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const letters = String.fromCharCode(...new Uint8Array(await new Response(stream).arrayBuffer()));
    return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
})"""


@needs_page
def test_a_damaged_link_is_called_so_and_does_no_harm(tab: browser.Page) -> None:
    opened(tab)
    shapes = [{"flows": 5}, {"flows": []}, {"capacity": None}, {"capacity": {"kind": "drawn"}}, {"rtt": "long"}]
    links = [tab.eval(f"{ENCODED}({json.dumps(shape)})") for shape in shapes]
    for link in ["AAAA", *links]:
        tab.eval("location.hash = '#lesson=1'")
        tab.wait("document.title.includes('sawtooth')")
        tab.wait(f"{FAILURE} === ''")
        tab.eval(f"location.hash = '#s={link}'")
        tab.wait(f"{FAILURE}.includes('damaged') && {SENTENCE}.includes('BBRv3')")
    tab.eval("document.querySelector('.handle').focus()")
    tab.key("ArrowDown")
    tab.wait(f"{FAILURE} === ''")
    for link in ["AAAA", links[0]]:
        tab.eval("location.hash = '#'")
        tab.wait("document.getElementById('game').hidden")
        tab.eval(f"location.hash = '#game&replay={link}'")
        tab.wait("document.querySelector('#game .score')?.textContent.includes('damaged')")
    assert tab.complaints == []


@needs_page
def test_a_round_ends_when_another_begins_or_its_player_leaves(tab: browser.Page) -> None:
    opened(tab)
    tab.eval("location.hash = '#game'")
    tab.wait("document.querySelector('#game button.primary') !== null")
    tab.eval("for (let i = 0; i < 20; i++) document.querySelector('#game button.primary').click()")
    said = "document.querySelector('#game .score').textContent"
    tab.wait(f"{said}.startsWith('1.')")
    # Left before it has begun.
    tab.eval("document.querySelector('#game button.primary').click(); location.hash = '#lesson=1'")
    tab.wait(f"document.title.includes('sawtooth') && {SENTENCE}.includes('Reno')")
    time.sleep(0.5)
    assert tab.eval(said) == ""
    assert tab.complaints == []


@needs_page
def test_a_trace_of_opportunities_may_begin_with_comments(tab: browser.Page) -> None:
    opened(tab)
    before = tab.eval(SENTENCE)
    tab.eval(f"{DROP}('mine.down', {json.dumps(chr(10).join(['# made by hand', '3', '5', '7', '']))})")
    tab.wait("document.querySelector('#fields .hint').textContent.includes('opportunities')")
    changed(tab, before)
    assert tab.eval(FAILURE) == ""


@needs_page
def test_a_scenario_with_a_mistake_does_not_play(tab: browser.Page) -> None:
    opened(tab)
    tab.eval(f"{DROP}('mine.toml', 'duration = 5')")
    tab.wait(f"{FAILURE}.includes('cannot be run')")
    press(tab, "Play")
    press(tab, "Copy as TOML")
    time.sleep(0.5)
    assert tab.eval("document.querySelector('#path button.primary').textContent") == "Play"
    assert tab.complaints == []


@needs_page
@needs_axe
@pytest.mark.parametrize("look", [{}, {"dark": True}, {"width": 390, "height": 844}], ids=["light", "dark", "phone"])
def test_no_serious_fault_of_accessibility_and_nothing_beside_the_page(tab: browser.Page, look: dict[str, Any]) -> None:
    opened(tab, PAGE, **look)
    assert tab.eval("document.documentElement.scrollWidth <= innerWidth")
    tab.eval(AXE.read_text())
    told = "violations.map(({id, impact, nodes}) => [id, impact, nodes[0].html])"
    found = tab.eval(f"axe.run().then(({{violations}}) => {told})")
    assert [fault for fault in found if fault[1] in ("serious", "critical")] == []
    # The worker is a text of the page's own.
    assert [address for address in tab.requests if not address.startswith("blob:")] == [PAGE.resolve().as_uri()]
    assert tab.complaints == []


def test_a_scenario_handed_over_cannot_end_the_script() -> None:
    page = explore.with_scenario("<head></head>", "# </script>", "a.toml", {})
    assert page.count("</script>") == 1


def test_an_installation_without_the_page_says_what_builds_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("varicap.laboratory.files", lambda _: tmp_path)
    with pytest.raises(MachineLacksError, match="make web"):
        explore.page()


def of_the_page(source: str, expression: str, folder: Path) -> Any:
    """The value of an expression over what a file of the page exports."""
    bundle = folder / "bundle.mjs"
    command = [str(ESBUILD), str(ROOT / "web/src" / source), "--bundle", "--format=esm", f"--outfile={bundle}"]
    subprocess.run(command, check=True, capture_output=True, timeout=HANG_S)
    script = f"import * as page from {json.dumps(bundle.as_uri())}; console.log(JSON.stringify({expression}));"
    node = ["node", "--input-type=module", "--eval", script]
    return json.loads(subprocess.run(node, check=True, capture_output=True, text=True, timeout=HANG_S).stdout)


@needs_esbuild
def test_the_model_of_random_loss_is_the_one_of_the_package(tmp_path: Path) -> None:
    grid = [(p, rtt, rtt + 0.2, n) for p in (1e-4, 1e-3, 0.01, 0.05, 0.3) for rtt in (0.005, 0.1, 0.4) for n in (1, 3)]
    found = of_the_page("analysis.ts", f"{json.dumps(grid)}.map((at) => page.pftk(...at))", tmp_path)
    expected = [
        pftk.throughput(pftk.Parameters(loss=p, round_trip_s=rtt, timeout_s=rto, duplicate_acks=needed)).throughput_pps
        for p, rtt, rto, needed in grid
    ]
    assert found == pytest.approx(expected, rel=1e-12)


@needs_esbuild
@pytest.mark.parametrize("queue", ["codel", "fq_codel", "pie", "red", "dualpi2"])
def test_a_queue_of_the_page_marks_who_understands_marks(queue: str, tmp_path: Path) -> None:
    flows = [{"control": control, "start": 0, "stop": None} for control in ("cubic", "prague")]
    state = {
        "mode": "made",
        "duration": 10,
        "seed": 1,
        "capacity": {"kind": "constant", "rate": 20},
        "rtt": 20,
        "buffer": 200,
        "loss": 0,
        "queue": queue,
        "flows": flows,
    }
    text = of_the_page("scenario.ts", f"page.toToml({json.dumps(state)})", tmp_path)
    scenario = _core.Scenario.from_toml(text, "explore.toml", str(tmp_path), [])
    summary = json.loads(_core.run(scenario, seed=1, first=0, count=1).summary())
    assert summary["links"][0]["marked_packets"] > 0


def test_a_policy_is_not_handed_over_as_a_damaged_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, keeps())
    with pytest.raises(UnreadableError, match=r"policy\.npz is a policy"):
        explore.read(file)
    monkeypatch.setattr(explore, "page", lambda: "<head></head>")
    command = ["varicap", "explore", str(file), "--no-open"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "policy.npz is a policy, and the laboratory in a browser takes traces only" in capsys.readouterr().err
