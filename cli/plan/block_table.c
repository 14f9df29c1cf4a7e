#include "cli/plan/block_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/checked_math.h"

typedef enum column {
  COLUMN_OTHER,
  COLUMN_ID,
  COLUMN_LOWER,
  COLUMN_UPPER,
  COLUMN_LAST,  // the end of a lifetime, included
  COLUMN_SIZE,
  COLUMN_ALIGNMENT,
  COLUMN_OFFSET,
  COLUMN_GAPS,
  COLUMN_COUNT
} column;

typedef struct column_name {
  const char* name;
  column column;
} column_name;

static const column_name column_names[] = {
    {"id", COLUMN_ID},         {"buffer", COLUMN_ID},
    {"buffer_id", COLUMN_ID},  {"lower", COLUMN_LOWER},
    {"start", COLUMN_LOWER},   {"begin", COLUMN_LOWER},
    {"upper", COLUMN_UPPER},   {"end", COLUMN_LAST},
    {"size", COLUMN_SIZE},     {"alignment", COLUMN_ALIGNMENT},
    {"offset", COLUMN_OFFSET}, {"gaps", COLUMN_GAPS},
};

// Besides the offset, which a solution has even if the problem has none.
enum { MAX_COLUMNS = 32 };

typedef struct table_parser {
  etx_pool* pool;
  etx_block_table* table;
  etx_diag* diag;
  etx_text rest;  // of the text
  uint32_t line;  // number of the current line, from 1
  column columns[MAX_COLUMNS + 1];
  uint32_t column_count;
  etx_text* ids;  // of each block
  size_t capacity;
} table_parser;

// Removes the text before the next `separator` from `rest`; false at the end.
static bool next_field(etx_text* rest, char separator, etx_text* out_part) {
  if (rest->data == NULL) return false;
  const char* const end =
      rest->size == 0 ? NULL : memchr(rest->data, separator, rest->size);
  *out_part = *rest;
  if (end == NULL) {
    rest->data = NULL;
    return true;
  }
  out_part->size = (size_t)(end - rest->data);
  rest->size -= out_part->size + 1;
  rest->data = end + 1;
  return true;
}

// The next line that is not empty, without its end.
static bool next_line(table_parser* p, etx_text* out_line) {
  while (next_field(&p->rest, '\n', out_line)) {
    p->line += 1;
    if (out_line->size > 0 && out_line->data[out_line->size - 1] == '\r') {
      out_line->size -= 1;
    }
    if (out_line->size > 0) return true;
  }
  return false;
}

static column column_of(etx_text name) {
  for (size_t i = 0; i < sizeof column_names / sizeof *column_names; ++i) {
    if (etx_text_is(name, column_names[i].name)) return column_names[i].column;
  }
  return COLUMN_OTHER;
}

static etx_status check_columns(const table_parser* p, const bool* has) {
  if (!has[COLUMN_ID] || !has[COLUMN_LOWER] || !has[COLUMN_SIZE] ||
      has[COLUMN_UPPER] == has[COLUMN_LAST]) {
    return etx_diag_fail_line(
        p->diag, ETX_BAD_ARGUMENT, p->line, 1,
        "expected the columns 'id', 'lower', 'upper' (or 'end', included) and "
        "'size', each once, found '%t'",
        p->table->header);
  }
  return ETX_OK;
}

static etx_status read_header(table_parser* p) {
  bool has[COLUMN_COUNT] = {false};
  etx_text rest = {NULL, 0};
  etx_text name;
  if (next_line(p, &p->table->header)) rest = p->table->header;
  while (next_field(&rest, ',', &name)) {
    const column found = column_of(name);
    const bool has_offset = has[COLUMN_OFFSET] || found == COLUMN_OFFSET;
    if (p->column_count == MAX_COLUMNS + (has_offset ? 1u : 0u)) {
      return etx_diag_fail_line(p->diag, ETX_BAD_ARGUMENT, p->line, 1,
                                "more than %i columns besides 'offset'",
                                (int64_t)MAX_COLUMNS);
    }
    if (found != COLUMN_OTHER && has[found]) {
      return etx_diag_fail_line(
          p->diag, ETX_BAD_ARGUMENT, p->line, 1,
          "column '%t' has the meaning of an earlier column", name);
    }
    has[found] = true;
    if (found == COLUMN_OFFSET) p->table->offset_column = p->column_count;
    p->columns[p->column_count++] = found;
  }
  if (!has[COLUMN_OFFSET]) p->table->offset_column = p->column_count;
  return check_columns(p, has);
}

