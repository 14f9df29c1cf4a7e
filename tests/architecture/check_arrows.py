"""Folders use each other only as arrows.txt allows.

Judged are #include "..." and the symbols that objects take from each other;
system headers are judged by system_headers.txt. A drawing that allows more
than the tree uses is an error, too: an arrow that no file needs must be removed.
"""

import collections
import re

import file_graph
import object_symbols
import source_tree

EVERYWHERE = "everywhere"


def below(path, folder):
    return path == folder or path.startswith(folder + "/")


class Drawing:
    """The rows of arrows.txt: who may see whom."""

    def __init__(self, path):
        self.rows = {}  # folder: {allowed folder: whether it must be used}
        self.lines = {}
        self.by_name_only = set()
        for line, text in source_tree.read_rows(path):
            match = re.fullmatch(r"by name only: *(.*)", text)
            if match:
                self.by_name_only.update(match.group(1).split())
                continue
            match = re.fullmatch(r"([\w/]+): *(.*)", text)
            if not match or match.group(1) in self.rows:
                raise SystemExit(f"{path}:{line}: expected one row 'folder: "
                                 f"folders', found '{text}'")
            self.lines[match.group(1)] = line
            self.rows[match.group(1)] = {
                word.strip("()"): not word.startswith("(")
                for word in match.group(2).split()}

    def owner(self, path):
        """The row that a file belongs to: the longest folder above it."""
        folder = source_tree.folder_of(path)
        while folder and folder not in self.rows:
            folder = source_tree.folder_of(folder)
        return folder

    def arrows(self, own, target):
        """The entries of row `own` that allow row `target`."""
        return [a for a in self.rows[own] if self._covers(a, target)]

    def _covers(self, allowed, target):
        if not allowed.endswith("/"):
            return target == allowed
        folder = allowed.rstrip("/")
        return below(target, folder) and not any(
            below(target, apart) and not below(folder, apart)
            for apart in self.by_name_only)

    def graph(self):
        return {own: {t for t in self.rows
                      if t != own and self.arrows(own, t)}
                for own in self.rows}


def judge_drawing(report, drawing, tree, name):
    circle = report.kind(f"the rows of {name} form no cycle",
                         "turn one arrow around, or move what both need "
                         "into a folder below")
    unknown = report.kind(
        f"each row of {name} names folders with source files, and allows "
        "folders that have rows", "correct or remove the row")
    missing = report.kind(
        f"each folder with source files has a row in {name}",
        "add a row with the folders that it may see; a folder may be left to "
        "the row above only if that row has no others below it")
    for nodes in source_tree.circles_of(drawing.graph()):
        report.error(circle, name, " <-> ".join(nodes))
    folders = collections.Counter(
        source_tree.folder_of(f) for f in tree.ending_in(
            source_tree.C_ENDINGS + source_tree.CXX_ENDINGS))
    for row, allowed in drawing.rows.items():
        place = f"{name}:{drawing.lines[row]}"
        if not any(below(f, row) for f in folders):
            report.error(unknown, place, f"no source file lies in {row}")
        for a in allowed:
            if (a not in drawing.rows if not a.endswith("/") else
                    not any(below(r, a.rstrip("/")) for r in drawing.rows)):
                report.error(unknown, place, f"{row} may see {a}, no row")
    for folder in sorted(folders):
        if folder.startswith(source_tree.EXAMPLES):
            continue
        row = drawing.owner(folder + "/x")
        if not row:
            report.error(missing, folder or ".", "no row")
        elif row != folder and any(
                below(r, row) and r != row and r not in drawing.by_name_only
                for r in drawing.rows):
            report.error(missing, folder, f"no row beside those below {row}")


