"""Whether what was sent is what the script expects."""

from collections.abc import Sequence
from dataclasses import replace

from varicap.dialogue.script import LacksError, Options, Packet

_ECN_OF = {"ect01": {"ect0", "ect1"}}


def whole(pieces: Sequence[Packet]) -> Packet:
    """Segments that follow each other as the one that a host with segmentation offload would have handed over."""
    first, last = pieces[0], pieces[-1]
    flags = "".join(flag for flag in "SFREWA." if any(flag in piece.flags for piece in pieces))
    return replace(
        last, flags=flags, start=first.start, length=last.end - first.start, ecn=first.ecn, is_counted=first.is_counted
    )


def disagreement(first: Packet, piece: Packet) -> str | None:
    """Why a segment cannot be a later part of the one that begins with `first`, if it cannot.

    Offload repeats the header of the whole in each part; CWR is left to the first alone (RFC 3168 §6.1.2), unless it is
    part of a count.
    """
    same = "EWA" if first.is_counted else "EA"
    is_like = all((flag in piece.flags) == (flag in first.flags) for flag in same)
    if not is_like or ("W" in piece.flags and not first.is_counted):
        return f"flags {piece.flags} at {piece.start}, after {first.flags} at {first.start}"
    if piece.ack != first.ack:
        return f"ack {piece.ack} at {piece.start}, after {first.ack} at {first.start}"
    if piece.ecn != first.ecn:
        return f"[{piece.ecn}] at {piece.start}, after [{first.ecn}] at {first.start}"
    return None


def differences(expected: Packet, sent: Packet) -> list[str]:
    """How a segment that was sent differs from the expected one; PSH, padding and the order of options do not count.

    Raises:
        LacksError: the script expects a window, and the receive buffer has no size.
    """
    found = []
    if (sent.start, sent.length) != (expected.start, expected.length):
        found.append(f"data {data(sent)}, not {data(expected)}")
    wanted, had = (packet.flags.replace("P", "") for packet in (expected, sent))
    if wanted != had:
        found.append(f"flags {had or '-'}, not {wanted or '-'}")
    if expected.ack != sent.ack:
        found.append(f"ack {sent.ack}, not {expected.ack}")
    if expected.ecn is not None and sent.ecn not in _ECN_OF.get(expected.ecn, {expected.ecn}):
        found.append(f"[{sent.ecn}], not [{expected.ecn}]")
    if expected.options is not None:
        found += _options(expected.options, sent.options or Options())
    if expected.window is not None and expected.window != sent.window:
        if sent.window is None and not found:
            raise LacksError("the window of a receive buffer that tunes itself (SO_RCVBUF sets its size)")
        if sent.window is not None:
            found.append(f"win {sent.window}, not {expected.window}")
    return found


def _options(expected: Options, sent: Options) -> list[str]:
    found = []
    named = (
        ("mss", expected.mss, sent.mss),
        ("wscale", expected.window_scale, sent.window_scale),
        ("sackOK", expected.sack_ok, sent.sack_ok),
        ("TS", expected.stamp is not None, sent.stamp is not None),
        ("sack", _blocks(expected), _blocks(sent)),
        ("ECN", _counts(expected), _counts(sent)),
    )
    for name, wanted, had in named:
        if wanted != had:
            found.append(f"{name} {_said(had)}, not {_said(wanted)}")
    if expected.stamp and sent.stamp and expected.stamp.echo != sent.stamp.echo:
        found.append(f"ecr {sent.stamp.echo}, not {expected.stamp.echo}")
    return found


def _said(value: object) -> str:
    return {None: "missing", False: "missing", True: "there", "": "missing"}.get(value, str(value))  # type: ignore[call-overload,no-any-return]


def data(packet: Packet) -> str:
    """The data of a segment as scripts write it."""
    return f"{packet.start}:{packet.end}({packet.length})"


def _blocks(options: Options) -> str:
    return " ".join(f"{start}:{end}" for start, end in options.sack)


def _counts(options: Options) -> str:
    return " ".join(f"{name} {value}" for name, value in options.counts)
