#!/usr/bin/env python3
"""Exports families of `transformers` with etx.hf and compares them with transformers.

    hf_families.py ETX [--dtype float32|bfloat16|int8]... [--list] [NAME...]

ETX is the command of a build with -DETX_PYTHON=ON; the package beside it is used. Models
that generate take 64 greedy steps: in float32 all tokens must be those of
`model.generate`; in bfloat16 and int8 the logits along its tokens must be near. Other
models are compared by their outputs. int8 is compared with the model whose weights are
rounded as etx rounds them. Prints a line for each, and ends with 1 if one does not agree.
"""

import argparse
import os
import sys
import tempfile
import time
import warnings

import numpy as np

DTYPES = ("float32", "bfloat16", "int8")
STEPS, PROMPT, SOURCE, SAMPLES = 64, 13, 11, 2000
# Largest difference of logits, of their spread (standard deviation).
LIMITS = {"float32": 1e-3, "bfloat16": 0.25, "int8": 0.25}


def package(command):
    """etx and etx.hf of the build that the command belongs to."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(command)), "python"))
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
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
    with torch.no_grad():
        for part in model.parameters():
            if part.dim() > 1:
                part.normal_(0, 1.3 / part[0].numel() ** 0.5)
    config = getattr(model, "generation_config", None)
    if config is not None:  # all texts get all tokens
        for setting in ("eos_token_id", "forced_eos_token_id", "forced_bos_token_id",
                        "suppress_tokens", "begin_suppress_tokens"):
            setattr(config, setting, None)
            if hasattr(model.config, setting):
                setattr(model.config, setting, None)
        config.pad_token_id = 0
    return model


def rounded(model):
    """A copy whose weights of layers have the values of int8 with a scale for each row."""
    import copy

    import torch

    model = copy.deepcopy(model)
    done = set()
    with torch.no_grad():
        for part in model.modules():
            weight = getattr(part, "weight", None)
            if not isinstance(part, torch.nn.Linear) or id(weight) in done:
                continue
            done.add(id(weight))
            scale = weight.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
            weight.copy_((weight / scale).round().clamp(-127, 127) * scale)
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


def compare_generation(etx, name, model, program, dtype):
    """What is wrong, or None."""
    import torch

    torch.manual_seed(1)
    session = etx.load(program).session()
    speech = model.main_input_name == "input_features"
    if speech:
        config = model.config
        given = torch.randn(1, config.num_mel_bins, 2 * config.max_source_positions).to(model.dtype)
        inputs = {"input_features": given.to(torch.float32).numpy()}
    else:
        given = torch.randint(3, 90, (1, SOURCE if model.config.is_encoder_decoder else PROMPT))
        inputs = {"input_ids": given.numpy()}
    answer = model.generate(
        given, max_new_tokens=STEPS, do_sample=False, num_beams=1,
        return_dict_in_generate=True, output_logits=True,
    )
    wanted = answer.sequences[0, -STEPS:].tolist()
    scores = torch.cat(answer.logits).to(torch.float32).numpy()
    if len(scores) != STEPS:
        return f"transformers made {len(scores)} tokens"
    if dtype == "float32":
        found = session.generate(**inputs, max_new_tokens=STEPS)[0, -STEPS:].tolist()
        if found != wanted:
            first = next(i for i in range(STEPS) if found[i] != wanted[i])
            top = np.sort(scores[first])[::-1]
            return f"token {first} is {found[first]}, expected {wanted[first]} (by {top[0] - top[1]:.2g})"
    return near(along(session, inputs, wanted), scores, LIMITS[dtype])


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


def compare_calls(etx, name, model, program, dtype):
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
            return f"{method.name} has {len(found)} outputs, expected {len(wanted)}"
        for mine, theirs in zip(found, wanted):
            wrong = near(np.asarray(mine), theirs, LIMITS[dtype])
            if wrong:
                return f"{method.name}: {wrong}"
    return None


def try_one(etx, name, dtype, folder):
    """What is wrong, or None."""
    import torch

    program = os.path.join(folder, "model.pte")
    model = model_of(name)
    narrow = "bfloat16" if dtype == "bfloat16" else None
    options = {"samples": SAMPLES} if model.main_input_name == "input_values" else {}
    try:
        is_pair = getattr(model.config, "is_encoder_decoder", False)
        exported = etx.hf.export(
            model, dtype=narrow, quantize="int8" if dtype == "int8" else None,
            max_length=96, max_prompt=24 if is_pair else 8, **options)
        exported.plan(program)
        if narrow:
            model = model.to(torch.bfloat16)
        elif dtype == "int8":
            model = rounded(model)
        generates = "decode" in etx.load(program).methods
        compare = compare_generation if generates else compare_calls
        return compare(etx, name, model, program, dtype)
    except Exception as error:
        if os.environ.get("HF_FAMILIES_TRACEBACK"):
            raise
        lines = str(error).strip().splitlines() or [""]
        return f"{type(error).__name__}: {lines[0][:300]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("--dtype", action="append", choices=DTYPES)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
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
    failed = tried = 0
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    for name in arguments.names or FAMILIES:
        if not hasattr(transformers, FAMILIES[name][0]):
            print(f"{name:20} this version of transformers does not have it")
            continue
        for dtype in arguments.dtype or DTYPES:
            start = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="etx-hf-") as folder:
                wrong = try_one(etx, name, dtype, folder)
            tried, failed = tried + 1, failed + (wrong is not None)
            print(f"{name:20} {dtype:9} {wrong or 'agrees'} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"{tried - failed} of {tried} agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
