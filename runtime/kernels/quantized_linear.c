// Tiles of eight rows by four columns. For each chunk of the inner dimension
// the four weights' chunks are unpacked once and met with eight rows, so that
// unpacking costs little where there are many rows, and where there is one row
// the weights are read once, in order. Every output is the same sum whatever
// tile it falls in.

#include "runtime/kernels/quantized_linear.h"

#include "format/base/checked_math.h"
#include "runtime/kernels/choose_qparams.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/math_functions.h"

enum {
  TILE_ROWS = 8,
  TILE_COLUMNS = 4,
  // Multiply-adds below which other threads are not worth waking.
  PARALLEL_LEAST = 200000,
};

// What the tiles see.
typedef struct job {
  const etx_quantized_linear* linear;
  size_t rows;
  size_t shares;
  const float* floats;      // [rows, inner] in the weights' order
  const int16_t* integers;  // [rows, inner] likewise
  const float* row_scales;  // [rows] of the integers
} job;

typedef float tile[TILE_ROWS][TILE_COLUMNS];

static size_t inner_of(const etx_tensor* input) {
  return (size_t)input->sizes[input->rank - 1];
}

static size_t rows_of(const etx_tensor* input) {
  size_t rows = 1;
  for (size_t i = 0; i + 1 < input->rank; ++i) rows *= (size_t)input->sizes[i];
  return rows;
}

// Rows that need no preparation.
static bool is_ready(const etx_tensor* input, size_t bits) {
  return bits == 8 && input->dtype == ETX_DTYPE_FLOAT32 &&
         etx_tensor_is_contiguous(input);
}

// Integers stand first, then one scale for each row, 4-aligned: a row of an
// odd count of integers is followed by the next, so only the end is padded.
static bool integer_bytes(size_t rows, size_t inner, size_t* out_scales,
                          size_t* out_bytes) {
  size_t elements, scales;
  if (!etx_multiply_size(rows, inner, &elements) ||
      !etx_add_size(elements, elements & 1, &elements) ||
      !etx_multiply_size(elements, sizeof(int16_t), out_scales) ||
      !etx_multiply_size(rows, sizeof(float), &scales)) {
    return false;
  }
  return etx_add_size(*out_scales, scales, out_bytes);
}

bool etx_quantized_linear_bytes(const etx_tensor* input, size_t bits,
                                bool is_integer, size_t* out_bytes) {
  size_t scales, elements;
  const size_t rows = rows_of(input), inner = inner_of(input);
  *out_bytes = 0;
  if (is_integer) return integer_bytes(rows, inner, &scales, out_bytes);
  if (is_ready(input, bits)) return true;
  return etx_multiply_size(rows, inner, &elements) &&
         etx_multiply_size(elements, sizeof(float), out_bytes);
}

// ------------------------------------------------ preparing the input

// Elements `first` up to first + count of a row, as dense floats.
static void load_chunk(const etx_tensor* input, const char* row, size_t first,
                       size_t count, float* out) {
  const ptrdiff_t stride = input->strides[input->rank - 1];
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(input->dtype);
  etx_convert(ETX_DTYPE_FLOAT32, out, 1, input->dtype,
              row + (ptrdiff_t)first * stride * bytes, stride, count);
}

static void order_chunk(size_t bits, const float* in, size_t count,
                        float* out) {
  if (bits == 4) {
    etx_packed_order(in, count, out);
  } else {
    memcpy(out, in, count * sizeof(float));
  }
}

// Row `index` of the leading dimensions, which may lie anywhere.
static const char* row_at(const etx_tensor* input, size_t index) {
  ptrdiff_t at = 0;
  for (size_t i = (size_t)input->rank - 1; i-- > 0;) {
    const size_t size = (size_t)input->sizes[i];
    at += (ptrdiff_t)(index % size) * input->strides[i];
    index /= size;
  }
  return (const char*)input->data +
         at * (ptrdiff_t)etx_dtype_bytes(input->dtype);
}

static void prepare_floats(job* j, float* out) {
  const etx_quantized_linear* l = j->linear;
  const size_t inner = l->weight.inner;
  j->floats = out;
  for (size_t row = 0; row < j->rows; ++row, out += inner) {
    const char* from = row_at(l->input, row);
    for (size_t k = 0; k < inner; k += ETX_PACKED_CHUNK) {
      float chunk[ETX_PACKED_CHUNK];
      const size_t rest = inner - k;
      const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
      load_chunk(l->input, from, k, count, chunk);
      order_chunk(l->weight.bits, chunk, count, out + k);
    }
  }
}

// clamp(round(x * (1 / scale) + zero)) - zero, in double as PyTorch has it.
static void quantize_chunk(const float* x, size_t count, double inverse,
                           double zero, int16_t* out) {
  for (size_t i = 0; i < count; ++i) {
    double y = etx_round_f64((double)x[i] * inverse + zero);
    y = y < -128.0 ? -128.0 : (y > 127.0 ? 127.0 : y);
    y -= zero;
    out[i] = (int16_t)(int32_t)(y == y ? y : 0.0);
  }
}

