// Appends lowered nodes to a method: for lowering functions, and for passes
// that rewrite lowered graphs.
//
// The builder appends no node that does nothing: a cast to the same dtype, a
// view or expand to the same shape, and an identity permute return their
// operand.

#ifndef ETX_EXPORTER_LOWER_BUILDER_BUILDER_H
#define ETX_EXPORTER_LOWER_BUILDER_BUILDER_H

#include "exporter/ir/type_inference.h"
#include "exporter/ir/ir.h"
#include "exporter/ir/target.h"

typedef struct etx_builder etx_builder;

// How one ATen operator is lowered: the last column of its row in
// exporter/ir/aten_operators.def.
typedef struct etx_lowering {
  const char* aten;                                  // "aten.add.Tensor"
  etx_status (*function)(etx_builder* builder);      // NULL if it is refused
  etx_status (*etx_function)(etx_builder* builder);  // for target etx, or NULL
  etx_op_id op;  // for functions that serve many rows; else ETX_OP_COUNT
} etx_lowering;

struct etx_builder {
  etx_ir_module* module;
  etx_ir_method* method;
  etx_target target;
  etx_diag* diag;
  const etx_lowering* row;
  const etx_ir_node* node;  // the node that is replaced
  const uint32_t* uses;     // the number of uses of each imported value
  etx_ir_arg args[ETX_MAX_ARGUMENTS];  // by position in the schema
  size_t arg_count;
  uint32_t* results;    // one for each output of the node; ETX_IR_NONE at first
  etx_text name;        // prefix of the names of new values
  uint32_t name_count;  // new values so far
  bool has_late;        // an appended node sets the late symbol of `node`
};

// True if anything reads output `index` of the imported node.
static inline bool etx_builder_is_read(const etx_builder* builder,
                                       size_t index) {
  return index < builder->node->output_count &&
         builder->node->outputs[index] != ETX_IR_NONE &&
         builder->uses[builder->node->outputs[index]] > 0;
}

// ------------------------------------------------ appending nodes

// Appends a node of `op` with all its outputs. Arguments that are left out at
// the end take their defaults. `dtype` is the dtype of the first output for
// operators whose out tensor decides it, else NULL. `out_values` has room for
// all outputs.
ETX_MUST_USE etx_status etx_build_op_outputs(etx_builder* builder, etx_op_id op,
                                             const etx_ir_arg* args,
                                             size_t arg_count,
                                             const etx_dtype* dtype,
                                             uint32_t* out_values);
// The same for a row that need not be one of op_schema.def.
ETX_MUST_USE etx_status etx_build_row_outputs(
    etx_builder* builder, const etx_op* row, const etx_ir_arg* args,
    size_t arg_count, const etx_dtype* dtype, uint32_t* out_values);
// The same for the first output.
ETX_MUST_USE etx_status etx_build_op(etx_builder* builder, etx_op_id op,
                                     const etx_ir_arg* args, size_t arg_count,
                                     uint32_t* out_value);
// An operator with one tensor argument, or two; the others take their defaults.
ETX_MUST_USE etx_status etx_build_unary(etx_builder* builder, etx_op_id op,
                                        uint32_t self, uint32_t* out_value);
ETX_MUST_USE etx_status etx_build_binary(etx_builder* builder, etx_op_id op,
                                         uint32_t self, uint32_t other,
                                         uint32_t* out_value);
// A tensor and a number.
ETX_MUST_USE etx_status etx_build_binary_number(etx_builder* builder,
                                                etx_op_id op, uint32_t self,
                                                double number,
                                                uint32_t* out_value);
// A tensor and a number, which becomes a 0-d constant of the tensor's dtype.
ETX_MUST_USE etx_status etx_build_binary_constant(etx_builder* builder,
                                                  etx_op_id op, uint32_t self,
                                                  double number,
                                                  uint32_t* out_value);

// Fails with the message that only etx's runtime has the operator.
etx_status etx_builder_refuse_target(const etx_builder* builder);

// ------------------------------------------------ numbers and types

