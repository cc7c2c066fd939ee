"""Throughput of TCP over rate control (ABR) on a link whose capacity varies, by Markov renewal analysis.

The path: an unlimited segmentation buffer, served at the rate that is fed back; a link with room for B_max packets
whose capacity is a Markov chain that may change every Delta; a round trip propagation delay Delta.  Time is cut into
slots of Delta.  At a slot's beginning there are a packets in the segmentation buffer, b at the link, d in the delay;
the link serves a packet in r, the source, which follows the link by one slot, in s.  With w = a + b + d

    N ~ Binomial(d, 1 / w)             growth of cwnd in the slot, at most W_max - w
    n  = min(a + d + N, Delta / s)     packets that enter the link
    a' = (a + d + N - Delta / s)+,  b' = (b + n - Delta / r)+,  d' = min(b + n, Delta / r)

and a packet is lost if n (1 - s / r) > B_max - b.  Without a loss the slot earns V = d in U = 1 slot.  With one, half
the window is m = ceil((w + N) / 2), the next state is (0, 0, m, ., .) after U = 3 + ceil(log2 m) slots, and

    V = d + b + (B_max - b) / (1 - s / r)  +  a + b + d + 1  +  (w + N) / 2 - 1      optimistic
    V = d                                                    +  (w + N) / 2 - 1      conservative

(packets before the lost one, packets after it, slow start).  The throughput is E V / (Delta E U).  TCP alone has no
segmentation buffer: acknowledgements arrive spaced by the service time of the slot before, each releases a packet into
the link, which serves s / r of one in between, and one that finds the buffer full is lost.

Source: [abr, §III]; readings: `varicap/papers/abr/README.md`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from varicap.analyse import together
from varicap.analyse.effective import SlottedChain, decay_of
from varicap.analyse.models import abr_chain, abr_slot
from varicap.analyse.models.ratcp_slot import EPSILON

ATM_SHARE = 48 / 53
"""Payload of an ATM cell over its size."""

# Rates between least and mean capacity that the search for the best one tries first, and the later refinements.
_RATES, _CLOSER = 25, 4
# Below this many packets per slot a round of slow start no longer fits into one.
_FEW_PACKETS = 2
# Delays for which a capacity lasts, from which on losses come as fast as the model has them.
_LASTS = 5
# Timeouts per delay up to which what they cost beyond the model's share stays below the bound of docs/models.md.
_MANY_TIMEOUTS = 1 / 70
# TCP alone loses packets in slow start below this ratio of buffer and pipe.  Source: [abr, §III-B], from [lakshman97].
_SLOW_START_LOSES = 1 / 3


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A session and its path.  Raises ``ValueError`` for values outside the model.

    The defaults are those of [abr, §V].  Capacities are shares of the whole one; times are in packets that it carries.
    """

    slot_packets: float = 40.0
    """Round trip propagation delay, Delta, in transmission times at the whole capacity [packets]."""
    buffer_packets: int = 10
    """Buffer of the link, B_max [packets]."""
    capacity: SlottedChain = field(default_factory=lambda: SlottedChain.symmetric(20.0))
    """Capacity of the link as a share of the whole capacity, in slots of Delta."""
    control: Literal["instcap", "constant", "tcp"] = "instcap"
    """The link's rate fed back one slot late, a constant rate, or TCP without rate control."""
    rate: float | None = None
    """Rate of the source for ``control="constant"``, as a share of the whole capacity."""
    advertised: tuple[float, ...] | None = None
    """Rate that the link advertises in each state for ``control="instcap"``, as a share of the whole capacity.
    Default: the capacity.  EFFCAP's states are those of `varicap.analyse.advertised`."""
    max_window: int = 64
    """Largest cwnd, W_max [packets]."""
    payload_share: float = ATM_SHARE
    """Share of the capacity that cells leave for packets; not applied to TCP alone."""

    def __post_init__(self) -> None:
        if self.control not in ("instcap", "constant", "tcp"):
            raise ValueError(f"control is 'instcap', 'constant' or 'tcp', not {self.control!r}")
        if not 0 < self.slot_packets < math.inf:
            raise ValueError(f"slot_packets is a positive number, not {self.slot_packets!r}")
        if not 0 < self.payload_share <= 1:
            raise ValueError(f"payload_share is more than 0 and at most 1, not {self.payload_share!r}")
        for name in ("buffer_packets", "max_window"):
            value = getattr(self, name)
            if isinstance(value, bool) or int(value) != value or value < 1:
                raise ValueError(f"{name} is a whole number, 1 or more, not {value!r}")
        if (self.rate is not None) != (self.control == "constant"):
            raise ValueError('a rate belongs to control="constant", and only there')
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise ValueError(f"rate is a positive share of the whole capacity, not {self.rate!r}")
        if self.advertised is not None and (
            self.control != "instcap" or len(self.advertised) != self.capacity.capacity.size
        ):
            raise ValueError('advertised rates belong to control="instcap", one for each state of the capacity')
        if not (self.capacity.capacity > 0).all():
            raise ValueError("the model has no outages: every state needs a capacity above 0 (the simulator has them)")
        if self.slot_packets * self.capacity.capacity.min() < 1:
            raise ValueError(
                f"the slowest state carries {self.slot_packets * self.capacity.capacity.min():.3g} packets in a delay: "
                "the model needs at least one"
            )


