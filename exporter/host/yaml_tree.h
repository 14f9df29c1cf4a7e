// YAML texts as trees with the line and column of every node. No other file
// uses libyaml.
//
// A text has one document. These are errors, each with line and column:
// duplicate keys, anchors, aliases and tags, depth beyond ETX_YAML_MAX_DEPTH,
// more than ETX_YAML_MAX_NODES nodes, keys that are not scalars.

#ifndef ETX_EXPORTER_HOST_YAML_TREE_H
#define ETX_EXPORTER_HOST_YAML_TREE_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

enum { ETX_YAML_MAX_DEPTH = 64, ETX_YAML_MAX_NODES = 32000000 };

typedef enum etx_yaml_kind {
  ETX_YAML_SCALAR,
  ETX_YAML_LIST,
  ETX_YAML_MAP,
} etx_yaml_kind;

typedef struct etx_yaml {
  etx_yaml_kind kind;
  bool is_quoted;  // of a scalar: it is a string even if it looks like a number
  uint32_t line;   // 1-based
  uint32_t column;
  etx_text text;                 // of a scalar
  const struct etx_yaml* items;  // of a list, or values of a map
  const struct etx_yaml* keys;   // of a map, in the order of the text
  size_t count;                  // items
} etx_yaml;

// Parses a text. An empty document is an empty map.
ETX_MUST_USE etx_status etx_yaml_read(etx_pool* pool, etx_text text,
                                      etx_yaml* out_root, etx_diag* diag);

// The same with the nodes in one pool and their texts in another, which may
// outlive it.
ETX_MUST_USE etx_status etx_yaml_read_apart(etx_pool* pool, etx_pool* texts,
                                            etx_text text, etx_yaml* out_root,
                                            etx_diag* diag);

// Copies a node and all nodes below it, but not their texts. The recursion is
// bounded by ETX_YAML_MAX_DEPTH.
ETX_MUST_USE etx_status etx_yaml_copy(etx_pool* pool, const etx_yaml* node,
                                      etx_yaml* out_copy);

// Records a message at a node's line and column; returns ETX_BAD_FILE.
etx_status etx_yaml_fail(const etx_yaml* node, etx_diag* diag,
                         const char* format, ...);

// The value of a key, or NULL.
const etx_yaml* etx_yaml_find(const etx_yaml* map, const char* key);

// ETX_BAD_FILE unless `node` is of `kind`; `what` names the node in the
// message.
ETX_MUST_USE etx_status etx_yaml_expect(const etx_yaml* node,
                                        etx_yaml_kind kind, const char* what,
                                        etx_diag* diag);

// ETX_BAD_FILE for a key that is not in `allowed`, a text such as
// "name type init".
ETX_MUST_USE etx_status etx_yaml_check_keys(const etx_yaml* map,
                                            const char* allowed,
                                            etx_diag* diag);

// The non-empty scalar under a key that must exist.
ETX_MUST_USE etx_status etx_yaml_text(const etx_yaml* map, const char* key,
                                      etx_text* out_text, etx_diag* diag);

// The type of a scalar that stands for a value.
typedef enum etx_yaml_type {
  ETX_YAML_NULL,
  ETX_YAML_BOOL,
  ETX_YAML_INT,
  ETX_YAML_DOUBLE,
  ETX_YAML_TEXT,
} etx_yaml_type;

typedef struct etx_yaml_value {
  etx_yaml_type type;
  bool boolean;
  int64_t integer;
  double real;
  etx_text text;
} etx_yaml_value;

// Reads a scalar: null or ~, true, false, decimal integers, numbers with '.'
// or an exponent, .inf, -.inf, .nan, else text. Quoted scalars are text. An
// integer beyond 64 bits is an error.
ETX_MUST_USE etx_status etx_yaml_scalar(const etx_yaml* node,
                                        etx_yaml_value* out_value,
                                        etx_diag* diag);

// An integer.
ETX_MUST_USE etx_status etx_yaml_int(const etx_yaml* node, const char* what,
                                     int64_t* out, etx_diag* diag);

#endif
