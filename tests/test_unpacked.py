"""Tables whose files are small and whose rows are many: refused by what the file says, or while it is read."""

import hashlib
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import EXAMPLES

import varicap
from varicap._folders import FolderError
from varicap.results import pages, unpacked


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


@pytest.mark.parametrize("is_dictionary", [False, True])
def test_a_page_that_unpacks_to_too_much_is_refused_before_it_is_read(
    is_dictionary: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = pa.array(["x" * 40_000_000])
    file = written(pa.table({"text": text.dictionary_encode() if is_dictionary else text}))
    assert file.seek(0, 2) < 100_000
    monkeypatch.setattr(unpacked, "USUAL", 20_000_000)
    for name in ("read", "iter_batches"):
        monkeypatch.setattr(pq.ParquetFile, name, lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(unpacked.TooLargeError, match=r"that unpack to 40 MB or more, expected at most 20 MB"):
        unpacked.read_parquet(file)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_all_pages_of_a_table_are_found(codec: str, version: str) -> None:
    rows = 50_000
    table = pa.table(
        {
            "number": [float(number) for number in range(rows)],
            "name": pa.array([f"flow {number % 7}" for number in range(rows)]).dictionary_encode(),
            "text": [f"{number}" * (number % 5) for number in range(rows)],
            "is": [number % 3 == 0 if number % 4 else None for number in range(rows)],
            "list": [[number] * (number % 3) for number in range(rows)],
        }
    )
    file = io.BytesIO()
    pq.write_table(
        table, file, compression=codec, data_page_version=version, data_page_size=9000, row_group_size=20_000
    )
    metadata = pq.ParquetFile(file).metadata
    sizes = list(pages.unpacked_sizes(file, metadata))
    columns = [metadata.row_group(group).column(place) for group in range(3) for place in range(metadata.num_columns)]
    headers = sum(column.total_uncompressed_size for column in columns) - sum(sizes)
    assert len(sizes) > 50
    assert 10 * len(sizes) < headers < 100 * len(sizes), "what the footer counts beside the pages are their headers"
    assert unpacked.read_parquet(file).equals(table)


def test_what_is_no_page_is_an_error_and_nothing_else() -> None:
    file = written(pa.table({"number": [float(number) for number in range(3000)], "text": ["x", "yy", "zzz"] * 1000}))
    whole, metadata = file.getvalue(), pq.ParquetFile(file).metadata
    draws = np.random.default_rng(1)
    refused = 0
    for _ in range(300):
        broken = bytearray(whole)
        for place in draws.integers(4, 200, 3):
            broken[place] = draws.integers(256)
        try:
            list(pages.unpacked_sizes(io.BytesIO(broken), metadata))
        except ValueError:
            refused += 1
    assert refused > 30


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
