// What is no directive: lines that become items, and comments before them.

#include <string.h>

#include "cli/amalgamate/c/c_scan.h"
#include "cli/amalgamate/c/function_declarations.h"
#include "cli/amalgamate/decided_tables.h"
#include "cli/amalgamate/item_reader.h"

size_t etx_reader_group(const etx_item_reader* r) {
  for (size_t i = r->frame_count; i > 0; --i) {
    const etx_reader_frame* const f = &r->frames[i - 1];
    if (f->is_undecided && !f->opens_in_item) return f->group;
  }
  return SIZE_MAX;
}

etx_status etx_reader_add_item(etx_item_reader* r, etx_item_kind kind,
                               size_t* out) {
  etx_source* const source = r->source;
  ETX_TRY(etx_pool_grow(source->pool, &source->items, source->item_count,
                        &source->item_capacity, sizeof *source->items));
  source->items[source->item_count] = (etx_item){
      .kind = kind,
      .unit = r->unit,
      .group = etx_reader_group(r),
      .is_header = r->is_header_text,
      .level = r->is_preamble && kind != ETX_ITEM_CONDITION ? ETX_ITEM_LIVE
                                                            : ETX_ITEM_DROPPED,
  };
  *out = source->item_count++;
  return ETX_OK;
}

static etx_status add_use(etx_pool* pool, size_t** uses, size_t* count,
                          size_t* capacity, size_t use) {
  for (size_t i = 0; i < *count; ++i) {
    if ((*uses)[i] == use) return ETX_OK;
  }
  ETX_TRY(etx_pool_grow(pool, uses, *count, capacity, sizeof **uses));
  (*uses)[(*count)++] = use;
  return ETX_OK;
}

etx_status etx_reader_note_uses(etx_item_reader* r, const etx_c_expansion* e,
                                size_t item, size_t group) {
  etx_source* const source = r->source;
  for (size_t i = 0; i < e->used_count; ++i) {
    const size_t owner = source->macros.macros[e->used[i]].owner;
    if (owner == SIZE_MAX || owner == item) continue;
    if (group != SIZE_MAX) {
      etx_item_group* const g = &source->groups[group];
      ETX_TRY(add_use(source->pool, &g->uses, &g->use_count, &g->use_capacity,
                      owner));
    } else {
      etx_item* const to = &source->items[item];
      ETX_TRY(add_use(source->pool, &to->uses, &to->use_count,
                      &to->use_capacity, owner));
    }
  }
  return ETX_OK;
}

static etx_status refer(void* context, uint32_t name, bool is_live) {
  const etx_item_reader* const r = context;
  etx_item* const item = &r->source->items[r->item.index];
  for (size_t i = 0; i < item->reference_count; ++i) {
    etx_item_reference* const old = &item->references[i];
    if (old->name != name) continue;
    old->is_live = old->is_live || is_live;
    old->is_declared = old->is_declared || !r->item.is_in_body;
    return ETX_OK;
  }
  ETX_TRY(etx_pool_grow(r->source->pool, &item->references,
                        item->reference_count, &item->reference_capacity,
                        sizeof *item->references));
  item->references[item->reference_count++] =
      (etx_item_reference){name, is_live, !r->item.is_in_body};
  return ETX_OK;
}

static void begin_body(void* context) {
  etx_item_reader* const r = context;
  r->item.is_in_body = true;
}

static void note_function(void* context, bool is_static) {
  etx_item_reader* const r = context;
  etx_item* const item = &r->source->items[r->item.index];
  r->item.is_in_body = false;
  item->is_static = is_static;
  item->has_function = true;
}

