#!/usr/bin/env python3
"""Writes the runtime that some programs need: their operators and nothing else.

    select_operators.py --build BUILD [--dtypes "float32;int64"]
                        [--without DYNAMIC] [--tile-bytes 1024] -o DIR PROGRAM.pte...

DIR/program_kernels.c  the kernel table of the operators of all programs
DIR/etx.c, DIR/etx.h   the sources that these kernels and the runtime reach
DIR/operators.txt      the operators, for people
DIR/flags.txt          the definitions to compile them with

BUILD is a build of etx for this machine. Its libraries are linked once with the
short table, and the linker states which files are reached. A file that only
another processor reaches is found in the same way: the portable loops take the
place of this machine's loops, and those of AArch64 are always added.
"""

import argparse
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
RUNTIME = ROOT / "runtime"

# What an application calls. The linker drops what it does not call.
ENTRIES = """etx_diag_init etx_program_open etx_method_needed etx_method_init
etx_method_set_input etx_method_run etx_method_output etx_shared_memory_needed
etx_shared_memory_init etx_shared_memory_allocator etx_shared_memory_find
etx_shared_memory_reset""".split()


def operator_names(etx, program):
    """The operators that the methods of a program call, by their full names."""
    answer = subprocess.run([etx, "inspect", "--json", program], check=True,
                            capture_output=True, text=True).stdout
    operators = json.loads(answer)["operators"]
    unknown = [row["name"] for row in operators if not row["known"]]
    if unknown:
        raise SystemExit(f"{program}: etx has no operator {', '.join(unknown)}")
    return {row["name"] for row in operators}


def symbols_by_name():
    """Full names of operators to the symbols of op_schema.def."""
    text = (ROOT / "format/ops/op_schema.def").read_text()
    rows = re.findall(r'^OP\((\w+), "([^"]+)", "([^"]*)"', text, re.M)
    return {f"{name}.{overload}" if overload else name: symbol
            for symbol, name, overload in rows}


def temporary_functions():
    """Symbols of operators to the functions that state temporary memory."""
    text = (RUNTIME / "kernels/registry/temporary_kernels.h").read_text()
    return dict(re.findall(r"^#define ETX_TEMPORARY_(\w+) , (\w+)", text, re.M))


def kernel_table(symbols, header):
    """The C source of a table with the kernels of `symbols`."""
    temporary = temporary_functions()
    functions = sorted({temporary[s] for s in symbols if s in temporary})
    lines = ["// The kernels of these programs. Written by select_operators.py.",
             f'#include "{header}"', ""]
    lines += [f"etx_status etx_kernel_{s}_prepare(etx_call* call);"
              for s in symbols]
    lines += [f"etx_status {f}(const etx_call* call, size_t* out_bytes);"
              for f in functions]
    lines += ["", "static const etx_kernel rows[] = {"]
    lines += [f"    {{&etx_op_row_{s}, etx_kernel_{s}_prepare, "
              f"{temporary.get(s, 'NULL')}}}," for s in symbols]
    lines += ["};", "", "extern const etx_kernel_table program_kernels;",
              "const etx_kernel_table program_kernels = {",
              "    rows, sizeof rows / sizeof rows[0]};", ""]
    return "\n".join(lines)


def reached_objects(build, table, work):
    """The names of the source files that the linker keeps for `table`."""
    portable = sorted((RUNTIME / "kernels/arch/portable").glob("*.c"))
    objects = []
    for source in [table, *portable]:
        objects.append(work / (source.stem + ".o"))
        subprocess.run(["cc", "-std=c11", "-O1", "-ffunction-sections",
                        "-fdata-sections", "-I", ROOT, "-c", source, "-o",
                        objects[-1]], check=True)
    libraries = [build / f"libetx_{name}.a"
                 for name in ("shared_memory", "runtime", "format")]
    link_map = work / "reached.map"
    subprocess.run(
        ["cc", "-nostdlib", "-static", "-no-pie", "-o", work / "reached",
         "-Wl,--gc-sections", "-Wl,--entry=etx_program_open",
         "-Wl,--unresolved-symbols=ignore-all", f"-Wl,-Map={link_map}",
         "-Wl,-u,program_kernels", *(f"-Wl,-u,{name}" for name in ENTRIES),
         *objects, *libraries], check=True)
    return kept_files(link_map.read_text())


