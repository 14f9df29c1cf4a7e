// Positions of arguments: ETX_ARG_<operator>_<argument>, where <operator> is
// the symbol of op_schema.def without "_out". A kernel that serves several
// operators uses the names of one of them for the positions that they share.
//
// Made by scripts/op_arguments.py; do not edit.

#ifndef ETX_RUNTIME_KERNELS_REGISTRY_OP_ARGUMENTS_H
#define ETX_RUNTIME_KERNELS_REGISTRY_OP_ARGUMENTS_H

// abs_out
enum {
  ETX_ARG_abs_self = 0,
  ETX_ARG_abs_out = 1,
};

// conj_physical_out
enum {
  ETX_ARG_conj_physical_self = 0,
  ETX_ARG_conj_physical_out = 1,
};

// neg_out
enum {
  ETX_ARG_neg_self = 0,
  ETX_ARG_neg_out = 1,
};

// relu_out
enum {
  ETX_ARG_relu_self = 0,
  ETX_ARG_relu_out = 1,
};

// ceil_out
enum {
  ETX_ARG_ceil_self = 0,
  ETX_ARG_ceil_out = 1,
};

// floor_out
enum {
  ETX_ARG_floor_self = 0,
  ETX_ARG_floor_out = 1,
};

// round_out
enum {
  ETX_ARG_round_self = 0,
  ETX_ARG_round_out = 1,
};

// trunc_out
enum {
  ETX_ARG_trunc_self = 0,
  ETX_ARG_trunc_out = 1,
};

// sign_out
enum {
  ETX_ARG_sign_self = 0,
  ETX_ARG_sign_out = 1,
};

// hardtanh_out
enum {
  ETX_ARG_hardtanh_self = 0,
  ETX_ARG_hardtanh_min_val = 1,
  ETX_ARG_hardtanh_max_val = 2,
  ETX_ARG_hardtanh_out = 3,
};

// leaky_relu_out
enum {
  ETX_ARG_leaky_relu_self = 0,
  ETX_ARG_leaky_relu_negative_slope = 1,
  ETX_ARG_leaky_relu_out = 2,
};

// bitwise_not_out
enum {
  ETX_ARG_bitwise_not_self = 0,
  ETX_ARG_bitwise_not_out = 1,
};

// elu_out
enum {
  ETX_ARG_elu_self = 0,
  ETX_ARG_elu_alpha = 1,
  ETX_ARG_elu_scale = 2,
  ETX_ARG_elu_input_scale = 3,
  ETX_ARG_elu_out = 4,
};

// gelu_out
enum {
  ETX_ARG_gelu_self = 0,
  ETX_ARG_gelu_approximate = 1,
  ETX_ARG_gelu_out = 2,
};

// glu_out
enum {
  ETX_ARG_glu_self = 0,
  ETX_ARG_glu_dim = 1,
  ETX_ARG_glu_out = 2,
};

// sqrt_out
enum {
  ETX_ARG_sqrt_self = 0,
  ETX_ARG_sqrt_out = 1,
};

// rsqrt_out
enum {
  ETX_ARG_rsqrt_self = 0,
  ETX_ARG_rsqrt_out = 1,
};

// reciprocal_out
enum {
  ETX_ARG_reciprocal_self = 0,
  ETX_ARG_reciprocal_out = 1,
};

// exp_out
enum {
  ETX_ARG_exp_self = 0,
  ETX_ARG_exp_out = 1,
};

// expm1_out
enum {
  ETX_ARG_expm1_self = 0,
  ETX_ARG_expm1_out = 1,
};

// log_out
enum {
  ETX_ARG_log_self = 0,
  ETX_ARG_log_out = 1,
};

// log1p_out
enum {
  ETX_ARG_log1p_self = 0,
  ETX_ARG_log1p_out = 1,
};

// log2_out
enum {
  ETX_ARG_log2_self = 0,
  ETX_ARG_log2_out = 1,
};

// log10_out
enum {
  ETX_ARG_log10_self = 0,
  ETX_ARG_log10_out = 1,
};

// sin_out
enum {
  ETX_ARG_sin_self = 0,
  ETX_ARG_sin_out = 1,
};

// cos_out
enum {
  ETX_ARG_cos_self = 0,
  ETX_ARG_cos_out = 1,
};

// tan_out
enum {
  ETX_ARG_tan_self = 0,
  ETX_ARG_tan_out = 1,
};

// asin_out
enum {
  ETX_ARG_asin_self = 0,
  ETX_ARG_asin_out = 1,
};

// acos_out
enum {
  ETX_ARG_acos_self = 0,
  ETX_ARG_acos_out = 1,
};

// atan_out
enum {
  ETX_ARG_atan_self = 0,
  ETX_ARG_atan_out = 1,
};

// sinh_out
enum {
  ETX_ARG_sinh_self = 0,
  ETX_ARG_sinh_out = 1,
};

// cosh_out
enum {
  ETX_ARG_cosh_self = 0,
  ETX_ARG_cosh_out = 1,
};

// tanh_out
enum {
  ETX_ARG_tanh_self = 0,
  ETX_ARG_tanh_out = 1,
};

// asinh_out
enum {
  ETX_ARG_asinh_self = 0,
  ETX_ARG_asinh_out = 1,
};

// acosh_out
enum {
  ETX_ARG_acosh_self = 0,
  ETX_ARG_acosh_out = 1,
};

// atanh_out
enum {
  ETX_ARG_atanh_self = 0,
  ETX_ARG_atanh_out = 1,
};

// sigmoid_out
enum {
  ETX_ARG_sigmoid_self = 0,
  ETX_ARG_sigmoid_out = 1,
};

// logit_out
enum {
  ETX_ARG_logit_self = 0,
  ETX_ARG_logit_eps = 1,
  ETX_ARG_logit_out = 2,
};

// erf_out
enum {
  ETX_ARG_erf_self = 0,
  ETX_ARG_erf_out = 1,
};

// logical_not_out
enum {
  ETX_ARG_logical_not_self = 0,
  ETX_ARG_logical_not_out = 1,
};

// isnan_out
enum {
  ETX_ARG_isnan_self = 0,
  ETX_ARG_isnan_out = 1,
};

// isinf_out
enum {
  ETX_ARG_isinf_self = 0,
  ETX_ARG_isinf_out = 1,
};

// clamp_out
enum {
  ETX_ARG_clamp_self = 0,
  ETX_ARG_clamp_min = 1,
  ETX_ARG_clamp_max = 2,
  ETX_ARG_clamp_out = 3,
};

// clamp_tensor_out
enum {
  ETX_ARG_clamp_tensor_self = 0,
  ETX_ARG_clamp_tensor_min = 1,
  ETX_ARG_clamp_tensor_max = 2,
  ETX_ARG_clamp_tensor_out = 3,
};

// add_out
enum {
  ETX_ARG_add_self = 0,
  ETX_ARG_add_other = 1,
  ETX_ARG_add_alpha = 2,
  ETX_ARG_add_out = 3,
};

// add_scalar_out
enum {
  ETX_ARG_add_scalar_self = 0,
  ETX_ARG_add_scalar_other = 1,
  ETX_ARG_add_scalar_alpha = 2,
  ETX_ARG_add_scalar_out = 3,
};

// sub_out
enum {
  ETX_ARG_sub_self = 0,
  ETX_ARG_sub_other = 1,
  ETX_ARG_sub_alpha = 2,
  ETX_ARG_sub_out = 3,
};

// sub_scalar_out
enum {
  ETX_ARG_sub_scalar_self = 0,
  ETX_ARG_sub_scalar_other = 1,
  ETX_ARG_sub_scalar_alpha = 2,
  ETX_ARG_sub_scalar_out = 3,
};

// rsub_scalar_out
enum {
  ETX_ARG_rsub_scalar_self = 0,
  ETX_ARG_rsub_scalar_other = 1,
  ETX_ARG_rsub_scalar_alpha = 2,
  ETX_ARG_rsub_scalar_out = 3,
};

// mul_out
enum {
  ETX_ARG_mul_self = 0,
  ETX_ARG_mul_other = 1,
  ETX_ARG_mul_out = 2,
};

// mul_scalar_out
enum {
  ETX_ARG_mul_scalar_self = 0,
  ETX_ARG_mul_scalar_other = 1,
  ETX_ARG_mul_scalar_out = 2,
};

// div_out
enum {
  ETX_ARG_div_self = 0,
  ETX_ARG_div_other = 1,
  ETX_ARG_div_out = 2,
};

// div_scalar_out
enum {
  ETX_ARG_div_scalar_self = 0,
  ETX_ARG_div_scalar_other = 1,
  ETX_ARG_div_scalar_out = 2,
};

// div_mode_out
enum {
  ETX_ARG_div_mode_self = 0,
  ETX_ARG_div_mode_other = 1,
  ETX_ARG_div_mode_rounding_mode = 2,
  ETX_ARG_div_mode_out = 3,
};

// div_scalar_mode_out
enum {
  ETX_ARG_div_scalar_mode_self = 0,
  ETX_ARG_div_scalar_mode_other = 1,
  ETX_ARG_div_scalar_mode_rounding_mode = 2,
  ETX_ARG_div_scalar_mode_out = 3,
};

// floor_divide_out
enum {
  ETX_ARG_floor_divide_self = 0,
  ETX_ARG_floor_divide_other = 1,
  ETX_ARG_floor_divide_out = 2,
};

// fmod_tensor_out
enum {
  ETX_ARG_fmod_tensor_self = 0,
  ETX_ARG_fmod_tensor_other = 1,
  ETX_ARG_fmod_tensor_out = 2,
};

// fmod_scalar_out
enum {
  ETX_ARG_fmod_scalar_self = 0,
  ETX_ARG_fmod_scalar_other = 1,
  ETX_ARG_fmod_scalar_out = 2,
};

// remainder_tensor_out
enum {
  ETX_ARG_remainder_tensor_self = 0,
  ETX_ARG_remainder_tensor_other = 1,
  ETX_ARG_remainder_tensor_out = 2,
};

// remainder_scalar_out
enum {
  ETX_ARG_remainder_scalar_self = 0,
  ETX_ARG_remainder_scalar_other = 1,
  ETX_ARG_remainder_scalar_out = 2,
};

// pow_tensor_tensor_out
enum {
  ETX_ARG_pow_tensor_tensor_self = 0,
  ETX_ARG_pow_tensor_tensor_exponent = 1,
  ETX_ARG_pow_tensor_tensor_out = 2,
};

// pow_tensor_scalar_out
enum {
  ETX_ARG_pow_tensor_scalar_self = 0,
  ETX_ARG_pow_tensor_scalar_exponent = 1,
  ETX_ARG_pow_tensor_scalar_out = 2,
};

// pow_scalar_out
enum {
  ETX_ARG_pow_scalar_self = 0,
  ETX_ARG_pow_scalar_exponent = 1,
  ETX_ARG_pow_scalar_out = 2,
};

// atan2_out
enum {
  ETX_ARG_atan2_self = 0,
  ETX_ARG_atan2_other = 1,
  ETX_ARG_atan2_out = 2,
};

// minimum_out
enum {
  ETX_ARG_minimum_self = 0,
  ETX_ARG_minimum_other = 1,
  ETX_ARG_minimum_out = 2,
};

// maximum_out
enum {
  ETX_ARG_maximum_self = 0,
  ETX_ARG_maximum_other = 1,
  ETX_ARG_maximum_out = 2,
};

// eq_tensor_out
enum {
  ETX_ARG_eq_tensor_self = 0,
  ETX_ARG_eq_tensor_other = 1,
  ETX_ARG_eq_tensor_out = 2,
};

// eq_scalar_out
enum {
  ETX_ARG_eq_scalar_self = 0,
  ETX_ARG_eq_scalar_other = 1,
  ETX_ARG_eq_scalar_out = 2,
};

// ne_tensor_out
enum {
  ETX_ARG_ne_tensor_self = 0,
  ETX_ARG_ne_tensor_other = 1,
  ETX_ARG_ne_tensor_out = 2,
};

// ne_scalar_out
enum {
  ETX_ARG_ne_scalar_self = 0,
  ETX_ARG_ne_scalar_other = 1,
  ETX_ARG_ne_scalar_out = 2,
};

// lt_tensor_out
enum {
  ETX_ARG_lt_tensor_self = 0,
  ETX_ARG_lt_tensor_other = 1,
  ETX_ARG_lt_tensor_out = 2,
};

// lt_scalar_out
enum {
  ETX_ARG_lt_scalar_self = 0,
  ETX_ARG_lt_scalar_other = 1,
  ETX_ARG_lt_scalar_out = 2,
};

// le_tensor_out
enum {
  ETX_ARG_le_tensor_self = 0,
  ETX_ARG_le_tensor_other = 1,
  ETX_ARG_le_tensor_out = 2,
};

// le_scalar_out
enum {
  ETX_ARG_le_scalar_self = 0,
  ETX_ARG_le_scalar_other = 1,
  ETX_ARG_le_scalar_out = 2,
};

// gt_tensor_out
enum {
  ETX_ARG_gt_tensor_self = 0,
  ETX_ARG_gt_tensor_other = 1,
  ETX_ARG_gt_tensor_out = 2,
};

// gt_scalar_out
enum {
  ETX_ARG_gt_scalar_self = 0,
  ETX_ARG_gt_scalar_other = 1,
  ETX_ARG_gt_scalar_out = 2,
};

