// Opens a source map: verifies its structure, then that every position is
// within its list. Then its accessors.

#include "format/source_map/source_map.h"

#include "format/pte/named_data.h"
#include "format/source_map/source_map_schema_internal.h"

#define FB_SCHEMA "format/source_map/source_map_schema.def"
#define FB_FIELD_COUNT(table) ETX_SOURCE_##table##_FIELD_COUNT
#include "format/flatbuffers/fb_schema_tables.inc"

const etx_fb_schema etx_source_map_schema = {FB_SCHEMA_DATA,
                                             {'E', 'T', 'X', 'S'}};

enum { ROW_NUMBERS = 3 };  // of a line

// A vector of 32-bit numbers.
typedef struct numbers {
  const int32_t* items;
  size_t count;
} numbers;

static numbers numbers_in(const etx_source_map* source, uint32_t table,
                          uint32_t id) {
  const etx_fb_buffer* fb = &source->fb;
  const etx_fb_vector vector = etx_fb_vector_in(fb, table, id);
  const numbers list = {etx_fb_elements(fb, vector), vector.count};
  return list;
}

// Rows of the vector of tables in field `id` of the root.
static size_t count_of(const etx_source_map* source, uint32_t id) {
  const etx_fb_buffer* fb = &source->fb;
  return etx_fb_vector_in(fb, source->root, id).count;
}

static uint32_t row_of(const etx_source_map* source, uint32_t id,
                       size_t index) {
  const etx_fb_buffer* fb = &source->fb;
  return etx_fb_table_at(fb, etx_fb_vector_in(fb, source->root, id),
                         (uint32_t)index);
}

static etx_text name_at(const etx_source_map* source, uint32_t id,
                        size_t index) {
  const etx_fb_buffer* fb = &source->fb;
  return etx_fb_string(fb, row_of(source, id, index), ETX_SOURCE_Name_text);
}

static uint32_t method_at(const etx_source_map* source, size_t index) {
  return row_of(source, ETX_SOURCE_Source_methods, index);
}

static etx_text method_name(const etx_source_map* source, size_t index) {
  const etx_fb_buffer* fb = &source->fb;
  return etx_fb_string(fb, method_at(source, index), ETX_SOURCE_Method_name);
}

// ---- opening ----

// Names are printed unescaped, so they must not have control characters.
static etx_status check_names(const etx_source_map* source, uint32_t id,
                              etx_diag* diag) {
  const size_t count = count_of(source, id);
  for (size_t i = 0; i < count; ++i) {
    const etx_text name = name_at(source, id, i);
    for (size_t k = 0; k < name.size; ++k) {
      const uint8_t byte = (uint8_t)name.data[k];
      if (byte >= 0x20 && byte != 0x7f) continue;
      return etx_diag_fail(diag, ETX_BAD_FILE,
                           "name '%t' in '%s' has a control character", name,
                           ETX_SOURCE_MAP_KEY);
    }
  }
  return ETX_OK;
}

static bool is_position(int32_t position, size_t count) {
  return position >= -1 && (position < 0 || (size_t)position < count);
}

static etx_status check_lines(const etx_source_map* source, etx_diag* diag) {
  const numbers lines =
      numbers_in(source, source->root, ETX_SOURCE_Source_lines);
  const size_t files = count_of(source, ETX_SOURCE_Source_files);
  const size_t modules = count_of(source, ETX_SOURCE_Source_modules);
  if (lines.count % ROW_NUMBERS != 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "the lines in '%s' are %z numbers, expected a "
                         "multiple of %u",
                         ETX_SOURCE_MAP_KEY, lines.count,
                         (uint64_t)ROW_NUMBERS);
  }
  for (size_t i = 0; i < lines.count; i += ROW_NUMBERS) {
    const int32_t* const row = &lines.items[i];
    if (is_position(row[0], files) && row[1] >= 0 &&
        is_position(row[2], modules)) {
      continue;
    }
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "line '%z' in '%s' is (%i, %i, %i), expected one of "
                         "%z files and %z modules",
                         i / ROW_NUMBERS, ETX_SOURCE_MAP_KEY, (int64_t)row[0],
                         (int64_t)row[1], (int64_t)row[2], files, modules);
  }
  return ETX_OK;
}

static etx_status check_starts(etx_text name, numbers starts, size_t end,
                               etx_diag* diag) {
  for (size_t i = 0; i < starts.count; ++i) {
    const int32_t before = i == 0 ? 0 : starts.items[i - 1];
    const bool is_last = i + 1 == starts.count;
    if (starts.items[i] >= before && (size_t)starts.items[i] <= end &&
        (i != 0 || starts.items[i] == 0) &&
        (!is_last || (size_t)starts.items[i] == end)) {
      continue;
    }
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "lines of instruction '%z' of method '%t' start at %i "
                         "in '%s', expected %i to %z",
                         i, name, (int64_t)starts.items[i], ETX_SOURCE_MAP_KEY,
                         (int64_t)before, end);
  }
  return ETX_OK;
}

