// Packs rows of weights as panels: sixteen groups of four bytes of sixteen
// columns at a time. No parameters. Include after int8_dot_template.h.

enum {
  PARTS = 2,                    // registers of a four of all columns
  FOUR = 4 * ETX_INT8_COLUMNS,  // bytes of a panel from four to four
};

// Loads 64 bytes of sixteen columns and transposes them. For each four columns,
// a register has every fourth group of four bytes, one in each quarter.
static inline __attribute__((always_inline)) void load_transposed(
    const uint8_t* in, ptrdiff_t row, etx_i32x16 v[4][4]) {
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i, in += 4 * row) {
    ETX_UNROLLED
    for (int j = 0; j < 4; ++j) v[i][j] = load_bytes(in + j * row);
    transpose_lanes(v[i]);
  }
}

// Copies the last bytes or columns and fills up with `fill`, which stands for
// zero.
static void copy_rest(const uint8_t* in, ptrdiff_t row, size_t columns,
                      size_t count, uint8_t fill, uint8_t out[LANES][BYTES]) {
  memset(out, fill, LANES * BYTES);
  for (size_t c = 0; c < columns && c < LANES; ++c) {
    memcpy(out[c], in + (ptrdiff_t)c * row, count < BYTES ? count : BYTES);
  }
}
