// Opens a table of caches: verifies its structure, then every row against the
// states of the blob.

#include "format/cache_table/cache_table.h"

#include "format/cache_table/cache_table_schema_internal.h"
#include "format/pte/named_data.h"

#define FB_SCHEMA "format/cache_table/cache_table_schema.def"
#define FB_FIELD_COUNT(table) ETX_CACHES_##table##_FIELD_COUNT
#include "format/flatbuffers/fb_schema_tables.inc"

const etx_fb_schema etx_cache_table_schema = {FB_SCHEMA_DATA,
                                              {'E', 'T', 'X', 'C'}};

static const char* const overflow_names[] = {
    [ETX_CACHE_ERROR] = "error",
    [ETX_CACHE_RING] = "ring",
    [ETX_CACHE_SLIDE] = "slide",
};

enum { OVERFLOW_COUNT = sizeof overflow_names / sizeof *overflow_names };

const char* etx_cache_overflow_name(etx_cache_overflow overflow) {
  return overflow_names[overflow];
}

bool etx_cache_overflow_find(etx_text name, etx_cache_overflow* out_overflow) {
  for (size_t i = 0; i < OVERFLOW_COUNT; ++i) {
    if (!etx_text_is(name, overflow_names[i])) continue;
    *out_overflow = (etx_cache_overflow)i;
    return true;
  }
  return false;
}

etx_cache etx_cache_table_at(const etx_cache_table* table, size_t index) {
  const int32_t* const row = table->rows + ETX_CACHE_ROW_NUMBERS * index;
  const etx_cache cache = {row[0], row[1], row[2], row[3]};
  return cache;
}

// ---- opening ----

// Rows ascend by state.
static bool is_cache(const etx_cache_table* table, int32_t state) {
  size_t low = 0;
  size_t high = table->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int32_t found = etx_cache_table_at(table, middle).state;
    if (found == state) return true;
    if (found < state) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return false;
}

static etx_status check_row(const etx_cache_table* table, const etx_blob* blob,
                            size_t index, etx_diag* diag) {
  const size_t states = etx_blob_state_count(blob);
  const etx_cache cache = etx_cache_table_at(table, index);
  const int32_t before =
      index == 0 ? -1 : etx_cache_table_at(table, index - 1).state;
  if (cache.state <= before || (size_t)cache.state >= states) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "cache '%z' in '%s' is state %i after state %i, "
                         "expected one of %z in ascending order",
                         index, ETX_CACHE_TABLE_KEY, (int64_t)cache.state,
                         (int64_t)before, states);
  }
  const etx_blob_state state = etx_blob_state_at(blob, (size_t)cache.state);
  if (cache.dim < 0 || (size_t)cache.dim >= state.rank || cache.overflow < 0 ||
      cache.overflow >= OVERFLOW_COUNT) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "cache '%t' in '%s' has rows along dimension %i of "
                         "%z and overflow policy %i of %u",
                         state.name, ETX_CACHE_TABLE_KEY, (int64_t)cache.dim,
                         state.rank, (int64_t)cache.overflow,
                         (uint64_t)OVERFLOW_COUNT);
  }
  return ETX_OK;
}

static bool has_one_element(const etx_blob_state* state) {
  for (size_t i = 0; i < state->rank; ++i) {
    if (state->sizes[i] != 1) return false;
  }
  return true;
}

static bool can_count(const etx_cache_table* table, const etx_blob* blob,
                      int32_t counter) {
  if (counter < 0 || (size_t)counter >= etx_blob_state_count(blob) ||
      is_cache(table, counter)) {
    return false;
  }
  const etx_blob_state state = etx_blob_state_at(blob, (size_t)counter);
  return has_one_element(&state) &&
         (state.dtype == ETX_DTYPE_INT64 || state.dtype == ETX_DTYPE_INT32);
}

static etx_status check(const etx_cache_table* table, const etx_blob* blob,
                        etx_diag* diag) {
  for (size_t i = 0; i < table->count; ++i) {
    ETX_TRY(check_row(table, blob, i, diag));
  }
  for (size_t i = 0; i < table->count; ++i) {
    const etx_cache cache = etx_cache_table_at(table, i);
    if (cache.counter == ETX_CACHE_NO_COUNTER ||
        can_count(table, blob, cache.counter)) {
      continue;
    }
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "cache '%z' in '%s' is counted by state %i, expected "
                         "a state of one int32 or int64 that is not a cache",
                         i, ETX_CACHE_TABLE_KEY, (int64_t)cache.counter);
  }
  return ETX_OK;
}

static etx_status open_table(etx_cache_table* table, const etx_pte* pte,
                             const etx_blob* blob, etx_diag* diag) {
  etx_fb_buffer fb = {NULL, 0};
  uint32_t root = 0;
  ETX_TRY(etx_named_data_open(pte, ETX_CACHE_TABLE_KEY, &etx_cache_table_schema,
                              &fb, &root, diag));
  const etx_fb_vector rows =
      etx_fb_vector_in(&fb, root, ETX_CACHES_Caches_rows);
  if (rows.count % ETX_CACHE_ROW_NUMBERS != 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "'%s' has %u numbers, expected a multiple of %u",
                         ETX_CACHE_TABLE_KEY, (uint64_t)rows.count,
                         (uint64_t)ETX_CACHE_ROW_NUMBERS);
  }
  const etx_cache_table opened = {etx_fb_elements(&fb, rows),
                                  rows.count / ETX_CACHE_ROW_NUMBERS};
  ETX_TRY(check(&opened, blob, diag));
  *table = opened;
  return ETX_OK;
}

etx_status etx_cache_table_open(etx_cache_table* table, const etx_pte* pte,
                                const etx_blob* blob, etx_diag* diag) {
  const etx_status status = open_table(table, pte, blob, diag);
  // A program without caches is not an error.
  return status == ETX_NOT_FOUND ? status : etx_diag_seal(diag, status);
}
