"""The process in which the kernel engine runs: a request on stdin, progress and results on stdout.

Each message is a line of JSON; a result is followed by as many bytes as its line says.  Nothing that starts threads may
be imported here, or in the packages above, before `_core.kernel_enter`: only a process with a single thread may enter a
new user namespace.
"""

import json
import sys
from typing import Any, BinaryIO

import varicap._core as _core


def _send(out: BinaryIO, message: dict[str, Any], data: bytes = b"") -> None:
    out.write(json.dumps(message).encode() + b"\n" + data)
    out.flush()


def main() -> None:
    """Serve one request."""
    request = json.loads(sys.stdin.readline())
    out = sys.stdout.buffer
    try:
        _core.kernel_enter(request["parent"])
        if "probe" in request:
            _send(out, {"found": _core.kernel_probe()})
            _send(out, {"done": True})
            return
        # The clock is watched by the process that asks.
        budget = _core.Budget(request["max_memory"], None)

        def report(share: float, _: int) -> None:
            budget.check_spent()
            _send(out, {"share": share})

        scenario = _core.Scenario.from_json(request["scenario"], request["name"], request["base_dir"], [])
        for replication in range(request["first"], request["first"] + request["count"]):
            data = _core.kernel_run(
                scenario,
                seed=request["seed"],
                replication=replication,
                mode=request["mode"],
                series=replication < request["series_below"],
                packets=replication < request["packets_below"],
                progress=report,
                live=(lambda samples: _send(out, {"samples": samples})) if request["live"] else None,
            )
            _send(out, {"bytes": len(data)}, data)
        _send(out, {"done": True})
    except (_core.KernelCannotError, _core.KernelLacksError, _core.RunError, _core.ScenarioError) as error:
        _send(out, {"error": type(error).__name__, "text": str(error)})


if __name__ == "__main__":
    main()
