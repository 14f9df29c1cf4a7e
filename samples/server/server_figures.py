"""Measures the server against the batched loop without a server.

    python samples/server/server_figures.py chat.pte [--clients 32] [--tokens 64]

Each client sends one prompt of its own, all at once, and reads the answer: whole, or as
a stream. The loop adds the same prompts to `etx.serving.TextBatch` and steps it until all
are complete. Both are measured in turns; the best of `--repeat` counts. Ends with 1 if a text
differs from that of the same prompt alone, or is lost.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import etx
import etx.serving
import httpx

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
    """The clients, as threads with connections of their own."""

    def __init__(self, work: Work, url: str) -> None:
        self._work, self._url = work, url
        self._clients = [httpx.Client(timeout=600) for _ in work.prompts]
        self._wanted = [work.tokenizer.decode(ids) for ids in work.texts]
        for client in self._clients:
            client.get(f"{url}/health")

    def seconds(self, stream: bool) -> float:
        start = threading.Barrier(len(self._clients) + 1)
        with ThreadPoolExecutor(len(self._clients)) as threads:
            asked = [threads.submit(self._ask, number, stream, start) for number in range(len(self._clients))]
            start.wait()
            begin = time.perf_counter()
            found = [future.result() for future in asked]
            seconds = time.perf_counter() - begin
        if found != self._wanted:
            raise SystemExit("a text of the server differs from that of its prompt alone")
        return seconds

    def _ask(self, number: int, stream: bool, start: threading.Barrier) -> str:
        body = {"model": "m", "prompt": self._work.prompts[number], "max_tokens": self._work.tokens,
                "temperature": 0, "stream": stream}
        start.wait()
        with self._clients[number].stream("POST", f"{self._url}/v1/completions", json=body) as answer:
            if not stream:
                answer.read()
                return answer.json()["choices"][0]["text"]
            events = [line[6:] for line in answer.iter_lines() if line.startswith("data: ")]
        if events.pop() != "[DONE]":
            raise SystemExit("a stream was not complete")
        return "".join(json.loads(event)["choices"][0]["text"] for event in events)


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
        best = {"loop without server": 1e9, "server": 1e9, "server, streams": 1e9}
        for _ in range(given.repeat):
            for name, seconds in zip(best, (work.loop(), clients.seconds(False), clients.seconds(True))):
                best[name] = min(best[name], seconds)
    finally:
        server.terminate()
        server.wait()
    base = best["loop without server"]
    for name, seconds in best.items():
        print(f"{name:22}{work.count / seconds:10.1f} tokens/s{base / seconds:8.2f}")


if __name__ == "__main__":
    main()
