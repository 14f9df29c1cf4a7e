// Attention over keys and values of int8, a block of at most 64 keys at a time:
// queries and weights are rounded to integers, and the sums of their products
// are exact. So all sets give the same bits. Rounded rows and packed rows are
// private to the loops of one set.

#ifndef ETX_RUNTIME_KERNELS_SIMD_INT8_ATTENTION_BYTE_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_INT8_ATTENTION_BYTE_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/instruction_set.h"

enum {
  ETX_ATTENTION_BYTE_KEYS = 64,       // most keys of a block
  ETX_ATTENTION_BYTE_LANES = 16,      // sums of a group
  ETX_ATTENTION_BYTE_WIDTH = 32,      // widths of keys and values are multiples
  ETX_ATTENTION_BYTE_WIDEST = 256,    // the largest width
  ETX_ATTENTION_QUERY_MOST = 127,     // largest magnitude of rounded queries,
  ETX_ATTENTION_WEIGHT_MOST = 32767,  // and of weights
};

// Bytes from one rounded row of `count` numbers to the next, of weights always
// ETX_ATTENTION_BYTE_KEYS numbers: the numbers and their sum.
#define ETX_ATTENTION_BYTE_ROW(count) (2 * (count) + sizeof(int32_t))

// Rounded rows times packed rows: sums of `count` products for each of `groups`
// groups of lanes.
typedef struct etx_attention_byte_product {
  const uint8_t* left;  // rounded rows
  size_t left_row;      // bytes from one to the next
  size_t rows;
  size_t count;  // a multiple of 4
  const int8_t* panel;
  size_t groups;             // 4 for scores, an even number for values
  const float* row_factors;  // of each rounded row
  // For scores: of each lane. A score is the sum times this, and times that of
  // the row.
  const float* lane_factors;
  float* out;         // sums times factors
  ptrdiff_t out_row;  // in elements
  bool starts;        // for values: `out` is not read, otherwise added to
} etx_attention_byte_product;

typedef struct etx_attention_byte_loops {
  const char* name;  // name of the instruction set
  // Rounds a query of `count` floats, a multiple of ETX_ATTENTION_BYTE_WIDTH at
  // most ETX_ATTENTION_BYTE_WIDEST. Returns the factor of the integers: the
  // largest magnitude divided by ETX_ATTENTION_QUERY_MOST.
  float (*round_query)(const float* query, size_t count, uint8_t* out);
  // The same for weights times the factors of their values: `count` is at most
  // ETX_ATTENTION_BYTE_KEYS, and behind it zeros follow up to a multiple of 16.
  float (*round_weights)(const float* weights, const float* factors,
                         size_t count, uint8_t* out);
  // Packs keys: four groups of lanes, each one key; zeros behind the last key.
  void (*pack_keys)(const int8_t* keys, ptrdiff_t row, size_t rows,
                    size_t width, int8_t* out);
  // Packs values: groups of columns; zeros behind the last value, up to a
  // multiple of four.
  void (*pack_values)(const int8_t* values, ptrdiff_t row, size_t rows,
                      size_t width, int8_t* out);
  void (*scores)(const etx_attention_byte_product* product);
  void (*values)(const etx_attention_byte_product* product);
} etx_attention_byte_loops;

// The baseline, which every processor of the target has.
extern const etx_attention_byte_loops etx_attention_byte_loops_base;

// The loops for an instruction set.
const etx_attention_byte_loops* etx_attention_byte_loops_of(
    etx_instruction_set set);

#endif
