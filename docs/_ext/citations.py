"""`[abr, §IV-A]` in a page or a docstring becomes a link to its entry in the bibliography."""

import re
from collections.abc import Iterator
from typing import Any

import pybtex.plugin
from docutils import nodes
from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

CITATION = re.compile(r"\[([a-z]+\d*)(, (?:§|eq\.|p\.|[Ff]igs?\.|[Tt]able|Section|ch\.)[^\]]*)?\]")

logger = logging.getLogger(__name__)


class KeyLabels(BaseLabelStyle):
    """Labels that are the keys of the entries."""

    def format_labels(self, sorted_entries: Any) -> Iterator[str]:
        """A label for each entry."""
        for entry in sorted_entries:
            yield entry.key


class KeyStyle(Style):
    """Entries by author, each under its key."""

    default_sorting_style = "author_year_title"
    default_label_style = KeyLabels


class Links(SphinxPostTransform):
    """Makes links of citations once it is known where the bibliography is."""

    default_priority = 9  # after the bibliography's own transform, before references are resolved

    def run(self, **_: Any) -> None:
        """Replace each citation in running text."""
        plain = pybtex.plugin.find_plugin("pybtex.backends", "plaintext")()
        self.known = {
            citation.key: (
                citation.bibliography_key.docname,
                citation.citation_id,
                citation.formatted_entry.text.render(plain).replace("\\url ", ""),
            )
            for citation in self.env.get_domain("cite").citations  # type: ignore[attr-defined]
        }
        for text in list(self.document.findall(nodes.Text)):
            if CITATION.search(text) and not isinstance(text.parent, (nodes.literal, nodes.literal_block, nodes.label)):
                text.parent.replace(text, list(self.pieces(text)))

    def pieces(self, text: nodes.Text) -> Iterator[nodes.Node]:
        """The text, with a reference in place of each citation of a known key."""
        end = 0
        for match in CITATION.finditer(text):
            key, where = match.groups()
            if key not in self.known:
                if where:
                    logger.warning("no entry %r in REFERENCES.bib", key, location=text.parent)
                continue
            page, anchor, title = self.known[key]
            label = nodes.Text(match.group())
            yield nodes.Text(text[end : match.start()])
            yield make_refnode(self.app.builder, self.env.docname, page, anchor, [label], title)
            end = match.end()
        yield nodes.Text(text[end:])


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    register_plugin("pybtex.style.formatting", "keys", KeyStyle)
    app.add_post_transform(Links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
