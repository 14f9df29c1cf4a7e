// GEMM NT, dot products of rows with rows (etx_gemm_nt, which states the order
// of the sums): what the code of all element types shares
// (gemm_nt_dots_template.h). Include after transpose_registers_template.h. All
// sets give the same bits.
//
//   VECTOR_BYTES  required  bytes of a vector register: 16, 32 or 64
//   DOT_COLUMNS   required  columns of the register block

#if !defined(VECTOR_BYTES) || !defined(DOT_COLUMNS)
#error "this header needs the macros of its table"
#endif

enum {
  GEMM_NT_LANES = ETX_F32_DOT_SUMS,
  DOT_PARTS = ETX_F32_DOT_VECS,
#ifdef ETX_LOOPS_ARE_SHORT  // arrays stay in memory
  GEMM_NT_MAX_ROWS = 1,
  GEMM_NT_MAX_COLUMNS = DOT_COLUMNS,
#else
  GEMM_NT_MAX_ROWS = 7,  // largest DOT_ROWS
  GEMM_NT_MAX_COLUMNS = 4,
#endif
#if VECTOR_BYTES == 64
  // A tile has as many columns as the register block, so each stream of memory
  // continues from block to block: the hardware prefetcher follows it, and
  // software prefetch helps in addition.
  GEMM_NT_TILE = DOT_COLUMNS,
  GEMM_NT_PREFETCH = 512,  // prefetch distance in floats
  // The prefetch distance for one row, and the size of the matrix in floats
  // from which on it is used: smaller ones are in L2.
  GEMM_NT_ONE_ROW_PREFETCH = 1024,
  GEMM_NT_ONE_ROW_MIN = 1 << 18,
#elif VECTOR_BYTES == 32
  // Rows of `right` that stay in L1 while the rows of `left` pass.
  GEMM_NT_TILE = 6,
  GEMM_NT_PREFETCH = 512,
#else
  GEMM_NT_TILE = 12,
  GEMM_NT_PREFETCH = 0,
#endif
  // Blocks of dots and of weighted sums of half rows (half_rows_template.h).
  HALF_DOT_ROWS = VECTOR_BYTES == 16 ? 2 : 4,
  HALF_SUM_ROWS = VECTOR_BYTES == 64 ? 4 : 2,
  HALF_SUM_VECS = 4,
  GEMM_NT_AHEAD = 1024,  // the longest rows that are prefetched
  GEMM_NT_CACHED = 64,   // columns that one row reads in the order of memory,
  GEMM_NT_SHORT = 256,   // rows with no more elements are short
};

#if VECTOR_BYTES == 64

// The two halves of x added, and those of y.
#define GEMM_NT_HALVES(x, y)                                                   \
  (__builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20,   \
                           21, 22, 23) +                                       \
   __builtin_shufflevector(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, \
                           28, 29, 30, 31))

// The horizontal sums of sixteen dot products, in the order of etx_f32_vec_sum.
// Dot product i comes out in lane 4 * (i % 4) + i / 4. This takes a third of
// the instructions of sixteen single sums. Inlined where the sums are still in
// registers.
static inline __attribute__((always_inline)) void gemm_nt_totals_inline(
    const etx_f32_vec* sums, float* out) {
  etx_f32_vec fours[4];
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i, sums += 4) {
    const etx_f32_vec a = GEMM_NT_HALVES(sums[0], sums[1]);
    const etx_f32_vec b = GEMM_NT_HALVES(sums[2], sums[3]);
    fours[i] = TRANSPOSE_PIECES(a, b, 0) + TRANSPOSE_PIECES(a, b, 4);
  }
  etx_f32_vec pairs[2];
  ETX_UNROLLED
  for (int i = 0; i < 2; ++i) {
    pairs[i] = TRANSPOSE_PAIRS(fours[2 * i], fours[2 * i + 1], 0) +
               TRANSPOSE_PAIRS(fours[2 * i], fours[2 * i + 1], 2);
  }
  const etx_f32_vec all = TRANSPOSE_FOURS(pairs[0], pairs[1], 0) +
                          TRANSPOSE_FOURS(pairs[0], pairs[1], 2);
  memcpy(out, &all, sizeof(all));
}

static __attribute__((noinline)) void gemm_nt_totals(const etx_f32_vec* sums,
                                                     float* out) {
  gemm_nt_totals_inline(sums, out);
}

// Intel's hardware prefetcher follows four pages, but does not cross their
// ends.
static bool gemm_nt_is_intel(void) {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_cpu_is("intel");
#else
  return false;  // a test, with vectors that the compiler takes apart
#endif
}

#endif

// One row with few columns, which the cache holds.
static inline bool gemm_nt_is_near(const etx_gemm_nt* b) {
  return b->rows == 1 && b->columns > 0 && b->columns <= GEMM_NT_CACHED &&
         b->count <= GEMM_NT_SHORT;
}