@dataclass(frozen=True, kw_only=True)
class Result:
    """The model's results for the session in the long run."""

    optimistic: float
    """Throughput as a share of the mean capacity if everything that reaches the receiver counts."""
    conservative: float
    """Throughput if, of a cycle with a loss, only acknowledged packets and slow start count."""
    loss_probability: float
    """Probability that a slot of congestion avoidance loses a packet [1]."""
    timeouts_per_slot: float
    """Timeouts in a delay Delta [1]."""
    states: int
    """States of the chain that recur."""
    residual: float
    """Sum of ``|pi P - pi|``: how well the stationary equation is met [1]."""
    validity: tuple[str, ...]
    """Assumptions of the model that these parameters strain; empty if none."""


def efficiency(parameters: Parameters) -> Result:
    """Long-run throughput as a share of the mean capacity, cells' headers counted as lost.

    Assumptions: the capacity changes at multiples of Delta only; the source's rate is constant in between; no loss in
    slow start; a timeout two slots after a loss.  The equations are at the top of this module.

    ==========  ======================  =======
    symbol      field                   unit
    ==========  ======================  =======
    Delta       `slot_packets`          packets
    B_max       `buffer_packets`        packets
    1/r         `capacity`              share
    W_max       `max_window`            packets
    ==========  ======================  =======

    Validity: capacities that last for five Delta or more, timeouts that are rare, and buffers that a change can
    overflow: where none can be lost the optimum that follows is an upper bound.  `Result.validity` says so.

    Source: [abr, §III, eqs. (10) to (21)].

    Examples
    --------
    >>> found = efficiency(Parameters(capacity=SlottedChain.symmetric(20.0)))
    >>> round(found.optimistic, 3), round(found.conservative, 3)
    (0.811, 0.762)
    """
    return together.alone(solve(parameters))


def solve(parameters: Parameters) -> together.Computation[Result]:
    """`efficiency` as a computation, many of which `together.run` solves at once."""
    found = yield abr_chain.solve_all, (_path(parameters), parameters.capacity.transition)
    payload = 1.0 if parameters.control == "tcp" else parameters.payload_share
    whole = parameters.slot_packets * parameters.capacity.mean / payload
    return Result(
        optimistic=found.optimistic / found.slots / whole,
        conservative=found.conservative / found.slots / whole,
        loss_probability=found.loss,
        timeouts_per_slot=found.loss / found.slots,
        states=found.states,
        residual=found.residual,
        validity=_validity(parameters, found.loss, found.loss / found.slots),
    )


def sweep(parameters: Parameters, mean_slots: Iterable[float]) -> list[Result]:
    """`efficiency` on a symmetric capacity that stays psi = `mean_slots` delays, a curve of [abr, Figs. 8 and 9].

    The two capacities are those of `parameters`.

    >>> [round(found.optimistic, 3) for found in sweep(Parameters(control="tcp"), (5.0, 50.0))]
    [0.544, 0.789]
    """
    high, low = float(parameters.capacity.capacity.max()), float(parameters.capacity.capacity.min())
    chains = (SlottedChain.symmetric(psi, high=high, low=low) for psi in mean_slots)
    return [efficiency(replace(parameters, capacity=chain)) for chain in chains]


