"""Files of ONNX Runtime GenAI and OpenVINO GenAI for the shapes of
language_models.py: a checkpoint of transformers with the same weights, which
their own tools export.

    python bench/language/genai_models.py --cache DIRECTORY --shapes llama qwen2

Files that exist are kept. requirements-genai.txt has the packages, in an environment
of their own.
"""

import argparse
import os
import shutil
import subprocess
import sys

import language_models as models

# The tool's name of each kind, and its options. Groups of int4 have 32 weights in
# all libraries.
ONNXRUNTIME = {"f32": ("fp32", []), "int4": ("int4", ["int4_block_size=32"])}
OPENVINO = {"f32": ("fp32", []), "f16": ("fp16", []), "int8": ("int8", []),
            "int4": ("int4", ["--ratio", "1.0", "--group-size", "32"])}


def transformers_weights(shape, model):
    """Names and weights as transformers has them."""
    names = {"self_attn.q_proj": "query", "self_attn.k_proj": "key",
             "self_attn.v_proj": "value", "self_attn.o_proj": "output",
             "mlp.gate_proj": "gate", "mlp.up_proj": "up",
             "mlp.down_proj": "down", "input_layernorm": "attention_norm",
             "post_attention_layernorm": "inner_norm"}
    yield "model.embed_tokens.weight", model.embedding.weight
    yield "model.norm.weight", model.last_norm.weight
    if not shape["tied"]:
        yield "lm_head.weight", model.head.weight
    for i, layer in enumerate(model.layers):
        for name, attribute in names.items():
            part = getattr(layer, attribute)
            for kind in ("weight", "bias"):
                if getattr(part, kind, None) is not None:
                    yield f"model.layers.{i}.{name}.{kind}", getattr(part, kind)


def save_tokenizer(words, folder):
    """A tokenizer whose words are numbers, since both tools want one."""
    import tokenizers
    import transformers
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(
        {f"<{i}>": i for i in range(words)}, unk_token="<0>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<0>", bos_token="<1>",
        eos_token="<2>", pad_token="<0>").save_pretrained(folder)


def save_checkpoint(name, folder):
    import transformers
    shape = models.SHAPES[name]
    kind = {"llama": transformers.LlamaConfig,
            "qwen2": transformers.Qwen2Config}[shape["arch"]]
    config = kind(
        vocab_size=shape["words"], hidden_size=shape["width"],
        intermediate_size=shape["inner"], num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        num_key_value_heads=shape["key_heads"], head_dim=shape["head"],
        max_position_embeddings=models.CONTEXT, rms_norm_eps=shape["epsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": shape["theta"]},
        tie_word_embeddings=shape["tied"], bos_token_id=1, eos_token_id=2,
        pad_token_id=0)
    model = transformers.AutoModelForCausalLM.from_config(config)
    weights = dict(transformers_weights(shape, models.decoder(name)))
    missing, unknown = model.load_state_dict(weights, strict=False)
    if unknown or set(missing) - {"lm_head.weight"}:
        raise RuntimeError(f"{name}: missing {missing}, unknown {unknown}")
    model.tie_weights()
    model.save_pretrained(folder)
    save_tokenizer(shape["words"], folder)


def run(words, output, log):
    """Runs a tool that fills `output`, which appears when it is whole."""
    part = output + ".part"
    shutil.rmtree(part, ignore_errors=True)
    with open(log, "w", encoding="utf-8") as file:
        subprocess.run([word.replace("OUTPUT", part) for word in words],
                       check=True, stdout=file, stderr=subprocess.STDOUT)
    os.replace(part, output)
    print("made", output, flush=True)


def make(shape, folder):
    checkpoint = os.path.join(folder, "checkpoint")
    if not os.path.exists(checkpoint):
        save_checkpoint(shape, checkpoint + ".part")
        os.replace(checkpoint + ".part", checkpoint)
    log = os.path.join(folder, "genai.log")
    for kind, (precision, extra) in ONNXRUNTIME.items():
        output = os.path.join(folder, f"onnxruntime-{kind}")
        if not os.path.exists(output):
            run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-i",
                 checkpoint, "-o", "OUTPUT", "-p", precision, "-e", "cpu", "-c",
                 os.path.join(folder, "genai-cache")] +
                (["--extra_options"] + extra if extra else []), output, log)
    optimum = os.path.join(os.path.dirname(sys.executable), "optimum-cli")
    for kind, (precision, extra) in OPENVINO.items():
        output = os.path.join(folder, f"openvino-{kind}")
        if not os.path.exists(output):
            run([optimum, "export", "openvino", "-m", checkpoint, "--task",
                 "text-generation-with-past", "--weight-format", precision,
                 *extra, "OUTPUT"], output, log)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cache", required=True, metavar="DIRECTORY")
    parser.add_argument("--shapes", nargs="*", default=["llama", "qwen2"],
                        choices=sorted(models.SHAPES))
    options = parser.parse_args()
    for shape in options.shapes:
        folder = os.path.join(options.cache, shape)
        os.makedirs(folder, exist_ok=True)
        make(shape, folder)


if __name__ == "__main__":
    main()
