"""Traces in files: Mahimahi's opportunities, rates as CSV, and LeoReplayer's pairs of files.

| format | capacity | delay | loss |
|---|---|---|---|
| ``mahimahi`` | a line for each opportunity to send 1500 bytes: its time in ms; the last: the period | none | none |
| ``csv`` | ``time_s`` and ``rate_bps``, ``rate_kbps`` or ``rate_mbps``, until the next row | ``delay_ms`` | ``loss`` |
| ``leoreplayer`` | ``bw_N.txt``, as Mahimahi's | ``delay_N.txt``: that of every 10 ms | ``loss_N.csv``, ours |

Capacities and losses are read by the engine's own readers: whatever is accepted here is accepted in a scenario, and
vice versa.
"""

import codecs
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

import varicap._core as _core
from varicap._files import UnreadableError, read_whole, write_whole
from varicap._folders import Folder
from varicap.traces.parameters import TraceError
from varicap.traces.trace import Array, Delays, Losses, Opportunities, Rates, Trace, to_opportunities, to_rates

Format: TypeAlias = Literal["mahimahi", "csv", "leoreplayer"]
FORMATS: tuple[Format, ...] = ("mahimahi", "csv", "leoreplayer")

DELAY_STEP_S = 0.010
"""Interval of LeoReplayer's delays [s]."""
MOST_BYTES = 500_000_000
_QUOTED = 20
"""How much of a file an error quotes, at most: it may be any file that can be read."""
_DELAY_COLUMNS = {"delay_ms": 1.0, "delay_us": 1e-3, "delay_s": 1e3}
"""Names of a column of delays, with their unit [ms]."""
_MOST_DELAY_MS = 1e6
_LOSS_COLUMNS = ("loss", "loss_percent")


def load(path: str | Path) -> Trace:
    """Read a trace in any format: a file, the folder of a LeoReplayer pair, or a pipe such as ``<(gunzip -c a.gz)``.

    With ``bw_N.txt`` its ``delay_N.txt`` and ``loss_N.csv`` are read too.

    Raises `TraceError` with file, line, what was found and what was
    expected.

    >>> load("examples/traces/lte-like.down").duration_s
    60.0
    """
    path = Path(path)
    if path.is_dir():
        path = _bandwidth_in(path)
    text = _read(path)
    try:
        if not _is_csv(path, text):
            times = _core.read_opportunities(str(path), text).view(np.int64)
            return Opportunities(times, _delays_beside(path), _losses_beside(path))
        time_s, rate_bps, length_s = _core.read_rates(str(path), text)
        has_losses = any(name in _header(text) for name in _LOSS_COLUMNS)
        loss = _losses(path, text) if has_losses else None
    except TraceError:
        raise
    except ValueError as error:
        raise TraceError(str(error)) from None
    duration_s = 1.0 if length_s is None else length_s
    return Rates(time_s, rate_bps, duration_s, _delay_column(path, text, time_s, duration_s), loss)


def format_of(path: str | Path) -> Format:
    """The format that a file's name implies: ``.csv``, ``bw_*.txt``, or opportunities.

    >>> format_of("a.csv"), format_of("b.down"), format_of("bw_3.txt")
    ('csv', 'mahimahi', 'leoreplayer')
    """
    path = Path(path)
    if path.suffix.lower() == ".csv":
        return "csv"
    return "leoreplayer" if path.name.startswith("bw_") else "mahimahi"


def save(
    trace: Trace, path: str | Path, to: Format | None = None, step_s: float = 0.1, note: Iterable[str] = ()
) -> list[Path]:
    """Write a trace, and return the files that were written.

    The name determines the format unless `to` is given.  Opportunities become rates as means over `step_s`.  `note` is
    text for comment lines in CSV; the other formats have no comments.
    """
    path, to = Path(path), to or format_of(path)
    if to == "csv":
        return [_write(path, _csv(to_rates(trace, step_s), note))]
    lines = _lines(to_opportunities(trace).time_ms.tolist())
    if to == "mahimahi":
        return [_write(path, lines)]
    if not path.name.startswith("bw_"):
        raise TraceError(f"{path}: LeoReplayer's capacities are called bw_N.txt, with delay_N.txt beside them")
    if trace.delay is None:
        raise TraceError(
            f"{path}: LeoReplayer wants delays, and this trace has none; `varicap trace convert --delay` gives it one"
        )
    count = max(1, round(trace.duration_s / DELAY_STEP_S))
    delays = np.rint(trace.delay.at(np.arange(count, dtype=np.float64) * DELAY_STEP_S)).astype(np.int64)
    written = [_write(path, lines), _write(_delay_file(path), _lines(delays.tolist()))]
    if trace.loss is not None:
        written.append(_write(_loss_file(path), _loss_csv(trace.loss, note)))
    return written


def convert(source: str | Path, target: str | Path, to: Format | None = None, step_s: float = 0.1) -> list[Path]:
    """Read a trace, write it in another format, and return the files; see `load` and `save`."""
    return save(load(source), target, to, step_s)


def _is_csv(path: Path, text: bytes) -> bool:
    """The format of a text, by its first line that is not a comment."""
    if path.suffix.lower() == ".csv":
        return True
    begin = (line.strip() for line in text[:4096].splitlines())
    first = next((line for line in begin if line and not line.startswith(b"#")), b"")
    return b"," in first


def _bandwidth_in(folder: Path) -> Path:
    with Folder(folder) as there:
        found = [
            folder / name
            for name in there.names()
            if name.startswith("bw_") and name.endswith(".txt") and there.is_file(name)
        ]
    if len(found) != 1:
        what = "no bw_N.txt" if not found else f"{len(found)} files bw_N.txt"
        raise TraceError(f"{folder}: {what}, expected one, with its delay_N.txt, as LeoReplayer has them")
    return found[0]


