"""Contenders that GenAI libraries run, with the protocol of etx_language.c: lines
of standard input, answers in lines of JSON.

    python bench/language/genai_language.py onnxruntime|openvino DIRECTORY THREADS

A time is that of the model alone, without sampling and text. ONNX Runtime GenAI
appends tokens to a sequence and goes back to a length. OpenVINO GenAI only generates:
it states how long the model took for the prompt and for each token after it, and is
asked for as many tokens as times are wanted.
"""

import json
import os
import sys
import time

CONTEXT = 2048  # of language_models.py
CHECKED = [(i * 7 + 3) % 500 for i in range(17)]
NEXT = 9


def tokens(count):
    return [(i * 7 + 3) % 500 for i in range(count)]


class OnnxRuntime:
    def __init__(self, directory, threads):
        import numpy
        import onnxruntime_genai
        self.numpy, self.library = numpy, onnxruntime_genai
        config = onnxruntime_genai.Config(directory)
        config.overlay(json.dumps({"model": {"decoder": {"session_options": {
            "intra_op_num_threads": threads}}}}))
        self.model = onnxruntime_genai.Model(config)
        parameters = onnxruntime_genai.GeneratorParams(self.model)
        parameters.set_search_options(max_length=CONTEXT, do_sample=False)
        self.generator = onnxruntime_genai.Generator(self.model, parameters)
        self.length = 0

    def append(self, ids):
        self.generator.append_tokens(
            self.numpy.array([ids], dtype=self.numpy.int32))
        self.length += len(ids)

    def go_to(self, length):
        if self.length < length:
            self.append(tokens(length)[self.length:])
        elif self.length > length:
            self.generator.rewind_to(length)
            self.length = length

    def timed(self, length, ids, calls):
        found = []
        for _ in range(calls):
            self.go_to(length)
            start = time.perf_counter()
            self.append(ids)
            found.append(1e3 * (time.perf_counter() - start))
        return found

    def decode(self, length, calls):
        return self.timed(length, [NEXT], calls)

    def prefill(self, length, calls):
        return self.timed(0, tokens(length), calls)

    def logits(self):
        self.go_to(0)
        self.append(CHECKED)
        self.append([NEXT])
        return self.generator.get_logits().reshape(-1).tolist()


class OpenVino:
    def __init__(self, directory, threads):
        import numpy
        import openvino
        import openvino_genai
        self.numpy, self.openvino, self.library = numpy, openvino, openvino_genai
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.enable_prefix_caching = False  # prompts are alike here
        scheduler.max_num_batched_tokens = CONTEXT
        self.pipeline = openvino_genai.LLMPipeline(
            directory, "CPU", scheduler_config=scheduler,
            INFERENCE_NUM_THREADS=threads, INFERENCE_PRECISION_HINT="f32")

    def times(self, length, more):
        """Milliseconds for a prompt and for each of `more` tokens after it."""
        ids = self.openvino.Tensor(
            self.numpy.array([tokens(length)], dtype=self.numpy.int64))
        config = self.library.GenerationConfig(
            max_new_tokens=more + 1, min_new_tokens=more + 1, ignore_eos=True,
            do_sample=False)
        metrics = self.pipeline.generate(ids, config).perf_metrics
        return [1e-3 * float(one)
                for one in metrics.raw_metrics.token_infer_durations]

    def decode(self, length, calls):
        # The first token after a prompt takes ten times as long as the next ones.
        return self.times(length, calls + 1)[2:]

    def prefill(self, length, calls):
        return [self.times(length, 0)[0] for _ in range(calls)]

    def logits(self):
        return None  # the library gives none


def answer(contender, line):
    what, *numbers = line.split()
    if what == "check":
        return {"logits": contender.logits()}
    if what not in ("decode", "prefill"):
        return {"error": "unknown command"}
    return {"ms": getattr(contender, what)(int(numbers[0]), int(numbers[1]))}


def main():
    library, directory, threads = sys.argv[1:]
    # Libraries write to standard output, too.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    start = time.perf_counter()
    contender = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}[library](
        directory, int(threads))
    print(json.dumps({"load_ms": 1e3 * (time.perf_counter() - start)}),
          file=output, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(contender, line)), file=output, flush=True)


if __name__ == "__main__":
    main()
