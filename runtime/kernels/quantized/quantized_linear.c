// Tiles of eight input rows by some output columns. The weights of a tile stay
// in the cache while the rows are processed; a single row reads each weight
// once, in the order of memory. There are four ways to compute a tile:
//
//   int8 dot products   integer rows, processors with dot-product instructions
//                       (quantized_linear_int8.h)
//   int16 pairs         integer rows, many of them, or weights in panels
//                       (quantized_linear_int16.h)
//   stored weights      a loop that reads the stored layout (quantized_loops.h)
//   unpacked weights    any layout: chunks are unpacked for 8 rows x 4 columns
//
// Every output is summed in the same order whatever tile it is in.

#include "runtime/kernels/quantized/quantized_linear.h"

#include "format/base/checked_math.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/quantized/quantized_linear_int8.h"
#include "runtime/kernels/simd/int8/quantized_loops.h"
#include "runtime/kernels/quantized/quantized_linear_int16.h"
#include "runtime/kernels/quantized/linear_input.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/core/thread_tiles.h"

enum {
  TILE_ROWS = 8,
  TILE_COLUMNS = 4,
  // Sums of a tile of stored weights. With fewer rows a tile has more columns,
  // because the loops read several columns, which lie far from each other.
  MAX_TILE_SUMS = 256,
  MIN_TILE_COLUMNS = MAX_TILE_SUMS / TILE_ROWS,
  ITEMS_PER_THREAD = 4,  // tiles, at least
};

// The operands of a linear operator, which all its tiles share.
typedef struct linear_job {
  const etx_quantized_linear* linear;
  const etx_quantized_loops* loops;
  etx_quantized_loop loop;  // reads the stored layout; NULL: none does
  bool has_panels;          // computed by quantized_linear_int16.h
  size_t rows;
  size_t width, tiles;      // columns of a tile; number of tiles
  etx_row_argmax* best;     // [rows] of an argmax piece; NULL: store results
  const float* floats;      // [rows, inner] in the order of unpacked weights
  const int16_t* integers;  // [rows, inner] in the same order
  const float* row_scales;  // [rows] of the integers
  // [rows, groups]: sums of the integers of each group, for groups4.
  const int32_t* group_sums;
} linear_job;

// True if the input needs no copy.
static bool is_used_in_place(const etx_tensor* input, size_t bits) {
  return bits == 8 && input->dtype == ETX_DTYPE_FLOAT32 &&
         etx_tensor_is_contiguous(input);
}

// Offsets in the workspace of quantised rows: the integers, a scale for each
// row, and the group sums of each row.
typedef struct integer_workspace {
  size_t scales, sums, bytes;
} integer_workspace;

// Loops read pairs of integers. A row with an odd count is followed by the next
// row, so only the end needs padding. Groups with sums have at least MIN_GROUP
// elements.
enum { MIN_GROUP = 32 };

// The distance of integer rows in elements. Never a multiple of 4096 bytes, so
// that rows do not compete for the same sets of the L1 cache.
static size_t pitch_of(size_t inner) {
  enum { PAGE = 2048, LINE = 32 };
  return inner % PAGE == 0 && inner < SIZE_MAX - LINE && inner > 0
             ? inner + LINE
             : inner;
}

