"""Mixtures of experts of versions 4 of `transformers` without loops over the data.

Those versions visit the experts that some token chose, which torch.export cannot trace.
Here every expert computes every token, and its share is 0 for tokens that did not choose
it. Versions 5 have a form of their own that can be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

import torch
import transformers

# Blocks with `gate`, `experts` and `top_k` that choose by the softmax of the gate.
_BLOCKS = (
    "MixtralSparseMoeBlock", "Qwen2MoeSparseMoeBlock", "Qwen3MoeSparseMoeBlock", "OlmoeSparseMoeBlock",
)


def _mixed(
    experts: torch.nn.ModuleList, hidden: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """[T, width]: the experts `chosen` [T, k], each times its weight [T, k]."""
    result = torch.zeros_like(hidden)
    for index, expert in enumerate(experts):
        share = torch.where(chosen == index, weights, 0.0).sum(1, keepdim=True)
        result = result + expert(hidden) * share.to(hidden.dtype)
    return result


def _block(self: Any, hidden_states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    hidden = hidden_states.reshape(-1, hidden_states.shape[-1])
    scores = self.gate(hidden)
    weights, chosen = torch.topk(torch.softmax(scores, 1, dtype=torch.float32), self.top_k)
    if getattr(self, "norm_topk_prob", True):
        weights = weights / weights.sum(1, keepdim=True)
    result = _mixed(self.experts, hidden, chosen, weights.to(hidden.dtype))
    if hasattr(self, "shared_expert"):
        result = result + torch.sigmoid(self.shared_expert_gate(hidden)) * self.shared_expert(hidden)
    return result.view_as(hidden_states), scores


def _moe(self: Any, hidden_states: torch.Tensor, topk_indices: torch.Tensor, topk_weights: torch.Tensor):
    return _mixed(self.experts, hidden_states, topk_indices, topk_weights)


def _gpt_oss(self: Any, hidden_states: torch.Tensor, router_indices: Any = None, routing_weights: Any = None):
    """The experts of gpt-oss, whose weights are [E, width, 2 * inner] and [E, inner, width].
    The router's weights [T, E] are 0 for experts that a token did not choose."""
    hidden = hidden_states.reshape(-1, hidden_states.shape[-1])
    both = torch.matmul(hidden, self.gate_up_proj) + self.gate_up_proj_bias[:, None]
    gate = both[..., ::2].clamp(max=self.limit)
    up = both[..., 1::2].clamp(min=-self.limit, max=self.limit)
    inner = (up + 1) * gate * torch.sigmoid(gate * self.alpha)
    result = torch.matmul(inner, self.down_proj) + self.down_proj_bias[:, None]
    return (result * routing_weights.t()[..., None]).sum(0).view_as(hidden_states)


def _replacement(part: torch.nn.Module) -> tuple[str, Callable[..., Any]] | None:
    if type(part).__name__ == "GptOssExperts" and transformers.__version__.startswith("4."):
        return "forward", _gpt_oss
    if not isinstance(getattr(part, "experts", None), torch.nn.ModuleList):
        return None
    if type(part).__name__ in _BLOCKS:
        return "forward", _block
    return ("moe", _moe) if callable(getattr(part, "moe", None)) else None  # as DeepSeek's


@contextmanager
def all_experts(model: torch.nn.Module) -> Iterator[None]:
    """Replaces the methods of such blocks within the block of the caller."""
    replaced = []
    for part in model.modules():
        found = _replacement(part)
        if found is not None:
            name, function = found
            part.__dict__[name] = MethodType(function, part)
            replaced.append((part, name))
    try:
        yield
    finally:
        for part, name in replaced:
            del part.__dict__[name]
