"""RATCP or TCP, each loss a timeout, alone on a capacity of n rates: the Markov renewal model of [ratcp] and [abr].

Time is cut into slots of the round trip propagation delay Delta, in which the capacity has one of n rates R_j and
changes by any transition matrix.  What happens to packets in a slot is `ratcp_chain`, where the m-th of the rates of
[ratcp, §III] is C / (m + 1).  RATCP knows the rate that the link advertised in the slot before, its capacity or what an
estimator made of it (`varicap.analyse.advertised`): W_rate = floor(R Delta) + beta.

On rates C / (m + 1) that change as ephemeral sessions do, it *is* the model of `ratcp`, state by state.  A capacity
that does not carry whole packets in a slot carries one more in some slots, as often as the mean wants.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import together
from varicap.analyse.advertised import AdvertisedChain
from varicap.analyse.models import ratcp_chain, ratcp_long_run, timeout_cycle
from varicap.analyse.models.ratcp_slot import EPSILON

Array = NDArray[np.float64]

_MOST_STATES = 10_000
"""More are refused: the solution takes about a second at this number, and 18 s for 42,000."""
_FEW_PACKETS = 2
_TRAPPED = 0.5
# Timeouts per slot beyond which TCP's cost more than two slots each: its round trips contain the queue.
_MANY_TIMEOUTS = 1 / 70


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A flow and its path.  Raises ``ValueError`` for values outside the model."""

    link: AdvertisedChain
    """Packets that the link carries in a slot, by state, what it advertises, and how both change."""
    room_packets: int
    """Most packets at the link, the one in service included."""
    control: Literal["ratcp", "tcp"] = "ratcp"
    """RATCP-OldTahoe, or TCP-OldTahoe without feedback."""
    backlog_packets: int = 1
    """Target backlog of RATCP, beta [packets]."""
    known_slots: float = 1.0
    """RTT with which RATCP makes a window of the rate [slots]."""
    growth: Literal["per-ack", "delayed"] = "per-ack"
    """Growth of cwnd in congestion avoidance: 1/cwnd per packet, or half of it as with delayed ACKs."""

    def __post_init__(self) -> None:
        rates = self.link.capacity.capacity
        if rates.min() < 1:
            raise ValueError(
                f"the slowest state carries {rates.min():.3g} packets in a round trip: the model has no outages, and "
                "needs at least one packet"
            )
        if self.room_packets < 1 or self.backlog_packets < 0 or not self.known_slots > 0:
            raise ValueError("a link has room for a packet or more, beta is 0 or more, and the known RTT positive")


@dataclass(frozen=True, kw_only=True)
class Result:
    """The model's results in the long run."""

    packets_per_slot: float
    """Packets delivered in a slot."""
    utilisation: float
    """The same as a share of the mean capacity [1]."""
    timeouts_per_slot: float
    """Timeouts in a slot [1]."""
    states: int
    """States of the chain that recur."""
    residual: float
    """Sum of ``|pi P - pi|``: how well the stationary equation is met [1]."""
    validity: tuple[str, ...]
    """Assumptions of the model that these parameters strain; empty if none."""


def throughput(parameters: Parameters) -> Result:
    """Long-run throughput.

    Assumptions: as [ratcp, §III]; the capacity changes at the ends of slots only.

    >>> from varicap.analyse import advertised, effective
    >>> link = advertised.exact(effective.SlottedChain.symmetric(20.0, high=20.0, low=10.0))
    >>> round(throughput(Parameters(link=link, room_packets=12)).utilisation, 2)
    0.93
    """
    return together.alone(solve(parameters))


def solve(parameters: Parameters) -> together.Computation[Result]:
    """`throughput` as a computation, many of which `together.run` solves at once."""
    path = _path(parameters)
    capacity = parameters.link.capacity
    wanted = ratcp_long_run.Wanted(path=path, capacity=capacity.transition, most=_MOST_STATES)
    found = yield ratcp_long_run.solve_all, wanted
    return Result(
        packets_per_slot=found.packets_per_slot,
        utilisation=found.packets_per_slot / capacity.mean,
        timeouts_per_slot=found.timeouts_per_slot,
        states=found.states,
        residual=found.residual,
        validity=_validity(parameters, path, found),
    )


def _path(parameters: Parameters) -> ratcp_chain.Path:
    rates, changes = parameters.link.capacity.capacity, parameters.link.capacity.transition
    whole = float(rates.max())
    windows = np.floor(parameters.link.advertised * parameters.known_slots + EPSILON) + parameters.backlog_packets
    ratcp = parameters.control == "ratcp"
    return ratcp_chain.Path(
        slot=round(whole) if abs(whole - round(whole)) < EPSILON else whole,
        room=parameters.room_packets,
        rate_window=tuple(np.maximum(1, windows).astype(int).tolist()) if ratcp else (),
        growth=1.0 if parameters.growth == "per-ack" else 0.5,
        clip_at_ack=True,
        service=tuple((whole / rates).tolist()),
        leads=tuple(tuple(np.flatnonzero(row).tolist()) for row in changes),
    )


def _validity(parameters: Parameters, path: ratcp_chain.Path, found: ratcp_long_run.Solution) -> tuple[str, ...]:
    notes = []
    slowest = float(parameters.link.capacity.capacity.min())
    if slowest < _FEW_PACKETS:
        notes.append(
            f"the slowest state carries {slowest:.2g} packets in a round trip: rounds of slow start take longer than a "
            "slot"
        )
    ratio = path.room / (path.slot + 1)
    if parameters.control == "tcp" and ratio <= timeout_cycle.SLOW_START_LOSES:
        notes.append(f"slow start loses packets in a buffer of {ratio:.2f} pipes: an upper bound")
    if parameters.control == "tcp" and found.timeouts_per_slot > _MANY_TIMEOUTS:
        notes.append(
            f"a timeout every {1 / found.timeouts_per_slot:.0f} round trips (below {1 / _MANY_TIMEOUTS:.0f}), and each "
            "costs more than the model has: an upper bound"
        )
    if found.slow_start_failure > _TRAPPED:
        notes.append(
            f"{found.slow_start_failure:.0%} of the slow starts overflow the buffer: the flow is trapped in timeouts "
            "until the rate or ssthresh is lower"
        )
    return tuple(notes)
