"""Mixtures of experts of `transformers` without loops over the data.

Versions 4 visit the experts that some token chose, which torch.export cannot trace. Here
every expert computes every token, and its share is 0 for tokens that did not choose it.
Versions 5 have forms of their own that can be traced, for all but few models.

A replacement is found by the parts that a block has. Before a model is exported, what it
computes with replacements is compared with what it computes without, `as_published`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import MethodType
from typing import Any

import torch
import transformers

from .. import _errors

IS_4 = transformers.__version__.startswith("4.")
_is_published: ContextVar[bool] = ContextVar("_is_published", default=False)


def _rows(hidden_states: torch.Tensor) -> torch.Tensor:
    """[T, width] of [B, S, width]."""
    return hidden_states.reshape(-1, hidden_states.shape[-1])


def _chosen_weights(weights: torch.Tensor, chosen: torch.Tensor, count: int) -> torch.Tensor:
    """[T, k, experts]: the weights [T, k], each at the expert that `chosen` says."""
    return torch.where(chosen[..., None] == torch.arange(count), weights[..., None], 0.0)


def _mixed(experts: Any, hidden: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    """[T, width]: the sum of what `experts` compute, times their shares [T, experts]."""
    result = torch.zeros_like(hidden)
    for index, expert in enumerate(experts):
        result = result + expert(hidden) * shares[:, index, None].to(hidden.dtype)
    return result


# Blocks whose experts are modules.


def _choose(block: Any, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights and numbers [T, k] of the experts with the best scores [T, experts]."""
    mixer = getattr(sys.modules[type(block).__module__], "sparsemixer", None)
    if mixer is not None:  # PhiMoE
        return mixer(scores, jitter_eps=block.router_jitter_noise, training=False)
    weights = torch.softmax(scores, 1, dtype=torch.float32)
    if hasattr(block, "moe_statics"):  # ERNIE: the choice has a bias, the weights have none
        chosen = torch.topk(block.moe_statics(weights), block.top_k)[1]
        weights = torch.gather(weights, 1, chosen)
        return weights / weights.sum(1, keepdim=True).clamp(min=block.norm_min), chosen
    weights, chosen = torch.topk(weights, block.top_k)
    if getattr(block, "norm_topk_prob", True):
        weights = weights / weights.sum(1, keepdim=True)
    return weights, chosen


def _block(self: Any, hidden_states: torch.Tensor) -> Any:
    hidden = _rows(hidden_states)
    # A gate with weights of float32 computes in that type; HunYuan's is a module of its own.
    is_linear = isinstance(self.gate, torch.nn.Linear)
    scores = self.gate(hidden.to(self.gate.weight.dtype) if is_linear else hidden_states)
    weights, chosen = _choose(self, scores)
    shares = _chosen_weights(weights.to(hidden.dtype), chosen, len(self.experts)).sum(1)
    result = _mixed(self.experts, hidden, shares)
    if hasattr(self, "shared_expert"):
        result = result + torch.sigmoid(self.shared_expert_gate(hidden)) * self.shared_expert(hidden)
    shared = getattr(self, "shared_experts", None) or getattr(self, "shared_mlp", None)
    if shared is not None:
        result = result + shared(hidden)
    result = result.view_as(hidden_states)
    return result if hasattr(self, "shared_mlp") else (result, scores)  # HunYuan returns no scores


def _moe(self: Any, hidden_states: torch.Tensor, topk_indices: torch.Tensor, topk_weights: torch.Tensor):
    """DeepSeek and those after it, which choose in another method."""
    shares = _chosen_weights(topk_weights, topk_indices, len(self.experts)).sum(1)
    return _mixed(self.experts, hidden_states, shares)


