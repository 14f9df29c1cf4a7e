// Tokenizers: text to ids and ids to text, as a model was trained with.
//
// A tokenizer is read from the bytes of a `tokenizer.json` (the format of the
// package `tokenizers` of Hugging Face) or of a SentencePiece model (`.model`),
// and lies in one block of the caller's memory. Nothing is allocated, then or
// later.
//
//   etx_tokenizer tokenizer;
//   size_t bytes;
//   status = etx_tokenizer_needed(file, &bytes, &diag);
//   status = etx_tokenizer_init(&tokenizer, file, block, &diag);
//   status = etx_tokenizer_encode(&tokenizer, &request, memory, &output,
//   &diag);
//
// Ownership     the block must outlive the tokenizer; the file may go after
// init. Failure       the file is not trusted: whatever is wrong with it gives
//               ETX_BAD_FILE, and what is not known ETX_UNSUPPORTED, with a
//               message that names it.
// Threads       a tokenizer is never changed after init, so any number of
// threads
//               may use one, each with its own memory.
// Text          UTF-8. Bytes that are no UTF-8 are read as U+FFFD, one for each
//               maximal subpart, as Python's errors="replace" does.
// Not promised  `truncation` and `padding` of the file are ignored: the caller
//               knows how many ids its model takes.

#ifndef ETX_TOKENIZER_TOKENIZER_H
#define ETX_TOKENIZER_TOKENIZER_H

#include "format/base/diag.h"
#include "format/base/span.h"
#include "format/base/status.h"

// What was read from a file. Private to the tokenizer.
struct etx_tokenizer_content;

// A tokenizer that is ready for use.
typedef struct etx_tokenizer {
  const struct etx_tokenizer_content* content;  // in the caller's block
} etx_tokenizer;

// Bytes of the block that etx_tokenizer_init needs for a file.
ETX_MUST_USE etx_status etx_tokenizer_needed(etx_bytes file, size_t* out_bytes,
                                             etx_diag* diag);

// Reads a file into `block`, which is aligned to 16 bytes and has at least
// etx_tokenizer_needed bytes.
ETX_MUST_USE etx_status etx_tokenizer_init(etx_tokenizer* tokenizer,
                                           etx_bytes file, etx_bytes_mut block,
                                           etx_diag* diag);

// What to encode.
typedef struct etx_encode_request {
  etx_text text;  // at most 2^28 bytes
  etx_text pair;  // a second text, for models that compare two
  bool has_pair;  // true: `pair` is used, though it may be empty
  bool
      no_special_tokens;  // true: without those that the file puts around texts
} etx_encode_request;

// The part of a text that a token stands for: bytes begin to end of `text` or
// `pair`, always whole characters. Both are 0 for tokens that the file adds.
// `tokenizers` counts characters instead; the first is the number of characters
// of the text before `begin`.
typedef struct etx_token_span {
  uint32_t begin;  // first byte
  uint32_t end;    // one more than the last byte
} etx_token_span;

// Where the ids go. Arrays are the caller's, of `capacity` elements each.
typedef struct etx_encode_output {
  uint32_t* ids;          // may be NULL if capacity is 0
  etx_token_span* spans;  // may be NULL: spans are not wanted
  uint8_t* types;         // number of the text, as models of two texts take it;
                          // may be NULL
  size_t capacity;        // elements
  size_t count;           // set by the call: ids that the text has
} etx_encode_output;

// Bytes of memory that suffice to encode any text of `text_bytes` bytes, which
// is the longer one of two. Text that a normalizer does not lengthen needs
// less: a caller may offer 128 bytes for each byte, plus 64 kB, and this many
// after ETX_OUT_OF_MEMORY.
size_t etx_tokenizer_encode_needed(const etx_tokenizer* tokenizer,
                                   size_t text_bytes);

// Encodes a text. `memory` is used during the call only. ETX_OUT_OF_RANGE: more
// ids than `capacity`; output->count is how many. ETX_OUT_OF_MEMORY: `memory`
// is too small. ETX_BAD_ARGUMENT: the text has a character that the tokenizer
// has no token for. Time is proportional to the size of the text, times its
// logarithm where one piece of text is long.
ETX_MUST_USE etx_status etx_tokenizer_encode(const etx_tokenizer* tokenizer,
                                             const etx_encode_request* request,
                                             etx_bytes_mut memory,
                                             etx_encode_output* output,
                                             etx_diag* diag);

// Ids to decode.
typedef struct etx_decode_request {
  const uint32_t* ids;  // `count` of them; ids without a token are left out
  size_t count;         // number of ids
  bool skip_special_tokens;  // true: leave special tokens out
} etx_decode_request;

// Bytes of memory that suffice to decode `count` ids.
size_t etx_tokenizer_decode_needed(const etx_tokenizer* tokenizer,
                                   size_t count);

// Decodes ids to UTF-8, which stays in `memory`: *out_text points there.
ETX_MUST_USE etx_status etx_tokenizer_decode(const etx_tokenizer* tokenizer,
                                             const etx_decode_request* request,
                                             etx_bytes_mut memory,
                                             etx_text* out_text,
                                             etx_diag* diag);

enum { ETX_TOKEN_STREAM_IDS = 64 };  // that may wait for the end of a character

// Decoding as ids arrive. Text comes out once its characters are whole.
typedef struct etx_token_stream {
  const etx_tokenizer* tokenizer;      // that made the ids
  bool skip_special_tokens;            // as in etx_decode_request
  uint32_t ids[ETX_TOKEN_STREAM_IDS];  // the last ones
  size_t count;                        // of these
  size_t shown;                        // how many of these came out already
  bool is_begun;                       // other ids came out before these
} etx_token_stream;

// Starts without ids.
void etx_token_stream_init(etx_token_stream* stream,
                           const etx_tokenizer* tokenizer,
                           bool skip_special_tokens);
// Takes the next id. *out_text is the text that is whole now, maybe empty; it
// lies in `memory`, of etx_tokenizer_decode_needed(ETX_TOKEN_STREAM_IDS) bytes.
ETX_MUST_USE etx_status etx_token_stream_push(etx_token_stream* stream,
                                              uint32_t id, etx_bytes_mut memory,
                                              etx_text* out_text,
                                              etx_diag* diag);
// Gives what is left at the end, with U+FFFD for characters that are not whole.
ETX_MUST_USE etx_status etx_token_stream_end(etx_token_stream* stream,
                                             etx_bytes_mut memory,
                                             etx_text* out_text,
                                             etx_diag* diag);

// True if the file was a SentencePiece model. Such a file does not say which
// special tokens stand around a text, so none are put there; with a program of
// `etx.hf` they are get_bos_id in front of a prompt, or get_eos_ids behind what
// an encoder reads.
bool etx_tokenizer_is_sentence_piece(const etx_tokenizer* tokenizer);

// One more than the largest id.
size_t etx_tokenizer_id_count(const etx_tokenizer* tokenizer);
// The id of a token, or -1. Tokens are written as in the file.
int64_t etx_tokenizer_find(const etx_tokenizer* tokenizer, etx_text token);
// The token of an id, in the block; data is NULL if there is none.
etx_text etx_tokenizer_token(const etx_tokenizer* tokenizer, uint32_t id);

#endif
