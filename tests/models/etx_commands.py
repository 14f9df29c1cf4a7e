"""The commands that the checks of models run, and ExecuTorch's runtime if its
package is installed.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "interop"))

try:
    import run_interop
except SystemExit:  # it leaves where ExecuTorch's runtime is not installed
    run_interop = None


def has_stock_runtime():
    return run_interop is not None


def step(words):
    """What a command said, or None if it ended well."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    lines = (done.stderr + done.stdout).strip().splitlines()
    return f"{words[1]} ended with {done.returncode}\n  " + "\n  ".join(
        lines[:6])


def try_stock(directory, program):
    """What differs in ExecuTorch's runtime, or None."""
    with open(os.path.join(directory, "cases.json")) as file:
        case = json.load(file)
    tensors = run_interop.load_file(
        os.path.join(directory, "expected.safetensors"))
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            if run_interop.run_set(program, case, tensors, "stock runtime"):
                return None
    except RuntimeError as error:
        said.write(str(error).splitlines()[0])
    return "\n  ".join(said.getvalue().splitlines()[:6])


def optional_passes(etx):
    """Names of the passes that may be switched off."""
    done = subprocess.run([etx, "plan", "--help"], capture_output=True,
                          text=True, check=True)
    names = re.findall(r"^ +-(\w+): ", done.stdout, re.MULTILINE)
    if not names:
        raise RuntimeError("'etx plan --help' lists no passes")
    return names
