"""samples/batch: every line of a file is translated once and in order, whichever process is killed."""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from conftest import ROOT, make_program

import etx

BATCH = ROOT / "samples" / "batch"
MODEL = ROOT / "samples" / "translate" / "model"
ROWS = [line.split("\t") for line in (MODEL / "test.tsv").read_text().splitlines()]
TIMES = 12  # the test set, so that a run is not done before it is killed
LINES, BLOCKS = 160, 38
HANGS = 300  # seconds: whatever a busy machine takes, it is less
LONG = " ".join(["seven"] * 70)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return make_program(MODEL / "batch", tmp_path_factory.mktemp("model") / "translate.pte")


class Run:
    """The sample as a process of its own, over 6002 lines in 38 blocks."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.source, self.output = folder / "lines.txt", folder / "answers.txt"
        sentences, answers = ([row[i] for row in ROWS] for i in (0, 2))
        rest = TIMES - 2
        self.source.write_text("\n".join([*sentences, "", *sentences, LONG, *sentences * rest]))
        self.expected = "\n".join([*answers, "", *answers, "", *answers * rest, ""])
        self.command = [
            sys.executable, BATCH / "translate_batch.py", "--in", self.source,
            "--out", self.output, "--model", program, "--workers", "2", "--lines", str(LINES),
        ]

    def start(self) -> subprocess.Popen:
        # Ray gives its workers a low priority (15), so that on a busy machine they get no
        # processor for minutes.
        ray = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
        return subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True, env=os.environ | ray)

    def finish(self, process: subprocess.Popen) -> None:
        _, said = process.communicate(timeout=HANGS)
        assert process.returncode == 5, said  # one line was refused
        assert "line 1002: the sentence has 71 tokens, the model takes 64" in said
        assert self.output.read_text() == self.expected
        assert [*self.output.parent.glob("answers*")] == [self.output]

    def blocks(self) -> dict[str, int]:
        """Those that are finished, and when."""
        found = self.output.parent.glob("answers.txt.unfinished/*/*")
        return {path.name: path.stat().st_mtime_ns for path in found if path.name.isdigit()}

    def wait_for_blocks(self, process: subprocess.Popen, count: int) -> None:
        ends = time.monotonic() + HANGS
        while len(self.blocks()) < count:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < ends, "no blocks come"
            time.sleep(0.01)


def workers_of(program: Path) -> list[int]:
    """Processes that have the program mapped."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(program) in (folder / "maps").read_text() and folder.name != str(os.getpid()):
                found.append(int(folder.name))
        except OSError:
            continue  # it ended
    return found


@pytest.fixture
def run(tmp_path, program):
    return Run(tmp_path, program)


@pytest.fixture
def ray():
    pytest.importorskip("ray", reason="pip install 'ray[data]'")


@pytest.fixture
def sample(monkeypatch):
    monkeypatch.syspath_prepend(BATCH)


def kill_run(process, program):
    """All of it: what Ray started for it goes with it."""
    process.kill()
    process.communicate()
    ends = time.monotonic() + HANGS
    while workers_of(program) and time.monotonic() < ends:
        time.sleep(0.05)
    assert workers_of(program) == []


def kill_worker(process, program):
    # One at least: on a busy machine the other may still be starting.
    worker, *_ = (pid for pid in workers_of(program) if pid != process.pid)
    os.kill(worker, signal.SIGKILL)


def test_whoever_is_killed_no_line_is_lost_or_doubled(ray, run, program):
    process = run.start()
    run.wait_for_blocks(process, 8)
    kill_run(process, program)
    assert not run.output.exists()
    done = run.blocks()
    assert 8 <= len(done) < BLOCKS
    again = run.start()
    run.wait_for_blocks(again, len(done) + 4)
    kill_worker(again, program)
    kept = run.blocks()
    assert {name: kept[name] for name in done} == done
    assert len(kept) < BLOCKS
    run.finish(again)


def test_two_runs_do_not_take_one_output(run):
    folder = run.output.with_name("answers.txt.unfinished")
    folder.mkdir()
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    _, said = run.start().communicate(timeout=HANGS)
    os.close(lock)
    assert re.search(r"another run writes '.*answers\.txt': wait until it ends", said)
    assert not run.output.exists()


def test_what_is_no_file_is_no_output(run):
    os.mkfifo(run.output)
    _, said = run.start().communicate(timeout=HANGS)
    assert re.search(r"cannot write '.*answers\.txt': it is not a regular file", said)
    assert run.output.is_fifo()
    assert [*run.output.parent.glob("answers*")] == [run.output]


def test_a_link_stays_and_its_file_is_replaced(sample, run):
    from job import Job

    run.source.write_text("")
    run.output.write_text("earlier")
    link = run.output.with_name("link")
    link.symlink_to(run.output)
    job = Job(run.source, link, LINES, "a model")
    job.open()
    job.finish()
    assert link.is_symlink()
    assert run.output.read_text() == ""


def test_texts_become_the_tokens_of_the_model(sample):
    from tokenizer import Tokenizer

    tokenizer = Tokenizer(MODEL / "vocab.txt")
    for line in (MODEL / "tokens.tsv").read_bytes().splitlines():
        text, _, ids = line.rpartition(b"\t")
        assert tokenizer.encode(text) == [int(i) for i in ids.split()], text


def test_odd_lines_get_what_the_c_sample_gives(sample, run, program):
    from block_translator import BlockTranslator

    command = os.environ.get("ETX_TRANSLATE", "")
    if not os.path.exists(command):
        pytest.skip("ETX_TRANSLATE names no build of samples/translate")
    lines = [b"", b" \t\v ", b"seven\r", b"\xff\xfe\xe2", b"\0seven", "é€𝄞▁".encode(), b"x" * 300,
             b"SEVEN", LONG.encode(), b"</s> <unk> <pad>", b"twenty-one"]
    run.source.write_bytes(b"\n".join(lines))
    subprocess.run([command, "--model", program, "--in", run.source, "--out", run.output],
                   stderr=subprocess.DEVNULL)
    translator = BlockTranslator(etx.load(program), MODEL / "vocab.txt")
    answers, refused = translator.translate(lines)
    assert run.output.read_bytes() == b"".join(b"%s\n" % answer for answer in answers)
    assert [line for line, _ in refused] == [6, 8]


def test_figures_are_of_bytes(sample, program):
    from batch_figures import kilobytes, mapping_of

    with open(program, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        assert len({pages[at] for at in range(0, size, mmap.PAGESIZE)}) > 1  # all are read
        found = mapping_of(program)
    assert found["Rss"] == -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    assert kilobytes(5_939_384) == "5,939 KB"


def test_dask_takes_the_blocks_too(run, program, tmp_path):
    pytest.importorskip("dask.bag", reason="pip install 'dask[bag]'")
    (shown,) = re.findall(r"```python\n(.*?)```", (BATCH / "README.md").read_text(), re.S)
    script = tmp_path / "with_dask.py"
    script.write_text(DASK.format(run=run, program=program, vocabulary=MODEL / "vocab.txt",
                                  shown=textwrap.indent(shown, "    ")))
    paths = os.pathsep.join([str(BATCH), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, script], check=True, timeout=120,
                   env=os.environ | {"PYTHONPATH": paths})
    assert run.output.read_text() == run.expected


DASK = """
from pathlib import Path

import etx
from block_translator import BlockTranslator
from job import Job

if __name__ == "__main__":
    vocabulary = Path('{vocabulary}')
    program = etx.load('{program}')
    job = Job(Path('{run.source}'), Path('{run.output}'), 100, program.fingerprint)
    job.open()
{shown}
    job.finish()
"""
