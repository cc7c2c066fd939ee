"""The pages of a table in Parquet, each of which says in a header of its own how large it is unpacked.

The footer of a file says that, too, but nothing makes it agree with the pages, and what reads them unpacks a page
before it looks at what came out.

Source: Apache Parquet, parquet.thrift (PageHeader); Thrift's compact protocol (thrift-compact-protocol.md).
"""

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow.parquet as pq

_LONGEST_HEADER = 1 << 20
"""The longest header that is read [B]; those of runs have less than 100 B."""
_DEEPEST = 16
_UNPACKED, _PACKED = 2, 3
"""The fields of a header: the size of the page unpacked, and as it is in the file [B]."""


def unpacked_sizes(source: BinaryIO, metadata: pq.FileMetaData) -> Iterator[int]:
    """How large each page of each column says that it is unpacked [B].

    Raises:
        ValueError: something else stands where a page should.
        OSError: it cannot be read.
    """
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(group).column(place)
            if column.num_values == 0 and column.data_page_offset == 0:
                continue  # of a column without values nothing is read
            at = column.data_page_offset
            if column.dictionary_page_offset is not None:
                at = min(at, column.dictionary_page_offset)
            end = at + column.total_compressed_size
            while at < end:
                source.seek(at)
                header = _Header(source.read(min(_LONGEST_HEADER, end - at)))
                sizes = header.numbers()
                unpacked, packed = sizes.get(_UNPACKED, -1), sizes.get(_PACKED, -1)
                if unpacked < 0 or packed < 0:
                    raise ValueError("it has a page without a size")
                yield unpacked
                at += header.at + packed


class _Header:
    """A header of a page: a struct of Thrift, in its compact form."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def numbers(self) -> dict[int, int]:
        """Its fields that are numbers; those inside of others are passed over."""
        found: dict[int, int] = {}
        number = 0
        while kind := self._byte():
            number = number + (kind >> 4) if kind >> 4 else self._signed()
            if kind & 15 in (4, 5, 6):
                found[number] = self._signed()
            else:
                self._skip(kind & 15, 0)
        return found

    def _byte(self) -> int:
        self.at += 1
        if self.at > len(self.content):
            raise ValueError("it has a page whose header has no end")
        return self.content[self.at - 1]

    def _varint(self) -> int:
        found = 0
        for place in range(10):
            byte = self._byte()
            found |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return found
        raise ValueError("it has a page whose header is none")

    def _signed(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _skip(self, kind: int, depth: int) -> None:
        """Pass over a value of one of Thrift's types."""
        if depth > _DEEPEST:
            raise ValueError("it has a page whose header is nested too deeply")
        if kind in (1, 2):  # a truth is in the type itself
            return
        if kind == 3:
            self._byte()
        elif kind in (4, 5, 6):
            self._varint()
        elif kind == 7:
            self.at += 8
        elif kind == 8:
            size = self._varint()
            self.at += size
        elif kind in (9, 10):
            size = self._byte()
            count = size >> 4 if size >> 4 < 15 else self._varint()
            for _ in range(min(count, len(self.content))):
                self._skip_of_a_list(size & 15, depth + 1)
        elif kind == 12:
            while inner := self._byte():
                if not inner >> 4:
                    self._varint()
                self._skip(inner & 15, depth + 1)
        else:
            raise ValueError("it has a page whose header is none")

    def _skip_of_a_list(self, kind: int, depth: int) -> None:
        if kind in (1, 2):
            self._byte()
        else:
            self._skip(kind, depth)
