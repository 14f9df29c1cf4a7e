// Bundled programs: every value is read, and the contained program is tried as
// fuzz_pte does.

#include "format/bundle/bundle_file.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/hostile/hostile_program.h"
#include "tests/support/assert_message.h"

static volatile uint8_t seen;  // keeps reads from being optimised away

static void read_value(const etx_bundle_value* value) {
  if (value->kind != ETX_BUNDLE_TENSOR) {
    seen = (uint8_t)(seen + (uint8_t)value->as.integer);
    return;
  }
  const etx_bundle_tensor* const tensor = &value->as.tensor;
  for (size_t i = 0; i < tensor->data.size; ++i) {
    seen = (uint8_t)(seen + tensor->data.data[i]);
  }
  for (size_t i = 0; i < tensor->rank; ++i) {
    seen = (uint8_t)(seen + (uint8_t)tensor->sizes[i]);
    if (tensor->dim_order != NULL) {
      seen = (uint8_t)(seen + tensor->dim_order[i]);
    }
  }
}

static void read_case(const etx_bundle* bundle, size_t suite, size_t index) {
  const size_t inputs = etx_bundle_input_count(bundle, suite, index);
  for (size_t i = 0; i < inputs; ++i) {
    const etx_bundle_value value = etx_bundle_input_at(bundle, suite, index, i);
    read_value(&value);
  }
  const size_t outputs = etx_bundle_output_count(bundle, suite, index);
  for (size_t i = 0; i < outputs; ++i) {
    const etx_bundle_value value =
        etx_bundle_output_at(bundle, suite, index, i);
    read_value(&value);
  }
}

static void read_all(const etx_bundle* bundle) {
  static hostile_counts counts;
  for (size_t i = 0; i < etx_bundle_suite_count(bundle); ++i) {
    const etx_text name = etx_bundle_suite_method(bundle, i);
    for (size_t k = 0; k < name.size; ++k) {
      seen = (uint8_t)(seen + (uint8_t)name.data[k]);
    }
    for (size_t k = 0; k < etx_bundle_case_count(bundle, i); ++k) {
      read_case(bundle, i, k);
    }
  }
  hostile_try(etx_bundle_program(bundle), &counts);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etx_bytes_mut copy = sample_copy((etx_bytes){data, size});
  etx_bundle bundle;
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_bundle_open(&bundle, (etx_bytes){copy.data, copy.size}, &diag) ==
      ETX_OK) {
    read_all(&bundle);
  } else if (!test_has_message(&diag)) {
    __builtin_trap();
  }
  sample_release(copy);
  return 0;
}
