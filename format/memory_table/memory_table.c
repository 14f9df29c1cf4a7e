// Opens a table of memories: verifies its structure, then the memories.

#include "format/memory_table/memory_table.h"

#include "format/memory_table/memory_table_schema_internal.h"
#include "format/pte/named_data.h"

#define FB_SCHEMA "format/memory_table/memory_table_schema.def"
#define FB_FIELD_COUNT(table) ETX_MEMORIES_##table##_FIELD_COUNT
#include "format/flatbuffers/fb_schema_tables.inc"

const etx_fb_schema etx_memory_table_schema = {FB_SCHEMA_DATA,
                                               {'E', 'T', 'X', 'M'}};

enum { NAME_BYTES = 32 };

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool etx_memory_name_is_valid(etx_text name) {
  if (name.size == 0 || name.size > NAME_BYTES || !is_letter(name.data[0])) {
    return false;
  }
  for (size_t i = 1; i < name.size; ++i) {
    const char c = name.data[i];
    if (!is_letter(c) && (c < '0' || c > '9') && c != '_') return false;
  }
  return true;
}

static etx_fb_vector memories_of(const etx_memory_table* table) {
  return etx_fb_vector_in(&table->fb, table->root,
                          ETX_MEMORIES_Memories_memories);
}

size_t etx_memory_table_count(const etx_memory_table* table) {
  return memories_of(table).count;
}

etx_memory_row etx_memory_table_at(const etx_memory_table* table,
                                   size_t index) {
  const etx_fb_buffer* const fb = &table->fb;
  const uint32_t at = etx_fb_table_at(fb, memories_of(table), (uint32_t)index);
  const etx_memory_row row = {
      .name = etx_fb_string(fb, at, ETX_MEMORIES_Memory_name),
      .capacity = etx_fb_u64(fb, at, ETX_MEMORIES_Memory_capacity, 0),
      .cost = etx_fb_u32(fb, at, ETX_MEMORIES_Memory_cost, 1),
      .holds_state = etx_fb_u8(fb, at, ETX_MEMORIES_Memory_holds_state, 0) != 0,
  };
  return row;
}

// ---- opening ----

static etx_status check_row(const etx_memory_table* table, size_t index,
                            etx_diag* diag) {
  const etx_memory_row row = etx_memory_table_at(table, index);
  if (!etx_memory_name_is_valid(row.name)) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "memory '%z' in '%s' has the name '%t', expected "
                         "letters, digits and underscores",
                         index, ETX_MEMORY_TABLE_KEY, row.name);
  }
  if (row.cost == 0 || row.cost > ETX_MEMORY_MOST_COST) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "memory '%t' in '%s' has the cost %u, expected 1 to "
                         "%u",
                         row.name, ETX_MEMORY_TABLE_KEY, (uint64_t)row.cost,
                         (uint64_t)ETX_MEMORY_MOST_COST);
  }
  for (size_t i = 0; i < index; ++i) {
    if (!etx_text_equal(etx_memory_table_at(table, i).name, row.name)) continue;
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "'%s' has two memories with the name '%t'",
                         ETX_MEMORY_TABLE_KEY, row.name);
  }
  return ETX_OK;
}

// The bytes of an arena; a method has none of those that it does not use.
static uint64_t arena_bytes(const etx_pte_plan* plan, size_t arena) {
  return arena < etx_pte_buffer_size_count(plan)
             ? (uint64_t)etx_pte_buffer_size_at(plan, arena)
             : 0;
}

static etx_status check_capacities(const etx_memory_table* table,
                                   const etx_pte_plan* plan, etx_diag* diag) {
  const size_t count = etx_memory_table_count(table);
  for (size_t i = 0; i < count; ++i) {
    const etx_memory_row row = etx_memory_table_at(table, i);
    const uint64_t scratch = arena_bytes(plan, etx_memory_arena_of(i));
    const uint64_t state = row.holds_state ? arena_bytes(plan, 2) : 0;
    if (row.capacity == 0 ||
        (scratch <= row.capacity && state <= row.capacity - scratch)) {
      continue;
    }
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "method '%t' has %u bytes of scratch and %u of state "
                         "in memory '%t', expected at most %u",
                         etx_pte_plan_name(plan), scratch, state, row.name,
                         row.capacity);
  }
  return ETX_OK;
}

static etx_status check_plans(const etx_memory_table* table, const etx_pte* pte,
                              etx_diag* diag) {
  const size_t most = etx_memory_arena_of(etx_memory_table_count(table) - 1);
  const size_t count = etx_pte_plan_count(pte);
  for (size_t i = 0; i < count; ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(pte, i);
    const size_t arenas = etx_pte_buffer_size_count(&plan);
    // Arena 2 is the state.
    if (arenas <= most + 1 || arenas <= 3) {
      ETX_TRY(check_capacities(table, &plan, diag));
      continue;
    }
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "method '%t' has arena '%z', expected at most '%z' "
                         "for the %z memories of '%s'",
                         etx_pte_plan_name(&plan), arenas - 1, most,
                         etx_memory_table_count(table), ETX_MEMORY_TABLE_KEY);
  }
  return ETX_OK;
}

static etx_status check(const etx_memory_table* table, const etx_pte* pte,
                        etx_diag* diag) {
  const size_t count = etx_memory_table_count(table);
  size_t holders = 0;
  if (count == 0 || count > ETX_MEMORY_TABLE_MOST) {
    return etx_diag_fail(
        diag, ETX_BAD_FILE, "'%s' has %z memories, expected 1 to %u",
        ETX_MEMORY_TABLE_KEY, count, (uint64_t)ETX_MEMORY_TABLE_MOST);
  }
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(check_row(table, i, diag));
    holders += etx_memory_table_at(table, i).holds_state;
  }
  if (holders != 1) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "%z memories of '%s' hold the state, expected one",
                         holders, ETX_MEMORY_TABLE_KEY);
  }
  return check_plans(table, pte, diag);
}

static etx_status open_table(etx_memory_table* table, const etx_pte* pte,
                             etx_diag* diag) {
  etx_memory_table opened;
  ETX_TRY(etx_named_data_open(pte, ETX_MEMORY_TABLE_KEY,
                              &etx_memory_table_schema, &opened.fb,
                              &opened.root, diag));
  ETX_TRY(check(&opened, pte, diag));
  *table = opened;
  return ETX_OK;
}

etx_status etx_memory_table_open(etx_memory_table* table, const etx_pte* pte,
                                 etx_diag* diag) {
  const etx_status status = open_table(table, pte, diag);
  // A program for one memory is not an error.
  return status == ETX_NOT_FOUND ? status : etx_diag_seal(diag, status);
}