// ge_tensor_out
enum {
  ETX_ARG_ge_tensor_self = 0,
  ETX_ARG_ge_tensor_other = 1,
  ETX_ARG_ge_tensor_out = 2,
};

// ge_scalar_out
enum {
  ETX_ARG_ge_scalar_self = 0,
  ETX_ARG_ge_scalar_other = 1,
  ETX_ARG_ge_scalar_out = 2,
};

// logical_and_out
enum {
  ETX_ARG_logical_and_self = 0,
  ETX_ARG_logical_and_other = 1,
  ETX_ARG_logical_and_out = 2,
};

// logical_or_out
enum {
  ETX_ARG_logical_or_self = 0,
  ETX_ARG_logical_or_other = 1,
  ETX_ARG_logical_or_out = 2,
};

// logical_xor_out
enum {
  ETX_ARG_logical_xor_self = 0,
  ETX_ARG_logical_xor_other = 1,
  ETX_ARG_logical_xor_out = 2,
};

// bitwise_and_tensor_out
enum {
  ETX_ARG_bitwise_and_tensor_self = 0,
  ETX_ARG_bitwise_and_tensor_other = 1,
  ETX_ARG_bitwise_and_tensor_out = 2,
};

// bitwise_and_scalar_out
enum {
  ETX_ARG_bitwise_and_scalar_self = 0,
  ETX_ARG_bitwise_and_scalar_other = 1,
  ETX_ARG_bitwise_and_scalar_out = 2,
};

// bitwise_or_tensor_out
enum {
  ETX_ARG_bitwise_or_tensor_self = 0,
  ETX_ARG_bitwise_or_tensor_other = 1,
  ETX_ARG_bitwise_or_tensor_out = 2,
};

// bitwise_or_scalar_out
enum {
  ETX_ARG_bitwise_or_scalar_self = 0,
  ETX_ARG_bitwise_or_scalar_other = 1,
  ETX_ARG_bitwise_or_scalar_out = 2,
};

// bitwise_xor_tensor_out
enum {
  ETX_ARG_bitwise_xor_tensor_self = 0,
  ETX_ARG_bitwise_xor_tensor_other = 1,
  ETX_ARG_bitwise_xor_tensor_out = 2,
};

// bitwise_xor_scalar_out
enum {
  ETX_ARG_bitwise_xor_scalar_self = 0,
  ETX_ARG_bitwise_xor_scalar_other = 1,
  ETX_ARG_bitwise_xor_scalar_out = 2,
};

// bitwise_left_shift_tensor_out
enum {
  ETX_ARG_bitwise_left_shift_tensor_self = 0,
  ETX_ARG_bitwise_left_shift_tensor_other = 1,
  ETX_ARG_bitwise_left_shift_tensor_out = 2,
};

// bitwise_left_shift_tensor_scalar_out
enum {
  ETX_ARG_bitwise_left_shift_tensor_scalar_self = 0,
  ETX_ARG_bitwise_left_shift_tensor_scalar_other = 1,
  ETX_ARG_bitwise_left_shift_tensor_scalar_out = 2,
};

// bitwise_right_shift_tensor_out
enum {
  ETX_ARG_bitwise_right_shift_tensor_self = 0,
  ETX_ARG_bitwise_right_shift_tensor_other = 1,
  ETX_ARG_bitwise_right_shift_tensor_out = 2,
};

// bitwise_right_shift_tensor_scalar_out
enum {
  ETX_ARG_bitwise_right_shift_tensor_scalar_self = 0,
  ETX_ARG_bitwise_right_shift_tensor_scalar_other = 1,
  ETX_ARG_bitwise_right_shift_tensor_scalar_out = 2,
};

// where_self_out
enum {
  ETX_ARG_where_self_condition = 0,
  ETX_ARG_where_self_self = 1,
  ETX_ARG_where_self_other = 2,
  ETX_ARG_where_self_out = 3,
};

// masked_fill_scalar_out
enum {
  ETX_ARG_masked_fill_scalar_self = 0,
  ETX_ARG_masked_fill_scalar_mask = 1,
  ETX_ARG_masked_fill_scalar_value = 2,
  ETX_ARG_masked_fill_scalar_out = 3,
};

// chain_out
enum {
  ETX_ARG_chain_self = 0,
  ETX_ARG_chain_others = 1,
  ETX_ARG_chain_steps = 2,
  ETX_ARG_chain_out = 3,
};

// silu_out
enum {
  ETX_ARG_silu_self = 0,
  ETX_ARG_silu_out = 1,
};

// mish_out
enum {
  ETX_ARG_mish_self = 0,
  ETX_ARG_mish_out = 1,
};

// softplus_out
enum {
  ETX_ARG_softplus_self = 0,
  ETX_ARG_softplus_beta = 1,
  ETX_ARG_softplus_threshold = 2,
  ETX_ARG_softplus_out = 3,
};

// log_sigmoid_out
enum {
  ETX_ARG_log_sigmoid_self = 0,
  ETX_ARG_log_sigmoid_out = 1,
};

// hardsigmoid_out
enum {
  ETX_ARG_hardsigmoid_self = 0,
  ETX_ARG_hardsigmoid_out = 1,
};

// hardswish_out
enum {
  ETX_ARG_hardswish_self = 0,
  ETX_ARG_hardswish_out = 1,
};

// relu6_out
enum {
  ETX_ARG_relu6_self = 0,
  ETX_ARG_relu6_out = 1,
};

// softshrink_out
enum {
  ETX_ARG_softshrink_self = 0,
  ETX_ARG_softshrink_lambd = 1,
  ETX_ARG_softshrink_out = 2,
};

// square_out
enum {
  ETX_ARG_square_self = 0,
  ETX_ARG_square_out = 1,
};

// nan_to_num_out
enum {
  ETX_ARG_nan_to_num_self = 0,
  ETX_ARG_nan_to_num_nan = 1,
  ETX_ARG_nan_to_num_posinf = 2,
  ETX_ARG_nan_to_num_neginf = 3,
  ETX_ARG_nan_to_num_out = 4,
};

// exp2_out
enum {
  ETX_ARG_exp2_self = 0,
  ETX_ARG_exp2_out = 1,
};

// erfc_out
enum {
  ETX_ARG_erfc_self = 0,
  ETX_ARG_erfc_out = 1,
};

// erfcx_out
enum {
  ETX_ARG_erfcx_self = 0,
  ETX_ARG_erfcx_out = 1,
};

// erfinv_out
enum {
  ETX_ARG_erfinv_self = 0,
  ETX_ARG_erfinv_out = 1,
};

// ndtri_out
enum {
  ETX_ARG_ndtri_self = 0,
  ETX_ARG_ndtri_out = 1,
};

// lgamma_out
enum {
  ETX_ARG_lgamma_self = 0,
  ETX_ARG_lgamma_out = 1,
};

// digamma_out
enum {
  ETX_ARG_digamma_self = 0,
  ETX_ARG_digamma_out = 1,
};

// i0_out
enum {
  ETX_ARG_i0_self = 0,
  ETX_ARG_i0_out = 1,
};

// i0e_out
enum {
  ETX_ARG_i0e_self = 0,
  ETX_ARG_i0e_out = 1,
};

// i1_out
enum {
  ETX_ARG_i1_self = 0,
  ETX_ARG_i1_out = 1,
};

// i1e_out
enum {
  ETX_ARG_i1e_self = 0,
  ETX_ARG_i1e_out = 1,
};

// zeta_out
enum {
  ETX_ARG_zeta_self = 0,
  ETX_ARG_zeta_other = 1,
  ETX_ARG_zeta_out = 2,
};

// xlogy_out
enum {
  ETX_ARG_xlogy_self = 0,
  ETX_ARG_xlogy_other = 1,
  ETX_ARG_xlogy_out = 2,
};

// prelu_out
enum {
  ETX_ARG_prelu_self = 0,
  ETX_ARG_prelu_weight = 1,
  ETX_ARG_prelu_out = 2,
};

// lerp_scalar_out
enum {
  ETX_ARG_lerp_scalar_self = 0,
  ETX_ARG_lerp_scalar_end = 1,
  ETX_ARG_lerp_scalar_weight = 2,
  ETX_ARG_lerp_scalar_out = 3,
};

// lerp_tensor_out
enum {
  ETX_ARG_lerp_tensor_self = 0,
  ETX_ARG_lerp_tensor_end = 1,
  ETX_ARG_lerp_tensor_weight = 2,
  ETX_ARG_lerp_tensor_out = 3,
};

// addcmul_out
enum {
  ETX_ARG_addcmul_self = 0,
  ETX_ARG_addcmul_tensor1 = 1,
  ETX_ARG_addcmul_tensor2 = 2,
  ETX_ARG_addcmul_value = 3,
  ETX_ARG_addcmul_out = 4,
};

// addcdiv_out
enum {
  ETX_ARG_addcdiv_self = 0,
  ETX_ARG_addcdiv_tensor1 = 1,
  ETX_ARG_addcdiv_tensor2 = 2,
  ETX_ARG_addcdiv_value = 3,
  ETX_ARG_addcdiv_out = 4,
};

// mm_out
enum {
  ETX_ARG_mm_self = 0,
  ETX_ARG_mm_mat2 = 1,
  ETX_ARG_mm_out = 2,
};

// bmm_out
enum {
  ETX_ARG_bmm_self = 0,
  ETX_ARG_bmm_mat2 = 1,
  ETX_ARG_bmm_out = 2,
};

// addmm_out
enum {
  ETX_ARG_addmm_self = 0,
  ETX_ARG_addmm_mat1 = 1,
  ETX_ARG_addmm_mat2 = 2,
  ETX_ARG_addmm_beta = 3,
  ETX_ARG_addmm_alpha = 4,
  ETX_ARG_addmm_out = 5,
};

// linear_out
enum {
  ETX_ARG_linear_input = 0,
  ETX_ARG_linear_weight = 1,
  ETX_ARG_linear_bias = 2,
  ETX_ARG_linear_out = 3,
};

// linear_chain_out
enum {
  ETX_ARG_linear_chain_input = 0,
  ETX_ARG_linear_chain_weight = 1,
  ETX_ARG_linear_chain_bias = 2,
  ETX_ARG_linear_chain_others = 3,
  ETX_ARG_linear_chain_steps = 4,
  ETX_ARG_linear_chain_out = 5,
};

// linear_panels_out
enum {
  ETX_ARG_linear_panels_input = 0,
  ETX_ARG_linear_panels_panels = 1,
  ETX_ARG_linear_panels_bias = 2,
  ETX_ARG_linear_panels_others = 3,
  ETX_ARG_linear_panels_steps = 4,
  ETX_ARG_linear_panels_out = 5,
};

// linear_heads_out
enum {
  ETX_ARG_linear_heads_input = 0,
  ETX_ARG_linear_heads_panels = 1,
  ETX_ARG_linear_heads_bias = 2,
  ETX_ARG_linear_heads_heads = 3,
  ETX_ARG_linear_heads_out = 4,
};

// bmm_nt_out
enum {
  ETX_ARG_bmm_nt_self = 0,
  ETX_ARG_bmm_nt_mat2 = 1,
  ETX_ARG_bmm_nt_out = 2,
};

// grouped_mm_out
enum {
  ETX_ARG_grouped_mm_self = 0,
  ETX_ARG_grouped_mm_mat2 = 1,
  ETX_ARG_grouped_mm_offs = 2,
  ETX_ARG_grouped_mm_out = 3,
};

// baddbmm_out
enum {
  ETX_ARG_baddbmm_self = 0,
  ETX_ARG_baddbmm_batch1 = 1,
  ETX_ARG_baddbmm_batch2 = 2,
  ETX_ARG_baddbmm_beta = 3,
  ETX_ARG_baddbmm_alpha = 4,
  ETX_ARG_baddbmm_out = 5,
};

// matmul_out
enum {
  ETX_ARG_matmul_self = 0,
  ETX_ARG_matmul_other = 1,
  ETX_ARG_matmul_out = 2,
};

// mv_out
enum {
  ETX_ARG_mv_self = 0,
  ETX_ARG_mv_vec = 1,
  ETX_ARG_mv_out = 2,
};

// dot_out
enum {
  ETX_ARG_dot_self = 0,
  ETX_ARG_dot_tensor = 1,
  ETX_ARG_dot_out = 2,
};

// fast_hadamard_transform_out
enum {
  ETX_ARG_fast_hadamard_transform_mat = 0,
  ETX_ARG_fast_hadamard_transform_out = 1,
};

// convolution_out
enum {
  ETX_ARG_convolution_input = 0,
  ETX_ARG_convolution_weight = 1,
  ETX_ARG_convolution_bias = 2,
  ETX_ARG_convolution_stride = 3,
  ETX_ARG_convolution_padding = 4,
  ETX_ARG_convolution_dilation = 5,
  ETX_ARG_convolution_transposed = 6,
  ETX_ARG_convolution_output_padding = 7,
  ETX_ARG_convolution_groups = 8,
  ETX_ARG_convolution_out = 9,
};

// convolution_chain_out
enum {
  ETX_ARG_convolution_chain_input = 0,
  ETX_ARG_convolution_chain_weight = 1,
  ETX_ARG_convolution_chain_bias = 2,
  ETX_ARG_convolution_chain_stride = 3,
  ETX_ARG_convolution_chain_padding = 4,
  ETX_ARG_convolution_chain_dilation = 5,
  ETX_ARG_convolution_chain_transposed = 6,
  ETX_ARG_convolution_chain_output_padding = 7,
  ETX_ARG_convolution_chain_groups = 8,
  ETX_ARG_convolution_chain_others = 9,
  ETX_ARG_convolution_chain_steps = 10,
  ETX_ARG_convolution_chain_out = 11,
};

