// Horizontal sums of dot products. No parameters. Include after
// int8_dot_template.h.

// In each quarter the sums of four registers' lanes there.
static inline ints quarter_sums(ints a, ints b, ints c, ints d) {
  const ints x = low_lanes(a, b) + high_lanes(a, b);
  const ints y = low_lanes(c, d) + high_lanes(c, d);
  return low_pairs(x, y) + high_pairs(x, y);
}
