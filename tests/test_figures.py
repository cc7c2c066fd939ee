"""Figures: that every series is in them, in its own colour, with units, at the size and in the letters asked for."""

import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from conftest import Cli
from matplotlib.text import Text

import varicap
from varicap.report import style
from varicap.report.figure import PANELS, overview
from varicap.report.sweep import chart
from varicap.report.transfers import completion_ms
from varicap.report.waiting import waiting_ms
from varicap.report.web.sweeps import sweeps
from varicap.results.result import Result
from varicap.results.study import Study

pytestmark = pytest.mark.filterwarnings("error")

SCENARIO: dict[str, Any] = {
    "name": "pair",
    "duration": "12 s",
    "warmup": "2 s",
    "topology": {
        "dumbbell": {
            "forward": {
                "capacity": "4 Mbit/s",
                "delay": "20 ms",
                "queue": {"drop-tail": {"limit": "30 packets"}},
            }
        }
    },
    "flows": {
        "reno": {"start_spread": "1 s"},
        "cubic": {"start_spread": "1 s", "tcp": {"congestion": "cubic"}},
        "web": {"app": {"arrivals": {"rate": "2 /s", "size": {"exponential": "20 kB"}}}},
    },
}
LIMIT = "topology.dumbbell.forward.queue.drop-tail.limit"
CAPACITY = "topology.dumbbell.forward.capacity"


@pytest.fixture(scope="module")
def result() -> Result:
    return varicap.run(SCENARIO, seeds=5, series=True, packets=True)


@pytest.fixture(scope="module")
def study() -> Study:
    scenario = {**SCENARIO, "flows": {name: SCENARIO["flows"][name] for name in ("reno", "cubic")}}
    over = {
        LIMIT: ["10 packets", "20 packets", "40 packets", "80 packets"],
        CAPACITY: ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s", "8 Mbit/s"],
    }
    return varicap.sweep(scenario, over, seeds=2, overrides={"duration": "6 s"})


