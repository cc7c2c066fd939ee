"""What the tests share: the command line as a user has it, and scenarios short enough for a test."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"

os.environ.pop("COLUMNS", None)  # workers of pytest-xdist have that of a terminal, by which tables would be cut

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def heed() -> None:
    """Let Ctrl-C end a new process, even if whoever runs the tests ignores it, as a shell's background jobs do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs `varicap` with these arguments in a folder of its own, without a terminal."""

    def run(*arguments: object, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "varicap", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def fixed() -> Path:
    """One Reno flow on a fixed link."""
    return EXAMPLES / "fixed.toml"


@pytest.fixture
def lte() -> Path:
    """Four flows, each alone on an LTE-like link."""
    return EXAMPLES / "lte.toml"
