"""Scripts of Linux's `tc`: netem, tbf, htb with one class, and queues, on one or two devices."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from varicap.importers import netem
from varicap.importers.draft import Draft, Entry, Toml
from varicap.importers.netem import Words
from varicap.importers.shell import Command, commands, unknown
from varicap.importers.source import Source, bytes_of, rate, tc_rate, tc_size

_PREFIXES = ("sudo", "exec", "command", "time", "nice", "do", "then", "else", "!")
_OBJECTS = ("qdisc", "class", "filter")


@dataclass
class Disc:
    """A queueing discipline or a class, where it hangs, and what was said of it."""

    kind: str
    command: Command
    words: list[str]
    parent: str


@dataclass
class Device:
    """What was said of one device."""

    name: str
    discs: dict[str, Disc] = field(default_factory=dict)
    """By handle; without one, by a name of our own."""

    def below(self, parent: str) -> tuple[str, Disc] | None:
        """What hangs at a handle: its qdisc, or a class of it."""
        is_class = parent != "root" and not parent.endswith((":", ":0"))
        major = parent.partition(":")[0] + ":"
        for handle, disc in self.discs.items():
            if disc.parent == parent or (not is_class and parent != "root" and disc.parent.startswith(major)):
                return handle, disc
        return None


def draft(source: Source, given: Mapping[str, str]) -> Draft:
    """What a script says, as a scenario."""
    made = Draft(source, "tc")
    devices: dict[str, Device] = {}
    for command in commands(source, given):
        words = arguments(command.words)
        if words is not None:
            note(made, devices, command, words)
    if not devices:
        raise source.error(None, "no command `tc qdisc add …`", "one at least")
    links(made, devices.values())
    made.top.set("duration", "60 s", "tc does not say how long, nor what is sent: this is assumed")
    made.flow("flow").set("tcp", {"stack": "linux"})
    made.flow("flow").say("Assumed: one transfer without end, from left to right.")
    return made


def arguments(words: list[str]) -> list[str] | None:
    """What follows `tc`, if a command is one."""
    words = list(words)
    while words and (words[0] in _PREFIXES or words[0].startswith("-")):
        words.pop(0)
    if words[:3] and words[:2] == ["ip", "netns"] and len(words) > 4 and "exec" in words[2]:
        words = words[4:]
    if not words or words[0].rpartition("/")[2] != "tc":
        return None
    return words[1:]


def note(made: Draft, devices: dict[str, Device], command: Command, words: list[str]) -> None:
    """Notes what one command says."""
    while words and words[0].startswith("-"):
        words.pop(0)
    kind = next((name for name in _OBJECTS if words and name.startswith(words[0])), None)
    if kind is None or len(words) < 2:
        return
    verb = words[1]
    if verb in ("del", "delete", "show", "ls", "list") or "show".startswith(verb):
        return
    if kind == "filter":
        made.leave_out(command.line, command.text, "filters: every packet takes the one class")
        return
    if missing := unknown(words):
        raise made.source.error(command.line, missing, "a value for it: --set NAME=VALUE")
    rest, parent, handle, name = words[2:], "", "", ""
    while rest:
        word = rest.pop(0)
        if word == "dev" and rest:
            name = rest.pop(0)
        elif word == "root":
            parent = "root"
        elif word == "ingress":
            made.leave_out(command.line, command.text, "what comes in: links shape what goes out")
            return
        elif word == "parent" and rest:
            parent = rest.pop(0)
        elif word in ("handle", "classid") and rest:
            handle = rest.pop(0)
        else:
            rest.insert(0, word)
            break
    if not name or not rest or not parent:
        raise made.source.error(command.line, command.text, "`dev NAME`, `root` or `parent`, and a kind such as netem")
    device = devices.setdefault(name, Device(name))
    handle = handle if ":" in handle else f"{handle}:" if handle else f"({len(device.discs)})"
    if verb in ("replace", "change") or handle in device.discs:
        for old in [key for key, disc in device.discs.items() if disc.parent == parent and disc.kind == rest[0]]:
            if verb == "change":
                handle = old
            del device.discs[old]
    device.discs[handle] = Disc(rest[0], command, rest[1:], parent)


def links(made: Draft, devices: Iterable[Device]) -> None:
    """The devices as links of a dumbbell: the first that limits the rate leads forward."""
    found = []
    for device in devices:
        link = Entry()
        link.say(f"What leaves {device.name}.")
        apply(made, link, device)
        if len(link.keys) > 0:
            found.append((device.name, link))
    if not found:
        raise made.source.error(None, "nothing on any device that a link could have", "netem, tbf, htb or a queue")
    found.sort(key=lambda each: not {"capacity", "queue"} & each[1].keys.keys())
    for name, (_, link) in zip(("forward", "reverse"), found, strict=False):
        made.links[name] = link
    for name, link in found[2:]:
        line = next((c for cs in link.comments.values() for c in cs if c.startswith("line ")), "line 0: ?")
        number, _, text = line.removeprefix("line ").partition(": ")
        made.leave_out(int(number), text, f"{name}, a third device")
    if len(found) == 1:
        made.link("reverse").set("delay", "0 s", "tc says nothing of the way back")
    for link in made.links.values():
        link.keys.setdefault("delay", "0 s")


def apply(made: Draft, link: Entry, device: Device) -> None:
    """Puts all that hangs at the root of a device into the keys of a link."""
    at, shaper = "root", None
    for _ in range(8):
        found = device.below(at)
        if found is None:
            return
        at, disc = found
        words = Words(made.source, disc.command, disc.words)
        is_shaped = shaper is not None or "capacity" in link.keys
        if disc.kind == "netem":
            if not is_shaped and "limit" in disc.words and "rate" not in disc.words:
                made.leave_out(disc.command.line, disc.command.text, "netem's limit of what is being delayed")
            netem.netem(made, link, words, is_alone=not is_shaped and device.below(at) is None)
            if is_shaped and "queue" not in link.keys:
                limit = disc.words[disc.words.index("limit") + 1] if "limit" in disc.words[:-1] else "1000"
                if limit.isdigit():
                    comment = f"the limit of netem behind the rate; {netem.WITH_DELAYED}"
                    link.set("queue", {"drop-tail": {"limit": f"{limit} packets"}}, comment)
        elif disc.kind == "tbf":
            shaper = netem.tbf(made, link, words)
        elif disc.kind in ("htb", "hfsc"):
            _htb(made, link, device, at, disc)
        else:
            inner = netem.queue(made, disc.kind, words)
            if inner is not None:
                _behind(made, link, shaper, inner, disc.command)


def _behind(made: Draft, link: Entry, shaper: dict[str, Toml] | None, inner: Toml, command: Command) -> None:
    """A queue goes into the shaper before it, if there is one."""
    if shaper is None:
        link.set("queue", inner, made.quote(command.line, command.text))
        return
    shaper.pop("latency", None)
    shaper["queue"] = inner
    link.say(made.quote(command.line, command.text), "queue")


def _htb(made: Draft, link: Entry, device: Device, handle: str, disc: Disc) -> None:
    """A class of htb: a rate.  Further classes are not expressed."""
    if disc.kind == "hfsc":
        made.leave_out(disc.command.line, disc.command.text, "hfsc")
        return
    words = list(disc.words)
    if "rate" not in words:
        classes = [each for each in device.discs.values() if each.parent.startswith(handle) and "rate" in each.words]
        for place, other in enumerate(classes):
            if any(other.parent == before.parent for before in classes[:place]):
                made.leave_out(other.command.line, other.command.text, "a second class: links have one")
        return
    bps = tc_rate(words[words.index("rate") + 1]) if words.index("rate") + 1 < len(words) else None
    if "ceil" in words[:-1]:
        bps = tc_rate(words[words.index("ceil") + 1])
    if not bps:
        raise made.source.error(disc.command.line, disc.command.text, "htb with a rate such as 10mbit")
    link.set("capacity", rate(bps), made.quote(disc.command.line, disc.command.text))
    link.set("framing", dict(netem.ETHERNET), "htb counts an Ethernet header with each packet")
    if "burst" in words[:-1]:
        size = tc_size(words[words.index("burst") + 1])
        made.remarks.append(f"htb's burst{'' if size is None else f' of {bytes_of(size)}'} is not expressed.")
