"""Playing a script against the simulated host: who does what, when, and where the two first differ."""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from varicap.dialogue import asserts, calls, commands, compare, sockets
from varicap.dialogue.info import CONSTANTS, NAMES, info
from varicap.dialogue.outcome import Dialogue, Row, Verdict
from varicap.dialogue.records import Sent
from varicap.dialogue.script import (
    Call,
    Code,
    Command,
    Event,
    Lack,
    LacksError,
    Packet,
    Script,
    ScriptError,
    Timing,
    shown,
)
from varicap.interface import ScenarioError, left
from varicap.tcp import Sender

_MOST_SEGMENTS = 100_000
_PATIENCE_S = 5.0
"""How long to look for what was sent too late, for the report."""
_LONGEST_WAIT_S = 3600.0
"""For a packet that may come at any time."""
_SHOWN_AFTER = 4
_HEADERS = 40
"""Of IPv4 and TCP without options, which an MSS leaves out of the MTU [B]."""
_TICK_US = 1000
"""Of the clock in the timestamps of a simulated host."""


class _DiffersError(Exception):
    """The first difference: what it is, and what there was instead."""

    def __init__(
        self,
        what: str,
        actual: str = "",
        at: float | None = None,
        *,
        taken: int = 0,
        where: tuple[int, str] | None = None,
    ) -> None:
        super().__init__(what)
        self.what, self.actual, self.at = what, actual, at
        self.taken = taken
        """How many of the segments that wait to be looked at are in `actual`."""
        self.where = where
        """Line and text in the script, if they are not those of the event."""


def play(script: Script, folder: Path, given: Mapping[str, Any], tolerance_s: float | None = None) -> Dialogue:
    """Play a script with the ``tcp`` settings `given`; files that its commands name are looked up from `folder`.

    The tolerance of times is the script's if none is given.

    Raises:
        ScriptError: a block of code in it, or an option, cannot be read.
        ScenarioError: a setting is wrong.
    """
    return _Player(script, folder, given, tolerance_s).outcome()


class _Blocked:
    """A call that has not returned."""

    def __init__(self, event: Event, call: Call, until: float, tolerance: float, row: int) -> None:
        self.event, self.call, self.until, self.tolerance, self.row = event, call, until, tolerance, row
        self.deadline = until + tolerance + 1e-9


