"""What strangers give us to read: it is refused with a word on what is wrong, and changes nothing on this machine."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, Cli

import varicap
from varicap.engines.replay import replay
from varicap.results.manifest import ManifestError

Edit = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a short run."""
    folder = tmp_path_factory.mktemp("saved")
    varicap.run(EXAMPLES / "fixed.toml", seeds=1, overrides={"duration": "12 s"}).save(folder)
    return folder


def edited(saved: Path, folder: Path, edit: Edit) -> Path:
    """A copy of the manifest alone; what it runs needs nothing else."""
    recorded = json.loads((saved / "manifest.json").read_text(encoding="utf-8"))
    recorded = edit(recorded) or recorded
    folder.mkdir(exist_ok=True)
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(recorded), encoding="utf-8")
    return manifest


def renamed(recorded: dict[str, Any], name: str) -> None:
    recorded["tables"][name] = recorded["tables"].pop("flows.parquet")


@pytest.mark.parametrize("climbs", [False, True])
def test_replay_writes_no_file_that_a_manifest_names(saved: Path, tmp_path: Path, climbs: bool) -> None:
    victim = tmp_path / "flows.sh"
    victim.write_text("precious", encoding="utf-8")
    name = f"{'../' * 12}{victim.relative_to('/')}" if climbs else str(victim)
    manifest = edited(saved, tmp_path / "in", lambda recorded: renamed(recorded, name))
    with pytest.raises(ManifestError, match=r"`tables` names .*flows\.sh"):
        replay(manifest)
    assert victim.read_text(encoding="utf-8") == "precious"


def test_replay_still_finds_a_run_identical_to_the_byte(saved: Path) -> None:
    repeated = replay(saved / "manifest.json")
    assert repeated.identical
    assert [table.same_bytes for table in repeated.tables] == [True, True]


def test_a_manifest_that_vouches_for_nothing_is_not_identical(cli: Cli, saved: Path, tmp_path: Path) -> None:
    done = cli("replay", edited(saved, tmp_path, lambda recorded: recorded["tables"].clear()))
    assert done.returncode == 2
    assert "identical" not in done.stdout
    assert "manifest.json: `tables` lacks flows.parquet" in done.stderr


def test_a_manifest_that_leaves_a_table_out_is_not_identical(saved: Path, tmp_path: Path) -> None:
    manifest = edited(saved, tmp_path, lambda recorded: recorded["tables"].pop("links.parquet") and None)
    with pytest.raises(ManifestError, match=r"`tables` lacks links\.parquet"):
        replay(manifest)


def without(key: str) -> Edit:
    return lambda recorded: recorded.pop(key) and None


def having(key: str, value: Any) -> Edit:
    return lambda recorded: recorded | {key: value}


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (without("seed"), "`seed` is missing"),
        (without("tables"), "`tables` is missing"),
        (having("seed", -1), "`seed` is not between"),
        (having("seed", 1 << 70), "`seed` is not between"),
        (having("seed", True), "`seed` is not a whole number"),
        (having("seed", "1"), "`seed` is not a whole number"),
        (having("runs", 0), "`runs` is not between"),
        (having("runs", 1.5), "`runs` is not a whole number"),
        (having("runs", None), "`runs` is not a whole number"),
        (having("series", "yes"), "`series` is not true or false"),
        (having("traces", []), "`traces` is not an object"),
        (having("traces", {"a": "b"}), "`traces.a` is not an object"),
        (having("traces", {"a": {"file": 1, "sha256": ""}}), "`traces.a.file` is not text"),
        (having("traces", {"a": {"file": "/etc/passwd", "sha256": ""}}), "`traces.a.file` is not a file of traces/"),
        (having("traces", {"a": {"file": "traces/..", "sha256": ""}}), "`traces.a.file` is not a file of traces/"),
        (having("traces", {"a": {"file": "traces/a\0", "sha256": ""}}), "`traces.a.file` is not a file of traces/"),
        (having("tables", ["flows.parquet"]), "`tables` is not an object"),
        (having("tables", {"flows.parquet": None}), "`tables.flows.parquet` is not an object"),
        (having("scenario", [1]), "`scenario` is not an object"),
        (having("scenario", {}), "scenario"),
        (having("scenario", "\ud800"), "not a manifest"),
        (having("engine", {}), "`engine` is not text"),
        (having("engine", "oracle"), "oracle"),
        (having("python_controls", [1]), "`python_controls.0` is not text"),
        (having("software", {"varicap": 1}), "`software.varicap` is not text"),
        (having("manifest_version", "1"), "`manifest_version`"),
        (having("manifest_version", 2), "manifest_version 2"),
        (lambda _: [1], "not a manifest"),
        (lambda _: 1, "not a manifest"),
    ],
)
def test_a_malformed_manifest_is_refused_by_its_name_and_key(
    saved: Path, tmp_path: Path, edit: Edit, complaint: str
) -> None:
    manifest = edited(saved, tmp_path, edit)
    with pytest.raises((ManifestError, varicap.ScenarioError)) as caught:
        replay(manifest)
    assert complaint in str(caught.value)
    assert str(manifest) in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", '{"manifest_version": ' + "[" * 100_000, "\udcff"])
def test_a_manifest_that_is_no_json_is_refused_without_a_traceback(cli: Cli, tmp_path: Path, text: str) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(text, encoding="utf-8", errors="surrogateescape")
    done = cli("replay", manifest)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"{manifest}: not a manifest" in done.stderr
