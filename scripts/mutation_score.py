#!/usr/bin/env python3
"""Changes sources in one place at a time, and counts how many changes tests notice.

    mutation_score.py BUILD FOLDER... [--sample N] [--seed N] [--jobs N] [--slow] [--again FILE]

BUILD is built with ETX_TESTS and static libraries. A change (a mutant) is another
comparison, operator or constant, a negated condition, or a statement that is gone. What
ETX_ALWAYS and ETX_NEVER state has one value for every input, and is not changed inside.
The changed file alone is compiled, at -O1, and linked in front of the libraries of each
suite of TESTS for its folder; the sources and BUILD stay as they are. Suites that have
noticed the most changes of the file for their time come first. A change that
does not compile, or gives the same code, does not count; nor do those of
scripts/equivalent_mutants.txt, which change nothing that a caller sees. A suite that
fails, crashes or takes too long has noticed the change. Prints the changes that no
suite noticed, and the share of the others. Without --sample, takes every change. With
--slow, slow suites, too, try the changes that the others did not notice. With --again,
takes the changes alone that an earlier run has printed.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import pathlib
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
EQUIVALENT = pathlib.Path(__file__).with_name("equivalent_mutants.txt")

# The suites of a folder, by the names of their programs. Those that run the command etx
# are not among them.
TESTS = {
    "format/flatbuffers": ["test_format_fb_*", "test_format_pte_*", "test_format_etx_blob_*",
                           "test_format_ptd_*", "test_format_bundle_*"],
    "format/pte": ["test_format_pte_*", "test_format_etx_blob_*", "test_format_cache_table_*"],
    "shared_memory": ["test_shared_memory_*"],
    "cli/verify": ["test_cli_verify_*"],
    "runtime/load": ["test_runtime_method_*", "test_runtime_variants_*", "test_runtime_missing_*",
                     "test_runtime_run_chains_*", "test_runtime_left_out_*",
                     "test_runtime_late_calls_*",
                     "test_runtime_state_checks_*", "test_cli_size_values_*",
                     "test_cli_size_program_*"],
    "runtime/method": ["test_runtime_method_*", "test_runtime_run_chains_*"],
    "runtime/program": ["test_runtime_program_*", "test_runtime_argument_*", "test_runtime_operator_*",
                        "test_runtime_unplanned_*", "test_runtime_build_features_*",
                        "test_runtime_missing_*", "test_runtime_method_init_*",
                        "test_runtime_own_operator_*", "test_runtime_left_out_*",
                        "test_runtime_method_variants_*"],
    "runtime/run": ["test_runtime_method_*", "test_runtime_run_chains_*", "test_runtime_state_checks_*",
                    "test_runtime_state_questions_*", "test_runtime_late_versions_*",
                    "test_runtime_sizes_by_data_*", "test_runtime_variants_*",
                    "test_runtime_scratch_blocks_*", "test_cli_size_values_*",
                    "test_cli_size_program_*"],
    "runtime/shapes": ["test_runtime_method_*", "test_runtime_run_chains_*", "test_runtime_late_*",
                       "test_runtime_sizes_by_data_*", "test_runtime_random_flow_*",
                       "test_runtime_prepare_cache_*", "test_runtime_call_overlap_*",
                       "test_runtime_joined_parts_*", "test_runtime_operator_cache_*",
                       "test_runtime_apart_outputs_*", "test_runtime_changed_arguments_*",
                       "test_runtime_described_views_*", "test_runtime_flow_sizes_*",
                       "test_runtime_idle_calls_*", "test_runtime_kept_flow_*",
                       "test_runtime_known_sizes_*", "test_runtime_moved_tensors_*",
                       "test_runtime_own_sizes_*", "test_runtime_refused_*",
                       "test_runtime_scratch_blocks_*", "test_runtime_shared_calls_*",
                       "test_runtime_symbol_numbers_*", "test_cli_size_values_*",
                       "test_cli_size_program_*"],
    "runtime/trace": ["test_runtime_call_trace_*", "test_runtime_variants_sharing_*",
                      "test_runtime_joined_parts_*"],
}
SLOW = ["test_cli_verify_corruption_*", "test_cli_verify_moved_*", "test_cli_verify_regions_test"]

TOKEN = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
  | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<number>\b(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b(?!\.))
  | (?P<name>[A-Za-z_]\w*)
  | (?P<operator><<=|>>=|\+\+|--|->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
""", re.VERBOSE | re.DOTALL | re.MULTILINE)

