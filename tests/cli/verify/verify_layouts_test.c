// Layouts of arena 1 for other sizes: blocks that are in use at the same time
// must be apart in each of them, as whole blocks.

#include "tests/cli/verify/verify_fixture.h"
#include "tests/support/test_random.h"

// x -> a -> b -> c, each of up to 4 floats; a and c may lie in the same bytes.
typedef struct chain {
  test_program* p;
  int a, b, c;
} chain;

static chain start_chain_behind(int others) {
  chain s = {.p = start(32).p};
  for (int i = 0; i < others; ++i) test_int(s.p, i);
  const uint32_t symbol = test_symbol(s.p, "s", 1, 4);
  const int x = test_input(
      s.p, test_dynamic(s.p, test_borrowed(s.p, F32, SIZES(4))), "x");
  test_dim(s.p, 0, 0, symbol, 1, 0);
  s.a = varying_at(s.p, 0);
  s.b = varying_at(s.p, 16);
  s.c = varying_at(s.p, 0);
  relu(s.p, x, s.a);
  relu(s.p, s.a, s.b);
  relu(s.p, s.b, s.c);
  test_output(s.p, s.c, "y");
  return s;
}

static chain start_chain(void) { return start_chain_behind(0); }

static void place(const chain* s, uint64_t a, uint64_t b, uint64_t c) {
  test_place(s->p, s->a, 0, a, 4);
  test_place(s->p, s->b, 0, b, 4);
  test_place(s->p, s->c, 0, c, 4);
}

static void blocks_may_share_bytes_one_after_the_other(void** state) {
  (void)state;
  // Their bits are on both sides of the ends of words.
  for (int others = 0; others <= 130; others += others < 60 ? 60 : 1) {
    const chain s = start_chain_behind(others);
    place(&s, 16, 0, 16);
    accept(s.p);
  }
}

// Several layouts, of which the last one is wrong.
static void every_layout_is_proved(void** state) {
  (void)state;
  for (uint64_t at = 64; at <= 66; at += 2) {
    const chain s = start_chain();
    place(&s, 16, 0, 16);
    test_place(s.p, s.a, 1, 64, 4);
    test_place(s.p, s.b, 1, at == 64 ? 0 : at, 4);
    test_place(s.p, s.c, 1, 64, 4);
    if (at == 64) {
      accept(s.p);
    } else {
      refuse(s.p, "the two share bytes in layout '2'");
    }
  }
}

// A block that was written before a jump is in use behind it.
static void blocks_are_in_use_along_jumps(void** state) {
  (void)state;
  for (int others = 0; others <= 130; others += 130) {
    for (int apart = 0; apart < 2; ++apart) {
      test_program* const p = start(64).p;
      const uint32_t symbol = test_symbol(p, "s", 1, 4);
      const int x =
          test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
      test_dim(p, 0, 0, symbol, 1, 0);
      const int c =
          test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
      for (int i = 0; i < others; ++i) test_int(p, i);
      const int a = varying_at(p, 0), b = varying_at(p, 16);
      const int y = varying_at(p, 32);
      relu(p, x, y);
      relu(p, x, a);
      test_jump_false(p, c, 4);
      relu(p, x, y);
      relu(p, x, b);
      test_jump_false(p, c, 3);
      add(p, a, b, y);
      test_output(p, y, "y");
      test_output(p, a, "a");
      test_place(p, a, 0, 0, 16);
      test_place(p, b, 0, apart ? 16 : 8, 16);
      test_place(p, y, 0, 64, 16);
      if (apart) {
        accept(p);
      } else {
        refuse(p, "the two share bytes in layout '1'");
      }
    }
  }
}

