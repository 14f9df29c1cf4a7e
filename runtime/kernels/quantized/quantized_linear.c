// Tiles of eight rows by some columns: the weights of a tile stay in the cache
// while rows pass, and where there is one row they are read once, in order.
// Layouts that the inner loops know (quantized_loops.h) are multiplied as they
// are stored, or with many rows in panels (quantized_linear_int16.h); of others
// the weights are unpacked chunk by chunk for eight rows by four columns. Where
// the processor multiplies bytes, integers have a way of their own
// (quantized_linear_int8.h), as have weights that are panels where integers are
// multiplied in pairs. Every output is the same sum whatever tile it falls in.

#include "runtime/kernels/quantized/quantized_linear.h"

#include "format/base/checked_math.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/quantized/quantized_linear_int8.h"
#include "runtime/kernels/simd/int8/quantized_loops.h"
#include "runtime/kernels/quantized/quantized_linear_int16.h"
#include "runtime/kernels/quantized/linear_input.h"
#include "runtime/kernels/core/parallel_for.h"

enum {
  TILE_ROWS = 8,
  TILE_COLUMNS = 4,
  // Sums of a tile that is multiplied as stored: the fewer rows, the more
  // columns, because loops read several of them far from each other.
  WIDE_SUMS = 256,
  WIDE_COLUMNS = WIDE_SUMS / TILE_ROWS,
  ITEMS_PER_THREAD = 4,
};

// What the tiles see.
typedef struct job {
  const etx_quantized_linear* linear;
  const etx_quantized_loops* loops;
  etx_quantized_loop loop;  // that knows the layout, or NULL
  bool has_panels;          // rows are integers and pass panels
  size_t rows;
  size_t width, tiles;      // columns of a tile; how many there are
  etx_row_argmax* best;     // [rows] of a piece; NULL: results are stored
  const float* floats;      // [rows, inner] in the weights' order
  const int16_t* integers;  // [rows, inner] likewise
  const float* row_scales;  // [rows] of the integers
  // [rows, groups] of the integers, for loops that know groups.
  const int32_t* group_sums;
} job;

typedef float tile[TILE_ROWS][TILE_COLUMNS];

// Rows that need no preparation.
static bool is_ready(const etx_tensor* input, size_t bits) {
  return bits == 8 && input->dtype == ETX_DTYPE_FLOAT32 &&
         etx_tensor_is_contiguous(input);
}

// Where what belongs to integers lies in temporary memory: the integers, a
// scale for each row, and for each row the sums of its groups.
typedef struct integer_layout {
  size_t scales, sums, bytes;
} integer_layout;

// A row of an odd count of integers is followed by the next, so only their end
// is padded. No group that has sums has less than LEAST_GROUP elements.
enum { LEAST_GROUP = 32 };

// Elements from row to row of the integers: not a multiple of what the first
// cache repeats its places after, so that several rows stay in it.
static size_t pitch_of(size_t inner) {
  enum { PAGE = 2048, LINE = 32 };
  return inner % PAGE == 0 && inner < SIZE_MAX - LINE && inner > 0
             ? inner + LINE
             : inner;
}

static bool lay_integers(size_t rows, size_t inner, integer_layout* out) {
  const size_t groups = inner / LEAST_GROUP;
  size_t elements, scales, sums;
  if (!etx_multiply_size(rows, pitch_of(inner), &elements) ||
      !etx_add_size(elements, elements & 1, &elements) ||
      !etx_multiply_size(elements, sizeof(int16_t), &out->scales) ||
      !etx_multiply_size(rows, sizeof(float), &scales) ||
      !etx_multiply_size(scales, groups, &sums)) {
    return false;
  }
  return etx_add_size(out->scales, scales, &out->sums) &&
         etx_add_size(out->sums, sums, &out->bytes);
}

