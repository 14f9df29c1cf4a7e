"""Measures sentences per second and memory: one session, threads with a pool of
sessions, processes under Ray. Translations are compared with the recorded ones.

    python samples/batch/batch_figures.py build/translate.pte
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import etx

from tokenizer import Tokenizer
from translate_batch import start_ray
from translator import Translator

MODEL = Path(__file__).resolve().parents[1] / "translate" / "model"


class Worker:
    """A translator and the sentences of samples/translate/model/test.tsv."""

    def __init__(self, program: etx.Program, threads: int = 1) -> None:
        self._path = program.path
        rows = [line.split(b"\t") for line in (MODEL / "test.tsv").read_bytes().splitlines()]
        tokenizer = Tokenizer(MODEL / "vocab.txt")
        self._sources = [tokenizer.encode(row[0]) for row in rows]
        self._expected = [tokenizer.decode(map(int, row[3].split())) for row in rows]
        self._decode = tokenizer.decode
        self._translator = Translator(program, tokenizer.padding, threads)
        self.translate()  # loads the pages of the file

    def translate(self) -> int:
        """Translates and checks all sentences; returns how many there are."""
        translations = self._translator.translate(self._sources)
        assert [*map(self._decode, translations)] == self._expected
        return len(translations)

    def mapping(self) -> dict[str, int]:
        """Bytes of the program file's mappings in this process."""
        return mapping_of(self._path)


def mapping_of(path: Path) -> dict[str, int]:
    """Bytes of the file's mappings, from /proc/self/smaps: Rss is resident memory,
    Pss divides shared pages by the number of processes that share them."""
    sums = dict.fromkeys(("Rss", "Pss", "Private_Dirty"), 0)
    is_meant = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in sums:
            # A kB has 1024 bytes there.
            sums[name] += 1024 * int(rest.split()[0]) if is_meant else 0
        elif "-" in name.split()[0]:  # a range of addresses: the next mapping
            is_meant = line.endswith(str(path))
    return sums


def kilobytes(count: int) -> str:
    """Kilobytes of 1000 bytes, as etx counts."""
    return f"{count / 1000:,.0f} KB"


def show(what: str, sentences: float, mappings: list[dict[str, int]]) -> None:
    sums = {key: sum(one[key] for one in mappings) for key in mappings[0]}
    print(f"{what:33}{sentences:6.0f} sentences/s   program in memory: "
          + ", ".join(f"{key} {kilobytes(value)}" for key, value in sums.items()), flush=True)


def rates(*runs: Callable[[], Iterable[int]]) -> list[float]:
    """Sentences per second, the best of seven for each. The runs take turns, because
    the machine is shared."""
    best = [0.0] * len(runs)
    for _ in range(7):
        for i, run in enumerate(runs):
            began = time.perf_counter()
            done = sum(run())
            best[i] = max(best[i], done / (time.perf_counter() - began))
    return best


def measure_threads(program: etx.Program) -> None:
    worker = Worker(program, threads=8)
    with ThreadPoolExecutor(8) as executor:
        one, all_of_them = rates(
            lambda: [worker.translate()],
            lambda: executor.map(Worker.translate, [worker] * 8))
    show("1 thread, 1 session", one, [mapping_of(program.path)])
    show("8 threads, a pool of 8 sessions", all_of_them, [mapping_of(program.path)])


def measure_processes(program: etx.Program) -> None:
    ray = start_ray(None)
    workers = [ray.remote(num_cpus=0)(Worker).remote(program) for _ in range(4)]
    mappings = ray.get([worker.mapping.remote() for worker in workers])  # waits until all have started
    one, all_of_them = rates(
        lambda: [ray.get(workers[0].translate.remote())],
        lambda: ray.get([worker.translate.remote() for worker in workers]))
    show("Ray, 1 of 4 processes active", one, mappings[:1])
    show("Ray, 4 processes", all_of_them, [*mappings, mapping_of(program.path)])


def main() -> None:
    program = etx.load(sys.argv[1])
    print(f"{program.path.name}: {kilobytes(program.file_bytes)}; {os.cpu_count()} processors")
    measure_threads(program)
    measure_processes(program)


if __name__ == "__main__":
    main()
