"""Makes every contender's files from one set of weights, if they do not exist.

    python bench/build.py --cache DIRECTORY --etx BUILD [CONTENDER ...]

Existing files are kept. A file is made under another name and renamed when it
is complete. A file that a package cannot make is reported and left out.
"""

import argparse
import os
import shutil
import subprocess
import time

import torch

import opus_mt


def transformers(path, options):
    opus_mt.make().save_pretrained(path)


class Words:
    """A tokenizer with the methods that the converter of CTranslate2 calls."""
    eos_token, unk_token, pad_token = "</s>", "<unk>", "<pad>"

    def get_vocab(self):
        special = {opus_mt.END: self.eos_token, 1: self.unk_token,
                   opus_mt.PADDING: self.pad_token}
        return {special.get(i, f"w{i}"): i for i in range(opus_mt.VOCABULARY)}

    def convert_ids_to_tokens(self, ids):
        words = {i: word for word, i in self.get_vocab().items()}
        return [words[i] for i in ids]


def ctranslate2(path, options, kind):
    from ctranslate2.converters import TransformersConverter

    class Converter(TransformersConverter):
        def load_tokenizer(self, tokenizer_class, name, **rest):
            return Words()

    model = os.path.join(options.cache, "transformers")
    Converter(model).convert(path, quantization=None if kind == "float32"
                             else kind)


def onnx(path, options):
    model = opus_mt.load(options.cache)
    past, crossing, present = opus_mt.cache_names()
    os.makedirs(path)
    with torch.no_grad():
        torch.onnx.export(
            opus_mt.Encoder(model), (torch.tensor([opus_mt.source()]),),
            os.path.join(path, "encoder.onnx"), dynamo=False,
            opset_version=17, input_names=["ids"], output_names=crossing)
        axes = {name: {2: "length"} for name in past}
        axes.update({name: {2: "longer"} for name in present})
        torch.onnx.export(
            opus_mt.GrowingDecoder(model), opus_mt.growing_examples(),
            os.path.join(path, "decoder.onnx"), dynamo=False,
            opset_version=17, dynamic_axes=axes,
            input_names=["token", "position"] + past + crossing,
            output_names=["logits"] + present)


def onnx_int8(path, options):
    from onnxruntime.quantization import QuantType, quantize_dynamic
    os.makedirs(path)
    for part in ("encoder.onnx", "decoder.onnx"):
        quantize_dynamic(os.path.join(options.cache, "onnx-float32", part),
                         os.path.join(path, part), per_channel=True,
                         weight_type=QuantType.QInt8,
                         op_types_to_quantize=["MatMul", "Gemm"])


def openvino(path, options):
    import openvino as ov
    from openvino._offline_transformations import \
        apply_make_stateful_transformation
    model = opus_mt.load(options.cache)
    past, crossing, present = opus_mt.cache_names()
    with torch.no_grad():
        encoder = ov.convert_model(
            opus_mt.Encoder(model), input=[[1, opus_mt.SOURCE]],
            example_input=(torch.tensor([opus_mt.source()]),))
        decoder = ov.convert_model(opus_mt.GrowingDecoder(model),
                                   example_input=opus_mt.growing_examples())

    def name(graph, inputs, outputs):
        for ports, names in ((graph.inputs, inputs), (graph.outputs, outputs)):
            for port, text in zip(ports, names):
                port.get_tensor().set_names({text})

    name(encoder, ["ids"], crossing)
    name(decoder, ["token", "position"] + past + crossing,
         ["logits"] + present)
    heads, width = opus_mt.HEADS, opus_mt.HEAD
    shapes = {"token": [1, 1], "position": [1]}
    shapes.update({key: [1, heads, -1, width] for key in past})
    shapes.update({key: [1, heads, opus_mt.SOURCE, width] for key in crossing})
    decoder.reshape({decoder.input(key): ov.PartialShape(shape)
                     for key, shape in shapes.items()})
    apply_make_stateful_transformation(decoder, dict(zip(past, present)))
    os.makedirs(path)
    for graph, part in ((encoder, "encoder.xml"), (decoder, "decoder.xml")):
        ov.save_model(graph, os.path.join(path, part), compress_to_fp16=False)


