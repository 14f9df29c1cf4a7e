#!/usr/bin/env python3
"""One plan for all sizes beside plans for one size: instructions and copies.

    dynamic_plans.py ETX [--sizes N] [--keep DIRECTORY] [--markdown FILE] [NAME...]

Each model is exported twice: with sizes that vary, and once more for each size
with that size alone. Both are planned for etx. `etx bench` then counts the
instructions that a call runs, and those among them that only move elements
(copies). Both programs get the same inputs, and their results must agree.

Ends with 1 if a call of the dynamic program makes a copy that the call of the
fixed program does not make, or if results differ, and with 77 (skipped) if a
package is not there. --markdown replaces the table in FILE.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "bench"))
from figures import write_markdown

try:
    import torch
    from architectures import (DECODER, NARROW, SPECIAL, WORDS, Part, bart,
                               bert, distilbert, gpt2, hf, marian, resnet, t5,
                               tokens, whisper)
    from model_files import described, quiet, save_case
    from torch.export import Dim
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

MARKER = "dynamic plans"  # of the table in the document

# Operators that only move elements.
COPIES = {"cat", "stack", "clone", "copy", "copy_", "select_copy", "slice_copy",
          "split_copy", "split_with_sizes_copy", "unbind_copy", "narrow_copy",
          "permute_copy", "transpose_copy", "t_copy", "expand_copy",
          "view_copy", "unsqueeze_copy", "squeeze_copy", "_to_copy", "gather",
          "index", "repeat", "slice_scatter", "select_scatter",
          "as_strided_copy"}


class Packed(torch.nn.Module):
    """q, k and v of one product, as rows, as encoders of PyTorch have them."""

    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(64, 4, 96, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 4,
                                                  enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(x)


class Prefixed(torch.nn.Module):
    """Rows of two inputs one after the other, then parts of the result."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(16, 32)
        self.second = torch.nn.Linear(16, 32)
        self.last = torch.nn.Linear(32, 16)

    def forward(self, x, y):
        rows = torch.cat([self.first(x), self.second(y).relu()], 1)
        mixed = self.last(rows.softmax(-1))
        return mixed[:, :x.shape[1]] * x, mixed[:, x.shape[1]:] + y


class Dense(torch.nn.Module):
    """A block of a dense network: each convolution reads all before it."""

    def __init__(self):
        super().__init__()
        self.steps = torch.nn.ModuleList(
            torch.nn.Conv2d(8 + 8 * i, 8, 3, padding=1) for i in range(4))

    def forward(self, x):
        for step in self.steps:
            x = torch.cat([x, step(x).relu()], 1)
        return x.mean((2, 3))


class Levels(torch.nn.Module):
    """A U-Net of two levels."""

    def __init__(self):
        super().__init__()
        conv = torch.nn.Conv2d
        self.down = conv(3, 8, 3, padding=1)
        self.inner = conv(8, 16, 3, padding=1, stride=2)
        self.up = torch.nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = conv(16, 4, 3, padding=1)

    def forward(self, x):
        top = self.down(x).relu()
        low = self.up(self.inner(top).relu())
        return self.out(torch.cat([top, low], 1))


class Pyramid(torch.nn.Module):
    """Boxes of three levels, one after the other, as detectors return them."""

    def __init__(self):
        super().__init__()
        conv = torch.nn.Conv2d
        self.levels = torch.nn.ModuleList(
            [conv(3, 8, 3, padding=1, stride=4),
             conv(8, 8, 3, padding=1, stride=2),
             conv(8, 8, 3, padding=1, stride=2)])
        self.heads = torch.nn.ModuleList(conv(8, 6, 1) for _ in range(3))

    def forward(self, x):
        boxes = []
        for level, head in zip(self.levels, self.heads):
            x = level(x).relu()
            boxes.append(head(x).flatten(2).transpose(1, 2))
        return torch.cat(boxes, 1)


class Patches(torch.nn.Module):
    """A class token in front of the patches of an image."""

    def __init__(self):
        super().__init__()
        self.token = torch.nn.Parameter(torch.randn(1, 1, 32))
        self.patches = torch.nn.Conv2d(3, 32, 8, stride=8)
        self.norm = torch.nn.LayerNorm(32)
        self.layer = torch.nn.Linear(32, 32)

    def forward(self, x):
        rows = self.patches(x).flatten(2).transpose(1, 2)
        rows = torch.cat([self.token, rows], 1)
        return (rows + self.layer(self.norm(rows)))[:, 0]


