#include "runtime/kernels/elementwise/binary_rows.h"

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/core/loop_apply.h"
#include "runtime/kernels/core/short_copy.h"

static const bool is_comparison[ETX_BINARY_COUNT] = {
#define NUMERIC(name, ...) false,
#define FLOATING(name, ...) false,
#define FLOAT32(name, ...) false,
#define COMPARISON(name, ...) true,
#define INTEGRAL(name, ...) false,
#include "runtime/kernels/simd/elementwise/binary_ops.def"
};

etx_binary_loop etx_binary_loop_of(size_t function, etx_compute_type compute) {
  if (etx_is_f64(compute)) return etx_binary_loops_f64[function];
  const etx_float_loops* loops = etx_float_loops_best();
  return compute == ETX_COMPUTE_F32 ? loops->binary[function]
                                    : loops->whole[function];
}

bool etx_binary_is_comparison(size_t function) {
  return is_comparison[function];
}

etx_binary etx_binary_of(size_t function, etx_dtype common) {
  const etx_binary binary = {
      .function = function,
      .common = common,
      .dtypes = {common, common, common},
      .as = {common, common, common},
      .loop = etx_binary_loop_of(function, etx_compute_type_of(common))};
  return binary;
}

// True if the loop can read an operand's rows in place.
static bool reads_directly(const etx_binary* b, const etx_strided_iterator* it,
                           size_t k) {
  const etx_dtype native =
      etx_compute_type_dtype(etx_compute_type_of(b->common));
  const bool is_dense = it->stride[k] == 0 || it->stride[k] == 1;
  return b->dtypes[k] == native && b->as[k] == native && is_dense;
}

static bool rows_are_direct(const etx_binary* b,
                            const etx_strided_iterator* it) {
  const etx_dtype native =
      etx_compute_type_dtype(etx_compute_type_of(b->common));
  const etx_dtype stored = is_comparison[b->function] ? ETX_DTYPE_BOOL : native;
  return b->common == native && b->dtypes[0] == stored &&
         reads_directly(b, it, 1) && reads_directly(b, it, 2) &&
         (it->stride[0] == 1 || it->count == 1);
}

// True if all rows are bool and a loop can read and write them in place.
static bool rows_are_bool(const etx_binary* b, const etx_strided_iterator* it) {
  for (size_t k = 0; k < 3; ++k) {
    const bool is_dense =
        it->stride[k] == 1 || it->count == 1 || (k > 0 && it->stride[k] == 0);
    if (b->dtypes[k] != ETX_DTYPE_BOOL || !is_dense) return false;
  }
  return etx_binary_loop_of_bool(b->function) != NULL;
}

// The loop over rows that all have one narrow integer type, or NULL.
static etx_binary_loop narrow_loop(const etx_binary* b,
                                   const etx_strided_iterator* it) {
  const bool gives_bool = is_comparison[b->function];
  if (b->dtypes[0] != (gives_bool ? ETX_DTYPE_BOOL : b->common)) return NULL;
  for (size_t k = 0; k < 3; ++k) {
    const bool is_dense =
        it->stride[k] == 1 || it->count == 1 || (k > 0 && it->stride[k] == 0);
    const bool is_common = b->dtypes[k] == b->common && b->as[k] == b->common;
    if (!is_dense || (k > 0 && !is_common)) return NULL;
  }
  return etx_binary_loop_of_narrow(b->function, b->common);
}

static void run_direct(const etx_binary* b, const etx_strided_iterator* it,
                       etx_binary_loop loop, etx_loop_bytes bytes) {
  const etx_binary_job job = {.loop = loop,
                              .bytes = bytes,
                              .out = it->data[0],
                              .a = it->data[1],
                              .b = it->data[2],
                              .count = it->count,
                              .a_is_array = it->stride[1] != 0,
                              .b_is_array = it->stride[2] != 0,
                              .parameter = b->parameter};
  etx_binary_apply(&job);
}

// Short rows of an operand are gathered to one long row. Rows are written in
// whole patterns, so there is one pattern of room behind the long row.
enum { GATHERED = 2048, PATTERN = 16 };

typedef union gathered {
  uint64_t eights[(GATHERED + PATTERN) / 8];
  uint32_t fours[(GATHERED + PATTERN) / 4];
  uint16_t twos[(GATHERED + PATTERN) / 2];
  char bytes[GATHERED + PATTERN];
} gathered;

// One element repeated in eight bytes.
static uint64_t pattern_of(const char* element, size_t bytes) {
  uint64_t eight;
  uint32_t four;
  uint16_t two;
  if (bytes == 8) {
    memcpy(&eight, element, sizeof eight);
    return eight;
  }
  if (bytes == 4) {
    memcpy(&four, element, sizeof four);
    return four * UINT64_C(0x0000000100000001);
  }
  if (bytes == 2) {
    memcpy(&two, element, sizeof two);
    return two * UINT64_C(0x0001000100010001);
  }
  return *(const uint8_t*)element * UINT64_C(0x0101010101010101);
}

