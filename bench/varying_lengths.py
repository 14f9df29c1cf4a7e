"""Encoders with random lengths: one program of etx beside other runtimes.

    python bench/varying_lengths.py --cache DIRECTORY --etx BUILD
                                    --lines lines.jsonl
    python bench/varying_lengths.py --lines lines.jsonl --markdown FILE

The models are BERT-base and the encoder of the opus-mt translators, both with
random weights, in float32, for texts of 1 to 512 tokens. Missing files are made
first. Each library has one process a model, which is stopped while another one
is measured; in each round all run the same texts, in an order that rotates. The
peak of memory is VmHWM after all rounds, less VmHWM before the model was
loaded; pages of mapped files count. Anonymous memory is what the process has
for itself, RssAnon at the end.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time

from contender import Contender, ratios

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             os.pardir, "tests", "bench"))
from figures import machine, write_markdown  # noqa: E402

MOST = 512  # tokens of a text
MODELS = ["bert-base", "opus-mt-encoder"]
# Bytes of a program that stay in memory, of one contender. It then has at most half of
# the peak of the other libraries, and as little as possible leaves between two calls.
RESIDENT = 350_000_000
LIMITED = f"etx --pack, at most {RESIDENT // 10**6} MB kept"
CONTENDERS = {"etx": "etx", "etx --pack": "etx", LIMITED: "etx", "onnxruntime": "onnxruntime",
              "openvino": "openvino"}
CHECKED = [1, 7, 100, MOST]  # lengths whose results are compared
ALLOWED = 1e-3  # of the largest number
MIB = 1 << 20


def ids(length):
    """The text of each length, as etx_lengths.c has it."""
    return [[5 + i * 37 % 1000 for i in range(length)]]


def path_of(cache, model, contender):
    name = {"etx": "plain.pte", "etx --pack": "packed.pte",
            LIMITED: "packed.pte", "onnxruntime": "model.onnx", "openvino": "model.xml"}[contender]
    return os.path.join(cache, model, name)


# ---------------------------------------------------------------- files

def module_of(model):
    import torch
    import opus_mt
    from models import First, bert
    if model == "bert-base":
        return bert()[0].eval()
    torch.manual_seed(1)
    return First(opus_mt.make().model.encoder, "input_ids").eval()


def make(options, model):
    """The files that are missing; etx's own are made again each time."""
    import torch
    folder = os.path.join(options.cache, model)
    archive = os.path.join(folder, "pt2", "forward.pt2")
    onnx = path_of(options.cache, model, "onnxruntime")
    example = (torch.tensor(ids(33)),)
    if not os.path.exists(archive):
        os.makedirs(os.path.dirname(archive), exist_ok=True)
        module = module_of(model)
        with torch.no_grad():
            torch.onnx.export(module, example, onnx, dynamo=False,
                              opset_version=17, input_names=["x0"],
                              dynamic_axes={"x0": {1: "length"}})
            length = torch.export.Dim("length", min=1, max=MOST)
            program = torch.export.export(
                module, example, dynamic_shapes=({1: length},), strict=False)
            results = {str(n): module(torch.tensor(ids(n))).ravel()[:64]
                       .tolist() for n in CHECKED}
        with open(os.path.join(folder, "results.json"), "w") as file:
            json.dump(results, file)
        torch.export.save(program.run_decompositions({}), archive)
    if not os.path.exists(path_of(options.cache, model, "openvino")):
        import openvino
        openvino.save_model(openvino.convert_model(onnx),
                            path_of(options.cache, model, "openvino"),
                            compress_to_fp16=False)
    for contender, more in (("etx", []), ("etx --pack", ["--pack"])):
        subprocess.run([os.path.join(options.etx, "etx"), "plan",
                        os.path.dirname(archive), "--quiet", "-o",
                        path_of(options.cache, model, contender), *more],
                       check=True, timeout=600)


# ---------------------------------------------------------------- peers

def load_onnxruntime(path, threads):
    import numpy
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        path, settings, providers=["CPUExecutionProvider"])
    return lambda length: session.run(
        None, {"x0": numpy.array(ids(length), numpy.int64)})[0]


def load_openvino(path, threads):
    import numpy
    import openvino
    request = openvino.Core().compile_model(path, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": False, "INFERENCE_PRECISION_HINT": "f32"
    }).create_infer_request()

    def call(length):
        request.infer([openvino.Tensor(numpy.array(ids(length), numpy.int64))])
        return request.get_output_tensor(0).data
    return call


