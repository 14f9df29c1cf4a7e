// Calls the two methods of a program, with rows or for one sentence.
//
// In a program with rows, a cache is a table of rows * positions entries. Each
// hypothesis has a table of cache indices: the entry of each of its positions.
// Hypotheses with a common beginning share entries, and nothing is copied when
// they diverge.
//
//   cache indices   entry of       entry of       entry of
//   of a            position 0     position 1     position 2     ...
//   hypothesis      row 0, pos 0   row 3, pos 1   row 0, pos 2
//
// A program for one sentence always uses the entries 0, 1, 2, ...

#ifndef ETX_SAMPLES_TRANSLATE_TRANSLATE_STEPS_H
#define ETX_SAMPLES_TRANSLATE_TRANSLATE_STEPS_H

#include "samples/translate/translator.h"

// The inputs of one call; all arrays belong to the caller.
typedef struct etx_encode_step {
  size_t rows;
  size_t length;           // tokens of the longest sentence
  int64_t* ids;            // [rows, length]
  int64_t* last;           // [rows]: the position of the end mark
  int64_t* cache_indices;  // [rows, length]: where keys and values are written
} etx_encode_step;

typedef struct etx_decode_step {
  size_t rows;
  size_t length;            // width of `own_indices`
  size_t source_length;     // width of `source_indices`
  int64_t* tokens;          // [rows]
  int64_t* positions;       // [rows]: of the tokens
  int64_t* cache_indices;   // [rows]: where keys and values are written
  int64_t* own_indices;     // [rows, length]: earlier positions and this one
  int64_t* source_indices;  // [rows, source_length]
  int64_t* last;            // [rows]: the source's last position
} etx_decode_step;

ETX_MUST_USE etx_status etx_translate_encode(etx_translator* translator,
                                             const etx_encode_step* step,
                                             etx_diag* diag);

// `out_logits` is [rows, pieces]; it belongs to the method and is valid until
// the next call.
ETX_MUST_USE etx_status etx_translate_decode(etx_translator* translator,
                                             const etx_decode_step* step,
                                             const float** out_logits,
                                             etx_diag* diag);

#endif
