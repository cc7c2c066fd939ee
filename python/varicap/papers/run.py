"""What a table or figure needs in order to be reproduced: simulations, and how much effort to spend on them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from varicap.engines import sim
from varicap.engines.scenarios import load
from varicap.papers.verdict import Value
from varicap.results.result import Result
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from varicap.queues import MakeQueue

T = TypeVar("T")

_MOST_SEEDS = 60
"""Replications that a precision may ask for, where the effort is not raised."""


@dataclass(frozen=True)
class Grid:
    """A table of ours in addition to the paper's: rows by name, a value for each column."""

    title: str
    unit: str
    column: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[Interval]]


@dataclass(frozen=True)
class Outcome:
    """The outcome of one table or figure."""

    values: Mapping[str, Value]
    """Our values, by the id of the claim."""
    draw: Callable[[], "Figure"]
    grids: Sequence[Grid] = ()
    """Tables that the paper does not have."""
    readings: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """Our values by the id of a claim, under other choices of what the paper leaves open, by name."""
    today: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """Our values by the id of a claim, of a TCP of today, by name."""
    points: Mapping[str, str] = field(default_factory=dict)
    """At which points a claim about several was looked at, which are fewer in a quick run."""


@dataclass
class Run:
    """One call of `varicap reproduce`: how much effort, and the simulations that its figures share."""

    key: str
    quick: bool = False
    jobs: int | None = None
    seed: int | None = None
    effort: int = 1
    """So many times the usual number of replications."""
    settle: bool = False
    """Whether more effort goes to figures whose claims are not settled."""
    precision: float | None = None
    """The share of its mean within which the interval of each claim shall be, by more effort."""
    used: dict[str, None] = field(default_factory=dict, repr=False)
    """The scenarios that were asked for, in their order."""
    _done: dict[tuple[str, int, float | None], Result] = field(default_factory=dict, repr=False)

    def pick(self, full: T, quick: T) -> T:
        """`quick` in a quick run, else `full`."""
        return quick if self.quick else full

    def simulate(
        self,
        scenario: str,
        overrides: Mapping[str, str],
        *,
        seeds: int,
        flows: Sequence[str] | None = None,
        precision: float | None = None,
        queues: "Mapping[str, MakeQueue] | None" = None,
    ) -> Result:
        """Run ``scenarios/NAME.toml`` of the paper with the given flows (all by default).

        A repeated request runs only once in a call.  With `precision` there are more replications than `seeds` where
        intervals would be wider than that share of their means.  `queues` are those that the scenario calls custom.
        """
        file = resources.files("varicap.papers") / self.key / "scenarios" / f"{scenario}.toml"
        with resources.as_file(file) as path:
            loaded = load(path, overrides)
        if flows is not None:
            kept = json.loads(loaded.to_json())
            kept["flows"] = {name: kept["flows"][name] for name in flows}
            loaded = load(kept)
        self.used[scenario] = None
        seeds *= self.effort
        request = (loaded.to_json(), seeds, precision)
        if request not in self._done:
            self._done[request] = sim.run(
                loaded,
                seeds=seeds,
                seed=self.seed,
                precision=precision,
                max_seeds=_MOST_SEEDS * self.effort,
                queues=queues,
                jobs=self.jobs,
                max_time=None,  # the scenarios are ours, and some take hours on a slow machine
            )
        return self._done[request]


def text(value: str) -> str:
    r"""A string as a value for `Run.simulate`, whatever is in it: the name of a folder may have a quote.

    >>> text("x's")
    '"x\'s"'
    """
    # JSON's texts are TOML's, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def paired(*points: Array) -> Array:
    """The replications that all points have, shape (points, replications): those of one number have the same seed.

    Points whose intervals were wider may have more of them.
    """
    common = min(map(len, points))
    return np.array([point[:common] for point in points])


def ratio(above: Array, below: Array) -> Array:
    """Ratio of two means over the runs: a value for each run, whose mean is that ratio.

    They scatter as its linearised error does.  (A mean of ratios is biased where the denominator scatters, and a ratio
    to a fixed mean leaves that scatter out.)
    """
    of_means = above.mean() / below.mean()
    return np.asarray(of_means + (above - of_means * below) / below.mean())


def jain(*throughputs: Array) -> Array:
    """Jain's index of several flows' throughputs, a value for each run: 1 if all are the same.  Source: [jain84]."""
    each = np.array(throughputs)
    return np.asarray(each.sum(axis=0) ** 2 / (len(each) * (each**2).sum(axis=0)))


def goodput(result: Result, flow: str) -> Array:
    """Goodput of one flow in each replication [kB/s]."""
    return samples(result.flows, flow, "goodput_bps") / 8e3
