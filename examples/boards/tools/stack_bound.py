#!/usr/bin/env python3
"""Computes the stack that a program needs, from what gcc says about its sources.

Compile each source file with FLAGS (dump_flags below), then

    stack_bound.py --entry etx_method_run [--entry ...] OBJECT...

where OBJECT is the object file, beside which gcc has put the dumps. The bound is
the deepest chain of calls from an entry:

* gcc states the frame of each function and which functions it calls after
  inlining (-fcallgraph-info=su);
* a call through a pointer may reach every function of the pointer's type whose
  address a reached function or table takes;
* `prepare` of a kernel table reaches kernels' prepare functions
  (etx_kernel_..._prepare), and no other pointer does;
* functions that may call each other in a circle through pointers are counted once
  each: the runtime has no recursion;
* functions of the C library have LIBRARY_BYTES.
"""

import argparse
import pathlib
import re
import sys

# The deepest chain in memcpy, sqrt and the like of newlib and picolibc, and in
# the floating-point functions of processors without such a unit.
LIBRARY_BYTES = 192

# The functions of a kernel table have the type of those that run kernels, and are
# told from them by name.
PREPARES = re.compile(r"etx_kernel_\w+_prepare")

DUMPS = {"wpa": "-fdump-ipa-whole-program", "icf": "-fdump-ipa-icf",
         "opt": "-fdump-tree-optimized"}


def dump_flags(object_file):
    """The flags that make gcc write what this script reads."""
    return ["-fcallgraph-info=su"] + [f"{flag}={object_file}.{name}"
                                      for name, flag in DUMPS.items()]


def plain(name):
    """The function of the source that a clone was made of."""
    return re.sub(r"\.(constprop|isra|part|cold|lto_priv)\b.*", "", name)


