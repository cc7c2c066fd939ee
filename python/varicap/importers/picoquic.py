"""Specifications of picoquic_ns: `name: value` in each line."""

import re
from collections.abc import Mapping

from varicap.importers.draft import Draft, Entry, Toml
from varicap.importers.source import Source, bytes_of, nanoseconds, number, rate

_LINE = re.compile(r"\s*([a-z_0-9]+)\s*:\s*(.*?)\s*")
_CONTROLS: dict[str, Toml] = {
    "newreno": "reno",
    "cubic": "cubic",
    "bbr": "bbr3",
    "bbr1": "bbr",
    "prague": "prague",
}
_TRANSFER = re.compile(r"=?b?\d*:(?:\*(\d+):)?(?:\d+:)?(\d+);?")
_QUIET = ("icid", "qlog_dir", "main_target_time", "nb_connections")
_KNOWN = (
    *_QUIET,
    *(f"{who}_{what}" for who in ("main", "background") for what in ("start_time", "scenario_text", "cc_algo")),
    "data_rate_in_gbps",
    "latency",
    "jitter",
    "queue_delay_max",
    "l4s_max",
    "link_scenario",
)
_SCENARIOS: dict[str, list[tuple[float, float]]] = {
    "black_hole": [(0, 1.0), (2, 0.0), (4, 1.0)],
    "drop_and_back": [(0, 1.0), (1.5, 0.5), (3.5, 1.0)],
    "low_and_up": [(0, 0.5), (2.5, 1.0)],
    "wifi_fade": [(0, 1.0), (1, 0.1), (3, 1.0)],
}
"""When the rate is which share of `data_rate_in_gbps` [s]. Source: draft-huitema-ccwg-c4-test, §3."""


def draft(source: Source, _given: Mapping[str, str]) -> Draft:
    """What a specification says, as a scenario."""
    made = Draft(source, "picoquic_ns")
    said: dict[str, tuple[int, str]] = {}
    for line, text in enumerate(source.lines, 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            raise source.error(line, text, "`name: value`, such as `latency: 40000`")
        said[match[1]] = (line, match[2])
        if match[1] not in _KNOWN:
            made.leave_out(line, text, "a name that is not understood")
    if "data_rate_in_gbps" not in said:
        raise source.error(None, "no data_rate_in_gbps", "the rate of the link")
    _links(made, said)
    count = int(_value(source, said, "nb_connections", 1))
    if not 1 <= count <= 1000:
        raise source.error(said["nb_connections"][0], count, "from 1 to 1000 connections")
    _flow(made, said, "main", 1)
    if count > 1:
        _flow(made, said, "background", count - 1)
    target = _value(source, said, "main_target_time", 0.0)
    made.top.set("duration", nanoseconds(max(2e3 * target, 30e9)), "the simulation ends with the transfers")
    made.remarks.append("picoquic is QUIC; these are TCP connections with the controls of those names.")
    return made


def _value(source: Source, said: Mapping[str, tuple[int, str]], name: str, default: float) -> float:
    if name not in said:
        return default
    line, text = said[name]
    value = number(text)
    if value is None:
        raise source.error(line, text, f"a number for `{name}`")
    return value


def _links(made: Draft, said: Mapping[str, tuple[int, str]]) -> None:
    source = made.source
    line, text = said["data_rate_in_gbps"]
    bps = _value(source, said, "data_rate_in_gbps", 0.0) * 1e9
    if bps <= 0:
        raise source.error(line, text, "a rate above 0")
    forward, reverse = made.link("forward"), made.link("reverse")
    for link in (forward, reverse):
        link.set("capacity", rate(bps), made.quote(line, f"data_rate_in_gbps: {text}"))
        if "latency" in said:
            comment = made.quote(said["latency"][0], f"latency: {said['latency'][1]} us")
            link.set("delay", nanoseconds(_value(source, said, "latency", 0.0) * 1e3), comment)
        longest = _value(source, said, "queue_delay_max", 0.0)
        limit = bytes_of(max(bps * longest / 8e6, 1536)) if longest else "unlimited"
        link.set("queue", {"drop-tail": {"limit": limit}}, _quoted(made, said, "queue_delay_max"))
        if jitter := _value(source, said, "jitter", 0.0):
            _jitter(made, said, link, jitter)
    if marking := _value(source, said, "l4s_max", 0.0):
        limit = forward.keys["queue"]["drop-tail"]["limit"]  # type: ignore[index,call-overload]
        step: dict[str, Toml] = {"threshold": bytes_of(max(bps * marking / 8e6, 1))}
        if limit != "unlimited":
            step["limit"] = limit
        forward.set("queue", {"step": step}, _quoted(made, said, "l4s_max"))
    if "link_scenario" in said:
        _varying(made, said, bps)


def _quoted(made: Draft, said: Mapping[str, tuple[int, str]], name: str) -> str:
    return made.quote(said[name][0], f"{name}: {said[name][1]}") if name in said else ""


def _jitter(made: Draft, said: Mapping[str, tuple[int, str]], link: Entry, jitter: float) -> None:
    delay = link.keys.get("delay", "0 s")
    comment = _quoted(made, said, "jitter")
    drawn: dict[str, Toml] = {"delay": delay, "jitter": nanoseconds(jitter * 1e3), "distribution": "normal"}
    link.set("delay", {"netem": drawn}, comment)
    link.say("picoquic's Gaussian jitter never shortens a delay; this one does", "delay")


def _varying(made: Draft, said: Mapping[str, tuple[int, str]], bps: float) -> None:
    line, name = said["link_scenario"]
    steps = _SCENARIOS.get(name)
    if steps is None:
        if name != "none":
            made.leave_out(line, f"link_scenario: {name}", "a way in which the link varies that is not known here")
        return
    at: list[Toml] = [nanoseconds(seconds * 1e9) for seconds, _ in steps]
    rates: list[Toml] = [rate(bps * factor) if factor else "0 b/s" for _, factor in steps]
    for link in made.links.values():
        link.set("capacity", {"steps": {"at": at, "rates": rates}}, made.quote(line, f"link_scenario: {name}"))
        if name == "wifi_fade":
            link.set("delay", {"wifi": {"delay": link.keys.get("delay", "0 s"), "jitter": "1 ms"}})
    if name == "wifi_fade":
        made.leave_out(line, f"link_scenario: {name}", "that the average jitter is 12 ms from 1 s to 3 s: it is 1 ms")


def _flow(made: Draft, said: Mapping[str, tuple[int, str]], who: str, count: int) -> None:
    source, flow = made.source, made.flow(who)
    if count > 1:
        flow.set("count", count)
    line, name = said.get(f"{who}_cc_algo", (0, "newreno"))
    control = _CONTROLS.get(name)
    if control is None:
        made.leave_out(line, f"{who}_cc_algo: {name}", "a control that there is not: CUBIC is in its place")
        control = "cubic"
    if name == "bbr":
        flow.say("picoquic's bbr is version 3.")
    flow.set("tcp", {"stack": "linux", "congestion": control}, _quoted(made, said, f"{who}_cc_algo"))
    if start := _value(source, said, f"{who}_start_time", 0.0):
        flow.set("start", nanoseconds(start * 1e3))
    text = said.get(f"{who}_scenario_text")
    if text is None:
        return
    match = _TRANSFER.fullmatch(text[1].replace(" ", ""))
    if match is None:
        made.leave_out(text[0], text[1], "what it sends: it has no end here")
        return
    size = int(match[2]) * int(match[1] or 1)
    flow.set("app", {"transfer": {"size": bytes_of(max(size, 1))}}, _quoted(made, said, f"{who}_scenario_text"))
