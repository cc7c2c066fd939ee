"""The laboratory in a browser takes links, files and visits from strangers: what they can not do."""

import gzip
import http.client
import json
import re
import socket
import subprocess
import sys
import time
import tomllib
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import browser
import pytest
from conftest import EXAMPLES
from test_explore import FAILURE, PAGE, READY, copied, needs_esbuild, needs_page, of_the_page, opened

import varicap
from varicap import explore
from varicap._files import UnreadableError
from varicap.widget import Laboratory

NAMES = ["a.csv", "traces/lte-like.down", "a b/c-d_e.down", "..a", "ä.csv", "x" * 200]
NO_NAMES = [
    *("", ".", "..", "/etc/passwd", "../a.csv", "a/../../b", "a/./b", "a//b", "a/", "./a", ".. /a", "a./b"),
    *(
        "C:\\a.csv",
        "C:a.csv",
        "a\\b",
        "\\\\host\\share",
        "a\nb",
        "a\rb",
        "a\0b",
        "a\x1b[31m",
        "a\u202ecsv.exe",
        "a\u2028b",
    ),
    *("x" * 201, "con|", "a?b", "a*", '"a"', "<a>"),
    'x.csv must lie here.\nimport os; os.system("touch PWNED")\n#',
]


def letters(state: object) -> str:
    """A state as a link says it, whoever wrote it."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    content = deflate.compress(json.dumps(state).encode()) + deflate.flush()
    return urlsafe_b64encode(content).decode().rstrip("=")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_beside_the_scenario_is_one(name: str) -> None:
    assert explore.is_file_name(name)


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_leads_elsewhere_or_is_not_seen_is_no_name(name: str) -> None:
    assert not explore.is_file_name(name)


@needs_esbuild
def test_python_and_the_page_have_the_same_rule(tmp_path: Path) -> None:
    names = NAMES + NO_NAMES
    found = of_the_page("state.ts", f"{json.dumps(names)}.map(page.isFileName)", tmp_path)
    assert dict(zip(names, found, strict=True)) == {name: explore.is_file_name(name) for name in names}
    mended = of_the_page("state.ts", f"{json.dumps(names)}.map(page.fileName)", tmp_path)
    assert all(explore.is_file_name(name) and "/" not in name for name in mended)


@needs_esbuild
def test_a_link_with_another_name_or_too_many_is_no_state(tmp_path: Path) -> None:
    states: list[dict[str, Any]] = [{"files": {name: "0"}} for name in NO_NAMES]
    states += [{"file": name} for name in NO_NAMES]
    states += [{"capacity": {"kind": "trace", "file": name, "format": "rates"}} for name in NO_NAMES]
    states += [{"files": {f"{i}.csv": "0" for i in range(65)}}, {"files": []}, {"files": None}, {"text": "\ud800"}]
    good = [{"files": {name: "0"}} for name in NAMES] + [{"files": {f"{i}.csv": "0" for i in range(64)}}]
    asked = f"{json.dumps(states + good)}.map((one) => page.isState({{ ...page.initial(), ...one }}))"
    assert of_the_page("state.ts", asked, tmp_path) == [False] * len(states) + [True] * len(good)


@needs_esbuild
def test_a_link_that_inflates_without_end_is_given_up(tmp_path: Path) -> None:
    bomb = letters({"text": " " * 50_000_000})
    asked = f"await page.decode({json.dumps(bomb)}).then(() => 'read', (e) => [e.constructor.name, e.message])"
    kind, message = of_the_page("state.ts", asked, tmp_path)
    assert kind == "TooLongError"
    assert "hold more than the 16000000 bytes" in message


HOSTILE = [
    '# """\nimport os\nos.system("touch PWNED")\n"""',
    '# \\"""\n\\',
    "# '''\r\nimport os; os.system('touch PWNED')",
    '# """"""""',
    "# \u202e\u2066 \x00\x1b]0;x\x07 \x85\u2028import os\u2029 \U000e0041",
    '# \\u0022\\u0022\\u0022\\nimport os; os.system("touch PWNED")',
]