static etx_status define(void* context, uint32_t name, bool has_body) {
  const etx_item_reader* const r = context;
  etx_source* const source = r->source;
  if (name >= source->definition_names) {
    const size_t count = 2 * (size_t)name + 1024;
    etx_definitions* const all =
        etx_pool_take(source->pool, count * sizeof *all);
    if (all == NULL) return ETX_OUT_OF_MEMORY;
    if (source->definition_names > 0) {
      memcpy(all, source->definitions, source->definition_names * sizeof *all);
    }
    source->definitions = all;
    source->definition_names = count;
  }
  etx_definitions* const to = &source->definitions[name];
  ETX_TRY(etx_pool_grow(source->pool, &to->items, to->count, &to->capacity,
                        sizeof *to->items));
  to->items[to->count++] = (etx_definition){
      r->item.index, r->is_source && !has_body ? r->unit : SIZE_MAX, has_body};
  return ETX_OK;
}

// Marks the names of tokens as seen in the item that is read.
static etx_status mark_seen(etx_item_reader* r, const etx_c_tokens* tokens,
                            size_t first) {
  for (size_t i = first; i < tokens->count; ++i) {
    if (tokens->items[i].kind != ETX_C_NAME) continue;
    etx_c_entry* const entry =
        etx_c_entry_of(&r->source->macros, tokens->items[i].name);
    if (entry == NULL) return ETX_OUT_OF_MEMORY;
    entry->seen = r->item.index + 1;
  }
  return ETX_OK;
}

// Refers to the names that the item has in another build alone.
static etx_status refer_to_others(etx_item_reader* r,
                                  const etx_c_tokens* tokens) {
  for (size_t i = 0; i < tokens->count; ++i) {
    if (tokens->items[i].kind != ETX_C_NAME) continue;
    const uint32_t name = tokens->items[i].name;
    const etx_c_entry* const entry = etx_c_entry_of(&r->source->macros, name);
    if (entry == NULL) return ETX_OUT_OF_MEMORY;
    if (entry->seen != r->item.index + 1) ETX_TRY(refer(r, name, true));
  }
  return ETX_OK;
}

// Expands what the item has so far, since a directive may change macros. Where
// a macro may have several definitions, the others count, too.
etx_status etx_reader_flush(etx_item_reader* r) {
  etx_open_item* const item = &r->item;
  const size_t first = item->expanded.count;
  size_t choices = 1;
  for (size_t choice = 0; choice < choices; ++choice) {
    etx_c_expansion e = {
        &r->source->macros, &item->pool, choice, 1, NULL, 0, 0};
    etx_c_tokens other = {.pool = &item->pool};
    ETX_TRY(etx_c_expand(&e, &item->tokens,
                         choice == 0 ? &item->expanded : &other));
    if (choice == 0) ETX_TRY(mark_seen(r, &item->expanded, first));
    ETX_TRY(etx_c_expand(&e, &item->aside, &other));
    ETX_TRY(etx_c_expand_others(&e, &other));
    ETX_TRY(etx_reader_note_uses(r, &e, item->index, SIZE_MAX));
    ETX_TRY(refer_to_others(r, &other));
    if (e.choices > choices) choices = e.choices;
  }
  if (choices > 1 || item->aside.count > 0) item->has_choices = true;
  item->tokens.count = item->aside.count = 0;
  return ETX_OK;
}

static etx_status open(etx_item_reader* r, size_t line) {
  etx_open_item* const item = &r->item;
  ETX_TRY(etx_reader_add_item(r, ETX_ITEM_CODE, &item->index));
  r->source->items[item->index].first_line = line;
  item->is_open = true;
  item->has_directive = item->is_in_body = false;
  item->has_choices = item->changes_macros = false;
  item->depth = item->checked = item->balance = 0;
  etx_pool_init(&item->pool);
  const etx_c_tokens none = {.pool = &item->pool};
  item->all = item->tokens = item->aside = item->expanded = none;
  return ETX_OK;
}

// Finds the text with which the functions of the item are declared.
static etx_status note_declarations(const etx_item_reader* r, etx_item* item) {
  etx_text_buffer text;
  if (!item->has_function) return ETX_OK;
  etx_text_buffer_init(&text, r->source->pool);
  if (!etx_c_declare_functions(&r->item.expanded, &text)) return ETX_OK;
  item->has_body =
      etx_c_is(&r->item.expanded.items[r->item.expanded.count - 1], "}");
  item->declarations = (etx_text){text.data, text.size};
  return text.status;
}

