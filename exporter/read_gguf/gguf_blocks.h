// Blocks of quantised numbers in GGUF files, expanded to floats.
//
// Sources: the struct definitions of ggml, and the package `gguf` of PyPI,
// whose `gguf.quants.dequantize` gives the same bits: products and sums are
// taken in its order, in float32. Scales d and minima m are float16; q is an
// unsigned integer of the block.
//
//   q8_0         d * q, q an int8
//   q4_0, q5_0   d * (q - 8), d * (q - 16)
//   q4_1, q5_1   d * q + m
//   q2_K         (d * s) * q - (dmin * m), 16 groups of 16 with s and m of 4
//                bits
//   q3_K         (d * (s - 32)) * (q - 4), 16 groups of 16, s of 6 bits
//   q4_K, q5_K   (d * s) * q - (dmin * m), 8 groups of 32, s and m of 6 bits
//   q6_K         (d * s) * (q - 32), 16 groups of 16, s an int8

#ifndef ETX_EXPORTER_READ_GGUF_GGUF_BLOCKS_H
#define ETX_EXPORTER_READ_GGUF_GGUF_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

// Expands `count` blocks, which need no alignment, to `out`
// [count * elements of a block].
typedef void etx_gguf_expand(const uint8_t* blocks, size_t count, float* out);

typedef struct etx_gguf_type {
  uint32_t number;          // in files
  const char* name;         // as llama.cpp prints it
  uint32_t elements;        // of a block
  uint32_t bytes;           // of a block
  etx_gguf_expand* expand;  // NULL: etx does not read this type
} etx_gguf_type;

// The type of that number; NULL if it is not known.
const etx_gguf_type* etx_gguf_type_find(uint32_t number);

#endif
