"""Linux's queue disciplines beside ours: a flow of CUBIC over 10 Mb/s and 20 ms, through the kernel engine each time.

    .venv/bin/python tests/peers/disciplines.py [--guest] [NAME …]

::

    client ──► router ══► emulated link ──► far end ──► server
               theirs?     ours?

Client and router are namespaces behind a link of the kernel engine (`varicap shell`), at whose far end TCP ends.
Theirs: the link has a rate that limits nothing, and the router has the discipline below a class of 10 Mb/s (`htb`).
Ours: the router has none, and the link has the rate and the queue.  All else is the same, and so is what is read from
the client's socket: goodput, round trips, and how many packets were retransmitted or marked.  The client is no part of
the router, so that TCP's own limit of what a host may queue does not count.

It takes root, `ip`, `tc` and a kernel that has the discipline; a flow takes 10 s of real time. With ``--guest`` all of
it happens in a kernel that `varicap kernel build` has built, in simulated time and without root: the same numbers each
time.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

RATE_BPS = 10_000_000
DELAY = "10 ms"
LASTS_S, WARMUP_S = 10.0, 2.0
_ROOM = "10000 packets"


@dataclass(frozen=True)
class Discipline:
    """A queue, as `tc` has it and as a scenario has it."""

    linux: tuple[str, ...]
    ours: Any
    ecn: bool = False
    has_rate: bool = False
    """It sends at its own rate, with no class above it."""


# Thresholds in bytes of 10 and 30 packets; from `burst` and `avpkt` tc(8) makes a weight of 1/8.
_RED = ("red", "limit", "75700", "min", "15140", "max", "45420", "avpkt", "1514", "burst", "16", "probability", "0.1")
_OUR_RED: dict[str, Any] = {
    "red": {
        "limit": "50 packets",
        "min_threshold": "10 packets",
        "max_threshold": "30 packets",
        "max_probability": 0.1,
        "weight": 0.125,
        "mean_packet": "1514 B",
        "spacing": "uniform",
    }
}

DISCIPLINES = {
    # What needs no module is there in order to try the others' path.
    "pfifo": Discipline(("pfifo", "limit", "40"), {"drop-tail": {"limit": "40 packets"}}),
    "codel": Discipline(("codel",), "codel"),
    "codel-ecn": Discipline(("codel", "ecn"), {"codel": {"ecn": True}}, ecn=True),
    "fq_codel": Discipline(("fq_codel",), "fq_codel"),
    "fq_codel-ecn": Discipline(("fq_codel",), "fq_codel", ecn=True),
    # Linux spaces drops evenly.
    "pie": Discipline(("pie",), {"pie": {"derandomise": True}}),
    "pie-ecn": Discipline(("pie", "ecn"), {"pie": {"derandomise": True, "ecn": True}}, ecn=True),
    "red": Discipline(_RED, _OUR_RED),
    "red-ecn": Discipline((*_RED, "ecn"), {"red": {**_OUR_RED["red"], "ecn": True}}, ecn=True),
    # Devices that send at a rate by themselves.
    "tbf": Discipline(
        ("tbf", "rate", f"{RATE_BPS}bit", "burst", "1514", "limit", "60560"),
        {"drop-tail": {"limit": "40 packets"}},
        has_rate=True,
    ),
    "netem": Discipline(
        ("netem", "rate", f"{RATE_BPS}bit", "limit", "40"), {"drop-tail": {"limit": "40 packets"}}, has_rate=True
    ),
    # Without a peer among ours: what one flow gets.
    "fq": Discipline(("fq",), None),
    "cake": Discipline(("cake", "bandwidth", f"{RATE_BPS}bit", "raw"), None, has_rate=True),
    "dualpi2": Discipline(("dualpi2",), "dualpi2"),
    "dualpi2-ecn": Discipline(("dualpi2",), "dualpi2", ecn=True),
}


@dataclass(frozen=True)
class Seen:
    """What the client's socket saw after the warm-up."""

    goodput_bps: float
    rtt_s: float
    """Mean of its smoothed RTT."""
    signals: int
    """Packets that were retransmitted or marked."""


