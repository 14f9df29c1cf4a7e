// Which values are valid: at the start and at the end of a method, inside of
// other values, and along jumps. verify_dataflow_test.c has plain reads and
// writes.

#include "tests/cli/verify/verify_fixture.h"

#include "cli/verify/verify_internal.h"

// ---- the start and the end of a method ----

static void an_input_overwritten_by_another_one_is_named(void** state) {
  (void)state;
  test_program* const p = stock(48);
  const int x = test_input(p, four_at(p, 0), "x");
  test_input(p, four_at(p, 0), "z");
  test_output(p, x, "y");
  refuse(p,
         "the method returns value '0', but input value '1' uses the same "
         "bytes");
}

static void a_method_without_instructions_returns_its_inputs(void** state) {
  (void)state;
  test_program* const p = stock(48);
  borrowed_input(p);
  test_output(p, test_borrowed(p, F32, SIZES(4)), "y");
  refuse(p, "the method returns value '1', but nothing has written it");
}

// `all` must have its content from an earlier call, but the input has a half of
// its bytes.
static void an_input_spoils_a_state_of_a_method_without_instructions(
    void** state) {
  (void)state;
  test_program* const p = stock(48);
  test_input(p, four_at(p, 0), "x");
  test_output(p, test_scratch(p, F32, SIZES(8), 0), "all");
  refuse(p, "the method returns value '1', but input value '0' uses the same");
}

static void one_value_may_be_two_inputs(void** state) {
  (void)state;
  const small s = start(48);
  const int x = test_input(s.p, four_at(s.p, 0), "x");
  test_input(s.p, x, "again");
  const int y = four_at(s.p, 16);
  relu(s.p, x, y);
  test_output(s.p, y, "y");
  accept(s.p);
}

// The caller writes a value that is two inputs once: before one that shares its
// bytes.
static void a_value_that_is_two_inputs_is_written_once(void** state) {
  (void)state;
  test_program* const p = stock(48);
  const int x = test_input(p, four_at(p, 0), "x"), y = four_at(p, 16);
  test_input(p, four_at(p, 0), "z");
  test_input(p, x, "again");
  relu(p, x, y);
  test_output(p, y, "y");
  refuse(p, "reads value '0'");
}

static void a_mutable_input_is_valid_at_the_end(void** state) {
  (void)state;
  for (int lost = 0; lost < 2; ++lost) {
    const small s = start(48);
    const int x = test_mutable_input(s.p, four_at(s.p, 0), "x");
    test_mutable_input(s.p, test_int(s.p, 3), "n");
    const int y = four_at(s.p, lost ? 0 : 16);
    relu(s.p, x, y);
    test_output(s.p, y, "y");
    if (lost) {
      refuse(s.p, "the caller gets back mutable input value '0'");
    } else {
      accept(s.p);
    }
  }
}

static void a_state_is_valid_at_the_end(void** state) {
  (void)state;
  for (int lost = 0; lost < 2; ++lost) {
    const small s = start_with_state(32, 32);
    const int x = borrowed_input(s.p);
    const int a = test_state(s.p, "a", F32, SIZES(4), 0);
    const int b = test_state(s.p, "b", F32, SIZES(4), lost ? 0 : 16);
    const int y = four_at(s.p, 0);
    relu(s.p, a, y);
    copy_onto(s.p, b, x);
    test_output(s.p, y, "y");
    test_state_row(s.p, "a", F32, SIZES(4), 0, 0);
    test_state_row(s.p, "b", F32, SIZES(4), lost ? 0 : 16, 0);
    if (lost) {
      refuse(s.p, "the next call reads state value '1'");
    } else {
      accept(s.p);
    }
  }
}

// ---- released values ----

