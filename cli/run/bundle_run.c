#include "cli/run/bundle_run.h"

#include "cli/base/plural.h"
#include "format/tensor/layout.h"

enum { WHY_BYTES = ETX_TENSOR_COMPARE_TEXT_BYTES + 64 };

// One case being executed.
typedef struct bundle_runner {
  etx_run_session* session;
  const etx_bundle* bundle;
  etx_tolerance tolerance;
  size_t suite;
  size_t index;  // of the case in its suite
  etx_method* method;
  etx_pool pool;  // of the case
  etx_diag diag;  // of the case
} bundle_runner;

// A tensor of the bundle in the runtime's form. `strides` holds its strides.
static etx_status view_of(const etx_bundle_tensor* from,
                          int32_t strides[ETX_MAX_RANK], etx_tensor* out_view,
                          etx_diag* diag) {
  if (!etx_layout_strides(from->sizes, from->dim_order, from->rank, strides)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the strides of a tensor do not fit in 32 bits");
  }
  *out_view = (etx_tensor){(void*)(uintptr_t)from->data.data, from->sizes,
                           strides, from->rank, from->dtype};
  return ETX_OK;
}

// The method may write to an input, so it gets a copy.
static etx_status set_tensor(bundle_runner* run, size_t index,
                             const etx_bundle_tensor* from) {
  int32_t strides[ETX_MAX_RANK];
  etx_tensor view;
  ETX_TRY(view_of(from, strides, &view, &run->diag));
  if (from->data.size > 0) {
    view.data = etx_pool_take(&run->pool, from->data.size);
    if (view.data == NULL) {
      return etx_diag_fail(&run->diag, ETX_OUT_OF_MEMORY,
                           "not enough memory for an input");
    }
    memcpy(view.data, from->data.data, from->data.size);
  }
  return etx_method_set_input(run->method, index, &view, &run->diag);
}

static etx_status set_input(bundle_runner* run, size_t index) {
  const etx_bundle_value from =
      etx_bundle_input_at(run->bundle, run->suite, run->index, index);
  etx_value value = {.kind = ETX_VALUE_NONE};
  switch (from.kind) {
    case ETX_BUNDLE_TENSOR:
      return set_tensor(run, index, &from.as.tensor);
    case ETX_BUNDLE_INT:
      value.kind = ETX_VALUE_INT;
      value.as.integer = from.as.integer;
      break;
    case ETX_BUNDLE_BOOL:
      value.kind = ETX_VALUE_BOOL;
      value.as.boolean = from.as.boolean;
      break;
    case ETX_BUNDLE_DOUBLE:
      value.kind = ETX_VALUE_DOUBLE;
      value.as.real = from.as.real;
      break;
  }
  return etx_method_set_value(run->method, index, &value, &run->diag);
}

static etx_status execute(bundle_runner* run) {
  const size_t count =
      etx_bundle_input_count(run->bundle, run->suite, run->index);
  if (count != run->method->input_count) {
    return etx_diag_fail(&run->diag, ETX_BAD_ARGUMENT,
                         "the method has %z input%s, the case has %z",
                         run->method->input_count,
                         etx_plural(run->method->input_count), count);
  }
  for (size_t i = 0; i < count; ++i) ETX_TRY(set_input(run, i));
  return etx_run_session_run(run->session, run->method, &run->diag);
}

static etx_tolerance tolerance_of(const bundle_runner* run, etx_dtype dtype) {
  etx_tolerance tolerance = run->tolerance;
  double least = 0;
  if (dtype == ETX_DTYPE_FLOAT16) least = 1.0 / 512;
  if (dtype == ETX_DTYPE_BFLOAT16) least = 1.0 / 64;
  if (tolerance.relative < least) tolerance.relative = least;
  if (tolerance.absolute < least) tolerance.absolute = least;
  return tolerance;
}

static etx_status compare_tensor(bundle_runner* run,
                                 const etx_bundle_tensor* from,
                                 const etx_value* found, bool* out_equal,
                                 char* why) {
  int32_t strides[ETX_MAX_RANK];
  etx_tensor view;
  etx_host_tensor expected;
  etx_host_tensor copy;
  if (found->kind != ETX_VALUE_TENSOR) {
    etx_format_text(why, ETX_TENSOR_COMPARE_TEXT_BYTES,
                    "expected a tensor, found another kind of value");
    *out_equal = false;
    return ETX_OK;
  }
  ETX_TRY(view_of(from, strides, &view, &run->diag));
  ETX_TRY(etx_host_tensor_copy(&view, &run->pool, &expected, &run->diag));
  ETX_TRY(
      etx_host_tensor_copy(&found->as.tensor, &run->pool, &copy, &run->diag));
  *out_equal =
      etx_tensor_compare(&expected, &copy, tolerance_of(run, from->dtype), why);
  return ETX_OK;
}

