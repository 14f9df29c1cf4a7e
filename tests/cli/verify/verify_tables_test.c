// What all methods of a program must agree about: states, stable outputs,
// memories, the methods that describe the layout of state, and damaged tables.

#include "tests/cli/verify/verify_fixture.h"

#include "format/memory_table/memory_table.h"
#include "format/pte/reserved_names.h"
#include "format/source_map/source_map.h"

// ---- damaged tables ----

static void damaged_tables_are_refused(void** state) {
  static const struct {
    const char* key;
    const char* message;
  } tables[] = {
      {ETX_SOURCE_MAP_KEY, "the buffer has 4 bytes"},
      {ETX_CACHE_TABLE_KEY, "the buffer has 4 bytes"},
      {ETX_MEMORY_TABLE_KEY, "the buffer has 4 bytes"},
  };
  (void)state;
  for (size_t i = 0; i < 3; ++i) {
    const small s = start(32);
    const int y = four_at(s.p, 0);
    relu(s.p, borrowed_input(s.p), y);
    test_named(s.p, tables[i].key, "oops", 4);
    refuse_as(s.p, ETX_BAD_FILE, tables[i].message);
  }
  // A stock file has no caches and memories that could be proved.
  test_program* const p = stock(32);
  relu_of_input(p, 0);
  test_named(p, ETX_CACHE_TABLE_KEY, "oops", 4);
  accept(p);
  test_program* const q = start(32).p;
  relu_of_input(q, 0);
  test_named(q, ETX_BLOB_KEY, "oops", 4);
  refuse_as(q, ETX_BAD_FILE, "the buffer has 4 bytes");
}

static void a_good_table_of_caches_is_accepted(void** state) {
  static const etx_cache cache = {0, 0, ETX_CACHE_NO_COUNTER, ETX_CACHE_RING};
  (void)state;
  const small s = start_with_state(32, 32);
  const int a = test_state(s.p, "a", F32, SIZES(4), 0), y = four_at(s.p, 0);
  relu(s.p, a, y);
  test_output(s.p, y, "y");
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0);
  test_caches(s.p, &cache, 1);
  accept(s.p);
}

static void a_good_source_map_is_accepted(void** state) {
  static const int32_t starts[] = {0, 0};
  static const etx_source_map_method method = {{"m", 1}, starts, 1, NULL};
  static const etx_source_map_content content = {.methods = &method,
                                                 .method_count = 1};
  (void)state;
  uint64_t work[64];
  etx_bytes_mut block = {(uint8_t*)work, 0};
  etx_bytes data = {NULL, 0};
  assert_ok(etx_source_map_write_needed(&content, &block.size));
  assert_true(block.size <= sizeof work);
  assert_ok(etx_source_map_write(&content, block, &data, &diag));
  const small s = start(32);
  relu_of_input(s.p, 0);
  test_named(s.p, ETX_SOURCE_MAP_KEY, data.data, data.size);
  accept(s.p);
}

// ---- memories ----

static void add_memories(test_program* p, size_t count) {
  static const etx_memory_row rows[] = {{{"sram", 4}, 64, 1, true},
                                        {{"psram", 5}, 0, 4, false}};
  uint64_t work[64];
  etx_bytes_mut block = {(uint8_t*)work, 0};
  etx_bytes data = {NULL, 0};
  assert_ok(etx_memory_table_write_needed(rows, count, &block.size));
  assert_true(block.size <= sizeof work);
  assert_ok(etx_memory_table_write(rows, count, block, &data, &diag));
  test_named(p, ETX_MEMORY_TABLE_KEY, data.data, data.size);
}

// Two methods whose values lie in arenas 1 and 3.
static test_program* in_two_memories(size_t memories, bool are_concurrent) {
  test_program* const p = test_program_new();
  for (int i = 0; i < 2; ++i) {
    test_method(p, i == 0 ? "m" : "n");
    test_arena(p, 32);
    if (memories > 1) {
      test_arena(p, 0);
      test_arena(p, 32);
    }
    const int y = four_at(p, i == 0 ? 0 : 16);
    const int z =
        test_planned(p, F32, SIZES(4), memories > 1 ? 3 : 1, i == 0 ? 0 : 16);
    relu(p, borrowed_input(p), y);
    relu(p, y, z);
    test_output(p, z, "z");
  }
  test_blob(p);
  if (are_concurrent) test_concurrent(p, 0, 1);
  if (memories > 0) add_memories(p, memories);
  return p;
}

