"""Makes the files of language models: etx's programs, llama.cpp's GGUF files.

    python bench/language/build_language.py --cache DIRECTORY --etx BUILD \\
        --llama DIRECTORY --shapes llama qwen2 whisper-tiny

Files that exist are kept. `--llama` is the directory of setup_ggml.sh; without
it files of llama.cpp are not made. Archives and the float32 GGUF file are kept
too, since etx's programs are made again from them: the shape 'llama' takes 18 GB.
Whisper's files, with those of whisper.cpp, are made without its library, and need
the packages transformers and etx.
"""

import argparse
import os
import subprocess

import numpy

import language_models as models

SPEECH = "whisper-tiny"

# etx's kinds: the dtype of the archive, and the rules of --quantize.
KINDS = {"f32": ("float32", None), "bf16": ("bfloat16", None),
         "f16": ("float16", None), "int8": ("float32", "int8"),
         "int4": ("float32", "int4/32"),
         "int4k": ("float32", "int4k int8:*.value,*layers.0.output")}
BATCH_KINDS = ["f32", "int8", "int4"]
GGUF_KINDS = ["f16", "bf16", "q8_0", "q4_0", "q4_K_M"]
SPEECH_KINDS = ["f32", "f16", "int8"]


def plan(options, methods, output, quantize, pack):
    words = [os.path.join(options.etx, "etx"), "plan", methods, "-o", output,
             "-q"]
    for rule in (quantize or "").split():
        words += ["--quantize", rule]
    if pack:
        words += ["--pack"]
    subprocess.run(words, check=True)


def make_etx(options, shape, folder):
    import torch
    for kind, (dtype, quantize) in KINDS.items():
        for batch in (False, True):
            name = f"etx-{kind}" + ("-batch" if batch else "")
            output = os.path.join(folder, name + ".pte")
            if batch and kind not in BATCH_KINDS:
                continue
            if os.path.exists(output) and not options.again:
                continue
            methods = os.path.join(folder, dtype + ("-batch" if batch else ""))
            last = "decode8.pt2" if batch else "prefill.pt2"
            if not os.path.exists(os.path.join(methods, last)):
                save = models.save_batch if batch else models.save_methods
                save(shape, getattr(torch, dtype), methods)
            # Eight rows of int8 are multiplied as panels.
            plan(options, methods, output, quantize, batch and kind == "int8")
            print("made", output, flush=True)


def make_llama(options, shape, folder):
    plain = os.path.join(folder, "f32.gguf")
    if not os.path.exists(plain):
        models.save_gguf(shape, plain)
    for kind in GGUF_KINDS:
        path = os.path.join(folder, kind + ".gguf")
        if not os.path.exists(path):
            subprocess.run([os.path.join(options.llama, "bench_llama"),
                            "quantize", plain, path + ".part", kind], check=True,
                           stderr=subprocess.DEVNULL)
            os.replace(path + ".part", path)
            print("made", path, flush=True)


def make_speech(options, folder):
    """All files of whisper-tiny."""
    import torch
    import whisper_models as speech
    for kind in SPEECH_KINDS:
        dtype, quantize = KINDS[kind]
        output = os.path.join(folder, f"etx-{kind}.pte")
        if os.path.exists(output) and not options.again:
            continue
        speech.save_etx(output, getattr(torch, dtype), pack=True,
                        **({"quantize": quantize} if quantize else {}))
        print("made", output, flush=True)
    for kind in speech.TYPES:
        path = os.path.join(folder, kind + ".bin")
        if not os.path.exists(path):
            speech.save_peer(path, kind)
            print("made", path, flush=True)
    return speech.expected


def make_decoder(options, shape, folder):
    """Files of one of the shapes of language_models.py."""
    if options.llama:
        make_llama(options, shape, folder)
    if options.etx:
        make_etx(options, shape, folder)
    return lambda: models.expected(shape)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cache", required=True, metavar="DIRECTORY")
    parser.add_argument("--etx", metavar="BUILD", help="a build directory")
    parser.add_argument("--llama", metavar="DIRECTORY",
                        help="what setup_ggml.sh made")
    parser.add_argument("--shapes", nargs="*", default=["llama", "qwen2"],
                        choices=sorted(models.SHAPES) + [SPEECH])
    parser.add_argument("--again", action="store_true",
                        help="plans etx's programs again")
    options = parser.parse_args()
    for shape in options.shapes:
        folder = os.path.join(options.cache, shape)
        os.makedirs(folder, exist_ok=True)
        expected = (make_speech(options, folder) if shape == SPEECH
                    else make_decoder(options, shape, folder))
        path = os.path.join(folder, "expected.npy")
        if not os.path.exists(path):
            numpy.save(path, expected())


if __name__ == "__main__":
    main()
