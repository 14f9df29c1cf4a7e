// Statements and declarations: what is dead, and what is defined.

#include "cli/amalgamate/c/c_scan.h"

#include <string.h>

static const etx_c_token* peek(const etx_c_scan* s) {
  return s->next < s->count ? &s->items[s->next] : NULL;
}

static bool next_is(const etx_c_scan* s, const char* text) {
  return s->next < s->count && etx_text_is(s->items[s->next].text, text);
}

static bool accept(etx_c_scan* s, const char* text) {
  if (!next_is(s, text)) return false;
  ++s->next;
  return true;
}

static bool is_true(etx_c_value v) { return v.is_known && v.number != 0; }
static bool is_false(etx_c_value v) { return v.is_known && v.number == 0; }

// The brackets of `for`: the value is that of the condition, which guards the
// last part.
static etx_c_value scan_for_head(etx_c_scan* s, bool is_live) {
  etx_c_value condition = {false, 0};
  size_t part = 0;
  if (!accept(s, "(")) return condition;
  while (s->next < s->count && !next_is(s, ")")) {
    if (accept(s, ";")) {
      ++part;
    } else if (!accept(s, ",")) {
      const bool is_reached = is_live && !(part == 2 && is_false(condition));
      const etx_c_value v = etx_c_scan_expression(s, is_reached);
      if (part == 1) condition = v;
    }
  }
  ++s->next;
  return condition;
}

static bool scan_statement(etx_c_scan* s, bool is_live);

// True if the statements end with one that never goes on.
static bool scan_statements(etx_c_scan* s, bool is_live) {
  bool ends = false;
  while (s->next < s->count && !next_is(s, "}")) {
    const bool is_label =
        next_is(s, "case") || next_is(s, "default") ||
        (s->items[s->next].kind == ETX_C_NAME && s->next + 1 < s->count &&
         etx_c_is(&s->items[s->next + 1], ":"));
    if (is_label) ends = false;
    if (scan_statement(s, is_live && !ends)) ends = true;
  }
  ++s->next;
  return ends;
}

static void note_local(etx_c_scan* s, uint32_t name) {
  if (s->local_count < ETX_C_LOCALS) s->locals[s->local_count++] = name;
}

// True if a name stands at `at` as a declaration has it: behind a type or a
// comma, before what ends it.
static bool is_declared_at(const etx_c_scan* s, size_t at, const char* ends) {
  if (at == 0 || at + 1 >= s->count || s->items[at].kind != ETX_C_NAME) {
    return false;
  }
  const etx_c_token* const before = &s->items[at - 1];
  const etx_c_token* const after = &s->items[at + 1];
  const bool is_behind =
      (before->kind == ETX_C_NAME && !etx_text_is(before->text, "sizeof")) ||
      etx_c_is(before, "*") || etx_c_is(before, ",");
  return is_behind && after->kind == ETX_C_SIGN && after->text.size == 1 &&
         strchr(ends, after->text.data[0]) != NULL;
}

// Notes the variables of a statement that begins with a type.
static void note_variables(etx_c_scan* s) {
  const etx_c_token* const first = &s->items[s->next];
  if (s->next + 2 >= s->count || first->kind != ETX_C_NAME) return;
  const bool is_type =
      first[1].kind == ETX_C_NAME ||
      (etx_c_is(&first[1], "*") && first[2].kind == ETX_C_NAME);
  if (!is_type || etx_text_is(first->text, "return") ||
      etx_text_is(first->text, "case") || etx_text_is(first->text, "goto")) {
    return;
  }
  size_t depth = 0;
  bool is_value = false;
  for (size_t i = s->next + 1; i < s->count; ++i) {
    const etx_c_token* const token = &s->items[i];
    if (depth == 0 && etx_c_is(token, ";")) return;
    if (depth == 0 && etx_c_is(token, "=")) is_value = true;
    if (depth == 0 && etx_c_is(token, ",")) is_value = false;
    if (etx_c_is(token, "(") || etx_c_is(token, "{") || etx_c_is(token, "[")) {
      ++depth;
    } else if (etx_c_is(token, ")") || etx_c_is(token, "}") ||
               etx_c_is(token, "]")) {
      if (depth-- == 0) return;
    } else if (depth == 0 && !is_value && is_declared_at(s, i, "=;,[")) {
      note_local(s, token->name);
    }
  }
}