@dataclass(frozen=True, kw_only=True)
class BestRate:
    """The constant rate that suits TCP best, and what it implies about the decay that TCP needs."""

    rate: float
    """Rate of the source, as a share of the whole capacity."""
    decay: float
    """The smallest delta whose effective capacity is this rate [1/packet]; times Delta, with the whole capacity as
    the unit per slot."""
    efficiency: float
    """Optimistic throughput at that rate, as a share of the mean capacity."""


def constant(parameters: Parameters, rate: float) -> Parameters:
    """The same path with a source that sends at a constant rate, a share of the whole capacity."""
    return replace(parameters, control="constant", rate=rate)


def best_constant_rate(parameters: Parameters) -> BestRate:
    """The experiment of [abr, §IV]: the constant rate between least and mean capacity that maximises TCP's throughput.

    Rates are tried evenly over the whole range, and then twice more finely around the best.  `control` and `rate`
    of the parameters are ignored.

    Examples
    --------
    >>> found = best_constant_rate(Parameters(capacity=SlottedChain.symmetric(5.0)))
    >>> round(found.rate, 2), round(found.decay, 2)
    (0.52, 0.32)
    """
    chain = parameters.capacity
    least, mean = chain.least, chain.mean
    step = (mean - least) / _RATES
    tried: dict[int, float] = {}  # by the number of the smallest steps above the least capacity
    finest = _CLOSER**2
    around, spacing = range(0, _RATES * finest, finest), finest
    while True:
        for number in around:
            if number not in tried:
                tried[number] = efficiency(constant(parameters, least + number * step / finest)).optimistic
        best = max(tried, key=lambda number: tried[number])
        if spacing == 1:
            break
        first, last = max(best - spacing, 0), min(best + spacing, _RATES * finest - 1)
        spacing //= _CLOSER
        around = range(first, last + 1, spacing)
    rate = least + best * step / finest
    per_packet = SlottedChain(chain.capacity * parameters.slot_packets, chain.transition)
    return BestRate(rate=rate, decay=decay_of(per_packet, rate * parameters.slot_packets), efficiency=tried[best])


def _path(parameters: Parameters) -> abr_slot.Path:
    capacity = tuple(parameters.capacity.capacity.tolist())
    source: tuple[float, ...] = ()
    if parameters.control == "instcap":
        source = capacity if parameters.advertised is None else parameters.advertised
    elif parameters.rate is not None:
        source = (parameters.rate,) * len(capacity)
    return abr_slot.Path(
        slot=parameters.slot_packets,
        capacity=capacity,
        source=source,
        buffer=parameters.buffer_packets,
        max_window=parameters.max_window,
        leads=tuple(tuple(np.flatnonzero(row).tolist()) for row in parameters.capacity.transition),
    )


def _validity(parameters: Parameters, lost: float, timeouts_per_slot: float) -> tuple[str, ...]:
    notes = []
    rates = parameters.capacity.capacity
    slowest = parameters.slot_packets * float(rates.min())
    if slowest < _FEW_PACKETS:
        notes.append(f"the slowest state carries {slowest:.2g} packets per delay: slow start takes longer than a slot")
    # A state that differs in what is advertised alone is no change of the capacity.
    leaving = (parameters.capacity.transition * (rates[:, None] != rates)).sum(axis=1)
    if (leaving > (1 + EPSILON) / _LASTS).any():
        notes.append(
            f"the capacity stays for {1 / leaving.max():.2g} delays (below {_LASTS}): losses come more slowly than the "
            "model has them"
        )
    if timeouts_per_slot > _MANY_TIMEOUTS:
        notes.append(
            f"a timeout every {1 / timeouts_per_slot:.0f} delays (below {1 / _MANY_TIMEOUTS:.0f}), and each costs more "
            "than the model has: an upper bound"
        )
    if parameters.control == "instcap" and rates.min() < rates.max() and lost == 0:
        notes.append("no change of the capacity can overflow the buffer within a slot: an upper bound")
    ratio = parameters.buffer_packets / (parameters.slot_packets * float(rates.max()) + 1)
    if parameters.control == "tcp" and ratio < _SLOW_START_LOSES:
        notes.append(f"slow start loses packets in a buffer of {ratio:.2f} pipes (below a third): an upper bound")
    return tuple(notes)