static void a_program_has_an_arena_for_each_memory(void** state) {
  (void)state;
  const small s = start_with_state(32, 32);
  test_arena(s.p, 32);
  const int y = test_planned(s.p, F32, SIZES(4), 3, 0);
  relu(s.p, borrowed_input(s.p), y);
  test_output(s.p, y, "y");
  refuse(s.p, "value '0' is in arena '3', expected 2 (state) or 1 (scratch)");
}

// A stable output keeps its bytes of one memory alone.
static void stable_outputs_of_two_memories_are_apart(void** state) {
  (void)state;
  for (int same = 0; same < 2; ++same) {
    test_program* const p = test_program_new();
    for (int i = 0; i < 2; ++i) {
      test_method(p, i == 0 ? "m" : "n");
      test_arena(p, 32);
      test_arena(p, 0);
      test_arena(p, 32);
      const int y = test_planned(p, F32, SIZES(4), i == 0 || same ? 3 : 1, 0);
      relu(p, borrowed_input(p), y);
      test_output(p, y, "y");
      if (i == 0) test_lifetime(p, ETX_LIFETIME_STABLE);
    }
    test_blob(p);
    add_memories(p, 2);
    if (same) {
      refuse(p, "overlaps the stable output value '0' of method 'm'");
    } else {
      accept(p);
    }
  }
}

// Two blocks of the second memory are in use together; the larger one reaches
// into the other one beyond the bytes that are written. Or only the first block
// is in the second memory.
static void blocks_of_all_memories_are_apart(void** state) {
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    test_program* const p = start(64).p;
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    const int z = borrowed_input(p);
    test_dim(p, 0, 0, symbol, 1, 0);
    test_arena(p, 0);
    test_arena(p, 96);
    const int big = test_planned(p, F32, SIZES(8), 3, 0);
    const int first = test_planned(p, F32, SIZES(4), 3, 0);
    const int a = varying_at(p, 0);
    const int b = kind == 3
                      ? four_at(p, 48)
                      : test_planned(p, F32, SIZES(4), 3, kind == 1 ? 16 : 32);
    test_view(p, first, big, 0);
    relu(p, x, a);
    relu(p, z, first);
    relu(p, z, b);
    relu(p, first, four_at(p, 32));
    test_output(p, b, "b");
    if (kind >= 2) {
      test_place(p, a, 0, 0, 16);
      if (kind == 3) test_place(p, b, 0, 32, 16);
      test_place(p, b + 1, 0, 16, 16);
    }
    add_memories(p, 2);
    if (kind == 0) {
      accept(p);
    } else {
      refuse(p, kind == 1 ? "the two share bytes in layout '0'"
                          : "layout '1' has no place for a block of another");
    }
  }
}

static void methods_of_several_memories_run_one_at_a_time(void** state) {
  (void)state;
  accept(in_two_memories(2, false));
  accept(in_two_memories(1, false));
  accept(in_two_memories(1, true));
  refuse(in_two_memories(2, true),
         "the program has 2 memories and methods that may run at the same "
         "time");
}

// ---- concurrent methods ----

