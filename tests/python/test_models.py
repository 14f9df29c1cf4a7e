"""Models of `transformers`, exported with `etx.hf`, against transformers itself.

Small and with random weights. `model.generate`, or a call of the model over all tokens
without a cache, is the oracle. tests/models/hf_families.py does the same for all families.
"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import DATA

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")

import etx
import etx.hf
from test_caches import rounded

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS, STEPS = 64, 32
TOLERANCE = 2e-4
SPECIAL = {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
LAYERS = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 64, **SPECIAL,
}
PAIR = {
    "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96,
    "max_position_embeddings": 64, "decoder_start_token_id": 3, **SPECIAL,
}


def varied(model):
    """The model with weights so large that its tokens vary, and without an end."""
    torch.manual_seed(11)
    with torch.no_grad():
        for part in model.parameters():
            if part.dim() > 1:
                part.normal_(0, 1.3 / part[0].numel() ** 0.5)
    for holder in (model.config, getattr(model, "generation_config", None)):
        for name in ("eos_token_id", "forced_eos_token_id", "begin_suppress_tokens", "suppress_tokens"):
            if hasattr(holder, name):
                setattr(holder, name, None)
    return model.eval()


def llama(**settings):
    return varied(hf.LlamaForCausalLM(hf.LlamaConfig(**LAYERS, num_key_value_heads=2, **settings)))


def t5():
    return varied(hf.T5ForConditionalGeneration(hf.T5Config(
        d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4, vocab_size=WORDS,
        decoder_start_token_id=0,
    )))


def marian():
    return varied(hf.MarianMTModel(hf.MarianConfig(**PAIR)))


def whisper():
    return varied(hf.WhisperForConditionalGeneration(hf.WhisperConfig(
        **PAIR, num_mel_bins=80, max_source_positions=50, max_target_positions=64,
    )))


def planned(model, tmp_path, *task, **options):
    path = tmp_path / "model.pte"
    etx.hf.export(model, *task, **options).plan(path)
    return path


def greedy(model, given, **options):
    found = model.generate(
        given, max_new_tokens=STEPS, do_sample=False, num_beams=1, pad_token_id=0, **options
    )
    return found[:, -STEPS:].numpy()


def generated(session, *given, **inputs):
    """The new tokens of greedy search."""
    return session.generate(*given, **inputs, max_new_tokens=STEPS)[:, -STEPS:]


def whole(model, tokens):
    """Logits of all tokens in one call without a cache."""
    with torch.no_grad():
        return model(torch.tensor(tokens)).logits.numpy()


def ids(*shape):
    return torch.randint(5, WORDS, shape)


@pytest.mark.parametrize("make", [t5, marian])
def test_a_translator_reads_sources_of_all_lengths(make, tmp_path):
    model = make()
    session = etx.load(planned(model, tmp_path, max_length=40, max_prompt=16)).session()
    for length in (5, 1, 16):  # over the same session
        source = ids(1, length)
        found = generated(session, source.numpy())
        assert found.tolist() == greedy(model, source).tolist()


def test_padding_of_a_source_is_not_read(tmp_path):
    model = marian()
    session = etx.load(planned(model, tmp_path, max_length=40, max_prompt=16, batch=2)).session()
    source, mask = ids(2, 9), torch.ones(2, 9, dtype=torch.long)
    source[1, 4:], mask[1, 4:] = 0, 0
    found = generated(session, source.numpy(), attention_mask=mask.numpy())
    assert found.tolist() == greedy(model, source, attention_mask=mask).tolist()


def test_whisper_takes_a_spectrogram_or_samples(tmp_path):
    model = whisper()
    sound = np.random.default_rng(1).normal(0, 0.1, (1, 16000)).astype(np.float32)
    extractor = hf.WhisperFeatureExtractor(feature_size=80)
    features = extractor(sound[0], sampling_rate=16000, padding=False).input_features[0][None]
    wanted = greedy(model, torch.tensor(features))
    session = etx.load(planned(model, tmp_path, max_length=40)).session()
    found = generated(session, input_features=features)
    assert found.tolist() == wanted.tolist()
    session = etx.load(planned(model, tmp_path, max_length=40, samples=True)).session()
    assert session.program.constants["get_num_samples"] == 16000
    assert session.program.constants["sampling_rate"] == 16000
    found = generated(session, input_values=sound)
    assert found.tolist() == wanted.tolist()


def test_a_prompt_may_come_in_parts(tmp_path):
    model = llama()
    session = etx.load(planned(model, tmp_path, max_length=60, max_prompt=8, verify=3)).session()
    for length in (1, 8, 21):  # one token, a whole call, three calls
        prompt = ids(1, length)
        found = generated(session, prompt.numpy())
        assert found.tolist() == greedy(model, prompt).tolist()
    # The caches hold the last prompt: going back to 10 tokens and verifying three others.
    tokens = np.concatenate([prompt[:, :10], ids(1, 3)], 1)
    found = session.verify(input_ids=np.ascontiguousarray(tokens[:, 10:]), position=[10])
    np.testing.assert_allclose(found, whole(model, tokens)[:, 10:], atol=TOLERANCE)


@pytest.mark.parametrize("dtype, tolerance", [("float16", 5e-3), ("bfloat16", 5e-2)])
@pytest.mark.parametrize("batching", ["together", "continuous"])
def test_caches_may_be_of_halves(batching, dtype, tolerance, tmp_path):
    """Keys and values are rounded where they are stored, and nothing else is."""
    model, tokens = llama(), ids(1, 8)
    wanted = whole(model, torch.cat([tokens, torch.tensor([[7]])], 1))[:, -2:]
    sizes = []
    for stored in (None, dtype):
        options = {"max_length": 48, "max_prompt": 8, "cache_dtype": stored}
        session = etx.load(planned(model, tmp_path, batching=batching, **options)).session()
        row = {"row": [0]} if batching == "continuous" else {}
        found = [
            session.prefill(input_ids=tokens.numpy(), position=[0], **row),
            session.decode(input_ids=[[7]], position=[8]),
        ]
        np.testing.assert_allclose(
            np.stack(found, 1), wanted, atol=TOLERANCE if stored is None else tolerance
        )
        sizes.append(len(session.save()))
    assert np.abs(np.stack(found, 1) - wanted).max() > TOLERANCE  # they were rounded
    assert 0.5 <= sizes[1] / sizes[0] < 0.6


@pytest.mark.parametrize("make", [llama, marian])
def test_beams_over_caches_of_halves(make, tmp_path):
    model, prompt = make(), ids(1, 6)
    options = {"beams": 3, "max_length": 40, "max_prompt": 8, "cache_dtype": "float16"}
    session = etx.load(planned(model, tmp_path, **options)).session()
    found = session.generate(prompt.numpy(), max_new_tokens=12, num_beams=3)
    wanted = model.generate(prompt, max_new_tokens=12, num_beams=3, do_sample=False, pad_token_id=0)
    assert found[:, -12:].tolist() == wanted[:, -12:].tolist()


def older(kind):
    """Models whose attention takes the last rows of the cache for the newest ones."""
    if kind == "mpt":
        sizes = {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 64}
        return varied(hf.MptForCausalLM(hf.MptConfig(vocab_size=WORDS, **sizes)))
    layers = {"hidden_size": 64, "num_layers": 2, "num_heads": 4, "intermediate_size": 96, "window_size": 6}
    config = hf.GPTNeoConfig(
        vocab_size=WORDS, max_position_embeddings=64, attention_types=[[["global", "local"], 1]], **layers
    )
    return varied(hf.GPTNeoForCausalLM(config))


@pytest.mark.parametrize(
    ("kind", "batching"), [("mpt", "together"), ("gpt-neo", "together"), ("gpt-neo", "continuous")]
)
def test_older_attention_reads_a_cache_of_fixed_length(kind, batching, tmp_path):
    model = older(kind)
    path = planned(model, tmp_path, max_length=60, max_prompt=8, batch=2, batching=batching)
    assert not any("_attn" in vars(part) for part in model.modules())  # as it was
    if batching == "together":
        prompt = ids(2, 11)
        found = generated(etx.load(path).session(), prompt.numpy())
        assert found.tolist() == greedy(model, prompt).tolist()
        return
    session = etx.load(path).session()
    texts = [ids(1, 12), ids(1, 7)]
    for row, text in enumerate(texts):
        for start in range(0, text.shape[1] - 1, 8):
            part = text[:, start : min(start + 8, text.shape[1] - 1)].numpy()
            session.prefill(np.ascontiguousarray(part), np.array([start]), np.array([row]))
    last = np.concatenate([text[:, -1:].numpy() for text in texts])
    found = session.decode(last, np.array([11, 6]))
    for logits, text in zip(np.asarray(found), texts):
        np.testing.assert_allclose(logits, whole(model, text)[0, -1], atol=TOLERANCE)


@pytest.mark.parametrize("kind", ["mistral", "gemma2"])
def test_windows_of_attention_slide(kind, tmp_path):
    heads = {"num_key_value_heads": 2, "head_dim": 16, "sliding_window": 6}
    if kind == "mistral":
        model = hf.MistralForCausalLM(hf.MistralConfig(**LAYERS, **heads))
    else:  # one layer slides, one reads everything
        model = hf.Gemma2ForCausalLM(hf.Gemma2Config(**LAYERS, **heads))
    model = varied(model)
    session = etx.load(planned(model, tmp_path, max_length=60, max_prompt=8)).session()
    prompt = ids(1, 11)
    found = generated(session, prompt.numpy())
    assert found.tolist() == greedy(model, prompt).tolist()


LONG, WINDOW = 400, 70  # positions of caches, and of a window


def long_model(kind):
    layers = {**LAYERS, "num_key_value_heads": 2, "max_position_embeddings": LONG}
    if kind == "llama":
        return varied(hf.LlamaForCausalLM(hf.LlamaConfig(**layers)))
    if kind == "mistral":  # every layer has a window
        return varied(hf.MistralForCausalLM(hf.MistralConfig(**layers, sliding_window=WINDOW)))
    # Attention with a softcap hides keys by a large number instead of -infinity.
    heads = {"head_dim": 16, "sliding_window": LONG}
    return varied(hf.Gemma2ForCausalLM(hf.Gemma2Config(**layers, **heads)))


def hide_rows(session, row, first, end):
    """NaN in one row of all caches, but for positions [first, end)."""
    for name in session.state:
        cache = np.array(session.state[name])
        if cache.ndim == 4:
            cache[row, :, :first] = cache[row, :, end:] = np.nan
            session.state[name] = cache


@pytest.mark.parametrize(
    ("kind", "batch"), [("llama", 1), ("llama", 2), ("mistral", 1), ("gemma2", 2)]
)
def test_a_token_reads_the_rows_before_it_and_no_others(kind, batch, tmp_path):
    """Time does not depend on the length of the caches: what is not read is NaN."""
    model = long_model(kind)
    program = etx.load(planned(model, tmp_path, max_length=LONG, max_prompt=LONG, batch=batch))
    padding = {"padding": np.zeros(batch, np.int64)} if batch > 1 else {}
    for position in (3, 300):
        session, tokens = program.session(), ids(batch, position + 1)
        session.prefill(input_ids=tokens[:, :position].numpy(), position=[0], **padding)
        # Whole blocks of 64 before the window.
        first = max(position + 1 - WINDOW, 0) // 64 * 64 if kind == "mistral" else 0
        for row in range(batch):
            hide_rows(session, row, first, position)
        last = tokens[:, position:].numpy()
        found = session.decode(input_ids=last, position=[position], **padding)
        np.testing.assert_allclose(found, whole(model, tokens)[:, -1], atol=TOLERANCE)


def test_rows_with_positions_of_their_own_read_no_others(tmp_path):
    model, positions = long_model("llama"), (9, 300)
    options = {"batch": 2, "batching": "continuous", "max_prompt": LONG}
    session = etx.load(planned(model, tmp_path, max_length=LONG, **options)).session()
    texts = [ids(1, position + 1) for position in positions]
    for row, text in enumerate(texts):
        session.prefill(input_ids=text[:, :-1].numpy(), position=[0], row=[row])
        hide_rows(session, row, 0, positions[row])
    last = np.concatenate([text[:, -1:].numpy() for text in texts])
    found = session.decode(input_ids=last, position=np.array(positions))
    for logits, text in zip(np.asarray(found), texts):
        np.testing.assert_allclose(logits, whole(model, text)[0, -1], atol=TOLERANCE)


EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
MIXTURES = {
    "Mixtral": {"num_key_value_heads": 2, **EXPERTS},
    "GptOss": {"num_key_value_heads": 2, **EXPERTS, "head_dim": 16, "sliding_window": 8},
    "GraniteMoe": {"num_key_value_heads": 2, **EXPERTS},
    "JetMoe": {"num_key_value_heads": 2, **EXPERTS, "kv_channels": 16},
    "Phimoe": {"num_key_value_heads": 2, **EXPERTS},
}


def mixture(kind):
    """A model with experts, whose stacks of matrices are as large as the other weights."""
    config = getattr(hf, f"{kind}Config")(**LAYERS | MIXTURES[kind])
    model = varied(getattr(hf, f"{kind}ForCausalLM")(config))
    with torch.no_grad():
        for part in model.parameters():
            if part.dim() == 3:
                part.normal_(0, 1.3 / part[0, 0].numel() ** 0.5)
    return model


@pytest.mark.parametrize("kind", MIXTURES)
def test_experts_are_mixed(kind, tmp_path):
    model, prompt = mixture(kind), ids(1, 7)
    wanted = greedy(model, prompt)
    session = etx.load(planned(model, tmp_path, max_length=60, max_prompt=8)).session()
    found = generated(session, prompt.numpy())
    assert found.tolist() == wanted.tolist() == greedy(model, prompt).tolist()


@pytest.mark.skipif(hf.__version__ >= "5", reason="experts are traced as transformers has them")
def test_experts_that_are_mixed_in_another_way_are_refused():
    model = mixture("Mixtral")
    for layer in model.model.layers:
        layer.block_sparse_moe.norm_topk_prob = False  # which the block itself does not read
    with pytest.raises(etx.UnsupportedError, match="experts are chosen in a way"):
        etx.hf.export(model, max_length=20)


@pytest.mark.skipif(hf.__version__ >= "5", reason="experts are traced as transformers has them")
def test_experts_that_are_not_known_are_refused():
    model = mixture("Mixtral")
    for layer in model.model.layers:
        layer.block_sparse_moe.chooser = layer.block_sparse_moe.__dict__.pop("top_k")
        layer.block_sparse_moe.__class__ = ChoosesOtherwise
    with pytest.raises(etx.UnsupportedError, match="'ChoosesOtherwise' chooses experts"):
        etx.hf.export(model, max_length=20)


class ChoosesOtherwise(torch.nn.Module):
    """A block of experts whose members are not known."""


def test_layers_with_a_state_are_refused():
    config = hf.JambaConfig(**LAYERS, num_key_value_heads=2, num_experts=2, use_mamba_kernels=False)
    with pytest.raises(etx.UnsupportedError, match="layers of kind mamba"):
        etx.hf.export(hf.JambaForCausalLM(config), max_length=20)


def test_a_first_position_may_be_compared_with_sizes(tmp_path):
    """M2M100 of transformers 4 does so when it extends its table of positions."""
    model = varied(hf.M2M100ForConditionalGeneration(hf.M2M100Config(**PAIR)))
    session = etx.load(planned(model, tmp_path, max_length=40, max_prompt=16)).session()
    source = ids(1, 7)
    found = generated(session, source.numpy())
    assert found.tolist() == greedy(model, source).tolist()


def test_prompts_of_a_batch_are_padded_on_the_left(tmp_path):
    model = llama()
    session = etx.load(planned(model, tmp_path, max_length=60, max_prompt=4, batch=3)).session()
    prompts, mask = ids(2, 9), torch.ones(2, 9, dtype=torch.long)
    prompts[1, :5], mask[1, :5] = 0, 0
    found = generated(session, prompts.numpy(), attention_mask=mask.numpy())
    assert found[:1].tolist() == greedy(model, prompts[:1]).tolist()
    assert found[1:].tolist() == greedy(model, prompts[1:, 5:]).tolist()


def test_beams_continue_other_beams(tmp_path):
    model = llama()
    session = etx.load(planned(model, tmp_path, max_length=20, max_prompt=6, beams=2)).session()
    texts = ids(1, 4).repeat(2, 1).numpy()
    rows = np.repeat(np.arange(2)[:, None], 20, 1)
    rest = {"padding": np.zeros(2, dtype=np.int64)}
    session.prefill(input_ids=texts, position=[0], beam_rows=rows, **rest)
    random = np.random.default_rng(2)
    for position in range(4, 16):
        parents = random.integers(0, 2, 2)
        texts, rows = texts[parents], rows[parents]
        rows[:, position:] = np.arange(2)[:, None]
        texts = np.concatenate([texts, random.integers(5, WORDS, (2, 1))], 1)
        found = session.decode(
            input_ids=np.ascontiguousarray(texts[:, -1:]), position=[position],
            beam_rows=np.ascontiguousarray(rows), **rest,
        )
        np.testing.assert_allclose(found, whole(model, texts)[:, -1], atol=TOLERANCE)


def test_beams_of_a_translator_share_the_source(tmp_path):
    model = marian()
    session = etx.load(
        planned(model, tmp_path, max_length=40, max_prompt=16, batch=2, beams=2)
    ).session()
    source = ids(2, 7)
    found = generated(session, source.numpy())
    assert found.tolist() == greedy(model, source).tolist()
    wanted = model.generate(
        source, max_new_tokens=STEPS, do_sample=False, num_beams=2, pad_token_id=0
    )
    found = session.generate(source.numpy(), max_new_tokens=STEPS, num_beams=2)
    assert found.tolist() == wanted.tolist()


def test_bfloat16_is_near(tmp_path):
    model = llama().to(torch.bfloat16)
    session = etx.load(planned(model, tmp_path, max_length=20, max_prompt=6)).session()
    assert session.program.state["cache_keys_0"].dtype == "bfloat16"
    tokens = ids(1, 6).numpy()
    found = session.prefill(input_ids=tokens, position=[0])
    with torch.no_grad():
        wanted = model(torch.tensor(tokens)).logits[:, -1].float().numpy()
    assert np.abs(found - wanted).max() < 0.05 * wanted.std()


@pytest.mark.parametrize("batch", [2, 3])
def test_encoders_embed_and_classify(batch, tmp_path):
    model = varied(hf.BertModel(hf.BertConfig(**LAYERS)))
    session = etx.load(planned(model, tmp_path, batch=batch, max_length=12)).session()
    sizes = session.program.methods["embed"].inputs[0].shape
    assert [size.symbol for size in sizes] == ["batch", "length"]
    tokens, mask = ids(2, 7), torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    kinds = torch.zeros_like(tokens)
    found = session.embed(input_ids=tokens, attention_mask=mask, token_type_ids=kinds)
    with torch.no_grad():
        hidden = model(tokens, attention_mask=mask).last_hidden_state
    np.testing.assert_allclose(found[0], hidden[0].mean(0), atol=TOLERANCE)
    np.testing.assert_allclose(found[1], hidden[1, :5].mean(0), atol=TOLERANCE)
    alone = session.embed(
        input_ids=tokens[:1], attention_mask=mask[:1], token_type_ids=kinds[:1])
    np.testing.assert_allclose(alone, found[:1], atol=TOLERANCE)


def test_classifiers_take_one_text(tmp_path):
    tokens, mask = ids(2, 7), torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    classifier = varied(hf.DistilBertForSequenceClassification(hf.DistilBertConfig(
        dim=64, n_layers=2, n_heads=4, hidden_dim=96, num_labels=3, **SPECIAL
    )))
    program = etx.load(planned(classifier, tmp_path, max_length=12))
    assert program.constants["task"] == "text-classification"
    found = program.session().classify(input_ids=tokens[1:], attention_mask=mask[1:])
    with torch.no_grad():
        wanted = classifier(tokens[1:], attention_mask=mask[1:]).logits
    np.testing.assert_allclose(found, wanted, atol=TOLERANCE)


def checkpoint(folder):
    """A directory as `from_pretrained` reads it, with a tokenizer and a chat template."""
    tokenizers = pytest.importorskip("tokenizers")
    words = {f"w{i}": i for i in range(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    fast = hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="w0")
    fast.chat_template = "{{ messages[0]['content'] }}"
    model = llama()
    model.generation_config.eos_token_id = [2, 7]
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return model


def test_a_checkpoint_carries_its_tokenizer(tmp_path):
    model = checkpoint(tmp_path / "model")
    path = planned(tmp_path / "model", tmp_path, max_length=40, max_prompt=8, quantize="int8")
    program = etx.load(path)
    constants = program.constants
    assert constants["tokenizer_format"] == "tokenizer.json"
    blob = bytes(np.asarray(constants["tokenizer_blob"]))
    assert blob == (tmp_path / "model" / "tokenizer.json").read_bytes()
    assert constants["chat_template"] == "{{ messages[0]['content'] }}"
    assert np.asarray(constants["get_eos_ids"]).tolist() == [2, 7]
    expected = {
        "task": "text-generation", "model_type": "llama", "get_vocab_size": WORDS, "get_bos_id": 1,
        "get_max_seq_len": 8, "get_max_context_len": 40, "get_n_layers": 2, "use_kv_cache": True,
        "enable_dynamic_shape": True, "use_sdpa_with_kv_cache": False,
    }
    assert {name: constants[name] for name in expected} == expected
    assert path.stat().st_size < 4 * sum(part.numel() for part in model.parameters())
    prompt = ids(1, 5)
    with torch.no_grad():
        wanted = model(prompt).logits[:, -1].numpy()
    found = program.session().prefill(input_ids=prompt, position=[0])
    assert np.abs(found - wanted).max() < 0.15 * wanted.std()  # weights are rounded


def test_a_model_is_left_as_it_was(tmp_path):
    model = llama().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    etx.hf.export(model, max_length=16, max_prompt=4, dtype="bfloat16")
    assert model.training and model.dtype == torch.float32
    assert model.config._attn_implementation == llama().config._attn_implementation
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_messages_say_what_to_try(tmp_path):
    with pytest.raises(etx.ArgumentError, match="there is no task 'chat'.*text-generation"):
        etx.hf.export(llama(), "chat")
    with pytest.raises(etx.RangeError, match="has 64 positions.*max_length=64"):
        etx.hf.export(llama(), max_length=65)
    with pytest.raises(etx.ArgumentError, match="expected a model of transformers.*etx.export"):
        etx.hf.export(torch.nn.Linear(2, 2))
    with pytest.raises(etx.ArgumentError, match="'batch' is 0"):
        etx.hf.export(llama(), batch=0)
    with pytest.raises(etx.ArgumentError, match="dtype is 'int3'.*bfloat16"):
        etx.hf.export(llama(), dtype="int3")
    with pytest.raises(etx.NotFoundError, match="no config.json.*directory of a checkpoint"):
        etx.hf.export(tmp_path)
    mamba = hf.MambaForCausalLM(hf.MambaConfig(
        hidden_size=32, num_hidden_layers=2, state_size=4, vocab_size=WORDS
    ))
    with pytest.raises(etx.UnsupportedError, match="takes no cache.*feature-extraction"):
        etx.hf.export(mamba)


class CountsKeys(hf.LlamaForCausalLM):
    """Takes the width of the mask, which is that of the cache, for the number of tokens."""

    def forward(self, input_ids, attention_mask=None, past_key_values=None, **named):
        found = super().forward(input_ids, attention_mask, past_key_values=past_key_values, **named)
        found.logits = found.logits + (input_ids if attention_mask is None else attention_mask).shape[-1]
        return found


def test_a_model_that_reads_the_length_of_the_cache_is_refused():
    with pytest.raises(etx.UnsupportedError, match="computes other logits over a cache of fixed size"):
        etx.hf.export(CountsKeys(llama().config), "text-generation")


# Weights from GGUF files. tests/data/gguf/make.py wrote the files; NAME.safetensors has the
# weights that transformers reads from NAME.gguf.
GGUF = DATA / "gguf"
GGUF_SIZES = dict(
    vocab_size=48, hidden_size=32, intermediate_size=64, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, attn_implementation="eager",
)


class Logits(torch.nn.Module):
    """A causal language model that returns logits only."""

    def __init__(self, model):
        super().__init__()
        self.language = model

    def forward(self, tokens):
        return self.language(tokens, use_cache=False).logits


def gguf_configs():
    return {
        "llama": hf.LlamaConfig(
            **GGUF_SIZES, num_hidden_layers=2, attention_bias=True, tie_word_embeddings=False),
        "qwen2": hf.Qwen2Config(
            **GGUF_SIZES, num_hidden_layers=1, tie_word_embeddings=True),
        "gpt2": hf.GPT2Config(
            vocab_size=48, n_embd=32, n_layer=1, n_head=4, n_positions=64,
            attn_implementation="eager"),
    }


@pytest.fixture(scope="module", params=["llama", "qwen2", "gpt2"])
def exported(request):
    """(name, a model with random weights, tokens, the exported model)."""
    torch.manual_seed(5)
    language = hf.AutoModelForCausalLM.from_config(gguf_configs()[request.param])
    module = Logits(language.eval())
    tokens = torch.arange(7)[None] * 5 % 48
    with torch.no_grad():
        return request.param, module, tokens, etx.export(module, {"forward": (tokens,)})


def test_a_file_of_another_model_is_refused_with_all_names(exported, tmp_path):
    name, module, _, program = exported
    other = "llama" if name == "gpt2" else "gpt2"
    with pytest.raises(etx.ExportError) as caught:
        program.plan(tmp_path / "m.pte", weights=GGUF / f"{other}.gguf")
    named = "".join(problem["message"] for problem in caught.value.problems)
    # Of two names of one tensor, the graph has one.
    weights = [key for key, value in module.named_parameters() if value.shape[0] != 48]
    assert len(weights) > 5
    assert [key for key in weights if f"'{key}'" not in named] == []
    assert not (tmp_path / "m.pte").exists()


def test_logits_are_those_of_pytorch_with_the_weights_of_the_file(exported, tmp_path):
    name, module, tokens, program = exported
    report = program.plan(tmp_path / "m.pte", weights=GGUF / f"{name}.gguf")
    state = safetensors.load_file(GGUF / f"{name}.safetensors")
    assert not module.language.load_state_dict(state, strict=False).unexpected_keys
    with torch.no_grad():
        wanted = module(tokens)
    got = etx.load(tmp_path / "m.pte").session().forward(tokens)
    torch.testing.assert_close(torch.as_tensor(got), wanted, rtol=1e-5, atol=1e-5)
    assert report["weights"]["rounded"] == 0
    assert report["weights"]["tensors"] > 10


def test_names_need_weights(tmp_path):
    with pytest.raises(etx.ArgumentError, match="'weights_names' needs 'weights'"):
        etx.plan(GGUF / "llama.yaml", tmp_path / "m.pte", weights_names="names.txt")
    with pytest.raises(etx.ArgumentError, match="is read, a program ends in .pte"):
        etx.plan(GGUF / "llama.yaml", tmp_path / "m.gguf", weights=GGUF / "llama.gguf")


# ------------------------------------------------ caches of int8


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
    # Queries are rounded to 8 bits, too, and weights to 15.
    np.testing.assert_allclose(np.stack(found, 1), wanted, atol=4e-3)
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
