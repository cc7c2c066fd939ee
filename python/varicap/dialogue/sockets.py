"""System calls of a script on the simulated host: those that open, feed and close a connection."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from varicap.dialogue.calls import (
    descriptor,
    errno_named,
    error_named,
    first_of_one,
    flags_of,
    message_parts,
    message_size,
    size_of,
    status_flags,
)
from varicap.dialogue.commands import Setup, control, copied, is_linux, merged, nagle
from varicap.dialogue.connection import Connection
from varicap.dialogue.records import Sent
from varicap.dialogue.script import ANYTHING, Call, LacksError, Packet, Value, Word, shown

_ANYTHING = {
    *("SO_REUSEADDR", "SO_REUSEPORT", "SO_PRIORITY", "SO_MARK"),
    *("IP_TOS", "IP_MTU_DISCOVER", "IP_FREEBIND"),
}
"""Options without effect: the simulated sender has no routes."""

_LACKED_OPTIONS = {
    "SO_ZEROCOPY": "MSG_ZEROCOPY",
    "SO_KEEPALIVE": "keepalive",
    "TCP_KEEPIDLE": "keepalive",
    "TCP_KEEPINTVL": "keepalive",
    "TCP_KEEPCNT": "keepalive",
    "TCP_FASTOPEN": "TCP fast open",
    "TCP_FASTOPEN_CONNECT": "TCP fast open",
    "TCP_FASTOPEN_KEY": "TCP fast open",
    "TCP_FASTOPEN_NO_COOKIE": "TCP fast open",
    "TCP_INQ": "TCP_INQ",
}
_SET_OPTIONS = {"SO_RCVBUF", "SO_SNDBUF", "TCP_MAXSEG", "TCP_CONGESTION", "TCP_NODELAY", "TCP_CORK"} | _ANYTHING
_READ_OPTIONS = {"TCP_MAXSEG", "TCP_CONGESTION", "SO_ERROR", "SO_RCVBUF"}
_PLAIN_FLAGS = {"0", "MSG_NOSIGNAL", "MSG_DONTWAIT"}
_READ_FLAGS = _PLAIN_FLAGS | {"MSG_PEEK", "MSG_TRUNC", "MSG_WAITALL"}
_LACKED_FLAGS = {"MSG_FASTOPEN": "TCP fast open", "MSG_OOB": "urgent data"}
_NON_BLOCKING = {"O_NONBLOCK", "2048", "2050"}
_STATUS_FLAGS = {"O_RDWR", "0", "2"} | _NON_BLOCKING
_SEND_BUFFER = "a send buffer that fills"
_SHUTDOWNS = {
    **dict.fromkeys(("SHUT_RD", "0"), ("reading",)),
    **dict.fromkeys(("SHUT_WR", "1"), ("writing",)),
    **dict.fromkeys(("SHUT_RDWR", "2"), ("reading", "writing")),
}
"""The halves that a shutdown ends."""
_LEAST_BUFFER = 2304
"""Linux's SOCK_MIN_RCVBUF [B]."""


@dataclass
class Socket:
    """A file descriptor of the script."""

    is_listening: bool = False
    is_blocking: bool = True
    connection: Connection | None = None


class WouldBlockError(Exception):
    """A call that does not return yet."""


class OtherValueError(Exception):
    """A call that gives another value than the script says: its name, the value, and what was expected."""

    def __init__(self, name: str, found: Value, wanted: Value) -> None:
        super().__init__(name)
        self.name, self.found, self.wanted = name, found, wanted


Result = tuple[int, str | None]
"""What a call returns, and the name of the error."""