static etx_status check_method(const etx_source_map* source, const etx_pte* pte,
                               size_t index, etx_diag* diag) {
  const uint32_t row = method_at(source, index);
  const etx_text name = method_name(source, index);
  const numbers starts = numbers_in(source, row, ETX_SOURCE_Method_starts);
  const numbers lines = numbers_in(source, row, ETX_SOURCE_Method_lines);
  const size_t known =
      numbers_in(source, source->root, ETX_SOURCE_Source_lines).count /
      ROW_NUMBERS;
  etx_pte_plan plan;
  if (!etx_pte_plan_find(pte, name, &plan)) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "'%s' has lines of method '%t', which the program "
                         "does not have",
                         ETX_SOURCE_MAP_KEY, name);
  }
  const size_t count =
      etx_pte_chain_count(&plan) == 1 ? etx_pte_instruction_count(&plan, 0) : 0;
  if (starts.count != count + 1) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "'%s' has lines of %z instructions of method '%t', "
                         "which has %z",
                         ETX_SOURCE_MAP_KEY,
                         starts.count == 0 ? 0 : starts.count - 1, name, count);
  }
  ETX_TRY(check_starts(name, starts, lines.count, diag));
  for (size_t i = 0; i < lines.count; ++i) {
    if (lines.items[i] >= 0 && (size_t)lines.items[i] < known) continue;
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "method '%t' refers to line '%i' of %z in '%s'", name,
                         (int64_t)lines.items[i], known, ETX_SOURCE_MAP_KEY);
  }
  return ETX_OK;
}

static etx_status check(const etx_source_map* source, const etx_pte* pte,
                        etx_diag* diag) {
  ETX_TRY(check_names(source, ETX_SOURCE_Source_files, diag));
  ETX_TRY(check_names(source, ETX_SOURCE_Source_modules, diag));
  ETX_TRY(check_lines(source, diag));
  const size_t count = count_of(source, ETX_SOURCE_Source_methods);
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(check_method(source, pte, i, diag));
  }
  return ETX_OK;
}

static etx_status open_source(etx_source_map* source, const etx_pte* pte,
                              etx_diag* diag) {
  etx_source_map opened = {{NULL, 0}, 0};
  ETX_TRY(etx_named_data_open(pte, ETX_SOURCE_MAP_KEY, &etx_source_map_schema,
                              &opened.fb, &opened.root, diag));
  ETX_TRY(check(&opened, pte, diag));
  *source = opened;
  return ETX_OK;
}

etx_status etx_source_map_open(etx_source_map* source, const etx_pte* pte,
                               etx_diag* diag) {
  const etx_status status = open_source(source, pte, diag);
  // A program without a source map is not an error.
  return status == ETX_NOT_FOUND ? status : etx_diag_seal(diag, status);
}

// ---- accessors ----

bool etx_source_map_method_find(const etx_source_map* source, etx_text name,
                                size_t* out_index) {
  const size_t count = count_of(source, ETX_SOURCE_Source_methods);
  for (size_t i = 0; i < count; ++i) {
    if (!etx_text_equal(method_name(source, i), name)) continue;
    *out_index = i;
    return true;
  }
  return false;
}

size_t etx_source_map_line_count(const etx_source_map* source, size_t method,
                                 size_t instruction) {
  const numbers starts =
      numbers_in(source, method_at(source, method), ETX_SOURCE_Method_starts);
  if (instruction >= starts.count - 1) return 0;
  return (size_t)(starts.items[instruction + 1] - starts.items[instruction]);
}

etx_source_map_line etx_source_map_line_at(const etx_source_map* source,
                                           size_t method, size_t instruction,
                                           size_t index) {
  const uint32_t table = method_at(source, method);
  const numbers starts = numbers_in(source, table, ETX_SOURCE_Method_starts);
  const numbers lines = numbers_in(source, table, ETX_SOURCE_Method_lines);
  const size_t start = (size_t)starts.items[instruction];
  const int32_t* const row =
      numbers_in(source, source->root, ETX_SOURCE_Source_lines).items +
      (size_t)lines.items[start + index] * ROW_NUMBERS;
  etx_source_map_line line = {{NULL, 0}, (uint32_t)row[1], {NULL, 0}};
  if (row[0] >= 0) {
    line.file = name_at(source, ETX_SOURCE_Source_files, (size_t)row[0]);
  }
  if (row[2] >= 0) {
    line.module = name_at(source, ETX_SOURCE_Source_modules, (size_t)row[2]);
  }
  return line;
}
