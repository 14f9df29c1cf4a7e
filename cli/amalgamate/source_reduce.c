#include "cli/amalgamate/source_reduce.h"

#include <string.h>

#include "cli/amalgamate/row_lists.h"

// Items whose references are to be followed.
typedef struct item_work {
  etx_source* source;
  size_t* items;
  size_t count;
  size_t capacity;
  bool* has_items;  // by unit: something of it is kept
} item_work;

static etx_status mark(item_work* w, size_t index, etx_item_level level) {
  etx_item* const item = &w->source->items[index];
  if (item->level >= level) return ETX_OK;
  item->level = (uint8_t)level;
  ETX_TRY(etx_pool_grow(w->source->pool, &w->items, w->count, &w->capacity,
                        sizeof *w->items));
  w->items[w->count++] = index;
  return ETX_OK;
}

static const etx_definitions* definitions_of(const etx_source* source,
                                             uint32_t name) {
  static const etx_definitions none = {NULL, 0, 0};
  return name < source->definition_names ? &source->definitions[name] : &none;
}

// True if the name also has a declaration without a body that `unit` sees.
static bool is_declared(const etx_definitions* all, size_t unit) {
  for (size_t i = 0; i < all->count; ++i) {
    const etx_definition* const d = &all->items[i];
    const bool is_visible = d->unit == SIZE_MAX || d->unit == unit;
    if (is_visible && !d->has_body) return true;
  }
  return false;
}

// True if a later text defines the name again: the table of a selected build
// takes the place of that of the whole library. Definitions for different
// processors stand in conditions.
static bool is_replaced(const etx_source* source, const etx_definitions* all,
                        size_t i) {
  const etx_definition* const d = &all->items[i];
  if (!d->has_body || source->items[d->item].group != SIZE_MAX) return false;
  for (size_t k = i + 1; k < all->count; ++k) {
    const etx_definition* const later = &all->items[k];
    if (later->has_body && source->items[later->item].group == SIZE_MAX) {
      return true;
    }
  }
  return false;
}

static etx_status follow_name(item_work* w, const etx_item* from, uint32_t name,
                              etx_item_level level) {
  const etx_definitions* const all = definitions_of(w->source, name);
  const size_t unit = from->unit;
  const bool needs_body = level == ETX_ITEM_LIVE || !is_declared(all, unit);
  for (size_t i = 0; i < all->count; ++i) {
    const etx_definition* const d = &all->items[i];
    if (d->unit != SIZE_MAX && d->unit != unit) continue;
    if (d->has_body && !needs_body) continue;
    if (is_replaced(w->source, all, i)) continue;
    ETX_TRY(mark(w, d->item, level));
  }
  return ETX_OK;
}

static etx_status keep_groups(item_work* w, size_t group) {
  while (group != SIZE_MAX && !w->source->groups[group].is_kept) {
    etx_item_group* const g = &w->source->groups[group];
    g->is_kept = true;
    for (size_t i = 0; i < g->use_count; ++i) {
      ETX_TRY(mark(w, g->uses[i], ETX_ITEM_DECLARED));
    }
    group = g->parent;
  }
  return ETX_OK;
}

// What every unit needs of which something is kept.
static etx_status keep_frame(item_work* w, size_t unit) {
  if (w->has_items[unit]) return ETX_OK;
  w->has_items[unit] = true;
  for (size_t i = 0; i < w->source->item_count; ++i) {
    const etx_item* const item = &w->source->items[i];
    if (item->unit == unit && item->kind == ETX_ITEM_FRAME) {
      ETX_TRY(mark(w, i, ETX_ITEM_DECLARED));
    }
  }
  return ETX_OK;
}

// True if functions are written as declarations alone: dead code refers to
// them, and no other.
static bool is_declaration(const etx_item* item) {
  return item->level == ETX_ITEM_DECLARED && !item->is_header &&
         item->declarations.size > 0 && (item->has_body || item->is_static);
}

// What a body refers to is needed if the compiler sees the body: without
// optimisation, it keeps static functions that dead code names.
static bool is_live_reference(const etx_item* item,
                              const etx_item_reference* reference) {
  if (item->kind != ETX_ITEM_CODE || !reference->is_live) return false;
  return item->level == ETX_ITEM_LIVE || !reference->is_declared;
}

