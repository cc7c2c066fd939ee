"""Which link of a flow is its bottleneck, for everything that states a delay or a loss of it."""

from collections.abc import Mapping


def is_buffer(link: str) -> bool:
    """Whether a link is the segmentation buffer of an ABR source, which is as busy as the network lets it be."""
    return link.endswith(".abr")


def busiest(used: Mapping[str, float | None]) -> str | None:
    """The bottleneck of a flow, of the links that it has to itself, by name with their mean utilisation.

    A utilisation that is not known counts as none.

    >>> busiest({"forward": 0.7, "reverse": None, "effcap.abr": 0.9})
    'forward'
    >>> busiest({}) is None
    True
    """
    links = [name for name in used if not is_buffer(name)]
    return max(links, key=lambda name: used[name] or 0.0, default=None)
