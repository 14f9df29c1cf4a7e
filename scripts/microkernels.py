#!/usr/bin/env python3
"""Writes docs/microkernels.md, the catalogue of the inner loops.

  microkernels.py [--root DIR] [--check]

Every table of loops, such as `const etx_u8_loops etx_u8_loops_avx2 = {...}`, is
read with the struct that it fills in. Above the function of each entry, or of
the entry's macro, stands a row of the catalogue:

  //   @block  uint8 x int8 | GEMM with requantisation | {ROWS} x {COLUMNS}

that is, the field, the element type, the operation and the tile. An operation
that ends with a file name in brackets is in that file. What stands in braces is a
constant expression over macros and enumerators; it is evaluated as the
preprocessor sees the file for the instruction set. A fourth part may give the
width of the vectors in bytes. A field may have several rows; an entry without one
is an error. --check compares with the file instead of writing it.
"""

import argparse
import pathlib
import re
import sys

DOCUMENT = "docs/microkernels.md"
FOLDERS = ("runtime/kernels/simd", "runtime/kernels/arch")
# Instruction sets by the ending of a table's name: title, vector bytes.
SETS = {
    "base": ("baseline", 16),
    "avx2": ("AVX2 + FMA", 32),
    "avx512": ("AVX-512", 64),
    "avx512vnni": ("AVX-512 VNNI", 64),
    "dotprod": ("NEON + dot product", 16),
    "arm64": ("NEON", 16),
}
# What the compiler defines for the baseline of each machine.
BASELINES = {
    "SSE2": {"__x86_64__": 1, "__SSE2__": 1},
    "NEON": {"__aarch64__": 1, "__AARCH64EL__": 1, "__ARM_FEATURE_FMA": 1},
    "portable C": {},
}
X86 = {"__x86_64__": 1, "__SSE2__": 1, "__AVX512F__": 1}
# Struct of a table: chapter, in this order.
CHAPTERS = {
    "etx_f32_microkernels": "Products, convolutions and attention in float32",
    "etx_recurrent_loops": "Recurrent layers",
    "etx_quantized_loops": "Quantised weights, as they are stored",
    "etx_attention_byte_loops": "Attention over keys and values of int8",
    "etx_int16_pair_loops": "Packed panels of int16 pairs",
    "etx_int8_dot_loops": "Dot product instructions: int8 and int4 weights",
    "etx_u8_loops": "Activations in uint8",
    "etx_float_loops": "Elementwise loops, softmax and layer norm rows",
    "etx_half_loops": "Conversions of float16 and bfloat16",
}
TABLE = re.compile(r"^(?:static )?const (etx_\w+_(?:loops|microkernels)) "
                   r"(\w+) =\s*(.*?);\n", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^//   @(\w+)  (.+)$")


def fail(text):
    sys.exit(f"microkernels.py: {text}")


class Source:
    """A .c file as the preprocessor sees it, its own headers included."""

    def __init__(self, root, path, defined):
        self.root, self.path = root, path
        self.macros = {name: str(value) for name, value in defined.items()}
        self.constants = {}
        self.rows = {}       # field: rows of [text, file, macros there]
        self.functions = {}  # name: file that defines it
        self.guards = set()
        self.lines = []
        self.read(path)
        text = "\n".join(self.lines)
        self.text = text
        for _, body in re.findall(r"\benum( \w+)? \{([^}]*)\}", text):
            self.enumerate(body)

    def read(self, path):
        text = (self.root / path).read_text()
        text = re.sub(r"\\\n", " ", text)
        active, last = [], None
        guard = re.search(r"^#ifndef (ETX_\w+_H)$", text, re.MULTILINE)
        if guard:
            if guard.group(1) in self.guards:
                return
            self.guards.add(guard.group(1))
        for line in text.split("\n"):
            if line.startswith("#"):
                self.directive(line, active)
                continue
            if not all(state == "on" for state in active):
                continue
            row = ROW.match(line)
            if row:
                last = [row.group(2).strip(), path, dict(self.macros)]
                self.rows.setdefault(row.group(1), []).append(last)
            elif last and line.startswith("//     "):
                last[0] += " " + line[2:].strip()
            else:
                last = None
            if line.startswith("//"):
                continue
            line = re.sub(r" *//.*$", "", line)
            function = re.match(r"(?:static |void |const |\w+\* )[^;=]*?\b(\w+)\(",
                                line)
            if function:
                self.functions[function.group(1)] = path
            self.lines.append(line)

    def directive(self, line, active):
        word, _, rest = line[1:].strip().partition(" ")
        rest = re.sub(r" *//.*$", "", rest).strip()
        running = all(state == "on" for state in active)
        if word in ("if", "ifdef", "ifndef"):
            if not running:
                active.append("never")
                return
            if word == "if":
                holds = self.condition(rest)
            else:
                holds = (rest in self.macros) == (word == "ifdef")
            active.append("on" if holds else "off")
        elif word == "elif":
            if active[-1] == "off":
                active[-1] = "on"
                running = all(state == "on" for state in active)
                if not (running and self.condition(rest)):
                    active[-1] = "off" if running else "never"
            elif active[-1] == "on":
                active[-1] = "never"
        elif word == "else":
            active[-1] = {"on": "never", "off": "on"}.get(active[-1], "never")
        elif word == "endif":
            active.pop()
        elif running and word == "define":
            name = re.match(r"\w+", rest).group()
            self.macros[name] = rest[len(name):].strip()
        elif running and word == "undef":
            self.macros.pop(rest, None)
        elif running and word == "include" and rest.startswith('"'):
            if rest[1:-1].startswith("runtime/kernels/"):
                self.read(rest[1:-1])

    def condition(self, text):
        text = re.sub(r"defined\(?\s*(\w+)\s*\)?",
                      lambda m: str(int(m.group(1) in self.macros)), text)
        text = re.sub(r"__has_builtin\(\w+\)", "0", text)
        return bool(self.value(text))

    def enumerate(self, body):
        value = -1
        for item in body.split(","):
            name, _, text = item.strip().partition("=")
            if not re.fullmatch(r"\w+\s*", name):
                continue
            value = self.value(text) if text else value + 1
            if value is None:
                value = 0
            else:
                self.constants[name.strip()] = value

    def value(self, text):
        """The value of an integer expression; None if it is not one."""
        def word(match):
            name = match.group()
            if name in self.constants:
                return str(self.constants[name])
            return f"({self.macros[name]})" if self.macros.get(name) else "0"
        text = text.strip().replace("sizeof(float)", "4")
        text = text.replace("(int)", "").replace("&&", " and ")
        text = text.replace("||", " or ")
        text = re.sub(r"!(?!=)", " not ", text)
        text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text)
        for _ in range(4):
            text = re.sub(r"\b(?!and\b|or\b|not\b|if\b|else\b)[A-Za-z_]\w*", word,
                          text)
        text = re.sub(r"(?<![/])/(?![/])", "//", text)
        text = re.sub(r"(.*)\?(.*):(.*)", r"(\2) if (\1) else (\3)", text)
        if re.search(r"\d\s*\(", text):  # a macro with arguments
            return None
        try:
            return int(eval(text, {"__builtins__": {}}))  # digits and operators
        except (SyntaxError, NameError, TypeError, ZeroDivisionError):
            return None

    def tile(self, text, macros):
        """`text` with the expressions in braces evaluated."""
        self.macros = macros

        def number(match):
            value = self.value(match.group(1))
            if not value:
                fail(f"{self.path}: {{{match.group(1)}}} is not a number")
            return str(value)
        return re.sub(r"\{([^}]*)\}", number, text)

    def entries(self, text):
        """The entries of an initialiser, macros expanded, braces flattened."""
        for _ in range(4):
            text = re.sub(r"\bETX_IF_(?:DTYPE|ANY_LOOP)\(\w+,\s*(\w+)\)", r"\1",
                          text)
            text = re.sub(r"\bETX_IF_LOOP\(\s*[\w |]+,\s*(?:\w+|\([^,]*\)),\s*(\w+)\)",
                          r"\1", text)
            for name in set(re.findall(r"\b[A-Z]\w+", text)):
                if self.macros.get(name) and name != "NULL":
                    body = re.sub(r"^\([\w, ]*\)", "", self.macros[name])
                    text = re.sub(rf"\b{name}\b(\([^()]*\))?",
                                  lambda _, b=body: b, text)
        return [entry for entry in re.split(r"[{},\s]+", text) if entry]


