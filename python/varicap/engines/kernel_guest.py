"""The first process of a guest: runs a replication, or a program behind a link, in simulated time, and ends the guest.

It is started by a kernel that has just been booted, by the path of this file, and has no varicap but the extension
module: what is not imported need not be read through the guest, which takes longer than on the host.  Messages go over
two pipes of the host, by the host audio driver of User-mode Linux, which reads and writes what its parameter names:
simulated time stands still meanwhile, so that nothing depends on how fast the host is.
"""

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DEVICE = "/dev/dsp"
_PARAMETER = "/sys/module/hostaudio/parameters/dsp"
_PIECE = 65_536
_ROOM = "/dev/shm"  # noqa: S108 - of the guest, which ends with this process
"""Where programs may write."""
_USAGE = 2
"""The exit code for a mistake in the scenario."""


def _extension(path: str) -> Any:
    """The module ``varicap._core``, in a package of which nothing else is imported unless it asks for it."""
    package = type(sys)("varicap")
    package.__path__ = [os.path.dirname(path)]  # noqa: PTH120 - as below
    sys.modules["varicap"] = package
    spec = spec_from_loader("varicap._core", ExtensionFileLoader("varicap._core", path))
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - for mypy
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _received() -> dict[str, Any]:
    """The request: its length in eight bytes, and the request."""
    device = os.open(_DEVICE, os.O_RDONLY)
    data = b""
    while len(data) < 8 or len(data) < 8 + int.from_bytes(data[:8], "little"):
        data += os.read(device, _PIECE)
    os.close(device)
    request: dict[str, Any] = marshal.loads(data[8:])  # noqa: S302 - of the process that started this guest
    return request


def _one_run(
    core: Any, scenario: Any, request: dict[str, Any], send: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Run a replication: its result."""
    modules = [(file, core.kernel_load(module)) for file, module in request["modules"]]
    data = core.kernel_run(
        scenario,
        seed=request["seed"],
        replication=request["replication"],
        mode=request["mode"],
        series=request["series"],
        packets=request["packets"],
        simulated=True,
        modules=modules,
        progress=lambda share, _: send({"share": share}),
        live=(lambda samples: send({"samples": samples})) if request["live"] else None,
    )
    return {"data": data}


def _behind_a_link(
    core: Any, scenario: Any, request: dict[str, Any], send: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Run a program behind the link of a scenario: what it prints is sent on, its exit code is the result."""
    import select

    core.kernel_room(_ROOM)
    os.environ.clear()
    os.environ.update(request["environment"], TMPDIR=_ROOM)
    os.chdir(request["folder"])
    output, errors, end = (os.pipe() for _ in range(3))
    child = os.fork()
    if child == 0:
        for place, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), output[1], errors[1])):
            os.dup2(descriptor, place)
        code = _USAGE
        try:
            code = core.shell(
                scenario,
                request["command"],
                seed=request["seed"],
                at_left=request["at_left"],
                congestion=request["congestion"],
                strict=request["strict"],
                simulated=True,
                server=request["server"],
            )
        except core.ScenarioError as error:
            os.write(2, f"varicap: {error}\n".encode())
        finally:
            os._exit(code)
    for pipe in (output, errors, end):
        os.close(pipe[1])
    names = {output[0]: "output", errors[0]: "errors", end[0]: ""}
    while end[0] in names:
        # What has been printed comes first: then nothing is left when the program has ended.
        for descriptor in sorted(select.select(list(names), (), ())[0]):
            data = os.read(descriptor, _PIECE)
            if data:
                send({names[descriptor]: data})
            else:
                del names[descriptor]
    return {"data": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}


def main() -> None:
    """Serve the request."""
    core = _extension(sys.argv[1])
    core.kernel_settle()
    request = _received()
    with open(_PARAMETER, "w", encoding="ascii") as parameter:  # noqa: PTH123 - pathlib need not be read
        parameter.write(request["answers"])
    device = os.open(_DEVICE, os.O_WRONLY)

    def send(message: dict[str, Any]) -> None:
        data = marshal.dumps(message)
        data = len(data).to_bytes(8, "little") + data
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            while piece:
                piece = piece[os.write(device, piece) :]

    try:
        scenario = core.Scenario.from_json(request["scenario"], request["name"], request["base_dir"], [])
        send(
            _behind_a_link(core, scenario, request, send)
            if "command" in request
            else _one_run(core, scenario, request, send)
        )
    except (core.KernelCannotError, core.KernelLacksError, core.RunError, core.ScenarioError) as error:
        send({"error": type(error).__name__, "text": str(error)})
    except BaseException as error:  # nobody else would hear of it
        send({"error": "RunError", "text": f"{type(error).__name__}: {error}"})
    core.kernel_power_off()


if __name__ == "__main__":
    main()
