"""Reading a script: packetdrill's grammar, as far as it is about TCP over IPv4.

What the language has beyond that (UDP, ICMP, tunnels, …) is a `Lack` with a name; the rest of its line is passed over.
"""

import re
from typing import NoReturn

from varicap.dialogue import accurate
from varicap.dialogue.script import (
    ANYTHING,
    Action,
    Call,
    Code,
    Command,
    Event,
    Lack,
    Named,
    Options,
    Packet,
    Script,
    ScriptError,
    Stamp,
    Timing,
    Value,
    When,
    Word,
)
from varicap.dialogue.tokens import Token, tokens

_FLAGS = "SFRPUEWA."
_MOST_SEQUENCE = 1 << 32
_MOST_TIME_S = 1e6
_DEEPEST = 32

# Words after the direction of a packet that begin what is not plain TCP over IPv4.
_OTHER = {
    "udp": "UDP",
    "icmp": "ICMP",
    "gre": "GRE",
    "GREv0": "GRE",
    "mpls": "MPLS",
    "ipv4": "an IP header of its own",
    "ipv6": "IPv6",
    "psp": "PSP encryption",
}
_OTHER_OPTIONS = {
    "FO": "TCP fast open",
    "FOEXP": "TCP fast open",
    "md5": "the MD5 option",
}
_OPTIONS = {"tolerance_usecs", "tolerance_percent", "tcp_ts_tick_usecs", "strict_segments", "mtu", "mss", "define"}
"""Options at the head of a script that have their effect."""
_OPTIONS_WITHOUT_EFFECT = {
    *("local_ip", "remote_ip", "gateway_ip", "netmask_ip", "ip_version", "bind_port", "connect_port", "is_anyip"),
    *("verbose", "debug", "send_omit_free"),
}
"""Those about packetdrill's own network and output; a version of IP other than 4 is looked at when it is played."""
_LACKED_OPTIONS = {
    *("speed", "init_scripts", "code_command", "code_format", "code_sockopt", "tcp_ts_ecr_scaled", "non_fatal"),
    *("wire_client", "wire_server", "wire_server_ip", "wire_server_at", "wire_server_port", "wire_client_dev"),
    *("wire_server_dev", "so_filename", "so_flags", "dry_run", "psp_udp_port"),
}
_ORDERS = (("e0b", "ceb", "e1b"), ("e1b", "ceb", "e0b"))
"""Of the fields of an AccECN option (RFC 9768 §3.2.3)."""
_ECN = {"noecn", "ect0", "ect1", "ce", "ect01"}


class _UnknownError(Exception):
    """Something that is not plain TCP; what it is."""


def parse(text: str, name: str = "script") -> Script:
    """Read a script; a mistake in it is a `ScriptError` with its place."""
    return _Parser(name, text).script()