// The same behind a jump that leads past other instructions.
static void blocks_that_a_later_block_reads_are_in_use(void** state) {
  (void)state;
  for (int apart = 0; apart < 2; ++apart) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int c =
        test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
    const int a = varying_at(p, 0), b = varying_at(p, 16);
    const int y = varying_at(p, 32);
    relu(p, x, a);
    relu(p, x, b);
    test_jump_false(p, c, 4);
    relu(p, x, b);
    add(p, a, b, y);
    test_output(p, y, "y");
    test_place(p, a, 0, 0, 16);
    test_place(p, b, 0, apart ? 16 : 8, 16);
    test_place(p, y, 0, 64, 16);
    if (apart) {
      accept(p);
    } else {
      refuse(p, "(instruction '1', 'aten::relu.out')");
    }
  }
}

static void blocks_in_use_together_must_be_apart(void** state) {
  (void)state;
  const chain first = start_chain();
  place(&first, 0, 2, 64);
  refuse(first.p, "the two share bytes in layout '1'");
  const chain second = start_chain();
  place(&second, 64, 2, 0);
  refuse(second.p, "the two share bytes in layout '1'");
}

// The same behind so many other values that their bits fill several words.
static void blocks_of_late_values_must_be_apart(void** state) {
  (void)state;
  for (int round = 0; round < 16; ++round) {
    const bool apart = round % 2 != 0;
    const int others = round < 14 ? 58 + round / 2 : 130;
    test_program* const p = start(32).p;
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    test_dim(p, 0, 0, symbol, 1, 0);
    for (int i = 0; i < others; ++i) test_int(p, i);
    const int a = varying_at(p, 0), b = varying_at(p, 16);
    const int y = test_dynamic(p, test_borrowed(p, F32, SIZES(4)));
    relu(p, x, a);
    relu(p, x, b);
    add(p, a, b, test_output(p, y, "y"));
    test_place(p, a, 0, 0, 4);
    test_place(p, b, 0, apart ? 4 : 2, 4);
    if (apart) {
      accept(p);
    } else {
      refuse(p, "the two share bytes in layout '1'");
    }
  }
}

// More blocks than bits of a word, written without a jump behind them, before
// one, and before two.
static void many_blocks_must_be_apart(void** state) {
  (void)state;
  enum { MANY = 70 };
  static const struct {
    int first, late;  // the block in use, and the one that is written then
  } pairs[] = {{2, 69},  {63, 69}, {64, 69}, {2, 63},
               {63, 64}, {64, 63}, {66, 69}, {69, 66}};
  for (size_t pair = 0; pair < sizeof pairs / sizeof *pairs; ++pair) {
    const int first = pairs[pair].first, late = pairs[pair].late;
    for (int round = 0; round < 6; ++round) {
      const bool apart = round % 2 != 0;
      test_program* const p = start(16 * MANY).p;
      const uint32_t symbol = test_symbol(p, "s", 1, 4);
      const int x =
          test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
      test_dim(p, 0, 0, symbol, 1, 0);
      const int c =
          test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
      const int y = test_dynamic(p, test_borrowed(p, F32, SIZES(4)));
      int values[MANY];
      for (int i = 0; i < MANY; ++i)
        values[i] = varying_at(p, 16u * (unsigned)i);
      for (int i = 0; i < MANY; ++i) {
        if (i != late) relu(p, x, values[i]);
      }
      for (int jump = 0; jump < round / 2; ++jump) {
        test_jump_false(p, c, MANY + jump);
      }
      relu(p, x, values[late]);
      add(p, values[first], values[late], y);
      test_output(p, y, "y");
      for (int i = 0; i < MANY; ++i) {
        const bool is_wrong = i == late && !apart;
        test_place(p, values[i], 0, 16u * (unsigned)(is_wrong ? first : i), 16);
      }
      if (apart) {
        accept(p);
      } else {
        refuse(p, "the two share bytes in layout '1'");
      }
    }
  }
}

