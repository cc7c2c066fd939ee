"""How much buffer a wireless link with ARQ needs, and what TCP gets with the one that it has.

For a target throughput eta the load is P_a = 4/3 eta; the least buffer is the least B at which it overflows no more
than TCP bears (`varicap.analyse.models.wireless`).  The other way round a buffer allows 3/4 of its effective capacity,
and a connection that asks for a rate can be admitted if that is enough.  Source: [wireless, §II-B and C, VI].

The simulator has the last word (`search`): what is recommended reaches the target there, with Tahoe and with Reno.
"""

from dataclasses import dataclass, replace
from math import ceil, isfinite, log
from typing import Any

import numpy as np

from varicap.analyse.models import wireless_limits, wireless_queue
from varicap.design.buffer.search import Trial, attempt, least, search
from varicap.design.radio.link import Radio
from varicap.statistics import Progress, Verdict

_SHARES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
"""Buffers that are shown around the one in question."""
_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Buffers that are shown if none is in question [packets]."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A buffer."""

    packets: int
    """Its size [TCP packets]."""
    throughput_bps: float
    """What it allows [b/s]."""
    overflow: float | None
    """Probability that a packet finds no room at the load of the target; unknown without a target."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """The least buffer for a target."""

    frames: int
    """Its size, the frame in service included [frames]."""
    packets: int
    """The same in whole TCP packets."""
    overflow: float
    """Probability that a packet finds no room in it [1]."""
    tolerated: float
    """What TCP bears at this rate [1]."""
    decay: float
    """beta: the overflow falls as exp(-beta B) [1/frame]; infinite if nothing ever queues."""
    pipe_packets: float
    """W, the effective capacity times the round trip [packets]."""
    is_double_slow_start: bool
    """Whether Tahoe's slow start overflows this buffer again: it is below W / 3.  Source: [wireless, §V-A]."""

    @property
    def asymptotic_frames(self) -> float:
        """What large W would take, log(1 / tolerated) / beta [frames]: (2 / beta) log W."""
        return log(1 / self.tolerated) / self.decay


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """What was asked and what was found."""

    radio: Radio
    target_bps: float | None
    buffer_packets: int | None
    need: Need | None
    """The least buffer for the target."""
    allowed_bps: float | None
    """Throughput that the given buffer allows [b/s]."""
    curve: tuple[Point, ...]
    """Buffers around the one in question."""
    given: Trial | None = None
    """What the simulator says of the given buffer: against the target, or against what the analysis says it allows."""
    trials: tuple[Trial, ...] = ()
    """The buffers that were simulated to find the least one for the target, in order of their size."""

    @property
    def best(self) -> Trial | None:
        """The least buffer that reaches the target in the simulator, whole intervals above it; none if none does."""
        return least(self.trials)

    @property
    def verdict(self) -> Verdict | None:
        """Whether the simulator gives what was asked: with the given buffer, else with any; none if none was asked."""
        if self.given is not None:
            return self.given.verdict()
        if not self.trials:
            return None
        return "meets" if self.best else self.trials[-1].verdict()

    @property
    def is_enough(self) -> bool | None:
        """Whether by the analysis the given buffer allows the target; unknown unless both were given.

        Source: [wireless, §VI].
        """
        if self.need is None or self.buffer_packets is None:
            return None
        return self.need.frames <= self.buffer_packets * self.radio.segments

    @property
    def admitted(self) -> bool | None:
        """Whether the target can be promised: as the simulator says, or the analysis alone; unknown if undecided."""
        if self.is_enough is None or self.given is None:
            return self.is_enough
        return {"meets": True, "misses": False, "undecided": None}[self.given.verdict()]

    def to_dict(self) -> dict[str, Any]:
        """As ``varicap design buffer --json`` prints it."""
        need = self.need
        return {
            "slot_s": self.radio.slot_s,
            "frames_per_packet": self.radio.segments,
            "output_rate": self.radio.parameters(self.radio.segments).slot.success,
            "most_bps": self.radio.most_bps,
            "target_bps": self.target_bps,
            "buffer_packets": self.buffer_packets,
            "least_buffer": need
            and {
                "frames": need.frames,
                "packets": need.packets,
                "overflow": need.overflow,
                "tolerated": need.tolerated,
                "decay_per_frame": need.decay if isfinite(need.decay) else None,
                "pipe_packets": need.pipe_packets,
                "asymptotic_frames": need.asymptotic_frames,
                "double_slow_start": need.is_double_slow_start,
            },
            "allowed_bps": self.allowed_bps,
            "admitted": self.admitted,
            "admitted_by_analysis": self.is_enough,
            "verdict": self.verdict,
            "recommended": None if self.best is None else {"buffer_packets": self.best.packets},
            "curve": [
                {"packets": one.packets, "throughput_bps": one.throughput_bps, "overflow": one.overflow}
                for one in self.curve
            ],
            "evidence": {
                "model": "wireless",
                "given": None if self.given is None else self.given.to_dict(),
                "search": [trial.to_dict() for trial in self.trials],
            },
        }


