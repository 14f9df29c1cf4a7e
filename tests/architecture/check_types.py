"""A name of a struct, union, enum or typedef is defined in one file only.

A reader who looks a name up should find one meaning. Forward declarations and
`typedef struct x x` define nothing. doubled_types.txt lists exceptions.
"""

import collections
import re

import c_reader
import source_tree


def listed_names(path):
    rows = {}
    for line, text in source_tree.read_rows(path):
        match = re.fullmatch(r"(\w+): (\S.*)", text)
        if not match:
            raise SystemExit(f"{path}:{line}: expected 'name: reason', "
                             f"found '{text}'")
        rows[match.group(1)] = line
    return rows


def judge(report, types, listed, list_name):
    remedy = ("give the types names that tell them apart, or put the one type "
              f"into a header; only variants of a platform may stand in "
              f"{list_name}")
    shared = report.kind("no other file defines a type of a header", remedy)
    private = report.kind("no two .c files define a type of one name", remedy)
    stale = report.kind(f"each row of {list_name} names a type that two "
                        "files define", "remove the row")
    places = collections.defaultdict(dict)
    for t in types:
        places[t.name].setdefault(t.path, t)
    for name, files in sorted(places.items()):
        if len(files) > 1 and name not in listed:
            kind = private if all(f.endswith(".c") for f in files) else shared
            report.error(kind, name, ", ".join(
                f"{t.path}:{t.line} ({t.kind})"
                for _, t in sorted(files.items())))
    for name, line in listed.items():
        if len(places.get(name, ())) < 2:
            report.error(stale, f"{list_name}:{line}", name)
    return len(places)


def main():
    parser = source_tree.options(__doc__)
    parser.add_argument("--list", default=source_tree.beside(
        "doubled_types.txt"), help="names that two files may define")
    parser.add_argument("--build", help="not looked at")
    arguments = parser.parse_args()
    tree = source_tree.SourceTree(arguments.source)
    reader = c_reader.CTree({f: tree.text(f)
                             for f in tree.ending_in(source_tree.C_ENDINGS)})
    report = source_tree.Report("types")
    count = judge(report, reader.types(), listed_names(arguments.list),
                  "doubled_types.txt")
    if not count:
        raise SystemExit("types: no type found: is --source right?")
    return report.close(f"{count} names of types")


if __name__ == "__main__":
    source_tree.run(main)
