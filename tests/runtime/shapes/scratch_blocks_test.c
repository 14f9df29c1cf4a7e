// Blocks of scratch that move together at smaller sizes: what a file may state
// about them, and tensors that share a block or use another one's memory.

#include "format/shapes/op_shapes.h"
#include "runtime/method/method_types.h"
#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROOM = 8 };

typedef struct blocks_fixture {
  sized_pair pair;
  test_program* p;
  int x;  // s floats
  int one, no;
} blocks_fixture;

static void start(blocks_fixture* f) {
  sized_pair_start(&f->pair);
  f->p = f->pair.p;
  f->x = sized_pair_input(&f->pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                          test_symbol(f->p, "s", 1, ROOM));
  f->one = test_int(f->p, 1);
  f->no = test_bool(f->p, false);
}

static int add_at(blocks_fixture* f, etx_dtype dtype, int32_t room,
                  uint64_t offset) {
  return test_dynamic(f->p, test_scratch(f->p, dtype, SIZES(room), offset));
}

static int add_floats(blocks_fixture* f, uint64_t offset) {
  return add_at(f, ETX_DTYPE_FLOAT32, ROOM, offset);
}

static void negate(blocks_fixture* f, int from, int to) {
  test_call(f->p, "aten::neg", "out", ARGS(from, to, to));
}

static void load(blocks_fixture* f) {
  sized_pair_load(&f->pair, &etx_all_kernels);
}

// Expects factor * x at many sizes.
static void run_all(blocks_fixture* f, float factor) {
  static const int64_t sizes[] = {5, 3, 8, 1, 4, 7};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    assert_ok(sized_pair_run(&f->pair, &sizes[i], &diag));
    const etx_tensor* const out = sized_pair_output(&f->pair, 0);
    assert_int_equal(etx_tensor_numel(out), sizes[i]);
    for (int64_t k = 0; k < sizes[i]; ++k) {
      assert_true(((const float*)out->data)[k] == factor * (float)(k + 1));
    }
  }
}

static size_t block_count(const blocks_fixture* f) {
  return f->pair.loaded[0].method.scratch_block_count;
}