// Notes the parameters between the brackets that begin here.
static void note_parameters(etx_c_scan* s) {
  size_t depth = 0;
  for (size_t i = s->next; i < s->count; ++i) {
    const etx_c_token* const token = &s->items[i];
    if (etx_c_is(token, "(")) ++depth;
    if (etx_c_is(token, ")") && --depth == 0) return;
    if (depth == 1 && !etx_c_is(&s->items[i - 1], ",") &&
        is_declared_at(s, i, ",)[")) {
      note_local(s, token->name);
    }
  }
}

// An expression or a declaration, up to the semicolon.
static void scan_simple(etx_c_scan* s, bool is_live) {
  note_variables(s);
  while (s->next < s->count && !accept(s, ";")) {
    if (next_is(s, "}")) return;
    if (next_is(s, ",") || next_is(s, ":") || next_is(s, ")") ||
        next_is(s, "]")) {
      const bool is_label = next_is(s, ":");
      ++s->next;
      if (is_label) return;
    } else {
      (void)etx_c_scan_expression(s, is_live);
    }
  }
}

static bool scan_if(etx_c_scan* s, bool is_live) {
  if (!next_is(s, "(")) return false;
  const etx_c_value condition = etx_c_scan_group(s, is_live);
  const bool first = scan_statement(s, is_live && !is_false(condition));
  if (!accept(s, "else")) return first && is_true(condition);
  const bool second = scan_statement(s, is_live && !is_true(condition));
  return (first || is_false(condition)) && (second || is_true(condition));
}

// True if control never reaches what follows.
static bool scan_statement(etx_c_scan* s, bool is_live) {
  if (accept(s, "{")) return scan_statements(s, is_live);
  if (accept(s, "if")) return scan_if(s, is_live);
  if (accept(s, "for")) {
    const etx_c_value condition = scan_for_head(s, is_live);
    (void)scan_statement(s, is_live && !is_false(condition));
    return false;
  }
  if (next_is(s, "while") || next_is(s, "switch")) {
    const bool is_loop = next_is(s, "while");
    ++s->next;
    const etx_c_value v = next_is(s, "(") ? etx_c_scan_group(s, is_live)
                                          : (etx_c_value){false, 0};
    if (accept(s, ";")) return false;
    (void)scan_statement(s, is_live && !(is_loop && is_false(v)));
    return false;
  }
  if (accept(s, "do")) {
    (void)scan_statement(s, is_live);
    scan_simple(s, is_live);
    return false;
  }
  const bool ends = next_is(s, "return") || next_is(s, "goto");
  scan_simple(s, is_live);
  return ends;
}

// A declaration of file scope while it is read.
typedef struct declaration {
  uint32_t last;      // the last name that was read
  uint32_t declared;  // 0: not known yet
  bool is_typedef, is_static, is_extern;
  bool is_enum, is_record;  // of what the next brace encloses
  bool is_function;
  bool has_value;
} declaration;

static void define(etx_c_scan* s, uint32_t name, bool has_body) {
  if (s->status == ETX_OK && name != 0) {
    s->status = s->listener->define(s->listener->context, name, has_body);
  }
}

static void scan_constants(etx_c_scan* s) {
  etx_c_value next = {true, 0};
  while (s->next < s->count && !accept(s, "}")) {
    const etx_c_token* const token = &s->items[s->next++];
    if (token->kind != ETX_C_NAME) continue;
    define(s, token->name, false);
    if (accept(s, "=")) next = etx_c_scan_expression(s, true);
    etx_c_entry* const entry = etx_c_entry_of(s->macros, token->name);
    if (entry == NULL) {
      s->status = ETX_OUT_OF_MEMORY;
      return;
    }
    entry->has_value = next.is_known;
    entry->value = next.number;
    ++next.number;
  }
}

