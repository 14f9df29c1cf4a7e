// New tensors: arange, full, zeros, eye, one_hot, linspace.

#include "exporter/lower/builder/lowering_functions.h"

// The dtype that torch.full gives a number, which may be a 0-d tensor.
static etx_dtype number_dtype(const etx_builder* builder,
                              const etx_ir_arg* number) {
  if (number->kind == ETX_IR_ARG_VALUE) {
    const etx_dtype dtype = etx_builder_shape(builder, number->as.value)->dtype;
    return etx_dtype_category_of(dtype) == ETX_CATEGORY_FLOATING
               ? ETX_DTYPE_FLOAT32
               : dtype;
  }
  if (number->kind == ETX_IR_ARG_BOOL) return ETX_DTYPE_BOOL;
  return number->kind == ETX_IR_ARG_INT ? ETX_DTYPE_INT64 : ETX_DTYPE_FLOAT32;
}

// ------------------------------------------------ arange

static etx_status emit_arange(etx_builder* builder, const etx_ir_arg* start,
                              const etx_ir_arg* end, const etx_ir_arg* step,
                              const etx_ir_arg* dtype, uint32_t* out_value) {
  const bool integers = start->kind == ETX_IR_ARG_INT &&
                        end->kind == ETX_IR_ARG_INT &&
                        step->kind == ETX_IR_ARG_INT;
  etx_dtype type = integers ? ETX_DTYPE_INT64 : ETX_DTYPE_FLOAT32;
  if (dtype->kind == ETX_IR_ARG_DTYPE) type = dtype->as.dtype;
  const etx_ir_arg args[] = {*start, *end, *step};
  return etx_build_op_outputs(builder, ETX_OP_arange_start_out, args, 3, &type,
                              out_value);
}

// arange(end, dtype, ..)
etx_status etx_lowering_arange(etx_builder* builder) {
  const etx_ir_arg zero = etx_ir_int(0);
  const etx_ir_arg one = etx_ir_int(1);
  return emit_arange(builder, &zero, &builder->args[0], &one, &builder->args[1],
                     &builder->results[0]);
}

// arange.start(start, end, dtype, ..)
etx_status etx_lowering_arange_start(etx_builder* builder) {
  const etx_ir_arg one = etx_ir_int(1);
  return emit_arange(builder, &builder->args[0], &builder->args[1], &one,
                     &builder->args[2], &builder->results[0]);
}

// arange.start_step(start, end, step, dtype, ..)
etx_status etx_lowering_arange_step(etx_builder* builder) {
  return emit_arange(builder, &builder->args[0], &builder->args[1],
                     &builder->args[2], &builder->args[3],
                     &builder->results[0]);
}

// ------------------------------------------------ filled tensors

// A tensor filled with the only element of another one.
static etx_status expand_fill(etx_builder* builder, const etx_ir_arg* sizes,
                              const etx_ir_arg* fill, etx_dtype dtype,
                              uint32_t* out_value) {
  etx_dim dims[ETX_MAX_RANK];
  const size_t rank = sizes->as.list.count;
  uint32_t value = 0;
  if (rank > ETX_MAX_RANK) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "tensors of more than %i dimensions are not supported",
                         (int64_t)ETX_MAX_RANK);
  }
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = sizes->as.list.items[i].as.integer;
  }
  ETX_TRY(etx_build_cast(builder, fill->as.value, dtype, &value));
  return etx_build_expand(builder, value, dims, rank, out_value);
}

// The sizes are arguments of the node, so that no tensor stays live only for
// its sizes.
static etx_status build_filled(etx_builder* builder, const etx_ir_arg* sizes,
                               const etx_ir_arg* fill, etx_dtype dtype,
                               uint32_t* out_value) {
  if (fill->kind == ETX_IR_ARG_VALUE) {
    return expand_fill(builder, sizes, fill, dtype, out_value);
  }
  if (sizes->as.list.count == 0) {
    return etx_build_scalar(builder, fill, dtype, out_value);
  }
  const etx_ir_arg args[] = {*sizes, *fill};
  return etx_build_op_outputs(builder, ETX_OP_full_out, args, 2, &dtype,
                              out_value);
}

static etx_status emit_full(etx_builder* builder, const etx_ir_arg* sizes,
                            const etx_ir_arg* fill, etx_dtype dtype) {
  return build_filled(builder, sizes, fill, dtype, &builder->results[0]);
}

static etx_dtype dtype_or(const etx_ir_arg* dtype, etx_dtype otherwise) {
  return dtype->kind == ETX_IR_ARG_DTYPE ? dtype->as.dtype : otherwise;
}

// full(size, fill_value, dtype, ..)
etx_status etx_lowering_full(etx_builder* builder) {
  return emit_full(
      builder, &builder->args[0], &builder->args[1],
      dtype_or(&builder->args[2], number_dtype(builder, &builder->args[1])));
}

