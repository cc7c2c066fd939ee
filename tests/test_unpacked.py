"""Tables whose files are small and whose rows are many: refused by what the file says, or while it is read."""

import hashlib
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import EXAMPLES

import varicap
from varicap._folders import FolderError
from varicap.results import unpacked


def written(table: pa.Table, times: int = 1) -> io.BytesIO:
    """A table that is written so often into one file."""
    file = io.BytesIO()
    with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for _ in range(times):
            writer.write_table(table)
    return file


def test_a_table_is_what_was_written() -> None:
    names = pa.array(["a", "b", "a"]).dictionary_encode()
    table = pa.table(
        {"name": names, "note": ["x", None, "y"], "number": [1.5, 2.0, float("nan")], "is": [True, False, None]}
    )
    found = unpacked.read_parquet(written(table))
    assert found.schema.equals(table.schema)
    assert found.to_pydict().__repr__() == table.to_pydict().__repr__()


def test_equal_rows_without_end_are_refused_by_their_number() -> None:
    file = written(pa.table({"number": pa.array([1.0]).take(pa.array([0] * 1_000_000))}), 60)
    with pytest.raises(
        unpacked.TooLargeError, match=r"^0.\d MB that unpack to 48\d MB or more, expected at most 256 MB"
    ):
        unpacked.read_parquet(file)


@pytest.mark.parametrize("is_dictionary", [False, True])
def test_long_texts_are_refused_while_they_are_read(is_dictionary: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "USUAL", 20_000_000)
    text = pa.array(["x" * 1_000_000]).take(pa.array([0] * 300))
    file = written(pa.table({"text": text.dictionary_encode() if is_dictionary else text}))
    if is_dictionary:
        assert unpacked.read_parquet(file).num_rows == 300, "one text, in memory as in the file"
    else:
        with pytest.raises(unpacked.TooLargeError, match="expected at most 20 MB"):
            unpacked.read_parquet(file)


def test_a_folder_with_such_a_table_is_refused_with_both_sizes(tmp_path: Path) -> None:
    varicap.run(EXAMPLES / "fixed.toml", seeds=1, overrides={"duration": "12 s"}).save(tmp_path)
    flows = pq.read_table(tmp_path / "flows.parquet")
    table, manifest = tmp_path / "flows.parquet", tmp_path / "manifest.json"
    before = hashlib.sha256(table.read_bytes()).hexdigest()
    table.write_bytes(written(flows.take(pa.array([0] * 50_000)), 30).getvalue())
    manifest.write_text(manifest.read_text().replace(before, hashlib.sha256(table.read_bytes()).hexdigest()))
    with pytest.raises(
        FolderError, match=r"flows.parquet: .*MB that unpack to \d+ MB or more, expected at most 256 MB"
    ):
        varicap.read(tmp_path).flows  # noqa: B018 - it is read when it is asked for
