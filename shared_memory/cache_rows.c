#include "shared_memory/cache_rows.h"

etx_status etx_cache_rows_open(const etx_shared_memory* shared,
                               etx_cache_table* out_table, etx_diag* diag) {
  const etx_program* program = shared->program;
  etx_status status = ETX_NOT_FOUND;
  if (program->has_blob) {
    status =
        etx_cache_table_open(out_table, &program->pte, &program->blob, diag);
  }
  if (status != ETX_NOT_FOUND) return status;
  return etx_diag_fail(diag, ETX_NOT_FOUND,
                       "the program does not say which of its states are "
                       "caches; 'caches' in program.yaml does");
}

// The state at a position of the blob's list.
static void read_state(const etx_program* program, int32_t position,
                       etx_shared_state* out_state) {
  etx_shared_cursor cursor = {0, (size_t)position};
  (void)etx_shared_plan_next(program, &cursor, out_state);
}

static int64_t read_counter(const etx_shared_memory* shared, int32_t counter) {
  etx_shared_state state;
  int64_t wide = 0;
  int32_t narrow = 0;
  read_state(shared->program, counter, &state);
  const uint8_t* at = shared->planned.data + state.row.offset;
  if (state.row.dtype == ETX_DTYPE_INT64) {
    memcpy(&wide, at, sizeof wide);
    return wide;
  }
  memcpy(&narrow, at, sizeof narrow);
  return narrow;
}

void etx_cache_counter_put(etx_dtype dtype, uint8_t* counter, uint64_t length) {
  const int64_t wide = (int64_t)length;
  const int32_t narrow = (int32_t)length;
  if (dtype == ETX_DTYPE_INT64) {
    memcpy(counter, &wide, sizeof wide);
  } else {
    memcpy(counter, &narrow, sizeof narrow);
  }
}

void etx_cache_rows_read(const etx_shared_memory* shared,
                         const etx_cache_table* table, size_t index,
                         etx_cache_rows* out_rows) {
  const etx_cache cache = etx_cache_table_at(table, index);
  etx_cache_rows rows;
  memset(&rows, 0, sizeof rows);
  read_state(shared->program, cache.state, &rows.state);
  const etx_blob_state* state = &rows.state.row;
  rows.data = shared->planned.data + state->offset;
  rows.capacity = (size_t)state->sizes[cache.dim];
  rows.counter = cache.counter;
  rows.slides = cache.overflow == ETX_CACHE_SLIDE;
  if (rows.state.bytes > 0) {  // the products below divide it
    rows.blocks = 1;
    rows.row_bytes = etx_dtype_bytes(state->dtype);
    for (size_t i = 0; i < state->rank; ++i) {
      if (i < (size_t)cache.dim) rows.blocks *= (size_t)state->sizes[i];
      if (i > (size_t)cache.dim) rows.row_bytes *= (size_t)state->sizes[i];
    }
  }
  if (cache.counter != ETX_CACHE_NO_COUNTER) {
    rows.appended = read_counter(shared, cache.counter);
  }
  *out_rows = rows;
}

static etx_status check_counted(const etx_cache_rows* rows, etx_diag* diag) {
  if (rows->appended >= 0) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_STATE,
                       "the counter of cache '%t' is %i, expected the number "
                       "of its rows",
                       rows->state.row.name, rows->appended);
}

etx_status etx_cache_rows_check(const etx_cache_rows* rows, uint64_t length,
                                etx_diag* diag) {
  const bool is_counted = rows->counter != ETX_CACHE_NO_COUNTER;
  ETX_TRY(check_counted(rows, diag));
  const uint64_t most = is_counted ? (uint64_t)rows->appended : rows->capacity;
  if (length > most) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "cache '%t' has %u rows, so %u of them cannot be kept",
                         rows->state.row.name, most, length);
  }
  if (length < most && rows->slides) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the first %u of %u rows of cache '%t' cannot be "
                         "kept, because its rows move",
                         length, most, rows->state.row.name);
  }
  if (length < most && most > rows->capacity) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the first %u of %u rows of cache '%t' cannot be "
                         "kept: it has room for %z, and later rows took the "
                         "place of earlier ones",
                         length, most, rows->state.row.name, rows->capacity);
  }
  return ETX_OK;
}

size_t etx_cache_rows_taken(const etx_cache_rows* rows, uint64_t length) {
  return length < rows->capacity && !rows->slides ? (size_t)length
                                                  : rows->capacity;
}

void etx_cache_rows_clear(const etx_cache_rows* rows, size_t start, bool all) {
  const etx_shared_state* state = &rows->state;
  const bool is_counted = rows->counter != ETX_CACHE_NO_COUNTER;
  const bool is_known = is_counted && !all && rows->appended >= 0;
  const size_t end = is_known
                         ? etx_cache_rows_taken(rows, (uint64_t)rows->appended)
                         : rows->capacity;
  if (start >= end) return;
  const size_t bytes = (end - start) * rows->row_bytes;
  for (size_t i = 0; i < rows->blocks; ++i) {
    const size_t at = (i * rows->capacity + start) * rows->row_bytes;
    if (state->initial.size == 0) {
      memset(rows->data + at, 0, bytes);
    } else if (state->row.is_uniform) {
      etx_shared_repeat(rows->data + at, bytes, state->initial);
    } else {
      memcpy(rows->data + at, state->initial.data + at, bytes);
    }
  }
}