// A part in a tensor with twice its elements, and another layout of both.
static void layouts_keep_parts_in_their_blocks(void** state) {
  (void)state;
  static const struct {
    uint64_t whole, whole_bytes, part, part_bytes;
    bool is_valid;
  } rows[] = {{64, 64, 96, 32, true},  {0, 64, 32, 32, true},
              {64, 64, 16, 32, false}, {64, 64, 80, 48, false},
              {64, 64, 96, 16, false}, {64, 0, 96, 32, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    blocks_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int whole = add_at(&f, ETX_DTYPE_FLOAT32, 2 * ROOM, 0);
    const int part = add_floats(&f, 32), out = add_floats(&f, 128);
    test_view(p, part, whole, 32);
    negate(&f, f.x, part);
    negate(&f, part, out);
    test_output(p, out, "");
    test_place(p, whole, 0, rows[i].whole, rows[i].whole_bytes);
    test_place(p, part, 0, rows[i].part, rows[i].part_bytes);
    test_place(p, out, 0, 256, 32);
    if (rows[i].is_valid) {
      load(&f);
      run_all(&f, 1);
      assert_int_equal(block_count(&f), 2);
      sized_pair_end(&f.pair);
      continue;
    }
    etx_program program;
    test_loaded loaded;
    assert_ok(etx_program_open(&program, test_file(p), &etx_all_kernels, NULL,
                               &diag));
    assert_refused(test_load(&loaded, &program, "forward", NULL, &diag),
                   ETX_BAD_FILE, "away from the values that share its bytes");
    test_program_end(p);
  }
}

// Tensors that are not aligned to 16 bytes would lose the alignment of their
// type, so nothing is moved.
static void blocks_that_are_not_aligned_stay(void** state) {
  (void)state;
  for (uint64_t offset = 8; offset <= 16; offset += 8) {
    blocks_fixture f;
    start(&f);
    const int y = add_floats(&f, 0), out = add_floats(&f, 32 + offset);
    negate(&f, f.x, y);
    negate(&f, y, out);
    test_output(f.p, out, "");
    load(&f);
    run_all(&f, 1);
    assert_int_equal(block_count(&f), offset == 8 ? 0 : 2);
    sized_pair_end(&f.pair);
  }
}

// A name of a tensor that is changed in place, with memory that the file
// states. It uses the memory of that tensor; that of its own is used only if it
// is an input, too. Whether a part is described in it changes nothing.
static void names_use_the_memory_of_others(void** state) {
  (void)state;
  for (int i = 0; i < 4; ++i) {
    blocks_fixture f;
    start(&f);
    test_program* const p = f.p;
    // Places of which the greatest common divisor is 16: half of a tensor.
    const int y = add_floats(&f, 0), out = add_floats(&f, 48);
    const int name = add_floats(&f, 96), other = add_floats(&f, 144);
    if (i == 1) test_view(p, other, name, 0);
    if (i == 2) test_view(p, name, other, 0);
    if (i == 3) {
      test_input(p, name, "");
      test_dim(p, 1, 0, 0, 1, 0);
    }
    negate(&f, f.x, other);
    negate(&f, f.x, y);
    test_call(p, "aten::copy_", "", ARGS(y, f.x, f.no, name));
    negate(&f, name, out);
    test_output(p, out, "");
    test_output(p, other, "");
    if (i == 1 || i == 2) {
      // Views of the file agree with the places of the plan.
      test_tensor_of(p, name)->memory_offset = 144;
    }
    load(&f);
    run_all(&f, -1);
    sized_pair_end(&f.pair);
  }
}

// Tensors at one place of a block: of the same size or not, of fixed sizes, and
// of another type. The largest one decides the bytes of the block.
static void the_largest_member_decides_the_bytes(void** state) {
  (void)state;
  static const float data[4] = {1, 2, 3, 4};
  for (int i = 0; i < 6; ++i) {
    blocks_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(4),
                                test_data(p, data, sizeof data));
    const int unused = i == 2 ? add_floats(&f, 0) : 0;
    const int y = add_at(&f, ETX_DTYPE_INT64, ROOM, 0);
    int same = unused;
    switch (i) {
      case 0:
        same = add_at(&f, ETX_DTYPE_INT64, ROOM, 0);
        break;
      case 1:
        same = add_floats(&f, 0);
        break;
      case 2:  // no call uses it
        break;
      case 3:
        same = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
        break;
      case 4:
        same = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 32);
        break;
      default:
        same = test_dynamic(
            p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROOM / 2), 0));
    }
    const int fixed[2] = {test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 128),
                          test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 128)};
    const int small = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 128);
    const int out = add_floats(&f, 192), behind = add_floats(&f, 256);
    test_view(p, same, y, i == 4 ? 32 : 0);
    test_view(p, fixed[1], fixed[0], 0);
    test_view(p, small, fixed[0], 0);
    negate(&f, f.x, out);
    test_call(p, "aten::_to_copy", "out", ARGS(f.x, f.no, test_none(p), y, y));
    if (i == 0) test_call(p, "aten::neg", "out", ARGS(y, same, same));
    if (i == 1) negate(&f, f.x, same);
    if (i == 3 || i == 4) negate(&f, c, same);
    if (i == 5) {  // same = c[0:s / 2]
      const int number = test_int(p, 0), half = test_int(p, 0);
      const int zero = test_int(p, 0);
      test_call(p, "aten::sym_size", "int", ARGS(f.x, zero, number));
      test_call(p, "executorch_prim::floordiv", "int",
                ARGS(number, test_int(p, 2), half));
      test_call(p, "aten::slice_copy", "Tensor_out",
                ARGS(c, zero, zero, half, f.one, same, same));
    }
    negate(&f, c, fixed[0]);
    negate(&f, fixed[0], fixed[1]);
    negate(&f, out, behind);
    test_output(p, behind, "");
    test_output(p, fixed[1], "");
    if (i != 2) test_output(p, same, "");
    load(&f);
    run_all(&f, 1);
    sized_pair_end(&f.pair);
  }
}

// A view that a call sets up, which moves with the memory that it shows.
static void views_move_with_their_memory(void** state) {
  (void)state;
  blocks_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int all = test_int(p, -1);
  const int front = add_floats(&f, 0), y = add_floats(&f, 64);
  const int view = add_floats(&f, 128), out = add_floats(&f, 192);
  const int empty = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(0));
  const int joined = add_floats(&f, 256), parts[2] = {empty, view};
  negate(&f, f.x, front);
  negate(&f, front, y);
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(y, test_ints(p, &all, 1), view));
  negate(&f, view, out);
  test_call(p, "aten::cat", "out",
            ARGS(test_tensors(p, parts, 2), test_int(p, 0), joined, joined));
  test_output(p, out, "");
  test_output(p, joined, "");
  load(&f);
  run_all(&f, -1);
  assert_true(f.pair.loaded[0].method.has_scratch_lists);
  sized_pair_end(&f.pair);
}

