"""Measures language models: etx and other libraries, in turns.

    python bench/language/run_language.py --cache DIRECTORY --etx BUILD \\
        --llama DIRECTORY --whisper DIRECTORY --genai PYTHON --lines lines.jsonl
    python bench/language/run_language.py --lines lines.jsonl \\
        --markdown docs/speed.md

Each pair of kinds of weights is measured by itself: its contenders take turns in
an order that rotates, and each is stopped while another one is measured.
"""

import argparse
import json
import math
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, os.pardir),
             os.path.join(HERE, os.pardir, os.pardir, "tests", "bench")]
from contender import Contender, quartiles  # noqa: E402
from figures import machine, write_markdown  # noqa: E402

LIBRARIES = {"llama": "llama.cpp", "whisper": "whisper.cpp",
             "onnxruntime": "ONNX Runtime GenAI", "openvino": "OpenVINO GenAI"}
# etx's kind, and those of other libraries that have as many bits.
PAIRS = {"f32": ["llama-f32", "onnxruntime-f32", "openvino-f32"],
         "bf16": ["llama-bf16"], "f16": ["llama-f16", "openvino-f16"],
         "int8": ["llama-q8_0", "openvino-int8"],
         "int4": ["llama-q4_0", "llama-q4_K_M", "onnxruntime-int4",
                  "openvino-int4"],
         "int4k": ["llama-q4_K_M"]}
BATCH_PAIRS = ["f32", "int8", "int4"]
# What is measured, how often in a round, and in which rounds: each, or each
# third.
STEPS = {"decode 64": (3, 1), "decode 1500": (3, 1), "prefill 128": (1, 1),
         "prefill 512": (1, 3)}
BATCH_STEPS = {"decode8 64": (3, 1)}
SPEECH = "whisper-tiny"  # the shape that is measured beside whisper.cpp
SPEECH_STEPS = {"encode 0": (1, 1), "decode 64": (5, 1)}
# Its convolutions refuse files of float32.
SPEECH_PAIRS = {"f32": ["whisper-f16"], "f16": ["whisper-f16"],
                "int8": ["whisper-q8_0"]}


def program(options, shape, name, threads):
    """The words that start a contender; None without its file."""
    library, kind = name.split("-", 1)
    file = os.path.join(options.cache, shape, {
        "etx": f"etx-{kind}.pte", "llama": f"{kind}.gguf",
        "whisper": f"{kind}.bin"}.get(library, name))
    if library in ("onnxruntime", "openvino"):
        words = [options.genai or "", os.path.join(HERE, "genai_language.py"),
                 file]
    else:
        directory, worker = {
            "etx": (options.etx, "bench_language"),
            "llama": (options.llama, "bench_llama"),
            "whisper": (options.whisper, "bench_whisper")}[library]
        words = [os.path.join(directory or "", worker), file]
    if not all(os.path.exists(word) for word in words):
        return None
    if library in ("onnxruntime", "openvino"):
        words.insert(2, library)
    priority = ["chrt", "-f", str(options.priority)] if options.priority else []
    return priority + words + [str(threads)]


def signal_to_noise(logits, path):
    """Decibels of the logits against those of PyTorch in float32."""
    import numpy
    expected = numpy.load(path).astype(numpy.float64)
    noise = numpy.square(expected - numpy.array(logits)).sum()
    signal = numpy.square(expected).sum()
    return 10 * math.log10(signal / noise) if noise else 200.0


def start(options, shape, names, threads):
    """Contenders that are loaded and stopped, and what is known of them."""
    found, facts = [], {}
    for name in names:
        words = program(options, shape, name, threads)
        if words is None:
            print(f"{shape}, {name}: skipped: no file", flush=True)
            continue
        contender = Contender(name, words, None, threads)
        contender.loaded = json.loads(contender.process.stdout.readline())
        fact = {"load_ms": contender.loaded["load_ms"]}
        if not name.endswith("-batch"):
            logits = contender.ask("check", "checked").get("logits")
            path = os.path.join(options.cache, shape, "expected.npy")
            if logits and os.path.exists(path):
                fact["decibels"] = round(signal_to_noise(logits, path), 1)
        facts[name] = fact
        contender.pause()
        found.append(contender)
    return found, facts


def rounds(options, shape, names, steps, threads, lines):
    """All rounds of one set of contenders."""
    contenders, facts = start(options, shape, names, threads)
    if len(contenders) < 2:
        for contender in contenders:
            contender.end()
        return
    for number in range(-1, options.rounds):
        turn = number % len(contenders)
        for contender in contenders[turn:] + contenders[:turn]:
            for step, (times, every) in steps.items():
                if number % every != 0 and number >= 0:
                    continue
                answer = contender.measure(f"{step} {times}")
                if "error" in answer:
                    raise RuntimeError(f"{contender.name}: {answer['error']}")
                if number < 0:  # this round warms up
                    continue
                lines.write(json.dumps({
                    "shape": shape, "threads": threads, "step": step,
                    "name": contender.name, "round": number,
                    "ms": statistics.median(answer["ms"]),
                    "foreign": answer["foreign"]}) + "\n")
        lines.flush()
    for contender in contenders:
        lines.write(json.dumps({
            "memory": contender.name, "shape": shape, "threads": threads,
            **facts[contender.name], **contender.memory()}) + "\n")
        contender.end()
    lines.flush()
    print(f"{shape}, {threads}: {', '.join(names)}", flush=True)


