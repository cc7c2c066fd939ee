"""What `varicap design advice` found, for the terminal."""

from rich.table import Table

from varicap.design.advice.solve import Design, Gain, Setting
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
    asked = f"(asked: {100 * target.keep:g} % or more, {100 * target.delay:g} % or less)"
    near, best = design.nearest, design.best
    others = [point for point in design.unconfirmed if best is not None or point != near]
    refuted = [f"not confirmed: {_words(point.setting)}: {_others(point.gain)}" for point in others]
    if best is not None:
        lines = [f"verdict: worth following {_words(best.setting)}", f"{_others(best.gain)} {asked}", *refuted]
        return "\n".join(lines)
    if near in design.unconfirmed:
        nearest = f"nearest, not confirmed: {_words(near.setting)}\n{_others(near.gain)} {asked}"
    else:
        nearest = f"nearest: {_words(near.setting)}\n{_found(near.gain)}, in {near.gain.runs} runs {asked}"
    if design.verdict == "misses":
        return f"verdict: no advice that was tried is worth following; {nearest}"
    lines = [f"verdict: undecided whether any advice that was tried is worth following; {nearest}"]
    runs = [point.gain.runs for point in design.points if point.gain.verdict(target) == "undecided"]
    if runs:
        lines.append(f"{len(runs)} of {len(design.points)} settings: not decided within {max(runs)} runs")
    return "\n".join([*lines, *refuted])


def _words(setting: Setting) -> str:
    levels = f"levels of {100 * setting.step:.3g} %"
    return f"every {setting.update_s:g} s in {levels}, where it counts for {setting.period_s:.3g} s"


def _found(gain: Gain) -> str:
    return f"{_share(gain.goodput)} % of the goodput, {_share(gain.delay)} % of the RTT (p95)"


def _others(gain: Gain) -> str:
    return f"{_found(gain)}, in {gain.runs} other runs"


def _share(value: Interval) -> str:
    return with_interval(value.mean, value.lo, value.hi, 100.0)
