"""Throughput of a persistent RATCP or TCP session among ephemeral sessions, by Markov renewal analysis.

The path: a link of C packets/s with room for B packets, and a round trip propagation delay Delta after it.  While m
ephemeral sessions are active they use m / (m + 1) of the link and the persistent session has R_m = C / (m + 1).

Time is cut into slots of Delta.  Per slot the sessions change from m to m + 1 with probability 1 - exp(-lambda Delta)
(for m < M_max), and to m - 1 with 1 - exp(-m / (m + 1) C / L Delta).  At a slot's beginning there are b packets at
the link and d in the delay, cwnd is w, and W_rate = floor(R_{m'} Delta) + beta with m' the sessions one slot ago.

    w+ = min(w, W_rate)            (w for TCP)
    h  = max(0, b + d - w+)        packets that must leave before cwnd grows again
    a  = max(0, d - h)             acknowledgements that count (none: case 1; h > 0: case 2; h = 0: case 3)
    N ~ Binomial(a, 1 / w+)        growth of cwnd in the slot, spread evenly over the a acknowledgements;
                                   for RATCP at most W_rate - w+, unless `clip` says otherwise

Acknowledgements arrive at rate R_{m'}, packets leave at R_m, and a packet that finds B others is lost.  Without a
loss the slot earns V = d packets in U = 1 slot.  With one, V = d + D_before_loss + D_slow_start in U = 3 + L_ss
slots, where D_before_loss = b + packets admitted before the loss, L_ss = ceil(log2 ssthresh) and D_slow_start =
ssthresh - 1; ssthresh is floor(cwnd / 2) for TCP and W_rate at the timeout for RATCP.  Rounds of slow start may
overflow the buffer: three more slots, and another slow start.  The throughput is E V / (Delta E U).

`ratcp_chain` turns this into a Markov chain, `ratcp_slot` holds the queue within a slot.  Source: [ratcp, §III];
where the paper leaves details to a thesis, the readings are those of `varicap/papers/ratcp/README.md`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from varicap.analyse import markov, together
from varicap.analyse.models import ratcp_chain, ratcp_long_run, timeout_cycle
from varicap.analyse.models.ratcp_slot import EPSILON

Array = NDArray[np.float64]

# A slot in which the number of sessions changes with more than this probability is too long for the model.
_MOVING_FAST = 0.5
# Below this many packets per slot a round of slow start no longer fits into one.
_FEW_PACKETS = 2
# Spurious losses per slot that random growth may cause with a full pipe: recoveries of ten slots then cost 0.1 %.
_INVENTED = 1e-4
# More failing slow starts than this are a trap rather than an accident.
_TRAPPED = 0.5


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A persistent session, its path, and the ephemeral sessions that share the link.

    Raises ``ValueError`` for values outside the model.  The defaults are those of [ratcp, §V-A].
    """

    capacity_pps: float = 200.0
    """Capacity of the link, C [packets/s].  Default: 0.8 Mb/s in packets of 500 B [ratcp, §V-A]."""
    delay_s: float = 0.1
    """Round trip propagation delay, Delta [s]; also the age of the feedback."""
    buffer_packets: int = 10
    """Buffer of the link, B [packets]."""
    counts_in_service: bool = True
    """Whether the buffer's limit includes the packet in service."""
    control: Literal["ratcp", "tcp"] = "ratcp"
    """RATCP-OldTahoe, or TCP-OldTahoe without feedback."""
    backlog_packets: int = 1
    """Target backlog of RATCP, beta [packets]."""
    known_rtt_s: float | None = None
    """RTT with which RATCP makes a window of the rate [s].  Default: the delay [ratcp, §V-A]."""
    arrival_rate: float = 0.0
    """Arrivals of ephemeral sessions, lambda [1/s]."""
    mean_session_packets: float = 400.0
    """Mean size of an ephemeral session, L [packets]; sizes are exponential."""
    max_sessions: int = 3
    """Most ephemeral sessions at a time, M_max; arrivals beyond are lost."""
    packet_bytes: float = 500.0
    """Size of a packet [B]."""
    growth: Literal["per-ack", "delayed"] = "per-ack"
    """Growth of cwnd in congestion avoidance: 1/cwnd per packet, or half of it as with delayed ACKs."""
    clip: Literal["slot", "ack"] = "ack"
    """When RATCP holds cwnd to W_rate: at each ACK as the protocol does [ratcp, §II-B], or at the beginning of a slot
    only as the paper's analysis does [ratcp, §III], where growth within a slot invents losses in small buffers."""

    def __post_init__(self) -> None:
        _positive("capacity_pps", self.capacity_pps)
        _positive("delay_s", self.delay_s)
        _positive("mean_session_packets", self.mean_session_packets)
        _positive("packet_bytes", self.packet_bytes)
        if self.known_rtt_s is not None:
            _positive("known_rtt_s", self.known_rtt_s)
        _whole("buffer_packets", self.buffer_packets, least=1)
        _whole("backlog_packets", self.backlog_packets, least=0)
        _whole("max_sessions", self.max_sessions, least=0)
        if not 0 <= self.arrival_rate < np.inf:
            raise ValueError(f"arrival_rate is a number of sessions per second, 0 or more, not {self.arrival_rate!r}")
        _one_of("control", self.control, ("ratcp", "tcp"))
        _one_of("growth", self.growth, ("per-ack", "delayed"))
        _one_of("clip", self.clip, ("slot", "ack"))
        if self.slot < 1:
            raise ValueError(
                f"capacity times delay is {self.slot:.3g} packets: the model needs at least one packet in flight; "
                "the queue, not the window, decides on such a path"
            )
        up, down = self._changes()
        if (up + down).max() > 1:
            m = int((up + down).argmax())
            raise ValueError(
                f"with {m} sessions the next change comes within one delay of {self.delay_s:g} s (probabilities "
                f"{up[m]:.3g} up, {down[m]:.3g} down): the feedback is older than the sessions that it is about"
            )

    @classmethod
    def from_bits(
        cls, *, capacity_bps: float, packet_bytes: float, mean_session_bytes: float, **others: object
    ) -> Self:
        """Parameters from a capacity in b/s and sizes in bytes; the rest as in the class.

        >>> Parameters.from_bits(capacity_bps=0.8e6, packet_bytes=500, mean_session_bytes=200e3) == Parameters()
        True
        """
        _positive("packet_bytes", packet_bytes)
        return cls(
            capacity_pps=capacity_bps / 8 / packet_bytes,
            mean_session_packets=mean_session_bytes / packet_bytes,
            packet_bytes=packet_bytes,
            **others,  # type: ignore[arg-type]  # checked by the class
        )

    @property
    def slot(self) -> float:
        """Packets that the whole capacity carries in one delay, C Delta."""
        exact = self.capacity_pps * self.delay_s
        return round(exact) if abs(exact - round(exact)) < EPSILON else exact

    @property
    def rate_windows(self) -> NDArray[np.int64]:
        """W_rate by the number of sessions, floor(R_m Delta) + beta, never below one packet; shape (M_max + 1,)."""
        sessions = np.arange(self.max_sessions + 1)
        known = self.slot if self.known_rtt_s is None else self.capacity_pps * self.known_rtt_s
        carried = np.floor(known / (sessions + 1) + EPSILON).astype(np.int64)
        return np.maximum(1, carried + self.backlog_packets)

    def _changes(self) -> tuple[Array, Array]:
        """Probabilities per slot of one session more and of one less, by the number of sessions."""
        m = np.arange(self.max_sessions + 1)
        up = np.where(m < self.max_sessions, -np.expm1(-self.arrival_rate * self.delay_s), 0.0)
        leaving_rate = m / (m + 1) * self.capacity_pps / self.mean_session_packets
        return up, -np.expm1(-leaving_rate * self.delay_s)