def _delay_file(path: Path) -> Path:
    return path.with_name("delay_" + path.name.removeprefix("bw_"))


def _loss_file(path: Path) -> Path:
    """Where the losses of a LeoReplayer pair are, of which its format knows nothing."""
    return path.with_name("loss_" + path.name.removeprefix("bw_")).with_suffix(".csv")


def _losses_beside(path: Path) -> Losses | None:
    file = _loss_file(path)
    if not path.name.startswith("bw_") or not file.exists():
        return None
    return _losses(file, _read(file))


def _losses(path: Path, text: bytes) -> Losses:
    time_s, loss, length_s = _core.read_losses(str(path), text)
    return Losses(time_s, loss, 1.0 if length_s is None else length_s)


def _header(text: bytes) -> list[str]:
    """The names of the columns of a CSV."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith(b"#"))
    return [name.strip() for name in next(lines, b"").decode(errors="replace").split(",")]


def _delays_beside(path: Path) -> Delays | None:
    """Read the file of delays in LeoReplayer's pair."""
    file = _delay_file(path)
    if not path.name.startswith("bw_") or not file.exists():
        return None
    values = []
    for number, line in enumerate(_read(file).splitlines(), 1):
        if not line.isdigit() or not 0 <= int(line) <= _MOST_DELAY_MS:
            raise _wrong(file, number, line, "a whole number of milliseconds, the delay of 10 ms")
        values.append(float(line))
    if not values:
        raise TraceError(f"{file}: is empty, expected a whole number of milliseconds a line")
    return Delays(np.arange(len(values), dtype=np.float64) * DELAY_STEP_S, np.array(values), len(values) * DELAY_STEP_S)


def _delay_column(path: Path, text: bytes, time_s: Array, duration_s: float) -> Delays | None:
    """The delays of a CSV whose rates have been read."""
    rows = [
        (number, line.decode().split(","))
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith(b"#")
    ]
    header = [name.strip() for name in rows[0][1]]
    named = next((name for name in _DELAY_COLUMNS if name in header), None)
    if named is None:
        return None
    place, unit_ms = header.index(named), _DELAY_COLUMNS[named]
    values = []
    for number, fields in rows[1:]:
        field = fields[place].strip() if place < len(fields) else ""
        try:
            value = float(field) * unit_ms
        except ValueError:
            value = -1.0
        if not 0 <= value <= _MOST_DELAY_MS:
            raise _wrong(path, number, field.encode(), "a delay in milliseconds, from 0 to 1e6")
        values.append(value)
    return Delays(time_s, np.array(values), duration_s)


def _wrong(path: Path, line: int, found: bytes, expected: str) -> TraceError:
    shown = repr(found[:_QUOTED].decode(errors="replace"))[1:-1] + ("…" if len(found) > _QUOTED else "")
    return TraceError(f"{path}, line {line}: found `{shown}`, expected {expected}")


def _csv(trace: Rates, note: Iterable[str]) -> str:
    time_s, delay = trace.time_s, trace.delay
    for beside in (delay, trace.loss):
        if beside is not None:
            rounds = np.arange(int(np.ceil(trace.duration_s / beside.duration_s)))[:, None] * beside.duration_s
            changes = (rounds + beside.time_s[None, :]).ravel()
            time_s = np.unique(np.round(np.concatenate([time_s, changes[changes < trace.duration_s]]), 9))
    time_s = _with_an_end(time_s, trace.duration_s)
    rates = trace.rate_bps[np.searchsorted(trace.time_s, time_s + 1e-10, side="right") - 1]
    columns = [_decimals(time_s, 9), _decimals(rates / 1e6, 6)]
    if delay is not None:
        columns.append(_decimals(delay.at(time_s + 1e-10), 3))
    if trace.loss is not None:
        columns.append(_decimals(trace.loss.at(time_s + 1e-10), 6))
    names = ["time_s", "rate_mbps", *(["delay_ms"] if delay else []), *(["loss"] if trace.loss else [])]
    return _table(names, columns, note)


def _loss_csv(losses: Losses, note: Iterable[str]) -> str:
    # Thousands of rows without a change would say nothing.
    begins = np.append(True, np.diff(losses.loss) != 0)
    time_s = _with_an_end(losses.time_s[begins], losses.duration_s)
    columns = [_decimals(time_s, 9), _decimals(losses.at(time_s + 1e-10), 6)]
    return _table(["time_s", "loss"], columns, note)


def _with_an_end(time_s: Array, duration_s: float) -> Array:
    """The instants of rows, one more if need be: a reader makes the last one as long as the one before it."""
    if len(time_s) >= 2 and abs((duration_s - time_s[-1]) - (time_s[-1] - time_s[-2])) <= 1e-9:
        return time_s
    return np.append(time_s, (time_s[-1] + duration_s) / 2)


def _table(names: list[str], columns: list[list[str]], note: Iterable[str]) -> str:
    head = [*(f"# {line}" for line in note), ",".join(names)]
    return "\n".join([*head, *map(",".join, zip(*columns, strict=True))]) + "\n"


def _decimals(values: Array, digits: int) -> list[str]:
    """A number without an exponent and without trailing zeros."""
    return [f"{value:.{digits}f}".rstrip("0").rstrip(".") for value in values.tolist()]


def _lines(values: list[int]) -> str:
    return "\n".join(map(str, values)) + "\n"


def _write(path: Path, text: str) -> Path:
    return write_whole(path, text)


def _read(path: Path) -> bytes:
    try:
        return read_whole(path, MOST_BYTES).removeprefix(codecs.BOM_UTF8)
    except UnreadableError as error:
        raise TraceError(f"{path}: {error}") from None
