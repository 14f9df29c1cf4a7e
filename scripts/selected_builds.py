#!/usr/bin/env python3
"""Builds each program with only what it needs, and compares bits with a full build.

    scripts/selected_builds.py BUILD -o DIR [--compiler CC...] [--types] [SET...]

A SET is a folder or an archive that `etx plan` reads; the default is every recorded
set of tests/data/pt2 and the models of samples/. Each is planned, and its sources
(`etx select --amalgamate module`) are compiled with -Os, all warnings as errors, and
linked with tests/install/app.c. Fails if a program gives other bits than with the
libraries of BUILD, or if the image has a kernel or a schema that was not selected, or
lacks one.

--types  compares sizes, too: the image with the types of the program is not larger
         than one that has all types for the same operators.
--each   removes types one after the other, from all to those of the program: no
         removal makes the image larger. Takes ten times as long.
--shared builds libetx.so by CMake with -DETX_SELECTED, and links the application
         with it; it must have no other kernels.
--machine NAME  the sources are for this processor (`etx select --machine`).
--cmake  builds the whole library by CMake with `selected.cmake` instead, which takes
         about a minute a program and compiler.

All sets with gcc and clang take about 20 minutes on two cores; with ccache, those that
did not change take none. Runs overnight, and on two sets as a test.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
APPLICATION = ROOT / "tests/install/app.c"
# Functions that the application calls and the library itself does not.
KEPT = ("etx_program_input_at", "etx_dtype_bytes")
FLAGS = ("-std=c11", "-Os", "-Wall", "-Wextra", "-Werror", "-ffunction-sections",
         "-fdata-sections", "-DETX_HEADER=<etx.h>")
# gcc merges equal kernels and keeps the name of one, which may not be the wanted one.
GCC_FLAGS = ("-fno-ipa-icf",)
# Limits of sizes that depend on elements, which these models do not state.
CAPS = {"routed": ("indices.u0=64", "spread.u0=64", "unlimited.u0=64")}
# The runtime itself makes these views (etx_op_find_view), so it has their schemas.
VIEWS = {"et_view_default", "part_view_default", "part_after_default"}
PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(selected C)
include({folder}/selected.cmake)
add_subdirectory({root} etx)
add_executable(app {application})
target_compile_definitions(app PRIVATE "ETX_HEADER=<etx/etx.h>")
target_link_libraries(app PRIVATE etx::etx)
etx_use_selected(app)
"""


class Failure(Exception):
    """A program that fails a check, or a command that fails."""


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], text=True,
                          capture_output=True, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def answers(program, plan, methods):
    """What the application writes and how it ends, for all methods in one session and
    for each alone: generated inputs may be refused, which both builds must do with the
    same words. Also the number of methods that ran."""
    all_answers, ran = [], 0
    for i, names in enumerate([methods, *([name] for name in methods)]):
        done = subprocess.run([program, plan, *names], text=True, capture_output=True)
        all_answers.append((done.returncode, done.stdout, done.stderr))
        ran += i > 0 and done.returncode == 0
    return all_answers, ran


def full_application(build, out):
    """The application with all kernels, of the libraries of `build`."""
    libraries = [build / f"libetx_{name}.a"
                 for name in ("module", "shared_memory", "runtime", "format")]
    run("cc", "-std=c11", "-O1", "-DETX_HEADER=<etx/etx.h>",
        f"-I{build / 'include'}", APPLICATION, "-o", out / "full",
        "-Wl,--gc-sections", *libraries, "-lm")
    return out / "full"


