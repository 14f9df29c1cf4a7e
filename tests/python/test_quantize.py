"""Weights that `plan(quantize=...)` rounds: convolutions, against PyTorch with weights
that PyTorch has rounded (torch.fake_quantize_per_channel_affine), and layers that are
calibrated, against PyTorch's results with float weights."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")
from torch import nn

import etx

pytestmark = pytest.mark.filterwarnings("ignore")

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d)


class Residual(nn.Module):
    """Depthwise and pointwise layers with batch norms, as mobile networks have."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, stride=2, padding=1)
        self.deep = nn.Conv2d(32, 32, 5, padding=4, dilation=2, groups=32, bias=False)
        self.norm = nn.BatchNorm2d(32)
        self.point = nn.Conv2d(32, 48, 1)
        self.head = nn.Linear(48, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        x = torch.nn.functional.hardswish(self.norm(self.deep(x)))
        return self.head(self.point(x).mean((2, 3)))


def rounded(model: nn.Module) -> nn.Module:
    """The model with weights of convolutions as int8 times a scale for each index
    of the first dimension."""
    model = copy.deepcopy(model)
    for module in model.modules():
        if not isinstance(module, CONVOLUTIONS) or module.weight.numel() < 1024:
            continue
        weight = module.weight.data
        largest = weight.flatten(1).abs().amax(1)
        scale = torch.where(largest > 0, largest / 127, torch.ones(()))
        zeros = torch.zeros(len(scale), dtype=torch.int32)
        module.weight.data = torch.fake_quantize_per_channel_affine(
            weight, scale, zeros, 0, -127, 127)
    return model


def fold_norm(model: Residual) -> Residual:
    """The weights that etx rounds: it folds batch norms before."""
    model = copy.deepcopy(model)
    model.deep = nn.utils.fuse_conv_bn_eval(model.deep, model.norm)
    model.norm = nn.Identity()
    return model


def sqnr(signal: torch.Tensor, found: torch.Tensor) -> float:
    return float(10 * torch.log10((signal**2).sum() / ((signal - found) ** 2).sum()))


def check(model: nn.Module, x: torch.Tensor, tmp_path, quantize: str = "int8",
          reference=None, **options):
    model.eval()
    path = tmp_path / "model.pte"
    exported = etx.export(model, {"forward": (x,)})
    report = exported.plan(path, quantize=quantize, **options)
    found = torch.from_numpy(etx.load(path).session().forward(x))
    with torch.no_grad():
        wanted = (reference or rounded(model))(x)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        assert sqnr(model(x), found) > 30  # of the result, in dB
    return report, path


@pytest.mark.parametrize("layer, shape", [
    (nn.Conv1d(16, 40, 5, padding=2), (2, 16, 30)),
    (nn.Conv2d(8, 33, 3, stride=2), (1, 8, 17, 19)),
    (nn.Conv2d(64, 64, 5, groups=64, padding=2), (1, 64, 9, 9)),
    (nn.Conv2d(32, 64, 3, groups=4, dilation=2, bias=False), (3, 32, 11, 12)),
    (nn.Conv2d(64, 128, 1), (1, 64, 1, 1)),
    (nn.Conv3d(4, 16, 3, padding=1), (1, 4, 5, 6, 7)),
    (nn.ConvTranspose1d(24, 16, 4, stride=2), (1, 24, 9)),
    (nn.ConvTranspose2d(32, 8, 3, stride=2, output_padding=1, padding=1), (2, 32, 5, 6)),
], ids=str)
def test_a_layer_computes_with_rounded_weights(layer, shape, tmp_path):
    torch.manual_seed(5)
    layer.reset_parameters()  # weights of this seed: one on a tie may round either way
    report, _ = check(layer, torch.randn(shape), tmp_path)
    weights = [row for row in report["quantized"] if row["name"] == "weight"]
    assert [row["kind"] for row in weights] == ["int8w"]
    assert weights[0]["sqnr_db"] > 35


@pytest.mark.parametrize("pack", [False, True])
def test_a_network_keeps_its_results_and_loses_its_bytes(pack, tmp_path):
    torch.manual_seed(6)
    model = nn.Sequential(nn.Conv2d(3, 64, 7, stride=2), nn.ReLU(), nn.Conv2d(64, 128, 3),
                          nn.ReLU(), nn.Conv2d(128, 128, 3))
    x = torch.randn(1, 3, 32, 32)
    _, path = check(model, x, tmp_path, pack=pack)
    plain = tmp_path / "plain.pte"
    etx.export(model, {"forward": (x,)}).plan(plain)
    assert path.stat().st_size < 0.27 * plain.stat().st_size


def test_batch_norms_are_folded_before_weights_are_rounded(tmp_path):
    torch.manual_seed(7)
    model = Residual().eval()
    model.norm.running_var.uniform_(0.5, 2)
    model.norm.running_mean.normal_()
    folded = fold_norm(model)
    check(model, torch.randn(1, 3, 33, 35), tmp_path, "int8w:stem,deep,point", rounded(folded))


def test_rules_name_convolutions(tmp_path):
    model = nn.Sequential(nn.Conv2d(16, 32, 3), nn.Conv2d(32, 32, 3))
    exported = etx.export(model.eval(), {"forward": (torch.randn(1, 16, 9, 9),)})
    report = exported.plan(tmp_path / "model.pte", quantize=["int4", "none:0.weight"])
    kinds = {row["name"]: (row["kind"], row["reason"]) for row in report["quantized"]}
    assert kinds["0.weight"] == ("float32", "is excluded")
    assert kinds["1.weight"] == ("int8w", "convolutions read int8")


# ---------------------------------------------------------------- calibration

WIDTH, ROWS = 128, 24


class Layers(nn.Module):
    """Two methods that share a state and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, 4 * WIDTH)
        self.second = nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("kept", torch.zeros(ROWS, WIDTH))

    def fill(self, x: torch.Tensor) -> torch.Tensor:
        self.kept.copy_(x)
        return self.second(torch.relu(self.first(x)))

    def read(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x + self.kept)))


def inputs(count: int) -> list[torch.Tensor]:
    """Rows that vary along a few directions, which are the same in all of them."""
    mixes = torch.randn(6, WIDTH, generator=torch.Generator().manual_seed(1))
    return [torch.randn(ROWS, 6) @ mixes + 0.2 * torch.randn(ROWS, WIDTH) for _ in range(count)]


@pytest.fixture(scope="module")
def model() -> Layers:
    torch.manual_seed(0)
    return Layers().eval()


@pytest.fixture(scope="module")
def exported(model):
    x = inputs(1)[0]
    return etx.export(model, {"fill": (x,), "read": (x,)})


def calls(count: int) -> list:
    torch.manual_seed(2)
    out: list = []
    for x in inputs(count):
        out += [("fill", (x,)), ("read", (x.flip(0),)), None]
    return out


def noise(path, model: Layers) -> float:
    """The error of both methods' results relative to them."""
    torch.manual_seed(3)
    session, lost, all_ = etx.load(path).session(), 0.0, 0.0
    for x in inputs(8):
        with torch.no_grad():
            for method in ("fill", "read"):
                wanted = getattr(model, method)(x)
                found = torch.as_tensor(getattr(session, method)(x))
                lost += float(((wanted - found) ** 2).sum())
                all_ += float((wanted ** 2).sum())
    return lost / all_


@pytest.mark.parametrize("kind, gain", [("int4w", 4), ("int4k", 2), ("int4w/64", 4), ("int8w", 4), ("int8", 1)])
def test_results_are_closer(exported, model, tmp_path, kind, gain):
    plain, better = tmp_path / "plain.pte", tmp_path / "better.pte"
    exported.plan(plain, quantize=kind)
    report = exported.plan(better, quantize=kind, calibrate=calls(16))
    rows = {row["name"]: row["calibration_rows"] for row in report["quantized"] if row["calibration_rows"]}
    assert len(rows) == 2 and set(rows.values()) == {16 * 2 * ROWS}
    assert plain.stat().st_size == better.stat().st_size
    assert gain * noise(better, model) < noise(plain, model)


def test_calls_may_be_a_directory(exported, tmp_path):
    exported.plan(tmp_path / "list.pte", quantize="int4", calibrate=calls(4))
    folder = tmp_path / "calls"
    folder.mkdir()
    etx._recorded_calls.write(folder, calls(4))
    exported.plan(tmp_path / "folder.pte", quantize="int4", calibrate=folder)
    assert (tmp_path / "list.pte").read_bytes() == (tmp_path / "folder.pte").read_bytes()


@pytest.mark.parametrize("given, message", [
    ([("fill", ())], "the method has 1 input, the case has 0, in call 0"),
    ([None, ("other", (1,))], "no method 'other'.*in call 1"),
    ([None], "run no linear layer"),
    (["fill"], r"call 0 is 'fill', expected \(method, inputs\)"),
    ([("fill", (torch.zeros(1, dtype=torch.complex64),))], "call 0, input 0 is a tensor of torch.complex64"),
    ([("fill", (torch.zeros(3, 3),))], "in call 0 of the calibration"),
])
def test_wrong_calls_are_refused(exported, tmp_path, given, message):
    path = tmp_path / "model.pte"
    with pytest.raises(etx.Error, match=message):
        exported.plan(path, quantize="int4", calibrate=given)
    assert list(tmp_path.iterdir()) == []


def test_a_rule_is_needed(exported, tmp_path):
    with pytest.raises(etx.Error, match="no rule rounds any"):
        exported.plan(tmp_path / "model.pte", calibrate=calls(1))