// ---- truncation ----

static bool is_named(const etx_cache_rows* rows, etx_text name_or_prefix) {
  return etx_shared_name_matches(rows->state.row.name, name_or_prefix);
}

// Fails if the counter of a named cache counts the rows of one that is not.
static etx_status check_counter(const etx_shared_memory* shared,
                                const etx_cache_table* table,
                                const etx_cache_rows* named,
                                etx_text name_or_prefix, etx_diag* diag) {
  if (named->counter == ETX_CACHE_NO_COUNTER) return ETX_OK;
  for (size_t i = 0; i < table->count; ++i) {
    if (etx_cache_table_at(table, i).counter != named->counter) continue;
    etx_cache_rows other;
    etx_cache_rows_read(shared, table, i, &other);
    if (is_named(&other, name_or_prefix)) continue;
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "caches '%t' and '%t' have one counter, so one cannot "
                         "be truncated without the other",
                         named->state.row.name, other.state.row.name);
  }
  return ETX_OK;
}

static etx_status refuse_name(etx_text name_or_prefix, etx_diag* diag) {
  return etx_diag_fail(diag, ETX_NOT_FOUND,
                       "the program has no cache '%t' and none below it",
                       name_or_prefix);
}

static etx_status check_truncation(const etx_shared_memory* shared,
                                   const etx_cache_table* table,
                                   etx_text name_or_prefix, uint64_t length,
                                   etx_diag* diag) {
  size_t count = 0;
  if (*shared->planned.torn != 0) {
    return etx_diag_fail(diag, ETX_TORN_STATE,
                         "torn state cannot be truncated; reset or restore it");
  }
  for (size_t i = 0; i < table->count; ++i) {
    etx_cache_rows rows;
    etx_cache_rows_read(shared, table, i, &rows);
    if (!is_named(&rows, name_or_prefix)) continue;
    ETX_TRY(etx_cache_rows_check(&rows, length, diag));
    if (name_or_prefix.size != 0) {
      ETX_TRY(check_counter(shared, table, &rows, name_or_prefix, diag));
    }
    ++count;
  }
  return count > 0 ? ETX_OK : refuse_name(name_or_prefix, diag);
}

static void set_counter(etx_shared_memory* shared, int32_t counter,
                        uint64_t length) {
  etx_shared_state state;
  read_state(shared->program, counter, &state);
  etx_cache_counter_put(state.row.dtype,
                        shared->planned.data + state.row.offset, length);
}

static etx_status truncate(etx_shared_memory* shared, etx_text name_or_prefix,
                           uint64_t length, etx_diag* diag) {
  etx_cache_table table = {NULL, 0};
  etx_cache_rows rows;
  ETX_TRY(etx_cache_rows_open(shared, &table, diag));
  ETX_TRY(check_truncation(shared, &table, name_or_prefix, length, diag));
  // All rows are cleared before a counter changes, because it says which rows
  // to clear.
  for (size_t i = 0; i < table.count; ++i) {
    etx_cache_rows_read(shared, &table, i, &rows);
    if (!is_named(&rows, name_or_prefix)) continue;
    etx_cache_rows_clear(&rows, etx_cache_rows_taken(&rows, length), false);
  }
  for (size_t i = 0; i < table.count; ++i) {
    etx_cache_rows_read(shared, &table, i, &rows);
    if (!is_named(&rows, name_or_prefix)) continue;
    if (rows.counter == ETX_CACHE_NO_COUNTER) continue;
    set_counter(shared, rows.counter, length);
  }
  return ETX_OK;
}

etx_status etx_shared_memory_truncate(etx_shared_memory* shared,
                                      etx_text name_or_prefix, uint64_t length,
                                      etx_diag* diag) {
  return etx_diag_seal(diag, truncate(shared, name_or_prefix, length, diag));
}

static etx_status length_of(const etx_shared_memory* shared,
                            etx_text name_or_prefix, uint64_t* out_length,
                            etx_diag* diag) {
  etx_cache_table table = {NULL, 0};
  bool is_found = false;
  uint64_t length = 0;
  ETX_TRY(etx_cache_rows_open(shared, &table, diag));
  for (size_t i = 0; i < table.count; ++i) {
    etx_cache_rows rows;
    etx_cache_rows_read(shared, &table, i, &rows);
    if (!is_named(&rows, name_or_prefix)) continue;
    if (rows.counter == ETX_CACHE_NO_COUNTER) {
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "the program does not count the rows of cache '%t'",
                           rows.state.row.name);
    }
    ETX_TRY(check_counted(&rows, diag));
    if (is_found && (uint64_t)rows.appended != length) {
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "cache '%t' has %i rows, another one has %u",
                           rows.state.row.name, rows.appended, length);
    }
    length = (uint64_t)rows.appended;
    is_found = true;
  }
  if (!is_found) return refuse_name(name_or_prefix, diag);
  *out_length = length;
  return ETX_OK;
}

etx_status etx_shared_memory_length(const etx_shared_memory* shared,
                                    etx_text name_or_prefix,
                                    uint64_t* out_length, etx_diag* diag) {
  return etx_diag_seal(diag,
                       length_of(shared, name_or_prefix, out_length, diag));
}
