"""What advice gains for video on a link that varies, by the kind of advice."""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from varicap.papers.advice.ways import SCALES_S, varying
from varicap.papers.run import Grid, Outcome, Run
from varicap.papers.verdict import Value
from varicap.report.paper import bars
from varicap.results.samples import samples
from varicap.statistics import Array, Interval

_COLUMNS = {
    "bitrate_bps": ("Bitrate", "Mb/s", 1e-6),
    "rebuffering": ("Rebuffering", "%", 100.0),
    "qoe_bps": ("Quality of experience", "Mb/s", 1e-6),
}
_LASTING = "at least 100 s"
"""Each rate lasts longer than the monitoring period of 67 s, as §3.1 has it.  Of exponential times with a mean of 100 s
half are shorter."""
Measured = dict[tuple[str, str], dict[str, Array]]
"""By way and link."""
_WAYS = ("none", "SCONE", "SCONE, finer and faster", "exact")


def reproduce(run: Run) -> Outcome:
    """Bitrate, rebuffering and quality of experience of BOLA over CUBIC, by time scale and way."""
    scales = run.pick(SCALES_S[1:], (10.0, 100.0))
    links = {f"{scale:g} s": (scale, False) for scale in scales} | {_LASTING: (100.0, True)}
    measured: Measured = {}
    for way in _WAYS:
        for link, (scale, slotted) in links.items():
            flows = varying(run, way, "cubic", scale, video=True, slotted=slotted).flows
            measured[way, link] = {name: samples(flows, "a", name) * of[2] for name, of in _COLUMNS.items()}
    values = {
        claim: Value(sim=Interval.of(measured["SCONE", link]["qoe_bps"] - measured["none", link]["qoe_bps"]))
        for claim, link in (("S3.6-video", "10 s"), ("S3.6-video-applicable", _LASTING))
    }
    grids = [
        Grid(
            f"{title} of video",
            unit,
            "mean time at a rate",
            list(links),
            {way: [Interval.of(measured[way, link][name]) for link in links] for way in _WAYS},
        )
        for name, (title, unit, _) in _COLUMNS.items()
    ]
    return Outcome(values, partial(_draw, measured, list(links)), grids)


def _draw(measured: Measured, links: Sequence[str]) -> Figure:
    groups = [(way, [Interval.of(measured[way, link]["qoe_bps"]) for link in links]) for way in _WAYS]
    return bars("Video (BOLA over CUBIC)", links, groups, "quality of experience [Mb/s]")
