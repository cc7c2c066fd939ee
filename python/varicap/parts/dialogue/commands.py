"""Settings that a script's shell commands ask for. Commands are read, never executed."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from varicap import units
from varicap._core import ScenarioError, Sender, stacks
from varicap.parts.dialogue.script import LacksError

_LONGEST = 100_000
_SELECTIVE = {"sack", "rack"}
"""Recoveries that need selective acknowledgements."""


@dataclass
class Host:
    """What the simulated host does besides its TCP settings: what it offers in a handshake, as Linux's sysctls say."""

    mss: int = 1460
    sack: bool = True
    timestamps: bool = True
    window_scaling: bool = True
    ecn: int = 2
    """As ``tcp_ecn``: 0 never, 1 asks for it, 2 agrees to it."""
    buffer: int | None = None
    """Receive buffer [B], once the script or the user has set one; until then it is unlimited."""
    most_buffer: int = 6 * 1024 * 1024
    """The most that ``tcp_rmem`` lets a receive buffer grow to, which sets the window scale [B]."""


@dataclass
class Setup:
    """What the commands of a script amount to."""

    host: Host = field(default_factory=Host)
    tcp: dict[str, Any] = field(default_factory=dict)
    """Keys of a scenario's ``tcp`` table."""
    ignored: list[str] = field(default_factory=list)
    """What was asked for and has no effect, by name and, if it would matter, with the reason."""


def merged(setup: Setup, given: Mapping[str, Any]) -> dict[str, Any]:
    """The ``tcp`` settings of a connection: those of the script, then those that were given.

    The habits of a stack come last: they hold for what neither says.
    """
    recovery = {key: value for key, value in habits(given).items() if key == "recovery"}
    return {**recovery, **setup.tcp, **given}


def for_host(setup: Setup, given: Mapping[str, Any]) -> dict[str, Any]:
    """Take those of the given ``tcp`` settings that belong to the handshake into `setup`; the others are returned.

    Raises:
        ScenarioError: a setting is not one of a scenario's ``tcp`` table, or has no meaning in a dialogue.
    """
    if "handshake" in given:
        raise ScenarioError("tcp: handshake: a dialogue has the handshake that its script has")
    Sender(**given)
    host, rest = setup.host, dict(given)
    if "mss" in rest:
        host.mss = int(_bytes(rest.pop("mss")))
    if (buffer := rest.get("receive_window", "unlimited")) != "unlimited":
        packets = re.fullmatch(r"\s*([0-9]+)\s*packets?\s*", str(buffer))
        host.buffer = int(packets.group(1)) * host.mss if packets else int(_bytes(buffer))
    if "timestamps" in rest:
        host.timestamps = bool(rest.pop("timestamps"))
    if "ecn" in rest:
        host.ecn = 1 if rest.pop("ecn") else 0
    if rest.get("recovery", "sack") != "sack":
        host.sack = False
    return rest


