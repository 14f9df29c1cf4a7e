#!/usr/bin/env python3
"""Exports families of `transformers` with etx.hf and compares them with transformers.

    hf_families.py ETX [--kind float32|beams|bfloat16|int8]... [--list] [--save FILE] [NAME...]
    hf_families.py --table FILE...

ETX is the command of a build with -DETX_PYTHON=ON; the package beside it is used. Models
that generate take 64 steps. In float32 all tokens, greedy and of three beams, must be those
of `model.generate`, from Python and from `etx generate`. In bfloat16 and int8 the logits
along the tokens of transformers must be near to those of hf_references.py. Other models are
compared by their outputs. Prints a line for each, saves what it found as JSON, and ends
with 1 if one does not agree. `--table` makes docs/hugging-face-families.md of saved files.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

KINDS = ("float32", "beams", "bfloat16", "int8")
STEPS, PROMPT, SOURCE, SAMPLES, BEAMS = 64, 13, 11, 2000, 3
# Largest difference of logits, of their spread (standard deviation).
LIMITS = {"float32": 1e-3, "bfloat16": 0.25, "int8": 0.25}


def package(command):
    """etx and etx.hf of the build that the command belongs to."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(command)), "python"))
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ["ETX_COMMAND"] = os.path.abspath(command)
    warnings.filterwarnings("ignore")
    import etx.hf

    return etx


def model_of(name, seed=0):
    """A model with weights large enough that its outputs vary."""
    import torch
    import transformers
    from hf_configs import FAMILIES

    made, config, settings = FAMILIES[name]
    torch.manual_seed(seed)
    model = getattr(transformers, made)(getattr(transformers, config)(**settings)).eval()
    convolutions = {id(part.weight) for part in model.modules() if isinstance(part, torch.nn.Conv1d)}
    with torch.no_grad():
        for part in model.parameters():
            if part.dim() > 1:
                # Three dimensions are experts, whose weights are matrices, or a convolution.
                is_stack = part.dim() == 3 and id(part) not in convolutions
                part.normal_(0, 1.3 / (part[0, 0] if is_stack else part[0]).numel() ** 0.5)
        for name, part in model.named_buffers():
            if name.endswith("correction_bias"):  # of the choice of experts
                part.uniform_(0, 0.3)
    config = getattr(model, "generation_config", None)
    if config is not None:  # all texts get all tokens
        for setting in ("eos_token_id", "forced_eos_token_id", "forced_bos_token_id",
                        "suppress_tokens", "begin_suppress_tokens"):
            setattr(config, setting, None)
            if hasattr(model.config, setting):
                setattr(model.config, setting, None)
        config.pad_token_id = 0
    return model


def near(found, wanted, limit):
    """What is wrong with logits or embeddings, or None."""
    if found.shape != wanted.shape:
        return f"the shape is {found.shape}, expected {wanted.shape}"
    difference = np.abs(found.astype(np.float64) - wanted).max() / (wanted.std() + 1e-12)
    return None if difference <= limit else f"difference {difference:.2g} of the spread, limit {limit:g}"


def decoder_start(constants):
    """The tokens that the decoder of a pair begins with."""
    forced = np.atleast_1d(np.asarray(constants.get("get_forced_decoder_ids", []), dtype=np.int64))
    return np.array([[constants["get_decoder_start_token_id"], *forced]])


def along(session, inputs, tokens):
    """Logits of each step when the given tokens are chosen, one text."""
    constants = session.program.constants
    prompt, first, most = inputs.get("input_ids"), "prefill", constants["get_max_seq_len"]
    if "encode" in session.program.methods:
        if prompt is not None:
            inputs = {**inputs, "attention_mask": np.ones_like(prompt)}
        session.call("encode", **inputs)
        prompt, first, most = decoder_start(constants), "decode", 1
    for at in range(0, prompt.shape[1], most):
        part = np.ascontiguousarray(prompt[:, at : at + most])
        logits = session.call(first, input_ids=part, position=np.array([at]))
    found = []
    for at, token in enumerate(tokens, prompt.shape[1]):
        found.append(np.array(logits)[0])
        logits = session.call("decode", input_ids=np.array([[token]]), position=np.array([at]))
    return np.stack(found)


def inputs_for(model):
    """A prompt, a source or a spectrogram, as tensors by name."""
    import torch

    torch.manual_seed(1)
    config = model.config
    if model.main_input_name == "input_features":
        given = torch.randn(1, config.num_mel_bins, 2 * config.max_source_positions)
        return {"input_features": given.to(model.dtype)}
    return {"input_ids": torch.randint(3, 90, (1, SOURCE if config.is_encoder_decoder else PROMPT))}


