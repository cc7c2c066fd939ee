"""The laboratory in a notebook: the page of `varicap explore` as a widget whose scenario Python runs on.

    pip install varicap[widget]

```python
import varicap

laboratory = varicap.widget.Laboratory("examples/markov.toml")
laboratory                      # at the end of a cell: drag the capacity
laboratory.run(seeds=30)        # what is set there now, by the native engine
```
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from varicap import explore
from varicap.engines import run
from varicap.errors import MachineLacksError
from varicap.interface import ScenarioError, UnreadableError, read_scenario, read_whole
from varicap.traces.files import MOST_BYTES

if TYPE_CHECKING:
    from varicap.results.result import Result

_HEIGHT = 900
_NAME = "laboratory.toml"


class Laboratory:
    """The laboratory, beginning with the scenario of a file if one is given.

    `widget` is the widget itself, for those who arrange several.  Raises `MachineLacksError` where the page was not
    built, or anywidget is not installed.
    """

    def __init__(self, file: str | Path | None = None, *, height: int = _HEIGHT) -> None:
        """Show a frame of `height` pixels."""
        begin = ""
        # As they are: the page takes no policies, and not all traces have room in what it is handed.
        self._files: dict[str, bytes] = {}
        if file is not None:
            text, _ = read_scenario(Path(file))
            named = explore.named(Path(file))
            traces = _read(named.traces)
            self._files = {**traces, **_read(named.policies)}
            told = {name: explore.as_text(content) for name, content in traces.items()}
            begin = explore.link("", text, told, Path(file).name)
        self.widget: Any = _kind()(page=explore.page(), begin=begin, height=height)

    @property
    def scenario(self) -> str:
        """What is set in the page, as TOML; empty before it was shown."""
        return str(self.widget.scenario)

    @property
    def files(self) -> dict[str, str]:
        """The texts of the files that were handed to the page, by their names."""
        return dict(self.widget.files)

    def run(self, **options: Any) -> "Result":
        """Run what is set in the page, with the options of `varicap.run`.

        Raises `ScenarioError` before it was shown.
        """
        if not self.scenario:
            raise ScenarioError("the laboratory has not been shown, so no scenario is set in it")
        files = {**self._files, **_handed_back(self.files)}
        whole = Path(tempfile.mkdtemp()).resolve()
        try:
            scenario = _written(whole, {**files, _NAME: _bytes(_NAME, self.scenario)})
            found: Result = run(scenario, **options)
        except BaseException:
            shutil.rmtree(whole, ignore_errors=True)
            raise
        # Results name the files of their scenario for as long as they are there.
        weakref.finalize(found, shutil.rmtree, whole, ignore_errors=True)
        return found

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self.widget._repr_mimebundle_(**options)


def _read(named: dict[str, Path]) -> dict[str, bytes]:
    try:
        return {name: read_whole(path, MOST_BYTES) for name, path in named.items()}
    except UnreadableError as error:
        raise ScenarioError(f"{', '.join(named)}: {error}") from None


def _handed_back(files: Mapping[str, str]) -> dict[str, bytes]:
    """The files that a page has, which may have come to it with anybody's link."""
    for name in files:
        if not explore.is_file_name(name):
            raise ScenarioError(f"{name!r} is not the name of a file beside the scenario")
    return {name: _bytes(name, text) for name, text in files.items()}


def _bytes(name: str, text: str) -> bytes:
    try:
        return explore.as_bytes(text)
    except ValueError:
        raise ScenarioError(f"`{name}` is not a text") from None


def _written(whole: Path, files: dict[str, bytes]) -> Path:
    """Write a scenario and the files that it names into a folder; the file of the scenario."""
    # A scenario may name files above it.
    beside = whole / "0/1/2/3"
    beside.mkdir(parents=True)
    for name, content in files.items():
        target = Path(os.path.normpath(beside / name))
        if not target.is_relative_to(whole):
            raise ScenarioError(f"`{name}` is too far from the scenario to be written beside it")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except (OSError, ValueError):  # a folder, or a NUL in it
            raise ScenarioError(f"{name!r} is not the name of a file") from None
    return beside / _NAME


def _kind() -> type:
    """The class of the widget: the page, what it begins with, and what it tells."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise MachineLacksError("the widget needs anywidget: install varicap[widget]") from None
    traits = {
        "_esm": files("varicap.explore").joinpath("widget.js").read_text(encoding="utf-8"),
        "page": traitlets.Unicode().tag(sync=True),
        "begin": traitlets.Unicode().tag(sync=True),
        "height": traitlets.Int(_HEIGHT).tag(sync=True),
        "scenario": traitlets.Unicode().tag(sync=True),
        "files": traitlets.Dict().tag(sync=True),
    }
    return type("LaboratoryWidget", (anywidget.AnyWidget,), traits)
