#include "runtime/kernels/u8_results_template.h"

enum { COLUMNS = ETX_U8_COLUMNS, MOST = ETX_U8_PANELS * COLUMNS };

static inline void add_four(const uint8_t* x, const int8_t* w, int32_t* sums) {
  for (size_t c = 0; c < COLUMNS; ++c, w += ETX_U8_SIDE) {
    sums[c] += x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3];
  }
}

static void block(const etx_u8_block* b) {
  const size_t panels = (b->columns + COLUMNS - 1) / COLUMNS;
  for (size_t r = 0; r < b->rows; ++r) {
    int32_t sums[MOST] = {0};
    if (!b->starts) memcpy(sums, b->sums + r * MOST, sizeof sums);
    for (size_t p = 0; p < panels; ++p) {
      const int8_t* w = b->panels + p * b->panel_bytes;
      for (size_t t = 0; t < b->taps; ++t) {
        const uint8_t* x = b->seen[t * b->pitch + r];
        for (size_t k = 0; k < b->fours; ++k, x += ETX_U8_SIDE) {
          add_four(x, w, sums + p * COLUMNS);
          w += COLUMNS * ETX_U8_SIDE;
        }
      }
    }
    if (b->ends) {
      u8_store(b->results, sums, b->channel, b->columns, b->out,
               r * b->out_row);
    } else {
      memcpy(b->sums + r * MOST, sums, sizeof sums);
    }
  }
}

static void add_tap(const uint8_t* x, const int8_t* w, size_t count,
                    int32_t* sums) {
  for (size_t c = 0; c < count; ++c) sums[c] += x[c] * w[c];
}

// Sums of some channels of a window that begins at a column.
static void sum_window(const etx_u8_windows* w, const uint8_t* const* rows,
                       int64_t column, size_t first, size_t count,
                       int32_t* sums) {
  const int8_t* weights = w->weights + first;
  for (size_t y = 0; y < w->kernel_y; ++y) {
    const uint8_t* row = rows[y * w->dilation_y];
    for (size_t x = 0; x < w->kernel_x; ++x, weights += w->channels) {
      const int64_t at = column + (int64_t)(x * w->dilation_x);
      const bool is_inside =
          row != NULL && at >= 0 && at < (int64_t)w->columns;
      const uint8_t* seen =
          is_inside ? row + (size_t)at * w->channels : w->outside;
      add_tap(seen + first, weights, count, sums);
    }
  }
}

static void windows(const etx_u8_windows* w) {
  enum { SOME = 64 };
  for (size_t i = 0; i < w->results_y * w->results_x; ++i) {
    const size_t y = i / w->results_x, x = i - y * w->results_x;
    for (size_t c = 0; c < w->count; c += SOME) {
      int32_t sums[SOME] = {0};
      const size_t first = w->first + c;
      const size_t count = w->count - c < SOME ? w->count - c : SOME;
      sum_window(w, w->rows + y * w->stride_y,
                 (int64_t)(x * w->stride_x) - w->padding, first, count, sums);
      u8_store(w->results, sums, first, count, w->out, i * w->channels + first);
    }
  }
}

static void to_floats(const uint8_t* in, size_t count, int32_t zero,
                      float scale, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = (float)(in[i] - zero) * scale;
}

static void to_bytes(const float* in, size_t count, int32_t zero,
                     float inverse, float low, float high, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = u8_byte(in[i] * inverse, low, high, zero);
  }
}

static void larger(uint8_t* best, const uint8_t* in, size_t count) {
  for (size_t i = 0; i < count; ++i) best[i] = in[i] > best[i] ? in[i] : best[i];
}

const etx_u8_loops etx_u8_loops_base = {block, windows, to_floats, to_bytes,
                                        larger};
