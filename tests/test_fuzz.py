"""The fuzzers notice what they are there to notice."""

import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from conftest import ROOT
from fuzz import cases, invariants

import varicap
from varicap.results.result import Result


def changed(result: Result, column: str, value: float) -> Any:
    """A result of which one column of the links says something else."""
    links = result.links
    place = links.column_names.index(column)
    wrong = links.set_column(place, links.schema.field(place), pa.array([value] * links.num_rows, pa.float64()))
    return SimpleNamespace(links=wrong, flows=result.flows)


@pytest.fixture(scope="module")
def result() -> Result:
    changes = {"duration": "1 s", "warmup": "0 s", "flows.reno.start_spread": "0 s"}
    return varicap.run(ROOT / "examples" / "fixed.toml", seeds=1, overrides=changes)


@pytest.mark.parametrize(("column", "value"), [("utilisation", 1.01), ("loss_ratio", 3.0), ("loss_ratio", -0.1)])
def test_numbers_that_cannot_be_are_noticed(result: Result, column: str, value: float) -> None:
    invariants.bounds(result)
    with pytest.raises(AssertionError, match=column):
        invariants.bounds(changed(result, column, value))


def test_results_that_differ_are_noticed(result: Result) -> None:
    invariants.same(result, result, "again")
    with pytest.raises(AssertionError, match="links differ"):
        invariants.same(result, changed(result, "utilisation", 0.5), "again")


@pytest.mark.parametrize("kind", ["schema", "toml", "traces"])
def test_a_trial_follows_from_its_seed(kind: str, tmp_path: Path) -> None:
    inputs = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        cases.KINDS[kind](random.Random(5), folder)
        inputs.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert inputs[0] == inputs[1] != {}


@pytest.mark.parametrize(
    ("breaks", "says"),
    [("raise ValueError('broken')", "ValueError: broken"), ("import os; os.abort()", "the process ended with -6")],
)
def test_what_breaks_a_worker_is_reported_with_its_command(breaks: str, says: str, tmp_path: Path) -> None:
    driver = ROOT / "tools" / "fuzz" / "__main__.py"
    broken = tmp_path / "fuzz" / "__main__.py"
    broken.parent.mkdir()
    text = driver.read_text(encoding="utf-8").replace("parents[1]", f"parents[0] / {str(ROOT / 'tools')!r}")
    broken.write_text(text.replace("CASES[kind](", f"exec({breaks!r}) or CASES[kind]("), encoding="utf-8")
    command = [
        sys.executable,
        str(broken),
        "--kind",
        "toml",
        "--seed",
        "7",
        "--count",
        "1",
        "--keep",
        str(tmp_path / "kept"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert says in done.stdout
    assert "--kind toml --seed 7 --count 1" in done.stdout
