// Products of float32 with rows of halves as they are stored, for attention of
// a few queries: each row is read once, and registers expand it. The sums have
// the order, and so the bits, of those over expanded rows. Include after
// gemm_nt_template.h, and gemm_nt_dots_template.h for NAME(mixed_dots).
//
//   T              required  type of an element in memory
//   NAME(x)        required  name of a function for the type
//   LOAD(x, from)  required  loads a vector of elements as float32
//   VECTOR_BYTES   required  bytes of a vector register: 16, 32 or 64

#if !defined(T) || !defined(NAME) || !defined(LOAD) || !defined(VECTOR_BYTES)
#error "this header needs the macros of its table"
#endif

#ifdef __OPTIMIZE_SIZE__

// The dots of products are a little slower, and take any number of elements.
static void NAME(half_dots)(const etx_gemm_nt* b) { NAME(mixed_dots)(b); }

#else

// Adds the products of `rows` rows of float32 with one of halves.
static inline __attribute__((always_inline)) void NAME(half_dot)(
    const float* left, ptrdiff_t left_row, size_t rows, const T* right,
    size_t count, etx_f32_vec sums[HALF_DOT_ROWS][DOT_PARTS]) {
  for (size_t k = 0; k < count; k += GEMM_NT_LANES) {
    ETX_UNROLLED
    for (size_t part = 0; part < DOT_PARTS; ++part) {
      const size_t at = k + part * ETX_F32_LANES;
      etx_f32_vec y;
      LOAD(y, right + at);
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        etx_f32_vec x;
        memcpy(&x, left + (ptrdiff_t)r * left_row + at, sizeof x);
        sums[r][part] = ETX_F32_FMA(x, y, sums[r][part]);
      }
    }
  }
}

// The dots of `rows` rows from `row` on.
static inline __attribute__((always_inline)) void NAME(half_dots_of)(
    const etx_gemm_nt* b, size_t row, size_t rows, size_t count) {
  const float* left = (const float*)b->left + (ptrdiff_t)row * b->left_row;
  const T* right = b->right;
  float* out = b->out + (ptrdiff_t)row * b->out_row;
#if VECTOR_BYTES == 64
  for (size_t column = 0; column < b->columns; column += 16, out += 16) {
    const size_t rest = b->columns - column;
    const size_t some = rest < 16 ? rest : 16;
    etx_f32_vec all[HALF_DOT_ROWS][16];
    float totals[16];
    if (some < 16) memset(all, 0, rows * sizeof *all);
    for (size_t i = 0; i < some; ++i, right += b->right_row) {
      etx_f32_vec sums[HALF_DOT_ROWS][DOT_PARTS] = {{{0}}};
      NAME(half_dot)(left, b->left_row, rows, right, count, sums);
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        all[r][4 * (i % 4) + i / 4] = sums[r][0];
      }
    }
    for (size_t r = 0; r < rows; ++r) {
      gemm_nt_totals(all[r], totals);
      memcpy(out + (ptrdiff_t)r * b->out_row, totals, some * sizeof(float));
    }
  }
#else
  for (size_t column = 0; column < b->columns; ++column) {
    etx_f32_vec sums[HALF_DOT_ROWS][DOT_PARTS] = {{{0}}};
    NAME(half_dot)(left, b->left_row, rows, right, count, sums);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      out[(ptrdiff_t)r * b->out_row + (ptrdiff_t)column] =
          etx_f32_vec_sum(sums[r]);
    }
    right += b->right_row;
  }
#endif
}

// Dots of rows of float32 with rows of a multiple of sixteen halves, which are
// expanded once for some rows.
static void NAME(half_dots)(const etx_gemm_nt* b) {
  size_t row = 0;
  for (; row + HALF_DOT_ROWS <= b->rows; row += HALF_DOT_ROWS) {
    NAME(half_dots_of)(b, row, HALF_DOT_ROWS, b->count);
  }
  for (; row < b->rows; ++row) NAME(half_dots_of)(b, row, 1, b->count);
}

#endif

// The sums of `rows` rows in `vecs` vectors from `lane` on.
static inline __attribute__((always_inline)) void NAME(half_sums_of)(
    const etx_gemm_block* b, size_t row, size_t rows, size_t lane,
    size_t vecs) {
  etx_f32_vec sums[HALF_SUM_ROWS][HALF_SUM_VECS] = {{{0}}};
  float* out = (float*)b->sums + (ptrdiff_t)row * b->sum_row + lane;
  const float* weights =
      (const float*)b->weights + (ptrdiff_t)row * b->weight_row;
  const T* from = (const T*)b->panel + lane;
  for (size_t r = 0; r < rows && !b->starts; ++r) {
    memcpy(sums[r], out + (ptrdiff_t)r * b->sum_row, vecs * VECTOR_BYTES);
  }
  for (size_t k = 0; k < b->taps; ++k, from += b->panel_row) {
    etx_f32_vec x[HALF_SUM_VECS];
    ETX_UNROLLED
    for (size_t v = 0; v < vecs; ++v) LOAD(x[v], from + v * ETX_F32_LANES);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      const etx_f32_vec zero = {0};
      const etx_f32_vec weight =
          zero + weights[(ptrdiff_t)r * b->weight_row + (ptrdiff_t)k];
      ETX_UNROLLED
      for (size_t v = 0; v < vecs; ++v) {
        sums[r][v] = ETX_F32_FMA(weight, x[v], sums[r][v]);
      }
    }
  }
  for (size_t r = 0; r < rows; ++r) {
    memcpy(out + (ptrdiff_t)r * b->sum_row, sums[r], vecs * VECTOR_BYTES);
  }
}

// A block with a panel of halves, whose lanes are contiguous.
static void NAME(half_sums)(const etx_gemm_block* b) {
  enum { WIDE = HALF_SUM_VECS * ETX_F32_LANES };
  size_t row = 0;
  for (; row + HALF_SUM_ROWS <= b->rows; row += HALF_SUM_ROWS) {
    size_t lane = 0;
    for (; lane + WIDE <= b->lanes; lane += WIDE) {
      NAME(half_sums_of)(b, row, HALF_SUM_ROWS, lane, HALF_SUM_VECS);
    }
    for (; lane < b->lanes; lane += ETX_F32_LANES) {
      NAME(half_sums_of)(b, row, HALF_SUM_ROWS, lane, 1);
    }
  }
  for (; row < b->rows; ++row) {
    size_t lane = 0;
    for (; lane + WIDE <= b->lanes; lane += WIDE) {
      NAME(half_sums_of)(b, row, 1, lane, HALF_SUM_VECS);
    }
    for (; lane < b->lanes; lane += ETX_F32_LANES) {
      NAME(half_sums_of)(b, row, 1, lane, 1);
    }
  }
}
