"""A wireless link with ARQ in the simulator: what Tahoe and Reno get over it, beside what the analysis says.

Each flow has the link to itself, on the channel of the analysis and, if that was made from a fading signal, on the
signal itself.  TCP is that of [wireless, §III-D]: an ACK for each packet, timers with ticks of 500 ms.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from varicap.design.radio.link import Radio
from varicap.engines import sim
from varicap.results.samples import samples
from varicap.scenario import (
    Arq,
    Cells,
    DropTail,
    Dumbbell,
    Flow,
    Framing,
    Link,
    Loss,
    Rayleigh,
    Scenario,
    States,
    Tcp,
    TickTimer,
)
from varicap.statistics import Interval

FLOWS = ("tahoe", "reno")
_HEADER_BYTES = 40
_PACKETS = 32_000
"""A run measures as long as the link takes for so many packets without a loss …"""
_ROUND_TRIPS = 300
"""… and at least for so many round trips."""
_SETTLE = 20  # round trips before that
RUNS = 10
"""Replications of each simulation."""


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """What a flow got on a channel."""

    channel: str
    """``markov``: that of the analysis; ``fading``: the signal that it was made from."""
    flow: str
    """``tahoe`` or ``reno``."""
    throughput_bps: Interval
    """In TCP packets with their headers [b/s]."""
    timeouts_per_s: Interval
    """[1/s]"""
    runs: int
    """Replications."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "channel": self.channel,
            "flow": self.flow,
            "throughput_bps": self.throughput_bps.to_dict(),
            "timeouts_per_s": self.timeouts_per_s.to_dict(),
            "runs": self.runs,
        }


def confirm(radio: Radio, buffer_packets: int, *, runs: int = RUNS, jobs: int | None = None) -> tuple[Simulated, ...]:
    """Simulate both flows with this buffer, in `runs` replications.  Raises ``ValueError`` for what a packet cannot be.

    >>> from varicap.analyse.models.wireless_channel import Channel
    >>> found = confirm(Radio(channel=Channel.good_bad(good_s=0.1, bad_s=0.01)), 16)
    >>> [(one.channel, one.flow) for one in found]
    [('markov', 'tahoe'), ('markov', 'reno')]
    """
    found = []
    for channel, loss in losses(radio):
        measured = scenario(radio, buffer_packets, loss)
        result = sim.run(measured, seeds=runs, jobs=jobs, max_memory=None, max_time=None)
        seconds = _measured_s(radio)
        for flow in FLOWS:
            rate = samples(result.flows, flow, "goodput_bps") * radio.packet_bytes / _payload(radio)
            timeouts = samples(result.flows, flow, "timeouts") / seconds
            found.append(
                Simulated(
                    channel=channel,
                    flow=flow,
                    throughput_bps=Interval.of(rate, within="amount"),
                    timeouts_per_s=Interval.of(timeouts, within="amount"),
                    runs=runs,
                )
            )
    return tuple(found)


def scenario(radio: Radio, buffer_packets: int, loss: Loss) -> Scenario:
    """A scenario with this link; `loss` is what it says of the channel."""
    settle = _SETTLE * radio.round_trip_s
    framing = Framing()
    if radio.payload_bytes is not None and (radio.segments > 1 or radio.header_bytes):
        framing = Framing(cells=Cells(payload=_bytes(radio.payload), size=_bytes(radio.payload + radio.header_bytes)))
    link = Link(
        capacity=f"{round(radio.capacity_bps)} bit/s",
        delay=_time(radio.round_trip_s),
        queue=DropTail(limit=f"{buffer_packets} packets"),
        loss=loss,
        framing=framing,
        arq=Arq(),
    )
    tcp = Tcp(
        stack="rfc",
        mss=_bytes(_payload(radio)),
        handshake=False,
        initial_window="1 packets",
        limited_transmit=False,
        count_options=False,
        ack="every",
        timer=TickTimer(tick="500 ms"),
    )
    return Scenario(
        name="wireless-design",
        duration=_time(settle + _measured_s(radio)),
        warmup=_time(settle),
        isolate=True,
        topology=Dumbbell(forward=link, reverse=Link(delay="0 s")),
        tcp=tcp,
        flows={
            "tahoe": Flow(start_spread="1 s", tcp=replace(tcp, recovery="tahoe")),
            "reno": Flow(start_spread="1 s", tcp=replace(tcp, recovery="reno", repeat_fast_retransmit=True)),
        },
    )


def losses(radio: Radio) -> Iterator[tuple[str, Loss]]:
    """The channels to simulate."""
    delivered = radio.channel.success
    if delivered.size == 1:
        yield "markov", float(1 - delivered[0])
        return
    rates = radio.channel.rates
    leaving = -np.diag(rates)
    jumps = np.where(np.eye(delivered.size, dtype=bool), 0.0, rates / leaving[:, None])
    holding = [_time(1 / one) for one in leaving]
    yield "markov", States(delivered=delivered.tolist(), mean_holding=holding, jumps=jumps.tolist())
    if radio.signal is not None:
        doppler = f"{radio.signal.doppler_hz:.12g} Hz"
        fading = Rayleigh(doppler=doppler, threshold_db=radio.signal.level_db, delivered=float(delivered.max()))
        yield "fading", fading


def _measured_s(radio: Radio) -> float:
    return max(_PACKETS * radio.slot_s * radio.segments, _ROUND_TRIPS * radio.round_trip_s)


def _payload(radio: Radio) -> float:
    payload = radio.packet_bytes - _HEADER_BYTES
    if payload < 1:
        raise ValueError(f"a packet of {radio.packet_bytes:g} B has no room for TCP's header of {_HEADER_BYTES} B")
    return payload


def _bytes(size: float) -> str:
    if not float(size).is_integer():
        raise ValueError(f"a simulation wants whole bytes, not {size!r} B")
    return f"{size:.0f} B"


def _time(seconds: float) -> str:
    return f"{1e9 * seconds:.0f} ns"
