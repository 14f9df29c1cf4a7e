#include "tests/support/counter_program.h"

typedef struct states {
  int count, table, modest;
} states;

static states add_states(test_program* p) {
  states s;
  test_arenas(p, 64, COUNTER_STATE_BYTES);
  s.count = test_state(p, "model.count", ETX_DTYPE_FLOAT32, SIZES(2), 0);
  s.table = test_state(p, "model.table", ETX_DTYPE_FLOAT32, SIZES(3), 16);
  s.modest = test_state(p, "modest", ETX_DTYPE_FLOAT32, SIZES(1), 32);
  return s;
}

static states add_method_add(test_program* p, bool has_blob) {
  test_method(p, "add");
  const states s = add_states(p);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "x");
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(s.count, x, alpha, s.count, s.count));
  if (has_blob) {
    const int first = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1));
    test_view(p, first, x, 0);
    test_call(p, "aten::add", "out",
              ARGS(s.modest, first, alpha, s.modest, s.modest));
  }
  test_output(p, s.count, "count");
  return s;
}

static states add_method_read(test_program* p) {
  test_method(p, "read");
  const states s = add_states(p);
  const int count = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int table = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(3), 16);
  const int blocking = test_bool(p, false);
  test_call(p, "aten::copy_", "", ARGS(count, s.count, blocking, count));
  test_call(p, "aten::copy_", "", ARGS(table, s.table, blocking, table));
  test_output(p, count, "count");
  test_output(p, table, "table");
  return s;
}

static void add_method_put(test_program* p) {
  test_method(p, "put");
  const states s = add_states(p);
  const int at =
      test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(1)), "at");
  const int value =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1)), "value");
  const int accumulate = test_bool(p, false);
  const int indices = test_optional_tensors(p, ARGS(at));
  test_call(p, "aten::index_put", "out",
            ARGS(s.table, indices, value, accumulate, s.table, s.table));
}

test_program* counter_program(bool has_blob, bool read_disagrees) {
  static const float one = 1;
  static const float ones[2] = {1, 1};
  static const float twos[2] = {2, 2};
  static const float table[3] = {10, 20, 30};
  test_program* p = test_program_new();
  const states in_add = add_method_add(p, has_blob);
  if (!has_blob) {
    test_initial(p, in_add.count, test_initial_data(p, ones, sizeof ones));
    test_initial(p, in_add.table, test_initial_data(p, table, sizeof table));
  }
  const states in_read = add_method_read(p);
  if (read_disagrees) {
    test_initial(p, in_read.count, test_initial_data(p, twos, sizeof twos));
  }
  add_method_put(p);
  if (!has_blob) return p;
  test_blob(p);
  test_state_row(p, "model.count", ETX_DTYPE_FLOAT32, SIZES(2), 0,
                 test_data(p, &one, sizeof one))
      ->is_uniform = true;
  test_state_row(p, "model.table", ETX_DTYPE_FLOAT32, SIZES(3), 16,
                 test_data(p, table, sizeof table));
  test_state_row(p, "modest", ETX_DTYPE_FLOAT32, SIZES(1), 32, 0);
  return p;
}