def _router_weights(router: Any, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights and scores [.., experts], of the router's own type. It casts its layer when it
    is called, which torch.export cannot trace."""
    layer, dtype = router.classifier, router.dtype
    bias = None if layer.bias is None else layer.bias.to(dtype)
    scores = torch.nn.functional.linear(hidden.to(dtype), layer.weight.to(dtype), bias)
    return torch.softmax(scores, -1, dtype=dtype).to(hidden.dtype), scores


def _best(scores: torch.Tensor) -> torch.Tensor:
    """int64 of the sizes of the scores: 1 at the best one of each token."""
    return torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1])


def _switch(self: Any, hidden_states: torch.Tensor) -> Any:
    """Switch transformers: one expert for each token, or none if it has no room."""
    weights, scores = _router_weights(self.router, hidden_states)
    mask = _best(weights)
    mask = mask * (mask.cumsum(-2) <= self.router.expert_capacity)
    shares = (mask * weights).reshape(-1, mask.shape[-1])
    result = _mixed(self.experts.values(), _rows(hidden_states), shares).view_as(hidden_states)
    return (result, (scores, mask.argmax(-1))) if IS_4 else result


def _nllb(self: Any, hidden_states: torch.Tensor, padding_mask: Any = None) -> Any:
    """NLLB-MoE, with room for all tokens."""
    router, hidden = self.router, _rows(hidden_states)
    if router.second_expert_policy != "all" or not router.moe_eval_capacity_token_fraction >= 1:
        raise _errors.UnsupportedError(
            f"'{type(self).__name__}' drops tokens: second_expert_policy is "
            f"'{router.second_expert_policy}', moe_eval_capacity_token_fraction "
            f"{router.moe_eval_capacity_token_fraction:g}",
            hint="set them to 'all' and 1.0 in the model's configuration",
        )
    weights, scores = _router_weights(router, hidden)
    first = _best(weights)
    shares = weights * (first + _best(scores.masked_fill(first.bool(), float("-inf"))))
    shares = shares / shares.sum(1, keepdim=True).clamp(min=torch.finfo(shares.dtype).eps)
    # The mask [B, 1, queries, keys] of a call over a cache has the cache's rows as its keys:
    # the tokens of the call are no padding.
    if isinstance(padding_mask, torch.Tensor) and padding_mask.shape[-1] == hidden_states.shape[1]:
        if not router.router_ignore_padding_tokens:
            shares = shares * (padding_mask[:, :, -1].reshape(-1, 1) == 0)
    result = _mixed(self.experts.values(), hidden, shares) * (1 - self.moe_token_dropout)
    return result.view_as(hidden_states), (shares, first.argmax(-1))


# Blocks whose experts are the rows of one weight.


def _sum_of(each: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    """[T, width]: the sum of [experts, T, width] times the shares [T, experts]."""
    return (each * shares.t()[..., None].to(each.dtype)).sum(0)


def _gpt_oss(self: Any, hidden_states: torch.Tensor, router_indices: Any = None, routing_weights: Any = None):
    """The experts of gpt-oss, whose weights are [E, width, 2 * inner] and [E, inner, width].
    The router's weights [T, E] are 0 for experts that a token did not choose."""
    both = torch.matmul(_rows(hidden_states), self.gate_up_proj) + self.gate_up_proj_bias[:, None]
    gate = both[..., ::2].clamp(max=self.limit)
    up = both[..., 1::2].clamp(min=-self.limit, max=self.limit)
    inner = (up + 1) * gate * torch.sigmoid(gate * self.alpha)
    result = torch.matmul(inner, self.down_proj) + self.down_proj_bias[:, None]
    return _sum_of(result, routing_weights).view_as(hidden_states)


def _llama4(self: Any, hidden_states: torch.Tensor) -> Any:
    """Llama 4, which weighs what the experts read."""
    hidden, experts = _rows(hidden_states), self.experts
    weights, scores = self.router(hidden)
    both = torch.matmul(hidden * weights.t()[..., None], experts.gate_up_proj)
    gate, up = both.chunk(2, -1)
    result = torch.matmul(up * experts.act_fn(gate), experts.down_proj).sum(0)
    return self.shared_expert(hidden) + result, scores


def _dbrx(self: Any, x: torch.Tensor, weights: Any, top_weights: torch.Tensor, top_experts: torch.Tensor):
    """The experts of DBRX, whose weights are [E * inner, width]."""
    mlp, hidden, count = self.mlp, _rows(x), self.mlp.moe_num_experts
    w1, v1, w2 = (each.view(count, -1, mlp.hidden_size) for each in (mlp.w1, mlp.v1, mlp.w2))
    inner = mlp.activation_fn(torch.matmul(hidden, w1.mT)) * torch.matmul(hidden, v1.mT)
    shares = _chosen_weights(top_weights, top_experts, count).sum(1)
    return _sum_of(torch.matmul(inner, w2), shares).view_as(x)


def _dbrx_5(self: Any, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor):
    return _dbrx(self, hidden_states, None, top_k_weights, top_k_index)


def _longcat_5(self: Any, hidden: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor):
    """The experts of LongCat, of which the last ones return what they get."""
    count = self.num_routed_experts
    shares = _chosen_weights(weights, chosen, self.total_experts).sum(1).to(hidden.dtype)
    gate, up = torch.matmul(hidden, self.gate_up_proj[:count].mT).chunk(2, -1)
    each = torch.matmul(self.act_fn(gate) * up, self.down_proj.mT)
    return _sum_of(each, shares[:, :count]) + hidden * shares[:, count:].sum(1, keepdim=True)


# Granite and JetMoE: `input_linear` and `output_linear` have weights [E, out, in].


def _gates(block: Any, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Weights and numbers [T, k] of the chosen experts, and all scores [T, E]."""
    scores = block.router.layer(hidden).float()
    best, chosen = scores.topk(block.router.top_k, 1)
    return torch.softmax(best, 1).type_as(hidden), chosen, scores


def _granite(self: Any, layer_input: torch.Tensor) -> Any:
    hidden = _rows(layer_input)
    weights, chosen, scores = _gates(self, hidden)
    gate, up = torch.matmul(hidden, self.input_linear.weight.mT).chunk(2, -1)
    each = torch.matmul(self.activation(gate) * up, self.output_linear.weight.mT)
    result = _sum_of(each, _chosen_weights(weights, chosen, each.shape[0]).sum(1))
    if hasattr(self, "bias"):
        result = result + self.bias
    result = result.view_as(layer_input)
    return (result, scores) if IS_4 else result


def _jetmoe_map(self: Any, layer_input: torch.Tensor) -> Any:
    """Queries [B, S, k, heads' width] of the chosen experts."""
    hidden = _rows(layer_input)
    weights, chosen, scores = _gates(self, hidden)
    each = torch.matmul(hidden, self.input_linear.weight.mT).transpose(0, 1)
    found = torch.matmul(_chosen_weights(torch.ones_like(weights), chosen, each.shape[1]), each)
    return found.view(*layer_input.shape[:2], *found.shape[1:]), scores, (weights, chosen)


def _jetmoe_reduce(self: Any, layer_input: torch.Tensor, topo_info: Any) -> torch.Tensor:
    """The k results of attention [B, S, k, heads' width], each by its expert, weighted."""
    shares = _chosen_weights(*topo_info, self.num_experts)
    each = torch.matmul(shares.mT, layer_input.flatten(0, 1)).transpose(0, 1)
    result = torch.matmul(each, self.output_linear.weight.mT).sum(0) + self.bias
    return result.view(*layer_input.shape[:2], -1)


def _unknown(self: Any, *_: Any, **__: Any) -> Any:
    raise _errors.UnsupportedError(
        f"'{type(self).__name__}' chooses experts in a way that etx.hf does not know",
        hint="another version of transformers may be traced as it is",
    )


def _replacements(part: Any) -> dict[str, Callable[..., Any]]:
    """The methods to replace, by name. Some blocks are the same in versions 5."""

    def has(*names: str) -> bool:
        return all(hasattr(part, name) for name in names)

    if has("input_linear", "output_linear", "router") and has("map", "reduce"):
        return {"map": _jetmoe_map, "reduce": _jetmoe_reduce}
    if has("input_linear", "output_linear", "router", "activation"):
        return {"forward": _granite}
    experts = getattr(part, "experts", None)
    router = getattr(part, "router", None)
    if isinstance(experts, torch.nn.ModuleDict) and hasattr(router, "ignore_padding_tokens"):
        return {"forward": _switch}
    if has("mlp") and hasattr(part.mlp, "v1"):
        return {"forward": _dbrx if IS_4 else _dbrx_5}
    if has("identity_expert", "gate_up_proj"):
        return {"forward": _longcat_5}
    if not IS_4:
        return {}
    if has("gate_up_proj", "gate_up_proj_bias", "limit", "alpha"):
        return {"forward": _gpt_oss}
    if has("router", "shared_expert") and hasattr(experts, "gate_up_proj"):
        return {"forward": _llama4}
    if has("moe_token_dropout", "router"):
        return {"forward": _nllb}
    if isinstance(experts, torch.nn.ModuleList) and has("moe"):
        return {"moe": _moe}
    if isinstance(experts, torch.nn.ModuleList) and has("top_k", "gate"):
        return {"forward": _block}
    is_list = isinstance(experts, (torch.nn.ModuleList, torch.nn.ModuleDict))
    return {"forward": _unknown} if is_list and (has("gate") or has("router")) else {}


def _replaced(part: torch.nn.Module, name: str, function: Callable[..., Any]) -> MethodType:
    original = getattr(type(part), name)

    def call(self: Any, *given: Any, **named: Any) -> Any:
        return (original if _is_published.get() else function)(self, *given, **named)

    return MethodType(call, part)


@contextmanager
def all_experts(model: torch.nn.Module) -> Iterator[None]:
    """Replaces the methods of such blocks within the block of the caller."""
    replaced = [(part, found) for part in model.modules() if (found := _replacements(part))]
    for part, found in replaced:
        part.__dict__.update({name: _replaced(part, name, function) for name, function in found.items()})
    try:
        yield
    finally:
        for part, found in replaced:
            for name in found:
                del part.__dict__[name]


@contextmanager
def as_published() -> Iterator[None]:
    """Within the block, methods that `all_experts` replaced are those of transformers."""
    token = _is_published.set(True)
    try:
        yield
    finally:
        _is_published.reset(token)
