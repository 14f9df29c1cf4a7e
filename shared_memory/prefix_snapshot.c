#include "shared_memory/prefix_snapshot.h"

#include "format/base/checked_math.h"
#include "shared_memory/cache_rows.h"
#include "shared_memory/snapshot_header.h"

// Goes through the states in the order of the content.
typedef struct prefix_walk {
  const etx_shared_memory* shared;
  etx_cache_table table;
  uint64_t length;
  etx_shared_cursor cursor;
  size_t next_cache;  // in the table
  // The present state.
  etx_shared_state state;
  bool is_cache;
  etx_cache_rows rows;  // of a cache
  size_t bytes;         // of the state in the content
} prefix_walk;

// Goes back to the start.
static void start(prefix_walk* walk) {
  memset(&walk->cursor, 0, sizeof walk->cursor);
  walk->next_cache = 0;
}

static etx_status open_walk(prefix_walk* walk, const etx_shared_memory* shared,
                            uint64_t length, etx_diag* diag) {
  walk->shared = shared;
  walk->length = length;
  return etx_cache_rows_open(shared, &walk->table, diag);
}

// Goes to the next state; false at the end.
static bool next(prefix_walk* walk) {
  const etx_program* program = walk->shared->program;
  const size_t position = walk->cursor.row;
  if (!etx_shared_plan_next(program, &walk->cursor, &walk->state)) return false;
  walk->bytes = walk->state.bytes;
  walk->is_cache =
      walk->next_cache < walk->table.count &&
      (size_t)etx_cache_table_at(&walk->table, walk->next_cache).state ==
          position;
  if (!walk->is_cache) return true;
  etx_cache_rows_read(walk->shared, &walk->table, walk->next_cache++,
                      &walk->rows);
  walk->bytes = walk->rows.blocks *
                etx_cache_rows_taken(&walk->rows, walk->length) *
                walk->rows.row_bytes;
  return true;
}

static etx_status snapshot_bytes(prefix_walk* walk, bool checks,
                                 size_t* out_bytes, etx_diag* diag) {
  size_t bytes = ETX_SNAPSHOT_HEADER;
  start(walk);
  while (next(walk)) {
    if (checks && walk->is_cache) {
      ETX_TRY(etx_cache_rows_check(&walk->rows, walk->length, diag));
    }
    // States of a forged file may share bytes.
    if (!etx_add_size(bytes, walk->bytes, &bytes)) return ETX_OUT_OF_RANGE;
  }
  *out_bytes = bytes;
  return ETX_OK;
}

static etx_status save_needed(const etx_shared_memory* shared, uint64_t length,
                              size_t* out_bytes, etx_diag* diag) {
  prefix_walk walk;
  ETX_TRY(open_walk(&walk, shared, length, diag));
  return snapshot_bytes(&walk, true, out_bytes, diag);
}

etx_status etx_shared_memory_save_prefix_needed(const etx_shared_memory* shared,
                                                uint64_t length,
                                                size_t* out_bytes,
                                                etx_diag* diag) {
  return etx_diag_seal(diag, save_needed(shared, length, out_bytes, diag));
}

// Bytes of the rows of one part of a cache in the content.
static size_t part_bytes(const prefix_walk* walk) {
  return etx_cache_rows_taken(&walk->rows, walk->length) * walk->rows.row_bytes;
}

static uint8_t* part_of(const etx_cache_rows* rows, size_t index) {
  return rows->data + index * rows->capacity * rows->row_bytes;
}

// Writes the first rows of a cache.
static void save_rows(const prefix_walk* walk, uint8_t* content) {
  const size_t bytes = part_bytes(walk);
  for (size_t i = 0; i < walk->rows.blocks; ++i) {
    memcpy(content + i * bytes, part_of(&walk->rows, i), bytes);
  }
}

