// The whole content of the sample, read back from the written file, and files
// of the stock exporter.

#include "tests/format/fixtures/format_test.h"

#include "format/pte/pte_program.h"
#include "format/pte/pte_segments.h"
#include "format/pte/pte_unverified.h"
#include "tests/format/fixtures/sample_program.h"

typedef struct program_fixture {
  etx_bytes_mut file;
  etx_pte pte;
  etx_pte_plan plan;  // "forward"
} program_fixture;

static int open_sample(void** state) {
  static program_fixture f;
  f.file = sample_write(sample_content());
  assert_ok(etx_pte_open(&f.pte, sample_view(f.file), NULL, NULL));
  assert_true(etx_pte_plan_find(&f.pte, etx_text_of("forward"), &f.plan));
  *state = &f;
  return 0;
}

static int close_sample(void** state) {
  program_fixture* f = *state;
  sample_release(f->file);
  return 0;
}

static void methods_are_found_by_name(void** state) {
  const program_fixture* f = *state;
  etx_pte_plan plan;
  assert_int_equal(etx_pte_version(&f->pte), 0);
  assert_int_equal(etx_pte_plan_count(&f->pte), 3);
  plan = etx_pte_plan_at(&f->pte, 2);
  assert_text(etx_pte_plan_name(&plan), "answer");
  assert_true(etx_pte_plan_find(&f->pte, etx_text_of("second"), &plan));
  assert_text(etx_pte_plan_name(&plan), "second");
  assert_false(etx_pte_plan_find(&f->pte, etx_text_of("third"), &plan));
  assert_text(etx_pte_plan_input_tree(&f->plan), "T2($,$)");
  assert_text(etx_pte_plan_output_tree(&f->plan), "$");
}

static void scalars_and_text_are_read(void** state) {
  const program_fixture* f = *state;
  assert_int_equal(etx_pte_value_count(&f->plan), SAMPLE_VALUE_COUNT);
  assert_int_equal(etx_pte_value_kind(&f->plan, SAMPLE_NULL), ETX_PTE_NULL);
  assert_int_equal(etx_pte_value_at(&f->plan, SAMPLE_NULL).kind, ETX_PTE_NULL);
  assert_true(etx_pte_value_at(&f->plan, SAMPLE_INT).as.integer == -7000000000);
  assert_true(etx_pte_value_at(&f->plan, SAMPLE_BOOL).as.boolean);
  assert_true(etx_pte_value_at(&f->plan, SAMPLE_DOUBLE).as.real == 2.5);
  assert_text(etx_pte_value_at(&f->plan, SAMPLE_STRING).as.string, "none");
}

static void lists_are_read(void** state) {
  const program_fixture* f = *state;
  const etx_pte_value ints = etx_pte_value_at(&f->plan, SAMPLE_INT_LIST);
  assert_int_equal(ints.kind, ETX_PTE_INT_LIST);
  assert_int_equal(ints.as.integers.count, 3);
  assert_int_equal(ints.as.integers.items[2], SAMPLE_INT);
  const etx_pte_value reals = etx_pte_value_at(&f->plan, SAMPLE_DOUBLE_LIST);
  assert_int_equal(reals.as.reals.count, 2);
  assert_true(reals.as.reals.items[1] == -1.25);
  const etx_pte_value bools = etx_pte_value_at(&f->plan, SAMPLE_BOOL_LIST);
  assert_int_equal(bools.as.booleans.count, 3);
  assert_int_equal(bools.as.booleans.items[1], 0);
  const etx_pte_value list = etx_pte_value_at(&f->plan, SAMPLE_TENSOR_LIST);
  assert_int_equal(list.as.tensors.count, 2);
  assert_int_equal(list.as.tensors.items[1], SAMPLE_CONSTANT);
  const etx_pte_value maybe = etx_pte_value_at(&f->plan, SAMPLE_OPTIONAL_LIST);
  assert_int_equal(maybe.kind, ETX_PTE_OPTIONAL_TENSOR_LIST);
  assert_int_equal(maybe.as.tensors.items[1], -1);
}

