"""One kind of trial each: a random input, and what must hold of what comes out.

A case gets a generator and a folder, in which it leaves its input before it tries it, and raises if something is
broken.  What a user is refused for is no failure.
"""

import contextlib
import io
import json
import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import varicap
import varicap._core as _core
from fuzz import commands as grammar_of_commands
from fuzz import grammar, invariants, networks
from fuzz.grammar import ROOT
from varicap.cli import main
from varicap.traces import TraceError
from varicap.traces.files import load as load_trace

Case = Callable[[random.Random, Path], None]

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
TRACES = sorted((ROOT / "examples" / "traces").glob("*.down"))[:2]
SCRAPS = [
    *(b"=", b"\n", b"[", b"]", b"{", b"}", b'"', b"'", b".", b",", b"-", b"#", b"\r", b"[[a]]"),
    *(b"0", b"9" * 40, b"1e999", b"nan", b"inf", b"true", b" ms", b" Mbit/s"),
    *(b"\0", b"\xff", b"\xe2\x80\xae", b"\x1b[31m", b"\\u0000"),
]


def schema(rng: random.Random, folder: Path) -> None:
    """A scenario that the schema allows is read or refused; what is read says the same when written and read again."""
    text = json.dumps(grammar.scenario(rng), indent=1)
    (folder / "scenario.json").write_text(text, encoding="utf-8")
    try:
        loaded = _core.Scenario.from_json(text, "fuzz.json", str(ROOT / "examples"), [])
    except varicap.ScenarioError:
        return
    json.loads(loaded.explain())
    json.loads(loaded.facts())
    again = _core.Scenario.from_toml(loaded.to_toml(), "fuzz.json", str(ROOT / "examples"), [])
    assert again.to_json() == loaded.to_json(), "written and read again, it is another scenario"


def toml(rng: random.Random, folder: Path) -> None:
    """A scenario file with something changed is read or refused."""
    text = mutated(rng, rng.choice(EXAMPLES).read_bytes())
    (folder / "scenario.toml").write_bytes(text)
    with contextlib.suppress(varicap.ScenarioError):
        decoded = text.decode(errors="surrogateescape" if rng.random() < 0.02 else "replace")
        with contextlib.suppress(UnicodeEncodeError):
            _core.Scenario.from_toml(decoded, "fuzz.toml", str(ROOT / "examples"), [])


def traces(rng: random.Random, folder: Path) -> None:
    """A trace is read or refused, by a scenario as by itself, and errors quote little of it."""
    name = rng.choice(["a.down", "a.csv", "bw_1.txt"])
    text = mutated(rng, _trace(rng, name))
    (folder / name).write_bytes(text)
    (folder / "delay_1.txt").write_bytes(mutated(rng, b"10\n20\n30\n"))
    kind = "trace" if name == "a.csv" else "opportunities"
    link = {"capacity": {kind: {"file": name}}, "delay": "1 ms"}
    scenario = {"duration": "1 s", "topology": {"dumbbell": {"forward": link}}, "flows": {"a": {}}}
    refused: list[str] = []
    try:
        trace = load_trace(folder / name)
        assert trace.duration_s > 0.0, "a trace without a length"
    except TraceError as error:
        refused.append(str(error))
    try:
        _core.Scenario.from_json(json.dumps(scenario), "fuzz", str(folder), [])
    except varicap.ScenarioError as error:
        refused.append(str(error))
    for message in refused:
        assert len(message.replace(str(folder), "")) < 400, f"an error quotes too much: {message[:600]!r}"
        assert "\x1b" not in message, "an error has a raw escape"


