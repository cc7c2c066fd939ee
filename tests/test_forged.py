"""Files that were changed by somebody who knows how they are made: each is named, and no traceback reaches a user."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import EXAMPLES, Cli

import varicap
from varicap import export, study
from varicap._files import sha256
from varicap._folders import FolderError
from varicap.results.saved import read
from varicap.study import WorkersError
from varicap.study.store import pack, unpack
from varicap.traces import TraceError, load

FIXED = EXAMPLES / "fixed.toml"
SHORT = {"duration": "12 s"}
LIMIT = "topology.dumbbell.forward.queue.drop-tail.limit"
MAGIC = b"varicap part 1\n"
TABLES = ("flows.parquet", "links.parquet", "summary.parquet")


def swept(folder: Path, notes: list[str]) -> dict[str, bytes]:
    over = {LIMIT: ["5 packets", "10 packets"]}
    study.sweep(FIXED, over, seeds=1, overrides=SHORT, folder=folder, notify=notes.append, piece_s=0.0, jobs=1)
    return {name: (folder / name).read_bytes() for name in TABLES}


def designed(folder: Path, notes: list[str]) -> dict[str, Any]:
    found = varicap.optimise(
        FIXED,
        {LIMIT: "1 packets..20 packets"},
        subject_to="utilisation >= 70 %",
        minimise=LIMIT,
        overrides=SHORT,
        budget=60,
        folder=folder,
        notify=notes.append,
    )
    return dict(found.to_dict())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    swept(folder / "study", [])
    designed(folder / "design", [])
    varicap.run(FIXED, seeds=1, series=True, packets=True, overrides=SHORT).save(folder / "run")
    return folder


def forge(part: Path, piece: bytes) -> None:
    """A part with a digest that fits."""
    plan = (part.parent.parent / "plan.json").read_bytes()
    part.write_bytes(piece + MAGIC + hashlib.sha256(plan + piece).hexdigest().encode())


def tables_of(part: Path) -> dict[str, pa.Table]:
    return dict(unpack(part.read_bytes().rpartition(MAGIC)[0]))


def changed(kind: str, change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], bytes]:
    def piece(part: Path) -> bytes:
        tables = tables_of(part)
        return pack(tables | {kind: change(tables[kind])})

    return piece


def of_point(number: int) -> Callable[[pa.Table], pa.Table]:
    def change(rows: pa.Table) -> pa.Table:
        at = rows.schema.get_field_index("point")
        return rows.set_column(at, "point", pa.array([number] * len(rows), pa.int64()))

    return change


def not_utf8(rows: pa.Table) -> pa.Table:
    at = rows.schema.get_field_index("name")
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    return rows.set_column(at, "name", pa.concat_arrays([broken] * len(rows)))


@pytest.mark.parametrize(
    "piece",
    [
        lambda _: b"",
        lambda _: b"not Arrow at all",
        lambda part: part.read_bytes().rpartition(MAGIC)[0][:-300],
        changed("links", lambda rows: rows.drop_columns(["replication"])),
        changed("flows", lambda rows: rows.drop_columns(["replication"])),
        changed("links", lambda rows: rows.drop_columns(["name"])),
        changed("links", of_point(7)),
        changed("links", of_point(-1)),
        changed("flows", lambda rows: rows.append_column("more", pa.array([1.0] * len(rows)))),
        changed("flows", not_utf8),
        changed("links", lambda rows: rows.append_column("point", rows["point"])),
    ],
)
def test_a_forged_part_is_set_aside_and_computed_again(
    whole: Path, tmp_path: Path, piece: Callable[[Path], bytes]
) -> None:
    folder = tmp_path / "study"
    shutil.copytree(whole / "study", folder)
    before = {name: (folder / name).read_bytes() for name in TABLES}
    part = sorted((folder / "parts").iterdir())[1]
    forge(part, piece(part))
    notes: list[str] = []
    assert swept(folder, notes) == before
    (note,) = notes
    assert note.startswith(f"{part}: ")
    assert part.with_name(f"{part.name}.damaged").exists()


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("is_dictionary", [False, True])
def test_tables_that_unpack_are_refused_before_they_do(whole: Path, codec: str, *, is_dictionary: bool) -> None:
    """4 MB of zeros, of which the piece has a few kB: nothing of it is unpacked."""
    tables = tables_of(sorted((whole / "study" / "parts").iterdir())[0])
    zeros: pa.Array = pa.array([0] * 500_000, pa.int64())
    if is_dictionary:
        # The rows are as they are, and the dictionary alone unpacks.
        zeros = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), zeros)
    large = pa.table({"zeros": zeros})
    sink = pa.BufferOutputStream()
    for rows in (*tables.values(), large)[1:]:
        options = pa.ipc.IpcWriteOptions(compression=codec if rows is large else None)
        with pa.ipc.new_stream(sink, rows.schema, options=options) as stream:
            stream.write_table(rows)
    before = pa.total_allocated_bytes()
    with pytest.raises(ValueError, match="not tables of runs: compressed, expected buffers as they are"):
        unpack(bytes(sink.getvalue().to_pybytes()))
    assert pa.total_allocated_bytes() - before < 1_000_000


def test_a_point_that_nothing_was_run_at_adds_no_column(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "design"
    shutil.copytree(whole / "design", folder)
    tables = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    points = json.loads((folder / "points.json").read_text())
    points.append([["topology.dumbbell.reverse.delay", "77 ms"]])
    (folder / "points.json").write_text(json.dumps(points))
    designed(folder, [])
    assert {path.name: path.read_bytes() for path in folder.glob("*.parquet")} == tables
    assert "77 ms" not in (folder / "manifest.json").read_text()


def test_forged_unfinished_runs_are_set_aside(tmp_path: Path) -> None:
    from test_unfinished import PLACE, answered, cut_short

    no_parts = (b"", b"[[0, 5]]\n", b"{}\n", b"[" * 100_000, b'[["0", 1]]\nx', b"[[-1, 1]]\nx")
    # MessagePack that is well-formed and no run: a number, an empty list, nothing, texts.
    no_runs = (b"[[0, 1]]\n\x2a", b"[[0, 1]]\n\x90", b"[[0, 1]]\n\xc0", b"[[0, 5]]\n\x92\xa1x\xa1y")
    for number, piece in enumerate(no_parts + no_runs):
        folder = tmp_path / str(number)
        cut_short(folder)
        part = sorted((folder / PLACE / "parts").iterdir())[0]
        forge(part, piece)
        notes: list[str] = []
        answered(folder, notes)
        assert any(note.startswith(f"{part}: ") for note in notes)


def test_swapped_points_change_no_answer(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "design"
    shutil.copytree(whole / "design", folder)
    before = {name: (folder / name).read_bytes() for name in (*TABLES, "design.json")}
    points = json.loads((folder / "points.json").read_text())
    points[0], points[-1] = points[-1], points[0]
    (folder / "points.json").write_text(json.dumps(points))
    notes: list[str] = []
    assert designed(folder, notes) == designed(whole / "design", [])
    assert notes
    assert all("not of the points that points.json has" in note for note in notes)
    after = {name: (folder / name).read_bytes() for name in (*TABLES, "design.json")}
    assert after["design.json"] == before["design.json"]
    rows = [pq.read_table(pa.BufferReader(files["summary.parquet"])).to_pylist() for files in (before, after)]
    first, again = ({(row[LIMIT], row["measure"], row["name"]): repr(row["mean"]) for row in each} for each in rows)
    assert first == again


@pytest.mark.parametrize("text", ["", "[" * 100_000, "{}", "[[1]]", '[["a", 1]]', "null", '"points"', "\udcff", None])
def test_points_that_are_none_are_repeated(whole: Path, tmp_path: Path, text: str | None) -> None:
    folder = tmp_path / "design"
    shutil.copytree(whole / "design", folder)
    points = folder / "points.json"
    if text is None:
        points.unlink()
    else:
        points.write_text(text, errors="surrogateescape")
    notes: list[str] = []
    assert designed(folder, notes) == designed(whole / "design", [])
    assert notes
    assert (folder / "flows.parquet").read_bytes() == (whole / "design/flows.parquet").read_bytes()


def test_rows_of_a_design_that_are_longer_than_its_headings_are_refused(cli: Cli, whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole / "design", tmp_path / "design")
    manifest = json.loads((tmp_path / "design/manifest.json").read_text())
    for many in (-1, 0):
        manifest["design"]["headings"] = manifest["design"]["headings"][:many]
        (tmp_path / "design/manifest.json").write_text(json.dumps(manifest))
        done = cli("report", "design")
        assert done.returncode == 2
        assert "design/manifest.json: `design.rows` has a row that is not as long" in done.stderr


def vouched(folder: Path, name: str, rows: pa.Table) -> None:
    """A table in the place of another, for which the manifest vouches."""
    pq.write_table(rows, folder / name)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["tables"][name]["sha256"] = sha256(folder / name)
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("command", [("table",), ("report",), ("plot",), ("export", "--to", "iperf3")])
def test_a_column_whose_name_or_text_is_not_utf8_is_refused(
    cli: Cli, whole: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    for number, damage in enumerate(
        (lambda content: content.replace(b"goodput_bps", b"goodput\xff\xfe\xfd\xfc"), None)
    ):
        folder = tmp_path / str(number)
        shutil.copytree(whole / "run", folder)
        for name in ("flows", "flow_series"):
            file = folder / f"{name}.parquet"
            if damage is not None:
                file.write_bytes(damage(file.read_bytes()))
                manifest = json.loads((folder / "manifest.json").read_text())
                manifest["tables"][file.name]["sha256"] = sha256(file)
                (folder / "manifest.json").write_text(json.dumps(manifest))
            else:
                rows = pq.read_table(file)
                column = "name" if name == "flows" else "flow"
                at = rows.schema.get_field_index(column)
                one = [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
                broken = pa.concat_arrays([pa.Array.from_buffers(pa.string(), 1, one)] * len(rows))
                vouched(folder, file.name, rows.set_column(at, column, broken))
        done = cli(*command, str(number))
        assert "Traceback" not in done.stderr
        if done.returncode != 0:
            assert done.returncode == 2
            assert f"{number}/flow" in done.stderr


def test_flowmonitor_is_xml_whatever_groups_are_called(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole / "run", tmp_path / "run")
    rows = pq.read_table(tmp_path / "run/packets.parquet")
    at = rows.schema.get_field_index("group")
    named = pa.array(["a\0\x1b[31m\x08<&\ufffe\uffff"] * len(rows))
    vouched(tmp_path / "run", "packets.parquet", rows.set_column(at, "group", named))
    found = read(tmp_path / "run")
    assert isinstance(found, varicap.results.saved.SavedResult)
    root = ElementTree.fromstring(export.flowmonitor(found))
    assert {flow.get("name") for flow in root.iter("Flow") if flow.get("name")} == {
        r"a\u0000\u001b[31m\u0008<&\ufffe\uffff.0"
    }


# ---- text in messages -------------------------------------------------------------------------------------------

OBEYED = "\x1b[31mred\x1b]0;pwn\x07\u202e"


def test_the_text_of_an_error_is_printable(tmp_path: Path) -> None:
    scenario = tmp_path / "esc.toml"
    scenario.write_text(
        'duration = "1 s"\n[topology.chain]\nforward = [{capacity = "1 Mbit/s", delay = "1 ms"}]\n'
        '[flows.a]\nfrom = "\\u001b[31mred\\u001b]0;pwn\\u0007\\u202e"\n'
    )
    errors: list[BaseException] = []
    for fails, of in (
        (lambda: varicap.load(scenario), varicap.ScenarioError),
        (lambda: varicap.load(tmp_path / f"{OBEYED}.toml"), varicap.ScenarioError),
        (lambda: read(tmp_path / OBEYED), FolderError),
        (lambda: load(tmp_path / f"{OBEYED}.csv"), TraceError),
    ):
        with pytest.raises(of) as caught:
            fails()
        errors.append(caught.value)
    for error in errors:
        assert r"\u001b[31mred\u001b]0;pwn\u0007\u202e" in str(error)
        assert not any(letter in str(error) for letter in OBEYED if not letter.isprintable())
    first = errors[0]
    assert isinstance(first, varicap.ScenarioError)
    assert "\x1b" in (first.found or ""), "what was found is data"


def test_what_is_reported_of_a_folder_is_printable(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole / "study", tmp_path / "study")
    (tmp_path / "study/parts" / f"{OBEYED}.arrow").write_bytes(b"")
    notes: list[str] = []
    swept(tmp_path / "study", notes)
    assert len(notes) == 1
    assert "\x1b" not in notes[0]


# ---- workers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["-1", "0", "", "x", "1.5", "+2", "99999", "1" * 5000, "٣"])
def test_a_number_of_processes_is_one(number: str) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(WorkersError, match="is not a number of processes from 1 to 4096"):
        study.sweep(FIXED, {LIMIT: ["5 packets"]}, seeds=1, overrides=SHORT, on=f"local:{number}")


def test_a_manifest_whose_scenario_names_a_file_elsewhere_is_refused(cli: Cli, whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole / "run", tmp_path / "run")
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    link = manifest["scenario"]["topology"]["dumbbell"]["forward"]
    link["capacity"] = {"opportunities": {"file": "/etc/passwd"}}
    (tmp_path / "run/manifest.json").write_text(json.dumps(manifest))
    for command in (("replay", "run/manifest.json"), ("report", "run")):
        done = cli(*command)
        assert done.returncode == 2
        assert "run/manifest.json: `traces` lacks /etc/passwd, which the scenario names" in done.stderr
