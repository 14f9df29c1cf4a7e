// The tree is built from libyaml's events with an explicit stack, so that the
// nesting of a text never becomes recursion.

#include "exporter/host/yaml_tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "exporter/host/nearest_name.h"
#include "format/base/checked_math.h"

// A list or map being filled. In a map keys and values alternate.
typedef struct open_node {
  etx_yaml node;
  size_t first;  // of its items in builder.items
} open_node;

typedef struct builder {
  etx_pool* pool;    // of the nodes of the tree
  etx_pool* texts;   // of their texts
  etx_pool scratch;  // of `items`
  etx_diag* diag;
  open_node stack[ETX_YAML_MAX_DEPTH + 1];
  size_t depth;  // 0: at the root
  // The items of all open lists and maps, those of the innermost one last. A
  // list is copied to the tree when it is closed and its length is known.
  etx_yaml* items;
  size_t count, capacity;
  size_t node_count;
  etx_yaml root;
  bool has_root;
} builder;

static etx_status fail_list(const etx_yaml* node, etx_diag* diag,
                            const char* format, va_list list) {
  char text[ETX_DIAG_TEXT_BYTES];
  (void)etx_format_text_list(text, sizeof text, format, list);
  return etx_diag_fail_line(diag, ETX_BAD_FILE, node->line, node->column, "%s",
                            text);
}

etx_status etx_yaml_fail(const etx_yaml* node, etx_diag* diag,
                         const char* format, ...) {
  va_list list;
  va_start(list, format);
  const etx_status status = fail_list(node, diag, format, list);
  va_end(list);
  return status;
}

static etx_yaml node_at(etx_yaml_kind kind, const yaml_event_t* event) {
  etx_yaml node = {0};
  node.kind = kind;
  node.line = (uint32_t)event->start_mark.line + 1;
  node.column = (uint32_t)event->start_mark.column + 1;
  return node;
}

// Appends a finished node to its parent.
static etx_status attach(builder* b, const etx_yaml* node) {
  if (b->depth == 0) {
    b->root = *node;
    b->has_root = true;
    return ETX_OK;
  }
  const open_node* const parent = &b->stack[b->depth - 1];
  const bool is_key =
      parent->node.kind == ETX_YAML_MAP && (b->count - parent->first) % 2 == 0;
  if (is_key && node->kind != ETX_YAML_SCALAR) {
    return etx_yaml_fail(node, b->diag, "a key should be a single value");
  }
  ETX_TRY(etx_pool_grow(&b->scratch, &b->items, b->count, &b->capacity,
                        sizeof *b->items));
  b->items[b->count++] = *node;
  return ETX_OK;
}

static etx_status open_container(builder* b, const etx_yaml* node) {
  if (b->depth > ETX_YAML_MAX_DEPTH) {
    return etx_yaml_fail(node, b->diag, "nested deeper than %i levels",
                         (int64_t)ETX_YAML_MAX_DEPTH);
  }
  const open_node fresh = {*node, b->count};
  b->stack[b->depth++] = fresh;
  return ETX_OK;
}

static int by_text(const void* a, const void* b) {
  const etx_yaml* const x = *(const etx_yaml* const*)a;
  const etx_yaml* const y = *(const etx_yaml* const*)b;
  const int order = etx_text_compare(x->text, y->text);
  if (order != 0) return order;
  if (x->line != y->line) return x->line < y->line ? -1 : 1;
  return x->column < y->column ? -1 : x->column > y->column;
}

static etx_status check_duplicates(builder* b, const etx_yaml* map) {
  etx_pool scratch;
  etx_pool_init(&scratch);
  const etx_yaml** const sorted =
      etx_pool_take(&scratch, map->count * sizeof *sorted);
  etx_status status = sorted == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
  if (sorted != NULL) {
    for (size_t i = 0; i < map->count; ++i) sorted[i] = &map->keys[i];
    if (map->count > 1) qsort(sorted, map->count, sizeof *sorted, by_text);
    for (size_t i = 1; status == ETX_OK && i < map->count; ++i) {
      if (!etx_text_equal(sorted[i - 1]->text, sorted[i]->text)) continue;
      status = etx_yaml_fail(sorted[i], b->diag,
                             "duplicate key '%t', first given in line %u",
                             sorted[i]->text, (uint64_t)sorted[i - 1]->line);
    }
  }
  etx_pool_close(&scratch);
  return status;
}