static void a_released_value_is_not_read(void** state) {
  (void)state;
  for (int early = 0; early < 2; ++early) {
    test_program* const p = stock(48);
    const int x = borrowed_input(p), a = four_at(p, 0), y = four_at(p, 16);
    relu(p, x, a);
    if (early) test_release(p, a);
    relu(p, a, y);
    if (!early) test_release(p, a);
    test_output(p, y, "y");
    if (early) {
      refuse(p, "reads value '1', but value '1' overwrote it");
    } else {
      accept(p);
    }
  }
}

// ---- stock files ----

static void initial_data_makes_a_state_of_a_stock_file(void** state) {
  static const float data[4] = {1, 2, 3, 4};
  (void)state;
  for (int lost = 0; lost < 2; ++lost) {
    test_program* const p = stock(48);
    const int x = borrowed_input(p), a = four_at(p, 0);
    test_initial(p, a, test_initial_data(p, data, sizeof data));
    const int b = four_at(p, lost ? 0 : 16), y = four_at(p, 32);
    relu(p, x, b);
    relu(p, b, y);
    test_output(p, y, "y");
    if (lost) {
      refuse(p, "the next call reads state value '1'");
    } else {
      accept(p);
    }
  }
}

// Not a state: it was written before its bytes were taken.
static void a_lost_value_of_a_stock_file_is_no_state(void** state) {
  (void)state;
  test_program* const p = stock(48);
  const int x = borrowed_input(p), a = four_at(p, 0), b = four_at(p, 0);
  const int y = four_at(p, 16);
  relu(p, x, a);
  relu(p, x, b);
  relu(p, a, y);
  test_output(p, y, "y");
  refuse(p, "reads value '1', but value '2' overwrote it");
}

// A tensor that is sized is no state, though a path that nothing takes spoils
// it before it is read.
static void a_sized_tensor_of_a_stock_file_is_no_state(void** state) {
  (void)state;
  test_program* const p = stock(96);
  const int x = borrowed_input(p), e = four_at(p, 16), y = four_at(p, 64);
  const int sizes = test_ints(p, ARGS(test_int(p, 4)));
  test_call(p, "aten::empty", "out", ARGS(sizes, test_none(p), e, e));
  test_jump_false(p, test_bool(p, false), 3);
  relu(p, x, four_at(p, 24));
  add(p, x, e, y);
  relu(p, x, four_at(p, 24));
  test_output(p, y, "y");
  accept(p);
}

static void a_constant_of_a_stock_file_is_not_written(void** state) {
  static const float data[4] = {1, 2, 3, 4};
  (void)state;
  test_program* const p = stock(48);
  const int x = borrowed_input(p);
  const int k =
      test_constant(p, F32, SIZES(4), test_data(p, data, sizeof data));
  relu(p, x, k);
  refuse(p, "writes value '1', which is a constant");
}

// ---- jumps ----

