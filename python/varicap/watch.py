"""Runs while they go on: samples for observers.

A run reports its state at the end of an interval of its time series (``record.sample``) if it has been asked to since
its last report: at most some twenty times a second.  It reports numbers that it keeps anyway, so that its course is the
same with and without an observer.

>>> import varicap
>>> seen = []
>>> result = varicap.run("examples/fixed.toml", seeds=1, overrides={"duration": "20 s"}, live=seen.append)
>>> all(isinstance(sample, Sample) for sample in seen)
True
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Point: TypeAlias = Mapping[str, Any]
"""An interval of a time series, by the names of its columns (`varicap columns`); None for what is not there."""


@dataclass(frozen=True)
class Sample:
    """The state of a run.  The kernel engine reports flows and links separately: a sample has one or the other."""

    replication: int
    network: int
    """Of several, if flows run in isolation."""
    duration_s: float
    """How long the run lasts [s]."""
    flows: Mapping[str, Point]
    links: Mapping[str, Point]

    @property
    def time_s(self) -> float:
        """How far the run is [s]."""
        points = [*self.flows.values(), *self.links.values()]
        return float(points[0]["time_s"]) if points else 0.0


Watch: TypeAlias = Callable[[Sample], None]
"""An observer of runs, called with each sample."""


def report(watch: Watch, text: str) -> None:
    """Pass the samples that the engine gave as JSON to an observer."""
    for sample in json.loads(text):
        watch(Sample(**{**sample, "flows": dict(sample["flows"]), "links": dict(sample["links"])}))