def habits(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the stack does that was given, if one was; they come after what the script sets."""
    known: dict[str, Any] = json.loads(stacks()).get(given.get("stack"), {})
    return known


def with_stack(setup: Setup, given: Mapping[str, Any]) -> None:
    """Let the host of a script that has not begun yet offer in a handshake what its stack does."""
    found, host = habits(given), setup.host
    host.timestamps = found.get("timestamps", host.timestamps)
    host.sack = found.get("recovery", "sack") in _SELECTIVE
    if found.get("ecn") is False:
        host.ecn = 0


def _bytes(value: object) -> float:
    return float(value) if isinstance(value, int) else units.size(str(value))


def _host(name: str, value: Callable[[str], Any]) -> Callable[[Setup, str], None]:
    return lambda setup, text: setattr(setup.host, name, value(text))


def _tcp(key: str, value: Callable[[str], Any]) -> Callable[[Setup, str], None]:
    return lambda setup, text: setup.tcp.__setitem__(key, value(text))


def _flag(text: str) -> bool:
    return int(text, 0) != 0


def _rto_min(setup: Setup, span: str) -> None:
    setup.tcp["timer"] = {"rfc6298": {"minimum": span}}


def _receive_buffers(setup: Setup, text: str) -> None:
    setup.host.most_buffer = int(text.split()[-1])


def _control(setup: Setup, name: str) -> None:
    try:
        Sender(congestion=name)
    except ScenarioError:
        raise LacksError(f"the congestion control {name}") from None
    setup.tcp["congestion"] = name


def _unless(harmless: str, reason: str) -> Callable[[Setup, str], None]:
    """A setting that varicap does not have: without effect at one value, and to be named at any other."""

    def apply(setup: Setup, text: str) -> None:
        if text != harmless:
            raise LookupError(reason)

    return apply


_SYSCTLS: dict[str, Callable[[Setup, str], None]] = {
    "tcp_congestion_control": _control,
    "tcp_slow_start_after_idle": _tcp("restart_after_idle", _flag),
    "tcp_reordering": _tcp("duplicate_acks", int),
    "tcp_rto_min_us": lambda setup, text: _rto_min(setup, f"{int(text)} us"),
    "tcp_sack": _host("sack", _flag),
    "tcp_timestamps": _host("timestamps", _flag),
    "tcp_window_scaling": _host("window_scaling", _flag),
    "tcp_ecn": _host("ecn", lambda text: int(text, 0)),
    "tcp_rmem": _receive_buffers,
    "tcp_early_retrans": _unless("0", "no tail loss probe"),
    "tcp_recovery": _unless("0", "no RACK"),
    "tcp_frto": _unless("0", "no F-RTO"),
    "tcp_dsack": _unless("0", "no D-SACK"),
    "tcp_fack": _unless("0", "no FACK"),
}
_WITHOUT_MEANING = {
    **dict.fromkeys(("tcp_tso_win_divisor", "tcp_min_tso_segs", "tcp_autocorking"), "segments leave one by one"),
    **dict.fromkeys(("tcp_pacing_ss_ratio", "tcp_pacing_ca_ratio"), "no pacing by these ratios"),
}


def apply(setup: Setup, command: str, folder: Path) -> None:
    """Read a shell command: settings go into `setup`, scripts beside the dialogue are read on."""
    _read(setup, command, folder, depth=0)


def _read(setup: Setup, command: str, folder: Path, depth: int) -> None:
    for words in _lines(command):
        name = words[0].rsplit("/", 1)[-1]
        if name == "sysctl":
            _settings(setup, [word for word in words[1:] if "=" in word])
        elif name == "set_sysctls.py":
            _settings(setup, words[1:])
        elif name == "ip" and "route" in words[:2]:
            _route(setup, words)
        elif name.endswith(".sh") and not name.startswith("sysctl_restore") and depth < 3:
            _script(setup, folder / words[0], depth)
        elif not name.startswith("sysctl_restore"):
            _ignore(setup, " ".join(words[:3]))


def _lines(command: str) -> Iterator[list[str]]:
    """The commands of a shell text, each as its words; what the shell would expand stays as it is."""
    text = re.sub(r"\\\n", " ", command[:_LONGEST])
    for line in text.splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            words = line.split()
        words = [word for word in words if not re.fullmatch(r"[0-9&]*>.*|/dev/null|2>&1", word)]
        while words:
            cut = next((at for at, word in enumerate(words) if word in {";", "&&", "||", "|"}), len(words))
            if words[:cut]:
                yield words[:cut]
            words = words[cut + 1 :]


def _script(setup: Setup, path: Path, depth: int) -> None:
    try:
        text = path.read_text(errors="replace")
    except OSError:
        _ignore(setup, f"{path.name} (it cannot be read)")
        return
    _read(setup, text, path.parent, depth + 1)


def _settings(setup: Setup, assignments: list[str]) -> None:
    for assignment in assignments:
        path, _, value = assignment.partition("=")
        key = re.split(r"[./]", path)[-1]
        value = re.sub(r"\$\(\((.*?)\)\)", _product, value).strip()
        if key in _WITHOUT_MEANING:
            _ignore(setup, f"{key} ({_WITHOUT_MEANING[key]})")
        elif key not in _SYSCTLS:
            _ignore(setup, key)
        else:
            try:
                _SYSCTLS[key](setup, value)
            except LookupError as reason:
                _ignore(setup, f"{key}={value} ({reason.args[0]})")
            except (ValueError, IndexError):
                _ignore(setup, f"{key}={value} (not a value of it)")


def _product(match: re.Match[str]) -> str:
    """``$((15*1024*1024))``: a product, the only arithmetic that such files contain."""
    factors = match.group(1).split("*")
    result = 1
    for factor in factors:
        if not re.fullmatch(r"\s*[0-9]{1,12}\s*", factor) or len(factors) > 8:
            return match.group()
        result *= int(factor)
    return str(result)


def _route(setup: Setup, words: list[str]) -> None:
    known: dict[str, Callable[[str], None]] = {
        "initcwnd": lambda value: setup.tcp.__setitem__("initial_window", f"{int(value)} packets"),
        "rto_min": lambda value: _rto_min(setup, re.sub(r"(\d)([a-z])", r"\1 \2", value)),
        "advmss": lambda value: setattr(setup.host, "mss", int(value)),
    }
    found = [(word, value) for word, value in pairwise(words) if word in known]
    for word, value in found:
        try:
            known[word](value)
        except ValueError:
            _ignore(setup, f"ip route {word} {value} (not a value of it)")
    if not found:
        _ignore(setup, "ip route")


def _ignore(setup: Setup, what: str) -> None:
    if what not in setup.ignored:
        setup.ignored.append(what)