// Without scratch, a method states what it needs at each size, and refuses to
// run.
static void a_method_may_be_loaded_without_scratch(void** state) {
  (void)state;
  blocks_fixture f;
  start(&f);
  const int y = add_floats(&f, 0), out = add_floats(&f, 64);
  negate(&f, f.x, y);
  negate(&f, y, out);
  test_output(f.p, out, "");
  etx_program program;
  etx_memory_needed needed;
  etx_method method;
  const etx_text name = etx_text_of("forward");
  assert_ok(etx_program_open(&program, test_file(f.p), &etx_all_kernels, NULL,
                             &diag));
  assert_ok(etx_method_needed(&program, name, &needed, &diag));
  test_block block = test_block_new(needed.structure_bytes, 16);
  const etx_method_memory memory = {block.bytes, {NULL, 0}, {NULL, 0}, NULL};
  assert_ok(etx_method_init(&method, &program, name, &memory, NULL, &diag));
  for (int64_t size = 2; size < 7; ++size) {
    const etx_named_size named = {etx_text_of("s"), size};
    float data[ROOM] = {1};
    const etx_tensor tensor =
        TEST_TENSOR(data, ETX_DTYPE_FLOAT32, (int32_t)size);
    assert_ok(etx_method_needed_at(&method, &named, 1, &needed, &diag));
    assert_int_equal(needed.scratch_bytes, 64 + 4 * size);
    assert_int_equal(needed.temporary_bytes, 0);
    assert_ok(etx_method_set_input(&method, 0, &tensor, &diag));
    assert_status(etx_method_run(&method, &diag), ETX_OUT_OF_MEMORY);
  }
  assert_true(method.sizes.is_used);
  assert_true(test_block_end(&block));
  test_program_end(f.p);
}

// The first run is at the bounds, which need 32 bytes.
static void less_memory_than_the_bounds_need_is_checked(void** state) {
  (void)state;
  static const int64_t sizes[] = {ROOM, 4, 5, 3, ROOM, 1};
  float data[ROOM] = {1, 2, 3, 4, 5, 6, 7, 8};
  blocks_fixture f;
  start(&f);
  const int out = add_floats(&f, 0);
  negate(&f, f.x, out);
  test_output(f.p, out, "");
  etx_program program;
  etx_memory_needed needed;
  etx_method method;
  const etx_text name = etx_text_of("forward");
  assert_ok(etx_program_open(&program, test_file(f.p), &etx_all_kernels, NULL,
                             &diag));
  assert_ok(etx_method_needed(&program, name, &needed, &diag));
  test_block structures =
      test_block_new(needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  test_block scratch = test_block_new(16, 16);
  const etx_method_memory memory = {
      structures.bytes, scratch.bytes, {NULL, 0}, NULL};
  assert_ok(etx_method_init(&method, &program, name, &memory, NULL, &diag));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const etx_tensor tensor =
        TEST_TENSOR(data, ETX_DTYPE_FLOAT32, (int32_t)sizes[i]);
    assert_ok(etx_method_set_input(&method, 0, &tensor, &diag));
    if (sizes[i] > 4) {
      assert_refused(etx_method_run(&method, &diag), ETX_OUT_OF_MEMORY,
                     "of scratch at these sizes, 16 were given");
      continue;
    }
    assert_ok(etx_method_run(&method, &diag));
    const float* const found = test_output_tensor(&method, 0)->data;
    for (int64_t k = 0; k < sizes[i]; ++k) assert_true(found[k] == -data[k]);
  }
  assert_true(test_block_end(&scratch));
  assert_true(test_block_end(&structures));
  test_program_end(f.p);
}

// The first tensor of the file has a block, which moves, and is a view of
// nothing.
static void the_first_tensor_moves_too(void** state) {
  (void)state;
  blocks_fixture f;
  sized_pair_start(&f.pair);
  f.p = f.pair.p;
  const int first = add_floats(&f, 48);
  f.x = sized_pair_input(&f.pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                         test_symbol(f.p, "s", 1, ROOM));
  const int between = add_floats(&f, 0);
  const int last = add_floats(&f, 80);
  negate(&f, f.x, between);
  negate(&f, between, first);
  negate(&f, first, last);
  test_output(f.p, last, "");
  test_output(f.p, first, "");
  load(&f);
  run_all(&f, -1);
  static const int64_t sizes[] = {8, 3, 8, 5};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    assert_ok(sized_pair_run(&f.pair, &sizes[i], &diag));
    const etx_tensor* const out = sized_pair_output(&f.pair, 0);
    const etx_tensor* const before = sized_pair_output(&f.pair, 1);
    const uint8_t* const scratch = f.pair.loaded[0].method.scratch.data;
    // Blocks are aligned to 16 bytes, as in the file.
    const ptrdiff_t bytes = (ptrdiff_t)((sizes[i] * 4 + 15) / 16 * 16);
    assert_int_equal(etx_tensor_numel(before), sizes[i]);
    assert_int_equal((const uint8_t*)before->data - scratch, bytes);
    assert_int_equal((const uint8_t*)out->data - scratch, 2 * bytes);
  }
  sized_pair_end(&f.pair);
}

