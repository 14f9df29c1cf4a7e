"""Each header of the tree compiles alone, as C11; the public one also as C++.

Templates and x_internal.h are read by the files that they belong to, and tests
include what they like.
"""

import concurrent.futures
import os
import subprocess

import source_tree

LEFT_OUT = ("_internal.h", "_template.h")


def headers(tree):
    return [f for f in tree.ending_in((".h",))
            if not f.endswith(LEFT_OUT)
            and not f.startswith(source_tree.TESTS)
            and not f.startswith(source_tree.EXAMPLES)]


def absent(tree, command, names):
    """The system headers of `names` that this machine has not."""
    wanted = sorted({name for f in names for closed in tree.include_closure(f)
                     for _, name, _, is_system in tree.includes(closed)
                     if is_system})
    text = "".join(f"#if !__has_include(<{name}>)\nabsent {name}\n#endif\n"
                   for name in wanted)
    result = subprocess.run([*command, "-E", "-P", "-"], input=text,
                            capture_output=True, text=True, check=False)
    return {line.split()[1] for line in result.stdout.splitlines()
            if line.startswith("absent ")}


def needs(tree, header, systems):
    return any(name in systems for f in tree.include_closure(header)
               for _, name, _, is_system in tree.includes(f) if is_system)


def message(command, text):
    """What the compiler says of `text`; empty if it has nothing to say."""
    result = subprocess.run([*command, "-fsyntax-only", "-"], input=text,
                            capture_output=True, text=True, check=False)
    return result.stderr.strip() if result.returncode else ""


def judge(report, tree, command, options):
    kind = report.kind("the header compiles alone, as C11",
                       "include in it what it needs")
    command = [command, "-std=c11", "-Wall", "-Wextra", "-Werror", "-x", "c",
               f"-I{tree.root}", *options]
    names = headers(tree)
    systems = absent(tree, command, names)
    left_out = [n for n in names if needs(tree, n, systems)]
    if left_out:
        report.note(f"{len(left_out)} headers are left out, which need "
                    f"{', '.join(sorted(systems))}")
    names = [n for n in names if n not in left_out]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = pool.map(lambda name: message(
            command, f'#include "{name}"\ntypedef int header_stands_alone;\n'),
                         names)
        for name, text in zip(names, texts):
            if text:
                report.error(kind, name, text)
    return len(names)


def judge_public(report, tree, command, header):
    kind = report.kind("the public header compiles as C++17",
                       "keep to what both languages have")
    text = message([command, "-std=c++17", "-x", "c++", f"-I{tree.root}"],
                   f'#include "{header}"\n')
    if text:
        report.error(kind, header, text)


def main():
    parser = source_tree.options(__doc__)
    parser.add_argument("--build", help="not looked at")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="", help="empty: no C++")
    parser.add_argument("--option", action="append", default=[],
                        help="for the C compiler, such as --option=-I/folder")
    parser.add_argument("--public", default="package/etx.h")
    arguments = parser.parse_args()
    tree = source_tree.SourceTree(arguments.source)
    report = source_tree.Report("headers")
    count = judge(report, tree, arguments.cc, arguments.option)
    if not count:
        raise SystemExit("headers: none found: is --source right?")
    if arguments.cxx:
        judge_public(report, tree, arguments.cxx, arguments.public)
    return report.close(f"{count} headers stand alone" if not report.count()
                        else f"{count} headers")


if __name__ == "__main__":
    source_tree.run(main)
