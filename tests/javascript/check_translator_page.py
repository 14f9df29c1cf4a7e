#!/usr/bin/env python3
"""Opens the page of examples/web in headless chromium, translates recorded
sentences in it, and compares the text with PyTorch's.

    check_translator_page.py FOLDER SENTENCES.tsv

FOLDER has the files that the page loads. Ends with 77 if there is no chromium.
"""

import functools
import http.server
import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli" / "memory"))
import browser  # noqa: E402  (in the folder above)

LINES = 5
UNTIL_READY = """new Promise((done, fail) => {
  const begin = Date.now();
  const look = () => {
    const text = document.getElementById("status").textContent;
    if (!document.getElementById("button").disabled) return done(text);
    if (Date.now() - begin > 30000) return fail(new Error(text));
    setTimeout(look, 20);
  };
  look();
})"""


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map,
                      ".mjs": "text/javascript", ".wasm": "application/wasm"}

    def log_message(self, *_):
        pass


def translate(chrome, sentence):
    return chrome.run(
        "(() => { const get = (id) => document.getElementById(id);"
        f"get('source').value = {json.dumps(sentence)};"
        "get('button').click();"
        "return [get('translation').textContent, get('status').textContent]; })()")


def check(chrome, address, rows):
    chrome.open(address)
    chrome.run(UNTIL_READY)
    for english, _, french, _ in rows:
        text, status = translate(chrome, english)
        if text != french:
            sys.exit(f"'{english}': the page shows '{text}' ({status}), expected '{french}'")
    text, status = translate(chrome, "seven " * 100)
    if text != "" or "tokens" not in status:
        sys.exit(f"a long sentence: the page shows '{text}' ({status})")
    other = [c for c in chrome.complaints() if not c.startswith("asked for " + address)]
    if other:
        sys.exit("\n".join(other))


def main():
    folder, sentences = sys.argv[1:]
    path = browser.find()
    if path is None:
        print("skipped: no chromium")
        sys.exit(77)
    rows = [line.split("\t") for line in
            pathlib.Path(sentences).read_text("utf-8").splitlines()[:LINES]]
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    chrome = browser.Browser(path)
    try:
        check(chrome, f"http://127.0.0.1:{server.server_port}/", rows)
    finally:
        chrome.close()
        server.shutdown()
    print(f"the page translates {len(rows)} sentences as PyTorch does")


main()