bool etx_quantized_linear_bytes(const etx_tensor* input, size_t bits,
                                bool is_integer, size_t* out_bytes) {
  size_t elements;
  integer_layout layout = {0};
  const size_t rows = etx_linear_input_rows(input);
  const size_t inner = etx_linear_input_inner(input);
  *out_bytes = 0;
  if (is_integer) {
    if (!lay_integers(rows, inner, &layout) ||
        !etx_quantized_linear_int8_bytes(rows, inner, out_bytes)) {
      return false;
    }
    if (*out_bytes < layout.bytes) *out_bytes = layout.bytes;
    return true;
  }
  if (is_ready(input, bits)) return true;
  return etx_multiply_size(rows, inner, &elements) &&
         etx_multiply_size(elements, sizeof(float), out_bytes);
}

// ------------------------------------------------ preparing the input

static void order_chunk(size_t bits, const float* in, size_t count,
                        float* out) {
  if (bits == 4) {
    etx_packed_order(in, count, out);
  } else {
    memcpy(out, in, count * sizeof(float));
  }
}

static void prepare_float_rows(const void* context, size_t first, size_t end) {
  const job* j = context;
  const etx_quantized_linear* l = j->linear;
  const size_t inner = l->weight.inner;
  for (size_t row = first; row < end; ++row) {
    const char* from = etx_linear_input_row(l->input, row);
    float* out = (float*)(uintptr_t)j->floats + row * inner;
    for (size_t k = 0; k < inner; k += ETX_PACKED_CHUNK) {
      float chunk[ETX_PACKED_CHUNK];
      const size_t rest = inner - k;
      const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
      etx_linear_input_load(l->input, from, k, count, chunk);
      order_chunk(l->weight.bits, chunk, count, out + k);
    }
  }
}

static void quantize_row(const job* j, const char* row, int16_t* out,
                         float* out_scale) {
  const etx_quantized_linear* l = j->linear;
  const size_t inner = l->weight.inner;
  const etx_qparams q = etx_linear_input_qparams(l->input, row);
  const bool is_dense = etx_linear_input_is_dense(l->input);
  *out_scale = (float)q.scale;
  for (size_t k = 0; k < inner; k += ETX_PACKED_CHUNK) {
    float chunk[ETX_PACKED_CHUNK], ordered[ETX_PACKED_CHUNK];
    const size_t rest = inner - k;
    const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
    const float* from = (const float*)(const void*)row + k;
    if (!is_dense) {
      etx_linear_input_load(l->input, row, k, count, chunk);
      from = chunk;
    }
    if (l->weight.bits == 4) {
      etx_packed_order(from, count, ordered);
      from = ordered;
    }
    j->loops->quantize(from, count, 1.0 / q.scale, (double)q.zero_point,
                       out + k);
  }
}

// The sums of a row's groups, whose even elements stand first in each chunk.
static void add_groups_of(const etx_packed_weights* w, const int16_t* row,
                          int32_t* sums) {
  for (size_t g = 0; g < w->groups; ++g) {
    const size_t k = g * w->group, chunk = k - k % ETX_PACKED_CHUNK;
    const size_t rest = w->inner - chunk;
    const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
    const int16_t* even = row + chunk + (k - chunk) / 2;
    int32_t sum = 0;
    for (size_t i = 0; i < w->group / 2; ++i) {
      sum += even[i] + even[i + count / 2];
    }
    sums[g] = sum;
  }
}

static void prepare_integer_rows(const void* context, size_t first,
                                 size_t end) {
  const job* j = context;
  const size_t pitch = pitch_of(j->linear->weight.inner);
  int16_t* integers = (int16_t*)(uintptr_t)j->integers;
  float* row_scales = (float*)(uintptr_t)j->row_scales;
  int32_t* group_sums = (int32_t*)(uintptr_t)j->group_sums;
  const etx_packed_weights* w = &j->linear->weight;
  for (size_t row = first; row < end; ++row) {
    quantize_row(j, etx_linear_input_row(j->linear->input, row),
                 integers + row * pitch, &row_scales[row]);
    if (j->loop != j->loops->groups4 || j->has_panels) continue;
    add_groups_of(w, integers + row * pitch, group_sums + row * w->groups);
  }
}

