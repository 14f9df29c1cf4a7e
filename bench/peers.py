"""One contender (a library with a number type) in a process of its own. It makes
one translation for each line of standard input and prints its times and tokens as
a line of JSON.

    python bench/peers.py NAME CACHE THREADS

NAME is one of NAMES. The first line of the input has the padding token (not
needed here) and the tokens to translate. The answer to it is the time of loading
and the version of the library.
"""

import json
import os
import sys
import time

from shapes import (BATCH_STEPS, HEAD, HEADS, LAYERS, PADDING, SOURCE,
                    STEPS)

NAMES = ["torch-float32", "ctranslate2-float32", "ctranslate2-int8",
         "onnxruntime-float32", "onnxruntime-int8", "openvino-float32",
         "openvino-int8", "executorch-float32", "executorch-int8"]


class Stepwise:
    """Libraries that make one step of the decoder per call."""

    def translate(self):
        start = time.perf_counter()
        self.encode()
        encoded = time.perf_counter()
        token, tokens = PADDING, []
        for position in range(STEPS):
            token = self.step(token, position)
            tokens.append(token)
        decoded = time.perf_counter()
        return {"encode_ms": 1e3 * (encoded - start),
                "token_ms": 1e3 * (decoded - encoded) / STEPS,
                "tokens": tokens}


class Torch(Stepwise):
    """The package transformers with its own cache, one call per step."""

    def __init__(self, cache, kind, threads, source):
        import torch
        import transformers
        from transformers import MarianMTModel
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch = torch
        self.version = f"{torch.__version__}, {transformers.__version__}"
        self.model = MarianMTModel.from_pretrained(
            os.path.join(cache, "transformers")).eval()
        self.source = torch.tensor([source])
        self.mask = torch.ones_like(self.source)

    def encode(self):
        from transformers.cache_utils import DynamicCache, EncoderDecoderCache
        self.encoded = self.model.get_encoder()(self.source)[0]
        self.past = EncoderDecoderCache(DynamicCache(), DynamicCache())

    def step(self, token, position):
        torch = self.torch
        out = self.model.model.decoder(
            input_ids=torch.tensor([[token]]), past_key_values=self.past,
            encoder_hidden_states=self.encoded, use_cache=True,
            encoder_attention_mask=self.mask,
            cache_position=torch.tensor([position]))
        logits = self.model.lm_head(out[0]) + self.model.final_logits_bias
        return int(logits.argmax())


class CTranslate2:
    """Has no call for a single step. The time of a step is computed: a translation
    of many tokens less a translation of one token."""

    def __init__(self, cache, kind, threads, source):
        import ctranslate2
        self.version = ctranslate2.__version__
        self.translator = ctranslate2.Translator(
            os.path.join(cache, "ctranslate2-" + kind), device="cpu",
            compute_type=kind, inter_threads=1, intra_threads=threads)
        # The sources of a batch follow each other.
        rows = max(1, len(source) // SOURCE)
        self.steps = STEPS if rows == 1 else BATCH_STEPS
        self.words = [[f"w{i}" for i in source[at:at + SOURCE - 1]] + ["</s>"]
                      for at in range(0, rows * SOURCE, SOURCE)]

    def run(self, count):
        start = time.perf_counter()
        answer = self.translator.translate_batch(
            self.words, beam_size=1, min_decoding_length=count,
            max_decoding_length=count, max_input_length=0, max_batch_size=0)
        return time.perf_counter() - start, answer[0].hypotheses[0]

    def translate(self):
        one, _ = self.run(1)
        many, words = self.run(self.steps + 1)
        token = (many - one) / self.steps
        tokens = [int(w[1:]) if w[0] == "w" else -1
                  for w in words[:self.steps]]
        return {"encode_ms": 1e3 * (one - token), "token_ms": 1e3 * token,
                "tokens": tokens}


def names(prefix):
    """Names of the tensors of a cache. `crossing` is the cache of cross-attention."""
    return [f"{prefix}_{kind}{i}" for i in range(LAYERS) for kind in "kv"]


class OnnxRuntime(Stepwise):
    """The cache is an input and an output, bound so that nothing is copied."""

    def __init__(self, cache, kind, threads, source):
        import numpy
        import onnxruntime
        self.version = onnxruntime.__version__
        self.library, self.numpy = onnxruntime, numpy
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        folder = os.path.join(cache, "onnx-" + kind)
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(os.path.join(folder, part), options,
                                         providers=["CPUExecutionProvider"])
            for part in ("encoder.onnx", "decoder.onnx"))
        self.source = numpy.array([source], numpy.int64)

    def encode(self):
        binding = self.encoder.io_binding()
        binding.bind_cpu_input("ids", self.source)
        for name in names("crossing"):
            binding.bind_output(name, "cpu")
        self.encoder.run_with_iobinding(binding)
        self.crossing = binding.get_outputs()
        self.binding = self.decoder.io_binding()
        for name, value in zip(names("crossing"), self.crossing):
            self.binding.bind_ortvalue_input(name, value)
        empty = self.numpy.zeros((1, HEADS, 0, HEAD), self.numpy.float32)
        self.past = [self.library.OrtValue.ortvalue_from_numpy(empty)
                     for _ in names("past")]

    def step(self, token, position):
        binding, numpy = self.binding, self.numpy
        binding.bind_cpu_input("token", numpy.array([[token]], numpy.int64))
        binding.bind_cpu_input("position", numpy.array([position], numpy.int64))
        for name, value in zip(names("past"), self.past):
            binding.bind_ortvalue_input(name, value)
        binding.bind_output("logits", "cpu")
        for name in names("present"):
            binding.bind_output(name, "cpu")
        self.decoder.run_with_iobinding(binding)
        out = binding.get_outputs()
        self.past = out[1:]
        return int(out[0].numpy().argmax())