static etx_status fill_sizes(etx_builder* builder, int64_t number) {
  const etx_ir_arg fill = etx_ir_int(number);
  return emit_full(builder, &builder->args[0], &fill,
                   dtype_or(&builder->args[1], ETX_DTYPE_FLOAT32));
}

// zeros, ones, and empty, whose content is undefined: (size, dtype, ..)
etx_status etx_lowering_zeros(etx_builder* builder) {
  return fill_sizes(builder, 0);
}

etx_status etx_lowering_ones(etx_builder* builder) {
  return fill_sizes(builder, 1);
}

// The sizes of the first argument and a fill value.
static etx_status fill_like(etx_builder* builder, const etx_ir_arg* fill,
                            const etx_ir_arg* dtype) {
  const etx_shape shape =
      *etx_builder_shape(builder, builder->args[0].as.value);
  etx_ir_arg sizes;
  ETX_TRY(etx_build_int_list(builder, shape.dims, shape.rank, &sizes));
  return emit_full(builder, &sizes, fill, dtype_or(dtype, shape.dtype));
}

// full_like(self, fill_value, dtype, ..)
etx_status etx_lowering_full_like(etx_builder* builder) {
  return fill_like(builder, &builder->args[1], &builder->args[2]);
}

// zeros_like, ones_like, empty_like: (self, dtype, ..)
etx_status etx_lowering_zeros_like(etx_builder* builder) {
  const etx_ir_arg zero = etx_ir_int(0);
  return fill_like(builder, &zero, &builder->args[1]);
}

etx_status etx_lowering_ones_like(etx_builder* builder) {
  const etx_ir_arg one = etx_ir_int(1);
  return fill_like(builder, &one, &builder->args[1]);
}

// zero(self)
etx_status etx_lowering_zero(etx_builder* builder) {
  const etx_ir_arg zero = etx_ir_int(0);
  const etx_ir_arg none = etx_ir_none();
  return fill_like(builder, &zero, &none);
}

// fill(self, value): the value is a number, or a 0-d tensor.
etx_status etx_lowering_fill(etx_builder* builder) {
  const etx_ir_arg none = etx_ir_none();
  return fill_like(builder, &builder->args[1], &none);
}

static etx_status new_filled(etx_builder* builder, const etx_ir_arg* fill,
                             const etx_ir_arg* dtype) {
  const etx_dtype own =
      etx_builder_shape(builder, builder->args[0].as.value)->dtype;
  return emit_full(builder, &builder->args[1], fill, dtype_or(dtype, own));
}

// new_zeros, new_empty: (self, size, dtype, ..)
etx_status etx_lowering_new_zeros(etx_builder* builder) {
  const etx_ir_arg zero = etx_ir_int(0);
  return new_filled(builder, &zero, &builder->args[2]);
}

etx_status etx_lowering_new_ones(etx_builder* builder) {
  const etx_ir_arg one = etx_ir_int(1);
  return new_filled(builder, &one, &builder->args[2]);
}

// new_full(self, size, fill_value, dtype, ..)
etx_status etx_lowering_new_full(etx_builder* builder) {
  return new_filled(builder, &builder->args[2], &builder->args[3]);
}

// scalar_tensor(s, dtype, ..)
etx_status etx_lowering_scalar_tensor(etx_builder* builder) {
  return etx_build_operand(builder, &builder->args[0],
                           dtype_or(&builder->args[1], ETX_DTYPE_FLOAT32),
                           &builder->results[0]);
}

// ------------------------------------------------ triangles

// triu(self, diagonal): keeps the element at row r and column c if c - r >=
// diagonal, else 0.
etx_status etx_lowering_triu(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  const etx_shape shape = *etx_builder_shape(builder, self);
  if (shape.rank < 2) {
    return etx_diag_fail(
        builder->diag, ETX_BAD_ARGUMENT,
        "'%t' expects a tensor of rank 2 or more, found rank %u",
        builder->node->aten, (uint64_t)shape.rank);
  }
  uint32_t rows = 0;
  uint32_t columns = 0;
  uint32_t mask = 0;
  uint32_t zero = 0;
  ETX_TRY(etx_build_arange(builder, shape.dims[shape.rank - 2], &rows));
  ETX_TRY(etx_build_arange(builder, shape.dims[shape.rank - 1], &columns));
  ETX_TRY(etx_build_unsqueeze(builder, rows, 1, &rows));
  if (builder->args[1].as.integer != 0) {
    uint32_t shift = 0;
    ETX_TRY(
        etx_build_scalar(builder, &builder->args[1], ETX_DTYPE_INT64, &shift));
    ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, rows, shift, &rows));
  }
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_ge_tensor_out, columns, rows, &mask));
  const etx_ir_arg number = etx_ir_int(0);
  ETX_TRY(etx_build_scalar(builder, &number, shape.dtype, &zero));
  return etx_build_where(builder, mask, self, zero, &builder->results[0]);
}

// ------------------------------------------------ patterns

