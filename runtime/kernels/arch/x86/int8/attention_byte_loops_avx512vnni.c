// Attention over int8 with VNNI, which multiplies bytes without a sign by bytes
// with one. A packed byte of a key is 128 more than the number; a rounded query
// is followed by its sum, to take 128 times it off. Weights have no sign. They
// are two rows of bytes, the high ones first.

#include "runtime/kernels/arch/x86/int8/attention_byte_loops_x86.h"

#include "runtime/kernels/arch/x86/int8/int8_vec_template.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_template.h"
#include "runtime/kernels/simd/int8/attention_byte_rounding_template.h"

// gcc and clang name this builtin differently.
#ifdef __clang__
#define LARGER(a, b) __builtin_elementwise_max(a, b)
#else
#define LARGER(a, b) __builtin_ia32_pmaxsd512_mask(a, b, a, 0xffff)
#endif

enum {
  GROUP_BYTES = 4 * LANES,                         // of a four of a group
  LOW_BITS = 8,                                    // of a weight
  WEIGHT_PARTS = ETX_ATTENTION_BYTE_KEYS / LANES,  // registers of weights
  OFFSET = 128,                                    // of a packed byte
  MOST_ROWS = 8,    // rows whose sums are in registers
  MOST_GROUPS = 4,  // groups whose sums are in registers
};

// ------------------------------------------------ rounding

static void store_sum(const int16_t* rounded, size_t count, uint8_t* out) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += rounded[i];
  memcpy(out, &sum, sizeof sum);
}

//   @round_query  float32 to int8 | rounds a query for attention over int8 | 1
//     vector
static float round_query(const float* query, size_t count, uint8_t* out) {
  int16_t rounded[ETX_ATTENTION_BYTE_WIDEST];
  const float factor =
      round_to(query, count, (float)ETX_ATTENTION_QUERY_MOST, rounded);
  for (size_t i = 0; i < count; ++i) out[i] = (uint8_t)rounded[i];
  store_sum(rounded, count, out + 2 * count);
  return factor;
}

// The largest lane.
static inline uint32_t largest_lane(etx_i32x16 v) {
  v = LARGER(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0,
                                        1, 2, 3, 4, 5, 6, 7));
  v = LARGER(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13,
                                        14, 15, 8, 9, 10, 11));
  v = LARGER(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8,
                                        9, 14, 15, 12, 13));
  v = LARGER(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11,
                                        10, 13, 12, 15, 14));
  return (uint32_t)v[0];
}

// As round_products (attention_byte_rounding_template.h), for whole registers.
//
//   @round_weights  float32 to int15 | rounds weights for attention over int8 |
//     {LANES} weights
static float round_weights(const float* weights, const float* factors,
                           size_t count, uint8_t* out) {
  const size_t parts = (count + LANES - 1) / LANES;
  const etx_i32x16 positive = all_ints(0x7fffffff);
  etx_f32x16 x[WEIGHT_PARTS];
  etx_i32x16 most = {0};
  for (size_t i = 0; i < parts; ++i) {
    x[i] = (etx_f32x16)load_bytes(weights + i * LANES) *
           (etx_f32x16)load_bytes(factors + i * LANES);
    most = LARGER(most, (etx_i32x16)x[i] & positive);
  }
  const uint32_t bits = largest_lane(most);
  float largest;
  memcpy(&largest, &bits, sizeof largest);
  const float inverse = inverse_of(largest, (float)ETX_ATTENTION_WEIGHT_MOST);
  for (size_t i = 0; i < parts; ++i) {
    const etx_i32x16 sum = (etx_i32x16)(x[i] * inverse + 12582912.0f);
    const etx_i32x16 whole = inverse > 0 ? sum & 0xffff : (etx_i32x16){0};
    const etx_u8x16 high =
        __builtin_convertvector(whole >> LOW_BITS, etx_u8x16);
    const etx_u8x16 low = __builtin_convertvector(whole, etx_u8x16);
    memcpy(out + i * LANES, &high, sizeof high);
    memcpy(out + ETX_ATTENTION_BYTE_KEYS + i * LANES, &low, sizeof low);
  }
  return factor_of(largest, (float)ETX_ATTENTION_WEIGHT_MOST);
}

