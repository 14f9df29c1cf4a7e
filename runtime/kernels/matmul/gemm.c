// Chooses one of four algorithms for a product, by type, sizes and layout of
// the operands, never by the machine:
//
//   float32 of a few thousand steps: one call (gemm_small_template.h)
//   floats with few rows or columns, right as [columns, inner], the layout of
//     linear's weights: dot products that read weights once, as stored
//     (gemm_halves.c for half types)
//   other half types, also as right beside float32: blocks (gemm_halves.c)
//   other float32: blocks (gemm_packed.c), where right is packed now or was
//     packed when the file was made; or row lanes (gemm_transposed.c),
//     where left is transposed
//   anything else: panels (gemm_f64_i64.c)
//
// No operand is copied or transposed as a whole. Threads split the result,
// never a sum.

#include "runtime/kernels/matmul/gemm.h"

#include "runtime/built_loops.h"
#include "runtime/kernels/core/chain.h"
#include "runtime/kernels/matmul/gemm_epilogue.h"
#include "runtime/kernels/matmul/gemm_variants.h"
#include "runtime/kernels/core/thread_tiles.h"

enum {
  COLUMNS = 64,     // most columns of a work item
  ROWS = 48,        // at least, if there are too few columns for all threads
  LEAST_ROWS = 24,  // fewest rows for each thread if threads split the rows
  PASSING = 6,      // rows that pass at a time
  // Rows that share blocks of `right` (gemm_packed.c). More rows are split into
  // parts of equal size, so that the rows of `left` stay in cache.
  MANY_ROWS = 192,
  // Results that are still in cache when a chain reads them.
  CHAIN_ELEMENTS = 65536,
  // Products that are too small to prepare anything for.
  SMALL_SIDE = 64,
  SMALL_WORK = 8192,
  // A small product has at least SMALL_ROWS rows, or at most so many columns or
  // inner elements as the two numbers after it.
  SMALL_ROWS = 4,
  SMALL_COLUMNS = 16,
  SMALL_INNER = 16,
  DOT_PARTS = 16,  // sums of a dot
  // Work items for each thread: cores differ in speed, and other programs run
  // too.
  ITEMS_PER_THREAD = 4,
};

// ------------------------------------------------ dot products

// The dots of float32 with the type of right.
static etx_gemm_nt_loop dots_of(const etx_gemm* p,
                                const etx_f32_microkernels* loops) {
  if (!etx_gemm_is_mixed(p)) return loops->dots;
  return p->right_dtype == ETX_DTYPE_BFLOAT16 ? loops->mixed_dots_bf16
                                              : loops->mixed_dots_f16;
}

// Dot products (etx_gemm_nt) of float32.
static void run_dots(const etx_gemm* p, const etx_f32_microkernels* loops,
                     const etx_gemm_area* a, void* tile) {
  (void)tile;
  float* out = (float*)(void*)p->out + (ptrdiff_t)a->row * p->out_row +
               (ptrdiff_t)a->column;
  etx_gemm_nt b = etx_gemm_dots_at(p, a);
  b.out = out;
  b.out_row = p->out_row;
  dots_of(p, loops)(&b);
  for (size_t r = 0; r < a->rows; ++r, out += p->out_row) {
    etx_gemm_epilogue_add(p, ETX_COMPUTE_F32, a->row + r, a->column, a->columns,
                          out);
  }
}

// ------------------------------------------------ all

// True if the product is dots. Halves need as many elements as a dot has sums;
// fewer are one sum in order, which is the other order of gemm.h.
static bool are_dots(const etx_gemm* p) {
  const bool are_types = etx_gemm_is_half(p) || etx_gemm_is_mixed(p)
                             ? p->inner >= DOT_PARTS
                             : p->dtype == ETX_DTYPE_FLOAT32 && p->inner > 0;
  return are_types && !p->has_panels && p->right_inner == 1 &&
         p->left_inner == 1 &&
         (p->rows <= ETX_GEMM_NT_ROWS || p->columns <= ETX_GEMM_NT_COLUMNS);
}