static void prepare(job* j, char* temporary, const etx_parallel* parallel) {
  // Operations on one element.
  enum { FLOAT_WORK = 2, INTEGER_WORK = 8 };
  const etx_quantized_linear* l = j->linear;
  const double elements = (double)j->rows * (double)l->weight.inner;
  integer_layout layout = {0};
  if (l->is_integer) {
    // The same sum as when the bytes were stated.
    if (!lay_integers(j->rows, l->weight.inner, &layout)) return;
    j->integers = (int16_t*)(void*)temporary;
    j->row_scales = (float*)(void*)(temporary + layout.scales);
    j->group_sums = (int32_t*)(void*)(temporary + layout.sums);
    etx_parallel_for(parallel, j->rows, INTEGER_WORK * elements,
                     prepare_integer_rows, j);
  } else if (is_ready(l->input, l->weight.bits)) {
    j->floats = l->input->data;
  } else {
    j->floats = (float*)(void*)temporary;
    etx_parallel_for(parallel, j->rows, FLOAT_WORK * elements,
                     prepare_float_rows, j);
  }
}

// ------------------------------------------------ weights unpacked

static void add_float_chunk(const job* j, size_t row, size_t rows, size_t k,
                            size_t count, const float* w, size_t column,
                            tile sums) {
  const size_t inner = j->linear->weight.inner;
  const float* x = j->floats + row * inner + k;
  size_t r = 0;
  for (; r + 2 <= rows; r += 2, x += 2 * inner) {
    float first, second;
    etx_striped_dot_two_f32(x, x + inner, w, count, &first, &second);
    sums[r][column] += first;
    sums[r + 1][column] += second;
  }
  if (r < rows) sums[r][column] += etx_striped_dot_f32(x, w, count);
}

