#include "tests/runtime/shapes/sized_pair.h"

#include "runtime/method/method_types.h"

enum { MOST_INPUTS = 16, MOST_ELEMENTS = 4096 };

void sized_pair_start(sized_pair* pair) {
  memset(pair, 0, sizeof *pair);
  pair->number = pair->truth = 1;
  pair->p = test_program_new();
  test_method(pair->p, "forward");
  test_arenas(pair->p, PAIR_SCRATCH_BYTES, 0);
  test_blob(pair->p);
}

int sized_pair_input(sized_pair* pair, etx_dtype dtype, test_sizes bounds,
                     uint32_t symbol) {
  const int input = test_borrowed(pair->p, dtype, bounds);
  test_input(pair->p, test_dynamic(pair->p, input), "");
  test_dim(pair->p, pair->inputs++, 0, symbol, 1, 0);
  return input;
}

void sized_pair_load(sized_pair* pair, const etx_kernel_table* kernels) {
  etx_diag diag;
  etx_limits limits;
  const etx_bytes file = test_file(pair->p);
  static _Alignas(64) uint8_t states[2][PAIR_STATE_BYTES];
  static uint32_t torn[2];
  memset(&limits, 0, sizeof limits);
  for (size_t i = 0; i < 2; ++i) {
    memset(states[i], 0, sizeof states[i]);
    torn[i] = 0;
    pair->state[i] =
        (etx_planned_memory){states[i], PAIR_STATE_BYTES, &torn[i]};
    limits.calls_shape_functions = i == 1;
    assert_ok(
        etx_program_open(&pair->programs[i], file, kernels, &limits, &diag));
    assert_ok(test_load(&pair->loaded[i], &pair->programs[i], "forward",
                        &pair->state[i], &diag));
  }
}

static void* elements_of(const sized_pair* pair, etx_dtype dtype) {
  static float floats[MOST_ELEMENTS];
  static int64_t integers[MOST_ELEMENTS];
  static uint8_t bytes[MOST_ELEMENTS];
  for (int i = 0; i < MOST_ELEMENTS; ++i) {
    floats[i] = (float)(i + 1);
    integers[i] = pair->number + i;
    bytes[i] = pair->truth;
  }
  return dtype == ETX_DTYPE_FLOAT32 ? (void*)floats
         : dtype == ETX_DTYPE_INT64 ? (void*)integers
                                    : (void*)bytes;
}

// Sizes and numbers that the symbols decide.
static void size_inputs(const sized_pair* pair, const etx_method* method,
                        const int64_t* symbols, etx_value* values,
                        int32_t (*sizes)[ETX_MAX_RANK]) {
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_method_input* const input = &method->inputs[i];
    values[i] = method->values[input->value];
    if (input->tensor == ETX_NO_INDEX) continue;
    etx_tensor* const tensor = &values[i].as.tensor;
    memcpy(sizes[i], method->tensors[input->tensor].bounds,
           tensor->rank * sizeof(int32_t));
    tensor->sizes = sizes[i];
    tensor->strides = NULL;
    tensor->data = elements_of(pair, tensor->dtype);
  }
  for (size_t i = 0; i < method->input_dim_count; ++i) {
    const etx_blob_input_dim* const row = &method->input_dims[i];
    const int64_t size = row->factor * symbols[row->symbol] + row->offset;
    if (row->dim < 0) {
      values[row->input].as.integer = size;
    } else {
      sizes[row->input][row->dim] = (int32_t)size;
    }
  }
}

static etx_status run(const sized_pair* pair, etx_method* method,
                      const int64_t* symbols, etx_diag* diag) {
  etx_value values[MOST_INPUTS];
  int32_t sizes[MOST_INPUTS][ETX_MAX_RANK];
  assert_true(method->input_count <= MOST_INPUTS);
  size_inputs(pair, method, symbols, values, sizes);
  etx_diag_init(diag);
  for (size_t i = 0; i < method->input_count; ++i) {
    ETX_TRY(etx_method_set_value(method, i, &values[i], diag));
  }
  return etx_method_run(method, diag);
}

static void expect_same_outputs(const sized_pair* pair) {
  for (size_t i = 0; i < pair->loaded[0].method.output_count; ++i) {
    const etx_value *a = NULL, *b = NULL;
    assert_int_equal(etx_method_output(&pair->loaded[0].method, i, &a), ETX_OK);
    assert_int_equal(etx_method_output(&pair->loaded[1].method, i, &b), ETX_OK);
    assert_int_equal(a->kind, b->kind);
    if (a->kind != ETX_VALUE_TENSOR) {
      assert_int_equal(a->as.integer, b->as.integer);
      continue;
    }
    const etx_tensor* const x = &a->as.tensor;
    const etx_tensor* const y = &b->as.tensor;
    assert_int_equal(x->rank, y->rank);
    for (size_t k = 0; k < x->rank; ++k) {
      assert_int_equal(x->sizes[k], y->sizes[k]);
      assert_int_equal(x->strides[k], y->strides[k]);
    }
    if (etx_tensor_numel(x) == 0) continue;
    assert_memory_equal(x->data, y->data, etx_tensor_bytes(x));
  }
}

etx_status sized_pair_run(sized_pair* pair, const int64_t* symbols,
                          etx_diag* diag) {
  etx_diag other;
  const etx_status status = run(pair, &pair->loaded[0].method, symbols, diag);
  const etx_status wanted = run(pair, &pair->loaded[1].method, symbols, &other);
  if (status != wanted) {
    fail_msg("%s '%s', without a size program %s '%s'", etx_status_name(status),
             diag->text, etx_status_name(wanted), other.text);
  }
  assert_string_equal(diag->text, other.text);
  if (status == ETX_OK) expect_same_outputs(pair);
  return status;
}

const etx_tensor* sized_pair_output(const sized_pair* pair, size_t index) {
  return test_output_tensor(&pair->loaded[0].method, index);
}

bool sized_pair_is_used(const sized_pair* pair) {
  assert_false(pair->loaded[1].method.sizes.is_used);
  return pair->loaded[0].method.sizes.is_used;
}

void sized_pair_end(sized_pair* pair) {
  for (size_t i = 0; i < 2; ++i) assert_true(test_unload(&pair->loaded[i]));
  test_program_end(pair->p);
}
