// Operators of one tensor, element by element: one loop per operator and wide
// type (convert.h). A dense operand that already has the wide type goes
// through the loop in one piece; anything else passes through blocks.

#include "runtime/kernels/core/complex_as_real.h"
#include "runtime/kernels/elementwise/elementwise_complex.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/core/loop_apply.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"
#include "runtime/kernels/elementwise/unary_parameters.h"
#include "runtime/kernels/core/strided_iterator.h"

// Predicates give truth values.
static const bool is_truth[ETX_UNARY_COUNT] = {
#define SAME(name, real, whole) false,
#define REAL(name, real) false,
#define TRUTH(name, real, whole) true,
#include "runtime/kernels/simd/elementwise/unary_list.def"
};

static etx_unary_loop loop_of(size_t row, etx_compute_type wide) {
  if (wide == ETX_COMPUTE_F32) return etx_float_loops_best()->unary[row];
  return etx_is_f64(wide) ? etx_unary_loops_f64[row] : etx_unary_loops_i64[row];
}

// What prepare leaves in etx_call.prepared.
enum {
  ROW,     // of the table
  COMMON,  // the type computed for
  READER,  // of the parameters
};

static void read_parameters(const etx_call* call,
                            etx_scalar out[ETX_UNARY_PARAMETERS]) {
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  etx_unary_readers[call->prepared[READER]](call, common, out);
}

static etx_status run_direct(etx_call* call) {
  const size_t row = (size_t)call->prepared[ROW];
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  etx_scalar parameters[ETX_UNARY_PARAMETERS];
  read_parameters(call, parameters);
  const etx_compute_type wide = etx_compute_type_of(self->dtype);
  etx_unary_apply_all(call->parallel, loop_of(row, wide),
                      etx_loop_bytes_of(wide, is_truth[row]), out->data,
                      self->data, etx_tensor_numel(self), parameters);
  return ETX_OK;
}

// What all rows of a run share. Index 0 is the result, 1 the operand.
typedef struct unary {
  etx_unary_loop loop;
  etx_unary_loop of_truths;  // or NULL
  etx_loop_bytes bytes;
  etx_dtype common;
  etx_dtype dtypes[2];
  bool gives_bool;
  etx_scalar parameters[ETX_UNARY_PARAMETERS];
} unary;

static bool row_is_direct(const unary* u, const etx_strided_iterator* walk) {
  const etx_dtype native =
      etx_compute_type_dtype(etx_compute_type_of(u->common));
  return u->common == native && u->dtypes[1] == native &&
         u->dtypes[0] == (u->gives_bool ? ETX_DTYPE_BOOL : native) &&
         walk->stride[0] == 1 && walk->stride[1] == 1;
}

static bool row_is_of_bools(const unary* u, const etx_strided_iterator* walk) {
  return u->dtypes[0] == ETX_DTYPE_BOOL && u->dtypes[1] == ETX_DTYPE_BOOL &&
         walk->stride[0] == 1 && walk->stride[1] == 1 && u->of_truths != NULL;
}

static void run_blocks(const unary* u, const etx_strided_iterator* walk) {
  char* out = walk->data[0];
  const char* in = walk->data[1];
  etx_block in_block, out_block;
  for (size_t left = walk->count; left > 0;) {
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    const void* x = etx_operand_row(&in_block, u->common, u->dtypes[1], in,
                                    walk->stride[1], count);
    etx_unary_apply(u->loop, u->bytes, &out_block, x, count, u->parameters);
    if (u->gives_bool) {
      etx_convert(u->dtypes[0], out, walk->stride[0], ETX_DTYPE_BOOL,
                  &out_block, 1, count);
    } else {
      etx_operand_store(&out_block, u->common, u->dtypes[0], out,
                        walk->stride[0], count);
    }
    out += walk->stride[0] * walk->bytes[0] * (ptrdiff_t)count;
    in += walk->stride[1] * walk->bytes[1] * (ptrdiff_t)count;
    left -= count;
  }
}