// convolution_panels_out
enum {
  ETX_ARG_convolution_panels_input = 0,
  ETX_ARG_convolution_panels_panels = 1,
  ETX_ARG_convolution_panels_bias = 2,
  ETX_ARG_convolution_panels_others = 3,
  ETX_ARG_convolution_panels_steps = 4,
  ETX_ARG_convolution_panels_out = 5,
};

// convolution_winograd_out
enum {
  ETX_ARG_convolution_winograd_input = 0,
  ETX_ARG_convolution_winograd_panels = 1,
  ETX_ARG_convolution_winograd_bias = 2,
  ETX_ARG_convolution_winograd_padding = 3,
  ETX_ARG_convolution_winograd_others = 4,
  ETX_ARG_convolution_winograd_steps = 5,
  ETX_ARG_convolution_winograd_out = 6,
};

// convolution_packed_out
enum {
  ETX_ARG_convolution_packed_input = 0,
  ETX_ARG_convolution_packed_panels = 1,
  ETX_ARG_convolution_packed_bias = 2,
  ETX_ARG_convolution_packed_stride = 3,
  ETX_ARG_convolution_packed_padding = 4,
  ETX_ARG_convolution_packed_dilation = 5,
  ETX_ARG_convolution_packed_transposed = 6,
  ETX_ARG_convolution_packed_output_padding = 7,
  ETX_ARG_convolution_packed_groups = 8,
  ETX_ARG_convolution_packed_others = 9,
  ETX_ARG_convolution_packed_steps = 10,
  ETX_ARG_convolution_packed_out = 11,
};

// convolution_backward_out
enum {
  ETX_ARG_convolution_backward_grad_output = 0,
  ETX_ARG_convolution_backward_input = 1,
  ETX_ARG_convolution_backward_weight = 2,
  ETX_ARG_convolution_backward_bias_sizes = 3,
  ETX_ARG_convolution_backward_stride = 4,
  ETX_ARG_convolution_backward_padding = 5,
  ETX_ARG_convolution_backward_dilation = 6,
  ETX_ARG_convolution_backward_transposed = 7,
  ETX_ARG_convolution_backward_output_padding = 8,
  ETX_ARG_convolution_backward_groups = 9,
  ETX_ARG_convolution_backward_output_mask = 10,
  ETX_ARG_convolution_backward_out0 = 11,
  ETX_ARG_convolution_backward_out1 = 12,
  ETX_ARG_convolution_backward_out2 = 13,
};

// avg_pool2d_out
enum {
  ETX_ARG_avg_pool2d_self = 0,
  ETX_ARG_avg_pool2d_kernel_size = 1,
  ETX_ARG_avg_pool2d_stride = 2,
  ETX_ARG_avg_pool2d_padding = 3,
  ETX_ARG_avg_pool2d_ceil_mode = 4,
  ETX_ARG_avg_pool2d_count_include_pad = 5,
  ETX_ARG_avg_pool2d_divisor_override = 6,
  ETX_ARG_avg_pool2d_out = 7,
};

// adaptive_avg_pool2d_out
enum {
  ETX_ARG_adaptive_avg_pool2d_self = 0,
  ETX_ARG_adaptive_avg_pool2d_output_size = 1,
  ETX_ARG_adaptive_avg_pool2d_out = 2,
};

// max_pool2d_with_indices_out
enum {
  ETX_ARG_max_pool2d_with_indices_self = 0,
  ETX_ARG_max_pool2d_with_indices_kernel_size = 1,
  ETX_ARG_max_pool2d_with_indices_stride = 2,
  ETX_ARG_max_pool2d_with_indices_padding = 3,
  ETX_ARG_max_pool2d_with_indices_dilation = 4,
  ETX_ARG_max_pool2d_with_indices_ceil_mode = 5,
  ETX_ARG_max_pool2d_with_indices_out = 6,
  ETX_ARG_max_pool2d_with_indices_indices = 7,
};

// max_pool2d_out
enum {
  ETX_ARG_max_pool2d_self = 0,
  ETX_ARG_max_pool2d_kernel_size = 1,
  ETX_ARG_max_pool2d_stride = 2,
  ETX_ARG_max_pool2d_padding = 3,
  ETX_ARG_max_pool2d_dilation = 4,
  ETX_ARG_max_pool2d_ceil_mode = 5,
  ETX_ARG_max_pool2d_out = 6,
};

// max_pool2d_with_indices_backward_grad_input
enum {
  ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_output = 0,
  ETX_ARG_max_pool2d_with_indices_backward_grad_input_self = 1,
  ETX_ARG_max_pool2d_with_indices_backward_grad_input_kernel_size = 2,
  ETX_ARG_max_pool2d_with_indices_backward_grad_input_stride = 3,
  ETX_ARG_max_pool2d_with_indices_backward_grad_input_padding = 4,
  ETX_ARG_max_pool2d_with_indices_backward_grad_input_dilation = 5,
  ETX_ARG_max_pool2d_with_indices_backward_grad_input_ceil_mode = 6,
  ETX_ARG_max_pool2d_with_indices_backward_grad_input_indices = 7,
  ETX_ARG_max_pool2d_with_indices_backward_grad_input_grad_input = 8,
};

// upsample_nearest2d_vec_out
enum {
  ETX_ARG_upsample_nearest2d_vec_input = 0,
  ETX_ARG_upsample_nearest2d_vec_output_size = 1,
  ETX_ARG_upsample_nearest2d_vec_scale_factors = 2,
  ETX_ARG_upsample_nearest2d_vec_out = 3,
};

// upsample_bilinear2d_vec_out
enum {
  ETX_ARG_upsample_bilinear2d_vec_input = 0,
  ETX_ARG_upsample_bilinear2d_vec_output_size = 1,
  ETX_ARG_upsample_bilinear2d_vec_align_corners = 2,
  ETX_ARG_upsample_bilinear2d_vec_scale_factors = 3,
  ETX_ARG_upsample_bilinear2d_vec_out = 4,
};

// upsample_bilinear2d_aa_out
enum {
  ETX_ARG_upsample_bilinear2d_aa_self = 0,
  ETX_ARG_upsample_bilinear2d_aa_output_size = 1,
  ETX_ARG_upsample_bilinear2d_aa_align_corners = 2,
  ETX_ARG_upsample_bilinear2d_aa_scales_h = 3,
  ETX_ARG_upsample_bilinear2d_aa_scales_w = 4,
  ETX_ARG_upsample_bilinear2d_aa_out = 5,
};

// grid_sampler_2d_out
enum {
  ETX_ARG_grid_sampler_2d_input = 0,
  ETX_ARG_grid_sampler_2d_grid = 1,
  ETX_ARG_grid_sampler_2d_interpolation_mode = 2,
  ETX_ARG_grid_sampler_2d_padding_mode = 3,
  ETX_ARG_grid_sampler_2d_align_corners = 4,
  ETX_ARG_grid_sampler_2d_out = 5,
};

// sum_intlist_out
enum {
  ETX_ARG_sum_intlist_self = 0,
  ETX_ARG_sum_intlist_dim = 1,
  ETX_ARG_sum_intlist_keepdim = 2,
  ETX_ARG_sum_intlist_dtype = 3,
  ETX_ARG_sum_intlist_out = 4,
};

// mean_out
enum {
  ETX_ARG_mean_self = 0,
  ETX_ARG_mean_dim = 1,
  ETX_ARG_mean_keepdim = 2,
  ETX_ARG_mean_dtype = 3,
  ETX_ARG_mean_out = 4,
};

// mean_dtype_out
enum {
  ETX_ARG_mean_dtype_self = 0,
  ETX_ARG_mean_dtype_dtype = 1,
  ETX_ARG_mean_dtype_out = 2,
};

// var_out
enum {
  ETX_ARG_var_self = 0,
  ETX_ARG_var_dim = 1,
  ETX_ARG_var_unbiased = 2,
  ETX_ARG_var_keepdim = 3,
  ETX_ARG_var_out = 4,
};

// var_correction_out
enum {
  ETX_ARG_var_correction_self = 0,
  ETX_ARG_var_correction_dim = 1,
  ETX_ARG_var_correction_correction = 2,
  ETX_ARG_var_correction_keepdim = 3,
  ETX_ARG_var_correction_out = 4,
};

// var_mean_correction_out
enum {
  ETX_ARG_var_mean_correction_self = 0,
  ETX_ARG_var_mean_correction_dim = 1,
  ETX_ARG_var_mean_correction_correction = 2,
  ETX_ARG_var_mean_correction_keepdim = 3,
  ETX_ARG_var_mean_correction_out0 = 4,
  ETX_ARG_var_mean_correction_out1 = 5,
};

// amax_out
enum {
  ETX_ARG_amax_self = 0,
  ETX_ARG_amax_dim = 1,
  ETX_ARG_amax_keepdim = 2,
  ETX_ARG_amax_out = 3,
};

// amin_out
enum {
  ETX_ARG_amin_self = 0,
  ETX_ARG_amin_dim = 1,
  ETX_ARG_amin_keepdim = 2,
  ETX_ARG_amin_out = 3,
};

// any_all_out
enum {
  ETX_ARG_any_all_self = 0,
  ETX_ARG_any_all_out = 1,
};

// any_dims_out
enum {
  ETX_ARG_any_dims_self = 0,
  ETX_ARG_any_dims_dim = 1,
  ETX_ARG_any_dims_keepdim = 2,
  ETX_ARG_any_dims_out = 3,
};

// any_out
enum {
  ETX_ARG_any_self = 0,
  ETX_ARG_any_dim = 1,
  ETX_ARG_any_keepdim = 2,
  ETX_ARG_any_out = 3,
};

// argmax_out
enum {
  ETX_ARG_argmax_self = 0,
  ETX_ARG_argmax_dim = 1,
  ETX_ARG_argmax_keepdim = 2,
  ETX_ARG_argmax_out = 3,
};

// argmin_out
enum {
  ETX_ARG_argmin_self = 0,
  ETX_ARG_argmin_dim = 1,
  ETX_ARG_argmin_keepdim = 2,
  ETX_ARG_argmin_out = 3,
};

// max_dim_max
enum {
  ETX_ARG_max_dim_max_self = 0,
  ETX_ARG_max_dim_max_dim = 1,
  ETX_ARG_max_dim_max_keepdim = 2,
  ETX_ARG_max_dim_max_max = 3,
  ETX_ARG_max_dim_max_max_values = 4,
};

// min_dim_min
enum {
  ETX_ARG_min_dim_min_self = 0,
  ETX_ARG_min_dim_min_dim = 1,
  ETX_ARG_min_dim_min_keepdim = 2,
  ETX_ARG_min_dim_min_min = 3,
  ETX_ARG_min_dim_min_min_indices = 4,
};

// max_unary_out
enum {
  ETX_ARG_max_unary_self = 0,
  ETX_ARG_max_unary_out = 1,
};

// min_unary_out
enum {
  ETX_ARG_min_unary_self = 0,
  ETX_ARG_min_unary_out = 1,
};

// prod_int_out
enum {
  ETX_ARG_prod_int_self = 0,
  ETX_ARG_prod_int_dim = 1,
  ETX_ARG_prod_int_keepdim = 2,
  ETX_ARG_prod_int_dtype = 3,
  ETX_ARG_prod_int_out = 4,
};

// prod_out
enum {
  ETX_ARG_prod_self = 0,
  ETX_ARG_prod_dtype = 1,
  ETX_ARG_prod_out = 2,
};

// topk_values
enum {
  ETX_ARG_topk_values_self = 0,
  ETX_ARG_topk_values_k = 1,
  ETX_ARG_topk_values_dim = 2,
  ETX_ARG_topk_values_largest = 3,
  ETX_ARG_topk_values_sorted = 4,
  ETX_ARG_topk_values_values = 5,
  ETX_ARG_topk_values_indices = 6,
};

// cdist_forward_out
enum {
  ETX_ARG_cdist_forward_x1 = 0,
  ETX_ARG_cdist_forward_x2 = 1,
  ETX_ARG_cdist_forward_p = 2,
  ETX_ARG_cdist_forward_compute_mode = 3,
  ETX_ARG_cdist_forward_out = 4,
};

// pdist_forward_out
enum {
  ETX_ARG_pdist_forward_self = 0,
  ETX_ARG_pdist_forward_p = 1,
  ETX_ARG_pdist_forward_out = 2,
};

// allclose_out
enum {
  ETX_ARG_allclose_self = 0,
  ETX_ARG_allclose_other = 1,
  ETX_ARG_allclose_rtol = 2,
  ETX_ARG_allclose_atol = 3,
  ETX_ARG_allclose_equal_nan = 4,
  ETX_ARG_allclose_dummy_param = 5,
  ETX_ARG_allclose_out = 6,
};

// allclose_tensor
enum {
  ETX_ARG_allclose_tensor_self = 0,
  ETX_ARG_allclose_tensor_other = 1,
  ETX_ARG_allclose_tensor_rtol = 2,
  ETX_ARG_allclose_tensor_atol = 3,
  ETX_ARG_allclose_tensor_equal_nan = 4,
  ETX_ARG_allclose_tensor_dummy_param = 5,
  ETX_ARG_allclose_tensor_out = 6,
};