def fields_of(headers, struct):
    """Names of a struct's fields in order, those of nested loops too."""
    match = re.search(rf"typedef struct {struct} {{\n(.*?)^}} {struct};", headers,
                      re.MULTILINE | re.DOTALL)
    if not match:
        fail(f"no struct {struct}")
    body = re.sub(r"//[^\n]*", "", match.group(1))
    names = []
    for line in re.sub(r"\s+", " ", body).split(";"):
        line = line.strip()
        if not line:
            continue
        pointer = re.search(r"\(\*(\w+)\)\(", line)
        name = pointer.group(1) if pointer else re.search(
            r"(\w+)(?:\[(\w+)\])?$", line).group(1)
        array = re.search(r"\[(\d+)\]$", line)
        nested = re.match(r"(etx_\w+_loops) \w+$", line)
        if nested:
            names += fields_of(headers, nested.group(1))
        elif array:
            names += [f"{name}_{i}" for i in range(int(array.group(1)))]
        else:
            names.append(name)
    return names


def file_named(root, name):
    paths = [p for folder in FOLDERS for p in (root / folder).rglob(name)]
    if len(paths) != 1:
        fail(f"{len(paths)} files are named {name}")
    return paths[0].relative_to(root).as_posix()


def table_rows(source, struct, table, initialiser, headers):
    """(field, type, operation, tile, width, file) of each entry of a table."""
    entries = source.entries(initialiser)
    fields = fields_of(headers, struct)
    if len(entries) != len(fields):
        fail(f"{source.path}: {table} has {len(entries)} entries, expected "
             f"{len(fields)}: {entries}")
    for field, entry in zip(fields, entries):
        if field == "name" or entry.startswith("&"):
            continue
        if entry.isdigit() or entry.isupper():  # NULL, or a number
            continue
        if field not in source.rows:
            fail(f"{source.path}: no row '//   @{field}  type | operation | "
                 f"tile' for {entry} of {table}")
        for row, file, macros in source.rows[field]:
            parts = [part.strip() for part in row.split("|")]
            if len(parts) not in (3, 4):
                fail(f"{file}: '@{field}  {row}', expected 3 or 4 parts")
            operation = parts[1]
            elsewhere = re.fullmatch(r"(.*) \((\w+\.[ch])\)", operation)
            if elsewhere:
                operation, file = elsewhere.groups()
                file = file_named(source.root, file)
            yield (field, parts[0], operation, source.tile(parts[2], macros),
                   parts[3] if len(parts) == 4 else "", file)


