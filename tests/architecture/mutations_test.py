"""Each check finds what it is for: sound trees are broken on purpose.

A small tree of two libraries passes all checks; each test breaks it in one way
and wants the one check to fail and to name the file. The last test breaks one
#include in a copy of the real tree.
"""

import argparse
import contextlib
import glob
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import check_arrows
import source_tree

HERE = os.path.dirname(os.path.abspath(__file__))
ARGUMENTS = argparse.Namespace(source=os.path.join(HERE, "../.."), cc="cc",
                               cxx="")

SOUND = {
    "low/ground.h": "#include <stdint.h>\n\n"
                    "int ground(int x);\nint given(int x);\n",
    "low/ground.c": '#include "low/ground.h"\n\n'
                    "int ground(int x) { return given(x); }\n",
    "low/forbidden.h": "#pragma GCC poison abort\n",
    "high/tower.h": "struct tower { int height; };\nint tower(int x);\n",
    "high/tower.c": '#include "high/tower.h"\n\n#include "high/roof.h"\n'
                    '#include "low/ground.h"\n\n'
                    "int tower(int x) { return roof(ground(x)); }\n",
    "high/roof.h": "int roof(int x);\n",
    "high/roof.c": '#include "high/roof.h"\n\n'
                   "int roof(int x) { return x + 1; }\n",
    "high/sum_template.h": "// Sums.\n//\n// T  required  type\n\n#ifndef T\n"
                           "#error T is missing\n#endif\n"
                           "static inline T sum(T a, T b) { return a + b; }\n",
    "package/all.h": '#include "high/tower.h"\n',
    "tests/tower_test.c": '#include "high/tower.h"\n\n'
                          "int main(void) { return tower(1); }\n",
    "low/README.md": "low\n", "high/README.md": "high\n",
    "package/README.md": "package\n", "tests/README.md": "tests\n",
    "arrows.txt": "low:\nhigh: low\npackage: high\ntests: high\n",
    "system_headers.txt": "stdint.h: everywhere\n",
    "many_parameters.txt": "", "doubled_types.txt": "",
    "forbidden_text.txt": "/ho[m]e/: a path of somebody's machine\n",
}
SLOW = {"headers"}  # not run on what is broken in other ways
HEAP_FREE = "low"  # the folder whose objects are made with forbidden.h
OPTIONS = {
    "arrows": ["--arrows=@arrows.txt", "--system=@system_headers.txt"],
    "circles": [],
    "externals": ["--public=package/all.h"],
    "folders": ["--arrows=@arrows.txt", "--text=@forbidden_text.txt"],
    "functions": ["--list=@many_parameters.txt"],
    "headers": ["--public=package/all.h"],
    "symbols": ["--forbidden=low/forbidden.h"],
    "templates": [],
    "types": ["--list=@doubled_types.txt"],
}


def write(root, files):
    for path, text in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


def compiled(root, path):
    """One entry of compile_commands.json; the object is made."""
    folder = path.split("/")[0]
    out = os.path.join(root, "build")
    target = os.path.join(out, f"CMakeFiles/{folder}.dir/{path}.o")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    poison = ["-include", f"{root}/low/forbidden.h"] * (folder == HEAP_FREE)
    command = [ARGUMENTS.cc, f"-I{root}", *poison, "-o", target, "-c",
               os.path.join(root, path)]
    subprocess.run(command, check=True)
    if folder + "/" != source_tree.TESTS:
        write(out, {f"lib{folder}.a": ""})
    return {"directory": out, "file": command[-1],
            "command": " ".join(command)}


def run_check(name, root, *options):
    """(exit code, what it printed)"""
    module = importlib.import_module(f"check_{name}")
    printed = io.StringIO()
    arguments = ["--source", root, "--build", os.path.join(root, "build")]
    before = sys.argv
    sys.argv = [name, *arguments, *options]
    try:
        with contextlib.redirect_stdout(printed):
            code = module.main()
    except SystemExit as end:
        code, text = 2, str(end)
        return code, printed.getvalue() + text
    finally:
        sys.argv = before
    return code, printed.getvalue()


def lines(count, text="  run();\n"):
    return text * count