def openvino_int8(path, options):
    import nncf
    import openvino as ov
    os.makedirs(path)
    for part in ("encoder.xml", "decoder.xml"):
        graph = ov.Core().read_model(
            os.path.join(options.cache, "openvino-float32", part))
        graph = nncf.compress_weights(
            graph, mode=nncf.CompressWeightsMode.INT8_SYM)
        ov.save_model(graph, os.path.join(path, part), compress_to_fp16=False)


def exported(options, rows=1, step="decode"):
    """The two methods as exported programs over the same buffers. `step` is the
    function that becomes `decode`: `choose` ends with the token, `decode` with
    logits."""
    translator = opus_mt.Translator(opus_mt.load(options.cache), rows)
    programs = {}
    for name, example in opus_mt.method_examples(rows).items():
        method = opus_mt.Method(translator, step if name == "decode" else name)
        method.eval()
        with torch.no_grad():
            programs[name] = torch.export.export(method, example, strict=False)
    return programs


def executorch(path, options, is_int8):
    from executorch_files import lower
    os.makedirs(path)
    lower(exported(options), opus_mt.method_examples(),
          os.path.join(path, "model.pte"), is_int8)


def pt2(path, options, rows=1):
    os.makedirs(path)
    for name, program in exported(options, rows, "choose").items():
        torch.export.save(program.run_decompositions({}),
                          os.path.join(path, name + ".pt2"))


def etx(path, options, more, source="pt2"):
    os.makedirs(path)
    subprocess.run([os.path.join(options.etx, "etx"), "plan",
                    os.path.join(options.cache, source), "-o",
                    os.path.join(path, "model.pte"), "--quiet", "--pack",
                    *more],
                   check=True)


MAKERS = {
    "transformers": transformers,
    "pt2": pt2,
    "pt2-batch": lambda path, o: pt2(path, o, opus_mt.BATCH),
    "etx-float32": lambda path, o: etx(path, o, []),
    "etx-int8": lambda path, o: etx(path, o, ["--quantize", "int8"]),
    "etx-int4": lambda path, o: etx(path, o, ["--quantize", "int4/128"]),
    "etx-batch-float32": lambda path, o: etx(path, o, [], "pt2-batch"),
    "etx-batch-int8": lambda path, o: etx(path, o, ["--quantize", "int8"],
                                          "pt2-batch"),
    "ctranslate2-float32": lambda path, o: ctranslate2(path, o, "float32"),
    "ctranslate2-int8": lambda path, o: ctranslate2(path, o, "int8"),
    "onnx-float32": onnx,
    "onnx-int8": onnx_int8,
    "openvino-float32": openvino,
    "openvino-int8": openvino_int8,
    "executorch-float32": lambda path, o: executorch(path, o, False),
    "executorch-int8": lambda path, o: executorch(path, o, True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cache", required=True)
    parser.add_argument("--etx", required=True, metavar="BUILD")
    parser.add_argument("contenders", nargs="*", default=list(MAKERS))
    options = parser.parse_args()
    os.makedirs(options.cache, exist_ok=True)
    for name in options.contenders:
        path = os.path.join(options.cache, name)
        # etx changes between runs, so its files are always made again.
        if os.path.exists(path) and not name.startswith("etx-"):
            continue
        making, start = path + ".making", time.monotonic()
        for old in (making, path):
            shutil.rmtree(old, ignore_errors=True)
        try:
            with torch.no_grad():
                MAKERS[name](making, options)
        except Exception as error:  # packages raise anything
            text = " ".join(str(error).split())[:200]
            print(f"{name}: skipped: {type(error).__name__}: {text}")
            continue
        os.rename(making, path)
        print(f"{name}: made in {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
