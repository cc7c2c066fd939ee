"""Runs as the first program of a guest: does what it is asked, writes what it found into a folder of the host, ends.

Arguments: the folder, and what to do.
"""

import contextlib
import ctypes
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
NONE = 0
SYS_FINIT_MODULE = 313
POWER_OFF = 0x4321FEDC


def mount(kind: str, where: str, data: str = "") -> None:
    """Mount a file system."""
    if libc.mount(b"none", where.encode(), kind.encode(), NONE, data.encode()):
        raise OSError(ctypes.get_errno(), where)


def loopback_up() -> None:
    """Let the loopback device work."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        import fcntl

        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))


def transfer(control: bytes) -> str:
    """Send some megabytes through the loopback device: what arrived when, and which ports were drawn."""
    loopback_up()
    lines = []
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def send() -> None:
            with socket.socket() as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
                client.connect(server.getsockname())
                for _ in range(40):
                    client.sendall(bytes(50_000))
                    time.sleep(0.0123)
                lines.append(client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232).hex())

        sender = threading.Thread(target=send)
        sender.start()
        connection, peer = server.accept()
        lines.append(str(peer))
        with connection:
            while data := connection.recv(1 << 20):
                lines.append(f"{time.monotonic_ns()} {time.time_ns()} {len(data)}")
        sender.join()
    return "\n".join([*lines, os.urandom(16).hex(), str(hash("a string"))])


def timers() -> str:
    """A day of sleep."""
    begin = time.monotonic()
    time.sleep(86_400)
    return f"{time.monotonic() - begin:.3f}"


def rights() -> str:
    """What happens to whoever writes into the host's files, of which the root is the host's own."""
    try:
        Path("/tmp/a-guest-was-here").write_text("x")
    except OSError as error:
        return str(error.strerror)
    return "written"


def ratcp() -> str:
    """Make a socket use RATCP, and tell it a rate."""
    with socket.socket() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"ratcp")
        cookie = client.getsockopt(socket.SOL_SOCKET, 57, 8)
    said = []
    with Path("/dev/ratcp").open("wb", buffering=0) as told:
        for words in (cookie + struct.pack("=QIIIBBH", 1_000_000, 0, 1500, 1, 0, 1, 0), cookie, cookie, b"short"):
            try:
                said.append(str(told.write(words)))
            except OSError as error:
                said.append(str(error.strerror))
    return ", ".join(said)


def load(path: str) -> str:
    """Load a module and send with what it registers."""
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    before = set(known.read_text().split())
    with Path(path).open("rb") as file:
        if libc.syscall(SYS_FINIT_MODULE, file.fileno(), b"", 0):
            return os.strerror(ctypes.get_errno())
    (new,) = set(known.read_text().split()) - before
    return f"{new} {len(transfer(new.encode()).splitlines()) > 5}"


def run(*command: str) -> str:
    """Run a program with room for its files, and say what it printed."""
    mount("tmpfs", "/run")
    for folder in ("/run/tmp", "/dev/shm"):
        Path(folder).mkdir(exist_ok=True)
    loopback_up()
    path = os.pathsep.join(["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
    env = {"PATH": path, "HOME": "/run/tmp", "TMPDIR": "/run/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"{command[0]} ended with {done.returncode}\n{done.stderr}"


def spin() -> str:
    """Never end."""
    while True:
        time.sleep(1)


def controls() -> str:
    """The congestion controls that it has."""
    return " ".join(sorted(Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()))


JOBS: dict[str, Callable[..., str]] = {
    "controls": controls,
    "load": load,
    "ratcp": ratcp,
    "rights": rights,
    "run": run,
    "spin": spin,
    "timers": timers,
    "transfer": lambda: transfer(b"bbr"),
}


def main(folder: str, job: str, *arguments: str) -> None:
    """Do one job."""
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    mount("devtmpfs", "/dev")
    mount("tmpfs", "/mnt")
    mount("hostfs", "/mnt", folder)
    Path("/mnt/begun").touch()
    try:
        found = JOBS[job](*arguments)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    Path("/mnt/found").write_text(found)
    os.sync()


if __name__ == "__main__":
    with contextlib.suppress(BaseException):
        main(*sys.argv[1:])
    libc.reboot(POWER_OFF)
