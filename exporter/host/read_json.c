// jansson parses the text; its tree is copied into the pool and freed at once,
// so that callers have nothing to release.

#include "exporter/host/read_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

static etx_status copy_value(etx_pool* pool, json_t* from, size_t depth,
                             etx_json* to, etx_diag* diag);

static etx_status copy_array(etx_pool* pool, json_t* from, size_t depth,
                             etx_json* to, etx_diag* diag) {
  const size_t count = json_array_size(from);
  etx_json* const items = etx_pool_take(pool, count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(copy_value(pool, json_array_get(from, i), depth, &items[i], diag));
  }
  to->items = items;
  to->count = count;
  return ETX_OK;
}

typedef struct sort_key {
  etx_text key;
  uint32_t position;
} sort_key;

static int by_key(const void* a, const void* b) {
  const sort_key* const x = a;
  const sort_key* const y = b;
  return etx_text_compare(x->key, y->key);
}

etx_status etx_json_sort_keys(etx_pool* pool, etx_json* object) {
  etx_pool scratch;
  etx_pool_init(&scratch);
  sort_key* const order =
      etx_pool_take(&scratch, object->count * sizeof *order);
  uint32_t* const sorted = etx_pool_take(pool, object->count * sizeof *sorted);
  if (order != NULL && sorted != NULL) {
    for (size_t i = 0; i < object->count; ++i) {
      order[i].key = object->keys[i];
      order[i].position = (uint32_t)i;
    }
    if (object->count > 1) {
      qsort(order, object->count, sizeof *order, by_key);
    }
    for (size_t i = 0; i < object->count; ++i) sorted[i] = order[i].position;
    object->sorted = sorted;
  }
  etx_pool_close(&scratch);
  return object->sorted == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

static etx_status copy_object(etx_pool* pool, json_t* from, size_t depth,
                              etx_json* to, etx_diag* diag) {
  const size_t count = json_object_size(from);
  etx_json* const items = etx_pool_take(pool, count * sizeof *items);
  etx_text* const keys = etx_pool_take(pool, count * sizeof *keys);
  if (items == NULL || keys == NULL) return ETX_OUT_OF_MEMORY;
  size_t i = 0;
  for (void* at = json_object_iter(from); at != NULL;
       at = json_object_iter_next(from, at), ++i) {
    const etx_text key = {json_object_iter_key(at),
                          json_object_iter_key_len(at)};
    keys[i] = etx_pool_copy_text(pool, key);
    if (keys[i].data == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(
        copy_value(pool, json_object_iter_value(at), depth, &items[i], diag));
  }
  to->items = items;
  to->keys = keys;
  to->count = count;
  return etx_json_sort_keys(pool, to);
}

static etx_status copy_string(etx_pool* pool, json_t* from, etx_json* to) {
  const etx_text text = {json_string_value(from), json_string_length(from)};
  to->string = etx_pool_copy_text(pool, text);
  return to->string.data == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

static etx_status copy_value(etx_pool* pool, json_t* from, size_t depth,
                             etx_json* to, etx_diag* diag) {
  if (depth > ETX_JSON_MAX_DEPTH) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "values are nested deeper than %i",
                         (int64_t)ETX_JSON_MAX_DEPTH);
  }
  memset(to, 0, sizeof *to);
  switch (json_typeof(from)) {
    case JSON_NULL:
      to->kind = ETX_JSON_NULL;
      return ETX_OK;
    case JSON_TRUE:
    case JSON_FALSE:
      to->kind = ETX_JSON_BOOL;
      to->boolean = json_is_true(from);
      return ETX_OK;
    case JSON_INTEGER:
      to->kind = ETX_JSON_INT;
      to->integer = json_integer_value(from);
      return ETX_OK;
    case JSON_REAL:
      to->kind = ETX_JSON_DOUBLE;
      to->real = json_real_value(from);
      return ETX_OK;
    case JSON_STRING:
      to->kind = ETX_JSON_STRING;
      return copy_string(pool, from, to);
    case JSON_ARRAY:
      to->kind = ETX_JSON_ARRAY;
      return copy_array(pool, from, depth + 1, to, diag);
    case JSON_OBJECT:
      to->kind = ETX_JSON_OBJECT;
      return copy_object(pool, from, depth + 1, to, diag);
  }
  return ETX_INTERNAL;
}

static etx_status no_memory(etx_diag* diag) {
  return etx_diag_fail(diag, ETX_OUT_OF_MEMORY, "not enough memory for JSON");
}

// When it runs out of memory, jansson may report a syntax error instead. Only
// errno, which malloc has set, tells the two apart.
etx_status etx_json_read(etx_pool* pool, etx_text text, etx_json* out_value,
                         etx_diag* diag) {
  json_error_t error;
  errno = 0;
  json_t* const root =
      json_loadb(text.data == NULL ? "" : text.data, text.size,
                 JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (root == NULL && errno == ENOMEM) return no_memory(diag);
  if (root == NULL) {
    const bool has_line = error.line > 0;
    return etx_diag_fail_line(
        diag, ETX_BAD_FILE, has_line ? (uint32_t)error.line : 0,
        has_line && error.column > 0 ? (uint32_t)error.column : 0,
        "not valid JSON at line %i, column %i: %s", (int64_t)error.line,
        (int64_t)error.column, error.text);
  }
  const etx_status status = copy_value(pool, root, 0, out_value, diag);
  json_decref(root);
  return status == ETX_OUT_OF_MEMORY ? no_memory(diag) : status;
}

const etx_json* etx_json_find(const etx_json* object, etx_text key) {
  if (object == NULL || object->kind != ETX_JSON_OBJECT) return NULL;
  size_t low = 0, high = object->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const uint32_t at = object->sorted[middle];
    const int order = etx_text_compare(object->keys[at], key);
    if (order == 0) return &object->items[at];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

const etx_json* etx_json_member(const etx_json* object, const char* key) {
  return etx_json_find(object, etx_text_of(key));
}

const char* etx_json_kind_name(etx_json_kind kind) {
  switch (kind) {
    case ETX_JSON_NULL:
      return "null";
    case ETX_JSON_BOOL:
      return "true or false";
    case ETX_JSON_INT:
      return "an integer";
    case ETX_JSON_DOUBLE:
      return "a number with a fraction";
    case ETX_JSON_STRING:
      return "a string";
    case ETX_JSON_ARRAY:
      return "an array";
    case ETX_JSON_OBJECT:
      return "an object";
  }
  return "?";
}