// True if a macro that the item defines is in force at its end.
static bool defines_macros(const etx_item_reader* r) {
  const etx_c_macros* const macros = &r->source->macros;
  for (size_t i = macros->count; i > 0; --i) {
    const etx_c_macro* const macro = &macros->macros[i - 1];
    if (macro->owner != r->item.index) return false;  // is older
    const etx_c_entry* const entry = &macros->entries[macro->name];
    for (size_t k = 0; k < entry->macro_count; ++k) {
      if (entry->macros[k] == i - 1) return true;
    }
  }
  return false;
}

// Lets a table whose entries the build decides stand as its entries alone: its
// macros, and what the other entries refer to, are not needed then.
static etx_status decide_table(etx_item_reader* r) {
  etx_open_item* const item = &r->item;
  etx_item* const to = &r->source->items[item->index];
  etx_c_tokens decided = {.pool = &item->pool};
  bool is_decided = false;
  if (r->is_header_text || item->has_choices || item->changes_macros ||
      defines_macros(r)) {
    return ETX_OK;
  }
  ETX_TRY(etx_c_decide_table(&item->expanded, &r->source->macros, &decided,
                             &is_decided));
  if (!is_decided) return ETX_OK;
  etx_text_buffer text;
  etx_text_buffer_init(&text, r->source->pool);
  etx_c_put_tokens(&decided, &text);
  item->expanded = decided;
  to->text = (etx_text){text.data, text.size};
  to->use_count = to->reference_count = 0;
  return text.status;
}

static etx_status close(etx_item_reader* r) {
  etx_open_item* const item = &r->item;
  etx_source* const source = r->source;
  ETX_TRY(etx_reader_flush(r));
  ETX_TRY(decide_table(r));
  const etx_c_listener listener = {refer, define, begin_body, note_function, r};
  const etx_c_tokens* const all = &item->all;
  const bool is_frame = etx_text_is(all->items[0].text, "_Static_assert") ||
                        etx_text_is(all->items[0].text, "_Pragma") ||
                        all->count == 1;
  if (is_frame) source->items[item->index].kind = ETX_ITEM_FRAME;
  etx_c_scan scan = {.items = item->expanded.items,
                     .count = item->expanded.count,
                     .macros = &source->macros,
                     .listener = &listener};
  etx_c_scan_declarations(&scan);
  if (scan.status == ETX_OK && !item->has_directive) {
    scan.status = note_declarations(r, &source->items[item->index]);
  }
  item->is_open = false;
  etx_pool_close(&item->pool);
  return scan.status;
}

// True if what was written may be all of an item.
static bool may_end(etx_item_reader* r) {
  const etx_open_item* const item = &r->item;
  if (item->depth > 0 || item->all.count == 0) return false;
  const etx_c_token* const first = &item->all.items[0];
  const etx_c_token* const last = &item->all.items[item->all.count - 1];
  if (etx_c_is(last, ";") || etx_c_is(last, "}")) return true;
  if (first->kind != ETX_C_NAME) return false;
  if (etx_text_is(first->text, "_Pragma")) return etx_c_is(last, ")");
  bool is_certain = false;
  const bool is_macro =
      etx_c_macro_choices(&r->source->macros, first->name, &is_certain) > 0;
  return is_macro && (item->all.count == 1 || etx_c_is(last, ")"));
}

// Rows of a list may be an enumeration together: then their expansion has a
// bracket that a later row closes.
static bool is_balanced(etx_open_item* item) {
  const etx_c_tokens* const all = &item->expanded;
  for (; item->checked < all->count; ++item->checked) {
    const etx_c_token* const token = &all->items[item->checked];
    if (etx_c_is(token, "(") || etx_c_is(token, "[") || etx_c_is(token, "{")) {
      ++item->balance;
    } else if (etx_c_is(token, ")") || etx_c_is(token, "]") ||
               etx_c_is(token, "}")) {
      if (item->balance > 0) --item->balance;
    }
  }
  if (item->balance > 0) return false;
  if (all->count == 0) return true;
  const etx_c_token* const last = &all->items[all->count - 1];
  return etx_c_is(last, ";") || etx_c_is(last, "}") ||
         etx_text_is(all->items[0].text, "_Pragma");
}