def judge_uses(report, drawing, uses, name):
    """Judges every use; the set of (row, entry) that any of them needs."""
    arrow = report.kind(
        f"{name} allows each include and each use of a symbol",
        "use what the folder may see, move the code, or, if the drawing is "
        "wrong, change the row without making a cycle")
    internal = report.kind(
        "x_internal.h is included in its own folder, or by a test",
        "make the header public to the tree (rename it), or move the user")
    needed = set()
    found = collections.defaultdict(list)
    for use in uses:
        target = use.target or use.name
        own, other = drawing.owner(use.source), drawing.owner(target)
        if not own:
            continue  # said by judge_drawing
        if (use.name.endswith("_internal.h")
                and not use.source.startswith(source_tree.TESTS)
                and source_tree.folder_of(target)
                != source_tree.folder_of(use.source)):
            report.error(internal, f"{use.source}:{use.line}",
                         f"includes {use.name}")
        entries = drawing.arrows(own, other) if other else []
        needed.update((own, e) for e in entries)
        if own != other and not entries:
            found[use.source, own, other, use.target or use.name].append(use)
    for (source, own, other, target), group in found.items():
        includes = [u for u in group if not u.is_symbol]
        if includes:
            report.error(arrow, f"{source}:{includes[0].line}",
                         f"includes {includes[0].name}: {own} may not see "
                         f"{other or 'a file without a row'}")
        else:
            names = sorted(u.name for u in group)
            report.error(arrow, source, f"uses {', '.join(names[:4])} of "
                         f"{target}: {own} may not see {other}")
    return needed


def judge_unused(report, drawing, needed, name, unbuilt):
    """Arrows that nothing uses; rows with sources not built are left out."""
    kind = report.kind(
        f"something uses each arrow of {name}",
        "remove the folder from the row; (folder) in brackets allows an arrow "
        "that nothing uses yet")
    left_out = 0
    for row, allowed in drawing.rows.items():
        for entry, must in allowed.items():
            if not must or (row, entry) in needed:
                continue
            if row in unbuilt:
                left_out += 1
            else:
                report.error(kind, f"{name}:{drawing.lines[row]}",
                             f"{row} does not use {entry}")
    return left_out


def judge_system(report, tree, path, name):
    kind = report.kind(
        f"{name} lets the file include this system header",
        "use what the files in the row offer; a new user of the header is "
        "added to its row")
    stale = report.kind(f"each entry of {name} includes its header",
                        "remove the entry")
    rows = {}
    for line, text in source_tree.read_rows(path):
        match = re.fullmatch(r"([\w./]+): *(.*)", text)
        if not match:
            raise SystemExit(f"{path}:{line}: expected 'header: files or "
                             f"folders', found '{text}'")
        rows[match.group(1)] = (line, match.group(2).split())
    used = set()
    for source in tree.ending_in(source_tree.C_ENDINGS):
        for line, header, _, is_system in tree.includes(source):
            if not is_system:
                continue
            _, allowed = rows.get(header, (0, []))
            entries = [a for a in allowed
                       if a == EVERYWHERE or below(source, a)]
            used.update((header, e) for e in entries)
            if not entries:
                report.error(kind, f"{source}:{line}",
                             f"includes <{header}>, which only "
                             f"{', '.join(allowed) or 'no folder'} may")
    for header, (line, allowed) in rows.items():
        for entry in allowed:
            if (header, entry) not in used:
                report.error(stale, f"{name}:{line}",
                             f"{entry} does not include <{header}>")


def main():
    parser = source_tree.options(__doc__, build=True)
    parser.add_argument("--arrows", default=source_tree.beside("arrows.txt"))
    parser.add_argument("--system", default=source_tree.beside(
        "system_headers.txt"))
    arguments = parser.parse_args()
    tree = source_tree.SourceTree(arguments.source)
    build = object_symbols.Build(arguments.source, arguments.build)
    drawing = Drawing(arguments.arrows)
    report = source_tree.Report("arrows")
    judge_drawing(report, drawing, tree, "arrows.txt")
    includes = [use for use in file_graph.include_uses(tree)
                if not use.source.startswith(source_tree.EXAMPLES)]
    symbols = list(file_graph.symbol_uses(tree, build))
    report.note(build.note())
    needed = judge_uses(report, drawing, includes + symbols, "arrows.txt")
    built = {o.source for o in build.objects}
    unbuilt = {drawing.owner(f) for f in tree.ending_in((".c",))
               if f not in built}
    left_out = judge_unused(report, drawing, needed, "arrows.txt", unbuilt)
    if left_out:
        report.note(f"{left_out} arrows without an include are not judged: "
                    "this build has not all sources of their folders")
    judge_system(report, tree, arguments.system, "system_headers.txt")
    if not includes:
        raise SystemExit("arrows: no include found: is --source right?")
    return report.close(f"{len(includes)} includes and {len(symbols)} uses of "
                        f"symbols between {len(drawing.rows)} rows")


if __name__ == "__main__":
    source_tree.run(main)
