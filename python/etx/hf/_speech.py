"""The log-mel spectrogram of Whisper inside the graph.

As `transformers.WhisperFeatureExtractor` computes it: frames of `n_fft` samples, each
`hop` apart, times a Hann window; their power spectrum; the energy in each mel band; its
decimal logarithm, not more than 8 below the largest one of the row, scaled to about
-1 to 1. The Fourier transform is a convolution with sines and cosines.
"""

from __future__ import annotations

import math
from typing import Any

import torch


class LogMel(torch.nn.Module):
    """float32 [N, samples] -> [N, bands, samples / hop]."""

    def __init__(self, extractor: Any) -> None:
        """`extractor`: the feature extractor of the checkpoint."""
        super().__init__()
        size, self.hop = int(extractor.n_fft), int(extractor.hop_length)
        self.border = size // 2
        window = torch.hann_window(size, dtype=torch.float64)
        angle = 2 * math.pi / size * torch.outer(
            torch.arange(size // 2 + 1, dtype=torch.float64), torch.arange(size, dtype=torch.float64)
        )
        waves = torch.cat([torch.cos(angle), torch.sin(angle)]) * window
        self.register_buffer("waves", waves[:, None].to(torch.float32), persistent=False)
        bands = torch.as_tensor(extractor.mel_filters, dtype=torch.float32)  # [bins, bands]
        self.register_buffer("bands", bands.T.contiguous(), persistent=False)

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        padded = torch.nn.functional.pad(samples[:, None], (self.border, self.border), mode="reflect")
        spectrum = torch.nn.functional.conv1d(padded, self.waves, stride=self.hop)[:, :, :-1]
        real, imaginary = spectrum.chunk(2, 1)
        energy = torch.matmul(self.bands, real * real + imaginary * imaginary)
        level = torch.log10(energy.clamp(min=1e-10))
        level = torch.maximum(level, level.amax((1, 2), keepdim=True) - 8.0)
        return (level + 4.0) / 4.0
