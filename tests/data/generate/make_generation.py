"""Records what transformers makes of logits, and a program that generates.

    PYTHONPATH=build/python:tests/python ETX_COMMAND=build/etx \
        python tests/data/generate/make_generation.py

writes beside itself
    sampling_cases.def   options, logits, and the probabilities that transformers leaves
    search_cases.def     prompts and the texts that transformers' searches find
    small_language.pte   the program of tests/python/generation_models.py, for 8 rows,
                         with `verify` of 4 tokens
The unit tests of generate/ include the lists and load the program.
"""

from __future__ import annotations

from pathlib import Path

import generation_models as models
import numpy as np
import test_generate as draws
import torch

FOLDER = Path(__file__).parent


def ids_of(tokens) -> str:
    tokens = [tokens] if np.ndim(tokens) == 0 else list(tokens)
    if not tokens:
        return "{NULL, 0}"
    return f"{{(const int64_t[]){{{', '.join(str(int(t)) for t in tokens)}}}, {len(tokens)}}}"


def config_of(options: dict) -> str:
    """Fields of an etx_generation_config."""
    fields = []
    for name, value in options.items():
        if name.endswith("token_id") and name not in ("eos_token_id", "forced_eos_token_id"):
            fields.append(f".{name} = {value}")
        elif name.endswith(("_tokens", "token_id")) and name not in ("min_new_tokens", "max_new_tokens"):
            fields.append(f".{name} = {ids_of(value)}")
        elif name == "bad_words_ids":
            words = ", ".join(ids_of(word) for word in value)
            fields.append(f".{name} = (const etx_token_list[]){{{words}}}")
            fields.append(f".bad_words_count = {len(value)}")
        elif name == "sequence_bias":
            rows = ", ".join(f"{{{ids_of(k)}, {np.float32(v)!s}f}}" for k, v in value.items())
            fields.append(f".{name} = (const etx_sequence_bias[]){{{rows}}}")
            fields.append(f".{name}_count = {len(value)}")
        elif name == "early_stopping":
            kind = {False: "FALSE", True: "TRUE", "never": "NEVER"}[value]
            fields.append(f".{name} = ETX_EARLY_STOPPING_{kind}")
        elif isinstance(value, float):
            single = name.endswith("penalty")
            fields.append(f".{name} = {float(value)!r}" + ("f" if single else ""))
        else:
            fields.append(f".{name} = {int(value)}")
    for name, value in (
        ("temperature", "1.0"), ("top_p", "1.0"), ("typical_p", "1.0"),
        ("repetition_penalty", "1.0f"), ("length_penalty", "1.0f"), ("num_beams", "1"),
        ("num_return_sequences", "1"), ("forced_bos_token_id", "-1"), ("pad_token_id", "-1"),
        ("max_new_tokens", "20"),
    ):  # fmt: skip
        if name not in options:
            fields.append(f".{name} = {value}")
    return "{" + ", ".join(fields) + "}"


def floats(row) -> str:
    return "{" + ", ".join(f"{float(x):.9g}" for x in row) + "}"


def sampling_cases(count: int) -> list[str]:
    rows, seed = [], 1000
    while len(rows) < count:
        rng = np.random.default_rng(seed)
        seed += 1
        options = draws.random_options(rng)
        length = int(rng.integers(1, 24))
        prompt = int(rng.integers(1, length + 1))
        longest = prompt + int(rng.integers(length - prompt + 1, length - prompt + 4))
        ids = rng.integers(0, 6, length)
        logits = (rng.normal(size=draws.VOCAB) * 3).astype(np.float32)

        def scores(given):
            list_ = draws.processors({**given, "do_sample": True}, prompt, longest)
            return lambda row: list_(torch.tensor(ids)[None], row.clone())

        row = torch.tensor(logits)[None]
        if draws.is_near_a_border(row, options, scores):
            continue
        kept = torch.softmax(scores(options)(row), -1)[0].numpy()
        if np.isnan(kept).any():
            continue
        rows.append(
            f"CASE(({config_of(options)}),\n     ({ids_of(ids)}), {prompt}, {longest},\n"
            f"     ({floats(logits)}),\n     ({floats(kept)}))"
        )
    return rows


def search_cases(count: int) -> list[str]:
    rows = []
    for seed in range(count):
        rng = np.random.default_rng(500 + seed)
        ids, _ = draws.prompts(rng, 1)
        options = draws.random_search(rng, np.ones(1))
        if seed % 4 != 0:
            options["num_beams"] = int(rng.integers(2, 5))
            options["length_penalty"] = float(rng.choice([0.0, 0.5, 1.0, 2.0, -1.0]))
            options["early_stopping"] = (False, True, "never")[seed % 3]
        found = draws.expected(1, ids, np.ones_like(ids), **options)
        scores = found.sequences_scores[0].item() if seed % 4 else 0.0
        rows.append(
            f"CASE(({config_of({**options, 'eos_token_id': models.END})}),\n     ({ids_of(ids[0])}),"
            f" ({ids_of(found.sequences[0].tolist())}), {scores:.7g})"
        )
    return rows


def main() -> None:
    note = "// Written by make_generation.py.\n\n"
    (FOLDER / "sampling_cases.def").write_text(note + "\n\n".join(sampling_cases(60)) + "\n")
    (FOLDER / "search_cases.def").write_text(note + "\n\n".join(search_cases(24)) + "\n")
    models.plan(FOLDER / "small_language.pte", 1, rows=8, beams=4, verified=4)


if __name__ == "__main__":
    main()
