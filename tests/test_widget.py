"""The laboratory in a notebook: what Python and the page say to each other."""

import base64
import json
import zlib
from pathlib import Path

import browser
import pytest
from conftest import EXAMPLES, ROOT

import varicap
from varicap import explore
from varicap.errors import MachineLacksError
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
    with pytest.raises(varicap.ScenarioError, match=r"`/etc/mine\.csv` is too far"):
        laboratory.run()


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
    harness = tmp_path / "notebook.html"
    said = json.dumps(held).replace("<", "\\u003c")
    harness.write_text(HARNESS.replace("HELD", said).replace("MODULE", module))
    with browser.browser(tmp_path) as tab:
        tab.open(harness)
        tab.wait("saved.length > 0")
        assert tab.eval("saved.at(-1).scenario") == text
        assert tab.eval("document.querySelector('iframe').clientHeight") == 700
        # What a hand draws there arrives.
        held["begin"] = ""
        harness.write_text(HARNESS.replace("HELD", json.dumps(held).replace("<", "\\u003c")).replace("MODULE", module))
        tab.open(harness)
        tab.wait("saved.length > 0")
        before = tab.eval("saved.at(-1).scenario")
        tab.drag(200, 240, 600)
        tab.wait(f"saved.at(-1).scenario !== {before!r}")
        assert "steps" in tab.eval("saved.at(-1).scenario")
        tab.eval("close()")
        assert tab.complaints == []
