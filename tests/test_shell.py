"""`varicap shell`: programs behind an emulated link, as root and without."""

import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, Cli
from patience import HANG_S, until

from varicap.machine import doctor

VARICAP = [sys.executable, "-m", "varicap"]
# A user without any privilege, though the device /dev/net/tun may still be root's.
ROOTLESS = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]


def _can(command: list[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, timeout=HANG_S, check=False).returncode == 0


def _can_shell(prefix: list[str]) -> bool:
    return sys.platform == "linux" and _can([*prefix, *VARICAP, "shell", "--delay", "1 ms", "--", "true"])


pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(
        not _can_shell([]),
        reason="SKIPPED: no network namespaces or TUN devices here; `varicap doctor` says what is missing",
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A web server on the loopback address outside; its port."""
    folder = tmp_path_factory.mktemp("www")
    (folder / "file").write_bytes(os.urandom(200_000))
    with (folder / "large").open("wb") as large:
        large.truncate(400_000_000)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, directory=str(folder), **kwargs)

        def log_message(self, *_args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        yield web.server_address[1]
        web.shutdown()


def shell(*arguments: str, prefix: tuple[str, ...] | list[str] = ()) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*prefix, *VARICAP, "shell", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=HANG_S,
        check=False,
    )


# Python's own client: what it says is JSON.
FETCH = """
import json, os, sys, time, urllib.request
begun = time.monotonic()
with urllib.request.urlopen(f"http://{os.environ[sys.argv[2]]}:{sys.argv[1]}/file") as answer:
    size = len(answer.read())
print(json.dumps({"size": size, "took": time.monotonic() - begun}))
"""


def fetch(port: int, address: str = "VARICAP_OUTSIDE") -> list[str]:
    return [sys.executable, "-c", FETCH, str(port), address]


@pytest.mark.parametrize("theirs", [None, "4"])
def test_a_program_has_the_users_environment(theirs: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if theirs is not None:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", theirs)
    show = ["sh", "-c", "echo ${OPENBLAS_NUM_THREADS-none}"]
    done = subprocess.run(
        [*VARICAP, "shell", "--delay", "1 ms", "--", *show], capture_output=True, text=True, timeout=HANG_S, check=True
    )
    assert done.stdout == f"{theirs or 'none'}\n"


@pytest.mark.parametrize("prefix", [[], ROOTLESS], ids=["as-is", "rootless"])
def test_a_download_takes_the_time_of_the_link(server: int, prefix: list[str]) -> None:
    if not _can_shell(prefix):
        pytest.skip("SKIPPED: unprivileged user namespaces are not allowed here")
    link = ["--link", "1 Mbit/s", "2 Mbit/s", "--delay", "20ms"]
    done = shell(*link, "--", *fetch(server), prefix=prefix)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["size"] == 200_000
    # 0.8 s for the bytes and their headers at 2 Mb/s, and two round trips; a loaded machine only adds to it.
    assert 0.8 + 0.08 < answer["took"] < 5.0


def test_the_way_up_is_another_link(server: int) -> None:
    """A shell at the senders' end downloads over the reverse link."""
    sets = ["--set", "topology.dumbbell.forward.capacity=100 Mbit/s"]
    sets += ["--set", "topology.dumbbell.reverse.capacity=1 Mbit/s"]
    sets += ["--set", "topology.dumbbell.reverse.queue.drop-tail.limit=unlimited"]
    took = {}
    for end in ([], ["--left"]):
        done = shell(str(EXAMPLES / "fixed.toml"), *sets, *end, "--", *fetch(server))
        assert done.returncode == 0, done.stderr
        took[bool(end)] = json.loads(done.stdout)["took"]
    assert took[True] > 1.6 > took[False]


def test_exit_codes_are_the_command_s() -> None:
    assert shell("--delay", "1ms", "--", "sh", "-c", "exit 7").returncode == 7
    assert shell("--delay", "1ms", "--", "sh", "-c", "kill -9 $$").returncode == 137
    missing = shell("--delay", "1ms", "--", "no-such-program")
    assert (missing.returncode, "no-such-program" in missing.stderr) == (127, True)


def test_the_only_way_out_is_the_link() -> None:
    done = shell("--delay", "1ms", "--", "cat", "/proc/net/dev")
    devices = {line.split(":")[0].strip() for line in done.stdout.splitlines()[2:]}
    # Some kernels put idle tunnels into every namespace.
    assert {"lo", "inside"} <= devices
    assert not devices & {"eth0", "ens3", "enp0s3", "wlan0"}


def test_nobody_listens_inside_where_nobody_listens_outside() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = shell("--delay", "1ms", "--", *fetch(port))
    assert done.returncode == 1
    assert "refused" in done.stderr


def test_a_service_that_ends_is_refused_from_then_on() -> None:
    program = """
import os, socket, sys
for _ in range(2):
    with socket.create_connection((os.environ["VARICAP_OUTSIDE"], int(sys.argv[1]))) as s:
        print(s.recv(10).decode(), flush=True)
"""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]

        def serve_once() -> None:
            connection, _ = listener.accept()
            listener.close()
            connection.sendall(b"once")
            connection.close()

        threading.Thread(target=serve_once, daemon=True).start()
        done = shell("--delay", "20ms", "--", sys.executable, "-c", program, str(port))
    assert done.stdout.split() == ["once"]
    assert "refused" in done.stderr


def test_datagrams_come_back() -> None:
    program = """
import os, socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for number in range(3):
        s.sendto(b"%d" % number, (os.environ["VARICAP_OUTSIDE"], int(sys.argv[1])))
        print(s.recv(100).decode())
"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as echo:
        echo.bind(("127.0.0.1", 0))

        def serve() -> None:
            for _ in range(3):
                data, peer = echo.recvfrom(100)
                echo.sendto(data + data, peer)

        threading.Thread(target=serve, daemon=True).start()
        done = shell("--delay", "5ms", "--", sys.executable, "-c", program, str(echo.getsockname()[1]))
    assert done.stdout.split() == ["00", "11", "22"], done.stderr


def test_shells_lie_in_each_other(server: int) -> None:
    inner = [*VARICAP, "shell", "--link", "2 Mbit/s", "2 Mbit/s", "--delay", "30ms", "--", *fetch(server)]
    done = shell("--delay", "10ms", "--", *inner)
    assert done.returncode == 0, done.stderr
    # As in Mahimahi the address is that outside all shells; the bytes pass the inner link.
    assert json.loads(done.stdout)["took"] > 0.8 + 0.06
    names = "VARICAP_OUTSIDE VARICAP_GATEWAY MAHIMAHI_BASE VARICAP_SHELL"
    show = ["sh", "-c", f"for name in {names}; do printenv $name; done"]
    done = shell("--delay", "1ms", "--", *VARICAP, "shell", "--delay", "1ms", "--", *show)
    assert done.stdout.split() == ["100.64.0.1", "100.64.0.5", "100.64.0.1", "2"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="SKIPPED: no curl")
def test_curl(server: int, tmp_path: Path) -> None:
    command = f"curl --silent --show-error --output {tmp_path}/file http://$VARICAP_OUTSIDE:{server}/file"
    done = shell(str(EXAMPLES / "lte.toml"), "--", "sh", "-c", command)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "file").stat().st_size == 200_000


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="SKIPPED: no iperf3")
def test_iperf3() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with subprocess.Popen(["iperf3", "--server", "--one-off", "--port", port], stdout=subprocess.DEVNULL) as server:
        try:
            time.sleep(0.5)
            link = ["--link", "4 Mbit/s", "8 Mbit/s", "--delay", "5ms", "--queue", "50 packets"]
            client = ["iperf3", "--client", "100.64.0.1", "--port", port, "--time", "2", "--json", "--reverse"]
            done = shell(*link, "--", *client)
        finally:
            server.kill()
    assert done.returncode == 0, done.stderr
    received = json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]
    # The wire carries 1500 bytes for 1448 of data; a loaded machine only takes away from it.
    assert 4e6 < received <= 1448 / 1500 * 8e6 * 1.02


def _children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def _is_gone(process: int) -> bool:
    return not Path(f"/proc/{process}").exists()


@pytest.mark.parametrize("victim", ["program", "emulator"])
def test_kill_leaves_nothing_behind(victim: str) -> None:
    program = subprocess.Popen([*VARICAP, "shell", "--delay", "1ms", "--", "sleep", "600"], stdin=subprocess.DEVNULL)
    try:
        until(lambda: any(_children(child) for child in _children(program.pid)), "no command")
        (emulator,) = _children(program.pid)
        (init,) = _children(emulator)
        until(lambda: bool(_children(init)), "no command")
        (command,) = _children(init)
        until(lambda: Path(f"/proc/{command}/comm").read_text() == "sleep\n", "no command")
        assert Path(f"/proc/{command}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
        os.kill(program.pid if victim == "program" else emulator, 9)
        assert program.wait(HANG_S) == (-9 if victim == "program" else 137)
        for process in (emulator, init, command):
            until(partial(_is_gone, process), "a process is left")
    finally:
        program.kill()
        program.wait()


def _commands() -> list[str]:
    """The command lines of all processes."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip())
    return lines


@pytest.mark.parametrize("prefix", [[], ROOTLESS], ids=["as-is", "rootless"])
def test_no_process_survives_the_command(prefix: list[str]) -> None:
    """Neither one that left its parent and its session, nor one whose parent was killed with the shell."""
    if not _can_shell(prefix):
        pytest.skip("SKIPPED: unprivileged user namespaces are not allowed here")
    marks = [f"sleep 6{os.getpid()}.{number}" for number in range(3)]
    done = shell("--delay", "1ms", "--", "sh", "-c", f"setsid sh -c '{marks[0]} & {marks[1]}' & exit 4", prefix=prefix)
    assert done.returncode == 4, done.stderr
    until(lambda: not set(marks) & set(_commands()), "a process is left")
    command = [*prefix, *VARICAP, "shell", "--delay", "1ms", "--", "sh", "-c", f"{marks[2]} & wait"]
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    until(lambda: marks[2] in _commands(), "no command")
    program.terminate()
    program.wait(HANG_S)
    until(lambda: marks[2] not in _commands(), "a process is left")


def test_processes_see_their_own_numbers() -> None:
    script = "import os; print(os.getpid() == int(os.readlink('/proc/self')), os.getpid() < 100)"
    assert shell("--delay", "1ms", "--", sys.executable, "-c", script).stdout.split() == ["True", "True"]


ASK = """
import os, socket, sys
with socket.create_connection((os.environ["VARICAP_OUTSIDE"], int(sys.argv[1]))) as s:
    print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).decode().strip(chr(0)))
"""


@pytest.mark.parametrize("prefix", [[], ROOTLESS], ids=["as-is", "rootless"])
def test_the_congestion_control_is_chosen_or_named(server: int, prefix: list[str]) -> None:
    if not _can_shell(prefix):
        pytest.skip("SKIPPED: unprivileged user namespaces are not allowed here")
    for control in doctor.congestion_controls():
        # Also one that users may not choose for a socket of theirs.
        done = shell("--delay", "1ms", "--congestion", control, "--", *ask(server), prefix=prefix)
        assert (done.returncode, done.stdout.strip()) == (0, control), done.stderr
        assert "default" not in done.stderr
    default = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    done = shell("--delay", "1ms", "--", *ask(server), prefix=prefix)
    assert done.stdout.strip() == default
    assert f"congestion control at both ends: {default}, this system's default" in done.stderr


def ask(port: int) -> list[str]:
    return [sys.executable, "-c", ASK, str(port)]


def test_a_relay_that_is_slower_than_the_link_is_reported(server: int) -> None:
    """On a single processor the emulator of 100 Gb/s, which has priority, leaves the relay little of it.

    BBR, the default of some systems, paces itself to what the relay takes, which then may have no queue to be told by.
    """
    link = ["--link", "100 Gbit/s", "100 Gbit/s", "--delay", "1ms", "--strict", "--congestion", "cubic"]
    program = FETCH.replace("/file", "/large")
    one = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]
    done = shell(*link, "--", sys.executable, "-c", program, str(server), "VARICAP_OUTSIDE", prefix=one)
    assert done.returncode == 4, done.stderr
    assert "the link was not exact: " in done.stderr
    assert "the relay was the bottleneck, not the link" in done.stderr


def test_wrong_input_is_told(cold_cli: Cli, tmp_path: Path) -> None:
    def told(*arguments: str) -> tuple[int, str]:
        done = cold_cli("shell", *arguments, "--", "true")
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr

    code, text = told("--link", "no.trace", "no.trace")
    assert (code, "no.trace" in text) == (2, True)
    assert told("--delay", "fast")[0] == 2
    code, text = told("--delay", "1ms", "--congestion", "nothing")
    assert (code, "`nothing`" in text) == (3, True)
    graph = tmp_path / "graph.toml"
    links = '[topology.graph.links]\nab = { from = "a", to = "b" }\nba = { from = "b", to = "a" }\n'
    graph.write_text('duration = "1 s"\n' + links + '[flows.x]\nfrom = "a"\nto = "b"\n')
    code, text = told(str(graph))
    assert (code, "dumbbell" in text) == (2, True)
