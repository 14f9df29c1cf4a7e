#include "cli/amalgamate/row_lists.h"

#include <string.h>

enum { LEAST_BYTES = 200 };  // of a list for which a macro is shorter

// True if the line begins with the call of a macro: a row.
static bool begins_row(etx_text text) {
  size_t i = 0;
  while (i < text.size && ((text.data[i] >= 'A' && text.data[i] <= 'Z') ||
                           (text.data[i] >= '0' && text.data[i] <= '9') ||
                           text.data[i] == '_')) {
    ++i;
  }
  return i > 0 && i < text.size && text.data[i] == '(';
}

// True if the line goes on a row.
static bool continues_row(etx_text text) {
  return text.size > 2 && text.data[0] == ' ' && text.data[1] == ' ' &&
         memchr(text.data, '#', text.size) == NULL;
}

static bool has_comment(etx_text text) {
  for (size_t i = 0; i + 1 < text.size; ++i) {
    if (text.data[i] == '/' && text.data[i + 1] == '/') return true;
  }
  return false;
}

// The line behind the rows that begin at `first`; `first` if there are none.
static size_t end_of_rows(const etx_source* source, const bool* is_kept,
                          size_t first) {
  const size_t item = source->lines[first].item;
  size_t line = first;
  if (!begins_row(source->lines[first].text)) return first;
  for (; line < source->line_count && is_kept[line]; ++line) {
    const etx_text text = source->lines[line].text;
    if (source->lines[line].item != item || has_comment(text)) break;
    if (!begins_row(text) && !continues_row(text)) break;
  }
  return line;
}

static size_t bytes_of(const etx_source* source, const etx_row_list* list) {
  size_t bytes = 0;
  for (size_t i = list->first; i < list->end; ++i) {
    bytes += source->lines[i].text.size + 1;
  }
  return bytes;
}

static bool is_same(const etx_source* source, const etx_row_list* a,
                    const etx_row_list* b) {
  if (a->end - a->first != b->end - b->first) return false;
  for (size_t i = 0; i < a->end - a->first; ++i) {
    if (!etx_text_equal(source->lines[a->first + i].text,
                        source->lines[b->first + i].text)) {
      return false;
    }
  }
  return true;
}

// Finds the first list that has the text of the last one.
static void find_first(const etx_source* source, etx_row_lists* lists) {
  etx_row_list* const list = &lists->items[lists->count - 1];
  list->same_as = lists->count - 1;
  for (size_t i = 0; i + 1 < lists->count; ++i) {
    etx_row_list* const other = &lists->items[i];
    if (other->same_as != i || !is_same(source, other, list)) continue;
    list->same_as = i;
    other->is_repeated = true;
    return;
  }
}

etx_status etx_row_lists_find(const etx_source* source, const bool* is_kept,
                              etx_row_lists* lists) {
  for (size_t line = 0; line < source->line_count; ++line) {
    const size_t item = source->lines[line].item;
    if (!is_kept[line] || item == SIZE_MAX) continue;
    etx_row_list list = {line, end_of_rows(source, is_kept, line), 0, false};
    if (list.end == line) continue;
    line = list.end - 1;
    if (bytes_of(source, &list) < LEAST_BYTES) continue;
    ETX_TRY(etx_pool_grow(source->pool, &lists->items, lists->count,
                          &lists->capacity, sizeof *lists->items));
    lists->items[lists->count++] = list;
    find_first(source, lists);
  }
  return ETX_OK;
}

static etx_status put_name(const etx_row_lists* lists, size_t list,
                           const etx_sink* sink) {
  size_t number = lists->items[list].same_as;
  char digits[24];
  size_t at = sizeof digits;
  do {
    digits[--at] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  static const char start[] = "ETX_ROWS_";
  ETX_TRY(etx_sink_write(sink, start, sizeof start - 1));
  return etx_sink_write(sink, digits + at, sizeof digits - at);
}

etx_status etx_row_lists_write(const etx_source* source,
                               const etx_row_lists* lists, size_t list,
                               const etx_sink* sink, bool* is_written) {
  const etx_row_list* const l = &lists->items[list];
  *is_written = l->is_repeated || l->same_as != list;
  if (!*is_written) return ETX_OK;
  if (l->same_as == list) {
    ETX_TRY(etx_sink_write(sink, "#define ", 8));
    ETX_TRY(put_name(lists, list, sink));
    for (size_t i = l->first; i < l->end; ++i) {
      const etx_text text = source->lines[i].text;
      ETX_TRY(etx_sink_write(sink, " \\\n", 3));
      ETX_TRY(etx_sink_write(sink, text.data, text.size));
    }
    ETX_TRY(etx_sink_write(sink, "\n", 1));
  }
  ETX_TRY(put_name(lists, list, sink));
  return etx_sink_write(sink, "\n", 1);
}
