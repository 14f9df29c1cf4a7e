"""Whisper's smallest shape with random weights from a seed: a program for etx,
files of the same weights for whisper.cpp, and PyTorch's logits.

etx's program is what `etx.hf.export` makes of the model, with caches of
`CONTEXT` positions:

    encode(features)          30 s of sound as log-mel features
    decode(token, position)   one token over what `encode` has read
"""

import os
import re
import struct

import numpy
import torch
import transformers

SEED = 3
CONTEXT = 448
MELS, FRAMES = 80, 3000
# What both sides compute for the comparison, token by token from position 0:
# these, then one more.
CHECKED = [(i * 7 + 3) % 500 for i in range(17)]
NEXT = 9
# whisper.cpp's numbers for types of tensors and of whole files.
TYPES = {"f16": (1, 1), "q8_0": (8, 7)}


def model(dtype=torch.float32):
    torch.manual_seed(SEED)
    found = transformers.WhisperForConditionalGeneration(
        transformers.WhisperConfig()).eval().requires_grad_(False)
    return found.to(dtype)


def features():
    """[1, MELS, FRAMES], the same as in the contenders."""
    count = torch.arange(MELS * FRAMES)
    return (count * 37 % 101).float().view(1, MELS, FRAMES) / 101 - 0.5


def expected():
    """PyTorch's logits of `NEXT` after `CHECKED`."""
    tokens = torch.tensor([CHECKED + [NEXT]])
    with torch.no_grad():
        found = model()(input_features=features(), decoder_input_ids=tokens)
    return found.logits[0, -1].numpy()


def save_etx(path, dtype, **options):
    import etx.hf
    etx.hf.export(model(dtype), max_length=CONTEXT).plan(path, **options)


# Names of transformers and of whisper.cpp's files, in this order.
NAMES = [
    (r"^model\.", ""), (r"\.layers\.", ".blocks."),
    (r"self_attn\.", "attn."), (r"encoder_attn\.", "cross_attn."),
    (r"self_attn_layer_norm", "attn_ln"),
    (r"encoder_attn_layer_norm", "cross_attn_ln"),
    (r"final_layer_norm", "mlp_ln"), (r"q_proj", "query"), (r"k_proj", "key"),
    (r"v_proj", "value"), (r"out_proj", "out"), (r"fc1", "mlp.0"),
    (r"fc2", "mlp.2"), (r"^encoder\.layer_norm", "encoder.ln_post"),
    (r"^decoder\.layer_norm", "decoder.ln"),
    (r"embed_positions\.weight", "positional_embedding"),
    (r"embed_tokens", "token_embedding"),
]


def peer_name(name):
    for pattern, text in NAMES:
        name = re.sub(pattern, text, name)
    return name


def encoded(values, name, kind):
    """The type and the bytes of a tensor. Matrices have the type of the file;
    those of convolutions are float16 where the file has blocks."""
    import gguf
    matrix = values.ndim > 1 and name.endswith(".weight")
    if not matrix:
        return 0, values.astype(numpy.float32)
    if kind == "f16" or values.ndim == 3:
        return 1, values.astype(numpy.float16)
    return TYPES[kind][0], gguf.quants.quantize(
        values, gguf.GGMLQuantizationType[kind.upper()])


def save_peer(path, kind):
    found = model()
    config = found.config
    words = 50257  # tokens with a text, which nothing reads here
    with open(path + ".part", "wb") as file:
        file.write(struct.pack(
            "<12i", 0x67676D6C, config.vocab_size, config.max_source_positions,
            config.d_model, config.encoder_attention_heads,
            config.encoder_layers, config.max_target_positions, config.d_model,
            config.decoder_attention_heads, config.decoder_layers, MELS,
            TYPES[kind][1]))
        file.write(struct.pack("<2i", MELS, 201) + bytes(4 * MELS * 201))
        file.write(struct.pack("<i", words))
        for i in range(words):
            text = f"<{i}>".encode()
            file.write(struct.pack("<i", len(text)) + text)
        for key, tensor in found.state_dict().items():
            if key == "proj_out.weight":  # the embedding of tokens
                continue
            values, name = tensor.numpy(), peer_name(key)
            if re.search(r"conv\d\.bias", name):
                values = values.reshape(-1, 1)
            number, stored = encoded(values, name, kind)
            text = name.encode()
            file.write(struct.pack("<3i", values.ndim, len(text), number))
            file.write(struct.pack(f"<{values.ndim}i", *values.shape[::-1]))
            file.write(text + numpy.ascontiguousarray(stored).tobytes())
    os.replace(path + ".part", path)
