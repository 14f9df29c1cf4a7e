#include "cli/amalgamate/c/c_macros.h"

#include <string.h>

// Tokens that are read next, and the macro whose expansion ends with them.
typedef struct token_layer {
  etx_c_tokens tokens;
  size_t next;
  size_t macro;  // SIZE_MAX: none
} token_layer;

typedef struct token_reader {
  etx_c_expansion* expansion;
  token_layer* layers;
  size_t count;
  size_t capacity;
} token_reader;

// The arguments of one call.
typedef struct call {
  const etx_c_macro* macro;
  etx_c_tokens* arguments;
  size_t count;
} call;

etx_status etx_c_macros_init(etx_c_macros* macros, etx_pool* pool,
                             etx_c_names* names) {
  *macros = (etx_c_macros){.pool = pool, .names = names};
  macros->arguments_name = etx_c_name(names, etx_text_of("__VA_ARGS__"));
  return macros->arguments_name == 0 ? ETX_OUT_OF_MEMORY : ETX_OK;
}

etx_c_entry* etx_c_entry_of(etx_c_macros* macros, uint32_t name) {
  if (name >= macros->entry_count) {
    const size_t count = 2 * (size_t)name + 1024;
    etx_c_entry* const entries =
        etx_pool_take(macros->pool, count * sizeof *entries);
    if (entries == NULL) return NULL;
    if (macros->entry_count > 0) {
      memcpy(entries, macros->entries, macros->entry_count * sizeof *entries);
    }
    macros->entries = entries;
    macros->entry_count = count;
  }
  return &macros->entries[name];
}

etx_status etx_c_branch_enter(etx_c_macros* macros, size_t branch) {
  ETX_TRY(etx_pool_grow(macros->pool, &macros->branches, macros->depth,
                        &macros->branch_capacity, sizeof *macros->branches));
  macros->branches[macros->depth++] = branch;
  return ETX_OK;
}

void etx_c_branch_leave(etx_c_macros* macros) { --macros->depth; }

static size_t branch_of(const etx_c_macros* macros) {
  return macros->depth == 0 ? 0 : macros->branches[macros->depth - 1];
}

// Removes the definitions that were made in the branch that is being read and
// in those inside of it, which have larger numbers.
static void drop_branch(const etx_c_macros* macros, etx_c_entry* entry) {
  size_t kept = 0;
  for (size_t i = 0; i < entry->macro_count; ++i) {
    const size_t macro = entry->macros[i];
    if (macros->macros[macro].branch < branch_of(macros)) {
      entry->macros[kept++] = macro;
    }
  }
  entry->macro_count = kept;
}

// Reads the parameters behind the bracket at `*at`, and moves behind them.
static etx_status read_parameters(etx_c_macros* macros, etx_c_macro* macro,
                                  const etx_c_tokens* from, size_t* at) {
  size_t capacity = 0;
  for (++*at; *at < from->count && !etx_c_is(&from->items[*at], ")"); ++*at) {
    const etx_c_token* const token = &from->items[*at];
    if (etx_c_is(token, ",")) continue;
    macro->is_variadic = etx_c_is(token, "...");
    ETX_TRY(etx_pool_grow(macros->pool, &macro->parameters,
                          macro->parameter_count, &capacity,
                          sizeof *macro->parameters));
    macro->parameters[macro->parameter_count++] =
        macro->is_variadic ? macros->arguments_name : token->name;
  }
  ++*at;
  return ETX_OK;
}

etx_status etx_c_macro_define(etx_c_macros* macros,
                              const etx_c_tokens* definition, size_t owner) {
  if (definition->count == 0) return ETX_OK;
  etx_c_macro macro = {.name = definition->items[0].name,
                       .owner = owner,
                       .branch = branch_of(macros),
                       .body = {.pool = macros->pool}};
  size_t at = 1;
  if (definition->count > 1 && etx_c_is(&definition->items[1], "(") &&
      !definition->items[1].follows_space) {
    macro.is_function = true;
    ETX_TRY(read_parameters(macros, &macro, definition, &at));
  }
  for (; at < definition->count; ++at) {
    ETX_TRY(etx_c_token_add(&macro.body, &definition->items[at]));
  }
  ETX_TRY(etx_pool_grow(macros->pool, &macros->macros, macros->count,
                        &macros->capacity, sizeof *macros->macros));
  macros->macros[macros->count] = macro;
  etx_c_entry* const entry = etx_c_entry_of(macros, macro.name);
  if (entry == NULL) return ETX_OUT_OF_MEMORY;
  drop_branch(macros, entry);
  ETX_TRY(etx_pool_grow(macros->pool, &entry->macros, entry->macro_count,
                        &entry->macro_capacity, sizeof *entry->macros));
  entry->macros[entry->macro_count++] = macros->count++;
  return ETX_OK;
}

void etx_c_macro_undefine(etx_c_macros* macros, uint32_t name) {
  etx_c_entry* const entry = etx_c_entry_of(macros, name);
  if (entry != NULL) drop_branch(macros, entry);
}

