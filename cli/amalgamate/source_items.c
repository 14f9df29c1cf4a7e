#include "cli/amalgamate/source_items.h"

#include <string.h>

#include "cli/amalgamate/c_scan.h"
#include "cli/amalgamate/decided_tables.h"
#include "cli/amalgamate/function_declarations.h"
#include "cli/amalgamate/source_conditions.h"

// A condition around the line that is read.
typedef struct frame {
  bool is_undecided;  // its directives stay
  bool is_read;       // so are the lines of the present branch
  bool was_taken;     // a branch is known to be compiled
  bool is_in_branch;  // etx_c_branch_enter was called
  bool is_aside;      // an other branch, inside an item
  bool opens_in_item;
  size_t group;
  size_t depth;  // of brackets where it began
} frame;

// The item that is being read.
typedef struct open_item {
  bool is_open;
  bool has_directive;   // outside of the body of a function
  bool is_in_body;      // of a function, while its declarations are read
  bool has_choices;     // what it expands to depends on the compiler
  bool changes_macros;  // ends one that was defined before the item
  size_t index;
  size_t depth;  // of brackets
  etx_pool pool;
  etx_c_tokens all;     // as written, without the other branches
  etx_c_tokens tokens;  // of these, what is not expanded yet
  etx_c_tokens aside;   // of other branches
  etx_c_tokens expanded;
  size_t checked;  // tokens of `expanded` that `balance` counts
  size_t balance;  // brackets of these that are open
} open_item;

typedef struct item_reader {
  etx_source* source;
  open_item item;
  frame* frames;
  size_t frame_count, frame_capacity;
  size_t comment;  // the first line of a comment before an item, or SIZE_MAX
  size_t framing;  // the last comment that stands alone, or SIZE_MAX
  size_t unit;
  bool is_header_text;
  bool is_preamble;  // before the first unit of the text
  bool is_source;    // the unit is a source file
} item_reader;

etx_status etx_source_init(etx_source* source, etx_pool* pool) {
  *source = (etx_source){.pool = pool};
  ETX_TRY(etx_c_names_init(&source->names, pool));
  return etx_c_macros_init(&source->macros, pool, &source->names);
}

etx_status etx_source_state(etx_source* source, const char* name,
                            const char* value) {
  etx_c_tokens tokens = {.pool = source->pool};
  ETX_TRY(etx_c_tokens_read(&tokens, &source->names, etx_text_of(name)));
  if (value == NULL) {
    etx_c_entry* const entry =
        etx_c_entry_of(&source->macros, tokens.items[0].name);
    if (entry == NULL) return ETX_OUT_OF_MEMORY;
    entry->is_undefined = true;
    return ETX_OK;
  }
  ETX_TRY(etx_c_tokens_read(&tokens, &source->names, etx_text_of(value)));
  return etx_c_macro_define(&source->macros, &tokens, SIZE_MAX);
}

static size_t present_group(const item_reader* r) {
  for (size_t i = r->frame_count; i > 0; --i) {
    const frame* const f = &r->frames[i - 1];
    if (f->is_undecided && !f->opens_in_item) return f->group;
  }
  return SIZE_MAX;
}