def as_arrays(inputs):
    return {name: (value.float() if value.is_floating_point() else value).numpy()
            for name, value in inputs.items()}


def tokens_of_command(etx, program, ids, beams):
    """What `etx generate` prints."""
    found = subprocess.run(
        [os.environ["ETX_COMMAND"], "generate", program, "--ids", ",".join(map(str, ids)),
         "-n", str(STEPS), "-b", str(beams)],
        check=True, capture_output=True, text=True,
    )
    return [int(word) for word in found.stdout.replace(",", " ").split()][-STEPS:]


def compare_tokens(etx, model, program, beams):
    """The tokens of both front ends against those of `model.generate`."""
    inputs = inputs_for(model)
    answer = model.generate(**inputs, max_new_tokens=STEPS, do_sample=False, num_beams=beams)
    wanted = answer[0, -STEPS:].tolist()
    session = etx.load(program).session()
    found = {"Python": session.generate(
        **as_arrays(inputs), max_new_tokens=STEPS, num_beams=beams)[0, -STEPS:].tolist()}
    if "input_ids" in inputs:
        found["etx generate"] = tokens_of_command(etx, program, inputs["input_ids"][0].tolist(), beams)
    for front, tokens in found.items():
        if tokens != wanted:
            first = next((i for i in range(min(STEPS, len(tokens))) if tokens[i] != wanted[i]), -1)
            return {"wrong": f"{front}: token {first} is {tokens[first]}, expected {wanted[first]}"}
    return {"wrong": None, "equal": STEPS}


def compare_logits(etx, model, reference, program, factor):
    """Logits along the tokens of transformers. `model` makes the tokens, and `reference` says
    what the logits are without its rounding. etx's errors may be `factor` times as large as
    those of `model`, and 2 % of the spread."""
    import hf_references
    import torch

    inputs = inputs_for(model)
    answer = model.generate(
        **inputs, max_new_tokens=STEPS, do_sample=False, num_beams=1,
        return_dict_in_generate=True, output_logits=True,
    )
    wanted = answer.sequences[0, -STEPS:].tolist()
    own = torch.cat(answer.logits).to(torch.float32).numpy()
    session = etx.load(program).session()
    start = None
    if "encode" in session.program.methods:
        start = torch.tensor(decoder_start(session.program.constants))
    found = along(session, as_arrays(inputs), wanted)
    narrow = {name: value.to(reference.dtype) if value.is_floating_point() else value
              for name, value in inputs.items()}
    exact = hf_references.along(reference, narrow, start, wanted)
    spread = exact.std() + 1e-12
    # Of the mean over the steps: where an expert, or one of two tokens, is chosen by less than
    # the rounding, a single step may differ by much, in PyTorch's own types too.
    mine, theirs = (float(np.sqrt(np.mean((each - exact) ** 2, 1)).mean() / spread)
                    for each in (found, own))
    wrong = None if mine <= factor * theirs + 0.02 else (
        f"the error is {mine:.2g} of the spread, that of PyTorch {theirs:.2g}")
    equal = int((found.argmax(1) == np.array(wanted)).sum())
    return {"wrong": wrong, "equal": equal, "error": mine, "torch_error": theirs}


def inputs_of(model, method):
    """Random inputs of a method of an encoder, as tensors."""
    import torch

    torch.manual_seed(1)
    made = {}
    for port in method.inputs:
        sizes = [min(dim.maximum, SOURCE) if dim.minimum < dim.maximum else dim.maximum
                 for dim in port.shape]
        if port.name == "input_ids":
            made[port.name] = torch.randint(3, 90, sizes)
        elif port.name == "attention_mask":
            made[port.name] = torch.ones(sizes, dtype=torch.int64)
            made[port.name][:, sizes[1] - 3:] = 0
        elif port.name == "token_type_ids":
            made[port.name] = (torch.arange(sizes[1])[None] > 4).to(torch.int64)
        else:
            made[port.name] = torch.randn(sizes)
    return made


def expected(model, method, inputs):
    """What transformers answers, as arrays."""
    import torch

    cast = {name: value.to(model.dtype) if value.is_floating_point() else value
            for name, value in inputs.items()}
    if method == "embed_text":
        found = model.get_text_features(**cast)
    elif method == "embed_image":
        found = model.get_image_features(**cast)
    else:
        found = model(**cast)
    if not isinstance(found, torch.Tensor):
        if method == "classify":
            found = found.logits
        elif method.startswith("embed_"):
            found = found.pooler_output
        elif method == "embed":
            hidden, mask = found[0], cast.get("attention_mask")
            rows = hidden if mask is None else hidden[mask.bool()][None]
            found = rows.mean(1)
        else:
            found = [value for value in found.values() if isinstance(value, torch.Tensor)]
    found = found if isinstance(found, list) else [found]
    return [value.to(torch.float32).numpy() for value in found]