static void a_jump_may_lead_to_the_next_instruction(void** state) {
  (void)state;
  const small s = start(48);
  const int x = borrowed_input(s.p), y = four_at(s.p, 0);
  const int c =
      test_input(s.p, test_borrowed(s.p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
  test_jump_false(s.p, c, 1);
  relu(s.p, x, y);
  test_output(s.p, y, "y");
  accept(s.p);
}

static void a_loop_that_nothing_leaves_is_refused(void** state) {
  (void)state;
  const small s = start(48);
  const int x = borrowed_input(s.p), y = four_at(s.p, 0);
  const int c =
      test_input(s.p, test_borrowed(s.p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
  relu(s.p, x, y);
  test_jump_false(s.p, c, 3);
  relu(s.p, x, y);
  relu(s.p, x, y);
  test_jump_false(s.p, test_bool(s.p, false), 1);
  test_output(s.p, y, "y");
  assert_refused(etx_verify_program(test_file(s.p), NULL, &diag), ETX_BAD_FILE,
                 "a jump leads back to instruction '1', and nothing leaves "
                 "that loop (method 'm') (instruction '4')");
  test_program_end(s.p);
}

// A loop at the start, which loses what is read behind it in the first
// iteration.
static void what_a_first_loop_loses_is_not_read_behind_it(void** state) {
  (void)state;
  for (int lost = 0; lost < 2; ++lost) {
    test_program* const p = stock(48);
    const int x = borrowed_input(p);
    const int again =
        test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "again");
    const int given = test_input(p, four_at(p, 0), "given");
    const int y = four_at(p, 32);
    relu(p, x, four_at(p, lost ? 0 : 16));
    test_jump_false(p, again, 0);
    relu(p, given, y);
    test_output(p, y, "y");
    if (lost) {
      refuse(p, "reads value '2', but on some path");
    } else {
      accept(p);
    }
  }
}

static void a_jump_may_leave_a_loop(void** state) {
  (void)state;
  test_program* const p = stock(48);
  const int x = borrowed_input(p), y = four_at(p, 0);
  const int more =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "more");
  relu(p, x, y);
  test_jump_false(p, more, 4);
  relu(p, x, y);
  test_jump_false(p, test_bool(p, false), 1);
  test_output(p, y, "y");
  accept(p);
}

// Every result of a call is written: what overwrites it is not what it shows.
static void a_lost_result_shows_nothing_else(void** state) {
  (void)state;
  for (int lost = 0; lost < 2; ++lost) {
    test_program* const p = stock(256);
    const int x = test_input(p, test_borrowed(p, F32, SIZES(4, 4)), "x");
    const int values = four_at(p, 0);
    const int indices = test_scratch(p, ETX_DTYPE_INT64, SIZES(4), 64);
    const int all = test_scratch(p, F32, SIZES(4, 4), lost ? 64 : 128);
    test_call(p, "aten::max", "dim_max",
              ARGS(x, test_int(p, 1), test_bool(p, false), values, indices,
                   test_tensors(p, ARGS(values, indices))));
    relu(p, x, all);
    test_output(p, indices, "i");
    if (lost) {
      refuse(p, "the method returns value '2', but value '3' overwrote it");
    } else {
      accept(p);
    }
  }
}

static void a_loop_that_is_the_whole_method_is_refused(void** state) {
  (void)state;
  const small s = start(48);
  const int x = borrowed_input(s.p), y = four_at(s.p, 0);
  relu(s.p, x, y);
  test_jump_false(s.p, test_bool(s.p, false), 0);
  test_output(s.p, y, "y");
  refuse_as(s.p, ETX_BAD_FILE,
            "a jump leads back to instruction '0', and nothing leaves that "
            "loop (method 'm') (instruction '1')");
}

// More values than bits of a word, of which one path overwrites the last.
static void paths_of_many_values_join(void** state) {
  (void)state;
  enum { MANY = 150 };
  for (int spoilt = 0; spoilt < 2; ++spoilt) {
    test_program* const p = start(16 * (MANY + 4)).p;
    const int x = borrowed_input(p);
    const int c =
        test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
    int last = x;
    for (int i = 0; i < MANY; ++i) {
      last = four_at(p, (uint64_t)(16 * i));
      relu(p, x, last);
    }
    const int other = four_at(p, 16 * (MANY - spoilt));
    const int y = four_at(p, 16 * (MANY + 1)), z = four_at(p, 16 * (MANY + 2));
    test_jump_false(p, c, MANY + 3);
    relu(p, x, other);
    relu(p, other, z);
    relu(p, last, y);
    test_output(p, y, "y");
    if (spoilt) {
      refuse(p, "but on some path it was not written, or was overwritten");
    } else {
      accept(p);
    }
  }
}

// ---- limits of work ----

static void open_method(etx_verify_method* m, const etx_pte* pte,
                        etx_verify_arena* memory) {
  etx_verify_method_init(m, pte, NULL, 0, memory, &diag);
  assert_ok(etx_verify_assign_addresses(m));
  assert_ok(etx_verify_find_steps(m));
}

static void states_of_blocks_have_a_limit(void** state) {
  (void)state;
  test_program* const p = stock(48);
  const int x = borrowed_input(p), y = four_at(p, 0);
  relu(p, x, y);
  test_output(p, y, "y");
  etx_pte pte;
  etx_verify_arena memory = {NULL};
  etx_verify_method m;
  assert_ok(etx_pte_open(&pte, test_file(p), NULL, &diag));
  open_method(&m, &pte, &memory);
  assert_ok(etx_verify_find_rebinding(&m));
  m.max_state_bytes = 8;
  assert_ok(etx_verify_dataflow(&m));
  m.max_state_bytes = 7;
  assert_refused(etx_verify_dataflow(&m), ETX_UNSUPPORTED,
                 "method 'forward' has 1 basic blocks and 2 values, too many "
                 "for a proof");
  etx_verify_arena_release(&memory);
  test_program_end(p);
}

static void moved_values_of_blocks_have_a_limit(void** state) {
  (void)state;
  for (uint64_t limit = 7; limit <= 8; ++limit) {
    test_program* const p = stock(48);
    const int x = borrowed_input(p), y = four_at(p, 0), z = four_at(p, 16);
    relu(p, x, y);
    test_move(p, y, z);
    test_output(p, z, "z");
    etx_pte pte;
    etx_verify_arena memory = {NULL};
    etx_verify_method m;
    assert_ok(etx_pte_open(&pte, test_file(p), NULL, &diag));
    open_method(&m, &pte, &memory);
    m.max_state_bytes = limit;
    if (limit == 8) {
      assert_ok(etx_verify_find_rebinding(&m));
    } else {
      assert_refused(etx_verify_find_rebinding(&m), ETX_UNSUPPORTED,
                     "method 'forward' has 1 basic blocks and 3 values, too "
                     "many for a proof");
    }
    etx_verify_arena_release(&memory);
    test_program_end(p);
  }
}

// ---- values inside of others, in stock files ----

static int eight(test_program* p, uint64_t offset) {
  return test_scratch(p, F32, SIZES(8), offset);
}

static int eight_input(test_program* p, const char* name) {
  return test_input(p, test_borrowed(p, F32, SIZES(8)), name);
}

// A state, and a larger value whose bytes contain it: another state, a value
// that is changed in place, or one that is only written.
static void a_state_changes_through_states_and_changes_in_place(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    test_program* const p = stock(96);
    const int x = eight_input(p, "x");
    const int inner = test_planned(p, F32, SIZES(4), 1, 0);
    test_tensor_of(p, inner)->name = etx_text_of("inner");
    const int outer = eight(p, 0), y = four_at(p, 64);
    if (kind == 0) test_tensor_of(p, outer)->name = etx_text_of("outer");
    relu(p, inner, y);
    if (kind == 1) {
      copy_onto(p, outer, x);
    } else {
      relu(p, x, outer);
    }
    test_output(p, y, "y");
    if (kind == 2) {
      refuse(p, "the next call reads state value '1'");
    } else {
      accept(p);
    }
  }
}

static void memory_of_the_caller_has_no_content_before_it_is_written(
    void** state) {
  (void)state;
  test_program* const p = stock(32);
  borrowed_input(p);
  const int y = four_at(p, 0);
  relu(p, test_borrowed(p, F32, SIZES(4)), y);
  test_output(p, y, "y");
  refuse(p, "reads value '2', but nothing has written it");
}

static void update_at(test_program* p, int value, int at, int one) {
  test_call(p, "aten::index_put_", "",
            ARGS(value, test_optional_tensors(p, ARGS(at)), one,
                 test_bool(p, false), value));
}

// An update of bytes inside of another value, of which no instruction says that
// it is a view: the value around it is lost.
static void what_is_updated_by_itself_spoils_the_value_around_it(void** state) {
  (void)state;
  for (int is_read = 0; is_read < 2; ++is_read) {
    test_program* const p = stock(160);
    const int x = eight_input(p, "x"), z = borrowed_input(p);
    const int at =
        test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(1)), "at");
    const int one = test_input(p, test_borrowed(p, F32, SIZES(1)), "one");
    const int outer = eight(p, 0), inner = four_at(p, 16), y = eight(p, 64);
    relu(p, x, outer);
    relu(p, z, inner);
    update_at(p, inner, at, one);
    relu(p, is_read ? outer : x, y);
    test_output(p, y, "y");
    if (is_read) {
      refuse(p, "reads value '4', but value '5' overwrote it");
    } else {
      accept(p);
    }
  }
}

