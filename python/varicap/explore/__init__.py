"""The laboratory in a browser: the page that `make web` builds, served on this machine alone.

The page is one file, in which the simulator is a WebAssembly module; it asks for nothing else.
"""

import base64
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import varicap._core as _core
from varicap._files import MOST_HANDED_OVER, UnreadableError, read_scenario
from varicap.engines.scenarios import load
from varicap.errors import MachineLacksError

_HOST = "127.0.0.1"
_MOST_LETTERS = 500_000  # that browsers take in an address


def _built() -> Traversable:
    return files("varicap.explore") / "page" / "index.html"


def page() -> str:
    """The page as it was built; raises `MachineLacksError` if it was not."""
    built = _built()
    if not built.is_file():
        raise MachineLacksError(
            "this installation has no page for browsers: `make web` builds it, in a clone of varicap"
        )
    return built.read_text(encoding="utf-8")


def read(file: Path) -> tuple[str, dict[str, str]]:
    """The text of a scenario file, and those of the files that it names; one with mistakes names none.

    Raises `UnreadableError` for a file that is no text, such as a policy: a page takes texts.
    """
    text, _ = read_scenario(file)
    return text, {name: read_text(name, path) for name, path in named(file).items()}


def named(file: Path) -> dict[str, Path]:
    """The files that a scenario file names; none if it has mistakes."""
    try:
        return dict(load(file).trace_files())
    except _core.ScenarioError:
        return {}


def read_text(name: str, path: Path) -> str:
    """The text of a file that a scenario names so; raises `UnreadableError` for one that is none, or cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UnreadableError(f"{name} is not a text, and the laboratory in a browser takes texts only") from None
    except OSError as error:
        raise UnreadableError(f"{name}: {error.strerror or error}") from None


def with_scenario(page: str, text: str, name: str, traces: dict[str, str]) -> str:
    """The page as it opens a scenario: its text, the name of its file, and the files that it names with their texts."""
    handed = json.dumps({"text": text, "file": name, "files": traces})
    # Whatever the texts contain, they do not end the script.
    script = f"<script>window.varicapScenario = {handed.replace('<', chr(92) + 'u003c')};</script>"
    return page.replace("</head>", f"{script}</head>", 1)


def seen_from(folder: Path) -> str | None:
    """The address of the page as a file in `folder` names it; None if it was not built."""
    built = _built()
    if not isinstance(built, Path) or not built.is_file():
        return None
    try:
        return quote(Path(os.path.relpath(built.resolve(), folder.resolve())).as_posix())
    except ValueError:  # another drive
        return built.resolve().as_uri()


def link(address: str, text: str, traces: Mapping[str, str], name: str = "scenario.toml") -> str:
    """The address that opens a scenario in the page at `address`: its text, and the files that it names with theirs.

    The `name` of its own file says its format.

    Files are left out if an address has no room for them; the page then asks for them.
    """
    state = {"mode": "text", "text": text, "file": name}
    if sum(len(each) for each in traces.values()) <= MOST_HANDED_OVER:
        whole = _letters({**state, "files": dict(traces)})
        if len(whole) <= _MOST_LETTERS:
            return f"{address}#s={whole}"
    return f"{address}#s={_letters(state)}"


def _letters(state: Mapping[str, object]) -> str:
    """The inverse of what the page reads behind ``#s=``."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    content = deflate.compress(json.dumps(state, ensure_ascii=False).encode()) + deflate.flush()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


@contextmanager
def served(page: str, port: int = 0) -> Iterator[str]:
    """Serves `page` on the loopback interface while the context lasts; the value is its address."""
    content = page.encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = self.path.split("?")[0] in ("/", "/index.html")
            self.send_response(HTTPStatus.OK if is_page else HTTPStatus.NOT_FOUND)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content) if is_page else 0))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if is_page:
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    try:
        server = ThreadingHTTPServer((_HOST, port), Handler)
    except OSError as error:
        raise MachineLacksError(f"port {port} cannot be had: {error.strerror}") from error
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{_HOST}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
