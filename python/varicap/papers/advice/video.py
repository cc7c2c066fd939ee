"""What advice gains for video on a link that varies, by the kind of advice."""

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
_WAYS = ("none", "SCONE", "SCONE, finer and faster", "exact")


def reproduce(run: Run) -> Outcome:
    """Bitrate, rebuffering and quality of experience of BOLA over CUBIC, by time scale and way."""
    scales = run.pick(SCALES_S[1:], (10.0, 100.0))
    measured: dict[tuple[str, float], dict[str, Array]] = {}
    for way in _WAYS:
        for scale in scales:
            flows = varying(run, way, "cubic", scale, video=True).flows
            measured[way, scale] = {name: samples(flows, "a", name) * of[2] for name, of in _COLUMNS.items()}
    values = {
        claim: Value(sim=Interval.of(measured["SCONE", scale]["qoe_bps"] - measured["none", scale]["qoe_bps"]))
        for claim, scale in (("S3.6-video", 10.0), ("S3.6-video-applicable", 100.0))
    }
    grids = [
        Grid(
            f"{title} of video",
            unit,
            "mean time at a rate [s]",
            [f"{scale:g}" for scale in scales],
            {way: [Interval.of(measured[way, scale][name]) for scale in scales] for way in _WAYS},
        )
        for name, (title, unit, _) in _COLUMNS.items()
    ]
    return Outcome(values, partial(_draw, measured, scales), grids)


def _draw(measured: dict[tuple[str, float], dict[str, Array]], scales: tuple[float, ...]) -> Figure:
    groups = [(way, [Interval.of(measured[way, scale]["qoe_bps"]) for scale in scales]) for way in _WAYS]
    return bars("Video (BOLA over CUBIC)", [f"{scale:g} s" for scale in scales], groups, "quality of experience [Mb/s]")
