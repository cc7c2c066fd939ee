"""``make fuzz``: tries random inputs for a while, and says how to repeat what fails.

Each kind of trial runs in a process of its own, so that an abort or an endless loop is noticed and reported like
any other failure.  A trial is a function of its kind and its seed:

    python tools/fuzz --kind traces --seed 12345 --count 1
"""

import argparse
import contextlib
import os
import random
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

HANG_S = 60.0
"""A trial that works longer is a failure; most take milliseconds."""
IDLE = 10.0
"""So many times as long may a trial wait for the processors."""
SHARES = {
    "schema": 0.05,
    "toml": 0.05,
    "traces": 0.05,
    "folders": 0.1,
    "commands": 0.15,
    "runs": 0.2,
    "policies": 0.1,
    "scripts": 0.05,
    "links": 0.1,
    "interrupted": 0.05,
    "designs": 0.05,
    "urls": 0.05,
    "imports": 0.05,
}
"""Of the time."""
KINDS = tuple(SHARES)


def main() -> int:
    """Try all kinds, or one; 1 if anything failed."""
    options = argparse.ArgumentParser(prog="fuzz", description=__doc__.partition("\n")[0])
    options.add_argument("--seconds", type=float, default=60.0, help="how long, in all")
    options.add_argument("--kind", choices=KINDS, help="one kind only")
    options.add_argument("--seed", type=int, help="of the first trial (default: another every time)")
    options.add_argument("--count", type=int, default=10**9, help="trials of each kind, at most")
    options.add_argument("--keep", type=Path, default=Path("varicap-out/fuzz"), help="where inputs that fail are put")
    options.add_argument("--worker", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.worker:
        return worker(chosen.worker, chosen.seed, chosen.count, chosen.seconds, chosen.keep)
    failures = 0
    first = random.SystemRandom().randrange(2**40) if chosen.seed is None else chosen.seed
    kinds = (chosen.kind,) if chosen.kind else KINDS
    for kind in kinds:
        share = 1.0 if chosen.kind else SHARES[kind]
        failures += watch(kind, first, chosen.count, share * chosen.seconds, chosen.keep)
    return 1 if failures else 0


def watch(kind: str, seed: int, count: int, seconds: float, keep: Path) -> int:
    """Let workers try one kind, a new one after each failure; how many failed."""
    end, tried, failures = time.monotonic() + seconds, 0, 0
    while tried < count and time.monotonic() < end and failures < 20:
        with tempfile.TemporaryDirectory() as scratch:
            done, failed = _one_worker(kind, seed + tried, count - tried, end - time.monotonic(), Path(scratch))
            tried += done
            if failed is None:
                continue
            failures += 1
            kept = keep / f"{kind}-{seed + tried - 1}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(Path(scratch) / "input", kept, dirs_exist_ok=True)
            print(f"FAILED {kind} {seed + tried - 1}: {failed}\n  input: {kept}")
            print(f"  again: python tools/fuzz --kind {kind} --seed {seed + tried - 1} --count 1", flush=True)
    print(f"{kind}: {tried} trials from seed {seed}, {failures} failed", flush=True)
    return failures


def _one_worker(kind: str, seed: int, count: int, seconds: float, scratch: Path) -> tuple[int, str | None]:
    """How many trials a worker began, and what was wrong with the last."""
    command = [sys.executable, __file__, "--worker", kind, "--seed", str(seed), "--count", str(count)]
    command += ["--seconds", str(seconds), "--keep", str(scratch)]
    begun, said, rest = 0, "", b""
    with (scratch / "stderr").open("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, process_group=0)
        assert process.stdout is not None
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                # Read without a buffer: what waited there would look like a trial that does not end.
                while _speaks(selector, process.pid):
                    piece = os.read(process.stdout.fileno(), 1 << 16)
                    if not piece:
                        break
                    *lines, rest = (rest + piece).split(b"\n")
                    begun += sum(line.startswith(b"begin") for line in lines)
                    ends = [line.removeprefix(b"failed ") for line in lines if line.startswith(b"failed ")]
                    said = ends[-1].decode(errors="replace") if ends else said
                else:
                    process.kill()
                    said = f"it has not ended after {HANG_S:g} s of work, or {IDLE:g} times that without"
            code = process.wait()
        finally:
            # What a trial has started would go on without it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.stdout.close()
            process.wait()
        errors.seek(0)
        if code and not said:
            said = f"the process ended with {code}: {errors.read()[-2000:]}"
    # Before the first trial nothing but the start itself can fail.
    return (begun if not said else max(begun, 1)), said.replace("\\n", "\n") if said else None


def _speaks(selector: selectors.BaseSelector, pid: int) -> bool:
    """Whether a worker says something in time; that others keep the processors from it is no fault of its trial."""
    begin, before = time.monotonic(), _worked_s(pid)
    while not selector.select(HANG_S / 20):
        if _worked_s(pid) - before > HANG_S or time.monotonic() - begin > IDLE * HANG_S:
            return False
    return True


def _worked_s(pid: int) -> float:
    """Processor time of a process and its children [s]; the time on the clock where the system does not tell it."""
    try:
        return _ticks(pid) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return time.monotonic()


def _ticks(pid: int) -> int:
    """Processor time of a process, and of its children that run or have ended, in the system's ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    ticks = sum(int(field) for field in fields[11:15])
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # one that has ended meanwhile
            ticks += sum(_ticks(int(child)) for child in file.read_text(encoding="utf-8").split())
    return ticks


def worker(kind: str, seed: int, count: int, seconds: float, scratch: Path) -> int:
    """Try one seed after the other in this process, and stop at the first that fails."""
    # The protocol keeps its own stdout: what a trial prints is none of it.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    from fuzz import strangers
    from fuzz.cases import KINDS as OF_PROGRAMS

    trials = OF_PROGRAMS | {name: getattr(strangers, name) for name in KINDS if name not in OF_PROGRAMS}

    end = time.monotonic() + seconds
    for each in range(seed, seed + count):
        if time.monotonic() >= end:
            break
        folder = scratch / "input"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        print("begin", each, file=out)
        try:
            trials[kind](random.Random(f"{kind}:{each}"), folder)
        except BaseException:
            # Whatever it is, panics of the extension module included.
            print("failed", traceback.format_exc()[-3000:].replace("\n", "\\n"), file=out)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
