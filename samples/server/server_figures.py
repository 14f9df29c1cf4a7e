"""Measures the server against the batched loop without a server.

    python samples/server/server_figures.py chat.pte [--clients 32] [--tokens 64]

Each client sends one prompt of its own, all at once, and reads the answer: whole, or as
a stream. The loop adds the same prompts to `etx.serving.TextBatch` and steps it until all
are complete, with the same number of threads. Both are measured in turns; the best of
`--repeat` counts. Ends with 1 if a text differs from that of the same prompt alone, or is lost.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import io
import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import etx
import etx.serving

from program_tokenizer import ProgramTokenizer

HERE = Path(__file__).resolve().parent


class Work:
    """The prompts, and the texts that each gives alone."""

    def __init__(self, program: etx.Program, clients: int, tokens: int) -> None:
        self.program, self.tokens = program, tokens
        self.tokenizer = ProgramTokenizer(program.constants)
        self.prompts = [f"Question {number}: why " + "and how " * (number % 8) for number in range(clients)]
        self.ids = [self.tokenizer.encode(prompt, special=True) for prompt in self.prompts]
        batch = etx.serving.TextBatch(program.session())
        self.texts = []
        for ids in self.ids:
            text = batch.add(ids, max_new_tokens=tokens)
            while batch.step():
                pass
            self.texts.append(text.tokens)
        self.count = sum(map(len, self.texts))

    def loop(self) -> float:
        """Seconds of the loop without a server."""
        batch = etx.serving.TextBatch(self.program.session())
        begin = time.perf_counter()
        texts = [batch.add(ids, max_new_tokens=self.tokens) for ids in self.ids]
        while batch.step():
            pass
        seconds = time.perf_counter() - begin
        if [text.tokens for text in texts] != self.texts:
            raise SystemExit("a text of the loop differs from that of its prompt alone")
        return seconds


class Clients:
    """The clients: one thread that only sends and receives bytes, since clients share the
    processors with the server. Answers are read when the clock has stopped.

    Attributes:
      share: of one processor, that the clients needed the last time.
    """

    def __init__(self, work: Work, url: str) -> None:
        self._work = work
        self._address = (urlsplit(url).hostname, urlsplit(url).port)
        self._wanted = [work.tokenizer.decode(ids) for ids in work.texts]
        self.share = 0.0

    def seconds(self, stream: bool) -> float:
        requests = [self._request(prompt, stream) for prompt in self._work.prompts]
        with contextlib.ExitStack() as stack:
            found: dict[socket.socket, bytearray] = {}
            for _ in requests:
                found[stack.enter_context(socket.create_connection(self._address))] = bytearray()
            time.sleep(0.2)  # until the server has taken them all
            begin, used = time.perf_counter(), time.thread_time()
            self._exchange(found, requests)
            seconds, used = time.perf_counter() - begin, time.thread_time() - used
        self.share = used / seconds
        if [self._text(bytes(answer), stream) for answer in found.values()] != self._wanted:
            raise SystemExit("a text of the server differs from that of its prompt alone")
        return seconds

    def _request(self, prompt: str, stream: bool) -> bytes:
        body = json.dumps({"model": "m", "prompt": prompt, "max_tokens": self._work.tokens,
                           "temperature": 0, "stream": stream}).encode()
        return (f"POST /v1/completions HTTP/1.1\r\nHost: server\r\nConnection: close\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body

    def _exchange(self, found: dict[socket.socket, bytearray], requests: list[bytes]) -> None:
        """Sends all requests, and receives until the server closes the connections."""
        with selectors.DefaultSelector() as selector:
            for connection, request in zip(found, requests):
                connection.sendall(request)
                selector.register(connection, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    part = key.fileobj.recv(65536)
                    found[key.fileobj] += part
                    if not part:
                        selector.unregister(key.fileobj)

    def _text(self, answer: bytes, stream: bool) -> str:
        """The text of an answer, which must be complete."""
        source = Received(answer)
        with http.client.HTTPResponse(source) as response:
            response.begin()
            body = response.read().decode()
        if response.status != 200:
            raise SystemExit(f"the server answered {response.status}: {body}")
        if not stream:
            return json.loads(body)["choices"][0]["text"]
        events = [line[6:] for line in body.splitlines() if line.startswith("data: ")]
        if not events or events.pop() != "[DONE]":
            raise SystemExit("a stream was not complete")
        return "".join(json.loads(event)["choices"][0]["text"] for event in events)


class Received:
    """Bytes that came, as a socket to read from."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    work = Work(etx.load(given.program, threads=given.threads), given.clients, given.tokens)
    server = subprocess.Popen(
        [sys.executable, HERE / "serve.py", f"m={given.program}", "--port", "0", "--threads", str(given.threads)],
        stderr=subprocess.PIPE, text=True,
    )
    try:
        url = next(found[1] for line in server.stderr if (found := re.search(r"running on (\S+)", line)))
        threading.Thread(target=server.stderr.read, daemon=True).start()
        clients = Clients(work, url)
        found: dict[str, list[float]] = {"loop without server": [], "whole answers": [], "streams": []}
        shares = []
        for _ in range(given.repeat):
            for name, seconds in zip(found, (work.loop(), clients.seconds(False), clients.seconds(True))):
                found[name].append(seconds)
            shares.append(clients.share)
    finally:
        server.terminate()
        server.wait()
    base = min(found["loop without server"])
    for name, times in found.items():
        ratios = [loop / one for loop, one in zip(found["loop without server"], times)]
        print(f"{name:22}{work.count / min(times):10.1f} tokens/s{base / min(times):8.2f}"
              f"   by round: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}")
    print(f"the clients of streams used {statistics.median(shares):.2f} of a processor")


if __name__ == "__main__":
    main()
