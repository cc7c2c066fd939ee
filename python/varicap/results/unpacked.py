"""Tables in Parquet: a small file may say that it has any number of rows, so that it is bounded as it is read."""

from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from varicap.results.pages import unpacked_sizes

MOST = 4_000_000_000
"""The largest table that is read [B in memory]."""
USUAL = 256_000_000
"""What a table may have in memory, however small its file is [B]."""
MOST_TIMES = 100
"""How many times as large as its file a larger one may be: those of runs are a few times as large."""
_PIECE = 64_000_000
"""What is read at once where texts may be long, about [B]."""


class TooLargeError(ValueError):
    """A table that needs more memory than one may; the text has both sizes."""


def read_parquet(source: BinaryIO) -> pa.Table:
    """Read a table, as written: what was one dictionary there is one dictionary here.

    Raises:
        TooLargeError: it would take more memory than tables of results do.
        ValueError: its pages are none.
        pyarrow.ArrowException: it is not in Parquet.
        OSError: it cannot be read.
    """
    packed = source.seek(0, 2)
    source.seek(0)
    file = pq.ParquetFile(source)
    most = min(MOST, max(USUAL, MOST_TIMES * packed))
    widths = [_width(field.type) for field in file.schema_arrow]
    row = sum(widths) + len(widths) / 8
    _refuse(file.metadata.num_rows * row, packed, most)
    _refuse_pages(source, file.metadata, packed, most)
    texts = sum(_longest(file.metadata, place) for place, width in enumerate(widths) if width == _OF_A_TEXT)
    if file.metadata.num_rows * (row + texts) <= most:
        return file.read()
    taken, pieces = 0, []
    for piece in file.iter_batches(batch_size=max(1, min(1 << 16, int(_PIECE / (row + texts))))):
        taken += piece.nbytes
        _refuse(taken, packed, most)
        pieces.append(piece)
    return pa.Table.from_batches(pieces, file.schema_arrow).unify_dictionaries()


_OF_A_TEXT = 4
"""Of a value without a size of its own: where it begins, or its place in a dictionary [B]."""


def _width(kind: pa.DataType) -> float:
    """What a value of a type takes at least [B]."""
    try:
        return float(kind.bit_width) / 8
    except ValueError:
        return _OF_A_TEXT


def _longest(metadata: pq.FileMetaData, place: int) -> int:
    """How long a text of a column may be at most, as far as the file tells [B]."""
    if place >= metadata.num_columns:
        return 0
    groups = range(metadata.num_row_groups)
    return max((metadata.row_group(group).column(place).total_uncompressed_size for group in groups), default=0)


def _refuse_pages(source: BinaryIO, metadata: pq.FileMetaData, packed: int, most: int) -> None:
    """Refuse pages that unpack to too much, whatever the footer says of them."""
    taken = 0
    for size in unpacked_sizes(source, metadata):
        taken += size
        _refuse(taken, packed, most)


def _refuse(taken: float, packed: int, most: int) -> None:
    if taken > most:
        said = f"{packed / 1e6:.1f} MB that unpack to {taken / 1e6:.0f} MB or more"
        raise TooLargeError(f"{said}, expected at most {most / 1e6:.0f} MB")
