"""Folders and files are small enough to read.

A folder holds a limited number of source files, one theme; each folder with a
row in arrows.txt has a README.md; each name is given once; a file is
short enough for one sitting, and speaks of no machine that it was written on.
"""

import collections
import re

import check_arrows
import source_tree

MOST_FILES = 30
MOST_LINES = 800
LINE_ENDINGS = source_tree.SOURCE_ENDINGS + (".sh", ".css")
TEXT_ENDINGS = LINE_ENDINGS + (".md", ".txt", ".yaml", ".toml", ".in", ".html",
                               ".pyi", ".fbs", ".json", ".tsv")
GENERATED = "do not edit."  # in the head of files that a script writes
REPEATED_NAMES = {"main.c", "__init__.py", "__main__.py"}


def judge_counts(report, tree):
    kind = report.kind(f"at most {MOST_FILES} source files in a folder",
                       "split the folder by subject: sub-folders with a row "
                       "in arrows.txt and a README.md")
    counts = collections.Counter(source_tree.folder_of(f) or "." for f in
                                 tree.ending_in(source_tree.SOURCE_ENDINGS))
    for folder, count in counts.items():
        if count > MOST_FILES:
            report.error(kind, folder, f"{count} source files")
    return counts


def judge_readmes(report, tree, folders):
    kind = report.kind("each folder with a row in arrows.txt has README.md",
                       "write it: what the folder is for, what it may include, "
                       "which header to open first, which file holds what")
    for folder in folders:
        if f"{folder}/README.md" not in tree:
            report.error(kind, folder, "no README.md")


def judge_names(report, tree):
    kind = report.kind("each file name is given once in the tree",
                       "name the file after its own subject; that of the folder "
                       "often tells two apart")
    places = collections.defaultdict(list)
    for path in tree.ending_in(LINE_ENDINGS):
        name = path.rpartition("/")[2]
        if name not in REPEATED_NAMES:
            places[name].append(path)
    for name, paths in places.items():
        if len(paths) > 1:
            report.error(kind, name, ", ".join(paths))


def judge_lines(report, tree):
    kind = report.kind(f"at most {MOST_LINES} lines in a file",
                       "split the file where its subject changes")
    for path in tree.ending_in(LINE_ENDINGS):
        text = tree.text(path).splitlines()
        count = len(text)
        is_generated = any(GENERATED in line for line in text[:10])
        if count > MOST_LINES and not is_generated:
            report.error(kind, path, f"{count} lines")


def judge_text(report, tree, path):
    name = path.rpartition("/")[2]
    kind = report.kind(f"no text that {name} forbids",
                       "say it in a way that holds on every machine and needs "
                       "no tracker")
    rows = []
    for line, text in source_tree.read_rows(path):
        pattern, separator, meaning = text.partition(": ")
        if not separator:
            raise SystemExit(f"{path}:{line}: expected 'pattern: what it is'")
        rows.append((re.compile(pattern), meaning))
    for file in tree.ending_in(TEXT_ENDINGS):
        if file.endswith(name):
            continue
        text = tree.text(file)
        for pattern, meaning in rows:
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                report.error(kind, f"{file}:{line}",
                             f"'{match.group(0)}', {meaning}")


def main():
    parser = source_tree.options(__doc__)
    parser.add_argument("--build", help="not looked at")
    parser.add_argument("--arrows", default=source_tree.beside("arrows.txt"))
    parser.add_argument("--text", default=source_tree.beside(
        "forbidden_text.txt"))
    arguments = parser.parse_args()
    tree = source_tree.SourceTree(arguments.source)
    report = source_tree.Report("folders")
    counts = judge_counts(report, tree)
    if not counts:
        raise SystemExit("folders: no file found: is --source right?")
    judge_readmes(report, tree, check_arrows.Drawing(arguments.arrows).rows)
    judge_names(report, tree)
    judge_lines(report, tree)
    judge_text(report, tree, arguments.text)
    folder, most = counts.most_common(1)[0]
    return report.close(f"{sum(counts.values())} source files in "
                        f"{len(counts)} folders, the fullest {folder} with "
                        f"{most}")


if __name__ == "__main__":
    source_tree.run(main)
