"""A scenario as typed values: `Scenario(duration="60 s", topology=Dumbbell(…), flows={"reno": Flow(…)})`.

Written by tools/generate_scenario.py from schema/scenario.schema.json; changes here are lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from varicap.scenario.part import Part, ScenarioFile

Span: TypeAlias = str
"""A length of time with its unit, such as "50 ms"."""

Stack: TypeAlias = Literal["linux", "rfc", "bsd-tahoe", "bsd-reno", "ns-1", "ns-2", "ns-2.35"]
"""Whose habits a connection has."""

Reduction: TypeAlias = Literal["at-once", "prr"]
"""How the window falls in recovery."""

EchoCheck: TypeAlias = Literal["always", "cumulative"]
"""Which retransmissions a timestamp is to confirm."""


@dataclass(frozen=True, kw_only=True)
class Rack(Part):
    """Recovery by time. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "rack"

    reduction: Reduction | None = None
    """How the window falls in recovery. Default: at-once (RFC 6675 §5; Linux: prr)."""
    tail_loss_probe: bool | None = None
    """Whether a silent tail is probed after two smoothed RTTs and what the clock adds, before the retransmission timer
    expires and no later than that, whichever `timer` there is (RFC 8985 §7).

    The probe of a single segment, of which the acknowledgement may be delayed, waits for two smoothed RTTs and
    `timer.linux.minimum` as in Linux, or with any other timer 200 ms (TLP.max_ack_delay), whatever its least RTO.
    Default: true.
    """
    frto: bool | None = None
    """Whether new data tests if a timeout was spurious (RFC 5682). Default: false (Linux: true)."""
    undo: bool | None = None
    """Whether a reduction of the window is undone that turns out to have answered no loss, by timestamps (RFC 4015) or
    reported duplicates (RFC 3708).

    Default: false (Linux: true).
    """
    keep_in_flight: bool | None = None
    """Whether the window after a timeout has room for a segment beyond what left too recently to be lost; else for one
    segment in all (RFC 5681 §3.1).

    Default: false (Linux: true).
    """
    check_echo: EchoCheck | None = None
    """Which retransmissions, once delivered, must be no younger than the timestamp that comes back, where there are
    timestamps, to show that others are lost (RFC 8985 §6.2 step 2).

    Default: always (Linux: cumulative).
    """


Recovery: TypeAlias = Literal["old-tahoe", "tahoe", "reno", "newreno", "sack", "rack"] | Rack
"""The rule by which data is retransmitted and recovery ends."""

Increase: TypeAlias = Literal["per-window", "per-ack", "per-ack-and-eighth"]
"""By how much congestion avoidance opens the window."""


