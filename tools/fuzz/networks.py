"""Random scenarios that are valid by construction: each part that links and flows can have, with settings that matter.

What the schema alone suggests is seldom valid beyond the simplest, since settings must agree with each other; the kinds
`schema` and `toml` try that.  Here every choice is one that a user could have made.
"""

import random
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = Any

RATES = ["200 kb/s", "1 Mb/s", "2 Mb/s", "10 Mb/s", "40 Mb/s"]
TIES = ["departures-first", "arrivals-first"]
SPANS = ["500 us", "3 ms", "20 ms", "70 ms"]


def write_traces(folder: Path) -> None:
    """The files that the scenarios name."""
    (folder / "rates.csv").write_text("time_s,rate_mbps\n0,3\n0.05,0\n0.08,8\n0.2,1\n", encoding="utf-8")
    (folder / "cell.down").write_text("1\n1\n4\n9\n9\n9\n30\n", encoding="utf-8")
    (folder / "cell.trains").write_text("0 20 0 1 1 5\n40 20 0\n95 20 2 2 30\n120 20 0\n", encoding="utf-8")
    (folder / "delays.csv").write_text("time_s,delay_ms\n0,30\n0.04,2.5\n0.1,11\n", encoding="utf-8")
    (folder / "losses.csv").write_text("time_s,loss\n0,0\n0.03,1\n0.035,0.2\n0.07,0\n", encoding="utf-8")
    (folder / "some.dist").write_text("# quantiles\n-8192 -100 0\n8192 32767\n", encoding="utf-8")
    (folder / "delay_1.txt").write_text("30\n4\n4\n19\n0\n", encoding="utf-8")


def _capacities(rng: random.Random) -> dict[str, Json]:
    some = rng.sample(RATES, 2)
    holding = [rng.choice(SPANS), rng.choice(SPANS)]
    hysteresis = {"low": "2 packets", "high": "8 packets", "increment": "500 kb/s", "decrement": "250 kb/s"}
    reactive = {"minimum": "100 kb/s", "initial": "400 kb/s", "residual": "8 Mb/s", "interval": rng.choice(SPANS[1:])}
    cell = {"file": "cell.down", "mahimahi": rng.random() < 0.5, "offset": rng.choice(["0 s", "random"])}
    light = {"file": "cell.trains", "idle": rng.choice(["0 s", *SPANS])}
    return {
        "constant": some[0],
        "steps": {"steps": {"at": ["0 s", "40 ms", "90 ms"], "rates": [some[0], "0 b/s", some[1]], "period": "120 ms"}},
        "trace": {"trace": {"file": "rates.csv"}},
        "opportunities": {"opportunities": rng.choice([cell, {**cell, "light": light}])},
        "markov": {"markov": {"rates": [*some, "0 b/s"][: rng.choice([2, 3])], "mean_holding": []}},
        "slotted-markov": {
            "slotted-markov": {"rates": some, "step": rng.choice(SPANS), "transitions": [[0.9, 0.1], [0.3, 0.7]]}
        },
        "sessions": {
            "sessions": {"capacity": "8 Mb/s", "arrivals": "20 /s", "mean_size": "20 kB", "at_most": rng.randint(1, 9)}
        },
        "load-reactive": {"load-reactive": {**reactive, "control": {"hysteresis": hysteresis}}},
    } | {"_holding": holding}


def _delays(rng: random.Random) -> dict[str, Json]:
    some = rng.sample(SPANS, 3)
    dists: list[Json] = ["uniform", "normal", "pareto", "paretonormal", {"table": "some.dist"}]
    return {
        "constant": some[0],
        "steps": {"steps": {"at": ["0 s", "30 ms", "31 ms"], "delays": some, "period": rng.choice([None, "80 ms"])}},
        "trace": {
            "trace": {"file": rng.choice(["delays.csv", "delay_1.txt"]), "offset": rng.choice(["0 s", "random"])}
        },
        "markov": {"markov": {"delays": some[:2], "mean_holding": rng.sample(SPANS, 2)}},
        "netem": {
            "netem": {"delay": some[0], "jitter": some[1], "correlation": 0.25, "distribution": rng.choice(dists)}
        },
        "wifi": {"wifi": {"delay": some[0], "jitter": "7 ms"}},
    }


