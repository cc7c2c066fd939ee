"""Runs a command that mostly waits, and meanwhile another that computes: `meanwhile.py WAITING COMPUTING`.

What computes gives way to everything else on the machine, so that a test in real time finds a processor whenever it
wants one.  Soon after the first command has ended, the second is stopped: whoever wants it to end starts it again,
where it goes on.  Both are commands of a shell.  The exit code is that of the first, or of the second if it ended in
time.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

GRACE_S = 15.0
"""For what computes to end when nothing waits any more: tests that have not ended would begin again."""


def give_way() -> None:
    """Let this process, and what it starts, run when nobody else wants to."""
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(19)


def stop(leader: "subprocess.Popen[bytes]") -> None:
    """Kill a process and its group, who would report it as a failure; waits until their locks are free."""
    with suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)
        leader.wait()
        for _ in range(250):  # 5 s: where nobody collects what has ended, it stays
            os.killpg(leader.pid, 0)
            time.sleep(0.02)


def main(waiting: str, computing: str) -> int:
    """Run both; the exit code."""
    other = subprocess.Popen(["sh", "-c", computing], start_new_session=True, preexec_fn=give_way)
    try:
        code = subprocess.call(["sh", "-c", waiting])
        if not code:
            with suppress(subprocess.TimeoutExpired):
                other.wait(GRACE_S)
    finally:
        ended = other.poll()
        if ended is None:
            stop(other)
    return code or ended or 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # as by Ctrl-C, nothing stays behind
    sys.exit(main(*sys.argv[1:]))
