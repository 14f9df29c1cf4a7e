#include "runtime/kernels/quantized/quantized_linear_int4.h"

#include "runtime/kernels/simd/vector/prefetch.h"

enum {
  COLUMNS = ETX_INT8_COLUMNS,
  DEPTH = 1024,     // elements of a panel
  BLOCK_ROWS = 24,  // rows whose partial sums are kept
  MOST_KEPT = 8,    // panels
  MIN_GROUP = 32,
  MOST_STORED_GROUP = 128,
  PARTIAL_SUMS = 8,
};

// Whether the loops read such weights as they are stored.
static bool has_groups(const etx_packed_weights* w,
                       const etx_int8_dot_loops* loops) {
  return w->group <= (w->params == NULL ? MOST_STORED_GROUP : MIN_GROUP) &&
         w->inner <= loops->groups_most &&
         w->inner % loops->groups_multiple == 0;
}

// Whether the loops read panels of them.
static bool has_panels(const etx_packed_weights* w,
                       const etx_int8_dot_loops* loops) {
  return !etx_packed_has_zeros(w) || w->group <= loops->zero_group;
}

bool etx_quantized_linear_int4_supports(const etx_packed_weights* w,
                                        const etx_int8_dot_loops* loops) {
  return w->group >= MIN_GROUP && w->group <= ETX_PACKED_CHUNK &&
         DEPTH % w->group == 0 && w->groups * w->group == w->inner &&
         w->scale_dtype == ETX_DTYPE_FLOAT32 &&
         (has_groups(w, loops) || has_panels(w, loops));
}

bool etx_quantized_linear_int4_has_panels(const etx_int8_job* j) {
  const etx_packed_weights* w = &j->linear->weight;
  return has_panels(w, j->loops) &&
         (j->rows >= j->loops->panel_rows || !has_groups(w, j->loops));
}

// A panel of 4-bit weights and its parameters.
typedef struct group_panel {
  int8_t panel[DEPTH * COLUMNS];
  float scales[DEPTH / MIN_GROUP][COLUMNS];
  int32_t group_sums[DEPTH / MIN_GROUP][COLUMNS];
} group_panel;

// The partial sums of a row.
typedef float partial_row[PARTIAL_SUMS][COLUMNS];

// The rows of a block, or all if they are fewer.
static size_t rows_of_block(size_t rows) {
  return rows < BLOCK_ROWS ? etx_int8_whole_rows(rows) : BLOCK_ROWS;
}

// The panels of all elements, if they stay in L2 while blocks of rows are
// multiplied with them. Otherwise each block makes one after the other.
static size_t kept_panels(size_t rows, size_t inner) {
  const size_t all = (inner + DEPTH - 1) / DEPTH;
  return rows > BLOCK_ROWS && all <= MOST_KEPT ? all : 1;
}

size_t etx_quantized_linear_int4_tile(size_t rows, size_t inner) {
  return kept_panels(rows, inner) * sizeof(group_panel) +
         rows_of_block(rows) * sizeof(partial_row);
}

// Unpacks the parameters of groups from `at` on: scales, and offsets as zero
// points, which are subtracted. They are transposed in pairs.
static void unpack_params(const etx_int8_job* j, size_t column, size_t columns,
                          size_t at, size_t groups, group_panel* p) {
  const etx_packed_weights* w = &j->linear->weight;
  const float* scales = etx_int8_job_scales(j, column);
  int16_t pairs[DEPTH / MIN_GROUP / 2][COLUMNS][2];
  int32_t unused[COLUMNS] = {0};
  float of_columns[COLUMNS] = {0};
  memcpy(of_columns, scales, columns * sizeof(float));
  j->loops->pack8((const uint8_t*)(w->params + at),
                  (ptrdiff_t)(w->groups * sizeof(int16_t)), columns,
                  groups * sizeof(int16_t), (int8_t*)pairs, unused);
  for (size_t g = 0; g < groups; ++g) {
    for (size_t c = 0; c < COLUMNS; ++c) {
      const int32_t params = pairs[g / 2][c][g % 2];
      const uint32_t zero = (uint32_t)-etx_group_offset(params);
      const uint32_t sum = (uint32_t)p->group_sums[g][c] & 0xffff;
      p->scales[g][c] = of_columns[c] * (float)etx_group_factor(params);
      p->group_sums[g][c] = (int32_t)(zero << 16 | sum);
    }
  }
}

// Prefetches the scales that follow those at `next`, the end of a panel: of the
// same columns, or of the next ones. Always inlined: gcc drops calls of
// functions that only prefetch.
static inline __attribute__((always_inline)) void prefetch_scales(
    const etx_int8_job* j, size_t column, size_t next, size_t groups) {
  const etx_packed_weights* w = &j->linear->weight;
  const char* scales = w->params == NULL ? w->scales : (const char*)w->params;
  const size_t bytes = w->params == NULL ? sizeof(float) : sizeof(int16_t);
  if (next == (column + 1) * w->groups) {
    column += COLUMNS;
    next = column * w->groups;
  }
  for (size_t c = 0; c < COLUMNS && column + c < j->linear->columns; ++c) {
    const char* at = scales + (next + c * w->groups) * bytes;
    ETX_PREFETCH_L2(at);
    ETX_PREFETCH_L2(at + (groups - 1) * bytes);
  }
}