static void scan_word(etx_c_scan* s, declaration* d) {
  const etx_c_token* const token = &s->items[s->next++];
  const bool is_enum = etx_text_is(token->text, "enum");
  const bool is_record =
      etx_text_is(token->text, "struct") || etx_text_is(token->text, "union");
  if (etx_text_is(token->text, "typedef")) d->is_typedef = true;
  if (etx_text_is(token->text, "static")) d->is_static = true;
  if (etx_text_is(token->text, "extern")) d->is_extern = true;
  if (is_enum || is_record) {
    d->is_enum = is_enum;
    d->is_record = is_record;
    const etx_c_token* const tag = peek(s);
    if (tag == NULL || tag->kind != ETX_C_NAME || s->next + 1 >= s->count) {
      return;
    }
    const etx_c_token* const after = &s->items[s->next + 1];
    if (etx_c_is(after, "{") || etx_c_is(after, ";")) {
      define(s, tag->name, false);
      ++s->next;
    }
    return;
  }
  if ((etx_text_is(token->text, "__attribute__") ||
       etx_text_is(token->text, "_Static_assert") ||
       etx_text_is(token->text, "_Alignas") ||
       etx_text_is(token->text, "_Pragma")) &&
      next_is(s, "(")) {
    (void)etx_c_scan_group(s, true);
    return;
  }
  d->last = token->name;
  if (s->status == ETX_OK) {
    s->status = s->listener->refer(s->listener->context, token->name, true);
  }
}

static void finish(etx_c_scan* s, declaration* d, bool has_body) {
  const uint32_t name = d->declared != 0 ? d->declared : d->last;
  const bool is_visible = !d->is_static && !d->is_typedef;
  const bool is_variable = !d->is_function && !d->is_extern;
  define(s, name, is_visible && (has_body || is_variable));
  if (d->is_function && !d->is_typedef) {
    s->listener->function(s->listener->context, d->is_static);
  }
}

// Reads a brace; true if it was the body of a function.
static bool scan_brace(etx_c_scan* s, declaration* d) {
  if (d->is_enum && !d->is_function) {
    ++s->next;
    scan_constants(s);
    d->is_enum = false;
    d->last = 0;
    return false;
  }
  if (d->is_function && !d->has_value) {
    ++s->next;
    s->listener->begin_body(s->listener->context);
    (void)scan_statements(s, true);
    return true;
  }
  (void)etx_c_scan_group(s, true);
  if (!d->has_value) d->last = 0;
  return false;
}

// True at "(name)(": brackets that keep a macro from taking the name.
static bool is_name_in_brackets(const etx_c_scan* s) {
  const etx_c_token* const at = &s->items[s->next];
  return s->next + 3 < s->count && etx_c_is(&at[0], "(") &&
         at[1].kind == ETX_C_NAME && etx_c_is(&at[2], ")") &&
         etx_c_is(&at[3], "(");
}

static void scan_bracket(etx_c_scan* s, declaration* d) {
  if (d->declared == 0 && is_name_in_brackets(s)) {
    d->last = s->items[s->next + 1].name;
    s->next += 3;
  }
  const bool is_round = next_is(s, "(");
  if (is_round && d->is_typedef && s->next + 2 < s->count &&
      etx_c_is(&s->items[s->next + 1], "*")) {
    d->declared = s->items[s->next + 2].name;  // (*name)(...)
  } else if (d->declared == 0) {
    d->declared = d->last;
    d->is_function = is_round;
  }
  if (d->is_function) note_parameters(s);
  (void)etx_c_scan_group(s, true);
}

static void scan_declaration(etx_c_scan* s) {
  declaration d = {.last = 0};
  s->local_count = 0;
  while (s->next < s->count) {
    const etx_c_token* const token = peek(s);
    if (token->kind == ETX_C_NAME) {
      scan_word(s, &d);
    } else if (accept(s, ";")) {
      finish(s, &d, false);
      return;
    } else if (next_is(s, "{")) {
      if (scan_brace(s, &d)) {
        finish(s, &d, true);
        return;
      }
    } else if (next_is(s, "(") || next_is(s, "[")) {
      scan_bracket(s, &d);
    } else if (accept(s, "=")) {
      if (d.declared == 0) d.declared = d.last;
      d.has_value = true;
      (void)etx_c_scan_expression(s, true);
    } else if (accept(s, ",")) {
      finish(s, &d, false);
      d.declared = 0;
    } else {
      ++s->next;
    }
  }
}

void etx_c_scan_declarations(etx_c_scan* s) {
  while (s->next < s->count) scan_declaration(s);
}