static void sum_floats(const job* j, size_t row, size_t rows, size_t column,
                       size_t columns, tile sums) {
  const etx_packed_weights* weight = &j->linear->weight;
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
static int32_t dot_group(const etx_packed_weights* weight, const int16_t* a,
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
  const etx_packed_weights* weight = &j->linear->weight;
  for (size_t done = 0; done < count;) {
    const size_t group = (k + done) / weight->group;
    const size_t rest = (group + 1) * weight->group - (k + done);
    const size_t part = rest < count - done ? rest : count - done;
    const float scale = etx_packed_scale(weight, column, group);
    const size_t pitch = pitch_of(weight->inner);
    const int16_t* a = j->integers + row * pitch + k;
    for (size_t r = 0; r < rows; ++r, a += pitch) {
      sums[r][place] +=
          scale * (float)dot_group(weight, a, w, count, done, part);
    }
    done += part;
  }
}

// With one scale for a row of weights the sum is whole to the end.
static void sum_whole(const job* j, size_t row, size_t rows, size_t column,
                      size_t place, tile sums) {
  const etx_packed_weights* weight = &j->linear->weight;
  int64_t totals[TILE_ROWS] = {0};
  for (size_t k = 0; k < weight->inner; k += ETX_PACKED_CHUNK) {
    int16_t w[ETX_PACKED_CHUNK];
    const size_t rest = weight->inner - k;
    const size_t count = rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
    etx_packed_integers(weight, column, k, count, w);
    const size_t pitch = pitch_of(weight->inner);
    const int16_t* a = j->integers + row * pitch + k;
    for (size_t r = 0; r < rows; ++r, a += pitch) {
      totals[r] += dot_integers(a, w, count);
    }
  }
  for (size_t r = 0; r < rows; ++r) sums[r][place] = (float)totals[r];
}

static void sum_integers(const job* j, size_t row, size_t rows, size_t column,
                         size_t columns, tile sums) {
  const etx_packed_weights* weight = &j->linear->weight;
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

// ------------------------------------------------ weights as stored

// The loop that knows the weights' layout; NULL: none does.
static etx_quantized_loop loop_of(const etx_quantized_linear* l,
                                  const etx_quantized_loops* loops) {
  const etx_packed_weights* w = &l->weight;
  if (w->has_panels) return NULL;
  if (w->bits == 8) {
    const bool is_plain =
        w->groups == 1 && w->zeros == NULL && w->dtype == ETX_DTYPE_INT8;
    if (!is_plain) return NULL;
    return l->is_integer ? loops->whole8 : loops->floats8;
  }
  const bool is_even = w->group == 32 || w->group == 64 || w->group == 128 ||
                       w->group == ETX_PACKED_CHUNK;
  if (!is_even || w->groups * w->group != w->inner ||
      w->scale_dtype != ETX_DTYPE_FLOAT32) {
    return NULL;
  }
  return l->is_integer ? loops->groups4 : loops->floats4;
}

static etx_quantized_block block_at(const job* j, size_t row, size_t rows,
                                    size_t column, size_t columns) {
  const etx_packed_weights* w = &j->linear->weight;
  etx_quantized_block b = {.left_row = (ptrdiff_t)w->inner,
                           .right = w->data + column * w->row_bytes,
                           .right_row = (ptrdiff_t)w->row_bytes,
                           .rows = rows,
                           .columns = columns,
                           .count = w->inner,
                           .group = w->group,
                           .groups = w->groups,
                           .sum_row = (ptrdiff_t)columns};
  if (j->linear->is_integer) {
    b.left_row = (ptrdiff_t)pitch_of(w->inner);
    b.left = j->integers + (ptrdiff_t)row * b.left_row;
  } else {
    b.left = j->floats + row * w->inner;
  }
  if (w->bits == 4) {
    b.scales = (const float*)(const void*)w->scales + column * w->groups;
    if (w->zeros != NULL) b.zeros = w->zeros + column * w->groups;
    if (j->linear->is_integer) b.group_sums = j->group_sums + row * w->groups;
  }
  return b;
}

// Long sums, in pieces that fit in 32 bits.
static void sum_pieces(const job* j, etx_quantized_block block, float* sums) {
  int32_t part[WIDE_SUMS];
  int64_t totals[WIDE_SUMS] = {0};
  const size_t inner = block.count, count = block.rows * block.columns;
  block.sums = part;
  for (size_t k = 0; k < inner; k += block.count) {
    block.count = inner - k < ETX_QUANTIZED_MAX_DEPTH ? inner - k
                                                      : ETX_QUANTIZED_MAX_DEPTH;
    j->loop(&block);
    block.left = (const int16_t*)block.left + block.count;
    block.right += block.count;
    for (size_t i = 0; i < count; ++i) totals[i] += part[i];
  }
  for (size_t i = 0; i < count; ++i) sums[i] = (float)totals[i];
}

// A tile of exact sums, as floats.
static void sum_whole_tile(const job* j, etx_quantized_block block,
                           float* sums) {
  int32_t whole[WIDE_SUMS];
  if (block.count > ETX_QUANTIZED_MAX_DEPTH) {
    sum_pieces(j, block, sums);
    return;
  }
  block.sums = whole;
  j->loop(&block);
  const size_t count = block.rows * block.columns;
  for (size_t i = 0; i < count; ++i) sums[i] = (float)whole[i];
}

// ------------------------------------------------ the last line

// Some columns' own numbers.
typedef struct last_line {
  float scales[WIDE_SUMS];  // only where is_scaled
  float bias[WIDE_SUMS];
  bool is_scaled;
} last_line;

static void read_last_line(const job* j, size_t column, size_t columns,
                           last_line* out) {
  const etx_packed_weights* w = &j->linear->weight;
  const etx_tensor* bias = j->linear->bias;
  const bool has_scales = j->loop != NULL && w->bits == 4;
  out->is_scaled = w->groups == 1 && !has_scales;
  if (out->is_scaled) {
    etx_convert(ETX_DTYPE_FLOAT32, out->scales, 1, w->scale_dtype,
                w->scales + column * etx_dtype_bytes(w->scale_dtype), 1,
                columns);
  }
  if (bias != NULL) {
    etx_convert(ETX_DTYPE_FLOAT32, out->bias, 1, bias->dtype,
                (const char*)bias->data + column * etx_dtype_bytes(bias->dtype),
                1, columns);
  }
}

// Sums times the column's and the row's scale, plus the bias: three steps, each
// rounded.
static void store_row(const job* j, const last_line* line, size_t row,
                      size_t column, size_t columns, float* sums) {
  const etx_quantized_linear* l = j->linear;
  const size_t at = row * l->columns + column;
  if (line->is_scaled) {
    for (size_t c = 0; c < columns; ++c) sums[c] *= line->scales[c];
  }
  if (l->is_integer) {
    const float scale = j->row_scales[row];
    for (size_t c = 0; c < columns; ++c) sums[c] *= scale;
  }
  if (l->bias != NULL) {
    for (size_t c = 0; c < columns; ++c) sums[c] += line->bias[c];
  }
  if (j->best != NULL) {
    etx_row_argmax_update_row(&j->best[row], sums, column, columns);
    return;
  }
  char* out = (char*)l->out->data + at * etx_dtype_bytes(l->out->dtype);
  if (l->out->dtype == ETX_DTYPE_FLOAT32) {
    memcpy(out, sums, columns * sizeof(float));
    return;
  }
  etx_convert(l->out->dtype, out, 1, ETX_DTYPE_FLOAT32, sums, 1, columns);
}

static void run_stored(const job* j, size_t column, size_t columns) {
  last_line line;
  read_last_line(j, column, columns, &line);
  for (size_t row = 0; row < j->rows; row += TILE_ROWS) {
    float sums[WIDE_SUMS];
    const size_t below = j->rows - row;
    const size_t rows = below < TILE_ROWS ? below : TILE_ROWS;
    etx_quantized_block b = block_at(j, row, rows, column, columns);
    if (j->loop == j->loops->whole8) {
      sum_whole_tile(j, b, sums);
    } else {
      b.sums = sums;
      j->loop(&b);
    }
    for (size_t r = 0; r < rows; ++r) {
      store_row(j, &line, row + r, column, columns, sums + r * columns);
    }
  }
}

static void run_unpacked(const job* j, size_t column, size_t columns) {
  last_line line;
  read_last_line(j, column, columns, &line);
  for (size_t row = 0; row < j->rows; row += TILE_ROWS) {
    const size_t below = j->rows - row;
    const size_t rows = below < TILE_ROWS ? below : TILE_ROWS;
    tile sums = {{0}};
    if (j->linear->is_integer) {
      sum_integers(j, row, rows, column, columns, sums);
    } else {
      sum_floats(j, row, rows, column, columns, sums);
    }
    for (size_t r = 0; r < rows; ++r) {
      store_row(j, &line, row + r, column, columns, sums[r]);
    }
  }
}

static void run_panels(const job* j, size_t column, size_t columns) {
  const etx_quantized_linear* l = j->linear;
  etx_quantized_linear_int16 panels = {
      .loops = j->loops->pairs,
      .weight = &l->weight,
      .left = j->integers,
      .left_row = (ptrdiff_t)pitch_of(l->weight.inner),
      .row_scales = j->row_scales,
      .rows = j->rows,
      .columns = l->columns,
      .best = j->best};
  if (l->out != NULL) {
    panels.out = l->out->data;
    panels.dtype = l->out->dtype;
  }
  for (size_t done = 0; done < columns; done += ETX_INT16_PAIR_COLUMNS) {
    const size_t left = columns - done;
    const size_t some =
        left < ETX_INT16_PAIR_COLUMNS ? left : ETX_INT16_PAIR_COLUMNS;
    last_line line;
    read_last_line(j, column + done, some, &line);
    for (size_t c = 0; c < ETX_INT16_PAIR_COLUMNS; ++c) {
      if (!line.is_scaled || c >= some) line.scales[c] = 1;
      if (l->bias == NULL || c >= some) line.bias[c] = -0.0f;
    }
    const etx_quantized_linear_int16_epilogue numbers = {line.scales,
                                                         line.bias};
    etx_quantized_linear_int16_run(&panels, column + done, some, &numbers);
  }
}

// Items are tiles.
static void run_tiles(const void* context, size_t first, size_t end) {
  const job* j = context;
  for (size_t item = first; item < end; ++item) {
    const size_t column = item * j->width, left = j->linear->columns - column;
    const size_t columns = left < j->width ? left : j->width;
    if (j->has_panels) {
      run_panels(j, column, columns);
    } else if (j->loop == NULL) {
      run_unpacked(j, column, columns);
    } else {
      run_stored(j, column, columns);
    }
  }
}

// Items are pieces of the tiles.
static void run_pieces(const void* context, size_t first, size_t end) {
  job j = *(const job*)context;
  for (size_t piece = first; piece < end; ++piece) {
    const size_t from = j.tiles * piece / ETX_ARGMAX_PIECES;
    j.best = etx_row_argmax_piece(j.linear->best, piece, piece > first, j.rows,
                                  from * j.width);
    run_tiles(&j, from, j.tiles * (piece + 1) / ETX_ARGMAX_PIECES);
  }
}

// As many columns as a tile has sums for, as long as all threads have some.
static size_t width_of(const job* j, const etx_parallel* parallel) {
  size_t width = WIDE_COLUMNS, rows = j->rows;
  if (j->has_panels) return ETX_INT16_PAIR_COLUMNS;
  if (j->loop == NULL) return TILE_COLUMNS;
  const size_t shared =
      parallel->thread_count < 2
          ? j->linear->columns
          : j->linear->columns / parallel->thread_count / ITEMS_PER_THREAD;
  for (; rows * width * 2 <= WIDE_SUMS && width * 2 <= shared;) width *= 2;
  return width;
}

void etx_quantized_linear_run(const etx_quantized_linear* linear,
                              void* temporary, const etx_parallel* parallel) {
  const etx_instruction_set set =
      etx_instruction_set_within(parallel->instruction_set);
  const etx_int8_dot_loops* bytes = etx_int8_dot_loops_of(set);
  job j = {.linear = linear,
           .loops = etx_quantized_loops_of(set),
           .rows = etx_linear_input_rows(linear->input)};
  if (j.rows == 0 || linear->columns == 0) return;
  if (linear->is_integer && bytes != NULL &&
      etx_quantized_linear_int8_supports(&linear->weight)) {
    etx_quantized_linear_int8_run(linear, bytes, temporary, parallel);
    return;
  }
  j.loop = loop_of(linear, j.loops);
  j.has_panels = linear->is_integer && j.loops->pairs != NULL &&
                 etx_quantized_linear_int16_supports(&linear->weight, j.rows);
  prepare(&j, temporary, parallel);
  j.width = width_of(&j, parallel);
  j.tiles = (linear->columns + j.width - 1) / j.width;
  const double work =
      (double)j.rows * (double)linear->columns * (double)linear->weight.inner;
  if (linear->out != NULL) {
    etx_parallel_for(parallel, j.tiles, work, run_tiles, &j);
  } else {
    etx_parallel_for(parallel, ETX_ARGMAX_PIECES, work, run_pieces, &j);
  }
}