static bool lay_out_integers(size_t rows, size_t inner,
                             integer_workspace* out) {
  const size_t groups = inner / MIN_GROUP;
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

// The bytes of a thread's tile, for whichever instruction set.
static size_t tile_bytes(size_t rows, size_t inner, size_t bits,
                         bool is_integer) {
  if (!is_integer) return 0;
  const size_t bytes = etx_quantized_linear_int8_tile(rows, inner, bits);
  const size_t pairs = etx_quantized_linear_int16_tile(rows, bits);
  return bytes > pairs ? bytes : pairs;
}

static bool input_bytes(const etx_tensor* input, size_t bits, bool is_integer,
                        size_t* out_bytes) {
  size_t elements;
  integer_workspace layout = {0};
  const size_t rows = etx_linear_input_rows(input);
  const size_t inner = etx_linear_input_inner(input);
  *out_bytes = 0;
  if (is_integer) {
    if (!lay_out_integers(rows, inner, &layout) ||
        !etx_quantized_linear_int8_bytes(rows, inner, bits, out_bytes)) {
      return false;
    }
    if (*out_bytes < layout.bytes) *out_bytes = layout.bytes;
    return true;
  }
  if (is_used_in_place(input, bits)) return true;
  return etx_multiply_size(rows, inner, &elements) &&
         etx_multiply_size(elements, sizeof(float), out_bytes);
}

// The tiles are before the prepared input.
bool etx_quantized_linear_bytes(const etx_tensor* input, size_t bits,
                                bool is_integer, const etx_parallel* parallel,
                                size_t* out_bytes) {
  const size_t rows = etx_linear_input_rows(input);
  const size_t inner = etx_linear_input_inner(input);
  size_t tiles = 0;
  return input_bytes(input, bits, is_integer, out_bytes) &&
         etx_thread_tiles_needed(
             parallel, tile_bytes(rows, inner, bits, is_integer), &tiles) &&
         etx_add_size(*out_bytes, tiles, out_bytes);
}

// ------------------------------------------------ preparing the input

static void copy_chunk(size_t bits, const float* in, size_t count, float* out) {
  if (bits == 4) {
    etx_packed_deinterleave(in, count, out);
  } else {
    memcpy(out, in, count * sizeof(float));
  }
}

static void prepare_float_rows(const void* context, size_t first, size_t end) {
  const linear_job* j = context;
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
      copy_chunk(l->weight.bits, chunk, count, out + k);
    }
  }
}

static void quantize_row(const linear_job* j, const char* row, int16_t* out,
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
      etx_packed_deinterleave(from, count, ordered);
      from = ordered;
    }
    j->loops->quantize(from, count, 1.0 / q.scale, (double)q.zero_point,
                       out + k);
  }
}

// The group sums of a row. Each chunk has its even elements first.
static void sum_groups(const etx_packed_weights* w, const int16_t* row,
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
  const linear_job* j = context;
  const size_t pitch = pitch_of(j->linear->weight.inner);
  int16_t* integers = (int16_t*)(uintptr_t)j->integers;
  float* row_scales = (float*)(uintptr_t)j->row_scales;
  int32_t* group_sums = (int32_t*)(uintptr_t)j->group_sums;
  const etx_packed_weights* w = &j->linear->weight;
  for (size_t row = first; row < end; ++row) {
    quantize_row(j, etx_linear_input_row(j->linear->input, row),
                 integers + row * pitch, &row_scales[row]);
    if (j->loop == NULL || w->bits != 4) continue;
    sum_groups(w, integers + row * pitch, group_sums + row * w->groups);
  }
}

static void prepare_input(linear_job* j, char* temporary,
                          const etx_parallel* parallel) {
  // Operations per element.
  enum { FLOAT_WORK = 2, INTEGER_WORK = 8 };
  const etx_quantized_linear* l = j->linear;
  const double elements = (double)j->rows * (double)l->weight.inner;
  integer_workspace layout = {0};
  if (l->is_integer) {
    // Cannot overflow: etx_quantized_linear_bytes computed the same.
    if (!lay_out_integers(j->rows, l->weight.inner, &layout)) return;
    j->integers = (int16_t*)(void*)temporary;
    j->row_scales = (float*)(void*)(temporary + layout.scales);
    j->group_sums = (int32_t*)(void*)(temporary + layout.sums);
    etx_parallel_for(parallel, j->rows, INTEGER_WORK * elements,
                     prepare_integer_rows, j);
  } else if (is_used_in_place(l->input, l->weight.bits)) {
    j->floats = l->input->data;
  } else {
    j->floats = (float*)(void*)temporary;
    etx_parallel_for(parallel, j->rows, FLOAT_WORK * elements,
                     prepare_float_rows, j);
  }
}

// ------------------------------------------------ unpacked weights

