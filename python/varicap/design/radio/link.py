"""A wireless link in everyday terms, for the questions `buffer` and `packet`: units instead of slots and frames."""

import tomllib
from dataclasses import dataclass, replace
from math import ceil, inf
from pathlib import Path
from typing import Self

from varicap._files import UnreadableError, read_whole
from varicap.analyse.fading import Rayleigh
from varicap.analyse.models.wireless import SHARE_OF_CAPACITY, Parameters, estimate_all
from varicap.analyse.models.wireless_channel import Channel

_MOST_SEGMENTS = 10_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Radio:
    """A wireless link with ARQ, stop and wait, and the connection over it.  Raises ``ValueError``.

    The defaults are System 1 of [wireless, §IV].
    """

    channel: Channel
    """What frames meet."""
    signal: Rayleigh | None = None
    """The fading signal that the channel was made from, if it was: a simulation can have it as well."""
    capacity_bps: float = 1e6
    """Raw capacity [b/s]."""
    round_trip_s: float = 0.4
    """Round trip without queueing [s]."""
    packet_bytes: float = 576.0
    """TCP packet with its headers [B]."""
    payload_bytes: float | None = None
    """Part of a packet that a frame carries [B]; by default the whole one."""
    header_bytes: float = 0.0
    """What a frame adds to its payload [B]."""
    tolerated_loss: float | None = None
    """Loss probability that TCP bears [1]; by default 1 / W^2."""

    def __post_init__(self) -> None:
        for name in ("capacity_bps", "round_trip_s", "packet_bytes"):
            if not 0 < getattr(self, name) < inf:
                raise ValueError(f"{name} is a positive number, not {getattr(self, name)!r}")
        if self.payload_bytes is not None and not 0 < self.payload_bytes <= self.packet_bytes:
            raise ValueError(
                f"a frame carries more than nothing and at most a packet of {self.packet_bytes:g} B, not "
                f"{self.payload_bytes!r} B"
            )
        if not 0 <= self.header_bytes < inf:
            raise ValueError(f"a frame's header has 0 B or more, not {self.header_bytes!r}")
        if self.segments > _MOST_SEGMENTS:
            raise ValueError(f"a packet would make {self.segments} frames: the payload is too small")
        self.parameters(self.segments)  # checks the rest

    @property
    def payload(self) -> float:
        """Part of a packet that a frame carries [B]."""
        return self.packet_bytes if self.payload_bytes is None else self.payload_bytes

    @property
    def segments(self) -> int:
        """Frames of a packet."""
        return ceil(self.packet_bytes / self.payload - 1e-9)

    @property
    def slot_s(self) -> float:
        """Time of a frame on the link [s]."""
        return (self.payload + self.header_bytes) * 8 / self.capacity_bps

    @property
    def most_bps(self) -> float:
        """Throughput of TCP that no buffer exceeds by this analysis: 3/4 of what the channel lets through [b/s]."""
        return self.rate_bps(SHARE_OF_CAPACITY * self.parameters(self.segments).highest_load)

    def parameters(self, frames: int) -> Parameters:
        """The link with a buffer of so many frames, as the analysis has it."""
        return Parameters(
            slot=self.channel.slot(self.slot_s),
            slot_s=self.slot_s,
            buffer_frames=frames,
            round_trip_s=self.round_trip_s,
            segments=self.segments,
            tolerated_loss=self.tolerated_loss,
        )

    def rate_bps(self, packets_per_slot: float) -> float:
        """A rate of TCP packets [b/s]."""
        return packets_per_slot / self.slot_s * self.packet_bytes * 8

    def load(self, throughput_bps: float) -> float:
        """Packets per slot at the effective capacity that this throughput takes."""
        return throughput_bps / SHARE_OF_CAPACITY / (self.packet_bytes * 8) * self.slot_s

    def with_payload(self, payload_bytes: float, header_bytes: float) -> Self:
        """The same with other frames."""
        return replace(self, payload_bytes=payload_bytes, header_bytes=header_bytes)

    def throughputs(self, packets: list[int]) -> list[float]:
        """Throughput of TCP with buffers of so many packets [b/s]."""
        found = estimate_all([self.parameters(size * self.segments) for size in packets])
        return [self.rate_bps(SHARE_OF_CAPACITY * one.arrivals) for one in found]


_MOST_CHANNEL = 10_000_000


def read_channel(file: Path) -> Channel:
    """A Markov channel from a TOML file with `rates` [1/s], a row for each state, and `success` probabilities.

    Raises ``ValueError`` that names the file and the key.
    """
    try:
        data = tomllib.loads(read_whole(file, _MOST_CHANNEL).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, UnreadableError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None
    unknown = sorted(set(data) - {"rates", "success"})
    if unknown or set(data) != {"rates", "success"}:
        extra = f"`{unknown[0]}` is not a key of a channel; " if unknown else ""
        raise ValueError(
            f"{file}: {extra}a channel has `rates` (a matrix [1/s]) and `success` (a probability per state)"
        )
    for key, depth in (("rates", 2), ("success", 1)):
        if not _is_numbers(data[key], depth):
            shape = "rows of as many numbers" if depth == 2 else "numbers"
            raise ValueError(f"{file}: `{key}` is a list of {shape}, not {data[key]!r}")
    try:
        return Channel(data["rates"], data["success"])
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _is_numbers(value: object, depth: int) -> bool:
    if not isinstance(value, list) or not value:
        return False
    if depth == 1:
        return all(isinstance(one, int | float) and not isinstance(one, bool) for one in value)
    return all(_is_numbers(row, depth - 1) and len(row) == len(value[0]) for row in value)
