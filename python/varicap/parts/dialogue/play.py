"""Playing a script against the simulated host: who does what, when, and where the two first differ."""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from varicap._core import ScenarioError, Sender
from varicap.parts.dialogue import asserts, commands, compare, sockets
from varicap.parts.dialogue.connection import Sent
from varicap.parts.dialogue.info import CONSTANTS, NAMES, info
from varicap.parts.dialogue.outcome import Dialogue, Row, Verdict
from varicap.parts.dialogue.script import (
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

_MOST_SEGMENTS = 100_000
_PATIENCE_S = 5.0
"""How long to look for what was sent too late, for the report."""
_LONGEST_WAIT_S = 3600.0
"""For a packet that may come at any time."""
_SHOWN_AFTER = 4


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


def play(script: Script, folder: Path, given: Mapping[str, Any]) -> Dialogue:
    """Play a script with the ``tcp`` settings `given`; files that its commands name are looked up from `folder`.

    Raises:
        ScriptError: a block of code in it, or an option, cannot be read.
        ScenarioError: a setting is wrong.
    """
    return _Player(script, folder, given).outcome()


class _Blocked:
    """A call that has not returned."""

    def __init__(self, event: Event, call: Call, until: float, row: int) -> None:
        self.event, self.call, self.until, self.row = event, call, until, row


class _Player:
    def __init__(self, script: Script, folder: Path, given: Mapping[str, Any]) -> None:
        self.script, self.folder, self.all_given = script, folder, dict(given)
        self.tolerance, self.share = _tolerance(script)
        self.setup = commands.Setup()
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
        self.segments += 1
        if self.segments > _MOST_SEGMENTS:
            raise LacksError(f"more than {_MOST_SEGMENTS} segments")
        self.queue.append(sent)

    # What a script needs.

    def _static_lacks(self) -> list[Lack]:
        """What is known to lack before anything is played. Blocks of code are read on the way."""
        found, assigned = [], set(CONSTANTS)
        if "6" in self.script.options.get("ip_version", ""):
            found.append(Lack(1, "IPv6"))
        for event in self.script.events:
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
        commands.apply(self.setup, command.text, self.folder)
        # What was given counts more than what the script sets.
        self.sockets.given = commands.for_host(self.setup, self.all_given)
        try:
            Sender(**commands.merged(self.setup, self.sockets.given))
        except ScenarioError as error:
            # What was given is right by itself: it is the script's.
            raise LacksError(f"other settings than its commands make ({error})") from None

    # The whole.

    def outcome(self) -> Dialogue:
        dialogue = Dialogue(self.script.name, Verdict.PASSED)
        event = None
        try:
            self._apply(self.script.start or Command(""))
            if not self.lacks:
                for event in self.script.events:
                    self._event(event)
                self._finish()
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
        anchored = _is_anchored(event) and self.last is not None and _is_anchored(self.last)
        offset = 0.0 if event.when.timing is Timing.ABSOLUTE else self.last_at if anchored else self.now
        at = round(offset + event.when.at / 1e6, 9)
        action = event.action
        if isinstance(action, Packet) and not action.is_inbound:
            self._expect(event, action, at, offset)
        else:
            self._reach(at)
            self._act(event, offset)
        self.last, self.last_at = event, at

    def _act(self, event: Event, offset: float) -> None:
        match event.action:
            case Packet() as packet:
                self.rows.append(Row(self.now, event.line, str(packet)))
                self.sockets.push(self.now, packet)
                self._wake()
            case Call() as call:
                self._call(event, call, offset)
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
        self._check_blocked()

    # Calls.

    def _call(self, event: Event, call: Call, offset: float) -> None:
        if self.blocked is not None:
            # As in packetdrill, one call at a time.
            limit = self.blocked.until + self.tolerance
            while self.blocked is not None and self._step(limit):
                pass
            if self.blocked is not None:
                self._reach(limit + 1e-6)
        self.rows.append(Row(self.now, event.line, str(call)))
        until = self.now if call.until is None else round(offset + call.until / 1e6, 9)
        self.blocked = _Blocked(event, call, until, len(self.rows) - 1)
        self._wake()
        if self.blocked is not None and call.until is None:
            self.rows.pop()
            raise _DiffersError("the call does not return", "(blocked)")

    def _wake(self) -> None:
        """Try the call again that has not returned."""
        blocked = self.blocked
        if blocked is None:
            return
        try:
            value, error = self.sockets.call(self.now, blocked.call)
        except sockets.WouldBlockError:
            return
        self.blocked = None
        call = blocked.call
        returned = f"= {value}{f' {error}' if error else ''}"
        is_expected = call.result == value or not isinstance(call.result, int)
        if not is_expected or error != call.error:
            wanted = f"{shown(call.result)}{f' {call.error}' if call.error else ''}"
            what = f"{call.name} returns {returned.removeprefix('= ')}, not {wanted}"
        elif abs(self.now - blocked.until) > self._tolerance_after(blocked.event.when.at):
            what = f"{call.name} returns at {self.now:.6f} s, not at {blocked.until:.6f} s"
        else:
            before = self.rows[blocked.row]
            self.rows[blocked.row] = Row(before.time_s, before.line, before.script, returned)
            return
        del self.rows[blocked.row]
        raise _DiffersError(what, returned, where=(blocked.event.line, str(call)))

    def _check_blocked(self) -> None:
        blocked = self.blocked
        if blocked is not None and self.now > blocked.until + self._tolerance_after(blocked.event.when.at):
            what = f"{blocked.call.name} has not returned at {blocked.until:.6f} s"
            raise _DiffersError(what, "(blocked)", where=(blocked.event.line, str(blocked.call)))

    def _finish(self) -> None:
        if self.blocked is not None:
            self._reach(self.blocked.until + self.tolerance + 1e-6)

    # Packets that are expected.

    def _tolerance_after(self, since_us: float) -> float:
        return max(self.tolerance, self.share * since_us / 1e6)

    def _expect(self, event: Event, expected: Packet, at: float, offset: float) -> None:
        is_any = event.when.timing is Timing.ANY
        until = at if event.when.until is None else round(offset + event.when.until / 1e6, 9)
        tolerance = max(self.tolerance, self.share * (at - self.last_at))
        limit = self.now + _LONGEST_WAIT_S if is_any else until + tolerance + 1e-9
        pieces: list[Sent] = []
        place = expected.start
        while True:
            sent = self._next_sent(limit, pieces)
            packet = sent.packet
            is_part = packet.start == place and 0 < packet.length <= expected.end - place
            what = None
            if not is_part and (expected.length or pieces):
                what = f"data {compare.data(packet)}, not {place}:{expected.end}({expected.end - place})"
            elif not is_any and not at - tolerance - 1e-9 <= sent.at <= limit:
                what = _timing(at, until, tolerance)
            if what is not None:
                self._show_parts(pieces)
                raise _DiffersError(what, _shown(packet, expected), sent.at, taken=1)
            pieces.append(self.queue.popleft())
            place += packet.length
            if place >= expected.end:
                break
        whole = compare.whole([piece.packet for piece in pieces])
        actual = _shown(whole, expected)
        if found := compare.differences(expected, whole):
            self.queue.extendleft(reversed(pieces))
            raise _DiffersError("; ".join(found), actual, pieces[0].at, taken=len(pieces))
        self._note_stamp(expected, pieces[0].at)
        self.now = max(self.now, pieces[-1].at)
        self.rows.append(Row(pieces[0].at, event.line, str(expected), actual, pieces[-1].standing))

    def _show_parts(self, pieces: list[Sent]) -> None:
        """Before a difference: what was sent of an expected segment until then."""
        if pieces:
            whole = compare.whole([piece.packet for piece in pieces])
            self.rows.append(Row(pieces[0].at, None, "", _shown(whole), pieces[-1].standing))

    def _next_sent(self, limit: float, before: list[Sent]) -> Sent:
        """What was sent next after the parts `before` of the same expected segment, by the time `limit`."""
        while not self.queue and self._step(limit):
            pass
        if self.queue:
            return self.queue[0]
        self._show_parts(before)
        what = f"nothing was sent from {before[-1].packet.end} on" if before else "nothing was sent"
        now = self.now
        # Only for the report: what comes too late.
        while not self.queue and self._step(limit + _PATIENCE_S):
            pass
        if self.queue:
            late = self.queue[0]
            raise _DiffersError(f"{what} until {limit:.6f} s", _shown(late.packet), late.at, taken=1)
        raise _DiffersError(f"{what} until {limit:.6f} s, nor in the {_PATIENCE_S:g} s after it", at=max(now, limit))

    def _note_stamp(self, expected: Packet, at: float) -> None:
        connection = self.sockets.connection
        if connection is not None and expected.options is not None and expected.options.stamp is not None:
            connection.stamps.ours[expected.options.stamp.value] = at

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


def _tolerance(script: Script) -> tuple[float, float]:
    """The script's tolerances: in seconds, and as a share of the time since the event before."""
    found = []
    for key, default, most in (("tolerance_usecs", 4000.0, 1e9), ("tolerance_percent", 12.5, 100.0)):
        text = script.options.get(key)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= most:
            raise ScriptError(script.name, 1, 1, f"--{key}={text} is not a number from 0 to {most:g}")
        found.append(value)
    return found[0] / 1e6, found[1] / 1e2
