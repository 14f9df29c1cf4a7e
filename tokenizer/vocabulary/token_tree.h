// A radix tree (Morrison 1968) of tokens: finds all that a text begins with in
// time proportional to the longest of them. Internal to tokenizer/.
//
//   tokens      he, hello, help
//   tree        "he" -- "l" -+- "lo"
//                            '- "p"
//
// A node stands for the bytes that lead to it. Its children lie next to each
// other, in the order of the bytes they begin with. Most parts are short: their
// bytes stand in the node, since the text of a token is elsewhere in memory.

#ifndef ETX_TOKENIZER_TOKEN_TREE_H
#define ETX_TOKENIZER_TOKEN_TREE_H

#include <string.h>

#include "tokenizer/vocabulary/vocabulary.h"

enum { ETX_TREE_PART = 8 };

// 32 bytes, so that a cache line has two whole nodes.
typedef struct etx_tree_node {
  union {
    char part[ETX_TREE_PART];  // the bytes in front of `depth`, at its end
    const char* text;          // of a token at or below the node
  };
  double score;          // of the token that ends here, if there are scores
  uint32_t depth;        // bytes of text that lead to the node
  uint32_t child;        // index of the first child
  int32_t id;            // of the token that ends here, or ETX_TOKEN_NONE
  uint16_t child_count;  // at most 256
  uint8_t label;         // the first byte of the part
  bool is_long;          // the part has more bytes than the node: `text` counts
} etx_tree_node;

typedef struct etx_token_tree {
  etx_tree_node* nodes;  // the first is the root
  uint8_t* labels;       // by node, for those with many siblings
  uint32_t* ids;         // of the tokens, sorted by text when it is built
  size_t id_count;
  size_t node_count;    // 0: no tokens
  uint32_t first[256];  // by byte: the child of the root that begins with it,
                        // or 0
} etx_token_tree;

// Takes memory for at most `count` tokens. With a counting arena nothing else
// may be called.
ETX_MUST_USE etx_status etx_token_tree_init(etx_token_tree* tree, size_t count,
                                            etx_arena* arena, etx_diag* diag);
// Adds a token of the vocabulary before the tree is built; an empty text is
// left out.
void etx_token_tree_add(etx_token_tree* tree, const etx_vocabulary* vocabulary,
                        uint32_t id);
// Builds the nodes. Of tokens with the same text the one counts that
// etx_vocabulary_find has. `scores` are by id; NULL: there are none.
void etx_token_tree_build(etx_token_tree* tree,
                          const etx_vocabulary* vocabulary,
                          const double* scores);

// A walk down the tree along a text. It may be in the middle of a node's part.
typedef struct etx_token_walk {
  const etx_token_tree* tree;
  uint32_t node;
  uint32_t start;     // bytes of tokens that stand for no text
  uint32_t depth;     // bytes of tokens that were compared, with those
  bool is_past_node;  // the token that ends at the node was given
  bool has_ended;     // no further token can match
} etx_token_walk;

// A walk along a text in front of which `prefix` stands, as "##" of WordPiece;
// without one it is empty. Such a walk may be copied for each text.
etx_token_walk etx_token_walk_from(const etx_token_tree* tree, etx_text prefix);

// ---- the walk, in the header so that its place stays in registers ----

// Compares what the node has behind the walk's place. False: the text differs
// or ends. Parts are short, so a loop is faster than a call.
static inline bool etx_token_walk_pass(etx_token_walk* walk, etx_text text) {
  const etx_tree_node* const node = &walk->tree->nodes[walk->node];
  const size_t done = walk->depth - walk->start;
  const size_t size = node->depth - walk->depth;
  if (size > text.size - done) return false;
  const char* const part = node->is_long ? node->text + walk->depth
                                         : node->part + ETX_TREE_PART - size;
  for (size_t i = 0; i < size; ++i) {
    if (part[i] != text.data[done + i]) return false;
  }
  walk->depth = node->depth;
  return true;
}

// Children that are compared in place, since the one that is found is read
// next; and those that are compared in the list of labels. A call costs as much
// as some comparisons.
enum { ETX_TREE_NEAR_CHILDREN = 2, ETX_TREE_FEW_CHILDREN = 12 };

// Moves to the child of the node that begins with `byte`, and past that.
static inline bool etx_token_walk_enter(etx_token_walk* walk, uint8_t byte) {
  const etx_token_tree* const tree = walk->tree;
  const etx_tree_node* const node = &tree->nodes[walk->node];
  const uint8_t* const labels = tree->labels + node->child;
  uint32_t child = 0;
  if (walk->node == 0) {
    child = tree->first[byte];
  } else if (node->child_count <= ETX_TREE_NEAR_CHILDREN) {
    for (uint32_t i = 0; i < node->child_count && child == 0; ++i) {
      if (tree->nodes[node->child + i].label == byte) child = node->child + i;
    }
  } else if (node->child_count > ETX_TREE_FEW_CHILDREN) {
    const uint8_t* const found = memchr(labels, byte, node->child_count);
    if (found != NULL) child = node->child + (uint32_t)(found - labels);
  } else {
    for (uint32_t i = 0; i < node->child_count && child == 0; ++i) {
      if (labels[i] == byte) child = node->child + i;
    }
  }
  if (child == 0) return false;
  walk->node = child;
  ++walk->depth;
  return true;
}

// Moves past the next node. False: the text goes another way, or ends.
static inline bool etx_token_walk_move(etx_token_walk* walk, etx_text text) {
  const size_t done = walk->depth - walk->start;
  if (walk->is_past_node &&
      (done == text.size ||
       !etx_token_walk_enter(walk, (uint8_t)text.data[done]))) {
    return false;
  }
  walk->is_past_node = true;
  return etx_token_walk_pass(walk, text);
}

// The next longer token that prefix and text begin with: *out_size are its
// bytes in `text`, which is the same in all calls. False: there is no more.
static inline bool etx_token_walk_next(etx_token_walk* walk, etx_text text,
                                       size_t* out_size, uint32_t* out_id) {
  while (!walk->has_ended && etx_token_walk_move(walk, text)) {
    const int32_t id = walk->tree->nodes[walk->node].id;
    if (id == ETX_TOKEN_NONE) continue;
    *out_size = walk->depth - walk->start;
    *out_id = (uint32_t)id;
    return true;
  }
  walk->has_ended = true;
  return false;
}

// The score of the token that was found last.
static inline double etx_token_walk_score(const etx_token_walk* walk) {
  return walk->tree->nodes[walk->node].score;
}

#endif
