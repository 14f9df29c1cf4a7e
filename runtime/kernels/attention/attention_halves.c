// A few queries over keys and values of halves, which are read as they are
// stored: registers expand them. More queries share expanded rows.

#include "runtime/kernels/attention/attention_tile.h"
#include "runtime/kernels/matmul/gemm.h"

static bool has_halves(const etx_attention_view* operand, size_t width) {
  return etx_dtype_is_half(operand->dtype) && operand->scales == NULL &&
         operand->inner == 1 && width != 0 && width % ETX_ATTENTION_GROUP == 0;
}

bool etx_attention_reads_halves(const etx_attention* a) {
  return (ETX_HAS_DTYPE(FLOAT16) || ETX_HAS_DTYPE(BFLOAT16)) &&
         a->queries <= ETX_GEMM_NT_ROWS && has_halves(&a->key, a->width) &&
         has_halves(&a->value, a->value_width);
}

static const uint16_t* rows_at(const etx_attention* a,
                               const etx_attention_row_range* range) {
  return (const uint16_t*)range->operand->data +
         etx_attention_row_offset(a, range->operand, range->batch,
                                  range->first);
}

// Rows that are read at a time: while they are, as many that are read next are
// prefetched. Requests that the processor cannot queue would stop it.
enum { PART = 16 };

void etx_attention_score_halves(const etx_attention_tile* t, size_t r,
                                size_t rows,
                                const etx_attention_row_range* keys,
                                const etx_attention_prefetch_rows* next,
                                float (*scores)[ETX_ATTENTION_KEYS]) {
  const uint16_t* const first = rows_at(t->attention, keys);
  const ptrdiff_t row = keys->operand->row;
  const size_t parts = (keys->count + PART - 1) / PART;
  const etx_gemm_nt_loop dots = keys->operand->dtype == ETX_DTYPE_BFLOAT16
                                    ? t->loops->half_dots_bf16
                                    : t->loops->half_dots_f16;
  for (size_t i = 0; i < parts; ++i) {
    const size_t done = i * PART, left = keys->count - done;
    etx_attention_prefetch_part(next, i, parts);
    dots(&(etx_gemm_nt){.out = scores[0] + done,
                        .out_row = ETX_ATTENTION_KEYS,
                        .left = t->query.data + (ptrdiff_t)r * t->query.stride,
                        .left_row = t->query.stride,
                        .right = first + (ptrdiff_t)done * row,
                        .right_row = row,
                        .rows = rows,
                        .columns = left < PART ? left : PART,
                        .count = t->attention->width});
  }
}

void etx_attention_add_halves(const etx_attention_tile* t, size_t r,
                              size_t rows,
                              const etx_attention_row_range* values,
                              const etx_attention_prefetch_rows* next,
                              float (*weights)[ETX_ATTENTION_KEYS]) {
  const uint16_t* const first = rows_at(t->attention, values);
  const ptrdiff_t row = values->operand->row;
  const size_t parts = (values->count + PART - 1) / PART;
  const etx_gemm_microkernel sums = values->operand->dtype == ETX_DTYPE_BFLOAT16
                                        ? t->loops->half_sums_bf16
                                        : t->loops->half_sums_f16;
  for (size_t i = 0; i < parts; ++i) {
    const size_t done = i * PART, left = values->count - done;
    etx_attention_prefetch_part(next, i, parts);
    sums(&(etx_gemm_block){
        .sums = t->accumulators + (ptrdiff_t)r * t->accumulator_stride,
        .sum_row = t->accumulator_stride,
        .weights = weights[0] + done,
        .weight_row = ETX_ATTENTION_KEYS,
        .panel = first + (ptrdiff_t)done * row,
        .panel_row = row,
        .rows = rows,
        .taps = left < PART ? left : PART,
        .lanes = t->attention->value_width,
        .starts = i == 0 && values->first == t->first_key});
  }
}