// What an iteration writes before it reads it is not in use at its start.
static void an_iteration_may_use_the_bytes_of_the_one_before(void** state) {
  (void)state;
  // Bits of the values are on both sides of the end of a word.
  for (int others = 0; others < 66; others += others < 56 ? 56 : 1) {
    test_program* const p = start(64).p;
    for (int i = 0; i < others; ++i) test_int(p, i);
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    test_dim(p, 0, 0, symbol, 1, 0);
    const int more =
        test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "more");
    const int a = varying_at(p, 0), b = varying_at(p, 16), c = varying_at(p, 0);
    const int y = varying_at(p, 32);
    relu(p, x, a);
    relu(p, a, b);
    relu(p, b, c);
    relu(p, c, y);
    test_jump_false(p, more, 0);
    test_output(p, y, "y");
    test_place(p, a, 0, 32, 16);
    test_place(p, b, 0, 0, 16);
    test_place(p, c, 0, 40, 16);
    test_place(p, y, 0, 64, 16);
    accept(p);
  }
}

// An operator that may work in place reads and writes the same block.
static void blocks_that_start_together_are_in_place(void** state) {
  (void)state;
  const chain s = start_chain();
  // The plan does not compute b in place of a.
  place(&s, 0, 0, 64);
  refuse(s.p, "the two share bytes in layout '1'");
  // The plan does, but the second layout has b behind the start of a.
  for (uint64_t at = 32; at <= 34; at += 2) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int a = varying_at(p, 0), b = varying_at(p, 0);
    relu(p, x, a);
    relu(p, a, b);
    test_output(p, b, "y");
    for (uint32_t i = 0; i < 2; ++i) {
      test_place(p, a, i, 32, 4);
      test_place(p, b, i, i == 0 ? 32 : at, 4);
    }
    if (at == 32) {
      accept(p);
    } else {
      // The first layout in which they do is named.
      refuse(p, "the two share bytes in layout '0'");
    }
  }
}

// t and its view v belong together: the view ends where the block does.
static test_program* with_view(uint64_t tensor, uint64_t view, uint64_t bytes) {
  test_program* const p = start(48).p;
  const uint32_t symbol = test_symbol(p, "s", 1, 4);
  const int x =
      test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
  test_dim(p, 0, 0, symbol, 1, 0);
  const int fixed = borrowed_input(p);
  const int t = test_scratch(p, F32, SIZES(8), 0);
  const int v = four_at(p, 16);
  const int y = varying_at(p, 32);
  test_view(p, v, t, 16);
  test_call(p, "aten::cat", "out",
            ARGS(test_tensors(p, ARGS(fixed, fixed)), test_int(p, 0), t, t));
  relu(p, x, y);
  test_output(p, v, "v");
  test_output(p, y, "y");
  test_place(p, t, 0, tensor, 32);
  test_place(p, v, 0, view, bytes);
  test_place(p, y, 0, 128, 4);
  return p;
}

static void views_stay_in_their_blocks(void** state) {
  (void)state;
  accept(with_view(64, 80, 16));
  refuse(with_view(64, 64, 16), "away from the values that share its bytes");
  refuse(with_view(64, 80, 12), "away from the values that share its bytes");
}

// ---- the plan ----

// A block counts as a whole: the plan's proof of values is not enough. v is
// read to the end, t not; z lies in the bytes of t that v does not show.
static void a_block_is_needed_as_a_whole(void** state) {
  (void)state;
  test_program* const p = start(48).p;
  const uint32_t symbol = test_symbol(p, "s", 1, 4);
  const int x =
      test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
  test_dim(p, 0, 0, symbol, 1, 0);
  const int fixed = borrowed_input(p);
  const int t = test_scratch(p, F32, SIZES(8), 0);
  const int v = four_at(p, 16);
  const int z = varying_at(p, 0);
  test_view(p, v, t, 16);
  test_call(p, "aten::cat", "out",
            ARGS(test_tensors(p, ARGS(fixed, fixed)), test_int(p, 0), t, t));
  relu(p, x, z);
  test_output(p, v, "v");
  test_output(p, z, "z");
  refuse(p, "share bytes in layout '0'");
}