// eye(n, dtype, ..)
etx_status etx_lowering_eye(etx_builder* builder) {
  const etx_dim size = builder->args[0].as.integer;
  return etx_build_eye(builder, size, size,
                       dtype_or(&builder->args[1], ETX_DTYPE_FLOAT32),
                       &builder->results[0]);
}

// one_hot(self, num_classes): compares with 0, 1, .. along a new last
// dimension.
etx_status etx_lowering_one_hot(etx_builder* builder) {
  const etx_dim classes = builder->args[1].as.integer;
  uint32_t self = builder->args[0].as.value;
  uint32_t numbers = 0;
  if (etx_dim_is_number(classes) && classes < 1) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' without num_classes is not supported",
                         builder->node->aten);
  }
  ETX_TRY(etx_build_unsqueeze(builder, self,
                              etx_builder_shape(builder, self)->rank, &self));
  ETX_TRY(etx_build_arange(builder, classes, &numbers));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_eq_tensor_out, self, numbers, &numbers));
  return etx_build_cast(builder, numbers, ETX_DTYPE_INT64,
                        &builder->results[0]);
}

static double number_of(const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_INT ? (double)arg->as.integer : arg->as.real;
}

// The steps are stored in the file.
enum { MAX_LINSPACE = 1 << 20 };

// linspace(start, end, steps, dtype, ..). The elements are computed here, from
// both ends toward the middle, as in PyTorch.
etx_status etx_lowering_linspace(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  const etx_dtype dtype = dtype_or(&args[3], ETX_DTYPE_FLOAT32);
  const etx_dim steps = args[2].as.integer;
  if (dtype != ETX_DTYPE_FLOAT32 || steps < 0 || steps > MAX_LINSPACE) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' is supported only in float32 and with at most %i steps",
        builder->node->aten, (int64_t)MAX_LINSPACE);
  }
  const float start = (float)number_of(&args[0]);
  const float end = (float)number_of(&args[1]);
  const float step = steps > 1 ? (end - start) / (float)(steps - 1) : 0.0f;
  const size_t bytes = (size_t)steps * sizeof(float);
  float* const data = etx_pool_take(builder->module->pool, bytes);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  for (etx_dim i = 0; i < steps; ++i) {
    data[i] = i < steps / 2 ? start + step * (float)i
                            : end - step * (float)(steps - 1 - i);
  }
  if (steps == 1) data[0] = start;
  const etx_ir_constant constant = {
      dtype, 1, {steps}, {(const uint8_t*)data, bytes}};
  return etx_build_constant(builder, &constant, &builder->results[0]);
}

// tril_indices and triu_indices(row, col, offset, dtype): a constant, the row
// and the column of each element of the triangle.
static etx_status triangle_indices(etx_builder* builder, bool is_upper) {
  const etx_ir_arg* const args = builder->args;
  const etx_dtype dtype = dtype_or(&args[3], ETX_DTYPE_INT64);
  const etx_dim rows = args[0].as.integer;
  const etx_dim columns = args[1].as.integer;
  const etx_dim offset = args[2].as.integer;
  if (rows < 0 || columns < 0 || rows > MAX_LINSPACE ||
      columns > MAX_LINSPACE / (rows + 1) || offset > MAX_LINSPACE ||
      offset < -MAX_LINSPACE) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' is supported only of at most %i elements, whose number is fixed",
        builder->node->aten, (int64_t)MAX_LINSPACE);
  }
  const size_t room = 2 * (size_t)(rows * columns + 1) * sizeof(int64_t);
  int64_t* const data = etx_pool_take(builder->module->pool, room);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  int64_t count = 0;
  for (etx_dim i = 0; i < rows * columns; ++i) {
    const etx_dim above = i % columns - i / columns - offset;
    count += is_upper ? above >= 0 : above <= 0;
  }
  for (etx_dim i = 0, next = 0; i < rows * columns; ++i) {
    const etx_dim above = i % columns - i / columns - offset;
    if (!(is_upper ? above >= 0 : above <= 0)) continue;
    data[next] = i / columns;
    data[count + next++] = i % columns;
  }
  const etx_ir_constant constant = {
      ETX_DTYPE_INT64,
      2,
      {2, count},
      {(const uint8_t*)data, 2 * (size_t)count * sizeof(int64_t)}};
  uint32_t value = 0;
  ETX_TRY(etx_build_constant(builder, &constant, &value));
  return etx_build_cast(builder, value, dtype, &builder->results[0]);
}

etx_status etx_lowering_tril_indices(etx_builder* builder) {
  return triangle_indices(builder, false);
}

etx_status etx_lowering_triu_indices(etx_builder* builder) {
  return triangle_indices(builder, true);
}

// empty_permuted(size, physical_layout, dtype, ..): the content is undefined.
etx_status etx_lowering_empty_permuted(etx_builder* builder) {
  builder->args[1] = builder->args[2];
  return etx_lowering_zeros(builder);
}