// A number (INT, DOUBLE or BOOL) as a 0-d tensor of `dtype`: a constant, or
// computed where it is symbolic.
ETX_MUST_USE etx_status etx_build_scalar(etx_builder* builder,
                                         const etx_ir_arg* number,
                                         etx_dtype dtype, uint32_t* out_value);
// The node that sets the late symbol of the imported node to the integer that
// `self` has as its only element. The result has no elements.
ETX_MUST_USE etx_status etx_build_item(etx_builder* builder, uint32_t self,
                                       uint32_t* out_value);
// The check that the integer `condition` is 1; `text` is for the message.
ETX_MUST_USE etx_status etx_build_check(etx_builder* builder,
                                        const etx_ir_arg* condition,
                                        const etx_ir_arg* text,
                                        uint32_t* out_value);
// The check that `size` is at least `least`, unless its bounds imply it; `text`
// is for the message. Files for ExecuTorch have no check: for them, lower
// bounds are raised where possible.
ETX_MUST_USE etx_status etx_build_at_least(etx_builder* builder, etx_dim size,
                                           int64_t least, const char* text);
// A value for a constant, whose data lives in the pool.
ETX_MUST_USE etx_status etx_build_constant(etx_builder* builder,
                                           const etx_ir_constant* constant,
                                           uint32_t* out_value);
ETX_MUST_USE etx_status etx_build_cast(etx_builder* builder, uint32_t self,
                                       etx_dtype dtype, uint32_t* out_value);
// A complex tensor from its real and imaginary parts, which have the same
// shape.
ETX_MUST_USE etx_status etx_build_complex(etx_builder* builder, uint32_t real,
                                          uint32_t imaginary,
                                          uint32_t* out_value);
// torch.result_type of tensors and numbers: 0-d tensors and numbers count only
// by their category.
ETX_MUST_USE etx_status etx_builder_result_type(etx_builder* builder,
                                                const etx_ir_arg* operands,
                                                size_t count,
                                                etx_dtype* out_dtype);
// A tensor or number as a tensor of `dtype`.
ETX_MUST_USE etx_status etx_build_operand(etx_builder* builder,
                                          const etx_ir_arg* operand,
                                          etx_dtype dtype, uint32_t* out_value);
// An argument of type Tensor. In .pt2 archives it may also be a number.
ETX_MUST_USE etx_status etx_build_tensor(etx_builder* builder,
                                         const etx_ir_arg* arg,
                                         uint32_t* out_value);
static inline etx_ir_arg etx_ir_double(double real) {
  etx_ir_arg arg = {ETX_IR_ARG_DOUBLE, {0}};
  arg.as.real = real;
  return arg;
}
static inline etx_ir_arg etx_ir_bool(bool boolean) {
  etx_ir_arg arg = {ETX_IR_ARG_BOOL, {0}};
  arg.as.boolean = boolean;
  return arg;
}
static inline etx_ir_arg etx_ir_none(void) {
  const etx_ir_arg arg = {ETX_IR_ARG_NONE, {0}};
  return arg;
}
// A list argument. The builder copies `items` when it appends a node.
static inline etx_ir_arg etx_ir_list(etx_ir_arg* items, size_t count) {
  etx_ir_arg arg = {ETX_IR_ARG_LIST, {0}};
  arg.as.list.items = items;
  arg.as.list.count = count;
  return arg;
}
// An int[] argument; lives in the pool.
ETX_MUST_USE etx_status etx_build_int_list(etx_builder* builder,
                                           const etx_dim* dims, size_t count,
                                           etx_ir_arg* out);

// ------------------------------------------------ shapes

// The shape and dtype of a value. The pointer is valid until the next node is
// appended.
const etx_shape* etx_builder_shape(const etx_builder* builder, uint32_t value);
// Counts a dimension from the front; negative ones count from the end. A tensor
// of rank 0 has one dimension here.
ETX_MUST_USE etx_status etx_builder_axis(etx_builder* builder, etx_dim dim,
                                         size_t rank, size_t* out_axis);
