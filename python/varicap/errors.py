"""Errors other than a mistake in a scenario (`varicap.ScenarioError`) or a fault of the engine (`RunError`)."""

from pathlib import Path
from typing import Any

from varicap._core import LimitError
from varicap._printable import PrintableError


class NotApplicableError(PrintableError, ValueError):
    """An engine cannot answer a scenario; the text says for each flow what stands in the way."""


class MachineLacksError(PrintableError, RuntimeError):
    """What an engine needs is not on this machine; the text says what, and what to do about it."""


class NotBuiltError(PrintableError, RuntimeError):
    """A program that a run needs cannot be built here; the text says why."""


class NothingDrawnError(PrintableError, ValueError):
    """Results that leave nothing to draw; the text says why."""


class StoppedRunsError(LimitError):
    """A limit was exceeded while replications went on, of which some were finished."""

    def __init__(self, why: str, result: Any, wanted: int) -> None:
        super().__init__(f"{why}; {result.runs} of {wanted} runs were finished")
        self.result = result
        """The finished runs, as if no more had been asked for."""
        self.wanted = wanted
        """How many runs there would have been."""


class InterruptedRuns(KeyboardInterrupt):
    """Ctrl-C while replications were simulated, of which some were finished."""

    def __init__(self, result: Any, wanted: int, done: int, folder: Path | None = None) -> None:
        kept = "" if folder is None else f"; kept in {folder}, where the same call goes on"
        super().__init__(f"{done} of {wanted} runs were finished{kept}")
        self.result = result
        """The finished runs from the first on, as if no more had been asked for; None if the first one is not."""
        self.wanted = wanted
        """How many runs there would have been."""
        self.done = done
        """How many runs were finished."""
        self.folder = folder
        """Where the finished runs are, if they had a folder."""


class InterruptedSweep(KeyboardInterrupt):
    """Ctrl-C while the runs of a study went on."""

    def __init__(self, done: int, wanted: int, folder: Path | None) -> None:
        kept = "nothing is kept" if folder is None else f"kept in {folder}, where the same sweep goes on"
        super().__init__(f"{done} of {wanted} runs were finished; {kept}")
        self.done = done
        """How many runs were finished."""
        self.wanted = wanted
        """How many runs there would have been."""
        self.folder = folder
        """Where the finished runs are, if the study had a folder."""
