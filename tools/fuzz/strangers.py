"""Trials of what strangers hand over: policies, scripts, links in folders and to the laboratory, studies that stopped.

Besides tracebacks and trials that do not end, a failure is a file outside the folder that changed, and memory beyond
what the trial may have.
"""

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

import varicap
import varicap._core
from fuzz import cases
from fuzz.commands import SCENARIO
from fuzz.grammar import ROOT
from varicap import importers
from varicap.results.result import Result

sys.path.append(str(ROOT / "tests"))
from onnx_model import graph, inner, integers, message, model, network, node
from onnx_model import tensor as numbers

MEMORY = "300 MB"
MOST_MB = 1.2 * 300 + 200
"""Memory that a trial may add: what it is given, a fifth more, and what the libraries load once."""
POLICY = """\
duration = "1 s"
seeds = 1
[topology.dumbbell.forward]
capacity = "2 Mb/s"
delay = "20 ms"
[flows.a]
tcp = { congestion = { policy = { file = "FILE" } } }
"""


@contextlib.contextmanager
def within_memory() -> Iterator[None]:
    """Assert that the block adds no more memory to this process than a trial may."""
    peak = Path("/proc/self/clear_refs")
    with contextlib.suppress(OSError):
        peak.write_text("5")
    before = _megabytes("VmRSS:")
    yield
    grown = _megabytes("VmHWM:") - before
    assert grown < MOST_MB, f"it took {grown:.0f} MB"


def _megabytes(key: str) -> float:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(key):
                return float(line.split()[1]) / 1e3
    return 0.0


# Experiments of other programs.

FOREIGN = sorted((ROOT / "tests" / "foreign").glob("*"))


def imports(rng: random.Random, folder: Path) -> None:
    """An experiment with something changed becomes a scenario that can be read, or is refused in one line; soon."""
    content = cases.mutated(rng, rng.choice(FOREIGN).read_bytes())
    (folder / "experiment").write_bytes(content)
    form = rng.choice([None, None, None, *importers.FORMS])
    with within_memory():
        try:
            text = importers.import_file(folder / "experiment", form, {"rtt": "20", "bw": "10"})
        except importers.ImportedError as error:
            refused = str(error)
            text = ""
        else:
            refused = ""
    assert "\n" not in refused, refused
    tomllib.loads(text)
    with contextlib.suppress(varicap.ScenarioError):
        varicap._core.Scenario.from_toml(text, "imported.toml", str(ROOT / "examples"), [])


# Policies.

ELEMENTWISE = [
    "Relu",
    "Tanh",
    "Neg",
    "Abs",
    "Exp",
    "Log",
    "Sqrt",
    "Softmax",
    "Identity",
    "Reciprocal",
    "NonZero",
    "Shape",
]
JOINING = ["Add", "Sub", "Mul", "Div", "MatMul", "Pow", "Tile", "Expand", "Concat", "Where", "Loop", "If", "Scan"]
DRAWING = ["RandomNormalLike", "RandomUniform", "Bernoulli", "Multinomial", "Dropout"]


def _graph(rng: random.Random, depth: int = 0) -> bytes:
    """A graph of random operators, most of which fit each other now and then."""
    names, nodes = ["observation", "n", "w"], []
    for place in range(rng.choice([1, 2, 4, 8])):
        kind = rng.choice(
            rng.choice([ELEMENTWISE, ELEMENTWISE, JOINING, DRAWING if rng.random() < 0.3 else ELEMENTWISE])
        )
        inputs = [rng.choice(names) for _ in range(1 if kind in ELEMENTWISE else rng.choice([1, 2, 2, 3]))]
        more: list[tuple[int, int | str | bytes]] = []
        if kind in ("Loop", "If", "Scan") and depth < 3:
            more = [(5, inner(name, _graph(rng, depth + 1))) for name in ("then_branch", "else_branch", "body")]
        if rng.random() < 0.05:
            more.append((7, rng.choice(["com.microsoft", "own", "\u202e"])))
        nodes.append(node(kind, inputs, f"x{place}", *more))
        names.append(f"x{place}")
    nodes.append(node("ReduceMax", (names[-1],), "action"))
    sizes = [rng.choice([1, 2, 10, 1000, 100_000, 10_000_000, -1]) for _ in range(rng.choice([1, 2, 2]))]
    return graph(nodes, [integers("n", *sizes), numbers("w", np.ones((10, rng.choice([1, 10, 100]))))])


