"""Processor time of sweeps by the model engine, for each model, beside that of each point on its own.

    python tools/model_sweeps.py

The time of reading scenarios, solving and making the table, in this process, for a thousand points; imports and the
first points are not in it.
"""

import argparse
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from varicap._blas import one_thread

one_thread()  # as in every command, and before NumPy is imported: its threads would wait, and be counted
import varicap  # noqa: E402
from varicap.engines.model import answers  # noqa: E402
from varicap.study.axes import axes_of  # noqa: E402
from varicap.study.axes import points as points_of  # noqa: E402

ROOT = Path(__file__).parent.parent
FORWARD = "topology.dumbbell.forward"
HOLDING = f"{FORWARD}.capacity.markov.mean_holding"
TRANSITIONS = f"{FORWARD}.capacity.slotted-markov.transitions"

Values = Callable[[float], str]
"""The value of a key at a share of its range, from 0 to 1."""


def example(name: str, flow: str, **tcp: Any) -> dict[str, Any]:
    """An example with one of its flows, and some settings of TCP."""
    scenario = tomllib.loads((ROOT / "examples" / f"{name}.toml").read_text(encoding="utf-8"))
    scenario["flows"] = {flow: scenario["flows"][flow]}
    scenario["tcp"] |= tcp
    if "congestion" in tcp:
        scenario["flows"][flow].pop("tcp", None)
    return scenario


def between(low: float, high: float, unit: str) -> Values:
    """Numbers of a unit."""
    return lambda share: f"{low + (high - low) * share:.6f} {unit}".strip()


def psi(share: float) -> str:
    """How the capacity of the example of EFFCAP changes that stays for 5 to 100 round trips."""
    change = 0.03 / ((5 + 95 * share) * 0.2)
    return f"[[{1 - change}, {change}], [{change}, {1 - change}]]"


def holding(share: float) -> str:
    """How long the two rates of the Markov example last."""
    return f"['{1 + 3 * share:.6f} s', '2 s']"


OLD = {"stack": "rfc", "recovery": "old-tahoe"}
BETA = {"ratcp": {"beta": "4 packets"}}
SWEEPS: dict[str, tuple[dict[str, Any], dict[str, Values]]] = {
    "sawtooth: delay": (example("fixed", "reno"), {f"{FORWARD}.delay": between(20, 80, "ms")}),
    "pftk: loss": (
        example("fixed", "reno"),
        {f"{FORWARD}.capacity": lambda _: "100 Mb/s", f"{FORWARD}.loss.bernoulli": between(0.5, 5, "%")},
    ),
    "ratcp, RATCP on a fixed link: capacity": (
        example("ratcp", "ratcp-timeouts"),
        {f"{FORWARD}.capacity": between(0.5, 2, "Mb/s")},
    ),
    "ratcp, TCP on a fixed link: capacity": (
        example("ratcp", "reno", recovery="old-tahoe"),
        {f"{FORWARD}.capacity": between(0.5, 2, "Mb/s")},
    ),
    "ratcp, sessions: arrivals": (
        example("ratcp", "ratcp-timeouts"),
        {f"{FORWARD}.capacity.sessions.arrivals": between(0.05, 0.5, "/s")},
    ),
    "ratcp, sessions: delay": (example("ratcp", "ratcp-timeouts"), {f"{FORWARD}.delay": between(90, 110, "ms")}),
    "ratcp, chain of rates: holding times": (example("markov", "reno", congestion=BETA, **OLD), {HOLDING: holding}),
    "abr, INSTCAP: psi": (example("effcap", "instcap"), {TRANSITIONS: psi}),
    "abr, TCP alone: psi": (example("effcap", "tcp"), {TRANSITIONS: psi}),
    "abr, EFFCAP: psi": (example("effcap", "effcap"), {TRANSITIONS: psi}),
    **{
        f"varying, {name}: holding times": (example("markov", "reno", congestion=control), {HOLDING: holding})
        for name, control in {"Reno": "reno", "CUBIC": "cubic", "RATCP": BETA, "BBR": "bbr"}.items()
    },
    "wireless: Doppler": (example("wireless", "reno"), {f"{FORWARD}.loss.rayleigh.doppler": between(2, 20, "Hz")}),
}


def over(name: str, points: int) -> dict[str, list[str]]:
    """The values of a sweep of so many points."""
    values = {key: [value((n + 0.5) / points) for n in range(points)] for key, value in SWEEPS[name][1].items()}
    return {key: some[:1] if len(set(some)) == 1 else some for key, some in values.items()}


def together_s(name: str, points: int) -> float:
    """Processor time for a thousand points of a sweep [s], as these points have it."""
    scenario, values = SWEEPS[name][0], over(name, points)
    varicap.sweep(scenario, {key: some[:1] for key, some in values.items()}, engine="model")
    begin = time.process_time()
    varicap.sweep(scenario, values, engine="model")
    return (time.process_time() - begin) * 1000 / points


def alone_s(name: str, points: int) -> float:
    """The same where each point is read and answered on its own."""
    scenario, values = SWEEPS[name][0], over(name, points)
    each = points_of(axes_of(values))
    answers(varicap.load(scenario, each[0]))
    begin = time.process_time()
    for point in each:
        answers(varicap.load(scenario, point))
    return (time.process_time() - begin) * 1000 / points


def main() -> None:
    """Print a row for each sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1000, help="points of each sweep")
    parser.add_argument("--alone", type=int, default=48, help="points that are answered one by one")
    parser.add_argument("--only", default="", help="sweeps whose names contain this")
    options = parser.parse_args()
    print(f"{'seconds for 1,000 points':40} {'one by one':>10} {'together':>10}")
    for name in SWEEPS:
        if options.only in name:
            alone, together = alone_s(name, options.alone), together_s(name, options.points)
            print(f"{name:40} {alone:10.2f} {together:10.2f}", flush=True)


if __name__ == "__main__":
    main()
