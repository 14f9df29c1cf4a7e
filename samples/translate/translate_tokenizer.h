// Text to token ids and back.
//
// The vocabulary is a text file with one piece per line; the id of a piece is
// its line number from 0. The first piece is the end mark, the second the
// unknown piece, the last the padding that decoding starts with. A piece that
// begins a word starts with U+2581.
//
// Ownership  the tokenizer owns its copy of the file until it is closed.
// Failure    ETX_HOST_FAILED if the file cannot be read, ETX_BAD_FILE if it is
//            not a vocabulary.

#ifndef ETX_SAMPLES_TRANSLATE_TRANSLATE_TOKENIZER_H
#define ETX_SAMPLES_TRANSLATE_TRANSLATE_TOKENIZER_H

#include "format/base/diag.h"

typedef struct etx_translate_tokenizer {
  char* text;        // the file
  etx_text* pieces;  // by id
  uint32_t* sorted;  // ids of pieces that can match text, in byte order
  size_t piece_count;
  size_t sorted_count;
  size_t longest_bytes;  // of a piece
  int64_t end_id;        // "</s>"
  int64_t unknown_id;    // "<unk>"
  int64_t padding_id;    // "<pad>"
} etx_translate_tokenizer;

ETX_MUST_USE etx_status etx_translate_tokenizer_open(etx_translate_tokenizer* tokenizer,
                                           const char* path, etx_diag* diag);
void etx_translate_tokenizer_close(etx_translate_tokenizer* tokenizer);

// Splits `text` at white space, and each word from the left into the longest
// matching pieces. A code point that matches no piece becomes the unknown
// piece. The end mark comes last. Returns the number of ids; only the first
// `capacity` of them are written.
size_t etx_translate_tokenizer_encode(const etx_translate_tokenizer* tokenizer, etx_text text,
                            int64_t* out_ids, size_t capacity);

// Joins the pieces, leaving out end marks and padding, with spaces where words
// begin. Writes a terminated text of at most `capacity` bytes and returns its
// length; longer text is cut. Ids outside of the vocabulary are left out.
size_t etx_translate_tokenizer_decode(const etx_translate_tokenizer* tokenizer, const int64_t* ids,
                            size_t count, char* out, size_t capacity);

#endif