SWAPS = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
    "+=": ["-="], "-=": ["+="], "<<": [">>"], ">>": ["<<"], "++": ["--"], "--": ["++"],
}
BINARY = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"], "&": ["|"], "|": ["&"]}
WORDS = {"true": "false", "false": "true"}
# Names that no type begins with, so that `name(` or `name =` begins a statement.
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "else", "do", "case", "default",
            "static", "const", "struct", "enum", "typedef", "goto", "break", "continue"}

Token = collections.namedtuple("Token", "kind text start end")
Mutant = collections.namedtuple("Mutant", "path start end new")


def tokens_of(code):
    return [Token(m.lastgroup, m.group(), m.start(), m.end()) for m in TOKEN.finditer(code)
            if m.lastgroup not in ("comment", "directive")]


def closing(tokens, at):
    """Position of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(tokens)):
        if tokens[i].text in ("(", "[", "{"):
            depth += 1
        elif tokens[i].text in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return i
    return len(tokens) - 1


def statement_end(tokens, at):
    """Position of the semicolon of the statement at `at`, or None for a block."""
    while at < len(tokens) and tokens[at].text != ";":
        if tokens[at].text == "{":
            return None
        at = closing(tokens, at) + 1 if tokens[at].text in ("(", "[") else at + 1
    return at if at < len(tokens) else None


def numbers_near(text):
    match = re.match(r"(0[xX][0-9a-fA-F]+|\d+)(.*)", text)
    value = int(match.group(1), 0) if not re.fullmatch(r"0\d+", match.group(1)) else None
    if value is None:
        return []
    near = [value + 1] + ([value - 1] if value > 0 else [])
    return [f"{n}{match.group(2)}" for n in near]


def statements(path, tokens, i):
    """Changes of the statement that begins with token i."""
    first = tokens[i]
    end = statement_end(tokens, i)
    if end is None:
        return
    following = tokens[i + 1].text if i + 1 < len(tokens) else ""
    if first.text == "return" and following not in (";", "ETX_OK", "true", "false"):
        if "etx_diag_fail" in following or following == "refuse" or following.startswith("refuse_"):
            yield Mutant(path, first.start, tokens[end].end, "return ETX_OK;")
    elif first.text == "ETX_TRY":
        yield Mutant(path, first.start, first.end, "(void)")
    elif first.text == "continue":
        yield Mutant(path, first.start, tokens[end].end, ";")
    elif first.text in ("++", "--", "*"):
        yield Mutant(path, first.start, tokens[end].end, ";")
    elif first.kind == "name" and first.text not in KEYWORDS and (
            following in ("(", "=", "->", "[", ".", "+=", "-=", "*=", "|=", "&=", "++", "--")):
        yield Mutant(path, first.start, tokens[end].end, ";")


def mutants_of(path):
    code = (SOURCE / path).read_text()
    tokens = tokens_of(code)
    depth = 0
    stated = 0  # what ETX_ALWAYS or ETX_NEVER states ends here
    for i, token in enumerate(tokens):
        if token.text.startswith(("ETX_ALWAYS", "ETX_NEVER")) and token.kind == "name":
            stated = max(stated, closing(tokens, i + 1))
        if i < stated:
            continue
        before = tokens[i - 1] if i > 0 else Token("operator", ";", 0, 0)
        depth += (token.text == "{") - (token.text == "}")
        if token.kind == "operator":
            is_binary = before.kind in ("name", "number") or before.text in (")", "]")
            if before.text in ("return", "case", "sizeof"):
                is_binary = False
            following = tokens[i + 1].text if i + 1 < len(tokens) else ""
            if token.text in "*&" and (following in ("const", ")", ",", "restrict", "*") or depth == 0):
                is_binary = False  # a type
            swaps = SWAPS.get(token.text, BINARY.get(token.text, []) if is_binary else [])
            for new in swaps:
                yield Mutant(path, token.start, token.end, new)
            if token.text == "!":
                yield Mutant(path, token.start, token.end, "")
        elif token.kind == "number":
            for new in numbers_near(token.text):
                yield Mutant(path, token.start, token.end, new)
        elif token.text in WORDS:
            yield Mutant(path, token.start, token.end, WORDS[token.text])
        elif token.text in ("if", "while") and tokens[i + 1].text == "(":
            last = closing(tokens, i + 1)
            condition = code[tokens[i + 1].end:tokens[last].start]
            yield Mutant(path, tokens[i + 1].end, tokens[last].start, f"!({condition})")
        # A closing parenthesis may be that of `if (...)`.
        if depth > 0 and before.text in (";", "{", "}", ")", "else", ":"):
            if before.text != ":" or tokens[i - 2].kind == "name":
                yield from statements(path, tokens, i)


def changed_line(code, mutant):
    """The number of the line, and its text before and after the change."""
    first = code.rfind("\n", 0, mutant.start) + 1
    last = code.find("\n", mutant.end)
    old = " ".join(code[first:last].split())
    new = " ".join((code[first:mutant.start] + mutant.new + code[mutant.end:last]).split())
    return code.count("\n", 0, mutant.start) + 1, old, new


def known_equivalents():
    """{(path, line before, line after)}; a row is these and a reason, with bars between."""
    known = set()
    if EQUIVALENT.exists():
        for line in EQUIVALENT.read_text().splitlines():
            if line and not line.startswith("#"):
                known.add(tuple(part.strip() for part in line.split(" ## ")[:3]))
    return known


def change_of(mutant):
    """The text of its line before and after the change."""
    return changed_line((SOURCE / mutant.path).read_text(), mutant)[1:]


def printed_changes(path):
    """{(path, line before, line after)} of what a run has printed."""
    rows = (re.match(r"(\S+?):\d+: (.*) ## (.*)", line) for line in path.read_text().splitlines())
    return {row.groups() for row in rows if row}


class Build:
    def __init__(self, path, is_slow):
        self.path = path
        self.compile = {}
        for row in json.loads((path / "compile_commands.json").read_text()):
            file = pathlib.Path(row["file"])
            if file.is_relative_to(SOURCE):
                self.compile.setdefault(str(file.relative_to(SOURCE)), shlex.split(row["command"]))
        programs = sorted(p.name for p in (path / "tests").glob("test_*") if p.is_file())
        self.suites = {}
        for folder, patterns in TESTS.items():
            chosen = [p for p in programs if any(fnmatch.fnmatch(p, x) for x in patterns)
                      and (is_slow or not any(fnmatch.fnmatch(p, x) for x in SLOW))]
            self.suites[folder] = [(p, self.link_command(p)) for p in chosen]
        self.seconds = {}
        self.noticed = collections.Counter()  # by file and suite

    def link_command(self, program):
        lines = subprocess.run(["ninja", "-C", str(self.path), "-t", "commands", "-s", f"tests/{program}"],
                               capture_output=True, text=True, check=True).stdout.splitlines()
        command = lines[-1].removeprefix(": && ").removesuffix(" && :")
        return shlex.split(command)

    def suites_of(self, path):
        for folder, suites in self.suites.items():
            if pathlib.PurePath(path).is_relative_to(folder):
                stem = pathlib.PurePath(path).stem
                # To link a suite takes time, too.
                return sorted(suites, key=lambda s: -(self.noticed[path, s[0]] + 1 + (stem in s[0]))
                              / (self.seconds.get(s[0], 0) + 0.1))
        sys.exit(f"{path}: TESTS has no suites for it")

    def compile_to(self, path, source, out):
        """Compiles `source` in place of `path`."""
        command = [a for a in self.compile[path] if not a.startswith("-O")]
        if "ccache" in command[0]:
            command = command[1:]
        command[command.index("-o") + 1] = str(out)
        command[command.index("-c") + 1] = str(source)
        command += ["-O1", "-w", "-g0"]
        return subprocess.run(command, cwd=self.path, capture_output=True).returncode == 0

    def link(self, suite, changed, out):
        command = list(suite[1])
        command[command.index("-o") + 1] = str(out)
        # Members of a library whose names the object has are not taken from it.
        first = next(i for i, a in enumerate(command) if a.endswith(".a"))
        command.insert(first, str(changed))
        subprocess.run(command, cwd=self.path, capture_output=True, check=True)

    def measure(self, folders):
        """How long each suite takes, which must pass."""
        for folder in folders:
            for program, _ in self.suites[folder]:
                start = child_seconds()
                if not run(self.path / "tests" / program, 120):
                    sys.exit(f"{program} fails without a change")
                self.seconds[program] = child_seconds() - start


def child_seconds():
    """The time that the processor has spent on programs that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def limit(seconds):
    """Of the process itself: of its memory, and of the processor's time, since other
    programs may hold it up."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def run(program, seconds):
    """True if the suite passes in time."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([str(program)], cwd=directory, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, preexec_fn=lambda: limit(seconds))
    return done.returncode == 0


