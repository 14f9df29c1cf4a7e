// Dot products of bytes with VNNI, and the shuffles that gather sums from
// lanes. No parameters. Include after int8_vec_template.h.

typedef int four __attribute__((vector_size(16)));

// Adds sums of four products each, of unsigned bytes with signed ones. In
// assembler: around the intrinsic gcc (12) moves sums between registers.
static inline ints add_products(ints sum, ints unsigned_bytes,
                                ints signed_bytes) {
  __asm__("vpdpbusd %2, %1, %0"
          : "+v"(sum)
          : "v"(unsigned_bytes), "v"(signed_bytes));
  return sum;
}

// Of each quarter of two registers the first two lanes, side by side; the last
// two; and the same with pairs of lanes.
static inline __attribute__((unused)) ints low_lanes(ints a, ints b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25,
                                 12, 28, 13, 29);
}
static inline __attribute__((unused)) ints high_lanes(ints a, ints b) {
  return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11,
                                 27, 14, 30, 15, 31);
}
static inline __attribute__((unused)) ints low_pairs(ints a, ints b) {
  return (ints)__builtin_shufflevector((longs)a, (longs)b, 0, 8, 2, 10, 4, 12,
                                       6, 14);
}
static inline __attribute__((unused)) ints high_pairs(ints a, ints b) {
  return (ints)__builtin_shufflevector((longs)a, (longs)b, 1, 9, 3, 11, 5, 13,
                                       7, 15);
}

// Quarters 0 and 2 of both registers, and 1 and 3.
static inline __attribute__((unused)) ints even_quarters(ints a, ints b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19,
                                 24, 25, 26, 27);
}
static inline __attribute__((unused)) ints odd_quarters(ints a, ints b) {
  return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22,
                                 23, 28, 29, 30, 31);
}

// Lanes of one number of four quarters side by side.
static inline __attribute__((unused)) ints turned_quarters(ints x) {
  return __builtin_shufflevector(x, x, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14,
                                 3, 7, 11, 15);
}

#define store_quarter(to, x, i)                                              \
  do {                                                                       \
    const four quarter = __builtin_shufflevector(x, x, 4 * (i), 4 * (i) + 1, \
                                                 4 * (i) + 2, 4 * (i) + 3);  \
    memcpy(to, &quarter, sizeof(quarter));                                   \
  } while (0)
