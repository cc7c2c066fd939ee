"""Topologies of Mininet, from the syntax of a Python file: links with TCLink's keys, and `tc` given to nodes."""

import ast
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from varicap.importers import tc
from varicap.importers.draft import Draft, Entry, Toml
from varicap.importers.netem import ETHERNET, WITH_DELAYED
from varicap.importers.pyvalues import UnknownError, Value, value
from varicap.importers.shell import Command
from varicap.importers.source import MOST_ITEMS, Source, nanoseconds, number, rate, share, tc_time

_MAKES = {"addHost": "host", "addSwitch": "switch", "addNode": "host", "addController": "", "addRouter": "host"}
_MOST_STEPS = 200_000
_KEYS = {"bw", "delay", "loss", "max_queue_size", "jitter", "use_htb", "use_tbf", "use_hfsc"}
_KEYS |= {"params1", "params2", "cls", "intfName1", "intfName2", "port1", "port2", "enable_ecn", "enable_red"}


@dataclass(frozen=True)
class Node:
    """A host or a switch; of a name that the file gives."""

    name: str


@dataclass
class Reader:
    """A file as it is gone through."""

    source: Source
    draft: Draft
    given: frozenset[str]
    names: dict[str, Value]
    kinds: dict[str, str] = field(default_factory=dict)
    ports: dict[str, list[str]] = field(default_factory=dict)
    """The links of each node, in the order of its interfaces."""
    devices: dict[str, tc.Device] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    """Names without a value, and the name that each waits for."""
    steps: int = 0

    def run(self, body: list[ast.stmt], depth: int = 0) -> None:
        """Goes through statements in order; functions are entered where they are written."""
        for statement in body:
            self.steps += 1
            if self.steps > _MOST_STEPS or depth > 40:
                raise self.source.error(statement.lineno, "very many statements", "a topology of fewer")
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._defaults(statement)
                    self.run(statement.body, depth + 1)
                case ast.ClassDef() | ast.With() | ast.Try():
                    self.run(statement.body, depth + 1)
                case ast.If():
                    self.run(statement.body, depth + 1)
                    self.run(statement.orelse, depth + 1)
                case ast.For():
                    self._loop(statement, depth)
                case ast.Assign(targets=[target]):
                    self._assign(target, statement.value)
                case ast.Expr(value=ast.Call() as call):
                    self._call(call)
                case ast.Return(value=ast.Call() as call):
                    self._call(call)

    def _defaults(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        names = [argument.arg for argument in function.args.args]
        for name, default in zip(reversed(names), reversed(function.args.defaults), strict=False):
            if name not in self.given:
                self._try(name, default)

    def _try(self, name: str, node: ast.expr) -> None:
        try:
            self.names[name] = value(node, self.names)
        except UnknownError:
            self.names.pop(name, None)
            self.lacks[name] = self._missing(node)

    def _missing(self, node: ast.expr) -> str:
        """The name that has to be known for an expression to have a value."""
        unknown = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id not in self.names]
        first = unknown[0] if unknown else ast.unparse(node)
        return self.lacks.get(first, first)

    def _loop(self, loop: ast.For, depth: int) -> None:
        try:
            items = value(loop.iter, self.names)
        except UnknownError:
            items = None
        if not isinstance(items, list) or not isinstance(loop.target, ast.Name):
            self.run(loop.body, depth + 1)
            return
        for item in items:
            self.names[loop.target.id] = item
            self.run(loop.body, depth + 1)

    def _assign(self, target: ast.expr, given: ast.expr) -> None:
        made = self._call(given) if isinstance(given, ast.Call) else None
        name = target.id if isinstance(target, ast.Name) else None
        if isinstance(target, ast.Attribute):
            name = target.attr
        if made is not None and name is not None:
            self.names[name] = made
        elif name is not None and name not in self.given:
            self._try(name, given)
        elif isinstance(target, ast.Tuple | ast.List) and isinstance(given, ast.Tuple | ast.List):
            for one, other in zip(target.elts, given.elts, strict=False):
                self._assign(one, other)

    def _call(self, call: ast.Call) -> Node | None:
        if not isinstance(call.func, ast.Attribute):
            return None
        verb = call.func.attr
        if verb in _MAKES:
            return self._node(call, _MAKES[verb])
        if verb == "addLink":
            self._link(call)
        elif verb in ("cmd", "cmdPrint", "sendCmd", "popen", "pexec"):
            self._command(call)
        return None

    def _node(self, call: ast.Call, kind: str) -> Node | None:
        try:
            name = str(value(call.args[0], self.names)) if call.args else ""
        except UnknownError:
            name = ""
        if not name or not kind:
            return None
        if len(self.kinds) > MOST_ITEMS:
            raise self.source.error(call.lineno, f"more than {MOST_ITEMS} nodes", "fewer")
        self.kinds.setdefault(name, kind)
        return Node(name)

    def _end(self, node: ast.expr, call: ast.Call) -> str:
        try:
            found = value(node, self.names)
        except UnknownError:
            found = None
        if isinstance(found, Node):
            return found.name
        if isinstance(found, str) and found:
            self.kinds.setdefault(found, "host")
            return found
        if isinstance(node, ast.Attribute) and isinstance(self.names.get(node.attr), Node):
            return str(self.names[node.attr].name)
        raise self.source.error(call.lineno, ast.unparse(call), "a link between nodes that the file names")

    def _options(self, call: ast.Call) -> dict[str, Value]:
        options: dict[str, Value] = {}
        for keyword in call.keywords:
            try:
                found = value(keyword.value, self.names)
            except UnknownError:
                if keyword.arg in ("cls", "intf"):
                    continue
                if keyword.arg in _KEYS or keyword.arg is None:
                    unknown = self._missing(keyword.value)
                    raise self.source.error(
                        call.lineno, unknown, f"a value for `{keyword.arg or unknown}`: --set NAME=VALUE gives one"
                    ) from None
                continue
            if keyword.arg is None and isinstance(found, dict):
                options.update(found)
            elif keyword.arg is not None:
                options[keyword.arg] = found
        return options

    def _link(self, call: ast.Call) -> None:
        if len(call.args) < 2:
            raise self.source.error(call.lineno, ast.unparse(call), "addLink with two nodes")
        a, b = (self._end(end, call) for end in call.args[:2])
        comment = self.draft.quote(call.lineno, ast.unparse(call))
        options = self._options(call)
        for key in options.keys() - _KEYS:
            self.draft.leave_out(call.lineno, ast.unparse(call), f"`{key}`")
        for one, other, own in ((a, b, "params1"), (b, a, "params2")):
            name = f"{one}-{other}"
            while name in self.draft.links:
                name += "'"
            link = self.draft.link(name)
            link.keys.update({"from": one, "to": other})
            link.say(comment)
            inner = options.get(own)
            self._tclink(call, link, {**options, **(inner if isinstance(inner, dict) else {})})
            self.ports.setdefault(one, []).append(name)

    def _tclink(self, call: ast.Call, link: Entry, options: dict[str, Value]) -> None:
        bps = _positive(options.get("bw"))
        if options.get("bw") is not None and (bps is None or bps > 1e6):
            raise self.source.error(call.lineno, options["bw"], "a `bw` in Mbit/s")
        if bps:
            link.set("capacity", rate(bps * 1e6))
            link.set("framing", dict(ETHERNET))
        delay: Toml = "0 s"
        if options.get("delay") is not None:
            delay = nanoseconds(self._time(call, options["delay"]))
        if options.get("jitter") is not None:
            delay = {"netem": {"delay": delay, "jitter": nanoseconds(self._time(call, options["jitter"]))}}
            link.set("reorder", True, "netem lets packets overtake each other")
        link.set("delay", delay)
        lost = _positive(options.get("loss")) or 0.0
        if lost > 100:
            raise self.source.error(call.lineno, options["loss"], "a `loss` in percent")
        if lost:
            link.set("loss", share(lost / 100))
        limit = _positive(options.get("max_queue_size"))
        if bps:
            comment = "netem's limit" if limit else "the 1000 packets of netem, or of the device"
            counted = f"{comment}; {WITH_DELAYED}" if delay != "0 s" else comment
            link.set("queue", {"drop-tail": {"limit": f"{int(limit or 1000)} packets"}}, counted)
        for key in ("enable_ecn", "enable_red", "use_tbf", "use_hfsc"):
            if options.get(key):
                self.draft.leave_out(call.lineno, ast.unparse(call), f"`{key}`")

    def _time(self, call: ast.Call, said: Value) -> float:
        ns = tc_time(str(said))
        if ns is None:
            raise self.source.error(call.lineno, said, "a time such as '5ms'")
        return ns

    def _command(self, call: ast.Call) -> None:
        """What a node is told to do: `tc` shapes its interfaces, everything else is left out."""
        try:
            text = str(value(call.args[0], self.names)) if call.args else ""
        except UnknownError:
            written = ast.unparse(call)
            if "tc qdisc" in written or "tc class" in written:
                raise self.source.error(
                    call.lineno, self._missing(call.args[0]), "a value for it: --set NAME=VALUE"
                ) from None
            return
        try:
            words = shlex.split(text.replace("2>/dev/null", ""))
        except ValueError:
            words = []
        arguments = tc.arguments(words)
        if arguments is not None:
            tc.note(self.draft, self.devices, Command(call.lineno, text, words), arguments)
        elif words and words[0].startswith(("iperf", "netperf", "ping", "wget", "curl", "python")):
            self.draft.leave_out(call.lineno, text, "a program")
        elif "tcp_congestion_control" in text:
            control = text.rpartition("=")[2].split()[-1:] or [""]
            if control[0] in ("cubic", "reno", "bbr", "vegas", "dctcp"):
                self.draft.tcp.set("congestion", control[0], self.draft.quote(call.lineno, text))
            else:
                self.draft.leave_out(call.lineno, text, "a congestion control that there is not")

    def shape(self) -> None:
        """Applies what `tc` was told of interfaces such as `r1-eth1` to the links behind them."""
        for device in self.devices.values():
            node, _, port = device.name.rpartition("-eth")
            links = self.ports.get(node, [])
            if not port.isdigit() or int(port) >= len(links):
                first = next(iter(device.discs.values()))
                self.draft.leave_out(first.command.line, first.command.text, f"no link is at {device.name}")
                continue
            link = self.draft.links[links[int(port)]]
            for key in ("capacity", "queue", "framing"):
                link.keys.pop(key, None)  # tc replaces what TCLink had set
            tc.apply(self.draft, link, device)