static etx_status follow(item_work* w, size_t index) {
  const etx_item item = w->source->items[index];
  const bool is_short = is_declaration(&item);
  ETX_TRY(keep_groups(w, item.group));
  if (item.kind == ETX_ITEM_CODE || item.kind == ETX_ITEM_MACRO) {
    ETX_TRY(keep_frame(w, item.unit));
  }
  for (size_t i = 0; !is_short && i < item.use_count; ++i) {
    ETX_TRY(mark(w, item.uses[i], ETX_ITEM_DECLARED));
  }
  for (size_t i = 0; i < item.reference_count; ++i) {
    const etx_item_reference* const reference = &item.references[i];
    if (is_short && !reference->is_declared) continue;
    ETX_TRY(follow_name(w, &item, reference->name,
                        is_live_reference(&item, reference)
                            ? ETX_ITEM_LIVE
                            : ETX_ITEM_DECLARED));
  }
  return ETX_OK;
}

// Keeps the end of each macro that is kept.
static etx_status keep_undefs(etx_source* source) {
  size_t* const unit_of =
      etx_pool_take(source->pool, source->names.count * sizeof *unit_of);
  if (unit_of == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < source->item_count; ++i) {
    etx_item* const item = &source->items[i];
    if (item->kind == ETX_ITEM_MACRO && item->level != ETX_ITEM_DROPPED) {
      unit_of[item->name] = item->unit + 1;
    } else if (item->kind == ETX_ITEM_UNDEF &&
               unit_of[item->name] == item->unit + 1) {
      item->level = ETX_ITEM_DECLARED;
    }
  }
  return ETX_OK;
}

etx_status etx_source_reduce(etx_source* source) {
  item_work w = {.source = source};
  w.has_items = etx_pool_take(source->pool, source->unit_count);
  if (w.has_items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < source->item_count; ++i) {
    if (source->items[i].level == ETX_ITEM_LIVE) ETX_TRY(follow(&w, i));
  }
  while (w.count > 0) ETX_TRY(follow(&w, w.items[--w.count]));
  return keep_undefs(source);
}

bool etx_source_need(etx_source* source, const char* name) {
  const uint32_t number = etx_c_name(&source->names, etx_text_of(name));
  const etx_definitions* const all = definitions_of(source, number);
  bool found = false;
  for (size_t i = 0; i < all->count; ++i) {
    source->items[all->items[i].item].level = ETX_ITEM_LIVE;
    found = found || all->items[i].has_body;
  }
  return found;
}

void etx_source_need_all(etx_source* source, const char* start) {
  const etx_text wanted = etx_text_of(start);
  for (size_t name = 0; name < source->names.count; ++name) {
    if (!etx_text_starts_with(source->names.texts[name], wanted)) continue;
    const etx_definitions* const all = definitions_of(source, (uint32_t)name);
    for (size_t i = 0; i < all->count; ++i) {
      if (!all->items[i].has_body) continue;
      source->items[all->items[i].item].level = ETX_ITEM_LIVE;
    }
  }
}

static bool is_kept(const etx_source* source, const etx_source_line* line) {
  if (line->item == SIZE_MAX) return false;
  const etx_item* const item = &source->items[line->item];
  if (item->kind == ETX_ITEM_CONDITION) {
    return item->group != SIZE_MAX && source->groups[item->group].is_kept;
  }
  return item->level != ETX_ITEM_DROPPED;
}

// True if the line is a comment that says nothing of where the line is from.
static bool is_comment(const etx_source* source, const etx_source_line* line) {
  size_t i = 0;
  while (i < line->text.size && line->text.data[i] == ' ') ++i;
  if (line->text.size < i + 2 || memcmp(line->text.data + i, "//", 2) != 0) {
    return false;
  }
  return source->items[line->item].kind != ETX_ITEM_FRAME ||
         !etx_source_is_path(line->text);
}

