// The operators with quantised weights: each reads its arguments into an
// etx_quantized_linear.

#include "format/base/checked_math.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/quantized/quantized_linear.h"
#include "runtime/kernels/quantized/linear_input.h"
#include "runtime/kernels/registry/temporary_kernels.h"

// The positions of an operator's optional arguments; 0: it has no such
// argument.
typedef struct linear_schema {
  size_t bits;
  bool is_integer;
  size_t zeros, group, bias, out;
  size_t sums;  // sums of weight rows; only with panels
} linear_schema;

enum { INPUT = 0, WEIGHT = 1, SCALES = 2 };

static linear_schema schema_of(const etx_call* call) {
  switch (call->op->id) {
    case ETX_OP_linear_w8_out:
      return (linear_schema){8, false, 0, 0, 3, 4, 0};
    case ETX_OP_linear_a8w8_out:
      return (linear_schema){8, true, 0, 0, 3, 4, 0};
    case ETX_OP_linear_a8w8_panels_out:
      return (linear_schema){8, true, 0, 0, 4, 5, 3};
    case ETX_OP_linear_a8w8_panels_argmax_out:
      return (linear_schema){8, true, 0, 0, 4, 6, 3};
    case ETX_OP_linear_w4g_out:
      return (linear_schema){4, false, 3, 4, 5, 6, 0};
    case ETX_OP_linear_a8w4g_out:
      return (linear_schema){4, true, 3, 4, 5, 6, 0};
    default:
      return (linear_schema){8, false, 0, 0, 0, 5, 0};  // mixed_linear
  }
}

