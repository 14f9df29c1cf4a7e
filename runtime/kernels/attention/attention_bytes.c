// Attention over keys and values of int8 with a scale for each row, in
// integers: a query is rounded to 8 bits once, and the weights of a block of
// keys, times the scales of their values, to 15 bits. Their products are added
// exactly, so that no order of sums is to be kept, and a sum becomes a float
// once.

#include "runtime/kernels/attention/attention_tile.h"

static bool has_bytes(const etx_attention_view* operand, size_t width) {
  return operand->dtype == ETX_DTYPE_INT8 && operand->scales != NULL &&
         operand->zero_points == NULL && operand->inner == 1 && width != 0 &&
         width % ETX_ATTENTION_BYTE_WIDTH == 0 &&
         width <= ETX_ATTENTION_BYTE_WIDEST;
}

bool etx_attention_uses_bytes(const etx_attention* a) {
  return ETX_HAS_DTYPE(INT8) && a->query.dtype == ETX_DTYPE_FLOAT32 &&
         has_bytes(&a->key, a->width) && has_bytes(&a->value, a->value_width);
}

// Rounded rows are shorter, so they may take the place of the rows.
void etx_attention_round_queries(etx_attention_tile* t) {
  const size_t width = t->attention->width;
  uint8_t* out = (uint8_t*)t->query_workspace;
  const float* query = t->query.data;
  for (size_t r = 0; r < t->count; ++r, query += t->query.stride) {
    t->query_factors[r] = t->bytes->round_query(query, width, out);
    out += ETX_ATTENTION_BYTE_ROW(width);
  }
}

static const int8_t* rows_at(const etx_attention* a,
                             const etx_attention_row_range* range) {
  return (const int8_t*)range->operand->data +
         etx_attention_row_offset(a, range->operand, range->batch,
                                  range->first);
}

void etx_attention_score_bytes(const etx_attention_tile* t, size_t r,
                               size_t rows, const etx_attention_row_range* keys,
                               float (*scores)[ETX_ATTENTION_KEYS]) {
  const etx_attention* a = t->attention;
  float factors[ETX_ATTENTION_KEYS];
  int8_t* const panel = (int8_t*)t->block_workspace;
  etx_attention_read_scales(a, keys, factors);
  t->bytes->pack_keys(rows_at(a, keys), keys->operand->row, keys->count,
                      a->width, panel);
  t->bytes->scores(&(etx_attention_byte_product){
      .left = (const uint8_t*)t->query_workspace +
              r * ETX_ATTENTION_BYTE_ROW(a->width),
      .left_row = ETX_ATTENTION_BYTE_ROW(a->width),
      .rows = rows,
      .count = a->width,
      .panel = panel,
      .groups = ETX_ATTENTION_KEYS / ETX_ATTENTION_BYTE_LANES,
      .row_factors = t->query_factors + r,
      .lane_factors = factors,
      .out = scores[0],
      .out_row = ETX_ATTENTION_KEYS});
}

// Weights behind the last key are zeros. Rounded rows are shorter, so they take
// the place of rows that were rounded.
void etx_attention_add_bytes(const etx_attention_tile* t, size_t r, size_t rows,
                             const etx_attention_row_range* values,
                             float (*weights)[ETX_ATTENTION_KEYS]) {
  enum { FOUR = 4 };
  const etx_attention* a = t->attention;
  const size_t taps = (values->count + FOUR - 1) / FOUR * FOUR;
  float scales[ETX_ATTENTION_KEYS], factors[ETX_ATTENTION_TILE];
  int8_t* const panel = (int8_t*)t->block_workspace;
  const size_t row = ETX_ATTENTION_BYTE_ROW(ETX_ATTENTION_KEYS);
  uint8_t* const rounded = (uint8_t*)weights[0];
  etx_attention_read_scales(a, values, scales);
  for (size_t i = 0; i < rows; ++i) {
    factors[i] =
        t->bytes->round_weights(weights[i], scales, taps, rounded + i * row);
  }
  t->bytes->pack_values(rows_at(a, values), values->operand->row, values->count,
                        a->value_width, panel);
  t->bytes->values(&(etx_attention_byte_product){
      .left = rounded,
      .left_row = row,
      .rows = rows,
      .count = taps,
      .panel = panel,
      .groups = a->value_width / ETX_ATTENTION_BYTE_LANES,
      .row_factors = factors,
      .out = t->accumulators + (ptrdiff_t)r * t->accumulator_stride,
      .out_row = t->accumulator_stride,
      .starts = values->first == t->first_key});
}