// ---- values of every kind ----

static void view(test_program* p, int from, int to) {
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(from, test_ints(p, ARGS(test_int(p, -1))), to));
}

// A view that an instruction makes, a value that is moved to, and an input that
// takes over a header: it has a block, which is in use until then.
static void values_with_other_headers_have_no_blocks_of_their_own(
    void** state) {
  (void)state;
  for (uint64_t at = 8; at <= 24; at += 8) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int a = varying_at(p, 0), v = varying_at(p, 0);
    const int in = test_input(p, varying_at(p, 0), "in");
    const int m = test_dynamic(p, test_borrowed(p, F32, SIZES(4)));
    const int b = varying_at(p, 16), c = varying_at(p, 32);
    const int d = varying_at(p, 48), e = varying_at(p, 64);
    test_view(p, v, a, 0);
    relu(p, in, e);
    relu(p, x, a);
    view(p, a, v);
    relu(p, v, b);
    test_move(p, b, m);
    relu(p, m, c);
    view(p, a, in);
    relu(p, in, d);
    test_output(p, d, "d");
    test_output(p, c, "c");
    test_output(p, e, "e");
    if (at < 24) {
      test_place(p, a, 0, 64, 16);
      test_place(p, v, 0, 64, 16);
      test_place(p, in, 0, 0, 16);
      test_place(p, b, 0, 80, 16);
      test_place(p, c, 0, 96, 16);
      test_place(p, d, 0, 112, 16);
      test_place(p, e, 0, at, 16);
    }
    if (at == 8) {
      refuse(p, "the two share bytes in layout '1'");
    } else {
      accept(p);
    }
  }
}

// An input that takes over the header of a value reads its bytes when nothing
// else does.
static void a_block_is_in_use_while_a_header_shows_it(void** state) {
  (void)state;
  for (uint64_t at = 72; at <= 80; at += 8) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int a = varying_at(p, 0);
    const int in = test_input(p, varying_at(p, 0), "in");
    const int q = varying_at(p, 32), d = varying_at(p, 48);
    relu(p, x, a);
    view(p, a, in);
    relu(p, x, q);
    relu(p, in, d);
    test_output(p, d, "d");
    test_output(p, q, "q");
    test_place(p, a, 0, 64, 16);
    test_place(p, in, 0, 0, 16);
    test_place(p, q, 0, at, 16);
    test_place(p, d, 0, 112, 16);
    if (at == 72) {
      refuse(p, "the two share bytes in layout '1'");
    } else {
      accept(p);
    }
  }
}

// A view by a row of a view that an instruction makes: the runtime joins values
// with memory alone, so it would move the row's value away from the view.
static void views_of_views_of_instructions_are_refused(void** state) {
  (void)state;
  for (int written = 0; written < 2; ++written) {
    test_program* const p = start(320).p;
    const uint32_t symbol = test_symbol(p, "s", 1, 16);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(16))), "x");
    test_dim(p, 0, 0, symbol, 1, 0);
    const int all = test_input(p, test_borrowed(p, F32, SIZES(8)), "all");
    const int four = borrowed_input(p);
    const int c = test_dynamic(p, test_scratch(p, F32, SIZES(16), 0));
    const int a = test_scratch(p, F32, SIZES(8), 64);
    const int v = test_dynamic(p, test_scratch(p, F32, SIZES(8), 64));
    const int w = four_at(p, 80), z = four_at(p, 192);
    const int y = test_scratch(p, F32, SIZES(8), 128);
    test_view(p, v, a, 0);
    test_view(p, w, v, 16);
    relu(p, x, c);
    relu(p, all, a);
    view(p, a, v);
    if (written) relu(p, four, w);
    relu(p, w, z);
    relu(p, a, y);
    test_output(p, y, "y");
    test_output(p, z, "z");
    test_output(p, c, "c");
    refuse(p, "which an instruction sets up");
  }
}

