#include "tokenizer/vocabulary/token_tree.h"

// A node has a token or at least two children, so that there are at most as
// many nodes without a token as with one.
static size_t node_limit(size_t count) { return 2 * count + 1; }

etx_status etx_token_tree_init(etx_token_tree* tree, size_t count,
                               etx_arena* arena, etx_diag* diag) {
  const size_t limit = node_limit(count);
  memset(tree, 0, sizeof *tree);
  uint8_t* const nodes =
      etx_arena_take(arena, (limit + 1) * sizeof *tree->nodes, 16);
  tree->ids = etx_arena_take(arena, count * sizeof *tree->ids, 16);
  tree->labels = etx_arena_take(arena, limit, 16);
  if (arena->counting) return ETX_OK;
  if (nodes == NULL || tree->ids == NULL || tree->labels == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "too little memory for %z tokens", count);
  }
  // The arena aligns to 16; a node that lies in two cache lines takes longer.
  const size_t size = sizeof *tree->nodes;
  tree->nodes = (void*)(nodes + (size - (uintptr_t)nodes % size) % size);
  return ETX_OK;
}

void etx_token_tree_add(etx_token_tree* tree, const etx_vocabulary* vocabulary,
                        uint32_t id) {
  if (etx_vocabulary_at(vocabulary, id).size == 0) return;
  tree->ids[tree->id_count++] = id;
}

// ---- building ----

// A node waits with the tokens below it: ids from `child` on, as many as its
// `id` says. Its `depth` is where its part begins.
typedef struct tree_builder {
  etx_token_tree* tree;
  const etx_vocabulary* vocabulary;
  const double* scores;  // by id, or NULL
} tree_builder;

static etx_text text_at(const tree_builder* b, uint32_t index) {
  return etx_vocabulary_at(b->vocabulary, b->tree->ids[index]);
}

// Adds a node that waits.
static void add_node(const tree_builder* b, uint32_t first, uint32_t count,
                     uint32_t depth) {
  const etx_text text = text_at(b, first);
  const size_t index = b->tree->node_count++;
  b->tree->labels[index] = (uint8_t)text.data[depth];
  b->tree->nodes[index] = (etx_tree_node){.depth = depth,
                                          .child = first,
                                          .id = (int32_t)count,
                                          .label = (uint8_t)text.data[depth]};
}

// Where texts of sorted ids, from `first` to `last`, part.
static uint32_t common_depth(const tree_builder* b, uint32_t first,
                             uint32_t last, uint32_t depth) {
  const etx_text low = text_at(b, first), high = text_at(b, last);
  while (depth < low.size && depth < high.size &&
         low.data[depth] == high.data[depth]) {
    ++depth;
  }
  return depth;
}

// Ends the part of a node that waits, and adds its children.
static void finish_node(const tree_builder* b, size_t index) {
  const etx_tree_node waiting = b->tree->nodes[index];
  uint32_t at = waiting.child;
  const uint32_t end = at + (uint32_t)waiting.id;
  const uint32_t depth = common_depth(b, at, end - 1, waiting.depth);
  const etx_text text = text_at(b, at);
  const uint32_t child = (uint32_t)b->tree->node_count;
  int32_t id = ETX_TOKEN_NONE;
  if (text.size == depth) id = etx_vocabulary_find(b->vocabulary, text);
  while (at < end && text_at(b, at).size == depth) ++at;
  while (at < end) {
    const uint32_t first = at;
    const char label = text_at(b, at).data[depth];
    while (at < end && text_at(b, at).data[depth] == label) ++at;
    add_node(b, first, at - first, depth);
  }
  etx_tree_node* const node = &b->tree->nodes[index];
  const size_t size = depth - waiting.depth;
  node->is_long = size > ETX_TREE_PART;
  if (node->is_long) {
    node->text = text.data;
  } else {
    memcpy(node->part + ETX_TREE_PART - size, text.data + waiting.depth, size);
  }
  node->depth = depth;
  node->child = child;
  node->child_count = (uint16_t)(b->tree->node_count - child);
  node->id = id;
  node->score = id >= 0 && b->scores != NULL ? b->scores[id] : 0;
}

void etx_token_tree_build(etx_token_tree* tree,
                          const etx_vocabulary* vocabulary,
                          const double* scores) {
  const tree_builder b = {tree, vocabulary, scores};
  tree->node_count = 0;
  if (tree->id_count == 0) return;
  etx_vocabulary_sort(vocabulary, tree->ids, tree->id_count);
  add_node(&b, 0, (uint32_t)tree->id_count, 0);
  for (size_t i = 0; i < tree->node_count; ++i) finish_node(&b, i);
  const etx_tree_node* const root = &tree->nodes[0];
  memset(tree->first, 0, sizeof tree->first);
  for (uint32_t i = 0; i < root->child_count; ++i) {
    tree->first[tree->labels[root->child + i]] = root->child + i;
  }
}

// ---- walking ----

// Goes one byte down.
static bool step(etx_token_walk* walk, uint8_t byte) {
  const etx_tree_node* const node = &walk->tree->nodes[walk->node];
  if (walk->depth == node->depth) return etx_token_walk_enter(walk, byte);
  const char* const at =
      node->is_long ? node->text + walk->depth
                    : node->part + ETX_TREE_PART - (node->depth - walk->depth);
  ++walk->depth;
  return (uint8_t)*at == byte;
}

etx_token_walk etx_token_walk_from(const etx_token_tree* tree,
                                   etx_text prefix) {
  etx_token_walk walk = {.tree = tree, .has_ended = tree->node_count == 0};
  for (size_t i = 0; i < prefix.size && !walk.has_ended; ++i) {
    walk.has_ended = !step(&walk, (uint8_t)prefix.data[i]);
  }
  walk.start = walk.depth;
  walk.is_past_node = !walk.has_ended && walk.depth != 0 &&
                      walk.depth == tree->nodes[walk.node].depth;
  return walk;
}
