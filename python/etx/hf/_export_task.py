"""`etx.hf.export`: from a model of `transformers` to the methods of a program."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from .. import _errors, _export
from .._report import Report
from . import _encoders, _metadata, _tasks
from ._attention_masks import plain_masks
from ._continuous_batch import ContinuousBatch
from ._decoder_only import DecoderOnly, Sizes
from ._encoder_decoder import EncoderDecoder, SpeechFromFeatures, SpeechFromSamples
from ._mixture import all_experts
from ._older_attention import fixed_caches
from ._speech import LogMel

_DTYPES = {
    "float32": torch.float32, "f32": torch.float32, "bfloat16": torch.bfloat16,
    "bf16": torch.bfloat16, "float16": torch.float16, "f16": torch.float16,
}
DEFAULT_LENGTH, DEFAULT_PROMPT = 2048, 128


class ExportedModel(_export.Exported):
    """The methods of a model, and how its weights are to be stored.

    Attributes:
      quantize: rules for `plan`, unless it is given others.
      kv: how `plan` stores caches, unless it is told otherwise.
    """

    quantize: str | Sequence[str] | None = None
    kv: str | None = None

    def plan(self, output: str | Path, *, keep: str | Path | None = None, **options: Any) -> Report:
        """Plans the methods into a program file, as `etx.Exported.plan`."""
        if self.quantize is not None:
            options.setdefault("quantize", self.quantize)
        if self.kv is not None:
            options.setdefault("kv", self.kv)
        return super().plan(output, keep=keep, **options)


def _dtype(given: Any, name: str = "dtype") -> torch.dtype | None:
    if given is None or given in _DTYPES.values():
        return given
    if given not in _DTYPES:
        raise _errors.ArgumentError(
            f"{name} is {given!r}", hint="expected one of " + ", ".join(sorted(_DTYPES))
        )
    return _DTYPES[given]


def _kv(cache_dtype: Any, model: torch.nn.Module) -> str | None:
    """How `plan` stores caches, if that is not a type of the model's own."""
    if cache_dtype not in ("int8", torch.int8):
        return None
    if model.dtype != torch.float32:
        raise _errors.ArgumentError(
            f"'cache_dtype' is int8 beside computation in {model.dtype}", hint="it needs dtype='float32'"
        )
    return "int8"


