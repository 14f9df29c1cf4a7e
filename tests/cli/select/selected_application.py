"""Shared by the checks of `etx select`: commands, and an application that is
linked with a table of kernels."""

import subprocess
import sys


def run(*words, cwd=None, code=0):
    done = subprocess.run([str(w) for w in words], cwd=cwd, text=True,
                          capture_output=True)
    if done.returncode != code:
        sys.exit(f"{words} ended with {done.returncode}, expected {code}:\n"
                 f"{done.stdout}{done.stderr}")
    return done


def expect(condition, text):
    if not condition:
        sys.exit(text)


def build_application(checks, name, selected):
    """tests/install/app.c with the table in folder `selected`, or with all kernels.
    `checks` has cc, source, build, and the folder of the result."""
    app = checks.folder / name
    libraries = [checks.build / f"libetx_{n}.a" for n in
                 ("module", "shared_memory", "runtime", "format")]
    sources = [checks.source / "tests/install/app.c"]
    words = [f"-I{checks.build / 'include'}"]
    if selected is not None:
        words.append(f"-I{selected}")
        sources.append(selected / "etx_selected.c")
    run(checks.cc, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror",
        "-DETX_HEADER=<etx/etx.h>", *words, *sources, "-o", app,
        "-Wl,--gc-sections", *libraries, "-lm")
    return app