static bool is_being_read(const etx_c_macros* macros, size_t branch) {
  bool found = branch == 0;
  for (size_t i = 0; i < macros->depth; ++i) {
    found = found || macros->branches[i] == branch;
  }
  return found;
}

size_t etx_c_macro_choices(etx_c_macros* macros, uint32_t name,
                           bool* is_certain) {
  const etx_c_entry* const entry = etx_c_entry_of(macros, name);
  *is_certain = false;
  if (entry == NULL) return 0;
  size_t count = 0;
  while (count < entry->macro_count && !*is_certain) {
    const size_t macro = entry->macros[entry->macro_count - 1 - count++];
    *is_certain = is_being_read(macros, macros->macros[macro].branch);
  }
  return count;
}

// Removes layers that have been read.
static void end_layers(token_reader* r) {
  while (r->count > 0) {
    const token_layer* const top = &r->layers[r->count - 1];
    if (top->next < top->tokens.count) return;
    if (top->macro != SIZE_MAX) {
      r->expansion->macros->macros[top->macro].is_active = false;
    }
    --r->count;
  }
}

static etx_status push(token_reader* r, const etx_c_tokens* tokens,
                       size_t macro) {
  ETX_TRY(etx_pool_grow(r->expansion->pool, &r->layers, r->count, &r->capacity,
                        sizeof *r->layers));
  r->layers[r->count++] = (token_layer){*tokens, 0, macro};
  if (macro != SIZE_MAX) r->expansion->macros->macros[macro].is_active = true;
  return ETX_OK;
}

// The next token, which is left; NULL at the end. Layers that end before it
// are removed.
static const etx_c_token* peek(token_reader* r) {
  end_layers(r);
  if (r->count == 0) return NULL;
  const token_layer* const top = &r->layers[r->count - 1];
  return &top->tokens.items[top->next];
}

static bool take(token_reader* r, etx_c_token* out) {
  const etx_c_token* const token = peek(r);
  if (token == NULL) return false;
  *out = *token;
  ++r->layers[r->count - 1].next;
  return true;
}

// The definition of a name that this expansion takes; SIZE_MAX: none.
static size_t find_macro(etx_c_expansion* e, uint32_t name,
                         bool* is_uncertain) {
  bool is_certain = false;
  const size_t count = etx_c_macro_choices(e->macros, name, &is_certain);
  if (count == 0) return SIZE_MAX;
  // The last choice is that none is in force.
  const size_t choices = is_certain ? count : count + 1;
  if (choices > e->choices) e->choices = choices;
  const size_t back = e->choice < choices ? e->choice : choices - 1;
  if (back == count) return SIZE_MAX;
  const etx_c_entry* const entry = etx_c_entry_of(e->macros, name);
  *is_uncertain = count > 1 || !is_certain;
  return entry->macros[entry->macro_count - 1 - back];
}

etx_status etx_c_note_used(etx_c_expansion* e, size_t macro) {
  ETX_TRY(etx_pool_grow(e->pool, &e->used, e->used_count, &e->used_capacity,
                        sizeof *e->used));
  e->used[e->used_count++] = macro;
  return ETX_OK;
}

// Reads the arguments of a call; its opening bracket is the next token.
static etx_status read_arguments(token_reader* r, call* c) {
  const size_t parameters = c->macro->parameter_count;
  const size_t last = parameters == 0 ? 0 : parameters - 1;
  size_t depth = 0;
  etx_c_token token;
  c->arguments = etx_pool_take(r->expansion->pool,
                               (parameters + 1) * sizeof *c->arguments);
  if (c->arguments == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i <= parameters; ++i) {
    c->arguments[i].pool = r->expansion->pool;
  }
  while (take(r, &token)) {
    if (etx_c_is(&token, "(") && depth++ == 0) continue;
    if (etx_c_is(&token, ")") && --depth == 0) break;
    if (depth == 1 && etx_c_is(&token, ",") &&
        !(c->macro->is_variadic && c->count == last)) {
      if (c->count < parameters) ++c->count;
      continue;
    }
    ETX_TRY(etx_c_token_add(&c->arguments[c->count], &token));
  }
  return ETX_OK;
}

// The number of a parameter; SIZE_MAX: another token.
static size_t find_parameter(const etx_c_macro* macro,
                             const etx_c_token* token) {
  for (size_t i = 0; i < macro->parameter_count; ++i) {
    if (token->name != 0 && macro->parameters[i] == token->name) return i;
  }
  return SIZE_MAX;
}

