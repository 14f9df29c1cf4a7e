"""A function or object that is not static is used by another file.

Checked in the libraries: a symbol that no other object uses and no public header
declares should be static, or is dead. Sources that this build does not compile
count as users by the words in them.
"""

import collections
import re

import c_reader
import object_symbols
import source_tree


def words_of(tree, paths):
    words = set()
    for path in paths:
        words.update(re.findall(
            r"[A-Za-z_]\w*", c_reader.without_literals(tree.text(path))))
    return words


def judge(report, tree, build, targets, public_header):
    unused = report.kind(
        "another object uses an external symbol, or a header below "
        f"{public_header} declares it",
        "make it static; or remove it, if its own file does not use it")
    public = words_of(tree, tree.include_closure(public_header))
    compiled = {o.source for o in build.objects}
    uncompiled = {f: words_of(tree, [f])
                  for f in tree.ending_in((".c", ".cpp")) if f not in compiled}
    users = collections.defaultdict(set)
    for o in build.objects:
        for name in o.used:
            users[name].add(o.source)
    count, only_tests = 0, []
    judged = {}
    for o in build.objects:
        if o.target in targets:
            for name, letter in o.defined.items():
                if letter in "TDRBGSC":
                    judged[name] = o.source
    for name, source in sorted(judged.items()):
        count += 1
        by = users[name] - {source}
        if name in public:
            continue
        by |= {f for f, words in uncompiled.items()
               if name in words and f != source}
        if not by:
            report.error(unused, source, name)
        elif all(f.startswith(source_tree.TESTS) for f in by):
            only_tests.append((source, name))
    return count, only_tests


def main():
    parser = source_tree.options(__doc__, build=True)
    parser.add_argument("--archives", nargs="*", default=[], help="the "
                        "libraries to judge (all but those of tests)")
    parser.add_argument("--public", default="package/etx.h",
                        help="header whose includes are public")
    parser.add_argument("--show-tests", action="store_true",
                        help="list what only tests use")
    arguments = parser.parse_args()
    tree = source_tree.SourceTree(arguments.source)
    build = object_symbols.Build(arguments.source, arguments.build)
    if build.sanitized():
        print("externals: skipped, the build is sanitized")
        return 0
    report = source_tree.Report("externals")
    targets = build.targets_of(arguments.archives)
    count, only_tests = judge(report, tree, build, targets, arguments.public)
    if not count:
        raise SystemExit("externals: no external symbol found: is --build "
                         "right, and built?")
    if build.missing:
        report.note(f"{len(build.missing)} sources are not built, and count "
                    "as users by their words")
    if arguments.show_tests:
        for source, name in only_tests:
            report.note(f"{source}: only tests use {name}")
    return report.close(f"{count} external symbols of {len(targets)} "
                        f"libraries, {len(only_tests)} used by tests alone")


if __name__ == "__main__":
    source_tree.run(main)
