"""What strangers give us to read: it is refused with a word on what is wrong, and changes nothing on this machine."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import EXAMPLES, Cli

import varicap
import varicap._core as _core
from varicap._files import sha256
from varicap.engines.replay import replay
from varicap.report import page
from varicap.results import FolderError
from varicap.results.manifest import FILES, ManifestError
from varicap.results.saved import SavedResult

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


def published(folder: Path) -> Path:
    """A finished study of two points in `folder`."""
    varicap.sweep(
        EXAMPLES / "fixed.toml",
        {"flows.reno.tcp.congestion": ["reno", "cubic"]},
        seeds=2,
        overrides={"duration": "12 s"},
        folder=folder,
    )
    return folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs with series."""
    folder = tmp_path_factory.mktemp("recorded")
    varicap.run(EXAMPLES / "fixed.toml", seeds=2, series=True, overrides={"duration": "12 s"}).save(folder)
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a study."""
    return published(tmp_path_factory.mktemp("study"))


def retabled(folder: Path, file: str, edit: Callable[[pa.Table], pa.Table]) -> None:
    """Edit a table, and let the manifest vouch for what comes out."""
    pq.write_table(edit(pq.read_table(folder / file)), folder / file)
    manifest = folder / "manifest.json"
    value = json.loads(manifest.read_text(encoding="utf-8"))
    digest = sha256(folder / file)
    value["tables"][file] = value["tables"][file] | {"sha256": digest} if "study_version" not in value else digest
    manifest.write_text(json.dumps(value), encoding="utf-8")


def rewritten(folder: Path, file: str, edit: Edit) -> None:
    """Edit a JSON file."""
    value = json.loads((folder / file).read_text(encoding="utf-8"))
    changed = edit(value)
    (folder / file).write_text(json.dumps(value if changed is None else changed), encoding="utf-8")


def text_in(column: str) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: rows.set_column(
        rows.column_names.index(column), column, pa.array(["x"] * rows.num_rows, pa.string())
    )


def truncate(folder: Path, file: str) -> None:
    (folder / file).write_bytes((folder / file).read_bytes()[:-9])


def flip(folder: Path, file: str) -> None:
    content = bytearray((folder / file).read_bytes())
    content[40] ^= 0x10
    (folder / file).write_bytes(content)


Damage = Callable[[Path], Any]
SUMMARY, FLOWS, LINKS, SERIES = "summary.json", "flows.parquet", "links.parquet", "link_series.parquet"
DAMAGED_RUNS: list[tuple[Damage, str]] = [
    (lambda folder: truncate(folder, FLOWS), FLOWS),
    (lambda folder: (folder / SERIES).unlink(), SERIES),
    (lambda folder: flip(folder, FLOWS), f"{FLOWS}: not the table that manifest.json vouches for"),
    (
        lambda folder: retabled(folder, FLOWS, lambda rows: rows.drop_columns(["goodput_bps"])),
        "goodput_bps` is missing",
    ),
    (lambda folder: retabled(folder, FLOWS, text_in("goodput_bps")), "goodput_bps` has string, not numbers"),
    (lambda folder: retabled(folder, SERIES, text_in("time_s")), "time_s` has string, not numbers"),
    (lambda folder: retabled(folder, SERIES, lambda rows: rows.drop_columns(["link"])), "link` is missing"),
    (
        lambda folder: retabled(folder, SERIES, lambda rows: rows.slice(0, 1)),
        f"{SERIES}: no rows of `reverse`, which summary.json has",
    ),
    (lambda folder: rewritten(folder, SUMMARY, lambda _: {"schema_version": 1}), "`engine` is missing"),
    (lambda folder: rewritten(folder, SUMMARY, lambda _: []), f"{SUMMARY}: not a file that varicap wrote"),
    (lambda folder: rewritten(folder, SUMMARY, having("flows", {})), "`flows` is not a list"),
    (lambda folder: rewritten(folder, SUMMARY, having("links", [{}])), "`links.0.name` is missing"),
    (lambda folder: rewritten(folder, SUMMARY, having("runs", "2")), "`runs` is not a whole number"),
    (lambda folder: rewritten(folder, SUMMARY, having("measured_s", None)), "`measured_s` is not a number"),
    (lambda folder: rewritten(folder, SUMMARY, having("measured_s", float("nan"))), "`measured_s` is not a number"),
    (lambda folder: rewritten(folder, SUMMARY, having("fidelity", [])), "`fidelity` is not an object"),
    (lambda folder: rewritten(folder, SUMMARY, having("scenario", "lte")), "`scenario` is not an object"),
    (
        lambda folder: rewritten(folder, SUMMARY, lambda value: value["scenario"].update(warmup="soon")),
        "`scenario.warmup` is not a quantity",
    ),
    (
        lambda folder: rewritten(folder, SUMMARY, lambda value: value["flows"][0].update(timeouts="x")),
        "`flows.0.timeouts` is not a number",
    ),
    (
        lambda folder: rewritten(folder, SUMMARY, lambda value: value["flows"][0]["rtt_ms"].update(p50=[])),
        "`flows.0.rtt_ms.p50` is not a number",
    ),
    (lambda folder: rewritten(folder, "manifest.json", having("software", [])), "`software` is not an object"),
]


@pytest.mark.parametrize(("damage", "complaint"), DAMAGED_RUNS)
def test_a_damaged_folder_is_refused_by_the_file_and_the_fault(
    recorded: Path, tmp_path: Path, damage: Damage, complaint: str
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(recorded, folder)
    damage(folder)
    with pytest.raises(FolderError) as caught:
        page(folder, tmp_path / "report.html")
    assert complaint in str(caught.value)
    assert str(folder) in str(caught.value)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda folder: truncate(folder, LINKS), LINKS),
        (lambda folder: flip(folder, LINKS), f"{LINKS}: not the table that manifest.json vouches for"),
        (lambda folder: retabled(folder, FLOWS, lambda rows: rows.drop_columns(["point"])), "`point` is missing"),
        (lambda folder: retabled(folder, LINKS, lambda rows: rows.slice(0, 3)), "runs of one point"),
        (lambda folder: rewritten(folder, "manifest.json", having("points", [])), "`points` is empty"),
        (lambda folder: rewritten(folder, "manifest.json", having("points", [{}])), "manifest.json in order"),
        (lambda folder: rewritten(folder, "manifest.json", having("tables", {})), "`tables` lacks flows.parquet"),
        (lambda folder: rewritten(folder, "manifest.json", without("scenario")), "`scenario` is missing"),
    ],
)
def test_a_damaged_study_is_refused_by_the_file_and_the_fault(
    study: Path, tmp_path: Path, damage: Damage, complaint: str
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(study, folder)
    damage(folder)
    with pytest.raises(FolderError) as caught:
        varicap.read(folder)
    assert complaint in str(caught.value)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("command", ["report FOLDER", "plot FOLDER", "export FOLDER --to iperf3"])
def test_commands_on_damaged_folders_exit_with_2(cli: Cli, recorded: Path, tmp_path: Path, command: str) -> None:
    shutil.copytree(recorded, tmp_path / "folder")
    rewritten(tmp_path / "folder", SUMMARY, having("flows", None))
    done = cli(*command.replace("FOLDER", "folder").split())
    assert done.returncode == 2
    assert done.stderr == "varicap: folder/summary.json: `flows` is not a list\n"


def test_series_of_an_earlier_run_in_the_same_folder_are_not_shown(recorded: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(recorded, folder)
    again = varicap.run(EXAMPLES / "fixed.toml", seeds=2, overrides={"duration": "11 s"})
    again.save(folder)
    saved = varicap.read(folder)
    assert isinstance(saved, SavedResult)
    assert saved.flow_series.num_rows == 0


def test_every_table_of_runs_has_a_name_that_replay_takes() -> None:
    assert {f"{name}.parquet" for name in json.loads(_core.columns()) if name != "schema_version"} == FILES
