"""What results show in a notebook and at the interpreter's prompt."""

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len

import varicap
from varicap.engines import OF_KERNEL, RunOptions, kernel, model, sim
from varicap.statistics import progress

SHORT = {"duration": "12 s", "warmup": "2 s"}


def test_results_show_their_numbers(fixed: Path, tmp_path: Path) -> None:
    result = varicap.run(fixed, seeds=2, overrides=SHORT)
    result.save(tmp_path)
    goodput = f"{result.summary['flows'][0]['goodput_bps']['mean'] / 1e6:.1f}"
    for found, name in ((result, "Result"), (varicap.read(tmp_path), "SavedResult")):
        assert repr(found).startswith(f"{name} of fixed: 2 runs of 10 s measured")
        assert "goodput [Mb/s]" in repr(found)
        assert goodput in repr(found)
        assert goodput in found._repr_html_()
    assert max(map(len, repr(result).splitlines())) < 120


def test_studies_and_comparisons_show_their_numbers(fixed: Path) -> None:
    over = {"topology.dumbbell.forward.delay": [f"{delay} ms" for delay in range(1, 25)]}
    study = varicap.sweep(fixed, over, seeds=2, overrides=SHORT)
    for shown in (repr(study), study._repr_html_()):
        assert "fixed: 24 points, of which 20 are here" in shown
        assert "20 ms" in shown
        assert "21 ms" not in shown
        assert "goodput [Mb/s]" in shown
    compared = varicap.compare(fixed, only=("sim", "model"), seeds=2, overrides=SHORT)
    for shown in (repr(compared), compared._repr_html_()):
        assert "fixed: sim, model" in shown
        assert "goodput [Mb/s]" in shown
        assert " %)" in shown
    assert "sawtooth" in repr(varicap.run(fixed, engine="model"))


def test_names_in_tables_are_escaped(fixed: Path) -> None:
    odd = json.loads(varicap.load(fixed, {"duration": "12 s"}).to_json())
    odd["flows"] = {"<b>": odd["flows"]["reno"]}
    study = varicap.sweep(odd, {"seed": ["1"]}, seeds=1)
    for found in (study, varicap.run(odd, seeds=1), varicap.compare(odd, only=("sim",), seeds=1)):
        assert "<td><b>" not in found._repr_html_()
        assert "&lt;b&gt;" in found._repr_html_()


def test_a_terminal_obeys_no_name_and_columns_stand_below_each_other(fixed: Path, tmp_path: Path) -> None:
    varicap.run(fixed, seeds=1, overrides=SHORT).save(tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    (flow,) = summary["flows"]
    summary["flows"] = [{**flow, "name": name} for name in ("red \x1b[31m", "容量", "plain")]
    summary["scenario"]["name"] = "\x1b[2J"
    (tmp_path / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    shown = repr(varicap.read(tmp_path))
    assert "\x1b" not in shown
    assert r"red \u001b[31m" in shown
    flows = [line for line in shown.splitlines() if line.strip().startswith(("red ", "容量", "plain"))]
    assert len(flows) == 3
    assert len({cell_len(line) for line in flows}) == 1


def test_figures_show_themselves(fixed: Path) -> None:
    pytest.importorskip("matplotlib")
    result = varicap.run(fixed, seeds=1, series=True, overrides=SHORT)
    figure: Any = result.figure()
    assert figure._repr_png_().startswith(b"\x89PNG")
    compared: Any = varicap.compare(fixed, only=("sim", "model"), seeds=1, overrides=SHORT)
    assert compared.figure()._repr_png_().startswith(b"\x89PNG")


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str]]]:
    """What a cell displays, with the names of the calls: a stand-in for IPython with a kernel."""
    shown: list[tuple[str, dict[str, str]]] = []

    class Handle:
        def update(self, content: dict[str, str], raw: bool) -> None:
            assert raw
            shown.append(("update", content))

    def display(content: dict[str, str], raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        shown.append(("display", content))
        return Handle()

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(progress, "_SOON_S", 0.0)
    monkeypatch.setattr(progress, "_EACH_S", 0.0)
    return shown


def _run(fixed: Path, **options: Any) -> object:
    return varicap.run(fixed, seeds=4, overrides=SHORT, **options)


def _sweep(fixed: Path, **options: Any) -> object:
    return varicap.sweep(fixed, seeds=4, overrides=SHORT, **options)


@pytest.mark.parametrize("work", [_run, _sweep])
def test_a_notebook_has_a_bar_while_runs_go_on(
    notebook: list[tuple[str, dict[str, str]]], fixed: Path, work: Callable[..., object]
) -> None:
    work(fixed)
    assert [call for call, _ in notebook][:2] == ["display", "update"]
    assert "fixed: 4 of 4 runs, 100 %" in [content["text/plain"] for _, content in notebook]
    assert notebook[-1] == ("update", {"text/plain": "", "text/html": ""}), "it vanishes"


def test_progress_of_ones_own_replaces_the_bar(notebook: list[tuple[str, dict[str, str]]], fixed: Path) -> None:
    seen: list[float] = []
    _run(fixed, progress=lambda share, *_: seen.append(share))
    assert seen
    assert notebook == []


def test_work_that_is_done_soon_has_no_bar(
    notebook: list[tuple[str, dict[str, str]]], fixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_SOON_S", 1e9)
    _run(fixed)
    assert notebook == []


def test_run_has_the_options_of_its_engines() -> None:
    """For editors, which show what a signature says."""
    options = RunOptions.__annotations__
    for engine in (sim, kernel):
        of_engine = inspect.signature(engine.run).parameters
        kinds = {name: parameter.kind for name, parameter in of_engine.items() if name != "scenario"}
        assert set(kinds.values()) == {inspect.Parameter.KEYWORD_ONLY}
        assert kinds.keys() <= options.keys()
    assert set(options) == {*inspect.signature(sim.run).parameters, *OF_KERNEL} - {"scenario"}
    for function in (varicap.sweep, varicap.compare, varicap.read, varicap.load):
        kinds_ = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert not kinds_ & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    assert model.run is not None


def test_an_option_of_another_engine_is_refused(fixed: Path) -> None:
    with pytest.raises(ValueError, match="`kernel` is for engine='kernel'"):
        varicap.run(fixed, kernel="stock")
    unknown: Any = {"runs": 3}
    with pytest.raises(TypeError, match="runs"):
        varicap.run(fixed, **unknown)


def test_scenarios_are_loaded_and_results_are_read(fixed: Path, tmp_path: Path) -> None:
    with pytest.raises(varicap.results.FolderError, match=r"varicap\.load reads scenarios"):
        varicap.read(fixed)
    varicap.run(fixed, seeds=1, overrides=SHORT).save(tmp_path)
    with pytest.raises(varicap.ScenarioError, match=r"varicap\.read reads"):
        varicap.load(tmp_path)
