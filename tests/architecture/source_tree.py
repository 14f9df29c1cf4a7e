"""The files of the source tree, its data files of rows, and how checks report.

Every check of this folder is a script of its own that takes --source and, if
it looks at symbols, --build. They share this module; c_reader.py reads C and
object_symbols.py reads the objects of a build.
"""

import argparse
import os
import re
import sys

C_ENDINGS = (".c", ".h", ".def", ".inc")
CXX_ENDINGS = (".cpp", ".hpp", ".cc")
SOURCE_ENDINGS = C_ENDINGS + CXX_ENDINGS + (".py", ".S", ".awk", ".js",
                                            ".cmake")
TESTS = "tests/"  # may include everything
# Built as an application is: its files see each other and an installed etx.h.
EXAMPLES = "examples/"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)',
                     re.MULTILINE)


class SourceTree:
    """All files below `root` except hidden folders, builds and data."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        self._texts = {}
        self._includes = {}
        self.files = sorted(self._walk())
        self._known = set(self.files)

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            at_root = folder == self.root
            folders[:] = [f for f in folders
                          if self._is_source(os.path.join(folder, f), f,
                                             at_root)]
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.root)
                yield path.replace(os.sep, "/")

    @staticmethod
    def _is_source(path, name, at_root):
        if name.startswith(".") or name in ("__pycache__", "data"):
            return False
        if at_root and name.startswith("build"):  # as .gitignore has it
            return False
        return not any(os.path.exists(os.path.join(path, mark))
                       for mark in ("CMakeCache.txt", "pyvenv.cfg"))

    def __contains__(self, path):
        return path in self._known

    def ending_in(self, endings):
        return [f for f in self.files if f.endswith(endings)]

    def text(self, path):
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding="utf-8",
                      errors="replace") as file:
                self._texts[path] = file.read()
        return self._texts[path]

    def includes(self, path):
        """(line, name, path in the tree or None, is <name>) of each #include.

        A name is looked up from the root and then beside the file.
        """
        if path in self._includes:
            return self._includes[path]
        text = self.text(path)
        found = []
        for match in INCLUDE.finditer(text):
            name = match.group(1) or match.group(2)
            line = text.count("\n", 0, match.start()) + 1
            target = None
            if match.group(1):
                beside = os.path.normpath(
                    os.path.join(os.path.dirname(path), name))
                target = next((p for p in (name, beside) if p in self), None)
            found.append((line, name, target, match.group(2) is not None))
        self._includes[path] = found
        return found

    def include_closure(self, path):
        """`path` and every file of the tree that it includes, however deep."""
        closure, waiting = {path}, [path]
        while waiting:
            for _, _, target, _ in self.includes(waiting.pop()):
                if target and target not in closure:
                    closure.add(target)
                    waiting.append(target)
        return closure


def folder_of(path):
    return path.rpartition("/")[0]


def unit_of(path):
    """x.c and x.h are one unit; every other file is one of its own."""
    return re.sub(r"\.[ch]$", "", path)


def read_rows(path):
    """(line, text) of the rows of a data file; # begins a comment line."""
    with open(path, encoding="utf-8") as file:
        return [(number, line.strip()) for number, line in enumerate(file, 1)
                if line.strip() and not line.startswith("#")]


def beside(name):
    """A data file of this folder."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)


def circles_of(graph):
    """Sets of nodes that reach each other, of {node: nodes}; largest first."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph.get(root, ()))))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target,
                                 iter(sorted(graph.get(target, ())))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    circle = stack[at:]
                    del stack[at:]
                    on_stack.difference_update(circle)
                    if len(circle) > 1:
                        found.append(sorted(circle))
    return sorted(found, key=lambda c: (-len(c), c))


class Report:
    """Collects errors by kind, prints them, and makes the exit code."""

    def __init__(self, name):
        self.name = name
        self._kinds = {}
        self._notes = []

    def kind(self, title, remedy):
        """A kind of error: what was expected, and what to do about one."""
        self._kinds.setdefault(title, (remedy, []))
        return title

    def error(self, title, place, found):
        self._kinds[title][1].append((place, found))

    def note(self, text):
        if text:
            self._notes.append(text)

    def count(self):
        return sum(len(errors) for _, errors in self._kinds.values())

    def close(self, summary, report_only=False):
        for title, (remedy, errors) in self._kinds.items():
            if not errors:
                continue
            print(f"expected: {title}")
            for place, found in sorted(errors):
                print(f"  {place}: {found}")
            print(f"  what to do: {remedy}")
        for note in self._notes:
            print(f"note: {note}")
        print(f"{self.name}: {summary}, {self.count()} errors")
        return 1 if self.count() and not report_only else 0


def options(description, build=False):
    """The parser that all checks share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--source", required=True, help="root of the tree")
    if build:
        parser.add_argument("--build", required=True,
                            help="build directory; its objects are read")
    return parser


def run(main):
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(1)
