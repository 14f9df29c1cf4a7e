#include "generate/program_tokens.h"

#include "format/pte/pte_program.h"

static etx_status other_kind(const char* name, etx_diag* diag) {
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "constant '%s' is neither integers nor int64 [n]", name);
}

// Reads one integer of each output.
static etx_status read_outputs(const etx_program* program, const char* name,
                               size_t count, int64_t* memory, etx_diag* diag) {
  if (count > ETX_PROGRAM_TOKENS_MAX) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "constant '%s' has %z outputs, at most %i are read: "
                         "state the tokens as one tensor int64 [n]",
                         name, count, (int64_t)ETX_PROGRAM_TOKENS_MAX);
  }
  for (size_t i = 0; i < count; ++i) {
    etx_value value;
    etx_constant_hold hold;
    ETX_TRY(etx_program_constant_at(program, etx_text_of(name), i, &value,
                                    &hold, diag));
    if (value.kind != ETX_VALUE_INT) return other_kind(name, diag);
    memory[i] = value.as.integer;
  }
  return ETX_OK;
}

static etx_status find_tokens(const etx_program* program, const char* name,
                              int64_t* memory, etx_token_list* out_list,
                              etx_diag* diag) {
  etx_pte_plan plan;
  etx_value value;
  etx_constant_hold hold;
  ETX_TRY(
      etx_program_constant(program, etx_text_of(name), &value, &hold, diag));
  ETX_TRY(etx_program_find_plan(program, etx_text_of(name), &plan, diag));
  const size_t count = etx_pte_output_count(&plan);
  if (value.kind == ETX_VALUE_INT) {
    ETX_TRY(read_outputs(program, name, count, memory, diag));
    *out_list = (etx_token_list){memory, count};
    return ETX_OK;
  }
  const etx_tensor* const tensor = &value.as.tensor;
  if (value.kind != ETX_VALUE_TENSOR || tensor->dtype != ETX_DTYPE_INT64 ||
      tensor->rank != 1 || count != 1) {
    return other_kind(name, diag);
  }
  *out_list = (etx_token_list){tensor->data, etx_tensor_numel(tensor)};
  return ETX_OK;
}

etx_status etx_program_tokens(const etx_program* program, const char* name,
                              int64_t* memory, etx_token_list* out_list,
                              etx_diag* diag) {
  return etx_diag_seal(diag,
                       find_tokens(program, name, memory, out_list, diag));
}