def _queues(rng: random.Random) -> dict[str, Json]:
    limit = rng.choice(["12 packets", "30 kB", "200 packets"])
    ramp = {"min_threshold": "3 packets", "max_threshold": "9 packets", "weight": 0.1, "ecn": rng.random() < 0.5}
    classes = {
        "first": {"flows": ["f0"], "share": 0.3, "priority": rng.randint(0, 1), "borrow": rng.random() < 0.5},
        "rest": {"share": rng.choice([0.3, 0.7])},
    }
    return {
        "drop-tail": {"drop-tail": {"limit": limit, "counts_in_service": rng.random() < 0.5, "ties": rng.choice(TIES)}},
        "red": {"red": {"limit": "20 packets", **ramp}},
        "ered": {"ered": {"limit": "20 packets", "reserve": "4 packets", **ramp}},
        "codel": {"codel": {"target": "2 ms", "interval": "20 ms", "ecn": rng.random() < 0.5}},
        "pie": {"pie": {"target": "4 ms", "ecn": rng.random() < 0.5}},
        "drr": {"drr": {"limit": limit, "per": "flow"}},
        "sfq": {"sfq": {"limit": limit}},
        "cbq": {"cbq": {"classes": classes}},
        "accel-brake": {"accel-brake": {}},
        "fq_codel": {"fq_codel": {"limit": limit, "queues": rng.choice([1, 4, 1024]), "target": "2 ms"}},
        "dualpi2": {"dualpi2": {"limit": limit, "scheduler": rng.choice(["wrr", "time-shifted-fifo"])}},
        "step": {"step": {"limit": limit, "threshold": rng.choice(["3 packets", "5 kB"])}},
        "shaper": {"shaper": {"rate": rng.choice(RATES), "burst": "10 kB", **rng.choice([{}, {"latency": "30 ms"}])}},
        "device": {
            "device": {"ring": "5 packets", "hold": rng.choice(["0 s", "1 ms"]), "queue": {"codel": {"ecn": True}}}
        },
        "policer": {"policer": {"rate": rng.choice(RATES), "burst": "10 kB", **rng.choice([{}, {"monitor": "90 ms"}])}},
    }


def _losses(rng: random.Random) -> dict[str, Json]:
    holding = [rng.choice(SPANS), rng.choice(SPANS)]
    return {
        "none": None,
        "bernoulli": {"bernoulli": rng.choice([0.001, 0.02, 0.2])},
        "gilbert-elliott": {"gilbert-elliott": {"to_bad": 0.02, "to_good": 0.3, "loss_bad": 0.8}},
        "correlated": {"correlated": {"probability": 0.05, "correlation": rng.choice([0.0, 0.25])}},
        "gemodel": {"gemodel": {"p": 0.02, "r": 0.3, "one_minus_k": 0.001}},
        "4state": {"4state": {"p13": 0.01, "p31": 0.2, "p32": 0.3, "p23": 0.6, "p14": 0.01}},
        "markov": {"markov": {"good": holding[0], "bad": holding[1]}},
        "rayleigh": {"rayleigh": {"doppler": "30 Hz", "threshold_db": -8.0}},
        "states": {"states": {"delivered": [1.0, 0.7, 0.0], "mean_holding": [*holding, "5 ms"]}},
        "trace": {"trace": {"file": "losses.csv", "offset": rng.choice(["0 s", "random"])}},
    }


def _apps(rng: random.Random) -> dict[str, Json]:
    size = rng.choice(["1 B", "30 kB", "400 kB"])
    rule, heed = rng.choice(["rate-based", "bba", "bola"]), rng.random() < 0.5
    return {
        "greedy": "greedy",
        "transfer": {"transfer": {"size": size}},
        "arrivals": {"arrivals": {"rate": "15 /s", "size": {"fixed": size}}},
        "video": {"video": {"segment": "50 ms", "buffer": "200 ms", "rule": rule, "heed": heed, "request": "7 ms"}},
        "real-time": {"real-time": {"frame": "9 ms", "deadline": "30 ms", "heed": heed}},
        "on-off": {"on-off": {"on": rng.choice(SPANS), "off": rng.choice(SPANS), "exponential": rng.random() < 0.5}},
    }


