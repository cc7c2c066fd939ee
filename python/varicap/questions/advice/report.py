"""What `varicap design advice` found, for the terminal."""

from rich.table import Table

from varicap.questions.advice.solve import Design, Gain, Setting
from varicap.report.table import titled, with_interval
from varicap.statistics import Interval


def tables(design: Design) -> list[Table]:
    """A row for each setting, and one for exact rates."""
    table = titled(
        f"{design.scenario}: flows that follow advice, over those that do not",
        ["update [s]", "counts for [s]", "levels of [%]", "runs", "goodput [%]", "RTT p95 [%]", "verdict"],
        left=["verdict"],
    )
    for point in design.points:
        setting = point.setting
        cells = [f"{setting.update_s:g}", f"{setting.period_s:.3g}", f"{100 * setting.step:.3g}"]
        is_best = design.best is not None and setting == design.best.setting
        table.add_row(*cells, *_numbers(design, point.gain), style="bold" if is_best else "")
    table.add_row("exact", "", "", *_numbers(design, design.exact))
    return [table]


def _numbers(design: Design, gain: Gain) -> list[str]:
    return [str(gain.runs), _share(gain.goodput), _share(gain.delay), gain.verdict(design.target)]


def conclusion(design: Design) -> str:
    """The answer in words."""
    target = design.target
    asked = f"asked: {100 * target.keep:g} % or more, {100 * target.delay:g} % or less"
    if design.best is not None:
        setting, gain = design.best.setting, design.best.gain
        return f"verdict: worth following {_words(setting)}\n{_found(gain)}, in {gain.runs} other runs ({asked})"
    near = design.nearest
    left = sum(point.gain.verdict(target) == "undecided" for point in design.points)
    open_ones = f" ({left} are undecided)" if left else ""
    lines = [
        f"verdict: no advice that was tried is worth following{open_ones}; nearest: {_words(near.setting)}",
        f"{_found(near.gain)} ({asked})",
    ]
    if design.exact.verdict(target) == "misses":
        lines.append(f"nor are exact rates: {_found(design.exact)}")
    return "\n".join(lines)


def _words(setting: Setting) -> str:
    levels = f"levels of {100 * setting.step:.3g} %"
    return f"every {setting.update_s:g} s in {levels}, where it counts for {setting.period_s:.3g} s"


def _found(gain: Gain) -> str:
    return f"{_share(gain.goodput)} % of the goodput, {_share(gain.delay)} % of the RTT (p95)"


def _share(value: Interval) -> str:
    return with_interval(value.mean, value.lo, value.hi, 100.0)