// A move onto a constant: from then on it is another value.
static void a_constant_may_take_over_a_header(void** state) {
  static const float data[4] = {1, 2, 3, 4};
  (void)state;
  for (int is_read_before = 0; is_read_before < 2; ++is_read_before) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p), a = four_at(p, 0), y = four_at(p, 16);
    const int k =
        test_constant(p, F32, SIZES(4), test_data(p, data, sizeof data));
    relu(p, x, a);
    if (is_read_before) relu(p, k, y);
    test_move(p, a, k);
    relu(p, k, y);
    test_output(p, y, "y");
    if (is_read_before) {
      refuse(p, "reads value '3', but nothing has written it");
    } else {
      accept(p);
    }
  }
}

// Values that take over each other's headers, and a write to one of them.
static void values_that_show_each_other_end_a_search(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = borrowed_input(p), y = four_at(p, 32);
  const int a = four_at(p, 0), b = four_at(p, 0), c = four_at(p, 0);
  relu(p, x, c);
  relu(p, x, a);
  test_move(p, a, b);
  test_move(p, b, a);
  relu(p, b, y);
  relu(p, c, y);
  test_output(p, y, "y");
  refuse(p, "reads value '4', but value '2' overwrote it");
}

// A view that an instruction makes is what it shows, although its planned bytes
// lie in a valid value.
static void a_view_of_a_lost_value_is_lost(void** state) {
  (void)state;
  test_program* const p = stock(128);
  const int x = borrowed_input(p);
  const int a = four_at(p, 0), v = four_at(p, 64), y = four_at(p, 32);
  const int around = eight(p, 64), b = four_at(p, 0);
  relu(p, eight_input(p, "eight"), around);
  relu(p, x, a);
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(a, test_ints(p, ARGS(test_int(p, 4))), v));
  relu(p, x, b);
  relu(p, v, y);
  test_output(p, y, "y");
  refuse(p, "reads value");
}

