"""How every figure looks: colours that colour-blind readers can tell apart, thin lines, little else."""

from typing import TYPE_CHECKING

from varicap.report.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Source: Okabe and Ito, Color Universal Design, 2008; yellow is left out, it is too light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
CAPACITY = "#D9D9D9"
QUEUE = "#666666"
LOSS = "#B2182B"


def colour(index: int) -> str:
    """The colour of the flow with this index."""
    return COLOURS[index % len(COLOURS)]


def engine(name: str) -> str:
    """The colour of an engine, the same in every figure."""
    return {"sim": COLOURS[0], "kernel": COLOURS[1], "model": COLOURS[2]}[name]


def literal(text: str) -> str:
    """Text of unknown origin for a figure, in which a dollar sign would begin a formula."""
    return printable(text).replace("$", r"\$")


def plain(axes: "Axes") -> None:
    """A frame of two lines, a light grid, numbers from zero."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)
    axes.margins(x=0)
    axes.tick_params(labelsize=8)
