"""What a page says and shows first, and that its numbers, colours and words agree with the tables."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from test_report import data_of

import varicap
from varicap.report import story
from varicap.report.differences import significant, table
from varicap.report.web import page as pages
from varicap.report.web.path import links_of, picture
from varicap.report.web.source import source
from varicap.report.web.sweeps import sweeps
from varicap.results.differences import differences as paired
from varicap.results.result import Result
from varicap.results.study import Study

pytestmark = pytest.mark.slow

SHARED: dict[str, Any] = {
    "name": "shared",
    "duration": "15 s",
    "warmup": "3 s",
    "topology": {
        "dumbbell": {
            "forward": {"capacity": "4 Mbit/s", "delay": "20 ms", "queue": {"drop-tail": {"limit": "30 packets"}}}
        }
    },
    "flows": {
        "early": {"start_spread": "1 s"},
        "late": {"start": "4 s", "access_delay": "15 ms", "start_spread": "1 s", "tcp": {"congestion": "cubic"}},
        "web": {"app": {"arrivals": {"rate": "2 /s", "size": {"exponential": "20 kB"}}}},
    },
}


@pytest.fixture(scope="module")
def shared() -> Result:
    return varicap.run(SHARED, seeds=4, series=True, packets=True)


@pytest.fixture(scope="module")
def alone() -> Result:
    return varicap.run("examples/lte.toml", seeds=6, series=True, overrides={"duration": "30 s"})


@pytest.fixture(scope="module")
def study() -> Study:
    flows = {name: SHARED["flows"][name] for name in ("early", "late")}
    over = {
        "topology.dumbbell.forward.queue.drop-tail.limit": ["10 packets", "20 packets", "40 packets"],
        "topology.dumbbell.forward.capacity": ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"],
    }
    return varicap.sweep({**SHARED, "flows": flows}, over, seeds=3)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Page]:
    if browser.executable() is None:
        pytest.skip("no Chromium on this machine: install it to see pages drawn")
    with browser.browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


def told(text: str) -> list[str]:
    """The sentences of the first section."""
    (section,) = re.findall(r'<ul class="story">(.*?)</ul>', text)
    return [html.unescape(each) for each in re.findall(r"<li>(.*?)</li>", section)]


def test_the_story_says_what_the_intervals_support(alone: Result) -> None:
    sentences = told(pages.html(alone))
    rows = {(row["flow"], row["measure"]): row for row in alone.differences().to_pylist()}
    assert re.fullmatch(r"\w+ has the highest mean goodput, [\d.]+ ± [\d.]+ Mb/s\.", sentences[0])
    seen = set()
    for flow in ("newreno", "sack", "cubic"):
        (sentence,) = [each for each in sentences if each.startswith(f"{flow} against reno: ")]
        for measure, words in (("goodput_bps", "goodput"), ("sojourn_p95_ms", "queueing delay")):
            row = rows[flow, measure]
            seen.add(significant(row))
            claimed = re.search(rf"([+-])[\d.]+ ± [\d.]+ % {words}", sentence)
            assert bool(claimed) == significant(row)
            if claimed:
                assert claimed[1] == ("+" if row["difference"] > 0 else "-")
            else:
                assert re.search(rf"no significant difference in .*{words}", sentence)
    assert seen == {True, False}
    (heading,) = re.findall(r"<h3>(Differences[^<]*)</h3>", pages.html(alone))
    assert heading == "Differences from reno"
    assert sentences[-1] == "The flows differ in recovery and congestion: see Path."


def test_flows_that_do_not_differ_are_not_told_apart() -> None:
    twins = {**SHARED, "isolate": True, "flows": {"one": {}, "other": {}}}
    sentences = told(pages.html(varicap.run(twins, seeds=3)))
    assert sentences[1:] == [
        "other against one: no significant difference in goodput or queueing delay (95th percentile)."
    ]
    once = told(pages.html(varicap.run(SHARED, seeds=1)))
    assert "may be chance" in once[1]
    assert not any(re.search(r"[+-][\d.]+ ", sentence) for sentence in once)


def test_more_for_less_is_no_price() -> None:
    row: dict[str, Any] = {"flow": "b", "reference": "a", "measure": "goodput_bps"}
    row |= {"difference": 1e5, "lo": 5e4, "hi": 1.5e5}
    row |= {"percent": 10.0, "percent_lo": 5.0, "percent_hi": 15.0}
    less = {"difference": -1.5, "lo": -2.0, "hi": -1.0, "percent": -10.0, "percent_lo": -12.0, "percent_hi": -8.0}
    delay = {**row, **less, "measure": "rtt_p95_ms"}
    assert "+10 ± 5 % goodput and -10 ± 2 % round-trip time" in story._difference("b", row, delay)


def test_a_study_tells_what_each_axis_changes_by_itself(study: Study) -> None:
    first, early, _ = told(pages.html(study))
    assert first == "Each axis by itself, with equal values of the others:"
    limit, rate = (path for path, _ in study.points[0])
    place = {(dict(point)[limit], dict(point)[rate]): number for number, point in enumerate(study.points)}
    value = {
        (row["point"], row["replication"]): row["rtt_p95_ms"]
        for row in study.flows.to_pylist()
        if row["name"] == "early"
    }
    runs = sorted({run for _, run in value})
    rates = ("1 Mbit/s", "2 Mbit/s", "4 Mbit/s")
    pairs = [(place["10 packets", each], place["40 packets", each]) for each in rates]
    apart = [np.mean([value[last, run] - value[begin, run] for begin, last in pairs]) for run in runs]
    base = np.mean([value[begin, run] for begin, _ in pairs for run in runs])
    (said,) = re.findall(r"drop-tail limit 10 packets to 40 packets: .*?([+-]\d+) ± \d+ % round-trip time", early)
    assert int(said) == round(100 * float(np.mean(apart)) / float(base))
    assert "forward capacity 1 Mbit/s to 4 Mbit/s: " in early


def test_axes_that_go_together_are_told_from_end_to_end() -> None:
    over = {"topology.dumbbell.forward.delay": ["5 ms", "20 ms"], "topology.dumbbell.reverse.delay": ["5 ms", "20 ms"]}
    first, *_ = story.of_study(varicap.sweep(SHARED, over, design="zip", seeds=2))
    assert first == "From forward delay 5 ms, reverse delay 5 ms to forward delay 20 ms, reverse delay 20 ms:"


def test_random_designs_tell_no_effects() -> None:
    over = {"topology.dumbbell.forward.delay": "5 ms..20 ms", "topology.dumbbell.reverse.delay": "5 ms..20 ms"}
    told_ = list(story.of_study(varicap.sweep(SHARED, over, design="sobol", count=5, seeds=2)))
    assert all("highest mean goodput" in sentence for sentence in told_)
    assert not any(" to " in sentence for sentence in told_)


def test_a_study_tells_its_best_points(study: Study) -> None:
    _, early, late = told(pages.html(study))
    rows = [row for row in study.summary.to_pylist() if row["measure"] == "goodput_bps"]
    for sentence, flow in ((early, "early"), (late, "late")):
        best = max((row for row in rows if row["name"] == flow), key=lambda row: float(row["mean"]))
        assert sentence.startswith(f"{flow}: ")
        assert f"at drop-tail limit {best['topology.dumbbell.forward.queue.drop-tail.limit']}" in sentence


def test_means_over_time_are_those_of_the_tables(alone: Result, shared: Result) -> None:
    for result, key, flow in ((alone, "rates-3", "cubic"), (shared, "rates-0", "late")):
        chart = data_of(pages.html(result))["charts"][key]
        numbers = {row[0]: row[1:] for row in chart["numbers"]}
        (row,) = [row for row in result.flows.to_pylist() if (row["name"], row["replication"]) == (flow, 0)]
        links = [row for row in result.links.to_pylist() if row["name"] == "forward" and row["replication"] == 0]
        link = next(row for row in links if row["flow"] in ("", flow))
        expected = link["throughput_bps"] if link["flow"] else row["throughput_bps"]
        assert float(numbers[flow][0]) == pytest.approx(expected / 1e6, rel=5e-3)
        assert float(numbers["capacity"][0]) == pytest.approx(link["capacity_bps"] / 1e6, rel=5e-3)
        assert "after the warm-up" in chart["text"]
        (goodput,) = re.findall(rf"Goodput, .*?{flow} (\d+\.\d+)", chart["text"])
        assert float(goodput) == pytest.approx(row["goodput_bps"] / 1e6, rel=5e-3)
    queue = data_of(pages.html(shared))["charts"]["queue"]
    assert f"{link['dropped_packets']} packets were lost" in queue["text"]


def test_no_throughput_exceeds_the_capacity(alone: Result, shared: Result) -> None:
    for result in (alone, shared):
        for key, chart in data_of(pages.html(result))["charts"].items():
            if key.startswith("rates-"):
                capacity, *others = (column["values"] for column in chart["columns"])
                assert len(others) >= 1
                for values in others:
                    # Numbers on the page have five digits.
                    assert all(value <= most * 1.0001 for value, most in zip(values, capacity, strict=True))
    links = shared.link_series.filter(pc.equal(shared.link_series["link"], "forward"))
    assert pc.max(pc.divide(links["throughput_bps"], links["capacity_bps"])).as_py() > 1.01


def test_every_chart_gives_a_flow_its_colour_and_a_shared_queue_none(shared: Result, alone: Result) -> None:
    text = pages.html(shared)
    charts = data_of(text)["charts"]
    flows = {"early": 0, "late": 1, "web": 2}
    for key in ("rates-0", "queue", "waiting", "cwnd", "rtt"):
        for column in charts[key]["columns"]:
            assert column["flow"] == flows.get(column["label"]), (key, column["label"])
    for key, name in (("delay", "late"), ("tradeoff", "late")):
        drawing = text[text.index(f'id="figure-{key}"') :]
        (names,) = re.findall(rf'<g class="(c\d)"><path[^>]*></path><text[^>]*>{name}</text>', drawing)[:1]
        assert names == "c1"
    backlog = text[text.index('id="figure-backlog"') :]
    assert 'class="neutral steps"' in backlog[: backlog.index("</svg>")]
    own = data_of(pages.html(alone))["charts"]["queue"]["columns"]
    assert [column["flow"] for column in own if column["role"] == "line"] == [0, 1, 2, 3]


def test_a_sweep_of_two_axes_has_a_panel_for_each_value_and_a_colour_for_each_flow(study: Study) -> None:
    text = pages.html(study)
    drawing = text[text.index('id="figure-goodput-bps-0"') :]
    drawing = drawing[: drawing.index("</svg>")]
    assert [f"forward capacity {rate} Mbit/s" in drawing for rate in (1, 2, 4)] == [True] * 3
    assert drawing.count('class="c0 points"') == drawing.count('class="c1 points"') == 3
    assert drawing.count('class="bar"') == 18
    assert "c2" not in drawing


def test_the_first_chart_has_the_delay_that_tells_the_flows_apart(alone: Result, shared: Result) -> None:
    chart = data_of(pages.html(alone))["charts"]["tradeoff"]
    assert chart["title"] == "Goodput against queueing delay"
    own = alone.links.filter(pc.and_(pc.equal(alone.links["flow"], "cubic"), pc.equal(alone.links["name"], "forward")))
    (shown,) = [each["values"] for each in chart["columns"] if each["label"] == "cubic, queueing delay"]
    assert shown == pytest.approx(own.sort_by("replication")["sojourn_p95_ms"].to_pylist(), rel=1e-6)
    assert data_of(pages.html(shared))["charts"]["tradeoff"]["title"] == "Goodput against round-trip time"


def test_runs_are_numbered_as_in_a_figure(alone: Result) -> None:
    title = varicap.report.draw(alone, run=2, panels="queue").get_suptitle()
    assert title.endswith("run 2 of runs 0 to 5")
    assert re.search(r"Run 2</span> of runs 0 to 5\. ", pages.html(alone, 2))


def test_captions_are_words() -> None:
    lte = varicap.run("examples/lte.toml", seeds=1, overrides={"duration": "10 s"})
    shown = source(lte)
    assert links_of(shown.scenario)
    assert "trace lte-like.down, 20 ms" in picture(shown)
    markov = varicap.run("examples/markov.toml", seeds=1, overrides={"duration": "20 s"})
    text = pages.html(markov)
    body = text[text.index('<section id="path">') :]
    body = body[: body.index("</section>")]
    assert "mean_holding" not in body
    assert re.search(r"mean holding [\d.]+ s and [\d.]+ s", body)
    text = pages.html(lte)
    body = text[text.index('<section id="path">') :]
    body = body[: body.index("</section>")]
    assert ">follows traces/lte-like.down, 1500 B each, from a random instant on<" in body
    assert ">cubic, recovery rack<" in body
    # Neither keys nor their values.
    assert not re.search(r": (yes|no)\b", body)


def test_the_page_says_what_distinguishes_the_flows(shared: Result) -> None:
    differ = story.distinctions(source(shared).scenario)
    assert {"start", "access delay", "congestion", "app"} <= set(differ)
    assert differ["start"] == {"early": "0 s", "late": "4 s", "web": "0 s"}
    text = pages.html(shared)
    table = text[text.index("What distinguishes the flows") :]
    row = re.search(r'<tr><th scope="row">late</th>(.*?)</tr>', table)
    assert row
    assert {"4 s", "15 ms", "cubic"} <= set(re.findall(r">([^<]+)</td>", row[1]))


def test_completion_times_are_on_the_page(shared: Result) -> None:
    chart = data_of(pages.html(shared))["charts"]["fct"]
    rows = shared.flows.filter(pc.equal(shared.flows["name"], "web"))
    (levels,) = [column["values"] for column in chart["columns"] if column["label"] == "web"]
    assert min(levels) > 60  # two round trips of 40 ms, less what the sender need not wait for
    assert min(levels) < pc.min(rows["fct_p50_ms"]).as_py() < max(levels)
    without = pages.html(varicap.run(SHARED, seeds=1, series=True))
    assert "fct" not in data_of(without)["charts"]
    assert "Record packets (--packets)" in without
    assert "Record packets (--packets)" not in pages.html(shared)


def test_a_delay_that_varies_has_a_panel(shared: Result) -> None:
    falling = '{ steps = { at = ["0 s", "5 s"], delays = ["50 ms", "20 ms"], period = "10 s" } }'
    moved = varicap.run(SHARED, seeds=1, series=True, overrides={"topology.dumbbell.forward.delay": falling})
    columns = data_of(pages.html(moved))["charts"]["propagation"]["columns"]
    assert [(column["heading"], set(column["values"])) for column in columns] == [("forward [ms]", {50, 20})]
    assert "propagation" not in data_of(pages.html(shared))["charts"]


def test_the_first_screen_has_a_chart(tab: browser.Page, shared: Result, study: Study, tmp_path: Path) -> None:
    for of in (shared, study):
        tab.open(varicap.report.page(of, tmp_path / "page.html"), width=1280)
        middle = "(({top, height}) => top + height / 2)(document.querySelector('figure svg').getBoundingClientRect())"
        assert tab.eval(middle) < 800
    assert tab.complaints == []


def test_losses_are_marks_on_the_axis_in_the_colour_of_their_flow(
    tab: browser.Page, alone: Result, tmp_path: Path
) -> None:
    tab.open(varicap.report.page(alone, tmp_path / "page.html"), width=1280)
    marks = """(() => {
        const plot = varicap.plots.find(({chartKey}) => chartKey === 'queue');
        const { width, height } = plot.ctx.canvas;
        const pixels = plot.ctx.getImageData(0, 0, width, height).data;
        const zero = Math.round(plot.valToPos(0, 'y', true));
        const foot = Math.round(plot.bbox.top + plot.bbox.height);
        const found = [];
        plot.series.forEach(({label, stroke}, index) => {
            if (!String(label).endsWith(', lost')) return;
            plot.ctx.strokeStyle = stroke(plot, index);
            const colour = plot.ctx.strokeStyle.match(/[0-9a-f]{2}/g).map((digits) => parseInt(digits, 16));
            plot.data[index].forEach((count, at) => {
                if (!count) return;
                const x = Math.round(plot.valToPos(plot.data[0][at], 'x', true));
                const like = (y) => colour.every((part, i) => Math.abs(pixels[4 * (y * width + x) + i] - part) < 60);
                let rows = 0;
                for (let y = zero + 1; y < foot; y++) rows += like(y);
                found.push(rows >= 3);
            });
        });
        return [zero < foot - 10, found.length, found.filter(Boolean).length];
    })()"""
    below, every, marked = tab.eval(marks)
    assert below
    assert every > 5
    assert marked > 0.95 * every
    assert tab.complaints == []


def test_a_telephone_shows_the_whole_path_and_that_tables_go_on(
    tab: browser.Page, shared: Result, tmp_path: Path
) -> None:
    tab.open(varicap.report.page(shared, tmp_path / "page.html"), width=360)
    cut = "(box => box.scrollWidth - box.clientWidth)(document.querySelector('svg.path').parentElement)"
    assert tab.eval(cut) <= 0
    boxes = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1)"
    assert tab.eval(f"{boxes}.length") > 0
    assert tab.eval(f"{boxes}.every(box => getComputedStyle(box).backgroundImage.includes('gradient'))")
    # Words are read without moving them; the name of a row stays while its numbers are moved.
    assert tab.eval(f"{boxes}.every(box => box.querySelector('table.words') === null)")
    row = "document.querySelector('table.numbers tbody th')"
    before = tab.eval(f"{row}.getBoundingClientRect().left")
    tab.eval(f"{row}.closest('.scroll').scrollLeft = 60")
    assert tab.eval(f"{row}.getBoundingClientRect().left") == before
    assert tab.complaints == []


OVERLAPS = """(() => {
    const box = (part) => {
        const { left, right, top, bottom } = part.getBoundingClientRect();
        // A line has no height.
        return bottom > top ? { left, right, top, bottom } : { left, right, top: top - 3, bottom: bottom + 3 };
    };
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
    const named = (part) => part.textContent || 'a line';
    return [...document.querySelectorAll('svg.plot')].flatMap((drawing) => {
        const texts = [...drawing.querySelectorAll('text:not(:empty)')];
        const parts = [...texts, ...drawing.querySelectorAll('path.curve:has(+ text.name)')];
        const frame = box(drawing);
        const over = texts.flatMap((text, at) => parts.slice(at + 1)
            .filter((part) => meet(box(text), box(part)))
            .map((part) => `${named(text)} and ${named(part)}`));
        const beyond = texts.filter((text) => box(text).left < frame.left - 1 || box(text).right > frame.right + 1
            || box(text).top < frame.top - 1 || box(text).bottom > frame.bottom + 1);
        return [...over, ...beyond.map((text) => `${named(text)} beyond the drawing`)];
    });
})()"""


@pytest.mark.parametrize("width", [360, 390, 1200])
def test_no_text_of_a_drawing_overlaps_another(tab: browser.Page, tmp_path: Path, width: int) -> None:
    names = ["early", "late", "a-rather-long-name", "cubic", "Reno-WITH-MANY", "x", "W" * 60]
    several = {**SHARED, "flows": {name: {"start_spread": "1 s"} for name in names}}
    over = {
        "topology.dumbbell.forward.queue.drop-tail.limit": ["10 packets", "40 packets"],
        "topology.dumbbell.forward.capacity": ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"],
    }
    short = {"duration": "6 s"}
    for shown in (
        varicap.run(several, seeds=2, series=True, packets=True, overrides=short),
        varicap.sweep(several, dict([next(iter(over.items()))]), seeds=2, overrides=short),
        varicap.sweep({**SHARED, "flows": {"early": {}}}, over, seeds=1, overrides=short),
    ):
        tab.open(varicap.report.page(shown, tmp_path / "page.html"), width=width)
        assert tab.eval("document.querySelectorAll('svg.plot').length") > 2
        assert tab.eval(OVERLAPS) == []


def test_a_table_of_no_flows_has_no_story() -> None:
    assert list(story.of_runs({"engine": "model", "flows": []}, pa.table({}), pa.table({}))) == []


def summary_of(rates: dict[int, list[float]], control: dict[int, str] | None = None) -> Study:
    """A study of one flow whose goodput in each run is given, by point."""
    rows = [(point, run, rate) for point, of in rates.items() for run, rate in enumerate(of)]
    points, runs, values = (list(column) for column in zip(*rows, strict=True))
    goodput = pa.field("goodput_bps", pa.float64(), metadata={"unit": "b/s"})
    fields = [("point", pa.int64()), ("replication", pa.int64()), ("name", pa.string()), goodput]
    flows = pa.table([points, runs, ["a"] * len(rows), values], schema=pa.schema(fields))
    nothing = flows.slice(0, 0)
    places = tuple((("x", (control or {}).get(point, str(point))),) for point in rates)
    return Study("made up", places, {"flows": flows, "groups": nothing, "links": nothing}, None)


def test_a_change_between_points_has_the_sign_and_percent_of_the_paired_runs() -> None:
    # Ten runs of 3 ± 0.75 Mb/s, each of which has a tenth more at the last point: 0.3 ± 0.075 Mb/s.
    first = [2e6, 4e6] * 5
    _, sentence = story.of_study(summary_of({0: first, 1: [1.1 * rate for rate in first]}))
    assert sentence == "a: +10 ± 3 % goodput; highest mean goodput, 3.3 ± 0.8 Mb/s, at x 1."
    _, sentence = story.of_study(summary_of({0: first, 1: [0.9 * rate for rate in first]}))
    assert sentence == "a: -10 ± 3 % goodput; highest mean goodput, 3.0 ± 0.8 Mb/s, at x 0."
    _, sentence = story.of_study(summary_of({0: first, 1: [*first[1:], first[0]]}))
    assert sentence.startswith("a: no significant change of goodput; ")


def test_the_change_is_related_to_the_runs_that_both_points_have() -> None:
    # In its first four runs the first point has 2 Mb/s in the mean, over all of them 5 Mb/s.
    few = [1e6, 3e6, 1e6, 3e6]
    swept = summary_of({0: [*few, *[8e6] * 4], 1: [1.49e6, 3.51e6, 1.5e6, 3.5e6]})
    row = next(row for row in swept.summary.to_pylist() if row["point"] == 1)
    assert (row["difference_base"], row["difference_runs"], row["runs"]) == (2e6, 4, 4)
    _, sentence = story.of_study(swept)
    # The highest mean of all runs is at the first point, so that no gain can be stated beside it.
    assert sentence.startswith(
        "a: goodput not comparable (over the 4 runs that both points have it changes one way, over all runs the other);"
    )
    _, sentence = story.of_study(summary_of({0: few, 1: [1.49e6, 3.51e6, 1.5e6, 3.5e6, *[8e6] * 4]}))
    assert re.match(r"a: \+25\.0 ± 0\.\d+ % goodput \(over the 4 runs that both points have\); ", sentence)


def test_what_one_run_shows_may_be_chance_and_what_all_runs_share_is_no_interval() -> None:
    _, once = story.of_study(summary_of({0: [2e6], 1: [2.2e6]}))
    assert once.startswith("a: +10.0 % goodput (one run: may be chance); ")
    _, alike = story.of_study(summary_of({0: [1.1e6] * 3, 1: [1.3e6] * 3}))
    assert alike.startswith("a: +18.2 % goodput (the same in all runs); ")
    _, gone = story.of_study(summary_of({0: [float("nan")] * 3, 1: [1.3e6] * 3}))
    assert gone.startswith("a: goodput not comparable; ")


def test_points_that_share_the_highest_mean_are_all_named() -> None:
    _, some = story.of_study(summary_of({0: [2e6], 1: [3e6], 2: [3e6]}))
    assert some.endswith("highest mean goodput, 3.00 Mb/s, at x 1 and at x 2.")
    _, every = story.of_study(summary_of({0: [2e6], 1: [2e6], 2: [2e6]}))
    assert every.endswith("the same mean goodput, 2.00 Mb/s, at all points.")


def test_a_chart_of_a_sweep_names_all_that_share_the_greatest_mean() -> None:
    def text(rates: dict[int, list[float]]) -> str:
        (chart,) = sweeps(summary_of(rates))
        return chart.text

    assert text({0: [2e6], 1: [3e6], 2: [1e6]}) == "Over x. Greatest [Mb/s]: 3.00, a, x 1."
    assert text({0: [2e6], 1: [3e6], 2: [3e6]}) == "Over x. Greatest [Mb/s]: 3.00: a, x 1; a, x 2."
    # With one mean but different intervals.
    assert text({0: [2e6, 4e6], 1: [3e6, 3e6]}) == "Over x. Greatest [Mb/s]: 3.00: a, x 0; a, x 1."
    many = text({point: [2e6 if point else 1e6] for point in range(5)})
    assert many == "Over x. Greatest [Mb/s]: 2.00, in 4 of the 5 rows of the table."


def test_flows_that_share_the_highest_mean_are_all_named() -> None:
    def flow(name: str, rate: float) -> dict[str, Any]:
        return {"name": name, "goodput_bps": {"mean": rate, "lo": None, "hi": None}}

    def leader(*flows: dict[str, Any]) -> str:
        (sentence,) = story._leader({"flows": flows, "links": []})
        return sentence

    a, b, c = flow("a", 2e6), flow("b", 2e6), flow("c", 1e6)
    assert leader(a, b, c) == "a and b have the highest mean goodput, 2.00 Mb/s."
    assert leader(a, b) == "All flows have the same mean goodput, 2.00 Mb/s."
    assert leader(a, c) == "a has the highest mean goodput, 2.00 Mb/s."
    assert leader(a) == "a got 2.00 Mb/s of goodput."


def test_a_difference_that_every_run_has_is_stated_but_not_called_significant() -> None:
    flows = [(name, run, rate) for name, rate in (("a", 1.1e6), ("b", 1.3e6)) for run in range(3)]
    names, runs, rates = (list(column) for column in zip(*flows, strict=True))
    goodput = pa.field("goodput_bps", pa.float64(), metadata={"unit": "b/s"})
    fields = [("name", pa.string()), ("group", pa.string()), ("replication", pa.int64()), goodput]
    found = paired(pa.table([names, names, runs, rates], schema=pa.schema(fields)), pa.table({}))
    (row,) = found.to_pylist()
    assert not significant(row)
    assert story._difference("b", row, None) == "b against a: +18.2 % goodput (the same in all runs)."
    ((_, cell),) = table(found)[1]
    assert cell == "+0.200 (+18.2 %)"
    once = {**row, "lo": float("nan"), "hi": float("nan"), "percent_lo": float("nan"), "percent_hi": float("nan")}
    assert story._difference("b", once, None) == "b against a: +18.2 % goodput (one run: may be chance)."
