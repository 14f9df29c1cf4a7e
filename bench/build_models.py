"""Makes every contender's files of the models that have a single call, once.

    python bench/build_models.py --cache DIRECTORY --etx BUILD [MODEL ...]

A contender is a library with a number type, such as onnxruntime-int8. A model has
a folder with its inputs, PyTorch's result and a folder for each contender.
Existing files are kept, except for etx's own. A file that a package cannot make
is reported and left out.
"""

import argparse
import os
import shutil
import subprocess
import time

import numpy
import torch

import models


def stateless(name):
    """The module and its inputs, in a form without state if there is one."""
    return models.STATELESS.get(name, models.ALL[name])()


def exported(name):
    """The program that torch.export gives, and its inputs."""
    module, inputs = models.ALL[name]()
    return torch.export.export(module, inputs, strict=False), inputs


def inputs_and_result(path, name, options):
    os.makedirs(path)
    for is_stateless in (False, True):
        module, inputs = stateless(name) if is_stateless else \
            models.ALL[name]()
        prefix = "stateless" if is_stateless else "input"
        for index, value in enumerate(inputs):
            numpy.save(os.path.join(path, f"{prefix}{index}.npy"),
                       value.numpy())
        result = module(*inputs)
        result = result[0] if isinstance(result, tuple) else result
        numpy.save(os.path.join(path, "result.npy"), result.numpy())


def pt2(path, name, options):
    os.makedirs(path)
    program, _ = exported(name)
    torch.export.save(program.run_decompositions({}),
                      os.path.join(path, "forward.pt2"))


def etx(path, name, options, more=()):
    os.makedirs(path)
    subprocess.run([os.path.join(options.etx, "etx"), "plan",
                    os.path.join(os.path.dirname(path), "pt2"), "-o",
                    os.path.join(path, "model.pte"), "--quiet", "--pack",
                    *more],
                   check=True, timeout=600)


def onnx(path, name, options):
    module, inputs = stateless(name)
    os.makedirs(path)
    torch.onnx.export(module, inputs, os.path.join(path, "model.onnx"),
                      dynamo=False, opset_version=17,
                      input_names=[f"x{i}" for i in range(len(inputs))])


def onnx_int8(path, name, options):
    from onnxruntime.quantization import QuantType, quantize_dynamic
    os.makedirs(path)
    source = os.path.join(os.path.dirname(path), "onnxruntime-float32")
    quantize_dynamic(os.path.join(source, "model.onnx"),
                     os.path.join(path, "model.onnx"), per_channel=True,
                     weight_type=QuantType.QInt8,
                     op_types_to_quantize=["MatMul", "Gemm"])


def openvino(path, name, options):
    import openvino as ov
    source = os.path.join(os.path.dirname(path), "onnxruntime-float32")
    graph = ov.convert_model(os.path.join(source, "model.onnx"))
    os.makedirs(path)
    ov.save_model(graph, os.path.join(path, "model.xml"),
                  compress_to_fp16=False)


def openvino_int8(path, name, options):
    import nncf
    import openvino as ov
    source = os.path.join(os.path.dirname(path), "openvino-float32")
    graph = nncf.compress_weights(
        ov.Core().read_model(os.path.join(source, "model.xml")),
        mode=nncf.CompressWeightsMode.INT8_SYM)
    os.makedirs(path)
    ov.save_model(graph, os.path.join(path, "model.xml"),
                  compress_to_fp16=False)


def executorch(path, name, options, is_int8=False):
    from executorch_files import lower
    program, inputs = exported(name)
    os.makedirs(path)
    lower({"forward": program}, {"forward": inputs},
          os.path.join(path, "model.pte"), is_int8)


# ------------------------------ int8 with static ranges of activations

def calibrated(name):
    """The graph that PyTorch's PT2E makes with XNNPACK's quantiser."""
    from executorch_files import quantised
    program, inputs = exported(name)
    return quantised({"forward": program}, {"forward": inputs},
                     is_dynamic=False)["forward"], inputs


def pt2_static(path, name, options):
    os.makedirs(path)
    program, _ = calibrated(name)
    torch.export.save(program.run_decompositions({}),
                      os.path.join(path, "forward.pt2"))


