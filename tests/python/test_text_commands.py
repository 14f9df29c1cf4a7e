"""`etx generate`, `chat`, `translate`, `transcribe` and `embed` against transformers.

Models are small and have random weights; tokenizers are trained here. What a command
prints is `tokenizer.decode` of what `model.generate` finds.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import wave

import numpy as np
import pytest

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

import etx
import etx.hf

from chat_templates import ENDS, FAMILIES


COMMAND = os.environ.get("ETX_COMMAND", "etx")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(shutil.which(COMMAND) is None, reason="no command etx"),
]

STEPS = 24
TEXTS = [
    "The quick brown fox jumps over the lazy dog. It was not the first time!",
    "Größe und Maß: für alle, 12 oder 345 Äpfel — naïve café",
    "今日は良い天気ですね 😀 emoji and text",
    "<|user|> says hello; <|assistant|> answers\n\tindented line\n",
]
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]


def trained(kind="bytes", more=()):
    """A tokenizer of about 300 tokens; `more` are special tokens besides."""
    special = [*SPECIAL, *more]
    if kind == "bytes":
        made = tokenizers.Tokenizer(tokenizers.models.BPE())
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = tokenizers.decoders.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=300, special_tokens=special,
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        )
        ends = {"single": "<s> $A", "special_tokens": [("<s>", 1)]}
    else:
        made = tokenizers.Tokenizer(tokenizers.models.Unigram())
        made.normalizer = tokenizers.normalizers.NFKC()
        made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        made.decoder = tokenizers.decoders.Metaspace()
        trainer = tokenizers.trainers.UnigramTrainer(
            vocab_size=200, special_tokens=special, unk_token="<unk>"
        )
        ends = {"single": "$A </s>", "special_tokens": [("</s>", 2)]}
    made.train_from_iterator(TEXTS * 20, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(**ends)
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>",
        pad_token="<pad>", clean_up_tokenization_spaces=False,
    )


def varied(model, seed=11):
    """The model with weights so large that its tokens vary."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for part in model.parameters():
            if part.dim() > 1:
                part.normal_(0, 1.3 / part[0].numel() ** 0.5)
    return model.eval()


def llama(tokenizer, length=128):
    return varied(hf.LlamaForCausalLM(hf.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=length,
        bos_token_id=1, eos_token_id=2, pad_token_id=3,
    )))


def marian(tokenizer):
    return varied(hf.MarianMTModel(hf.MarianConfig(
        vocab_size=len(tokenizer), d_model=64, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96,
        decoder_ffn_dim=96, max_position_embeddings=96, decoder_start_token_id=3,
        pad_token_id=3, eos_token_id=2, bos_token_id=1, forced_eos_token_id=None,
    )))


def planned(model, tmp_path, tokenizer, *task, **options):
    path = tmp_path / "model.pte"
    etx.hf.export(model, *task, tokenizer=tokenizer, **options).plan(path)
    return path


def run(*words, text="", code=0):
    """Standard output of the command; fails if its exit code is another one."""
    found = subprocess.run(
        [COMMAND, *map(str, words)], input=text.encode(), capture_output=True, timeout=300
    )
    assert found.returncode == code, found.stderr.decode()
    return found.stdout.decode() if code == 0 else found.stderr.decode()


def lines(*words, text=""):
    return [json.loads(line) for line in run(*words, "--json", text=text).splitlines()]


def answer(model, ids, **options):
    """New tokens of greedy search behind ids [1, S]."""
    options = {"max_new_tokens": STEPS, "do_sample": False, "num_beams": 1} | options
    with torch.no_grad():
        return model.generate(ids, attention_mask=torch.ones_like(ids), **options)[0].tolist()


@pytest.fixture(scope="module")
def talker(tmp_path_factory):
    tokenizer = trained()
    model = llama(tokenizer)
    path = planned(model, tmp_path_factory.mktemp("talker"), tokenizer, max_length=128, max_prompt=16, beams=3)
    return path, model, tokenizer


@pytest.mark.parametrize("prompt", [*TEXTS, "x", " leading and trailing "])
def test_a_prompt_is_continued_as_by_transformers(talker, prompt):
    path, model, tokenizer = talker
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    new = answer(model, ids)[ids.shape[1]:]
    wanted = tokenizer.decode(new, skip_special_tokens=True)
    assert run("generate", path, "-n", STEPS, "--prompt", prompt) == wanted + "\n"
    assert run("generate", path, "-n", STEPS, text=prompt) == wanted + "\n"
    *tokens, last = lines("generate", path, "-n", STEPS, "--prompt", prompt)
    assert [token["token"] for token in tokens] == new == last["ids"]
    assert last["text"] == wanted
    assert wanted.startswith("".join(token["text"] for token in tokens))