def cmake_application(plan, out, compiler, options):
    """The application of a selection, built by CMake."""
    run(options.build / "etx", "select", plan, "-o", out / "selected")
    project = out / "project"
    project.mkdir(parents=True, exist_ok=True)
    (project / "CMakeLists.txt").write_text(PROJECT.format(
        folder=out / "selected", root=ROOT, application=APPLICATION))
    run("cmake", "-S", project, "-B", out / "build", "-G", "Ninja",
        "-DCMAKE_BUILD_TYPE=MinSizeRel", f"-DCMAKE_C_COMPILER={compiler}",
        *(["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []))
    run("ninja", "-C", out / "build", "app")
    return out / "build/app"


def shared_application(plan, out, compiler, options):
    """The application with the shared library of a selection, built by CMake."""
    run(options.build / "etx", "select", plan, "-o", out / "selected")
    run("cmake", "-S", ROOT, "-B", out / "library", "-G", "Ninja",
        f"-DETX_SELECTED={out / 'selected'}", "-DETX_SHARED=ON",
        "-DCMAKE_BUILD_TYPE=MinSizeRel", f"-DCMAKE_C_COMPILER={compiler}",
        *(["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []))
    run("ninja", "-C", out / "library", "etx_shared")
    library = out / "library/libetx.so"
    run(compiler, "-std=c11", "-O1", "-DETX_HEADER=<etx/etx.h>",
        f"-I{out / 'library/include'}", APPLICATION, "-o", out / "app", library,
        f"-Wl,-rpath,{out / 'library'}")
    return out / "app"


def selected_application(plan, out, compiler, options):
    """The application with the sources of a selection: of a program or a list."""
    run(options.build / "etx", "select", plan, "--amalgamate", "module", "-o", out,
        *(("--machine", options.machine) if options.machine else ()),
        *(word for name in KEPT for word in ("--keep", name)))
    cache = ["ccache"] if shutil.which("ccache") else []
    flags = FLAGS if "clang" in run(compiler, "--version") else FLAGS + GCC_FLAGS
    run(*cache, compiler, *flags, "-c", "etx.c", "-o", "etx.o", cwd=out)
    run(compiler, *FLAGS, "-I.", APPLICATION, "etx.o", "-o", "app",
        "-Wl,--gc-sections,-Map=app.map", "-lm", cwd=out)
    return out / "app"


def image_bytes(program):
    """The bytes of code, constants and data; those of a file are rounded to pages."""
    text, data = run("size", program).splitlines()[1].split()[:2]
    return int(text) + int(data)


def kernels_of(program):
    return set(re.findall(r"\betx_kernel_(\w+)_prepare$", run("nm", program), re.M))


def check_symbols(program, wanted):
    """The image has the kernels and schemas of the table and no others, by its symbols
    and by the sections of its link map."""
    kernels = kernels_of(program)
    if kernels != wanted:
        raise Failure(f"kernels linked or missing: {sorted(kernels ^ wanted)}")
    rows = set(re.findall(r"\betx_op_row_(\w+)$", run("nm", program), re.M))
    if rows - VIEWS != wanted:
        raise Failure(f"schemas linked or missing: {sorted(rows ^ wanted)}")
    link_map = program.with_name("app.map")
    if not link_map.exists():
        return
    linked = link_map.read_text().split("\nLinker script and memory map\n")[1]
    in_map = set(re.findall(r"^ \.text\.etx_kernel_(\w+)_prepare$", linked, re.M))
    if not in_map <= wanted:
        raise Failure(f"kernels in the link map: {sorted(in_map - wanted)}")


def with_types(text, keep=None):
    """A list of operators with all types for each, or with types of `keep` only."""
    rows = []
    for line in text.splitlines():
        if line.startswith("  - v1/"):
            if rows[-1].startswith("  - "):
                continue
            keys = ["default"] if keep is None else [
                f"v1/{code};0" for code in sorted(keep)]
            rows += [f"  - {key}" for key in keys]
        else:
            rows.append(line)
    return "\n".join(rows) + "\n"


def types_of(text):
    """The codes of element types in the keys of a list of operators."""
    return {int(tensor.split(";")[0])
            for key in re.findall(r"^  - v1/(\S+)$", text, re.M)
            for tensor in key.split("|")}


def check_types(plan, out, compiler, options):
    """No image is smaller with more types. Lists are compared with lists: a list always
    has dynamic sizes and all steps of chains, which a program may not need."""
    out.mkdir(parents=True, exist_ok=True)
    run(options.build / "etx", "select", plan, "-o", out / "own")
    own = (out / "own/selected_operators.yaml").read_text()
    lists = [("own", own)]
    if options.each:
        codes = {int(row["code"]) for row in DTYPES}
        more = types_of(own)
        for code in sorted(codes - more):
            more = more | {code}
            lists.append((f"up_to_{code}", with_types(own, more)))
    lists.append(("all", with_types(own)))
    sizes = []
    for name, text in lists:
        path = out / f"{name}.yaml"
        path.write_text(text)
        program = selected_application(path, out / f"{name}_sources", compiler, options)
        sizes.append((image_bytes(program), name))
    for less, more in zip(sizes, sizes[1:]):
        if less[0] > more[0]:
            raise Failure(f"{less[0]} bytes with types '{less[1]}', {more[0]} with "
                          f"'{more[1]}', which are more")
    return f", {sizes[0][0]} of {sizes[-1][0]} bytes with all types as a list"


def dtype_rows():
    text = (ROOT / "format/tensor/dtype.def").read_text()
    return [{"code": code} for code in
            re.findall(r"^DTYPE\(\w+, *\w+, *(\d+)", text, re.M)]


DTYPES = dtype_rows()


def check(name, plan, expected, compiler, options):
    out = options.out / name / pathlib.Path(compiler).name
    out.mkdir(parents=True, exist_ok=True)
    build = (cmake_application if options.cmake else shared_application
             if options.shared else selected_application)
    small = build(plan, out, compiler, options)
    found = answers(small, plan, methods_of(plan, options))
    if found != expected:
        raise Failure(f"{found}, expected {expected}")
    if options.shared:
        small = out / "library/libetx.so"  # has the kernels
    run(options.build / "etx", "select", plan, "-o", out / "table")
    table = (out / "table/etx_selected.c").read_text()
    wanted = set(re.findall(r"&etx_op_row_(\w+)", table))
    check_symbols(small, wanted)
    types = (check_types(plan, out / "types", compiler, options)
             if options.types or options.each else "")
    return (f"{image_bytes(small)} bytes, {len(wanted)} kernels, same bits in "
            f"{found[1]} of {len(found[0]) - 1} methods{types}")


def methods_of(plan, options):
    facts = json.loads(run(options.build / "etx", "inspect", "--json", plan))
    return [method["name"] for method in facts["methods"]
            if not method["name"].startswith("et_module_init")]


def prepare(source, full, options):
    """Plans a set; returns the program and what the full build answers."""
    out = options.out / source.stem
    out.mkdir(parents=True, exist_ok=True)
    plan = out / "program.pte"
    caps = (word for cap in CAPS.get(source.stem, ()) for word in ("--cap", cap))
    run(options.build / "etx", "plan", source, "-o", plan, "--quiet", *caps)
    expected = answers(full, plan, methods_of(plan, options))
    if not any(answer[1] for answer in expected[0]):
        raise Failure(f"no method runs: {expected[0]}")
    return plan, expected


def default_sets():
    recorded = sorted(path for path in (ROOT / "tests/data/pt2").iterdir()
                      if path.is_dir())
    return [path for path in recorded
            if list(path.glob("*.pt2")) + list(path.glob("*.yaml"))] + [
        ROOT / "samples/stateful_model", ROOT / "samples/translate/model/pt2"]


def check_set(source, full, options):
    """Checks one set with all compilers; returns the lines of its report and of its
    failures."""
    done, failed = [], []
    try:
        plan, expected = prepare(source, full, options)
    except Failure as failure:
        return [], [f"{source.stem}: {failure}"]
    for compiler in options.compilers:
        title = f"{source.stem}, {pathlib.Path(compiler).name}"
        try:
            done.append(f"{title}: "
                        f"{check(source.stem, plan, expected, compiler, options)}")
        except Failure as failure:
            failed.append(f"{title}: {failure}")
    return done, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("-o", dest="out", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", dest="compilers", action="append",
                        help="default: gcc and clang")
    parser.add_argument("--types", action="store_true",
                        help="compare sizes with those with all types, too")
    parser.add_argument("--each", action="store_true",
                        help="compare sizes with one type more, and so on")
    parser.add_argument("--machine", choices=("x86", "arm64", "portable"),
                        help="the processor of the sources (default: all)")
    parser.add_argument("--cmake", action="store_true",
                        help="build the whole library by CMake")
    parser.add_argument("--shared", action="store_true",
                        help="build libetx.so by CMake")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="sets that are built side by side (default: cores)")
    parser.add_argument("sets", nargs="*", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    options.build, options.out = options.build.resolve(), options.out.resolve()
    options.compilers = options.compilers or ["gcc", "clang"]
    options.out.mkdir(parents=True, exist_ok=True)
    full = full_application(options.build, options.out)
    failures = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        sets = [path.resolve() for path in options.sets] or default_sets()
        for done, failed in pool.map(lambda s: check_set(s, full, options), sets):
            failures += failed
            print("\n".join(done + [f"FAILED {line}" for line in failed]), flush=True)
    print(f"{len(sets)} programs, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