static bool equal_number(const bundle_runner* run,
                         const etx_bundle_value* expected,
                         const etx_value* found) {
  switch (expected->kind) {
    case ETX_BUNDLE_INT:
      return found->kind == ETX_VALUE_INT &&
             found->as.integer == expected->as.integer;
    case ETX_BUNDLE_BOOL:
      return found->kind == ETX_VALUE_BOOL &&
             found->as.boolean == expected->as.boolean;
    default:
      return found->kind == ETX_VALUE_DOUBLE &&
             etx_tensor_compare_reals(expected->as.real, found->as.real,
                                      run->tolerance);
  }
}

// Compares output `index`; `why` says what is wrong if it is not equal.
static etx_status compare_output(bundle_runner* run, size_t index,
                                 bool* out_equal, char* why) {
  const etx_bundle_value expected =
      etx_bundle_output_at(run->bundle, run->suite, run->index, index);
  const etx_value* found = NULL;
  ETX_TRY(etx_method_output(run->method, index, &found));
  if (expected.kind == ETX_BUNDLE_TENSOR) {
    return compare_tensor(run, &expected.as.tensor, found, out_equal, why);
  }
  *out_equal = equal_number(run, &expected, found);
  etx_format_text(why, ETX_TENSOR_COMPARE_TEXT_BYTES,
                  "a number or boolean is another one");
  return ETX_OK;
}

// `why` is left empty if all outputs are as expected.
static etx_status compare_outputs(bundle_runner* run, char* why) {
  const size_t expected =
      etx_bundle_output_count(run->bundle, run->suite, run->index);
  if (expected != run->method->output_count) {
    etx_format_text(why, WHY_BYTES, "expected %z output%s, found %z", expected,
                    etx_plural(expected), run->method->output_count);
    return ETX_OK;
  }
  for (size_t i = 0; i < expected; ++i) {
    char text[ETX_TENSOR_COMPARE_TEXT_BYTES];
    bool is_equal = false;
    ETX_TRY(compare_output(run, i, &is_equal, text));
    if (is_equal) continue;
    etx_format_text(why, WHY_BYTES, "output %z: %s", i, text);
    return ETX_OK;
  }
  return ETX_OK;
}

static bool is_of_the_machine(etx_status status) {
  return status == ETX_OUT_OF_MEMORY || status == ETX_HOST_FAILED ||
         status == ETX_INTERNAL;
}

static etx_status run_case(bundle_runner* run, const etx_bundle_sink* sink,
                           etx_bundle_result* result) {
  char why[WHY_BYTES] = "";
  const etx_text method = etx_bundle_suite_method(run->bundle, run->suite);
  etx_diag_init(&run->diag);
  etx_pool_init(&run->pool);
  etx_status status = execute(run);
  if (status == ETX_OK) status = compare_outputs(run, why);
  etx_pool_close(&run->pool);
  if (is_of_the_machine(status)) return status;
  const bool is_refused = status != ETX_OK;
  const bool has_passed = !is_refused && why[0] == '\0';
  sink->done(sink->context, method, run->index,
             is_refused   ? run->diag.text
             : has_passed ? NULL
                          : why);
  if (has_passed) {
    ++result->passed;
  } else {
    ++result->failed;
  }
  return ETX_OK;
}

static etx_status run_suite(bundle_runner* run, const etx_bundle_sink* sink,
                            etx_bundle_result* result, etx_diag* diag) {
  char name[ETX_MAX_METHOD_NAME + 1];
  const etx_text method = etx_bundle_suite_method(run->bundle, run->suite);
  if (method.size > ETX_MAX_METHOD_NAME) {
    return etx_diag_fail(diag, ETX_NOT_FOUND, "the program has no method '%t'",
                         method);
  }
  etx_format_text(name, sizeof name, "%t", method);
  ETX_TRY(etx_run_session_method(run->session, name, &run->method, diag));
  ETX_TRY(etx_shared_memory_reset(&run->session->shared.memory, etx_text_of(""),
                                  diag));
  const size_t cases = etx_bundle_case_count(run->bundle, run->suite);
  for (run->index = 0; run->index < cases; ++run->index) {
    const etx_status status = run_case(run, sink, result);
    if (status == ETX_OK) continue;
    if (diag != NULL) *diag = run->diag;
    return status;
  }
  return ETX_OK;
}

etx_status etx_bundle_run(etx_run_session* session, etx_tolerance tolerance,
                          const etx_bundle_sink* sink,
                          etx_bundle_result* out_result, etx_diag* diag) {
  bundle_runner run = {.session = session,
                       .bundle = &session->file.bundle,
                       .tolerance = tolerance};
  etx_bundle_result result = {0, 0};
  const size_t suites = etx_bundle_suite_count(run.bundle);
  for (run.suite = 0; run.suite < suites; ++run.suite) {
    ETX_TRY(run_suite(&run, sink, &result, diag));
  }
  *out_result = result;
  return ETX_OK;
}