// Writes an element `count` times, and up to PATTERN bytes more.
static void repeat_short(char* to, const char* from, size_t count,
                         size_t bytes) {
  typedef uint64_t pattern __attribute__((vector_size(PATTERN)));
  const uint64_t eight = pattern_of(from, bytes);
  const pattern both = {eight, eight};
  for (size_t at = 0; at < count * bytes; at += PATTERN) {
    memcpy(to + at, &both, PATTERN);
  }
}

// Copies the row of an operand, or repeats its one element.
static void gather_row(char* to, const char* from, size_t count, bool is_array,
                       size_t bytes) {
  if (is_array) {
    etx_copy_short(to, from, count * bytes);
  } else {
    repeat_short(to, from, count, bytes);
  }
}

// Computes short rows, as many at a time as there is room for. The rows of the
// result are contiguous; an operand whose rows are, too, is read in place.
static void run_gathered(const etx_binary* b, etx_strided_iterator* it,
                         etx_binary_loop loop, etx_loop_bytes bytes) {
  const size_t max_rows = GATHERED / (it->count * bytes.in);
  const bool is_dense[] = {etx_strided_iterator_is_dense(it, 1),
                           etx_strided_iterator_is_dense(it, 2)};
  gathered rows[2];
  bool more = true;
  while (more) {
    const char* const from[] = {it->data[1], it->data[2]};
    char* const out = it->data[0];
    size_t count = 0;
    for (size_t i = 0; i < max_rows && more; ++i, count += it->count) {
      for (size_t k = 0; k < 2; ++k) {
        if (is_dense[k]) continue;
        gather_row(rows[k].bytes + count * bytes.in, it->data[k + 1], it->count,
                   it->stride[k + 1] != 0, bytes.in);
      }
      more = etx_strided_iterator_step(it);
    }
    const etx_binary_job job = {.loop = loop,
                                .bytes = bytes,
                                .out = out,
                                .a = is_dense[0] ? from[0] : rows[0].bytes,
                                .b = is_dense[1] ? from[1] : rows[1].bytes,
                                .count = count,
                                .a_is_array = true,
                                .b_is_array = true,
                                .parameter = b->parameter};
    etx_binary_apply(&job);
  }
}

static void run_blocks(const etx_binary* b, const etx_strided_iterator* it) {
  const etx_loop_bytes bytes = etx_loop_bytes_of(etx_compute_type_of(b->common),
                                                 is_comparison[b->function]);
  etx_block x_block, y_block, out_block;
  for (size_t done = 0; done < it->count; done += ETX_BLOCK) {
    const size_t left = it->count - done;
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    char* at[3];
    for (size_t k = 0; k < 3; ++k) {
      at[k] = it->data[k] + it->stride[k] * it->bytes[k] * (ptrdiff_t)done;
    }
    const void* x = etx_operand_widen(&x_block, b->as[1], b->dtypes[1], at[1],
                                      it->stride[1], count);
    const void* y = etx_operand_widen(&y_block, b->as[2], b->dtypes[2], at[2],
                                      it->stride[2], count);
    const etx_binary_job job = {.loop = b->loop,
                                .bytes = bytes,
                                .out = &out_block,
                                .a = x,
                                .b = y,
                                .count = count,
                                .a_is_array = it->stride[1] != 0,
                                .b_is_array = it->stride[2] != 0,
                                .parameter = b->parameter};
    etx_binary_apply(&job);
    if (is_comparison[b->function]) {
      etx_convert(b->dtypes[0], at[0], it->stride[0], ETX_DTYPE_BOOL,
                  &out_block, 1, count);
    } else {
      etx_operand_store(&out_block, b->common, b->dtypes[0], at[0],
                        it->stride[0], count);
    }
  }
}

// Computes rows that the loop reads and writes in place.
static void run_rows(const etx_binary* b, etx_strided_iterator* it,
                     etx_binary_loop loop, etx_loop_bytes bytes) {
  const size_t row = it->count * bytes.in;
  if (it->rank > 0 && row <= GATHERED / 2 &&
      etx_strided_iterator_is_dense(it, 0)) {
    run_gathered(b, it, loop, bytes);
    return;
  }
  do {
    run_direct(b, it, loop, bytes);
  } while (etx_strided_iterator_next(it));
}

void etx_binary_run(const etx_binary* binary, etx_strided_iterator* it) {
  if (!etx_strided_iterator_start_any_order(it)) return;
  const bool gives_bool = is_comparison[binary->function];
  const etx_binary_loop narrow = narrow_loop(binary, it);
  if (rows_are_direct(binary, it)) {
    run_rows(
        binary, it, binary->loop,
        etx_loop_bytes_of(etx_compute_type_of(binary->common), gives_bool));
  } else if (narrow != NULL) {
    const size_t element_bytes = etx_dtype_bytes(binary->common);
    const etx_loop_bytes bytes = {element_bytes,
                                  gives_bool ? 1 : element_bytes};
    run_rows(binary, it, narrow, bytes);
  } else if (rows_are_bool(binary, it)) {
    const etx_loop_bytes one = {1, 1};
    run_rows(binary, it, etx_binary_loop_of_bool(binary->function), one);
  } else {
    do {
      run_blocks(binary, it);
    } while (etx_strided_iterator_next(it));
  }
}
