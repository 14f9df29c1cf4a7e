// What a build must have: operators, and the element types and dimension orders
// of their calls. The fields are those of ExecuTorch's selected_operators.yaml.
//
// Selections are united; the union is commutative, associative and idempotent,
// because every list is a sorted set and every flag is joined by "or".
//
// Texts are borrowed from files or in the pool.

#ifndef ETX_CLI_SELECT_SELECTION_H
#define ETX_CLI_SELECT_SELECTION_H

#include "cli/select/text_set.h"

typedef struct etx_selected_operator {
  etx_text name;     // with overload: "aten::add.out"
  bool is_listed;    // under `operators`
  bool is_root;      // is_root_operator
  bool is_training;  // is_used_for_training
  bool has_all_overloads;
  etx_text_set debug_info;  // the files that want it
  bool has_kernels;         // has a row under `et_kernel_metadata`
  etx_text_set kernels;     // kernel keys: "v1/6;0,1|6;0,1", or "default"
  bool is_from_list;        // a list of operators has it, not only programs
  uint32_t dtypes;          // of its calls: a bit for each code of dtype.def. A
                            // key of a list has only the first tensor of a
                            // Tensor[] argument
} etx_selected_operator;

typedef struct etx_selection {
  etx_selected_operator* operators;  // sorted by name
  size_t count;
  size_t capacity;
  etx_text_set custom_classes;
  etx_text_set build_features;
  etx_text_set debug_info;
  bool has_all_non_op_selectives;
  bool has_all_operators;
} etx_selection;

// Finds the row of an operator, or adds an empty one. Valid until the next row
// is added.
ETX_MUST_USE etx_status etx_selection_row(etx_selection* selection,
                                          etx_pool* pool, etx_text name,
                                          etx_selected_operator** out_row);

// The row of an operator; NULL if there is none.
const etx_selected_operator* etx_selection_find(const etx_selection* selection,
                                                etx_text name);

// Adds all that `other` has.
ETX_MUST_USE etx_status etx_selection_unite(etx_selection* selection,
                                            etx_pool* pool,
                                            const etx_selection* other);

#endif