def set_of(path):
    ending = pathlib.Path(path).stem.rpartition("_")[2]
    return ending if ending in SETS else "base"


def variants(name):
    """(title of the instruction set, macros of the compiler)."""
    if name == "base":
        return list(BASELINES.items())
    machine = X86 if name.startswith("avx") else BASELINES["NEON"]
    return [(SETS[name][0], machine)]


def collect(root):
    headers = "".join(p.read_text() for folder in FOLDERS
                      for p in sorted((root / folder).rglob("*.h")))
    rows = {chapter: [] for chapter in CHAPTERS}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.c")):
            name = path.relative_to(root).as_posix()
            text = path.read_text()
            for struct, table, initialiser in TABLE.findall(text):
                kind = set_of(name)
                for title, macros in variants(kind):
                    source = Source(root, name, macros)
                    width = source.value("VECTOR_BYTES") or SETS[kind][1]
                    for row in table_rows(source, struct, table, initialiser,
                                          headers):
                        rows[struct].append(
                            (row[0], row[1], row[2], row[3], title,
                             row[4] or str(width), row[5]))
    return rows


def merged(rows):
    """Baselines with the same row become one; order of fields is kept."""
    order, by_key = [], {}
    for field, kind, operation, tile, title, width, file in rows:
        key = (field, kind, operation, tile, width, file)
        if key not in by_key:
            by_key[key] = []
            order.append(key)
        if title not in by_key[key]:
            by_key[key].append(title)
    fields = list(dict.fromkeys(key[0] for key in order))
    order.sort(key=lambda key: fields.index(key[0]))
    return [(key, by_key[key]) for key in order]


def document(root):
    out = [
        "# Microkernels", "",
        "The inner loops of the kernels: what they compute, with which tile, and "
        "for which instruction set. A loop that an instruction set does not have "
        "falls back to the next narrower set. All loops of one operation give the "
        "same bits. The tile is what one pass of the innermost loop computes; for "
        "products it is rows x columns of accumulators in registers.", "",
        "Baseline code runs on every processor of a machine: SSE2 on x86-64, NEON "
        "on ARM64, and plain C with the compiler's vector types elsewhere. Words "
        "are explained in the [glossary](glossary.md).", "",
        "This file is written by `scripts/microkernels.py` from the rows `@field` "
        "above the loops; the test `docs/microkernels` compares it.", ""]
    for struct, rows in collect(root).items():
        if not rows:
            fail(f"no table of {struct}")
        out += [f"## {CHAPTERS[struct]}", "", f"Table `{struct}`.", "",
                "| elements | operation | tile | vector bytes | instruction set "
                "| file |", "|---|---|---|---|---|---|"]
        for (_, kind, operation, tile, width, file), titles in merged(rows):
            link = f"[{file.rpartition('/')[2]}](../{file})"
            out.append(f"| {kind} | {operation} | {tile} | {width} | "
                       f"{', '.join(titles)} | {link} |")
        out.append("")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--check", action="store_true",
                        help="compare with the file, do not write it")
    arguments = parser.parse_args()
    text = document(arguments.root)
    path = arguments.root / DOCUMENT
    if not arguments.check:
        path.write_text(text)
        return
    found = path.read_text() if path.exists() else ""
    if found == text:
        return
    for number, (have, want) in enumerate(
            zip(found.split("\n") + [""], text.split("\n") + [""]), 1):
        if have != want:
            sys.exit(f"{DOCUMENT}:{number}: expected\n  {want}\nfound\n  {have}\n"
                     f"run scripts/microkernels.py")
    sys.exit(f"{DOCUMENT} has another length; run scripts/microkernels.py")


if __name__ == "__main__":
    main()
