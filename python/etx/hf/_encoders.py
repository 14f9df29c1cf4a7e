"""Models that compute everything in one call: encoders of text, images and speech."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import Dim
from transformers.utils import ModelOutput

from .. import _errors
from .._method_args import MethodArg
from ._decoder_only import accepted

POOLINGS = ("mean", "cls", "none")


def pooled(hidden: torch.Tensor, mask: torch.Tensor | None, pooling: str) -> torch.Tensor:
    """[N, S, width] or [N, width, height, width of the image] -> [N, width]. The mean is
    that over the tokens that `mask` [N, S] marks."""
    if hidden.dim() == 4:
        return hidden.flatten(2).mean(2) if pooling != "none" else hidden
    if hidden.dim() != 3 or pooling == "none":
        return hidden
    if pooling == "cls":
        return hidden[:, 0]
    if mask is None:
        return hidden.mean(1)
    weight = mask[:, :, None].to(hidden.dtype)
    return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)


def _single(value: torch.Tensor) -> torch.Tensor:
    return value.to(torch.float32) if value.is_floating_point() else value


class Encoder(torch.nn.Module):
    """A model and the method of its task.

    Args:
      model: the model.
      kind: `embed`, `classify` or `forward`.
      inputs: examples of the model's inputs, by name, the first one its main input.
      pooling: one of POOLINGS, for `embed`.
    """

    def __init__(
        self, model: torch.nn.Module, kind: str, inputs: dict[str, Any], pooling: str = "mean"
    ) -> None:
        super().__init__()
        self.model, self.kind, self.inputs, self.pooling = model, kind, inputs, pooling
        setattr(self, kind, getattr(self, f"_of_{next(iter(inputs))}"))

    def _of_input_ids(self, input_ids, attention_mask=None, token_type_ids=None):
        given = {"input_ids": input_ids, "attention_mask": attention_mask}
        if token_type_ids is not None:
            given["token_type_ids"] = token_type_ids
        return self._result(given, attention_mask)

    def _of_pixel_values(self, pixel_values):
        return self._result({"pixel_values": pixel_values.to(self.model.dtype)}, None)

    def _of_input_values(self, input_values):
        return self._result({"input_values": input_values.to(self.model.dtype)}, None)

    def _of_input_features(self, input_features):
        return self._result({"input_features": input_features.to(self.model.dtype)}, None)

    def _result(self, given: dict[str, Any], mask: torch.Tensor | None) -> Any:
        found = self.model(**given, **accepted(self.model, {"return_dict": True}))
        if self.kind == "embed":
            return _single(pooled(found[0], mask, self.pooling))
        if self.kind == "classify":
            return _single(found.logits)
        tensors = [_single(value) for value in found.values() if isinstance(value, torch.Tensor)]
        return tensors[0] if len(tensors) == 1 else tuple(tensors)

    def methods(self) -> dict[str, dict[str, Any]]:
        return {self.kind: self.inputs}


class TextAndImages(torch.nn.Module):
    """Embeddings of texts and of images in one space, as CLIP has them."""

    def __init__(self, model: torch.nn.Module, text: dict[str, Any], image: dict[str, Any]) -> None:
        super().__init__()
        self.model, self.text, self.image = model, text, image

    @staticmethod
    def _embedding(found: Any) -> torch.Tensor:
        # Versions 5 of transformers return the pooled output among others.
        return _single(found.pooler_output if isinstance(found, ModelOutput) else found)

    def embed_text(self, input_ids, attention_mask):
        return self._embedding(self.model.get_text_features(input_ids, attention_mask))

    def embed_image(self, pixel_values):
        return self._embedding(self.model.get_image_features(pixel_values.to(self.model.dtype)))

    def methods(self) -> dict[str, dict[str, Any]]:
        return {"embed_text": self.text, "embed_image": self.image}


def text_inputs(model: torch.nn.Module, batch: int, length: int) -> dict[str, Any]:
    """Examples of tokens, of any number up to `length`, in up to `batch` rows."""
    import inspect

    names = ["input_ids", "attention_mask"]
    named = inspect.signature(model.forward).parameters
    if "token_type_ids" in named and (getattr(model.config, "type_vocab_size", 0) or 0) > 1:
        names.append("token_type_ids")
    dims: dict[int, Any] = {}
    if length > 1:
        dims[1] = Dim("length", min=1, max=length)
    if batch > 1:
        dims[0] = Dim("batch", min=1, max=batch)
    example = torch.ones(batch, length, dtype=torch.int64)
    return {name: MethodArg(example, dict(dims)) for name in names}


def _image_sides(config: Any, image_size: Any) -> tuple[int, int]:
    size = image_size or getattr(config, "image_size", None) or 224
    if isinstance(size, int):
        return size, size
    if isinstance(size, (tuple, list)) and len(size) == 2:
        return int(size[0]), int(size[1])
    raise _errors.ArgumentError(
        f"'image_size' is {size!r}, expected a number of pixels or (height, width)"
    )


def image_inputs(config: Any, batch: int, image_size: Any) -> dict[str, Any]:
    """An example of images of the size that the model was made for."""
    config = getattr(config, "vision_config", config)
    height, width = _image_sides(config, image_size)
    channels = getattr(config, "num_channels", 3)
    dims = {0: Dim("batch", min=1, max=batch)} if batch > 1 else {}
    return {"pixel_values": MethodArg(torch.zeros(batch, channels, height, width), dims)}