def _datagram_rates(rng: random.Random) -> dict[str, Json]:
    camera = {
        "frame": "9 ms",
        "deadline": rng.choice(["5 ms", "30 ms"]),
        "maximum": rng.choice(["400 kb/s", "20 Mb/s"]),
    }
    return {"constant": rng.choice(RATES), "real-time": {"real-time": camera}}


CONGESTION = ["reno", "cubic", "vegas", "copa", "accel-brake", "dctcp", "prague", "bbr", "bbr3"]
ECN = [False, False, True, "accurate", {"accurate": {"option": False}}, {"accurate": {"as_linux": True}}]
RECOVERY = ["old-tahoe", "tahoe", "reno", "newreno", "sack", "rack"]
PARTS = {
    "CapacityConfig": set(_capacities(random.Random(0))) - {"_holding"},
    "QueueConfig": set(_queues(random.Random(0))),
    "LossConfig": set(_losses(random.Random(0))),
    "DelayConfig": set(_delays(random.Random(0))),
    "App": set(_apps(random.Random(0))),
    "DatagramRate": set(_datagram_rates(random.Random(0))),
    "Recovery": set(RECOVERY),
    "Congestion": set(CONGESTION),
}
"""The names that scenarios draw from, by the schema's definitions."""
ELSEWHERE = {
    "custom": "needs a class in Python",
    "module": "needs a file in C, and a kernel to load it",
    "policy": "needs a file, or a class in Python",
    "relay": "names another flow",
    "ratcp": "needs feedback: drawn with it",
    "rate-adaptive-window": "needs a reservation: drawn with it",
}
"""Names that are not in `PARTS`, and why."""


def _link(rng: random.Random, chosen: dict[str, str]) -> Json:
    capacities = _capacities(rng)
    holding = capacities.pop("_holding")
    chosen["capacity"], chosen["queue"] = rng.choice(sorted(capacities)), rng.choice(sorted(_queues(rng)))
    chosen["loss"] = rng.choice(sorted(_losses(rng)))
    capacity = capacities[chosen["capacity"]]
    if chosen["capacity"] == "markov":
        rates = capacity["markov"]["rates"]
        capacity["markov"]["mean_holding"] = [*holding, "10 ms"][: len(rates)]
    chosen["delay"] = rng.choice(sorted(_delays(rng)))
    link = {"capacity": capacity, "delay": _delays(rng)[chosen["delay"]], "queue": _queues(rng)[chosen["queue"]]}
    if rng.random() < 0.3:
        link["reorder"] = True
    if rng.random() < 0.3:
        link["handover"] = {
            "period": "90 ms",
            "phase": rng.choice(["random", "20 ms", "90 ms"]),
            "outage": rng.choice(["0 s", "8 ms"]),
            "burst": rng.choice(["0 s", "5 ms"]),
            **rng.choice([{}, {"delay_spread": rng.choice(SPANS)}, {"delays": rng.sample(SPANS, 2)}]),
        }
    if loss := _losses(rng)[chosen["loss"]]:
        link["loss"] = loss
    if rng.random() < 0.2:
        link["netem"] = {"duplicate": rng.choice([0, 0.1]), "corrupt": 0.05, "corrupt_correlation": 0.2}
        link["framing"] = {"overhead": "14 B", "in_queue": rng.random() < 0.5}
    if rng.random() < 0.3:
        link["service"] = "at-start"
    elif chosen["capacity"] == "constant" and rng.random() < 0.3:
        link.pop("handover", None)
        link["arq"] = {"window": rng.choice([1, 8]), "max_retransmissions": rng.choice([None, 3])}
    return link