class _Player:
    def __init__(self, script: Script, folder: Path, given: Mapping[str, Any], tolerance_s: float | None) -> None:
        self.script, self.folder, self.all_given = script, folder, dict(given)
        asked = _number(script, "tolerance_usecs", 4000.0, 0.0, 1e9) / 1e6
        self.tolerance = asked if tolerance_s is None else tolerance_s
        self.share = _number(script, "tolerance_percent", 12.5, 0.0, 100.0) / 1e2
        """Tolerance as a share of the time since the event before."""
        self.is_strict = "strict_segments" in script.options
        self.tick_us = _number(script, "tcp_ts_tick_usecs", 0.0, 0.0, 1e6)
        """A tick of the clock in timestamps; 0: the script does not speak of their values."""
        self.first_stamps: tuple[int, int] | None = None
        self.setup = commands.Setup()
        self.setup.host.mss = int(_number(script, "mtu", 1500, 128, 65535)) - _HEADERS
        self.setup.host.peer_mss = int(_number(script, "mss", 0, 1, 65535))
        commands.with_stack(self.setup, given)
        commands.for_host(self.setup, given)
        self.blocks: dict[int, asserts.Block] = {}
        self.lacks = [*script.lacks, *self._static_lacks()]
        self.queue: deque[Sent] = deque()
        self.sockets = sockets.Sockets(self.setup, {}, self._emit)
        self.rows: list[Row] = []
        self.kept: dict[str, Any] = {}
        self.blocked: _Blocked | None = None
        self.now = self.last_at = 0.0
        self.last: Event | None = None
        self.segments = 0

    def _emit(self, sent: Sent) -> None:
        left()
        self.segments += 1
        if self.segments > _MOST_SEGMENTS:
            raise LacksError(f"more than {_MOST_SEGMENTS} segments")
        self.queue.append(sent)

    # What a script needs.

    def _static_lacks(self) -> list[Lack]:
        """What is missing as far as it shows before anything is played; blocks of code are read on the way."""
        found, assigned = [], set(CONSTANTS)
        if "6" in self.script.options.get("ip_version", ""):
            found.append(Lack(1, "IPv6"))
        if self.tick_us not in {0, _TICK_US}:
            found.append(Lack(1, f"a clock of timestamps with {self.tick_us:g} us to the tick"))
        for event in self.script.events:
            left()
            what = sockets.lacks(event.action) if isinstance(event.action, Call) else None
            line = event.line
            if isinstance(event.action, Code):
                try:
                    block = asserts.Block(event.action, line)
                except asserts.UnknownError as unknown:
                    line, what = unknown.line, unknown.message
                except asserts.CodeError as error:
                    raise ScriptError(self.script.name, error.line, 1, error.message) from None
                else:
                    self.blocks[id(event)] = block
                    found += [Lack(line, name) for name in sorted(block.names() - NAMES - assigned)]
                    assigned |= block.stored()
            if what is not None:
                found.append(Lack(line, what))
        return found

    def _apply(self, command: Command) -> None:
        before, option = (commands.copied(self.setup.host), dict(self.setup.tcp)), self.setup.host.ecn_option
        commands.apply(self.setup, command.text, self.folder)
        # What was given counts more than what the script sets.
        self.sockets.given = commands.for_host(self.setup, self.all_given)
        connection = self.sockets.connection
        if connection is not None and self.setup.host.ecn_option != option:
            connection.set_ecn_option(self.now, self.setup.host.ecn_option)
            before[0].ecn_option = self.setup.host.ecn_option
        if self.sockets.is_open and before != (self.setup.host, self.setup.tcp):
            raise LacksError("settings that change after the connection was opened")
        try:
            Sender(**commands.merged(self.setup, self.sockets.given))
        except ScenarioError as error:
            # What was given is right by itself: it is the script's.
            raise LacksError(f"settings that varicap refuses ({error})") from None

    # The whole.

    def outcome(self) -> Dialogue:
        dialogue = Dialogue(self.script.name, Verdict.PASSED)
        event = None
        try:
            self._apply(self.script.start or Command(""))
            if not self.lacks:
                for event in self.script.events:
                    self._event(event)
                self._let_return()
        except LacksError as lack:
            self.lacks.append(Lack(event.line if event else 1, str(lack)))
        except _DiffersError as difference:
            dialogue.verdict, dialogue.what = Verdict.DIFFERS, difference.what
            dialogue.time_s = self.now if difference.at is None else difference.at
            dialogue.line = self._show_difference(event, difference, dialogue.time_s)
        except asserts.CodeError as error:
            raise ScriptError(self.script.name, error.line, 1, error.message) from None
        if self.lacks:
            dialogue.verdict = Verdict.SKIPPED
        dialogue.lacks = sorted(self.lacks, key=lambda lack: lack.line)
        dialogue.rows, dialogue.ignored, dialogue.unasked = self.rows, self.setup.ignored, len(self.queue)
        return dialogue

    def _event(self, event: Event) -> None:
        left()  # as often as anything happens: what a script may take is asked here, and wherever time goes on
        anchored = _is_anchored(event) and self.last is not None and _is_anchored(self.last)
        offset = 0.0 if event.when.timing is Timing.ABSOLUTE else self.last_at if anchored else self.now
        at = round(offset + event.when.at / 1e6, 9)
        action = event.action
        if isinstance(action, Packet) and not action.is_inbound:
            # Its time may be given as a range, or not at all: what comes after it counts from the actual one.
            self._expect(event, action, at, offset)
            at = self.now
        else:
            self._reach(at)
            self._act(event, at, offset)
        self.last, self.last_at = event, at

    def _act(self, event: Event, at: float, offset: float) -> None:
        match event.action:
            case Packet() as packet:
                self.rows.append(Row(self.now, event.line, str(packet)))
                self.sockets.push(self.now, packet)
                self._wake()
            case Call() as call:
                self._call(event, call, at, offset)
            case Code():
                self._check(event)
            case Command() as command:
                self.rows.append(Row(self.now, event.line, str(command)))
                self._apply(command)

    def _show_difference(self, event: Event | None, difference: _DiffersError, at: float) -> int:
        """Add the row that differs, what was sent beyond it, and what the script goes on with; its line."""
        line, said = difference.where or ((0, "") if event is None else (event.line, str(event.action)))
        connection = self.sockets.connection
        standing = None if connection is None else connection.standing()
        if difference.taken:
            standing = self.queue[difference.taken - 1].standing
        self.rows.append(Row(at, line, said, difference.actual, standing, differs=True))
        for sent in list(self.queue)[difference.taken :][:_SHOWN_AFTER]:
            self.rows.append(Row(sent.at, None, "", _shown(sent.packet), sent.standing))
        later = [other for other in self.script.events if event is not None and other.line > event.line]
        self.rows += [Row(None, other.line, str(other.action)) for other in later[:_SHOWN_AFTER]]
        return line

    # Time.

    def _step(self, limit: float) -> bool:
        """Let the next thing happen that is due until `limit`, if there is one."""
        connection = self.sockets.connection
        due = None if connection is None else connection.poll_at()
        if connection is None or due is None or due > limit:
            return False
        left()
        self.now = max(self.now, due)
        connection.drain(self.now)
        self._wake()
        return True

    def _reach(self, at: float) -> None:
        """Go on to an instant."""
        if at < self.now - self.tolerance:
            raise _DiffersError(f"the script wants this at {at:.6f} s, which has passed")
        while self._step(at):
            pass
        self.now = max(self.now, at)
        if self.blocked is not None and self.now > self.blocked.deadline:
            raise _not_returned(self.blocked)

    # Calls.

    def _call(self, event: Event, call: Call, at: float, offset: float) -> None:
        # As in packetdrill, one call at a time.
        self._let_return()
        self.rows.append(Row(self.now, event.line, str(call)))
        until = self.now if call.until is None else round(offset + call.until / 1e6, 9)
        # packetdrill's is a share of the time that the call takes; here it is also at most that of any other event.
        tolerance = min(self._tolerance_until(at), max(self.tolerance, self.share * (until - at)))
        self.blocked = _Blocked(event, call, until, tolerance, len(self.rows) - 1)
        self._wake()
        if self.blocked is not None and call.until is None:
            self.rows.pop()
            raise _DiffersError("the call does not return", "(blocked)")

    def _let_return(self) -> None:
        """Wait until the call has returned that has not, which nothing but a timer can help any more."""
        while self.blocked is not None and self._step(self.blocked.deadline):
            pass
        if self.blocked is not None:
            self.now = max(self.now, self.blocked.deadline)
            raise _not_returned(self.blocked)

    def _wake(self) -> None:
        """Try the call again that has not returned."""
        blocked = self.blocked
        if blocked is None:
            return
        try:
            value, error = self.sockets.call(self.now, blocked.call)
        except sockets.WouldBlockError:
            return
        except sockets.OtherValueError as other:
            raise _other_value(blocked, other) from None
        self.blocked = None
        call = blocked.call
        returned = f"= {value}{f' {error}' if error else ''}"
        is_expected = call.result == value or not isinstance(call.result, int)
        # As in packetdrill, which looks at no errno that the script does not name.
        is_named = call.error is not None or value != -1
        if not is_expected or (is_named and error != calls.error_named(call.error)):
            wanted = f"{shown(call.result)}{f' {call.error}' if call.error else ''}"
            what = f"{call.name} returns {returned.removeprefix('= ')}, not {wanted}"
        elif abs(self.now - blocked.until) > blocked.tolerance + 1e-9:
            what = f"{call.name} returns at {self.now:.6f} s, not at {blocked.until:.6f} s"
        else:
            before = self.rows[blocked.row]
            self.rows[blocked.row] = Row(before.time_s, before.line, before.script, returned)
            return
        del self.rows[blocked.row]
        raise _DiffersError(what, returned, where=(blocked.event.line, str(call)))

    # Packets that are expected.

    def _tolerance_until(self, at: float) -> float:
        """The tolerance of an event at the time `at`, which depends on how long the event before is ago."""
        return max(self.tolerance, self.share * (at - self.last_at))

    def _expect(self, event: Event, expected: Packet, at: float, offset: float) -> None:
        is_any = event.when.timing is Timing.ANY
        until = at if event.when.until is None else round(offset + event.when.until / 1e6, 9)
        tolerance = self._tolerance_until(at)
        limit = self.now + _LONGEST_WAIT_S if is_any else until + tolerance + 1e-9
        pieces: list[Sent] = []
        while True:
            sent = self._next_sent(limit, pieces)
            packet = sent.packet
            what = self._not_a_part(expected, packet, pieces)
            if what is None and not is_any and not at - tolerance - 1e-9 <= sent.at <= limit:
                what = _timing(at, until, tolerance)
            if what is not None:
                self._show_parts(pieces)
                raise _DiffersError(what, _shown(packet, expected), sent.at, taken=1)
            pieces.append(self.queue.popleft())
            if not expected.length or packet.end >= expected.end:
                break
        whole = compare.whole([piece.packet for piece in pieces])
        actual = _shown(whole, expected)
        if found := compare.differences(expected, whole):
            if found[0].startswith("win ") and self.sockets.has_linux_buffer:
                raise LacksError("the window of Linux's receive buffer, which counts the memory of packets")
            self.queue.extendleft(reversed(pieces))
            raise _DiffersError("; ".join(found), actual, pieces[0].at, taken=len(pieces))
        self._check_stamp(expected, pieces[0], actual)
        self.now = max(self.now, pieces[-1].at)
        self.rows.append(Row(pieces[0].at, event.line, str(expected), actual, pieces[-1].standing))

    def _not_a_part(self, expected: Packet, packet: Packet, before: list[Sent]) -> str | None:
        """Why what was sent after the parts `before` of an expected segment is not its next part, if it is not.

        A segment larger than the MSS is expected as the full segments that make it up, and what is left over.
        """
        if not expected.length and not before:
            return None
        place = before[-1].packet.end if before else expected.start
        connection = self.sockets.connection
        mss = expected.length if connection is None or self.is_strict else connection.segment_size
        if packet.start != place or packet.length != min(mss, expected.end - place):
            return f"data {compare.data(packet)}, not {place}:{expected.end}({expected.end - place})"
        return compare.disagreement(before[0].packet, packet) if before else None

    def _show_parts(self, pieces: list[Sent]) -> None:
        """Before a difference: what was sent of an expected segment until then."""
        if pieces:
            whole = compare.whole([piece.packet for piece in pieces])
            self.rows.append(Row(pieces[0].at, None, "", _shown(whole), pieces[-1].standing))

    def _next_sent(self, limit: float, before: list[Sent]) -> Sent:
        """What was sent next after the parts `before` of the same expected segment, by the time `limit`."""
        while not self.queue and self._step(limit):
            pass
        while self.queue and self._step(min(self.queue[0].at, limit)):
            # A queue of the host holds it back.
            pass
        if self.queue:
            return self.queue[0]
        self._show_parts(before)
        what = f"nothing was sent from {before[-1].packet.end} on" if before else "nothing was sent"
        now = self.now
        # Only for the report: what comes too late.
        then = f"nor in the {_PATIENCE_S:g} s after it"
        try:
            while not self.queue and self._step(limit + _PATIENCE_S):
                pass
        except LacksError as lack:
            then = f"and what comes then needs {lack}"
        if self.queue:
            late = self.queue[0]
            raise _DiffersError(f"{what} until {limit:.6f} s", _shown(late.packet), late.at, taken=1)
        raise _DiffersError(f"{what} until {limit:.6f} s, {then}", at=max(now, limit))

    def _check_stamp(self, expected: Packet, sent: Sent, actual: str) -> None:
        """Compare the clock that a segment shows, from the first one on, and note what the script calls its value."""
        connection, packet = self.sockets.connection, sent.packet
        wanted, had = expected.stamp, packet.stamp
        if connection is None or wanted is None or had is None:
            return
        connection.stamps.ours[wanted.value] = sent.at
        if not self.tick_us:
            return
        self.first_stamps = self.first_stamps or (wanted.value, had.value)
        meant = wanted.value - self.first_stamps[0] + self.first_stamps[1]
        # As in packetdrill, the share is that of the time since the beginning: the clock runs on.
        tolerance = max(self.tolerance, self.share * sent.at)
        if abs(had.value - meant) * self.tick_us / 1e6 > tolerance:
            wrong = f"TS val {had.value - self.first_stamps[1] + self.first_stamps[0]}, not {wanted.value}"
            raise _DiffersError(wrong, actual, sent.at)

    # Assertions.

    def _check(self, event: Event) -> None:
        connection = self.sockets.connection
        known = CONSTANTS | ({} if connection is None else info(connection, self.now))
        try:
            self.blocks[id(event)].run(known, self.kept)
        except asserts.UnknownError as unknown:
            raise LacksError(f"{unknown.message} of this connection") from None
        except asserts.AssertFailedError as failed:
            where = (failed.line, f"assert {failed.text}")
            raise _DiffersError(str(failed), failed.values, where=where) from None
        self.rows.append(Row(self.now, event.line, str(event.action), "holds"))