// cumsum_out
enum {
  ETX_ARG_cumsum_self = 0,
  ETX_ARG_cumsum_dim = 1,
  ETX_ARG_cumsum_dtype = 2,
  ETX_ARG_cumsum_out = 3,
};

// all_all_out
enum {
  ETX_ARG_all_all_self = 0,
  ETX_ARG_all_all_out = 1,
};

// all_out
enum {
  ETX_ARG_all_self = 0,
  ETX_ARG_all_dim = 1,
  ETX_ARG_all_keepdim = 2,
  ETX_ARG_all_out = 3,
};

// cumprod_out
enum {
  ETX_ARG_cumprod_self = 0,
  ETX_ARG_cumprod_dim = 1,
  ETX_ARG_cumprod_dtype = 2,
  ETX_ARG_cumprod_out = 3,
};

// cummax_out
enum {
  ETX_ARG_cummax_self = 0,
  ETX_ARG_cummax_dim = 1,
  ETX_ARG_cummax_values = 2,
  ETX_ARG_cummax_indices = 3,
};

// cummin_out
enum {
  ETX_ARG_cummin_self = 0,
  ETX_ARG_cummin_dim = 1,
  ETX_ARG_cummin_values = 2,
  ETX_ARG_cummin_indices = 3,
};

// logsumexp_out
enum {
  ETX_ARG_logsumexp_self = 0,
  ETX_ARG_logsumexp_dim = 1,
  ETX_ARG_logsumexp_keepdim = 2,
  ETX_ARG_logsumexp_out = 3,
};

// sort_values_stable
enum {
  ETX_ARG_sort_values_stable_self = 0,
  ETX_ARG_sort_values_stable_stable = 1,
  ETX_ARG_sort_values_stable_dim = 2,
  ETX_ARG_sort_values_stable_descending = 3,
  ETX_ARG_sort_values_stable_values = 4,
  ETX_ARG_sort_values_stable_indices = 5,
};

// unique2_out
enum {
  ETX_ARG_unique2_self = 0,
  ETX_ARG_unique2_sorted = 1,
  ETX_ARG_unique2_return_inverse = 2,
  ETX_ARG_unique2_return_counts = 3,
  ETX_ARG_unique2_out0 = 4,
  ETX_ARG_unique2_out1 = 5,
  ETX_ARG_unique2_out2 = 6,
};

// unique_dim_out
enum {
  ETX_ARG_unique_dim_self = 0,
  ETX_ARG_unique_dim_dim = 1,
  ETX_ARG_unique_dim_sorted = 2,
  ETX_ARG_unique_dim_return_inverse = 3,
  ETX_ARG_unique_dim_return_counts = 4,
  ETX_ARG_unique_dim_out0 = 5,
  ETX_ARG_unique_dim_out1 = 6,
  ETX_ARG_unique_dim_out2 = 7,
};

// unique_consecutive_out
enum {
  ETX_ARG_unique_consecutive_self = 0,
  ETX_ARG_unique_consecutive_return_inverse = 1,
  ETX_ARG_unique_consecutive_return_counts = 2,
  ETX_ARG_unique_consecutive_dim = 3,
  ETX_ARG_unique_consecutive_out0 = 4,
  ETX_ARG_unique_consecutive_out1 = 5,
  ETX_ARG_unique_consecutive_out2 = 6,
};

// std_correction_out
enum {
  ETX_ARG_std_correction_self = 0,
  ETX_ARG_std_correction_dim = 1,
  ETX_ARG_std_correction_correction = 2,
  ETX_ARG_std_correction_keepdim = 3,
  ETX_ARG_std_correction_out = 4,
};

// softmax_out
enum {
  ETX_ARG_softmax_self = 0,
  ETX_ARG_softmax_dim = 1,
  ETX_ARG_softmax_half_to_float = 2,
  ETX_ARG_softmax_out = 3,
};

// log_softmax_out
enum {
  ETX_ARG_log_softmax_self = 0,
  ETX_ARG_log_softmax_dim = 1,
  ETX_ARG_log_softmax_half_to_float = 2,
  ETX_ARG_log_softmax_out = 3,
};

// native_layer_norm_out
enum {
  ETX_ARG_native_layer_norm_input = 0,
  ETX_ARG_native_layer_norm_normalized_shape = 1,
  ETX_ARG_native_layer_norm_weight = 2,
  ETX_ARG_native_layer_norm_bias = 3,
  ETX_ARG_native_layer_norm_eps = 4,
  ETX_ARG_native_layer_norm_out0 = 5,
  ETX_ARG_native_layer_norm_out1 = 6,
  ETX_ARG_native_layer_norm_out2 = 7,
};

// rms_norm_out
enum {
  ETX_ARG_rms_norm_input = 0,
  ETX_ARG_rms_norm_normalized_shape = 1,
  ETX_ARG_rms_norm_weight = 2,
  ETX_ARG_rms_norm_eps = 3,
  ETX_ARG_rms_norm_out = 4,
};

// native_group_norm_out
enum {
  ETX_ARG_native_group_norm_input = 0,
  ETX_ARG_native_group_norm_weight = 1,
  ETX_ARG_native_group_norm_bias = 2,
  ETX_ARG_native_group_norm_N = 3,
  ETX_ARG_native_group_norm_C = 4,
  ETX_ARG_native_group_norm_HxW = 5,
  ETX_ARG_native_group_norm_group = 6,
  ETX_ARG_native_group_norm_eps = 7,
  ETX_ARG_native_group_norm_out0 = 8,
  ETX_ARG_native_group_norm_out1 = 9,
  ETX_ARG_native_group_norm_out2 = 10,
};

// native_batch_norm_legit_out
enum {
  ETX_ARG_native_batch_norm_legit_input = 0,
  ETX_ARG_native_batch_norm_legit_weight = 1,
  ETX_ARG_native_batch_norm_legit_bias = 2,
  ETX_ARG_native_batch_norm_legit_running_mean = 3,
  ETX_ARG_native_batch_norm_legit_running_var = 4,
  ETX_ARG_native_batch_norm_legit_training = 5,
  ETX_ARG_native_batch_norm_legit_momentum = 6,
  ETX_ARG_native_batch_norm_legit_eps = 7,
  ETX_ARG_native_batch_norm_legit_out = 8,
  ETX_ARG_native_batch_norm_legit_save_mean = 9,
  ETX_ARG_native_batch_norm_legit_save_invstd = 10,
};

// native_batch_norm_legit_no_stats_out
enum {
  ETX_ARG_native_batch_norm_legit_no_stats_input = 0,
  ETX_ARG_native_batch_norm_legit_no_stats_weight = 1,
  ETX_ARG_native_batch_norm_legit_no_stats_bias = 2,
  ETX_ARG_native_batch_norm_legit_no_stats_training = 3,
  ETX_ARG_native_batch_norm_legit_no_stats_momentum = 4,
  ETX_ARG_native_batch_norm_legit_no_stats_eps = 5,
  ETX_ARG_native_batch_norm_legit_no_stats_out = 6,
  ETX_ARG_native_batch_norm_legit_no_stats_save_mean = 7,
  ETX_ARG_native_batch_norm_legit_no_stats_save_invstd = 8,
};

// native_batch_norm_legit_no_training_out
enum {
  ETX_ARG_native_batch_norm_legit_no_training_input = 0,
  ETX_ARG_native_batch_norm_legit_no_training_weight = 1,
  ETX_ARG_native_batch_norm_legit_no_training_bias = 2,
  ETX_ARG_native_batch_norm_legit_no_training_running_mean = 3,
  ETX_ARG_native_batch_norm_legit_no_training_running_var = 4,
  ETX_ARG_native_batch_norm_legit_no_training_momentum = 5,
  ETX_ARG_native_batch_norm_legit_no_training_eps = 6,
  ETX_ARG_native_batch_norm_legit_no_training_out0 = 7,
  ETX_ARG_native_batch_norm_legit_no_training_out1 = 8,
  ETX_ARG_native_batch_norm_legit_no_training_out2 = 9,
};

// nms_out
enum {
  ETX_ARG_nms_dets = 0,
  ETX_ARG_nms_scores = 1,
  ETX_ARG_nms_iou_threshold = 2,
  ETX_ARG_nms_out = 3,
};

// roi_align_out
enum {
  ETX_ARG_roi_align_input = 0,
  ETX_ARG_roi_align_rois = 1,
  ETX_ARG_roi_align_spatial_scale = 2,
  ETX_ARG_roi_align_pooled_height = 3,
  ETX_ARG_roi_align_pooled_width = 4,
  ETX_ARG_roi_align_sampling_ratio = 5,
  ETX_ARG_roi_align_aligned = 6,
  ETX_ARG_roi_align_out = 7,
};

// gru_sequence_out
enum {
  ETX_ARG_gru_sequence_input = 0,
  ETX_ARG_gru_sequence_hx = 1,
  ETX_ARG_gru_sequence_w_hh = 2,
  ETX_ARG_gru_sequence_b_hh = 3,
  ETX_ARG_gru_sequence_reverse = 4,
  ETX_ARG_gru_sequence_batch_first = 5,
  ETX_ARG_gru_sequence_out = 6,
  ETX_ARG_gru_sequence_hy = 7,
};

// lstm_sequence_out
enum {
  ETX_ARG_lstm_sequence_input = 0,
  ETX_ARG_lstm_sequence_hx = 1,
  ETX_ARG_lstm_sequence_w_hh = 2,
  ETX_ARG_lstm_sequence_b_hh = 3,
  ETX_ARG_lstm_sequence_reverse = 4,
  ETX_ARG_lstm_sequence_batch_first = 5,
  ETX_ARG_lstm_sequence_cx = 6,
  ETX_ARG_lstm_sequence_out = 7,
  ETX_ARG_lstm_sequence_hy = 8,
  ETX_ARG_lstm_sequence_cy = 9,
};

// rnn_tanh_sequence_out
enum {
  ETX_ARG_rnn_tanh_sequence_input = 0,
  ETX_ARG_rnn_tanh_sequence_hx = 1,
  ETX_ARG_rnn_tanh_sequence_w_hh = 2,
  ETX_ARG_rnn_tanh_sequence_b_hh = 3,
  ETX_ARG_rnn_tanh_sequence_reverse = 4,
  ETX_ARG_rnn_tanh_sequence_batch_first = 5,
  ETX_ARG_rnn_tanh_sequence_out = 6,
  ETX_ARG_rnn_tanh_sequence_hy = 7,
};

// rnn_relu_sequence_out
enum {
  ETX_ARG_rnn_relu_sequence_input = 0,
  ETX_ARG_rnn_relu_sequence_hx = 1,
  ETX_ARG_rnn_relu_sequence_w_hh = 2,
  ETX_ARG_rnn_relu_sequence_b_hh = 3,
  ETX_ARG_rnn_relu_sequence_reverse = 4,
  ETX_ARG_rnn_relu_sequence_batch_first = 5,
  ETX_ARG_rnn_relu_sequence_out = 6,
  ETX_ARG_rnn_relu_sequence_hy = 7,
};

// fft_r2c_out
enum {
  ETX_ARG_fft_r2c_self = 0,
  ETX_ARG_fft_r2c_dim = 1,
  ETX_ARG_fft_r2c_normalization = 2,
  ETX_ARG_fft_r2c_onesided = 3,
  ETX_ARG_fft_r2c_out = 4,
};

// fft_c2r_out
enum {
  ETX_ARG_fft_c2r_self = 0,
  ETX_ARG_fft_c2r_dim = 1,
  ETX_ARG_fft_c2r_normalization = 2,
  ETX_ARG_fft_c2r_last_dim_size = 3,
  ETX_ARG_fft_c2r_out = 4,
};

// fft_c2c_out
enum {
  ETX_ARG_fft_c2c_self = 0,
  ETX_ARG_fft_c2c_dim = 1,
  ETX_ARG_fft_c2c_normalization = 2,
  ETX_ARG_fft_c2c_forward = 3,
  ETX_ARG_fft_c2c_out = 4,
};

// embedding_out
enum {
  ETX_ARG_embedding_weight = 0,
  ETX_ARG_embedding_indices = 1,
  ETX_ARG_embedding_padding_idx = 2,
  ETX_ARG_embedding_scale_grad_by_freq = 3,
  ETX_ARG_embedding_sparse = 4,
  ETX_ARG_embedding_out = 5,
};

// index_tensor_out
enum {
  ETX_ARG_index_tensor_self = 0,
  ETX_ARG_index_tensor_indices = 1,
  ETX_ARG_index_tensor_out = 2,
};

// index_put_out
enum {
  ETX_ARG_index_put_self = 0,
  ETX_ARG_index_put_indices = 1,
  ETX_ARG_index_put_values = 2,
  ETX_ARG_index_put_accumulate = 3,
  ETX_ARG_index_put_out = 4,
};

// index_put_in_place
enum {
  ETX_ARG_index_put_in_place_self = 0,
  ETX_ARG_index_put_in_place_indices = 1,
  ETX_ARG_index_put_in_place_values = 2,
  ETX_ARG_index_put_in_place_accumulate = 3,
};

// index_select_out
enum {
  ETX_ARG_index_select_self = 0,
  ETX_ARG_index_select_dim = 1,
  ETX_ARG_index_select_index = 2,
  ETX_ARG_index_select_out = 3,
};

// gather_out
enum {
  ETX_ARG_gather_self = 0,
  ETX_ARG_gather_dim = 1,
  ETX_ARG_gather_index = 2,
  ETX_ARG_gather_sparse_grad = 3,
  ETX_ARG_gather_out = 4,
};