etx_status etx_temporary_quantized_linear(const etx_call* call,
                                          size_t* out_bytes) {
  const linear_schema f = schema_of(call);
  const etx_tensor* input = etx_call_tensor(call, INPUT);
  *out_bytes = 0;
  if (input->rank == 0) return ETX_OK;  // refused by the shape rule
  if (etx_quantized_linear_bytes(input, f.bits, f.is_integer, call->parallel,
                                 out_bytes)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the workspace for the quantised input overflows");
}

// The workspace begins with the argmax of each piece and row.
etx_status etx_temporary_quantized_argmax(const etx_call* call,
                                          size_t* out_bytes) {
  const etx_tensor* input = etx_call_tensor(call, INPUT);
  size_t product, best;
  ETX_TRY(etx_temporary_quantized_linear(call, &product));
  *out_bytes = 0;
  if (input->rank == 0) return ETX_OK;
  const size_t rows = etx_linear_input_rows(input);
  if (etx_multiply_size(rows, ETX_ARGMAX_PIECES * sizeof(etx_row_argmax),
                        &best) &&
      etx_add_size(product, best, out_bytes)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the workspace for the argmax of rows overflows");
}

// The elements that share a scale. Scales are [N] or [N, groups].
static size_t group_of(const etx_call* call, const linear_schema* f,
                       size_t groups, size_t inner) {
  if (f->group != 0) return (size_t)etx_call_integer(call, f->group);
  const size_t group = groups == 0 ? 0 : (inner + groups - 1) / groups;
  return group == 0 ? 1 : group;
}

// True for parameters of groups, with a scale for each row.
static bool has_params(const etx_call* call, const linear_schema* f) {
  return f->zeros != 0 && !etx_call_is_none(call, f->zeros) &&
         etx_call_tensor(call, f->zeros)->dtype == ETX_DTYPE_INT16;
}

static etx_packed_weights read_weight(const etx_call* call,
                                      const linear_schema* f) {
  const etx_tensor* weight = etx_call_tensor(call, WEIGHT);
  const etx_tensor* scales = etx_call_tensor(call, SCALES);
  etx_packed_weights p = {
      .data = weight->data,
      .dtype = weight->dtype,
      .bits = f->bits,
      .row_bytes = (size_t)weight->sizes[1],
      .inner = (size_t)weight->sizes[1] * (8 / f->bits),
      .groups = scales->rank == 1 ? 1 : (size_t)scales->sizes[1],
      .scales = scales->data,
      .scale_dtype = scales->dtype,
  };
  if (f->sums != 0) {
    p.has_panels = true;
    p.inner = p.row_bytes = (size_t)weight->sizes[1] * ETX_PACKED_INTERLEAVE;
  }
  if (f->zeros != 0 && !etx_call_is_none(call, f->zeros)) {
    const etx_tensor* zeros = etx_call_tensor(call, f->zeros);
    if (has_params(call, f)) {
      p.groups = (size_t)zeros->sizes[1];
      p.params = zeros->data;
    } else {
      p.zeros = zeros->data;
    }
  }
  p.group = group_of(call, f, p.groups, p.inner);
  return p;
}

// Everything except the result.
static etx_quantized_linear read_linear(const etx_call* call,
                                        const linear_schema* f) {
  const etx_tensor* weight = etx_call_tensor(call, WEIGHT);
  etx_quantized_linear linear = {.weight = read_weight(call, f),
                                 .columns = (size_t)weight->sizes[0],
                                 .input = etx_call_tensor(call, INPUT),
                                 .is_integer = f->is_integer};
  if (f->bias != 0 && !etx_call_is_none(call, f->bias)) {
    linear.bias = etx_call_tensor(call, f->bias);
  }
  if (f->sums != 0) {
    linear.columns = (size_t)etx_call_tensor(call, SCALES)->sizes[0];
    linear.sums = etx_call_tensor(call, f->sums)->data;
  }
  return linear;
}

static etx_status run(etx_call* call) {
  const linear_schema f = schema_of(call);
  etx_quantized_linear linear = read_linear(call, &f);
  linear.out = etx_call_tensor(call, f.out);
  etx_quantized_linear_run(&linear, call->temporary, call->parallel);
  return ETX_OK;
}

static etx_status run_argmax(etx_call* call) {
  const linear_schema f = schema_of(call);
  etx_quantized_linear linear = read_linear(call, &f);
  const size_t rows = etx_linear_input_rows(linear.input);
  int64_t* out = etx_call_tensor(call, f.out)->data;
  linear.best = call->temporary;
  etx_quantized_linear_run(&linear, linear.best + ETX_ARGMAX_PIECES * rows,
                           call->parallel);
  for (size_t row = 0; row < rows; ++row) {
    out[row] = (int64_t)etx_row_argmax_column(linear.best, rows, row);
  }
  return ETX_OK;
}

// Floats of at most 32 bits.
static etx_status check_float(const etx_call* call, size_t index) {
  if (etx_compute_type_of(etx_call_tensor(call, index)->dtype) ==
      ETX_COMPUTE_F32) {
    return ETX_OK;
  }
  return etx_call_refuse_dtype(call, index, "float32, float16 or bfloat16");
}

static etx_status check_contiguous_float(const etx_call* call, size_t index) {
  ETX_TRY(check_float(call, index));
  return etx_call_check_contiguous(call, index);
}

// Checks everything except the result.
static etx_status check_operands(const etx_call* call,
                                 const linear_schema* given) {
  const linear_schema f = *given;
  ETX_TRY(check_float(call, INPUT));
  ETX_TRY(etx_call_check_dtype(call, WEIGHT,
                               f.bits == 4 ? ETX_DTYPE_UINT8 : ETX_DTYPE_INT8));
  ETX_TRY(etx_call_check_contiguous(call, WEIGHT));
  ETX_TRY(check_contiguous_float(call, SCALES));
  if (f.zeros != 0 && !etx_call_is_none(call, f.zeros)) {
    if (has_params(call, given)) {
      ETX_TRY(etx_call_check_dtype(call, SCALES, ETX_DTYPE_FLOAT32));
    } else {
      ETX_TRY(etx_call_check_dtype(call, f.zeros, ETX_DTYPE_INT8));
    }
    ETX_TRY(etx_call_check_contiguous(call, f.zeros));
  }
  if (f.sums != 0) {
    ETX_TRY(etx_call_check_dtype(call, f.sums, ETX_DTYPE_INT32));
    ETX_TRY(etx_call_check_contiguous(call, f.sums));
  }
  if (f.bias != 0 && !etx_call_is_none(call, f.bias)) {
    ETX_TRY(check_contiguous_float(call, f.bias));
  }
  return ETX_OK;
}

static etx_status prepare(etx_call* call) {
  const linear_schema f = schema_of(call);
  ETX_TRY(check_operands(call, &f));
  ETX_TRY(check_contiguous_float(call, f.out));
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_quantized_linear(call, &call->temporary_bytes));
  }
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_linear_w8_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, INPUT, 4));
  return prepare(call);
}
etx_status etx_kernel_linear_a8w8_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, INPUT, 4));
  return prepare(call);
}
etx_status etx_kernel_linear_a8w8_panels_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, INPUT, 5));
  return prepare(call);
}
etx_status etx_kernel_linear_a8w8_panels_argmax_out_prepare(etx_call* call) {
  const linear_schema f = schema_of(call);
  ETX_TRY(check_operands(call, &f));
  // Results of another type would be rounded before they are compared.
  ETX_TRY(etx_call_check_dtype(call, INPUT, ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_dtype(call, f.out, ETX_DTYPE_INT64));
  ETX_TRY(etx_call_check_contiguous(call, f.out));
  if (etx_call_tensor(call, SCALES)->sizes[0] == 0) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "the weight has no rows, expected at least 1");
  }
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_quantized_argmax(call, &call->temporary_bytes));
  }
  call->run = run_argmax;
  return ETX_OK;
}
etx_status etx_kernel_linear_w4g_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, INPUT, 6));
  return prepare(call);
}
etx_status etx_kernel_linear_a8w4g_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, INPUT, 6));
  return prepare(call);
}

