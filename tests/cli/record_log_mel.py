#!/usr/bin/env python3
"""Writes tests/data/log_mel: what WhisperFeatureExtractor of transformers computes.

    python3 tests/cli/record_log_mel.py

Each file has 32-bit little-endian values: the number of bands and of frames, the samples
of the sound, and the spectrogram [bands, frames].
"""

import pathlib

import numpy as np
from transformers import WhisperFeatureExtractor

FRAMES = 24


def sound(kind):
    """160 samples for each frame, with silence, loud and faint parts."""
    time = np.arange(FRAMES * 160) / 16000
    noise = np.random.default_rng(3).normal(0, 1, len(time))
    if kind == "tones":
        tones = sum(np.sin(2 * np.pi * hertz * time) for hertz in (110, 450, 1900, 7300))
        return (0.2 * tones * (time > 0.05) + 1e-4 * noise).astype(np.float32)
    return (0.3 * noise * np.exp(-20 * time)).astype(np.float32)


def main():
    folder = pathlib.Path(__file__).parent.parent / "data" / "log_mel"
    for bands, kind in ((80, "tones"), (128, "noise")):
        extractor = WhisperFeatureExtractor(feature_size=bands)
        samples = sound(kind)
        found = extractor(samples, sampling_rate=16000, padding=False).input_features[0]
        data = np.array([bands, found.shape[1]], "<u4").tobytes()
        data += samples.astype("<f4").tobytes() + np.asarray(found).astype("<f4").tobytes()
        (folder / f"whisper_{bands}.bin").write_bytes(data)


if __name__ == "__main__":
    main()