// scatter_src_out
enum {
  ETX_ARG_scatter_src_self = 0,
  ETX_ARG_scatter_src_dim = 1,
  ETX_ARG_scatter_src_index = 2,
  ETX_ARG_scatter_src_src = 3,
  ETX_ARG_scatter_src_out = 4,
};

// scatter_value_out
enum {
  ETX_ARG_scatter_value_self = 0,
  ETX_ARG_scatter_value_dim = 1,
  ETX_ARG_scatter_value_index = 2,
  ETX_ARG_scatter_value_value = 3,
  ETX_ARG_scatter_value_out = 4,
};

// scatter_add_out
enum {
  ETX_ARG_scatter_add_self = 0,
  ETX_ARG_scatter_add_dim = 1,
  ETX_ARG_scatter_add_index = 2,
  ETX_ARG_scatter_add_src = 3,
  ETX_ARG_scatter_add_out = 4,
};

// scatter_reduce_two_out
enum {
  ETX_ARG_scatter_reduce_two_self = 0,
  ETX_ARG_scatter_reduce_two_dim = 1,
  ETX_ARG_scatter_reduce_two_index = 2,
  ETX_ARG_scatter_reduce_two_src = 3,
  ETX_ARG_scatter_reduce_two_reduce = 4,
  ETX_ARG_scatter_reduce_two_include_self = 5,
  ETX_ARG_scatter_reduce_two_out = 6,
};

// index_copy_out
enum {
  ETX_ARG_index_copy_self = 0,
  ETX_ARG_index_copy_dim = 1,
  ETX_ARG_index_copy_index = 2,
  ETX_ARG_index_copy_source = 3,
  ETX_ARG_index_copy_out = 4,
};

// index_add_out
enum {
  ETX_ARG_index_add_self = 0,
  ETX_ARG_index_add_dim = 1,
  ETX_ARG_index_add_index = 2,
  ETX_ARG_index_add_source = 3,
  ETX_ARG_index_add_alpha = 4,
  ETX_ARG_index_add_out = 5,
};

// index_fill_int_scalar_out
enum {
  ETX_ARG_index_fill_int_scalar_self = 0,
  ETX_ARG_index_fill_int_scalar_dim = 1,
  ETX_ARG_index_fill_int_scalar_index = 2,
  ETX_ARG_index_fill_int_scalar_value = 3,
  ETX_ARG_index_fill_int_scalar_out = 4,
};

// select_scatter_out
enum {
  ETX_ARG_select_scatter_self = 0,
  ETX_ARG_select_scatter_src = 1,
  ETX_ARG_select_scatter_dim = 2,
  ETX_ARG_select_scatter_index = 3,
  ETX_ARG_select_scatter_out = 4,
};

// masked_scatter_out
enum {
  ETX_ARG_masked_scatter_self = 0,
  ETX_ARG_masked_scatter_mask = 1,
  ETX_ARG_masked_scatter_source = 2,
  ETX_ARG_masked_scatter_out = 3,
};

// masked_select_out
enum {
  ETX_ARG_masked_select_self = 0,
  ETX_ARG_masked_select_mask = 1,
  ETX_ARG_masked_select_out = 2,
};

// nonzero_out
enum {
  ETX_ARG_nonzero_self = 0,
  ETX_ARG_nonzero_out = 1,
};

// nonzero_static_out
enum {
  ETX_ARG_nonzero_static_self = 0,
  ETX_ARG_nonzero_static_size = 1,
  ETX_ARG_nonzero_static_fill_value = 2,
  ETX_ARG_nonzero_static_out = 3,
};

// bincount_out
enum {
  ETX_ARG_bincount_self = 0,
  ETX_ARG_bincount_weights = 1,
  ETX_ARG_bincount_minlength = 2,
  ETX_ARG_bincount_out = 3,
};

// histc_out
enum {
  ETX_ARG_histc_self = 0,
  ETX_ARG_histc_bins = 1,
  ETX_ARG_histc_min = 2,
  ETX_ARG_histc_max = 3,
  ETX_ARG_histc_out = 4,
};

// linalg_lu_factor_ex_out
enum {
  ETX_ARG_linalg_lu_factor_ex_A = 0,
  ETX_ARG_linalg_lu_factor_ex_pivot = 1,
  ETX_ARG_linalg_lu_factor_ex_check_errors = 2,
  ETX_ARG_linalg_lu_factor_ex_LU = 3,
  ETX_ARG_linalg_lu_factor_ex_pivots = 4,
  ETX_ARG_linalg_lu_factor_ex_info = 5,
};

// linalg_lu_solve_out
enum {
  ETX_ARG_linalg_lu_solve_LU = 0,
  ETX_ARG_linalg_lu_solve_pivots = 1,
  ETX_ARG_linalg_lu_solve_B = 2,
  ETX_ARG_linalg_lu_solve_left = 3,
  ETX_ARG_linalg_lu_solve_adjoint = 4,
  ETX_ARG_linalg_lu_solve_out = 5,
};

// linalg_cholesky_ex_L
enum {
  ETX_ARG_linalg_cholesky_ex_L_self = 0,
  ETX_ARG_linalg_cholesky_ex_L_upper = 1,
  ETX_ARG_linalg_cholesky_ex_L_check_errors = 2,
  ETX_ARG_linalg_cholesky_ex_L_L = 3,
  ETX_ARG_linalg_cholesky_ex_L_info = 4,
};

// linalg_solve_triangular_out
enum {
  ETX_ARG_linalg_solve_triangular_self = 0,
  ETX_ARG_linalg_solve_triangular_B = 1,
  ETX_ARG_linalg_solve_triangular_upper = 2,
  ETX_ARG_linalg_solve_triangular_left = 3,
  ETX_ARG_linalg_solve_triangular_unitriangular = 4,
  ETX_ARG_linalg_solve_triangular_out = 5,
};

// lu_unpack_out
enum {
  ETX_ARG_lu_unpack_LU_data = 0,
  ETX_ARG_lu_unpack_LU_pivots = 1,
  ETX_ARG_lu_unpack_unpack_data = 2,
  ETX_ARG_lu_unpack_unpack_pivots = 3,
  ETX_ARG_lu_unpack_P = 4,
  ETX_ARG_lu_unpack_L = 5,
  ETX_ARG_lu_unpack_U = 6,
};

// linalg_qr_out
enum {
  ETX_ARG_linalg_qr_A = 0,
  ETX_ARG_linalg_qr_complete = 1,
  ETX_ARG_linalg_qr_compute_q = 2,
  ETX_ARG_linalg_qr_Q = 3,
  ETX_ARG_linalg_qr_R = 4,
};

// linalg_svd_out
enum {
  ETX_ARG_linalg_svd_A = 0,
  ETX_ARG_linalg_svd_full_matrices = 1,
  ETX_ARG_linalg_svd_compute_uv = 2,
  ETX_ARG_linalg_svd_U = 3,
  ETX_ARG_linalg_svd_S = 4,
  ETX_ARG_linalg_svd_Vh = 5,
};

// linalg_eigh_out
enum {
  ETX_ARG_linalg_eigh_A = 0,
  ETX_ARG_linalg_eigh_upper = 1,
  ETX_ARG_linalg_eigh_compute_v = 2,
  ETX_ARG_linalg_eigh_eigenvalues = 3,
  ETX_ARG_linalg_eigh_eigenvectors = 4,
};

// lu_det_out
enum {
  ETX_ARG_lu_det_LU = 0,
  ETX_ARG_lu_det_pivots = 1,
  ETX_ARG_lu_det_out = 2,
};

// lu_slogdet_out
enum {
  ETX_ARG_lu_slogdet_LU = 0,
  ETX_ARG_lu_slogdet_pivots = 1,
  ETX_ARG_lu_slogdet_sign = 2,
  ETX_ARG_lu_slogdet_logabsdet = 3,
};

// view_dtype_out
enum {
  ETX_ARG_view_dtype_self = 0,
  ETX_ARG_view_dtype_dtype = 1,
  ETX_ARG_view_dtype_out = 2,
};

// repeat_interleave_tensor_out
enum {
  ETX_ARG_repeat_interleave_tensor_repeats = 0,
  ETX_ARG_repeat_interleave_tensor_output_size = 1,
  ETX_ARG_repeat_interleave_tensor_out = 2,
};

// slice_scatter_out
enum {
  ETX_ARG_slice_scatter_self = 0,
  ETX_ARG_slice_scatter_src = 1,
  ETX_ARG_slice_scatter_dim = 2,
  ETX_ARG_slice_scatter_start = 3,
  ETX_ARG_slice_scatter_end = 4,
  ETX_ARG_slice_scatter_step = 5,
  ETX_ARG_slice_scatter_out = 6,
};

// quantize_per_tensor_out
enum {
  ETX_ARG_quantize_per_tensor_input = 0,
  ETX_ARG_quantize_per_tensor_scale = 1,
  ETX_ARG_quantize_per_tensor_zero_point = 2,
  ETX_ARG_quantize_per_tensor_quant_min = 3,
  ETX_ARG_quantize_per_tensor_quant_max = 4,
  ETX_ARG_quantize_per_tensor_dtype = 5,
  ETX_ARG_quantize_per_tensor_out = 6,
};

// quantize_per_tensor_tensor_out
enum {
  ETX_ARG_quantize_per_tensor_tensor_input = 0,
  ETX_ARG_quantize_per_tensor_tensor_scale = 1,
  ETX_ARG_quantize_per_tensor_tensor_zero_point = 2,
  ETX_ARG_quantize_per_tensor_tensor_quant_min = 3,
  ETX_ARG_quantize_per_tensor_tensor_quant_max = 4,
  ETX_ARG_quantize_per_tensor_tensor_dtype = 5,
  ETX_ARG_quantize_per_tensor_tensor_out = 6,
};

// quantize_per_channel_out
enum {
  ETX_ARG_quantize_per_channel_input = 0,
  ETX_ARG_quantize_per_channel_scales = 1,
  ETX_ARG_quantize_per_channel_zero_points = 2,
  ETX_ARG_quantize_per_channel_axis = 3,
  ETX_ARG_quantize_per_channel_quant_min = 4,
  ETX_ARG_quantize_per_channel_quant_max = 5,
  ETX_ARG_quantize_per_channel_dtype = 6,
  ETX_ARG_quantize_per_channel_out = 7,
};

// quantize_per_token_out
enum {
  ETX_ARG_quantize_per_token_input = 0,
  ETX_ARG_quantize_per_token_scales = 1,
  ETX_ARG_quantize_per_token_zero_points = 2,
  ETX_ARG_quantize_per_token_quant_min = 3,
  ETX_ARG_quantize_per_token_quant_max = 4,
  ETX_ARG_quantize_per_token_dtype = 5,
  ETX_ARG_quantize_per_token_out = 6,
};

// dequantize_per_tensor_out
enum {
  ETX_ARG_dequantize_per_tensor_input = 0,
  ETX_ARG_dequantize_per_tensor_scale = 1,
  ETX_ARG_dequantize_per_tensor_zero_point = 2,
  ETX_ARG_dequantize_per_tensor_quant_min = 3,
  ETX_ARG_dequantize_per_tensor_quant_max = 4,
  ETX_ARG_dequantize_per_tensor_dtype = 5,
  ETX_ARG_dequantize_per_tensor_out_dtype = 6,
  ETX_ARG_dequantize_per_tensor_out = 7,
};

// dequantize_per_tensor_tensor_out
enum {
  ETX_ARG_dequantize_per_tensor_tensor_input = 0,
  ETX_ARG_dequantize_per_tensor_tensor_scale = 1,
  ETX_ARG_dequantize_per_tensor_tensor_zero_point = 2,
  ETX_ARG_dequantize_per_tensor_tensor_quant_min = 3,
  ETX_ARG_dequantize_per_tensor_tensor_quant_max = 4,
  ETX_ARG_dequantize_per_tensor_tensor_dtype = 5,
  ETX_ARG_dequantize_per_tensor_tensor_out_dtype = 6,
  ETX_ARG_dequantize_per_tensor_tensor_out = 7,
};

// dequantize_per_channel_out
enum {
  ETX_ARG_dequantize_per_channel_input = 0,
  ETX_ARG_dequantize_per_channel_scales = 1,
  ETX_ARG_dequantize_per_channel_zero_points = 2,
  ETX_ARG_dequantize_per_channel_axis = 3,
  ETX_ARG_dequantize_per_channel_quant_min = 4,
  ETX_ARG_dequantize_per_channel_quant_max = 5,
  ETX_ARG_dequantize_per_channel_dtype = 6,
  ETX_ARG_dequantize_per_channel_out_dtype = 7,
  ETX_ARG_dequantize_per_channel_out = 8,
};

// dequantize_per_token_out
enum {
  ETX_ARG_dequantize_per_token_input = 0,
  ETX_ARG_dequantize_per_token_scales = 1,
  ETX_ARG_dequantize_per_token_zero_points = 2,
  ETX_ARG_dequantize_per_token_quant_min = 3,
  ETX_ARG_dequantize_per_token_quant_max = 4,
  ETX_ARG_dequantize_per_token_dtype = 5,
  ETX_ARG_dequantize_per_token_output_dtype = 6,
  ETX_ARG_dequantize_per_token_out = 7,
};