// A second method has values of all kinds; the first one has values at these
// offsets, of which one contains another.
static void footprints_are_those_of_scratch_alone(void** state) {
  (void)state;
  for (int shared = 0; shared < 3; ++shared) {
    const small s = start_with_state(160, 32);
    test_program* const p = s.p;
    const int x = borrowed_input(p);
    const int far = four_at(p, 128);
    const int big = test_scratch(p, F32, SIZES(8), 0);
    const int view = four_at(p, 0);
    const int eight = test_input(p, test_borrowed(p, F32, SIZES(8)), "eight");
    test_view(p, view, big, 0);
    relu(p, x, far);
    relu(p, eight, big);
    test_output(p, view, "v");
    test_output(p, far, "f");
    test_method(p, "n");
    test_arenas(p, 160, 32);
    const int a = test_state(p, "a", F32, SIZES(4), 0);
    const int y = four_at(p, shared == 0 ? 96 : shared == 1 ? 16 : 128);
    const int z = four_at(p, 48);
    relu(p, a, z);
    test_output(p, z, "z");
    test_int(p, 3);
    relu(p, a, y);
    test_output(p, y, "y");
    test_method(p, "o");
    test_arenas(p, 160, 32);
    copy_onto(p, test_state(p, "a", F32, SIZES(4), 0), borrowed_input(p));
    test_state_row(p, "a", F32, SIZES(4), 0, 0);
    test_concurrent(p, 0, 1);
    test_concurrent(p, 0, 2);
    if (shared == 0) {
      accept(p);
    } else {
      refuse(p, shared == 1 ? "both have values at bytes 16 to 32 of arena '1'"
                            : "both have values at bytes 128 to 144");
    }
  }
}

// ---- states ----

static void states_are_aligned_and_may_have_no_bytes(void** state) {
  (void)state;
  small s = start_with_state(32, 48);
  relu_of_input(s.p, 0);
  test_state_row(s.p, "a", F32, SIZES(8), 16, 0);
  test_state_row(s.p, "b", F32, SIZES(0, 4), 32, 0);
  test_state_row(s.p, "c", F32, SIZES(4), 0, 0);
  accept(s.p);
  s = start_with_state(32, 48);
  relu_of_input(s.p, 0);
  test_state_row(s.p, "a", F32, SIZES(4), 8, 0);
  refuse(s.p, "state 'a' is at offset 8, expected a multiple of 16");
}

static void states_that_start_together_are_refused(void** state) {
  (void)state;
  for (int order = 0; order < 3; ++order) {
    const small s = start_with_state(32, 48);
    relu_of_input(s.p, 0);
    test_state_row(s.p, "a", F32, SIZES(order == 0 ? 4 : 8), 0, 0);
    test_state_row(s.p, "b", F32, SIZES(order == 1 ? 4 : 8), 0, 0);
    refuse(s.p, "overlaps state");
  }
}

static void an_input_is_not_in_the_arena_of_states(void** state) {
  (void)state;
  for (int second = 0; second < 2; ++second) {
    const small s = start_with_state(32, 32);
    const int a = test_state(s.p, "a", F32, SIZES(4), 0), y = four_at(s.p, 0);
    if (second) test_input(s.p, four_at(s.p, 16), "scratch");
    test_input(s.p, a, "state");
    relu(s.p, a, y);
    test_output(s.p, y, "y");
    test_state_row(s.p, "a", F32, SIZES(4), 0, 0);
    refuse(s.p, second ? "input '1' is in the arena of states"
                       : "input '0' is in the arena of states");
  }
}

// Stock files: states of two methods at these offsets, and of these sizes.
typedef struct stock_states {
  const char* names[4];
  uint64_t at[4];
  int32_t sizes[4];
  const char* message;
} stock_states;

static test_program* with_states(const stock_states* row, int64_t second) {
  test_program* const p = test_program_new();
  for (int i = 0; i < 2; ++i) {
    test_method(p, i == 0 ? "m" : "n");
    test_arenas(p, 32, i == 0 ? 96 : second);
    for (int k = 0; k < 2; ++k) {
      const int n = 2 * i + k;
      if (row->names[n] == NULL) continue;
      test_state(p, row->names[n], F32, SIZES(row->sizes[n]), row->at[n]);
    }
  }
  return p;
}

