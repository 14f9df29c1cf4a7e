"""Models with a single call for which no library was tuned. They resemble typical
models on devices and have random weights from a seed. One that is slower than in
other runtimes shows what to improve next. `MODELS` is as in models.py.
"""

import torch
from torch import nn
from torch.nn import functional

SEED = 11


def seeded(make):
    torch.manual_seed(SEED)
    return make().eval().requires_grad_(False)


def floats(*sizes):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(SEED))


# ---- from the package transformers ----


class First(nn.Module):
    """A model with one named input, reduced to its first result."""

    def __init__(self, model, name):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x):
        return self.model(**{self.name: x}, return_dict=False)[0]


def text(kind, config, count, **sizes):
    """A maker of a model from token ids to its first result."""
    def make():
        import transformers
        settings = getattr(transformers, config)(**sizes)
        more = {"add_pooling_layer": False} if kind == "BertModel" else {}
        model = seeded(lambda: getattr(transformers, kind)(settings, **more))
        ids = torch.randint(1, settings.vocab_size, (1, count),
                            generator=torch.Generator().manual_seed(SEED))
        return First(model, "input_ids"), (ids,)
    return make


def image(kind, config, size=224, more=None, **sizes):
    """A maker of a model from an image to its first result."""
    def make():
        import transformers
        settings = getattr(transformers, config)(**sizes)
        model = seeded(
            lambda: getattr(transformers, kind)(settings, **(more or {})))
        return First(model, "pixel_values"), (floats(1, 3, size, size),)
    return make


def sound(kind, config, **sizes):
    """A maker of a model from a second of sound to its first result."""
    def make():
        import transformers
        settings = getattr(transformers, config)(**sizes)
        model = seeded(lambda: getattr(transformers, kind)(settings))
        return First(model, "input_values"), (floats(1, 16000),)
    return make


def with_statistics(module, inputs):
    """Keeps the results of deep convolutions from vanishing, as they do with the
    libraries' initial weights: draws larger weights, and sets the statistics of
    batch norms to those of this input."""
    torch.manual_seed(SEED)
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
        elif isinstance(layer, nn.BatchNorm2d):
            layer.momentum = 1.0
    module.train()(*inputs)
    return module.eval(), inputs


def efficientnet():
    return with_statistics(*image(
        "EfficientNetForImageClassification", "EfficientNetConfig",
        width_coefficient=1.0, depth_coefficient=1.0, image_size=224,
        hidden_dim=1280, num_labels=1000)())


def detr():
    import transformers
    backbone = transformers.ResNetConfig(
        depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512],
        layer_type="basic", out_features=["stage4"])
    return image("DetrModel", "DetrConfig", 256, use_timm_backbone=False,
                 use_pretrained_backbone=False, backbone=None,
                 backbone_config=backbone, encoder_layers=3,
                 decoder_layers=3)()


# ---- written out here ----


def own(make, *sizes):
    return lambda: (seeded(make), (floats(*sizes),))


