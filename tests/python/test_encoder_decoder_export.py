"""The encoder-decoder wrapper and the tokenizer converter of ExecuTools, by their names,
against `generate` and the tokenizers of transformers."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")
from torch.export import Dim
from transformers.cache_utils import EncoderDecoderCache, StaticCache

import etx
from etx.encoder_decoder_export import EncoderDecoderWrapper
from etx.model_exporter import MethodArg, MultiEntryPointExporter
from etx.tokenizer_converters import get_fast_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS, END, PAD, LENGTH = 64, 0, 63, 18
BATCH, SOURCE = 4, 12


def configuration(words, pad):
    return hf.MarianConfig(
        vocab_size=words, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96, max_position_embeddings=64,
        pad_token_id=pad, eos_token_id=END, bos_token_id=END, decoder_start_token_id=pad,
        forced_eos_token_id=END,
    )


def marian(seed=11):
    """Random weights under which texts of different lengths end by themselves."""
    config = configuration(WORDS, PAD)
    torch.manual_seed(seed)
    model = hf.MarianMTModel(config).eval()
    with torch.no_grad():
        for part in model.parameters():
            if part.dim() > 1:
                part.normal_(0, 1.3 / part[0].numel() ** 0.5)
        model.final_logits_bias[0, END] = 3.0
    settings = {"bad_words_ids": [[PAD]], "max_length": LENGTH, "num_beams": 1, "use_cache": True}
    model.generation_config.update(**settings)
    return model


def wrapped(model):
    own, cross = (StaticCache(model.config, max_cache_len=size) for size in (LENGTH + 4, SOURCE))
    return EncoderDecoderWrapper(model, EncoderDecoderCache(own, cross), max_batch_size=BATCH)


def sources(batch, length, seed=1):
    ids = torch.randint(3, 60, (batch, length), generator=torch.Generator().manual_seed(seed))
    mask = torch.ones_like(ids)
    for row in range(1, batch):  # padding on the right
        mask[row, max(1, length - 2 * row):] = 0
    return ids.masked_fill(mask == 0, PAD), mask


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    model = marian()
    wrapper = wrapped(model)
    batch, source, text = Dim("batch", min=1, max=BATCH), Dim("source", min=1, max=SOURCE), Dim("text", min=1, max=LENGTH)
    ids = MethodArg(torch.ones(3, SOURCE - 1, dtype=torch.int), {0: batch, 1: source})
    with torch.no_grad():
        exporter = MultiEntryPointExporter(wrapper)
        exporter.register_shared_buffers(wrapper.get_shared_fqn())
        exporter.register(
            wrapper.reset_encode_prefill, encoder_inputs=ids, encoder_attention_mask=ids,
            prefill_prompt=MethodArg(wrapper.format_prompt()),
        )
        past = MethodArg(torch.zeros(3, 5, dtype=torch.int64), {0: batch, 1: text})
        exporter.register(wrapper.decode, encoder_inputs=ids, encoder_attention_mask=ids, past_decoder_outputs=past)
        exporter.export()
        exporter.to_edge(constant_methods={"most_tokens": LENGTH})
        exporter.to_executorch()
    path = exporter.save(tmp_path_factory.mktemp("marian"), "model", et_record=False)
    return model, wrapper, etx.load(path)


def test_texts_are_those_of_generate(translator):
    model, wrapper, program = translator
    session = program.session()  # one for all calls: each begins anew
    lengths = set()
    for batch, length in ((3, 9), (1, 1), (4, 12), (2, 5), (3, 9)):
        ids, mask = sources(batch, length, seed=batch)
        given = {"encoder_inputs": ids.int().numpy(), "encoder_attention_mask": mask.int().numpy()}
        ended, first, texts = session.reset_encode_prefill(**given, prefill_prompt=wrapper.format_prompt().numpy())
        assert first.tolist() == texts.tolist()
        while not ended:
            ended, new, longer = session.decode(**given, past_decoder_outputs=np.array(texts))
            assert longer[:, -1:].tolist() == new.tolist()
            texts = np.array(longer)
        wanted = model.generate(ids, attention_mask=mask, do_sample=False)
        assert texts.tolist() == wanted.tolist()
        lengths |= {(row != PAD).sum() for row in texts}
    assert len(lengths) > 1, "all texts have the same length: the end is not tested"


def test_names_are_kept(translator):
    model, wrapper, program = translator
    names = wrapper.get_shared_fqn()
    assert {"encoder_output", "cache_position", "next_tokens", "unfinished_sequences"} <= set(names)
    assert set(names) <= set(program.state)
    assert wrapper.format_prompt().tolist() == [PAD]
    assert program.constants["most_tokens"] == LENGTH


def test_wrong_caches_are_refused():
    model = marian()
    with pytest.raises(etx.ArgumentError, match="expected an EncoderDecoderCache"):
        EncoderDecoderWrapper(model, StaticCache(model.config, max_cache_len=8))
    growing = EncoderDecoderCache(hf.DynamicCache(), hf.DynamicCache())
    with pytest.raises(etx.ArgumentError, match="no fixed length"):
        EncoderDecoderWrapper(model, growing)
    ids, mask = sources(5, 4)
    with pytest.raises(etx.RangeError, match="5 texts.*made for 4"):
        wrapped(model).reset_encode_prefill(ids, mask, torch.tensor([PAD]))


TEXTS = [
    "the cat sits on the mat", "  two  spaces and a café ", "unknown: 漢字", "", "a",
    ">>fr<< the dog", "the dog ate the food of the cat, and the cat ate nothing.",
]


@pytest.fixture(scope="module")
def opus(tmp_path_factory):
    """The files of a tokenizer of OPUS-MT, trained on a few sentences."""
    pieces = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    folder = tmp_path_factory.mktemp("opus")
    texts = {
        "source": ["the cat sat on the mat, and a dog ate the food", "nothing sits on two cats or dogs"],
        "target": ["le chat est assis sur le tapis", "un chien mange la nourriture du café"],
    }
    found = []
    for name, lines in texts.items():
        pieces.SentencePieceTrainer.train(
            sentence_iterator=iter(lines * 20), model_prefix=str(folder / name), vocab_size=45,
            hard_vocab_limit=False, bos_id=-1, unk_id=1, eos_id=0, minloglevel=2,
        )
        (folder / f"{name}.model").rename(folder / f"{name}.spm")
        model = pieces.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        found += [model.id_to_piece(i) for i in range(model.vocab_size())]
    # As OPUS-MT has it: the end is 0, unknown is 1, padding is the last one.
    names = ["</s>", "<unk>", *sorted(set(found) - {"</s>", "<unk>"}), ">>fr<<", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    settings = {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "fr"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def test_a_tokenizer_of_two_languages_is_converted(opus):
    slow = hf.MarianTokenizer.from_pretrained(opus)
    fast = get_fast_tokenizer(slow)
    for text in TEXTS:
        assert fast.encode(text).ids == slow.encode(text), text
    wanted = slow(TEXTS, padding=True)
    found = fast.encode_batch(TEXTS)
    assert [row.ids for row in found] == wanted["input_ids"]
    assert [row.attention_mask for row in found] == wanted["attention_mask"]
    target = slow(text_target="le chat mange du café")["input_ids"]
    assert fast.decode(target) == slow.decode(target, skip_special_tokens=True)


def test_a_translator_carries_its_tokenizer(opus, tmp_path):
    import etx.hf

    slow = hf.MarianTokenizer.from_pretrained(opus)
    hf.MarianMTModel(configuration(len(slow), slow.pad_token_id)).save_pretrained(opus)
    etx.hf.export(opus, max_length=20, max_prompt=16).plan(tmp_path / "model.pte")
    constants = etx.load(tmp_path / "model.pte").constants
    assert constants["tokenizer_format"] == "tokenizer.json"
    tokenizers = pytest.importorskip("tokenizers")
    fast = tokenizers.Tokenizer.from_str(bytes(np.asarray(constants["tokenizer_blob"])).decode())
    assert [fast.encode(text).ids for text in TEXTS] == [slow.encode(text) for text in TEXTS]
