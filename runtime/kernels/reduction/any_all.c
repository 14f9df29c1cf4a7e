// any and all: whether some or every element is not zero. NaN is not zero.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/reduction/reduce.h"

// Elements looked at between two questions whether the answer is known.
enum { RUN = 256 };

static void start_false(etx_accumulators* folded, size_t count) {
  for (size_t i = 0; i < count; ++i) folded->value.i64[i] = 0;
}

// `all` is kept as "some element is zero", so that both start from false and
// stop at true.
#define ETX_BOOL_LOOPS(name, T, found)                                         \
  static void name##_row(etx_accumulators* folded, size_t at,                  \
                         const void* elements, size_t count, int64_t before) { \
    const T* x = elements;                                                     \
    int64_t* known = &folded->value.i64[at];                                   \
    (void)before;                                                              \
    for (size_t done = 0; done < count && *known == 0; done += RUN) {          \
      const size_t end = count - done < RUN ? count : done + RUN;              \
      int is_found = 0;                                                        \
      for (size_t i = done; i < end; ++i) is_found |= x[i] found 0;            \
      *known = is_found;                                                       \
    }                                                                          \
  }                                                                            \
  static void name##_columns(etx_accumulators* folded, const void* elements,   \
                             size_t count, int64_t before, size_t rows,        \
                             ptrdiff_t step) {                                 \
    const T* x = elements;                                                     \
    (void)before;                                                              \
    for (size_t row = 0; row < rows; ++row, x += step) {                       \
      for (size_t i = 0; i < count; ++i) {                                     \
        folded->value.i64[i] |= x[i] found 0;                                  \
      }                                                                        \
    }                                                                          \
  }

ETX_BOOL_LOOPS(any_i64, int64_t, !=)
ETX_BOOL_LOOPS(any_f32, float, !=)
ETX_BOOL_LOOPS(any_f64, double, !=)
ETX_BOOL_LOOPS(zero_i64, int64_t, ==)
ETX_BOOL_LOOPS(zero_f32, float, ==)
ETX_BOOL_LOOPS(zero_f64, double, ==)

// Bytes as they lie, eight at a time.
static bool has_byte(const uint8_t* x, size_t count) {
  uint64_t found = 0;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t eight;
    memcpy(&eight, x + i, sizeof(eight));
    found |= eight;
  }
  for (; i < count; ++i) found |= x[i];
  return found != 0;
}
// A byte is zero if its high bit is not set and adding 127 to the others does
// not set it.
static bool has_zero(const uint8_t* x, size_t count) {
  const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
  uint64_t all = UINT64_MAX;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t eight;
    memcpy(&eight, x + i, sizeof(eight));
    all &= ((eight & low) + low) | eight;
  }
  bool found = (all | low) != UINT64_MAX;
  for (; i < count; ++i) found |= x[i] == 0;
  return found;
}

#define ETX_BYTE_LOOPS(name, has, found)                                       \
  static void name##_row(etx_accumulators* folded, size_t at,                  \
                         const void* elements, size_t count, int64_t before) { \
    const uint8_t* x = elements;                                               \
    int64_t* known = &folded->value.i64[at];                                   \
    (void)before;                                                              \
    for (size_t done = 0; done < count && *known == 0; done += RUN) {          \
      *known = has(x + done, count - done < RUN ? count - done : RUN);         \
    }                                                                          \
  }                                                                            \
  static void name##_columns(etx_accumulators* folded, const void* elements,   \
                             size_t count, int64_t before, size_t rows,        \
                             ptrdiff_t step) {                                 \
    const uint8_t* x = elements;                                               \
    uint8_t known[ETX_BLOCK] = {0};                                            \
    (void)before;                                                              \
    for (size_t row = 0; row < rows; ++row, x += step) {                       \
      for (size_t i = 0; i < count; ++i) known[i] |= x[i] found 0;             \
    }                                                                          \
    for (size_t i = 0; i < count; ++i) folded->value.i64[i] |= known[i];       \
  }

