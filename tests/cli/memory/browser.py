"""Controls a headless chromium through its debugging pipe.

Messages are JSON, each with a zero byte at its end. The browser reads them from
file descriptor 3 and answers on 4, so nothing but Python is needed.
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def find():
    """The browser's path, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    def __init__(self, path, width=1400, height=1000):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.writing = os.pipe()
        self.reading, from_browser = os.pipe()
        # 3 and 4 may be among them; none of the copies may be.
        copies = [os.dup(to_browser), os.dup(from_browser)]
        while min(copies) < 5:
            copies = [os.dup(copy) for copy in copies]

        def place():
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run",
             "--force-device-scale-factor=1", "--remote-debugging-pipe",
             f"--window-size={width},{height}",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for descriptor in [to_browser, from_browser] + copies:
            os.close(descriptor)
        self.number = 0
        self.pending = b""
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        os.close(self.writing)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reading)
        self.profile.cleanup()

    def message(self):
        while b"\0" not in self.pending:
            more = os.read(self.reading, 1 << 16)
            if not more:
                raise RuntimeError("the browser ended")
            self.pending += more
        text, self.pending = self.pending.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, path):
        """Loads a file, or a URL; all events since then are kept."""
        self.events.clear()
        url = path if isinstance(path, str) else path.resolve().as_uri()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired"
                      for event in self.events):
            answer = self.message()
            if "method" in answer:
                self.events.append(answer)
        self.settle()

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() =>"
                 " requestAnimationFrame(() => done(1))))")

    def run(self, expression):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression,
                           awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get(
                "description", details["text"]))
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def key(self, key, text=None, modifiers=0):
        extra = {"text": text} if text else {}
        if key == "Enter":
            extra = {"text": "\r", "windowsVirtualKeyCode": 13}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key,
                  modifiers=modifiers, **extra)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key,
                  modifiers=modifiers)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def complaints(self):
        """Exceptions and errors that the page caused, and what it asked for
        beside itself."""
        found = []
        for event in self.events:
            name, what = event["method"], event["params"]
            if name == "Runtime.exceptionThrown":
                details = what["exceptionDetails"]
                found.append(details.get("exception", {}).get(
                    "description", details["text"]))
            elif name == "Log.entryAdded" and what["entry"]["level"] == "error":
                found.append(what["entry"]["text"])
            elif name == "Network.requestWillBeSent":
                if not what["request"]["url"].startswith(("file:", "data:")):
                    found.append("asked for " + what["request"]["url"])
        return found


def shoot(chrome, folder, name):
    """Writes a picture of the page, if there is a folder for it."""
    if folder is None:
        return
    data = chrome.call("Page.captureScreenshot", format="png")["data"]
    (folder / (name + ".png")).write_bytes(base64.b64decode(data))


def check_pages(run):
    """The main function of a check of pages: calls `run(options, folder, browser)`. Ends
    with 77 (skipped) if there is no browser."""
    parser = argparse.ArgumentParser()
    parser.add_argument("etx")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--shots", type=pathlib.Path)
    options = parser.parse_args()
    path = find()
    if path is None:
        print("skipped: no chromium is installed (apt-get install chromium)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        chrome = Browser(path)
        try:
            run(options, pathlib.Path(name), chrome)
        finally:
            chrome.close()
    print("the page is right")