def test_drafts_do_not_change_a_text(talker, tmp_path):
    _, model, tokenizer = talker
    large = planned(model, tmp_path, tokenizer, max_length=128, max_prompt=16, verify=5)
    (tmp_path / "small").mkdir()
    small = planned(varied(llama(tokenizer), 11), tmp_path / "small", tokenizer, max_length=128)
    prompt = TEXTS[0]
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    new = answer(model, ids)[ids.shape[1]:]
    for options in (
        ("--assistant-model", small, "--num-assistant-tokens", 3),
        ("--prompt-lookup-num-tokens", 4, "--max-matching-ngram-size", 1),
    ):
        *tokens, last = lines("generate", large, "-n", STEPS, "--prompt", prompt, *options)
        assert [token["token"] for token in tokens] == new == last["ids"]
        assert 0 <= last["accepted"] <= last["drafted"]
    assert last["drafted"] > 0
    # A chat continues with what the caches of both programs hold.
    chat = ("chat", large, "--template", "chatml", "-n", 8)
    messages = "One?\nAnd two?\n"
    assert run(*chat, "--assistant-model", small, text=messages) == run(*chat, text=messages)
    both = ("--assistant-model", small, "--prompt-lookup-num-tokens", 2)
    assert "one source of drafts" in run("generate", large, "--prompt", "x", *both, code=2)
    missing = run("generate", small, "--prompt", "x", "--prompt-lookup-num-tokens", 2, code=5)
    assert "verify=8" in missing
    assert "no/such.pte" in run("generate", large, "--prompt", "x", "--assistant-model", "no/such.pte", code=2)


def test_beams_and_stop_strings_are_those_of_transformers(talker):
    path, model, tokenizer = talker
    ids = tokenizer(TEXTS[0], return_tensors="pt").input_ids
    found = answer(model, ids, num_beams=3, length_penalty=0.7)[ids.shape[1]:]
    wanted = tokenizer.decode(found, skip_special_tokens=True)
    assert run("generate", path, "-n", STEPS, "-b", 3, "--length-penalty", 0.7, "--prompt", TEXTS[0]) == wanted + "\n"
    whole = tokenizer.decode(answer(model, ids)[ids.shape[1]:], skip_special_tokens=True)
    stop = next(part for part in (whole[i:i + 2] for i in range(4, len(whole))) if "\ufffd" not in part)
    found = answer(model, ids, stop_strings=[stop], tokenizer=tokenizer)[ids.shape[1]:]
    last = lines("generate", path, "-n", STEPS, "--stop", stop, "--prompt", TEXTS[0])[-1]
    assert last["ids"] == found and last["end"] == "stop_string"


def test_what_has_no_prompt_or_tokenizer_is_refused(talker, tmp_path):
    path, model, tokenizer = talker
    assert "both given" in run("generate", path, "--ids", "1", "--prompt", "a", code=2)
    bare = planned(model, tmp_path, None, max_length=64)
    assert "carries no tokenizer" in run("generate", bare, "--prompt", "a", code=2)
    tokenizer.save_pretrained(tmp_path)
    given = ("--tokenizer", tmp_path / "tokenizer.json", "-n", 8, "--prompt", "a fox")
    assert run("tokenize", path, TEXTS[1]).split() == [str(i) for i in tokenizer(TEXTS[1]).input_ids]
    assert run("generate", bare, *given) == run("generate", path, "-n", 8, "--prompt", "a fox")
    assert "expected 1 to 127" in run("generate", path, "--prompt", "word " * 200, code=5)
    (tmp_path / "wrong.json").write_text('{"model": 3}')
    assert "wrong.json" in run("generate", bare, "--tokenizer", tmp_path / "wrong.json", "--prompt", "a", code=2)


def test_ctrl_c_ends_a_text_with_what_was_said(tmp_path):
    tokenizer = trained()
    model = llama(tokenizer, 8192)
    model.config.eos_token_id = model.generation_config.eos_token_id = None
    path = planned(model, tmp_path, tokenizer, max_length=8192, max_prompt=16)
    words = [COMMAND, "generate", path, "-n", "8000", "--prompt", "a fox"]
    # A shell starts commands in the background with SIGINT ignored, which they keep.
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **heard) as process:
        start = process.stdout.read(8)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"ended by Ctrl-C after" in err
    whole = run("generate", path, "-n", 400, "--prompt", "a fox").rstrip("\n").encode()
    said = (start + out).rstrip(b"\n")
    assert len(said) >= 8 and (said.startswith(whole) or whole.startswith(said))


