"""Runs while they go on: samples for whoever watches.

A run tells how it stands at the end of an interval of its time series (``record.sample``), whenever it was asked since
it last did: some twenty times a second at most.  It is asked for numbers that it keeps anyway, so that it goes the same
way whether somebody watches or not.

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
    """How a run stands.  The kernel engine tells of flows and of links apart: a sample has the ones or the others."""

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
"""Hears of runs."""


def tell(watch: Watch, text: str) -> None:
    """Tell `watch` the samples that the engine gave as JSON."""
    for sample in json.loads(text):
        watch(Sample(**{**sample, "flows": dict(sample["flows"]), "links": dict(sample["links"])}))
