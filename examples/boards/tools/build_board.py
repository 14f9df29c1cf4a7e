#!/usr/bin/env python3
"""Builds an application for a board of boards.txt, and runs it in the emulator.

    build_board.py BOARD --runtime DIR --program FILE.pte --header FILE.h
                   [--stack BYTES] [--run] [-o DIR] main.c [more.c...]

DIR of --runtime is what `etx select --amalgamate core` wrote. The header of `etx plan
--header` goes to the output folder with one more row, ..._STACK_BYTES: the bytes
of stack that calls of the runtime need on this board (stack_bound.py).
"""

import argparse
import pathlib
import re
import shlex
import subprocess

import stack_bound

BOARDS = pathlib.Path(__file__).resolve().parents[1]
ENTRIES = re.findall(r"^ENTRY\((\w+)\)", (
    BOARDS.parents[1] / "cli/amalgamate/entry_points.def").read_text(), re.M)
SOURCES = ["board_stack.c", "memory_start.c", "semihosting.c",
           "applications/print_results.c"]

# Smaller than the machine that planned has, which must not change a bit.
TILE_BYTES = 1024

# Bytes of stack for the application's own frames and the startup.
APPLICATION_STACK_BYTES = 512


def boards():
    """The rows of boards.txt, by name."""
    rows = {}
    for line in (BOARDS / "boards.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split("|")]
            rows[cells[0]] = dict(zip(("name", "processor", "compiler", "flags",
                                       "script", "startup", "emulator"), cells))
    return rows


class Build:
    """The folder of one application on one board."""

    def __init__(self, board, runtime, out, definitions=()):
        self.board, self.runtime, self.out = board, runtime, out
        self.flags = shlex.split(board["flags"]) + [
            "-std=c11", "-Os", "-DNDEBUG", f"-DETX_TILE_BYTES={TILE_BYTES}",
            "-ffunction-sections", "-fdata-sections", "-ffp-contract=off",
            f"-I{out}", f"-I{runtime}", f"-I{BOARDS}",
            f"-I{BOARDS}/applications", *definitions]
        out.mkdir(parents=True, exist_ok=True)

    def compile(self, source, to, flags=()):
        subprocess.run([self.board["compiler"], *self.flags, *flags, "-c", source,
                        "-o", to], check=True)
        return to

    def compile_runtime(self):
        """Compiles etx.c once for each board, since it takes longest."""
        to = self.runtime / self.board["name"] / "etx.o"
        to.parent.mkdir(exist_ok=True)
        source = self.runtime / "etx.c"
        newest = max(path.stat().st_mtime
                     for path in (source, self.runtime / "etx.h"))
        if not to.exists() or to.stat().st_mtime < newest:
            self.compile(source, to, [*stack_bound.dump_flags(to), "-Wall",
                                      "-Wextra", "-Werror"])
        return [to]

    def write_header(self, header, objects):
        """Adds the stack to the header of the program; returns its bytes."""
        program = stack_bound.Program()
        for path in objects:
            program.read(path)
        entries = [name for name in ENTRIES if name in program.frames]
        total, chain = stack_bound.bound(program, [*entries, "etx_selected_kernels"])
        total = (total + 7) // 8 * 8
        text = header.read_text()
        name = re.search(r"#ifndef (\w+)_H\n", text).group(1)
        row = ("// stack for any call of the runtime, without the application's "
               f"own\n#define {name}_STACK_BYTES {total}\n")
        (self.out / header.name).write_text(text.replace("\n#endif", row + "\n#endif"))
        (self.out / "stack_chain.txt").write_text(
            "".join(f"{size:6} {function}\n" for function, size in chain))
        # An application that lies beside the header of `etx plan` includes that.
        self.flags.append(f"-D{name}_STACK_BYTES={total}")
        return total

    def link(self, objects, stack):
        elf = self.out / "application.elf"
        subprocess.run(
            [self.board["compiler"], *self.flags, "-nostartfiles", "-static",
             "-Wl,--gc-sections", "-Wl,--build-id=none", f"-L{BOARDS}",
             f"-T{BOARDS / self.board['script']}",
             f"-Wl,--defsym=BOARD_STACK_BYTES={stack}",
             f"-Wl,-Map={self.out / 'application.map'}", *objects, "-lm", "-lc",
             "-lgcc", "-o", elf], check=True)
        return elf

    def application(self, sources, program, header, stack=None, flags=()):
        """Builds the image; returns its path, and the bytes of its stack."""
        runtime = self.compile_runtime()
        needed = self.write_header(header, runtime)
        stack = stack or needed + APPLICATION_STACK_BYTES
        objects = list(runtime)
        startup = self.board["startup"].split()
        for source in [*sources, *(BOARDS / name for name in SOURCES + startup)]:
            source = pathlib.Path(source)
            objects.append(self.compile(
                source, self.out / (source.stem + ".o"),
                [f'-DPROGRAM_FILE="{program}"', f"-DBOARD_STACK_BYTES={stack}",
                 f"-I{header.resolve().parent}", "-Wall", "-Wextra",
                 *flags]))
        return self.link(objects, stack), stack


def run(board, elf, seconds=60):
    """Runs an image; returns the emulator's exit code and what it wrote."""
    flash = elf.with_suffix(".bin")
    compiler = board["compiler"]
    objcopy = compiler[:-len("gcc")] + "objcopy"
    subprocess.run([objcopy, "-O", "binary", elf, flash], check=True)
    emulator = board["emulator"]
    if "FLASH32M" in emulator:
        with flash.open("r+b") as file:
            file.truncate(32 << 20)
    emulator = emulator.replace("FLASH32M", str(flash)).replace("FLASH", str(flash))
    command = shlex.split(emulator.replace("ELF", str(elf)))
    answer = subprocess.run(
        [*command, "-nographic", "-monitor", "none", "-serial", "none", "-icount",
         "shift=0", "-semihosting-config", "enable=on,target=native"],
        capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    return answer.returncode, answer.stdout + answer.stderr


def sizes(board, elf):
    """Bytes of flash and of RAM, the stack included."""
    tool = board["compiler"][:-len("gcc")] + "size"
    text = subprocess.run([tool, "-A", elf], check=True, capture_output=True,
                          text=True).stdout
    size = {name: int(number) for name, number in
            re.findall(r"^\.(\w+)\s+(\d+)", text, re.M)}
    flash = size.get("text", 0) + size.get("data", 0)
    ram = sum(size.get(name, 0) for name in ("stack", "data", "bss", "slow_memory"))
    return flash, ram


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("board", choices=boards())
    parser.add_argument("--runtime", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--header", type=pathlib.Path, required=True)
    parser.add_argument("--stack", type=int)
    parser.add_argument("--define", action="append", default=[])
    parser.add_argument("--run", action="store_true")
    parser.add_argument("-o", dest="out", type=pathlib.Path, default="board-build")
    parser.add_argument("sources", nargs="+")
    options = parser.parse_args()
    board = boards()[options.board]
    build = Build(board, options.runtime.resolve(), options.out.resolve(),
                  [f"-D{name}" for name in options.define])
    elf, stack = build.application(options.sources, options.program.resolve(),
                                   options.header, options.stack)
    flash, ram = sizes(board, elf)
    print(f"{elf}: {flash} bytes of flash, {ram} of RAM, {stack} of stack")
    if options.run:
        code, text = run(board, elf)
        print(text, end="")
        raise SystemExit(code)


if __name__ == "__main__":
    main()
