"""Settings that are tried together, and what to try next where the best of them lies at an edge."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["B", "packets"]
Steps: TypeAlias = tuple[float, float]
"""Up and down [b/s]."""


@dataclass(frozen=True)
class Setting:
    """Thresholds and steps of a hysteresis."""

    low: float
    """Low threshold [B or packets]."""
    high: float
    """High threshold [B or packets]."""
    unit: Unit
    increment_bps: float
    """Step up [b/s]."""
    decrement_bps: float
    """Step down [b/s]."""

    @property
    def steps(self) -> Steps:
        """Both steps [b/s]."""
        return self.increment_bps, self.decrement_bps

    def overrides(self, links: Sequence[str]) -> dict[str, str]:
        """As changes of the scenario's load-reactive links, whose tables lie at `links`."""
        control = {
            "low": f"{self.low:g} {self.unit}",
            "high": f"{self.high:g} {self.unit}",
            "increment": f"{self.increment_bps:g} bit/s",
            "decrement": f"{self.decrement_bps:g} bit/s",
        }
        return {f"{link}.control.hysteresis.{key}": text for link in links for key, text in control.items()}


@dataclass(frozen=True)
class Grid:
    """All combinations of these values, low thresholds at most as large as high ones."""

    lows: tuple[float, ...]
    highs: tuple[float, ...]
    steps: tuple[Steps, ...]
    unit: Unit

    def settings(self) -> list[Setting]:
        """The combinations."""
        return [
            Setting(low, high, self.unit, up, down)
            for (up, down), high, low in itertools.product(self.steps, self.highs, self.lows)
            if low <= high
        ]

    def beyond(self, setting: Setting) -> "Grid":
        """The same with further values on each side at whose edge this setting lies.

        They continue the sequence by the ratio of its last two values; one value alone is no sequence.

        >>> grid = Grid((1000, 2000), (3000, 6000, 12000), ((50e3, 50e3),), "B")
        >>> grid.beyond(Setting(2000, 3000, "B", 50e3, 50e3)).highs
        (1500.0, 3000, 6000, 12000)
        """
        ups = sorted({up for up, _ in self.steps})
        more = _further(ups, setting.increment_bps)
        scaled = [(up, setting.decrement_bps / setting.increment_bps * up) for up in more]
        return replace(
            self,
            lows=self._wider(self.lows, setting.low),
            highs=self._wider(self.highs, setting.high),
            steps=(*self.steps, *scaled),
        )

    def _wider(self, values: tuple[float, ...], at: float) -> tuple[float, ...]:
        whole = {float(max(1, round(value))) for value in _further(sorted(set(values)), at)} - set(values)
        return tuple(sorted({*values, *whole}))


def _further(values: Sequence[float], at: float) -> list[float]:
    """What comes after the edge of ascending values that `at` is; nothing if it is none."""
    if len(values) < 2 or at not in (values[0], values[-1]):
        return []
    return [at * at / (values[1] if at == values[0] else values[-2])]