def test_translations_are_those_of_transformers(tmp_path):
    tokenizer = trained("pieces")
    model = marian(tokenizer)
    path = planned(model, tmp_path, tokenizer, max_length=48, max_prompt=96, beams=2)

    def wanted(text, **options):
        ids = tokenizer(text, return_tensors="pt").input_ids
        found = answer(model, ids, max_new_tokens=40, **options)
        return tokenizer.decode(found, skip_special_tokens=True)

    texts = [text.strip().replace("\n", " ") for text in TEXTS]
    greedy = [wanted(text) for text in texts]
    assert run("translate", path, "-n", 40, *texts).splitlines() == greedy
    mixed = run("translate", path, "-n", 40, text="\n".join([texts[0], "", texts[1] + "\r"])).split("\n")
    assert mixed == [greedy[0], "", greedy[1], ""]
    beams = [wanted(text, num_beams=2) for text in texts]
    assert run("translate", path, "-n", 40, "-b", 2, *texts).splitlines() == beams
    prefixed = wanted("summarize: " + texts[0])
    assert run("translate", path, "-n", 40, "--prefix", "summarize: ", texts[0]) == prefixed + "\n"
    begun = wanted(texts[0], forced_bos_token_id=7, num_beams=1)
    token = tokenizer.convert_ids_to_tokens(7)
    found = lines("translate", path, "-n", 39, "--begin-with", token, texts[0])[-1]["text"]
    assert tokenizer.decode([7], skip_special_tokens=True) + found == begun or found in begun
    assert "no token" in run("translate", path, "--begin-with", "xyz_Abcd", texts[0], code=2)


@pytest.mark.parametrize("pooling", ["mean", "cls", "none"])
def test_vectors_are_those_of_transformers(pooling, tmp_path):
    tokenizer = trained("pieces")
    model = varied(hf.BertModel(hf.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=96,
    ), add_pooling_layer=False))
    path = planned(model, tmp_path, tokenizer, "feature-extraction", pooling=pooling)
    found = lines("embed", path, *TEXTS)
    assert [line["text"] for line in found] == TEXTS
    for text, line in zip(TEXTS, found):
        ids = tokenizer(text, return_tensors="pt").input_ids
        with torch.no_grad():
            states = model(ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0].numpy()
        wanted = {"mean": states.mean(0), "cls": states[0], "none": states}[pooling]
        np.testing.assert_allclose(np.array(line["embedding"]), wanted, rtol=1e-4, atol=2e-5)
    plain = [[float(word) for word in line.split()] for line in run("embed", path, text=TEXTS[0] + "\n").splitlines()]
    exact = np.atleast_2d(np.array(found[0]["embedding"], dtype=np.float32))
    assert np.array_equal(np.array(plain, dtype=np.float32), exact)
    assert "the program takes 1 to" in run("embed", path, "word " * 300, code=5)


@pytest.fixture(scope="module")
def exported():
    more = ["<|im_start|>", "<|start_header_id|>", "<|end_header_id|>", "<start_of_turn>", "<|user|>", "<|assistant|>",
            "<|system|>", "[INST]", "[/INST]", "<|header_start|>", *sorted(set(ENDS.values()))]
    tokenizer = trained(more=more)
    model = llama(tokenizer, 512)
    return etx.hf.export(model, tokenizer=tokenizer, max_length=512, max_prompt=32), model, tokenizer


# tests/cli/chat_family_test.c compares what is written for all families.
@pytest.mark.parametrize("family", ["chatml", "llama2", "mistral-v3-tekken"])
def test_a_chat_is_written_as_by_transformers(family, exported, tmp_path):
    program, model, tokenizer = exported
    tokenizer.chat_template = program.constants["chat_template"] = FAMILIES[family]
    path = tmp_path / "model.pte"
    program.plan(path)
    ends = [2, *([tokenizer.convert_tokens_to_ids(ENDS[family])] if family in ENDS else [])]
    questions = ["Who are you?", "Größe? 12 😀", "And then?"]
    system = "You speak like a fox."
    talk = [{"role": "system", "content": system}]
    wanted = []
    for question in questions:
        talk.append({"role": "user", "content": question})
        text = tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
        new = answer(model, ids, eos_token_id=ends, max_new_tokens=12)[ids.shape[1]:]
        wanted.append(tokenizer.decode(new, skip_special_tokens=True))
        talk.append({"role": "assistant", "content": wanted[-1]})
    options = ["-n", 12, "--system", system]
    found = lines("chat", path, *options, text="\n".join(questions))
    assert [line["text"] for line in found if "end" in line] == wanted
    named = lines("chat", path, *options, "--template", family, text="\n".join(questions))
    assert named == found