// The bytes of `all` are in part those of a value that was written.
static void half_of_a_value_is_not_enough(void** state) {
  (void)state;
  test_program* const p = stock(96);
  const int a = four_at(p, 0), all = eight(p, 0), y = eight(p, 64);
  relu(p, borrowed_input(p), a);
  relu(p, all, y);
  test_output(p, y, "y");
  refuse(p, "reads value '1', but value '0' overwrote it");
}

// An empty tensor (aten::empty) is no state: its bytes are free behind it.
static void an_empty_tensor_of_a_stock_file_is_no_state(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = borrowed_input(p);
  const int t = four_at(p, 0), y = four_at(p, 16), b = four_at(p, 0);
  const int z = four_at(p, 32);
  test_call(p, "aten::empty", "out",
            ARGS(test_ints(p, ARGS(test_int(p, 4))), test_none(p), t, t));
  relu(p, t, y);
  relu(p, x, b);
  relu(p, b, z);
  test_output(p, y, "y");
  test_output(p, z, "z");
  accept(p);
}

// ---- parts, in files of etx ----

// v is the first half of a whole of two parts, of which only that is written.
static void a_view_needs_the_parts_below_it_alone(void** state) {
  (void)state;
  for (int at = 0; at < 2; ++at) {
    const small s = start(64);
    const int x = borrowed_input(s.p);
    const int a = four_at(s.p, 0), b = four_at(s.p, 16);
    const int whole = eight(s.p, 0);
    const int v = four_at(s.p, at == 0 ? 0 : 16), y = four_at(s.p, 32);
    test_view(s.p, whole, a, 0);
    test_view(s.p, whole, b, 16);
    test_view(s.p, v, whole, at == 0 ? 0 : 16);
    relu(s.p, x, a);
    relu(s.p, v, y);
    test_output(s.p, y, "y");
    if (at == 0) {
      accept(s.p);
    } else {
      refuse(s.p, "reads value '4', but nothing has written it");
    }
  }
}