static void tensors_have_types_sizes_and_locations(void** state) {
  const program_fixture* f = *state;
  etx_pte_tensor tensor = etx_pte_value_at(&f->plan, SAMPLE_INPUT).as.tensor;
  assert_int_equal(tensor.dtype, ETX_DTYPE_FLOAT32);
  assert_int_equal(tensor.rank, 2);
  assert_int_equal(tensor.sizes[1], 3);
  assert_int_equal(tensor.dim_order[1], 1);
  assert_int_equal(tensor.dynamism, ETX_PTE_DYNAMIC_BOUND);
  assert_true(tensor.has_allocation);
  assert_int_equal(tensor.memory_id, 1);
  assert_int_equal(tensor.memory_offset, 32);
  assert_int_equal(tensor.name.size, 0);
  assert_int_equal(tensor.device_type, 0);
  assert_int_equal(tensor.device_index, 0);
  assert_int_equal(tensor.location, 0);
  assert_int_equal(etx_pte_tensor_numel(&tensor), 6);
  assert_int_equal(etx_pte_tensor_bytes(&tensor), 24);
  tensor = etx_pte_value_at(&f->plan, SAMPLE_STATE).as.tensor;
  assert_text(tensor.name, "layer.cache");
  assert_int_equal(tensor.memory_id, 2);
  tensor = etx_pte_value_at(&f->plan, SAMPLE_EXTERNAL).as.tensor;
  assert_int_equal(tensor.location, ETX_PTE_EXTERNAL);
  assert_int_equal(tensor.device_type, 1);
  assert_int_equal(tensor.device_index, 2);
  assert_false(tensor.has_allocation);
  assert_int_equal(etx_pte_tensor_bytes(&tensor), 0);
  assert_int_equal(etx_pte_value_arena(&f->plan, SAMPLE_INPUT), 1);
  assert_int_equal(etx_pte_value_arena(&f->plan, SAMPLE_STATE), 2);
  assert_int_equal(etx_pte_value_arena(&f->plan, SAMPLE_TURNED), 0);
  assert_int_equal(etx_pte_value_arena(&f->plan, SAMPLE_CONSTANT), 0);
  assert_int_equal(etx_pte_value_arena(&f->plan, SAMPLE_INT), 0);
  tensor = etx_pte_value_at(&f->plan, SAMPLE_TURNED).as.tensor;
  assert_int_equal(tensor.dim_order[0], 1);
  tensor = etx_pte_value_at(&f->plan, SAMPLE_TRAINED).as.tensor;
  assert_int_equal(tensor.rank, 0);
  assert_int_equal(etx_pte_tensor_numel(&tensor), 1);
}

static void constants_and_initial_data_lie_in_the_file(void** state) {
  const program_fixture* f = *state;
  float first[6];
  int64_t second[2];
  float initial = 0;
  assert_int_equal(etx_pte_constant_count(&f->pte), 3);
  etx_bytes data = etx_pte_constant(&f->pte, 1);
  assert_true(data.size >= sizeof first);
  assert_int_equal((uintptr_t)data.data % 16, 0);
  memcpy(first, data.data, sizeof first);
  assert_true(first[0] == 1 && first[5] == 6);
  data = etx_pte_constant(&f->pte, 2);
  assert_int_equal(data.size, sizeof second);
  memcpy(second, data.data, sizeof second);
  assert_true(second[1] == -5);
  data = etx_pte_initial_data(&f->pte, 1);
  assert_int_equal(data.size, sizeof initial);
  memcpy(&initial, data.data, sizeof initial);
  assert_true(initial == 0.5f);
}

static void ports_operators_and_arenas_are_read(void** state) {
  const program_fixture* f = *state;
  assert_int_equal(etx_pte_input_count(&f->plan), 2);
  assert_int_equal(etx_pte_input_at(&f->plan, 1), SAMPLE_INT);
  assert_int_equal(etx_pte_output_count(&f->plan), 2);
  assert_int_equal(etx_pte_output_at(&f->plan, 0), SAMPLE_STATE);
  assert_int_equal(etx_pte_operator_count(&f->plan), 2);
  assert_text(etx_pte_operator_at(&f->plan, 0).name, "aten::copy_");
  assert_text(etx_pte_operator_at(&f->plan, 0).overload, "");
  assert_text(etx_pte_operator_at(&f->plan, 1).overload, "out");
  assert_int_equal(etx_pte_buffer_size_count(&f->plan), 4);
  assert_int_equal(etx_pte_buffer_size_at(&f->plan, 3), 64);
  assert_int_equal(etx_pte_buffer_device_count(&f->plan), 1);
  assert_int_equal(etx_pte_buffer_device_at(&f->plan, 0).buffer, 3);
  assert_int_equal(etx_pte_buffer_device_at(&f->plan, 0).device_type, 1);
}

