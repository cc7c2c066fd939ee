"""A headless Chromium, driven over its debugging pipe: JSON messages with a zero byte after each, no library needed."""

import base64
import http.server
import itertools
import json
import os
import select
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import HANG_S, until

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def executable() -> str | None:
    """Where Chromium is, if it is there."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """A tab that shows a file."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        self.complaints: list[str] = []
        """What the console said, exceptions, and whatever was refused."""
        self.requests: list[str] = []
        """Addresses that the page asked for."""
        self._choosers: list[int] = []

    def open(self, file: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Show `file` and wait until it is drawn."""
        self.show(file.resolve().as_uri(), width, height, dark)

    def show(self, address: str, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Show what is at an address and wait until it is drawn."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def eval(self, code: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{code}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, code: str) -> None:
        """Until an expression is true."""
        until(lambda: self.eval(code), f"never true: {code}")

    def drag(self, x: float, y: float, to_x: float) -> None:
        """With the mouse from one place to another."""
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        for step in range(1, 6):
            self.mouse("mouseMoved", x + (to_x - x) * step / 5, y, is_held=True)
        self.mouse("mouseReleased", to_x, y)

    def mouse(self, what: str, x: float, y: float, is_held: bool = False) -> None:
        """An event of the left button, or of none."""
        held = {"button": "left", "buttons": 1, "clickCount": 1} if is_held or what != "mouseMoved" else {}
        self.call("Input.dispatchMouseEvent", type=what, x=x, y=y, **held)

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of an element."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.eval(f"{found}.scrollIntoView({{ block: 'center' }})")
        middle = "(({left, top, width, height}) => [left + width / 2, top + height / 2])"
        x, y = self.eval(f"{middle}({found}.getBoundingClientRect())")
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def choose(self, selector: str, file: Path) -> None:
        """Click on what opens a dialog for files, and choose one there."""
        self.call("Page.setInterceptFileChooserDialog", enabled=True)
        self._choosers.clear()
        self.click(selector)
        until(lambda: self.eval("0") or self._choosers, f"no dialog: {selector}")  # events come before an answer
        self.call("DOM.setFileInputFiles", files=[str(file)], backendNodeId=self._choosers[0])

    def key(self, name: str, text: str = "") -> None:
        """Press and release a key."""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def screenshot(self, file: Path, whole: bool = True) -> None:
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(image))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol, and its answer."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session and not method.startswith("Target."):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        match event.get("method"):
            case "Runtime.consoleAPICalled":
                self.complaints.append(f"console: {told['args']}")
            case "Runtime.exceptionThrown":
                self.complaints.append(f"exception: {told['exceptionDetails']}")
            case "Log.entryAdded":
                self.complaints.append(f"{told['entry']['level']}: {told['entry']['text']}")
            case "Page.fileChooserOpened":
                self._choosers.append(told["backendNodeId"])
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._back], [], [], 60)
            assert ready, "Chromium does not answer"
            more = os.read(self._back, 1 << 20)
            assert more, "Chromium has ended"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(message))


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A Chromium with a profile of its own in `folder`; it ends with the context."""
    program = executable()
    assert program is not None
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    options = (
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"),
        *("--no-first-run", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars"),
        f"--user-data-dir={folder / 'profile'}",
    )
    # Chromium reads commands from descriptor 3 and writes answers to 4.
    shell = f'exec 3<&{in_read} 4>&{out_write}; exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", program, *options],
        pass_fds=(in_read, out_write),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(in_read)
    os.close(out_write)
    try:
        yield Page(in_write, out_read)
    finally:
        os.close(in_write)
        process.terminate()
        process.wait(timeout=HANG_S)
        os.close(out_read)


@contextmanager
def hosted(pages: dict[str, str]) -> Iterator[int]:
    """A server of pages that sends no headers of ours; its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = pages.get(self.path, "").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
