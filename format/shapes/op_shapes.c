// Arithmetic on sizes that may be symbolic, and the messages of shape
// functions, which are in op_shapes_<family>.c.

#include "format/shapes/op_shapes.h"

#include "format/base/checked_math.h"

static void note_undecided(const etx_shape_call* call) {
  if (call->undecided != NULL) *call->undecided = true;
}

bool etx_dim_is_symbolic(const etx_shape_call* call, etx_dim dim) {
  return ETX_DYNAMIC && call->math != NULL && !etx_dim_is_number(dim);
}

bool etx_shape_is_number(const etx_shape_call* call, etx_dim dim) {
  if (!etx_dim_is_symbolic(call, dim)) return true;
  note_undecided(call);
  return false;
}

static bool both_numbers(const etx_shape_call* call, etx_dim a, etx_dim b) {
  return !etx_dim_is_symbolic(call, a) && !etx_dim_is_symbolic(call, b);
}

static etx_status overflow(const etx_shape_call* call) {
  return etx_shape_refuse_as(call, ETX_OUT_OF_RANGE, "a size overflows");
}

// A result that is so small that it would be a handle is an overflow, too.
static etx_status computed(const etx_shape_call* call, bool fits, etx_dim out) {
  return fits && !etx_dim_is_symbolic(call, out) ? ETX_OK : overflow(call);
}

etx_status etx_dim_add(const etx_shape_call* call, etx_dim a, etx_dim b,
                       etx_dim* out) {
  if (both_numbers(call, a, b)) {
    const bool fits = etx_add_i64(a, b, out);
    return computed(call, fits, *out);
  }
  return call->math->add(call->math->context, a, b, out);
}

etx_status etx_dim_subtract(const etx_shape_call* call, etx_dim a, etx_dim b,
                            etx_dim* out) {
  if (both_numbers(call, a, b)) {
    const bool fits = etx_subtract_i64(a, b, out);
    return computed(call, fits, *out);
  }
  etx_dim negative;
  ETX_TRY(etx_dim_multiply(call, b, -1, &negative));
  return etx_dim_add(call, a, negative, out);
}

etx_status etx_dim_multiply(const etx_shape_call* call, etx_dim a, etx_dim b,
                            etx_dim* out) {
  if (both_numbers(call, a, b)) {
    const bool fits = etx_multiply_i64(a, b, out);
    return computed(call, fits, *out);
  }
  return call->math->multiply(call->math->context, a, b, out);
}

etx_status etx_dim_floor_divide(const etx_shape_call* call, etx_dim a,
                                etx_dim b, etx_dim* out) {
  if (!etx_dim_is_symbolic(call, b) && b == 0) {
    return etx_shape_refuse(call, "a size is divided by zero");
  }
  if (!both_numbers(call, a, b)) {
    return call->math->floor_divide(call->math->context, a, b, out);
  }
  if (a == INT64_MIN && b == -1) return overflow(call);
  *out = etx_floor_quotient(a, b);
  return ETX_OK;
}

static void bounds_of(const etx_shape_call* call, etx_dim a, int64_t* low,
                      int64_t* high) {
  if (etx_dim_is_symbolic(call, a)) {
    call->math->bounds(call->math->context, a, low, high);
  } else {
    *low = *high = a;
  }
}

// The bounds of a - b; all integers if it cannot be computed.
static void bounds_of_difference(const etx_shape_call* call, etx_dim a,
                                 etx_dim b, int64_t* low, int64_t* high) {
  etx_dim difference;
  if (etx_dim_subtract(call, a, b, &difference) == ETX_OK) {
    bounds_of(call, difference, low, high);
  } else {
    *low = INT64_MIN;
    *high = INT64_MAX;
  }
}

// Compares by bounds: -1 if a <= b always holds, 1 if a >= b always holds, else
// 0.
static int compare(const etx_shape_call* call, etx_dim a, etx_dim b) {
  int64_t low, high;
  bounds_of_difference(call, a, b, &low, &high);
  if (high <= 0) return -1;
  return low >= 0 ? 1 : 0;
}

