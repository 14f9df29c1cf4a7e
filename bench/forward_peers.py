"""The models with a single call in one library, in a process of its own.

    python bench/forward_peers.py LIBRARY CACHE THREADS

Reads lines and answers each with a line of JSON:
    load MODEL KIND    -> the time of loading, the result
    go KIND SECONDS    -> milliseconds per call, over that many seconds
A model stays loaded until another one of the same kind is loaded.
"""

import glob
import json
import os
import sys
import time


def arrays(folder, prefix):
    import numpy
    count = len(glob.glob(os.path.join(folder, "data", prefix + "*.npy")))
    return [numpy.load(os.path.join(folder, "data", f"{prefix}{i}.npy"))
            for i in range(count)]


class Torch:
    def __init__(self, threads):
        import torch
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch, self.version = torch, torch.__version__

    def load(self, folder, kind):
        import models
        if kind != "float32":
            raise ValueError("only float32")
        module, inputs = models.ALL[os.path.basename(folder)]()

        def call():
            return module(*inputs).numpy()
        return call


class OnnxRuntime:
    def __init__(self, threads):
        import onnxruntime
        self.library, self.version = onnxruntime, onnxruntime.__version__
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1

    def load(self, folder, kind):
        session = self.library.InferenceSession(
            os.path.join(folder, "onnxruntime-" + kind, "model.onnx"),
            self.options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        inputs = arrays(folder, "stateless")
        # The exporter drops inputs that nothing reads.
        for port in session.get_inputs():
            binding.bind_cpu_input(port.name, inputs[int(port.name[1:])])
        for port in session.get_outputs():
            binding.bind_output(port.name, "cpu")

        def call():
            session.run_with_iobinding(binding)
            return binding.get_outputs()[0].numpy()
        return call


class OpenVino:
    """An option selects float32; by default it computes in a narrower type if the
    processor has one."""

    def __init__(self, threads):
        import openvino
        self.library = openvino
        self.version = openvino.__version__.split("-")[0]
        self.settings = {"INFERENCE_NUM_THREADS": threads,
                         "PERFORMANCE_HINT": "LATENCY",
                         "ENABLE_CPU_PINNING": False,
                         "INFERENCE_PRECISION_HINT": "f32"}

    def load(self, folder, kind):
        request = self.library.Core().compile_model(
            os.path.join(folder, "openvino-" + kind, "model.xml"), "CPU",
            self.settings).create_infer_request()
        kept = arrays(folder, "stateless")
        for port in request.model_inputs:
            name = port.get_any_name()
            request.set_tensor(name, self.library.Tensor(
                kept[int(name[1:])], shared_memory=True))

        def call(inputs=kept):  # keeps them alive: the request borrows them
            request.infer()
            return request.get_output_tensor(0).data
        return call


class ExecuTorch:
    def __init__(self, threads):
        from importlib.metadata import version
        import torch
        from executorch.extension.pybindings import portable_lib
        self.torch, self.library = torch, portable_lib
        self.threads, self.version = threads, version("executorch")

    def load(self, folder, kind):
        program = self.library._load_program(
            os.path.join(folder, "executorch-" + kind, "model.pte"))
        self.library._unsafe_reset_threadpool(self.threads)
        method = program.load_method("forward")
        inputs = [self.torch.from_numpy(x) for x in arrays(folder, "input")]

        def call(program=program):
            return method(inputs, False)[0].numpy()
        return call


LIBRARIES = {"torch": Torch, "onnxruntime": OnnxRuntime,
             "openvino": OpenVino, "executorch": ExecuTorch}


def load(library, calls, folder, kind):
    calls.pop(kind, None)
    start = time.perf_counter()
    calls[kind] = library.load(folder, kind)
    loaded = 1e3 * (time.perf_counter() - start)
    result = calls[kind]()
    return {"load_ms": loaded, "version": library.version,
            "result": result.ravel()[:64].tolist()}


def go(call, seconds):
    count, start = 0, time.perf_counter()
    while True:
        call()
        count += 1
        taken = time.perf_counter() - start
        if taken >= seconds:
            return {"ms": 1e3 * taken / count, "calls": count}


def main():
    name, cache, threads = sys.argv[1:]
    library, calls = LIBRARIES[name](int(threads)), {}
    for line in sys.stdin:
        words = line.split()
        try:
            if words[0] == "load":
                answer = load(library, calls, os.path.join(cache, words[1]),
                              words[2])
            else:
                answer = go(calls[words[1]], float(words[2]))
        except Exception as error:  # packages raise anything
            answer = {"error": " ".join(str(error).split())[:200]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", sys.argv[-1])
    os.environ.setdefault("OPENVINO_TELEMETRY_OPT_OUT", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