class Block(nn.Sequential):
    def __init__(self, inner, outer, kernel=3, stride=1, groups=1, act=nn.SiLU):
        super().__init__(
            nn.Conv2d(inner, outer, kernel, stride, kernel // 2, groups=groups,
                      bias=False), nn.BatchNorm2d(outer), act())


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class SqueezeExcite(nn.Module):
    """MobileNetV3's squeeze and excitation: channels are scaled by a function of
    the means of all channels."""

    def __init__(self, channels):
        super().__init__()
        self.squeeze = nn.Conv2d(channels, channels // 4, 1)
        self.excite = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        y = functional.relu(self.squeeze(functional.adaptive_avg_pool2d(x, 1)))
        return x * functional.hardsigmoid(self.excite(y))


def mobilenet_v3():
    swish, relu = nn.Hardswish, nn.ReLU
    # in, expanded, out, kernel, stride, excited, activation
    rows = [(16, 16, 16, 3, 1, 0, relu), (16, 64, 24, 3, 2, 0, relu),
            (24, 72, 24, 3, 1, 0, relu), (24, 72, 40, 5, 2, 1, relu),
            (40, 120, 40, 5, 1, 1, relu), (40, 120, 40, 5, 1, 1, relu),
            (40, 240, 80, 3, 2, 0, swish), (80, 200, 80, 3, 1, 0, swish),
            (80, 184, 80, 3, 1, 0, swish), (80, 184, 80, 3, 1, 0, swish),
            (80, 480, 112, 3, 1, 1, swish), (112, 672, 112, 3, 1, 1, swish),
            (112, 672, 160, 5, 2, 1, swish), (160, 960, 160, 5, 1, 1, swish),
            (160, 960, 160, 5, 1, 1, swish)]

    def layer(inner, wide, outer, kernel, stride, excited, act):
        kind = Residual if stride == 1 and inner == outer else nn.Sequential
        return kind(Block(inner, wide, 1, act=act),
                    Block(wide, wide, kernel, stride, wide, act),
                    SqueezeExcite(wide) if excited else nn.Identity(),
                    nn.Conv2d(wide, outer, 1, bias=False),
                    nn.BatchNorm2d(outer))
    return nn.Sequential(
        Block(3, 16, 3, 2, act=swish), *[layer(*row) for row in rows],
        Block(160, 960, 1, act=swish), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(960, 1280), swish(), nn.Linear(1280, 1000))


class Split(nn.Module):
    """YOLO's C2f block: half of the channels goes through each bottleneck, and
    all stages are concatenated."""

    def __init__(self, inner, outer, count):
        super().__init__()
        half = outer // 2
        self.first = Block(inner, outer, 1)
        self.last = Block((2 + count) * half, outer, 1)
        self.stages = nn.ModuleList(
            Residual(Block(half, half), Block(half, half))
            for _ in range(count))

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for stage in self.stages:
            parts.append(stage(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Pyramid(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = Block(channels, channels // 2, 1)
        self.last = Block(2 * channels, channels, 1)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Detector(nn.Module):
    """Like the smallest YOLOv8."""

    def __init__(self):
        super().__init__()
        self.near = nn.Sequential(
            Block(3, 16, 3, 2), Block(16, 32, 3, 2), Split(32, 32, 1),
            Block(32, 64, 3, 2), Split(64, 64, 2))
        self.middle = nn.Sequential(Block(64, 128, 3, 2), Split(128, 128, 2))
        self.far = nn.Sequential(Block(128, 256, 3, 2), Split(256, 256, 1),
                                 Pyramid(256))
        self.twice = nn.Upsample(scale_factor=2, mode="nearest")
        self.up = nn.ModuleList([Split(384, 128, 1), Split(192, 64, 1)])
        self.shrink = nn.ModuleList([Block(64, 64, 3, 2),
                                     Block(128, 128, 3, 2)])
        self.down = nn.ModuleList([Split(192, 128, 1), Split(384, 256, 1)])
        self.heads = nn.ModuleList(
            nn.Sequential(Block(width, 64), Block(64, 64),
                          nn.Conv2d(64, 144, 1)) for width in (64, 128, 256))

    def forward(self, x):
        near = self.near(x)
        middle = self.middle(near)
        far = self.far(middle)
        middle = self.up[0](torch.cat([self.twice(far), middle], 1))
        near = self.up[1](torch.cat([self.twice(middle), near], 1))
        middle = self.down[0](torch.cat([self.shrink[0](near), middle], 1))
        far = self.down[1](torch.cat([self.shrink[1](middle), far], 1))
        found = torch.cat([head(x).flatten(2) for head, x in
                           zip(self.heads, (near, middle, far))], 2)
        boxes, kinds = found.split([64, 80], 1)
        shares = boxes.view(1, 4, 16, -1).softmax(2)
        boxes = (shares * torch.arange(16.0).view(1, 1, 16, 1)).sum(2)
        return torch.cat([boxes, kinds.sigmoid()], 1)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()

        def two(inner, outer):
            return nn.Sequential(Block(inner, outer, act=nn.ReLU),
                                 Block(outer, outer, act=nn.ReLU))
        widths = [32, 64, 128, 256]
        self.down = nn.ModuleList(map(two, [3] + widths, widths))
        self.middle = two(256, 512)
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, 2)
                                for width in reversed(widths))
        self.join = nn.ModuleList(two(2 * width, width)
                                  for width in reversed(widths))
        self.last = nn.Conv2d(32, 2, 1)

    def forward(self, x):
        kept = []
        for down in self.down:
            x = down(x)
            kept.append(x)
            x = functional.max_pool2d(x, 2)
        x = self.middle(x)
        for up, join, other in zip(self.up, self.join, reversed(kept)):
            x = join(torch.cat([up(x), other], 1))
        return self.last(x)


class Fire(nn.Module):
    def __init__(self, inner, squeezed, expanded):
        super().__init__()
        self.squeeze = nn.Conv2d(inner, squeezed, 1)
        self.near = nn.Conv2d(squeezed, expanded, 1)
        self.wide = nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x):
        x = self.squeeze(x).relu()
        return torch.cat([self.near(x).relu(), self.wide(x).relu()], 1)


def squeezenet():
    def pool():
        return nn.MaxPool2d(3, 2, ceil_mode=True)
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, 2), nn.ReLU(), pool(), Fire(64, 16, 64),
        Fire(128, 16, 64), pool(), Fire(128, 32, 128), Fire(256, 32, 128),
        pool(), Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256),
        Fire(512, 64, 256), nn.Conv2d(512, 1000, 1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Shuffle(nn.Module):
    """ShuffleNetV2's unit: half of the channels passes unchanged, then the
    channels of both halves are shuffled."""

    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.body = nn.Sequential(
            Block(half, half, 1, act=nn.ReLU),
            nn.Conv2d(half, half, 3, 1, 1, groups=half, bias=False),
            nn.BatchNorm2d(half), Block(half, half, 1, act=nn.ReLU))

    def forward(self, x):
        kept, changed = x.chunk(2, 1)
        y = torch.cat([kept, self.body(changed)], 1)
        count, channels, high, wide = y.shape
        return y.view(count, 2, channels // 2, high, wide).transpose(
            1, 2).reshape(count, channels, high, wide)


def shufflenet():
    layers = [Block(3, 24, 3, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)]
    width = 24
    for wider, count in ((116, 4), (232, 8), (464, 4)):
        layers += [Block(width, wider, 3, 2, act=nn.ReLU)]
        layers += [Shuffle(wider) for _ in range(count)]
        width = wider
    return nn.Sequential(*layers, Block(464, 1024, 1, act=nn.ReLU),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(1024, 1000))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layers = kind(80, 256, 2, batch_first=True)

    def forward(self, x):
        return self.layers(x)[0]


class Denoiser(nn.Module):
    """Masks of spectra, with the sizes of NSNet2. One frame has the state of
    the recurrent layers as inputs and results."""

    def __init__(self, kind):
        super().__init__()
        self.narrow = nn.Linear(161, 400)
        self.layers = kind(400, 400, 2, batch_first=True)
        self.mask = nn.Sequential(nn.Linear(400, 600), nn.ReLU(),
                                  nn.Linear(600, 600), nn.ReLU(),
                                  nn.Linear(600, 161), nn.Sigmoid())

    def forward(self, x, *state):
        if not state:
            return self.mask(self.layers(self.narrow(x))[0])
        is_lstm = len(state) == 2
        y, last = self.layers(self.narrow(x), state if is_lstm else state[0])
        return (self.mask(y), *(last if is_lstm else (last,)))


def frame(kind, states):
    """A maker of a denoiser of one frame, with so many states."""
    state = [floats(2, 1, 400).tanh() for _ in range(states)]
    return lambda: (seeded(lambda: Denoiser(kind)),
                    (floats(1, 1, 161), *state))


class Separator(nn.Module):
    """Dilated convolutions over time, like Conv-TasNet."""

    def __init__(self):
        super().__init__()

        def layer(reach):
            return Residual(
                nn.Conv1d(128, 256, 1), nn.PReLU(), nn.GroupNorm(1, 256),
                nn.Conv1d(256, 256, 3, padding=reach, dilation=reach,
                          groups=256),
                nn.PReLU(), nn.GroupNorm(1, 256), nn.Conv1d(256, 128, 1))
        self.layers = nn.Sequential(
            nn.Conv1d(80, 128, 3, padding=1),
            *[layer(2 ** (i % 4)) for i in range(8)], nn.Conv1d(128, 80, 1))

    def forward(self, x):
        return self.layers(x).sigmoid()


class Upscaler(nn.Module):
    def __init__(self):
        super().__init__()

        def two():
            return Residual(nn.Conv2d(32, 32, 3, padding=1), nn.PReLU(),
                            nn.Conv2d(32, 32, 3, padding=1))
        self.layers = nn.Sequential(
            nn.Conv2d(3, 32, 5, padding=2), *[two() for _ in range(4)],
            nn.Conv2d(32, 48, 3, padding=1), nn.PixelShuffle(4))

    def forward(self, x):
        return self.layers(x).clamp(0, 1) + functional.interpolate(
            x, scale_factor=4, mode="bilinear")


class Generator(nn.Sequential):
    """Noise to an image, like DCGAN."""

    def __init__(self):
        layers, width = [], 100
        for wider in (512, 256, 128, 64):
            first = width == 100
            layers += [nn.ConvTranspose2d(width, wider, 4, 1 if first else 2,
                                          0 if first else 1, bias=False),
                       nn.BatchNorm2d(wider), nn.ReLU()]
            width = wider
        super().__init__(*layers, nn.ConvTranspose2d(64, 3, 4, 2, 1),
                         nn.Tanh())


class Vocoder(nn.Module):
    """Frames of a spectrogram to sound, like HiFi-GAN."""

    def __init__(self):
        super().__init__()
        layers, width = [nn.Conv1d(80, 128, 7, padding=3)], 128
        for factor in (8, 8, 2, 2):
            narrow = width // 2
            layers += [nn.LeakyReLU(0.1),
                       nn.ConvTranspose1d(width, narrow, 2 * factor, factor,
                                          factor // 2)]
            layers += [Residual(nn.LeakyReLU(0.1),
                                nn.Conv1d(narrow, narrow, 3, dilation=reach,
                                          padding=reach))
                       for reach in (1, 3, 5)]
            width = narrow
        self.layers = nn.Sequential(*layers, nn.LeakyReLU(0.1),
                                    nn.Conv1d(width, 1, 7, padding=3))

    def forward(self, x):
        return self.layers(x).tanh()


def small():
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.LayerNorm(256),
                         nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8))


def transformer(layers, width, heads):
    return {"hidden_size": width, "num_hidden_layers": layers,
            "num_attention_heads": heads, "intermediate_size": 4 * width}


NO_POOLER = {"add_pooling_layer": False}
CLASSES = {"num_labels": 1000}

MODELS = {
    "vit-tiny": image("ViTModel", "ViTConfig", more=NO_POOLER,
                      **transformer(12, 192, 3)),
    "vit-base-6-layers": image("ViTModel", "ViTConfig", more=NO_POOLER,
                               **transformer(6, 768, 12)),
    "swin-tiny": image("SwinModel", "SwinConfig", more=NO_POOLER),
    "convnext-tiny": image("ConvNextForImageClassification", "ConvNextConfig",
                           **CLASSES),
    "mobilevit": image("MobileViTForImageClassification", "MobileViTConfig",
                       256, hidden_sizes=[96, 120, 144],
                       neck_hidden_sizes=[16, 32, 48, 64, 80, 96, 384],
                       **CLASSES),
    "segformer-b0-512": image("SegformerForSemanticSegmentation",
                              "SegformerConfig", 512, num_labels=150),
    "detr-256": detr,
    "resnet-50": image("ResNetForImageClassification", "ResNetConfig",
                       **CLASSES),
    "mobilenet-v1": image("MobileNetV1ForImageClassification",
                          "MobileNetV1Config", tf_padding=False, **CLASSES),
    "mobilenet-v3": own(mobilenet_v3, 1, 3, 224, 224),
    "efficientnet-b0": efficientnet,
    "squeezenet": own(squeezenet, 1, 3, 224, 224),
    "shufflenet": own(shufflenet, 1, 3, 224, 224),
    "detector-320": own(Detector, 1, 3, 320, 320),
    "unet-128": own(UNet, 1, 3, 128, 128),
    "upscaler-96": own(Upscaler, 1, 3, 96, 96),
    "generator-64": own(Generator, 1, 100, 1, 1),
    "gpt2-64": text("GPT2LMHeadModel", "GPT2Config", 64, use_cache=False),
    "distilbert-128": text("DistilBertModel", "DistilBertConfig", 128),
    "minilm-64": text("BertModel", "BertConfig", 64,
                      **transformer(6, 384, 12)),
    "t5-small-encoder-128": text("T5EncoderModel", "T5Config", 128),
    "wav2vec2-second": sound("Wav2Vec2ForCTC", "Wav2Vec2Config"),
    "conformer-second": sound("Wav2Vec2ConformerModel",
                              "Wav2Vec2ConformerConfig",
                              **transformer(4, 256, 4)),
    "separator-400": own(Separator, 1, 80, 400),
    "vocoder-50": own(Vocoder, 1, 80, 50),
    "lstm-100": own(lambda: Recurrent(nn.LSTM), 1, 100, 80),
    "gru-100": own(lambda: Recurrent(nn.GRU), 1, 100, 80),
    "denoiser-gru-100": own(lambda: Denoiser(nn.GRU), 1, 100, 161),
    "denoiser-gru-frame": frame(nn.GRU, 1),
    "denoiser-lstm-100": own(lambda: Denoiser(nn.LSTM), 1, 100, 161),
    "denoiser-lstm-frame": frame(nn.LSTM, 2),
    "small": own(small, 1, 64),
}
