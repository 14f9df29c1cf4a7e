"""Constant methods: what a program says of itself, and the tokenizer it carries."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from ._decoder_only import Sizes

# Names of SentencePiece models in checkpoints.
_PIECES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model", "source.spm")


def _whole_numbers(value: Any) -> list[int]:
    if value is None:
        return []
    items: Iterable[Any] = value if isinstance(value, (list, tuple)) else [value]
    return [int(item) for item in items]


def _stored(values: list[int]) -> int | list[int]:
    return values[0] if len(values) == 1 else values


def _setting(model: torch.nn.Module, name: str) -> Any:
    """From generation_config.json, or else from config.json."""
    for holder in (getattr(model, "generation_config", None), model.config):
        value = getattr(holder, name, None)
        if value is not None:
            return value
    return None


def about_model(model: torch.nn.Module, task: str) -> dict[str, Any]:
    """What all programs have."""
    found: dict[str, Any] = {"task": task, "model_type": str(model.config.model_type)}
    vocabulary = getattr(model.config.get_text_config(), "vocab_size", None)
    if isinstance(vocabulary, int):
        found["get_vocab_size"] = vocabulary
    pad = _whole_numbers(_setting(model, "pad_token_id"))
    if pad:
        found["get_pad_id"] = pad[0]
    labels = getattr(model.config, "id2label", None)
    if task.endswith("classification") and labels:
        found["id2label"] = json.dumps({int(key): str(value) for key, value in labels.items()})
    return found


def about_generation(model: torch.nn.Module, sizes: Sizes, layers: int) -> dict[str, Any]:
    """What programs have whose methods generate tokens."""
    found: dict[str, Any] = {
        "get_max_seq_len": sizes.prompt,
        "get_max_context_len": sizes.length,
        "get_batch_size": sizes.batch,
        "get_num_beams": sizes.beams,
        "get_n_layers": layers,
        "use_kv_cache": True,
        "enable_dynamic_shape": sizes.prompt > 1,
        "use_sdpa_with_kv_cache": False,
    }
    if sizes.is_continuous:
        found["batching"] = "continuous"
    begin = _whole_numbers(_setting(model, "bos_token_id"))
    if begin:
        found["get_bos_id"] = begin[0]
    ends = _whole_numbers(_setting(model, "eos_token_id"))
    if ends:
        found["get_eos_ids"] = _stored(ends)
    for name in ("suppress_tokens", "begin_suppress_tokens"):
        tokens = _whole_numbers(_setting(model, name))
        if tokens:
            found[name] = torch.tensor(tokens, dtype=torch.int64)
    return found


def about_decoder(model: torch.nn.Module, source: int) -> dict[str, Any]:
    """What encoder-decoder programs have besides."""
    found: dict[str, Any] = {"get_max_source_len": source}
    start = _whole_numbers(_setting(model, "decoder_start_token_id"))
    start = start or _whole_numbers(_setting(model, "bos_token_id"))
    if start:
        found["get_decoder_start_token_id"] = start[0]
    pairs = _setting(model, "forced_decoder_ids") or []
    forced = [pair[1] for pair in sorted(pairs)] if all(pair[1] is not None for pair in pairs) else []
    forced = forced or _whole_numbers(_setting(model, "forced_bos_token_id"))
    if forced:
        found["get_forced_decoder_ids"] = torch.tensor(forced, dtype=torch.int64)
    return found


def _blob(data: bytes, kind: str) -> dict[str, Any]:
    return {
        "tokenizer_blob": torch.frombuffer(bytearray(data), dtype=torch.uint8),
        "tokenizer_format": kind,
    }


def _of_directory(folder: Path) -> dict[str, Any]:
    ready = folder / "tokenizer.json"
    if ready.is_file():
        return _blob(ready.read_bytes(), "tokenizer.json")
    try:
        from transformers import AutoTokenizer

        from ..tokenizer_converters import converted

        tokenizer = AutoTokenizer.from_pretrained(folder)
        return _blob(converted(tokenizer).to_str().encode(), "tokenizer.json")
    except Exception:  # each tokenizer raises its own errors; the file below is used then
        pass
    for name in _PIECES:
        if (folder / name).is_file():
            return _blob((folder / name).read_bytes(), "sentencepiece")
    return {}


def _template(folder: Path) -> str | None:
    ready = folder / "chat_template.jinja"
    if ready.is_file():
        return ready.read_text(encoding="utf-8")
    settings = folder / "tokenizer_config.json"
    found = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    template = found.get("chat_template")
    if isinstance(template, list):  # several, each with a name
        named = {item.get("name"): item.get("template") for item in template}
        template = named.get("default")
    return template if isinstance(template, str) else None


def about_tokenizer(source: Any, tokenizer: Any = None) -> dict[str, Any]:
    """The tokenizer and the chat template.

    Args:
      source: the model, or the path of its checkpoint.
      tokenizer: a tokenizer of transformers, which wins over the checkpoint's; or None.
    """
    if tokenizer is not None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        found = {} if backend is None else _blob(backend.to_str().encode(), "tokenizer.json")
        template = getattr(tokenizer, "chat_template", None)
    elif isinstance(source, (str, os.PathLike)) and Path(source).is_dir():
        found, template = _of_directory(Path(source)), _template(Path(source))
    else:
        return {}
    return found | ({"chat_template": template} if isinstance(template, str) else {})
