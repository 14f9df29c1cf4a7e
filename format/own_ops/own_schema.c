// A schema is checked byte by byte here, because the cursor of op_schema.h,
// which reads it later, trusts its text.

#include "format/own_ops/own_schema_internal.h"

// ---------------------------------------------------------------- text

etx_status etx_own_line_refuse(const etx_own_line* line, const char* format,
                               etx_text subject) {
  return etx_diag_fail_line(line->diag, ETX_BAD_FILE, line->number,
                            (uint32_t)(line->before + line->at) + 1, format,
                            subject);
}

static char peek(const etx_own_line* line) {
  return line->at < line->text.size ? line->text.data[line->at] : '\0';
}

void etx_own_line_skip(etx_own_line* line) {
  while (peek(line) == ' ' || peek(line) == '\t') ++line->at;
}

bool etx_own_line_take(etx_own_line* line, const char* text) {
  etx_own_line_skip(line);
  const etx_text rest = {line->text.data + line->at,
                         line->text.size - line->at};
  if (!etx_text_starts_with(rest, etx_text_of(text))) return false;
  line->at += strlen(text);
  return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

etx_text etx_own_line_word(etx_own_line* line) {
  etx_own_line_skip(line);
  const size_t start = line->at;
  while (is_letter(peek(line)) || (line->at != start && is_digit(peek(line)))) {
    ++line->at;
  }
  return (etx_text){line->text.data + start, line->at - start};
}

static etx_text rest_of(const etx_own_line* line) {
  return (etx_text){line->text.data + line->at, line->text.size - line->at};
}

static void put_bytes(etx_own_text* text, const char* data, size_t size) {
  if (size >= sizeof text->data - text->size) {
    text->is_too_long = true;
    return;
  }
  if (size != 0) memcpy(text->data + text->size, data, size);
  text->size += size;
  text->data[text->size] = '\0';
}

void etx_own_text_put(etx_own_text* text, const char* before, etx_text middle,
                      const char* after) {
  put_bytes(text, before, strlen(before));
  put_bytes(text, middle.data, middle.size);
  put_bytes(text, after, strlen(after));
}

// ---------------------------------------------------------------- arguments

// An argument as it was read.
typedef struct own_argument {
  etx_text type;   // "Tensor", with suffixes "?" and "[2]" but no marks
  etx_text named;  // "factor=1.0", or the name alone
  etx_text name;
  bool is_written;
  bool is_tensor;  // neither a list nor optional
} own_argument;

// Reads the mark of an alias, "(a!)"; writing is what matters.
static etx_status read_mark(etx_own_line* line, own_argument* out) {
  if (!etx_own_line_take(line, "(")) return ETX_OK;
  (void)etx_own_line_word(line);
  if (!etx_own_line_take(line, "!")) {
    return etx_own_line_refuse(line,
                               "expected '!)' after the name of an alias, "
                               "found '%t': arguments that results are views "
                               "of are not supported",
                               rest_of(line));
  }
  out->is_written = true;
  if (etx_own_line_take(line, ")")) return ETX_OK;
  return etx_own_line_refuse(line, "expected ')', found '%t'", rest_of(line));
}

// Reads "?", "[]", "[2]", "?[]" or "[]?" behind a type.
static etx_status read_suffixes(etx_own_line* line, own_argument* out) {
  size_t lists = 0;
  for (;;) {
    if (peek(line) == '?') {
      ++line->at;
    } else if (peek(line) == '[') {
      const size_t start = ++line->at;
      while (is_digit(peek(line))) ++line->at;
      if (peek(line) != ']' || line->at - start > 2 || ++lists > 1) {
        return etx_own_line_refuse(line, "expected ']', found '%t'",
                                   rest_of(line));
      }
      ++line->at;
    } else {
      return ETX_OK;
    }
    out->is_tensor = false;
  }
}

// True if a kernel can be called with arguments of this type, and lists of it
// if `is_list`.
static bool is_type(etx_text word, bool is_list) {
  etx_argument_type type, list;
  return etx_argument_type_find(word, &type, &list) &&
         type != ETX_ARGUMENT_DEVICE && (!is_list || list != type);
}

// Reads a default: a number, a word, a string without comma, or a list.
static etx_status read_default(etx_own_line* line) {
  const char opening = peek(line);
  const size_t start = line->at;
  const char closing = opening == '[' ? ']' : opening;
  const bool is_enclosed = opening == '[' || opening == '\'' || opening == '"';
  if (is_enclosed) ++line->at;
  while (peek(line) != '\0' && peek(line) != ')' &&
         (is_enclosed ? peek(line) != closing : peek(line) != ',')) {
    const bool is_allowed =
        peek(line) != '[' && (opening == '[' || peek(line) != ',');
    if (!is_allowed) break;
    ++line->at;
  }
  if (is_enclosed && peek(line) == closing) {
    ++line->at;
    return ETX_OK;
  }
  const bool ends = peek(line) == ',' || peek(line) == ')';
  if (!is_enclosed && ends && line->at > start && line->at - start < 40) {
    return ETX_OK;
  }
  return etx_own_line_refuse(line, "this default is not supported, at '%t'",
                             rest_of(line));
}

static etx_status read_argument(etx_own_line* line, own_argument* out) {
  *out = (own_argument){.is_written = false};
  out->type = etx_own_line_word(line);
  if (!is_type(out->type, peek(line) == '[')) {
    line->at -= out->type.size;
    return etx_own_line_refuse(
        line,
        "expected the type of an argument (Tensor, Scalar, int, float, bool, "
        "str, ScalarType, and lists of them), found '%t'",
        rest_of(line));
  }
  out->is_tensor = etx_text_is(out->type, "Tensor");
  if (peek(line) == '(') ETX_TRY(read_mark(line, out));
  const size_t suffix = line->at;
  ETX_TRY(read_suffixes(line, out));
  const size_t suffix_size = line->at - suffix;
  if (out->is_written && (!out->is_tensor || suffix_size != 0)) {
    return etx_own_line_refuse(
        line, "only a tensor can be changed, expected Tensor(a!), before '%t'",
        rest_of(line));
  }
  // Without a mark between them, type and suffixes are one text.
  if (!out->is_written) out->type.size += suffix_size;
  out->name = etx_own_line_word(line);
  if (out->name.size == 0) {
    return etx_own_line_refuse(line,
                               "expected the name of an argument before "
                               "'%t'",
                               rest_of(line));
  }
  out->named = out->name;
  if (peek(line) == '=') {
    ++line->at;
    ETX_TRY(read_default(line));
    out->named.size = (size_t)(line->text.data + line->at - out->named.data);
  }
  return ETX_OK;
}

static void put_argument(etx_own_text* text, const own_argument* argument,
                         const char* mark) {
  etx_own_text_put(text, text->size == 0 ? "" : ", ", argument->type, mark);
  etx_own_text_put(text, " ", argument->named, "");
}

static const char* const marks[] = {"(a!)", "(b!)", "(c!)", "(d!)",
                                    "(e!)", "(f!)", "(g!)", "(h!)"};

static etx_status add_changed(const etx_own_line* line,
                              const own_argument* argument,
                              etx_own_schema* out) {
  if (out->changed_count == ETX_OWN_MAX_CHANGED) {
    return etx_own_line_refuse(line,
                               "'%t' is one changed argument too many: "
                               "8 are supported",
                               argument->name);
  }
  if (argument->named.size != argument->name.size) {
    return etx_own_line_refuse(line, "'%t' is changed and has a default",
                               argument->name);
  }
  out->changed_at[out->changed_count] = (uint8_t)out->argument_count;
  put_argument(&out->row, argument, marks[out->changed_count++]);
  put_argument(&out->graph, argument, "");
  put_argument(&out->node, argument, "");
  etx_own_text_put(&out->changed, out->changed.size == 0 ? "" : ", ",
                   argument->name, "");
  return ETX_OK;
}

static bool has_argument(const etx_own_schema* schema, etx_text name) {
  etx_argument_cursor cursor = etx_argument_first(schema->graph.data);
  etx_argument argument;
  while (etx_argument_next(&cursor, &argument)) {
    if (etx_text_equal(argument.name, name)) return true;
  }
  return false;
}

static etx_status add_argument(const etx_own_line* line,
                               const own_argument* argument,
                               etx_own_schema* out) {
  if (out->argument_count + out->out_count >= ETX_MAX_ARGUMENTS / 2) {
    return etx_own_line_refuse(line,
                               "'%t' is one argument too many: 12 are "
                               "supported",
                               argument->name);
  }
  if (argument->is_written && out->has_star) {
    ++out->out_count;
    return ETX_OK;
  }
  if (out->out_count != 0 || has_argument(out, argument->name)) {
    return etx_own_line_refuse(
        line,
        out->out_count != 0 ? "argument '%t' stands behind an out argument"
                            : "there are two arguments '%t'",
        argument->name);
  }
  if (out->first_tensor.size == 0 && argument->is_tensor) {
    out->first_tensor = argument->name;
  }
  if (argument->is_written) {
    ETX_TRY(add_changed(line, argument, out));
  } else {
    put_argument(&out->row, argument, "");
    put_argument(&out->graph, argument, "");
    put_argument(&out->node, argument, "");
  }
  ++out->argument_count;
  return ETX_OK;
}

static void put_star(etx_own_text* text) {
  etx_own_text_put(text, text->size == 0 ? "*" : ", *", etx_text_of(""), "");
}

static etx_status read_arguments(etx_own_line* line, etx_own_schema* out) {
  if (etx_own_line_take(line, ")")) return ETX_OK;
  do {
    own_argument argument;
    if (!out->has_star && etx_own_line_take(line, "*")) {
      out->has_star = true;
      continue;
    }
    etx_own_line_skip(line);
    ETX_TRY(read_argument(line, &argument));
    const bool is_out = out->has_star && argument.is_written;
    if (out->has_star && !is_out && strchr(out->graph.data, '*') == NULL) {
      put_star(&out->row);
      put_star(&out->graph);
      put_star(&out->node);
    }
    ETX_TRY(add_argument(line, &argument, out));
  } while (etx_own_line_take(line, ","));
  if (etx_own_line_take(line, ")")) return ETX_OK;
  return etx_own_line_refuse(line, "expected ',' or ')', found '%t'",
                             rest_of(line));
}

// ---------------------------------------------------------------- results

// Reads "Tensor", "Tensor(a!)" or either with a name.
static etx_status read_result(etx_own_line* line, bool must_alias,
                              etx_own_schema* out) {
  if (!etx_text_is(etx_own_line_word(line), "Tensor") || peek(line) == '[') {
    return etx_own_line_refuse(line,
                               "expected Tensor, the only type of "
                               "results that is supported, before '%t'",
                               rest_of(line));
  }
  const bool is_alias = peek(line) == '(';
  own_argument ignored = {.is_written = false};
  if (is_alias) ETX_TRY(read_mark(line, &ignored));
  (void)etx_own_line_word(line);
  if (is_alias != must_alias) {
    return etx_own_line_refuse(
        line,
        must_alias ? "an operator with out arguments returns them, expected "
                     "Tensor(a!) before '%t'"
                   : "a result that is an argument is not supported, before "
                     "'%t': return () or a new tensor",
        rest_of(line));
  }
  ++out->result_count;
  return ETX_OK;
}

static etx_status read_results(etx_own_line* line, etx_own_schema* out) {
  const bool must_alias = out->out_count > 0;
  if (!etx_own_line_take(line, "->")) {
    return etx_own_line_refuse(line,
                               "expected '->' and the results, found "
                               "'%t'",
                               rest_of(line));
  }
  if (!etx_own_line_take(line, "(")) return read_result(line, must_alias, out);
  if (etx_own_line_take(line, ")")) return ETX_OK;
  do {
    ETX_TRY(read_result(line, must_alias, out));
  } while (etx_own_line_take(line, ","));
  if (etx_own_line_take(line, ")")) return ETX_OK;
  return etx_own_line_refuse(line, "expected ',' or ')', found '%t'",
                             rest_of(line));
}

// Appends the out arguments to the texts of row and node.
static void put_outs(etx_own_schema* out) {
  char name[16];
  const bool has_star = strchr(out->graph.data, '*') != NULL;
  if (!has_star && out->result_count > 0) put_star(&out->row);
  if (!has_star) put_star(&out->node);
  for (size_t i = 0; i < out->changed_count; ++i) {
    const size_t size = etx_format_text(name, sizeof name, "new%z", i);
    etx_own_text_put(&out->node, ", Tensor(a!) ", (etx_text){name, size}, "");
  }
  for (size_t i = 0; i < out->result_count; ++i) {
    const size_t size = out->result_count == 1
                            ? etx_format_text(name, sizeof name, "out")
                            : etx_format_text(name, sizeof name, "out%z", i);
    etx_own_text_put(&out->row, ", Tensor(a!) ", (etx_text){name, size}, "");
    etx_own_text_put(&out->node, ", Tensor(a!) ", (etx_text){name, size}, "");
  }
}

// ---------------------------------------------------------------- names

static etx_status read_names(etx_own_line* line, etx_own_schema* out) {
  const size_t start = line->at;
  const etx_text space = etx_own_line_word(line);
  const bool has_colons = space.size > 0 && peek(line) == ':' &&
                          rest_of(line).size > 2 &&
                          rest_of(line).data[1] == ':';
  if (has_colons) line->at += 2;
  const etx_text name = etx_own_line_word(line);
  if (!has_colons || name.size == 0) {
    return etx_own_line_refuse(line,
                               "expected a schema such as my::scale("
                               "Tensor x) -> Tensor, found '%t'",
                               rest_of(line));
  }
  out->name = (etx_text){line->text.data + start, line->at - start};
  if (peek(line) == '.') {
    ++line->at;
    out->overload = etx_own_line_word(line);
    if (etx_text_is(out->overload, "default")) out->overload.size = 0;
  }
  if (out->name.size + out->overload.size + 5 > ETX_MAX_OPERATOR_NAME) {
    return etx_own_line_refuse(line, "'%t' is longer than 94 bytes", out->name);
  }
  return ETX_OK;
}

// The overload of an out variant ends in "out"; the functional form has the
// rest.
static etx_status cut_overload(const etx_own_line* line, etx_own_schema* out) {
  static const char suffix[] = "_out";
  const size_t size = sizeof suffix - 1;
  etx_text* const overload = &out->overload;
  if (out->out_count == 0) return ETX_OK;
  if (etx_text_is(*overload, "out")) {
    overload->size = 0;
    return ETX_OK;
  }
  if (overload->size > size &&
      memcmp(overload->data + overload->size - size, suffix, size) == 0) {
    overload->size -= size;
    return ETX_OK;
  }
  return etx_own_line_refuse(line,
                             "an operator with out arguments is an "
                             "overload 'out' or '..._out', found '%t'",
                             *overload);
}

etx_status etx_own_schema_read(etx_own_line* line, etx_own_schema* out) {
  memset(out, 0, sizeof *out);
  ETX_TRY(read_names(line, out));
  if (!etx_own_line_take(line, "(")) {
    return etx_own_line_refuse(line, "expected '(', found '%t'", rest_of(line));
  }
  ETX_TRY(read_arguments(line, out));
  ETX_TRY(read_results(line, out));
  etx_own_line_skip(line);
  if (line->at != line->text.size) {
    return etx_own_line_refuse(line, "expected the end of the line, found '%t'",
                               rest_of(line));
  }
  ETX_TRY(cut_overload(line, out));
  if (out->out_count != 0 && out->out_count != out->result_count) {
    return etx_own_line_refuse(line,
                               "'%t' should return each of its out "
                               "arguments",
                               out->name);
  }
  if (out->result_count + out->changed_count == 0) {
    return etx_own_line_refuse(line, "'%t' has no result and changes nothing",
                               out->name);
  }
  if (out->result_count + out->changed_count > ETX_OWN_MAX_CHANGED) {
    return etx_own_line_refuse(line,
                               "'%t' has more than 8 results and changed "
                               "arguments",
                               out->name);
  }
  put_outs(out);
  return ETX_OK;
}