static etx_status run(etx_call* call) {
  const size_t row = (size_t)call->prepared[ROW];
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  const etx_compute_type wide = etx_compute_type_of(common);
  const etx_loop_bytes one = {1, 1};
  unary u = {.loop = loop_of(row, wide),
             .of_truths = etx_unary_loop_of_bool(row),
             .bytes = etx_loop_bytes_of(wide, is_truth[row]),
             .common = common,
             .dtypes = {out->dtype, self->dtype},
             .gives_bool = is_truth[row]};
  read_parameters(call, u.parameters);
  etx_strided_iterator walk;
  etx_strided_iterator_init(&walk, out->sizes, out->rank);
  etx_strided_iterator_add(&walk, out);
  etx_strided_iterator_add(&walk, self);
  for (bool more = etx_strided_iterator_start_any_order(&walk); more;
       more = etx_strided_iterator_next(&walk)) {
    if (row_is_direct(&u, &walk)) {
      etx_unary_apply(u.loop, u.bytes, walk.data[0], walk.data[1], walk.count,
                      u.parameters);
    } else if (row_is_of_bools(&u, &walk)) {
      etx_unary_apply(u.of_truths, one, walk.data[0], walk.data[1], walk.count,
                      u.parameters);
    } else {
      run_blocks(&u, &walk);
    }
  }
  return ETX_OK;
}

static etx_status prepare(etx_call* call, size_t row, etx_dtype common) {
  const size_t out = call->argument_count - 1;
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_tensor* to = etx_call_tensor(call, out);
  const etx_compute_type wide = etx_compute_type_of(common);
  if (loop_of(row, wide) == NULL) {
    return etx_call_refuse_dtype(call, 0, "another type");
  }
  ETX_TRY(etx_call_check_result(call, out,
                                is_truth[row] ? ETX_DTYPE_BOOL : common));
  const etx_dtype native = etx_compute_type_dtype(wide);
  const bool direct = self->dtype == native && common == native &&
                      to->dtype == (is_truth[row] ? ETX_DTYPE_BOOL : native) &&
                      etx_tensor_is_contiguous(self) &&
                      etx_tensor_is_contiguous(to);
  call->prepared[ROW] = (int64_t)row;
  call->prepared[COMMON] = common;
  call->prepared[READER] = ETX_UNARY_READS_NOTHING;
  call->run = direct ? run_direct : run;
  return ETX_OK;
}

static etx_status prepare_same(etx_call* call, size_t row) {
  ETX_TRY(etx_call_check_real(call, 0));
  return prepare(call, row, etx_call_tensor(call, 0)->dtype);
}

// The same for operators that do not know truth values.
static etx_status prepare_neg(etx_call* call, size_t row) {
  if (etx_call_tensor(call, 0)->dtype == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'self' has type 'bool', expected numbers");
  }
  return prepare_same(call, row);
}

static etx_status prepare_real(etx_call* call, size_t row) {
  ETX_TRY(etx_call_check_real(call, 0));
  const etx_dtype own = etx_call_tensor(call, 0)->dtype;
  const bool is_exact = etx_compute_type_of(own) == ETX_COMPUTE_I64;
  return prepare(call, row, is_exact ? ETX_DTYPE_FLOAT32 : own);
}

static etx_status refuse_exact(const etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, 0)->dtype;
  if (etx_compute_type_of(dtype) != ETX_COMPUTE_I64) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "'self' has type '%s', expected floats",
                         etx_dtype_name(dtype));
}

static etx_status prepare_floats(etx_call* call, size_t row) {
  ETX_TRY(refuse_exact(call));
  return prepare_same(call, row);
}

// Bounds in arguments 1 and 2, either of which may be None.
static etx_status check_bounds(const etx_call* call, etx_dtype dtype) {
  for (size_t i = 1; i <= 2; ++i) {
    if (etx_call_is_none(call, i)) continue;
    ETX_TRY(etx_call_check_scalar(call, i, dtype));
  }
  return ETX_OK;
}