@dataclass(frozen=True, kw_only=True)
class Result:
    """The model's results for the persistent session in the long run."""

    throughput_pps: float
    """Packets delivered per second [packets/s]."""
    throughput_Bps: float  # noqa: N815 -- B/s, not b/s
    """The throughput in bytes [B/s]."""
    fair_share_pps: float
    """Mean of the session's share of the capacity, E C / (M + 1) [packets/s]: what an ideal session would get."""
    loss_probability: float
    """Probability that a slot of congestion avoidance loses a packet, E p_loss [1]."""
    slow_start_failure: float
    """Probability that a slow start overflows the buffer [1]; 0 if there is none."""
    timeouts_per_s: float
    """Timeouts per second [1/s]."""
    mean_cycle_s: float
    """Mean time between renewal epochs, E U [s]."""
    states: int
    """States of the chain that recur."""
    residual: float
    """Sum of ``|pi P - pi|``: how well the stationary equation is met [1]."""
    validity: tuple[str, ...]
    """Assumptions of the model that these parameters strain; empty if none."""


def session_chain(parameters: Parameters) -> Array:
    """Transition matrix of the number of ephemeral sessions from slot to slot, shape (M_max + 1, M_max + 1).

    Source: [ratcp, §III] with exponential sizes: m sessions share m / (m + 1) of the capacity.

    >>> session_chain(Parameters(arrival_rate=1.0, max_sessions=1)).round(4).tolist()
    [[0.9048, 0.0952], [0.0247, 0.9753]]
    """
    up, down = parameters._changes()
    return np.asarray(np.diag(up[:-1], 1) + np.diag(down[1:], -1) + np.diag(1 - up - down))