def try_mutant(build, mutant, originals):
    """'stillborn', 'same', 'noticed' or 'survived'."""
    code = (SOURCE / mutant.path).read_text()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        source = directory / "changed.c"
        source.write_text(code[:mutant.start] + mutant.new + code[mutant.end:])
        changed = directory / "changed.o"
        if not build.compile_to(mutant.path, source, changed):
            return "stillborn"
        if changed.read_bytes() == originals[mutant.path]:
            return "same"
        for suite in build.suites_of(mutant.path):
            program = directory / suite[0]
            build.link(suite, changed, program)
            if not run(program, int(3 + 5 * build.seconds[suite[0]])):
                build.noticed[mutant.path, suite[0]] += 1
                return "noticed"
            program.unlink()
    return "survived"


def original_object(build, path):
    with tempfile.TemporaryDirectory() as name:
        source = pathlib.Path(name) / "changed.c"
        source.write_text((SOURCE / path).read_text())
        out = pathlib.Path(name) / "changed.o"
        if not build.compile_to(path, source, out):
            sys.exit(f"{path} does not compile")
        return out.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--again", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    build = Build(arguments.build.resolve(), arguments.slow)
    files = [str(p.relative_to(SOURCE)) for folder in arguments.folders
             for p in sorted((SOURCE / folder).glob("*.c"))]
    files = [f for f in files if f in build.compile]
    mutants = [m for f in files for m in mutants_of(f)]
    if arguments.again is not None:
        printed = printed_changes(arguments.again)
        mutants = [m for m in mutants if (m.path, *change_of(m)) in printed]
    if arguments.sample is not None and arguments.sample < len(mutants):
        mutants = random.Random(arguments.seed).sample(mutants, arguments.sample)
    build.measure(arguments.folders)
    originals = {f: original_object(build, f) for f in {m.path for m in mutants}}
    known = known_equivalents()
    counts = {folder: collections.Counter() for folder in arguments.folders}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda m: try_mutant(build, m, originals), mutants)
        for mutant, result in zip(mutants, results):
            code = (SOURCE / mutant.path).read_text()
            line, old, new = changed_line(code, mutant)
            if result == "survived" and (mutant.path, old, new) in known:
                result = "equivalent"
            if result == "survived":
                print(f"{mutant.path}:{line}: {old} ## {new}", flush=True)
            folder = next(f for f in counts if pathlib.PurePath(mutant.path).is_relative_to(f))
            counts[folder][result] += 1
    for folder, count in counts.items():
        tried = count["noticed"] + count["survived"]
        share = 100 * count["noticed"] / tried if tried else 100
        print(f"{folder:24} {count['noticed']:5} of {tried:5} changes noticed {share:6.1f} %; "
              f"{count['equivalent']} are known to be equivalent, {count['same']} gave the same "
              f"code, {count['stillborn']} did not compile")


if __name__ == "__main__":
    main()
