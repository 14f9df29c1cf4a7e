// Reads the lines of a text, an operator at a time.

#include "format/own_ops/own_operator_list.h"

#include "format/own_ops/own_schema_internal.h"

// An operator while its lines are read.
typedef struct own_reader {
  etx_arena* arena;
  etx_diag* diag;
  etx_own_schema schema;
  etx_own_line sizes;   // the rules as they were written; text.data is NULL if
  etx_own_line dtypes;  // they were not
  bool is_elementwise;
} own_reader;

// ---------------------------------------------------------------- lines

// Takes the next part of the text, without its end: a line, or what stands
// before, between or behind ';' in a line. Comments have no parts.
static bool next_line(etx_text text, size_t* at, etx_own_line* line) {
  if (*at >= text.size) return false;
  const size_t start = *at;
  const bool is_rest = start > 0 && text.data[start - 1] == ';';
  bool is_comment = false;
  line->before = is_rest ? line->before + line->text.size + 1 : 0;
  if (!is_rest) ++line->number;
  for (; *at < text.size && text.data[*at] != '\n'; ++*at) {
    if (text.data[*at] == '#') is_comment = true;
    if (text.data[*at] == ';' && !is_comment) break;
  }
  line->text = (etx_text){text.data + start, *at - start};
  if (line->text.size > 0 && line->text.data[line->text.size - 1] == '\r') {
    --line->text.size;
  }
  if (*at < text.size) ++*at;
  line->at = 0;
  return true;
}

// True for rules, which belong to the schema above them.
static bool is_indented(const etx_own_line* line) {
  return line->before > 0 ||
         (line->text.size > 0 &&
          (line->text.data[0] == ' ' || line->text.data[0] == '\t'));
}

// True for lines without content.
static bool is_empty(etx_own_line* line) {
  etx_own_line_skip(line);
  const bool result =
      line->at == line->text.size || line->text.data[line->at] == '#';
  if (!result) line->at = 0;
  return result;
}

static size_t count_operators(etx_text text) {
  etx_own_line line = {.number = 0};
  size_t at = 0, count = 0;
  while (next_line(text, &at, &line)) {
    if (!is_indented(&line) && !is_empty(&line)) ++count;
  }
  return count < ETX_OWN_MAX_OPERATORS ? count : ETX_OWN_MAX_OPERATORS;
}

size_t etx_own_list_needed(etx_text text) {
  // Names, three texts of arguments and two of rules for each operator.
  enum { STRINGS = 8, ROUND = ETX_ARENA_ALIGNMENT };
  return count_operators(text) *
             (sizeof(etx_own_entry) + STRINGS * (ETX_OWN_MAX_TEXT + ROUND)) +
         ROUND;
}

// ---------------------------------------------------------------- strings

static etx_status keep(etx_arena* arena, etx_text text, const char** out) {
  char* const copy = etx_arena_take(arena, text.size + 1, 1);
  if (copy == NULL) return ETX_OUT_OF_MEMORY;
  if (text.size != 0) memcpy(copy, text.data, text.size);
  copy[text.size] = '\0';
  *out = copy;
  return ETX_OK;
}

static etx_status keep_text(const own_reader* o, const etx_own_line* line,
                            const etx_own_text* text, const char** out) {
  if (text->is_too_long) {
    return etx_own_line_refuse(line,
                               "the schema or a rule of '%t' is longer "
                               "than 1023 bytes",
                               o->schema.name);
  }
  return keep(o->arena, (etx_text){text->data, text->size}, out);
}

// ---------------------------------------------------------------- rules

static etx_status read_rule(own_reader* o, etx_own_line* line) {
  const etx_text key = etx_own_line_word(line);
  etx_own_line* const rule = etx_text_is(key, "sizes")    ? &o->sizes
                             : etx_text_is(key, "dtypes") ? &o->dtypes
                                                          : NULL;
  if (rule == NULL && !etx_text_is(key, "in_place")) {
    return etx_own_line_refuse(line,
                               "expected 'sizes', 'dtypes' or "
                               "'in_place', found '%t'",
                               key);
  }
  if (!etx_own_line_take(line, ":")) {
    return etx_own_line_refuse(line, "expected ':' behind '%t'", key);
  }
  etx_own_line_skip(line);
  if (rule != NULL) {
    if (rule->text.data != NULL) {
      return etx_own_line_refuse(line, "'%t' is stated twice", key);
    }
    *rule = *line;
    return ETX_OK;
  }
  if (!etx_text_is(etx_own_line_word(line), "elementwise")) {
    return etx_own_line_refuse(line, "'%t' should be 'elementwise'", key);
  }
  o->is_elementwise = true;
  return ETX_OK;
}

