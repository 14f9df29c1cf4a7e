#!/usr/bin/env python3
"""Runs commands of etx in which one call fails, at every place where it can.

Afterwards each output is the old file or the new one, the directory has no other
file, the exit code is not a signal's, and a command that failed says why: with
the reason of the system, or that memory is lacking. A command that succeeds has
written and printed what it does without a fault.

With --places, so many are drawn, as many of each command: the same on every machine
for one seed.
"""

import argparse
import collections
import errno
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
DATA = SOURCE / "tests" / "data"
SKIPPED = 77
OLD = b"old"

# kind of system call: its errors, and "short" for half of the bytes
SYSTEM_CALLS = {
    "write": ["ENOSPC", "EIO", "EINTR", "short"],
    "read": ["EIO", "EINTR", "short"],
    "open": ["EMFILE", "EACCES"],
    "close": ["EIO"],
    "fsync": ["EIO", "ENOSPC"],
    "rename": ["EACCES", "EIO"],
    "link": ["EPERM", "EIO"],
    "flock": ["ENOLCK", "EOPNOTSUPP"],
    "stat": ["EIO"],
    "mmap": ["ENOMEM"],
    "seek": ["EIO"],
    "list": ["EIO"],
    "random": ["EIO"],
}
# What a message says where the reason has no text of strerror: of memory, and of
# libraries that keep no errno.
OTHER_REASONS = ("memory", "could not be written", "cannot read", "is not a ", "was interrupted")

Fault = collections.namedtuple("Fault", "kind error first stays")


def has_nothing_to_share(process):
    """Whether it has one thread, and no files but the standard ones and a socket."""
    return len(os.listdir(f"/proc/{process}/task")) == 1 and len(os.listdir(f"/proc/{process}/fd")) == 4


class Command:
    """A command line with the outputs that it writes below `folder`."""

    def __init__(self, name, words, outputs=(), varies=False, read=None, old=None, slow=False):
        self.name = name
        self.words = words
        self.outputs = outputs
        self.varies = varies  # what it prints is not the same each time
        # Files that are changed in parts: what they hold is what the command line
        # `read` prints of them, and `old` is the content before.
        self.slow = slow  # a tenth of the others' places in a sample
        self.read = read
        self.old = old


def commands(folder, program, kv_program, old_state):
    """Every command that reads or writes files."""
    model = str(SOURCE / "samples" / "stateful_model")
    tiny, kv, gru = (str(DATA / "pt2" / name) for name in ("tiny", "kv", "gru"))
    out = lambda name: str(folder / name)
    selected = (
        "cc.args", "etx_selected.c", "etx_selected.h", "etx_selected_loops.h", "selected.cmake",
        "selected_operators.yaml",
    )  # fmt: skip
    dumped = ("get_cache.yaml", "set_cache.yaml", "program.yaml")
    return [
        Command("plan yaml", ["plan", model, "-o", out("p")], ["p"]),
        Command("plan pt2", ["plan", tiny, "-o", out("p"), "--json"], ["p"]),
        Command("plan header", ["plan", kv, "-o", out("p"), "--header", out("p.h")], ["p", "p.h"]),
        Command("plan calibrate", ["plan", gru, "-o", out("p"), "--quantize", "int8", "--calibrate", gru], ["p"]),
        Command("dump", ["dump", model, "-o", out("d")], [f"d/{name}" for name in dumped]),
        Command("dump netron", ["dump", program, "--netron", "-o", out("n")], ["n"]),
        Command("check", ["check", tiny]),
        Command("verify", ["verify", program, "--json"]),
        Command("inspect json", ["inspect", program, "--json"]),
        Command("inspect html", ["inspect", program, "--html", out("h")], ["h"]),
        Command("mem", ["mem", kv_program, "--html", out("m")], ["m"]),
        Command("run case", ["run", kv_program, "--case", kv]),
        Command("run trace", ["run", program, "get_cache", "--in", "data=[[0,0],[0,0]]", "--trace-ops", out("t")], ["t"]),
        Command("select", ["select", program, "-o", out("s")], [f"s/{name}" for name in selected]),
        Command("select amalgamate", ["select", program, "--amalgamate", "core", "-o", out("a")],
                [f"a/{name}" for name in ("etx.c", "etx.h", "selected_operators.yaml")], slow=True),
        Command("run in memory", ["run", kv_program, "--case", kv, "--in-memory"]),
        Command("run state", ["run", program, "set_cache", "--in", "data=[[5,6],[7,8]]", "--state", out("state")],
                ["state"], old=Path(old_state).read_bytes(),
                read=["run", program, "get_cache", "--in", "data=[[0,0],[0,0]]", "--state", out("state")]),
        Command("bench", ["bench", program, "--seconds", "0.001"], varies=True),
    ]