// Packs the weights of a block and the parameters of their groups. The scales
// of groups are transposed with the loop for bytes.
static void pack_panel(const etx_int8_job* j, const etx_int4_panel* block,
                       size_t column, size_t columns, size_t k,
                       group_panel* p) {
  const etx_packed_weights* w = &j->linear->weight;
  const float* scales = (const float*)(const void*)w->scales;
  const size_t at = column * w->groups + k / w->group;
  const size_t groups = block->count / w->group;
  int32_t unused[COLUMNS] = {0};
  const etx_int4_pack pack = {.in = etx_int8_job_weights(j, column) + k / 2,
                              .row = (ptrdiff_t)w->row_bytes,
                              .columns = columns,
                              .count = block->count / 2,
                              .group = w->group,
                              .out = p->panel,
                              .group_sums = p->group_sums[0]};
  prefetch_scales(j, column, at + groups, groups);
  j->loops->pack4(&pack);
  if (w->params != NULL) {
    unpack_params(j, column, columns, at, groups, p);
    return;
  }
  j->loops->pack8((const uint8_t*)(scales + at),
                  (ptrdiff_t)(w->groups * sizeof(float)), columns,
                  groups * sizeof(float), (int8_t*)p->scales, unused);
  for (size_t g = 0; g < groups && w->zeros != NULL; ++g) {
    for (size_t c = 0; c < columns; ++c) {
      const int32_t zero = w->zeros[at + c * w->groups + g];
      const uint32_t sum = (uint32_t)p->group_sums[g][c] & 0xffff;
      p->group_sums[g][c] = (int32_t)((uint32_t)zero << 16 | sum);
    }
  }
}

// The tile of panels of 4-bit weights: partial sums, then panels.
typedef struct group_tile {
  partial_row* sums;
  group_panel* panels;
  size_t column, columns;
} group_tile;

// Multiplies the rows of a block with all panels of the columns, and makes
// these first unless the rows before left them.
static void multiply_panels(const etx_int8_job* j, size_t row, size_t rows,
                            const group_tile* t) {
  const etx_packed_weights* w = &j->linear->weight;
  const bool is_kept = kept_panels(j->all, w->inner) > 1;
  group_panel* p = t->panels;
  for (size_t k = 0; k < w->inner; k += DEPTH, p += is_kept) {
    const size_t left = w->inner - k, group = k / w->group;
    etx_int4_panel block = {
        .left = j->bytes + row * j->pitch + k,
        .left_row = (ptrdiff_t)j->pitch,
        .row_qparams = j->qparams + row,
        .panel = p->panel,
        .rows = rows,
        .count = left < DEPTH ? left : DEPTH,
        .group = w->group,
        .shift = etx_int8_job_shift(j),
        .group_sums = p->group_sums[0],
        .scales = p->scales[0],
        .row_pairs = &j->qparams[row].base,
        .pair_row = sizeof(etx_int8_row_qparams) / sizeof(int32_t),
        .first = group,
        .sums = t->sums[0][0]};
    if (j->row_pairs != NULL) {
      block.row_pairs = j->row_pairs + row * w->groups + group;
      block.pair_row = (ptrdiff_t)w->groups;
      block.pair_group = 1;
    }
    const etx_int8_next_weights next =
        is_kept ? etx_int8_job_next(j, t->column + COLUMNS, k, DEPTH, row, rows)
                : etx_int8_job_next(j, t->column, k + DEPTH, DEPTH, row, rows);
    block.next = next.from;
    block.next_row = (ptrdiff_t)w->row_bytes;
    block.next_rows = next.rows;
    block.next_bytes = next.bytes;
    if (row == 0 || (w->inner > DEPTH && !is_kept)) {
      pack_panel(j, &block, t->column, t->columns, k, p);
    }
    j->loops->panel_groups(&block);
  }
  j->loops->totals(rows, w->groups, t->sums[0][0]);
}

void etx_quantized_linear_int4_run(const etx_int8_job* j, size_t column,
                                   size_t columns, void* tile) {
  partial_row* const sums = tile;
  const group_tile t = {.sums = sums,
                        .panels = (void*)(sums + rows_of_block(j->rows)),
                        .column = column,
                        .columns = columns};
  const size_t max_rows =
      j->linear->weight.inner > DEPTH ? BLOCK_ROWS : BLOCK_ROWS / 2;
  for (size_t row = 0; row < j->rows; row += max_rows) {
    const size_t left = j->rows - row, rows = left < max_rows ? left : max_rows;
    multiply_panels(j, row, rows, &t);
    const etx_int8_epilogue epilogue = {
        .sums = sums, .sum_row = COLUMNS, .rows = rows, .columns = columns};
    etx_int8_job_store(j, epilogue, row, column);
  }
}
