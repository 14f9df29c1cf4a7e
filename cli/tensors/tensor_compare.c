#include "cli/tensors/tensor_compare.h"

#include <math.h>
#include <string.h>

#include "cli/tensors/element.h"

bool etx_tensor_compare_reals(double expected, double found,
                              etx_tolerance tolerance) {
  if (expected == found) return true;
  if (isnan(expected) || isnan(found)) return isnan(expected) && isnan(found);
  if (isinf(expected) || isinf(found)) return false;
  return fabs(expected - found) <=
         tolerance.absolute + tolerance.relative * fabs(expected);
}

static bool equal_elements(const etx_host_tensor* expected,
                           const etx_host_tensor* found, size_t index,
                           etx_tolerance tolerance) {
  if (etx_dtype_category_of(expected->dtype) == ETX_CATEGORY_FLOATING) {
    return etx_tensor_compare_reals(
        etx_element_real(expected->dtype, expected->data, index),
        etx_element_real(found->dtype, found->data, index), tolerance);
  }
  const size_t item = etx_dtype_bytes(expected->dtype);
  return memcmp((const uint8_t*)expected->data + index * item,
                (const uint8_t*)found->data + index * item, item) == 0;
}

static double error_of(const etx_host_tensor* expected,
                       const etx_host_tensor* found, size_t index) {
  const double error =
      fabs(etx_element_real(expected->dtype, expected->data, index) -
           etx_element_real(found->dtype, found->data, index));
  return isnan(error) ? (double)INFINITY : error;
}

static bool same_type(const etx_host_tensor* a, const etx_host_tensor* b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0;
}

static size_t format_type(const etx_host_tensor* tensor, char* out,
                          size_t capacity) {
  size_t size =
      etx_format_text(out, capacity, "%s[", etx_dtype_name(tensor->dtype));
  for (size_t i = 0; i < tensor->rank; ++i) {
    size += etx_format_text(out + size, capacity - size, "%s%i",
                            i == 0 ? "" : ", ", (int64_t)tensor->sizes[i]);
  }
  return size + etx_format_text(out + size, capacity - size, "]");
}

static void explain_types(const etx_host_tensor* expected,
                          const etx_host_tensor* found, char* out_why) {
  char wanted[ETX_TENSOR_COMPARE_TEXT_BYTES / 2];
  char got[ETX_TENSOR_COMPARE_TEXT_BYTES / 2];
  format_type(expected, wanted, sizeof wanted);
  format_type(found, got, sizeof got);
  etx_format_text(out_why, ETX_TENSOR_COMPARE_TEXT_BYTES,
                  "expected %s, found %s", wanted, got);
}

// "[1, 0, 2]" of element `index`.
static void format_position(const etx_host_tensor* tensor, size_t index,
                            char* out, size_t capacity) {
  size_t position[ETX_MAX_RANK];
  for (size_t i = tensor->rank; i-- > 0;) {
    position[i] = index % (size_t)tensor->sizes[i];
    index /= (size_t)tensor->sizes[i];
  }
  size_t size = etx_format_text(out, capacity, "[");
  for (size_t i = 0; i < tensor->rank; ++i) {
    size += etx_format_text(out + size, capacity - size, "%s%z",
                            i == 0 ? "" : ", ", position[i]);
  }
  etx_format_text(out + size, capacity - size, "]");
}

static void explain_elements(const etx_host_tensor* expected,
                             const etx_host_tensor* found, size_t count,
                             size_t worst, char* out_why) {
  char where[96];
  char wanted[64];
  char got[64];
  format_position(expected, worst, where, sizeof where);
  etx_element_print(expected->dtype, expected->data, worst, wanted,
                    sizeof wanted);
  etx_element_print(found->dtype, found->data, worst, got, sizeof got);
  etx_format_text(out_why, ETX_TENSOR_COMPARE_TEXT_BYTES,
                  "%z of %z elements differ, most at %s: expected %s, found %s",
                  count, etx_host_tensor_numel(expected), where, wanted, got);
}

bool etx_tensor_compare(const etx_host_tensor* expected,
                        const etx_host_tensor* found, etx_tolerance tolerance,
                        char* out_why) {
  if (!same_type(expected, found)) {
    explain_types(expected, found, out_why);
    return false;
  }
  const size_t numel =
      expected->bytes == 0 ? 0 : etx_host_tensor_numel(expected);
  size_t count = 0;
  size_t worst = 0;
  double worst_error = -1;
  for (size_t i = 0; i < numel; ++i) {
    if (equal_elements(expected, found, i, tolerance)) continue;
    const double error = error_of(expected, found, i);
    ++count;
    if (error <= worst_error) continue;
    worst_error = error;
    worst = i;
  }
  if (count != 0) explain_elements(expected, found, count, worst, out_why);
  return count == 0;
}
