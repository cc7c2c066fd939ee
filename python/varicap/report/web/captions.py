"""What links and flows are, in a few plain words; every key, with its default, is in the scenario at the page's end."""

from collections.abc import Mapping
from typing import Any

_FEW_VALUES = 3
_KINDS = {
    "steps": "changing in steps",
    "markov": "changing at random",
    "slotted-markov": "changing at random, in slots",
    "sessions": "what sessions leave",
    "load-reactive": "following the load",
}
"""Capacities and delays in words, where they have no file and too many values to name."""


def details(value: Any) -> str:
    """A choice with its parameters in one line.

    >>> details({"drop-tail": {"limit": "10 packets", "counts_in_service": True}})
    'drop-tail: limit 10 packets, counts in service'
    >>> details({"mean_holding": ["15 s", "2 s"], "repeat": False})
    'mean holding 15 s and 2 s, no repeat'
    """
    if isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), dict):
        ((name, keys),) = value.items()
        return f"{name}: {details(keys)}" if keys else str(name)
    if isinstance(value, dict):
        return ", ".join(_detail(key.replace("_", " "), each) for key, each in value.items() if each is not None)
    if isinstance(value, list):
        return _and([details(each) for each in value])
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _detail(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return key if value else f"no {key}"
    return f"{key} {details(value)}"


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _plain(value: Any) -> Any:
    """A capacity or a delay; one that is constant as its value alone."""
    while isinstance(value, dict) and len(value) == 1 and "constant" in value:
        value = value["constant"]
    return value


def _parts(choice: Any) -> tuple[str, Mapping[str, Any]]:
    """The name of a choice, and its keys."""
    if not isinstance(choice, dict):
        return str(choice), {}
    name, keys = next(iter(choice.items()), ("", {}))
    return str(name), keys if isinstance(keys, dict) else {}


def short(of: Any) -> str:
    """A capacity or a delay in the few words that the picture of a path has room for.

    >>> short({"opportunities": {"file": "traces/lte.down"}}), short({"steps": {"delays": ["9 ms", "5 ms"]}})
    ('trace lte.down', 'changing, 9 ms and 5 ms')
    """
    value = _plain(of)
    kind, parts = _parts(value)
    if "file" in parts:
        return f"trace {str(parts['file']).rsplit('/', 1)[-1]}"
    values = parts.get("rates", parts.get("delays"))
    if isinstance(values, list) and 0 < len(values) <= _FEW_VALUES:
        return f"changing, {_and([str(each) for each in values])}"
    return _KINDS.get(kind, kind.replace("-", " ")) if isinstance(value, dict) else str(value)


def capacity(of: Any) -> str:
    """A capacity in words.

    >>> file = {"file": "traces/lte.down", "size": "1500 B", "repeat": True, "offset": {"at": "0 s"}}
    >>> capacity({"opportunities": file}), capacity({"opportunities": {**file, "offset": {"at": "2 s"}}})
    ('follows traces/lte.down, 1500 B each', 'follows traces/lte.down, 1500 B each, from 2 s on')
    >>> capacity({"markov": {"rates": ["8 Mbit/s", "2 Mbit/s"], "mean_holding": ["2 s", "1 s"]}})
    'at random 8 Mbit/s and 2 Mbit/s, mean holding 2 s and 1 s'
    """
    kind, keys = _parts(_plain(of))
    if kind == "load-reactive" and {"minimum", "residual"} <= keys.keys():
        control = _parts(keys.get("control"))[0]
        return f"follows the load ({control}), from {keys['minimum']} to {short(keys['residual'] or 'unlimited')}"
    return _varying(of, "rates")


def delay(of: Any) -> str:
    """A delay in words.

    >>> delay({"trace": {"file": "sky.csv", "repeat": False, "offset": "random"}}), delay({"constant": "5 ms"})
    ('follows sky.csv, once, from a random instant on', '5 ms')
    """
    return _varying(of, "delays")


def loss(of: Any) -> str:
    """A loss in words.

    >>> loss({"trace": {"file": "sky.csv", "offset": "random"}}), loss({"bernoulli": 0.01}), loss(None)
    ('follows sky.csv, from a random instant on', 'bernoulli 0.01', '–')
    """
    value = _plain(of)
    keys = _parts(value)[1]
    return _follows(keys) if "file" in keys else details(of or "–")


def _varying(of: Any, values: str) -> str:
    """What has values over time, in words; anything that is not known here with all its keys."""
    value = _plain(of)
    kind, keys = _parts(value)
    if "file" in keys:
        return _follows(keys)
    if kind == "markov" and {values, "mean_holding"} <= keys.keys():
        return f"at random {details(keys[values])}, mean holding {details(keys['mean_holding'])}"
    return details(value) if value else "–"


def _follows(keys: Mapping[str, Any]) -> str:
    """A trace, with what is not as usual."""
    size = f", {keys['size']} each" if "size" in keys else ""
    once = ", once" if keys.get("repeat") is False else ""
    offset = keys.get("offset")
    at = offset.get("at") if isinstance(offset, dict) else offset
    instant = "a random instant" if at == "random" else details(at)
    begins = "" if at in (None, "0 s") else f", from {instant} on"
    return f"follows {keys['file']}{size}{once}{begins}"


def queue(of: Any) -> str:
    """A queue: its name, and how much it holds; of one around another both.

    >>> queue({"red": {"limit": "50 packets", "gentle": False}}), queue("drop-tail, unlimited")
    ('red, 50 packets', 'drop-tail, unlimited')
    """
    name, keys = _parts(of)
    within = f" around {queue(keys['queue'])}" if "queue" in keys else ""
    limit = f", {keys['limit']}" if "limit" in keys else ""
    return f"{name}{limit}{within}"


def tcp(flow: Mapping[str, Any]) -> str:
    """Congestion control and recovery of a flow.

    >>> tcp({"tcp": {"recovery": {"rack": {"frto": True}}, "congestion": {"cubic": {"beta": 0.7}}, "ecn": True}})
    'cubic, recovery rack, ECN'
    """
    if flow.get("datagrams"):
        return f"none: datagrams, {details(flow['datagrams'])}"
    keys = flow.get("tcp") or {}
    if not isinstance(keys, dict):
        return details(keys)
    control, inside = _parts(keys.get("congestion", "–"))
    # A part from outside, or of a file, is known by that.
    named = keys["congestion"].get(control) if isinstance(keys.get("congestion"), dict) and not inside else None
    words = [f"{control} {named}" if named else control]
    words += [f"recovery {_parts(keys['recovery'])[0]}"] if "recovery" in keys else []
    return ", ".join([*words, *(["ECN"] if keys.get("ecn") else [])])


def app(of: Any) -> str:
    """What a flow sends.

    >>> app({"arrivals": {"rate": "2 /s", "size": {"exponential": "20 kB"}, "at_most": 1000}}), app(None)
    ('transfers: 2 /s, exponential 20 kB each', '–')
    """
    kind, keys = _parts(of)
    if kind == "arrivals" and {"rate", "size"} <= keys.keys():
        return f"transfers: {keys['rate']}, {details(keys['size'])} each"
    return details(of) if of else "–"


def apart(value: Any, values: list[Any]) -> str:
    """What distinguishes a value from the others: its name, and the keys in which others of that name differ.

    >>> cubic, reno = {"cubic": {"beta": 0.7, "c": 0.4}}, {"reno": {}}
    >>> apart(cubic, [cubic, reno]), apart(cubic, [cubic, {"cubic": {"beta": 0.5, "c": 0.4}}])
    ('cubic', 'cubic: beta 0.7')
    """
    if value is None:
        return "–"
    if not isinstance(value, dict) or len(value) != 1:
        return details(value)
    name, keys = _parts(value)
    alike = [_parts(each)[1] for each in values if isinstance(each, dict) and list(each) == [name]]
    differ = {key: of for key, of in keys.items() if any(other.get(key) != of for other in alike)}
    return details({name: differ}) if isinstance(value[name], dict) else details(value)