def _onnx(rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return cases.mutated(rng, network([np.ones((1, 10))], [np.zeros(1)]))
    function = message((1, "f"), (4, "x"), (5, "y"), (7, node("f", ("x",), "y", (7, "own"))), (10, "own"))
    content = model(_graph(rng), [function] if rng.random() < 0.1 else [])
    return cases.mutated(rng, content) if rng.random() < 0.3 else content


def _npz(rng: random.Random, file: Path) -> None:
    layers = [10, *(rng.choice([0, 1, 3, 50]) for _ in range(rng.choice([0, 1, 1, 30]))), 1]
    kinds = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    with zipfile.ZipFile(file, "w", rng.choice([*kinds[:2], *kinds])) as archive:
        for place, (inputs, outputs) in enumerate(pairwise(layers)):
            for name, shape in ((f"weight{place}", (outputs, inputs)), (f"bias{place}", (outputs,))):
                values = np.full(shape, rng.choice([0.0, 0.1, 1e308, float("nan")]))
                with archive.open(f"{name}.npy", "w") as member:
                    said = shape if rng.random() < 0.97 else rng.choice([(10**12,), (-1,), (1, 10**9), ()])
                    header = {"descr": rng.choice(["<f8", "<f8", "<f8", "<f8", "|O", "<c16"]), "shape": said}
                    np.lib.format.write_array_header_1_0(member, header | {"fortran_order": rng.random() < 0.1})
                    member.write(values.tobytes() + bytes(rng.choice([0, 0, 0, 0, 100_000_000])))
    if rng.random() < 0.3:
        file.write_bytes(cases.mutated(rng, file.read_bytes()))


def policies(rng: random.Random, folder: Path) -> None:
    """A policy decides the same in every run, or is refused; it keeps to its time and its memory."""
    file = folder / rng.choice(["p.npz", "p.onnx", "p.onnx"])
    if file.suffix == ".npz":
        _npz(rng, file)
    else:
        file.write_bytes(_onnx(rng))
    scenario = folder / "scenario.toml"
    scenario.write_text(POLICY.replace("FILE", file.name), encoding="utf-8")
    (folder / "command").write_text(f"varicap run scenario.toml --max-time '5 s' --max-memory '{MEMORY}'")
    found: list[Result] = []
    with within_memory():
        for _ in range(2):
            try:
                found.append(varicap.run(scenario, max_time="5 s", max_memory=MEMORY))
            except varicap.ScenarioError as error:
                if len(str(error)) > 2000:
                    raise AssertionError("an error quotes too much") from error
                break
    if len(found) == 2:
        one, other = (repr(each.flows.to_pydict()) for each in found)  # where nothing equals nothing
        assert one == other, "the same seed gives another run"


# Scripts.

SCRIPTS = sorted((ROOT / "tests" / "dialogues").rglob("*.pkt"))
ATOMS = ["x", "7", "2.5", "'a'", "'%s%s'", "(x, x)", "tcpi_snd_cwnd", "1e308", "'%99d'", "-1", "0x" + "f" * 60, "None"]
CALLS = ["round({}, {})", "max({}, {})", "int({})", "str({})", "float({})", "abs({})", "min({}, {})", "bool({})"]


def _expression(rng: random.Random, depth: int = 0) -> str:
    if depth > 3 or rng.random() < 0.3:
        return rng.choice(ATOMS)
    match rng.randrange(5):
        case 0:
            call = rng.choice(CALLS)
            return call.format(*(_expression(rng, depth + 1) for _ in range(call.count("{}"))))
        case 1:
            return (
                f"({_expression(rng, depth + 1)} if {_expression(rng, depth + 1)} else {_expression(rng, depth + 1)})"
            )
        case 2:
            return f"{rng.choice(['-', '~', 'not '])}{_expression(rng, depth + 1)}"
        case _:
            sign = rng.choice(["+", "-", "*", "/", "//", "%", "<<", ">>", "&", "|", "^", "<", "==", "and", "**"])
            return f"({_expression(rng, depth + 1)} {sign} {_expression(rng, depth + 1)})"


def scripts(rng: random.Random, folder: Path) -> None:
    """A script passes, differs, is skipped or refused; what it calculates stays small."""
    text = rng.choice(SCRIPTS).read_bytes()
    lines = [f"x = {_expression(rng)}" for _ in range(rng.choice([1, 3, 40]))]
    if rng.random() < 0.3:
        lines = [lines[0], *[f"x = {_expression(rng).replace('7', 'x')}"] * 60]
    text += b"\n+0 %{\nx = 1\n" + "\n".join(lines).encode() + b"\n}%\n"
    if rng.random() < 0.6:
        text = cases.mutated(rng, text)
    (folder / "script.pkt").write_bytes(text)
    stack = rng.choice(["linux", "rfc"])
    command = ["dialogue", str(folder / "script.pkt"), "--stack", stack, "--max-time", "5 s", "--max-memory", MEMORY]
    (folder / "command").write_text(" ".join(["varicap", *command]), encoding="utf-8")
    with within_memory():
        cases.command_line(command)


# Folders.


def _digests(folder: Path) -> dict[str, tuple[str, int]]:
    """What is in a folder, links not followed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = path.lstat().st_mode
        is_file = path.is_file() and not path.is_symlink()
        said = (
            hashlib.sha256(path.read_bytes()).hexdigest()
            if is_file
            else str(path.readlink())
            if path.is_symlink()
            else ""
        )
        found[str(path.relative_to(folder))] = (said, kind)
    return found


def _plant(rng: random.Random, folder: Path, outside: Path) -> None:
    """Replace something in a folder by a link to something outside, or by what is no file."""
    here = [path for path in sorted(folder.rglob("*")) if path != folder]
    new = [
        folder / name for name in ("report.html", "lock", ".flows.parquet.tmp", "parts", "unfinished", "manifest.json")
    ]
    place = rng.choice([*here, *new, *new])
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    if rng.random() < 0.1:
        os.mkfifo(place)
        return
    target = rng.choice(
        [outside / "victim", outside / "parts", outside / "none", outside, Path("../../outside/victim")]
    )
    place.symlink_to(target)


def links(rng: random.Random, folder: Path) -> None:
    """Reading a folder, or going on in it, changes nothing outside, wherever its links lead."""
    study = rng.random() < 0.5
    saved = folder.parent / ("saved-study" if study else "saved-run")
    if not saved.exists():
        code = cases.command_line([*(cases.SWEEP if study else cases.RUN), "-o", str(saved)])
        assert code == 0, f"exit code {code}"
    outside, made = folder / "outside", folder / "made"
    (outside / "parts").mkdir(parents=True)
    for name in ("victim", "parts/0000000-0000000.arrow", "parts/.0.tmp", "parts/page.html"):
        (outside / name).write_text(name)
    shutil.copytree(saved, made)
    for _ in range(rng.choice([1, 1, 2])):
        _plant(rng, made, outside)
    before = _digests(outside)
    if rng.random() < 0.5:
        command = [*(cases.SWEEP if study else cases.RUN), "-o", str(made)]
    else:
        name, *options = rng.choice(cases.READERS)
        command = [name, str(made), *options]
    (folder / "command").write_text(" ".join(["varicap", *command]), encoding="utf-8")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    with contextlib.chdir(elsewhere):
        cases.command_line(command)
    assert _digests(outside) == before, "something outside the folder changed"


# Studies that stopped.


def interrupted(rng: random.Random, folder: Path) -> None:
    """A command that was killed goes on to the same tables."""
    study = rng.random() < 0.5
    arguments = cases.SWEEP if study else [*cases.RUN[:-1], "--seeds", "6"]
    saved = folder.parent / ("whole-study" if study else "whole-run")
    if not saved.exists():
        assert cases.command_line([*arguments, "-o", str(saved)]) == 0
    command = [sys.executable, "-m", "varicap", *arguments, "-o", "made"]
    (folder / "command").write_text(" ".join(command), encoding="utf-8")
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.2, 3.0))
        process.send_signal(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
    with contextlib.chdir(folder):
        code = cases.command_line([*arguments, "-o", "made"])
    assert code == 0, f"exit code {code}"
    for name in ("flows.parquet", "links.parquet"):
        assert (folder / "made" / name).read_bytes() == (saved / name).read_bytes(), f"{name} is not what it was"


DESIGN = ["design", "scenario.toml", "--vary", "topology.dumbbell.forward.queue.drop-tail.limit=2..30 packets"]
DESIGN += ["--maximise", "forward.utilisation", "--budget", "4", "--seeds", "2", "-j", "1", "-q", "--no-models", "-o"]


def designs(rng: random.Random, folder: Path) -> None:
    """A design study that somebody changed is refused, or goes on; never with a traceback."""
    saved = folder.parent / "saved-design"
    if not saved.exists():
        saved.mkdir()
        (saved / "scenario.toml").write_text(SCENARIO.format(duration="300 ms", capacity='"1 Mb/s"'))
        with contextlib.chdir(saved):
            code = cases.command_line([*DESIGN, "made"])
        if code != 0:
            shutil.rmtree(saved)
        assert code == 0, f"exit code {code}"
    shutil.copytree(saved, folder, dirs_exist_ok=True)
    made = folder / "made"
    files = sorted(path for path in made.rglob("*") if path.is_file())
    for file in rng.sample(files, rng.choice([1, 1, 2])):
        cases.damage(rng, file)
    if rng.random() < 0.3:
        (made / "points.json").write_bytes(rng.choice([b"[" * 100_000, b"{}", b"[[[]]]", b"[1, 2]"]))
    (folder / "command").write_text(" ".join(["varicap", *DESIGN, "made"]), encoding="utf-8")
    with contextlib.chdir(folder):
        cases.command_line([*DESIGN, "made"] if rng.random() < 0.7 else ["report", "made", "-q"])


# Links to the laboratory.

ESBUILD = ROOT / "web" / "node_modules" / ".bin" / "esbuild"
DECODER = """\
import {{ decode, encode, initial, isState, isFileName }} from "{web}/src/state.ts";
import {{ toPython, toToml }} from "{web}/src/scenario.ts";
const {{ letters, state }} = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
(async () => {{
  let value;
  try {{ value = await decode(letters ?? await encode(state)); }} catch (error) {{ console.log("{{}}"); return; }}
  const full = typeof value === "object" && value !== null ? {{ ...initial(), ...value }} : value;
  if (!isState(full)) {{ console.log("{{}}"); return; }}
  const text = toToml(full);
  const bad = Object.keys(full.files).filter((name) => !isFileName(name));
  console.log(JSON.stringify({{ bad, python: toPython(text, Object.entries(full.files)) }}));
}})();
"""
ODD: list[object] = [
    None,
    0,
    -1,
    1e308,
    "",
    "x",
    [],
    {},
    True,
    "\0",
    "<img src=x>",
    "../a",
    "/etc/passwd",
    "a\nimport os\n#",
    "'''",
    '"""',
]


