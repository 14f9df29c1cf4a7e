#include "tests/runtime/flow_program.h"

#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"

static int pick(int first, int count) {
  return first + (int)test_random_integer(0, count - 1);
}

bool flow_is_defined(const flow_program* p, int slot) {
  return slot >= X || (p->defined >> slot & 1) != 0;
}

// A random slot of a range that is defined, or `otherwise`.
static int defined_in(const flow_program* p, int first, int count,
                      int otherwise) {
  for (int i = 0; i < 6; ++i) {
    const int slot = pick(first, count);
    if (flow_is_defined(p, slot)) return slot;
  }
  return otherwise;
}

static int some_tensor(const flow_program* p) {
  return test_random_integer(0, 3) == 0
             ? X
             : defined_in(p, DYNAMIC, DYNAMIC_COUNT + VIEW_COUNT, X);
}

static int some_number(const flow_program* p) {
  const int fixed = pick(ZERO, 4);
  return test_random_integer(0, 2) == 0
             ? fixed
             : defined_in(p, NUMBERS, NUMBER_COUNT + COUNTER_COUNT, fixed);
}

static void add(flow_program* p, flow_step_kind kind, int a, int b, int out) {
  if (p->count == MOST_STEPS) fail();
  p->steps[p->count++] = (flow_step){kind, a, b, out};
  if (kind == STEP_JUMP) return;
  p->defined |= (uint64_t)1 << out;
  p->written |= (uint64_t)1 << out;
}

// A random slot to write; in a calm program one that is not written yet, if
// there is one.
static int target_in(const flow_program* p, int first, int count) {
  int slot = pick(first, count);
  for (int i = 0; p->is_calm && i < count; ++i) {
    if ((p->written >> slot & 1) == 0) break;
    slot = first + (slot - first + 1) % count;
  }
  return slot;
}

static void add_simple(flow_program* p) {
  const int number = target_in(p, NUMBERS, NUMBER_COUNT);
  const int tensor = target_in(p, DYNAMIC, DYNAMIC_COUNT);
  switch (test_random_integer(0, p->is_straight ? 10 : p->is_calm ? 9 : 12)) {
    case 0:
      add(p, STEP_CLONE, some_tensor(p), 0, tensor);
      return;
    case 1:
    case 2:
      add(p, STEP_ADD, some_tensor(p), some_number(p), tensor);
      return;
    case 3:
      add(p, STEP_HEAD, some_tensor(p), some_number(p), tensor);
      return;
    case 4:
      add(p, STEP_SUM, some_tensor(p), 0, target_in(p, FIXED, FIXED_COUNT));
      return;
    case 5:
      add(p, STEP_VIEW, defined_in(p, DYNAMIC, DYNAMIC_COUNT, X), 0,
          target_in(p, VIEWS, VIEW_COUNT));
      return;
    case 6:
      add(p, STEP_SIZE, some_tensor(p), 0, number);
      return;
    case 7:
      if (test_random_integer(0, 1) == 0) {
        add(p, STEP_COUNT, some_number(p), 0, number);
      } else {
        add(p, STEP_MAX, some_number(p), some_number(p), number);
      }
      return;
    case 8:
      add(p, STEP_LESS, some_number(p), some_number(p),
          target_in(p, BOOLS, BOOL_COUNT));
      return;
    case 9:
      add(p, STEP_REPEAT, some_tensor(p), 0, tensor);
      return;
    case 10:
      add(p, STEP_ITEM, defined_in(p, FIXED, FIXED_COUNT, DATA), 0, number);
      add(p, STEP_MOD, number, FIVE, number);
      return;
    case 11:
      add(p, STEP_MOVE, some_number(p), 0, number);
      return;
    default: {
      const int fixed = defined_in(p, FIXED, FIXED_COUNT, DATA);
      if (test_random_integer(0, 3) == 0) {
        add(p, STEP_MOVE, fixed, 0, target_in(p, FIXED, FIXED_COUNT));
      } else {
        add(p, STEP_MOVE, some_tensor(p), 0, tensor);
      }
    }
  }
}

static void add_block(flow_program* p, int length, int depth);