// With parameters from the arguments.
static etx_status prepare_with(etx_call* call, size_t row,
                               etx_unary_reader reader) {
  ETX_TRY(prepare_floats(call, row));
  call->prepared[READER] = reader;
  return ETX_OK;
}
static etx_status prepare_slope(etx_call* call, size_t row) {
  return prepare_with(call, row, ETX_UNARY_READS_SLOPE);
}
static etx_status prepare_elu(etx_call* call, size_t row) {
  return prepare_with(call, row, ETX_UNARY_READS_ELU);
}
static etx_status prepare_softplus(etx_call* call, size_t row) {
  return prepare_with(call, row, ETX_UNARY_READS_PAIR);
}
static etx_status prepare_hardtanh(etx_call* call, size_t row) {
  const etx_dtype dtype = etx_call_tensor(call, 0)->dtype;
  ETX_TRY(prepare_neg(call, row));
  ETX_TRY(check_bounds(call, dtype));
  if (dtype == ETX_DTYPE_UINT8 &&
      (etx_call_real(call, 1) < 0 || etx_call_real(call, 2) < 0)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a bound is negative, 'self' has type 'uint8'");
  }
  call->prepared[READER] = ETX_UNARY_READS_BOUNDS;
  return ETX_OK;
}
static etx_status prepare_relu6(etx_call* call, size_t row) {
  ETX_TRY(prepare_neg(call, row));
  call->prepared[READER] = ETX_UNARY_READS_ZERO_SIX;
  return ETX_OK;
}
static etx_status prepare_nan_to_num(etx_call* call, size_t row) {
  ETX_TRY(prepare_same(call, row));
  call->prepared[READER] = ETX_UNARY_READS_REPLACEMENTS;
  return ETX_OK;
}
static etx_status prepare_logit(etx_call* call, size_t row) {
  ETX_TRY(prepare_real(call, row));
  call->prepared[READER] = ETX_UNARY_READS_MARGIN;
  return ETX_OK;
}

// Either bound may be None; the result's type takes both into account.
static etx_status prepare_clamp(etx_call* call, size_t row) {
  etx_dtype common;
  ETX_TRY(etx_call_common_type(call, 0, 3, &common));
  if (common == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "truth values are given, expected numbers");
  }
  ETX_TRY(check_bounds(call, common));
  ETX_TRY(prepare(call, row, common));
  call->prepared[READER] = ETX_UNARY_READS_BOUNDS;
  return ETX_OK;
}

static etx_status prepare_conjugate(etx_call* call, size_t row) {
  if (!etx_dtype_is_complex(etx_call_tensor(call, 0)->dtype)) {
    return prepare_same(call, row);
  }
  return etx_complex_conjugate_prepare(call);
}

static etx_status prepare_magnitude(etx_call* call, size_t row) {
  if (!etx_dtype_is_complex(etx_call_tensor(call, 0)->dtype)) {
    return prepare_neg(call, row);
  }
  return etx_complex_magnitude_prepare(call);
}

static etx_status prepare_bitwise_not(etx_call* call, size_t row) {
  const etx_dtype dtype = etx_call_tensor(call, 0)->dtype;
  if (dtype == ETX_DTYPE_BOOL) return prepare_same(call, ETX_UNARY_logical_not);
  if (etx_compute_type_of(dtype) != ETX_COMPUTE_I64) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'self' has type '%s', expected integers or bool",
                           etx_dtype_name(dtype));
  }
  return prepare_same(call, row);
}

static etx_status prepare_gelu(etx_call* call, size_t row) {
  const etx_text approximate = etx_call_value(call, 1)->as.string;
  ETX_TRY(refuse_exact(call));
  if (etx_text_is(approximate, "none")) return prepare_real(call, row);
  if (etx_text_is(approximate, "tanh")) {
    return prepare_real(call, ETX_UNARY_gelu_tanh);
  }
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "'approximate' is '%t', expected 'none' or 'tanh'",
                         approximate);
}

#define KERNEL(kernel, prepare, row) \
  etx_status kernel(etx_call* call) { return prepare(call, ETX_UNARY_##row); }
#include "runtime/kernels/elementwise/unary_kernels.def"
#undef KERNEL