// A tile whose weights are unpacked.
typedef struct unpacked_tile {
  const linear_job* job;
  size_t row, rows;
  size_t column, columns;
  float sums[TILE_ROWS][TILE_COLUMNS];
} unpacked_tile;

// Part of one row of the weight.
typedef struct weight_chunk {
  size_t column;  // first column of the tile
  size_t first, count;
} weight_chunk;

static void add_float_chunk(unpacked_tile* t, const weight_chunk* chunk,
                            const float* w) {
  const size_t inner = t->job->linear->weight.inner;
  const size_t count = chunk->count, column = chunk->column;
  const float* x = t->job->floats + t->row * inner + chunk->first;
  size_t r = 0;
  for (; r + 2 <= t->rows; r += 2, x += 2 * inner) {
    float first, second;
    etx_striped_dot_two_f32(x, x + inner, w, count, &first, &second);
    t->sums[r][column] += first;
    t->sums[r + 1][column] += second;
  }
  if (r < t->rows) t->sums[r][column] += etx_striped_dot_f32(x, w, count);
}

static size_t chunk_count(const etx_packed_weights* weight, size_t first) {
  const size_t rest = weight->inner - first;
  return rest < ETX_PACKED_CHUNK ? rest : ETX_PACKED_CHUNK;
}

static void sum_floats(unpacked_tile* t) {
  const etx_packed_weights* weight = &t->job->linear->weight;
  for (size_t k = 0; k < weight->inner; k += ETX_PACKED_CHUNK) {
    const size_t count = chunk_count(weight, k);
    for (size_t c = 0; c < t->columns; ++c) {
      float w[ETX_PACKED_CHUNK];
      const weight_chunk chunk = {c, k, count};
      etx_packed_floats(weight, t->column + c, k, count, w);
      add_float_chunk(t, &chunk, w);
    }
  }
}

static int32_t dot_integers(const int16_t* a, const int16_t* b, size_t count) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += (int32_t)a[i] * (int32_t)b[i];
  return sum;
}

// The dot product of the elements [done, done + part) of a chunk with `count`
// elements.
static int32_t dot_group(const etx_packed_weights* weight, const int16_t* a,
                         const int16_t* w, size_t count, size_t done,
                         size_t part) {
  if (weight->bits == 8) return dot_integers(a + done, w + done, part);
  const size_t even = done / 2, odd = (count + done) / 2;
  return dot_integers(a + even, w + even, part / 2) +
         dot_integers(a + odd, w + odd, part / 2);
}

// Adds the products of a chunk, group by group.
static void add_groups(unpacked_tile* t, const weight_chunk* chunk,
                       const int16_t* w) {
  const etx_packed_weights* weight = &t->job->linear->weight;
  const size_t count = chunk->count;
  for (size_t done = 0; done < count;) {
    const size_t at = chunk->first + done;
    const size_t group = at / weight->group;
    const size_t rest = (group + 1) * weight->group - at;
    const size_t part = rest < count - done ? rest : count - done;
    const float scale =
        etx_packed_scale(weight, t->column + chunk->column, group);
    const size_t pitch = pitch_of(weight->inner);
    const int16_t* a = t->job->integers + t->row * pitch + chunk->first;
    for (size_t r = 0; r < t->rows; ++r, a += pitch) {
      t->sums[r][chunk->column] +=
          scale * (float)dot_group(weight, a, w, count, done, part);
    }
    done += part;
  }
}

// If a row of weights has one scale, its sum is an integer until the end.
static void sum_row_exactly(unpacked_tile* t, size_t column) {
  const etx_packed_weights* weight = &t->job->linear->weight;
  int64_t totals[TILE_ROWS] = {0};
  for (size_t k = 0; k < weight->inner; k += ETX_PACKED_CHUNK) {
    int16_t w[ETX_PACKED_CHUNK];
    const size_t count = chunk_count(weight, k);
    etx_packed_integers(weight, t->column + column, k, count, w);
    const size_t pitch = pitch_of(weight->inner);
    const int16_t* a = t->job->integers + t->row * pitch + k;
    for (size_t r = 0; r < t->rows; ++r, a += pitch) {
      totals[r] += dot_integers(a, w, count);
    }
  }
  for (size_t r = 0; r < t->rows; ++r) t->sums[r][column] = (float)totals[r];
}

