"""Linux's token bucket beside ours: how long transfers take through `tc qdisc … tbf` and through `shaper`.

    .venv/bin/python tests/peers/tbf.py

Theirs: two network namespaces, joined by a pair of virtual Ethernet devices, of which one has the qdisc.  Ours: the
kernel engine, with the queue `shaper` in front of a link of 1 Gb/s.  It takes root, `ip` and `tc`; times are real, the
shortest of several, and what a transfer of 1 kB takes, which waits for no token, is taken off.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import varicap

RATE_BPS = 2_000_000
BURST_BYTES = 15_000
SIZES = (30_000, 100_000, 300_000)
_RUNS = 5
_SMALL = 1_000
_ETHERNET = 1514 / 1500
"""The qdisc counts Ethernet's header, the queue does not."""
_SERVER = """
import socket
server = socket.create_server(("10.7.7.2", 7007))
print("ready", flush=True)
while True:
    connection, _ = server.accept()
    while connection.recv(65536):
        pass
    connection.close()
"""
_CLIENT = """
import socket, sys, time
began = time.monotonic()
with socket.create_connection(("10.7.7.2", 7007)) as connection:
    connection.sendall(bytes(int(sys.argv[1])))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
print(time.monotonic() - began)
"""


def why_not(*discipline: str) -> str:
    """Why Linux's queue discipline (default: its token bucket) cannot be asked here; empty if it can."""
    if os.geteuid() != 0:
        return "namespaces with a qdisc take root"
    if missing := [name for name in ("ip", "tc") if shutil.which(name) is None]:
        return f"there is no {' and no '.join(missing)}"
    name = f"varicap-{os.getpid()}"
    if _run("ip", "netns", "add", name).returncode:
        return "no network namespace can be made"
    try:
        asked = discipline or _tbf()
        tried = _run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "lo", "root", *asked)
        return "" if tried.returncode == 0 else f"the kernel, or tc, has no {asked[0]}"
    finally:
        _run("ip", "netns", "delete", name)


def theirs(size: int) -> float:
    """How much longer than 1 kB a transfer of that size [B] takes through Linux's token bucket [s]."""
    with (
        _path() as (near, far),
        subprocess.Popen(
            ["ip", "netns", "exec", far, sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True
        ) as server,
    ):
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            large, small = (min(_transfer(near, of) for _ in range(_RUNS)) for of in (size, _SMALL))
            return large - small
        finally:
            server.kill()


def ours(size: int) -> float:
    """The same through `shaper`, in the kernel engine."""
    return _shaped(size) - _shaped(_SMALL)


@cache
def _shaped(size: int) -> float:
    bucket = {"rate": f"{RATE_BPS} b/s", "burst": f"{BURST_BYTES} B", "queue": {"drop-tail": {"limit": "400 packets"}}}
    roomy = {"drop-tail": {"limit": "1000 packets"}}
    scenario = {
        "duration": f"{0.5 + 8 * size / RATE_BPS} s",
        "topology": {
            "dumbbell": {
                "forward": {"capacity": "1 Gbit/s", "queue": {"shaper": bucket}},
                "reverse": {"capacity": "1 Gbit/s", "queue": roomy},
            }
        },
        "flows": {"flow": {"tcp": {"congestion": "cubic"}, "app": {"transfer": {"size": f"{size} B"}}}},
    }
    result = varicap.run(scenario, engine="kernel", seeds=_RUNS)
    return float(8 * size / max(result.flows["transfer_throughput_bps"].to_pylist()))


def _tbf() -> list[str]:
    rate, burst = round(RATE_BPS * _ETHERNET), round(BURST_BYTES * _ETHERNET)
    return ["tbf", "rate", f"{rate}bit", "burst", str(burst), "limit", str(round(600_000 * _ETHERNET))]


@contextmanager
def _path() -> Iterator[tuple[str, str]]:
    """Two namespaces, the first of which sends through the token bucket."""
    near, far = (f"varicap-{os.getpid()}-{side}" for side in ("near", "far"))
    try:
        for name in (near, far):
            _must("ip", "netns", "add", name)
        _must("ip", "link", "add", "near0", "netns", near, "type", "veth", "peer", "name", "far0", "netns", far)
        for name, device, address in ((near, "near0", "10.7.7.1"), (far, "far0", "10.7.7.2")):
            _must("ip", "-n", name, "address", "add", f"{address}/24", "dev", device)
            # Packets as small as on a wire.
            _must("ip", "-n", name, "link", "set", device, "gso_max_segs", "1", "up")
        _must("ip", "netns", "exec", near, "tc", "qdisc", "add", "dev", "near0", "root", *_tbf())
        yield near, far
    finally:
        for name in (near, far):
            _run("ip", "netns", "delete", name)


def _transfer(near: str, size: int) -> float:
    """How long a transfer takes [s], from the first packet on; the bucket is full when it begins."""
    time.sleep(BURST_BYTES * 8 / RATE_BPS)
    done = _must("ip", "netns", "exec", near, sys.executable, "-c", _CLIENT, str(size))
    return float(done.stdout)


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)


def _must(*command: str) -> "subprocess.CompletedProcess[str]":
    done = _run(*command)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done


def main() -> None:
    """Print both for each size."""
    if why := why_not():
        print(why)
        return
    print("transfer [kB]  Linux's tbf [ms]  shaper [ms]")
    for size in SIZES:
        print(f"{size / 1e3:13.0f}  {theirs(size) * 1e3:16.1f}  {ours(size) * 1e3:11.1f}")


if __name__ == "__main__":
    main()
