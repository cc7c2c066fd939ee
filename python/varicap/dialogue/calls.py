"""What the arguments of a system call of a script say."""

import errno
from collections.abc import Sequence

from varicap.dialogue.script import ANYTHING, Call, LacksError, Named, Value, shown

_MOST_DATA = 1 << 40

_SAME = {"EWOULDBLOCK": "EAGAIN", "EDEADLOCK": "EDEADLK", "ENOTSUP": "EOPNOTSUPP"}
"""Names of the same number in Linux, by which packetdrill compares."""


def error_named(name: str | None) -> str | None:
    """An error by the name that it has here."""
    return None if name is None else _SAME.get(name, name)


def errno_named(wanted: Value) -> Value:
    """The name of an error that a script gives by its name or its number; 0 is none."""
    if isinstance(wanted, int):
        return errno.errorcode.get(wanted, wanted) if wanted else 0
    return _SAME.get(wanted, wanted) if isinstance(wanted, str) else wanted


def status_flags(call: Call) -> set[str]:
    """The flags that ``fcntl`` sets."""
    return {flag for argument in call.arguments[2:] for flag in shown(argument).split("|")}


def flags_of(call: Call) -> set[str]:
    """The flags ``MSG_...`` of a call that sends or receives."""
    at = 2 if call.name == "sendmsg" else 3
    text = shown(call.arguments[at]) if len(call.arguments) > at and call.name not in {"read", "write"} else "0"
    return set(text.split("|"))


def message_parts(call: Call) -> list[int] | None:
    """The sizes of the parts of a message, if it is data alone: ``{msg_name(...)=..., msg_iov(1)=[{..., 9}]}``."""
    fields = call.arguments[1] if len(call.arguments) > 1 else ()
    if isinstance(fields, str) or not isinstance(fields, Sequence):
        return None
    parts: list[int] = []
    for field in fields:
        if not isinstance(field, Named) or field.name not in {"msg_name", "msg_iov", "msg_flags"}:
            return None
        if field.name == "msg_iov":
            vectors = field.value if isinstance(field.value, Sequence) and not isinstance(field.value, str) else ()
            for vector in vectors:
                is_plain = isinstance(vector, tuple) and len(vector) == 2 and vector[0] is ANYTHING
                if not is_plain or not isinstance(vector[1], int) or not 0 <= vector[1] <= _MOST_DATA:  # type: ignore[index]
                    return None
                parts.append(vector[1])  # type: ignore[index]
    return parts or None


def message_size(call: Call) -> int:
    """The size of a message [B]."""
    return sum(message_parts(call) or [])


def descriptor(call: Call) -> int:
    """The file descriptor that a call is about; -1: none."""
    first = call.arguments[0]
    return first if isinstance(first, int) else -1


def size_of(value: Value) -> int:
    """The size that a call names [B]."""
    if not isinstance(value, int) or not 0 <= value <= _MOST_DATA:
        raise LacksError(f"a call with the size {shown(value)}")
    return value


def first_of_one(value: Value) -> Value:
    """The value of ``[1]``, or of a plain argument."""
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1:
        return value[0]
    return value.value if isinstance(value, Named) else value