// Rows that are repeated: with them, the value has as many parts as the method
// has values, or one more. And a view of a constant.
static void a_search_through_parts_ends(void** state) {
  static const float data[4] = {1, 2, 3, 4};
  (void)state;
  for (int many = 0; many < 2; ++many) {
    const small s = start(64);
    const int x = borrowed_input(s.p);
    const int a = four_at(s.p, 0), b = four_at(s.p, 16);
    const int whole = eight(s.p, 0), y = eight(s.p, 32);
    const int k =
        test_constant(s.p, F32, SIZES(4), test_data(s.p, data, sizeof data));
    const int v = test_borrowed(s.p, F32, SIZES(2));
    const int z = test_scratch(s.p, F32, SIZES(2), 16);
    test_view(s.p, v, k, 8);
    relu(s.p, v, z);
    relu(s.p, x, a);
    relu(s.p, x, b);
    for (int i = 0; i < (many ? 8 : 7); ++i) test_view(s.p, whole, a, 0);
    test_view(s.p, whole, b, 16);
    relu(s.p, whole, y);
    test_output(s.p, y, "y");
    if (many) {
      refuse(s.p, "reads value '3'");
    } else {
      accept(s.p);
    }
  }
}

// Writes four floats at `offset`, and `levels` times four more behind them:
// each whole is the one before it with those. Returns the last whole.
static int nested_parts(test_program* p, int x, uint64_t offset, int levels) {
  int last = four_at(p, offset);
  relu(p, x, last);
  for (int i = 1; i <= levels; ++i) {
    const uint64_t size = (uint64_t)(16 * i);
    const int one = four_at(p, offset + size);
    const int whole = test_scratch(p, F32, SIZES(4 * (i + 1)), offset);
    test_view(p, whole, last, 0);
    test_view(p, whole, one, size);
    relu(p, x, one);
    last = whole;
  }
  return last;
}

static void parts_of_parts_are_searched_for_64_levels(void** state) {
  (void)state;
  for (int levels = 64; levels <= 65; ++levels) {
    const small s = start(4096);
    const int x = borrowed_input(s.p);
    const int last = nested_parts(s.p, x, 0, levels);
    const int y = test_scratch(s.p, F32, SIZES(4 * (levels + 1)), 2048);
    relu(s.p, last, y);
    test_output(s.p, y, "y");
    if (levels == 64) {
      accept(s.p);
    } else {
      refuse(s.p, "but nothing has written it");
    }
  }
  // One after the other, levels do not add up.
  const small s = start(4096);
  const int x = borrowed_input(s.p);
  const int a = nested_parts(s.p, x, 0, 35);
  const int b = nested_parts(s.p, x, 576, 35);
  const int both = test_scratch(s.p, F32, SIZES(288), 0);
  const int y = test_scratch(s.p, F32, SIZES(288), 2048);
  test_view(s.p, both, a, 0);
  test_view(s.p, both, b, 576);
  relu(s.p, both, y);
  test_output(s.p, y, "y");
  accept(s.p);
}