etx_status etx_dim_minimum(const etx_shape_call* call, etx_dim a, etx_dim b,
                           etx_dim* out) {
  const bool numbers = both_numbers(call, a, b);
  const int order = numbers ? (a <= b ? -1 : 1) : compare(call, a, b);
  if (order == 0) {
    return call->math->minimum(call->math->context, a, b, out);
  }
  *out = order < 0 ? a : b;
  return ETX_OK;
}

etx_status etx_dim_maximum(const etx_shape_call* call, etx_dim a, etx_dim b,
                           etx_dim* out) {
  const bool numbers = both_numbers(call, a, b);
  const int order = numbers ? (a <= b ? -1 : 1) : compare(call, a, b);
  if (order == 0) {
    return call->math->maximum(call->math->context, a, b, out);
  }
  *out = order < 0 ? b : a;
  return ETX_OK;
}

bool etx_dim_always_equal(const etx_shape_call* call, etx_dim a, etx_dim b) {
  if (a == b) return true;
  if (both_numbers(call, a, b)) return false;
  return call->math->equal(call->math->context, a, b);
}

bool etx_dim_equal(const etx_shape_call* call, etx_dim a, etx_dim b) {
  if (etx_dim_always_equal(call, a, b)) return true;
  if (call->undecided != NULL) (void)etx_dim_differ(call, a, b);
  return false;
}

void etx_dim_bounds(const etx_shape_call* call, etx_dim a, int64_t* low,
                    int64_t* high) {
  if (etx_dim_is_symbolic(call, a)) note_undecided(call);
  bounds_of(call, a, low, high);
}

bool etx_dim_always_is(const etx_shape_call* call, etx_dim dim,
                       int64_t number) {
  int64_t low, high;
  bounds_of(call, dim, &low, &high);
  return low == number && high == number;
}

bool etx_dim_is(const etx_shape_call* call, etx_dim dim, int64_t number) {
  int64_t low, high;
  bounds_of(call, dim, &low, &high);
  if (low == number && high == number) return true;
  if (low <= number && number <= high) note_undecided(call);
  return false;
}

bool etx_dim_differ(const etx_shape_call* call, etx_dim a, etx_dim b) {
  if (both_numbers(call, a, b)) return a != b;
  int64_t low, high;
  bounds_of_difference(call, a, b, &low, &high);
  if (low > 0 || high < 0) return true;
  if (!etx_dim_always_equal(call, a, b)) note_undecided(call);
  return false;
}

bool etx_dim_is_below(const etx_shape_call* call, etx_dim a, etx_dim b) {
  if (both_numbers(call, a, b)) return a < b;
  int64_t low, high;
  bounds_of_difference(call, a, b, &low, &high);
  if (high < 0) return true;
  if (low < 0) note_undecided(call);
  return false;
}

int64_t etx_dim_for_message(const etx_shape_call* call, etx_dim dim) {
  int64_t low, high;
  bounds_of(call, dim, &low, &high);
  return high;
}

static etx_status refuse_list(const etx_shape_call* call, etx_status status,
                              const char* format, va_list list) {
  char text[ETX_DIAG_TEXT_BYTES];
  etx_format_text_list(text, sizeof(text), format, list);
  const char* point = call->op->overload[0] == '\0' ? "" : ".";
  return etx_diag_fail(call->diag, status, "%s, in '%s%s%s'", text,
                       call->op->name, point, call->op->overload);
}

etx_status(etx_shape_refuse)(const etx_shape_call* call, const char* format,
                             ...) {
  va_list list;
  va_start(list, format);
  refuse_list(call, ETX_BAD_ARGUMENT, format, list);
  va_end(list);
  return ETX_BAD_ARGUMENT;
}

etx_status(etx_shape_refuse_as)(const etx_shape_call* call, etx_status status,
                                const char* format, ...) {
  va_list list;
  va_start(list, format);
  refuse_list(call, status, format, list);
  va_end(list);
  return status;
}