def _count(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _errors.ArgumentError(f"'{name}' is {value!r}, expected a whole number from {least}")
    return value


def _positions(config: Any) -> int | None:
    """Positions that the model has embeddings for; None: not limited, or not known."""
    text = config.get_text_config(decoder=True)
    for name in ("max_position_embeddings", "n_positions", "max_target_positions", "max_seq_len"):
        value = getattr(text, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return None


def _length(model: torch.nn.Module, wanted: int | None, default: int, reserved: int = 0) -> int:
    """Positions of a program: `wanted`, or at most `default`. `reserved` of the model's
    positions cannot be used."""
    has = _positions(model.config)
    has = None if has is None else has - reserved
    if wanted is None:
        return default if has is None else min(default, has)
    _count("max_length", wanted)
    if has is not None and wanted > has:
        raise _errors.RangeError(
            f"'max_length' is {wanted}, but '{type(model).__name__}' has {has} positions",
            hint=f"give max_length={has} or less",
        )
    return wanted


@contextmanager
def _as_exported(model: torch.nn.Module) -> Iterator[None]:
    """The model in the form in which it is traced, and afterwards as it was."""
    training = model.training
    attention = model.config._attn_implementation
    model.eval()
    if attention not in ("sdpa", "eager"):
        model.set_attn_implementation("eager")
    try:
        with plain_masks(), all_experts(model), fixed_caches(model):
            yield
    finally:
        model.train(training)
        if attention not in ("sdpa", "eager"):
            model.set_attn_implementation(attention)


def _feature_extractor(model: torch.nn.Module, source: Any) -> Any:
    """Of the checkpoint, or the standard one with the model's number of mel bands."""
    from transformers import WhisperFeatureExtractor

    if isinstance(source, (str, os.PathLike)):
        try:
            return WhisperFeatureExtractor.from_pretrained(source)
        except OSError:
            pass
    return WhisperFeatureExtractor(feature_size=model.config.num_mel_bins)


def _speech(model: torch.nn.Module, sizes: Sizes, samples: int | bool, source: Any):
    """The module of a speech recognizer, and its constants."""
    config = model.config
    if model.main_input_name != "input_features":  # the encoder itself takes samples
        count = 16000 * 10 if samples is True else int(samples)
        if count == 0:
            raise _errors.ArgumentError(
                f"'{type(model).__name__}' takes samples, of a number that is fixed",
                hint="give samples=160000 for ten seconds",
            )
        example = torch.zeros(sizes.batch, count)
        return SpeechFromSamples(model, sizes, example), {"get_num_samples": count}
    frames = config.max_source_positions * 2
    if not samples:
        example = torch.zeros(sizes.batch, config.num_mel_bins, frames)
        return SpeechFromFeatures(model, sizes, example), {}
    extractor = _feature_extractor(model, source)
    count = frames * extractor.hop_length
    module = SpeechFromSamples(model, sizes, torch.zeros(sizes.batch, count), LogMel(extractor))
    rate = int(extractor.sampling_rate)
    return module, {"get_num_samples": count, "sampling_rate": rate}


def _generator(model: torch.nn.Module, task: str, sizes: Sizes, samples: Any, source: Any):
    """The module of a model that generates, and its constants."""
    if task == "text-generation":
        module: Any = (ContinuousBatch if sizes.is_continuous else DecoderOnly)(model, sizes)
        layers = len(module.__dict__["cache"].layers)
        return module, _metadata.about_generation(model, sizes, layers)
    more: dict[str, Any] = {}
    if task == "text2text-generation":
        source_ids = torch.ones(sizes.batch, sizes.prompt, dtype=torch.int64)
        module = EncoderDecoder(model, sizes, source_ids)
    else:
        module, more = _speech(model, sizes, samples, source)
    longest = sizes.prompt if task == "text2text-generation" else module.length
    constants = _metadata.about_generation(model, sizes, module.layers)
    return module, constants | _metadata.about_decoder(model, longest) | more


def _check(module: Any) -> None:
    """Refuses a model that computes something else over a cache than without one."""
    name = type(module.model).__name__
    try:
        found, wanted = module.compared()
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as cause:
        raise _errors.UnsupportedError(
            f"'{name}' does not run over a cache of fixed size: {cause}",
            hint="another version of transformers may; etx.export takes a module of yours",
        ) from cause
    for buffer in module.buffers(recurse=False):
        buffer.zero_()
    spread = float(wanted.std()) + 1e-12
    difference = float((found - wanted).abs().max()) / spread
    is_exact = module.model.dtype == torch.float32 and module.sizes.cache_dtype in (None, torch.float32)
    limit = 0.02 if is_exact else 0.5
    if difference > limit or difference != difference:
        raise _errors.UnsupportedError(
            f"'{name}' computes other logits over a cache of fixed size than "
            f"without a cache: they differ by {difference:.2g} of their spread",
            hint="its attention assumes that the cache ends with the newest token, or its experts "
            "are chosen in a way that etx.hf does not know; etx.export takes a module of yours",
        )


def _traced(module: Any, constants: dict[str, Any]) -> _export.Exported:
    """Some models compare the first position with sizes: they get it as a number, if
    torch.export cannot take the tensor. Graphs with the tensor are simpler."""
    try:
        return _export.export(module, module.methods(), constants=constants)
    except _errors.ExportError as refusal:
        if not hasattr(module, "rows"):
            raise
        module.rows.as_number = True
        try:
            return _export.export(module, module.methods(), constants=constants)
        except _errors.ExportError:
            raise refusal from None


def _one_call(
    model: torch.nn.Module, task: str, batch: int, length: int, pooling: str, image_size: Any, samples: Any
) -> Any:
    """The module of a model that answers in one call."""
    main = model.main_input_name
    if task == "zero-shot-image-classification":
        text = _encoders.text_inputs(model, batch, length)
        names = ("input_ids", "attention_mask")
        images = _encoders.image_inputs(model.config, batch, image_size)
        return _encoders.TextAndImages(model, {name: text[name] for name in names}, images)
    if main == "input_ids":
        inputs = _encoders.text_inputs(model, batch, length)
    elif main == "pixel_values":
        inputs = _encoders.image_inputs(model.config, batch, image_size)
    elif main == "input_values":
        count = 16000 * 10 if samples in (True, False) else int(samples)
        inputs = {"input_values": torch.zeros(batch, count)}
    else:
        raise _errors.UnsupportedError(
            f"'{type(model).__name__}' takes '{main}', for which etx.hf has no example",
            hint="etx.export takes any module with examples of its arguments",
        )
    kind = "classify" if task in _tasks.CLASSIFIES else "embed" if task == "feature-extraction" else "forward"
    return _encoders.Encoder(model, kind, inputs, pooling)


def _is_generated(model: torch.nn.Module, task: str) -> bool:
    is_pair = getattr(model.config, "is_encoder_decoder", False)
    return task == "text-generation" or (
        is_pair and task in ("text2text-generation", "automatic-speech-recognition")
    )


def _model(source: Any, task: str, dtype: torch.dtype | None) -> torch.nn.Module:
    if isinstance(source, (str, os.PathLike)):
        return _tasks.read(source, task, dtype)
    if not isinstance(source, PreTrainedModel):
        raise _errors.ArgumentError(
            f"the model is a '{type(source).__name__}', expected a model of transformers "
            "or the path of a checkpoint",
            hint="etx.export takes any torch.nn.Module",
        )
    if dtype is None or source.dtype == dtype:
        return source
    return copy.deepcopy(source).to(dtype)


def _check_batching(batching: str, task: str, beams: int, verify: int) -> None:
    if batching not in ("together", "continuous"):
        raise _errors.ArgumentError(f"'batching' is {batching!r}, expected together or continuous")
    if batching == "continuous" and (task != "text-generation" or beams > 1 or verify):
        raise _errors.ArgumentError(
            f"batching='continuous' is for text-generation without beams and verify; task is "
            f"'{task}', beams {beams}, verify {verify}"
        )


def export(
    model: Any,
    task: str = "auto",
    *,
    max_length: int | None = None,
    max_prompt: int | None = None,
    batch: int = 1,
    batching: str = "together",
    beams: int = 1,
    verify: int = 0,
    dtype: Any = None,
    cache_dtype: Any = None,
    quantize: str | Sequence[str] | None = None,
    pooling: str = "mean",
    samples: int | bool = False,
    image_size: int | tuple[int, int] | None = None,
    tokenizer: Any = None,
    constants: dict[str, Any] | None = None,
) -> ExportedModel:
    """Exports a model of `transformers` as the methods of its task.

        etx.hf.export("path/of/checkpoint", max_length=512).plan("model.pte")

    Text generation gets `prefill` and `decode`, encoder-decoder models `encode` and
    `decode`, encoders `embed`, `classify` or `forward`; python/etx/hf/README.md
    describes their inputs, outputs and constants. Keys and values of attention are
    state of the program.

    Args:
      model: a model of transformers, the directory of a checkpoint, or a name that
        `from_pretrained` takes. A model is not changed.
      task: as transformers' pipelines name it; "auto" goes by the model's class.
      max_length: most tokens of a text, prompt included: positions of the caches, or
        the longest input of an encoder. Default: the model's, at most 2048.
      max_prompt: most tokens of one call of `prefill` (longer prompts take several),
        or of the source of an encoder-decoder model. Default: 128, or `max_length`.
      batch: texts, sources or images of one call.
      batching: "together": the texts of a batch start together, and share a position.
        "continuous", of text generation: each row of a batch is at a position of its
        own, so that a text may start while others go on. etx.serving runs such programs.
      beams: rows of the decoder for each text, for beam search.
      verify: most tokens of a call of the method `verify`, one more than a draft has
        (`Session.generate(assistant_model=...)`). Default: 0, no such method.
      dtype: "float32", "bfloat16" or "float16": of weights, caches and computation.
        Logits are float32. Default: that of the model.
      cache_dtype: the same, of keys and values in the caches: half the memory, and
        attention reads half as much. "int8", beside float32: about a quarter.
      quantize: how `plan` stores weights, such as "int8".
      pooling: "mean", "cls" or "none", of `embed`.
      samples: True: a speech model takes samples of sound; or their number, for models
        whose inputs have no fixed length.
      image_size: pixels of a side, or (height, width), instead of the checkpoint's.
      tokenizer: a fast tokenizer to store instead of the checkpoint's.
      constants: more constant methods, or other values for those of etx.

    Returns:
      The methods, to be planned.

    Raises:
      ArgumentError: an argument is wrong.
      NotFoundError: there is no such checkpoint.
      UnsupportedError: the model is of a kind that cannot be exported.
      ExportError: PyTorch cannot export a method; it names the source line.
    """
    found = _model(model, _tasks.checked(task), _dtype(dtype))
    task = _tasks.task_of(found) if task == "auto" else task
    if pooling not in _encoders.POOLINGS:
        raise _errors.ArgumentError(f"'pooling' is {pooling!r}, expected one of {', '.join(_encoders.POOLINGS)}")
    _count("batch", batch), _count("beams", beams), _count("verify", verify, 0)
    _check_batching(batching, task, beams, verify)
    about = _metadata.about_model(found, task)
    with torch.no_grad(), _as_exported(found):
        if _is_generated(found, task):
            length = _length(found, max_length, DEFAULT_LENGTH)
            default = length if task == "text2text-generation" else min(length, DEFAULT_PROMPT)
            prompt = default if max_prompt is None else _count("max_prompt", max_prompt)
            sizes = Sizes(
                batch, beams, length, prompt, verify, batching == "continuous",
                None if _kv(cache_dtype, found) else _dtype(cache_dtype, "cache_dtype"),
            )
            module, more = _generator(found, task, sizes, samples, model)
            _check(module)
            about |= more
        else:
            if beams > 1 or verify or cache_dtype is not None:
                raise _errors.ArgumentError(
                    f"'beams', 'verify' and 'cache_dtype' are for models that generate, not for {task}"
                )
            reserved = _padding_offset(found)
            length = _length(found, max_length, DEFAULT_LENGTH, reserved)
            module = _one_call(found, task, batch, length, pooling, image_size, samples)
            about["get_max_seq_len"] = length
        about |= _metadata.about_tokenizer(model, tokenizer)
        exported = _traced(module, about | (constants or {}))
    result = ExportedModel(
        exported.methods, exported.shared, exported.constants, exported.initial, exported.caches,
        exported.dim_names,
    )
    result.quantize, result.kv = quantize, _kv(cache_dtype, found)
    return result


def _padding_offset(model: torch.nn.Module) -> int:
    """Positions that RoBERTa and its relatives do not use: theirs start after the
    number of the padding token."""
    embedding = next(
        (part for name, part in model.named_modules() if name.endswith("position_embeddings")), None
    )
    index = getattr(embedding, "padding_idx", None)
    return 0 if index is None else index + 1
