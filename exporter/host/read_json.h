// JSON texts as trees in a pool.
//
// These are errors: duplicate keys, integers outside 64 bits, numbers outside
// double, bare NaN, text after the value, NUL in strings, depth beyond
// ETX_JSON_MAX_DEPTH. Objects keep the order of the text; lookup by key is a
// binary search over `sorted`.

#ifndef ETX_EXPORTER_HOST_READ_JSON_H
#define ETX_EXPORTER_HOST_READ_JSON_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

enum { ETX_JSON_MAX_DEPTH = 200 };

typedef enum etx_json_kind {
  ETX_JSON_NULL,
  ETX_JSON_BOOL,
  ETX_JSON_INT,
  ETX_JSON_DOUBLE,
  ETX_JSON_STRING,
  ETX_JSON_ARRAY,
  ETX_JSON_OBJECT,
} etx_json_kind;

typedef struct etx_json {
  etx_json_kind kind;
  bool boolean;
  int64_t integer;
  double real;
  etx_text string;
  const struct etx_json* items;  // of an array, or values of an object
  const etx_text* keys;          // of an object, in the order of the text
  const uint32_t* sorted;  // of an object: positions in byte order of keys
  size_t count;            // items
} etx_json;

// Parses `text`, which must be exactly one value. Messages give line and
// column.
ETX_MUST_USE etx_status etx_json_read(etx_pool* pool, etx_text text,
                                      etx_json* out_value, etx_diag* diag);

// Fills in `sorted` of an object that was built by hand.
ETX_MUST_USE etx_status etx_json_sort_keys(etx_pool* pool, etx_json* object);

// The member of an object, or NULL if `object` is not an object or has no such
// member.
const etx_json* etx_json_member(const etx_json* object, const char* key);
const etx_json* etx_json_find(const etx_json* object, etx_text key);

// "an object", "a string", ...
const char* etx_json_kind_name(etx_json_kind kind);

#endif
