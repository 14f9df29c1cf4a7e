"""docs/checkpoints.md is run from top to bottom over small checkpoints on disk.

The folders have the files and the names of published ones, with random weights. What the
commands print is what transformers finds for the same folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")
sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("tokenizers")
pytest.importorskip("google.protobuf")

import etx.hf
from test_text_commands import TEXTS, llama, trained, varied

COMMAND = os.environ.get("ETX_COMMAND", "etx")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(shutil.which(COMMAND) is None, reason="no command etx"),
]
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def save_translator(folder: Path) -> None:
    """Files of OPUS-MT: two SentencePiece models and one vocabulary for both."""
    folder.mkdir()
    for side in ("source", "target"):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS * 20), model_prefix=str(folder / side), vocab_size=90,
            hard_vocab_limit=False, character_coverage=1.0, minloglevel=2,
        )
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        (folder / f"{side}.vocab").unlink()
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    names = {pieces.id_to_piece(i) for i in range(3, pieces.get_piece_size())}
    words = ["</s>", "<unk>", *sorted(names), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    settings = {"source_lang": "en", "target_lang": "de", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    pad = len(words) - 1
    model = varied(hf.MarianMTModel(hf.MarianConfig(
        vocab_size=len(words), d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96, max_position_embeddings=128,
        decoder_start_token_id=pad, pad_token_id=pad, eos_token_id=0, bos_token_id=0, forced_eos_token_id=None,
    )))
    model.save_pretrained(folder)


def save_recognizer(folder: Path) -> None:
    tokenizer = trained(more=["<|en|>", "<|transcribe|>", "<|notimestamps|>"])
    model = varied(hf.WhisperForConditionalGeneration(hf.WhisperConfig(
        vocab_size=len(tokenizer), d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96, max_source_positions=50,
        max_target_positions=224, decoder_start_token_id=3, pad_token_id=3, bos_token_id=1, eos_token_id=2,
    )))
    for holder in (model.config, model.generation_config):
        holder.begin_suppress_tokens = holder.suppress_tokens = None
    for part in (model, tokenizer, hf.WhisperFeatureExtractor()):
        part.save_pretrained(folder)


def save_talker(folder: Path) -> None:
    tokenizer = trained(more=["<|im_start|>", "<|im_end|>"])
    tokenizer.chat_template = CHATML
    for part in (llama(tokenizer, 1024), tokenizer):
        part.save_pretrained(folder)


def save_sound(path: Path) -> np.ndarray:
    samples = (np.random.default_rng(1).normal(0, 0.1, 16000).clip(-1, 1) * 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(samples.tobytes())
    return samples.astype(np.float32) / 32768


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the page was followed, and what each command printed."""
    folder = tmp_path_factory.mktemp("checkpoints")
    save_translator(folder / "opus-mt-en-de")
    save_recognizer(folder / "whisper-tiny")
    save_talker(folder / "SmolLM2-135M-Instruct")
    save_sound(folder / "speech.wav")
    (folder / "lines.txt").write_text("That is a house.\n\nGood morning!\n")
    (folder / "questions.txt").write_text("Who are you?\nAnd then?\n")
    text = (ROOT / "docs/checkpoints.md").read_text()
    search = f"{Path(shutil.which(COMMAND)).resolve().parent}{os.pathsep}{os.environ['PATH']}"
    printed = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for kind, block in re.findall(r"^```(python|console)\n(.*?)^```", text, re.S | re.M):
            if kind == "python":
                exec(compile(block, "docs/checkpoints.md", "exec"), {"__name__": "document"})
                continue
            for command in re.findall(r"^\$ (.*)$", block, re.M):
                run = subprocess.run(
                    ["bash", "-c", command], capture_output=True, timeout=300, env=os.environ | {"PATH": search}
                )
                assert run.returncode == 0, f"{command}: {run.stderr.decode()}"
                printed[command] = run.stdout.decode()
    return folder, printed


def flat(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ")


def test_the_translator_gives_what_transformers_gives(folder):
    """In float32: the page rounds the weights, which transformers does not."""
    folder, printed = folder
    where = folder / "opus-mt-en-de"
    assert (folder / "lines.de").read_text().count("\n") == 3
    etx.hf.export(where, max_length=128, beams=4).plan(folder / "exact.pte")
    model, tokenizer = hf.MarianMTModel.from_pretrained(where), hf.MarianTokenizer.from_pretrained(where)
    for text in ("That is a house.", "Good morning!"):
        ids = tokenizer(text, return_tensors="pt").input_ids
        found = model.generate(ids, num_beams=4, do_sample=False, max_new_tokens=40)[0]
        words = [COMMAND, "translate", folder / "exact.pte", "--num-beams", "4", "-n", "40", text]
        said = subprocess.run(words, capture_output=True, check=True).stdout.decode()
        assert said == flat(tokenizer.decode(found, skip_special_tokens=True)) + "\n"
    assert printed['etx translate translator.pte "That is a house."'].count("\n") == 1


def test_speech_is_written_as_by_transformers(folder):
    folder, printed = folder
    where = folder / "whisper-tiny"
    model = hf.WhisperForConditionalGeneration.from_pretrained(where)
    tokenizer = hf.AutoTokenizer.from_pretrained(where)
    extractor = hf.WhisperFeatureExtractor.from_pretrained(where)
    sound = save_sound(folder / "again.wav")
    features = torch.tensor(extractor(sound, sampling_rate=16000, padding=False).input_features[0][None])
    ids = torch.tensor([[3]])
    states = model.get_encoder()(features)
    while ids.shape[1] < 200 and ids[0, -1] != 2:
        with torch.no_grad():
            logits = model(encoder_outputs=states, decoder_input_ids=ids).logits[0, -1]
        ids = torch.cat([ids, logits.argmax()[None, None]], 1)
    wanted = flat(tokenizer.decode(ids[0, 1:], skip_special_tokens=True))
    assert printed["etx transcribe whisper.pte speech.wav"].rstrip("\n") == wanted.rstrip("\n")


def test_a_chat_is_continued_as_by_transformers(folder):
    folder, printed = folder
    where = folder / "SmolLM2-135M-Instruct"
    tokenizer = hf.AutoTokenizer.from_pretrained(where)
    talk = [{"role": "user", "content": "What is a cache?"}]
    text = tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    model = hf.AutoModelForCausalLM.from_pretrained(where, dtype=torch.float32)
    etx.hf.export(where, max_length=1024).plan(folder / "exact.pte")
    ends = [2, tokenizer.convert_tokens_to_ids("<|im_end|>")]
    found = model.generate(ids, do_sample=False, max_new_tokens=40, eos_token_id=ends)[0, ids.shape[1]:]
    words = [COMMAND, "chat", folder / "exact.pte", "--max-new-tokens", "40"]
    said = subprocess.run(words, input=b"What is a cache?\n", capture_output=True, check=True).stdout.decode()
    assert said == tokenizer.decode(found, skip_special_tokens=True) + "\n"
    assert printed['etx tokenize chat.pte "Once upon a time"'].split() == [
        str(token) for token in tokenizer("Once upon a time").input_ids
    ]