def _other_value(blocked: _Blocked, other: sockets.OtherValueError) -> _DiffersError:
    call = blocked.call
    what = f"{call.name} gives {other.name} {other.found}, not {shown(other.wanted)}"
    actual = f"= 0, {other.name} {other.found}"
    return _DiffersError(what, actual, where=(blocked.event.line, str(call)))


def _not_returned(blocked: _Blocked) -> _DiffersError:
    what = f"{blocked.call.name} has not returned at {blocked.until:.6f} s"
    return _DiffersError(what, "(blocked)", where=(blocked.event.line, str(blocked.call)))


def _is_anchored(event: Event) -> bool:
    """Whether the time of a relative event after it counts from the time that it was meant to have."""
    return isinstance(event.action, Packet) and event.action.is_inbound


def _shown(packet: Packet, expected: Packet | None = None) -> str:
    """A segment that was sent; that it is not ECN-capable is said only where the script speaks of ECN."""
    is_plain = packet.ecn == "noecn" and (expected is None or expected.ecn is None)
    return str(replace(packet, ecn=None) if is_plain else packet)


def _timing(at: float, until: float, tolerance: float) -> str:
    meant = f"{at:.6f} s" if until == at else f"{at:.6f} s to {until:.6f} s"
    return f"it was to be sent at {meant}, with a tolerance of {tolerance * 1e3:g} ms"


def _number(script: Script, key: str, default: float, least: float, most: float) -> float:
    """The value of an option at the head of a script."""
    text = script.options.get(key)
    if text is None:
        return default
    value = float(text) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{0,12})?", text) else -1.0
    if not least <= value <= most:
        raise ScriptError(script.name, 1, 1, f"--{key}={text} is not a number from {least:.12g} to {most:.12g}")
    return value