static void states_of_stock_files_nest(void** state) {
  static const stock_states rows[] = {
      {{"a", "b", "a", "b"}, {0, 32, 0, 32}, {8, 8, 8, 8}, NULL},
      {{"b", "a", "b", "a"}, {0, 32, 0, 32}, {8, 8, 8, 8}, NULL},
      {{"a", "", "a", ""}, {0, 16, 0, 16}, {8, 4, 8, 4}, NULL},
      {{"a", "b", "b", "a"}, {32, 0, 0, 32}, {8, 4, 4, 8}, NULL},
      {{"a", "a", NULL, NULL}, {0, 0, 0, 0}, {8, 8, 0, 0}, NULL},
      {{"", "", "", NULL}, {0, 16, 32, 0}, {4, 4, 4, 0}, NULL},
      {{"a", "b", "c", "d"}, {0, 0, 0, 0}, {8, 8, 8, 8}, NULL},
      {{"a", "c", "b", "d"}, {0, 64, 16, 80}, {8, 8, 8, 4}, "overlaps value"},
      {{"a", NULL, "a", NULL},
       {0, 0, 32, 0},
       {8, 0, 8, 0},
       "state 'a' is at bytes 0 to 32 in method 'm', but at bytes 32 to 64"},
      {{"a", NULL, "a", NULL},
       {0, 0, 0, 0},
       {8, 0, 4, 0},
       "state 'a' is at bytes 0 to 32 in method 'm', but at bytes 0 to 16"},
      {{"a", NULL, "a", NULL},
       {0, 0, 0, 0},
       {4, 0, 8, 0},
       "state 'a' is at bytes 0 to 32 in method 'n', but at bytes 0 to 16"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    test_program* const p = with_states(&rows[i], 96);
    if (rows[i].message == NULL) {
      accept(p);
    } else {
      refuse(p, rows[i].message);
    }
  }
  // Methods that do not agree on the arena share nothing.
  accept(with_states(&rows[5], 112));
  accept(with_states(&rows[7], 112));
  accept(with_states(&rows[8], 95));
}

// States without a name, which are known because they are read.
// Another state lies between the two places of one.
static void states_of_stock_files_have_one_place(void** state) {
  (void)state;
  for (int moved = 0; moved < 2; ++moved) {
    test_program* const p = test_program_new();
    for (int i = 0; i < 2; ++i) {
      test_method(p, i == 0 ? "m" : "n");
      test_arenas(p, 32, 64);
      const int y = four_at(p, 0);
      relu(p, test_state(p, "a", F32, SIZES(4), i == 1 && moved ? 32 : 0), y);
      relu(p, test_state(p, "b", F32, SIZES(4), 16), y);
      test_output(p, y, "y");
    }
    if (moved) {
      refuse(p, "state 'a' is at bytes 0 to 16 in method 'm'");
    } else {
      accept(p);
    }
  }
}

static void states_of_stock_files_may_have_no_name(void** state) {
  (void)state;
  test_program* const p = test_program_new();
  test_method(p, "m");
  test_arenas(p, 48, 48);
  const int a = test_state(p, "", F32, SIZES(4), 0);
  const int b = test_state(p, "", F32, SIZES(4), 16);
  const int y = four_at(p, 0);
  add(p, a, b, y);
  test_output(p, y, "y");
  accept(p);
}

// ---- stable outputs ----

// The second method writes at this offset.
static test_program* with_lifetime(etx_blob_lifetime lifetime,
                                   uint64_t second) {
  test_program* const p = start(64).p;
  const int y = four_at(p, 0);
  relu(p, borrowed_input(p), y);
  test_output(p, test_int(p, 3), "n");
  test_output(p, y, "y");
  test_lifetime(p, lifetime);
  test_method(p, "n");
  test_arenas(p, 64, 0);
  const int z = four_at(p, second);
  relu(p, borrowed_input(p), z);
  test_output(p, z, "z");
  return p;
}

// As many as the first table of outputs holds, and one more.
static void many_stable_outputs_are_in_the_way(void** state) {
  (void)state;
  for (int round = 0; round < 9; ++round) {
    const int count = 15 + round / 3;
    const int places[] = {count, count - 1, 0};
    test_program* const p = start(16 * 20).p;
    const int x = borrowed_input(p);
    for (int i = 0; i < count; ++i) {
      const int y = four_at(p, 16u * (unsigned)i);
      relu(p, x, y);
      test_output(p, y, "y");
      test_lifetime(p, ETX_LIFETIME_STABLE);
    }
    test_method(p, "n");
    test_arenas(p, 16 * 20, 0);
    const int z = four_at(p, 16u * (unsigned)places[round % 3]);
    relu(p, borrowed_input(p), z);
    test_output(p, z, "z");
    if (round % 3 == 0) {
      accept(p);
    } else {
      refuse(p, "overlaps the stable output value");
    }
  }
}

// Neither a stable output in state nor a state of another method is in the way.
static void stable_outputs_in_state_are_not_in_the_way(void** state) {
  (void)state;
  const small s = start_with_state(64, 32);
  const int a = test_state(s.p, "a", F32, SIZES(4), 0), y = four_at(s.p, 0);
  relu(s.p, a, y);
  test_output(s.p, a, "a");
  test_lifetime(s.p, ETX_LIFETIME_STABLE);
  test_output(s.p, y, "y");
  test_lifetime(s.p, ETX_LIFETIME_STABLE);
  test_method(s.p, "n");
  test_arenas(s.p, 64, 32);
  copy_onto(s.p, test_state(s.p, "a", F32, SIZES(4), 0), borrowed_input(s.p));
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0);
  accept(s.p);
}