def compare_calls(etx, model, program, kind):
    """Outputs of each method of an encoder."""
    import torch

    loaded = etx.load(program)
    session = loaded.session()
    for method in loaded.methods.values():
        inputs = inputs_of(model, method)
        found = session.call(method.name, **{key: value.numpy() for key, value in inputs.items()})
        found = found if isinstance(found, tuple) else (found,)
        with torch.no_grad():
            wanted = expected(model, method.name, inputs)
        if len(found) != len(wanted):
            return {"wrong": f"{method.name} has {len(found)} outputs, expected {len(wanted)}"}
        for mine, theirs in zip(found, wanted):
            wrong = near(np.asarray(mine), theirs, LIMITS[kind])
            if wrong:
                return {"wrong": f"{method.name}: {wrong}"}
    return {"wrong": None}


class Family:
    """A model, and its programs in a folder."""

    def __init__(self, etx, name, folder):
        self.etx, self.model = etx, model_of(name)
        self.program = os.path.join(folder, "model.pte")
        self._exported = {}

    def export(self, dtype, beams):
        """The methods, made once for each type and number of beams."""
        if (dtype, beams) not in self._exported:
            is_pair = getattr(self.model.config, "is_encoder_decoder", False)
            options = {"samples": SAMPLES} if self.model.main_input_name == "input_values" else {}
            self._exported[dtype, beams] = self.etx.hf.export(
                self.model, dtype=dtype, beams=beams, max_length=96,
                max_prompt=24 if is_pair else 8, **options)
        return self._exported[dtype, beams]

    def try_kind(self, kind):
        """What was found, as a dictionary; `wrong` is None if the program agrees."""
        import hf_references
        import torch

        narrow = "bfloat16" if kind == "bfloat16" else None
        exported = self.export(narrow, BEAMS if kind == "beams" else 1)
        report = exported.plan(self.program, **({"quantize": "int8"} if kind == "int8" else {}))
        model = reference = self.model
        if kind == "int8":
            rules = hf_references.rules_without_tables(model, report)
            report = exported.plan(self.program, quantize=rules)
            model = reference = hf_references.with_integer_weights(model, report)
        elif narrow:
            import copy

            model = copy.deepcopy(model).to(torch.bfloat16)
            reference = hf_references.in_float32(model)
        if "decode" not in self.etx.load(self.program).methods:
            return compare_calls(self.etx, model, self.program, kind)
        if kind in ("float32", "beams"):
            return compare_tokens(self.etx, model, self.program, BEAMS if kind == "beams" else 1)
        return compare_logits(self.etx, model, reference, self.program, 1.5)


def try_family(etx, name, kinds, folder):
    """Yields (kind, what was found, seconds)."""
    family = Family(etx, name, folder)
    for kind in kinds:
        start = time.monotonic()
        if kind == "beams" and not hasattr(family.model, "generation_config"):
            continue
        try:
            found = family.try_kind(kind)
        except Exception as error:
            if os.environ.get("HF_FAMILIES_TRACEBACK"):
                raise
            if kind == "beams" and "'beams'" in str(error):
                continue  # it does not generate
            lines = str(error).strip().splitlines() or [""]
            found = {"wrong": f"{type(error).__name__}: {lines[0][:300]}", "is_refused": True}
        yield kind, found, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx", nargs="?")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--save", metavar="FILE")
    parser.add_argument("--table", nargs="+", metavar="FILE")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    if arguments.table:
        import hf_table

        print(hf_table.page(arguments.table), end="")
        return 0
    try:
        import torch
        import transformers
        from hf_configs import FAMILIES
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    if arguments.list:
        print("\n".join(FAMILIES))
        return 0
    etx = package(arguments.etx)
    torch.set_num_threads(1)
    saved = {"transformers": transformers.__version__, "torch": torch.__version__, "found": []}
    failed = 0
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    for name in arguments.names or FAMILIES:
        if not hasattr(transformers, FAMILIES[name][0]):
            print(f"{name:20} this version of transformers does not have it")
            continue
        with tempfile.TemporaryDirectory(prefix="etx-hf-") as folder:
            for kind, found, seconds in try_family(etx, name, arguments.kind or KINDS, folder):
                failed += found["wrong"] is not None
                saved["found"].append({"family": name, "kind": kind, **found})
                about = found["wrong"] or "agrees"
                print(f"{name:20} {kind:9} {about} ({seconds:.1f} s)", flush=True)
                if arguments.save:
                    with open(arguments.save, "w", encoding="utf-8") as file:
                        json.dump(saved, file, indent=1)
    print(f"{len(saved['found']) - failed} of {len(saved['found'])} agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