def urls(rng: random.Random, folder: Path) -> None:
    """A link to the laboratory is refused, or its files have names, and its copy in Python is data in Python."""
    if not ESBUILD.exists() or shutil.which("node") is None:
        return  # the page was not built here
    bundle = folder.parent / "decoder.cjs"
    if not bundle.exists():
        source = folder.parent / "decoder.ts"
        source.write_text(DECODER.format(web=ROOT / "web"))
        build = [str(ESBUILD), str(source), "--bundle", "--platform=node", "--format=cjs", f"--outfile={bundle}"]
        subprocess.run(build, check=True, capture_output=True)
    files = {rng.choice([*map(str, ODD), "a.csv"]): rng.choice(["x", "'''\nimport os", '"""', "\\"]) for _ in range(2)}
    state: dict[str, object] = {"mode": rng.choice(["text", "made"]), "text": str(rng.choice(ODD)), "files": files}
    for key in rng.sample(["seed", "rtt", "buffer", "capacity", "flows", "file", "settings", "files"], 2):
        if rng.random() < 0.4:
            state[key] = rng.choice(ODD)
    asked = json.dumps({"state": state} if rng.random() < 0.8 else {"letters": rng.choice(["A" * 99, "_-", "é", ""])})
    (folder / "asked.json").write_text(asked)
    done = subprocess.run(["node", str(bundle)], input=asked, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found.get("bad"), found["bad"]
    if "python" in found:
        import ast

        for each in ast.walk(ast.parse(found["python"])):
            names = [each.module or ""] if isinstance(each, ast.ImportFrom) else []
            names += [name.name for name in each.names] if isinstance(each, ast.Import) else []
            assert all(name.partition(".")[0] in ("varicap", "base64", "pathlib", "tempfile") for name in names), names