static void no_method_writes_where_a_stable_output_lies(void** state) {
  (void)state;
  accept(with_lifetime(ETX_LIFETIME_STABLE, 16));
  refuse(with_lifetime(ETX_LIFETIME_STABLE, 0),
         "value '0' of method 'n' overlaps the stable output value '0' of "
         "method 'm' at bytes 0 to 16");
  // The same if the other method comes first.
  test_program* const p = start(64).p;
  relu_of_input(p, 0);
  test_method(p, "n");
  test_arenas(p, 64, 0);
  const int y = four_at(p, 0);
  relu(p, borrowed_input(p), y);
  test_output(p, y, "y");
  test_lifetime(p, ETX_LIFETIME_STABLE);
  refuse(p, "value '0' of method 'm' overlaps the stable output value '0' of");
  refuse(with_lifetime(ETX_LIFETIME_STATE, 16),
         "output 'y' is in scratch, expected a state");
}

// ---- the methods that describe the layout of state ----

typedef struct described_layout {
  bool has_names, has_plan;
  etx_dtype names_type;
  int outputs;            // of the method of names
  int names_kind;         // 0: a constant; 1: an Int; 2: planned; 3: in a data
                          // file; 4: no data; 5: rank 1
  int32_t rows, columns;  // of the numbers
  int64_t row[6];
  const char* message;  // NULL: accepted
} described_layout;

#define ROW 2, 0, 16, 16, 16, 4

static const described_layout layouts[] = {
    {true, true, ETX_DTYPE_UINT8, 1, 0, 1, 6, {ROW}, NULL},
    {false, false, ETX_DTYPE_UINT8, 1, 0, 1, 6, {ROW}, NULL},
    {true, false, ETX_DTYPE_UINT8, 1, 0, 1, 6, {ROW}, "must both exist"},
    {false, true, ETX_DTYPE_UINT8, 1, 0, 1, 6, {ROW}, "must both exist"},
    {true, true, ETX_DTYPE_UINT8, 1, 0, 2, 3, {ROW}, "must both exist"},
    {true, true, ETX_DTYPE_UINT8, 1, 0, 1, 5, {ROW}, "must both exist"},
    {true, true, ETX_DTYPE_UINT8, 2, 0, 1, 6, {ROW}, "must have one output"},
    {true, true, ETX_DTYPE_INT8, 1, 0, 1, 6, {ROW}, "a constant 'uint8'"},
    {true, true, ETX_DTYPE_UINT8, 1, 1, 1, 6, {ROW}, "a constant 'uint8'"},
    {true, true, ETX_DTYPE_UINT8, 1, 2, 1, 6, {ROW}, "a constant 'uint8'"},
    {true, true, ETX_DTYPE_UINT8, 1, 3, 1, 6, {ROW}, "a constant 'uint8'"},
    {true, true, ETX_DTYPE_UINT8, 1, 4, 1, 6, {ROW}, "a constant 'uint8'"},
    {true, true, ETX_DTYPE_UINT8, 1, 5, 1, 6, {ROW}, "a constant 'uint8'"},
    {true,
     true,
     ETX_DTYPE_UINT8,
     1,
     0,
     1,
     6,
     {1, 0, 16, 16, 16, 4},
     "16 bytes at offset 16 of arena 1, expected 16 bytes at offset 16 of"},
    {true,
     true,
     ETX_DTYPE_UINT8,
     1,
     0,
     1,
     6,
     {2, 0, -1, 16, 16, 4},
     "at offset -1"},
    {true,
     true,
     ETX_DTYPE_UINT8,
     1,
     0,
     1,
     6,
     {2, 0, 0, 16, 16, 4},
     "at offset 0 of arena 2"},
    {true,
     true,
     ETX_DTYPE_UINT8,
     1,
     0,
     1,
     6,
     {2, 0, 16, 16, -16, 4},
     "gives state 'a' -16 bytes"},
    {true,
     true,
     ETX_DTYPE_UINT8,
     1,
     0,
     1,
     6,
     {2, 0, 16, 16, 12, 4},
     "gives state 'a' 12 bytes"},
    {true,
     true,
     ETX_DTYPE_UINT8,
     1,
     0,
     1,
     6,
     {2, 0, 16, 15, 16, 4},
     "gives state 'a' 15 allocated bytes, expected at least 16"},
    {true,
     true,
     ETX_DTYPE_UINT8,
     1,
     0,
     1,
     6,
     {2, 0, 16, 16, 16, 5},
     "gives state 'a' 5 elements, expected 4"},
};

