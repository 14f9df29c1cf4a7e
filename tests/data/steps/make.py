"""Writes the sets of this folder: a step of a small translator and of a small
language model over a cache of CAPACITY places, as `etx dump` prints them.

    python make.py ETX
"""

import os
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers as hf

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [os.path.join(ROOT, "bench")]

import opus_mt  # noqa: E402

# A number that stands for nothing else in a file: a test that needs another
# capacity writes it instead.
CAPACITY = 1009


class Step(opus_mt.Translator):
    """No tensor of the model is as long as the cache."""

    @property
    def places(self):
        return torch.arange(CAPACITY)


def marian():
    opus_mt.VOCABULARY, opus_mt.PADDING, opus_mt.SOURCE = 32, 31, 8
    opus_mt.WIDTH, opus_mt.HEADS, opus_mt.HEAD = 16, 2, 8
    opus_mt.INNER, opus_mt.LAYERS, opus_mt.CAPACITY = 32, 2, CAPACITY
    step = opus_mt.Translator(opus_mt.make())
    del step.places
    step.__class__ = Step
    step.positions = opus_mt.positions(32)
    return torch.export.export(opus_mt.Method(step, "decode").eval(),
                               opus_mt.method_examples()["decode"])


def llama():
    from transformers.integrations.executorch import (
        TorchExportableModuleWithStaticCache)
    torch.manual_seed(7)
    model = hf.LlamaForCausalLM(hf.LlamaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, vocab_size=32,
        max_position_embeddings=4096, use_cache=True)).eval()
    model.generation_config = hf.GenerationConfig(
        use_cache=True, cache_implementation="static", max_length=CAPACITY,
        cache_config={"batch_size": 1, "max_cache_len": CAPACITY,
                      "device": "cpu"})
    return torch.export.export(
        TorchExportableModuleWithStaticCache(model), (),
        {"input_ids": torch.tensor([[3]]),
         "cache_position": torch.tensor([3])}, strict=True)


def main():
    for make in (marian, llama):
        target = os.path.join(HERE, make.__name__)
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory() as root, torch.no_grad():
            program = make().run_decompositions({})
            torch.export.save(program, os.path.join(root, "step.pt2"))
            subprocess.run([sys.argv[1], "dump", root, "-o", target],
                           check=True)


if __name__ == "__main__":
    main()