def session_distribution(parameters: Parameters) -> Array:
    """Stationary distribution of the number of ephemeral sessions, shape (M_max + 1,)."""
    up, down = parameters._changes()
    return markov.birth_death(up[:-1], down[1:])


def throughput(parameters: Parameters) -> Result:
    """Long-run throughput of the persistent session.

    Assumptions: sources send as soon as the window allows; ACKs arrive at the rate of one slot ago; the number of
    sessions changes at the ends of slots only; a loss costs a timeout; RATCP does not follow W_rate during slow
    start.  The equations are at the top of this module.

    ==========  ======================  ===========
    symbol      field                   unit
    ==========  ======================  ===========
    C           `capacity_pps`          packets/s
    Delta       `delay_s`               s
    B           `buffer_packets`        packets
    beta        `backlog_packets`       packets
    lambda      `arrival_rate`          sessions/s
    L           `mean_session_packets`  packets
    M_max       `max_sessions`
    ==========  ======================  ===========

    Validity: the rate changes slowly compared with Delta; C Delta / (M_max + 1) is some packets; with ``clip="slot"``
    also beta < B - 2, and less in buffers below 8.  `Result.validity` says which of these fails.

    Source: [ratcp, §III, eq. (1)].

    Examples
    --------
    >>> round(throughput(Parameters(arrival_rate=0)).throughput_Bps / 1e3, 2)
    100.0
    """
    return together.alone(solve(parameters))


def solve(parameters: Parameters) -> together.Computation[Result]:
    """`throughput` as a computation, many of which `together.run` solves at once."""
    path = _path(parameters)
    states = len(path.service)
    changes = session_chain(parameters)[:states, :states]
    found = yield ratcp_long_run.solve_all, ratcp_long_run.Wanted(path=path, capacity=changes)
    packets_per_s = found.packets_per_slot / parameters.delay_s
    sessions = session_distribution(parameters)
    return Result(
        throughput_pps=packets_per_s,
        throughput_Bps=packets_per_s * parameters.packet_bytes,
        fair_share_pps=float(sessions @ (parameters.capacity_pps / (np.arange(sessions.size) + 1))),
        loss_probability=found.loss_probability,
        slow_start_failure=found.slow_start_failure,
        timeouts_per_s=found.timeouts_per_slot / parameters.delay_s,
        mean_cycle_s=found.cycle_slots * parameters.delay_s,
        states=found.states,
        residual=found.residual,
        validity=_validity(parameters, path, found.slow_start_failure),
    )