// Product of dims [first, end).
ETX_MUST_USE etx_status etx_builder_product(etx_builder* builder,
                                            const etx_dim* dims, size_t first,
                                            size_t end, etx_dim* out);
bool etx_builder_same_dims(const etx_builder* builder, const etx_dim* a,
                           const etx_dim* b, size_t count);
// The shape that `a` and `b` broadcast to, with the dtype of `a`.
ETX_MUST_USE etx_status etx_builder_broadcast(etx_builder* builder,
                                              const etx_shape* a,
                                              const etx_shape* b,
                                              etx_shape* out);

// ------------------------------------------------ views

ETX_MUST_USE etx_status etx_build_view(etx_builder* builder, uint32_t self,
                                       const etx_dim* dims, size_t rank,
                                       uint32_t* out_value);
// `order[i]` is the dimension of `self` that becomes dimension i.
ETX_MUST_USE etx_status etx_build_permute(etx_builder* builder, uint32_t self,
                                          const size_t* order,
                                          uint32_t* out_value);
ETX_MUST_USE etx_status etx_build_transpose(etx_builder* builder, uint32_t self,
                                            size_t a, size_t b,
                                            uint32_t* out_value);
ETX_MUST_USE etx_status etx_build_expand(etx_builder* builder, uint32_t self,
                                         const etx_dim* dims, size_t rank,
                                         uint32_t* out_value);
ETX_MUST_USE etx_status etx_build_unsqueeze(etx_builder* builder, uint32_t self,
                                            size_t axis, uint32_t* out_value);
// Elements start, start + step, .. below end of dimension `axis`.
typedef struct etx_dim_slice {
  size_t axis;
  etx_dim start;  // 0 <= start, end <= size of the dimension
  etx_dim end;
  int64_t step;
} etx_dim_slice;
ETX_MUST_USE etx_status etx_build_slice(etx_builder* builder, uint32_t self,
                                        etx_dim_slice slice,
                                        uint32_t* out_value);
// Clamps the bounds of a slice (INT or NONE), as Python does, to [0, size].
ETX_MUST_USE etx_status etx_builder_slice_range(
    etx_builder* builder, etx_dim size, const etx_ir_arg* start,
    const etx_ir_arg* end, etx_dim* out_start, etx_dim* out_end);

// ------------------------------------------------ single operators

ETX_MUST_USE etx_status etx_build_softmax(etx_builder* builder, uint32_t self,
                                          etx_dim dim, uint32_t* out_value);
ETX_MUST_USE etx_status etx_build_where(etx_builder* builder,
                                        uint32_t condition, uint32_t self,
                                        uint32_t other, uint32_t* out_value);
// The dimensions that a reduction removes; all if there are none.
typedef struct etx_reduced_dims {
  const etx_dim* dims;
  size_t count;
  bool keep;  // with size 1
} etx_reduced_dims;
// An operator with the arguments (self, dim list, keepdim).
ETX_MUST_USE etx_status etx_build_reduce(etx_builder* builder, etx_op_id op,
                                         uint32_t self, etx_reduced_dims dims,
                                         uint32_t* out_value);
// Concatenates tensors of one dtype; a single one is returned as it is.
ETX_MUST_USE etx_status etx_build_concat(etx_builder* builder,
                                         const uint32_t* values, size_t count,
                                         size_t axis, uint32_t* out_value);
// A tensor filled with a number.
ETX_MUST_USE etx_status etx_build_full(etx_builder* builder,
                                       const etx_dim* dims, size_t rank,
                                       etx_ir_arg number, etx_dtype dtype,
                                       uint32_t* out_value);
// 0, 1, .. count-1 as int64.
ETX_MUST_USE etx_status etx_build_arange(etx_builder* builder, etx_dim count,
                                         uint32_t* out_value);
// A matrix of `dtype` that is 1 where the row equals the column, else 0.
ETX_MUST_USE etx_status etx_build_eye(etx_builder* builder, etx_dim row_count,
                                      etx_dim column_count, etx_dtype dtype,
                                      uint32_t* out_value);

#endif