def test_a_chat_of_no_known_family_is_refused(exported, tmp_path):
    program, _, _ = exported
    program.constants["chat_template"] = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    path = tmp_path / "model.pte"
    program.plan(path)
    assert "no family that is known" in run("chat", path, text="hello\n", code=2)
    assert "expected one of" in run("chat", path, "--template", "other", text="hello\n", code=2)
    assert run("chat", path, "--template", "chatml", "-n", 4, text="hello\n")


def save_wav(path, samples, rate, width):
    """Samples from -1 to 1, [frames, channels]."""
    scaled = np.round(samples * (2 ** (8 * width - 1) - 1)).astype(np.int64)
    data = b"".join(int(value).to_bytes(width, "little", signed=True) for value in scaled.reshape(-1))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(data)
    return scaled / 2 ** (8 * width - 1)


# Log-mel inside of the program, or outside.
@pytest.mark.parametrize(("samples", "bands"), [(True, 80), (False, 128)])
def test_speech_is_written_as_by_transformers(samples, bands, tmp_path):
    more = ["<|de|>", "<|transcribe|>", "<|translate|>", "<|notimestamps|>"]
    tokenizer = trained(more=more)
    model = varied(hf.WhisperForConditionalGeneration(hf.WhisperConfig(
        vocab_size=len(tokenizer), d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96, num_mel_bins=bands,
        max_source_positions=50, max_target_positions=64, decoder_start_token_id=3, pad_token_id=3,
        bos_token_id=1, eos_token_id=2,
    )))
    for holder in (model.config, model.generation_config):
        holder.begin_suppress_tokens = holder.suppress_tokens = None
    path = planned(model, tmp_path, tokenizer, max_length=40, samples=samples)
    extractor = hf.WhisperFeatureExtractor(feature_size=bands)

    def wanted(sound, begin):
        texts = []
        for at in range(0, len(sound), 16000):
            window = np.zeros(16000, np.float32)
            window[:len(sound[at:at + 16000])] = sound[at:at + 16000]
            features = extractor(window, sampling_rate=16000, padding=False).input_features[0][None]
            ids = torch.tensor([begin])
            with torch.no_grad():
                states = model.get_encoder()(torch.tensor(features))
            for _ in range(STEPS):
                with torch.no_grad():
                    logits = model(encoder_outputs=states, decoder_input_ids=ids).logits[0, -1]
                ids = torch.cat([ids, logits.argmax()[None, None]], 1)
                if ids[0, -1] == 2:
                    break
            texts.append(tokenizer.decode(ids[0, len(begin):], skip_special_tokens=True))
        return [text.replace("\n", " ").replace("\r", " ") for text in texts]

    draw = np.random.default_rng(1)
    sound = draw.normal(0, 0.1, (40000, 2)).clip(-1, 1)
    for width in (2, 3, 4):
        kept = save_wav(tmp_path / "a.wav", sound, 16000, width)
        expected = wanted(kept.mean(1).astype(np.float32), [3])
        assert run("transcribe", path, tmp_path / "a.wav", "-n", STEPS).split("\n")[:-1] == expected
    language = [tokenizer.convert_tokens_to_ids(token) for token in ("<|de|>", "<|translate|>", "<|notimestamps|>")]
    expected = wanted(kept.mean(1).astype(np.float32), [3, *language])
    options = ("--language", "de", "--task", "translate", "-n", STEPS)
    assert run("transcribe", path, tmp_path / "a.wav", *options).split("\n")[:-1] == expected
    assert "no token '<|xx|>'" in run("transcribe", path, tmp_path / "a.wav", "--language", "xx", code=2)
    floats = kept.mean(1).astype("<f4").tobytes()
    header = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x03\0\x01\0" + (16000).to_bytes(4, "little") + (64000).to_bytes(4, "little")
    header += b"\x04\0\x20\0LIST\x03\0\0\0abc\0data" + len(floats).to_bytes(4, "little")
    (tmp_path / "f.wav").write_bytes(header + floats)
    assert run("transcribe", path, tmp_path / "f.wav", *options).split("\n")[:-1] == expected


def test_damaged_sound_is_refused(tmp_path):
    tokenizer = trained()
    path = planned(marian(tokenizer), tmp_path, tokenizer, max_length=48, max_prompt=32)
    save_wav(tmp_path / "a.wav", np.zeros((10, 1)), 8000, 2)
    assert "does not read sound" in run("transcribe", path, tmp_path / "a.wav", code=2)
