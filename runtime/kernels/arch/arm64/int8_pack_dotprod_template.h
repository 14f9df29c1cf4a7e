// Packs rows of weights as panels: four groups of four bytes of sixteen columns
// at a time. No parameters. Include after int8_dot_dotprod_template.h.

enum {
  SQUARE = 16,  // columns that are packed at a time
  PARTS = ETX_INT8_COLUMNS / SQUARE,
  QUARTERS = SQUARE / LANES,    // registers of a four of them
  FOUR = 4 * ETX_INT8_COLUMNS,  // bytes of a panel from four to four
};

// Transposes sixteen bytes of four rows: each group of four bytes, of all rows.
static inline __attribute__((always_inline)) void transpose_quarter(
    const uint8_t* in, ptrdiff_t row, int8x16_t out[LANES]) {
  int32x4_t v[4];
  ETX_UNROLLED
  for (ptrdiff_t i = 0; i < 4; ++i) {
    v[i] = vreinterpretq_s32_s8(load_bytes(in + i * row));
  }
  const int64x2_t a = vreinterpretq_s64_s32(vtrn1q_s32(v[0], v[1]));
  const int64x2_t b = vreinterpretq_s64_s32(vtrn2q_s32(v[0], v[1]));
  const int64x2_t c = vreinterpretq_s64_s32(vtrn1q_s32(v[2], v[3]));
  const int64x2_t d = vreinterpretq_s64_s32(vtrn2q_s32(v[2], v[3]));
  out[0] = vreinterpretq_s8_s64(vtrn1q_s64(a, c));
  out[1] = vreinterpretq_s8_s64(vtrn1q_s64(b, d));
  out[2] = vreinterpretq_s8_s64(vtrn2q_s64(a, c));
  out[3] = vreinterpretq_s8_s64(vtrn2q_s64(b, d));
}

// Copies the last bytes or columns and fills up with `fill`, which stands for
// zero.
static void copy_rest(const uint8_t* in, ptrdiff_t row, size_t columns,
                      size_t count, uint8_t fill, uint8_t out[SQUARE][BYTES]) {
  memset(out, fill, SQUARE * BYTES);
  for (size_t c = 0; c < columns && c < SQUARE; ++c) {
    memcpy(out[c], in + (ptrdiff_t)c * row, count < BYTES ? count : BYTES);
  }
}
