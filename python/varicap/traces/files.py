"""Traces in files: logs of any form are read, Mahimahi's opportunities, rates as CSV and LeoReplayer's files written.

| format | capacity | delay | loss |
|---|---|---|---|
| ``mahimahi`` | a line for each opportunity to send 1500 bytes: its time in ms; the last: the period | none | none |
| ``csv`` | ``time_s`` and ``rate_bps``, ``rate_kbps`` or ``rate_mbps``, until the next row | ``delay_ms`` | ``loss`` |
| ``leoreplayer`` | ``bw_N.txt``, as Mahimahi's | ``delay_N.txt``: that of every 10 ms | ``loss_N.csv``, ours |

All are read by the engine's own reader: whatever is accepted here is accepted in a scenario, and vice versa.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

import varicap._core as _core
from varicap._files import UnreadableError, read_whole, write_whole
from varicap._folders import Folder
from varicap.traces.parameters import TraceError
from varicap.traces.trace import (
    Array,
    Delays,
    Losses,
    Opportunities,
    Rates,
    Trace,
    Understood,
    to_opportunities,
    to_rates,
)

Format: TypeAlias = Literal["mahimahi", "csv", "leoreplayer"]
FORMATS: tuple[Format, ...] = ("mahimahi", "csv", "leoreplayer")

DELAY_STEP_S = 0.010
"""Interval of LeoReplayer's delays [s]."""
MOST_BYTES = 500_000_000


@dataclass(frozen=True)
class Reading:
    """How a log is understood, and what is done about its faults, as the keys of a scenario's ``trace`` say.

    Times and rates have their units: ``"1 s"``, ``"100 Mbit/s"``.
    """

    columns: str | None = None
    """What its columns are, such as ``time=0:s,rate=2:Mbit/s``; by their names if None."""
    every: str | None = None
    """Time from row to row where no column has one; of a capture, over which packets are counted."""
    only: str | None = None
    """Which direction or series of several; of a capture ``all``, or ``10.0.0.1 > 10.0.0.2:443``."""
    gaps: Literal["hold", "outage", "refuse"] = "hold"
    """What holds where rows or values are missing: the value before, or a rate of zero."""
    duplicates: Literal["last", "first", "mean", "refuse"] = "last"
    """Which of several rows of one instant counts."""
    backward: Literal["refuse", "sort", "drop", "append"] = "refuse"
    """What becomes of rows that are earlier than the one before; ``append`` makes them another recording."""
    unreadable: Literal["refuse", "skip"] = "refuse"
    """What becomes of rows that cannot be read; skipped, they are missing."""
    clip: str | None = None
    """The greatest rate: greater ones become this one."""
    last: str | None = None
    """How long the last row lasts; as long as the one before it if None."""
    resample: str | None = None
    """Time over which values become their means."""
    strict: bool = False
    """Whether a log with gaps, duplicates, missing or absurd values is refused."""

    @property
    def names_columns(self) -> bool:
        """Whether it says what the file is made of."""
        return self.columns is not None or self.every is not None or self.only is not None

    def to_json(self, wanted: str) -> str:
        """The same for the reader."""
        keys = {key: value for key, value in asdict(self).items() if value is not None}
        if wanted != "rate":
            keys.pop("clip", None)
        return json.dumps(keys)


def load(path: str | Path, reading: Reading | None = None, **keys: Any) -> Trace:
    """Read a log in any form: a file, the folder of a LeoReplayer pair, or a pipe such as ``<(gunzip -c a.gz)``.

    What a file is, is found by its content; `reading`, or its fields as `keys`, say what cannot be found, and what is
    done about gaps and other faults.  What was understood is in ``understood`` of the trace.  With ``bw_N.txt`` its
    ``delay_N.txt`` and ``loss_N.csv`` are read too.

    Raises `TraceError` with file, line, what was found and what was
    expected.

    >>> load("examples/traces/lte-like.down").duration_s
    60.0
    """
    reading = replace(reading or Reading(), **keys)
    path = Path(path)
    if path.is_dir():
        path = _bandwidth_in(path)
    text = _read(path)
    try:
        if not reading.names_columns and path.suffix.lower() != ".csv" and _core.are_opportunities(str(path), text):
            times, said = _core.read_opportunities(str(path), text)
            understood = None if said is None else Understood("mahimahi", said, (said,), {})
            return Opportunities(times.view(np.int64), _delays_beside(path), _losses_beside(path), understood)
        time_s, rate_bps, length_s, sentence = _asked(path, text, "rate", reading)
        delay, of_delay = _beside(path, text, "delay", reading)
        loss, of_loss = _beside(path, text, "loss", reading)
    except TraceError:
        raise
    except ValueError as error:
        raise TraceError(str(error)) from None
    duration_s = 1.0 if length_s is None else length_s
    understood = _understood(sentence, [*of_delay, *of_loss])
    delays = None if delay is None else Delays(delay[0], delay[1] * 1000, delay[2] or duration_s)
    losses = None if loss is None else Losses(loss[0], loss[1], loss[2] or duration_s)
    return Rates(time_s, rate_bps, duration_s, delays, losses, understood)


def _asked(path: Path, text: bytes, wanted: str, reading: Reading) -> tuple[Array, Array, float | None, str]:
    """What a log has of what was asked for."""
    found = _core.read_log(str(path), text, wanted, reading.to_json(wanted), False)
    if found is None:
        raise RuntimeError("what is not optional is read or refused")
    return found


def _beside(
    path: Path, text: bytes, wanted: str, reading: Reading
) -> tuple[tuple[Array, Array, float | None] | None, list[str]]:
    """What a log of rates has beside them, and why not if it has but cannot be read: nobody asked for it."""
    try:
        found = _core.read_log(str(path), text, wanted, reading.to_json(wanted), True)
    except ValueError as error:
        if reading.strict:
            raise
        return None, [f"its column of {wanted} is not used ({str(error).removeprefix(f'{path}, ')})"]
    return (None if found is None else found[:3]), []


def _understood(text: str, more: list[str]) -> Understood:
    found = json.loads(text)
    faults = [*found["quality"].pop("faults"), *more]
    return Understood(found["form"], ", ".join([found["sentence"], *more]), tuple(faults), found["quality"])


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


def convert(
    source: str | Path,
    target: str | Path,
    to: Format | None = None,
    step_s: float = 0.1,
    reading: Reading | None = None,
) -> list[Path]:
    """Read a trace, write it in another format, and return the files; see `load` and `save`."""
    return save(load(source, reading), target, to, step_s)


def _bandwidth_in(folder: Path) -> Path:
    with Folder(folder) as there:
        files = [name for name in there.names() if name.startswith(("bw_", "delay_", "loss_")) and there.is_file(name)]
    found = [folder / name for name in files if name.startswith("bw_") and name.endswith(".txt")]
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
    time_s, loss, length_s, _ = _asked(file, _read(file), "loss", Reading())
    return Losses(time_s, loss, length_s or 1.0)


def _delays_beside(path: Path) -> Delays | None:
    """Read the file of delays in LeoReplayer's pair."""
    file = _delay_file(path)
    if not path.name.startswith("bw_") or not file.exists():
        return None
    time_s, delay_s, length_s, _ = _asked(file, _read(file), "delay", Reading())
    return Delays(time_s, delay_s * 1000, length_s or DELAY_STEP_S)


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
        return read_whole(path, MOST_BYTES)
    except UnreadableError as error:
        raise TraceError(f"{path}: {error}") from None