static bool read_digits(etx_text text, uint64_t* out_number) {
  *out_number = 0;
  for (size_t i = 0; i < text.size; ++i) {
    const char digit = text.data[i];
    if (digit < '0' || digit > '9') return false;
    if (!etx_multiply_u64(*out_number, 10, out_number) ||
        !etx_add_u64(*out_number, (uint64_t)(digit - '0'), out_number)) {
      return false;
    }
  }
  return text.size > 0;
}

static etx_status read_number(const table_parser* p, etx_text field,
                              const char* what, uint64_t largest,
                              uint64_t* out_number) {
  if (read_digits(field, out_number) && *out_number <= largest) return ETX_OK;
  return etx_diag_fail_line(p->diag, ETX_BAD_ARGUMENT, p->line, 1,
                            "%s is '%t', expected a number from 0 to %u", what,
                            field, largest);
}

static etx_status read_field(const table_parser* p, column kind, etx_text field,
                             etx_text* id, etx_plan_block* block) {
  uint64_t number = 0;
  switch (kind) {
    case COLUMN_ID:
      *id = field;
      return ETX_OK;
    case COLUMN_LOWER:
      ETX_TRY(read_number(p, field, "the start", UINT32_MAX - 1, &number));
      block->start = (uint32_t)number;
      return ETX_OK;
    case COLUMN_UPPER:
      ETX_TRY(read_number(p, field, "the end", UINT32_MAX, &number));
      block->end = (uint32_t)number;
      return ETX_OK;
    case COLUMN_LAST:
      ETX_TRY(read_number(p, field, "the end", UINT32_MAX - 1, &number));
      block->end = (uint32_t)number + 1;
      return ETX_OK;
    case COLUMN_SIZE:
      return read_number(p, field, "the size", INT64_MAX, &block->size);
    case COLUMN_ALIGNMENT:
      return read_number(p, field, "the alignment", INT64_MAX,
                         &block->alignment);
    case COLUMN_OFFSET:
      if (field.size == 0) return ETX_OK;
      return read_number(p, field, "the offset", INT64_MAX, &block->fixed);
    case COLUMN_GAPS:
      if (field.size == 0) return ETX_OK;
      return etx_diag_fail_line(p->diag, ETX_UNSUPPORTED, p->line, 1,
                                "lifetime gaps are not supported: found '%t'; "
                                "leave the field empty: the plan is then "
                                "valid, but may be larger",
                                field);
    default:
      return ETX_OK;
  }
}

static etx_status check_block(const table_parser* p,
                              const etx_plan_block* block) {
  if (block->start >= block->end) {
    return etx_diag_fail_line(
        p->diag, ETX_BAD_ARGUMENT, p->line, 1,
        "the lifetime [%u, %u) is empty: the end is not included",
        (uint64_t)block->start, (uint64_t)block->end);
  }
  if (!etx_is_power_of_two(block->alignment)) {
    return etx_diag_fail_line(p->diag, ETX_BAD_ARGUMENT, p->line, 1,
                              "the alignment is %u, expected a power of two",
                              block->alignment);
  }
  return ETX_OK;
}

static etx_status read_block(table_parser* p, etx_text line, etx_text* id,
                             etx_plan_block* block) {
  etx_text rest = line;
  etx_text field;
  uint32_t count = 0;
  *block = (etx_plan_block){.alignment = 1, .fixed = ETX_PLAN_FREE};
  while (next_field(&rest, ',', &field)) {
    if (count < p->column_count) {
      ETX_TRY(read_field(p, p->columns[count], field, id, block));
    }
    count += 1;
  }
  if (count != p->column_count) {
    return etx_diag_fail_line(p->diag, ETX_BAD_ARGUMENT, p->line, 1,
                              "%u fields, expected %u as in the first line",
                              (uint64_t)count, (uint64_t)p->column_count);
  }
  return check_block(p, block);
}

