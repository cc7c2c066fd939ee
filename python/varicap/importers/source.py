"""What importers share: a stranger's file, what is wrong with it, and quantities as such files have them."""

import re
from dataclasses import dataclass
from pathlib import Path

from varicap._files import UnreadableError, read_whole
from varicap._printable import PrintableError, printable

MOST_BYTES = 4_000_000
"""A script or a topology is shorter."""
MOST_LINES = 100_000
MOST_ITEMS = 2_000
"""Links, flows or nodes of a file; a scenario may have about as many."""
_QUOTED = 100
"""Characters of an offending text that an error repeats."""


class ImportedError(PrintableError, ValueError):
    """A file that cannot be imported; the text says where, what was found, and what was expected."""

    def __init__(self, file: str, line: int | None, found: str, expected: str) -> None:
        where = file if line is None else f"{file}, line {line}"
        found = found if len(found) <= _QUOTED else f"{found[:_QUOTED]}…"
        super().__init__(f"{where}: found {printable(found) or 'nothing'}, expected {expected}")
        self.file = file
        """The file, as it was named."""
        self.line = line
        """The line, from 1; None if the file as a whole is meant."""


@dataclass(frozen=True)
class Source:
    """The text of a file, and what it is called."""

    file: str
    text: str

    @property
    def lines(self) -> list[str]:
        """Its lines, without their ends."""
        return self.text.split("\n")

    def error(self, line: int | None, found: object, expected: str) -> ImportedError:
        """`expected` was due at a line, but something else was found."""
        return ImportedError(self.file, line, str(found), expected)


def read(path: str | Path) -> Source:
    """The text of a file; `-` is standard input.  Raises `ImportedError`."""
    name = str(path)
    try:
        content = read_whole("/dev/stdin" if name == "-" else path, MOST_BYTES)
    except UnreadableError as error:
        raise ImportedError(name, None, str(error), "a file that can be read") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # comments of old scripts
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        raise ImportedError(name, text[: text.index("\0")].count("\n") + 1, "a zero byte", "a text")
    if text.count("\n") > MOST_LINES:
        raise ImportedError(name, None, f"{text.count(chr(10))} lines", f"at most {MOST_LINES}")
    return Source(name, text)


# No more digits than a float takes: what is infinite then would be no number.
_NUMBER = r"([0-9]{1,40}(?:\.[0-9]{0,40})?(?:[eE][-+]?[0-9]{1,2})?|\.[0-9]{1,40})"
_TIMES = {"s": 1e9, "sec": 1e9, "secs": 1e9, "ms": 1e6, "msec": 1e6, "msecs": 1e6, "us": 1e3, "usec": 1e3}
_TIMES |= {"usecs": 1e3, "ns": 1.0, "nsec": 1.0, "nsecs": 1.0}
_RATES = {"bit": 1.0, "bps": 8.0}
_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def number(text: str) -> float | None:
    """A plain number, not negative."""
    return float(text) if re.fullmatch(_NUMBER, text) else None


def tc_time(text: str) -> float | None:
    """A time as `tc` reads it, without a unit in microseconds [ns].

    >>> tc_time("10ms"), tc_time("250"), tc_time("10 parsecs")
    (10000000.0, 250000.0, None)
    """
    match = re.fullmatch(_NUMBER + r"([a-z]*)", text.lower())
    if match is None or match[2] not in {"": 0, **_TIMES}:
        return None
    return float(match[1]) * _TIMES.get(match[2], 1e3)


def tc_rate(text: str) -> float | None:
    """A rate as `tc` reads it: bits per second, and `bps` for bytes [b/s].

    >>> tc_rate("10mbit"), tc_rate("1mbps"), tc_rate("8000"), tc_rate("1mibit")
    (10000000.0, 8000000.0, 8000.0, 1048576.0)
    """
    match = re.fullmatch(_NUMBER + r"([kmgt]i?)?(bit|bps)?", text.lower())
    if match is None:
        return None
    return float(match[1]) * _PREFIXES[match[2] or ""] * _RATES[match[3] or "bit"]


def tc_size(text: str) -> float | None:
    """A size as `tc` reads it: bytes, `k` and `kb` for 1024 of them, `kbit` for 128 [B].

    >>> tc_size("1540"), tc_size("32kbit"), tc_size("10kb"), tc_size("1m")
    (1540.0, 4096.0, 10240.0, 1048576.0)
    """
    match = re.fullmatch(_NUMBER + r"(?:([kmg])(b|bit)?|b)?", text.lower())
    if match is None:
        return None
    size = float(match[1]) * {None: 1, "k": 2**10, "m": 2**20, "g": 2**30}[match[2]]
    return size / 8 if match[3] == "bit" else size


def percent(text: str) -> float | None:
    """A share as `tc` reads it: `25%`, or a number that is a percentage as well.

    >>> percent("25%"), percent("0.5"), percent("101%")
    (0.25, 0.005, None)
    """
    value = number(text.removesuffix("%"))
    return None if value is None or value > 100 else value / 100


def nanoseconds(ns: float) -> str:
    """A time as a scenario has it.

    >>> nanoseconds(5e7), nanoseconds(2.5e9), nanoseconds(1500)
    ('50 ms', '2.5 s', '1.5 us')
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{_short(ns / size)} {unit}"
    return f"{_short(ns)} ns" if ns else "0 s"


def rate(bps: float) -> str:
    """A rate as a scenario has it.

    >>> rate(1e7), rate(5e5), rate(1.5e9)
    ('10 Mbit/s', '500 kbit/s', '1.5 Gbit/s')
    """
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= size:
            return f"{_short(bps / size)} {unit}"
    return f"{_short(round(bps))} b/s"


def bytes_of(size: float) -> str:
    """A size as a scenario has it, rounded down to a byte.

    >>> bytes_of(1540), bytes_of(100000)
    ('1540 B', '100000 B')
    """
    return f"{int(size)} B"


def share(value: float) -> str:
    """A probability as a scenario has it.

    >>> share(0.01), share(0.00005)
    ('1 %', '0.005 %')
    """
    return f"{_short(value * 100)} %"


def _short(value: float) -> str:
    """Without digits that are not there.

    >>> _short(50.0), _short(0.1 + 0.2)
    ('50', '0.3')
    """
    text = f"{value:.12g}"
    return text if "e" not in text else f"{value:.12f}".rstrip("0").rstrip(".")
