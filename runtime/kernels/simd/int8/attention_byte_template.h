// All loops of attention_byte_loops.h for a set without products of bytes:
// pairs of numbers of 16 bits are multiplied and added.
//
//   VECTOR_BYTES         required  bytes of a vector register: 16 or 32
//   MULTIPLY_PAIRS(a, b) required  for each lane of four bytes, the sum of the
//                                  products of both halves, which are signed
//
// A rounded row has numbers 0, 2, 1 and 3 of each four. A packed lane has the
// bytes of numbers 0 to 3: those of 0 and 2 are one pair, 1 and 3 the other.

#if !defined(VECTOR_BYTES) || !defined(MULTIPLY_PAIRS)
#error "this header needs the macros of its table"
#endif

#include "runtime/kernels/simd/int8/attention_byte_rounding_template.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"

enum {
  LANES = ETX_ATTENTION_BYTE_LANES,
  GROUP_BYTES = 4 * LANES,             // of a four of a group
  PARTS = GROUP_BYTES / VECTOR_BYTES,  // vectors of it
  PART_LANES = VECTOR_BYTES / 4,
  ROWS = VECTOR_BYTES == 32 ? 4 : 2,  // rows whose sums are in registers
};

typedef int32_t pair_sums __attribute__((vector_size(VECTOR_BYTES)));
typedef int16_t pair_halves __attribute__((vector_size(VECTOR_BYTES)));
typedef float pair_floats __attribute__((vector_size(VECTOR_BYTES)));

static void order_pairs(const int16_t* in, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; i += 4) {
    const int16_t four[] = {in[i], in[i + 2], in[i + 1], in[i + 3]};
    memcpy(out + i * sizeof *in, four, sizeof four);
  }
}

//   @round_query  float32 to int8 | rounds a query for attention over int8 | 1
//     vector
static float round_query(const float* query, size_t count, uint8_t* out) {
  int16_t rounded[ETX_ATTENTION_BYTE_WIDEST];
  const float factor =
      round_to(query, count, (float)ETX_ATTENTION_QUERY_MOST, rounded);
  order_pairs(rounded, count, out);
  return factor;
}

//   @round_weights  float32 to int15 | rounds weights for attention over int8 |
//     1 vector
static float round_weights(const float* weights, const float* factors,
                           size_t count, uint8_t* out) {
  int16_t rounded[ETX_ATTENTION_BYTE_KEYS];
  const float factor = round_products(weights, factors, count, rounded);
  order_pairs(rounded, count, out);
  return factor;
}

//   @pack_keys  int8 | packs keys of a block for attention | 4 bytes
static void pack_keys(const int8_t* keys, ptrdiff_t row, size_t rows,
                      size_t width, int8_t* out) {
  if (rows < ETX_ATTENTION_BYTE_KEYS) {
    memset(out, 0, ETX_ATTENTION_BYTE_KEYS * width);
  }
  for (size_t r = 0; r < rows; ++r, keys += row) {
    int8_t* to = out + r / LANES * LANES * width + r % LANES * 4;
    for (size_t k = 0; k < width; k += 4) {
      memcpy(to + k * LANES, keys + k, 4);
    }
  }
}

//   @pack_values  int8 | packs values of a block for attention | 1 byte
static void pack_values(const int8_t* values, ptrdiff_t row, size_t rows,
                        size_t width, int8_t* out) {
  const size_t taps = (rows + 3) / 4 * 4;
  for (size_t k = 0; k < taps; ++k) {
    const int8_t* from = values + (ptrdiff_t)k * row;
    for (size_t c = 0; c < width; c += LANES) {
      int8_t* to = out + c * taps + k / 4 * GROUP_BYTES + k % 4;
      for (size_t i = 0; i < LANES; ++i) {
        to[4 * i] = k < rows ? from[c + i] : 0;
      }
    }
  }
}

// The sums of some rows with a group.
static inline __attribute__((always_inline)) void sum_rows(
    const etx_attention_byte_product* p, size_t row, size_t rows, size_t group,
    pair_sums sums[ROWS][PARTS]) {
  const size_t bytes = p->left_row;
  const int8_t* panel = p->panel + group * p->count * LANES;
  const uint8_t* left = p->left + row * bytes;
  for (size_t k = 0; k < p->count; k += 4, left += 8, panel += GROUP_BYTES) {
    ETX_UNROLLED
    for (size_t i = 0; i < PARTS; ++i) {
      pair_halves both;
      memcpy(&both, panel + i * VECTOR_BYTES, sizeof both);
      const pair_halves even = (both << 8) >> 8, odd = both >> 8;
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        int32_t pairs[2];
        memcpy(pairs, left + r * bytes, sizeof pairs);
        const pair_sums zero = {0};
        sums[r][i] += MULTIPLY_PAIRS((pair_halves)(zero + pairs[0]), even) +
                      MULTIPLY_PAIRS((pair_halves)(zero + pairs[1]), odd);
      }
    }
  }
}

static inline __attribute__((always_inline)) void store_rows(
    const etx_attention_byte_product* p, size_t row, size_t rows, size_t group,
    pair_sums sums[ROWS][PARTS]) {
  for (size_t r = 0; r < rows; ++r) {
    float* out = p->out + (ptrdiff_t)(row + r) * p->out_row + group * LANES;
    const pair_floats zero = {0};
    const pair_floats factor = zero + p->row_factors[row + r];
    for (size_t i = 0; i < PARTS; ++i, out += PART_LANES) {
      pair_floats x = __builtin_convertvector(sums[r][i], pair_floats);
      pair_floats other;
      if (p->lane_factors != NULL) {
        memcpy(&other, p->lane_factors + group * LANES + i * PART_LANES,
               sizeof other);
        x = x * other * factor;
      } else {
        x = x * factor;
        if (!p->starts) {
          memcpy(&other, out, sizeof other);
          x = other + x;
        }
      }
      memcpy(out, &x, sizeof x);
    }
  }
}

static inline __attribute__((always_inline)) void run_rows(
    const etx_attention_byte_product* p, size_t row, size_t rows) {
  for (size_t group = 0; group < p->groups; ++group) {
    pair_sums sums[ROWS][PARTS] = {{{0}}};
    sum_rows(p, row, rows, group, sums);
    store_rows(p, row, rows, group, sums);
  }
}

//   @scores  int8 x int8 | scores of attention over int8 | {ROWS} x {LANES}
//   @values  int15 x int8 | weighted sums of values of attention over int8 |
//     {ROWS} x {LANES}
static void products(const etx_attention_byte_product* p) {
  size_t row = 0;
  for (; row + ROWS <= p->rows; row += ROWS) run_rows(p, row, ROWS);
  for (; row < p->rows; ++row) run_rows(p, row, 1);
}

#define ETX_ATTENTION_BYTE_LOOPS(name)                                  \
  {                                                                     \
    name, round_query, round_weights, pack_keys, pack_values, products, \
        products                                                        \
  }
