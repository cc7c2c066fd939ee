"""What the questions about a wireless link print alike."""

from collections.abc import Sequence

from varicap.design.radio.confirm import Simulated
from varicap.report.table import significant, with_interval

CHANNELS = {"markov": "the channel of the analysis", "fading": "the fading signal itself"}
ANALYSIS_ALONE = "evidence: the analysis alone"


def simulated(found: Sequence[Simulated]) -> list[str]:
    """A line for each channel."""
    lines = []
    for channel in dict.fromkeys(one.channel for one in found):
        rates = [
            f"{one.flow.capitalize()} "
            + with_interval(one.throughput_bps.mean, one.throughput_bps.lo, one.throughput_bps.hi, 1e-6)
            + " Mb/s"
            for one in found
            if one.channel == channel
        ]
        lines.append(f"  {CHANNELS[channel]}: {', '.join(rates)}")
    return lines


def mega(rate_bps: float) -> str:
    """A rate [Mb/s]."""
    return significant(rate_bps / 1e6, 3)