// Copies every `step`-th item, from the first one on, to the tree.
static etx_yaml* take_items(builder* b, const etx_yaml* first, size_t count,
                            size_t step) {
  etx_yaml* const items = etx_pool_take(b->pool, count * sizeof *items);
  for (size_t i = 0; items != NULL && i < count; ++i) {
    items[i] = first[step * i];
  }
  return items;
}

static etx_status close_container(builder* b) {
  const open_node done = b->stack[--b->depth];
  const bool is_map = done.node.kind == ETX_YAML_MAP;
  const size_t step = is_map ? 2 : 1;
  etx_yaml node = done.node;
  node.count = (b->count - done.first) / step;
  if (node.count != 0) {
    const etx_yaml* const first = &b->items[done.first];
    node.keys = is_map ? take_items(b, first, node.count, step) : NULL;
    node.items = take_items(b, first + step - 1, node.count, step);
    if (node.items == NULL || (is_map && node.keys == NULL)) {
      return ETX_OUT_OF_MEMORY;
    }
  }
  b->count = done.first;
  if (is_map) ETX_TRY(check_duplicates(b, &node));
  return attach(b, &node);
}

static etx_status add_scalar(builder* b, const yaml_event_t* event) {
  etx_yaml node = node_at(ETX_YAML_SCALAR, event);
  const etx_text text = {(const char*)event->data.scalar.value,
                         event->data.scalar.length};
  node.is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  node.text = etx_pool_copy_text(b->texts, text);
  if (node.text.data == NULL) return ETX_OUT_OF_MEMORY;
  return attach(b, &node);
}

static etx_status check_node(builder* b, const yaml_event_t* event,
                             const yaml_char_t* anchor,
                             const yaml_char_t* tag) {
  const etx_yaml node = node_at(ETX_YAML_SCALAR, event);
  if (anchor != NULL) {
    return etx_yaml_fail(&node, b->diag, "YAML anchors are not supported");
  }
  if (tag != NULL) {
    return etx_yaml_fail(&node, b->diag, "YAML tags are not supported");
  }
  if (++b->node_count > ETX_YAML_MAX_NODES) {
    return etx_yaml_fail(&node, b->diag, "more than %i YAML nodes",
                         (int64_t)ETX_YAML_MAX_NODES);
  }
  return ETX_OK;
}

static etx_status handle_event(builder* b, const yaml_event_t* event) {
  etx_yaml node;
  switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
      node = node_at(ETX_YAML_SCALAR, event);
      return b->has_root
                 ? etx_yaml_fail(&node, b->diag, "more than one YAML document")
                 : ETX_OK;
    case YAML_ALIAS_EVENT:
      node = node_at(ETX_YAML_SCALAR, event);
      return etx_yaml_fail(&node, b->diag, "YAML aliases are not supported");
    case YAML_SCALAR_EVENT:
      ETX_TRY(check_node(b, event, event->data.scalar.anchor,
                         event->data.scalar.tag));
      return add_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
      ETX_TRY(check_node(b, event, event->data.sequence_start.anchor,
                         event->data.sequence_start.tag));
      node = node_at(ETX_YAML_LIST, event);
      return open_container(b, &node);
    case YAML_MAPPING_START_EVENT:
      ETX_TRY(check_node(b, event, event->data.mapping_start.anchor,
                         event->data.mapping_start.tag));
      node = node_at(ETX_YAML_MAP, event);
      return open_container(b, &node);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      return close_container(b);
    default:
      return ETX_OK;
  }
}

static etx_status parse_all(yaml_parser_t* parser, builder* b) {
  for (;;) {
    yaml_event_t event;
    if (!yaml_parser_parse(parser, &event)) {
      if (parser->error == YAML_MEMORY_ERROR) return ETX_OUT_OF_MEMORY;
      const bool is_reader = parser->error == YAML_READER_ERROR;
      return etx_diag_fail_line(
          b->diag, ETX_BAD_FILE,
          is_reader ? 0 : (uint32_t)parser->problem_mark.line + 1,
          is_reader ? 0 : (uint32_t)parser->problem_mark.column + 1,
          "not valid YAML: %s", parser->problem);
    }
    const yaml_event_type_t type = event.type;
    const etx_status status = handle_event(b, &event);
    yaml_event_delete(&event);
    ETX_TRY(status);
    if (type == YAML_STREAM_END_EVENT) return ETX_OK;
  }
}