static void add_names(test_program* p, const described_layout* row) {
  static const char names[4] = {'a', 0, 0, 0};
  const uint32_t data = test_data(p, names, sizeof names);
  int value = 0;
  test_method(p, ETX_METHOD_BUFFER_NAMES);
  if (row->names_kind == 1) {
    value = test_int(p, 1);
  } else if (row->names_kind == 2) {
    test_arena(p, 16);
    value = test_scratch(p, row->names_type, SIZES(1, 4), 0);
  } else if (row->names_kind == 5) {
    value = test_constant(p, row->names_type, SIZES(4), data);
  } else {
    value = test_constant(p, row->names_type, SIZES(1, 4),
                          row->names_kind == 0 ? data : 0);
  }
  if (row->names_kind == 3) {
    test_tensor_of(p, value)->location = ETX_PTE_EXTERNAL;
    test_tensor_of(p, value)->name = etx_text_of("elsewhere");
  }
  if (row->names_kind == 2 || row->names_kind == 4) {
    test_input(p, value, "given");
  }
  for (int i = 0; i < row->outputs; ++i) test_output(p, value, "names");
}

static void add_layout(test_program* p, const described_layout* row) {
  if (row->has_names) add_names(p, row);
  if (!row->has_plan) return;
  test_method(p, ETX_METHOD_BUFFER_PLAN);
  test_output(p,
              test_constant(p, ETX_DTYPE_INT64, SIZES(row->rows, row->columns),
                            test_data(p, row->row, sizeof row->row)),
              "plan");
}

static void layout_methods_tell_of_states_without_bytes(void** state) {
  (void)state;
  described_layout row = layouts[0];
  static const int64_t numbers[6] = {2, 0, 16, 0, 0, 0};
  memcpy(row.row, numbers, sizeof numbers);
  const small s = start_with_state(0, 32);
  test_state(s.p, "a", F32, SIZES(0), 16);
  test_state_row(s.p, "a", F32, SIZES(0), 16, 0);
  add_layout(s.p, &row);
  accept(s.p);
}

static void layout_methods_tell_the_truth(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
    const small s = start_with_state(0, 32);
    test_state(s.p, "a", F32, SIZES(4), 16);
    test_state_row(s.p, "a", F32, SIZES(4), 16, 0);
    add_layout(s.p, &layouts[i]);
    if (layouts[i].message == NULL) {
      accept(s.p);
    } else {
      refuse(s.p, layouts[i].message);
    }
  }
}