def _positive(said: Value) -> float | None:
    found = number(str(said)) if isinstance(said, int | float | str) and not isinstance(said, bool) else None
    return found or None


def draft(source: Source, given: Mapping[str, str]) -> Draft:
    """What a file says, as a scenario."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        text = source.lines[line - 1].strip() if line <= len(source.lines) else ""
        raise source.error(line, text, "Python, as Python 3 reads it") from None
    made = Draft(source, "Mininet")
    names: dict[str, Value] = {}
    for key, text in given.items():
        plain = number(text)
        names[key] = text if plain is None else int(plain) if plain == int(plain) else plain
    reader = Reader(source, made, frozenset(given), names)
    reader.run(tree.body)
    if not made.links:
        raise source.error(None, "no call of addLink", "a topology with links")
    reader.shape()
    hosts = [name for name, kind in reader.kinds.items() if kind == "host" and len(reader.ports.get(name, [])) == 1]
    if len(hosts) < 2:
        hosts = [name for name in reader.ports if len(reader.ports[name]) == 1] or list(reader.ports)
    made.top.set("duration", "60 s", "the file does not say how long: this is assumed")
    flow = made.flow("flow")
    flow.say("Assumed: one transfer without end, from the first host to the last.")
    flow.keys.update({"from": hosts[0], "to": hosts[-1]})
    made.tcp.keys = {"stack": "linux", **made.tcp.keys}
    return made