class OpenVino(Stepwise):
    """Keeps its cache as state. An option selects float32; by default it computes in
    a narrower type if the processor has one."""

    def __init__(self, cache, kind, threads, source):
        import numpy
        import openvino
        self.version = openvino.__version__.split("-")[0]
        settings = {"INFERENCE_NUM_THREADS": threads,
                    "PERFORMANCE_HINT": "LATENCY",
                    "ENABLE_CPU_PINNING": False,
                    "INFERENCE_PRECISION_HINT": "f32",
                    "KV_CACHE_PRECISION": "f32"}
        core = openvino.Core()
        folder = os.path.join(cache, "openvino-" + kind)
        self.encoder, self.decoder = (
            core.compile_model(os.path.join(folder, part), "CPU",
                               settings).create_infer_request()
            for part in ("encoder.xml", "decoder.xml"))
        self.token = numpy.zeros((1, 1), numpy.int64)
        self.position = numpy.zeros(1, numpy.int64)
        self.source = numpy.array([source], numpy.int64)
        tensor = openvino.Tensor
        self.encoder.set_tensor("ids", tensor(self.source, shared_memory=True))
        self.decoder.set_tensor("token", tensor(self.token, shared_memory=True))
        self.decoder.set_tensor("position",
                                tensor(self.position, shared_memory=True))

    def encode(self):
        self.encoder.infer()
        for name in names("crossing"):
            self.decoder.set_tensor(name, self.encoder.get_tensor(name))
        self.decoder.reset_state()

    def step(self, token, position):
        self.token[0, 0], self.position[0] = token, position
        self.decoder.infer()
        return int(self.decoder.get_tensor("logits").data.argmax())


class ExecuTorch(Stepwise):
    """Its runtime with XNNPACK, called from Python, which costs some microseconds per
    call."""

    def __init__(self, cache, kind, threads, source):
        from importlib.metadata import version
        import torch
        from executorch.extension.pybindings import portable_lib
        self.torch = torch
        self.version = version("executorch")
        path = os.path.join(cache, "executorch-" + kind, "model.pte")
        self.program = portable_lib._load_program(path)
        portable_lib._unsafe_reset_threadpool(threads)
        self.methods = [self.program.load_method(name)
                        for name in ("encode", "decode")]
        self.source = torch.tensor([source])

    def encode(self):
        self.methods[0]([self.source])

    def step(self, token, position):
        logits = self.methods[1]([self.torch.tensor([[token]]),
                                  self.torch.tensor([position])], False)[0]
        return int(logits.argmax())


KINDS = {"torch": Torch, "ctranslate2": CTranslate2,
         "onnxruntime": OnnxRuntime, "openvino": OpenVino,
         "executorch": ExecuTorch}


def main():
    name, cache, threads = sys.argv[1:]
    library, kind = name.rsplit("-", 1)
    source = [int(word) for word in sys.stdin.readline().split()][1:]
    start = time.perf_counter()
    contender = KINDS[library](cache, kind, int(threads), source)
    loaded = 1e3 * (time.perf_counter() - start)
    print(json.dumps({"load_ms": loaded, "version": contender.version}),
          flush=True)
    for _ in sys.stdin:
        print(json.dumps(contender.translate()), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", sys.argv[-1])
    os.environ.setdefault("OPENVINO_TELEMETRY_OPT_OUT", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