@dataclass(frozen=True, kw_only=True)
class PlusPlus(Part):
    """HyStart++. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "plus-plus"

    limit: int | None = None
    """Most segments that one acknowledgement may add (RFC 9406's L), whatever the connection's `counting` allows.

    Default: 8, and no limit where segments are paced (RFC 9406 §4.3).
    """


Hystart: TypeAlias = Literal["none", "linux", "plus-plus"] | PlusPlus
"""When slow start ends before a loss."""


@dataclass(frozen=True, kw_only=True)
class Reno(Part):
    """How the window of RFC 5681 grows. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "reno"

    byte_counting: int | None = None
    """Appropriate byte counting: the most MSS that one ACK may add in slow start (RFC 3465's L), after timeouts too.

    Default: as the connection's `counting` says.
    """
    increase: Increase | None = None
    """By how much congestion avoidance opens the window. Default: per-window (what RFC 5681 §3.1 recommends)."""
    slow_start_at_ssthresh: bool | None = None
    """Whether a window that equals ssthresh opens as in slow start, once more by a segment (RFC 5681 §3.1 allows both).

    Default: false (4.3BSD: true).
    """
    hystart: Hystart | None = None
    """When slow start ends before a loss. Default: none (RFC 5681)."""


Alpha: TypeAlias = Literal["rfc9438", "constant"]
"""By how much CUBIC's estimate of Reno's window grows per round trip, in its Reno-friendly region."""

Arithmetic: TypeAlias = Literal["rfc9438", "linux"]
"""The numbers that CUBIC's congestion avoidance computes with."""


@dataclass(frozen=True, kw_only=True)
class Cubic(Part):
    """The constants of RFC 9438. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "cubic"

    beta: float | None = None
    """Multiplicative decrease factor. Default: 0.7 (RFC 9438 §4.6)."""
    c: float | None = None
    """Scaling constant C [MSS/s^3]. Default: 0.4 (RFC 9438 §5.1)."""
    fast_convergence: bool | None = None
    """Fast convergence (RFC 9438 §4.7). Default: true."""
    reno_friendly: bool | None = None
    """At least as fast as Reno (RFC 9438 §4.3). Default: true."""
    alpha: Alpha | None = None
    """By how much the estimate of Reno's window grows. Default: rfc9438."""
    arithmetic: Arithmetic | None = None
    """The numbers that congestion avoidance computes with. Default: rfc9438."""
    hertz: int | None = None
    """Ticks per second of the clock by which it computes with `arithmetic = "linux"`, 1 to 1000.

    Default: 1000 (most Linux hosts: 250).
    """
    hystart: Hystart | None = None
    """When slow start ends before a loss. Default: none."""


Amount: TypeAlias = str
"""An amount such as "64 kB", "10 packets", "1.5 bdp" or "unlimited"."""


@dataclass(frozen=True)
class Known(Part):
    """A given one, known beforehand."""

    _tag: ClassVar[str] = "known"
    _bare: ClassVar[bool] = True

    value: Span


RateRtt: TypeAlias = Literal["base", "smoothed"] | Known
"""The RTT with which a rate becomes a window."""


@dataclass(frozen=True, kw_only=True)
class Ratcp(Part):
    """How the advertised rate becomes a window.

    Source: [ratcp, §II]. A key that is None is as the stack says, or has its default.
    """

    _tag: ClassVar[str] = "ratcp"

    beta: Amount | None = None
    """Target backlog beta at the bottleneck, in whole packets beyond rate times RTT. Default: 1 packets."""
    rtt: RateRtt | None = None
    """Which RTT is multiplied with the rate. Default: base."""
    pacing: bool | None = None
    """Whether packets are spaced at the advertised rate instead of sent as acknowledgements come. Default: false."""


RttBase: TypeAlias = Literal["smoothed", "base"]
"""Which round-trip time a rule uses."""

Growth: TypeAlias = Literal["reno", "cubic"]
"""How the variable part of a window with a reserved part opens and falls."""


@dataclass(frozen=True, kw_only=True)
class RateAdaptiveWindow(Part):
    """How a window with a reserved part moves.

    Source: [minrate, Fig. 8]. A key that is None is as the stack says, or has its default.
    """

    _tag: ClassVar[str] = "rate-adaptive-window"

    rtt: RttBase | None = None
    """Which RTT makes the reserved rate a window.

    Default: base (the least RTT seen: the conservative choice of [minrate, §IV-B]).
    """
    grow: Growth | None = None
    """How the variable part opens and falls. Default: reno, as in [minrate]; cubic goes beyond the paper."""


@dataclass(frozen=True, kw_only=True)
class Vegas(Part):
    """How much may wait in the bottleneck's queue.

    Source: [brakmo95, §3.2]. A key that is None is as the stack says, or has its default.
    """

    _tag: ClassVar[str] = "vegas"

    alpha: Amount | None = None
    """With less than this in the queue, the window opens. Default: 2 packets (Linux)."""
    beta: Amount | None = None
    """With more than this in the queue, the window closes. Default: 4 packets (Linux)."""
    gamma: Amount | None = None
    """With more than this in the queue, slow start ends. Default: 1 packets (Linux)."""


@dataclass(frozen=True, kw_only=True)
class Dctcp(Part):
    """DCTCP's average of marked data.

    Source: RFC 8257 §4.2. A key that is None is as the stack says, or has its default.
    """

    _tag: ClassVar[str] = "dctcp"

    gain: float | None = None
    """Weight of the newest window of data in the average (g). Default: 0.0625 (RFC 8257 §4.2)."""
    initial_alpha: float | None = None
    """The average before anything was marked (alpha).

    Default: 1.0 (RFC 8257 §3.3: the first mark halves the window).
    """


@dataclass(frozen=True, kw_only=True)
class Prague(Part):
    """TCP Prague. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "prague"

    virtual_rtt: Span | None = None
    """Least round trip by which a flow behaves (RTT_VIRT_MIN); 0 s: each by its own.

    Default: 25 ms (draft-04 §2.4.4).
    """
    transition: int | None = None
    """Round trips after slow start until a flow behaves by it. Default: 500 (draft-04 §2.4.4)."""
    classic_fallback: bool | None = None
    """Whether marks that seem to be those of a classic queue, which marks by RFC 3168 and delays, take a third of the
    window, as they do from CUBIC.

    Default: false (as in Linux's module; RFC 9331 §4.3 leaves it to the configuration).
    """


@dataclass(frozen=True, kw_only=True)
class Copa(Part):
    """How much delay is worth. Source: [arun18, §2]. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "copa"

    delta: float | None = None
    """How much more delay counts than throughput, per packet (delta): the target rate is `1 / (delta * dq)`, dq being
    the queueing delay.

    From 0.001 to 100. Default: 0.5.
    """
    competes: bool | None = None
    """Whether it finds out that others fill the buffer, and then competes with them (mode switching). Default: true."""


@dataclass(frozen=True, kw_only=True)
class Bbr3(Part):
    """Settings of BBR version 3; all other constants are the draft's.

    A key that is None is as the stack says, or has its default.
    """

    _tag: ClassVar[str] = "bbr3"

    offload_quanta: int | None = None
    """Data that offload to network cards may hold back at both ends, which is always allowed in flight: this many send
    quanta of a millisecond at the pacing rate, and at least two segments each.

    0: no offload, so that four segments are the least. Default: 3, as for TCP in draft-ietf-ccwg-bbr-06 §5.5.8.1.
    """


Cadence: TypeAlias = str
"""A time, or whole acknowledgements or round trips, such as "10 ms", "4 acks" or "1 rtt"."""

Moves: TypeAlias = Literal["window", "rate", "window-and-rate"]
"""The quantity that a policy moves."""


@dataclass(frozen=True, kw_only=True)
class Policy(Part):
    """A policy, and how often it is asked. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "policy"

    file: str | None = None
    """The file with the policy: a network in ONNX (`.onnx`), or layers as NumPy arrays (`.npz`)."""
    custom: str | None = None
    """A policy in Python instead, by the name under which it was given to `varicap.run`."""
    interval: Cadence | None = None
    """From one action to the next.

    A time such as `"10 ms"`: at each multiple of it, all connections of the flow act. Or what each connection counts by
    itself: so many acknowledgements (`"4 acks"`), or round trips of data (`"1 rtt"`); it acts at the instant of the
    last of them, after what that let go. Default: 10 ms.
    """
    moves: Moves | None = None
    """The quantity that it moves. Default: the window."""
    step: float | None = None
    """Doublings of the window or rate by an action of 1: an action a multiplies it by 2 to the step a.

    Default: 0.25.
    """
    history: int | None = None
    """The number of intervals that an observation describes, the last one first. Default: 1."""


@dataclass(frozen=True)
class Custom(Part):
    """One written in Python, by the name under which it was given to `varicap.run`."""

    _tag: ClassVar[str] = "custom"
    _bare: ClassVar[bool] = True

    value: str


@dataclass(frozen=True)
class Module(Part):
    """One in C for Linux in simulated time, by its file's name; `--module` gives the file."""

    _tag: ClassVar[str] = "module"
    _bare: ClassVar[bool] = True

    value: str


Congestion: TypeAlias = (
    Literal[
        "reno",
        "cubic",
        "ratcp",
        "rate-adaptive-window",
        "vegas",
        "dctcp",
        "prague",
        "copa",
        "bbr",
        "bbr3",
        "accel-brake",
        "policy",
    ]
    | Reno
    | Cubic
    | Ratcp
    | RateAdaptiveWindow
    | Vegas
    | Dctcp
    | Prague
    | Copa
    | Bbr3
    | Policy
    | Custom
    | Module
)
"""How much may be in flight."""


@dataclass(frozen=True, kw_only=True)
class Rfc6298Timer(Part):
    """RFC 6298's timer. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "rfc6298"

    minimum: Span | None = None
    """Least RTO. Default: 1 s (RFC 6298 §2.4; Linux has 200 ms)."""
    initial: Span | None = None
    """RTO before the first sample. Default: 1 s (RFC 6298 §2.1)."""
    maximum: Span | None = None
    """Largest RTO. Default: 60 s (RFC 6298 §2.5)."""
    granularity: Span | None = None
    """Clock granularity G: RTT samples and RTOs are rounded up to it. Default: 1 ms."""


@dataclass(frozen=True, kw_only=True)
class LinuxTimer(Part):
    """Linux's timer. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "linux"

    minimum: Span | None = None
    """Least deviation that is added to the smoothed RTT, so that the RTO is at least the smoothed RTT plus this (RFC
    6298 bounds the RTO as a whole).

    The probe of a tail that is a single segment waits for as much more than two smoothed RTTs
    (`tcp_schedule_loss_probe`). Default: 200 ms (net.ipv4.tcp_rto_min_us).
    """
    initial: Span | None = None
    """RTO before the first sample. Default: 1 s."""
    maximum: Span | None = None
    """Largest RTO. Default: 120 s (net.ipv4.tcp_rto_max_ms)."""
    hertz: int | None = None
    """Ticks of the kernel's clock in a second: RTOs are whole ticks. Default: 250 (most distributions)."""
    wheel: bool | None = None
    """Whether a timer fires where Linux's timer wheel does: in the next tick and, the longer it is, at coarser steps
    (32 ms above 252 ms, 256 ms above 2 s).

    Default: true.
    """
    long_first: bool | None = None
    """Whether of the timers that the wheel fires in one tick the longest are first, a nanosecond before those of the
    next finer step: that is the order of Linux on a single processor.

    With several each has a wheel of its own, and their ticks are apart. Default: false, in the order of the flows.
    """
    linear_syn_timeouts: int | None = None
    """How often a SYN times out before its RTO begins to double.

    Default: 4 (net.ipv4.tcp_syn_linear_timeouts; RFC 6298 doubles at once: 0).
    """
    retries2: int | None = None
    """A connection gives up when the timer expires and nothing has been answered for as long as so many retransmissions
    take that begin with an RTO of 200 ms: 924.6 s for 15, if `maximum` is 120 s.

    So it does after so many probes of a closed window that are not answered. 0 to 255. Default: 15
    (net.ipv4.tcp_retries2).
    """
    syn_retries: int | None = None
    """It gives up when so many SYNs beside the first one and `linear_syn_timeouts` others were not answered.

    1 to 127. Default: 6 (net.ipv4.tcp_syn_retries): 131 s.
    """


TickSamples: TypeAlias = Literal["crossed", "at-least-one", "nearest"]
"""How a round trip is counted in ticks."""


@dataclass(frozen=True, kw_only=True)
class TickTimer(Part):
    """A coarse tick timer. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "ticks"

    tick: Span | None = None
    """Length of a tick. Default: 500 ms (BSD)."""
    minimum_ticks: int | None = None
    """Least RTO in ticks. Default: 2."""
    initial: Span | None = None
    """RTO before the first sample. Default: 6 s."""
    maximum: Span | None = None
    """Largest RTO. Default: 64 s."""
    deviations: int | None = None
    """Deviations (RTTVAR) that are added to SRTT. Default: 4 (Jacobson 1990; 4.3BSD-Tahoe: 2)."""
    maximum_backoff: int | None = None
    """By how much expiries in a row multiply the RTO at most.

    Default: 64 (`tcp_backoff` of 4.3BSD, `t_backoff_` of ns-2).
    """
    samples: TickSamples | None = None
    """How a round trip is counted in ticks. Default: crossed (4.3BSD)."""
    on_tick: bool | None = None
    """Whether a timer ends with a tick of the clock, up to one tick early.

    Default: true (4.3BSD; ns-2: false, when its time is over).
    """


@dataclass(frozen=True, kw_only=True)
class MultipleTimer(Part):
    """An RTO that is a fixed multiple of the RTT. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "multiple"

    factor: float | None = None
    """RTO = factor x RTT. Default: 2."""
    of: RttBase | None = None
    """Which RTT is multiplied. Default: smoothed."""
    initial: Span | None = None
    """RTO before the first sample. Default: 1 s."""
    maximum: Span | None = None
    """Largest RTO. Default: 60 s."""
    backoff: bool | None = None
    """Whether the RTO doubles at each expiry. Default: true."""


Timer: TypeAlias = (
    Literal["rfc6298", "linux", "ticks", "multiple"] | Rfc6298Timer | LinuxTimer | TickTimer | MultipleTimer
)
"""The retransmission timer."""

BufferGrowth: TypeAlias = Literal["rcvbuf-grow", "space-adjust"]
"""How the buffer of a receiver grows."""


@dataclass(frozen=True, kw_only=True)
class DelayedAck(Part):
    """Delayed acknowledgements.

    The defaults are the standard's; what Linux does beyond it is an option each. A key that is None is as the stack
    says, or has its default.
    """

    _tag: ClassVar[str] = "delayed"

    segments: int | None = None
    """Full-sized segments per acknowledgement. Default: 2."""
    timeout: Span | None = None
    """Longest delay of an acknowledgement, at most 500 ms (RFC 5681 §4.2); the least one if there is a `maximum`.

    Default: 40 ms (Linux's least).
    """
    maximum: Span | None = None
    """The delay follows the pauses between segments, from `timeout` up to this and to the round-trip time of the
    handshake, and doubles whenever it was waited for in vain.

    Default: none, a fixed delay (Linux: 200 ms).
    """
    quick: int | None = None
    """Most segments that are acknowledged at once, each by itself: at the beginning, after a pause of more than an RTO
    and after a duplicate, though not more than half of the advertised window holds; two after a congestion mark and
    after data without ECT where other data had it, and one that says that the window fell (CWR).

    Default: 0, none of these (Linux: 16).
    """
    count_bytes: bool | None = None
    """Whether `segments` counts bytes, so that an acknowledgement is due when more than `segments` - 1 full-sized
    segments have come, whatever their number.

    Default: false (RFC 1122 and Linux: true).
    """
    short_at_once: bool | None = None
    """Whether a segment shorter than the MSS is acknowledged as soon as the application has read it, as the end of what
    the sender had to say; the second one where data that goes the other way may carry the acknowledgement.

    Default: false (Linux: true).
    """
    pushed_at_once: bool | None = None
    """Whether a full-sized segment with which a write of the application ends (PSH, RFC 9293 §3.9.1.2) is acknowledged
    as soon as the application there has read it, too, unless data that goes the other way may carry the
    acknowledgement: of a source that writes packet by packet each packet is.

    Default: false (Linux since 6.6: true).
    """
    sack_compression: Span | None = None
    """Out-of-order data beyond the third segment since data last came in order is acknowledged together, after this or
    a twentieth of the handshake's round-trip time, and after 44 segments at the latest (RFC 5681 §4.2 wants an
    acknowledgement of each).

    Default: none (Linux with SACK: 1 ms).
    """
    autotuning: bool | None = None
    """Whether the receiver's window begins at 64 KiB and grows with what the application reads in a round trip, and
    each segment that lets it grow is acknowledged at once: in slow start mostly all of them.

    What is advertised is `receive_window` nevertheless. Default: false (Linux: true, `tcp_moderate_rcvbuf`).
    """
    buffer_growth: BufferGrowth | None = None
    """By which of Linux's rules the buffer grows that limits that window. Default: rcvbuf-grow."""
    hertz: int | None = None
    """Ticks of the receiver's clock in a second, at least four: pauses are measured in them, and a delayed
    acknowledgement leaves at the end of the one in which it is due, though not after 500 ms.

    Default: none, an exact clock (Linux: 250, on most distributions).
    """


AckPolicy: TypeAlias = Literal["every", "delayed"] | DelayedAck
"""When the receiver acknowledges."""

SackList: TypeAlias = Literal["held", "linux"]
"""Which SACK blocks a receiver reports."""

Bytes: TypeAlias = str
"""An amount of data with its unit, such as "64 kB"."""

AfterLostSyn: TypeAlias = Literal["one-segment", "linux"]
"""The first congestion window of a connection whose SYN timed out.

What is restarted after idle begins with `initial_window` in any case (RFC 5681 §4.1).
"""

RttSamples: TypeAlias = Literal["every-ack", "one-per-window"]
"""Which acknowledgements give an RTT sample."""

AfterTimeout: TypeAlias = Literal["go-back-n", "first-hole"]
"""The data that a sender without SACK resends after a timeout."""

TahoeResends: TypeAlias = Literal["go-back-n", "lost-segment"]
"""The data that Tahoe's fast retransmit resends."""

AfterRecovery: TypeAlias = Literal["flight-size", "ssthresh"]
"""NewReno's window when its recovery ends. Source: RFC 6582 §3.2 (3)."""

Nagle: TypeAlias = Literal["off", "rfc896", "minshall"]
"""Which segments that are shorter than the MSS wait. Source: RFC 896; RFC 9293 §3.7.4."""


@dataclass(frozen=True, kw_only=True)
class PacingRatios(Part):
    """By how much the pacing rate exceeds a window per round trip.

    A key that is None is as the stack says, or has its default.
    """

    _tag: ClassVar[str] = "linux"

    slow_start: float | None = None
    """Ratio while cwnd is less than half of ssthresh (Linux's tcp_pacing_ss_ratio, in hundredths). Default: 2."""
    avoidance: float | None = None
    """Ratio otherwise (tcp_pacing_ca_ratio). Default: 1.2."""


Pacing: TypeAlias = Literal["off", "linux"] | PacingRatios
"""The spacing of segments over the round trip."""


@dataclass(frozen=True, kw_only=True)
class ByteCounting(Part):
    """Appropriate byte counting. A key that is None is as the stack says, or has its default."""

    _tag: ClassVar[str] = "bytes"

    limit: int | None = None
    """Most segments that one acknowledgement may add in slow start (RFC 3465's L); after a timeout it is one.

    Default: 2.
    """


Counting: TypeAlias = Literal["acks", "bytes", "segments"] | ByteCounting
"""How much of what an acknowledgement covers opens the window."""

GrowWhen: TypeAlias = Literal["window-limited", "window-used", "max-fs", "always"]
"""When acknowledgements may open the window."""

Validation: TypeAlias = Literal["restart", "decay"]
"""The fate of a window that is not used."""

WindowProbe: TypeAlias = Literal["byte", "old-sequence"]
"""The probe that asks a receiver whose window is closed whether it has opened."""

Halving: TypeAlias = Literal["flight-size", "window", "offered-window"]
"""From what ssthresh is computed when the window falls."""

Rounding: TypeAlias = Literal["none", "ssthresh", "window"]
"""The quantities that are rounded down to whole segments when the window falls; ssthresh is at least two."""


@dataclass(frozen=True, kw_only=True)
class AccurateEcn(Part):
    """Accurate ECN.

    RFC 9768 §3.1.1 asks hosts that have it and SACK for D-SACK, too: that is `dsack`. A key that is None is as the
    stack says, or has its default.
    """

    _tag: ClassVar[str] = "accurate"

    option: bool | None = None
    """Whether acknowledgements carry the option that counts marked bytes, too: 8 bytes each, and one SACK block less
    (RFC 9768 §3.2.3).

    Default: true.
    """
    as_linux: bool | None = None
    """Whether the sender does as Linux where that is not what the standards say: what it sends again is ECN-capable,
    too (RFC 3168 §6.1.5 forbids that, RFC 8311 §4.3 lets experiments do it), and where acknowledgements cover more than
    four packets on average and no option tells, the count moved by no more than it must have (Linux 7.0; RFC 9768
    appendix A.2 takes the most).

    Default: false.
    """


EcnMode: TypeAlias = bool | Literal["none", "classic", "accurate"] | AccurateEcn
"""Explicit congestion notification: which feedback the connection negotiates."""


@dataclass(frozen=True, kw_only=True)
class Tcp(Part):
    """One TCP connection: recovery, congestion control, timer and receiver, each chosen by name.

    A key that is None is as the scenario's `tcp` table says, or as its stack does, or has its default.
    """

    stack: Stack | None = None
    """Whose habits the connection has: what they are is the default of the other keys. Default: linux."""
    recovery: Recovery | None = None
    """The rule by which data is retransmitted and recovery ends. Default: by the stack; `rfc` has sack."""
    congestion: Congestion | None = None
    """How much may be in flight. Default: reno."""
    timer: Timer | None = None
    """The retransmission timer. Default: by the stack; `rfc` has RFC 6298's."""
    ack: AckPolicy | None = None
    """When the receiver acknowledges. Default: by the stack; `rfc` has delayed (RFC 1122)."""
    dsack: bool | None = None
    """Whether the receiver reports in its first SACK block what arrived twice (RFC 2883), if `recovery` uses SACK.

    Default: by the stack; `rfc` has false.
    """
    sack_list: SackList | None = None
    """Which blocks a receiver reports of what it holds out of order, if `recovery` uses SACK.

    Default: by the stack; `rfc` has held.
    """
    mss: Bytes | None = None
    """Largest payload of a segment [B]. Default: by the stack; `rfc` has 1460 B (Ethernet without options)."""
    header: Bytes | None = None
    """TCP and IP header on the wire [B], options not included. Default: 40 B."""
    count_options: bool | None = None
    """Whether option bytes (timestamps, SACK blocks) count on the wire. Default: by the stack; `rfc` has true."""
    initial_window: Amount | None = None
    """First congestion window. Default: by the stack; `rfc` has 10 packets (RFC 6928)."""
    initial_ssthresh: Amount | None = None
    """Initial slow start threshold. Default: unlimited (RFC 5681 §3.1: arbitrarily high)."""
    max_window: Amount | None = None
    """Upper limit of the congestion window. Default: unlimited."""
    receive_window: Amount | None = None
    """The receiver's buffer, which limits the advertised window: at most 1073741824 B (RFC 7323 §2.3).

    Default: unlimited, which is that much; a run notes flows that it allows less than their path has.
    """
    handshake: bool | None = None
    """Whether the connection begins with a three-way handshake. Default: by the stack; `rfc` has true."""
    handshake_ack: bool | None = None
    """Whether the sender ends the handshake with a segment of its own even if data is about to leave; otherwise its
    first data does (RFC 9293 §3.10.7.3 allows both).

    Default: by the stack; `rfc` has false.
    """
    after_lost_syn: AfterLostSyn | None = None
    """The first congestion window if the SYN was lost. Default: by the stack; `rfc` has one-segment (RFC 5681 §3.1)."""
    fin: bool | None = None
    """Whether a FIN closes each direction of a connection once its application has no more data (RFC 9293 §3.6).

    Default: by the stack; `rfc` has true.
    """
    timestamps: bool | None = None
    """Timestamps option (RFC 7323): an RTT sample from every acknowledgement, 12 bytes in every segment.

    Default: by the stack; `rfc` has false.
    """
    rtt_samples: RttSamples | None = None
    """Which acknowledgements give an RTT sample when there are no timestamps.

    Default: by the stack; `rfc` has every-ack.
    """
    limited_transmit: bool | None = None
    """Limited transmit (RFC 3042): new data on the first two duplicate ACKs. Default: by the stack; `rfc` has true."""
    duplicate_acks: int | None = None
    """Duplicate ACKs that trigger a fast retransmit. Default: by the stack; `rfc` has 3 (RFC 5681 §3.2)."""
    after_timeout: AfterTimeout | None = None
    """The data that a sender without SACK resends after a timeout. Default: by the stack; `rfc` has go-back-n."""
    tahoe_resends: TahoeResends | None = None
    """The data that Tahoe's fast retransmit resends. Default: by the stack; `rfc` has go-back-n."""
    after_recovery: AfterRecovery | None = None
    """NewReno's window when its recovery ends.

    Default: by the stack; `rfc` has flight-size (RFC 6582 §3.2 (3), option 1).
    """
    repeat_fast_retransmit: bool | None = None
    """Whether duplicate ACKs for data sent before the last recovery may start another one.

    Duplicates of the ACK that ends Tahoe's may not: they answer what it sent twice. Default: by the stack; `rfc` has
    false (RFC 6582 §3.2 (2)).
    """
    window_inflation: bool | None = None
    """Whether duplicate ACKs stretch Reno's and NewReno's window in fast recovery (RFC 5681 §3.2 (3) and (4)).

    Without, a sender is silent until half of its window has left the network. Default: by the stack; `rfc` has true.
    """
    max_burst: int | None = None
    """Most segments sent in answer to one acknowledgement. Default: no limit."""
    nagle: Nagle | None = None
    """Which segments that are shorter than the MSS wait until data is acknowledged or more is offered; the last one
    before the end of a transfer never does.

    Default: by the stack; `rfc` has off, as for applications that set TCP_NODELAY.
    """
    pacing: Pacing | None = None
    """The spacing of segments.

    A congestion control with a rate of its own paces, whatever this says. Default: by the stack; `rfc` has off, as
    Linux unless a program or its queue asks for pacing.
    """
    pacing_credit: bool | None = None
    """Whether a segment that leaves later than a pacing rate of the congestion control's own allows shortens the gap
    after it, by at most half.

    Default: by the stack; `rfc` has false.
    """
    restart_after_idle: bool | None = None
    """Whether cwnd falls back to the initial window after an idle RTO (RFC 5681 §4.1).

    Default: by the stack; `rfc` has true.
    """
    counting: Counting | None = None
    """How much of what an acknowledgement covers opens the window.

    `congestion.reno.byte_counting` overrides it for Reno. Default: by the stack; `rfc` has acks (RFC 5681).
    """
    grow_when: GrowWhen | None = None
    """When acknowledgements may open the window. Default: by the stack; `rfc` has window-limited."""
    validation: Validation | None = None
    """The fate of a window that is not used, if `restart_after_idle` is on.

    Default: by the stack; `rfc` has restart (RFC 5681 §4.1).
    """
    window_probe: WindowProbe | None = None
    """The probe that asks a receiver whose window is closed whether it has opened.

    Default: by the stack; `rfc` has byte (RFC 9293 §3.8.6.1).
    """
    halving: Halving | None = None
    """From what ssthresh is computed when the window falls.

    Default: by the stack; `rfc` has flight-size (RFC 5681 (4)).
    """
    halve_at_each_timeout: bool | None = None
    """Whether ssthresh is computed anew at each expiry, and not only at the first one of the same segment: with the
    window of one segment that the first one leaves, it is two segments then.

    Default: by the stack; `rfc` has false (RFC 5681 §3.1 holds it).
    """
    rounding: Rounding | None = None
    """The quantities that Reno's arithmetic rounds down to whole segments when the window falls.

    Default: by the stack; `rfc` has none.
    """
    reduce_once: bool | None = None
    """Whether the window falls at most once per window of data: neither at a fast retransmit after an ECN echo (RFC
    3168 §6.1.2), nor ssthresh again at a timeout in fast recovery.

    Default: by the stack; `rfc` has false (RFC 5681 §4.3: the loss of a retransmission is a second signal).
    """
    ecn: EcnMode | None = None
    """Explicit congestion notification, negotiated if there is a handshake: true for RFC 3168's, or accurate (RFC
    9768).

    Default: by the stack; `rfc` has false.
    """


Rate: TypeAlias = str
"""A rate with its unit, such as "0.8 Mbit/s"."""


@dataclass(frozen=True, kw_only=True)
class Steps(Part):
    """A rate from each given instant on."""

    _tag: ClassVar[str] = "steps"

    at: Sequence[Span]
    """When each rate begins, in increasing order, the first at `"0 s"`."""
    rates: Sequence[Rate]
    """The rates, as many as instants."""
    period: Span | None = None
    """If given, the steps repeat with this period."""


@dataclass(frozen=True)
class At(Part):
    """So far into the trace; may be written as the time alone: `"12 s"`."""

    _tag: ClassVar[str] = "at"
    _bare: ClassVar[bool] = True

    value: Span


TraceOffset: TypeAlias = str | At
"""Where in a trace a run begins."""

Columns: TypeAlias = str
"""Columns such as `time=0:s,rate=2:Mbit/s`: time, duration, rate, bytes, packets, delay, rtt or loss, each with the
number of a column, from 0, or its name, and a unit.
"""

Gaps: TypeAlias = Literal["hold", "outage", "refuse"]
"""The value that holds where rows, or values of rows, are missing."""

Duplicates: TypeAlias = Literal["last", "first", "mean", "refuse"]
"""Which of several rows of the same instant counts."""

Backward: TypeAlias = Literal["refuse", "sort", "drop", "append"]
"""The treatment of rows that are earlier than the one before."""

Unreadable: TypeAlias = Literal["refuse", "skip"]
"""The treatment of rows that cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Trace(Part):
    """A log of rates: a table with a time and a rate in each row, what iperf3 or ping prints, a capture.

    A rate holds until the next row.
    """

    _tag: ClassVar[str] = "trace"

    file: str
    """The file, relative to the scenario's folder.

    What it is, is found by its content: a table of any separator, JSON of iperf3 and others, a capture; gzip or not.
    """
    repeat: bool = True
    """After its last row, which holds as long as the one before it, the trace begins again; otherwise its last value
    stays.

    Default: true.
    """
    offset: TraceOffset = At("0 s")
    """Where in the trace a run begins: a time, or `random`. Default: 0 s."""
    columns: Columns | None = None
    """Its columns, such as `time=0:s,rate=2:Mbit/s`: `time`, `duration`, `rate`, `bytes`, `packets`, `delay`, `rtt` or
    `loss`, each with the number of a column, from 0, or its name, and a unit.

    Default: by their names and what they hold.
    """
    every: Span | None = None
    """Time from row to row where no column has one; of a capture, over which packets are counted.

    Default: as the file has it; 100 ms for captures.
    """
    only: str | None = None
    """Of a file with several directions, series or units: which one.

    Of a capture: `all`, or addresses, `10.0.0.1 > 10.0.0.2:443`. Default: a capture's busiest direction.
    """
    gaps: Gaps = "hold"
    """The value where rows, or values, are missing: the one before (`hold`), or a rate of zero (`outage`); or `refuse`.

    Default: hold.
    """
    duplicates: Duplicates = "last"
    """Which of several rows of one instant counts: `last`, `first`, their `mean`; or `refuse`. Default: last."""
    backward: Backward = "refuse"
    """The treatment of rows that are earlier than the one before: `refuse`, `sort`, `drop`, or `append` as another
    recording.

    Default: refuse.
    """
    unreadable: Unreadable = "refuse"
    """The treatment of rows that cannot be read: `refuse`, or `skip`, as missing. Default: refuse."""
    last: Span | None = None
    """How long the last row lasts. Default: as long as the one before it."""
    resample: Span | None = None
    """Time over which values become their means. Default: none."""
    strict: bool = False
    """Whether a log with gaps, duplicates, missing or absurd values is refused. Default: false."""
    clip: Rate | None = None
    """The greatest rate: greater ones become this one. Default: none."""


@dataclass(frozen=True, kw_only=True)
class Light(Part):
    """Opportunities of bursts on a link that was idle. Source: [cellreplay]."""

    file: str
    """The file, relative to the scenario's folder.

    A line for each train of packets that was recorded, of whole numbers with spaces between them: when it was sent
    [ms], the one-way delay [ms], which is not used, and how long after its first packet each of its packets came, the
    first one included [ms]. The time of the last line is the period.
    """
    idle: Span = "0 s"
    """A frame that finds the link empty begins a train if nothing has left the link for longer than this, counted in
    whole milliseconds of the clock.

    Default: 0 s, as in CellReplay (`--long-to-short-timer-up`, `-down`).
    """


@dataclass(frozen=True, kw_only=True)
class Opportunities(Part):
    """A trace of delivery opportunities: one non-decreasing integer a line, in ms."""

    _tag: ClassVar[str] = "opportunities"

    file: str
    """The file, relative to the scenario's folder."""
    size: Bytes = "1500 B"
    """Bytes that an opportunity carries. Default: 1500 B."""
    mahimahi: bool = False
    """Mahimahi's exact rules: 1504 bytes an opportunity and 4 more in each packet, whole milliseconds.

    Default: false.
    """
    repeat: bool = True
    """Whether the trace begins again after its last opportunity. Default: true."""
    offset: TraceOffset = At("0 s")
    """Where in the trace a run begins, in whole milliseconds: a time, or `random`. Default: 0 s."""
    light: Light | None = None
    """Light opportunities, which a burst has on a link that was idle; `file` then has what a saturated link offers.

    Default: `file` whatever the load.
    """


Probability: TypeAlias = float | str
"""A probability between 0 and 1, such as 0.01 or "1 %"."""


@dataclass(frozen=True, kw_only=True)
class Markov(Part):
    """An n-state continuous-time Markov chain of rates."""

    _tag: ClassVar[str] = "markov"

    rates: Sequence[Rate]
    """The rate in each state."""
    mean_holding: Sequence[Span]
    """Mean holding time of each state."""
    jumps: Sequence[Sequence[Probability]] | None = None
    """Probability of each next state (rows sum to 1, zero on the diagonal). Default: every other state alike."""
    start: int | None = None
    """First state. Default: drawn from the stationary distribution."""


@dataclass(frozen=True, kw_only=True)
class SlottedMarkov(Part):
    """A Markov chain that may change only at multiples of `step`."""

    _tag: ClassVar[str] = "slotted-markov"

    rates: Sequence[Rate]
    """The rate in each state."""
    step: Span
    """Length of a slot."""
    transitions: Sequence[Sequence[Probability]]
    """Probability of each next state after a slot (rows sum to 1)."""
    start: int | None = None
    """First state. Default: drawn from the stationary distribution."""


Frequency: TypeAlias = str
"""A frequency with its unit, such as "2 /s"."""


@dataclass(frozen=True, kw_only=True)
class Sessions(Part):
    """Ephemeral sessions that share the link equally with one persistent session."""

    _tag: ClassVar[str] = "sessions"

    capacity: Rate
    """Capacity of the whole link, C."""
    arrivals: Frequency
    """Arrivals of sessions."""
    mean_size: Bytes
    """Mean of the exponential size of a session."""
    at_most: int
    """Most sessions at a time; more are turned away."""


@dataclass(frozen=True)
class Constant(Part):
    """The same at all times; may be written as the rate alone: `"10 Mbit/s"`."""

    _tag: ClassVar[str] = "constant"
    _bare: ClassVar[bool] = True

    value: Rate


Residual: TypeAlias = str | Constant | Steps | Trace | Markov | SlottedMarkov | Sessions
"""The rest of a capacity that others leave, in time."""


@dataclass(frozen=True, kw_only=True)
class Smoothed(Part):
    """A moving average over samples."""

    _tag: ClassVar[str] = "smoothed"

    weight: Probability = 0.1
    """Weight of the newest sample. Default: 0.1."""


Occupancy: TypeAlias = Literal["instantaneous", "mean", "smoothed"] | Smoothed
"""Which occupancy a controller compares."""

ControlPackets: TypeAlias = Literal["inside", "uncounted", "outside"]
"""The fate of packets that carry no data."""


@dataclass(frozen=True, kw_only=True)
class Thresholds(Part):
    """A pair of thresholds."""

    low: Amount
    """Below this occupancy the capacity falls; in bytes or packets."""
    high: Amount
    """Above this occupancy the capacity rises; in bytes or packets."""


Combine: TypeAlias = Literal["either", "both"]
"""How two pairs of thresholds join."""


@dataclass(frozen=True, kw_only=True)
class ProportionalStep(Part):
    """A change in proportion to the capacity."""

    _tag: ClassVar[str] = "proportional"

    share: Probability = 0.5
    """The share of the capacity by which it changes. Default: 0.5."""
    least: Rate = "10 kbit/s"
    """The least change, so that a capacity of zero can rise. Default: 10 kbit/s."""


@dataclass(frozen=True)
class By(Part):
    """Always by the same rate; may be written as the rate alone: `"50 kbit/s"`."""

    _tag: ClassVar[str] = "by"
    _bare: ClassVar[bool] = True

    value: Rate


Step: TypeAlias = str | By | ProportionalStep
"""By how much a capacity changes at a sample."""


@dataclass(frozen=True, kw_only=True)
class Hysteresis(Part):
    """Hysteresis control. Source: [lrl, §3.2]."""

    _tag: ClassVar[str] = "hysteresis"

    low: Amount = "2 kB"
    """Below this occupancy the capacity falls; in bytes or packets. Default: 2000 B ([lrl, Fig. 3])."""
    high: Amount = "6 kB"
    """Above this occupancy the capacity rises; in bytes or packets. Default: 6000 B ([lrl, Fig. 3])."""
    also: Thresholds | None = None
    """A second pair of thresholds, say in packets beside bytes."""
    combine: Combine = "either"
    """How two pairs of thresholds join. Default: either."""
    increment: Step = By("50 kbit/s")
    """By how much the capacity rises at a sample. Default: 50 kbit/s."""
    decrement: Step = By("50 kbit/s")
    """By how much it falls. Default: 50 kbit/s."""
    strict: bool = True
    """Whether a threshold itself counts as between the two: strictly above, strictly below. Default: true."""


@dataclass(frozen=True, kw_only=True)
class MovingAverage(Part):
    """A single threshold on the moving average of the queue."""

    _tag: ClassVar[str] = "moving-average"

    threshold: Amount = "4 kB"
    """Above it the capacity rises, below it falls; in bytes or packets. Default: 4000 B."""
    weight: Probability = 0.1
    """Weight of the newest sample. Default: 0.1."""
    increment: Step = By("50 kbit/s")
    """By how much the capacity rises at a sample. Default: 50 kbit/s."""
    decrement: Step = By("50 kbit/s")
    """By how much it falls. Default: 50 kbit/s."""


@dataclass(frozen=True, kw_only=True)
class Pi(Part):
    """Proportional-integral control in its incremental form, which does not wind up at a limit."""

    _tag: ClassVar[str] = "pi"

    target: Amount = "4 kB"
    """The occupancy to hold, in bytes or packets. Default: 4000 B."""
    proportional: float = 1.0
    """Bits per second for each bit of a change of the occupancy. Default: 1 /s."""
    integral: float = 1.0
    """Bits per second, each second, for each bit above the target. Default: 1 /s²."""


@dataclass(frozen=True, kw_only=True)
class TargetDelay(Part):
    """Control of the queueing delay.

    The capacity is the rate of arrivals and what brings the queue to its target in time.
    """

    _tag: ClassVar[str] = "target-delay"

    target: Span = "50 ms"
    """The queueing delay to hold. Default: 50 ms."""
    horizon: Span = "500 ms"
    """In which time an excess is to be drained. Default: 500 ms."""
    weight: Probability = 0.1
    """Weight of the newest sample in the mean rate of arrivals. Default: 0.1."""


ReactiveControl: TypeAlias = (
    Literal["hysteresis", "moving-average", "pi", "target-delay"]
    | Hysteresis
    | MovingAverage
    | Pi
    | TargetDelay
    | Custom
)
"""How a capacity follows the queue."""


@dataclass(frozen=True, kw_only=True)
class LoadReactive(Part):
    """A capacity that answers the load: a controller samples the queue and sets what the link offers.

    Source: [lrl, §3].
    """

    _tag: ClassVar[str] = "load-reactive"

    minimum: Rate
    """Least capacity, c0; zero is allowed."""
    initial: Rate | None = None
    """Capacity before the first sample. Default: `minimum`."""
    residual: Residual = Constant("100 Mbit/s")
    """The most that there is for the link, c_m: a rate, or a capacity that others vary.

    Default: 100 Mbit/s ([lrl, §4]).
    """
    pre_emption: bool = True
    """Whether the capacity gives way at once when the residual falls below it, even below `minimum`.

    Otherwise it keeps what it has, and only grows no further. Default: true.
    """
    pool: str | None = None
    """Links that name the same pool share its residual, in equitable shares (max-min) of what their controllers want.

    They have the same residual, interval and phase. Default: no pool.
    """
    interval: Span = "100 ms"
    """Time from one sample to the next. Default: 100 ms."""
    phase: Span = "0 s"
    """When the first sample is taken. Default: 0 s."""
    occupancy: Occupancy = "instantaneous"
    """Which occupancy of the queue the controller compares. Default: instantaneous."""
    counts_in_service: bool = False
    """Whether the occupancy counts the packet in service. Default: false."""
    control_packets: ControlPackets = "inside"
    """The fate of packets that carry no data, such as acknowledgements. Default: inside."""
    buffer: Span | None = None
    """If given, the queue's limit follows the capacity: what it carries in this time, at least one packet and at most
    the limit that the queue itself has.
    """
    control: ReactiveControl = Hysteresis()
    """How the capacity follows the queue. Default: hysteresis."""


Capacity: TypeAlias = str | Constant | Steps | Trace | Opportunities | Markov | SlottedMarkov | Sessions | LoadReactive
"""The capacity that a link offers in time."""

Service: TypeAlias = Literal["fluid", "at-start"]
"""How the server measures out its capacity."""


@dataclass(frozen=True, kw_only=True)
class StepsDelay(Part):
    """A delay from each given instant on."""

    _tag: ClassVar[str] = "steps"

    at: Sequence[Span]
    """When each delay begins, in increasing order, the first at `"0 s"`."""
    delays: Sequence[Span]
    """The delays, as many as instants."""
    period: Span | None = None
    """If given, the steps repeat with this period."""


@dataclass(frozen=True, kw_only=True)
class TraceDelay(Part):
    """A log of delays, which may be that of the rates.

    It is a table with a time and a delay (or a round trip, of which half counts) in each row; LeoReplayer's
    `delay_N.txt`, a line for every 10 ms with the delay in ms; what ping prints; or a capture, whose round trips count.
    """

    _tag: ClassVar[str] = "trace"

    file: str
    """The file, relative to the scenario's folder.

    What it is, is found by its content: a table of any separator, JSON of iperf3 and others, a capture; gzip or not.
    """
    repeat: bool = True
    """After its last row, which holds as long as the one before it, the trace begins again; otherwise its last value
    stays.

    Default: true.
    """
    offset: TraceOffset = At("0 s")
    """Where in the trace a run begins: a time, or `random`. Default: 0 s."""
    columns: Columns | None = None
    """Its columns, such as `time=0:s,rate=2:Mbit/s`: `time`, `duration`, `rate`, `bytes`, `packets`, `delay`, `rtt` or
    `loss`, each with the number of a column, from 0, or its name, and a unit.

    Default: by their names and what they hold.
    """
    every: Span | None = None
    """Time from row to row where no column has one; of a capture, over which packets are counted.

    Default: as the file has it; 100 ms for captures.
    """
    only: str | None = None
    """Of a file with several directions, series or units: which one.

    Of a capture: `all`, or addresses, `10.0.0.1 > 10.0.0.2:443`. Default: a capture's busiest direction.
    """
    gaps: Gaps = "hold"
    """The value where rows, or values, are missing: the one before (`hold`), or a rate of zero (`outage`); or `refuse`.

    Default: hold.
    """
    duplicates: Duplicates = "last"
    """Which of several rows of one instant counts: `last`, `first`, their `mean`; or `refuse`. Default: last."""
    backward: Backward = "refuse"
    """The treatment of rows that are earlier than the one before: `refuse`, `sort`, `drop`, or `append` as another
    recording.

    Default: refuse.
    """
    unreadable: Unreadable = "refuse"
    """The treatment of rows that cannot be read: `refuse`, or `skip`, as missing. Default: refuse."""
    last: Span | None = None
    """How long the last row lasts. Default: as long as the one before it."""
    resample: Span | None = None
    """Time over which values become their means. Default: none."""
    strict: bool = False
    """Whether a log with gaps, duplicates, missing or absurd values is refused. Default: false."""


@dataclass(frozen=True, kw_only=True)
class MarkovDelay(Part):
    """An n-state continuous-time Markov chain of delays."""

    _tag: ClassVar[str] = "markov"

    delays: Sequence[Span]
    """The delay in each state."""
    mean_holding: Sequence[Span]
    """Mean holding time of each state."""
    jumps: Sequence[Sequence[Probability]] | None = None
    """Probability of each next state (rows sum to 1, zero on the diagonal). Default: every other state alike."""
    start: int | None = None
    """First state. Default: drawn from the stationary distribution."""


@dataclass(frozen=True)
class Table(Part):
    """A table as `tc` reads it: whole numbers, 8192 for one jitter; lines that begin with `#` are comments."""

    _tag: ClassVar[str] = "table"
    _bare: ClassVar[bool] = True

    value: str


Distribution: TypeAlias = str | Table
"""How jitter is distributed around a delay."""


@dataclass(frozen=True, kw_only=True)
class NetemDelay(Part):
    """netem's `delay` and `reorder`: each packet draws its own delay when it leaves the server.

    With netem itself a packet overtakes those ahead of it if its delay is so much shorter: `reorder = true` on the link
    says the same here; without it the order is kept. netem takes the remainder of its correlated random number, so that
    delays hardly depend on each other, whatever `correlation` is, unless the jitter is of the order of seconds. Source:
    Linux `netem_enqueue`, `tabledist`, `get_crandom`.
    """

    _tag: ClassVar[str] = "netem"

    delay: Span
    """The delay around which delays vary; those below zero are zero."""
    jitter: Span = "0 s"
    """How far they vary; up to 2.147 s. Default: 0 s."""
    correlation: Probability = 0.0
    """Weight of the last random number in the next. Default: 0."""
    distribution: Distribution = "uniform"
    """How they are distributed. Default: uniform."""
    reorder: Probability = 0.0
    """Probability that a packet takes no delay at all, ahead of those that do. Default: 0."""
    reorder_correlation: Probability = 0.0
    """Weight of the last random number of `reorder` in the next. Default: 0."""
    gap: int = 1
    """At least this many packets less one are delayed between two that are not. Default: 1."""


@dataclass(frozen=True, kw_only=True)
class WifiDelay(Part):
    """Jitter as on Wi-Fi with hidden nodes.

    To each packet's delay come N1 short waits of 1 ms, less a uniform part of one if there are any, and N2 long waits
    of 7.5 ms. N1 is a Poisson number with mean 1; so is N2 with mean 12, for a share of the packets that makes the
    average (from 1 to 91 ms) what is asked for, and zero for the others. Packets keep their order unless the link has
    `reorder`. Source: draft-huitema-ccwg-c4-test, "Handling of High Jitter Environments".
    """

    _tag: ClassVar[str] = "wifi"

    delay: Span = "0 s"
    """The delay without jitter. Default: 0 s."""
    jitter: Span = "1 ms"
    """Average of the jitter, as the draft counts it, before the part of a short wait is taken off. Default: 1 ms."""


@dataclass(frozen=True)
class ConstantDelay(Part):
    """The same at all times; may be written as the time alone: `"20 ms"`."""

    _tag: ClassVar[str] = "constant"
    _bare: ClassVar[bool] = True

    value: Span


Delay: TypeAlias = str | ConstantDelay | StepsDelay | TraceDelay | MarkovDelay | NetemDelay | WifiDelay
"""The propagation delay of a link in time: each packet takes the delay of the instant at which it leaves the server."""


@dataclass(frozen=True)
class FirstAt(Part):
    """So long after the beginning of the run; may be written as the time alone: `"4 s"`."""

    _tag: ClassVar[str] = "first-at"
    _bare: ClassVar[bool] = True

    value: Span


HandoverPhase: TypeAlias = str | FirstAt
"""When the first handover begins."""


@dataclass(frozen=True, kw_only=True)
class Handover(Part):
    """Handovers from one satellite or cell to the next, at regular times.

    Each interrupts the link's capacity, changes its delay and loses packets, on top of what `capacity`, `delay` and
    `loss` say.
    """

    period: Span
    """Time from one handover to the next."""
    phase: HandoverPhase | None = None
    """When the first handover begins: a time, or `random`. Default: after one period."""
    outage: Span = "0 s"
    """For so long from its beginning nothing is sent: the capacity is zero. Default: 0 s."""
    delay_spread: Span = "0 s"
    """Each interval between handovers adds a delay of its own to that of the link, uniform from zero to this; links of
    a run that are handed over together draw alike.

    Default: 0 s.
    """
    delays: Sequence[Span] | None = None
    """Instead of random ones: the delays that intervals add, in turn, the first before the first handover."""
    burst: Span = "0 s"
    """How long packets are lost at a handover: those that leave the server so soon after the outage. Default: 0 s."""
    burst_loss: Probability = 1.0
    """Probability that such a packet is lost. Default: 1."""


Ties: TypeAlias = Literal["departures-first", "arrivals-first"]
"""Which goes first of a departure and an arrival at the same nanosecond."""


@dataclass(frozen=True, kw_only=True)
class DropTail(Part):
    """A drop-tail queue."""

    _tag: ClassVar[str] = "drop-tail"

    limit: Amount = "1 bdp"
    """Its limit, in packets, bytes or BDP. Default: 1 bdp."""
    counts_in_service: bool = True
    """Whether the limit counts the frame in service. Default: true (as in ns-2)."""
    ties: Ties = "departures-first"
    """Which goes first of a departure and an arrival at the same nanosecond. Default: departures-first."""


DropSpacing: TypeAlias = Literal["wait", "uniform", "geometric"]
"""How RED spaces its drops."""


@dataclass(frozen=True, kw_only=True)
class Red(Part):
    """Random early detection, with the options of ns-2."""

    _tag: ClassVar[str] = "red"

    limit: Amount = "50 packets"
    """Hard limit of the queue. Default: 50 packets."""
    min_threshold: Amount = "5 packets"
    """Average queue at which drops begin. Default: 5 packets."""
    max_threshold: Amount = "15 packets"
    """Average queue at which the drop probability reaches `max_probability`. Default: 15 packets."""
    max_probability: Probability = 0.1
    """Largest early drop probability. Default: 0.1."""
    weight: float = 0.002
    """Weight of the newest sample in the average. Default: 0.002."""
    gentle: bool = False
    """Above the maximum threshold the probability rises to 1 at twice that threshold, not at once. Default: false."""
    spacing: DropSpacing = "wait"
    """How drops are spaced. Default: wait (ns-2)."""
    mean_packet: Bytes = "1 kB"
    """Mean packet size, for averaging over idle times and for byte mode. Default: 1000 B."""
    counts_in_service: bool = False
    """Whether the limit counts the frame in service. Default: false."""
    ecn: bool = False
    """Mark ECN-capable frames instead of dropping them. Default: false."""


@dataclass(frozen=True, kw_only=True)
class Ered(Part):
    """Enhanced RED: the thresholds apply to unmarked packets only; marked ones conform to a reservation."""

    _tag: ClassVar[str] = "ered"

    limit: Amount = "100 packets"
    """Hard limit of the queue, the only one for marked packets.

    Default: 100 packets ([minrate, §III-A]: 100 kB of 1 kB packets).
    """
    reserve: Amount = "0 packets"
    """Part of the limit that only marked packets may use: unmarked ones come in only if they leave it free ([minrate,
    §II-B], recommended for the future).

    Default: 0 packets.
    """
    min_threshold: Amount = "20 packets"
    """Average queue, marked packets included, at which drops of unmarked ones begin.

    Default: 20 packets ([minrate, §III-A]).
    """
    max_threshold: Amount = "80 packets"
    """Average queue from which on all unmarked packets are dropped. Default: 80 packets ([minrate, §III-A])."""
    max_probability: Probability = 0.02
    """Largest early drop probability. Default: 0.02 ([minrate, §III-A])."""
    weight: float = 0.002
    """Weight of the newest sample in the average. Default: 0.002."""
    gentle: bool = False
    """Above the maximum threshold the probability rises to 1 at twice that threshold, not at once. Default: false."""
    spacing: DropSpacing = "wait"
    """How drops are spaced. Default: wait (ns-2)."""
    mean_packet: Bytes = "1 kB"
    """Mean packet size, for averaging over idle times and for byte mode. Default: 1000 B."""
    counts_in_service: bool = False
    """Whether the limit counts the frame in service. Default: false."""
    ecn: bool = False
    """Mark ECN-capable frames instead of dropping them early. Default: false."""


@dataclass(frozen=True, kw_only=True)
class CoDel(Part):
    """Controlled delay."""

    _tag: ClassVar[str] = "codel"

    limit: Amount = "1000 packets"
    """Hard limit of the queue. Default: 1000 packets."""
    target: Span = "5 ms"
    """Acceptable standing queueing delay. Default: 5 ms (RFC 8289 §4.3)."""
    interval: Span = "100 ms"
    """How long the delay may stay above the target. Default: 100 ms (RFC 8289 §4.2)."""
    ecn: bool = False
    """Mark ECN-capable frames instead of dropping them. Default: false."""
    ce_threshold: Span | None = None
    """Sojourn time above which each ECN-capable frame is marked, whether `ecn` is set or not (RFC 8290 §5.2.7).

    Default: none.
    """


@dataclass(frozen=True, kw_only=True)
class Pie(Part):
    """PIE, the proportional integral controller enhanced."""

    _tag: ClassVar[str] = "pie"

    limit: Amount = "1000 packets"
    """Hard limit of the queue. Default: 1000 packets."""
    target: Span = "15 ms"
    """Queueing delay that it aims at (QDELAY_REF). Default: 15 ms (RFC 8033 §4.2)."""
    update: Span = "15 ms"
    """Time from one update of the drop probability to the next (T_UPDATE). Default: 15 ms (RFC 8033 §4.2)."""
    max_burst: Span = "150 ms"
    """For how long a burst passes before anything is dropped early (MAX_BURST). Default: 150 ms (RFC 8033 §4.4)."""
    alpha: float = 0.125
    """Weight of the distance from the target [1/s]. Default: 0.125 (RFC 8033 §4.2)."""
    beta: float = 1.25
    """Weight of the change since the last update [1/s]. Default: 1.25 (RFC 8033 §4.2)."""
    mean_packet: Bytes = "1024 B"
    """Mean packet size; nothing is dropped early while no more than two such packets wait. Default: 1024 B."""
    derandomise: bool = False
    """Space drops evenly: none before the probabilities since the last one sum to 0.85, one for certain from 8.5 on
    (RFC 8033 §5.4).

    Default: false.
    """
    ecn: bool = False
    """Mark ECN-capable frames instead of dropping them. Default: false."""
    mark_below: Probability = 0.1
    """Drop probability from which on ECN-capable frames are dropped as others are (mark_ecnth).

    Default: 0.1 (RFC 8033 §5.1).
    """


Per: TypeAlias = Literal["flow", "group"]
"""The flows that have a queue of their own in fair queueing."""

DropFrom: TypeAlias = Literal["longest", "arriving"]
"""The flow that loses a packet where all queues together are full."""


@dataclass(frozen=True, kw_only=True)
class Drr(Part):
    """Deficit round robin: a flow sends its quantum in each round, and keeps what is too little for its next packet."""

    _tag: ClassVar[str] = "drr"

    limit: Amount = "1 bdp"
    """Limit of what waits in all queues together. Default: 1 bdp."""
    flow_limit: Amount | None = None
    """Limit of the queue of each flow. Default: none but `limit`."""
    quantum: Amount = "1 packets"
    """The amount that a flow of weight 1 may send in a round. Default: 1 packets (full-sized)."""
    per: Per = "flow"
    """The flows that have a queue of their own. Default: flow."""
    drop: DropFrom = "longest"
    """The flow that loses a packet where all queues together are full. Default: longest."""
    weights: Mapping[str, float] | None = None
    """Weights of flows by name; those of a group have the weight each, or together if `per = "group"`. Default: 1."""


@dataclass(frozen=True, kw_only=True)
class Sfq(Part):
    """Start-time fair queueing: the packet whose service would have begun first in a fair fluid system goes first."""

    _tag: ClassVar[str] = "sfq"

    limit: Amount = "1 bdp"
    """Limit of what waits in all queues together. Default: 1 bdp."""
    flow_limit: Amount | None = None
    """Limit of the queue of each flow. Default: none but `limit`."""
    per: Per = "flow"
    """The flows that have a queue of their own. Default: flow."""
    drop: DropFrom = "longest"
    """The flow that loses a packet where all queues together are full. Default: longest."""
    weights: Mapping[str, float] | None = None
    """Weights of flows by name; those of a group have the weight each, or together if `per = "group"`. Default: 1."""


@dataclass(frozen=True, kw_only=True)
class CbqClass(Part):
    """A class of flows that is entitled to a share of the capacity."""

    flows: Sequence[str] | None = None
    """Its flows (by name; a group belongs to it as a whole). Default: all that no other class names."""
    share: Probability
    """Its share of the capacity."""
    queue: "Queue" = DropTail()
    """The queue inside it: any but `cbq` and `accel-brake`. Default: drop-tail of 1 bdp."""
    priority: int = 1
    """Of the classes that are within their shares, those of the lowest number go first; and so do they among those that
    borrow.

    Default: 1.
    """
    borrow: bool = True
    """Whether it may use what other classes leave.

    If not, it waits for its share even at an idle link. Default: true.
    """


@dataclass(frozen=True, kw_only=True)
class Cbq(Part):
    """Class-based queueing. What a class does not use goes to the others by their shares."""

    _tag: ClassVar[str] = "cbq"

    classes: Mapping[str, CbqClass]
    """The classes, by name. Their shares sum to at most 1."""


@dataclass(frozen=True, kw_only=True)
class FqCoDel(Part):
    """Flow queueing with CoDel."""

    _tag: ClassVar[str] = "fq_codel"

    limit: Amount = "10240 packets"
    """Limit of what waits in all queues together. Default: 10240 packets (RFC 8290 §5.2.3)."""
    queues: int = 1024
    """Queues into which flows are hashed; those that fall into the same one share it.

    A hash that is drawn anew for each seed. Default: 1024 (RFC 8290 §5.2.5).
    """
    quantum: Bytes = "1514 B"
    """The bytes that a queue may send in a round. Default: 1514 B (RFC 8290 §5.2.4)."""
    target: Span = "5 ms"
    """Acceptable standing queueing delay of a queue. Default: 5 ms (RFC 8290 §5.2.2)."""
    interval: Span = "100 ms"
    """How long the delay may stay above the target. Default: 100 ms (RFC 8290 §5.2.1)."""
    ecn: bool = True
    """Mark ECN-capable frames instead of dropping them. Default: true (RFC 8290 §5.2.6)."""
    ce_threshold: Span | None = None
    """Sojourn time above which each ECN-capable frame is marked (RFC 8290 §5.2.7). Default: none."""


DualScheduler: TypeAlias = Literal["wrr", "time-shifted-fifo"]
"""How DualPI2 chooses between its queues. Source: RFC 9332 §4.1, appendix A.1."""


@dataclass(frozen=True, kw_only=True)
class DualPi2(Part):
    """DualPI2: a queue of low latency for ECT(1) and CE beside a classic one for all else."""

    _tag: ClassVar[str] = "dualpi2"

    limit: Amount = "10000 packets"
    """Limit of what waits in both queues together.

    Default: 10000 packets (Linux; RFC 9332: 250 ms at the fastest rate).
    """
    target: Span = "15 ms"
    """Delay that the controller aims at in the classic queue. Default: 15 ms."""
    max_rtt: Span = "100 ms"
    """Longest round trip for which the controller is to be stable (RTT_max): it sets its gains. Default: 100 ms."""
    coupling: float = 2.0
    """Coupling factor k: by how much the marking probability of the L queue exceeds the base probability.

    Default: 2.
    """
    ramp_from: Span = "800 us"
    """Delay in the L queue from which on its own ramp marks (minTh). Default: 800 us."""
    ramp: Span = "400 us"
    """Over how much more delay the ramp rises to certainty (range); 0 s: a step. Default: 400 us."""
    unmarked: Amount = "1 packets"
    """The amount that the L queue may hold without being marked by its own ramp (Th_len), at least 0 packets.

    Default: 1 packets.
    """
    scheduler: DualScheduler = "wrr"
    """Which queue is served. Default: wrr."""
    classic_share: Probability = 0.0625
    """`wrr`: the share of the C queue while both have packets waiting. Default: 0.0625."""
    time_shift: Span | None = None
    """`time-shifted-fifo`: how much earlier a packet of the L queue counts as arrived. Default: twice the target."""


@dataclass(frozen=True, kw_only=True)
class StepMarking(Part):
    """Marks of all that exceeds a threshold."""

    _tag: ClassVar[str] = "step"

    limit: Amount = "1000 packets"
    """Hard limit of the queue. Default: 1000 packets."""
    threshold: Amount | None = None
    """Queue above which an arriving packet is marked, the packet in service included (K of RFC 8257 §3.1).

    Default: 65 packets, unless there is a `delay` ([alizadeh10, §4]: at 10 Gb/s).
    """
    delay: Span | None = None
    """Sojourn time above which a packet is marked as it leaves. Default: none."""
    drop: bool = False
    """Drop what would be marked and is not ECN-capable. Default: false."""


@dataclass(frozen=True, kw_only=True)
class Shaper(Part):
    """A token-bucket shaper behind another queue."""

    _tag: ClassVar[str] = "shaper"

    rate: Rate
    """The rate at which tokens arrive."""
    burst: Amount = "10 packets"
    """How much may leave at once after a pause: depth of the bucket, full at first.

    A larger packet is dropped. Default: 10 packets.
    """
    latency: Span | None = None
    """Instead of a queue, as `tbf` has it: the longest time that packets wait at the shaper's rate.

    They wait in a drop-tail queue of rate x latency and the burst, which is then in bytes. Default: a queue says how
    much may wait.
    """
    queue: "Queue" = DropTail()
    """Where packets wait for their tokens. Default: drop-tail of 1 bdp."""


@dataclass(frozen=True, kw_only=True)
class Policer(Part):
    """A token-bucket policer in front of another queue."""

    _tag: ClassVar[str] = "policer"

    rate: Rate
    """The rate at which tokens arrive."""
    burst: Amount = "10 packets"
    """How much may pass at once after a pause: depth of the bucket, full at first. Default: 10 packets."""
    queue: "Queue" = DropTail()
    """Where packets go that conform. Default: drop-tail of 1 bdp."""
    monitor: Span | None = None
    """Lenient as SCONE would have it (draft-ietf-scone-protocol-07 §7.3): rate and burst are those of each connection,
    and bind only one that has brought more than the rate allows over such a period, until it has not.

    Default: all are bound at any time, together.
    """


@dataclass(frozen=True, kw_only=True)
class Device(Part):
    """A device whose ring stands between a queue and the link."""

    _tag: ClassVar[str] = "device"

    ring: Amount = "256 packets"
    """The most that the ring holds, the packet in transmission not counted.

    Default: 256 packets (common among Linux's drivers).
    """
    hold: Span = "1 s"
    """Byte queue limits: over how long the ring must have held more than it needed before it is allowed less
    (hold_time); 0 s: no such limits.

    Default: 1 s (Linux).
    """
    queue: "Queue" = DropTail()
    """The queue in front of the ring. Default: drop-tail of 1 bdp."""


@dataclass(frozen=True, kw_only=True)
class AccelBrake(Part):
    """Accel-Brake Control at the bottleneck: brakes are CE marks, so that only ECN-capable packets get any."""

    _tag: ClassVar[str] = "accel-brake"

    limit: Amount = "250 packets"
    """Hard limit of the queue. Default: 250 packets ([goyal20, §6])."""
    eta: float = 0.98
    """Which part of the capacity is the target rate while the queue is short (eta). Default: 0.98 ([goyal20, §6])."""
    target: Span = "20 ms"
    """Queueing delay that is left alone (d_t). Default: 20 ms."""
    delta: Span = "133 ms"
    """In which time more than that is to drain (delta); stable above two thirds of the round trip ([goyal20, §3.1.4]).

    Default: 133 ms ([goyal20, §6]).
    """
    window: Span = "50 ms"
    """Over which the rate of departures is measured. Default: 50 ms."""


Queue: TypeAlias = (
    Literal[
        "drop-tail",
        "red",
        "ered",
        "codel",
        "pie",
        "drr",
        "sfq",
        "fq_codel",
        "dualpi2",
        "step",
        "device",
        "accel-brake",
    ]
    | DropTail
    | Red
    | Ered
    | CoDel
    | Pie
    | Drr
    | Sfq
    | Cbq
    | FqCoDel
    | DualPi2
    | StepMarking
    | Shaper
    | Policer
    | Device
    | AccelBrake
    | Custom
)
"""The queue in front of the server."""


@dataclass(frozen=True, kw_only=True)
class GilbertElliott(Part):
    """The Gilbert-Elliott channel, stepped once per frame."""

    _tag: ClassVar[str] = "gilbert-elliott"

    to_bad: Probability
    """Probability of turning bad, per frame."""
    to_good: Probability
    """Probability of turning good, per frame."""
    loss_good: Probability = 0.0
    """Loss probability in the good state. Default: 0."""
    loss_bad: Probability = 1.0
    """Loss probability in the bad state. Default: 1."""


@dataclass(frozen=True, kw_only=True)
class CorrelatedLoss(Part):
    """Loss as by netem's `loss random PROBABILITY CORRELATION`.

    netem compares the probability with a mean of a new random number and the last one. Such means are near the middle
    more often than at the ends, so that with a correlation far fewer packets are lost than the probability says.
    """

    _tag: ClassVar[str] = "correlated"

    probability: Probability
    """The probability with which netem compares its random numbers."""
    correlation: Probability = 0.0
    """Weight of the last random number in the next. Default: 0."""


@dataclass(frozen=True, kw_only=True)
class GeModel(Part):
    """Gilbert-Elliott loss in netem's parameters.

    It begins in the good state, and a packet fares as in the state that it finds; `gilbert-elliott` is the same chain
    by other names, in equilibrium from the first packet on. Source: Linux `loss_gilb_ell`.
    """

    _tag: ClassVar[str] = "gemodel"

    p: Probability
    """Probability of turning bad, per packet."""
    r: Probability | None = None
    """Probability of turning good, per packet. Default: 1 - p."""
    one_minus_h: Probability = 1.0
    """`1-h`: loss probability in the bad state. Default: 1."""
    one_minus_k: Probability = 0.0
    """`1-k`: loss probability in the good state. Default: 0."""


@dataclass(frozen=True, kw_only=True)
class FourState(Part):
    """A chain of four states, stepped once per packet.

    Packets come through in gaps (1) and in bursts (2), are lost in bursts (3), and alone in gaps (4). It begins in 1.
    Source: Salsano et al., the GI model of netem; Linux `loss_4state`.
    """

    _tag: ClassVar[str] = "4state"

    p13: Probability
    """From a gap into a burst's losses."""
    p31: Probability | None = None
    """From a burst's losses back to a gap. Default: 1 - p13."""
    p32: Probability = 0.0
    """From a burst's losses to packets that come through in it. Default: 0."""
    p23: Probability = 1.0
    """From these back to losses. Default: 1."""
    p14: Probability = 0.0
    """From a gap to a loss alone. Default: 0."""


@dataclass(frozen=True, kw_only=True)
class GoodBad(Part):
    """A channel that is good or bad, each for exponential times. Source: [wireless, §III-A]."""

    _tag: ClassVar[str] = "markov"

    good: Span
    """Mean duration of a good time."""
    bad: Span
    """Mean duration of a bad time."""
    delivered: Probability = 1.0
    """Probability that a transmission that lies wholly within a good time is received. Default: 1."""


@dataclass(frozen=True, kw_only=True)
class Rayleigh(Part):
    """A Rayleigh-faded channel: a sum of sinusoids with random phases. Source: Jakes 1974, §1.7 ([jakes93])."""

    _tag: ClassVar[str] = "rayleigh"

    doppler: Frequency
    """Doppler frequency: the receiver's speed over the wavelength."""
    threshold_db: float = -10.0
    """Power over its mean [dB] below which the channel is bad. Default: -10 ([wireless, §IV])."""
    delivered: Probability = 1.0
    """Probability that a transmission is received if the power is never below the threshold during it. Default: 1."""
    oscillators: int = 8
    """Low-frequency oscillators; one more has the Doppler frequency itself.

    Few make deep fades rarer than Rayleigh's: 8 give 9 % fewer bad times at -10 dB, 64 the right number. Default: 8.
    """


@dataclass(frozen=True, kw_only=True)
class States(Part):
    """A channel with several states: an n-state continuous-time Markov chain. Source: [wireless, §V]."""

    _tag: ClassVar[str] = "states"

    delivered: Sequence[Probability]
    """Probability that a transmission is received, in each state; in several states, that of the worst of them."""
    mean_holding: Sequence[Span]
    """Mean holding time of each state."""
    jumps: Sequence[Sequence[Probability]] | None = None
    """Probability of each next state (rows sum to 1, zero on the diagonal). Default: every other state alike."""
    start: int | None = None
    """First state. Default: drawn from the stationary distribution."""


@dataclass(frozen=True, kw_only=True)
class TraceLoss(Part):
    """A log of loss probabilities, which may be that of the rates.

    It is a table with a time and a loss in each row, `loss` (a share, from 0 to 1) or `loss_percent`; or iperf3's, of
    datagrams.
    """

    _tag: ClassVar[str] = "trace"

    file: str
    """The file, relative to the scenario's folder.

    What it is, is found by its content: a table of any separator, JSON of iperf3 and others, a capture; gzip or not.
    """
    repeat: bool = True
    """After its last row, which holds as long as the one before it, the trace begins again; otherwise its last value
    stays.

    Default: true.
    """
    offset: TraceOffset = At("0 s")
    """Where in the trace a run begins: a time, or `random`. Default: 0 s."""
    columns: Columns | None = None
    """Its columns, such as `time=0:s,rate=2:Mbit/s`: `time`, `duration`, `rate`, `bytes`, `packets`, `delay`, `rtt` or
    `loss`, each with the number of a column, from 0, or its name, and a unit.

    Default: by their names and what they hold.
    """
    every: Span | None = None
    """Time from row to row where no column has one; of a capture, over which packets are counted.

    Default: as the file has it; 100 ms for captures.
    """
    only: str | None = None
    """Of a file with several directions, series or units: which one.

    Of a capture: `all`, or addresses, `10.0.0.1 > 10.0.0.2:443`. Default: a capture's busiest direction.
    """
    gaps: Gaps = "hold"
    """The value where rows, or values, are missing: the one before (`hold`), or a rate of zero (`outage`); or `refuse`.

    Default: hold.
    """
    duplicates: Duplicates = "last"
    """Which of several rows of one instant counts: `last`, `first`, their `mean`; or `refuse`. Default: last."""
    backward: Backward = "refuse"
    """The treatment of rows that are earlier than the one before: `refuse`, `sort`, `drop`, or `append` as another
    recording.

    Default: refuse.
    """
    unreadable: Unreadable = "refuse"
    """The treatment of rows that cannot be read: `refuse`, or `skip`, as missing. Default: refuse."""
    last: Span | None = None
    """How long the last row lasts. Default: as long as the one before it."""
    resample: Span | None = None
    """Time over which values become their means. Default: none."""
    strict: bool = False
    """Whether a log with gaps, duplicates, missing or absurd values is refused. Default: false."""


@dataclass(frozen=True)
class Bernoulli(Part):
    """Each frame with the same probability; may be written as the probability alone: `"1 %"`."""

    _tag: ClassVar[str] = "bernoulli"
    _bare: ClassVar[bool] = True

    value: Probability


Loss: TypeAlias = (
    str
    | float
    | Bernoulli
    | GilbertElliott
    | CorrelatedLoss
    | GeModel
    | FourState
    | GoodBad
    | Rayleigh
    | States
    | TraceLoss
)
"""Random loss on the wire, after the server: a lost frame has used its capacity.

The first five are stepped once per frame (per transmission of a link with `arq`); the others move in time, whatever is
sent.
"""


@dataclass(frozen=True, kw_only=True)
class Netem(Part):
    """The effects of netem on packets besides delay and loss, after the server of the link.

    A copy takes no capacity of this link, and fares on its own: it may be lost, damaged and delayed like any other
    packet. If the loss takes the packet itself, its copy comes through. A damaged packet takes its way to the receiver,
    whose checksum gives it away: there it is lost. Source: Linux `netem_enqueue`.
    """

    duplicate: Probability = 0.0
    """Probability that a packet comes twice. Default: 0."""
    duplicate_correlation: Probability = 0.0
    """Weight of the last random number of `duplicate` in the next. Default: 0."""
    corrupt: Probability = 0.0
    """Probability that a packet is damaged. Default: 0."""
    corrupt_correlation: Probability = 0.0
    """Weight of the last random number of `corrupt` in the next. Default: 0."""


@dataclass(frozen=True, kw_only=True)
class Cells(Part):
    """Cells of fixed size, as in ATM: 48 bytes of payload in 53."""

    payload: Bytes = "48 B"
    """Bytes of a frame that a cell carries. Default: 48 B."""
    size: Bytes = "53 B"
    """Bytes that a cell takes on the wire. Default: 53 B."""


@dataclass(frozen=True, kw_only=True)
class Framing(Part):
    """The bytes that the link layer adds to each frame before it is sent."""

    overhead: Bytes = "0 B"
    """Bytes added to each frame. Default: 0 B."""
    in_queue: bool = False
    """Whether limits of the queue in bytes, and the bucket of a shaper, count the overhead as well, as Linux's queues
    count an Ethernet header of 14 B.

    Default: false.
    """
    cells: Cells | None = None
    """The frame and its overhead are cut into cells, the last one filled up. Default: no cells."""


@dataclass(frozen=True, kw_only=True)
class Arq(Part):
    """A link that sends in slots and resends what the channel loses (ARQ), so that loss becomes delay.

    Packets are sent in order as link-layer packets, one in each slot: the cells of `framing`, or whole packets. The
    oldest that is due is sent first. A packet comes out when all its cells are received and no older one is missing.
    Source: [wireless, §II].
    """

    slot: Span | None = None
    """Time of a transmission. Default: that of a cell, or else of a full packet, at the link's capacity."""
    aligned: bool = True
    """Whether transmissions begin only at multiples of the slot, or as soon as there is something to send.

    Default: true.
    """
    window: int = 1
    """Link-layer packets that may be under way, counted from the oldest that is not known to be received: 1 is stop-
    and-wait, more is selective repeat.

    Default: 1.
    """
    ack_delay: Span = "0 s"
    """From the end of a transmission until the sender knows its fate. Default: 0 s."""
    max_retransmissions: int | None = None
    """After so many failed retransmissions a link-layer packet is given up, and its whole packet lost.

    Default: never.
    """


@dataclass(frozen=True, kw_only=True)
class Link(Part):
    """One link in one direction: a queue, a server with a capacity, loss, and delay."""

    name: str | None = None
    """Name of the link in results and of its random streams.

    Default: `forward`, `reverse`; `forward.1`, …; in a graph its key.
    """
    from_: str | None = None
    """In a graph: the node where the link begins."""
    to: str | None = None
    """In a graph: the node where the link ends."""
    capacity: Capacity = Constant("unlimited")
    """Capacity of the link over time. Default: unlimited."""
    service: Service = "fluid"
    """How the server applies its capacity to a packet in service. Default: fluid."""
    delay: Delay | None = None
    """Propagation delay of the link over time; a packet takes the delay of the instant at which it leaves the server.

    Default: 0 s; on a reverse link that of the forward link, where it is random with draws of its own.
    """
    reorder: bool = False
    """Whether a packet overtakes those ahead of it if the delay has fallen by so much; otherwise it comes out together
    with the last of them, as from a link layer that keeps the order.

    Default: false.
    """
    handover: Handover | None = None
    """Handovers, which change capacity, delay and loss together at regular times.

    Default: none; on a reverse link those of the forward link.
    """
    queue: Queue | None = None
    """The queue in front of the server. Default: drop-tail of 1 bdp; unlimited if the capacity is unlimited."""
    loss: Loss = "none"
    """Random loss on the wire, after the server. Default: none."""
    netem: Netem = Netem()
    """Packets that come twice, and packets that are damaged. Default: none."""
    framing: Framing = Framing()
    """The bytes that the link layer adds to each packet. Default: nothing."""
    arq: Arq | None = None
    """The link sends in slots and retransmits what it loses (ARQ); `{}` is stop-and-wait. Default: no ARQ."""


@dataclass(frozen=True, kw_only=True)
class Dumbbell(Part):
    """One link in each direction, which all flows share."""

    _tag: ClassVar[str] = "dumbbell"

    forward: Link
    """The link from left to right, which carries the data of ordinary flows."""
    reverse: Link | None = None
    """The link from right to left. Default: unlimited capacity and queue, `forward`'s delay."""


@dataclass(frozen=True, kw_only=True)
class Chain(Part):
    """Nodes n0, n1, … in a row."""

    _tag: ClassVar[str] = "chain"

    forward: Sequence[Link]
    """The links from n0 to n1, from n1 to n2, …."""
    reverse: Sequence[Link] | None = None
    """The links from n1 to n0, from n2 to n1, …, as many as in `forward`.

    Default: unlimited capacity and queue, `forward`'s delays.
    """


@dataclass(frozen=True, kw_only=True)
class Graph(Part):
    """Any directed links between named nodes.

    A flow takes the route with the fewest links (ties: the order of the file) unless it sets `via`.
    """

    _tag: ClassVar[str] = "graph"

    links: Mapping[str, Link]
    """The links, by name."""


Topology: TypeAlias = Dumbbell | Chain | Graph
"""The links and how they are connected."""


@dataclass(frozen=True, kw_only=True)
class Transfer(Part):
    """One transfer."""

    _tag: ClassVar[str] = "transfer"

    size: Bytes
    """Amount of data to transfer."""


@dataclass(frozen=True, kw_only=True)
class Lognormal(Part):
    """A log-normally distributed size."""

    _tag: ClassVar[str] = "lognormal"

    mean: Bytes
    """Mean of the size."""
    sigma: float
    """Standard deviation of the size's natural logarithm."""


@dataclass(frozen=True, kw_only=True)
class Pareto(Part):
    """A Pareto-distributed size: P(size > x) = (least/x)^shape."""

    _tag: ClassVar[str] = "pareto"

    mean: Bytes
    """Mean of the size."""
    shape: float
    """Exponent of the distribution, above 1."""


@dataclass(frozen=True)
class Fixed(Part):
    """All transfers have the same size."""

    _tag: ClassVar[str] = "fixed"
    _bare: ClassVar[bool] = True

    value: Bytes


@dataclass(frozen=True)
class Exponential(Part):
    """Exponentially distributed sizes with this mean."""

    _tag: ClassVar[str] = "exponential"
    _bare: ClassVar[bool] = True

    value: Bytes


Sizes: TypeAlias = Fixed | Exponential | Lognormal | Pareto
"""How the sizes of transfers are distributed."""


@dataclass(frozen=True, kw_only=True)
class Arrivals(Part):
    """Transfers that arrive at random (Poisson), each on its own connection."""

    _tag: ClassVar[str] = "arrivals"

    rate: Frequency
    """Mean number of transfers that arrive per second."""
    size: Sizes
    """Sizes of the transfers."""
    at_most: int = 1000
    """Maximum number of transfers at a time; further ones are turned away, and counted in `refused_transfers`.

    Default: 1000.
    """


@dataclass(frozen=True, kw_only=True)
class OnOff(Part):
    """Alternating active and silent periods, beginning with an active one."""

    _tag: ClassVar[str] = "on-off"

    on: Span
    """Length of an active period (the mean, if exponential)."""
    off: Span
    """Length of a silent period (the mean, if exponential)."""
    exponential: bool = False
    """Whether both lengths are exponentially distributed instead of fixed. Default: false."""
    rate: Rate | None = None
    """Rate at which the application offers data while active. Default: always more to send."""


@dataclass(frozen=True, kw_only=True)
class RateBased(Part):
    """By throughput."""

    _tag: ClassVar[str] = "rate-based"

    samples: int = 5
    """Over how many of the last segments the throughput is averaged. Default: 5 ([yin15, §7.1])."""


@dataclass(frozen=True, kw_only=True)
class Bba(Part):
    """By the buffer, along a line."""

    _tag: ClassVar[str] = "bba"

    reservoir: Span = "5 s"
    """Up to this level of the buffer the lowest bitrate. Default: 5 s, for a buffer of 30 s ([yin15, §7.1])."""
    cushion: Span = "10 s"
    """So much above it the highest. Default: 10 s ([yin15, §7.1])."""


@dataclass(frozen=True, kw_only=True)
class Bola(Part):
    """By the buffer, with a utility."""

    _tag: ClassVar[str] = "bola"

    gamma: float = 5.0
    """How much the player cares for a full buffer beside the utility of bitrates (gamma times the length of a segment).

    Default: 5 ([spiteri16, §V]).
    """


VideoRule: TypeAlias = Literal["rate-based", "bba", "bola"] | RateBased | Bba | Bola
"""How a video player chooses a bitrate."""


@dataclass(frozen=True, kw_only=True)
class Video(Part):
    """A video that is fetched segment by segment while it is watched.

    The player asks for the next segment when one has arrived and its buffer has room for another. Segments are as large
    as their bitrates say.
    """

    _tag: ClassVar[str] = "video"

    ladder: Sequence[Rate] | None = None
    """The bitrates, the lowest first. Default: 350, 600, 1000, 2000 and 3000 kbit/s ([yin15, §7.1])."""
    segment: Span = "4 s"
    """The time that each segment shows. Default: 4 s ([yin15, §7.1])."""
    buffer: Span = "30 s"
    """The most that the player keeps ahead. Default: 30 s ([yin15, §7.1])."""
    startup: Span | None = None
    """How much must wait before the player begins; after a stall it goes on with the next segment.

    Default: a segment.
    """
    rule: VideoRule = Bola()
    """How bitrates are chosen. Default: bola."""
    heed: bool = False
    """Whether the player heeds the rate that the network advertises (`feedback`, which it needs): it chooses no bitrate
    above it, and takes it for the throughput as long as it has measured none.

    Default: false.
    """
    request: Span = "0 s"
    """How long a request takes to the server, while nothing is sent. Default: 0 s."""
    length: Span | None = None
    """How much there is to watch. Default: more than there is time for."""


@dataclass(frozen=True, kw_only=True)
class RealTime(Part):
    """Frames at a fixed pace, each of which is wanted before its deadline.

    While frames are late the bitrate falls to 85 % of what arrives, at most once in half a second; otherwise it grows
    by 8 % a second. Over datagrams, which may be lost, it also falls by half the share of those lost if that is above
    10 %, and does not grow above 2 %.
    """

    _tag: ClassVar[str] = "real-time"

    frame: Span = "40 ms"
    """Time from one frame to the next. Default: 40 ms."""
    initial: Rate = "300 kbit/s"
    """The bitrate at the beginning. Default: 300 kbit/s."""
    minimum: Rate = "100 kbit/s"
    """The lowest bitrate. Default: 100 kbit/s."""
    maximum: Rate = "3 Mbit/s"
    """The highest bitrate. Default: 3 Mbit/s."""
    deadline: Span = "200 ms"
    """Frames that take longer are late. Default: 200 ms."""
    heed: bool = False
    """Whether the encoder heeds the rate that the network advertises (`feedback`, which it needs): it never exceeds it.

    Default: false.
    """


@dataclass(frozen=True, kw_only=True)
class Relay(Part):
    """A proxy: this flow sends what another flow delivers in order, from the node where the other flow ends.

    Each connection or transfer of the other flow is relayed by one of this flow, which opens when the first data
    arrives; the proxy's buffer is unlimited. A transfer is complete when it has passed both; its completion time counts
    from the start of the first.
    """

    _tag: ClassVar[str] = "relay"

    of: str
    """Name of the flow that is relayed."""


App: TypeAlias = Literal["greedy", "video", "real-time"] | Transfer | Arrivals | OnOff | Video | RealTime | Relay
"""The data that a TCP flow transfers."""

Share: TypeAlias = Literal["fair", "capacity"]
"""Which part of a link's capacity is advertised to a flow."""


@dataclass(frozen=True, kw_only=True)
class Exact(Part):
    """The rate itself."""

    _tag: ClassVar[str] = "exact"

    interval: Span | None = None
    """Time from one update to the next. Default: each change is advertised at once."""


@dataclass(frozen=True, kw_only=True)
class Instantaneous(Part):
    """The mean rate of an interval."""

    _tag: ClassVar[str] = "instantaneous"

    interval: Span = "100 ms"
    """Time over which the mean is taken, and after which it is advertised. Default: 100 ms."""


Stretch: TypeAlias = str
"""A number of samples, a time or round trips, such as "7 samples", "210 ms" or "1 rtt"."""

MeasuredRtt: TypeAlias = Literal["base", "smoothed"]
"""A round trip that a sender has measured; before that, its propagation delay."""


@dataclass(frozen=True, kw_only=True)
class AtSource(Part):
    """The effective capacity at the source."""

    _tag: ClassVar[str] = "source"

    rtt: MeasuredRtt = "base"
    """Which round trip counts. Default: base."""


Place: TypeAlias = Literal["link", "source"] | AtSource
"""Where the effective capacity is found, which decides what a round trip is."""


@dataclass(frozen=True, kw_only=True)
class Effective(Part):
    """Samples are the mean rates of intervals.

    M of them make an average, a new one with each sample; the least of the last N averages is advertised. Until there
    are so many, those that there are count. Source: [abr, eq. (28)].
    """

    _tag: ClassVar[str] = "effective"

    interval: Span = "30 ms"
    """Time over which a sample is taken, and after which a rate is advertised. Default: 30 ms."""
    average: Stretch = "1 rtt"
    """How many samples make an average (M). Default: 1 rtt ([abr, §VI])."""
    least: Stretch = "7 rtt"
    """Over how many averages the least is taken (N).

    Default: 7 rtt: with `average` a memory of 8 round trips ([abr, §VI]).
    """
    delta: float | None = None
    """Instead of the least average the effective capacity of the N averages for this delta [1/packet], between their
    mean (0) and their least (unlimited).

    Default: the least. Source: [abr, eqs. (25), (26)].
    """
    at: Place = "link"
    """Where the effective capacity is found. Default: link."""


@dataclass(frozen=True, kw_only=True)
class PolicyConfig2(Part):
    """The rate of a policy."""

    _tag: ClassVar[str] = "policy"

    rate: Rate | None = None
    """The rate advertised to every flow of the group, without link framing.

    Default: that of the policer or shaper that the link has as its queue.
    """


Estimator: TypeAlias = (
    Literal["exact", "instantaneous", "effective", "policy"] | Exact | Instantaneous | Effective | PolicyConfig2
)
"""How a link finds the rate that it advertises to a sender."""


@dataclass(frozen=True)
class After(Part):
    """A fixed time; may be written as the time alone: `"100 ms"`."""

    _tag: ClassVar[str] = "after"
    _bare: ClassVar[bool] = True

    value: Span


FeedbackDelay: TypeAlias = str | After
"""How long an update takes from the link to the sender."""


@dataclass(frozen=True, kw_only=True)
class Scone(Part):
    """SCONE: which rates can be said, how often, and how long they hold.

    What is not said here is as the draft has it; with more `steps`, a shorter `update` and a shorter `period` advice is
    finer and faster.
    """

    update: Span = "20 s"
    """Least time from one SCONE packet of a connection to its next one; the first goes when it opens.

    Default: 20 s (§8.1: every 20 to 30 s).
    """
    spread: Span = "10 s"
    """The time to the next one is uniform from `update` to this much more (§7.1: a small random delay).

    Default: 10 s.
    """
    period: Span = "67 s"
    """The monitoring period: of the advice that came in this time the lowest holds, and after it the advice expires
    (§5.2, §5.4).

    Default: 67 s.
    """
    lowest: Rate = "100 kbit/s"
    """The lowest level. Default: 100 kbit/s (§5.1)."""
    steps: int = 20
    """Levels in a factor of ten. The highest is 10^6.3 times the lowest: number 126 of 20. Default: 20 (§5.1)."""


@dataclass(frozen=True, kw_only=True)
class Feedback(Part):
    """The rate that the network advertises to a flow's sender, in bits per second without link framing."""

    link: str | None = None
    """The link that advertises its rate.

    Default: of the links to the receiver, the slowest whose capacity varies, or else the slowest.
    """
    links: Sequence[str] | None = None
    """Several links instead of one; the least of their rates is advertised. Default: one link."""
    share: Share = "fair"
    """Which part of the link's capacity is advertised. Default: fair."""
    estimator: Estimator = Exact()
    """How the rate is found. Default: exact."""
    delay: FeedbackDelay = "path"
    """How long an update takes from the link to the sender. Default: path."""
    quantum: Rate | None = None
    """Advertised rates are rounded down to multiples of this. Default: no rounding."""
    loss: Probability = 0.0
    """Probability that an update is lost before it reaches the sender, which then keeps the old rate. Default: 0."""
    expires: Span | None = None
    """A sender that receives no update for this long forgets the rate, at the next update that fails to arrive.

    Needs an estimator with an interval. Default: the sender keeps the rate.
    """
    scone: Scone | None = None
    """Instead of each update of the estimator, throughput advice as SCONE has it: coarse, now and then, the lowest of a
    period; `{}` is the draft's.

    Default: none.
    """
    cap: bool = False
    """Whether the sender sends no faster than the rate that it hears, whatever its congestion control.

    Default: false.
    """


@dataclass(frozen=True, kw_only=True)
class Abr(Part):
    """A segmentation buffer without limit behind the sender, served at the rate that `feedback` advertises.

    Rates count packets without link framing. Source: [abr, §III-A].
    """

    rate: Rate | None = None
    """A constant rate, instead of one that is advertised ([abr, §IV])."""
    initial: Rate | None = None
    """The rate before the first one is advertised, and after the last one has expired. Default: `peak`."""
    minimum: Rate = "0 bit/s"
    """The least rate, whatever is advertised. Default: 0 bit/s."""
    peak: Rate = "unlimited"
    """The largest rate, whatever is advertised. Default: unlimited."""
    increase: Rate = "unlimited"
    """By how much an update may raise the rate; it falls at once. Default: unlimited."""
    service: Service = "at-start"
    """How the rate is measured out. Default: at-start: it does not change during a packet."""


ReservedRate: TypeAlias = str | Constant | Steps
"""A reserved rate."""

BucketDepth: TypeAlias = str
"""A depth in time or bytes, such as "50 ms" or "25 kB"."""

Nonconformant: TypeAlias = Literal["pass", "drop"]
"""The fate of a packet that does not conform to its reservation."""

TimerOwner: TypeAlias = Literal["own", "shared"]
"""Whose timer drives timed transmissions."""


@dataclass(frozen=True, kw_only=True)
class Timed(Part):
    """A timer that sends what conforms, whatever cwnd says. Source: [minrate, Fig. 5]."""

    interval: Span | None = None
    """From one expiry to the next. Default: what loses no token, (bucket - (packet - 1 B)) / rate, at least 1 ms."""
    timer: TimerOwner = "own"
    """Whose timer it is. Default: own."""


@dataclass(frozen=True, kw_only=True)
class Delayed(Part):
    """Segments that find no tokens are held back for a random time. Source: [minrate, §IV-A]."""

    longest: Span | None = None
    """Longest time for which a segment is held back, uniform from zero.

    Default: the depth of the bucket in time: whoever holds longer loses tokens.
    """


@dataclass(frozen=True, kw_only=True)
class Reservation(Part):
    """A reservation for each connection or stream of a flow: packets that conform to it are marked.

    Source: [minrate].
    """

    rate: ReservedRate
    """Reserved mean rate, counting packets as on the wire. It may change during a run."""
    peak: Rate | None = None
    """Peak rate: packets of a burst that arrive faster are not marked. Default: none, the speed of the link."""
    bucket: BucketDepth = "50 ms"
    """Depth of the token bucket, in bytes or as a time at the reserved rate; the bucket starts full. Default: 50 ms."""
    marked_at: str = "source"
    """Where conforming packets are marked: `source`, or the name of a link on the path to the receiver.

    Default: source.
    """
    nonconformant: Nonconformant = "pass"
    """The fate of packets that do not conform, if a link does the marking. Default: pass."""
    timed: Timed | None = None
    """A timer that sends conforming segments even if cwnd does not allow it. Default: none."""
    delayed: Delayed | None = None
    """Segments that find no tokens are held back for a random time. Default: they are sent at once."""
    safeguard: bool = False
    """Whether timed transmissions and the reserved part of a rate-adaptive window end permanently when the sender
    detects that a marked packet was lost.

    Default: false.
    """


DatagramRate: TypeAlias = str | Constant | RealTime
"""A rate of datagrams."""

Spacing: TypeAlias = Literal["constant", "poisson"]
"""How datagrams are spaced."""


@dataclass(frozen=True, kw_only=True)
class Datagrams(Part):
    """Datagrams, which are sent once.

    Of those at a constant rate nothing is heard again; an encoder adapts its rate to what arrives.
    """

    rate: DatagramRate
    """Rate of the datagrams on the wire; kept exactly, however short they are."""
    size: Bytes = "1500 B"
    """Size of each datagram on the wire; of those of an encoder, the largest. Default: 1500 B."""
    spacing: Spacing = "constant"
    """How the datagrams are spaced; those of an encoder's frame are so evenly. Default: constant."""


QuicStack: TypeAlias = Literal["quinn"]
"""An implementation of QUIC."""

QuicCongestion: TypeAlias = Literal["cubic", "reno", "bbr", "varicap"]
"""The congestion control of a QUIC connection."""


@dataclass(frozen=True, kw_only=True)
class AckFrequency(Part):
    """How often a receiver acknowledges. Source: draft-ietf-quic-ack-frequency."""

    ack_eliciting_threshold: int = 1
    """Packets that may come before one acknowledgement covers them.

    Default: 1, an acknowledgement for every second packet.
    """
    max_ack_delay: Span | None = None
    """The longest that an acknowledgement waits. Default: what the receiver has said."""


@dataclass(frozen=True, kw_only=True)
class Quic(Part):
    """QUIC by an implementation that people use, in simulated time: its packets, its cryptography, its timers."""

    stack: QuicStack = "quinn"
    """Whose implementation. Default: quinn."""
    congestion: QuicCongestion = "cubic"
    """The congestion control. Default: cubic, the stack's own default."""
    mtu: Bytes = "1500 B"
    """Largest IP packet [B]: 28 B of IPv4 and UDP, the rest QUIC's.

    Nothing probes for a larger one. Default: 1500 B.
    """
    initial_window: Bytes | None = None
    """First congestion window [B]. Default: the stack's."""
    ecn: bool = True
    """Whether packets are ECN-capable, as long as the path passes the validation of RFC 9000 §13.4. Default: true."""
    stream_receive_window: Bytes | None = None
    """Data that a receiver takes ahead of what was read, on one stream [B] (`initial_max_stream_data`, RFC 9000 §4.1).

    Default: the stack's; quinn has 1250000 B.
    """
    receive_window: Bytes | None = None
    """The same of all streams of a connection [B] (`initial_max_data`). Default: the stack's; quinn has no limit."""
    send_window: Bytes | None = None
    """Data that a sender keeps until it is acknowledged [B]. Default: the stack's; quinn has 10000000 B."""
    ack_frequency: AckFrequency | None = None
    """The sender asks for acknowledgements of this frequency (draft-ietf-quic-ack-frequency).

    Default: as RFC 9000 §13.2.
    """
    initial_rtt: Span = "333 ms"
    """The round trip that is assumed before there is a sample. Default: 333 ms (RFC 9002 §6.2.2)."""
    packet_threshold: int = 3
    """Packets that may overtake another before that is found to be lost. Default: 3 (RFC 9002 §6.1.1)."""
    idle_timeout: Span = "30 s"
    """The connection ends after this time without a packet; 0 s: never. Default: 30 s."""


@dataclass(frozen=True, kw_only=True)
class Endpoint(Part):
    """A transport that a run is given: a class in Python, a library with a C interface, a Rust type."""

    name: str
    """The name under which the run is given it."""
    mtu: Bytes = "1500 B"
    """Largest IP packet [B]: 28 B of IPv4 and UDP, the rest the endpoint's. Default: 1500 B."""


@dataclass(frozen=True, kw_only=True)
class Flow(Part):
    """A group of identical flows."""

    count: int = 1
    """Number of flows in the group. Default: 1."""
    from_: str | None = None
    """In a chain or graph: the sender's node. Default: in a chain, the first node."""
    to: str | None = None
    """In a chain or graph: the receiver's node. Default: in a chain, the last node."""
    backward: bool = False
    """Whether the flow runs from right to left (from the last node to the first). Default: false."""
    via: Sequence[str] | None = None
    """In a graph: the links from the sender to the receiver, in order. Default: the route with the fewest links."""
    via_back: Sequence[str] | None = None
    """In a graph: the links from the receiver back to the sender, in order.

    Default: the route with the fewest links.
    """
    access_delay: Span = "0 s"
    """Additional delay in each direction, on the flow's own access wire. Default: 0 s."""
    start: Span = "0 s"
    """When the flow starts. Default: 0 s."""
    start_spread: Span = "0 s"
    """Each flow of the group starts at a random time within this span after `start`, uniformly. Default: 0 s."""
    stop: Span | None = None
    """When the flow's application stops offering data. Default: never."""
    jitter: Span | None = None
    """Maximum processing delay of an acknowledgement at the sender, uniform from zero, to avoid phase effects.

    Default: a full packet's time on the slowest link where flows share a queue that leaves nothing to chance (all but
    `red`, `ered` and `codel`), at most 10 ms; else 0 s.
    """
    app: App = "greedy"
    """The data that the flow transfers. Default: greedy."""
    tcp: Tcp | None = None
    """The TCP connection. Default: the scenario's `tcp` table, which also supplies the keys that this table omits."""
    feedback: Feedback | None = None
    """The rate that the network advertises to the sender.

    Default: the exact fair rate if the congestion control is `ratcp` or the flow has an ABR source; else none.
    """
    abr: Abr | None = None
    """An ABR source behind each sender, which releases packets at the rate that the network advertises.

    Default: none.
    """
    reservation: Reservation | None = None
    """A rate that the network reserves for each sender of the flow; packets that conform to it are marked.

    Default: none.
    """
    datagrams: Datagrams | None = None
    """Instead of `app` and `tcp`: datagrams, at a rate of their own or at that of an encoder."""
    quic: Quic | None = None
    """Instead of TCP: QUIC by an implementation that people use, in the simulator alone.

    Of `tcp`, only the congestion control counts, and that where this table asks for it.
    """
    endpoint: Endpoint | None = None
    """Instead of TCP: a transport that the run is given by name, in the simulator alone."""


@dataclass(frozen=True, kw_only=True)
class Record(Part):
    """The records to take in addition to the results."""

    sample: Span = "100 ms"
    """Interval between the points of time series. Default: 100 ms."""
    series: bool = False
    """Whether to keep time series of windows, queues and capacity. Default: false."""
    packets: bool = False
    """Whether to keep a log of what happened to every packet. Default: false."""
    packet_limit: int = 10000000
    """Maximum number of packet events that are kept of a run; further events are omitted, with a message.

    Default: 10000000.
    """


@dataclass(frozen=True, kw_only=True)
class Scenario(ScenarioFile):
    """A path whose capacity changes over time, the flows over it, and how long and how often to run them."""

    schema_version: int = 1
    """Version of the format. Default: 1."""
    name: str = ""
    """Name of the scenario in results. Default: the file's name without its extension."""
    description: str = ""
    """The purpose of the scenario."""
    duration: Span
    """Simulated time of each run."""
    warmup: Span = "0 s"
    """Time that is cut off at the beginning of each run before measuring. Default: 0 s."""
    seeds: int = 10
    """Number of replications, each with its own random numbers. Default: 10."""
    seed: int = 1
    """Base seed of all random numbers; the same seed gives the same results. Default: 1."""
    isolate: bool = False
    """Whether each flow has the network to itself, over the same channel, instead of sharing it. Default: false."""
    tcp: Tcp = Tcp()
    """Keys that every flow's `tcp` table inherits unless it sets them itself.

    A flow of another stack inherits what is written here, and the rest from its own stack.
    """
    topology: Topology
    """The links and how they are connected."""
    flows: Mapping[str, Flow]
    """The flows, by name."""
    record: Record = Record()
    """The records to take in addition to the results."""