def kept_files(text):
    """Names of the source files of which the link map has code or constants."""
    text = text[text.index("Linker script and memory map"):]
    text = re.sub(r"\n +(0x[0-9a-f]+ +0x[0-9a-f]+ )", r" \1", text)
    rows = re.findall(r"^ \.(?:text|rodata|data)\S* +0x([0-9a-f]+) +"
                      r"0x([0-9a-f]+) (\S+)", text, re.M)
    kept = set()
    for address, size, path in rows:
        member = re.search(r"([\w.]+?)(?:\.c)?\.o\)?$", path)
        if int(address, 16) and int(size, 16) and member:
            kept.add(member.group(1) + ".c")
    return kept


def reached_sources(build, table, work):
    """The source files of the runtime that programs with `table` need."""
    kept = reached_objects(build, table, work)
    sources = [path for folder in ("format", "runtime", "shared_memory")
               for path in sorted((ROOT / folder).rglob("*.c"))
               if path.name in kept and "/x86/" not in str(path)]
    sources += sorted((RUNTIME / "kernels/arch/arm64").glob("*.c"))
    return [str(path.relative_to(ROOT)) for path in sources]


def dtype_bits(names, work):
    """The definition that leaves other element types out, as CMake computes it."""
    script = work / "dtype_bits.cmake"
    script.write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        f'include("{ROOT}/cmake/built_types.cmake")\n'
        f'etx_dtype_bits("{names}" "{ROOT}/format/tensor/dtype.def" bits)\n'
        'message("bits ${bits}")\n')
    answer = subprocess.run(["cmake", "-P", script], check=True, text=True,
                            capture_output=True).stderr
    return "-DETX_BUILT_DTYPES=" + re.search(r"bits (0x\w+)", answer).group(1)


def amalgamate(sources, version, out):
    """Writes etx.c and etx.h of `sources`."""
    subprocess.run(["awk", "-v", f"root={ROOT}", "-v", f"out={out}", "-v",
                    f"version={version}", "-v", "dotprod=dotprod", "-f",
                    ROOT / "package/amalgamate.awk", *sources], check=True)


def write_if_changed(path, text):
    """Leaves a file alone that has the text: builds then have nothing to do."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("-o", dest="out", type=pathlib.Path, required=True)
    parser.add_argument("--dtypes", help="element types; default: all")
    parser.add_argument("--without", action="append", default=[],
                        help="a part to leave out: MESSAGES, VERIFIER, DYNAMIC")
    parser.add_argument("--tile-bytes", type=int, default=8192,
                        help="ETX_TILE_BYTES, the stack of elementwise loops")
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    names = set()
    for program in options.programs:
        names |= operator_names(options.build / "etx", program)
    symbols = symbols_by_name()
    selected = [symbols[name] for name in sorted(names)]
    (options.out / "operators.txt").write_text("\n".join(sorted(names)) + "\n")

    work = options.out / "work"
    work.mkdir(exist_ok=True)
    flags = [f"-DETX_TILE_BYTES={options.tile_bytes}"]
    flags += [f"-DETX_{part}=0" for part in options.without]
    if options.dtypes:
        flags.append(dtype_bits(options.dtypes, work))
    write_if_changed(options.out / "flags.txt", " ".join(flags) + "\n")
    table = work / "program_kernels.c"
    table.write_text(kernel_table(selected, "runtime/kernels/registry/kernels.h"))
    sources = reached_sources(options.build, table, work)
    version = re.search(r"project\(etx VERSION ([0-9.]+)",
                        (ROOT / "CMakeLists.txt").read_text()).group(1)
    amalgamate(sources, version, work)
    for name in ("etx.c", "etx.h"):
        write_if_changed(options.out / name, (work / name).read_text())
    write_if_changed(options.out / "program_kernels.c",
                     kernel_table(selected, "etx.h"))


if __name__ == "__main__":
    main()
