// Dot products of bytes with VNNI, and the shuffles that gather sums from
// lanes. No parameters. Include after int8_vec_template.h.

// Adds sums of four products each, of unsigned bytes with signed ones. Inline
// assembly, because gcc 12 moves sums between registers around the intrinsic.
static inline etx_i32x16 add_products(etx_i32x16 sum, etx_i32x16 unsigned_bytes,
                                      etx_i32x16 signed_bytes) {
  __asm__("vpdpbusd %2, %1, %0"
          : "+v"(sum)
          : "v"(unsigned_bytes), "v"(signed_bytes));
  return sum;
}

// In each quarter: the first two lanes of both registers, interleaved; then the
// last two; then the same with pairs of lanes.
static inline __attribute__((unused)) etx_i32x16 low_lanes(etx_i32x16 a,
                                                           etx_i32x16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25,
                                 12, 28, 13, 29);
}
static inline __attribute__((unused)) etx_i32x16 high_lanes(etx_i32x16 a,
                                                            etx_i32x16 b) {
  return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11,
                                 27, 14, 30, 15, 31);
}
static inline __attribute__((unused)) etx_i32x16 low_pairs(etx_i32x16 a,
                                                           etx_i32x16 b) {
  return (etx_i32x16)__builtin_shufflevector((etx_longx8)a, (etx_longx8)b, 0, 8,
                                             2, 10, 4, 12, 6, 14);
}
static inline __attribute__((unused)) etx_i32x16 high_pairs(etx_i32x16 a,
                                                            etx_i32x16 b) {
  return (etx_i32x16)__builtin_shufflevector((etx_longx8)a, (etx_longx8)b, 1, 9,
                                             3, 11, 5, 13, 7, 15);
}

// Quarters 0 and 2 of both registers; then quarters 1 and 3.
static inline __attribute__((unused)) etx_i32x16 even_quarters(etx_i32x16 a,
                                                               etx_i32x16 b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19,
                                 24, 25, 26, 27);
}
static inline __attribute__((unused)) etx_i32x16 odd_quarters(etx_i32x16 a,
                                                              etx_i32x16 b) {
  return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22,
                                 23, 28, 29, 30, 31);
}

// Transposes 4 x 4 lanes: lane i of all quarters becomes quarter i.
static inline __attribute__((unused)) etx_i32x16 transpose_4x4_lanes(
    etx_i32x16 x) {
  return __builtin_shufflevector(x, x, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14,
                                 3, 7, 11, 15);
}

// Transposes lanes: from one register for each row to one for each position.
static inline __attribute__((always_inline, unused)) void transpose_lanes(
    etx_i32x16 v[4]) {
  const etx_i32x16 a = low_lanes(v[0], v[1]), b = high_lanes(v[0], v[1]);
  const etx_i32x16 c = low_lanes(v[2], v[3]), d = high_lanes(v[2], v[3]);
  v[0] = low_pairs(a, c);
  v[1] = high_pairs(a, c);
  v[2] = low_pairs(b, d);
  v[3] = high_pairs(b, d);
}

// The same with quarters.
static inline __attribute__((always_inline, unused)) void transpose_quarters(
    etx_i32x16 v[4]) {
  const etx_i32x16 a = even_quarters(v[0], v[1]), b = odd_quarters(v[0], v[1]);
  const etx_i32x16 c = even_quarters(v[2], v[3]), d = odd_quarters(v[2], v[3]);
  v[0] = even_quarters(a, c);
  v[1] = even_quarters(b, d);
  v[2] = odd_quarters(a, c);
  v[3] = odd_quarters(b, d);
}

#define store_quarter(to, x, i)                                \
  do {                                                         \
    const etx_i32x4 quarter = __builtin_shufflevector(         \
        x, x, 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3); \
    memcpy(to, &quarter, sizeof(quarter));                     \
  } while (0)