class _Parser:
    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.words = list(tokens(name, text))
        self.next = 0
        self.defines: dict[str, Token] = {}
        self.lacks: list[Lack] = []
        self.depth = 0

    # Words.

    @property
    def word(self) -> Token:
        return self.words[self.next]

    def peek(self, ahead: int = 1) -> Token:
        return self.words[min(self.next + ahead, len(self.words) - 1)]

    def take(self) -> Token:
        word = self.word
        if word.kind != "end":
            self.next += 1
        return word

    def fail(self, message: str, at: Token | None = None) -> NoReturn:
        at = at or self.word
        raise ScriptError(self.name, at.line, at.column, message)

    def expect(self, text: str, where: str) -> Token:
        if self.word.text != text or self.word.kind == "end":
            self.fail(f"expected `{text}` {where}, not {_quoted(self.word)}")
        return self.take()

    def accept(self, text: str) -> bool:
        if self.word.text == text and self.word.kind != "text":
            self.take()
            return True
        return False

    def integer(self, what: str, most: int = _MOST_SEQUENCE) -> int:
        at = self.word
        at_define = self.defines.get(at.text) if at.kind == "word" else None
        shown = at_define or at
        if shown.kind == "word" and re.fullmatch("[A-Z][A-Z0-9_]*", shown.text):
            raise _UnknownError(f"the value of {shown.text}, which the script does not define")
        if shown.kind not in {"integer", "hex"}:
            self.fail(f"expected {what}, a whole number, not {_quoted(at)}")
        value = _number(shown.text)
        if not 0 <= value < most:
            self.fail(f"{what} is {value}, not from 0 to {most - 1}")
        self.take()
        return value

    # The script.

    def script(self) -> Script:
        options = self.options()
        start = None
        if self.word.kind == "shell":
            start = Command(_unescaped(self.take().inside))
        events = []
        while self.word.kind != "end":
            if self.word.kind == "shell":
                # The command at the end, which cleans up after the script.
                self.take()
                if self.word.kind != "end":
                    self.fail(f"expected the end of the script after its last command, not {_quoted(self.word)}")
                break
            if (event := self.event()) is not None:
                events.append(event)
        if not events and not self.lacks:
            self.fail("the script has no events")
        return Script(self.name, options, start, tuple(events), tuple(self.lacks))

    def options(self) -> dict[str, str]:
        found = {}
        while self.word.kind == "option":
            option = self.take()
            key = option.text.removeprefix("--")
            value = ""
            if key in _LACKED_OPTIONS:
                self.lacks.append(Lack(option.line, f"the option {option.text}"))
            elif key not in _OPTIONS | _OPTIONS_WITHOUT_EFFECT:
                self.fail(f"there is no option `{option.text}`", option)
            if self.accept("="):
                at = self.take()
                if at.kind == "end":
                    self.fail(f"expected a value of `--{key}`", at)
                value = at.text
                if key == "define":
                    self.expect("=", "after the name that is defined")
                    self.defines[value] = self.take()
                    continue
                # Values such as reno,cubic or 192.168.0.1/16 are several words.
                while self.word.kind not in {"end", "option", "shell"} and self.word.line == at.line:
                    value += self.take().text
            found[key] = value
        return found

    def event(self) -> Event | None:
        first = self.word
        when = self.when()
        try:
            action = self.action(when)
        except _UnknownError as unknown:
            self.lacks.append(Lack(first.line, str(unknown)))
            line = self.word.line
            while self.word.kind != "end" and self.word.line == line:
                self.take()
            return None
        is_outbound = isinstance(action, Packet) and not action.is_inbound
        if when.timing is Timing.ANY and not is_outbound:
            self.fail("the time `*` is for packets that are expected", first)
        if when.until is not None and not is_outbound:
            self.fail("a range of times is for packets that are expected", first)
        return Event(first.line, when, action)

    def when(self) -> When:
        if self.accept("*"):
            return When(Timing.ANY)
        first = self.word
        timing = Timing.RELATIVE if self.accept("+") else Timing.ABSOLUTE
        at = self.time()
        if not self.accept("~"):
            return When(timing, at)
        if timing is Timing.RELATIVE:
            self.expect("+", "before the end of a relative range")
        until = self.time()
        if until < at:
            self.fail("the range of times ends before it begins", first)
        return When(timing, at, until)

    def time(self) -> int:
        at = self.word
        if at.kind not in {"float", "integer"}:
            self.fail(f"expected the time of an event in seconds, not {_quoted(at)}")
        seconds = float(at.text)
        if not 0 <= seconds <= _MOST_TIME_S:
            self.fail(f"a time of {at.text} s is not from 0 s to {_MOST_TIME_S:.0f} s")
        self.take()
        return round(seconds * 1e6)

    def action(self, when: When) -> Action:
        word = self.word
        if word.kind == "code":
            return Code(self.take().inside)
        if word.kind == "shell":
            return Command(_unescaped(self.take().inside))
        if word.text in {"<", ">"}:
            return self.packet()
        if word.kind in {"word", "anything"}:
            return self.call(when)
        return self.fail(f"expected a packet, a call, a command or a block of code, not {_quoted(word)}")

    # Packets.

    def packet(self) -> Packet:
        is_inbound = self.take().text == "<"
        ecn = self.ip_header()
        if self.word.text in _OTHER:
            raise _UnknownError(_OTHER[self.word.text])
        if self.word.kind == "integer" and self.peek().text == ">":
            raise _UnknownError("ports: more than one connection")
        at = self.word
        flags = self.flags()
        start = self.integer("the first sequence number")
        self.expect(":", "after the first sequence number")
        end = self.integer("the last sequence number", 2 * _MOST_SEQUENCE)
        self.expect("(", "before the size of the data")
        length = self.integer("the size of the data", 1 << 16)
        self.expect(")", "after the size of the data")
        if end != start + length:
            self.fail(f"{start}:{end} is not {length} bytes", at)
        number = self.integer("the acknowledgement number") if self.accept("ack") else 0
        # As on the wire: the number has a meaning only beside the flag.
        ack = number if "." in flags else None
        if "S" in flags and start != 0:
            raise _UnknownError("an initial sequence number other than 0")
        window = self.integer("the window", 1 << 16) if self.accept("win") else None
        if self.word.text == "urg":
            raise _UnknownError("urgent data")
        options = self.tcp_options(is_inbound)
        if "U" in flags:
            raise _UnknownError("urgent data")
        if is_inbound and window is None and "R" not in flags:
            self.fail("a segment that arrives has a window (`win`), unless it is a reset", at)
        return Packet(is_inbound, flags, start, length, ack, window, options, ecn)

    def ip_header(self) -> str | None:
        """The ECN bits of ``[ect0]``; other fields of the header are not simulated."""
        if self.word.text not in {"[", "("}:
            return None
        close = "]" if self.take().text == "[" else ")"
        words = []
        while self.word.text != close:
            if self.word.kind == "end" or self.word.line != self.words[self.next - 1].line:
                self.fail(f"expected `{close}` after the fields of the IP header")
            words.append(self.take().text)
        self.take()
        if len(words) == 1 and words[0] in _ECN:
            return words[0]
        raise _UnknownError(f"the IP header's {words[0] if words else 'fields'}")

    def flags(self) -> str:
        at, found = self.word, ""
        while self.peek().text != ":" or self.word.kind not in {"integer", "word", "hex"}:
            word = self.word
            if word.kind in {"end", "code", "shell", "text"} or word.text in {"<", "(", ":"} or word.line != at.line:
                self.fail(f"expected flags and sequence numbers such as `P. 1:1001(1000)`, not {_quoted(word)}")
            found += self.take().text
        if found == "-":
            return ""
        # A digit is AE, CWR and ECE as one number.
        if fields := re.findall(r"[0-9]", found):
            if len(fields) > 1 or fields[0] > "7" or set("EWA") & set(found):
                self.fail(f"expected one number from 0 to 7 in place of the flags A, W and E, not `{found}`", at)
            found = found.replace(fields[0], accurate.flags(int(fields[0])))
        for flag in found:
            if flag not in _FLAGS:
                self.fail(f"there is no flag `{flag}`; there are {_FLAGS}", at)
        if not found:
            self.fail("expected the flags of a segment, such as `.` or `S`", at)
        return "".join(flag for flag in _FLAGS if flag in found)

    def tcp_options(self, is_inbound: bool) -> Options | None:
        # A packet of the next event never begins with `<`: its time does.
        if self.word.text != "<":
            return Options()
        at = self.take()
        if self.accept("..."):
            if is_inbound:
                self.fail("`<...>` is for packets that are expected", at)
            self.expect(">", "after `...`")
            return None
        found: dict[str, object] = {}
        while True:
            self.tcp_option(found)
            if self.accept(">"):
                return Options(**found)  # type: ignore[arg-type]
            self.expect(",", "or `>` after a TCP option")

    def tcp_option(self, found: dict[str, object]) -> None:
        word = self.word
        if word.text in _OTHER_OPTIONS:
            raise _UnknownError(_OTHER_OPTIONS[word.text])
        self.take()
        match word.text:
            case "nop" | "eol":
                return
            case "mss":
                found["mss"] = self.integer("the MSS", 1 << 16)
            case "wscale":
                found["window_scale"] = self.integer("the window scale", 15)
            case "sackOK":
                found["sack_ok"] = True
            case "TS":
                self.expect("val", "after `TS`")
                value = self.integer("the timestamp")
                self.expect("ecr", "after the timestamp")
                found["stamp"] = Stamp(value, self.integer("the echoed timestamp"))
            case "sack":
                found["sack"] = self.sack_blocks()
            case "ECN":
                found["counts"] = self.counts()
            case _:
                self.fail(f"there is no TCP option {_quoted(word)}", word)

    def sack_blocks(self) -> tuple[tuple[int, int], ...]:
        at, blocks = self.word, []
        while self.word.kind == "integer":
            start = self.integer("the start of a SACK block")
            self.expect(":", "in a SACK block")
            blocks.append((start, self.integer("the end of a SACK block")))
            if blocks[-1][0] >= blocks[-1][1]:
                self.fail("a SACK block ends before it begins", at)
        if not 1 <= len(blocks) <= 4:
            self.fail("expected one to four SACK blocks such as `1001:2001`", at)
        return tuple(blocks)

    def counts(self) -> tuple[tuple[str, int], ...]:
        """The fields of an AccECN option, such as ``e1b 1 ceb 0 e0b 1``."""
        fields = []
        while self.word.text in {"e0b", "ceb", "e1b"}:
            name = self.take().text
            fields.append((name, self.integer(f"the counter {name}", 1 << 24)))
        if [name for name, _ in fields] not in [list(order)[:most] for order in _ORDERS for most in range(4)]:
            self.fail("expected the counters of an AccECN option in an order such as `e1b 1 ceb 0 e0b 1`")
        return tuple(fields)

    # Calls.

    def call(self, when: When) -> Call:
        until = None
        if self.accept("..."):
            at = self.word
            until = self.time()
            # Its end is counted as its beginning is.
            if until < when.at:
                self.fail("the call ends before it begins", at)
        name = self.word
        if name.kind != "word":
            self.fail(f"expected the name of a system call, not {_quoted(name)}")
        self.take()
        self.expect("(", f"after `{name.text}`")
        arguments = self.values(")")
        self.expect("=", "and what the call returns")
        at = self.word
        result = self.value()
        if not isinstance(result, int) and result is not ANYTHING:
            self.fail(f"expected what the call returns, a number or `...`, not {_quoted(at)}", at)
        error = None
        if self.word.kind == "word" and self.word.line == self.words[self.next - 1].line:
            error = self.take().text
        if self.word.text == "(":
            self.note()
        return Call(name.text, arguments, result, error, until)

    def note(self) -> None:
        at = self.take()
        while self.word.text != ")":
            if self.word.kind == "end" or self.word.line != at.line:
                self.fail("a note in parentheses that does not end", at)
            self.take()
        self.take()

    def values(self, close: str) -> tuple[Value, ...]:
        found: list[Value] = []
        if self.accept(close):
            return ()
        while True:
            found.append(self.value())
            if self.accept(close):
                return tuple(found)
            if self.word.text != ",":
                self.fail(f"expected `,` or `{close}` after an argument, not {_quoted(self.word)}")
            self.take()

    def value(self) -> Value:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"arguments more than {_DEEPEST} deep")
        value = self.single()
        while self.accept("|"):
            value = Word(f"{_name(value)}|{_name(self.single())}")
        self.depth -= 1
        return value

    def single(self) -> Value:
        word = self.take()
        if word.kind == "word" and word.text in self.defines:
            word = self.defines[word.text]
        match word.kind:
            case "anything":
                return ANYTHING
            case "integer" | "hex":
                return _number(word.text)
            case "text":
                return self.string(word)
            case "word":
                return self.named(word)
        match word.text:
            case "[":
                return self.values("]")
            case "{":
                return self.values("}")
        return self.fail(f"expected an argument, not {_quoted(word)}", word)

    def string(self, word: Token) -> str:
        text = word.inside
        while self.word.kind == "text":
            text += self.take().inside
        self.accept("...")
        return text

    def named(self, word: Token) -> Value:
        if self.accept("("):
            inside = self.values(")")
            if not self.accept("="):
                return Named(word.text, inside)
            return Named(word.text, self.value())
        if self.word.text == "=" and self.depth > 1:
            self.take()
            return Named(word.text, self.value())
        return Word(word.text)


def _quoted(word: Token) -> str:
    return word.text if word.kind == "end" else f"`{word.text.splitlines()[0][:40]}`"


def _number(text: str) -> int:
    """A number of the language; more digits than any field has are as good as a very large number."""
    base = 16 if text.lower().startswith("0x") else 10
    return int(text[:40], base)


def _name(value: Value) -> str:
    return value.name if isinstance(value, Word) else str(value)


def _unescaped(text: str) -> str:
    return text.replace("\\\n", " ").replace("\\`", "`")
