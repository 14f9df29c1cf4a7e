"""Mixtures of experts as `transformers` writes them, small and with random
weights, over sequences of varying length.
"""

import torch
import transformers
from transformers import (DeepseekV3Config, DeepseekV3ForCausalLM, MixtralConfig,
                          MixtralForCausalLM, Qwen2MoeConfig, Qwen2MoeForCausalLM)

if int(transformers.__version__.split(".")[0]) < 5:
    # Their loop over the experts that some token chose is one of Python, which
    # torch.export refuses.
    raise ImportError("mixtures of experts can be exported from transformers 5 on")

from .flow_model import Flow, Method, flow

WORDS, MOST = 32, 7
SIZES = {"vocab_size": WORDS, "hidden_size": 16, "intermediate_size": 24,
         "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
         "max_position_embeddings": 16, "attn_implementation": "eager"}
# Weights gathered for each token. The default sorts tokens by expert and
# multiplies each group by the matrix of its expert.
BATCHED = {"experts_implementation": "batched_mm"}


def language_model(model, only_etx="histc"):
    def forward(self, ids):
        return self.model(ids, use_cache=False).logits

    calls = {label: (torch.randint(0, WORDS, (1, n)),) for label, n in
             (("middle", 5), ("least", 2), ("most", MOST), ("middle, again", 4))}
    size = torch.export.Dim("words", min=2, max=MOST)
    return Flow(Method(forward, model=model), calls, ({1: size},), tolerance=1e-3,
                only_etx=only_etx, overflow=((torch.zeros(1, MOST + 1, dtype=torch.int64),),))


def mixtral_of(**more):
    return MixtralForCausalLM(MixtralConfig(
        **SIZES, num_local_experts=4, num_experts_per_tok=2, sliding_window=None,
        **more))


def qwen2_moe_of(**more):
    return Qwen2MoeForCausalLM(Qwen2MoeConfig(
        **SIZES, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
        shared_expert_intermediate_size=12, **more))


def deepseek_v3_of(**more):
    return DeepseekV3ForCausalLM(DeepseekV3Config(
        **SIZES, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1,
        moe_intermediate_size=12, n_shared_experts=1, first_k_dense_replace=1,
        kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4,
        v_head_dim=8, **more))


@flow
def mixtral():
    """Mixtral of transformers: two of four experts."""
    return language_model(mixtral_of())


@flow
def qwen2_moe():
    """Qwen2-MoE of transformers: experts and a shared one."""
    return language_model(qwen2_moe_of())


@flow
def deepseek_v3():
    """DeepSeek-V3 of transformers: groups of experts and latent attention."""
    return language_model(deepseek_v3_of())


@flow
def mixtral_batched():
    """Mixtral with the weights of the experts gathered for each token."""
    return language_model(mixtral_of(**BATCHED), None)


@flow
def qwen2_moe_batched():
    """Qwen2-MoE with the weights of the experts gathered for each token."""
    return language_model(qwen2_moe_of(**BATCHED), None)


@flow
def deepseek_v3_batched():
    """DeepSeek-V3 with the weights of the experts gathered for each token."""
    return language_model(deepseek_v3_of(**BATCHED), None)
