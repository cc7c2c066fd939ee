"""How large a figure is, in which letters and at which scale: what a paper, a talk or a screen asks for."""

import math
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

from matplotlib import font_manager, rc_context
from matplotlib.figure import Figure

from varicap._names import unknown
from varicap.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase

_EMBEDDED = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none"}
"""Letters stay letters: publishers refuse Type 3 fonts, and what is text in an SVG can be searched and edited."""

_INCHES = {"": 1.0, "in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
_LEAST, _MOST = 1.0, 60.0
_FLATTER = 0.55
_LETTERS = 8.0  # pt, for which figures give their sizes
_GENERIC = ("sans-serif", "serif", "monospace")
_MOST_NAMES = 40


@dataclass(frozen=True)
class Setting:
    """What figures for one kind of place have in common."""

    width: float | None
    """Width [in]; None: as the figure needs."""
    size: float
    """Size of letters [pt]."""
    line: float
    """How many times as wide as on a screen lines are."""
    dots: int
    """Dots per inch, in formats that have dots."""


STYLES = {
    "screen": Setting(None, 8.0, 1.0, 120),
    "paper": Setting(3.5, 8.0, 0.9, 300),
    "slides": Setting(12.0, 16.0, 2.0, 110),
}


class Drawn(Figure):
    """A figure that keeps its letters and its fonts however it is written."""

    settings: Any

    def draw(self, renderer: "RendererBase") -> None:
        """Draw with the settings that the figure was made with, for what is made only now, such as ticks."""
        with rc_context(self.settings):
            super().draw(renderer)

    def savefig(self, *arguments: Any, **options: Any) -> None:
        """Write the figure; in PDF with TrueType fonts, in SVG with text as text."""
        with rc_context(self.settings):
            super().savefig(*arguments, **options)

    def _repr_png_(self) -> bytes:
        """The figure as a notebook shows it, which by itself knows figures of pyplot only."""
        image = BytesIO()
        self.savefig(image, format="png")
        return image.getvalue()


@dataclass(frozen=True)
class Look:
    """How a figure looks.  Raises ``ValueError`` for what cannot be, naming what can.

    >>> Look(width="8.5 cm", height=3).inches(11.0, 4.0)
    (3.3464566929133857, 3.0)
    """

    style: str = "screen"
    width: float | str | None = None
    """In inches, or with its unit: ``"8.5 cm"``."""
    height: float | str | None = None
    font: str | None = None
    """A family of fonts that is installed, or ``serif``, ``sans-serif``, ``monospace``."""
    title: str | None = None
    log: str = ""
    """The logarithmic axes: ``x``, ``y`` or ``xy``."""
    _lengths: tuple[float | None, float | None] = field(init=False, repr=False, default=(None, None))

    def __post_init__(self) -> None:
        pick("style", self.style, STYLES)
        pick("set of logarithmic axes", self.log, ("", "x", "y", "xy"))
        if self.font is not None:
            pick("font", self.font, (*_GENERIC, *sorted(font_manager.get_font_names())))
        lengths = (_inches("width", self.width), _inches("height", self.height))
        object.__setattr__(self, "_lengths", lengths)

    @property
    def size(self) -> float:
        """Size of letters [pt]."""
        return STYLES[self.style].size

    @property
    def line(self) -> float:
        """How many times as wide as on a screen lines are."""
        return STYLES[self.style].line

    def inches(self, width: float, height: float) -> tuple[float, float]:
        """Width and height of a figure that with letters of 8 pt would have these [in].

        Larger letters need more room; a figure that is made narrower becomes less high, but not by as much.
        """
        given, tall = self._lengths
        more = self.size / _LETTERS
        wide = given or STYLES[self.style].width or width * more
        return wide, tall or min(_MOST, height * more * min(1.0, wide / (width * more)) ** _FLATTER)

    @contextmanager
    def figure(self, width: float, height: float, title: str = "") -> Iterator[Drawn]:
        """A figure to draw in; what is drawn in the context has the look's letters."""
        settings = self._settings()
        with rc_context(settings):
            drawn = Drawn(figsize=self.inches(width, height), dpi=STYLES[self.style].dots, layout="constrained")
            drawn.settings = settings
            shown = style.literal(title if self.title is None else self.title)
            if shown:
                drawn.suptitle(shown)
            yield drawn

    def plain(self, axes: "Axes", *, zero: bool = True) -> None:
        """The frame of a panel, and its scales; a linear scale begins at 0 unless `zero` is false."""
        style.plain(axes, self.size)
        if "y" in self.log:
            axes.set_yscale("log", nonpositive="clip")
        elif zero:
            axes.set_ylim(bottom=0)
        if "x" in self.log:
            axes.set_xscale("log", nonpositive="clip")

    def _settings(self) -> Any:
        size = self.size
        settings: dict[str, Any] = {
            **_EMBEDDED,
            **dict.fromkeys(("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize"), size),
            "legend.fontsize": size - 1,
            "axes.titlesize": size + (1 if size > 10 or self.style == "screen" else 0),
            "axes.titlelocation": "left",
            "figure.titlesize": size + 2,
            "axes.linewidth": 0.8 * self.line,
            "lines.linewidth": self.line,
            "lines.markersize": 4 * math.sqrt(self.line),
        }
        if self.font in _GENERIC:
            settings["font.family"] = [self.font]
        elif self.font is not None:
            # Signs that the font lacks are taken from one that has them.
            settings["font.family"] = [self.font, "DejaVu Sans"]
        return settings


def halves(means: Iterable[tuple[float, float | None, float | None]]) -> list[list[float]]:
    """What lies below and above each mean in its interval, as error bars; nothing where there is no interval.

    >>> halves([(2.0, 1.5, 3.0), (2.0, None, None)])
    [[0.5, 0.0], [1.0, 0.0]]
    """
    ends = [
        (0.0, 0.0) if low is None or high is None or math.isnan(high - low) else (mean - low, high - mean)
        for mean, low, high in means
    ]
    return [[below for below, _ in ends], [above for _, above in ends]]


def pick(what: str, name: str, known: Collection[str]) -> str:
    """`name` if it is known.  Raises ``ValueError`` that says what there is."""
    if name in known:
        return name
    raise ValueError(unknown(what, name, known, most=_MOST_NAMES))


def chosen(what: str, names: Collection[str] | str | None, known: Collection[str]) -> list[str]:
    """The names that are wanted, each of which must be known; all that there are if nobody chose.

    >>> chosen("flow", "b, a", ["a", "b", "c"])
    ['b', 'a']
    """
    if names is None:
        return list(known)
    listed = names.split(",") if isinstance(names, str) else names
    found = list(dict.fromkeys(pick(what, name.strip(), known) for name in listed))
    if not found:
        raise ValueError(f"no {what} is chosen; there are: {', '.join(known)}")
    return found


def _inches(what: str, length: float | str | None) -> float | None:
    """A length in inches.

    >>> _inches("width", "8.5 cm"), _inches("width", "3.5"), _inches("width", 7)
    (3.3464566929133857, 3.5, 7.0)
    """
    if length is None:
        return None
    parts = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]*)\s*", str(length))
    try:
        found = float(parts[1]) * _INCHES[parts[2]] if parts else math.nan
    except (ValueError, KeyError):
        found = math.nan
    if not _LEAST <= found <= _MOST:
        raise ValueError(
            f'`{length}` is not a {what} from {_LEAST:g} to {_MOST:g} inches, such as 3.5 or "8.5 cm" (in, cm, mm, pt)'
        )
    return found
