// Inputs, which are checked before anything changes, and outputs.

#include "format/tensor/layout.h"
#include "runtime/program/argument_check.h"
#include "runtime/method/method_names.h"
#include "runtime/method/method_types.h"
#include "runtime/run/input_data.h"
#include "runtime/shapes/method_symbols.h"

static etx_status check_index(const etx_method* method, size_t index,
                              etx_diag* diag) {
  if (index < method->input_count) return ETX_OK;
  return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                       "there is no input %z, method '%t' has %z", index,
                       etx_pte_plan_name(&method->plan), method->input_count);
}

// Checks that the caller's strides are those of the file's dimension order. The
// strides of dimensions of size 1 and of tensors without elements are ignored.
static etx_status check_strides(const etx_method* method, size_t index,
                                const etx_method_tensor* tensor,
                                const etx_tensor* value, etx_diag* diag) {
  int32_t own[ETX_MAX_RANK];
  int32_t dense[ETX_MAX_RANK];
  char name_buffer[ETX_INPUT_NAME_BYTES];
  const int32_t* const expected =
      etx_method_is_dynamic(tensor) ? own : tensor->strides;
  if ((expected == own && !etx_layout_strides(value->sizes, tensor->dim_order,
                                              value->rank, own)) ||
      !etx_layout_strides(value->sizes, NULL, value->rank, dense)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "strides of input '%t' do not fit in 32 bits",
                         etx_method_input_name(method, index, name_buffer));
  }
  if (etx_tensor_numel(value) == 0) return ETX_OK;
  const int32_t* found = value->strides == NULL ? dense : value->strides;
  for (size_t i = 0; i < value->rank; ++i) {
    if (value->sizes[i] == 1 || found[i] == expected[i]) continue;
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "input '%t' has stride %i in dimension %z, expected "
                         "%i",
                         etx_method_input_name(method, index, name_buffer),
                         (int64_t)found[i], i, (int64_t)expected[i]);
  }
  return ETX_OK;
}

static etx_status check_type(const etx_method* method, size_t index,
                             const etx_tensor* expected,
                             const etx_tensor* value, etx_diag* diag) {
  char name_buffer[ETX_INPUT_NAME_BYTES];
  if (value->dtype != expected->dtype) {
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT, "input '%t' is %s, expected %s",
        etx_method_input_name(method, index, name_buffer),
        etx_dtype_is_valid(value->dtype) ? etx_dtype_name(value->dtype)
                                         : "of unknown type",
        etx_dtype_name(expected->dtype));
  }
  if (value->rank != expected->rank) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "input '%t' has rank %i, expected %i",
                         etx_method_input_name(method, index, name_buffer),
                         (int64_t)value->rank, (int64_t)expected->rank);
  }
  for (size_t i = 0; i < value->rank; ++i) {
    if (value->sizes[i] >= 0) continue;
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "input '%t' has size %i in dimension %z",
                         etx_method_input_name(method, index, name_buffer),
                         (int64_t)value->sizes[i], i);
  }
  return ETX_OK;
}

static etx_status check_data(const etx_method* method, size_t index,
                             const etx_tensor* value, etx_diag* diag) {
  char name_buffer[ETX_INPUT_NAME_BYTES];
  if (value->data == NULL && etx_tensor_numel(value) > 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "input '%t' has no data",
                         etx_method_input_name(method, index, name_buffer));
  }
  if (!etx_dtype_is_aligned(value->dtype, (uintptr_t)value->data)) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "data of input '%t' is not aligned to its type",
                         etx_method_input_name(method, index, name_buffer));
  }
  return ETX_OK;
}

static etx_status set_input(etx_method* method, size_t index,
                            const etx_tensor* value, etx_diag* diag) {
  ETX_TRY(check_index(method, index, diag));
  etx_method_input* input = &method->inputs[index];
  char name_buffer[ETX_INPUT_NAME_BYTES];
  if (input->tensor == ETX_NO_INDEX) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "input '%t' is not a tensor, but one was given",
                         etx_method_input_name(method, index, name_buffer));
  }
  const etx_method_tensor* tensor = &method->tensors[input->tensor];
  ETX_TRY(check_type(method, index, &tensor->value->as.tensor, value, diag));
  ETX_TRY(etx_method_check_input_sizes(method, index, value->sizes, diag));
  ETX_TRY(check_strides(method, index, tensor, value, diag));
  ETX_TRY(check_data(method, index, value, diag));
  etx_method_take_input(method, input, value);
  return ETX_OK;
}

etx_status etx_method_set_input(etx_method* method, size_t index,
                                const etx_tensor* value, etx_diag* diag) {
  return etx_diag_seal(diag, set_input(method, index, value, diag));
}

// Compares floats with the tolerance of ExecuTorch's runtime.
static bool is_near(double given, double fixed) {
  if (given == fixed || (given != given && fixed != fixed)) return true;
  const double difference = given > fixed ? given - fixed : fixed - given;
  const double size = fixed < 0 ? -fixed : fixed;
  return difference <= 1e-4 + 1e-5 * size && size < 1e300;
}

static bool is_same(const etx_value* given, const etx_value* fixed) {
  switch (fixed->kind) {
    case ETX_VALUE_INT:
      return given->as.integer == fixed->as.integer;
    case ETX_VALUE_BOOL:
      return given->as.boolean == fixed->as.boolean;
    case ETX_VALUE_DOUBLE:
      return is_near(given->as.real, fixed->as.real);
    case ETX_VALUE_STRING:
      return etx_text_equal(given->as.string, fixed->as.string);
    default:
      return true;
  }
}

static etx_status set_value(etx_method* method, size_t index,
                            const etx_value* value, etx_diag* diag) {
  ETX_TRY(check_index(method, index, diag));
  if (value->kind == ETX_VALUE_TENSOR) {
    return etx_method_set_input(method, index, &value->as.tensor, diag);
  }
  etx_method_input* input = &method->inputs[index];
  const etx_pte_value fixed = etx_pte_value_at(&method->plan, input->value);
  char name_buffer[ETX_INPUT_NAME_BYTES];
  if (value->kind != method->values[input->value].kind) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "input '%t' has a value of another kind",
                         etx_method_input_name(method, index, name_buffer));
  }
  if (input->varies) {
    const int64_t integer = value->as.integer;
    ETX_TRY(etx_method_check_input_integer(method, index, integer, diag));
    if (integer != input->integer) method->is_prepared = false;
    input->integer = integer;
    input->is_set = true;
    return ETX_OK;
  }
  etx_value expected;
  etx_value_from_scalar(&fixed, &expected);
  if (is_same(value, &expected)) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "input '%t' was fixed when the program was exported, "
                       "another value was given",
                       etx_method_input_name(method, index, name_buffer));
}

etx_status etx_method_set_value(etx_method* method, size_t index,
                                const etx_value* value, etx_diag* diag) {
  return etx_diag_seal(diag, set_value(method, index, value, diag));
}

etx_status etx_method_output(const etx_method* method, size_t index,
                             const etx_value** out_value) {
  if (index >= method->output_count) return ETX_OUT_OF_RANGE;
  *out_value = method->outputs[index];
  return ETX_OK;
}