def etx_static(path, name, options):
    os.makedirs(path)
    subprocess.run([os.path.join(options.etx, "etx"), "plan",
                    os.path.join(os.path.dirname(path), "pt2-int8-static"),
                    "-o", os.path.join(path, "model.pte"), "--quiet"],
                   check=True, timeout=600)


def executorch_static(path, name, options):
    from executorch_files import lower
    program, inputs = calibrated(name)
    os.makedirs(path)
    lower({"forward": program}, {"forward": inputs},
          os.path.join(path, "model.pte"), False)


def onnx_static(path, name, options):
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat,
                                          QuantType, quantize_static)
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            _, inputs = stateless(name)
            self.rows = iter([{f"x{i}": value.numpy()
                               for i, value in enumerate(inputs)}])

        def get_next(self):
            return next(self.rows, None)

    os.makedirs(path)
    source = os.path.join(os.path.dirname(path), "onnxruntime-float32")
    prepared = os.path.join(path, "prepared.onnx")
    quant_pre_process(os.path.join(source, "model.onnx"), prepared)
    quantize_static(prepared, os.path.join(path, "model.onnx"), Reader(),
                    quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)
    os.remove(prepared)


def openvino_static(path, name, options):
    import nncf
    import openvino as ov
    source = os.path.join(os.path.dirname(path), "openvino-float32")
    _, inputs = stateless(name)
    rows = nncf.Dataset([{f"x{i}": value.numpy()
                          for i, value in enumerate(inputs)}])
    graph = nncf.quantize(
        ov.Core().read_model(os.path.join(source, "model.xml")), rows,
        preset=nncf.QuantizationPreset.MIXED, subset_size=1)
    os.makedirs(path)
    ov.save_model(graph, os.path.join(path, "model.xml"),
                  compress_to_fp16=False)


MAKERS = {
    "data": inputs_and_result,
    "pt2": pt2,
    "etx-float32": etx,
    "etx-int8": lambda path, name, o: etx(path, name, o,
                                          ["--quantize", "int8"]),
    "onnxruntime-float32": onnx,
    "onnxruntime-int8": onnx_int8,
    "openvino-float32": openvino,
    "openvino-int8": openvino_int8,
    "executorch-float32": executorch,
    "executorch-int8": lambda path, name, o: executorch(path, name, o, True),
    "pt2-int8-static": pt2_static,
    "etx-int8-static": etx_static,
    "onnxruntime-int8-static": onnx_static,
    "openvino-int8-static": openvino_static,
    "executorch-int8-static": executorch_static,
}


def make(name, maker, options):
    path = os.path.join(options.cache, name, maker)
    # etx changes between runs, so its files are always made again.
    if os.path.exists(path) and not maker.startswith("etx-"):
        return
    if maker.endswith("-int8") and name not in models.INT8:
        return
    if maker.endswith("-static") and name not in models.STATIC:
        return
    making, start = path + ".making", time.monotonic()
    for old in (making, path):
        shutil.rmtree(old, ignore_errors=True)
    try:
        with torch.no_grad():
            MAKERS[maker](making, name, options)
    except Exception as error:  # packages raise anything
        text = " ".join(str(error).split())[:200]
        print(f"{name}, {maker}: skipped: {type(error).__name__}: {text}",
              flush=True)
        shutil.rmtree(making, ignore_errors=True)
        return
    os.rename(making, path)
    print(f"{name}, {maker}: made in {time.monotonic() - start:.0f} s",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cache", required=True)
    parser.add_argument("--etx", required=True, metavar="BUILD")
    parser.add_argument("--only", nargs="*", metavar="CONTENDER")
    parser.add_argument("models", nargs="*", default=list(models.MODELS),
                        help="others: " + ", ".join(models.other_models.MODELS))
    options = parser.parse_args()
    for name in options.models:
        os.makedirs(os.path.join(options.cache, name), exist_ok=True)
        for maker in MAKERS:
            if not options.only or maker in options.only:
                make(name, maker, options)


if __name__ == "__main__":
    main()