// ------------------------------------------------ packing

// Copies some bytes of some rows, and fills up with zeros.
static void copy_rest(const int8_t* in, ptrdiff_t row, size_t rows,
                      size_t bytes, int8_t out[LANES][BYTES]) {
  memset(out, 0, LANES * BYTES);
  for (size_t r = 0; r < rows && r < LANES; ++r) {
    memcpy(out[r], in + (ptrdiff_t)r * row, bytes);
  }
}

// Packs 64 bytes of sixteen keys, of which `bytes` are stored. Not inlined: it
// is called at two places.
static __attribute__((noinline)) void pack_sixteen_keys(const int8_t* keys,
                                                        ptrdiff_t row,
                                                        size_t bytes,
                                                        int8_t* out) {
  etx_i32x16 v[4][4];
  ETX_UNROLLED
  for (size_t i = 0; i < 4; ++i) {
    ETX_UNROLLED
    for (size_t j = 0; j < 4; ++j) {
      const size_t r = 4 * i + j;
      v[i][j] = load_bytes(keys + (ptrdiff_t)r * row) ^
                all_ints((int)UINT32_C(0x80808080));
    }
    transpose_lanes(v[i]);
  }
  ETX_UNROLLED
  for (size_t j = 0; j < 4; ++j) {
    etx_i32x16 places[4] = {v[0][j], v[1][j], v[2][j], v[3][j]};
    transpose_quarters(places);
    ETX_UNROLLED
    for (size_t i = 0; i < 4; ++i) {
      const size_t four = 4 * i + j;
      if (4 * four < bytes) {
        memcpy(out + four * GROUP_BYTES, &places[i], sizeof places[i]);
      }
    }
  }
}

//   @pack_keys  int8 | packs keys of a block for attention | 16 x {BYTES} bytes
static void pack_keys(const int8_t* keys, ptrdiff_t row, size_t rows,
                      size_t width, int8_t* out) {
  for (size_t r = 0; r < ETX_ATTENTION_BYTE_KEYS; r += LANES) {
    const int8_t* from = keys + (ptrdiff_t)r * row;
    const size_t left = rows < r ? 0 : rows - r;
    for (size_t k = 0; k < width; k += BYTES) {
      int8_t* to = out + r * width + k * LANES;
      const size_t bytes = width - k < BYTES ? width - k : BYTES;
      if (left >= LANES && bytes == BYTES) {
        pack_sixteen_keys(from + k, row, BYTES, to);
      } else {
        int8_t rest[LANES][BYTES];
        copy_rest(from + k, row, left, bytes, rest);
        pack_sixteen_keys(rest[0], BYTES, bytes, to);
      }
    }
  }
}

// Interleaves the first or the last eight bytes of each quarter, and the first
// or the last four pairs.
#define BYTE_PAIR(i) (i), 64 + (i)
#define EIGHT_PAIRS(i)                                                      \
  BYTE_PAIR(i), BYTE_PAIR((i) + 1), BYTE_PAIR((i) + 2), BYTE_PAIR((i) + 3), \
      BYTE_PAIR((i) + 4), BYTE_PAIR((i) + 5), BYTE_PAIR((i) + 6),           \
      BYTE_PAIR((i) + 7)
#define INTERLEAVE_BYTES(x, y, i)                                         \
  __builtin_shufflevector((etx_u8x64)(x), (etx_u8x64)(y), EIGHT_PAIRS(i), \
                          EIGHT_PAIRS(16 + (i)), EIGHT_PAIRS(32 + (i)),   \
                          EIGHT_PAIRS(48 + (i)))
#define PAIR_PAIR(i) (i), 32 + (i)
#define FOUR_PAIRS(i) \
  PAIR_PAIR(i), PAIR_PAIR((i) + 1), PAIR_PAIR((i) + 2), PAIR_PAIR((i) + 3)
