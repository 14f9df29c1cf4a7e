// Interleaves the bytes of four rows by channel, in the order that
// u8_depthwise_avx512vnni.c states. Included by files that instantiate
// u8_depthwise_template.h with VNNI.
//
//   I32_VEC   required  type of a register with int32 lanes
//   I16_VEC   required  the same with int16 lanes
//   CHAR_VEC  required  the same with char lanes
//   SIDE_BY_SIDE(vector, of, a, b, each, begin)  required
//       the lower or the upper half of each 16 bytes of two registers, element
//       by element interleaved

#if !defined(SIDE_BY_SIDE) || !defined(I32_VEC) || !defined(I16_VEC) || \
    !defined(CHAR_VEC)
#error "this header needs the macros of its table"
#endif

#define TWO(a, b, k) (a) + (k), (b) + (k)
#define BYTES_OF(a, b)                                                  \
  TWO(a, b, 0), TWO(a, b, 1), TWO(a, b, 2), TWO(a, b, 3), TWO(a, b, 4), \
      TWO(a, b, 5), TWO(a, b, 6), TWO(a, b, 7)
#define SHORTS_OF(a, b) TWO(a, b, 0), TWO(a, b, 1), TWO(a, b, 2), TWO(a, b, 3)

// The bytes of four rows.
static inline __attribute__((always_inline)) void interleave_rows(
    const I32_VEC rows[SIDE], I32_VEC out[SOME]) {
  const I32_VEC low[2] = {
      SIDE_BY_SIDE(CHAR_VEC, BYTES_OF, rows[0], rows[1], 16, 0),
      SIDE_BY_SIDE(CHAR_VEC, BYTES_OF, rows[2], rows[3], 16, 0)};
  const I32_VEC high[2] = {
      SIDE_BY_SIDE(CHAR_VEC, BYTES_OF, rows[0], rows[1], 16, 8),
      SIDE_BY_SIDE(CHAR_VEC, BYTES_OF, rows[2], rows[3], 16, 8)};
  out[0] = SIDE_BY_SIDE(I16_VEC, SHORTS_OF, low[0], low[1], 8, 0);
  out[1] = SIDE_BY_SIDE(I16_VEC, SHORTS_OF, low[0], low[1], 8, 4);
  out[2] = SIDE_BY_SIDE(I16_VEC, SHORTS_OF, high[0], high[1], 8, 0);
  out[3] = SIDE_BY_SIDE(I16_VEC, SHORTS_OF, high[0], high[1], 8, 4);
}

static inline size_t register_of(size_t channel) { return channel % 16 / 4; }
static inline size_t lane_of(size_t channel) {
  return channel / 16 * 4 + channel % 4;
}
