"""The laboratory in a notebook: what Python and the page say to each other."""

import base64
import gc
import json
import subprocess
import sys
import zlib
from pathlib import Path

import browser
import pytest
from conftest import EXAMPLES, ROOT
from patience import HANG_S
from test_policies import keeps, written

import varicap
from varicap import explore
from varicap.errors import MachineLacksError
from varicap.results.manifest import values_sha256
from varicap.widget import Laboratory

PAGE = ROOT / "web/dist/index.html"
needs_anywidget = pytest.mark.usefixtures("anywidget")


@pytest.fixture
def anywidget() -> None:
    pytest.importorskip("anywidget")


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page, whether one was built or not."""
    monkeypatch.setattr(explore, "page", lambda: "<p>the page</p>")


@needs_anywidget
def test_a_widget_has_its_scenario_and_hands_back_what_is_set(tmp_path: Path) -> None:
    laboratory = Laboratory(EXAMPLES / "lte.toml")
    widget = laboratory.widget
    assert "export default" in widget._esm
    assert set(widget.keys) >= {"page", "begin", "height", "scenario", "files"}
    assert widget.page == "<p>the page</p>"
    letters = widget.begin.removeprefix("#s=")
    content = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    state = json.loads(zlib.decompress(content, -zlib.MAX_WBITS))
    assert state["text"] == (EXAMPLES / "lte.toml").read_text()
    assert state["files"]["traces/lte-like.down"] == (EXAMPLES / "traces/lte-like.down").read_text()
    with pytest.raises(varicap.ScenarioError, match="has not been shown"):
        laboratory.run()
    # As the page says it.
    widget.scenario, widget.files = state["text"], state["files"]
    result = laboratory.run(seeds=2, overrides={"duration": "10 s"})
    assert result.flows.num_rows == 8
    result.save(tmp_path / "results")
    widget.files = {"/etc/mine.csv": ""}
    with pytest.raises(varicap.ScenarioError, match=r"'/etc/mine\.csv' is not the name of a file"):
        laboratory.run()


@needs_anywidget
@pytest.mark.parametrize("name", ["", ".", "..", "a\0b", "laboratory.toml/x"])
def test_a_name_that_is_none_of_a_file_is_told(name: str) -> None:
    laboratory = Laboratory()
    laboratory.widget.scenario, laboratory.widget.files = (EXAMPLES / "fixed.toml").read_text(), {name: "t"}
    with pytest.raises(varicap.ScenarioError, match="is not the name of a file"):
        laboratory.run(seeds=1, overrides={"duration": "1 s"})


@needs_anywidget
def test_a_result_keeps_its_files_when_the_laboratory_is_gone(tmp_path: Path) -> None:
    laboratory = Laboratory(EXAMPLES / "lte.toml")
    laboratory.widget.scenario = (EXAMPLES / "lte.toml").read_text()
    # The page was handed a trace that it had no room for; the laboratory has it.
    result = laboratory.run(seeds=1, overrides={"duration": "6 s"})
    trace = result.request.files[0][1]
    del laboratory
    gc.collect()
    result.save(tmp_path / "results")
    assert trace.is_file()
    del result
    gc.collect()
    assert not trace.exists()


@needs_anywidget
def test_a_policy_reaches_the_run_as_it_is(tmp_path: Path) -> None:
    file = written(tmp_path, keeps())
    laboratory = Laboratory(file)
    content = base64.urlsafe_b64decode(laboratory.widget.begin.removeprefix("#s=") + "===")
    assert json.loads(zlib.decompress(content, -zlib.MAX_WBITS))["files"] == {}
    loaded = varicap.load(file)
    laboratory.widget.scenario = loaded.to_toml()
    found = laboratory.run(seeds=1)
    assert values_sha256(found.flows) == values_sha256(varicap.run(file, seeds=1).flows)


def test_the_module_is_there_with_the_package() -> None:
    command = "import varicap; varicap.widget.Laboratory; varicap.widget"
    subprocess.run([sys.executable, "-c", command], check=True, timeout=HANG_S)


@needs_anywidget
def test_a_cell_shows_the_widget() -> None:
    (bundle, *_) = Laboratory()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_an_installation_without_anywidget_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    with pytest.raises(MachineLacksError, match=r"varicap\[widget\]"):
        Laboratory()


HARNESS = """<!doctype html><div id="cell"></div><script type="module">
const held = HELD;
window.saved = [];
const save_changes = () => saved.push({ ...held, page: "" });
const model = { get: (key) => held[key], set: (key, value) => (held[key] = value), save_changes };
const module = await import("data:text/javascript;base64,MODULE");
window.close = module.default.render({ model, el: document.getElementById("cell") });
</script>"""


@pytest.mark.skipif(not PAGE.exists(), reason="the page was not built: make web")
@pytest.mark.skipif(browser.executable() is None, reason="Chromium is not there")
def test_the_page_in_a_frame_says_what_is_set_there(tmp_path: Path) -> None:
    text = (EXAMPLES / "fixed.toml").read_text()
    held = {"page": PAGE.read_text(), "begin": explore.link("", text, {}), "height": 700, "scenario": "", "files": {}}
    module = base64.b64encode((ROOT / "python/varicap/explore/widget.js").read_bytes()).decode()
    notebook: dict[str, str] = {}

    def cell() -> str:
        said = json.dumps(held).replace("<", "\\u003c")
        return HARNESS.replace("HELD", said).replace("MODULE", module)

    with browser.browser(tmp_path) as tab, browser.hosted(notebook) as port:
        notebook["/"] = cell()
        tab.show(f"http://127.0.0.1:{port}/")
        tab.wait("saved.length > 0")
        assert tab.eval("saved.at(-1).scenario") == text
        assert tab.eval("document.querySelector('iframe').clientHeight") == 700
        # What a hand draws there arrives.
        held["begin"] = ""
        notebook["/"] = cell()
        tab.show(f"http://127.0.0.1:{port}/")
        tab.wait("saved.length > 0")
        before = tab.eval("saved.at(-1).scenario")
        tab.drag(200, 240, 600)
        tab.wait(f"saved.at(-1).scenario !== {before!r}")
        assert "steps" in tab.eval("saved.at(-1).scenario")
        tab.eval("close()")
        assert tab.complaints == []


ECHO = """<script>
addEventListener("load", () => parent.postMessage({ varicap: { toml: location.hash, files: {} } }, "*"));
</script>"""


@pytest.mark.skipif(browser.executable() is None, reason="Chromium is not there")
def test_another_view_begins_with_what_is_set(tmp_path: Path) -> None:
    text, files = "# 5 \u2192 9\na = 1\n", {"rates.csv": "time_s,rate_mbps\n0,1\n"}
    held = {"page": ECHO, "begin": "#s=begin", "height": 100, "scenario": "", "files": {}}
    module = base64.b64encode((ROOT / "python/varicap/explore/widget.js").read_bytes()).decode()
    notebook: dict[str, str] = {}
    with browser.browser(tmp_path) as tab, browser.hosted(notebook) as port:
        for scenario in ("", text):
            held |= {"scenario": scenario, "files": files if scenario else {}}
            said = json.dumps(held).replace("<", "\\u003c")
            notebook["/"] = HARNESS.replace("HELD", said).replace("MODULE", module)
            tab.show(f"http://127.0.0.1:{port}/")
            tab.wait("window.saved?.length > 0")
            begun = tab.eval("saved.at(-1).scenario")
            if not scenario:
                assert begun == "#s=begin"
        content = base64.urlsafe_b64decode(begun.removeprefix("#s=") + "===")
        state = json.loads(zlib.decompress(content, -zlib.MAX_WBITS))
        assert (state["text"], state["files"], state["mode"]) == (text, files, "text")
        assert tab.complaints == []
