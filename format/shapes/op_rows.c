// The rows of op_schema.def, each an object of its own. They are in this folder
// because they refer to shape functions; op_schema.h declares them.

#include "format/ops/op_schema.h"
#include "format/shapes/op_shapes.h"

// The shape rules that may pass an output to `output_at_most`. The second of
// the words after expansion is true for them.
#define BY_DATA_bincount , true
#define BY_DATA_index , true
#define BY_DATA_masked_select , true
#define BY_DATA_nms , true
#define BY_DATA_nonzero , true
#define BY_DATA_repeat_interleave , true
#define BY_DATA_unique , true
#define BY_DATA_unique_dim , true
#define BY_DATA_unique_consecutive , true

#define SECOND(first, second, ...) second
#define EXPANDED(...) SECOND(__VA_ARGS__)

// Names and argument texts are objects, too: a linker keeps or drops the string
// literals of a file together. Without the attributes, compilers align objects
// to 32 bytes.
#define TEXT __attribute__((aligned(1))) static const char
#define OP(symbol, op_name, op_overload, text, return_slot, shape_rule,        \
           shared)                                                             \
  TEXT name_##symbol[] = op_name;                                              \
  TEXT arguments_##symbol[] = text;                                            \
  __attribute__((aligned(8))) const etx_op etx_op_row_##symbol = {             \
      .id = ETX_OP_##symbol,                                                   \
      .name = name_##symbol,                                                   \
      .overload = op_overload,                                                 \
      .lengths = ETX_OP_LENGTHS(sizeof(op_name) - 1, sizeof(op_overload) - 1), \
      .may_size_by_data = EXPANDED(BY_DATA_##shape_rule, false, ),             \
      .arguments = arguments_##symbol,                                         \
      .result = ETX_RESULT_##return_slot,                                      \
      .in_place = ETX_IN_PLACE_##shared,                                       \
      .shape = etx_shape_##shape_rule,                                         \
  };
#include "format/ops/op_schema.def"
#undef OP

const etx_op* etx_op_find_view(const etx_op_name* name) {
  static const etx_op* const views[] = {&etx_op_row_et_view_default,
                                        &etx_op_row_part_view_default,
                                        &etx_op_row_part_after_default};
  for (size_t i = 0; ETX_VIEWS && i < sizeof views / sizeof views[0]; ++i) {
    if (etx_op_is_named(views[i], name)) return views[i];
  }
  return NULL;
}
