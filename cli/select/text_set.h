// Sets of texts, sorted, each text once: the lists of a selection. The union of
// two sets does not depend on their order.

#ifndef ETX_CLI_SELECT_TEXT_SET_H
#define ETX_CLI_SELECT_TEXT_SET_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

typedef struct etx_text_set {
  etx_text* items;  // in the order of etx_text_compare
  size_t count;
  size_t capacity;
} etx_text_set;

// True if the set has the text.
bool etx_text_set_has(const etx_text_set* set, etx_text text);

// Adds a text, which is borrowed, if the set does not have it.
ETX_MUST_USE etx_status etx_text_set_add(etx_text_set* set, etx_pool* pool,
                                         etx_text text);

// Adds all texts of `other`.
ETX_MUST_USE etx_status etx_text_set_unite(etx_text_set* set, etx_pool* pool,
                                           const etx_text_set* other);

#endif