// Joins a token to the last one of `out`.
static etx_status paste(etx_c_expansion* e, const etx_c_token* right,
                        etx_c_tokens* out) {
  if (out->count == 0) return etx_c_token_add(out, right);
  const etx_c_token left = out->items[--out->count];
  const size_t size = left.text.size + right->text.size;
  char* const text = etx_pool_take(e->macros->pool, size + 1);
  if (text == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(text, left.text.data, left.text.size);
  memcpy(text + left.text.size, right->text.data, right->text.size);
  const size_t first = out->count;
  ETX_TRY(etx_c_tokens_read(out, e->macros->names, (etx_text){text, size}));
  if (first < out->count) {
    out->items[first].follows_space = left.follows_space;
  }
  return ETX_OK;
}

static etx_status add_all(etx_c_tokens* out, const etx_c_tokens* tokens,
                          bool is_pasted, etx_c_expansion* e) {
  for (size_t i = 0; i < tokens->count; ++i) {
    if (i == 0 && is_pasted) {
      ETX_TRY(paste(e, &tokens->items[i], out));
    } else {
      ETX_TRY(etx_c_token_add(out, &tokens->items[i]));
    }
  }
  return ETX_OK;
}

// Appends one token of a macro's text, with the argument in a parameter's
// place.
static etx_status substitute(etx_c_expansion* e, const call* c, size_t at,
                             etx_c_tokens* out) {
  const etx_c_tokens* const body = &c->macro->body;
  const etx_c_token* const token = &body->items[at];
  const bool is_pasted = at > 0 && etx_c_is(&body->items[at - 1], "##");
  const bool is_joined =
      at + 1 < body->count && etx_c_is(&body->items[at + 1], "##");
  const size_t parameter = find_parameter(c->macro, token);
  if (parameter == SIZE_MAX) {
    return is_pasted ? paste(e, token, out) : etx_c_token_add(out, token);
  }
  const etx_c_tokens* const argument = &c->arguments[parameter];
  if (at > 0 && etx_c_is(&body->items[at - 1], "#")) {
    // Nothing asks for the text itself.
    const etx_c_token text = {
        .text = {"\"\"", 2}, .kind = ETX_C_TEXT, .is_uncertain = true};
    return etx_c_token_add(out, &text);
  }
  if (is_pasted || is_joined) return add_all(out, argument, is_pasted, e);
  etx_c_tokens expanded = {.pool = e->pool};
  ETX_TRY(etx_c_expand(e, argument, &expanded));
  return add_all(out, &expanded, false, e);
}

static etx_status expand_macro(token_reader* r, size_t found,
                               const etx_c_token* name, bool is_uncertain) {
  etx_c_expansion* const e = r->expansion;
  // Expansion of arguments defines no macro, so this stays where it is.
  const etx_c_macro* const macro = &e->macros->macros[found];
  call c = {.macro = macro};
  etx_c_tokens text = {.pool = e->pool};
  ETX_TRY(etx_c_note_used(e, found));
  if (macro->is_function) ETX_TRY(read_arguments(r, &c));
  for (size_t i = 0; i < macro->body.count; ++i) {
    const etx_c_token* const token = &macro->body.items[i];
    if (etx_c_is(token, "##")) continue;
    if (macro->is_function && etx_c_is(token, "#")) continue;
    ETX_TRY(substitute(e, &c, i, &text));
  }
  for (size_t i = 0; i < text.count; ++i) {
    if (is_uncertain || name->is_uncertain) text.items[i].is_uncertain = true;
  }
  return text.count == 0 ? ETX_OK : push(r, &text, found);
}

etx_status etx_c_expand(etx_c_expansion* e, const etx_c_tokens* in,
                        etx_c_tokens* out) {
  token_reader r = {.expansion = e};
  etx_c_token token;
  ETX_TRY(push(&r, in, SIZE_MAX));
  while (take(&r, &token)) {
    bool is_uncertain = false;
    const size_t found = token.name == 0 || token.is_final
                             ? SIZE_MAX
                             : find_macro(e, token.name, &is_uncertain);
    if (found != SIZE_MAX) {
      const etx_c_macro* const macro = &e->macros->macros[found];
      const bool is_active = macro->is_active;
      const bool wants_call = macro->is_function;
      const etx_c_token* const next = wants_call ? peek(&r) : NULL;
      if (is_active) {
        token.is_final = true;
      } else if (!wants_call || (next != NULL && etx_c_is(next, "("))) {
        ETX_TRY(expand_macro(&r, found, &token, is_uncertain));
        continue;
      }
    }
    ETX_TRY(etx_c_token_add(out, &token));
  }
  return ETX_OK;
}

static bool is_used(const etx_c_expansion* e, size_t macro) {
  for (size_t i = 0; i < e->used_count; ++i) {
    if (e->used[i] == macro) return true;
  }
  return false;
}

etx_status etx_c_expand_others(etx_c_expansion* e, etx_c_tokens* out) {
  for (size_t i = 0; i < e->used_count; ++i) {
    bool is_certain = false;
    const uint32_t name = e->macros->macros[e->used[i]].name;
    const size_t choices = etx_c_macro_choices(e->macros, name, &is_certain);
    for (size_t k = 0; choices > 1 && k < choices; ++k) {
      const etx_c_entry* const entry = etx_c_entry_of(e->macros, name);
      const size_t other = entry->macros[entry->macro_count - 1 - k];
      if (is_used(e, other)) continue;
      ETX_TRY(etx_c_note_used(e, other));
      ETX_TRY(etx_c_expand(e, &e->macros->macros[other].body, out));
    }
  }
  return ETX_OK;
}