// Names as long as a row, and no names at all.
static void names_of_states_fill_a_row_or_are_none(void** state) {
  static const char name[4] = {'l', 'o', 'n', 'g'};
  static const int64_t row[6] = {2, 0, 16, 16, 16, 4};
  (void)state;
  const small s = start_with_state(0, 32);
  test_state_row(s.p, "long", F32, SIZES(4), 16, 0);
  test_method(s.p, ETX_METHOD_BUFFER_NAMES);
  test_output(s.p,
              test_constant(s.p, ETX_DTYPE_UINT8, SIZES(1, 4),
                            test_data(s.p, name, sizeof name)),
              "names");
  test_method(s.p, ETX_METHOD_BUFFER_PLAN);
  test_output(s.p,
              test_constant(s.p, ETX_DTYPE_INT64, SIZES(1, 6),
                            test_data(s.p, row, sizeof row)),
              "plan");
  accept(s.p);
  const small none = start(16);
  test_method(none.p, ETX_METHOD_BUFFER_NAMES);
  test_output(none.p, test_borrowed(none.p, ETX_DTYPE_UINT8, SIZES(0, 4)),
              "names");
  test_method(none.p, ETX_METHOD_BUFFER_PLAN);
  test_output(none.p, test_borrowed(none.p, ETX_DTYPE_INT64, SIZES(0, 6)),
              "plan");
  accept(none.p);
}

// A table of no rows: not planned, and not in another file.
static void names_of_no_states_are_in_the_file(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    test_program* const p = start(16).p;
    test_method(p, ETX_METHOD_BUFFER_NAMES);
    test_arena(p, 16);
    int names = test_borrowed(p, ETX_DTYPE_UINT8, SIZES(0, 4));
    if (kind == 1) names = test_scratch(p, ETX_DTYPE_UINT8, SIZES(0, 4), 0);
    if (kind == 2) {
      test_tensor_of(p, names)->location = ETX_PTE_EXTERNAL;
      test_tensor_of(p, names)->name = etx_text_of("elsewhere");
    }
    test_output(p, names, "names");
    test_method(p, ETX_METHOD_BUFFER_PLAN);
    test_output(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(0, 6)), "plan");
    if (kind == 0) {
      accept(p);
    } else {
      refuse(p, "must return a constant 'uint8' tensor");
    }
  }
}

static void names_of_states_are_not_empty(void** state) {
  static const char name[4] = {0};
  (void)state;
  test_program* const p = start_with_state(0, 32).p;
  test_state_row(p, "a", F32, SIZES(4), 16, 0);
  test_method(p, ETX_METHOD_BUFFER_NAMES);
  test_output(p,
              test_constant(p, ETX_DTYPE_UINT8, SIZES(1, 4),
                            test_data(p, name, sizeof name)),
              "names");
  test_method(p, ETX_METHOD_BUFFER_PLAN);
  test_output(
      p,
      test_constant(p, ETX_DTYPE_INT64, SIZES(1, 6),
                    test_data(p, layouts[0].row, sizeof layouts[0].row)),
      "plan");
  refuse(p, "names '', which is not a state");
}

// The letters of the next row are not those of a name.
static void names_of_states_end_with_their_row(void** state) {
  static const char names[2][4] = {{'l', 'o', 'n', 'g'}, {'w', 'i', 'd', 'e'}};
  static const int64_t rows[2][6] = {{2, 0, 0, 16, 16, 4},
                                     {2, 0, 16, 16, 16, 4}};
  (void)state;
  const small s = start_with_state(0, 32);
  test_state_row(s.p, "long", F32, SIZES(4), 0, 0);
  test_state_row(s.p, "wide", F32, SIZES(4), 16, 0);
  test_method(s.p, ETX_METHOD_BUFFER_NAMES);
  test_output(s.p,
              test_constant(s.p, ETX_DTYPE_UINT8, SIZES(2, 4),
                            test_data(s.p, names, sizeof names)),
              "names");
  test_method(s.p, ETX_METHOD_BUFFER_PLAN);
  test_output(s.p,
              test_constant(s.p, ETX_DTYPE_INT64, SIZES(2, 6),
                            test_data(s.p, rows, sizeof rows)),
              "plan");
  accept(s.p);
}