// Some editors write a byte order mark. libyaml does not skip it when the
// encoding is set explicitly.
static etx_text without_byte_order_mark(etx_text text) {
  static const char mark[] = "\xef\xbb\xbf";
  enum { SIZE = sizeof mark - 1 };
  if (text.size < SIZE || memcmp(text.data, mark, SIZE) != 0) return text;
  const etx_text rest = {text.data + SIZE, text.size - SIZE};
  return rest;
}

etx_status etx_yaml_read(etx_pool* pool, etx_text text, etx_yaml* out_root,
                         etx_diag* diag) {
  return etx_yaml_read_apart(pool, pool, text, out_root, diag);
}

etx_status etx_yaml_read_apart(etx_pool* pool, etx_pool* texts, etx_text text,
                               etx_yaml* out_root, etx_diag* diag) {
  const etx_text rest = without_byte_order_mark(text);
  yaml_parser_t parser;
  builder* const b = etx_pool_take(pool, sizeof *b);
  if (b == NULL || !yaml_parser_initialize(&parser)) return ETX_OUT_OF_MEMORY;
  b->pool = pool;
  b->texts = texts;
  b->diag = diag;
  etx_pool_init(&b->scratch);
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(
      &parser, (const unsigned char*)(rest.data == NULL ? "" : rest.data),
      rest.size);
  const etx_status status = parse_all(&parser, b);
  yaml_parser_delete(&parser);
  etx_pool_close(&b->scratch);
  ETX_TRY(status);
  if (!b->has_root) {
    b->root.kind = ETX_YAML_MAP;
    b->root.line = b->root.column = 1;
  }
  *out_root = b->root;
  return ETX_OK;
}

static etx_status copy_items(etx_pool* pool, const etx_yaml** items,
                             size_t count) {
  if (*items == NULL) return ETX_OK;
  etx_yaml* const copies = etx_pool_take(pool, count * sizeof *copies);
  if (copies == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_yaml_copy(pool, &(*items)[i], &copies[i]));
  }
  *items = copies;
  return ETX_OK;
}

etx_status etx_yaml_copy(etx_pool* pool, const etx_yaml* node,
                         etx_yaml* out_copy) {
  etx_yaml copy = *node;
  ETX_TRY(copy_items(pool, &copy.keys, copy.count));
  ETX_TRY(copy_items(pool, &copy.items, copy.count));
  *out_copy = copy;
  return ETX_OK;
}

// ---------------------------------------------------------------- access

const etx_yaml* etx_yaml_find(const etx_yaml* map, const char* key) {
  if (map == NULL || map->kind != ETX_YAML_MAP) return NULL;
  for (size_t i = 0; i < map->count; ++i) {
    if (etx_text_is(map->keys[i].text, key)) return &map->items[i];
  }
  return NULL;
}

static const char* kind_name(etx_yaml_kind kind) {
  switch (kind) {
    case ETX_YAML_SCALAR:
      return "a single value";
    case ETX_YAML_LIST:
      return "a list";
    case ETX_YAML_MAP:
      return "a map of keys and values";
  }
  return "?";
}

etx_status etx_yaml_expect(const etx_yaml* node, etx_yaml_kind kind,
                           const char* what, etx_diag* diag) {
  if (node->kind == kind) return ETX_OK;
  return etx_yaml_fail(node, diag, "'%s' should be %s, found %s", what,
                       kind_name(kind), kind_name(node->kind));
}

// The next word of a text such as "name type init".
static bool next_word(const char** rest, etx_text* out_word) {
  while (**rest == ' ') ++*rest;
  const char* const start = *rest;
  while (**rest != ' ' && **rest != '\0') ++*rest;
  out_word->data = start;
  out_word->size = (size_t)(*rest - start);
  return out_word->size != 0;
}

static bool is_one_of(etx_text text, const char* words) {
  etx_text word;
  while (next_word(&words, &word)) {
    if (etx_text_equal(word, text)) return true;
  }
  return false;
}

// The nearest name is looked for only if the key is unknown: most are known.
static etx_status fail_unknown_key(const etx_yaml* key, const char* allowed,
                                   etx_diag* diag) {
  const char* rest = allowed;
  etx_text word;
  etx_nearest_name nearest = etx_nearest_start(key->text);
  while (next_word(&rest, &word)) etx_nearest_offer(&nearest, word);
  char hint[96];
  return etx_yaml_fail(key, diag, "unknown key '%t'%s (allowed: %s)", key->text,
                       etx_nearest_hint(&nearest, hint, sizeof hint), allowed);
}