static etx_text written_rule(const etx_own_line* rule) {
  if (rule->text.data == NULL) return etx_text_of("");
  return (etx_text){rule->text.data + rule->at, rule->text.size - rule->at};
}

// The rules of a row: those of changed arguments, which are the arguments
// themselves, and the ones that were written. `*out_start` is where these
// begin.
static void join_rule(const own_reader* o, const etx_own_line* rule,
                      etx_own_text* out, size_t* out_start) {
  const etx_own_text* const changed = &o->schema.changed;
  *out = (etx_own_text){.size = 0};
  etx_own_text_put(out, "", (etx_text){changed->data, changed->size}, "");
  const bool needs_comma = out->size > 0 && o->schema.result_count > 0;
  etx_own_text_put(out, needs_comma ? ", " : "", etx_text_of(""), "");
  *out_start = out->size;
  etx_own_text_put(out, "", written_rule(rule), "");
  if (rule != &o->dtypes || rule->text.data != NULL) return;
  for (size_t i = 0; i < o->schema.result_count; ++i) {
    etx_own_text_put(out, i == 0 ? "" : ", ", o->schema.first_tensor, "");
  }
}

static bool has_bound(etx_text rule) {
  static const char word[] = "at_most ";
  const size_t size = sizeof word - 1;
  for (size_t i = 0; i + size <= rule.size; ++i) {
    if (memcmp(rule.data + i, word, size) == 0) return true;
  }
  return false;
}

// ---------------------------------------------------------------- rows

static etx_op_result result_of(size_t count) {
  return count == 0   ? ETX_RESULT_NONE
         : count == 1 ? ETX_RESULT_OUT
                      : ETX_RESULT_OUT_LIST;
}

static etx_op_in_place in_place_of(const own_reader* o, bool is_node) {
  const etx_own_schema* const s = &o->schema;
  // The new content of the first argument lies where the old one does.
  if (is_node && s->changed_count > 0) {
    return s->changed_at[0] == 0 ? ETX_IN_PLACE_SELF : ETX_IN_PLACE_NEVER;
  }
  return o->is_elementwise && s->result_count == 1 && s->changed_count == 0
             ? ETX_IN_PLACE_ELEMENTWISE
             : ETX_IN_PLACE_NEVER;
}

// "out" for the default overload, "Tensor_out" for "Tensor"; "" for operators
// without results.
static void put_overload(const etx_own_schema* schema, etx_own_text* out) {
  const bool has_out = schema->result_count > 0;
  const bool has_own = schema->overload.size > 0;
  *out = (etx_own_text){.size = 0};
  etx_own_text_put(out, "", schema->overload,
                   !has_out  ? ""
                   : has_own ? "_out"
                             : "out");
}

static etx_status keep_names(own_reader* o, const etx_own_line* line,
                             etx_own_entry* entry) {
  const etx_own_schema* const s = &o->schema;
  etx_own_text text;
  put_overload(s, &text);
  ETX_TRY(keep(o->arena, s->name, &entry->row.op.name));
  ETX_TRY(keep_text(o, line, &text, &entry->row.op.overload));
  entry->row.op.lengths = ETX_OP_LENGTHS(s->name.size, text.size);
  size_t colon = 0;
  while (s->name.data[colon] != ':') ++colon;
  text = (etx_own_text){.size = 0};
  etx_own_text_put(&text, "", (etx_text){s->name.data, colon}, ".");
  etx_own_text_put(
      &text, "", (etx_text){s->name.data + colon + 2, s->name.size - colon - 2},
      ".");
  etx_own_text_put(&text, "", s->overload,
                   s->overload.size == 0 ? "default" : "");
  return keep_text(o, line, &text, &entry->name);
}

static etx_status check_rules(own_reader* o, const etx_own_line* line,
                              const size_t starts[2], etx_own_entry* entry) {
  size_t at = 0;
  bool in_dtypes = false;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status status =
      etx_own_operator_check(&entry->node, &at, &in_dtypes, &diag);
  if (status == ETX_OK) return ETX_OK;
  const etx_own_line* const rule = in_dtypes ? &o->dtypes : &o->sizes;
  const size_t start = starts[in_dtypes ? 1 : 0];
  etx_own_line place = rule->text.data == NULL ? *line : *rule;
  if (rule->text.data != NULL && at >= start) place.at += at - start;
  if (rule->text.data == NULL && !in_dtypes) {
    return etx_own_line_refuse(&place, "the rule 'sizes' of '%t' is missing",
                               o->schema.name);
  }
  return etx_own_line_refuse(&place, "%t", etx_text_of(diag.text));
}