static void numbers_of_states_are_integers(void** state) {
  (void)state;
  const small s = start_with_state(0, 32);
  test_state_row(s.p, "a", F32, SIZES(4), 16, 0);
  add_names(s.p, &layouts[0]);
  test_method(s.p, ETX_METHOD_BUFFER_PLAN);
  test_output(s.p, test_int(s.p, 2), "plan");
  refuse(s.p, "must return a constant 'int64' tensor with 2 dimensions");
}

static void numbers_of_states_are_in_the_file(void** state) {
  (void)state;
  const small s = start_with_state(0, 32);
  test_state_row(s.p, "a", F32, SIZES(4), 16, 0);
  add_names(s.p, &layouts[0]);
  test_method(s.p, ETX_METHOD_BUFFER_PLAN);
  const int given = test_borrowed(s.p, ETX_DTYPE_INT64, SIZES(1, 6));
  test_output(s.p, test_input(s.p, given, "given"), "plan");
  refuse(s.p, "must return a constant 'int64' tensor with 2 dimensions");
}

static void layout_methods_name_every_state(void** state) {
  (void)state;
  const small s = start_with_state(0, 48);
  test_state(s.p, "a", F32, SIZES(4), 16);
  test_state_row(s.p, "a", F32, SIZES(4), 16, 0);
  test_state_row(s.p, "b", F32, SIZES(4), 32, 0);
  add_layout(s.p, &layouts[0]);
  refuse(s.p, "names 1 states, expected 2");
}

// A stock file may describe states that no method names.
static void layout_methods_of_stock_files_tell_of_known_states(void** state) {
  (void)state;
  for (int lie = 0; lie < 5; ++lie) {
    described_layout row = layouts[0];
    test_program* const p = stock(16);
    test_arena(p, 32);
    if (lie != 4) test_state(p, "0", F32, SIZES(4), 0);
    test_state(p, lie == 1 ? "b" : "a", F32, SIZES(4), 16);
    const bool is_wrong = lie == 2 || lie == 4;  // of the last, or only, state
    if (is_wrong) row.row[2] = 0;
    if (lie == 3) row.row[5] = 77;  // a stock state has no elements to compare
    add_layout(p, &row);
    if (is_wrong) {
      refuse(p, "at offset 0 of arena 2, expected 16 bytes at offset 16");
    } else {
      accept(p);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_tables_are_refused),
      cmocka_unit_test(a_good_table_of_caches_is_accepted),
      cmocka_unit_test(blocks_of_all_memories_are_apart),
      cmocka_unit_test(methods_of_several_memories_run_one_at_a_time),
      cmocka_unit_test(footprints_are_those_of_scratch_alone),
      cmocka_unit_test(states_are_aligned_and_may_have_no_bytes),
      cmocka_unit_test(an_input_is_not_in_the_arena_of_states),
      cmocka_unit_test(states_of_stock_files_nest),
      cmocka_unit_test(states_of_stock_files_have_one_place),
      cmocka_unit_test(states_of_stock_files_may_have_no_name),
      cmocka_unit_test(many_stable_outputs_are_in_the_way),
      cmocka_unit_test(stable_outputs_in_state_are_not_in_the_way),
      cmocka_unit_test(no_method_writes_where_a_stable_output_lies),
      cmocka_unit_test(layout_methods_tell_the_truth),
      cmocka_unit_test(layout_methods_tell_of_states_without_bytes),
      cmocka_unit_test(a_good_source_map_is_accepted),
      cmocka_unit_test(a_program_has_an_arena_for_each_memory),
      cmocka_unit_test(stable_outputs_of_two_memories_are_apart),
      cmocka_unit_test(states_that_start_together_are_refused),
      cmocka_unit_test(names_of_states_fill_a_row_or_are_none),
      cmocka_unit_test(names_of_states_end_with_their_row),
      cmocka_unit_test(numbers_of_states_are_integers),
      cmocka_unit_test(numbers_of_states_are_in_the_file),
      cmocka_unit_test(layout_methods_name_every_state),
      cmocka_unit_test(layout_methods_of_stock_files_tell_of_known_states),
      cmocka_unit_test(names_of_no_states_are_in_the_file),
      cmocka_unit_test(names_of_states_are_not_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
