// any and all: whether some or all elements are nonzero. NaN is nonzero.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/reduction/reduce.h"

enum { CHUNK = 256 };  // elements between two checks for an early exit

static void start_false(etx_accumulators* acc, size_t count) {
  for (size_t i = 0; i < count; ++i) acc->value.i64[i] = 0;
}

// `all` is computed as "some element is zero" and negated in the end, so that
// both operators start from false and stop at true.
#define ETX_BOOL_LOOPS(name, T, found)                                         \
  static void name##_row(etx_accumulators* acc, size_t at,                     \
                         const void* elements, size_t count, int64_t before) { \
    const T* x = elements;                                                     \
    int64_t* known = &acc->value.i64[at];                                      \
    (void)before;                                                              \
    for (size_t done = 0; done < count && *known == 0; done += CHUNK) {        \
      const size_t end = count - done < CHUNK ? count : done + CHUNK;          \
      int is_found = 0;                                                        \
      for (size_t i = done; i < end; ++i) is_found |= x[i] found 0;            \
      *known = is_found;                                                       \
    }                                                                          \
  }                                                                            \
  static void name##_columns(etx_accumulators* acc, const void* elements,      \
                             size_t count, int64_t before, size_t rows,        \
                             ptrdiff_t step) {                                 \
    const T* x = elements;                                                     \
    (void)before;                                                              \
    for (size_t row = 0; row < rows; ++row, x += step) {                       \
      for (size_t i = 0; i < count; ++i) {                                     \
        acc->value.i64[i] |= x[i] found 0;                                     \
      }                                                                        \
    }                                                                          \
  }

ETX_BOOL_LOOPS(any_i64, int64_t, !=)
ETX_BOOL_LOOPS(any_f32, float, !=)
ETX_BOOL_LOOPS(any_f64, double, !=)
ETX_BOOL_LOOPS(zero_i64, int64_t, ==)
ETX_BOOL_LOOPS(zero_f32, float, ==)
ETX_BOOL_LOOPS(zero_f64, double, ==)

// True if a byte is nonzero. Reads eight bytes at a time.
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
// True if a byte is zero: its high bit is clear, and adding 127 to its low bits
// does not set it.
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
  static void name##_row(etx_accumulators* acc, size_t at,                     \
                         const void* elements, size_t count, int64_t before) { \
    const uint8_t* x = elements;                                               \
    int64_t* known = &acc->value.i64[at];                                      \
    (void)before;                                                              \
    for (size_t done = 0; done < count && *known == 0; done += CHUNK) {        \
      *known = has(x + done, count - done < CHUNK ? count - done : CHUNK);     \
    }                                                                          \
  }                                                                            \
  static void name##_columns(etx_accumulators* acc, const void* elements,      \
                             size_t count, int64_t before, size_t rows,        \
                             ptrdiff_t step) {                                 \
    const uint8_t* x = elements;                                               \
    uint8_t known[ETX_BLOCK] = {0};                                            \
    (void)before;                                                              \
    for (size_t row = 0; row < rows; ++row, x += step) {                       \
      for (size_t i = 0; i < count; ++i) known[i] |= x[i] found 0;             \
    }                                                                          \
    for (size_t i = 0; i < count; ++i) acc->value.i64[i] |= known[i];          \
  }

ETX_BYTE_LOOPS(any_bytes, has_byte, !=)
ETX_BYTE_LOOPS(zero_bytes, has_zero, ==)

static void finish_negated(const etx_reduction* r, etx_accumulators* acc,
                           size_t count) {
  (void)r;
  for (size_t i = 0; i < count; ++i) {
    acc->value.i64[i] = acc->value.i64[i] == 0;
  }
}

static const etx_reducer any_reducers[] = {
    [ETX_COMPUTE_I64] = {start_false, any_i64_row, any_i64_columns, NULL,
                         ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F32] = {start_false, any_f32_row, any_f32_columns, NULL,
                         ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F64] = {start_false, ETX_IF_DTYPE(FLOAT64, any_f64_row),
                         ETX_IF_DTYPE(FLOAT64, any_f64_columns), NULL,
                         ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
};
static const etx_reducer all_reducers[] = {
    [ETX_COMPUTE_I64] = {start_false, zero_i64_row, zero_i64_columns,
                         finish_negated, ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F32] = {start_false, zero_f32_row, zero_f32_columns,
                         finish_negated, ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F64] = {start_false, ETX_IF_DTYPE(FLOAT64, zero_f64_row),
                         ETX_IF_DTYPE(FLOAT64, zero_f64_columns),
                         finish_negated, ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
};

static const etx_reducer any_bytes = {start_false,       any_bytes_row,
                                      any_bytes_columns, NULL,
                                      ETX_COMPUTE_I64,   ETX_COMPUTE_NONE};
static const etx_reducer all_bytes = {start_false,        zero_bytes_row,
                                      zero_bytes_columns, finish_negated,
                                      ETX_COMPUTE_I64,    ETX_COMPUTE_NONE};

static etx_status run_over(const etx_call* call, const etx_reducer* reducers,
                           const etx_reducer* bytes, uint32_t dims) {
  etx_reduction r = {.self = etx_call_tensor(call, ETX_ARG_any_all_self),
                     .value = etx_call_tensor(call, call->argument_count - 1),
                     .dims = dims};
  r.compute = etx_compute_type_of(r.self->dtype);
  const bool are_bytes = etx_dtype_bytes(r.self->dtype) == 1;
  r.reducer = are_bytes ? bytes : &reducers[r.compute];
  r.native = are_bytes ? r.self->dtype : etx_compute_type_dtype(r.compute);
  r.cast = r.self->dtype;
  etx_reduce(&r);
  return ETX_OK;
}

static etx_status run_any_dims(etx_call* call) {
  return run_over(call, any_reducers, &any_bytes,
                  etx_reduced_dims(call, 1, false));
}
static etx_status run_any_all(etx_call* call) {
  return run_over(call, any_reducers, &any_bytes, ETX_ALL_DIMS);
}
static etx_status run_all_dims(etx_call* call) {
  return run_over(call, all_reducers, &all_bytes,
                  etx_reduced_dims(call, 1, false));
}
static etx_status run_all_all(etx_call* call) {
  return run_over(call, all_reducers, &all_bytes, ETX_ALL_DIMS);
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
