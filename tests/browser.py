"""A headless Chromium that tests can drive: open a page, run scripts in it, take pictures."""

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from contextlib import contextmanager

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
]


class Page:
    """A tab, driven by the DevTools protocol over a WebSocket."""

    def __init__(self, socket):
        self._socket, self._count, self.messages = socket, 0, []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method, **parameters):
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=30))
            if message.get("id") == self._count:
                assert "error" not in message, message
                return message["result"]
            self.messages.append(message)

    def run(self, script):
        """The value of an expression, awaited if it is a promise; errors of the page are raised."""
        found = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def open(self, address, width=1200, height=900, dark=False, phone=False):
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.send("Emulation.setEmulatedMedia", features=[scheme, still])
        self.send("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def wait(self, condition, seconds=15):
        """Until the condition holds; an AssertionError says what the page shows otherwise."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(condition):
                return
            time.sleep(0.05)
        raise AssertionError(f"{condition}: {self.run('document.body.innerText')}")

    def press(self, key, code=0, text=""):
        options = {"key": key, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        self.send("Input.dispatchKeyEvent", type="keyDown", **options)
        self.send("Input.dispatchKeyEvent", type="keyUp", **options)

    def picture(self, path, whole=True):
        found = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    @property
    def problems(self):
        """Errors and warnings that the page caused: exceptions, refused sources, failed loads."""
        bad = {"Runtime.exceptionThrown", "Network.loadingFailed"}
        self.run("1")
        return [
            message
            for message in self.messages
            if message.get("method") in bad
            or (
                message.get("method") == "Log.entryAdded"
                and message["params"]["entry"]["level"] == "error"
                and message["params"]["entry"]["source"] != "network"  # answers of 4xx
            )
        ]

    @property
    def addresses(self):
        sent = (m for m in self.messages if m.get("method") == "Network.requestWillBeSent")
        return {message["params"]["request"]["url"] for message in sent}


@contextmanager
def browser_page(folder):
    """A new browser with one tab; it ends with the context."""
    from websockets.sync.client import connect

    process = subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stderr:
            if "DevTools listening on" in line:
                port = line.split("127.0.0.1:")[1].split("/")[0]
                break
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=20) as answer:
            tab = next(each for each in json.load(answer) if each["type"] == "page")
        with connect(tab["webSocketDebuggerUrl"], max_size=None, proxy=None) as socket:
            yield Page(socket)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