class Mutations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.sound = os.path.realpath(folder.name)
        write(cls.sound, SOUND)
        write(cls.sound, {"build/CMakeCache.txt": ""})
        cls.entries = {path: compiled(cls.sound, path)
                       for path in SOUND if path.endswith(".c")}

    def change(self, files):
        """A built copy of the sound tree, with `files` written over it."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = os.path.realpath(folder.name)
        shutil.copytree(self.sound, root, dirs_exist_ok=True)
        write(root, files)
        entries = json.loads(json.dumps(self.entries).replace(self.sound,
                                                              root))
        entries.update({path: compiled(root, path)
                        for path in files if path.endswith(".c")})
        write(root, {"build/compile_commands.json":
                     json.dumps(list(entries.values()))})
        return root

    def run_all(self, changes, left_out=()):
        """{check: (code, text)} for the sound tree with some files changed."""
        root = self.change(changes)
        return {name: run_check(name, root, *[o.replace("@", root + "/")
                                              for o in options])
                for name, options in OPTIONS.items() if name not in left_out}

    def finds(self, check, changes, *wanted):
        """`check` alone fails, and says each of `wanted`."""
        results = self.run_all(changes, SLOW - {check})
        code, text = results[check]
        self.assertEqual(code, 1, text)
        for words in wanted:
            self.assertIn(words, text)
        self.assertIn("what to do: ", text)
        others = {n: t for n, (c, t) in results.items() if c and n != check}
        self.assertEqual(others, {})

    def test_a_sound_tree_passes(self):
        for name, (code, text) in self.run_all({}).items():
            self.assertEqual(code, 0, text)
            self.assertIn(f"{name}: ", text)
            self.assertIn(", 0 errors", text)

    def test_arrows_find_a_forbidden_include(self):
        self.finds("arrows", {"low/ground.c": '#include "high/roof.h"\n'
                              + SOUND["low/ground.c"]},
                   "low/ground.c:1: includes high/roof.h: low may not see "
                   "high")

    def test_arrows_find_a_forbidden_use_of_a_symbol(self):
        self.finds("arrows", {
            "low/ground.c": "int roof(int x);\nint ground(int x);\n"
            "int ground(int x) { return roof(x); }\n"},
                   "low/ground.c: uses roof of high/roof.c: low may not see "
                   "high")

    def test_arrows_find_an_arrow_that_nothing_uses(self):
        self.finds("arrows", {
            "high/tower.c": '#include "high/tower.h"\n#include "high/roof.h"\n'
            "int tower(int x) { return roof(x); }\n",
            "tests/tower_test.c": '#include "high/tower.h"\n'
            '#include "low/ground.h"\n'
            "int main(void) { return ground(tower(1)); }\n",
            "arrows.txt": "low:\nhigh: low\npackage: high\n"
                          "tests: high low\n"}, "high does not use low")

    def test_an_arrow_in_brackets_may_be_unused(self):
        results = self.run_all({"arrows.txt": "low:\nhigh: low\npackage: high\n"
                                              "tests: high (low)\n"})
        self.assertEqual(results["arrows"][0], 0, results["arrows"][1])

    def test_arrows_find_a_circle_of_rows(self):
        self.finds("arrows", {"arrows.txt": "low: (high)\nhigh: low\n"
                                            "package: high\ntests: high\n"},
                   "high <-> low")

    def test_arrows_find_a_folder_without_a_row(self):
        self.finds("arrows", {"side/door.h": "int door;\n"}, "side: no row")

    def test_arrows_find_an_internal_header_outside_its_folder(self):
        self.finds("arrows", {
            "low/floor_internal.h": "",
            "high/tower.c": '#include "low/floor_internal.h"\n'
            + SOUND["high/tower.c"]},
                   "high/tower.c:1: includes low/floor_internal.h")

    def test_arrows_find_a_system_header_without_a_row(self):
        self.finds("arrows", {"low/ground.c": "#include <stdio.h>\n"
                              + SOUND["low/ground.c"]},
                   "low/ground.c:1: includes <stdio.h>")

    def test_circles_find_two_files(self):
        self.finds("circles", {
            "high/roof.c": "int tower(int x);\nint roof(int x);\n"
            "int roof(int x) { return x ? tower(x - 1) : 0; }\n"},
                   "high/roof: a cycle of 2 files",
                   "high/roof -> high/tower: tower")

    def test_folders_find_the_31st_file(self):
        count = 31 - sum(p.startswith("high/") and not p.endswith(".md")
                         for p in SOUND)
        self.finds("folders", {f"high/h{i}.h": "" for i in range(count)},
                   "high: 31 source files")

    def test_folders_find_a_missing_card(self):
        changes = {"side/door.h": "", "arrows.txt": SOUND["arrows.txt"]
                   + "side:\n"}
        self.finds("folders", changes, "side: no README.md")

    def test_folders_find_a_name_given_twice(self):
        self.finds("folders", {"low/roof.h": ""}, "low/roof.h")

    def test_folders_find_a_long_file(self):
        self.finds("folders", {"low/list.h": lines(801, "\n")},
                   "low/list.h: 801 lines")

    def test_folders_allow_a_long_file_that_a_script_writes(self):
        head = "// Made by list.py; do not edit.\n"
        self.finds("folders", {"low/list.h": head + lines(900, "\n"),
                               "low/other.h": lines(801, "\n")},
                   "low/other.h: 801 lines")

    def test_folders_find_a_path_of_a_machine(self):
        self.finds("folders", {"low/README.md": "see /home" "/me\n"},
                   "low/README.md:1: ")

    def test_functions_find_101_lines(self):
        body = "void run(void);\nstatic inline void walk(void) {\n"
        self.finds("functions", {"low/walk.h": body + lines(99) + "}\n"},
                   "low/walk.h:2: walk has 101 lines")

    def test_functions_of_100_lines_pass(self):
        body = "void run(void);\nstatic inline void walk(void) {\n"
        results = self.run_all({"low/walk.h": body + lines(98) + "}\n"})
        self.assertEqual(results["functions"][0], 0, results["functions"][1])

    def test_functions_find_101_lines_of_python(self):
        self.finds("functions", {"low/walk.py": "def walk():\n"
                                 + lines(100, "    run()\n")},
                   "low/walk.py:1: walk has 101 lines")

    def test_functions_find_a_seventh_parameter(self):
        seven = ", ".join(f"int {c}" for c in "abcdefg")
        self.finds("functions", {"low/walk.h":
                                 f"static inline void walk({seven}) {{}}\n"},
                   "low/walk.h:1: walk has 7 parameters")

    def test_functions_find_a_row_without_a_function(self):
        self.finds("functions", {"many_parameters.txt":
                                 "low/ground.c ground: it once had seven\n"},
                   "many_parameters.txt:1: low/ground.c ground")

    def test_types_find_a_name_given_twice(self):
        self.finds("types", {"low/ground.c": SOUND["low/ground.c"]
                             + "struct tower { long depth; };\n"},
                   "tower: high/tower.h:1 (struct), low/ground.c:4 (struct)")

    def test_externals_find_what_nobody_calls(self):
        self.finds("externals", {"low/ground.c": SOUND["low/ground.c"]
                                 + "int cellar(void);\n"
                                 "int cellar(void) { return 0; }\n"},
                   "low/ground.c: cellar")

    def test_externals_that_tests_alone_use_pass_and_are_counted(self):
        results = self.run_all({
            "low/ground.c": SOUND["low/ground.c"] + "int cellar = 1;\n",
            "tests/tower_test.c": SOUND["tests/tower_test.c"]
            + "extern int cellar;\nint* use(void);\n"
              "int* use(void) { return &cellar; }\n",
            "arrows.txt": SOUND["arrows.txt"].replace("tests: high",
                                                      "tests: high low")})
        code, text = results["externals"]
        self.assertEqual(code, 0, text)
        self.assertIn("1 used by tests alone", text)

    def test_symbols_find_the_heap(self):
        self.finds("symbols", {
            "low/ground.h": SOUND["low/ground.h"] + "void abort(void);\n"
            "static inline void end(void) { abort(); }\n",
            "low/forbidden.h": '#include "low/ground.h"\n'
                               "#pragma GCC poison abort\n",
            "low/ground.c": "int ground(int x) { end(); return x; }\n"},
                   "low/ground.c: needs abort")

    def test_headers_find_one_that_does_not_compile_alone(self):
        self.finds("headers", {"low/walls.h": "uint8_t walls(void);\n"},
                   "low/walls.h: ")

    def test_templates_find_a_missing_table(self):
        self.finds("templates", {"high/sum_template.h": "// Sums.\n"},
                   "high/sum_template.h: no table")

    def test_templates_find_a_missing_error(self):
        text = SOUND["high/sum_template.h"]
        self.finds("templates", {"high/sum_template.h": text.replace(
            "#error T is missing\n", "")}, "no #error for T")

    def test_templates_find_what_an_includer_sets_unsaid(self):
        self.finds("templates", {
            "high/sum_template.h": "// Sums; no parameters.\n\n"
            "static inline T sum(T a, T b) { return a + b; }\n",
            "high/sums.h": '#define T int\n#include "high/sum_template.h"\n'},
                   "high/sum_template.h: T")

    def test_templates_find_three_in_each_other(self):
        head = "// No parameters.\n"
        self.finds("templates", {
            "high/a_template.h": head + '#include "high/b_template.h"\n',
            "high/b_template.h": head + '#include "high/c_template.h"\n',
            "high/c_template.h": head},
                   "a_template.h > b_template.h > c_template.h")


class RealTree(unittest.TestCase):
    def test_arrows_find_one_changed_include(self):
        tree = source_tree.SourceTree(ARGUMENTS.source)
        drawing = check_arrows.Drawing(source_tree.beside("arrows.txt"))
        source, header = next(
            (s, h) for s in tree.ending_in((".c",))
            for h in tree.ending_in((".h",))
            if drawing.owner(s) != drawing.owner(h)
            and not drawing.arrows(drawing.owner(s), drawing.owner(h)))
        with tempfile.TemporaryDirectory() as folder:
            write(folder, {f: tree.text(f) for f in tree.ending_in(
                source_tree.C_ENDINGS)})
            write(folder, {"build/compile_commands.json": "[]",
                           "build/CMakeCache.txt": ""})
            write(folder, {source: f'#include "{header}"\n'
                           + tree.text(source)})
            code, text = run_check("arrows", folder)
        self.assertEqual(code, 1, text)
        self.assertIn(f"{source}:1: includes {header}: "
                      f"{drawing.owner(source)} may not see "
                      f"{drawing.owner(header)}", text)

    def test_every_check_of_this_folder_is_tried_here(self):
        names = {os.path.basename(p)[len("check_"):-len(".py")]
                 for p in glob.glob(os.path.join(HERE, "check_*.py"))}
        self.assertEqual(names, set(OPTIONS))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default=ARGUMENTS.source)
    parser.add_argument("--cc", default="cc")
    parser.parse_known_args(namespace=ARGUMENTS)
    unittest.main(argv=sys.argv[:1])
