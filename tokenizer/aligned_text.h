// A text that remembers which bytes of the input each of its bytes is from, and
// where its pieces begin. Internal to tokenizer/.
//
//   bytes    Ġ h e l l o Ġ w o r l d
//   places   one for each byte: the character of the input it stands for
//   pieces   ^           ^            contiguous; each begins where another
//   ends
//
// Two texts take turns: a step reads `now` and writes `next`, then they change
// places. Steps that only divide write pieces, and keep bytes and places.

#ifndef ETX_TOKENIZER_ALIGNED_TEXT_H
#define ETX_TOKENIZER_ALIGNED_TEXT_H

#include "format/base/diag.h"
#include "format/base/span.h"

// A character of the input: its first byte << 3 | its bytes. 0 bytes: none.
typedef uint32_t etx_place;

enum {
  ETX_PIECE_TEXT = -1,            // a piece that the model still has to encode
  ETX_ENCODE_INPUT_MAX = 1 << 28  // bytes of an input
};

typedef struct etx_text_piece {
  uint32_t begin;
  int32_t token;  // ETX_PIECE_TEXT, or the added token that stands here
} etx_text_piece;

typedef struct etx_aligned_text {
  uint8_t* bytes;
  etx_place* places;
  etx_text_piece* pieces;
  size_t size, piece_count;
} etx_aligned_text;

// What an encoding works with.
typedef struct etx_encode_work {
  etx_aligned_text now, next;
  size_t capacity;  // of bytes, places and pieces of either text
  uint8_t* tail;    // memory of the pattern or the model, aligned to 16
  size_t tail_bytes;
  bool full;  // something did not fit
} etx_encode_work;

enum {
  // Bytes of memory for each byte of text: two texts, and the tail.
  ETX_WORK_TEXT_BYTES = 2 * (1 + sizeof(etx_place) + sizeof(etx_text_piece)),
  ETX_WORK_TAIL_BYTES = 64,
  ETX_WORK_FIXED_BYTES = 4096
};

// Divides `memory`.
void etx_work_init(etx_encode_work* work, etx_bytes_mut memory);

// Copies the input as one piece. Bytes that are no UTF-8 become U+FFFD.
void etx_work_read(etx_encode_work* work, etx_text input);

// End of the piece at `index` of a text.
size_t etx_piece_end(const etx_aligned_text* text, size_t index);

// Appends to the next text. A piece without bytes is not begun.
void etx_work_begin_piece(etx_encode_work* work, int32_t token);
void etx_work_put(etx_encode_work* work, const uint8_t* bytes, size_t size,
                  etx_place place);
// The same with bytes begin to end of the present text and their places.
void etx_work_keep(etx_encode_work* work, size_t begin, size_t end);

// Makes the next text the present one.
void etx_work_turn(etx_encode_work* work);

// Divides the present text without a change of its bytes: pieces are written in
// order and become those of the present text.
void etx_work_divide(etx_encode_work* work, size_t begin, int32_t token);
void etx_work_turn_pieces(etx_encode_work* work);

// A piece that is replaced character by character, as NormalizedString of
// `tokenizers` does: each new character either stands for the next one of the
// piece (change 0), or was inserted (1), or stands for the next one and as many
// more as -change.
typedef struct etx_piece_change {
  etx_encode_work* work;
  size_t begin, at, end;  // in the present text
} etx_piece_change;

// Starts with the piece at `index`; begins the piece of the next text.
etx_piece_change etx_change_piece(etx_encode_work* work, size_t index);
void etx_change_put(etx_piece_change* change, uint32_t code, int32_t delta);

#endif