// True if the order of the sums is fixed anyway and any other algorithm would
// take longer to set up than to run. A few rows of many columns are excluded:
// with few accumulators in flight, FMAs wait for each other, and blocks have
// more of them.
static bool is_small(const etx_gemm* p) {
  if (p->dtype != ETX_DTYPE_FLOAT32 || p->inner == 0 || p->has_panels ||
      etx_gemm_is_mixed(p)) {
    return false;
  }
  if (p->rows > SMALL_SIDE || p->columns > SMALL_SIDE ||
      p->inner > SMALL_SIDE || p->rows * p->columns * p->inner > SMALL_WORK) {
    return false;
  }
  if (p->inner < DOT_PARTS) return p->right_column == 1 || p->right_inner == 1;
  if (are_dots(p)) return false;
  if (p->right_column != 1) {
    return p->right_inner == 1 && p->inner <= ETX_GEMM_SMALL_INNER;
  }
  return p->rows >= SMALL_ROWS || p->columns <= SMALL_COLUMNS ||
         p->inner <= SMALL_INNER;
}

typedef void (*way)(const etx_gemm* product, const etx_f32_microkernels* loops,
                    const etx_gemm_area* area, void* tile);

typedef struct gemm_job {
  const etx_gemm* p;
  const etx_f32_microkernels* loops;
  way run;
  // the part of the product's chain that `run` leaves; or NULL
  const etx_chain* chain;
  // A work item has `columns` columns of one part of `rows` rows.
  size_t rows, columns;
} gemm_job;

// True for all products of a build whose calls have no other types.
static bool is_float(const etx_gemm* p) {
  return !ETX_HAS_LOOP(ETX_LOOP_f32_gemm_f64_i64,
                       ETX_LOOP_I64 | ETX_LOOP_F64) ||
         etx_compute_type_of(p->dtype) == ETX_COMPUTE_F32;
}

// An algorithm and the bytes of its tile for a product; NULL: none.
typedef struct gemm_variant {
  way run;
  size_t (*tile)(const etx_gemm* product);
} gemm_variant;

static const gemm_variant float_dots = {run_dots, NULL};
static const gemm_variant float_blocks = {etx_gemm_packed,
                                          etx_gemm_packed_tile};
static const gemm_variant wide_blocks = {etx_gemm_f64_i64,
                                         etx_gemm_f64_i64_tile};
static const gemm_variant half_dots = {ETX_IF_HALVES(etx_gemm_half_dots), NULL};
static const gemm_variant half_blocks = {
    ETX_IF_HALVES(etx_gemm_half_blocks),
    ETX_IF_HALVES(etx_gemm_half_blocks_tile)};

static const gemm_variant* blocks_of(const etx_gemm* p) {
  if (etx_gemm_is_half(p) || etx_gemm_is_mixed(p)) return &half_blocks;
  return is_float(p) ? &float_blocks : &wide_blocks;
}

static const gemm_variant* variant_of(const etx_gemm* p) {
  if (!are_dots(p)) return blocks_of(p);
  return etx_gemm_is_half(p) ? &half_dots : &float_dots;
}

// Computes the chain on an area of results.
static void run_chain(const etx_gemm* p, const etx_gemm_area* area) {
  for (size_t i = 0; i < area->rows; ++i) {
    const size_t row = area->row + i;
    float* out = (float*)(void*)p->out + (ptrdiff_t)row * p->out_row +
                 (ptrdiff_t)area->column;
    etx_chain_run(p->chain, out, out, row, area->column, area->columns);
  }
}

static void run_area(const gemm_job* j, const etx_gemm_area* area, void* tile) {
  j->run(j->p, j->loops, area, tile);
  if (j->chain != NULL) run_chain(j->p, area);
}

static void run_small(const etx_gemm* p, const etx_f32_microkernels* loops) {
  loops->gemm_small(p);
  float* out = (float*)(void*)p->out;
  for (size_t row = 0; row < p->rows && !etx_gemm_small_adds(p); ++row) {
    etx_gemm_epilogue_add(p, ETX_COMPUTE_F32, row, 0, p->columns, out);
    out += p->out_row;
  }
  if (p->chain != NULL) {
    run_chain(p, &(etx_gemm_area){0, p->rows, 0, p->columns});
  }
}

