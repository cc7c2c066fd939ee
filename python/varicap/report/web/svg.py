"""Plots as SVG: lines, steps and points with error bars.  Colours come from the page's style, light or dark."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from unicodedata import east_asian_width

from varicap.report.web.markup import Markup, joined, tag

COLOURS = 7
"""Colours of the page's style, c0 to c6; curves after them are dashed."""

NEUTRAL = -1
"""The colour of what is no flow's; numbers below it are dashed."""

_WIDTH, _HEIGHT = 520, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 14, 10, 44
_LINE = 18
_IN_A_ROW = 2  # panels of multiples
_MARK = 21  # from the line of a curve in the legend to its name
_BETWEEN = 8  # room between two names
_LETTERS = 15.0  # the size of letters on a narrow screen, where they are largest


@dataclass(frozen=True)
class Curve:
    """Points in order of x, with the ends of their intervals if they have any."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int = 0
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    style: str = "points"
    """points (with lines between), dots (without), steps."""
    left: Sequence[float] = ()
    right: Sequence[float] = ()
    """The ends of the intervals of x, if they have any."""


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        low, high, at = (log10(each) if self.logarithmic else each for each in (self.low, self.high, value))
        return (at - low) / (high - low)


def axis(label: str, values: Sequence[float], *, from_zero: bool = False, logarithmic: bool = False) -> Axis:
    """An axis that holds these values, with round numbers at its ticks.

    >>> axis("x", [3.0, 97.0], from_zero=True).ticks
    ((0.0, '0'), (20.0, '20'), (40.0, '40'), (60.0, '60'), (80.0, '80'), (100.0, '100'))
    """
    known = [value for value in values if isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if logarithmic and low > 0.0:
        return _decades(label, low, high)
    low = min(low, 0.0) if from_zero else low
    if high <= low:
        low, high = (low, low + 1.0) if from_zero else (low - 0.5, low + 0.5)
    if not from_zero:
        # What lies at an end is not cut by the frame.
        low, high = low - 0.04 * (high - low), high + 0.04 * (high - low)
    step = _round_step((high - low) / 5)
    first = floor(low / step) if from_zero else ceil(low / step - 1e-9)
    last = ceil(high / step - 0.02) if from_zero else floor(high / step + 1e-9)
    at = [number * step for number in range(first, last + 1)]
    ends = (at[0], at[-1]) if from_zero else (low, high)
    return Axis(label, *ends, tuple((value, f"{value:.10g}") for value in at))


def _decades(label: str, low: float, high: float) -> Axis:
    if high <= low:
        low, high = low / 2, high * 2
    low, high = low * (low / high) ** 0.04, high * (high / low) ** 0.04
    most = 3 if high / low < 1e3 else 1
    found = [
        digit * 10.0**power
        for power in range(floor(log10(low)), ceil(log10(high)) + 1)
        for digit in (1, 2, 5)[:most]
        if low <= digit * 10.0**power * (1 + 1e-9) and digit * 10.0**power <= high * (1 + 1e-9)
    ]
    return Axis(label, low, high, tuple((value, f"{value:g}") for value in found), logarithmic=True)


def _round_step(wanted: float) -> float:
    power = 10.0 ** floor(log10(wanted))
    return next(digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power >= wanted * (1 - 1e-9))


def plot(curves: Sequence[Curve], across: Axis, up: Axis, text: str) -> Markup:
    """A drawing; `text` is read to those who cannot see it."""
    legend, height = _legend(curves)
    drawn = joined(legend, _framed(curves, across, up, _TOP + height))
    return _whole(text, drawn, _WIDTH, _HEIGHT + height)


def multiples(panels: Sequence[tuple[str, Sequence[Curve]]], across: Axis, up: Axis, text: str) -> Markup:
    """A drawing of several panels with the same axes, each below its title; the names stand above them all."""
    named = {curve.label: curve for _, curves in panels for curve in curves}
    legend, height = _legend(list(named.values()))
    parts = [legend]
    for number, (title, curves) in enumerate(panels):
        x, y = (number % _IN_A_ROW) * _WIDTH, height + (number // _IN_A_ROW) * (_HEIGHT + _LINE)
        heading = tag("text", title, x=_LEFT, y=_LINE - 4, class_="name")
        frame = _framed(curves, across, up, _TOP + _LINE)
        parts.append(tag("g", heading, frame, transform=f"translate({x} {y})"))
    rows = -(-len(panels) // _IN_A_ROW)
    width = _WIDTH * min(len(panels), _IN_A_ROW)
    return _whole(text, joined(*parts), width, height + rows * (_HEIGHT + _LINE))


def _framed(curves: Sequence[Curve], across: Axis, up: Axis, top: int) -> Markup:
    """A frame that begins at `top`, with the curves in it."""
    frame = _Frame(across, up, top, top + _HEIGHT - _TOP - _BOTTOM)
    return joined(_axes(frame), *(_curve(frame, curve) for curve in curves))


def _whole(text: str, drawn: Markup, width: int, height: int) -> Markup:
    return tag(
        "svg",
        tag("title", text),
        drawn,
        viewBox=f"0 0 {width} {height}",
        role="img",
        class_="plot",
        xmlns="http://www.w3.org/2000/svg",
    )


@dataclass(frozen=True)
class _Frame:
    """From values to places in the drawing."""

    across: Axis
    up: Axis
    top: float
    bottom: float

    def x(self, value: float) -> float:
        return round(_LEFT + self.across.share(value) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        return round(self.bottom - self.up.share(value) * (self.bottom - self.top), 1)


def _axes(frame: _Frame) -> Markup:
    parts = []
    for value, label in frame.up.ticks:
        y = frame.y(value)
        parts += [
            tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid"),
            tag("text", label, x=_LEFT - 7, y=y + 4, text_anchor="end", class_="tick"),
        ]
    for value, label in frame.across.ticks:
        x = frame.x(value)
        parts += [
            tag("line", x1=x, x2=x, y1=frame.bottom, y2=frame.bottom + 4, class_="axis"),
            tag("text", label, x=x, y=frame.bottom + 17, text_anchor="middle", class_="tick"),
        ]
    parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=frame.bottom, y2=frame.bottom, class_="axis"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(tag("text", frame.across.label, x=middle, y=frame.bottom + 36, text_anchor="middle", class_="label"))
    at = (frame.top + frame.bottom) / 2
    turned = f"rotate(-90 13 {at:.0f})"
    parts.append(tag("text", frame.up.label, x=13, y=round(at), text_anchor="middle", transform=turned, class_="label"))
    return joined(*parts)


def _curve(frame: _Frame, curve: Curve) -> Markup:
    points = [(frame.x(x), frame.y(y)) for x, y in zip(curve.x, curve.y, strict=True) if isfinite(x) and isfinite(y)]
    if not points:
        return Markup()
    parts = [_bar(frame, curve, place) for place in range(len(curve.low))]
    parts += [_side(frame, curve, place) for place in range(len(curve.left))]
    if curve.style != "dots":
        parts.append(tag("path", d=_line(points, curve.style == "steps"), class_=f"curve {_dash(curve.colour)}"))
    if curve.style != "steps":
        parts += [
            tag("circle", cx=x, cy=y, r=3.2 if curve.style == "points" else 2.4, class_="point") for x, y in points
        ]
    return tag("g", *parts, class_=f"{_colour(curve.colour)} {curve.style}")


def _bar(frame: _Frame, curve: Curve, place: int) -> Markup:
    """An error bar with caps."""
    x, low, high = curve.x[place], curve.low[place], curve.high[place]
    if not (isfinite(low) and isfinite(high)):
        return Markup()
    at, foot, head = frame.x(x), frame.y(max(low, frame.up.low)), frame.y(min(high, frame.up.high))
    return tag("path", d=f"M{at} {foot}V{head}M{at - 4} {foot}h8M{at - 4} {head}h8", class_="bar")


def _side(frame: _Frame, curve: Curve, place: int) -> Markup:
    """An error bar of x."""
    y, low, high = curve.y[place], curve.left[place], curve.right[place]
    if not (isfinite(low) and isfinite(high)):
        return Markup()
    at, begin, end = frame.y(y), frame.x(max(low, frame.across.low)), frame.x(min(high, frame.across.high))
    return tag("path", d=f"M{begin} {at}H{end}M{begin} {at - 4}v8M{end} {at - 4}v8", class_="bar")


def _line(points: Sequence[tuple[float, float]], steps: bool) -> str:
    x, y = points[0]
    between = (f"H{x}V{y}" if steps else f"L{x} {y}" for _, (x, y) in pairwise(points))
    return f"M{x} {y}" + "".join(between)


def _legend(curves: Sequence[Curve]) -> tuple[Markup, int]:
    """Names of the curves above the frame, and the height that they take; one curve needs none."""
    named = [curve for curve in curves if curve.label]
    if len(named) < 2:
        return Markup(), 0
    parts, x, y = [], float(_LEFT), 14
    for curve in named:
        label = fitting(curve.label, _WIDTH - _LEFT - _MARK)
        width = _MARK + _width(label)
        if x + width > _WIDTH and x > _LEFT:
            x, y = float(_LEFT), y + _LINE
        mark = tag("path", d=f"M{x:.0f} {y - 4}h16", class_=f"curve {_dash(curve.colour)}")
        parts.append(
            tag(
                "g",
                mark,
                tag("text", label, x=f"{x + _MARK:.0f}", y=y, class_="name"),
                class_=_colour(curve.colour),
            )
        )
        x += width + _BETWEEN
    return joined(*parts), y + 8 - _TOP + 4


def fitting(text: str, width: float) -> str:
    """As much of a text as has room on any screen, but never less than four letters.

    >>> fitting("a-rather-long-name", 200), fitting("a-rather-long-name", 80), fitting("a-rather-long-name", 0)
    ('a-rather-long-name', 'a-rath…', 'a-r…')
    """
    cut = text
    while _width(cut) > width and len(cut) > 4:
        cut = f"{cut.removesuffix('…')[:-1]}…"
    return cut


def place_width(places: int) -> float:
    """The room for a name below each of so many places beside each other."""
    return (_WIDTH - _LEFT - _RIGHT) / places - _BETWEEN


def _width(text: str) -> float:
    """The width of a text, rather too large."""
    return _LETTERS * sum(map(_share_of_em, text))


def _share_of_em(letter: str) -> float:
    if letter in "MWmw@%…" or east_asian_width(letter) in "FW":
        return 1.0
    return 0.75 if letter.isupper() else 0.62


def _dash(colour: int) -> str:
    return "dashed" if colour >= COLOURS or colour < NEUTRAL else ""


def _colour(colour: int) -> str:
    """The class that gives a curve its colour; what is no flow's, such as a queue, is grey."""
    return f"c{colour % COLOURS}" if colour >= 0 else "neutral"
