"""Models of `transformers` over caches of int8 (`etx.hf.export(cache_dtype="int8")`),
against transformers with a cache that rounds what it stores."""

import numpy as np
import pytest
from test_kv import rounded
from test_models import TOLERANCE, ids, llama, marian, t5, whisper

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")

import etx
import etx.hf

pytestmark = pytest.mark.filterwarnings("ignore")


class RoundingCache(hf.DynamicCache):
    def update(self, keys, values, *given, **more):
        return super().update(rounded(keys, "int8"), rounded(values, "int8"), *given, **more)


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_logits_are_those_over_rounded_rows(heads, tmp_path):
    torch.manual_seed(0)
    sizes = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2}
    config = hf.LlamaConfig(
        vocab_size=500, num_attention_heads=4, num_key_value_heads=heads, max_position_embeddings=128, **sizes
    )
    model, tokens = hf.LlamaForCausalLM(config).eval(), ids(1, 96)
    etx.hf.export(model, max_length=128, cache_dtype="int8").plan(tmp_path / "m.pte")
    session = etx.load(tmp_path / "m.pte").session()
    found = [session.prefill(input_ids=tokens[:, :64].numpy(), position=[0])]
    for i in range(64, 96):
        found.append(session.decode(input_ids=tokens[:, i : i + 1].numpy(), position=[i]))
    with torch.no_grad():
        exact = model(tokens).logits[:, 63:].numpy()
        wanted = model(tokens, past_key_values=RoundingCache()).logits[:, 63:].numpy()
    # A row that is computed with another last bit may be rounded to a neighbour.
    np.testing.assert_allclose(np.stack(found, 1), wanted, atol=TOLERANCE)
    noise = np.square(np.stack(found, 1) - exact).sum()
    assert 10 * np.log10(np.square(exact).sum() / noise) > 40  # decibels


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (llama, {"beams": 3, "max_length": 48, "max_prompt": 8}),
        (llama, {"batch": 2, "batching": "continuous", "max_length": 48, "max_prompt": 8}),
        (llama, {"verify": 4, "max_length": 48, "max_prompt": 8}),
        (marian, {"beams": 3, "max_length": 40, "max_prompt": 16}),
        (t5, {"max_length": 40, "max_prompt": 16}),
        (whisper, {}),
    ],
)
def test_all_caches_of_a_model_are_rounded(make, options, tmp_path):
    report = etx.hf.export(make(), cache_dtype="int8", **options).plan(tmp_path / "m.pte")
    assert {row["kind"] for row in report["caches"]} == {"int8"}


@pytest.mark.parametrize("make", [llama, marian])
def test_beams_over_rounded_caches(make, tmp_path):
    model, prompt = make(), ids(1, 6)
    options = {"beams": 3, "max_length": 40, "max_prompt": 8, "cache_dtype": "int8"}
    etx.hf.export(model, **options).plan(tmp_path / "m.pte")
    session = etx.load(tmp_path / "m.pte").session()
    found = session.generate(prompt.numpy(), max_new_tokens=6, num_beams=3)
    wanted = model.generate(prompt, max_new_tokens=6, num_beams=3, do_sample=False, pad_token_id=0)
    assert found[:, -6:].tolist() == wanted[:, -6:].tolist()


def test_int8_needs_float32(tmp_path):
    with pytest.raises(etx.ArgumentError, match="'cache_dtype' is int8 beside"):
        etx.hf.export(llama(), dtype="bfloat16", cache_dtype="int8")