def _flow(rng: random.Random, chosen: dict[str, str]) -> Json:
    if rng.random() < 0.2:
        return _datagrams(rng, chosen)
    chosen["app"], chosen["congestion"] = rng.choice(sorted(_apps(rng))), rng.choice(CONGESTION)
    chosen["recovery"] = rng.choice(RECOVERY)
    tcp = {
        "congestion": _congestion(rng, chosen["congestion"]),
        "recovery": chosen["recovery"],
        "ecn": rng.choice(ECN),
        "timestamps": rng.random() < 0.3,
        "handshake_ack": rng.random() < 0.5,
        "ack": rng.choice(["every", "delayed", {"delayed": _delayed(rng)}]),
        "pacing": rng.choice(["off", "linux"]),
        "pacing_credit": rng.random() < 0.5,
        "nagle": rng.choice(["off", "rfc896", "minshall"]),
    }
    flow = {"tcp": tcp, "app": _apps(rng)[chosen["app"]], "count": rng.choice([1, 1, 1, 3])}
    if rng.random() < 0.15:
        tcp["congestion"], flow["feedback"] = "ratcp", {"link": "forward"}
        if chosen["capacity"] == "opportunities":
            flow["feedback"]["estimator"] = {"instantaneous": {}}
        flow["feedback"].update(_advice(rng))
    elif rng.random() < 0.15:
        tcp["congestion"], flow["app"] = "rate-adaptive-window", "greedy"
        flow["reservation"] = {"rate": "400 kb/s"}
    elif rng.random() < 0.15:
        policy = {"policy": {"rate": rng.choice(RATES)}}
        estimators = [policy, {"instantaneous": {"interval": "20 ms"}}, {"effective": {"interval": "10 ms"}}]
        flow["feedback"] = {"link": "forward", "estimator": rng.choice(estimators), **_advice(rng)}
    if "feedback" not in flow and isinstance(flow["app"], dict):
        for settings in flow["app"].values():
            settings.pop("heed", None)  # there is no rate to heed
    return flow


def _delayed(rng: random.Random) -> Json:
    """Delayed acknowledgements with what Linux does beyond the standard."""
    switches = {name: rng.random() < 0.5 for name in ("autotuning", "pushed_at_once")}
    return {**switches, "quick": 3, "hertz": rng.choice([100, 250])}


def _congestion(rng: random.Random, name: str) -> Json:
    """A control, with the choices that it has and that no name of a part stands for."""
    if name == "prague":
        return {name: {"classic_fallback": rng.random() < 0.5}}
    if name == "cubic":
        return {name: {"arithmetic": rng.choice(["rfc9438", "linux"]), "hertz": rng.choice([1, 250, 1000])}}
    return name


def _datagrams(rng: random.Random, chosen: dict[str, str]) -> Json:
    """At a rate or at that of an encoder, sometimes with a reservation."""
    rates = _datagram_rates(rng)
    chosen["datagrams"] = rng.choice(sorted(rates))
    datagrams = {"rate": rates[chosen["datagrams"]], "size": rng.choice(["64 B", "1200 B"])}
    if chosen["datagrams"] == "constant":
        datagrams["spacing"] = rng.choice(["constant", "poisson"])
    return {"datagrams": datagrams, **rng.choice([{}, {"reservation": {"rate": "400 kb/s"}}])}


def _advice(rng: random.Random) -> dict[str, Json]:
    """How rates are told, and whether the sender caps its own: often as each estimator has it, and not at all."""
    scone = {"update": "30 ms", "spread": rng.choice(["0 s", "40 ms"]), "period": "70 ms", "steps": rng.choice([1, 20])}
    return {"cap": rng.random() < 0.5, **rng.choice([{}, {"scone": scone}, {"scone": scone, "loss": 0.5}])}


def scenario(rng: random.Random) -> tuple[Json, dict[str, str]]:
    """A scenario whose files `write_traces` has written, and the names of the parts that were drawn last."""
    chosen: dict[str, str] = {}
    forward = _link(rng, chosen)
    topology: Json = {"dumbbell": {"forward": forward}}
    if rng.random() < 0.3:
        topology["dumbbell"]["reverse"] = {
            "capacity": rng.choice(RATES),
            "delay": rng.choice(SPANS),
            "queue": {"drop-tail": {"limit": "50 packets"}},
        }
    flows = {f"f{number}": _flow(rng, chosen) for number in range(rng.choice([1, 2, 3]))}
    if chosen.get("datagrams") == "real-time" and "netem" in forward:
        forward["netem"]["duplicate"] = 0
    return {
        "schema_version": 1,
        "duration": rng.choice(["300 ms", "1 s", "2 s"]),
        "warmup": rng.choice(["0 s", "0 s", "100 ms"]),
        "seeds": 2,
        "seed": rng.randrange(1000),
        "topology": topology,
        "flows": flows,
    }, chosen