@pytest.fixture(scope="module")
def folder(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    result.save(folder)
    return folder


def curves(figure: Any) -> list[tuple[str, list[float]]]:
    """Colour and values of every curve with more than one point that lies within its panel."""
    found = []
    for axes in figure.axes:
        bottom, top = axes.get_ylim()
        for container in axes.containers:
            line = container[0]
            values = [float(value) for value in line.get_ydata()]
            assert all(bottom <= value <= top for value in values), "a curve is outside its panel"
            found.append((line.get_color(), values))
    return found


@pytest.mark.parametrize("panels", ["curves", "multiples"])
def test_a_study_of_two_axes_shows_every_curve(study: Study, panels: str) -> None:
    drawn = curves(chart(study, panels=panels))
    rows = [row for row in study.summary.to_pylist() if row["measure"] == "goodput_bps"]
    for name in ("reno", "cubic"):
        for capacity in dict.fromkeys(row[CAPACITY] for row in rows):
            wanted = [row["mean"] / 1e6 for row in rows if row["name"] == name and row[CAPACITY] == capacity]
            assert any(values == pytest.approx(wanted) for _, values in drawn), (name, capacity)
    assert len(drawn) == 8
    assert {colour for colour, _ in drawn} == {style.colour(0), style.colour(1)}


def test_a_flow_keeps_its_colour_when_it_is_drawn_alone(study: Study, result: Result) -> None:
    alone = curves(chart(study, flows="cubic"))
    assert {colour for colour, _ in alone} == {style.colour(1)}
    for panel in ("rates", "cwnd", "rtt", "window"):
        colours = {line.get_color() for line in overview(result, panels=panel, flows="cubic").axes[0].lines}
        assert style.colour(1) in colours
        assert style.colour(0) not in colours
    (scatter,) = overview(result, panels="scatter", flows=["web"]).axes
    assert {line.get_color() for line in scatter.lines} == {style.colour(2)}


def test_the_queue_has_no_flows_colour(result: Result) -> None:
    for panel in ("queue", "delay"):
        (axes,) = overview(result, panels=panel).axes
        assert axes.lines[0].get_color() == style.QUEUE not in style.COLOURS


def test_axes_say_their_units_and_share_their_scale(study: Study, result: Result) -> None:
    figure = chart(study)
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    labels = {axes.get_xlabel() for axes in figure.axes}
    assert labels == {"drop-tail limit [packets]"}
    assert figure.axes[0].get_ylabel() == "goodput [Mb/s]"
    assert [axes.get_title("left") for axes in figure.axes] == [
        f"forward capacity {rate} Mbit/s" for rate in (1, 2, 4, 8)
    ]
    # Of these one fills its queue and one does not.
    pair = {"full": {}, "half": {"app": {"on-off": {"on": "20 s", "off": "1 s", "rate": "2 Mbit/s"}}}}
    scenario = {**SCENARIO, "flows": pair, "isolate": True}
    apart = varicap.run(scenario, seeds=1, series=True)
    queues = [axes for axes in apart.figure().axes if axes.get_ylabel() == "queue [packets]"]
    assert len(queues) == 2
    assert len({axes.get_ylim() for axes in queues}) == 1
    for axes in overview(result, panels=PANELS).axes:
        assert "[" in axes.get_ylabel() or axes.get_ylabel().startswith("share of ")


@pytest.mark.parametrize("others", [0, 1])
def test_throughput_is_never_above_the_capacity(lte: Path, others: int) -> None:
    alone = varicap.run(lte, seeds=1, series=True, overrides={"duration": "20 s"})
    # In 10 ms ten packets may come through of which eight and a third were sent in them.
    pair = {**SCENARIO, "duration": "3 s", "warmup": "0 s", "record": {"sample": "10 ms"}}
    result = varicap.run(pair, seeds=1, series=True) if others else alone
    for axes in result.figure(panels="rates").axes:
        (capacity,) = axes.collections
        edge = np.asarray(capacity.get_paths()[0].vertices)
        assert len(axes.lines) > others
        for line in axes.lines:
            for time, rate in np.asarray(line.get_xydata()):
                assert rate <= edge[np.isclose(edge[:, 0], time), 1].max() + 1e-9


def test_a_heat_map_has_every_point(study: Study) -> None:
    figure = chart(study, "rtt_mean_ms", panels="heat")
    rows = [row for row in study.summary.to_pylist() if row["measure"] == "rtt_mean_ms"]
    for axes, name in zip(figure.axes, ("reno", "cubic"), strict=False):
        (image,) = axes.images
        map_ = np.asarray(image.get_array())
        assert map_.shape == (4, 4)
        assert map_.T.ravel() == pytest.approx([row["mean"] for row in rows if row["name"] == name])
        # As many digits in every cell: 0.700 beside 0.728.
        assert {len(text.get_text().replace(".", "").lstrip("0")) for text in axes.texts} == {3}
    assert len({axes.images[0].get_clim() for axes in figure.axes[:2]}) == 1
    with pytest.raises(ValueError, match="a heat map has two axes, and this study has 1"):
        chart(varicap.sweep(SCENARIO, {LIMIT: ["5 packets"]}, seeds=1), panels="heat")


def test_a_scatter_has_the_means_of_the_table(study: Study, result: Result) -> None:
    (axes,) = overview(result, panels="scatter", measure="rtt_p95_ms").axes
    assert axes.get_xlabel() == "round-trip time, 95th percentile [ms]"
    for container, flow in zip(axes.containers, result.summary["flows"], strict=True):
        assert container[0].get_xdata() == pytest.approx([flow["rtt_ms"]["p95"]])
        assert container[0].get_ydata() == pytest.approx([flow["goodput_bps"]["mean"] / 1e6])
    assert len(axes.patches) == 3, "five runs give a region of confidence for each flow"
    (axes,) = chart(study, "rtt_p95_ms", panels="scatter").axes
    assert [len(container[0].get_xdata()) for container in axes.containers] == [16, 16]
    with pytest.raises(ValueError, match="no delay `timeouts`; there are: rtt_mean_ms"):
        overview(result, panels="scatter", measure="timeouts")


def test_completion_times_are_those_of_the_tables(result: Result) -> None:
    found = completion_ms(result.packets, result.flows, 2.0)
    assert list(found) == ["web"]
    rows = result.flows.filter(pc.equal(result.flows["name"], "web"))
    assert len(found["web"]) == pc.sum(rows["transfers"]).as_py() > 50
    for run in range(5):
        own = completion_ms(
            result.packets.filter(pc.equal(result.packets["replication"], run)),
            result.flows.filter(pc.equal(result.flows["replication"], run)),
            2.0,
        )
        assert own["web"].mean() == pytest.approx(rows["fct_mean_ms"][run].as_py(), rel=1e-9)
    (axes,) = overview(result, panels="fct").axes
    (line,) = axes.lines
    assert np.asarray(line.get_ydata())[-1] == 1.0
    with pytest.raises(ValueError, match=r"no completion times: the panel `fct` needs .*--packets"):
        varicap.run(SCENARIO, seeds=1).figure(panels="fct")


def test_waiting_is_what_the_capacity_that_follows_needs() -> None:
    # Nothing is sent from 2 s to 3 s: 1500 bytes that wait at 1.5 s need half a second before and after it.
    time = np.array([1.0, 1.5, 2.0, 3.0, 4.0])
    capacity = np.array([12e3, 12e3, 12e3, 0.0, 12e3])
    waiting = waiting_ms(time, np.array([0.0, 1500.0, 750.0, 750.0, 0.0]), capacity)
    assert waiting.tolist() == [0.0, 2000.0, 1500.0, 500.0, 0.0]
    unlimited = waiting_ms(time, np.zeros(5), np.full(5, np.nan))
    assert unlimited.tolist() == [0.0] * 5


def test_waiting_agrees_with_the_delays_of_packets(lte: Path) -> None:
    changes = {"warmup": "0 s", "record.sample": "10 ms"}
    run = varicap.run(lte, seeds=1, series=True, overrides=changes)
    rows = run.link_series.filter(
        pc.and_(pc.equal(run.link_series["link"], "forward"), pc.equal(run.link_series["flow"], "cubic"))
    )
    time, backlog, capacity, through = (
        np.asarray(rows[name].to_numpy(), np.float64)
        for name in ("time_s", "backlog_bytes", "capacity_bps", "throughput_bps")
    )
    waiting = waiting_ms(time, backlog, capacity)
    known = np.isfinite(waiting)
    # A packet that comes meets the queue of its instant: means are over packets, so weighted by their number.
    coming = np.maximum(np.diff(backlog, prepend=0.0) + through * 0.01 / 8, 0.0)
    link = next(row for row in run.links.to_pylist() if (row["name"], row["flow"]) == ("forward", "cubic"))
    assert np.average(waiting[known], weights=coming[known]) == pytest.approx(link["sojourn_mean_ms"], rel=0.05)


def test_a_pdf_has_truetype_fonts_and_an_svg_has_text(result: Result, study: Study, tmp_path: Path) -> None:
    for number, drawn in enumerate((result.figure(style="paper"), study.figure(font="serif"))):
        drawn.savefig(tmp_path / f"{number}.pdf")
        pdf = (tmp_path / f"{number}.pdf").read_bytes()
        assert b"/FontFile2" in pdf
        assert b"/Type3" not in pdf
        streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
        assert any(b"BT" in _inflated(stream) for stream in streams)
        drawn.savefig(tmp_path / f"{number}.svg")
    assert ">goodput [Mb/s]</text>" in (tmp_path / "1.svg").read_text()


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


def test_size_letters_title_and_scales_are_as_asked_for(result: Result, study: Study) -> None:
    drawn = result.figure(width="8.5 cm", height=2, title="My $ title", log="y", panels="rates", style="paper")
    assert drawn.get_size_inches() == pytest.approx([8.5 / 2.54, 2.0])
    assert drawn.get_suptitle() == r"My \$ title"
    assert drawn.axes[0].get_yscale() == "log"
    assert result.figure(title="").get_suptitle() == ""
    assert study.figure(style="paper").get_figwidth() == 3.5
    slides = study.figure(style="slides", panels="curves", log="xy")
    assert slides.axes[0].xaxis.label.get_fontsize() == 16
    assert (slides.axes[0].get_xscale(), slides.axes[0].get_yscale()) == ("log", "log")
    serif = study.figure(font="DejaVu Serif")
    serif.draw_without_rendering()
    families: set[Any] = {text.get_fontfamily()[0] for text in serif.findobj(Text) if isinstance(text, Text)}
    assert families == {"DejaVu Serif"}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"panels": "rates,quene"}, "no panel `quene`; did you mean `queue`\\? There are: rates, queue, delay"),
        ({"flows": "renno"}, "no flow `renno`; did you mean `reno`\\? There are: reno, cubic, web"),
        ({"font": "DejaVu Sens"}, "no font `DejaVu Sens`; did you mean `DejaVu Sans`\\? There are: sans-serif"),
        ({"style": "poster"}, "no style `poster`; there are: screen, paper, slides"),
        ({"log": "z"}, "no set of logarithmic axes `z`; there are: x, y, xy"),
        ({"width": "3 furlongs"}, "`3 furlongs` is not a width from 1 to 60 inches"),
        ({"height": "100 m"}, "`100 m` is not a height"),
        ({"measure": "rtt_p95_ms"}, "for studies, and for the panels cdf-runs, cdf-time, scatter of runs"),
        ({"run": 5}, "no series of run 5 were recorded"),
    ],
)
def test_what_there_is_not_is_named_with_what_there_is(result: Result, options: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        result.figure(**options)


SHORT = ("--set", "duration='10 ms'", "--set", "warmup='0 s'", "--set", "flows.reno.start_spread='0 s'")


def test_a_run_that_ends_before_its_first_point_has_its_tables_and_no_plot(
    cli: Cli, fixed: Path, tmp_path: Path
) -> None:
    done = cli("run", fixed, *SHORT, "--series", "-o", "short")
    assert done.returncode == 0, done.stderr
    why = "a run of 0.01 s is too short to draw: series have a point each 100 ms (record.sample)"
    assert f"varicap: no plot: {why}\n" in done.stderr
    assert "goodput" in done.stdout
    assert not (tmp_path / "short" / "plot.png").exists()
    done = cli("plot", "short")
    assert (done.returncode, done.stderr) == (2, f"varicap: short: {why}\n")
    done = cli("plot", "short", "--panels", "scatter")
    assert (done.returncode, done.stderr) == (
        2,
        "varicap: short: no dots: `rtt_mean_ms` was not measured of these flows\n",
    )
    done = cli("report", "short")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)