// choose_qparams_tensor_out
enum {
  ETX_ARG_choose_qparams_tensor_input = 0,
  ETX_ARG_choose_qparams_tensor_quant_min = 1,
  ETX_ARG_choose_qparams_tensor_quant_max = 2,
  ETX_ARG_choose_qparams_tensor_eps = 3,
  ETX_ARG_choose_qparams_tensor_dtype = 4,
  ETX_ARG_choose_qparams_tensor_scale_out = 5,
  ETX_ARG_choose_qparams_tensor_zero_point_out = 6,
};

// choose_qparams_per_token_asymmetric_out
enum {
  ETX_ARG_choose_qparams_per_token_asymmetric_input = 0,
  ETX_ARG_choose_qparams_per_token_asymmetric_dtype = 1,
  ETX_ARG_choose_qparams_per_token_asymmetric_scale_out = 2,
  ETX_ARG_choose_qparams_per_token_asymmetric_zero_point_out = 3,
};

// quantized_add_out
enum {
  ETX_ARG_quantized_add_a = 0,
  ETX_ARG_quantized_add_a_scale = 1,
  ETX_ARG_quantized_add_a_zero_point = 2,
  ETX_ARG_quantized_add_a_quant_min = 3,
  ETX_ARG_quantized_add_a_quant_max = 4,
  ETX_ARG_quantized_add_b = 5,
  ETX_ARG_quantized_add_b_scale = 6,
  ETX_ARG_quantized_add_b_zero_point = 7,
  ETX_ARG_quantized_add_b_quant_min = 8,
  ETX_ARG_quantized_add_b_quant_max = 9,
  ETX_ARG_quantized_add_out_scale = 10,
  ETX_ARG_quantized_add_out_zero_point = 11,
  ETX_ARG_quantized_add_out_quant_min = 12,
  ETX_ARG_quantized_add_out_quant_max = 13,
  ETX_ARG_quantized_add_out = 14,
};

// mixed_mm_out
enum {
  ETX_ARG_mixed_mm_input = 0,
  ETX_ARG_mixed_mm_weight = 1,
  ETX_ARG_mixed_mm_weight_scales = 2,
  ETX_ARG_mixed_mm_weight_zero_points = 3,
  ETX_ARG_mixed_mm_out = 4,
};

// mixed_linear_out
enum {
  ETX_ARG_mixed_linear_input = 0,
  ETX_ARG_mixed_linear_weight = 1,
  ETX_ARG_mixed_linear_weight_scales = 2,
  ETX_ARG_mixed_linear_weight_zero_points = 3,
  ETX_ARG_mixed_linear_dtype = 4,
  ETX_ARG_mixed_linear_out = 5,
};

// embedding_byte_out
enum {
  ETX_ARG_embedding_byte_weight = 0,
  ETX_ARG_embedding_byte_weight_scales = 1,
  ETX_ARG_embedding_byte_weight_zero_points = 2,
  ETX_ARG_embedding_byte_weight_quant_min = 3,
  ETX_ARG_embedding_byte_weight_quant_max = 4,
  ETX_ARG_embedding_byte_indices = 5,
  ETX_ARG_embedding_byte_out = 6,
};

// embedding_byte_dtype_out
enum {
  ETX_ARG_embedding_byte_dtype_weight = 0,
  ETX_ARG_embedding_byte_dtype_weight_scales = 1,
  ETX_ARG_embedding_byte_dtype_weight_zero_points = 2,
  ETX_ARG_embedding_byte_dtype_weight_quant_min = 3,
  ETX_ARG_embedding_byte_dtype_weight_quant_max = 4,
  ETX_ARG_embedding_byte_dtype_indices = 5,
  ETX_ARG_embedding_byte_dtype_dtype = 6,
  ETX_ARG_embedding_byte_dtype_out = 7,
};

// embedding_2bit_out
enum {
  ETX_ARG_embedding_2bit_weight = 0,
  ETX_ARG_embedding_2bit_weight_scales = 1,
  ETX_ARG_embedding_2bit_weight_zero_points = 2,
  ETX_ARG_embedding_2bit_weight_quant_min = 3,
  ETX_ARG_embedding_2bit_weight_quant_max = 4,
  ETX_ARG_embedding_2bit_indices = 5,
  ETX_ARG_embedding_2bit_out = 6,
};

// embedding_2bit_dtype_out
enum {
  ETX_ARG_embedding_2bit_dtype_weight = 0,
  ETX_ARG_embedding_2bit_dtype_weight_scales = 1,
  ETX_ARG_embedding_2bit_dtype_weight_zero_points = 2,
  ETX_ARG_embedding_2bit_dtype_weight_quant_min = 3,
  ETX_ARG_embedding_2bit_dtype_weight_quant_max = 4,
  ETX_ARG_embedding_2bit_dtype_indices = 5,
  ETX_ARG_embedding_2bit_dtype_dtype = 6,
  ETX_ARG_embedding_2bit_dtype_out = 7,
};

// embedding_4bit_out
enum {
  ETX_ARG_embedding_4bit_weight = 0,
  ETX_ARG_embedding_4bit_weight_scales = 1,
  ETX_ARG_embedding_4bit_weight_zero_points = 2,
  ETX_ARG_embedding_4bit_weight_quant_min = 3,
  ETX_ARG_embedding_4bit_weight_quant_max = 4,
  ETX_ARG_embedding_4bit_indices = 5,
  ETX_ARG_embedding_4bit_out = 6,
};

// embedding_4bit_dtype_out
enum {
  ETX_ARG_embedding_4bit_dtype_weight = 0,
  ETX_ARG_embedding_4bit_dtype_weight_scales = 1,
  ETX_ARG_embedding_4bit_dtype_weight_zero_points = 2,
  ETX_ARG_embedding_4bit_dtype_weight_quant_min = 3,
  ETX_ARG_embedding_4bit_dtype_weight_quant_max = 4,
  ETX_ARG_embedding_4bit_dtype_indices = 5,
  ETX_ARG_embedding_4bit_dtype_dtype = 6,
  ETX_ARG_embedding_4bit_dtype_out = 7,
};

// linear_w8_out
enum {
  ETX_ARG_linear_w8_input = 0,
  ETX_ARG_linear_w8_weight = 1,
  ETX_ARG_linear_w8_scales = 2,
  ETX_ARG_linear_w8_bias = 3,
  ETX_ARG_linear_w8_out = 4,
};

// linear_w4g_out
enum {
  ETX_ARG_linear_w4g_input = 0,
  ETX_ARG_linear_w4g_packed = 1,
  ETX_ARG_linear_w4g_scales = 2,
  ETX_ARG_linear_w4g_zero_points = 3,
  ETX_ARG_linear_w4g_group_size = 4,
  ETX_ARG_linear_w4g_bias = 5,
  ETX_ARG_linear_w4g_out = 6,
};

// linear_a8w8_out
enum {
  ETX_ARG_linear_a8w8_input = 0,
  ETX_ARG_linear_a8w8_weight = 1,
  ETX_ARG_linear_a8w8_scales = 2,
  ETX_ARG_linear_a8w8_bias = 3,
  ETX_ARG_linear_a8w8_out = 4,
};

// linear_a8w8_panels_out
enum {
  ETX_ARG_linear_a8w8_panels_input = 0,
  ETX_ARG_linear_a8w8_panels_panels = 1,
  ETX_ARG_linear_a8w8_panels_scales = 2,
  ETX_ARG_linear_a8w8_panels_sums = 3,
  ETX_ARG_linear_a8w8_panels_bias = 4,
  ETX_ARG_linear_a8w8_panels_out = 5,
};

// linear_a8w8_panels_argmax_out
enum {
  ETX_ARG_linear_a8w8_panels_argmax_input = 0,
  ETX_ARG_linear_a8w8_panels_argmax_panels = 1,
  ETX_ARG_linear_a8w8_panels_argmax_scales = 2,
  ETX_ARG_linear_a8w8_panels_argmax_sums = 3,
  ETX_ARG_linear_a8w8_panels_argmax_bias = 4,
  ETX_ARG_linear_a8w8_panels_argmax_keepdim = 5,
  ETX_ARG_linear_a8w8_panels_argmax_out = 6,
};

// linear_a8w4g_out
enum {
  ETX_ARG_linear_a8w4g_input = 0,
  ETX_ARG_linear_a8w4g_packed = 1,
  ETX_ARG_linear_a8w4g_scales = 2,
  ETX_ARG_linear_a8w4g_zero_points = 3,
  ETX_ARG_linear_a8w4g_group_size = 4,
  ETX_ARG_linear_a8w4g_bias = 5,
  ETX_ARG_linear_a8w4g_out = 6,
};

// convolution_u8_out
enum {
  ETX_ARG_convolution_u8_input = 0,
  ETX_ARG_convolution_u8_zero_point = 1,
  ETX_ARG_convolution_u8_panels = 2,
  ETX_ARG_convolution_u8_offsets = 3,
  ETX_ARG_convolution_u8_scales = 4,
  ETX_ARG_convolution_u8_bias = 5,
  ETX_ARG_convolution_u8_kernel_size = 6,
  ETX_ARG_convolution_u8_stride = 7,
  ETX_ARG_convolution_u8_padding = 8,
  ETX_ARG_convolution_u8_dilation = 9,
  ETX_ARG_convolution_u8_groups = 10,
  ETX_ARG_convolution_u8_out_zero_point = 11,
  ETX_ARG_convolution_u8_out_min = 12,
  ETX_ARG_convolution_u8_out_max = 13,
  ETX_ARG_convolution_u8_dtype = 14,
  ETX_ARG_convolution_u8_out = 15,
};

// depthwise_u8_out
enum {
  ETX_ARG_depthwise_u8_input = 0,
  ETX_ARG_depthwise_u8_zero_point = 1,
  ETX_ARG_depthwise_u8_weight = 2,
  ETX_ARG_depthwise_u8_offsets = 3,
  ETX_ARG_depthwise_u8_scales = 4,
  ETX_ARG_depthwise_u8_bias = 5,
  ETX_ARG_depthwise_u8_stride = 6,
  ETX_ARG_depthwise_u8_padding = 7,
  ETX_ARG_depthwise_u8_dilation = 8,
  ETX_ARG_depthwise_u8_out_zero_point = 9,
  ETX_ARG_depthwise_u8_out_min = 10,
  ETX_ARG_depthwise_u8_out_max = 11,
  ETX_ARG_depthwise_u8_dtype = 12,
  ETX_ARG_depthwise_u8_out = 13,
};

// linear_u8_out
enum {
  ETX_ARG_linear_u8_input = 0,
  ETX_ARG_linear_u8_panels = 1,
  ETX_ARG_linear_u8_offsets = 2,
  ETX_ARG_linear_u8_scales = 3,
  ETX_ARG_linear_u8_bias = 4,
  ETX_ARG_linear_u8_out_zero_point = 5,
  ETX_ARG_linear_u8_out_min = 6,
  ETX_ARG_linear_u8_out_max = 7,
  ETX_ARG_linear_u8_dtype = 8,
  ETX_ARG_linear_u8_out = 9,
};

// max_pool2d_u8_out
enum {
  ETX_ARG_max_pool2d_u8_self = 0,
  ETX_ARG_max_pool2d_u8_kernel_size = 1,
  ETX_ARG_max_pool2d_u8_stride = 2,
  ETX_ARG_max_pool2d_u8_padding = 3,
  ETX_ARG_max_pool2d_u8_dilation = 4,
  ETX_ARG_max_pool2d_u8_ceil_mode = 5,
  ETX_ARG_max_pool2d_u8_out = 6,
};

// mean_u8_out
enum {
  ETX_ARG_mean_u8_self = 0,
  ETX_ARG_mean_u8_zero_point = 1,
  ETX_ARG_mean_u8_scale = 2,
  ETX_ARG_mean_u8_out_zero_point = 3,
  ETX_ARG_mean_u8_out_min = 4,
  ETX_ARG_mean_u8_out_max = 5,
  ETX_ARG_mean_u8_dtype = 6,
  ETX_ARG_mean_u8_out = 7,
};

// chain_u8_out
enum {
  ETX_ARG_chain_u8_self = 0,
  ETX_ARG_chain_u8_scale = 1,
  ETX_ARG_chain_u8_zero_point = 2,
  ETX_ARG_chain_u8_others = 3,
  ETX_ARG_chain_u8_scales = 4,
  ETX_ARG_chain_u8_zero_points = 5,
  ETX_ARG_chain_u8_steps = 6,
  ETX_ARG_chain_u8_out_scale = 7,
  ETX_ARG_chain_u8_out_zero_point = 8,
  ETX_ARG_chain_u8_out_min = 9,
  ETX_ARG_chain_u8_out_max = 10,
  ETX_ARG_chain_u8_dtype = 11,
  ETX_ARG_chain_u8_out = 12,
};

// scaled_dot_product_attention_out
enum {
  ETX_ARG_scaled_dot_product_attention_query = 0,
  ETX_ARG_scaled_dot_product_attention_key = 1,
  ETX_ARG_scaled_dot_product_attention_value = 2,
  ETX_ARG_scaled_dot_product_attention_attn_mask = 3,
  ETX_ARG_scaled_dot_product_attention_dropout_p = 4,
  ETX_ARG_scaled_dot_product_attention_is_causal = 5,
  ETX_ARG_scaled_dot_product_attention_scale = 6,
  ETX_ARG_scaled_dot_product_attention_enable_gqa = 7,
  ETX_ARG_scaled_dot_product_attention_out = 8,
};