static void sum_integers(unpacked_tile* t) {
  const etx_packed_weights* weight = &t->job->linear->weight;
  for (size_t c = 0; c < t->columns; ++c) {
    if (etx_packed_has_row_scale(weight)) {
      sum_row_exactly(t, c);
      continue;
    }
    for (size_t k = 0; k < weight->inner; k += ETX_PACKED_CHUNK) {
      int16_t w[ETX_PACKED_CHUNK];
      const weight_chunk chunk = {c, k, chunk_count(weight, k)};
      etx_packed_integers(weight, t->column + c, k, chunk.count, w);
      add_groups(t, &chunk, w);
    }
  }
}

// ------------------------------------------------ stored weights

// True for 8-bit weights with groups that `floats8` reads.
static bool has_whole_groups(const etx_quantized_linear* l) {
  enum { MULTIPLE = 32 };
  const etx_packed_weights* w = &l->weight;
  return !l->is_integer && w->group % MULTIPLE == 0 &&
         w->groups * w->group == w->inner &&
         w->scale_dtype == ETX_DTYPE_FLOAT32;
}

// The loop that reads the stored layout; NULL: there is none.
static etx_quantized_loop loop_of(const etx_quantized_linear* l,
                                  const etx_quantized_loops* loops) {
  const etx_packed_weights* w = &l->weight;
  if (w->has_panels) return NULL;
  if (w->bits == 8) {
    if (w->zeros != NULL || w->dtype != ETX_DTYPE_INT8) return NULL;
    if (w->groups > 1) return has_whole_groups(l) ? loops->floats8 : NULL;
    return l->is_integer ? loops->whole8 : loops->floats8;
  }
  const bool has_known_group = w->group == 32 || w->group == 64 ||
                               w->group == 128 || w->group == ETX_PACKED_CHUNK;
  if (!has_known_group || w->groups * w->group != w->inner ||
      w->scale_dtype != ETX_DTYPE_FLOAT32) {
    return NULL;
  }
  if (!l->is_integer) return w->params == NULL ? loops->floats4 : NULL;
  return loops->groups4 != NULL ? loops->groups4
                                : etx_quantized_loops_base.groups4;
}

static etx_quantized_block block_at(const linear_job* j, size_t row,
                                    size_t rows, size_t column,
                                    size_t columns) {
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
  if (w->bits == 4 || w->groups > 1) {
    b.scales = (const float*)(const void*)w->scales +
               column * (w->params == NULL ? w->groups : 1);
    if (w->params != NULL) b.params = w->params + column * w->groups;
    if (w->zeros != NULL) b.zeros = w->zeros + column * w->groups;
    if (j->linear->is_integer) b.group_sums = j->group_sums + row * w->groups;
  }
  return b;
}

