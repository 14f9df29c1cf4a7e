"""Load, plan, run and save while one allocation fails, or all from one on.

Each place is tried in one process, into which the library of tests/faults is loaded.
Afterwards an error of the package or MemoryError came, or the call did all its work; files
are old or new; sessions are usable; and the same call without a fault succeeds.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = os.environ.get("ETX_FAULT_LIBRARY", "")
MODEL = Path(__file__).resolve().parents[2] / "samples" / "stateful_model"

SCRIPT = """
import ctypes, os, pathlib, sys
import numpy as np
import etx

program_path, model, folder = sys.argv[1:]
faults = ctypes.CDLL(None)
faults.etx_fault_choose.argtypes = [ctypes.c_ulong, ctypes.c_bool]
faults.etx_fault_allocations.restype = ctypes.c_ulong
folder = pathlib.Path(folder)
data, twice = np.ones((10, 20), np.float32), np.full((10, 20), 2, np.float32)
session = etx.load(program_path).session()
session.set_cache(data)
saved = session.save()
planned, kept = folder / "planned.pte", folder / "kept.state"


def load():
    return etx.load(program_path).session().save() != saved


def run():
    session.set_cache(twice)  # what numpy does itself is not tried
    return True


def save():
    return session.save() is not None


def restore():
    session.restore(saved)
    return session.save() == saved


def save_file():
    session.save_to(kept)
    return kept.exists()


def restore_file():
    session.restore_from(kept)
    return True


def plan():
    etx.plan(model, planned)
    return planned.exists()


def try_all(work, check):
    assert work()
    faults.etx_fault_choose(0, False)
    assert work()
    places = faults.etx_fault_allocations()
    failed = 0
    for first in range(1, places + 1):
        for stays in (False, True):
            caught = None
            faults.etx_fault_choose(first, stays)
            try:
                done = work()
            except (etx.Error, MemoryError) as error:
                caught, done = error, None
            finally:
                faults.etx_fault_choose(0, False)
            assert caught is not None or done, (work.__name__, first, stays)
            failed += caught is not None
            assert not session.is_torn
            check()
    assert work()
    print(work.__name__, places, "places,", failed, "failures")


def check_state():
    assert (session.state["cache"] == session.state["cache"][0, 0]).all()


def check_file():
    session.restore_from(kept)
    check_state()


def check_plan():
    if planned.exists():
        assert etx.load(planned).session().save() is not None
    assert {path.name for path in folder.iterdir()} <= {"planned.pte", "kept.state"}


for work, check in ((load, check_state), (run, check_state), (save, check_state), (restore, check_state),
                    (save_file, check_file), (restore_file, check_state), (plan, check_plan)):
    try_all(work, check)
"""


@pytest.mark.skipif(not os.path.exists(LIBRARY), reason="ETX_FAULT_LIBRARY does not name the library of tests/faults")
def test_every_failed_allocation_is_survived(programs, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    folder = tmp_path / "files"
    folder.mkdir()
    ended = subprocess.run(
        [sys.executable, script, programs["stateful"], MODEL, folder],
        env=dict(os.environ, LD_PRELOAD=LIBRARY, OPENBLAS_NUM_THREADS="1"),
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr[-2000:]
    assert ended.stdout.count("places") == 7, ended.stdout
