"""Settings that a script's shell commands ask for. Commands are read, never executed."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from varicap import units
from varicap.dialogue.script import MOST_OF_A_SCRIPT, LacksError
from varicap.interface import ScenarioError, UnreadableError, read_whole
from varicap.tcp import Sender, settings, stacks

_LONGEST = 100_000
_DEEPEST = 3
_SELECTIVE = {"sack", "rack"}
"""Recoveries that need selective acknowledgements."""
TAIL_LOSS_PROBE, RACK, F_RTO, D_SACK, FACK = "tail loss probe", "RACK", "F-RTO", "D-SACK", "FACK"
_BEHAVIOUR = {
    "tcp_early_retrans": TAIL_LOSS_PROBE,
    "tcp_recovery": RACK,
    "tcp_frto": F_RTO,
    "tcp_dsack": D_SACK,
    "tcp_fack": FACK,
}
_EXACT_TIMER = {"hertz": 1000, "wheel": False}
"""Scripts say when a timer of Linux is due, in ticks of 1 ms, and not when its timer wheel comes to it."""
_OF_RACK = {TAIL_LOSS_PROBE: "tail_loss_probe", F_RTO: "frto"}
"""Behaviour that is a parameter of recovery by time."""


@dataclass
class Host:
    """What the simulated host has in addition to its TCP settings, mostly what it offers in a handshake."""

    mss: int = 1460
    peer_mss: int = 0
    """What larger segments that arrive were put together from [B]; 0: segments as large as its own MSS."""
    sack: bool = True
    timestamps: bool = True
    window_scaling: bool = True
    ecn: int = 2
    """As ``tcp_ecn``: 0 never, 1 asks for it, 2 agrees to it; 3 to 5 agree to AccECN, 3 asks for it, 4 for ECN."""
    ecn_option: int = 2
    """As ``tcp_ecn_option``: when segments carry the AccECN option."""
    ecn_fallback: bool = True
    """As ``tcp_ecn_fallback``."""
    ecn_as_linux: bool | None = None
    """As ``tcp.ecn.accurate.as_linux``; None: where the stack is Linux's."""
    has_fq: bool = False
    """The host's queue is ``fq``, which paces."""
    slow_start_percent: int = 200
    avoidance_percent: int = 120
    """As ``tcp_pacing_ss_ratio`` and ``tcp_pacing_ca_ratio``."""
    least_offload: int = 2
    """As ``tcp_min_tso_segs``."""
    buffer: int | None = None
    """Receive buffer [B], once the script or the user has set one; until then it is unlimited."""
    first_buffer: int = 131_072
    """What ``tcp_rmem`` lets a receive buffer begin with, as ``SO_RCVBUF`` is read under Linux [B]."""
    synack_retries: int = 5
    """As ``tcp_synack_retries``."""
    most_buffer: int = 6 * 1024 * 1024
    """The most that ``tcp_rmem`` lets a receive buffer grow to, which sets the window scale [B]."""
    asked: dict[str, str] = field(default_factory=dict)
    """Behaviour, and the setting that asks for it.

    Where the connection lacks it, it makes a skip of a dialogue that comes to where the behaviour would show; until
    then nothing is missing.
    """
    unwanted: dict[str, str] = field(default_factory=dict)
    """Behaviour that recovery by time cannot do without, and the setting that turns it off.

    A skip where the behaviour shows, too.
    """

    def window_scale(self) -> int | None:
        """As Linux chooses it: by the most that the receive buffer may become."""
        if not self.window_scaling:
            return None
        most = self.most_buffer if self.buffer is None else self.buffer
        return min(max(most.bit_length() - 16, 0), 14)


@dataclass
class Setup:
    """What the commands of a script amount to."""

    host: Host = field(default_factory=Host)
    tcp: dict[str, Any] = field(default_factory=dict)
    """Keys of a scenario's ``tcp`` table."""
    ignored: list[str] = field(default_factory=list)
    """What was asked for and has no effect, by name and, if it would matter, with the reason."""
    given: frozenset[str] = frozenset()
    """Keys of the ``tcp`` table that the user gave, which count more than the script's."""
    has: frozenset[str] = frozenset()
    """Behaviour that connections have, unless the script turns it off."""
    off: set[str] = field(default_factory=set)
    """Behaviour that the script turns off."""
    timer: str = "rfc6298"
    """The retransmission timer that the script's bounds are for."""