def split_arguments(text):
    """The parts of `text` between commas that are in no parentheses."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return parts + [text[start:]]


def normal(kind):
    """One spelling for a type: no qualifiers, no names of typedefs in (*...)."""
    kind = re.sub(r"\(\*[^)]*\)", "(*)", kind)
    kind = re.sub(r"\b(const|volatile|restrict|struct|union|enum|static)\b", "",
                  kind)
    return re.sub(r"\s+", "", kind)


def function_type(result, arguments):
    """The type of a function, from its header with the names of arguments."""
    kinds = []
    for argument in split_arguments(arguments):
        argument = argument.strip()
        if argument not in ("void", "...", ""):
            argument = re.sub(r"[\w.$]+$", "", argument)
        kinds.append(argument)
    return normal(f"{result} (*) ({','.join(kinds)})")


def unnumbered(variable):
    """The variable of the source that a numbered value belongs to."""
    return re.sub(r"_\d+$", "", variable)


def pointer_types(body):
    """Variables and arguments of a function that are function pointers: types."""
    types = {variable: normal(before + after) for before, after, variable in
             re.findall(r"^  ([\w *]+\(\*[^)]*\) )(\(.*\)) ([\w.$]+);$", body,
                        re.M)}
    header = re.search(r"^[\w ]+[ *]+[\w.$]+ \((.*)\)\n{", body, re.M)
    for argument in split_arguments(header.group(1) if header else ""):
        found = re.fullmatch(r"\s*(.*\(\*[^)]*\) \(.*\)) ([\w.$]+)", argument)
        if found:
            types[found.group(2)] = normal(found.group(1))
    return types


class Program:
    """Functions, variables and calls of all object files."""

    def __init__(self):
        self.frames = {}     # emitted function -> bytes
        self.calls = {}      # emitted function -> emitted functions
        self.pointers = {}   # emitted function -> (type, of `prepare`?) of its calls
        self.refers = {}     # function or variable -> names it refers to
        self.taken = {}      # function or variable -> functions it takes
        self.types = {}      # function -> its type
        self.merged = {}     # function -> the equal one that stays
        self.indirect = set()  # emitted functions that call through pointers

    def read(self, object_file):
        base = str(object_file)
        self.read_calls(pathlib.Path(base).with_suffix(".ci").read_text())
        self.read_references(pathlib.Path(base + ".wpa").read_text())
        bodies = pathlib.Path(base + ".opt")  # none of a file without functions
        self.read_pointers(bodies.read_text() if bodies.exists() else "")
        self.check_pointers()
        merged = pathlib.Path(base + ".icf").read_text()
        self.merged.update(re.findall(
            r"Semantic equality hit:([\w.]+)/\d+->([\w.]+)/\d+", merged))

    def check_pointers(self):
        """The two dumps must agree on who calls through pointers."""
        unknown = self.indirect - set(self.pointers)
        if unknown:
            raise SystemExit("calls through pointers of unknown types in "
                             + ", ".join(sorted(unknown)))

    def read_calls(self, text):
        def name_of(title):
            return title.rpartition(":")[2]
        for title, label in re.findall(r'^node: { title: "([^"]+)" label: "([^"]*)"',
                                       text, re.M):
            size = re.search(r"\\n(\d+) bytes \((.*?)\)", label)
            if size:
                if size.group(2) != "static":
                    raise SystemExit(f"{title}: a frame of varying size")
                self.frames[name_of(title)] = int(size.group(1))
        for source, target in re.findall(
                r'^edge: { sourcename: "([^"]+)" targetname: "([^"]+)"', text,
                re.M):
            if target == "__indirect_call":
                self.indirect.add(name_of(source))
            else:
                self.calls.setdefault(name_of(source), set()).add(name_of(target))

    def read_references(self, text):
        table = text.rpartition("Symbol table:")[2]
        entry = None
        for line in table.splitlines():
            start = re.match(r"([\w.$]+)/\d+ \(", line)
            if start:
                entry = start.group(1)
                continue
            line = line.strip()
            if entry and line.startswith(("References:", "Calls:")):
                names = re.findall(r"([\w.$]+)/\d+ \(", line)
                self.refers.setdefault(entry, set()).update(names)
                taken = re.findall(r"([\w.$]+)/\d+ \(addr\)", line)
                self.taken.setdefault(entry, set()).update(taken)
        for result, name, arguments in re.findall(
                r"^([\w ]+[ *]+)([\w.$]+) \((.*)\)\n{", text, re.M):
            self.types[name] = function_type(result, arguments)

    def read_pointers(self, text):
        bodies = re.split(r"^;; Function .*? \(([\w.$]+), funcdef_no.*$", text,
                          flags=re.M)
        for name, body in zip(bodies[1::2], bodies[2::2]):
            types = pointer_types(body)
            called = re.findall(r"^  (?:[^;=]* = )?([\w.$]+)(?:\(D\))? \(", body,
                                re.M)
            for variable in called:
                kind = types.get(variable, types.get(unnumbered(variable)))
                if kind:
                    prepares = f"  {variable} = " in body and re.search(
                        rf"^  {re.escape(variable)} = .*->prepare;$", body, re.M)
                    self.pointers.setdefault(name, set()).add(
                        (kind, bool(prepares)))

    def reached(self, entries):
        """Names that the entries reach, and the functions whose address is taken."""
        seen, stack, taken = set(), list(entries), set()
        while stack:
            name = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            taken |= {t for t in self.taken.get(name, ()) if t in self.types}
            stack += self.refers.get(name, ())
        return seen, taken

    def stays(self, name):
        """The function that `name` became when equal functions were merged."""
        for _ in range(len(self.merged)):
            if name in self.frames or name not in self.merged:
                break
            name = self.merged[name]
        return name


def edges_of(program, entries):
    """Emitted functions to those that they may call, with calls by pointer."""
    _, taken = program.reached(entries)
    by_type = {}
    for name in taken:
        kind = (program.types[name], bool(PREPARES.fullmatch(name)))
        by_type.setdefault(kind, set()).add(program.stays(name))
    edges = {}
    for name in program.frames:
        targets = set(program.calls.get(name, ()))
        for kind in program.pointers.get(name, ()):
            targets |= by_type.get(kind, set())
        edges[name] = targets
    return edges


def circles(edges, entries):
    """Tarjan's components, in an order in which callees come first."""
    index, low, on, stack, out = {}, {}, set(), [], []
    for entry in entries:
        work = [(entry, iter(sorted(edges.get(entry, ()))))]
        if entry in index:
            continue
        index[entry] = low[entry] = len(index)
        stack.append(entry)
        on.add(entry)
        while work:
            name, rest = work[-1]
            for target in rest:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on.add(target)
                    work.append((target, iter(sorted(edges.get(target, ())))))
                    break
                if target in on:
                    low[name] = min(low[name], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    part = []
                    while not part or part[-1] != name:
                        part.append(stack.pop())
                        on.discard(part[-1])
                    out.append(part)
    return out


def bound(program, entries):
    """The bytes of the deepest chain of calls, and its functions with bytes."""
    edges = edges_of(program, entries)
    deepest, chain = {}, {}
    for part in circles(edges, entries):
        own = sum(program.frames.get(name, LIBRARY_BYTES) for name in part)
        below = {t for name in part for t in edges.get(name, ())} - set(part)
        worst = max(below, key=lambda t: deepest[t], default=None)
        total = own + (deepest[worst] if worst else 0)
        rows = [("+".join(sorted(part)), own)] + (chain[worst] if worst else [])
        for name in part:
            deepest[name], chain[name] = total, rows
    entry = max(entries, key=lambda name: deepest[name])
    return deepest[entry], chain[entry]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entry", action="append", required=True)
    parser.add_argument("--chain", action="store_true",
                        help="also print the deepest chain of calls")
    parser.add_argument("objects", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    program = Program()
    for path in options.objects:
        program.read(path)
    missing = [name for name in options.entry if name not in program.frames
               and name not in program.refers]
    if missing:
        raise SystemExit(f"no such function: {', '.join(missing)}")
    total, rows = bound(program, options.entry)
    print(total)
    if options.chain:
        for name, size in rows:
            print(f"{size:6} {name}", file=sys.stderr)


if __name__ == "__main__":
    main()
