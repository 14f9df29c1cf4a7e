"""What a program of etx.hf is compared with: models of transformers as the program
stores and computes them.

A program in bfloat16 rounds at other places than PyTorch does, and so do two versions of
PyTorch. So its errors are measured: against the same weights in float32, beside the errors
of PyTorch's own bfloat16. A program with int8 weights is compared with a model whose
weights are rounded, and whose linear layers round their inputs row by row, by PyTorch's
own functions (dynamic quantisation, as `etx plan --quantize int8` has it).
"""

import copy

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators

STORED = torch.ops.quantized_decomposed


def in_float32(model):
    """A copy with the same weights that computes in float32."""
    return copy.deepcopy(model).to(torch.float32)


def _round_weight(weight, by_column):
    values = weight.T if by_column else weight
    rows = values.reshape(values.shape[0], -1)
    scale = rows.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    found = ((rows / scale).round().clamp(-127, 127) * scale).view_as(values)
    weight.copy_(found.T if by_column else found)


def _round_rows(values):
    """Each row as int8 with a scale and a zero point of its own, and back."""
    scale, zero = STORED.choose_qparams_per_token_asymmetric(values, torch.int8)
    about = (scale.to(torch.float32), zero, -128, 127, torch.int8)
    return STORED.dequantize_per_token(STORED.quantize_per_token(values, *about), *about, values.dtype)


def _round_input(layer, inputs):
    return (_round_rows(inputs[0]), *inputs[1:])


def with_integer_weights(model, report):
    """A copy with the weights that a plan's report calls quantised.

    Args:
      model: in float32.
      report: what `plan` returned.
    """
    model = copy.deepcopy(model)
    kinds = {row["name"].removeprefix("model."): row["kind"] for row in report["quantized"]}
    named = dict(model.named_parameters(remove_duplicate=False))
    # A weight with two names is reported by one of them.
    of_tensor = {id(named[name]): kind for name, kind in kinds.items() if name in named}
    done = set()
    with torch.no_grad():
        for part in model.modules():
            kind = of_tensor.get(id(getattr(part, "weight", None)), "float32")
            if not kind.startswith("int8"):
                continue
            by_column = type(part).__name__ == "Conv1D"  # GPT-2's linear layer
            if kind == "int8" and (by_column or isinstance(part, torch.nn.Linear)):
                part.register_forward_pre_hook(_round_input)
            if id(part.weight) not in done:
                done.add(id(part.weight))
                _round_weight(part.weight, by_column)
    return model


def along(model, inputs, start, tokens):
    """Logits [steps, V] before each of `tokens`, in one call without a cache.

    Args:
      inputs: the prompt, or the encoder's input.
      start: the decoder's first tokens [1, n] of a pair; None: the prompt begins the text.
    """
    tail = torch.tensor([tokens[:-1]], dtype=torch.int64)
    with torch.no_grad():
        if start is None:
            logits = model(input_ids=torch.cat([inputs["input_ids"], tail], 1), use_cache=False).logits
        else:
            given = torch.cat([start, tail], 1)
            logits = model(**inputs, decoder_input_ids=given, use_cache=False).logits
    return logits[0, -len(tokens):].to(torch.float32).numpy()


def rules_without_tables(model, report):
    """Rules of quantisation that leave tables of embeddings as floats.

    A row of a rounded table is whole numbers times a scale. If a layer rounds that row again,
    many numbers lie exactly between two steps, and the last bit decides which one is taken.
    """
    named = dict(model.named_parameters(remove_duplicate=False))
    tables = {id(part.weight) for part in model.modules() if isinstance(part, torch.nn.Embedding)}
    return ["int8"] + [
        "none:" + row["name"] for row in report["quantized"]
        if row["kind"] != "float32" and id(named.get(row["name"].removeprefix("model."))) in tables
    ]