// A state, a value that is updated, a value that is written through a view of
// its half, and one whose parts are written and then all of it.
static void written_values_of_every_kind_are_followed(void** state) {
  (void)state;
  for (uint64_t at = 96; at <= 144; at += 48) {
    int x;
    test_program* const p = start_varying(32, &x);
    const int kept = test_state(p, "kept", F32, SIZES(1, 2, 1, 4), 0);
    const int given =
        test_input(p, test_borrowed(p, F32, SIZES(1, 1, 1, 4)), "given");
    const int all = test_input(p, test_borrowed(p, F32, SIZES(8)), "all");
    const int fixed = borrowed_input(p);
    const int row = test_scratch(p, F32, SIZES(1), 0);
    const int t = test_scratch(p, F32, SIZES(8), 16), half = four_at(p, 16);
    const int left = four_at(p, 48), right = four_at(p, 64);
    const int both = test_scratch(p, F32, SIZES(8), 48);
    const int y = varying_at(p, 80);
    const int z = test_scratch(p, F32, SIZES(8), at == 96 ? 96 : 16);
    const int w = test_scratch(p, F32, SIZES(8), 128);
    test_view(p, half, t, 0);
    test_view(p, both, left, 0);
    test_view(p, both, right, 16);
    test_state_row(p, "kept", F32, SIZES(1, 2, 1, 4), 0, 0);
    test_call(p, "llama::update_cache", "out",
              ARGS(given, kept, test_int(p, 1), row, row));
    relu(p, all, t);
    relu(p, fixed, half);
    relu(p, fixed, left);
    relu(p, fixed, right);
    relu(p, all, both);
    relu(p, x, y);
    relu(p, all, z);
    add(p, t, both, w);
    test_output(p, w, "w");
    test_output(p, y, "y");
    test_output(p, z, "z");
    if (at == 96) {
      accept(p);
    } else {
      refuse(p, "value");
    }
  }
}

// ---- numbers of layouts ----

// A view v that comes before its tensor t, and one u that comes behind it; a
// tensor without bytes.
static void blocks_begin_and_end_with_their_values(void** state) {
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int all = test_input(p, test_borrowed(p, F32, SIZES(12)), "all");
    const int v = four_at(p, 16);
    const int t = test_scratch(p, F32, SIZES(12), 0);
    const int u = four_at(p, 32);
    const int none = test_scratch(p, F32, SIZES(0), 0);
    const int y = varying_at(p, 64);
    test_view(p, v, t, 16);
    test_view(p, u, t, 32);
    relu(p, all, t);
    relu(p, x, y);
    test_output(p, v, "v");
    test_output(p, u, "u");
    test_output(p, y, "y");
    test_place(p, v, 0, kind == 1 ? 8 : 80, 32);
    test_place(p, t, 0, 64, 48);
    test_place(p, u, 0, 96, 16);
    test_place(p, none, 0, 0, 0);
    test_place(p, y, 0, kind == 2 ? 96 : 0, kind == 3 ? 0 : 16);
    if (kind == 0) {
      accept(p);
    } else if (kind == 2) {
      refuse(p, "share bytes in layout '1'");
    } else {
      refuse(p, "away from the values that share its bytes");
    }
  }
}

// Two results of one call.
static void results_of_one_call_are_apart_in_every_layout(void** state) {
  (void)state;
  for (uint64_t at = 64; at <= 96; at += 32) {
    test_program* const p = start(64).p;
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4, 2))), "x");
    test_dim(p, 0, 0, symbol, 1, 0);
    const int values = varying_at(p, 0);
    const int indices =
        test_dynamic(p, test_scratch(p, ETX_DTYPE_INT64, SIZES(4), 16));
    const int list = test_tensors(p, ARGS(values, indices));
    test_call(
        p, "aten::max", "dim_max",
        ARGS(x, test_int(p, 1), test_bool(p, false), values, indices, list));
    test_output(p, values, "v");
    test_output(p, indices, "i");
    test_place(p, values, 0, 80, 16);
    test_place(p, indices, 0, at, 32);
    if (at == 96) {
      accept(p);
    } else {
      refuse(p, "share bytes in layout '1'");
    }
  }
}

