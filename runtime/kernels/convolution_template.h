// The inner loops of convolution over one wide type: T is its C type and
// NAME(x) a function's name. A row of lanes is PANEL_LANE_BYTES long.

typedef T NAME(vector) __attribute__((vector_size(16)));
enum { NAME(WIDTH) = 16 / (int)sizeof(T) };

static inline NAME(vector) NAME(get)(const T* from) {
  NAME(vector) v;
  memcpy(&v, from, sizeof(v));
  return v;
}

static inline NAME(vector) NAME(all)(T x) {
  NAME(vector) v = {0};
  return v + x;
}

// Adds to `rows` rows of `vectors` vectors of sums the products of a weight
// for each row and the panel's lanes, tap by tap. Inlined with constants, so
// that the sums stay in registers.
static inline __attribute__((always_inline)) void NAME(add_block)(
    const product_block* b, size_t row, size_t lane, size_t rows,
    size_t vectors) {
  const T* weights = (const T*)b->weights + (ptrdiff_t)row * b->weight_row;
  const T* panel = (const T*)b->panel + lane;
  T* sums = (T*)b->sums + row * (PANEL_LANE_BYTES / sizeof(T)) + lane;
  NAME(vector) own[4][8];
  for (size_t r = 0; r < rows; ++r) {
    for (size_t v = 0; v < vectors; ++v) {
      own[r][v] = NAME(get)(sums + r * (PANEL_LANE_BYTES / sizeof(T)) +
                            v * NAME(WIDTH));
    }
  }
  for (size_t k = 0; k < b->taps; ++k, panel += b->panel_row) {
    for (size_t r = 0; r < rows; ++r) {
      const NAME(vector) weight =
          NAME(all)(weights[(ptrdiff_t)r * b->weight_row + (ptrdiff_t)k]);
      for (size_t v = 0; v < vectors; ++v) {
        own[r][v] += weight * NAME(get)(panel + v * NAME(WIDTH));
      }
    }
  }
  for (size_t r = 0; r < rows; ++r) {
    for (size_t v = 0; v < vectors; ++v) {
      memcpy(sums + r * (PANEL_LANE_BYTES / sizeof(T)) + v * NAME(WIDTH),
             &own[r][v], sizeof(own[r][v]));
    }
  }
}

// All rows and lanes of a block.
static void NAME(add_products)(const product_block* b) {
  const size_t step = 2 * NAME(WIDTH);
  size_t row = 0;
  for (; row + 4 <= b->rows; row += 4) {
    for (size_t lane = 0; lane < b->lanes; lane += step) {
      NAME(add_block)(b, row, lane, 4, 2);
    }
  }
  for (; row < b->rows; ++row) {
    size_t lane = 0;
    for (; lane + 4 * NAME(WIDTH) < b->lanes; lane += 8 * NAME(WIDTH)) {
      NAME(add_block)(b, row, lane, 1, 8);
    }
    for (; lane < b->lanes; lane += step) NAME(add_block)(b, row, lane, 1, 2);
  }
}