def _trace(rng: random.Random, name: str) -> bytes:
    if rng.random() < 0.1:
        return bytes(rng.randrange(256) for _ in range(rng.randint(0, 300)))
    if name != "a.csv":
        steps = (rng.choice([0, 0, 1, 1, 2, 7, 1000]) for _ in range(rng.randint(0, 60)))
        at, lines = 0, []
        for step in steps:
            at += step
            lines.append(str(at))
        return "\n".join(lines).encode() + b"\n"
    head = rng.choice(["time_s,rate_mbps", "time_s,bps,delay_ms", "rate_kbps,time_s", "\ufefftime_s,kbps"])
    rows = (f"{i * 0.5},{rng.choice([0, 1, 2.5, 1e3])},{rng.choice([1, 20])}" for i in range(rng.randint(0, 30)))
    return "\n".join([head, *rows]).encode() + b"\n"


def mutated(rng: random.Random, text: bytes) -> bytes:
    """A text with a few changes: pieces cut, doubled, moved, replaced, or scraps put in."""
    for _ in range(rng.choice([0, 1, 1, 2, 3, 8])):
        at, end = sorted(rng.randint(0, len(text)) for _ in range(2))
        end = min(end, at + rng.choice([1, 4, 30, 10_000]))
        piece = text[at:end]
        match rng.randrange(5):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:end] + piece * rng.choice([1, 3]) + text[end:]
            case 2:
                text = text[:at] + rng.choice(SCRAPS) + text[at:]
            case 3:
                text = text[:at] + rng.choice(SCRAPS) + text[end:]
            case _:
                text = text[:at] + bytes(rng.randrange(256) for _ in piece[:4]) + text[at + 4 :]
    return text


SHORT = ["--set", "duration='300 ms'", "--set", "warmup='0 s'", "--set", "flows.reno.start_spread='0 s'"]
FIXED = str(ROOT / "examples" / "fixed.toml")
RUN = ["run", FIXED, *SHORT, "--seeds", "2", "-j", "1", "-q", "--series", "--packets", "--no-plot"]
SWEEP = ["sweep", FIXED, *SHORT, "--over", "topology.dumbbell.forward.delay=5 ms,20 ms"]
SWEEP += ["--seeds", "2", "-j", "1", "-q", "--no-plot"]
READERS = [["report", "-q"], ["plot", "-q"], ["table"], ["export", "--to", "iperf3"], ["export", "--to", "mahimahi"]]


def folders(rng: random.Random, folder: Path) -> None:
    """A damaged folder is read or refused, never with a traceback; a study in one goes on to the same tables."""
    study = rng.random() < 0.5
    saved = folder.parent / ("saved-study" if study else "saved-run")
    if not saved.exists():
        command = SWEEP if study else RUN
        code = command_line([*command, "-o", str(saved)])
        assert code == 0, f"{command}: exit code {code}"
    damaged = folder / "damaged"
    shutil.copytree(saved, damaged)
    files = sorted(path for path in damaged.rglob("*") if path.is_file())
    for file in rng.sample(files, rng.choice([1, 1, 2])):
        damage(rng, file)
    again = rng.random() < 0.5
    if again:
        command = [*SWEEP, "-o", str(damaged)] if study else ["replay", str(damaged / "manifest.json")]
    else:
        name, *options = rng.choice(READERS)
        command = [name, str(damaged), *options]
    (folder / "command").write_text(" ".join(["varicap", *command]), encoding="utf-8")
    # Some write a file here if they are not asked to do so elsewhere.
    with contextlib.chdir(folder):
        code = command_line(command)
    # 1 is a replay that differs, or a sweep that finds another study in its place.
    assert code in ((0, 1, 2) if again else (0, 2)), f"exit code {code}"
    if again and study and code == 0:
        for name in ("flows.parquet", "links.parquet"):
            assert (damaged / name).read_bytes() == (saved / name).read_bytes(), f"{name} is not what it was"


