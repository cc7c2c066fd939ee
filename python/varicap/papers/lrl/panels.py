"""Figures of this paper: links over time, and several of them one above the other."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from varicap.papers.lrl.link import Measured, Series, Setting
from varicap.report import style
from varicap.statistics import Interval


def over_time(title: str, series: Series, setting: Setting) -> Figure:
    """Capacity and throughput of the first run, and below them the backlog, in means over seconds."""
    figure = Figure(figsize=(7.0, 5.0), dpi=120, layout="constrained")
    rates, queue = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    figure.suptitle(title, fontsize=10)
    for axes in (rates, queue):
        style.plain(axes)
    rates.step(series.time_s, series.capacity[0], where="pre", color=style.QUEUE, linewidth=0.8, label="capacity")
    seconds = [second + 0.5 for second in range(series.seconds(series.throughput).shape[1])]
    throughput = series.seconds(series.throughput)[0]
    rates.plot(seconds, throughput, color=style.colour(0), linewidth=1.2, label="throughput, 1 s")
    rates.set_ylabel("[kb/s]", fontsize=9)
    rates.set_ylim(bottom=0)
    rates.legend(fontsize=8, frameon=False)
    queue.plot(series.time_s, series.waiting[0], color=style.QUEUE, linewidth=0.5, label="at the samples")
    mean = series.seconds(series.mean_waiting)[0]
    queue.plot(seconds, mean, color=style.colour(1), linewidth=1.2, label="mean over 1 s")
    if setting.unit == "bytes":
        for threshold in (setting.low, setting.high):
            queue.axhline(1e3 * threshold, color=style.colour(2), linewidth=0.8, linestyle="--")
    queue.set_ylabel("waiting [B]", fontsize=9)
    queue.set_ylim(bottom=0)
    queue.set_xlabel("time [s]", fontsize=9)
    queue.legend(fontsize=8, frameon=False)
    return figure


def capacities(title: str, runs: Sequence[Measured], unit: str) -> Figure:
    """The forward capacity of the first run over time, a line for each high threshold."""
    figure = Figure(figsize=(7.0, 4.2), dpi=120, layout="constrained")
    axes = figure.subplots()
    style.plain(axes)
    figure.suptitle(title, fontsize=10)
    for number, measured in enumerate(runs):
        series = measured.forward
        name = f"high {measured.setting.high:g} {unit}"
        # Lines at the same level are drawn slightly apart.
        shift = 0.002 * number * max(float(run.forward.capacity[0].max()) for run in runs)
        colour = style.colour(number)
        axes.step(series.time_s, series.capacity[0] + shift, where="pre", color=colour, linewidth=1.0, label=name)
    axes.set_xlabel("time [s]", fontsize=9)
    axes.set_ylabel("capacity [kb/s]", fontsize=9)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def bars(title: str, names: Sequence[str], groups: Sequence[tuple[str, Sequence[Interval]]], label: str) -> Figure:
    """Horizontal bars side by side, one of each group for each name."""
    figure = Figure(figsize=(7.0, 1.0 + 0.32 * len(names)), dpi=120, layout="constrained")
    axes = figure.subplots()
    style.plain(axes)
    figure.suptitle(title, fontsize=10)
    height = 0.8 / len(groups)
    for number, (name, values) in enumerate(groups):
        at = [place + (number - (len(groups) - 1) / 2) * height for place in range(len(names))]
        means = [value.mean for value in values]
        low = [value.mean - value.lo if value.lo is not None else 0.0 for value in values]
        high = [value.hi - value.mean if value.hi is not None else 0.0 for value in values]
        axes.barh(at, means, height * 0.92, color=style.colour(number), label=name, xerr=[low, high], capsize=2)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(label, fontsize=9)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    return figure