static etx_status close_if_complete(etx_item_reader* r) {
  if (!may_end(r)) return ETX_OK;
  ETX_TRY(etx_reader_flush(r));
  return is_balanced(&r->item) ? close(r) : ETX_OK;
}

bool etx_reader_is_read(const etx_item_reader* r) {
  for (size_t i = 0; i < r->frame_count; ++i) {
    if (!r->frames[i].is_read) return false;
  }
  return true;
}

static bool is_aside(const etx_item_reader* r) {
  for (size_t i = 0; i < r->frame_count; ++i) {
    if (r->frames[i].is_aside) return true;
  }
  return false;
}

static bool is_comment(etx_text text) {
  return text.size >= 2 && memcmp(text.data, "//", 2) == 0;
}

// Gives the lines of the comment that was read last to an item. Directives that
// were decided may stand between them.
void etx_reader_give_comment(etx_item_reader* r, size_t end, size_t item) {
  for (size_t i = r->comment; i < end; ++i) {
    etx_source_line* const line = &r->source->lines[i];
    if (is_comment(line->text)) line->item = item;
  }
  r->comment = SIZE_MAX;
}

// Ends a comment that stands alone: it belongs to the unit.
etx_status etx_reader_end_comment(etx_item_reader* r, size_t end) {
  if (r->comment == SIZE_MAX) return ETX_OK;
  size_t item = 0;
  ETX_TRY(etx_reader_add_item(r, ETX_ITEM_FRAME, &item));
  // What the files say of themselves is written anew.
  etx_reader_give_comment(r, end, r->is_preamble ? SIZE_MAX : item);
  r->framing = item;
  return ETX_OK;
}

void etx_reader_start_unit(etx_item_reader* r, bool is_source) {
  r->unit = r->source->unit_count++;
  r->is_preamble = false;
  r->is_source = is_source;
}

static etx_status read_code(etx_item_reader* r, size_t line) {
  etx_open_item* const item = &r->item;
  etx_source* const source = r->source;
  const bool aside = is_aside(r);
  etx_c_tokens tokens = {.pool = &item->pool};
  source->lines[line].item = item->index;
  ETX_TRY(etx_c_tokens_read(&tokens, &source->names, source->lines[line].text));
  for (size_t i = 0; i < tokens.count; ++i) {
    const etx_c_token* const token = &tokens.items[i];
    ETX_TRY(etx_c_token_add(aside ? &item->aside : &item->tokens, token));
    if (aside) continue;
    ETX_TRY(etx_c_token_add(&item->all, token));
    if (etx_c_is(token, "(") || etx_c_is(token, "[") || etx_c_is(token, "{")) {
      ++item->depth;
    }
    if (etx_c_is(token, ")") || etx_c_is(token, "]") || etx_c_is(token, "}")) {
      if (item->depth > 0) --item->depth;
    }
  }
  return aside ? ETX_OK : close_if_complete(r);
}

etx_status etx_reader_line(etx_item_reader* r, size_t line) {
  etx_source* const source = r->source;
  const etx_text text = source->lines[line].text;
  if (!etx_reader_is_read(r)) return ETX_OK;
  if (r->item.is_open) return read_code(r, line);
  if (text.size == 0) return etx_reader_end_comment(r, line);
  if (is_comment(text)) {
    if (!r->is_header_text && etx_source_is_path(text)) {
      ETX_TRY(etx_reader_end_comment(r, line));
      etx_reader_start_unit(r, true);
      r->comment = line;
      return etx_reader_end_comment(r, line + 1);
    }
    if (r->comment == SIZE_MAX) r->comment = line;
    return ETX_OK;
  }
  ETX_TRY(open(r, line));
  etx_reader_give_comment(r, line, r->item.index);
  r->framing = SIZE_MAX;
  return read_code(r, line);
}