// The stock kernel has this argument and refuses it, too.
static etx_status check_no_zeros(const etx_call* call) {
  if (etx_call_is_none(call, ETX_ARG_mixed_mm_weight_zero_points))
    return ETX_OK;
  return etx_call_refuse(call, ETX_UNSUPPORTED,
                         "'weight_zero_points' is a tensor, expected None");
}

etx_status etx_kernel_mixed_linear_out_prepare(etx_call* call) {
  const etx_tensor* scales = etx_call_tensor(call, SCALES);
  ETX_TRY(check_no_zeros(call));
  ETX_TRY(etx_call_check_same_dtype(call, INPUT, SCALES));
  if (scales->rank == 2 && scales->sizes[1] == 0) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a row of 'weight_scales' has no element");
  }
  return prepare(call);
}

// ------------------------------------------------ mixed_mm

// Computes `count` columns of one row, from `first` on. The weight is [K, N]
// with a scale for each k.
static void mixed_mm_block(const etx_call* call, size_t row, size_t first,
                           size_t count) {
  const etx_tensor* input = etx_call_tensor(call, INPUT);
  const etx_tensor* scales = etx_call_tensor(call, SCALES);
  const etx_tensor* weight = etx_call_tensor(call, WEIGHT);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_mixed_mm_out);
  const size_t inner = (size_t)input->sizes[1];
  const size_t columns = (size_t)weight->sizes[1];
  const size_t bytes = etx_dtype_bytes(input->dtype);
  etx_block sums = {.f32 = {0}}, x, scale;
  for (size_t k = 0; k < inner; k += ETX_BLOCK) {
    const size_t part = inner - k < ETX_BLOCK ? inner - k : ETX_BLOCK;
    etx_block_load(&x, ETX_COMPUTE_F32, input->dtype,
                   (const char*)input->data + (row * inner + k) * bytes, 1,
                   part);
    etx_block_load(&scale, ETX_COMPUTE_F32, scales->dtype,
                   (const char*)scales->data + k * bytes, 1, part);
    for (size_t i = 0; i < part; ++i) {
      const float factor = x.f32[i] * scale.f32[i];
      const int8_t* w = (const int8_t*)weight->data + (k + i) * columns + first;
      for (size_t c = 0; c < count; ++c) sums.f32[c] += factor * (float)w[c];
    }
  }
  etx_block_store(&sums, ETX_COMPUTE_F32, out->dtype,
                  (char*)out->data + (row * columns + first) * bytes, 1, count);
}

static etx_status run_mixed_mm(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_mixed_mm_out);
  const size_t rows = (size_t)out->sizes[0], columns = (size_t)out->sizes[1];
  for (size_t row = 0; row < rows; ++row) {
    for (size_t c = 0; c < columns; c += ETX_BLOCK) {
      const size_t rest = columns - c;
      mixed_mm_block(call, row, c, rest < ETX_BLOCK ? rest : ETX_BLOCK);
    }
  }
  return ETX_OK;
}

etx_status etx_kernel_mixed_mm_out_prepare(etx_call* call) {
  static const size_t floats[] = {INPUT, SCALES, 4};
  ETX_TRY(check_no_zeros(call));
  for (size_t i = 0; i < 3; ++i) {
    ETX_TRY(check_contiguous_float(call, floats[i]));
    ETX_TRY(etx_call_check_same_dtype(call, INPUT, floats[i]));
  }
  ETX_TRY(etx_call_check_dtype(call, WEIGHT, ETX_DTYPE_INT8));
  ETX_TRY(etx_call_check_contiguous(call, WEIGHT));
  call->run = run_mixed_mm;
  return ETX_OK;
}