def test_the_command_line_names_what_there_is_not(folder: Path, cli: Cli) -> None:
    for option, name, complaint in (("--flows", "renno", "no flow `renno`; did you"), ("--log", "z", "no set of log")):
        done = cli("plot", folder, "-o", "x.pdf", option, name)
        assert done.returncode == 2
        assert f"{folder}: {complaint}" in done.stderr


def test_many_flows_are_drawn_or_counted() -> None:
    scenario = {**SCENARIO, "flows": {"many": {"count": 20}, "other": {}}}
    result = varicap.run(scenario, seeds=1, series=True, overrides={"duration": "4 s"})
    assert "(7 more flows are not drawn)" in result.figure().get_suptitle()
    names = [flow["name"] for flow in result.summary["flows"]]
    whole = result.figure(panels="cwnd", flows=names)
    assert len(whole.axes[0].lines) == 21
    assert len({(line.get_color(), str(line.get_linestyle())) for line in whole.axes[0].lines}) > 7


def test_plot_from_the_command_line(cli: Cli, folder: Path, tmp_path: Path) -> None:
    panels = ",".join(PANELS)
    done = cli("plot", folder, "-o", "all.png", "--panels", panels, "--style", "paper", env={"PYTHONWARNINGS": "error"})
    assert done.returncode == 0, done.stderr
    assert done.stderr == "varicap: wrote all.png\n"
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"panels": "curves,heat"}, "one kind of panels, and not 2: curves, heat"),
        ({"panels": "scatter", "measure": "utilisation"}, "no delay `utilisation`; there are: rtt_mean_ms"),
        ({"panels": "scatter", "measure": "utilisation", "flows": "reno"}, "no delay `utilisation`; there are"),
        ({"panels": "scatter", "measure": "timeouts"}, "no delay `timeouts`; there are: rtt_mean_ms"),
        (
            {"panels": "scatter", "measure": "sojourn_p95_ms"},
            "no delay `sojourn_p95_ms`; did you mean `rtt_p95_ms`\\? There are",
        ),
        ({"measure": "fct_mean_ms"}, "`fct_mean_ms` was not measured at any point of this study"),
        ({"measure": "fct_mean_ms", "panels": "heat"}, "`fct_mean_ms` was not measured at any point"),
        ({"measure": "fct_mean_ms", "panels": "scatter"}, "`fct_mean_ms` was not measured at any point"),
        ({"run": 0}, "`run` is not for a study"),
    ],
)
def test_what_a_study_cannot_show_is_refused(study: Study, options: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        study.figure(**options)


def test_an_axis_of_small_numbers_keeps_its_unit() -> None:
    delays = {"topology.dumbbell.forward.delay": ["1e-3 s", "2e-3 s"], CAPACITY: ["1 Mbit/s", "2 Mbit/s"]}
    swept = varicap.sweep(SCENARIO, delays, seeds=1, overrides={"duration": "4 s"})
    for panels in ("curves", "heat"):
        axes = chart(swept, panels=panels).axes[0]
        assert axes.get_xlabel() == "forward delay [s]"
        assert "1e-3 s" not in [label.get_text() for label in axes.get_xticklabels()]
    goodput = next(each for each in sweeps(swept) if each.key == "goodput-bps-0")
    assert "forward delay [s]" in str(goodput.drawing)