// The line without a comment at its end.
static etx_text without_comment(etx_text line) {
  char quote = 0;
  for (size_t i = 0; i + 1 < line.size; ++i) {
    const char c = line.data[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (i > 0 && c == '/' && line.data[i + 1] == '/') {
      line.size = i;
    }
  }
  while (line.size > 0 && line.data[line.size - 1] == ' ') --line.size;
  return line;
}

static size_t first_spaces(etx_text line) {
  size_t count = 0;
  while (count < line.size && line.data[count] == ' ') ++count;
  return count;
}

// One space for each level of two, and for the rest of a call, which etx's
// sources align with its bracket, at most MOST_SPACES.
static etx_text with_short_indent(etx_text line) {
  enum { MOST_SPACES = 4 };
  const size_t count = first_spaces(line);
  const size_t half = count / 2;
  const size_t kept = half < MOST_SPACES ? half : MOST_SPACES;
  line.data += count - kept;
  line.size -= count - kept;
  return line;
}

// A line as it is written.
typedef struct written_line {
  const char* before;
  etx_text text;
  const char* after;
} written_line;

// Takes the backslash at the end of a line of a macro, which etx's sources
// align, and the spaces before it.
static void cut_backslash(written_line* line) {
  etx_text* const text = &line->text;
  if (text->size == 0 || text->data[text->size - 1] != '\\') return;
  --text->size;
  while (text->size > 0 && text->data[text->size - 1] == ' ') --text->size;
  line->after = " \\";
}

static written_line line_of(const etx_source* source,
                            const etx_source_line* line) {
  written_line out = {"", line->text, ""};
  const etx_item* const item = &source->items[line->item];
  if (line->instead != NULL) {
    const char* const word = memchr(line->text.data, 'e', line->text.size);
    const size_t skipped = (size_t)(word - line->text.data) + strlen("elif");
    const bool ends = strcmp(line->instead, "#else") == 0;
    out.before = line->instead;
    out.text.data += ends ? line->text.size : skipped;
    out.text.size -= ends ? line->text.size : skipped;
  }
  if (item->is_header) return out;
  out.text = without_comment(out.text);
  if (line->instead == NULL) out.text = with_short_indent(out.text);
  cut_backslash(&out);
  const bool is_declared = is_declaration(item);
  if (is_declared || item->text.size > 0) {
    const etx_text text = is_declared ? item->declarations : item->text;
    out.before = out.after = "";
    out.text =
        line == &source->lines[item->first_line] ? text : (etx_text){"", 0};
  }
  return out;
}

static etx_status write_line(const written_line* line, const etx_sink* sink) {
  ETX_TRY(etx_sink_write(sink, line->before, strlen(line->before)));
  ETX_TRY(etx_sink_write(sink, line->text.data, line->text.size));
  ETX_TRY(etx_sink_write(sink, line->after, strlen(line->after)));
  return etx_sink_write(sink, "\n", 1);
}

static bool is_empty(const written_line* line) {
  return line->before[0] == '\0' && line->text.size == 0 &&
         line->after[0] == '\0';
}

// The lines that are written, by number; NULL if the host has no memory.
static bool* kept_lines(const etx_source* source, bool is_header) {
  bool* const kept = etx_pool_take(source->pool, source->line_count);
  for (size_t i = 0; kept != NULL && i < source->line_count; ++i) {
    const etx_source_line* const line = &source->lines[i];
    if (line->is_header != is_header || !is_kept(source, line)) continue;
    const written_line written = line_of(source, line);
    kept[i] = is_header || (!is_comment(source, line) && !is_empty(&written));
  }
  return kept;
}

etx_status etx_source_write(const etx_source* source, bool is_header,
                            const etx_sink* sink) {
  bool is_blank = false, has_text = false;
  const bool* const kept = kept_lines(source, is_header);
  etx_row_lists lists = {.items = NULL};
  size_t list = 0;
  if (kept == NULL) return ETX_OUT_OF_MEMORY;
  if (!is_header) ETX_TRY(etx_row_lists_find(source, kept, &lists));
  for (size_t i = 0; i < source->line_count; ++i) {
    const etx_source_line* const line = &source->lines[i];
    if (line->is_header != is_header) continue;
    if (line->text.size == 0 && line->item == SIZE_MAX) is_blank = has_text;
    if (!kept[i]) continue;
    if (is_blank) ETX_TRY(etx_sink_write(sink, "\n", 1));
    is_blank = false;
    has_text = true;
    bool is_written = false;
    while (list < lists.count && lists.items[list].first < i) ++list;
    if (list < lists.count && lists.items[list].first == i) {
      ETX_TRY(etx_row_lists_write(source, &lists, list, sink, &is_written));
      if (is_written) i = lists.items[list].end - 1;
    }
    const written_line written = line_of(source, line);
    if (!is_written) ETX_TRY(write_line(&written, sink));
  }
  return ETX_OK;
}
