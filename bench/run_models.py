"""Measures the models with a single call: etx and other runtimes in turns.

    python bench/run_models.py --cache DIRECTORY --etx BUILD --lines lines.jsonl
    python bench/run_models.py --lines lines.jsonl --markdown docs/speed.md

As in run.py, each library has a process that is stopped while another one is
measured, and each has one turn per round in an order that rotates. A contender
whose result differs from PyTorch's is marked.
"""

import argparse
import json
import os
import statistics
import sys

from contender import Contender, ratios

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             os.pardir, "tests", "bench"))
from figures import machine, write_markdown  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = ["etx", "torch", "onnxruntime", "openvino", "executorch"]
KINDS = ["float32", "int8", "int8-static"]
# Tolerance of a result, relative to the largest number of PyTorch's.
ALLOWED = {"float32": 1e-3, "int8": 0.2, "int8-static": 0.5}
# Seconds that a contender is measured in a round.
SECONDS = 0.06


def start(library, options, threads):
    words = [sys.executable, os.path.join(HERE, "forward_peers.py"), library,
             options.cache, str(threads)]
    if library == "etx":
        words = [os.path.join(options.etx, "bench_forward"), options.cache,
                 str(threads)]
    contender = Contender(library, words, None, threads)
    contender.pause()
    return contender


def difference(result, expected):
    """The largest difference, relative to the largest expected number if that
    is not 0."""
    pairs = list(zip(result, expected))
    return (max(abs(a - b) for a, b in pairs) /
            (max(abs(b) for _, b in pairs) or 1.0)) if pairs else 1.0


def load(contenders, model, options):
    """The pairs of contender and kind that have the model, and facts."""
    import numpy
    folder = os.path.join(options.cache, model)
    expected = numpy.load(os.path.join(folder, "data", "result.npy")).ravel()[:64]
    found = []
    for contender in contenders:
        for kind in KINDS:
            if contender.name != "torch" and not os.path.exists(
                    os.path.join(folder, f"{contender.name}-{kind}")):
                continue
            if contender.name == "torch" and kind != "float32":
                continue
            contender.resume()
            answer = contender.ask(f"load {model} {kind}", "loaded")
            contender.pause()
            if "error" in answer:
                print(f"{model}, {contender.name}-{kind}: skipped: "
                      f"{answer['error']}", flush=True)
                continue
            answer["difference"] = difference(answer.pop("result"),
                                              expected.tolist())
            found.append((contender, kind, answer))
    return found


def measure(options, threads, lines):
    contenders = [start(name, options, threads) for name in LIBRARIES
                  if not options.only or name in options.only]
    for model in options.models or sorted(os.listdir(options.cache)):
        if not os.path.exists(os.path.join(options.cache, model, "data",
                                           "result.npy")):
            continue
        found = load(contenders, model, options)
        if not found:
            print(f"{model}: skipped: no contender has files of it", flush=True)
            continue
        for number in range(-1, options.rounds):
            turn = number % len(found)
            for contender, kind, facts in found[turn:] + found[:turn]:
                answer = contender.measure(f"go {kind} {SECONDS}")
                row = {"model": model, "kind": kind, "threads": threads,
                       "library": contender.name, "round": number,
                       **answer, **facts}
                if number >= 0:  # the first one warms up
                    lines.write(json.dumps(row) + "\n")
        lines.flush()
    for contender in contenders:
        contender.end()


def cell(mine, theirs):
    if not theirs:
        return ""
    middle = statistics.median(row["ms"] for row in theirs.values())
    wrong = theirs[0]["difference"] > ALLOWED[theirs[0]["kind"]]
    text = f"{middle:.2f}"
    if mine is not theirs and mine:
        text += " ({:.2f})".format(ratios(mine, theirs, "ms")[0])
    return text + (" differs" if wrong else "")


def table(path):
    rows, order, setting = {}, [], ""
    with open(path) as lines:
        for line in lines:
            row = json.loads(line)
            if "setting" in row:
                setting = row["setting"]
                continue
            key = row["threads"], row["model"], row["kind"]
            if key not in order:
                order.append(key)
            rows.setdefault(key, {}).setdefault(row["library"], {})[
                row["round"]] = row
    text = [setting, ""]
    for threads in sorted({key[0] for key in order}):
        text += [f"{threads} thread{'s' if threads > 1 else ''}, ms a call:",
                 "", "| model | weights | " + " | ".join(LIBRARIES) +
                 " | fastest peer's time / etx's |",
                 "|" + "---|" * (len(LIBRARIES) + 3)]
        for key in order:
            if key[0] != threads:
                continue
            of = rows[key]
            mine = of.get("etx", {})
            best = [ratios(mine, of[name], "ms") for name in of
                    if name != "etx" and mine]
            text.append(f"| {key[1]} | {key[2]} | " + " | ".join(
                cell(mine, of.get(name, {})) for name in LIBRARIES) + " | " +
                ("{:.2f} ({:.2f} to {:.2f})".format(*min(best))
                 if best else "") + " |")
        text.append("")
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cache", metavar="DIRECTORY",
                        help="files of build_models.py")
    parser.add_argument("--etx", metavar="BUILD", help="a build directory")
    parser.add_argument("--lines", required=True, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--only", nargs="*", metavar="LIBRARY",
                        choices=LIBRARIES, help=", ".join(LIBRARIES))
    parser.add_argument("--models", nargs="*", metavar="MODEL")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--section", default="models", metavar="NAME",
                        help="markers in that file; default 'models'")
    options = parser.parse_args()
    if options.cache:
        with open(options.lines, "w") as lines:
            lines.write(json.dumps({
                "setting": f"{machine()}; load at the start "
                           f"{os.getloadavg()[0]:.1f}."}) + "\n")
            for threads in options.threads:
                measure(options, threads, lines)
    content = table(options.lines)
    print(content)
    if options.markdown:
        write_markdown(options.markdown, {options.section: content})


if __name__ == "__main__":
    main()
