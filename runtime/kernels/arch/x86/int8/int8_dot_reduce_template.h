// Horizontal sums of dot products. No parameters. Include after
// int8_dot_template.h.

// Each quarter of the result has the horizontal sums of that quarter of four
// registers.
static inline etx_i32x16 quarter_sums(etx_i32x16 a, etx_i32x16 b, etx_i32x16 c,
                                      etx_i32x16 d) {
  const etx_i32x16 x = low_lanes(a, b) + high_lanes(a, b);
  const etx_i32x16 y = low_lanes(c, d) + high_lanes(c, d);
  return low_pairs(x, y) + high_pairs(x, y);
}