static void add_choice(flow_program* p, int depth) {
  const int flag = pick(FLAGS, FLAG_COUNT);
  const int skip = p->count;
  add(p, STEP_JUMP, defined_in(p, BOOLS, BOOL_COUNT, flag), 0, 0);
  const uint64_t before = p->defined;
  add_block(p, (int)test_random_integer(0, 4), depth + 1);
  const uint64_t after_then = p->defined;
  const int end = p->count;
  add(p, STEP_JUMP, NEVER, 0, 0);
  p->steps[skip].b = p->count;
  p->defined = before;
  add_block(p, (int)test_random_integer(0, 4), depth + 1);
  p->steps[end].b = p->count;
  p->defined &= after_then;
}

static void add_loop(flow_program* p, int depth) {
  const int counter = COUNTERS + depth;
  const int done = pick(BOOLS, BOOL_COUNT);
  add(p, STEP_MOVE, ZERO, 0, counter);
  const int start = p->count;
  add_block(p, (int)test_random_integer(1, 4), depth + 1);
  add(p, STEP_COUNT, counter, 0, counter);
  add(p, STEP_LESS, test_random_integer(0, 1) == 0 ? ONE : TWO, counter, done);
  add(p, STEP_JUMP, done, start, 0);
}

static void add_block(flow_program* p, int length, int depth) {
  for (int i = 0; i < length; ++i) {
    const int64_t kind = test_random_integer(0, 9);
    if (kind == 0 && depth < 2 && p->count < MOST_STEPS / 2) {
      add_loop(p, depth);
    } else if (kind <= 2 && depth < 3 && p->count < MOST_STEPS / 2) {
      add_choice(p, depth);
    } else {
      add_simple(p);
    }
  }
}

void flow_start_structured(flow_program* p, bool is_calm) {
  memset(p, 0, sizeof *p);
  p->is_calm = is_calm;
  add_block(p, (int)test_random_integer(4, 14), 0);
}

void flow_start_straight(flow_program* p, bool is_calm) {
  memset(p, 0, sizeof *p);
  p->is_straight = true;
  p->is_calm = is_calm;
  const int length = (int)test_random_integer(4, 14);
  for (int i = 0; i < length; ++i) add_simple(p);
}

void flow_start_tangled(flow_program* p) {
  memset(p, 0, sizeof *p);
  for (int i = 0; i < DYNAMIC_COUNT; ++i) {
    add(p, STEP_HEAD, X, pick(ZERO, 4), DYNAMIC + i);
  }
  for (int i = 0; i < VIEW_COUNT; ++i) {
    add(p, STEP_VIEW, pick(DYNAMIC, DYNAMIC_COUNT), 0, VIEWS + i);
  }
  for (int i = 0; i < FIXED_COUNT; ++i) add(p, STEP_SUM, X, 0, FIXED + i);
  for (int i = NUMBERS; i < BOOLS; ++i) add(p, STEP_SIZE, X, 0, i);
  for (int i = 0; i < BOOL_COUNT; ++i) {
    add(p, STEP_LESS, pick(ZERO, 4), some_number(p), BOOLS + i);
  }
  const int length = p->count + (int)test_random_integer(4, 24);
  p->is_calm = test_random_integer(0, 1) == 0;
  while (p->count < length) {
    add_simple(p);
    if (test_random_integer(0, 3) != 0) continue;
    const int flag = pick(FLAGS, FLAG_COUNT);
    add(p, STEP_JUMP, defined_in(p, BOOLS, BOOL_COUNT, flag),
        (int)test_random_integer(0, length), 0);
  }
}

const int flow_outputs[FLOW_OUTPUT_COUNT] = {
    DYNAMIC, DYNAMIC + 1, DYNAMIC + 2, DYNAMIC + 3,
    FIXED,   FIXED + 1,   NUMBERS,     NUMBERS + 1};

