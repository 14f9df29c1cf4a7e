#!/usr/bin/env python3
"""Builds each program with only what it needs, and compares bits with a full build.

    scripts/selected_builds.py BUILD -o DIR [--compiler CC...] [--types] [SET...]

A SET is a folder or an archive that `etx plan` reads; the default is every recorded
set of tests/data/pt2. Each is planned, selected, and built by CMake as a project of
its own with the files of `etx select` (MinSizeRel, all instruction sets). Fails if a
program gives other bits than with the libraries of BUILD, or links a kernel that was
not selected, or lacks one; with --types, also if it is larger than with all types.

Takes about a minute a program and compiler on two cores.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
APPLICATION = ROOT / "tests/install/app.c"
PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(selected C)
include({folder}/selected.cmake)
{more}
add_subdirectory({root} etx)
add_executable(app {application})
target_compile_definitions(app PRIVATE "ETX_HEADER=<etx/etx.h>")
target_link_libraries(app PRIVATE etx::etx)
etx_use_selected(app)
"""


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], text=True,
                          capture_output=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def answer(program, plan, methods):
    """What the application writes, and how it ends: inputs of a pattern may be
    refused, which both builds must do with the same words."""
    done = subprocess.run([program, plan, *methods], text=True, capture_output=True)
    return done.returncode, done.stdout, done.stderr


def full_application(build, out):
    """The application with all kernels, of the libraries of `build`."""
    libraries = [build / f"libetx_{name}.a"
                 for name in ("module", "shared_memory", "runtime", "format")]
    run("cc", "-std=c11", "-O1", "-DETX_HEADER=<etx/etx.h>",
        f"-I{build / 'include'}", APPLICATION, "-o", out / "full",
        "-Wl,--gc-sections", *libraries, "-lm")
    return out / "full"


def selected_application(folder, out, compiler, more=""):
    """The application of a selection, built by CMake."""
    project = out / "project"
    project.mkdir(parents=True, exist_ok=True)
    (project / "CMakeLists.txt").write_text(PROJECT.format(
        folder=folder, root=ROOT, application=APPLICATION, more=more))
    run("cmake", "-S", project, "-B", out / "build", "-G", "Ninja",
        "-DCMAKE_BUILD_TYPE=MinSizeRel", f"-DCMAKE_C_COMPILER={compiler}",
        *(["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if "CCACHE_DIR" in os.environ
          else []))
    run("ninja", "-C", out / "build", "app")
    return out / "build/app"


def stripped_bytes(program):
    stripped = program.with_suffix(".stripped")
    run("strip", "-o", stripped, program)
    return stripped.stat().st_size


def kernels_of(program):
    return set(re.findall(r"\betx_kernel_(\w+)_prepare$", run("nm", program), re.M))


def methods_of(etx, plan):
    facts = json.loads(run(etx, "inspect", "--json", plan))
    return [method["name"] for method in facts["methods"]
            if not method["name"].startswith("et_module_init")]


def check(name, source, options, full):
    out = options.out / name
    out.mkdir(parents=True, exist_ok=True)
    etx, plan = options.build / "etx", out / "program.pte"
    run(etx, "plan", source, "-o", plan, "--quiet")
    run(etx, "select", plan, "-o", out / "selected")
    table = (out / "selected/etx_selected.c").read_text()
    wanted = set(re.findall(r"&etx_op_row_(\w+)", table))
    methods = methods_of(etx, plan)
    expected = answer(full, plan, methods)
    if not expected[1]:
        raise SystemExit(f"{name}: no method runs: {expected[2]}")
    for compiler in options.compilers:
        small = selected_application(out / "selected", out / compiler, compiler)
        found = answer(small, plan, methods)
        if found != expected:
            raise SystemExit(f"{name}, {compiler}: {found}, expected {expected}")
        if kernels_of(small) != wanted:
            raise SystemExit(f"{name}, {compiler}: linked or missing: "
                             f"{kernels_of(small) ^ wanted}")
        all_types = selected_application(
            out / "selected", out / f"{compiler}-all-types", compiler,
            'set(ETX_DTYPES "" CACHE STRING "" FORCE)') if options.types else small
        sizes = stripped_bytes(small), stripped_bytes(all_types)
        if sizes[0] > sizes[1]:
            raise SystemExit(f"{name}, {compiler}: {sizes[0]} bytes, with all types "
                             f"{sizes[1]}")
        print(f"{name}, {compiler}: {sizes[0]} bytes, same bits", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("-o", dest="out", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", dest="compilers", action="append",
                        help="default: gcc and clang")
    parser.add_argument("--types", action="store_true",
                        help="compare sizes with a build of all types, too")
    parser.add_argument("sets", nargs="*", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    options.build, options.out = options.build.resolve(), options.out.resolve()
    options.compilers = options.compilers or ["gcc", "clang"]
    options.out.mkdir(parents=True, exist_ok=True)
    sets = options.sets or sorted(
        path for path in (ROOT / "tests/data/pt2").iterdir()
        if path.is_dir() and list(path.glob("*.pt2")) + list(path.glob("*.yaml")))
    full = full_application(options.build, options.out)
    for source in sets:
        check(source.stem, source, options, full)
    return 0


if __name__ == "__main__":
    sys.exit(main())