def damage(rng: random.Random, file: Path) -> None:
    """Change a file, in a way that its format notices or in one that it does not."""
    if not file.exists():
        return
    text = file.read_bytes()
    if file.suffix == ".json" and rng.random() < 0.6:
        value = json.loads(text)
        _change(rng, value)
        file.write_text(json.dumps(value), encoding="utf-8")
        return
    match rng.randrange(4):
        case 0:
            file.unlink()
        case 1:
            file.write_bytes(text[: rng.randint(0, len(text))])
        case 2:
            file.write_bytes(rng.choice([b"", b"[]", b"null", b"{}", b"PAR1", b'{"a": ' * 500]))
        case _:
            file.write_bytes(mutated(rng, text))


def _change(rng: random.Random, value: object) -> None:
    """Remove, rename or replace an entry, somewhere."""
    while True:
        keys: list[object] = list(value) if isinstance(value, dict) else list(range(len(value)))  # type: ignore[arg-type]
        if not keys:
            return
        key = rng.choice(keys)
        inner = value[key]  # type: ignore[index]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.7:
            value = inner
            continue
        match rng.randrange(3):
            case 0:
                del value[key]  # type: ignore[attr-defined]
            case 1 if isinstance(value, dict):
                value["../../evil\x1b\u202e$"] = value.pop(key)
            case _:
                value[key] = rng.choice([None, -1, 1e308, "", "x", [], {}, True, "/etc/passwd", [[[]]]])  # type: ignore[index]
        return


def command_line(arguments: list[str]) -> int:
    """What a command exits with, run in this process; its output is kept away."""
    before, sys.argv = sys.argv, ["varicap", *arguments]
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.argv = before
    assert "Traceback" not in err.getvalue(), err.getvalue()
    assert code in (0, 1, 2), f"exit code {code}: {err.getvalue()}"
    return int(str(code))


def commands(rng: random.Random, folder: Path) -> None:
    """A command does what it is asked, or says why not; it needs no more than a few seconds for either."""
    for name, file in (("a.down", "t.down"), ("a.csv", "t.csv")):
        text = _trace(rng, name)
        (folder / file).write_bytes(mutated(rng, text) if rng.random() < 0.2 else text)
    grammar_of_commands.write_scenario(rng, folder, lambda text: mutated(rng, text))
    command = grammar_of_commands.arguments(rng, rng.choice(["t.down", "t.csv", "none.csv"]))
    (folder / "command").write_text(" ".join(["varicap", *command]), encoding="utf-8")
    with contextlib.chdir(folder):
        code = command_line(command)
        # 1 is a design whose demands nothing meets.
        assert code in ((0, 1, 2) if command[0] == "design" else (0, 2)), f"exit code {code}"
        if rng.random() < 0.4:
            _on_results(rng)


def _on_results(rng: random.Random) -> None:
    """A run of the scenario that is here, and a command on the folder that it leaves."""
    run = [*grammar_of_commands.RUN, *rng.choice([[], ["--series"], ["--series"], ["--series", "--packets"]])]
    second = grammar_of_commands.on_results(rng, "results")
    lines = (" ".join(["varicap", *command]) for command in (run, second))
    Path("command").write_text("\n".join(lines), encoding="utf-8")
    code = command_line(run)
    assert code in (0, 2), f"run: exit code {code}"
    if code == 0:
        code = command_line(second)
        assert code in (0, 2), f"{second[0]}: exit code {code}"
        assert code == 0 or second[0] != "replay", "what was just run cannot be replayed"


def runs(rng: random.Random, folder: Path) -> None:
    """A run of a random valid scenario keeps every invariant."""
    networks.write_traces(folder)
    for _ in range(20):
        scenario, _ = networks.scenario(rng)
        (folder / "scenario.json").write_text(json.dumps(scenario, indent=1), encoding="utf-8")
        if invariants.check(rng, scenario, str(folder)):
            return
    raise AssertionError("of twenty scenarios none is valid")


KINDS: dict[str, Case] = {
    "schema": schema,
    "toml": toml,
    "traces": traces,
    "folders": folders,
    "commands": commands,
    "runs": runs,
}
"""By the names that ``--kind`` knows."""

os.environ.setdefault("MPLBACKEND", "Agg")
