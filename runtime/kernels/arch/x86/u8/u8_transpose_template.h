// How bytes of four rows become lanes, in the order that
// u8_depthwise_avx512vnni.c says. Read by files of u8_depthwise_template.h for
// processors with AVX-512 and VNNI, which have SIDE_BY_SIDE for as many
// quarters as their registers have: of each quarter of two registers the lower
// half, or the upper one, element by element side by side.

#define TWO(a, b, k) (a) + (k), (b) + (k)
#define BYTES_OF(a, b)                                                  \
  TWO(a, b, 0), TWO(a, b, 1), TWO(a, b, 2), TWO(a, b, 3), TWO(a, b, 4), \
      TWO(a, b, 5), TWO(a, b, 6), TWO(a, b, 7)
#define SHORTS_OF(a, b) TWO(a, b, 0), TWO(a, b, 1), TWO(a, b, 2), TWO(a, b, 3)

// The bytes of four rows.
static inline __attribute__((always_inline)) void turn(const ints rows[SIDE],
                                                       ints out[SOME]) {
  const ints low[2] = {SIDE_BY_SIDE(chars, BYTES_OF, rows[0], rows[1], 16, 0),
                       SIDE_BY_SIDE(chars, BYTES_OF, rows[2], rows[3], 16, 0)};
  const ints high[2] = {SIDE_BY_SIDE(chars, BYTES_OF, rows[0], rows[1], 16, 8),
                        SIDE_BY_SIDE(chars, BYTES_OF, rows[2], rows[3], 16, 8)};
  out[0] = SIDE_BY_SIDE(shorts, SHORTS_OF, low[0], low[1], 8, 0);
  out[1] = SIDE_BY_SIDE(shorts, SHORTS_OF, low[0], low[1], 8, 4);
  out[2] = SIDE_BY_SIDE(shorts, SHORTS_OF, high[0], high[1], 8, 0);
  out[3] = SIDE_BY_SIDE(shorts, SHORTS_OF, high[0], high[1], 8, 4);
}

static inline size_t register_of(size_t channel) { return channel % 16 / 4; }
static inline size_t lane_of(size_t channel) {
  return channel / 16 * 4 + channel % 4;
}