class Sockets:
    """The sockets of the host, and the connections that packets of the script belong to."""

    def __init__(self, setup: Setup, given: Mapping[str, Any], emit: Callable[[Sent], None]) -> None:
        self.setup, self.given, self.emit = setup, given, emit
        self.sockets: dict[int, Socket] = {}
        self.accepting: list[Connection] = []
        self.connection: Connection | None = None
        self.send_buffer: int | None = None
        """What the script gave as ``SO_SNDBUF`` [B]; the simulated sender has none that fills."""

    @property
    def is_open(self) -> bool:
        """Whether there is a connection that is not over."""
        return self.connection is not None and self.connection.state not in {"CLOSE", "TIME_WAIT"}

    @property
    def has_linux_buffer(self) -> bool:
        """Whether the receive buffer has the size that the script gives it, which is none of data alone in Linux."""
        return is_linux(self.given) and "receive_window" not in self.setup.given

    # Calls.

    def call(self, now: float, call: Call) -> Result:
        """Do a call.

        Raises:
            WouldBlockError: it does not return yet.
            OtherValueError: it returns, with another value than the script says.
            LacksError: it needs what varicap does not have.
        """
        action, least = _CALLS[call.name]
        if len(call.arguments) < least:
            raise LacksError(f"{call.name} with fewer than {least} arguments")
        if call.name != "socket" and descriptor(call) not in self.sockets:
            return -1, "EBADF"
        return action(self, now, call)

    def _socket(self, now: float, call: Call) -> Result:
        descriptor = call.result if isinstance(call.result, int) else 3
        if descriptor < 0 or descriptor in self.sockets:
            return max(self.sockets, default=2) + 1, None
        is_blocking = all("SOCK_NONBLOCK" not in shown(argument).split("|") for argument in call.arguments)
        self.sockets[descriptor] = Socket(is_blocking=is_blocking)
        return descriptor, None

    def _bind(self, now: float, call: Call) -> Result:
        self._of(call)
        return 0, None

    def _listen(self, now: float, call: Call) -> Result:
        self._of(call).is_listening = True
        return 0, None

    def _accept(self, now: float, call: Call) -> Result:
        listening = self._of(call)
        ready = [each for each in self.accepting if each.state != "SYN_RECV" and not each.is_forgotten]
        if not ready:
            return self._wait(listening)
        self.accepting.remove(ready[0])
        descriptor = call.result if isinstance(call.result, int) and call.result >= 0 else 4
        if descriptor in self.sockets:
            return max(self.sockets) + 1, None
        self.sockets[descriptor] = Socket(connection=ready[0])
        return descriptor, None

    def _connect(self, now: float, call: Call) -> Result:
        socket = self._of(call)
        if socket.connection is None:
            self._only_one()
            self.connection = socket.connection = Connection(
                copied(self.setup.host), merged(self.setup, self.given), now, self.emit
            )
            if not socket.is_blocking:
                return -1, "EINPROGRESS"
        connection = socket.connection
        if connection.state == "SYN_SENT":
            return self._wait(socket) if socket.is_blocking else (-1, "EALREADY")
        return (0, None) if connection.error is None else (-1, connection.error)

    def _write(self, now: float, call: Call) -> Result:
        return self._send_data(now, self._of(call), size_of(call.arguments[2]), is_more="MSG_MORE" in flags_of(call))

    def _sendmsg(self, now: float, call: Call) -> Result:
        return self._send_data(now, self._of(call), message_size(call), is_more="MSG_MORE" in flags_of(call))

    def _read(self, now: float, call: Call) -> Result:
        socket = self._of(call)
        connection = socket.connection
        if connection is None or connection.state in {"SYN_SENT", "SYN_RECV"}:
            return -1, "ENOTCONN"
        flags, size = flags_of(call), size_of(call.arguments[2])
        may_wait = socket.is_blocking and "MSG_DONTWAIT" not in flags
        is_ended = connection.theirs.done or connection.is_read_shut
        is_over = is_ended or connection.error is not None or connection.state == "CLOSE"
        if "MSG_WAITALL" in flags and may_wait and connection.unread < size and not is_over:
            raise WouldBlockError
        if connection.unread > 0:
            return min(size, connection.unread) if "MSG_PEEK" in flags else connection.read(now, size), None
        if is_ended:
            # tcp_recvmsg_locked: the end of the data (SOCK_DONE) comes before an error.
            return 0, None
        if connection.error is not None:
            error, connection.error = connection.error, None
            return -1, error
        if connection.state == "CLOSE":
            return 0, None
        if may_wait:
            raise WouldBlockError
        return -1, "EAGAIN"

    def _close(self, now: float, call: Call) -> Result:
        socket = self._of(call)
        connection = socket.connection
        self.sockets = {key: each for key, each in self.sockets.items() if each is not socket}
        if socket.is_listening:
            self._stop_listening(now)
        if connection is not None:
            if connection.unread and connection.state not in {"CLOSE", "TIME_WAIT"}:
                connection.abort(now)
                return 0, None
            connection.close_writing(now)
            connection.is_read_closed = connection.is_read_shut = True
        return 0, None

    def _stop_listening(self, now: float) -> None:
        """Nobody accepts what waits to be accepted: what is open is reset, and the rest forgotten (Linux)."""
        for connection in self.accepting:
            if connection.state == "SYN_RECV":
                connection.state = "CLOSE"
            elif connection.state not in {"CLOSE", "TIME_WAIT"}:
                connection.abort(now)
        self.accepting = []

    def _shutdown(self, now: float, call: Call) -> Result:
        connection, halves = self._of(call).connection, _SHUTDOWNS[shown(call.arguments[1])]
        if connection is None:
            return -1, "ENOTCONN"
        connection.is_read_shut |= "reading" in halves
        if "writing" in halves:
            connection.close_writing(now)
        return 0, None

    def _fcntl(self, now: float, call: Call) -> Result:
        socket = self._of(call)
        if call.arguments[1] == Word("F_GETFL"):
            return 2 if socket.is_blocking else 2 | 0x800, None
        socket.is_blocking = not status_flags(call) & _NON_BLOCKING
        return 0, None

    def _setsockopt(self, now: float, call: Call) -> Result:
        socket, name = self._of(call), shown(call.arguments[2])
        value = first_of_one(call.arguments[3])
        match name:
            case "SO_RCVBUF" if isinstance(value, int):
                self._before_data(socket, name)
                if "receive_window" not in self.setup.given:
                    self.setup.host.buffer = max(value, 1)
            case "SO_SNDBUF" if isinstance(value, int):
                # Linux takes twice as much as it is asked for.
                self.send_buffer = value * (2 if is_linux(self.given) else 1)
            case "TCP_MAXSEG" if isinstance(value, int):
                self._before_data(socket, name)
                if not 88 <= value <= 32767:
                    return -1, "EINVAL"
                if "mss" not in self.setup.given:
                    self.setup.host.mss = value
            case "TCP_CONGESTION" if isinstance(value, str | Word):
                named = value if isinstance(value, str) else value.name
                if socket.connection is None:
                    control(self.setup, named)
                elif not self.setup.given & {"congestion", "control"}:
                    socket.connection.change(now, "congestion", named)
            case "TCP_CORK" if isinstance(value, int):
                if socket.connection is None:
                    raise LacksError("TCP_CORK before a connection")
                socket.connection.cork(now, value != 0)
            case "TCP_NODELAY" if isinstance(value, int):
                self._no_delay(now, socket, value != 0)
            case _ if name not in _ANYTHING:
                raise LacksError(f"{name} with the value {shown(value)}")
        return 0, None

    def _getsockopt(self, now: float, call: Call) -> Result:
        socket, name, expected = self._of(call), shown(call.arguments[2]), first_of_one(call.arguments[3])
        connection = socket.connection
        wanted: Value = shown(expected) if isinstance(expected, Word) else expected
        found: Value
        if name == "SO_ERROR":
            found, wanted = self._error(connection), errno_named(wanted)
        elif name == "SO_RCVBUF":
            found = self._receive_buffer(connection)
        elif name == "TCP_MAXSEG":
            found = self.setup.host.mss if connection is None else connection.peer.mss
        else:
            settings = merged(self.setup, self.given) if connection is None else connection.tcp
            if "control" in settings:
                raise LacksError("the name of a congestion control in Python")
            found = str(settings.get("congestion", "reno"))
        if expected is not ANYTHING and found != wanted:
            raise OtherValueError(name, found, expected)
        return 0, None

    def _receive_buffer(self, connection: Connection | None) -> int:
        """The size of the receive buffer, twice what was asked for under Linux, as it is read there [B]."""
        host, as_linux = self.setup.host if connection is None else connection.host, is_linux(self.given)
        if as_linux and "receive_window" in self.setup.given:
            raise LacksError("SO_RCVBUF where `receive_window` is given, which is not the memory of Linux's buffer")
        if host.buffer is not None:
            return max(2 * host.buffer, _LEAST_BUFFER) if as_linux else host.buffer
        if not as_linux:
            raise LacksError("the size of a receive buffer that has none")
        if connection is not None and connection.receiver.delivered:
            raise LacksError("the size of a receive buffer that grows with what is read")
        return host.first_buffer

    @staticmethod
    def _error(connection: Connection | None) -> str | int:
        """The error of a socket, which is read once."""
        if connection is None or connection.error is None:
            return 0
        found, connection.error = connection.error, None
        return found

    def _no_delay(self, now: float, socket: Socket, is_on: bool) -> None:
        if "nagle" in self.setup.given:
            return
        if socket.connection is not None:
            socket.connection.set_no_delay(now, is_on)
        else:
            self.setup.tcp["nagle"] = "off" if is_on else nagle(self.given)

    # Packets.

    def push(self, now: float, packet: Packet) -> None:
        """A packet of the script arrives."""
        connection = self.connection
        is_syn = "S" in packet.flags and "." not in packet.flags
        is_wanted = is_syn and any(socket.is_listening for socket in self.sockets.values())
        if is_wanted and (connection is None or connection.state == "CLOSE"):
            self._only_one()
            self.connection = Connection(
                copied(self.setup.host), merged(self.setup, self.given), now, self.emit, packet
            )
            self.accepting.append(self.connection)
            return
        if connection is not None and connection.state != "CLOSE":
            was_accepted = connection.state != "SYN_RECV"
            connection.push(now, packet)
            if connection.state == "CLOSE" and not was_accepted and connection in self.accepting:
                self.accepting.remove(connection)
        elif "R" not in packet.flags:
            # RFC 9293 §3.10.7.1: nobody is there.
            if "." in packet.flags:
                reset = Packet(False, "R", packet.ack or 0, 0, window=0, ecn="noecn")
            else:
                end = packet.end + ("S" in packet.flags) + ("F" in packet.flags)
                reset = Packet(False, "R.", 0, 0, end, window=0, ecn="noecn")
            self.emit(Sent(now, reset))

    # Helpers.

    def _of(self, call: Call) -> Socket:
        return self.sockets[descriptor(call)]

    def _only_one(self) -> None:
        if self.is_open:
            raise LacksError("two connections at once")

    @staticmethod
    def _wait(socket: Socket) -> Result:
        if socket.is_blocking:
            raise WouldBlockError
        return -1, "EAGAIN"

    @staticmethod
    def _before_data(socket: Socket, name: str) -> None:
        if socket.connection is not None:
            raise LacksError(f"{name} of an open connection")

    def _send_data(self, now: float, socket: Socket, size: int, *, is_more: bool) -> Result:
        connection = socket.connection
        if connection is None or connection.state == "SYN_SENT":
            return (-1, "ENOTCONN") if connection is None else self._wait(socket)
        if connection.error is not None:
            error, connection.error = connection.error, None
            return -1, error
        if connection.is_closing or connection.state == "CLOSE":
            return -1, "EPIPE"
        if self.send_buffer is not None and connection.written - connection.una + size > self.send_buffer:
            raise LacksError(_SEND_BUFFER)
        connection.write(now, size, is_more=is_more)
        return size, None


