"""Translates a file of any length, line by line, on all processors of Ray.

    python translate_batch.py --in sentences.txt --out translated.txt

The same command continues a run that was killed.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path
from typing import Any

import etx

from block_translator import BlockTranslator
from job import Job, JobError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Translates each line of a file with Ray Data.")
    parser.add_argument("--in", dest="source", type=Path, required=True, help="the input")
    parser.add_argument("--out", type=Path, required=True,
                        help="the output; replaced when it is complete")
    parser.add_argument("--model", type=Path, default=ROOT / "build" / "translate.pte")
    parser.add_argument("--vocab", type=Path,
                        default=ROOT / "samples" / "translate" / "model" / "vocab.txt")
    parser.add_argument("--workers", type=int, help="processes; default: one per processor")
    parser.add_argument("--lines", type=int, default=512,
                        help="lines of a block (default %(default)s)")
    return parser.parse_args()


def translate(job: Job, program: etx.Program, vocabulary: Path, workers: int | None) -> None:
    """Ray gives the blocks to the workers, and a dead worker's block to another."""
    rows = job.rows()
    if not rows:
        return
    ray = start_ray(workers)
    workers = min(workers or int(ray.cluster_resources()["CPU"]), len(rows))
    blocks = ray.data.from_items(rows, override_num_blocks=min(len(rows), 1000))
    answered = blocks.map(
        BlockTranslator, num_cpus=1, compute=ray.data.ActorPoolStrategy(size=workers),
        fn_constructor_args=(program, vocabulary, job.source, job.folder),
    )
    total = sum(row["lines"] for row in rows)
    done = 0
    for row in answered.iter_rows():
        done += row["lines"]
        if sys.stderr.isatty():
            print(f"\r{done} of {total} lines", end="", file=sys.stderr)
    ray.shutdown()


def start_ray(workers: int | None) -> Any:
    """Connects to the cluster of RAY_ADDRESS, or starts Ray on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    import ray

    is_own = "RAY_ADDRESS" not in os.environ
    ray.init(num_cpus=workers if is_own else None, include_dashboard=False if is_own else None,
             log_to_driver=False, logging_level="ERROR")
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel("ERROR")
    return ray


def main() -> int:
    options = read_options()
    try:
        program = etx.load(options.model)
        vocabulary = options.vocab.absolute()
        model = f"{program.fingerprint} {vocabulary.read_bytes()!r}"
        job = Job(options.source, options.out, options.lines, model)
        job.open()
        translate(job, program, vocabulary, options.workers)
        refused = job.finish()
    except (JobError, etx.Error, OSError, ValueError) as error:
        print(f"translate_batch: {error}", file=sys.stderr)
        return 1
    for line, reason in refused:
        print(f"translate_batch: line {line}: {reason}", file=sys.stderr)
    return 5 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