def copied(host: Host) -> Host:
    """The host as it is now: what a connection has settled when it was opened does not change any more."""
    return replace(host, asked=dict(host.asked), unwanted=dict(host.unwanted))


def merged(setup: Setup, given: Mapping[str, Any]) -> dict[str, Any]:
    """The ``tcp`` settings of a connection: those of the script, then those that were given.

    The habits of a stack come last: they hold for what neither says.
    """
    recovery = {key: value for key, value in habits(given).items() if key == "recovery"}
    tcp = {**recovery, "nagle": nagle(given), **setup.tcp, **given}
    if setup.off and "recovery" not in given and recovery_of(tcp) == "rack":
        parameters = tcp["recovery"].get("rack", {}) if isinstance(tcp["recovery"], dict) else {}
        off = {key: False for behaviour, key in _OF_RACK.items() if behaviour in setup.off}
        tcp["recovery"] = {"rack": {**parameters, **off}}
    if setup.timer == "linux" and "timer" not in given:
        tcp["timer"] = {"linux": {**_EXACT_TIMER, **tcp.get("timer", {}).get("linux", {})}}
        tcp.setdefault("ack", {"delayed": {"hertz": _EXACT_TIMER["hertz"]}})
    if D_SACK in setup.off and "dsack" not in given:
        tcp["dsack"] = False
    return tcp


def nagle(tcp: Mapping[str, Any]) -> str:
    """Which short segments wait at a socket without ``TCP_NODELAY``, for the stack that `tcp` names."""
    settled = settings(**{key: value for key, value in tcp.items() if key != "control"})
    return "minshall" if settled["stack"] == "linux" else str(settled["nagle"])


def recovery_of(tcp: Mapping[str, Any]) -> str:
    """The name of the recovery, whether it has parameters or not."""
    recovery = tcp.get("recovery", "sack")
    return str(next(iter(recovery))) if isinstance(recovery, Mapping) else str(recovery)


def doubling(tcp: Mapping[str, Any], retries: int) -> dict[str, Any]:
    """The settings `tcp` for a passive side: the timer of a SYN-ACK doubles at once, up to `retries` times."""
    timer = tcp.get("timer")
    parameters = timer.get("linux") if isinstance(timer, Mapping) else {} if timer == "linux" else None
    if parameters is None:
        return dict(tcp)
    return {**tcp, "timer": {"linux": {"linear_syn_timeouts": 0, **parameters, "syn_retries": retries}}}


def is_linux(tcp: Mapping[str, Any]) -> bool:
    """Whether the stack of a connection with the settings `tcp` is Linux's."""
    return str(tcp.get("stack")) == "linux"


def behaviours(tcp: Mapping[str, Any]) -> frozenset[str]:
    """The behaviour that a connection with the settings `tcp` has, of what scripts ask for by a setting."""
    settled = settings(**{key: value for key, value in tcp.items() if key != "control"})
    found = {D_SACK} if settled["dsack"] else set()
    if recovery_of(settled) == "rack":
        # Linux has taken FACK's place by RACK.
        found |= {RACK, FACK} | {behaviour for behaviour, key in _OF_RACK.items() if settled["recovery"]["rack"][key]}
    return frozenset(found)