static void every_kind_of_instruction_is_read(void** state) {
  const program_fixture* f = *state;
  assert_int_equal(etx_pte_chain_count(&f->plan), 2);
  assert_int_equal(etx_pte_instruction_count(&f->plan, 0), 4);
  etx_pte_instruction it = etx_pte_instruction_at(&f->plan, 0, 0);
  assert_int_equal(it.kind, ETX_PTE_KERNEL_CALL);
  assert_int_equal(it.index, 1);
  assert_int_equal(it.argument_count, 5);
  assert_int_equal(it.arguments[1], SAMPLE_CONSTANT);
  it = etx_pte_instruction_at(&f->plan, 0, 1);
  assert_int_equal(it.kind, ETX_PTE_JUMP_FALSE_CALL);
  assert_int_equal(it.index, SAMPLE_BOOL);
  assert_int_equal(it.target, 4);
  it = etx_pte_instruction_at(&f->plan, 0, 2);
  assert_int_equal(it.kind, ETX_PTE_MOVE_CALL);
  assert_int_equal(it.index, SAMPLE_INPUT);
  assert_int_equal(it.target, SAMPLE_TURNED);
  it = etx_pte_instruction_at(&f->plan, 0, 3);
  assert_int_equal(it.kind, ETX_PTE_FREE_CALL);
  assert_int_equal(it.index, SAMPLE_TURNED);
  it = etx_pte_instruction_at(&f->plan, 1, 0);
  assert_int_equal(it.kind, ETX_PTE_DELEGATE_CALL);
  assert_int_equal(it.argument_count, 2);
}

// Of kinds that have no arguments or no target.
static void every_field_of_an_instruction_is_set(void** state) {
  const program_fixture* f = *state;
  for (size_t chain = 0; chain < 2; ++chain) {
    const size_t count = etx_pte_instruction_count(&f->plan, chain);
    for (size_t i = 0; i < count; ++i) {
      etx_pte_instruction it;
      memset(&it, 0x5a, sizeof it);
      etx_pte_instruction_read(&f->plan, etx_pte_chain_at(&f->plan, chain), i,
                               &it);
      const bool is_call =
          it.kind == ETX_PTE_KERNEL_CALL || it.kind == ETX_PTE_DELEGATE_CALL;
      if (is_call || it.kind == ETX_PTE_FREE_CALL) {
        assert_int_equal(it.target, 0);
      }
      if (is_call) continue;
      assert_null(it.arguments);
      assert_int_equal(it.argument_count, 0);
    }
  }
}

// Of tensors without memory, and of those without a name.
static void every_field_of_a_tensor_is_set(void** state) {
  const program_fixture* f = *state;
  const size_t count = etx_pte_value_count(&f->plan);
  size_t without_memory = 0;
  for (size_t i = 0; i < count; ++i) {
    etx_pte_value value;
    memset(&value, 0x5a, sizeof value);
    (void)etx_pte_value_read(&f->plan, i, &value);
    if (value.kind != ETX_PTE_TENSOR) continue;
    const etx_pte_tensor* const tensor = &value.as.tensor;
    assert_int_equal(tensor->storage_offset, 0);
    assert_true(tensor->rank <= 2);
    if (!tensor->has_allocation) {
      assert_int_equal(tensor->memory_id, 0);
      assert_true(tensor->memory_offset == 0);
      ++without_memory;
    }
    if (tensor->name.size == 0) {
      assert_int_equal(tensor->location, 0);
      assert_int_equal(tensor->device_type, 0);
      assert_int_equal(tensor->device_index, 0);
    }
  }
  assert_true(without_memory > 0);
}