def language(kind, config):
    return Part(kind(config), lambda m, i: m(input_ids=i, use_cache=False)[0])


def masked(kind, config):
    return Part(kind(config), lambda m, i, a: m(input_ids=i,
                                                attention_mask=a)[0])


def pictured(kind, config):
    return Part(kind(config), lambda m, x: m(pixel_values=x)[0])


def pair(kind, config):
    """Source and target of one length."""
    return Part(kind(config), lambda m, i, d: m(
        input_ids=i, decoder_input_ids=d, use_cache=False)[0])


def ids(length):
    return (tokens(length),)


def two_ids(length):
    return tokens(length), tokens(length)


def roberta():
    return hf.RobertaConfig(**NARROW, vocab_size=WORDS,
                            max_position_embeddings=66)


def ids_and_mask(length):
    return tokens(length), torch.ones(1, length, dtype=torch.int64)


def image(side):
    return (torch.randn(1, 3, side, side),)


LENGTHS = (2, 3, 7, 12, 16, 24, 33, 48)
SIDES = (32, 40, 48, 56, 64, 72, 88, 96)
WIDE = (64, 96, 128, 160, 192)


class Model:
    def __init__(self, make, inputs, dims, sizes=LENGTHS, unit=1):
        self.make, self.inputs, self.dims = make, inputs, dims
        self.sizes, self.unit = sizes, unit

    def dynamic(self):
        """The dimensions that vary, as torch.export takes them."""
        n = Dim("n", min=self.sizes[0] // self.unit,
                max=self.sizes[-1] // self.unit)
        size = n if self.unit == 1 else self.unit * n
        return tuple(dict.fromkeys(dims, size) for dims in self.dims)


ONE, TWO, SQUARE = ((1,),), ((1,), (1,)), ((2, 3),)
MODELS = {
    "encoder": Model(Packed, lambda n: (torch.randn(1, n, 64),), ONE),
    "prefixed": Model(Prefixed, lambda n: (torch.randn(1, n, 16),
                                           torch.randn(1, n, 16)), TWO),
    "bert": Model(lambda: masked(hf.BertModel, bert()), ids_and_mask, TWO),
    "llama": Model(lambda: language(hf.LlamaForCausalLM,
                                    hf.LlamaConfig(**DECODER)), ids, ONE),
    "qwen3": Model(lambda: language(hf.Qwen3ForCausalLM, hf.Qwen3Config(
        head_dim=16, **DECODER)), ids, ONE),
    "phi3": Model(lambda: language(hf.Phi3ForCausalLM,
                                   hf.Phi3Config(**DECODER)), ids, ONE),
    "gpt2": Model(lambda: language(hf.GPT2LMHeadModel, gpt2()), ids, ONE),
    "distilbert": Model(lambda: masked(hf.DistilBertModel, distilbert()),
                        ids_and_mask, TWO),
    "roberta": Model(lambda: masked(hf.RobertaModel, roberta()), ids_and_mask,
                     TWO),
    "mistral": Model(lambda: language(hf.MistralForCausalLM, hf.MistralConfig(
        sliding_window=8, **DECODER)), ids, ONE),
    "gpt_neox": Model(lambda: language(hf.GPTNeoXForCausalLM, hf.GPTNeoXConfig(
        **NARROW, **SPECIAL, max_position_embeddings=64)), ids, ONE),
    "marian": Model(lambda: pair(hf.MarianMTModel, marian()), two_ids, TWO),
    "bart": Model(lambda: pair(hf.BartForConditionalGeneration, bart()),
                  two_ids, TWO),
    "t5": Model(lambda: pair(hf.T5ForConditionalGeneration, t5()), two_ids,
                TWO),
    "t5_encoder": Model(lambda: masked(lambda c: hf.T5Model(c).encoder, t5()),
                        ids_and_mask, TWO),
    "whisper_decoder": Model(
        lambda: Part(hf.WhisperModel(whisper()).decoder, lambda m, i, x: m(
            input_ids=i, encoder_hidden_states=x, use_cache=False)[0]),
        lambda n: (tokens(n), torch.randn(1, 30, 64)), ((1,), ()),
        (2, 3, 5, 8, 12, 16, 19, 20)),
    "resnet": Model(lambda: pictured(hf.ResNetForImageClassification,
                                     resnet("bottleneck")), image, SQUARE,
                    WIDE, 32),
    "dense": Model(Dense, lambda n: (torch.randn(1, 8, n, n),), SQUARE,
                   SIDES, 8),
    "levels": Model(Levels, image, SQUARE, SIDES, 8),
    "pyramid": Model(Pyramid, image, SQUARE, SIDES, 8),
    "patches": Model(Patches, image, SQUARE, SIDES, 8),
}


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}\n{done.stderr}{done.stdout}")
    return done.stdout


