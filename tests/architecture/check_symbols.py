"""The libraries that need no heap use none, nor stdio, nor abort.

forbidden.h poisons those names in their sources; here their objects are checked,
which also hold what a header or a compiler brought in. An archive named by
--archives that is compiled without the poison is an error.
"""

import re

import object_symbols
import source_tree

# What stands behind a name that forbidden.h poisons, or cannot be poisoned
# because a header needs it.
BEHIND = {"memalign", "stdout", "stderr", "_exit", "__assert_fail", "_setjmp",
          "__sigsetjmp"}


def poisoned_names(tree, path):
    names = set(BEHIND)
    for line in re.findall(r"#pragma GCC poison (.*)", tree.text(path)):
        names.update(line.split())
    return names


def plain(symbol):
    """printf of __printf_chk@GLIBC_2.3.4."""
    symbol = symbol.split("@")[0]
    match = re.fullmatch(r"__(\w+)_chk", symbol)
    return match.group(1) if match else symbol


def judge(report, build, forbidden_path, names, targets):
    forbidden = report.kind(
        "no heap, stdio or abort in a library without them",
        "take memory from the caller, return a status, or move the code to a "
        "library that may")
    poisoned = report.kind(f"the library is compiled with {forbidden_path}",
                           "declare it with MALLOC_FREE")
    used = 0
    judged = set()
    for o in build.objects:
        if re.search(r"-include \S*" + re.escape(forbidden_path), o.arguments):
            judged.add(o.target)
            used += len(o.used)
            for symbol in sorted(o.used):
                if plain(symbol) in names:
                    report.error(forbidden, o.source, f"needs {symbol}")
    for target in targets - judged:
        report.error(poisoned, target, "is not")
    return judged, used


def main():
    parser = source_tree.options(__doc__, build=True)
    parser.add_argument("--archives", nargs="*", default=[],
                        help="libraries that must be free of them")
    parser.add_argument("--forbidden", default="format/base/forbidden.h",
                        help="the header that poisons the names")
    arguments = parser.parse_args()
    tree = source_tree.SourceTree(arguments.source)
    build = object_symbols.Build(arguments.source, arguments.build)
    if build.sanitized():
        print("symbols: skipped, the build is sanitized")
        return 0
    report = source_tree.Report("symbols")
    targets = build.targets_of(arguments.archives) if arguments.archives \
        else set()
    judged, used = judge(report, build, arguments.forbidden,
                         poisoned_names(tree, arguments.forbidden), targets)
    if not used:
        raise SystemExit("symbols: no used symbol found: is --build right?")
    return report.close(f"{used} symbols that {len(judged)} libraries use")


if __name__ == "__main__":
    source_tree.run(main)