def serve(library, threads):
    """Answers lines: load PATH, check LENGTH, run LENGTH..."""
    if library == "onnxruntime":
        import onnxruntime  # the library itself is not counted as the model's
        load = load_onnxruntime
    else:
        import openvino  # noqa: F401
        load = load_openvino
    call = None
    print("{}", flush=True)  # ready
    for line in sys.stdin:
        kind, *words = line.split()
        start = time.perf_counter()
        answer = {}
        if kind == "load":
            call = load(words[0], threads)
        elif kind == "check":
            answer["result"] = call(int(words[0])).ravel()[:64].tolist()
        else:
            for word in words:
                call(int(word))
        answer["ms"] = 1e3 * (time.perf_counter() - start)
        print(json.dumps(answer), flush=True)


# ---------------------------------------------------------------- rounds

def start(options, model, name):
    words = [sys.executable, os.path.abspath(__file__), "--serve",
             CONTENDERS[name], "--threads", str(options.threads)]
    if CONTENDERS[name] == "etx":
        words = [os.path.join(options.etx, "bench_lengths"),
                 str(options.threads),
                 str(RESIDENT if name == LIMITED else 0)]
    contender = Contender(name, words, None, options.threads)
    contender.answered = json.loads(contender.process.stdout.readline())
    before = contender.memory()
    path = path_of(options.cache, model, name)
    facts = {"load_ms": contender.ask(f"load {path}", "answered")["ms"],
             "baseline_bytes": before["peak_bytes"]}
    with open(os.path.join(options.cache, model, "results.json")) as file:
        expected = json.load(file)
    facts["difference"] = max(
        difference(contender.ask(f"check {length}", "answered")["result"],
                   expected[str(length)]) for length in CHECKED)
    contender.pause()
    return contender, facts


def difference(result, expected):
    return (max(abs(a - b) for a, b in zip(result, expected)) /
            max(abs(b) for b in expected))


def measure(options, model, lines):
    draw = random.Random(7)
    found = [start(options, model, name) for name in CONTENDERS]
    for number in range(-1, options.rounds):
        lengths = " ".join(str(draw.randint(1, MOST))
                           for _ in range(options.texts))
        turn = number % len(found)
        for contender, facts in found[turn:] + found[:turn]:
            answer = contender.measure("run " + lengths)
            if number >= 0:  # the first one warms up
                lines.write(json.dumps(
                    {"model": model, "library": contender.name,
                     "round": number, "texts": options.texts,
                     "threads": options.threads, **answer, **facts,
                     **contender.memory()}) + "\n")
        lines.flush()
    for contender, _ in found:
        contender.end()


# ---------------------------------------------------------------- table

def table(path):
    rows, setting = {}, ""
    with open(path) as lines:
        for line in lines:
            row = json.loads(line)
            if "setting" in row:
                setting = row["setting"]
                continue
            rows.setdefault(row["model"], {}).setdefault(
                row["library"], {})[row["round"]] = row
    text = [setting, "",
            "| model | library | ms a text | time / that of etx with a limit | "
            "peak, MiB | before loading | anonymous | load, ms | "
            "difference |", "|---|---|---|---|---|---|---|---|---|"]
    for model, of in rows.items():
        mine = of[LIMITED]
        for library, theirs in of.items():
            middle = statistics.median(row["ms"] / row["texts"]
                                       for row in theirs.values())
            last = theirs[max(theirs)]
            peak = last["peak_bytes"] - last["baseline_bytes"]
            text.append(
                f"| {model} | {library} | {middle:.2f} | " +
                "{:.2f} ({:.2f} to {:.2f})".format(*ratios(mine, theirs, "ms"))
                + f" | {peak / MIB:.0f} | {last['baseline_bytes'] / MIB:.0f} "
                f"| {last['own_bytes'] / MIB:.0f} | {last['load_ms']:.0f} "
                f"| {last['difference']:.1e}" +
                (" differs" if last["difference"] > ALLOWED else "") + " |")
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cache", metavar="DIRECTORY")
    parser.add_argument("--etx", metavar="BUILD", help="a build directory")
    parser.add_argument("--lines", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--texts", type=int, default=8, help="of a round")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--section", default="varying-lengths", metavar="NAME")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.threads)
        return
    if options.cache:
        for model in options.models:
            make(options, model)
        with open(options.lines, "w") as lines:
            threads = f"{options.threads} thread" + \
                "s" * (options.threads > 1)
            lines.write(json.dumps({
                "setting": f"{machine()}, {threads}; load at the start "
                           f"{os.getloadavg()[0]:.1f}."}) + "\n")
            for model in options.models:
                measure(options, model, lines)
    content = table(options.lines)
    print(content)
    if options.markdown:
        write_markdown(options.markdown, {options.section: content})


if __name__ == "__main__":
    main()