def export(model, inputs, dynamic, directory):
    os.makedirs(directory, exist_ok=True)
    program = torch.export.export(model, inputs, dynamic_shapes=dynamic)
    path = os.path.join(directory, "forward.pt2")
    torch.export.save(program.run_decompositions({}), path)


def plan(etx, directory):
    program = os.path.join(directory, "forward.pte")
    run(etx, "plan", directory, "-o", program)
    run(etx, "verify", program)
    return program


def record(model, inputs, directory):
    """One call with the answer of PyTorch."""
    tensors, outputs = {}, torch.utils._pytree.tree_leaves(model(*inputs))
    largest = max(value.abs().max().item() for value in outputs)
    call = {"method": "forward", "input_mutations": [], "state": {},
            "inputs": [described(v, f"in{i}", tensors)
                       for i, v in enumerate(inputs)],
            "outputs": [described(v, f"out{i}", tensors)
                        for i, v in enumerate(outputs)]}
    os.makedirs(directory, exist_ok=True)
    save_case({"format": 1, "atol": 1e-5 * largest, "rtol": 1e-4,
               "methods": {"forward": "forward.pt2"}, "calls": [call]},
              tensors, directory)


def counts(etx, program, case):
    """Instructions that the call of `case` runs, and copies among them."""
    run(etx, "run", program, "--case", case)
    said = run(etx, "bench", program, "--case", case, "--seconds", "0",
               "--json")
    method = json.loads(said)["methods"][0]
    copies = sum(op["calls"] for op in method["operators"]
                 if op["name"].split("::")[1] in COPIES)
    return sum(op["calls"] for op in method["operators"]), copies


def compare(etx, name, directory, size_count):
    """Rows: size, instructions and copies of the dynamic and the fixed plan."""
    torch.manual_seed(0)
    model, spec, rows = MODELS[name].make().eval(), MODELS[name], []
    varying_directory = os.path.join(directory, "varying")
    dims = spec.dynamic()
    export(model, spec.inputs(spec.sizes[3]),
           (dims,) if isinstance(model, Part) else dims, varying_directory)
    dynamic = plan(etx, varying_directory)
    for size in spec.sizes[-size_count:]:
        case = os.path.join(directory, str(size))
        inputs = spec.inputs(size)
        record(model, inputs, case)
        export(model, inputs, None, case)
        rows.append((size, *counts(etx, dynamic, case),
                     *counts(etx, plan(etx, case), case)))
        print(f"{name} {size}: {rows[-1][1]} instructions, {rows[-1][2]} "
              f"copies; fixed: {rows[-1][3]}, {rows[-1][4]}", flush=True)
    return rows


def span(numbers):
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def table(results):
    lines = ["| model | sizes | instructions | fixed | copies | fixed |",
             "|---|---|---|---|---|---|"]
    for name, rows in results.items():
        _, dynamic, copies, fixed, fixed_copies = map(span, zip(*rows))
        lines.append(f"| {name} | {len(rows)} | {dynamic} | {fixed} | "
                     f"{copies} | {fixed_copies} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sizes", type=int, default=2)
    parser.add_argument("--keep")
    parser.add_argument("--markdown")
    words = parser.parse_intermixed_args()
    quiet()
    results, bad = {}, 0
    with tempfile.TemporaryDirectory() as root, torch.no_grad():
        for name in words.names or MODELS:
            try:
                results[name] = compare(
                    words.etx, name, os.path.join(words.keep or root, name),
                    words.sizes)
            except Exception as error:  # the others are compared all the same
                bad += 1
                print(f"{name}: {str(error)[:2000]}", flush=True)
    for name, rows in results.items():
        for size, _, copies, _, fixed in rows:
            if copies > fixed:
                bad += 1
                print(f"{name}, size {size}: {copies} copies, {fixed} in the "
                      "plan for that size")
    print(table(results))
    if words.markdown:
        write_markdown(words.markdown, {MARKER: table(results) + "\n"})
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