// my::negate(self): fills four bytes of temporary memory for each element.

static etx_status negate_bytes(const etx_call* call, size_t* out_bytes) {
  *out_bytes = etx_tensor_bytes(etx_call_tensor(call, 0));
  return ETX_OK;
}

static etx_status run_negate(etx_call* call) {
  const etx_tensor* const self = etx_call_tensor(call, 0);
  const etx_tensor* const out = etx_call_tensor(call, 1);
  float* const copy = call->temporary;
  const size_t count = etx_tensor_numel(self);
  for (size_t i = 0; i < count; ++i) copy[i] = ((const float*)self->data)[i];
  for (size_t i = 0; i < count; ++i) ((float*)out->data)[i] = -copy[i];
  return ETX_OK;
}

static etx_status prepare_negate(etx_call* call) {
  call->run = run_negate;
  return negate_bytes(call, &call->temporary_bytes);
}

static const etx_op negate_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::negate", "out"),
    .arguments = "Tensor self, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = etx_shape_same,
};
static const etx_kernel negate_kernels[] = {
    {&negate_row, prepare_negate, negate_bytes, NULL}};
static const etx_kernel_table negate_table = {negate_kernels, 1, NULL};

// The same for temporary memory, of which there are 16 bytes.
static void less_temporary_memory_than_the_bounds_need_is_checked(
    void** state) {
  (void)state;
  static const int64_t sizes[] = {ROOM, 4, 5, 3, ROOM, 1};
  float data[ROOM] = {1, 2, 3, 4, 5, 6, 7, 8};
  blocks_fixture f;
  start(&f);
  const int out = add_floats(&f, 0);
  test_call(f.p, "my::negate", "out", ARGS(f.x, out, out));
  test_output(f.p, out, "");
  etx_program program;
  etx_memory_needed needed;
  etx_method method;
  const etx_text name = etx_text_of("forward");
  assert_ok(
      etx_program_open(&program, test_file(f.p), &negate_table, NULL, &diag));
  assert_ok(etx_method_needed(&program, name, &needed, &diag));
  assert_int_equal(needed.temporary_bytes, 4 * ROOM);
  test_block structures =
      test_block_new(needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  test_block scratch =
      test_block_new(needed.scratch_bytes, ETX_MEMORY_ALIGNMENT);
  test_block temporary = test_block_new(16, ETX_MEMORY_ALIGNMENT);
  const etx_method_memory memory = {structures.bytes, scratch.bytes,
                                    temporary.bytes, NULL};
  assert_ok(etx_method_init(&method, &program, name, &memory, NULL, &diag));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const etx_tensor tensor =
        TEST_TENSOR(data, ETX_DTYPE_FLOAT32, (int32_t)sizes[i]);
    const etx_named_size named = {etx_text_of("s"), sizes[i]};
    assert_ok(etx_method_needed_at(&method, &named, 1, &needed, &diag));
    assert_int_equal(needed.temporary_bytes, 4 * sizes[i]);
    assert_ok(etx_method_set_input(&method, 0, &tensor, &diag));
    if (sizes[i] > 4) {
      assert_refused(etx_method_run(&method, &diag), ETX_OUT_OF_MEMORY,
                     "of temporary memory at these sizes, 16 were given");
      continue;
    }
    assert_ok(etx_method_run(&method, &diag));
    const float* const found = test_output_tensor(&method, 0)->data;
    for (int64_t k = 0; k < sizes[i]; ++k) assert_true(found[k] == -data[k]);
  }
  assert_true(test_block_end(&temporary));
  assert_true(test_block_end(&scratch));
  assert_true(test_block_end(&structures));
  test_program_end(f.p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC, layouts_keep_parts_in_their_blocks),
      unit_test_with(ETX_DYNAMIC, blocks_that_are_not_aligned_stay),
      unit_test_with(ETX_DYNAMIC, names_use_the_memory_of_others),
      unit_test_with(ETX_DYNAMIC, the_largest_member_decides_the_bytes),
      unit_test_with(ETX_SIZE_PROGRAMS, views_move_with_their_memory),
      unit_test_with(ETX_SIZE_PROGRAMS, a_method_may_be_loaded_without_scratch),
      unit_test_with(ETX_DYNAMIC, the_first_tensor_moves_too),
      unit_test_with(ETX_DYNAMIC, less_memory_than_the_bounds_need_is_checked),
      unit_test_with(ETX_DYNAMIC,
                     less_temporary_memory_than_the_bounds_need_is_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
