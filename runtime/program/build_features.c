#include "runtime/program/build_features.h"

#include "runtime/program/unplanned_outputs.h"

static const char* const names[ETX_FEATURE_COUNT] = {
#define FEATURE(NAME, name) name,
#include "runtime/program/build_features.def"
#undef FEATURE
};

const char* etx_build_feature_name(etx_build_feature feature) {
  return names[feature];
}

bool etx_build_feature_find(etx_text name, etx_build_feature* out_feature) {
  for (int i = 0; i < ETX_FEATURE_COUNT; ++i) {
    if (!etx_text_is(name, names[i])) continue;
    *out_feature = (etx_build_feature)i;
    return true;
  }
  return false;
}

// What the plan's values need.
static uint32_t of_values(const etx_pte_plan* plan) {
  uint32_t features = 0;
  for (size_t i = 0; i < etx_pte_value_count(plan); ++i) {
    const etx_pte_value value = etx_pte_value_at(plan, i);
    if (value.kind != ETX_PTE_TENSOR) continue;
    if (value.as.tensor.dynamism != ETX_PTE_STATIC) {
      features |= ETX_FEATURE_BIT(DYNAMIC_SIZES);
    }
    if (value.as.tensor.location == ETX_PTE_EXTERNAL) {
      features |= ETX_FEATURE_BIT(DATA_FILES);
    }
  }
  return features;
}

// What the plan's instructions need, but for unplanned outputs.
static uint32_t of_instructions(const etx_pte_plan* plan,
                                etx_operator_cache* operators) {
  uint32_t features = 0;
  etx_pte_cursor cursor = {0, 0, {0, 0}};
  etx_pte_instruction instruction;
  for (size_t i = 0; i < etx_pte_operator_count(plan); ++i) {
    const etx_op* const op = etx_operator_cache_at(operators, i)->op;
    if (op != NULL &&
        (op->may_size_by_data || op->result == ETX_RESULT_SCALAR)) {
      features |= ETX_FEATURE_BIT(DYNAMIC_SIZES);
    }
    if (op != NULL &&
        (op->may_size_by_data || op->id == ETX_OP_local_scalar_dense)) {
      features |= ETX_FEATURE_BIT(VALUES_FROM_DATA);
    }
  }
  while (etx_pte_instruction_next(plan, &cursor, &instruction)) {
    if (instruction.kind == ETX_PTE_KERNEL_CALL) continue;
    features |= ETX_FEATURE_BIT(CONTROL_FLOW);
  }
  return features;
}

// True if the file describes sizes that vary.
static bool has_symbols(const etx_program* program, const etx_pte_plan* plan) {
  size_t method = 0;
  return program->has_blob &&
         etx_blob_method_find(&program->blob, etx_pte_plan_name(plan),
                              &method) &&
         etx_blob_input_dim_count(&program->blob, method) > 0;
}

etx_status etx_build_features_find(const etx_program* program,
                                   etx_operator_cache* operators,
                                   uint32_t* out_features, etx_diag* diag) {
  const etx_pte_plan* const plan = operators->plan;
  etx_unplanned_outputs_cursor cursor = {0, 0, 0, 0, 0};
  bool is_found = false;
  uint32_t value = 0;
  ETX_TRY(etx_unplanned_outputs_next(program, operators, &cursor, &is_found,
                                     &value, diag));
  uint32_t features = of_values(plan) | of_instructions(plan, operators);
  // An output that the file does not plan is placed when sizes are computed.
  if (is_found || has_symbols(program, plan)) {
    features |= ETX_FEATURE_BIT(DYNAMIC_SIZES);
  }
  *out_features = features;
  return ETX_OK;
}

etx_status etx_build_features_of(const etx_program* program,
                                 const etx_pte_plan* plan,
                                 uint32_t* out_features, etx_diag* diag) {
  etx_operator_cache operators;
  etx_operator_cache_init(&operators, plan, program->kernels);
  return etx_build_features_find(program, &operators, out_features, diag);
}