etx_status etx_yaml_check_keys(const etx_yaml* map, const char* allowed,
                               etx_diag* diag) {
  for (size_t i = 0; i < map->count; ++i) {
    if (is_one_of(map->keys[i].text, allowed)) continue;
    return fail_unknown_key(&map->keys[i], allowed, diag);
  }
  return ETX_OK;
}

etx_status etx_yaml_text(const etx_yaml* map, const char* key,
                         etx_text* out_text, etx_diag* diag) {
  const etx_yaml* const value = etx_yaml_find(map, key);
  if (value == NULL) return etx_yaml_fail(map, diag, "'%s' is missing", key);
  ETX_TRY(etx_yaml_expect(value, ETX_YAML_SCALAR, key, diag));
  if (value->text.size == 0) {
    return etx_yaml_fail(value, diag, "'%s' is empty", key);
  }
  *out_text = value->text;
  return ETX_OK;
}

// ---------------------------------------------------------------- scalars

static bool looks_like_integer(etx_text text) {
  size_t i = text.size > 0 && (text.data[0] == '-' || text.data[0] == '+');
  if (i == text.size) return false;
  for (; i < text.size; ++i) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  }
  return true;
}

static bool read_integer(etx_text text, int64_t* out) {
  const bool is_negative = text.data[0] == '-';
  int64_t value = 0;
  for (size_t i = is_negative || text.data[0] == '+'; i < text.size; ++i) {
    const int64_t digit = text.data[i] - '0';
    if (!etx_multiply_i64(value, 10, &value) ||
        !(is_negative ? etx_subtract_i64(value, digit, &value)
                      : etx_add_i64(value, digit, &value))) {
      return false;
    }
  }
  *out = value;
  return true;
}

// A decimal number with a point or an exponent, as a whole.
static bool read_real(etx_text text, double* out) {
  char buffer[64];
  if (text.size == 0 || text.size >= sizeof buffer) return false;
  bool has_digit = false;
  for (size_t i = 0; i < text.size; ++i) {
    const char c = text.data[i];
    if (c >= '0' && c <= '9') has_digit = true;
    if (strchr("0123456789.eE+-", c) == NULL || c == '\0') return false;
  }
  const char first = text.data[0];
  if (!has_digit || first == 'e' || first == 'E') return false;
  memcpy(buffer, text.data, text.size);
  buffer[text.size] = '\0';
  char* end = NULL;
  *out = strtod(buffer, &end);
  return end == buffer + text.size;
}

etx_status etx_yaml_scalar(const etx_yaml* node, etx_yaml_value* out_value,
                           etx_diag* diag) {
  etx_yaml_value value = {0};
  value.type = ETX_YAML_TEXT;
  value.text = node->text;
  if (node->is_quoted) {
    *out_value = value;
    return ETX_OK;
  }
  if (node->text.size == 0 || is_one_of(node->text, "null Null NULL ~")) {
    value.type = ETX_YAML_NULL;
  } else if (is_one_of(node->text, "true True TRUE false False FALSE")) {
    value.type = ETX_YAML_BOOL;
    value.boolean = node->text.data[0] == 't' || node->text.data[0] == 'T';
  } else if (is_one_of(node->text, ".inf .Inf +.inf -.inf -.Inf .nan .NaN")) {
    value.type = ETX_YAML_DOUBLE;
    value.real = is_one_of(node->text, ".nan .NaN") ? (double)NAN : HUGE_VAL;
    if (node->text.data[0] == '-') value.real = -HUGE_VAL;
  } else if (looks_like_integer(node->text)) {
    value.type = ETX_YAML_INT;
    if (!read_integer(node->text, &value.integer)) {
      return etx_yaml_fail(node, diag, "'%t' does not fit into 64 bits",
                           node->text);
    }
  } else if (read_real(node->text, &value.real)) {
    value.type = ETX_YAML_DOUBLE;
  }
  *out_value = value;
  return ETX_OK;
}

etx_status etx_yaml_int(const etx_yaml* node, const char* what, int64_t* out,
                        etx_diag* diag) {
  etx_yaml_value value;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, what, diag));
  ETX_TRY(etx_yaml_scalar(node, &value, diag));
  if (value.type != ETX_YAML_INT) {
    return etx_yaml_fail(node, diag, "'%s' should be an integer, found '%t'",
                         what, node->text);
  }
  *out = value.integer;
  return ETX_OK;
}