#define INTERLEAVE_PAIRS(x, y, i)                                           \
  ((etx_i32x16)__builtin_shufflevector(                                     \
      (etx_i16x32)(x), (etx_i16x32)(y), FOUR_PAIRS(i), FOUR_PAIRS(8 + (i)), \
      FOUR_PAIRS(16 + (i)), FOUR_PAIRS(24 + (i))))

// Packs 64 columns of four values, of which `bytes` are stored.
static inline __attribute__((always_inline)) void pack_four_values(
    const int8_t* values, ptrdiff_t row, size_t bytes, ptrdiff_t group,
    int8_t* out) {
  etx_i32x16 v[4];
  ETX_UNROLLED
  for (size_t i = 0; i < 4; ++i) {
    v[i] = load_bytes(values + (ptrdiff_t)i * row);
  }
  const etx_u8x64 a = INTERLEAVE_BYTES(v[0], v[1], 0);
  const etx_u8x64 b = INTERLEAVE_BYTES(v[0], v[1], 8);
  const etx_u8x64 c = INTERLEAVE_BYTES(v[2], v[3], 0);
  const etx_u8x64 d = INTERLEAVE_BYTES(v[2], v[3], 8);
  v[0] = INTERLEAVE_PAIRS(a, c, 0);
  v[1] = INTERLEAVE_PAIRS(a, c, 4);
  v[2] = INTERLEAVE_PAIRS(b, d, 0);
  v[3] = INTERLEAVE_PAIRS(b, d, 4);
  transpose_quarters(v);
  ETX_UNROLLED
  for (size_t i = 0; i < 4; ++i) {
    if (LANES * i < bytes)
      memcpy(out + (ptrdiff_t)i * group, &v[i], sizeof v[i]);
  }
}

//   @pack_values  int8 | packs values of a block for attention | 4 x {BYTES}
//     bytes
static void pack_values(const int8_t* values, ptrdiff_t row, size_t rows,
                        size_t width, int8_t* out) {
  const size_t taps = (rows + 3) / 4 * 4;
  const ptrdiff_t group = (ptrdiff_t)(taps * LANES);
  for (size_t k = 0; k < taps; k += 4) {
    const int8_t* from = values + (ptrdiff_t)k * row;
    for (size_t c = 0; c < width; c += BYTES) {
      int8_t* to = out + c * taps + k * LANES;
      const size_t bytes = width - c < BYTES ? width - c : BYTES;
      if (rows - k >= 4 && bytes == BYTES) {
        pack_four_values(from + c, row, BYTES, group, to);
      } else {
        int8_t rest[LANES][BYTES];
        copy_rest(from + c, row, rows - k < 4 ? rows - k : 4, bytes, rest);
        pack_four_values(rest[0], BYTES, bytes, group, to);
      }
    }
  }
}

// ------------------------------------------------ products

// Four rounded numbers, in all lanes.
static inline etx_i32x16 broadcast_four(const uint8_t* from) {
  int32_t four;
  memcpy(&four, from, sizeof four);
  return all_ints(four);
}

// What is multiplied at a time: some rows, `pitch` bytes apart and in `planes`
// rows of bytes each, with some groups.
typedef struct byte_step {
  size_t rows, groups, planes, pitch;
} byte_step;

// Inlined with constants, so that the sums stay in registers.
static inline __attribute__((always_inline)) void sum_rows(
    const etx_attention_byte_product* p, size_t row, size_t group, byte_step s,
    etx_i32x16 sums[2][MOST_ROWS][MOST_GROUPS]) {
  const size_t step = p->count * LANES;  // from group to group
  const uint8_t* left = p->left + row * s.pitch;
  const int8_t* panel = p->panel + group * step;
  for (size_t k = 0; k < p->count; k += 4, left += 4, panel += GROUP_BYTES) {
    etx_i32x16 packed[MOST_GROUPS];
    ETX_UNROLLED
    for (size_t g = 0; g < s.groups; ++g) {
      packed[g] = load_bytes(panel + g * step);
    }
    ETX_UNROLLED
    for (size_t r = 0; r < s.rows; ++r) {
      ETX_UNROLLED
      for (size_t plane = 0; plane < s.planes; ++plane) {
        const etx_i32x16 x = broadcast_four(left + r * s.pitch +
                                            plane * ETX_ATTENTION_BYTE_KEYS);
        ETX_UNROLLED
        for (size_t g = 0; g < s.groups; ++g) {
          etx_i32x16* const sum = &sums[plane][r][g];
          *sum = s.planes == 2 ? add_products(*sum, x, packed[g])
                               : add_products(*sum, packed[g], x);
        }
      }
    }
  }
}

