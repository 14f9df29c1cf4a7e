#!/usr/bin/env python3
"""How large selected builds are, and their sources (the table of docs/size.md).

    scripts/selected_sizes.py BUILD -o DIR [--no-limits]

Writes the sources of four programs (`etx select --amalgamate core --machine portable`),
with all parts and with fewer, compiles them with gcc -Os for this machine, and links
what an application without a heap calls, as part of a static program: code and
constants, without a C library and without the application. Fails if something is larger
than its limit.

With the comfortable layer, which has a heap and files (`--amalgamate module`), the
application calls what tests/install/app.c calls. The second table has that application
as a dynamic executable, stripped.
"""

import argparse
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ADD = """\
etx: 1
method: forward
inputs:
  - {name: x, type: "float32[4]"}
  - {name: y, type: "float32[4]"}
nodes:
  - {out: sum, op: aten.add.Tensor, args: [x, y]}
outputs: [sum]
"""
FLAGS = ("-std=c11", "-Os", "-DNDEBUG", "-fno-pie", "-fno-asynchronous-unwind-tables",
         "-ffunction-sections", "-fdata-sections", "-ffp-contract=off")
LINK = ("-nostdlib", "-static", "-no-pie", "-Wl,--gc-sections",
        "-Wl,--entry=etx_program_open", "-Wl,--unresolved-symbols=ignore-all",
        "-Wl,--build-id=none", "-Wl,-z,noseparate-code", "-Wl,-u,etx_selected_kernels")
APPLICATION = ROOT / "tests/install/app.c"
# Functions that it calls beside those of the module layer.
KEPT = ("etx_program_input_at", "etx_dtype_bytes")
# What an application calls to run a method with state.
ROOTS = ("etx_program_open", "etx_method_needed", "etx_method_init",
         "etx_method_set_input", "etx_method_run", "etx_method_output",
         "etx_shared_memory_needed", "etx_shared_memory_init",
         "etx_shared_memory_allocator")
# What an application of the module layer calls.
MODULE_ROOTS = ("etx_module_open", "etx_module_shared_open", "etx_module_load_method",
                "etx_module_execute", "etx_module_output", "etx_module_close",
                "etx_module_shared_allocator", "etx_module_shared_close",
                "etx_program_input_at", "etx_dtype_bytes", "etx_status_name")
MODULE = " with modules"
PARTS = {"all parts": (), "no messages": ("messages",),
         "no messages, no verifier": ("messages", "verifier")}
# The most bytes of code and constants, and of etx.c, by program and parts.
LIMITS = {
    ("add", "all parts"): (65000, 416000),
    ("add", "no messages"): (40000, 386000),
    ("add", "no messages, no verifier"): (31200, 311000),
    ("gru", "no messages"): (61000, 500000),
    ("gru", "no messages, no verifier"): (52000, 425000),
    ("stateful", "no messages"): (63000, 464000),
    ("translator", "all parts"): (173500, 900000),
    ("translator" + MODULE, "all parts"): (188000, 983000),
}
# The most bytes of an executable, by program and parts.
EXECUTABLES = {
    ("add", "all parts"): 97000,
    ("add", "no messages"): 62000,
    ("translator", "all parts"): 213000,
    ("translator", "no messages"): 171000,
}


def run(*words):
    subprocess.run([str(word) for word in words], check=True,
                   stdout=subprocess.DEVNULL)


def programs(options):
    """The programs, by name."""
    add = options.out / "add"
    add.mkdir(parents=True, exist_ok=True)
    (add / "forward.yaml").write_text(ADD)
    sources = {"add": add, "gru": ROOT / "tests/data/pt2/gru",
               "stateful": ROOT / "samples/stateful_model",
               "translator": ROOT / "samples/translate/model/pt2"}
    for name, source in sources.items():
        plan = options.out / f"{name}.pte"
        run(options.build / "etx", "plan", source, "-o", plan, "--quiet")
        yield name, plan
    yield "translator" + MODULE, options.out / "translator.pte"


def seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def select(plan, layer, parts, out, options, *more):
    left_out = [word for part in PARTS[parts] for word in ("--leave-out", part)]
    run(options.build / "etx", "select", plan, "--amalgamate", layer, "--machine",
        "portable", "-o", out, *left_out, *more)


def measure(name, plan, parts, options):
    """Bytes of code and constants, bytes of etx.c, and seconds of the compiler's processor."""
    is_module = name.endswith(MODULE)
    out = options.out / f"{name}-{'-'.join(PARTS[parts]) or 'all'}".replace(" ", "-")
    keep = [word for kept in KEPT for word in ("--keep", kept)] if is_module else []
    select(plan, "module" if is_module else "core", parts, out, options, *keep)
    before = seconds_of_children()
    run("gcc", *FLAGS, "-c", out / "etx.c", "-o", out / "etx.o")
    seconds = seconds_of_children() - before
    roots = MODULE_ROOTS if is_module else ROOTS
    run("gcc", *LINK, *(f"-Wl,-u,{root}" for root in roots), out / "etx.o",
        "-o", out / "image")
    text = subprocess.run(["size", "-A", out / "image"], check=True, text=True,
                          capture_output=True).stdout
    code = sum(int(size) for size in
               re.findall(r"^\.(?:text|rodata|data)\S* +(\d+)", text, re.M))
    return code, (out / "etx.c").stat().st_size, seconds


def measure_executable(plan, parts, options):
    """Bytes of an application of the module layer."""
    out = plan.with_name(f"{plan.stem}-module-{'-'.join(PARTS[parts]) or 'all'}")
    select(plan, "module", parts, out, options,
           *(word for name in KEPT for word in ("--keep", name)))
    run("gcc", *FLAGS, "-fpie", "-DETX_HEADER=<etx.h>", f"-I{out}", APPLICATION,
        out / "etx.c", "-o", out / "app", "-pie", "-s", "-Wl,--gc-sections", "-lm")
    return (out / "app").stat().st_size


def print_executables(options):
    """The table of executables; returns what is too large."""
    too_large = []
    print("\n| program | parts | bytes of the executable |\n|---|---|---|")
    for (name, parts), most in EXECUTABLES.items():
        bytes_ = measure_executable(options.out / f"{name}.pte", parts, options)
        print(f"| {name} | {parts} | {bytes_} |", flush=True)
        if bytes_ > most:
            too_large.append(f"{name}, {parts}: an executable of {bytes_} bytes, at "
                             f"most {most} are allowed")
    return too_large


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("-o", dest="out", type=pathlib.Path, required=True)
    parser.add_argument("--no-limits", action="store_true")
    options = parser.parse_args()
    options.build, options.out = options.build.resolve(), options.out.resolve()
    too_large = []
    print("| program | parts | code and constants | bytes of `etx.c` | seconds |")
    print("|---|---|---|---|---|")
    for name, plan in programs(options):
        for parts in PARTS:
            code, source, seconds = measure(name, plan, parts, options)
            print(f"| {name} | {parts} | {code} | {source} | {seconds:.1f} |", flush=True)
            for bytes_, most in zip((code, source), LIMITS.get((name, parts), ())):
                if bytes_ > most:
                    too_large.append(f"{name}, {parts}: {bytes_} bytes, at most "
                                     f"{most} are allowed")
    too_large += print_executables(options)
    if too_large and not options.no_limits:
        sys.exit("\n".join(too_large))


if __name__ == "__main__":
    main()
