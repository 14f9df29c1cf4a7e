"""SentencePiece models in `etx tokenize` against the package sentencepiece.

Models are trained here with its own trainer. Ids, spans and decoded texts must be equal.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("tokenizers")
pytest.importorskip("google.protobuf")

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tokenizer"))
import sample_tokenizers
from sample_sentence_pieces import KINDS, train

COMMAND = os.environ.get("ETX_COMMAND", "etx")
pytestmark = pytest.mark.skipif(shutil.which(COMMAND) is None, reason="no command etx")
CASES = int(os.environ.get("ETX_SENTENCEPIECE_CASES", "60"))
def run(*words, text=""):
    found = subprocess.run([COMMAND, "tokenize", *map(str, words)], input=text.encode(), capture_output=True)
    assert found.returncode == 0, found.stderr.decode()
    return json.loads(found.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_ids_and_texts_are_those_of_sentencepiece(kind, tmp_path):
    file = tmp_path / "tokens.model"
    file.write_bytes(train(**KINDS[kind]))
    oracle = sentencepiece.SentencePieceProcessor(model_proto=file.read_bytes())
    draw = random.Random(kind)
    texts = [sample_tokenizers.draw_text(draw) for _ in range(CASES)]
    texts += ["", " ", "   ", "  two  spaces ", "the<user>abcd ab", "\u200b", "▁a▁▁b ▁", "a\tb\nc", "ﷺ ﬁ ㍿ Ⅷ", "x" * 3000]
    for text in texts:
        if "\0" in text:
            continue
        wanted = oracle.encode(text, return_type="proto")
        found = run(file, "--json", "--offsets", text=text)
        ids = [piece.id for piece in wanted.pieces]
        assert found["ids"] == ids, (text, wanted.pieces)
        for span, piece in zip(found["offsets"], wanted.pieces):
            if not oracle.is_byte(piece.id):
                assert span == [piece.begin, piece.end], (text, piece)
        some = [draw.randrange(oracle.vocab_size()) for _ in range(draw.randrange(12))]
        for chosen in (ids, some):
            decoded = run(file, "--json", "--decode", " ".join(map(str, chosen)))["text"]
            assert decoded == oracle.decode(chosen), (chosen, [oracle.id_to_piece(i) for i in chosen])