// No bytes but those of the caller.
static void the_first_value_of_a_stock_file_must_be_written(void** state) {
  (void)state;
  test_program* const p = stock(0);
  const int w = test_borrowed(p, F32, SIZES(4));
  const int y = test_borrowed(p, F32, SIZES(4));
  relu(p, w, y);
  test_output(p, y, "y");
  refuse(p, "reads value '0', but nothing has written it");
}

static void a_value_of_parts_may_be_updated(void** state) {
  (void)state;
  for (int is_part_read = 0; is_part_read < 2; ++is_part_read) {
    const small s = start(96);
    const int x = borrowed_input(s.p);
    const int at =
        test_input(s.p, test_borrowed(s.p, ETX_DTYPE_INT64, SIZES(1)), "at");
    const int one = test_input(s.p, test_borrowed(s.p, F32, SIZES(1)), "one");
    const int a = four_at(s.p, 0), b = four_at(s.p, 16);
    const int whole = eight(s.p, 0), y = eight(s.p, 32), z = four_at(s.p, 64);
    test_view(s.p, whole, a, 0);
    test_view(s.p, whole, b, 16);
    relu(s.p, x, a);
    relu(s.p, x, b);
    update_at(s.p, whole, at, one);
    relu(s.p, whole, y);
    if (is_part_read) relu(s.p, a, z);
    test_output(s.p, y, "y");
    if (is_part_read) {
      refuse(s.p, "reads value '3', but value '5' overwrote it");
    } else {
      accept(s.p);
    }
  }
}

// A value of two parts, of which one is a view of a half of t; the other one
// overwrites some of the rest of t.
static void a_part_needs_its_own_bytes_of_a_value_alone(void** state) {
  (void)state;
  for (int is_upper = 0; is_upper < 2; ++is_upper) {
    test_program* const p = start(256).p;
    const int in = test_input(p, test_borrowed(p, F32, SIZES(32)), "in");
    const int x = test_input(p, test_borrowed(p, F32, SIZES(8)), "x");
    const int t = test_scratch(p, F32, SIZES(32), 0);
    const int v = test_scratch(p, F32, SIZES(16), is_upper ? 64 : 0);
    const int u = test_scratch(p, F32, SIZES(8), is_upper ? 32 : 64);
    const int w = test_scratch(p, F32, SIZES(24), is_upper ? 32 : 0);
    const int y = test_scratch(p, F32, SIZES(24), 128);
    test_view(p, v, t, is_upper ? 64 : 0);
    test_view(p, w, v, is_upper ? 32 : 0);
    test_view(p, w, u, is_upper ? 0 : 64);
    relu(p, in, t);
    relu(p, x, u);
    relu(p, w, y);
    test_output(p, y, "y");
    accept(p);
  }
}

// An empty tensor inside of another one, which is written and read there.
static void an_empty_tensor_overwrites_nothing(void** state) {
  (void)state;
  for (int is_stock = 0; is_stock < 2; ++is_stock) {
    test_program* const p = is_stock ? stock(96) : start(96).p;
    const int x = test_input(p, test_borrowed(p, F32, SIZES(8)), "x");
    const int none = test_input(p, test_borrowed(p, F32, SIZES(0)), "none");
    const int all = test_scratch(p, F32, SIZES(8), 0);
    const int empty = test_scratch(p, F32, SIZES(0), 16);
    const int y = test_scratch(p, F32, SIZES(8), 32);
    relu(p, x, all);
    relu(p, none, empty);
    relu(p, all, y);
    test_output(p, y, "y");
    test_output(p, empty, "e");
    accept(p);
  }
}

