"""Small models of families of `transformers`, with random weights.

`FAMILIES` maps a name to (class of the model, class of its configuration, settings).
Two layers, narrow, everything else as the configuration class has it.
"""

WORDS = 96
SPECIAL = {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
# The settings of most decoders, of encoders, and of encoder-decoder models.
LLAMA = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128, **SPECIAL,
}
OLDER = {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"}
GPT = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128, **SPECIAL}
BERT = {**OLDER, "max_position_embeddings": 130}
PAIR = {
    "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96,
    "max_position_embeddings": 128, "decoder_start_token_id": 3, **SPECIAL,
}
T5 = {
    "d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4,
    "vocab_size": WORDS, "decoder_start_token_id": 0,
}
WINDOW = {"sliding_window": 8}
HEAD = {"head_dim": 16}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
VISION = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "image_size": 32, "patch_size": 8, "num_labels": 5,
}
SOUND = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "conv_dim": (32, 32), "conv_stride": (5, 4), "conv_kernel": (10, 8), "vocab_size": 32,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}
LAYERS = ["sliding_attention", "full_attention"]
# Mixtures of experts: what DeepSeek and those after it call theirs, and its attention.
ROUTED = {
    "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1, "moe_intermediate_size": 48,
}
GROUPS = {**ROUTED, "n_routed_experts": 8, "n_group": 4, "topk_group": 2}
LATENT = {
    "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8, "v_head_dim": 16,
}
MAMBA = {"mamba_d_state": 8, "mamba_expand": 2, "mamba_n_heads": 4, "mamba_d_head": 32}


def rope(kind, **settings):
    """The settings of a scaled rotary embedding, as versions 4 and 5 name them."""
    values = {"rope_type": kind, "rope_theta": 10000.0, **settings}
    return {"rope_scaling": values, "rope_parameters": values}


LLAMA3 = rope(
    "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
    original_max_position_embeddings=64,
)