// Two blocks, of which one is that of value 0.
static void the_first_value_has_a_block_of_its_own(void** state) {
  (void)state;
  for (uint64_t at = 8; at <= 16; at += 8) {
    test_program* const p = start(32).p;
    const int a = varying_at(p, 0), b = varying_at(p, 16);
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    test_dim(p, 0, 0, symbol, 1, 0);
    relu(p, x, a);
    relu(p, a, b);
    test_output(p, b, "y");
    test_place(p, a, 0, 0, 16);
    test_place(p, b, 0, at, 16);
    if (at == 16) {
      accept(p);
    } else {
      refuse(p, "share bytes in layout '1'");
    }
  }
}

// Inputs that the caller writes: two in one block, one apart, one of the
// caller's memory.
static void inputs_are_apart_in_every_layout(void** state) {
  (void)state;
  for (uint64_t at = 64; at <= 96; at += 32) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int a = test_input(p, varying_at(p, 0), "a");
    const int b = test_input(p, varying_at(p, 16), "b");
    const int y = varying_at(p, 32);
    add(p, a, b, y);
    test_output(p, y, "y");
    test_output(p, x, "same");
    test_input(p, a, "again");
    test_place(p, a, 0, 64, 16);
    test_place(p, b, 0, at, 16);
    test_place(p, y, 0, 0, 16);
    if (at == 96) {
      accept(p);
    } else {
      refuse(p, "share bytes in layout '1'");
    }
  }
}

// Nothing reads them, but the caller writes both.
static void inputs_that_start_together_are_not_in_place(void** state) {
  (void)state;
  for (int apart = 0; apart < 2; ++apart) {
    int x;
    test_program* const p = start_varying(0, &x);
    test_input(p, varying_at(p, 0), "a");
    test_input(p, varying_at(p, apart ? 16 : 0), "b");
    const int y = varying_at(p, 32);
    relu(p, x, y);
    test_output(p, y, "y");
    if (apart) {
      accept(p);
    } else {
      refuse(p, "share bytes in layout '0'");
    }
  }
}

static void methods_without_blocks_have_no_layouts(void** state) {
  (void)state;
  int x;
  test_program* p = start_varying(0, &x);
  test_described(p);
  test_output(p, x, "y");
  accept(p);
  p = start_varying(0, &x);
  test_described(p);
  varying_at(p, 0);
  test_output(p, x, "y");
  accept(p);
  // The blob does not describe the method.
  p = start(32).p;
  test_undescribed(p);
  const int y = varying_at(p, 0);
  relu(p, borrowed_input(p), y);
  test_output(p, y, "y");
  accept(p);
}

// ---- random layouts ----

enum { VALUES = 8, PROGRAMS = 1000, BYTES = 16 };

typedef struct step {
  int reads[2];  // positions of earlier values, or -1: the input
} step;

// The last step that reads each value.
static void find_last_reads(const step* steps, int* last) {
  for (int i = 0; i < VALUES; ++i) last[i] = i;
  for (int i = 0; i < VALUES; ++i) {
    for (int k = 0; k < 2; ++k) {
      if (steps[i].reads[k] >= 0) last[steps[i].reads[k]] = i;
    }
  }
  last[VALUES - 1] = VALUES;  // the output
}

// True if values that are in use together share a byte. Value i is written in
// step i; a call needs its arguments while it writes.
static bool is_wrong(const step* steps, const int64_t* offsets,
                     const int64_t* bytes) {
  int last[VALUES];
  find_last_reads(steps, last);
  for (int i = 0; i < VALUES; ++i) {
    for (int k = i + 1; k < VALUES; ++k) {
      if (last[i] < k || offsets[i] + bytes[i] <= offsets[k] ||
          offsets[k] + bytes[k] <= offsets[i]) {
        continue;
      }
      return true;
    }
  }
  return false;
}