static void quantize_row(const etx_quantized_linear* l, const char* row,
                         int16_t* out, float* out_scale) {
  const size_t inner = l->weight.inner;
  const etx_dtype dtype = l->input->dtype;
  etx_qparams q = {1, 0};
  // An input of a narrower type is taken as the floats it stands for.
  if (inner > 0) {
    q = etx_qparams_of_row(ETX_DTYPE_FLOAT32, dtype, row,
                           l->input->strides[l->input->rank - 1], inner);
  }
  *out_scale = (float)q.scale;
  if (q.zero_point < -128) q.zero_point = 0;  // the scale is not finite
  for (size_t k = 0; k < inner; k += ETX_PACKED_CHUNK) {
    float chunk[ETX_PACKED_CHUNK], ordered[ETX_PACKED_CHUNK];
    const size_t rest = inner - k;
    const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
    load_chunk(l->input, row, k, count, chunk);
    order_chunk(l->weight.bits, chunk, count, ordered);
    quantize_chunk(ordered, count, 1.0 / q.scale, (double)q.zero_point,
                   out + k);
  }
}

static void prepare_integers(job* j, char* temporary) {
  const size_t inner = j->linear->weight.inner;
  size_t scales = 0, bytes = 0;
  // The same sum as when the bytes were stated.
  if (!integer_bytes(j->rows, inner, &scales, &bytes)) return;
  int16_t* integers = (int16_t*)(void*)temporary;
  float* row_scales = (float*)(void*)(temporary + scales);
  j->integers = integers;
  j->row_scales = row_scales;
  for (size_t row = 0; row < j->rows; ++row) {
    quantize_row(j->linear, row_at(j->linear->input, row),
                 integers + row * inner, &row_scales[row]);
  }
}

// ------------------------------------------------ tiles

static void add_float_chunk(const job* j, size_t row, size_t rows, size_t k,
                            size_t count, const float* w, size_t column,
                            tile sums) {
  const size_t inner = j->linear->weight.inner;
  const float* x = j->floats + row * inner + k;
  size_t r = 0;
  for (; r + 2 <= rows; r += 2, x += 2 * inner) {
    float first, second;
    etx_dot_two_f32(x, x + inner, w, count, &first, &second);
    sums[r][column] += first;
    sums[r + 1][column] += second;
  }
  if (r < rows) sums[r][column] += etx_dot_f32(x, w, count);
}

static void sum_floats(const job* j, size_t row, size_t rows, size_t column,
                       size_t columns, tile sums) {
  const etx_packed_rows* weight = &j->linear->weight;
  for (size_t k = 0; k < weight->inner; k += ETX_PACKED_CHUNK) {
    const size_t rest = weight->inner - k;
    const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
    for (size_t c = 0; c < columns; ++c) {
      float w[ETX_PACKED_CHUNK];
      etx_packed_floats(weight, column + c, k, count, w);
      add_float_chunk(j, row, rows, k, count, w, c, sums);
    }
  }
}

static int32_t dot_integers(const int16_t* a, const int16_t* b, size_t count) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += (int32_t)a[i] * (int32_t)b[i];
  return sum;
}

// The integer sum of one group's part of a chunk of `count` elements, of which
// it has `part` from `done` on.
static int32_t dot_group(const etx_packed_rows* weight, const int16_t* a,
                         const int16_t* w, size_t count, size_t done,
                         size_t part) {
  if (weight->bits == 8) return dot_integers(a + done, w + done, part);
  const size_t even = done / 2, odd = (count + done) / 2;
  return dot_integers(a + even, w + even, part / 2) +
         dot_integers(a + odd, w + odd, part / 2);
}

// Adds what a chunk gives, group by group.
static void add_groups(const job* j, size_t row, size_t rows, size_t k,
                       size_t count, const int16_t* w, size_t column,
                       size_t place, tile sums) {
  const etx_packed_rows* weight = &j->linear->weight;
  for (size_t done = 0; done < count;) {
    const size_t group = (k + done) / weight->group;
    const size_t rest = (group + 1) * weight->group - (k + done);
    const size_t part = rest < count - done ? rest : count - done;
    const float scale = etx_packed_scale(weight, column, group);
    const int16_t* a = j->integers + row * weight->inner + k;
    for (size_t r = 0; r < rows; ++r, a += weight->inner) {
      sums[r][place] +=
          scale * (float)dot_group(weight, a, w, count, done, part);
    }
    done += part;
  }
}