def pairs_of(shape):
    return SPEECH_PAIRS if shape == SPEECH else PAIRS


def measure(options, lines):
    for threads in options.threads:
        for shape in options.shapes:
            for kind, peers in pairs_of(shape).items():
                if options.kinds and kind not in options.kinds:
                    continue
                names = [f"etx-{kind}"] + peers
                if "single" in options.sets:
                    steps = SPEECH_STEPS if shape == SPEECH else {
                        step: STEPS[step] for step in options.steps}
                    rounds(options, shape, names, steps, threads, lines)
                # The others make no call of eight sequences.
                names = [f"etx-{kind}-batch"] + [
                    peer for peer in peers if peer.startswith("llama-")]
                if "batch" in options.sets and kind in BATCH_PAIRS and \
                        shape != SPEECH:
                    rounds(options, shape, names, BATCH_STEPS, threads, lines)


def cell(mine, theirs):
    """Milliseconds of both and the ratio within a round."""
    common = sorted(set(mine) & set(theirs))
    if not common:
        return ""
    found = [theirs[i] / mine[i] for i in common]
    low, high = quartiles(found)
    return (f"{statistics.median(mine[i] for i in common):.1f} : "
            f"{statistics.median(theirs[i] for i in common):.1f} = "
            f"**{statistics.median(found):.2f}** ({low:.2f} to {high:.2f})")


def read(path):
    times, facts, settings = {}, {}, []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if "setting" in row:
                settings.append(row["setting"])
            elif "memory" in row:
                facts[row["shape"], row["threads"], row["memory"]] = row
            else:
                key = row["shape"], row["threads"], row["name"], row["step"]
                times.setdefault(key, {})[row["round"]] = row["ms"]
    return times, facts, settings


def time_table(times, shape, threads, steps, suffix):
    text = [f"| weights, etx : other library | {' | '.join(steps)} |",
            "|" + "---|" * (len(steps) + 1)]
    for kind, peers in pairs_of(shape).items():
        for peer in peers:
            cells = [cell(times.get((shape, threads, f"etx-{kind}{suffix}",
                                     step), {}),
                          times.get((shape, threads, peer, step), {}))
                     for step in steps]
            if any(cells):
                library, other = peer.split("-", 1)
                text.append(f"| {kind} : {LIBRARIES[library]} {other} | "
                            f"{' | '.join(cells)} |")
    return text


def fact_table(facts, shape):
    text = ["| contender | signal to noise of the logits, dB | load, ms | "
            "peak, MB | own, MB |", "|---|---|---|---|---|"]
    for (of, threads, name), row in facts.items():
        if of == shape and threads == 1 and "decibels" in row:
            text.append(
                f"| {name} | {row['decibels']} | {row['load_ms']:.0f} | "
                f"{row['peak_bytes'] / 1e6:.0f} | "
                f"{row['own_bytes'] / 1e6:.0f} |")
    return text if len(text) > 2 else []


def table(path):
    times, facts, settings = read(path)
    text = [settings[0] if settings else "", ""]
    shapes = sorted({key[0] for key in times})
    for shape in shapes:
        for threads in sorted({key[1] for key in times if key[0] == shape}):
            count = max(len(found) for key, found in times.items()
                        if key[:2] == (shape, threads))
            text += [f"{shape}, {threads} "
                     f"thread{'s' if threads > 1 else ''}, "
                     f"up to {count} rounds, ms:", ""]
            steps = SPEECH_STEPS if shape == SPEECH else STEPS
            text += time_table(times, shape, threads, list(steps), "") + [""]
            batch = time_table(times, shape, threads, list(BATCH_STEPS),
                               "-batch")
            text += batch + [""] if len(batch) > 2 else []
        known = fact_table(facts, shape)
        text += known + [""] if known else []
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cache", metavar="DIRECTORY",
                        help="files of build_language.py")
    parser.add_argument("--etx", metavar="BUILD", help="a build directory")
    parser.add_argument("--llama", metavar="DIRECTORY",
                        help="what setup_ggml.sh llama made")
    parser.add_argument("--whisper", metavar="DIRECTORY",
                        help="what setup_ggml.sh whisper made")
    parser.add_argument("--genai", metavar="PYTHON",
                        help="an interpreter with requirements-genai.txt")
    parser.add_argument("--lines", required=True, metavar="FILE")
    parser.add_argument("--append", action="store_true",
                        help="keeps the lines that the file has")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--shapes", nargs="*", default=["llama", "qwen2"])
    parser.add_argument("--kinds", nargs="*", choices=list(PAIRS))
    parser.add_argument("--steps", nargs="*", choices=list(STEPS),
                        default=list(STEPS))
    parser.add_argument("--sets", nargs="*", default=["single", "batch"],
                        choices=["single", "batch"])
    parser.add_argument("--priority", type=int, metavar="NUMBER",
                        help="real-time priority of the contenders")
    parser.add_argument("--markdown", metavar="FILE")
    options = parser.parse_args()
    if options.cache:
        with open(options.lines, "a" if options.append else "w",
                  encoding="utf-8") as lines:
            lines.write(json.dumps({
                "setting": f"{machine()}; load at the start "
                           f"{os.getloadavg()[0]:.1f}."}) + "\n")
            measure(options, lines)
    content = table(options.lines)
    print(content)
    if options.markdown:
        write_markdown(options.markdown, {"language": content})


if __name__ == "__main__":
    main()
