"""Measures time and memory of `etx plan` against the number of nodes.

    python3 scripts/plan_scaling.py --etx build/etx [--nodes 1000 10000 100000]
        [--shapes chain fan ...] [--limit 600] [--instructions]

For each shape of graph it writes a YAML graph, plans it, and prints the seconds of
the processor, the peak of resident memory, KB for each node (beyond what the smallest graph
takes), and the exponent of time from one size to the next. With --instructions, it counts
instructions instead, under valgrind: caches and other programs do not change them.

  chain    each node reads the one before
  fan      all nodes read one input; a sum reads pairs of them
  outputs  all nodes read one input and are outputs
  concat   one concatenation of all nodes
  stairs   node i reads nodes i - 1 and i / 2
  random   each node reads two earlier ones, drawn from a seed
"""

import argparse
import math
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HEAD = "etx: 1\nmethod: forward\ninputs:\n  - {name: x, type: 'float32[4]'}\nnodes:\n"


def add(name: str, a: str, b: str) -> str:
    return f"  - {{out: {name}, op: aten.add.Tensor, args: [{a}, {b}]}}\n"


def name_of(i: int) -> str:
    return f"v{i}" if i >= 0 else "x"


def chain(count: int) -> tuple[str, list[str]]:
    return "".join(add(f"v{i}", name_of(i - 1), "x") for i in range(count)), [f"v{count - 1}"]


def fan(count: int) -> tuple[str, list[str]]:
    lines = [f"  - {{out: v{i}, op: aten.mul.Tensor, args: [x, {i + 2}]}}\n" for i in range(count // 2)]
    lines += [add(f"s{i}", f"s{i - 1}" if i else "v0", f"v{i}") for i in range(count // 2)]
    return "".join(lines), [f"s{count // 2 - 1}"]


def outputs(count: int) -> tuple[str, list[str]]:
    lines = [f"  - {{out: v{i}, op: aten.mul.Tensor, args: [x, {i + 2}]}}\n" for i in range(count)]
    return "".join(lines), [f"v{i}" for i in range(count)]


def concat(count: int) -> tuple[str, list[str]]:
    lines, names = outputs(count)
    return f"{lines}  - {{out: all, op: aten.cat.default, args: [[{', '.join(names)}]]}}\n", ["all"]


def stairs(count: int) -> tuple[str, list[str]]:
    lines = [add(f"v{i}", name_of(i - 1), name_of(i // 2 - 1)) for i in range(count)]
    return "".join(lines), [f"v{count - 1}"]


def drawn(count: int) -> tuple[str, list[str]]:
    draw = random.Random(1)
    lines = [add(f"v{i}", name_of(draw.randrange(-1, i) if i else -1), name_of(i - 1)) for i in range(count)]
    return "".join(lines), [f"v{count - 1}"]


SHAPES: dict[str, Callable[[int], tuple[str, list[str]]]] = {
    "chain": chain, "fan": fan, "outputs": outputs, "concat": concat, "stairs": stairs, "random": drawn,
}


def write_graph(shape: str, count: int, path: Path) -> None:
    """Writes the graph in a process of its own: a command that is started later
    begins with the peak of this process's memory as its own."""
    pid = os.fork()
    if pid == 0:
        lines, results = SHAPES[shape](count)
        path.write_text(f"{HEAD}{lines}outputs: [{', '.join(results)}]\n")
        os._exit(0)
    if os.waitpid(pid, 0)[1] != 0:
        raise OSError(f"{path} was not written")


def measure(etx: str, folder: Path, limit: float) -> tuple[float, float] | None:
    """Seconds and MB, or None if it failed or took longer than `limit`."""
    begin = time.monotonic()
    words = [etx, "plan", str(folder), "-o", str(folder.parent / "out.pte"), "-q"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    while time.monotonic() - begin < limit:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds = used.ru_utime + used.ru_stime
            return (seconds, used.ru_maxrss / 1024) if status == 0 else None
        time.sleep(0.002)
    process.kill()
    process.wait()
    return None


def count_instructions(etx: str, folder: Path) -> int | None:
    """Instructions of the plan, or None if it failed."""
    words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}",
             etx, "plan", str(folder), "-o", str(folder.parent / "out.pte"), "-q"]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    return int(found[1]) if done.returncode == 0 and found else None


def report_instructions(etx: str, shape: str, sizes: list[int]) -> None:
    before: tuple[int, int] | None = None
    for count in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "model"
            folder.mkdir()
            write_graph(shape, count, folder / "forward.yaml")
            found = count_instructions(etx, folder)
        if found is None:
            print(f"{shape:8} {count:8}  failed", flush=True)
            return
        rest = ""
        if before is not None:
            exponent = math.log(found / before[1]) / math.log(count / before[0])
            rest = f"  exponent {exponent:.3f}"
        print(f"{shape:8} {count:8} {found / 1e6:10.1f} million instructions{rest}", flush=True)
        before = (count, found)


def report(etx: str, shape: str, sizes: list[int], limit: float) -> None:
    before: tuple[int, float, float] | None = None
    for count in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "model"
            folder.mkdir()
            write_graph(shape, count, folder / "forward.yaml")
            found = measure(etx, folder, limit)
        if found is None:
            print(f"{shape:8} {count:8}  failed, or took more than {limit:g} s", flush=True)
            return
        seconds, megabytes = found
        rest = ""
        if before is not None:
            exponent = math.log(seconds / before[1]) / math.log(count / before[0])
            each = (megabytes - before[2]) * 1024 / (count - before[0])
            rest = f"  {each:6.1f} KB a node, exponent {exponent:.2f}"
        print(f"{shape:8} {count:8} {seconds:8.2f} s {megabytes:9.1f} MB{rest}", flush=True)
        before = (count, seconds, megabytes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--etx", required=True)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 10000, 100000])
    parser.add_argument("--shapes", nargs="+", choices=sorted(SHAPES), default=list(SHAPES))
    parser.add_argument("--limit", type=float, default=600, help="seconds for one plan")
    parser.add_argument("--instructions", action="store_true", help="count them, with valgrind")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for shape in options.shapes:
        if options.instructions:
            report_instructions(options.etx, shape, options.nodes)
        else:
            report(options.etx, shape, options.nodes, options.limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