def why_not(name: str) -> str:
    """Why Linux's discipline cannot be asked here; empty if it can."""
    if os.geteuid() != 0:
        return "namespaces with a qdisc take root"
    if missing := [tool for tool in ("ip", "tc") if shutil.which(tool) is None]:
        return f"there is no {' and no '.join(missing)}"
    space = f"varicap-{os.getpid()}"
    if _run("ip", "netns", "add", space).returncode:
        return "no network namespace can be made"
    try:
        for asked in (("htb",), DISCIPLINES[name].linux):
            if _run("ip", "netns", "exec", space, "tc", "qdisc", "replace", "dev", "lo", "root", *asked).returncode:
                return f"the kernel, or tc, has no {' '.join(asked)}"
    finally:
        _run("ip", "netns", "delete", space)
    return ""


def theirs(name: str) -> Seen:
    """A flow through Linux's discipline."""
    discipline = DISCIPLINES[name]
    link = {"capacity": "1 Gbit/s", "queue": {"drop-tail": {"limit": _ROOM}}}
    above = "root" if discipline.has_rate else "class"
    return _see(link, (above, *discipline.linux), discipline.ecn)


def ours(name: str) -> Seen:
    """A flow through our queue."""
    discipline = DISCIPLINES[name]
    return _see({"capacity": f"{RATE_BPS} b/s", "queue": discipline.ours}, (), discipline.ecn)


def _see(link: dict[str, Any], linux: tuple[str, ...], ecn: bool) -> Seen:
    import varicap  # the client, which is this file too, needs nothing but Python

    path = {
        "forward": {**link, "delay": DELAY},
        "reverse": {"capacity": "1 Gbit/s", "delay": DELAY, "queue": {"drop-tail": {"limit": _ROOM}}},
    }
    scenario = {"duration": "1 h", "topology": {"dumbbell": path}, "flows": {"shell": {}}}
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as folder:
        threading.Thread(target=_swallow, args=(server,), daemon=True).start()
        told = Path(folder) / "seen.json"
        command = [sys.executable, __file__, "--router", str(server.getsockname()[1]), str(told), str(int(ecn)), *linux]
        if code := varicap.shell.run(scenario, command, at_left=True):
            raise RuntimeError(f"the router ended with {code}")
        return Seen(**json.loads(told.read_text()))