def for_host(setup: Setup, given: Mapping[str, Any]) -> dict[str, Any]:
    """Take those of the given ``tcp`` settings that belong to the handshake into `setup`; the others are returned.

    Raises:
        ScenarioError: a setting is not one of a scenario's ``tcp`` table, or has no meaning in a dialogue.
    """
    for key in sorted({"handshake", "handshake_ack"} & given.keys()):
        raise ScenarioError(f"tcp: {key}: a dialogue has the handshake that its script has")
    if "fin" in given:
        raise ScenarioError("tcp: fin: a dialogue has the FINs that its script has")
    Sender(**given)
    setup.given = frozenset(given)
    setup.has = behaviours(given)
    host, rest = setup.host, dict(given)
    if "mss" in rest:
        host.mss = int(_bytes(rest.pop("mss")))
    if (buffer := rest.get("receive_window", "unlimited")) != "unlimited":
        packets = re.fullmatch(r"\s*([0-9]+)\s*packets?\s*", str(buffer))
        host.buffer = int(packets.group(1)) * host.mss if packets else int(_bytes(buffer))
    if "timestamps" in rest:
        host.timestamps = bool(rest.pop("timestamps"))
    if "ecn" in rest:
        host.ecn, host.ecn_option, host.ecn_as_linux = _given_ecn(rest.pop("ecn"))
    if recovery_of(rest) not in _SELECTIVE:
        host.sack = False
    return rest


def accurate_ecn(host: Host, tcp: Mapping[str, Any]) -> dict[str, Any]:
    """The setting of AccECN for both halves of a connection, whose host writes the option."""
    as_linux = is_linux(tcp) if host.ecn_as_linux is None else host.ecn_as_linux
    return {"accurate": {"option": False, "as_linux": as_linux}}


def _given_ecn(given: Any) -> tuple[int, int, bool | None]:
    """``tcp_ecn``, ``tcp_ecn_option`` and ``as_linux`` for the setting `given`, a name, a truth or a table."""
    name, parameters = next(iter(given.items())) if isinstance(given, Mapping) else (given, {})
    if name == "accurate":
        return 3, 2 if parameters.get("option", True) else 0, parameters.get("as_linux")
    return (0 if name in {False, "none"} else 1), 2, None