static void add_slots(test_program* f, int* at) {
  uint64_t offset = 0;
  at[X] = test_input(
      f, test_dynamic(f, test_borrowed(f, ETX_DTYPE_INT64, SIZES(ROOM))), "");
  at[DATA] = test_input(f, test_borrowed(f, ETX_DTYPE_INT64, SIZES(1)), "");
  for (int i = 0; i < FLAG_COUNT; ++i) {
    at[FLAGS + i] =
        test_input(f, test_borrowed(f, ETX_DTYPE_BOOL, SIZES(1)), "");
  }
  for (int i = 0; i < DYNAMIC_COUNT; ++i, offset += SLOT_BYTES) {
    at[DYNAMIC + i] =
        test_dynamic(f, test_scratch(f, ETX_DTYPE_INT64, SIZES(ROOM), offset));
  }
  for (int i = 0; i < FIXED_COUNT; ++i, offset += FIXED_BYTES) {
    at[FIXED + i] = test_scratch(f, ETX_DTYPE_INT64, SIZES(1), offset);
  }
  for (int i = 0; i < VIEW_COUNT; ++i) {
    at[VIEWS + i] =
        test_dynamic(f, test_borrowed(f, ETX_DTYPE_INT64, SIZES(ROOM)));
  }
  for (int i = NUMBERS; i < BOOLS; ++i) at[i] = test_int(f, 3);
  for (int i = 0; i < BOOL_COUNT; ++i) at[BOOLS + i] = test_bool(f, false);
  at[NEVER] = test_bool(f, false);
  at[ZERO] = test_int(f, 0);
  at[ONE] = test_int(f, 1);
  at[TWO] = test_int(f, 2);
  at[FIVE] = test_int(f, 5);
}

test_program* flow_file(const flow_program* p) {
  static const int64_t one = 1;
  test_program* f = test_program_new();
  const uint32_t data = test_data(f, &one, sizeof one);
  int at[SLOT_COUNT];
  test_method(f, "forward");
  test_arenas(f, DYNAMIC_COUNT * SLOT_BYTES + FIXED_COUNT * FIXED_BYTES, 0);
  add_slots(f, at);
  const int unit = test_constant(f, ETX_DTYPE_INT64, SIZES(1), data);
  const int none = test_none(f), yes = test_bool(f, true);
  const int any = test_int(f, -1);
  const int any_size = test_ints(f, ARGS(any));
  const int first_dim = test_ints(f, ARGS(at[ZERO]));
  for (int i = 0; i < p->count; ++i) {
    const flow_step* s = &p->steps[i];
    const int a = at[s->a], out = at[s->out];
    const int b = s->kind == STEP_JUMP ? s->b : at[s->b];
    switch (s->kind) {
      case STEP_CLONE:
        test_call(f, "aten::clone", "out", ARGS(a, none, out, out));
        break;
      case STEP_ADD:
        test_call(f, "aten::add", "out", ARGS(a, unit, b, out, out));
        break;
      case STEP_HEAD:
        test_call(f, "aten::slice_copy", "Tensor_out",
                  ARGS(a, at[ZERO], at[ZERO], b, at[ONE], out, out));
        break;
      case STEP_SUM:
        test_call(f, "aten::sum", "IntList_out",
                  ARGS(a, first_dim, yes, none, out, out));
        break;
      case STEP_REPEAT:
        test_call(f, "aten::repeat_interleave", "Tensor_out",
                  ARGS(a, none, out, out));
        break;
      case STEP_VIEW:
        test_call(f, "executorch_prim::et_view", "default",
                  ARGS(a, any_size, out));
        break;
      case STEP_SIZE:
        test_call(f, "aten::sym_size", "int", ARGS(a, at[ZERO], out));
        break;
      case STEP_ITEM:
        test_call(f, "aten::_local_scalar_dense", "", ARGS(a, out));
        break;
      case STEP_MOD:
        test_call(f, "executorch_prim::mod", "int", ARGS(a, b, out));
        break;
      case STEP_COUNT:
        test_call(f, "executorch_prim::add", "Scalar", ARGS(a, at[ONE], out));
        break;
      case STEP_MAX:
        test_call(f, "executorch_prim::sym_max", "Scalar", ARGS(a, b, out));
        break;
      case STEP_LESS:
        test_call(f, "executorch_prim::lt", "Scalar", ARGS(a, b, out));
        break;
      case STEP_MOVE:
        test_move(f, a, out);
        break;
      case STEP_JUMP:
        test_jump_false(f, a, b);
        break;
    }
  }
  for (size_t i = 0; i < FLOW_OUTPUT_COUNT; ++i) {
    test_output(f, at[flow_outputs[i]], "");
  }
  return f;
}