# Each call, and the least number of its arguments.
_CALLS: dict[str, tuple[Callable[[Sockets, float, Call], Result], int]] = {
    "socket": (Sockets._socket, 0),
    "bind": (Sockets._bind, 1),
    "listen": (Sockets._listen, 1),
    "accept": (Sockets._accept, 1),
    "connect": (Sockets._connect, 1),
    "write": (Sockets._write, 3),
    "send": (Sockets._write, 3),
    "sendto": (Sockets._write, 3),
    "sendmsg": (Sockets._sendmsg, 3),
    "read": (Sockets._read, 3),
    "recv": (Sockets._read, 3),
    "recvfrom": (Sockets._read, 3),
    "close": (Sockets._close, 1),
    "shutdown": (Sockets._shutdown, 2),
    "fcntl": (Sockets._fcntl, 2),
    "setsockopt": (Sockets._setsockopt, 4),
    "getsockopt": (Sockets._getsockopt, 4),
}


def lacks(call: Call) -> str | None:
    """What a call needs that varicap does not have."""
    if call.name not in _CALLS:
        return f"the call {call.name}"
    names = [shown(argument) for argument in call.arguments]
    if call.name == "socket" and any("INET6" in name or "DGRAM" in name for name in names):
        return "IPv6" if any("INET6" in name for name in names) else "UDP"
    if call.error == "EFAULT":
        return "memory that is not there (EFAULT)"
    if call.name in {"setsockopt", "getsockopt"}:
        return _option_lacks(call, names)
    if (
        call.name == "fcntl"
        and names[1:2] != ["F_GETFL"]
        and not (names[1:2] == ["F_SETFL"] and status_flags(call) <= _STATUS_FLAGS)
    ):
        return f"fcntl with {', '.join(names[1:])}"
    if call.name == "shutdown" and not set(names[1:]) <= set(_SHUTDOWNS):
        return f"shutdown with {', '.join(names[1:])}"
    if call.name in {"write", "send", "sendto", "sendmsg"}:
        return _send_lacks(call)
    if call.name in {"read", "recv", "recvfrom"} and any(each is not ANYTHING for each in call.arguments[1:2]):
        return "the content of data that is read"
    if call.name in {"recv", "recvfrom"} and not flags_of(call) <= _READ_FLAGS:
        return f"{call.name} with {'|'.join(sorted(flags_of(call) - _READ_FLAGS))}"
    return None


def _option_lacks(call: Call, names: Sequence[str]) -> str | None:
    name = names[2] if len(names) > 2 else "nothing"
    if name in _LACKED_OPTIONS:
        return _LACKED_OPTIONS[name]
    if name not in (_READ_OPTIONS if call.name == "getsockopt" else _SET_OPTIONS):
        return f"the socket option {name}" if call.name == "setsockopt" else f"reading the socket option {name}"
    if call.result != 0:
        return f"a {name} that fails"
    return None


def _send_lacks(call: Call) -> str | None:
    for flag in sorted(flags_of(call) - _PLAIN_FLAGS - {"MSG_MORE"}):
        return _LACKED_FLAGS.get(flag, flag if flag.startswith("MSG_") else f"{call.name} with the flags {flag}")
    if call.name == "sendmsg" and message_parts(call) is None:
        return "a message with more than data"
    asked = message_size(call) if call.name == "sendmsg" else call.arguments[2] if len(call.arguments) > 2 else None
    is_short = isinstance(call.result, int) and isinstance(asked, int) and 0 <= call.result < asked
    if call.until is not None or is_short or error_named(call.error) == "EAGAIN":
        return _SEND_BUFFER
    return None