static etx_status add_item(item_reader* r, etx_item_kind kind, size_t* out) {
  etx_source* const source = r->source;
  ETX_TRY(etx_pool_grow(source->pool, &source->items, source->item_count,
                        &source->item_capacity, sizeof *source->items));
  source->items[source->item_count] = (etx_item){
      .kind = kind,
      .unit = r->unit,
      .group = present_group(r),
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

// Notes the macros of an expansion at an item, or at a group of items.
static etx_status note_uses(item_reader* r, const etx_c_expansion* e,
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
  const item_reader* const r = context;
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
  item_reader* const r = context;
  r->item.is_in_body = true;
}

static void note_function(void* context, bool is_static) {
  item_reader* const r = context;
  etx_item* const item = &r->source->items[r->item.index];
  r->item.is_in_body = false;
  item->is_static = is_static;
  item->has_function = true;
}

static etx_status define(void* context, uint32_t name, bool has_body) {
  const item_reader* const r = context;
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
static etx_status mark_seen(item_reader* r, const etx_c_tokens* tokens,
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
static etx_status refer_to_others(item_reader* r, const etx_c_tokens* tokens) {
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
static etx_status flush(item_reader* r) {
  open_item* const item = &r->item;
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
    ETX_TRY(note_uses(r, &e, item->index, SIZE_MAX));
    ETX_TRY(refer_to_others(r, &other));
    if (e.choices > choices) choices = e.choices;
  }
  if (choices > 1 || item->aside.count > 0) item->has_choices = true;
  item->tokens.count = item->aside.count = 0;
  return ETX_OK;
}

static etx_status open(item_reader* r, size_t line) {
  open_item* const item = &r->item;
  ETX_TRY(add_item(r, ETX_ITEM_CODE, &item->index));
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
static etx_status note_declarations(const item_reader* r, etx_item* item) {
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
static bool defines_macros(const item_reader* r) {
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
static etx_status decide_table(item_reader* r) {
  open_item* const item = &r->item;
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

static etx_status close(item_reader* r) {
  open_item* const item = &r->item;
  etx_source* const source = r->source;
  ETX_TRY(flush(r));
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
static bool may_end(item_reader* r) {
  const open_item* const item = &r->item;
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
static bool is_balanced(open_item* item) {
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

static etx_status close_if_complete(item_reader* r) {
  if (!may_end(r)) return ETX_OK;
  ETX_TRY(flush(r));
  return is_balanced(&r->item) ? close(r) : ETX_OK;
}

static bool is_read(const item_reader* r) {
  for (size_t i = 0; i < r->frame_count; ++i) {
    if (!r->frames[i].is_read) return false;
  }
  return true;
}

static bool is_aside(const item_reader* r) {
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
static void give_comment(item_reader* r, size_t end, size_t item) {
  for (size_t i = r->comment; i < end; ++i) {
    etx_source_line* const line = &r->source->lines[i];
    if (is_comment(line->text)) line->item = item;
  }
  r->comment = SIZE_MAX;
}

// Ends a comment that stands alone: it belongs to the unit.
static etx_status end_comment(item_reader* r, size_t end) {
  if (r->comment == SIZE_MAX) return ETX_OK;
  size_t item = 0;
  ETX_TRY(add_item(r, ETX_ITEM_FRAME, &item));
  // What the files say of themselves is written anew.
  give_comment(r, end, r->is_preamble ? SIZE_MAX : item);
  r->framing = item;
  return ETX_OK;
}

static void start_unit(item_reader* r, bool is_source) {
  r->unit = r->source->unit_count++;
  r->is_preamble = false;
  r->is_source = is_source;
}

static etx_status read_code(item_reader* r, size_t line) {
  open_item* const item = &r->item;
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

bool etx_source_is_path(etx_text text) {
  if (text.size < 6 || memcmp(text.data, "// ", 3) != 0 ||
      memcmp(text.data + text.size - 2, ".c", 2) != 0) {
    return false;
  }
  return memchr(text.data + 3, ' ', text.size - 3) == NULL &&
         memchr(text.data + 3, '/', text.size - 3) != NULL;
}

// Reads a line that is no directive.
static etx_status read_line(item_reader* r, size_t line) {
  etx_source* const source = r->source;
  const etx_text text = source->lines[line].text;
  if (!is_read(r)) return ETX_OK;
  if (r->item.is_open) return read_code(r, line);
  if (text.size == 0) return end_comment(r, line);
  if (is_comment(text)) {
    if (!r->is_header_text && etx_source_is_path(text)) {
      ETX_TRY(end_comment(r, line));
      start_unit(r, true);
      r->comment = line;
      return end_comment(r, line + 1);
    }
    if (r->comment == SIZE_MAX) r->comment = line;
    return ETX_OK;
  }
  ETX_TRY(open(r, line));
  give_comment(r, line, r->item.index);
  r->framing = SIZE_MAX;
  return read_code(r, line);
}

// A directive: its lines, its word and the tokens behind it.
typedef struct directive {
  size_t first, end;  // lines
  etx_text word;
  etx_c_tokens rest;
} directive;

static void set_lines(const item_reader* r, const directive* d, size_t item) {
  for (size_t i = d->first; i < d->end; ++i) r->source->lines[i].item = item;
}

// Keeps the lines of a condition: in the item that is open, or in one of their
// own.
static etx_status keep_condition(item_reader* r, const directive* d,
                                 size_t group) {
  size_t item = r->item.index;
  if (!r->item.is_open) {
    ETX_TRY(end_comment(r, d->first));
    ETX_TRY(add_item(r, ETX_ITEM_CONDITION, &item));
    r->source->items[item].group = group;
  }
  if (r->item.is_open) r->item.has_choices = true;
  set_lines(r, d, item);
  return ETX_OK;
}

static etx_status start_group(item_reader* r, frame* f) {
  etx_source* const source = r->source;
  f->is_undecided = true;
  f->opens_in_item = r->item.is_open;
  if (f->opens_in_item) return ETX_OK;
  ETX_TRY(etx_pool_grow(source->pool, &source->groups, source->group_count,
                        &source->group_capacity, sizeof *source->groups));
  source->groups[source->group_count] =
      (etx_item_group){.parent = present_group(r)};
  f->group = source->group_count++;
  return ETX_OK;
}

static etx_status enter_branch(item_reader* r, frame* f) {
  f->is_read = f->is_in_branch = true;
  return etx_c_branch_enter(&r->source->macros, ++r->source->branch_count);
}

static void leave_branch(item_reader* r, frame* f) {
  if (f->is_in_branch) etx_c_branch_leave(&r->source->macros);
  f->is_in_branch = f->is_read = false;
}

// The value of a condition; macros that it asks for are noted.
static etx_status condition_of(item_reader* r, const directive* d, frame* f,
                               etx_c_value* out) {
  etx_pool pool;
  etx_pool_init(&pool);
  etx_c_expansion e = {&r->source->macros, &pool, 0, 1, NULL, 0, 0};
  etx_status status = ETX_OK;
  if (etx_text_is(d->word, "else")) {
    *out = (etx_c_value){true, 1};
  } else if (etx_text_is(d->word, "ifdef") || etx_text_is(d->word, "ifndef")) {
    status = etx_condition_defined(&e, &d->rest.items[0], out);
    if (etx_text_is(d->word, "ifndef")) out->number = out->number == 0;
  } else {
    status = etx_condition_value(&e, &d->rest, out);
  }
  if (status == ETX_OK && !out->is_known && !f->is_undecided) {
    status = start_group(r, f);
  }
  if (status == ETX_OK && f->is_undecided) {
    status = note_uses(r, &e, f->opens_in_item ? r->item.index : SIZE_MAX,
                       f->opens_in_item ? SIZE_MAX : f->group);
  }
  etx_pool_close(&pool);
  return status;
}

static etx_status begin_condition(item_reader* r, const directive* d) {
  frame f = {.group = SIZE_MAX, .depth = r->item.depth};
  if (!is_read(r)) {
    f.was_taken = true;
  } else {
    etx_c_value v;
    ETX_TRY(condition_of(r, d, &f, &v));
    if (!v.is_known) {
      ETX_TRY(keep_condition(r, d, f.group));
      ETX_TRY(enter_branch(r, &f));
    } else {
      f.is_read = f.was_taken = v.number != 0;
    }
  }
  ETX_TRY(etx_pool_grow(r->source->pool, &r->frames, r->frame_count,
                        &r->frame_capacity, sizeof *r->frames));
  r->frames[r->frame_count++] = f;
  return ETX_OK;
}

// #elif and #else.
static etx_status next_branch(item_reader* r, const directive* d) {
  // The condition is read outside of its frame.
  frame f = r->frames[--r->frame_count];
  const bool was_undecided = f.is_undecided;
  leave_branch(r, &f);
  if (!f.was_taken && is_read(r)) {
    etx_c_value v;
    ETX_TRY(condition_of(r, d, &f, &v));
    f.was_taken = v.is_known && v.number != 0;
    const bool is_compiled = !v.is_known || v.number != 0;
    if (is_compiled && f.is_undecided) {
      if (!was_undecided) {
        r->source->lines[d->first].instead = "#if";
      } else if (f.was_taken) {
        r->source->lines[d->first].instead = "#else";
      }
      ETX_TRY(keep_condition(r, d, f.group));
      for (size_t i = d->first + 1; f.was_taken && i < d->end; ++i) {
        r->source->lines[i].item = SIZE_MAX;
      }
      ETX_TRY(enter_branch(r, &f));
      f.is_aside = was_undecided && r->item.is_open;
      if (f.is_aside && f.opens_in_item) r->item.depth = f.depth;
    }
    f.is_read = is_compiled;
  }
  r->frames[r->frame_count++] = f;
  return ETX_OK;
}

static etx_status end_condition(item_reader* r, const directive* d) {
  frame f = r->frames[r->frame_count - 1];
  leave_branch(r, &f);
  if (f.is_undecided) ETX_TRY(keep_condition(r, d, f.group));
  --r->frame_count;
  return ETX_OK;
}

static bool is_guard_name(etx_text name) {
  return name.size > 6 && memcmp(name.data, "ETX_", 4) == 0 &&
         memcmp(name.data + name.size - 2, "_H", 2) == 0;
}

// Notes that the item ends macros that it has not defined.
static void note_undefined(item_reader* r, uint32_t name) {
  const etx_c_macros* const macros = &r->source->macros;
  if (!r->item.is_open || name >= macros->entry_count) return;
  const etx_c_entry* const entry = &macros->entries[name];
  for (size_t i = 0; i < entry->macro_count; ++i) {
    const size_t owner = macros->macros[entry->macros[i]].owner;
    if (owner != r->item.index) r->item.changes_macros = true;
  }
}

static etx_status read_macro(item_reader* r, const directive* d) {
  etx_source* const source = r->source;
  const bool is_undef = etx_text_is(d->word, "undef");
  size_t item = r->item.index;
  if (!r->item.is_open) {
    ETX_TRY(add_item(r, is_undef ? ETX_ITEM_UNDEF : ETX_ITEM_MACRO, &item));
    give_comment(r, d->first, r->is_preamble ? SIZE_MAX : item);
    source->items[item].name = d->rest.items[0].name;
    if (is_guard_name(d->rest.items[0].text)) {
      source->items[item].level = ETX_ITEM_DROPPED;
    }
  }
  set_lines(r, d, item);
  if (is_undef) {
    note_undefined(r, d->rest.items[0].name);
    etx_c_macro_undefine(&source->macros, d->rest.items[0].name);
    return ETX_OK;
  }
  return etx_c_macro_define(&source->macros, &d->rest, item);
}

static bool is_guard(const directive* d) {
  if (!etx_text_is(d->word, "ifndef")) return false;
  const etx_text name = d->rest.items[0].text;
  return is_guard_name(name) && !etx_text_is(name, "ETX_ETX_H") &&
         !etx_text_is(name, "ETX_SELECTED_H");
}

static etx_status read_other(item_reader* r, const directive* d) {
  const bool is_own_file = etx_text_is(d->word, "include") &&
                           d->rest.count > 0 &&
                           d->rest.items[0].kind == ETX_C_TEXT;
  // Of these files, etx.c includes etx.h alone.
  if (is_own_file &&
      (r->is_header_text || !etx_text_is(d->rest.items[0].text, "\"etx.h\""))) {
    return ETX_OK;
  }
  // What a template asks of those who include it is checked in the library.
  if (!r->item.is_open && etx_text_is(d->word, "error")) return ETX_OK;
  size_t item = r->item.index;
  if (!r->item.is_open) {
    ETX_TRY(end_comment(r, d->first));
    ETX_TRY(add_item(r, ETX_ITEM_FRAME, &item));
  }
  set_lines(r, d, item);
  return ETX_OK;
}

// True behind the bracket that opens the body of a function.
static bool is_in_body(const open_item* item) {
  if (!item->is_open || item->depth == 0) return false;
  for (size_t i = 1; i < item->all.count; ++i) {
    if (!etx_c_is(&item->all.items[i], "{")) continue;
    return etx_c_is(&item->all.items[i - 1], ")");
  }
  return false;
}

static etx_status read_directive(item_reader* r, const directive* d) {
  if (r->item.is_open) ETX_TRY(flush(r));
  if (!is_in_body(&r->item)) r->item.has_directive = true;
  if (is_guard(d)) {
    ETX_TRY(end_comment(r, d->first));
    start_unit(r, false);
    if (r->framing != SIZE_MAX) r->source->items[r->framing].unit = r->unit;
    r->framing = SIZE_MAX;
  }
  if (etx_text_is(d->word, "if") || etx_text_is(d->word, "ifdef") ||
      etx_text_is(d->word, "ifndef")) {
    return begin_condition(r, d);
  }
  if (etx_text_is(d->word, "elif") || etx_text_is(d->word, "else")) {
    return next_branch(r, d);
  }
  if (etx_text_is(d->word, "endif")) return end_condition(r, d);
  if (!is_read(r)) return ETX_OK;
  if (etx_text_is(d->word, "define") || etx_text_is(d->word, "undef")) {
    return read_macro(r, d);
  }
  return read_other(r, d);
}

// Cuts the text into lines.
static etx_status add_lines(etx_source* source, etx_text text, bool is_header) {
  while (text.size > 0) {
    const char* const end = memchr(text.data, '\n', text.size);
    const size_t size = end == NULL ? text.size : (size_t)(end - text.data);
    ETX_TRY(etx_pool_grow(source->pool, &source->lines, source->line_count,
                          &source->line_capacity, sizeof *source->lines));
    source->lines[source->line_count++] = (etx_source_line){
        .text = {text.data, size}, .item = SIZE_MAX, .is_header = is_header};
    const size_t taken = end == NULL ? size : size + 1;
    text = (etx_text){text.data + taken, text.size - taken};
  }
  return ETX_OK;
}

// Reads the directive at a line; `*end` becomes the line behind it.
static etx_status find_directive(item_reader* r, size_t line, directive* out) {
  etx_source* const source = r->source;
  const char* const start = source->lines[line].text.data;
  out->first = line;
  for (;;) {
    const etx_text text = source->lines[line++].text;
    if (text.size == 0 || text.data[text.size - 1] != '\\' ||
        line == source->line_count) {
      const size_t size = (size_t)(text.data + text.size - start);
      out->end = line;
      out->rest = (etx_c_tokens){.pool = source->pool};
      ETX_TRY(etx_c_tokens_read(&out->rest, &source->names,
                                (etx_text){start, size}));
      break;
    }
  }
  out->word = out->rest.items[1].text;
  out->rest.items += 2;
  out->rest.count -= 2;
  return ETX_OK;
}

static bool is_directive(etx_text text) {
  size_t i = 0;
  while (i < text.size && text.data[i] == ' ') ++i;
  return i + 1 < text.size && text.data[i] == '#';
}

etx_status etx_source_read(etx_source* source, etx_text text, bool is_header) {
  item_reader r = {.source = source,
                   .comment = SIZE_MAX,
                   .framing = SIZE_MAX,
                   .unit = source->unit_count++,
                   .is_header_text = is_header,
                   .is_preamble = true};
  size_t line = source->line_count;
  etx_status status = add_lines(source, text, is_header);
  while (status == ETX_OK && line < source->line_count) {
    if (!is_directive(source->lines[line].text)) {
      status = read_line(&r, line++);
      continue;
    }
    directive d;
    status = find_directive(&r, line, &d);
    if (status == ETX_OK) status = read_directive(&r, &d);
    line = d.end;
  }
  if (status == ETX_OK) status = end_comment(&r, source->line_count);
  if (r.item.is_open) etx_pool_close(&r.item.pool);
  return status;
}