// The three arrays have the same capacity.
static etx_status grow(table_parser* p) {
  etx_block_table* const table = p->table;
  const size_t count = table->block_count;
  size_t lines = p->capacity;
  size_t ids = p->capacity;
  ETX_TRY(etx_pool_grow(p->pool, &table->lines, count, &lines,
                        sizeof *table->lines));
  ETX_TRY(etx_pool_grow(p->pool, &p->ids, count, &ids, sizeof *p->ids));
  return etx_pool_grow(p->pool, &table->blocks, count, &p->capacity,
                       sizeof *table->blocks);
}

static int compare_ids(const void* a, const void* b) {
  return etx_text_compare(*(const etx_text*)a, *(const etx_text*)b);
}

// The line of an id, which points into the text.
static uint32_t line_of(etx_bytes text, const char* id) {
  uint32_t line = 1;
  for (const char* at = (const char*)text.data; at != id; ++at) {
    line += *at == '\n';
  }
  return line;
}

static etx_status check_ids(const table_parser* p, etx_bytes text) {
  const size_t count = p->table->block_count;
  if (count > 0) qsort(p->ids, count, sizeof *p->ids, compare_ids);
  for (size_t i = 1; i < count; ++i) {
    if (!etx_text_equal(p->ids[i - 1], p->ids[i])) continue;
    const char* const a = p->ids[i - 1].data;
    const char* const b = p->ids[i].data;
    return etx_diag_fail_line(p->diag, ETX_BAD_ARGUMENT,
                              line_of(text, a > b ? a : b), 1,
                              "two blocks have the id '%t'", p->ids[i]);
  }
  return ETX_OK;
}

// Spreadsheet programs write a byte order mark before the first column.
static etx_text without_byte_order_mark(etx_bytes text) {
  static const char mark[] = "\xef\xbb\xbf";
  enum { SIZE = sizeof mark - 1 };
  const char* const data = (const char*)text.data;
  const bool is_marked = text.size >= SIZE && memcmp(data, mark, SIZE) == 0;
  return is_marked ? (etx_text){data + SIZE, text.size - SIZE}
                   : (etx_text){data, text.size};
}

etx_status etx_block_table_read(etx_bytes text, etx_pool* pool,
                                etx_block_table* out_table, etx_diag* diag) {
  table_parser parser = {.pool = pool, .table = out_table, .diag = diag};
  etx_text line;
  parser.rest = without_byte_order_mark(text);
  *out_table = (etx_block_table){.block_count = 0};
  ETX_TRY(read_header(&parser));
  while (next_line(&parser, &line)) {
    const size_t at = out_table->block_count;
    if (at == parser.capacity) ETX_TRY(grow(&parser));
    out_table->lines[at] = line;
    ETX_TRY(read_block(&parser, line, &parser.ids[at], &out_table->blocks[at]));
    out_table->block_count += 1;
  }
  return check_ids(&parser, text);
}

static etx_status write_text(const etx_sink* sink, etx_text text) {
  return etx_sink_write(sink, text.data, text.size);
}

// Writes a line with the field at `position` replaced, or appended.
static etx_status write_line(etx_text line, uint32_t position, etx_text field,
                             const etx_sink* sink) {
  const etx_text comma = etx_text_of(",");
  etx_text rest = line;
  etx_text part;
  uint32_t count = 0;
  for (; next_field(&rest, ',', &part); ++count) {
    if (count > 0) ETX_TRY(write_text(sink, comma));
    ETX_TRY(write_text(sink, count == position ? field : part));
  }
  if (count == position) {
    ETX_TRY(write_text(sink, comma));
    ETX_TRY(write_text(sink, field));
  }
  return write_text(sink, etx_text_of("\n"));
}

etx_status etx_block_table_write(const etx_block_table* table,
                                 const uint64_t* offsets,
                                 const etx_sink* sink) {
  const uint32_t position = table->offset_column;
  ETX_TRY(write_line(table->header, position, etx_text_of("offset"), sink));
  for (size_t i = 0; i < table->block_count; ++i) {
    char offset[24];
    snprintf(offset, sizeof offset, "%" PRIu64, offsets[i]);
    ETX_TRY(write_line(table->lines[i], position, etx_text_of(offset), sink));
  }
  return ETX_OK;
}
