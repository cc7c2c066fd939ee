"""The notebooks of the examples: each runs from the first cell to the last, and shows what it stores.

Under VARICAP_PUBLISH=1 what they show is stored anew.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import EXAMPLES
from documents import PUBLISH
from notebooks import Notebook, comparable

FILES = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_shows_what_it_stores(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples/notebooks")
    notebook = Notebook(file)
    shown = notebook.run()
    if PUBLISH:
        notebook.save(shown)
    stored = [cell["outputs"] for cell in Notebook(file).code]
    assert comparable(stored) == comparable(shown), "VARICAP_PUBLISH=1 stores them anew"
    assert sorted(path.name for path in Path.cwd().iterdir()) == [other.name for other in FILES], "it leaves nothing"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_is_one(file: Path) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    identities = [cell["id"] for cell in content["cells"]]
    assert len(set(identities)) == len(identities)
    assert all(re.fullmatch(r"[\w-]{1,64}", identity) for identity in identities)
    assert content["cells"][0]["source"][0].startswith("# ")


def test_there_are_notebooks() -> None:
    assert len(FILES) == 3
