// Directives: conditions that are decided or kept, macros, and others.

#include <string.h>

#include "cli/amalgamate/c/c_scan.h"
#include "cli/amalgamate/source_conditions.h"
#include "cli/amalgamate/item_reader.h"

// A directive: its lines, its word and the tokens behind it.
typedef struct directive {
  size_t first, end;  // lines
  etx_text word;
  etx_c_tokens rest;
} directive;

static void set_lines(const etx_item_reader* r, const directive* d,
                      size_t item) {
  for (size_t i = d->first; i < d->end; ++i) r->source->lines[i].item = item;
}

// Keeps the lines of a condition: in the item that is open, or in one of their
// own.
static etx_status keep_condition(etx_item_reader* r, const directive* d,
                                 size_t group) {
  size_t item = r->item.index;
  if (!r->item.is_open) {
    ETX_TRY(etx_reader_end_comment(r, d->first));
    ETX_TRY(etx_reader_add_item(r, ETX_ITEM_CONDITION, &item));
    r->source->items[item].group = group;
  }
  if (r->item.is_open) r->item.has_choices = true;
  set_lines(r, d, item);
  return ETX_OK;
}

static etx_status start_group(etx_item_reader* r, etx_reader_frame* f) {
  etx_source* const source = r->source;
  f->is_undecided = true;
  f->opens_in_item = r->item.is_open;
  if (f->opens_in_item) return ETX_OK;
  ETX_TRY(etx_pool_grow(source->pool, &source->groups, source->group_count,
                        &source->group_capacity, sizeof *source->groups));
  source->groups[source->group_count] =
      (etx_item_group){.parent = etx_reader_group(r)};
  f->group = source->group_count++;
  return ETX_OK;
}

static etx_status enter_branch(etx_item_reader* r, etx_reader_frame* f) {
  f->is_read = f->is_in_branch = true;
  return etx_c_branch_enter(&r->source->macros, ++r->source->branch_count);
}

static void leave_branch(etx_item_reader* r, etx_reader_frame* f) {
  if (f->is_in_branch) etx_c_branch_leave(&r->source->macros);
  f->is_in_branch = f->is_read = false;
}

// The value of a condition; macros that it asks for are noted.
static etx_status condition_of(etx_item_reader* r, const directive* d,
                               etx_reader_frame* f, etx_c_value* out) {
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
    status =
        etx_reader_note_uses(r, &e, f->opens_in_item ? r->item.index : SIZE_MAX,
                             f->opens_in_item ? SIZE_MAX : f->group);
  }
  etx_pool_close(&pool);
  return status;
}

static etx_status begin_condition(etx_item_reader* r, const directive* d) {
  etx_reader_frame f = {.group = SIZE_MAX, .depth = r->item.depth};
  if (!etx_reader_is_read(r)) {
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
static etx_status next_branch(etx_item_reader* r, const directive* d) {
  // The condition is read outside of its frame.
  etx_reader_frame f = r->frames[--r->frame_count];
  const bool was_undecided = f.is_undecided;
  leave_branch(r, &f);
  if (!f.was_taken && etx_reader_is_read(r)) {
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

static etx_status end_condition(etx_item_reader* r, const directive* d) {
  etx_reader_frame f = r->frames[r->frame_count - 1];
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
static void note_undefined(etx_item_reader* r, uint32_t name) {
  const etx_c_macros* const macros = &r->source->macros;
  if (!r->item.is_open || name >= macros->entry_count) return;
  const etx_c_entry* const entry = &macros->entries[name];
  for (size_t i = 0; i < entry->macro_count; ++i) {
    const size_t owner = macros->macros[entry->macros[i]].owner;
    if (owner != r->item.index) r->item.changes_macros = true;
  }
}

static etx_status read_macro(etx_item_reader* r, const directive* d) {
  etx_source* const source = r->source;
  const bool is_undef = etx_text_is(d->word, "undef");
  size_t item = r->item.index;
  if (!r->item.is_open) {
    ETX_TRY(etx_reader_add_item(r, is_undef ? ETX_ITEM_UNDEF : ETX_ITEM_MACRO,
                                &item));
    etx_reader_give_comment(r, d->first, r->is_preamble ? SIZE_MAX : item);
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

static etx_status read_other(etx_item_reader* r, const directive* d) {
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
    ETX_TRY(etx_reader_end_comment(r, d->first));
    ETX_TRY(etx_reader_add_item(r, ETX_ITEM_FRAME, &item));
  }
  set_lines(r, d, item);
  return ETX_OK;
}

// True behind the bracket that opens the body of a function.
static bool is_in_body(const etx_open_item* item) {
  if (!item->is_open || item->depth == 0) return false;
  for (size_t i = 1; i < item->all.count; ++i) {
    if (!etx_c_is(&item->all.items[i], "{")) continue;
    return etx_c_is(&item->all.items[i - 1], ")");
  }
  return false;
}

static etx_status read_directive(etx_item_reader* r, const directive* d) {
  if (r->item.is_open) ETX_TRY(etx_reader_flush(r));
  if (!is_in_body(&r->item)) r->item.has_directive = true;
  if (is_guard(d)) {
    ETX_TRY(etx_reader_end_comment(r, d->first));
    etx_reader_start_unit(r, false);
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
  if (!etx_reader_is_read(r)) return ETX_OK;
  if (etx_text_is(d->word, "define") || etx_text_is(d->word, "undef")) {
    return read_macro(r, d);
  }
  return read_other(r, d);
}

static etx_status find_directive(etx_item_reader* r, size_t line,
                                 directive* out) {
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

bool etx_reader_is_directive(etx_text text) {
  size_t i = 0;
  while (i < text.size && text.data[i] == ' ') ++i;
  return i + 1 < text.size && text.data[i] == '#';
}

etx_status etx_reader_directive(etx_item_reader* r, size_t line,
                                size_t* out_end) {
  directive d;
  ETX_TRY(find_directive(r, line, &d));
  *out_end = d.end;
  return read_directive(r, &d);
}