static test_program* random_program(const step* steps, const int64_t* offsets,
                                    const int64_t* bytes) {
  int values[VALUES];
  test_program* const p = start(VALUES * BYTES).p;
  const uint32_t symbol = test_symbol(p, "s", 1, 4);
  const int x =
      test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
  test_dim(p, 0, 0, symbol, 1, 0);
  for (int i = 0; i < VALUES; ++i) {
    values[i] = varying_at(p, (uint64_t)(i * BYTES));
  }
  for (int i = 0; i < VALUES; ++i) {
    const int a = steps[i].reads[0], b = steps[i].reads[1];
    add(p, a < 0 ? x : values[a], b < 0 ? x : values[b], values[i]);
  }
  test_output(p, values[VALUES - 1], "y");
  for (int i = 0; i < VALUES; ++i) {
    test_place(p, values[i], 0, (uint64_t)offsets[i], (uint64_t)bytes[i]);
  }
  return p;
}

static void random_layouts_are_judged_as_by_hand(void** state) {
  (void)state;
  size_t wrong = 0;
  test_random_start();
  for (size_t n = 0; n < PROGRAMS; ++n) {
    step steps[VALUES];
    int64_t offsets[VALUES], bytes[VALUES];
    for (int i = 0; i < VALUES; ++i) {
      steps[i].reads[0] = i - 1;
      steps[i].reads[1] = (int)test_random_integer(-1, i - 1);
      offsets[i] = test_random_integer(0, 60);
      bytes[i] = test_random_integer(1, 12);
    }
    test_program* const p = random_program(steps, offsets, bytes);
    if (is_wrong(steps, offsets, bytes)) {
      ++wrong;
      // A pair that starts at the same byte may look as if computed in place.
      etx_verify_report report;
      const etx_status found = etx_verify_program(test_file(p), &report, &diag);
      if (found != ETX_BAD_PLAN) {
        fail_msg("a wrong layout is accepted: %s", etx_status_name(found));
      }
      test_program_end(p);
    } else {
      accept(p);
    }
  }
  assert_true(wrong >= 500 && wrong < PROGRAMS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_may_share_bytes_one_after_the_other),
      cmocka_unit_test(every_layout_is_proved),
      cmocka_unit_test(blocks_are_in_use_along_jumps),
      cmocka_unit_test(blocks_that_a_later_block_reads_are_in_use),
      cmocka_unit_test(blocks_in_use_together_must_be_apart),
      cmocka_unit_test(blocks_of_late_values_must_be_apart),
      cmocka_unit_test(many_blocks_must_be_apart),
      cmocka_unit_test(an_iteration_may_use_the_bytes_of_the_one_before),
      cmocka_unit_test(blocks_that_start_together_are_in_place),
      cmocka_unit_test(views_stay_in_their_blocks),
      cmocka_unit_test(a_block_is_needed_as_a_whole),
      cmocka_unit_test(values_with_other_headers_have_no_blocks_of_their_own),
      cmocka_unit_test(written_values_of_every_kind_are_followed),
      cmocka_unit_test(blocks_begin_and_end_with_their_values),
      cmocka_unit_test(results_of_one_call_are_apart_in_every_layout),
      cmocka_unit_test(the_first_value_has_a_block_of_its_own),
      cmocka_unit_test(inputs_are_apart_in_every_layout),
      cmocka_unit_test(inputs_that_start_together_are_not_in_place),
      cmocka_unit_test(methods_without_blocks_have_no_layouts),
      cmocka_unit_test(random_layouts_are_judged_as_by_hand),
      cmocka_unit_test(a_block_is_in_use_while_a_header_shows_it),
      cmocka_unit_test(views_of_views_of_instructions_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