// With one scale for a row of weights the sum is whole to the end.
static void sum_whole(const job* j, size_t row, size_t rows, size_t column,
                      size_t place, tile sums) {
  const etx_packed_rows* weight = &j->linear->weight;
  int64_t totals[TILE_ROWS] = {0};
  for (size_t k = 0; k < weight->inner; k += ETX_PACKED_CHUNK) {
    int16_t w[ETX_PACKED_CHUNK];
    const size_t rest = weight->inner - k;
    const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
    etx_packed_integers(weight, column, k, count, w);
    const int16_t* a = j->integers + row * weight->inner + k;
    for (size_t r = 0; r < rows; ++r, a += weight->inner) {
      totals[r] += dot_integers(a, w, count);
    }
  }
  for (size_t r = 0; r < rows; ++r) sums[r][place] = (float)totals[r];
}

static void sum_integers(const job* j, size_t row, size_t rows, size_t column,
                         size_t columns, tile sums) {
  const etx_packed_rows* weight = &j->linear->weight;
  for (size_t c = 0; c < columns; ++c) {
    if (weight->groups == 1) {
      sum_whole(j, row, rows, column + c, c, sums);
      continue;
    }
    for (size_t k = 0; k < weight->inner; k += ETX_PACKED_CHUNK) {
      int16_t w[ETX_PACKED_CHUNK];
      const size_t rest = weight->inner - k;
      const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
      etx_packed_integers(weight, column + c, k, count, w);
      add_groups(j, row, rows, k, count, w, column + c, c, sums);
    }
  }
}

static float bias_at(const etx_tensor* bias, size_t column) {
  etx_block one;
  if (bias->dtype == ETX_DTYPE_FLOAT32) {
    return ((const float*)bias->data)[column];
  }
  etx_block_load(
      &one, ETX_WIDE_F32, bias->dtype,
      (const char*)bias->data + column * etx_dtype_bytes(bias->dtype), 0, 1);
  return one.f32[0];
}

static void store_tile(const job* j, size_t row, size_t rows, size_t column,
                       size_t columns, tile sums) {
  const etx_quantized_linear* l = j->linear;
  const size_t bytes = etx_dtype_bytes(l->out->dtype);
  for (size_t c = 0; c < columns; ++c) {
    const bool is_scaled = l->weight.groups == 1;
    const float scale =
        is_scaled ? etx_packed_scale(&l->weight, column + c, 0) : 1.0f;
    for (size_t r = 0; r < rows; ++r) {
      float y = sums[r][c] * scale;
      if (l->is_integer) y *= j->row_scales[row + r];
      if (l->bias != NULL) y += bias_at(l->bias, column + c);
      const size_t at = (row + r) * l->columns + column + c;
      etx_convert(l->out->dtype, (char*)l->out->data + at * bytes, 1,
                  ETX_DTYPE_FLOAT32, &y, 1, 1);
    }
  }
}

static void run_columns(const job* j, size_t first, size_t last) {
  for (size_t column = first; column < last; column += TILE_COLUMNS) {
    const size_t left = last - column;
    const size_t columns = left < TILE_COLUMNS ? left : TILE_COLUMNS;
    for (size_t row = 0; row < j->rows; row += TILE_ROWS) {
      const size_t below = j->rows - row;
      const size_t rows = below < TILE_ROWS ? below : TILE_ROWS;
      tile sums = {{0}};
      if (j->linear->is_integer) {
        sum_integers(j, row, rows, column, columns, sums);
      } else {
        sum_floats(j, row, rows, column, columns, sums);
      }
      store_tile(j, row, rows, column, columns, sums);
    }
  }
}

static void run_share(void* argument, size_t index) {
  const job* j = argument;
  const size_t tiles = (j->linear->columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const size_t first = tiles * index / j->shares * TILE_COLUMNS;
  const size_t last = tiles * (index + 1) / j->shares * TILE_COLUMNS;
  const size_t end = j->linear->columns;
  run_columns(j, first, last < end ? last : end);
}

void etx_quantized_linear_run(const etx_quantized_linear* linear,
                              void* temporary, const etx_parallel* parallel) {
  job j = {.linear = linear, .rows = rows_of(linear->input)};
  if (j.rows == 0 || linear->columns == 0) return;
  if (linear->is_integer) {
    prepare_integers(&j, temporary);
  } else if (is_ready(linear->input, linear->weight.bits)) {
    j.floats = linear->input->data;
  } else {
    prepare_floats(&j, temporary);
  }
  const size_t tiles = (linear->columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const double work =
      (double)j.rows * (double)linear->columns * (double)linear->weight.inner;
  if (parallel->thread_count < 2 || work < PARALLEL_LEAST || tiles < 2) {
    run_columns(&j, 0, linear->columns);
    return;
  }
  const size_t wanted = parallel->thread_count * 4;
  j.shares = wanted < tiles ? wanted : tiles;
  parallel->parallel_for(parallel->context, run_share, &j, j.shares);
}
