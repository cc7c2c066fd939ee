"""How long a lost packet keeps a sender waiting that knows timeouts only."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from varicap import units
from varicap.engines.model.keys import table
from varicap.engines.model.path import FlowPath, choice

if TYPE_CHECKING:
    from varicap.analyse.models.timeout_cycle import Timer

KEYS = (
    {"tcp.timer"}
    | table("tcp.timer.linux", "minimum", "initial", "maximum", "hertz", "wheel", "linear_syn_timeouts")
    # A flow of the long run is not given up.
    | table("tcp.timer.linux", "retries2", "syn_retries")
    | table("tcp.timer.rfc6298", "minimum", "initial", "maximum", "granularity")
    | table("tcp.timer.ticks", "tick", "minimum_ticks", "initial", "maximum")
    | table("tcp.timer.multiple", "factor", "initial", "maximum")
)
"""The keys that say how long; the first and the largest RTO have a say only where nothing gets through."""

_DELAYS = 2
"""Round trip delays from the end of the slot of a loss until the timer expires, in [ratcp] and [abr]."""
_MOST = 0.02
"""Of the time, by which the waiting for timers may differ from the model's."""


def expires_s(timer: Any, round_trip_s: float) -> float:
    """The first timeout over a round trip that does not vary [s]."""
    kind, options = choice(timer)
    if kind == "multiple":
        return float(options["factor"]) * round_trip_s
    if kind == "ticks":
        # As coarse as it is: the least, or two ticks more than the round trip.
        tick = units.seconds(options["tick"])
        return max(round_trip_s + 2 * tick, float(options["minimum_ticks"]) * tick)
    if kind == "linux":
        return round_trip_s + units.seconds(options["minimum"])
    # RFC 6298 (2.3) where nothing varies: SRTT + G, at least the minimum.
    return max(units.seconds(options["minimum"]), round_trip_s + units.seconds(options["granularity"]))


def law(timer: Any) -> "Timer":
    """How the timeout follows round trips that vary."""
    from varicap.analyse.models.timeout_cycle import Timer

    kind, options = choice(timer)
    if kind == "multiple":
        return Timer(factor=float(options["factor"]))
    if kind == "ticks":
        tick = units.seconds(options["tick"])
        return Timer(minimum_s=float(options["minimum_ticks"]) * tick, granularity_s=2 * tick)
    least = units.seconds(options["minimum"])
    if kind == "linux":
        return Timer(minimum_s=least, above=True)
    return Timer(minimum_s=least, granularity_s=units.seconds(options["granularity"]))


def coarse(path: FlowPath, timeouts_per_s: float) -> Iterator[str]:
    """What strains `law` where there are timeouts."""
    if timeouts_per_s > 0 and choice(path.tcp["timer"])[0] == "ticks":
        yield f"{path.flow['path']}.tcp.timer = ticks: the model's clock is a fine one"


def strained(path: FlowPath, timeouts_per_s: float) -> Iterator[str]:
    """What strains a model in which a timer expires two delays after the slot of a loss."""
    expires, modelled = expires_s(path.tcp["timer"], path.base_rtt_s), _DELAYS * path.base_rtt_s
    share = timeouts_per_s * abs(expires - modelled)
    if share > _MOST:
        kind = choice(path.tcp["timer"])[0]
        yield (
            f"{path.flow['path']}.tcp.timer = {kind}: it expires after {expires:.3g} s, in the model after two round "
            f"trips ({modelled:.3g} s), which makes {share:.0%} of the time at {timeouts_per_s:.3g} timeouts per second"
        )
