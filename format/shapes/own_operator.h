// Operators of an application whose sizes are rules in text.
//
// A row of op_schema.h needs a shape function. The rows of this header have one
// that reads rules: sizes that are those of an argument, that are broadcast, or
// that are expressions over the sizes of arguments. `etx plan --ops` reads the
// same rules (docs/custom-operators.md), so exporter and runtime compute the
// same sizes.
//
// There is one rule for each argument that is written, in the order of the
// schema, separated by commas:
//
//   x                      the sizes of tensor x
//   broadcast(x, y)        the sizes to which the tensors broadcast
//   matmul(x, y)           the sizes of torch.matmul of two tensors of rank 2
//                          or more
//   reduce(x, dim, keep)   x without the dimensions `dim`, an int or int[]
//                          argument or a number; or with 1 in their place if
//                          `keep`, a bool argument, True or False, is true
//   [x.0, n * 2, y.1:-1]   one size for each item: + - * // min() max() over
//                          numbers, int arguments, sizes x.0 and items of
//                          int[] arguments pads.0; y.1:-1 are all sizes of y
//                          from dimension 1 to the one before the last
//   at_most RULE           the kernel finds the sizes, and RULE bounds them
//
// A rule of types is the name of a tensor, the name of a type (int64), or
// promote(x, y).

#ifndef ETX_FORMAT_SHAPES_OWN_OPERATOR_H
#define ETX_FORMAT_SHAPES_OWN_OPERATOR_H

#include "format/shapes/op_shapes.h"

// A row with its rules. Rows of a kernel table point to `op`.
typedef struct etx_own_operator {
  etx_op op;           // the first field: etx_shape_own finds the rules by it
  const char* sizes;   // a rule for each written argument
  const char* dtypes;  // the same for types; "": the type of the first tensor
} etx_own_operator;

// The shape function of such a row, which reads its rules.
etx_status etx_shape_own(etx_shape_call* call);

// Checks the rules of a row against its arguments, and that there is one for
// each written argument. ETX_BAD_FILE with a message; `*out_at` is then the
// position in `sizes`, or in `dtypes` if `*out_in_dtypes`.
etx_status etx_own_operator_check(const etx_own_operator* own, size_t* out_at,
                                  bool* out_in_dtypes, etx_diag* diag);

// The fields of a row that etx_shape_own serves:
//   static const etx_own_operator scale = {
//       ETX_OWN_OPERATOR("my::scale", "out",
//                        "Tensor x, float factor, *, Tensor(a!) out",
//                        ETX_RESULT_OUT, ETX_IN_PLACE_NEVER, false),
//       .sizes = "x", .dtypes = "x"};
// The last one is true if a rule is `at_most`.
#define ETX_OWN_OPERATOR(name_text, overload_text, arguments_text,  \
                         result_kind, in_place_kind, sized_by_data) \
  .op = {.id = ETX_OP_COUNT,                                        \
         ETX_OP_NAME(name_text, overload_text),                     \
         .may_size_by_data = (sized_by_data),                       \
         .arguments = (arguments_text),                             \
         .result = (result_kind),                                   \
         .in_place = (in_place_kind),                               \
         .shape = etx_shape_own}

#endif
