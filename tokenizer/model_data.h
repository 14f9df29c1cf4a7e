// What a model has read, and the models. Internal to tokenizer/.

#ifndef ETX_TOKENIZER_MODEL_DATA_H
#define ETX_TOKENIZER_MODEL_DATA_H

#include "tokenizer/aligned_text.h"
#include "tokenizer/vocabulary/token_tree.h"

typedef enum etx_model_kind {
  ETX_MODEL_BPE,
  ETX_MODEL_UNIGRAM,
  ETX_MODEL_WORD_PIECE,
  ETX_MODEL_WORD_LEVEL
} etx_model_kind;

// A rule of BPE: two ids become one. rank UINT32_MAX: an empty slot.
typedef struct etx_bpe_merge {
  uint32_t left, right, rank, whole;
} etx_bpe_merge;

typedef struct etx_token_model {
  etx_model_kind kind;
  etx_vocabulary vocabulary;
  int32_t unknown;   // id, or ETX_TOKEN_NONE
  bool has_unknown;  // the file names one
  bool fuse_unknown, byte_fallback, ignore_merges;
  etx_text prefix, suffix;  // of inner and last parts of a word
  uint32_t longest_word;    // WordPiece: characters
  etx_bpe_merge* merges;    // a hash table with linear probing
  size_t merge_mask;
  bool* is_whole;   // BPE: by id, merging its text gives just this token
  bool joins_mark;  // BPE: a rule joins U+2581 with another text before it
  bool divides_at_marks;      // BPE: a text may be divided in front of U+2581
  etx_token_tree tree;        // Unigram, WordPiece: all tokens
  etx_token_walk first_walk;  // at the start of a text or word
  etx_token_walk inner_walk;  // WordPiece: inside of a word
  double* scores;             // Unigram: by id
  double unknown_score;
} etx_token_model;

// Where ids go.
typedef struct etx_id_sink {
  void* context;
  // Bytes begin to end of the present text became `id`. False: no more room.
  void (*put)(void* context, uint32_t id, size_t begin, size_t end);
} etx_id_sink;

// The models, each for etx_token_model_encode.
ETX_MUST_USE etx_status etx_bpe_encode(const etx_token_model* model,
                                       etx_encode_work* work, size_t begin,
                                       size_t end, etx_id_sink sink,
                                       etx_diag* diag);
ETX_MUST_USE etx_status etx_unigram_encode(const etx_token_model* model,
                                           etx_encode_work* work, size_t begin,
                                           size_t end, etx_id_sink sink,
                                           etx_diag* diag);
ETX_MUST_USE etx_status etx_word_piece_encode(const etx_token_model* model,
                                              etx_encode_work* work,
                                              size_t begin, size_t end,
                                              etx_id_sink sink, etx_diag* diag);
// The errors that models share.
ETX_MUST_USE etx_status etx_model_no_unknown(etx_diag* diag);
ETX_MUST_USE etx_status etx_model_no_memory(etx_diag* diag);

// Finds the rule for two ids; NULL: there is none.
const etx_bpe_merge* etx_bpe_find(const etx_token_model* model, uint32_t left,
                                  uint32_t right);
// Adds a rule; the last of two for the same ids wins.
void etx_bpe_add(etx_token_model* model, etx_bpe_merge merge);
// True if a rule joins U+2581 with something else in front of it.
bool etx_bpe_joins_mark(etx_text left, etx_text right);
enum { ETX_BPE_WHOLE_MAX = 64 };  // bytes of a token that is tried as a whole
// Finds what speeds merging up, when all rules and the unknown token are there.
void etx_bpe_finish(etx_token_model* model);

#endif
