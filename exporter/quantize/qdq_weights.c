#include "exporter/quantize/qdq_weights.h"

enum { COLUMNS = 16, INPUTS = 4 };  // of a panel: channels, inputs side by side

// Elements of one output channel.
static size_t row_of(const etx_ir_constant* weight) {
  return weight->data.size / (size_t)weight->sizes[0];
}

// Writes a panel of up to COLUMNS output channels. The inputs of a tap are
// neighbours.
static void write_panel(const int8_t* rows, size_t columns, size_t inputs,
                        size_t taps, int8_t* to) {
  const size_t row = inputs * taps;
  for (size_t k = 0; k < row; ++k) {
    const size_t tap = k / inputs, input = k % inputs;
    int8_t* const four = to + k / INPUTS * (COLUMNS * INPUTS) + k % INPUTS;
    for (size_t c = 0; c < columns; ++c) {
      four[c * INPUTS] = rows[c * row + input * taps + tap];
    }
  }
}

etx_status etx_qdq_weight_panels(etx_pool* pool, const etx_ir_constant* weight,
                                 size_t groups, etx_ir_constant* out) {
  const size_t row = row_of(weight), inputs = (size_t)weight->sizes[1];
  const size_t channels = (size_t)weight->sizes[0] / groups;
  const size_t panels = (channels + COLUMNS - 1) / COLUMNS;
  const size_t fours = (row + INPUTS - 1) / INPUTS;
  const size_t panel = fours * COLUMNS * INPUTS;
  const size_t bytes = groups * panels * panel;
  int8_t* const data = etx_pool_take(pool, bytes);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  const int8_t* const from = (const int8_t*)weight->data.data;
  for (size_t i = 0; i < groups * panels; ++i) {
    const size_t column = i % panels * COLUMNS;
    const size_t left = channels - column;
    write_panel(from + (i / panels * channels + column) * row,
                left < COLUMNS ? left : COLUMNS, inputs, row / inputs,
                data + i * panel);
  }
  *out = (etx_ir_constant){
      .dtype = ETX_DTYPE_INT8,
      .rank = 4,
      .sizes = {(int64_t)(groups * panels), (int64_t)fours, COLUMNS, INPUTS},
      .data = {(const uint8_t*)data, bytes}};
  return ETX_OK;
}

etx_status etx_qdq_weight_taps(etx_pool* pool, const etx_ir_constant* weight,
                               etx_ir_constant* out) {
  const size_t channels = (size_t)weight->sizes[0], taps = row_of(weight);
  int8_t* const data = etx_pool_take(pool, channels * taps);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  const int8_t* const from = (const int8_t*)weight->data.data;
  for (size_t c = 0; c < channels; ++c) {
    for (size_t t = 0; t < taps; ++t) {
      data[t * channels + c] = from[c * taps + t];
    }
  }
  const bool is_line = weight->rank == 3;
  *out = (etx_ir_constant){
      .dtype = ETX_DTYPE_INT8,
      .rank = 3,
      .sizes = {is_line ? 1 : weight->sizes[2], weight->sizes[is_line ? 2 : 3],
                (int64_t)channels},
      .data = {(const uint8_t*)data, channels * taps}};
  return ETX_OK;
}

etx_status etx_qdq_weight_offsets(etx_pool* pool, const etx_ir_constant* weight,
                                  int64_t zero, etx_ir_constant* out) {
  const size_t channels = (size_t)weight->sizes[0], row = row_of(weight);
  int32_t* const offsets = etx_pool_take(pool, channels * sizeof *offsets);
  if (offsets == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t o = 0; o < channels; ++o) {
    const int8_t* const from = (const int8_t*)weight->data.data + o * row;
    int64_t sum = 0;
    for (size_t k = 0; k < row; ++k) sum += from[k];
    offsets[o] = (int32_t)(-zero * sum);
  }
  *out = (etx_ir_constant){
      .dtype = ETX_DTYPE_INT32,
      .rank = 1,
      .sizes = {(int64_t)channels},
      .data = {(const uint8_t*)offsets, channels * sizeof *offsets}};
  return ETX_OK;
}