def buffer(
    radio: Radio,
    *,
    target_bps: float | None = None,
    buffer_packets: int | None = None,
    simulate: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Design:
    """The least buffer for a target throughput, the throughput that a buffer allows, or both and whether they fit.

    With neither, what buffers of 1 to 64 packets allow.  With `simulate`, Tahoe and Reno run over the link, on `jobs`
    cores: with larger buffers than the analysis asks for until one reaches the target, and with the given buffer.

    >>> from varicap.analyse.models.wireless_channel import Channel
    >>> radio = Radio(channel=Channel.good_bad(good_s=0.1, bad_s=0.01))
    >>> found = buffer(radio, target_bps=0.4e6, buffer_packets=16)
    >>> found.need.packets, round(found.allowed_bps), found.admitted
    (12, 485924, True)
    """
    if target_bps is not None and not 0 < target_bps < radio.most_bps:
        raise ValueError(
            f"no buffer gives TCP {target_bps / 1e6:.4g} Mb/s over this channel: by this analysis it gets less than "
            f"{radio.most_bps / 1e6:.4g} Mb/s, 3/4 of what the channel lets through"
        )
    if buffer_packets is not None and (isinstance(buffer_packets, bool) or buffer_packets < 1):
        raise ValueError(f"a buffer holds 1 packet or more, not {buffer_packets!r}")
    need = None if target_bps is None else _need(radio, target_bps)
    found = Design(
        radio=radio,
        target_bps=target_bps,
        buffer_packets=buffer_packets,
        need=need,
        allowed_bps=None if buffer_packets is None else radio.throughputs([buffer_packets])[0],
        curve=_curve(radio, target_bps, need, buffer_packets),
    )
    if not simulate:
        return found
    given: Trial | None = None
    trials: tuple[Trial, ...] = ()
    if buffer_packets is not None:
        given = attempt(radio, buffer_packets, target_bps or found.allowed_bps or 0.0, jobs)
    if target_bps is not None and need is not None:
        trials = search(radio, target_bps, need.packets, lambda rate: _packets(radio, rate), jobs, progress)
    return replace(found, given=given, trials=trials)


def _packets(radio: Radio, target_bps: float) -> int:
    """The least buffer by the analysis [packets].  Raises ``ValueError`` if no buffer allows the target."""
    if not target_bps < radio.most_bps:
        raise ValueError(f"no buffer allows {target_bps:g} b/s")
    return _need(radio, target_bps).packets


def _need(radio: Radio, target_bps: float) -> Need:
    load = radio.load(target_bps)
    link = radio.parameters(radio.segments)
    tolerated = float(link.tolerated(np.array(load)))
    pipe = load * radio.round_trip_s / radio.slot_s
    if not tolerated < 1:
        raise ValueError(
            f"at {target_bps / 1e6:.4g} Mb/s a round trip holds {pipe:.2g} packets: 1 / W^2 asks nothing there; say "
            "what loss probability TCP bears"
        )
    frames = wireless_limits.least_buffer(link.slot, load, radio.segments, tolerated)
    return Need(
        frames=frames,
        packets=ceil(frames / radio.segments),
        overflow=float(wireless_queue.overflow(link.slot, load, radio.segments, frames)),
        tolerated=tolerated,
        decay=wireless_limits.decay(link.slot, load, radio.segments),
        pipe_packets=pipe,
        is_double_slow_start=wireless_limits.loses_in_slow_start(max(pipe, 1.0), frames / radio.segments),
    )


def _curve(radio: Radio, target_bps: float | None, need: Need | None, buffer_packets: int | None) -> tuple[Point, ...]:
    """Throughput and overflow of some buffers."""
    centre = need.packets if need else buffer_packets
    sizes = set(_SIZES) if centre is None else {max(1, round(centre * share)) for share in _SHARES}
    if buffer_packets is not None:
        sizes.add(buffer_packets)
    packets = sorted(sizes)
    overflow: list[float | None] = [None] * len(packets)
    if target_bps is not None:
        slot, load = radio.parameters(radio.segments).slot, radio.load(target_bps)
        overflow = [
            float(wireless_queue.overflow(slot, load, radio.segments, size * radio.segments)) for size in packets
        ]
    points = zip(packets, radio.throughputs(packets), overflow, strict=True)
    return tuple(Point(packets=size, throughput_bps=rate, overflow=lost) for size, rate, lost in points)
