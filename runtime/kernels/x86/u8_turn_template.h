// How bytes of four rows become lanes. Read by files of u8_windows_template.h
// for processors with AVX-512 and VNNI.

// Of each quarter of two registers the lower half, or the upper one, element by
// element side by side.
#define TWO(a, b, k) (a) + (k), (b) + (k)
#define BYTES_OF(a, b)                                                  \
  TWO(a, b, 0), TWO(a, b, 1), TWO(a, b, 2), TWO(a, b, 3), TWO(a, b, 4), \
      TWO(a, b, 5), TWO(a, b, 6), TWO(a, b, 7)
#define SHORTS_OF(a, b) TWO(a, b, 0), TWO(a, b, 1), TWO(a, b, 2), TWO(a, b, 3)
