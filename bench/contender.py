"""One contender: a process that answers lines with lines of JSON, and that is
stopped while another one is measured."""

import json
import os
import signal
import statistics
import subprocess
import time


def busy_seconds():
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


class Contender:
    def __init__(self, name, words, first_line, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.name = name
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=environment)
        if first_line is not None:
            self.ask(first_line, "loaded")

    def ask(self, line, into):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer.startswith("{"):
            raise RuntimeError(f"{self.name} ended while it was {into}")
        setattr(self, into, json.loads(answer))
        return getattr(self, into)

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def pause(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def measure(self, line="go"):
        """One answer, and how many processors other programs used during it."""
        self.resume()
        busy, own, start = (busy_seconds(), self.processor_seconds(),
                            time.monotonic())
        answer = dict(self.ask(line, "answered"))
        seconds = time.monotonic() - start
        others = (busy_seconds() - busy) - (self.processor_seconds() - own)
        answer["foreign"] = round(max(0.0, others / seconds), 2)
        self.pause()
        return answer

    def memory(self):
        found = {}
        with open(f"/proc/{self.process.pid}/status") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key in ("VmHWM", "RssAnon"):
                    found[key] = int(value.split()[0]) * 1024
        return {"peak_bytes": found.get("VmHWM", 0),
                "own_bytes": found.get("RssAnon", 0)}

    def end(self):
        self.resume()
        self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def quartiles(values):
    values = sorted(values)
    quarter = len(values) // 4
    return values[quarter], values[len(values) - 1 - quarter]


def ratios(mine, theirs, key):
    """The contender's time divided by etx's, over rounds that both have: median
    and quartiles."""
    found = [theirs[i][key] / mine[i][key]
             for i in sorted(set(mine) & set(theirs))]
    return (statistics.median(found), *quartiles(found))