def _swallow(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        while connection.recv(1 << 16):
            pass


# ---- inside ------------------------------------------------------------------------------------------------------


def _router(port: str, told: str, ecn: str, *linux: str) -> None:
    """Make the namespace that this process is in a router, with the discipline, and run a client behind it."""
    route = _must("ip", "-o", "route", "show", "default").split()
    device = route[route.index("dev") + 1]
    address = json.loads(_must("ip", "-json", "address", "show", "dev", device))[0]["addr_info"][0]["local"]
    client = f"varicap-client-{port}"  # its own process is the second of any router
    _must("ip", "netns", "add", client)
    try:
        # The client takes the address of this namespace, which passes on what comes for it and answers for all others.
        _must("ip", "address", "flush", "dev", device)
        _must("ip", "route", "replace", "default", "dev", device, "scope", "link")
        _must("ip", "link", "add", "client0", "type", "veth", "peer", "name", "router0", "netns", client)
        _must("ip", "link", "set", "client0", "up")
        _must("ip", "route", "add", f"{address}/32", "dev", "client0")
        for name in ("ip_forward", "conf/client0/proxy_arp"):
            Path("/proc/sys/net/ipv4", name).write_text("1")
        # Packets as small as on a wire.
        _must("ip", "-n", client, "link", "set", "router0", "gso_max_segs", "1", "up")
        _must("ip", "-n", client, "address", "add", f"{address}/32", "dev", "router0")
        _must("ip", "-n", client, "route", "add", "default", "dev", "router0", "scope", "link")
        if linux[:1] == ("root",):
            _must("tc", "qdisc", "replace", "dev", device, "root", *linux[1:])
        elif linux:
            _must("tc", "qdisc", "replace", "dev", device, "root", "handle", "1:", "htb", "default", "1")
            packet = ("burst", "1500", "cburst", "1500")
            rate = ("rate", f"{RATE_BPS}bit", *packet)
            _must("tc", "class", "add", "dev", device, "parent", "1:", "classid", "1:1", "htb", *rate)
            _must("tc", "qdisc", "add", "dev", device, "parent", "1:1", "handle", "2:", *linux[1:])
        inside = ("ip", "netns", "exec", client, sys.executable, __file__)
        _must(*inside, "--client", os.environ["VARICAP_OUTSIDE"], port, told, ecn)
    finally:
        _run("ip", "netns", "delete", client)


def _client(host: str, port: str, told: str, ecn: str) -> None:
    """Send as fast as CUBIC allows, and tell what its socket saw."""
    Path("/proc/sys/net/ipv4/tcp_ecn").write_text(ecn)
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        connection.connect((host, int(port)))
        began = time.monotonic()
        threading.Thread(target=_pour, args=(connection,), daemon=True).start()
        time.sleep(WARMUP_S)
        first, rtts = _info(connection), []
        while time.monotonic() - began < LASTS_S:
            time.sleep(0.01)
            rtts.append(_info(connection)["rtt_us"])
        last = _info(connection)
        seen = {
            "goodput_bps": 8 * (last["acked"] - first["acked"]) / (last["at_s"] - first["at_s"]),
            "rtt_s": sum(rtts) / len(rtts) / 1e6,
            "signals": int(sum(last[key] - first[key] for key in ("retransmitted", "marked"))),
        }
        Path(told).write_text(json.dumps(seen))
        connection.shutdown(socket.SHUT_RDWR)


def _pour(connection: socket.socket) -> None:
    try:
        while True:
            connection.sendall(bytes(1 << 16))
    except OSError:
        return  # it was shut down


def _info(connection: socket.socket) -> dict[str, float]:
    """`struct tcp_info`, linux/tcp.h."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)

    def word(offset: int, size: int = 4) -> int:
        return int.from_bytes(raw[offset : offset + size], sys.byteorder)

    return {
        "at_s": time.monotonic(),
        "rtt_us": word(68),
        "retransmitted": word(100),
        "acked": word(120, 8),
        "marked": word(196),
    }


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def _must(*command: str) -> str:
    done = _run(*command)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def in_guest(name: str) -> list[Seen] | str:
    """Theirs and ours in a guest, or why it cannot be asked there."""
    from varicap import kernels

    here = Path(__file__)
    with tempfile.TemporaryDirectory() as folder:
        words = ("-I", "-S", str(here.parent.parent / "guest_init.py"), folder)
        command = ("run", sys.executable, str(here), "--json", name)
        boot = kernels.find().command(os.path.realpath(sys.executable), (*words, *command), seed=1)
        subprocess.run(boot, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        said = (Path(folder) / "found").read_text()
    try:
        found = json.loads(said)
    except ValueError:
        raise RuntimeError(said) from None
    return found if isinstance(found, str) else [Seen(**seen) for seen in found]


def _both(name: str) -> list[Seen] | str:
    if why := why_not(name):
        return why
    return [theirs(name), *([] if DISCIPLINES[name].ours is None else [ours(name)])]


def main(names: list[str], see: Callable[[str], list[Seen] | str]) -> None:
    """Print both for each discipline, or why it cannot be asked."""
    print("discipline      Linux [Mb/s, ms, signals]     ours")
    for name in names or list(DISCIPLINES):
        seen = see(name)
        if not isinstance(seen, str):
            seen = "".join(f"{f'{x.goodput_bps / 1e6:.2f} {1e3 * x.rtt_s:.1f} {x.signals}':30}" for x in seen)
        print(f"{name:14}  {seen.rstrip()}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--router"]:
        _router(*sys.argv[2:])
    elif sys.argv[1:2] == ["--client"]:
        _client(*sys.argv[2:])
    elif sys.argv[1:2] == ["--json"]:
        both = _both(sys.argv[2])
        print(json.dumps(both if isinstance(both, str) else [asdict(seen) for seen in both]))
    elif sys.argv[1:2] == ["--guest"]:
        main(sys.argv[2:], in_guest)
    else:
        main(sys.argv[1:], _both)
