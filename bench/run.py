"""Measures etx and other runtimes in one run, in turns.

    python bench/run.py --cache DIRECTORY --etx BUILD --lines lines.jsonl
    python bench/run.py --lines lines.jsonl --markdown docs/speed.md

Each contender is a process of its own that stays loaded. It is stopped while
another one is measured, so that its waiting threads take no processor. A round
has every contender once, in an order that rotates, and the machine's own
limits. Times are compared within a round, and the table has the median of these
ratios, because the speed of a machine drifts between rounds.

`foreign` is how many processors other programs used during the measurement. Above 0.1, a
figure is only an order of magnitude.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import peers
import shapes
from contender import Contender, ratios

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             os.pardir, "tests", "bench"))
from figures import machine, write_markdown  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
OWN = ["etx-float32", "etx-int8", "etx-int4"]
WARM_UP = 2
WEIGHT_BYTES = {"float32": 4 * shapes.STEP_WEIGHTS,
                "int8": shapes.STEP_WEIGHTS,
                # With a float32 scale for 128 of them.
                "int4": shapes.STEP_WEIGHTS * 17 // 32}
# Contenders that translate many sentences at once.
BATCHES = ["etx-float32", "etx-int8", "ctranslate2-float32",
           "ctranslate2-int8"]
FILES = {"torch": "transformers", "onnxruntime": "onnx"}


def source(rows):
    """The sources of opus_mt.py, from a process of its own: it needs torch."""
    program = ("import opus_mt; print(opus_mt.PADDING, "
               f"*opus_mt.sources({rows}).flatten().tolist())")
    return subprocess.run([sys.executable, "-c", program], cwd=HERE,
                          capture_output=True, text=True,
                          check=True).stdout.strip()


def names_of(options):
    names = OWN + peers.NAMES if options.rows == 1 else BATCHES
    return [name for name in names if not options.only or name in options.only]


def words_of(name, options, threads):
    """The command of a contender, and the file or folder that it needs."""
    library, kind = name.rsplit("-", 1)
    folder = f"{FILES.get(library, library)}-{kind}"
    if name in OWN:
        if options.rows > 1:
            folder = f"etx-batch-{kind}"
        model = os.path.join(options.cache, folder, "model.pte")
        steps = shapes.STEPS if options.rows == 1 else shapes.BATCH_STEPS
        return [os.path.join(options.etx, "bench_worker"), model,
                str(threads), str(steps)], model
    files = os.path.join(options.cache,
                         "transformers" if library == "torch" else folder)
    return [sys.executable, os.path.join(HERE, "peers.py"), name,
            options.cache, str(threads)], files


def start_all(options, threads, first_line):
    worker = os.path.join(options.etx, "bench_worker")
    all_of_them = [Contender("limits", [worker, "--limits", str(threads)],
                             first_line, threads)]
    for name in names_of(options):
        words, files = words_of(name, options, threads)
        if not os.path.exists(files):
            print(f"{name}: skipped, {files} was not made")
            continue
        try:
            contender = Contender(name, words, first_line, threads)
            for _ in range(WARM_UP):
                contender.ask("go", "answered")
        except (RuntimeError, OSError) as error:
            print(f"{name}: skipped: {error}")
            continue
        contender.pause()
        all_of_them.append(contender)
    all_of_them[0].pause()
    return all_of_them


def measure(options, threads, lines):
    contenders = start_all(options, threads, source(options.rows))
    facts = {"threads": threads, "rows": options.rows}
    for number in range(options.rounds):
        turn = number % len(contenders)
        for contender in contenders[turn:] + contenders[:turn]:
            answer = contender.measure()
            # A run may be ended early, so each line is complete by itself.
            lines.write(json.dumps(
                {"round": number, "name": contender.name, **facts,
                 **contender.loaded, **contender.memory(), **answer}) + "\n")
        lines.flush()
    for contender in contenders:
        contender.end()


# ---- the table ----

def equal_tokens(first, second):
    count = 0
    while count < len(first) and first[count] == second[count]:
        count += 1
    return count


def ratio_text(mine, theirs):
    """The contender's time divided by etx's, over rounds that both have."""
    return "{:.2f} ({:.2f} to {:.2f})".format(
        *ratios(mine, theirs, "token_ms"))


def cell(fact, key, unit):
    return f"{fact[key] / unit:.0f}" if key in fact else ""


def rows_of(rounds, threads):
    limits = rounds.get(("limits", threads), {})
    rows = []
    for (name, of), answers in rounds.items():
        if of != threads or name == "limits":
            continue
        kind = name.rsplit("-", 1)[1]
        mine = (rounds.get(("etx-" + kind, threads)) or
                rounds.get(("etx-float32", threads)))
        tokens = [a["token_ms"] for a in answers.values()]
        encodes = [a["encode_ms"] for a in answers.values()]
        shares = [1e3 * WEIGHT_BYTES[kind] / (1e9 * limits[i]["read_gb"]) /
                  answers[i]["token_ms"] for i in set(limits) & set(answers)]
        reference = rounds.get(("torch-float32", threads))
        equal = "" if reference is None else str(equal_tokens(
            answers[0]["tokens"], reference[0]["tokens"]))
        fact = answers[max(answers)]
        rows_at_once = fact.get("rows", 1)
        rows.append([
            name, f"{statistics.median(tokens):.2f}", f"{min(tokens):.2f}",
            f"{1e3 * rows_at_once / statistics.median(tokens):.0f}",
            ratio_text(mine, answers) if mine else "",
            f"{100 * statistics.median(shares):.0f} %"
            if shares and rows_at_once == 1 else "",
            f"{statistics.median(encodes):.1f}", cell(fact, "load_ms", 1),
            cell(fact, "peak_bytes", 1e6), cell(fact, "own_bytes", 1e6),
            equal,
            f"{statistics.median(a['foreign'] for a in answers.values()):.2f}",
            fact.get("version", "")])
    rows.sort(key=lambda row: (row[0].rsplit("-", 1)[1], float(row[1])))
    return rows


HEAD = ["contender", "ms a step, median", "minimum", "tokens a second", "its time / etx's",
        "of the reads", "encode ms", "load ms", "peak MB", "own MB",
        "equal tokens", "foreign", "version"]


def table(lines):
    rounds, first = {}, None
    for line in lines:
        row = json.loads(line)
        if "setting" in row:
            first = row["setting"]
        else:
            key = row["name"], row["threads"]
            rounds.setdefault(key, {})[row["round"]] = row
    text = [first, ""]
    for threads in sorted({of for _, of in rounds}):
        limits = rounds.get(("limits", threads), {})
        count = min(len(answers) for (_, of), answers in rounds.items()
                    if of == threads)
        text.append(f"{threads} thread{'s' if threads > 1 else ''}, {count} "
                    "rounds. Reads of 128 MB in the same run "
                    + "{:.1f} to {:.1f} GB/s, multiply-adds {:.1f} to {:.1f} "
                      "G/s.".format(
                          min(a["read_gb"] for a in limits.values()),
                          max(a["read_gb"] for a in limits.values()),
                          min(a["multiply_g"] for a in limits.values()),
                          max(a["multiply_g"] for a in limits.values())))
        text += ["", "| " + " | ".join(HEAD) + " |",
                 "|" + "---|" * len(HEAD)]
        for row in rows_of(rounds, threads):
            text.append("| " + " | ".join(row) + " |")
        text.append("")
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cache", metavar="DIRECTORY",
                        help="files of build.py; without it nothing is run")
    parser.add_argument("--etx", metavar="BUILD", help="a build directory")
    parser.add_argument("--lines", required=True, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rows", type=int, default=1, metavar="N",
                        choices=[1, shapes.BATCH],
                        help="sentences at once")
    parser.add_argument("--section", default="peers", metavar="NAME",
                        help="markers in FILE that the table goes between")
    parser.add_argument("--only", nargs="*", metavar="CONTENDER",
                        choices=OWN + peers.NAMES)
    parser.add_argument("--markdown", metavar="FILE")
    options = parser.parse_args()
    if options.cache:
        with open(options.lines, "w") as lines:
            setting = (f"{machine()}; load at the start "
                       f"{os.getloadavg()[0]:.1f}.")
            lines.write(json.dumps({"setting": setting}) + "\n")
            for threads in options.threads:
                measure(options, threads, lines)
    with open(options.lines) as lines:
        content = table(lines)
    print(content)
    if options.markdown:
        write_markdown(options.markdown, {options.section: content})


if __name__ == "__main__":
    main()