// attention_out
enum {
  ETX_ARG_attention_query = 0,
  ETX_ARG_attention_key = 1,
  ETX_ARG_attention_value = 2,
  ETX_ARG_attention_mask = 3,
  ETX_ARG_attention_last = 4,
  ETX_ARG_attention_query_order = 5,
  ETX_ARG_attention_key_order = 6,
  ETX_ARG_attention_value_order = 7,
  ETX_ARG_attention_out_order = 8,
  ETX_ARG_attention_scale = 9,
  ETX_ARG_attention_hidden = 10,
  ETX_ARG_attention_is_causal = 11,
  ETX_ARG_attention_is_guarded = 12,
  ETX_ARG_attention_out = 13,
};

// attention_capped_out
enum {
  ETX_ARG_attention_capped_query = 0,
  ETX_ARG_attention_capped_key = 1,
  ETX_ARG_attention_capped_value = 2,
  ETX_ARG_attention_capped_mask = 3,
  ETX_ARG_attention_capped_last = 4,
  ETX_ARG_attention_capped_query_order = 5,
  ETX_ARG_attention_capped_key_order = 6,
  ETX_ARG_attention_capped_value_order = 7,
  ETX_ARG_attention_capped_out_order = 8,
  ETX_ARG_attention_capped_scale = 9,
  ETX_ARG_attention_capped_hidden = 10,
  ETX_ARG_attention_capped_is_causal = 11,
  ETX_ARG_attention_capped_is_guarded = 12,
  ETX_ARG_attention_capped_cap = 13,
  ETX_ARG_attention_capped_out = 14,
};

// attention_scaled_out
enum {
  ETX_ARG_attention_scaled_query = 0,
  ETX_ARG_attention_scaled_key = 1,
  ETX_ARG_attention_scaled_value = 2,
  ETX_ARG_attention_scaled_mask = 3,
  ETX_ARG_attention_scaled_last = 4,
  ETX_ARG_attention_scaled_query_order = 5,
  ETX_ARG_attention_scaled_key_order = 6,
  ETX_ARG_attention_scaled_value_order = 7,
  ETX_ARG_attention_scaled_out_order = 8,
  ETX_ARG_attention_scaled_scale = 9,
  ETX_ARG_attention_scaled_hidden = 10,
  ETX_ARG_attention_scaled_is_causal = 11,
  ETX_ARG_attention_scaled_is_guarded = 12,
  ETX_ARG_attention_scaled_cap = 13,
  ETX_ARG_attention_scaled_key_factors = 14,
  ETX_ARG_attention_scaled_value_factors = 15,
  ETX_ARG_attention_scaled_out = 16,
};

// quantize_rows_out
enum {
  ETX_ARG_quantize_rows_input = 0,
  ETX_ARG_quantize_rows_values = 1,
  ETX_ARG_quantize_rows_factors = 2,
};

// kv_update_out
enum {
  ETX_ARG_kv_update_cache = 0,
  ETX_ARG_kv_update_value = 1,
  ETX_ARG_kv_update_dim = 2,
  ETX_ARG_kv_update_start = 3,
  ETX_ARG_kv_update_out = 4,
};

// cache_rows_out
enum {
  ETX_ARG_cache_rows_index = 0,
  ETX_ARG_cache_rows_capacity = 1,
  ETX_ARG_cache_rows_wraps = 2,
  ETX_ARG_cache_rows_what = 3,
  ETX_ARG_cache_rows_out = 4,
};

// custom_sdpa_out
enum {
  ETX_ARG_custom_sdpa_query = 0,
  ETX_ARG_custom_sdpa_key = 1,
  ETX_ARG_custom_sdpa_value = 2,
  ETX_ARG_custom_sdpa_start_pos = 3,
  ETX_ARG_custom_sdpa_attn_mask = 4,
  ETX_ARG_custom_sdpa_drpout_p = 5,
  ETX_ARG_custom_sdpa_is_causal = 6,
  ETX_ARG_custom_sdpa_scale = 7,
  ETX_ARG_custom_sdpa_out = 8,
};

// custom_quantized_sdpa_out
enum {
  ETX_ARG_custom_quantized_sdpa_query = 0,
  ETX_ARG_custom_quantized_sdpa_key = 1,
  ETX_ARG_custom_quantized_sdpa_value = 2,
  ETX_ARG_custom_quantized_sdpa_start_pos = 3,
  ETX_ARG_custom_quantized_sdpa_attn_mask = 4,
  ETX_ARG_custom_quantized_sdpa_drpout_p = 5,
  ETX_ARG_custom_quantized_sdpa_is_causal = 6,
  ETX_ARG_custom_quantized_sdpa_scale = 7,
  ETX_ARG_custom_quantized_sdpa_q_zero_points = 8,
  ETX_ARG_custom_quantized_sdpa_q_scales = 9,
  ETX_ARG_custom_quantized_sdpa_k_zero_points = 10,
  ETX_ARG_custom_quantized_sdpa_k_scales = 11,
  ETX_ARG_custom_quantized_sdpa_v_zero_points = 12,
  ETX_ARG_custom_quantized_sdpa_v_scales = 13,
  ETX_ARG_custom_quantized_sdpa_is_seq_at_dim_2 = 14,
  ETX_ARG_custom_quantized_sdpa_out = 15,
};

// sdpa_with_kv_cache_out
enum {
  ETX_ARG_sdpa_with_kv_cache_query = 0,
  ETX_ARG_sdpa_with_kv_cache_key = 1,
  ETX_ARG_sdpa_with_kv_cache_value = 2,
  ETX_ARG_sdpa_with_kv_cache_key_cache = 3,
  ETX_ARG_sdpa_with_kv_cache_value_cache = 4,
  ETX_ARG_sdpa_with_kv_cache_start_pos = 5,
  ETX_ARG_sdpa_with_kv_cache_seq_len = 6,
  ETX_ARG_sdpa_with_kv_cache_attn_mask = 7,
  ETX_ARG_sdpa_with_kv_cache_drpout_p = 8,
  ETX_ARG_sdpa_with_kv_cache_is_causal = 9,
  ETX_ARG_sdpa_with_kv_cache_scale = 10,
  ETX_ARG_sdpa_with_kv_cache_out = 11,
};

// update_cache_out
enum {
  ETX_ARG_update_cache_value = 0,
  ETX_ARG_update_cache_cache = 1,
  ETX_ARG_update_cache_start_pos = 2,
  ETX_ARG_update_cache_out = 3,
};

// update_cache_with_indices_out
enum {
  ETX_ARG_update_cache_with_indices_value = 0,
  ETX_ARG_update_cache_with_indices_cache = 1,
  ETX_ARG_update_cache_with_indices_start_pos = 2,
  ETX_ARG_update_cache_with_indices_indices = 3,
  ETX_ARG_update_cache_with_indices_out = 4,
};

// quantized_moe_ffn_out
enum {
  ETX_ARG_quantized_moe_ffn_x = 0,
  ETX_ARG_quantized_moe_ffn_gate_weight = 1,
  ETX_ARG_quantized_moe_ffn_expert_bias = 2,
  ETX_ARG_quantized_moe_ffn_packed_w13 = 3,
  ETX_ARG_quantized_moe_ffn_packed_w2 = 4,
  ETX_ARG_quantized_moe_ffn_num_activated_experts = 5,
  ETX_ARG_quantized_moe_ffn_num_experts = 6,
  ETX_ARG_quantized_moe_ffn_hidden_dim = 7,
  ETX_ARG_quantized_moe_ffn_dim = 8,
  ETX_ARG_quantized_moe_ffn_group_size = 9,
  ETX_ARG_quantized_moe_ffn_weight_nbit = 10,
  ETX_ARG_quantized_moe_ffn_score_func = 11,
  ETX_ARG_quantized_moe_ffn_route_scale = 12,
  ETX_ARG_quantized_moe_ffn_out = 13,
};

// gated_delta_rule_out
enum {
  ETX_ARG_gated_delta_rule_query = 0,
  ETX_ARG_gated_delta_rule_key = 1,
  ETX_ARG_gated_delta_rule_value = 2,
  ETX_ARG_gated_delta_rule_decay = 3,
  ETX_ARG_gated_delta_rule_beta = 4,
  ETX_ARG_gated_delta_rule_initial_state = 5,
  ETX_ARG_gated_delta_rule_out = 6,
  ETX_ARG_gated_delta_rule_final_state_out = 7,
};

// channelwise_gated_delta_rule_out
enum {
  ETX_ARG_channelwise_gated_delta_rule_query = 0,
  ETX_ARG_channelwise_gated_delta_rule_key = 1,
  ETX_ARG_channelwise_gated_delta_rule_value = 2,
  ETX_ARG_channelwise_gated_delta_rule_decay = 3,
  ETX_ARG_channelwise_gated_delta_rule_beta = 4,
  ETX_ARG_channelwise_gated_delta_rule_initial_state = 5,
  ETX_ARG_channelwise_gated_delta_rule_out = 6,
  ETX_ARG_channelwise_gated_delta_rule_final_state_out = 7,
};

// copy_out
enum {
  ETX_ARG_copy_self = 0,
  ETX_ARG_copy_src = 1,
  ETX_ARG_copy_non_blocking = 2,
  ETX_ARG_copy_out = 3,
};

// copy_in_place
enum {
  ETX_ARG_copy_in_place_self = 0,
  ETX_ARG_copy_in_place_src = 1,
  ETX_ARG_copy_in_place_non_blocking = 2,
};

// clone_out
enum {
  ETX_ARG_clone_self = 0,
  ETX_ARG_clone_memory_format = 1,
  ETX_ARG_clone_out = 2,
};

// alias_copy_out
enum {
  ETX_ARG_alias_copy_self = 0,
  ETX_ARG_alias_copy_out = 1,
};

// detach_copy_out
enum {
  ETX_ARG_detach_copy_self = 0,
  ETX_ARG_detach_copy_out = 1,
};

// lift_fresh_copy_out
enum {
  ETX_ARG_lift_fresh_copy_self = 0,
  ETX_ARG_lift_fresh_copy_out = 1,
};

// to_copy_out
enum {
  ETX_ARG_to_copy_self = 0,
  ETX_ARG_to_copy_non_blocking = 1,
  ETX_ARG_to_copy_memory_format = 2,
  ETX_ARG_to_copy_out = 3,
};

// to_dim_order_copy_out
enum {
  ETX_ARG_to_dim_order_copy_self = 0,
  ETX_ARG_to_dim_order_copy_non_blocking = 1,
  ETX_ARG_to_dim_order_copy_dim_order = 2,
  ETX_ARG_to_dim_order_copy_out = 3,
};

// clone_dim_order_out
enum {
  ETX_ARG_clone_dim_order_self = 0,
  ETX_ARG_clone_dim_order_non_blocking = 1,
  ETX_ARG_clone_dim_order_dim_order = 2,
  ETX_ARG_clone_dim_order_out = 3,
};

// h2d_copy_out
enum {
  ETX_ARG_h2d_copy_self = 0,
  ETX_ARG_h2d_copy_out = 1,
};

// d2h_copy_out
enum {
  ETX_ARG_d2h_copy_self = 0,
  ETX_ARG_d2h_copy_out = 1,
};

// fallback_out
enum {
  ETX_ARG_fallback_input = 0,
  ETX_ARG_fallback_output = 1,
};

// view_as_real_copy_out
enum {
  ETX_ARG_view_as_real_copy_self = 0,
  ETX_ARG_view_as_real_copy_out = 1,
};

// view_as_complex_copy_out
enum {
  ETX_ARG_view_as_complex_copy_self = 0,
  ETX_ARG_view_as_complex_copy_out = 1,
};

// view_copy_out
enum {
  ETX_ARG_view_copy_self = 0,
  ETX_ARG_view_copy_size = 1,
  ETX_ARG_view_copy_out = 2,
};

// unsqueeze_copy_out
enum {
  ETX_ARG_unsqueeze_copy_self = 0,
  ETX_ARG_unsqueeze_copy_dim = 1,
  ETX_ARG_unsqueeze_copy_out = 2,
};

// squeeze_copy_dim_out
enum {
  ETX_ARG_squeeze_copy_dim_self = 0,
  ETX_ARG_squeeze_copy_dim_dim = 1,
  ETX_ARG_squeeze_copy_dim_out = 2,
};

// squeeze_copy_dims_out
enum {
  ETX_ARG_squeeze_copy_dims_self = 0,
  ETX_ARG_squeeze_copy_dims_dim = 1,
  ETX_ARG_squeeze_copy_dims_out = 2,
};

// permute_copy_out
enum {
  ETX_ARG_permute_copy_self = 0,
  ETX_ARG_permute_copy_dims = 1,
  ETX_ARG_permute_copy_out = 2,
};

// transpose_copy_int_out
enum {
  ETX_ARG_transpose_copy_int_self = 0,
  ETX_ARG_transpose_copy_int_dim0 = 1,
  ETX_ARG_transpose_copy_int_dim1 = 2,
  ETX_ARG_transpose_copy_int_out = 3,
};

// t_copy_out
enum {
  ETX_ARG_t_copy_self = 0,
  ETX_ARG_t_copy_out = 1,
};

// expand_copy_out
enum {
  ETX_ARG_expand_copy_self = 0,
  ETX_ARG_expand_copy_size = 1,
  ETX_ARG_expand_copy_implicit = 2,
  ETX_ARG_expand_copy_out = 3,
};

// repeat_out
enum {
  ETX_ARG_repeat_self = 0,
  ETX_ARG_repeat_repeats = 1,
  ETX_ARG_repeat_out = 2,
};