// The number of column items that are computed before the chain: all, or as
// many as stay in cache until the chain reads them.
static size_t items_at_once(const gemm_job* j, size_t rows, size_t most) {
  const size_t kept = CHAIN_ELEMENTS / COLUMNS / rows;
  if (j->chain == NULL || kept >= most) return most;
  return kept == 0 ? 1 : kept;
}

// Computes items `first` up to `end` of columns together, for one part of the
// rows.
static void run_part(const gemm_job* j, size_t part, size_t first, size_t end,
                     void* tile) {
  const etx_gemm* p = j->p;
  const size_t row = part * j->rows;
  const size_t rows = p->rows - row < j->rows ? p->rows - row : j->rows;
  const size_t passes = (rows + MANY_ROWS - 1) / MANY_ROWS;
  etx_gemm_area a = {.row = row};
  for (size_t pass = 0; pass < passes; ++pass, a.row += a.rows) {
    a.rows = (row + rows - a.row) / (passes - pass);
    const size_t once = items_at_once(j, a.rows, end - first);
    for (size_t at = first; at < end; at += once) {
      const size_t last = (end - at < once ? end : at + once) * COLUMNS;
      a.column = at * COLUMNS;
      a.columns = (last < p->columns ? last : p->columns) - a.column;
      run_area(j, &a, tile);
    }
  }
}

static void run_items(const void* context, void* tile, size_t first,
                      size_t end) {
  const gemm_job* j = context;
  for (size_t done = first; done < end;) {
    const size_t part = done / j->columns, column = done % j->columns;
    const size_t left = j->columns - column;
    const size_t some = end - done < left ? end - done : left;
    run_part(j, part, column, column + some, tile);
    done += some;
  }
}

static size_t share_of(size_t rows, size_t parts) {
  const size_t each = (rows + parts - 1) / parts;
  return (each + PASSING - 1) / PASSING * PASSING;
}

// The rows of a part. With panels, which cost nothing to share, each thread has
// rows of its own, so it reads what it wrote when they are inputs again.
// Otherwise rows are split only if there are too few columns.
static size_t part_rows(const gemm_job* j, size_t threads) {
  const etx_gemm* p = j->p;
  if (threads < 2 || p->rows <= ROWS) return p->rows;
  if (j->columns < threads * ITEMS_PER_THREAD) {
    const size_t rows = share_of(p->rows, threads * ITEMS_PER_THREAD);
    return rows < ROWS ? ROWS : rows;
  }
  if (!p->has_panels || p->rows < threads * LEAST_ROWS) return p->rows;
  return share_of(p->rows, threads);
}

bool etx_gemm_temporary(const etx_gemm* product, const etx_parallel* parallel,
                        size_t* out_bytes) {
  return etx_thread_tiles_needed(parallel, blocks_of(product)->tile(product),
                                 out_bytes);
}

void etx_gemm_run(const etx_gemm* product, const etx_parallel* parallel,
                  void* temporary) {
  const etx_gemm* p = product;
  etx_gemm none;
  // No copy otherwise: a load of a whole struct stalls after stores of its
  // fields.
  if (product->ignores_product) {
    none = *product;
    none.inner = 0;
    p = &none;
  }
  if (p->rows == 0 || p->columns == 0) return;
  const etx_f32_microkernels* loops = etx_f32_microkernels_of(
      etx_instruction_set_within(parallel->instruction_set));
  if (is_small(p)) {
    run_small(p, loops);
    return;
  }
  // A single row reads one weight for each step.
  const double work = (double)(p->rows > 1 ? p->rows : 2) * (double)p->columns *
                      (double)p->inner;
  const gemm_variant* v = variant_of(p);
  gemm_job j = {.p = p,
                .loops = loops,
                .run = v->run,
                .chain = p->chain,
                .columns = (p->columns + COLUMNS - 1) / COLUMNS};
  if (j.run == etx_gemm_packed && etx_chain_added(p->chain) != NULL) {
    j.chain = NULL;
  }
  j.rows = part_rows(&j, parallel->thread_count);
  const size_t parts = (p->rows + j.rows - 1) / j.rows;
  const etx_thread_tiles tiles = {temporary, v->tile == NULL ? 0 : v->tile(p)};
  etx_parallel_for_tiled(parallel, j.columns * parts, work, run_items, &j,
                         &tiles);
}
