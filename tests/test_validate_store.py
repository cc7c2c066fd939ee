"""Runs of the kernel that are kept: for what, for whom, and how a table resumes with them."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pretended_kernel import SAME, Kernel

import varicap
import varicap._core as _core
from varicap.results import manifest
from varicap.validate import paths, table
from varicap.validate.store import FILE, Kept, Store, Wanted


def test_a_run_is_kept_for_what_its_scenario_meant_and_for_the_varicap_that_made_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Scenario:
        def __init__(self, meaning: str) -> None:
            self.meaning = meaning

        def to_json(self) -> str:
            return self.meaning

        def trace_files(self) -> list[Any]:
            return []

    case = paths.cases(["fixed"])[0]

    def wanted(meaning: str) -> Wanted:
        paths._software.cache_clear()
        return paths.wanted(case, cast(_core.Scenario, Scenario(meaning)))

    before = wanted("Linux of today")
    assert wanted("Linux of today") == before
    assert wanted("Linux of tomorrow").digest != before.digest
    real = manifest.software()
    others = ({"varicap": "0.0.0"}, {"git": {"revision": "0" * 40, "modified": False}})
    for changed, called in zip(others, ("0.0.0", f"{real['varicap']} 00000000"), strict=True):
        monkeypatch.setattr(manifest, "software", lambda changed=changed: real | changed)
        after = wanted("Linux of today")
        assert after.digest != before.digest
        assert after.written == before.written, "the scenario is as it was"
        assert after.revision.startswith(called)
    monkeypatch.undo()
    paths._software.cache_clear()


def of(name: str, revision: str = "1") -> Wanted:
    return Wanted(written=name, digest=f"{name} {revision}", revision=revision)


def test_what_was_measured_of_another_scenario_or_cut_off_is_run_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(of("first"), 1, "a case", {"reno": SAME})
    with (tmp_path / FILE).open("a") as file:
        file.write('{"digest": "second 1", "se')
    store = Store(tmp_path)
    assert store.get(of("first"), 1) == Kept({"reno": SAME}, "1")
    assert store.get(of("first"), 2) is None
    store.add(of("third"), 1, "a case", {"reno": SAME})
    store = Store(tmp_path)
    assert store.get(of("first"), 1)
    assert store.get(of("third"), 1)
    assert not store.get(of("second"), 1)
    lines = (tmp_path / FILE).read_text().replace(os.uname().release, "5.4.0")
    (tmp_path / FILE).write_text(lines)
    assert Store(tmp_path).get(of("first"), 1) is None, "of another kernel"


def test_runs_of_another_revision_count_on_demand_alone(tmp_path: Path) -> None:
    Store(tmp_path).add(of("first", "1"), 1, "a case", {"reno": SAME})
    assert Store(tmp_path).get(of("first", "2"), 1) is None
    again = Store(tmp_path, any_revision=True)
    assert again.get(of("first", "2"), 1) == Kept({"reno": SAME}, "1")
    assert again.get(of("second", "1"), 1) is None
    again.add(of("first", "2"), 1, "a case", {"reno": SAME})
    assert Store(tmp_path, any_revision=True).get(of("first", "3"), 1) == Kept({"reno": SAME}, "2"), "the last one"


def test_the_table_names_the_revisions_of_runs_that_it_did_not_make(
    pretend: Callable[..., Kernel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = pretend()
    varicap.validate.kernel(["slow"], quick=True, folder=tmp_path)
    made = len(kernel.seeds)
    assert made > 0
    real = manifest.software()
    paths._software.cache_clear()
    monkeypatch.setattr(manifest, "software", lambda: real | {"varicap": "9.9"})
    found = varicap.validate.kernel(["slow"], quick=True, folder=tmp_path, any_revision=True)
    assert len(kernel.seeds) == made, "nothing is run again"
    assert len(found.revisions) == 1
    assert not found.revisions[0].startswith("9.9")
    assert f"the kernel's runs were made by varicap {found.revisions[0]}" in found.conclusion()
    assert varicap.validate.kernel(["slow"], quick=True, folder=tmp_path).revisions == []
    assert len(kernel.seeds) == 2 * made
    monkeypatch.undo()
    paths._software.cache_clear()


def test_a_run_is_kept_without_reading_all_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FILE).write_text('{"digest": "cut off", "se')
    store = Store(tmp_path)
    with monkeypatch.context() as reading:
        for name in ("read_bytes", "read_text"):
            reading.delattr(Path, name)
        for seed in (1, 2, 3):
            store.add(of("one"), seed, "a case", {"reno": SAME})
    assert len((tmp_path / FILE).read_text().splitlines()) == 1 + 3
    assert all(Store(tmp_path).get(of("one"), seed) for seed in (1, 2, 3))


def test_an_interrupted_table_keeps_what_is_finished_and_resumes(
    pretend: Callable[..., Kernel], tmp_path: Path
) -> None:
    def stop(seed: int, _: dict[str, Any]) -> None:
        if seed == 2:
            raise KeyboardInterrupt

    pretend(stop)
    found = varicap.validate.kernel(["slow"], folder=tmp_path, jobs=1)
    assert found.interrupted
    assert [row["seeds"] for row in found.rows] == [1, 1]
    assert json.loads((tmp_path / table.JSON).read_text())["interrupted"]
    kernel = pretend()
    found = varicap.validate.kernel(["slow"], folder=tmp_path, jobs=1)
    assert not found.interrupted
    assert sorted(kernel.seeds) == [2, 2, 3, 3], "what was finished is not run again"
    assert [row["seeds"] for row in found.rows] == [3, 3]
    again = pretend()
    assert varicap.validate.kernel(["slow"], folder=tmp_path).to_dict()["paths"] == found.to_dict()["paths"]
    assert again.seeds == []