static bool is_counter(const etx_cache_table* table, size_t position) {
  for (size_t i = 0; i < table->count; ++i) {
    if (etx_cache_table_at(table, i).counter == (int32_t)position) return true;
  }
  return false;
}

// Writes the present state, which is not a cache.
static void save_state(const prefix_walk* walk, uint8_t* content) {
  const size_t position = walk->cursor.row - 1;
  const uint8_t* const data =
      walk->shared->planned.data + walk->state.row.offset;
  memcpy(content, data, walk->bytes);
  // Only states of one integer are counters.
  if (walk->bytes > sizeof(int64_t) || !is_counter(&walk->table, position)) {
    return;
  }
  etx_cache_counter_put(walk->state.row.dtype, content, walk->length);
}

static etx_status save(const etx_shared_memory* shared, uint64_t length,
                       etx_bytes_mut out, size_t* out_size, etx_diag* diag) {
  prefix_walk walk;
  size_t needed = 0;
  if (*shared->planned.torn != 0) {
    return etx_diag_fail(diag, ETX_TORN_STATE,
                         "torn state cannot be saved; reset it first");
  }
  ETX_TRY(open_walk(&walk, shared, length, diag));
  ETX_TRY(snapshot_bytes(&walk, true, &needed, diag));
  if (out.size < needed) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "a snapshot of %u rows needs %z bytes, %z were given",
                         length, needed, out.size);
  }
  uint8_t* content = out.data + ETX_SNAPSHOT_HEADER;
  start(&walk);
  while (next(&walk)) {
    if (walk.is_cache) {
      save_rows(&walk, content);
    } else {
      save_state(&walk, content);
    }
    content += walk.bytes;
  }
  etx_snapshot_finish(shared, ETX_SNAPSHOT_PREFIX, length,
                      (etx_bytes_mut){out.data, needed});
  *out_size = needed;
  return ETX_OK;
}

etx_status etx_shared_memory_save_prefix(const etx_shared_memory* shared,
                                         uint64_t length, etx_bytes_mut out,
                                         size_t* out_size, etx_diag* diag) {
  return etx_diag_seal(diag, save(shared, length, out, out_size, diag));
}

static void restore_rows(const prefix_walk* walk, const uint8_t* content) {
  const size_t bytes = part_bytes(walk);
  for (size_t i = 0; i < walk->rows.blocks; ++i) {
    memcpy(part_of(&walk->rows, i), content + i * bytes, bytes);
  }
}

// Writes initial values to the rows behind the prefix. In torn state, a counter
// does not say which rows were written.
static void clear_rest(prefix_walk* walk) {
  const bool all = *walk->shared->planned.torn != 0;
  start(walk);
  while (next(walk)) {
    if (!walk->is_cache) continue;
    etx_cache_rows_clear(&walk->rows,
                         etx_cache_rows_taken(&walk->rows, walk->length), all);
  }
}

etx_status etx_prefix_snapshot_restore(etx_shared_memory* shared,
                                       etx_bytes snapshot, uint64_t length,
                                       etx_diag* diag) {
  prefix_walk walk;
  size_t needed = 0;
  ETX_TRY(open_walk(&walk, shared, length, diag));
  ETX_TRY(snapshot_bytes(&walk, false, &needed, diag));
  if (snapshot.size != needed) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the snapshot of %u rows has %z bytes, expected %z",
                         length, snapshot.size, needed);
  }
  ETX_TRY(etx_snapshot_check_content(snapshot, diag));
  // Before counters change, because they say which rows to clear.
  clear_rest(&walk);
  const uint8_t* content = snapshot.data + ETX_SNAPSHOT_HEADER;
  start(&walk);
  while (next(&walk)) {
    if (walk.is_cache) {
      restore_rows(&walk, content);
    } else {
      memcpy(shared->planned.data + walk.state.row.offset, content, walk.bytes);
    }
    content += walk.bytes;
  }
  *shared->planned.torn = 0;
  return ETX_OK;
}
