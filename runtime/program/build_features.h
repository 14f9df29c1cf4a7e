// Parts of a build that a method needs beside kernels.

#ifndef ETX_RUNTIME_PROGRAM_BUILD_FEATURES_H
#define ETX_RUNTIME_PROGRAM_BUILD_FEATURES_H

#include "runtime/program.h"

// Positions in a set of features.
typedef enum etx_build_feature {
#define FEATURE(NAME, name) ETX_FEATURE_##NAME,
#include "runtime/program/build_features.def"
#undef FEATURE
  ETX_FEATURE_COUNT,
} etx_build_feature;

// The bit of a feature in a set.
#define ETX_FEATURE_BIT(NAME) (UINT32_C(1) << ETX_FEATURE_##NAME)

// The features without which ETX_DYNAMIC may be off.
#define ETX_FEATURES_OF_DYNAMIC \
  (ETX_FEATURE_BIT(DYNAMIC_SIZES) | ETX_FEATURES_OF_CONTROL_FLOW)
// The features without which ETX_CONTROL_FLOW may be off.
#define ETX_FEATURES_OF_CONTROL_FLOW \
  (ETX_FEATURE_BIT(CONTROL_FLOW) | ETX_FEATURE_BIT(VALUES_FROM_DATA))

// Its name in a file, such as "control_flow".
const char* etx_build_feature_name(etx_build_feature feature);

// Finds a feature by its name; false if there is none.
bool etx_build_feature_find(etx_text name, etx_build_feature* out_feature);

// A bit for each feature that the method of a plan needs. Fails as reading the
// plan does.
ETX_MUST_USE etx_status etx_build_features_of(const etx_program* program,
                                              const etx_pte_plan* plan,
                                              uint32_t* out_features,
                                              etx_diag* diag);
// The same with the operators of the plan, which take a few KB of stack.
ETX_MUST_USE etx_status etx_build_features_find(
    const etx_program* program, struct etx_operator_cache* operators,
    uint32_t* out_features, etx_diag* diag);

#endif