class Checker:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.counts = folder.parent / "counts"
        self.bad = []
        self.tried = collections.Counter()

    def prepare(self, command, old):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for name in command.outputs:
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            if old:
                path.write_bytes(command.old or OLD)

    def files(self):
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    def environment(self, **more):
        return dict(os.environ, LC_ALL="C", LD_PRELOAD=self.arguments.library, **more)

    def run(self, command, fault=None):
        words = [self.arguments.etx, *command.words]
        env = self.environment()
        if fault is not None and fault.kind == "memory":
            env["ETX_FAULT"] = f"memory {fault.first}{'+' * fault.stays}"
        elif fault is not None:
            number = fault.error if fault.error == "short" else str(getattr(errno, fault.error))
            words = [
                self.arguments.tracer, fault.kind, number, f"{fault.first}{'+' * fault.stays}",
                str(self.counts), *words,
            ]  # fmt: skip
        else:
            env["ETX_FAULT_COUNT"] = str(self.counts)
        try:
            return subprocess.run(words, env=env, capture_output=True, timeout=120)
        except subprocess.TimeoutExpired:
            return None

    def entries(self):
        """Everything in the folder, with the content of files."""
        return {path: path.is_file() and path.read_bytes() for path in self.folder.rglob("*")}

    def content_of(self, command):
        """What a file that is changed in parts holds."""
        read = subprocess.run([self.arguments.etx, *command.read], capture_output=True)
        return read.stdout if read.returncode == 0 else read.stderr

    def states_of(self, command, found, files):
        if command.read is not None:
            content = self.content_of(command)
            named = {command.old_content: "old", command.new_content: "new"}
            return [named.get(content, "damaged")]
        return [
            "old" if found.get(name) == OLD else "new" if found.get(name) == files[name] else "damaged"
            for name in command.outputs
        ]

    def faults(self, command):
        """All faults of a command, and what it does without one."""
        self.prepare(command, old=False)
        whole = self.run(command)
        if whole.returncode != 0:
            sys.exit(f"{command.name}: {whole.stderr.decode()}")
        files = self.files()
        if command.read is not None:
            command.new_content = self.content_of(command)
            self.prepare(command, old=True)
            command.old_content = self.content_of(command)
            whole = self.run(command)  # reads the old state, too
        counts = {"memory": int(self.counts.read_text())}
        self.prepare(command, old=True)
        traced = self.run(command, Fault("write", "EIO", 0, False))
        if traced.returncode == 125:
            print("ptrace is not allowed here")
            sys.exit(SKIPPED)
        for line in self.counts.read_text().splitlines():
            counts[line.split()[0]] = int(line.split()[1])
        found = []
        for kind, errors in {"memory": ["ENOMEM"], **SYSTEM_CALLS}.items():
            for error in errors:
                for first in range(1, counts[kind] + 1):
                    found += [Fault(kind, error, first, stays) for stays in (False, True)]
        return found, whole, files

    def check_all(self, command, faults, whole, files):
        left = self.check_forked(command, faults, whole, files)
        for fault in left:
            self.prepare(command, old=True)
            self.judge(command, fault, whole, files, self.run(command, fault))

    def check_forked(self, command, faults, whole, files):
        """Checks allocations in copies of one process (forked_faults.h), where it has
        written nothing, no file open and one thread. Returns the faults that are left."""
        wanted = collections.defaultdict(list)
        for fault in faults:
            if fault.kind == "memory":
                wanted[fault.first].append(fault)
        self.prepare(command, old=True)
        prepared = self.entries()
        base = self.folder.parent
        paths = {name: base / name for name in ("own_output", "own_errors", "output", "errors")}
        ours, theirs = socket.socketpair()
        env = self.environment(
            ETX_FAULT_SOCKET=str(theirs.fileno()),
            ETX_FAULT_OUTPUT=str(paths["output"]),
            ETX_FAULT_ERRORS=str(paths["errors"]),
        )
        checked = set()
        with ours, paths["own_output"].open("wb") as output, paths["own_errors"].open("wb") as errors:
            process = subprocess.Popen(
                [self.arguments.etx, *command.words], env=env, stdout=output, stderr=errors,
                pass_fds=[theirs.fileno()],
            )  # fmt: skip
            theirs.close()
            current, waiting = None, []
            for line in ours.makefile("r"):
                word, number = line.split()
                if word == "ended":
                    code = os.waitstatus_to_exitcode(int(number))
                    output_text, errors_text = (
                        paths[f"own_{name}"].read_bytes() + paths[name].read_bytes() for name in ("output", "errors")
                    )
                    result = subprocess.CompletedProcess([], code, output_text, errors_text)
                    self.judge(command, current, whole, files, None if code == -signal.SIGALRM else result)
                    checked.add(current)
                    if self.entries() != prepared:
                        self.prepare(command, old=True)
                else:
                    waiting = wanted.pop(int(number), [])
                can_copy = waiting and has_nothing_to_share(process.pid) and self.entries() == prepared
                current = waiting.pop() if can_copy else None
                ours.sendall(b"n" if current is None else b"+" if current.stays else b"1")
            process.wait()
        if process.returncode != 0 or (paths["own_output"].read_bytes() != whole.stdout and not command.varies):
            self.bad.append((command.name, "beside its copies", f"ended with {process.returncode}"))
        return [fault for fault in faults if fault not in checked]

    def judge(self, command, fault, whole, files, result):
        self.tried[fault.kind] += 1
        for problem in self.problems(command, fault, whole, files, result):
            self.bad.append((command.name, tuple(fault), problem))

    def problems(self, command, fault, whole, files, result):
        if result is None:
            yield "does not end"
            return
        code, found = result.returncode, self.files()
        message = result.stderr.decode(errors="replace")
        if code not in range(7):
            yield f"ended with {code}: {message[-200:]}"
        for name in set(found) - set(files):
            yield f"left {name}"
        states = self.states_of(command, found, files)
        if "damaged" in states:
            yield f"exit {code}, outputs are {states}: {message[-200:]}"
        if code == 0:
            if "old" in states:
                yield f"exit 0, outputs are {states}"
            if result.stdout != whole.stdout and not command.varies:
                yield f"exit 0, printed {result.stdout[:200]!r}"
            return
        # What prints the message may be what fails.
        if not message and fault.kind == "write":
            return
        if len(set(states)) > 1 and "could not be set back" not in message:
            yield f"exit {code}, outputs are {states}: {message[-200:]}"
        if "new" in states and not any(word in message for word in ("written", "cannot flush")):
            yield f"exit {code} with the new file: {message[-200:]}"
        if code != 1 and fault.error in ("ENOMEM", "EIO", "ENOSPC", "EINTR", "short", "EMFILE"):
            yield f"exit {code} for the machine's fault: {message[-200:]}"
        reasons = OTHER_REASONS
        if fault.error != "short":
            reasons += (os.strerror(getattr(errno, fault.error)),)
        if not any(reason in message + result.stdout.decode(errors="replace") for reason in reasons):
            yield f"exit {code} without the reason: {message[-300:]!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--etx", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--tracer", required=True)
    parser.add_argument("--places", type=int, help="draw so many places; all if not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", help="only commands whose name starts so")
    parser.add_argument("--kind", help="only faults of this kind")
    parser.add_argument("--part", default="1/1", help="I/N: the I-th of N equal parts of the places")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        program, kv_program = str(base / "model.pte"), str(base / "kv.pte")
        for source, target in ((SOURCE / "samples" / "stateful_model", program), (DATA / "pt2" / "kv", kv_program)):
            subprocess.run([arguments.etx, "plan", source, "-o", target, "--quiet"], check=True)
        old_state = str(base / "old.state")
        words = ["set_cache", "--in", "data=[[1,2],[3,4]]", "--state", old_state]
        subprocess.run([arguments.etx, "run", program, *words], check=True, capture_output=True)
        checker = Checker(arguments, base / "out")
        drawn = random.Random(arguments.seed)
        part, parts = (int(number) for number in arguments.part.split("/"))
        chosen = [
            command
            for command in commands(checker.folder, program, kv_program, old_state)
            if command.name.startswith(arguments.command or "")
        ]
        for command in chosen:
            faults, whole, files = checker.faults(command)
            faults = [f for f in faults if arguments.kind in (None, f.kind)]
            print(f"{command.name}: {len(faults)} places", flush=True)
            if arguments.places is not None:
                share = arguments.places // len(chosen) // (10 if command.slow else 1)
                faults = drawn.sample(faults, min(len(faults), share))
            checker.check_all(command, faults[part - 1 :: parts], whole, files)
    print(f"seed {arguments.seed}: tried {dict(checker.tried)}")
    for bad in checker.bad[:40]:
        print("  ", *bad)
    print(f"{len(checker.bad)} problems")
    return 1 if checker.bad else 0


if __name__ == "__main__":
    sys.exit(main())