def habits(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the stack does that was given, if one was; they come after what the script sets."""
    return stacks().get(str(given.get("stack")), {})


def with_stack(setup: Setup, given: Mapping[str, Any]) -> None:
    """Let the host of a script that has not begun yet offer in a handshake what its stack does."""
    found, host = habits(given), setup.host
    host.timestamps = found.get("timestamps", host.timestamps)
    host.sack = recovery_of(found) in _SELECTIVE
    setup.timer = "linux" if "linux" in found.get("timer", {}) else setup.timer
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


def _positive(text: str) -> int:
    if (number := int(text, 0)) < 1:
        raise ValueError
    return number


def _rto_min(setup: Setup, span: str) -> None:
    _timer(setup, minimum=span)


def _timer(setup: Setup, **bounds: str | int) -> None:
    setup.tcp["timer"] = {setup.timer: {**setup.tcp.get("timer", {}).get(setup.timer, {}), **bounds}}


def _retries(sysctl: str, key: str, least: int, most: int) -> Callable[[Setup, str], None]:
    """A count by which Linux's timer gives up; no other one does."""

    def take(setup: Setup, text: str) -> None:
        if not least <= (count := int(text, 0)) <= most:
            raise ValueError
        if setup.timer == "linux":
            _timer(setup, **{key: count})
        else:
            _ignore(setup, f"{sysctl}={text} (this timer never gives up)")

    return take


def _synack_retries(setup: Setup, text: str) -> None:
    # Linux takes any byte; the timer of a SYN, which is that of a SYN-ACK here, has the bounds of tcp_syn_retries.
    if not 1 <= int(text, 0) <= 127:
        raise ValueError
    setup.host.synack_retries = int(text, 0)


def _receive_buffers(setup: Setup, text: str) -> None:
    sizes = [int(word) for word in text.split()]
    setup.host.most_buffer = sizes[-1]
    if len(sizes) > 1:
        setup.host.first_buffer = sizes[1]


def control(setup: Setup, name: str) -> None:
    """Set the congestion control, unless the user gave another.

    Raises:
        LacksError: varicap has none of that name.
    """
    if setup.given & {"congestion", "control"}:
        return
    try:
        Sender(congestion=name)
    except ScenarioError:
        raise LacksError(f"the congestion control {name}") from None
    setup.tcp["congestion"] = name


def _asks(setup: Setup, key: str, text: str) -> None:
    """A setting that asks for behaviour that a connection may not have, unless it is zero."""
    behaviour = _BEHAVIOUR[key]
    if int(text, 0) == 0:
        setup.host.asked.pop(behaviour, None)
        setup.off.add(behaviour)
        if behaviour not in setup.has:
            return
        given = "dsack" if behaviour == D_SACK else "recovery"
        if given in setup.given:
            _ignore(setup, f"{key}={text} ({given} is given)")
        elif behaviour == RACK:
            setup.host.unwanted[behaviour] = f"{key}={text}"
        elif behaviour == FACK:
            _ignore(setup, f"{key}={text} (part of RACK)")
    else:
        setup.host.unwanted.pop(behaviour, None)
        setup.host.asked[behaviour] = f"{key}={text}"
        setup.off.discard(behaviour)
        if behaviour not in setup.has:
            _ignore(setup, f"{key}={text} (no {behaviour})")


_MOST_ECN = 5


def _ecn(setup: Setup, text: str) -> None:
    if not 0 <= int(text, 0) <= _MOST_ECN:
        raise ValueError
    setup.host.ecn = int(text, 0)


def _ecn_option(setup: Setup, text: str) -> None:
    if int(text, 0) not in {0, 2, 3}:
        # Sparingly: the wait for acknowledgements that say more is not there.
        raise ValueError
    setup.host.ecn_option = int(text, 0)


_SYSCTLS: dict[str, Callable[[Setup, str], None]] = {
    "tcp_congestion_control": control,
    "tcp_slow_start_after_idle": _tcp("restart_after_idle", _flag),
    "tcp_reordering": _tcp("duplicate_acks", int),
    "tcp_rto_min_us": lambda setup, text: _rto_min(setup, f"{int(text)} us"),
    "tcp_retries2": _retries("tcp_retries2", "retries2", 0, 255),
    "tcp_syn_retries": _retries("tcp_syn_retries", "syn_retries", 1, 127),
    "tcp_syn_linear_timeouts": _retries("tcp_syn_linear_timeouts", "linear_syn_timeouts", 0, 127),
    "tcp_synack_retries": _synack_retries,
    "tcp_sack": _host("sack", _flag),
    "tcp_timestamps": _host("timestamps", _flag),
    "tcp_window_scaling": _host("window_scaling", _flag),
    "tcp_ecn": _ecn,
    "tcp_ecn_option": _ecn_option,
    "tcp_ecn_fallback": _host("ecn_fallback", _flag),
    "tcp_rmem": _receive_buffers,
    "tcp_pacing_ss_ratio": _host("slow_start_percent", _positive),
    "tcp_pacing_ca_ratio": _host("avoidance_percent", _positive),
    "tcp_min_tso_segs": _host("least_offload", _positive),
}
_PLACES_OF_A_ROUTE = {"dev", "via", "src", "proto", "protocol", "scope", "table", "metric", "onlink"}
_NO_SEND_BUFFER = "no send buffer that fills"
_NO_FAST_OPEN = "no fast open, which is a skip"
_WITHOUT_MEANING = {
    **dict.fromkeys(("tcp_tso_win_divisor", "tcp_autocorking"), "segments leave one by one"),
    **dict.fromkeys(("tcp_wmem", "tcp_notsent_lowat"), _NO_SEND_BUFFER),
    **dict.fromkeys(("tcp_fastopen", "tcp_fastopen_key", "tcp_fastopen_blackhole_timeout_sec"), _NO_FAST_OPEN),
    "tcp_ecn_option_beacon": "the AccECN option goes with each segment",
    "tcp_syncookies": "no backlog that overflows",
    "tcp_no_metrics_save": "no metrics are kept",
}
"""Settings whose effect no dialogue can show, and why."""


def apply(setup: Setup, command: str, folder: Path) -> None:
    """Read a shell command: settings go into `setup`, scripts beside the dialogue are read on."""
    _read(setup, command, folder, depth=0)


def _read(setup: Setup, command: str, folder: Path, depth: int) -> None:
    for words in _lines(command):
        name = words[0].rsplit("/", 1)[-1]
        if name == "sysctl":
            if any(re.fullmatch("-[a-z]*[pf]|--(load|system).*", word) for word in words[1:]):
                raise LacksError(f"the settings of a file ({' '.join(words)})")
            _settings(setup, [word for word in words[1:] if "=" in word])
        elif name == "set_sysctls.py":
            _settings(setup, words[1:])
        elif name == "echo" and words[-1].startswith("/proc/sys/"):
            _settings(setup, [f"{words[-1]}={' '.join(words[1:-1])}"])
        elif name == "ip" and ("route" in words[:3] or "mtu" in words):
            _route(setup, words)
        elif name == "tc":
            _queue(setup, words)
        elif name in {"iptables", "ip6tables", "nft"}:
            raise LacksError(f"a filter of the host ({' '.join(words)})")
        elif name.endswith(".sh") and not name.startswith("sysctl_restore"):
            if depth == _DEEPEST:
                raise LacksError(f"files of commands more than {_DEEPEST} deep ({name})")
            _script(setup, folder / words[0], depth)
        elif not name.startswith("sysctl_restore"):
            _ignore(setup, " ".join(words[:3]))


def _queue(setup: Setup, words: list[str]) -> None:
    """The queue of the host is `fq`, or one that holds nothing back."""
    is_gone = words[2:3] in (["del"], ["delete"])
    if not is_gone and words[-1] != "pfifo" and words[-2:] != ["root", "fq"]:
        raise LacksError(f"a queue of the host ({' '.join(words)})")
    had_fq, setup.host.has_fq = setup.host.has_fq, not is_gone and words[-1] == "fq"
    if not had_fq and not setup.host.has_fq:
        _ignore(setup, " ".join(words[:3]))


def _lines(command: str) -> Iterator[list[str]]:
    """The commands of a shell text, each as its words; what the shell would expand stays as it is."""
    text = re.sub(r"\\\n", " ", command[:_LONGEST])
    text = re.sub(r">\s*(/proc/sys/)", r" \1", text)
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
        text = read_whole(path, MOST_OF_A_SCRIPT).decode(errors="replace")
    except UnreadableError as error:
        raise LacksError(f"the commands of {path.name} ({error})") from None
    _read(setup, text, path.parent, depth + 1)


def _settings(setup: Setup, assignments: list[str]) -> None:
    for assignment in assignments:
        path, _, value = assignment.partition("=")
        key = re.split(r"[./]", path)[-1]
        value = re.sub(r"\$\(\((.*?)\)\)", _product, value).strip()
        name = path.removeprefix("/proc/sys/").replace("/", ".")
        if re.match(r"net\.inet6?\.|kern\.", name):
            raise LacksError(f"the setting {name}={value} of FreeBSD")
        if not re.search("(^|[./])ipv[46][./]", path):
            # Limits of the whole machine, such as net.core.rmem_max.
            _ignore(setup, name)
        elif key in _WITHOUT_MEANING:
            _ignore(setup, f"{key} ({_WITHOUT_MEANING[key]})")
        else:
            try:
                if key in _BEHAVIOUR:
                    _asks(setup, key, value)
                else:
                    _SYSCTLS[key](setup, value)
            except (ValueError, LookupError):
                raise LacksError(f"the setting {key}={value}") from None


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
    at = words.index("route") + 2 if "route" in words else len(words)
    # What comes first is the destination.
    rest = [word for word in words[at:] if word != "lock"]
    if "route" not in words:
        raise LacksError(f"another MTU ({' '.join(words)})")
    if not {"add", "change", "replace", "append"} & set(words[at - 1 : at]):
        _ignore(setup, " ".join(words[:3]))
        return
    for word, value in zip(rest[1::2], [*rest[2::2], ""], strict=False):
        try:
            if word not in _PLACES_OF_A_ROUTE:
                known[word](value)
        except (ValueError, KeyError):
            raise LacksError(f"ip route {word} {value}".rstrip()) from None


def _ignore(setup: Setup, what: str) -> None:
    if what not in setup.ignored:
        setup.ignored.append(what)