FAMILIES = {
    # Decoder-only.
    "llama": ("LlamaForCausalLM", "LlamaConfig", LLAMA),
    "llama3 rope": ("LlamaForCausalLM", "LlamaConfig", {**LLAMA, **LLAMA3}),
    "llama linear rope": ("LlamaForCausalLM", "LlamaConfig", {**LLAMA, **rope("linear", factor=2.0)}),
    "llama tied": ("LlamaForCausalLM", "LlamaConfig", {**LLAMA, "tie_word_embeddings": True}),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", LLAMA),
    "qwen2 window": ("Qwen2ForCausalLM", "Qwen2Config",
                     {**LLAMA, **WINDOW, "use_sliding_window": True, "max_window_layers": 1}),
    "qwen2 moe": ("Qwen2MoeForCausalLM", "Qwen2MoeConfig",
                  {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 48,
                   "shared_expert_intermediate_size": 48}),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**LLAMA, **HEAD}),
    "qwen3 moe": ("Qwen3MoeForCausalLM", "Qwen3MoeConfig",
                  {**LLAMA, **HEAD, "num_experts": 4, "num_experts_per_tok": 2,
                   "moe_intermediate_size": 48}),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**LLAMA, **WINDOW}),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", {**LLAMA, **EXPERTS}),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", {**LLAMA, **HEAD}),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {**LLAMA, **HEAD, **WINDOW, "query_pre_attn_scalar": 16}),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig",
               {**LLAMA, **HEAD, **WINDOW, "query_pre_attn_scalar": 16, "layer_types": LAYERS}),
    "phi": ("PhiForCausalLM", "PhiConfig", LLAMA),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", {**LLAMA, **WINDOW}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT),
    "gpt-neo": ("GPTNeoForCausalLM", "GPTNeoConfig",
                {**{k: v for k, v in OLDER.items() if k not in ("num_hidden_layers", "num_attention_heads")},
                 "num_layers": 2, "num_heads": 4, "window_size": 8,
                 "attention_types": [[["global", "local"], 1]]}),
    "gpt-neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", OLDER),
    "gpt-j": ("GPTJForCausalLM", "GPTJConfig", {**GPT, "rotary_dim": 8}),
    "gpt-bigcode": ("GPTBigCodeForCausalLM", "GPTBigCodeConfig", GPT),
    "codegen": ("CodeGenForCausalLM", "CodeGenConfig", {**GPT, "rotary_dim": 8}),
    "opt": ("OPTForCausalLM", "OPTConfig",
            {**OLDER, "ffn_dim": 96, "word_embed_proj_dim": 64}),
    "bloom": ("BloomForCausalLM", "BloomConfig", {"hidden_size": 64, "n_layer": 2, "n_head": 4, **SPECIAL}),
    "mpt": ("MptForCausalLM", "MptConfig",
            {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 128, **SPECIAL}),
    "falcon": ("FalconForCausalLM", "FalconConfig",
               {**OLDER, "alibi": False, "new_decoder_architecture": False}),
    "falcon alibi": ("FalconForCausalLM", "FalconConfig", {**OLDER, "alibi": True, "multi_query": False}),
    "stablelm": ("StableLmForCausalLM", "StableLmConfig", LLAMA),
    "starcoder2": ("Starcoder2ForCausalLM", "Starcoder2Config", {**LLAMA, **WINDOW}),
    "olmo": ("OlmoForCausalLM", "OlmoConfig", LLAMA),
    "olmo2": ("Olmo2ForCausalLM", "Olmo2Config", LLAMA),
    "olmoe": ("OlmoeForCausalLM", "OlmoeConfig", {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2}),
    "cohere": ("CohereForCausalLM", "CohereConfig", LLAMA),
    "cohere2": ("Cohere2ForCausalLM", "Cohere2Config", {**LLAMA, **WINDOW, "layer_types": LAYERS}),
    "granite": ("GraniteForCausalLM", "GraniteConfig", LLAMA),
    "smollm3": ("SmolLM3ForCausalLM", "SmolLM3Config", LLAMA),
    "persimmon": ("PersimmonForCausalLM", "PersimmonConfig", OLDER),
    "nemotron": ("NemotronForCausalLM", "NemotronConfig", LLAMA),
    "glm": ("GlmForCausalLM", "GlmConfig", {**LLAMA, **HEAD}),
    "glm4": ("Glm4ForCausalLM", "Glm4Config", {**LLAMA, **HEAD}),
    "ernie4.5": ("Ernie4_5ForCausalLM", "Ernie4_5Config", {**LLAMA, **HEAD}),
    "exaone4": ("Exaone4ForCausalLM", "Exaone4Config", {**LLAMA, **WINDOW, "sliding_window_pattern": 2}),
    "gpt-oss": ("GptOssForCausalLM", "GptOssConfig",
                {**LLAMA, **HEAD, **WINDOW, **EXPERTS, "layer_types": LAYERS,
                 **rope("default")}),
    "helium": ("HeliumForCausalLM", "HeliumConfig", {**LLAMA, **HEAD}),
    "deepseek v3": ("DeepseekV3ForCausalLM", "DeepseekV3Config",
                    {**LLAMA, **LATENT, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
                     "topk_group": 1, "first_k_dense_replace": 1, "moe_intermediate_size": 48}),
    "deepseek v2": ("DeepseekV2ForCausalLM", "DeepseekV2Config",
                    {**LLAMA, **LATENT, **GROUPS, "topk_method": "group_limited_greedy",
                     "routed_scaling_factor": 1.5, "first_k_dense_replace": 1, "head_dim": 8}),
    "flex olmo": ("FlexOlmoForCausalLM", "FlexOlmoConfig",
                  {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True}),
    "granite moe": ("GraniteMoeForCausalLM", "GraniteMoeConfig", {**LLAMA, **EXPERTS}),
    "granite moe shared": ("GraniteMoeSharedForCausalLM", "GraniteMoeSharedConfig",
                           {**LLAMA, **EXPERTS, "shared_intermediate_size": 48}),
    "granite moe hybrid": ("GraniteMoeHybridForCausalLM", "GraniteMoeHybridConfig",
                           {**LLAMA, **EXPERTS, **MAMBA, "shared_intermediate_size": 48,
                            "layer_types": ["attention", "attention"]}),
    "jetmoe": ("JetMoeForCausalLM", "JetMoeConfig", {**OLDER, **EXPERTS, "kv_channels": 16,
                                                     "num_key_value_heads": 2}),
    "minimax": ("MiniMaxForCausalLM", "MiniMaxConfig",
                {**LLAMA, **HEAD, **EXPERTS, "layer_types": ["linear_attention", "full_attention"]}),
    "phimoe": ("PhimoeForCausalLM", "PhimoeConfig", {**LLAMA, **EXPERTS}),
    "phimoe longrope": ("PhimoeForCausalLM", "PhimoeConfig",
                        {**LLAMA, **EXPERTS, **rope(
                            "longrope", short_factor=[1.0] * 8, long_factor=[1.5] * 8, short_mscale=1.1,
                            long_mscale=1.2, original_max_position_embeddings=4)}),
    "ernie4.5 moe": ("Ernie4_5_MoeForCausalLM", "Ernie4_5_MoeConfig",
                     {**LLAMA, "moe_num_experts": 4, "moe_k": 2, "moe_num_shared_experts": 1,
                      "moe_intermediate_size": 48, "moe_layer_start_index": 0}),
    "hunyuan moe": ("HunYuanMoEV1ForCausalLM", "HunYuanMoEV1Config",
                    {**LLAMA, **HEAD, "num_experts": 4, "moe_topk": 2}),
    "jamba": ("JambaForCausalLM", "JambaConfig",
              {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2, "attn_layer_period": 2,
               "attn_layer_offset": 1, "use_mamba_kernels": False}),
    "dbrx": ("DbrxForCausalLM", "DbrxConfig",
             {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 128, **SPECIAL,
              "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
              "ffn_config": {"ffn_hidden_size": 48, "moe_num_experts": 4, "moe_top_k": 2}}),
    "qwen3 next": ("Qwen3NextForCausalLM", "Qwen3NextConfig",
                   {**LLAMA, **HEAD, "num_experts": 4, "num_experts_per_tok": 2,
                    "moe_intermediate_size": 48, "shared_expert_intermediate_size": 48,
                    "layer_types": ["linear_attention", "full_attention"]}),
    "llama4 text": ("Llama4ForCausalLM", "Llama4TextConfig",
                    {**LLAMA, **HEAD, **EXPERTS, "intermediate_size_mlp": 96, "attention_chunk_size": 16,
                     "no_rope_layers": [1, 0], "floor_scale": 16}),
    "glm4 moe": ("Glm4MoeForCausalLM", "Glm4MoeConfig", {**LLAMA, **HEAD, **GROUPS, "use_qk_norm": True}),
    "dots1": ("Dots1ForCausalLM", "Dots1Config", {**LLAMA, **HEAD, **GROUPS, "norm_topk_prob": True}),
    "longcat flash": ("LongcatFlashForCausalLM", "LongcatFlashConfig",
                      {**OLDER, **LATENT, "head_dim": 8, "num_layers": 1, "ffn_hidden_size": 96,
                       "moe_topk": 2, "n_routed_experts": 4, "zero_expert_num": 2,
                       "expert_ffn_hidden_size": 48, "routed_scaling_factor": 1.5}),
    # Encoder-decoder.
    "t5": ("T5ForConditionalGeneration", "T5Config", T5),
    "mt5": ("MT5ForConditionalGeneration", "MT5Config", T5),
    "umt5": ("UMT5ForConditionalGeneration", "UMT5Config", T5),
    "switch transformers": ("SwitchTransformersForConditionalGeneration", "SwitchTransformersConfig",
                            {**T5, "num_experts": 4, "num_sparse_encoder_layers": 1,
                             "num_sparse_decoder_layers": 1}),
    "nllb moe": ("NllbMoeForConditionalGeneration", "NllbMoeConfig",
                 {**PAIR, "num_experts": 4, "encoder_sparse_step": 1, "decoder_sparse_step": 2}),
    "bart": ("BartForConditionalGeneration", "BartConfig", PAIR),
    "mbart": ("MBartForConditionalGeneration", "MBartConfig", PAIR),
    "marian": ("MarianMTModel", "MarianConfig", PAIR),
    "pegasus": ("PegasusForConditionalGeneration", "PegasusConfig", PAIR),
    "blenderbot": ("BlenderbotForConditionalGeneration", "BlenderbotConfig", PAIR),
    "blenderbot small": ("BlenderbotSmallForConditionalGeneration", "BlenderbotSmallConfig", PAIR),
    "m2m100": ("M2M100ForConditionalGeneration", "M2M100Config", PAIR),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig",
                {**PAIR, "num_mel_bins": 16, "max_source_positions": 24, "max_target_positions": 128}),
    # Encoders of text.
    "bert": ("BertModel", "BertConfig", BERT),
    "bert classifier": ("BertForSequenceClassification", "BertConfig", {**BERT, "num_labels": 3}),
    "bert tokens": ("BertForTokenClassification", "BertConfig", {**BERT, "num_labels": 3}),
    "bert masked": ("BertForMaskedLM", "BertConfig", BERT),
    "bert answers": ("BertForQuestionAnswering", "BertConfig", BERT),
    "roberta": ("RobertaModel", "RobertaConfig", BERT),
    "xlm-roberta": ("XLMRobertaForSequenceClassification", "XLMRobertaConfig", {**BERT, "num_labels": 3}),
    "distilbert": ("DistilBertModel", "DistilBertConfig",
                   {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 96, **SPECIAL}),
    "albert": ("AlbertModel", "AlbertConfig", {**BERT, "embedding_size": 32}),
    "mpnet": ("MPNetModel", "MPNetConfig", BERT),
    "electra": ("ElectraForSequenceClassification", "ElectraConfig",
                {**BERT, "embedding_size": 32, "num_labels": 3}),
    "deberta": ("DebertaModel", "DebertaConfig",
                {**BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "deberta v2": ("DebertaV2Model", "DebertaV2Config",
                   {**BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"],
                    "position_buckets": 16}),
    "modernbert": ("ModernBertModel", "ModernBertConfig", {**OLDER, "local_attention": 8}),
    # Images.
    "vit": ("ViTForImageClassification", "ViTConfig", VISION),
    "deit": ("DeiTForImageClassification", "DeiTConfig", VISION),
    "beit": ("BeitForImageClassification", "BeitConfig", VISION),
    "dinov2": ("Dinov2Model", "Dinov2Config", VISION),
    "swin": ("SwinForImageClassification", "SwinConfig",
             {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4],
              "window_size": 4, "num_labels": 5}),
    "resnet": ("ResNetForImageClassification", "ResNetConfig",
               {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "num_labels": 5,
                "image_size": 32}),
    "convnext": ("ConvNextForImageClassification", "ConvNextConfig",
                 {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2, "num_labels": 5,
                  "image_size": 32}),
    "mobilenet v2": ("MobileNetV2ForImageClassification", "MobileNetV2Config",
                     {"image_size": 32, "depth_multiplier": 0.35, "num_labels": 5}),
    "segformer": ("SegformerForSemanticSegmentation", "SegformerConfig",
                  {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [16, 32],
                   "num_attention_heads": [1, 2], "patch_sizes": [7, 3], "strides": [4, 2],
                   "mlp_ratios": [2, 2], "decoder_hidden_size": 16, "num_labels": 5, "image_size": 32}),
    "clip": ("CLIPModel", "CLIPConfig",
             {"text_config": {**OLDER, "projection_dim": 16}, "projection_dim": 16,
              "vision_config": {**VISION, "projection_dim": 16}}),
    "siglip": ("SiglipModel", "SiglipConfig",
               {"text_config": {**OLDER, "projection_size": 64}, "vision_config": {**VISION, "hidden_size": 64}}),
    # Sound.
    "wav2vec2": ("Wav2Vec2ForCTC", "Wav2Vec2Config", SOUND),
    "hubert": ("HubertForCTC", "HubertConfig", SOUND),
    "wavlm": ("WavLMForCTC", "WavLMConfig", SOUND),
}
