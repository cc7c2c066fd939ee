"""Counts the simulator's instructions per delivered packet, and compares them with the record.

    python tools/count_instructions.py [--write] [PROGRAM]

Counts hold where times do not. Callgrind takes them of the example `dumbbell` (built in the profile `release`, or given
as PROGRAM) in a longer run less a shorter one, so that reading a scenario and opening connections count for nothing.
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
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
RECORD = PROJECT / "bench" / "instructions.json"
BOUND = 0.02
DURATIONS_S = (3, 9)
ACKS = {"every": 'tcp.ack = "every"', "delayed": ""}
PACED, ORDINARY = ("bbr", "bbr3"), "cubic"
MOST_OF_ORDINARY = 1.5
"""What a packet of a paced control is to cost at most, in packets of an ordinary one."""
WORKLOADS = (
    *itertools.product(("rfc", "linux"), (1, 100), ACKS, ("",)),
    *itertools.product(("linux",), (1,), ACKS, (ORDINARY, *PACED)),
)


def built() -> Path:
    """The example `dumbbell`, optimised as what is released."""
    command = ["cargo", "build", "--locked", "--release", "-p", "varicap-sim", "--example", "dumbbell"]
    done = subprocess.run(
        [*command, "--message-format=json"], check=True, stdout=subprocess.PIPE, text=True, cwd=PROJECT
    )
    artefacts = [json.loads(line) for line in done.stdout.splitlines()]
    return Path(next(each["executable"] for each in artefacts if each.get("executable")))


def name_of(stack: str, flows: int, ack: str, control: str) -> str:
    """A workload's name in the record; without a control it is the stack's own."""
    return f"{stack}{f' {control}' if control else ''}, {flows} flow{'s'[: flows > 1]}, ack {ack}"


def counted(
    valgrind: str, program: Path, stack: str, flows: int, ack: str, control: str, duration_s: int
) -> tuple[int, int]:
    """The instructions of a whole run, and the packets that it delivered."""
    more = [f'tcp.stack = "{stack}"', ACKS[ack], f'tcp.congestion = "{control}"' if control else ""]
    arguments = [str(flows), "100 Mbit/s", f"{duration_s} s", "\n".join(more)]
    tool = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*tool, str(program), *arguments], check=True, capture_output=True, text=True)
    instructions = re.search(r"Collected : (\d+)", done.stderr)
    packets = re.search(r"(\d+) packets delivered", done.stdout)
    if instructions is None or packets is None:
        raise SystemExit(f"count_instructions: no counts in\n{done.stdout}{done.stderr}")
    return int(instructions[1]), int(packets[1])


def per_packet(valgrind: str, program: Path, stack: str, flows: int, ack: str, control: str) -> float:
    """Instructions per delivered packet in the steady state."""
    short, long = (counted(valgrind, program, stack, flows, ack, control, each) for each in DURATIONS_S)
    return round((long[0] - short[0]) / (long[1] - short[1]), 1)


def shares(counts: dict[str, float]) -> list[str]:
    """A line for each paced control: what a packet of it costs, in packets of the ordinary one."""
    lines = []
    for control, ack in itertools.product(PACED, ACKS):
        share = counts[name_of("linux", 1, ack, control)] / counts[name_of("linux", 1, ack, ORDINARY)]
        verdict = "" if share <= MOST_OF_ORDINARY else f" (more than {MOST_OF_ORDINARY})"
        lines.append(f"{control} / {ORDINARY}, ack {ack}: {share:.2f}{verdict}")
    return lines


def main() -> None:
    """Prints a line for each workload; fails if one is further from the record than the bound."""
    parser = argparse.ArgumentParser(description="Instructions per delivered packet, beside the record.")
    parser.add_argument("--write", action="store_true", help="write the record instead of comparing with it")
    parser.add_argument("program", nargs="?", type=Path, help="the example `dumbbell` (default: build it)")
    options = parser.parse_args()
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("count_instructions: there is no valgrind here, so nothing was counted", file=sys.stderr)
        return
    program = options.program or built()
    record: dict[str, float] = {} if options.write else json.loads(RECORD.read_text())
    counts: dict[str, float] = {}
    strays = []
    for workload in WORKLOADS:
        name = name_of(*workload)
        count = counts[name] = per_packet(valgrind, program, *workload)
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
