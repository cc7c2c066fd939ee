"""The six tables: which system, which channel, which columns."""

from varicap.papers.wireless.cells import CELLS, JAKES, MARKOV, PACKETS, Column, Table

_LONG, _SHORT = 0.4, 0.04


def _of_packets(*sizes: int) -> list[Column]:
    return [Column(str(size), size, _LONG) for size in sizes]


def _of_cells(*sizes: int) -> list[Column]:
    return [Column(str(size), size // CELLS.segments, _LONG) for size in sizes]


TABLE_1 = Table("T1", "Table I", PACKETS, MARKOV, _of_packets(8, 16))
TABLE_2 = Table("T2", "Table II", PACKETS, JAKES, _of_packets(8, 12, 16))
TABLE_3 = Table("T3", "Table III", PACKETS, JAKES, [Column("40", 8, _SHORT)], "round trip [ms]")
TABLE_4 = Table("T4", "Table IV", CELLS, MARKOV, _of_cells(96, 192), "buffer [cells]")
TABLE_5 = Table("T5", "Table V", CELLS, JAKES, _of_cells(96, 144, 192), "buffer [cells]")
TABLE_6 = Table("T6", "Table VI", CELLS, JAKES, [Column("40", 8, _SHORT)], "round trip [ms]")
TABLES = (TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6)
BY_ID = {table.id: table for table in TABLES}
