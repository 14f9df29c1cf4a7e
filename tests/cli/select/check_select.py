"""Runs `etx select` on program files, builds applications from what it writes and
compares both with what is known.

  check_select.py ETX SOURCE BUILD CC     the command, the source tree, a build

* The operators of stock files are listed as ExecuTorch's own tool lists them.
* A list that was written is read again, and inputs may come in any order.
* An application with the selected kernels computes what the one with all kernels
  computes, has no other kernel, and refuses a program that needs more.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

from selected_application import build_application, expect, run


DATA_FILES = """\
#include <stdio.h>
#include "etx.h"

int main(int argc, char** argv) {
  const char* const paths[] = {argv[argc - 1]};
  const etx_module_options options = {.data_paths = paths, .data_path_count = 1};
  static etx_module module;
  static etx_diag diag;
  etx_diag_init(&diag);
  const etx_status status = etx_module_open(&module, argv[1], &options, &diag);
  printf("%s: %s\\n", etx_status_name(status), diag.text);
  return 0;
}
"""


def run_any(*words):
    """The exit code of a command, and all that it prints."""
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True)
    return done.returncode, done.stdout + done.stderr


class Checks:
    def __init__(self, options, folder):
        self.etx = options.etx.resolve()
        self.source = options.source.resolve()
        self.build = options.build.resolve()
        self.cc = options.cc
        self.folder = folder
        self.data = self.source / "tests/data"

    def select(self, name, *inputs, cwd=None, code=0):
        out = self.folder / name
        self.done = run(self.etx, "select", *inputs, "-o", out, cwd=cwd,
                        code=code)
        return out

    def stock_lists(self):
        lists = sorted((self.data / "selected").glob("*.yaml"))
        expect(len(lists) >= 10, f"only {len(lists)} lists")
        for path in lists:
            program = path.stem + ".pte"
            place = next(d for d in (self.data / "pte", self.data / "exported")
                         if (d / program).exists())
            out = self.select(path.stem, program, cwd=place)
            expect("delegate" in self.done.stderr or "delegated" not in program,
                   "nothing is said about delegates")
            written = (out / "selected_operators.yaml").read_bytes()
            expect(written == path.read_bytes(), f"{path.name} differs")
            has_views = "ETX_VIEWS ON" in (out / "selected.cmake").read_text()
            expect(has_views == (b"executorch_prim::et_view" in written),
                   f"{path.name}: a build with views: {has_views}")
            again = self.select(path.stem + "_again",
                                out / "selected_operators.yaml")
            expect("ETX_VIEWS ON" in (again / "selected.cmake").read_text(),
                   "a list may want views")
            expect((again / "selected_operators.yaml").read_bytes() == written,
                   f"{path.name} changes when it is read")

    def order(self):
        loop, cache = (self.data / "exported" / n
                       for n in ("loop.pte", "kv_cache.pte"))
        more = self.data / "selected/item.yaml"
        one = self.select("one", loop, cache, more)
        two = self.select("two", more, cache, loop, loop)
        for name in ("etx_selected.c", "etx_selected.h", "selected.cmake",
                     "selected_operators.yaml"):
            expect((one / name).read_bytes() == (two / name).read_bytes(),
                   f"{name} depends on the order of inputs")

    def views(self):
        """The table of a program with views is for builds with these alone."""
        out = self.select("with_views", self.data / "exported/dynamic_sizes.pte")
        words = (self.cc, "-std=c11", "-fsyntax-only", "-DETX_HEADER=<etx/etx.h>",
                 f"-I{self.build / 'include'}", out / "etx_selected.c")
        run(*words)
        code, text = run_any(*words, "-DETX_VIEWS=0")
        expect(code != 0 and "this build leaves out views" in text, text)

    def reasons(self):
        for path in sorted((self.data / "selected").glob("*.yaml")):
            kernels = re.findall(r"^  (\S+):$", path.read_text().split(
                "\ninclude_all")[0], re.M)
            program = path.stem + ".pte"
            place = next(d for d in (self.data / "pte", self.data / "exported")
                         if (d / program).exists())
            for name in kernels:
                found = run(self.etx, "why", name, program, cwd=place).stdout
                expect(f"{program}: {name} in method " in found, found)
            run(self.etx, "why", "aten::erfc", program, cwd=place, code=2)
        lines = self.folder / "lines.pte"
        run(self.etx, "plan", self.data / "pt2/lines", "-o", lines, "--quiet",
            "--source-lines")
        facts = json.loads(run(self.etx, "inspect", "--json", lines).stdout)
        name = facts["operators"][0]["name"]
        calls = json.loads(run(self.etx, "why", name, lines, "--json").stdout)
        expect(len(calls) == facts["operators"][0]["instructions"],
               f"{name}: {len(calls)} calls")
        expect(all(c["source"] for c in calls), f"no source lines: {calls}")

    def refusals(self):
        wrong = self.folder / "wrong.yaml"
        wrong.write_text("operators:\n  aten::add.out:\n    is_rooted: true\n")
        self.select("refused", wrong, code=2)
        expect(f"{wrong}:3:5:" in self.done.stderr, self.done.stderr)
        wrong.write_text("operators:\n  my::scale.out: {}\n  my::turn: {}\n")
        self.select("refused", wrong, code=2)
        for name in ("my::scale.out", "my::turn"):
            expect(f"operator '{name}' is not one" in self.done.stderr,
                   self.done.stderr)
        expect(not (self.folder / "refused").exists(),
               "a refused selection leaves files")

    def delegates(self):
        """etx has no backends: methods with delegates are named, and a program that
        has no others is refused."""
        program = self.data / "exported/one_delegated.pte"
        out = self.select("one_delegated", program)
        expect(f"{program}: method 'forward' has 2 delegates (first: "
               "'XnnpackBackend')" in self.done.stderr, self.done.stderr)
        expect("'plain'" not in self.done.stderr, self.done.stderr)
        app = build_application(self, "plain_app", out)
        run(app, program, "plain")
        code, text = run_any(app, program, "forward")
        expect(code != 0 and "calls delegate 'XnnpackBackend'" in text, text)
        program = self.data / "exported/delegated.pte"
        out = self.select("delegated", program, code=2)
        expect("'forward' has 2 delegates" in self.done.stderr and
               "no method of the file runs in etx" in self.done.stderr,
               self.done.stderr)
        expect(not out.exists(), "a refused selection leaves files")
        code, text = run_any(self.etx, "why", "aten::mul.out", program)
        expect(code == 2 and "2 delegates of methods compute is not known" in text, text)

    def refused_without(self, plan, selected, methods, text, words):
        """A table with `text` must refuse one of the methods when loading."""
        table = selected / "etx_selected.c"
        whole = table.read_text()
        expect(text != whole, f"nothing is taken away for {words}")
        table.write_text(text)
        app = build_application(self, "less", selected)
        table.write_text(whole)
        outputs = [run_any(app, plan, method) for method in methods]
        expect(any(code != 0 and words in output for code, output in outputs),
               f"a build that lacks {words} refuses nothing: {outputs}")

    def missing_cells(self, plan, selected, methods):
        """Each cell that is taken away by hand must be missed when loading: a type of
        an operator, and an operator."""
        text = (selected / "etx_selected.c").read_text()
        rows = re.findall(r"&etx_op_row_(\w+)", text)
        masks = re.search(r"uint32_t dtypes\[\] = \{\n(.*?)\};", text, re.S)
        cells = re.findall(r"0x([0-9a-f]+)", masks.group(1))
        expect(len(rows) == len(cells), f"{len(rows)} rows, {len(cells)} cells")
        for at, mask in enumerate(cells):
            for bit in (1 << i for i in range(32) if int(mask, 16) >> i & 1):
                less = [int(c, 16) & ~bit if i == at else int(c, 16)
                        for i, c in enumerate(cells)]
                self.refused_without(plan, selected, methods, text.replace(
                    masks.group(1), "".join(f"    UINT32_C({c}),\n" for c in less)),
                    "has no")
            lines = text.splitlines(keepends=True)
            row = next(i for i, line in enumerate(lines)
                       if f"{{&etx_op_row_{rows[at]}," in line)
            first = next(i for i, line in enumerate(lines)
                         if "uint32_t dtypes[]" in line) + 1
            without = [line for i, line in enumerate(lines)
                       if i not in (row, first + at)]
            self.refused_without(plan, selected, methods, "".join(without),
                                 "is missing")

    def kernels_of(self, app):
        symbols = run("nm", app).stdout
        return set(re.findall(r"\betx_kernel_(\w+)_prepare$", symbols, re.M))

    def builds(self):
        plan = self.folder / "gru.pte"
        run(self.etx, "plan", self.data / "pt2/gru", "-o", plan, "--quiet")
        out = self.select("gru", plan)
        facts = json.loads(run(self.etx, "inspect", "--json", plan).stdout)
        methods = [m["name"] for m in facts["methods"]
                   if not m["name"].startswith("et_module_init")]
        expect(methods, "gru has no methods")
        full = build_application(self, "full", None)
        small = build_application(self, "small", out)
        expected = run(full, plan, *methods).stdout
        expect(run(small, plan, *methods).stdout == expected,
               "the selected kernels give other results")
        table = (out / "etx_selected.c").read_text()
        wanted = set(re.findall(r"&etx_op_row_(\w+)", table))
        expect(self.kernels_of(small) == wanted,
               f"{self.kernels_of(small) ^ wanted} are linked or missing")
        expect(len(self.kernels_of(full)) > 300, "the full program is not full")
        self.missing_cells(plan, out, methods)
        self.features()
        other = self.data / "exported/kv_cache.pte"
        refused = subprocess.run([small, other, "forward"], text=True,
                                 capture_output=True)
        expect(refused.returncode != 0 and "is missing" in
               refused.stdout + refused.stderr,
               f"another program runs: {refused}")

    def features(self):
        """Each feature that is taken away by hand must be missed, too."""
        for name in ("kv", "cond"):
            plan = self.folder / f"{name}.pte"
            run(self.etx, "plan", self.data / "pt2" / name, "-o", plan, "--quiet")
            out = self.select(name, plan)
            facts = json.loads(run(self.etx, "inspect", "--json", plan).stdout)
            methods = [m["name"] for m in facts["methods"]
                       if not m["name"].startswith("et_module_init")]
            text = (out / "etx_selected.c").read_text()
            features = re.search(r"UINT32_C\(0x([0-9a-f]+)\),  // features", text)
            expect(int(features.group(1), 16) != 0, f"{name} wants no feature")
            for i in range(32):
                if int(features.group(1), 16) >> i & 1:
                    less = int(features.group(1), 16) & ~(1 << i)
                    self.refused_without(
                        plan, out, methods,
                        text.replace(features.group(0),
                                     f"UINT32_C({less}),  // features"), "have: no ")

    def own_operators(self):
        """A selected build with an application's own operators. The result of the
        example is that of eager PyTorch (tests/data/custom_operator)."""
        example = self.source / "examples/custom_operator"
        plan = self.folder / "meter.pte"
        run(self.etx, "plan", self.data / "custom_operator/exported", "-o", plan,
            "--quiet", "--ops", example / "my.ops")
        out = self.select("own", plan)
        expect("3 kernels of" in self.done.stdout and
               "and 4 of the application" in self.done.stdout, self.done.stdout)
        include = self.folder / "include"
        include.mkdir()
        (include / "my_ops.h").write_text(
            run(self.etx, "ops", "--header", example / "my.ops").stdout)
        words = [self.cc, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror",
                 "-DMY_SELECTED", f"-I{include}", "-Wl,--gc-sections",
                 example / "main.c", "-o", self.folder / "meter"]
        libraries = [self.build / f"libetx_{n}.a" for n in
                     ("module", "shared_memory", "runtime", "format")]
        table = [f"-I{self.build / 'include'}", f"-I{out}", out / "etx_selected.c"]
        missing = subprocess.run(
            [str(w) for w in [*words, *table, *libraries, "-lm"]], text=True,
            capture_output=True)
        expect(missing.returncode != 0 and "my_scale_out_prepare" in missing.stderr,
               f"links without the kernels: {missing}")
        kernels = example / "my_kernels.c"
        run(*words, kernels, *table, *libraries, "-lm")
        done = run(self.folder / "meter", plan)
        expect(done.stdout == "total = [11, 13, 15]\n", done.stdout)
        expect(self.kernels_of(self.folder / "meter") ==
               {"add_out", "mul_out", "copy_in_place"}, "other kernels are linked")
        # The same as sources.
        sources = self.folder / "include/etx"
        run(self.etx, "select", plan, "--amalgamate", "module", "--machine",
            "portable", "-o", sources)
        run(*words, kernels, sources / "etx.c", "-lm")
        self.data_files(plan, sources)
        done = run(self.folder / "meter", plan)
        expect(done.stdout == "total = [11, 13, 15]\n", done.stdout)
        self.described_otherwise(plan, example / "my.ops")

    def data_files(self, plan, sources):
        """Sources for a program without data files refuse one by name."""
        main = self.folder / "data_files.c"
        main.write_text(DATA_FILES)
        program = self.folder / "data_files"
        run(self.cc, "-std=c11", "-O1", f"-I{sources}", main, sources / "etx.c",
            self.source / "examples/custom_operator/my_kernels.c",
            f"-I{self.folder / 'include'}", "-DMY_SELECTED", "-Wl,--gc-sections",
            "-lm", "-o", program)
        done = run(program, plan, self.data / "exported/external.ptd")
        expect("UNSUPPORTED: data file '" in done.stdout and
               "external.ptd' was given" in done.stdout, done.stdout)
        expect(not re.search(r"\betx_ptd_open$", run("nm", program).stdout, re.M),
               "the reader of data files is linked")
        with_files = self.select("external", self.data / "exported/external.pte")
        options = (with_files / "cc.args").read_text()
        expect("-DETX_DATA_FILES=0" not in options, options)

    def described_otherwise(self, plan, ops):
        """A list needs a description, and two descriptions must agree."""
        names = self.folder / "own/selected_operators.yaml"
        self.select("undescribed", names, code=2)
        expect("'my::scale.out' is not one of etx's, and no program and no --ops"
               in self.done.stderr, self.done.stderr)
        again = self.select("described", names, "--ops", ops)
        table = (again / "etx_selected.c").read_text()
        expect("{&my_scale_out.op, my_scale_out_prepare, NULL, NULL}" in table, table)
        other = self.folder / "other.ops"
        other.write_text(ops.read_text().replace("sizes: x\n", "sizes: [x.0]\n", 1))
        self.select("differing", plan, "--ops", other, code=2)
        expect(f"{other}: operator 'my::scale.out' is described as" in
               self.done.stderr, self.done.stderr)


def main():
    parser = argparse.ArgumentParser()
    for name in ("etx", "source", "build"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("cc")
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(parser.parse_args(), pathlib.Path(folder))
        checks.stock_lists()
        checks.order()
        checks.views()
        checks.reasons()
        checks.refusals()
        checks.delegates()
        checks.builds()
        checks.own_operators()


if __name__ == "__main__":
    main()
