"""Counts the simulator's instructions per delivered packet, and compares them with the record.

    python tools/count_instructions.py [--write] [PROGRAM]

Counts hold where times do not. Callgrind takes them of the example `packets` (built in the profile `release`, or given
as PROGRAM) in a longer run less a shorter one, so that reading a scenario and opening connections count for nothing.
Constant rates behind drop-tail are counted by stack, crowd and acknowledgements; what the product is for is `VARYING`.
`bench/instructions.json` moves with the commit that moves the counts: `--write` writes it. Where there is no valgrind,
nothing is counted, and that is said.
"""

import argparse
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
RECORD = PROJECT / "bench" / "instructions.json"
BOUND = 0.02
DURATIONS_S = (3, 9)
ACKS = {"every": 'tcp.ack = "every"', "delayed": ""}
PACED, ORDINARY = ("bbr", "bbr3"), "cubic"
MOST_OF_ORDINARY = 1.5
"""What a packet of a paced control is to cost at most, in packets of an ordinary one."""
DUMBBELL = """\
duration = "9 s"
[topology.dumbbell.forward]
{forward}
delay = "10 ms"
[topology.dumbbell.reverse]
capacity = "100 Mbit/s"
delay = "10 ms"
queue = {{ drop-tail = {{ limit = "unlimited" }} }}
[flows.a]
count = {flows}
start_spread = "100 ms"
tcp.stack = "{stack}"
{more}
"""
MARKOV = """\
capacity = { markov = { rates = ["30 Mbit/s", "6 Mbit/s"], mean_holding = ["20 ms", "20 ms"] } }
queue = { drop-tail = { limit = "60 packets" } }"""
CONSTANT = 'capacity = "100 Mbit/s"'


def constant(stack: str, flows: int, ack: str, control: str) -> tuple[str, str]:
    """The name and the scenario of a workload at a constant rate; without a control it is the stack's own."""
    name = f"{stack}{f' {control}' if control else ''}, {flows} flow{'s'[: flows > 1]}, ack {ack}"
    more = [ACKS[ack], f'tcp.congestion = "{control}"' if control else ""]
    return name, DUMBBELL.format(forward=CONSTANT, flows=flows, stack=stack, more="\n".join(more))


def varying(flows: int, more: str, forward: str = MARKOV) -> str:
    """The scenario of a workload whose capacity changes, or whose queue is no drop-tail."""
    return DUMBBELL.format(forward=forward, flows=flows, stack="linux", more=more)


VARYING: dict[str, str | Path] = {
    "markov 20 ms, cubic, 1 flow": varying(1, ""),
    "markov 20 ms, cubic, 10 flows": varying(10, ""),
    "markov 20 ms, bbr3, 10 flows": varying(10, 'tcp.congestion = "bbr3"'),
    "dualpi2, prague, 1 flow": varying(1, 'tcp.congestion = "prague"', f'{CONSTANT}\nqueue = "dualpi2"'),
    **{f"examples/{name}": PROJECT / "examples" / name for name in ("today.toml", "lte.toml", "wireless.toml")},
}
WORKLOADS: dict[str, str | Path] = {
    **dict(
        constant(*each)
        for each in (
            *itertools.product(("rfc", "linux"), (1, 100), ACKS, ("",)),
            *itertools.product(("linux",), (1,), ACKS, (ORDINARY, *PACED)),
        )
    ),
    **VARYING,
}


def built() -> Path:
    """The example `packets`, optimised as what is released."""
    command = ["cargo", "build", "--locked", "--release", "-p", "varicap-sim", "--example", "packets"]
    done = subprocess.run(
        [*command, "--message-format=json"], check=True, stdout=subprocess.PIPE, text=True, cwd=PROJECT
    )
    artefacts = [json.loads(line) for line in done.stdout.splitlines()]
    return Path(next(each["executable"] for each in artefacts if each.get("executable")))


def counted(valgrind: str, program: Path, scenario: Path, duration_s: int) -> tuple[int, int]:
    """The instructions of a whole run, and the packets that it delivered."""
    tool = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*tool, str(program), str(scenario), f"{duration_s} s"], check=True, capture_output=True, text=True
    )
    instructions = re.search(r"Collected : (\d+)", done.stderr)
    packets = re.search(r"(\d+) packets delivered", done.stdout)
    if instructions is None or packets is None:
        raise SystemExit(f"count_instructions: no counts in\n{done.stdout}{done.stderr}")
    return int(instructions[1]), int(packets[1])


def per_packet(valgrind: str, program: Path, scenario: str | Path) -> float:
    """Instructions per delivered packet in the steady state."""
    # The warm-up of an example lasts longer than the shorter run of a constant rate.
    scale = 10 if isinstance(scenario, Path) else 1
    with tempfile.TemporaryDirectory() as folder:
        file = scenario if isinstance(scenario, Path) else Path(folder) / "workload.toml"
        if isinstance(scenario, str):
            file.write_text(scenario)
        short, long = (counted(valgrind, program, file, scale * each) for each in DURATIONS_S)
    return round((long[0] - short[0]) / (long[1] - short[1]), 1)


def shares(counts: dict[str, float]) -> list[str]:
    """A line for each paced control: what a packet of it costs, in packets of the ordinary one."""
    lines = []
    for control, ack in itertools.product(PACED, ACKS):
        share = counts[constant("linux", 1, ack, control)[0]] / counts[constant("linux", 1, ack, ORDINARY)[0]]
        verdict = "" if share <= MOST_OF_ORDINARY else f" (more than {MOST_OF_ORDINARY})"
        lines.append(f"{control} / {ORDINARY}, ack {ack}: {share:.2f}{verdict}")
    return lines


def main() -> None:
    """Prints a line for each workload; fails if one is further from the record than the bound."""
    parser = argparse.ArgumentParser(description="Instructions per delivered packet, beside the record.")
    parser.add_argument("--write", action="store_true", help="write the record instead of comparing with it")
    parser.add_argument("program", nargs="?", type=Path, help="the example `packets` (default: build it)")
    options = parser.parse_args()
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("count_instructions: there is no valgrind here, so nothing was counted", file=sys.stderr)
        return
    program = options.program or built()
    record: dict[str, float] = {} if options.write else json.loads(RECORD.read_text())
    counts: dict[str, float] = {}
    strays = []
    for name, scenario in WORKLOADS.items():
        count = counts[name] = per_packet(valgrind, program, scenario)
        change = count / record[name] - 1 if name in record else 0.0
        strays += [name] if abs(change) > BOUND else []
        print(f"{name:32} {count:8.1f} {change:+7.1%}", flush=True)
    print(*shares(counts), sep="\n")
    if not options.write:
        strays += sorted(counts.keys() ^ record.keys())
    if options.write:
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(counts, indent=2) + "\n")
    if strays:
        raise SystemExit(f"count_instructions: more than {BOUND:.0%} from {RECORD.name}: {'; '.join(strays)}")


if __name__ == "__main__":
    main()