// Splits long sums into parts that fit in 32 bits.
static void run_exact_tile_in_parts(const linear_job* j,
                                    etx_quantized_block block, float* sums) {
  int32_t part[MAX_TILE_SUMS];
  int64_t totals[MAX_TILE_SUMS] = {0};
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

// Computes a tile of exact integer sums and converts them to floats.
static void run_exact_tile(const linear_job* j, etx_quantized_block block,
                           float* sums) {
  int32_t whole[MAX_TILE_SUMS];
  if (block.count > ETX_QUANTIZED_MAX_DEPTH) {
    run_exact_tile_in_parts(j, block, sums);
    return;
  }
  block.sums = whole;
  j->loop(&block);
  const size_t count = block.rows * block.columns;
  for (size_t i = 0; i < count; ++i) sums[i] = (float)whole[i];
}

// ------------------------------------------------ epilogue

// Scales and biases of the columns of a tile.
typedef struct column_epilogue {
  float scales[MAX_TILE_SUMS];  // only where is_scaled
  float bias[MAX_TILE_SUMS];
  bool is_scaled;
} column_epilogue;

static void read_epilogue(const linear_job* j, size_t column, size_t columns,
                          column_epilogue* out) {
  const etx_packed_weights* w = &j->linear->weight;
  const etx_tensor* bias = j->linear->bias;
  const bool has_scales = j->loop != NULL && w->bits == 4;
  out->is_scaled = etx_packed_has_row_scale(w) && !has_scales;
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

// Multiplies sums by the scales of column and row, adds the bias, and stores
// them or updates the argmax. Each of the three steps is rounded.
static void store_row(const linear_job* j, const column_epilogue* epilogue,
                      size_t row, size_t column, size_t columns, float* sums) {
  const etx_quantized_linear* l = j->linear;
  const size_t at = row * l->columns + column;
  if (epilogue->is_scaled) {
    for (size_t c = 0; c < columns; ++c) sums[c] *= epilogue->scales[c];
  }
  if (l->is_integer) {
    const float scale = j->row_scales[row];
    for (size_t c = 0; c < columns; ++c) sums[c] *= scale;
  }
  if (l->bias != NULL) {
    for (size_t c = 0; c < columns; ++c) sums[c] += epilogue->bias[c];
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

static void run_stored_weights(const linear_job* j, size_t column,
                               size_t columns) {
  column_epilogue epilogue;
  read_epilogue(j, column, columns, &epilogue);
  for (size_t row = 0; row < j->rows; row += TILE_ROWS) {
    float sums[MAX_TILE_SUMS];
    const size_t rows_left = j->rows - row;
    const size_t rows = rows_left < TILE_ROWS ? rows_left : TILE_ROWS;
    etx_quantized_block b = block_at(j, row, rows, column, columns);
    if (j->loop == j->loops->whole8) {
      run_exact_tile(j, b, sums);
    } else {
      b.sums = sums;
      j->loop(&b);
    }
    for (size_t r = 0; r < rows; ++r) {
      store_row(j, &epilogue, row + r, column, columns, sums + r * columns);
    }
  }
}

static void run_unpacked_weights(const linear_job* j, size_t column,
                                 size_t columns) {
  column_epilogue epilogue;
  read_epilogue(j, column, columns, &epilogue);
  for (size_t row = 0; row < j->rows; row += TILE_ROWS) {
    const size_t rows_left = j->rows - row;
    const size_t rows = rows_left < TILE_ROWS ? rows_left : TILE_ROWS;
    unpacked_tile t = {.job = j,
                       .row = row,
                       .rows = rows,
                       .column = column,
                       .columns = columns};
    if (j->linear->is_integer) {
      sum_integers(&t);
    } else {
      sum_floats(&t);
    }
    for (size_t r = 0; r < rows; ++r) {
      store_row(j, &epilogue, row + r, column, columns, t.sums[r]);
    }
  }
}

static void run_panels(const linear_job* j, size_t column, size_t columns,
                       void* tile) {
  const etx_quantized_linear* l = j->linear;
  etx_quantized_linear_int16 panels = {
      .loops = j->loops->pairs,
      .weight = &l->weight,
      .left = j->integers,
      .left_row = (ptrdiff_t)pitch_of(l->weight.inner),
      .row_scales = j->row_scales,
      .rows = j->rows,
      .columns = l->columns,
      .best = j->best,
      .tile = tile};
  if (l->out != NULL) {
    panels.out = l->out->data;
    panels.dtype = l->out->dtype;
  }
  for (size_t done = 0; done < columns; done += ETX_INT16_PAIR_COLUMNS) {
    const size_t left = columns - done;
    const size_t part =
        left < ETX_INT16_PAIR_COLUMNS ? left : ETX_INT16_PAIR_COLUMNS;
    column_epilogue epilogue;
    read_epilogue(j, column + done, part, &epilogue);
    for (size_t c = 0; c < ETX_INT16_PAIR_COLUMNS; ++c) {
      if (!epilogue.is_scaled || c >= part) epilogue.scales[c] = 1;
      if (l->bias == NULL || c >= part) epilogue.bias[c] = -0.0f;
    }
    const etx_quantized_linear_int16_epilogue params = {epilogue.scales,
                                                        epilogue.bias};
    etx_quantized_linear_int16_run(&panels, column + done, part, &params);
  }
}

// Computes tiles [first, end).
static void run_tiles(const void* context, void* tile, size_t first,
                      size_t end) {
  const linear_job* j = context;
  for (size_t item = first; item < end; ++item) {
    const size_t column = item * j->width, left = j->linear->columns - column;
    const size_t columns = left < j->width ? left : j->width;
    if (j->has_panels) {
      run_panels(j, column, columns, tile);
    } else if (j->loop == NULL) {
      run_unpacked_weights(j, column, columns);
    } else {
      run_stored_weights(j, column, columns);
    }
  }
}

// Computes argmax pieces [first, end), each of which has several tiles.
static void run_argmax_pieces(const void* context, void* tile, size_t first,
                              size_t end) {
  linear_job j = *(const linear_job*)context;
  for (size_t piece = first; piece < end; ++piece) {
    const size_t from = j.tiles * piece / ETX_ARGMAX_PIECES;
    j.best = etx_row_argmax_piece(j.linear->best, piece, piece > first, j.rows,
                                  from * j.width);
    run_tiles(&j, tile, from, j.tiles * (piece + 1) / ETX_ARGMAX_PIECES);
  }
}

// The columns of a tile: as many as its sums allow, if all threads get tiles.
static size_t width_of(const linear_job* j, const etx_parallel* parallel) {
  size_t width = MIN_TILE_COLUMNS, rows = j->rows;
  if (j->has_panels) return ETX_INT16_PAIR_COLUMNS;
  if (j->loop == NULL) return TILE_COLUMNS;
  const size_t per_item =
      parallel->thread_count < 2
          ? j->linear->columns
          : j->linear->columns / parallel->thread_count / ITEMS_PER_THREAD;
  for (; rows * width * 2 <= MAX_TILE_SUMS && width * 2 <= per_item;)
    width *= 2;
  return width;
}

void etx_quantized_linear_run(const etx_quantized_linear* linear,
                              void* temporary, const etx_parallel* parallel) {
  const etx_instruction_set set =
      etx_instruction_set_within(parallel->instruction_set);
  const etx_int8_dot_loops* bytes = etx_int8_dot_loops_of(set);
  linear_job j = {.linear = linear,
                  .loops = etx_quantized_loops_of(set),
                  .rows = etx_linear_input_rows(linear->input)};
  if (j.rows == 0 || linear->columns == 0) return;
  const etx_thread_tiles tiles = {
      temporary, tile_bytes(j.rows, linear->weight.inner, linear->weight.bits,
                            linear->is_integer)};
  size_t tiles_bytes = 0;
  // Cannot fail: etx_quantized_linear_bytes computed the same.
  if (!etx_thread_tiles_needed(parallel, tiles.bytes, &tiles_bytes)) return;
  if (tiles_bytes > 0) temporary = (char*)temporary + tiles_bytes;
  if (linear->is_integer && bytes != NULL &&
      etx_quantized_linear_int8_supports(&linear->weight, bytes)) {
    etx_quantized_linear_int8_run(linear, bytes, temporary, &tiles, parallel);
    return;
  }
  j.loop = loop_of(linear, j.loops);
  j.has_panels = linear->is_integer && j.loops->pairs != NULL &&
                 etx_quantized_linear_int16_supports(&linear->weight, j.rows);
  prepare_input(&j, temporary, parallel);
  j.width = width_of(&j, parallel);
  j.tiles = (linear->columns + j.width - 1) / j.width;
  const double work =
      (double)j.rows * (double)linear->columns * (double)linear->weight.inner;
  if (linear->out != NULL) {
    etx_parallel_for_tiled(parallel, j.tiles, work, run_tiles, &j, &tiles);
  } else {
    etx_parallel_for_tiled(parallel, ETX_ARGMAX_PIECES, work, run_argmax_pieces,
                           &j, &tiles);
  }
}
