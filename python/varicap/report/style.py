"""How every figure looks: colours that colour-blind readers can tell apart, thin lines, little else."""

from typing import TYPE_CHECKING

from varicap._printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import LineStyleType

# Source: Okabe and Ito, Color Universal Design, 2008; yellow is left out, it is too light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
CAPACITY = "#D9D9D9"
QUEUE = "#666666"
LOSS = "#B2182B"
LINES: "tuple[LineStyleType, ...]" = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
"""Styles of lines, for curves that share a colour."""


def colour(index: int) -> str:
    """The colour of the flow with this index, the same in every figure."""
    return COLOURS[index % len(COLOURS)]


def line(index: int) -> "LineStyleType":
    """The style of the line of the flow with this index, which tells flows of the same colour apart."""
    return LINES[index // len(COLOURS) % len(LINES)]


def engine(name: str) -> str:
    """The colour of an engine, the same in every figure."""
    return {"sim": COLOURS[0], "kernel": COLOURS[1], "model": COLOURS[2]}[name]


def literal(text: str) -> str:
    """Text of unknown origin for a figure, in which a dollar sign would begin a formula."""
    return printable(text).replace("$", r"\$")


def plain(axes: "Axes", size: float = 8.0) -> None:
    """A frame of two lines, a light grid, numbers in letters of this size [pt]."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)
    axes.margins(x=0)
    axes.tick_params(labelsize=size)
