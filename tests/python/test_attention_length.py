"""Decoding reads what the caches hold, and not their whole length.

The rows that no token may read are NaN: a result would be NaN if it depended on them.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")

import etx
import etx.hf

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS, LENGTH, WINDOW = 64, 400, 70
LAYERS = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": LENGTH, "vocab_size": WORDS,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}


def made(kind):
    torch.manual_seed(5)
    if kind == "llama":
        return hf.LlamaForCausalLM(hf.LlamaConfig(**LAYERS)).eval()
    if kind == "mistral":  # every layer has a window
        return hf.MistralForCausalLM(hf.MistralConfig(**LAYERS, sliding_window=WINDOW)).eval()
    # Attention with a softcap hides keys by a large number instead of -infinity.
    heads = {"head_dim": 16, "sliding_window": LENGTH}
    return hf.Gemma2ForCausalLM(hf.Gemma2Config(**LAYERS, **heads)).eval()


def hide(session, first, end):
    """NaN in the rows of all caches that are not in [first, end)."""
    for name in session.state:
        cache = np.array(session.state[name])
        if cache.ndim == 4:
            cache[:, :, :first] = cache[:, :, end:] = np.nan
            session.state[name] = cache


@pytest.mark.parametrize(
    ("kind", "batch"), [("llama", 1), ("llama", 2), ("mistral", 1), ("gemma2", 2)]
)
def test_a_token_reads_the_rows_before_it(kind, batch, tmp_path):
    model = made(kind)
    path = tmp_path / "model.pte"
    etx.hf.export(model, max_length=LENGTH, max_prompt=LENGTH, batch=batch).plan(path)
    program = etx.load(path)
    padding = {"padding": np.zeros(batch, np.int64)} if batch > 1 else {}
    for position in (3, 300):
        session = program.session()
        tokens = torch.randint(5, WORDS, (batch, position + 1))
        last = tokens[:, position:].numpy()
        session.prefill(input_ids=tokens[:, :position].numpy(), position=[0], **padding)
        first = 0
        if kind == "mistral":  # whole blocks before the window
            first = max(position + 1 - WINDOW, 0) // 64 * 64
        hide(session, first, position)
        found = session.decode(input_ids=last, position=[position], **padding)
        with torch.no_grad():
            wanted = model(tokens).logits[:, -1].numpy()
        np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_rows_read_up_to_positions_of_their_own(tmp_path):
    model, lengths = made("llama"), (9, 300)
    path = tmp_path / "model.pte"
    options = {"batch": 2, "batching": "continuous"}
    etx.hf.export(model, max_length=LENGTH, max_prompt=LENGTH, **options).plan(path)
    session = etx.load(path).session()
    texts = [torch.randint(5, WORDS, (1, length + 1)) for length in lengths]
    for row, text in enumerate(texts):
        session.prefill(input_ids=text[:, :-1].numpy(), position=[0], row=[row])
    for name in session.state:
        cache = np.array(session.state[name])
        if cache.ndim == 4:
            for row, length in enumerate(lengths):
                cache[row, :, length:] = np.nan
            session.state[name] = cache
    last = np.concatenate([text[:, -1:].numpy() for text in texts])
    found = session.decode(input_ids=last, position=np.array(lengths))
    with torch.no_grad():
        wanted = np.concatenate([model(text).logits[:, -1].numpy() for text in texts])
    np.testing.assert_allclose(found, wanted, atol=2e-5)
