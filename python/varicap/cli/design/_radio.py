"""What `varicap design buffer` and `packet` share: the options that describe a wireless link."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from varicap import units
from varicap.terminal import quantity

if TYPE_CHECKING:
    from varicap.analyse.fading import Rayleigh
    from varicap.analyse.models.wireless_channel import Channel

_DEFAULT_ERROR = 0.01  # [wireless, §IV]

Simulate: TypeAlias = Annotated[
    bool, typer.Option("--sim/--no-sim", help="Simulate Tahoe and Reno over the link, to confirm the analysis.")
]
Capacity: TypeAlias = Annotated[str, typer.Option(help="Raw capacity of the link.")]
RoundTrip: TypeAlias = Annotated[str, typer.Option("--rtt", help="Round trip without queueing.")]
Packet: TypeAlias = Annotated[str, typer.Option(help="Size of a TCP packet with its headers.")]
Doppler: TypeAlias = Annotated[
    str | None, typer.Option(help="Rayleigh fading with this Doppler frequency, such as '10 Hz'.", show_default="none")
]
Level: TypeAlias = Annotated[
    float, typer.Option(help="Power below which the fading channel is bad, in dB over the mean power.")
]
States: TypeAlias = Annotated[
    int, typer.Option(min=2, max=32, help="States of the fading channel: one bad, the others good.")
]
Good: TypeAlias = Annotated[
    str | None, typer.Option(help="Instead of fading: mean duration of the good state.", show_default="none")
]
Bad: TypeAlias = Annotated[str | None, typer.Option(help="… and of the bad one.", show_default="none")]
File: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--channel", help="Instead: any Markov channel, a TOML file with `rates` and `success`.", show_default="none"
    ),
]
Error: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Probability that a frame is lost in the good state; alone, that every frame is.", show_default="1 %"
    ),
]
Tolerate: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Loss probability that TCP bears, such as 0.01.", show_default="1 / (rate x round trip)^2, in packets"
    ),
]


@dataclass(frozen=True, kw_only=True)
class ChannelOptions:
    """The channel as it was given."""

    doppler: str | None
    level: float
    states: int
    good: str | None
    bad: str | None
    file: Path | None
    error: str | None

    def read(self) -> "Channel":
        """The channel that they describe; an error probability alone is one of independent losses."""
        from varicap.analyse.models.wireless_channel import Channel
        from varicap.design.radio.link import read_channel

        durations = self.good is not None or self.bad is not None
        given = {"--doppler": self.doppler, "--good and --bad": durations, "--channel": self.file}
        ways = [way for way, is_given in given.items() if is_given]
        if len(ways) > 1:
            raise typer.BadParameter(f"a channel is described once, not by {' and '.join(ways)}", param_hint="channel")
        if not ways and self.error is None:
            raise typer.BadParameter(
                "say what frames meet: --doppler '10 Hz', --good and --bad, --channel FILE, or --error '5 %' alone",
                param_hint="channel",
            )
        error = _DEFAULT_ERROR if self.error is None else quantity("--error", units.share, self.error)
        if self.file is not None:
            return read_channel(self.file)
        signal = self.signal()
        if signal is not None:
            return Channel.rayleigh(signal, error=error, states=self.states)
        if durations:
            if self.good is None or self.bad is None:
                missing = "--good" if self.good is None else "--bad"
                raise typer.BadParameter("both mean durations are needed, --good and --bad", param_hint=missing)
            return Channel.good_bad(
                good_s=quantity("--good", units.seconds, self.good),
                bad_s=quantity("--bad", units.seconds, self.bad),
                error=error,
            )
        return Channel.independent(error)

    def signal(self) -> "Rayleigh | None":
        """The fading signal, if that is how the channel was described."""
        from varicap.analyse.fading import Rayleigh

        if self.doppler is None:
            return None
        return Rayleigh(doppler_hz=quantity("--doppler", units.per_second, self.doppler), level_db=self.level)


def packets(option: str, text: str, packet_bytes: float, frames_per_packet: int | None = None) -> int:
    """A buffer such as ``8 packets``, ``4608 B``, or ``120 frames`` where these are known, in whole packets."""
    if match := re.fullmatch(r"\s*(\d+)\s*(?:packets?|pkts?)\s*", text):
        return int(match.group(1))
    if frames_per_packet and (match := re.fullmatch(r"\s*(\d+)\s*frames?\s*", text)):
        return int(match.group(1)) // frames_per_packet
    try:
        return int(units.size(text) // packet_bytes)
    except ValueError:
        frames = ', "120 frames"' if frames_per_packet else ""
        raise typer.BadParameter(
            f'`{text}` is not a buffer with its unit, such as "8 packets"{frames} or "30 kB"', param_hint=option
        ) from None
