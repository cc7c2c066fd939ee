"""The simulator as a WebAssembly module: whatever it computes is what the native engine computes, to the last byte.

The module and the page are built by `make web`.  Without them, or without Node, these tests skip and say so.
"""

import gzip
import hashlib
import itertools
import json
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLES, ROOT
from fuzz import networks
from patience import HANG_S

import varicap
import varicap._core as _core

MODULE = ROOT / "web/build/varicap.wasm"
ENGINE = ROOT / "web/build/engine.mjs"
SEEDS = 2
GENERATED = 30

Json = Any

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="Node is not there"),
    pytest.mark.skipif(not (MODULE.exists() and ENGINE.exists()), reason="the module was not built: make web"),
]


def written(path: Path) -> Json:
    """A scenario file of the examples, with the files that it names."""
    files = {f"traces/{trace.name}": trace.read_text() for trace in (EXAMPLES / "traces").glob("*.*")}
    return {"name": path.name, "text": path.read_text(), "files": files, "seeds": SEEDS}


def generated(folder: Path) -> Iterator[Json]:
    """Random scenarios; a few are refused, such as a queue of a BDP that is less than a packet."""
    files = {file.name: file.read_text() for file in folder.iterdir()}
    for seed in itertools.count():
        scenario, _ = networks.scenario(random.Random(seed))
        text = json.dumps(scenario)
        with suppress(_core.ScenarioError):
            _core.Scenario.from_json(text, f"{seed}.json", str(folder), [], is_file=True)
            yield {"name": f"{seed}.json", "text": text, "files": files, "seeds": SEEDS}


def in_the_module(jobs: list[Json]) -> list[Json]:
    """The results of the module, a scenario each."""
    command = ["node", *map(str, (ROOT / "web/test/results.mjs", ENGINE, MODULE))]
    done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def natively(job: Json, folder: Path) -> Json:
    """The same of the native engine."""
    name, text = job["name"], job["text"]
    if name.endswith(".json"):
        scenario = _core.Scenario.from_json(text, name, str(folder), [], is_file=True)
    else:
        scenario = _core.Scenario.from_toml(text, name, str(folder), [])
    results = _core.run(scenario, seed=scenario.seed, first=0, count=job["seeds"], series_below=job["seeds"])
    tables = {"flows": results.flow_series(), "links": results.link_series()}
    digests = {kind: {name: digest(values) for name, _, _, values in table} for kind, table in tables.items()}
    for kind, whose in (("flows", ("replication", "flow")), ("links", ("replication", "link", "flow"))):
        for column in whose:
            del digests[kind][column]
    return {"name": name, "summary": results.summary(), **digests}


def digest(values: Any) -> str:
    """Of the bytes of a column, each NaN the same."""
    numbers = values[0] if isinstance(values, tuple) else values
    if numbers.dtype.kind == "f":
        numbers = np.where(np.isnan(numbers), np.nan, numbers)
    return hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest()


@pytest.mark.slow
def test_every_example_has_the_results_of_the_native_engine() -> None:
    jobs = [written(path) for path in sorted(EXAMPLES.glob("*.toml"))]
    assert len(jobs) >= 10
    for found, job in zip(in_the_module(jobs), jobs, strict=True):
        assert found == natively(job, EXAMPLES)


def test_logs_that_are_no_texts_have_the_results_of_the_native_engine(tmp_path: Path) -> None:
    """A capture of our own, a log in gzip, one in UTF-16: the module gets their bytes."""
    scenario = (EXAMPLES / "fixed.toml").read_text()
    capture = tmp_path / "own.pcapng"
    run = varicap.run(EXAMPLES / "fixed.toml", seeds=1, overrides={"duration": "12 s"}, packets=True)
    run.write_pcapng(capture, snaplen="96 B")
    log = "time_s,mbps\n" + "".join(f"{at},{1 + at % 3}\n" for at in range(12))
    files = {
        "mine.pcapng": capture.read_bytes(),
        "log.csv.gz": gzip.compress(log.encode()),
        "wide.csv": log.encode("utf-16"),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    line = next(line for line in scenario.splitlines() if line.startswith("capacity"))
    jobs = [
        {
            "name": f"{place}.toml",
            "text": scenario.replace(line, f'capacity = {{ trace = {{ file = "{name}" }} }}'),
            "files": {name: list(content)},
            "seeds": SEEDS,
        }
        for place, (name, content) in enumerate(files.items())
    ]
    for found, job in zip(in_the_module(jobs), jobs, strict=True):
        assert found == natively(job, tmp_path)


def test_random_scenarios_have_the_results_of_the_native_engine(tmp_path: Path) -> None:
    networks.write_traces(tmp_path)
    jobs = list(itertools.islice(generated(tmp_path), GENERATED))
    for found, job in zip(in_the_module(jobs), jobs, strict=True):
        assert found == natively(job, tmp_path)


def test_the_module_and_the_page_are_small() -> None:
    page = (ROOT / "web/dist/index.html").read_text()
    # 883 kB and 595 kB before the module could read captures and logs in any form; 1107 kB and 773 kB with that.
    assert len(page.encode()) <= 1_130_000
    # Before the letters stands how many bytes they are.
    compressed = re.search(r'id="module">(\d+) (\S+)<', page)
    assert compressed
    assert len(compressed[2]) == -(-int(compressed[1]) // 4) * 5
    assert int(compressed[1]) <= 790_000


def test_a_mistake_is_told_with_its_line() -> None:
    job = {"name": "mine.toml", "text": "duration = '1 s'\n[flows.a]\nstrat = '1 s'\n", "files": {}, "seeds": 1}
    (found,) = in_the_module([job])
    assert "mine.toml:3: flows.a.strat: " in found["error"]