static void delegates_are_readable(void** state) {
  const program_fixture* f = *state;
  assert_int_equal(etx_pte_delegate_count(&f->plan), 1);
  const etx_pte_delegate delegate = etx_pte_delegate_at(&f->plan, 0);
  assert_text(delegate.id, "SomeBackend");
  assert_true(delegate.inline_data);
  const etx_bytes data = etx_pte_delegate_data(&f->plan, 0);
  assert_int_equal(data.size, 5);
  assert_int_equal(data.data[4], 5);
  assert_int_equal(etx_pte_compile_spec_count(&f->plan, 0), 1);
  const etx_pte_compile_spec spec = etx_pte_compile_spec_at(&f->plan, 0, 0);
  assert_text(spec.key, "max_value");
  assert_int_equal(spec.value.size, 3);
  assert_int_equal(spec.value.data[2], 9);
}

static void named_data_is_found_by_key(void** state) {
  const program_fixture* f = *state;
  etx_bytes data = {NULL, 0};
  assert_int_equal(etx_pte_named_data_count(&f->pte), 2);
  assert_text(etx_pte_named_data_key(&f->pte, 0), "note");
  assert_true(etx_pte_named_data_find(&f->pte, "note", &data));
  assert_int_equal(data.size, 3);
  assert_int_equal(data.data[0], 1);
  assert_true(etx_pte_named_data_find(&f->pte, ETX_BLOB_KEY, &data));
  assert_false(etx_pte_named_data_find(&f->pte, "no such key", &data));
}

// A build without a verifier reads the same.
static void an_unverified_program_has_the_same_fields(void** state) {
  const program_fixture* f = *state;
  etx_pte pte = f->pte;
  pte.root = 0;
  memset(&pte.constants, 0, sizeof pte.constants);
  memset(&pte.initial, 0, sizeof pte.initial);
  assert_ok(etx_pte_open_unverified(&pte, NULL));
  assert_int_equal(pte.root, f->pte.root);
  assert_memory_equal(&pte.constants, &f->pte.constants, sizeof pte.constants);
  assert_memory_equal(&pte.initial, &f->pte.initial, sizeof pte.initial);
  etx_diag diag;
  etx_diag_init(&diag);
  pte.fb.data += 4;
  assert_int_equal(etx_pte_open_unverified(&pte, &diag), ETX_BAD_FILE);
  assert_says(&diag, "this is not a program");
}

static void assert_counted(const etx_pte* pte, size_t index) {
  etx_pte_totals known, counted;
  const etx_pte_plan plan = etx_pte_plan_at(pte, index);
  etx_pte_plan_totals(&plan, &known);
  etx_pte_count_totals(&plan, &counted);
  assert_memory_equal(&known, &counted, sizeof known);
}

// Also those of methods behind the ones whose totals are kept.
static void totals_are_those_that_a_count_gives(void** state) {
  const program_fixture* f = *state;
  enum { METHODS = ETX_PTE_CACHED_TOTALS + 2 };
  static const char names[] = "0123456789";
  etx_pte_content content = *sample_content();
  etx_pte_plan_content plans[METHODS];
  etx_pte pte;
  etx_pte_totals totals;
  etx_pte_plan_totals(&f->plan, &totals);
  assert_int_equal(totals.tensors, 6);
  assert_int_equal(totals.items, 3 + 2 + 3 + 5 + 2);
  // Dynamic dimensions count twice.
  assert_int_equal(totals.dims, ETX_DYNAMIC ? 8 + 2 : 8);
  assert_int_equal(totals.dynamic_dims, ETX_DYNAMIC ? 2 : 0);
  assert_int_equal(totals.without_bytes, ETX_DYNAMIC ? 1 : 0);
  for (size_t i = 0; i < 3; ++i) assert_counted(&f->pte, i);
  for (size_t i = 0; i < METHODS; ++i) {
    plans[i] = content.plans[i % 2 == 0 ? 0 : 2];
    plans[i].name = (etx_text){names + i, 1};
  }
  content.plans = plans;
  content.plan_count = METHODS;
  const etx_bytes_mut file = sample_write(&content);
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  for (size_t i = 0; i < METHODS; ++i) assert_counted(&pte, i);
  const etx_pte_plan late = etx_pte_plan_at(&pte, METHODS - 2);
  etx_pte_plan_totals(&late, &totals);
  assert_int_equal(totals.tensors, 6);
  sample_release(file);
}