@needs_esbuild
def test_a_copied_program_has_texts_as_data(tmp_path: Path) -> None:
    big = "y" * 20_001
    scenarios = [(EXAMPLES / "fixed.toml").read_text() + text for text in HOSTILE]
    made = f"((text) => page.toPython(text, [['a.csv', text], ['b/big.csv', {json.dumps(big)}]]))"
    programs = of_the_page("scenario.ts", f"{json.dumps(scenarios)}.map({made})", tmp_path)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/big.csv").write_text(big)
    for text, program in zip(scenarios, programs, strict=True):
        # What a varicap that only looks would be handed.
        (tmp_path / "varicap.py").write_text(
            "def run(file):\n    return repr([file.read_bytes(), (file.parent / 'a.csv').read_bytes()])\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        assert not (tmp_path / "PWNED").exists()
        assert not any(letter in program for letter in "\0\x1b\u202e\u2028")
        scenario, trace = eval(done.stdout)
        # Its end is cut off by the page.
        assert scenario.decode() == text.rstrip() + "\n"
        assert trace.decode() == text


@needs_esbuild
def test_what_is_no_text_is_handed_on_as_its_bytes(tmp_path: Path) -> None:
    log = b"time_s,mbps\n0,1\n1,2\n"
    capture = bytes(range(256)) * 3
    wide = log.decode().encode("utf-16")
    packed = {"log": log, "gzip": gzip.compress(log), "utf16": wide, "both": gzip.compress(capture)}
    made = "(bytes) => page.contentOf(new Blob([Uint8Array.from(bytes)]))"
    chosen = f"await Promise.all({json.dumps([list(each) for each in packed.values()])}.map({made}))"
    found = dict(zip(packed, of_the_page("state.ts", chosen, tmp_path), strict=True))
    unpacked = {"log": log, "gzip": log, "utf16": wide, "both": capture}
    assert {name: explore.as_bytes(text) for name, text in found.items()} == unpacked
    assert found["gzip"] == log.decode()
    assert found["both"] == explore.as_text(capture)
    copied = f"page.toPython('', [['a.pcap', {json.dumps(explore.as_text(capture))}]])"
    program = of_the_page("scenario.ts", copied, tmp_path)
    (tmp_path / "varicap.py").write_text("def run(file):\n    return (file.parent / 'a.pcap').read_bytes().hex()\n")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == capture.hex()


@needs_esbuild
def test_a_file_of_a_link_that_is_said_to_be_bytes_has_some(tmp_path: Path) -> None:
    begin = explore.as_text(b"\xff")[:-4]
    bad = [begin + end for end in ("%", "A", "AA", "AAA", "====", "AA==AA==", "A A=", "\u00e9AAA")]
    good = [begin + end for end in ("", "AA==", "AAA=", "AAAA")]
    tried = "((text) => page.isState({ ...page.initial(), files: { a: text } }))"
    found = of_the_page("state.ts", f"{json.dumps(bad + good)}.map({tried})", tmp_path)
    assert found == [False] * len(bad) + [True] * len(good)


@needs_esbuild
def test_a_gzip_that_holds_too_much_is_given_up(tmp_path: Path) -> None:
    bomb = list(gzip.compress(bytes(17_000_000)))
    chosen = f"page.contentOf(new Blob([Uint8Array.from({json.dumps(bomb)})]))"
    found = of_the_page("state.ts", f"await {chosen}.then(() => 'all of it', (error) => error.message)", tmp_path)
    assert found == f"{len(bomb)} bytes of it hold more than the 16000000 bytes that the page takes"


def test_a_log_that_is_no_text_is_handed_to_the_page(tmp_path: Path) -> None:
    content = "time_s,mbps\n0,1\n1,2\n".encode("utf-16")
    (tmp_path / "log.csv").write_bytes(content)
    link, _, _ = POLICY.replace('"2 Mbit/s"', '{ trace = { file = "log.csv" } }').partition("[flows.a.tcp]")
    (tmp_path / "s.toml").write_text(f"{link}[flows.a]\n")
    _, traces = explore.read(tmp_path / "s.toml")
    assert explore.as_bytes(traces["log.csv"]) == content
    with pytest.raises(ValueError, match="base64"):
        explore.as_bytes(explore.as_text(b"\xff")[:-1] + "%")


@needs_esbuild
def test_a_program_with_a_name_that_is_none_is_not_made(tmp_path: Path) -> None:
    tried = "((name) => { try { return page.toPython('', [[name, '0']]); } catch (error) { return null; } })"
    assert of_the_page("scenario.ts", f"{json.dumps(NO_NAMES)}.map({tried})", tmp_path) == [None] * len(NO_NAMES)


def test_a_widget_writes_nothing_under_a_name_that_is_none() -> None:
    pytest.importorskip("anywidget")
    laboratory = Laboratory.__new__(Laboratory)
    laboratory._files = {}
    for name in NO_NAMES:
        laboratory.widget = type("Widget", (), {"scenario": "duration = '1 s'", "files": {name: "text"}})()
        with pytest.raises(varicap.ScenarioError, match="is not the name of a file beside the scenario"):
            laboratory.run()


POLICY = """duration = "1 s"
[topology.dumbbell.forward]
capacity = "2 Mbit/s"
delay = "20 ms"
[flows.a.tcp]
congestion = { policy = { file = "FILE" } }
"""


@pytest.mark.parametrize("name", ["secret.txt", "secret.npz"])
def test_a_policy_is_never_shown(name: str, tmp_path: Path) -> None:
    secret = tmp_path / name
    secret.write_text("a secret")
    file = tmp_path / "a.toml"
    for named in (name, str(secret)):
        file.write_text(POLICY.replace("FILE", named))
        with pytest.raises(UnreadableError, match=r"is a policy|does not lie"):
            explore.read(file)


def test_a_trace_elsewhere_is_not_shown_but_explained(tmp_path: Path) -> None:
    (tmp_path / "a.down").write_text("1\n2\n")
    (tmp_path / "deep").mkdir()
    file = tmp_path / "deep/a.toml"
    for name in ("../a.down", str(tmp_path / "a.down")):
        file.write_text(
            f'duration = "1 s"\n[topology.dumbbell.forward]\ncapacity = {{ opportunities = {{ file = "{name}" }} }}\n'
            'delay = "1 ms"\n[flows.a]\n'
        )
        with pytest.raises(UnreadableError, match="does not lie beside the scenario"):
            explore.read(file)
        # A link has no such file either, and opens all the same.
        assert explore.link("", file.read_text(), {name: "1"}) == explore.link("", file.read_text(), {})


@contextmanager
def answered(address: str) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    try:
        yield connection
    finally:
        connection.close()


def status(address: str, path: str, host: str) -> tuple[int, bytes, http.client.HTTPMessage]:
    with answered(address) as connection:
        connection.putrequest("GET", path, skip_host=True)
        if host:
            connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers


def test_the_page_is_served_under_its_own_name_and_a_random_address() -> None:
    with explore.served("<p>the page</p>") as address, explore.served("another") as other:
        parts = urlsplit(address)
        assert len(parts.path) >= 20
        assert parts.path != urlsplit(other).path
        for host in (parts.netloc, f"localhost:{parts.port}", "localhost:9000"):
            code, content, headers = status(address, parts.path, host)
            assert (code, content) == (200, b"<p>the page</p>")
            assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Referrer-Policy"] == "no-referrer"
        for host in (
            "evil.example",
            f"evil.example:{parts.port}",
            "127.0.0.1.evil.example",
            "",
            "[::1",
            "localhost.evil",
        ):
            assert status(address, parts.path, host)[:2] == (421, b""), host
        for path in ("/", "/index.html", parts.path[:-2] + "/", "/../" + parts.path, "/%C3%A4/"):
            assert status(address, path, parts.netloc)[0] == 404


def test_only_so_many_visitors_are_served_at_once() -> None:
    with explore.served("<p>the page</p>") as address:
        parts = urlsplit(address)
        assert parts.hostname is not None
        idle = [socket.create_connection((parts.hostname, parts.port or 0), timeout=60) for _ in range(40)]
        try:
            closed = 0
            for one in reversed(idle):
                one.settimeout(0.2)
                try:
                    closed += one.recv(1) == b""
                except ConnectionResetError:
                    closed += 1
                except TimeoutError:
                    pass
            assert closed >= 8
        finally:
            for one in idle:
                one.close()
        end = time.monotonic() + 60
        while True:
            try:
                assert status(address, parts.path, parts.netloc)[0] == 200
                break
            except (ConnectionError, http.client.HTTPException):
                assert time.monotonic() < end
                time.sleep(0.05)


ATTACK = """<!doctype html><iframe src="FRAMED"></iframe><script>
window.heard = []; window.loaded = false;
addEventListener("message", ({ origin, data }) => heard.push([origin, JSON.stringify(data)]));
document.querySelector("iframe").addEventListener("load", () => { window.loaded = true; });
</script>"""


def heard_by(tab: browser.Page, attacker: str) -> list[Any]:
    """What a page of a foreign host hears from the page that it frames, which has the time to run."""
    tab.show(attacker)
    tab.wait("window.loaded")
    time.sleep(4)
    return list(tab.eval("window.heard"))


@needs_page
@pytest.mark.skipif(browser.executable() is None, reason="Chromium is not there")
def test_a_foreign_frame_hears_nothing_and_sees_nothing(tmp_path: Path) -> None:
    page = explore.with_scenario(PAGE.read_text(), (EXAMPLES / "fixed.toml").read_text(), "fixed.toml", {"secret": "s"})
    with explore.served(page) as address, browser.browser(tmp_path) as tab, browser.hosted({"/page": page}) as host:
        pages = {
            "/served": ATTACK.replace("FRAMED", address),
            "/hosted": ATTACK.replace("FRAMED", f"http://127.0.0.1:{host}/page"),
        }
        with browser.hosted(pages) as port:
            # The page on any other host, which sends no headers: it runs in the frame, and tells nothing.
            assert heard_by(tab, f"http://evil.localhost:{port}/hosted") == []
            tab.show(f"http://127.0.0.1:{host}/page")
            tab.wait(READY)
            assert heard_by(tab, f"http://evil.localhost:{port}/served") == []
            assert any("frame-ancestors" in said or "X-Frame-Options" in said for said in tab.complaints), (
                tab.complaints
            )


@needs_page
@pytest.mark.skipif(browser.executable() is None, reason="Chromium is not there")
def test_a_link_made_by_an_attacker_copies_no_program_of_theirs(tmp_path: Path) -> None:
    evil = NO_NAMES[-1]
    text = (EXAMPLES / "fixed.toml").read_text()
    named = {"text": f"{text}# '''{evil}'''\n", "files": {evil: "y" * 20_001}}
    outside = str(tmp_path / "PWNED")
    absolute = {"text": f"{text}# {outside}\n", "files": {outside: "the attacker's\n"}}
    quotes = {
        "text": re.sub("(?m)^description = .*$", lambda _: f"description = '''{HOSTILE[0]}'''", text),
        "files": {},
    }
    with browser.browser(tmp_path / "chromium") as tab:
        opened(tab)
        for state, is_taken in ((named, False), (absolute, False), (quotes, True)):
            tab.eval(f"location.hash = '#s={letters({'mode': 'text', 'file': 'a.toml', **state})}'")
            if is_taken:
                tab.wait("document.querySelector('#fields textarea') !== null")
            else:
                tab.wait(f"{FAILURE}.includes('The link is damaged')")
            tab.wait("!document.getElementById('share').textContent.includes('Copied')")
            tomllib.loads(copied(tab, "Copy as TOML"))
            program = copied(tab, "Copy as Python")
            (tmp_path / "varicap.py").write_text("def run(file):\n    return file.read_text()\n")
            done = subprocess.run(
                [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
            )
            assert done.returncode == 0, done.stderr
            assert tomllib.loads(done.stdout)["duration"]
            assert not (tmp_path / "PWNED").exists()
            tab.eval("location.hash = '#lesson=1'")
            tab.wait("document.title.includes('sawtooth')")