// Builds both rows from the schema and the rules.
static etx_status build(own_reader* o, const etx_own_line* line,
                        etx_own_entry* entry) {
  etx_own_schema* const s = &o->schema;
  size_t starts[2] = {0, 0};
  etx_own_text rule;
  ETX_TRY(keep_names(o, line, entry));
  etx_op* const row = &entry->row.op;
  row->id = ETX_OP_COUNT;
  row->result = result_of(s->result_count);
  row->in_place = in_place_of(o, false);
  row->may_size_by_data = has_bound(written_rule(&o->sizes));
  row->shape = etx_shape_own;
  ETX_TRY(keep_text(o, line, &s->row, &row->arguments));
  join_rule(o, &o->sizes, &rule, &starts[0]);
  ETX_TRY(keep_text(o, line, &rule, &entry->row.sizes));
  join_rule(o, &o->dtypes, &rule, &starts[1]);
  ETX_TRY(keep_text(o, line, &rule, &entry->row.dtypes));
  entry->node = entry->row;
  entry->node.op.result = result_of(s->result_count + s->changed_count);
  entry->node.op.in_place = in_place_of(o, true);
  ETX_TRY(keep_text(o, line, &s->node, &entry->node.op.arguments));
  ETX_TRY(keep_text(o, line, &s->graph, &entry->arguments));
  entry->result_count = s->result_count;
  entry->changed_count = s->changed_count;
  memcpy(entry->changed, s->changed_at, sizeof entry->changed);
  return check_rules(o, line, starts, entry);
}

// ---------------------------------------------------------------- list

static etx_status check_name(const etx_own_list* list, const etx_own_line* line,
                             const etx_own_entry* entry) {
  const etx_text name = etx_text_of(entry->row.op.name);
  const etx_text overload = etx_text_of(entry->row.op.overload);
  if (etx_op_find(name, overload) != NULL) {
    return etx_own_line_refuse(line,
                               "'%t' is an operator of etx: choose "
                               "another name",
                               name);
  }
  if (etx_own_list_find(list, name, overload) != NULL) {
    return etx_own_line_refuse(line, "'%t' is stated twice", name);
  }
  return ETX_OK;
}

// Reads the operator whose schema is on `line`, with the lines below it.
static etx_status read_operator(own_reader* o, etx_text text, size_t* at,
                                etx_own_line* line, etx_own_list* list) {
  etx_own_entry* const entry = &list->entries[list->count];
  const size_t start = (size_t)(line->text.data - text.data);
  const etx_own_line head = *line;
  ETX_TRY(etx_own_schema_read(line, &o->schema));
  o->sizes.text.data = o->dtypes.text.data = NULL;
  o->is_elementwise = false;
  memset(entry, 0, sizeof *entry);
  entry->line = head.number;
  size_t end = *at;
  for (;;) {
    const size_t before = *at;
    const etx_own_line last = *line;
    if (!next_line(text, at, line)) break;
    if (is_empty(line)) continue;
    if (!is_indented(line)) {
      *at = before;
      *line = last;
      break;
    }
    ETX_TRY(read_rule(o, line));
    end = *at;
  }
  entry->source = (etx_text){text.data + start, end - start};
  ETX_TRY(build(o, &head, entry));
  ETX_TRY(check_name(list, &head, entry));
  ++list->count;
  return ETX_OK;
}

etx_status etx_own_list_read(etx_text text, etx_arena* arena,
                             etx_own_list* out_list, etx_diag* diag) {
  own_reader o = {.arena = arena, .diag = diag};
  etx_own_line line = {.number = 0, .diag = diag};
  etx_own_list list = {NULL, 0};
  const size_t most = count_operators(text);
  size_t at = 0;
  list.entries =
      etx_arena_take(arena, most * sizeof *list.entries, ETX_ARENA_ALIGNMENT);
  if (list.entries == NULL) return ETX_OUT_OF_MEMORY;
  while (next_line(text, &at, &line)) {
    if (is_empty(&line)) continue;
    if (is_indented(&line)) {
      return etx_own_line_refuse(&line,
                                 "expected a schema, which is not "
                                 "indented%t",
                                 etx_text_of(""));
    }
    if (list.count == most) {
      return etx_own_line_refuse(&line, "more than 256 operators%t",
                                 etx_text_of(""));
    }
    ETX_TRY(read_operator(&o, text, &at, &line, &list));
  }
  *out_list = list;
  return ETX_OK;
}

const etx_own_entry* etx_own_list_find(const etx_own_list* list, etx_text name,
                                       etx_text overload) {
  const etx_op_name wanted = etx_op_name_of(name, overload);
  for (size_t i = 0; i < list->count; ++i) {
    if (etx_op_is_named(&list->entries[i].row.op, &wanted)) {
      return &list->entries[i];
    }
  }
  return NULL;
}