ETX_BYTE_LOOPS(any_bytes, has_byte, !=)
ETX_BYTE_LOOPS(zero_bytes, has_zero, ==)

static void finish_negated(const etx_reduction* r, etx_accumulators* folded,
                           size_t count) {
  (void)r;
  for (size_t i = 0; i < count; ++i) {
    folded->value.i64[i] = folded->value.i64[i] == 0;
  }
}

static const etx_fold any_folds[] = {
    [ETX_COMPUTE_I64] = {start_false, any_i64_row, any_i64_columns, NULL,
                         ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F32] = {start_false, any_f32_row, any_f32_columns, NULL,
                         ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F64] = {start_false, ETX_IF_DTYPE(FLOAT64, any_f64_row),
                         ETX_IF_DTYPE(FLOAT64, any_f64_columns), NULL,
                         ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
};
static const etx_fold all_folds[] = {
    [ETX_COMPUTE_I64] = {start_false, zero_i64_row, zero_i64_columns,
                         finish_negated, ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F32] = {start_false, zero_f32_row, zero_f32_columns,
                         finish_negated, ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F64] = {start_false, ETX_IF_DTYPE(FLOAT64, zero_f64_row),
                         ETX_IF_DTYPE(FLOAT64, zero_f64_columns),
                         finish_negated, ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
};

static const etx_fold any_bytes = {start_false,       any_bytes_row,
                                   any_bytes_columns, NULL,
                                   ETX_COMPUTE_I64,   ETX_COMPUTE_NONE};
static const etx_fold all_bytes = {start_false,        zero_bytes_row,
                                   zero_bytes_columns, finish_negated,
                                   ETX_COMPUTE_I64,    ETX_COMPUTE_NONE};

static etx_status run_over(const etx_call* call, const etx_fold* folds,
                           const etx_fold* bytes, uint32_t dims) {
  etx_reduction r = {.self = etx_call_tensor(call, ETX_ARG_any_all_self),
                     .value = etx_call_tensor(call, call->argument_count - 1),
                     .dims = dims};
  r.wide = etx_compute_type_of(r.self->dtype);
  const bool are_bytes = etx_dtype_bytes(r.self->dtype) == 1;
  r.fold = are_bytes ? bytes : &folds[r.wide];
  r.native = are_bytes ? r.self->dtype : etx_compute_type_dtype(r.wide);
  r.cast = r.self->dtype;
  etx_reduce(&r);
  return ETX_OK;
}

static etx_status run_any_dims(etx_call* call) {
  return run_over(call, any_folds, &any_bytes,
                  etx_reduced_dims(call, 1, false));
}
static etx_status run_any_all(etx_call* call) {
  return run_over(call, any_folds, &any_bytes, ETX_ALL_DIMS);
}
static etx_status run_all_dims(etx_call* call) {
  return run_over(call, all_folds, &all_bytes,
                  etx_reduced_dims(call, 1, false));
}
static etx_status run_all_all(etx_call* call) {
  return run_over(call, all_folds, &all_bytes, ETX_ALL_DIMS);
}

static etx_status prepare(etx_call* call, etx_kernel_function run) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_any_all_self));
  ETX_TRY(etx_call_check_real(call, call->argument_count - 1));
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_any_out_prepare(etx_call* call) {
  return prepare(call, run_any_dims);
}
etx_status etx_kernel_any_dims_out_prepare(etx_call* call) {
  return prepare(call, run_any_dims);
}
etx_status etx_kernel_any_all_out_prepare(etx_call* call) {
  return prepare(call, run_any_all);
}
etx_status etx_kernel_all_out_prepare(etx_call* call) {
  return prepare(call, run_all_dims);
}
etx_status etx_kernel_all_all_out_prepare(etx_call* call) {
  return prepare(call, run_all_all);
}
