"""Writes the files of this folder. Needs torch, transformers and the package gguf.

    python tests/data/gguf/make.py tests/data/gguf

types.gguf has one tensor of each type, with random blocks, and types.safetensors the
values that gguf.quants.dequantize gives; types_float16 and types_bfloat16 have them as
PyTorch rounds them. For each architecture, NAME.gguf is a small
random model as convert_hf_to_gguf.py of llama.cpp writes it, with the table of names of
the package gguf; NAME.yaml is a graph that returns its weights; NAME.safetensors has the
weights that transformers reads from NAME.gguf (gemma: those that were written, since it does
not read that architecture). qwen2_parts-*.gguf are qwen2.gguf in several files.
"""

import argparse
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as Type
from safetensors.torch import save_file

ROWS, INNER = 2, 256
TYPES = "F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K".split()
# Where blocks have float16 numbers; other bytes may have any value.
HALVES = {
    "F16": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
}


def random_blocks(kind, random):
    """Bytes [ROWS, ..] of a type, with finite numbers, also subnormal ones."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    count = ROWS * INNER // elements
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    for at in HALVES.get(kind.name, []):
        halves = random.normal(0, 1, count).astype(np.float16)
        halves[::7] = (random.normal(0, 1, len(halves[::7])) * 1e-5).astype(np.float16)
        halves[::11] = 0
        blocks[:, at : at + 2] = halves.view(np.uint8).reshape(count, 2)
    if kind.name in ("F32", "BF16"):
        floats = random.normal(0, 1, count).astype(np.float32).view(np.uint8).reshape(count, 4)
        blocks = floats if kind.name == "F32" else np.ascontiguousarray(floats[:, 2:])
    return blocks.reshape(ROWS, -1)


def write_types(folder):
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(folder / "types.gguf", "none")
    writer.add_array("words", ["a", "bc", ""])  # metadata to skip
    writer.add_float64("number", 0.5)
    expected = {}
    for name in TYPES:
        data = random_blocks(Type[name], random)
        writer.add_tensor(f"{name.lower()}.weight", data, raw_dtype=Type[name])
        expected[f"{name.lower()}.weight"] = gguf.quants.dequantize(data, Type[name])
    close(writer)
    write_expected(folder, "types", expected)
    write_expected(folder, "types_float16", expected, torch.float16)
    write_expected(folder, "types_bfloat16", expected, torch.bfloat16)


def close(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_expected(folder, name, tensors, dtype=torch.float32):
    """The values, and a graph with a weight for each of them."""
    path = folder / f"{name}.safetensors"
    save_file({key: torch.tensor(value).to(dtype).contiguous() for key, value in tensors.items()},
              path)
    path.chmod(0o644)
    word = str(dtype).removeprefix("torch.")
    lines = ["buffers:"]
    for key, value in tensors.items():
        lines.append(f'  - {{name: {key}, type: "{word}{list(value.shape)}"}}')
    lines.append("outputs:")
    lines += [f"  - {key}" for key in tensors]
    (folder / f"{name}.yaml").write_text("\n".join(lines) + "\n")


def reordered(weight, heads):
    """Rows as LlamaModel.permute of convert_hf_to_gguf.py orders them."""
    return (weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
            .swapaxes(1, 2).reshape(weight.shape))


def converted(arch, name, value, config):
    """What convert_hf_to_gguf.py does to a weight of the architecture."""
    if arch == "llama" and "q_proj" in name:
        return reordered(value, config.num_attention_heads)
    if arch == "llama" and "k_proj" in name:
        return reordered(value, config.num_key_value_heads)
    if arch.startswith("gemma") and name.endswith("norm.weight"):
        return value + np.float32(1)
    if arch == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
        return value.T
    return value


SIZES = dict(vocab_size=48, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
MODELS = {
    "llama": transformers.LlamaConfig(**(SIZES | {"num_hidden_layers": 2}), attention_bias=True, tie_word_embeddings=False),
    "qwen2": transformers.Qwen2Config(**SIZES, tie_word_embeddings=True),
    "qwen3": transformers.Qwen3Config(**SIZES, head_dim=8, tie_word_embeddings=True),
    "gemma": transformers.GemmaConfig(**SIZES, head_dim=8),
    "gemma2": transformers.Gemma2Config(**SIZES, head_dim=8),
    "gemma3": transformers.Gemma3TextConfig(**SIZES, head_dim=8),
    "phi3": transformers.Phi3Config(**SIZES, pad_token_id=0, tie_word_embeddings=False),
    "gpt2": transformers.GPT2Config(vocab_size=48, n_embd=32, n_layer=1, n_head=4, n_positions=64),
}
KINDS = [Type.Q8_0, Type.Q4_0, Type.F16, Type.BF16]  # of matrices, in turn


def write_model(folder, arch, config):
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    state = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    for name in state:  # norms and biases are not 0 or 1
        if state[name].ndim == 1:
            state[name] = state[name] + np.random.default_rng(len(name)).normal(
                0, 0.25, state[name].shape).astype(np.float32)
    number = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == arch)
    names = gguf.get_tensor_name_map(number, config.num_hidden_layers)
    writer = gguf.GGUFWriter(folder / f"{arch}.gguf", arch)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(64)
    writer.add_embedding_length(config.hidden_size)
    writer.add_head_count(config.num_attention_heads)
    if arch != "gpt2":
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_dimension_count(8)
    if arch == "llama":
        writer.add_tensor("rope_freqs.weight", np.ones(4, np.float32))
    expected, count = {}, 0
    for name, value in state.items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        base, _, end = name.rpartition(".")
        data = np.ascontiguousarray(converted(arch, name, value, config))
        kind = KINDS[count % len(KINDS)] if data.ndim == 2 else Type.F32
        count += data.ndim == 2
        blocks = gguf.quants.quantize(data, kind)
        writer.add_tensor(f"{names.get_name(base)}.{end}", blocks, raw_dtype=kind)
        expected[name] = undone(arch, name, gguf.quants.dequantize(blocks, kind), config)
    if config.tie_word_embeddings:
        table = "transformer.wte.weight" if arch == "gpt2" else "model.embed_tokens.weight"
        expected["lm_head.weight"] = expected[table]
    close(writer)
    check_with_transformers(folder, arch, expected)
    write_expected(folder, arch, expected)


def undone(arch, name, value, config):
    if arch.startswith("gemma") and name.endswith("norm.weight"):
        return value - np.float32(1)
    if arch == "llama" and ("q_proj" in name or "k_proj" in name):
        heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
        return (value.reshape(heads, value.shape[0] // heads // 2, 2, *value.shape[1:])
                .swapaxes(1, 2).reshape(value.shape))
    return value.T if value.ndim == 2 and converted(arch, name, value, config) is not value else value


def check_with_transformers(folder, arch, expected):
    """Compares with the weights that transformers reads; it does not read gemma."""
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    try:
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(MODELS[arch])
        read = load_gguf_checkpoint(
            str(folder / f"{arch}.gguf"), return_tensors=True, model_to_load=model)["tensors"]
    except ValueError as error:
        if arch != "gemma":
            raise
        print(f"{arch}: {error}")
        return
    for name, value in expected.items():
        if name != "lm_head.weight" or name in read:
            assert np.array_equal(read[name].numpy(), value), name


def write_parts(folder, arch):
    """The tensors and the numbers of a model in files of at most five tensors."""
    model = gguf.GGUFReader(folder / f"{arch}.gguf")
    writer = gguf.GGUFWriter(folder / f"{arch}_parts.gguf", arch, split_max_tensors=5)
    for field in model.fields.values():
        if field.name.startswith(f"{arch}."):
            writer.add_key_value(field.name, field.contents(), field.types[0])
    for tensor in model.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    close(writer)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    write_types(folder)
    for arch, config in MODELS.items():
        write_model(folder, arch, config)
    write_parts(folder, "qwen2")


if __name__ == "__main__":
    main()
