"""Command lines of Mahimahi: mm-delay, mm-loss, mm-onoff, mm-link, one within the other."""

from collections.abc import Mapping
from pathlib import Path

from varicap.importers.draft import Draft, Entry, Toml
from varicap.importers.shell import Command, commands, unknown
from varicap.importers.source import Source, nanoseconds, number, share

_DIRECTIONS = {"uplink": "reverse", "downlink": "forward"}
_QUIET = ("--meter-", "--uplink-log", "--downlink-log", "--cbr")
_SHELLS = ("mm-delay", "mm-loss", "mm-onoff", "mm-link")


def draft(source: Source, given: Mapping[str, str]) -> Draft:
    """What a command line says, as a scenario.  The first line with shells of Mahimahi's counts."""
    made = Draft(source, "Mahimahi")
    found = next((each for each in commands(source, given) if any(w in _SHELLS for w in map(_name, each.words))), None)
    if found is None:
        raise source.error(None, "no command of Mahimahi's", "mm-delay, mm-loss, mm-onoff or mm-link")
    for name, direction in (("forward", "downlink"), ("reverse", "uplink")):
        made.link(name).set("name", direction)
    _shells(made, found)
    made.top.set("duration", "60 s", "the command line does not say how long, nor what is sent: this is assumed")
    flow = made.flow("flow")
    flow.say("Assumed: a download; with `backward = true` it is an upload.")
    flow.set("tcp", {"stack": "linux"})
    return made


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _shells(made: Draft, command: Command) -> None:
    words = list(command.words)
    while words and _name(words[0]) not in _SHELLS:
        words.pop(0)
    if missing := unknown(words):
        raise made.source.error(command.line, missing, "a value for it: --set NAME=VALUE")
    delay = 0.0
    comment = made.quote(command.line, command.text)
    while words:
        shell = _name(words.pop(0))
        if shell == "mm-delay":
            delay += _need(made, command, words, "a delay in whole milliseconds")
        elif shell == "mm-loss":
            link = _direction(made, command, words)
            lost = _need(made, command, words, "a loss rate from 0 to 1")
            if lost > 1:
                raise made.source.error(command.line, lost, "a loss rate from 0 to 1")
            link.set("loss", share(lost), comment)
        elif shell == "mm-onoff":
            link = _direction(made, command, words)
            on, off = (_need(made, command, words, "a mean time in seconds") for _ in range(2))
            link.set("loss", {"markov": {"good": nanoseconds(on * 1e9), "bad": nanoseconds(off * 1e9)}}, comment)
        elif shell == "mm-link":
            words = _link(made, command, words)
        elif shell.startswith("mm-"):
            made.leave_out(command.line, shell, "a shell that is not understood")
        else:
            if shell != "--":
                made.leave_out(command.line, " ".join([shell, *words]), "the program inside: the flow below is assumed")
                break
    if delay:
        for link in made.links.values():
            link.set("delay", nanoseconds(delay * 1e6), comment)


def _need(made: Draft, command: Command, words: list[str], expected: str) -> float:
    value = number(words[0]) if words else None
    if value is None:
        raise made.source.error(command.line, words[0] if words else command.text, expected)
    words.pop(0)
    return value


def _direction(made: Draft, command: Command, words: list[str]) -> Entry:
    name = words.pop(0) if words else ""
    if name not in _DIRECTIONS:
        raise made.source.error(command.line, name or command.text, "uplink or downlink")
    return made.link(_DIRECTIONS[name])


def _link(made: Draft, command: Command, words: list[str]) -> list[str]:
    """The traces and queues of a link; the words behind them."""
    traces: list[str] = []
    queues: dict[str, dict[str, str]] = {"uplink": {}, "downlink": {}}
    repeat = True
    while words and (len(traces) < 2 or words[0].startswith("-")):
        word = words.pop(0)
        name, has_value, value = word.partition("=")
        key = name.removeprefix("--").partition("-")
        if word == "--":
            break
        if name in ("--uplink-queue", "--downlink-queue", "--uplink-queue-args", "--downlink-queue-args"):
            if not has_value:
                value = words.pop(0) if words else ""
            queues[key[0]][key[2]] = value
        elif name == "--once":
            repeat = False
        elif name.startswith(_QUIET):
            if not has_value and name.endswith("-log") and words:
                words.pop(0)
        elif word.startswith("-"):
            made.leave_out(command.line, word, "an option that is not understood")
        else:
            traces.append(word)
    if len(traces) < 2:
        raise made.source.error(command.line, command.text, "mm-link with two traces, uplink and downlink")
    comment = made.quote(command.line, command.text)
    for direction, trace in zip(("uplink", "downlink"), traces, strict=True):
        link = made.link(_DIRECTIONS[direction])
        opportunities: dict[str, Toml] = {"file": trace, "mahimahi": True}
        if not repeat:
            opportunities["repeat"] = False
        link.set("capacity", {"opportunities": opportunities}, comment)
        link.set("queue", _queue(made, command, queues[direction]))
        if not Path(trace).suffix and "/" not in trace:
            link.say("A trace is looked for beside this file.", "capacity")
    return words


def _queue(made: Draft, command: Command, said: dict[str, str]) -> Toml:
    kind = said.get("queue", "infinite")
    args = dict(part.strip().partition("=")[::2] for part in said.get("queue-args", "").split(",") if part.strip())
    limit: Toml = "unlimited"
    if "packets" in args:
        limit = f"{int(_argument(made, command, args, 'packets'))} packets"
    elif "bytes" in args:
        limit = f"{int(_argument(made, command, args, 'bytes'))} B"
    if kind == "infinite":
        return {"drop-tail": {"limit": "unlimited"}}
    if kind in ("droptail", "drophead"):
        if kind == "drophead":
            made.leave_out(command.line, "drophead", "a queue that drops the oldest packet: drop-tail is in its place")
        return {"drop-tail": {"limit": limit}}
    table: dict[str, Toml] = {"limit": limit}
    if kind == "codel":
        for key in ("target", "interval"):
            if key in args:
                table[key] = nanoseconds(_argument(made, command, args, key) * 1e6)
        return {"codel": table}
    if kind == "pie":
        for key, name in (("qdelay_ref", "target"), ("max_burst", "max_burst")):
            if key in args:
                table[name] = nanoseconds(_argument(made, command, args, key) * 1e6)
        return {"pie": table}
    raise made.source.error(command.line, kind, "a queue: infinite, droptail, drophead, codel or pie")


def _argument(made: Draft, command: Command, args: Mapping[str, str], key: str) -> float:
    value = number(args[key])
    if value is None:
        raise made.source.error(command.line, f"{key}={args[key]}", f"a number for `{key}`")
    return value