// select_copy_int_out
enum {
  ETX_ARG_select_copy_int_self = 0,
  ETX_ARG_select_copy_int_dim = 1,
  ETX_ARG_select_copy_int_index = 2,
  ETX_ARG_select_copy_int_out = 3,
};

// slice_copy_tensor_out
enum {
  ETX_ARG_slice_copy_tensor_self = 0,
  ETX_ARG_slice_copy_tensor_dim = 1,
  ETX_ARG_slice_copy_tensor_start = 2,
  ETX_ARG_slice_copy_tensor_end = 3,
  ETX_ARG_slice_copy_tensor_step = 4,
  ETX_ARG_slice_copy_tensor_out = 5,
};

// narrow_copy_out
enum {
  ETX_ARG_narrow_copy_self = 0,
  ETX_ARG_narrow_copy_dim = 1,
  ETX_ARG_narrow_copy_start = 2,
  ETX_ARG_narrow_copy_length = 3,
  ETX_ARG_narrow_copy_out = 4,
};

// split_copy_tensor_out
enum {
  ETX_ARG_split_copy_tensor_self = 0,
  ETX_ARG_split_copy_tensor_split_size = 1,
  ETX_ARG_split_copy_tensor_dim = 2,
  ETX_ARG_split_copy_tensor_out = 3,
};

// split_with_sizes_copy_out
enum {
  ETX_ARG_split_with_sizes_copy_self = 0,
  ETX_ARG_split_with_sizes_copy_split_sizes = 1,
  ETX_ARG_split_with_sizes_copy_dim = 2,
  ETX_ARG_split_with_sizes_copy_out = 3,
};

// unbind_copy_int_out
enum {
  ETX_ARG_unbind_copy_int_self = 0,
  ETX_ARG_unbind_copy_int_dim = 1,
  ETX_ARG_unbind_copy_int_out = 2,
};

// cat_out
enum {
  ETX_ARG_cat_tensors = 0,
  ETX_ARG_cat_dim = 1,
  ETX_ARG_cat_out = 2,
};

// stack_out
enum {
  ETX_ARG_stack_tensors = 0,
  ETX_ARG_stack_dim = 1,
  ETX_ARG_stack_out = 2,
};

// tril_out
enum {
  ETX_ARG_tril_self = 0,
  ETX_ARG_tril_diagonal = 1,
  ETX_ARG_tril_out = 2,
};

// triu_out
enum {
  ETX_ARG_triu_self = 0,
  ETX_ARG_triu_diagonal = 1,
  ETX_ARG_triu_out = 2,
};

// flip_out
enum {
  ETX_ARG_flip_self = 0,
  ETX_ARG_flip_dims = 1,
  ETX_ARG_flip_out = 2,
};

// roll_out
enum {
  ETX_ARG_roll_self = 0,
  ETX_ARG_roll_shifts = 1,
  ETX_ARG_roll_dims = 2,
  ETX_ARG_roll_out = 3,
};

// as_strided_copy_out
enum {
  ETX_ARG_as_strided_copy_self = 0,
  ETX_ARG_as_strided_copy_size = 1,
  ETX_ARG_as_strided_copy_stride = 2,
  ETX_ARG_as_strided_copy_storage_offset = 3,
  ETX_ARG_as_strided_copy_out = 4,
};

// diagonal_copy_out
enum {
  ETX_ARG_diagonal_copy_self = 0,
  ETX_ARG_diagonal_copy_offset = 1,
  ETX_ARG_diagonal_copy_dim1 = 2,
  ETX_ARG_diagonal_copy_dim2 = 3,
  ETX_ARG_diagonal_copy_out = 4,
};

// unfold_copy_out
enum {
  ETX_ARG_unfold_copy_self = 0,
  ETX_ARG_unfold_copy_dimension = 1,
  ETX_ARG_unfold_copy_size = 2,
  ETX_ARG_unfold_copy_step = 3,
  ETX_ARG_unfold_copy_out = 4,
};

// pixel_shuffle_out
enum {
  ETX_ARG_pixel_shuffle_self = 0,
  ETX_ARG_pixel_shuffle_upscale_factor = 1,
  ETX_ARG_pixel_shuffle_out = 2,
};

// pixel_unshuffle_out
enum {
  ETX_ARG_pixel_unshuffle_self = 0,
  ETX_ARG_pixel_unshuffle_downscale_factor = 1,
  ETX_ARG_pixel_unshuffle_out = 2,
};

// tile_crop_out
enum {
  ETX_ARG_tile_crop_input = 0,
  ETX_ARG_tile_crop_tile_size = 1,
  ETX_ARG_tile_crop_out = 2,
};

// reflection_pad1d_out
enum {
  ETX_ARG_reflection_pad1d_self = 0,
  ETX_ARG_reflection_pad1d_padding = 1,
  ETX_ARG_reflection_pad1d_out = 2,
};

// reflection_pad2d_out
enum {
  ETX_ARG_reflection_pad2d_self = 0,
  ETX_ARG_reflection_pad2d_padding = 1,
  ETX_ARG_reflection_pad2d_out = 2,
};

// reflection_pad3d_out
enum {
  ETX_ARG_reflection_pad3d_self = 0,
  ETX_ARG_reflection_pad3d_padding = 1,
  ETX_ARG_reflection_pad3d_out = 2,
};

// replication_pad1d_out
enum {
  ETX_ARG_replication_pad1d_self = 0,
  ETX_ARG_replication_pad1d_padding = 1,
  ETX_ARG_replication_pad1d_out = 2,
};

// replication_pad2d_out
enum {
  ETX_ARG_replication_pad2d_self = 0,
  ETX_ARG_replication_pad2d_padding = 1,
  ETX_ARG_replication_pad2d_out = 2,
};

// replication_pad3d_out
enum {
  ETX_ARG_replication_pad3d_self = 0,
  ETX_ARG_replication_pad3d_padding = 1,
  ETX_ARG_replication_pad3d_out = 2,
};

// constant_pad_nd_out
enum {
  ETX_ARG_constant_pad_nd_self = 0,
  ETX_ARG_constant_pad_nd_pad = 1,
  ETX_ARG_constant_pad_nd_value = 2,
  ETX_ARG_constant_pad_nd_out = 3,
};

// fill_scalar_out
enum {
  ETX_ARG_fill_scalar_self = 0,
  ETX_ARG_fill_scalar_value = 1,
  ETX_ARG_fill_scalar_out = 2,
};

// fill_tensor_out
enum {
  ETX_ARG_fill_tensor_self = 0,
  ETX_ARG_fill_tensor_value = 1,
  ETX_ARG_fill_tensor_out = 2,
};

// full_out
enum {
  ETX_ARG_full_size = 0,
  ETX_ARG_full_fill_value = 1,
  ETX_ARG_full_out = 2,
};

// zeros_out
enum {
  ETX_ARG_zeros_size = 0,
  ETX_ARG_zeros_out = 1,
};

// ones_out
enum {
  ETX_ARG_ones_size = 0,
  ETX_ARG_ones_out = 1,
};

// empty_out
enum {
  ETX_ARG_empty_size = 0,
  ETX_ARG_empty_memory_format = 1,
  ETX_ARG_empty_out = 2,
};

// empty_dim_order_out
enum {
  ETX_ARG_empty_dim_order_size = 0,
  ETX_ARG_empty_dim_order_dim_order = 1,
  ETX_ARG_empty_dim_order_out = 2,
};

// full_like_out
enum {
  ETX_ARG_full_like_self = 0,
  ETX_ARG_full_like_fill_value = 1,
  ETX_ARG_full_like_memory_format = 2,
  ETX_ARG_full_like_out = 3,
};

// arange_out
enum {
  ETX_ARG_arange_end = 0,
  ETX_ARG_arange_out = 1,
};

// arange_start_out
enum {
  ETX_ARG_arange_start_start = 0,
  ETX_ARG_arange_start_end = 1,
  ETX_ARG_arange_start_step = 2,
  ETX_ARG_arange_start_out = 3,
};

// scalar_tensor_out
enum {
  ETX_ARG_scalar_tensor_s = 0,
  ETX_ARG_scalar_tensor_out = 1,
};

// rand_out
enum {
  ETX_ARG_rand_size = 0,
  ETX_ARG_rand_out = 1,
};

// randn_out
enum {
  ETX_ARG_randn_size = 0,
  ETX_ARG_randn_out = 1,
};

// native_dropout_out
enum {
  ETX_ARG_native_dropout_input = 0,
  ETX_ARG_native_dropout_p = 1,
  ETX_ARG_native_dropout_train = 2,
  ETX_ARG_native_dropout_out0 = 3,
  ETX_ARG_native_dropout_out1 = 4,
};

// sym_size_int
enum {
  ETX_ARG_sym_size_int_self = 0,
  ETX_ARG_sym_size_int_dim = 1,
};

// sym_numel
enum {
  ETX_ARG_sym_numel_self = 0,
};

// local_scalar_dense
enum {
  ETX_ARG_local_scalar_dense_self = 0,
};

// check_range
enum {
  ETX_ARG_check_range_value = 0,
  ETX_ARG_check_range_least = 1,
  ETX_ARG_check_range_most = 2,
  ETX_ARG_check_range_what = 3,
};

// prim_add_scalar
enum {
  ETX_ARG_prim_add_scalar_a = 0,
  ETX_ARG_prim_add_scalar_b = 1,
};

// prim_sub_scalar
enum {
  ETX_ARG_prim_sub_scalar_a = 0,
  ETX_ARG_prim_sub_scalar_b = 1,
};

// prim_mul_scalar
enum {
  ETX_ARG_prim_mul_scalar_a = 0,
  ETX_ARG_prim_mul_scalar_b = 1,
};

// prim_floordiv_scalar
enum {
  ETX_ARG_prim_floordiv_scalar_a = 0,
  ETX_ARG_prim_floordiv_scalar_b = 1,
};

// prim_truediv_scalar
enum {
  ETX_ARG_prim_truediv_scalar_a = 0,
  ETX_ARG_prim_truediv_scalar_b = 1,
};

// prim_mod_scalar
enum {
  ETX_ARG_prim_mod_scalar_a = 0,
  ETX_ARG_prim_mod_scalar_b = 1,
};

// prim_eq_scalar
enum {
  ETX_ARG_prim_eq_scalar_a = 0,
  ETX_ARG_prim_eq_scalar_b = 1,
};

// prim_gt_scalar
enum {
  ETX_ARG_prim_gt_scalar_a = 0,
  ETX_ARG_prim_gt_scalar_b = 1,
};

// prim_lt_scalar
enum {
  ETX_ARG_prim_lt_scalar_a = 0,
  ETX_ARG_prim_lt_scalar_b = 1,
};

// prim_ge_scalar
enum {
  ETX_ARG_prim_ge_scalar_a = 0,
  ETX_ARG_prim_ge_scalar_b = 1,
};

// prim_le_scalar
enum {
  ETX_ARG_prim_le_scalar_a = 0,
  ETX_ARG_prim_le_scalar_b = 1,
};

// prim_sym_max_scalar
enum {
  ETX_ARG_prim_sym_max_scalar_a = 0,
  ETX_ARG_prim_sym_max_scalar_b = 1,
};

// prim_sym_min_scalar
enum {
  ETX_ARG_prim_sym_min_scalar_a = 0,
  ETX_ARG_prim_sym_min_scalar_b = 1,
};

// prim_sym_not_scalar
enum {
  ETX_ARG_prim_sym_not_scalar_a = 0,
};

// prim_sym_ite_scalar
enum {
  ETX_ARG_prim_sym_ite_scalar_b = 0,
  ETX_ARG_prim_sym_ite_scalar_t = 1,
  ETX_ARG_prim_sym_ite_scalar_f = 2,
};

// prim_neg_scalar
enum {
  ETX_ARG_prim_neg_scalar_a = 0,
};

// prim_sym_float_scalar
enum {
  ETX_ARG_prim_sym_float_scalar_a = 0,
};

// prim_sym_int_scalar
enum {
  ETX_ARG_prim_sym_int_scalar_a = 0,
};

// prim_ceil_scalar
enum {
  ETX_ARG_prim_ceil_scalar_a = 0,
};

// prim_round_scalar
enum {
  ETX_ARG_prim_round_scalar_a = 0,
};

// prim_trunc_scalar
enum {
  ETX_ARG_prim_trunc_scalar_a = 0,
};

// prim_floordiv_int
enum {
  ETX_ARG_prim_floordiv_int_a = 0,
  ETX_ARG_prim_floordiv_int_b = 1,
};

// prim_mod_int
enum {
  ETX_ARG_prim_mod_int_a = 0,
  ETX_ARG_prim_mod_int_b = 1,
};

// et_view_default
enum {
  ETX_ARG_et_view_default_self = 0,
  ETX_ARG_et_view_default_size = 1,
  ETX_ARG_et_view_default_out = 2,
};

// part_view_default
enum {
  ETX_ARG_part_view_default_self = 0,
  ETX_ARG_part_view_default_start = 1,
  ETX_ARG_part_view_default_size = 2,
  ETX_ARG_part_view_default_out = 3,
};

// part_after_default
enum {
  ETX_ARG_part_after_default_self = 0,
  ETX_ARG_part_after_default_previous = 1,
  ETX_ARG_part_after_default_size = 2,
  ETX_ARG_part_after_default_out = 3,
};

// et_copy_index_tensor
enum {
  ETX_ARG_et_copy_index_tensor_copy_to = 0,
  ETX_ARG_et_copy_index_tensor_copy_from = 1,
  ETX_ARG_et_copy_index_tensor_index = 2,
};

#endif
