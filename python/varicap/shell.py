"""Any program behind an emulated link.

>>> link = between("12 Mbit/s", "48 Mbit/s", delay="20 ms")
>>> link.capacity_bps("forward")
48000000.0
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import varicap._core as _core
from varicap import kernels
from varicap._blas import environment_of_the_user
from varicap.engines import guests
from varicap.engines.scenarios import AnyScenario, load
from varicap.errors import MachineLacksError


def between(up: str | Path, down: str | Path, *, delay: str = "0 s", queue: str = "unlimited") -> _core.Scenario:
    """The link that ``mm-link`` and ``mm-delay`` make: each direction a trace in Mahimahi's format, or a rate.

    `up` is from the command outside, `down` back; `delay` is that of each direction, `queue` the limit of its buffer.
    """

    def link(capacity: str | Path) -> dict[str, Any]:
        return {"capacity": _capacity(str(capacity)), "delay": delay, "queue": {"drop-tail": {"limit": queue}}}

    # Data is taken to go down: the shell is at the receivers' end.
    path = {"dumbbell": {"forward": link(down), "reverse": link(up)}}
    # A shell lasts as long as its command; the duration is that of a scenario.
    return load({"name": "shell", "duration": "1 h", "topology": path, "flows": {"shell": {}}})


def run(
    scenario: AnyScenario,
    command: Sequence[str] = (),
    *,
    seed: int | None = None,
    at_left: bool = False,
    congestion: str | None = None,
    show: Literal["nowhere", "line", "title"] = "nowhere",
    strict: bool = False,
    clock: Literal["simulated", "real"] | None = None,
    kernel_name: str | None = None,
    server: str | None = None,
) -> int:
    """Run `command` (a shell by default) behind the links of `scenario`, and return its exit code.

    The command is where the scenario's receivers are, so that what it downloads takes the links forward; `at_left` puts
    it where the senders are.  The scenario's flows do not run.  In the command's environment VARICAP_OUTSIDE is the
    address of the network outside.  `congestion` is what sockets at both ends have by default.

    That is in real time.  With the `clock` ``simulated`` the command runs in a guest, a kernel that was built for it
    (`kernel_name`), where no time passes while anything computes.  There is no network outside; what VARICAP_OUTSIDE
    reaches is `server`, a command for ``/bin/sh`` that runs at the other end.  The command reads no input, and finds
    the files of this machine read-only, but for ``TMPDIR``.
    """
    if sys.platform != "linux":
        raise MachineLacksError("a shell needs Linux: network namespaces and TUN devices")
    loaded = load(scenario)
    if clock == "simulated" or kernel_name is not None:
        guest = kernels.find(kernel_name)
        return _in_a_guest(
            guest, loaded, command, loaded.seed if seed is None else seed, at_left, congestion, strict, server
        )
    if server is not None:
        raise ValueError("in real time a server is started outside: `server` is for clock='simulated'")
    argv = list(command) or [os.environ.get("SHELL") or "/bin/sh"]
    depth = os.environ.get("VARICAP_SHELL", "0")
    # Ctrl-C is for the command.
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        with environment_of_the_user():
            return _core.shell(
                loaded,
                argv,
                seed=loaded.seed if seed is None else seed,
                at_left=at_left,
                congestion=congestion,
                show=show,
                strict=strict,
                depth=int(depth) if depth.isdecimal() else 0,
            )
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


def _in_a_guest(
    kernel: kernels.Kernel,
    scenario: _core.Scenario,
    command: Sequence[str],
    seed: int,
    at_left: bool,
    congestion: str | None,
    strict: bool,
    server: str | None,
) -> int:
    """Run `command` in simulated time, print what it prints, and return its exit code."""
    if not command:
        raise ValueError("in simulated time nobody can type: a command is needed")
    with environment_of_the_user():
        environment = dict(os.environ)
    request = {
        "scenario": scenario.to_json(),
        "name": scenario.name,
        # A guest begins in another folder.
        "base_dir": os.path.abspath(scenario.base_dir),  # noqa: PTH100 - links stay as they are
        "command": list(command),
        "server": [] if server is None else ["/bin/sh", "-c", f"exec {server}"],
        "seed": seed,
        "at_left": at_left,
        "congestion": congestion,
        "strict": strict,
        "environment": environment,
        "folder": os.getcwd(),  # noqa: PTH109 - as it is
    }
    places = {"output": sys.stdout, "errors": sys.stderr}
    for _, message in guests.serve(kernel, [0], lambda _: request, 1, lambda *_: None):
        for name, data in message.items():
            if name in places:
                place = places[name].buffer
                place.write(data)
                place.flush()
        if "error" in message:
            raise _core.RunError(message["text"])
        if "data" in message:
            return int(message["data"])
    raise AssertionError("a guest ends with a result or an error")


def _capacity(text: str) -> Any:
    """A trace, if there is such a file or it cannot be meant as a rate."""
    is_rate = text == "unlimited" or text[:1].isdigit()
    return text if is_rate and not Path(text).is_file() else {"opportunities": {"file": text, "mahimahi": True}}
