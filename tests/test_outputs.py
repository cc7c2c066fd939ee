"""Outputs that cannot be written are refused before anything is computed for them."""

from pathlib import Path

import pytest
from conftest import EXAMPLES, Cli
from typer.testing import CliRunner

import varicap
from varicap.cli import app

FIXED = str(EXAMPLES / "fixed.toml")


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """A file where a folder should be."""
    file = tmp_path / "taken"
    file.write_text("mine", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "command",
    [
        f"run {FIXED} -o BAD",
        f"run {FIXED} -o BAD/below/it --no-plot",
        f"run {FIXED} -o /proc/nowhere",
        f"run {FIXED} -o /dev/null",
        f"run {FIXED} --no-plot --pcap BAD/first.pcapng",
        f"run {FIXED} --engine model -o BAD",
        f"compare {FIXED} -o BAD",
        f"sweep {FIXED} -o BAD",
        "reproduce ratcp -o BAD",
    ],
)
def test_a_folder_that_cannot_be_written_is_found_before_the_simulation(
    blocked: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def simulated(*_: object, **__: object) -> None:
        raise AssertionError("simulated before it looked at the output")

    for place in ("varicap.engines.run", "varicap.study.sweep", "varicap.engines.comparison.compare"):
        monkeypatch.setattr(place, simulated)
    done = CliRunner().invoke(app, command.replace("BAD", str(blocked)).split())
    assert done.exit_code == 2, done.output
    assert "-o " in done.output
    assert blocked.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("command", ["report DIR", "plot DIR", "export DIR --to iperf3"])
@pytest.mark.parametrize("output", ["DIR", "taken/figure.pdf"])
def test_a_file_that_cannot_be_written_is_refused(
    cli: Cli, blocked: Path, tmp_path: Path, command: str, output: str
) -> None:
    folder = tmp_path / "saved.pdf"
    varicap.run(FIXED, seeds=1, series=True, overrides={"duration": "12 s"}).save(folder)
    done = cli(*f"{command} -o {output}".replace("DIR", str(folder)).split())
    assert done.returncode == 2
    assert "is a folder" in done.stderr or "taken is not a folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_looked_at_is_not_changed(cli: Cli, tmp_path: Path) -> None:
    varicap.run(FIXED, seeds=1, series=True, overrides={"duration": "12 s"}).save(tmp_path / "saved")
    (tmp_path / "old.html").write_text("old", encoding="utf-8")
    assert cli("report", "nowhere", "-o", "old.html").returncode == 2
    assert (tmp_path / "old.html").read_text(encoding="utf-8") == "old"
    assert cli("report", "nowhere", "-o", "new/page.html").returncode == 2
    assert not (tmp_path / "new").exists()
    assert cli("report", "saved", "-o", "new/page.html").returncode == 0
    assert (tmp_path / "new/page.html").stat().st_size > 1000
