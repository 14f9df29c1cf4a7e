"""Which task a model is for, and the class that reads its checkpoint."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import transformers

from .. import _errors

# Task, the auto class that reads checkpoints for it, and how its model classes end.
_ROWS = (
    ("text-generation", "AutoModelForCausalLM", ("ForCausalLM", "LMHeadModel")),
    ("text2text-generation", "AutoModelForSeq2SeqLM", ("ForConditionalGeneration", "MTModel")),
    ("text-classification", "AutoModelForSequenceClassification", ("ForSequenceClassification",)),
    ("token-classification", "AutoModelForTokenClassification", ("ForTokenClassification",)),
    ("question-answering", "AutoModelForQuestionAnswering", ("ForQuestionAnswering",)),
    ("fill-mask", "AutoModelForMaskedLM", ("ForMaskedLM",)),
    ("image-classification", "AutoModelForImageClassification", ("ForImageClassification",)),
    ("image-segmentation", "AutoModelForSemanticSegmentation", ("ForSemanticSegmentation",)),
    ("audio-classification", "AutoModelForAudioClassification", ("ForAudioClassification",)),
    ("zero-shot-image-classification", "AutoModel", ()),
    ("feature-extraction", "AutoModel", ("Model",)),
)
_SPEECH = "automatic-speech-recognition"
TASKS = (*(row[0] for row in _ROWS), _SPEECH)
CLASSIFIES = (
    "text-classification", "token-classification", "image-classification", "audio-classification",
)


def checked(task: str) -> str:
    """Raises ArgumentError if there is no such task."""
    if task != "auto" and task not in TASKS:
        raise _errors.ArgumentError(
            f"there is no task '{task}'", hint="tasks are auto, " + ", ".join(sorted(TASKS))
        )
    return task


def task_of(model: torch.nn.Module) -> str:
    """The task of a model, by its class. Raises UnsupportedError if none fits."""
    name = type(model).__name__
    if hasattr(model, "get_text_features") and hasattr(model, "get_image_features"):
        return "zero-shot-image-classification"
    is_pair = getattr(model.config, "is_encoder_decoder", False)
    is_text = getattr(model, "main_input_name", "input_ids") == "input_ids"
    if name.endswith("ForCTC") or (is_pair and not is_text):
        return _SPEECH
    for task, _, ends in _ROWS:
        if name.endswith(ends) and ends:
            return task
    raise _errors.UnsupportedError(
        f"the task of a '{name}' is not known",
        hint="name it: task='feature-extraction'; tasks are " + ", ".join(sorted(TASKS)),
    )


def _reader(task: str, architecture: str) -> Any:
    """The class that reads a checkpoint."""
    if task == _SPEECH:
        name = "AutoModelForCTC" if architecture.endswith("ForCTC") else "AutoModelForSpeechSeq2Seq"
        return getattr(transformers, name)
    if task != "auto":
        return getattr(transformers, next(row[1] for row in _ROWS if row[0] == task))
    found = getattr(transformers, architecture, None)
    if found is None:
        raise _errors.UnsupportedError(
            f"the checkpoint is for '{architecture or 'a class that config.json does not name'}', "
            f"which transformers {transformers.__version__} does not have",
            hint="name the task, such as task='text-generation', or load the model yourself "
            "and give it to etx.hf.export",
        )
    return found


def read(path: str | os.PathLike[str], task: str, dtype: torch.dtype | None) -> torch.nn.Module:
    """The model of a checkpoint: of a directory, or of a name that transformers finds.

    Raises:
      NotFoundError: there is no checkpoint.
      UnsupportedError: transformers has no class for it.
    """
    name = os.fspath(path)
    is_path = isinstance(path, os.PathLike) or name.startswith((".", "/", "~"))
    if is_path and not (Path(name) / "config.json").is_file():
        raise _errors.NotFoundError(
            f"'{name}' has no config.json", hint="give the directory of a checkpoint of transformers"
        )
    try:
        config = transformers.AutoConfig.from_pretrained(name)
        reader = _reader(task, (getattr(config, "architectures", None) or [""])[0])
        options = {} if dtype is None else {"dtype": dtype}
        return reader.from_pretrained(name, **options)
    except (OSError, ValueError) as cause:
        raise _errors.NotFoundError(
            f"transformers cannot read '{name}': {cause}",
            hint="give a directory with config.json and weights, or a name that "
            "transformers.AutoModel.from_pretrained takes",
        ) from cause
