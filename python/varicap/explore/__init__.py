"""The laboratory in a browser: the page that `make web` builds, served on this machine alone.

The page is one file, in which the simulator is a WebAssembly module; it asks for nothing else.
"""

import base64
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore, Thread
from typing import Any, NamedTuple

from varicap.engines.scenarios import load
from varicap.errors import MachineLacksError
from varicap.interface import ScenarioError, UnreadableError, read_scenario, read_whole
from varicap.laboratory import is_file_name as is_file_name
from varicap.laboratory import link as link
from varicap.laboratory import page as page
from varicap.laboratory import plain
from varicap.traces.files import MOST_BYTES

_HOST = "127.0.0.1"
_OWN_NAMES = (_HOST, "localhost")
_MOST_CONNECTIONS = 32
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_NO_TEXT = "data:application/octet-stream;base64,"
"""As ``NO_TEXT`` of the page's ``state.ts``."""


def read(file: Path) -> tuple[str, dict[str, str]]:
    """The text of a scenario file, and those of the traces that it names; one with mistakes names none.

    Raises `UnreadableError` for what a page does not take: policies, and files that do not lie beside the scenario.
    """
    text, _ = read_scenario(file)
    files = named(file)
    for policy in files.policies:
        raise UnreadableError(f"{policy} is a policy, and the laboratory in a browser takes traces only")
    return text, {name: read_text(name, path) for name, path in files.traces.items()}


class Named(NamedTuple):
    """The files that a scenario names."""

    traces: dict[str, Path]
    """Each of them has been read as a trace."""
    policies: dict[str, Path]
    """Nobody has looked whether they are some: nothing of them may be shown."""


def named(file: Path) -> Named:
    """The files that a scenario file names; none if it has mistakes."""
    try:
        scenario = load(file)
    except ScenarioError:
        return Named({}, {})
    policies = {name for _, name, *_ in scenario.policy_files()}
    files = scenario.trace_files()
    return Named(
        {name: path for name, path in files if name not in policies},
        {name: path for name, path in files if name in policies},
    )


def read_text(name: str, path: Path) -> str:
    """The text of a trace that a scenario names so; raises `UnreadableError` for one that a page does not take."""
    if not is_file_name(name):
        raise UnreadableError(
            f"{name!r} does not lie beside the scenario or in a folder below it, and the laboratory in a browser takes "
            "no other traces: copy it there"
        )
    try:
        return as_text(read_whole(path, MOST_BYTES))
    except UnreadableError as error:
        raise UnreadableError(f"{name}: {error}") from None


def as_text(content: bytes) -> str:
    """What a page is handed of a file: its text or, of one that is none, such as a capture, a data URL."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return _NO_TEXT + base64.b64encode(content).decode()


def as_bytes(text: str) -> bytes:
    """The inverse of `as_text`.

    Raises:
        ValueError: it is no text that a file can have.
    """
    if text.startswith(_NO_TEXT):
        return base64.b64decode(text.removeprefix(_NO_TEXT), validate=True)
    return text.encode()


def with_scenario(page: str, text: str, name: str, traces: dict[str, str]) -> str:
    """The page as it opens a scenario: its text, the name of its file, and the files that it names with their texts."""
    handed = json.dumps({"text": text, "file": plain(name), "files": traces})
    # Whatever the texts contain, they do not end the script.
    script = f"<script>window.varicapScenario = {handed.replace('<', chr(92) + 'u003c')};</script>"
    return page.replace("</head>", f"{script}</head>", 1)


class _Server(ThreadingHTTPServer):
    """Serves so many at once and no more: whoever comes then is turned away."""

    daemon_threads = True

    def __init__(self, *of: Any) -> None:
        self._free = BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__(*of)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a browser that went away."""

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()


@contextmanager
def served(page: str, port: int = 0) -> Iterator[str]:
    """Serves `page` on the loopback interface while the context lasts; the value is its address.

    The page may hold what files of this machine say.  So it is found only by whoever has the address, which is drawn at
    random, and a browser shows it to no other site: not under another host's name, and in nobody's frame.
    """
    content = page.encode()
    place = f"/{secrets.token_urlsafe(16)}/"

    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # of whoever asks for nothing [s]

        def do_GET(self) -> None:
            asked = self.path.split("?")[0].removesuffix("index.html").encode()
            # A name of another host that leads here is somebody's attempt to read the page from theirs.
            if (self.headers["Host"] or "").partition(":")[0] not in _OWN_NAMES:
                self._answer(HTTPStatus.MISDIRECTED_REQUEST, b"")
            elif secrets.compare_digest(asked, place.encode()):
                self._answer(HTTPStatus.OK, content)
            else:
                self._answer(HTTPStatus.NOT_FOUND, b"")

        def _answer(self, status: HTTPStatus, content: bytes) -> None:
            self.send_response(status)
            for key, value in _HEADERS.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    try:
        server = _Server((_HOST, port), Handler)
    except OSError as error:
        raise MachineLacksError(f"port {port} cannot be had: {error.strerror}") from error
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{_HOST}:{server.server_port}{place}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
