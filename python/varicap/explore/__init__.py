"""The laboratory in a browser: the page that `make web` builds, served on this machine alone.

The page is one file, in which the simulator is a WebAssembly module; it asks for nothing else.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread

from varicap.errors import MachineLacksError

_HOST = "127.0.0.1"


def page() -> str:
    """The page as it was built; raises `MachineLacksError` if it was not."""
    built = files("varicap.explore") / "page" / "index.html"
    if not built.is_file():
        raise MachineLacksError(
            "this installation has no page for browsers: `make web` builds it, in a clone of varicap"
        )
    return built.read_text(encoding="utf-8")


def with_scenario(page: str, text: str, name: str, traces: dict[str, str]) -> str:
    """The page as it opens a scenario: its text, the name of its file, and the files that it names with their texts."""
    handed = json.dumps({"text": text, "file": name, "files": traces})
    # Whatever the texts contain, they do not end the script.
    script = f"<script>window.varicapScenario = {handed.replace('<', chr(92) + 'u003c')};</script>"
    return page.replace("</head>", f"{script}</head>", 1)


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