def sweep(parameters: Parameters, arrival_rates: Sequence[float]) -> list[Result]:
    """`throughput` at several arrival rates: a row of [ratcp, Table I].  The states are found once."""
    return [throughput(replace(parameters, arrival_rate=rate)) for rate in arrival_rates]


def _path(parameters: Parameters) -> ratcp_chain.Path:
    alone = parameters.arrival_rate == 0 or parameters.max_sessions == 0
    most = 0 if alone else parameters.max_sessions
    windows = parameters.rate_windows[: most + 1]
    return ratcp_chain.Path(
        slot=parameters.slot,
        room=parameters.buffer_packets + (0 if parameters.counts_in_service else 1),
        rate_window=tuple(windows.tolist()) if parameters.control == "ratcp" else (),
        growth=1.0 if parameters.growth == "per-ack" else 0.5,
        clip_at_ack=parameters.clip == "ack",
        service=tuple(float(m + 1) for m in range(most + 1)),
        leads=tuple(tuple(range(max(m - 1, 0), min(m + 1, most) + 1)) for m in range(most + 1)),
    )


def _validity(parameters: Parameters, path: ratcp_chain.Path, failure: float) -> tuple[str, ...]:
    changes = len(path.service) > 1
    notes = list(_alone(parameters, path)) if not changes else []
    up, down = parameters._changes()
    if changes and (up + down).max() > _MOVING_FAST:
        notes.append(
            f"the number of sessions changes in a slot with probability {(up + down).max():.2f}: "
            "a rate that is constant over a delay is a poor picture"
        )
    slowest = path.slot / path.service[-1]
    if slowest < _FEW_PACKETS:
        notes.append(
            f"with {len(path.service) - 1} sessions the link carries {slowest:.2g} packets per delay: "
            "rounds of slow start take longer than a slot"
        )
    ratio = path.room / (path.slot + 1)
    if changes and parameters.control == "tcp" and ratio <= timeout_cycle.SLOW_START_LOSES:
        notes.append(f"slow start loses packets in a buffer of {ratio:.2f} pipes: an upper bound")
    if parameters.control == "ratcp" and parameters.clip == "slot":
        invented = ratcp_chain.overshoot(path, parameters.backlog_packets)
        if invented > _INVENTED:
            notes.append(
                f"beta = {parameters.backlog_packets} is close to B = {parameters.buffer_packets}: growth within a slot"
                f" overflows the buffer in {invented:.1e} of the slots with a full pipe, which the protocol prevents"
                ' (clip="ack" does too)'
            )
    if failure > _TRAPPED:
        notes.append(
            f"{failure:.0%} of the slow starts overflow the buffer: "
            "the session is trapped in timeouts until the rate or ssthresh is lower"
        )
    return tuple(notes)


def _alone(parameters: Parameters, path: ratcp_chain.Path) -> Iterator[str]:
    """The chain begins with a full pipe: without sessions it may never see how a slow start would have ended."""
    window = path.rate_window[0] if path.rate_window else None
    exact = timeout_cycle.throughput(
        timeout_cycle.Parameters(
            capacity_pps=parameters.capacity_pps,
            delay_s=parameters.delay_s,
            room_packets=path.room,
            rate_window=window,
            timer=timeout_cycle.Timer(factor=2.0),
        )
    )
    yield from exact.validity


def _positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{name} is a positive number, not {value!r}")


def _whole(name: str, value: int, *, least: int) -> None:
    if isinstance(value, bool) or int(value) != value or value < least:
        raise ValueError(f"{name} is a whole number, {least} or more, not {value!r}")


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {' or '.join(map(repr, choices))}, not {value!r}")