static inline __attribute__((always_inline)) void store_lanes(
    const etx_attention_byte_product* p, size_t row, size_t group,
    etx_i32x16 sum) {
  float* out =
      p->out + (ptrdiff_t)row * p->out_row + (ptrdiff_t)(group * LANES);
  etx_f32x16 x = __builtin_convertvector(sum, etx_f32x16), other;
  if (p->lane_factors != NULL) {
    memcpy(&other, p->lane_factors + group * LANES, sizeof other);
    x = x * other * p->row_factors[row];
  } else {
    x = x * p->row_factors[row];
    if (!p->starts) {
      memcpy(&other, out, sizeof other);
      x = other + x;
    }
  }
  memcpy(out, &x, sizeof x);
}

static inline __attribute__((always_inline)) void some_groups(
    const etx_attention_byte_product* p, size_t row, byte_step s) {
  for (size_t group = 0; group < p->groups; group += s.groups) {
    etx_i32x16 sums[2][MOST_ROWS][MOST_GROUPS] = {{{{0}}}};
    sum_rows(p, row, group, s, sums);
    ETX_UNROLLED
    for (size_t r = 0; r < s.rows; ++r) {
      int32_t total = 0;
      if (s.planes == 1) {
        memcpy(&total, p->left + (row + r) * s.pitch + 2 * p->count,
               sizeof total);
      }
      ETX_UNROLLED
      for (size_t g = 0; g < s.groups; ++g) {
        etx_i32x16 sum = sums[0][r][g];
        if (s.planes == 2) sum = (sum << LOW_BITS) + sums[1][r][g];
        store_lanes(p, row + r, group + g, sum - OFFSET * total);
      }
    }
  }
}

static inline __attribute__((always_inline)) void all_scores(
    const etx_attention_byte_product* p, size_t pitch) {
  size_t row = 0;
  for (; row + MOST_ROWS <= p->rows; row += MOST_ROWS) {
    some_groups(p, row, (byte_step){MOST_ROWS, 2, 1, pitch});
  }
  for (; row + 4 <= p->rows; row += 4)
    some_groups(p, row, (byte_step){4, 4, 1, pitch});
  for (; row < p->rows; ++row) some_groups(p, row, (byte_step){1, 4, 1, pitch});
}

// A constant distance of rows leaves more registers.
//
//   @scores  int8 x int8 | scores of attention over int8 | {MOST_ROWS} x 32
static void scores(const etx_attention_byte_product* p) {
  if (p->left_row == ETX_ATTENTION_BYTE_ROW(64)) {
    all_scores(p, ETX_ATTENTION_BYTE_ROW(64));
  } else {
    all_scores(p, p->left_row);
  }
}

//   @values  int15 x int8 | weighted sums of values of attention over int8 |
//     4 x 32
static void values(const etx_attention_byte_product* p) {
  enum { PITCH = ETX_ATTENTION_BYTE_ROW(ETX_ATTENTION_BYTE_KEYS) };
  size_t row = 0;
  for (; row + 4 <= p->rows; row += 4)
    some_groups(p, row, (byte_step){4, 2, 2, PITCH});
  for (; row < p->rows; ++row) some_groups(p, row, (byte_step){1, 2, 2, PITCH});
}

const etx_attention_byte_loops etx_attention_byte_loops_avx512vnni = {
    "avx512vnni", round_query, round_weights, pack_keys,
    pack_values,  scores,      values};
