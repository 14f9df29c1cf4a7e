// Models of SentencePiece (Kudo and Richardson 2018): the bytes of a `.model`
// file, a ModelProto in protobuf. Internal to tokenizer/.
//
// Such a model normalizes a text as a whole, with a space written as U+2581 and
// in front of it, and divides it into pieces by their scores: Unigram, or BPE
// that joins the two neighbours whose join has the largest score.

#ifndef ETX_TOKENIZER_SENTENCE_PIECE_H
#define ETX_TOKENIZER_SENTENCE_PIECE_H

#include "tokenizer/tokenizer_content.h"

// SentencePiece.Type of the file.
typedef enum etx_piece_kind {
  ETX_PIECE_NORMAL = 1,
  ETX_PIECE_UNKNOWN = 2,
  ETX_PIECE_CONTROL = 3,
  ETX_PIECE_USER_DEFINED = 4,
  ETX_PIECE_UNUSED = 5,
  ETX_PIECE_BYTE = 6
} etx_piece_kind;

typedef struct etx_sentence_piece {
  bool is_bpe;         // else Unigram
  bool byte_fallback;  // unknown text becomes the tokens of its bytes
  bool prefix;         // a space is put in front of a text
  bool space_behind;   // or, with `prefix`, behind it
  bool trims_spaces;   // at both ends, and all but one of several
  bool marks_spaces;   // writes spaces as U+2581
  etx_charsmap charsmap;
  size_t longest_mapped;          // bytes of the longest text of it
  uint8_t* kinds;                 // etx_piece_kind by id
  float* scores;                  // by id
  etx_token_tree pieces;          // what a text may be divided into
  etx_token_tree user_symbols;    // pieces that are never divided
  float least_score, most_score;  // of normal pieces
  int32_t unknown;                // its id
  int32_t bytes[256];             // ids of the bytes, with byte_fallback
  etx_text unknown_text;          // what it is decoded to
} etx_sentence_piece;

// True if the bytes look like such a file, and not like JSON.
bool etx_sentence_piece_is(etx_bytes file);

// Reads a file. With a counting arena only the memory is counted.
ETX_MUST_USE etx_status etx_sentence_piece_load(etx_bytes file,
                                                etx_arena* arena,
                                                etx_tokenizer_content* out,
                                                etx_diag* diag);

// Bytes that a normalized text has at most.
size_t etx_sentence_piece_bound(const etx_sentence_piece* model,
                                size_t text_bytes);

// Where ids go: bytes `begin` to `end` of the text became `id`.
typedef struct etx_piece_sink {
  void* context;
  void (*put)(void* context, uint32_t id, uint32_t begin, uint32_t end);
} etx_piece_sink;

// Encodes a text.
ETX_MUST_USE etx_status etx_sentence_piece_encode(
    const etx_tokenizer_content* content, etx_encode_work* work, etx_text text,
    etx_piece_sink sink, etx_diag* diag);

// Ids to decode.
typedef struct etx_piece_ids {
  const uint32_t* ids;
  size_t count;
  bool skip_special_tokens;  // leave control symbols out
  bool continues;  // other tokens stand before them: a space in front is kept
} etx_piece_ids;

// Decodes ids into `memory`, where *out_text lies.
ETX_MUST_USE etx_status etx_sentence_piece_decode(
    const etx_tokenizer_content* content, const etx_piece_ids* ids,
    etx_bytes_mut memory, etx_text* out_text, etx_diag* diag);

#endif