// Two results of one call share bytes; one of them has a view, which cuts it.
static void results_that_share_bytes_are_both_lost(void** state) {
  (void)state;
  for (int half = 0; half < 4; ++half) {
    const small s = start(96);
    const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(4, 4)), "x");
    const int values = four_at(s.p, half >= 2 ? 16 : 0);
    const int indices =
        test_scratch(s.p, ETX_DTYPE_INT64, SIZES(4), half == 1 ? 16 : 0);
    const int low = test_scratch(s.p, ETX_DTYPE_INT64, SIZES(2), 0);
    const int first = test_scratch(s.p, F32, SIZES(2), half >= 2 ? 16 : 0);
    const int list = test_tensors(s.p, ARGS(values, indices));
    const int y = test_scratch(s.p, F32, SIZES(2), 64);
    test_view(s.p, first, values, 0);
    if (half >= 2) test_view(s.p, low, indices, 0);
    test_call(s.p, "aten::max", "dim_max",
              ARGS(x, test_int(s.p, 1), test_bool(s.p, false), values, indices,
                   list));
    if (half < 3) relu(s.p, first, y);
    test_output(s.p, half < 3 ? y : indices, "y");
    if (half == 1) {
      accept(s.p);
    } else if (half == 2) {
      refuse(s.p, "value");
    } else if (half == 3) {
      refuse(s.p, "the method returns value '2', but value '1' overwrote it");
    } else {
      refuse(s.p, "reads value '4', but value '2' overwrote it at instruction");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_input_overwritten_by_another_one_is_named),
      cmocka_unit_test(a_method_without_instructions_returns_its_inputs),
      cmocka_unit_test(one_value_may_be_two_inputs),
      cmocka_unit_test(
          an_input_spoils_a_state_of_a_method_without_instructions),
      cmocka_unit_test(a_mutable_input_is_valid_at_the_end),
      cmocka_unit_test(a_state_is_valid_at_the_end),
      cmocka_unit_test(a_released_value_is_not_read),
      cmocka_unit_test(initial_data_makes_a_state_of_a_stock_file),
      cmocka_unit_test(a_lost_value_of_a_stock_file_is_no_state),
      cmocka_unit_test(a_constant_of_a_stock_file_is_not_written),
      cmocka_unit_test(a_jump_may_lead_to_the_next_instruction),
      cmocka_unit_test(a_loop_that_nothing_leaves_is_refused),
      cmocka_unit_test(a_loop_that_is_the_whole_method_is_refused),
      cmocka_unit_test(states_of_blocks_have_a_limit),
      cmocka_unit_test(moved_values_of_blocks_have_a_limit),
      cmocka_unit_test(a_state_changes_through_states_and_changes_in_place),
      cmocka_unit_test(
          memory_of_the_caller_has_no_content_before_it_is_written),
      cmocka_unit_test(what_is_updated_by_itself_spoils_the_value_around_it),
      cmocka_unit_test(a_constant_may_take_over_a_header),
      cmocka_unit_test(values_that_show_each_other_end_a_search),
      cmocka_unit_test(a_view_of_a_lost_value_is_lost),
      cmocka_unit_test(half_of_a_value_is_not_enough),
      cmocka_unit_test(paths_of_many_values_join),
      cmocka_unit_test(an_empty_tensor_of_a_stock_file_is_no_state),
      cmocka_unit_test(a_view_needs_the_parts_below_it_alone),
      cmocka_unit_test(a_search_through_parts_ends),
      cmocka_unit_test(parts_of_parts_are_searched_for_64_levels),
      cmocka_unit_test(the_first_value_of_a_stock_file_must_be_written),
      cmocka_unit_test(a_value_of_parts_may_be_updated),
      cmocka_unit_test(results_that_share_bytes_are_both_lost),
      cmocka_unit_test(a_value_that_is_two_inputs_is_written_once),
      cmocka_unit_test(what_a_first_loop_loses_is_not_read_behind_it),
      cmocka_unit_test(a_jump_may_leave_a_loop),
      cmocka_unit_test(a_lost_result_shows_nothing_else),
      cmocka_unit_test(an_empty_tensor_overwrites_nothing),
      cmocka_unit_test(a_part_needs_its_own_bytes_of_a_value_alone),
      cmocka_unit_test(a_sized_tensor_of_a_stock_file_is_no_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