// ---- files of the stock exporter: numbers from tests/data/pte/README.md ----

typedef struct stock {
  const char* name;
  uint32_t header_length;
  size_t value_count;
  size_t constant_count;
  size_t instruction_count;
  size_t operator_count;
  int64_t arena_bytes;
} stock;

static void stock_files_are_opened(void** state) {
  static const stock files[] = {
      {"arduino_AddModel.pte", 32, 4, 2, 1, 1, 32},
      {"apple_add.pte", 0, 4, 1, 1, 1, 48},
      {"deprecated_ModuleLinear-no-constant-segment.pte", 0, 6, 3, 2, 2, 32},
      {"bundled_add_mul.pte", 24, 9, 3, 3, 2, 48},
      {"arduino_KeywordSpotting.pte", 32, 289, 64, 16, 8, 16000},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(files); ++i) {
    const stock* expected = &files[i];
    char path[512];
    etx_pte pte;
    etx_pte_plan plan;
    etx_diag diag;
    etx_diag_init(&diag);
    etx_format_text(path, sizeof path, "%s/pte/%s", ETX_TEST_DATA,
                    expected->name);
    const etx_bytes_mut file = sample_read_file(path);
    if (etx_pte_open(&pte, sample_view(file), NULL, &diag) != ETX_OK) {
      fail_msg("%s: %s", expected->name, diag.text);
    }
    assert_int_equal(pte.header_length, expected->header_length);
    assert_int_equal(pte.has_header, expected->header_length > 0);
    assert_int_equal(etx_pte_plan_count(&pte), 1);
    assert_true(etx_pte_plan_find(&pte, etx_text_of("forward"), &plan));
    assert_int_equal(etx_pte_value_count(&plan), expected->value_count);
    assert_int_equal(etx_pte_constant_count(&pte), expected->constant_count);
    assert_int_equal(etx_pte_instruction_count(&plan, 0),
                     expected->instruction_count);
    assert_int_equal(etx_pte_operator_count(&plan), expected->operator_count);
    assert_int_equal(etx_pte_buffer_size_at(&plan, 1), expected->arena_bytes);
    sample_release(file);
  }
}

static void legacy_constants_inside_the_program_are_read(void** state) {
  float values[4];
  etx_pte pte;
  (void)state;
  const etx_bytes_mut file = sample_read_file(
      ETX_TEST_DATA "/pte/deprecated_ModuleLinear-no-constant-segment.pte");
  assert_ok(etx_pte_open(&pte, sample_view(file), NULL, NULL));
  const etx_bytes data = etx_pte_constant(&pte, 1);
  assert_int_equal(data.size, sizeof values);
  memcpy(values, data.data, sizeof values);
  assert_true(values[0] == 3 && values[3] == 3);
  etx_bytes none = {NULL, 77};
  assert_false(etx_pte_constant_find(&pte, 0, &none));
  assert_false(etx_pte_constant_find(&pte, 3, &none));
  assert_true(etx_pte_constant_find(&pte, 2, &none));
  sample_release(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(methods_are_found_by_name),
      cmocka_unit_test(scalars_and_text_are_read),
      cmocka_unit_test(lists_are_read),
      cmocka_unit_test(tensors_have_types_sizes_and_locations),
      cmocka_unit_test(constants_and_initial_data_lie_in_the_file),
      cmocka_unit_test(ports_operators_and_arenas_are_read),
      cmocka_unit_test(every_kind_of_instruction_is_read),
      cmocka_unit_test(every_field_of_an_instruction_is_set),
      cmocka_unit_test(every_field_of_a_tensor_is_set),
      cmocka_unit_test(delegates_are_readable),
      cmocka_unit_test(named_data_is_found_by_key),
      cmocka_unit_test(an_unverified_program_has_the_same_fields),
      cmocka_unit_test(totals_are_those_that_a_count_gives),
      cmocka_unit_test(stock_files_are_opened),
      cmocka_unit_test(legacy_constants_inside_the_program_are_read),
  };
  return cmocka_run_group_tests(tests, open_sample, close_sample);
}
