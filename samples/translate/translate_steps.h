// The two methods of a program of either form, called for many rows.
//
// A cache of the form with rows is a table of rows * positions places. An
// answer says for each position where its keys and values lie: answers that
// began alike share these places, and nothing moves when they part.
//
//   own      place 0        place 1        place 2      ...  of one answer
//            row 0, pos 0   row 3, pos 1   row 0, pos 2
//
// A program of one sentence has the one table 0, 1, 2, ... inside.

#ifndef ETX_SAMPLES_TRANSLATE_TRANSLATE_STEPS_H
#define ETX_SAMPLES_TRANSLATE_TRANSLATE_STEPS_H

#include "samples/translate/translator.h"

// Rows of one call; all arrays are the caller's, of `rows` or rows * width.
typedef struct etx_encode_step {
  size_t rows;
  size_t length;    // tokens of the longest sentence: the width of both tables
  int64_t* ids;     // [rows, length]
  int64_t* last;    // [rows]: the position of the end mark
  int64_t* places;  // [rows, length]: where what is said of a token goes
} etx_encode_step;

typedef struct etx_decode_step {
  size_t rows;
  size_t length;         // width of `own`
  size_t source_length;  // width of `sources`
  int64_t* tokens;       // [rows]
  int64_t* positions;    // [rows]: of the tokens
  int64_t* places;       // [rows]: where what is said of the token goes
  int64_t* own;          // [rows, length]
  int64_t* sources;      // [rows, source_length]
  int64_t* last;         // [rows]: of the source
} etx_decode_step;

ETX_MUST_USE etx_status etx_translate_encode(etx_translator* translator,
                                             const etx_encode_step* step,
                                             etx_diag* diag);

// `out_logits` gets [rows, pieces], the method's own until it runs again.
ETX_MUST_USE etx_status etx_translate_decode(etx_translator* translator,
                                             const etx_decode_step* step,
                                             const float** out_logits,
                                             etx_diag* diag);

#endif
