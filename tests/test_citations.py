"""Every citation in the code has its entry in the bibliography."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
# [pftk, eq. (20)], [law2015, §9.5.3], [abr, §IV-A], or a bare key after "Source:".
CITATION = re.compile(r"\[([a-z]+\d*), (?:§|eq\.|p\.|fig\.|Fig\.|table|Table|Section|ch\.)|Source: \[([a-z]+\d*)[\],]")


def test_every_cited_key_is_in_the_bibliography() -> None:
    known = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "REFERENCES.bib").read_text(), re.MULTILINE))
    cited = {
        key: path.relative_to(ROOT)
        for pattern in ("crates/**/*.rs", "python/**/*.py", "tests/*.py")
        for path in ROOT.glob(pattern)
        for match in CITATION.finditer(path.read_text())
        for key in match.groups()
        if key
    }
    assert {"pftk", "lakshman97"} <= set(cited), "the pattern finds the citations that are there"
    assert not {key: str(path) for key, path in cited.items() if key not in known}
