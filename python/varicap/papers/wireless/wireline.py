"""§V-A: small buffers on a link without losses, by the formulas and by our simulator."""

from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt

import numpy as np
from matplotlib.figure import Figure

from varicap.analyse.models.wireless_limits import reno, tahoe
from varicap.papers.run import Outcome, Run, goodput
from varicap.papers.verdict import Value
from varicap.papers.worst import farthest
from varicap.report.paper import Axis, Curve, curves
from varicap.statistics import Array, Interval

_LARGE = 1e6  # W at which the limits are taken, with a buffer of sqrt(W)
_CURVE = tuple(np.logspace(1, 4, 40).tolist())
_PIPE = 100  # packets: where to search for the border of the double slow start
_PAYLOAD = 536 / 576
_CAPACITY_KBPS = 576.0  # kB/s, 1000 packets/s


def reproduce(run: Run) -> Outcome:
    """The limits, the formulas compared with the simulator, and where slow start stops losing packets."""
    pipes = run.pick((25, 50, 100, 200, 400), (25, 100))
    ours = {name: [_utilisation(run, name, pipe, round(sqrt(pipe))) for pipe in pipes] for name in ("tahoe", "reno")}
    buffers = run.pick(range(26, 43), range(26, 43, 2))
    border = _border(buffers, [_utilisation(run, "tahoe", _PIPE, size) for size in buffers])
    values = {
        "L-reno": Value(model=reno(_LARGE, sqrt(_LARGE))),
        "L-tahoe-sim": Value(sim=farthest(_ratios(pipes, ours["tahoe"], tahoe))),
        "L-reno-sim": Value(sim=farthest(_ratios(pipes, ours["reno"], reno))),
        "L-double": Value(sim=Interval.of(border)),
    }
    points = dict.fromkeys(("L-tahoe-sim", "L-reno-sim"), f"W of {', '.join(map(str, pipes))} packets")
    return Outcome(values, partial(_draw, pipes, ours), points=points)


def _utilisation(run: Run, flow: str, pipe: int, buffer: int) -> Array:
    """Utilisation in each replication [1]."""
    path = "topology.dumbbell.forward"
    # A sawtooth takes some W / 2 round trips of W ms.
    settle, measured = max(20, pipe**2 // 400), run.pick(max(400, pipe**2 // 80), 160)
    changes = {
        f"{path}.delay": f"{pipe - 1} ms",  # and 1 ms of transmission
        f"{path}.queue.drop-tail.limit": f"{buffer} packets",
        "warmup": f"{settle} s",
        "duration": f"{settle + measured} s",
    }
    result = run.simulate("lossless", changes, seeds=run.pick(6, 4), flows=[flow])
    return goodput(result, flow) / (_CAPACITY_KBPS * _PAYLOAD)


def _ratios(pipes: Sequence[int], ours: Sequence[Array], formula: Callable[[float, float], float]) -> list[Array]:
    """The simulated over the computed utilisation for each pipe."""
    return [one / formula(pipe, round(sqrt(pipe))) for pipe, one in zip(pipes, ours, strict=True)]


def _border(buffers: Sequence[int], ours: Sequence[Array]) -> Array:
    """The buffer over W at which the utilisation jumps most, in each replication [1]."""
    at = np.diff(np.array(ours), axis=0).argmax(axis=0)
    sizes = np.array(buffers)
    return np.asarray((sizes[at] + sizes[at + 1]) / 2 / _PIPE)


def _draw(pipes: Sequence[int], ours: dict[str, list[Array]]) -> Figure:
    lines = []
    for colour, (name, formula) in enumerate((("tahoe", tahoe), ("reno", reno))):
        lines += [
            Curve(f"{name}, formula", _CURVE, [formula(pipe, sqrt(pipe)) for pipe in _CURVE], colour, "model"),
            Curve(f"{name}, sim", pipes, [Interval.of(one) for one in ours[name]], colour),
        ]
    title = "A link without losses whose buffer is the root of W"
    return curves(title, lines, Axis("bandwidth-delay product W [packets]", scale="log"), Axis("utilisation"))
